// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/inclusive.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"
#include "flow/writer_error.h"
#include "util/bisect.h"
#include "util/grow.h"
#include "util/normal.h"

#define SURE 1e-9 /* of a chance: nearer to never or always it is that, and sums of weights are not */

/* Reads that agree in all that matters here. */
struct inclusive_group {
	uint32_t edge, reader, writer; /* edge: of the result; stacks: index + 1, 0 unknown */
	double bytes, n;
};

/* On which stacks a function reads (or writes): sorted by it, so that its share of each is at hand. */
struct habit {
	uint32_t func, stack, samples;
	double weight;
};

/* Who calls a function: how likely each other is further out where it is on a stack that is whole. */
struct inclusive_callers {
	uint32_t *func;
	double *p;
	uint32_t count, seen; /* seen: samples on whole stacks that it is on */
};

struct inclusive_side { /* how likely each function is on the stack of one end of an edge */
	double *p;      /* by function of the input */
	uint32_t *touched;
	uint32_t count;
	double vague; /* part of it that is a guess */
	double seen;  /* samples that a guess of it rests on */
};

/* A function is the `at`-th of a stack that is whole, from the leaf; stack: into work.weight. */
struct stack_place {
	uint32_t func, stack, at;
};

struct stack_weight {
	uint32_t stack; /* index + 1 */
	uint32_t samples;
	double weight;
};

struct inclusive_sums { /* by function of the input */
	double *in, *out, *local, *n, *in_var, *out_var;
	double *in_taken, *out_taken;   /* of in and out: what system calls took */
	double *taken_var, *taken_more; /* of out_var and out_more: the same */
	/* what may be otherwise: bytes counted that may not be, and the reverse */
	double *in_less, *in_more, *out_less, *out_more;
};

struct inclusive_work {
	const struct flow_input *in;
	const struct est_opts *o;
	struct flow *f;
	uint32_t *id;   /* function of the input -> of the result, FLOW_NONE */
	uint32_t *func; /* and back; the first of a name */
	struct inclusive_group *group;
	size_t group_count, group_cap;
	struct intern group_keys;
	struct habit *habit[2]; /* of reading, of writing */
	size_t habit_count[2], habit_cap[2];
	struct intern habit_keys[2];
	struct inclusive_callers *callers; /* by function of the input, filled when asked for */
	struct inclusive_callers *beside;  /* by object: of its innermost function on stacks, and that */
	struct inclusive_callers anybody;  /* of any stack that is whole */
	struct intern objects;
	struct stack_place *place; /* where functions are on stacks: by function */
	size_t place_count, place_cap;
	struct intern place_keys;
	struct stack_weight *weight; /* of stacks that are whole */
	size_t weight_count, weight_cap;
	struct inclusive_side reader, writer, extra; /* extra: room */
	bool writer_unknown, taken;                  /* of the group at hand; taken: by a system call */
	double all_taken;                            /* by system calls, of all edges: they were counted */
	struct inclusive_sums all, edge;             /* edge: of the edge at hand */
	uint32_t *edge_touched;
	uint32_t edge_touched_count;
	bool *edge_on;
};

static int add_path_group(struct inclusive_work *w, uint32_t edge, uint32_t reader, uint32_t writer, double bytes,
			  double n)
{
	const uint32_t key[3] = { edge, reader, writer };
	bool added;
	uint32_t id = intern_add(&w->group_keys, key, sizeof(key), &added);

	if (!id || (added && !GROW(w->group, w->group_count, w->group_cap, 1024)))
		return -ENOMEM;
	if (added)
		w->group[w->group_count++] =
			(struct inclusive_group){ .edge = edge, .reader = reader, .writer = writer };
	w->group[id - 1].bytes += bytes;
	w->group[id - 1].n += n;
	return 0;
}

static int add_read_stacks(struct inclusive_work *w, const struct last_writer *c)
{
	for (size_t i = 0; i < c->read_count; i++) {
		const struct read_answer *r = &c->reads[i];
		const struct flow_edge *e = flow_get(w->f, w->id[r->a.producer], w->id[r->func]);

		if (e && add_path_group(w, (uint32_t)(e - w->f->edges), r->stack, r->a.stack, r->bytes, 1))
			return -ENOMEM;
	}
	return 0;
}

