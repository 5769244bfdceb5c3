// SPDX-License-Identifier: GPL-2.0-or-later
/* A flow (flow.h) as JSON: functions, edges, threads, inclusive flow. */
#include <math.h>
#include <stdio.h>

#include "counts/counts_speed.h"
#include "util/json.h"
#include "view/flow.h"
#include "view/flow_threads.h"
#include "view/schema.h"

/* Parts of all bytes. Of what no sample has nobody knows how much it may be. */
static void function_share_json(struct json *j, const char *name, const struct flow *f, struct flow_range of,
				double taken)
{
	bool seen = of.value > 0 || f->engine == FLOW_EXACT;
	struct flow_range share = flow_share(f, of, taken);
	char key[40];

	json_f64(j, name, share.value);
	snprintf(key, sizeof(key), "%s_low", name);
	json_f64(j, key, seen ? share.low : NAN);
	snprintf(key, sizeof(key), "%s_high", name);
	json_f64(j, key, seen ? share.high : NAN);
}

static void inclusive_json(struct json *j, const struct flow *f, const struct flow_inclusive *n)
{
	const struct flow_range in = { n->in, n->in_low, n->in_high }, out = { n->out, n->out_low, n->out_high };

	json_obj(j, "inclusive");
	flow_range_json(j, "in", flow_amounts_taken(f, in, n->in_taken));
	flow_range_json(j, "out", flow_amounts_taken(f, out, n->out_taken));
	function_share_json(j, "in_share", f, in, n->in_taken);
	function_share_json(j, "out_share", f, out, n->out_taken);
	text_json_whole(j, "local", flow_amount(f, n->local));
	text_json_whole(j, "samples", n->samples);
	text_json_whole(j, "instructions", flow_amount(f, n->instructions));
	text_json_whole(j, "compute", flow_amount(f, n->compute));
	text_json_whole(j, "load_bytes", flow_amount(f, n->load_bytes));
	text_json_whole(j, "store_bytes", flow_amount(f, n->store_bytes));
	text_json_whole(j, "time_ns", n->time_ns);
	text_json_whole(j, "in_uma", n->in_uma);
	text_json_whole(j, "out_uma", n->out_uma);
	text_json_whole(j, "local_uma", n->local_uma);
	json_end(j);
}

static void function_json(struct json *j, const struct flow *f, const struct flow_func *n)
{
	json_obj(j, NULL);
	json_str(j, "name", n->name);
	json_str(j, "object", n->object);
	flow_range_json(j, "in", flow_amounts(f, n->in, n->in_low, n->in_high));
	text_json_whole(j, "in_uma", n->in_uma);
	flow_range_json(j, "out",
			flow_amounts_taken(f, (struct flow_range){ n->out, n->out_low, n->out_high }, n->taken));
	text_json_whole(j, "out_uma", n->out_uma);
	function_share_json(j, "in_share", f, (struct flow_range){ n->in, n->in_low, n->in_high },
			    flow_is_call(n) ? n->in : 0);
	function_share_json(j, "out_share", f, (struct flow_range){ n->out, n->out_low, n->out_high }, n->taken);
	text_json_whole(j, "instructions", flow_amount(f, n->instructions));
	text_json_whole(j, "compute", flow_amount(f, n->compute));
	text_json_whole(j, "loads", flow_amount(f, n->loads));
	text_json_whole(j, "stores", flow_amount(f, n->stores));
	text_json_whole(j, "load_bytes", flow_amount(f, n->load_bytes));
	text_json_whole(j, "store_bytes", flow_amount(f, n->store_bytes));
	text_json_whole(j, "stack_bytes", flow_amount(f, n->stack_bytes));
	text_json_whole(j, "self_ns", n->self_ns);
	text_json_whole(j, "calls", flow_amount(f, n->calls));
	text_json_whole(j, "compute_low", n->compute_low * f->speed_low);
	text_json_whole(j, "compute_high", n->compute_high * f->speed_high);
	text_json_whole(j, "samples", n->samples);
	json_str(j, "bias", n->by_counts ? "counts" : f->time_bias && !flow_is_pseudo(n) ? "time" : NULL);
	json_bool(j, "in_uma_is_lower_bound", n->in_uma_bound);
	json_bool(j, "out_uma_is_lower_bound", n->out_uma_bound);
	if (f->inclusive && !flow_is_pseudo(n))
		inclusive_json(j, f, &n->inc);
	else
		json_null(j, "inclusive");
	json_end(j);
}

