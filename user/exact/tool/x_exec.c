/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hot path: one call per basic block of the target. Written once as an inline function of what
 * is measured and compiled for the usual combinations, so that a figure not asked for costs nothing.
 */
#include "x.h"

enum { M_QUAD = 1, M_UNIQUE = 2, M_KE = 4, M_EXTRA = 8 };
#define INLINE static inline __attribute__((always_inline))

typedef ULong u64u __attribute__((aligned(1), may_alias));
typedef UInt u32u __attribute__((aligned(1), may_alias));

Bool counts_packed;
static UInt extra_samples, extra_windows, extra_objects, extra_cycles;

/* Are the n writers from w on one and the same? */
INLINE Bool uniform(const UShort *w, UInt n)
{
	ULong b = w[0] * 0x0001000100010001ull;

	switch (n) {
	case 1: return True;
	case 2: return w[0] == w[1];
	case 4: return *(const u64u *)w == b;
	case 8: return ((((const u64u *)w)[0] ^ b) | (((const u64u *)w)[1] ^ b)) == 0;
	case 16:
		return ((((const u64u *)w)[0] ^ b) | (((const u64u *)w)[1] ^ b) | (((const u64u *)w)[2] ^ b) |
			(((const u64u *)w)[3] ^ b)) == 0;
	default:
		for (UInt i = 1; i < n; i++)
			if (w[i] != w[0])
				return False;
		return True;
	}
}

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

INLINE UInt region_of(Sec *s, Addr a, UInt stack)
{
	UInt tag;

	if (stack)
		return FMT_X_R_STACK;
	tag = s->tag[(a & SEC_MASK) >> 12];
	return LIKELY_(tag != TAG_NONE) ? tag : sec_tag(s, a);
}

INLINE Edge *site_edge(Ev *e, UInt key)
{
	if (LIKELY_(e->ekey == key))
		return e->edge;
	e->ekey = key;
	e->ublk = ~0ull;
	return e->edge = edge_get(key);
}

/* One run of bytes with one writer. */
INLINE void read_run(Ev *e, UInt w, Addr a, UInt n, UInt stack, const UInt mode)
{
	Edge *ed = site_edge(e, EDGE_KEY(w, X.eff));

	if (mode & M_QUAD)
		ed->bytes[stack] += n;
	if (mode & M_UNIQUE) {
		ULong blk = (a >> UBLK_SHIFT) << 1 | stack;
		UInt off = a & ((1u << UBLK_SHIFT) - 1);

		if (UNLIKELY_(off + n > 1u << UBLK_SHIFT)) {
			unique_set(ed->index, stack, a, n);
		} else {
			if (UNLIKELY_(e->ublk != blk)) {
				e->ubits = ubits_get(ukey(ed->index, stack, a));
				e->ublk = blk;
			}
			bits_set(e->ubits, off, n);
		}
	}
}

