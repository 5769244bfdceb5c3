// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/object_functions.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TINY 0.001 /* of all accesses: what does less has no place in a ranking */

const struct object_costs object_costs_default = { .factor = { 0, 1, 1, 1 } };
const char *const object_region_names[OBJECT_REGIONS] = { "stack", "heap", "data", "other" };

int object_costs_parse(const char *text, struct object_costs *out, struct err *e)
{
	*out = object_costs_default;
	while (*text) {
		size_t len = strcspn(text, ","), name = strcspn(text, "=,"), r;
		char *end;

		for (r = 0; r < OBJECT_REGIONS; r++)
			if (strlen(object_region_names[r]) == name && !memcmp(object_region_names[r], text, name))
				break;
		if (r == OBJECT_REGIONS || name + 1 >= len)
			return err_set(e, -EINVAL,
				       "cost factors are given as stack=0,heap=4,data=2,other=4, not '%.*s'",
				       (int)(len < 40 ? len : 40), text);
		out->factor[r] = strtod(text + name + 1, &end);
		if (end != text + len || !(out->factor[r] >= 0) || isinf(out->factor[r]))
			return err_set(e, -EINVAL, "the cost factor of %s is a number of 0 or more, not '%.*s'",
				       object_region_names[r], (int)(len - name - 1 < 40 ? len - name - 1 : 40),
				       text + name + 1);
		text += len;
		if (*text == ',' && !*++text)
			return err_set(e, -EINVAL, "cost factors end with a comma: one is missing?");
	}
	return 0;
}

struct object_functions_sums {
	double accesses, instructions, time; /* NaN unknown */
	struct object_reach reach[OBJECT_REGIONS];
};

static double stack_accesses(const struct object_functions_sums *s)
{
	return s->reach[REGION_STACK].reads + s->reach[REGION_STACK].writes;
}

static enum object_region region_of_row(const char *kind)
{
	return !strcmp(kind, "local") || !strcmp(kind, "stack") ? REGION_STACK
	       : !strcmp(kind, "heap")                          ? REGION_HEAP
	       : !strcmp(kind, "global")                        ? REGION_DATA
								: REGION_OTHER;
}

static enum object_region region_of_access(const struct flow_input *in, const struct in_access *a)
{
	const struct in_region *r = a->flags & FMT_A_STACK ? NULL : in_region_at(in, a->pid, a->addr);

	if (a->flags & FMT_A_STACK || (r && r->kind == IN_R_STACK))
		return REGION_STACK;
	if (!r || r->kind == IN_R_OTHER)
		return REGION_OTHER;
	return r->kind == IN_R_HEAP ? REGION_HEAP : REGION_DATA;
}

static const enum object_region region_of_engine[] = { [FMT_X_R_STACK] = REGION_STACK,
						       [FMT_X_R_HEAP] = REGION_HEAP,
						       [FMT_X_R_GLOBAL] = REGION_DATA,
						       [FMT_X_R_OTHER] = REGION_OTHER };

/* The engine tells loads and stores by their bytes alone: so many of the accesses lie in a region. */
static void spread_by_bytes(const struct fmt_x_func *x, struct object_functions_sums *s)
{
	double loaded = 0, stored = 0;

	for (int k = 0; k < 4; k++) {
		loaded += (double)x->load_bytes[k];
		stored += (double)x->store_bytes[k];
	}
	for (int k = 0; k < 4; k++) {
		struct object_reach *r = &s->reach[region_of_engine[k]];

		r->reads += loaded > 0 ? (double)x->loads * (double)x->load_bytes[k] / loaded : 0;
		r->writes += stored > 0 ? (double)x->stores * (double)x->store_bytes[k] / stored : 0;
	}
}

static void sum_exact(const struct flow_input *in, struct object_functions_sums *s, struct objects *o)
{
	bool cycles = false;

	for (size_t i = 0; i < in->x_func_count; i++) {
		const struct fmt_x_func *x = &in->x_func[i];

		if (x->scope != FMT_X_SELF || x->function >= in->func_count || x->loads == FMT_X_UNKNOWN)
			continue;
		s[x->function].accesses += (double)(x->loads + x->stores);
		s[x->function].instructions += (double)x->instructions;
		s[x->function].time += x->cycles == FMT_X_UNKNOWN ? NAN : (double)x->cycles;
		cycles |= x->cycles != FMT_X_UNKNOWN;
		if (!in->x_reach_count)
			spread_by_bytes(x, &s[x->function]);
	}
	for (size_t i = 0; i < in->x_reach_count; i++) {
		const struct fmt_x_reach *x = &in->x_reach[i];
		struct object_reach *r;

		if (x->function >= in->func_count || x->region >= 4)
			continue;
		r = &s[x->function].reach[region_of_engine[x->region]];
		r->reads += (double)x->reads;
		r->writes += (double)x->writes;
		r->addresses = (double)x->addresses;
		r->bytes = (double)x->bytes;
		r->low = (double)x->low;
		r->high = (double)x->high;
	}
	o->time_unit = cycles ? "cycles" : NULL;
	o->reaches = in->x_reach_count > 0;
}

