/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instrumentation: each access stores its address into a buffer (one machine instruction); one call
 * at the end of the block, or at the side exit that is taken, works the buffer off. So the target's
 * code stays fast and the accounting runs as one compiled loop.
 */
#include "x.h"
#include "../stream.h"
#include "libvex_guest_offsets.h"

ULong evbuf[EVBUF];
ULong ret_value;
ULong call_args[3];

#define BB_HASH 65536 /* chains: of most programs a block has one of its own */
static BB *bb_hash[BB_HASH];

typedef struct {
	Addr addr;
	UInt len;
} Mark;

static Mark marks[XS_MAX_INSNS];
static struct xs_class classes[XS_MAX_INSNS];
static UInt n_marks;

static Ev evs[4096];
static UInt n_ev;

static Bool read_full(Int fd, void *buf, UInt n)
{
	UChar *p = buf;

	while (n) {
		Int r = VG_(read)(fd, p, n);

		if (r <= 0)
			return False;
		p += r;
		n -= r;
	}
	return True;
}

/* Asks the driver, which has a real decoder, what these instructions do. */
static void ask_driver_for_classes(void)
{
	static UChar q[4 + XS_MAX_INSNS * XS_CODE_BYTES];
	UInt i;

	VG_(memset)(classes, 0, n_marks * sizeof(classes[0]));
	if (opt.class_w < 0 || out_dead || !n_marks)
		return;
	VG_(memcpy)(q, &n_marks, 4);
	for (i = 0; i < n_marks; i++) {
		UChar *p = q + 4 + i * XS_CODE_BYTES;

		VG_(memset)(p, 0, XS_CODE_BYTES);
		p[0] = marks[i].len > 15 ? 15 : marks[i].len;
		VG_(memcpy)(p + 1, (void *)marks[i].addr, p[0]);
	}
	if (VG_(write)(opt.class_w, q, 4 + n_marks * XS_CODE_BYTES) != (Int)(4 + n_marks * XS_CODE_BYTES) ||
	    !read_full(opt.class_r, classes, n_marks * sizeof(classes[0]))) {
		VG_(umsg)("accperf: the driver is gone; ending\n");
		out_dead = True;
		VG_(exit)(1);
	}
}

/* Variables in a function's frame, from its debug information; the array is the caller's. */
UInt ask_locals(const HChar *path, ULong vaddr, struct xs_local **out)
{
	static UChar q[4 + sizeof(struct xs_locals_ask) + 4096];
	struct xs_locals_ask ask = { vaddr, VG_(strlen)(path), 0 };
	UInt n = XS_ASK_LOCALS;

	*out = NULL;
	if (opt.class_w < 0 || out_dead || ask.path_len >= 4096)
		return 0;
	VG_(memcpy)(q, &n, 4);
	VG_(memcpy)(q + 4, &ask, sizeof(ask));
	VG_(memcpy)(q + 4 + sizeof(ask), path, ask.path_len);
	n = 4 + sizeof(ask) + ask.path_len;
	if (VG_(write)(opt.class_w, q, n) != (Int)n || !read_full(opt.class_r, &n, 4) || !n || n > XS_MAX_LOCALS)
		return 0;
	*out = VG_(malloc)("x.locals", n * sizeof(**out));
	return read_full(opt.class_r, *out, n * sizeof(**out)) ? n : 0;
}

/* `jmp *[rip+x]`, as in procedure linkage tables, with or without endbr64: belongs to the caller. */
static Bool is_jump_stub(const VexGuestExtents *vge)
{
	const UChar *p = (const UChar *)vge->base[0];
	const UChar *end = p + vge->len[0];

	if (end - p > 4 && p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa)
		p += 4;
	if (end - p > 1 && p[0] == 0xf2)
		p++;
	if (end - p == 6 && p[0] == 0xff && p[1] == 0x25)
		return True;
	return VG_(DebugInfo_sect_kind)(NULL, vge->base[0]) == Vg_SectPLT;
}

static ULong code_hash(const VexGuestExtents *vge)
{
	ULong h = 1469598103934665603ull;

	for (UInt i = 0; i < vge->n_used; i++)
		for (UInt k = 0; k < vge->len[i]; k++)
			h = (h ^ ((const UChar *)vge->base[i])[k]) * 1099511628211ull;
	return h;
}

