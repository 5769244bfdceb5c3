// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/objects.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"
#include "flow/object_functions.h"
#include "flow/object_ranges.h"
#include "symbol/demangle.h"
#include "util/buf.h"
#include "util/grow.h"
#include "util/normal.h"

#define ANY_ROW UINT32_MAX /* there are fewer */

struct objects_tally {
	const struct flow_input *in;
	struct objects *out;
	struct object_use *use;
	size_t use_count, use_cap;
	struct map use_at; /* row << 32 | func -> index */
	struct map row_at; /* object site, or 1 << 32 | global -> row */
	struct map pid_at; /* row << 32 | pid; ANY_ROW: of any row */
	struct intern globals;
	double *squares;       /* by site of the heap: of the weights of accesses and of what is not sure of them */
	uint64_t heap_unknown; /* row + 1; 0 none yet */
	double all, known, guessed, unknown; /* accesses */
};

static const char *kind_name(uint32_t kind)
{
	switch (kind) {
	case FMT_OBJ_GLOBAL: return "global";
	case FMT_OBJ_LOCAL: return "local";
	case FMT_OBJ_HEAP: return "heap";
	case FMT_OBJ_MMAP: return "mapping";
	case FMT_OBJ_STACK: return "stack";
	}
	return "other";
}

static struct object_row *new_row(struct objects *o)
{
	if (!GROW(o->rows, o->row_count, o->row_cap, 1024))
		return NULL;
	o->rows[o->row_count] = (struct object_row){ .function = "",
						     .size = NAN,
						     .blocks = 1,
						     .places = 1,
						     .share_error = NAN,
						     .written = NAN,
						     .read = NAN,
						     .unread = NAN };
	return &o->rows[o->row_count++];
}

static struct object_use *use_of(struct objects_tally *t, uint64_t row, uint32_t func)
{
	bool added;
	uint64_t *at = map_put(&t->use_at, row << 32 | func, &added);

	if (!at)
		return NULL;
	if (added) {
		if (!GROW(t->use, t->use_count, t->use_cap, 1024))
			return NULL;
		t->use[t->use_count] = (struct object_use){ .row = row, .func = func };
		*at = t->use_count++;
	}
	return &t->use[*at];
}

/* A variable from a file's symbol table has a site for each process that maps it: one for each program. */
static uint64_t object_site_key(struct objects_tally *t, uint32_t site, uint32_t pid)
{
	const struct in_object_site *s = &t->in->object_site[site];
	const char *comm = in_comm(t->in, pid);
	AUTO_BUF(key);
	uint32_t id;

	if (!s->file)
		return site;
	buf_add(&key, &s->place, sizeof(s->place));
	buf_add(&key, s->file, strlen(s->file) + 1);
	buf_addstr(&key, comm ? comm : "");
	id = buf_failed(&key) ? 0 : intern_add(&t->globals, key.data, key.len, NULL);
	return id ? 1ull << 32 | id : UINT64_MAX;
}

static int row_of_site(struct objects_tally *t, uint32_t site, const struct in_object *o, uint64_t *row)
{
	const struct in_object_site *s = &t->in->object_site[site];
	uint64_t key = o ? object_site_key(t, site, o->pid) : site;
	bool added;
	uint64_t *at = key == UINT64_MAX ? NULL : map_put(&t->row_at, key, &added);

	if (!at)
		return -ENOMEM;
	if (added) {
		struct object_row *r = new_row(t->out);

		if (!r)
			return -ENOMEM;
		if (s->kind == FMT_OBJ_GLOBAL && *s->name)
			demangle(s->name, r->name, sizeof(r->name));
		else
			snprintf(r->name, sizeof(r->name), "%s", *s->name ? s->name : "(unnamed)");
		r->kind = kind_name(s->kind);
		r->function = s->function;
		r->size = s->size ? (double)s->size : NAN;
		r->blocks = (double)s->blocks;
		r->addr = o && s->blocks == 1 && !s->heap ? o->addr : 0;
		r->blocks = s->heap ? NAN : r->blocks; /* so many were told, which are some of them */
		*at = t->out->row_count - 1;
	}
	*row = *at;
	return 0;
}

