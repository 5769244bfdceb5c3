/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who wrote what is read: the table of edges, and sets of addresses that tell how many bytes are distinct. */
#include "x.h"

Edge **edges;
UInt edge_count;
static UInt edge_cap;
static Edge **edge_hash;
static UInt hash_cap;
ULong unique_bytes;

static UInt mix32(UInt k)
{
	k ^= k >> 15;
	k *= 0x2c1b3c6du;
	k ^= k >> 12;
	k *= 0x297a2d39u;
	return k ^ k >> 15;
}

static void edge_rehash(void)
{
	UInt cap = hash_cap ? hash_cap * 2 : 4096;
	Edge **h = VG_(calloc)("x.edgehash", cap, sizeof(*h));

	for (UInt i = 0; i < edge_count; i++) {
		UInt s = mix32(edges[i]->key) & (cap - 1);

		while (h[s])
			s = (s + 1) & (cap - 1);
		h[s] = edges[i];
	}
	VG_(free)(edge_hash);
	edge_hash = h;
	hash_cap = cap;
}

Edge *edge_get(UInt key)
{
	UInt s;
	Edge *e;

	if (edge_count * 2 >= hash_cap)
		edge_rehash();
	for (s = mix32(key) & (hash_cap - 1); (e = edge_hash[s]); s = (s + 1) & (hash_cap - 1))
		if (e->key == key)
			return e;
	if (edge_count == edge_cap) {
		edge_cap = edge_cap ? edge_cap * 2 : 1024;
		edges = VG_(realloc)("x.edges", edges, edge_cap * sizeof(*edges));
	}
	e = VG_(calloc)("x.edge", 1, sizeof(*e));
	e->key = key;
	e->index = edge_count;
	edges[edge_count++] = e;
	edge_hash[s] = e;
	return e;
}

/* ---- sets of addresses: one bit per byte, in blocks of 1 KiB of the target's memory ---- */

typedef struct {
	ULong key;
	ULong *bits;
} USlot;
static USlot *uset;
static ULong uset_cap, uset_used;

static ULong mix64(ULong k)
{
	k ^= k >> 31;
	k *= 0x9e3779b97f4a7c15ull;
	return k ^ k >> 29;
}

static void uset_grow(void)
{
	ULong cap = uset_cap ? uset_cap * 2 : 1u << 14;
	USlot *h = shadow_table(cap * sizeof(*h));

	for (ULong i = 0; i < uset_cap; i++) {
		ULong s;

		if (!uset[i].bits)
			continue;
		s = mix64(uset[i].key) & (cap - 1);
		while (h[s].bits)
			s = (s + 1) & (cap - 1);
		h[s] = uset[i];
	}
	shadow_table_free(uset, uset_cap * sizeof(*h));
	unique_bytes += (cap - uset_cap) * sizeof(*h);
	uset = h;
	uset_cap = cap;
}

ULong *ubits_get(ULong key)
{
	ULong s;

	if (uset_used * 10 >= uset_cap * 7)
		uset_grow();
	for (s = mix64(key) & (uset_cap - 1); uset[s].bits; s = (s + 1) & (uset_cap - 1))
		if (uset[s].key == key)
			return uset[s].bits;
	uset[s].key = key;
	uset[s].bits = shadow_kept(UBLK_WORDS * 8);
	shadow_bytes -= UBLK_WORDS * 8; /* counted here instead */
	unique_bytes += UBLK_WORDS * 8;
	uset_used++;
	return uset[s].bits;
}

void unique_set(UInt edge_index, UInt stack, Addr a, SizeT n)
{
	while (n) {
		UInt off = a & ((1u << UBLK_SHIFT) - 1);
		SizeT k = (1u << UBLK_SHIFT) - off;
		ULong *b = ubits_get(ukey(edge_index, stack, a));

		if (k > n)
			k = n;
		a += k;
		n -= k;
		bits_set(b, off, k);
	}
}

/* A block seen by one function: sorted, equal blocks lie side by side and are united. */
typedef struct {
	ULong group;
	ULong blk;
	ULong *bits;
} Ref;

static Int ref_cmp(const void *a, const void *b)
{
	const Ref *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->blk < y->blk ? -1 : x->blk > y->blk;
}

