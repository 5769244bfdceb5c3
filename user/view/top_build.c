// SPDX-License-Identifier: GPL-2.0-or-later
/* A moment out of what the commands that read profiles work with: figures are theirs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/gather.h"
#include "advise/verdict.h"
#include "util/grow.h"
#include "view/report.h"
#include "view/report_flow.h"
#include "view/top.h"

#define NOT_SHOWN UINT32_MAX

struct making {
	const struct top_source *s;
	struct top_moment *m;
	uint32_t *at; /* by function of the profile, those only probed included: its row */
	size_t at_count;
};

static struct top_function *add_row(struct making *k, uint32_t function, const char *name, const char *object)
{
	struct top_moment *m = k->m;
	struct top_function f = { .name = top_keep_name(m, name), .object = top_keep_name(m, object) };

	for (unsigned i = 0; i < TOP_FIGURES; i++)
		f.figure[i] = NAN;
	if (m->failed || !PUSH(m->functions, m->function_count, m->function_cap, 64, f)) {
		m->failed = true;
		return NULL;
	}
	k->at[function] = (uint32_t)m->function_count - 1;
	return &m->functions[m->function_count - 1];
}

static void rows_of_time(struct making *k)
{
	const struct profile *p = k->s->profile;
	const struct shares *s = k->s->shares;

	for (size_t i = 0; i < s->count && k->m->function_count < TOP_FUNCTIONS; i++) {
		const struct share *h = &s->rows[i];
		const struct profile_function *pf = &p->functions[h->function];
		struct top_function *f = add_row(k, h->function, pf->name, pf->object);

		if (!f)
			return;
		f->figure[TOP_SELF] = h->self;
		f->figure[TOP_SELF_LOW] = h->low;
		f->figure[TOP_SELF_HIGH] = h->high;
		f->figure[TOP_INCLUSIVE] = h->inclusive;
		f->figure[TOP_SAMPLES] = (double)h->samples;
	}
	k->m->functions_in_all = (double)s->count;
}

static void bytes_of_row(const struct flow *flow, const struct flow_func *n, double seconds, struct top_function *f)
{
	double whole = flow_whole(flow), *v = f->figure;
	struct flow_range in, out;

	v[TOP_INSTRUCTIONS] = flow_amount(flow, n->instructions) / seconds;
	v[TOP_OPS] = flow_ops_per_byte(flow, n).value;
	/* a function that was only seen to call others has no bytes that anybody knows of */
	if (!(flow->engine == FLOW_EXACT || n->samples > 0 || n->in > 0 || n->out > 0))
		return;
	in = flow_amounts(flow, n->in, n->in_low, n->in_high);
	out = flow_amounts_taken(flow, (struct flow_range){ n->out, n->out_low, n->out_high }, n->taken);
	v[TOP_IN] = in.value / seconds;
	v[TOP_IN_LOW] = in.low / seconds;
	v[TOP_IN_HIGH] = in.high / seconds;
	v[TOP_OUT] = out.value / seconds;
	v[TOP_OUT_LOW] = out.low / seconds;
	v[TOP_OUT_HIGH] = out.high / seconds;
	if (whole > 0) {
		v[TOP_IN_SHARE] = n->in / whole;
		v[TOP_OUT_SHARE] = n->out / whole;
	}
}

static int moment_bytes(struct making *k)
{
	const struct gathered *g = k->s->gathered;
	const struct profile *p = k->s->profile;
	uint32_t *flow_of = flow_input_join(&g->flow_input, &g->flow, p->function_count), *of;

	of = flow_of ? report_flow_match(p, k->s->shares, g->flow.func_count, flow_of) : NULL;
	for (size_t i = 0; of && i < p->function_count; i++)
		if (of[i] < g->flow.func_count && k->at[i] != NOT_SHOWN)
			bytes_of_row(&g->flow, &g->flow.funcs[of[i]], k->m->seconds, &k->m->functions[k->at[i]]);
	free(flow_of);
	free(of);
	return of ? 0 : -ENOMEM;
}

