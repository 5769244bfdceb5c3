// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/heap.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/input_priv.h"
#include "util/bisect.h"
#include "util/map.h"
#include "util/normal.h"

#define OVERLAPS_MOST 64 /* blocks behind one that are looked at: they lie apart, but for mistakes */
#define WRAPPERS_MOST 8  /* frames passed over above the allocator */
#define LAST_TIME (UINT64_MAX / 4)

static bool wraps(const char *function)
{
	static const char *const names[] = { "malloc",         "calloc",    "realloc",    "memalign",  "aligned_alloc",
					     "posix_memalign", "valloc",    "xmalloc",    "xcalloc",   "xrealloc",
					     "xzalloc",        "zmalloc",   "zcalloc",    "zrealloc",  "ztrymalloc",
					     "g_malloc",       "g_malloc0", "g_malloc_n", "g_realloc", "g_slice_new",
					     "g_slice_alloc",  "strdup",    "strndup",    "__strdup",  "__strndup",
					     "je_malloc",      "je_calloc", "je_realloc", "mi_malloc", "tc_malloc",
					     "operator new" };
	static const char *const begins[] = { "operator new(",
					      "operator new[](",
					      "std::allocator<",
					      "std::allocator_traits<",
					      "std::__new_allocator<",
					      "__gnu_cxx::new_allocator<",
					      "__libc_malloc",
					      "__libc_calloc",
					      "__libc_realloc",
					      "__GI___libc_",
					      "ztrymalloc",
					      "zmalloc_",
					      "zrealloc_",
					      "zcalloc_",
					      "ztryrealloc" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(function, names[i]))
			return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(function, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* ---- when was it seen ---- */

struct seen_time { /* turns of one process, in order */
	uint64_t begin, end;
	double before; /* ns of its turns before this one */
	uint32_t pid;
};

struct build {
	struct raw *r;
	struct heap *h;
	struct seen_time *seen;
	size_t seen_count;
	struct map site_at;  /* frame -> site + 1 */
	struct map turn_at;  /* turn -> index */
	struct map turns_of; /* pid -> turns */
	double *squares;     /* by site: of the bytes that blocks stand for */
};

static int by_pid_begin(const void *a, const void *b)
{
	const struct seen_time *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* ns of the process's turns before a time. */
static double seen_until(const struct build *b, uint32_t pid, uint64_t time)
{
	size_t behind =
		BISECT(i, b->seen_count, b->seen[i].pid < pid || (b->seen[i].pid == pid && b->seen[i].begin < time));
	const struct seen_time *t;

	if (!behind || b->seen[behind - 1].pid != pid)
		return 0;
	t = &b->seen[behind - 1];
	return t->before + (double)((time < t->end ? time : t->end) - t->begin);
}

static double unseen_between(const struct build *b, uint32_t pid, uint64_t from, uint64_t to)
{
	return (double)(to - from) - (seen_until(b, pid, to) - seen_until(b, pid, from));
}

/* When so much time has gone by unseen. */
static uint64_t unseen_for(const struct build *b, uint32_t pid, uint64_t from, double ns)
{
	uint64_t lo = from, hi = LAST_TIME;

	if (from >= hi || unseen_between(b, pid, from, hi) <= ns)
		return UINT64_MAX;
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (unseen_between(b, pid, from, mid) <= ns)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static int order_turns(struct build *b)
{
	const struct heap_raw *raw = &b->r->heap;

	b->seen = calloc(raw->turn_count + 1, sizeof(*b->seen));
	if (!b->seen)
		return err_set(b->r->e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < raw->turn_count; i++) {
		const struct fmt_heap_turn *t = &raw->turn[i];

		if (t->end > t->begin && t->end < LAST_TIME)
			b->seen[b->seen_count++] = (struct seen_time){ t->begin, t->end, 0, t->pid };
	}
	if (b->seen_count)
		qsort(b->seen, b->seen_count, sizeof(*b->seen), by_pid_begin);
	for (size_t i = 1; i < b->seen_count; i++) {
		const struct seen_time *last = &b->seen[i - 1];
		struct seen_time *t = &b->seen[i];

		if (t->pid != last->pid)
			continue;
		/* damaged, if they overlap */
		t->begin = t->begin < last->end ? last->end : t->begin;
		t->end = t->end < t->begin ? t->begin : t->end;
		t->before = last->before + (double)(last->end - last->begin);
	}
	return 0;
}

/* ---- sites ---- */

/* The first frame that is no allocator's; its innermost function that is none. false: none is known. */
static bool site_frame(const struct raw *r, uint32_t stack, uint32_t *at, const struct profile_line **line)
{
	const struct profile *p = r->p;
	const struct profile_stack *s = &p->stacks[stack];

	/* the leaf is what was probed */
	for (uint32_t i = 1; i < s->count && i <= WRAPPERS_MOST; i++) {
		const struct profile_frame *f = &p->frames[p->stack_frames[s->first + i]];

		for (uint32_t k = 0; k < f->count; k++) {
			*line = &p->lines[f->first + k];
			if (wraps(p->functions[(*line)->function].name))
				continue;
			*at = i;
			return true;
		}
	}
	return false;
}

static int new_site(struct build *b, uint32_t stack, uint32_t skip, const struct profile_line *line)
{
	struct raw *r = b->r;
	const struct profile_function *fn = &r->p->functions[line->function];
	const char *file = line->file ? strrchr(line->file, '/') : NULL, *kept;
	const struct profile_frame *f = &r->p->frames[r->p->stack_frames[r->p->stacks[stack].first + skip]];
	char name[400];
	uint32_t object;
	int err;

	if (line->line && line->file)
		snprintf(name, sizeof(name), "%.300s %.60s:%u", fn->name, file ? file + 1 : line->file, line->line);
	else
		snprintf(name, sizeof(name), "%.300s %.60s+0x%llx", fn->name, r->p->modules[f->module].object,
			 (unsigned long long)f->addr);
	kept = intern_get(&r->in->texts, intern_str(&r->in->texts, name, NULL), NULL);
	if (!kept || !GROW(b->h->site, b->h->site_count, b->h->site_cap, 64))
		return err_set(r->e, -ENOMEM, "out of memory");
	err = add_object_site(r, 0, FMT_OBJ_HEAP, kept, fn->name, 0, &object);
	if (err)
		return err;
	r->in->object_site[object].blocks = 0;
	r->in->object_site[object].heap = (uint32_t)b->h->site_count + 1;
	b->h->site[b->h->site_count++] = (struct heap_site){
		.object_site = object, .stack = stack, .skip = skip, .spread = NAN, .life_ns = NAN
	};
	return 0;
}

/* UINT32_MAX: its stack tells none. */
static int site_of(struct build *b, uint32_t id, uint32_t *site)
{
	struct raw *r = b->r;
	uint32_t stack = profile_stack_of(r->p, id), at;
	const struct profile_line *line;
	uint64_t *known;
	bool added;

	*site = UINT32_MAX;
	if (!stack || !site_frame(r, stack, &at, &line))
		return 0;
	known = map_put(&b->site_at, r->p->stack_frames[r->p->stacks[stack].first + at], &added);
	if (!known)
		return err_set(r->e, -ENOMEM, "out of memory");
	if (added) {
		int err = new_site(b, stack, at, line);

		if (err)
			return err;
		*known = b->h->site_count - 1;
	}
	*site = (uint32_t)*known;
	return 0;
}

/* ---- blocks ---- */

static double chance_told(const struct fmt_heap_block *f)
{
	double p = f->period > 0 ? -expm1(-(double)f->bytes / f->period) : 1;

	return p > 1e-9 ? p : 1e-9;
}

static int add_block(struct build *b, const struct fmt_heap_block *f)
{
	struct heap_life *k = &b->h->block[b->h->block_count];
	const uint64_t *turn = map_get(&b->turn_at, f->turn);
	double weight = 1 / chance_told(f), length, turns, bytes;
	const struct fmt_heap_turn *t = turn ? &b->r->heap.turn[*turn] : NULL;
	struct heap_site *s;
	uint32_t site;
	int err = site_of(b, f->stack, &site);

	if (err)
		return err;
	if (site == UINT32_MAX || f->addr > UINT64_MAX - f->bytes || f->bytes > 1ull << 48) {
		b->h->nowhere++;
		return 0;
	}
	*k = (struct heap_life){ .addr = f->addr,
				 .end = f->addr + (f->bytes ? f->bytes : 1),
				 .born = f->born,
				 .died = UINT64_MAX,
				 .weight = weight,
				 .pid = f->pid,
				 .site = site,
				 .stack = f->stack };
	b->h->block_count++;
	s = &b->h->site[site];
	s->told++;
	b->r->in->object_site[s->object_site].blocks = s->told;
	if (!t || t->end <= t->begin)
		return 0;
	length = (double)(t->end - t->begin) / 1e9;
	turns = (double)*map_get(&b->turns_of, t->pid);
	bytes = weight * (double)f->bytes / length / turns;
	s->allocs += weight / length / turns;
	s->bytes += bytes;
	b->squares[site] += bytes * bytes;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct heap_life *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->born > y->born) - (x->born < y->born);
}

struct heap_life_key {
	uint64_t addr, born;
	uint32_t pid, pad;
};

static int join_ends(struct build *b)
{
	const struct heap_raw *raw = &b->r->heap;
	struct intern keys = { 0 };
	uint64_t *end = calloc(raw->freed_count + 1, sizeof(*end));
	size_t known = 0;
	int err = 0;

	for (size_t i = 0; end && !err && i < raw->freed_count; i++) {
		struct heap_life_key key = { raw->freed[i].addr, raw->freed[i].born, raw->freed[i].pid, 0 };
		bool added;
		uint32_t id = intern_add(&keys, &key, sizeof(key), &added);

		err = id ? 0 : -ENOMEM;
		if (id && added)
			end[known++] = raw->freed[i].time;
	}
	for (size_t i = 0; end && !err && i < b->h->block_count; i++) {
		struct heap_life *k = &b->h->block[i];
		struct heap_life_key key = { k->addr, k->born, k->pid, 0 };
		uint32_t id = intern_add(&keys, &key, sizeof(key), NULL);

		err = id ? 0 : -ENOMEM;
		if (id && id <= known && end[id - 1] >= k->born) {
			k->died = end[id - 1];
			k->ended = true;
		}
	}
	err = end ? err : -ENOMEM;
	intern_release(&keys);
	free(end);
	return err ? err_set(b->r->e, err, "out of memory") : 0;
}

/* Of two in one place the older one is no more. */
static void join_overlaps(struct heap *h)
{
	for (size_t i = 0; i < h->block_count; i++) {
		struct heap_life *k = &h->block[i];

		for (size_t j = i + 1; j < h->block_count && j <= i + OVERLAPS_MOST; j++) {
			struct heap_life *o = &h->block[j];
			struct heap_life *older = k->born <= o->born ? k : o, *newer = older == k ? o : k;

			if (o->pid != k->pid || o->addr >= k->end)
				break;
			older->died = newer->born < older->died ? newer->born : older->died;
		}
	}
}

static void lives_of_sites(struct build *b)
{
	struct heap *h = b->h;

	for (size_t i = 0; i < h->block_count; i++) {
		const struct heap_life *k = &h->block[i];
		struct heap_site *s = &h->site[k->site];
		uint64_t until = k->died < LAST_TIME ? k->died : LAST_TIME;

		s->ended += k->ended;
		if (until > k->born)
			s->seen_ns += seen_until(b, k->pid, until) - seen_until(b, k->pid, k->born);
	}
	for (size_t i = 0; i < h->site_count; i++) {
		struct heap_site *s = &h->site[i];

		if (s->ended)
			s->life_ns = s->seen_ns / (double)s->ended;
		if (s->allocs > 0)
			s->size = s->bytes / s->allocs;
		if (s->bytes > 0 && s->told > 1)
			s->spread = Z95 * sqrt(b->squares[i]) / s->bytes;
	}
}

static int trust_blocks(struct build *b)
{
	struct heap *h = b->h;
	struct flow_input *in = b->r->in;
	int err = 0;

	for (size_t i = 0; i < h->block_count && !err; i++) {
		struct heap_life *k = &h->block[i];
		const struct heap_site *s = &h->site[k->site];
		double unseen = -log(1 - HEAP_DOUBT) * s->seen_ns / (double)(s->ended + 1);

		k->trusted = unseen_for(b, k->pid, k->born, unseen);
		k->trusted = k->trusted < k->died ? k->trusted : k->died;
		if (k->trusted <= k->born)
			continue;
		err = INPUT_PUSH(b->r, in->object, in->object_count, in->object_cap,
				 ((struct in_object){ .addr = k->addr,
						      .end = k->end,
						      .born = k->born,
						      .died = k->trusted,
						      .pid = k->pid,
						      .kind = FMT_OBJ_HEAP,
						      .site = s->object_site }));
	}
	return err;
}

static int count_turns(struct build *b)
{
	const struct heap_raw *raw = &b->r->heap;
	struct heap *h = b->h;

	for (size_t i = 0; i < raw->turn_count; i++) {
		uint64_t *at = map_put(&b->turn_at, raw->turn[i].turn, NULL);
		uint64_t *of = map_put(&b->turns_of, raw->turn[i].pid, NULL);

		if (!at || !of)
			return err_set(b->r->e, -ENOMEM, "out of memory");
		*at = i;
		++*of;
	}
	for (size_t i = 0; i < raw->turn_count; i++) {
		const struct fmt_heap_turn *t = &raw->turn[i];
		double ns = t->end > t->begin ? (double)(t->end - t->begin) : 0;
		double turns = (double)*map_get(&b->turns_of, t->pid);

		h->turns++;
		h->turn_ns += ns;
		if (ns > 0) {
			h->allocs += (double)t->allocs * 1e9 / ns / turns;
			h->bytes += (double)t->bytes * 1e9 / ns / turns;
		}
	}
	return 0;
}

static void name_single_sites(struct raw *r, struct heap *h);

int input_heap(struct raw *r)
{
	struct build b = { .r = r, .h = &r->in->heap };
	const struct heap_raw *raw = &r->heap;
	int err = 0;

	if (!raw->turn_count && !raw->block_count)
		return 0;
	b.h->block = calloc(raw->block_count + 1, sizeof(*b.h->block));
	b.squares = calloc(raw->block_count + 1, sizeof(*b.squares));
	if (!b.h->block || !b.squares)
		err = err_set(r->e, -ENOMEM, "out of memory");
	err = err ? err : order_turns(&b);
	err = err ? err : count_turns(&b);
	for (size_t i = 0; i < raw->block_count && !err; i++)
		err = add_block(&b, &raw->block[i]);
	err = err ? err : join_ends(&b);
	if (!err) {
		if (b.h->block_count)
			qsort(b.h->block, b.h->block_count, sizeof(*b.h->block), by_place);
		join_overlaps(b.h);
		lives_of_sites(&b);
		name_single_sites(r, b.h);
		err = trust_blocks(&b);
	}
	free(b.seen);
	free(b.squares);
	map_release(&b.site_at);
	map_release(&b.turn_at);
	map_release(&b.turns_of);
	return err;
}

/* A function with one site needs no place in it. */
static void name_single_sites(struct raw *r, struct heap *h)
{
	struct intern names = { 0 };
	uint32_t *n = calloc(h->site_count + 1, sizeof(*n));

	for (size_t i = 0; n && i < h->site_count; i++) {
		uint32_t id = intern_str(&names, r->in->object_site[h->site[i].object_site].function, NULL);

		if (id)
			n[id - 1]++;
	}
	for (size_t i = 0; n && i < h->site_count; i++) {
		struct in_object_site *s = &r->in->object_site[h->site[i].object_site];
		uint32_t id = intern_str(&names, s->function, NULL);

		if (id && id <= h->site_count && n[id - 1] == 1)
			s->name = s->function;
	}
	free(n);
	intern_release(&names);
}

void heap_raw_release(struct heap_raw *r)
{
	free(r->turn);
	free(r->block);
	free(r->freed);
}

void heap_release(struct heap *h)
{
	free(h->site);
	free(h->block);
	*h = (struct heap){ 0 };
}
