/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Kim & Edwards logs: by invocation: what called it, what it computed, what it read and from which. */
#include "x.h"
#include "../kelog.h"

Bool logs_on;

typedef struct Pair {
	UInt writer;
	UInt pad;
	ULong chunks;
} Pair;

/* A live invocation. Its table of writers is as long as its reads were varied. */
typedef struct Inv {
	struct Inv *outer; /* the innermost selected one around it; also the free list */
	UInt id, used, cap;
	ULong insns, compute, call;
	Pair *pairs;
} Inv;

static Inv *free_invs;

#define LOG_BUF 65536 /* bytes that one write() takes; by hand */
typedef struct {
	Int fd;
	UInt len;
	UChar buf[LOG_BUF];
} LogFile;
static LogFile *files[KE_KINDS + 1];                     /* by kind */
static ULong accesses, accesses_left_out, left_out_from; /* of the list; the last: instructions executed before */
static UChar function_told[(FN_MAX + 8) / 8];

static void log_bytes(LogFile *l, const void *data, UInt n)
{
	if (l->len + n > LOG_BUF) {
		VG_(write)(l->fd, l->buf, l->len);
		l->len = 0;
	}
	VG_(memcpy)(l->buf + l->len, data, n);
	l->len += n;
}

static void record(UInt kind, const void *rec, UInt size)
{
	if (files[kind])
		log_bytes(files[kind], rec, size);
}

static void open_log(UInt kind, Int fd, UInt rec_size)
{
	struct ke_head h = { KE_MAGIC, KE_VERSION, kind, kind == KE_XFERS ? 1u << opt.xfer_shift : 0, rec_size };

	if (fd < 0)
		return;
	files[kind] = VG_(malloc)("x.log", sizeof(LogFile));
	files[kind]->fd = VG_(safe_fd)(fd);
	files[kind]->len = 0;
	log_bytes(files[kind], &h, sizeof(h));
	logs_on = True;
}

void log_init(void)
{
	static const UInt sizes[KE_KINDS] = { 0, sizeof(struct ke_subcall), sizeof(struct ke_icount),
					      sizeof(struct ke_xfer), 0 };

	for (UInt i = 0; i < KE_KINDS; i++)
		open_log(KE_FUNCTION + i, opt.log[i], sizes[i]);
}

void log_counted(Thread *t)
{
	if (t->log_cur) {
		t->log_cur->insns += (UInt)(X.tot.insns - t->log_insns);
		t->log_cur->compute += (UInt)(X.tot.compute - t->log_compute);
	}
	t->log_insns = X.tot.insns;
	t->log_compute = X.tot.compute;
}

void log_call(Frame *f, Frame *parent)
{
	Thread *t = X.t;
	struct ke_subcall r;
	Inv *i;

	if (f->eff != f->fn->id)
		return; /* part of the selected function that called it */
	log_counted(t);
	i = free_invs;
	if (i)
		free_invs = i->outer;
	else
		i = VG_(calloc)("x.inv", 1, sizeof(*i));
	i->id = f->inv;
	i->call = f->fn->calls;
	i->insns = i->compute = 0;
	i->used = 0;
	i->outer = t->log_cur;
	r = (struct ke_subcall){ i->id, i->outer ? i->outer->id : 0, f->fn->id + 1, 0 };
	record(KE_SUBCALLS, &r, sizeof(r));
	f->log = t->log_cur = i;
	(void)parent;
}

static Int pair_cmp(const void *a, const void *b)
{
	UInt x = ((const Pair *)a)->writer, y = ((const Pair *)b)->writer;

	return x < y ? -1 : x > y;
}

void log_return(Frame *f)
{
	Thread *t = X.t;
	Inv *i = f->log;
	struct ke_icount c;
	UInt n = 0;

	if (!i)
		return;
	log_counted(t);
	c = (struct ke_icount){ i->id, i->insns, i->compute };
	record(KE_ICOUNT, &c, sizeof(c));
	for (UInt k = 0; k < i->cap; k++)
		if (i->pairs[k].chunks)
			i->pairs[n++] = i->pairs[k];
	VG_(ssort)(i->pairs, n, sizeof(Pair), pair_cmp);
	for (UInt k = 0; k < n; k++) {
		struct ke_xfer x = { i->id, i->pairs[k].writer, i->pairs[k].chunks };

		record(KE_XFERS, &x, sizeof(x));
	}
	if (i->cap > 256) { /* one wide invocation must not make all later ones pay for its table */
		VG_(free)(i->pairs);
		i->pairs = NULL;
		i->cap = 0;
	} else if (i->pairs) {
		VG_(memset)(i->pairs, 0, i->cap * sizeof(Pair));
	}
	t->log_cur = i->outer;
	i->outer = free_invs;
	free_invs = i;
	f->log = NULL;
}

