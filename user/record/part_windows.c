// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_windows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "counters.h"
#include "code/watch_direction.h"
#include "proc/procmap.h"
#include "measure/cost_watch.h"
#include "record/ledger.h"
#include "record/access_opts.h"
#include "record/window_choice.h"
#include "record/poll_interval.h"
#include "record/session_breakpoints.h"
#include "measure/prices.h"
#include "kmod-free/watch.h"
#include "util/clock.h"
#include "util/random.h"

#define FRESH_NS 10000000      /* older samples choose no address: what they touched may be gone */
#define DEFAULT_HITS 16        /* of a window; by hand */
#define READ_AGAIN 3           /* hits after each write that ends a wait for one: who reads it, or overwrites it */
#define WINDOW_NS 20e6         /* that a watch window lasts, where armed time is cheap; by hand */
#define WRITES_NS 100e6        /* watching for writes only */
#define TURN_NS 20000000ull    /* without a window, and breakpoints are taken though counts want them; by hand */
#define SWITCHES_DEAR 0.01     /* of all time, for each armed slot */
#define BIRTHS 10              /* threads in a second */
#define SHORTEST_WINDOW_NS 2e6 /* where armed time is dear */
#define KEEP_NS 200000000      /* how long a draw may wait for armed time that it shares */
#define WAITING 16             /* samples: where they are rare it is better to be late than to share with nobody */
#define DEAR 0.1               /* part of all time: armed slots that cost more are shared; by hand */
#define SAVE_NS 3000000000ull  /* without a window, and one is opened on credit; by hand */
#define MIN_TICKS 40           /* before this next to nothing is known of the target's use of string instructions */

/* An address that a window may watch, and the access it comes from. */
struct part_windows_draw {
	struct fmt_access arm;
	uint64_t addr;
	double worth;
};

struct windows {
	struct session *s;
	struct cost_watch cost;
	struct located_code *code;
	unsigned hit_limit, len; /* len: bytes that one watches */
	bool stack;
	bool by_timer;              /* its samples choose what is watched; else the processor's */
	struct watch *watch;        /* NULL once stopped */
	struct watch_stats watched; /* outlives it */
	double switch_ns;           /* what an armed slot adds to a context switch */
	struct window_choice draws;
	struct part_windows_draw waiting[WAITING]; /* arm.time 0: none */
	unsigned next_waiting;
	struct fmt_access arm[WATCH_SLOTS];
	uint64_t since[WATCH_SLOTS]; /* samples since the slot was armed: for its replacement */
	unsigned passed;             /* samples that were too old */
	uint64_t random;
	uint64_t last_window;       /* when one ended */
	uint64_t armed_ns, slot_ns; /* that are paid */
	uint64_t born, born_before; /* threads, and as counted a second ago */
	bool births;                /* in the last second */
	uint64_t last_second, last_ended;
	double rate; /* as last written */
	struct {
		uint64_t no_candidate, ended, replaced, hits, undecided, unaffordable, forbidden, prompt, on_cpus;
	} n;
};

/* Nobody will write to a constant: watching it would tell nothing and hold a slot for long. */
static bool writable(struct windows *w, uint32_t pid, uint64_t addr)
{
	struct place place;

	procmap_lookup_quiet(attr_procmaps(session_attr(w->s)), pid, addr, &place);
	return !place.map.end || (place.map.prot & MAP_WRITE);
}

static bool drawable(struct windows *w, uint32_t pid, const struct block_access *a)
{
	return a->known && a->in_block && a->size && (a->size <= 64 || (a->flags & FMT_A_REP)) &&
	       a->addr < 1ull << 47 && (w->stack || !(a->flags & FMT_A_STACK)) && writable(w, pid, a->addr);
}

/* As the estimator takes them together: one function, one width, reading or writing. */
static uint64_t draw_group_of(uint64_t function, const struct fmt_access *a)
{
	return (function << 8 ^ a->size) << 1 ^ (a->flags & FMT_A_STORE ? 1 : 0);
}

