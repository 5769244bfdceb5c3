// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_segments.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi.h"
#include "attr/attr.h"
#include "kmod-free/call_segments.h"
#include "record/emulate_data.h"
#include "record/emulate_env.h"
#include "record/ledger.h"
#include "record/segment_run.h"
#include "record/segment_weights.h"
#include "record/segment_worth.h"
#include "record/stretch_ticks.h"
#include "measure/prices.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/random.h"

#define DRAW_NS FMT_SEGMENT_STRETCH_NS /* for which returns are drawn, where they are cheap */
#define DRAW_LEAST_NS 200000.0         /* where returns are dear; by hand */
#define WAIT_NS 25000000ull            /* for the ends of those that were drawn; longer ones are censored */
#define CARRIED_WANTED 4.0             /* in a stretch */
#define TIMED_WANTED 40.0              /* segments whose time is taken, of a stretch; by hand */
#define CARRIED_MOST                                                                                                   \
	0.25 /* chance of a return: a larger one would draw what follows the moment when the recorder is ready */
#define TIMED_MOST 0.5
#define PAUSE_NS 60e6            /* between stretches, at least half of it */
#define LONGER_MOST 8u           /* times, where stretches in a row saw no return: half a second; by hand */
#define LONGEST_PAUSE_NS 5e9     /* between stretches: a recording of ten seconds has two; by hand */
#define FIRST_RATE 2e3           /* returns a second, before any was counted */
#define LIMIT_TIMES 4.0          /* returns beyond what was expected, and none is drawn any more */
#define PAGES_ASSUMED_NS 30000.0 /* what copying a segment's pages costs the target, until it was seen; by hand */
#define OWN_ASSUMED_NS 3e6       /* what carrying one on costs us, until it was seen; by hand */
#define COST_SPEED 0.1           /* of the running means of both; by hand */
#define OWN_CREDIT_NS 200e6      /* of ours, at the start: a recording of some seconds needs as many as a long one */
#define PLENTY 3.0               /* times its share, while what others would have is not used */
#define HELD_MOST 65536          /* segments held back; by hand */
/* Of returns of a call behind which little happens: what one stands for is at most the inverse. */
#define KEPT_LEAST 0.05
#define COUNTS_ROOM 65536 /* places of one segment's code */

enum part_segments_stage { RESTS, DRAWS, WAITS_FOR_ENDS };

struct segments_part {
	struct session *s;
	struct ledger *ledger;
	struct call_segments *calls; /* NULL once stopped */
	struct segment_run *run;
	struct counts_part *counts; /* NULL: nobody asks what ran */
	struct emu_count *count;
	/* By the call that returns: timed segments, their time squared, and how those that were carried on came out. */
	struct after_call {
		double timed, square, carried, verified;
	} after[WIRE_CALLS];
	double kept[WIRE_CALLS]; /* in this stretch: see call_segments_draw */
	double kept_usually;     /* of all returns */
	struct emulate_env sees;
	struct segment_env env;
	double own;      /* part of a CPU's time */
	double own_left; /* ns; below 0: spent in advance */
	struct segment_worth worth;
	struct stretch_ticks ticks;
	uint64_t earned; /* up to then */
	enum part_segments_stage stage;
	uint64_t next, from, until;
	bool asked; /* for pages */
	uint32_t stretch;
	unsigned silent;          /* stretches in a row in which no call returned */
	struct fmt_segment *held; /* of this stretch */
	size_t held_count, held_cap;
	struct {
		uint64_t returns, passed, others, timed, carried;
	} at_begin;
	uint32_t pid;          /* whose segment is carried on next */
	uint64_t ends, chance; /* ends of this stretch, among which the next process is drawn */
	double rate;           /* returns a second of a stretch, lately */
	double pages_ns, own_ns, stretch_own_ns, stretch_pages_ns;
	double run_ns; /* what the last one that was carried on took */
	double pass_ns, timed_ns, gap_ns;
	struct {
		uint64_t stretches, state[FMT_SEG_STATES], cause[FMT_SEGCS], own_ns, failed, cut, untold;
	} n;
};

