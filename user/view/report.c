// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "util/labels.h"
#include "util/json.h"
#include "view/report_flow.h"
#include "view/run_time_code.h"
#include "view/schema.h"

#define WORTH_TELLING 0.005 /* of the CPU time: less is no line of the head; by hand */

struct ordering {
	const struct profile *p;
	enum report_sort sort;
	const struct report *r;
};

static int falling(double a, double b)
{
	return a < b ? 1 : -(a > b);
}

static double flow_figure(const struct report *r, uint32_t function, enum report_sort sort)
{
	uint32_t id = r->flow_func ? r->flow_func[function] : FLOW_NONE;
	const struct flow_func *f = id == FLOW_NONE ? NULL : &r->opts.flow->funcs[id];
	double v = !f ? NAN : sort == REPORT_IN ? f->in : sort == REPORT_OUT ? f->out : f->compute;

	return isnan(v) ? -1 : v;
}

static int by_wish(const void *a, const void *b, void *ctx)
{
	const struct ordering *o = ctx;
	const struct share *x = a, *y = b;
	const struct profile_function *f = &o->p->functions[x->function], *g = &o->p->functions[y->function];
	int d = 0;

	switch (o->sort) {
	case REPORT_SELF: break;
	case REPORT_INCLUSIVE: d = falling(x->inclusive, y->inclusive); break;
	case REPORT_SAMPLES: d = falling((double)x->samples, (double)y->samples); break;
	case REPORT_FUNCTION: d = strcmp(f->name, g->name); break;
	case REPORT_OBJECT: d = strcmp(f->object, g->object); break;
	case REPORT_IN:
	case REPORT_OUT:
	case REPORT_COMPUTE:
		d = falling(flow_figure(o->r, x->function, o->sort), flow_figure(o->r, y->function, o->sort));
		break;
	}
	if (!d)
		d = falling(x->self, y->self);
	if (!d)
		d = falling(x->inclusive, y->inclusive);
	return d ? d : strcmp(f->name, g->name);
}

static int shares_by_weight(const void *a, const void *b, void *ctx)
{
	const struct shares *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int d = falling(t[x].weight, t[y].weight);

	return d ? d : (x > y) - (x < y);
}

static int build_threads(struct report *r, struct err *e)
{
	const struct profile *p = r->profile;

	r->threads = calloc(p->thread_count + 1, sizeof(*r->threads));
	r->thread_order = calloc(p->thread_count + 1, sizeof(*r->thread_order));
	if (!r->threads || !r->thread_order)
		return err_set(e, -ENOMEM, "out of memory");
	for (uint32_t t = 0; t < p->thread_count; t++) {
		struct shares_opts so = { .inlined = r->opts.inlined, .thread = t, .filter = r->opts.filter };
		int err = shares_compute(p, &so, &r->threads[t], e);

		if (err)
			return err;
		r->thread_order[t] = t;
	}
	qsort_r(r->thread_order, p->thread_count, sizeof(*r->thread_order), shares_by_weight, r->threads);
	return 0;
}

int report_build(const struct profile *p, const char *file, const struct report_opts *o, struct report *r,
		 struct err *e)
{
	struct shares_opts so = { .inlined = o->inlined, .thread = SHARES_ALL_THREADS, .filter = o->filter };
	struct ordering order = { p, o->sort, r };
	int err;