/* Switches are dear; or threads begin often, which join windows on threads milliseconds later, when it is heard of. */
static bool on_cpus(const struct windows *w)
{
	return w->watch && watch_cpus(w->watch, clock_now()) &&
	       (w->births || session_switch_rate(w->s) * w->switch_ns > SWITCHES_DEAR);
}

static double running(const struct windows *w)
{
	return session_ledger(w->s)->running;
}

/* How long slots may be armed now, ns, at most `most`; 0: not for `least`, which is what makes sense. */
static double armed_time(const struct windows *w, double least, double most)
{
	const struct ledger *l = session_ledger(w->s);
	double time = most * ledger_affords(l, ACCOUNT_ARMED, cost_watch_armed(&w->cost, most, running(w)));

	/* a full account suffices, and the debt delays the next */
	return time >= least ? time : ledger_allows(l, ACCOUNT_ARMED, INFINITY) ? least : 0;
}

/* How long a window may be open now: while another is open anyway, its time costs nothing more. */
static uint64_t window_time(const struct windows *w, double most, uint64_t now)
{
	uint64_t until = watch_deadline(w->watch), shared = until > now ? until - now : 0;
	double own = armed_time(w, SHORTEST_WINDOW_NS, most);

	return own > (double)shared ? (uint64_t)own : shared < (uint64_t)most ? shared : (uint64_t)most;
}

static bool affords_hits(const struct windows *w)
{
	double open = 0;

	/* what is open may still spend */
	for (int i = 0; i < WATCH_SLOTS; i++)
		open += watch_slot(w->watch, i) ? 1 : 0;
	return ledger_allows(session_ledger(w->s), ACCOUNT_WATCH,
			     (open + 1) * cost_watch_window(&w->cost, w->hit_limit, 1, WATCH_THREADS, running(w)) +
				     (on_cpus(w) ? 0 : session_attached_entry(w->s, running(w))));
}

static bool affords(const struct windows *w, uint64_t now)
{
	return affords_hits(w) && window_time(w, WINDOW_NS, now) >= SHORTEST_WINDOW_NS;
}

/* Where all are our own, one could be replaced. */
static bool has_room(const struct windows *w)
{
	return session_breakpoints_free(w->s) || watch_free_slot(w->watch) < 0;
}

static bool wants_window(struct windows *w, uint64_t now)
{
	/* execution counts would use every slot all the time: the two take turns */
	bool turn = !session_breakpoints_wanted(w->s) || now - w->last_window > TURN_NS;

	return w->watch && session_breakpoints_open(w->s) && w->cost.ticks > MIN_TICKS && turn && has_room(w) &&
	       (on_cpus(w) || !session_breakpoints_rest(w->s)) && affords(w, now);
}

/* Whether a slot is free or could be freed for a new window. */
static bool free_a_slot(struct windows *w, uint64_t now)
{
	int slot;

	if (watch_free_slot(w->watch) >= 0)
		return true;
	slot = watch_victim(w->since, WATCH_SLOTS, &w->random);
	if (slot < 0)
		return false;
	watch_end(w->watch, slot, FMT_W_REPLACED, now);
	w->n.replaced++;
	return true;
}

/* The access of this sample that a window would tell the most about; false: none. */
static bool draw_access(struct windows *w, const struct sample *s, struct located *at, const struct block_result *r,
			struct part_windows_draw *out)
{
	out->worth = -1;
	for (unsigned i = 0; i < r->count; i++) {
		const struct block_access *a = &r->access[i];
		struct part_windows_draw d;

		if (!drawable(w, s->pid, a) ||
		    !located_code_record(w->code, s, at, a, located_code_executions(r, (double)s->period), &d.arm))
			continue;
		d.worth = window_choice_worth(&w->draws, d.arm.module, d.arm.ip);
		if (d.worth <= out->worth)
			continue;
		/* one place in it, each as likely; one byte unless told otherwise: a kernel copy hits once per
		 * watched byte */
		d.addr = (a->addr + random_next(&w->random) % a->size) & ~(uint64_t)(w->len - 1);
		memcpy(out, &d, sizeof(d));
	}
	w->n.no_candidate += out->worth < 0;
	return out->worth >= 0;
}