/*
 * The stack pointer, as the block moves it. A move is an event only where one of the block's accesses, or what comes
 * after the block, could tell: of `push; push; push` the last one is. Its values are known as distances from one that
 * is not; a value of another origin begins anew.
 */
typedef struct {
	UInt origin; /* 0: not known */
	Long off;
} Place;
#define MAX_PLACES 4096          /* temporaries of one block that are followed; others are not told; by hand */
static Place places[MAX_PLACES]; /* by temporary */

typedef struct {
	IRSB *out;
	BB *bb;
	UInt base_ev, base_ins; /* since the last unconditional flush */
	IRType word;
	Place sp, told; /* where the pointer is, and where the events say it is */
	IRExpr *untold; /* its value, where that differs */
	Addr moved_by;
} Gen;

static void store_const_addr(Gen *g, ULong *where, IRExpr *value)
{
	addStmtToIRSB(g->out, IRStmt_Store(Iend_LE, IRExpr_Const(IRConst_U64((ULong)(Addr)where)), value));
}

static void add_flush(Gen *g, IRExpr *guard, UInt exit_kind);

static UInt access_op(UInt kind, UInt size)
{
	UInt log = 0;

	if (kind == EV_SP)
		return OP_SP;
	while (1u << log < size)
		log++;
	if (log > 5 || 1u << log != size)
		return OP_SLOW;
	return (kind == EV_LOAD ? OP_LOAD : OP_STORE) + log;
}

static void add_event(Gen *g, UInt kind, UInt size, IRExpr *value, Addr ip);

static Place distance_of(const IRExpr *e)
{
	if (e->tag != Iex_RdTmp || e->Iex.RdTmp.tmp >= MAX_PLACES)
		return (Place){ 0 };
	return places[e->Iex.RdTmp.tmp];
}

static void place_temporary(const Gen *g, IRTemp t, const IRExpr *e)
{
	const IRExpr *by;
	Place p = { 0 };

	if (t >= MAX_PLACES)
		return;
	if (e->tag == Iex_Get && e->Iex.Get.offset == OFFSET_amd64_RSP && e->Iex.Get.ty == Ity_I64) {
		p = g->sp;
	} else if (e->tag == Iex_RdTmp) {
		p = distance_of(e);
	} else if (e->tag == Iex_Binop && (e->Iex.Binop.op == Iop_Add64 || e->Iex.Binop.op == Iop_Sub64) &&
		   e->Iex.Binop.arg2->tag == Iex_Const) {
		by = e->Iex.Binop.arg2;
		p = distance_of(e->Iex.Binop.arg1);
		p.off += e->Iex.Binop.op == Iop_Add64 ? (Long)by->Iex.Const.con->Ico.U64
						      : -(Long)by->Iex.Const.con->Ico.U64;
	}
	places[t] = p;
}

static void tell_sp(Gen *g)
{
	IRExpr *value = g->untold;

	if (!value)
		return;
	g->untold = NULL;
	g->told = g->sp;
	add_event(g, EV_SP, 0, value, g->moved_by);
}

static void sp_moved(Gen *g, IRExpr *value, Addr ip)
{
	static UInt origins;
	Place p = distance_of(value);

	if (!p.origin || p.origin != g->told.origin) {
		if (!p.origin)
			p = (Place){ ++origins + 1, 0 };
		if (value->tag == Iex_RdTmp && value->Iex.RdTmp.tmp < MAX_PLACES)
			places[value->Iex.RdTmp.tmp] = p;
		g->sp = p;
		g->untold = value;
		g->moved_by = ip;
		tell_sp(g);
		return;
	}
	g->sp = p;
	g->moved_by = ip;
	g->untold = p.off == g->told.off ? NULL : value;
}

/* An access at `addr` is about to be recorded: would it be told apart from the stack by the old value as by the new? */
static void told_enough(Gen *g, const IRExpr *addr)
{
	Place p = distance_of(addr);

	if (g->untold &&
	    !(p.origin == g->told.origin && (p.off >= g->sp.off - RED_ZONE) == (p.off >= g->told.off - RED_ZONE)))
		tell_sp(g);
}

