// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/part_access.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "counters.h"
#include "attr/block.h"
#include "attr/ehframe.h"
#include "attr/hit.h"
#include "attr/module.h"
#include "attr/procmap.h"
#include "cli/part_sysio.h"
#include "ingest/cost.h"
#include "ingest/draw.h"
#include "ingest/governor.h"
#include "ingest/pace.h"
#include "kmod-free/prices.h"
#include "kmod-free/syscalls.h"
#include "kmod-free/watch.h"
#include "util/random.h"

#define MAX_THREADS 4096
#define FRESH_NS 10000000 /* older samples choose no address: what they touched may be gone */
#define DEFAULT_HITS 16
#define READ_AGAIN 3 /* hits after each write that ends a wait for one: who reads it, or overwrites it */
#define WINDOW_NS 20e6
#define WRITES_NS 100e6 /* watching for writes only */
#define TURN_NS 20000000ull
#define SWITCHES_DEAR 0.01 /* of all time, for each armed slot */
#define BIRTHS 10 /* threads in a second */
#define SHORTEST_WINDOW_NS 2e6 /* where armed time is dear */
#define KEEP_NS 200000000 /* how long a draw may wait for armed time that it shares */
#define WAITING 16 /* samples: where they are rare it is better to be late than to share with nobody */
#define DEAR 0.1
#define SAVE_NS 3000000000ull
#define MIN_TICKS 40 /* before this next to nothing is known of the target's use of string instructions */
/* Nominal speeds where nothing counts instructions: what turns time into a number of executions.
 * The profile says so; shares do not depend on them, totals do. */
#define NOMINAL_NS_PER_INSN 0.12
#define NOMINAL_BYTES_PER_NS 32.0 /* of string instructions */

/* An address that a window may watch, and the access it comes from. */
struct draw {
	struct fmt_access arm;
	uint64_t addr;
	double worth;
};

struct code_ref {
	struct access_part *part;
	struct module *module;
	uint32_t pid;
};

struct access_part {
	struct access_opts o;
	struct session *s;
	struct block_cache *blocks;
	struct governor gov;
	struct watch *watch;
	struct sysio_part *sysio;
	struct block_result result; /* scratch */
	struct code_ref ref;	    /* behind `code` */
	struct block_code code;
	struct fmt_access arm[WATCH_SLOTS];
	unsigned passed;	    /* samples that were too old */
	struct draw waiting[WAITING]; /* arm.time 0: none */
	unsigned next_waiting;
	uint64_t since[WATCH_SLOTS]; /* samples since the slot was armed: for its replacement */
	struct watch_stats watched; /* outlives the watch */
	bool watching;
	struct source *hw; /* of o.hardware */
	bool arm_from_hw; /* windows are drawn from its samples, not the timer's */
	double hw_rate;	  /* as last written */
	uint64_t last_hw, last_apart;
	int epoll;
	uint64_t random;
	struct draws draws;
	uint64_t last_window; /* when one ended */
	uint64_t last_wall, last_cpu_ns, last_armed_ns, last_slot_ns, last_windows;
	struct watch_costs costs; /* as measured on ourselves */
	double switch_ns; /* what an armed slot adds to a context switch */
	uint64_t born, born_before; /* threads, and as counted a second ago */
	bool births; /* in the last second */
	double window_rate; /* as last written */
	struct {
		uint64_t samples, kernel, returns, undecoded, known, unknown, written, leaders_unknown;
		uint64_t draws, no_candidate, windows, replaced, hits, undecided, unweighted, unplaced, unaffordable, forbidden, prompt, on_cpus;
	} n;
};

static void write_rate(struct access_part *p, const char *source, uint64_t now, double per_second, uint64_t period)
{
	struct fmt_rate r = { .time = now, .source = store_string(session_store(p->s), source), .per_second = per_second,
			      .period = period };

	store_put(session_store(p->s), FMT_RATE, &r, sizeof(r));
}

/* ---- code of the target ---- */

static size_t read_process(uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len }, remote = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

static size_t read_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct code_ref *r = ctx;

	if (r->module->kind == FMT_MOD_FILE || r->module->kind == FMT_MOD_VDSO)
		return module_read(r->module, addr, buf, len);
	return read_process(r->pid, addr, buf, len);
}

static bool code_bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	struct code_ref *r = ctx;
	const struct ehframe *f = module_ehframe(r->module);

	return f && ehframe_function(f, addr, start, end);
}

/* Valid until the next call. */
static const struct block_code *code_at(struct access_part *p, uint32_t pid, uint64_t ip, uint64_t *code_ip)
{
	struct place place;

	if (!procmap_lookup(attr_procmaps(session_attr(p->s)), pid, ip, &place) || !place.module)
		return NULL;
	p->ref = (struct code_ref){ .part = p, .module = place.module, .pid = pid };
	p->code = (struct block_code){ .id = place.module->id, .read = read_code, .bounds = code_bounds, .ctx = &p->ref };
	*code_ip = place.vaddr;
	if (place.module->kind != FMT_MOD_FILE && place.module->kind != FMT_MOD_VDSO) {
		p->code.volatile_bytes = true;
		p->code.bounds = NULL;
	}
	return &p->code;
}

/* ---- accesses from timer samples ---- */

