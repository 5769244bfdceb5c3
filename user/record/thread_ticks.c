// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/thread_ticks.h"

#include <math.h>
#include <stdlib.h>

#define ROOM 1.25      /* their number may be off by so much: a busy machine's interrupts come late and together */
#define SELDOM 4.6     /* e^-4.6 is one in a hundred: a tick that is refused by chance costs little */
#define NEVER 16.0     /* e^-16 is one in ten million */
#define AGAIN 20.0     /* ticks that are due, before a thread in step may have them again; by hand */
#define REMEMBERED 400 /* ticks that are due: what was before counts for half, again and again; by hand */
#define COMBS 2.0      /* samples by which two combs over the same time may be ahead of it or behind */

struct thread_clock {
	uint64_t base, last; /* CPU time at its first sample and at the last */
	double given;        /* what samples behind the first stand for */
	double due, came;    /* ticks of the kernel since then */
	double timers_due;   /* ticks of the kernel by timers' samples */
	bool in_step;
};

/* Minus the logarithm of the most that chance has for so many where so many are due (Chernoff's bound for Poisson). */
static double against(double came, double due)
{
	if (!(due > 0))
		return 0;
	return due - came + (came > 0 ? came * log(came / due) : 0);
}

static double met_too_often(const struct thread_clock *c, double came)
{
	return came > ROOM * c->due ? against(came, ROOM * c->due) : 0;
}

/* Where timers' ticks are lost as the kernel's are, no CPU had time for either. */
static double met_too_seldom(const struct thread_clock *c)
{
	double due = fmin(c->due, c->timers_due) / ROOM;

	return c->came < due ? against(c->came, due) : 0;
}

static void look_for_step(struct thread_ticks *t, struct thread_clock *c)
{
	double off = fmax(met_too_often(c, c->came), met_too_seldom(c));

	if (!c->in_step && off > NEVER) {
		c->in_step = true;
		t->threads++;
	} else if (c->in_step && c->due > AGAIN && !(off > 0)) {
		c->in_step = false;
		c->base = c->last;
		c->given = 0;
	}
	if (c->due > REMEMBERED) {
		c->due /= 2;
		c->came /= 2;
		c->timers_due /= 2;
	}
}

/* A timer's: for as much as is not accounted for, but for none too little to be a sample, nor for more than timers'
 * alone would; of a thread in step twice that, as what it has had of the kernel's is made up for. */
static double worth(const struct thread_clock *c, double nominal, double timer)
{
	double room = c->in_step ? 0 : COMBS * nominal, missing = (double)(c->last - c->base) - c->given - nominal;

	if (missing > room)
		nominal += missing - room;
	else if (missing < -room)
		nominal += missing + room;
	return fmin(c->in_step ? 2 * timer : timer, nominal);
}

uint64_t thread_ticks_seen(struct thread_ticks *t, const struct sample *m, uint64_t timer_ns, bool *in_step)
{
	bool kernel = m->flags & SF_KERNEL_TICK;
	uint64_t *at = m->valid & SV_RAN ? map_put(&t->of, m->tid, NULL) : NULL;
	struct thread_clock *c = at ? (struct thread_clock *)(uintptr_t)*at : NULL;
	double nominal = (double)m->period;

	*in_step = false;
	if (!at || (!c && !(c = calloc(1, sizeof(*c)))))
		return m->period;
	*at = (uintptr_t)c;
	if (!c->base || m->ran < c->last) { /* the first, or another thread of that number */
		*c = (struct thread_clock){ .base = m->ran, .last = m->ran };
		return m->period;
	}
	c->due += (double)(m->ran - c->last) / (double)t->kernel_ns;
	c->last = m->ran;
	if (kernel)
		c->came++;
	else
		c->timers_due += (double)timer_ns / (double)t->kernel_ns;
	look_for_step(t, c);
	*in_step = c->in_step;
	if (kernel && (c->in_step || met_too_often(c, c->came) > SELDOM)) {
		t->refused++;
		return 0;
	}
	if (!kernel) {
		nominal = c->in_step ? (double)timer_ns : nominal;
		nominal = fmax(nominal / 4, worth(c, nominal, (double)timer_ns));
	}
	c->given += nominal;
	return (uint64_t)nominal;
}

void thread_ticks_exit(struct thread_ticks *t, uint32_t tid)
{
	uint64_t *at = map_get(&t->of, tid);

	if (!at)
		return;
	free((void *)(uintptr_t)*at);
	map_del(&t->of, tid);
}

void thread_ticks_release(struct thread_ticks *t)
{
	size_t pos = 0;
	uint64_t tid, *at;

	while (map_next(&t->of, &pos, &tid, &at))
		free((void *)(uintptr_t)*at);
	map_release(&t->of);
}
