/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The short way of the hot path, for what is measured unless told otherwise: quad, unique, and ke in chunks of 4 bytes.
 *
 * One word for each chunk of 4 bytes says all that most accesses ask (x.h, K_*): who wrote it last, all of it or bytes
 * of it only, and which invocation has read it since. So a load compares and sets one word, and a store sets one. Only
 * where the bytes of a chunk have several writers does the array of one writer per byte hold.
 *
 * An instruction remembers the block of addresses that it met last. Where it meets another one, the block remembers
 * the sets of addresses that were met there last.
 */
#include "x_access.h"

/* Addresses have 47 bits: above those of the block stand the world and the function that the access belongs to. */
INLINE ULong block_mix(void)
{
	return (ULong)X.eff << 48 ^ X.world << 38;
}

INLINE void bits_again(const Ev *e, Addr a, const UInt n)
{
	UChar *at = (UChar *)(e->bits + (a >> 3));

	switch (n) {
	case 32: *(u32u *)at = ~0u; break;
	case 16: at[0] = at[1] = 0xff; break;
	case 8: *at = 0xff; break;
	default: *at |= ((1u << n) - 1) << (a & 7);
	}
}

/* Whether it is the same block, and the same kind of memory; where it is not, nothing has been counted. */
INLINE Bool met(const Ev *e, Addr a, const UInt n, ULong mix, const Bool stack)
{
	if (stack && UNLIKELY_(a - X.lo > X.span))
		return False;
	return LIKELY_((a >> UBLK_SHIFT ^ mix) == e->block) && (n == 1 || LIKELY_(!(a & (n - 1))));
}

/* Whether the invocation has read a chunk before is not to be foreseen: so nothing depends on it. */
INLINE Bool load_again(Ev *e, Addr a, const UInt n, ULong mix, UInt inv, const Bool stack)
{
	ULong *k = (ULong *)(e->k + (a >> 2) * 8), want, differ = 0;
	UInt chunks = 0;

	if (!met(e, a, n, mix, stack))
		return False;
	want = e->want | inv;
	for (UInt c = 0; c < (n + 3) / 4; c++)
		differ |= k[c] ^ want;
	if (UNLIKELY_(differ & K_WHO))
		return False;
	for (UInt c = 0; c < (n + 3) / 4; c++) {
		chunks += k[c] != want;
		k[c] = want;
	}
	bits_again(e, a, n);
	X.tot.load_bytes[e->region] += n;
	e->count[0] += n;
	e->count[2] += chunks;
	return True;
}

INLINE Bool store_again(Ev *e, Addr a, const UInt n, ULong mix, const Bool stack)
{
	ULong *k = (ULong *)(e->k + (a >> 2) * 8), want = e->want;

	if (!met(e, a, n, mix, stack) || (n < 4 && UNLIKELY_((*k ^ want) & K_WHO)))
		return False;
	for (UInt c = 0; c < (n + 3) / 4; c++)
		k[c] = want;
	bits_again(e, a, n);
	X.tot.store_bytes[e->region] += n;
	return True;
}

/* The set of what this edge touched in the block of `a`. */
static inline ULong *bits_at(Sec *s, const Edge *ed, UInt stack, Addr a)
{
	MetSet *m = &s->met[(a & SEC_MASK) >> UBLK_SHIFT][ed->index % MET_SETS];
	ULong key = ukey(ed->index, stack, a);

	if (UNLIKELY_(m->key != key || !m->bits)) {
		m->bits = ubits_get(key);
		m->key = key;
	}
	return m->bits;
}

/*
 * What the next access of this instruction finds where it meets the block again; want: a chunk's word then. A block
 * that the running stack reaches into is asked each time on which side of the stack pointer the access is, and is not
 * remembered from below it.
 */
static inline void site_remember(Ev *e, Addr a, ULong mix, Sec *s, ULong *bits, ULong want)
{
	UInt stack = a - X.lo <= X.span;
	Addr from = a & ~(Addr)(UBLK_BYTES - 1);
	const Thread *t = X.t;
	Bool beside = from > t->stack_hi || from + UBLK_BYTES <= t->stack_lo - RED_ZONE;

	e->block = ~0ull;
	if (!beside && !stack)
		return;
	if (e->op)
		e->op = e->op % OP_STACK + (beside ? 0 : OP_STACK);
	e->block = a >> UBLK_SHIFT ^ mix;
	e->k = (Addr)(s->k + ((from & SEC_MASK) >> 2)) - (from >> 2) * 8;
	e->bits = (Addr)bits - (from >> 3);
	e->count = &e->edge->bytes[stack];
	e->want = want;
	e->region = region_of(s, a, stack);
}

