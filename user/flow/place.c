// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/place.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/bisect.h"
#include "util/grow.h"

#define GRANULE_BITS 2     /* what is told apart: words of 4 bytes */
#define MOST_GRANULES 1024 /* of one store: 4 KB; by hand */
#define COVER_BITS 12      /* narrower places have too few stores to tell how many of them were seen */
#define MAPPING 5          /* the widest level */
#define AS_STORES 4.0      /* what a wider place tells of coverage counts as so many stores; 1 and 16 do as well */
#define AS_LINES 2.0       /* what a function reads counts as so many lines of an instruction, */
#define AS_FUNCTION 4.0    /* and what all read, of a function */
#define AS_READ 2.0        /* a wider guess at who wrote what is read counts as so many lines; 1 does as well */
#define LEAST_COVER 0.05f  /* a place where a store was seen */
#define LEAST_PART 0.005   /* of a place: below it a writer is left out */

static const unsigned level_bits[MAPPING] = { 6, 8, 12, 16, 21 };

struct place_seen {
	uint64_t granule, time;
	uint32_t func, times; /* times: 0 while they are gathered */
};

struct place_node {
	double cover; /* of what is written there: the part that was seen written */
	size_t first;
	uint32_t count;
};

static void see(struct store_places *p, const struct in_access *a)
{
	uint64_t from = a->addr >> GRANULE_BITS, to = (a->addr + (a->size ? a->size - 1 : 0)) >> GRANULE_BITS;

	for (uint64_t g = from; g <= to && g - from < MOST_GRANULES && !p->no_memory; g++)
		if (!PUSH(p->seen, p->count, p->cap, 4096,
			  ((struct place_seen){ .granule = g, .time = a->time, .func = a->func })))
			p->no_memory = true;
}

static int by_granule(const void *a, const void *b)
{
	const struct place_seen *x = a, *y = b;

	if (x->granule != y->granule)
		return x->granule < y->granule ? -1 : 1;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

/* One for each granule and function: how often it was seen there. */
static void sum_up(struct store_places *p)
{
	size_t n = 0;

	if (p->count)
		qsort(p->seen, p->count, sizeof(*p->seen), by_granule);
	for (size_t i = 0; i < p->count; i++) {
		struct place_seen *last = n ? &p->seen[n - 1] : NULL, s = p->seen[i];

		if (last && last->granule == s.granule && last->func == s.func) {
			last->times += last->time != s.time;
			last->time = s.time;
			continue;
		}
		s.times = 1;
		p->seen[n++] = s;
	}
	p->count = n;
}

static void gather_stores(struct store_places *p, const struct flow_input *in, bool stack)
{
	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];

		if ((a->flags & FMT_A_STORE) && !(a->flags & (FMT_A_CENSUS | FMT_A_NO_ADDR | IN_A_UNSAMPLED)) &&
		    (stack || !(a->flags & FMT_A_STACK)))
			see(p, a);
	}
	for (size_t i = 0; i < in->burst_count && !stack; i++) {
		const struct in_burst *b = &in->burst[i];

		for (uint32_t k = b->loads; k < b->loads + b->stores; k++) {
			const struct in_burst_item *it = &in->burst_item[b->first + k];

			if (it->site != FLOW_NONE)
				see(p, &(struct in_access){ .time = b->time,
							    .addr = it->addr,
							    .size = it->size,
							    .func = in->sites[it->site].func });
		}
	}
	sum_up(p);
}

static size_t first_at(const struct store_places *p, uint64_t granule)
{
	return BISECT(i, p->count, p->seen[i].granule < granule);
}

static int most_first(const void *a, const void *b)
{
	const struct place_part *x = a, *y = b;

	return (x->part < y->part) - (x->part > y->part);
}

/* Keeps those of the most stores, so that they add up to 1. */
static void keep_most(struct store_places *p, struct place_node *n)
{
	struct place_part *part = p->part + n->first;
	double all = 0, kept = 0;
	uint32_t k = 0;

	qsort(part, n->count, sizeof(*part), most_first);
	for (uint32_t i = 0; i < n->count; i++)
		all += part[i].part;
	for (; k < n->count && k < PLACE_PARTS && part[k].part >= LEAST_PART * all; k++)
		kept += part[k].part;
	for (uint32_t i = 0; i < k; i++)
		part[i].part = (float)(part[i].part / kept);
	n->count = k;
	p->parts = n->first + k;
}

