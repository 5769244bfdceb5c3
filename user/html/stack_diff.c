// SPDX-License-Identifier: GPL-2.0-or-later
#include "html/stack_diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/diff.h"
#include "util/buf.h"
#include "util/grow.h"
#include "util/map.h"

enum { BASE, OTHER, SIDES };

struct stack_diff_place {
	int64_t parent;                     /* -1: a root */
	uint32_t function;                  /* id of its name and object */
	bool small;                         /* stands for what was left out */
	bool there[SIDES], left_out[SIDES]; /* left_out: children of it were */
	double weight[SIDES], self[SIDES];
	uint64_t count[SIDES];
};

struct overlay {
	struct stack_diff_place *places;
	size_t count, cap;
	struct map at;       /* parent + 1 << 32 | function -> place */
	struct intern names; /* "name\0object" */
	double total[SIDES];
	uint64_t samples[SIDES];
};

static const json_t *list(const json_t *of, const char *key)
{
	return json_object_get(of, key);
}

static double list_number(const json_t *lists, const char *key, size_t i)
{
	return json_number_value(json_array_get(list(lists, key), i));
}

/* The same name in the same object is the same function, as `accperf diff` has it. */
static uint32_t place_name_id(struct overlay *o, const json_t *functions, size_t f, bool *small)
{
	const char *name = json_string_value(json_array_get(list(functions, "name"), f));
	const char *object = json_string_value(json_array_get(list(functions, "object"), f));
	AUTO_BUF(key);

	*small = object && !*object;
	buf_addstr(&key, name ? name : "");
	buf_addch(&key, 0);
	buf_addstr(&key, object ? object : "");
	return buf_failed(&key) ? 0 : intern_add(&o->names, key.data, key.len, NULL);
}

static int64_t place_of(struct overlay *o, int64_t parent, uint32_t function)
{
	struct stack_diff_place fresh = { .parent = parent, .function = function };
	bool added;
	uint64_t *at = map_put(&o->at, (uint64_t)(parent + 1) << 32 | function, &added);

	if (!at)
		return -ENOMEM;
	if (!added)
		return (int64_t)*at;
	*at = o->count;
	return PUSH(o->places, o->count, o->cap, 256, fresh) ? (int64_t)o->count - 1 : -ENOMEM;
}

static int lay_tree(struct overlay *o, const json_t *stacks, int side)
{
	const json_t *nodes = list(stacks, "nodes"), *functions = list(stacks, "functions");
	size_t n = json_array_size(list(nodes, "parent"));
	int64_t *mine = malloc((n + 1) * sizeof(*mine)), at = 0;

	o->total[side] = json_number_value(list(stacks, "weight"));
	o->samples[side] = (uint64_t)json_number_value(list(stacks, "samples"));
	for (size_t i = 0; i < n && mine && at >= 0; i++) {
		double up = list_number(nodes, "parent", i), f = list_number(nodes, "function", i);
		int64_t parent = up >= 0 && up < (double)n ? mine[(size_t)up] : -1;
		bool small;
		uint32_t id = place_name_id(o, functions, f >= 0 ? (size_t)f : 0, &small);

		at = id ? place_of(o, parent, id) : -ENOMEM;
		if (at < 0)
			break;
		mine[i] = at;
		o->places[at].small |= small;
		o->places[at].there[side] = true;
		o->places[at].self[side] += list_number(nodes, "weight", i);
		o->places[at].count[side] += (uint64_t)list_number(nodes, "samples", i);
		if (small && parent >= 0)
			o->places[parent].left_out[side] = true;
	}
	free(mine);
	return !mine ? -ENOMEM : at < 0 ? (int)at : 0;
}

static void add_children(struct overlay *o)
{
	for (size_t i = 0; i < o->count; i++)
		for (int s = 0; s < SIDES; s++)
			o->places[i].weight[s] = o->places[i].self[s];
	/* a parent comes before its children */
	for (size_t i = o->count; i-- > 0;) {
		struct stack_diff_place *p = &o->places[i], *up = p->parent >= 0 ? &o->places[p->parent] : NULL;

		for (int s = 0; s < SIDES && up; s++) {
			up->weight[s] += p->weight[s];
			up->count[s] += p->count[s];
		}
	}
}

/* It may be there, among those too small to be told apart. */
static bool hidden_on(const struct overlay *o, const struct stack_diff_place *p, int side)
{
	const struct stack_diff_place *at = p;

	if (p->there[side])
		return false;
	while (at->parent >= 0 && !at->there[side])
		at = &o->places[at->parent];
	if (at->there[side])
		return at->left_out[side];
	for (size_t i = 0; i < o->count; i++)
		if (o->places[i].parent < 0 && o->places[i].small && o->places[i].there[side])
			return true;
	return false;
}

