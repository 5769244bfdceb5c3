// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a profile into struct flow_input: first by the file's own ids, then resolved. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "flow/input_priv.h"
#include "flow/shared_priv.h"
#include "flow/sysname.h"
#include "volume/block_balance.h"

/* Sites are kept by (address, module, function given) until names are known. 0: out of memory. */
static uint32_t load_site_of(struct raw *r, uint64_t ip, uint32_t module, uint32_t function)
{
	struct site_key k = { .ip = ip, .module = module, .function = function };
	struct raw_met *met = &r->met[(ip ^ ip >> 8) % RAW_MET];

	if (met->id && met->key.ip == ip && met->key.module == module && met->key.function == function)
		return met->id;
	*met = (struct raw_met){ k, intern_add(&r->site_keys, &k, sizeof(k), NULL) };
	if (!met->id)
		err_set(r->e, -ENOMEM, "out of memory");
	return met->id;
}

static bool sane_weight(double w)
{
	return w >= 0 && w < 1e18;
}

static int convert_access(struct raw *r, const struct fmt_access *a, struct in_access *out)
{
	uint32_t site = load_site_of(r, a->ip, a->module, a->function);

	if (!site)
		return r->e->code;
	*out = (struct in_access){
		/* no sum of an address and a size may wrap later on */
		.time = a->time,
		.addr = a->addr < LAST_ADDR ? a->addr : LAST_ADDR,
		.weight = sane_weight(a->weight) ? a->weight : 0,
		.site = site - 1,
		.tid = a->tid,
		.pid = a->pid,
		.stack = a->stack,
		.size = a->size > 1u << 20 ? 1u << 20 : a->size,
		.flags = a->flags & ~IN_A_UNSAMPLED,
	};
	return 0;
}

static int take_access_record(void *ctx, const void *rec, size_t size)
{
	struct raw *r = ctx;
	const struct fmt_access *a = rec;
	struct flow_input *in = r->in;
	struct in_access x;
	int err;

	err = convert_access(r, a, &x);
	if (err)
		return err;
	if (a->flags & FMT_A_NO_ADDR)
		return INPUT_PUSH(r, in->blind, in->blind_count, in->blind_cap, x);
	if (!(a->flags & FMT_A_CENSUS)) {
		r->first_time = a->time < r->first_time ? a->time : r->first_time;
		r->last_time = a->time > r->last_time ? a->time : r->last_time;
	}
	if (r->o.locals && a->frame && a->stack && (a->flags & FMT_A_STACK)) {
		struct raw_local l = { .access = (uint32_t)in->access_count,
				       .frame = a->frame,
				       .offset = a->frame_offset };

		err = INPUT_PUSH(r, r->local, r->local_count, r->local_cap, l);
		if (err)
			return err;
	}
	return INPUT_PUSH(r, in->access, in->access_count, in->access_cap, x);
}

static int take_watch_window(void *ctx, const void *record, size_t size)
{
	struct raw *r = ctx;
	const uint8_t *rec = record;
	struct flow_input *in = r->in;
	struct fmt_window w;
	struct fmt_access arm = { 0 };
	struct in_window out;
	size_t hits;
	int err;

	if (size < sizeof(w))
		return 0;
	memcpy(&w, rec, sizeof(w));
	hits = (size - sizeof(w)) / sizeof(struct fmt_hit);
	if (hits > w.count)
		hits = w.count;
	out = (struct in_window){ .armed = w.armed,
				  .ended = w.ended,
				  .addr = w.addr,
				  .len = w.len,
				  .end_reason = w.end_reason,
				  .write_only_after = w.write_only_after,
				  .first = in->hit_count };
	memcpy(&arm, &w.arm, sizeof(w.arm));
	err = convert_access(r, &arm, &out.arm);
	for (size_t i = 0; !err && i < hits; i++) {
		struct fmt_hit h;
		uint32_t site;

		memcpy(&h, rec + sizeof(w) + i * sizeof(h), sizeof(h));
		site = load_site_of(r, h.ip, h.module, h.function);
		if (!site)
			return r->e->code;
		err = INPUT_PUSH(r, in->hit, in->hit_count, in->hit_cap,
				 ((struct in_hit){ .time = h.time,
						   .site = site - 1,
						   .tid = h.tid,
						   .flags = h.flags,
						   .syscall = h.syscall,
						   .func = h.stack }));
		out.count++;
	}
	return err ? err : INPUT_PUSH(r, in->window, in->window_count, in->window_cap, out);
}

