// SPDX-License-Identifier: GPL-2.0-or-later
/* A flow (flow.h) as text for a terminal: its map, edges, functions, calls and threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/flow.h"
#include "view/flow_threads.h"

#define NAME_COLUMNS 26 /* of a terminal of 80: the rest holds twelve functions; by hand */

static void add_percent_short(struct buf *out, double share)
{
	if (share >= 0.0995)
		buf_addf(out, "%3.0f", share * 100);
	else if (share >= 0.005)
		buf_addf(out, "%3.0f", share * 100);
	else
		buf_addstr(out, share > 0 ? "  ." : "   ");
}

/* Where colours are off the figures alone make the map. */
static void show_heat_cell(struct buf *out, const struct text_style *s, double share)
{
	static const int shade[] = { 236, 238, 58, 94, 130, 166, 196 };
	int level = share >= 0.2     ? 6
		    : share >= 0.1   ? 5
		    : share >= 0.05  ? 4
		    : share >= 0.02  ? 3
		    : share >= 0.005 ? 2
		    : share > 0      ? 1
				     : 0;

	if (s->colour && level)
		buf_addf(out, "\033[48;5;%dm", shade[level]);
	add_percent_short(out, share);
	if (s->colour && level)
		buf_addstr(out, "\033[0m");
	buf_addch(out, ' ');
}

struct flow_text_rank {
	uint32_t func;
	double weight;
};

static int ranks_by_weight(const void *a, const void *b)
{
	const struct flow_text_rank *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->func > y->func) - (x->func < y->func);
}

/* Functions by IN + OUT of the edges shown. */
static struct flow_text_rank *ranked(const struct flow_view *v, uint32_t *count)
{
	const struct flow *f = v->flow;
	struct flow_text_rank *r = calloc(f->func_count + 1, sizeof(*r));
	uint32_t n = 0;

	if (!r)
		return NULL;
	for (uint32_t i = 0; i < f->func_count; i++)
		r[i].func = i;
	for (size_t i = 0; i < f->edge_count; i++) {
		if (!flow_shown(v, &f->edges[i]))
			continue;
		r[f->edges[i].producer].weight += f->edges[i].bytes;
		r[f->edges[i].consumer].weight += f->edges[i].bytes;
	}
	qsort(r, f->func_count, sizeof(*r), ranks_by_weight);
	while (n < f->func_count && r[n].weight > 0)
		n++;
	*count = n;
	return r;
}

static void show_flow_map(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow *f = v->flow;
	unsigned width = s->width ? s->width : 120, top = v->top ? v->top : 12, fits = (width - NAME_COLUMNS - 5) / 4;
	double total = flow_whole(v->flow);
	uint32_t n;
	struct flow_text_rank *r = ranked(v, &n);

	if (!r || !n) {
		free(r);
		return;
	}
	if (top > fits)
		top = fits;
	if (top > n)
		top = n;
	buf_addf(out, "Per cent of all bytes, from the row's writer to the column's reader (. below 0.5)\n\n");
	buf_addf(out, "%*s", NAME_COLUMNS + 5, "");
	for (unsigned i = 0; i < top; i++)
		buf_addf(out, "%3u ", i + 1);
	buf_addch(out, '\n');
	for (unsigned i = 0; i < top; i++) {
		buf_addf(out, "%3u  ", i + 1);
		text_name(out, f->funcs[r[i].func].name, NAME_COLUMNS - 1, NAME_COLUMNS);
		for (unsigned j = 0; j < top; j++) {
			const struct flow_edge *e = flow_get(f, r[i].func, r[j].func);

			show_heat_cell(out, s, e && flow_shown(v, e) ? e->bytes / total : 0);
		}
		while (out->len && out->data[out->len - 1] == ' ')
			out->len--;
		buf_addch(out, '\n');
	}
	if (n > top)
		buf_addf(out, "     %u more functions; --top N widens the map\n", n - top);
	buf_addch(out, '\n');
	free(r);
}

static void add_edge_interval(struct buf *out, const struct flow *f, const struct flow_edge *e)
{
	AUTO_BUF(b);
	struct flow_range share = flow_edge_share(f, e);

	if (f->engine == FLOW_EXACT && e->low == e->high)
		buf_addstr(&b, "exact");
	else if (isnan(e->low))
		buf_addstr(&b, "unknown");
	else
		buf_addf(&b, "%.1f..%.1f%%", 100 * share.low, 100 * share.high);
	text_pad_left(out, b.data ? b.data : "", 14);
}

