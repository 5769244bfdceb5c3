/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hot path: one call per basic block of the target. Written once as an inline function of what
 * is measured and compiled for the usual combinations, so that a figure not asked for costs nothing.
 */
#include "x_access.h"

Bool short_way;
static UInt extra_samples, extra_windows, extra_objects, extra_cycles;

INLINE void fill(UShort *w, UInt n, UInt fn)
{
	ULong b = fn * 0x0001000100010001ull;

	switch (n) {
	case 1: w[0] = fn; break;
	case 2: *(u32u *)w = (UInt)b; break;
	case 4: *(u64u *)w = b; break;
	case 8:
		((u64u *)w)[0] = b;
		((u64u *)w)[1] = b;
		break;
	default:
		for (UInt i = 0; i < n; i++)
			w[i] = fn;
	}
}

INLINE void read_ke(Ev *e, Sec *s, UInt off, UInt n, UInt stack)
{
	UInt shift = opt.chunk_shift, last = (off + n - 1) >> shift;

	for (UInt c = off >> shift; c <= last; c++) {
		ULong k = s->k[c];
		UInt w = k >> 32;

		if ((UInt)k == X.inv)
			continue;
		s->k[c] = (k & ~0xffffffffull) | X.inv;
		/* the site remembers one edge; borrow it, do not move it */
		if (LIKELY_(e->ekey == EDGE_KEY(w, X.eff)))
			e->edge->ke[stack]++;
		else
			edge_get(EDGE_KEY(w, X.eff))->ke[stack]++;
	}
}

static __attribute__((noinline)) void extra(Ev *e, Addr a, UInt n, UInt flags, UInt stack)
{
	if (extra_windows)
		window_touch(e, a, n, flags | (stack ? FMT_A_STACK : 0));
	if (extra_objects)
		object_access(e, a, n, flags & FMT_A_STORE);
	if (extra_cycles)
		X.tot.cycles += cache_cost(a, n);
	if (paths_on)
		path_access(a, n, flags & FMT_A_STORE, stack);
	if (logs_on && (!stack || opt.log_stack)) {
		log_access(a, n, flags & FMT_A_STORE, stack, extra_objects ? object_of_access : 0);
		if (flags & FMT_A_STORE)
			log_store(a, n);
		else
			log_load(a, n);
	}
	if (extra_samples) {
		if (flags & FMT_A_LOAD && --X.ld_cd <= 0)
			sample_access(e, a, flags, stack);
		if (flags & FMT_A_STORE) {
			if (--X.st_cd <= 0)
				sample_access(e, a, flags, stack);
			if (e->census)
				sample_census(e, a, stack);
		}
	}
}

INLINE void do_load(Ev *e, Addr a, UInt n, const UInt mode)
{
	UInt off = a & SEC_MASK;
	UInt stack = a - X.lo <= X.span;
	Sec *s = sec_get(a);

	X.tot.load_bytes[region_of(s, a, stack)] += n;
	if (UNLIKELY_(off + n > SEC_SIZE)) {
		UInt first = SEC_SIZE - off;

		read_mixed(e, s->w + off, a, first, stack, mode);
		if (mode & M_KE)
			read_ke(e, s, off, first, stack);
		s = sec_get(a + first);
		read_mixed(e, s->w, a + first, n - first, stack, mode);
		if (mode & M_KE)
			read_ke(e, s, 0, n - first, stack);
	} else {
		if (mode & (M_QUAD | M_UNIQUE)) {
			const UShort *w = s->w + off;

			if (LIKELY_(uniform(w, n)))
				read_run(e, w[0], a, n, stack, mode);
			else
				read_mixed(e, w, a, n, stack, mode);
		}
		if (mode & M_KE)
			read_ke(e, s, off, n, stack);
	}
	if (mode & M_EXTRA)
		extra(e, a, n, FMT_A_LOAD | (e->rep ? FMT_A_REP : 0), stack);
}

INLINE void mark(Sec *s, UInt off, UInt n, UInt fn, const UInt mode)
{
	fill(s->w + off, n, fn);
	if (mode & M_KE) {
		UInt last = (off + n - 1) >> opt.chunk_shift;

		for (UInt c = off >> opt.chunk_shift; c <= last; c++)
			s->k[c] = (ULong)fn << 32; /* and nobody has read it since */
	}
}

INLINE void do_store(Ev *e, Addr a, UInt n, const UInt mode)
{
	UInt off = a & SEC_MASK;
	UInt stack = a - X.lo <= X.span;
	Sec *s = sec_get(a);

	X.tot.store_bytes[region_of(s, a, stack)] += n;
	if (UNLIKELY_(off + n > SEC_SIZE)) {
		UInt first = SEC_SIZE - off;

		mark(s, off, first, X.eff, mode);
		mark(sec_get(a + first), 0, n - first, X.eff, mode);
	} else {
		mark(s, off, n, X.eff, mode);
	}
	if (mode & M_UNIQUE) {
		ULong blk = ((a >> UBLK_SHIFT) << 1 | stack) ^ (ULong)X.eff << 48;
		UInt uoff = a & ((1u << UBLK_SHIFT) - 1);

		if (UNLIKELY_(e->ublk != blk)) {
			Edge *ed = site_edge(e, EDGE_KEY(X.eff, CONSUMER_WRITTEN));

			e->ubits = ubits_get(ukey(ed->index, stack, a));
			e->ublk = blk;
		}
		if (UNLIKELY_(uoff + n > 1u << UBLK_SHIFT))
			unique_set(site_edge(e, EDGE_KEY(X.eff, CONSUMER_WRITTEN))->index, stack, a, n);
		else
			bits_set(e->ubits, uoff, n);
	}
	if (mode & M_EXTRA)
		extra(e, a, n, FMT_A_STORE | (e->rep ? FMT_A_REP : 0), stack);
}