/* ---- what is seen of the target ---- */

static bool see_process(void *ctx, uint32_t pid)
{
	struct segments_part *g = ctx;

	g->sees.denied &= g->sees.pid == pid;
	return emulate_env_process(&g->sees, pid);
}

static bool is_denied(void *ctx)
{
	const struct segments_part *g = ctx;

	return g->sees.denied;
}

/* ---- one segment ---- */

static double recent_mean(double mean, double value)
{
	return mean + COST_SPEED * (value - mean);
}

/* Where it is not verified, too: a path that the thread did not take is one that its code might. */
static int end_data(struct segments_part *g, struct emulate_data *data)
{
	uint64_t insns;
	const struct emu *e = segment_run_emu(g->run, &insns);

	return is_denied(g) ? 0 : emulate_data_end(data, e, NULL, 0, insns);
}

static int carry_on(void *ctx, const struct sample *m)
{
	struct segments_part *g = ctx;
	uint64_t began = clock_cpu(), took;
	struct emulate_data *data;
	int err = 0;

	g->asked = false;
	g->stretch_pages_ns += m->pages_ns;
	g->pages_ns = recent_mean(g->pages_ns, m->pages_ns);
	data = g->counts ? counts_part_data(g->counts, m) : NULL;
	if (segment_run_begin(g->run, m, data ? emulate_data_access : NULL, data))
		g->n.failed++;
	else if (data)
		err = end_data(g, data);
	took = clock_cpu() - began;
	g->n.own_ns += took;
	g->stretch_own_ns += (double)took;
	g->own_ns = recent_mean(g->own_ns, (double)took);
	g->run_ns = (double)took;
	return err;
}

/* A return address or one past an instruction: what lies before it. */
static bool place_of_code(void *ctx, uint64_t runtime, struct module **m, uint64_t *vaddr)
{
	struct segments_part *g = ctx;
	struct place at;

	if (!emulate_env_find(&g->sees, runtime - 1, &at))
		return false;
	*m = at.module;
	*vaddr = at.vaddr + 1;
	return true;
}

/* How much is learned from one behind each call goes with how long it lasts, if it can be verified: so often they are
 * carried on. Returns which part of all returns that is. */
static double choose_kept(struct segments_part *g)
{
	double most = 0, all = 0, kept = 0;

	for (unsigned i = 0; i < WIRE_CALLS; i++) {
		const struct after_call *c = &g->after[i];

		g->kept[i] = c->timed > 0 ? sqrt(c->square / c->timed) * (c->verified + 1) / (c->carried + 2) : NAN;
		most = fmax(most, g->kept[i]);
	}
	for (unsigned i = 0; i < WIRE_CALLS; i++) {
		bool known = most > 0 && !isnan(g->kept[i]);

		/* none ended in time behind it, or none came by yet: as long as some are verified */
		g->kept[i] =
			known ? fmax(KEPT_LEAST, g->kept[i] / most)
			      : fmax(KEPT_LEAST, fmin(1, 2 * (g->after[i].verified + 1) / (g->after[i].carried + 2)));
		all += g->after[i].timed;
		kept += g->after[i].timed * g->kept[i];
	}
	return all > 0 ? kept / all : 1;
}

static void learn_of_call(struct segments_part *g, const struct fmt_segment *s, bool ran)
{
	struct after_call *c = &g->after[(uint32_t)s->nr % WIRE_CALLS];

	if (s->state == FMT_SEG_TIMED && s->cause == FMT_SEGC_NONE) {
		c->timed++;
		c->square += s->ns * s->ns;
	} else if (s->state != FMT_SEG_TIMED) {
		c->carried++;
		c->verified += ran;
	}
}

