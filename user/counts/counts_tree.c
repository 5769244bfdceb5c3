// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree: what runs how often by its links, and how the logs of what is observed hang on them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts/counts_priv.h"

#define CUTS_MOST 256 /* of links within a function, each of which begins the walk anew */

struct counts_tree_walk {
	size_t *out_first, *out, *at; /* links by parent; where each node of the stack is among its own */
	uint32_t *stack, top;
	uint8_t *mark;
};

/* Places of a function that are measured by each other: the least known of the links that lead around. What goes
 * through calls is cut where it is closed. */
static size_t where_to_cut(const struct counts_tree *t, const struct counts_tree_walk *w, size_t closing)
{
	size_t least = closing;

	for (uint32_t k = w->top - 1; !t->link[closing].call && k > 0 && w->stack[k] != t->link[closing].child; k--) {
		size_t l = w->out[w->at[w->stack[k - 1]] - 1];

		if (t->link[l].call)
			return closing;
		if (t->link[l].ratio.log_var > t->link[least].ratio.log_var)
			least = l;
	}
	return least;
}

/* From r on; false: a link was cut that had been followed. */
static bool walk_from(struct counts_solver *s, struct counts_tree_walk *w, uint32_t r, uint32_t *left, bool may_return)
{
	struct counts_tree *t = s->t;

	w->top = 0;
	w->stack[w->top++] = r;
	w->mark[r] = 1;
	while (w->top) {
		uint32_t v = w->stack[w->top - 1], to;
		size_t l, cut;

		if (w->at[v] == w->out_first[v + 1]) {
			w->mark[v] = 2;
			s->order[--*left] = v;
			w->top--;
			continue;
		}
		l = w->out[w->at[v]++];
		to = t->link[l].child;
		if (t->link[l].cycle)
			continue;
		if (w->mark[to] == 1) {
			cut = may_return ? where_to_cut(t, w, l) : l;
			t->link[cut].cycle = true;
			t->cycles++;
			if (cut != l)
				return false;
		} else if (!w->mark[to]) {
			w->mark[to] = 1;
			w->stack[w->top++] = to;
		}
	}
	return true;
}

/* Roots first, so that a cycle is cut where it is entered from outside. */
static bool walk_all(struct counts_solver *s, struct counts_tree_walk *w, bool may_return)
{
	uint32_t left = s->t->nodes;

	memset(w->mark, 0, s->t->nodes);
	memcpy(w->at, w->out_first, s->t->nodes * sizeof(*w->at));
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t r = 0; r < s->t->nodes; r++)
			if (!w->mark[r] && (pass || s->first_in[r + 1] == s->first_in[r]) &&
			    !walk_from(s, w, r, &left, may_return))
				return false;
	return true;
}

int counts_order(struct counts_solver *s)
{
	struct counts_tree *t = s->t;
	size_t *out_first = calloc((size_t)t->nodes + 2, sizeof(*out_first));
	size_t *out = malloc((t->links + 1) * sizeof(*out)), *at = malloc(((size_t)t->nodes + 1) * sizeof(*at));
	struct counts_tree_walk w = { .out_first = out_first,
				      .out = out,
				      .at = at,
				      .stack = malloc(((size_t)t->nodes + 1) * sizeof(*w.stack)),
				      .mark = malloc((size_t)t->nodes + 1) };
	int rc = out_first && out && at && w.stack && w.mark ? 0 : -ENOMEM;

	if (rc)
		goto out;
	for (size_t i = 0; i < t->links; i++) {
		if (counts_is_rate(&t->link[i]))
			continue;
		out_first[t->link[i].parent + 1]++;
		s->first_in[t->link[i].child + 1]++;
	}
	for (uint32_t i = 0; i < t->nodes; i++) {
		out_first[i + 1] += out_first[i];
		s->first_in[i + 1] += s->first_in[i];
		at[i] = out_first[i];
	}
	for (size_t i = 0; i < t->links; i++)
		if (!counts_is_rate(&t->link[i]))
			out[at[t->link[i].parent]++] = i;
	for (uint32_t i = 0; i < t->nodes; i++)
		at[i] = s->first_in[i];
	for (size_t i = 0; i < t->links; i++)
		if (!counts_is_rate(&t->link[i]))
			s->by_child[at[t->link[i].child]++] = i;
	for (unsigned i = 0; !walk_all(s, &w, i < CUTS_MOST); i++)
		;
out:
	free(out_first);
	free(out);
	free(at);
	free(w.stack);
	free(w.mark);
	return rc;
}

