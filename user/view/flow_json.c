// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "util/json.h"
#include "view/flow.h"
#include "view/flow_threads.h"

/* Counts are whole numbers in JSON, estimates rounded to one. */
static void count(struct json *j, const char *key, double v)
{
	if (!isfinite(v) || v < 0 || v > 1.8e19)
		json_null(j, key);
	else
		json_u64(j, key, text_whole(v));
}

static void inclusive(struct json *j, const struct flow_inclusive *n)
{
	json_obj(j, "inclusive");
	count(j, "in", n->in);
	count(j, "in_low", n->in_low);
	count(j, "in_high", n->in_high);
	count(j, "out", n->out);
	count(j, "out_low", n->out_low);
	count(j, "out_high", n->out_high);
	count(j, "local", n->local);
	count(j, "samples", n->samples);
	count(j, "instructions", n->instructions);
	count(j, "compute", n->compute);
	count(j, "load_bytes", n->load_bytes);
	count(j, "store_bytes", n->store_bytes);
	count(j, "time_ns", n->time_ns);
	json_end(j);
}

static void function(struct json *j, const struct flow *f, const struct flow_func *n)
{
	json_obj(j, NULL);
	json_str(j, "name", n->name);
	json_str(j, "object", n->object);
	count(j, "in", n->in);
	count(j, "in_uma", n->in_uma);
	count(j, "out", n->out);
	count(j, "out_uma", n->out_uma);
	count(j, "instructions", n->instructions);
	count(j, "compute", n->compute);
	count(j, "loads", n->loads);
	count(j, "stores", n->stores);
	count(j, "load_bytes", n->load_bytes);
	count(j, "store_bytes", n->store_bytes);
	count(j, "stack_bytes", n->stack_bytes);
	count(j, "self_ns", n->self_ns);
	count(j, "calls", n->calls);
	count(j, "in_low", n->in_low);
	count(j, "in_high", n->in_high);
	count(j, "out_low", n->out_low);
	count(j, "out_high", n->out_high);
	count(j, "compute_low", n->compute_low);
	count(j, "compute_high", n->compute_high);
	count(j, "samples", n->samples);
	json_str(j, "bias", n->by_counts ? "counts" : f->time_bias && !flow_is_pseudo(n) ? "time" : NULL);
	json_bool(j, "in_uma_is_lower_bound", n->in_uma_bound);
	json_bool(j, "out_uma_is_lower_bound", n->out_uma_bound);
	if (f->inclusive && !flow_is_pseudo(n))
		inclusive(j, &n->inc);
	else
		json_null(j, "inclusive");
	json_end(j);
}

