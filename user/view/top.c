// SPDX-License-Identifier: GPL-2.0-or-later
/* A moment's tables, and the moment as JSON. */
#include "view/top.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"
#include "view/schema.h"

const char *const top_figures[TOP_FIGURES] = {
	[TOP_SELF] = "self",
	[TOP_SELF_LOW] = "self_low",
	[TOP_SELF_HIGH] = "self_high",
	[TOP_INCLUSIVE] = "inclusive",
	[TOP_SAMPLES] = "samples",
	[TOP_IN] = "in_per_s",
	[TOP_IN_LOW] = "in_low",
	[TOP_IN_HIGH] = "in_high",
	[TOP_OUT] = "out_per_s",
	[TOP_OUT_LOW] = "out_low",
	[TOP_OUT_HIGH] = "out_high",
	[TOP_IN_SHARE] = "in_share",
	[TOP_OUT_SHARE] = "out_share",
	[TOP_INSTRUCTIONS] = "instructions_per_s",
	[TOP_OPS] = "ops_per_byte",
	[TOP_CALLS_PER_S] = "calls_per_s",
	[TOP_CALLS_LOW] = "calls_low",
	[TOP_CALLS_HIGH] = "calls_high",
	[TOP_OFFLOADED] = "offload_calls_per_s",
};

const char *top_keep_name(struct top_moment *m, const char *name)
{
	uint32_t id = name ? intern_str(&m->names, name, NULL) : 0;

	if (name && !id)
		m->failed = true;
	return id ? intern_get(&m->names, id, NULL) : NULL;
}

void top_release(struct top_moment *m)
{
	intern_release(&m->names);
	free(m->functions);
	free(m->calls);
	free(m->flows);
	free(m->threads);
	*m = (struct top_moment){ 0 };
}