/* Edges that only windows know. */
static int take_rest(struct inclusive_work *w)
{
	bool *seen = calloc(w->f->edge_count + 1, sizeof(*seen));
	int err = seen ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < w->group_count; i++)
		seen[w->group[i].edge] |= w->group[i].bytes > 0;
	for (size_t i = 0; !err && i < w->f->edge_count; i++)
		if (!seen[i])
			err = add_path_group(w, (uint32_t)i, 0, 0, 1, 0);
	free(seen);
	return err;
}

static int by_func_and_stack(const void *a, const void *b)
{
	const struct habit *x = a, *y = b;

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static int learn_habits(struct inclusive_work *w)
{
	for (size_t i = 0; i < w->in->access_count; i++) {
		const struct in_access *a = &w->in->access[i];
		double bytes = a->weight * a->size;

		if (!a->stack || (!w->o->stack && (a->flags & FMT_A_STACK)))
			continue;
		for (int k = 0; k < 2; k++) {
			const uint32_t key[2] = { a->func, a->stack };
			bool added;
			uint32_t id;

			if (!(a->flags & (k ? FMT_A_STORE : FMT_A_LOAD)))
				continue;
			id = intern_add(&w->habit_keys[k], key, sizeof(key), &added);
			if (!id || (added && !GROW(w->habit[k], w->habit_count[k], w->habit_cap[k], 1024)))
				return -ENOMEM;
			if (added)
				w->habit[k][w->habit_count[k]++] = (struct habit){ .func = a->func, .stack = a->stack };
			/* the census has no weight, but it is better than nothing */
			w->habit[k][id - 1].weight += bytes > 0 ? bytes : 1e-6;
			w->habit[k][id - 1].samples++;
		}
	}
	for (int k = 0; k < 2; k++)
		if (w->habit_count[k])
			qsort(w->habit[k], w->habit_count[k], sizeof(*w->habit[k]), by_func_and_stack);
	return 0;
}

static int by_place_of_stack(const void *a, const void *b)
{
	const struct stack_place *x = a, *y = b;

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static void put_p(struct inclusive_side *s, uint32_t func, double p)
{
	if (!(s->p[func] > 0))
		s->touched[s->count++] = func;
	s->p[func] = s->p[func] + p < 1 ? s->p[func] + p : 1;
}

static void clear_side(struct inclusive_side *s)
{
	while (s->count)
		s->p[s->touched[--s->count]] = 0;
	s->vague = s->seen = 0;
}

/* Where each function is on which stack; of samples that stand for nothing nothing is learned. */
static int learn_places(struct inclusive_work *w)
{
	for (size_t i = 0; i < w->in->access_count; i++) {
		const struct in_access *a = &w->in->access[i];
		const struct in_stack *st = a->stack ? &w->in->stack[a->stack - 1] : NULL;
		bool added;
		uint32_t id;

		if (!st || !st->complete || (a->flags & FMT_A_CENSUS))
			continue;
		id = intern_add(&w->place_keys, &a->stack, sizeof(a->stack), &added);
		if (!id)
			return -ENOMEM;
		for (uint32_t k = 0; added && k < st->count; k++) {
			if (!GROW(w->place, w->place_count, w->place_cap, 4096))
				return -ENOMEM;
			w->place[w->place_count++] = (struct stack_place){ .func = w->in->stack_func[st->first + k],
									   .at = k,
									   .stack = id - 1 };
		}
		if (added && !GROW(w->weight, w->weight_count, w->weight_cap, 1024))
			return -ENOMEM;
		if (added)
			w->weight[w->weight_count++] = (struct stack_weight){ .stack = a->stack };
		w->weight[id - 1].weight += a->weight;
		w->weight[id - 1].samples++;
	}
	if (w->place_count)
		qsort(w->place, w->place_count, sizeof(*w->place), by_place_of_stack);
	return 0;
}

/* What is further out than place[first..last) on their stacks; from_it: they themselves, too. */
static int sum_callers(struct inclusive_work *w, const struct stack_place *place, size_t first, size_t last,
		       bool from_it, struct inclusive_callers *c)
{
	struct inclusive_side *s = &w->extra;
	double all = 0;

	clear_side(s);
	for (size_t i = first; i < last; i++)
		all += w->weight[place[i].stack].weight;
	for (size_t i = first; i < last && all > 0; i++) {
		const struct stack_weight *at = &w->weight[place[i].stack];
		const struct in_stack *st = &w->in->stack[at->stack - 1];

		c->seen += at->samples;
		for (uint32_t k = place[i].at + !from_it; k < st->count; k++)
			put_p(s, w->in->stack_func[st->first + k], at->weight / all);
	}
	c->func = malloc((s->count + 1) * sizeof(*c->func));
	c->p = malloc((s->count + 1) * sizeof(*c->p));
	if (!c->func || !c->p)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		c->func[c->count] = s->touched[i];
		c->p[c->count++] = s->p[s->touched[i]];
	}
	return 0;
}

/* The place of the leaf of each stack stands for all of it. */
static int learn_anybody(struct inclusive_work *w)
{
	struct stack_place *leaf = calloc(w->weight_count + 1, sizeof(*leaf));
	int err = leaf ? 0 : -ENOMEM;

	for (uint32_t i = 0; leaf && i < w->weight_count; i++)
		leaf[i] = (struct stack_place){ .stack = i };
	if (!err)
		err = sum_callers(w, leaf, 0, w->weight_count, true, &w->anybody);
	free(leaf);
	return err;
}

static uint32_t object_id(struct inclusive_work *w, uint32_t func)
{
	const char *object = w->in->funcs[func].object;
	bool added;

	return intern_add(&w->objects, object, strlen(object) + 1, &added);
}

/* Each object's innermost place on each stack, as stack_place of its id. */
static int innermost_of_objects(struct inclusive_work *w, struct stack_place **out, size_t *count)
{
	uint32_t *last = calloc(w->in->func_count + 2, sizeof(*last)); /* by object: stack it was on, + 1 */
	size_t cap = 0;
	int err = last ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < w->weight_count && !err; i++) {
		const struct in_stack *st = &w->in->stack[w->weight[i].stack - 1];

		for (uint32_t k = 0; k < st->count && !err; k++) {
			uint32_t id = object_id(w, w->in->stack_func[st->first + k]);
			struct stack_place place = { .func = id, .stack = i, .at = k };

			if (id && last[id] == i + 1)
				continue;
			err = id && PUSH(*out, *count, cap, 256, place) ? 0 : -ENOMEM;
			last[id] = i + 1;
		}
	}
	free(last);
	if (*count)
		qsort(*out, *count, sizeof(**out), by_place_of_stack);
	return err;
}