	*r = (struct report){ .profile = p, .file = file, .opts = *o };
	err = shares_compute(p, &so, &r->all, e);
	if (!err && o->per_thread)
		err = build_threads(r, e);
	if (!err && r->all.exact && o->per_thread)
		err = err_set(e, -ENOTSUP,
			      "%s was counted by the exact engine: it has figures for each function, not for threads",
			      file);
	if (!err && o->callers)
		err = callers_compute(p, o->callers, &so, &r->callers, e);
	if (err == -ENOENT && o->callers_counted)
		err_set(e, err, "no function named '%s' ran; `accperf report` lists those that did", o->callers);
	if (!err && o->grouped)
		err = rollup_compute(p, o->by, o->filter, &r->groups, e);
	if (!err && o->flow) {
		r->flow_func = report_flow_match(p, &r->all, o->flow->func_count, o->flow_of);
		if (!r->flow_func)
			err = err_set(e, -ENOMEM, "out of memory");
	}
	if (!err && waits_observed(p) && !r->all.exact) {
		r->waits = waits_by_function(p, o->inlined, o->filter);
		if (!r->waits)
			err = err_set(e, -ENOMEM, "out of memory");
	}
	if (err) {
		report_release(r);
		return err;
	}
	qsort_r(r->all.rows, r->all.count, sizeof(*r->all.rows), by_wish, &order);
	for (uint32_t t = 0; r->threads && t < p->thread_count; t++)
		qsort_r(r->threads[t].rows, r->threads[t].count, sizeof(*r->threads[t].rows), by_wish, &order);
	return 0;
}

void report_release(struct report *r)
{
	shares_release(&r->all);
	for (size_t t = 0; r->threads && t < r->profile->thread_count; t++)
		shares_release(&r->threads[t]);
	free(r->threads);
	free(r->thread_order);
	callers_release(&r->callers);
	rollup_release(&r->groups);
	free(r->flow_func);
	free(r->waits);
	*r = (struct report){ 0 };
}

double report_slowdown(const struct profile *p)
{
	if (!p->has_cost || !p->cost.target_cpu_ns)
		return NAN;
	return (double)p->cost.target_lost_ns / (double)p->cost.target_cpu_ns;
}

/* "time" where samples were drawn by time, NULL otherwise. */
static const char *report_bias(const struct profile *p)
{
	const char *said = profile_meta(p, "bias"), *engine = profile_meta(p, "engine");

	if (said)
		return *said ? said : NULL;
	return engine && !strcmp(engine, "soft") && p->samples[PROFILE_TIME] ? "time" : NULL;
}

static void add_percent(struct buf *b, double share)
{
	if (isnan(share))
		buf_addstr(b, "unknown");
	else
		buf_addf(b, "%.1f%%", 100 * share);
}

static void header_cost(const struct profile *p, struct buf *out)
{
	double slow = report_slowdown(p);

	buf_addstr(out, "# cost: ");
	if (!p->has_cost) {
		buf_addstr(out, "unknown\n");
		return;
	}
	buf_addstr(out, "target slowed ");
	if (isnan(slow))
		buf_addstr(out, "by an unknown share");
	else if (slow < 0.2)
		buf_addf(out, "%.2f%%", 100 * slow);
	else if (slow < 0.95) /* a share of the time it took, that is; of the rest it is more */
		buf_addf(out, "%.1f-fold", 1 / (1 - slow));
	else
		buf_addstr(out, "20-fold or more");
	buf_addstr(out, ", own CPU ");
	text_seconds(out, p->cost.own_cpu_ns);
	buf_addstr(out, ", peak memory ");
	text_bytes(out, p->cost.peak_rss);
	buf_addch(out, '\n');
}

/* One line, wrapped: "# lost: 12 ring full; 3 ...". */
static void header_counters(const struct profile *p, const char *title, bool loss, const struct text_style *style,
			    struct buf *out)
{
	AUTO_BUF(line);

	for (size_t i = 0; i < p->counter_count; i++) {
		const struct profile_counter *c = &p->counters[i];

		if (!c->value || (loss ? !c->loss : !c->in_part))
			continue;
		if (line.len)
			buf_addstr(&line, "; ");
		text_count(&line, c->value);
		buf_addch(&line, ' ');
		text_name(&line, c->name, 0, 0);
	}
	if (!line.len || buf_failed(&line))
		return;
	buf_addstr(out, title);
	for (const char *at = line.data; *at;) {
		/* a comment stays one on every line */
		size_t n = strlen(at), most = (style->width ? style->width : 100) - 12;

		if (n > most) {
			for (n = most; n && at[n] != ' '; n--)
				;
			n = n ? n : most;
		}
		AUTO_BUF(part);
		buf_add(&part, at, n);
		if (!buf_failed(&part))
			text_name(out, part.data, 0, 0);
		buf_addch(out, '\n');
		at += n;
		at += *at == ' ';
		if (*at)
			buf_addstr(out, "#     ");
	}
}

