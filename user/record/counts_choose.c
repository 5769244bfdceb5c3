// SPDX-License-Identifier: GPL-2.0-or-later
/* What a window would tell for its cost, and the window itself. */
#include <math.h>
#include <stdlib.h>

#include "code/trip_pairs.h"
#include "counts/counts.h"
#include "record/counts_plan_priv.h"
#include "util/grow.h"

#define UNKNOWN_SD 1.5        /* of the log: nothing is known */
#define ROUNDS 4              /* how far down time of callees is seen */
#define KNOWN_RATE 0.1        /* standard deviation of log: what hangs above such an entry matters less */
#define RATIO_HITS 32         /* more windows tell more than long ones: most of what they scatter is where they were */
#define RATE_HITS 64          /* more than a window should see: it ends by time */
#define HITS_PART 0.25        /* of a window's hits that may be spared for others; by hand */
#define UNKNOWN_RATE 8000.0   /* hits a second, where nothing is known yet */
#define UNMEASURED 30         /* times the gain of a rate that has met hits, while none is measured: it goes first */
#define BEGUN 3               /* times the gain: fewer than three windows tell nothing */
#define LONG_TRIPS_NS 1e6     /* that a window of trips took: longer ones begin at once; by hand */
#define CALLERS_DEEP 9        /* steps up from a sampled function; by hand */
#define RATE_PART 0.15        /* of the draws go to rates, at least; by hand */
#define BARREN_SPEED 0.05     /* of the running mean of draws that found nothing; by hand */
#define WAIT_TIMES 8          /* a thread may wait so much longer than it runs */
#define LONG_SECONDS 0.005    /* others need breakpoints meanwhile */
#define LONG_SLOTS 2          /* links of a window that lasts long; by hand */
#define GOOD_SD 0.03          /* of the log: better known links are worth a twentieth; by hand */
#define SLOW_SECONDS 0.1      /* of CPU time, and in it too few hits: its loops are to be timed themselves */
#define SLOW_HITS 6           /* of a link: fewer in long say that it is slow; by hand */
#define TIMED_BLOCK 0.01      /* of the time must hang below a block for that */
#define TIMING_SHARE 0.001    /* of the time must hang below what is timed */
#define WORTH_MIN 0.3         /* of what recent windows were worth */
#define LEVEL_DROP 0.98       /* of the level, each time nothing reached it; by hand */
#define LEVEL_SPEED 0.1       /* of the running mean of what windows were worth; by hand */
#define WINDOW_NS 3e6         /* such a wait is as bad as a window's hits */
#define SELDOM 0.25           /* hits of the anchor in a window */
#define IDLE_WINDOWS 2        /* after so many without a hit a further one is worth half; by hand */
#define IDLE_RIDES 4          /* windows that a link without a hit may ride along; by hand */
#define PROCESS_SECONDS 0.005 /* such a window interrupts every CPU, however long it is */
#define END_NS 200000         /* what a window at a function's end lasts; by hand */
#define END_WINDOWS 8         /* at an entry, and never met */
#define FULL_TRIPS 3.0        /* activations that count as one window; by hand */
#define FULL_RATIO 8.0        /* hits that count as one window; by hand */
#define COLD_WINDOWS 3        /* that code without samples is given; by hand */
#define SCALE_WORTH 0.02      /* of what all depends on: it tells how often a second, no more */
#define DISTURB_MOST 0.03     /* by which a rate may be off for that */
#define REPLAY_RUNS 30        /* seen by bursts; by hand */
#define REPLAY_SD 0.2         /* of the log: bursts that know it so well need no window; by hand */
#define MODERATE 20000.0      /* hits a second: what is inside may be timed as well */

static enum counts_how how_of(const struct plan_link *l)
{
	switch (l->rec.how) {
	case FMT_CL_TRIPS: return COUNTS_TRIPS;
	case FMT_CL_RATE: return COUNTS_RATE;
	case FMT_CL_REPLAY: return COUNTS_REPLAY;
	default: return COUNTS_RATIO;
	}
}

