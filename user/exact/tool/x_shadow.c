/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shadow of the target's memory: who wrote each byte, kept by section; marking, copying and forgetting ranges. */
#include "x.h"
#include "pub_tool_vkiscnums.h"

/* The core's, in its archive. */
extern UWord do_syscall_WRK(UWord nr, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f);

Sec **pm;
ULong shadow_bytes, touched_secs;

/* Addresses above 128 GiB: the core puts no client memory there unless the target insists. */
typedef struct High {
	struct High *next;
	Addr base;
	Sec *sec;
} High;
#define HIGH_HASH 4096 /* chains of what lies there; by hand */
static High *high[HIGH_HASH];

#define RESERVE (48u << 20) /* bytes, for writing the figures when memory has run out; by hand */
static void *reserve;

/* What valgrind takes for itself at once; where it finds none it ends without asking anybody. */
#define ITS_OWN (8u << 20)

static Bool room_for_valgrind(void)
{
	void *p = VG_(am_shadow_alloc)(ITS_OWN);

	if (p)
		VG_(am_munmap_valgrind)((Addr)p, ITS_OWN);
	return p != NULL;
}

void *shadow_alloc(SizeT n)
{
	void *p = VG_(am_shadow_alloc)(n);

	/* what was measured so far can still be written, from what was put aside for it */
	if (reserve && (!p || !room_for_valgrind())) {
		VG_(am_munmap_valgrind)((Addr)reserve, RESERVE);
		reserve = NULL;
		out_snapshot("memory ran out: the engine needs several times the program's own; "
			     "--no-unique and --semantics quad need less",
			     False);
	}
	if (!p)
		VG_(out_of_memory_NORETURN)("accperf: shadow memory", n);
	shadow_bytes += n;
	return p;
}

/*
 * Huge pages, where the kernel gives them to who asks: what is looked up at random then misses fewer of the
 * processor's translations, and there are fewer faults. Pieces follow each other, so all but their ends are whole.
 */
#define PIECE (8u << 20)
#define HUGEPAGES 14

static void *huge(SizeT n)
{
	void *p = shadow_alloc(n);

	do_syscall_WRK(__NR_madvise, (UWord)p, n, HUGEPAGES, 0, 0, 0);
	return p;
}

void *shadow_kept(SizeT n)
{
	static UChar *pool;
	static SizeT left;
	void *p;

	n = VG_ROUNDUP(n, 64);
	/* a line stays beyond the last: x_short.c, bits_again() */
	if (left < n + 64) {
		left = n + 64 > PIECE ? n + 64 : PIECE;
		pool = huge(left);
		shadow_bytes -= left;
	}
	p = pool;
	pool += n;
	left -= n;
	shadow_bytes += n;
	return p;
}

/* Counted by who asks. */
void *shadow_table(SizeT n)
{
	void *p = huge(VG_PGROUNDUP(n));

	shadow_bytes -= VG_PGROUNDUP(n);
	return p;
}

void shadow_table_free(void *p, SizeT n)
{
	if (p)
		VG_(am_munmap_valgrind)((Addr)p, VG_PGROUNDUP(n));
}

void shadow_init(void)
{
	pm = VG_(am_shadow_alloc)(sizeof(*pm) << PM_BITS);
	reserve = VG_(am_shadow_alloc)(RESERVE);
	if (!pm || !reserve)
		VG_(out_of_memory_NORETURN)("accperf: shadow memory", sizeof(*pm) << PM_BITS);
}

static Sec *sec_new(void)
{
	Sec *s = shadow_kept(sizeof(*s) + (short_way ? SEC_SIZE / UBLK_BYTES * sizeof(s->met[0]) : 0));

	s->w = shadow_kept(SEC_SIZE * sizeof(*s->w));
	if (opt.ke)
		s->k = shadow_kept((SEC_SIZE >> opt.chunk_shift) * sizeof(*s->k));
	if (logs_on) {
		s->xr = shadow_kept((SEC_SIZE >> opt.xfer_shift) * sizeof(*s->xr));
		s->xw = shadow_kept((SEC_SIZE >> opt.xfer_shift) * sizeof(*s->xw));
	}
	if (paths_on) {
		s->pw = shadow_kept(SEC_SIZE * sizeof(*s->pw));
		s->pc = shadow_kept((SEC_SIZE >> opt.chunk_shift) * sizeof(*s->pc));
	}
	VG_(memset)(s->tag, TAG_NONE, sizeof(s->tag));
	touched_secs++;
	return s;
}

