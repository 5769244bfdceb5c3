// SPDX-License-Identifier: GPL-2.0-or-later
/* cycle: the walk hands waits, names and shared parts to their files, which ask this one for ids and for room. */
#include "counters.h"
#include "proc/started_as.h"
#include "profile/profile_priv.h"
#include "profile/waits.h"
#include "profile/walk.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/plainname.h"
#include "symbol/symbols.h"
#include "util/buf.h"
#include "util/grow.h"

static int set_index(struct map *m, uint64_t key, uint64_t value)
{
	uint64_t *v = map_put(m, key, NULL);

	if (!v)
		return -ENOMEM;
	*v = value;
	return 0;
}

static uint32_t index_or_zero(const struct map *m, uint64_t key)
{
	const uint64_t *v = map_get(m, key);

	return v ? (uint32_t)*v : 0;
}

static int take_module(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;
	const struct fmt_module *m = rec;
	struct profile_private *k = p->priv;

	if (!PUSH(k->raw_modules, k->raw_module_count, k->raw_module_cap, 64, *m))
		return -ENOMEM;
	return set_index(&k->module_at, m->id, k->raw_module_count);
}

static int take_function_record(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;
	const struct fmt_function *f = rec;
	struct profile_private *k = p->priv;

	if (!PUSH(k->raw_functions, k->raw_function_count, k->raw_function_cap, 64, *f))
		return -ENOMEM;
	return set_index(&k->function_at, f->id, k->raw_function_count - 1);
}

struct frame_key {
	uint64_t addr;
	uint32_t module;
};

static uint64_t hash_frame(const void *profile, uint32_t number)
{
	const struct profile_frame *f = &((const struct profile *)profile)->frames[number];

	return index_hash(f->addr, f->module);
}

static bool same_frame(const void *profile, uint32_t number, const void *key)
{
	const struct profile_frame *f = &((const struct profile *)profile)->frames[number];
	const struct frame_key *k = key;

	return f->addr == k->addr && f->module == k->module;
}

/* Index of a frame, adding it when new; 0 when out of memory. */
static uint32_t index_of_frame(struct profile *p, uint32_t module, uint64_t addr)
{
	struct profile_private *k = p->priv;
	struct frame_key key = { addr, module };
	uint32_t *slot = index_slot(&k->frame_at, index_hash(addr, module), same_frame, hash_frame, p, &key);

	if (slot && !*slot) {
		size_t id = p->frame_count ? p->frame_count : 1;

		if (!GROW(p->frames, id, k->frame_cap, 64))
			return 0;
		p->frames[id] = (struct profile_frame){ .addr = addr, .module = module };
		p->frame_count = id + 1;
		k->frame_at.used++;
		*slot = (uint32_t)id;
	}
	return slot ? *slot : 0;
}

/* An id far beyond the number of stacks is damage, or another program's way of counting. */
#define DENSE_SLACK 65536

static int note_stack(struct profile *p, uint32_t id, uint32_t stack)
{
	struct profile_private *k = p->priv;

	if (id < 2 * p->stack_count + DENSE_SLACK &&
	    !GROW_ZEROED(k->stack_dense, (size_t)id + 1, k->stack_dense_cap, 1024))
		return -ENOMEM;
	if (id >= k->stack_dense_cap)
		return set_index(&k->stack_sparse, id, stack);
	k->stack_dense[id] = stack;
	return 0;
}

static uint32_t stack_of(const struct profile_private *k, uint32_t id)
{
	if (id < k->stack_dense_cap && k->stack_dense[id])
		return k->stack_dense[id];
	return index_or_zero(&k->stack_sparse, id);
}

/* Room for the frames of one more stack, which are many. */
static uint32_t *more_frames(struct profile *p, size_t n)
{
	struct profile_private *k = p->priv;

	if (!GROW_TO(p->stack_frames, p->stack_frame_count + n + 1, k->stack_frame_cap, 1024))
		return NULL;
	if (k->groups & PROFILE_ORDER &&
	    !GROW_TO(p->stack_frame_flags, p->stack_frame_count + n + 1, k->stack_flag_cap, 1024))
		return NULL;
	return p->stack_frames + p->stack_frame_count;
}

