// SPDX-License-Identifier: GPL-2.0-or-later
/* What was read becomes a profile: ids of the file become indexes, functions of one name one function. */
#include "profile/profile_priv.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "proc/started_as.h"
#include "symbol/symbols.h"
#include "util/grow.h"

static const char *module_name(uint32_t kind, const char *path)
{
	const char *slash = strrchr(path, '/');

	switch (kind) {
	case FMT_MOD_KERNEL: return "[kernel]";
	case FMT_MOD_VDSO: return "[vdso]";
	case FMT_MOD_JIT: return "[jit]";
	case FMT_MOD_ANON: return "[anon]";
	}
	return slash && slash[1] ? slash + 1 : *path ? path : "[unknown]";
}

static int finish_modules(struct profile *p)
{
	struct profile_private *k = p->priv;

	p->modules = calloc(k->raw_module_count + 1, sizeof(*p->modules));
	if (!p->modules)
		return -ENOMEM;
	p->module_count = k->raw_module_count + 1;
	p->modules[0] = (struct profile_module){ .path = "", .object = "[unknown]" };
	for (size_t i = 0; i < k->raw_module_count; i++) {
		const struct fmt_module *raw = &k->raw_modules[i];
		struct profile_module *m = &p->modules[i + 1];
		const char *as;

		m->id = raw->id;
		m->kind = raw->kind;
		m->pid = raw->pid;
		m->path = profile_text(p, raw->path, "");
		as = started_as_name(profile_meta(p, META_STARTED_AS), m->path);
		m->object = as ? as : module_name(raw->kind, m->path);
		m->build_id_len = raw->build_id_len > sizeof(m->build_id) ? 0 : raw->build_id_len;
		memcpy(m->build_id, raw->build_id, sizeof(m->build_id));
		m->content = raw->content;
	}
	return 0;
}

