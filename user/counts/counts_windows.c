// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_windows.h"
#include "util/clock.h"
#include "util/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAX_RECORDS (16u << 20) /* of one kind */
#define MAX_SQUARE 1e36         /* of an amount */
#define MAX_WORK 1e9            /* instructions of one execution: more is damage */
#define CPUS_MOST 1e6           /* that ran a piece of time: more is damage */
#define END_AT_CALL 5           /* EMU_SYSCALL of emu/emu.h, whose numbers stay */

#define ROOM(array, count, cap) ((count) < MAX_RECORDS && GROW(array, count, cap, 64))

static int no_room(size_t count, struct err *e)
{
	if (count >= MAX_RECORDS)
		return err_set(e, -E2BIG, "the profile holds more than %u records of execution counts of one kind",
			       MAX_RECORDS);
	return err_set(e, -ENOMEM, "out of memory");
}

/* Index of an id: that of an earlier record of it, or of a new one at the end. SIZE_MAX: no memory. */
static size_t slot_of(struct map *at, uint32_t id, size_t *count, struct err *e)
{
	bool added;
	uint64_t *v = map_put(at, id, &added);

	if (!v) {
		err_set(e, -ENOMEM, "out of memory");
		return SIZE_MAX;
	}
	if (added)
		*v = (*count)++;
	return *v;
}

static bool is_amount(double v)
{
	return v >= 0 && v < 1e18;
}

static int take_func(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_counts_func *f = rec;
	size_t i;

	if (!f->id || !is_amount(f->self_ns) || !is_amount(f->cut) || !is_amount(f->begun) || !is_amount(f->replayed) ||
	    !is_amount(f->stayed) || !is_amount(f->timed) || !is_amount(f->cycles)) {
		r->dropped++;
		return 0;
	}
	if (!ROOM(r->func, r->funcs, r->func_cap))
		return no_room(r->funcs, r->e);
	i = slot_of(&r->func_at, f->id, &r->funcs, r->e);
	if (i == SIZE_MAX)
		return -ENOMEM;
	r->func[i] = *f;
	return 0;
}

static int take_node(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_counts_node *n = rec;
	size_t i;

	if (!r->nodes) {
		if (!ROOM(r->node, 0, r->node_cap))
			return no_room(0, r->e);
		r->node[r->nodes++] = (struct fmt_counts_node){ 0 };
	}
	if (!n->id || !(n->instructions >= 0 && n->instructions < MAX_WORK)) {
		r->dropped++;
		return 0;
	}
	if (!ROOM(r->node, r->nodes, r->node_cap))
		return no_room(r->nodes, r->e);
	i = slot_of(&r->node_at, n->id, &r->nodes, r->e);
	if (i == SIZE_MAX)
		return -ENOMEM;
	r->node[i] = *n;
	return 0;
}

static int take_link(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_counts_link *l = rec;
	size_t i;

	if (!l->id || l->how < FMT_CL_ONCE || l->how > FMT_CL_REPLAY ||
	    (l->how == FMT_CL_ONCE && !is_amount(l->ratio))) {
		r->dropped++;
		return 0;
	}
	if (!ROOM(r->link, r->links, r->link_cap))
		return no_room(r->links, r->e);
	i = slot_of(&r->link_at, l->id, &r->links, r->e);
	if (i == SIZE_MAX)
		return -ENOMEM;
	r->link[i] = (struct counts_rec_link){ .l = *l };
	return 0;
}

static int take_counts_window(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_counts_window *w = rec;
	if (!is_amount(w->anchor) || !is_amount(w->child)) {
		r->dropped++;
		return 0;
	}
	if (!ROOM(r->window, r->windows, r->window_cap))
		return no_room(r->windows, r->e);
	r->window[r->windows++] = *w;
	return 0;
}

static int take_block_record(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_counts_block *b = rec;
	if (!ROOM(r->block, r->blocks, r->block_cap))
		return no_room(r->blocks, r->e);
	r->block[r->blocks++] = *b;
	return 0;
}

