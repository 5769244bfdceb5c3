// SPDX-License-Identifier: GPL-2.0-or-later
/* A flow along the tree of calls: text, JSON and SVG. */
#include <math.h>
#include <stdio.h>

#include "util/json.h"
#include "view/flow_figures.h"
#include "view/schema.h"
#include "view/svg.h"

/* Of samples, parts of all tell more than amounts whose unit may be unknown. */
static void show_bytes(struct buf *out, const struct flow_paths *p, double bytes, unsigned columns)
{
	AUTO_BUF(part);

	if (bytes > 0 && p->sampled) {
		buf_addf(&part, "%.1f %%", bytes / p->total * 100);
		text_pad_left(out, buf_failed(&part) ? "" : part.data, columns);
	} else if (bytes > 0)
		text_amount(out, bytes, columns);
	else
		text_pad_left(out, ".", columns);
}

static void path_name(struct buf *out, const struct flow_paths *p, uint32_t i, unsigned max)
{
	text_name(out, i != PATHS_NONE ? p->at[i].name : p->sampled ? "(other paths)" : FLOW_OUTSIDE, max, 0);
	if (i != PATHS_NONE && p->at[i].again)
		buf_addstr(out, " (again)");
}

void flow_tree_text(const struct flow_tree_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow_paths *p = v->paths;

	if (v->trust)
		trust_text(v->trust, "", s, out);
	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, "call tree", 0, 52);
	buf_addstr(out, "     calls    computes        reads   is read of   of its own");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (uint32_t i = 0; i < p->count; i++) {
		const struct flow_path *n = &p->at[i];
		AUTO_BUF(name);
		AUTO_BUF(count);
		unsigned indent = 2 * n->depth < 30 ? 2 * n->depth : 30;

		buf_addf(&name, "%3u %*s", i + 1, (int)indent, "");
		path_name(&name, p, i, 44 - indent);
		if (n->folded)
			buf_addf(&name, " +%u", n->folded);
		text_name(out, name.data ? name.data : "", 51, 52);
		if (p->sampled)
			buf_addch(&count, '-');
		else
			text_count(&count, n->calls);
		text_pad_left(out, count.data ? count.data : "", 10);
		buf_clear(&count);
		if (isnan(n->compute))
			buf_addch(&count, '-');
		else
			text_count(&count, whole_number(n->compute));
		text_pad_left(out, count.data ? count.data : "", 12);
		show_bytes(out, p, n->in, 13);
		show_bytes(out, p, n->out, 13);
		show_bytes(out, p, n->local, 13);
		buf_addch(out, '\n');
	}
	if (p->all > p->count)
		buf_addf(out, "%u of %u paths; +N: paths folded into the one that leads to them; --top N shows more\n",
			 p->count, p->all);
	buf_addch(out, '\n');
	for (size_t i = 0; i < p->edge_count && i < v->rows; i++) {
		const struct flow_path_edge *e = &p->edges[i];
		AUTO_BUF(from);
		AUTO_BUF(to);

		if (e->producer != PATHS_NONE)
			buf_addf(&from, "%u ", e->producer + 1);
		path_name(&from, p, e->producer, 34);
		if (e->consumer != PATHS_NONE)
			buf_addf(&to, "%u ", e->consumer + 1);
		path_name(&to, p, e->consumer, 34);
		text_name(out, from.data ? from.data : "", 40, 41);
		buf_addstr(out, "-> ");
		text_name(out, to.data ? to.data : "", 40, 41);
		if (p->sampled)
			text_amount(out, flow_amount(v->flow, e->bytes), 10);
		else
			text_amount(out, e->bytes, 10);
		buf_addf(out, " %5.1f%%\n", p->total > 0 ? 100 * e->bytes / p->total : 0);
	}
	if (p->edge_count > v->rows)
		buf_addf(out, "%zu more edges; --rows N lists more\n", p->edge_count - v->rows);
	buf_addf(out, "\n%s, %s semantics, stack %sd; in all ",
		 p->sampled ? "estimated: reads by their stacks, writers by function, their paths by sampled stores"
			    : "exact",
		 flow_semantics_str(v->flow->semantics), flow_stack_str(v->flow->stack));
	text_amount(out, p->sampled ? flow_amount(v->flow, p->total) : p->total, 0);
	buf_addf(out, " from %s\n", v->source);
}

static double tree_bytes(const struct flow_tree_view *v, double bytes)
{
	return v->paths->sampled ? flow_amount(v->flow, bytes) : bytes;
}