/* Who is further out than the code of an object: what calls a function that nobody was seen in is most likely who calls
 * its neighbours; a library's are not called by what it does not know. */
static int learn_beside(struct inclusive_work *w)
{
	struct stack_place *place = NULL;
	size_t count = 0;
	int err = innermost_of_objects(w, &place, &count);

	w->beside = calloc(w->in->func_count + 2, sizeof(*w->beside));
	if (!w->beside)
		err = -ENOMEM;
	for (size_t i = 0, end; i < count && !err; i = end) {
		for (end = i + 1; end < count && place[end].func == place[i].func; end++)
			;
		err = sum_callers(w, place, i, end, true, &w->beside[place[i].func]);
	}
	free(place);
	return err;
}

/* Known for each function that is met, once. */
static int learn_callers(struct inclusive_work *w)
{
	int err = learn_places(w);

	for (size_t i = 0, end; i < w->place_count && !err; i = end) {
		for (end = i + 1; end < w->place_count && w->place[end].func == w->place[i].func; end++)
			;
		err = sum_callers(w, w->place, i, end, false, &w->callers[w->place[i].func]);
	}
	if (!err)
		err = learn_beside(w);
	return err ? err : learn_anybody(w);
}

/* What is further out than `func`, which is innermost or where a stack was cut. Where nobody ever saw, what is where
 * code of its object is, else what is on any stack: nothing tells that main is not. */