Sec *sec_find(Addr a)
{
	if (a >> 37 == 0)
		return pm[a >> SEC_SHIFT];
	for (High *h = high[(a >> SEC_SHIFT) % HIGH_HASH]; h; h = h->next)
		if (h->base == (a & ~(Addr)SEC_MASK))
			return h->sec;
	return NULL;
}

Sec *sec_slow(Addr a)
{
	Sec *s = sec_find(a);
	High *h;

	if (s)
		return s;
	s = sec_new();
	if (a >> 37 == 0)
		return pm[a >> SEC_SHIFT] = s;
	h = VG_(malloc)("x.high", sizeof(*h));
	h->base = a & ~(Addr)SEC_MASK;
	h->sec = s;
	h->next = high[(a >> SEC_SHIFT) % HIGH_HASH];
	high[(a >> SEC_SHIFT) % HIGH_HASH] = h;
	return s;
}

/* Mappings that the allocator took its blocks from. */
#define MAX_HEAPS 8192
static struct {
	Addr lo, hi;
} heaps[MAX_HEAPS];
static UInt n_heaps;
static Addr brk_lo, brk_hi;

static Bool heap_at(Addr a)
{
	for (UInt i = 0; i < n_heaps; i++)
		if (a - heaps[i].lo < heaps[i].hi - heaps[i].lo)
			return True;
	return False;
}

/* What kind of memory a page is: asked once per page, forgotten when it is unmapped. */
UInt sec_tag(Sec *s, Addr a)
{
	const NSegment *seg = VG_(am_find_nsegment)(a);
	UInt tag = FMT_X_R_OTHER;

	if (a - brk_lo < brk_hi - brk_lo || heap_at(a))
		tag = FMT_X_R_HEAP;
	else if (seg && seg->kind == SkFileC)
		tag = FMT_X_R_GLOBAL;
	else if (VG_(DebugInfo_sect_kind)(NULL, a) == Vg_SectBSS)
		tag = FMT_X_R_GLOBAL;
	else if (seg && seg->start > 0) {
		/* the tail of .bss has no file behind it: it follows its object's data */
		const NSegment *before = VG_(am_find_nsegment)(seg->start - 1);

		if (seg->kind == SkAnonC && before && before->kind == SkFileC && before->hasW)
			tag = FMT_X_R_GLOBAL;
	}
	s->tag[(a & SEC_MASK) >> 12] = tag;
	return tag;
}

/* The allocator handed out memory outside brk: the whole mapping is heap. */
void shadow_heap(Addr a, SizeT len)
{
	const NSegment *seg;

	if (a - brk_lo < brk_hi - brk_lo || heap_at(a))
		return;
	seg = VG_(am_find_nsegment)(a);
	if (!seg || seg->kind != SkAnonC || n_heaps == MAX_HEAPS)
		return;
	world_new_era();
	heaps[n_heaps].lo = seg->start;
	heaps[n_heaps++].hi = seg->end + 1;
	/* pages touched before, by the allocator itself */
	for (Addr p = seg->start; p < seg->end; p += 4096) {
		Sec *s = sec_find(p);

		if (!s)
			p |= SEC_MASK & ~4095ull;
		else
			s->tag[(p & SEC_MASK) >> 12] = TAG_NONE;
	}
	(void)len;
}

void shadow_brk(Addr a, SizeT len)
{
	if (!brk_hi)
		brk_lo = brk_hi = a;
	if (a < brk_lo)
		brk_lo = a;
	if (a + len > brk_hi)
		brk_hi = a + len;
}

static void heap_forget(Addr a, SizeT len)
{
	for (UInt i = 0; i < n_heaps;)
		if (heaps[i].lo < a + len && a < heaps[i].hi)
			heaps[i] = heaps[--n_heaps];
		else
			i++;
}

