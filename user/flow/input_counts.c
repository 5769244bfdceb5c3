// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where execution counts were measured, and are trusted, they are the figures of a function: its
 * instructions, computation, loads, stores, bytes, calls. (The weights of its sampled accesses follow
 * them in block_executions.c.) Functions without, or whose counts are at odds with time, keep what they had:
 * bias "time".
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "flow/input_priv.h"

/* Of the nominal speed: beyond these it is damage that speaks. */
#define SCALE_LEAST 1e-4
#define SCALE_MOST 1e4 /* times the nominal speed */

/* All nodes' work of each function, per second of CPU time. times: counts_speed.times */
static struct in_counted *sum_work_of_functions(const struct counts_record *c, const struct counts_built *b,
						double times)
{
	struct in_counted *of = calloc(c->funcs + 1, sizeof(*of));

	for (size_t n = 1; of && n < c->nodes; n++) {
		const struct fmt_counts_node *k = &c->node[n];
		double runs = b->tree.runs[n] * times;
		struct in_counted *w;

		if (k->function == UINT32_MAX || !(runs > 0) || isinf(runs))
			continue;
		w = &of[k->function];
		w->instructions += k->instructions * runs;
		w->compute += k->compute * runs;
		w->loads += k->loads * runs;
		w->stores += k->stores * runs;
		w->load_bytes += k->load_bytes * runs;
		w->store_bytes += k->store_bytes * runs;
		w->calls += k->kind == FMT_CN_ENTRY ? runs : 0;
	}
	return of;
}

static void add_counted(struct in_counted *to, const struct in_counted *from, double scale, double seconds)
{
	to->instructions += from->instructions * scale;
	to->compute += from->compute * scale;
	to->loads += from->loads * scale;
	to->stores += from->stores * scale;
	to->load_bytes += from->load_bytes * scale;
	to->store_bytes += from->store_bytes * scale;
	to->calls += from->calls * seconds;
}

static int take_functions(struct raw *r, const struct counts_built *b)
{
	const struct counts_record *c = &r->counts;
	struct flow_input *in = r->in;
	struct in_counted *work = sum_work_of_functions(c, b, in->speed.times);
	double seconds = 0;
	uint32_t *of = calloc(c->funcs + 1, sizeof(*of));
	int err = work && of ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->funcs; i++)
		seconds += c->func[i].self_ns * 1e-9;
	for (size_t i = 0; i < c->funcs && !err; i++) {
		of[i] = func_of_code(r, c->func[i].start, c->func[i].module, 0);
		if (of[i] == FLOW_NONE)
			err = -ENOMEM;
	}
	if (!err)
		in->counted = calloc(in->func_count + 1, sizeof(*in->counted));
	err = err || in->counted ? err : -ENOMEM;
	in->counted_count = err ? 0 : in->func_count;
	for (size_t i = 0; i < c->funcs && !err; i++) {
		const struct counts_group *g = &b->tree.group[i];
		struct in_counted *to = &in->counted[of[i]];
		double instructions = g->instructions * in->speed.times;

		if (!(instructions > 0))
			continue;
		/* what time decides stands in the same unit: instructions, no longer nominal ones */
		to->total += instructions * seconds;
		to->low += g->low * in->speed.times * seconds;
		to->high += g->high * in->speed.times * seconds;
		if (!(work[i].instructions > 0))
			continue;
		add_counted(to, &work[i], instructions / work[i].instructions * seconds, seconds);
		to->trust += g->trust * instructions * seconds;
	}
	for (uint32_t f = 0; f < in->counted_count; f++)
		in->counted[f].trust = in->counted[f].total > 0 ? in->counted[f].trust / in->counted[f].total : 0;
	free(work);
	free(of);
	return err;
}

/* Counts in the unit of what time tells, by a factor for all of them. */
static void scale_counted(struct flow_input *in, double by)
{
	for (uint32_t f = 0; f < in->counted_count; f++) {
		struct in_counted *c = &in->counted[f];

		c->instructions *= by;
		c->compute *= by;
		c->loads *= by;
		c->stores *= by;
		c->load_bytes *= by;
		c->store_bytes *= by;
		c->calls = NAN;
		c->total *= by;
		c->low *= by;
		c->high *= by;
	}
}

static void scale_accesses(struct in_access *a, size_t n, double by)
{
	for (size_t i = 0; i < n; i++)
		a[i].weight *= by;
}

/* What time tells in the unit of counts. */
static void scale_sampled(struct flow_input *in, double by)
{
	scale_accesses(in->access, in->access_count, by);
	scale_accesses(in->blind, in->blind_count, by);
	for (size_t i = 0; i < in->window_count; i++)
		in->window[i].arm.weight *= by;
	for (uint32_t f = 0; f < in->func_count; f++) {
		struct in_function_time *t = &in->times[f];

		t->instructions *= by;
		t->inc_instructions *= by;
		t->compute *= by;
		t->inc_compute *= by;
		t->undecoded *= by;
	}
}

/* Accesses are weighed by a nominal speed, what is counted by the measured one, or by another guess: there shall be one
 * speed, which is the measured one wherever there is one. */
void input_one_scale(struct flow_input *in)
{
	double counted = 0, nominal = 0;

	for (uint32_t f = 0; f < in->counted_count; f++) {
		/* those without a sample, too: of many such functions each lacks one by chance */
		if (!(in->counted[f].total > 0))
			continue;
		counted += in->counted[f].total;
		nominal += in->times[f].instructions;
	}
	if (in->engine != FLOW_SOFT || !(counted > nominal * SCALE_LEAST && counted < nominal * SCALE_MOST))
		in->speed.known = in->speed.guessed = false;
	else if (in->speed.known || in->speed.guessed)
		scale_sampled(in, counted / nominal);
	else
		scale_counted(in, nominal / counted);
}

bool in_has_amounts(const struct flow_input *in, bool time_bias)
{
	return !time_bias || in->engine == FLOW_EXACT || in->speed.known;
}

void in_amounts_spread(const struct flow_input *in, bool time_bias, double *low, double *high)
{
	bool rest = time_bias && in->engine != FLOW_EXACT;

	*low = !rest ? 1 : in->speed.known ? in->speed.low : NAN;
	*high = !rest ? 1 : in->speed.known ? in->speed.high : NAN;
}

int input_counts_solved(struct raw *r, const struct counts_built **out)
{
	if (!r->counts_asked) {
		counts_record_end(&r->counts, r->p);
		r->in->solved = counts_built_new(&r->counts, &r->counts_err);
		r->counts_asked = true;
	}
	*out = r->in->solved;
	return r->counts_err;
}

int input_counts(struct raw *r)
{
	const struct counts_built *solved;
	int err;

	counts_record_end(&r->counts, r->p);
	r->in->speed.seconds = r->counts.funcs && !r->counts.windows ? INFINITY : NAN;
	/* part of a recording, or library code on its callers' account: counts are for neither */
	if (!r->counts.funcs || !r->counts.windows || r->in->main_image || flow_input_in_part(&r->o))
		return 0;
	err = input_counts_solved(r, &solved);
	if (!err) {
		r->in->speed = counts_speed(&r->counts, solved);
		err = take_functions(r, solved);
	}
	if (err && err != -ENOMEM)
		return 0;
	return err ? err_set(r->e, err, "out of memory") : 0;
}
