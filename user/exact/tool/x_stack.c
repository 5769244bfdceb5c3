/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks by stack pointer: a call pushes a frame at the pointer's value; whatever raises the
 * pointer above it (a return, longjmp, an unwinder) ends the frame. A jump into another function
 * with the pointer unchanged is a tail call and replaces the frame.
 */
#include "x.h"

#include "pub_tool_guest.h"

State X;
UInt inv_counter;
ULong lost_nodes, lost_invocations;
Node **nodes;
UInt node_count;
static UInt node_cap;
#define NODE_HASH 65536 /* chains of nodes by parent and function; by hand */
static Node *node_hash[NODE_HASH];
#define NODE_MAX 2000000u /* beyond it paths end in one node per function */
static Thread **threads;
static UInt started, stopped, named;

Thread *thread_get(ThreadId tid)
{
	if (!threads)
		threads = VG_(calloc)("x.threads", VG_N_THREADS + 1, sizeof(*threads));
	if (!threads[tid]) {
		threads[tid] = VG_(calloc)("x.thread", 1, sizeof(Thread));
		threads[tid]->tid = tid;
		threads[tid]->syscall_nr = -1;
	}
	return threads[tid];
}

static inline void add_passed(Counters *restrict to, const Clock *restrict now, const Clock *restrict then)
{
	ULong *restrict t = (ULong *)to;

	for (UInt i = 0; i < LANES; i++)
		t[i] += now->lane[i] - then->lane[i];
	to->cycles += now->cycles - then->cycles;
}

static void take_passed(Counters *restrict from, const Clock *restrict now, const Clock *restrict then)
{
	ULong *restrict f = (ULong *)from;

	for (UInt i = 0; i < LANES; i++)
		f[i] -= now->lane[i] - then->lane[i];
	from->cycles -= now->cycles - then->cycles;
}

static void add_counters(Counters *to, const Counters *of, Bool minus)
{
	ULong *t = (ULong *)to;
	const ULong *o = (const ULong *)of;

	for (UInt i = 0; i < COUNTERS_N; i++)
		t[i] += minus ? -o[i] : o[i];
}

void clock_due(void)
{
	if (X.now >= X.slice_end) {
		slice_end();
	} else {
		if (logs_on)
			log_counted(X.t);
		seg_refresh();
	}
	X.due = X.now + CLOCK_INSNS < X.slice_end ? X.now + CLOCK_INSNS : X.slice_end;
}

static inline Bool segments_wanted(void)
{
	return UNLIKELY_(opt.functions || opt.attr_main || paths_on);
}

/* Calls are no more than calls: nothing is listed, logged or followed by path. */
static inline Bool calls_plain(void)
{
	return LIKELY_(!(opt.functions | opt.attr_main | paths_on | logs_on));
}

/* What was counted since the last change of function is the running one's. */
static void segment_close(void)
{
	if (!X.t)
		return;
	if (opt.functions || opt.attr_main)
		add_passed(&fns[X.eff]->unit, &X.tot, &X.t->seg0);
	if (paths_on)
		path_counted(&X.tot, &X.t->seg0);
	X.t->seg0 = X.tot;
}

/*
 * A frame that ends gives all that was counted while it was there to its node, and takes it from the node of the
 * frame below: what is left to each is its own. Taking from a node's parent, which is the rule, waits until figures
 * are wanted (nodes_settle()).
 */
static inline void frame_give(Frame *f, const Frame *below, const Clock *now)
{
	Node *under = below ? below->node : NULL;

	if (f->node == under)
		return; /* a function that calls itself */
	add_passed(f->outer ? &f->node->inc : &f->node->self, now, &f->snap);
	if (under && UNLIKELY_(!f->outer || f->node->parent != under))
		take_passed(&under->self, now, &f->snap);
}

static void nodes_settle(void)
{
	static const Counters none;

	for (UInt i = 0; i < node_count; i++) {
		Node *n = nodes[i];

		add_counters(&n->fn->inc, &n->inc, False);
		add_counters(&n->self, &n->inc, False);
		if (n->parent)
			add_counters(&n->parent->self, &n->inc, True);
		n->inc = none;
	}
}