static void show_edges(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow *f = v->flow;
	double total = flow_whole(v->flow), rest = 0;
	unsigned rows = v->rows ? v->rows : 20, shown = 0, left = 0, name;
	bool unresolved = false;

	name = s->width ? (s->width - 43) / 2 : 34;
	if (name > 44)
		name = 44;
	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, "writer", name - 1, name);
	text_name(out, "reader", name - 1, name);
	buf_addstr(out, "    bytes  share      interval    unique");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];

		if (!flow_shown(v, e))
			continue;
		if (shown++ >= rows) {
			rest += e->bytes;
			left++;
			continue;
		}
		text_name(out, f->funcs[e->producer].name, name - 1, name);
		text_name(out, f->funcs[e->consumer].name, name - 1, name);
		text_amount(out, flow_edge_bytes(f, e).value, 9);
		buf_addf(out, " %5.1f%%", 100 * e->bytes / total);
		add_edge_interval(out, f, e);
		text_amount(out, e->unique, 9);
		buf_addstr(out, e->unresolved ? " ?\n" : "\n");
		unresolved |= e->unresolved;
	}
	if (left) {
		buf_addf(out, "%u more edges with ", left);
		text_amount(out, flow_amount(f, rest), 0);
		buf_addf(out, " (%.1f%%); --rows N lists more\n", 100 * rest / total);
	}
	if (unresolved)
		buf_addstr(
			out,
			"? = unresolved: the kinds of evidence disagree, or only a neighbouring address was seen written\n");
	buf_addch(out, '\n');
}

/* Without an interval; of a system call, the bytes that were taken stand for what it read. */
static void value_or_part(struct buf *out, const struct flow *f, double bytes, double taken, unsigned columns)
{
	AUTO_BUF(b);

	if (flow_has_amounts(f) || !isfinite(bytes) || !(flow_whole(f) > 0)) {
		text_amount(out, flow_amount(f, bytes), columns);
		return;
	}
	buf_addf(&b, "%.1f %%", 100 * flow_share(f, (struct flow_range){ bytes, bytes, bytes }, taken).value);
	text_pad_left(out, b.data ? b.data : "", columns);
}

static void show_functions(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow *f = v->flow;
	uint32_t n;
	struct flow_text_rank *r = ranked(v, &n);
	unsigned rows = v->rows ? v->rows : 20;

	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, "function", 27, 28);
	buf_addstr(out, "       IN     IN UMA       OUT    OUT UMA");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (uint32_t i = 0; r && i < n && i < rows; i++) {
		const struct flow_func *fn = &f->funcs[r[i].func];

		text_name(out, fn->name, 27, 28);
		value_or_part(out, f, fn->in, flow_is_call(fn) ? fn->in : 0, 9);
		buf_addstr(out, fn->in_uma_bound ? " >" : "  ");
		text_amount(out, fn->in_uma, 9);
		value_or_part(out, f, fn->out, fn->taken, 10);
		buf_addstr(out, fn->out_uma_bound ? " >" : "  ");
		text_amount(out, fn->out_uma, 9);
		buf_addch(out, '\n');
	}
	free(r);
	buf_addch(out, '\n');
}

/* Shares of all edges would say nothing here: these are bytes that calls moved, however often they are read. */
static void show_calls_table(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow *f = v->flow;
	unsigned rows = v->rows ? v->rows : 20;

	if (!f->call_count)
		return;
	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, "system call", 27, 28);
	buf_addstr(out, "took from memory  put into memory     interval");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < f->call_count && i < rows; i++) {
		const struct flow_call *c = &f->calls[i];
		AUTO_BUF(range);

		text_name(out, f->funcs[c->func].name, 27, 28);
		text_amount(out, c->reads ? c->bytes : 0, 16);
		text_amount(out, c->reads ? 0 : c->bytes, 17);
		if (f->engine == FLOW_EXACT && c->low == c->high)
			buf_addstr(&range, "exact");
		else if (!isfinite(c->high) || !(c->bytes > 0))
			buf_addstr(&range, "unknown");
		else
			buf_addf(&range, "+-%.1f%%", 50 * (c->high - c->low) / c->bytes);
		text_pad_left(out, range.data, 13);
		buf_addch(out, '\n');
	}
	buf_addch(out, '\n');
}

static int by_traffic(const void *a, const void *b)
{
	const struct flow_text_rank *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->func > y->func) - (x->func < y->func);
}