static int objects_from_exact(struct objects_tally *t, bool stack)
{
	for (size_t i = 0; i < t->in->x_use_count; i++) {
		const struct fmt_x_use *x = &t->in->x_use[i];
		struct object_use *u;
		uint64_t row;
		int err;

		if (x->object >= t->in->object_site_count || x->function >= t->in->func_count ||
		    (!stack && t->in->object_site[x->object].kind == FMT_OBJ_STACK))
			continue;
		err = row_of_site(t, x->object, NULL, &row);
		u = err ? NULL : use_of(t, row, x->function);
		if (!u)
			return -ENOMEM;
		u->reads += (double)x->reads;
		u->writes += (double)x->writes;
		u->read_bytes += (double)x->read_bytes;
		u->write_bytes += (double)x->write_bytes;
	}
	for (size_t i = 0; i < t->in->x_object_count; i++) {
		const struct fmt_x_object *x = &t->in->x_object[i];
		const uint64_t *row = x->object < t->in->object_site_count ? map_get(&t->row_at, x->object) : NULL;

		if (row) {
			t->out->rows[*row].blocks = (double)x->blocks;
			t->out->rows[*row].size = (double)x->peak;
		}
	}
	for (size_t i = 0; i < t->in->x_extent_count; i++) {
		const struct fmt_x_extent *x = &t->in->x_extent[i];
		const uint64_t *row = x->object < t->in->object_site_count ? map_get(&t->row_at, x->object) : NULL;

		if (!row)
			continue;
		t->out->rows[*row].written = (double)x->written;
		t->out->rows[*row].read = (double)x->read;
		t->out->rows[*row].unread = (double)x->unread;
	}
	return 0;
}

static double access_weight(const struct in_access *a)
{
	return in_accesses(a) * (!!(a->flags & FMT_A_LOAD) + !!(a->flags & FMT_A_STORE));
}

static int add_to_slice(struct objects *o, struct object_row *r, const struct in_access *a, double part)
{
	double place = ((double)a->time - o->slice_start) / o->slice_width;
	uint32_t s = place >= 0 && place < o->slices ? (uint32_t)place : o->slices - 1;

	if (!r->over_time)
		r->over_time = calloc((size_t)2 * o->slices, sizeof(*r->over_time));
	if (!r->over_time)
		return -ENOMEM;
	r->over_time[s] += part * access_weight(a);
	r->over_time[o->slices + s] += part;
	return 0;
}

static void count_process(struct objects_tally *t, struct object_row *r, uint32_t pid)
{
	bool fresh;

	if (!r->processes++) {
		r->pid = pid;
		r->comm = in_comm(t->in, pid);
	}
	if (map_put(&t->pid_at, (uint64_t)ANY_ROW << 32 | pid, &fresh))
		t->out->processes += fresh;
}

/* `part` of an access. */
static int add_access_in_part(struct objects_tally *t, uint64_t row, const struct in_access *a, double part)
{
	struct object_use *u = use_of(t, row, a->func);
	bool fresh;

	if (!u || !map_put(&t->pid_at, row << 32 | a->pid, &fresh))
		return -ENOMEM;
	if (fresh)
		count_process(t, &t->out->rows[row], a->pid);
	u->reads += a->flags & FMT_A_LOAD ? part * in_accesses(a) : 0;
	u->writes += a->flags & FMT_A_STORE ? part * in_accesses(a) : 0;
	u->read_bytes += a->flags & FMT_A_LOAD ? part * a->weight * a->size : 0;
	u->write_bytes += a->flags & FMT_A_STORE ? part * a->weight * a->size : 0;
	u->samples += part;
	return t->out->slices ? add_to_slice(t->out, &t->out->rows[row], a, part) : 0;
}

