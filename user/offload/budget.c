// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeping to the budget. A probed call costs some ten microseconds whatever the program behind it
 * does, so the only way to spend less on a function called a million times a second is to take its
 * probes away. Each library has an account: it earns its part of the budget as time passes and pays
 * for every hit. While in credit it stays armed, so quiet libraries are watched all the time; when
 * it is overdrawn it is disarmed for a while, drawn at random such that on average the debt is paid:
 * a fixed time would fall into step with the target's own phases. Stretches in which it was armed are
 * recorded, so that totals can be scaled and their spread be seen; a stretch in which the target changes
 * its pace is written in pieces, because the gap after it goes on at the pace it ended with.
 *
 * These accounts are no rows of the recorder's ledger (record/ledger.h): that has a row for each kind of spending,
 * known beforehand, and tells whether more may be spent; here is a balance for each library, met while it runs, which
 * may be overdrawn and is paid back. The recorder's row "offload probes" gives the budget that these share.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "offload/session_internal.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/random.h"

#define LOOK_MIN_NS 2e6          /* how often to look: such that an account is overdrawn by little, */
#define LOOK_MAX_NS 20e6         /* a function may get hot at any time */
#define LOOK_FIRST_NS 5000000ull /* and soon at first */
#define CREDIT_S 3.0             /* an account holds at most so many seconds' earnings, and starts with them */
#define OPEN_PART 0.3            /* of it a stretch may cost */
#define PIECES 64                /* of a stretch, at most */
#define TAIL_US 3000             /* how long to watch a pace that is new before letting go */

uint64_t session_process_cpu(int pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : clock_ns(clock);
}

uint64_t session_cpu(struct offload_session *s)
{
	uint64_t sum = s->cpu_gone, pid, *last, now;
	size_t pos = 0;

	while (map_next(&s->pids, &pos, &pid, &last)) {
		now = session_process_cpu((int)pid);
		if (now > *last)
			*last = now;
		sum += *last;
	}
	return sum;
}

/* What a hit of this probe costs the target. */
static double session_cost_of(const struct offload_session *s, uint32_t probe)
{
	return uprobe_cost(s->u)->of[s->probes[probe].calls.cost].call_ns;
}

static void sum_activity(struct offload_session *s, const struct known_lib *l, uint64_t *hits, uint64_t *calls,
			 double *cost_ns)
{
	*hits = *calls = 0;
	*cost_ns = 0;
	for (uint32_t i = l->first; i < l->first + l->count; i++) {
		struct probe_activity a = uprobe_activity(s->u, i);

		*hits += a.hits;
		*calls += a.calls;
		*cost_ns += (double)a.hits * session_cost_of(s, i);
	}
}

/* What its probes have cost since the last time is booked: in its own account and in the whole, which the recorder's
 * ledger reads. Lock held. */
double budget_book(struct offload_session *s, struct known_lib *l)
{
	double before = l->cost_ns, spent;

	sum_activity(s, l, &l->hits, &l->calls, &l->cost_ns);
	spent = l->cost_ns - before;
	l->balance_ns -= spent;
	s->spent_ns += spent;
	return spent;
}

static struct budget_mark mark_now(struct offload_session *s, const struct known_lib *l, uint64_t at)
{
	struct budget_mark m = { .at = at, .cpu = session_cpu(s) };

	sum_activity(s, l, &m.hits, &m.calls, &m.cost_ns);
	return m;
}

/* The time from a to b; lock held. */
static void put_window(struct offload_session *s, const struct known_lib *l, const struct budget_mark *a,
		       const struct budget_mark *b)
{
	if (!GROW(s->windows, s->windows_cnt, s->windows_cap, 64))
		return;
	s->windows[s->windows_cnt++] = (struct fmt_offload_window){
		.armed = a->at,
		.disarmed = b->at,
		.calls = b->calls - a->calls,
		.hits = b->hits - a->hits,
		.library = l->path_id,
		.group = l->group,
		.cpu_armed = a->cpu,
		.cpu_disarmed = b->cpu,
		.hits_ns = b->cost_ns > a->cost_ns ? (uint64_t)(b->cost_ns - a->cost_ns) : 0,
		.gap_mean = a->at == l->begin.at && l->gap_mean > 0 ? (uint64_t)l->gap_mean : 0,
	};
}

