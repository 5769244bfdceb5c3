// SPDX-License-Identifier: GPL-2.0-or-later
#include "ingest/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define MAX_SITES 65536
#define GOOD_ENOUGH 0.2 /* of the best site's worth */
#define PATIENCE 60	/* samples: a rare best must not keep the slots empty */
#define MAX_DOUBLINGS 5
#define PAGE_SHIFT 12

/* An error of the shares at one instruction falls with the square root of the evidence, so the gain
 * of one more window falls with its power of 3/2. */
static double worth(const struct draw_site *s)
{
	return s->bytes / pow(1 + s->evidence, 1.5);
}

static uint64_t key(uint32_t module, uint64_t ip)
{
	return (uint64_t)module << 44 ^ ip;
}

static struct draw_site *site_of(struct draws *d, uint32_t module, uint64_t ip)
{
	bool added;
	uint64_t *at;

	if (d->count == MAX_SITES) {
		at = map_get(&d->at, key(module, ip));
		return at ? &d->site[*at] : NULL;
	}
	if (!GROW(d->site, d->count, d->cap, 256))
		return NULL;
	at = map_put(&d->at, key(module, ip), &added);
	if (!at)
		return NULL;
	if (added) {
		*at = d->count;
		d->site[d->count++] = (struct draw_site){ 0 };
	}
	return &d->site[*at];
}

void draws_sampled(struct draws *d, uint32_t module, uint64_t ip, double bytes)
{
	struct draw_site *s = site_of(d, module, ip);

	if (s)
		s->bytes += bytes;
	else
		d->past++;
}

void draws_seen(struct draws *d, uint32_t module, uint64_t ip, double part)
{
	struct draw_site *s = site_of(d, module, ip);

	if (s)
		s->evidence += part;
}

void draws_missed(struct draws *d, uint64_t addr)
{
	uint64_t *at = d->misses.used < MAX_SITES ? map_put(&d->misses, addr >> PAGE_SHIFT, NULL) : map_get(&d->misses, addr >> PAGE_SHIFT);

	if (at && *at < MAX_DOUBLINGS)
		++*at;
}

/* Who writes rarely is met by one long window, not by many short ones. */
double draws_patience(const struct draws *d, uint64_t addr)
{
	const uint64_t *at = map_get(&d->misses, addr >> PAGE_SHIFT);

	return (double)(1u << (at ? *at : 0));
}

double draws_worth(const struct draws *d, uint32_t module, uint64_t ip)
{
	const uint64_t *at = map_get(&d->at, key(module, ip));

	return at ? worth(&d->site[*at]) : 0;
}

bool draws_take(struct draws *d, double w)
{
	double best = 0;

	for (uint32_t i = 0; i < d->count; i++)
		best = fmax(best, worth(&d->site[i]));
	if (w < GOOD_ENOUGH * best && d->waited++ < PATIENCE)
		return false;
	d->waited = 0;
	return true;
}

void draws_release(struct draws *d)
{
	map_release(&d->at);
	map_release(&d->misses);
	free(d->site);
	memset(d, 0, sizeof(*d));
}
