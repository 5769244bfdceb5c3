/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the long way (x_exec.c) and the short one (x_short.c) do alike with an access. Included by this room alone. */
#ifndef ACCPERF_X_ACCESS_H
#define ACCPERF_X_ACCESS_H

#include "x.h"

enum { M_QUAD = 1, M_UNIQUE = 2, M_KE = 4, M_EXTRA = 8 };
#define INLINE static inline __attribute__((always_inline))

typedef ULong u64u __attribute__((aligned(1), may_alias));
typedef UInt u32u __attribute__((aligned(1), may_alias));

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

static inline void read_mixed(Ev *e, const UShort *w, Addr a, UInt n, UInt stack, UInt mode)
{
	for (UInt i = 0; i < n;) {
		UInt j = i + 1;

		while (j < n && w[j] == w[i])
			j++;
		read_run(e, w[i], a + i, j - i, stack, mode & M_UNIQUE ? M_QUAD | M_UNIQUE : M_QUAD);
		i = j;
	}
}

/* False: it is beyond the running stack, and nothing was done. */
INLINE Bool sp_moved(Addr a)
{
	const Thread *t = X.t;

	if (UNLIKELY_(a - t->stack_lo > t->stack_hi - t->stack_lo))
		return False;
	X.sp = a;
	X.lo = a - RED_ZONE;
	X.span = t->stack_end - X.lo;
	if (a > X.top_sp)
		X.known = NOBODY;
	return True;
}

static inline void move_sp(Addr a)
{
	if (LIKELY_(sp_moved(a)))
		return;
	stack_sp(a); /* another stack is another world */
	if (UNLIKELY_(a > X.top_sp))
		X.known = NOBODY;
}

/* A conditional access that did not happen. */
static inline void not_accessed(const Ev *e)
{
	if (e->kind == EV_LOAD)
		X.tot.loads--;
	else
		X.tot.stores--;
}

#endif
