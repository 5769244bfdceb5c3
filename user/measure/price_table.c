// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/price_table.h"

#include <math.h>
#include <stdio.h>

#include "measure/prices.h"

/* What is assumed was measured on virtual machines of two CPUs, where not said otherwise. */
static const struct price_row rows[PRICE_IDS] = {
	/* a timer sample, its stack and record */
	[PRICE_TICK] = { "tick", "ns a sample", 30000, measure_tick, "tick" },
	/* a switch of a thread that has a timer of its own */
	[PRICE_SWITCH_TIMER] = { "switch-timer", "ns a switch", 5500, measure_switch_timer, "switch-timer" },
	/* a switch of a thread, for each breakpoint on it */
	[PRICE_SWITCH_BREAKPOINT] = { "switch-breakpoint", "ns a switch", 1000, measure_switch_breakpoint,
				      "switch-breakpoint" },
	/* a switch while any thread of the machine has an event, in a program whose threads once had:
	 * cost_attached.h */
	[PRICE_SWITCH_ATTACHED] = { "switch-attached", "ns a switch", 200, measure_switch_attached, "switch-attached" },
	/* a watchpoint's hit, its record included */
	[PRICE_WATCH_HIT] = { "watch-hit", "ns a hit", 9500, measure_watch, "watch" },
	/* arming and disarming, from one running thread: it is interrupted */
	[PRICE_WATCH_ARM] = { "watch-arm", "ns a window", 25000, measure_watch, "watch" },
	/* what a hit at a limit costs besides, as it wakes us: an interrupt, and another CPU's */
	[PRICE_WATCH_WAKE] = { "watch-wake", "ns a hit", 30000, measure_watch, "watch" },
	/* an execute breakpoint's hit in a program that works: several times what it costs in an empty loop */
	[PRICE_COUNT_HIT] = { "count-hit", "ns a hit", 12000, measure_counts, "counts" },
	/* opening and ending a window of EXECWIN_SLOTS slots on a running thread: it is interrupted when all are
	 * enabled, when all are disabled, and when each and the clock are closed */
	[PRICE_COUNT_WINDOW] = { "count-window", "ns a window", 130000, measure_counts, "counts" },
	/* a system call, beyond itself, while they are observed: one that is not reported, one that is, another's */
	[PRICE_CALL_PASSED] = { "call-passed", "ns a call", 200, measure_calls, NULL },
	[PRICE_CALL_TAKEN] = { "call-taken", "ns a call", 450, measure_calls, NULL },
	[PRICE_CALL_OTHER] = { "call-other", "ns a call", 150, measure_calls, NULL },
	/* attaching and detaching, to each running thread */
	[PRICE_CALL_ATTACH] = { "call-attach", "ns a stretch", 30000, NULL, NULL },
	/* a system call, beyond itself, while segments are drawn: one that is not drawn, one that is for its time; and
	 * what of a segment's time lies between both observations and user code */
	[PRICE_SEGMENT_PASSED] = { "segment-passed", "ns a call", 350, measure_segments, NULL },
	[PRICE_SEGMENT_TIMED] = { "segment-timed", "ns a call", 1500, measure_segments, NULL },
	[PRICE_SEGMENT_GAP] = { "segment-gap", "ns a segment", 500, measure_segments, NULL },
	/* a wait that is told: the copy of its stack, until some were timed; and half a switch that is passed over */
	[PRICE_WAIT] = { "wait", "ns a wait", 5000, NULL, NULL },
	[PRICE_SWITCH_SEEN] = { "switch-seen", "ns a switch", 200, NULL, NULL },
	/* a record of the processor's sampling that interrupts, and one of many that do together; nominal, never
	 * measured on such hardware */
	[PRICE_RECORD] = { "record", "ns a record", 2500, NULL, NULL },
	[PRICE_RECORD_BATCHED] = { "record-batched", "ns a record", 400, NULL, NULL },
	/* a probed call, its entry and its return */
	[PRICE_PROBE] = { "probe", "ns a call", 10000, NULL, NULL },
	/* a hit of a probe on an allocator: of an allocation there are two */
	[PRICE_HEAP_HIT] = { "heap-hit", "ns a hit", 8000, measure_heap, "heap-hit" },
	/* a burst until some were made: what copying its pages takes from the target, and it from us */
	[PRICE_BURST] = { "burst", "ns a burst", 50000, NULL, NULL },
	[PRICE_BURST_OWN] = { "burst-own", "ns a burst", 2000000, NULL, NULL },
	/* waking a sleeping CPU, until a hit that wakes us was measured */
	[PRICE_WAKE_CPU] = { "wake-cpu", "ns a time", 20000, NULL, NULL },
	/* One look at the rings, by the caches it empties, to the program that runs on that CPU; and to one whose
	 * threads wait for each other: 30 us of another program every 0.5 ms took 2.2 +-0.5 % from sixteen threads on
	 * 2 CPUs. */
	[PRICE_LOOK] = { "look", "ns a look", 10000, NULL, NULL },
	[PRICE_LOOK_CLOSE] = { "look-close", "ns a look", 20000, NULL, NULL },
	/* How much more what slows each switch costs such a target than one on a single CPU: a breakpoint took 1.9 us
	 * of each switch of sixteen threads on 2 CPUs, and 1.35 us on one. */
	[PRICE_COUPLED_SWITCH] = { "coupled-switch", "times", 1.4, NULL, NULL },
	/* How much slower code runs while a watchpoint is armed, hit or not: rep movsb of 4 KiB ran 20-36 times slower,
	 * a pread of 4 KiB 3.8 times. */
	[PRICE_ARMED_STRINGS] = { "armed-strings", "times", 30, NULL, NULL },
	[PRICE_ARMED_KERNEL] = { "armed-kernel", "times", 3, NULL, NULL },
};

const struct price_row *price_row(enum price_id id)
{
	return &rows[id];
}

double price_assumed(enum price_id id)
{
	return rows[id].assumed;
}

/* The first of those that are measured together, and how many they are. */
static enum price_id first_of(enum price_id id, unsigned *n)
{
	enum price_id first = id;

	while (first > 0 && rows[first - 1].measure == rows[id].measure)
		first--;
	for (*n = 1; first + *n < PRICE_IDS && rows[first + *n].measure == rows[id].measure; ++*n)
		;
	return first;
}

double price_measure(struct prices *p, enum price_id id, const char *variant, void *ctx)
{
	const struct price_row *row = &rows[id];
	double v[PRICES_VALUES];
	char name[24];
	unsigned n;
	enum price_id first = first_of(id, &n);

	snprintf(name, sizeof(name), "%s%s%s", row->kept ? row->kept : "", variant ? "-" : "", variant ? variant : "");
	if (!row->kept || !prices_known(p, name, v, n)) {
		row->measure(ctx, v);
		if (row->kept)
			prices_add(p, name, v, n);
	}
	for (unsigned i = 0; i < n; i++)
		p->ns[first + i] = v[i];
	return p->ns[id];
}

double price_measured(const struct prices *p, enum price_id id)
{
	return p->ns[id];
}

double price_of(const struct prices *p, enum price_id id)
{
	/* a difference of two times may come out below 0 */
	return p->ns[id] >= 0 ? p->ns[id] : rows[id].assumed;
}