static uint64_t stack_base(struct access_part *p, const struct sample *s)
{
	struct attr *a = session_attr(p->s);
	uint64_t end = attr_stack_end(a), sp = s->regs[WREG_SP];
	struct place place;

	if (end > sp && end - sp < 64u << 20)
		return end;
	if (procmap_lookup_quiet(attr_procmaps(a), s->pid, sp, &place) && place.map.end > sp)
		return place.map.end;
	return 0;
}

static bool evaluate(struct access_part *p, const struct sample *s)
{
	const struct block_code *code;
	struct block_state st = { .regs = s->regs, .stack = s->stack, .stack_bytes = s->stack_bytes,
				  .code_hash = s->code_hash };

	code = code_at(p, s->pid, s->ip, &st.code_ip);
	st.stack_end = stack_base(p, s);
	return code && !block_sample(p->blocks, code, &st, 0, &p->result);
}

/* How often the block ran for this sample's period, by nominal speed. */
static double executions(const struct block_result *r, double period)
{
	double ns = NOMINAL_NS_PER_INSN * (r->work.insns ? r->work.insns : 1);

	for (unsigned i = 0; i < r->count; i++)
		if ((r->access[i].flags & FMT_A_REP) && r->access[i].in_block)
			ns += (double)r->access[i].size / NOMINAL_BYTES_PER_NS;
	return period / ns;
}

static bool touches_strings(const struct block_result *r)
{
	for (unsigned i = 0; i < r->count; i++)
		if (r->access[i].flags & FMT_A_REP)
			return true;
	return false;
}

/* Record form of an access; runtime address of its instruction = sample's ip + distance. */
static bool to_record(struct access_part *p, const struct sample *s, const struct block_access *a, uint32_t stack,
		      double weight, struct fmt_access *out)
{
	uint64_t bias;
	struct place place;

	if (!procmap_lookup_quiet(attr_procmaps(session_attr(p->s)), s->pid, s->ip, &place))
		return false;
	bias = s->ip - place.vaddr;
	*out = (struct fmt_access){ .time = s->time, .addr = a->addr, .weight = weight, .pid = s->pid, .tid = s->tid,
				    .stack = stack, .size = a->size > UINT32_MAX ? UINT32_MAX : (uint32_t)a->size,
				    .flags = a->flags | FMT_A_TIME | FMT_A_DERIVED };
	if (!a->known) {
		/* as many as a gather has lanes; none of them can be placed */
		out->flags |= FMT_A_NO_ADDR;
		out->addr = 0;
		out->weight *= a->lanes;
	}
	return attr_code(session_attr(p->s), s->pid, a->ip + bias, &out->module, &out->ip);
}

/* Nobody will write to a constant: watching it would tell nothing and hold a slot for long. */
static bool writable(struct access_part *p, uint32_t pid, uint64_t addr)
{
	struct place place;

	procmap_lookup_quiet(attr_procmaps(session_attr(p->s)), pid, addr, &place);
	return !place.map.end || (place.map.prot & MAP_WRITE);
}

static bool drawable(struct access_part *p, uint32_t pid, const struct block_access *a)
{
	return a->known && a->in_block && a->size && (a->size <= 64 || (a->flags & FMT_A_REP)) &&
	       a->addr < 1ull << 47 && (p->o.stack || !(a->flags & FMT_A_STACK)) && writable(p, pid, a->addr);
}

/* The same for all instructions of a function, where its bounds are known. */
static uint64_t function_of(struct access_part *p, uint32_t pid, uint64_t ip)
{
	uint64_t start, end, code_ip;
	const struct block_code *code = code_at(p, pid, ip, &code_ip);

	return code && code->bounds && code->bounds(code->ctx, code_ip, &start, &end) ? ip - code_ip + start : ip;
}

/* As the estimator takes them together: one function, one width, reading or writing. */
static uint64_t group_of(uint64_t function, const struct fmt_access *a)
{
	return (function << 8 ^ a->size) << 1 ^ (a->flags & FMT_A_STORE ? 1 : 0);
}

static int write_accesses(struct access_part *p, const struct sample *s, uint32_t stack)
{
	const struct block_result *r = &p->result;
	double weight = executions(r, (double)s->period);
	uint64_t function = p->watch ? function_of(p, s->pid, s->ip) : 0;

	for (unsigned i = 0; i < r->count; i++) {
		struct fmt_access rec;
		int err;

		if (!r->access[i].in_block || (!r->access[i].known && !r->access[i].size))
			continue;
		if (!to_record(p, s, &r->access[i], stack, weight, &rec)) {
			p->n.unplaced++;
			continue;
		}
		if (stack && (rec.flags & FMT_A_STACK))
			rec.frame = attr_frame_of(session_attr(p->s), rec.addr, &rec.frame_offset);
		if (p->watch && drawable(p, s->pid, &r->access[i]))
			draws_sampled(&p->draws, rec.module, rec.ip, group_of(function, &rec), weight * (double)r->access[i].size);
		err = store_put(session_store(p->s), FMT_ACCESS, &rec, sizeof(rec));
		if (err)
			return err;
		p->n.written++;
	}
	return 0;
}

/* Switches are dear; or threads begin often, which join windows on threads milliseconds later, when it is heard of. */
static bool on_cpus(const struct access_part *p)
{
	return p->watch && watch_cpus(p->watch, now_ns()) && (p->births || session_switch_rate(p->s) * p->switch_ns > SWITCHES_DEAR);
}

/* In a fault or interrupt, or in a system call that moves data. The others run as fast as ever beside an
 * armed watchpoint. */