/* Armed time runs short, because the target crawls meanwhile: it does not buy a tenth of all time. */
static bool armed_time_is_dear(const struct windows *w)
{
	return ledger_rate(session_ledger(w->s), ACCOUNT_ARMED) <
	       DEAR * cost_watch_armed(&w->cost, 1e6, running(w)) / 1e6;
}

/* Who writes rarely is met by a long window only. */
static bool affords_draw(const struct windows *w, const struct part_windows_draw *d, uint64_t now)
{
	return (double)window_time(w, WRITES_NS, now) >=
	       SHORTEST_WINDOW_NS * window_choice_patience(&w->draws, d->addr);
}

static bool is_watched(const struct windows *w, const struct part_windows_draw *d)
{
	for (int i = 0; i < WATCH_SLOTS; i++)
		if (watch_slot(w->watch, i) && w->arm[i].module == d->arm.module && w->arm[i].ip == d->arm.ip)
			return true;
	return false;
}

/* For a slot that shares the armed time of others, of the draws just before: rather not the same instruction twice. */
static struct part_windows_draw *best_beside(struct windows *w, uint64_t now)
{
	struct part_windows_draw *best = NULL;

	for (unsigned i = 0; i < WAITING; i++) {
		struct part_windows_draw *d = &w->waiting[i];

		if (d->arm.time && now - d->arm.time < KEEP_NS && !is_watched(w, d) &&
		    (!best || d->worth > best->worth))
			best = d;
	}
	return best;
}

/* Saves up where it takes long to meet who writes, unless that takes too long. */
static bool affords_now(struct windows *w, const struct part_windows_draw *d, uint64_t now)
{
	return affords_draw(w, d, now) || now - w->last_window > SAVE_NS;
}

/* Whether to open a window for this draw now, or rather wait. */
static bool worth_a_window(struct windows *w, const struct part_windows_draw *d)
{
	const struct ledger *l = session_ledger(w->s);

	/* to be choosy pays only where windows are scarce */
	if (!armed_time_is_dear(w) && ledger_plenty(l, ACCOUNT_WATCH) && ledger_plenty(l, ACCOUNT_ARMED))
		return true;
	return window_choice_take(&w->draws, d->worth);
}

static void open_watch_window_for(struct windows *w, const struct part_windows_draw *d, uint64_t now)
{
	struct watch_request req = { .pid = (pid_t)d->arm.pid, .addr = d->addr, .len = w->len, .on_cpus = on_cpus(w) };
	int tids[WATCH_THREADS], n, slot;
	uint64_t time;

	if (!free_a_slot(w, now) || !session_breakpoints_free(w->s))
		return;
	/* Both phases out of one balance. A reader shows at once; a writer takes time. */
	time = window_time(w, WINDOW_NS + WRITES_NS, now);
	req.time_limit_ns = time / 3 < (uint64_t)WINDOW_NS ? time / 3 : (uint64_t)WINDOW_NS;
	req.write_time_ns = time - req.time_limit_ns > 1 ? time - req.time_limit_ns : 1;
	n = watch_threads(req.pid, tids, WATCH_THREADS);
	if (n <= 0 || !req.time_limit_ns)
		return;
	slot = watch_arm(w->watch, &req, tids, n, now, NULL);
	if (slot < 0)
		return;
	w->n.prompt += clock_now() - d->arm.time < PACE_PROMPT_NS;
	w->n.on_cpus += req.on_cpus;
	(req.on_cpus ? session_breakpoints_take_apart : session_breakpoints_take)(w->s, 1);
	w->arm[slot] = d->arm;
	w->since[slot] = 0;
	/* even one that will see nothing was tried */
	window_choice_seen(&w->draws, d->arm.module, d->arm.ip, 0.25, 0);
}

/* Where armed time runs short because the target crawls meanwhile, one stretch of it serves as many windows as
 * there are slots: of the newest sample, of those just before, and of those that come while it lasts. */
