// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_counts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/procmap.h"
#include "record/counts_plan.h"
#include "record/emulate.h"
#include "counters.h"
#include "record/ledger.h"
#include "record/located_code.h"
#include "record/poll_interval.h"
#include "record/session_breakpoints.h"
#include "measure/execbp_cost.h"
#include "measure/prices.h"
#include "util/clock.h"
#include "util/map.h"
#include "util/target_memory.h"

#define LIST_MS 1             /* the same, where a list is to be walked behind its loop */
#define LIST_FRESH_NS 5000000 /* after that long it is another one, perhaps */
#define HITS_MS 3             /* a window that ended by its hits is seen to have ended, and the next may be opened */
#define FRESH_NS 3000000      /* an older sample's thread is somewhere else by now */
#define WINDOW_HITS 40        /* as most windows have, with what stops itself; those that take more delay the next */
#define USUAL_NS 1000000.0    /* what most windows last */
#define OTHERS_PART 0.5       /* CPUs beside the first that a window of a process disturbs, at least; by hand */
#define BUILD_NS 50000000     /* of one round of the recording at most, for graphs */
/* Until sums are written, and then twice as long each time, up to a minute: what a recording that is killed loses.
 * Nearly all of them change in any ten seconds of an interpreter. */
#define WRITE_SECONDS 10
#define WRITE_SECONDS_MOST 60
#define PAST 64
#define AGAIN_SECONDS 5  /* so often breakpoints are looked for that could not be had */
#define RETRY_NS 1000000 /* what to measure is chosen no more often */

struct seen_pages;

struct part_counts_past {
	uint32_t tid; /* 0: all threads of... */
	uint32_t pid;
	uint64_t armed, ended;
};

struct exec_price {
	double hit_ns, window_ns;
};

struct counts_part {
	struct counts_opts o;
	struct session *s;
	struct execbp *exec; /* NULL: no windows, or not now */
	struct plan *plan;
	struct emulate *replay; /* NULL: no bursts */
	struct ledger *ledger;
	struct plan_job job; /* of the open window */
	uint32_t pid;
	unsigned taken; /* breakpoints lent from the session */
	bool wants, stopped;
	bool again; /* breakpoints could not be had, and perhaps can */
	/* hit_ns: where they follow each other closely, to be taken off measured times */
	double hit_ns, near, switch_ns;
	struct exec_price price; /* what the target is charged */
	uint64_t next_try;
	unsigned passed; /* samples that were too old */
	struct seen_pages *pages;
	struct part_counts_past past[PAST]; /* recent windows, a ring */
	unsigned pasts;
	uint32_t named; /* functions whose names were asked for */
	uint64_t seconds;
	uint64_t unwritten, write_after; /* seconds: since tables were written, and when they are again */
	struct exec_stats done;
	double slowed;     /* ns */
	struct map tid_of; /* pid -> a thread of it, or 0: it has several */
	struct {
		uint64_t in_windows, unplaced, unopened, no_slots, no_job, forbidden, prompt, processes, on_cpus;
	} n;
};

/* Runtime address of a module's address less that address, in one process. */
static bool bias_in_process(struct counts_part *p, uint32_t pid, const struct module *m, uint64_t *bias)
{
	const struct process *proc = procmap_process(attr_procmaps(session_attr(p->s)), pid);

	for (unsigned i = 0; proc && i < procmap_count(proc); i++) {
		const struct mapping *k = procmap_at(proc, i);
		uint64_t vaddr;

		if (k->module != m->id || !(k->prot & MAP_EXEC))
			continue;
		if (m->kind == FMT_MOD_VDSO || !module_offset_to_vaddr(m, k->pgoff, &vaddr))
			return false;
		*bias = k->start - vaddr;
		return true;
	}
	return false;
}

static bool place_in_process(void *ctx, uint64_t runtime, struct module **m, uint64_t *vaddr)
{
	struct counts_part *p = ctx;
	struct place at;

	if (!procmap_lookup_quiet(attr_procmaps(session_attr(p->s)), p->pid, runtime - 1, &at) || !at.module)
		return false;
	*m = at.module;
	*vaddr = at.vaddr + 1;
	return true;
}