static bool may_copy(const struct sample *m)
{
	return !(m->valid & SV_SYSCALL) || sysdir_find(m->syscall);
}

static int on_sample(void *part, struct session *s, const struct sample *m, uint32_t stack)
{
	struct access_part *p = part;
	bool decoded;

	p->born += m->kind == SAMPLE_FORK && m->pid == m->ppid;
	if (m->kind == SAMPLE_FORK && p->watch && m->pid == m->ppid)
		watch_add_task(p->watch, (pid_t)m->pid, (pid_t)m->tid);
	if (m->kind == SAMPLE_FORK && p->hw && (m->pid == m->ppid || !session_options(s)->no_inherit))
		p->o.hardware->add_task(p->hw, (pid_t)m->tid, NULL);
	if (m->kind == SAMPLE_FORK && p->sysio && m->pid != m->ppid && !session_options(s)->no_inherit)
		sysio_part_follow(p->sysio, (pid_t)m->ppid, (pid_t)m->pid);
	if (m->kind != SAMPLE_TICK)
		return 0;
	p->n.samples++;
	governor_spend(&p->gov, GOV_TIMER, session_tick_cost(s));
	governor_switching(&p->gov, on_cpus(p) ? 0 : session_switch_rate(s), session_coupled_switch(s, p->switch_ns));
	if (p->watch) {
		double attached = session_attached_cost(s, m);

		governor_spend(&p->gov, GOV_HITS, attached);
		session_spent(s, attached);
	}
	if (m->flags & (SF_KERNEL | SF_RETURNS)) {
		++*(m->flags & SF_KERNEL ? &p->n.kernel : &p->n.returns);
		governor_tick(&p->gov, (double)m->period, false, may_copy(m));
		return 0;
	}
	decoded = (m->valid & SV_REGS) && evaluate(p, m);
	governor_tick(&p->gov, (double)m->period, decoded && touches_strings(&p->result), false);
	if (!decoded) {
		p->n.undecoded++;
		return 0;
	}
	p->n.known += p->result.block_known;
	p->n.unknown += p->result.block_unknown;
	p->n.leaders_unknown += !p->result.leader_known;
	return p->o.accesses && !p->hw ? write_accesses(p, m, stack) : 0;
}

/* ---- accesses sampled by the processor ---- */

static bool wants_window(struct access_part *p, uint64_t now);
static void open_window(struct access_part *p, const struct draw *d, uint64_t now);

/* The record lacks the operand's size: the instruction tells. */
static uint32_t operand_size(struct access_part *p, const struct sample *m)
{
	uint32_t want = (m->flags & SF_LOAD ? DEC_M_LOAD : 0u) | (m->flags & SF_STORE ? DEC_M_STORE : 0u);
	uint64_t code_ip;
	const struct block_code *code = code_at(p, m->pid, m->ip, &code_ip);
	struct dec_insn d;
	uint8_t bytes[15];

	if (!code || dec_decode(bytes, code->read(code->ctx, code_ip, bytes, sizeof(bytes)), &d))
		return 0;
	for (unsigned i = 0; i < d.mem_cnt; i++)
		if ((d.mem[i].flags & want) && !(d.mem[i].flags & DEC_M_REP))
			return d.mem[i].size;
	return 0;
}

static void window_from_hardware(struct access_part *p, const struct sample *m, const struct fmt_access *a)
{
	uint64_t now = now_ns(), len = p->o.watch_len;
	struct draw d = { .arm = *a };

	for (unsigned i = 0; i < WATCH_SLOTS; i++)
		p->since[i]++;
	if (!a->size || a->size > 64 || a->addr >> 47 || !writable(p, m->pid, a->addr))
		return;
	draws_sampled(&p->draws, a->module, a->ip, group_of(function_of(p, m->pid, m->ip), a), a->weight * a->size);
	d.addr = (a->addr + random_next(&p->random) % a->size) & ~(len - 1);
	if (now - m->time < FRESH_NS && wants_window(p, now) && draws_take(&p->draws, draws_worth(&p->draws, a->module, a->ip)))
		open_window(p, &d, now);
}

static int on_hardware(void *ctx, const struct sample *m)
{
	struct access_part *p = ctx;
	struct fmt_access a = { .time = m->time, .addr = m->addr, .weight = m->period ? (double)m->period : 1,
				.data_src = m->data_src, .phys = m->phys, .pid = m->pid, .tid = m->tid,
				.latency = m->valid & SV_LATENCY ? m->latency : 0, .page_size = m->page_size };

	if (m->kind == SAMPLE_INSN) {
		struct fmt_sample r = { .time = m->time, .period = m->period, .pid = m->pid, .tid = m->tid,
					.cpu = (uint16_t)m->cpu, .flags = FMT_S_INSTRUCTIONS };

		r.stack = attr_stack(session_attr(p->s), m);
		return store_put(session_store(p->s), FMT_SAMPLE, &r, sizeof(r));
	}
	if (m->kind != SAMPLE_ACCESS)
		return 0;
	a.flags = (m->flags & SF_LOAD ? FMT_A_LOAD : 0u) | (m->flags & SF_STORE ? FMT_A_STORE : 0u) |
		  (m->flags & SF_ATOMIC ? FMT_A_ATOMIC : 0u);
	if (!attr_code(session_attr(p->s), m->pid, m->ip, &a.module, &a.ip)) {
		p->n.unplaced++;
		return 0;
	}
	a.size = operand_size(p, m);
	p->n.written++;
	p->n.unweighted += !m->period;
	if (p->arm_from_hw)
		window_from_hardware(p, m, &a);
	return store_put(session_store(p->s), FMT_ACCESS, &a, sizeof(a));
}