static Node *node_child(Node *parent, Fn *fn)
{
	UInt h;
	Node *n;

	if (parent && parent->last_child && parent->last_child->fn == fn)
		return parent->last_child;
	h = ((parent ? parent->id : 0) * 0x9e3779b1u ^ fn->id * 0x85ebca6bu) % NODE_HASH;
	for (n = node_hash[h]; n; n = n->hash_next)
		if (n->parent == parent && n->fn == fn)
			goto found;
	if (node_count >= NODE_MAX && parent && ++lost_nodes)
		return node_child(NULL, fn);
	if (node_count == node_cap) {
		node_cap = node_cap ? node_cap * 2 : 1024;
		nodes = VG_(realloc)("x.nodes", nodes, node_cap * sizeof(*nodes));
	}
	n = VG_(calloc)("x.node", 1, sizeof(*n));
	n->fn = fn;
	n->parent = parent;
	n->hash_next = node_hash[h];
	node_hash[h] = n;
	nodes[node_count++] = n;
	n->id = node_count;
found:
	if (parent)
		parent->last_child = n;
	return n;
}

static void active_room(Thread *t)
{
	UInt cap = fn_count + 1024;

	t->active = VG_(realloc)("x.active", t->active, cap * sizeof(*t->active));
	t->act_node = VG_(realloc)("x.active", t->act_node, cap * sizeof(*t->act_node));
	VG_(memset)(t->active + t->act_cap, 0, (cap - t->act_cap) * sizeof(*t->active));
	VG_(memset)(t->act_node + t->act_cap, 0, (cap - t->act_cap) * sizeof(*t->act_node));
	t->act_cap = cap;
}

static inline void mix_anew(void)
{
	X.mix = (ULong)X.eff << MIX_EFF | X.world << MIX_WORLD;
}

static inline void load_top(Thread *t)
{
	X.known = NOBODY;
	if (t->depth) {
		Frame *f = &t->frames[t->depth - 1];

		X.fn = f->fn;
		X.node = f->node;
		X.top_sp = f->sp;
		X.eff = f->eff;
		X.inv = f->eff_inv;
		X.path = f->path;
	} else {
		X.fn = NULL;
		X.node = NULL;
		X.top_sp = ~0ull;
		X.eff = FN_OUTSIDE;
		X.path = NULL;
	}
	mix_anew();
}

static void trigger(Fn *fn)
{
	if (fn->flags & FNF_WRITERS && ++named == opt.writers_n)
		X.names_writers = True;
	if (fn->flags & FNF_START && ++started == opt.start_n)
		X.counting = True;
	if (fn->flags & FNF_STOP && ++stopped == opt.stop_n && X.counting)
		X.counting = False;
}

static inline __attribute__((always_inline)) void enter_as(Thread *t, Fn *fn, Addr sp, Addr ret, const Bool plain)
{
	Frame *f, *up;

	if (UNLIKELY_(fn->flags & (FNF_START | FNF_STOP | FNF_WRITERS)))
		trigger(fn);
	if (!plain && segments_wanted())
		segment_close();
	if (t->depth == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 256;
		t->frames = VG_(realloc)("x.frames", t->frames, t->cap * sizeof(*t->frames));
	}
	if (fn->id >= t->act_cap)
		active_room(t);
	up = t->depth ? &t->frames[t->depth - 1] : NULL;
	f = &t->frames[t->depth++];
	f->fn = fn;
	f->sp = sp;
	f->ret = ret;
	f->barrier = 0;
	f->log = NULL;
	f->alloc = NULL;
	if (UNLIKELY_(!++inv_counter)) { /* after 2^32 calls: 0 means nobody */
		inv_counter = 1;
		lost_invocations++;
	}
	f->inv = inv_counter;
	if (t->active[fn->id]++ == 0) {
		f->node = t->act_node[fn->id] = node_child(up ? up->node : NULL, fn);
		f->outer = 1;
	} else {
		f->node = t->act_node[fn->id];
		f->outer = 0;
	}
	if (!up || f->node != up->node)
		f->snap = X.tot;
	if (X.counting) {
		fn->calls++;
		f->node->calls++;
	}
	if (!plain &&
	    ((opt.functions && !(fn->flags & FNF_SELECTED)) || (opt.attr_main && !(fn->flags & FNF_MAIN_IMAGE)))) {
		f->eff = up ? up->eff : FN_OUTSIDE;
		f->eff_inv = up ? up->eff_inv : f->inv;
	} else {
		f->eff = fn->id;
		f->eff_inv = f->inv;
	}
	f->path = NULL;
	if (!plain && paths_on)
		path_enter(t, f, up);
	X.fn = fn;
	X.node = f->node;
	X.top_sp = sp;
	X.eff = f->eff;
	mix_anew();
	X.inv = f->eff_inv;
	X.path = f->path;
	if (!plain && logs_on)
		log_call(f, up);
	if (UNLIKELY_(fn->alloc_kind))
		object_alloc_enter(f);
}

