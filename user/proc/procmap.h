/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces of processes over time: /proc/PID/maps at attach, then side-band samples (mmap,
 * fork, exec, exit) in time order. A fork shares its parent's list until one of both changes, so
 * short-lived processes cost little; processes that ended are kept for a moment (late samples) and
 * then dropped, so memory is bounded by what lives. No event tells what was unmapped: a list that grows
 * too long is read afresh, in place of the old one. Too much of anything is counted and ends nothing. An unknown
 * address makes the maps be read again, at a bounded rate. Included by user/proc, attr, record and tests.
 *
 * To track another kind of event: decode it into struct sample, handle it in procmap_event().
 */
#ifndef ACCPERF_PROC_PROCMAP_H
#define ACCPERF_PROC_PROCMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/module.h"
#include "sample.h"

enum { MAP_EXEC = 1, MAP_WRITE = 2, MAP_READ = 4 }; /* as fmt_mapping.prot */

struct mapping {
	uint64_t start, end, pgoff;
	uint32_t module; /* 0: data, see name */
	uint32_t prot;
	uint32_t name; /* procmaps_name(); 0 none */
	uint32_t born; /* the how manieth that was put into its list */
};

/* Where an address lies. */
struct place {
	struct module *module; /* NULL: unknown, or not code */
	uint64_t vaddr;        /* within the module (file kinds), else the address itself */
	struct mapping map;    /* a copy */
};

struct process {
	uint32_t pid, ppid;
	uint64_t start, end; /* monotonic ns; 0 unknown / still there */
	char comm[16];
	bool loaded;        /* /proc/PID/maps has been read or mmap events seen since exec */
	bool written;       /* for attr.c: its records are in the profile */
	bool maps_dirty;    /* for attr.c: re-read since it was written */
	uint64_t mutations; /* counts changes of the address space, exec included */
	struct space *space;
	uint64_t refreshed; /* when maps were last read, monotonic ns */
	uint64_t used;      /* time of the last sample or event */
	/* procmap_keep(): as of that many mutations */
	uint64_t kept_addr, kept_at;
	struct place kept;
	/* for attr.c: as it is in the profile; when it is looked at again, and how long behind the last time */
	uint64_t heap_end, heap_look, heap_wait;
};

struct procmap_counters {
	uint64_t refreshes;      /* maps read again because of an unknown address */
	uint64_t gone;           /* the process had ended before its maps could be read */
	uint64_t evicted;        /* events and samples of processes beyond the limit */
	uint64_t ends_lost;      /* processes that had ended, as was found when there were too many */
	uint64_t replaced, aged; /* lists that grew too long: read afresh; unreadable, and the older half forgotten */
	uint64_t malformed;      /* events that say nothing */
	uint64_t maps_cut;       /* times that /proc/PID/maps was longer than is read of it */
	uint64_t kept;           /* places that were kept, asked for again; for tests */
};

struct procmaps *procmaps_new(struct modules *ms);
/* Of a list that cannot be read afresh, and of all: smaller ones for tests. */
void procmaps_limit(struct procmaps *p, unsigned mappings, unsigned processes);
/* Likewise: bytes that are read of /proc/PID/maps; what lies above is unknown then, and counted. */
void procmaps_limit_text(struct procmaps *p, size_t bytes);
/* Never looks into /proc: events tell everything. */
void procmaps_offline(struct procmaps *p);
void procmaps_free(struct procmaps *p);

/* Reads /proc/PID/maps, comm and ppid. -ESRCH and a sentence if there is no such process. */
int procmap_load(struct procmaps *p, uint32_t pid, struct err *e);
/* SAMPLE_MMAP, _COMM, _FORK, _EXIT; others are ignored. 0 or -ENOMEM. */
int procmap_event(struct procmaps *p, const struct sample *s);

/* Events of processes that were neither loaded nor forked from a known one are ignored: they are not
 * observed, and their files need not be opened. */
void procmap_known_only(struct procmaps *p);

/* NULL if never seen. */
struct process *procmap_process(struct procmaps *p, uint32_t pid);
/* Seen, or made now from /proc; NULL without memory, or beyond the limit (which is counted). */
struct process *procmap_process_make(struct procmaps *p, uint32_t pid, uint64_t now);
/* False: the address is in no known mapping, even after reading the maps again. */
bool procmap_lookup(struct procmaps *p, uint32_t pid, uint64_t addr, struct place *out);
/* The same without ever touching /proc. */
bool procmap_lookup_quiet(struct procmaps *p, uint32_t pid, uint64_t addr, struct place *out);
/* A place that was just found is found again without a search, until the address space changes or another is kept. */
void procmap_keep(struct procmaps *p, uint32_t pid, uint64_t addr, const struct place *found);
/* Mappings in address order. */
unsigned procmap_count(const struct process *proc);
const struct mapping *procmap_at(const struct process *proc, unsigned i);
/* The same where the same code lies at the same addresses, as in children that only forked; 0: none is known. */
uint64_t procmap_code(const struct process *proc);
const char *procmaps_name(const struct procmaps *p, uint32_t name);
/* The memory that brk() gives, of which no event tells, as /proc/PID/maps has it now; false: none is among its first
 * lines, where all programs but odd ones have it. */
bool procmap_heap(uint32_t pid, uint64_t *start, uint64_t *end);
bool procmap_next(struct procmaps *p, size_t *pos, struct process **proc);
/* Drops processes that ended more than two seconds before `now`; call now and then. */
void procmap_sweep(struct procmaps *p, uint64_t now, void (*gone)(void *ctx, struct process *), void *ctx);
/* Names that no mapping has any more are forgotten, and ended are those of whose end it was not told: ids of names,
 * and no others, change. */
void procmap_next_profile(struct procmaps *p);
/* No other process can be taken in. */
bool procmap_full(const struct procmaps *p);
/* Drops all that ended at once, those included of which it was not told; searches once a second at most. */
void procmap_make_room(struct procmaps *p, void (*gone)(void *ctx, struct process *), void *ctx);
const struct procmap_counters *procmap_counters(const struct procmaps *p);

#endif
