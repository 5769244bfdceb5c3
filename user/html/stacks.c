// SPDX-License-Identifier: GPL-2.0-or-later
#include "html/stacks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/time_shares.h"
#include "util/grow.h"
#include "util/json.h"
#include "util/map.h"

#define SLICES 120      /* of the profile's time: a screen's width shows each; by hand */
#define SLICES_LEAST 15 /* fewer show no course of time; by hand */
#define NO_NODE UINT32_MAX

struct node {
	uint32_t parent, function; /* parent NO_NODE: a root */
	double weight, inclusive;
	uint64_t samples;
	uint32_t shown; /* index in the output; NO_NODE: part of its parent's small child */
};

struct stack_cell {
	uint32_t slice, node;
	double weight;
	uint64_t samples;
};

struct stacks_tree {
	const struct profile *p;
	enum profile_unit unit;
	struct node *nodes;
	size_t count, cap;
	uint32_t *of_stack;    /* leaf node by stack */
	uint32_t *function_at; /* by function of the profile: index in the output; NO_NODE: does not occur */
	size_t shown, function_count;
	uint32_t *small;    /* by shown node (and one for the roots): its small child, NO_NODE: none */
	uint32_t *shown_as; /* by node: what it counts for in the output */
	struct stack_cell *cells;
	size_t cell_count, cell_cap;
};

/* A stack's functions, the root first, in a list of all stacks' ones. */
struct rooted {
	uint32_t stack;
	uint32_t count;
	size_t first;
};

struct rooted_stacks {
	struct rooted *at;
	uint32_t *functions;
	size_t count, function_count, function_cap;
};

static int add_rooted(struct stacks_tree *t, uint32_t stack, struct share_path *path, struct rooted_stacks *r)
{
	int err = share_path(t->p, stack, false, path);
	struct rooted *to = &r->at[r->count];

	if (err)
		return err;
	*to = (struct rooted){ .stack = stack, .first = r->function_count };
	for (size_t i = path->count; i-- > 0;)
		if (!PUSH(r->functions, r->function_count, r->function_cap, 4096, path->ids[i]))
			return -ENOMEM;
	if (!path->count && !PUSH(r->functions, r->function_count, r->function_cap, 4096, 0))
		return -ENOMEM;
	to->count = (uint32_t)(r->function_count - to->first);
	r->count++;
	return 0;
}

static size_t common(const struct rooted_stacks *r, const struct rooted *a, const struct rooted *b)
{
	const uint32_t *x = r->functions + a->first, *y = r->functions + b->first;
	size_t n = 0;

	while (n < a->count && n < b->count && x[n] == y[n])
		n++;
	return n;
}

static int by_functions(const void *a, const void *b, void *stacks)
{
	const struct rooted_stacks *r = stacks;
	const struct rooted *x = a, *y = b;
	size_t n = common(r, x, y);

	if (n == x->count || n == y->count)
		return (x->count > y->count) - (x->count < y->count);
	return r->functions[x->first + n] < r->functions[y->first + n] ? -1 : 1;
}

/* Those of the profile's unit, each once, like ones next to each other. */
static int root_stacks(struct stacks_tree *t, struct rooted_stacks *r)
{
	struct share_path path = { 0 };
	int err = 0;

	r->at = calloc(t->p->stack_count + 1, sizeof(*r->at));
	if (!r->at)
		return -ENOMEM;
	for (size_t i = 0; i < t->p->cell_count && !err; i++) {
		uint32_t stack = t->p->cells[i].stack;

		if (!t->p->cells[i].samples[t->unit] || t->of_stack[stack] != NO_NODE)
			continue;
		t->of_stack[stack] = 0; /* listed */
		err = add_rooted(t, stack, &path, r);
	}
	free(path.ids);
	if (!err)
		qsort_r(r->at, r->count, sizeof(*r->at), by_functions, r);
	return err;
}

