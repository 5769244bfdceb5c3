// SPDX-License-Identifier: GPL-2.0-or-later
/* What probing costs here, tried out and measured on functions of our own (uprobe_self.h) when the engine is made. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "kmod-free/uprobe_internal.h"
#include "util/clock.h"

#define ROUNDS 16       /* pairs with and without, for a median; by hand */
#define QUICK_ROUNDS 12 /* the same, of each of three kinds; by hand */
#define CALLS 120       /* a round; by hand */

_Static_assert(UPROBE_FIRST_KINDS == SELF_KINDS, "one class for each kind");

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_double);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct inside {
	double ns[ROUNDS * CALLS + 512];
	unsigned cnt;
	uint32_t pid;
	double hot_ns; /* of the last trial */
};

static void inside_event(void *ctx, const struct offload_event *ev)
{
	struct inside *in = ctx;

	if (ev->ret && in->cnt < sizeof(in->ns) / sizeof(*in->ns) && !ev->voluntary && !ev->involuntary)
		in->ns[in->cnt++] = (double)(ev->ret - ev->entry);
}

static void measure_marker(struct uprobe *u)
{
	struct uprobe_point p = { .spec.kind = PK_END, .spec.family = 0xffff }; /* an end without a begin */
	double with[ROUNDS], without[ROUNDS];
	uint32_t first;
	int lib, fd;

	u->cost.nop_ns = NAN;
	p.offset = self_marker() ? self_offset(self_marker()) : 0;
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (!p.offset || fd < 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (unsigned i = 0; i < ROUNDS; i++)
		without[i] = self_time_marker(CALLS);
	lib = uprobe_library(u, fd, &p, 1, &first, NULL);
	if (lib >= 0 && !uprobe_attach(u, lib, getpid(), true, NULL) && !uprobe_arm(u, lib, NULL, NULL)) {
		for (unsigned i = 0; i < ROUNDS; i++)
			with[i] = self_time_marker(CALLS);
		u->cost.nop_ns = median(with, ROUNDS) - median(without, ROUNDS);
		uprobe_disarm(u, &lib, 1);
	}
}

/* Ours that can be probed here; all are armed together. */
struct uprobe_cost_tried {
	struct uprobe_point point;
	enum self_kind kind;
	uint32_t probe;
	double without[ROUNDS], cold_without[ROUNDS];
};

static int trial_count(struct uprobe *u, const struct uprobe_cost_tried *t, struct err *e)
{
	uint64_t before = uprobe_activity(u, t->probe).calls, calls;

	self_time_function(t->kind, 8);
	calls = uprobe_activity(u, t->probe).calls - before;
	if (calls == 8)
		return 0;
	return err_set(e, -ENODEV, "%s: 8 probed calls of our own, %lu counted", uprobe_mode_name(u->mode),
		       (unsigned long)calls);
}

static void trial_cost(struct uprobe *u, struct uprobe_cost_tried *t, struct inside *in, struct uprobe_class_cost *c)
{
	const struct uprobe_sink sink = { .ctx = in, .event = inside_event };
	double with[ROUNDS], base = median(t->without, ROUNDS), hot, cold, inside;

	in->cnt = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		with[i] = self_time_function(t->kind, CALLS);
		uprobe_poll(u, &sink);
	}
	in->hot_ns = hot = median(with, ROUNDS) - base;
	/* Order statistics 5 and 12 of 16 hold the median with 92 %, 4 and 13 with 98 %. */
	c->call_low = with[3] - base;
	inside = in->cnt ? median(in->ns, in->cnt) - base : NAN;
	in->cnt = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		with[i] = self_time_function_cold(t->kind, CALLS / 4);
		uprobe_poll(u, &sink);
	}
	cold = median(with, ROUNDS) - median(t->cold_without, ROUNDS);
	/* In other programs the truth lies between: the bounds are those of the two. */
	c->call_ns = (hot + fmax(hot, cold)) / 2;
	c->call_high = fmax(hot, with[12] - t->cold_without[ROUNDS / 2]);
	c->inside_ns = in->cnt ? (inside + fmax(inside, median(in->ns, in->cnt) - base)) / 2 : inside;
}

#define ALIKE 1.4 /* costs this close are of one class */

/* Which of the first two costs as much as t. In turn with them: a machine's speed changes. */
static enum fmt_probe_class trial_class(struct uprobe *u, const struct uprobe_cost_tried *trials,
					const struct uprobe_cost_tried *t, const struct uprobe_sink *sink)
{
	const struct uprobe_cost_tried *three[] = { t, &trials[0], &trials[1] };
	double with[3][QUICK_ROUNDS], cost[3], stepped, emulated;

	for (unsigned i = 0; i < QUICK_ROUNDS; i++)
		for (unsigned k = 0; k < 3; k++) {
			with[k][i] = self_time_function(three[k]->kind, CALLS / 4);
			uprobe_poll(u, sink);
		}
	for (unsigned k = 0; k < 3; k++)
		cost[k] = median(with[k], QUICK_ROUNDS);
	stepped = fmax(cost[0] / cost[1], cost[1] / cost[0]);
	emulated = fmax(cost[0] / cost[2], cost[2] / cost[0]);
	if (!(fmin(stepped, emulated) < ALIKE))
		return FMT_PROBE_UNKNOWN;
	return stepped < emulated ? FMT_PROBE_STEPPED : FMT_PROBE_EMULATED;
}

