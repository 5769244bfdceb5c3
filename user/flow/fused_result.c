// SPDX-License-Identifier: GPL-2.0-or-later
/* The fused estimator's edges: bytes, intervals from refits and from how far windows and records disagree. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/edge_unique.h"
#include "flow/fused_priv.h"
#include "util/normal.h"

/* Samples and the share of them whose producer was told by the very granule, by edge. */
void fused_support(const struct fused_fit *f, double *n, double *near)
{
	for (size_t i = 0; i < f->c.read_count; i++) {
		uint32_t e = f->cell[f->read_cell[i]].edge;

		n[e]++;
		near[e] += f->c.reads[i].a.near <= NEAR_LINE || f->c.reads[i].a.near == NEAR_NONE;
	}
}

/* By function: the windows that looked at what it reads, and what records count as beside them. */
int fused_writer_errors(const struct fused_fit *f, const double *edge, struct writer_error *we)
{
	double *trials = malloc((f->in->func_count + 1) * sizeof(*trials));
	const struct writer_evidence of = { edge, trials, f->in->func_count, f->in->unknown, normal_half(f->o->level) };
	int err;

	for (uint32_t i = 0; i < f->in->func_count && trials; i++)
		trials[i] = PRIOR;
	for (size_t i = 0; i < f->ev_count && trials; i++)
		trials[f->edges.consumer[f->cell[f->ev[i].cell].edge]] += fmin(f->ev[i].weight, 1);
	err = trials ? writer_error_of(we, &f->edges, &of) : -ENOMEM;
	free(trials);
	return err;
}

/* What scatters and what windows and records disagree by; and what may be wrong although they do not. */
static void edge_range(const struct fused_fit *f, const struct parts *p, const struct resample_spread *sp, uint32_t i,
		       struct flow_edge *e)
{
	double half = spread_half_width(sp, i, f->o) + farther_of(p->cascade[i], p->windows[i], p->fused[i]);

	e->low = fmax(0, e->bytes - hypot(half, p->we.less[i]));
	e->high = e->bytes + hypot(half, p->we.more[i]);
}

/*
 * Of each read, the chance that another of its possible writers wrote than is told: that two draws from them differ.
 * What bursts saw needs no guess, and windows count against it as they do against records. And bytes with no writer at
 * all by where they lie, which others that the instruction reads then stand for.
 */
int fused_guesses(const struct fused_fit *f, const struct fused_scratch *s, struct flow *out)
{
	double *among = calloc(3 * ((size_t)f->c.site_count + 1), sizeof(*among));
	double *nobody = among + f->c.site_count + 1, *all = nobody + f->c.site_count + 1;

	if (!among)
		return -ENOMEM;
	for (size_t i = 0; i < f->c.read_count; i++) {
		const struct read_answer *r = &f->c.reads[i];
		double bytes = r->burst ? (double)r->size : r->bytes, alike = 0;

		if (!r->burst && s->before_site[r->site] > 0)
			continue; /* as take_recent() has it */
		for (size_t k = f->read_first[i]; k < f->read_first[i + 1]; k++)
			alike += f->read_part[k].part * f->read_part[k].part;
		all[r->site] += bytes;
		*(f->read_first[i] < f->read_first[i + 1] ? &among[r->site] : &nobody[r->site]) += bytes * (1 - alike);
	}
	out->guessed = out->unseen = 0;
	for (uint32_t i = 0; i < f->c.site_count; i++) {
		double left = all[i] > 0 ? s->left[i] / all[i] : 0;

		out->guessed += left * among[i] * PRIOR / (PRIOR + s->seen[i]);
		out->unseen += left * nobody[i];
	}
	free(among);
	return 0;
}

void fused_earlier(const struct fused_fit *f, const struct fused_scratch *s, struct flow *out)
{
	const struct bursts *b = &f->bursts;

	out->earlier = 0;
	for (size_t i = 0; i < b->count; i++)
		out->earlier += b->writer[i].then * s->volume[b->writer[i].site];
	out->earlier_compared = b->compared;
	out->earlier_dropped = b->dropped;
}

int fused_result(const struct fused_fit *f, enum fused_use use, const struct parts *p, const struct resample_spread *sp,
		 struct edge_sums *t, struct flow *out)
{
	uint32_t *id = malloc((f->in->func_count + 1) * sizeof(*id));
	uint32_t m = f->edges.count, g = f->in->func_count;

	if (!id)
		return -ENOMEM;
	memset(id, 0xff, (g + 1) * sizeof(*id));
	for (uint32_t i = 0; i < m; i++) {
		const double *value = use == USE_BOTH ? p->fused : use == USE_CASCADE ? p->cascade : p->windows;
		uint32_t fn[2] = { f->edges.producer[i], f->edges.consumer[i] };
		struct flow_edge *edge;

		if (!(value[i] > 0))
			continue;
		for (int k = 0; k < 2; k++)
			if (id[fn[k]] == FLOW_NONE)
				id[fn[k]] = flow_func(out, f->in->funcs[fn[k]].name, f->in->funcs[fn[k]].object);
		edge = flow_edge(out, id[fn[0]], id[fn[1]]);
		if (!edge)
			break;
		edge->bytes += value[i];
		edge->samples = p->n[i];
		if (sp->n)
			edge->sd = spread_deviation(&sp[BY_CHANCE], i, f->o);
		if (sp->n)
			edge_range(f, p, &sp[IN_ALL], i, edge);
		/* told by the neighbourhood only, or told differently by the windows */
		edge->unresolved = p->near[i] < p->n[i] / 2;
		if (!isnan(p->windows[i]) &&
		    fabs(p->windows[i] - p->cascade[i]) > 0.5 * fmax(p->windows[i], p->cascade[i]))
			edge->unresolved = true;
	}
	for (int k = 0; sp->n && k < 3; k++)
		edge_ids_sum(&f->edges, g, k == 0 ? p->fused : k == 1 ? p->cascade : p->windows, &t[k]);
	for (uint32_t i = 0; sp->n && i < g; i++) {
		struct flow_func *fn = id[i] == FLOW_NONE ? NULL : &out->funcs[id[i]];
		double half;

		if (!fn)
			continue;
		spread_range(t[0].in[i], spread_half_width(&sp[IN_ALL], m + i, f->o), &fn->in_low, &fn->in_high);
		half = spread_half_width(&sp[IN_ALL], (size_t)m + g + i, f->o) +
		       farther_of(t[1].out[i], t[2].out[i], t[0].out[i]);
		fn->out_low = fmax(0, t[0].out[i] - hypot(half, p->we.out_less[i]));
		fn->out_high = t[0].out[i] + hypot(half, p->we.out_more[i]);
	}
	free(id);
	return 0;
}

/* Of the addresses whose producer the store records tell; edges that only windows know stay unknown. */
int fused_unique(const struct fused_fit *f, struct flow *out)
{
	uint32_t *edge = malloc((f->c.read_count + 1) * sizeof(*edge));
	int err;

	for (size_t i = 0; edge && i < f->c.read_count; i++)
		edge[i] = f->c.reads[i].a.near != NEAR_BLIND && !f->c.reads[i].burst ? f->cell[f->read_cell[i]].edge
										     : FLOW_NONE;
	err = edge ? edge_unique(f->in, &f->c, &f->edges, edge, out) : -ENOMEM;
	free(edge);
	return err;
}