static void slice_time(const struct flow_input *in, uint32_t slices, struct objects *out)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < in->access_count; i++) {
		if (in->access[i].flags & FMT_A_CENSUS)
			continue;
		first = in->access[i].time < first ? in->access[i].time : first;
		last = in->access[i].time > last ? in->access[i].time : last;
	}
	if (first >= last)
		return;
	out->slices = slices;
	out->slice_start = (double)first;
	out->slice_width = ((double)(last - first) + 1) / slices;
}

static int add_sampled_access(struct objects_tally *t, uint64_t row, const struct in_access *a)
{
	return add_access_in_part(t, row, a, 1);
}

/* Of a site that was not told, though others lie around it. */
static int add_unknown_site(struct objects_tally *t, const struct in_access *a, double part)
{
	if (!t->heap_unknown) {
		struct object_row *r = new_row(t->out);

		if (!r)
			return -ENOMEM;
		snprintf(r->name, sizeof(r->name), "heap, site not seen");
		r->kind = "inferred";
		r->blocks = NAN;
		t->heap_unknown = t->out->row_count;
	}
	t->unknown += part * access_weight(a);
	return add_access_in_part(t, t->heap_unknown - 1, a, part);
}

/* 1: by what was told of the memory around; 0: nothing was. */
static int add_guessed(struct objects_tally *t, const struct in_access *a)
{
	struct heap_guess g;
	int err = 0;

	if (!heap_guess(&t->in->heap, a->pid, a->addr, a->time, &g))
		return 0;
	for (unsigned i = 0; i < g.count && !err; i++) {
		double w = access_weight(a);
		uint64_t row;

		err = row_of_site(t, t->in->heap.site[g.site[i]].object_site, NULL, &row);
		err = err ? err : add_access_in_part(t, row, a, g.part[i]);
		if (err)
			break;
		t->out->rows[row].inferred += g.part[i];
		t->squares[g.site[i]] += w * w * (g.part[i] + g.part[i] * (1 - g.part[i]));
		t->guessed += g.part[i] * w;
	}
	err = err ? err : add_unknown_site(t, a, g.unknown);
	return err ? err : 1;
}

static int add_access_to_known(struct objects_tally *t, const struct in_access *a, const struct in_object *obj)
{
	uint32_t heap = t->in->object_site[obj->site].heap;
	uint64_t row;
	int err = row_of_site(t, obj->site, obj, &row);

	if (heap && heap <= t->in->heap.site_count) {
		t->squares[heap - 1] += access_weight(a) * access_weight(a);
		t->known += access_weight(a);
	}
	return err ? err : add_sampled_access(t, row, a);
}

/* The heap's, or an allocator's own: a mapping without a name. */
static bool may_be_heap(const struct flow_input *in, const struct in_access *a)
{
	const struct in_region *r = in_region_at(in, a->pid, a->addr);

	return !r || r->kind == IN_R_HEAP || (r->kind == IN_R_OTHER && (!r->name || !*r->name));
}

/* What belongs to no known object, named by where it lies. */
static int add_unnamed_range(struct objects_tally *t, const struct object_ranges *ranges, size_t leader)
{
	const struct object_range *first = &ranges->range[leader];
	const char *where = first->region && first->region->name ? first->region->name : "memory";
	struct object_row *r = new_row(t->out);
	uint64_t row = t->out->row_count - 1;
	unsigned places = 0;
	int err = r ? 0 : -ENOMEM;

	for (size_t i = 0; i < ranges->count && !err; i++) {
		if (ranges->range[i].group != leader)
			continue;
		places++;
		for (size_t k = ranges->range[i].first; k < ranges->range[i].end && !err; k++)
			err = add_sampled_access(t, row, &t->in->access[ranges->order[k]]);
	}
	if (err)
		return err;
	r->addr = first->low;
	r->size = first->rest && places > 1 ? NAN : (double)first->extent;
	r->kind = "inferred";
	r->places = places;
	if (isnan(r->size))
		snprintf(r->name, sizeof(r->name), "%s, %u places", where, places);
	else
		snprintf(r->name, sizeof(r->name), "%s 0x%llx", where, (unsigned long long)r->addr);
	t->out->inferred++;
	return 0;
}

