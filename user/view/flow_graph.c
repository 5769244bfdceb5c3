// SPDX-License-Identifier: GPL-2.0-or-later
/* The graph for graphviz, and the XML in QUAD's spirit. */
#include <math.h>
#include <stdlib.h>

#include "util/clean.h"
#include "flow/threads.h"
#include "view/flow.h"

/* Threads, where these are asked for: they are no code, so nothing chooses among them. */
static struct flow_view drawn(const struct flow_view *v)
{
	struct flow_view threads = *v;

	if (!v->threads)
		return *v;
	threads.flow = &v->threads->flow;
	threads.producer = threads.consumer = NULL;
	threads.filter = NULL;
	return threads;
}

static bool *nodes_of(const struct flow_view *v)
{
	bool *on = calloc(v->flow->func_count + 1, sizeof(*on));

	for (size_t i = 0; on && i < v->flow->edge_count; i++) {
		const struct flow_edge *e = &v->flow->edges[i];

		if (flow_shown(v, e))
			on[e->producer] = on[e->consumer] = true;
	}
	return on;
}

static void node(const struct flow *f, uint32_t i, double total, struct buf *out)
{
	const struct flow_func *n = &f->funcs[i];
	double share = total > 0 ? (n->in + n->out) / (2 * total) : 0;
	int light = 97 - (int)(share * 45);

	buf_addf(out, "\tn%u [label=\"", i);
	clean_add(out, n->name, CLEAN_DOT);
	if (!flow_is_pseudo(n)) {
		buf_addstr(out, "\\nin ");
		text_amount(out, flow_amount(f, n->in), 0);
		buf_addstr(out, " out ");
		text_amount(out, flow_amount(f, n->out), 0);
		if (!isnan(flow_amount(f, n->compute))) {
			buf_addstr(out, "\\ncompute ");
			text_count(out, whole_number(flow_amount(f, n->compute)));
		}
		if (f->inclusive && !isnan(n->inc.in)) {
			buf_addstr(out, "\\nwith callees: in ");
			text_amount(out, flow_amount(f, n->inc.in), 0);
			buf_addstr(out, " out ");
			text_amount(out, flow_amount(f, n->inc.out), 0);
			buf_addstr(out, " within ");
			text_amount(out, flow_amount(f, n->inc.local), 0);
		}
	}
	buf_addf(out, "\", %s, fillcolor=\"0.08 %.2f %.2f\", tooltip=\"",
		 flow_is_pseudo(n) ? "shape=plaintext, style=\"\"" : "shape=box", 0.05 + 0.95 * (share < 1 ? share : 1),
		 light / 100.0);
	clean_add(out, n->object, CLEAN_DOT);
	buf_addstr(out, "\"];\n");
}

void flow_dot(const struct flow_view *all, struct buf *out)
{
	struct flow_view shown = drawn(all);
	const struct flow_view *v = &shown;
	const struct flow *f = v->flow;
	double total = flow_whole(f);
	bool *on = nodes_of(v);

	buf_addstr(out, "// doc: dot -Tsvg; an edge is bytes that its head read and its tail wrote\n"
			"digraph flow {\n\trankdir=TB; fontname=\"Helvetica\"; bgcolor=white;\n"
			"\tnode [fontname=\"Helvetica\", fontsize=10, style=filled];\n"
			"\tedge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\"];\n");
	buf_addf(out, "\tlabel=\"bytes between %s: %s, %s semantics, stack %sd\";\n",
		 all->threads ? "threads" : "functions", flow_engine_str(f->engine), flow_semantics_str(f->semantics),
		 flow_stack_str(f->stack));
	for (uint32_t i = 0; on && i < f->func_count; i++)
		if (on[i])
			node(f, i, total, out);
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];

		if (!flow_shown(v, e))
			continue;
		buf_addf(out, "\tn%u -> n%u [label=\"", e->producer, e->consumer);
		if (isnan(flow_edge_bytes(f, e).value))
			buf_addf(out, "%.1f %%", 100 * e->bytes / total);
		else
			text_bytes(out, whole_number(e->bytes));
		if (!isnan(e->unique)) /* QUAD's graph names both: bytes, and the addresses they lie at */
			buf_addf(out, "\\n%.0f UMA", e->unique);
		buf_addf(out, "%s\", penwidth=%.2f%s];\n", e->unresolved ? " ?" : "",
			 total > 0 ? 0.6 + 9 * sqrt(e->bytes / total) : 1, e->unresolved ? ", style=dashed" : "");
	}
	buf_addstr(out, "}\n");
	free(on);
}