static int start_hardware(struct access_part *p, struct err *e)
{
	/* an interrupt for each record only where windows wait for it */
	struct source_config cfg = { .prompt = p->arm_from_hw = p->watch && (p->o.hardware->gives & SOURCE_PROMPT),
				     .ldlat = p->o.ldlat, .phys = p->o.phys, .page_size = p->o.page_size };
	const struct source_ops *ops_hw = p->o.hardware;
	struct targets *t = session_targets(p->s);
	int tids[MAX_THREADS], n, err = ops_hw->open(&p->hw, &cfg, e);

	for (size_t i = 0; i < t->tid_count && !err; i++)
		err = ops_hw->add_task(p->hw, t->tids[i], e);
	for (size_t i = 0; i < t->count && !err && !t->tid_count; i++) {
		n = watch_threads(t->procs[i].pid, tids, MAX_THREADS);
		for (int k = 0; k < n && (!err || err == -ESRCH); k++)
			err = ops_hw->add_task(p->hw, tids[k], e);
		err = err == -ESRCH ? 0 : err;
	}
	if (!err)
		err = ops_hw->start(p->hw, e);
	if (err)
		return err;
	store_meta(session_store(p->s), "engine", "pmu");
	store_meta(session_store(p->s), "bias", ops_hw->bias == SOURCE_BY_TIME ? "time" : "count");
	store_meta(session_store(p->s), "weights", ops_hw->bias == SOURCE_BY_RANDOM ?
		   "accesses; loads that the processor picks at random share what a counting event counted" : "accesses");
	return 0;
}

static void count_hardware(struct access_part *p)
{
	struct source_stats st;

	p->o.hardware->stats(p->hw, &st);
	session_count(p->s, "hardware samples", st.samples, false);
	session_count(p->s, "hardware samples of no use: kernel, or no address", st.filtered, false);
	session_count(p->s, "hardware samples lost", st.lost, true);
	session_count(p->s, "hardware records that could not be read", st.malformed, true);
	session_count(p->s, "hardware sampling throttled", st.throttled, false);
	session_count(p->s, "accesses of unknown weight: nothing counts the loads they were picked from", p->n.unweighted, false);
	if (st.counted_loads != ~0ull)
		session_count(p->s, "loads counted", st.counted_loads, false);
	if (st.counted_stores != ~0ull)
		session_count(p->s, "stores counted", st.counted_stores, false);
}

/* ---- windows ---- */

/* How long a window may be open now: while another is open anyway, its time costs nothing more. */
static uint64_t window_time(const struct access_part *p, double most, uint64_t now)
{
	uint64_t until = watch_deadline(p->watch), shared = until > now ? until - now : 0;
	double own = governor_armed_time(&p->gov, SHORTEST_WINDOW_NS, most);

	return own > (double)shared ? (uint64_t)own : shared < (uint64_t)most ? shared : (uint64_t)most;
}

static bool affords_hits(const struct access_part *p)
{
	double open = 0;

	/* what is open may still spend */
	for (int i = 0; i < WATCH_SLOTS; i++)
		open += watch_slot(p->watch, i) ? 1 : 0;
	return governor_allows(&p->gov, GOV_HITS, (open + 1) * governor_window_cost(&p->gov, p->o.hit_limit, 1, MAX_THREADS) +
							  (on_cpus(p) ? 0 : session_attached_entry(p->s, p->gov.running)));
}

static bool affords(const struct access_part *p, uint64_t now)
{
	return affords_hits(p) && window_time(p, WINDOW_NS, now) >= SHORTEST_WINDOW_NS;
}

/* Where all are our own, one could be replaced. */
static bool has_room(const struct access_part *p)
{
	return session_breakpoints_free(p->s) || watch_free_slot(p->watch) < 0;
}

static bool wants_window(struct access_part *p, uint64_t now)
{
	/* execution counts would use every slot all the time: the two take turns */
	bool turn = !session_breakpoints_wanted(p->s) || now - p->last_window > TURN_NS;

	return p->watch && p->gov.ticks > MIN_TICKS && turn && has_room(p) && (on_cpus(p) || !session_breakpoints_rest(p->s)) && affords(p, now);
}

/* Whether a slot is free or could be freed for a new window. */
static bool make_room(struct access_part *p, uint64_t now)
{
	int slot;

	if (watch_free_slot(p->watch) >= 0)
		return true;
	slot = watch_victim(p->since, WATCH_SLOTS, &p->random);
	if (slot < 0)
		return false;
	watch_end(p->watch, slot, FMT_W_REPLACED, now);
	p->n.replaced++;
	return true;
}

/* The access of this sample that a window would tell the most about; false: none. */
static bool draw(struct access_part *p, const struct sample *s, struct draw *out)
{
	const struct block_result *r = &p->result;

	out->worth = -1;
	p->n.draws++;
	for (unsigned i = 0; i < r->count; i++) {
		const struct block_access *a = &r->access[i];
		struct draw d;

		if (!drawable(p, s->pid, a) || !to_record(p, s, a, 0, executions(r, (double)s->period), &d.arm))
			continue;
		d.worth = draws_worth(&p->draws, d.arm.module, d.arm.ip);
		if (d.worth <= out->worth)
			continue;
		/* one place in it, each as likely; one byte unless told otherwise: a kernel copy hits once per watched byte */
		d.addr = (a->addr + random_next(&p->random) % a->size) & ~(uint64_t)(p->o.watch_len - 1);
		memcpy(out, &d, sizeof(d));
	}
	p->n.no_candidate += out->worth < 0;
	return out->worth >= 0;
}

