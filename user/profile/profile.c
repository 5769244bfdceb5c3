// SPDX-License-Identifier: GPL-2.0-or-later
/* cycle: the walk hands waits, names and shared parts to their files, which ask this one for ids and for room. */
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

static bool is_dense(const struct profile *p, uint32_t id)
{
	return id < 2 * p->stack_count + DENSE_SLACK;
}

static int note_stack(struct profile *p, uint32_t id, uint32_t stack)
{
	struct profile_private *k = p->priv;

	if (is_dense(p, id) && !GROW_ZEROED(k->stack_dense, (size_t)id + 1, k->stack_dense_cap, 1024))
		return -ENOMEM;
	if (id >= k->stack_dense_cap)
		return set_index(&k->stack_sparse, id, stack);
	k->stack_dense[id] = stack;
	return 0;
}

/* Room for the frames of one more stack, which are many. */
static uint32_t *more_frames(struct profile *p, size_t n)
{
	struct profile_private *k = p->priv;

	if (!GROW_TO(p->stack_frames, p->stack_frame_count + n + 1, k->stack_frame_cap, 1024))
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
		if (f.flags && k->groups & PROFILE_ORDER) {
			if (!GROW_ZEROED(p->stack_frame_flags, p->stack_frame_count + i + 1, p->stack_flag_cap, 1024))
				return -ENOMEM;
			p->stack_frame_flags[p->stack_frame_count + i] = (uint8_t)f.flags;
		}
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

static uint64_t hash_thread(const void *profile, uint32_t number)
{
	const struct profile_thread *t = &((const struct profile *)profile)->threads[number - 1];

	return index_hash(t->pid, t->tid);
}

static bool same_thread(const void *profile, uint32_t number, const void *key)
{
	const struct profile_thread *t = &((const struct profile *)profile)->threads[number - 1], *k = key;

	return t->tid == k->tid && t->pid == k->pid;
}

static inline bool is_last_thread(const struct profile *p, uint32_t pid, uint32_t tid)
{
	const struct profile_thread *t = p->thread_count ? &p->threads[p->priv->last_thread] : NULL;

	return t && t->tid == tid && t->pid == pid;
}

/* Its number becomes k->last_thread. */
static int find_thread(struct profile *p, uint32_t pid, uint32_t tid)
{
	struct profile_private *k = p->priv;
	const struct profile_thread key = { .pid = pid, .tid = tid };
	uint32_t *slot = index_slot(&k->thread_at, index_hash(pid, tid), same_thread, hash_thread, p, &key);

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		if (!PUSH(p->threads, p->thread_count, k->thread_cap, 64, key))
			return -ENOMEM;
		k->thread_at.used++;
		*slot = (uint32_t)p->thread_count;
	}
	k->last_thread = *slot - 1;
	return 0;
}

/* Of a stack of the last thread, from 1, added when new; 0: out of memory. The stack's own definition may still be to
 * come: its id is kept for now. The cell that had a stack first lies in an array, the further threads' in the index. */
static uint32_t find_cell(struct profile *p, uint32_t stack)
{
	struct profile_private *k = p->priv;
	const struct profile_cell key = { .stack = stack, .thread = k->last_thread };
	uint64_t hash = index_hash(key.thread, key.stack);
	uint32_t at = index_find(&k->cell_at, hash, same_cell, p, &key), *slot;

	if (at)
		return at;
	if (is_dense(p, stack) && !GROW_ZEROED(k->first_cell, (size_t)stack + 1, k->first_cell_cap, 1024))
		return 0;
	if (stack < k->first_cell_cap && !k->first_cell[stack]) {
		slot = &k->first_cell[stack];
	} else {
		slot = index_slot(&k->cell_at, hash, same_cell, hash_cell, p, &key);
		k->cell_at.used++;
	}
	if (!slot || !PUSH(p->cells, p->cell_count, k->cell_cap, 64, key))
		return 0;
	return *slot = (uint32_t)p->cell_count;
}

static int take_weighed(struct profile *p, const struct fmt_sample *s, enum profile_unit unit, double weight)
{
	struct profile_private *k = p->priv;
	struct profile_cell *cell;
	uint32_t at;

	if (!is_last_thread(p, s->pid, s->tid) && find_thread(p, s->pid, s->tid))
		return -ENOMEM;
	at = s->stack < k->first_cell_cap ? k->first_cell[s->stack] : 0;
	if (!at || p->cells[at - 1].thread != k->last_thread)
		at = find_cell(p, s->stack);
	if (!at)
		return -ENOMEM;
	cell = &p->cells[at - 1];
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

static int take_process_place(void *ctx, const void *rec, size_t size)
{
	struct profile *p = ctx;
	const struct fmt_place *r = rec;
	uint32_t at = intern_add(&p->priv->places, &r->unit, sizeof(*r) - offsetof(struct fmt_place, unit), NULL);

	return at ? set_index(&p->priv->place_at, r->pid, at) : -ENOMEM;
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
	{ FMT_PLACE, sizeof(struct fmt_place), take_process_place, NULL },
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
	index_release(&k->thread_at);
	free(k->first_cell);
	k->first_cell = NULL;
	k->first_cell_cap = 0;
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
	map_release(&k->place_at);
	intern_release(&k->places);
	index_release(&k->frame_at);
	free(k->function_of_raw);
	k->function_of_raw = NULL;
}

void profile_drop_as_read(struct profile_private *k)
{
	free(k->as_read.frames);
	free(k->as_read.cells);
	free(k->as_read.waits);
	memset(&k->as_read, 0, sizeof(k->as_read));
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

int profile_take_all(struct profile *p, unsigned groups, const struct section_reader *others, size_t count,
		     struct err *e)
{
	struct section_reader readers[SECTION_READERS] = { SECTION_READER(rows, p) };
	struct profile_private *k = p->priv;
	size_t n = 1;

	if (groups & PROFILE_SAMPLES)
		readers[n++] = SECTION_READER(sample_rows, p);
	if (count > SECTION_READERS - n)
		return err_set(e, -EINVAL, "more than %d readers on one walk", SECTION_READERS);
	for (size_t i = 0; i < count; i++)
		readers[n++] = others[i];
	k->groups = groups;
	/* index 0 means "none" among stacks */
	if (!GROW_ZEROED(p->stacks, 1, k->stack_cap, 64))
		return -ENOMEM;
	p->stack_count = p->stack_count ? p->stack_count : 1;
	return sections_walk(k->reader, readers, n, e);
}

int profile_walk(struct profile *p, unsigned groups, const struct section_reader *others, size_t count, struct err *e)
{
	int err;

	store_read_ahead(p->priv->reader);
	err = profile_take_all(p, groups, others, count, e);
	if (!err)
		err = profile_finish(p);
	drop_scaffold(p->priv);
	p->priv->read = !err;
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
		profile_drop_as_read(p->priv);
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
	free(p->places);
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
	return id ? profile_index(&p->priv->counts_at, id) : 0;
}

uint32_t profile_stack_of(const struct profile *p, uint32_t id)
{
	return id ? profile_stack_at(p->priv, id) : 0;
}

uint32_t profile_function_id(const struct profile *p, uint32_t id)
{
	const uint64_t *at = id ? map_get(&p->priv->function_at, id) : NULL;

	return at ? p->priv->function_of_raw[*at] : 0;
}

uint32_t profile_module_of(const struct profile *p, uint32_t id)
{
	return id ? profile_index(&p->priv->module_at, id) : 0;
}

const char *profile_comm(const struct profile *p, uint32_t pid)
{
	return profile_text(p, profile_index(&p->priv->comm_at, pid), NULL);
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
