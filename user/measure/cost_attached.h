/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What breakpoints cost a target that switches between threads while none of them is armed: from the first
 * event on any thread until a second after the last is closed, the kernel looks at each switch of each thread that
 * ever had one for what to take off and put on. Some 0.2 us, and a program may switch 50,000 times per second
 * of its CPU time. So on such programs a window is dear by itself, and the next one is nearly free: they
 * come in bunches, with rests in which nothing is attached, so long that being attached takes no more than its
 * part of the budget. Otherwise a trickle of windows would keep everything attached all the time, for little.
 *
 * Those who open windows (users) share the cost. Pure logic, no I/O, no clock. Included by record and tests.
 */
#ifndef ACCPERF_MEASURE_COST_ATTACHED_H
#define ACCPERF_MEASURE_COST_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

#define ATTACHED_LINGER_NS 1000000000ull /* the kernel's, after the last event is closed */

struct cost_attached {
	double switch_ns; /* at each switch while attached */
	unsigned users;
	unsigned held;         /* breakpoints of open windows */
	uint64_t since, until; /* held, or the kernel has not noticed yet; 0: never */
};

void cost_attached_take(struct cost_attached *a, unsigned n, uint64_t now);
void cost_attached_give(struct cost_attached *a, unsigned n, uint64_t now);
bool cost_attached_at(const struct cost_attached *a, uint64_t time);
/* What one user pays for cpu_ns of the target's time around `time`. rate: switches per ns of CPU time; NaN: not
 * known, taken for none, as windows open only once it is. */
double cost_attached_ns(const struct cost_attached *a, uint64_t time, double rate, double cpu_ns);
/* Whether no window should begin now: the bunch has lasted long enough, or the rest after it has not. may: what being
 * attached may cost, of the target's time. */
bool cost_attached_rests(const struct cost_attached *a, uint64_t now, double rate, double may);
/* What one user will pay at least if it opens a window now. running: threads running on average. */
double cost_attached_entry(const struct cost_attached *a, uint64_t now, double rate, double running);

#endif
