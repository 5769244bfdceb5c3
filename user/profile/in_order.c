// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/in_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/walk.h"
#include "util/grow.h"
#include "util/map.h"

struct collector {
	struct in_order *o;
	struct profile *p;
	struct map thread_at; /* pid << 32 | tid -> index */
	struct map api_at;    /* the file's id -> index: the last definition wins */
	size_t thread_cap, sample_cap, call_cap, api_cap;
	uint8_t *units; /* enum profile_unit of each sample, until the profile's own is known */
	size_t unit_cap;
};

static int64_t thread_index(struct collector *c, uint32_t pid, uint32_t tid)
{
	struct in_order *o = c->o;
	bool added;
	uint64_t *at = map_put(&c->thread_at, (uint64_t)pid << 32 | tid, &added);

	if (!at)
		return -ENOMEM;
	if (added) {
		if (!GROW(o->threads, o->thread_count, c->thread_cap, 16))
			return -ENOMEM;
		*at = o->thread_count;
		o->threads[o->thread_count++] = (struct ordered_thread){ .pid = pid, .tid = tid };
	}
	return (int64_t)*at;
}

static int keep_time_sample(struct collector *c, const struct fmt_sample *s, enum profile_unit unit)
{
	struct in_order *o = c->o;
	int64_t thread = thread_index(c, s->pid, s->tid);

	if (thread < 0)
		return (int)thread;
	if (!GROW(o->samples, o->sample_count, c->sample_cap, 1024) ||
	    !GROW(c->units, o->sample_count, c->unit_cap, 1024))
		return -ENOMEM;
	c->units[o->sample_count] = (uint8_t)unit;
	o->samples[o->sample_count++] = (struct ordered_sample){
		.time = s->time, .period = s->period, .thread = (uint32_t)thread, .stack = s->stack
	};
	return 0;
}

static int take_ordered_sample(void *ctx, const void *rec, size_t size)
{
	const struct fmt_sample *s = rec;

	return keep_time_sample(ctx, s, s->flags & FMT_S_INSTRUCTIONS ? PROFILE_INSTRUCTIONS : PROFILE_TIME);
}

static int take_call_record(void *ctx, const void *rec, size_t size)
{
	struct collector *c = ctx;
	struct in_order *o = c->o;
	const struct fmt_call *call = rec;
	int64_t thread = thread_index(c, call->pid, call->tid);
	uint64_t end = call->flags & FMT_CALL_ASYNC ? call->complete : call->returned;

	if (call->flags & FMT_CALL_ENTERED || (call->flags & FMT_CALL_ASYNC && call->flags & FMT_CALL_OPEN))
		end = 0;
	if (thread < 0)
		return (int)thread;
	if (!GROW(o->calls, o->call_count, c->call_cap, 256))
		return -ENOMEM;
	o->calls[o->call_count++] = (struct ordered_call){ .begin = call->submit,
							   .end = end < call->submit ? 0 : end,
							   .bytes_in = call->bytes_in,
							   .bytes_out = call->bytes_out,
							   .weight = call->weight,
							   .thread = (uint32_t)thread,
							   .api = call->api,
							   .flags = call->flags };
	return 0;
}

static int take_api_record(void *ctx, const void *rec, size_t size)
{
	struct collector *c = ctx;
	struct in_order *o = c->o;
	const struct fmt_offload_api *a = rec;
	bool added;
	uint64_t *at = map_put(&c->api_at, a->id, &added);

	if (at && !added) /* it tells that the library was mapped, and nothing else */
		return 0;
	if (!at || !GROW(o->apis, o->api_count, c->api_cap, 16))
		return -ENOMEM;
	*at = o->api_count;
	o->apis[o->api_count++] = (struct ordered_api){ .name_id = a->name, .library_id = a->library };
	return 0;
}

static const struct section_row rows[] = {
	{ FMT_SAMPLE, sizeof(struct fmt_sample), take_ordered_sample, NULL },
	{ FMT_CALL, sizeof(struct fmt_call), take_call_record, NULL },
	{ FMT_OFFLOAD_API, sizeof(struct fmt_offload_api), take_api_record, NULL },
};

