// SPDX-License-Identifier: GPL-2.0-or-later
/* What bursts knew of data (FMT_BURST_*): read, resolved, in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/input_priv.h"

#define LAST_ADDR (UINT64_MAX - (1u << 22))
#define MOST_IN_ONE 65536
#define LARGEST_ID (1u << 20)
#define LAST_BIN 63
#define MOST_BYTES (1u << 16)

static bool sane(double v)
{
	return v >= 0 && v < 1e18;
}

static bool room(struct raw *r, void *array, size_t count, size_t *cap, size_t item)
{
	void *p;
	bool ok;

	memcpy(&p, array, sizeof(p));
	ok = input_room(&p, count, cap, item, r->e);
	memcpy(array, &p, sizeof(p));
	return ok;
}

static int take_site(struct raw *r, const struct fmt_burst_site *s)
{
	struct raw_bursts *b = &r->bursts;
	bool added;
	uint64_t *at;

	if (!s->id || s->id > LARGEST_ID || !sane(s->runs) || !sane(s->load_bytes) || !sane(s->load_stack))
		return 0;
	at = map_put(&b->site_at, s->id, &added);
	if (!at || (added && !room(r, &b->site, b->sites, &b->site_cap, sizeof(*b->site))))
		return err_set(r->e, -ENOMEM, "out of memory");
	if (added)
		*at = b->sites++;
	b->site[*at] = *s;
	return 0;
}

static int take_pair(struct raw *r, const struct fmt_burst_pair *p)
{
	struct raw_bursts *b = &r->bursts;
	bool added;
	uint64_t *at;

	if (p->reader > LARGEST_ID || p->writer > LARGEST_ID || p->bin > LAST_BIN || !sane(p->bytes))
		return 0;
	at = map_put(&b->pair_at, (uint64_t)p->bin << 42 ^ (uint64_t)p->reader << 21 ^ p->writer, &added);
	if (!at || (added && !room(r, &b->pair, b->pairs, &b->pair_cap, sizeof(*b->pair))))
		return err_set(r->e, -ENOMEM, "out of memory");
	if (added)
		*at = b->pairs++;
	b->pair[*at] = *p;
	return 0;
}

static int take_data(struct raw *r, const uint8_t *rec, size_t size)
{
	struct flow_input *in = r->in;
	struct fmt_burst_data d;
	struct fmt_burst_item it;
	size_t n;

	if (size < sizeof(d))
		return 0;
	memcpy(&d, rec, sizeof(d));
	n = (size - sizeof(d)) / sizeof(it);
	if (d.loads > MOST_IN_ONE || d.stores > MOST_IN_ONE || (size_t)d.loads + d.stores > n)
		return 0;
	if (!room(r, &in->burst, in->burst_count, &in->burst_cap, sizeof(*in->burst)))
		return r->e->code;
	in->burst[in->burst_count++] = (struct in_burst){ .time = d.time, .pid = d.pid, .tid = d.tid, .first = in->burst_item_count,
							  .loads = d.loads, .stores = d.stores };
	for (uint32_t i = 0; i < d.loads + d.stores; i++) {
		memcpy(&it, rec + sizeof(d) + i * sizeof(it), sizeof(it));
		if (!room(r, &in->burst_item, in->burst_item_count, &in->burst_item_cap, sizeof(*in->burst_item)))
			return r->e->code;
		in->burst_item[in->burst_item_count++] = (struct in_burst_item){
			.addr = it.addr < LAST_ADDR ? it.addr : LAST_ADDR, .site = it.site, .size = it.size < MOST_BYTES ? it.size : MOST_BYTES,
		};
	}
	return 0;
}

int input_burst_chunk(struct raw *r, struct store_chunk *c)
{
	const uint8_t *rec;
	size_t size;
	int err = 0;

	if (c->section == FMT_BURST_DATA) {
		while (!err && (rec = store_next_var(c, &size)))
			err = take_data(r, rec, size);
		return err;
	}
	for (uint32_t i = 0; i < c->count && c->rec_size && !err; i++) {
		struct fmt_burst_site s;
		struct fmt_burst_pair p;

		if (c->section == FMT_BURST_SITE) {
			store_rec(c, i, &s, sizeof(s));
			err = take_site(r, &s);
		} else if (c->section == FMT_BURST_PAIR) {
			store_rec(c, i, &p, sizeof(p));
			err = take_pair(r, &p);
		}
	}
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct in_burst *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static uint32_t resolved(const struct raw_bursts *b, const uint32_t *site, uint32_t id)
{
	const uint64_t *at = map_get(&b->site_at, id);

	return at ? site[*at] : FLOW_NONE;
}

static int resolve_pairs(struct raw *r, const uint32_t *site)
{
	struct flow_input *in = r->in;
	const struct raw_bursts *b = &r->bursts;

	in->burst_pair = calloc(b->pairs + 1, sizeof(*in->burst_pair));
	in->burst_site = calloc(b->sites + 1, sizeof(*in->burst_site));
	if (!in->burst_pair || !in->burst_site)
		return err_set(r->e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < b->sites; i++)
		if (site[i] != FLOW_NONE)
			in->burst_site[in->burst_site_count++] = (struct in_burst_site){ .site = site[i], .bursts = b->site[i].bursts };
	for (size_t i = 0; i < b->pairs; i++) {
		const struct fmt_burst_pair *p = &b->pair[i];
		struct in_burst_pair out = { .reader = resolved(b, site, p->reader), .bin = p->bin, .bytes = p->bytes,
					     .writer = p->writer ? resolved(b, site, p->writer) : FLOW_NONE };

		if (out.reader != FLOW_NONE && (!p->writer || out.writer != FLOW_NONE))
			in->burst_pair[in->burst_pair_count++] = out;
	}
	return 0;
}

int input_burst_resolve(struct raw *r)
{
	struct flow_input *in = r->in;
	struct raw_bursts *b = &r->bursts;
	uint32_t *site = malloc((b->sites + 1) * sizeof(*site));
	int err = site ? 0 : err_set(r->e, -ENOMEM, "out of memory");

	/* part of a recording, or code on its callers' account: bursts were added up for neither */
	if (r->o.main_image || r->o.from_s > 0 || r->o.to_s > 0 || r->o.pid || r->o.tid)
		in->burst_count = b->sites = b->pairs = 0;
	for (size_t i = 0; i < b->sites && !err; i++) {
		struct site_key k = { .ip = b->site[i].ip, .module = b->site[i].module };
		uint32_t id = intern_add(&r->site_keys, &k, sizeof(k), NULL), func;

		site[i] = id - 1;
		err = id ? resolve_code(r, &site[i], &func, 0) : err_set(r->e, -ENOMEM, "out of memory");
	}
	if (!err)
		err = resolve_pairs(r, site);
	for (size_t i = 0; i < in->burst_item_count && !err; i++)
		in->burst_item[i].site = resolved(b, site, in->burst_item[i].site);
	if (in->burst_count)
		qsort(in->burst, in->burst_count, sizeof(*in->burst), by_time);
	free(site);
	return err;
}

void input_burst_release(struct raw *r)
{
	map_release(&r->bursts.site_at);
	map_release(&r->bursts.pair_at);
	free(r->bursts.site);
	free(r->bursts.pair);
}