void uprobe_cost_of_unknown(struct uprobe_cost *c)
{
	const struct uprobe_class_cost *stepped = &c->of[FMT_PROBE_STEPPED], *emulated = &c->of[FMT_PROBE_EMULATED];

	c->of[FMT_PROBE_UNKNOWN] = emulated->call_ns > stepped->call_ns ? *emulated : *stepped;
	if (emulated->call_ns > 0)
		c->of[FMT_PROBE_UNKNOWN].inside_ns = fmin(stepped->inside_ns, emulated->inside_ns);
}

static void measure_classes(struct uprobe *u, struct uprobe_cost_tried *trials, unsigned cnt, struct inside *in)
{
	const struct uprobe_sink sink = { .ctx = in, .event = inside_event };
	struct uprobe_class_cost *of = u->cost.of;

	trial_cost(u, &trials[0], in, &of[FMT_PROBE_STEPPED]);
	u->cost.hot_ns = in->hot_ns;
	uprobe_cost_of_unknown(&u->cost);
	if (cnt < 2 || trial_count(u, &trials[1], NULL))
		return;
	trial_cost(u, &trials[1], in, &of[FMT_PROBE_EMULATED]);
	u->cost.class_of[SELF_STEPPED] = FMT_PROBE_STEPPED;
	u->cost.class_of[SELF_PUSH] = FMT_PROBE_EMULATED;
	uprobe_cost_of_unknown(&u->cost);
	for (unsigned i = 2; i < cnt; i++)
		if (!trial_count(u, &trials[i], NULL))
			u->cost.class_of[trials[i].kind] = trial_class(u, trials, &trials[i], &sink);
}

int uprobe_measure(struct uprobe *u, struct err *e)
{
	unsigned want_limit = u->skel->data->limit_per_window, cnt = 0;
	struct uprobe_point points[SELF_KINDS];
	uint64_t exits[SELF_KINDS];
	struct uprobe_cost_tried *trials = calloc(SELF_KINDS, sizeof(*trials));
	struct inside *in = calloc(1, sizeof(*in));
	int lib, r, fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct uprobe_sink sink = { .ctx = in, .event = inside_event };
	const bool known = u->opts.known && u->opts.known->rounds;
	struct probe_activity a;
	uint32_t first;

	for (int k = 0; trials && k < SELF_KINDS; k++) {
		const void *fn = self_function((enum self_kind)k);
		uint64_t offset = fn ? self_offset(fn) : 0;

		if (!offset && cnt < 2) /* all are compared with the first two */
			break;
		if (!offset)
			continue;
		exits[cnt] = self_exit((enum self_kind)k) ? self_offset(self_exit((enum self_kind)k)) : 0;
		points[cnt] = (struct uprobe_point){ .offset = offset,
						     .spec.kind = PK_CALL,
						     .spec.family = 0xfffe,
						     .exits = &exits[cnt],
						     .exits_cnt = exits[cnt] != 0 };
		trials[cnt++].kind = (enum self_kind)k;
	}
	if (!in || fd < 0 || !cnt) {
		free(trials);
		free(in);
		if (fd >= 0)
			close(fd);
		return err_set(e, -ENOENT, "cannot measure the probes' cost: /proc/self/exe is not readable");
	}
	u->skel->data->limit_per_window = 0;
	for (unsigned k = 0; k < cnt && !known; k++) {
		self_time_function(trials[k].kind, CALLS);
		for (unsigned i = 0; i < ROUNDS; i++) {
			trials[k].without[i] = self_time_function(trials[k].kind, CALLS);
			trials[k].cold_without[i] = k < 2 ? self_time_function_cold(trials[k].kind, CALLS / 4) : 0;
		}
	}
	lib = uprobe_library(u, fd, points, cnt, &first, e);
	r = lib < 0 ? lib : uprobe_attach(u, lib, getpid(), true, e);
	if (!r)
		r = uprobe_arm(u, lib, NULL, e);
	if (r)
		goto out;
	u->self_lib = lib;
	for (unsigned k = 0; k < cnt; k++)
		trials[k].probe = first + k;
	r = trial_count(u, &trials[0], e);
	if (r) {
		uprobe_disarm(u, &lib, 1);
		goto out;
	}
	uprobe_poll(u, &sink);
	if (known) {
		u->cost = *u->opts.known;
	} else {
		u->cost.rounds = ROUNDS;
		measure_classes(u, trials, cnt, in);
	}
	/* Other threads of a process must be seen, too. */
	a = uprobe_activity(u, first);
	if (!u->pid_filter_broken && u->mode != UPROBE_PERF && !self_call_in_thread(4) &&
	    uprobe_activity(u, first).calls != a.calls + 4)
		u->pid_filter_broken = true;
	uprobe_disarm(u, &lib, 1);
	uprobe_poll(u, &sink);
	if (!known)
		measure_marker(u);
	uprobe_poll(u, &sink);
	uprobe_forget(u, getpid());
out:
	u->skel->data->limit_per_window = want_limit;
	free(trials);
	free(in);
	return r;
}

double uprobe_cost_now(struct uprobe *u)
{
	double with[QUICK_ROUNDS], without[QUICK_ROUNDS];

	if (uprobe_attach(u, u->self_lib, getpid(), true, NULL) || uprobe_arm(u, u->self_lib, NULL, NULL))
		return NAN;
	for (unsigned i = 0; i < QUICK_ROUNDS; i++)
		with[i] = self_time_function(SELF_STEPPED, CALLS / 4);
	uprobe_disarm(u, &u->self_lib, 1);
	for (unsigned i = 0; i < QUICK_ROUNDS; i++)
		without[i] = self_time_function(SELF_STEPPED, CALLS / 4);
	uprobe_forget(u, getpid());
	return median(with, QUICK_ROUNDS) - median(without, QUICK_ROUNDS);
}