static int take_stack_record(void *ctx, const void *record, size_t size)
{
	struct profile *p = ctx;
	const uint8_t *rec = record;
	struct profile_private *k = p->priv;
	struct fmt_stack head;
	uint32_t *ids;
	size_t n;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, rec, sizeof(head));
	n = (size - sizeof(head)) / sizeof(struct fmt_frame);
	n = head.count < n ? head.count : n;
	ids = more_frames(p, n);
	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct fmt_frame f;

		memcpy(&f, rec + sizeof(head) + i * sizeof(f), sizeof(f));
		ids[i] = index_of_frame(p, f.module, f.addr);
		if (!ids[i])
			return -ENOMEM;
		if (k->groups & PROFILE_ORDER)
			p->stack_frame_flags[p->stack_frame_count + i] = (uint8_t)f.flags;
	}
	if (!PUSH(p->stacks, p->stack_count, k->stack_cap, 64,
		  (struct profile_stack){ .first = p->stack_frame_count, .count = (uint32_t)n, .flags = head.flags }))
		return -ENOMEM;
	p->stack_frame_count += n;
	return note_stack(p, head.id, (uint32_t)p->stack_count - 1);
}

static int take_symbol(void *ctx, const void *record, size_t size)
{
	struct profile *p = ctx;
	const uint8_t *rec = record;
	struct profile_private *k = p->priv;
	struct fmt_symbol head;
	size_t fit, first = k->raw_line_count;
	uint32_t frame;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, rec, sizeof(head));
	fit = (size - sizeof(head)) / sizeof(struct fmt_inline);
	if (!head.count || !fit)
		return 0;
	frame = index_of_frame(p, head.module, head.addr);
	if (!frame)
		return -ENOMEM;
	for (size_t i = 0; i < head.count && i < fit; i++) {
		struct fmt_inline l;

		memcpy(&l, rec + sizeof(head) + i * sizeof(l), sizeof(l));
		if (!PUSH(k->raw_lines, k->raw_line_count, k->raw_line_cap, 64,
			  (struct raw_line){ .function = l.function, .file = l.file, .line = l.line }))
			return -ENOMEM;
	}
	p->frames[frame].first = (uint32_t)first;
	p->frames[frame].count = (uint32_t)(k->raw_line_count - first);
	return 0;
}

static int take_counts_function(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;
	const struct fmt_counts_func *f = rec;
	uint32_t frame = f->id ? index_of_frame(p, f->module, f->start) : 1;

	return !frame ? -ENOMEM : f->id ? set_index(&p->priv->counts_at, f->id, frame) : 0;
}

static uint64_t hash_cell(const void *profile, uint32_t number)
{
	const struct profile_cell *c = &((const struct profile *)profile)->cells[number - 1];

	return index_hash(c->thread, c->stack);
}

static bool same_cell(const void *profile, uint32_t number, const void *key)
{
	const struct profile_cell *c = &((const struct profile *)profile)->cells[number - 1], *k = key;

	return c->stack == k->stack && c->thread == k->thread;
}

static int take_weighed(struct profile *p, const struct fmt_sample *s, enum profile_unit unit, double weight)
{
	struct profile_private *k = p->priv;
	uint64_t *at, thread = (uint64_t)s->pid << 32 | s->tid;
	struct profile_cell *cell, key;
	uint32_t *slot;
	bool added;

	if (!p->thread_count || thread != k->last_thread_key) {
		at = map_put(&k->thread_at, thread, &added);
		if (!at)
			return -ENOMEM;
		if (added) {
			*at = p->thread_count;
			if (!PUSH(p->threads, p->thread_count, k->thread_cap, 64,
				  (struct profile_thread){ .pid = s->pid, .tid = s->tid }))
				return -ENOMEM;
		}
		k->last_thread_key = thread;
		k->last_thread = (uint32_t)*at;
	}
	/* the stack's own definition may still be to come: keep its id for now */
	key = (struct profile_cell){ .stack = s->stack, .thread = k->last_thread };
	slot = index_slot(&k->cell_at, index_hash(key.thread, key.stack), same_cell, hash_cell, p, &key);
	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		if (!PUSH(p->cells, p->cell_count, k->cell_cap, 64, key))
			return -ENOMEM;
		k->cell_at.used++;
		*slot = (uint32_t)p->cell_count;
	}
	cell = &p->cells[*slot - 1];
	cell->samples[unit]++;
	cell->weight[unit] += weight;
	p->samples[unit]++;
	p->weight[unit] += weight;
	p->weight_squares[unit] += weight * weight;
	if (!p->first_time || s->time < p->first_time)
		p->first_time = s->time;
	if (s->time > p->last_time)
		p->last_time = s->time;
	return 0;
}

