/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far functions and objects reach: distinct addresses of each function by region, what of each object was
 * written, read and never read, and the same along the address space. Sets of addresses in blocks of 1 KiB, as those
 * of x_edge.c, but by owner; with --objects only.
 */
#include "x.h"

#define MAX_CELLS 8192 /* of the map: more than a picture has points */

typedef struct {
	ULong key; /* set << 37 | address >> UBLK_SHIFT */
	ULong *bits;
} Slot;
static Slot *slots;
static ULong slot_cap, slot_used;
static ULong full[UBLK_WORDS]; /* blocks that are in a set as a whole share it */

/* By number: what the last access met saves the look-up. */
typedef struct {
	ULong blk;
	ULong *bits;
	UChar what;   /* SET_* */
	UChar region; /* enum fmt_x_region, of sets of objects */
} Set;
enum { SET_OTHER, SET_READ, SET_WRITTEN, SET_ALLOCATED };
static Set *sets;
static UInt set_count, set_cap;

struct Reach {
	Reach *next;
	UInt fn, region;
	ULong reads, writes;
	Addr low, high;
	UInt began, bytes; /* sets: where accesses began, and all that they touched */
};
#define REACHES 16384 /* chains: 4,096 functions with four regions each */
static Reach *reaches[REACHES];
static UInt allocated[2]; /* sets, of heap and variables; + 1 */

static UInt set_new(UInt what, UInt region)
{
	if (set_count == set_cap) {
		set_cap = set_cap ? set_cap * 2 : 1024;
		sets = VG_(realloc)("x.reach", sets, set_cap * sizeof(*sets));
	}
	sets[set_count] = (Set){ ~0ull, NULL, what, region };
	return set_count++;
}

static ULong reach_slot(ULong key)
{
	ULong k = key ^ key >> 31;

	k *= 0x9e3779b97f4a7c15ull;
	return (k ^ k >> 29) & (slot_cap - 1);
}

static void grow(void)
{
	Slot *old = slots;
	ULong cap = slot_cap;

	slot_cap = cap ? cap * 2 : 1u << 14;
	slots = VG_(calloc)("x.reach", slot_cap, sizeof(*slots));
	for (ULong i = 0; i < cap; i++) {
		ULong s;

		if (!old[i].bits)
			continue;
		for (s = reach_slot(old[i].key); slots[s].bits; s = (s + 1) & (slot_cap - 1))
			;
		slots[s] = old[i];
	}
	VG_(free)(old);
	unique_bytes += (slot_cap - cap) * sizeof(*slots);
}

static ULong *new_bits(void)
{
	static UChar *pool;
	static SizeT left;
	ULong *b;

	if (left < sizeof(full)) {
		left = 1 << 20;
		pool = shadow_alloc(left);
		shadow_bytes -= left; /* counted here instead */
		unique_bytes += left;
	}
	b = (ULong *)pool;
	pool += sizeof(full);
	left -= sizeof(full);
	return b;
}

/* The block's bits; whole: those that all blocks of ones share, unless it has some. */
static ULong *bits_of(UInt set, ULong blk, Bool whole)
{
	ULong key = (ULong)set << 37 | (blk & 0x1fffffffffull), s;

	if (slot_used * 10 >= slot_cap * 7)
		grow();
	for (s = reach_slot(key); slots[s].bits; s = (s + 1) & (slot_cap - 1))
		if (slots[s].key == key)
			return slots[s].bits;
	slots[s] = (Slot){ key, whole ? full : new_bits() };
	slot_used++;
	return slots[s].bits;
}

static void set_add(UInt id, Addr a, SizeT n)
{
	while (n) {
		Set *s = &sets[id];
		UInt off = a & (UBLK_BYTES - 1);
		SizeT k = n < UBLK_BYTES - off ? n : UBLK_BYTES - off;

		if (UNLIKELY_(s->blk != a >> UBLK_SHIFT)) {
			s->blk = a >> UBLK_SHIFT;
			s->bits = bits_of(id, s->blk, k == UBLK_BYTES);
		}
		a += k;
		n -= k;
		while (k && s->bits != full) {
			UInt m = k > 64 ? 64 : k;

			if (off % 64 + m > 64)
				m = 64 - off % 64;
			bits_set(s->bits, off, m);
			off += m;
			k -= m;
		}
	}
}

Reach *reach_get(UInt fn, UInt region)
{
	UInt h = (fn * 4 + region) % REACHES;
	Reach *r;

	for (r = reaches[h]; r; r = r->next)
		if (r->fn == fn && r->region == region)
			return r;
	r = VG_(calloc)("x.reach", 1, sizeof(*r));
	r->fn = fn;
	r->region = region;
	r->low = ~(Addr)0;
	r->began = set_new(SET_OTHER, region);
	r->bytes = set_new(SET_OTHER, region);
	r->next = reaches[h];
	reaches[h] = r;
	return r;
}

void reach_object(ObjectReach *o, UInt region)
{
	o->low = ~(Addr)0;
	o->read = set_new(SET_READ, region);
	o->written = set_new(SET_WRITTEN, region);
}

void reach_allocated(Addr a, SizeT len, UInt region)
{
	UInt *set = &allocated[region == FMT_X_R_HEAP];

	if (!*set)
		*set = set_new(SET_ALLOCATED, region) + 1, set_new(SET_OTHER, region); /* by_set: sets come in pairs */
	set_add(*set - 1, a, len);
}

void reach_touch(ObjectReach *o, Addr a, SizeT len, Bool write)
{
	if (a < o->low)
		o->low = a;
	if (a + len > o->high)
		o->high = a + len;
	set_add(write ? o->written : o->read, a, len);
}