/* Those of the wider place count as one granule. Coverage: what was seen but once may as well not have been seen. */
static struct place_node make_node(struct store_places *p, const struct place_node *wider, size_t from, size_t to,
				   bool covers)
{
	struct place_node n = { .cover = wider->cover, .first = p->parts };
	double times = 0, once = 0;

	for (uint32_t i = 0; i < wider->count; i++)
		p->work[p->part[wider->first + i].producer] += p->part[wider->first + i].part;
	for (size_t i = from, end; i < to; i = end) {
		uint32_t here = 0;

		for (end = i; end < to && p->seen[end].granule == p->seen[i].granule; end++) {
			p->work[p->seen[end].func]++;
			here += p->seen[end].times;
		}
		times += here;
		once += here == 1;
	}
	if (covers)
		n.cover = (times - once + AS_STORES * wider->cover) / (times + AS_STORES);
	for (size_t i = from; i < to + wider->count; i++) {
		uint32_t func = i < to ? p->seen[i].func : p->part[wider->first + (i - to)].producer;

		if (!(p->work[func] > 0))
			continue;
		if (!PUSH(p->part, p->parts, p->part_cap, 4096, ((struct place_part){ func, (float)p->work[func] })))
			p->no_memory = true;
		p->work[func] = 0;
	}
	n.count = (uint32_t)(p->parts - n.first);
	keep_most(p, &n);
	return n;
}

static uint32_t node_of(struct store_places *p, unsigned level, uint64_t addr, const struct in_region *region)
{
	unsigned bits = level < MAPPING ? level_bits[level] : 0;
	uint64_t start = bits     ? addr >> bits << bits
			 : region ? region->start
				  : 0,
		 end = bits     ? start + (1ull << bits)
		       : region ? region->end
				: 0,
		 *at;
	uint32_t wider, id;
	size_t from, to;

	at = map_get(&p->node_at, start | (uint64_t)(level + 1) << 60);
	if (at)
		return (uint32_t)*at;
	wider = id = level < MAPPING ? node_of(p, level + 1, addr, region) : 0;
	from = first_at(p, start >> GRANULE_BITS);
	to = first_at(p, end >> GRANULE_BITS);
	if (from < to && !p->no_memory) {
		struct place_node n = make_node(p,
						&(struct place_node){ p->node[wider].cover, p->node[wider].first,
								      p->node[wider].count },
						from, to, bits >= COVER_BITS || !bits);

		id = p->nodes;
		if (!PUSH(p->node, p->nodes, p->node_cap, 1024, n))
			p->no_memory = true;
	}
	at = map_put(&p->node_at, start | (uint64_t)(level + 1) << 60, NULL);
	if (!at || p->no_memory) {
		p->no_memory = true;
		return 0;
	}
	*at = id;
	return id;
}

static const struct place_node *node_at(struct store_places *p, const struct read_answer *r)
{
	uint32_t id = node_of(p, 0, r->addr, in_region_at(p->in, r->pid, r->addr)); /* moves p->node */

	return &p->node[id];
}

/* What a system call filled, or mapped, and nobody was seen to write since. */
static bool told_by_call(const struct read_answer *r)
{
	return r->a.near == NEAR_GRANULE && r->a.site == FLOW_NONE && !r->a.overwritten;
}

static bool seen_here(const struct store_places *p, uint64_t addr, size_t *at)
{
	*at = first_at(p, addr >> GRANULE_BITS);
	return *at < p->count && p->seen[*at].granule == addr >> GRANULE_BITS;
}

