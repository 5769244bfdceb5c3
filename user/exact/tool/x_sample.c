/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A synthetic PMU on the running program: count-proportional and time-like samples, first
 * executions of every store, watch windows. The truth comes from the same run, so an estimator's
 * error is the estimator's.
 */
#include "x.h"

#define MODEL_CYCLES_PER_NS 3 /* the cost model's clock */

#define WINDOW_LEN 4 /* bytes that one window watches: the larger of record's --watch-length */

static ULong rng_state;

static ULong rnd(void)
{
	ULong x = rng_state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	rng_state = x;
	return x * 2685821657736338717ull;
}

/* Uniform in [period/2, 3 period/2], both ends drawn: else the mean is half an access short of the period
 * and all volumes come out too large. No loop keeps step with it. */
static ULong gap(ULong period)
{
	return period < 2 ? period : (period + 1) / 2 + rnd() % (period / 2 * 2 + 1);
}

UChar *win_filter;
UInt win_armed;

void sample_init(void)
{
	rng_state = opt.seed * 0x9e3779b97f4a7c15ull ^ 0x2545f4914f6cdd1dull;
	X.ld_cd = X.st_cd = X.in_cd = X.cy_cd = 1ll << 61;
	if (opt.sample_period) {
		X.ld_cd = gap(opt.sample_period);
		X.st_cd = gap(opt.sample_period);
		X.in_cd = gap(opt.sample_period);
	}
	if (opt.timer_period)
		X.cy_cd = gap(opt.timer_period * 4);
	if (opt.windows)
		win_filter = VG_(calloc)("x.filter", 1, 65536);
}

#define MAX_FRAMES 128 /* of a stack; deeper ones are FMT_STACK_CUT; by hand */

static UInt current_stack(Addr ip)
{
	struct fmt_frame fr[MAX_FRAMES];
	Thread *t = X.t;
	UInt n = 0, flags = FMT_STACK_COMPLETE;
	Module *m = module_at(ip);
	ULong v = module_vaddr(m, ip);

	fr[n++] = (struct fmt_frame){ v, m->id, 0 };
	out_symbol(m, ip, v, fn_at(ip));
	for (UInt i = t->depth; i-- > 1;) {
		Frame *f = &t->frames[i];

		if (!f->ret)
			continue; /* signal handlers and jumps: no return address of their own */
		if (n == MAX_FRAMES) {
			flags = FMT_STACK_CUT;
			break;
		}
		m = module_at(f->ret);
		v = module_vaddr(m, f->ret);
		/* inside the call, as every reader of return addresses has it */
		fr[n++] = (struct fmt_frame){ v - 1, m->id, FMT_FRAME_RETURN };
		out_symbol(m, f->ret - 1, v - 1, fn_at(f->ret - 1));
	}
	return out_stack(fr, n, flags);
}

/* Which frame of the stack that current_stack() writes holds this address: its local variables are there. */
static void locate_frame(Addr a, struct fmt_access *r)
{
	Thread *t = X.t;
	UInt lo = frame_around(t, a), n = 1;

	/* the first frame has no base; what a signal interrupted has no return address */
	if (!lo || (lo + 1 < t->depth && !t->frames[lo + 1].ret))
		return;
	for (UInt i = lo + 1; i < t->depth; i++)
		n += t->frames[i].ret != 0;
	if (n > MAX_FRAMES)
		return;
	r->frame = n;
	r->frame_offset = (Int)(a - (t->frames[lo].sp + 8));
}

static struct fmt_access access_of(Ev *e, Addr a, UInt flags, Bool stack, double weight)
{
	Module *m = module_at(e->ip);
	struct fmt_access r;
	Fn *fn = fn_at(e->ip);

	VG_(memset)(&r, 0, sizeof(r));
	r.time = X.now;
	r.addr = a;
	r.module = m->id;
	r.ip = module_vaddr(m, e->ip);
	r.weight = weight;
	r.pid = 1;
	r.tid = X.t->tid;
	r.function = X.eff + 1; /* as the truth counts it: linkage stubs are their caller's */
	r.size = e->size;
	r.flags = flags | (stack ? FMT_A_STACK : 0) | (e->rep ? FMT_A_REP : 0);
	out_symbol(m, e->ip, r.ip, fn);
	if (stack)
		locate_frame(a, &r);
	return r;
}

/* ---- watch windows ---- */

typedef struct Win {
	struct fmt_window w;
	struct fmt_hit *hits;
	ULong *inv, arm_inv; /* by hit: invocation, 0 the kernel; of the access that chose the address */
	UInt free_hits;      /* since the last write */
	Bool write_only, done, armed;
	ULong arm_at;
} Win;

