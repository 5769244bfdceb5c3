// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/emulate_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "format.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/random.h"

#define BINS 24               /* of ages, each twice as long as the one before */
#define LOADS 128             /* of one burst, that are written */
#define STORES 1024           /* items kept of one burst, drawn at random; by hand */
#define MOST_SITES (1u << 16) /* instructions that moved data; by hand */
#define MOST_PAIRS (1u << 17) /* of a reader and a writer; by hand */
/* that bursts make, as long as there are few; later ones have so many times more bursts as there were before them. Of
 * 100 bursts that is 20 parts, enough to tell how bursts differ; 64 took 7 KB a second of a busy interpreter. */
#define PARTS 4
#define PIECE 2048 /* items of a part in one record */
#define SOON 16    /* look-ups: so many later a line that was fetched is there */
#define NOWHERE UINT32_MAX
#define RECENT_BITS 12
#define RECENT (1u << RECENT_BITS) /* pairs of instructions: 160 KB, which a second cache holds; by hand */
#define AT_ONCE 16384              /* accesses of a segment that are followed together: less than a megabyte; by hand */

struct emulate_data_site {
	struct fmt_burst_site rec;
	uint64_t load, load_stack, store, store_stack, ran; /* of this burst */
	struct fmt_burst_part_site part;
	bool met, changed; /* changed: since it was written */
	bool in_part;
};

struct pair {
	uint32_t reader, writer; /* sites; writer NOWHERE: nobody of the burst */
	double bytes[BINS];
	uint32_t now[BINS];
	float part[BINS];
	bool met, in_part;
	uint32_t changed; /* bins, since they were written */
};
_Static_assert(BINS <= 32, "a bit for each");

struct emulate_data_list {
	uint32_t *item, count, cap;
};

struct ends {
	uint32_t site, writer; /* NOWHERE: unknown; writer: nobody of the burst */
	uint32_t pair;         /* NOWHERE: not looked up */
};

/* Loops come by the same two instructions again and again. */
struct emulate_data_recent {
	uint64_t ip, writer;
	struct ends ends;
};

struct emulate_data {
	struct store_writer *w;
	struct emulate_data_env env;
	struct map at;  /* where it runs -> site */
	struct map key; /* module and address -> site */
	struct emulate_data_site *site;
	uint32_t sites, site_cap;
	struct map pair_at; /* reader << 32 | writer */
	struct pair *pair;
	uint32_t pairs, pair_cap;
	struct emulate_data_list met_site, met_pair;
	struct fmt_burst_part part;                    /* the one under way */
	uint64_t bursts;                               /* before it */
	struct emulate_data_list part_site, part_pair; /* what it met */
	union {
		struct fmt_burst_part_site site[PIECE];
		struct fmt_burst_part_pair pair[PIECE];
	} piece;
	struct fmt_burst_data head;
	struct fmt_burst_item item[LOADS + STORES];
	struct emu_access *access; /* of the burst under way: of which it stays known only at its end */
	uint32_t accesses, access_cap;
	struct ends *ends; /* of each of them */
	uint32_t end_cap;
	struct emulate_data_recent recent[RECENT]; /* by recent_of() */
	uint32_t *ran;                             /* sites of instructions that ran */
	uint32_t ran_cap;
	uint64_t loads, stores;     /* that the items were drawn from */
	uint64_t insns;             /* those of later instructions were taken back */
	uint64_t stack_end, lowest; /* lowest: stack pointer of the burst */
	uint64_t random;
	bool segment; /* see emulate_data_begin() */
	bool no_memory;
};

struct emulate_data *emulate_data_new(struct store_writer *w, const struct emulate_data_env *env, uint64_t seed)
{
	struct emulate_data *f = calloc(1, sizeof(*f));

	if (f) {
		f->w = w;
		f->env = *env;
		f->random = seed | 1;
	}
	return f;
}