/* ---- the target's memory ---- */

#define SEEN_PAGES 64 /* pages of code kept: 256 KB; by hand */

/* What was read of one process, for as long as a list is walked: most elements lie in pages that others lie in. */
struct seen_pages {
	uint64_t at[SEEN_PAGES]; /* 0: none */
	uint8_t byte[SEEN_PAGES][SAMPLE_PAGE];
};

static const uint8_t *page_at(struct counts_part *p, uint64_t addr)
{
	uint64_t start = addr & ~(uint64_t)(SAMPLE_PAGE - 1);
	unsigned slot = (unsigned)(start / SAMPLE_PAGE % SEEN_PAGES);

	if (!start)
		return NULL;
	if (p->pages->at[slot] != start) {
		p->pages->at[slot] = 0;
		if (target_memory_read(p->pid, start, p->pages->byte[slot], SAMPLE_PAGE) != (ssize_t)SAMPLE_PAGE)
			return NULL;
		p->pages->at[slot] = start;
	}
	return p->pages->byte[slot] + addr % SAMPLE_PAGE;
}

static bool peek(void *ctx, uint64_t addr, uint64_t *value)
{
	struct counts_part *p = ctx;
	const uint8_t *b;

	if (addr % sizeof(*value) || addr > UINT64_MAX - SAMPLE_PAGE)
		return false;
	b = page_at(p, addr);
	if (b)
		memcpy(value, b, sizeof(*value));
	return b;
}

/* ---- windows ---- */

static double cpus_running(const struct counts_part *p)
{
	return fmax(1, fmin(p->ledger->running, execbp_cpus(p->exec)));
}

struct counts_asked {
	struct counts_part *part;
	uint32_t pid;
};

static bool mapped(void *ctx, const struct module *m)
{
	const struct counts_asked *a = ctx;
	uint64_t bias;

	return bias_in_process(a->part, a->pid, m, &bias);
}

/* Breakpoints on the thread would cost more at its switches, in a usual window, than interrupting all CPUs does;
 * any other thread there is interrupted as well. */
static bool switches_dear(const struct counts_part *p)
{
	double rate = session_switch_rate(p->s);

	return execbp_cpus(p->exec) && rate > 0 &&
	       rate * USUAL_NS * (EXECWIN_SLOTS + 1) * p->switch_ns >
		       p->price.window_ns * fmax(cpus_running(p) - 1, OTHERS_PART);
}

static bool to_request(struct counts_part *p, const struct sample *m, struct exec_request *req)
{
	*req = (struct exec_request){ .pid = (pid_t)m->pid,
				      .tid = (pid_t)m->tid,
				      .slots = p->job.slots,
				      .hit_limit = p->job.hit_limit,
				      .within_ns = p->job.within_ns,
				      .time_limit_ns = p->job.time_ns,
				      .longest_ns = p->job.longest_ns,
				      .process = p->job.process,
				      .on_cpus = p->job.process || switches_dear(p) };
	for (unsigned i = 0; i < p->job.slots; i++) {
		const struct plan_slot *k = &p->job.slot[i];
		uint64_t bias;

		if (!bias_in_process(p, m->pid, k->module, &bias))
			return false;
		req->slot[i] = (struct exec_slot){
			.addr = k->vaddr + bias, .limit = k->limit, .reg = k->reg, .ends = k->ends
		};
	}
	return true;
}

/* Of several threads each may begin, and wait, where no window on another one of them sees it. */
static bool has_threads(struct counts_part *p, const struct sample *m)
{
	bool added;
	uint64_t *tid = map_put(&p->tid_of, m->pid, &added);

	if (!tid)
		return false;
	if (added)
		*tid = m->tid;
	else if (*tid != m->tid)
		*tid = 0;
	return !*tid;
}