/* Standard deviation of the log of what a link's windows gave, as far as more of them would lessen it. */
static double plan_uncertain(const struct plan_link *l)
{
	const struct counts_sums *s = &l->sums;
	double ratio = counts_sums_ratio(s), scatter;
	bool same;

	if (!(s->x > 0))
		return UNKNOWN_SD;
	scatter = counts_sums_scatter(s);
	/* all alike are a whole number */
	same = l->rec.how == FMT_CL_TRIPS && scatter < 1e-9 * ratio * ratio &&
	       fabs(ratio - round(ratio)) < 1e-9 * ratio;
	return fmin(sqrt(log1p(counts_chance(s, scatter, how_of(l), same) / (ratio * ratio))), UNKNOWN_SD);
}

/* ---- worth ---- */

static double share_of_entries(const struct plan_func *callee, const struct plan_link *l)
{
	return callee->entries > 0 ? l->rec.seen / callee->entries : 0;
}

static bool function_rate_known(const struct plan *p, const struct plan_func *f)
{
	return plan_has_graph(f) && f->rate[0] != PLAN_NONE && !p->link[f->rate[0]].off &&
	       plan_uncertain(&p->link[f->rate[0]]) < KNOWN_RATE;
}

static void add_callee(struct plan *p, uint32_t i, double factor)
{
	const struct plan_func *f = &p->func[i];

	for (uint32_t k = 0; k < f->callers; k++) {
		const struct plan_link *l = &p->link[f->caller[k]];

		if (l->parent_func != i)
			p->func[l->parent_func].need[l->parent] += factor * share_of_entries(f, l) * f->incl;
	}
}

static void set_needs(struct plan *p, bool own)
{
	for (uint32_t i = 0; i < p->funcs; i++)
		for (uint32_t n = 0; plan_has_graph(&p->func[i]) && n < p->func[i].runs.nodes; n++)
			p->func[i].need[n] = own ? p->func[i].node_recent[n] : 0;
}

static void sum_regions(const struct plan *p, struct plan_func *f)
{
	const struct cfg *c = &f->runs.cfg;

	for (uint32_t n = 0; n < f->runs.nodes; n++)
		f->region[n] = f->runs.node[n].kind == FMT_CN_LOOP ? 0 : f->need[n];
	for (uint32_t n = 0; n < f->runs.nodes; n++)
		for (uint32_t l = f->runs.node[n].loop; l != CFG_NONE; l = c->loop[l].parent)
			f->region[f->runs.node_of[c->loop[l].header]] += f->need[n];
	/* a loop's trips hang on what leads to it */
	for (uint32_t k = 0; k < f->links; k++) {
		const struct plan_link *l = &p->link[f->inner[k]];

		if (l->rec.how == FMT_CL_TRIPS && !l->off && f->runs.node[l->parent].kind == FMT_CN_BLOCK)
			f->region[l->parent] += f->region[l->child];
	}
	/* all others hang on the clock */
	if (f->clock != PLAN_NONE)
		f->region[f->clock] = f->incl;
}

/* Of the ratio's windows hardly one met the anchor: what is below runs far more often, which hits cannot tell. */
static bool seldom(const struct plan_link *l)
{
	return l->sums.windows >= 4 && l->sums.x < SELDOM * l->sums.windows;
}

/* A list may be another one before it is walked: only where it is too long to be counted by hits. */
static bool can_trip(const struct plan *p, uint32_t link)
{
	const struct plan_link *l = &p->link[link], *ratio;
	const struct plan_func *f = &p->func[l->child_func];

	if (l->off || l->fails >= 8)
		return false;
	if (!(l->rec.flags & FMT_CL_LIST) || f->ratio[l->child] == PLAN_NONE)
		return true;
	ratio = &p->link[f->ratio[l->child]];
	return seldom(ratio) || f->runs.node[ratio->parent].block == CFG_NONE;
}

