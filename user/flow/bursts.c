// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/bursts.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/earlier_worth.h"
#include "flow/resample.h"
#include "volume/block_balance.h"

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
			b->writer[p[k].writer].then += p[k].bytes > 0 ? part * p[k].then / p[k].bytes : 0;
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
	for (size_t i = 0; i < b->pairs; i++)
		b->pair[i].bytes = b->pair[i].then = 0;
	for (size_t i = 0; i < in->burst_pair_count && b->pairs && !times; i++)
		b->pair[b->pair_at[i]].bytes = in->burst_pair[i].bytes;
	for (size_t i = 0; i < in->burst_site_count && !times; i++)
		b->met[in->burst_site[i].site] += in->burst_site[i].bursts;
	for (size_t i = 0; i < in->parts.pairs && times && b->pairs; i++)
		b->pair[b->pair_at[in->parts.pair[i].pair]].bytes +=
			times[in->parts.pair[i].part] * in->parts.pair[i].bytes;
	for (size_t i = 0; i < in->parts.sites && times; i++)
		b->met[in->parts.site[i].site] += times[in->parts.site[i].part] * (double)in->parts.site[i].bursts;
	if (!b->worth)
		return;
	for (size_t i = 0; i < in->earlier_site_count; i++)
		b->met[in->earlier_site[i].site] +=
			in->earlier_site[i].bursts * b->worth[in->sites[in->earlier_site[i].site].func];
	for (size_t i = 0; i < in->earlier_pair_count && b->pairs; i++) {
		struct burst_pair *p = &b->pair[b->pair_at[in->burst_pair_count + i]];

		p->then = in->earlier_pair[i].bytes * b->worth[in->sites[p->site].func] * b->drawn[i];
		p->bytes += p->then;
	}
}