static void half(struct buf *out, double value, double low, double high)
{
	AUTO_BUF(b);

	if (high > low && value > 0) {
		/* the farther end: one side ends at nothing, or at all */
		double percent = 100 * fmax(high - value, value - low) / value;

		if (percent < 999.5)
			buf_addf(&b, "+-%.0f%%", percent);
		else
			buf_addstr(&b, ">999%"); /* as wide as its column */
	}
	text_pad_left(out, b.data ? b.data : "", 8);
}

/* A part of all bytes where amounts are unknown, then. */
static void amount_or_part(struct buf *out, const struct flow *f, struct flow_range of, double taken, unsigned columns)
{
	AUTO_BUF(b);

	if (flow_has_amounts(f) || !isfinite(of.value) || !(flow_whole(f) > 0)) {
		of = flow_amounts_taken(f, of, taken);
		text_amount(out, of.value, columns);
		half(out, of.value, of.low, of.high);
		return;
	}
	of = flow_share(f, of, taken);
	buf_addf(&b, "%.1f %%", 100 * of.value);
	text_pad_left(out, b.data, columns);
	half(out, of.value, of.low, of.high);
}

/* Functions with all they call, by what passes between them and the rest. */
static void show_inclusive(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow *f = v->flow;
	struct flow_text_rank *r = calloc(f->func_count + 1, sizeof(*r));
	unsigned rows = v->rows ? v->rows : 20, shown = 0, name = s->width && s->width < 108 ? 25 : 35;
	bool distinct = !s->width || s->width >= name + 73;

	for (uint32_t i = 0; r && i < f->func_count; i++) {
		const struct flow_inclusive *n = &f->funcs[i].inc;

		r[i] = (struct flow_text_rank){ i, (isnan(n->in) ? 0 : n->in) + (isnan(n->out) ? 0 : n->out) +
							   (isnan(n->local) ? 0 : n->local) };
	}
	if (!r)
		return;
	qsort(r, f->func_count, sizeof(*r), by_traffic);
	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, "function with what it calls", name - 1, name);
	buf_addstr(out, "      IN                OUT            within   read");
	buf_addstr(out, distinct ? "   distinct in, out" : "");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (uint32_t i = 0; i < f->func_count && shown < rows; i++) {
		const struct flow_func *fn = &f->funcs[r[i].func];

		if (flow_is_pseudo(fn) || isnan(fn->inc.in) || !flow_named(v, fn))
			continue;
		text_name(out, fn->name, name - 1, name);
		amount_or_part(out, f, (struct flow_range){ fn->inc.in, fn->inc.in_low, fn->inc.in_high },
			       fn->inc.in_taken, 9);
		amount_or_part(out, f, (struct flow_range){ fn->inc.out, fn->inc.out_low, fn->inc.out_high },
			       fn->inc.out_taken, 10);
		value_or_part(out, f, fn->inc.local, 0, 10);
		text_amount(out, flow_amount(f, fn->inc.load_bytes), 9);
		if (distinct) {
			text_amount(out, fn->inc.in_uma, 10);
			text_amount(out, fn->inc.out_uma, 9);
		}
		buf_addch(out, '\n');
		shown++;
	}
	if (f->cut_stacks > 0.001)
		buf_addf(
			out,
			"%.1f%% of the bytes were read on stacks that do not reach the thread's start: outer functions lack them\n",
			100 * f->cut_stacks);
	if (!shown)
		buf_addstr(
			out,
			f->engine == FLOW_EXACT && isnan(f->loads)
				? "IN and OUT with callees are counted by `accperf exact --callees`, or --candidate FUNCTION\n"
				: "nothing is known of functions with all they call\n");
	else
		buf_addstr(out, "read: all bytes that they load, those on the stack, too\n");
	if (shown && f->semantics == FLOW_KE)
		buf_addstr(
			out,
			"IN, within: a chunk counts once per invocation with all it calls; OUT: per invocation that reads it\n");
	buf_addch(out, '\n');
	free(r);
}

static bool any_shown(const struct flow_view *v)
{
	for (size_t i = 0; i < v->flow->edge_count; i++)
		if (flow_shown(v, &v->flow->edges[i]))
			return true;
	return false;
}

