// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/overwrite.h"
#include "util/bisect.h"
#include "util/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOUR 512   /* bytes: how far apart two stores of one sweep over memory may be sampled */
#define SATURATED 0.1   /* below this share of stores to unseen words, a store's words are all known */
#define ALL_SEEN 0.01   /* below this, a word that is not among them was not written by it */
#define HALF_SWEPT 0.5  /* passes over its words since, from which on it may be the last writer */
#define RECENT 16       /* samples of an instruction; by hand */
#define NEAR_WORDS 4096 /* 32 KiB each way */
#define NEAR_PAGES 3    /* each way: some samples of each pass fall into so much memory */
#define MIN_WORDS 4     /* fewer words than this say nothing about a sweep */

struct store_ref {
	uint32_t site;
	uint64_t word; /* address / 8, process mixed in */
};

struct sweep {                    /* one store instruction */
	size_t first_word, words; /* distinct, sorted, in ow->word */
	size_t first_time, times; /* of sampled stores, in ow->time and ow->before */
	double now;               /* stores that `now` has seen, weighted */
	double chao;
	double unseen; /* Good-Turing: share of its stores that go to words not seen yet */
};

struct overwrite_recent { /* a store instruction's last samples, a ring */
	uint64_t word[RECENT], time[RECENT];
	uint32_t count;
};

struct cand { /* which sweeps may cover a word: a slice of ow->list */
	uint32_t first, count;
};

struct overwrite {
	struct sweep *sweep;             /* by site */
	struct overwrite_recent *recent; /* by site */
	uint32_t sites;
	uint64_t *word, *time;
	double *before;    /* weight up to and without this store, beside time */
	struct map last;   /* site << 40 ^ page -> time of the last store there */
	struct map bucket; /* 512-byte block -> index into head + 1 */
	struct bucket_link {
		uint32_t next, site;
	} * chain;
	uint32_t chain_count, chain_cap;
	struct map known; /* word -> index into cand + 1 */
	struct cand *cand;
	size_t cand_count, cand_cap;
	uint32_t *list;
	size_t list_count, list_cap;
};

static bool sampled_store(const struct in_access *a, bool stack)
{
	return (a->flags & FMT_A_STORE) && !(a->flags & FMT_A_CENSUS) && (stack || !(a->flags & FMT_A_STACK));
}

static uint64_t word_key(uint32_t pid, uint64_t addr)
{
	return (addr >> 3) ^ (uint64_t)pid << 45;
}

double chao1(double seen, double once, double twice)
{
	return seen + once * (once - 1) / (2 * (twice + 1));
}

static int by_site_word(const void *a, const void *b)
{
	const struct store_ref *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->word > y->word) - (x->word < y->word);
}

static bool add_bucket(struct overwrite *ow, uint64_t block, uint32_t site)
{
	uint64_t *head = map_put(&ow->bucket, block, NULL);

	if (!head)
		return false;
	/* words come sorted by site: the same site would be the newest of the chain */
	if (*head && ow->chain[*head - 1].site == site)
		return true;
	if (!GROW(ow->chain, ow->chain_count, ow->chain_cap, 1024))
		return false;
	ow->chain[ow->chain_count] = (struct bucket_link){ .next = (uint32_t)*head, .site = site };
	*head = ++ow->chain_count;
	return true;
}

/* Distinct words of each site, and Chao1 of their number. */
static bool learn_words(struct overwrite *ow, struct store_ref *ref, size_t n)
{
	size_t out = 0;

	qsort(ref, n, sizeof(*ref), by_site_word);
	for (size_t i = 0; i < n;) {
		struct sweep *s = &ow->sweep[ref[i].site];
		double once = 0, twice = 0;
		size_t site_end = i;

		s->first_word = out;
		while (site_end < n && ref[site_end].site == ref[i].site) {
			size_t j = site_end;

			while (j < n && ref[j].site == ref[i].site && ref[j].word == ref[site_end].word)
				j++;
			once += j - site_end == 1;
			twice += j - site_end == 2;
			ow->word[out++] = ref[site_end].word;
			if (!add_bucket(ow, ref[site_end].word * 8 / NEIGHBOUR, ref[i].site))
				return false;
			site_end = j;
		}
		s->words = out - s->first_word;
		s->chao = chao1((double)s->words, once, twice);
		s->unseen = once / (double)(site_end - i);
		i = site_end;
	}
	return true;
}