/* Timers of threads do not see those that live for less than a period. */
static void header_unsampled(const struct profile *p, struct buf *out)
{
	double without = (double)profile_counted(p, COUNTER_UNSAMPLED_US) * 1e3,
	       all = p->weight[PROFILE_TIME] + without;
	uint64_t threads = profile_counted(p, COUNTER_UNSAMPLED_THREADS);

	if (!threads || !(without > WORTH_TELLING * all))
		return;
	buf_addstr(out, "# without a sample: ");
	add_percent(out, without / all);
	buf_addstr(out, " of the CPU time; ");
	text_count(out, threads);
	buf_addstr(out, " threads ended before their first\n");
}

/* The head of every text view of a profile: engine, duration, samples, lost, cost, what is unnamed. */
static void report_header(const struct profile *p, const char *file, const struct shares *s,
			  const struct text_style *style, struct buf *out)
{
	const char *engine = profile_meta(p, "engine"), *bias = report_bias(p);
	const char *incomplete = profile_meta(p, "incomplete"), *breakpoints = profile_meta(p, "breakpoints");

	text_hue_on(out, style, TEXT_DIM);
	buf_addstr(out, "# ");
	text_name(out, file, 0, 0);
	buf_addstr(out, ": ");
	text_name(out, engine ? engine : "unknown", 0, 0);
	buf_addstr(out, " engine, ");
	if (p->duration_ns)
		text_seconds(out, p->duration_ns);
	else
		buf_addstr(out, "unknown duration");
	buf_addstr(out, ", ");
	if (s->exact) {
		text_count(out, whole_number(s->weight));
		buf_addstr(out, " instructions counted, ");
	} else {
		text_count(out, s->samples);
		buf_addstr(out, s->samples == 1 ? " sample, " : " samples, ");
	}
	if (p->lost_known)
		text_count(out, p->lost);
	else
		buf_addstr(out, "an unknown number");
	buf_addstr(out, " lost");
	if (!isnan(p->rate))
		buf_addf(out, ", %.0f Hz", p->rate);
	buf_addch(out, '\n');
	header_counters(p, "# lost: ", true, style, out);
	header_counters(p, "# in part: ", false, style, out);
	header_unsampled(p, out);
	header_cost(p, out);
	buf_addstr(out, "# without a name: ");
	add_percent(out, s->unnamed);
	buf_addstr(out, s->exact ? " of the instructions" : " of the samples; with an incomplete stack: ");
	if (!s->exact)
		add_percent(out, s->incomplete);
	buf_addch(out, '\n');
	run_time_hints_text(p, style, out);
	if (incomplete) {
		buf_addstr(out, "# incomplete: ");
		text_name(out, incomplete, 0, 0);
		buf_addch(out, '\n');
	}
	if (breakpoints && strcmp(breakpoints, "yes")) {
		buf_addstr(out, "# hardware breakpoints: ");
		text_name(out, breakpoints, 0, 0);
		buf_addch(out, '\n');
	}
	if (bias) {
		buf_addstr(out, "# bias: ");
		text_name(out, bias, 0, 0);
		if (!strcmp(bias, "time"))
			buf_addstr(out, " (drawn by a timer: shares of CPU time, not of instructions or accesses)");
		buf_addch(out, '\n');
	}
	text_hue_off(out, style, TEXT_DIM);
}

static unsigned object_columns(const struct report *r, const struct shares *s, const struct text_style *style)
{
	unsigned widest = 6, most = style->width && style->width < 100 ? 18 : 32;

	for (size_t i = 0; i < s->count; i++) {
		unsigned n = text_columns(r->profile->functions[s->rows[i].function].object);

		if (report_shows(r, &s->rows[i]) && n > widest)
			widest = n;
	}
	return widest < most ? widest : most;
}

