// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/halves.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/bursts.h"
#include "flow/estimator_table.h"
#include "flow/estimators.h"
#include "util/grow.h"

/*
 * Each half has one block of every pair. A pair lies far apart, so that what drifts in the course of a recording counts
 * as varying: the next recording begins somewhere else. One that began with its program has the same phases in the
 * same order again: there a pair is neighbours. The ways to choose are the rows of a Hadamard matrix without its
 * constant column (balanced repeated replication): each block is in every other half, so the halves' mean is the whole
 * as halves see it, and the mean square of what lies apart from it is the sum over the pairs: as many degrees of
 * freedom.
 */
#define WAYS 8u /* Sylvester's matrix: a power of two */
#define PAIRS (WAYS - 1)
#define BLOCKS (2 * PAIRS) /* two of each pair */

struct deal {
	uint64_t begin, length; /* of the recording, from its first to its last access */
	double blocks_per_ns;
	bool neighbours; /* are pairs */
	bool kept[BLOCKS];
	uint64_t until; /* in place of blocks: all before it; 0: blocks */
};

static bool half_keeps(const struct deal *d, uint64_t time)
{
	uint64_t at = time < d->begin ? 0 : time - d->begin, block = (uint64_t)((double)at * d->blocks_per_ns);

	if (d->until)
		return time < d->until;
	return d->kept[block < BLOCKS ? block : BLOCKS - 1];
}

static void choose_half(struct deal *d, unsigned way)
{
	for (unsigned b = 0; b < BLOCKS; b++) {
		unsigned pair = d->neighbours ? b / 2 : b % PAIRS;
		bool first = d->neighbours ? b % 2 == 0 : b < PAIRS;
		bool plus = !(__builtin_popcount(way & (pair + 1)) & 1);

		d->kept[b] = first == plus;
	}
}

/* A census is no part of the recording's time: it says what each store writes first. */
#define always(x) _Generic((x), struct in_access : census, default : never)(&(x))
static bool census(const void *access)
{
	return ((const struct in_access *)access)->flags & FMT_A_CENSUS;
}

static bool never(const void *item)
{
	return false;
}

/* Copies of what lies in the kept blocks: *to owns these arrays, the rest is `from`'s. */
#define KEEP(to, from, d, array, count, when)                                                                          \
	({                                                                                                             \
		(to)->array = malloc(((from)->count + 1) * sizeof(*(from)->array));                                    \
		(to)->count = 0;                                                                                       \
		for (size_t i_ = 0; (to)->array && i_ < (from)->count; i_++)                                           \
			if (half_keeps(d, (from)->array[i_].when) || always((from)->array[i_]))                        \
				(to)->array[(to)->count++] = (from)->array[i_];                                        \
		(to)->array != NULL;                                                                                   \
	})

/* Sums over bursts anew, of the parts of them that are kept. */
static bool keep_sums(struct flow_input *to, const struct flow_input *from, const uint8_t *times)
{
	const struct in_parts *p = &from->parts;

	to->burst_pair = malloc((from->burst_pair_count + 1) * sizeof(*to->burst_pair));
	to->burst_site = malloc((from->burst_site_count + 1) * sizeof(*to->burst_site));
	if (!to->burst_pair || !to->burst_site)
		return false;
	for (size_t i = 0; i < from->burst_pair_count; i++) {
		to->burst_pair[i] = from->burst_pair[i];
		to->burst_pair[i].bytes = p->count ? 0 : from->burst_pair[i].bytes;
	}
	for (size_t i = 0; i < p->pairs; i++)
		to->burst_pair[p->pair[i].pair].bytes += times[p->pair[i].part] * p->pair[i].bytes;
	to->burst_site_count = p->count ? 0 : from->burst_site_count;
	if (to->burst_site_count) /* memcpy takes no NULL */
		memcpy(to->burst_site, from->burst_site, to->burst_site_count * sizeof(*to->burst_site));
	return true;
}

/* The same as sites that bursts met: their sums are by part alone. */
static bool keep_sites(struct flow_input *to, const struct flow_input *from, const uint8_t *times)
{
	const struct in_parts *p = &from->parts;
	size_t cap = to->burst_site_count;

	if (!p->count)
		return true;
	if (!GROW_TO(to->burst_site, p->sites + 1, cap, 1))
		return false;
	for (size_t i = 0; i < p->sites; i++)
		if (times[p->site[i].part])
			to->burst_site[to->burst_site_count++] =
				(struct in_burst_site){ p->site[i].site, p->site[i].bursts };
	return true;
}

/* What bursts of these parts say of how often blocks ran is in the weights of the accesses. */
static int share_weights(struct flow_input *to, const struct flow_input *from, const uint8_t *times)
{
	struct bursts b = { 0 };
	int err = from->parts.count ? bursts_learn(&b, from, false) : 0;

	if (!err && from->parts.count) {
		bursts_again(&b, from, times);
		for (size_t i = 0; i < to->access_count; i++)
			to->access[i].weight *= b.volume[to->access[i].site];
		for (size_t i = 0; i < to->blind_count; i++)
			to->blind[i].weight *= b.volume[to->blind[i].site];
	}
	bursts_release(&b);
	return err;
}

void flow_part_release(struct flow_input *h)
{
	free(h->access);
	free(h->blind);
	free(h->window);
	free(h->sysio);
	free(h->burst);
	free(h->burst_pair);
	free(h->burst_site);
}

