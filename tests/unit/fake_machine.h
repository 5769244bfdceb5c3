/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine that a test makes up: a clock that moves when it is told to, or while somebody sleeps, and prices that are
 * known without measuring. The functions here stand in for those of the library and libc: a test's own definitions
 * come first when it is linked. Included by fake_sources.h and fake_windows.h.
 */
#ifndef TESTS_FAKE_MACHINE_H
#define TESTS_FAKE_MACHINE_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "measure/prices.h"

#define MS 1000000ull
#define SECOND 1000000000ull
#define EPOCH (1000 * SECOND) /* any but 0, which means never */

#define TICK_NS 20000.0
#define SWITCH_TIMER_NS 5000.0
#define SWITCH_BREAKPOINT_NS 1000.0
#define SWITCH_ATTACHED_NS 200.0
#define HIT_NS 10000.0
#define ARM_NS 25000.0
#define WAKE_NS 30000.0

static uint64_t the_time = EPOCH, slept_us;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, t);
	t->tv_sec = (time_t)(the_time / SECOND);
	t->tv_nsec = (long)(the_time % SECOND);
	return 0;
}

int usleep(useconds_t us)
{
	the_time += us * 1000ull;
	slept_us += us;
	return 0;
}

void prices_open(struct prices *p)
{
	*p = (struct prices){ .again = -1 };
	for (int i = 0; i < PRICE_IDS; i++)
		p->ns[i] = NAN;
}

bool prices_known(const struct prices *p, const char *name, double *v, unsigned n)
{
	static const struct {
		const char *name;
		double ns[PRICES_VALUES];
	} known[] = {
		{ "tick", { TICK_NS } },
		{ "switch-timer", { SWITCH_TIMER_NS } },
		{ "switch-breakpoint", { SWITCH_BREAKPOINT_NS } },
		{ "switch-attached", { SWITCH_ATTACHED_NS } },
		{ "watch", { HIT_NS, ARM_NS, WAKE_NS } },
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(name, known[i].name, strlen(known[i].name))) {
			memcpy(v, known[i].ns, n * sizeof(*v));
			return true;
		}
	return false;
}

void prices_add(struct prices *p, const char *name, double *v, unsigned n)
{
}

void prices_close(struct prices *p)
{
}

#endif
