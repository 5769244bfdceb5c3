// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which local variable an access of the stack touched: the frame it lies in is known from the
 * recording, the variables of that frame and their places at that instruction from DWARF, which a
 * child process reads (symbol/contained_child.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/contained_child.h"
#include "symbol/debugfile.h"
#include "symbol/locals.h"
#include "proc/module.h"
#include "flow/input_priv.h"
#include "util/grow.h"

#define MAX_PLACES 20000          /* code addresses asked for, the ones with most accesses first */
#define MAX_LOCALS 256            /* of one function */
#define DWARF_SECONDS 20          /* CPU seconds of the child that reads debug information; by hand */
#define DWARF_MEMORY (4ull << 30) /* bytes of its address space, which holds the whole file */

struct locals_place { /* an instruction in whose frame something was touched */
	uint64_t addr;
	uint32_t module, func; /* func: FLOW_NONE: of that frame of that stack */
	uint32_t stack, frame;
	double weight;
	struct frame_local *local;
	uint32_t count;
};

struct input_locals_places {
	struct raw *r;
	struct intern keys; /* struct input_locals_place_key -> index + 1 */
	struct locals_place *at;
	size_t count, cap;
	uint32_t *of; /* by raw local: place index, FLOW_NONE */
};

struct input_locals_place_key {
	uint64_t addr, module;
};

/* Each access that is one gets its number among them, which stays when accesses are put in order. */
static int collect_locals(struct input_locals_places *p)
{
	struct raw *r = p->r;

	for (size_t i = 0; i < r->local_count; i++) {
		const struct raw_local *l = &r->local[i];
		struct in_access *a = &r->in->access[l->access];
		uint32_t stack = profile_stack_of(r->p, a->stack);
		struct fmt_frame f;
		struct input_locals_place_key k;
		bool added;
		uint32_t id;

		p->of[i] = FLOW_NONE;
		a->local = (uint32_t)i + 1;
		if (l->frame > raw_frames(r, stack))
			continue;
		f = raw_frame(r, stack, l->frame - 1);
		k = (struct input_locals_place_key){ f.addr, f.module };
		id = intern_add(&p->keys, &k, sizeof(k), &added);
		if (!id || !GROW(p->at, p->count, p->cap, 256))
			return err_set(r->e, -ENOMEM, "out of memory");
		if (added)
			p->at[p->count++] = (struct locals_place){ .addr = f.addr,
								   .module = f.module,
								   .func = l->frame == 1 ? a->func : FLOW_NONE,
								   .stack = stack,
								   .frame = l->frame - 1 };
		p->at[id - 1].weight += a->weight;
		p->of[i] = id - 1;
	}
	return 0;
}

struct input_locals_job {
	struct locals_place **place; /* of one module */
	size_t count;
	int fd, alt;
	struct frame_local scratch[MAX_LOCALS];
};

struct input_locals_head {
	uint32_t place, count;
};

/* In the child. */
static int send_locals(void *ctx, struct contained_out *out)
{
	struct input_locals_job *j = ctx;
	struct locals *l = locals_open_fd(j->fd, j->alt);
	struct {
		struct input_locals_head head;
		struct frame_local local[MAX_LOCALS];
	} *record = calloc(1, sizeof(*record));

	for (size_t i = 0; l && record && i < j->count; i++) {
		size_t n = locals_at(l, j->place[i]->addr, record->local, MAX_LOCALS);

		record->head = (struct input_locals_head){ (uint32_t)i, (uint32_t)n };
		contained_put(out, record, sizeof(record->head) + n * sizeof(record->local[0]));
	}
	free(record);
	locals_close(l);
	return 0;
}

static int take_local(void *ctx, const uint8_t *rec, size_t size)
{
	struct input_locals_job *j = ctx;
	struct input_locals_head h;
	struct locals_place *p;

	if (size < sizeof(h))
		return -EIO;
	memcpy(&h, rec, sizeof(h));
	if (h.place >= j->count || h.count > MAX_LOCALS || size != sizeof(h) + h.count * sizeof(struct frame_local))
		return -EIO;
	p = j->place[h.place];
	if (p->local || !h.count)
		return 0;
	p->local = malloc(h.count * sizeof(*p->local));
	if (!p->local)
		return -ENOMEM;
	memcpy(p->local, rec + sizeof(h), h.count * sizeof(*p->local));
	for (uint32_t i = 0; i < h.count; i++)
		p->local[i].name[sizeof(p->local[i].name) - 1] = 0;
	p->count = h.count;
	return 0;
}

static int by_module_and_place(const void *a, const void *b)
{
	const struct locals_place *x = *(struct locals_place *const *)a, *y = *(struct locals_place *const *)b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->weight < y->weight ? 1 : x->weight > y->weight ? -1 : (x->addr > y->addr) - (x->addr < y->addr);
}

static void ask_file(struct input_locals_job *j, const struct debugfile *d)
{
	struct contained_job apart = {
		.produce = send_locals,
		.consume = take_local,
		.ctx = j,
		.keep_fd = { d->fd, d->alt, -1 },
		.cpu_seconds = DWARF_SECONDS,
		.memory = DWARF_MEMORY,
	};

	j->fd = d->fd;
	j->alt = d->alt;
	if (d->dwarf)
		contained_run(&apart);
}

/* A module that cannot be read leaves its locals unnamed; that is no failure. */
static void ask_child(struct raw *r, struct locals_place **place, size_t count)
{
	const struct profile_module *m = raw_module(r, place[0]->module);
	const char *path = m && m->kind == FMT_MOD_FILE ? m->path : NULL;
	struct module *mod = path && path[0] == '/' ? module_open_path(path, m->build_id, m->build_id_len, NULL) : NULL;
	struct input_locals_job *j = mod ? calloc(1, sizeof(*j)) : NULL;
	struct debugfile own = { .fd = -1, .alt = -1 }, debug = own;

	if (j) {
		j->place = place;
		j->count = count;
		if (debugfile_own(&own, module_fd(mod), path)) {
			ask_file(j, &own);
			/* addresses of a separate file are the same, unless the original was moved */
			if (debugfile_separate(&debug, &own, path, mod->build_id, mod->build_id_len) && !debug.bias)
				ask_file(j, &debug);
		}
		debugfile_close(&debug);
		debugfile_close(&own);
	}
	free(j);
	module_close_path(mod);
}

static int name_places(struct input_locals_places *p)
{
	struct locals_place **order = malloc((p->count + 1) * sizeof(struct locals_place *));
	size_t total = 0;

	if (!order)
		return err_set(p->r->e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->count; i++)
		order[i] = &p->at[i];
	qsort(order, p->count, sizeof(struct locals_place *), by_module_and_place);
	for (size_t i = 0, j; i < p->count && total < MAX_PLACES; i = j) {
		for (j = i; j < p->count && order[j]->module == order[i]->module; j++)
			;
		ask_child(p->r, order + i, j - i < MAX_PLACES - total ? j - i : MAX_PLACES - total);
		total += j - i;
	}
	free(order);
	return 0;
}

/* Of several that share the place, the smallest. */
static const struct frame_local *local_at(const struct locals_place *p, int64_t offset)
{
	const struct frame_local *best = NULL;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct frame_local *l = &p->local[i];

		if (offset >= l->offset && (uint64_t)(offset - l->offset) < l->size && (!best || l->size < best->size))
			best = l;
	}
	return best;
}

