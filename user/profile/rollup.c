// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/rollup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/time_shares.h"
#include "util/grow.h"
#include "util/map.h"

const char *const rollup_names[ROLLUPS] = { "dso", "comm", "pid", "unit", "container", "pod" };

enum rollup_by rollup_named(const char *name)
{
	enum rollup_by by = 0;

	while (by < ROLLUPS && strcmp(rollup_names[by], name))
		by++;
	return by;
}

struct rollup_work {
	const struct profile *p;
	const struct filter *f;
	enum rollup_by by;
	struct rollup *out;
	struct intern names;
	struct map at; /* name, or pid -> row + 1 */
	uint32_t *of;  /* by function: row + 1 of its object; 0: not looked up yet */
	size_t *stamp; /* by row */
	size_t stamp_cap;
};

/* Index of a row, or negative. */
static int64_t row_index(struct rollup_work *w, const char *name, uint32_t pid)
{
	uint64_t key = w->by == ROLLUP_PID ? pid : intern_str(&w->names, name ? name : "", NULL);
	bool added;
	uint64_t *at = key || w->by == ROLLUP_PID ? map_put(&w->at, key, &added) : NULL;

	if (!at)
		return -ENOMEM;
	if (!added)
		return (int64_t)*at;
	if (!GROW(w->out->rows, w->out->count, w->out->cap, 64) || !GROW(w->stamp, w->out->count, w->stamp_cap, 64))
		return -ENOMEM;
	w->stamp[w->out->count] = 0;
	w->out->rows[w->out->count] =
		(struct rollup_row){ .name = name, .pid = pid, .inclusive = w->by == ROLLUP_DSO ? 0 : NAN };
	*at = w->out->count;
	return (int64_t)w->out->count++;
}

static int64_t process_row(struct rollup_work *w, const struct profile_thread *t)
{
	const struct profile_place *in = &w->p->places[t->place];
	const char *const names[ROLLUPS] = { [ROLLUP_COMM] = t->comm,
					     [ROLLUP_PID] = t->comm,
					     [ROLLUP_UNIT] = in->unit,
					     [ROLLUP_CONTAINER] = in->container,
					     [ROLLUP_POD] = in->pod };

	return row_index(w, names[w->by], t->pid);
}

static int64_t object_of(struct rollup_work *w, uint32_t function)
{
	int64_t row;

	if (w->of[function])
		return w->of[function] - 1;
	row = row_index(w, w->p->functions[function].object, 0);
	if (row >= 0)
		w->of[function] = (uint32_t)row + 1;
	return row;
}

static bool function_wanted(const struct rollup_work *w, uint32_t function)
{
	return filter_code(w->f, w->p->functions[function].name, w->p->functions[function].object);
}

/* An object counts once a sample. */
static int add_inclusive(struct rollup_work *w, const struct share_path *path, double share, size_t stamp)
{
	for (size_t i = 0; i < path->count; i++) {
		int64_t row = function_wanted(w, path->ids[i]) ? object_of(w, path->ids[i]) : -1;

		if (row == -ENOMEM)
			return -ENOMEM;
		if (row < 0 || w->stamp[row] == stamp)
			continue;
		w->stamp[row] = stamp;
		w->out->rows[row].inclusive += share;
	}
	return 0;
}

static int add_cell_to_rows(struct rollup_work *w, const struct profile_cell *c, struct share_path *path, size_t stamp)
{
	enum profile_unit unit = profile_unit(w->p);
	const struct profile_thread *t = &w->p->threads[c->thread];
	double share = c->weight[unit] / w->p->weight[unit];
	uint32_t leaf;
	int64_t row;

	if (!c->samples[unit] || !filter_process(w->f, t->pid, t->comm))
		return 0;
	if (share_path(w->p, c->stack, false, path))
		return -ENOMEM;
	leaf = path->count ? path->ids[0] : 0;
	if (w->by == ROLLUP_DSO && add_inclusive(w, path, share, stamp))
		return -ENOMEM;
	if (!function_wanted(w, leaf))
		return 0;
	row = w->by == ROLLUP_DSO ? object_of(w, leaf) : process_row(w, t);
	if (row < 0)
		return (int)row;
	w->out->rows[row].samples += c->samples[unit];
	w->out->rows[row].self += share;
	w->out->shown += share;
	return 0;
}

static int add_cells(struct rollup_work *w)
{
	const struct profile *p = w->p;
	enum profile_unit unit = profile_unit(p);
	struct share_path path = { 0 };
	double effective =
		p->weight_squares[unit] > 0 ? p->weight[unit] * p->weight[unit] / p->weight_squares[unit] : 0;
	int err = 0;

	for (size_t i = 0; i < p->cell_count && !err; i++)
		err = add_cell_to_rows(w, &p->cells[i], &path, i + 1);
	for (size_t i = 0; i < w->out->count; i++)
		wilson_interval(fmin(1, w->out->rows[i].self), effective, &w->out->rows[i].low, &w->out->rows[i].high);
	free(path.ids);
	return err;
}

/* What was counted needs no estimate; an object's inclusive part is not the sum of its functions'. */
static int add_exact(struct rollup_work *w)
{
	const struct profile *p = w->p;

	w->out->exact = true;
	for (uint32_t i = 0; i < p->function_count && p->exact_total > 0; i++) {
		double self = p->exact[i].self / p->exact_total;
		int64_t row = self > 0 && function_wanted(w, i) ? object_of(w, i) : -1;

		if (row == -ENOMEM)
			return -ENOMEM;
		if (row < 0)
			continue;
		w->out->rows[row].self += self;
		w->out->shown += self;
	}
	for (size_t i = 0; i < w->out->count; i++) {
		struct rollup_row *r = &w->out->rows[i];

		r->low = r->high = r->self;
		r->inclusive = NAN;
	}
	return 0;
}

static int rows_by_self(const void *a, const void *b)
{
	const struct rollup_row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->inclusive < y->inclusive || x->inclusive > y->inclusive)
		return x->inclusive < y->inclusive ? 1 : -1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

int rollup_compute(const struct profile *p, enum rollup_by by, const struct filter *f, struct rollup *out,
		   struct err *e)
{
	struct rollup_work w = { .p = p, .f = f, .by = by, .out = out };
	int err;

	*out = (struct rollup){ 0 };
	if (p->has_exact && (by != ROLLUP_DSO || filter_asks_process(f)))
		return err_set(e, -ENOTSUP, "the exact engine counted by function, not by process");
	w.of = calloc(p->function_count, sizeof(*w.of));
	err = !w.of ? -ENOMEM : p->has_exact ? add_exact(&w) : add_cells(&w);
	free(w.of);
	free(w.stamp);
	map_release(&w.at);
	intern_release(&w.names);
	if (err) {
		rollup_release(out);
		return err_set(e, err, "out of memory");
	}
	qsort(out->rows, out->count, sizeof(*out->rows), rows_by_self);
	return 0;
}

void rollup_release(struct rollup *r)
{
	free(r->rows);
	*r = (struct rollup){ 0 };
}