/* Who was seen to write what an instruction read, and what its function did: of each line, parts that add up to 1. */
static void know_writers(struct store_places *p, uint32_t reader, size_t at)
{
	double all = 0;

	for (size_t i = at; i < p->count && p->seen[i].granule == p->seen[at].granule; i++)
		all += p->seen[i].times;
	for (size_t i = at; i < p->count && p->seen[i].granule == p->seen[at].granule; i++) {
		uint64_t *k = map_put(&p->known_at, (uint64_t)reader << 32 | p->seen[i].func, NULL);

		if (!k || (!*k && !PUSH(p->known, p->knowns, p->known_cap, 1024, 0.0))) {
			p->no_memory = true;
			return;
		}
		if (!*k)
			*k = p->knowns;
		p->known[*k - 1] += p->seen[i].times / all;
	}
	p->lines[reader]++;
}

/* The part of what a reader takes that a writer has, where a wider guess says so. */
static double part_by_reader(const struct store_places *p, uint32_t reader, uint32_t writer, double guess)
{
	const uint64_t *k = map_get(&p->known_at, (uint64_t)reader << 32 | writer);

	return ((k ? p->known[*k - 1] : 0) + AS_READ * guess) / (p->lines[reader] + AS_READ);
}

static void tally(struct place_tally *t, bool written, float expected)
{
	t->written += written;
	t->expected += expected;
}

/* Each line that an instruction reads tells once. */
static void count_read(struct store_places *p, const struct read_answer *r, struct map *met)
{
	size_t at;
	bool written, added;
	float expected;

	if (r->a.near == NEAR_CONSTANT || told_by_call(r) || (r->a.near == NEAR_BLIND && !r->call))
		return;
	if (!map_put(met, (r->addr >> level_bits[0]) ^ (uint64_t)(r->site + 1) << 42, &added)) {
		p->no_memory = true;
		return;
	}
	if (!added)
		return;
	written = seen_here(p, r->addr, &at);
	if (written) {
		know_writers(p, r->func, at);
		know_writers(p, (uint32_t)p->in->func_count + r->site, at);
	}
	expected = (float)node_at(p, r)->cover;
	if (written && expected < LEAST_COVER)
		expected = LEAST_COVER;
	tally(&p->site[r->site], written, expected);
	tally(&p->func[r->func], written, expected);
	tally(&p->all, written, expected);
}

/* The part of what an instruction reads that is written now and then; that it was seen to change says the same. */
static double moves(const struct store_places *p, const struct read_answer *r)
{
	const struct place_tally *s = &p->site[r->site], *f = &p->func[r->func];
	double all = fmin(1, (p->all.written + .5) / (p->all.expected + .5)),
	       func = fmin(1, (f->written + AS_FUNCTION * all) / (f->expected + AS_FUNCTION)),
	       site = fmin(1, (s->written + AS_LINES * func) / (s->expected + AS_LINES));

	return r->call ? site : 1 - (1 - site) * rewrite_rate_site(p->still, r->site);
}

/* The part of the time in which calls were observed. */
static double calls_seen(const struct call_stretches *b)
{
	double seen = 0;

	for (size_t i = 0; i < b->count; i++)
		seen += (double)(b->stretch[i].end - b->stretch[i].begin);
	return b->count && b->span_ns > seen ? seen / b->span_ns : 1;
}

int place_learn(struct store_places *p, const struct flow_input *in, const struct last_writer *c,
		const struct rewrite_rate *still, bool stack)
{
	struct map met = { 0 };
	bool *burst = calloc(c->site_count + 1, sizeof(*burst));

	*p = (struct store_places){ .in = in, .still = still, .calls_seen = calls_seen(&in->calls) };
	p->site = calloc(c->site_count + 1, sizeof(*p->site));
	p->func = calloc(in->func_count + 1, sizeof(*p->func));
	p->work = calloc(in->func_count + 1, sizeof(*p->work));
	p->lines = calloc(in->func_count + c->site_count + 1, sizeof(*p->lines));
	p->no_memory = !burst || !p->lines || !p->site || !p->func || !p->work ||
		       !PUSH(p->node, p->nodes, p->node_cap, 1024, (struct place_node){ 0 });
	if (!p->no_memory)
		gather_stores(p, in, stack);
	for (size_t i = 0; i < c->read_count && !p->no_memory; i++)
		burst[c->reads[i].site] |= c->reads[i].burst != 0;
	/* what bursts read of what was there before, where they met the instruction: no other reads are asked then */
	for (size_t i = 0; i < c->read_count && !p->no_memory; i++)
		if (burst[c->reads[i].site] == (c->reads[i].burst != 0))
			count_read(p, &c->reads[i], &met);
	map_release(&met);
	free(burst);
	return p->no_memory ? -ENOMEM : 0;
}

