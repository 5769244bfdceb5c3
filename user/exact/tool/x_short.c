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

/* Of all that a chunk's word says, whether its bytes have one writer and which (K_WHO). */
#define WHO_SHIFT 32

/* The bits of 1, 2 and 4 bytes from each place on: cheaper than to shift them. */
static const UChar few_bits[3][8] = { { 1, 2, 4, 8, 16, 32, 64, 128 },
				      { 3, 6, 12, 24, 48, 96, 192 },
				      { 15, 30, 60, 120, 240 } };

/* Sets of 64 bytes end where others begin: so one word of them may be changed across the end of a block's. */
INLINE void bits_again(const Ev *e, Addr a, const UInt n)
{
	UChar *at = (UChar *)(e->bits + (a >> 3));

	switch (n) {
	case 32: *(u64u *)at |= 0xffffffffull << (a & 7); break;
	case 16: *(u32u *)at |= 0xffffu << (a & 7); break;
	case 8: *at = 0xff; break;
	default: *at |= few_bits[n / 2][a & 7];
	}
}

/* Whether it is the same block, and the same kind of memory; where it is not, nothing has been counted. */
INLINE Bool met(const Ev *e, Addr a, const UInt n, ULong mix, const Bool stack)
{
	const UInt log = __builtin_ctz(n);

	if (stack && UNLIKELY_(a - X.lo > X.span))
		return False;
	/* vectors often begin at any chunk */
	if (n > 8)
		return (a >> UBLK_SHIFT ^ mix) == e->block && !(a & 3) && (a & (UBLK_BYTES - 1)) <= UBLK_BYTES - n;
	/* the bits that an address which n does not divide has below come to stand between eff and the world */
	return LIKELY_(((a >> log | a << (64 - log) % 64) >> (UBLK_SHIFT - log) ^ mix) == e->block);
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
	if (UNLIKELY_(differ >> WHO_SHIFT))
		return False;
	for (UInt c = 0; c < (n + 3) / 4; c++) {
		chunks += k[c] != want;
		k[c] = want;
	}
	bits_again(e, a, n);
	e->hits++;
	e->chunks += chunks;
	return True;
}

INLINE Bool store_again(Ev *e, Addr a, const UInt n, ULong mix, const Bool stack)
{
	ULong *k = (ULong *)(e->k + (a >> 2) * 8), want = e->want;

	if (!met(e, a, n, mix, stack) || (n < 4 && UNLIKELY_((*k ^ want) >> WHO_SHIFT)))
		return False;
	for (UInt c = 0; c < (n + 3) / 4; c++)
		k[c] = want;
	bits_again(e, a, n);
	return True;
}

void site_settle(Ev *e)
{
	if (!e->hits)
		return;
	e->edge->bytes[e->stack] += e->hits * e->size;
	e->edge->ke[e->stack] += e->chunks;
	e->hits = e->chunks = 0;
}

static UInt bytes_lane(const Ev *e)
{
	return (e->kind == EV_LOAD ? X.tot.load_bytes : X.tot.store_bytes) - X.tot.lane;
}

/* An access to memory of this kind, where the counts of its block took it to be of another. */
static void region_counted(const Ev *e, UInt region)
{
	UInt *bytes = X.tot.lane + bytes_lane(e);

	bytes[e->region] -= e->size;
	bytes[region] += e->size;
}

/* They take it so from now on. */
static void region_met(const Flush *f, Ev *e, UInt region)
{
	const BB *bb = f->bb;
	UInt i = e - bb->ev, n = e->size, was = e->region, bytes = bytes_lane(e);

	if (LIKELY_(was == region))
		return;
	region_counted(e, region);
	e->region = region;
	for (Flush *g = bb->flushes; g; g = g->next) {
		if (i < g->from || i >= g->to)
			continue;
		g->add[bytes + was] -= n;
		g->add[bytes + region] += n;
	}
}

/* A conditional access that did not happen. */
static void not_met(const Ev *e)
{
	not_accessed(e);
	X.tot.lane[bytes_lane(e) + e->region] -= e->size;
}

