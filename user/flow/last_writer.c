// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/last_writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/census.h"
#include "flow/overwrite.h"
#include "util/grow.h"

#define GRANULE 4                  /* bytes: a table by byte would take four times the memory */
#define WIDE_STORE 512             /* larger stores are kept as ranges */
#define PAGE_RANGES 24             /* ranges remembered per page, the newest */
#define MAX_RANGE_PAGES (1u << 18) /* 1 GB of one range */
/* All ranges wider than WIDE_PAGES together, 8 GB; then of each only so much: else a few hundred system
 * calls on a gigabyte each, true or made up, keep the sweep busy for minutes. */
#define MAX_WIDE_PAGES (1u << 21)
#define WIDE_PAGES (1u << 12)
#define READ_PARTS 16               /* questions asked for a wide load */
#define WATCH_MAX 64                /* bytes of one hardware watchpoint, on any processor */
#define IO_PARTS 16                 /* questions asked for a range that the kernel reads */
#define IO_RANGE_LIMIT (1ull << 40) /* bytes: a system call moves 2 GB at most; a damaged file may claim more */

struct last_writer_record { /* a store, as evidence */
	uint64_t time, addr;
	uint32_t func, site; /* site FLOW_NONE: the kernel */
	uint32_t stack, pid;
};

struct range { /* a wide store, or what a system call filled; a list per page, newest first */
	uint64_t start, end;
	uint32_t record, next;
};

struct event {
	uint64_t time;
	uint32_t window, hit;
};

struct sweep_state {
	const struct flow_input *in;
	const struct est_opts *o;
	struct last_writer *c;
	struct overwrite *ow;
	bool *complete;                 /* by site; census.h */
	struct last_writer_record *rec; /* [0] unused */
	uint32_t rec_count, rec_cap;
	struct range *range; /* [0] unused */
	uint32_t range_count, range_cap;
	uint64_t wide_pages;                         /* spent of MAX_WIDE_PAGES */
	struct map granule, weak, line, block, page; /* -> record */
	struct map relro;                            /* region << 32, and process -> record */
	struct event *written;                       /* writes that windows saw, by time */
	size_t written_count;
	struct map page_ranges; /* -> range */
	struct map io_sites;    /* function of a system call -> site */
	bool no_memory;
};

static uint64_t unit_key(uint32_t pid, uint64_t unit)
{
	return unit ^ (uint64_t)pid << 48;
}

static uint32_t new_record(struct sweep_state *s, uint32_t pid, uint64_t time, uint64_t addr, uint32_t func,
			   uint32_t site)
{
	if (!GROW(s->rec, s->rec_count, s->rec_cap, 4096)) {
		s->no_memory = true;
		return 0;
	}
	s->rec[s->rec_count] =
		(struct last_writer_record){ .time = time, .addr = addr, .func = func, .site = site, .pid = pid };
	return s->rec_count++;
}

static void set_record(struct sweep_state *s, struct map *m, uint64_t k, uint32_t record)
{
	uint64_t *at = map_put(m, k, NULL);

	if (at)
		*at = record;
	else
		s->no_memory = true;
}

static uint32_t get(const struct map *m, uint64_t k)
{
	const uint64_t *at = map_get(m, k);

	return at ? (uint32_t)*at : 0;
}