static int take_sample_record(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;
	const struct fmt_sample *s = rec;
	return take_weighed(p, s, s->flags & FMT_S_INSTRUCTIONS ? PROFILE_INSTRUCTIONS : PROFILE_TIME,
			    (double)s->period);
}

/* Only where accesses are samples of their own, with a stack: `perf mem record` writes nothing else. */
static int take_access_as_sample(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;
	const struct fmt_access *a = rec;
	struct fmt_sample s = { .time = a->time, .pid = a->pid, .tid = a->tid, .stack = a->stack };

	if (!a->stack || a->flags & (FMT_A_CENSUS | FMT_A_TIME | FMT_A_DERIVED) || !(a->weight > 0))
		return 0;
	return take_weighed(p, &s, PROFILE_ACCESSES, a->weight);
}

static int take_wait(void *ctx, const void *rec, size_t size)
{
	return waits_take(ctx, rec);
}

static int take_counter(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;
	const struct fmt_counter *c = rec;
	struct profile_private *k = p->priv;
	bool added;
	uint64_t *at = map_put(&k->counter_at, c->name, &added);

	if (!at)
		return -ENOMEM;
	if (added) {
		*at = k->raw_counter_count;
		if (!PUSH(k->raw_counters, k->raw_counter_count, k->raw_counter_cap, 64, *c))
			return -ENOMEM;
	}
	k->raw_counters[*at] = *c;
	return 0;
}

static int take_process(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;
	const struct fmt_process *process = rec;

	return process->comm ? set_index(&p->priv->comm_at, process->pid, process->comm) : 0;
}

static int take_rate(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;
	const struct fmt_rate *rate = rec;

	/* the first source is the one that draws samples; others, as of windows, are their own business */
	if (!p->priv->rate_source)
		p->priv->rate_source = rate->source;
	if (rate->source == p->priv->rate_source)
		p->rate = rate->per_second;
	return 0;
}

static int take_exact(void *ctx, const void *rec, size_t size)
{
	struct profile_private *k = ((struct profile *)ctx)->priv;

	if (!PUSH(k->raw_exact, k->raw_exact_count, k->raw_exact_cap, 64, *(const struct fmt_x_func *)rec))
		return -ENOMEM;
	return 0;
}

static int take_cost_record(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;

	memcpy(&p->cost, rec, sizeof(p->cost));
	p->has_cost = true;
	return 0;
}

static int take_end_record(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;

	memcpy(&p->end, rec, sizeof(p->end));
	p->has_end = true;
	return 0;
}

/* What was recorded here has samples of time; looking at each access would be for nothing. */
static bool want_accesses(void *ctx, uint32_t count)
{
	struct profile *p = ctx;

	p->accesses += count;
	return store_meta_get(p->priv->reader, "imported");
}

static bool note_edges(void *ctx, uint32_t count)
{
	((struct profile *)ctx)->has_edges |= count > 0;
	return false;
}

/* Whatever they say: that there are any. */
static bool note_calls(void *ctx, uint32_t count)
{
	((struct profile *)ctx)->has_calls |= count > 0;
	return false;
}

static bool note_counts(void *ctx, uint32_t count)
{
	((struct profile *)ctx)->has_counts |= count > 0;
	return false;
}