static void put_callers(struct inclusive_work *w, struct inclusive_side *s, uint32_t func, double p)
{
	const struct inclusive_callers *c = &w->callers[func];

	if (!c->seen) {
		uint32_t object = object_id(w, func);

		c = object <= w->in->func_count && w->beside[object].seen ? &w->beside[object] : &w->anybody;
		s->vague += p;
	}
	s->seen += p * c->seen;
	for (uint32_t i = 0; i < c->count; i++)
		put_p(s, c->func[i], p * c->p[i]);
}

static void put_stack_functions(struct inclusive_work *w, struct inclusive_side *s, uint32_t stack, double p)
{
	const struct in_stack *st = &w->in->stack[stack - 1];

	for (uint32_t i = 0; i < st->count; i++)
		put_p(s, w->in->stack_func[st->first + i], p);
	if (!st->complete && st->count)
		put_callers(w, s, w->in->stack_func[st->first + st->count - 1], p);
}

/* Where functions write (or read): habits of one, by its first and the one behind its last. */
static size_t habits_of(const struct inclusive_work *w, int writes, uint32_t func, size_t *end)
{
	const struct habit *h = w->habit[writes];
	size_t lo = BISECT(mid, w->habit_count[writes], h[mid].func < func);

	for (*end = lo; *end < w->habit_count[writes] && h[*end].func == func; ++*end)
		;
	return lo;
}

/* Pseudo-functions are outside of everything. */
static void fill_side(struct inclusive_work *w, struct inclusive_side *s, int writes, uint32_t stack, uint32_t func)
{
	const struct habit *h = w->habit[writes];
	size_t first, end;
	double all = 0;

	clear_side(s);
	if (func == FLOW_NONE || w->in->funcs[func].name[0] == '(')
		return;
	first = habits_of(w, writes, func, &end);
	for (size_t i = first; i < end; i++)
		all += h[i].weight;
	for (size_t i = first; i < end && !stack; i++)
		s->seen += h[i].samples;
	if (stack)
		put_stack_functions(w, s, stack, 1);
	else if (all > 0)
		for (size_t i = first; i < end; i++)
			put_stack_functions(w, s, h[i].stack, h[i].weight / all);
	else
		put_callers(w, s, func, 1);
	/* the function that accesses is there in any case */
	put_p(s, func, 1);
}

static void touch(struct inclusive_work *w, uint32_t func)
{
	if (!w->edge_on[func]) {
		w->edge_on[func] = true;
		w->edge_touched[w->edge_touched_count++] = func;
	}
}

/*
 * The least and the most that a function may be on the stack of one end. Where the stack is not known, what one
 * function reads of another may lie all on one side, however others' bytes are split: never and always are as likely
 * as samples say, and what is less likely than what an interval of this level leaves out is left out.
 */
static void side_bounds(const struct inclusive_work *w, const struct inclusive_side *s, uint32_t f, bool guessed,
			double *least, double *most)
{
	double p = s->p[f], tail = (1 - w->o->level) / 2;
	struct flow_range chance = { p, p, p };

	if (guessed && p > SURE && p < 1 - SURE && s->seen > 0)
		chance = writer_proportion(p, s->seen, normal_half(w->o->level));
	*least = fmax(0, (1 - chance.low > tail && guessed && p < 1 - SURE ? 0 : chance.low) - s->vague);
	*most = fmin(1, (chance.high > tail && guessed && p > SURE ? 1 : chance.high) + s->vague);
}

/* What nobody knows the writer of may have been written inside. */
static void widen_where_guessed(struct inclusive_work *w, uint32_t f, double bytes, bool guessed[2])
{
	double r = w->reader.p[f], wr = w->writer.p[f], in = bytes * r * (1 - wr), out = bytes * (1 - r) * wr;
	double read[2], written[2];

	side_bounds(w, &w->reader, f, guessed[0], &read[0], &read[1]);
	side_bounds(w, &w->writer, f, guessed[1], &written[0], &written[1]);
	if (w->writer_unknown)
		written[1] = 1;
	w->all.in_less[f] += in - bytes * read[0] * (1 - written[1]);
	w->all.in_more[f] += bytes * read[1] * (1 - written[0]) - in;
	w->all.out_less[f] += out - bytes * (1 - read[1]) * written[0];
	w->all.out_more[f] += bytes * (1 - read[0]) * written[1] - out;
	w->all.taken_more[f] += w->taken ? bytes * (1 - read[0]) * written[1] - out : 0;
}