static void row(const struct report *r, const struct share *s, bool exact, const struct text_style *style,
		unsigned objects, struct buf *out)
{
	const struct profile_function *f = &r->profile->functions[s->function];
	enum text_hue hue = s->self >= 0.05 ? TEXT_HOT : s->self >= 0.005 ? TEXT_WARM : TEXT_PLAIN;
	unsigned used = 28 + (r->opts.children ? 10 : 0) + objects + 2;
	AUTO_BUF(count);

	text_hue_on(out, style, hue);
	buf_addf(out, "%7.2f%%", 100 * s->self);
	text_hue_off(out, style, hue);
	if (exact)
		buf_addstr(out, "   exact");
	else
		buf_addf(out, " +-%5.2f", 100 * fmax(s->high - s->self, s->self - s->low));
	if (r->opts.children)
		buf_addf(out, "  %7.2f%%", 100 * s->inclusive);
	if (exact)
		buf_addch(&count, '-');
	else
		text_count(&count, s->samples);
	buf_addch(out, ' ');
	text_pad_left(out, buf_failed(&count) ? "?" : count.data, 9);
	buf_addstr(out, "  ");
	text_name(out, f->object, objects, objects);
	buf_addstr(out, "  ");
	text_name(out, f->name, style->width > used + 10 ? style->width - used : style->width ? 10 : 0, 0);
	buf_addch(out, '\n');
}

static void show_shares_table(const struct report *r, const struct shares *s, const struct text_style *style,
			      struct buf *out)
{
	unsigned objects = object_columns(r, s, style), hidden = 0;
	double hidden_self = 0;

	text_hue_on(out, style, TEXT_BOLD);
	buf_addf(out, "%8s %7s%s %9s  %-*s  %s", "self", "95%", r->opts.children ? "     incl." : "", "samples",
		 (int)objects, "object", "function");
	text_hue_off(out, style, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < s->count; i++) {
		if (!report_shows(r, &s->rows[i])) {
			hidden++;
			hidden_self += s->rows[i].self;
			continue;
		}
		row(r, &s->rows[i], s->exact, style, objects, out);
	}
	if (hidden)
		buf_addf(out,
			 "# %u function%s under %g%% not shown (self %.2f%% together); --percent-limit 0 shows all\n",
			 hidden, hidden == 1 ? "" : "s", 100 * r->opts.limit, 100 * hidden_self);
}

static void callers_table(const struct report *r, const struct text_style *style, struct buf *out)
{
	const struct callers *c = &r->callers;
	const struct caller *root = &c->nodes[0];
	unsigned depth = 0, hidden = 0;
	uint32_t at = 0;

	buf_addstr(out, "\n# callers of ");
	text_name(out, r->opts.callers, 0, 0);
	buf_addf(out, ", which is on the stack in %.2f%% of the %s (shares below are of those)\n",
		 c->total > 0 ? 100 * root->weight / c->total : 0,
		 r->opts.callers_counted ? "instructions" : "samples");
	for (;;) {
		const struct caller *n = &c->nodes[at];
		const struct profile_function *f = &r->profile->functions[n->function];
		double share = root->weight > 0 ? n->weight / root->weight : 0;
		bool shown = share >= r->opts.limit;
		unsigned indent = 2 * (depth < 30 ? depth : 30), room;

		if (shown) {
			room = style->width > 30 + indent ? style->width - 12 - indent : style->width ? 18 : 0;
			buf_addf(out, "%7.2f%%  %*s", 100 * share, (int)indent, "");
			text_name(out, f->name, room, 0);
			if (!room || room > text_columns(f->name) + text_columns(f->object) + 3) {
				buf_addstr(out, *f->object == '[' ? " " : " ["); /* the kernel's has brackets */
				text_name(out, f->object, 0, 0);
				buf_addstr(out, *f->object == '[' ? "" : "]");
			}
			buf_addch(out, '\n');
		}
		hidden += !shown;
		if (shown && n->first_child) {
			at = n->first_child;
			depth++;
			continue;
		}
		while (at && !c->nodes[at].next) {
			at = c->nodes[at].parent;
			depth--;
		}
		if (!at)
			break;
		at = c->nodes[at].next;
	}
	if (hidden)
		buf_addf(out, "# %u branch%s under %g%% not shown; --percent-limit 0 shows all\n", hidden,
			 hidden == 1 ? "" : "es", 100 * r->opts.limit);
}

