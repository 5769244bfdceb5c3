// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/emulate_branches.h"

#include <errno.h>
#include <stdlib.h>

#include "format.h"
#include "util/grow.h"
#include "util/map.h"

#define NO_WAY UINT32_MAX

struct emulate_branches {
	struct store_writer *w;
	struct emulate_branches_env env;
	struct fmt_burst_branch *way;
	uint32_t ways, cap;
	struct map met;   /* by addresses of the process: index in way, or NO_WAY; until they mean other code */
	struct map known; /* by module and address: the same, for good */
	uint64_t lost;
};

struct emulate_branches *emulate_branches_new(struct store_writer *w, const struct emulate_branches_env *env)
{
	struct emulate_branches *b = calloc(1, sizeof(*b));

	if (b) {
		b->w = w;
		b->env = *env;
	}
	return b;
}

void emulate_branches_free(struct emulate_branches *b)
{
	if (!b)
		return;
	map_release(&b->met);
	map_release(&b->known);
	free(b->way);
	free(b);
}

void emulate_branches_forget(struct emulate_branches *b)
{
	map_release(&b->met);
}

static uint64_t hash_way(uint64_t from, uint64_t to, uint64_t rest)
{
	uint64_t h = from * 0x9e3779b97f4a7c15ull ^ (to + rest) * 0xff51afd7ed558ccdull;

	return (h ^ h >> 32) * 0xc4ceb9fe1a85ec53ull;
}

static bool same_way(const struct fmt_burst_branch *x, const struct fmt_burst_branch *y)
{
	return x->kind == y->kind && x->from == y->from && x->to == y->to && x->from_module == y->from_module &&
	       x->to_module == y->to_module;
}

/* Its index; NO_WAY: no room. Two that share a hash stand behind each other. */
static int index_of(struct emulate_branches *b, const struct fmt_burst_branch *w, uint32_t *index)
{
	uint64_t key = hash_way(w->from, w->to, (uint64_t)w->from_module << 34 | (uint64_t)w->to_module << 2 | w->kind);
	uint64_t *at;

	*index = NO_WAY;
	for (;; key++) {
		bool added;

		at = map_get(&b->known, key);
		if (at && same_way(&b->way[*at], w)) {
			*index = (uint32_t)*at;
			return 0;
		}
		if (at)
			continue;
		if (b->ways == EMULATE_BRANCHES)
			return 0;
		at = map_put(&b->known, key, &added);
		if (!at || !GROW(b->way, b->ways, b->cap, 1024))
			return -ENOMEM;
		*at = *index = b->ways;
		b->way[b->ways++] = *w;
		return 0;
	}
}

static int find_way(struct emulate_branches *b, uint32_t pid, enum fmt_branch_kind kind, const uint64_t ip[2],
		    uint32_t *index)
{
	struct fmt_burst_branch w = { .kind = kind };

	*index = NO_WAY;
	if (!b->env.place(b->env.ctx, pid, ip[0], &w.from_module, &w.from) ||
	    !b->env.place(b->env.ctx, pid, ip[1], &w.to_module, &w.to) || !w.from_module || !w.to_module)
		return 0;
	/* without a branch between, code goes on in one module: what says otherwise was mapped anew meanwhile */
	if (kind == FMT_BRANCH_STRAIGHT && (w.from_module != w.to_module || w.from > w.to))
		return 0;
	return index_of(b, &w, index);
}

static int add_way(struct emulate_branches *b, uint32_t pid, enum fmt_branch_kind kind, uint64_t from, uint64_t to)
{
	const uint64_t ip[2] = { from, to };
	bool added;
	uint64_t *at = map_put(&b->met, hash_way(from, to, kind), &added);
	uint32_t index;
	int err;

	if (!at)
		return -ENOMEM;
	if (added) {
		err = find_way(b, pid, kind, ip, &index);
		if (err) {
			map_del(&b->met, hash_way(from, to, kind));
			return err;
		}
		*at = index;
	}
	if (*at == NO_WAY)
		b->lost += b->ways == EMULATE_BRANCHES;
	else
		b->way[*at].times += b->way[*at].times < UINT32_MAX;
	return 0;
}

int emulate_branches_add(struct emulate_branches *b, const struct emu *e, uint32_t pid)
{
	size_t count;
	const struct emu_branch *t = emu_branches(e, &count);
	uint64_t since = 0; /* where it last landed; 0: unknown */
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if (t[i].from && since)
			err = add_way(b, pid, FMT_BRANCH_STRAIGHT, since, t[i].from);
		if (t[i].from && !err)
			err = add_way(b, pid, FMT_BRANCH_TAKEN, t[i].from, t[i].to);
		since = t[i].to;
	}
	return err;
}

int emulate_branches_write(struct emulate_branches *b)
{
	int err = 0;

	for (uint32_t i = 0; i < b->ways && !err; i++) {
		if (b->way[i].times)
			err = store_put(b->w, FMT_BURST_BRANCH, &b->way[i], sizeof(b->way[i]));
		if (!err)
			b->way[i].times = 0;
	}
	return err;
}

uint64_t emulate_branches_lost(const struct emulate_branches *b)
{
	return b->lost;
}
