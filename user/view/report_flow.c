// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/report_flow.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts/counts_speed.h"
#include "view/flow.h"

static const struct {
	const char *name, *title;
	unsigned width;
	bool flow;
} columns[RC_COLUMNS] = {
	[RC_SELF] = { "self", "self", 8, false },
	[RC_INTERVAL] = { "interval", "95%", 8, false },
	[RC_INCLUSIVE] = { "inclusive", "incl.", 9, false },
	[RC_SAMPLES] = { "samples", "samples", 10, false },
	[RC_OBJECT] = { "object", "object", 0, false },
	[RC_IN] = { "in", "in", 10, true },
	[RC_OUT] = { "out", "out", 10, true },
	[RC_IN_ALL] = { "in-all", "in all", 10, true },
	[RC_OUT_ALL] = { "out-all", "out all", 10, true },
	[RC_COMPUTE] = { "compute", "compute", 9, true },
	[RC_INSTRUCTIONS] = { "instructions", "instr.", 9, true },
	[RC_OPS] = { "ops", "ops/B", 7, true },
	[RC_OPS_ALL] = { "ops-all", "ops/B all", 10, true },
	[RC_STACK] = { "stack", "stack", 7, true },
	[RC_CALLS] = { "calls", "calls", 9, true },
	[RC_SECONDS] = { "seconds", "seconds", 10, false },
	[RC_CALL_MS] = { "ms-call", "ms/call", 11, true },
	[RC_CALL_MS_ALL] = { "ms-call-all", "all ms/call", 12, true },
	[RC_BY] = { "by", "by", 7, true },
	[RC_WAIT] = { "wait-share", "wait", 9, false },
	[RC_WAIT_INTERVAL] = { "wait-interval", "95%", 16, false },
	[RC_READY] = { "ready", "ready", 9, false },
	[RC_WAITS] = { "waits", "waits", 8, false },
};

static const struct {
	const char *name, *columns;
} sets[] = {
	{ "time", "self,interval,inclusive,samples,object" },
	{ "flat", "self,seconds,calls,ms-call,ms-call-all,object" },
	{ "flow", "self,inclusive,in,out,ops,stack,by" },
	{ "callees", "self,inclusive,in-all,out-all,ops-all,by" },
	{ "wait", "self,inclusive,wait-share,wait-interval,ready,waits" },
	{ "all",
	  "self,interval,inclusive,samples,in,out,in-all,out-all,compute,instructions,ops,ops-all,stack,calls,by,wait-share,object" },
};

static int column_called(const char *name, size_t len)
{
	for (int c = 0; c < RC_COLUMNS; c++)
		if (strlen(columns[c].name) == len && !memcmp(columns[c].name, name, len))
			return c;
	return -1;
}

int report_columns(const char *text, unsigned *out, struct err *e)
{
	int n = 0;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (!strcmp(sets[i].name, text))
			text = sets[i].columns;
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ",");
		int c = column_called(at, len);

		if (c < 0)
			return err_set(
				e, -EINVAL,
				"there is no column '%.*s'; there are self, interval, inclusive, samples, object, in, out, in-all, "
				"out-all, compute, instructions, ops, ops-all, stack, calls, seconds, ms-call, "
				"ms-call-all, by, wait-share, wait-interval, ready, waits, and the sets time, flat, flow, callees, wait, all",
				(int)len, at);
		if (n == REPORT_MAX_COLUMNS)
			return err_set(e, -EINVAL, "more than %d columns", REPORT_MAX_COLUMNS);
		out[n++] = (unsigned)c;
		at += len;
		at += *at == ',';
	}
	return n ? n
		 : err_set(e, -EINVAL,
			   "--columns needs the name of a column, or one of the sets time, flat, flow, callees, wait, all");
}

bool report_columns_flow(const unsigned *c, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (columns[c[i]].flow)
			return true;
	return false;
}

uint32_t *report_flow_match(const struct profile *p, const struct shares *s, uint32_t funcs, const uint32_t *flow_of)
{
	uint32_t *func = malloc((p->function_count + 1) * sizeof(*func)), *row = malloc((funcs + 1) * sizeof(*row));

	if (!func || !row) {
		free(func);
		free(row);
		return NULL;
	}
	memset(func, 0xff, (p->function_count + 1) * sizeof(*func));
	memset(row, 0xff, (funcs + 1) * sizeof(*row));
	for (size_t i = 0; i < s->count; i++) {
		uint32_t at = s->rows[i].function, id = flow_of[at];

		if (id == FLOW_NONE)
			continue;
		/* variants of one function are one there, and one time here: the first, which is the hottest; but
		 * functions that only bear the same name must not get each other's figures */
		if (row[id] == UINT32_MAX) {
			row[id] = at;
			func[at] = id;
		} else if (!strcmp(p->functions[row[id]].name, p->functions[at].name)) {
			func[row[id]] = FLOW_NONE;
		}
	}
	free(row);
	return func;
}