void reach_access(Reach *r, Addr a, UInt size, Bool write)
{
	if (write)
		r->writes++;
	else
		r->reads++;
	if (a < r->low)
		r->low = a;
	if (a + size > r->high)
		r->high = a + size;
	set_add(r->began, a, 1);
	set_add(r->bytes, a, size);
}

/* ---- what is told in the end ---- */

typedef struct {
	ULong blk;
	UInt set;
	const ULong *bits;
} Ref;

typedef struct {
	ULong written, read, unread, allocated;
} Sum;

static Int by_block(const void *a, const void *b)
{
	const Ref *x = a, *y = b;

	return x->blk != y->blk ? (x->blk < y->blk ? -1 : 1) : x->set < y->set ? -1 : x->set > y->set;
}

/* Both sets of an object lie side by side: their numbers do. */
static Int by_set(const void *a, const void *b)
{
	const Ref *x = a, *y = b;

	if (x->set / 2 != y->set / 2)
		return x->set < y->set ? -1 : 1;
	return by_block(a, b);
}

static UInt x_reach_count(const ULong *b)
{
	UInt n = 0;

	for (UInt i = 0; i < UBLK_WORDS; i++)
		n += __builtin_popcountll(b[i]);
	return n;
}

/* Of the blocks r[0..n), which are one: what is in the sets. */
static void sum_block(const Ref *r, ULong n, Sum *sum)
{
	ULong bits[4][UBLK_WORDS];

	VG_(memset)(bits, 0, sizeof(bits));
	for (ULong i = 0; i < n; i++)
		for (UInt k = 0; k < UBLK_WORDS; k++)
			bits[sets[r[i].set].what][k] |= r[i].bits[k];
	sum->written += x_reach_count(bits[SET_WRITTEN]);
	sum->read += x_reach_count(bits[SET_READ]);
	sum->allocated += x_reach_count(bits[SET_ALLOCATED]);
	for (UInt k = 0; k < UBLK_WORDS; k++)
		sum->unread += __builtin_popcountll(bits[SET_WRITTEN][k] & ~bits[SET_READ][k]);
}

static Ref *collect(ULong *n, Bool all)
{
	Ref *r = VG_(malloc)("x.reach", (slot_used + 1) * sizeof(*r));

	*n = 0;
	for (ULong i = 0; i < slot_cap; i++) {
		UInt set = slots[i].key >> 37;

		if (slots[i].bits && (all || sets[set].what != SET_OTHER))
			r[(*n)++] = (Ref){ slots[i].key & 0x1fffffffffull, set, slots[i].bits };
	}
	return r;
}

static void write_reaches(const ULong *size)
{
	for (UInt h = 0; h < REACHES; h++)
		for (const Reach *p = reaches[h]; p; p = p->next) {
			struct fmt_x_reach r = { p->fn + 1, p->region, p->reads,       p->writes,
						 p->low,    p->high,   size[p->began], size[p->bytes] };

			out_rec(FMT_X_REACH, &r, sizeof(r));
		}
}

/* Cells of equal size, so few that they can be drawn: those in which anything is. */
static void write_map(Ref *r, ULong n)
{
	UInt shift = 0;
	ULong cells;

	VG_(ssort)(r, n, sizeof(*r), by_block);
	for (;; shift++) {
		cells = 0;
		for (ULong i = 0; i < n; i++)
			cells += !i || r[i].blk >> shift != r[i - 1].blk >> shift;
		if (cells <= MAX_CELLS)
			break;
	}
	for (ULong i = 0, j; i < n; i = j) {
		ULong cell = r[i].blk >> shift;
		struct fmt_x_map m;
		Sum sum;

		VG_(memset)(&sum, 0, sizeof(sum));
		VG_(memset)(&m, 0, sizeof(m));
		m.region = sets[r[i].set].region;
		for (j = i; j < n && r[j].blk >> shift == cell;) {
			ULong k = j;

			while (j < n && r[j].blk == r[k].blk)
				j++;
			sum_block(r + k, j - k, &sum);
		}
		m.addr = cell << shift << UBLK_SHIFT;
		m.len = (ULong)UBLK_BYTES << shift;
		m.allocated = m.region == FMT_X_R_HEAP || m.region == FMT_X_R_GLOBAL ? sum.allocated : FMT_X_UNKNOWN;
		m.written = sum.written;
		m.read = sum.read;
		m.unread = sum.unread;
		out_rec(FMT_X_MAP, &m, sizeof(m));
	}
}

void reach_write(const ObjectReach *(*nth)(UInt i), UInt objects)
{
	ULong n, *size = VG_(calloc)("x.reach", set_count + 1, sizeof(*size));
	Sum *of = VG_(calloc)("x.reach", set_count + 1, sizeof(*of));
	Ref *r = collect(&n, True);

	for (ULong i = 0; i < n; i++)
		size[r[i].set] += x_reach_count(r[i].bits);
	VG_(free)(r);
	write_reaches(size);
	VG_(free)(size);
	r = collect(&n, False);
	VG_(ssort)(r, n, sizeof(*r), by_set);
	for (ULong i = 0, j; i < n; i = j) {
		for (j = i; j < n && r[j].set / 2 == r[i].set / 2 && r[j].blk == r[i].blk; j++)
			;
		sum_block(r + i, j - i, &of[r[i].set / 2]);
	}
	for (UInt i = 0; i < objects; i++) {
		const ObjectReach *o = nth(i);
		const Sum *s = &of[o->read / 2];
		struct fmt_x_extent x = { i + 1, 0, o->low, o->high, s->written, s->read, s->unread };

		if (o->high)
			out_rec(FMT_X_EXTENT, &x, sizeof(x));
	}
	write_map(r, n);
	VG_(free)(r);
	VG_(free)(of);
}

void reach_init(void)
{
	VG_(memset)(full, 0xff, sizeof(full));
}