/* Bytes between them are a flow, too. */
static void show_threads(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	struct flow_view threads = *v;

	threads.flow = &v->threads->flow;
	threads.threads = NULL;
	threads.producer = threads.consumer = NULL;
	threads.filter = NULL; /* threads are no code */
	buf_addstr(out, "Between threads\n\n");
	if (!(flow_total(threads.flow) > 0)) {
		buf_addstr(out, "no bytes between threads were seen\n\n");
	} else {
		show_flow_map(&threads, s, out);
		show_edges(&threads, s, out);
	}
	flow_threads_lines(v, s, out);
}

/* What the tables' words mean; of names in parentheses, of those that they have. */
static void show_words(const struct flow *f, struct buf *out)
{
	static const struct {
		const char *begins, *means;
	} names[] = {
		{ FLOW_OUTSIDE, "(outside): never written while it was observed" },
		{ FLOW_BEFORE, "(before attach): written before the recording began" },
		{ FLOW_UNKNOWN, "(unknown): written by someone who was not seen" },
		{ "(kernel:", "(kernel:NAME): read or written by that system call" },
	};

	buf_addstr(out, "IN: what a function reads; OUT: what anyone reads of what it wrote\n"
			"UMA: the distinct addresses of these; >: at least\n");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (uint32_t k = 0; k < f->func_count; k++) {
			const struct flow_func *fn = &f->funcs[k];

			if ((fn->in > 0 || fn->out > 0) &&
			    !strncmp(fn->name, names[i].begins, strlen(names[i].begins))) {
				buf_addf(out, "%s\n", names[i].means);
				break;
			}
		}
}

/* What this recording did not see itself. */
static void show_earlier(const struct flow *f, double total, struct buf *out)
{
	if (f->earlier > 0)
		buf_addf(out,
			 "%.3g%% of the bytes: who wrote them is from earlier recordings (--no-earlier: without)\n",
			 100 * f->earlier / total);
	if (f->earlier_dropped > 0)
		buf_addf(out,
			 "earlier recordings are left aside for %.0f of %.0f functions, which this one contradicts\n",
			 f->earlier_dropped, f->earlier_compared);
}

void flow_text(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow *f = v->flow;
	double total = flow_total(f);
	struct filtered of;

	trust_text(v->trust, "", s, out);
	of = flow_filtered(v);
	filtered_text(&of, "", s, out);
	if (!(total > 0)) {
		buf_addstr(out, "no bytes between functions were seen\n");
		return;
	}
	if (!any_shown(v)) {
		buf_addstr(out, "no edge passes --producer, --consumer, --min-share and the filter\n");
		return;
	}
	show_flow_map(v, s, out);
	if (v->per || v->by_unique)
		flow_per_text(v, s, out);
	else
		show_edges(v, s, out);
	show_functions(v, s, out);
	show_calls_table(v, s, out);
	if (f->inclusive)
		show_inclusive(v, s, out);
	if (v->threads)
		show_threads(v, s, out);
	show_words(f, out);
	show_earlier(f, total, out);
	buf_addf(out, "%s engine, %s (--semantics %s), stack %sd", flow_engine_str(f->engine),
		 f->semantics == FLOW_KE ? "each byte once for each call of its reader" : "every byte read counts",
		 flow_semantics_str(f->semantics), flow_stack_str(f->stack));
	if (f->engine != FLOW_EXACT || !isnan(f->loads)) {
		buf_addstr(out, "; ");
		text_count(out, whole_number(f->loads));
		buf_addstr(out, " loads, ");
		text_count(out, whole_number(f->stores));
		buf_addstr(out, " stores, ");
		text_count(out, whole_number(f->windows));
		buf_addstr(out, " windows");
	}
	if (f->lost > 0) {
		buf_addstr(out, "; lost ");
		text_count(out, whole_number(f->lost));
		buf_addstr(out, f->lost > 1 ? " samples" : " sample");
	}
	if (flow_has_amounts(f)) {
		buf_addstr(out, "; in all ");
		text_bytes(out, whole_number(total));
	}
	buf_addstr(out, " from ");
	text_name(out, v->source ? v->source : "", 0, 0);
	buf_addch(out, '\n');
	if (!flow_has_amounts(f))
		text_no_amounts(out, f->speed_seconds, s->width);
	if (f->time_bias)
		buf_addstr(
			out,
			"Weighted by time: samples come from where time is spent, so slow loads count too much and the\n"
			"intervals tell the spread only.\n");
	else if (f->level > 0)
		buf_addf(out,
			 "Intervals are indicative %.0f %% ones, widened by how far the kinds of evidence disagree.\n",
			 f->level * 100);
}