static const char *last_component(const char *path)
{
	const char *slash = *path == '/' ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

static const char *object_as_started(const struct profile *p, const char *path)
{
	const char *as = started_as_name(profile_meta(p, META_STARTED_AS), path);

	return as ? as : last_component(path);
}

static int finish_functions(struct profile *p, uint32_t **index_of_raw)
{
	struct profile_private *k = p->priv;
	uint32_t *out = calloc(k->raw_function_count + 1, sizeof(*out));

	*index_of_raw = out;
	if (!out || profile_function_of(p, "(unknown)", PROFILE_NO_OBJECT, NULL, 0, false) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < k->raw_function_count; i++) {
		const struct fmt_function *raw = &k->raw_functions[i];
		const char *name = profile_text(p, raw->name, NULL);
		int64_t f = 0;

		if (name)
			f = profile_function_of(p, name,
						object_as_started(p, profile_text(p, raw->object, PROFILE_NO_OBJECT)),
						profile_text(p, raw->file, NULL), raw->line,
						!(raw->flags & FMT_FN_BARE));
		if (f < 0)
			return -ENOMEM;
		out[i] = (uint32_t)f;
		if (f && !p->functions[f].id)
			p->functions[f].id = raw->id;
	}
	return 0;
}

/* A frame without a symbol is named by where it lies, never [unknown]. */
static int64_t bare_function(struct profile *p, const struct profile_frame *f)
{
	const struct profile_module *m = &p->modules[f->module];
	char name[400];

	if (m->kind == FMT_MOD_KERNEL)
		symbols_kernel(f->addr, name, sizeof(name));
	else if (m->kind == FMT_MOD_FILE || m->kind == FMT_MOD_VDSO)
		snprintf(name, sizeof(name), "%.300s+0x%" PRIx64, m->object, f->addr);
	else
		snprintf(name, sizeof(name), "0x%" PRIx64, f->addr);
	return profile_function_of(p, profile_keep(p, name), m->object, NULL, 0, m->kind == FMT_MOD_KERNEL);
}

static int finish_lines(struct profile *p, const uint32_t *function_of_raw)
{
	struct profile_private *k = p->priv;

	for (size_t i = 0; i < k->raw_line_count; i++) {
		const struct raw_line *raw = &k->raw_lines[i];
		const uint64_t *at = map_get(&k->function_at, raw->function);

		if (!PUSH(p->lines, p->line_count, k->line_cap, 64,
			  (struct profile_line){ .function = at ? function_of_raw[*at] : 0,
						 .line = raw->line,
						 .file = profile_text(p, raw->file, NULL) }))
			return -ENOMEM;
	}
	for (size_t i = 1; i < p->frame_count; i++) {
		struct profile_frame *f = &p->frames[i];

		f->module = profile_module_of(p, f->module);
		f->told = f->count;
		f->nameless = f->told && !p->lines[f->first + f->count - 1].function;
		/* a chain that ends in nothing known is no better than none */
		if (f->nameless)
			f->count = 0;
	}
	return 0;
}

static int finish_frames(struct profile *p)
{
	for (size_t i = 1; i < p->frame_count; i++) {
		struct profile_frame *f = &p->frames[i];
		int64_t fn;

		if (f->count)
			continue;
		fn = bare_function(p, f);
		if (fn < 0)
			return -ENOMEM;
		f->first = (uint32_t)p->line_count;
		f->count = 1;
		if (!PUSH(p->lines, p->line_count, p->priv->line_cap, 64,
			  (struct profile_line){ .function = (uint32_t)fn }))
			return -ENOMEM;
	}
	return 0;
}

/* The exact engine's figures per function; they stand beside its synthetic samples, if it made any. */
static int finish_exact(struct profile *p, const uint32_t *function_of_raw)
{
	struct profile_private *k = p->priv;

	p->exact = calloc(p->function_count, sizeof(*p->exact));
	if (!p->exact)
		return -ENOMEM;
	for (size_t i = 0; i < k->raw_exact_count; i++) {
		const struct fmt_x_func *x = &k->raw_exact[i];
		const uint64_t *at = map_get(&k->function_at, x->function);
		struct profile_exact *out = &p->exact[at ? function_of_raw[*at] : 0];

		if (x->scope == FMT_X_SELF) {
			out->self += (double)x->instructions;
			out->calls += x->calls;
			p->exact_total += (double)x->instructions;
		} else if (x->scope == FMT_X_INCLUSIVE) {
			/* of two functions of one name, one may have called the other */
			out->inclusive =
				out->inclusive > (double)x->instructions ? out->inclusive : (double)x->instructions;
		}
	}
	p->has_exact = k->raw_exact_count > 0;
	return 0;
}

/* Of what a recording says it lost, what stands beside its samples as lost ones: all but these. */
static bool is_of_samples(const char *counter)
{
	static const char *const others[] = { COUNTER_SIDEBAND_LOST,
					      /* what happened besides */
					      "waits ", "offload: ", "watch hits ", "count windows ", "system calls ",
					      "system-call records ", "segments ", "heap: ", "processes ",
					      "forked processes ", "mappings ",
					      /* the sample is there, and only part of it or a name is not */
					      "accesses ", "samples without ", "addresses ", "frames ", "stacks ",
					      "records of processes " };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(counter, others[i], strlen(others[i])))
			return false;
	return true;
}

static int finish_counters(struct profile *p)
{
	struct profile_private *k = p->priv;

	p->counters = calloc(k->raw_counter_count + 1, sizeof(*p->counters));
	if (!p->counters)
		return -ENOMEM;
	for (size_t i = 0; i < k->raw_counter_count; i++) {
		const struct fmt_counter *c = &k->raw_counters[i];

		p->counters[i] = (struct profile_counter){ .name = profile_text(p, c->name, "(unnamed)"),
							   .value = c->value,
							   .loss = c->flags & FMT_C_LOSS,
							   .in_part = c->flags & FMT_C_IN_PART };
		if (c->flags & FMT_C_LOSS) {
			p->lost += is_of_samples(p->counters[i].name) ? c->value : 0;
			p->lost_known = true;
		}
	}
	p->counter_count = k->raw_counter_count;
	if (!p->lost_known && p->has_end) {
		p->lost = p->end.lost;
		p->lost_known = true;
	}
	return 0;
}

/* Stable, by counting: position of each cell in `to`, where `key` has values below `keys`. */
static void order_cells(const struct profile_cell *from, struct profile_cell *to, size_t count, uint32_t *starts,
			size_t keys, size_t key_at)
{
#define KEY(cell) (*(const uint32_t *)((const char *)(cell) + key_at))
	uint32_t sum = 0;

	memset(starts, 0, keys * sizeof(*starts));
	for (size_t i = 0; i < count; i++)
		starts[KEY(&from[i])]++;
	for (size_t i = 0; i < keys; i++) {
		uint32_t n = starts[i];

		starts[i] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[KEY(&from[i])]++] = from[i];
#undef KEY
}

