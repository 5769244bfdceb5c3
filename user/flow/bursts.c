// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/bursts.h"
#include "volume/block_balance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_LEFT 0.05 /* of a load's bytes must have been able to see so far back, else nothing is said of it */
#define FAR_BIN 12      /* 4096 instructions and more: a burst has ten thousand */
#define FEW 1.0         /* bursts: with so many as that, half of what they say is believed */

struct bursts_order {            /* of a pair, while they are sorted */
	uint32_t site, by, pair; /* by: bin, or who wrote */
};

static int by_load_site(const void *a, const void *b)
{
	const struct bursts_order *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->by > y->by) - (x->by < y->by);
}

/* Those that saw no write as far back as they could tell nothing of what lies further back, and within the last bin
 * they could see for half of it. */
static double one_load(struct bursts *b, const struct burst_pair *p, size_t n, double believed)
{
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
			b->writer[p[k].writer].part += part;
			b->writer[p[k].writer].far += p[k].bin >= FAR_BIN ? part : 0;
		}
		older *= seen < could ? 1 - seen / could : 0;
		left -= gone;
	}
	return 1 - (1 - older) * believed;
}

/* How often the blocks of a function ran, of all that ran in it. */
static void weigh_blocks(struct bursts *b, const struct flow_input *in, const uint8_t *times)
{
	const struct in_parts *p = &in->parts;
	double *then = b->work + p->blocks;

	memset(b->runs, 0, p->blocks * sizeof(*b->runs));
	memset(b->work, 0, 2 * p->blocks * sizeof(*b->work));
	for (size_t i = 0; i < p->runs_count; i++)
		b->runs[p->runs[i].block] += times[p->runs[i].part] * p->runs[i].runs;
	for (size_t i = 0; i < p->blocks; i++) {
		b->work[p->block[i].function] += b->runs[i] * p->block[i].instructions;
		then[p->block[i].function] += p->block[i].runs * p->block[i].instructions;
	}
	for (size_t i = 0; i < p->blocks; i++) {
		double now = b->work[p->block[i].function], was = p->block[i].runs;

		b->runs[i] = now > 0 && was > 0 ? b->runs[i] / was * then[p->block[i].function] / now : 1;
	}
	for (uint32_t i = 0; i < in->site_count; i++)
		b->volume[i] = in->sites[i].block ? b->runs[in->sites[i].block - 1] : 1;
}

static void take_sums(struct bursts *b, const struct flow_input *in, const uint8_t *times)
{
	for (size_t i = 0; i < in->burst_pair_count && b->pairs; i++)
		b->pair[b->pair_at[i]].bytes = times ? 0 : in->burst_pair[i].bytes;
	for (size_t i = 0; i < in->burst_site_count && !times; i++)
		b->met[in->burst_site[i].site] += in->burst_site[i].bursts;
	for (size_t i = 0; i < in->parts.pairs && times && b->pairs; i++)
		b->pair[b->pair_at[in->parts.pair[i].pair]].bytes +=
			times[in->parts.pair[i].part] * in->parts.pair[i].bytes;
	for (size_t i = 0; i < in->parts.sites && times; i++)
		b->met[in->parts.site[i].site] += times[in->parts.site[i].part] * (double)in->parts.site[i].bursts;
}

void bursts_again(struct bursts *b, const struct flow_input *in, const uint8_t *times)
{
	memset(b->met, 0, b->sites * sizeof(*b->met));
	for (uint32_t i = 0; i < b->sites; i++)
		b->older[i] = b->volume[i] = 1;
	for (size_t i = 0; i < b->count; i++)
		b->writer[i].part = b->writer[i].far = 0;
	take_sums(b, in, times);
	for (size_t i = 0, end; i < b->pairs; i = end) {
		uint32_t site = b->pair[i].site;

		for (end = i; end < b->pairs && b->pair[end].site == site; end++)
			;
		b->older[site] = one_load(b, b->pair + i, end - i, b->met[site] / (b->met[site] + FEW));
	}
	if (times)
		weigh_blocks(b, in, times);
}

/* Pairs by reader and bin, writers by reader and function. */
static void put_in_order(struct bursts *b, const struct flow_input *in, struct bursts_order *o)
{
	size_t n = in->burst_pair_count;

	for (size_t i = 0; i < n; i++)
		o[i] = (struct bursts_order){ in->burst_pair[i].reader, in->burst_pair[i].bin, (uint32_t)i };
	qsort(o, n, sizeof(*o), by_load_site);
	for (size_t i = 0; i < n; i++) {
		b->pair[i] = (struct burst_pair){ .site = o[i].site, .bin = o[i].by, .writer = FLOW_NONE };
		b->pair_at[o[i].pair] = (uint32_t)i;
	}
	b->pairs = n;
	n = 0;
	for (size_t i = 0; i < in->burst_pair_count; i++)
		if (in->burst_pair[i].writer != FLOW_NONE)
			o[n++] = (struct bursts_order){ in->burst_pair[i].reader,
							in->sites[in->burst_pair[i].writer].func, (uint32_t)i };
	qsort(o, n, sizeof(*o), by_load_site);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_load_site(&o[i - 1], &o[i]))
			b->writer[b->count++] = (struct burst_writer){ .site = o[i].site, .func = o[i].by };
		b->pair[b->pair_at[o[i].pair]].writer = (uint32_t)b->count - 1;
	}
}

int bursts_learn(struct bursts *b, const struct flow_input *in, bool producers)
{
	struct bursts_order *o = malloc((in->burst_pair_count + 1) * sizeof(*o));

	*b = (struct bursts){ .sites = in->site_count };
	b->older = malloc((in->site_count + 1) * sizeof(*b->older));
	b->met = malloc((in->site_count + 1) * sizeof(*b->met));
	b->volume = malloc((in->site_count + 1) * sizeof(*b->volume));
	b->writer = malloc((in->burst_pair_count + 1) * sizeof(*b->writer));
	b->pair = malloc((in->burst_pair_count + 1) * sizeof(*b->pair));
	b->pair_at = malloc((in->burst_pair_count + 1) * sizeof(*b->pair_at));
	b->runs = malloc((in->parts.blocks + 1) * sizeof(*b->runs));
	b->work = malloc((2 * in->parts.blocks + 1) * sizeof(*b->work));
	if (!o || !b->older || !b->met || !b->volume || !b->writer || !b->pair || !b->pair_at || !b->runs || !b->work) {
		free(o);
		return -ENOMEM;
	}
	if (producers)
		put_in_order(b, in, o);
	bursts_again(b, in, NULL);
	free(o);
	return 0;
}

void bursts_release(struct bursts *b)
{
	free(b->writer);
	free(b->older);
	free(b->pair);
	free(b->pair_at);
	free(b->met);
	free(b->volume);
	free(b->runs);
	free(b->work);
	memset(b, 0, sizeof(*b));
}