static void tell_counts(struct segments_part *g, double stands_for)
{
	uint64_t began = clock_cpu(), took, insns;
	struct plan_carried s = { .stands_for = stands_for, .count = g->count };

	s.counts = segment_run_counts(g->run, g->count, COUNTS_ROOM);
	s.call = emu_calls(segment_run_emu(g->run, &insns), &s.calls);
	/* what was mapped meanwhile made the recorder forget it, or it went through too much code */
	if (!s.counts || s.counts > COUNTS_ROOM)
		g->n.untold++;
	else
		counts_part_segment(g->counts, &s, place_of_code, g);
	took = clock_cpu() - began;
	g->n.own_ns += took;
	g->stretch_own_ns += (double)took;
}

static int take_end(void *ctx, const struct call_segment_end *e)
{
	struct segments_part *g = ctx;
	struct fmt_segment *r;
	bool ran = false;

	/* each process as often as it calls */
	g->ends++;
	if (e->pid && random_next(&g->chance) % g->ends == 0)
		g->pid = e->pid;
	if (g->held_count >= HELD_MOST || !GROW(g->held, g->held_count, g->held_cap, 256)) {
		g->n.failed++;
		return 0;
	}
	r = &g->held[g->held_count++];
	*r = (struct fmt_segment){ .begun = e->begun,
				   .ns = (double)e->ran_ns - g->gap_ns,
				   .stretch = g->stretch,
				   .pid = e->pid,
				   .tid = e->tid,
				   .gap_ns = (uint32_t)g->gap_ns,
				   .faults = (uint32_t)e->faults,
				   .nr = e->from_nr,
				   .entry_nr = e->nr };
	if (e->carried) {
		ran = segment_run_end(g->run, e, r);
		segment_worth_learn(&g->worth, g->run_ns, ran);
		g->run_ns = 0;
		if (ran && g->counts)
			tell_counts(g, 1 / g->kept[(uint32_t)e->from_nr % WIRE_CALLS]);
	} else {
		r->state = FMT_SEG_TIMED;
		r->cause = e->open     ? FMT_SEGC_LONG
			   : e->nr < 0 ? FMT_SEGC_UNSEEN
			   : !e->timed ? FMT_SEGC_TIME
				       : FMT_SEGC_NONE;
	}
	learn_of_call(g, r, ran);
	if (r->state == FMT_SEG_LOST || !e->timed)
		r->ns = 0;
	return 0;
}

static int read_ring(struct segments_part *g)
{
	const struct call_segment_reader to = { .begun = carry_on, .ended = take_end, .ctx = g };

	return call_segments_read(g->calls, &to);
}

/* ---- a stretch ---- */

static uint64_t more_of(const struct segments_part *g, enum bpf_counter which, uint64_t before)
{
	return call_segments_counter(g->calls, which) - before;
}

/* What the next one is going to cost the target, by recent ones. */
static double expected_cost(const struct segments_part *g, double draw_ns)
{
	double returns = g->rate * draw_ns / 1e9, attach = price_of(session_prices(g->s), PRICE_CALL_ATTACH);

	return 2 * attach * ledger_running(g->ledger) + returns * g->pass_ns * (1 + WAIT_NS / draw_ns) +
	       fmin(TIMED_WANTED, returns * TIMED_MOST) * g->timed_ns +
	       fmin(CARRIED_WANTED, returns * CARRIED_MOST) * session_coupled(g->s, g->pages_ns + g->timed_ns);
}

/* So long that what goes by costs no more than what is drawn. */
static double length_of_draw(const struct segments_part *g)
{
	double drawn = CARRIED_WANTED * g->pages_ns + TIMED_WANTED * g->timed_ns;

	return fmax(DRAW_LEAST_NS, fmin(DRAW_NS, drawn / g->pass_ns / g->rate * 1e9));
}

static void ask_for_segment(struct segments_part *g)
{
	if (g->pid && !g->asked && !segment_run_waits(g->run))
		g->asked = segment_run_ask(g->run, g->calls, g->pid);
}

