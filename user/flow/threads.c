// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"
#include "flow/shared_priv.h"
#include "flow/sharing.h"
#include "util/grow.h"

struct renaming {
	struct flow_input *in;
	struct flow_threads *out;
	struct map thread_at; /* pid << 32 | tid -> index of out->thread */
	size_t thread_cap;
	uint32_t *func; /* by thread: function of the input that stands for it */
	size_t func_cap;
	struct intern keys; /* new sites: struct site_of */
	struct in_site *site;
	uint32_t site_count;
	size_t site_cap;
};

struct site_of {
	uint64_t ip;
	uint32_t module, func;
};

static uint32_t renamed_thread(struct renaming *r, uint32_t pid, uint32_t tid)
{
	bool added;
	struct flow_threads *t = r->out;
	uint64_t *at;

	if (!tid) /* inferred, not seen: of no thread in particular */
		return r->in->unknown;
	at = map_put(&r->thread_at, (uint64_t)pid << 32 | tid, &added);
	if (!at)
		return FLOW_NONE;
	if (added) {
		char name[32], object[32];

		if (!GROW(t->thread, t->thread_count, r->thread_cap, 1024) ||
		    !GROW(r->func, t->thread_count, r->func_cap, 1024))
			return FLOW_NONE;
		snprintf(name, sizeof(name), "thread %u", tid);
		snprintf(object, sizeof(object), "process %u", pid);
		r->func[t->thread_count] = in_func_add(r->in, name, object);
		if (r->func[t->thread_count] == FLOW_NONE)
			return FLOW_NONE;
		t->thread[t->thread_count] =
			(struct flow_thread){ .pid = pid, .tid = tid, .func = FLOW_NONE, .comm = in_comm(r->in, pid) };
		*at = t->thread_count++;
	}
	return r->func[*at];
}

/* The same instruction, executed by this thread. */
static uint32_t site_for(struct renaming *r, uint32_t old, uint32_t func)
{
	const struct in_site *o = &r->in->sites[old];
	const struct site_of k = { o->ip, o->module, func };
	bool added;
	uint32_t id = intern_add(&r->keys, &k, sizeof(k), &added);

	if (!id || (added && !GROW(r->site, r->site_count, r->site_cap, 1024)))
		return FLOW_NONE;
	if (added)
		r->site[r->site_count++] = (struct in_site){
			.ip = o->ip, .module = o->module, .func = func, .clears = o->clears, .block = o->block
		};
	return id - 1;
}

static int rename_one(struct renaming *r, uint32_t *site, uint32_t *func, uint32_t pid, uint32_t tid, bool kernel)
{
	uint32_t f = kernel ? *func : renamed_thread(r, pid, tid),
		 s = f == FLOW_NONE ? FLOW_NONE : site_for(r, *site, f);

	if (s == FLOW_NONE)
		return -ENOMEM;
	*site = s;
	*func = f;
	return 0;
}

static int rename_all(struct renaming *r)
{
	struct flow_input *in = r->in;
	int err = 0;

	for (size_t i = 0; !err && i < in->access_count; i++)
		err = rename_one(r, &in->access[i].site, &in->access[i].func, in->access[i].pid, in->access[i].tid,
				 in->access[i].flags & FMT_A_KERNEL);
	for (size_t i = 0; !err && i < in->blind_count; i++)
		err = rename_one(r, &in->blind[i].site, &in->blind[i].func, in->blind[i].pid, in->blind[i].tid,
				 in->blind[i].flags & FMT_A_KERNEL);
	for (size_t i = 0; !err && i < in->window_count; i++) {
		struct in_window *w = &in->window[i];

		err = rename_one(r, &w->arm.site, &w->arm.func, w->arm.pid, w->arm.tid, w->arm.flags & FMT_A_KERNEL);
		for (size_t k = w->first; !err && k < w->first + w->count; k++)
			err = rename_one(r, &in->hit[k].site, &in->hit[k].func, w->arm.pid, in->hit[k].tid,
					 in->hit[k].flags & FMT_A_KERNEL);
	}
	if (err)
		return err;
	/* who wrote in bursts was not added up by thread */
	in->burst_count = in->burst_pair_count = in->burst_site_count = in->parts.pairs = in->parts.sites = 0;
	in->earlier_site_count = in->earlier_pair_count = 0;
	free(in->sites);
	in->sites = r->site;
	in->site_count = r->site_count;
	in->site_cap = (uint32_t)r->site_cap;
	r->site = NULL;
	flow_ready_release(in);
	/* by function, of which there are more now */
	free(in->times);
	in->times = calloc(in->func_count + 1, sizeof(*in->times));
	return in->times ? 0 : -ENOMEM;
}

static int by_id(const void *a, const void *b)
{
	const struct flow_thread *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

int flow_threads_build(struct flow_input *in, const struct est_opts *o, struct flow_threads *out, struct err *e)
{
	struct renaming r = { .in = in, .out = out };
	struct est_opts by_thread = *o;
	int err;

	*out = (struct flow_threads){ 0 };
	if (!in->access_count)
		return err_set(
			e, -ENODATA,
			in->has_x
				? "exact figures are not kept by thread; add samples: `accperf exact --emit-samples 1000 -- COMMAND`"
				: "the profile holds no memory accesses; record with `accperf record` or `accperf exact`");
	by_thread.inclusive = false;
	err = sharing_find(in, out);
	if (!err)
		err = rename_all(&r);
	if (err)
		err_set(e, err, "out of memory");
	else
		err = flow_estimate(in, "fused", &by_thread, &out->flow, e);
	if (!err) {
		for (size_t i = 0; i < out->thread_count; i++) {
			const struct in_func *f = &in->funcs[r.func[i]];

			out->thread[i].func = flow_find(&out->flow, f->name, f->object);
		}
		if (out->thread_count)
			qsort(out->thread, out->thread_count, sizeof(*out->thread), by_id);
	}
	map_release(&r.thread_at);
	intern_release(&r.keys);
	free(r.func);
	free(r.site);
	if (err)
		flow_threads_release(out);
	return err;
}

void flow_threads_release(struct flow_threads *t)
{
	flow_release(&t->flow);
	free(t->thread);
	free(t->line);
	memset(t, 0, sizeof(*t));
}