static Win **wins;
static UInt n_wins, cap_wins, active_from;
static ULong keep_mod = 1, drawn, next_due = ~0ull;
static UInt *line_head; /* by line, a list of window numbers + 1 */
static UInt *line_next;

static UInt line_of(Addr a)
{
	return (a >> 6 ^ a >> 22) & 0xffff;
}

static void win_disarm(UInt i, UInt reason)
{
	Win *w = wins[i];
	UInt l = line_of(w->w.addr), *p = &line_head[l];

	while (*p && *p != i + 1)
		p = &line_next[*p - 1];
	if (*p)
		*p = line_next[i];
	if (!line_head[l])
		win_filter[l] = 0;
	w->armed = False;
	w->done = True;
	w->w.ended = X.now;
	w->w.end_reason = reason;
}

static void win_list(UInt i)
{
	UInt l = line_of(wins[i]->w.addr);

	line_next[i] = line_head[l];
	line_head[l] = i + 1;
	win_filter[l] = 1;
}

static void win_arm(UInt i)
{
	Win *w = wins[i];

	win_list(i);
	w->armed = True;
	w->w.armed = X.now;
}

/* Called per block while windows are under way; most calls only compare. */
void window_tick(void)
{
	if (LIKELY_(X.now < next_due))
		return;
	next_due = ~0ull;
	win_armed = 0;
	for (UInt i = active_from; i < n_wins; i++) {
		Win *w = wins[i];
		ULong due;

		if (w->done)
			continue;
		if (!w->armed && X.now >= w->arm_at)
			win_arm(i);
		if (w->armed && X.now >= w->w.armed + opt.window_life) {
			win_disarm(i, FMT_W_TIME);
			continue;
		}
		due = w->armed ? w->w.armed + opt.window_life : w->arm_at;
		if (due < next_due)
			next_due = due;
		win_armed++;
	}
	while (active_from < n_wins && wins[active_from]->done)
		active_from++;
}

static void win_thin(void)
{
	UInt k = 0;

	VG_(memset)(line_head, 0, 65536 * sizeof(*line_head));
	VG_(memset)(win_filter, 0, 65536);
	for (UInt i = 0; i < n_wins; i++) {
		if (i & 1) {
			VG_(free)(wins[i]->hits);
			VG_(free)(wins[i]->inv);
			VG_(free)(wins[i]);
		} else {
			wins[k++] = wins[i];
		}
	}
	n_wins = k;
	for (UInt i = 0; i < n_wins; i++)
		if (wins[i]->armed)
			win_list(i);
	active_from = 0;
	next_due = 0; /* the next block works out anew which windows wait */
	keep_mod *= 2;
}

static void win_draw(const struct fmt_access *arm)
{
	Win *w;

	if (drawn++ % keep_mod)
		return;
	/* Twice as many as wanted are kept; then every other one goes, and half as many are drawn. */
	if (n_wins >= 2 * opt.windows)
		win_thin();
	if (n_wins == cap_wins) {
		UInt cap = cap_wins ? cap_wins * 2 : 1024;

		wins = VG_(realloc)("x.wins", wins, cap * sizeof(*wins));
		line_next = VG_(realloc)("x.wins", line_next, cap * sizeof(*line_next));
		cap_wins = cap;
		if (!line_head)
			line_head = VG_(calloc)("x.wins", 65536, sizeof(*line_head));
	}
	w = VG_(calloc)("x.win", 1, sizeof(*w));
	VG_(memcpy)(&w->w.arm, arm, sizeof(w->w.arm));
	/* one place in the access, each as likely, as `record` does. Not from the samples' generator: the same
	 * samples with and without windows. */
	w->w.addr = arm->addr + (arm->size > WINDOW_LEN
					 ? (drawn * 0x9e3779b97f4a7c15ull >> 33) % (arm->size / WINDOW_LEN) * WINDOW_LEN
					 : 0);
	w->arm_inv = X.inv;
	w->w.len = WINDOW_LEN;
	w->w.write_only_after = ~0u;
	w->arm_at = X.now + opt.window_delay;
	line_next[n_wins] = 0;
	wins[n_wins++] = w;
	win_armed++;
	if (w->arm_at < next_due)
		next_due = w->arm_at;
}

