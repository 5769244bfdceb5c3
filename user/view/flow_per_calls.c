// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of a function: counted by the exact engine; else by probes, which count each call while they are there; or by
 * execution counts, where their interval is the narrower; or by its time over that of the calls that probes saw, where
 * both are wide. What cannot tell, or not within WIDE, says why.
 */
#include "view/flow_per_calls.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/gather.h"
#include "counts/counts_windows.h"
#include "counts/counts_report.h"
#include "offload/summary.h"
#include "util/suggest.h"

#define WIDE 100. /* highest over lowest, ten times each way: per call nothing is known then; by hand */

static void set_calls(struct flow_per *out, const char *source, double calls, double low, double high)
{
	out->source = source;
	out->calls = calls;
	out->low = low;
	out->high = high;
	*out->reason = 0;
}

static bool narrower(double low, double high, const struct flow_per *than)
{
	return !than->source || (low > 0 && high * than->low < than->high * low);
}

static bool too_wide(const struct flow_per *p)
{
	return !(p->low > 0 && p->high < WIDE * p->low);
}

/* What is known so badly is not divided by. */
static void refuse_wide(struct flow_per *out)
{
	bool probes = out->source && *out->source == 'p';
	double low = out->low, high = out->high;

	if (!out->source || !too_wide(out))
		return;
	set_calls(out, NULL, NAN, NAN, NAN);
	snprintf(out->reason, sizeof(out->reason),
		 "%s tell only that it was entered %.0f to %.0f times; record with %s",
		 probes ? "probes, in place for a part of the time," : "execution counts", low, high,
		 probes ? "--effort high, or --offload-exact, for each call" : "--effort high, or for longer");
}

/* True: there is such a function, whether or not its calls are known. */
static bool calls_from_exact(const struct flow_input *in, struct flow_per *out)
{
	double calls = 0;
	bool there = false, known = true;

	for (size_t i = 0; i < in->x_func_count; i++) {
		const struct fmt_x_func *x = &in->x_func[i];

		if (x->scope != FMT_X_SELF || x->function >= in->func_count ||
		    strcmp(in->funcs[x->function].name, out->function))
			continue;
		there = true;
		known &= x->calls != FMT_X_UNKNOWN;
		calls += (double)x->calls;
	}
	if (known && calls > 0)
		set_calls(out, "exact", calls, calls, calls);
	else if (there)
		snprintf(out->reason, sizeof(out->reason),
			 known ? "the exact engine saw no call of it: code may reach it by a jump; ask for its caller"
			       : "the file does not say how often the exact engine saw it called; ask for its caller");
	return there;
}

/* What merge kept of the exact engine's. */
static bool from_stored(const struct flow *f, struct flow_per *out)
{
	double calls = 0;

	for (uint32_t i = 0; i < f->func_count; i++)
		calls += strcmp(f->funcs[i].name, out->function) ? 0 : f->funcs[i].calls;
	if (f->engine != FLOW_EXACT || !(calls > 0))
		return false;
	set_calls(out, "exact", calls, calls, calls);
	return true;
}

static bool from_probes(const char *input, struct flow_per *out)
{
	struct err e = { 0 };
	struct offload_summary *s = offload_summary_load(input, &e);
	double calls = 0, low = 0, high = 0, seen = 0;
	bool there = false;

	for (size_t i = 0; s && i < s->items_cnt; i++) {
		const struct offload_item *it = &s->items[i];

		if (strcmp(offload_symbol(it), out->function) != 0) /* of a user's probe: its name ends so */
			continue;
		there = true;
		calls += it->estimate;
		low += it->low;
		high += it->high;
		seen += (double)it->calls;
	}
	offload_summary_free(s);
	if (there && calls > 0 && isfinite(high))
		set_calls(out, "probes", calls, low, high);
	else if (there && seen > 0)
		snprintf(
			out->reason, sizeof(out->reason),
			"probes saw %.0f calls and were taken away early, so how many there were is not known; record with "
			"--effort high",
			seen);
	return there;
}