static ULong four(UInt fn)
{
	return fn * 0x0001000100010001ull;
}

/* Some of a chunk's bytes, from one to another. */
static void mark_part(Sec *s, UInt c, UInt from, UInt to, UInt fn)
{
	ULong was = s->k[c], all = (ULong)fn << 32;
	UShort *w = s->w + 4 * c;

	s->k[c] = all;
	if ((was & K_WHO) == all)
		return;
	if (!(was & K_MIXED))
		*(ULong *)w = four((UShort)(was >> 32));
	for (UInt i = from; i < to; i++)
		w[i] = fn;
	if (*(ULong *)w != four(fn))
		s->k[c] = all | K_MIXED;
}

void shadow_mark(Sec *s, UInt off, UInt n, UInt fn)
{
	UInt c = off / 4, from = off % 4, end = off + n;

	if (from) {
		mark_part(s, c++, from, from + n < 4 ? from + n : 4, fn);
		if (from + n <= 4)
			return;
	}
	for (; c < end / 4; c++)
		s->k[c] = (ULong)fn << 32;
	if (end % 4)
		mark_part(s, c, 0, end % 4, fn);
}

/* The array of a writer per byte holds for these bytes from now on. */
static void shadow_writers(Sec *s, UInt off, UInt n)
{
	for (UInt c = off / 4; c <= (off + n - 1) / 4; c++)
		if (!(s->k[c] & K_MIXED))
			((ULong *)s->w)[c] = four((UShort)(s->k[c] >> 32));
}

static UInt chunks_of(UInt off, UInt n, UInt shift, UInt *first)
{
	*first = off >> shift;
	return ((off + n - 1) >> shift) - *first + 1;
}

static void forget_part(Sec *s, UInt off, UInt n)
{
	UInt c, k;

	if (short_way)
		shadow_mark(s, off, n, FN_OUTSIDE);
	else
		VG_(memset)(s->w + off, 0, n * sizeof(*s->w));
	if (s->k && !short_way) {
		k = chunks_of(off, n, opt.chunk_shift, &c);
		VG_(memset)(s->k + c, 0, k * sizeof(*s->k));
	}
	if (s->xr) {
		k = chunks_of(off, n, opt.xfer_shift, &c);
		VG_(memset)(s->xr + c, 0, k * sizeof(*s->xr));
		VG_(memset)(s->xw + c, 0, k * sizeof(*s->xw));
	}
	if (s->pw)
		path_forget(s, off, n);
	for (UInt p = off >> 12; p <= (off + n - 1) >> 12; p++)
		s->tag[p] = TAG_NONE;
}

/* Calls `part` for each touched section of the range; returns nothing for untouched ones. */
static void walk_sections(Addr a, SizeT len, void (*part)(Sec *, UInt, UInt))
{
	if (a + len < a)
		return;
	while (len) {
		UInt off = a & SEC_MASK;
		SizeT n = SEC_SIZE - off;
		Sec *s = sec_find(a);

		if (n > len)
			n = len;
		if (s)
			part(s, off, n);
		a += n;
		len -= n;
	}
}

void shadow_forget(Addr a, SizeT len)
{
	world_new_era();
	heap_forget(a, len);
	walk_sections(a, len, forget_part);
}

void shadow_copy(Addr from, Addr to, SizeT len)
{
	world_new_era();
	/* page-aligned both: mremap; a copy by pages keeps both offsets inside one section */
	while (len) {
		SizeT n = len > 4096 ? 4096 : len;
		Sec *s = sec_find(from);

		if (s) {
			Sec *d = sec_get(to);
			UInt fo = from & SEC_MASK, t = to & SEC_MASK, c1, c2, k;

			VG_(memcpy)(d->w + t, s->w + fo, n * sizeof(*s->w));
			if (s->k) {
				k = chunks_of(fo, n, opt.chunk_shift, &c1);
				chunks_of(t, n, opt.chunk_shift, &c2);
				VG_(memcpy)(d->k + c2, s->k + c1, k * sizeof(*s->k));
			}
			if (s->xr) {
				k = chunks_of(fo, n, opt.xfer_shift, &c1);
				chunks_of(t, n, opt.xfer_shift, &c2);
				VG_(memcpy)(d->xr + c2, s->xr + c1, k * sizeof(*s->xr));
				VG_(memcpy)(d->xw + c2, s->xw + c1, k * sizeof(*s->xw));
			}
			if (s->pw)
				path_copy(d, t, s, fo, n);
			d->tag[t >> 12] = TAG_NONE;
		} else {
			shadow_forget(to, n);
		}
		from += n;
		to += n;
		len -= n;
	}
}

