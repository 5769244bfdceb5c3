// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeping to the budget. A probed call costs some ten microseconds whatever the program behind it does, so the only
 * way to spend less on a function called a million times a second is to take its probes away. Each library has an
 * account: it earns its part of the budget as time passes and pays for every hit. It begins with nothing: a recorder
 * that lives for ten seconds keeps to the budget like one of an hour, and a library that turns out hot is let go as
 * soon as that is seen, before the next one's probes are planted. While in credit it stays armed, so quiet libraries
 * are watched all the time; when it is overdrawn it is disarmed for a while, drawn at random such that on average the
 * debt is paid: a fixed time would fall into step with the target's own phases. Stretches in which it was armed are
 * recorded, so that totals can be scaled and their spread be seen; a stretch in which the target changes its pace is
 * written in pieces, because the gap after it goes on at the pace it ended with.
 *
 * These accounts are no rows of the recorder's ledger (record/ledger.h): that has a row for each kind of spending,
 * known beforehand, and tells whether more may be spent; here is a balance for each library, met while it runs, which
 * may be overdrawn and is paid back. The recorder's row "offload probes" gives the budget that these share.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "offload/session_internal.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/process_file.h"
#include "util/random.h"

#define LOOK_MIN_NS 2e6    /* how often to look: such that an account is overdrawn by little, */
#define LOOK_MAX_NS 20e6   /* a function may get hot at any time */
#define LOOK_IDLE_NS 1e9   /* where no library is known that could be called; by hand */
#define LOOK_FIRST_US 1000 /* and soon at first, before the next library's are planted, which takes some 5 ms */
#define CREDIT_S 3.0       /* an account holds at most so many seconds' earnings, and starts with none: */
#define LOAN_S 0.3         /* so many seconds' it may owe at first, 38 hits of 26 us at .33 % of a CPU */
#define LOAN_LEAST                                                                                                     \
	0.25 /* of it, where the target mostly sleeps: ten hits; fewer would tell the pace of each other's ends */
#define PACE_HITS 8   /* in one look tell how fast they come, to a third */
#define OPEN_PART 0.3 /* of it a stretch may cost */
#define PIECES 64     /* of a stretch, at most */
#define TAIL_US 3000  /* how long to watch a pace that is new before letting go */

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

/* CPUs that a process has used since it began; NaN: not known. */
static double lived_on(int pid)
{
	char text[1024], *end;
	unsigned long long start;
	double age;

	if (process_file(pid, "stat", text, sizeof(text)) <= 0 || !(end = strrchr(text, ')')) ||
	    sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &start) != 1)
		return NAN;
	age = (double)clock_ns(CLOCK_BOOTTIME) - (double)start * 1e9 / (double)sysconf(_SC_CLK_TCK);
	return age > 0 ? (double)session_process_cpu(pid) / age : NAN;
}

/*
 * CPUs that the targets use, before the recording's first second tells: what they used in their life; 1 where that is
 * not known. What mostly sleeps and was taken to use a whole one would spend many seconds' earnings in the first
 * stretch, or wait as long for the next, and one stretch would be all there is.
 */
static double used_until_now(struct offload_session *s)
{
	uint64_t pid, *last;
	double sum = 0;
	size_t pos = 0;

	while (map_next(&s->pids, &pos, &pid, &last))
		sum += lived_on((int)pid);
	return sum > 0 ? fmax(fmin(sum, 1), SHARE_LEAST) : 1;
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
	uint64_t began = clock_now(), when, hits, calls;
	double cost_ns;
	int r;

	/* No call counts before it is armed; read later, those in between would be of no stretch. */
	sum_activity(s, l, &hits, &calls, &cost_ns);
	r = uprobe_arm(s->u, l->index, &when, e);

	if (r == -ESTALE && !l->rewritten) {
		l->rewritten = true;
		s->rewritten++;
	}
	if (r)
		return r;
	s->arming_ns = (double)(when - began);
	l->begin = mark_now(s, l, when);
	l->begin.calls = calls;
	l->piece = l->looked = l->begin;
	l->pieces = 0;
	l->on = true;
	l->stretches++;
	return 0;
}

/* Whether it is overdrawn, or will be before the next look. */
static bool is_overdrawn(const struct known_lib *l, uint64_t came, double spent, double elapsed_ns, double blind_ns)
{
	double left = l->balance_ns - l->floor_ns;

	return left < 0 || (came >= PACE_HITS && left < spent / elapsed_ns * blind_ns);
}