/* access: by local, the index that it has now. */
static int put_names(struct input_locals_places *p, const uint32_t *access, struct intern *names, struct map *site_of)
{
	struct raw *r = p->r;

	for (size_t i = 0; i < r->local_count; i++) {
		const struct raw_local *l = &r->local[i];
		struct locals_place *pl = p->of[i] == FLOW_NONE ? NULL : &p->at[p->of[i]];
		const struct frame_local *v = pl ? local_at(pl, l->offset) : NULL;
		const char *function;
		char name[1200];
		uint64_t *site;
		uint32_t id, s;
		bool added;

		if (pl && pl->func == FLOW_NONE)
			pl->func = func_of_frame(r, pl->stack, pl->frame);
		if (!pl || pl->func == FLOW_NONE)
			continue;
		function = r->in->funcs[pl->func].name;
		if (v)
			snprintf(name, sizeof(name), "%.47s in %.1000s", v->name, function);
		else
			snprintf(name, sizeof(name), "stack of %.1000s", function);
		id = intern_str(names, name, NULL);
		site = id ? map_put(site_of, id, &added) : NULL;
		if (!site)
			return err_set(r->e, -ENOMEM, "out of memory");
		if (added) {
			const char *kept = intern_get(&r->in->texts, intern_str(&r->in->texts, name, NULL), NULL);
			int err = add_object_site(r, 0, v ? FMT_OBJ_LOCAL : FMT_OBJ_STACK, kept, function,
						  v ? v->size : 0, &s);

			if (err)
				return err;
			*site = s;
		}
		r->in->access[access[i]].local = (uint32_t)*site + 1;
	}
	return 0;
}

int input_locals_ask(struct raw *r)
{
	struct input_locals_places *p = calloc(1, sizeof(*p));
	int err = 0;

	r->places = p;
	if (p)
		*p = (struct input_locals_places){ .r = r, .of = malloc((r->local_count + 1) * sizeof(*p->of)) };
	if (!p || !p->of)
		return err_set(r->e, -ENOMEM, "out of memory");
	err = collect_locals(p);
	return !err && p->count ? name_places(p) : err;
}

int input_locals_name(struct raw *r)
{
	uint32_t *access = malloc((r->local_count + 1) * sizeof(*access));
	struct intern names = { 0 };
	struct map site_of = { 0 };
	int err;

	for (size_t i = 0; access && i < r->in->access_count; i++) {
		if (r->in->access[i].local)
			access[r->in->access[i].local - 1] = (uint32_t)i;
		r->in->access[i].local = 0;
	}
	err = access ? put_names(r->places, access, &names, &site_of) : err_set(r->e, -ENOMEM, "out of memory");
	free(access);
	intern_release(&names);
	map_release(&site_of);
	return err;
}

void input_locals_release(struct raw *r)
{
	struct input_locals_places *p = r->places;

	for (size_t i = 0; p && i < p->count; i++)
		free(p->at[i].local);
	if (p) {
		free(p->at);
		free(p->of);
		intern_release(&p->keys);
	}
	free(p);
}