static void win_hit(UInt i, Addr ip, UInt flags, Int nr, UInt fn)
{
	Win *w = wins[i];
	struct fmt_hit *h;
	Bool write = flags & FMT_A_STORE;

	if (!write && w->write_only)
		return;
	if (!w->hits)
		w->hits = VG_(malloc)("x.hits", opt.window_hits * sizeof(*w->hits));
	if (!w->inv)
		w->inv = VG_(malloc)("x.hits", opt.window_hits * sizeof(*w->inv));
	w->inv[w->w.count] = ip ? X.inv : 0;
	h = &w->hits[w->w.count++];
	VG_(memset)(h, 0, sizeof(*h));
	h->time = X.now;
	h->function = fn;
	h->tid = X.t ? X.t->tid : 1;
	h->flags = flags;
	h->syscall = nr;
	if (ip) {
		Module *m = module_at(ip);

		h->module = m->id;
		h->ip = module_vaddr(m, ip);
		out_symbol(m, ip, h->ip, fn_at(ip));
	}
	w->free_hits = write ? 0 : w->free_hits + 1;
	if (w->free_hits >= opt.window_free) {
		w->write_only = True;
		w->w.write_only_after = w->w.count;
	}
	if (w->w.count >= opt.window_hits)
		win_disarm(i, FMT_W_HITS);
}

static void touch_line(Addr line, Addr a, SizeT size, const Ev *e, UInt flags)
{
	UInt next;

	for (UInt i = line_head[line_of(line)]; i; i = next) {
		Win *w = wins[i - 1];

		next = line_next[i - 1];
		if (w->w.addr < a + size && a < w->w.addr + w->w.len)
			win_hit(i - 1, e->ip, flags, -1, X.eff + 1);
	}
}

void window_touch(Ev *e, Addr a, UInt size, UInt flags)
{
	if (LIKELY_(!win_filter[line_of(a)] && !win_filter[line_of(a + size - 1)] && !win_filter[line_of(a - 3)]))
		return;
	touch_line(a - 3, a, size, e, flags);
	if (line_of(a) != line_of(a - 3))
		touch_line(a, a, size, e, flags);
	if (line_of(a + size - 1) != line_of(a))
		touch_line(a + size - 1, a, size, e, flags);
}

void window_kernel(Addr a, SizeT len, UInt flags, Int nr)
{
	UInt fn = X.t && nr >= 0 ? X.t->syscall_fn + 1 : 0;

	for (UInt i = active_from; i < n_wins; i++)
		if (wins[i]->armed && wins[i]->w.addr < a + len && a < wins[i]->w.addr + wins[i]->w.len)
			win_hit(i, 0, flags, nr, fn);
}

void windows_flush(Bool final)
{
	for (UInt i = 0; i < n_wins; i++) {
		Win *w = wins[i];

		if (!w->done && w->armed)
			win_disarm(i, FMT_W_EXIT);
		if (!w->done)
			continue; /* the program ended before it was armed */
		out_var(FMT_WINDOW, &w->w, sizeof(w->w), w->hits, w->w.count * sizeof(*w->hits));
		if (w->w.count) {
			struct fmt_window_calls c = { w->w.armed, w->w.addr, w->arm_inv, w->w.count, 0 };

			out_var(FMT_WINDOW_CALLS, &c, sizeof(c), w->inv, w->w.count * sizeof(*w->inv));
		}
	}
}

/* ---- samples ---- */

void sample_access(Ev *e, Addr a, UInt flags, Bool stack)
{
	struct fmt_access r = access_of(e, a, flags, stack, (double)opt.sample_period);

	if (flags & FMT_A_LOAD)
		X.ld_cd = gap(opt.sample_period);
	else
		X.st_cd = gap(opt.sample_period);
	if (!opt.sample_period) {
		X.ld_cd = X.st_cd = 1ll << 62;
		return;
	}
	r.stack = current_stack(e->ip);
	out_rec(FMT_ACCESS, &r, sizeof(r));
	/* the first granule is watched; stack slots are not what flow is about */
	if (opt.windows && !stack)
		win_draw(&r);
}

void sample_census(Ev *e, Addr a, Bool stack)
{
	struct fmt_access r;

	e->census--;
	/* of those to the stack the first only: it tells that the others' number is not that of executions */
	if (stack && e->census_stack)
		return;
	e->census_stack |= stack;
	r = access_of(e, a, FMT_A_STORE | FMT_A_CENSUS, stack, 0);
	if (!stack)
		r.stack = current_stack(e->ip);
	out_rec(FMT_ACCESS, &r, sizeof(r));
}