static void add_event(Gen *g, UInt kind, UInt size, IRExpr *value, Addr ip)
{
	Ev *e;

	if (n_ev >= sizeof(evs) / sizeof(evs[0]))
		return;
	if (n_ev - g->base_ev >= EVBUF)
		add_flush(g, NULL, EXIT_PLAIN);
	e = &evs[n_ev];
	VG_(memset)(e, 0, sizeof(*e));
	e->kind = kind;
	e->size = size;
	e->ip = ip;
	e->ekey = ~0u;
	e->ublk = e->block = ~0ull;
	e->op = access_op(kind, size);
	e->way = short_way_of(e->op);
	if (kind == EV_STORE || kind == EV_MODIFY)
		e->census = opt.census;
	store_const_addr(g, &evbuf[n_ev - g->base_ev], value);
	n_ev++;
}

static IRExpr *guarded(Gen *g, IRExpr *guard, IRExpr *addr)
{
	IRTemp t;

	if (!guard || (guard->tag == Iex_Const && guard->Iex.Const.con->Ico.U1))
		return addr;
	t = newIRTemp(g->out->tyenv, Ity_I64);
	addStmtToIRSB(g->out, IRStmt_WrTmp(t, IRExpr_ITE(guard, addr, IRExpr_Const(IRConst_U64(0)))));
	return IRExpr_RdTmp(t);
}

static void add_guarded_access(Gen *g, UInt kind, UInt size, IRExpr *addr, IRExpr *guard, Addr ip)
{
	if (size) {
		told_enough(g, addr);
		add_event(g, kind, size, guarded(g, guard, addr), ip);
	}
}

/* Calls are told what they work off when all of the block is known. */
static struct {
	Flush f;
	IRConst *at;
} pending_flush[XS_MAX_INSNS * 2];
static UInt n_flush;

static void add_flush(Gen *g, IRExpr *guard, UInt exit_kind)
{
	IRConst *at = IRConst_U64(0);
	const HChar *name;
	flush_fn fn = exec_pick(&name);
	IRDirty *d;

	tell_sp(g);
	tl_assert(n_flush < sizeof(pending_flush) / sizeof(pending_flush[0]));
	pending_flush[n_flush].at = at;
	pending_flush[n_flush++].f = (Flush){
		.from = g->base_ev,
		.to = n_ev,
		.ins_from = g->base_ins,
		.ins_to = n_marks,
		.exit = exit_kind,
	};
	d = unsafeIRDirty_0_N(1, name, VG_(fnptr_to_fnentry)(fn), mkIRExprVec_1(IRExpr_Const(at)));
	if (guard)
		d->guard = guard;
	addStmtToIRSB(g->out, IRStmt_Dirty(d));
	if (!guard) {
		g->base_ev = n_ev;
		g->base_ins = n_marks;
	}
}

static void count_static(const BB *bb, Flush *f)
{
	Clock c = { 0 };

	for (UInt i = f->ins_from; i < f->ins_to; i++) {
		const struct xs_class *k = &classes[i];

		c.insns++;
		c.compute += k->kind == XS_COMPUTE;
		c.transfer += k->kind == XS_TRANSFER;
		c.control += k->kind == XS_CONTROL;
		c.ops_int += k->lanes_int;
		c.ops_fp += k->lanes_fp;
		c.cycles += k->cost;
	}
	for (UInt i = f->from; i < f->to; i++) {
		const Ev *e = &bb->ev[i];
		Bool load = e->kind == EV_LOAD, store = e->kind == EV_STORE || e->kind == EV_MODIFY;

		c.loads += load;
		c.stores += store;
		if (short_way && load)
			c.load_bytes[e->region] += e->size;
		if (short_way && store)
			c.store_bytes[e->region] += e->size;
	}
	f->insns = c.insns;
	f->cycles = c.cycles;
	VG_(memcpy)(f->add, c.lane, sizeof(f->add));
}

