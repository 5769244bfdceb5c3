// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/object_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/index.h"
#include "util/map.h"

#define WIDE_GAP 65536 /* bytes between accesses: what lies on both sides is not one range */
/* Where no mapping is known: bytes between ranges of one mapping. A block that malloc takes from the kernel by
 * itself is seldom larger than that without an access in between, and other mappings are mostly further away. */
#define MAPPING_GAP (16ull << 20)
#define SHOWS_USERS 20 /* samples of a range: one with fewer may lack a user that has a tenth of it */
#define STANDS_ALONE 5 /* samples of a range that is a place of its own: so many seldom meet by chance */
#define TRACE 0.05     /* of a range's bytes: a user with less is met once in SHOWS_USERS samples, by chance or not */
#define MOST_ALIKE 64  /* objects of one program with the same users that are compared: more cost time only */

static int by_address_of_access(const void *a, const void *b, void *input)
{
	const struct in_access *x = &((const struct flow_input *)input)->access[*(const uint32_t *)a];
	const struct in_access *y = &((const struct flow_input *)input)->access[*(const uint32_t *)b];

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x > y) - (x < y);
}

static int cut(const struct flow_input *in, struct object_ranges *r)
{
	for (size_t i = 0; i < r->order_count;) {
		const struct in_access *a = &in->access[r->order[i]];
		struct object_range n = { .first = i, .addr = a->addr, .stop = a->addr, .pid = a->pid };

		n.region = in_region_at(in, a->pid, a->addr);
		for (; i < r->order_count; i++) {
			a = &in->access[r->order[i]];
			if (a->pid != n.pid || (a->addr > n.stop && a->addr - n.stop > WIDE_GAP) ||
			    in_region_at(in, a->pid, a->addr) != n.region)
				break;
			if (a->addr + a->size > n.stop)
				n.stop = a->addr + a->size;
		}
		n.end = i;
		n.group = (uint32_t)r->count;
		if (!GROW(r->range, r->count, r->cap, 64))
			return -ENOMEM;
		r->range[r->count++] = n;
	}
	return 0;
}

struct object_ranges_user {
	uint32_t code;
	double bytes;
};

static int by_code(const void *a, const void *b)
{
	const struct object_ranges_user *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

/* room: two for each access. */
static int main_users(const struct flow_input *in, const struct object_ranges *r, struct object_range *n,
		      struct object_ranges_user *room)
{
	double all = 0;
	size_t count = 0;

	for (size_t i = n->first; i < n->end; i++) {
		const struct in_access *a = &in->access[r->order[i]];

		for (uint32_t writes = 0; writes < 2; writes++) {
			if (!(a->flags & (writes ? FMT_A_STORE : FMT_A_LOAD)))
				continue;
			room[count++] = (struct object_ranges_user){ a->func << 1 | writes, a->weight * a->size };
			all += a->weight * a->size;
		}
	}
	if (count)
		qsort(room, count, sizeof(*room), by_code);
	n->users = calloc(count + 1, sizeof(*n->users));
	if (!n->users)
		return -ENOMEM;
	for (size_t i = 0, next; i < count; i = next) {
		double bytes = 0;

		for (next = i; next < count && room[next].code == room[i].code; next++)
			bytes += room[next].bytes;
		if (bytes >= TRACE * all)
			n->users[n->user_count++] = room[i].code;
	}
	return 0;
}

static bool same_users(const struct object_range *a, const struct object_range *b)
{
	return a->user_count == b->user_count && !memcmp(a->users, b->users, a->user_count * sizeof(*a->users));
}

static bool users_within(const struct object_range *few, const struct object_range *all)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < few->user_count; i++) {
		while (k < all->user_count && all->users[k] < few->users[i])
			k++;
		if (k == all->user_count || all->users[k] != few->users[i])
			return false;
	}
	return true;
}

static bool shows_users(const struct object_range *r)
{
	return r->end - r->first >= SHOWS_USERS;
}

static bool one_mapping(const struct object_range *a, const struct object_range *next)
{
	return a->pid == next->pid && a->region == next->region && (a->region || next->addr - a->stop <= MAPPING_GAP);
}

/* The nearest range of a mapping that shows its users, and among them those of this one; SIZE_MAX: none. */
static size_t nearest(const struct object_range *r, size_t first, size_t end, size_t i)
{
	for (size_t away = 1; away < end - first; away++) {
		if (i >= first + away && shows_users(&r[i - away]) && users_within(&r[i], &r[i - away]))
			return i - away;
		if (i + away < end && shows_users(&r[i + away]) && users_within(&r[i], &r[i + away]))
			return i + away;
	}
	return SIZE_MAX;
}

/* Ranges first..end are those of one mapping: here and below. */
static void group_near(struct object_range *r, size_t first, size_t end)
{
	size_t strong = SIZE_MAX, at;

	for (size_t i = first; i < end; i++) {
		if (!shows_users(&r[i]))
			continue;
		if (strong != SIZE_MAX && same_users(&r[strong], &r[i]))
			r[i].group = r[strong].group;
		r[i].placed = true;
		strong = i;
	}
	for (size_t i = first; i < end; i++) {
		at = shows_users(&r[i]) ? SIZE_MAX : nearest(r, first, end, i);
		if (at == SIZE_MAX)
			continue;
		r[i].group = r[at].group;
		r[i].placed = true;
	}
}

