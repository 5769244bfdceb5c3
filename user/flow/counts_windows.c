// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/counts_windows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RECORDS (16u << 20) /* of one kind */
#define TIME_LINK_VAR 0.7 /* of a ratio by time alone: instructions per time differ as between functions, twice */
#define Z95 1.96
#define MAX_WORK 1e9		/* instructions of one execution: more is damage */

static bool room(void **array, size_t count, size_t *cap, size_t item, struct err *e)
{
	size_t want = *cap ? *cap + *cap / 2 : 64;
	void *p;

	if (count < *cap)
		return true;
	if (count >= MAX_RECORDS) {
		err_set(e, -E2BIG, "the profile holds more than %u records of execution counts of one kind", MAX_RECORDS);
		return false;
	}
	p = realloc(*array, want * item);
	if (!p) {
		err_set(e, -ENOMEM, "out of memory");
		return false;
	}
	*array = p;
	*cap = want;
	return true;
}

/* Index of an id: that of an earlier record of it, or of a new one at the end. SIZE_MAX: no memory. */
static size_t slot_of(struct map *at, uint32_t id, size_t *count, struct err *e)
{
	bool added;
	uint64_t *v = map_put(at, id, &added);

	if (!v) {
		err_set(e, -ENOMEM, "out of memory");
		return SIZE_MAX;
	}
	if (added)
		*v = (*count)++;
	return *v;
}

static bool amount(double v)
{
	return v >= 0 && v < 1e18;
}

static int take_func(struct counts_record *r, const struct fmt_counts_func *f, struct err *e)
{
	size_t i;

	if (!f->id || !amount(f->self_ns)) {
		r->dropped++;
		return 0;
	}
	if (!room((void **)&r->func, r->funcs, &r->func_cap, sizeof(*r->func), e))
		return -ENOMEM;
	i = slot_of(&r->func_at, f->id, &r->funcs, e);
	if (i == SIZE_MAX)
		return -ENOMEM;
	r->func[i] = *f;
	return 0;
}

static int take_node(struct counts_record *r, const struct fmt_counts_node *n, struct err *e)
{
	size_t i;

	if (!r->nodes) {
		if (!room((void **)&r->node, 0, &r->node_cap, sizeof(*r->node), e))
			return -ENOMEM;
		r->node[r->nodes++] = (struct fmt_counts_node){ 0 };
	}
	if (!n->id || !(n->instructions >= 0 && n->instructions < MAX_WORK)) {
		r->dropped++;
		return 0;
	}
	if (!room((void **)&r->node, r->nodes, &r->node_cap, sizeof(*r->node), e))
		return -ENOMEM;
	i = slot_of(&r->node_at, n->id, &r->nodes, e);
	if (i == SIZE_MAX)
		return -ENOMEM;
	r->node[i] = *n;
	return 0;
}

static int take_link(struct counts_record *r, const struct fmt_counts_link *l, struct err *e)
{
	size_t i;

	if (!l->id || l->how < FMT_CL_ONCE || l->how > FMT_CL_RATE || (l->how == FMT_CL_ONCE && !amount(l->ratio))) {
		r->dropped++;
		return 0;
	}
	if (!room((void **)&r->link, r->links, &r->link_cap, sizeof(*r->link), e))
		return -ENOMEM;
	i = slot_of(&r->link_at, l->id, &r->links, e);
	if (i == SIZE_MAX)
		return -ENOMEM;
	r->link[i] = (struct counts_rec_link){ .l = *l };
	return 0;
}

static int take_window(struct counts_record *r, const struct fmt_counts_window *w, struct err *e)
{
	if (!amount(w->anchor) || !amount(w->child)) {
		r->dropped++;
		return 0;
	}
	if (!room((void **)&r->window, r->windows, &r->window_cap, sizeof(*r->window), e))
		return -ENOMEM;
	r->window[r->windows++] = *w;
	return 0;
}

static int take_block(struct counts_record *r, const struct fmt_counts_block *b, struct err *e)
{
	if (!room((void **)&r->block, r->blocks, &r->block_cap, sizeof(*r->block), e))
		return -ENOMEM;
	r->block[r->blocks++] = *b;
	return 0;
}

int counts_record_chunk(struct counts_record *r, const struct store_chunk *c, struct err *e)
{
	union {
		struct fmt_counts_func func;
		struct fmt_counts_node node;
		struct fmt_counts_block block;
		struct fmt_counts_link link;
		struct fmt_counts_window window;
	} u;
	int err = 0;

	if (c->section < FMT_COUNTS_FUNC || c->section > FMT_COUNTS_WINDOW || !c->rec_size)
		return 0;
	for (uint32_t i = 0; i < c->count && !err; i++) {
		store_rec(c, i, &u, sizeof(u));
		switch (c->section) {
		case FMT_COUNTS_FUNC: err = take_func(r, &u.func, e); break;
		case FMT_COUNTS_NODE: err = take_node(r, &u.node, e); break;
		case FMT_COUNTS_BLOCK: err = take_block(r, &u.block, e); break;
		case FMT_COUNTS_LINK: err = take_link(r, &u.link, e); break;
		case FMT_COUNTS_WINDOW: err = take_window(r, &u.window, e); break;
		}
	}
	return err;
}