static int take_counts_burst(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_counts_burst *b = rec;

	r->bursts++;
	r->burst_instructions += b->instructions;
	r->bursts_cut += b->end == END_AT_CALL;
	return 0;
}

/* What is lost of these is not lost of counts: entries are unknown then. */
static int take_way(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;

	r->ways_lost = r->ways_lost || branches_take(&r->branches, rec, size);
	return 0;
}

static int take_segment(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_segment *s = rec;
	if (!ROOM(r->segment, r->segments, r->segment_cap))
		return no_room(r->segments, r->e);
	r->segment[r->segments++] = *s;
	return 0;
}

static int take_stretch(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_segment_stretch *s = rec;
	double cpus = s->until > s->from ? s->user_ns / (double)(s->until - s->from) : NAN;

	if (!(cpus >= 0 && cpus < CPUS_MOST) || (cpus > 0) != (s->ticks > 0)) {
		r->dropped++;
		return 0;
	}
	r->drawn_time.stretches++;
	r->drawn_time.running += cpus;
	r->drawn_time.square += cpus * cpus;
	r->drawn_time.ticks += s->ticks;
	return 0;
}

static int take_drawn(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_counts_drawn *d = rec;
	size_t i;

	if (!is_amount(d->instructions) || !(d->square >= 0 && d->square < MAX_SQUARE) ||
	    !(d->with_all >= d->square && d->with_all < MAX_SQUARE) || !is_amount(d->calls) ||
	    !(d->calls_square >= 0 && d->calls_square < MAX_SQUARE) ||
	    !(d->calls_with_all >= 0 && d->calls_with_all < MAX_SQUARE)) {
		r->dropped++;
		return 0;
	}
	if (!ROOM(r->drawn, r->drawns, r->drawn_cap))
		return no_room(r->drawns, r->e);
	i = slot_of(&r->drawn_at, d->function, &r->drawns, r->e);
	if (i == SIZE_MAX)
		return -ENOMEM;
	r->drawn[i] = *d;
	return 0;
}

static int take_repeats(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_counts_repeats *n = rec;
	size_t i;

	if (!is_amount(n->instructions) || !is_amount(n->repeats) || !(n->instructions2 >= 0 && n->both >= 0) ||
	    !(n->instructions2 < MAX_SQUARE && n->both < MAX_SQUARE && n->repeats2 >= 0 && n->repeats2 < MAX_SQUARE) ||
	    !is_amount(n->loads) || !is_amount(n->stores) || !is_amount(n->load_bytes) || !is_amount(n->store_bytes)) {
		r->dropped++;
		return 0;
	}
	if (!ROOM(r->repeats, r->repeated, r->repeats_cap))
		return no_room(r->repeated, r->e);
	i = slot_of(&r->repeats_at, n->function, &r->repeated, r->e);
	if (i == SIZE_MAX)
		return -ENOMEM;
	r->repeats[i] = *n;
	return 0;
}

/* Ids, until all functions are known. */
static int take_went(void *ctx, const void *rec, size_t size)
{
	struct counts_record *r = ctx;
	const struct fmt_counts_went *w = rec;
	bool added;
	uint64_t *at;

	if (!(w->part >= 0 && w->part <= 1)) {
		r->dropped++;
		return 0;
	}
	if (!w->from)
		return 0;
	if (!ROOM(r->went, r->wents, r->went_cap))
		return no_room(r->wents, r->e);
	at = map_put(&r->went_at, (uint64_t)w->from << 32 | w->function, &added);
	if (!at)
		return no_room(0, r->e);
	if (added) {
		*at = r->wents;
		r->went[r->wents++] = (struct counts_went){ w->from, w->function, 0 };
	}
	r->went[*at].part += w->part;
	return 0;
}

