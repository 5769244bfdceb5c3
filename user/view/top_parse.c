// SPDX-License-Identifier: GPL-2.0-or-later
/* A moment out of its JSON. What is no number is unknown; indexes that lead nowhere are left out. */
#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "util/grow.h"
#include "util/member.h"
#include "view/top.h"

static const char *parsed_text(struct top_moment *m, const json_t *o, const char *key, const char *otherwise)
{
	const char *s = json_string_value(json_object_get(o, key));

	return top_keep_name(m, s ? s : otherwise);
}

static uint32_t parsed_index(const json_t *o, const char *key)
{
	double v = member_number(o, key);

	return v >= 0 && v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static bool parse_functions(struct top_moment *m, const json_t *list)
{
	struct top_function f;
	size_t i;
	json_t *o;

	json_array_foreach((json_t *)(uintptr_t)list, i, o)
	{
		f = (struct top_function){ .name = parsed_text(m, o, "name", "?"),
					   .object = parsed_text(m, o, "object", ""),
					   .verdict = parsed_text(m, o, "verdict", NULL),
					   .why = parsed_text(m, o, "why", NULL) };
		for (unsigned k = 0; k < TOP_FIGURES; k++)
			f.figure[k] = member_number(o, top_figures[k]);
		if (m->failed || !PUSH(m->functions, m->function_count, m->function_cap, 64, f))
			return false;
	}
	return true;
}

static bool parse_calls(struct top_moment *m, const json_t *list)
{
	struct top_call c;
	size_t i;
	json_t *o;

	json_array_foreach((json_t *)(uintptr_t)list, i, o)
	{
		c = (struct top_call){ parsed_index(o, "caller"), parsed_index(o, "callee"), member_number(o, "share"),
				       member_number(o, "samples") };
		if (c.caller < m->function_count && c.callee < m->function_count &&
		    !PUSH(m->calls, m->call_count, m->call_cap, 64, c))
			return false;
	}
	return true;
}

static bool parse_flows(struct top_moment *m, const json_t *list)
{
	struct top_flow f;
	size_t i;
	json_t *o;

	json_array_foreach((json_t *)(uintptr_t)list, i, o)
	{
		f = (struct top_flow){ .producer = parsed_text(m, o, "producer", "?"),
				       .consumer = parsed_text(m, o, "consumer", "?"),
				       .share = member_number(o, "share"),
				       .low = member_number(o, "low"),
				       .high = member_number(o, "high"),
				       .samples = member_number(o, "samples"),
				       .bytes = member_number(o, "bytes_per_s") };
		if (m->failed || !PUSH(m->flows, m->flow_count, m->flow_cap, 64, f))
			return false;
	}
	return true;
}

static bool parse_threads(struct top_moment *m, const json_t *list)
{
	struct top_thread t;
	size_t i;
	json_t *o;

	json_array_foreach((json_t *)(uintptr_t)list, i, o)
	{
		t = (struct top_thread){ .comm = parsed_text(m, o, "comm", "?"),
					 .pid = parsed_index(o, "pid"),
					 .tid = parsed_index(o, "tid"),
					 .share = member_number(o, "share"),
					 .low = member_number(o, "low"),
					 .high = member_number(o, "high"),
					 .samples = member_number(o, "samples") };
		if (m->failed || !PUSH(m->threads, m->thread_count, m->thread_cap, 64, t))
			return false;
	}
	return true;
}

int top_parse(struct top_moment *m, const char *json, size_t len, struct err *e)
{
	json_error_t why;
	json_t *o = json_loadb(json ? json : "", len, 0, &why);
	bool ok;

	*m = (struct top_moment){ 0 };
	if (!json_is_object(o) || !json_is_array(json_object_get(o, "functions"))) {
		json_decref(o);
		return err_set(e, -EINVAL, "what was read cannot be understood: %s",
			       o ? "no table of functions" : why.text);
	}
	m->seconds = member_number(o, "seconds");
	m->samples = member_number(o, "samples");
	m->lost = member_number(o, "lost");
	m->cpus = member_number(o, "cpus");
	m->slowdown = member_number(o, "slowdown");
	m->complete = json_is_true(json_object_get(o, "complete"));
	m->full_at = member_number(o, "full_at");
	m->functions_in_all = member_number(o, "functions_in_all");
	m->note = parsed_text(m, o, "note", NULL);
	ok = parse_functions(m, json_object_get(o, "functions")) && parse_calls(m, json_object_get(o, "calls")) &&
	     parse_flows(m, json_object_get(o, "flows")) && parse_threads(m, json_object_get(o, "threads"));
	json_decref(o);
	return ok && !m->failed ? 0 : err_set(e, -ENOMEM, "out of memory");
}