void report_text(const struct report *r, const struct text_style *style, struct buf *out)
{
	const struct profile *p = r->profile;
	struct filtered of = { .by = r->opts.filter, .of = "time", .shown = r->all.shown };

	trust_text(r->opts.trust, "# ", style, out);
	report_header(p, r->file, &r->all, style, out);
	filtered_text(&of, "# ", style, out);
	/* who asks for callers wants no table first, of which the tree would be the end */
	if (r->opts.callers) {
		callers_table(r, style, out);
		return;
	}
	if (!r->threads && r->all.count) {
		buf_addch(out, '\n');
		if (r->opts.grouped)
			report_groups_text(r, style, out);
		else if (r->opts.columns)
			report_flow_table(r, &r->all, style, out);
		else
			show_shares_table(r, &r->all, style, out);
		if (r->opts.more)
			buf_addstr(
				out,
				"# the profile holds memory accesses, too: --columns flow adds bytes and computation\n");
	}
	for (size_t i = 0; r->threads && i < p->thread_count; i++) {
		const struct profile_thread *t = &p->threads[r->thread_order[i]];
		const struct shares *s = &r->threads[r->thread_order[i]];

		if (!s->samples || !filter_process(r->opts.filter, t->pid, t->comm))
			continue;
		buf_addf(out, "\n# thread %u of process %u", t->tid, t->pid);
		if (t->comm) {
			buf_addstr(out, " (");
			text_name(out, t->comm, 40, 0);
			buf_addch(out, ')');
		}
		buf_addf(out, ": %.2f%% of all, ", r->all.weight > 0 ? 100 * s->weight / r->all.weight : 0);
		text_count(out, s->samples);
		buf_addstr(out, s->samples == 1 ? " sample\n" : " samples\n");
		show_shares_table(r, s, style, out);
	}
}

static void wait_json(const struct report *r, const struct share *h, struct json *j)
{
	struct wait_share w = report_wait(r, h);

	json_f64(j, "wait_share", w.value);
	json_f64(j, "wait_low", w.low);
	json_f64(j, "wait_high", w.high);
	if (r->waits)
		json_u64(j, "waits", r->waits[h->function].count);
	else
		json_null(j, "waits");
}

static void json_inclusive(const struct report *r, const struct shares *s, const struct share *h, struct json *j)
{
	double v = r->opts.children ? h->inclusive : NAN, low = v, high = v;

	if (!s->exact && !isnan(v))
		wilson_interval(v, s->effective, &low, &high);
	json_f64(j, "inclusive", v);
	json_f64(j, "inclusive_low", low);
	json_f64(j, "inclusive_high", high);
}

static void json_functions(const struct report *r, const struct shares *s, struct json *j)
{
	json_arr(j, "functions");
	for (size_t i = 0; i < s->count; i++) {
		const struct share *h = &s->rows[i];
		const struct profile_function *f = &r->profile->functions[h->function];

		if (!report_shows(r, h))
			continue;
		json_obj(j, NULL);
		json_str(j, "name", f->name);
		json_str(j, "object", f->object);
		json_str(j, "file", f->file);
		if (f->line)
			json_u64(j, "line", f->line);
		else
			json_null(j, "line");
		json_f64(j, "self", h->self);
		json_inclusive(r, s, h, j);
		if (s->exact)
			json_null(j, "samples");
		else
			json_u64(j, "samples", h->samples);
		json_f64(j, "low", h->low);
		json_f64(j, "high", h->high);
		/* figures of all threads stand with all threads only */
		if (s == &r->all)
			wait_json(r, h, j);
		if (s == &r->all)
			report_flow_json(j, r->opts.flow,
					 r->flow_func && r->flow_func[h->function] != FLOW_NONE
						 ? &r->opts.flow->funcs[r->flow_func[h->function]]
						 : NULL);
		json_end(j);
	}
	json_end(j);
}