/* Armed time runs short, because the target crawls meanwhile: it does not buy a tenth of all time. */
static bool armed_time_is_dear(const struct access_part *p)
{
	return governor_rate(&p->gov, GOV_ARMED) < DEAR * governor_armed_cost(&p->gov, 1e6) / 1e6;
}

/* Who writes rarely is met by a long window only. */
static bool affords_draw(const struct access_part *p, const struct draw *d, uint64_t now)
{
	return (double)window_time(p, WRITES_NS, now) >= SHORTEST_WINDOW_NS * draws_patience(&p->draws, d->addr);
}

static bool is_watched(const struct access_part *p, const struct draw *d)
{
	for (int i = 0; i < WATCH_SLOTS; i++)
		if (watch_slot(p->watch, i) && p->arm[i].module == d->arm.module && p->arm[i].ip == d->arm.ip)
			return true;
	return false;
}

/* For a slot that shares the armed time of others, of the draws just before: rather not the same instruction twice. */
static struct draw *best_beside(struct access_part *p, uint64_t now)
{
	struct draw *best = NULL;

	for (unsigned i = 0; i < WAITING; i++) {
		struct draw *d = &p->waiting[i];

		if (d->arm.time && now - d->arm.time < KEEP_NS && !is_watched(p, d) && (!best || d->worth > best->worth))
			best = d;
	}
	return best;
}

/* Saves up where it takes long to meet who writes, unless that takes too long. */
static bool affords_now(struct access_part *p, const struct draw *d, uint64_t now)
{
	return affords_draw(p, d, now) || now - p->last_window > SAVE_NS;
}

/* Whether to open a window for this draw now, or rather wait. */
static bool take(struct access_part *p, const struct draw *d)
{
	/* to be choosy pays only where windows are scarce */
	if (!armed_time_is_dear(p) && governor_plenty(&p->gov, GOV_HITS) && governor_plenty(&p->gov, GOV_ARMED))
		return true;
	return draws_take(&p->draws, d->worth);
}

static void open_window(struct access_part *p, const struct draw *d, uint64_t now)
{
	struct watch_request req = { .pid = (pid_t)d->arm.pid, .addr = d->addr, .len = p->o.watch_len, .on_cpus = on_cpus(p) };
	int tids[MAX_THREADS], n, slot;
	uint64_t time;

	if (!make_room(p, now) || !session_breakpoints_free(p->s))
		return;
	/* Both phases out of one balance. Whoever reads shows at once; who writes is what takes time. */
	time = window_time(p, WINDOW_NS + WRITES_NS, now);
	req.time_limit_ns = time / 3 < (uint64_t)WINDOW_NS ? time / 3 : (uint64_t)WINDOW_NS;
	req.write_time_ns = time - req.time_limit_ns > 1 ? time - req.time_limit_ns : 1;
	n = watch_threads(req.pid, tids, MAX_THREADS);
	if (n <= 0 || !req.time_limit_ns)
		return;
	slot = watch_arm(p->watch, &req, tids, n, now, NULL);
	if (slot < 0)
		return;
	p->n.prompt += now_ns() - d->arm.time < PACE_PROMPT_NS;
	p->n.on_cpus += req.on_cpus;
	(req.on_cpus ? session_breakpoints_take_apart : session_breakpoints_take)(p->s, 1);
	p->arm[slot] = d->arm;
	p->since[slot] = 0;
	/* even one that will see nothing was tried */
	draws_seen(&p->draws, d->arm.module, d->arm.ip, 0.25, 0);
}

/* Where armed time runs short because the target crawls meanwhile, one stretch of it serves as many windows as
 * there are slots: of the newest sample, of those just before, and of those that come while it lasts. */
static void open_dear(struct access_part *p, struct draw *d, uint64_t now)
{
	bool first = !watch_deadline(p->watch);

	if (first ? !affords_now(p, d, now) || !take(p, d) : is_watched(p, d) || (!governor_plenty(&p->gov, GOV_HITS) && !take(p, d)))
		return;
	open_window(p, d, now);
	d->arm.time = 0;
	while (watch_free_slot(p->watch) >= 0 && affords_hits(p) && (d = best_beside(p, now))) {
		open_window(p, d, now);
		d->arm.time = 0;
	}
}

/* A sample straight from the ring, before it waits for its turn. */
static int on_fresh(void *part, struct session *s, const struct sample *m)
{
	struct access_part *p = part;
	bool now_is_good, dear;
	struct draw d, *kept = &d;
	uint64_t now;

	if (!p->watch || p->arm_from_hw || m->kind != SAMPLE_TICK || (m->flags & SF_KERNEL) || !(m->valid & SV_REGS))
		return 0;
	for (unsigned i = 0; i < WATCH_SLOTS; i++)
		p->since[i]++;
	now = now_ns();
	if (session_breakpoints_forbidden(s)) {
		p->n.forbidden++;
		return 0;
	}
	p->n.unaffordable += p->gov.ticks > MIN_TICKS && !affords(p, now);
	dear = armed_time_is_dear(p);
	now_is_good = wants_window(p, now) && pace_prompt(&p->passed, now - m->time, FRESH_NS);
	if (!now_is_good && !(dear && now - m->time < KEEP_NS))
		return 0;
	if (!evaluate(p, m) || !draw(p, m, &d))
		return 0;
	if (dear)
		kept = memcpy(&p->waiting[p->next_waiting++ % WAITING], &d, sizeof(d));
	if (now_is_good && dear)
		open_dear(p, kept, now);
	else if (now_is_good && take(p, kept))
		open_window(p, kept, now);
	return 0;
}