static int take_window_calls(void *ctx, const void *record, size_t size)
{
	struct raw *r = ctx;
	const uint8_t *rec = record;
	struct fmt_window_calls w;
	struct raw_calls out;
	size_t n;
	int err = 0;

	if (size < sizeof(w))
		return 0;
	memcpy(&w, rec, sizeof(w));
	n = (size - sizeof(w)) / sizeof(uint64_t);
	out = (struct raw_calls){ .armed = w.armed,
				  .addr = w.addr,
				  .arm = w.arm,
				  .first = r->invocation_count,
				  .count = w.count < n ? w.count : (uint32_t)n };
	for (uint32_t i = 0; !err && i < out.count; i++) {
		uint64_t v;

		memcpy(&v, rec + sizeof(w) + i * sizeof(v), sizeof(v));
		err = INPUT_PUSH(r, r->invocation, r->invocation_count, r->invocation_cap, v);
	}
	return err ? err : INPUT_PUSH(r, r->calls, r->calls_count, r->calls_cap, out);
}

/* Both kinds of record in whatever order they came. */
static int join_calls(struct raw *r)
{
	struct flow_input *in = r->in;
	struct intern keys = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < r->calls_count; i++) {
		const uint64_t key[2] = { r->calls[i].armed, r->calls[i].addr };

		if (intern_add(&keys, key, sizeof(key), NULL) != i + 1)
			err = -EINVAL; /* two of one window, or no memory: nothing certain can be said */
	}
	for (size_t i = 0; !err && r->calls_count && i < in->window_count; i++) {
		const uint64_t key[2] = { in->window[i].armed, in->window[i].addr };
		uint32_t id = intern_add(&keys, key, sizeof(key), NULL);

		if (!id || id > r->calls_count)
			continue;
		for (uint32_t k = 0; k < in->window[i].count && k < r->calls[id - 1].count; k++)
			in->hit[in->window[i].first + k].invocation = r->invocation[r->calls[id - 1].first + k];
		in->window[i].arm_invocation = r->calls[id - 1].arm;
		in->has_invocations = true;
	}
	intern_release(&keys);
	return 0;
}

static int take_sysio_record(void *ctx, const void *rec, size_t size)
{
	struct raw *r = ctx;
	const struct fmt_sysio *s = rec;

	return INPUT_PUSH(r, r->in->sysio, r->in->sysio_count, r->in->sysio_cap,
			  ((struct in_sysio){ .time = s->time,
					      .addr = s->addr,
					      .len = s->len,
					      .weight = sane_weight(s->weight) ? s->weight : 1,
					      .pid = s->pid,
					      .tid = s->tid,
					      .func = (uint32_t)s->nr,
					      .dir = s->dir,
					      .measure = s->flags & FMT_IO_READ      ? CALLS_READ
							 : s->flags & FMT_IO_WRITTEN ? CALLS_WRITTEN
										     : CALLS_TIME,
					      .stack = s->flags & FMT_IO_STACK }));
}

static int take_call_stretch(void *ctx, const void *rec, size_t size)
{
	return input_call_stretch(ctx, rec);
}

static int take_x_run(void *ctx, const void *rec, size_t size)
{
	struct flow_input *in = ((struct raw *)ctx)->in;

	memcpy(&in->x_run, rec, sizeof(in->x_run));
	in->has_x = true;
	return 0;
}