/* ---- ids become indices ---- */

static bool index_of(const struct map *at, uint32_t id, uint32_t *out)
{
	uint64_t *v = map_get(at, id);

	if (v)
		*out = (uint32_t)*v;
	return v;
}

static int by_link(const void *pa, const void *pb)
{
	const struct fmt_counts_window *a = pa, *b = pb;

	if (a->link != b->link)
		return a->link < b->link ? -1 : 1;
	return a->armed < b->armed ? -1 : a->armed > b->armed;
}

static int by_node_addr(const void *pa, const void *pb)
{
	const struct fmt_counts_block *a = pa, *b = pb;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* A node without a function is no code; what refers to it goes as well. */
static void resolve_nodes(struct counts_record *r)
{
	for (size_t i = 1; i < r->nodes; i++) {
		if (index_of(&r->func_at, r->node[i].function, &r->node[i].function))
			continue;
		r->node[i].function = UINT32_MAX;
		r->dropped++;
	}
}

static bool real_node(const struct counts_record *r, uint32_t id, uint32_t *out)
{
	return index_of(&r->node_at, id, out) && r->node[*out].function != UINT32_MAX;
}

static void resolve_links(struct counts_record *r)
{
	for (size_t i = 0; i < r->links; i++) {
		struct fmt_counts_link *l = &r->link[i].l;
		bool parent = l->how == FMT_CL_RATE ? !l->parent : real_node(r, l->parent, &l->parent);

		if (parent && real_node(r, l->child, &l->child) && l->parent != l->child)
			continue;
		/* its windows keep their place: it only leads nowhere */
		l->how = 0;
		r->dropped++;
	}
}

int counts_record_end(struct counts_record *r, struct err *e)
{
	size_t out = 0;

	resolve_nodes(r);
	resolve_links(r);
	for (size_t i = 0; i < r->blocks; i++)
		if (real_node(r, r->block[i].node, &r->block[i].node))
			r->block[out++] = r->block[i];
		else
			r->dropped++;
	r->blocks = out;
	out = 0;
	for (size_t i = 0; i < r->windows; i++)
		if (index_of(&r->link_at, r->window[i].link, &r->window[i].link) && r->link[r->window[i].link].l.how)
			r->window[out++] = r->window[i];
		else
			r->dropped++;
	r->windows = out;
	if (r->blocks)
		qsort(r->block, r->blocks, sizeof(*r->block), by_node_addr);
	if (r->windows)
		qsort(r->window, r->windows, sizeof(*r->window), by_link);
	for (size_t i = r->windows; i-- > 0;) {
		r->link[r->window[i].link].window = i;
		r->link[r->window[i].link].windows++;
	}
	return 0;
}

void counts_record_release(struct counts_record *r)
{
	free(r->func);
	free(r->node);
	free(r->block);
	free(r->link);
	free(r->window);
	map_release(&r->func_at);
	map_release(&r->node_at);
	map_release(&r->link_at);
	memset(r, 0, sizeof(*r));
}

int counts_record_load(struct counts_record *r, const char *path, struct err *e)
{
	struct store_reader *reader = store_open(path, e);
	struct store_chunk c;
	int n;

	memset(r, 0, sizeof(*r));
	if (!reader)
		return e && e->code ? e->code : -EINVAL;
	while ((n = store_next(reader, &c, e)) > 0) {
		n = counts_record_chunk(r, &c, e);
		if (n)
			break;
	}
	n = n ? n : counts_record_end(r, e);
	store_reader_free(reader);
	if (n)
		counts_record_release(r);
	return n;
}

/* ---- the tree ---- */

/* Within a function, what no window saw has its share of the function's time. Never run is what most
 * code without samples is: it must not count as often as what surrounds it. */
static void by_time(const struct counts_record *r, size_t i, struct counts_ratio *out)
{
	const struct fmt_counts_link *l = &r->link[i].l;
	const struct fmt_counts_node *p = &r->node[l->parent], *c = &r->node[l->child];
	const struct fmt_counts_func *f;
	double per_sample, parent, child;

	if (l->how != FMT_CL_RATIO || (l->flags & FMT_CL_CALL) || !l->parent || c->function == UINT32_MAX ||
	    !(c->instructions > 0) || !(p->instructions > 0))
		return;
	f = &r->func[c->function];
	if (!f->samples || !(f->self_ns > 0))
		return;
	per_sample = f->self_ns / (double)f->samples;
	parent = (p->self_ns + 0.5 * per_sample) / p->instructions;
	child = (c->self_ns + (c->samples ? 0 : 0.1) * per_sample) / c->instructions;
	out->how = COUNTS_TIME;
	out->ratio = child / parent;
	out->log_var = TIME_LINK_VAR + 1 / ((double)c->samples + 0.5) + 1 / ((double)p->samples + 0.5);
	out->low = out->ratio * exp(-Z95 * sqrt(out->log_var));
	out->high = out->ratio * exp(Z95 * sqrt(out->log_var));
}

static int link_ratio(const struct counts_record *r, size_t i, struct counts_ratio *out)
{
	const struct counts_rec_link *l = &r->link[i];
	struct counts_window *w;

	*out = counts_ratio_unknown();
	if (l->l.how == FMT_CL_ONCE) {
		*out = counts_ratio_once();
		out->ratio = out->low = out->high = l->l.ratio;
		return 0;
	}
	w = malloc((l->windows + 1) * sizeof(*w));
	if (!w)
		return -ENOMEM;
	for (size_t k = 0; k < l->windows; k++)
		w[k] = (struct counts_window){ r->window[l->window + k].anchor, r->window[l->window + k].child };
	switch (l->l.how) {
	case FMT_CL_TRIPS: counts_ratio_of(w, l->windows, COUNTS_TRIPS, out); break;
	case FMT_CL_RATIO: counts_ratio_of(w, l->windows, COUNTS_RATIO, out); break;
	case FMT_CL_RATE: counts_ratio_of(w, l->windows, COUNTS_RATE, out); break;
	}
	free(w);
	if (out->how == COUNTS_UNKNOWN)
		by_time(r, i, out);
	return 0;
}

struct builder {
	const struct counts_record *r;
	struct counts_ratio *ratio; /* by link of the record */
	bool *used;
	size_t *best; /* by node: the better known of the rivals within the function, plus one */
};

/* Calls add up and are all needed; rates stand beside them as what the sum is compared with. Within
 * a function there is one way from above, and the better known measurement of it is taken. */
static int choose_links(struct builder *b)
{
	const struct counts_record *r = b->r;

	for (size_t i = 0; i < r->links; i++) {
		const struct fmt_counts_link *l = &r->link[i].l;
		int err = link_ratio(r, i, &b->ratio[i]);
		size_t *best = &b->best[l->how ? l->child : 0];

		if (err)
			return err;
		if (!l->how)
			continue;
		if (l->how == FMT_CL_RATE)
			b->used[i] = b->ratio[i].how == COUNTS_RATE;
		else if (l->flags & FMT_CL_CALL)
			b->used[i] = true;
		else if (!*best || b->ratio[i].log_var < b->ratio[*best - 1].log_var)
			*best = i + 1;
	}
	for (size_t n = 1; n < r->nodes; n++)
		if (b->best[n])
			b->used[b->best[n] - 1] = true;
	return 0;
}

static int fill(struct builder *b, struct counts_built *out)
{
	const struct counts_record *r = b->r;
	struct counts_tree *t = &out->tree;
	double time = 0, samples = 0;

	t->nodes = (uint32_t)r->nodes;
	t->link = calloc(r->links + 1, sizeof(*t->link));
	out->link_of = calloc(r->links + 1, sizeof(*out->link_of));
	t->part = calloc(r->nodes + 1, sizeof(*t->part));
	t->group = calloc(r->funcs + 1, sizeof(*t->group));
	t->runs = calloc(r->nodes + 1, sizeof(*t->runs));
	if (!t->link || !out->link_of || !t->part || !t->group || !t->runs)
		return -ENOMEM;
	for (size_t i = 0; i < r->links; i++) {
		if (!b->used[i])
			continue;
		t->link[t->links] = (struct counts_link){ .parent = r->link[i].l.parent, .child = r->link[i].l.child, .ratio = b->ratio[i] };
		out->link_of[t->links++] = i;
	}
	for (uint32_t n = 1; n < r->nodes; n++)
		if (r->node[n].function != UINT32_MAX)
			t->part[t->parts++] = (struct counts_part){ .node = n, .group = r->node[n].function, .instructions = r->node[n].instructions };
	t->groups = r->funcs;
	t->absolute = true;
	for (size_t g = 0; g < r->funcs; g++) {
		const struct fmt_counts_func *f = &r->func[g];

		t->group[g] = (struct counts_group){ .time = f->self_ns, .samples = f->samples,
						     .partial = !(f->flags & FMT_CF_GRAPH) };
		time += f->self_ns;
		samples += (double)f->samples;
	}
	t->sample = samples > 0 ? time / samples : 0;
	return 0;
}

int counts_record_tree(const struct counts_record *r, struct counts_built *out, struct err *e)
{
	struct builder b = { .r = r };
	int err;

	memset(out, 0, sizeof(*out));
	b.ratio = calloc(r->links + 1, sizeof(*b.ratio));
	b.used = calloc(r->links + 1, sizeof(*b.used));
	b.best = calloc(r->nodes + 1, sizeof(*b.best));
	err = b.ratio && b.used && b.best ? 0 : -ENOMEM;
	err = err ? err : choose_links(&b);
	err = err ? err : fill(&b, out);
	free(b.ratio);
	free(b.used);
	free(b.best);
	if (err) {
		counts_built_release(out);
		return err_set(e, err, "out of memory");
	}
	return 0;
}

void counts_built_release(struct counts_built *b)
{
	free(b->tree.link);
	free(b->tree.part);
	free(b->tree.group);
	free(b->tree.runs);
	free(b->link_of);
	memset(b, 0, sizeof(*b));
}
