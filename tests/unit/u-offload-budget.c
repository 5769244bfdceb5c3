// SPDX-License-Identifier: GPL-2.0-or-later
/* What probes of hot and of quiet libraries may take, and when: budget.c over an engine and a clock of our own. */
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "offload/session_internal.h"
#include "unit/unit.h"
#include "util/clock.h"

#define BUDGET 3.3e-3 /* what the ledger gives offload probes of 1 % */
#define HIT_NS 26e3   /* on a virtual machine */
#define ARM_NS 8e6    /* takes a library with many functions */
#define DISARM_NS 40e6
#define LOOK_NS 2e6
#define LIBS 3
#define BEGIN_NS 1e17 /* since boot: later than the test itself began */

/* The machine: hits cost the target `hot` of its time where probes are; it runs on one CPU. */
static struct offload_session *session;
static double now_ns, cpu_ns, cpus; /* cpus: that the target uses; 0: its clock cannot be asked */
static struct {
	double rate, hits; /* a ns while probed; so far */
	bool on;
} lib[LIBS];

static void pass(double ns)
{
	now_ns += ns;
	cpu_ns += cpus * ns;
	for (unsigned i = 0; i < LIBS; i++)
		lib[i].hits += lib[i].on ? lib[i].rate * ns : 0;
}

int clock_gettime(clockid_t c, struct timespec *ts)
{
	double ns = c < 0 ? cpu_ns : now_ns; /* those of processes are negative */

	ts->tv_sec = (time_t)(ns / 1e9);
	ts->tv_nsec = (long)(ns - (double)ts->tv_sec * 1e9);
	return 0;
}

int usleep(useconds_t us)
{
	pass(us * 1e3);
	return 0;
}

struct probe_activity uprobe_activity(const struct uprobe *u, uint32_t probe)
{
	return (struct probe_activity){ .hits = (uint64_t)lib[probe].hits, .calls = (uint64_t)lib[probe].hits };
}

const struct uprobe_cost *uprobe_cost(const struct uprobe *u)
{
	static const struct uprobe_cost c = { .of[0].call_ns = HIT_NS };

	return &c;
}

int uprobe_arm(struct uprobe *u, int library, uint64_t *when, struct err *e)
{
	pass(ARM_NS);
	lib[library].on = true;
	*when = clock_now();
	return 0;
}

void uprobe_pause(struct uprobe *u, int library, uint64_t *when)
{
	*when = clock_now();
}

/* While it waits for the kernel, the recorder's other thread looks at the others. */
void uprobe_disarm(struct uprobe *u, const int *libraries, unsigned cnt)
{
	double until = now_ns + DISARM_NS;

	for (unsigned i = 0; i < cnt; i++)
		lib[libraries[i]].on = false;
	while (now_ns < until) {
		pass(fmin(LOOK_NS, until - now_ns));
		pthread_mutex_lock(&session->lock);
		budget_look(session, LOOK_NS);
		pthread_mutex_unlock(&session->lock);
	}
}

void uprobe_disarm_all(struct uprobe *u)
{
}

static double spent(void)
{
	double hits = 0;

	for (unsigned i = 0; i < LIBS; i++)
		hits += lib[i].hits;
	return hits * HIT_NS;
}

/* A recording's beginning, as found.c goes about it. */
static struct offload_session *begun(const double *rates, uint64_t random)
{
	struct offload_session *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	session = s;
	now_ns = BEGIN_NS;
	s->opts.budget = BUDGET;
	s->cpu_share = 1;
	if (cpus > 0) { /* ourselves, as of long ago */
		cpu_ns = cpus * now_ns;
		assert_non_null(map_put(&s->pids, (uint64_t)getpid(), NULL));
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	s->looked = clock_now();
	s->random = random;
	for (unsigned i = 0; i < LIBS; i++)
		lib[i].rate = rates[i], lib[i].hits = 0, lib[i].on = false;
	for (unsigned i = 0; i < LIBS; i++) {
		s->libs[i] = (struct known_lib){ .index = (int)i, .first = i, .count = 1 };
		assert_int_equal(budget_arm(s, &s->libs[i], NULL), 0);
		s->libs_cnt++;
		budget_first_look(s);
	}
	return s;
}

static void look_until(struct offload_session *s, double until)
{
	while (now_ns < until) {
		pthread_mutex_lock(&s->lock);
		double next = budget_look(s, LOOK_NS);
		pthread_mutex_unlock(&s->lock);
		pass(next);
	}
}

static void ended(struct offload_session *s)
{
	free(s->windows);
	free(s);
}

/* Spent in the mean of a hundred recordings by the seconds of a power of two, from 2 on. */
static void spent_by(const double *rates, double *mean_ns, unsigned cnt)
{
	for (unsigned n = 0; n < 100; n++) {
		struct offload_session *s = begun(rates, 1000003 * n + 1);

		for (unsigned i = 0; i < cnt; i++) {
			look_until(s, BEGIN_NS + (double)(2u << i) * 1e9);
			mean_ns[i] += spent() / 100;
		}
		ended(s);
	}
}

/* No more by any second than was earned until then and each may owe at first: .3 s of earnings. */
TEST(hot_from_the_start)
{
	const double rates[LIBS] = { .8 / HIT_NS, .3 / HIT_NS, .1 / HIT_NS };
	double mean_ns[5] = { 0 };

	spent_by(rates, mean_ns, 5);
	for (unsigned i = 0; i < 5; i++) {
		double seconds = 2u << i, most = BUDGET * 1e9 * (seconds + .3 * LIBS);

		print_message("after %2.0f s: %5.2f ms a recording; %.2f may be\n", seconds, mean_ns[i] / 1e6,
			      most / 1e6);
		assert_true(mean_ns[i] < most);
		/* and what is earned is used: figures of hot functions rest on it */
		assert_true(mean_ns[i] > most / 3);
	}
}

/* A library that costs less than it earns is never let go, though all its calls may come at once. */
TEST(quiet_ones_stay)
{
	const double rates[LIBS] = { .2 * BUDGET / HIT_NS, 0, .2 * BUDGET / HIT_NS };
	struct offload_session *s = begun(rates, 1);

	look_until(s, BEGIN_NS + 20e9);
	for (unsigned i = 0; i < LIBS; i++)
		assert_false(s->libs[i].let_go);
	/* ten seconds' hits in one moment */
	lib[0].hits += 10 * .2 * BUDGET * 1e9 / HIT_NS;
	look_until(s, BEGIN_NS + 30e9);
	assert_false(s->libs[0].let_go);
	ended(s);
}

/* A service that uses a thirtieth of a CPU, and whose calls are a tenth of it: what the first stretch owes is paid back
 * soon enough for others. One or two tell nothing of the rest. */
TEST(who_sleeps_is_looked_at_more_than_once)
{
	const double rates[LIBS] = { .006 / HIT_NS };
	double mean = 0;

	cpus = .03;
	for (unsigned n = 0; n < 100; n++) {
		struct offload_session *s = begun(rates, 0x9e3779b97f4a7c15 * (n + 1));

		look_until(s, BEGIN_NS + 1e9); /* then it is seen */
		s->cpu_share = cpus;
		look_until(s, BEGIN_NS + 20e9);
		mean += s->libs[0].stretches / 100.;
		map_release(&s->pids);
		ended(s);
	}
	cpus = 0;
	print_message("%.1f stretches in the mean\n", mean);
	assert_true(mean >= 7);
}