static void pair_add(Inv *i, UInt writer)
{
	UInt s;

	if (i->used * 2 >= i->cap) {
		UInt cap = i->cap ? i->cap * 2 : 16;
		Pair *p = VG_(calloc)("x.pairs", cap, sizeof(*p));

		for (UInt k = 0; k < i->cap; k++) {
			if (!i->pairs[k].chunks)
				continue;
			s = i->pairs[k].writer * 0x9e3779b1u & (cap - 1);
			while (p[s].chunks)
				s = (s + 1) & (cap - 1);
			p[s] = i->pairs[k];
		}
		VG_(free)(i->pairs);
		i->pairs = p;
		i->cap = cap;
	}
	for (s = writer * 0x9e3779b1u & (i->cap - 1); i->pairs[s].chunks; s = (s + 1) & (i->cap - 1))
		if (i->pairs[s].writer == writer)
			break;
	if (!i->pairs[s].chunks++) {
		i->pairs[s].writer = writer;
		i->used++;
	}
}

void log_load(Addr a, UInt size)
{
	Inv *i = X.t->log_cur;
	UInt id = i ? i->id : ~0u;

	for (Addr p = a >> opt.xfer_shift, end = (a + size - 1) >> opt.xfer_shift; p <= end; p++) {
		Addr at = p << opt.xfer_shift;
		Sec *s = sec_get(at);
		UInt c = (at & SEC_MASK) >> opt.xfer_shift;

		if (s->xr[c] == id)
			continue;
		s->xr[c] = id;
		if (i)
			pair_add(i, s->xw[c]);
	}
}

static void wrote(Addr a, SizeT size, UInt id)
{
	for (Addr p = a >> opt.xfer_shift, end = (a + size - 1) >> opt.xfer_shift; p <= end; p++) {
		Addr at = p << opt.xfer_shift;
		Sec *s = sec_get(at);
		UInt c = (at & SEC_MASK) >> opt.xfer_shift;

		s->xr[c] = 0;
		s->xw[c] = id;
	}
}

void log_store(Addr a, UInt size)
{
	wrote(a, size, X.t->log_cur ? X.t->log_cur->id : 0);
}

static void log_name(UInt flag, UInt id, const HChar *name)
{
	struct ke_access r = { .function = id, .flags = flag, .size = VG_(strlen)(name) };

	r.size = r.size < KE_NAME_MAX ? r.size : KE_NAME_MAX;
	record(KE_ACCESSES, &r, sizeof(r));
	record(KE_ACCESSES, name, r.size);
}

void log_object(UInt id, const HChar *name)
{
	if (files[KE_ACCESSES])
		log_name(KE_A_OBJECT, id, name);
}

void log_access(Addr a, UInt size, Bool store, Bool stack, UInt object)
{
	const Inv *i = X.t->log_cur;
	struct ke_access r = {
		X.now, a, i ? i->call : 0, X.eff + 1, object, size, (store ? KE_A_STORE : 0) | (stack ? KE_A_STACK : 0)
	};

	if (!files[KE_ACCESSES] || (opt.functions && !i))
		return;
	if (opt.accesses_most && accesses == opt.accesses_most) {
		if (!accesses_left_out++)
			left_out_from = X.now;
		return;
	}
	accesses++;
	if (!(function_told[X.eff / 8] & 1 << X.eff % 8)) {
		function_told[X.eff / 8] |= 1 << X.eff % 8;
		log_name(KE_A_FUNCTION, X.eff + 1, fns[X.eff]->name);
	}
	record(KE_ACCESSES, &r, sizeof(r));
}

void log_kernel_store(Addr a, SizeT len)
{
	if (len)
		wrote(a, len, 0);
}

void log_flush(void)
{
	for (UInt i = FN_FIRST; files[KE_FUNCTION] && i < fn_count; i++) {
		struct ke_function r;
		HChar text[2048];

		if (!fns[i]->mod || !(fns[i]->flags & FNF_SELECTED))
			continue;
		VG_(snprintf)(text, sizeof(text), "%.1000s\t%.1000s", fns[i]->name, fns[i]->mod->path);
		r = (struct ke_function){ i + 1, VG_(strlen)(text) };
		log_bytes(files[KE_FUNCTION], &r, sizeof(r));
		log_bytes(files[KE_FUNCTION], text, r.len);
	}
	if (accesses_left_out)
		VG_(umsg)
	("accperf: --accesses-most: %llu in the list, %llu more left out, from instruction %llu on\n", accesses,
	 accesses_left_out, left_out_from);
	for (UInt k = 1; k <= KE_KINDS; k++)
		if (files[k] && files[k]->len) {
			VG_(write)(files[k]->fd, files[k]->buf, files[k]->len);
			files[k]->len = 0;
		}
}