/* The block's call that works off the same: one for all translations, so each knows what the others learnt. */
static Flush *flush_of(BB *bb, const Flush *like)
{
	Flush *f;

	for (f = bb->flushes; f; f = f->next)
		if (f->from == like->from && f->to == like->to && f->ins_from == like->ins_from &&
		    f->ins_to == like->ins_to && f->exit == like->exit)
			return f;
	f = shadow_kept(sizeof(*f));
	*f = *like;
	f->bb = bb;
	f->fn = bb->fn;
	f->ret_ip = bb->ret_ip;
	f->ev = bb->ev + f->from;
	f->end = bb->ev + f->to;
	count_static(bb, f);
	f->next = bb->flushes;
	bb->flushes = f;
	return f;
}

/* The arguments of an allocating function, before it overwrites them. */
static void keep_arguments(Gen *g)
{
	static const Int regs[3] = { OFFSET_amd64_RDI, OFFSET_amd64_RSI, OFFSET_amd64_RDX };

	for (UInt k = 0; k < 3; k++) {
		IRTemp t = newIRTemp(g->out->tyenv, Ity_I64);

		addStmtToIRSB(g->out, IRStmt_WrTmp(t, IRExpr_Get(regs[k], Ity_I64)));
		store_const_addr(g, &call_args[k], IRExpr_RdTmp(t));
	}
}

static void keep_result(Gen *g)
{
	IRTemp t = newIRTemp(g->out->tyenv, Ity_I64);

	addStmtToIRSB(g->out, IRStmt_WrTmp(t, IRExpr_Get(OFFSET_amd64_RAX, Ity_I64)));
	store_const_addr(g, &ret_value, IRExpr_RdTmp(t));
}

static void add_dirty(Gen *g, const IRDirty *d, Addr ip)
{
	if (d->mFx == Ifx_Read || d->mFx == Ifx_Modify)
		add_guarded_access(g, EV_LOAD, d->mSize, d->mAddr, d->guard, ip);
	if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify)
		add_guarded_access(g, EV_STORE, d->mSize, d->mAddr, d->guard, ip);
}

static void add_cas(Gen *g, const IRTypeEnv *types, const IRCAS *c, Addr ip)
{
	UInt size = sizeofIRType(typeOfIRExpr(types, c->dataLo));

	if (c->dataHi)
		size *= 2;
	add_guarded_access(g, EV_LOAD, size, c->addr, NULL, ip);
	add_guarded_access(g, EV_STORE, size, c->addr, NULL, ip);
}

/* What a statement of the instruction at ip does that is counted. */
static void add_statement(Gen *g, const IRTypeEnv *types, const IRStmt *st, Addr ip)
{
	const IRStoreG *sg;
	const IRLoadG *lg;
	const IRExpr *e;
	IRType wide, narrow;

	switch (st->tag) {
	case Ist_WrTmp:
		e = st->Ist.WrTmp.data;
		place_temporary(g, st->Ist.WrTmp.tmp, e);
		if (e->tag == Iex_Load)
			add_guarded_access(g, EV_LOAD, sizeofIRType(e->Iex.Load.ty), e->Iex.Load.addr, NULL, ip);
		break;
	case Ist_Put:
		if (st->Ist.Put.offset == OFFSET_amd64_RSP && typeOfIRExpr(types, st->Ist.Put.data) == Ity_I64)
			sp_moved(g, st->Ist.Put.data, ip);
		break;
	case Ist_Store:
		add_guarded_access(g, EV_STORE, sizeofIRType(typeOfIRExpr(types, st->Ist.Store.data)),
				   st->Ist.Store.addr, NULL, ip);
		break;
	case Ist_StoreG:
		sg = st->Ist.StoreG.details;
		add_guarded_access(g, EV_STORE, sizeofIRType(typeOfIRExpr(types, sg->data)), sg->addr, sg->guard, ip);
		break;
	case Ist_LoadG:
		lg = st->Ist.LoadG.details;
		typeOfIRLoadGOp(lg->cvt, &wide, &narrow);
		add_guarded_access(g, EV_LOAD, sizeofIRType(narrow), lg->addr, lg->guard, ip);
		break;
	case Ist_Dirty: add_dirty(g, st->Ist.Dirty.details, ip); break;
	case Ist_CAS: add_cas(g, types, st->Ist.CAS.details, ip); break;
	case Ist_Exit: add_flush(g, st->Ist.Exit.guard, EXIT_PLAIN); break;
	default: break;
	}
}