static void json_threads(const struct report *r, struct json *j)
{
	const struct profile *p = r->profile;

	json_arr(j, "threads");
	for (size_t i = 0; i < p->thread_count; i++) {
		const struct profile_thread *t = &p->threads[r->thread_order[i]];
		const struct shares *s = &r->threads[r->thread_order[i]];

		if (!filter_process(r->opts.filter, t->pid, t->comm))
			continue;
		json_obj(j, NULL);
		json_u64(j, "pid", t->pid);
		json_u64(j, "tid", t->tid);
		json_str(j, "comm", t->comm);
		json_u64(j, "samples", s->samples);
		json_f64(j, "share", r->all.weight > 0 ? s->weight / r->all.weight : NAN);
		json_functions(r, s, j);
		json_end(j);
	}
	json_end(j);
}

/* Flat, with parents: call chains are deeper than what JSON readers like to nest. */
static void json_callers(const struct report *r, struct json *j)
{
	const struct callers *c = &r->callers;

	json_arr(j, "callers");
	for (size_t i = 0; i < c->count; i++) {
		const struct caller *n = &c->nodes[i];
		const struct profile_function *f = &r->profile->functions[n->function];
		double share = c->total > 0 ? n->weight / c->total : NAN;

		if (i && share < r->opts.limit)
			continue;
		json_obj(j, NULL);
		json_u64(j, "id", i);
		if (i)
			json_u64(j, "parent", n->parent);
		else
			json_null(j, "parent");
		json_str(j, "name", f->name);
		json_str(j, "object", f->object);
		json_f64(j, "share", share);
		if (r->opts.callers_counted)
			json_null(j, "samples");
		else
			json_u64(j, "samples", n->samples);
		json_end(j);
	}
	json_end(j);
}