static void open_dear(struct windows *w, struct part_windows_draw *d, uint64_t now)
{
	bool first = !watch_deadline(w->watch);

	if (first ? !affords_now(w, d, now) || !worth_a_window(w, d)
		  : is_watched(w, d) || (!ledger_plenty(session_ledger(w->s), ACCOUNT_WATCH) && !worth_a_window(w, d)))
		return;
	open_watch_window_for(w, d, now);
	d->arm.time = 0;
	while (watch_free_slot(w->watch) >= 0 && affords_hits(w) && (d = best_beside(w, now))) {
		open_watch_window_for(w, d, now);
		d->arm.time = 0;
	}
}

void windows_from_hardware(struct windows *w, const struct sample *m, struct located *at, const struct fmt_access *a)
{
	uint64_t now = clock_now(), len = w->len;
	struct part_windows_draw d = { .arm = *a };

	for (unsigned i = 0; i < WATCH_SLOTS; i++)
		w->since[i]++;
	if (!a->size || a->size > 64 || a->addr >> 47 || !writable(w, m->pid, a->addr))
		return;
	window_choice_sampled(&w->draws, a->module, a->ip, draw_group_of(located_code_function_at(w->code, m, at), a),
			      a->weight * a->size);
	d.addr = (a->addr + random_next(&w->random) % a->size) & ~(len - 1);
	if (now - m->time < FRESH_NS && wants_window(w, now) &&
	    window_choice_take(&w->draws, window_choice_worth(&w->draws, a->module, a->ip)))
		open_watch_window_for(w, &d, now);
}

static void look_at_fresh(struct windows *w, const struct sample *m, struct located *at)
{
	const struct block_result *r;
	bool now_is_good, dear;
	struct part_windows_draw d, *kept = &d;
	uint64_t now;

	if (!w->watch || !session_breakpoints_open(w->s) || m->kind != SAMPLE_TICK || (m->flags & SF_KERNEL) ||
	    !(m->valid & SV_REGS))
		return;
	for (unsigned i = 0; i < WATCH_SLOTS; i++)
		w->since[i]++;
	now = clock_now();
	if (session_breakpoints_forbidden(w->s)) {
		w->n.forbidden++;
		return;
	}
	w->n.unaffordable += w->cost.ticks > MIN_TICKS && !affords(w, now);
	dear = armed_time_is_dear(w);
	now_is_good = wants_window(w, now) && poll_interval_prompt(&w->passed, now - m->time, FRESH_NS);
	if (!now_is_good && !(dear && now - m->time < KEEP_NS))
		return;
	located_code_find(w->code, m, at);
	r = located_code_evaluate(w->code, m, at);
	if (!r || !draw_access(w, m, at, r, &d))
		return;
	if (dear)
		kept = memcpy(&w->waiting[w->next_waiting++ % WAITING], &d, sizeof(d));
	if (now_is_good && dear)
		open_dear(w, kept, now);
	else if (now_is_good && worth_a_window(w, kept))
		open_watch_window_for(w, kept, now);
}

struct hit_ctx {
	struct windows *w;
	uint32_t pid;
};

static const struct block_code *hit_code(void *ctx, uint64_t ip, uint64_t *code_ip)
{
	struct hit_ctx *h = ctx;

	return located_code_at(h->w->code, h->pid, ip, code_ip);
}

static size_t hit_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return located_code_memory(((struct hit_ctx *)ctx)->pid, addr, buf, len);
}

static void decide(void *ctx, const struct wire_watch *raw, struct watch_hit *hit)
{
	struct hit_ctx hc = { ctx, raw->h.pid };
	struct watch_direction_env env = { .code_at = hit_code, .memory = hit_memory, .ctx = &hc };
	struct hit h = { .addr = raw->addr, .len = 1, .regs = (const uint64_t *)raw->regs, .on_stack = raw->on_stack };

	watch_direction_of(located_code_blocks(hc.w->code), &env, &h);
	hit->flags |= h.flags;
	hit->ip = h.ip;
}