static const struct section_row rows[] = {
	{ FMT_MODULE, sizeof(struct fmt_module), take_module, NULL },
	{ FMT_FUNCTION, sizeof(struct fmt_function), take_function_record, NULL },
	{ FMT_COUNTER, sizeof(struct fmt_counter), take_counter, NULL },
	{ FMT_PROCESS, sizeof(struct fmt_process), take_process, NULL },
	{ FMT_RATE, sizeof(struct fmt_rate), take_rate, NULL },
	{ FMT_COST, sizeof(struct fmt_cost), take_cost_record, NULL },
	{ FMT_END, sizeof(struct fmt_end), take_end_record, NULL },
	{ FMT_X_FUNC, sizeof(struct fmt_x_func), take_exact, NULL },
	{ FMT_COUNTS_FUNC, sizeof(struct fmt_counts_func), take_counts_function, NULL },
	{ FMT_COUNTS_NODE, sizeof(struct fmt_counts_node), NULL, note_counts },
	{ FMT_X_EDGE, sizeof(struct fmt_x_edge), NULL, note_edges },
	{ FMT_CALL, sizeof(struct fmt_call), NULL, note_calls },
	{ FMT_OFFLOAD_TOTAL, sizeof(struct fmt_offload_total), NULL, note_calls },
	{ FMT_FLOW_EDGE, sizeof(struct fmt_flow_edge), NULL, note_edges },
};

static const struct section_row sample_rows[] = {
	{ FMT_STACK, 0, take_stack_record, NULL },
	{ FMT_SYMBOL, 0, take_symbol, NULL },
	{ FMT_SAMPLE, sizeof(struct fmt_sample), take_sample_record, NULL },
	{ FMT_ACCESS, sizeof(struct fmt_access), take_access_as_sample, want_accesses },
	{ FMT_WAIT, sizeof(struct fmt_wait), take_wait, NULL },
};

const char *profile_keep(struct profile *p, const char *text)
{
	uint32_t id = intern_str(&p->priv->texts, text, NULL);
	const char *s = id ? intern_get(&p->priv->texts, id, NULL) : NULL;

	if (!s)
		p->priv->failed = -ENOMEM;
	return s ? s : "";
}

static const char *text_or(const struct profile *p, uint32_t id, const char *otherwise)
{
	const char *s = store_str(p->priv->reader, id);

	return s && *s ? s : otherwise;
}

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
		m->path = text_or(p, raw->path, "");
		as = started_as_name(profile_meta(p, META_STARTED_AS), m->path);
		m->object = as ? as : module_name(raw->kind, m->path);
		m->build_id_len = raw->build_id_len > sizeof(m->build_id) ? 0 : raw->build_id_len;
		memcpy(m->build_id, raw->build_id, sizeof(m->build_id));
		m->content = raw->content;
	}
	return 0;
}

int64_t profile_function_of(struct profile *p, const char *name, const char *object, const char *file, uint32_t line,
			    bool named)
{
	struct profile_private *k = p->priv;
	AUTO_BUF(key);
	AUTO_BUF(plain);
	uint64_t *at;
	size_t len = plain_name(&name);
	uint32_t id;
	bool added;

	if (len) {
		/* debug information would place each variant in a file of its own */
		file = NULL;
		line = 0;
		buf_add(&plain, name, len);
		name = buf_failed(&plain) ? name : profile_keep(p, plain.data);
	}
	buf_add(&key, name, strlen(name) + 1);
	buf_add(&key, object, strlen(object) + 1);
	buf_addstr(&key, file ? file : "");
	id = buf_failed(&key) ? 0 : intern_add(&k->texts, key.data, key.len, NULL);
	at = id ? map_put(&k->merged, id, &added) : NULL;
	if (!at)
		return -ENOMEM;
	if (added) {
		*at = p->function_count;
		if (!PUSH(p->functions, p->function_count, k->function_cap, 64,
			  (struct profile_function){
				  .name = name, .object = object, .file = file, .line = line, .named = named }))
			return -ENOMEM;
	}
	return (int64_t)*at;
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
		const char *name = text_or(p, raw->name, NULL);
		int64_t f = 0;

		if (name)
			f = profile_function_of(p, name,
						object_as_started(p, text_or(p, raw->object, PROFILE_NO_OBJECT)),
						text_or(p, raw->file, NULL), raw->line, !(raw->flags & FMT_FN_BARE));
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
						 .file = text_or(p, raw->file, NULL) }))
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