static ULong population(const ULong *b)
{
	ULong n = 0;

	for (UInt i = 0; i < UBLK_WORDS; i++)
		n += __builtin_popcountll(b[i]);
	return n;
}

/* The distinct bytes that r[*i] and what follows with its group and block touch; *i: what comes behind. */
static ULong united(const Ref *r, ULong n, ULong *i)
{
	const Ref *first = &r[*i];
	ULong bits[UBLK_WORDS];

	VG_(memset)(bits, 0, sizeof(bits));
	for (; *i < n && r[*i].group == first->group && r[*i].blk == first->blk; (*i)++)
		for (UInt k = 0; k < UBLK_WORDS; k++)
			bits[k] |= r[*i].bits[k];
	return population(bits);
}

/* group = owner * 2 + stack; out[owner][class] */
static void unite(Ref *r, ULong n, ULong (*out)[3])
{
	VG_(ssort)(r, n, sizeof(*r), ref_cmp);
	for (ULong i = 0; i < n;) {
		ULong *to = &out[r[i].group >> 1][r[i].group & 1];

		*to += united(r, n, &i);
	}
	/* both classes: the same again with the class taken out of the group */
	for (ULong i = 0; i < n; i++)
		r[i].group &= ~1ull;
	VG_(ssort)(r, n, sizeof(*r), ref_cmp);
	for (ULong i = 0; i < n;) {
		ULong *to = &out[r[i].group >> 1][2];

		*to += united(r, n, &i);
	}
}

void unique_sums(UniqueSums *u)
{
	Ref *r = VG_(malloc)("x.refs", (uset_used + 1) * sizeof(*r));

	u->edge = VG_(calloc)("x.u", edge_count + 1, sizeof(*u->edge));
	u->in = VG_(calloc)("x.u", fn_count, sizeof(*u->in));
	u->out = VG_(calloc)("x.u", fn_count, sizeof(*u->out));
	u->wr = VG_(calloc)("x.u", fn_count, sizeof(*u->wr));
	for (UInt pass = 0; pass < 4; pass++) {
		ULong n = 0;

		for (ULong i = 0; i < uset_cap; i++) {
			UInt e, w, c, stack;

			if (!uset[i].bits)
				continue;
			e = uset[i].key >> 38;
			if (e >= PATH_SETS)
				continue;
			stack = uset[i].key >> 37 & 1;
			w = edges[e]->key >> 16;
			c = edges[e]->key & 0xffff;
			if (pass == 0)
				r[n].group = (ULong)e << 1;
			else if (pass == 3 && c == CONSUMER_WRITTEN && w < fn_count)
				r[n].group = (ULong)w << 1;
			else if (pass == 1 && c < fn_count)
				r[n].group = (ULong)c << 1;
			else if (pass == 2 && c < fn_count)
				r[n].group = (ULong)w << 1;
			else
				continue;
			r[n].group |= stack;
			r[n].blk = uset[i].key & 0x1fffffffffull;
			r[n].bits = uset[i].bits;
			n++;
		}
		unite(r, n, pass == 0 ? u->edge : pass == 1 ? u->in : pass == 2 ? u->out : u->wr);
	}
	VG_(free)(r);
}

void unique_path_sets(void (*visit)(UInt, UInt, ULong, const ULong *))
{
	Ref *r = VG_(malloc)("x.refs", (uset_used + 1) * sizeof(*r));
	ULong n = 0;

	for (ULong i = 0; i < uset_cap; i++)
		if (uset[i].bits && uset[i].key >> 38 >= PATH_SETS) {
			/* all of one block of addresses side by side */
			r[n].group = uset[i].key & 0x1fffffffffull;
			r[n].blk = uset[i].key >> 37;
			r[n++].bits = uset[i].bits;
		}
	VG_(ssort)(r, n, sizeof(*r), ref_cmp);
	for (ULong i = 0; i < n; i++)
		visit((UInt)(r[i].blk >> 1) - PATH_SETS, r[i].blk & 1, r[i].group, r[i].bits);
	VG_(free)(r);
}

void unique_sums_free(UniqueSums *u)
{
	VG_(free)(u->edge);
	VG_(free)(u->in);
	VG_(free)(u->out);
	VG_(free)(u->wr);
}