/* Cells are still in the order in which the file tells of them. */
static int note_order(struct profile *p)
{
	uint32_t seen = 0;

	p->stack_seen = calloc(p->stack_count, sizeof(*p->stack_seen));
	if (!p->stack_seen)
		return -ENOMEM;
	for (size_t i = 0; i < p->cell_count; i++)
		if (!p->stack_seen[p->cells[i].stack])
			p->stack_seen[p->cells[i].stack] = ++seen;
	return 0;
}

/* By thread, and by stack within, so that a walk over them meets the stacks in order, too. */
static int finish_places(struct profile *p)
{
	const struct intern *places = &p->priv->places;

	free(p->places);
	p->place_count = places->count + 1;
	p->places = calloc(p->place_count, sizeof(*p->places));
	for (uint32_t i = 1; p->places && i < p->place_count; i++) {
		uint32_t ids[3];

		memcpy(ids, intern_get(places, i, NULL), sizeof(ids));
		p->places[i] = (struct profile_place){ .unit = profile_text(p, ids[0], NULL),
						       .container = profile_text(p, ids[1], NULL),
						       .pod = profile_text(p, ids[2], NULL) };
	}
	return p->places ? 0 : -ENOMEM;
}

static int finish_cells(struct profile *p)
{
	struct profile_private *k = p->priv;
	size_t keys = p->stack_count > p->thread_count ? p->stack_count : p->thread_count;
	struct profile_cell *other = malloc((p->cell_count + 1) * sizeof(*other));
	uint32_t *starts = malloc((keys + 1) * sizeof(*starts));
	int err = other && starts ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->cell_count; i++)
		p->cells[i].stack = p->cells[i].stack ? profile_stack_at(k, p->cells[i].stack) : 0;
	for (size_t i = 0; i < p->wait_count; i++) {
		p->waits[i].stack = p->waits[i].stack ? profile_stack_at(k, p->waits[i].stack) : 0;
		p->waits[i].comm = profile_comm(p, p->waits[i].pid);
		p->waits[i].place = profile_index(&k->place_at, p->waits[i].pid);
	}
	if (!err && k->groups & PROFILE_ORDER)
		err = note_order(p);
	if (!err && p->cell_count) {
		order_cells(p->cells, other, p->cell_count, starts, p->stack_count,
			    offsetof(struct profile_cell, stack));
		order_cells(other, p->cells, p->cell_count, starts, p->thread_count,
			    offsetof(struct profile_cell, thread));
	}
	free(other);
	free(starts);
	for (size_t i = 0; i < p->cell_count && !err; i++) {
		struct profile_thread *t = &p->threads[p->cells[i].thread];

		if (!t->cell_count++)
			t->first_cell = i;
	}
	for (size_t i = 0; i < p->thread_count; i++) {
		p->threads[i].comm = profile_comm(p, p->threads[i].pid);
		p->threads[i].place = profile_index(&k->place_at, p->threads[i].pid);
	}
	return err;
}

int profile_finish(struct profile *p)
{
	struct profile_private *k = p->priv;
	const char *engine;
	int err = finish_modules(p);

	if (!err)
		err = finish_functions(p, &k->function_of_raw);
	if (!err)
		err = finish_lines(p, k->function_of_raw);
	if (!err && k->groups & (PROFILE_MISSING | PROFILE_KEPT))
		err = profile_name_missing(p);
	if (!err)
		err = finish_frames(p);
	if (!err)
		err = finish_exact(p, k->function_of_raw);
	if (!err)
		err = finish_counters(p);
	if (!err)
		err = finish_places(p);
	if (!err)
		err = finish_cells(p);
	p->start_realtime_ns = store_header(k->reader)->start_realtime_ns;
	p->start_monotonic_ns = store_header(k->reader)->start_monotonic_ns;
	engine = profile_meta(p, "engine");
	if (p->has_end)
		p->duration_ns = p->end.duration_ns;
	else if (!engine || strcmp(engine, "exact")) /* whose time stamps count instructions */
		p->duration_ns = p->last_time - p->first_time;
	store_recovery_text(k->reader, p->recovery, sizeof(p->recovery));
	return err ? err : k->failed;
}