/* What decides how much a function does beside others: "counts" (executions), "time" (its samples), NULL:
 * neither, every one was counted or drawn evenly, or nothing is known. */
static const char *report_flow_bias(const struct flow *flow, const struct flow_func *f)
{
	return !f ? NULL : f->by_counts ? "counts" : flow->time_bias && !flow_is_pseudo(f) ? "time" : NULL;
}

static double report_ops_per_byte_inclusive(const struct flow_func *f)
{
	double bytes = f->inc.in + f->inc.out;

	return bytes > 0 ? f->inc.compute / bytes : NAN;
}

static double stack_share(const struct flow_func *f)
{
	double bytes = f->load_bytes + f->store_bytes;

	return bytes > 0 ? f->stack_bytes / bytes : NAN;
}

/* Beside bytes that others stand for there is no computation, either. */
static double computes(const struct flow_func *f)
{
	return f->part_of_others ? NAN : flow_computes(f).value;
}

/* A function that is only seen to call others has no bytes that anybody knows of, rather than none. */
static bool bytes_known(const struct flow *flow, const struct flow_func *f)
{
	if (f && f->part_of_others)
		return f->in > 0 || f->out > 0;
	return f && (flow->engine == FLOW_EXACT || f->samples > 0 || f->in > 0 || f->out > 0);
}

/* 12.3M: where a column has no room for all digits. */
static void short_count(struct buf *out, double v)
{
	static const char units[] = " KMGTP";
	unsigned u = 0;

	while (v >= 999.5 && u + 2 < sizeof(units)) {
		v /= 1000;
		u++;
	}
	buf_addf(out, u ? "%.1f%c" : "%.0f", v, units[u]);
}

static void add_bytes_if_known(struct buf *b, double v)
{
	if (!isnan(v))
		text_bytes(b, whole_number(v));
}

static void add_wait_cell(const struct report *r, const struct share *s, enum report_column c, struct buf *b)
{
	struct wait_share w = report_wait(r, s);
	const struct function_wait *f = r->waits ? &r->waits[s->function] : NULL;

	if (c == RC_WAITS && f)
		text_count(b, f->count);
	else if (c == RC_READY && !isnan(w.value))
		buf_addf(b, "%.2f%%", f->ns > 0 ? 100 * w.value * f->ready_ns / f->ns : 0);
	else if (c == RC_WAIT && !isnan(w.value))
		buf_addf(b, "%.2f%%", 100 * w.value);
	else if (c == RC_WAIT_INTERVAL && !isnan(w.high))
		buf_addf(b, "%.1f..%.1f", 100 * w.low, 100 * w.high);
}

/* Where the profile has times: what of them is the function's. */
static void add_seconds(const struct report *r, const struct share *s, bool exact, const struct flow_func *f,
			enum report_column c, struct buf *b)
{
	const struct profile *p = r->profile;
	double all = !exact && profile_unit(p) == PROFILE_TIME ? p->weight[PROFILE_TIME] : NAN;
	double calls = f ? flow_amount(r->opts.flow, f->calls) : NAN;
	double ms = (c == RC_CALL_MS_ALL ? s->inclusive : s->self) * all / 1e6;

	if (c == RC_SECONDS && !isnan(all))
		buf_addf(b, "%.3f", ms / 1e3);
	else if (c != RC_SECONDS && calls > 0 && !isnan(all))
		buf_addf(b, "%.3g", ms / calls);
}

static bool flat_only(const struct report *r)
{
	for (unsigned i = 0; i < r->opts.column_count; i++) {
		enum report_column c = (enum report_column)r->opts.columns[i];

		if (columns[c].flow && c != RC_CALLS && c != RC_CALL_MS && c != RC_CALL_MS_ALL)
			return false;
	}
	return true;
}