void emulate_data_free(struct emulate_data *f)
{
	if (!f)
		return;
	map_release(&f->at);
	map_release(&f->key);
	map_release(&f->pair_at);
	free(f->site);
	free(f->pair);
	free(f->met_site.item);
	free(f->met_pair.item);
	free(f->part_site.item);
	free(f->part_pair.item);
	free(f->access);
	free(f->ends);
	free(f->ran);
	free(f);
}

void emulate_data_forget(struct emulate_data *f)
{
	map_release(&f->at);
	memset(f->recent, 0, sizeof(f->recent));
}

static bool list_put(struct emulate_data *f, struct emulate_data_list *l, uint32_t i)
{
	if (!GROW(l->item, l->count, l->cap, 1024)) {
		f->no_memory = true;
		return false;
	}
	l->item[l->count++] = i;
	return true;
}

static uint32_t add_site(struct emulate_data *f, uint64_t ip)
{
	struct emulate_data_site s = { 0 };
	uint64_t *at;
	bool added;

	if (!f->env.place(f->env.ctx, f->head.pid, ip, &s.rec.module, &s.rec.ip))
		return NOWHERE;
	at = map_put(&f->key, (uint64_t)s.rec.module << 44 ^ s.rec.ip, &added);
	if (at && !added)
		return (uint32_t)*at;
	if (at)
		*at = NOWHERE;
	if (!at || f->sites == MOST_SITES || !GROW(f->site, f->sites, f->site_cap, 1024)) {
		f->no_memory |= f->sites < MOST_SITES;
		return NOWHERE;
	}
	s.rec.id = f->sites + 1;
	s.rec.field = f->env.field ? f->env.field(f->env.ctx, ip) : 0;
	f->site[f->sites] = s;
	*at = f->sites;
	return f->sites++;
}

static uint32_t site_at(struct emulate_data *f, uint64_t ip)
{
	bool added;
	uint64_t *at = map_get(&f->at, ip);
	uint32_t i;

	if (at)
		return (uint32_t)*at;
	i = add_site(f, ip);
	at = map_put(&f->at, ip, &added);
	f->no_memory |= !at;
	if (at)
		*at = i;
	return i;
}

/* As one that this burst met. */
static struct emulate_data_site *meet_site(struct emulate_data *f, uint32_t i)
{
	if (i == NOWHERE)
		return NULL;
	if (!f->site[i].met) {
		if (!list_put(f, &f->met_site, i))
			return NULL;
		f->site[i].met = true;
	}
	return &f->site[i];
}

static uint64_t key_of_pair(uint32_t reader, uint32_t writer)
{
	return (uint64_t)reader << 32 | writer;
}

static uint32_t pair_of(struct emulate_data *f, uint32_t reader, uint32_t writer)
{
	bool added;
	uint64_t *at = map_put(&f->pair_at, key_of_pair(reader, writer), &added);

	if (at && added) {
		*at = NOWHERE;
		if (f->pairs < MOST_PAIRS && GROW(f->pair, f->pairs, f->pair_cap, 1024)) {
			f->pair[f->pairs] = (struct pair){ .reader = reader, .writer = writer };
			*at = f->pairs++;
		}
	}
	f->no_memory |= !at;
	return at ? (uint32_t)*at : NOWHERE;
}

static struct pair *meet_pair(struct emulate_data *f, uint32_t i)
{
	if (i == NOWHERE)
		return NULL;
	if (!f->pair[i].met) {
		if (!list_put(f, &f->met_pair, i))
			return NULL;
		f->pair[i].met = true;
	}
	return &f->pair[i];
}

/* The two of an access, and their pair, if it was met lately. */
static struct emulate_data_recent *recent_of(struct emulate_data *f, const struct emu_access *a)
{
	struct emulate_data_recent *r = &f->recent[(a->ip ^ a->writer << 1) * 0x9e3779b97f4a7c15 >> (64 - RECENT_BITS)];