/* Its trip count can be had. */
static bool has_trips(const struct plan *p, const struct plan_func *f, uint32_t n)
{
	return f->trips[n] != PLAN_NONE && can_trip(p, f->trips[n]);
}

/* While a breakpoint is armed, what lies beside it crawls: per time, all else happens less often then. */
static bool disturbs(const struct plan *p, const struct plan_func *f, uint32_t n)
{
	return plan_line_share(p, f->module, f->runs.node[n].addr) * (p->near - 1) > DISTURB_MOST;
}

/* Entries; loops of what is entered too rarely; the clock of a graph that tells nothing. */
static bool worth_timing(const struct plan *p, const struct plan_func *f, uint32_t n)
{
	const struct runs_node *k = &f->runs.node[n];
	uint32_t around, above;
	const struct plan_link *l;

	if (k->block == CFG_NONE || disturbs(p, f, n))
		return false;
	if (!n || n == f->clock)
		return true;
	if (k->kind != FMT_CN_LOOP && f->region[n] <= TIMED_BLOCK * p->total)
		return false;
	around = k->kind == FMT_CN_LOOP ? f->runs.cfg.loop[k->loop].parent : k->loop;
	above = around == CFG_NONE ? 0 : f->runs.node_of[f->runs.cfg.loop[around].header];
	if (f->runs.node[above].block == CFG_NONE)
		return true;
	if (f->rate[above] == PLAN_NONE)
		return false;
	l = &p->link[f->rate[above]];
	/* of what is never entered trips tell nothing */
	return (l->sums.x > SLOW_SECONDS && l->sums.y < SLOW_HITS) ||
	       (l->sums.windows >= 3 && l->sums.y < MODERATE * l->sums.x && (l->sums.y < 1 || !has_trips(p, f, n)));
}

/* Its rate is none that is believed, however often it is timed. */
static bool is_too_fast(const struct plan_link *l)
{
	return l->rec.how == FMT_CL_RATE && l->sums.y >= COUNTS_RATE_HITS && l->sums.y > COUNTS_RATE_MOST * l->sums.x;
}

/* Does one rate tell how fast the code runs? Amounts are unknown until then: what has met hits before is timed
 * again, rather than one more place of which nothing is known. */
static bool speed_measured(const struct plan *p)
{
	for (uint32_t k = 0; k < p->timings; k++) {
		const struct plan_func *f = &p->func[p->timing[k].func];
		uint32_t link = f->rate[p->timing[k].node];
		const struct plan_link *l = link == PLAN_NONE ? NULL : &p->link[link];

		if (l && !l->off && l->sums.windows >= COUNTS_RATE_WINDOWS && l->sums.y >= COUNTS_RATE_HITS &&
		    !is_too_fast(l))
			return true;
	}
	return false;
}

static void list_timings(struct plan *p)
{
	p->timings = 0;
	for (uint32_t i = 0; i < p->funcs; i++) {
		const struct plan_func *f = &p->func[i];

		for (uint32_t n = 0; plan_has_graph(f) && n < f->runs.nodes; n++) {
			if ((n ? f->region[n] : f->incl) <= TIMING_SHARE * p->total || !worth_timing(p, f, n))
				continue;
			if (!GROW(p->timing, p->timings, p->timing_cap, 64))
				return;
			p->timing[p->timings++] = (struct plan_timing){ i, n };
		}
	}
}

