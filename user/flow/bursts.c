// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/bursts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BINS 64
#define LEAST_LEFT 0.05 /* of a load's bytes must have been able to see so far back, else nothing is said of it */
#define FAR_BIN 12 /* 4096 instructions and more: a burst has ten thousand */
#define FEW 1.0 /* bursts: with so many as that, half of what they say is believed */

static int by_reader(const void *a, const void *b)
{
	const struct in_burst_pair *x = a, *y = b;

	if (x->reader != y->reader)
		return x->reader < y->reader ? -1 : 1;
	return (x->bin > y->bin) - (x->bin < y->bin);
}

static int by_writer(const void *a, const void *b)
{
	const struct burst_writer *x = a, *y = b;

	return (x->func > y->func) - (x->func < y->func);
}

/* Of one load, sorted by how long ago. Those that saw no write as far back as they could tell nothing of what lies
 * further back, and within the last bin they could see for half of it. */
static double one_load(struct bursts *b, const struct flow_input *in, const struct in_burst_pair *p, size_t n, double believed)
{
	size_t first = b->count, merged = first;
	double all = 0, left, older = 1;

	for (size_t i = 0; i < n; i++)
		all += p[i].bytes;
	left = all;
	for (size_t i = 0, end; i < n; i = end) {
		double could = left, seen = 0, gone = 0;

		for (end = i; end < n && p[end].bin == p[i].bin; end++) {
			gone += p[end].bytes;
			could -= p[end].writer == FLOW_NONE ? p[end].bytes / 2 : 0;
		}
		if (!(could > LEAST_LEFT * all))
			break;
		for (size_t k = i; k < end; k++) {
			double part = older * p[k].bytes / could * believed;

			if (p[k].writer == FLOW_NONE)
				continue;
			seen += p[k].bytes;
			b->writer[b->count++] = (struct burst_writer){ .site = p->reader, .func = in->sites[p[k].writer].func, .part = part,
								       .far = p[k].bin >= FAR_BIN ? part : 0 };
		}
		older *= seen < could ? 1 - seen / could : 0;
		left -= gone;
	}
	qsort(b->writer + first, b->count - first, sizeof(*b->writer), by_writer);
	for (size_t i = first; i < b->count; i++) {
		if (merged > first && b->writer[merged - 1].func == b->writer[i].func) {
			b->writer[merged - 1].part += b->writer[i].part;
			b->writer[merged - 1].far += b->writer[i].far;
		} else {
			b->writer[merged++] = b->writer[i];
		}
	}
	b->count = merged;
	return 1 - (1 - older) * believed;
}

int bursts_learn(struct bursts *b, const struct flow_input *in)
{
	struct in_burst_pair *p = malloc((in->burst_pair_count + 1) * sizeof(*p));
	double *met = calloc(in->site_count + 1, sizeof(*met));

	*b = (struct bursts){ .sites = in->site_count };
	b->older = malloc((in->site_count + 1) * sizeof(*b->older));
	b->writer = malloc((in->burst_pair_count + 1) * sizeof(*b->writer));
	if (!p || !met || !b->older || !b->writer) {
		free(p);
		free(met);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < in->site_count; i++)
		b->older[i] = 1;
	for (size_t i = 0; i < in->burst_site_count; i++)
		met[in->burst_site[i].site] += in->burst_site[i].bursts;
	memcpy(p, in->burst_pair, in->burst_pair_count * sizeof(*p));
	qsort(p, in->burst_pair_count, sizeof(*p), by_reader);
	for (size_t i = 0, end; i < in->burst_pair_count; i = end) {
		double n = met[p[i].reader];

		for (end = i; end < in->burst_pair_count && p[end].reader == p[i].reader; end++)
			;
		b->older[p[i].reader] = one_load(b, in, p + i, end - i, n / (n + FEW));
	}
	free(p);
	free(met);
	return 0;
}

void bursts_release(struct bursts *b)
{
	free(b->writer);
	free(b->older);
	memset(b, 0, sizeof(*b));
}