	if (r->ip == a->ip && r->writer == a->writer)
		return r;
	r->ip = a->ip;
	r->writer = a->writer;
	r->ends = (struct ends){ site_at(f, a->ip), a->writer ? site_at(f, a->writer) : NOWHERE, NOWHERE };
	return r;
}

/* Each of all has the same chance to stay. */
static void draw_item(struct emulate_data *f, struct fmt_burst_item *from, uint32_t *held, uint32_t most, uint64_t *all,
		      const struct emu_access *a, uint32_t site)
{
	uint64_t at = *held < most ? (*held)++ : random_next(&f->random) % (*all + 1);

	++*all;
	if (at < most)
		from[at] = (struct fmt_burst_item){ .addr = a->addr,
						    .site = site + 1,
						    .size = (uint16_t)(a->size < UINT16_MAX ? a->size : UINT16_MAX),
						    .mark = f->env.mark ? f->env.mark(f->env.ctx, a) : 0 };
}

static bool is_on_stack(const struct emulate_data *f, uint64_t addr, uint64_t sp)
{
	return sp && addr + RED_ZONE >= sp && addr < f->stack_end;
}

static unsigned age_bin(uint32_t instructions)
{
	unsigned b = 31 - (unsigned)__builtin_clz(instructions ? instructions : 1);

	return b < BINS ? b : BINS - 1;
}

static void follow_access(struct emulate_data *f, const struct emu_access *a, struct ends *ends)
{
	uint32_t i = ends->site;
	struct emulate_data_site *s = meet_site(f, i);
	bool stack = is_on_stack(f, a->addr, a->sp);
	struct pair *p;

	if (!s)
		return;
	f->lowest = a->sp && a->sp < f->lowest ? a->sp : f->lowest;
	*(a->store ? &s->store : &s->load) += a->size;
	*(a->store ? &s->store_stack : &s->load_stack) += stack ? a->size : 0;
	if (stack || a->store)
		return;
	if (a->writer && ends->writer == NOWHERE)
		return;
	if (!a->writer)
		draw_item(f, f->item, &f->head.loads, LOADS, &f->loads, a, i);
	if (ends->pair == NOWHERE) {
		ends->pair = pair_of(f, i, ends->writer);
		recent_of(f, a)->ends.pair = ends->pair;
	}
	p = meet_pair(f, ends->pair);
	if (p)
		p->now[age_bin(a->writer ? a->age : a->at + 1)] += a->size;
}

/* Caches are cold, and most of the time would be spent waiting for one line after another: what is looked up is fetched
 * some look-ups before. */
static void follow_accesses(struct emulate_data *f)
{
	uint32_t n = f->accesses;

	if (!GROW_TO(f->ends, n, f->end_cap, 4096)) {
		f->no_memory = true;
		return;
	}
	for (uint32_t k = 0; k < n; k++) {
		const struct emu_access *a = &f->access[k];

		f->ends[k] = a->at < f->insns ? recent_of(f, a)->ends : (struct ends){ NOWHERE, NOWHERE, NOWHERE };
	}
	for (uint32_t k = 0; k < n; k++) {
		if (k + SOON < n && f->ends[k + SOON].pair == NOWHERE)
			map_fetch(&f->pair_at, key_of_pair(f->ends[k + SOON].site, f->ends[k + SOON].writer));
		if (f->access[k].at < f->insns)
			follow_access(f, &f->access[k], &f->ends[k]);
	}
	f->accesses = 0;
}

void emulate_data_access(void *ctx, const struct emu_access *a)
{
	struct emulate_data *f = ctx;

	/* of a segment nothing is taken back, but where it went astray: too little for all of it to be kept */
	if (f->segment && f->accesses == AT_ONCE)
		follow_accesses(f);
	if (GROW(f->access, f->accesses, f->access_cap, 4096))
		f->access[f->accesses++] = *a;
	else
		f->no_memory = true;
}