static void add_flow_cell(const struct report *r, const struct share *s, bool exact, enum report_column c,
			  unsigned objects, struct buf *out)
{
	const struct profile_function *pf = &r->profile->functions[s->function];
	uint32_t id = r->flow_func ? r->flow_func[s->function] : FLOW_NONE;
	const struct flow_func *f = id == FLOW_NONE ? NULL : &r->opts.flow->funcs[id];
	AUTO_BUF(b);
	double v;

	switch (c) {
	case RC_SELF: buf_addf(&b, "%.2f%%", 100 * s->self); break;
	case RC_INTERVAL:
		if (exact)
			buf_addstr(&b, "exact");
		else
			buf_addf(&b, "+-%5.2f", 100 * fmax(s->high - s->self, s->self - s->low));
		break;
	case RC_INCLUSIVE: buf_addf(&b, "%.2f%%", 100 * s->inclusive); break;
	case RC_SAMPLES:
		if (exact)
			buf_addch(&b, '-');
		else
			text_count(&b, s->samples);
		break;
	case RC_OBJECT: text_name(out, pf->object, objects, objects); return;
	case RC_IN:
		add_bytes_if_known(&b, bytes_known(r->opts.flow, f) ? flow_amount(r->opts.flow, f->in) : NAN);
		break;
	case RC_OUT:
		add_bytes_if_known(&b, bytes_known(r->opts.flow, f) ? flow_amount(r->opts.flow, f->out) : NAN);
		break;
	case RC_IN_ALL: add_bytes_if_known(&b, f ? flow_amount(r->opts.flow, f->inc.in) : NAN); break;
	case RC_OUT_ALL: add_bytes_if_known(&b, f ? flow_amount(r->opts.flow, f->inc.out) : NAN); break;
	case RC_COMPUTE:
	case RC_INSTRUCTIONS:
	case RC_CALLS:
		v = !f ? NAN : c == RC_COMPUTE ? computes(f) : c == RC_CALLS ? f->calls : f->instructions;
		v = f ? flow_amount(r->opts.flow, v) : NAN;
		if (!isnan(v))
			short_count(&b, v);
		break;
	case RC_SECONDS:
	case RC_CALL_MS:
	case RC_CALL_MS_ALL: add_seconds(r, s, exact, f, c, &b); break;
	case RC_OPS:
	case RC_OPS_ALL:
		v = !f            ? NAN
		    : c == RC_OPS ? flow_ops_per_byte(r->opts.flow, f).value
				  : report_ops_per_byte_inclusive(f);
		if (!isnan(v))
			buf_addf(&b, v < 99.5 ? "%.2f" : "%.0f", v);
		break;
	case RC_STACK:
		v = f ? stack_share(f) : NAN;
		if (!isnan(v))
			buf_addf(&b, "%.0f%%", 100 * v);
		break;
	case RC_BY:
		if (f && r->opts.flow->engine == FLOW_EXACT)
			buf_addstr(&b, "exact");
		else if (report_flow_bias(r->opts.flow, f))
			buf_addstr(&b, report_flow_bias(r->opts.flow, f));
		break;
	case RC_WAIT:
	case RC_WAIT_INTERVAL:
	case RC_READY:
	case RC_WAITS: add_wait_cell(r, s, c, &b); break;
	case RC_COLUMNS: break;
	}
	text_pad_left(out, b.len && !buf_failed(&b) ? b.data : "-", columns[c].width);
}

static unsigned object_width(const struct report *r, const struct shares *s)
{
	unsigned widest = 6;

	for (size_t i = 0; i < s->count; i++) {
		unsigned n = text_columns(r->profile->functions[s->rows[i].function].object);

		if (report_shows(r, &s->rows[i]) && n > widest)
			widest = n;
	}
	return widest < 24 ? widest : 24;
}

static void add_wait_legend(const struct report *r, struct buf *out)
{
	buf_addstr(
		out,
		r->waits
			? "# wait: part of the time between entry and return of its calls, with what they call, that the\n"
			  "# thread was off the CPU; ready: of that, another had the CPU; waits: told, of those drawn\n"
			: "# wait: not observed; record with --waits\n");
}

static bool has_units(const struct flow *f)
{
	for (uint32_t i = 0; i < f->func_count; i++)
		if (f->funcs[i].part_of_others)
			return true;
	return false;
}

