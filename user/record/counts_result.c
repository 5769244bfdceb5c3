// SPDX-License-Identifier: GPL-2.0-or-later
/* What a window saw of its links. */
#include <math.h>
#include <string.h>

#include "code/trip_pairs.h"
#include "record/counts_plan_priv.h"

#define WITHIN_MOST_NS 800000      /* beyond it a window begins whenever it begins */
#define TOOK_SPEED 0.5             /* of the running mean of how long windows of trips take; by hand */
#define LONGEST_NS 100000000       /* of a window for a ratio or a rate; by hand */
#define LONGEST_TRIPS_NS 200000000 /* the same for trips; by hand */
#define LEAST_WAIT_NS 6e6          /* that an anchor is waited for; by hand */
#define WORTH_WAITING 0.1          /* of the time hangs below: it is waited for as long as ever */
#define SHORTEST_PART 0.1          /* of the time asked for: a window with less of it is no better than with so much */
#define NET_MIN 0.1                /* of a rate's time the hits must leave so much */
#define FAST_HITS 6                /* of a window; by hand */
#define FAST_GAP 0.8               /* between hits, of what one costs */
#define FAST_PART 0.3              /* of the gaps */
#define RATE_WANTED 12.0           /* hits of one window */
#define RATE_MANY 24               /* more in one window: the next is shorter */
#define RATE_FEW 6                 /* fewer in each of so many windows in a row: the next is longer: */
#define RATE_WINDOWS 4             /* one alone may have begun where code that runs in bursts did not */
#define FIRST_WINDOWS 1            /* before any rate is known: ten seconds have some fifty windows for it */
#define END_TRIES 24               /* without a new longest loop until its end is believed; by hand */
#define LIVED 0.9                  /* of the CPU time asked for */
#define RATE_SHORTEST_NS 200000.0  /* of a window for a rate; by hand */

struct counts_result_seen {
	struct plan *p;
	const struct plan_job *job;
	const struct exec_window *w;
	plan_place_fn place;
	induction_peek_fn peek;
	void *ctx;
	int err;
};

/* Of the thread's CPU time, and how many hits were in it; none: unknown. */
struct lasted {
	uint32_t hits;
	uint64_t ns;
};

static uint64_t took_ns(const struct exec_window *w, struct exec_span span)
{
	/* it began somewhere, and ended with the last hit or by time */
	if (!span.from)
		return w->end == EXEC_HITS || w->cpu_ns == ~0ull ? w->hit[span.to - 1].cpu_ns : w->cpu_ns;
	return w->hit[span.to - 1].cpu_ns - w->hit[span.from - 1].cpu_ns;
}

/* What a window says of one link. */
struct counts_result_finding {
	double anchor, child;
	uint64_t ended;
	double least, most; /* trips of one activation; 0: not told */
	uint32_t odd;
	struct lasted lasted;
};

static void add_window(struct counts_result_seen *s, uint32_t link, struct counts_result_finding f)
{
	struct plan *p = s->p;
	struct plan_link *l = &p->link[link];
	struct fmt_counts_window rec = {
		.armed = s->w->armed,
		.ended = f.ended,
		.anchor = f.anchor,
		.child = f.child,
		.least = f.least,
		.most = f.most,
		.link = l->rec.id,
		.pid = (uint32_t)s->w->req.pid,
		.tid = (uint32_t)s->w->req.tid,
		.odd = f.odd,
		.hits = f.lasted.hits,
		.within_ns = (uint32_t)s->w->req.within_ns,
		.took_ns = f.lasted.ns,
	};
	int err;

	if (!l->written)
		plan_write_link(p, link);
	counts_sums_add(&l->sums, f.anchor, f.child);
	p->stats.windows[l->rec.how]++;
	err = store_put(p->store, FMT_COUNTS_WINDOW, &rec, sizeof(rec));
	if (err && !s->err)
		s->err = err;
}

/* ---- who called ---- */

