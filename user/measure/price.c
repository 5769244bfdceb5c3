// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/price.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/bisect.h"
#include "util/clock.h"

#define CALLS 512       /* of a turn */
#define WORDS 24576     /* 96 KiB */
#define STREAM 4096     /* words that a turn walks through */
#define ROUNDS 21       /* odd, for a median */
#define DISTURBANCES 25 /* at most, while the median still moves; by hand */
#define ENOUGH 7        /* fewer tell no price: it is unknown then; by hand */
#define SETTLED 9       /* rounds suffice, if */
#define NARROW 0.1 /* the middle half of them is no wider than this part of the median, which is then known to 3 % */
#define QUIET_TURNS 24          /* of the loop before each disturbance: its pace without one; by hand */
#define AFTER_TURNS 3           /* in which what follows a disturbance shows; by hand */
#define PIECES_BEFORE 24        /* of the loop, whose median is its pace there; by hand */
#define PIECES_AFTER 12         /* caches are filled again */
#define RARE_PIECES 65536       /* looked at; by hand */
#define RARE_MOST 128           /* disturbances among them; by hand */
#define TURNS_KEPT 65536        /* of the other thread: half a second */
#define GIVE_UP_NS 250000000ull /* for one price: a busy machine would measure for ever; by hand */
#define STALLED_NS 3000000ull   /* without a turn of the other thread: it is not running; by hand */

#define STEP(n)                                                                                                        \
	static __attribute__((noinline)) uint32_t step##n(uint32_t x)                                                  \
	{                                                                                                              \
		return x & (1u << (n % 7)) ? x * (2654435761u + 2 * n) + n                                             \
					   : (x ^ (x >> (n % 11 + 3))) + 0x9e37u * (n + 1);                            \
	}
#define STEPS8(n) STEP(n##0) STEP(n##1) STEP(n##2) STEP(n##3) STEP(n##4) STEP(n##5) STEP(n##6) STEP(n##7)
#define NAMES8(n) step##n##0, step##n##1, step##n##2, step##n##3, step##n##4, step##n##5, step##n##6, step##n##7
/* The formatter never comes to rest on lists of macros. */
/* clang-format off */
STEPS8(1) STEPS8(2) STEPS8(3) STEPS8(4) STEPS8(5) STEPS8(6) STEPS8(7) STEPS8(8)
	/* clang-format on */

	static volatile uint32_t sink;

void price_work(unsigned turns)
{
	static uint32_t (*const step[])(uint32_t) = { NAMES8(1), NAMES8(2), NAMES8(3), NAMES8(4),
						      NAMES8(5), NAMES8(6), NAMES8(7), NAMES8(8) };
	static _Thread_local uint32_t data[WORDS], at;
	uint32_t x = 1;

	while (turns--) {
		for (unsigned i = 0; i < CALLS; i++) {
			x = step[x >> 26](x + i);
			data[x % WORDS] += x;
		}
		for (unsigned i = 0; i < STREAM; i++)
			x += data[at + i] >> 3;
		at = (at + STREAM) % WORDS;
		sink = x;
	}
}

double price_median(double *v, unsigned n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), by_double);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

bool price_settled(double *v, unsigned n)
{
	double median;

	if (n < SETTLED)
		return false;
	median = price_median(v, n);
	return v[n * 3 / 4] - v[n / 4] <= NARROW * median;
}

/* NaN: the thread was switched out meanwhile, and found its caches full of others' data. */
static double trial_round_ns(const struct trial *o, void *ctx)
{
	struct rusage was, is;
	uint64_t t;

	getrusage(RUSAGE_THREAD, &was);
	t = clock_cpu();
	for (unsigned i = 0; i < o->pieces; i++) {
		price_work(o->turns);
		if (o->event)
			o->event(ctx);
	}
	t = clock_cpu() - t;
	getrusage(RUSAGE_THREAD, &is);
	return is.ru_nivcsw == was.ru_nivcsw && is.ru_nvcsw == was.ru_nvcsw ? (double)t : NAN;
}

double price_own(const struct trial *o, void *ctx)
{
	int tid = (int)syscall(SYS_gettid);
	uint64_t until = clock_now() + GIVE_UP_NS;
	double cost[ROUNDS], before;
	unsigned n = 0;

	trial_round_ns(o, ctx);
	before = trial_round_ns(o, ctx);
	while (n < ROUNDS && !price_settled(cost, n) && clock_now() < until) {
		double with, after, events;

		if (!o->begin(ctx, tid))
			break;
		with = trial_round_ns(o, ctx);
		events = o->end(ctx, NULL, 0);
		after = trial_round_ns(o, ctx);
		/* between what is undisturbed before and after: the machine's speed drifts */
		if (events > 0 && isfinite(before + with + after))
			cost[n++] = (with - (before + after) / 2) / events;
		before = after;
	}
	return n >= ENOUGH ? price_median(cost, n) : NAN;
}