static void group_rest(struct object_range *r, size_t first, size_t end)
{
	size_t rest = SIZE_MAX;

	for (size_t i = first; i < end; i++) {
		if (r[i].placed || r[i].end - r[i].first >= STANDS_ALONE)
			continue;
		rest = rest == SIZE_MAX ? i : rest;
		r[i].group = (uint32_t)rest;
		r[i].rest = true;
	}
}

static void each_mapping(struct object_ranges *r, void (*fn)(struct object_range *r, size_t first, size_t end))
{
	for (size_t i = 0, end; i < r->count; i = end) {
		for (end = i + 1; end < r->count && one_mapping(&r->range[end - 1], &r->range[end]); end++)
			;
		fn(r->range, i, end);
	}
}

static uint64_t hash_text(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = index_hash(h, (uint8_t)*s);
	return h;
}

static bool same_text(const char *a, const char *b)
{
	return (!a && !b) || (a && b && !strcmp(a, b));
}

static bool one_program(const struct flow_input *in, const struct object_range *a, const struct object_range *b)
{
	const char *x = in_comm(in, a->pid), *y = in_comm(in, b->pid);
	const char *name = a->region ? a->region->name : NULL;

	if (a->pid == b->pid || !same_text(x, y) || a->rest != b->rest || (!a->rest && !same_users(a, b)))
		return false;
	if (name && *name)
		return b->region && same_text(name, b->region->name);
	return a->low < b->high && b->low < a->high;
}

static void measure_leaders(struct object_ranges *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct object_range *n = &r->range[i];
		struct object_range *leader = &r->range[n->group];

		leader->low = leader->high && leader->low < n->addr ? leader->low : n->addr;
		leader->high = n->stop > leader->high ? n->stop : leader->high;
		leader->extent = leader->high - leader->low;
	}
}

/* What one process was sampled too little at, and another one of the same program uses at the same address. */
static void group_elsewhere(const struct flow_input *in, struct object_ranges *r)
{
	uint32_t strong[MOST_ALIKE];
	size_t count = 0;

	for (size_t i = 0; i < r->count && count < MOST_ALIKE; i++)
		if (r->range[i].group == i && shows_users(&r->range[i]))
			strong[count++] = (uint32_t)i;
	for (size_t i = 0; i < r->count; i++) {
		struct object_range *n = &r->range[i];

		for (size_t k = 0; k < count && !n->placed; k++) {
			const struct object_range *o = &r->range[strong[k]];

			if (o->pid == n->pid || !same_text(in_comm(in, o->pid), in_comm(in, n->pid)) ||
			    n->addr < o->low || n->stop > o->high || !users_within(n, o))
				continue;
			n->group = strong[k];
			n->placed = true;
		}
	}
}

/* Joins the first of the list of those with the same hash that is the same object, or the list. */
static void join_same_object(const struct flow_input *in, struct object_ranges *r, size_t like, size_t i)
{
	struct object_range *n = &r->range[i], *o = &r->range[like];

	for (unsigned steps = 0; steps < MOST_ALIKE; steps++) {
		if (one_program(in, o, n)) {
			n->group = (uint32_t)like;
			o->extent = n->extent > o->extent ? n->extent : o->extent;
			return;
		}
		if (!o->next_like) {
			o->next_like = (uint32_t)i;
			return;
		}
		like = o->next_like;
		o = &r->range[like];
	}
}

/* Groups of several processes. */
static int group_processes(const struct flow_input *in, struct object_ranges *r)
{
	struct map first_like = { 0 };
	uint64_t *at;
	bool added;

	for (size_t i = 0; i < r->count; i++) {
		const struct object_range *n = &r->range[i];
		uint64_t key = hash_text(n->rest, in_comm(in, n->pid));

		if (n->group != i)
			continue;
		key = hash_text(key, n->region ? n->region->name : NULL);
		for (uint32_t u = 0; u < n->user_count && !n->rest; u++)
			key = index_hash(key, n->users[u]);
		at = map_put(&first_like, key, &added);
		if (!at) {
			map_release(&first_like);
			return -ENOMEM;
		}
		if (added)
			*at = i;
		else
			join_same_object(in, r, *at, i);
	}
	/* leaders that joined another take theirs along */
	for (size_t i = 0; i < r->count; i++)
		r->range[i].group = r->range[r->range[i].group].group;
	map_release(&first_like);
	return 0;
}

int object_ranges_build(const struct flow_input *in, struct object_ranges *r)
{
	struct object_ranges_user *room = malloc((2 * r->order_count + 1) * sizeof(*room));
	int err = room ? 0 : -ENOMEM;

	r->range = NULL;
	r->count = r->cap = 0;
	if (r->order_count)
		qsort_r(r->order, r->order_count, sizeof(*r->order), by_address_of_access, (void *)in);
	if (!err)
		err = cut(in, r);
	for (size_t i = 0; i < r->count && !err; i++)
		err = main_users(in, r, &r->range[i], room);
	if (!err) {
		each_mapping(r, group_near);
		measure_leaders(r);
		group_elsewhere(in, r);
		each_mapping(r, group_rest);
		measure_leaders(r);
	}
	if (!err)
		err = group_processes(in, r);
	free(room);
	return err;
}

void object_ranges_release(struct object_ranges *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->range[i].users);
	free(r->range);
	r->range = NULL;
	r->count = r->cap = 0;
}