/* All statements from i on. */
static void add_statements(Gen *g, const IRSB *in, Int i)
{
	Addr ip = 0;

	for (; i < in->stmts_used; i++) {
		IRStmt *st = in->stmts[i];

		if (st->tag == Ist_NoOp)
			continue;
		if (st->tag == Ist_IMark) {
			ip = st->Ist.IMark.addr;
			if (n_marks < XS_MAX_INSNS) {
				marks[n_marks].addr = ip;
				marks[n_marks++].len = st->Ist.IMark.len;
			}
		} else {
			add_statement(g, in->tyenv, st, ip);
		}
		addStmtToIRSB(g->out, st);
	}
	if (n_marks)
		g->bb->ret_ip = marks[n_marks - 1].addr + marks[n_marks - 1].len;
}

void blocks_forget(void)
{
	for (UInt h = 0; h < BB_HASH; h++)
		for (BB *bb = bb_hash[h]; bb; bb = bb->hash_next)
			for (UInt i = 0; i < bb->n_ev; i++)
				bb->ev[i].block = ~0ull;
}

void sites_settle(void)
{
	for (UInt h = 0; h < BB_HASH; h++)
		for (BB *bb = bb_hash[h]; bb; bb = bb->hash_next)
			for (UInt i = 0; i < bb->n_ev; i++)
				site_settle(&bb->ev[i]);
}

/* The same code translated again (the core's cache is finite) is the same block: what its accesses learnt is kept. */
static BB *block_kept(BB *bb)
{
	BB **head = &bb_hash[(bb->addr >> 1) % BB_HASH];

	for (BB *old = *head; old; old = old->hash_next)
		if (old->addr == bb->addr && old->code_hash == bb->code_hash && old->n_ev == n_ev &&
		    old->n_ins == n_marks && old->fn == bb->fn) {
			VG_(free)(bb);
			return old;
		}
	bb->hash_next = *head;
	*head = bb;
	bb->ev = shadow_kept((n_ev + 1) * sizeof(Ev)); /* what is used most lies in one line */
	VG_(memcpy)(bb->ev, evs, n_ev * sizeof(Ev));
	bb->ins = VG_(malloc)("x.ins", (n_marks + 1) * sizeof(Ins));
	for (UInt k = 0; k < n_marks; k++)
		bb->ins[k] = (Ins){ marks[k].addr - bb->addr, classes[k].cost, classes[k].kind };
	return bb;
}

/* shape: Valgrind's interface has these parameters. */
IRSB *x_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *vge,
		   const VexArchInfo *archinfo, IRType gword, IRType hword)
{
	Gen g = { .word = gword, .sp = { 1, 0 }, .told = { 1, 0 } };
	BB *bb = VG_(calloc)("x.bb", 1, sizeof(*bb));
	Int i = 0;
	UInt exit_kind = in->jumpkind == Ijk_Call ? EXIT_CALL : in->jumpkind == Ijk_Ret ? EXIT_RET : EXIT_PLAIN;

	if (out_dead)
		return in;
	n_marks = n_ev = n_flush = 0;
	VG_(memset)(places, 0, sizeof(places));
	g.out = deepCopyIRSBExceptStmts(in);
	g.bb = bb;
	bb->addr = vge->base[0];
	bb->code_hash = code_hash(vge);
	bb->fn = is_jump_stub(vge) ? NULL : fn_at(bb->addr);
	bb->is_entry = bb->fn && bb->fn->entry == bb->addr;

	while (i < in->stmts_used && in->stmts[i]->tag != Ist_IMark)
		addStmtToIRSB(g.out, in->stmts[i++]);
	if (bb->is_entry && bb->fn->alloc_kind)
		keep_arguments(&g);
	add_statements(&g, in, i);
	if (exit_kind == EXIT_RET && bb->fn && bb->fn->alloc_kind)
		keep_result(&g);
	add_flush(&g, NULL, exit_kind);
	ask_driver_for_classes();
	bb->n_ins = n_marks;
	bb->n_ev = n_ev;
	bb = block_kept(bb);
	for (UInt k = 0; k < n_flush; k++)
		pending_flush[k].at->Ico.U64 = (Addr)flush_of(bb, &pending_flush[k].f);
	return g.out;
}