static void moment_flows(struct making *k)
{
	const struct flow *flow = &k->s->gathered->flow;
	struct top_moment *m = k->m;

	for (size_t i = 0; i < flow->edge_count && i < TOP_FLOWS; i++) {
		const struct flow_edge *e = &flow->edges[i];
		struct flow_range share = flow_edge_share(flow, e), bytes = flow_edge_bytes(flow, e);
		struct top_flow f = { .producer = top_keep_name(m, flow->funcs[e->producer].name),
				      .consumer = top_keep_name(m, flow->funcs[e->consumer].name),
				      .share = share.value,
				      .low = share.low,
				      .high = share.high,
				      .samples = e->samples,
				      .bytes = bytes.value / m->seconds };

		if (m->failed || !PUSH(m->flows, m->flow_count, m->flow_cap, 64, f)) {
			m->failed = true;
			return;
		}
	}
}

static void moment_calls_made(struct making *k)
{
	const struct advise_input *in = &k->s->gathered->input;

	for (size_t i = 0; i < in->functions && !k->m->failed; i++) {
		const struct advise_function *a = &in->function[i];
		bool probed = a->calls_from && !strcmp(a->calls_from, "probes");
		struct top_function *f = k->at[i] != NOT_SHOWN ? &k->m->functions[k->at[i]] : NULL;

		/* probed, and in no sample */
		if (!f && probed && k->m->function_count < TOP_FUNCTIONS) {
			f = add_row(k, (uint32_t)i, a->name, a->object);
			if (f)
				f->figure[TOP_INCLUSIVE] = a->share.value;
		}
		if (!f)
			continue;
		f->figure[TOP_CALLS_PER_S] = a->calls_per_s.value;
		f->figure[TOP_CALLS_LOW] = a->calls_per_s.low;
		f->figure[TOP_CALLS_HIGH] = a->calls_per_s.high;
		if (probed)
			f->figure[TOP_OFFLOADED] = a->calls_per_s.value;
	}
}

/* Of one function alone: sets and chains have rows of their own nowhere here. */
static void moment_verdicts(struct making *k)
{
	const struct advice *a = k->s->advice;
	const struct candidates *c = k->s->candidates;

	for (size_t i = 0; c && i < c->count; i++) {
		const struct candidate *one = &c->at[i];

		if (one->functions != 1 || one->function[0] >= k->at_count || k->at[one->function[0]] == NOT_SHOWN ||
		    !*one->reason)
			continue;
		k->m->functions[k->at[one->function[0]]].why = top_keep_name(k->m, one->reason);
	}
	for (size_t i = 0; a && i < a->count; i++) {
		const struct candidate *one = a->at[i].candidate;
		struct top_function *f;

		if (one->functions != 1 || one->function[0] >= k->at_count || k->at[one->function[0]] == NOT_SHOWN ||
		    !a->at[i].options)
			continue;
		f = &k->m->functions[k->at[one->function[0]]];
		f->verdict = top_keep_name(k->m, verdict_str(a->at[i].option[0].verdict));
		f->why = top_keep_name(k->m, a->at[i].option[0].text);
	}
}

/* ---- which function calls which: each pair once a stack */

static int larger_call(const void *a, const void *b)
{
	const struct top_call *x = a, *y = b;

	return (x->share < y->share) - (x->share > y->share);
}

static bool calls_of_stack(struct making *k, const struct share_path *path, double share, double samples,
			   struct map *known)
{
	struct top_moment *m = k->m;

	for (size_t i = 0; i + 1 < path->count; i++) {
		uint32_t callee = k->at[path->ids[i]], caller = k->at[path->ids[i + 1]];
		struct top_call fresh = { .caller = caller, .callee = callee };
		bool again = false, added;
		uint64_t *at;

		for (size_t j = 0; j < i && !again; j++)
			again = k->at[path->ids[j]] == callee && k->at[path->ids[j + 1]] == caller;
		if (again || callee == NOT_SHOWN || caller == NOT_SHOWN)
			continue;
		at = map_put(known, (uint64_t)caller << 32 | callee, &added);
		if (!at || (added && !PUSH(m->calls, m->call_count, m->call_cap, 256, fresh)))
			return false;
		if (added)
			*at = m->call_count - 1;
		m->calls[*at].share += share;
		m->calls[*at].samples += samples;
	}
	return true;
}