static void add_range(struct sweep_state *s, uint32_t pid, uint64_t start, uint64_t end, uint32_t record)
{
	uint64_t first = start >> 12, last = (end - 1) >> 12;

	if (end <= start || last - first > MAX_RANGE_PAGES)
		last = first + MAX_RANGE_PAGES;
	if (last - first > WIDE_PAGES) {
		if (s->wide_pages > MAX_WIDE_PAGES)
			last = first + WIDE_PAGES;
		s->wide_pages += last - first;
	}
	if (end > start && last < (end - 1) >> 12)
		s->c->cut_bytes += (double)(end - ((last + 1) << 12));
	for (uint64_t p = first; p <= last && end > start; p++) {
		uint64_t *head = map_put(&s->page_ranges, unit_key(pid, p), NULL), from, to;
		uint32_t keep = 0;

		if (!head || !GROW(s->range, s->range_count, s->range_cap, 1024)) {
			s->no_memory = true;
			return;
		}
		from = start > p << 12 ? start : p << 12;
		to = end < (p + 1) << 12 ? end : (p + 1) << 12;
		/* one that is wholly covered can never answer again: reuse its place */
		for (uint32_t i = (uint32_t)*head, n = 0, prev = 0; i; prev = i, i = s->range[i].next, n++) {
			if ((s->range[i].start >= from && s->range[i].end <= to) || n == PAGE_RANGES) {
				keep = i;
				if (prev)
					s->range[prev].next = s->range[i].next;
				else
					*head = s->range[i].next;
				break;
			}
		}
		if (!keep)
			keep = s->range_count++;
		s->range[keep] = (struct range){ .start = from, .end = to, .record = record, .next = (uint32_t)*head };
		*head = keep;
	}
}

static uint32_t find_range(const struct sweep_state *s, uint32_t pid, uint64_t addr)
{
	for (uint32_t i = get(&s->page_ranges, unit_key(pid, addr >> 12)); i; i = s->range[i].next)
		if (addr >= s->range[i].start && addr < s->range[i].end)
			return s->range[i].record;
	return 0;
}

static void take_store(struct sweep_state *s, const struct in_access *a)
{
	bool census = a->flags & FMT_A_CENSUS, weak = census && s->in->sites[a->site].clears;
	uint32_t size = a->size ? a->size : 1;
	uint64_t end = a->addr + size;
	const struct in_region *region;
	uint32_t r;

	if (!census)
		overwrite_store(s->ow, a);
	r = new_record(s, a->pid, a->time, a->addr, a->func, a->site);
	if (!r)
		return;
	s->rec[r].stack = a->stack;
	if (size > WIDE_STORE && !weak)
		add_range(s, a->pid, a->addr, end, r);
	for (uint64_t g = a->addr / GRANULE; g <= (end - 1) / GRANULE && size <= WIDE_STORE; g++)
		set_record(s, weak ? &s->weak : &s->granule, unit_key(a->pid, g), r);
	if (weak)
		return;
	region = in_region_at(s->in, a->pid, a->addr);
	if (region && region->kind == IN_R_RELRO) {
		set_record(s, &s->relro, (uint64_t)(region - s->in->region) << 32, r);
		if (!region->lazy)
			set_record(s, &s->relro, a->pid, r);
	}
	/* nothing but what it was seen to write: it says nothing of the neighbourhood, and must not hide who does */
	if (s->complete[a->site])
		return;
	for (uint64_t l = a->addr >> 6; l <= (end - 1) >> 6 && size <= WIDE_STORE; l++)
		set_record(s, &s->line, unit_key(a->pid, l), r);
	set_record(s, &s->block, unit_key(a->pid, a->addr >> 8), r);
	set_record(s, &s->page, unit_key(a->pid, a->addr >> 12), r);
}

static struct last_written answer_of(const struct last_writer_record *r, enum near near)
{
	return (struct last_written){ .producer = r->func,
				      .stack = r->stack,
				      .age = r->time,
				      .site = r->site,
				      .addr = r->addr,
				      .near = (uint8_t)near };
}

/* Memory that nobody was seen to write. */
static struct last_written nowhere(const struct sweep_state *s, const struct in_region *region, enum near near)
{
	/* the dynamic linker's work: long done before a recorder attaches */
	bool file = region && (region->kind == IN_R_READONLY || region->kind == IN_R_DATA || region->kind == IN_R_FILE);

	return (struct last_written){ .producer = file || s->in->from_start ? s->in->outside : s->in->before,
				      .site = FLOW_NONE,
				      .near = (uint8_t)near };
}