static void callers(struct counts_result_seen *s)
{
	for (unsigned i = 0; i < s->job->slots; i++) {
		uint32_t f = s->job->slot[i].entry_of;
		double outside = 0, all = 0;

		if (f == PLAN_NONE)
			continue;
		for (uint32_t k = 0; k < s->w->count; k++) {
			struct module *m = NULL;
			uint64_t ret = 0;

			if (s->w->hit[k].slot != i)
				continue;
			if (!s->place(s->ctx, s->w->hit[k].on_stack, &m, &ret))
				m = NULL;
			outside += !plan_caller(s->p, f, m, ret, 1);
			all++;
		}
		if (!(s->p->func[f].rec.flags & FMT_CF_RECURSIVE) || !(all > 0))
			continue;
		/* of calls from outside, together: how many runs come of each */
		for (uint32_t k = 0; k < s->p->func[f].callers; k++) {
			uint32_t link = s->p->func[f].caller[k];

			if (s->p->link[link].parent_func != f && s->p->link[link].rec.how == FMT_CL_RATIO)
				add_window(s, link,
					   (struct counts_result_finding){ .anchor = outside,
									   .child = all,
									   .ended = s->w->hit[s->w->count - 1].time });
		}
	}
}

/* ---- ratios ---- */

/* While one window waits for what is rare no other is open: for little it is not waited long. */
static uint64_t longest(const struct plan *p, const struct plan_link *l, uint64_t most)
{
	double part = p->total > 0 ? plan_hangs_below(p, l) / p->total / WORTH_WAITING : 1;

	return (uint64_t)fmax(LEAST_WAIT_NS, fmin(part, 1) * (double)most);
}

/* No hit in time: the thread was elsewhere, or what is looked for comes more slowly. */
static void missed(const struct plan *p, struct plan_link *l)
{
	l->fails++;
	if (l->within_ns)
		l->within_ns = l->within_ns * 2 > WITHIN_MOST_NS ? 0 : l->within_ns * 2;
	else if (l->time_ns < longest(p, l, LONGEST_NS))
		l->time_ns *= 2;
}

static double hits_of(const struct counts_result_seen *s, unsigned slot, const struct plan_link *called_by,
		      struct exec_span span)
{
	double n = 0;

	for (uint32_t k = span.from; k < span.to; k++) {
		struct module *m;
		uint64_t ret;

		if (s->w->hit[k].slot != slot)
			continue;
		n += !called_by || (s->place(s->ctx, s->w->hit[k].on_stack, &m, &ret) && ret == called_by->rec.site &&
				    m == s->p->func[called_by->parent_func].module);
	}
	return n;
}

static void ratio_window(struct counts_result_seen *s)
{
	struct plan_link *first = &s->p->link[s->job->link[0]];
	uint64_t last = s->w->count ? s->w->hit[s->w->count - 1].time : s->w->ended;
	struct exec_span span = execbp_turns(s->w);
	struct lasted lasted = { .hits = span.to - span.from };

	if (s->w->end == EXEC_LATE || !s->w->count) {
		s->p->stats.empty++;
		missed(s->p, first);
		return;
	}
	if (lasted.hits)
		lasted.ns = took_ns(s->w, span);
	first->fails = 0;
	if (first->within_ns > PLAN_WITHIN_NS)
		first->within_ns -= first->within_ns / 8;
	for (unsigned i = 0; i < s->job->links; i++) {
		const struct plan_link *l = &s->p->link[s->job->link[i]];

		add_window(s, s->job->link[i],
			   (struct counts_result_finding){
				   .anchor = hits_of(s, 0, NULL, span),
				   .child = hits_of(s, i + 1, l->rec.flags & FMT_CL_CALL ? l : NULL, span),
				   .ended = last,
				   .lasted = lasted,
			   });
	}
}

/* ---- trip counts ---- */

struct trips {
	double activations, runs, least, most;
	uint32_t odd;
	bool within;
};

static void one_trip(struct trips *t, double n)
{
	t->least = t->activations > 0 ? fmin(t->least, n) : n;
	t->most = fmax(t->most, n);
	t->activations++;
	t->runs += n;
}

/* A window that begins within an activation meets long ones more often, as much as they are longer. */
static void met_within(struct trips *t, double n, double mean)
{
	t->least = t->most = n;
	t->activations += mean / n;
	t->runs += mean;
	t->within = true;
}

/* How long it took to see them, from when it was armed: a loop that is entered in bursts, or seldom, is waited for. Who
 * was met within an activation counts otherwise. */
static struct lasted until_last_exit(const struct exec_window *w, const struct trips *t)
{
	if (t->within || w->cpu_ns == ~0ull || w->req.on_cpus)
		return (struct lasted){ 0 };
	return (struct lasted){ w->count, w->end == EXEC_HITS ? w->hit[w->count - 1].cpu_ns : w->cpu_ns };
}