static void open_counts_window(struct counts_part *p, const struct sample *m, struct located *at, uint64_t now)
{
	unsigned slots = session_breakpoints_free(p->s);
	struct counts_asked who = { p, m->pid };
	struct exec_request req;

	p->next_try = now + RETRY_NS;
	plan_plenty(p->plan, ledger_plenty(p->ledger, ACCOUNT_WINDOWS));
	plan_whole_process(p->plan, has_threads(p, m) && execbp_cpus(p->exec));
	if (slots < 2) {
		p->n.no_slots++;
		return;
	}
	located_code_find(session_code(p->s), m, at);
	if (!at->module || !plan_choose(p->plan, at->module, at->vaddr, slots, mapped, &who, &p->job)) {
		p->n.no_job++;
		return;
	}
	if (!to_request(p, m, &req)) {
		p->n.unplaced++;
		return;
	}
	p->pid = m->pid;
	if (execbp_open(p->exec, &req, now, NULL)) {
		p->n.unopened++;
		return;
	}
	p->n.prompt += clock_now() - m->time < PACE_PROMPT_NS;
	p->taken = req.slots;
	p->n.processes += req.process;
	p->n.on_cpus += req.on_cpus;
	if (req.on_cpus)
		session_breakpoints_take_apart(p->s, p->taken);
	else
		session_breakpoints_take(p->s, p->taken);
}

/* As many interruptions as there are slots, and three; of each CPU that may run the process. */
static double window_price(const struct counts_part *p, const struct exec_request *r)
{
	return session_coupled(p->s, p->price.window_ns) * (r->slots + 3) / (EXECWIN_SLOTS + 3) *
	       (r->on_cpus ? cpus_running(p) : 1);
}

static int window_over(struct counts_part *p, const struct exec_window *w)
{
	double armed = w->cpu_ns == ~0ull ? (double)(w->ended - w->armed) : (double)w->cpu_ns,
	       rate = session_switch_rate(p->s);
	double slowed = fmax(0, armed - p->price.hit_ns * w->traps) * plan_slowed(p->plan, &p->job, ~0u);
	double cost = session_coupled(p->s, p->price.hit_ns) * w->traps + window_price(p, &w->req);
	bool late;

	slowed += (double)w->unseen_ns * plan_slowed(p->plan, &p->job, ~w->stopped);
	cost += slowed;
	/* the clock of the group goes along, too */
	if (rate > 0 && !w->req.on_cpus)
		cost += rate * armed * (w->req.slots + 1) * session_coupled_switch(p->s, p->switch_ns);

	p->slowed += slowed;
	if (w->req.on_cpus)
		session_breakpoints_give_apart(p->s, p->taken);
	else
		session_breakpoints_give(p->s, p->taken);
	p->taken = 0;
	if (w->traps)
		p->past[p->pasts++ % PAST] = (struct part_counts_past){ w->req.process ? 0 : (uint32_t)w->req.tid,
									(uint32_t)w->req.pid, w->armed, w->ended };
	ledger_spend(p->ledger, ACCOUNT_WINDOWS, cost);
	late = w->count && clock_now() - w->hit[w->count - 1].time > LIST_FRESH_NS;
	memset(p->pages->at, 0, sizeof(p->pages->at));
	return plan_result(p->plan, &p->job, w, place_in_process, late ? NULL : peek, p);
}

static bool may_open(const struct counts_part *p)
{
	double window = p->price.window_ns, entry = session_attached_entry(p->s, p->ledger->running);

	if (!session_breakpoints_open(p->s) || execbp_is_open(p->exec))
		return false;
	if (switches_dear(p))
		return ledger_allows(p->ledger, ACCOUNT_WINDOWS,
				     WINDOW_HITS * p->price.hit_ns + window * cpus_running(p));
	return !session_breakpoints_rest(p->s) &&
	       ledger_allows(p->ledger, ACCOUNT_WINDOWS, WINDOW_HITS * p->price.hit_ns + window + entry);
}