struct price_piece {
	uint64_t ended, cpu; /* on the clock of the interruptions, and the thread's own, which others do not advance */
};

/* What pieces took from the one that was interrupted on, beyond what those before it took. */
static double prolonged(const struct price_piece *piece, unsigned count, uint64_t at)
{
	double before[PIECES_BEFORE];
	unsigned hit = (unsigned)BISECT(i, count, piece[i].ended < at);

	if (hit < PIECES_BEFORE + 1 || hit + PIECES_AFTER > count)
		return NAN;
	for (unsigned i = 0; i < PIECES_BEFORE; i++)
		before[i] = (double)(piece[hit - 1 - i].cpu - piece[hit - 2 - i].cpu);
	return (double)(piece[hit + PIECES_AFTER - 1].cpu - piece[hit - 1].cpu) -
	       PIECES_AFTER * price_median(before, PIECES_BEFORE);
}

double price_rare(const struct trial *r, void *ctx)
{
	struct price_piece *piece = malloc(RARE_PIECES * sizeof(*piece));
	uint64_t at[RARE_MOST], until;
	double cost[RARE_MOST];
	unsigned n = 0, count = 0;
	double came;

	if (!piece || !r->begin(ctx, (int)syscall(SYS_gettid))) {
		free(piece);
		return NAN;
	}
	until = clock_now() + r->wait_ns;
	do {
		price_work(1);
		piece[count] = (struct price_piece){ clock_now(), clock_cpu() };
	} while (piece[count++].ended < until && count < RARE_PIECES);
	came = r->end(ctx, at, RARE_MOST);
	for (unsigned i = 0; i < came && i < RARE_MOST; i++) {
		cost[n] = prolonged(piece, count, at[i]);
		n += isfinite(cost[n]);
	}
	free(piece);
	return n >= ENOUGH ? price_median(cost, n) : NAN;
}

struct other {
	int tid; /* 0: not running yet */
	bool stop;
	uint64_t turns;
	uint64_t at[TURNS_KEPT]; /* when each turn ended */
};

static void *be_other(void *arg)
{
	struct other *o = arg;

	__atomic_store_n(&o->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (uint64_t n = 1; !__atomic_load_n(&o->stop, __ATOMIC_RELAXED); n++) {
		price_work(1);
		o->at[n % TURNS_KEPT] = clock_now();
		__atomic_store_n(&o->turns, n, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* The number of a turn that ended `more` turns from now; 0: the thread does not get on. */
static uint64_t turn_after(const struct other *o, unsigned more)
{
	uint64_t until = clock_now() + STALLED_NS, last = __atomic_load_n(&o->turns, __ATOMIC_ACQUIRE) + more, now;

	while ((now = __atomic_load_n(&o->turns, __ATOMIC_ACQUIRE)) < last)
		if (clock_now() > until)
			return 0;
	return now;
}

static double between(const struct other *o, uint64_t from, uint64_t to)
{
	return (double)(o->at[to % TURNS_KEPT] - o->at[from % TURNS_KEPT]);
}

static double disturb_often(const struct other *o, const struct trial *t, void *ctx)
{
	uint64_t until = clock_now() + GIVE_UP_NS;
	double cost[DISTURBANCES];
	unsigned n = 0;

	while (n < DISTURBANCES && !price_settled(cost, n) && clock_now() < until) {
		uint64_t first = turn_after(o, 1), then = first ? turn_after(o, QUIET_TURNS) : 0, last;

		if (!then)
			continue;
		if (!t->begin(ctx, o->tid) || t->end(ctx, NULL, 0) < 0)
			break;
		last = turn_after(o, AFTER_TURNS);
		if (last)
			cost[n++] = between(o, then, last) -
				    (double)(last - then) * between(o, first, then) / (double)(then - first);
	}
	return n >= ENOUGH ? fmax(0, price_median(cost, n)) : NAN;
}

double price_other(const struct trial *t, void *ctx)
{
	struct other *o;
	cpu_set_t allowed, here, there;
	double cost = NAN;
	pthread_t thread;
	int cpu = sched_getcpu();

	/* the two must not share a CPU */
	if (sched_getaffinity(0, sizeof(allowed), &allowed) || cpu < 0 || cpu >= CPU_SETSIZE || CPU_COUNT(&allowed) < 2)
		return NAN;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NAN;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	there = allowed;
	CPU_CLR(cpu, &there);
	/* the thread inherits it */
	if (!sched_setaffinity(0, sizeof(there), &there) && !pthread_create(&thread, NULL, be_other, o)) {
		sched_setaffinity(0, sizeof(here), &here);
		if (turn_after(o, 1))
			cost = disturb_often(o, t, ctx);
		__atomic_store_n(&o->stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
	free(o);
	return cost;
}