/* Those of one granule, each as often as it was seen there. */
static unsigned writers_here(const struct store_places *p, size_t at, double share, struct place_part *out)
{
	double all = 0;
	unsigned n = 0;

	for (size_t i = at; i < p->count && p->seen[i].granule == p->seen[at].granule && n < PLACE_PARTS; i++, n++) {
		out[n] = (struct place_part){ p->seen[i].func, (float)p->seen[i].times };
		all += p->seen[i].times;
	}
	for (unsigned i = 0; i < n; i++)
		out[i].part = (float)(out[i].part * share / all);
	return n;
}

/* Who writes near there, each by how much of what the instruction and its function read is known to be of theirs. */
static unsigned writers_near(struct store_places *p, const struct place_node *near, const struct read_answer *r,
			     double share, struct place_part *out)
{
	double all = 0;

	for (uint32_t i = 0; i < near->count; i++) {
		struct place_part w = p->part[near->first + i];

		w.part = (float)part_by_reader(p, (uint32_t)p->in->func_count + r->site, w.producer,
					       part_by_reader(p, r->func, w.producer, w.part));
		all += w.part;
		out[i] = w;
	}
	for (uint32_t i = 0; i < near->count; i++)
		out[i].part = (float)(out[i].part * share / all);
	return near->count;
}

static uint32_t nobody(const struct store_places *p, const struct read_answer *r)
{
	if (r->a.near == NEAR_NONE || r->a.near == NEAR_BLIND)
		return r->a.producer;
	return p->in->from_start ? p->in->outside : p->in->before;
}

/* Where no store was seen: each change since a call's fill was the call's again, or a store's, and neither was seen. */
static double stores_of_changes(const struct store_places *p, const struct place_node *near)
{
	double store = 1 - near->cover, call = 1 - p->calls_seen;

	return call > 0 ? store / (store + call) : 1;
}

unsigned place_writers(struct store_places *p, const struct read_answer *r, struct place_part out[PLACE_PARTS + 2])
{
	const struct place_node *near;
	double share = 1, part, there;
	unsigned n = 0;
	size_t at;

	if (r->a.near == NEAR_BLIND && !r->call)
		return 0;
	near = node_at(p, r);
	if (r->a.near == NEAR_CONSTANT) {
		out[n++] = (struct place_part){ r->a.producer, 1 };
		return n;
	}
	/* what a call filled was seen each time: it is one of all writes since */
	if (told_by_call(r)) {
		share = 1 - 1 / (1 + rewrite_rate_writes(p->still, r->site, r->a.age));
		out[n++] = (struct place_part){ r->a.producer, (float)(1 - share) };
	}
	if (seen_here(p, r->addr, &at))
		return n + writers_here(p, at, share, out + n);
	if (n || r->a.near == NEAR_GRANULE) {
		share *= near->count ? stores_of_changes(p, near) : 0;
		out[0] = (struct place_part){ r->a.producer, (float)(n ? 1 - share : 1) };
		return 1 + (n && share > 0 ? writers_near(p, near, r, share, out + 1) : 0);
	}
	/* nobody was seen to write there: nobody did, or it was missed */
	part = moves(p, r);
	there = part * (1 - near->cover);
	part = near->count ? there / (there + 1 - part + 1e-9) : 0;
	/* what is handed to the kernel was made for that */
	if (near->count && r->call)
		part = 1;
	if (r->a.near == NEAR_BLIND && !near->count)
		return 0;
	out[n++] = (struct place_part){ nobody(p, r), (float)(1 - part) };
	return n + writers_near(p, near, r, part, out + n);
}

void place_release(struct store_places *p)
{
	free(p->seen);
	free(p->node);
	map_release(&p->node_at);
	free(p->part);
	free(p->work);
	map_release(&p->known_at);
	free(p->known);
	free(p->lines);
	free(p->site);
	free(p->func);
	memset(p, 0, sizeof(*p));
}