static void on_window(void *ctx, const struct watch_window *seen)
{
	struct windows *w = ctx;
	struct fmt_hit hits[WATCH_MAX_HITS];
	struct fmt_window rec = { .armed = seen->armed,
				  .ended = seen->ended,
				  .addr = seen->req.addr,
				  .len = seen->req.len,
				  .end_reason = seen->end_reason,
				  .write_only_after = seen->write_only_after,
				  .count = seen->count };
	/* that nobody wrote says the more about whose bytes these are the longer it lasted */
	double guess = fmin(1, (double)(seen->ended - seen->armed) / WRITES_NS);
	bool written = w->arm[seen->slot].flags & FMT_A_STORE, read = false;
	uint64_t writer = 0; /* the access that chose the address is too long ago to be one */

	(seen->req.on_cpus ? session_breakpoints_give_apart : session_breakpoints_give)(w->s, 1);
	memcpy(&rec.arm, &w->arm[seen->slot], sizeof(rec.arm));
	attr_name(session_attr(w->s), rec.arm.module, rec.arm.ip); /* it may have begun in an earlier profile */
	for (uint32_t i = 0; i < seen->count; i++) {
		const struct watch_hit *h = &seen->hits[i];

		hits[i] = (struct fmt_hit){ .time = h->time, .tid = h->tid, .flags = h->flags, .syscall = h->syscall };
		attr_code(session_attr(w->s), h->pid, h->ip, &hits[i].module, &hits[i].ip);
		w->n.undecided += !(h->flags & (FMT_A_LOAD | FMT_A_STORE));
		if (h->flags & FMT_A_LOAD)
			window_choice_seen(&w->draws, hits[i].module, hits[i].ip, (written ? 1.0 : guess) / seen->count,
					   writer);
		read |= h->flags & FMT_A_LOAD;
		if (h->flags & FMT_A_STORE) {
			writer = h->syscall >= 0 ? 1 + (uint64_t)h->syscall
						 : located_code_function(w->code, h->pid, h->ip);
			written = true;
		}
	}
	/* who reads what an instruction writes is known then, too: the next window is needed elsewhere */
	if (read && (rec.arm.flags & FMT_A_STORE) && !(rec.arm.flags & FMT_A_LOAD))
		window_choice_seen(&w->draws, rec.arm.module, rec.arm.ip, 0.75, rec.arm.ip);
	if (!written && seen->end_reason == FMT_W_TIME && (rec.arm.flags & FMT_A_LOAD))
		window_choice_missed(&w->draws, rec.addr);
	w->n.ended++;
	w->last_window = seen->ended;
	w->n.hits += seen->count;
	ledger_spend(session_ledger(w->s), ACCOUNT_WATCH,
		     cost_watch_window(&w->cost, seen->count, seen->phases, seen->threads, running(w)));
	store_put_var(session_store(w->s), FMT_WINDOW, &rec, sizeof(rec), hits,
		      seen->count * (uint32_t)sizeof(hits[0]));
}

/* What another recorder has on all CPUs for a window it gives back within milliseconds. */
static int check_free_slots(struct watch *w, struct err *why)
{
	int rc = watch_check(w, why);

	for (int i = 0; i < BREAKPOINTS_TRIES && (rc == -ENOSPC || rc == -EAGAIN); i++) {
		usleep(BREAKPOINTS_TRY_US);
		*why = (struct err){ 0 };
		rc = watch_check(w, why);
	}
	return rc;
}

static void price_watch(struct windows *w, struct prices *p)
{
	price_measure(p, PRICE_WATCH_HIT, NULL, NULL);
	/* not coupled yet: how often the target's threads switch is not known */
	cost_watch_init(&w->cost);
	cost_watch_prices(&w->cost, price_of(p, PRICE_WATCH_HIT), price_of(p, PRICE_WATCH_ARM),
			  price_of(p, PRICE_WATCH_WAKE));
}

static void windows_release(void *part)
{
	struct windows *w = part;

	watch_free(w->watch);
	window_choice_release(&w->draws);
	free(w);
}

