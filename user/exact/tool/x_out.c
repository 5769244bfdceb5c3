/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tool's output: records of the profile's format, written to a descriptor at the end or at a snapshot. */
#include "x.h"
#include "../stream.h"

#define OUT_BUF (256 * 1024) /* bytes that one write() takes; by hand */

static Int out_fd = -1;
static UChar out_buf[OUT_BUF];
static UInt out_len;
static struct xs_block *open_block;
Bool out_dead;
static UInt string_count;

static void out_raw(const void *data, UInt n)
{
	const UChar *p = data;

	while (n) {
		Int w = VG_(write)(out_fd, p, n > (1u << 20) ? (1 << 20) : (Int)n);

		if (w <= 0) {
			/* A full disk must not be mistaken for a finished run. */
			VG_(umsg)("accperf: cannot write the stream: no space left?\n");
			out_dead = True;
			return;
		}
		p += w;
		n -= w;
	}
}

void out_flush(void)
{
	if (out_len && !out_dead)
		out_raw(out_buf, out_len);
	out_len = 0;
	open_block = NULL;
}

static void *out_room(UInt section, UInt rec_size, UInt n)
{
	if (out_len + n + sizeof(struct xs_block) > OUT_BUF)
		out_flush();
	if (!open_block || open_block->section != section || open_block->rec_size != rec_size) {
		out_len = VG_ROUNDUP(out_len, 8);
		if (out_len + n + sizeof(struct xs_block) > OUT_BUF)
			out_flush();
		open_block = (struct xs_block *)(out_buf + out_len);
		*open_block = (struct xs_block){ XS_MAGIC, section, rec_size, 0, 0 };
		out_len += sizeof(struct xs_block);
	}
	open_block->count++;
	open_block->bytes += n;
	out_len += n;
	return out_buf + out_len - n;
}

void out_rec(UInt section, const void *rec, UInt size)
{
	if (!out_dead)
		VG_(memcpy)(out_room(section, size, size), rec, size);
}

void out_var(UInt section, const void *head, UInt hsize, const void *tail, UInt tsize)
{
	UInt n = hsize + tsize;
	UChar *p;

	if (out_dead || n > OUT_BUF / 2)
		return;
	p = out_room(section, 0, n + 4);
	VG_(memcpy)(p, &n, 4);
	VG_(memcpy)(p + 4, head, hsize);
	if (tsize)
		VG_(memcpy)(p + 4 + hsize, tail, tsize);
}

UInt out_string(const HChar *s)
{
	UInt id = ++string_count;

	out_var(FMT_STRING, &id, 4, s, VG_(strlen)(s));
	return id;
}

void out_init(void)
{
	if (opt.out < 0) {
		VG_(fmsg)("accperf: started without --out-fd; use `accperf exact`\n");
		VG_(exit)(1);
	}
	out_fd = VG_(safe_fd)(opt.out);
}

/* Shadow stacks of samples: equal ones share an id. */
typedef struct StackEnt {
	struct StackEnt *next;
	ULong hash;
	UInt id, n;
} StackEnt;
#define STACK_HASH 16384 /* chains of stacks; by hand */
static StackEnt *stack_hash[STACK_HASH];
static UInt stack_count;

