/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timer sampler's life: load the BPF program, attach it to cpu-clock events, turn ring records into
 * struct sample. Included by measure, record and tests. Owns the BPF objects and events; they vanish with the
 * process, so nothing survives even kill -9.
 *
 * The timers belong to CPUs, and the program drops the ticks of processes that are not observed. A timer
 * of a thread is stopped and started at every context switch (some 5 us on a virtual machine: 20 % of a
 * program that switches 40,000 times a second), and one that lives for less than a period never fires.
 * Timers of threads remain as a fallback, for where the machine's CPUs may not be observed.
 */
#ifndef ACCPERF_KMOD_FREE_SAMPLER_H
#define ACCPERF_KMOD_FREE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "kmod-free/bpf_counters.h"
#include "kmod-free/targets.h"
#include "sample.h"
#include "util/err.h"

enum sampler_timers { TIMERS_AUTO, TIMERS_OF_CPUS, TIMERS_OF_THREADS };

struct sampler_opts {
	uint64_t period_ns;         /* or later, by sampler_set_period() */
	enum sampler_timers timers; /* auto: of CPUs, else of threads */
	uint32_t stack_bytes;       /* largest stack snapshot */
	uint32_t ring_bytes;        /* power of two */
	bool no_inherit;            /* do not follow forked children */
	bool kernel_tick;           /* take the kernel's own ticks along, where that can be */
};

struct sampler;

struct sampler *sampler_new(const struct sampler_opts *o, struct err *e);
/* Before it is attached. */
void sampler_set_period(struct sampler *s, uint64_t period_ns);
/* While attached: timers of CPUs start anew with this period; -EBUSY where they belong to threads. */
int sampler_retime(struct sampler *s, uint64_t period_ns);
/* All counters are zero again: what was measured on ourselves is no part of the recording. */
void sampler_forget(struct sampler *s);
/* Until it is over no sample and no wait is sent: the ring would be full before anybody reads it. Not where timers
 * belong to threads, whose counts of CPU time cannot be held. */
void sampler_hold(struct sampler *s, bool hold);
/* Events on everything in t. For a command they start at its exec. */
int sampler_attach(struct sampler *s, struct targets *t, struct err *e);
/* Once attached: whether the timers belong to threads; *why: the sentence that explains it, "" if asked for. */
/* The set of targets, as bpf/follow.bpf.h describes it: kept unless the timers belong to threads, empty where all of
 * the machine or of a control group is observed. */
int sampler_targets_fd(const struct sampler *s);
bool sampler_by_thread(const struct sampler *s, const char **why);
/* Whether the kernel's ticks can come, as far as is known before the targets are. */
bool sampler_may_tick(const struct sampler *s);
/* Whether the kernel's ticks come, too: until they are given up here, or by ourselves where a machine has so many
 * timers that looking at each would be felt. */
bool sampler_kernel_ticks(const struct sampler *s);
void sampler_no_kernel_ticks(struct sampler *s);
/* CPU time that a sample stands for. Once attached: the kernel's ticks may come with the timers'. */
uint64_t sampler_sample_ns(const struct sampler *s);
/* One more event on one thread, with a period of its own: calibration. */
int sampler_attach_self(struct sampler *s, uint64_t period_ns, struct err *e);
/* Readable when enough waits; or just call sampler_read every few ms. */
int sampler_fd(const struct sampler *s);
int sampler_read(struct sampler *s, sample_fn fn, void *ctx);
/* The last read stopped at its bound; samples later than *last may still wait. */
bool sampler_behind(const struct sampler *s, uint64_t *last);
/* How far the stack of a thread reaches, learned by unwinding it completely; 0 forgets. */
void sampler_stack_end(struct sampler *s, uint32_t tid, uint64_t end);
/* The offload probes' threads map: return addresses that probes hide are then put right. */
int sampler_returns(struct sampler *s, int threads_map_fd);
/* The next user-mode sample of this process brings these pages along (SV_PAGES; those that are present), as they are
 * at that moment, and those that its registers point into: some 0.9 us of its time each. False: what was asked for
 * last has not come yet. At most SAMPLER_PAGES. */
#define SAMPLER_PAGES 256
#define SAMPLER_SLOTS 16
/* slot: where pointers lie whose pages are wanted, wherever they point to then. */
/* ...or never will: the process is gone, the sample was lost. */
void sampler_want_none(struct sampler *s);
bool sampler_want_pages(struct sampler *s, uint32_t pid, const uint64_t *addr, uint32_t count, const uint64_t *slot,
			uint32_t slots);
/* Waits: SAMPLE_OFF for one of so many times that a thread leaves the CPU, then SAMPLE_BACK; 0: no more of them, but
 * the latter go on. -EOPNOTSUPP: the targets are not known to the program (timers of threads). sampler_waits_end()
 * detaches; a thread that is away by then is never told of. */
int sampler_waits(struct sampler *s, uint32_t one_in, struct err *e);
void sampler_waits_end(struct sampler *s);
/* Of SAMPLER_COUNTERS. */
uint64_t sampler_counter(const struct sampler *s, enum bpf_counter which);
/* Records that could not be right. */
uint64_t sampler_malformed(const struct sampler *s);
/* CPU time of everything that was followed, ended threads included; known once stopped, and only where
 * the timers belonged to threads. */
bool sampler_cpu_ns(const struct sampler *s, uint64_t *ns);
/* Once a second: CPUs come and go. */
void sampler_second(struct sampler *s);
/* Stops and detaches, keeps the ring for a last sampler_read. */
void sampler_stop(struct sampler *s);
void sampler_free(struct sampler *s);

#endif