static struct windows *windows_new(struct session *s, const struct access_opts *o, struct err *why)
{
	struct watch_opts wo = WATCH_DEFAULTS;
	struct windows *w = calloc(1, sizeof(*w));

	if (!w) {
		err_set(why, -ENOMEM, "out of memory");
		return NULL;
	}
	*w = (struct windows){ .s = s,
			       .code = session_code(s),
			       .hit_limit = o->hit_limit ? o->hit_limit : DEFAULT_HITS,
			       .len = o->watch_len ? o->watch_len : 1,
			       .stack = o->stack,
			       .by_timer = !o->hardware || !(o->hardware->driver->gives & SOURCE_PROMPT),
			       .random = clock_now() | 1 };
	wo.hit_limit = w->hit_limit;
	wo.switch_after = w->hit_limit / 2;
	wo.read_again = READ_AGAIN;
	w->watch = watch_new(&wo, decide, on_window, w, why);
	if (!w->watch || check_free_slots(w->watch, why)) {
		windows_release(w);
		return NULL;
	}
	price_watch(w, session_prices(s));
	w->switch_ns = session_switch_cost(s);
	session_breakpoints_user(s);
	session_wake_cost(s, price_measured(session_prices(s), PRICE_WATCH_WAKE));
	return w;
}

static int windows_start(void *part, struct session *s, struct err *e)
{
	const struct windows *w = part;
	struct store_writer *out = session_store(s);

	store_metaf(out, "watch_hit_ns", "%.0f", w->cost.hit_ns);
	store_metaf(out, "watch_arm_ns", "%.0f", w->cost.arm_ns);
	store_metaf(out, "watch_wake_ns", "%.0f", w->cost.wake_ns);
	store_metaf(out, "watch_switch_ns", "%.0f", w->switch_ns);
	return 0;
}

static int windows_begun(void *part, struct session *s, struct err *e)
{
	struct windows *w = part;

	window_choice_release(&w->draws);
	memset(w->waiting, 0, sizeof(w->waiting));
	for (int i = 0; i < WATCH_SLOTS; i++)
		if (!attr_module_lives(session_attr(w->s), w->arm[i].module))
			w->arm[i].module = 0;
	return 0;
}

static int windows_fd(void *part)
{
	const struct windows *w = part;

	return watch_fd(w->watch);
}

static int windows_on_sample(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct windows *w = part;

	if (!w->watch)
		return 0;
	if (m->kind == SAMPLE_FORK && m->pid == m->ppid) {
		w->born++;
		watch_add_task(w->watch, (pid_t)m->pid, (pid_t)m->tid);
	}
	if (m->kind != SAMPLE_TICK)
		return 0;
	cost_watch_switching(&w->cost, on_cpus(w) ? 0 : session_switch_rate(w->s),
			     session_coupled_switch(w->s, w->switch_ns));
	ledger_spend(session_ledger(w->s), ACCOUNT_WATCH, session_attached_cost(w->s, m));
	return 0;
}

static int windows_on_fresh(void *part, struct session *s, const struct sample *m, struct located *at)
{
	const struct windows *w = part;

	if (w->by_timer)
		look_at_fresh(part, m, at);
	return 0;
}

void windows_tick(struct windows *w, bool string, bool kernel)
{
	cost_watch_tick(&w->cost, string, kernel);
}

void windows_sampled(struct windows *w, uint64_t function, const struct block_access *a, const struct fmt_access *rec)
{
	if (w->watch && drawable(w, rec->pid, a))
		window_choice_sampled(&w->draws, rec->module, rec->ip, draw_group_of(function, rec),
				      rec->weight * (double)a->size);
}

static int windows_on_poll(void *part, struct session *s, uint64_t now)
{
	struct windows *w = part;
	struct watch_stats st;

	if (!w->watch)
		return 0;
	watch_poll(w->watch, now);
	watch_stats(w->watch, &st);
	if (st.armed_ns > w->armed_ns) {
		double armed = (double)(st.armed_ns - w->armed_ns);
		double more = cost_watch_slots(&w->cost, (double)(st.slot_ns - w->slot_ns) - armed, running(w));

		ledger_spend_likely(session_ledger(w->s), ACCOUNT_ARMED,
				    cost_watch_armed_likely(&w->cost, armed, running(w)) + more,
				    cost_watch_armed(&w->cost, armed, running(w)) + more);
		w->armed_ns = st.armed_ns;
		w->slot_ns = st.slot_ns;
	}
	if (wants_window(w, now))
		session_want_sample(w->s, 0);
	return 0;
}