UInt out_stack(const struct fmt_frame *fr, UInt n, UInt flags)
{
	ULong h = n;
	struct fmt_stack head;
	StackEnt *e;

	for (UInt i = 0; i < n; i++) {
		h = (h ^ fr[i].addr) * 0x9e3779b97f4a7c15ull;
		h = (h ^ fr[i].module ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
	}
	for (e = stack_hash[h % STACK_HASH]; e; e = e->next)
		if (e->hash == h && e->n == n)
			return e->id;
	e = VG_(malloc)("x.stack", sizeof(*e));
	*e = (StackEnt){ stack_hash[h % STACK_HASH], h, ++stack_count, n };
	stack_hash[h % STACK_HASH] = e;
	head = (struct fmt_stack){ e->id, n, flags };
	out_var(FMT_STACK, &head, sizeof(head), fr, n * sizeof(*fr));
	return e->id;
}

/* Names of the code addresses that occur in samples, once each. */
typedef struct SymEnt {
	struct SymEnt *next;
	Addr ip;
} SymEnt;
#define SYM_HASH 16384 /* chains of addresses that are named; by hand */
static SymEnt *sym_hash[SYM_HASH];

void out_symbol(Module *m, Addr ip, ULong vaddr, Fn *fn)
{
	SymEnt *e;
	const HChar *file = NULL, *dir = NULL;
	UInt line = 0, str = 0;
	struct {
		struct fmt_symbol s;
		struct fmt_inline i;
	} r;

	if (!fn)
		return;
	for (e = sym_hash[(ip >> 1) % SYM_HASH]; e; e = e->next)
		if (e->ip == ip)
			return;
	e = VG_(malloc)("x.sym", sizeof(*e));
	*e = (SymEnt){ sym_hash[(ip >> 1) % SYM_HASH], ip };
	sym_hash[(ip >> 1) % SYM_HASH] = e;
	if (VG_(get_filename_linenum)(VG_(current_DiEpoch)(), ip, &file, &dir, &line) && file)
		str = out_string(file);
	VG_(memset)(&r, 0, sizeof(r));
	r.s.addr = vaddr;
	r.s.module = m ? m->id : 0;
	r.s.count = 1;
	r.i.function = fn->id + 1;
	r.i.file = str;
	r.i.line = line;
	out_var(FMT_SYMBOL, &r, sizeof(r), NULL, 0);
}

static ULong in_use(ULong v, Bool has)
{
	return has ? v : FMT_X_UNKNOWN;
}

static void out_func(Fn *f, UInt scope, const Counters *c, UniqueSums *u)
{
	struct fmt_x_func r;

	VG_(memset)(&r, 0, sizeof(r));
	r.function = f->id + 1;
	r.scope = scope;
	r.calls = f->calls;
	r.instructions = c->insns;
	r.compute = c->compute;
	r.transfer = c->transfer;
	r.control = c->control;
	r.ops_int = c->ops_int;
	r.ops_fp = c->ops_fp;
	r.cycles = in_use(c->cycles / 4, opt.cycles);
	r.loads = c->loads;
	r.stores = c->stores;
	for (UInt i = 0; i < 4; i++) {
		r.load_bytes[i] = c->load_bytes[i];
		r.store_bytes[i] = c->store_bytes[i];
	}
	for (UInt i = 0; i < 3; i++) {
		Bool has = opt.unique && scope == FMT_X_SELF;

		r.in_unique[i] = has ? u->in[f->id][i] : FMT_X_UNKNOWN;
		r.out_unique[i] = has ? u->out[f->id][i] : FMT_X_UNKNOWN;
		r.written_unique[i] = has ? u->wr[f->id][i] : FMT_X_UNKNOWN;
	}
	out_rec(FMT_X_FUNC, &r, sizeof(r));
}

static ULong sum4(const ULong *v)
{
	return v[0] + v[1] + v[2] + v[3];
}

/* Edges by producer and consumer, so that two runs that met them in another order agree. */
static Int edge_cmp(const void *a, const void *b)
{
	UInt x = (*(Edge *const *)a)->key, y = (*(Edge *const *)b)->key;

	return x < y ? -1 : x > y;
}

/* Named where the user sees it, and only when there was one. */
static void loss(const HChar *name, ULong n)
{
	struct fmt_counter r = { n ? out_string(name) : 0, FMT_C_LOSS, n };

	if (n)
		out_rec(FMT_COUNTER, &r, sizeof(r));
}

static void write_run(const HChar *incomplete)
{
	struct fmt_x_run run;
	Counters all;

	VG_(memset)(&all, 0, sizeof(all));
	for (UInt i = 0; i < fn_count; i++) {
		ULong *to = (ULong *)&all;
		const ULong *from = (const ULong *)&fns[i]->self;

		for (UInt k = 0; k < COUNTERS_N; k++)
			to[k] += from[k];
	}
	VG_(memset)(&run, 0, sizeof(run));
	run.instructions = X.now;
	run.counted = all.insns;
	run.loads = all.loads;
	run.stores = all.stores;
	run.load_bytes = sum4(all.load_bytes);
	run.store_bytes = sum4(all.store_bytes);
	run.cycles = in_use(all.cycles / 4, opt.cycles);
	run.slice = opt.slice;
	run.chunk = opt.chunk;
	run.has = (opt.quad ? FMT_X_HAS_QUAD : 0) | (opt.unique ? FMT_X_HAS_UNIQUE : 0) | (opt.ke ? FMT_X_HAS_KE : 0) |
		  (opt.objects ? FMT_X_HAS_OBJECTS : 0) | (opt.slice ? FMT_X_HAS_SLICES : 0) |
		  (opt.cycles ? FMT_X_HAS_CYCLES : 0) | FMT_X_HAS_TREE | (opt.attr_main ? FMT_X_ATTR_MAIN : 0) |
		  (opt.functions ? FMT_X_SELECTED : 0) | (opt.start_at || opt.stop_at ? FMT_X_WINDOW : 0) |
		  (incomplete[0] ? FMT_X_INCOMPLETE : 0);
	run.shadow_bytes = shadow_bytes;
	run.unique_bytes = unique_bytes;
	run.touched = touched_secs * SEC_SIZE;
	out_rec(FMT_X_RUN, &run, sizeof(run));
}

static void write_functions(UniqueSums *u)
{
	for (UInt i = 0; i < fn_count; i++) {
		Fn *f = fns[i];

		if (f->unit.insns)
			out_func(f, FMT_X_UNIT, &f->unit, u);
		if (!f->self.insns && !f->inc.insns && !f->calls && !(u->in && (u->in[i][2] || u->out[i][2])))
			continue;
		out_func(f, FMT_X_SELF, &f->self, u);
		if (f->inc.insns || f->calls)
			out_func(f, FMT_X_INCLUSIVE, &f->inc, u);
	}
}

static void write_edges(const UniqueSums *u)
{
	Edge **sorted = VG_(malloc)("x.sorted", (edge_count + 1) * sizeof(*sorted));

	VG_(memcpy)(sorted, edges, edge_count * sizeof(*sorted));
	VG_(ssort)(sorted, edge_count, sizeof(*sorted), edge_cmp);
	for (UInt i = 0; i < edge_count; i++) {
		const Edge *e = sorted[i];
		struct fmt_x_edge r;

		if ((e->key & 0xffff) >= fn_count)
			continue; /* sets that are no edges */
		r.producer = (e->key >> 16) + 1;
		r.consumer = (e->key & 0xffff) + 1;
		for (UInt k = 0; k < 2; k++) {
			r.bytes[k] = in_use(e->bytes[k], opt.quad);
			r.ke_chunks[k] = in_use(e->ke[k], opt.ke);
		}
		for (UInt k = 0; k < 3; k++)
			r.unique[k] = opt.unique ? u->edge[e->index][k] : FMT_X_UNKNOWN;
		out_rec(FMT_X_EDGE, &r, sizeof(r));
	}
	VG_(free)(sorted);
}

static void write_nodes(void)
{
	for (UInt i = 0; i < node_count; i++) {
		const Node *n = nodes[i];
		struct fmt_x_node r = { n->id,
					n->parent ? n->parent->id : 0,
					n->fn->id + 1,
					0,
					n->calls,
					n->self.insns,
					n->self.compute,
					in_use(n->self.cycles / 4, opt.cycles),
					sum4(n->self.load_bytes),
					sum4(n->self.store_bytes) };

		out_rec(FMT_X_NODE, &r, sizeof(r));
	}
}

void out_snapshot(const HChar *incomplete, Bool final)
{
	UniqueSums u;

	if (out_dead)
		return;
	if (final)
		stack_finish_all();
	else
		seg_refresh();
	sites_settle();
	fn_selfs();
	VG_(memset)(&u, 0, sizeof(u));
	if (opt.unique)
		unique_sums(&u);
	out_flush();
	out_var(XS_SNAP_BEGIN, "", 0, NULL, 0);
	write_run(incomplete);
	write_functions(&u);
	write_edges(&u);
	write_nodes();
	loss("functions beyond 65,534 (counted as (unknown))", lost_functions);
	loss("paths beyond 2,000,000 (call tree cut short)", lost_nodes);
	loss("paths of functions with all they call beyond 2,000,000 (counted to their callers)", lost_paths);
	loss("heap blocks beyond 1,048,576 (their accesses belong to no allocation site)", lost_blocks);
	loss("invocation numbers used again after 2^32 calls", lost_invocations);
	if (opt.objects)
		object_write(&u);
	path_write();
	unique_sums_free(&u);
	out_var(XS_SNAP_END, incomplete, VG_(strlen)(incomplete), NULL, 0);
	out_flush();
}