/* order: accesses to no known object. */
static int infer(struct objects_tally *t, uint32_t *order, size_t n)
{
	struct object_ranges ranges = { .order = order, .order_count = n };
	int err = object_ranges_build(t->in, &ranges);

	for (size_t i = 0; i < ranges.count && !err; i++)
		if (ranges.range[i].group == i)
			err = add_unnamed_range(t, &ranges, i);
	object_ranges_release(&ranges);
	return err;
}

static int objects_from_samples(struct objects_tally *t, bool stack)
{
	const struct flow_input *in = t->in;
	uint32_t *loose = malloc((in->access_count + 1) * sizeof(*loose));
	size_t n = 0;
	uint64_t stack_row = UINT64_MAX;
	int err = loose ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];
		const struct in_object *obj;
		uint64_t row;

		if (a->flags & FMT_A_CENSUS)
			continue;
		t->out->time_bias |= (a->flags & FMT_A_TIME) != 0;
		if (a->local && (stack || in->object_site[a->local - 1].kind == FMT_OBJ_LOCAL)) {
			err = row_of_site(t, a->local - 1, NULL, &row);
			if (!err)
				err = add_sampled_access(t, row, a);
			t->out->samples++;
			continue;
		}
		if (a->flags & FMT_A_STACK) {
			struct object_row *r;

			if (!stack)
				continue;
			if (stack_row == UINT64_MAX && (r = new_row(t->out))) {
				snprintf(r->name, sizeof(r->name), "[stack]");
				r->kind = "stack";
				stack_row = t->out->row_count - 1;
			}
			err = stack_row == UINT64_MAX ? -ENOMEM : add_sampled_access(t, stack_row, a);
			t->out->samples++;
			continue;
		}
		obj = in_object_at(in, a->pid, a->addr, a->time);
		t->out->samples++;
		if (obj) {
			err = add_access_to_known(t, a, obj);
			continue;
		}
		err = add_guessed(t, a);
		if (err)
			err = err < 0 ? err : 0;
		else {
			t->unknown += may_be_heap(in, a) ? access_weight(a) : 0;
			loose[n++] = (uint32_t)i;
		}
	}
	if (!err)
		err = infer(t, loose, n);
	free(loose);
	return err;
}

static void keep_user(struct object_user *users, unsigned *count, const char *name, double bytes)
{
	unsigned at = OBJECT_USERS;

	++*count;
	while (at > 0 && (!users[at - 1].name || users[at - 1].bytes < bytes))
		at--;
	if (at == OBJECT_USERS)
		return;
	memmove(&users[at + 1], &users[at], (OBJECT_USERS - at - 1) * sizeof(*users));
	users[at] = (struct object_user){ name, bytes };
}

static int by_accesses(const void *a, const void *b)
{
	const struct object_row *x = a, *y = b;
	double dx = x->reads + x->writes, dy = y->reads + y->writes;

	return dx != dy ? (dx < dy ? 1 : -1) : strcmp(x->name, y->name);
}

/* Of sampling, and of which of several sites an access was to. */
static void errors_of_sites(struct objects_tally *t)
{
	const struct heap *h = &t->in->heap;

	t->out->heap = (struct object_heap){ NAN, NAN, NAN };
	if (!h->turns || !t->squares || !(t->all > 0))
		return;
	t->out->heap = (struct object_heap){ t->known / t->all, t->guessed / t->all, t->unknown / t->all };
	for (size_t i = 0; i < h->site_count; i++) {
		const uint64_t *row = map_get(&t->row_at, h->site[i].object_site);

		if (row)
			t->out->rows[*row].share_error = Z95 * sqrt(t->squares[i]) / t->all;
	}
}