static int window_at(struct counts_part *p, struct session *s, const struct sample *m, struct located *at)
{
	struct exec_window w;
	uint64_t now;
	int err = 0;

	if ((m->flags & SF_KERNEL) || !(m->valid & SV_IP))
		return 0;
	if (session_breakpoints_forbidden(s)) {
		p->n.forbidden++;
		return 0;
	}
	now = clock_now();
	/* the last one is over, perhaps: this sample is for the next */
	if (execbp_poll(p->exec, now, &w))
		err = window_over(p, &w);
	if (now >= p->next_try && may_open(p) && poll_interval_prompt(&p->passed, now - m->time, FRESH_NS))
		open_counts_window(p, m, at, now);
	return err;
}

static int counts_on_fresh(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct counts_part *p = part;

	if (p->stopped || m->kind != SAMPLE_TICK || !p->exec || (m->valid & SV_PAGES))
		return 0;
	return window_at(p, s, m, at);
}

static int counts_on_poll(void *part, struct session *s, uint64_t now)
{
	struct counts_part *p = part;
	struct exec_window w;
	int err = 0;
	bool wants;

	if (p->stopped || !p->exec)
		return 0;
	if (execbp_poll(p->exec, now, &w))
		err = window_over(p, &w);
	wants = may_open(p);
	/* an open one is looked at then, too, where looks cost nothing: it may be over */
	if (wants || (execbp_is_open(p->exec) && !session_waits_for_itself(s)))
		session_want_sample(s, p->next_try);
	if (execbp_is_open(p->exec))
		session_soon(s, p->job.list ? LIST_MS : HITS_MS);
	if (wants != p->wants)
		session_breakpoints_want(s, wants);
	p->wants = wants;
	return err;
}

/* ---- samples ---- */

/* Time spent in our own traps is found at the breakpoint's instruction. */
static bool in_window(const struct counts_part *p, const struct sample *m)
{
	for (unsigned i = 0; i < PAST && i < p->pasts; i++)
		if ((p->past[i].tid == m->tid || (!p->past[i].tid && p->past[i].pid == m->pid)) &&
		    m->time >= p->past[i].armed && m->time <= p->past[i].ended)
			return true;
	return false;
}

/* What a stub of a linkage table takes is its caller's, as for the exact engine. */
static void add_tick(struct counts_part *p, const struct located *at, double ns)
{
	struct attr *a = session_attr(p->s);
	const struct fmt_frame *frame;
	unsigned count = at->stack ? attr_walked(a, &frame) : 0;
	bool stub = at->module && !plan_sample(p->plan, at->module, at->vaddr, ns);

	if (stub && count > 1) {
		struct module *caller = modules_get(attr_modules(a), frame[1].module);

		if (caller)
			plan_sample(p->plan, caller, frame[1].addr, ns);
		frame++;
		count--;
	}
	if (count > 1)
		plan_stack(p->plan, attr_modules(a), frame, count);
}

static int counts_on_sample(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct counts_part *p = part;

	if (m->kind != SAMPLE_TICK)
		return 0;
	ledger_spend(p->ledger, ACCOUNT_WINDOWS, session_attached_cost(s, m));
	if (m->flags & (SF_KERNEL | SF_RETURNS))
		return 0;
	if (in_window(p, m)) {
		p->n.in_windows++;
		return 0;
	}
	add_tick(p, at, (double)m->period);
	return 0;
}

/* Functions are named by their first instruction, wherever samples were. */
static void name_sampled_functions(struct counts_part *p)
{
	struct module *m;
	uint64_t start;

	for (; plan_function(p->plan, p->named, &m, &start); p->named++)
		attr_name(session_attr(p->s), m->id, start);
}