static int finish_counters(struct profile *p)
{
	struct profile_private *k = p->priv;

	p->counters = calloc(k->raw_counter_count + 1, sizeof(*p->counters));
	if (!p->counters)
		return -ENOMEM;
	for (size_t i = 0; i < k->raw_counter_count; i++) {
		const struct fmt_counter *c = &k->raw_counters[i];

		p->counters[i] = (struct profile_counter){ .name = text_or(p, c->name, "(unnamed)"),
							   .value = c->value,
							   .loss = c->flags & FMT_C_LOSS,
							   .in_part = c->flags & FMT_C_IN_PART };
		if (c->flags & FMT_C_LOSS) {
			p->lost += c->value;
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

/* By thread, and by stack within, so that whoever walks them walks the stacks in order, too. */
static int finish_cells(struct profile *p)
{
	struct profile_private *k = p->priv;
	size_t keys = p->stack_count > p->thread_count ? p->stack_count : p->thread_count;
	struct profile_cell *other = malloc((p->cell_count + 1) * sizeof(*other));
	uint32_t *starts = malloc((keys + 1) * sizeof(*starts));
	int err = other && starts ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->cell_count; i++)
		p->cells[i].stack = p->cells[i].stack ? stack_of(k, p->cells[i].stack) : 0;
	for (size_t i = 0; i < p->wait_count; i++) {
		p->waits[i].stack = p->waits[i].stack ? stack_of(k, p->waits[i].stack) : 0;
		p->waits[i].comm = profile_comm(p, p->waits[i].pid);
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
	for (size_t i = 0; i < p->thread_count; i++)
		p->threads[i].comm = profile_comm(p, p->threads[i].pid);
	return err;
}

static int resolve_all(struct profile *p)
{
	struct profile_private *k = p->priv;
	const char *engine;
	int err = finish_modules(p);

	if (!err)
		err = finish_functions(p, &k->function_of_raw);
	if (!err)
		err = finish_lines(p, k->function_of_raw);
	if (!err && k->groups & PROFILE_MISSING)
		err = profile_name_missing(p);
	if (!err)
		err = finish_frames(p);
	if (!err)
		err = finish_exact(p, k->function_of_raw);
	if (!err)
		err = finish_counters(p);
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

static void drop_scaffold(struct profile_private *k)
{
	free(k->raw_functions);
	free(k->raw_modules);
	free(k->raw_lines);
	free(k->raw_counters);
	free(k->raw_exact);
	k->raw_exact = NULL;
	k->raw_functions = NULL;
	k->raw_modules = NULL;
	k->raw_lines = NULL;
	k->raw_counters = NULL;
	map_release(&k->thread_at);
	index_release(&k->cell_at);
	index_release(&k->wait_at);
	map_release(&k->counter_at);
	map_release(&k->merged);
}

/* What the file's ids stand for. */
static void drop_ids(struct profile_private *k)
{
	map_release(&k->function_at);
	map_release(&k->module_at);
	map_release(&k->comm_at);
	index_release(&k->frame_at);
	free(k->function_of_raw);
	k->function_of_raw = NULL;
}

struct profile *profile_open(const char *path, struct err *e)
{
	struct profile *p = profile_take_shared(path);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (p)
		p->priv = calloc(1, sizeof(*p->priv));
	if (!p || !p->priv) {
		err_set(e, -ENOMEM, "out of memory");
		profile_free(p);
		return NULL;
	}
	p->rate = NAN;
	p->priv->reader = store_open(path, e);
	if (!p->priv->reader) {
		profile_free(p);
		return NULL;
	}
	return p;
}

struct store_reader *profile_reader(const struct profile *p)
{
	return p->priv->reader;
}

int profile_walk(struct profile *p, unsigned groups, const struct section_reader *others, size_t count, struct err *e)
{
	struct section_reader readers[SECTION_READERS] = { SECTION_READER(rows, p) };
	struct profile_private *k = p->priv;
	size_t n = 1;
	int err;

	if (groups & PROFILE_SAMPLES)
		readers[n++] = SECTION_READER(sample_rows, p);
	if (count > SECTION_READERS - n)
		return err_set(e, -EINVAL, "more than %d readers on one walk", SECTION_READERS);
	for (size_t i = 0; i < count; i++)
		readers[n++] = others[i];
	k->groups = groups;
	store_read_ahead(k->reader);
	/* index 0 means "none" among stacks */
	p->stacks = calloc(64, sizeof(*p->stacks));
	k->stack_cap = 64;
	p->stack_count = 1;
	err = p->stacks ? sections_walk(k->reader, readers, n, e) : -ENOMEM;
	if (!err)
		err = resolve_all(p);
	drop_scaffold(k);
	k->read = !err;
	return err;
}

int profile_read(struct profile *p, unsigned groups, const struct section_reader *others, size_t count, struct err *e)
{
	struct profile_private *k = p->priv;
	int err = 0;

	if (!k->read)
		err = profile_walk(p, groups, others, count, e);
	else if (count)
		err = sections_walk(k->reader, others, count, e);
	if (!count)
		drop_ids(k);
	return err;
}

struct profile *profile_load_with(const char *path, unsigned groups, const struct section_reader *others, size_t count,
				  struct err *e)
{
	struct profile *p = profile_open(path, e);
	int err = p ? profile_read(p, groups, others, count, e) : 0;

	if (err) {
		err_set(e, err, "%s: %s", path, err == -ENOMEM ? "out of memory reading the profile" : strerror(-err));
		profile_free(p);
		return NULL;
	}
	return p;
}

struct profile *profile_load(const char *path, struct err *e)
{
	return profile_load_with(path, PROFILE_SAMPLES | PROFILE_MISSING, NULL, 0, e);
}

struct profile *profile_load_as_stored(const char *path, struct err *e)
{
	return profile_load_with(path, PROFILE_SAMPLES, NULL, 0, e);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	if (p->priv) {
		drop_scaffold(p->priv);
		drop_ids(p->priv);
		map_release(&p->priv->counts_at);
		map_release(&p->priv->stack_sparse);
		free(p->priv->stack_dense);
		intern_release(&p->priv->texts);
		store_reader_free(p->priv->reader);
	}
	free(p->priv);
	free(p->functions);
	free(p->lines);
	free(p->frames);
	free(p->modules);
	free(p->stacks);
	free(p->stack_frames);
	free(p->stack_frame_flags);
	free(p->stack_seen);
	free(p->threads);
	free(p->cells);
	free(p->waits);
	free(p->counters);
	free(p->exact);
	free(p);
}

uint64_t profile_counted(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->counter_count; i++)
		if (!strcmp(p->counters[i].name, name))
			return p->counters[i].value;
	return 0;
}

uint64_t profile_lost_besides(const struct profile *p)
{
	static const char *const besides[] = { COUNTER_SIDEBAND_LOST, COUNTER_WAITS_LOST_RING, COUNTER_WAITS_LOST_TABLE,
					       COUNTER_WAITS_CUT };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(besides) / sizeof(besides[0]); i++)
		sum += profile_counted(p, besides[i]);
	return sum;
}

const char *profile_meta(const struct profile *p, const char *key)
{
	return store_meta_get(p->priv->reader, key);
}

enum profile_unit profile_unit(const struct profile *p)
{
	for (enum profile_unit u = PROFILE_TIME; u < PROFILE_UNITS; u++)
		if (p->samples[u])
			return u;
	return PROFILE_TIME;
}

uint32_t profile_counts_frame(const struct profile *p, uint32_t id)
{
	return id ? index_or_zero(&p->priv->counts_at, id) : 0;
}

uint32_t profile_stack_of(const struct profile *p, uint32_t id)
{
	return id ? stack_of(p->priv, id) : 0;
}

uint32_t profile_function_id(const struct profile *p, uint32_t id)
{
	const uint64_t *at = id ? map_get(&p->priv->function_at, id) : NULL;

	return at ? p->priv->function_of_raw[*at] : 0;
}

uint32_t profile_module_of(const struct profile *p, uint32_t id)
{
	return id ? index_or_zero(&p->priv->module_at, id) : 0;
}

const char *profile_comm(const struct profile *p, uint32_t pid)
{
	return text_or(p, index_or_zero(&p->priv->comm_at, pid), NULL);
}

uint32_t profile_symbol_of_frame(const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];

	if (!f->told)
		return 0;
	return f->nameless ? PROFILE_NAMELESS : p->functions[p->lines[f->first + f->count - 1].function].id;
}

/* Frames still lie where the file's ids of their modules put them. */
uint32_t profile_symbol_of(const struct profile *p, uint32_t module_id, uint64_t addr)
{
	struct frame_key key = { addr, profile_module_of(p, module_id) };
	uint32_t at = index_find(&p->priv->frame_at, index_hash(addr, module_id), same_frame, p, &key);

	return at ? profile_symbol_of_frame(p, at) : 0;
}
