// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/window_choice.h"
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define MAX_SITES 65536 /* instructions to draw from; by hand */
#define GOOD_ENOUGH 0.2 /* of the best site's worth */
#define PATIENCE 60     /* samples: a rare best must not keep the slots empty */
#define MAX_DOUBLINGS 5 /* a page that is never hit is drawn 32 times as rarely at last; by hand */

/* An error of the shares at one instruction falls with the square root of the evidence, so the gain
 * of one more window falls with its power of 3/2; and it is the smaller the less its writers differ. */
static double worth_of_site(const struct window_site *s)
{
	double others = ((s->told - s->leads) / 2 + 0.5) / (s->told + 1);

	return s->bytes * 2 * sqrt(others * (1 - others)) / pow(1 + s->evidence, 1.5);
}

static double site_worth(const struct window_choice *d, const struct window_site *s)
{
	return worth_of_site(s) + (s->group && s->bytes > 0 ? worth_of_site(&d->group[s->group - 1]) : 0);
}

static uint64_t site_address_key(uint32_t module, uint64_t ip)
{
	return (uint64_t)module << 44 ^ ip;
}

static struct window_site *window_site_of(struct window_choice *d, uint32_t module, uint64_t ip)
{
	bool added;
	uint64_t *at;

	if (d->count == MAX_SITES) {
		at = map_get(&d->at, site_address_key(module, ip));
		return at ? &d->site[*at] : NULL;
	}
	if (!GROW(d->site, d->count, d->cap, 256))
		return NULL;
	at = map_put(&d->at, site_address_key(module, ip), &added);
	if (!at)
		return NULL;
	if (added) {
		*at = d->count;
		d->site[d->count++] = (struct window_site){ 0 };
	}
	return &d->site[*at];
}

static uint32_t choice_group_of(struct window_choice *d, uint64_t group)
{
	uint64_t *at = group ? map_get(&d->group_at, group) : NULL;

	if (at || !group)
		return at ? (uint32_t)*at + 1 : 0;
	if (d->group_count == MAX_SITES || !GROW(d->group, d->group_count, d->group_cap, 256))
		return 0;
	at = map_put(&d->group_at, group, NULL);
	if (!at)
		return 0;
	*at = d->group_count;
	d->group[d->group_count++] = (struct window_site){ 0 };
	return d->group_count;
}

void window_choice_sampled(struct window_choice *d, uint32_t module, uint64_t ip, uint64_t group, double bytes)
{
	struct window_site *s = window_site_of(d, module, ip);

	if (!s) {
		d->past++;
		return;
	}
	if (!s->group)
		s->group = choice_group_of(d, group);
	s->bytes += bytes;
	if (s->group)
		d->group[s->group - 1].bytes += bytes;
}

static void learn_writer(struct window_site *s, double part, uint64_t writer)
{
	s->evidence += part;
	if (!writer)
		return;
	s->told += part;
	s->leads += writer == s->writer ? part : -part;
	if (s->leads < 0) {
		s->leads = -s->leads;
		s->writer = writer;
	}
}

void window_choice_seen(struct window_choice *d, uint32_t module, uint64_t ip, double part, uint64_t writer)
{
	struct window_site *s = window_site_of(d, module, ip);

	if (!s)
		return;
	learn_writer(s, part, writer);
	if (s->group)
		learn_writer(&d->group[s->group - 1], part, writer);
}

void window_choice_missed(struct window_choice *d, uint64_t addr)
{
	uint64_t *at = d->misses.used < MAX_SITES ? map_put(&d->misses, addr >> SAMPLE_PAGE_SHIFT, NULL)
						  : map_get(&d->misses, addr >> SAMPLE_PAGE_SHIFT);

	if (at && *at < MAX_DOUBLINGS)
		++*at;
}

/* Who writes rarely is met by one long window, not by many short ones. */
double window_choice_patience(const struct window_choice *d, uint64_t addr)
{
	const uint64_t *at = map_get(&d->misses, addr >> SAMPLE_PAGE_SHIFT);

	return (double)(1u << (at ? *at : 0));
}

double window_choice_worth(const struct window_choice *d, uint32_t module, uint64_t ip)
{
	const uint64_t *at = map_get(&d->at, site_address_key(module, ip));

	return at ? site_worth(d, &d->site[*at]) : 0;
}

bool window_choice_take(struct window_choice *d, double w)
{
	double best = 0;

	for (uint32_t i = 0; i < d->count; i++)
		best = fmax(best, site_worth(d, &d->site[i]));
	if (w < GOOD_ENOUGH * best && d->waited++ < PATIENCE)
		return false;
	d->waited = 0;
	return true;
}

void window_choice_release(struct window_choice *d)
{
	map_release(&d->at);
	map_release(&d->misses);
	map_release(&d->group_at);
	free(d->group);
	free(d->site);
	memset(d, 0, sizeof(*d));
}