static void trips_window(struct counts_result_seen *s)
{
	struct plan_link *l = &s->p->link[s->job->link[0]];
	const struct runs_trips *how = &s->p->func[l->child_func].runs.trips[l->loop];
	struct trip_pairs pairs;
	struct trips t = { 0 };
	uint64_t n;

	if (s->job->list && !s->peek) {
		s->p->stats.stale++;
		return;
	}
	trip_pairs_begin(&pairs, how, s->job->within && s->job->slots == how->exits + 1);
	for (uint32_t k = 0; k < s->w->count; k++) {
		const struct execwin_hit *h = &s->w->hit[k];

		switch (trip_pairs_hit(&pairs, h->slot == how->exits + 1 ? TRIP_PAIRS_HEADER : h->slot, h->sp, h->value,
				       k + 1 == s->w->count, s->peek, s->ctx, &n)) {
		case TRIP_PAIRS_ONE: one_trip(&t, (double)n); break;
		case TRIP_PAIRS_WITHIN:
			met_within(&t, (double)n, l->sums.x > 0 ? l->sums.y / l->sums.x : (double)n);
			break;
		case TRIP_PAIRS_ODD: t.odd++; break;
		case TRIP_PAIRS_NOTHING: break;
		}
	}
	s->p->stats.odd += t.odd;
	if (!(t.activations > 0) && !t.odd) {
		s->p->stats.empty++;
		l->fails++;
		if (l->time_ns < longest(s->p, l, LONGEST_TRIPS_NS))
			l->time_ns *= 2;
		return;
	}
	l->fails = t.activations > 0 ? 0 : l->fails + 1;
	l->odd_runs = t.odd > t.activations / 4 ? l->odd_runs + 1 : 0;
	/* the registers do not mean what they seem to mean */
	if (l->odd_runs >= 4)
		l->off = true;
	if (t.activations > 0)
		add_window(s, s->job->link[0],
			   (struct counts_result_finding){
				   .anchor = t.activations,
				   .child = t.runs,
				   .ended = s->w->hit[s->w->count - 1].time,
				   .least = t.least,
				   .most = t.most,
				   .odd = t.odd,
				   .lasted = until_last_exit(s->w, &t),
			   });
}

/* ---- rates ---- */

/* Hits follow each other so closely that what they cost hides the time between them, if only in bursts:
 * so all its windows are void, or those would be left that saw little of it. */
static bool too_fast(const struct counts_result_seen *s, unsigned slot)
{
	const struct exec_window *w = s->w;
	uint32_t last = UINT32_MAX, gaps = 0, close = 0;

	for (uint32_t k = 0; k < w->count; k++) {
		double net;

		if (w->hit[k].slot != slot)
			continue;
		if (last != UINT32_MAX) {
			net = (double)(w->hit[k].cpu_ns - w->hit[last].cpu_ns) - (k - last) * s->p->hit_ns;
			gaps++;
			close += net < FAST_GAP * s->p->hit_ns;
		}
		last = k;
	}
	return gaps + 1 >= FAST_HITS && close > FAST_PART * gaps;
}

/* As long as some dozen hits take where it runs: what runs in bursts is not seen for most of the time,
 * and a window that went on until it saw something would find it too rare. */
static void fit_time(const struct plan *p, struct plan_link *l, double hits)
{
	unsigned enough = p->speed_measured ? RATE_WINDOWS : FIRST_WINDOWS;

	l->peak = fmax(l->peak, hits);
	if (hits > RATE_MANY) {
		l->time_ns = (uint64_t)fmax(RATE_SHORTEST_NS, (double)l->time_ns * RATE_WANTED / hits);
		l->peak = 0;
		l->since_peak = 0;
	} else if (++l->since_peak >= enough) {
		if (l->peak < RATE_FEW && l->time_ns < LONGEST_NS)
			l->time_ns = l->time_ns * (l->peak > 0 ? 2 : 4) < LONGEST_NS
					     ? l->time_ns * (l->peak > 0 ? 2 : 4)
					     : LONGEST_NS;
		l->peak = 0;
		l->since_peak = 0;
	}
}

/* Of what a thread does once, at its end: a window that begins anywhere in its time meets the end as often as it is
 * long, as long as that is far less than a thread lives. So time past the end counts as well. */
