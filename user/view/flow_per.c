// SPDX-License-Identifier: GPL-2.0-or-later
/* Edges as what has to travel: per call of a function, and those first that have the most distinct bytes. */
#include <math.h>

#include "util/json.h"
#include "view/flow.h"

/* An edge over at most SMALL_BYTES distinct bytes (four cache lines), each read SMALL_READ_AGAIN times, is state that
 * a function keeps at hand. It would travel once, a 64th of what is read, so it is no reason to move anything. */
#define SMALL_BYTES 256
#define SMALL_READ_AGAIN 64

/* Of bytes that are unknown nobody knows how often they are read. */
static bool small(const struct flow *f, const struct flow_edge *e)
{
	return e->unique > 0 && e->unique <= SMALL_BYTES && flow_edge_bytes(f, e).value >= e->unique * SMALL_READ_AGAIN;
}

/* Low and high for each call: the edge's own bounds, each over the farther bound of the calls. */
static struct flow_range flow_per_call(const struct flow_per *p, const struct flow *f, const struct flow_edge *e)
{
	struct flow_range b = flow_edge_bytes(f, e);

	return (struct flow_range){ .value = b.value / p->calls, .low = b.low / p->high, .high = b.high / p->low };
}

static void add_range_per_call(struct buf *out, const struct flow_range *r, unsigned columns)
{
	AUTO_BUF(b);

	if (r->low == r->high) {
		buf_addstr(&b, "exact");
	} else if (!isfinite(r->low) || !isfinite(r->high)) {
		buf_addstr(&b, "unknown");
	} else {
		text_bytes(&b, whole_number(r->low));
		buf_addstr(&b, "..");
		text_bytes(&b, whole_number(r->high));
	}
	text_pad_left(out, b.data, columns);
}

static void say_calls(const struct flow_per *p, struct buf *out)
{
	buf_addstr(out, "Per call of ");
	text_name(out, p->function, 0, 0);
	if (!p->source) {
		buf_addf(out, ": unknown: %s\n\n", p->reason);
		return;
	}
	buf_addstr(out, ": ");
	text_count(out, whole_number(p->calls));
	buf_addstr(out, " calls");
	if (p->low == p->high) {
		buf_addstr(out, ", counted\n\n");
		return;
	}
	buf_addstr(out, " (");
	text_count(out, whole_number(p->low));
	buf_addstr(out, " to ");
	text_count(out, whole_number(p->high));
	buf_addf(out, ", by %s)\n\n",
		 *p->source == 'p'   ? "probes"
		 : *p->source == 't' ? "its time, over that of the calls that probes saw"
				     : "execution counts");
}

static void show_edge_per_call(const struct flow_view *v, const struct flow_edge *e, unsigned name, struct buf *out)
{
	const struct flow *f = v->flow;
	struct flow_range r = v->per ? flow_per_call(v->per, f, e) : flow_edge_bytes(f, e);

	text_name(out, f->funcs[e->producer].name, name - 1, name);
	text_name(out, f->funcs[e->consumer].name, name - 1, name);
	text_amount(out, r.value, 9);
	add_range_per_call(out, &r, 20);
	text_amount(out, e->unique, 9);
	buf_addstr(out, e->unresolved ? " ?\n" : "\n");
}

void flow_per_text(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow *f = v->flow;
	unsigned rows = v->rows ? v->rows : 20, shown = 0, left = 0, folded = 0, name;
	double rest = 0, folded_bytes = 0, folded_unique = 0;

	name = s->width ? (s->width - 40) / 2 : 34;
	if (name > 44)
		name = 44;
	if (v->per)
		say_calls(v->per, out);
	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, "writer", name - 1, name);
	text_name(out, "reader", name - 1, name);
	buf_addf(out, "%9s%20s   unique", v->per ? "per call" : "bytes", "interval");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];

		if (!flow_shown(v, e))
			continue;
		if (v->by_unique && small(f, e)) {
			folded++;
			folded_bytes += e->bytes;
			folded_unique += e->unique;
		} else if (shown++ < rows) {
			show_edge_per_call(v, e, name, out);
		} else {
			left++;
			rest += e->bytes;
		}
	}
	if (folded) {
		buf_addf(out, "%u edges are small fields read again and again: ", folded);
		text_amount(out, flow_amount(f, folded_bytes), 0);
		buf_addf(out, " at %.0f distinct bytes; --sort bytes lists them\n", folded_unique);
	}
	if (left) {
		buf_addf(out, "%u more edges with ", left);
		text_amount(out, flow_amount(f, rest), 0);
		buf_addstr(out, "; --rows N lists more\n");
	}
	buf_addstr(out, v->per ? "unique: distinct bytes in the whole recording, not of one call\n\n" : "\n");
}

void flow_per_json(const struct flow_per *p, struct json *j)
{
	if (!p)
		return;
	json_obj(j, "per");
	json_str(j, "function", p->function);
	json_f64(j, "calls", p->calls);
	json_f64(j, "calls_low", p->low);
	json_f64(j, "calls_high", p->high);
	json_str(j, "source", p->source);
	json_str(j, "reason", *p->reason ? p->reason : NULL);
	json_end(j);
}

void flow_per_json_edge(const struct flow_per *p, const struct flow *f, const struct flow_edge *e, struct json *j)
{
	struct flow_range r;

	if (!p)
		return;
	r = flow_per_call(p, f, e);
	json_f64(j, "per_call", r.value);
	json_f64(j, "per_call_low", r.low);
	json_f64(j, "per_call_high", r.high);
}