void bursts_again(struct bursts *b, const struct flow_input *in, const uint8_t *times)
{
	memset(b->met, 0, b->sites * sizeof(*b->met));
	for (uint32_t i = 0; i < b->sites; i++)
		b->older[i] = b->volume[i] = 1;
	for (size_t i = 0; i < b->count; i++)
		b->writer[i].part = b->writer[i].far = b->writer[i].then = 0;
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

/* Pairs of this recording, then those of earlier ones. */
static struct burst_pair nth_pair(const struct flow_input *in, size_t i)
{
	const struct in_burst_pair *p = &in->burst_pair[i];
	const struct in_earlier_pair *e;

	if (i < in->burst_pair_count)
		return (struct burst_pair){ p->reader, p->bin,
					    p->writer == FLOW_NONE ? FLOW_NONE : in->sites[p->writer].func, p->bytes,
					    0 };
	e = &in->earlier_pair[i - in->burst_pair_count];
	return (struct burst_pair){ e->reader, e->bin, e->writer, 0, e->bytes };
}

/* Pairs by reader and bin, writers by reader and function. */
static void put_in_order(struct bursts *b, const struct flow_input *in, struct bursts_order *o)
{
	size_t n = in->burst_pair_count + in->earlier_pair_count, writers = 0;

	for (size_t i = 0; i < n; i++) {
		struct burst_pair p = nth_pair(in, i);

		o[i] = (struct bursts_order){ p.site, p.bin, (uint32_t)i };
	}
	qsort(o, n, sizeof(*o), by_load_site);
	for (size_t i = 0; i < n; i++) {
		b->pair[i] = (struct burst_pair){ .site = o[i].site, .bin = o[i].by, .writer = FLOW_NONE };
		b->pair_at[o[i].pair] = (uint32_t)i;
	}
	b->pairs = n;
	for (size_t i = 0; i < n; i++) {
		struct burst_pair p = nth_pair(in, i);

		if (p.writer != FLOW_NONE)
			o[writers++] = (struct bursts_order){ p.site, p.writer, (uint32_t)i };
	}
	qsort(o, writers, sizeof(*o), by_load_site);
	for (size_t i = 0; i < writers; i++) {
		if (!i || by_load_site(&o[i - 1], &o[i]))
			b->writer[b->count++] = (struct burst_writer){ .site = o[i].site, .func = o[i].by };
		b->pair[b->pair_at[o[i].pair]].writer = (uint32_t)b->count - 1;
	}
}

/* By load: what this recording and earlier ones saw of each writer's part. part: writers, then one more by site. */
static size_t compare_loads(const struct bursts *b, const struct flow_input *in, struct earlier_compared *load,
			    struct earlier_part_of *part)
{
	struct earlier_part_of *sum = calloc(b->sites + (size_t)1, sizeof(*sum));
	size_t n = 0, at = 0;

	for (uint32_t i = 0; sum && i < b->sites; i++)
		load[i] = (struct earlier_compared){ .func = in->sites[i].func };
	for (size_t i = 0; sum && i < in->burst_site_count; i++)
		load[in->burst_site[i].site].now += in->burst_site[i].bursts;
	for (size_t i = 0; sum && i < in->earlier_site_count; i++)
		load[in->earlier_site[i].site].then += in->earlier_site[i].bursts;
	for (uint32_t i = 0; sum && i < b->sites; i++) {
		load[i].first = n;
		for (; at < b->count && b->writer[at].site == i; at++)
			load[i].writers++;
		n += ++load[i].writers;
	}
	/* the writers' parts lie as they do, each load's with one more: nobody */
	for (size_t i = 0; sum && i < in->burst_pair_count + in->earlier_pair_count; i++) {
		const struct burst_pair *p = &b->pair[b->pair_at[i]];
		struct burst_pair of = nth_pair(in, i);
		struct earlier_part_of *to =
			&part[p->writer == FLOW_NONE ? load[p->site].first + load[p->site].writers - 1
						     : p->writer + p->site];

		to->now += of.bytes;
		to->then += of.then;
		sum[p->site].now += of.bytes;
		sum[p->site].then += of.then;
	}
	for (uint32_t i = 0; sum && i < b->sites; i++)
		for (size_t k = load[i].first; k < load[i].first + load[i].writers; k++) {
			part[k].now /= sum[i].now > 0 ? sum[i].now : 1;
			part[k].then /= sum[i].then > 0 ? sum[i].then : 1;
		}
	for (uint32_t i = 0; sum && i < b->sites; i++) {
		load[i].now = sum[i].now > 0 ? load[i].now : 0;
		load[i].then = sum[i].then > 0 ? load[i].then : 0;
	}
	free(sum);
	return sum ? n : 0;
}

static void count_dropped(struct bursts *b, const struct flow_input *in, const struct earlier_compared *load)
{
	bool *met = calloc(in->func_count + (size_t)1, sizeof(*met));

	for (uint32_t i = 0; met && i < b->sites; i++) {
		if (!(load[i].now > 0) || !(load[i].then > 0) || met[load[i].func])
			continue;
		met[load[i].func] = true;
		b->compared++;
		b->dropped += b->worth[load[i].func] < EARLIER_DROPPED;
	}
	free(met);
}

static int weigh_earlier(struct bursts *b, const struct flow_input *in)
{
	struct earlier_compared *load = calloc(b->sites + (size_t)1, sizeof(*load));
	struct earlier_part_of *part = calloc(b->count + b->sites + 1, sizeof(*part));
	int err = -ENOMEM;

	b->worth = calloc(in->func_count + (size_t)1, sizeof(*b->worth));
	b->drawn = malloc((in->earlier_pair_count + 1) * sizeof(*b->drawn));
	if (load && part && b->worth && b->drawn && compare_loads(b, in, load, part))
		err = earlier_worth(load, b->sites, part, b->worth, in->func_count);
	for (size_t i = 0; i < in->earlier_pair_count && !err; i++)
		b->drawn[i] = 1;
	if (!err)
		count_dropped(b, in, load);
	free(load);
	free(part);
	return err;
}

/* A pair that so many bursts saw, of those that met its load, is off by the root of that: with a mean of 1, and never
 * below 0. */
void bursts_draw_earlier(struct bursts *b, const struct flow_input *in, uint64_t *state)
{
	double *bytes = calloc(2 * ((size_t)b->sites + 1), sizeof(*bytes)), *met = bytes + b->sites + 1;

	for (size_t i = 0; bytes && b->worth && i < in->earlier_pair_count; i++)
		bytes[in->earlier_pair[i].reader] += in->earlier_pair[i].bytes;
	for (size_t i = 0; bytes && b->worth && i < in->earlier_site_count; i++)
		met[in->earlier_site[i].site] +=
			in->earlier_site[i].bursts * b->worth[in->sites[in->earlier_site[i].site].func];
	for (size_t i = 0; bytes && b->worth && i < in->earlier_pair_count; i++) {
		uint32_t site = in->earlier_pair[i].reader;
		double n = met[site] * in->earlier_pair[i].bytes / (bytes[site] > 0 ? bytes[site] : 1),
		       var = n > 0 ? log1p(1 / n) : 0;

		b->drawn[i] = exp(sqrt(var) * resample_normal(state) - var / 2);
	}
	free(bytes);
}

int bursts_learn(struct bursts *b, const struct flow_input *in, bool producers)
{
	size_t pairs = in->burst_pair_count + in->earlier_pair_count + 1;
	struct bursts_order *o = malloc(pairs * sizeof(*o));
	int err = 0;

	*b = (struct bursts){ .sites = in->site_count };
	b->older = malloc((in->site_count + 1) * sizeof(*b->older));
	b->met = malloc((in->site_count + 1) * sizeof(*b->met));
	b->volume = malloc((in->site_count + 1) * sizeof(*b->volume));
	b->writer = malloc(pairs * sizeof(*b->writer));
	b->pair = malloc(pairs * sizeof(*b->pair));
	b->pair_at = malloc(pairs * sizeof(*b->pair_at));
	b->runs = malloc((in->parts.blocks + 1) * sizeof(*b->runs));
	b->work = malloc((2 * in->parts.blocks + 1) * sizeof(*b->work));
	if (!o || !b->older || !b->met || !b->volume || !b->writer || !b->pair || !b->pair_at || !b->runs || !b->work) {
		free(o);
		return -ENOMEM;
	}
	if (producers)
		put_in_order(b, in, o);
	if (producers && in->earlier_site_count)
		err = weigh_earlier(b, in);
	if (!err)
		bursts_again(b, in, NULL);
	free(o);
	return err;
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
	free(b->worth);
	free(b->drawn);
	memset(b, 0, sizeof(*b));
}
