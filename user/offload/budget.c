// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeping to the budget. A probed call costs some ten microseconds whatever the program behind it
 * does, so the only way to spend less on a function called a million times a second is to take its
 * probes away. Each library has an account: it earns its part of the budget as time passes and pays
 * for every hit. While in credit it stays armed, so quiet libraries are watched all the time; when
 * it is overdrawn it is disarmed until the debt is paid. Stretches in which it was armed are
 * recorded, so that totals can be scaled and their spread be seen.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "offload/session_internal.h"

#define LOOK_NS 20000000ull   /* while something is busy */
#define IDLE_NS 100000000ull
#define CREDIT_S 1.0	      /* an account never holds more than a second's earnings, */
#define START_CREDIT_NS 60e6  /* but starts with this, so that short runs are seen whole */
#define OPEN_AT_NS 1e6	      /* in credit by this much: arm again */

uint64_t session_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void sum_activity(struct offload_session *s, const struct known_lib *l, uint64_t *hits, uint64_t *calls)
{
	*hits = *calls = 0;
	for (uint32_t i = l->first; i < l->first + l->count; i++) {
		struct probe_activity a = uprobe_activity(s->u, i);

		*hits += a.hits;
		*calls += a.calls;
	}
}

/* The stretch that just ended; lock held. */
static void stretch_end(struct offload_session *s, struct known_lib *l, uint64_t when)
{
	struct fmt_offload_window *w;
	uint64_t hits, calls;

	sum_activity(s, l, &hits, &calls);
	if (s->windows_cnt == s->windows_cap) {
		unsigned cap = s->windows_cap ? s->windows_cap * 2 : 64;

		w = realloc(s->windows, cap * sizeof(*w));
		if (!w)
			return;
		s->windows = w;
		s->windows_cap = cap;
	}
	s->windows[s->windows_cnt++] = (struct fmt_offload_window){
		.armed = l->armed_at, .disarmed = when, .calls = calls - l->armed_calls,
		.hits = hits - l->armed_hits, .library = l->path_id,
	};
}

static int arm(struct offload_session *s, struct known_lib *l, struct err *e)
{
	int r = uprobe_arm(s->u, l->index, &l->armed_at, e);

	if (r)
		return r;
	sum_activity(s, l, &l->armed_hits, &l->armed_calls);
	l->on = true;
	l->stretches++;
	return 0;
}

int budget_arm(struct offload_session *s, struct known_lib *l, struct err *e)
{
	int r;

	pthread_mutex_lock(&s->lock);
	l->balance_ns = START_CREDIT_NS;
	r = arm(s, l, e);
	sum_activity(s, l, &l->hits, &l->calls);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static bool look(struct offload_session *s, double elapsed_ns)
{
	double call_ns = uprobe_cost(s->u)->call_ns, earn;
	unsigned busy = 0;
	bool hot = false;

	for (unsigned i = 0; i < s->libs_cnt; i++)
		busy += s->libs[i].index >= 0 && s->libs[i].hot;
	/* Only those that are called share the budget. */
	earn = s->opts.budget * s->cpu_share * elapsed_ns / (busy ? busy : 1);
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];
		double cap = s->opts.budget * s->cpu_share * CREDIT_S * 1e9;
		uint64_t hits, calls, when;

		if (l->index < 0)
			continue;
		sum_activity(s, l, &hits, &calls);
		l->balance_ns += earn - (double)(hits - l->hits) * call_ns;
		if (hits != l->hits)
			l->hot = true;
		else if (l->on)
			l->hot = false;
		l->hits = hits;
		l->calls = calls;
		if (l->balance_ns > cap && l->balance_ns > START_CREDIT_NS)
			l->balance_ns = cap > START_CREDIT_NS ? cap : START_CREDIT_NS;
		if (l->on && l->balance_ns < 0) {
			uprobe_disarm(s->u, l->index, &when);
			l->on = false;
			stretch_end(s, l, when);
			/* What hit between the last look and the last probe's removal. */
			sum_activity(s, l, &hits, &calls);
			l->balance_ns -= (double)(hits - l->hits) * call_ns;
			l->hits = hits;
		} else if (!l->on && l->balance_ns > OPEN_AT_NS) {
			arm(s, l, NULL);
		}
		hot |= l->on && l->hot;
	}
	return hot;
}

static void *run(void *arg)
{
	struct offload_session *s = arg;
	uint64_t last = session_now();
	bool hot = true;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		uint64_t until = session_now() + (hot ? LOOK_NS : IDLE_NS), now;
		struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u) };

		pthread_cond_timedwait(&s->wake, &s->lock, &ts);
		now = session_now();
		hot = look(s, (double)(now - last));
		last = now;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int budget_start(struct offload_session *s)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (s->opts.exact)
		return 0;
	if (pthread_create(&s->thread, NULL, run, s))
		return -1;
	s->thread_runs = true;
	return 0;
}

void budget_stop(struct offload_session *s)
{
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
		uint64_t when;

		if (l->index < 0 || !l->on)
			continue;
		uprobe_disarm(s->u, l->index, &when);
		l->on = false;
		stretch_end(s, l, when);
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