static void windows_report_losses(struct windows *w)
{
	struct session *s = w->s;

	if (w->watch)
		watch_stats(w->watch, &w->watched);
	session_count(s, "watch windows", w->n.ended, false);
	session_count(s, "watch windows begun within 0.4 ms of their sample", w->n.prompt, false);
	session_count(s, "watch windows on CPUs instead of threads", w->n.on_cpus, false);
	session_count(s, "watch windows given up as other processes use their addresses", w->watched.crowded, false);
	session_count(s, "watch windows replaced by newer ones", w->n.replaced, false);
	session_count(s, "watch hits", w->n.hits, false);
	session_count(s, "watch hits of unknown direction", w->n.undecided, false);
	session_count_bpf(s, WC_LOST, w->watched.lost);
	if (w->watched.malformed)
		session_count(s, "watch hits lost: record cannot be right", w->watched.malformed, true);
	session_count(s, "watch windows given up for another debugger", w->watched.stolen, false);
	session_count(s, "watch: samples while the budget was spent", w->n.unaffordable, false);
	session_count(s, COUNTER_FORBIDDEN_WINDOWS, w->n.forbidden, false);
	session_count(s, "watch draws without a candidate", w->n.no_candidate, false);
	session_count_anew(s, "watch: accesses of instructions past the table's end, never drawn", w->draws.past,
			   false);
	session_count(s, "watch armed us", w->watched.armed_ns / 1000, false);
}

static int windows_on_second(void *part, struct session *s, uint64_t now)
{
	struct windows *w = part;
	const struct prices *p = session_prices(w->s);

	if (w->watch)
		cost_watch_prices(&w->cost, session_coupled(w->s, price_of(p, PRICE_WATCH_HIT)),
				  session_coupled(w->s, price_of(p, PRICE_WATCH_ARM)), price_of(p, PRICE_WATCH_WAKE));
	if (w->last_second) {
		session_rate(w->s, "watch", now,
			     (double)(w->n.ended - w->last_ended) * 1e9 / (double)(now - w->last_second), 0, &w->rate);
		w->last_ended = w->n.ended;
	}
	w->births = w->born - w->born_before >= BIRTHS;
	w->born_before = w->born;
	w->last_second = now;
	windows_report_losses(w);
	return 0;
}

static void windows_stop(void *part, struct session *s)
{
	struct windows *w = part;

	if (!w->watch)
		return;
	for (int i = 0; i < WATCH_SLOTS; i++)
		if (watch_slot(w->watch, i))
			watch_end(w->watch, i, FMT_W_EXIT, clock_now());
	watch_stats(w->watch, &w->watched);
	watch_free(w->watch);
	w->watch = NULL;
}

const struct source source_watch = {
	.name = "watch",
	.summary = "who reads and writes an address: watchpoint windows on what samples access",
	.needs = "bpf bpf-ring btf hw-breakpoints breakpoint-trial",
	.start = windows_start,
	.sample = windows_on_sample,
	.fresh = windows_on_fresh,
	.fd = windows_fd,
	.poll = windows_on_poll,
	.second = windows_on_second,
	.begun = windows_begun,
	.stop = windows_stop,
	.release = windows_release,
};

int windows_add(struct session *s, const struct access_opts *o, struct windows **out, struct err *why)
{
	struct windows *w = windows_new(s, o, why);
	int err;

	if (!w)
		return why->code;
	err = session_add(s, &source_watch, w, why);
	if (err)
		return err;
	ledger_use(session_ledger(s), ACCOUNT_WATCH);
	ledger_use(session_ledger(s), ACCOUNT_ARMED);
	*out = w;
	return 0;
}