/* The edges met last, by producer and consumer. */
#define MET_EDGES 1024 /* a power of two, by hand */
static Edge *edge_met(UInt key)
{
	static Edge *last[MET_EDGES];
	Edge **at = &last[(key ^ key >> 13) % MET_EDGES];

	if (UNLIKELY_(!*at || (*at)->key != key))
		*at = edge_get(key);
	return *at;
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
static inline void site_remember(Ev *e, Addr a, Sec *s, ULong *bits, ULong want, UInt stack)
{
	Addr from = a & ~(Addr)(UBLK_BYTES - 1);
	const Thread *t = X.t;
	Bool beside = from > t->stack_end || from + UBLK_BYTES <= t->stack_lo - RED_ZONE;

	e->block = ~0ull;
	if (!beside && !stack)
		return;
	if (e->op) {
		e->op = e->op % OP_STACK + (beside ? 0 : OP_STACK);
		e->way = short_way_of(e->op);
	}
	e->block = a >> UBLK_SHIFT ^ X.mix;
	e->k = (Addr)(s->k + ((from & SEC_MASK) >> 2)) - (from >> 2) * 8;
	e->bits = (Addr)bits - (from >> 3);
	e->want = want;
	e->stack = stack;
}

/* Does what the instruction remembers hold for this access? */
static inline Bool near(const Ev *e, Addr a, UInt n, UInt stack)
{
	return (a >> UBLK_SHIFT ^ X.mix) == e->block && (a & (UBLK_BYTES - 1)) + n <= UBLK_BYTES && e->stack == stack;
}

static void chunks_read(Sec *s, UInt off, UInt n, UInt stack)
{
	for (UInt c = off >> 2; c <= (off + n - 1) >> 2; c++) {
		ULong was = s->k[c];

		if ((UInt)was == X.inv)
			continue;
		s->k[c] = (was & K_WHO) | X.inv;
		edge_met(EDGE_KEY((UShort)(was >> WHO_SHIFT), X.eff))->ke[stack]++;
	}
}

/* Bytes of one writer, all in one block. */
static void bytes_read(Sec *s, UInt w, Addr a, UInt n, UInt stack)
{
	Edge *ed = edge_met(EDGE_KEY(w, X.eff));

	ed->bytes[stack] += n;
	bits_set(bits_at(s, ed, stack, a), a & (UBLK_BYTES - 1), n);
}

/* From byte `off` on to `end` at most: where bytes of another writer than its, *w, begin. */
static inline UInt writer_run(const Sec *s, UInt off, UInt end, UInt *w)
{
	ULong who = s->k[off >> 2] & K_WHO;
	UInt to = (off & ~3u) + 4;

	if (who & K_MIXED) {
		*w = s->w[off];
		for (off++; off < to && off < end && s->w[off] == *w;)
			off++;
		return off;
	}
	*w = (UShort)(who >> WHO_SHIFT);
	while (to < end && (s->k[to >> 2] & K_WHO) == who)
		to += 4;
	return to < end ? to : end;
}

/* Any load: of bytes of several writers, across blocks, of any size. What the instruction remembers still holds. */
static __attribute__((noinline)) void load_far(Addr a, UInt n, UInt stack)
{
	while (n) {
		UInt off = a & SEC_MASK, here = UBLK_BYTES - (a & (UBLK_BYTES - 1));
		Sec *s = sec_get(a);

		if (here > n)
			here = n;
		for (UInt i = off, to, w; i < off + here; i = to) {
			to = writer_run(s, i, off + here, &w);
			bytes_read(s, w, a + (i - off), to - i, stack);
		}
		chunks_read(s, off, here, stack);
		a += here;
		n -= here;
	}
}

static void load_anew(const Flush *f, Ev *e, Addr a)
{
	UInt n = e->size, stack = a - X.lo <= X.span, uoff = a & (UBLK_BYTES - 1);
	UInt chunks = ((a & 3) + n + 3) / 4;
	Sec *s = sec_get(a);
	ULong *k = s->k + ((a & SEC_MASK) >> 2), who = *k & K_WHO, differ = 0, want, *bits;

	if (LIKELY_(uoff + n <= UBLK_BYTES && n <= 32))
		for (UInt c = 0; c < chunks; c++)
			differ |= k[c] ^ who;
	else
		differ = K_WHO;
	if (UNLIKELY_(differ >> WHO_SHIFT || who & K_MIXED)) {
		region_counted(e, region_of(s, a, stack));
		return load_far(a, n, stack);
	}
	if (who != e->want || !near(e, a, n, stack)) {
		site_settle(e);
		region_met(f, e, region_of(s, a, stack));
		e->edge = edge_met(EDGE_KEY(who >> WHO_SHIFT, X.eff));
		bits = bits_at(s, e->edge, stack, a);
		site_remember(e, a, s, bits, who, stack);
	} else {
		bits = (ULong *)(e->bits + ((a - uoff) >> 3));
	}
	e->edge->bytes[stack] += n;
	bits_set(bits, uoff, n);
	want = who | X.inv;
	for (UInt c = 0; c < chunks; c++) {
		e->edge->ke[stack] += k[c] != want;
		k[c] = want;
	}
}

static void store_anew(const Flush *f, Ev *e, Addr a)
{
	UInt n = e->size, stack = a - X.lo <= X.span, off = a & SEC_MASK, uoff = a & (UBLK_BYTES - 1);
	UInt first = off + n > SEC_SIZE ? SEC_SIZE - off : n;
	Sec *s = sec_get(a);
	ULong *bits;

	shadow_mark(s, off, first, X.eff);
	if (near(e, a, n, stack)) {
		bits_set((ULong *)(e->bits + ((a - uoff) >> 3)), uoff, n);
		return;
	}
	if (UNLIKELY_(first < n))
		shadow_mark(sec_get(a + first), 0, n - first, X.eff);
	e->edge = edge_met(EDGE_KEY(X.eff, CONSUMER_WRITTEN));
	if (UNLIKELY_(uoff + n > UBLK_BYTES)) {
		region_counted(e, region_of(s, a, stack));
		unique_set(e->edge->index, stack, a, n);
		return;
	}
	region_met(f, e, region_of(s, a, stack));
	bits = bits_at(s, e->edge, stack, a);
	bits_set(bits, uoff, n);
	site_remember(e, a, s, bits, (ULong)X.eff << WHO_SHIFT, stack);
}

static void work_off(const Flush *f, Ev *e, const ULong *v);
static inline void flushed(const Flush *f);

/* What no way of work_off() does, which leaves behind what they need; then the others. */
static __attribute__((noinline)) void access_anew(const Flush *f, Ev *e, const ULong *v)
{
	if (e->kind == EV_SP)
		move_sp(*v);
	else if (UNLIKELY_(!*v))
		not_met(e); /* an address of 0 is in no block that was met */
	else if (e->kind == EV_LOAD)
		load_anew(f, e, *v);
	else
		store_anew(f, e, *v);
	if (e + 1 == f->end)
		flushed(f);
	else
		work_off(f, e + 1, v + 1);
}

/* They need more registers than the others have. */
static __attribute__((noinline)) void access_wide(const Flush *f, Ev *e, const ULong *v)
{
	ULong mix = X.mix;
	UInt inv = X.inv;
	Bool again = False;

	switch (e->op) {
	case OP_LOAD + 4: again = load_again(e, *v, 16, mix, inv, False); break;
	case OP_LOAD + 5: again = load_again(e, *v, 32, mix, inv, False); break;
	case OP_STORE + 4: again = store_again(e, *v, 16, mix, False); break;
	case OP_STORE + 5: again = store_again(e, *v, 32, mix, False); break;
	case OP_STACK + OP_LOAD + 4: again = load_again(e, *v, 16, mix, inv, True); break;
	case OP_STACK + OP_LOAD + 5: again = load_again(e, *v, 32, mix, inv, True); break;
	case OP_STACK + OP_STORE + 4: again = store_again(e, *v, 16, mix, True); break;
	case OP_STACK + OP_STORE + 5: again = store_again(e, *v, 32, mix, True); break;
	}
	if (UNLIKELY_(!again))
		access_anew(f, e, v);
	else if (e + 1 == f->end)
		flushed(f);
	else
		work_off(f, e + 1, v + 1);
}

/* Called by its size and direction; e and v are work_off()'s. */
#define AGAIN(label, call)                                                                                             \
label:                                                                                                                 \
	if (UNLIKELY_(!call))                                                                                          \
		goto anew;                                                                                             \
	if (++e == f->end)                                                                                             \
		goto done;                                                                                             \
	v++;                                                                                                           \
	goto * e->way

static __attribute__((noinline)) void due(void)
{
	clock_due();
}

static inline void flushed(const Flush *f)
{
	if (f->exit == EXIT_CALL) {
		X.pending = EXIT_CALL;
		X.known = NOBODY;
		X.pend_ret = f->ret_ip;
		X.pend_sp = X.sp;
	}
	if (UNLIKELY_(X.now >= X.due))
		due();
}

/* Where each OP_ goes on. */
static const void *const *ways;

const void *short_way_of(UInt op)
{
	return ways ? ways[op] : NULL;
}

/*
 * From this access on; there is one at least. Each way jumps to the next one's itself: so the processor foresees it. It
 * calls nothing but at its end, so it need not save a register. No f: says where the ways begin.
 */
static __attribute__((noinline)) void work_off(const Flush *f, Ev *e, const ULong *v)
{
	static const void *const at[] = { [OP_SLOW] = &&anew,
					  [OP_SP] = &&sp,
					  [OP_LOAD + 0] = &&load1,
					  [OP_LOAD + 1] = &&load2,
					  [OP_LOAD + 2] = &&load4,
					  [OP_LOAD + 3] = &&load8,
					  [OP_LOAD + 4] = &&wide,
					  [OP_LOAD + 5] = &&wide,
					  [OP_STORE + 0] = &&store1,
					  [OP_STORE + 1] = &&store2,
					  [OP_STORE + 2] = &&store4,
					  [OP_STORE + 3] = &&store8,
					  [OP_STORE + 4] = &&wide,
					  [OP_STORE + 5] = &&wide,
					  [OP_STACK + OP_LOAD + 0] = &&load1_stack,
					  [OP_STACK + OP_LOAD + 1] = &&load2_stack,
					  [OP_STACK + OP_LOAD + 2] = &&load4_stack,
					  [OP_STACK + OP_LOAD + 3] = &&load8_stack,
					  [OP_STACK + OP_LOAD + 4] = &&wide,
					  [OP_STACK + OP_LOAD + 5] = &&wide,
					  [OP_STACK + OP_STORE + 0] = &&store1_stack,
					  [OP_STACK + OP_STORE + 1] = &&store2_stack,
					  [OP_STACK + OP_STORE + 2] = &&store4_stack,
					  [OP_STACK + OP_STORE + 3] = &&store8_stack,
					  [OP_STACK + OP_STORE + 4] = &&wide,
					  [OP_STACK + OP_STORE + 5] = &&wide };
	ULong mix = X.mix;
	const UInt inv = X.inv;

	if (UNLIKELY_(!f)) {
		ways = at;
		return;
	}
	goto * e->way;
	AGAIN(load1, load_again(e, *v, 1, mix, inv, False));
	AGAIN(load2, load_again(e, *v, 2, mix, inv, False));
	AGAIN(load4, load_again(e, *v, 4, mix, inv, False));
	AGAIN(load8, load_again(e, *v, 8, mix, inv, False));
	AGAIN(store1, store_again(e, *v, 1, mix, False));
	AGAIN(store2, store_again(e, *v, 2, mix, False));
	AGAIN(store4, store_again(e, *v, 4, mix, False));
	AGAIN(store8, store_again(e, *v, 8, mix, False));
	AGAIN(load1_stack, load_again(e, *v, 1, mix, inv, True));
	AGAIN(load2_stack, load_again(e, *v, 2, mix, inv, True));
	AGAIN(load4_stack, load_again(e, *v, 4, mix, inv, True));
	AGAIN(load8_stack, load_again(e, *v, 8, mix, inv, True));
	AGAIN(store1_stack, store_again(e, *v, 1, mix, True));
	AGAIN(store2_stack, store_again(e, *v, 2, mix, True));
	AGAIN(store4_stack, store_again(e, *v, 4, mix, True));
	AGAIN(store8_stack, store_again(e, *v, 8, mix, True));
	/* another stack is another world */
	AGAIN(sp, sp_moved(*v));
wide:
	return access_wide(f, e, v);
anew:
	__attribute__((cold));
	return access_anew(f, e, v);
done:
	flushed(f);
}

void short_init(void)
{
	if (short_way)
		work_off(NULL, NULL, NULL);
}

INLINE void run_counted(const Flush *f)
{
	for (UInt i = 0; i < LANES / 4; i++)
		X.tot.four[i] += f->add_four[i];
	X.now += f->insns;
	if (f->ev == f->end)
		flushed(f);
	else
		work_off(f, f->ev, evbuf);
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