/* Stores are in order of time: so are those of each site. */
static void learn_times(struct overwrite *ow, const struct flow_input *in, bool stack)
{
	size_t first = 0;

	for (size_t i = 0; i < in->access_count; i++)
		ow->sweep[in->access[i].site].times += sampled_store(&in->access[i], stack);
	for (uint32_t i = 0; i < in->site_count; i++) {
		ow->sweep[i].first_time = first;
		first += ow->sweep[i].times;
		ow->sweep[i].times = 0;
	}
	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];
		struct sweep *s = &ow->sweep[a->site];
		size_t at = s->first_time + s->times;

		if (!sampled_store(a, stack))
			continue;
		ow->time[at] = a->time;
		ow->before[at] = s->now;
		s->now += a->weight;
		s->times++;
	}
	for (uint32_t i = 0; i < in->site_count; i++)
		ow->sweep[i].now = 0;
}

struct overwrite *overwrite_new(const struct flow_input *in, bool stack, bool census, const bool *complete)
{
	struct overwrite *ow = calloc(1, sizeof(*ow));
	struct store_ref *ref = malloc((in->access_count + 1) * sizeof(*ref));
	size_t n = 0;
	bool ok = false;

	if (!ow || !ref)
		goto out;
	ow->sites = in->site_count;
	ow->sweep = calloc(in->site_count + 1, sizeof(*ow->sweep));
	ow->recent = calloc(in->site_count + 1, sizeof(*ow->recent));
	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];

		if (!(a->flags & FMT_A_STORE) || (!stack && (a->flags & FMT_A_STACK)) ||
		    (!census && (a->flags & FMT_A_CENSUS)))
			continue;
		ref[n++] = (struct store_ref){ .site = a->site, .word = word_key(a->pid, a->addr) };
	}
	ow->word = malloc((n + 1) * sizeof(*ow->word));
	ow->time = malloc((n + 1) * sizeof(*ow->time));
	ow->before = malloc((n + 1) * sizeof(*ow->before));
	if (!ow->sweep || !ow->recent || !ow->word || !ow->time || !ow->before || !learn_words(ow, ref, n))
		goto out;
	learn_times(ow, in, stack);
	for (uint32_t i = 0; i < in->site_count; i++)
		if (complete[i])
			ow->sweep[i].unseen = 0;
	ok = true;
out:
	free(ref);
	if (!ok) {
		overwrite_free(ow);
		ow = NULL;
	}
	return ow;
}

void overwrite_free(struct overwrite *ow)
{
	if (!ow)
		return;
	free(ow->sweep);
	free(ow->recent);
	free(ow->word);
	free(ow->time);
	free(ow->before);
	free(ow->chain);
	free(ow->cand);
	free(ow->list);
	map_release(&ow->last);
	map_release(&ow->bucket);
	map_release(&ow->known);
	free(ow);
}

static uint64_t page_key(uint32_t site, uint64_t word, int step)
{
	return ((word >> 9) + (uint64_t)(int64_t)step) ^ (uint64_t)site << 40;
}

void overwrite_store(struct overwrite *ow, const struct in_access *a)
{
	uint64_t *at = map_put(&ow->last, page_key(a->site, word_key(a->pid, a->addr), 0), NULL);
	struct overwrite_recent *r = &ow->recent[a->site];

	if (at)
		*at = a->time;
	r->word[r->count % RECENT] = word_key(a->pid, a->addr);
	r->time[r->count++ % RECENT] = a->time;
	ow->sweep[a->site].now += a->weight;
}