static void site_read_chunks(const Ev *e, Sec *s, UInt off, UInt n, UInt stack)
{
	for (UInt c = off >> 2; c <= (off + n - 1) >> 2; c++) {
		ULong was = s->k[c];
		UInt key;

		if ((UInt)was == X.inv)
			continue;
		s->k[c] = (was & K_WHO) | X.inv;
		key = EDGE_KEY((UShort)(was >> 32), X.eff);
		(e->ekey == key ? e->edge : edge_get(key))->ke[stack]++;
	}
}

/* Any load: of bytes of several writers, across blocks, of any size. */
static __attribute__((noinline)) void load_far(Ev *e, Addr a, UInt n, UInt stack)
{
	UInt off = a & SEC_MASK, first = off + n > SEC_SIZE ? SEC_SIZE - off : n;
	Sec *s = sec_get(a), *next = first < n ? sec_get(a + first) : NULL;

	e->block = ~0ull;
	shadow_writers(s, off, first);
	if (next)
		shadow_writers(next, 0, n - first);
	if (!next && uniform(s->w + off, n))
		read_run(e, s->w[off], a, n, stack, M_QUAD | M_UNIQUE);
	else
		read_mixed(e, s->w + off, a, first, stack, M_QUAD | M_UNIQUE);
	site_read_chunks(e, s, off, first, stack);
	if (!next)
		return;
	read_mixed(e, next->w, a + first, n - first, stack, M_QUAD | M_UNIQUE);
	site_read_chunks(e, next, 0, n - first, stack);
}

static void load_anew(Ev *e, Addr a, ULong mix)
{
	UInt n = e->size, stack = a - X.lo <= X.span, uoff = a & (UBLK_BYTES - 1);
	UInt chunks = ((a & 3) + n + 3) / 4;
	Sec *s = sec_get(a);
	ULong *k = s->k + ((a & SEC_MASK) >> 2), who = *k & K_WHO, differ = 0, want, *bits;
	Edge *ed;

	X.tot.load_bytes[region_of(s, a, stack)] += n;
	if (UNLIKELY_(uoff + n > UBLK_BYTES || n > 32))
		return load_far(e, a, n, stack);
	for (UInt c = 0; c < chunks; c++)
		differ |= k[c] ^ who;
	if (UNLIKELY_((differ & K_WHO) || (who & K_MIXED)))
		return load_far(e, a, n, stack);
	ed = site_edge(e, EDGE_KEY(who >> 32, X.eff));
	ed->bytes[stack] += n;
	want = who | X.inv;
	bits = bits_at(s, ed, stack, a);
	bits_set(bits, uoff, n);
	for (UInt c = 0; c < chunks; c++) {
		ed->ke[stack] += k[c] != want;
		k[c] = want;
	}
	site_remember(e, a, mix, s, bits, who);
}

static void store_anew(Ev *e, Addr a, ULong mix)
{
	UInt n = e->size, stack = a - X.lo <= X.span, off = a & SEC_MASK, uoff = a & (UBLK_BYTES - 1);
	UInt first = off + n > SEC_SIZE ? SEC_SIZE - off : n;
	Sec *s = sec_get(a);
	ULong *bits;
	Edge *ed;

	X.tot.store_bytes[region_of(s, a, stack)] += n;
	shadow_mark(s, off, first, X.eff);
	if (UNLIKELY_(first < n))
		shadow_mark(sec_get(a + first), 0, n - first, X.eff);
	ed = site_edge(e, EDGE_KEY(X.eff, CONSUMER_WRITTEN));
	if (UNLIKELY_(uoff + n > UBLK_BYTES)) {
		e->block = ~0ull;
		unique_set(ed->index, stack, a, n);
		return;
	}
	bits = bits_at(s, ed, stack, a);
	bits_set(bits, uoff, n);
	site_remember(e, a, mix, s, bits, (ULong)X.eff << 32);
}

/* The long way, which leaves behind what the short one needs. */
static __attribute__((noinline)) void access_anew(Ev *e, Addr a, ULong mix)
{
	if (e->kind == EV_LOAD)
		load_anew(e, a, mix);
	else
		store_anew(e, a, mix);
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
		X.pending = EXIT_CALL;
		X.known = NOBODY;
		X.pend_ret = f->ret_ip;
		X.pend_sp = X.sp;
	}
}

