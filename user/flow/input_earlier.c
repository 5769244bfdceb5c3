// SPDX-License-Identifier: GPL-2.0-or-later
/* What bursts of earlier recordings saw (FMT_EARLIER_*): read, and resolved for the loads that this recording met. */
#include <errno.h>
#include <stdlib.h>

#include "flow/input_priv.h"
#include "util/grow.h"

#define LARGEST_ID (1u << 20) /* of sites of one file; a damaged file may claim more */
#define LAST_BIN 63           /* log2 of a distance of 64 bits */

static bool sane_float(float v)
{
	return v >= 0 && v < 1e15f;
}

int input_earlier_site(void *ctx, const void *rec, size_t size)
{
	struct raw *r = ctx;
	const struct fmt_earlier_site *s = rec;
	struct raw_earlier *b = &r->earlier;
	bool added;
	uint64_t *at;

	if (r->o.no_earlier || !s->id || s->id > LARGEST_ID || !sane_float(s->bursts))
		return 0;
	at = map_put(&b->site_at, s->id, &added);
	if (!at || (added && INPUT_PUSH(r, b->site, b->sites, b->site_cap, *s)))
		return err_set(r->e, -ENOMEM, "out of memory");
	if (added)
		*at = b->sites - 1;
	b->site[*at] = *s;
	return 0;
}

int input_earlier_pair(void *ctx, const void *rec, size_t size)
{
	struct raw *r = ctx;
	const struct fmt_earlier_pair *p = rec;

	if (r->o.no_earlier || !p->reader || p->reader > LARGEST_ID || p->writer > LARGEST_ID || p->bin > LAST_BIN ||
	    !sane_float(p->bytes))
		return 0;
	return INPUT_PUSH(r, r->earlier.pair, r->earlier.pairs, r->earlier.pair_cap, *p) ? r->e->code : 0;
}

/* Sites of this recording, by where they lie. */
static int index_sites(const struct flow_input *in, struct map *at)
{
	for (uint32_t i = 0; i < in->site_count; i++) {
		bool added;
		uint64_t *to = map_put(at, input_code_key(in->sites[i].module, in->sites[i].ip), &added);

		if (!to)
			return -ENOMEM;
		*to = added ? i : *to;
	}
	return 0;
}

static uint32_t site_here(const struct flow_input *in, const struct map *at, const struct fmt_earlier_site *s)
{
	const uint64_t *to = map_get(at, input_code_key(s->module, s->ip));

	return to && in->sites[*to].ip == s->ip && in->sites[*to].module == s->module ? (uint32_t)*to : FLOW_NONE;
}

/* The function that a writer lies in, also where this recording did not meet it. */
static int writer_function(struct raw *r, const struct fmt_earlier_site *s, uint32_t *func)
{
	struct site_key k = { .ip = s->ip, .module = s->module };
	uint32_t id = intern_add(&r->site_keys, &k, sizeof(k), NULL), site = id - 1;

	return id ? resolve_code(r, &site, func, 0) : err_set(r->e, -ENOMEM, "out of memory");
}

static int resolve_earlier_pairs(struct raw *r, const uint32_t *site)
{
	struct flow_input *in = r->in;
	const struct raw_earlier *b = &r->earlier;
	int err = 0;

	for (size_t i = 0; i < b->pairs && !err; i++) {
		const struct fmt_earlier_pair *p = &b->pair[i];
		const uint64_t *reader = map_get(&b->site_at, p->reader), *writer = map_get(&b->site_at, p->writer);
		uint32_t func = FLOW_NONE;

		if (!reader || site[*reader] == FLOW_NONE || (p->writer && !writer))
			continue;
		if (writer)
			err = writer_function(r, &b->site[*writer], &func);
		if (!err)
			err = INPUT_PUSH(r, in->earlier_pair, in->earlier_pair_count, in->earlier_pair_cap,
					 (struct in_earlier_pair){ site[*reader], func, p->bin, p->bytes });
	}
	return err;
}

int input_earlier_resolve(struct raw *r)
{
	struct flow_input *in = r->in;
	const struct raw_earlier *b = &r->earlier;
	struct map at = { 0 };
	uint32_t *site;
	int err;

	/* as of this recording's own bursts: who wrote was added up for neither */
	if (!b->sites || r->o.main_image || flow_input_in_part(&r->o))
		return 0;
	site = malloc(b->sites * sizeof(*site));
	err = !site || index_sites(in, &at) ? err_set(r->e, -ENOMEM, "out of memory") : 0;
	for (size_t i = 0; i < b->sites && !err; i++) {
		site[i] = b->site[i].bursts > 0 ? site_here(in, &at, &b->site[i]) : FLOW_NONE;
		if (site[i] != FLOW_NONE)
			err = INPUT_PUSH(r, in->earlier_site, in->earlier_site_count, in->earlier_site_cap,
					 (struct in_earlier_site){ site[i], b->site[i].bursts });
	}
	if (!err)
		err = resolve_earlier_pairs(r, site);
	map_release(&at);
	free(site);
	return err;
}

void input_earlier_release(struct raw *r)
{
	map_release(&r->earlier.site_at);
	free(r->earlier.site);
	free(r->earlier.pair);
}
