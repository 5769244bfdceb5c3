// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Work that is in step with a clock: SIZE microseconds of it, half before and half behind each beat, where a timer of
 * the kernel's may be due at the same time. Modes: one for each number of beats a second; off: 100 on average, each
 * somewhere within its hundredth. The beats are multiples of their distance on the monotonic clock.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "work.h"

#define SECOND_NS 1000000000ull

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

STEP static uint64_t before(uint64_t until)
{
	uint64_t n = 0;

	while (clock_ns() < until)
		n++;
	return n;
}

STEP static uint64_t behind(uint64_t until)
{
	uint64_t n = 0;

	while (clock_ns() < until)
		n++;
	return n;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, "at100|at50|at250|off|never", 100);
	bool off = !strcmp(w.mode, "off"), never = !strcmp(w.mode, "never");
	uint64_t beat = SECOND_NS / (off || never ? 100 : strtoul(w.mode + 2, NULL, 10)), half = w.size * 500,
		 state = 1;

	prctl(PR_SET_TIMERSLACK, 1ul);
	do {
		uint64_t at = (clock_ns() / beat + 1) * beat + (never ? beat / 8 + half : 0), from;
		struct timespec t;

		if (off)
			at += work_random(&state) % beat;
		from = at - half;
		t = (struct timespec){ (time_t)(from / SECOND_NS), (long)(from % SECOND_NS) };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
			;
		before(at);
		behind(at + half);
	} while (work_more(&w, 1));
	return work_done(&w);
}