void top_json(const struct top_moment *m, struct buf *out)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.top/1");
	json_f64(&j, "seconds", m->seconds);
	json_f64(&j, "samples", m->samples);
	json_f64(&j, "lost", m->lost);
	json_f64(&j, "cpus", m->cpus);
	json_f64(&j, "slowdown", m->slowdown);
	json_bool(&j, "complete", m->complete);
	json_f64(&j, "full_at", m->full_at);
	json_str(&j, "note", m->note);
	json_f64(&j, "functions_in_all", m->functions_in_all);
	json_arr(&j, "functions");
	for (size_t i = 0; i < m->function_count; i++) {
		const struct top_function *f = &m->functions[i];

		json_obj(&j, NULL);
		json_str(&j, "name", f->name);
		json_str(&j, "object", f->object);
		for (unsigned k = 0; k < TOP_FIGURES; k++)
			json_f64(&j, top_figures[k], f->figure[k]);
		json_str(&j, "verdict", f->verdict);
		json_str(&j, "why", f->why);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "calls");
	for (size_t i = 0; i < m->call_count; i++) {
		json_obj(&j, NULL);
		json_u64(&j, "caller", m->calls[i].caller);
		json_u64(&j, "callee", m->calls[i].callee);
		json_f64(&j, "share", m->calls[i].share);
		json_f64(&j, "samples", m->calls[i].samples);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "flows");
	for (size_t i = 0; i < m->flow_count; i++) {
		const struct top_flow *f = &m->flows[i];

		json_obj(&j, NULL);
		json_str(&j, "producer", f->producer);
		json_str(&j, "consumer", f->consumer);
		json_f64(&j, "share", f->share);
		json_f64(&j, "low", f->low);
		json_f64(&j, "high", f->high);
		json_f64(&j, "samples", f->samples);
		json_f64(&j, "bytes_per_s", f->bytes);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "threads");
	for (size_t i = 0; i < m->thread_count; i++) {
		const struct top_thread *t = &m->threads[i];

		json_obj(&j, NULL);
		json_str(&j, "comm", t->comm);
		json_u64(&j, "pid", t->pid);
		json_u64(&j, "tid", t->tid);
		json_f64(&j, "share", t->share);
		json_f64(&j, "low", t->low);
		json_f64(&j, "high", t->high);
		json_f64(&j, "samples", t->samples);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

static uint32_t function_key(struct intern *t, const struct top_function *f, bool *added)
{
	AUTO_BUF(key);

	buf_addstr(&key, f->name);
	buf_addch(&key, 0);
	buf_addstr(&key, f->object);
	return buf_failed(&key) ? 0 : intern_add(t, key.data, key.len, added);
}

static void take_over(struct top_moment *m, struct top_function *to, const struct top_function *from)
{
	for (unsigned k = TOP_IN; k < TOP_FIGURES; k++)
		to->figure[k] = from->figure[k];
	to->verdict = top_keep_name(m, from->verdict);
	to->why = top_keep_name(m, from->why);
}

int top_complete(struct top_moment *m, const struct top_moment *earlier)
{
	struct intern at = { 0 };
	uint32_t *index = calloc(earlier->function_count + 1, sizeof(*index)), id;
	bool added;

	if (m->complete || !earlier->complete || !index) {
		free(index);
		return index ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < earlier->function_count && !m->failed; i++) {
		id = function_key(&at, &earlier->functions[i], &added);
		m->failed = !id;
		if (id && added)
			index[id] = (uint32_t)i;
	}
	for (size_t i = 0; i < m->function_count && !m->failed; i++) {
		id = function_key(&at, &m->functions[i], &added);
		m->failed = !id;
		if (id && !added)
			take_over(m, &m->functions[i], &earlier->functions[index[id]]);
	}
	intern_release(&at);
	free(index);
	free(m->flows);
	m->flows = malloc((earlier->flow_count + 1) * sizeof(*m->flows));
	m->flow_count = m->flow_cap = m->flows ? earlier->flow_count : 0;
	for (size_t i = 0; i < m->flow_count; i++) {
		m->flows[i] = earlier->flows[i];
		m->flows[i].producer = top_keep_name(m, earlier->flows[i].producer);
		m->flows[i].consumer = top_keep_name(m, earlier->flows[i].consumer);
	}
	m->full_at = earlier->full_at;
	m->note = top_keep_name(m, earlier->note);
	return m->failed || !m->flows ? -ENOMEM : 0;
}

/* Nested as the document is. */
/* clang-format off */
#define LIST(required)                                                                                                 \
	"{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[" required    \
	"],\"properties\":{"

const char top_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.top/1\",\"type\":\"object\","
	"\"additionalProperties\":false,\"required\":[\"schema\",\"seconds\",\"samples\",\"lost\",\"cpus\",\"slowdown\",\"complete\","
	"\"full_at\",\"note\",\"functions_in_all\",\"functions\",\"calls\",\"flows\",\"threads\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.top/1\"},\"seconds\":" NUM ",\"samples\":" NUM ",\"lost\":" NUM ",\"cpus\":" NUM
	",\"slowdown\":" NUM ",\"complete\":{\"type\":\"boolean\"},\"full_at\":" NUM ",\"note\":" STR ",\"functions_in_all\":" NUM
	",\"functions\":" LIST("\"name\",\"object\",\"self\",\"verdict\"")
		"\"name\":" TEXT ",\"object\":" TEXT ",\"self\":" NUM ",\"self_low\":" NUM ",\"self_high\":" NUM
		",\"inclusive\":" NUM ",\"samples\":" NUM ",\"in_per_s\":" NUM ",\"in_low\":" NUM ",\"in_high\":" NUM
		",\"out_per_s\":" NUM ",\"out_low\":" NUM ",\"out_high\":" NUM ",\"in_share\":" NUM ",\"out_share\":" NUM
		",\"instructions_per_s\":" NUM ",\"ops_per_byte\":" NUM ",\"calls_per_s\":" NUM ",\"calls_low\":" NUM
		",\"calls_high\":" NUM ",\"offload_calls_per_s\":" NUM ",\"verdict\":" STR ",\"why\":" STR
	"}}},\"calls\":" LIST("\"caller\",\"callee\",\"share\"")
		"\"caller\":" UINT ",\"callee\":" UINT ",\"share\":" NUM ",\"samples\":" NUM
	"}}},\"flows\":" LIST("\"producer\",\"consumer\",\"share\"")
		"\"producer\":" TEXT ",\"consumer\":" TEXT ",\"share\":" NUM ",\"low\":" NUM ",\"high\":" NUM ",\"samples\":" NUM
		",\"bytes_per_s\":" NUM
	"}}},\"threads\":" LIST("\"comm\",\"pid\",\"tid\",\"share\"")
		"\"comm\":" TEXT ",\"pid\":" UINT ",\"tid\":" UINT ",\"share\":" NUM ",\"low\":" NUM ",\"high\":" NUM
		",\"samples\":" NUM
	"}}}}}";
/* clang-format on */