static __attribute__((noinline)) void read_mixed(Ev *e, const UShort *w, Addr a, UInt n, UInt stack, UInt mode)
{
	for (UInt i = 0; i < n;) {
		UInt j = i + 1;

		while (j < n && w[j] == w[i])
			j++;
		read_run(e, w[i], a + i, j - i, stack, mode & M_UNIQUE ? M_QUAD | M_UNIQUE : M_QUAD);
		i = j;
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

/*
 * ---- the short way: an instruction that meets the block of addresses again that it met last ----
 * For quad, unique and ke in chunks of 4 bytes, nothing else: what is measured unless told otherwise.
 */

/* Addresses have 47 bits: above them stand the epoch and the function that the access belongs to. */
INLINE ULong block_of(Addr a, UInt stack, ULong mix)
{
	return ((a >> UBLK_SHIFT) << 1 | stack) ^ mix;
}

INLINE ULong block_mix(void)
{
	return (ULong)X.eff << 48 ^ (ULong)shadow_epoch << 38;
}

INLINE void bits_again(UChar *bits, UInt off, const UInt n)
{
	UChar *at = bits + (off >> 3);

	switch (n) {
	case 32: *(u32u *)at = ~0u; break;
	case 16: at[0] = at[1] = 0xff; break;
	case 8: *at = 0xff; break;
	default: *at |= ((1u << n) - 1) << (off & 7);
	}
}

INLINE Bool written_by(const UShort *w, const UInt n, ULong pattern)
{
	ULong differ = 0;

	switch (n) {
	case 1: return *w == (UShort)pattern;
	case 2: return *(const u32u *)w == (UInt)pattern;
	default:
		for (UInt i = 0; i < n / 4; i++)
			differ |= ((const u64u *)w)[i] ^ pattern;
		return !differ;
	}
}

/* False where it is not the same block, writer and alignment: nothing has been counted then. */
INLINE Bool load_again(Ev *e, Addr a, const UInt n, ULong mix)
{
	UInt stack = a - X.lo <= X.span, off = a & (UBLK_BYTES - 1);
	Edge *ed = e->edge;
	ULong *k;

	if (UNLIKELY_(e->block != block_of(a, stack, mix) || off & (n - 1)) ||
	    UNLIKELY_(!written_by(e->w + off, n, e->pattern)))
		return False;
	X.tot.load_bytes[e->region] += n;
	ed->bytes[stack] += n;
	bits_again(e->bits, off, n);
	k = e->k + (off >> 2);
	for (UInt c = 0; c < (n + 3) / 4; c++) {
		ULong was = k[c];

		if ((UInt)was == X.inv)
			continue;
		k[c] = (was & ~0xffffffffull) | X.inv;
		if (UNLIKELY_((UShort)e->pattern != was >> 32))
			edge_get(EDGE_KEY(was >> 32, X.eff))->ke[stack]++;
		else
			ed->ke[stack]++;
	}
	return True;
}

INLINE Bool store_again(Ev *e, Addr a, const UInt n, ULong mix)
{
	UInt stack = a - X.lo <= X.span, off = a & (UBLK_BYTES - 1);

	if (UNLIKELY_(e->block != block_of(a, stack, mix) || off & (n - 1)))
		return False;
	X.tot.store_bytes[e->region] += n;
	bits_again(e->bits, off, n);
	if (n == 1)
		e->w[off] = e->pattern;
	else if (n == 2)
		*(u32u *)(e->w + off) = e->pattern;
	else
		for (UInt i = 0; i < n / 4; i++)
			((u64u *)(e->w + off))[i] = e->pattern;
	for (UInt c = 0; c < (n + 3) / 4; c++)
		e->k[(off >> 2) + c] = (ULong)X.eff << 32;
	return True;
}

/* The long way, which leaves behind what the short one needs. */
static __attribute__((noinline)) void access_anew(Ev *e, Addr a, ULong mix)
{
	const UInt mode = M_QUAD | M_UNIQUE | M_KE;
	UInt stack = a - X.lo <= X.span, off = a & SEC_MASK & ~(UBLK_BYTES - 1);
	ULong plain = block_of(a, stack, 0);
	Bool known;
	Sec *s = sec_get(a);

	/* All that the access needs is far away, most likely: it is fetched at once, not one after the other. */
	__builtin_prefetch(s->w + (a & SEC_MASK), 1);
	__builtin_prefetch(s->k + ((a & SEC_MASK) >> 2), 1);
	if (LIKELY_(e->ekey != ~0u))
		ubits_expect(ukey(e->edge->index, stack, a));
	if (e->kind == EV_LOAD) {
		do_load(e, a, e->size, mode);
		known = e->ublk == plain;
		e->bits = (UChar *)e->ubits;
		e->pattern = (e->ekey >> 16) * 0x0001000100010001ull;
	} else {
		do_store(e, a, e->size, mode);
		known = e->ublk == (plain ^ (ULong)X.eff << 48);
		e->bits = (UChar *)e->ubits;
		e->pattern = X.eff * 0x0001000100010001ull;
	}
	e->block = ~0ull;
	if (!known)
		return;
	e->block = plain ^ mix;
	e->w = s->w + off;
	e->k = s->k + (off >> 2);
	e->region = region_of(s, a, stack);
}

INLINE void move_sp(Addr a)
{
	if (UNLIKELY_(a - X.t->stack_lo > X.t->stack_hi - X.t->stack_lo)) {
		stack_sp(a);
	} else {
		X.sp = a;
		X.lo = a - 128;
		X.span = X.t->stack_hi - X.lo;
	}
}

/* A conditional access that did not happen. */
static __attribute__((noinline)) void not_accessed(const Ev *e)
{
	if (e->kind == EV_LOAD)
		X.tot.loads--;
	else
		X.tot.stores--;
}

/* Called by its size and direction; e, v and end are accesses_short()'s. */
#define AGAIN(label, call)                                                                                             \
label:                                                                                                                 \
	if (UNLIKELY_(!call))                                                                                          \
		goto anew;                                                                                             \
	if (++e == end)                                                                                                \
		goto done;                                                                                             \
	v++;                                                                                                           \
	goto *ways[e->op]

static __attribute__((noinline)) void due(void)
{
	if (X.now >= X.slice_end)
		slice_end();
	counts_unpack();
}

INLINE void flushed(const Flush *f)
{
	if (UNLIKELY_(X.now >= X.due))
		due();
	if (f->exit == EXIT_CALL) {
		X.pend_ret = f->ret_ip;
		X.pend_sp = X.sp;
	}
}

/* There is one access at least. Each way jumps to the next one's itself: so the processor foresees it. */
static __attribute__((noinline)) void accesses_short(const Flush *f)
{
	static const void *const ways[] = { [OP_SLOW] = &&slow,         [OP_SP] = &&sp,
					    [OP_LOAD + 0] = &&load1,    [OP_LOAD + 1] = &&load2,
					    [OP_LOAD + 2] = &&load4,    [OP_LOAD + 3] = &&load8,
					    [OP_LOAD + 4] = &&load16,   [OP_LOAD + 5] = &&load32,
					    [OP_STORE + 0] = &&store1,  [OP_STORE + 1] = &&store2,
					    [OP_STORE + 2] = &&store4,  [OP_STORE + 3] = &&store8,
					    [OP_STORE + 4] = &&store16, [OP_STORE + 5] = &&store32 };
	const ULong mix = block_mix(), *v = evbuf;
	Ev *e = f->ev, *end = e + (f->to - f->from);

	goto *ways[e->op];
	AGAIN(load1, load_again(e, *v, 1, mix));
	AGAIN(load2, load_again(e, *v, 2, mix));
	AGAIN(load4, load_again(e, *v, 4, mix));
	AGAIN(load8, load_again(e, *v, 8, mix));
	AGAIN(load16, load_again(e, *v, 16, mix));
	AGAIN(load32, load_again(e, *v, 32, mix));
	AGAIN(store1, store_again(e, *v, 1, mix));
	AGAIN(store2, store_again(e, *v, 2, mix));
	AGAIN(store4, store_again(e, *v, 4, mix));
	AGAIN(store8, store_again(e, *v, 8, mix));
	AGAIN(store16, store_again(e, *v, 16, mix));
	AGAIN(store32, store_again(e, *v, 32, mix));
	AGAIN(sp, (move_sp(*v), True));
	AGAIN(slow, False);
anew:
	/* an address of 0 is in no block that was met */
	if (LIKELY_(*v))
		access_anew(e, *v, mix);
	else
		not_accessed(e);
	if (++e != end) {
		v++;
		goto *ways[e->op];
	}
done:
	flushed(f);
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

/* Outside the counting window only the stack and, before it, the fact of writing matter. */
static __attribute__((noinline)) void run_uncounted(Flush *f)
{
	const BB *bb = f->bb;

	for (UInt i = f->from; i < f->to; i++) {
		Ev *e = &bb->ev[i];
		Addr a = evbuf[i - f->from];

		if (e->kind == EV_SP) {
			stack_sp(a);
		} else if (e->kind != EV_LOAD && a) {
			UInt off = a & SEC_MASK, n = e->size;
			UInt first = off + n > SEC_SIZE ? SEC_SIZE - off : n;
			const UInt mode = opt.ke ? M_KE : 0;

			mark(sec_get(a), off, first, FN_BEFORE, mode);
			if (first < n)
				mark(sec_get(a + first), 0, n - first, FN_BEFORE, mode);
			if (paths_on)
				path_before(a, n);
		}
	}
	X.now += f->insns;
}

INLINE void run(Flush *f, const UInt mode)
{
	ULong *restrict t = (ULong *)&X.tot;
	const UShort *restrict add = f->add;
	ULong cycles;

	if (UNLIKELY_(f->fn != X.fn || X.sp > X.top_sp || X.pending == EXIT_CALL))
		stack_enter(f->bb);
	if (UNLIKELY_(!X.counting)) {
		run_uncounted(f);
		goto out;
	}
	cycles = X.tot.cycles;
	for (UInt i = 0; i < COUNTERS_STATIC; i++)
		t[i] += add[i];
	X.now += f->add[0];
	if (mode & M_EXTRA) {
		if (UNLIKELY_((X.in_cd -= f->add[0]) <= 0))
			sample_insns(f, f->add[0]);
		if (UNLIKELY_(win_armed))
			window_tick();
	}
	accesses(f, mode);
	if (mode & M_EXTRA && extra_cycles && UNLIKELY_((X.cy_cd -= X.tot.cycles - cycles) <= 0))
		sample_cycles(f);
	if (UNLIKELY_(X.now >= X.slice_end))
		slice_end();
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

INLINE void run_counted(const Flush *f)
{
	for (UInt i = 0; i < PACKED_WORDS; i++)
		X.packed[i] += f->packed[i];
	X.now += f->insns;
	X.pending = f->exit;
	if (f->from == f->to)
		flushed(f);
	else
		accesses_short(f);
}

/* The block is not what the top frame suggests, or nothing is counted. */
static __attribute__((noinline)) void run_odd(Flush *f)
{
	Addr ret, sp;
	Bool on;

	if (f->fn != X.fn || X.sp > X.top_sp || X.pending == EXIT_CALL)
		stack_enter(f->bb);
	on = !f->fn && X.pending == EXIT_CALL; /* a linkage stub: the call goes on */
	ret = X.pend_ret;
	sp = X.pend_sp;
	if (X.counting) {
		run_counted(f);
	} else {
		run_uncounted(f);
		X.pending = f->exit;
		flushed(f);
	}
	if (on) {
		X.pending = EXIT_CALL;
		X.pend_ret = ret;
		X.pend_sp = sp;
	}
}

static VG_REGPARM(1) void run_short(Flush *f)
{
	if (UNLIKELY_(f->fn != X.fn || X.sp > X.top_sp || X.pending == EXIT_CALL || !X.counting))
		run_odd(f);
	else
		run_counted(f);
}

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
	case M_QUAD | M_UNIQUE | M_KE: counts_packed = opt.chunk_shift == 2; return counts_packed ? run_short : run_quk;
	case M_QUAD | M_UNIQUE: return run_qu;
	case M_QUAD | M_KE: return run_qk;
	case M_KE: return run_k;
	default: return run_q;
	}
}