struct neighbourhood {
	const struct map *map;
	uint64_t key;
	enum near near;
};

struct writer_place {
	uint32_t pid;
	uint64_t addr;
	const struct in_object *obj; /* that holds it; NULL: none is known */
};

static struct neighbourhood around(const struct map *m, const struct writer_place *p, unsigned bits, enum near near)
{
	return (struct neighbourhood){ m, unit_key(p->pid, p->addr >> bits), near };
}

/* Evidence from the neighbourhood: only within the same object, and only from a store instruction
 * that could have written this very address. */
static uint32_t near_record(const struct sweep_state *s, struct neighbourhood n, const struct writer_place *p,
			    struct last_written *a)
{
	uint32_t r = get(n.map, n.key);

	if (!r || (p->obj && (s->rec[r].addr < p->obj->addr || s->rec[r].addr >= p->obj->end)) ||
	    !overwrite_plausible(s->ow, s->rec[r].site, p->pid, p->addr))
		return 0;
	*a = answer_of(&s->rec[r], n.near);
	return r;
}

/* Has another instruction gone over this address since record r (0: since the beginning)? */
static struct last_written overwritten(const struct sweep_state *s, struct last_written a, uint32_t r, uint32_t pid,
				       uint64_t addr)
{
	uint64_t pass;
	uint32_t over = overwrite_test(s->ow, pid, addr, r ? s->rec[r].time : 0, r ? s->rec[r].site : FLOW_NONE, &pass);

	if (over != FLOW_NONE) {
		a.producer = s->in->sites[over].func;
		a.stack = 0;
		a.age = pass;
		a.site = FLOW_NONE;
		a.overwritten = true;
	}
	return a;
}

/* With the time of the record for its age. */
static struct last_written newest(struct sweep_state *s, uint32_t pid, uint64_t addr, uint64_t time)
{
	const struct in_region *region = in_region_at(s->in, pid, addr);
	struct last_written a = { .near = NEAR_NONE, .site = FLOW_NONE };
	struct writer_place p = { .pid = pid, .addr = addr };
	uint32_t r, range, weak;

	if (region && region->kind == IN_R_READONLY)
		return nowhere(s, region, NEAR_CONSTANT);
	r = get(&s->granule, unit_key(pid, addr / GRANULE));
	range = find_range(s, pid, addr);
	if (range && (!r || s->rec[range].time >= s->rec[r].time))
		r = range;
	if (r) {
		a = overwritten(s, answer_of(&s->rec[r], NEAR_GRANULE), r, pid, addr);
		return a;
	}
	if (region && region->kind == IN_R_RELRO) {
		/* the dynamic linker fills all of it, whatever function was seen at it */
		r = get(&s->relro, (uint64_t)(region - s->in->region) << 32);
		if (!r && !region->lazy)
			r = get(&s->relro, pid);
		return r ? answer_of(&s->rec[r], NEAR_CONSTANT) : nowhere(s, region, NEAR_CONSTANT);
	}
	p.obj = in_object_at(s->in, pid, addr, time);
	r = near_record(s, around(&s->line, &p, 6, NEAR_LINE), &p, &a);
	if (!r)
		r = near_record(s, around(&s->block, &p, 8, NEAR_BLOCK), &p, &a);
	if (!r) {
		r = near_record(s, around(&s->page, &p, 12, NEAR_PAGE), &p, &a);
		if (!r)
			a = nowhere(s, region, NEAR_NONE);
		weak = get(&s->weak, unit_key(pid, addr / GRANULE));
		if (weak)
			return answer_of(&s->rec[weak], NEAR_GRANULE);
	}
	a = overwritten(s, a, r, pid, addr);
	if (region && region->kind == IN_R_DATA && !a.overwritten)
		return nowhere(s, region, NEAR_CONSTANT);
	return a;
}

static struct last_written last_write_of(struct sweep_state *s, uint32_t pid, uint64_t addr, uint64_t time)
{
	struct last_written a = newest(s, pid, addr, time);