void flow_tree_json(const struct flow_tree_view *v, struct buf *out)
{
	const struct flow_paths *p = v->paths;
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.tree/1");
	json_str(&j, "source", v->source);
	json_str(&j, "semantics", flow_semantics_str(v->flow->semantics));
	json_str(&j, "stack", flow_stack_str(v->flow->stack));
	trust_json(v->trust, &j);
	json_u64(&j, "all_paths", p->all);
	json_bool(&j, "sampled", p->sampled);
	json_f64(&j, "bytes", tree_bytes(v, p->total));
	json_arr(&j, "paths");
	for (uint32_t i = 0; i < p->count; i++) {
		const struct flow_path *n = &p->at[i];

		json_obj(&j, NULL);
		json_u64(&j, "id", i + 1);
		if (n->parent == PATHS_NONE)
			json_null(&j, "parent");
		else
			json_u64(&j, "parent", n->parent + 1);
		json_str(&j, "name", n->name);
		json_str(&j, "object", n->object);
		json_bool(&j, "again", n->again);
		json_f64(&j, "calls", p->sampled ? NAN : (double)n->calls);
		json_f64(&j, "instructions", n->instructions);
		json_f64(&j, "compute", n->compute);
		json_f64(&j, "in", tree_bytes(v, n->in));
		json_f64(&j, "out", tree_bytes(v, n->out));
		json_f64(&j, "local", tree_bytes(v, n->local));
		json_u64(&j, "folded", n->folded);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "edges");
	for (size_t i = 0; i < p->edge_count; i++) {
		const struct flow_path_edge *e = &p->edges[i];

		json_obj(&j, NULL);
		json_f64(&j, "producer", e->producer == PATHS_NONE ? NAN : e->producer + 1.0);
		json_f64(&j, "consumer", e->consumer == PATHS_NONE ? NAN : e->consumer + 1.0);
		json_f64(&j, "bytes", tree_bytes(v, e->bytes));
		json_f64(&j, "share", p->total > 0 ? e->bytes / p->total : NAN);
		json_f64(&j, "unique_bytes", e->unique);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

/* The tree on the left, the flow as arcs on the right, from the writer's row to the reader's. */
void flow_tree_svg(const struct flow_tree_view *v, struct buf *out)
{
	const struct flow_paths *p = v->paths;
	double row = 20, top = 40, right = 480;

	svg_begin(out, 860, (unsigned)(top + row * p->count + 30),
		  "The call tree, and what its paths read of each other");
	buf_addstr(
		out,
		"<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">"
		"<path d=\"M0,0 L8,4 L0,8 z\" fill=\"#0072b2\"/></marker></defs>\n");
	for (uint32_t i = 0; i < p->count; i++) {
		const struct flow_path *n = &p->at[i];
		double x = 14 + 16.0 * (n->depth < 18 ? n->depth : 18), y = top + row * i + 14;
		AUTO_BUF(label);

		path_name(&label, p, i, 36);
		if (n->folded)
			buf_addf(&label, " +%u", n->folded);
		svg_label(out, x, y, "start", label.data ? label.data : "");
		if (n->parent != PATHS_NONE)
			buf_addf(out,
				 "<polyline fill=\"none\" stroke=\"#bbb\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n",
				 x - 10, top + row * n->parent + 18, x - 10, y - 4, x - 3, y - 4);
	}
	for (size_t i = p->edge_count < v->rows ? p->edge_count : v->rows; i-- > 0;) {
		const struct flow_path_edge *e = &p->edges[i];
		double a, b, bow;
		AUTO_BUF(label);

		if (e->producer == PATHS_NONE || e->consumer == PATHS_NONE)
			continue;
		a = top + row * e->producer + 8;
		b = top + row * e->consumer + 12;
		bow = right + 40 + fmin(220, fabs(a - b) * 0.7);
		buf_addf(out,
			 "<path d=\"M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"none\" stroke=\"#0072b2\" "
			 "stroke-opacity=\"0.7\" stroke-width=\"%.1f\" marker-end=\"url(#tip)\"/>\n",
			 right, a, bow, a, bow, b, right, b, 1 + (p->total > 0 ? 6 * sqrt(e->bytes / p->total) : 0));
		if (p->sampled)
			buf_addf(&label, "%.1f %%", e->bytes / p->total * 100);
		else
			text_amount(&label, e->bytes, 0);
		buf_addstr(out, "<g font-size=\"10\" fill=\"#333\">");
		svg_label(out, right + (bow - right) * 0.76 + 4, (a + b) / 2 + 4, "start",
			  label.data ? label.data : "");
		buf_addstr(out, "</g>\n");
	}
	svg_end(out);
}

const char flow_tree_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.tree/1\",\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"schema\",\"source\",\"paths\",\"edges\"],\"properties\":{\"schema\":{\"const\":\"accperf.tree/1\"},"
	"\"source\":{\"type\":\"string\"},\"semantics\":{\"enum\":[\"quad\",\"ke\"]},\"stack\":{\"enum\":[\"exclude\",\"include\"]}," TRUST_SCHEMA
	","
	"\"sampled\":{\"type\":\"boolean\"},\"all_paths\":" INT ",\"bytes\":" NUM
	",\"paths\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"id\",\"parent\",\"name\",\"calls\",\"in\",\"out\",\"local\"],\"properties\":{\"id\":" INT
	",\"parent\":{\"type\":[\"integer\",\"null\"]},\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},"
	"\"again\":{\"type\":\"boolean\"},\"calls\":" NUM ",\"instructions\":" NUM ",\"compute\":" NUM ",\"in\":" NUM
	",\"out\":" NUM ",\"local\":" NUM ",\"folded\":" INT "}}},"
	"\"edges\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"producer\",\"consumer\",\"bytes\"],\"properties\":{\"producer\":" NUM ",\"consumer\":" NUM
	",\"bytes\":" NUM ",\"share\":" NUM ",\"unique_bytes\":" NUM "}}}}}";