struct hit_ctx {
	struct access_part *p;
	uint32_t pid;
};

static const struct block_code *hit_code(void *ctx, uint64_t ip, uint64_t *code_ip)
{
	struct hit_ctx *h = ctx;

	return code_at(h->p, h->pid, ip, code_ip);
}

static size_t hit_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return read_process(((struct hit_ctx *)ctx)->pid, addr, buf, len);
}

static void decide(void *ctx, const struct wire_watch *raw, struct watch_hit *hit)
{
	struct hit_ctx hc = { ctx, raw->h.pid };
	struct hit_env env = { .code_at = hit_code, .memory = hit_memory, .ctx = &hc };
	struct hit h = { .addr = raw->addr, .len = 1, .regs = (const uint64_t *)raw->regs, .on_stack = raw->on_stack };

	hit_decide(hc.p->blocks, &env, &h);
	hit->flags |= h.flags;
	hit->ip = h.ip;
}

static void on_window(void *ctx, const struct watch_window *w)
{
	struct access_part *p = ctx;
	struct fmt_hit hits[WATCH_MAX_HITS];
	struct fmt_window rec = { .armed = w->armed, .ended = w->ended, .addr = w->req.addr, .len = w->req.len,
				  .end_reason = w->end_reason, .write_only_after = w->write_only_after, .count = w->count };
	/* that nobody wrote says the more about whose bytes these are the longer it lasted */
	double guess = fmin(1, (double)(w->ended - w->armed) / WRITES_NS), cost;
	bool written = p->arm[w->slot].flags & FMT_A_STORE, read = false;
	uint64_t writer = 0; /* the access that chose the address is too long ago to be one */

	(w->req.on_cpus ? session_breakpoints_give_apart : session_breakpoints_give)(p->s, 1);
	memcpy(&rec.arm, &p->arm[w->slot], sizeof(rec.arm));
	for (uint32_t i = 0; i < w->count; i++) {
		const struct watch_hit *h = &w->hits[i];

		hits[i] = (struct fmt_hit){ .time = h->time, .tid = h->tid, .flags = h->flags, .syscall = h->syscall };
		attr_code(session_attr(p->s), h->pid, h->ip, &hits[i].module, &hits[i].ip);
		p->n.undecided += !(h->flags & (FMT_A_LOAD | FMT_A_STORE));
		if (h->flags & FMT_A_LOAD)
			draws_seen(&p->draws, hits[i].module, hits[i].ip, (written ? 1.0 : guess) / w->count, writer);
		read |= h->flags & FMT_A_LOAD;
		if (h->flags & FMT_A_STORE) {
			writer = h->syscall >= 0 ? 1 + (uint64_t)h->syscall : function_of(p, h->pid, h->ip);
			written = true;
		}
	}
	/* who reads what an instruction writes is known then, too: the next window is needed elsewhere */
	if (read && (rec.arm.flags & FMT_A_STORE) && !(rec.arm.flags & FMT_A_LOAD))
		draws_seen(&p->draws, rec.arm.module, rec.arm.ip, 0.75, rec.arm.ip);
	if (!written && w->end_reason == FMT_W_TIME && (rec.arm.flags & FMT_A_LOAD))
		draws_missed(&p->draws, rec.addr);
	p->n.windows++;
	p->last_window = w->ended;
	p->n.hits += w->count;
	cost = governor_window_cost(&p->gov, w->count, w->phases, w->threads);
	governor_spend(&p->gov, GOV_HITS, cost);
	session_spent(p->s, cost);
	store_put_var(session_store(p->s), FMT_WINDOW, &rec, sizeof(rec), hits, w->count * (uint32_t)sizeof(hits[0]));
}

/* ---- the part ---- */

static int start(void *part, struct session *s, struct err *e)
{
	struct access_part *p = part;
	struct targets *t = session_targets(s);
	struct store_writer *w = session_store(s);
	char exe[PATH_MAX], link[64];
	ssize_t n;

	store_meta(w, "from_start", t->child ? "1" : "0");
	if (p->watch) {
		store_metaf(w, "watch_hit_ns", "%.0f", p->gov.hit_ns);
		store_metaf(w, "watch_arm_ns", "%.0f", p->gov.arm_ns);
		store_metaf(w, "watch_wake_ns", "%.0f", p->gov.wake_ns);
		store_metaf(w, "watch_switch_ns", "%.0f", p->switch_ns);
	}
	store_metaf(w, "weights", "time, taken as %g ns an instruction", NOMINAL_NS_PER_INSN);
	if (t->count && !t->child) {
		snprintf(link, sizeof(link), "/proc/%d/exe", t->procs[0].pid);
		n = readlink(link, exe, sizeof(exe) - 1);
		if (n > 0) {
			exe[n] = 0;
			store_meta(w, "exe", exe);
		}
	}
	if (p->o.hardware && start_hardware(p, e))
		return e->code;
	return p->sysio ? sysio_part_start(p->sysio, t, e) : 0;
}