static struct diff_row *judge_places(const struct overlay *o)
{
	struct diff_row *rows = calloc(o->count + 1, sizeof(*rows));

	for (size_t i = 0; i < o->count && rows; i++) {
		const struct stack_diff_place *p = &o->places[i];

		rows[i].base = o->total[BASE] > 0 ? p->weight[BASE] / o->total[BASE] : 0;
		rows[i].other = o->total[OTHER] > 0 ? p->weight[OTHER] / o->total[OTHER] : 0;
		diff_judge_samples(&rows[i], p->count[BASE], o->samples[BASE], p->count[OTHER], o->samples[OTHER]);
		if (p->small || hidden_on(o, p, BASE) || hidden_on(o, p, OTHER))
			rows[i].p = rows[i].z = NAN;
	}
	/* places on one stack have samples in common */
	if (rows && diff_adjust(rows, o->count, true)) {
		free(rows);
		return NULL;
	}
	return rows;
}

static json_t *real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *name_lists(const struct overlay *o)
{
	json_t *names = json_array(), *objects = json_array();

	for (uint32_t id = 1; id <= o->names.count; id++) {
		const char *name = intern_get(&o->names, id, NULL);

		json_array_append_new(names, json_string(name));
		json_array_append_new(objects, json_string(name + strlen(name) + 1));
	}
	return json_pack("{s:o,s:o}", "name", names, "object", objects);
}

static json_t *place_lists(const struct overlay *o, const struct diff_row *rows)
{
	static const char *const keys[] = { "parent",     "function", "base", "share",  "self",
					    "base_count", "count",    "q",    "verdict" };
	enum { KEYS = sizeof(keys) / sizeof(keys[0]) };
	json_t *lists[KEYS], *all = json_object();

	for (unsigned k = 0; k < KEYS; k++)
		json_object_set_new(all, keys[k], lists[k] = json_array());
	for (size_t i = 0; i < o->count; i++) {
		const struct stack_diff_place *p = &o->places[i];
		double self = o->total[OTHER] > 0 ? p->self[OTHER] / o->total[OTHER] : 0;
		json_t *row[KEYS] = { json_integer(p->parent),
				      json_integer(p->function - 1),
				      real_or_null(rows[i].base),
				      real_or_null(rows[i].other),
				      real_or_null(self),
				      json_integer((json_int_t)p->count[BASE]),
				      json_integer((json_int_t)p->count[OTHER]),
				      real_or_null(rows[i].q),
				      json_string(diff_verdict(&rows[i])) };

		for (unsigned k = 0; k < KEYS; k++)
			json_array_append_new(lists[k], row[k]);
	}
	return all;
}

static bool same_unit(const json_t *a, const json_t *b)
{
	const char *x = json_string_value(list(a, "unit")), *y = json_string_value(list(b, "unit"));

	return x && y && !strcmp(x, y);
}

json_t *html_stack_diff(const json_t *base, const json_t *other, struct err *e)
{
	struct overlay o = { 0 };
	struct diff_row *rows = NULL;
	json_t *out = NULL;

	if (!same_unit(base, other)) {
		err_set(e, -EDOM, "one profile's stacks are weighted by %s and the other's by %s",
			json_string_value(list(base, "unit")) ?: "nothing",
			json_string_value(list(other, "unit")) ?: "nothing");
		return NULL;
	}
	if (!json_number_value(list(base, "samples")) || !json_number_value(list(other, "samples"))) {
		err_set(e, -EDOM, "%s profile holds no sample with a stack",
			json_number_value(list(base, "samples")) ? "this" : "the other");
		return NULL;
	}
	if (!lay_tree(&o, base, BASE) && !lay_tree(&o, other, OTHER)) {
		add_children(&o);
		rows = judge_places(&o);
	}
	if (rows)
		out = json_pack("{s:s,s:I,s:I,s:o,s:o}", "schema", "accperf.stack-diff/1", "base_samples",
				(json_int_t)o.samples[BASE], "samples", (json_int_t)o.samples[OTHER], "functions",
				name_lists(&o), "nodes", place_lists(&o, rows));
	if (!out)
		err_set(e, -ENOMEM, "out of memory");
	free(rows);
	free(o.places);
	map_release(&o.at);
	intern_release(&o.names);
	return out;
}