void report_json(const struct report *r, struct buf *out)
{
	const struct profile *p = r->profile;
	struct filtered of = { .by = r->opts.filter, .of = "time", .shown = r->all.shown };
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.report/1");
	json_str(&j, "engine", profile_meta(p, "engine"));
	if (p->duration_ns)
		json_u64(&j, "duration_ns", p->duration_ns);
	else
		json_null(&j, "duration_ns");
	if (r->all.exact)
		json_null(&j, "samples");
	else
		json_u64(&j, "samples", r->all.samples);
	if (p->lost_known)
		json_u64(&j, "lost", p->lost);
	else
		json_null(&j, "lost");
	text_json_labels(&j, "labels", profile_meta(p, META_LABELS));
	json_obj(&j, "cost");
	json_f64(&j, "target_slowdown", report_slowdown(p));
	json_f64(&j, "own_cpu_ns", p->has_cost ? (double)p->cost.own_cpu_ns : NAN);
	json_f64(&j, "peak_rss", p->has_cost ? (double)p->cost.peak_rss : NAN);
	json_end(&j);
	json_str(&j, "unit",
		 !r->all.exact && profile_unit(p) == PROFILE_TIME       ? "ns"
		 : !r->all.exact && profile_unit(p) == PROFILE_ACCESSES ? "accesses"
									: "instructions");
	json_str(&j, "bias", report_bias(p));
	json_str(&j, "breakpoints", profile_meta(p, "breakpoints"));
	trust_json(r->opts.trust, &j);
	filtered_json(&of, &j);
	run_time_hints_json(p, &j);
	json_f64(&j, "unnamed", r->all.unnamed);
	json_f64(&j, "incomplete_stacks", r->all.incomplete);
	json_str(&j, "recovery", *p->recovery ? p->recovery : NULL);
	json_arr(&j, "counters");
	for (size_t i = 0; i < p->counter_count; i++) {
		json_obj(&j, NULL);
		json_str(&j, "name", p->counters[i].name);
		json_u64(&j, "value", p->counters[i].value);
		json_bool(&j, "loss", p->counters[i].loss);
		json_bool(&j, "in_part", p->counters[i].in_part);
		json_end(&j);
	}
	json_end(&j);
	json_functions(r, &r->all, &j);
	if (r->opts.grouped)
		report_groups_json(r, &j);
	if (r->threads)
		json_threads(r, &j);
	if (r->opts.callers)
		json_callers(r, &j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define SHARE "{\"type\":[\"number\",\"null\"],\"minimum\":0,\"maximum\":1}"

const char report_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.report/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"engine\",\"duration_ns\",\"samples\",\"lost\",\"cost\",\"functions\"],"
	"\"definitions\":{\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"name\",\"object\",\"file\",\"line\",\"self\",\"inclusive\",\"samples\",\"low\",\"high\"],\"properties\":{"
	"\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"file\":{\"type\":[\"string\",\"null\"]},"
	"\"line\":" COUNT ",\"self\":" SHARE ",\"inclusive\":" SHARE ",\"inclusive_low\":" SHARE
	",\"inclusive_high\":" SHARE ",\"samples\":" COUNT ",\"low\":" SHARE ",\"high\":" SHARE ",\"wait_share\":" SHARE
	",\"wait_low\":" SHARE ",\"wait_high\":" SHARE ",\"waits\":" COUNT "," REPORT_FLOW_SCHEMA "}}}},"
	"\"properties\":{\"schema\":{\"const\":\"accperf.report/1\"},\"engine\":{\"type\":[\"string\",\"null\"]},"
	"\"duration_ns\":" COUNT ",\"samples\":" COUNT ",\"lost\":" COUNT ","
	"\"labels\":" LABELS_SCHEMA ","
	"\"cost\":{\"type\":\"object\",\"required\":[\"target_slowdown\",\"own_cpu_ns\",\"peak_rss\"],\"properties\":{"
	"\"target_slowdown\":{\"type\":[\"number\",\"null\"],\"minimum\":0},\"own_cpu_ns\":" COUNT
	",\"peak_rss\":" COUNT "}},"
	"\"unit\":{\"enum\":[\"ns\",\"instructions\",\"accesses\"]},\"bias\":{\"type\":[\"string\",\"null\"]},\"breakpoints\":{\"type\":[\"string\",\"null\"]}," TRUST_SCHEMA
	"," FILTERED_SCHEMA "," RUN_TIME_HINTS_SCHEMA ",\"by\":{\"enum\":[\"dso\",\"comm\",\"pid\"]},"
	"\"groups\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"pid\",\"self\",\"samples\"],"
	"\"properties\":{\"name\":{\"type\":[\"string\",\"null\"]},\"pid\":" COUNT ",\"self\":" SHARE
	",\"inclusive\":" SHARE ",\"samples\":" COUNT ",\"low\":" SHARE ",\"high\":" SHARE "}}},"
	"\"unnamed\":" SHARE ",\"incomplete_stacks\":" SHARE ",\"recovery\":{\"type\":[\"string\",\"null\"]},"
	"\"counters\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"value\",\"loss\"],\"properties\":{"
	"\"name\":{\"type\":\"string\"},\"value\":" COUNT
	",\"loss\":{\"type\":\"boolean\"},\"in_part\":{\"type\":\"boolean\"}}}},"
	"\"functions\":{\"$ref\":\"#/definitions/functions\"},"
	"\"threads\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"pid\":" COUNT
	",\"tid\":" COUNT ","
	"\"comm\":{\"type\":[\"string\",\"null\"]},\"samples\":" COUNT ",\"share\":" SHARE ","
	"\"functions\":{\"$ref\":\"#/definitions/functions\"}}}},"
	"\"callers\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"id\":" COUNT
	",\"parent\":" COUNT ","
	"\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"share\":" SHARE ",\"samples\":" COUNT
	"}}}}}";
