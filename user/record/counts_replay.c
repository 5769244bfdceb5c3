// SPDX-License-Identifier: GPL-2.0-or-later
/* What a burst tells of links: it is a window of so many instructions instead of so many hits, and sees all nodes that
 * it passes at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/counts_plan_priv.h"
#include "util/grow.h"

/* of one link, each a burst; later ones are of several, so that a recording stays small: eight tell how they differ,
 * and links that are met less often are written as they are */
#define SINGLE_WINDOWS 8
#define MORE_WINDOWS 8
#define MOST_HELD 64
#define ENTRIES 8.0 /* of one function, all of a burst count as so many: they are from one place */

/* Of one call of the burst: the function it entered (PLAN_NONE: none that counts), its link (PLAN_NONE: unknown). */
struct replay_call {
	uint32_t func, link;
};

struct replayed {
	double all; /* instructions carried out */
	struct plan *p;
	const struct plan_burst *b;
	plan_place_fn place;
	void *ctx;
	struct plan_ran at;
	uint32_t from; /* the function that it began in, or PLAN_NONE */
	int err;
};

/* ---- what ran ---- */

static bool place_of_runtime(const struct replayed *r, uint64_t runtime, struct module **m, uint64_t *vaddr)
{
	/* as for a return address: one past it */
	if (!r->place(r->ctx, runtime + 1, m, vaddr))
		return false;
	--*vaddr;
	return true;
}

static bool note_beginnings(struct plan_func *f)
{
	uint64_t bytes = f->rec.end - f->rec.start;

	f->begins = calloc(bytes / 64 + 1, sizeof(*f->begins));
	for (uint32_t n = 0; f->begins && n < f->runs.nodes; n++) {
		uint64_t at = f->runs.node[n].addr - f->rec.start;

		if (at < bytes)
			f->begins[at / 64] |= 1ull << at % 64;
	}
	return f->begins;
}

static bool begins_node(const struct plan_func *f, uint64_t addr)
{
	uint64_t at = addr - f->rec.start;

	return plan_has_graph(f) && at < f->rec.end - f->rec.start && f->begins[at / 64] >> at % 64 & 1;
}

static bool enter(struct plan *p, uint32_t i)
{
	struct plan_func *f = &p->func[i];

	if (f->met_now)
		return true;
	if (!GROW(p->passed, p->passes, p->pass_cap, 64))
		return false;
	if (plan_has_graph(f) && !f->runs_now) {
		f->runs_now = calloc(f->runs.nodes, sizeof(*f->runs_now));
		f->runs_all = calloc(f->runs.nodes, sizeof(*f->runs_all));
	}
	if (plan_has_graph(f) && !(f->runs_now && f->runs_all && (f->begins || note_beginnings(f))))
		return false;
	p->passed[p->passes++] = i;
	f->met_now = true;
	f->bursts++;
	return true;
}

uint32_t plan_ran_at(struct plan *p, struct plan_ran *at, uint64_t ip, plan_place_fn place, void *ctx)
{
	struct module *m;
	uint64_t vaddr;

	if (at->func != PLAN_NONE && ip - at->bias >= p->func[at->func].rec.start &&
	    ip - at->bias < p->func[at->func].rec.end)
		return at->func;
	/* as for a return address: one past it */
	at->func = PLAN_NONE;
	if (!place(ctx, ip + 1, &m, &vaddr))
		return PLAN_NONE;
	at->bias = ip - (vaddr - 1);
	return at->func = plan_func_at(p, m, vaddr - 1);
}

static uint32_t func_at(struct replayed *r, uint64_t ip)
{
	uint32_t i = plan_ran_at(r->p, &r->at, ip, r->place, r->ctx);

	if (i != PLAN_NONE && !enter(r->p, i))
		i = r->at.func = PLAN_NONE;
	return i;
}

static void count_nodes(struct replayed *r)
{
	for (size_t k = 0; k < r->b->counts; k++) {
		const struct emu_count *c = &r->b->count[k];
		uint32_t i = func_at(r, c->ip), n;
		struct plan_func *f = i == PLAN_NONE ? NULL : &r->p->func[i];

		r->p->replayed += (double)c->runs;
		if (!f)
			continue;
		f->replayed += (double)c->runs;
		f->ran_now += (double)c->runs;
		plan_repeats_add(f, REPEATS_OF_BURST, c);
		plan_timed(f, c);
		n = begins_node(f, c->ip - r->at.bias) ? runs_node_at(&f->runs, c->ip - r->at.bias) : CFG_NONE;
		/* all of a node's blocks run equally often: the one that stands for it is counted */
		if (n != CFG_NONE && f->runs.node[n].addr == c->ip - r->at.bias)
			f->runs_now[n] += (double)c->runs;
	}
}

static void count_cuts(struct replayed *r)
{
	for (size_t k = 0; k < r->b->cuts; k++) {
		const struct emu_cut *c = &r->b->cut[k];
		uint32_t i = func_at(r, c->ip ? c->ip : c->site - 1);

		if (i != PLAN_NONE)
			r->p->func[i].rec.cut += (double)c->times;
	}
}