/* There is one access at least. Each way jumps to the next one's itself: so the processor foresees it. */
static __attribute__((noinline)) void accesses_short(const Flush *f)
{
	static const void *const ways[] = { [OP_SLOW] = &&slow,
					    [OP_SP] = &&sp,
					    [OP_LOAD + 0] = &&load1,
					    [OP_LOAD + 1] = &&load2,
					    [OP_LOAD + 2] = &&load4,
					    [OP_LOAD + 3] = &&load8,
					    [OP_LOAD + 4] = &&load16,
					    [OP_LOAD + 5] = &&load32,
					    [OP_STORE + 0] = &&store1,
					    [OP_STORE + 1] = &&store2,
					    [OP_STORE + 2] = &&store4,
					    [OP_STORE + 3] = &&store8,
					    [OP_STORE + 4] = &&store16,
					    [OP_STORE + 5] = &&store32,
					    [OP_STACK + OP_LOAD + 0] = &&load1_stack,
					    [OP_STACK + OP_LOAD + 1] = &&load2_stack,
					    [OP_STACK + OP_LOAD + 2] = &&load4_stack,
					    [OP_STACK + OP_LOAD + 3] = &&load8_stack,
					    [OP_STACK + OP_LOAD + 4] = &&load16_stack,
					    [OP_STACK + OP_LOAD + 5] = &&load32_stack,
					    [OP_STACK + OP_STORE + 0] = &&store1_stack,
					    [OP_STACK + OP_STORE + 1] = &&store2_stack,
					    [OP_STACK + OP_STORE + 2] = &&store4_stack,
					    [OP_STACK + OP_STORE + 3] = &&store8_stack,
					    [OP_STACK + OP_STORE + 4] = &&store16_stack,
					    [OP_STACK + OP_STORE + 5] = &&store32_stack };
	ULong mix = block_mix();
	const ULong *v = evbuf;
	const UInt inv = X.inv;
	Ev *e = f->ev, *end = e + (f->to - f->from);

	goto *ways[e->op];
	AGAIN(load1, load_again(e, *v, 1, mix, inv, False));
	AGAIN(load2, load_again(e, *v, 2, mix, inv, False));
	AGAIN(load4, load_again(e, *v, 4, mix, inv, False));
	AGAIN(load8, load_again(e, *v, 8, mix, inv, False));
	AGAIN(load16, load_again(e, *v, 16, mix, inv, False));
	AGAIN(load32, load_again(e, *v, 32, mix, inv, False));
	AGAIN(store1, store_again(e, *v, 1, mix, False));
	AGAIN(store2, store_again(e, *v, 2, mix, False));
	AGAIN(store4, store_again(e, *v, 4, mix, False));
	AGAIN(store8, store_again(e, *v, 8, mix, False));
	AGAIN(store16, store_again(e, *v, 16, mix, False));
	AGAIN(store32, store_again(e, *v, 32, mix, False));
	AGAIN(load1_stack, load_again(e, *v, 1, mix, inv, True));
	AGAIN(load2_stack, load_again(e, *v, 2, mix, inv, True));
	AGAIN(load4_stack, load_again(e, *v, 4, mix, inv, True));
	AGAIN(load8_stack, load_again(e, *v, 8, mix, inv, True));
	AGAIN(load16_stack, load_again(e, *v, 16, mix, inv, True));
	AGAIN(load32_stack, load_again(e, *v, 32, mix, inv, True));
	AGAIN(store1_stack, store_again(e, *v, 1, mix, True));
	AGAIN(store2_stack, store_again(e, *v, 2, mix, True));
	AGAIN(store4_stack, store_again(e, *v, 4, mix, True));
	AGAIN(store8_stack, store_again(e, *v, 8, mix, True));
	AGAIN(store16_stack, store_again(e, *v, 16, mix, True));
	AGAIN(store32_stack, store_again(e, *v, 32, mix, True));
	/* another stack is another world */
	AGAIN(sp, (move_sp(*v), mix = block_mix(), True));
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

INLINE void run_counted(const Flush *f)
{
	for (UInt i = 0; i < PACKED_WORDS; i++)
		X.packed[i] += f->packed[i];
	X.now += f->insns;
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
	X.known = X.counting && X.sp <= X.top_sp && X.fn ? X.fn : NOBODY;
	if (X.counting) {
		run_counted(f);
	} else {
		run_uncounted(f);
		flushed(f);
	}
	if (on) {
		X.pending = EXIT_CALL;
		X.known = NOBODY;
		X.pend_ret = ret;
		X.pend_sp = sp;
	}
}

VG_REGPARM(1) void run_short(Flush *f)
{
	if (UNLIKELY_(f->fn != X.known))
		run_odd(f);
	else
		run_counted(f);
}