static void edge_json(struct json *j, const struct flow_view *v, const struct flow_edge *e)
{
	const struct flow *f = v->flow;
	struct flow_range bytes = flow_edge_bytes(f, e), share = flow_edge_share(f, e), unique = flow_edge_unique(f, e);

	json_obj(j, NULL);
	json_str(j, "producer", f->funcs[e->producer].name);
	json_str(j, "consumer", f->funcs[e->consumer].name);
	text_json_whole(j, "bytes", bytes.value);
	text_json_whole(j, "unique_bytes", unique.value);
	text_json_whole(j, "unique_low", unique.low);
	text_json_whole(j, "unique_high", unique.high);
	text_json_whole(j, "low", bytes.low);
	text_json_whole(j, "high", bytes.high);
	json_f64(j, "share", share.value);
	json_f64(j, "share_low", share.low);
	json_f64(j, "share_high", share.high);
	text_json_whole(j, "samples", e->samples);
	json_bool(j, "resolved", !e->unresolved);
	json_str(j, "producer_object", f->funcs[e->producer].object);
	json_str(j, "consumer_object", f->funcs[e->consumer].object);
	flow_per_json_edge(v->per, f, e, j);
	json_end(j);
}

void flow_json(const struct flow_view *v, struct buf *out)
{
	const struct flow *f = v->flow;
	struct counts_speed_note note;
	struct json j = { .out = out };
	struct filtered of;

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.flow/1");
	json_str(&j, "engine", flow_engine_str(f->engine));
	text_json_labels(&j, "labels", v->labels);
	json_str(&j, "semantics", flow_semantics_str(f->semantics));
	json_str(&j, "stack", flow_stack_str(f->stack));
	json_str(&j, "unit", "bytes");
	json_str(&j, "attribute", f->main_image ? "main" : "self");
	json_str(&j, "bias", f->time_bias ? "time" : NULL);
	if (f->level > 0)
		json_f64(&j, "level", f->level);
	else
		json_null(&j, "level");
	text_json_whole(&j, "began_ns", f->began_ns);
	text_json_whole(&j, "duration_ns", f->duration_ns);
	json_obj(&j, "samples");
	text_json_whole(&j, "loads", f->loads);
	text_json_whole(&j, "stores", f->stores);
	text_json_whole(&j, "windows", f->windows);
	text_json_whole(&j, "lost", f->lost);
	json_end(&j);
	json_f64(&j, "cut_stacks", f->cut_stacks);
	json_f64(&j, "cut_ranges", f->cut_ranges);
	json_obj(&j, "from_earlier_recordings");
	json_f64(&j, "share", flow_total(f) > 0 ? f->earlier / flow_total(f) : NAN);
	text_json_whole(&j, "functions", f->earlier_compared);
	text_json_whole(&j, "contradicted", f->earlier_dropped);
	json_end(&j);
	json_bool(&j, "amounts_known", flow_has_amounts(f));
	json_str(&j, "amounts_note", flow_has_amounts(f) ? NULL : counts_speed_note(&note, f->speed_seconds));
	trust_json(v->trust, &j);
	flow_per_json(v->per, &j);
	of = flow_filtered(v);
	filtered_json(&of, &j);
	json_arr(&j, "functions");
	for (uint32_t i = 0; i < f->func_count; i++)
		if (filter_code(v->filter, f->funcs[i].name, f->funcs[i].object))
			function_json(&j, f, &f->funcs[i]);
	json_end(&j);
	json_arr(&j, "edges");
	for (size_t i = 0; i < f->edge_count; i++)
		if (flow_shown(v, &f->edges[i]))
			edge_json(&j, v, &f->edges[i]);
	json_end(&j);
	json_arr(&j, "system_calls");
	for (size_t i = 0; i < f->call_count; i++) {
		const struct flow_call *c = &f->calls[i];

		json_obj(&j, NULL);
		json_str(&j, "name", f->funcs[c->func].name);
		json_str(&j, "memory", c->reads ? "read" : "written");
		text_json_whole(&j, "bytes", c->bytes);
		text_json_whole(&j, "low", c->low);
		text_json_whole(&j, "high", c->high);
		json_end(&j);
	}
	json_end(&j);
	flow_threads_json(v, &j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define SHARE "{\"type\":[\"number\",\"null\"],\"minimum\":0,\"maximum\":1.000001}"
#define PER "{\"type\":[\"number\",\"null\"],\"minimum\":0}"
const char flow_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.flow/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"engine\",\"semantics\",\"stack\",\"unit\",\"duration_ns\",\"samples\",\"functions\",\"edges\"],"
	"\"properties\":{\"schema\":{\"const\":\"accperf.flow/1\"},\"engine\":{\"enum\":[\"exact\",\"pmu\",\"soft\"]},"
	"\"labels\":" LABELS_SCHEMA
	",\"semantics\":{\"enum\":[\"quad\",\"ke\"]},\"stack\":{\"enum\":[\"exclude\",\"include\"]},\"unit\":{\"const\":\"bytes\"},"
	"\"attribute\":{\"enum\":[\"self\",\"main\"]},\"bias\":{\"enum\":[\"time\",null]},\"level\":{\"type\":[\"number\",\"null\"]},"
	"\"began_ns\":" COUNT ",\"duration_ns\":" COUNT
	",\"samples\":{\"type\":\"object\",\"properties\":{\"loads\":" COUNT ",\"stores\":" COUNT ",\"windows\":" COUNT
	",\"lost\":" COUNT
	"}},\"from_earlier_recordings\":{\"type\":\"object\",\"description\":\"bytes whose writers they told; functions of which both tell, and where this one contradicts them\","
	"\"required\":[\"share\",\"functions\",\"contradicted\"],\"properties\":{\"share\":" SHARE
	",\"functions\":" COUNT ",\"contradicted\":" COUNT "}},"
	"\"cut_stacks\":{\"type\":[\"number\",\"null\"]},\"cut_ranges\":{\"type\":\"number\"},"
	"\"amounts_known\":{\"type\":\"boolean\"},\"amounts_note\":{\"type\":[\"string\",\"null\"]}," TRUST_SCHEMA
	"," FILTERED_SCHEMA ","
	"\"per\":{\"type\":\"object\",\"description\":\"with --per: what edges' per_call is of\","
	"\"required\":[\"function\",\"calls\",\"calls_low\",\"calls_high\",\"source\",\"reason\"],"
	"\"properties\":{\"function\":{\"type\":\"string\"},\"calls\":" PER ",\"calls_low\":" PER ",\"calls_high\":" PER
	",\"source\":{\"enum\":[\"exact\",\"probes\",\"counts\",\"time\",null]},\"reason\":{\"type\":[\"string\",\"null\"]}}},"
	"\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"object\",\"in\",\"out\"],"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"in\":" COUNT
	",\"in_share\":" SHARE ",\"in_share_low\":" SHARE ",\"in_share_high\":" SHARE ",\"out_share\":" SHARE
	",\"out_share_low\":" SHARE ",\"out_share_high\":" SHARE ",\"in_uma\":" COUNT ",\"out\":" COUNT
	",\"out_uma\":" COUNT ",\"instructions\":" COUNT ",\"compute\":" COUNT ",\"loads\":" COUNT ",\"stores\":" COUNT
	",\"load_bytes\":" COUNT ",\"store_bytes\":" COUNT ",\"stack_bytes\":" COUNT ",\"self_ns\":" COUNT
	",\"calls\":" COUNT ",\"in_low\":" COUNT ",\"in_high\":" COUNT ",\"out_low\":" COUNT ",\"out_high\":" COUNT
	",\"compute_low\":" COUNT ",\"compute_high\":" COUNT ",\"samples\":" COUNT
	",\"bias\":{\"enum\":[\"counts\",\"time\",null]},\"in_uma_is_lower_bound\":{\"type\":\"boolean\"},\"out_uma_is_lower_bound\":{\"type\":\"boolean\"},"
	"\"inclusive\":{\"type\":[\"object\",\"null\"],\"required\":[\"in\",\"out\",\"local\"],\"properties\":{\"in\":" COUNT
	",\"in_low\":" COUNT ",\"in_high\":" COUNT ",\"out\":" COUNT ",\"out_low\":" COUNT ",\"out_high\":" COUNT
	",\"in_share\":" SHARE ",\"in_share_low\":" SHARE ",\"in_share_high\":" SHARE ",\"out_share\":" SHARE
	",\"out_share_low\":" SHARE ",\"out_share_high\":" SHARE ",\"local\":" COUNT ",\"samples\":" COUNT
	",\"instructions\":" COUNT ",\"compute\":" COUNT ",\"load_bytes\":" COUNT ",\"store_bytes\":" COUNT
	",\"time_ns\":" COUNT ",\"in_uma\":" COUNT ",\"out_uma\":" COUNT ",\"local_uma\":" COUNT "}}}}},"
	"\"edges\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"producer\",\"consumer\",\"bytes\","
	"\"unique_bytes\",\"low\",\"high\",\"resolved\"],\"properties\":{\"producer\":{\"type\":\"string\"},"
	"\"consumer\":{\"type\":\"string\"},\"bytes\":" COUNT ",\"unique_bytes\":" COUNT ",\"unique_low\":" COUNT
	",\"unique_high\":" COUNT ",\"low\":" COUNT ",\"high\":" COUNT ",\"share\":" SHARE ",\"share_low\":" SHARE
	",\"share_high\":" SHARE ",\"samples\":" COUNT
	",\"resolved\":{\"type\":\"boolean\"},\"producer_object\":{\"type\":\"string\"},\"consumer_object\":{\"type\":\"string\"},"
	"\"per_call\":" PER ",\"per_call_low\":" PER ",\"per_call_high\":" PER "}}},"
	"\"system_calls\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"memory\",\"bytes\","
	"\"low\",\"high\"],\"properties\":{\"name\":{\"type\":\"string\"},\"memory\":{\"enum\":[\"read\",\"written\"]},"
	"\"bytes\":" COUNT ",\"low\":" COUNT ",\"high\":" COUNT "}}}," FLOW_THREADS_SCHEMA "}}";