	a.age = a.age && a.age < time && a.near != NEAR_CONSTANT ? time - a.age : 0;
	return a;
}

static void add_read(struct sweep_state *s, struct read_answer r)
{
	struct last_writer *c = s->c;

	if (!PUSH(c->reads, c->read_count, c->read_cap, 4096, r))
		s->no_memory = true;
}

static void take_load(struct sweep_state *s, const struct in_access *a)
{
	uint32_t size = a->size ? a->size : 1;
	/* a wide load may read what several stores wrote: ask at several places */
	uint32_t parts = size <= GRANULE ? 1 : size / GRANULE < READ_PARTS ? size / GRANULE : READ_PARTS;
	const struct in_object *obj = in_object_at(s->in, a->pid, a->addr, a->time);
	struct read_answer r = { .site = a->site,
				 .func = a->func,
				 .pid = a->pid,
				 .object = obj ? (uint32_t)(obj - s->in->object) : FLOW_NONE,
				 .stack = a->stack };

	for (uint32_t i = 0; i < parts; i++) {
		uint32_t from = (uint32_t)((uint64_t)size * i / parts),
			 to = (uint32_t)((uint64_t)size * (i + 1) / parts);
		struct last_written x = last_write_of(s, a->pid, a->addr + from, a->time);

		if (r.size && (x.producer != r.a.producer || x.near != r.a.near)) {
			add_read(s, r);
			r.size = 0;
		}
		if (!r.size) {
			r.a = x;
			r.addr = a->addr + from;
		}
		r.size += to - from;
		r.bytes = a->weight * r.size;
	}
	add_read(s, r);
	s->c->loads++;
}

static bool io_on_stack(const struct sweep_state *s, const struct in_sysio *io)
{
	const struct in_region *region = in_region_at(s->in, io->pid, io->addr);

	return io->stack || (region && region->kind == IN_R_STACK);
}

static void sweep_sysio(struct sweep_state *s, const struct in_sysio *io)
{
	uint64_t len = io->len < IO_RANGE_LIMIT ? io->len : IO_RANGE_LIMIT;
	uint64_t *site;
	bool added;
	uint32_t parts, r;

	if (!len || (!s->o->stack && io_on_stack(s, io)))
		return;
	if (io->dir != FMT_IO_KERNEL_READS && !io->addr)
		return; /* somewhere */
	if (io->dir != FMT_IO_KERNEL_READS) {
		/* fresh memory was written by nobody, what a call filled by the kernel */
		r = new_record(s, io->pid, io->time, io->addr, io->dir == FMT_IO_MAPS ? s->in->outside : io->func,
			       FLOW_NONE);
		if (r)
			add_range(s, io->pid, io->addr, io->addr + len, r);
		return;
	}
	site = map_put(&s->io_sites, io->func, &added);
	if (!site) {
		s->no_memory = true;
		return;
	}
	if (added)
		*site = s->c->site_count++;
	parts = len < IO_PARTS * GRANULE ? (uint32_t)(len + GRANULE - 1) / GRANULE : IO_PARTS;
	for (uint32_t i = 0; i < parts; i++) {
		struct last_written a = last_write_of(s, io->pid, io->addr + len * i / parts, io->time);

		/* no window watches what the kernel reads: that nobody was seen to write there tells nothing */
		if (a.near == NEAR_NONE && !a.overwritten && s->in->engine != FLOW_EXACT)
			a = (struct last_written){ .producer = s->in->unknown, .site = FLOW_NONE, .near = NEAR_BLIND };
		add_read(s, (struct read_answer){ .site = (uint32_t)*site,
						  .func = io->func,
						  .pid = io->pid,
						  .object = FLOW_NONE,
						  .addr = io->addr + len * i / parts,
						  .size = (uint32_t)(len / parts),
						  .bytes = io->weight * (double)len / parts,
						  .call = (uint32_t)(io - s->in->sysio) + 1,
						  .a = a });
	}
}

