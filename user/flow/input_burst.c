// SPDX-License-Identifier: GPL-2.0-or-later
/* What bursts knew of data (FMT_BURST_*): read, resolved, in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/input_priv.h"
#include "util/bisect.h"
#include "util/grow.h"

#define MOST_IN_ONE 65536     /* records of one burst; a damaged file may claim more */
#define LARGEST_ID (1u << 20) /* of sites of one file; a damaged file may claim more */
#define LAST_BIN 63           /* log2 of a distance of 64 bits */

static bool sane_amount(double v)
{
	return v >= 0 && v < 1e18;
}

static uint16_t sane_mark(uint16_t mark)
{
	unsigned kind = mark >> FMT_MARK_BITS;

	return kind > FMT_MARK_UNKNOWN && kind < FMT_MARK_KINDS ? mark : 0;
}

static int take_site(void *ctx, const void *rec, size_t size)
{
	struct raw *r = ctx;
	const struct fmt_burst_site *s = rec;
	struct raw_bursts *b = &r->bursts;
	bool added;
	uint64_t *at;

	if (!s->id || s->id > LARGEST_ID || !sane_amount(s->runs) || !sane_amount(s->load_bytes) ||
	    !sane_amount(s->load_stack) || !sane_amount(s->store_bytes) || !sane_amount(s->store_stack))
		return 0;
	at = map_put(&b->site_at, s->id, &added);
	if (!at || (added && !GROW(b->site, b->sites, b->site_cap, 256)))
		return err_set(r->e, -ENOMEM, "out of memory");
	if (added)
		*at = b->sites++;
	b->site[*at] = *s;
	return 0;
}

static uint64_t pair_key(uint32_t reader, uint32_t writer, uint32_t bin)
{
	return (uint64_t)bin << 42 ^ (uint64_t)reader << 21 ^ writer;
}

static int take_pair(void *ctx, const void *rec, size_t size)
{
	struct raw *r = ctx;
	const struct fmt_burst_pair *p = rec;
	struct raw_bursts *b = &r->bursts;
	bool added;
	uint64_t *at;

	if (p->reader > LARGEST_ID || p->writer > LARGEST_ID || p->bin > LAST_BIN || !sane_amount(p->bytes))
		return 0;
	at = map_put(&b->pair_at, pair_key(p->reader, p->writer, p->bin), &added);
	if (!at || (added && !GROW(b->pair, b->pairs, b->pair_cap, 256)))
		return err_set(r->e, -ENOMEM, "out of memory");
	if (added)
		*at = b->pairs++;
	b->pair[*at] = *p;
	return 0;
}

static int take_data(void *ctx, const void *record, size_t size)
{
	struct raw *r = ctx;
	const uint8_t *rec = record;
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
	if (INPUT_PUSH(r, in->burst, in->burst_count, in->burst_cap,
		       (struct in_burst){ .time = d.time,
					  .pid = d.pid,
					  .tid = d.tid,
					  .first = in->burst_item_count,
					  .loads = d.loads,
					  .stores = d.stores }))
		return r->e->code;
	for (uint32_t i = 0; i < d.loads + d.stores; i++) {
		memcpy(&it, rec + sizeof(d) + i * sizeof(it), sizeof(it));
		if (INPUT_PUSH(r, in->burst_item, in->burst_item_count, in->burst_item_cap,
			       (struct in_burst_item){
				       .addr = it.addr < LAST_ADDR ? it.addr : LAST_ADDR,
				       .site = it.site,
				       .size = it.size,
				       .mark = sane_mark(it.mark),
			       }))
			return r->e->code;
	}
	return 0;
}

static int take_revisit(void *ctx, const void *rec, size_t size)
{
	struct raw *r = ctx;
	const struct fmt_burst_revisit *v = rec;
	struct flow_input *in = r->in;

	if (!(v->same_ns | v->changed_ns) || (v->changed_ns && v->changed_ns <= v->same_ns))
		return 0;
	return INPUT_PUSH(r, in->revisit, in->revisit_count, in->revisit_cap,
			  (struct in_revisit){
				  .site = v->site, .same = (double)v->same_ns, .changed = (double)v->changed_ns })
		       ? r->e->code
		       : 0;
}