/* Samples of another unit go, and ids of the file become indexes. */
static void keep_one_unit(struct collector *c)
{
	struct in_order *o = c->o;
	enum profile_unit unit = profile_unit(c->p);
	size_t n = 0;

	for (size_t i = 0; i < o->sample_count; i++) {
		if (c->units[i] != unit)
			continue;
		o->samples[n] = o->samples[i];
		o->samples[n].stack = o->samples[i].stack ? profile_stack_of(c->p, o->samples[i].stack) : 0;
		n++;
	}
	o->sample_count = n;
}

static void resolve_apis(struct collector *c)
{
	struct in_order *o = c->o;
	const struct store_reader *r = profile_reader(c->p);

	for (size_t i = 1; i < o->api_count; i++) {
		o->apis[i].name = store_str(r, o->apis[i].name_id);
		o->apis[i].library = store_str(r, o->apis[i].library_id);
		if (!o->apis[i].name)
			o->apis[i].name = o->apis[0].name;
	}
	for (size_t i = 0; i < o->call_count; i++) {
		const uint64_t *at = map_get(&c->api_at, o->calls[i].api);

		o->calls[i].api = at ? (uint32_t)*at : 0;
	}
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_thread_and_time(const void *a, const void *b)
{
	const struct ordered_sample *x = a, *y = b;

	return x->thread != y->thread ? ORDER(x->thread, y->thread)
	       : x->time != y->time   ? ORDER(x->time, y->time)
				      : ORDER(x->stack, y->stack);
}

static int by_thread_and_begin(const void *a, const void *b)
{
	const struct ordered_call *x = a, *y = b;

	/* of calls that begin together the longer one is the outer one */
	return x->thread != y->thread ? ORDER(x->thread, y->thread)
	       : x->begin != y->begin ? ORDER(x->begin, y->begin)
				      : ORDER(y->end, x->end);
}

static void resolve_threads(struct collector *c)
{
	struct in_order *o = c->o;

	if (o->sample_count)
		qsort(o->samples, o->sample_count, sizeof(*o->samples), by_thread_and_time);
	if (o->call_count)
		qsort(o->calls, o->call_count, sizeof(*o->calls), by_thread_and_begin);
	for (size_t i = o->sample_count; i-- > 0;) {
		o->threads[o->samples[i].thread].first_sample = i;
		o->threads[o->samples[i].thread].sample_count++;
	}
	for (size_t i = o->call_count; i-- > 0;) {
		o->threads[o->calls[i].thread].first_call = i;
		o->threads[o->calls[i].thread].call_count++;
	}
	for (size_t i = 0; i < c->p->thread_count; i++) {
		const struct profile_thread *t = &c->p->threads[i];
		const uint64_t *at = map_get(&c->thread_at, (uint64_t)t->pid << 32 | t->tid);

		if (at)
			o->threads[*at].comm = t->comm;
	}
}

static struct profile *load_both(const char *path, unsigned groups, struct in_order *o, struct err *e)
{
	struct collector c = { .o = o };
	struct section_reader reader = SECTION_READER(rows, &c);

	*o = (struct in_order){ 0 };
	if (!GROW(o->apis, o->api_count, c.api_cap, 16)) {
		err_set(e, -ENOMEM, "%s: out of memory reading the profile", path);
		return NULL;
	}
	o->apis[o->api_count++] = (struct ordered_api){ .name = "(unknown)" };
	c.p = profile_load_with(path, groups, &reader, 1, e);
	if (c.p) {
		keep_one_unit(&c);
		resolve_apis(&c);
		resolve_threads(&c);
	}
	map_release(&c.thread_at);
	map_release(&c.api_at);
	free(c.units);
	return c.p;
}

struct profile *in_order_load(const char *path, struct in_order *o, struct err *e)
{
	return load_both(path, PROFILE_SAMPLES | PROFILE_MISSING, o, e);
}

struct profile *in_order_load_as_stored(const char *path, struct in_order *o, struct err *e)
{
	return load_both(path, PROFILE_SAMPLES, o, e);
}

void in_order_release(struct in_order *o)
{
	free(o->threads);
	free(o->samples);
	free(o->calls);
	free(o->apis);
	*o = (struct in_order){ 0 };
}