/* The nodes of sorted stacks: what one shares with the one before it is there already. */
static int add_sorted_stacks(struct stacks_tree *t, const struct rooted_stacks *r)
{
	uint32_t *open = NULL; /* nodes of the stack before, the root first */
	size_t cap = 0, depth = 0;
	int err = 0;

	for (size_t i = 0; i < r->count && !err; i++) {
		const struct rooted *s = &r->at[i];

		depth = i ? common(r, s, s - 1) : 0;
		for (size_t k = depth; k < s->count && !err; k++) {
			struct node fresh = { .parent = k ? open[k - 1] : NO_NODE,
					      .function = r->functions[s->first + k],
					      .shown = NO_NODE };

			if (!GROW(open, k, cap, 256) || !PUSH(t->nodes, t->count, t->cap, 256, fresh))
				err = -ENOMEM;
			else
				open[k] = (uint32_t)t->count - 1;
		}
		if (!err)
			t->of_stack[s->stack] = open[s->count - 1];
	}
	free(open);
	return err;
}

static int grow_tree(struct stacks_tree *t)
{
	struct rooted_stacks r = { 0 };
	int err = root_stacks(t, &r);

	err = err ? err : add_sorted_stacks(t, &r);
	free(r.at);
	free(r.functions);
	for (size_t i = 0; i < t->p->cell_count && !err; i++) {
		const struct profile_cell *c = &t->p->cells[i];

		if (!c->samples[t->unit])
			continue;
		t->nodes[t->of_stack[c->stack]].weight += c->weight[t->unit];
		t->nodes[t->of_stack[c->stack]].samples += c->samples[t->unit];
	}
	return err;
}

static int falling_weights(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* Numbers the nodes that are shown: parents before their children. */
static int choose_nodes(struct stacks_tree *t)
{
	double *sizes = calloc(t->count + 1, sizeof(*sizes)), least = 0;
	size_t most = 0;

	if (!sizes)
		return -ENOMEM;
	for (size_t i = 0; i < t->count; i++)
		t->nodes[i].inclusive = t->nodes[i].weight;
	for (size_t i = t->count; i-- > 0;)
		if (t->nodes[i].parent != NO_NODE)
			t->nodes[t->nodes[i].parent].inclusive += t->nodes[i].inclusive;
	for (size_t i = 0; i < t->count; i++)
		sizes[i] = t->nodes[i].inclusive;
	if (t->count > NODES_MOST) {
		qsort(sizes, t->count, sizeof(*sizes), falling_weights);
		least = sizes[NODES_MOST];
	}
	free(sizes);
	for (size_t i = 0; i < t->count; i++) {
		struct node *n = &t->nodes[i];

		/* like ones at the border are left out together, so that the choice is no matter of chance */
		if (n->inclusive > least && (n->parent == NO_NODE || t->nodes[n->parent].shown != NO_NODE))
			n->shown = (uint32_t)most++;
	}
	t->shown = most;
	return 0;
}

static int add_cell(struct stacks_tree *t, struct map *at, struct stack_cell c)
{
	bool added;
	uint64_t *cell = map_put(at, (uint64_t)c.slice << 32 | c.node, &added);

	if (!cell || (added && !PUSH(t->cells, t->cell_count, t->cell_cap, 256, c)))
		return -ENOMEM;
	if (added) {
		*cell = t->cell_count - 1;
	} else {
		t->cells[*cell].weight += c.weight;
		t->cells[*cell].samples += c.samples;
	}
	return 0;
}

/* Each two slices become one. */
static int halve_slices(struct stacks_tree *t, struct map *at)
{
	size_t n = t->cell_count;
	int err = 0;

	map_release(at);
	t->cell_count = 0;
	for (size_t i = 0; i < n && !err; i++) {
		struct stack_cell c = t->cells[i];

		c.slice /= 2;
		err = add_cell(t, at, c);
	}
	return err;
}

/* As many slices as CELLS_MOST allows, SLICES at most, and SLICES_LEAST in any case. */
static int find_cells(struct stacks_tree *t, const struct in_order *o, unsigned *slices)
{
	double span = (double)(t->p->last_time - t->p->first_time) + 1;
	struct map at = { 0 };
	int err = 0;

	for (size_t i = 0; i < o->sample_count && !err; i++) {
		const struct ordered_sample *s = &o->samples[i];
		double place = (double)(s->time - t->p->first_time) / span * *slices;
		struct stack_cell c = { .slice = place >= 0 && place < *slices ? (uint32_t)place : *slices - 1,
					.weight = (double)s->period,
					.samples = 1 };

		if (s->stack >= t->p->stack_count || t->of_stack[s->stack] == NO_NODE)
			continue;
		c.node = t->shown_as[t->of_stack[s->stack]];
		err = add_cell(t, &at, c);
		for (; !err && t->cell_count > CELLS_MOST && *slices > SLICES_LEAST; *slices /= 2)
			err = halve_slices(t, &at);
	}
	map_release(&at);
	return err;
}

static void name_functions(struct stacks_tree *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct node *n = &t->nodes[i];

		if (n->shown != NO_NODE && t->function_at[n->function] == NO_NODE)
			t->function_at[n->function] = (uint32_t)t->function_count++;
		/* a small child comes after all shown ones, one for each place that has some */
		if (n->shown == NO_NODE && (n->parent == NO_NODE || t->nodes[n->parent].shown != NO_NODE)) {
			uint32_t at = n->parent == NO_NODE ? (uint32_t)t->shown : t->nodes[n->parent].shown;

			t->small[at] = 0;
		}
	}
	for (size_t i = 0, next = t->shown; i <= t->shown; i++)
		if (t->small[i] != NO_NODE)
			t->small[i] = (uint32_t)next++;
}

