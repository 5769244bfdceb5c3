// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/sharing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"
#include "util/grow.h"

#define LINE 64u     /* bytes of a cache line of x86-64 */
#define MAX_USERS 32 /* threads of one line that are compared, those met first */
#define ENOUGH 3     /* accesses of each thread */
#define CHANCE 1e-6  /* that threads which use all of a line would look like this on any line at all */

struct sharing_touch {
	uint64_t line, time, bytes; /* bytes: bit per byte */
	double weight;
	uint32_t pid, tid, func;
	bool write;
};

struct touches {
	struct sharing_touch *at;
	size_t count, cap;
};

/* One thread's accesses of one line, within a stretch of time. */
struct sharing_user {
	uint32_t pid, tid, func, samples;
	uint64_t bytes, written, first, last;
	double accesses;
	uint32_t word[8]; /* accesses of each word */
	double func_weight;
};

static int add_touched_lines(struct touches *t, uint64_t addr, uint64_t size, struct sharing_touch k)
{
	uint64_t end = addr + (size ? size : 1);

	for (uint64_t line = addr / LINE; line <= (end - 1) / LINE; line++) {
		uint64_t from = addr > line * LINE ? addr - line * LINE : 0,
			 to = end < (line + 1) * LINE ? end - line * LINE : LINE;

		if (!GROW(t->at, t->count, t->cap, 1024))
			return -ENOMEM;
		k.line = line;
		k.bytes = (to - from == LINE ? ~0ull : (1ull << (to - from)) - 1) << from;
		t->at[t->count++] = k;
	}
	return 0;
}

static int collect_touches(const struct flow_input *in, struct touches *t)
{
	int err = 0;

	for (size_t i = 0; !err && i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];

		/* a wide access says nothing of who uses which part of a line; a thread's own stack is its own */
		if (!(a->flags & (FMT_A_CENSUS | FMT_A_STACK | FMT_A_KERNEL | FMT_A_REP)) && a->size && a->size <= LINE)
			err = add_touched_lines(t, a->addr, a->size,
						(struct sharing_touch){ .time = a->time,
									.weight = a->weight,
									.pid = a->pid,
									.tid = a->tid,
									.func = a->func,
									.write = a->flags & FMT_A_STORE });
	}
	for (size_t i = 0; !err && i < in->window_count; i++) {
		const struct in_window *w = &in->window[i];

		for (size_t k = w->first; !err && k < w->first + w->count && !(w->arm.flags & FMT_A_STACK); k++)
			if (!(in->hit[k].flags & FMT_A_KERNEL) && w->len <= LINE)
				err = add_touched_lines(t, w->addr, w->len,
							(struct sharing_touch){ .time = in->hit[k].time,
										.pid = w->arm.pid,
										.tid = in->hit[k].tid,
										.func = in->hit[k].func,
										.write = in->hit[k].flags &
											 FMT_A_STORE });
	}
	return err;
}