static void counts_report_losses(struct counts_part *p)
{
	const struct plan_stats *st = plan_stats(p->plan);
	struct session *s = p->s;

	if (p->exec)
		execbp_stats(p->exec, &p->done);
	session_count(s, "count windows", p->done.windows, false);
	session_count_anew(s, "count windows: ratios", st->windows[FMT_CL_RATIO], false);
	session_count_anew(s, "count windows: trip counts", st->windows[FMT_CL_TRIPS], false);
	session_count_anew(s, "count windows: rates", st->windows[FMT_CL_RATE], false);
	session_count(s, "count windows of whole processes", p->n.processes, false);
	session_count(s, "count windows on CPUs instead of threads", p->n.on_cpus, false);
	session_count(s, "count windows that began in the wrong place", p->done.late, false);
	session_count_anew(s, "count windows of code that did not run", st->empty, false);
	session_count_anew(s, "count windows of code that runs too often to time", st->too_fast, false);
	if (p->done.malformed)
		session_count(s, "count windows lost: hits cannot be right", p->done.malformed, true);
	session_count(s, "count windows given up for another debugger", p->done.stolen, false);
	session_count(s, "count windows begun within 0.4 ms of their sample", p->n.prompt, false);
	session_count(s, "count hits", p->done.traps, false);
	session_count(s, "count: samples inside windows, left out of it", p->n.in_windows, false);
	session_count(s, "count: samples that offered nothing worth a window", p->n.no_job, false);
	session_count(s, "count: samples while all breakpoints were taken", p->n.no_slots, false);
	session_count(s, "count: windows whose code is not mapped in that process", p->n.unplaced, false);
	session_count(s, "count: windows that could not be opened (thread ended, another debugger)", p->n.unopened,
		      false);
	session_count_anew(s, "count: samples in functions past the table's end", st->past_functions, false);
	session_count_anew(s, "count: hot functions past the limit of graphs", st->past_graphs, false);
	session_count_anew(s, "count: call sites and loops past the limit of links", st->past_links, false);
	session_count(s, COUNTER_FORBIDDEN_COUNTS, p->n.forbidden, false);
	session_count(s, "count: slowed beside breakpoints, us", (uint64_t)(p->slowed / 1000), false);
	session_count(s, "count armed us", p->done.armed_ns / 1000, false);
	session_count_anew(s, "count: trip counts that did not fit", st->odd, false);
	session_count_anew(s, "count: lists that were looked at too late", st->stale, false);
	session_count_anew(s, "count: graphs of functions", st->graphs, false);
	session_count_anew(s, "count: call sites", st->callers, false);
	session_count_anew(s, "count: functions that hang on a busier node since bursts met it", st->hung_anew, false);
	session_count_anew(s, "count: functions too big for a graph", st->too_big, false);
	session_count_anew(s, "count: functions whose code cannot be read", st->unreadable, false);
	session_count_anew(s, "count: code generated at run time, not measured", st->rewritable, false);
	session_count_anew(s, "count: modules with code without bounds", st->unbounded, false);
	session_count_anew(s, "count windows: bursts", st->windows[FMT_CL_REPLAY], false);
}

/* What the target is charged for a hit: never less than it takes where hits follow each other closely. */
static double hit_price(const struct counts_part *p)
{
	double ns = price_measured(session_prices(p->s), PRICE_COUNT_HIT);

	return isfinite(ns) ? fmax(ns, p->hit_ns) : price_assumed(PRICE_COUNT_HIT);
}

/* To be taken off measured times: nothing that was assumed. */
static void tell_prices(struct counts_part *p)
{
	double apart = price_measured(session_prices(p->s), PRICE_COUNT_HIT),
	       window = price_measured(session_prices(p->s), PRICE_COUNT_WINDOW);

	plan_prices(p->plan, p->hit_ns, p->near, isfinite(apart) ? fmax(apart, p->hit_ns) : p->hit_ns,
		    isfinite(window) ? window : 0);
}

static int have_windows(struct counts_part *p, struct err *why)
{
	double hit_ns;

	p->exec = execbp_new(why);
	hit_ns = p->exec ? execbp_measure(p->exec, why) : NAN;
	if (!(hit_ns > 0)) {
		execbp_free(p->exec);
		p->exec = NULL;
		/* taken by others, or the machine is too busy to measure anything: for now */
		p->again = why->code == -ENOSPC || why->code == -EAGAIN || why->code == -EBUSY;
		return why->code;
	}
	p->again = false;
	ledger_use(p->ledger, ACCOUNT_WINDOWS);
	p->hit_ns = hit_ns;
	p->switch_ns = session_switch_cost(p->s);
	session_breakpoints_user(p->s);
	p->near = execbp_measure_near(p->exec);
	price_measure(session_prices(p->s), PRICE_COUNT_HIT, NULL, p->exec);
	p->price = (struct exec_price){ hit_price(p), price_of(session_prices(p->s), PRICE_COUNT_WINDOW) };
	return 0;
}