void plan_worth(struct plan *p)
{
	for (uint32_t i = 0; i < p->funcs; i++)
		p->func[i].incl = p->func[i].recent;
	/* what callees take belongs to where they are called from, too */
	for (int round = 0; round < ROUNDS; round++) {
		set_needs(p, false);
		for (uint32_t i = 0; i < p->funcs; i++)
			add_callee(p, i, 1);
		for (uint32_t i = 0; i < p->funcs; i++) {
			struct plan_func *f = &p->func[i];
			double sum = f->recent;

			for (uint32_t n = 0; plan_has_graph(f) && n < f->runs.nodes; n++)
				sum += f->need[n];
			f->incl = fmin(sum, p->total);
		}
	}
	set_needs(p, true);
	for (uint32_t i = 0; i < p->funcs; i++)
		add_callee(p, i, function_rate_known(p, &p->func[i]) ? 0.2 : 1);
	for (uint32_t i = 0; i < p->funcs; i++)
		if (plan_has_graph(&p->func[i]))
			sum_regions(p, &p->func[i]);
	list_timings(p);
	p->speed_measured = speed_measured(p);
}

double plan_hangs_below(const struct plan *p, const struct plan_link *l)
{
	const struct plan_func *f = &p->func[l->child_func];

	if (l->rec.flags & FMT_CL_CALL)
		return share_of_entries(f, l) * f->incl;
	return l->child ? f->region[l->child] : f->incl;
}

/* Hits; what crawls beside breakpoints; and while one window is open there is no other. */
static double window_cost(const struct plan *p, const struct plan_link *l)
{
	const struct plan_func *f = &p->func[l->child_func];
	double slow = plan_line_share(p, f->module, f->runs.node[l->child].addr) * (p->near - 1);

	return (l->rec.how == FMT_CL_RATIO ? 1 : 0.5) + l->took_ns / WINDOW_NS +
	       slow / (1 + slow) * l->took_ns / (RATIO_HITS / 2 * p->hit_ns);
}

/* The child's rate is known by itself. */
static bool timed(const struct plan *p, const struct plan_link *l)
{
	const struct plan_func *f = &p->func[l->child_func];

	return !(l->rec.flags & FMT_CL_CALL) && f->rate[l->child] != PLAN_NONE && !p->link[f->rate[l->child]].off &&
	       plan_uncertain(&p->link[f->rate[l->child]]) < 2 * KNOWN_RATE;
}

/* Bursts tell as well, and cost the target nothing. */
static bool replayed(const struct plan *p, const struct plan_link *l)
{
	const struct plan_link *r = l->replay == PLAN_NONE ? NULL : &p->link[l->replay];

	return r && r->sums.x >= REPLAY_RUNS && plan_uncertain(r) < REPLAY_SD;
}

static double gain(const struct plan *p, const struct plan_link *l)
{
	double sd = plan_uncertain(l), below = plan_hangs_below(p, l), worth, windows = l->sums.windows;
	/* riding along in a short window says little of what needs a long one, which may be the only rate to be had */
	double idle = p->speed_measured ? l->sums.windows : l->tries;

	if (l->off)
		return 0;
	/* what all hangs below changes no part of the whole */
	worth = below * fmax(1 - below / fmax(p->total, 1), SCALE_WORTH) * (sd < GOOD_SD ? 0.05 * sd : sd);
	/* nothing comes of it, but it might: most of what is always on the stack is never entered again */
	if (l->rec.how == FMT_CL_RATE && l->sums.x > SLOW_SECONDS && l->sums.y < 2)
		worth *= 0.02;
	else if (is_too_fast(l))
		worth *= 0.02;
	else if (l->rec.how == FMT_CL_RATE && l->sums.y < 1)
		worth /= 1 + idle * idle / (IDLE_WINDOWS * IDLE_WINDOWS);
	if (l->rec.how == FMT_CL_RATIO && (seldom(l) || timed(p, l) || replayed(p, l)))
		worth *= 0.05;
	if (l->sums.windows && l->sums.windows < 3)
		worth *= BEGUN;
	/* what is always on the stack, most of all: however long a window waits, it is not met */
	if (l->rec.how != FMT_CL_RATE)
		worth *= fmin(1, (l->sums.x + 1) / (l->tries + 1));
	/* a window that saw little has told little */
	if (l->rec.how != FMT_CL_RATE)
		windows = fmax(windows / 4,
			       fmin(windows, 1 + l->sums.x / (l->rec.how == FMT_CL_TRIPS ? FULL_TRIPS : FULL_RATIO)));
	return worth / ((2.0 * windows + 1) * (1 + 2.0 * l->fails) * window_cost(p, l));
}