static uint64_t last_in_page(const struct overwrite *ow, uint32_t site, uint64_t word, int step)
{
	const uint64_t *at = map_get(&ow->last, page_key(site, word, step));

	return at ? *at : 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When this instruction last passed this word. A pass under way has stores on one side only that are
 * recent, so the older of both sides' newest stores tells. 0: unknown. */
static uint64_t last_pass(const struct overwrite *ow, uint32_t site, uint64_t word)
{
	const struct overwrite_recent *r = &ow->recent[site];
	uint64_t below = 0, above = 0, here;

	for (uint32_t i = 0; i < RECENT && i < r->count; i++) {
		uint32_t at = (r->count - 1 - i) % RECENT;

		if (r->word[at] <= word && word - r->word[at] < NEAR_WORDS)
			below = later(below, r->time[at]);
		if (r->word[at] >= word && r->word[at] - word < NEAR_WORDS)
			above = later(above, r->time[at]);
		if (below && above)
			return earlier(below, above);
	}
	for (int step = 1; step <= NEAR_PAGES; step++) {
		below = later(below, last_in_page(ow, site, word, -step));
		above = later(above, last_in_page(ow, site, word, step));
	}
	here = last_in_page(ow, site, word, 0);
	if (below && above)
		return earlier(below, above);
	if (below || above)
		return here ? earlier(later(below, above), here) : later(below, above);
	return here;
}

/* Its own word, or words on both sides close by unless all of its words are known. */
static bool word_covered(const struct overwrite *ow, const struct sweep *s, uint64_t word)
{
	const uint64_t *w = ow->word + s->first_word;
	size_t lo = BISECT(mid, s->words, w[mid] < word);

	if (lo < s->words && w[lo] == word)
		return true;
	return s->unseen > ALL_SEEN && lo > 0 && lo < s->words && word - w[lo - 1] <= NEIGHBOUR / 8 &&
	       w[lo] - word <= NEIGHBOUR / 8;
}

static bool push_site(struct overwrite *ow, uint32_t site)
{
	if (!GROW(ow->list, ow->list_count, ow->list_cap, 4096))
		return false;
	ow->list[ow->list_count++] = site;
	return true;
}

/* Which sweeps cover a word does not depend on time: found once per word. */
static const struct cand *candidates(struct overwrite *ow, uint64_t word)
{
	uint64_t *at, block = word * 8 / NEIGHBOUR;
	struct cand c = { .first = (uint32_t)ow->list_count };
	bool added;

	at = map_put(&ow->known, word, &added);
	if (!at)
		return NULL;
	if (!added)
		return &ow->cand[*at];
	for (uint64_t b = block ? block - 1 : 0; b <= block + 1; b++) {
		const uint64_t *head = map_get(&ow->bucket, b);

		for (uint32_t i = head ? (uint32_t)*head : 0; i; i = ow->chain[i - 1].next) {
			uint32_t site = ow->chain[i - 1].site;
			bool listed = false;

			for (size_t k = c.first; k < ow->list_count && !listed; k++)
				listed = ow->list[k] == site;
			if (!listed && ow->sweep[site].chao >= MIN_WORDS && word_covered(ow, &ow->sweep[site], word) &&
			    !push_site(ow, site))
				return NULL;
		}
	}
	c.count = (uint32_t)(ow->list_count - c.first);
	if (!GROW(ow->cand, ow->cand_count, ow->cand_cap, 4096))
		return NULL;
	*at = ow->cand_count;
	ow->cand[ow->cand_count++] = c;
	return &ow->cand[*at];
}

/* Stores of this site up to and including t. */
static double stored_until(const struct overwrite *ow, const struct sweep *s, uint64_t t)
{
	const uint64_t *time = ow->time + s->first_time;
	size_t lo = BISECT(mid, s->times, time[mid] <= t);

	return lo < s->times ? ow->before[s->first_time + lo] : INFINITY;
}

uint32_t overwrite_test(struct overwrite *ow, uint32_t pid, uint64_t addr, uint64_t t0, uint32_t s0, uint64_t *pass)
{
	uint64_t word = word_key(pid, addr), newest = 0;
	const struct cand *c = candidates(ow, word);
	double sum = 0;
	uint32_t best = FLOW_NONE;

	if (!c)
		return FLOW_NONE;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t site = ow->list[c->first + i];
		const struct sweep *s = &ow->sweep[site];
		double since = (s->now - stored_until(ow, s, t0)) / s->chao;
		uint64_t last;

		if (!(since > 0))
			continue;
		if (site != s0)
			sum += since;
		if (since < HALF_SWEPT)
			continue;
		/* of several that went over all of it since, the one whose pass here was the latest */
		last = last_pass(ow, site, word);
		if (best == FLOW_NONE || last > newest) {
			newest = last;
			best = site;
		}
	}
	if (!(sum > 1) || best == s0)
		return FLOW_NONE;
	*pass = newest;
	return best;
}

bool overwrite_plausible(const struct overwrite *ow, uint32_t site, uint32_t pid, uint64_t addr)
{
	return site >= ow->sites || ow->sweep[site].unseen > SATURATED ||
	       word_covered(ow, &ow->sweep[site], word_key(pid, addr));
}