/* What each node counts for: itself, or the small child of its nearest ancestor that is shown. Parents come first. */
static void find_shown(struct stacks_tree *t)
{
	for (size_t i = 0; i < t->count; i++) {
		uint32_t up = t->nodes[i].parent;

		t->shown_as[i] = t->nodes[i].shown != NO_NODE    ? t->nodes[i].shown
				 : up == NO_NODE                 ? t->small[t->shown]
				 : t->nodes[up].shown != NO_NODE ? t->small[t->nodes[up].shown]
								 : t->shown_as[up];
	}
}

static void json_names(const struct stacks_tree *t, struct json *j)
{
	const struct profile_function **f = calloc(t->function_count + 1, sizeof(*f));

	for (size_t i = 0; f && i < t->p->function_count; i++)
		if (t->function_at[i] != NO_NODE)
			f[t->function_at[i]] = &t->p->functions[i];
	json_arr(j, "name");
	for (size_t i = 0; f && i < t->function_count; i++)
		json_str(j, NULL, f[i]->name);
	json_str(j, NULL, "(small)");
	json_end(j);
	json_arr(j, "object");
	for (size_t i = 0; f && i < t->function_count; i++)
		json_str(j, NULL, f[i]->object);
	json_str(j, NULL, "");
	json_end(j);
	if (!f)
		j->out->failed = true;
	free(f);
}

struct out_node {
	int64_t parent;
	size_t function;
	double weight;
	uint64_t samples;
};