/* Of instructions that touch memory, and of one of nearly every other block. */
static void note_runs(struct emulate_data *f, const struct emu_count *count, uint32_t n)
{
	if (!GROW_TO(f->ran, n, f->ran_cap, 4096)) {
		f->no_memory = true;
		return;
	}
	for (uint32_t k = 0; k < n; k++) {
		if (k + SOON < n && count[k + SOON].moves)
			map_fetch(&f->at, count[k + SOON].ip);
		f->ran[k] = count[k].moves ? site_at(f, count[k].ip) : NOWHERE;
	}
	for (uint32_t k = 0; k < n; k++) {
		struct emulate_data_site *s;

		if (k + SOON < n && f->ran[k + SOON] != NOWHERE)
			__builtin_prefetch(&f->site[f->ran[k + SOON]], 1);
		s = f->ran[k] != NOWHERE ? meet_site(f, f->ran[k]) : NULL;
		if (s)
			s->ran += count[k].runs;
	}
}

static void note_write(void *ctx, const struct emu_access *a)
{
	struct emulate_data *f = ctx;
	uint32_t i = site_at(f, a->ip);

	if (i != NOWHERE && a->at < f->insns && !is_on_stack(f, a->addr, f->lowest))
		draw_item(f, f->item + LOADS, &f->head.stores, STORES, &f->stores, a, i);
}

static void site_to_part(struct emulate_data *f, uint32_t i)
{
	struct emulate_data_site *s = &f->site[i];

	if (!s->in_part) {
		if (!list_put(f, &f->part_site, i))
			return;
		s->in_part = true;
		s->part = (struct fmt_burst_part_site){ .site = s->rec.id };
	}
	s->part.bursts++;
	s->part.runs += (double)s->ran;
}

static void pair_to_part(struct emulate_data *f, uint32_t i)
{
	struct pair *p = &f->pair[i];

	if (!p->in_part) {
		if (!list_put(f, &f->part_pair, i))
			return;
		p->in_part = true;
	}
	for (unsigned b = 0; b < BINS; b++)
		p->part[b] += (float)p->now[b];
}

static void sum_burst(struct emulate_data *f)
{
	for (uint32_t k = 0; k < f->met_site.count; k++) {
		struct emulate_data_site *s = &f->site[f->met_site.item[k]];

		site_to_part(f, f->met_site.item[k]);
		s->rec.runs += (double)s->ran;
		if (!f->segment) {
			s->rec.load_bytes += (double)s->load;
			s->rec.load_stack += (double)s->load_stack;
			s->rec.store_bytes += (double)s->store;
			s->rec.store_stack += (double)s->store_stack;
		}
		s->rec.bursts++;
		s->changed = true;
		s->load = s->load_stack = s->store = s->store_stack = s->ran = 0;
		s->met = false;
	}
	for (uint32_t k = 0; k < f->met_pair.count; k++) {
		struct pair *p = &f->pair[f->met_pair.item[k]];

		for (unsigned b = 0; b < BINS; b++) {
			p->bytes[b] += p->now[b];
			p->changed |= (uint32_t)(p->now[b] > 0) << b;
		}
		pair_to_part(f, f->met_pair.item[k]);
		memset(p->now, 0, sizeof(p->now));
		p->met = false;
	}
	f->met_site.count = f->met_pair.count = 0;
}

static int put_piece(struct emulate_data *f)
{
	uint32_t n = f->part.sites + f->part.pairs;
	int err = n ? store_put_var(f->w, FMT_BURST_PART, &f->part, sizeof(f->part), &f->piece,
				    n * (uint32_t)sizeof(f->piece.site[0]))
		    : 0;

	f->part.sites = f->part.pairs = 0;
	return err;
}

static int put_part_pair(struct emulate_data *f, struct pair *p)
{
	int err = 0;

	for (uint32_t b = 0; b < BINS && !err; b++) {
		if (!(p->part[b] > 0))
			continue;
		f->piece.pair[f->part.pairs++] =
			(struct fmt_burst_part_pair){ .reader = p->reader + 1,
						      .bin = b,
						      .bytes = p->part[b],
						      .writer = p->writer == NOWHERE ? 0 : p->writer + 1 };
		err = f->part.pairs == PIECE ? put_piece(f) : 0;
	}
	memset(p->part, 0, sizeof(p->part));
	p->in_part = false;
	return err;
}