/* ---- which link ---- */

/* The trip count stands for the ratio as long as it can be had. */
static bool trips_instead(const struct plan *p, const struct plan_func *f, uint32_t link)
{
	return !(p->link[link].rec.flags & FMT_CL_CALL) && has_trips(p, f, p->link[link].child);
}

static bool measurable(const struct plan *p, const struct plan_func *f, uint32_t link)
{
	const struct plan_link *l = &p->link[link];

	if (l->off || l->rec.how == FMT_CL_ONCE)
		return false;
	if (l->rec.flags & FMT_CL_CALL)
		return !(p->func[l->child_func].rec.flags & FMT_CF_RECURSIVE);
	if (l->rec.flags & FMT_CL_LIST)
		return can_trip(p, link);
	if (l->rec.how != FMT_CL_RATIO)
		return true;
	/* an entry in a loop's header is hit by every iteration */
	return f->runs.node[l->parent].block != CFG_NONE && !trips_instead(p, f, link);
}

/* Of function i, which could be measured where it runs: within it, and from its calls to what they enter.
 * What enters it is not: windows that begin where a callee runs would find that it is called always. */
static uint32_t link_of(const struct plan_func *f, uint32_t k)
{
	return k < f->links ? f->inner[k] : f->out[k - f->links];
}

/* Sampled in a function, its callers are at work as well. PLAN_NONE: no caller is known. */
static uint32_t draw_caller(struct plan *p, uint32_t i)
{
	const struct plan_func *f = &p->func[i];
	double at = plan_uniform(p) * f->entries;

	for (uint32_t k = 0; k < f->callers; k++) {
		at -= p->link[f->caller[k]].rec.seen;
		if (at <= 0)
			return p->link[f->caller[k]].parent_func == i ? PLAN_NONE : p->link[f->caller[k]].parent_func;
	}
	return PLAN_NONE;
}

/* Of function *i and of those that called it: by what each would tell for its cost, squared, or what is dear would take
 * as much as it could tell. *i becomes its function. */
static uint32_t draw_inner(struct plan *p, uint32_t *i)
{
	uint32_t found = PLAN_NONE, func = *i;
	double total = 0;

	for (int depth = 0; depth < CALLERS_DEEP && func != PLAN_NONE; depth++, func = draw_caller(p, func)) {
		const struct plan_func *f = &p->func[func];

		for (uint32_t k = 0; plan_has_graph(f) && k < f->links + f->outs; k++) {
			uint32_t link = link_of(f, k);
			double g = measurable(p, f, link) ? gain(p, &p->link[link]) : 0;

			g *= g;
			total += g;
			if (g > 0 && plan_uniform(p) * total < g) {
				found = link;
				*i = func;
			}
		}
	}
	return found;
}

/* `like` (hits per second, 0: any): of about that rate. `spare`: of the time, what hits may still take:
 * what they cost is known to some tenths only, and must not be most of what is measured. */