static int json_nodes(struct stacks_tree *t, struct json *j)
{
	size_t count = t->shown;
	struct out_node *n;

	for (size_t i = 0; i <= t->shown; i++)
		count += t->small[i] != NO_NODE;
	n = calloc(count + 1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	for (size_t i = 0; i <= t->shown; i++)
		if (t->small[i] != NO_NODE)
			n[t->small[i]] = (struct out_node){ i == t->shown ? -1 : (int64_t)i, t->function_count, 0, 0 };
	for (size_t i = 0; i < t->count; i++) {
		const struct node *from = &t->nodes[i];
		struct out_node *to = &n[t->shown_as[i]];

		if (from->shown != NO_NODE) {
			to->parent = from->parent == NO_NODE ? -1 : (int64_t)t->nodes[from->parent].shown;
			to->function = t->function_at[from->function];
		}
		to->weight += from->weight;
		to->samples += from->samples;
	}
	json_obj(j, "nodes");
	json_arr(j, "parent");
	for (size_t i = 0; i < count; i++)
		json_i64(j, NULL, n[i].parent);
	json_end(j);
	json_arr(j, "function");
	for (size_t i = 0; i < count; i++)
		json_u64(j, NULL, n[i].function);
	json_end(j);
	json_arr(j, "weight");
	for (size_t i = 0; i < count; i++)
		json_f64(j, NULL, n[i].weight);
	json_end(j);
	json_arr(j, "samples");
	for (size_t i = 0; i < count; i++)
		json_u64(j, NULL, n[i].samples);
	json_end(j);
	json_end(j);
	free(n);
	return 0;
}

/* Where all samples weigh the same, what one weighs is all there is to tell. */
static void json_cell_weights(const struct stacks_tree *t, struct json *j)
{
	double each = t->cell_count ? t->cells[0].weight / (double)t->cells[0].samples : NAN;

	for (size_t i = 0; i < t->cell_count && !isnan(each); i++)
		if (t->cells[i].weight != each * (double)t->cells[i].samples)
			each = NAN;
	json_f64(j, "weight_each", each);
	json_arr(j, "weight");
	for (size_t i = 0; i < t->cell_count && isnan(each); i++)
		json_f64(j, NULL, t->cells[i].weight);
	json_end(j);
}

static void json_cells(const struct stacks_tree *t, unsigned slices, struct json *j)
{
	json_obj(j, "time");
	json_u64(j, "slices", slices);
	json_f64(j, "from", (double)t->p->first_time);
	json_f64(j, "slice_ns", slices ? ((double)(t->p->last_time - t->p->first_time) + 1) / slices : NAN);
	json_arr(j, "slice");
	for (size_t i = 0; i < t->cell_count; i++)
		json_u64(j, NULL, t->cells[i].slice);
	json_end(j);
	json_arr(j, "node");
	for (size_t i = 0; i < t->cell_count; i++)
		json_u64(j, NULL, t->cells[i].node);
	json_end(j);
	json_cell_weights(t, j);
	json_arr(j, "samples");
	for (size_t i = 0; i < t->cell_count; i++)
		json_u64(j, NULL, t->cells[i].samples);
	json_end(j);
	json_end(j);
}

/* What a thread has in each slice; slices without a sample of it are left out. */
static void thread_slices_json(const struct stacks_tree *t, const struct in_order *o, const struct ordered_thread *th,
			       unsigned slices, struct json *j)
{
	double span = (double)(t->p->last_time - t->p->first_time) + 1, weight[SLICES] = { 0 };
	uint64_t samples[SLICES] = { 0 };

	for (size_t i = th->first_sample; i < th->first_sample + th->sample_count && slices; i++) {
		double place = (double)(o->samples[i].time - t->p->first_time) / span * slices;
		unsigned s = place >= 0 && place < slices ? (unsigned)place : slices - 1;

		weight[s] += (double)o->samples[i].period;
		samples[s]++;
	}
	for (unsigned k = 0; k < 3; k++) {
		json_arr(j, k == 0 ? "slice" : k == 1 ? "slice_weight" : "slice_samples");
		for (unsigned s = 0; s < slices; s++)
			if (samples[s])
				json_f64(j, NULL, k == 0 ? s : k == 1 ? weight[s] : (double)samples[s]);
		json_end(j);
	}
}

static void node_threads_json(const struct stacks_tree *t, const struct in_order *o, unsigned slices, double effective,
			      struct json *j)
{
	json_arr(j, "threads");
	for (size_t i = 0; i < t->p->thread_count; i++) {
		const struct profile_thread *th = &t->p->threads[i];
		double weight = 0, low, high, share;
		uint64_t samples = 0;

		for (size_t c = th->first_cell; c < th->first_cell + th->cell_count; c++) {
			weight += t->p->cells[c].weight[t->unit];
			samples += t->p->cells[c].samples[t->unit];
		}
		if (!samples)
			continue;
		share = weight / t->p->weight[t->unit];
		wilson_interval(share, effective, &low, &high);
		json_obj(j, NULL);
		json_u64(j, "pid", th->pid);
		json_u64(j, "tid", th->tid);
		json_str(j, "comm", th->comm);
		json_u64(j, "samples", samples);
		json_f64(j, "share", share);
		json_f64(j, "low", low);
		json_f64(j, "high", high);
		for (size_t k = 0; k < o->thread_count; k++)
			if (o->threads[k].tid == th->tid && o->threads[k].pid == th->pid) {
				thread_slices_json(t, o, &o->threads[k], slices, j);
				break;
			}
		json_end(j);
	}
	json_end(j);
}

static void json_recorded(const struct profile *p, struct json *j)
{
	static const char *const keys[] = { "command", "host",     "kernel", "arch",      "version",
					    "engine",  "imported", "merged", "incomplete" };

	json_obj(j, "recorded");
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_str(j, keys[i], profile_meta(p, keys[i]));
	json_f64(j, "began_realtime_ns", p->start_realtime_ns ? (double)p->start_realtime_ns : NAN);
	json_f64(j, "rate_hz", p->rate);
	json_u64(j, "threads", p->thread_count);
	json_end(j);
}

static int write_out(struct stacks_tree *t, const struct in_order *o, struct buf *out)
{
	struct json j = { .out = out };
	struct shares_opts whole = { .thread = SHARES_ALL_THREADS };
	struct shares shares = { 0 };
	struct err ignored;
	unsigned slices = SLICES;
	int err = shares_compute(t->p, &whole, &shares, &ignored);
	double effective = err ? NAN : shares.effective;

	shares_release(&shares);
	if (!o->sample_count || t->p->last_time <= t->p->first_time)
		slices = 0;
	if (slices && !err)
		err = find_cells(t, o, &slices);
	if (err)
		return err;
	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.stacks/1");
	json_recorded(t->p, &j);
	json_str(&j, "unit",
		 t->unit == PROFILE_TIME       ? "ns"
		 : t->unit == PROFILE_ACCESSES ? "accesses"
					       : "instructions");
	json_u64(&j, "samples", t->p->samples[t->unit]);
	json_f64(&j, "weight", t->p->weight[t->unit]);
	json_f64(&j, "effective", effective);
	json_obj(&j, "functions");
	json_names(t, &j);
	json_end(&j);
	err = json_nodes(t, &j);
	json_cells(t, slices, &j);
	node_threads_json(t, o, slices, effective, &j);
	json_end(&j);
	return err ? err : buf_failed(out) ? -ENOMEM : 0;
}

int html_stacks(const struct profile *p, const struct in_order *o, struct buf *out, struct err *e)
{
	struct stacks_tree t = { .p = p, .unit = profile_unit(p) };
	int err;

	t.of_stack = malloc((p->stack_count + 1) * sizeof(*t.of_stack));
	t.function_at = malloc((p->function_count + 1) * sizeof(*t.function_at));
	err = t.of_stack && t.function_at ? 0 : -ENOMEM;
	if (!err) {
		memset(t.of_stack, 0xff, (p->stack_count + 1) * sizeof(*t.of_stack));
		memset(t.function_at, 0xff, (p->function_count + 1) * sizeof(*t.function_at));
		err = grow_tree(&t);
	}
	if (!err)
		err = choose_nodes(&t);
	if (!err) {
		t.small = malloc((t.shown + 1) * sizeof(*t.small));
		t.shown_as = malloc((t.count + 1) * sizeof(*t.shown_as));
		err = t.small && t.shown_as ? 0 : -ENOMEM;
	}
	if (!err) {
		memset(t.small, 0xff, (t.shown + 1) * sizeof(*t.small));
		name_functions(&t);
		find_shown(&t);
	}
	if (!err)
		err = write_out(&t, o, out);
	free(t.of_stack);
	free(t.function_at);
	free(t.small);
	free(t.shown_as);
	free(t.nodes);
	free(t.cells);
	return err ? err_set(e, err, "out of memory") : 0;
}