static int by_line(const void *a, const void *b)
{
	const struct sharing_touch *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

/* Only what lies within [from, to]; NULL where this thread is one too many. */
static struct sharing_user *user_of(struct sharing_user *u, unsigned *n, uint32_t tid)
{
	for (unsigned i = 0; i < *n; i++)
		if (u[i].tid == tid)
			return &u[i];
	if (*n == MAX_USERS)
		return NULL;
	u[*n] = (struct sharing_user){ .tid = tid, .first = UINT64_MAX };
	return &u[(*n)++];
}

static void add_touch(struct sharing_user *u, const struct sharing_touch *t)
{
	u->pid = t->pid;
	u->samples++;
	u->accesses += t->weight;
	u->bytes |= t->bytes;
	u->written |= t->write ? t->bytes : 0;
	u->first = t->time < u->first ? t->time : u->first;
	u->last = t->time > u->last ? t->time : u->last;
	/* the function of the heaviest access stands for all */
	if (!u->func_weight || t->weight > u->func_weight) {
		u->func = t->func;
		u->func_weight = t->weight > 0 ? t->weight : 1e-9;
	}
	for (unsigned w = 0; w < 8; w++)
		u->word[w] += (t->bytes >> (8 * w) & 0xff) != 0;
}

/* How likely it is at most that so many accesses, if they went anywhere in the line, met so few words. */
static double chance(const struct sharing_user *u)
{
	static const double ways[] = { 0, 8, 28, 56, 70, 56, 28, 8, 1 }; /* 8 over k */
	unsigned words = 0;

	for (unsigned w = 0; w < 8; w++)
		words += u->word[w] > 0;
	return u->samples < ENOUGH ? 1 : fmin(1, ways[words] * pow(words / 8.0, u->samples));
}

static struct line_user described(const struct flow_input *in, const struct sharing_user *u)
{
	return (struct line_user){ .pid = u->pid,
				   .tid = u->tid,
				   .function = in->funcs[u->func].name,
				   .bytes = u->bytes,
				   .written = u->written,
				   .accesses = u->accesses,
				   .samples = u->samples };
}

/* All that is known of one line, and of how many there are. */
struct touched {
	const struct sharing_touch *touch;
	size_t count, lines;
};

/* Adds a line that two threads share by chance alone. 1: they share what they write. */
static int judge_pair_of_threads(const struct flow_input *in, const struct touched *all, const struct sharing_user *a,
				 const struct sharing_user *b, struct flow_threads *out)
{
	const struct sharing_touch *t = all->touch;
	uint64_t from = a->first > b->first ? a->first : b->first, to = a->last < b->last ? a->last : b->last;
	struct sharing_user both[2] = { { .tid = a->tid, .first = UINT64_MAX },
					{ .tid = b->tid, .first = UINT64_MAX } };
	const struct in_object *obj = NULL;
	struct shared_line *l, *before = out->line_count && out->line[out->line_count - 1].addr == t->line * LINE &&
							 out->line[out->line_count - 1].user[0].pid == t->pid
						 ? &out->line[out->line_count - 1]
						 : NULL;
	double cost;

	/* memory that one thread gave back and another was given is not shared: only while both use it */
	for (size_t i = 0; i < all->count; i++)
		if (t[i].time >= from && t[i].time <= to && (t[i].tid == a->tid || t[i].tid == b->tid))
			add_touch(&both[t[i].tid == b->tid], &t[i]);
	if (!(both[0].written | both[1].written))
		return 0;
	if ((both[0].written & both[1].bytes) | (both[1].written & both[0].bytes))
		return 1;
	/* two threads that share all of a line, seen a few times each, may have met different words */
	if (both[0].samples < ENOUGH || both[1].samples < ENOUGH ||
	    chance(&both[0]) * chance(&both[1]) * (double)all->lines > CHANCE)
		return 0;
	cost = both[0].accesses < both[1].accesses ? both[0].accesses : both[1].accesses;
	if (before) {
		before->pairs++;
		if (cost > before->cost) {
			before->cost = cost;
			before->user[0] = described(in, &both[0]);
			before->user[1] = described(in, &both[1]);
		}
		return 0;
	}
	if (!GROW(out->line, out->line_count, out->line_cap, 1024))
		return -ENOMEM;
	l = &out->line[out->line_count++];
	*l = (struct shared_line){ .addr = t->line * LINE,
				   .user = { described(in, &both[0]), described(in, &both[1]) },
				   .pairs = 1,
				   .cost = cost };
	for (unsigned k = 0; k < LINE && !obj; k++)
		if ((both[0].bytes | both[1].bytes) >> k & 1)
			obj = in_object_at(in, t->pid, l->addr + k, from);
	if (obj) {
		l->object = in->object_site[obj->site].name;
		l->offset = l->addr > obj->addr ? l->addr - obj->addr : 0;
	}
	return 0;
}

static int by_tid(const void *a, const void *b)
{
	const struct sharing_user *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int line(const struct flow_input *in, const struct sharing_touch *t, size_t n, size_t lines,
		struct flow_threads *out)
{
	struct sharing_user user[MAX_USERS];
	struct touched all = { t, n, lines };
	unsigned users = 0;
	bool truly = false;
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		struct sharing_user *u = user_of(user, &users, t[i].tid);

		if (u)
			add_touch(u, &t[i]);
	}
	qsort(user, users, sizeof(user[0]), by_tid);
	for (unsigned i = 0; i < users; i++)
		for (unsigned j = i + 1; err >= 0 && j < users; j++) {
			err = judge_pair_of_threads(in, &all, &user[i], &user[j], out);
			truly |= err > 0;
		}
	out->truly += truly;
	return err < 0 ? err : 0;
}

static int by_cost(const void *a, const void *b)
{
	const struct shared_line *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

int sharing_find(const struct flow_input *in, struct flow_threads *out)
{
	struct touches t = { 0 };
	size_t lines = 0;
	int err = collect_touches(in, &t);

	if (t.count)
		qsort(t.at, t.count, sizeof(*t.at), by_line);
	for (int pass = 0; !err && pass < 2; pass++) /* how many lines are judged, then each */
		for (size_t i = 0, j; !err && i < t.count; i = j) {
			bool alone = true;

			for (j = i; j < t.count && t.at[j].line == t.at[i].line && t.at[j].pid == t.at[i].pid; j++)
				alone &= t.at[j].tid == t.at[i].tid;
			if (!alone && pass)
				err = line(in, t.at + i, j - i, lines, out);
			lines += !alone && !pass;
		}
	free(t.at);
	if (out->line_count)
		qsort(out->line, out->line_count, sizeof(*out->line), by_cost);
	return err;
}