/* What the profile says of the whole recording. */
static void take_profile(struct flow_input *in, const struct profile *p)
{
	if (p->has_end) {
		in->duration_ns = p->end.duration_ns ? (double)p->end.duration_ns : NAN;
		in->began_ns = p->end.duration_ns && p->end.time > p->end.duration_ns
				       ? (double)(p->end.time - p->end.duration_ns)
				       : NAN;
	}
	in->lost = p->lost_known ? (double)p->lost : NAN;
}

/* Sections that are kept as they are. */
#define KEEP(name, type, array)                                                                                        \
	static int name(void *ctx, const void *rec, size_t size)                                                       \
	{                                                                                                              \
		struct raw *r = ctx;                                                                                   \
                                                                                                                       \
		return INPUT_PUSH(r, array, array##_count, array##_cap, *(const type *)rec);                           \
	}

KEEP(take_mapping, struct fmt_mapping, r->mapping)
KEEP(take_object, struct fmt_object, r->object)
KEEP(take_heap_turn, struct fmt_heap_turn, r->heap.turn)
KEEP(take_heap_block, struct fmt_heap_block, r->heap.block)
KEEP(take_heap_freed, struct fmt_heap_freed, r->heap.freed)
KEEP(take_x_func, struct fmt_x_func, r->in->x_func)
KEEP(take_x_edge, struct fmt_x_edge, r->in->x_edge)
KEEP(take_x_slice, struct fmt_x_slice, r->in->x_slice)
KEEP(take_x_subtree, struct fmt_x_subtree, r->in->x_subtree)
KEEP(take_x_subtree_ke, struct fmt_x_subtree_ke, r->in->x_subtree_ke)
KEEP(take_x_path, struct fmt_x_path, r->in->x_path)
KEEP(take_x_path_edge, struct fmt_x_path_edge, r->in->x_path_edge)
KEEP(take_x_use, struct fmt_x_use, r->in->x_use)
KEEP(take_x_object, struct fmt_x_object, r->in->x_object)
KEEP(take_x_reach, struct fmt_x_reach, r->in->x_reach)
KEEP(take_x_extent, struct fmt_x_extent, r->in->x_extent)
KEEP(take_x_map, struct fmt_x_map, r->in->x_map)

static const struct section_row rows[] = {
	{ FMT_ACCESS, sizeof(struct fmt_access), take_access_record, NULL },
	{ FMT_WINDOW, 0, take_watch_window, NULL },
	{ FMT_WINDOW_CALLS, 0, take_window_calls, NULL },
	{ FMT_MAPPING, sizeof(struct fmt_mapping), take_mapping, NULL },
	{ FMT_OBJECT, sizeof(struct fmt_object), take_object, NULL },
	{ FMT_HEAP_TURN, sizeof(struct fmt_heap_turn), take_heap_turn, NULL },
	{ FMT_HEAP_BLOCK, sizeof(struct fmt_heap_block), take_heap_block, NULL },
	{ FMT_HEAP_FREED, sizeof(struct fmt_heap_freed), take_heap_freed, NULL },
	{ FMT_SYSIO, sizeof(struct fmt_sysio), take_sysio_record, NULL },
	{ FMT_SYSIO_STRETCH, sizeof(struct fmt_sysio_stretch), take_call_stretch, NULL },
	{ FMT_X_RUN, sizeof(struct fmt_x_run), take_x_run, NULL },
	{ FMT_X_FUNC, sizeof(struct fmt_x_func), take_x_func, NULL },
	{ FMT_X_EDGE, sizeof(struct fmt_x_edge), take_x_edge, NULL },
	{ FMT_X_SLICE, sizeof(struct fmt_x_slice), take_x_slice, NULL },
	{ FMT_X_SUBTREE, sizeof(struct fmt_x_subtree), take_x_subtree, NULL },
	{ FMT_X_SUBTREE_KE, sizeof(struct fmt_x_subtree_ke), take_x_subtree_ke, NULL },
	{ FMT_X_PATH, sizeof(struct fmt_x_path), take_x_path, NULL },
	{ FMT_X_PATH_EDGE, sizeof(struct fmt_x_path_edge), take_x_path_edge, NULL },
	{ FMT_X_USE, sizeof(struct fmt_x_use), take_x_use, NULL },
	{ FMT_X_OBJECT, sizeof(struct fmt_x_object), take_x_object, NULL },
	{ FMT_X_REACH, sizeof(struct fmt_x_reach), take_x_reach, NULL },
	{ FMT_X_EXTENT, sizeof(struct fmt_x_extent), take_x_extent, NULL },
	{ FMT_X_MAP, sizeof(struct fmt_x_map), take_x_map, NULL },
};

/* The samples of each stack; all of its threads, or those asked for. */
static int fold_cells(struct raw *r)
{
	const struct profile *p = r->p;
	size_t n = 0;

	r->cell = calloc(p->stack_count, sizeof(*r->cell));
	if (!r->cell)
		return err_set(r->e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->cell_count; i++) {
		const struct profile_cell *c = &p->cells[i];
		const struct profile_thread *t = &p->threads[c->thread];
		struct sampled_stack *out = &r->cell[p->stack_seen[c->stack] - 1];

		if (!input_wants(r, t->pid, t->tid))
			continue;
		out->stack = c->stack;
		out->ns += c->weight[PROFILE_TIME];
		out->instructions += c->weight[PROFILE_INSTRUCTIONS];
		out->samples += c->samples[PROFILE_TIME] + c->samples[PROFILE_INSTRUCTIONS];
	}
	for (size_t i = 0; i < p->stack_count; i++)
		if (r->cell[i].samples)
			r->cell[n++] = r->cell[i];
	r->cell_count = n;
	return 0;
}

static void raw_release(struct raw *r)
{
	raw_close_modules(r);
	intern_release(&r->site_keys);
	free(r->resolved);
	free(r->main_func);
	free(r->frame_func);
	free(r->mapping);
	free(r->object);
	heap_raw_release(&r->heap);
	free(r->cell);
	counts_record_release(&r->counts);
	input_burst_release(r);
	input_earlier_release(r);
	free(r->local);
	input_locals_release(r);
	free(r->calls);
	free(r->invocation);
}

static void describe_recording(struct raw *r)
{
	struct flow_input *in = r->in;
	const char *engine = store_meta_get(in->reader, "engine"), *cmd = store_meta_get(in->reader, "command");
	const char *started = store_meta_get(in->reader, "from_start");
	const char *census = store_meta_get(in->reader, "census_limit");

	in->engine = engine && !strcmp(engine, "exact") ? FLOW_EXACT
		     : engine && !strcmp(engine, "pmu") ? FLOW_PMU
							: FLOW_SOFT;
	in->recorded_main = in->has_x ? in->x_run.has & FMT_X_ATTR_MAIN : false;
	in->time_unit_instructions = in->engine == FLOW_EXACT;
	in->incomplete = in->has_x && (in->x_run.has & FMT_X_INCOMPLETE);
	in->census_limit = census ? strtoull(census, NULL, 10) : 0;
	in->from_start = in->engine == FLOW_EXACT ? !(in->x_run.has & FMT_X_WINDOW) : started && !strcmp(started, "1");
	if (isnan(in->duration_ns) && in->engine != FLOW_EXACT && r->last_time > r->first_time)
		in->duration_ns = (double)(r->last_time - r->first_time);
	snprintf(in->command, sizeof(in->command), "%s", cmd ? cmd : "");
}

/* Functions that only their code tells of have no time. */
static int times_of_later(struct raw *r, uint32_t known)
{
	struct flow_input *in = r->in;
	uint32_t cap = known;

	return GROW_ZEROED(in->times, (size_t)in->func_count + 1, cap, 64) ? 0
									   : err_set(r->e, -ENOMEM, "out of memory");
}

struct raw *flow_input_begin(struct flow_input *in, struct profile *p, const struct flow_input_opts *o,
			     struct section_reader *readers, struct err *e)
{
	struct raw *r = calloc(1, sizeof(*r));

	*in = (struct flow_input){ .began_ns = NAN,
				   .duration_ns = NAN,
				   .lost = NAN,
				   .kept = { 1, 1, 1 },
				   .reader = profile_reader(p),
				   .profile = p };
	if (!r) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	*r = (struct raw){ .in = in, .p = p, .e = e, .first_time = UINT64_MAX };
	r->shared = flow_take_shared(p, o ? o : &r->o, in);
	if (r->shared) {
		memset(readers, 0, FLOW_INPUT_READERS * sizeof(*readers));
		return r;
	}
	if (o)
		r->o = *o;
	in->main_image = r->o.main_image;
	readers[0] = SECTION_READER(rows, r);
	readers[1] = counts_record_reader(&r->counts, e);
	readers[2] = input_burst_reader(r);
	readers[3] = flow_cache_reader(&in->cache, in->reader, e);
	for (unsigned i = 0; i < FLOW_INPUT_READERS; i++)
		readers[i].failed = &r->failed;
	return r;
}

/* System calls are known by what they read and write, too: as the function of which a flow says so. */
static uint32_t system_call_function(const struct flow_input *in, uint64_t number)
{
	char name[64];

	kernel_name(number == FMT_KERNEL_OTHER ? -1 : (int)number, name, sizeof(name));
	for (uint32_t f = 0; f < in->func_count; f++)
		if (in->funcs[f].name[0] == '(' && !strcmp(in->funcs[f].name, name))
			return f + 1;
	return 0;
}

/* System calls are known by their frames. */
static void join_system_calls(struct raw *r)
{
	const struct profile *p = r->p;

	for (size_t i = 1; i < p->frame_count; i++) {
		const struct profile_frame *f = &p->frames[i];

		if (p->modules[f->module].kind == FMT_MOD_KERNEL)
			r->in->func_of[p->lines[f->first + f->count - 1].function] =
				system_call_function(r->in, f->addr);
	}
}

uint32_t *flow_input_join(const struct flow_input *in, const struct flow *f, size_t count)
{
	uint32_t *of = malloc((count + 1) * sizeof(*of));
	struct flow_names names;

	flow_names_index(&names, f);
	for (size_t i = 0; of && i < count; i++) {
		const struct in_func *fn = in->func_of[i] ? &in->funcs[in->func_of[i] - 1] : NULL;

		of[i] = fn ? flow_names_find(&names, fn->name, fn->object) : FLOW_NONE;
	}
	flow_names_release(&names);
	return of;
}

/* No estimator says a word of bytes then, and a report that asks just in case should not wait. */
static bool only_time(const struct raw *r)
{
	const struct flow_input *in = r->in;

	return !r->p->accesses && !r->p->has_edges && !in->access_count && !in->blind_count && !in->window_count &&
	       !in->sysio_count && !in->calls.count && !in->burst_count && !r->bursts.sites && !r->counts.funcs &&
	       !in->has_x;
}

static int resolve_input(struct raw *r)
{
	uint32_t known;
	int err;

	take_profile(r->in, r->p);
	describe_recording(r);
	err = join_calls(r);
	input_leave_out(r);
	r->in->func_of = calloc(r->p->function_count, sizeof(*r->in->func_of));
	r->main_func = calloc(r->p->stack_count, sizeof(*r->main_func));
	r->frame_func = calloc(r->p->frame_count + 1, sizeof(*r->frame_func));
	if (!r->in->func_of || !r->main_func || !r->frame_func)
		return err_set(r->e, -ENOMEM, "out of memory");
	if (!err && r->o.bytes && only_time(r))
		return 0;
	if (!err)
		err = fold_cells(r);
	if (!err)
		err = input_runs(r);
	if (!err)
		err = input_resolve(r);
	if (!err)
		err = input_calls(r);
	known = r->in->func_count;
	if (!err)
		err = input_counts(r);
	if (!err)
		err = times_of_later(r, known);
	if (!err) {
		join_system_calls(r);
		input_one_scale(r->in);
	}
	return err ? err : input_regions(r);
}

int flow_input_end(struct raw *r, int err)
{
	struct flow_input *in = r->in;

	err = err ? err : r->failed;
	if (!err && !r->shared)
		err = resolve_input(r);
	if (!err && !r->shared) {
		flow_cache_end(&in->cache);
		store_recovery_text(in->reader, in->missing, sizeof(in->missing));
	}
	raw_release(r);
	free(r);
	if (err)
		flow_input_release(in);
	return err;
}

int flow_input_load(struct flow_input *in, const char *path, const struct flow_input_opts *o, struct err *e)
{
	struct section_reader readers[FLOW_INPUT_READERS];
	struct err local = { 0 };
	struct profile *p = profile_open(path, e ? e : &local);
	struct raw *r = NULL;
	int err;

	*in = (struct flow_input){ .began_ns = NAN, .duration_ns = NAN, .lost = NAN, .kept = { 1, 1, 1 } };
	e = e ? e : &local;
	if (p)
		r = flow_input_begin(in, p, o, readers, e);
	if (!r) {
		profile_free(p);
		return e->code ? e->code : -EINVAL;
	}
	in->owned = p;
	err = profile_read(p, FLOW_INPUT_GROUPS, readers, FLOW_INPUT_READERS, e);
	if (err && !e->code)
		err_set(e, err, "%s: %s", path, err == -ENOMEM ? "out of memory" : strerror(-err));
	return flow_input_end(r, err);
}

struct profile *flow_input_and_profile(struct flow_input *in, const char *path, const struct flow_input_opts *o,
				       struct err *why, struct err *e)
{
	struct section_reader readers[FLOW_INPUT_READERS];
	struct profile *p = profile_open(path, e);
	struct raw *r = p ? flow_input_begin(in, p, o, readers, why) : NULL;
	int err;

	if (!p)
		return NULL;
	err = profile_read(p, FLOW_INPUT_GROUPS, readers, r ? FLOW_INPUT_READERS : 0, e);
	if (r && flow_input_end(r, err) && !why->code)
		err_set(why, -ENOMEM, "out of memory");
	if (!err)
		return p;
	err_set(e, err, "%s: %s", path, err == -ENOMEM ? "out of memory reading the profile" : strerror(-err));
	flow_input_release(in);
	profile_free(p);
	return NULL;
}

void flow_input_release(struct flow_input *in)
{
	if (!in)
		return;
	free(in->funcs);
	intern_release(&in->func_names);
	free(in->sites);
	intern_release(&in->site_keys);
	intern_release(&in->texts);
	free(in->access);
	free(in->blind);
	free(in->window);
	free(in->hit);
	free(in->sysio);
	call_stretches_release(&in->calls);
	free(in->burst_site);
	free(in->burst_pair);
	free(in->earlier_site);
	free(in->earlier_pair);
	free(in->burst);
	free(in->burst_item);
	free(in->revisit);
	input_parts_release(&in->parts);
	free(in->region);
	free(in->object);
	free(in->object_site);
	heap_release(&in->heap);
	free(in->times);
	free(in->counted);
	counts_built_free(in->solved);
	free(in->stack);
	free(in->stack_func);
	free(in->x_func);
	free(in->x_edge);
	free(in->x_slice);
	free(in->x_subtree);
	free(in->x_subtree_ke);
	free(in->x_path);
	free(in->x_path_edge);
	free(in->x_use);
	free(in->x_object);
	free(in->x_reach);
	free(in->x_extent);
	free(in->x_map);
	free(in->build_ids);
	free(in->func_of);
	flow_ready_release(in);
	flow_cache_release(&in->cache);
	profile_free(in->owned);
	memset(in, 0, sizeof(*in));
}