static void sweep_access(struct sweep_state *s, const struct in_access *a)
{
	bool census = a->flags & FMT_A_CENSUS;

	if (!s->o->stack && (a->flags & FMT_A_STACK))
		return;
	if (a->flags & FMT_A_TIME)
		s->c->time_bias = true;
	if ((a->flags & FMT_A_LOAD) && !census)
		take_load(s, a);
	if ((a->flags & FMT_A_STORE) && (!census || s->o->use_census)) {
		take_store(s, a);
		s->c->stores += !census;
	}
}

/* What a burst reads of what was there before comes before what it writes. */
static void sweep_burst(struct sweep_state *s, const struct in_burst *b)
{
	const struct in_burst_item *it = b->loads + b->stores ? s->in->burst_item + b->first : NULL;

	for (uint32_t i = 0; i < b->loads; i++) {
		const struct in_object *obj = in_object_at(s->in, b->pid, it[i].addr, b->time);

		if (it[i].site != FLOW_NONE && it[i].size)
			add_read(s, (struct read_answer){ .site = it[i].site,
							  .func = s->in->sites[it[i].site].func,
							  .pid = b->pid,
							  .addr = it[i].addr,
							  .object = obj ? (uint32_t)(obj - s->in->object) : FLOW_NONE,
							  .size = it[i].size,
							  .mark = it[i].mark,
							  .burst = (uint32_t)(b - s->in->burst) + 1,
							  .a = last_write_of(s, b->pid, it[i].addr, b->time) });
	}
	for (uint32_t i = b->loads; i < b->loads + b->stores; i++) {
		uint64_t end = it[i].addr + it[i].size;
		uint32_t r =
			it[i].site != FLOW_NONE && it[i].size
				? new_record(s, b->pid, b->time, it[i].addr, s->in->sites[it[i].site].func, it[i].site)
				: 0;

		if (r && it[i].size > WIDE_STORE)
			add_range(s, b->pid, it[i].addr, end, r);
		for (uint64_t g = it[i].addr / GRANULE; r && g <= (end - 1) / GRANULE && it[i].size <= WIDE_STORE; g++)
			set_record(s, &s->granule, unit_key(b->pid, g), r);
	}
}

static int by_event_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->hit > y->hit) - (x->hit < y->hit);
}

/* Writes seen by windows are stores like any other. */
static void prepare_windows(struct sweep_state *s)
{
	const struct flow_input *in = s->in;

	s->written = malloc((in->hit_count + 1) * sizeof(*s->written));
	if (!s->written) {
		s->no_memory = true;
		return;
	}
	for (uint32_t w = 0; s->o->use_windows && w < in->window_count; w++)
		for (uint32_t h = 0; h < in->window[w].count; h++)
			if (in->hit[in->window[w].first + h].flags & FMT_A_STORE)
				s->written[s->written_count++] = (struct event){
					.time = in->hit[in->window[w].first + h].time,
					.window = w,
					.hit = (uint32_t)(in->window[w].first + h),
				};
	qsort(s->written, s->written_count, sizeof(*s->written), by_event_time);
}

static void sweep_hit(struct sweep_state *s, const struct event *ev)
{
	const struct in_window *w = &s->in->window[ev->window];
	const struct in_hit *h = &s->in->hit[ev->hit];
	uint32_t r =
		new_record(s, w->arm.pid, h->time, w->addr, h->func, h->flags & FMT_A_KERNEL ? FLOW_NONE : h->site);
	/* no hardware watches more; a longer claim is damage, and would fill memory with granules */
	uint64_t len = w->len > WATCH_MAX ? WATCH_MAX : w->len ? w->len : 1;

	if (w->addr > UINT64_MAX - len)
		return;
	for (uint64_t g = w->addr / GRANULE; r && g <= (w->addr + len - 1) / GRANULE; g++)
		set_record(s, &s->granule, unit_key(w->arm.pid, g), r);
}

