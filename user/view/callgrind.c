// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Callgrind's format, for callgrind_annotate and KCachegrind: self cost by function and line, and
 * inclusive cost by call edge. Two events, ns (or Ir) and samples. "calls" is the number of samples that
 * had the call on their stack: how often it was made is unknown to sampling. What the exact engine counted has
 * calls, and Ir alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/clean.h"
#include "util/grow.h"
#include "util/map.h"
#include "view/export.h"

struct cost {
	uint32_t function, line;      /* where */
	uint32_t callee, callee_line; /* an edge; UINT32_MAX: self cost */
	uint64_t samples;
	double weight;
	size_t stamp; /* the cell that counted it last: recursion counts an edge once a sample */
};

struct callgrind_writer {
	const struct profile *p;
	const uint64_t *calls; /* of export_opts */
	struct cost *costs;
	size_t count, cap;
	struct intern keys;
	struct intern names[3]; /* files, functions, objects: "(id)" after the first use */
};

/* count: samples, or counted calls. */
static int add_cost_at(struct callgrind_writer *w, const uint32_t key[4], const struct profile_cell *c, uint64_t count,
		       size_t stamp)
{
	bool added;
	uint32_t id = intern_add(&w->keys, key, 16, &added);
	struct cost *x;

	if (!id)
		return -ENOMEM;
	if (!GROW(w->costs, id, w->cap, 256))
		return -ENOMEM;
	x = &w->costs[id];
	if (added) {
		*x = (struct cost){ .function = key[0], .line = key[1], .callee = key[2], .callee_line = key[3] };
		w->count = id + 1;
	}
	if (x->stamp == stamp)
		return 0;
	x->stamp = stamp;
	x->samples += count;
	x->weight += c->weight[profile_unit(w->p)];
	return 0;
}

static int add_cell_costs(struct callgrind_writer *w, size_t index, const struct export_steps *steps)
{
	const struct profile_cell *c = &w->p->cells[index];
	uint64_t samples = c->samples[profile_unit(w->p)];
	int err;

	if (!steps->count)
		return add_cost_at(w, (uint32_t[]){ 0, 0, UINT32_MAX, 0 }, c, samples, index + 1);
	err = add_cost_at(w, (uint32_t[]){ steps->at[0].line->function, steps->at[0].line->line, UINT32_MAX, 0 }, c,
			  samples, index + 1);
	for (size_t i = 1; i < steps->count && !err; i++) {
		const struct profile_line *caller = steps->at[i].line, *callee = steps->at[i - 1].line;
		uint32_t begins = w->p->functions[callee->function].line;

		/* a function's own recursion is part of its cost already */
		if (caller->function == callee->function)
			continue;
		/* the calls of a path are those of its last step: the others have paths of their own */
		err = add_cost_at(w, (uint32_t[]){ caller->function, caller->line, callee->function, begins }, c,
				  !w->calls ? samples
				  : i == 1  ? w->calls[c->stack]
					    : 0,
				  index + 1);
	}
	return err;
}

static int by_function(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if ((x->callee == UINT32_MAX) != (y->callee == UINT32_MAX))
		return x->callee == UINT32_MAX ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->callee > y->callee) - (x->callee < y->callee);
}

enum { NAME_FILE, NAME_FUNCTION, NAME_OBJECT };

/* "key=(7) name" the first time, "key=(7)" after; one table for each kind of name. */
static int name(struct callgrind_writer *w, struct buf *out, const char *key, unsigned kind, const char *text,
		uint32_t tell_apart)
{
	AUTO_BUF(unique);
	bool added;
	uint32_t id;

	buf_addstr(&unique, text);
	buf_add(&unique, &tell_apart, sizeof(tell_apart));
	id = buf_failed(&unique) ? 0 : intern_add(&w->names[kind], unique.data, unique.len, &added);
	if (!id)
		return -ENOMEM;
	buf_addf(out, "%s=(%" PRIu32 ")", key, id);
	if (added) {
		buf_addch(out, ' ');
		clean_add(out, text, CLEAN_TEXT);
	}
	buf_addch(out, '\n');
	return 0;
}

static int position(struct callgrind_writer *w, struct buf *out, const char *const keys[3], uint32_t function)
{
	const struct profile_function *f = &w->p->functions[function];
	int err = name(w, out, keys[0], NAME_OBJECT, f->object, 0);

	if (!err)
		err = name(w, out, keys[1], NAME_FILE, f->file ? f->file : "???", 0);
	/* functions of one name in two objects stay two */
	return err ? err : name(w, out, keys[2], NAME_FUNCTION, f->name, function);
}

static int render(struct callgrind_writer *w, struct buf *out)
{
	static const char *const here[3] = { "ob", "fl", "fn" }, *const called[3] = { "cob", "cfi", "cfn" };
	int err = 0;

	for (size_t i = 1; i < w->count && !err; i++) {
		const struct cost *x = &w->costs[i];

		if (i == 1 || x->function != w->costs[i - 1].function) {
			buf_addch(out, '\n');
			err = position(w, out, here, x->function);
		}
		if (!err && x->callee != UINT32_MAX) {
			err = position(w, out, called, x->callee);
			buf_addf(out, "calls=%" PRIu64 " %" PRIu32 "\n", x->samples, x->callee_line);
		}
		buf_addf(out, "%" PRIu32 " %.0f", x->line, x->weight);
		if (!w->calls)
			buf_addf(out, " %" PRIu64, x->samples);
		buf_addch(out, '\n');
	}
	return err;
}

int export_callgrind(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e)
{
	enum profile_unit unit = profile_unit(p);
	struct callgrind_writer w = { .p = p, .calls = o->calls };
	struct export_steps steps = { 0 };
	const char *command = profile_meta(p, "command");
	int err = 0;

	for (size_t i = 0; i < p->cell_count && !err; i++) {
		if (!p->cells[i].samples[unit])
			continue;
		err = export_walk(p, p->cells[i].stack, o->inlined, &steps);
		if (!err)
			err = add_cell_costs(&w, i, &steps);
	}
	buf_addstr(out, "# callgrind format\nversion: 1\ncreator: accperf " ACCPERF_VERSION "\ncmd: ");
	clean_add(out, command ? command : "unknown", CLEAN_TEXT);
	buf_addf(out, "\ndesc: Trigger: %s\npositions: line\nevents: %s%s\nsummary: %.0f",
		 o->calls ? "counted by the exact engine" : "sampled; calls = samples that had the call on the stack",
		 unit == PROFILE_TIME       ? "ns"
		 : unit == PROFILE_ACCESSES ? "accesses"
					    : "Ir",
		 o->calls ? "" : " samples", p->weight[unit]);
	if (!o->calls)
		buf_addf(out, " %" PRIu64, p->samples[unit]);
	buf_addch(out, '\n');
	if (!err && w.count > 1) {
		qsort(w.costs + 1, w.count - 1, sizeof(*w.costs), by_function);
		err = render(&w, out);
	}
	free(w.costs);
	free(steps.at);
	intern_release(&w.keys);
	for (int i = 0; i < 3; i++)
		intern_release(&w.names[i]);
	return err ? err_set(e, err, "out of memory") : 0;
}