static int begin_drawing(struct segments_part *g)
{
	double length = length_of_draw(g), returns = g->rate * length / 1e9, kept = choose_kept(g);
	struct call_segments_draw d = { .carried = fmin(CARRIED_MOST, CARRIED_WANTED / (returns * kept)),
					.kept = g->kept,
					.timed = fmin(TIMED_MOST, TIMED_WANTED / returns),
					.most = (uint64_t)fmax(100, LIMIT_TIMES * returns) };
	int err = call_segments_attach(g->calls, NULL);

	if (err)
		return err;
	g->kept_usually = kept;
	g->stretch++;
	g->n.stretches++;
	g->held_count = 0;
	g->ends = 0;
	g->stretch_own_ns = g->stretch_pages_ns = 0;
	g->at_begin.returns = call_segments_counter(g->calls, GC_RETURNS);
	g->at_begin.passed = call_segments_counter(g->calls, GC_PASSED);
	g->at_begin.others = call_segments_counter(g->calls, GC_OTHERS);
	g->at_begin.timed = call_segments_counter(g->calls, GC_TIMED);
	g->at_begin.carried = call_segments_counter(g->calls, GC_CARRIED);
	ask_for_segment(g);
	d.from = g->from = clock_now() + STRETCH_OPENS_NS;
	d.until = g->until = g->from + (uint64_t)length;
	call_segments_open(g->calls, &d);
	g->stage = DRAWS;
	stretch_ticks_begin(&g->ticks, g->stretch, g->from, g->until);
	return 0;
}

/* Those of each kind stand for the returns among which they were drawn, in a stretch that stands for as long a time as
 * any other. */
static int write_drawn(struct segments_part *g, double length)
{
	double returns = (double)more_of(g, GC_RETURNS, g->at_begin.returns);
	const struct stretch_drawn d = { .returns = returns,
					 .timed = (double)more_of(g, GC_TIMED, g->at_begin.timed),
					 .as_long = DRAW_NS / length,
					 .kept = g->kept,
					 .usually = g->kept_usually };
	double each = segment_weights(g->held, g->held_count, &d);
	int err = 0;

	g->rate = fmax(1, recent_mean(g->rate, returns * 1e9 / length));
	for (size_t i = 0; i < g->held_count && !err; i++) {
		struct fmt_segment *r = &g->held[i];

		g->n.state[r->state]++;
		g->n.cause[r->cause] += r->state != FMT_SEG_TIMED;
		err = store_put(session_store(g->s), FMT_SEGMENT, r, sizeof(*r));
	}
	g->held_count = 0;
	if (g->counts)
		counts_part_stretch(g->counts, each);
	return err;
}

/* How long the account earns for what a stretch has cost. */
static double pays_for(const struct segments_part *g, double cost)
{
	double rate = ledger_rate(g->ledger, ACCOUNT_SEGMENTS) * ledger_running(g->ledger);

	return cost / (rate * (ledger_plenty(g->ledger, ACCOUNT_SEGMENTS) ? PLENTY : 1));
}

static int end_drawing(struct segments_part *g, uint64_t now)
{
	const struct call_segment_reader to = { .begun = carry_on, .ended = take_end, .ctx = g };
	uint64_t over = call_segments_over(g->calls);
	double length = (double)((over > g->from && over < g->until ? over : g->until) - g->from), cost, others, pause;
	double budget = session_options(g->s)->budget * (double)sysconf(_SC_NPROCESSORS_ONLN);
	int err = call_segments_close(g->calls, &to);

	if (over) {
		g->n.cut++;
		stretch_ticks_drop(&g->ticks, g->stretch);
	}
	g->asked = false;
	cost = (double)more_of(g, GC_PASSED, g->at_begin.passed) * g->pass_ns +
	       (double)more_of(g, GC_TIMED, g->at_begin.timed) * g->timed_ns +
	       (double)more_of(g, GC_CARRIED, g->at_begin.carried) * g->timed_ns + g->stretch_pages_ns +
	       2 * price_of(session_prices(g->s), PRICE_CALL_ATTACH) * ledger_running(g->ledger);
	others = (double)more_of(g, GC_OTHERS, g->at_begin.others) * g->pass_ns;
	ledger_spend(g->ledger, ACCOUNT_SEGMENTS, session_coupled(g->s, cost));
	g->silent = more_of(g, GC_RETURNS, g->at_begin.returns) ? 0 : g->silent + 1;
	pause = PAUSE_NS * (g->silent < LONGER_MOST ? 1 + g->silent : LONGER_MOST);
	pause = fmax(fmax(pause, others / budget), pays_for(g, session_coupled(g->s, cost))) *
		(0.5 + random_unit(&g->chance));
	g->next = now + (uint64_t)fmin(pause, LONGEST_PAUSE_NS);
	g->own_left -= g->stretch_own_ns;
	segment_worth_fade(&g->worth);
	g->stage = RESTS;
	return err < 0 ? err : write_drawn(g, fmax(1, length));
}