/* An unknown figure is an absent attribute. */
static void add_attribute(struct buf *out, const char *name, double v)
{
	if (!isnan(v))
		buf_addf(out, " %s=\"%.0f\"", name, v);
}

/* Lines that two threads use without sharing a byte of them. */
static void sharing_xml(const struct flow_threads *t, struct buf *out)
{
	for (size_t i = 0; i < t->line_count; i++) {
		const struct shared_line *l = &t->line[i];

		buf_addf(out, "  <falsely_shared_line address=\"%#llx\">", (unsigned long long)l->addr);
		for (int k = 0; k < 2; k++) {
			buf_addf(out, "<user thread=\"%u\" writes=\"%s\">", l->user[k].tid,
				 l->user[k].written ? "yes" : "no");
			clean_add(out, l->user[k].function, CLEAN_XML);
			buf_addstr(out, "</user>");
		}
		buf_addstr(out, "</falsely_shared_line>\n");
	}
}

void flow_xml(const struct flow_view *all, struct buf *out)
{
	struct flow_view shown = drawn(all);
	const struct flow_view *v = &shown;
	const struct flow *f = v->flow;
	bool *on = nodes_of(v);

	buf_addstr(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	buf_addf(out, "<QUAD engine=\"%s\" semantics=\"%s\" stack=\"%s\" unit=\"bytes\"%s>\n",
		 flow_engine_str(f->engine), flow_semantics_str(f->semantics), flow_stack_str(f->stack),
		 all->threads ? " between=\"threads\"" : "");
	for (uint32_t i = 0; on && i < f->func_count; i++) {
		const struct flow_func *n = &f->funcs[i];

		if (!on[i])
			continue;
		buf_addstr(out, "  <function name=\"");
		clean_add(out, n->name, CLEAN_XML);
		buf_addstr(out, "\" object=\"");
		clean_add(out, n->object, CLEAN_XML);
		buf_addch(out, '"');
		add_attribute(out, "in", flow_amount(f, n->in));
		add_attribute(out, "in_uma", n->in_uma);
		add_attribute(out, "out", flow_amount(f, n->out));
		add_attribute(out, "out_uma", n->out_uma);
		add_attribute(out, "instructions", flow_amount(f, n->instructions));
		add_attribute(out, "compute", flow_amount(f, n->compute));
		add_attribute(out, "calls", flow_amount(f, n->calls));
		if (!isnan(n->self_ns))
			buf_addf(out, " self_seconds=\"%.9f\"", n->self_ns / 1e9);
		if (f->inclusive) {
			add_attribute(out, "in_with_callees", flow_amount(f, n->inc.in));
			add_attribute(out, "out_with_callees", flow_amount(f, n->inc.out));
			add_attribute(out, "within_callees", flow_amount(f, n->inc.local));
		}
		buf_addstr(out, "/>\n");
	}
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];
		struct flow_range bytes = flow_edge_bytes(f, e), share = flow_edge_share(f, e);

		if (!flow_shown(v, e))
			continue;
		buf_addstr(out, "  <binding><producer>");
		clean_add(out, f->funcs[e->producer].name, CLEAN_XML);
		buf_addstr(out, "</producer><consumer>");
		clean_add(out, f->funcs[e->consumer].name, CLEAN_XML);
		buf_addstr(out, "</consumer>");
		if (!isnan(bytes.value))
			buf_addf(out, "<data_transfer>%.0f</data_transfer>", bytes.value);
		else
			buf_addf(out, "<share>%.6f</share>", share.value);
		if (!isnan(e->unique))
			buf_addf(out, "<UnMA>%.0f</UnMA>", e->unique);
		if (!isnan(bytes.low) && e->low != e->high)
			buf_addf(out, "<low>%.0f</low><high>%.0f</high>", bytes.low, bytes.high);
		if (e->unresolved)
			buf_addstr(out, "<unresolved/>");
		buf_addstr(out, "</binding>\n");
	}
	if (all->threads)
		sharing_xml(all->threads, out);
	buf_addstr(out, "</QUAD>\n");
	free(on);
}
