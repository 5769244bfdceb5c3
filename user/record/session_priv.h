/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session, for the files that are its parts: session.c (one recording), next_profile.c (from one of its profiles to
 * the next), next_look.c (when it looks at its rings), session_breakpoints.c and session_counters.c. Included by these.
 */
#ifndef ACCPERF_RECORD_SESSION_PRIV_H
#define ACCPERF_RECORD_SESSION_PRIV_H

#include "record/counted.h"
#include "kmod-free/queue.h"
#include "record/ledger.h"
#include "record/located_code.h"
#include "record/on_time.h"
#include "record/own_budget.h"
#include "record/session.h"
#include "measure/cost_attached.h"
#include "record/thread_ticks.h"
#include "record/tick_agreement.h"
#include "record/tick_forecast.h"
#include "measure/cost_wakeups.h"
#include "record/unsampled_threads.h"
#include "measure/switch_rate.h"
#include "measure/prices.h"
#include "util/map.h"

#define MAX_PARTS 16 /* of a session; by hand */
#define RATES 8      /* sources: the timer, windows, system calls and one of the processor's */

struct session {
	struct session_opts o;
	struct targets *targets;
	struct store_writer *store;
	struct attr *attr;
	struct located_code *code;
	struct sampler *sampler;
	struct sideband *sideband;
	struct queue *queue;
	struct {
		const struct source *ops;
		void *ctx;
		bool started;
	} parts[MAX_PARTS];
	unsigned part_count;
	const char *failed; /* the part that did last, until it is named */
	uint64_t period_ns, began, next_second, cpu_at_start;
	struct ledger ledger;
	uint64_t cost_at; /* when the cost was last written */
	uint64_t next_spill;
	uint64_t clean_at, waited_ns; /* when nothing waited to be written, last; the longest from there to a write */
	struct on_time on_time;
	bool wrote; /* something, since the last second */
	bool quiet; /* nothing happened since: what only goes by is told now and then */
	struct unsampled_threads lives;
	struct map hinted; /* tid -> stack end told to the sampler */
	struct session_totals totals;
	struct err first;
	bool begun; /* all parts have begun: there is something to keep */
	bool stopped;
	int epoll;            /* the sampler's ring and what parts wait for */
	unsigned breakpoints; /* taken */
	bool armed;           /* some were, since breakpoint_gate_second() */
	uint64_t missed;      /* samples at which windows might have begun */
	struct cost_attached attached;
	bool breakpoints_wanted;
	unsigned soon_ms;    /* 0: nobody waits */
	unsigned idle_polls; /* without a sample */
	struct tick_forecast beats;
	uint64_t kernel_ticks; /* samples that these brought */
	bool ticking;          /* they come, and are not given up */
	struct tick_agreement agreement;
	struct thread_ticks by_clock;
	uint64_t wanted;      /* a sample, not before this time; 0: none */
	uint64_t due, newest; /* the tick that is waited for; of the last sample that was read */
	unsigned tries;       /* to find it */
	struct own_budget own;
	struct wakeups looks;
	uint64_t look_count;
	struct switch_rate switches;
	struct prices prices;    /* here */
	double switch_ns;        /* of a breakpoint; 0: not measured yet */
	double timer_switch_ns;  /* of a thread's timer; 0: the timers belong to CPUs */
	double wake_ns, running; /* of waking a CPU; threads of the target, lately */
	unsigned cpus;
	uint64_t running_at, running_ns; /* when it was computed last, and the target's CPU time then */
	uint64_t wall_at, wall_ns;       /* the same, when the ledger was told last */
	bool rate_known, running_known, retimed, stands_back;
	struct counted counted;
	struct session_totals before;          /* when this profile began */
	uint64_t profile_began, earlier_bytes; /* the latter: of profiles that are complete */
	unsigned profiles;                     /* that are complete */
	struct {
		char source[24];
		struct fmt_rate latest;
	} rates[RATES];
	int meanwhile; /* what went wrong while names were sought */
	struct err meanwhile_why;
	bool marked; /* events of our own were put on threads that only had inherited ones */
};

/* Measured where it is not known yet. */
static inline double session_price(struct session *s, enum price_id id)
{
	price_measure(&s->prices, id, NULL, NULL);
	return price_of(&s->prices, id);
}

/* What a tick costs, as it was measured before the start. */
static inline double session_tick_ns(const struct session *s)
{
	return price_of(&s->prices, PRICE_TICK);
}

/* What a call of a part returned, which is remembered if it failed; then the part's name goes before the sentence. */
int session_part_gave(struct session *s, unsigned part, int err);
void session_blame(struct session *s, struct err *e);
/* Orders and attributes what is older than `until`. */
int session_drain(struct session *s, uint64_t until);
/* How often a source samples from now on; kept to be told again in the next profile. */
void session_put_rate(struct session *s, const char *source, struct fmt_rate *rate);
void session_write_counters(struct session *s);
void session_write_unsampled(struct session *s);
void session_write_heap(struct session *s);
/* How often the targets' threads switch: whether their code finds its caches as it left them. */
void session_write_pace(struct session *s);
void session_write_cost(struct session *s, uint64_t now);
/* A counter of names, into the profile `store`. */
void session_write_naming(void *store, const char *name, uint64_t value, bool in_part);
/* The last record of the present profile, and its end: 0, or the first error, err if that is one. *bytes: of the
 * whole file. */
struct fmt_end session_end_of(const struct session *s, uint64_t now, enum fmt_end_reason why);
int session_end_file(struct store_writer *w, const struct fmt_end *end, int err, struct err *e, uint64_t *bytes);

/* next_look.c: looking at the rings costs the target something. */
void session_count_look(struct session *s, uint64_t now);

#endif