static int half_of(const struct flow_input *in, const struct deal *d, struct flow_input *h)
{
	uint8_t *times = calloc(in->parts.count + 1, 1);
	bool ok = times != NULL;

	*h = *in;
	h->ready = NULL;
	h->access = h->blind = NULL;
	h->window = NULL;
	h->sysio = NULL;
	h->burst = NULL;
	h->burst_pair = NULL;
	h->burst_site = NULL;
	for (uint32_t i = 0; ok && i < in->parts.count; i++)
		times[i] = half_keeps(d, in->parts.begin[i]);
	ok = ok && KEEP(h, in, d, access, access_count, time) && KEEP(h, in, d, blind, blind_count, time) &&
	     KEEP(h, in, d, window, window_count, armed) && KEEP(h, in, d, sysio, sysio_count, time) &&
	     KEEP(h, in, d, burst, burst_count, time) && keep_sums(h, in, times) && keep_sites(h, in, times) &&
	     !share_weights(h, in, times);
	free(times);
	if (!ok)
		flow_part_release(h);
	return ok ? 0 : -ENOMEM;
}

/* From the first to the last access. */
static struct deal span_of(const struct flow_input *in)
{
	uint64_t end = 0;
	struct deal d = { .begin = UINT64_MAX, .neighbours = in->from_start };

	for (size_t i = 0; i < in->access_count; i++) {
		d.begin = in->access[i].time < d.begin ? in->access[i].time : d.begin;
		end = in->access[i].time > end ? in->access[i].time : end;
	}
	d.length = end - d.begin + 1;
	d.blocks_per_ns = BLOCKS / (double)d.length;
	return d;
}

uint64_t flow_seen_ns(const struct flow_input *in)
{
	return in->access_count ? span_of(in).length : 0;
}

int flow_first_part(const struct flow_input *in, uint64_t ns, struct flow_input *out)
{
	struct deal d = span_of(in);

	d.until = d.begin + ns;
	return half_of(in, &d, out);
}

struct halves { /* what all ways have in common */
	const struct flow_input *in;
	const char *estimator;
	const struct est_opts *o;
	const struct flow *whole;
	struct deal deal;
	double *sum, *squares; /* by edge of the whole, over the ways: its share, and that squared */
};

static int estimate_half(const struct halves *t, struct flow *out, struct err *e)
{
	struct est_opts once = *t->o;
	struct flow_input h;
	int err = half_of(t->in, &t->deal, &h);

	if (err)
		return err_set(e, err, "out of memory");
	once.bootstraps = 0;
	once.inclusive = false;
	once.edges_alone = true;
	err = h.access_count ? flow_estimate(&h, t->estimator, &once, out, e) : -ENODATA;
	flow_part_release(&h);
	return err;
}

/* Which of the half's functions each of the whole's is; NULL without memory. */
static uint32_t *same_functions(const struct flow *whole, const struct flow *half)
{
	uint32_t *same = malloc((whole->func_count + 1) * sizeof(*same));
	struct flow_names names;

	flow_names_index(&names, half);
	for (uint32_t i = 0; same && i < whole->func_count; i++)
		same[i] = flow_names_find(&names, whole->funcs[i].name, whole->funcs[i].object);
	flow_names_release(&names);
	return same;
}

static int add_shares(struct halves *t, const struct flow *half)
{
	uint32_t *same = same_functions(t->whole, half);
	double total = flow_total(half);

	for (size_t i = 0; same && i < t->whole->edge_count; i++) {
		const struct flow_edge *e =
			flow_get(half, same[t->whole->edges[i].producer], same[t->whole->edges[i].consumer]);
		double share = e && total > 0 ? e->bytes / total : 0;

		t->sum[i] += share;
		t->squares[i] += share * share;
	}
	free(same);
	return same ? 0 : -ENOMEM;
}

static int one_way(struct halves *t, unsigned way, struct err *e)
{
	struct flow half;
	int err;

	choose_half(&t->deal, way);
	err = estimate_half(t, &half, e);
	if (err)
		return err;
	err = add_shares(t, &half);
	flow_release(&half);
	return err ? err_set(e, err, "out of memory") : 0;
}

int flow_halves(const struct flow_input *in, const char *estimator, const struct est_opts *o, struct flow *whole,
		struct err *e)
{
	const struct est_ops *ops = flow_estimator(in, estimator);
	struct halves t = { in, estimator, o, whole, { 0 }, NULL, NULL };
	double total = flow_total(whole);
	int err = 0;

	if (!ops || ops == &flow_exact || ops == &flow_stored || !in->access_count)
		return 0;
	t.deal = span_of(in);
	t.sum = calloc(2 * (whole->edge_count + 1), sizeof(*t.sum));
	if (!t.sum)
		return err_set(e, -ENOMEM, "out of memory");
	t.squares = t.sum + whole->edge_count + 1;
	for (unsigned w = 0; w < WAYS && !err; w++)
		err = one_way(&t, w, e);
	for (size_t i = 0; (!err || err == -ENODATA) && i < whole->edge_count; i++) {
		double mean = t.sum[i] / WAYS, square = t.squares[i] / WAYS - mean * mean;

		whole->edges[i].sd = err ? NAN : square > 0 ? sqrt(square) * total : 0;
	}
	whole->sd_freedom = PAIRS;
	free(t.sum);
	return err == -ENODATA ? 0 : err;
}