static void enter_frame(Thread *t, Fn *fn, Addr sp, Addr ret)
{
	if (calls_plain())
		enter_as(t, fn, sp, ret, True);
	else
		enter_as(t, fn, sp, ret, False);
}

static inline __attribute__((always_inline)) void leave_as(Thread *t, Bool returned, const Bool plain)
{
	Frame *f = &t->frames[t->depth - 1], *below;

	if (!plain && logs_on)
		log_return(f);
	/* a tail call has not returned anything yet */
	if (UNLIKELY_(f->fn->alloc_kind) && returned)
		object_alloc_leave(f, t->depth > 1 ? f[-1].fn : NULL);
	if (!plain && segments_wanted())
		segment_close();
	t->active[f->fn->id]--;
	below = t->depth > 1 ? f - 1 : NULL;
	if (!below || f->node != below->node)
		frame_give(f, below, &X.tot);
	t->depth--;
	load_top(t);
}

static void leave_frame(Thread *t, Bool returned)
{
	if (calls_plain())
		leave_as(t, returned, True);
	else
		leave_as(t, returned, False);
}

static Bool on_altstack(Thread *t, Addr sp)
{
	Addr lo = VG_(thread_get_altstack_min)(t->tid);

	return sp - lo <= VG_(thread_get_altstack_size)(t->tid);
}

/* The block about to be counted is not what the top frame suggests: find out what happened. */
void stack_enter(BB *bb)
{
	Thread *t = X.t;

	if (X.pending == EXIT_CALL) {
		if (!bb->fn)
			return; /* a linkage stub: the function proper is yet to come */
		X.pending = EXIT_PLAIN;
		/* `call` to the next instruction of the same function only asks where it is */
		if (bb->fn != X.fn || bb->is_entry || !bb->fn->entry) {
			enter_frame(t, bb->fn, X.pend_sp, X.pend_ret);
			t->frames[t->depth - 1].barrier = t->signal;
			t->signal = 0;
			return;
		}
	}
	while (t->depth > 1) {
		Frame *f = &t->frames[t->depth - 1];

		/* A handler has returned: the code that ends it is still part of its frame. */
		if (f->barrier && X.sp - f->sp <= 8)
			break;
		/* longjmp out of a handler leaves the other stack, in whatever direction */
		if (f->sp >= X.sp && !(f->barrier == 2 && !on_altstack(t, X.sp)))
			break;
		leave_frame(t, True);
	}
	if (!bb->fn)
		return;
	if (!t->depth) {
		enter_frame(t, bb->fn, ~0ull, 0);
		return;
	}
	if (bb->fn != X.fn) {
		const Frame from = t->frames[t->depth - 1];
		Frame *f;

		/* The thread's first frame keeps its place whatever jumps where. */
		leave_frame(t, False);
		enter_frame(t, bb->fn, from.sp, from.ret);
		f = &t->frames[t->depth - 1];
		f->barrier = from.barrier;
		if (UNLIKELY_(from.alloc))
			object_alloc_goes_on(&from, f);
	}
}

/*
 * What instructions remember of blocks holds within a world. A thread keeps its own while its stack stays where it is
 * and no page changes its kind.
 */
#define WORLDS 128 /* of 7 bits; then they begin anew */
static UInt era = 1;

static void world_new(Thread *t)
{
	static UInt last;

	if (++last == WORLDS) {
		blocks_forget();
		era++; /* other threads' worlds are used again */
		last = 1;
	}
	t->era = era;
	t->world = last;
}