static int on_poll(void *part, struct session *s, uint64_t now)
{
	struct access_part *p = part;
	int err = 0;

	if (p->watch) {
		struct watch_stats st;

		watch_poll(p->watch, now);
		watch_stats(p->watch, &st);
		if (st.armed_ns > p->last_armed_ns) {
			double armed = (double)(st.armed_ns - p->last_armed_ns);
			double more = governor_slots_cost(&p->gov, (double)(st.slot_ns - p->last_slot_ns) - armed);

			governor_spend(&p->gov, GOV_ARMED, governor_armed_cost(&p->gov, armed) + more);
			session_spent(s, governor_armed_likely(&p->gov, armed) + more);
			p->last_armed_ns = st.armed_ns;
			p->last_slot_ns = st.slot_ns;
		}
		if (wants_window(p, now))
			session_want_sample(s, 0);
	}
	if (p->sysio)
		err = sysio_part_poll(p->sysio, now);
	if (p->hw && err >= 0)
		err = p->o.hardware->read(p->hw, on_hardware, p);
	return err < 0 ? err : 0;
}

/* Keeps the processor's samples within their part of the budget: how many a period gives depends on
 * what the target does, so it is corrected by what came. */
static void govern_hardware(struct access_part *p, uint64_t now)
{
	double each = p->arm_from_hw || p->o.hardware->bias == SOURCE_BY_COUNT ? GOV_PMU_NS : GOV_PMU_BATCHED_NS;
	double seconds = (double)(now - p->last_wall) / 1e9, running = p->gov.running > 0.05 ? p->gov.running : 0.05;
	double want = governor_rate(&p->gov, GOV_HARDWARE) * 1e9 * running / each, got;
	struct source_stats st;

	p->o.hardware->stats(p->hw, &st);
	got = (double)(st.samples + st.filtered - p->last_hw) / seconds;
	p->last_hw = st.samples + st.filtered;
	governor_spend(&p->gov, GOV_HARDWARE, got * seconds * each);
	session_spent(p->s, got * seconds * each);
	if (got > 1.2 * want || (got > 0 && got < 0.5 * want))
		p->o.hardware->set_rate(p->hw, fmax(0.1, fmin(4, want / got)));
	if (fabs(got - p->hw_rate) > 0.2 * p->hw_rate)
		write_rate(p, p->o.hardware->name, now, p->hw_rate = got, 0);
}

/* How many windows the budget bought in the last second. */
static void write_window_rate(struct access_part *p, uint64_t now)
{
	double rate = (double)(p->n.windows - p->last_windows) * 1e9 / (double)(now - p->last_wall);

	p->last_windows = p->n.windows;
	if (fabs(rate - p->window_rate) > 0.2 * p->window_rate)
		write_rate(p, "watch", now, p->window_rate = rate, 0);
}

static int on_second(void *part, struct session *s, uint64_t now)
{
	struct access_part *p = part;
	const struct block_stats *b = block_cache_stats(p->blocks);
	double cpu = (double)(session_totals(s)->target_ns - p->last_cpu_ns);
	uint64_t rewritten;

	if (p->watch)
		governor_costs(&p->gov, session_coupled(s, p->costs.hit_ns), session_coupled(s, p->costs.arm_ns), p->costs.wake_ns);
	if (p->last_wall)
		governor_wall(&p->gov, (double)(now - p->last_wall), cpu);
	governor_spend(&p->gov, GOV_ELSEWHERE, (double)(session_totals(s)->apart_ns - p->last_apart));
	p->last_apart = session_totals(s)->apart_ns;
	if (p->last_wall && p->hw)
		govern_hardware(p, now);
	if (p->last_wall && p->watching)
		write_window_rate(p, now);
	p->births = p->born - p->born_before >= BIRTHS;
	p->born_before = p->born;
	p->last_wall = now;
	p->last_cpu_ns = session_totals(s)->target_ns;
	session_count(s, "block operands with an address", p->n.known, false);
	session_count(s, "block operands without an address", p->n.unknown, false);
	session_count(s, "accesses written", p->n.written, false);
	session_count(s, "samples in the kernel: no accesses", p->n.kernel, false);
	session_count(s, "samples at the end of a system call: the kernel's time, no accesses", p->n.returns, false);
	session_count(s, "samples whose code could not be decoded", p->n.undecoded, false);
	session_count(s, "samples whose block start is unknown", p->n.leaders_unknown, false);
	session_count(s, "samples whose code changed meanwhile", b->rewritten, false);
	/* the cache is asked for other things, too */
	rewritten = b->rewritten < p->n.undecoded ? b->rewritten : p->n.undecoded;
	session_unread(s, rewritten, b->undecodable < p->n.undecoded - rewritten ? b->undecodable : p->n.undecoded - rewritten);
	if (p->hw)
		count_hardware(p);
	if (p->watching) {
		if (p->watch)
			watch_stats(p->watch, &p->watched);
		session_count(s, "watch windows", p->n.windows, false);
		session_count(s, "watch windows begun within 0.4 ms of their sample", p->n.prompt, false);
		session_count(s, "watch windows on CPUs instead of threads", p->n.on_cpus, false);
		session_count(s, "watch windows given up as other processes use their addresses", p->watched.crowded, false);
		session_count(s, "watch windows replaced by newer ones", p->n.replaced, false);
		session_count(s, "watch hits", p->n.hits, false);
		session_count(s, "watch hits of unknown direction", p->n.undecided, false);
		session_count(s, "watch hits lost: ring full", p->watched.lost, true);
		session_count(s, "watch windows given up for another debugger", p->watched.stolen, false);
		session_count(s, "watch: samples while the budget was spent", p->n.unaffordable, false);
		session_count(s, COUNTER_FORBIDDEN_WINDOWS, p->n.forbidden, false);
		session_count(s, "watch draws without a candidate", p->n.no_candidate, false);
		session_count(s, "watch: accesses of instructions past the table's end, never drawn", p->draws.past, false);
		session_count(s, "watch armed us", p->watched.armed_ns / 1000, false);
	}
	if (p->sysio)
		sysio_part_count(p->sysio);
	return 0;
}

