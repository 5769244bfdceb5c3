// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/writer_error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct flow_range writer_proportion(double part, double trials, double z)
{
	double z2 = z * z / trials, middle = (part + z2 / 2) / (1 + z2);
	double half = z / (1 + z2) * sqrt(fmax(0, part * (1 - part)) / trials + z2 / (4 * trials));

	return (struct flow_range){ part, fmax(0, middle - half), fmin(1, middle + half) };
}

static void fill_edges_of(struct writer_error *w, const struct edge_ids *ids, const struct writer_evidence *of,
			  const struct edge_sums *all, const double *nobody)
{
	for (uint32_t i = 0; i < ids->count; i++) {
		uint32_t c = ids->consumer[i], p = ids->producer[i];
		double in = all->in[c];
		struct flow_range r;

		if (!(in > 0) || !(of->edge[i] >= 0))
			continue;
		r = writer_proportion(fmin(1, of->edge[i] / in), of->trials[c], of->z);
		w->less[i] = fmax(0, r.value - r.low) * in;
		w->more[i] = fmax(0, r.high - r.value) * in + nobody[c];
		w->out_less[p] += w->less[i] * w->less[i];
		w->out_more[p] += w->more[i] * w->more[i];
	}
}

int writer_error_of(struct writer_error *w, const struct edge_ids *ids, const struct writer_evidence *of)
{
	const uint32_t functions = of->functions, unknown = of->unknown;
	const double *edge = of->edge;
	size_t n = ids->count + 1, g = (size_t)functions + 1;
	double *block = calloc(2 * n + 5 * g, sizeof(*block)), *nobody = block + 2 * n + 2 * g;
	struct edge_sums all = { nobody + g, nobody + 2 * g };

	*w = (struct writer_error){ 0 };
	if (!block)
		return -ENOMEM;
	*w = (struct writer_error){ block, block + n, block + 2 * n, block + 2 * n + g };
	edge_ids_sum(ids, functions, edge, &all);
	for (uint32_t i = 0; i < ids->count; i++)
		if (ids->producer[i] == unknown)
			nobody[ids->consumer[i]] += edge[i];
	fill_edges_of(w, ids, of, &all, nobody);
	for (uint32_t i = 0; i < ids->count; i++)
		if (ids->producer[i] == unknown) {
			w->less[i] = edge[i];
			w->more[i] -= nobody[ids->consumer[i]];
		}
	for (uint32_t f = 0; f < functions; f++) {
		w->out_less[f] = f == unknown ? all.out[f] : sqrt(w->out_less[f]);
		w->out_more[f] = sqrt(w->out_more[f]);
	}
	return 0;
}

void writer_error_release(struct writer_error *w)
{
	free(w->less);
	*w = (struct writer_error){ 0 };
}