static void write_prices(const struct counts_part *p, struct session *s)
{
	store_metaf(session_store(s), "counts.hit_ns", "%.0f", p->hit_ns);
	store_metaf(session_store(s), "counts.hit_price_ns", "%.0f", p->price.hit_ns);
	store_metaf(session_store(s), "counts.window_price_ns", "%.0f", p->price.window_ns);
	store_metaf(session_store(s), "counts.near", "%.1f", p->near);
}

/* What kept us from breakpoints at the start is gone, perhaps. */
static void try_again(struct counts_part *p, struct session *s)
{
	struct err why = { 0 };

	if (!p->again || p->seconds % AGAIN_SECONDS || !session_breakpoints_open(s) || have_windows(p, &why))
		return;
	tell_prices(p);
	write_prices(p, s);
}

static int now_and_then(struct counts_part *p)
{
	int err;

	if (++p->unwritten < p->write_after)
		return 0;
	p->write_after = p->write_after < WRITE_SECONDS_MOST / 2 ? 2 * p->write_after : WRITE_SECONDS_MOST;
	p->unwritten = 0;
	err = plan_write(p->plan);
	return err ? err : emulate_write(p->replay);
}

static int counts_on_second(void *part, struct session *s, uint64_t now)
{
	struct counts_part *p = part;
	int err = 0;

	if (!p->plan)
		return 0;
	if (!p->stopped) {
		try_again(p, s);
		plan_second(p->plan, BUILD_NS, clock_now);
		p->seconds++;
		err = now_and_then(p);
	}
	counts_report_losses(p);
	return err;
}