void world_new_era(void)
{
	era++;
	if (!X.t)
		return;
	world_new(X.t);
	X.world = X.t->world;
	mix_anew();
}

/*
 * Goroutines' stacks lie beside each other, and beside the heap, in mappings of many megabytes, and move as they grow.
 * Go's runtime keeps the bounds of the running one in the first two words of what R14, and the thread's word below FS,
 * point to.
 */
#define GO_STACK_MOST (1ul << 30) /* bytes: the runtime ends a program with a larger one */
#define FIRST_THREAD 1            /* the core's number of it */

static Bool bounds_at(Addr g, Addr sp, Addr *lo, Addr *hi)
{
	const Addr *bounds = (const Addr *)g;

	if (g % sizeof(Addr) || !VG_(am_is_valid_for_client)(g, 2 * sizeof(Addr), VKI_PROT_READ))
		return False;
	*lo = bounds[0];
	*hi = bounds[1];
	return *lo < sp && sp <= *hi && *hi - *lo <= GO_STACK_MOST;
}

static Addr guest_word(ThreadId tid, PtrdiffT at)
{
	Addr value = 0;

	VG_(get_shadow_regs_area)(tid, (UChar *)&value, 0, at, sizeof(value));
	return value;
}

static Bool is_goroutine(ThreadId tid, Addr sp, Addr *lo, Addr *hi)
{
	Addr below = guest_word(tid, __builtin_offsetof(VexGuestAMD64State, guest_FS_CONST)) - sizeof(Addr);

	if (VG_(am_is_valid_for_client)(below, sizeof(Addr), VKI_PROT_READ) && bounds_at(*(Addr *)below, sp, lo, hi))
		return True;
	return bounds_at(guest_word(tid, __builtin_offsetof(VexGuestAMD64State, guest_R14)), sp, lo, hi);
}

/* A thread's first instruction, an alternate stack, a coroutine. */
static void find_stack(Thread *t, Addr sp)
{
	static Bool go_runs;
	const NSegment *s;
	Addr lo, hi;

	if (is_goroutine(t->tid, sp, &lo, &hi)) {
		go_runs = True;
		t->stack_lo = lo;
		t->stack_hi = hi;
		t->stack_end = hi - 1;
		return;
	}
	hi = VG_(thread_get_stack_max)(t->tid);
	lo = hi - VG_(thread_get_stack_size)(t->tid);
	if (sp > hi || sp < lo) {
		s = VG_(am_find_nsegment)(sp);
		lo = s ? s->start : sp;
		hi = s ? s->end : sp;
	} else if (t->begun && sp <= t->begun && t->begun <= hi) {
		hi = t->begun; /* what lies above is the thread's data and no frame's */
	}
	t->stack_end = hi;
	/* such a stretch may have goroutines' stacks in it: look again at the next move */
	t->stack_lo = go_runs ? sp : lo;
	t->stack_hi = go_runs ? sp : hi;
}

void stack_sp(Addr sp)
{
	Thread *t = X.t;

	X.known = NOBODY;
	X.sp = sp;
	if (UNLIKELY_(sp > t->stack_hi || sp < t->stack_lo)) {
		find_stack(t, sp);
		world_new(t);
	}
	if (t->era != era)
		world_new(t);
	X.world = t->world;
	mix_anew();
	X.lo = sp - RED_ZONE;
	X.span = t->stack_end - X.lo;
}

static void save_thread(void)
{
	Thread *t = X.t;

	if (!t)
		return;
	t->tot = X.tot;
	t->sp = X.sp;
	t->pending = X.pending;
	t->pend_ret = X.pend_ret;
	t->pend_sp = X.pend_sp;
}

void stack_switch(ThreadId tid)
{
	Thread *t = thread_get(tid);

	if (X.t != t) {
		save_thread();
		if (UNLIKELY_(paths_on))
			path_switch();
		X.t = t;
		X.tot = t->tot;
		X.pending = t->pending;
		X.pend_ret = t->pend_ret;
		X.pend_sp = t->pend_sp;
		t->live = True;
		load_top(t);
	}
	stack_sp(VG_(get_SP)(tid));
}