static void take_row(const struct counts_report *r, const struct counts_row *row, struct flow_per *out)
{
	const struct counts_figure *f = &row->second;

	if (row->calls > 0 && counts_figure_known(f)) {
		double low = row->calls * f->low / f->value, high = row->calls * f->high / f->value;

		if (narrower(low, high, out))
			set_calls(out, "counts", row->calls, low, high);
	} else if (!out->source) {
		snprintf(out->reason, sizeof(out->reason),
			 "execution counts do not say how often it was entered; record for 60 s or longer");
	}
}

static bool from_counts(const char *input, struct counts_built *known, struct flow_per *out)
{
	struct err e = { 0 };
	struct counts_record rec = { 0 };
	struct counts_report r = { 0 };
	struct profile *p = counts_record_and_profile(&rec, input, &e);
	struct counts_built *own = NULL, *solved = known;
	size_t at = 0;
	bool there = false;
	int err = 0;

	if (p && rec.funcs && rec.nodes && !solved)
		solved = own = counts_built_new(&rec, &err);
	if (p && solved && rec.funcs && rec.nodes && !counts_report_make(&rec, p, solved, 0, &r, &e)) {
		while (at < r.row_count && strcmp(r.row[at].name, out->function))
			at++;
		there = at < r.row_count;
		counts_report_release(&r);
	}
	/* once more, for its interval */
	if (there && !counts_report_make(&rec, p, solved, at + 1, &r, &e)) {
		if (at < r.row_count)
			take_row(&r, &r.row[at], out);
		counts_report_release(&r);
	}
	counts_built_free(own);
	profile_free(p);
	counts_record_release(&rec);
	return there;
}

/* As advise has it. */
static void from_time(const char *input, struct flow_per *out)
{
	struct gathered g;
	struct err e = { 0 };
	int err = gather(&g, input, NULL, &e);

	for (size_t i = 0; i < g.input.functions && !err; i++) {
		const struct advise_function *f = &g.input.function[i];
		const struct figure *rate = &f->calls_per_s;

		if (strcmp(f->name, out->function) != 0 || !f->calls_from || strcmp(f->calls_from, "time") != 0 ||
		    !figure_bounded(rate) || !isfinite(rate->high))
			continue;
		if (narrower(rate->low, rate->high, out))
			set_calls(out, "time", rate->value * g.input.seconds, rate->low * g.input.seconds,
				  rate->high * g.input.seconds);
	}
	gathered_release(&g);
}

int flow_per_find(const char *function, const struct flow_per_of *of, struct flow_per *out, struct err *e)
{
	const struct flow_input *in = of->in;
	struct meant meant = { .typed = function };
	struct suggestion near = { 0 };
	bool there, probed;

	for (uint32_t i = 0; i < in->func_count; i++)
		meant_add(&meant, in->funcs[i].name);
	function = meant_name(&meant);
	*out = (struct flow_per){ .function = function, .calls = NAN, .low = NAN, .high = NAN };
	snprintf(
		out->reason, sizeof(out->reason),
		"nothing counted its calls; `record --offload auto` counts those of libraries that accelerators offer, "
		"`record --counts auto` those of functions that take time, `accperf exact` all");
	there = in->has_x ? calls_from_exact(in, out) : from_stored(of->flow, out);
	if (!in->has_x && !out->source) {
		there |= flow_find(of->flow, function, NULL) != FLOW_NONE;
		probed = from_probes(of->input, out);
		there |= probed;
		if (!out->source || too_wide(out))
			there |= from_counts(of->input, in->solved, out);
		if (probed && (!out->source || too_wide(out)))
			from_time(of->input, out);
		refuse_wide(out);
	}
	for (uint32_t i = 0; i < in->func_count && !there; i++)
		there = !strcmp(in->funcs[i].name, function); /* no bytes of its own, and uncounted: said so */
	if (!there) {
		for (uint32_t i = 0; i < in->func_count; i++)
			suggest(&near, function, strlen(function), in->funcs[i].name);
		return err_set(e, -ENOENT, "%s has no function '%s' to count calls of%s%s%s", of->input, function,
			       near.name ? "; did you mean '" : "", near.name ? near.name : "", near.name ? "'?" : "");
	}
	if (of->part && out->source) {
		set_calls(out, NULL, NAN, NAN, NAN);
		snprintf(out->reason, sizeof(out->reason),
			 "its calls are known for all processes and threads together only; leave the filter out");
	}
	return 0;
}