static const struct section_row rows[] = {
	{ FMT_COUNTS_FUNC, sizeof(struct fmt_counts_func), take_func, NULL },
	{ FMT_COUNTS_NODE, sizeof(struct fmt_counts_node), take_node, NULL },
	{ FMT_COUNTS_BLOCK, sizeof(struct fmt_counts_block), take_block_record, NULL },
	{ FMT_COUNTS_LINK, sizeof(struct fmt_counts_link), take_link, NULL },
	{ FMT_COUNTS_WINDOW, sizeof(struct fmt_counts_window), take_counts_window, NULL },
	{ FMT_COUNTS_BURST, sizeof(struct fmt_counts_burst), take_counts_burst, NULL },
	{ FMT_SEGMENT, sizeof(struct fmt_segment), take_segment, NULL },
	{ FMT_SEGMENT_STRETCH, sizeof(struct fmt_segment_stretch), take_stretch, NULL },
	{ FMT_COUNTS_DRAWN, sizeof(struct fmt_counts_drawn), take_drawn, NULL },
	{ FMT_COUNTS_WENT, sizeof(struct fmt_counts_went), take_went, NULL },
	{ FMT_COUNTS_REPEATS, sizeof(struct fmt_counts_repeats), take_repeats, NULL },
	{ FMT_BURST_BRANCH, sizeof(struct fmt_burst_branch), take_way, NULL },
};

struct section_reader counts_record_reader(struct counts_record *r, struct err *e)
{
	r->e = e;
	return SECTION_READER(rows, r);
}

/* ---- ids become indices ---- */

static bool find_index(const struct map *at, uint32_t id, uint32_t *out)
{
	uint64_t *v = map_get(at, id);

	if (v)
		*out = (uint32_t)*v;
	return v;
}

static int by_link(const void *pa, const void *pb)
{
	const struct fmt_counts_window *a = pa, *b = pb;

	if (a->link != b->link)
		return a->link < b->link ? -1 : 1;
	return a->armed < b->armed ? -1 : a->armed > b->armed;
}