static bool stack_is_whole(const struct inclusive_work *w, uint32_t stack)
{
	return stack && w->in->stack[stack - 1].complete;
}

static void share_out_group(struct inclusive_work *w, const struct inclusive_group *g, double bytes)
{
	bool guessed[2] = { !stack_is_whole(w, g->reader), !stack_is_whole(w, g->writer) };

	for (int k = 0; k < 2; k++) {
		const struct inclusive_side *s = k ? &w->writer : &w->reader;

		for (uint32_t i = 0; i < s->count; i++) {
			uint32_t f = s->touched[i];
			double r = w->reader.p[f], wr = w->writer.p[f];

			if (k && r > 0)
				continue; /* done among the readers */
			touch(w, f);
			widen_where_guessed(w, f, bytes, guessed);
			w->edge.in[f] += bytes * r * (1 - wr);
			w->edge.out[f] += bytes * (1 - r) * wr;
			w->edge.local[f] += bytes * r * wr;
			w->edge.n[f] += g->n * (r + wr - r * wr);
		}
	}
}

/* Of the edge's own interval, and of how it is split between inside and outside. */
static double variance_of_part(double part, const struct flow_edge *e, double n, double z)
{
	double q = e->bytes > 0 ? part / e->bytes : 0, half = isnan(e->low) ? 0 : (e->high - e->low) / 2;

	return q * half * q * half + (n > 0 ? z * z * e->bytes * e->bytes * q * (1 - q) / n : 0);
}

static void end_edge(struct inclusive_work *w, const struct flow_edge *e, double n)
{
	while (w->edge_touched_count) {
		uint32_t f = w->edge_touched[--w->edge_touched_count];

		w->all.in[f] += w->edge.in[f];
		w->all.out[f] += w->edge.out[f];
		w->all.local[f] += w->edge.local[f];
		w->all.n[f] += w->edge.n[f];
		w->all.in_taken[f] += w->taken ? w->edge.in[f] : 0;
		w->all.out_taken[f] += w->taken ? w->edge.out[f] : 0;
		w->all.taken_var[f] += w->taken ? variance_of_part(w->edge.out[f], e, n, Z95) : 0;
		w->all.in_var[f] += variance_of_part(w->edge.in[f], e, n, Z95);
		w->all.out_var[f] += variance_of_part(w->edge.out[f], e, n, Z95);
		w->edge.in[f] = w->edge.out[f] = w->edge.local[f] = w->edge.n[f] = 0;
		w->edge_on[f] = false;
	}
}

static int by_edge(const void *a, const void *b)
{
	const struct inclusive_group *x = a, *y = b;

	if (x->edge != y->edge)
		return x->edge < y->edge ? -1 : 1;
	if (x->reader != y->reader)
		return x->reader < y->reader ? -1 : 1;
	return (x->writer > y->writer) - (x->writer < y->writer);
}

static void sum_groups(struct inclusive_work *w)
{
	if (w->group_count)
		qsort(w->group, w->group_count, sizeof(*w->group), by_edge);
	for (size_t i = 0, j; i < w->group_count; i = j) {
		const struct flow_edge *e = &w->f->edges[w->group[i].edge];
		double bytes = 0, n = 0;

		w->taken = flow_is_call(&w->f->funcs[e->consumer]);
		w->all_taken += w->taken ? e->bytes : 0;
		for (j = i; j < w->group_count && w->group[j].edge == w->group[i].edge; j++) {
			bytes += w->group[j].bytes;
			n += w->group[j].n;
		}
		for (size_t k = i; k < j && bytes > 0; k++) {
			fill_side(w, &w->reader, 0, w->group[k].reader, w->func[e->consumer]);
			fill_side(w, &w->writer, 1, w->group[k].writer, w->func[e->producer]);
			w->writer_unknown = w->func[e->producer] == w->in->unknown;
			share_out_group(w, &w->group[k], e->bytes * w->group[k].bytes / bytes);
		}
		end_edge(w, e, n);
	}
}