/* Twice or half the calls for the same work, by more than chance would make it. */
static bool other_pace(const struct budget_mark *from, const struct budget_mark *to, const struct budget_mark *next)
{
	double work = (double)(to->cpu - from->cpu) - (to->cost_ns - from->cost_ns),
	       calls = (double)(next->calls - to->calls);
	double next_work = (double)(next->cpu - to->cpu) - (next->cost_ns - to->cost_ns), expected;

	if (!(work > 0) || !(next_work > 0))
		return false;
	expected = (double)(to->calls - from->calls) / work * next_work;
	return fabs(calls - expected) > 4 * sqrt(expected + 1) + fmax(calls, expected) / 2;
}

/* An armed library at a later moment: does a new piece begin? Lock held. */
static bool turn_piece(struct offload_session *s, struct known_lib *l, const struct budget_mark *now)
{
	bool other = l->pieces < PIECES && l->looked.at > l->piece.at && other_pace(&l->piece, &l->looked, now);

	if (other) {
		put_window(s, l, &l->piece, &l->looked);
		l->piece = l->looked;
		l->pieces++;
	}
	l->looked = *now;
	return other;
}

/* The stretch that just ended; lock held. */
static void stretch_end(struct offload_session *s, struct known_lib *l, uint64_t when)
{
	struct budget_mark now = mark_now(s, l, when);

	turn_piece(s, l, &now);
	put_window(s, l, &l->piece, &now);
	l->stretch_hits += now.hits - l->begin.hits;
	l->stretch_cost_ns += now.cost_ns - l->begin.cost_ns;
}

/* What gaps are measured in: CPU time of the target, or the clock where that is unknown. */
static double work_clock(struct offload_session *s)
{
	uint64_t cpu = session_cpu(s);

	return (double)(cpu ? cpu : clock_now());
}

/*
 * How long to stay away. Because the time is exponential, a stretch begins at any moment of the gap
 * with equal chance, whatever the target does meanwhile (scale.h).
 */
static void draw_gap(struct offload_session *s, struct known_lib *l, double cap, unsigned busy)
{
	double debt = OPEN_PART * cap - l->balance_ns, earn = s->opts.budget / (busy ? busy : 1);

	if (!session_cpu(s))
		earn *= s->cpu_share;
	l->gap_mean = debt / earn;
	l->due = work_clock(s) - log(random_unit(&s->random)) * l->gap_mean;
}

static int arm_library(struct offload_session *s, struct known_lib *l, struct err *e)
{
	uint64_t when;
	int r = uprobe_arm(s->u, l->index, &when, e);

	if (r == -ESTALE && !l->rewritten) {
		l->rewritten = true;
		s->rewritten++;
	}
	if (r)
		return r;
	l->begin = l->piece = l->looked = mark_now(s, l, when);
	l->pieces = 0;
	l->on = true;
	l->stretches++;
	return 0;
}

int budget_arm(struct offload_session *s, struct known_lib *l, struct err *e)
{
	int r;

	pthread_mutex_lock(&s->lock);
	l->balance_ns = s->opts.exact ? INFINITY : s->opts.budget * CREDIT_S * 1e9;
	r = arm_library(s, l, e);
	budget_book(s, l);
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Returns when to look again, in nanoseconds from now. */
static double look_at_libraries(struct offload_session *s, double elapsed_ns)
{
	double earn, next = LOOK_MAX_NS;
	unsigned busy = 0;

	for (unsigned i = 0; i < s->libs_cnt; i++)
		busy += s->libs[i].index >= 0 && s->libs[i].hot;
	/* Only those that are called share the budget. */
	earn = s->opts.budget * s->cpu_share * elapsed_ns / (busy ? busy : 1);
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];
		double cap = s->opts.budget * s->cpu_share * CREDIT_S * 1e9;
		uint64_t hits = l->hits, when;
		double spent;
		struct budget_mark now;
		bool fresh = false;

		if (l->index < 0)
			continue;
		spent = budget_book(s, l);
		l->balance_ns += earn;
		if (hits != l->hits)
			l->hot = true;
		else if (l->on)
			l->hot = false;
		if (l->balance_ns > cap)
			l->balance_ns = cap;
		if (l->on) {
			now = mark_now(s, l, clock_now());
			fresh = turn_piece(s, l, &now);
		}
		if (l->on && l->balance_ns < l->floor_ns) {
			/* Removing the probes takes longer than this, so it costs little. */
			if (fresh)
				usleep(TAIL_US);
			uprobe_pause(s->u, l->index, &when);
			stretch_end(s, l, when);
			uprobe_disarm(s->u, l->index, NULL);
			l->on = false;
			l->let_go = true;
			/* What hit between the last look and the last probe's removal. */
			budget_book(s, l);
			draw_gap(s, l, cap, busy);
		} else if (!l->on && !l->rewritten && work_clock(s) >= l->due) {
			l->floor_ns = fmin(0, l->balance_ns - OPEN_PART * cap);
			arm_library(s, l, NULL);
			next = fmin(next, LOOK_FIRST_NS);
		}
		/* Half the time in which the account would be empty at this pace. */
		if (l->on && spent > earn)
			next = fmin(next, (l->balance_ns - l->floor_ns) / (spent - earn) * elapsed_ns / 2);
	}
	return fmax(next, LOOK_MIN_NS);
}