INLINE void accesses(Flush *f, const UInt mode)
{
	const ULong *v = evbuf;
	Ev *end = f->ev + (f->to - f->from);

	for (Ev *e = f->ev; e < end; e++, v++) {
		Addr a = *v;

		if (e->kind == EV_SP) {
			move_sp(a);
		} else if (UNLIKELY_(!a)) {
			not_accessed(e);
		} else if (e->kind == EV_LOAD) {
			switch (e->size) {
			case 8: do_load(e, a, 8, mode); break;
			case 4: do_load(e, a, 4, mode); break;
			case 1: do_load(e, a, 1, mode); break;
			default: do_load(e, a, e->size, mode);
			}
		} else {
			switch (e->size) {
			case 8: do_store(e, a, 8, mode); break;
			case 4: do_store(e, a, 4, mode); break;
			default: do_store(e, a, e->size, mode);
			}
		}
	}
}

static void written(Sec *s, UInt off, UInt n, UInt who)
{
	if (short_way)
		shadow_mark(s, off, n, who);
	else
		mark(s, off, n, who, opt.ke ? M_KE : 0);
}

/* Outside the counting window only the stack and, before it, the fact of writing matter, or who wrote. */
__attribute__((noinline)) void run_uncounted(Flush *f)
{
	const BB *bb = f->bb;
	UInt who = X.names_writers ? X.eff : FN_BEFORE;

	for (UInt i = f->from; i < f->to; i++) {
		Ev *e = &bb->ev[i];
		Addr a = evbuf[i - f->from];

		if (e->kind == EV_SP) {
			stack_sp(a);
		} else if (e->kind != EV_LOAD && a) {
			UInt off = a & SEC_MASK, n = e->size;
			UInt first = off + n > SEC_SIZE ? SEC_SIZE - off : n;

			written(sec_get(a), off, first, who);
			if (first < n)
				written(sec_get(a + first), 0, n - first, who);
			if (paths_on)
				path_uncounted(a, n, who);
		}
	}
	X.now += f->insns;
}

INLINE void run(Flush *f, const UInt mode)
{
	ULong cycles;

	if (UNLIKELY_(f->fn != X.fn || X.sp > X.top_sp || X.pending == EXIT_CALL))
		stack_enter(f->bb);
	if (UNLIKELY_(!X.counting)) {
		run_uncounted(f);
		goto out;
	}
	cycles = X.tot.cycles;
	for (UInt i = 0; i < LANES / 4; i++)
		X.tot.four[i] += f->add_four[i];
	X.tot.cycles += f->cycles;
	X.now += f->insns;
	if (mode & M_EXTRA) {
		if (UNLIKELY_((X.in_cd -= f->insns) <= 0))
			sample_insns(f, f->insns);
		if (UNLIKELY_(win_armed))
			window_tick();
	}
	accesses(f, mode);
	if (mode & M_EXTRA && extra_cycles && UNLIKELY_((X.cy_cd -= X.tot.cycles - cycles) <= 0))
		sample_cycles(f);
	if (UNLIKELY_(X.now >= X.due))
		clock_due();
out:
	if (UNLIKELY_(!f->fn && X.pending == EXIT_CALL))
		return; /* a linkage stub: the call goes on */
	X.pending = f->exit;
	if (f->exit == EXIT_CALL) {
		X.pend_ret = f->ret_ip;
		X.pend_sp = X.sp;
	}
}

#define VARIANT(name, mode)                                                                                            \
	static VG_REGPARM(1) void name(Flush *f)                                                                       \
	{                                                                                                              \
		run(f, mode);                                                                                          \
	}
VARIANT(run_q, M_QUAD)
VARIANT(run_k, M_KE)
VARIANT(run_qk, M_QUAD | M_KE)
VARIANT(run_qu, M_QUAD | M_UNIQUE)
VARIANT(run_quk, M_QUAD | M_UNIQUE | M_KE)
VARIANT(run_quk_x, M_QUAD | M_UNIQUE | M_KE | M_EXTRA)
VARIANT(run_qk_x, M_QUAD | M_KE | M_EXTRA)
VARIANT(run_q_x, M_QUAD | M_EXTRA)
VARIANT(run_qu_x, M_QUAD | M_UNIQUE | M_EXTRA)

flush_fn exec_pick(const HChar **name)
{
	UInt mode = (opt.quad || opt.unique ? M_QUAD : 0) | (opt.unique ? M_UNIQUE : 0) | (opt.ke ? M_KE : 0);

	extra_samples = opt.sample_period || opt.census || opt.timer_period;
	extra_windows = opt.windows != 0;
	extra_objects = opt.objects;
	extra_cycles = opt.cycles;
	*name = "accperf_run";
	if (extra_samples || extra_windows || extra_objects || extra_cycles || paths_on || logs_on)
		return mode & M_KE ? (mode & M_UNIQUE ? run_quk_x : run_qk_x) : (mode & M_UNIQUE ? run_qu_x : run_q_x);
	switch (mode) {
	case M_QUAD | M_UNIQUE | M_KE: short_way = opt.chunk_shift == 2; return short_way ? run_short : run_quk;
	case M_QUAD | M_UNIQUE: return run_qu;
	case M_QUAD | M_KE: return run_qk;
	case M_KE: return run_k;
	default: return run_q;
	}
}