/* What the kernel reads or fills: every range of every call. Stack and other memory apart, as the truth has it. */
void sample_sysio(Addr a, SizeT len, UInt dir)
{
	struct fmt_sysio r;

	VG_(memset)(&r, 0, sizeof(r));
	r.time = X.now;
	r.weight = 1;
	r.pid = 1;
	r.tid = X.t ? X.t->tid : 1;
	r.nr = X.t ? X.t->syscall_nr : -1;
	r.dir = dir;
	while (len) {
		Bool stack = a - X.lo <= X.span;
		SizeT n = len;

		if (stack && n > X.lo + X.span - a + 1)
			n = X.lo + X.span - a + 1;
		else if (!stack && a < X.lo && X.lo - a < n)
			n = X.lo - a;
		r.addr = a;
		r.len = n;
		r.flags = stack ? FMT_IO_STACK : 0;
		out_rec(FMT_SYSIO, &r, sizeof(r));
		a += n;
		len -= n;
	}
}

static UInt log_sample(Addr ip, ULong period, UInt flags)
{
	struct fmt_sample r;

	VG_(memset)(&r, 0, sizeof(r));
	r.time = X.now;
	r.period = period;
	r.pid = 1;
	r.tid = X.t->tid;
	r.stack = current_stack(ip);
	r.flags = flags;
	out_rec(FMT_SAMPLE, &r, sizeof(r));
	return r.stack;
}

void sample_insns(Flush *f, ULong n)
{
	BB *bb = f->bb;

	/* in_cd has passed zero inside this block: at that instruction the sample is taken */
	while (X.in_cd <= 0) {
		Long back = -X.in_cd; /* instructions executed after it */
		UInt i = f->ins_to > f->ins_from ? f->ins_to - 1 : f->ins_from;

		i = i >= back + f->ins_from ? i - back : f->ins_from;
		if (!opt.sample_period) {
			X.in_cd = 1ll << 62;
			return;
		}
		log_sample(bb->addr + bb->ins[i].off, opt.sample_period, FMT_S_INSTRUCTIONS);
		X.in_cd += gap(opt.sample_period);
	}
}

/* A timer's view: where the model's time goes, and the accesses of the block it finds there. Weights
 * assume one instruction per cycle, since a timer knows no better. */
void sample_cycles(Flush *f)
{
	BB *bb = f->bb;
	UInt n = f->ins_to - f->ins_from, pick, cost, stack;
	ULong r, sum = 0;

	X.cy_cd += gap(opt.timer_period * 4);
	if (X.cy_cd <= 0) /* one block can outlast a period: cache misses */
		X.cy_cd = gap(opt.timer_period * 4);
	if (!n)
		return;
	for (UInt i = f->ins_from; i < f->ins_to; i++)
		sum += bb->ins[i].cost + 1;
	r = rnd() % sum;
	for (pick = f->ins_from; pick < f->ins_to - 1; pick++) {
		cost = bb->ins[pick].cost + 1;
		if (r < cost)
			break;
		r -= cost;
	}
	stack = log_sample(bb->addr + bb->ins[pick].off, opt.timer_period / MODEL_CYCLES_PER_NS, 0);
	for (UInt i = f->from; i < f->to; i++) {
		Ev *e = &bb->ev[i];
		Addr a = evbuf[i - f->from];
		struct fmt_access acc;

		if (e->kind == EV_SP || !a)
			continue;
		acc = access_of(e, a, (e->kind == EV_LOAD ? FMT_A_LOAD : FMT_A_STORE) | FMT_A_TIME | FMT_A_DERIVED,
				a - X.lo <= X.span, (double)opt.timer_period / n);
		acc.stack = stack;
		out_rec(FMT_ACCESS, &acc, sizeof(acc));
	}
}

/* ---- cost model: 32 KiB and 1 MiB, 8 ways, least recently used; in quarter cycles ---- */

#define L1_SETS 64   /* of 8 lines of 64 bytes: 32 KiB */
#define L2_SETS 2048 /* 1 MiB */
static ULong l1[L1_SETS][8], l2[L2_SETS][8];

static Bool lookup(ULong *set, ULong line)
{
	UInt i;
	ULong hit = 0;

	for (i = 0; i < 8; i++)
		if (set[i] == line) {
			hit = 1;
			break;
		}
	if (i == 8)
		i = 7;
	for (; i; i--)
		set[i] = set[i - 1];
	set[0] = line;
	return hit;
}

ULong cache_cost(Addr a, UInt size)
{
	ULong line = a >> 6 | 1ull << 60, last = (a + size - 1) >> 6 | 1ull << 60, cost = 0;

	for (; line <= last; line++) {
		if (l1[line % L1_SETS][0] == line || lookup(l1[line % L1_SETS], line))
			continue;
		cost += lookup(l2[line % L2_SETS], line) ? 4 * 12 : 4 * 150;
	}
	return cost;
}