static void *look_in_turns(void *arg)
{
	struct offload_session *s = arg;
	uint64_t last = clock_now();
	double next = LOOK_FIRST_NS;

	pthread_mutex_lock(&s->lock);
	session_cpu(s);
	while (!s->stop) {
		uint64_t until = clock_now() + (uint64_t)next, now;
		struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u),
				       .tv_nsec = (long)(until % 1000000000u) };

		pthread_cond_timedwait(&s->wake, &s->lock, &ts);
		now = clock_now();
		session_cpu(s); /* so that little is missing of a process that ends */
		next = look_at_libraries(s, (double)(now - last));
		last = now;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int budget_start(struct offload_session *s)
{
	pthread_condattr_t attr;

	s->random = clock_now() * 2 + 1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (s->opts.exact)
		return 0;
	if (pthread_create(&s->thread, NULL, look_in_turns, s))
		return -1;
	s->thread_runs = true;
	return 0;
}

/* The end of a profile, with what fell outside of stretches. */
static void put_outside(struct offload_session *s, struct known_lib *l, const struct budget_mark *now)
{
	struct budget_mark outside = *now;
	uint64_t hits = now->hits - l->stretch_hits;
	double cost_ns = now->cost_ns - l->stretch_cost_ns;

	if (l->on) {
		hits -= now->hits - l->begin.hits;
		cost_ns -= now->cost_ns - l->begin.cost_ns;
	}
	outside.hits -= hits - l->outside_told;
	outside.cost_ns -= cost_ns - l->outside_cost_told;
	put_window(s, l, &outside, now);
	l->outside_told = hits;
	l->outside_cost_told = cost_ns;
}

void budget_cut(struct offload_session *s)
{
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];
		struct budget_mark now;

		if (l->index < 0)
			continue;
		now = mark_now(s, l, clock_now());
		if (l->on) {
			turn_piece(s, l, &now);
			put_window(s, l, &l->piece, &now);
			l->piece = now;
		}
		put_outside(s, l, &now);
	}
	pthread_mutex_unlock(&s->lock);
}

void budget_stop(struct offload_session *s)
{
	uint64_t ended[sizeof(s->libs) / sizeof(s->libs[0])];

	if (s->stopped)
		return;
	s->stopped = true;
	if (s->thread_runs) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_cond_signal(&s->wake);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
		s->thread_runs = false;
	}
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];

		ended[i] = clock_now();
		if (l->index < 0 || !l->on)
			continue;
		uprobe_pause(s->u, l->index, &ended[i]);
		stretch_end(s, l, ended[i]);
		l->on = false;
	}
	if (s->u)
		uprobe_disarm_all(s->u);
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];
		struct budget_mark now;

		if (l->index < 0)
			continue;
		now = mark_now(s, l, ended[i]);
		put_outside(s, l, &now);
	}
}

void budget_write(struct offload_session *s)
{
	struct fmt_offload_window *w;
	unsigned n;

	pthread_mutex_lock(&s->lock);
	w = s->windows;
	n = s->windows_cnt;
	s->windows = NULL;
	s->windows_cnt = s->windows_cap = 0;
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < n; i++)
		s->sink.put(s->sink.ctx, FMT_OFFLOAD_WINDOW, &w[i], sizeof(w[i]));
	free(w);
}
