/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a candidate for acceleration, with everything it calls, exchanges with the rest: each byte
 * remembers which candidates were on the stack of its last writer. Bytes handed to the kernel leave.
 */
#include "x.h"

enum { DIR_IN, DIR_OUT, DIR_LOCAL, DIRS };
#define CANDS 8
#define CONSUMER_SUBTREE 0xfffe /* sets that are no edges */

static ULong bytes[CANDS][DIRS][2];

static void account_access(UInt tag, UInt mask, Addr a, UInt n, UInt stack)
{
	for (UInt c = 0, any = tag | mask; any >> c; c++) {
		UInt dir;

		if (!(any >> c & 1))
			continue;
		dir = mask >> c & 1 ? tag >> c & 1 ? DIR_LOCAL : DIR_IN : DIR_OUT;
		bytes[c][dir][stack] += n;
		if (opt.unique)
			unique_set(edge_get(EDGE_KEY(c * DIRS + dir, CONSUMER_SUBTREE))->index, stack, a, n);
	}
}

static void reads(Addr a, SizeT len, UInt mask, UInt stack)
{
	while (len) {
		UInt off = a & SEC_MASK, n = len < SEC_SIZE - off ? len : SEC_SIZE - off;
		Sec *s = sec_get(a);

		for (UInt i = 0; i < n;) {
			UInt tag = s->cand[off + i], j = i + 1;

			while (j < n && s->cand[off + j] == tag)
				j++;
			if (tag | mask)
				account_access(tag, mask, a + i, j - i, stack);
			i = j;
		}
		a += n;
		len -= n;
	}
}

void subtree_access(Addr a, UInt size, Bool write, UInt stack)
{
	if (!write) {
		reads(a, size, X.cand_mask, stack);
		return;
	}
	for (UInt i = 0; i < size; i++)
		sec_get(a + i)->cand[(a + i) & SEC_MASK] = X.cand_mask;
}

void subtree_kernel_read(Addr a, SizeT len)
{
	reads(a, len, 0, (a - X.lo) <= X.span);
}

void subtree_write(const UniqueSums *u)
{
	for (UInt i = 0; i < fn_count; i++) {
		Int c = fns[i]->candidate;
		struct fmt_x_subtree r;
		uint64_t *sum[DIRS] = { r.in, r.out, r.local };
		uint64_t *set[DIRS] = { r.in_unique, r.out_unique, r.local_unique };

		if (c < 0)
			continue;
		VG_(memset)(&r, 0, sizeof(r));
		r.function = i + 1;
		for (UInt d = 0; d < DIRS; d++)
			for (UInt k = 0; k < 2; k++) {
				sum[d][k] = bytes[c][d][k];
				set[d][k] = opt.unique ? 0 : FMT_X_UNKNOWN;
			}
		for (UInt e = 0; opt.unique && e < edge_count; e++) {
			UInt w = edges[e]->key >> 16;

			if ((edges[e]->key & 0xffff) != CONSUMER_SUBTREE || w / DIRS != (UInt)c)
				continue;
			for (UInt k = 0; k < 2; k++)
				set[w % DIRS][k] = u->edge[e][k];
		}
		out_rec(FMT_X_SUBTREE, &r, sizeof(r));
	}
}