static void add(double *figure, double v)
{
	*figure = isnan(*figure) ? v : *figure + v;
}

/* Bytes loaded and stored while a function is on the stack; how much of it on stacks that are cut. */
static void accesses(struct inclusive_work *w)
{
	double all = 0, cut = 0;

	for (size_t i = 0; i < w->in->access_count + w->in->blind_count; i++) {
		const struct in_access *a =
			i < w->in->access_count ? &w->in->access[i] : &w->in->blind[i - w->in->access_count];
		const struct in_stack *s = a->stack ? &w->in->stack[a->stack - 1] : NULL;
		double bytes = a->weight * a->size;

		if (a->flags & FMT_A_CENSUS)
			continue;
		all += bytes;
		cut += !s || !s->complete ? bytes : 0;
		for (uint32_t k = 0; s && k < s->count; k++) {
			uint32_t id = w->id[w->in->stack_func[s->first + k]];

			if (id == FLOW_NONE)
				continue;
			add(&w->f->funcs[id].inc.load_bytes, a->flags & FMT_A_LOAD ? bytes : 0);
			add(&w->f->funcs[id].inc.store_bytes, a->flags & FMT_A_STORE ? bytes : 0);
		}
	}
	w->f->cut_stacks = all > 0 ? cut / all : NAN;
}

static void set_range(double value, double var, double less, double more, double *low, double *high)
{
	double half = sqrt(var);

	*low = value > half + less ? value - half - less : 0;
	*high = value + half + more;
}

/* What system calls take of it is no more than all that they took, which was counted. */
static double most_out(const struct inclusive_work *w, uint32_t f)
{
	const struct inclusive_sums *a = &w->all;
	double rest = sqrt(fmax(0, a->out_var[f] - a->taken_var[f])) + a->out_more[f] - a->taken_more[f];

	return a->out[f] - a->out_taken[f] + rest + w->all_taken;
}

static void put_out(struct inclusive_work *w)
{
	for (uint32_t i = 0; i < w->in->func_count; i++) {
		struct flow_inclusive *inc = w->id[i] == FLOW_NONE ? NULL : &w->f->funcs[w->id[i]].inc;
		const struct in_function_time *t = &w->in->times[i];

		if (!inc || w->func[w->id[i]] != i || w->in->funcs[i].name[0] == '(')
			continue;
		inc->in = w->all.in[i];
		inc->out = w->all.out[i];
		inc->local = w->all.local[i];
		inc->in_taken = w->all.in_taken[i];
		inc->out_taken = w->all.out_taken[i];
		inc->samples = w->all.n[i];
		set_range(inc->in, w->all.in_var[i], w->all.in_less[i], w->all.in_more[i], &inc->in_low, &inc->in_high);
		set_range(inc->out, w->all.out_var[i], w->all.out_less[i], w->all.out_more[i], &inc->out_low,
			  &inc->out_high);
		inc->out_high = fmax(inc->out, fmin(inc->out_high, most_out(w, i)));
		if (t->inc_ns > 0)
			inc->time_ns = t->inc_ns;
		if (t->inc_instructions > 0)
			inc->instructions = t->inc_instructions;
		if (w->in->has_compute && t->inc_instructions > 0)
			inc->compute = t->inc_compute;
	}
}