static bool draw_timing(struct plan *p, double like, double spare, const struct plan_job *have, plan_mapped_fn mapped,
			void *ctx, struct plan_timing *out)
{
	double total = 0;
	bool found = false;

	for (uint32_t k = 0; k < p->timings; k++) {
		uint32_t i = p->timing[k].func, n = p->timing[k].node;
		const struct plan_func *f = &p->func[i];
		struct plan_link blank = { .rec.how = FMT_CL_RATE, .child_func = i, .child = n, .replay = PLAN_NONE };
		const struct plan_link *l = f->rate[n] == PLAN_NONE ? &blank : &p->link[f->rate[n]];
		double g, rate = l->sums.x > 0 ? l->sums.y / l->sums.x : 0;
		bool again = false;

		/* along with others comes nothing that was never met: each slot costs at every switch of threads */
		if (have->links && l->sums.windows >= IDLE_RIDES && l->sums.y < 1)
			continue;
		if (l->off || (like > 0 && rate > 0 && (rate > 8 * like || rate < like / 8)))
			continue;
		if (have->links && (rate > 0 ? rate : UNKNOWN_RATE) * 1e-9 * p->hit_ns > spare)
			continue;
		for (unsigned j = 0; j < have->links; j++)
			again |= f->rate[n] == have->link[j];
		g = again ? 0 : gain(p, l);
		if (!(g > 0) || !mapped(ctx, f->module))
			continue;
		if (!p->speed_measured && l->sums.y > 0 && !is_too_fast(l))
			g *= UNMEASURED;
		total += g;
		if (plan_uniform(p) * total < g) {
			*out = p->timing[k];
			found = true;
		}
	}
	return found;
}

/* ---- the window ---- */

static struct plan_slot slot_at(const struct plan *p, uint32_t i, uint32_t n, uint32_t limit, bool ends)
{
	const struct plan_func *f = &p->func[i];

	return (struct plan_slot){ .module = f->module,
				   .vaddr = f->runs.node[n].addr,
				   .reg = EXECWIN_NO_REG,
				   .limit = limit,
				   .ends = ends,
				   .entry_of = n ? PLAN_NONE : i };
}

/* Threads are met when they have begun long since: their function's end is still to come. A block that
 * every run passes and that returns. */
static uint64_t end_of_function(const struct plan *p, const struct plan_func *f)
{
	const struct cfg *c = &f->runs.cfg;

	for (uint32_t b = 1; f->runs.complete && b < c->blocks; b++) {
		uint64_t addr = cfg_block_addr(c, b);

		if ((c->block[b].flags & CFG_RETURNS) && f->runs.node_of[b] == 0 &&
		    plan_line_share(p, f->module, addr) * (p->near - 1) <= DISTURB_MOST)
			return addr;
	}
	return 0;
}

/* It is another link then: what was seen of the entry says nothing about the end. In windows of whole processes threads
 * are seen to begin. */
static uint32_t choose_end(struct plan *p, uint32_t link, struct plan_slot *slot)
{
	uint32_t i = p->link[link].child_func;
	const struct plan_link *l = &p->link[link];
	uint64_t end;

	if (p->whole_process || l->child || (!l->at_end && (l->sums.windows < END_WINDOWS || l->sums.y > 0)) ||
	    !(end = end_of_function(p, &p->func[i])))
		return link;
	if (!l->at_end) {
		plan_void(p, link);
		p->func[i].rate[0] = PLAN_NONE;
		link = plan_rate_link(p, i, 0);
		if (link == PLAN_NONE)
			return link;
		p->link[link].at_end = true;
		p->link[link].time_ns = END_NS;
	}
	slot->vaddr = end;
	slot->entry_of = PLAN_NONE;
	return link;
}

