// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/engines.h"

static bool has(const struct features *f, feature_built_fn built, const char *name)
{
	const struct feature *x = features_find(f, name);

	return x && x->state == FEATURE_YES && built(x);
}

static bool works_partly(const struct features *f, const char *name)
{
	const struct feature *x = features_find(f, name);

	return x && (x->state == FEATURE_YES || x->state == FEATURE_PARTLY);
}

void engines_judge(const struct features *f, bool live, bool exact, feature_built_fn built, struct engine out[ENGINES])
{
	bool bpf = works_partly(f, "bpf") && has(f, built, "bpf-ring") && has(f, built, "btf");
	const struct feature *trial = features_find(f, "breakpoint-trial");
	bool soft = bpf && works_partly(f, "timer"),
	     watch = works_partly(f, "hw-breakpoints") && !(trial && trial->state == FEATURE_NO);

	out[0] = (struct engine){
		.name = "pmu",
		.usable = live && has(f, built, "pmu") &&
			  (has(f, built, "pebs") || has(f, built, "ibs") || has(f, built, "spe")),
		.accuracy = "loads and stores drawn by the processor with their addresses: shares of accesses",
		.cost = "at most 1 % slow-down at the default effort"
	};
	out[1] = (struct engine){
		.name = "soft",
		.usable = live && soft,
		.accuracy =
			watch ? "time shares with their intervals; flows and call counts from watchpoints, weighted by time"
			      : "time shares with their intervals; flows and counts from bursts alone, less sure (no breakpoints here)",
		.cost = "0.5, 1 or 5 % slow-down at most (--effort low, default, high); every watchpoint hit costs the target about 10 us"
	};
	out[2] = (struct engine){ .name = "exact",
				  .usable = exact && has(f, built, "exact"),
				  .accuracy = "every load, store and operation, to the byte; offline",
				  .cost = "the program runs tens to hundreds of times slower" };
}