static void stop(void *part, struct session *s)
{
	struct access_part *p = part;

	if (p->watch) {
		for (int i = 0; i < WATCH_SLOTS; i++)
			if (watch_slot(p->watch, i))
				watch_end(p->watch, i, FMT_W_EXIT, now_ns());
		watch_stats(p->watch, &p->watched);
	}
	watch_free(p->watch);
	p->watch = NULL;
	if (p->hw) {
		p->o.hardware->read(p->hw, on_hardware, p);
		count_hardware(p);
		p->o.hardware->close(p->hw);
		p->hw = NULL;
	}
	if (p->sysio)
		sysio_part_stop(p->sysio);
}

static void release(void *part)
{
	struct access_part *p = part;

	watch_free(p->watch);
	if (p->hw)
		p->o.hardware->close(p->hw);
	sysio_part_free(p->sysio);
	block_cache_free(p->blocks);
	draws_release(&p->draws);
	if (p->epoll >= 0)
		close(p->epoll);
	free(p);
}

static int part_fd(void *part)
{
	struct access_part *p = part;

	return p->epoll;
}

static const struct session_part ops = {
	.name = "access", .start = start, .sample = on_sample, .fresh = on_fresh, .poll = on_poll, .second = on_second,
	.stop = stop, .release = release, .fd = part_fd,
};

static void note(char *text, size_t size, const char *what, const struct err *e)
{
	size_t len = strlen(text);

	if (len < size)
		snprintf(text + len, size - len, "%s%s: %s", len ? "\n" : "", what, e->text);
}

static void price(struct session *s, struct watch_costs *c)
{
	double v[3];

	if (!prices_known(session_prices(s), "watch", v, 3)) {
		watch_measure(c, NULL);
		v[0] = c->hit_ns;
		v[1] = c->arm_ns;
		v[2] = c->wake_ns;
		prices_add(session_prices(s), "watch", v, 3);
	}
	*c = (struct watch_costs){ .hit_ns = v[0], .arm_ns = v[1], .wake_ns = v[2] };
}

int access_parts_add(struct session *s, const struct access_opts *o, char *degraded, size_t size, struct err *e)
{
	struct watch_opts wo = WATCH_DEFAULTS;
	struct access_part *p = calloc(1, sizeof(*p));
	struct err why = { 0 };
	struct watch_costs costs = { NAN, NAN, NAN };
	struct epoll_event ev = { .events = EPOLLIN };
	unsigned used = 1u << GOV_TIMER;

	degraded[0] = 0;
	if (!p || !(p->blocks = block_cache_new(0))) {
		free(p);
		return err_set(e, -ENOMEM, "out of memory");
	}
	p->o = *o;
	p->s = s;
	p->random = now_ns() | 1;
	if (!p->o.watch_len)
		p->o.watch_len = 1;
	if (!p->o.hit_limit)
		p->o.hit_limit = DEFAULT_HITS;
	wo.hit_limit = p->o.hit_limit;
	wo.switch_after = p->o.hit_limit / 2;
	wo.read_again = READ_AGAIN;
	if (o->windows)
		p->watch = watch_new(&wo, decide, on_window, p, &why);
	if (p->watch && watch_check(p->watch, &why)) {
		watch_free(p->watch);
		p->watch = NULL;
	}
	if (p->watch) {
		price(s, &costs);
		p->switch_ns = session_switch_cost(s);
		session_breakpoints_user(s);
	}
	if (o->windows && !p->watch)
		note(degraded, size, "no watchpoints", &why);
	if (o->syscalls && !(p->sysio = sysio_part_new(s, &p->gov, &why)))
		note(degraded, size, "system calls are not observed", &why);
	p->watching = p->watch;
	used |= p->watch ? 1u << GOV_HITS | 1u << GOV_ARMED : 0;
	used |= o->hardware ? 1u << GOV_HARDWARE : 0;
	used |= p->sysio ? 1u << GOV_SYSCALLS : 0;
	governor_init(&p->gov, o->budget, used);
	if (o->elsewhere > 0)
		governor_reserve(&p->gov, o->elsewhere);
	p->costs = costs;
	governor_costs(&p->gov, costs.hit_ns, costs.arm_ns, costs.wake_ns);
	session_wake_cost(s, costs.wake_ns);
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll < 0 || (p->sysio && epoll_ctl(p->epoll, EPOLL_CTL_ADD, sysio_part_fd(p->sysio), &ev)) ||
	    (p->watch && epoll_ctl(p->epoll, EPOLL_CTL_ADD, watch_fd(p->watch), &ev))) {
		err_set(e, -errno, "cannot wait for watchpoints and system calls: %s", strerror(errno));
		release(p);
		return e->code;
	}
	return session_add(s, &ops, p, e);
}