void flow_json(const struct flow_view *v, struct buf *out)
{
	const struct flow *f = v->flow;
	struct json j = { .out = out };
	struct filtered of;

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.flow/1");
	json_str(&j, "engine", flow_engine_str(f->engine));
	json_str(&j, "semantics", flow_semantics_str(f->semantics));
	json_str(&j, "stack", flow_stack_str(f->stack));
	json_str(&j, "unit", "bytes");
	json_str(&j, "attribute", f->main_image ? "main" : "self");
	json_str(&j, "bias", f->time_bias ? "time" : NULL);
	if (f->level > 0)
		json_f64(&j, "level", f->level);
	else
		json_null(&j, "level");
	count(&j, "began_ns", f->began_ns);
	count(&j, "duration_ns", f->duration_ns);
	json_obj(&j, "samples");
	count(&j, "loads", f->loads);
	count(&j, "stores", f->stores);
	count(&j, "windows", f->windows);
	count(&j, "lost", f->lost);
	json_end(&j);
	json_f64(&j, "cut_stacks", f->cut_stacks);
	json_f64(&j, "cut_ranges", f->cut_ranges);
	trust_json(v->trust, &j);
	flow_per_json(v->per, &j);
	of = flow_filtered(v);
	filtered_json(&of, &j);
	json_arr(&j, "functions");
	for (uint32_t i = 0; i < f->func_count; i++)
		if (filter_code(v->filtered.by, f->funcs[i].name, f->funcs[i].object))
			function(&j, f, &f->funcs[i]);
	json_end(&j);
	json_arr(&j, "edges");
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];

		if (!flow_shown(v, e))
			continue;
		json_obj(&j, NULL);
		json_str(&j, "producer", f->funcs[e->producer].name);
		json_str(&j, "consumer", f->funcs[e->consumer].name);
		count(&j, "bytes", e->bytes);
		count(&j, "unique_bytes", e->unique);
		count(&j, "low", e->low);
		count(&j, "high", e->high);
		json_bool(&j, "resolved", !e->unresolved);
		json_str(&j, "producer_object", f->funcs[e->producer].object);
		json_str(&j, "consumer_object", f->funcs[e->consumer].object);
		flow_per_json_edge(v->per, e, &j);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "system_calls");
	for (size_t i = 0; i < f->call_count; i++) {
		const struct flow_call *c = &f->calls[i];

		json_obj(&j, NULL);
		json_str(&j, "name", f->funcs[c->func].name);
		json_str(&j, "memory", c->reads ? "read" : "written");
		count(&j, "bytes", c->bytes);
		count(&j, "low", c->low);
		count(&j, "high", c->high);
		json_end(&j);
	}
	json_end(&j);
	flow_threads_json(v, &j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define COUNT "{\"type\":[\"integer\",\"null\"],\"minimum\":0}"
#define PER "{\"type\":[\"number\",\"null\"],\"minimum\":0}"
const char flow_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.flow/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"engine\",\"semantics\",\"stack\",\"unit\",\"duration_ns\",\"samples\",\"functions\",\"edges\"],"
	"\"properties\":{\"schema\":{\"const\":\"accperf.flow/1\"},\"engine\":{\"enum\":[\"exact\",\"pmu\",\"soft\"]},"
	"\"semantics\":{\"enum\":[\"quad\",\"ke\"]},\"stack\":{\"enum\":[\"exclude\",\"include\"]},\"unit\":{\"const\":\"bytes\"},"
	"\"attribute\":{\"enum\":[\"self\",\"main\"]},\"bias\":{\"enum\":[\"time\",null]},\"level\":{\"type\":[\"number\",\"null\"]},"
	"\"began_ns\":" COUNT ",\"duration_ns\":" COUNT
	",\"samples\":{\"type\":\"object\",\"properties\":{\"loads\":" COUNT ",\"stores\":" COUNT ",\"windows\":" COUNT
	",\"lost\":" COUNT
	"}},\"cut_stacks\":{\"type\":[\"number\",\"null\"]},\"cut_ranges\":{\"type\":\"number\"}," TRUST_SCHEMA
	"," FILTERED_SCHEMA ","
	"\"per\":{\"type\":\"object\",\"description\":\"with --per: what edges' per_call is of\","
	"\"required\":[\"function\",\"calls\",\"calls_low\",\"calls_high\",\"source\",\"reason\"],"
	"\"properties\":{\"function\":{\"type\":\"string\"},\"calls\":" PER ",\"calls_low\":" PER ",\"calls_high\":" PER
	",\"source\":{\"enum\":[\"exact\",\"probes\",\"counts\",null]},\"reason\":{\"type\":[\"string\",\"null\"]}}},"
	"\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"object\",\"in\",\"out\"],"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"in\":" COUNT
	",\"in_uma\":" COUNT ",\"out\":" COUNT ",\"out_uma\":" COUNT ",\"instructions\":" COUNT ",\"compute\":" COUNT
	",\"loads\":" COUNT ",\"stores\":" COUNT ",\"load_bytes\":" COUNT ",\"store_bytes\":" COUNT
	",\"stack_bytes\":" COUNT ",\"self_ns\":" COUNT ",\"calls\":" COUNT ",\"in_low\":" COUNT ",\"in_high\":" COUNT
	",\"out_low\":" COUNT ",\"out_high\":" COUNT ",\"compute_low\":" COUNT ",\"compute_high\":" COUNT
	",\"samples\":" COUNT
	",\"bias\":{\"enum\":[\"counts\",\"time\",null]},\"in_uma_is_lower_bound\":{\"type\":\"boolean\"},\"out_uma_is_lower_bound\":{\"type\":\"boolean\"},"
	"\"inclusive\":{\"type\":[\"object\",\"null\"],\"required\":[\"in\",\"out\",\"local\"],\"properties\":{\"in\":" COUNT
	",\"in_low\":" COUNT ",\"in_high\":" COUNT ",\"out\":" COUNT ",\"out_low\":" COUNT ",\"out_high\":" COUNT
	",\"local\":" COUNT ",\"samples\":" COUNT ",\"instructions\":" COUNT ",\"compute\":" COUNT
	",\"load_bytes\":" COUNT ",\"store_bytes\":" COUNT ",\"time_ns\":" COUNT "}}}}},"
	"\"edges\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"producer\",\"consumer\",\"bytes\","
	"\"unique_bytes\",\"low\",\"high\",\"resolved\"],\"properties\":{\"producer\":{\"type\":\"string\"},"
	"\"consumer\":{\"type\":\"string\"},\"bytes\":" COUNT ",\"unique_bytes\":" COUNT ",\"low\":" COUNT
	",\"high\":" COUNT
	",\"resolved\":{\"type\":\"boolean\"},\"producer_object\":{\"type\":\"string\"},\"consumer_object\":{\"type\":\"string\"},"
	"\"per_call\":" PER ",\"per_call_low\":" PER ",\"per_call_high\":" PER "}}},"
	"\"system_calls\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"memory\",\"bytes\","
	"\"low\",\"high\"],\"properties\":{\"name\":{\"type\":\"string\"},\"memory\":{\"enum\":[\"read\",\"written\"]},"
	"\"bytes\":" COUNT ",\"low\":" COUNT ",\"high\":" COUNT "}}}," FLOW_THREADS_SCHEMA "}}";