/* The kernel copies out of the target's memory: an edge to (kernel:CALL). */
void kernel_reads(UInt fn, Addr a, SizeT len)
{
	UInt inv = X.t ? X.t->syscall_inv : ++inv_counter;

	if (a + len < a || !VG_(am_is_valid_for_client)(a, len ? len : 1, VKI_PROT_READ))
		return; /* a bad pointer: the call fails with EFAULT */
	if (win_armed)
		window_kernel(a, len, FMT_A_LOAD | FMT_A_KERNEL, X.t ? X.t->syscall_nr : -1);
	if (!X.counting)
		return;
	if (paths_on)
		path_kernel_read(fn, inv, a, len);
	if (opt.sample_period && len)
		sample_sysio(a, len, FMT_IO_KERNEL_READS);
	if (opt.objects && opt.unique)
		object_kernel(a, len, False);
	while (len) {
		UInt off = a & SEC_MASK;
		UInt n = len < SEC_SIZE - off ? len : SEC_SIZE - off;
		Sec *s = sec_get(a);

		if (short_way)
			shadow_writers(s, off, n);
		for (UInt i = 0; i < n;) {
			UInt w = s->w[off + i], j = i + 1;
			UInt stack = (a + i - X.lo) <= X.span;
			Edge *e;

			while (j < n && s->w[off + j] == w && ((a + j - X.lo) <= X.span) == stack)
				j++;
			e = edge_get(EDGE_KEY(w, fn));
			if (opt.quad)
				e->bytes[stack] += j - i;
			if (opt.unique)
				unique_set(e->index, stack, a + i, j - i);
			i = j;
		}
		if (s->k) {
			UInt c, k = chunks_of(off, n, opt.chunk_shift, &c);

			for (UInt i = c; i < c + k; i++) {
				UInt w = (UShort)(s->k[i] >> 32);
				Addr ca = (a & ~(Addr)SEC_MASK) + ((Addr)i << opt.chunk_shift);

				if ((UInt)s->k[i] == inv)
					continue;
				s->k[i] = (s->k[i] & K_WHO) | inv;
				edge_get(EDGE_KEY(w, fn))->ke[(ca - X.lo) <= X.span]++;
			}
		}
		a += n;
		len -= n;
	}
}

void kernel_writes(UInt fn, Addr a, SizeT len)
{
	if (a + len < a)
		return;
	if (!X.counting && !X.names_writers)
		fn = FN_BEFORE;
	if (win_armed)
		window_kernel(a, len, FMT_A_STORE | FMT_A_KERNEL, X.t ? X.t->syscall_nr : -1);
	if (logs_on)
		log_kernel_store(a, len);
	if (paths_on)
		path_kernel_write(fn, a, len);
	if (opt.sample_period && X.counting && len)
		sample_sysio(a, len, FMT_IO_KERNEL_WRITES);
	if (opt.objects && opt.unique && X.counting)
		object_kernel(a, len, True);
	while (len) {
		UInt off = a & SEC_MASK;
		UInt n = len < SEC_SIZE - off ? len : SEC_SIZE - off;
		Sec *s = sec_get(a);
		UInt c, k;

		if (short_way)
			shadow_mark(s, off, n, fn);
		for (UInt i = 0; i < n && !short_way; i++)
			s->w[off + i] = fn;
		if (s->k && !short_way) {
			k = chunks_of(off, n, opt.chunk_shift, &c);
			for (UInt i = c; i < c + k; i++)
				s->k[i] = (ULong)fn << 32;
		}
		a += n;
		len -= n;
	}
}
