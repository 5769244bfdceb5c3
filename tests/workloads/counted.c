// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Steps that run known numbers of times for each run of `unit`, on two threads: once, three times in a
 * loop, every fourth time, through a pointer, by a jump at another step's end, by recursion. Each
 * spends its time in a loop of SIZE turns, `few` in one of SIZE / 4, `along` on a list of SIZE elements. Truth for
 * execution counts.
 */
#include <pthread.h>

#include "work.h"

struct element {
	struct element *next;
	uint64_t value;
};

static unsigned long turns;
static struct element *list;

static inline uint64_t spin(uint64_t x, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		x = work_mix(x, i);
	return x;
}

STEP static uint64_t always(uint64_t x)
{
	return spin(x, turns);
}
STEP static uint64_t thrice(uint64_t x)
{
	return spin(x, turns);
}
STEP static uint64_t fourth(uint64_t x)
{
	return spin(x, turns);
}
STEP static uint64_t pointed(uint64_t x)
{
	return spin(x, turns);
}
STEP static uint64_t few(uint64_t x)
{
	return spin(x, turns / 4);
}
STEP static uint64_t jumped(uint64_t x)
{
	return spin(x, turns);
}
STEP static uint64_t jumps(uint64_t x)
{
	return jumped(spin(x, turns));
}
STEP static uint64_t deeper(uint64_t x, int n)
{
	return n ? deeper(spin(x, turns / 4), n - 1) + 1 : x;
}

STEP static uint64_t along(uint64_t x)
{
	for (const struct element *e = list; e; e = e->next)
		x = work_mix(x, e->value);
	return x;
}

static uint64_t (*volatile pointer)(uint64_t) = pointed;

STEP static uint64_t unit(uint64_t x, unsigned i)
{
	x = always(x);
	for (int k = 0; k < 3; k++)
		x = thrice(x);
	if (i % 4 == 0)
		x = fourth(x);
	x = pointer(x);
	x = few(x);
	x = jumps(x);
	x = along(x);
	return deeper(x, 4);
}

static void *worker(void *result)
{
	uint64_t x = *(uint64_t *)result;

	for (unsigned i = 0; i < 400; i++)
		x = unit(x, i);
	*(uint64_t *)result = x;
	return NULL;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 4000);
	uint64_t digest;

	turns = w.size;
	list = calloc(turns, sizeof(*list));
	if (!list)
		work_die(&w, "out of memory");
	for (unsigned long i = 0; i < turns; i++)
		list[i] = (struct element){ i + 1 < turns ? &list[i + 1] : NULL, i };
	do {
		uint64_t result[2] = { 1, 2 };
		pthread_t other;

		if (pthread_create(&other, NULL, worker, &result[1]))
			work_die(&w, "cannot make a thread");
		worker(&result[0]);
		pthread_join(other, NULL);
		digest = work_mix(result[0], result[1]);
	} while (work_more(&w, digest));
	return work_done(&w);
}