static int by_node_addr(const void *pa, const void *pb)
{
	const struct fmt_counts_block *a = pa, *b = pb;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* A node without a function is no code; what refers to it goes as well. */
static void resolve_nodes(struct counts_record *r)
{
	for (size_t i = 1; i < r->nodes; i++) {
		if (find_index(&r->func_at, r->node[i].function, &r->node[i].function))
			continue;
		r->node[i].function = UINT32_MAX;
		r->dropped++;
	}
}

static bool real_node(const struct counts_record *r, uint32_t id, uint32_t *out)
{
	return find_index(&r->node_at, id, out) && r->node[*out].function != UINT32_MAX;
}

/* What asks for the same by breakpoints. */
static bool rival_fits(const struct counts_record *r, struct fmt_counts_link *l)
{
	const struct fmt_counts_link *o;

	if (!find_index(&r->link_at, l->rival, &l->rival))
		return false;
	o = &r->link[l->rival].l;
	return o->how == FMT_CL_RATIO && o->parent == l->parent && o->child == l->child && o->site == l->site &&
	       !((o->flags ^ l->flags) & FMT_CL_CALL);
}

static void resolve_links(struct counts_record *r)
{
	for (size_t i = 0; i < r->links; i++) {
		struct fmt_counts_link *l = &r->link[i].l;
		bool parent = l->how == FMT_CL_RATE ? !l->parent : real_node(r, l->parent, &l->parent);

		if (parent && real_node(r, l->child, &l->child) && l->parent != l->child && !(l->flags & FMT_CL_VOID))
			continue;
		/* its windows keep their place: it only leads nowhere */
		r->dropped += !(l->flags & FMT_CL_VOID);
		l->how = 0;
	}
	for (size_t i = 0; i < r->links; i++) {
		struct fmt_counts_link *l = &r->link[i].l;

		if (l->how != FMT_CL_REPLAY || rival_fits(r, l))
			continue;
		r->dropped++;
		l->how = 0;
	}
}

static void resolve_drawn(struct counts_record *r)
{
	for (size_t i = 0; i < r->drawns; i++) {
		struct fmt_counts_drawn *d = &r->drawn[i];

		if (d->function && find_index(&r->func_at, d->function, &d->function))
			continue;
		r->dropped += d->function != 0;
		d->function = UINT32_MAX;
	}
}

static void resolve_repeats(struct counts_record *r)
{
	size_t out = 0;

	for (size_t i = 0; i < r->repeated; i++) {
		struct fmt_counts_repeats n = r->repeats[i];

		if (find_index(&r->func_at, n.function, &n.function))
			r->repeats[out++] = n;
		else
			r->dropped++;
	}
	r->repeated = out;
}

static void resolve_went(struct counts_record *r)
{
	size_t out = 0;

	for (size_t i = 0; i < r->wents; i++) {
		struct counts_went w = r->went[i];

		if (!find_index(&r->func_at, w.from, &w.from)) {
			r->dropped++;
			continue;
		}
		if (!find_index(&r->func_at, w.function, &w.function)) {
			r->dropped += w.function != 0;
			w.function = UINT32_MAX;
		}
		r->went[out++] = w;
	}
	r->wents = out;
}

/* ---- windows of one link beside each other ---- */

#define COST_HITS 8      /* a window of fewer does not tell what one costs */
#define COST_QUANTILE 10 /* one in so many windows holds little but hits */
#define COST_DOUBT 0.05  /* of what hits cost: less time between them does not show */
#define COST_SHOWS 0.5   /* and less than that may be what some hits cost more than others */
/* at 3.3 instructions a ns: what a turn takes at least, where hits leave no time to tell; by hand */
#define INSTRUCTION_NS 0.3
#define BETWEEN_NS 20 /* from one activation to the next */

/* What a hit took of the thread's time where nearly nothing else ran between them; 0: unknown. */
static double hit_cost(const struct counts_record *r)
{
	double *each = r->windows ? malloc(r->windows * sizeof(*each)) : NULL, cost = 0;
	size_t n = 0;

	for (size_t i = 0; each && i < r->windows; i++)
		if (r->window[i].hits >= COST_HITS && r->link[r->window[i].link].l.how == FMT_CL_RATIO)
			each[n++] = (double)r->window[i].took_ns / r->window[i].hits;
	if (n) {
		qsort(each, n, sizeof(*each), by_double);
		cost = each[n / COST_QUANTILE];
	}
	free(each);
	return cost;
}

/* Windows begin anywhere in time and end after so many hits: as many begin where hits come slowly, and these hold far
 * fewer of the runs that there are. So each counts by how many hits a second it would have seen without their cost, as
 * far as that shows; and for those that were given up because the first was not met in time. Of turns that were counted
 * it is known what they take at least, where time does not show beside the hits. */
static double weight_of(const struct fmt_counts_window *w, double cost, double turn_ns)
{
	double hits = w->hits, took = (double)w->took_ns - hits * cost, net = fmax(took, COST_DOUBT * hits * cost);
	double met = w->within_ns ? -expm1(-hits / net * fmax((double)w->within_ns - cost, COST_DOUBT * cost)) : 1;
	double turns = w->child * turn_ns + w->anchor * BETWEEN_NS;

	if (turn_ns > 0)
		net = took < COST_SHOWS * hits * cost ? turns : fmax(took, turns);
	return 1 / (net * met);
}

/* All together they count as much as they would without weights: how many hits there were says something. */
static void weigh_windows(struct fmt_counts_window *w, size_t n, double cost, double turn_ns)
{
	double sum = 0, all;
	bool alike = true;

	for (size_t i = 1; i < n; i++)
		alike &= fabs(w[i].child * w[0].anchor - w[0].child * w[i].anchor) <= 1e-9 * w[0].child * w[i].anchor;
	for (size_t i = 0; i < n; i++) {
		/* how many there were says how sure it is that all do */
		if (!w[i].hits || alike)
			return;
		sum += weight_of(&w[i], cost, turn_ns);
	}
	if (!(sum > 0) || isinf(sum))
		return;
	all = (double)n / sum;
	for (size_t i = 0; i < n; i++) {
		double weight = weight_of(&w[i], cost, turn_ns) * all;

		w[i].anchor *= weight;
		w[i].child *= weight;
	}
}

void counts_record_end(struct counts_record *r, const struct profile *p)
{
	size_t out = 0;
	double cost;

	/* indices are no ids: once is enough for all callers */
	if (r->profile)
		return;
	r->profile = p;
	r->merged = profile_meta(p, "merged");
	if (p->start_realtime_ns)
		r->recording = XXH64(store_header(profile_reader(p)), sizeof(struct fmt_file), 1);
	resolve_nodes(r);
	resolve_links(r);
	resolve_drawn(r);
	resolve_repeats(r);
	resolve_went(r);
	branches_sum(&r->branches, p);
	for (size_t i = 0; i < r->blocks; i++)
		if (real_node(r, r->block[i].node, &r->block[i].node))
			r->block[out++] = r->block[i];
		else
			r->dropped++;
	r->blocks = out;
	out = 0;
	for (size_t i = 0; i < r->windows; i++)
		if (!find_index(&r->link_at, r->window[i].link, &r->window[i].link))
			r->dropped++;
		else if (r->link[r->window[i].link].l.how)
			r->window[out++] = r->window[i];
	r->windows = out;
	if (r->blocks)
		qsort(r->block, r->blocks, sizeof(*r->block), by_node_addr);
	if (r->windows)
		qsort(r->window, r->windows, sizeof(*r->window), by_link);
	for (size_t i = r->windows; i-- > 0;) {
		r->link[r->window[i].link].window = i;
		r->link[r->window[i].link].windows++;
	}
	cost = hit_cost(r);
	for (size_t i = 0; i < r->links; i++)
		if (r->link[i].windows &&
		    (r->link[i].l.how == FMT_CL_TRIPS || (r->link[i].l.how == FMT_CL_RATIO && cost > 0)))
			weigh_windows(&r->window[r->link[i].window], r->link[i].windows, cost,
				      r->link[i].l.how == FMT_CL_TRIPS
					      ? r->node[r->link[i].l.child].instructions * INSTRUCTION_NS
					      : 0);
}

void counts_record_release(struct counts_record *r)
{
	free(r->func);
	free(r->node);
	free(r->block);
	free(r->link);
	free(r->window);
	free(r->segment);
	free(r->drawn);
	free(r->repeats);
	free(r->went);
	branches_release(&r->branches);
	map_release(&r->func_at);
	map_release(&r->node_at);
	map_release(&r->link_at);
	map_release(&r->drawn_at);
	map_release(&r->repeats_at);
	map_release(&r->went_at);
	profile_free(r->owned);
	memset(r, 0, sizeof(*r));
}

int counts_record_load(struct counts_record *r, const char *path, struct err *e)
{
	struct section_reader reader;
	int err;

	memset(r, 0, sizeof(*r));
	r->owned = profile_open(path, e);
	if (!r->owned)
		return e && e->code ? e->code : -EINVAL;
	reader = counts_record_reader(r, e);
	err = profile_read(r->owned, 0, &reader, 1, e);
	if (err)
		counts_record_release(r);
	else
		counts_record_end(r, r->owned);
	return err;
}

struct profile *counts_record_and_profile(struct counts_record *r, const char *path, struct err *e)
{
	struct section_reader reader = counts_record_reader(r, e);
	struct profile *p = profile_load_with(path, PROFILE_SAMPLES | PROFILE_MISSING, &reader, 1, e);

	if (p)
		counts_record_end(r, p);
	return p;
}