void report_flow_table(const struct report *r, const struct shares *s, const struct text_style *style, struct buf *out)
{
	unsigned objects = object_width(r, s), used = 0, hidden = 0;

	text_hue_on(out, style, TEXT_BOLD);
	for (unsigned i = 0; i < r->opts.column_count; i++) {
		enum report_column c = (enum report_column)r->opts.columns[i];
		unsigned width = c == RC_OBJECT ? objects + 2 : columns[c].width;

		if (c == RC_OBJECT)
			buf_addf(out, "  %-*s", (int)objects, "object");
		else
			text_pad_left(out, columns[c].title, width);
		used += width;
	}
	buf_addstr(out, "  function");
	text_hue_off(out, style, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < s->count; i++) {
		const struct share *h = &s->rows[i];
		enum text_hue hue = h->self >= 0.05 ? TEXT_HOT : h->self >= 0.005 ? TEXT_WARM : TEXT_PLAIN;

		if (!report_shows(r, h)) {
			hidden++;
			continue;
		}
		for (unsigned k = 0; k < r->opts.column_count; k++) {
			enum report_column c = (enum report_column)r->opts.columns[k];

			if (c == RC_OBJECT)
				buf_addstr(out, "  ");
			if (c == RC_SELF)
				text_hue_on(out, style, hue);
			add_flow_cell(r, h, s->exact, c, objects, out);
			if (c == RC_SELF)
				text_hue_off(out, style, hue);
		}
		buf_addstr(out, "  ");
		text_name(out, r->profile->functions[h->function].name,
			  style->width > used + 12 ? style->width - used - 2
			  : style->width           ? 10
						   : 0,
			  0);
		buf_addch(out, '\n');
	}
	if (hidden)
		buf_addf(out, "# %u function%s under %g%% not shown; --percent-limit 0 shows all\n", hidden,
			 hidden == 1 ? "" : "s", 100 * r->opts.limit);
	if (r->opts.flow && r->opts.flow->time_bias)
		buf_addstr(
			out,
			"# by time: bytes and computation are weighted by time, they compare functions and are no totals;\n"
			"# by counts: by how often the code ran\n");
	if (r->opts.flow && !flow_has_amounts(r->opts.flow)) {
		struct counts_speed_note note;

		buf_addstr(out, "# ");
		text_wrap(out, counts_speed_note(&note, r->opts.flow->speed_seconds), 2, 2, style->width);
	}
	if (r->opts.flow && has_units(r->opts.flow))
		buf_addstr(
			out,
			"# bytes and computation stand with the functions that were selected, or with callers in the main\n"
			"# image, of all they call: what those did for others has no figures of its own here\n");
	for (unsigned i = 0; i < r->opts.column_count; i++)
		if (r->opts.columns[i] == RC_WAIT)
			add_wait_legend(r, out);
	for (unsigned i = 0; i < r->opts.column_count; i++)
		if (r->opts.columns[i] == RC_CALL_MS)
			buf_addstr(
				out,
				"# ms/call: time of its own a call, where calls are counted; all: with callees; -: unknown\n");
	if (report_columns_flow(r->opts.columns, r->opts.column_count) && !flat_only(r))
		buf_addstr(
			out,
			"# in: bytes read; out: bytes of its own that anyone reads; off the stack; all: with callees,\n"
			"# from and to the rest; ops/B: arithmetic and logic per byte loaded or stored (all: per byte\n"
			"# in and out); -: unknown\n");
}

static const struct flow_range unknown = { NAN, NAN, NAN };

void report_flow_json(struct json *j, const struct flow *flow, const struct flow_func *f)
{
	static const struct flow_func none = { 0 };
	bool bytes = bytes_known(flow, f);
	const struct flow_func *n = f ? f : &none;
	const struct flow_inclusive *all = &n->inc;
	struct flow_range of = flow_computes(n), out = { n->out, n->out_low, n->out_high };

	flow_range_json(j, "in", bytes ? flow_amounts(flow, n->in, n->in_low, n->in_high) : unknown);
	flow_range_json(j, "out", bytes ? flow_amounts_taken(flow, out, n->taken) : unknown);
	text_json_whole(j, "instructions", f ? flow_amount(flow, f->instructions) : NAN);
	flow_range_json(j, "compute",
			f && !f->part_of_others ? flow_amounts(flow, of.value, of.low, of.high) : unknown);
	text_json_whole(j, "load_bytes", f ? flow_amount(flow, f->load_bytes) : NAN);
	text_json_whole(j, "store_bytes", f ? flow_amount(flow, f->store_bytes) : NAN);
	json_f64(j, "stack_share", f ? stack_share(f) : NAN);
	of = f ? flow_ops_per_byte(flow, f) : unknown;
	json_f64(j, "ops_per_byte", of.value);
	json_f64(j, "ops_per_byte_low", of.low);
	json_f64(j, "ops_per_byte_high", of.high);
	text_json_whole(j, "calls", f ? flow_amount(flow, f->calls) : NAN);
	text_json_whole(j, "access_samples", f ? f->samples : NAN);
	out = (struct flow_range){ all->in, all->in_low, all->in_high };
	flow_range_json(j, "inclusive_in", f ? flow_amounts_taken(flow, out, all->in_taken) : unknown);
	out = (struct flow_range){ all->out, all->out_low, all->out_high };
	flow_range_json(j, "inclusive_out", f ? flow_amounts_taken(flow, out, all->out_taken) : unknown);
	text_json_whole(j, "inclusive_compute", f ? flow_amount(flow, all->compute) : NAN);
	json_f64(j, "inclusive_ops_per_byte", f ? report_ops_per_byte_inclusive(f) : NAN);
	text_json_whole(j, "inclusive_samples", f ? f->inc.samples : NAN);
	json_str(j, "bias", report_flow_bias(flow, f));
}