static int take_part(void *ctx, const void *record, size_t size)
{
	struct raw *r = ctx;
	const uint8_t *rec = record;
	struct raw_bursts *b = &r->bursts;
	struct fmt_burst_part h;
	struct raw_part_site s;
	struct raw_part_pair p;

	if (size < sizeof(h))
		return 0;
	memcpy(&h, rec, sizeof(h));
	rec += sizeof(h);
	if (h.sites > MOST_IN_ONE || h.pairs > MOST_IN_ONE ||
	    h.sites * sizeof(s.s) + h.pairs * sizeof(p.p) > size - sizeof(h))
		return 0;
	if ((!b->parts || b->part_begin[b->parts - 1] != h.time) &&
	    INPUT_PUSH(r, b->part_begin, b->parts, b->part_cap, h.time))
		return r->e->code;
	s.part = p.part = (uint32_t)b->parts - 1;
	for (uint32_t i = 0; i < h.sites; i++, rec += sizeof(s.s)) {
		memcpy(&s.s, rec, sizeof(s.s));
		if (!sane_amount(s.s.runs))
			continue;
		if (INPUT_PUSH(r, b->part_site, b->part_sites, b->part_site_cap, s))
			return r->e->code;
	}
	for (uint32_t i = 0; i < h.pairs; i++, rec += sizeof(p.p)) {
		memcpy(&p.p, rec, sizeof(p.p));
		if (p.p.reader > LARGEST_ID || p.p.writer > LARGEST_ID || p.p.bin > LAST_BIN ||
		    !sane_amount((double)p.p.bytes))
			continue;
		if (INPUT_PUSH(r, b->part_pair, b->part_pairs, b->part_pair_cap, p))
			return r->e->code;
	}
	return 0;
}

static const struct section_row rows[] = {
	{ FMT_BURST_SITE, sizeof(struct fmt_burst_site), take_site, NULL },
	{ FMT_BURST_PAIR, sizeof(struct fmt_burst_pair), take_pair, NULL },
	{ FMT_BURST_DATA, 0, take_data, NULL },
	{ FMT_BURST_PART, 0, take_part, NULL },
	{ FMT_BURST_REVISIT, sizeof(struct fmt_burst_revisit), take_revisit, NULL },
	{ FMT_EARLIER_SITE, sizeof(struct fmt_earlier_site), input_earlier_site, NULL },
	{ FMT_EARLIER_PAIR, sizeof(struct fmt_earlier_pair), input_earlier_pair, NULL },
};

struct section_reader input_burst_reader(struct raw *r)
{
	return SECTION_READER(rows, r);
}