static double shifted_ratio(const struct counts_solver *s, size_t link)
{
	double r = s->t->link[link].ratio.ratio;

	return (isnan(r) ? 1 : r) * exp(-s->shift[link]);
}

void counts_run_tree(struct counts_solver *s)
{
	struct counts_tree *t = s->t;

	for (uint32_t i = 0; i < t->nodes; i++) {
		uint32_t v = s->order[i];
		bool cycle = false, any = false;

		s->x[v] = 0;
		for (size_t k = s->first_in[v]; k < s->first_in[v + 1]; k++) {
			size_t l = s->by_child[k];

			cycle |= t->link[l].cycle;
			if (t->link[l].cycle)
				continue;
			any = true;
			s->use[l] = shifted_ratio(s, l);
			s->x[v] += s->use[l] * s->x[t->link[l].parent];
		}
		if (!any)
			s->x[v] = 1;
		s->root[v] = !any || cycle;
		s->x[v] = fmin(fmax(s->x[v] * exp(-s->shift[t->links + v]), COUNTS_TINY), 1 / COUNTS_TINY);
	}
	memset(s->per_group, 0, t->groups * sizeof(*s->per_group));
	for (size_t i = 0; i < t->parts; i++)
		s->per_group[t->part[i].group] += t->part[i].instructions * s->x[t->part[i].node];
}

static void touch_error(struct counts_solver *s, size_t error, double pull)
{
	s->pull[error] = pull;
	s->touched[s->touched_count++] = error;
}

/* From s->adjoint (d value / d x by node, used up; of the last node in the order and those before) to s->pull: d value
 * / d error, by error. Errors are counted as what the log of a ratio is too high by. */
static void adjoint(struct counts_solver *s, uint32_t last)
{
	const struct counts_tree *t = s->t;

	for (size_t i = 0; i < s->touched_count; i++)
		s->pull[s->touched[i]] = 0;
	s->touched_count = 0;
	for (uint32_t i = last + 1; i-- > 0;) {
		uint32_t v = s->order[i];
		double flow = s->adjoint[v], scale;

		if (!(flow > 0))
			continue;
		scale = s->root[v] ? exp(-s->shift[t->links + v]) : 1;
		s->adjoint[v] = 0;
		if (s->root[v])
			touch_error(s, t->links + v, flow * s->x[v]);
		for (size_t k = s->first_in[v]; k < s->first_in[v + 1]; k++) {
			size_t l = s->by_child[k];
			double via;

			if (t->link[l].cycle)
				continue;
			/* where a cycle is entered, all that comes in is scaled as well */
			via = flow * scale * s->use[l];
			s->adjoint[t->link[l].parent] += via;
			touch_error(s, l, via * s->x[t->link[l].parent]);
		}
	}
}

/* The row of what is observed as number k into s->pull. */
void counts_row(struct counts_solver *s, uint32_t k)
{
	const struct counts_tree *t = s->t;
	uint32_t at = s->seen[k].index, last = 0;

	if (s->seen[k].rate) {
		last = s->rank[t->link[at].child];
		s->adjoint[t->link[at].child] += 1 / s->x[t->link[at].child];
	} else {
		for (size_t i = s->first_part[at]; i < s->first_part[at + 1]; i++) {
			const struct counts_piece *p = &t->part[s->by_group[i]];

			last = s->rank[p->node] > last ? s->rank[p->node] : last;
			s->adjoint[p->node] += p->instructions / fmax(s->per_group[at], COUNTS_TINY);
		}
	}
	adjoint(s, last);
}

void counts_node_row(struct counts_solver *s, uint32_t node)
{
	s->adjoint[node] += 1 / s->x[node];
	adjoint(s, s->rank[node]);
}
