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
#define ELSEWHERE 0.1 /* of what is written in wider places, by those who write such values; .01 and .5 do as well */
#define LEAST_COVER 0.05f /* a place where a store was seen */
#define LEAST_PART 0.005  /* of a place: below it a writer is left out */

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

static void know_part(struct store_places *p, struct place_known *k, uint32_t reader, struct place_part w)
{
	uint64_t *at = map_put(&k->at, (uint64_t)reader << 32 | w.producer, NULL);

	if (!at || (!*at && !PUSH(k->part, k->parts, k->cap, 1024, 0.0))) {
		p->no_memory = true;
		return;
	}
	if (!*at)
		*at = k->parts;
	k->part[*at - 1] += w.part;
	k->lines[reader] += w.part;
}

/* The part of what a reader takes that a writer has, where a wider guess says so. */
static double part_by_reader(const struct place_known *k, uint32_t reader, uint32_t writer, double guess)
{
	const uint64_t *at = map_get(&k->at, (uint64_t)reader << 32 | writer);

	return ((at ? k->part[*at - 1] : 0) + AS_READ * guess) / (k->lines[reader] + AS_READ);
}

static void tally(struct place_tally *t, bool written, float expected)
{
	t->written += written;
	t->expected += expected;
}

static void count_read(struct store_places *p, const struct read_answer *r)
{
	size_t at;
	bool written = seen_here(p, r->addr, &at);
	float expected;

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

/* Those of one granule, each as often as it was seen there. For reader, where it is not FLOW_NONE: and by how much of
 * what it writes goes to that function. */
static unsigned writers_here(const struct store_places *p, size_t at, uint32_t reader, double share,
			     struct place_part *out)
{
	double all = 0;
	unsigned n = 0;

	for (size_t i = at; i < p->count && p->seen[i].granule == p->seen[at].granule && n < PLACE_PARTS; i++, n++) {
		double goes = reader == FLOW_NONE ? 1 : passed_on_factor(&p->passed_on, p->seen[i].func, reader);

		out[n] = (struct place_part){ p->seen[i].func, (float)(p->seen[i].times * goes) };
		all += p->seen[i].times * goes;
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

		w.part = (float)part_by_reader(&p->known, (uint32_t)p->in->func_count + r->site, w.producer,
					       part_by_reader(&p->known, r->func, w.producer, w.part));
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

/* That anybody wrote it while it was recorded, where nobody was seen to: nobody did, or it was missed. */
static double part_of_missed(const struct store_places *p, const struct place_node *near, const struct read_answer *r)
{
	double part = moves(p, r), there = part * (1 - near->cover);

	/* what is handed to the kernel was made for that */
	if (near->count && r->call)
		return 1;
	return near->count ? there / (there + 1 - part + 1e-9) : 0;
}

/* The chance of each that it wrote this value, and for this reader, too, and a call's of what it filled, `called`
 * before. All add up to `sure`. */
static unsigned weigh_by_value(const struct store_places *p, const struct read_answer *r, double called, double sure,
			       struct place_part *w, unsigned n)
{
	int32_t field = emission_field(p->in, r->site, r->addr, r->addr >> GRANULE_BITS << GRANULE_BITS);
	double all = 0;

	for (unsigned i = 0; i < n; i++) {
		w[i].part *= (float)((1 - called) * passed_on_factor(&p->passed_on, w[i].producer, r->func) *
				     emission_of(&p->emission, w[i].producer, r->mark, field));
		all += w[i].part;
	}
	if (called > 0) {
		w[n++] = (struct place_part){ r->a.producer,
					      (float)(called * emission_of_call(&p->emission, r->mark, field)) };
		all += w[n - 1].part;
	}
	for (unsigned i = 0; i < n; i++)
		w[i].part = (float)(all > 0 ? w[i].part / all * sure : sure / n);
	return n;
}

/* Those who were not seen near, but write such values. */
static unsigned writers_elsewhere(const struct store_places *p, const struct read_answer *r, double share,
				  struct place_part *w, unsigned n)
{
	int32_t field = emission_field(p->in, r->site, r->addr, r->addr >> GRANULE_BITS << GRANULE_BITS);

	for (unsigned by_field = 0; by_field < 2; by_field++) {
		const struct emission_writer *who;
		size_t count = emission_writers(&p->emission, r->mark, field, by_field, &who);

		for (size_t k = 0; k < count; k++) {
			unsigned i = 0;

			while (i < n && w[i].producer != who[k].func)
				i++;
			if (i == n)
				w[n++] = (struct place_part){ who[k].func,
							      (float)(share * ELSEWHERE *
								      emission_part(&p->emission, who[k].func)) };
		}
	}
	return n;
}

/* Where the value is known: those who were seen to write the word count as often as they were, and all others, as in
 * any place, once. */
static unsigned writers_by_value(struct store_places *p, const struct read_answer *r, const struct place_node *near,
				 struct place_part *out)
{
	double wider = 1, called = told_by_call(r) ? 1 / (1 + rewrite_rate_writes(p->still, r->site, r->a.age)) : 0,
	       sure = 1;
	unsigned nobodies = 0, n = 0;
	size_t at;

	if (seen_here(p, r->addr, &at)) {
		double times = 0;

		for (size_t i = at; i < p->count && p->seen[i].granule == p->seen[at].granule; i++)
			times += p->seen[i].times;
		wider = 1 / (times + 1);
		n = writers_here(p, at, FLOW_NONE, 1 - wider, out);
	} else if (!(called > 0)) {
		sure = part_of_missed(p, near, r);
		out[nobodies++] = (struct place_part){ nobody(p, r), (float)(1 - sure) };
	}
	if (near->count)
		n += writers_near(p, near, r, wider, out + nobodies + n);
	n = writers_elsewhere(p, r, wider, out + nobodies, n);
	if (!n && nobodies)
		out[0].part = 1;
	return nobodies + weigh_by_value(p, r, called, sure, out + nobodies, n);
}

unsigned place_writers(struct store_places *p, const struct read_answer *r, struct place_part out[PLACE_ROOM])
{
	const struct place_node *near;
	double share = 1, part;
	unsigned n = 0;
	size_t at;

	if (r->a.near == NEAR_BLIND && !r->call)
		return 0;
	near = node_at(p, r);
	if (r->a.near == NEAR_CONSTANT) {
		out[n++] = (struct place_part){ r->a.producer, 1 };
		return n;
	}
	if (r->mark && (told_by_call(r) || r->a.near != NEAR_GRANULE || seen_here(p, r->addr, &at)))
		return writers_by_value(p, r, near, out);
	/* what a call filled was seen each time: it is one of all writes since */
	if (told_by_call(r)) {
		share = 1 - 1 / (1 + rewrite_rate_writes(p->still, r->site, r->a.age));
		out[n++] = (struct place_part){ r->a.producer, (float)(1 - share) };
	}
	if (seen_here(p, r->addr, &at))
		return n + writers_here(p, at, r->func, share, out + n);
	if (n || r->a.near == NEAR_GRANULE) {
		share *= near->count ? stores_of_changes(p, near) : 0;
		out[0] = (struct place_part){ r->a.producer, (float)(n ? 1 - share : 1) };
		return 1 + (n && share > 0 ? writers_near(p, near, r, share, out + 1) : 0);
	}
	part = part_of_missed(p, near, r);
	if (r->a.near == NEAR_BLIND && !near->count)
		return 0;
	out[n++] = (struct place_part){ nobody(p, r), (float)(1 - part) };
	return n + writers_near(p, near, r, part, out + n);
}

/* Readers of which the writer is known: by the very word, or by the value. */
static void know_writers(struct store_places *p, struct place_known *k, const struct read_answer *r, int pass)
{
	struct place_part w[PLACE_ROOM];
	unsigned n;
	size_t at;

	if (!seen_here(p, r->addr, &at) && (pass == 1 || !r->mark))
		return;
	if (pass == 1) {
		n = writers_here(p, at, r->mark ? FLOW_NONE : r->func, 1, w);
		if (r->mark)
			n = weigh_by_value(p, r, 0, 1, w, n);
	} else {
		n = place_writers(p, r, w);
	}
	for (unsigned i = 0; i < n; i++) {
		if (w[i].producer == p->in->before || w[i].producer == p->in->outside)
			continue;
		know_part(p, k, r->func, w[i]);
		know_part(p, k, (uint32_t)p->in->func_count + r->site, w[i]);
	}
}

static int known_begin(struct place_known *k, const struct store_places *p, const struct last_writer *c)
{
	*k = (struct place_known){ 0 };
	k->lines = calloc(p->in->func_count + (size_t)c->site_count + 1, sizeof(*k->lines));
	return k->lines ? 0 : -ENOMEM;
}

static void known_release(struct place_known *k)
{
	map_release(&k->at);
	free(k->part);
	free(k->lines);
}

/* Each line that an instruction reads tells once. False: another read told. */
static bool tells_of_line(struct store_places *p, const struct read_answer *r, bool by_value, struct map *met)
{
	bool added;

	if (r->a.near == NEAR_CONSTANT || (told_by_call(r) && !(r->mark && by_value)) ||
	    (r->a.near == NEAR_BLIND && !r->call))
		return false;
	if (!map_put(met, (r->addr >> level_bits[0]) ^ (uint64_t)(r->site + 1) << 42, &added)) {
		p->no_memory = true;
		return false;
	}
	return added;
}

/* First how much of what each reads is seen to be written. Then who writes it: from the very words, and from that, once
 * more, by their values. What bursts read of what was there before is asked where they met the instruction: no other
 * reads are. */
static void learn_of_reads(struct store_places *p, const struct last_writer *c, const bool *burst)
{
	struct place_known known;

	for (int pass = 0; pass < 3; pass++) {
		struct map met = { 0 };

		p->no_memory |= pass && known_begin(&known, p, c);
		for (size_t i = 0; i < c->read_count && !p->no_memory; i++) {
			const struct read_answer *r = &c->reads[i];

			if (burst[r->site] != (r->burst != 0) || !tells_of_line(p, r, pass > 1, &met))
				continue;
			if (pass)
				know_writers(p, &known, r, pass);
			else
				count_read(p, r);
		}
		map_release(&met);
		if (!pass)
			continue;
		known_release(&p->known);
		p->known = known;
	}
}

int place_learn(struct store_places *p, const struct flow_input *in, const struct last_writer *c,
		const struct rewrite_rate *still, bool stack)
{
	bool *burst = calloc(c->site_count + 1, sizeof(*burst));

	*p = (struct store_places){ .in = in, .still = still, .calls_seen = calls_seen(&in->calls) };
	p->site = calloc(c->site_count + 1, sizeof(*p->site));
	p->func = calloc(in->func_count + 1, sizeof(*p->func));
	p->work = calloc(in->func_count + 1, sizeof(*p->work));
	p->no_memory = !burst || !p->site || !p->func || !p->work || known_begin(&p->known, p, c) ||
		       !PUSH(p->node, p->nodes, p->node_cap, 1024, (struct place_node){ 0 }) ||
		       emission_learn(&p->emission, in) || passed_on_learn(&p->passed_on, in);
	if (!p->no_memory)
		gather_stores(p, in, stack);
	for (size_t i = 0; i < c->read_count && !p->no_memory; i++)
		burst[c->reads[i].site] |= c->reads[i].burst != 0;
	if (!p->no_memory)
		learn_of_reads(p, c, burst);
	free(burst);
	return p->no_memory ? -ENOMEM : 0;
}

void place_release(struct store_places *p)
{
	free(p->seen);
	free(p->node);
	map_release(&p->node_at);
	free(p->part);
	free(p->work);
	known_release(&p->known);
	emission_release(&p->emission);
	passed_on_release(&p->passed_on);
	free(p->site);
	free(p->func);
	memset(p, 0, sizeof(*p));
}