static void sum_samples(const struct flow_input *in, struct object_functions_sums *s, struct objects *o)
{
	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];
		struct object_reach *r;

		if (a->flags & (FMT_A_CENSUS | FMT_A_NO_ADDR))
			continue;
		r = &s[a->func].reach[region_of_access(in, a)];
		s[a->func].accesses += in_accesses(a);
		if (a->flags & FMT_A_STORE)
			r->writes += in_accesses(a);
		else
			r->reads += in_accesses(a);
	}
	for (uint32_t f = 0; f < in->func_count; f++) {
		s[f].instructions = in->times[f].instructions > 0 ? in->times[f].instructions : NAN;
		s[f].time = in->times[f].self_ns > 0 ? in->times[f].self_ns : NAN;
		if (!isnan(s[f].time))
			o->time_unit = "ns";
	}
}

/* Objects of a function by region: those that are shown, once each. */
static void count_objects(const struct flow_input *in, const struct object_use *use, size_t count,
			  const struct objects *o, struct object_functions_sums *s)
{
	for (size_t i = 0; i < count; i++) {
		const struct object_row *row = &o->rows[use[i].row];

		if (use[i].func < in->func_count && strcmp(row->kind, "stack") != 0 &&
		    strcmp(row->kind, "inferred") != 0)
			s[use[i].func].reach[region_of_row(row->kind)].objects++;
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct object_function *x = a, *y = b;

	if (isnan(x->mai) != isnan(y->mai))
		return isnan(x->mai) - isnan(y->mai);
	if (!isnan(x->mai) && x->mai != y->mai)
		return x->mai > y->mai ? 1 : -1;
	if (isnan(x->relative_mar) != isnan(y->relative_mar))
		return isnan(x->relative_mar) - isnan(y->relative_mar);
	if (!isnan(x->relative_mar) && x->relative_mar != y->relative_mar)
		return x->relative_mar < y->relative_mar ? 1 : -1;
	return x->accesses < y->accesses ? 1 : x->accesses > y->accesses ? -1 : strcmp(x->name, y->name);
}

static struct object_function function_of(const struct in_func *fn, const struct object_functions_sums *s,
					  double program_mar, const struct object_costs *costs)
{
	double n = s->instructions, stack = stack_accesses(s), cost = 0;
	struct object_function f = {
		.name = fn->name, .object = fn->object, .accesses = s->accesses, .instructions = n
	};

	memcpy(f.reach, s->reach, sizeof(f.reach));
	f.mar = n > 0 ? s->accesses / n : NAN;
	f.nonlocal_mar = n > 0 ? (s->accesses - stack) / n : NAN;
	f.stack_ratio = stack / s->accesses;
	f.relative_mar = program_mar > 0 ? f.nonlocal_mar / program_mar : NAN;
	f.time = s->time;
	for (int k = 0; k < OBJECT_REGIONS; k++) {
		double accesses = s->reach[k].reads + s->reach[k].writes;

		cost += costs->factor[k] * accesses;
		f.weighed += costs->factor[k] > 0 ? accesses : 0;
	}
	f.communication = n > 0 ? s->time * cost / n : NAN;
	f.mai = f.weighed > 0 ? f.communication / f.weighed : NAN;
	return f;
}

int object_functions_build(const struct flow_input *in, const struct object_use *use, size_t count, struct objects *o)
{
	struct object_functions_sums *s = calloc(in->func_count + 1, sizeof(*s));
	double all = 0, nonlocal = 0, instructions = 0;
	unsigned rank = 0;

	o->functions = calloc(in->func_count + 1, sizeof(*o->functions));
	if (!s || !o->functions) {
		free(s);
		return -ENOMEM;
	}
	for (uint32_t f = 0; f < in->func_count; f++)
		for (int k = 0; k < OBJECT_REGIONS; k++)
			s[f].reach[k] =
				(struct object_reach){ .addresses = NAN, .bytes = NAN, .low = NAN, .high = NAN };
	if (in->x_func_count)
		sum_exact(in, s, o);
	else
		sum_samples(in, s, o);
	count_objects(in, use, count, o, s);
	for (uint32_t f = 0; f < in->func_count; f++) {
		all += s[f].accesses;
		nonlocal += s[f].accesses - stack_accesses(&s[f]);
		instructions += isnan(s[f].instructions) ? 0 : s[f].instructions;
	}
	for (uint32_t f = 0; f < in->func_count; f++)
		if (s[f].accesses > all * TINY)
			o->functions[o->function_count++] =
				function_of(&in->funcs[f], &s[f], instructions > 0 ? nonlocal / instructions : NAN,
					    &o->costs);
	free(s);
	if (o->function_count)
		qsort(o->functions, o->function_count, sizeof(*o->functions), by_rank);
	for (size_t i = 0; i < o->function_count && !isnan(o->functions[i].mai); i++)
		o->functions[i].rank = ++rank;
	return 0;
}

void object_functions_forget_amounts(struct objects *o)
{
	for (size_t i = 0; i < o->function_count; i++) {
		struct object_function *f = &o->functions[i];

		f->accesses = f->instructions = f->weighed = f->mai = f->communication = NAN;
		f->rank = 0;
		for (int k = 0; k < OBJECT_REGIONS; k++)
			f->reach[k].reads = f->reach[k].writes = NAN;
	}
	if (o->function_count)
		qsort(o->functions, o->function_count, sizeof(*o->functions), by_rank);
}