static bool timing_job(struct plan *p, unsigned slots, plan_mapped_fn mapped, void *ctx, struct plan_job *job)
{
	double like = 0, seconds = 0, spare = HITS_PART;

	*job = (struct plan_job){ .how = FMT_CL_RATE, .process = p->whole_process };
	while (job->links < slots && (seconds < LONG_SECONDS || job->links < LONG_SLOTS)) {
		struct plan_timing t;
		const struct plan_link *l;
		uint32_t link;

		if (!draw_timing(p, like, spare, job, mapped, ctx, &t))
			break;
		link = plan_rate_link(p, t.func, t.node);
		if (link == PLAN_NONE)
			break;
		job->slot[job->slots] = slot_at(p, t.func, t.node, RATE_HITS, false);
		link = choose_end(p, link, &job->slot[job->slots]);
		if (link == PLAN_NONE)
			break;
		job->slots++;
		job->link[job->links++] = link;
		l = &p->link[link];
		spare -= (l->sums.x > 0 && l->sums.y > 0 ? l->sums.y / l->sums.x : UNKNOWN_RATE) * 1e-9 * p->hit_ns;
		if (job->links == 1) {
			like = l->sums.y > 0 && l->sums.x > 0 ? l->sums.y / l->sums.x : 0;
			seconds = (double)l->time_ns * 1e-9;
		}
	}
	job->hit_limit = RATE_HITS * job->slots;
	job->time_ns = (uint64_t)(fmax(seconds, job->process ? PROCESS_SECONDS : 0) * 1e9);
	job->longest_ns = WAIT_TIMES * job->time_ns;
	return job->slots;
}

static bool trips_job(const struct plan *p, uint32_t link, unsigned slots, struct plan_job *job)
{
	const struct plan_link *l = &p->link[link];
	const struct plan_func *f = &p->func[l->child_func];
	const struct runs_trips *t = &f->runs.trips[l->loop];
	bool alone = trip_pairs_alone(&f->runs.cfg, l->loop, t);
	uint32_t exits = TRIP_PAIRS_HITS;

	if (t->exits + 1 > slots)
		return false;
	*job = (struct plan_job){
		.how = FMT_CL_TRIPS, .links = 1, .link = { link }, .slots = t->exits + 1, .time_ns = l->time_ns
	};
	/* the thread that was met was not at its beginning: others may be */
	job->process = p->whole_process && l->fails;
	job->within = t->in.entry_known && (alone || t->exits + 2 <= slots);
	/* slow to come, and dear to wait for */
	if (job->within && l->took_ns > LONG_TRIPS_NS)
		exits = 1;
	/* a list is there for as long as nobody changes it: but for the way out of the turn where the window began */
	job->list = l->rec.flags & FMT_CL_LIST;
	if (job->list)
		exits = 2;
	job->slot[0] = (struct plan_slot){ .module = f->module,
					   .vaddr = t->entry,
					   .entry_of = PLAN_NONE,
					   .limit = TRIP_PAIRS_HITS + 1,
					   .ends = true,
					   .reg = t->in.entry_known ? EXECWIN_NO_REG : t->in.entry_reg };
	for (uint32_t i = 0; i < t->exits; i++)
		job->slot[i + 1] = (struct plan_slot){ .module = f->module,
						       .vaddr = t->exit[i],
						       .entry_of = PLAN_NONE,
						       .limit = exits,
						       .ends = true,
						       .reg = t->in.exit[t->exit_at[i]].reg };
	if (job->within && !alone)
		job->slot[job->slots++] = slot_at(p, l->child_func, l->child, 1, false);
	job->hit_limit = 3 * TRIP_PAIRS_HITS;
	return true;
}

/* What else hangs on the anchor of a job of function i: by what it would tell; or, `cold`, where no time was seen
 * to be spent: a breakpoint that is never hit costs nothing, and tells. */
static uint32_t draw_along(struct plan *p, uint32_t i, const struct plan_job *have, bool cold)
{
	const struct plan_func *f = &p->func[i];
	const struct plan_link *first = &p->link[have->link[0]];
	uint32_t found = PLAN_NONE;
	double total = 0;

	for (uint32_t k = 0; k < f->links + f->outs; k++) {
		uint32_t link = link_of(f, k);
		const struct plan_link *l = &p->link[link];
		bool again = false;
		double g;

		if (l->parent != first->parent || l->rec.how != FMT_CL_RATIO || l->rec.site != first->rec.site ||
		    !measurable(p, f, link))
			continue;
		for (unsigned j = 0; j < have->links; j++)
			again |= have->link[j] == link;
		g = again ? 0 : cold ? l->sums.windows < COLD_WINDOWS : gain(p, l);
		total += g;
		if (g > 0 && plan_uniform(p) * total < g)
			found = link;
	}
	return found;
}

