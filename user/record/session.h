/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One live recording: sources -> queue -> attribution -> profile file, once around every few
 * milliseconds, written out several times a second. Included by foreground and tests; owns everything that must be
 * detached, and detaches it on every way out.
 *
 * Sources join as parts: session_add() before session_start() (source.h says what they do).
 */
#ifndef ACCPERF_RECORD_SESSION_H
#define ACCPERF_RECORD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "util/labels.h"
#include "attr/attr.h"
#include "kmod-free/bpf_counters.h"
#include "kmod-free/sampler.h"
#include "kmod-free/targets.h"
#include "sample.h"
#include "source.h"
#include "store/write.h"
#include "util/err.h"

struct breakpoint_gate;
struct ledger;
struct located_code;
#define STRETCH_OPENS_NS 20000ull /* until drawing begins: longer than it takes to say so */

struct session;

struct prices;

struct session_opts {
	const char *output;
	double budget;      /* share of the target's time that may be spent, e.g. 0.01 */
	uint64_t period_ns; /* 0: chosen from the budget and the measured cost of a tick */
	uint32_t max_hz;    /* when chosen */
	double own;         /* part of one CPU that the recorder itself may take; 0: no bound */
	enum sampler_timers timers;
	double timer_part; /* of the budget, for the timer; 0: two thirds */
	uint32_t stack_bytes;
	uint32_t ring_bytes; /* a power of two */
	bool no_inherit;
	bool keep_old;
	bool cmdline;                        /* store whole command lines */
	char labels[LABELS_MOST];            /* "": none */
	struct breakpoint_gate *breakpoints; /* the caller's; NULL: there are none */
};

struct session_totals {
	uint64_t samples, lost;
	uint64_t target_ns;      /* the target's CPU time that the samples stand for */
	uint64_t target_lost_ns; /* estimated */
	uint64_t own_cpu_ns, elapsed_ns, bytes, peak_rss;
	double tick_ns; /* NaN: could not be measured */
	/* known at the end only, 0 before: CPU time in which no timer fired, threads that had none at all */
	uint64_t unsampled_ns, unsampled_threads;
	uint64_t put_off;               /* samples at which session_breakpoints_forbidden() */
	uint64_t rewritten, unreadable; /* samples without accesses: their code had changed, could not be read */
	double switches_per_second;     /* of CPU time; NaN: not known */
};

struct session *session_new(const struct session_opts *o, struct targets *t, struct err *e);
/* ctx is the session's from here on, in vain, too: the source's release() ends it. */
int session_add(struct session *s, const struct source *source, void *ctx, struct err *e);
/* Attaches to the targets and starts the command, if there is one. */
int session_start(struct session *s, struct err *e);
/* Of what bursts and segments would have of our own CPU time, the part that they may have now. */
double session_own_share(const struct session *s);
/* One round: drain, order, attribute, write. Negative: the recording cannot go on. */
int session_poll(struct session *s, struct err *e);
/* fd that becomes readable before rings overflow. */
int session_fd(const struct session *s);
/* The profile ends, names and all, and the recording goes on in another file of this name; nothing is detached, and no
 * sample is in neither or both. Names are sought while the recording goes on. */
int session_next(struct session *s, const char *output, struct err *e);
/* Looks up the names that came since the last time, file by file until there are `enough`; the recording goes on. */
int session_name(struct session *s, bool (*enough)(void *ctx), void *ctx, struct err *e);
/* Whether this is a good moment within the second: at one time of two it is. */
bool session_may_next(const struct session *s);
/* Whether the profile has so many bytes, packed. */
bool session_profile_reached(struct session *s, uint64_t bytes);
/* Detaches, names everything, ends the file. Safe after errors; *e says what failed first. */
int session_finish(struct session *s, enum fmt_end_reason why, struct err *e);
void session_free(struct session *s);

/* For parts */
struct attr *session_attr(struct session *s);
/* Where the stack of a thread ends, as its last sample with a whole stack told; 0 unknown. */
uint64_t session_stack_end(const struct session *s, uint32_t tid);
/* So far: samples whose accesses are not known because of their code. */
void session_unread(struct session *s, uint64_t rewritten, uint64_t unreadable);
struct sampler *session_sampler(struct session *s);
/* What its samples stand in (record/located_code.h). */
struct located_code *session_code(struct session *s);
/* What things cost here. To measure one: before the start. */
struct prices *session_prices(struct session *s);
struct store_writer *session_store(struct session *s);
/* How often a source samples: into the profile where it is another by a fifth than *written, the caller's, which was
 * so last. */
void session_rate(struct session *s, const char *source, uint64_t now, double per_second, uint64_t period,
		  double *written);
struct targets *session_targets(struct session *s);
const struct session_opts *session_options(const struct session *s);
uint64_t session_period(const struct session *s);
/* Called in poll(): some part waits for a window's hits, and wants to see them no later than so many ms after they
 * came. The kernel could wake us, but from within the target's interrupt, at 30 us of its time; so session_wait_ns()
 * is short instead. */
void session_soon(struct session *s, unsigned ms);
/* Called in poll(): some part wants a fresh sample, after this time. session_wait_ns() then lasts until just after a
 * timer is to tick. */
void session_want_sample(struct session *s, uint64_t not_before);
/* What the timer takes of the target's time, by the measured cost of a sample. */
double session_timer_share(const struct session *s);
/* What one tick takes from this target: more than when it was measured, where its threads wait for each other.
 * wake_ns: of waking a CPU, for that, from a part that has measured it. */
double session_tick_cost(const struct session *s);
void session_wake_cost(struct session *s, double ns);
/* Its threads wait for each other so often that each look at the rings costs it some 20 us: no look that is not
 * needed. */
bool session_waits_for_itself(const struct session *s);
/* What an interruption of ns takes from this target, and what slows each switch by ns: more than measured on
 * ourselves, then. */
double session_coupled(const struct session *s, double ns);
double session_coupled_switch(const struct session *s, double ns);
/* How long to sleep on session_fd() at most. */
uint64_t session_wait_ns(struct session *s);
/* Context switches of the target per ns of its CPU time; NaN: not known yet. */
double session_switch_rate(const struct session *s);
/* A named counter: the latest value is stored and shown; losses add to the total. */
void session_count(struct session *s, const char *name, uint64_t value, bool is_loss);
/* The same of what is counted in a table that begins anew with each profile. */
void session_count_anew(struct session *s, const char *name, uint64_t value, bool is_loss);
/* Of a BPF program's, by the words of its list (counters.h). */
void session_count_bpf(struct session *s, enum bpf_counter which, uint64_t value);
/* What the target lost to us, and may: parts say before the start which accounts they use, and book there. */
struct ledger *session_ledger(struct session *s);
const struct session_totals *session_totals(struct session *s);

#endif