/* Every function that is on some stack takes part, whether or not it reads and writes itself. */
static int number_functions(struct inclusive_work *w)
{
	const struct flow_input *in = w->in;

	struct intern names = { 0 };
	char key[4096];

	for (uint32_t i = 0; i < w->f->func_count + in->func_count; i++) {
		bool known = i < w->f->func_count, added;
		const struct flow_func *fn = known ? &w->f->funcs[i] : NULL;
		const struct in_func *inf = known ? NULL : &in->funcs[i - w->f->func_count];
		int len = snprintf(key, sizeof(key), "%.2000s%c%.2000s", known ? fn->name : inf->name, 0,
				   known ? fn->object : inf->object);
		uint32_t id = intern_add(&names, key, (size_t)len, &added);

		if (!id) {
			intern_release(&names);
			return -ENOMEM;
		}
		/* ids of what the result has come first and in its order */
		if (!known)
			w->id[i - w->f->func_count] = id <= w->f->func_count ? id - 1 : FLOW_NONE;
	}
	intern_release(&names);
	for (size_t i = 0; i < in->stack_func_count; i++) {
		uint32_t f = in->stack_func[i];

		if (w->id[f] == FLOW_NONE)
			w->id[f] = flow_func(w->f, in->funcs[f].name, in->funcs[f].object);
		if (w->id[f] == FLOW_NONE)
			return -ENOMEM;
	}
	w->func = malloc((w->f->func_count + 1) * sizeof(*w->func));
	if (!w->func)
		return -ENOMEM;
	memset(w->func, 0xff, (w->f->func_count + 1) * sizeof(*w->func));
	for (uint32_t i = in->func_count; i-- > 0;)
		if (w->id[i] != FLOW_NONE)
			w->func[w->id[i]] = i;
	return 0;
}

static void release_work(struct inclusive_work *w)
{
	for (uint32_t i = 0; w->callers && i <= w->in->func_count; i++) {
		free(w->callers[i].func);
		free(w->callers[i].p);
	}
	for (uint32_t i = 0; w->beside && i < w->in->func_count + 2; i++) {
		free(w->beside[i].func);
		free(w->beside[i].p);
	}
	free(w->callers);
	free(w->beside);
	intern_release(&w->objects);
	free(w->anybody.func);
	free(w->anybody.p);
	free(w->place);
	free(w->weight);
	intern_release(&w->place_keys);
	free(w->id);
	free(w->func);
	free(w->edge_on);
	free(w->group);
	intern_release(&w->group_keys);
	for (int k = 0; k < 2; k++) {
		free(w->habit[k]);
		intern_release(&w->habit_keys[k]);
	}
}

int flow_inclusive(const struct flow_input *in, const struct est_opts *o, const struct last_writer *c, struct flow *out)
{
	size_t n = in->func_count + 1;
	uint32_t self = out->func_count;
	struct inclusive_work w = { .in = in, .o = o, .f = out, .id = malloc(n * sizeof(*w.id)) };
	double *block = calloc(21 * n, sizeof(*block)), *b = block;
	uint32_t *lists = malloc(4 * n * sizeof(*lists));
	int err = -ENOMEM;

	w.edge_on = calloc(n, sizeof(*w.edge_on));
	w.callers = calloc(n, sizeof(*w.callers));
	if (!w.callers || !w.id || !block || !lists || !w.edge_on || number_functions(&w))
		goto out;
	w.reader = (struct inclusive_side){ .p = b, .touched = lists };
	w.writer = (struct inclusive_side){ .p = b + n, .touched = lists + n };
	w.extra = (struct inclusive_side){ .p = b + 2 * n, .touched = lists + 2 * n };
	w.edge_touched = lists + 3 * n;
	b += 3 * n;
	w.all = (struct inclusive_sums){ .in = b,
					 .out = b + n,
					 .local = b + 2 * n,
					 .n = b + 3 * n,
					 .in_var = b + 4 * n,
					 .out_var = b + 5 * n,
					 .in_less = b + 6 * n,
					 .in_more = b + 7 * n,
					 .out_less = b + 8 * n,
					 .out_more = b + 9 * n,
					 .in_taken = b + 10 * n,
					 .out_taken = b + 11 * n,
					 .taken_var = b + 12 * n,
					 .taken_more = b + 13 * n };
	b += 14 * n;
	w.edge = (struct inclusive_sums){ .in = b, .out = b + n, .local = b + 2 * n, .n = b + 3 * n };
	out->inclusive = true;
	out->func_count_self = self;
	err = add_read_stacks(&w, c);
	if (!err)
		err = take_rest(&w);
	if (!err)
		err = learn_habits(&w);
	if (!err)
		err = learn_callers(&w);
	if (!err) {
		sum_groups(&w);
		accesses(&w);
		put_out(&w);
	}
out:
	free(block);
	free(lists);
	release_work(&w);
	return err;
}