static int end_part(struct emulate_data *f)
{
	int err = 0;

	for (uint32_t k = 0; k < f->part_site.count && !err; k++) {
		struct emulate_data_site *s = &f->site[f->part_site.item[k]];

		f->piece.site[f->part.sites++] = s->part;
		s->in_part = false;
		err = f->part.sites == PIECE ? put_piece(f) : 0;
	}
	err = err ? err : put_piece(f);
	for (uint32_t k = 0; k < f->part_pair.count && !err; k++)
		err = put_part_pair(f, &f->pair[f->part_pair.item[k]]);
	err = err ? err : put_piece(f);
	f->bursts += f->part.bursts;
	f->part_site.count = f->part_pair.count = f->part.bursts = 0;
	return err;
}

void emulate_data_begin(struct emulate_data *f, const struct fmt_burst_data *of, uint64_t stack_end, bool segment)
{
	f->head = *of;
	f->segment = segment;
	f->insns = UINT64_MAX;
	f->loads = f->stores = 0;
	f->accesses = 0;
	f->stack_end = stack_end;
	f->lowest = UINT64_MAX;
}

static int put_data(struct emulate_data *f)
{
	memmove(f->item + f->head.loads, f->item + LOADS, f->head.stores * sizeof(f->item[0]));
	for (uint32_t k = 0; k < f->head.loads + f->head.stores; k++)
		f->site[f->item[k].site - 1].changed = true;
	return store_put_var(f->w, FMT_BURST_DATA, &f->head, sizeof(f->head), f->item,
			     (f->head.loads + f->head.stores) * (uint32_t)sizeof(f->item[0]));
}

int emulate_data_end(struct emulate_data *f, const struct emu *e, const struct emu_count *count, size_t counts,
		     uint64_t insns)
{
	int err;

	f->part.time = f->part.bursts++ ? f->part.time : f->head.time;
	note_runs(f, count, (uint32_t)counts);
	f->insns = insns;
	follow_accesses(f);
	/* where a store that was taken back came last, nobody is known to have been before it */
	emu_written(e, note_write, f);
	sum_burst(f);
	if (f->no_memory)
		return -ENOMEM;
	err = f->head.loads + f->head.stores ? put_data(f) : 0;
	return !err && f->part.bursts > f->bursts / PARTS ? end_part(f) : err;
}

const struct fmt_burst_item *emulate_data_reads(const struct emulate_data *f, uint32_t *count)
{
	*count = f->head.loads;
	return f->item;
}

static int put_pair(struct emulate_data *f, struct pair *p)
{
	int err = 0;

	for (uint32_t b = 0; b < BINS && !err; b++) {
		struct fmt_burst_pair rec = { .reader = p->reader + 1,
					      .writer = p->writer == NOWHERE ? 0 : p->writer + 1,
					      .bin = b,
					      .bytes = p->bytes[b] };

		if (p->changed >> b & 1)
			err = store_put_changed(f->w, FMT_BURST_PAIR, (uint32_t)(p - f->pair) * BINS + b, &rec,
						sizeof(rec));
	}
	p->changed = 0;
	return err;
}

/* Of sums what has grown since: the last of each counts. */
int emulate_data_write(struct emulate_data *f)
{
	int err = end_part(f);

	for (uint32_t i = 0; i < f->sites && !err; i++) {
		struct emulate_data_site *s = &f->site[i];

		if (s->changed)
			err = store_put_changed(f->w, FMT_BURST_SITE, s->rec.id, &s->rec, sizeof(s->rec));
		s->changed = false;
	}
	for (uint32_t i = 0; i < f->pairs && !err; i++)
		err = put_pair(f, &f->pair[i]);
	return err;
}