static void take_along(struct plan *p, uint32_t i, unsigned slots, bool cold, struct plan_job *job)
{
	while (job->slots < slots) {
		uint32_t other = draw_along(p, i, job, cold);

		if (other == PLAN_NONE)
			break;
		job->slot[job->slots++] = slot_at(p, p->link[other].child_func, p->link[other].child, 1, true);
		job->link[job->links++] = other;
	}
}

static bool ratio_job(struct plan *p, uint32_t i, uint32_t link, unsigned slots, struct plan_job *job)
{
	const struct plan_link *l = &p->link[link];
	unsigned hot;

	if (slots < 2)
		return false;
	*job = (struct plan_job){ .how = FMT_CL_RATIO,
				  .links = 1,
				  .link = { link },
				  .slots = 2,
				  .within_ns = l->within_ns,
				  .time_ns = l->time_ns };
	job->slot[0] = slot_at(p, l->parent_func, l->parent, 1, true);
	job->slot[1] = slot_at(p, l->child_func, l->child, 1, true);
	take_along(p, i, slots, false, job);
	hot = job->slots;
	take_along(p, i, slots, true, job);
	/* the hottest of them is the clock: a total would favour what surrounds it */
	for (unsigned k = 0; k < job->slots; k++)
		job->slot[k].limit = RATIO_HITS / hot;
	job->hit_limit = RATIO_HITS;
	return true;
}

static bool job_at(struct plan *p, uint32_t i, unsigned slots, plan_mapped_fn mapped, void *ctx, struct plan_job *job)
{
	uint32_t link = PLAN_NONE;
	bool found = false;

	/* Wherever that is: what is timed only where nothing else is left to measure is timed in some
	 * phases and threads, not in others. */
	if (plan_uniform(p) < RATE_PART + (1 - RATE_PART) * p->barren) {
		if (p->timing_ns > 0)
			return timing_job(p, slots, mapped, ctx, job);
		p->untimed++;
	}
	if (i != PLAN_NONE)
		link = draw_inner(p, &i);
	if (link != PLAN_NONE)
		found = p->link[link].rec.how == FMT_CL_TRIPS ? trips_job(p, link, slots, job)
							      : ratio_job(p, i, link, slots, job);
	p->barren += BARREN_SPEED * (!found - p->barren);
	return found;
}

void plan_plenty(struct plan *p, bool plenty)
{
	p->plenty = plenty;
}

void plan_whole_process(struct plan *p, bool whole)
{
	p->whole_process = whole;
}

/* No other window may be opened for long; those that time have their part of all time. */
static bool holds_up(const struct plan *p, const struct plan_job *job)
{
	return job->how != FMT_CL_RATE && p->link[job->link[0]].took_ns > WINDOW_NS;
}

bool plan_choose(struct plan *p, struct module *m, uint64_t vaddr, unsigned slots, plan_mapped_fn mapped, void *ctx,
		 struct plan_job *job)
{
	double worth = 0;

	if (!slots ||
	    !job_at(p, plan_func_at(p, m, vaddr), slots > EXECWIN_SLOTS ? EXECWIN_SLOTS : slots, mapped, ctx, job))
		return false;
	for (unsigned i = 0; i < job->links; i++)
		worth += gain(p, &p->link[job->link[i]]);
	/* hits are scarce, and so is time while a window waits: where all is known, wait for a sample elsewhere */
	if ((!p->plenty || holds_up(p, job)) && worth < WORTH_MIN * p->level) {
		p->level *= LEVEL_DROP;
		return false;
	}
	p->level += LEVEL_SPEED * (worth - p->level);
	return true;
}