static void sum_rows(struct objects_tally *t)
{
	struct objects *o = t->out;
	double all = 0;

	for (size_t i = 0; i < t->use_count; i++) {
		const struct object_use *u = &t->use[i];
		struct object_row *r = &o->rows[u->row];

		r->reads += u->reads;
		r->writes += u->writes;
		r->read_bytes += u->read_bytes;
		r->write_bytes += u->write_bytes;
		r->samples += u->samples;
		if (u->reads > 0)
			keep_user(r->readers, &r->reader_count, t->in->funcs[u->func].name, u->read_bytes);
		if (u->writes > 0)
			keep_user(r->writers, &r->writer_count, t->in->funcs[u->func].name, u->write_bytes);
		all += u->reads + u->writes;
	}
	t->all = all;
	errors_of_sites(t);
	for (size_t i = 0; i < o->row_count; i++) {
		o->rows[i].share = all > 0 ? (o->rows[i].reads + o->rows[i].writes) / all : NAN;
		for (uint32_t s = 0; s < o->slices && o->rows[i].over_time; s++)
			o->rows[i].over_time[s] = all > 0 ? o->rows[i].over_time[s] / all : NAN;
		if (o->exact)
			o->rows[i].samples = NAN;
	}
	if (o->row_count)
		qsort(o->rows, o->row_count, sizeof(*o->rows), by_accesses);
}

static void forget_row_amounts(struct objects *o)
{
	for (size_t i = 0; i < o->row_count; i++) {
		struct object_row *r = &o->rows[i];

		r->reads = r->writes = r->read_bytes = r->write_bytes = NAN;
		for (unsigned k = 0; k < OBJECT_USERS; k++)
			r->readers[k].bytes = r->writers[k].bytes = NAN;
	}
	object_functions_forget_amounts(o);
}

int objects_build(const struct flow_input *in, bool stack, const struct object_costs *costs, uint32_t slices,
		  struct objects *out, struct err *e)
{
	struct objects_tally t = { .in = in, .out = out };
	int err;

	*out = (struct objects){ .exact = in->x_use_count > 0, .costs = *costs };
	if (in->has_x && !in->x_use_count && !in->access_count)
		return err_set(
			e, -ENODATA,
			"the exact engine was not asked which objects are used: `accperf exact --objects -- COMMAND`");
	if (!in->x_use_count && !in->access_count && in->kept.accesses < 1)
		return err_set(e, -ENODATA, "no sampled access is of the processes and functions that were asked for");
	if (!in->x_use_count && !in->access_count)
		return err_set(e, -ENODATA,
			       "the profile holds no memory accesses; record with `accperf record` or `accperf exact`");
	if (!out->exact && slices)
		slice_time(in, slices, out);
	t.squares = calloc(in->heap.site_count + 1, sizeof(*t.squares));
	err = !t.squares ? -ENOMEM : out->exact ? objects_from_exact(&t, stack) : objects_from_samples(&t, stack);
	if (!err)
		err = object_functions_build(in, t.use, t.use_count, out);
	if (!err) {
		sum_rows(&t);
		out->amounts = in_has_amounts(in, out->time_bias);
		out->speed_seconds = in->speed.seconds;
		in_amounts_spread(in, out->time_bias, &out->speed_low, &out->speed_high);
		if (!out->amounts)
			forget_row_amounts(out);
	}
	free(t.use);
	free(t.squares);
	map_release(&t.use_at);
	map_release(&t.row_at);
	map_release(&t.pid_at);
	intern_release(&t.globals);
	if (err) {
		objects_release(out);
		return err_set(e, err, "out of memory");
	}
	return 0;
}

void objects_release(struct objects *o)
{
	for (size_t i = 0; i < o->row_count; i++)
		free(o->rows[i].over_time);
	free(o->rows);
	free(o->functions);
	memset(o, 0, sizeof(*o));
}