/* ---- which function called which ---- */

static bool note_call(struct replayed *r, const struct emu_call *c)
{
	struct plan *p = r->p;
	struct module *m;
	uint64_t vaddr;
	uint32_t i = place_of_runtime(r, c->target, &m, &vaddr) ? plan_func_at(p, m, vaddr) : PLAN_NONE;

	if (!GROW(p->called, p->calls, p->call_cap, 64))
		return false;
	/* or its graph was built a moment ago */
	if (i != PLAN_NONE &&
	    (p->func[i].rec.start != vaddr || !plan_has_graph(&p->func[i]) || !enter(p, i) || !p->func[i].runs_now))
		i = PLAN_NONE;
	if (i != PLAN_NONE)
		p->func[i].entered_now += (double)c->runs;
	p->called[p->calls++] = (struct replay_call){ i, PLAN_NONE };
	return true;
}

static void count_call(struct replayed *r, const struct emu_call *c, struct replay_call *of)
{
	struct plan *p = r->p;
	struct module *from;
	uint64_t ret;
	uint32_t i = of->func, link;

	if (i == PLAN_NONE)
		return;
	if (!r->place(r->ctx, c->site, &from, &ret))
		from = NULL;
	plan_caller(p, i, from, ret, (double)c->runs * fmin(1, ENTRIES / p->func[i].entered_now));
	p->func[i].all_now += (double)c->runs;
	/* an entry that is a loop's header as well cannot be told by its address */
	if (p->func[i].runs.node[0].block == CFG_NONE)
		p->func[i].runs_now[0] += (double)c->runs;
	link = from ? plan_call_link(p, i, from, ret) : PLAN_NONE;
	if (link == PLAN_NONE)
		return;
	if (p->link[link].parent_func == i)
		p->func[i].own_now += (double)c->runs;
	p->link[link].called_now += (double)c->runs;
	of->link = link;
}

static void count_calls(struct replayed *r)
{
	size_t n = 0;

	while (n < r->b->calls && note_call(r, &r->b->call[n]))
		n++;
	for (size_t k = 0; k < n; k++)
		count_call(r, &r->b->call[k], &r->p->called[k]);
}

/* ---- windows ---- */

static int put_held(struct plan *p, uint32_t link, uint64_t armed, uint64_t ended, uint32_t pid, uint32_t tid)
{
	struct plan_link *l = &p->link[link];
	struct fmt_counts_window rec = { .armed = armed,
					 .ended = ended,
					 .anchor = l->held_anchor,
					 .child = l->held_child,
					 .link = l->rec.id,
					 .pid = pid,
					 .tid = tid };

	if (!l->written)
		plan_write_link(p, link);
	counts_sums_add(&l->sums, rec.anchor, rec.child);
	l->held_anchor = l->held_child = l->held = 0;
	p->stats.windows[FMT_CL_REPLAY]++;
	return store_put(p->store, FMT_COUNTS_WINDOW, &rec, sizeof(rec));
}

static unsigned windows_held_by_one(const struct plan_link *l)
{
	unsigned n = 1;

	for (unsigned at = SINGLE_WINDOWS; at < l->sums.windows && n < MOST_HELD; at += MORE_WINDOWS)
		n *= 2;
	return n;
}

static uint32_t rival_of(struct plan *p, uint32_t link)
{
	struct plan_link of = p->link[link]; /* the array may move */
	uint32_t l;

	if (of.replay != PLAN_NONE)
		return of.replay;
	l = plan_add_link(p, FMT_CL_REPLAY, of.parent_func, of.parent, of.child_func, of.child);
	if (l == PLAN_NONE)
		return l;
	p->link[l].rec.flags = of.rec.flags & (FMT_CL_CALL | FMT_CL_TAIL | FMT_CL_INDIRECT);
	p->link[l].rec.site = of.rec.site;
	p->link[l].rec.rival = of.rec.id;
	p->link[link].replay = l;
	return l;
}

static void add_replayed_link(struct replayed *r, uint32_t link, double anchor, double child)
{
	uint32_t rival;
	struct plan_link *l;
	int err = 0;

	if (!(anchor + child > 0) || (rival = rival_of(r->p, link)) == PLAN_NONE)
		return;
	l = &r->p->link[rival];
	l->held_anchor += anchor;
	l->held_child += child;
	if (++l->held >= windows_held_by_one(l))
		err = put_held(r->p, rival, r->b->time, r->b->ended, r->b->pid, r->b->tid);
	r->err = r->err ? r->err : err;
}

void plan_replay_flush(struct plan *p)
{
	for (uint32_t i = 0; i < p->links; i++) {
		int err = p->link[i].held ? put_held(p, i, p->last_burst, p->last_burst, 0, 0) : 0;

		p->error = p->error ? p->error : err;
	}
}

static bool asked(const struct plan_link *l)
{
	return !l->off && l->rec.how == FMT_CL_RATIO;
}