static int segments_part_poll(void *part, struct session *s, uint64_t now)
{
	struct segments_part *g = part;
	double worth;
	int err;

	if (!g->calls)
		return 0;
	if (g->stage == RESTS) {
		worth = segment_worth(&g->worth) * session_own_share(s);
		g->own_left = fmin(OWN_CREDIT_NS * worth, g->own_left + g->own * worth * (double)(now - g->earned));
		g->earned = now;
		if (now < g->next || g->own_left < 0 ||
		    !ledger_allows(g->ledger, ACCOUNT_SEGMENTS, expected_cost(g, length_of_draw(g))))
			return 0;
		err = begin_drawing(g);
		session_soon(s, 1);
		return err;
	}
	err = read_ring(g);
	if (err < 0)
		return err;
	now = clock_now();
	if (g->stage == DRAWS && (now >= g->until || call_segments_over(g->calls))) {
		call_segments_hush(g->calls);
		g->until = now < g->until ? now : g->until;
		g->stage = WAITS_FOR_ENDS;
	}
	if (g->stage == DRAWS)
		ask_for_segment(g);
	else if (!call_segments_under_way(g->calls) || now >= g->until + WAIT_NS)
		return end_drawing(g, now);
	session_soon(s, 1);
	return 0;
}

/* ---- the part ---- */

static int segments_part_sample(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct segments_part *g = part;

	g->sees.stale |=
		m->pid == g->sees.pid && (m->kind == SAMPLE_MMAP || m->kind == SAMPLE_EXIT || m->flags & SF_EXEC);
	/* until a segment has told more */
	if (!g->pid && m->kind == SAMPLE_TICK)
		g->pid = m->pid;
	return stretch_ticks_sample(&g->ticks, session_store(s), m);
}

static int segments_part_start(void *part, struct session *s, struct err *e)
{
	struct targets *t = session_targets(s);
	struct segments_part *g = part;
	const char *why;

	g->earned = clock_now();
	g->next = g->earned + (uint64_t)PAUSE_NS;
	if (t->all)
		call_segments_all(g->calls);
	if (t->tid_count)
		call_segments_threads(g->calls);
	if (t->all || t->cgroup_fd >= 0 || !sampler_by_thread(session_sampler(s), &why))
		return 0;
	for (size_t i = 0; i < (t->tid_count ? t->tid_count : t->count); i++)
		call_segments_add(g->calls, t->tid_count ? t->tids[i] : t->procs[i].pid);
	return call_segments_follow(g->calls, !session_options(s)->no_inherit, e);
}