static void sweep(struct sweep_state *s)
{
	const struct flow_input *in = s->in;
	size_t i = 0, j = 0, k = 0, v = 0, b = 0;

	while (!s->no_memory && (i < in->access_count || j < in->sysio_count || k < in->window_count)) {
		uint64_t ta = i < in->access_count ? in->access[i].time : UINT64_MAX;
		uint64_t tio = j < in->sysio_count ? in->sysio[j].time : UINT64_MAX;
		uint64_t tw = k < in->window_count ? in->window[k].armed : UINT64_MAX;
		uint64_t tb = b < in->burst_count && !s->o->stack ? in->burst[b].time : UINT64_MAX;

		if (tb < UINT64_MAX && tb <= ta && tb <= tio && tb <= tw) {
			sweep_burst(s, &in->burst[b++]);
			continue;
		}
		if (v < s->written_count && s->written[v].time <= ta && s->written[v].time <= tio &&
		    s->written[v].time < tw) {
			sweep_hit(s, &s->written[v++]);
			continue;
		}
		if (k < in->window_count && tw <= ta && tw <= tio) {
			const struct in_window *w = &in->window[k];

			s->c->window_start[k++] = last_write_of(s, w->arm.pid, w->addr, w->armed);
		} else if (j < in->sysio_count && tio <= ta) {
			sweep_sysio(s, &in->sysio[j++]);
		} else {
			sweep_access(s, &in->access[i++]);
		}
	}
}

/* Room for what is sure to come: growing on the way would copy most of it once more. */
static void reserve(struct sweep_state *s)
{
	const struct flow_input *in = s->in;
	size_t loads = 0, stores = 0;

	for (size_t i = 0; i < in->access_count; i++) {
		if (!s->o->stack && (in->access[i].flags & FMT_A_STACK))
			continue;
		loads += (in->access[i].flags & FMT_A_LOAD) != 0;
		stores += (in->access[i].flags & FMT_A_STORE) != 0;
	}
	if (!GROW_TO(s->rec, stores + 1, s->rec_cap, stores + 1) || !GROW_TO(s->c->reads, loads, s->c->read_cap, loads))
		s->no_memory = true;
}

/* What tells the sweep what was written where; most of the memory, and of no use behind it. */
static void drop_places(struct sweep_state *s)
{
	overwrite_free(s->ow);
	free(s->complete);
	free(s->range);
	free(s->written);
	map_release(&s->granule);
	map_release(&s->weak);
	map_release(&s->line);
	map_release(&s->block);
	map_release(&s->page);
	map_release(&s->relro);
	map_release(&s->page_ranges);
	map_release(&s->io_sites);
}

int last_writer_run(const struct flow_input *in, const struct est_opts *o, struct last_writer *c, struct err *e)
{
	struct sweep_state s = { .in = in, .o = o, .c = c, .rec_count = 1, .range_count = 1 };

	*c = (struct last_writer){ .site_count = in->site_count };
	s.complete = census_complete(in, o);
	if (s.complete)
		s.ow = overwrite_new(in, o->stack, o->use_census, s.complete);
	c->window_start = calloc(in->window_count + 1, sizeof(*c->window_start));
	s.rec = malloc(sizeof(*s.rec));
	s.rec_cap = s.rec ? 1 : 0;
	s.range = malloc(sizeof(*s.range));
	s.range_cap = s.range ? 1 : 0;
	s.no_memory = !s.ow || !c->window_start || !s.rec || !s.range;
	if (!s.no_memory)
		reserve(&s);
	if (!s.no_memory)
		prepare_windows(&s);
	sweep(&s);
	drop_places(&s);
	free(s.rec);
	if (!s.no_memory)
		return 0;
	last_writer_release(c);
	return err_set(e, -ENOMEM, "out of memory");
}

void last_writer_release(struct last_writer *c)
{
	free(c->reads);
	free(c->window_start);
	memset(c, 0, sizeof(*c));
}