/* A handler is about to run: its frame ends when the core says so, or by longjmp. */
void stack_signal(ThreadId tid, Bool alt)
{
	stack_switch(tid);
	/* it may come between a call and the callee's first block */
	X.t->held = X.pending;
	X.t->held_ret = X.pend_ret;
	X.t->held_sp = X.pend_sp;
	X.pending = EXIT_CALL;
	X.pend_ret = 0;
	X.pend_sp = X.sp;
	X.t->signal = alt ? 2 : 1;
}

void stack_signal_done(ThreadId tid)
{
	stack_switch(tid);
	X.pending = X.t->held;
	X.pend_ret = X.t->held_ret;
	X.pend_sp = X.t->held_sp;
	X.t->held = EXIT_PLAIN;
	for (UInt i = X.t->depth; i-- > 1;) {
		if (!X.t->frames[i].barrier)
			continue;
		while (X.t->depth > i)
			leave_frame(X.t, True);
		break;
	}
}

void stack_thread_start(ThreadId tid)
{
	Thread *t = thread_get(tid);

	t->stack_hi = t->stack_lo = t->stack_end = 0;
	t->begun = tid == FIRST_THREAD ? 0 : VG_(get_SP)(tid);
	t->live = True;
	t->pending = EXIT_PLAIN;
}

static void unwind_thread(Thread *t)
{
	Thread *was = X.t;

	save_thread();
	X.t = t;
	X.tot = t->tot;
	load_top(t);
	while (t->depth)
		leave_frame(t, False);
	VG_(memset)(&t->tot, 0, sizeof(t->tot));
	VG_(memset)(&t->seg0, 0, sizeof(t->seg0));
	t->live = False;
	t->log_cur = NULL;
	t->log_insns = t->log_compute = 0;
	if (was && was != t) {
		X.t = was;
		X.tot = was->tot;
		X.pending = was->pending;
		X.pend_ret = was->pend_ret;
		X.pend_sp = was->pend_sp;
		load_top(was);
		stack_sp(was->sp);
	} else {
		X.t = NULL;
		X.node = NULL;
		X.path = NULL;
		VG_(memset)(&X.tot, 0, sizeof(X.tot));
	}
}

void stack_thread_end(ThreadId tid)
{
	unwind_thread(thread_get(tid));
}

void stack_finish_all(void)
{
	for (UInt i = 1; threads && i < VG_N_THREADS; i++)
		if (threads[i] && threads[i]->live)
			unwind_thread(threads[i]);
}

/* For a checkpoint: everything counted so far reaches nodes and functions, frames stay. */
void seg_refresh(void)
{
	if (segments_wanted())
		segment_close();
	save_thread();
	for (UInt i = 1; threads && i < VG_N_THREADS; i++) {
		Thread *t = threads[i];

		for (UInt k = 0; t && t->live && k < t->depth; k++) {
			Frame *f = &t->frames[k];

			frame_give(f, k ? f - 1 : NULL, &t->tot);
			f->snap = t->tot;
		}
	}
}

void fn_selfs(void)
{
	nodes_settle();
	for (UInt i = 0; i < fn_count; i++)
		VG_(memset)(&fns[i]->self, 0, sizeof(Counters));
	for (UInt i = 0; i < node_count; i++)
		add_counters(&nodes[i]->fn->self, &nodes[i]->self, False);
}

void slice_end(void)
{
	ULong slice = (X.slice_end - 1) / opt.slice;

	seg_refresh();
	fn_selfs();
	for (UInt i = 0; i < fn_count; i++) {
		Fn *f = fns[i];
		const Counters *a = &f->self, *b = &f->slice0;
		struct fmt_x_slice r;

		if (a->insns == b->insns)
			continue;
		VG_(memset)(&r, 0, sizeof(r));
		r.slice = slice;
		r.function = i + 1;
		r.instructions = a->insns - b->insns;
		for (UInt k = 0; k < 4; k++) {
			UInt c = k == FMT_X_R_STACK ? FMT_X_STACK : FMT_X_DATA;

			r.load_bytes[c] += a->load_bytes[k] - b->load_bytes[k];
			r.store_bytes[c] += a->store_bytes[k] - b->store_bytes[k];
		}
		out_rec(FMT_X_SLICE, &r, sizeof(r));
		f->slice0 = f->self;
	}
	while (X.slice_end <= X.now)
		X.slice_end += opt.slice;
}