static void report_segments(struct segments_part *g)
{
	static const enum bpf_counter counted[] = { GC_RETURNS, GC_TIMED,     GC_CARRIED, GC_RESTARTED,
						    GC_COMPAT,  GC_NOT_READY, GC_FULL,    GC_LOST };

	for (unsigned i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		session_count_bpf(g->s, counted[i], call_segments_counter(g->calls, counted[i]));
	session_count(g->s, "segments: stretches in which they were drawn", g->n.stretches, false);
	session_count(g->s, "segments: stretches cut for their calls", g->n.cut, false);
	session_count(g->s, "segments: own CPU time, us", g->n.own_ns / 1000, false);
	session_count(g->s, "segments lost for want of memory", g->n.failed, true);
	session_count(g->s, "segments verified, but what ran of them was forgotten", g->n.untold, true);
	session_count(g->s, "segments lost: record cannot be right", call_segments_malformed(g->calls), true);
	session_count(g->s, "processes whose segments were not drawn", call_segments_not_added(g->calls), true);
}

static int segments_part_second(void *part, struct session *s, uint64_t now)
{
	struct segments_part *g = part;

	if (g->calls)
		report_segments(g);
	/* bursts go on where segments come to nothing */
	if (g->counts)
		counts_part_lend(g->counts, g->own * (1 - segment_worth(&g->worth)));
	return 0;
}

static int segments_part_begun(void *part, struct session *s, struct err *e)
{
	struct segments_part *g = part;

	g->sees.stale = true;
	return 0;
}

static void segments_part_stop(void *part, struct session *s)
{
	struct segments_part *g = part;

	if (!g->calls)
		return;
	if (g->stage != RESTS)
		end_drawing(g, clock_now());
	stretch_ticks_flush(&g->ticks, session_store(s));
	report_segments(g);
	call_segments_free(g->calls);
	g->calls = NULL;
}

static void segments_part_release(void *part)
{
	struct segments_part *g = part;

	call_segments_free(g->calls);
	segment_run_free(g->run);
	free(g->count);
	free(g->held);
	free(g);
}

const struct source source_segments = {
	.name = "segments",
	.summary =
		"how fast code runs: what lies between two system calls, carried on by the recorder and held against both",
	.needs = "bpf bpf-ring btf",
	.start = segments_part_start,
	.sample = segments_part_sample,
	.poll = segments_part_poll,
	.second = segments_part_second,
	.begun = segments_part_begun,
	.stop = segments_part_stop,
	.release = segments_part_release,
};

static int prepare_segments(struct segments_part *g, struct err *e)
{
	struct prices *p = session_prices(g->s);
	int cgroup = session_targets(g->s)->cgroup_fd;

	g->env = (struct segment_env){
		.sees = emulate_env_of(&g->sees), .process = see_process, .denied = is_denied, .ctx = g
	};
	g->run = segment_run_new(&g->env);
	g->count = malloc(COUNTS_ROOM * sizeof(*g->count));
	if (!g->run || !g->count)
		return err_set(e, -ENOMEM, "out of memory");
	g->calls = call_segments_new(sampler_targets_fd(session_sampler(g->s)), 0, e);
	if (!g->calls)
		return e->code;
	price_measure(p, PRICE_SEGMENT_PASSED, NULL, g->calls);
	g->pass_ns = fmax(1, price_of(p, PRICE_SEGMENT_PASSED));
	g->timed_ns = fmax(g->pass_ns, price_of(p, PRICE_SEGMENT_TIMED));
	g->gap_ns = price_of(p, PRICE_SEGMENT_GAP);
	return cgroup >= 0 ? call_segments_cgroup(g->calls, cgroup, e) : 0;
}

int segments_part_add(struct session *s, double own, struct counts_part *counts, struct err *e)
{
	struct segments_part *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	*g = (struct segments_part){ .s = s,
				     .ledger = session_ledger(s),
				     .sees = { .s = s },
				     .own = own,
				     .counts = counts,
				     .own_left = OWN_CREDIT_NS,
				     .rate = FIRST_RATE,
				     .pages_ns = PAGES_ASSUMED_NS,
				     .own_ns = OWN_ASSUMED_NS,
				     .chance = clock_now() | 1 };
	err = prepare_segments(g, e);
	if (err) {
		segments_part_release(g);
		return err;
	}
	err = session_add(s, &source_segments, g, e);
	if (!err)
		ledger_use(session_ledger(s), ACCOUNT_SEGMENTS);
	return err;
}