static void moment_callers(struct making *k)
{
	const struct profile *p = k->s->profile;
	enum profile_unit unit = profile_unit(p);
	struct share_path path = { 0 };
	struct map known = { 0 };

	for (size_t i = 0; i < p->cell_count && !k->m->failed; i++) {
		const struct profile_cell *c = &p->cells[i];

		if (!(c->weight[unit] > 0))
			continue;
		k->m->failed =
			share_path(p, c->stack, false, &path) < 0 ||
			!calls_of_stack(k, &path, c->weight[unit] / p->weight[unit], (double)c->samples[unit], &known);
	}
	free(path.ids);
	map_release(&known);
	if (k->m->call_count)
		qsort(k->m->calls, k->m->call_count, sizeof(*k->m->calls), larger_call);
	if (k->m->call_count > TOP_CALLS)
		k->m->call_count = TOP_CALLS;
}

/* ---- threads */

static int busier_thread(const void *a, const void *b)
{
	const struct top_thread *x = a, *y = b;

	return (x->share < y->share) - (x->share > y->share);
}

static void moment_threads(struct making *k)
{
	const struct profile *p = k->s->profile;
	enum profile_unit unit = profile_unit(p);
	struct top_moment *m = k->m;

	for (size_t i = 0; i < p->thread_count; i++) {
		const struct profile_thread *t = &p->threads[i];
		struct top_thread row = { .comm = top_keep_name(m, t->comm ? t->comm : "?"),
					  .pid = t->pid,
					  .tid = t->tid };
		double weight = 0;

		for (size_t c = 0; c < t->cell_count; c++) {
			weight += p->cells[t->first_cell + c].weight[unit];
			row.samples += (double)p->cells[t->first_cell + c].samples[unit];
		}
		if (!(weight > 0))
			continue;
		row.share = weight / p->weight[unit];
		wilson_interval(row.share, k->s->shares->effective, &row.low, &row.high);
		if (m->failed || !PUSH(m->threads, m->thread_count, m->thread_cap, 16, row)) {
			m->failed = true;
			return;
		}
	}
	if (m->thread_count)
		qsort(m->threads, m->thread_count, sizeof(*m->threads), busier_thread);
	if (m->thread_count > TOP_THREADS)
		m->thread_count = TOP_THREADS;
}

int top_build(const struct top_source *s, struct top_moment *out)
{
	const struct profile *p = s->profile;
	struct making k = { .s = s, .m = out, .at_count = p->function_count };
	double ns = p->duration_ns ? (double)p->duration_ns : (double)p->last_time - (double)p->first_time;
	int err = 0;

	*out = (struct top_moment){ .seconds = ns > 0 ? ns / 1e9 : NAN,
				    .samples = (double)p->samples[profile_unit(p)],
				    .lost = p->lost_known ? (double)p->lost : NAN,
				    .slowdown = report_slowdown(p),
				    .full_at = NAN };
	if (s->gathered && s->gathered->input.functions > k.at_count)
		k.at_count = s->gathered->input.functions;
	k.at = malloc((k.at_count + 1) * sizeof(*k.at));
	if (!k.at)
		return -ENOMEM;
	memset(k.at, 0xff, (k.at_count + 1) * sizeof(*k.at));
	out->cpus = p->weight[PROFILE_TIME] / ns;
	rows_of_time(&k);
	if (s->gathered) {
		out->complete = true;
		out->full_at = out->seconds;
		out->note = *s->gathered->missing ? top_keep_name(out, s->gathered->missing) : NULL;
		if (s->gathered->flow.func_count)
			err = moment_bytes(&k);
		moment_calls_made(&k);
		moment_flows(&k);
		moment_verdicts(&k);
	}
	moment_callers(&k);
	moment_threads(&k);
	free(k.at);
	return err ? err : out->failed ? -ENOMEM : 0;
}