static int by_time_of_burst(const void *a, const void *b)
{
	const struct in_burst *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static uint32_t resolved_site(const struct raw_bursts *b, const uint32_t *site, uint32_t id)
{
	const uint64_t *at = map_get(&b->site_at, id);

	return at ? site[*at] : FLOW_NONE;
}

/* place: by pair as read: where it stands now; FLOW_NONE. */
static int resolve_pairs(struct raw *r, const uint32_t *site, uint32_t *place)
{
	struct flow_input *in = r->in;
	const struct raw_bursts *b = &r->bursts;

	in->burst_pair = calloc(b->pairs + 1, sizeof(*in->burst_pair));
	in->burst_site = calloc(b->sites + 1, sizeof(*in->burst_site));
	if (!in->burst_pair || !in->burst_site)
		return err_set(r->e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < b->sites; i++)
		if (site[i] != FLOW_NONE)
			in->burst_site[in->burst_site_count++] =
				(struct in_burst_site){ .site = site[i], .bursts = b->site[i].bursts };
	for (size_t i = 0; i < b->pairs; i++) {
		const struct fmt_burst_pair *p = &b->pair[i];
		struct in_burst_pair out = { .reader = resolved_site(b, site, p->reader),
					     .bin = p->bin,
					     .bytes = p->bytes,
					     .writer = p->writer ? resolved_site(b, site, p->writer) : FLOW_NONE };

		place[i] = FLOW_NONE;
		if (out.reader == FLOW_NONE || (p->writer && out.writer == FLOW_NONE))
			continue;
		place[i] = (uint32_t)in->burst_pair_count;
		in->burst_pair[in->burst_pair_count++] = out;
	}
	return 0;
}

/* Which block the accesses of a site lie in. */
static void resolve_blocks(struct raw *r)
{
	struct flow_input *in = r->in;

	for (uint32_t i = 0; i < in->site_count; i++) {
		const uint64_t *at = map_get(&r->bursts.block_at, input_code_key(in->sites[i].module, in->sites[i].ip));

		in->sites[i].block = at ? (uint32_t)*at + 1 : 0;
	}
}

static int resolve_parts(struct raw *r, const uint32_t *site, const uint32_t *place)
{
	const struct raw_bursts *b = &r->bursts;
	struct in_parts *p = &r->in->parts;

	p->begin = malloc((b->parts + 1) * sizeof(*p->begin));
	p->pair = malloc((b->part_pairs + 1) * sizeof(*p->pair));
	p->site = malloc((b->part_sites + 1) * sizeof(*p->site));
	p->runs = malloc((b->part_sites + 1) * sizeof(*p->runs));
	if (!p->begin || !p->pair || !p->site || !p->runs)
		return err_set(r->e, -ENOMEM, "out of memory");
	resolve_blocks(r);
	if (b->parts)
		memcpy(p->begin, b->part_begin, b->parts * sizeof(*p->begin));
	p->count = (uint32_t)b->parts;
	for (size_t i = 0; i < b->part_sites; i++) {
		const struct raw_part_site *s = &b->part_site[i];
		const uint64_t *at = map_get(&b->site_at, s->s.site);

		if (at && site[*at] != FLOW_NONE)
			p->site[p->sites++] =
				(struct in_part_site){ .part = s->part, .site = site[*at], .bursts = s->s.bursts };
		if (at && b->block && b->block[*at] != FLOW_NONE)
			p->runs[p->runs_count++] =
				(struct in_part_runs){ .part = s->part, .block = b->block[*at], .runs = s->s.runs };
	}
	for (size_t i = 0; i < b->part_pairs; i++) {
		const struct raw_part_pair *k = &b->part_pair[i];
		const uint64_t *at = map_get(&b->pair_at, pair_key(k->p.reader, k->p.writer, k->p.bin));

		if (at && place[*at] != FLOW_NONE)
			p->pair[p->pairs++] = (struct in_part_pair){ .part = k->part,
								     .pair = place[*at],
								     .bytes = (double)k->p.bytes };
	}
	return 0;
}

/* The last part that begins no later. */
static uint32_t part_at(const struct in_parts *p, uint64_t time)
{
	uint32_t lo = BISECT(mid, p->count, p->begin[mid] <= time);

	return lo ? lo - 1 : 0;
}

int input_burst_resolve(struct raw *r)
{
	struct flow_input *in = r->in;
	struct raw_bursts *b = &r->bursts;
	uint32_t *site = malloc((b->sites + 1) * sizeof(*site));
	uint32_t *place = malloc((b->pairs + 1) * sizeof(*place));
	int err = site && place ? 0 : err_set(r->e, -ENOMEM, "out of memory");
	/* part of a recording, or code on its callers' account: who wrote was added up for neither. Blocks are
	 * weighed all the same */
	bool data = !r->o.main_image && !flow_input_in_part(&r->o);

	if (!data)
		in->burst_count = in->revisit_count = b->pairs = b->part_pairs = 0;
	if (!err)
		memset(site, 0xff, (b->sites + 1) * sizeof(*site));
	for (size_t i = 0; i < b->sites && data && !err; i++) {
		struct site_key k = { .ip = b->site[i].ip, .module = b->site[i].module };
		uint32_t id = intern_add(&r->site_keys, &k, sizeof(k), NULL), func;

		site[i] = id - 1;
		err = id ? resolve_code(r, &site[i], &func, 0) : err_set(r->e, -ENOMEM, "out of memory");
		if (!err)
			in->sites[site[i]].field = b->site[i].field;
	}
	if (!err)
		err = resolve_pairs(r, site, place);
	if (!err)
		err = resolve_parts(r, site, place);
	for (size_t i = 0; i < in->burst_item_count && !err; i++)
		in->burst_item[i].site = resolved_site(b, site, in->burst_item[i].site);
	for (size_t i = 0; i < in->revisit_count && !err; i++)
		in->revisit[i].site = resolved_site(b, site, in->revisit[i].site);
	if (in->burst_count)
		qsort(in->burst, in->burst_count, sizeof(*in->burst), by_time_of_burst);
	for (size_t i = 0; i < in->burst_count && !err; i++)
		in->burst[i].part = part_at(&in->parts, in->burst[i].time);
	free(site);
	free(place);
	return err;
}

void input_burst_release(struct raw *r)
{
	map_release(&r->bursts.site_at);
	map_release(&r->bursts.pair_at);
	free(r->bursts.site);
	free(r->bursts.pair);
	free(r->bursts.part_begin);
	free(r->bursts.part_site);
	free(r->bursts.part_pair);
	free(r->bursts.block);
	map_release(&r->bursts.block_at);
}

void input_parts_release(struct in_parts *p)
{
	free(p->begin);
	free(p->pair);
	free(p->site);
	free(p->runs);
	free(p->block);
}