static void rate_of_end(struct counts_result_seen *s, unsigned slot)
{
	const struct exec_window *w = s->w;
	struct plan_link *l = &s->p->link[s->job->link[slot]];
	uint64_t open_ns = s->job->time_ns, took = w->ended - w->armed;
	bool lived = w->cpu_ns != ~0ull && (double)w->cpu_ns > LIVED * (double)open_ns;
	bool waited = !lived && took >= s->job->longest_ns;

	if (open_ns > l->time_ns + l->time_ns / 100 || w->cpu_ns == ~0ull)
		return;
	add_window(s, s->job->link[slot],
		   (struct counts_result_finding){
			   .anchor = (double)(waited ? w->cpu_ns : open_ns) * 1e-9,
			   .child = w->hits[slot],
			   .ended = w->ended,
		   });
	/* the thread went on for long: it is no end of a thread */
	for (uint32_t k = 0; k < w->count; k++)
		l->recurs |= lived && w->hit[k].slot == slot && w->hit[k].cpu_ns + open_ns / 2 < w->cpu_ns;
	if (++l->since_peak < END_TRIES)
		return;
	/* longer than a thread lives, and there would be one end a window, however long */
	if (!(l->sums.y > 0) && l->time_ns < LONGEST_NS)
		l->time_ns *= 2;
	l->since_peak = 0;
}

/*
 * A window of all breakpoints interrupts its thread three times, and once more for each (part_counts.c). Of these the
 * thread's clock holds the one that arms all and, unless hits ended it, the one that ends it: nothing is hit meanwhile.
 */
static double arming_inside(const struct plan *p, bool ended_by_hits)
{
	return p->window_ns * (ended_by_hits ? 1 : 2) / (EXECWIN_SLOTS + 3);
}

/* Windows begin anywhere in the thread's time, and each stands for its own length of it: what the hits
 * took of that is made up for by counting so many more. */
static void rate_of(struct counts_result_seen *s, unsigned slot)
{
	const struct exec_window *w = s->w;
	uint32_t link = s->job->link[slot];
	struct plan_link *l = &s->p->link[link];
	double all = w->cpu_ns == ~0ull ? 0 : (double)w->cpu_ns, until, traps = w->traps, net, weight = 1;
	double open_ns = (double)s->job->time_ns;
	bool full = w->hits[slot] >= s->job->slot[slot].limit;

	if (l->at_end && !l->recurs && !s->job->process) {
		rate_of_end(s, slot);
		return;
	}
	if (w->end == EXEC_HITS)
		all = (double)w->hit[w->count - 1].cpu_ns;
	until = all;
	if (full || w->end == EXEC_HITS) {
		uint32_t last = w->count - 1;

		while (full && last && w->hit[last].slot != slot)
			last--;
		until = (double)w->hit[last].cpu_ns;
		traps = last + 0.5;
	}
	if (!slot)
		fit_time(s->p, l, w->hits[slot]);
	net = until - traps * s->p->apart_ns - arming_inside(s->p, full || w->end == EXEC_HITS);
	if (too_fast(s, slot)) {
		s->p->stats.too_fast++;
		plan_void(s->p, link);
		return;
	}
	if (!(all > 0) || !(until > 0) || !(net > NET_MIN * until))
		return;
	/* Threads are met as often as they run, and waits cut some windows short: each counts alike. A process has
	 * but one. */
	if (!s->job->process && w->end != EXEC_HITS && !full)
		weight = open_ns / fmax(all, SHORTEST_PART * open_ns);
	/* n hits make n gaps only from one hit to another */
	add_window(s, link,
		   (struct counts_result_finding){ .anchor = weight * all * 1e-9,
						   .child = weight * (w->hits[slot] - (full ? 0.5 : 0)) * all / net,
						   .ended = w->ended });
}

int plan_result(struct plan *p, const struct plan_job *job, const struct exec_window *w, plan_place_fn place,
		induction_peek_fn peek, void *ctx)
{
	struct counts_result_seen s = { .p = p, .job = job, .w = w, .place = place, .peek = peek, .ctx = ctx };

	for (unsigned i = 0; i < job->links; i++)
		p->link[job->link[i]].took_ns +=
			TOOK_SPEED * ((double)(w->ended - w->armed) - p->link[job->link[i]].took_ns);
	p->link[job->link[0]].tries++;
	switch (job->how) {
	case FMT_CL_RATIO:
		p->inner++;
		ratio_window(&s);
		break;
	case FMT_CL_TRIPS:
		p->inner++;
		trips_window(&s);
		break;
	case FMT_CL_RATE:
		p->timing_ns -= (double)(w->ended - w->armed);
		for (unsigned i = 0; i < job->slots; i++)
			rate_of(&s, i);
		break;
	}
	callers(&s);
	return s.err;
}