/* What is measured and met, from nothing. */
static int new_tables(struct counts_part *p, struct session *s, struct err *e)
{
	p->unwritten = 0;
	p->write_after = WRITE_SECONDS;
	p->plan = plan_new(session_store(s), p->hit_ns, p->near, clock_now());
	if (!p->plan)
		return err_set(e, -ENOMEM, "out of memory");
	tell_prices(p);
	p->replay = p->o.bursts > 0 ? emulate_new(s, p->plan, p->o.bursts) : NULL;
	if (p->o.bursts > 0 && !p->replay)
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

static int counts_start(void *part, struct session *s, struct err *e)
{
	struct counts_part *p = part;

	if (new_tables(p, s, e))
		return e->code;
	store_meta(session_store(s), "counts", "on");
	if (p->exec)
		write_prices(p, s);
	store_metaf(session_store(s), "counts.budget", "%g", ledger_rate(p->ledger, ACCOUNT_COUNTS));
	store_metaf(session_store(s), "counts.bursts", "%g", p->o.bursts);
	return 0;
}

static int write_tables(struct counts_part *p)
{
	struct exec_window w;
	int err = 0;

	if (p->exec && execbp_end(p->exec, clock_now(), &w))
		err = window_over(p, &w);
	name_sampled_functions(p);
	if (!err)
		err = plan_write(p->plan);
	return err ? err : emulate_end(p->replay);
}

static int counts_ending(void *part, struct session *s)
{
	struct counts_part *p = part;

	return p->plan && !p->stopped ? write_tables(p) : 0;
}

static int counts_begun(void *part, struct session *s, struct err *e)
{
	struct counts_part *p = part;

	if (!p->plan)
		return 0;
	emulate_free(p->replay);
	plan_free(p->plan);
	p->replay = NULL;
	p->plan = NULL;
	p->named = 0;
	map_release(&p->tid_of);
	return new_tables(p, s, e);
}

static void counts_stop(void *part, struct session *s)
{
	struct counts_part *p = part;

	if (!p->plan)
		return;
	p->stopped = true;
	write_tables(p);
	if (p->exec)
		execbp_stats(p->exec, &p->done);
	execbp_free(p->exec);
	p->exec = NULL;
}

static void counts_release(void *part)
{
	struct counts_part *p = part;

	execbp_free(p->exec);
	emulate_free(p->replay);
	plan_free(p->plan);
	map_release(&p->tid_of);
	free(p->pages);
	free(p);
}

static int counts_fd(void *part)
{
	struct counts_part *p = part;

	return p->exec ? execbp_fd(p->exec) : -1;
}

const struct source source_counts = {
	.name = "counts",
	.summary = "how often code runs: windows of execute breakpoints",
	.needs = "bpf bpf-ring btf hw-breakpoints breakpoint-trial",
	.start = counts_start,
	.sample = counts_on_sample,
	.fresh = counts_on_fresh,
	.poll = counts_on_poll,
	.second = counts_on_second,
	.ending = counts_ending,
	.begun = counts_begun,
	.stop = counts_stop,
	.release = counts_release,
	.fd = counts_fd,
};

/* ---- bursts, which learn and write what the plan above does ---- */

/* A sample that brings pages is for a burst, and at once: what it still has to read is younger with each
 * microsecond. */
static int burst_fresh(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct counts_part *p = part;

	return p->stopped ? 0 : emulate_fresh(p->replay, m);
}

static int burst_sample(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct counts_part *p = part;

	return emulate_event(p->replay, m);
}

static int burst_poll(void *part, struct session *s, uint64_t now)
{
	struct counts_part *p = part;

	return p->stopped ? 0 : emulate_poll(p->replay, now);
}

static int burst_second(void *part, struct session *s, uint64_t now)
{
	struct counts_part *p = part;

	if (!p->plan)
		return 0;
	emulate_second(p->replay, now);
	emulate_report(p->replay);
	return 0;
}

const struct source source_bursts = {
	.name = "bursts",
	.summary = "how often code runs, and whose bytes it reads: the recorder carries a thread's code on itself",
	.needs = "bpf bpf-ring btf",
	.fresh = burst_fresh,
	.sample = burst_sample,
	.poll = burst_poll,
	.second = burst_second,
};

void counts_part_segment(struct counts_part *p, const struct plan_carried *s, plan_place_fn place, void *ctx)
{
	if (p->plan && !p->stopped)
		plan_segment(p->plan, s, place, ctx);
}

struct emulate_data *counts_part_data(struct counts_part *p, const struct sample *m)
{
	return p->stopped ? NULL : emulate_segment(p->replay, m);
}

void counts_part_lend(struct counts_part *p, double part)
{
	emulate_lend(p->replay, part);
}

void counts_part_stretch(struct counts_part *p, double weight)
{
	if (p->plan && !p->stopped)
		plan_stretch(p->plan, weight);
}

int counts_part_add(struct session *s, const struct counts_opts *o, struct counts_part **part, struct err *why)
{
	struct counts_part *p = calloc(1, sizeof(*p));
	struct err e = { 0 };
	int err;

	*part = NULL;
	if (!p)
		return err_set(why, -ENOMEM, "out of memory");
	p->o = *o;
	p->s = s;
	p->hit_ns = price_assumed(PRICE_COUNT_HIT);
	p->near = 1;
	p->pages = calloc(1, sizeof(*p->pages));
	if (!p->pages) {
		free(p);
		return err_set(why, -ENOMEM, "out of memory");
	}
	p->ledger = session_ledger(s);
	ledger_use(p->ledger, ACCOUNT_COUNTS);
	if (o->windows)
		have_windows(p, why);
	/* what another recorder has on all CPUs for a window it gives back within milliseconds */
	for (int i = 0; i < BREAKPOINTS_TRIES && p->again; i++) {
		usleep(BREAKPOINTS_TRY_US);
		*why = (struct err){ 0 };
		have_windows(p, why);
	}
	err = session_add(s, &source_counts, p, &e);
	if (err)
		return err_set(why, err, "%s", e.text);
	*part = p;
	if (o->bursts > 0)
		err = session_add(s, &source_bursts, p, &e);
	return err ? err_set(why, err, "%s", e.text) : 0;
}