static void count_links(struct replayed *r, uint32_t i)
{
	struct plan *p = r->p;

	for (uint32_t k = 0; k < p->func[i].links; k++) {
		uint32_t link = p->func[i].inner[k];

		if (asked(&p->link[link]))
			add_replayed_link(r, link, p->func[i].runs_now[p->link[link].parent],
					  p->func[i].runs_now[p->link[link].child]);
	}
	for (uint32_t k = 0; k < p->func[i].outs; k++) {
		uint32_t link = p->func[i].out[k];

		/* calls of what calls itself: see below */
		if (asked(&p->link[link]) && !(p->func[p->link[link].child_func].rec.flags & FMT_CF_RECURSIVE))
			add_replayed_link(r, link, p->func[i].runs_now[p->link[link].parent], p->link[link].called_now);
	}
	/* of calls from outside, together: how many runs come of each */
	for (uint32_t k = 0; (p->func[i].rec.flags & FMT_CF_RECURSIVE) && k < p->func[i].callers; k++)
		if (asked(&p->link[p->func[i].caller[k]]) && p->link[p->func[i].caller[k]].parent_func != i)
			add_replayed_link(r, p->func[i].caller[k], p->func[i].all_now - p->func[i].own_now,
					  p->func[i].all_now);
}

/* Early, before much is measured by what seldom runs. */
static void hang(struct plan *p, uint32_t i)
{
	struct plan_func *f = &p->func[i];

	for (uint32_t n = 0; n < f->runs.nodes; n++)
		f->runs_all[n] += f->runs_now[n];
	if (!(f->bursts & (f->bursts - 1)))
		plan_hang(p, i);
}

static int put_burst(const struct replayed *r)
{
	const struct emu_result *e = &r->b->result;
	struct fmt_counts_burst rec = { .armed = r->b->time,
					.ended = r->b->ended,
					.pid = r->b->pid,
					.tid = r->b->tid,
					.end = e->end,
					.instructions = e->insns,
					.skipped = e->skipped,
					.unknown = e->unknown,
					.pages = e->pages,
					.syscalls = e->syscalls,
					.own_us = (uint32_t)(r->b->own_ns / 1000) };
	struct module *m;

	if (place_of_runtime(r, r->b->ip, &m, &rec.ip))
		rec.module = m->id;
	if (place_of_runtime(r, e->end_ip, &m, &rec.end_ip))
		rec.end_module = m->id;
	return store_put(r->p->store, FMT_COUNTS_BURST, &rec, sizeof(rec));
}

static int put_part(const struct replayed *r, uint32_t func, double ran)
{
	struct fmt_counts_went rec = { .part = (float)(ran / r->all) };

	rec.from = r->from == PLAN_NONE ? 0 : r->p->func[r->from].rec.id;
	rec.function = func == PLAN_NONE ? 0 : r->p->func[func].rec.id;
	return store_put(r->p->store, FMT_COUNTS_WENT, &rec, sizeof(rec));
}

/* Samples are many and bursts few: those that began in one function tell where its samples lead. */
static int put_went(struct replayed *r)
{
	const struct plan *p = r->p;
	double elsewhere = r->all;
	int err = 0;

	if (!(r->all > 0)) { /* it came nowhere: it is all where it began */
		r->all = 1;
		return put_part(r, r->from, 1);
	}
	for (uint32_t k = 0; k < p->passes && !err; k++) {
		double ran = p->func[p->passed[k]].ran_now;

		elsewhere -= ran;
		if (ran > 0)
			err = put_part(r, p->passed[k], ran);
	}
	return err || !(elsewhere > 0) ? err : put_part(r, PLAN_NONE, elsewhere);
}

int plan_replayed(struct plan *p, const struct plan_burst *b, plan_place_fn place, void *ctx)
{
	struct replayed r = { .p = p, .b = b, .place = place, .ctx = ctx, .at = { .func = PLAN_NONE } };

	p->passes = p->calls = 0;
	p->last_burst = b->time;
	for (size_t k = 0; k < b->counts; k++)
		r.all += (double)b->count[k].runs;
	r.from = func_at(&r, b->ip);
	count_nodes(&r);
	count_cuts(&r);
	count_calls(&r);
	for (uint32_t k = 0; k < p->passes; k++)
		if (p->func[p->passed[k]].runs_now) {
			hang(p, p->passed[k]);
			count_links(&r, p->passed[k]);
		}
	r.err = r.err ? r.err : put_went(&r);
	for (uint32_t k = 0; k < p->passes; k++) {
		struct plan_func *f = &p->func[p->passed[k]];

		f->met_now = false;
		plan_repeats_fold(f, REPEATS_OF_BURST);
		f->own_now = f->all_now = f->ran_now = f->entered_now = 0;
		if (f->runs_now)
			memset(f->runs_now, 0, f->runs.nodes * sizeof(*f->runs_now));
	}
	for (uint32_t k = 0; k < p->calls; k++)
		if (p->called[k].link != PLAN_NONE)
			p->link[p->called[k].link].called_now = 0;
	return r.err ? r.err : put_burst(&r);
}
