/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attribution, the front: samples in time order go in, ids come out, and the records that explain
 * the ids (FMT_PROCESS, FMT_MODULE, FMT_MAPPING, FMT_STACK, at the end FMT_FUNCTION and FMT_SYMBOL)
 * are put into the profile as they appear. Owns modules, address spaces, the unwinder and interned
 * stacks of one recording. Included by record, foreground and tests.
 *
 *     a = attr_new(w, NULL, &e);
 *     attr_attach(a, pid, &e);                            every target, once its events are on
 *     attr_event(a, s);                                   SAMPLE_MMAP, _COMM, _FORK, _EXIT
 *     rec.stack = attr_stack(a, s);                       samples with SV_REGS (and SV_STACK)
 *     attr_place(a, s->pid, ip, &rec.module, &rec.ip);    accesses, hits
 *     attr_tick(a, now);                                  about once a second
 *     attr_finish(a, &e);                                 names everything; then store_close()
 *
 * To name something new: give it an id here, write its record at first use, symbolise in
 * attr_finish().
 */
#ifndef ACCPERF_ATTR_ATTR_H
#define ACCPERF_ATTR_ATTR_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/procmap.h"
#include "proc/unwind.h"
#include "format.h"
#include "sample.h"
#include "store/write.h"
#include "util/err.h"

struct attr;

struct attr_options {
	bool offline;        /* samples of another time or machine: /proc is not asked */
	bool no_debug_info;  /* symbol tables and FDE bounds only */
	bool cmdline;        /* whole command lines; otherwise what is run, and no argument */
	bool no_cache;       /* do not touch $XDG_CACHE_HOME */
	unsigned max_frames; /* 0: 256 */
	uint64_t max_stacks; /* interned stacks kept; 0: 1 million; beyond it the leaf only */
};

/* options NULL: defaults. The writer is borrowed. */
struct attr *attr_new(struct store_writer *w, const struct attr_options *options, struct err *e);
void attr_free(struct attr *a);

/* From the first on, only attached processes and their descendants are followed; without any, all. */
int attr_attach(struct attr *a, uint32_t pid, struct err *e);
int attr_event(struct attr *a, const struct sample *s);
/* Stack id of a sample (kernel frame first if SF_KERNEL); 0: unknown, and counted. */
uint32_t attr_stack(struct attr *a, const struct sample *s);
/* Stack pointer of the outermost frame that attr_stack() just found, if it found all; else 0. What
 * lies above is never needed: the sampler copies up to here only. */
uint64_t attr_stack_end(const struct attr *a);
/* Where in the stack that attr_stack() just returned this address lies: number of the frame, from 1, and
 * distance from its canonical frame address. 0: unknown. */
uint32_t attr_frame_of(const struct attr *a, uint64_t addr, int32_t *offset);
/* User frames that attr_stack() just unwound, leaf first, return addresses less 1; valid until the next
 * call. 0: it unwound none itself. */
unsigned attr_walked(const struct attr *a, const struct fmt_frame **frames);
/* Where the user's code was in the sample that attr_stack() was just given: it is looked up there, and once. NULL: no
 * module is known; valid until the next call. */
const struct place *attr_leaf(const struct attr *a);
/* Stack id of code addresses that the caller collected, leaf first; return addresses less 1. */
uint32_t attr_frames(struct attr *a, uint32_t pid, uint64_t time, const uint64_t *ips, unsigned count);
/* A module's id in the profile, where it is told from now on. */
uint32_t attr_module(struct attr *a, uint32_t pid, const struct module *m);
/* Module id and address within it; false (and zeros): unknown. */
bool attr_place(struct attr *a, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr);
/* The same, to be named in FMT_SYMBOL at the end: code addresses that are in no stack. */
bool attr_code(struct attr *a, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr);
/* Just the naming, of an address within a module. */
void attr_name(struct attr *a, uint32_t module, uint64_t addr);
/* House-keeping: JIT maps of processes about to end, dropping what ended. */
void attr_tick(struct attr *a, uint64_t now);
/* Symbolises all code addresses seen and writes FMT_FUNCTION, FMT_SYMBOL and final FMT_PROCESS. */
int attr_finish(struct attr *a, struct err *e);

/* Names what came since the last time, as far as it has a name by now: done now and then, what is killed has names.
 * enough: see naming.h. */
int attr_name_more(struct attr *a, bool (*enough)(void *ctx), void *ctx);

/* The recording goes on in another profile: ids of stacks, names and first records begin anew there; modules keep
 * their ids as long as a process maps them, and are not known any more otherwise. The names of the former are still to
 * be written: by attr_name_all(), while this goes on. The caller frees what it gets (naming_free()); NULL: out of
 * memory, and nothing has changed. */
struct naming;
struct naming *attr_next(struct attr *a, struct store_writer *next);
int attr_name_all(struct attr *a, struct naming *old, struct err *e);
/* Whether it went on into this profile. */
bool attr_module_lives(const struct attr *a, uint32_t module);

struct modules *attr_modules(struct attr *a);
struct procmaps *attr_procmaps(struct attr *a);

/* Samples so far in code that no file holds and no perf map told of. */
uint64_t attr_nameless_code(const struct attr *a);
/* Named counters; in_part: samples are there, but a stack or a name of theirs is not whole. */
void attr_counters(const struct attr *a, void (*put)(void *ctx, const char *name, uint64_t value, bool in_part),
		   void *ctx);
/* In two parts: those that go on over attr_next(), and those of the names of one profile. */
void attr_lasting_counters(const struct attr *a, void (*put)(void *ctx, const char *name, uint64_t value, bool in_part),
			   void *ctx);
void attr_name_counters(const struct naming *n, void (*put)(void *ctx, const char *name, uint64_t value, bool in_part),
			void *ctx);
const struct naming *attr_naming(const struct attr *a);

#endif