/* Those that budget_look() found overdrawn are disarmed; meanwhile the others are looked at. Lock held. */
static void remove_overdrawn(struct offload_session *s, const int *libraries, unsigned cnt, unsigned busy)
{
	double cap = s->opts.budget * s->cpu_share * CREDIT_S * 1e9;

	if (!cnt)
		return;
	pthread_mutex_unlock(&s->lock);
	uprobe_disarm(s->u, libraries, cnt);
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];

		for (unsigned k = 0; k < cnt && l->leaves; k++)
			if (l->index == libraries[k]) {
				l->leaves = false;
				/* What hit between the last look and the last probe's removal. */
				budget_book(s, l);
				draw_gap(s, l, cap, busy);
			}
	}
}

/* It earns and pays, and what it may do next is done; whether it is to be disarmed. */
static bool look_at_library(struct offload_session *s, struct known_lib *l, double earn, double elapsed_ns,
			    double blind_ns, double *next)
{
	double cap = s->opts.budget * s->cpu_share * CREDIT_S * 1e9, spent;
	uint64_t hits = l->hits, when;
	struct budget_mark now;
	bool fresh = false;

	spent = budget_book(s, l);
	l->balance_ns = fmin(l->balance_ns + earn, cap);
	if (hits != l->hits)
		l->hot = true;
	else if (l->on)
		l->hot = false;
	if (l->on) {
		now = mark_now(s, l, clock_now());
		fresh = turn_piece(s, l, &now);
		if (now.at - l->begin.at < LOOK_MAX_NS)
			*next = LOOK_MIN_NS;
	}
	if (l->on && is_overdrawn(l, l->hits - hits, spent, elapsed_ns, blind_ns)) {
		/* Removing the probes takes longer than this, so it costs little. */
		if (fresh)
			usleep(TAIL_US);
		uprobe_pause(s->u, l->index, &when);
		stretch_end(s, l, when);
		l->on = false;
		l->let_go = l->leaves = true;
		return true;
	}
	if (!l->on && !l->leaves && !l->rewritten && work_clock(s) >= l->due) {
		l->floor_ns = fmin(0, l->balance_ns - OPEN_PART * cap);
		arm_library(s, l, NULL);
		*next = LOOK_MIN_NS;
	}
	/* Half the time in which the account would be empty at this pace. */
	if (l->on && spent > earn)
		*next = fmin(*next, (l->balance_ns - l->floor_ns) / (spent - earn) * elapsed_ns / 2);
	return false;
}

double budget_look(struct offload_session *s, double blind_ns)
{
	uint64_t at = clock_now();
	double elapsed_ns = (double)(at - s->looked), earn, next = LOOK_IDLE_NS;
	int overdrawn[sizeof(s->libs) / sizeof(s->libs[0])];
	unsigned busy = 0, cnt = 0;

	s->looked = at;
	session_cpu(s); /* so that little is missing of a process that ends */
	for (unsigned i = 0; i < s->libs_cnt; i++)
		busy += s->libs[i].index >= 0 && s->libs[i].hot;
	for (unsigned i = 0; i < s->libs_cnt; i++)
		next = s->libs[i].index >= 0 ? LOOK_MAX_NS : next;
	/* Only those that are called share the budget. */
	earn = s->opts.budget * s->cpu_share * elapsed_ns / (busy ? busy : 1);
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];

		if (l->index >= 0 && look_at_library(s, l, earn, elapsed_ns, blind_ns, &next))
			overdrawn[cnt++] = l->index;
	}
	remove_overdrawn(s, overdrawn, cnt, busy);
	return fmax(next, LOOK_MIN_NS);
}

int budget_arm(struct offload_session *s, struct known_lib *l, struct err *e)
{
	int r;

	pthread_mutex_lock(&s->lock);
	if (!s->cpu_at)
		s->cpu_share = used_until_now(s);
	l->balance_ns = s->opts.exact ? INFINITY : 0;
	l->floor_ns = -s->opts.budget * LOAN_S * 1e9 * fmax(fmin(s->cpu_share, 1), LOAN_LEAST);
	r = arm_library(s, l, e);
	if (!l->on && s->thread_runs)
		pthread_cond_signal(&s->wake); /* it may have been idle */
	budget_book(s, l);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void budget_first_look(struct offload_session *s)
{
	if (s->opts.exact || !s->libs[s->libs_cnt - 1].on)
		return;
	usleep(LOOK_FIRST_US);
	pthread_mutex_lock(&s->lock);
	budget_look(s, s->arming_ns);
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

static void *look_in_turns(void *arg)
{
	struct offload_session *s = arg;
	double next = LOOK_MIN_NS;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		uint64_t until = clock_now() + (uint64_t)next;
		struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u),
				       .tv_nsec = (long)(until % 1000000000u) };

		pthread_cond_timedwait(&s->wake, &s->lock, &ts);
		next = budget_look(s, LOOK_MIN_NS);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int budget_start(struct offload_session *s)
{
	pthread_condattr_t attr;

	s->looked = clock_now();
	s->random = s->looked * 2 + 1;
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
