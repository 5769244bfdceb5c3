// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cycle: choice, bursts and segments are parts of the planner in files of their own; each reads and adds links of
 * the plan by the functions of this file.
 */
#include "record/counts_plan_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/random.h"

#define KEEP_RECENT 0.93               /* a second: half of it is gone after ten */
#define FUNCTIONS_MAX 4096             /* planned for; by hand */
#define LINKS_MAX (256u << 10)         /* of all of them; by hand */
#define GRAPHS_MAX 512                 /* control-flow graphs drawn; by hand */
#define NODES_MAX (512u << 10)         /* blocks of all of them; by hand */
#define SHARE_MIN 0.0001               /* of the time: below it a function has no graph */
#define SAMPLES_MIN 1                  /* of a function until it is planned for */
#define FIRST_WITHIN_NS PLAN_WITHIN_NS /* of a first window; counts_plan_priv.h has the reason */
#define RATIO_NS 3000000               /* of a first window for a ratio; it learns from there; by hand */
#define TRIP_PAIRS_NS 2000000          /* the same for trips; by hand */
#define RATE_NS 1000000                /* the same for a rate; by hand */
#define TIMING_PART 0.4                /* of all time, for windows that time */
#define TIMING_MOST 5e8                /* ns that windows that time may save up; by hand */
/* times as many runs: so few of what all hang on cost little, and to hang on another costs what was measured */
#define HANG_MORE 4
#define STACK_FRAMES 16 /* looked at, of a sample */

struct counts_plan_place_key {
	uint64_t addr;
	uint32_t module, pad;
};

struct call_site_key {
	uint64_t ret;
	uint32_t module, callee;
};

double plan_uniform(struct plan *p)
{
	return random_unit(&p->random);
}

struct plan *plan_new(struct store_writer *w, double hit_ns, double near, uint64_t seed)
{
	struct plan *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->store = w;
	p->hit_ns = p->apart_ns = hit_ns;
	p->near = near;
	p->random = seed | 1;
	p->nodes = 1; /* 0 is CPU time */
	p->timing_ns = TIMING_MOST;
	return p;
}

void plan_prices(struct plan *p, double hit_ns, double near, double apart_ns, double window_ns)
{
	p->hit_ns = hit_ns;
	p->near = near;
	p->apart_ns = apart_ns;
	p->window_ns = window_ns;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->funcs; i++) {
		struct plan_func *f = &p->func[i];

		runs_release(&f->runs);
		free(f->node_ns);
		free(f->node_recent);
		free(f->node_samples);
		free(f->need);
		free(f->region);
		free(f->rate);
		free(f->out);
		free(f->runs_now);
		free(f->begins);
		free(f->runs_all);
		free(f->inner);
		free(f->ratio);
		free(f->trips);
	}
	free(p->func);
	free(p->link);
	free(p->timing);
	free(p->passed);
	free(p->drawn_in);
	free(p->called);
	intern_release(&p->places);
	intern_release(&p->sites);
	map_release(&p->call_at);
	map_release(&p->lines);
	map_release(&p->linkage);
	free(p);
}

static void note_failure(struct plan *p, int err)
{
	if (err && !p->error)
		p->error = err;
}

void plan_put(struct plan *p, enum fmt_section section, uint32_t id, const void *rec, size_t size)
{
	note_failure(p, store_put_changed(p->store, section, id, rec, (uint32_t)size));
}

/* ---- functions ---- */

static bool in_file(const struct module *m)
{
	return m->kind == FMT_MOD_FILE || m->kind == FMT_MOD_VDSO;
}

static bool bounds_in_file(void *module, uint64_t addr, uint64_t *start, uint64_t *end)
{
	return in_file(module) && module_code_bounds(module, addr, start, end);
}

static uint32_t add_plan_func(struct plan *p, struct module *m, uint64_t start, uint64_t end, uint32_t flags)
{
	if (!GROW(p->func, p->funcs, p->func_cap, 64))
		return PLAN_NONE;
	p->func[p->funcs] = (struct plan_func){
		.rec = { .id = p->funcs + 1, .module = m->id, .start = start, .end = end, .flags = flags },
		.module = m,
		.clock = PLAN_NONE,
	};
	p->stats.functions++;
	p->stats.unbounded += !!(flags & FMT_CF_BARE);
	p->stats.rewritable += !!(flags & FMT_CF_VOLATILE);
	return p->funcs++;
}

/* A procedure linkage table, which unwind tables take for one function: its header, or stubs from its first byte on. */
static bool is_linkage(struct module *m, uint64_t start)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, push[] = { 0xff, 0x35 }, jump[] = { 0xff, 0x25 };
	uint8_t b[16];
	size_t at = 0;

	if (module_read(m, start, b, sizeof(b)) != sizeof(b))
		return false;
	if (!memcmp(b, endbr, sizeof(endbr)))
		at = sizeof(endbr);
	else if (!memcmp(b, push, sizeof(push)))
		at = 6;
	at += b[at] == 0xf2; /* bnd */
	return !memcmp(b + at, jump, sizeof(jump));
}

static bool starts_linkage(struct plan *p, struct module *m, uint64_t start)
{
	bool added;
	uint64_t *v = map_put(&p->linkage, (uint64_t)m->id << 48 ^ start, &added);

	if (v && added)
		*v = is_linkage(m, start);
	return v && *v;
}

/* Code without bounds is one function a module: its time is known, no more. */
uint32_t plan_func_at(struct plan *p, struct module *m, uint64_t vaddr)
{
	struct counts_plan_place_key k = { .module = m->id };
	uint64_t start = 0, end = 0;
	uint32_t flags = 0, id;
	bool added;

	if (bounds_in_file(m, vaddr, &start, &end)) {
		if (starts_linkage(p, m, start))
			return PLAN_NONE;
		k.addr = start;
	} else {
		flags = in_file(m) ? FMT_CF_BARE : FMT_CF_VOLATILE;
		start = vaddr;
		end = vaddr + 1;
		k.addr = UINT64_MAX;
	}
	id = intern_add(&p->places, &k, sizeof(k), &added);
	if (id && id <= p->funcs)
		return id - 1;
	if (!id || !added || id > p->funcs + 1 || p->funcs >= FUNCTIONS_MAX) {
		p->stats.past_functions++;
		return PLAN_NONE;
	}
	return add_plan_func(p, m, start, end, flags);
}

bool plan_function(const struct plan *p, uint32_t i, struct module **m, uint64_t *start)
{
	if (i >= p->funcs)
		return false;
	*m = p->func[i].module;
	*start = p->func[i].rec.start;
	return true;
}

static void add_time(struct plan_func *f, uint64_t vaddr, double ns)
{
	uint32_t n = runs_node_at(&f->runs, vaddr);

	if (n == CFG_NONE)
		return;
	f->node_ns[n] += ns;
	f->node_recent[n] += ns;
	f->node_samples[n]++;
}

static uint64_t line_key(const struct module *m, uint64_t vaddr)
{
	return (uint64_t)m->id << 48 ^ vaddr / EXECBP_NEAR;
}

static void add_line(struct plan *p, const struct module *m, uint64_t vaddr, double ns)
{
	uint64_t *v = map_put(&p->lines, line_key(m, vaddr), NULL);

	p->sampled += ns;
	if (v)
		*v += (uint64_t)ns;
}

double plan_line_share(const struct plan *p, const struct module *m, uint64_t vaddr)
{
	const uint64_t *v = map_get(&p->lines, line_key(m, vaddr));

	return v && p->sampled > 0 ? (double)*v / p->sampled : 0;
}

double plan_slowed(const struct plan *p, const struct plan_job *job, unsigned slots)
{
	double share = 0, slow;

	for (unsigned i = 0; i < job->slots; i++) {
		const struct plan_slot *s = &job->slot[i];
		bool again = !(slots >> i & 1);

		for (unsigned j = 0; j < i; j++)
			again |= slots >> j & 1 && job->slot[j].module == s->module &&
				 job->slot[j].vaddr / EXECBP_NEAR == s->vaddr / EXECBP_NEAR;
		share += again ? 0 : plan_line_share(p, s->module, s->vaddr);
	}
	/* of so much slower time */
	slow = fmin(share, 1) * (p->near - 1);
	return slow / (1 + slow);
}

static bool in_stub(struct plan *p, struct module *m, uint64_t vaddr)
{
	uint64_t start, end;

	return bounds_in_file(m, vaddr, &start, &end) && starts_linkage(p, m, start);
}

bool plan_sample(struct plan *p, struct module *m, uint64_t vaddr, double ns)
{
	uint32_t i = plan_func_at(p, m, vaddr);
	struct plan_func *f;

	if (i == PLAN_NONE && in_stub(p, m, vaddr))
		return false;
	add_line(p, m, vaddr, ns);
	if (i == PLAN_NONE)
		return true;
	f = &p->func[i];
	f->rec.self_ns += ns;
	f->rec.samples++;
	f->recent += ns;
	p->total += ns;
	if (plan_has_graph(f)) {
		add_time(f, vaddr, ns);
	} else {
		f->early[f->earlies % PLAN_EARLY] = vaddr;
		f->early_ns[f->earlies++ % PLAN_EARLY] = ns;
	}
	return true;
}

/* ---- links ---- */

uint32_t plan_add_link(struct plan *p, uint32_t how, uint32_t parent_func, uint32_t parent, uint32_t child_func,
		       uint32_t child)
{
	struct plan_link *l;

	if (p->links >= LINKS_MAX) {
		p->stats.past_links++;
		return PLAN_NONE;
	}
	if (!GROW(p->link, p->links, p->link_cap, 256))
		return PLAN_NONE;
	l = &p->link[p->links];
	*l = (struct plan_link){
		.rec = { .id = p->links + 1,
			 .how = how,
			 .child = p->func[child_func].node + child,
			 .parent = parent_func == PLAN_NONE ? 0 : p->func[parent_func].node + parent },
		.parent_func = parent_func,
		.parent = parent,
		.child_func = child_func,
		.child = child,
		.loop = CFG_NONE,
		.replay = PLAN_NONE,
		.within_ns = FIRST_WITHIN_NS,
		.time_ns = how == FMT_CL_RATE    ? RATE_NS
			   : how == FMT_CL_TRIPS ? TRIP_PAIRS_NS
						 : RATIO_NS,
	};
	p->stats.links++;
	return p->links++;
}

void plan_write_link(struct plan *p, uint32_t link)
{
	p->link[link].written = true;
	plan_put(p, FMT_COUNTS_LINK, p->link[link].rec.id, &p->link[link].rec, sizeof(p->link[link].rec));
}

void plan_void(struct plan *p, uint32_t link)
{
	p->link[link].off = true;
	p->link[link].rec.flags |= FMT_CL_VOID;
	if (p->link[link].written)
		plan_write_link(p, link);
}

uint32_t plan_rate_link(struct plan *p, uint32_t f, uint32_t node)
{
	if (p->func[f].rate[node] == PLAN_NONE)
		p->func[f].rate[node] = plan_add_link(p, FMT_CL_RATE, PLAN_NONE, 0, f, node);
	return p->func[f].rate[node];
}

/* ---- graphs ---- */

static void write_node(struct plan *p, const struct plan_func *f, uint32_t n)
{
	const struct runs_node *k = &f->runs.node[n];
	struct fmt_counts_node rec = {
		.id = f->node + n,
		.function = f->rec.id,
		.kind = k->kind,
		.depth = k->depth,
		.addr = k->addr,
		.instructions = k->work.insns,
		.compute = k->work.compute,
		.loads = k->work.loads,
		.stores = k->work.stores,
		.load_bytes = k->work.load_bytes,
		.store_bytes = k->work.store_bytes,
		.self_ns = f->node_ns[n],
		.samples = f->node_samples[n],
	};

	plan_put(p, FMT_COUNTS_NODE, rec.id, &rec, sizeof(rec));
}

static void write_blocks(struct plan *p, const struct plan_func *f)
{
	const struct cfg *c = &f->runs.cfg;

	for (uint32_t b = 0; b < c->blocks; b++) {
		uint32_t after = c->block[b].insn + c->block[b].insns;
		uint64_t end = after < c->insns ? cfg_insn_addr(c, after) : c->end;
		struct fmt_counts_block rec = { .addr = cfg_block_addr(c, b), .node = f->node + f->runs.node_of[b] };

		rec.bytes = (uint32_t)(end - rec.addr);
		if (f->runs.node_of[b] != CFG_NONE)
			note_failure(p, store_put(p->store, FMT_COUNTS_BLOCK, &rec, sizeof(rec)));
	}
}

/* Where nothing follows from the graph, hits are compared with those of the hottest node: the entry
 * of an interpreter's loop is too far away. */
static void choose_clock(struct plan_func *f)
{
	double most = 0;

	if (f->runs.complete) {
		/* a cycle that is no loop, around which the function spends its time */
		if (f->runs.cfg.anchor != CFG_NONE && f->runs.node_of[f->runs.cfg.anchor] != CFG_NONE)
			f->clock = f->runs.node_of[f->runs.cfg.anchor];
		return;
	}
	for (uint32_t n = 1; n < f->runs.nodes; n++) {
		if (f->runs.node[n].kind == FMT_CN_BLOCK && f->node_ns[n] > most) {
			most = f->node_ns[n];
			f->clock = n;
		}
	}
}

/* Of a graph with unknown edges, what hangs on nothing but the entry. */
static bool by_clock(const struct plan_func *f, const struct runs_link *r)
{
	return !f->runs.complete && f->clock != PLAN_NONE && !r->parent && r->child != f->clock &&
	       f->runs.node[r->child].kind == FMT_CN_BLOCK;
}

static uint32_t inner_parent(const struct plan_func *f, uint32_t k)
{
	const struct runs_link *r = &f->runs.link[k];

	return by_clock(f, r) ? f->clock : r->parent;
}

static uint32_t inner_link(struct plan *p, uint32_t i, uint32_t k)
{
	const struct plan_func *f = &p->func[i];
	const struct runs_link *r = &f->runs.link[k];
	uint32_t l = plan_add_link(p, r->how, i, inner_parent(f, k), i, r->child);

	if (l == PLAN_NONE)
		return l;
	p->link[l].loop = r->loop;
	if (r->how == FMT_CL_TRIPS && runs_trips_list(&f->runs.trips[r->loop]))
		p->link[l].rec.flags |= FMT_CL_LIST;
	*(r->how == FMT_CL_TRIPS ? &f->trips[r->child] : &f->ratio[r->child]) = l;
	plan_write_link(p, l);
	return l;
}

static void inner_links(struct plan *p, uint32_t i)
{
	struct plan_func *f = &p->func[i];

	for (uint32_t k = 0; k < f->runs.links; k++, f->links++)
		if ((f->inner[k] = inner_link(p, i, k)) == PLAN_NONE)
			break;
}

/* Windows that are open still tell of the old ones, which lead nowhere then. */
static void hang_anew(struct plan *p, uint32_t i)
{
	struct plan_func *f = &p->func[i];

	for (uint32_t k = 0; k < f->links; k++) {
		uint32_t old = f->inner[k], l;

		if (p->link[old].parent == inner_parent(f, k) || (l = inner_link(p, i, k)) == PLAN_NONE)
			continue;
		f->inner[k] = l;
		if (p->link[old].replay != PLAN_NONE)
			plan_void(p, p->link[old].replay);
		plan_void(p, old);
	}
}

static bool far_more(const struct plan_func *f, uint32_t node, uint32_t than)
{
	return node != PLAN_NONE && f->runs_all[node] > HANG_MORE * f->runs_all[than];
}

void plan_hang(struct plan *p, uint32_t i)
{
	struct plan_func *f = &p->func[i];
	uint32_t clock = PLAN_NONE, loop;
	bool changed = false;

	for (uint32_t n = 1; n < f->runs.nodes; n++) {
		if (runs_knot(&f->runs, n, &loop) && far_more(f, n, runs_knot_anchor(&f->runs, loop))) {
			runs_knot_hang(&f->runs, n);
			changed = true;
		}
		if (f->runs.node[n].kind == FMT_CN_BLOCK && (clock == PLAN_NONE || f->runs_all[n] > f->runs_all[clock]))
			clock = n;
	}
	if (!f->runs.complete && f->clock != PLAN_NONE && far_more(f, clock, f->clock)) {
		f->clock = clock;
		changed = true;
	}
	if (!changed)
		return;
	p->stats.hung_anew++;
	if (f->runs.complete)
		choose_clock(f);
	hang_anew(p, i);
}

static bool allocate_nodes(struct plan_func *f)
{
	size_t n = f->runs.nodes;

	f->node_ns = calloc(n, sizeof(*f->node_ns));
	f->node_recent = calloc(n, sizeof(*f->node_recent));
	f->node_samples = calloc(n, sizeof(*f->node_samples));
	f->need = calloc(n, sizeof(*f->need));
	f->region = calloc(n, sizeof(*f->region));
	f->rate = malloc(n * sizeof(*f->rate));
	f->ratio = malloc(n * sizeof(*f->ratio));
	f->trips = malloc(n * sizeof(*f->trips));
	f->inner = malloc((f->runs.links + 1) * sizeof(*f->inner));
	for (size_t k = 0; f->rate && f->ratio && f->trips && k < n; k++)
		f->rate[k] = f->ratio[k] = f->trips[k] = PLAN_NONE;
	return f->rate && f->ratio && f->trips && f->inner && f->node_ns && f->node_recent && f->node_samples &&
	       f->need && f->region;
}

static bool plan_build(struct plan *p, uint32_t i)
{
	struct plan_func *f = &p->func[i];
	struct block_code code = {
		.id = f->module->id, .read = module_code_read, .bounds = bounds_in_file, .ctx = f->module
	};
	uint32_t budget = PLAN_INDUCT_ONCE, early;
	int rc;

	if (f->tried || (f->rec.flags & (FMT_CF_BARE | FMT_CF_VOLATILE)))
		return plan_has_graph(f);
	f->tried = true;
	if (p->stats.graphs >= GRAPHS_MAX || p->nodes > NODES_MAX) {
		p->stats.past_graphs++;
		return false;
	}
	rc = f->rec.end - f->rec.start > PLAN_FUNCTION_MAX
		     ? -E2BIG
		     : runs_build(&code, f->rec.start, f->rec.end, &budget, &f->runs);
	if (!rc && !allocate_nodes(f))
		rc = -ENOMEM;
	if (rc) {
		runs_release(&f->runs);
		f->rec.flags |= rc == -E2BIG ? FMT_CF_TOO_BIG : FMT_CF_UNREADABLE;
		p->stats.too_big += rc == -E2BIG;
		p->stats.unreadable += rc != -E2BIG;
		return false;
	}
	f->rec.flags |= FMT_CF_GRAPH | (f->runs.complete && !f->runs.cfg.irreducible ? FMT_CF_COMPLETE : 0);
	f->rec.blocks = f->runs.cfg.blocks;
	f->rec.loops = f->runs.cfg.loops;
	f->node = p->nodes;
	p->nodes += f->runs.nodes;
	p->stats.graphs++;
	p->stats.nodes += f->runs.nodes;
	early = f->earlies < PLAN_EARLY ? f->earlies : PLAN_EARLY;
	for (uint32_t k = 0; k < early; k++)
		add_time(f, f->early[k], f->early_ns[k]);
	plan_put(p, FMT_COUNTS_FUNC, f->rec.id, &f->rec, sizeof(f->rec));
	for (uint32_t n = 0; n < f->runs.nodes; n++)
		write_node(p, f, n);
	write_blocks(p, f);
	choose_clock(f);
	inner_links(p, i);
	return true;
}

/* ---- callers ---- */

/* A stub that only jumps on through memory: the callee runs once for each call of it. */
static bool target_is_stub(struct module *m, uint64_t target)
{
	uint8_t bytes[32];
	size_t len = module_read(m, target, bytes, sizeof(bytes));

	for (size_t at = 0, n = 0; at < len && n < 3; n++) {
		struct dec_insn d;

		if (dec_decode(bytes + at, len - at, &d))
			return false;
		if (d.flags & DEC_F_BRANCH)
			return !(d.flags & (DEC_F_DIRECT | DEC_F_CALL | DEC_F_RET | DEC_F_COND));
		if (d.mem_cnt || d.writes)
			return false;
		at += d.len;
	}
	return false;
}

/* Calls from outside no longer are all: how many runs come of one, its windows say. */
static void recursive(struct plan *p, uint32_t callee)
{
	struct plan_func *f = &p->func[callee];

	f->rec.flags |= FMT_CF_RECURSIVE;
	for (uint32_t k = 0; k < f->callers; k++) {
		p->link[f->caller[k]].rec.how = FMT_CL_RATIO;
		p->link[f->caller[k]].rec.ratio = NAN;
	}
}

static uint32_t new_caller(struct plan *p, uint32_t callee, struct module *m, uint64_t ret)
{
	uint32_t caller = plan_func_at(p, m, ret - 1), node, l;
	struct plan_func *from;
	const struct cfg_call *call;
	bool once;

	if (caller == PLAN_NONE || p->func[callee].callers == PLAN_CALLERS_MAX || !plan_build(p, caller))
		return PLAN_NONE;
	if (caller == callee)
		recursive(p, callee);
	call = runs_call_before(&p->func[caller].runs, ret);
	if (!call || (node = p->func[caller].runs.node_of[call->block]) == CFG_NONE)
		return PLAN_NONE;
	once = !(p->func[callee].rec.flags & FMT_CF_RECURSIVE) && call->target &&
	       ((call->target == p->func[callee].rec.start && m == p->func[callee].module) ||
		target_is_stub(m, call->target));
	from = &p->func[caller];
	if (!GROW(from->out, from->outs, from->out_cap, 8))
		return PLAN_NONE;
	/* through a register, or past a function that jumps on to this one */
	l = plan_add_link(p, once ? FMT_CL_ONCE : FMT_CL_RATIO, caller, node, callee, 0);
	if (l == PLAN_NONE)
		return PLAN_NONE;
	p->link[l].rec.flags =
		FMT_CL_CALL | (call->target ? 0 : FMT_CL_INDIRECT) | (call->target && !once ? FMT_CL_TAIL : 0);
	p->link[l].rec.site = ret;
	p->link[l].rec.ratio = once ? 1 : NAN;
	from->calls = true;
	from->out[from->outs++] = l;
	p->func[callee].caller[p->func[callee].callers++] = l;
	p->stats.callers++;
	if (caller != callee)
		plan_write_link(p, l);
	return l;
}

uint32_t plan_call_link(struct plan *p, uint32_t f, const struct module *m, uint64_t ret)
{
	struct call_site_key k = { .ret = ret, .module = m->id, .callee = f };
	uint32_t id = intern_add(&p->sites, &k, sizeof(k), NULL);
	const uint64_t *known = id ? map_get(&p->call_at, id) : NULL;

	return known ? (uint32_t)*known : PLAN_NONE;
}

bool plan_caller(struct plan *p, uint32_t f, struct module *m, uint64_t ret, double hits)
{
	struct call_site_key k = { .ret = ret, .module = m ? m->id : 0, .callee = f };
	uint32_t id, l;
	uint64_t *known;
	bool added;

	p->func[f].entries += hits;
	if (!m || !(id = intern_add(&p->sites, &k, sizeof(k), NULL)) || !(known = map_put(&p->call_at, id, &added))) {
		p->func[f].unplaced += hits;
		return false;
	}
	if (added) {
		l = new_caller(p, f, m, ret);
		known = map_get(&p->call_at, id);
		*known = l;
	}
	l = (uint32_t)*known;
	if (l == PLAN_NONE)
		p->func[f].unplaced += hits;
	else if (p->link[l].parent_func == f)
		return true;
	else
		p->link[l].rec.seen += hits;
	return false;
}

void plan_stack(struct plan *p, struct modules *modules, const struct fmt_frame *frame, unsigned count)
{
	struct module *inner = count ? modules_get(modules, frame[0].module) : NULL;

	for (unsigned i = 1; i < count && i < STACK_FRAMES; i++) {
		struct module *outer = modules_get(modules, frame[i].module);
		uint32_t f = inner && outer ? plan_func_at(p, inner, frame[i - 1].addr) : PLAN_NONE;

		/* elsewhere unwinding may have lost its way */
		if (f == PLAN_NONE || !plan_has_graph(&p->func[f]) || !in_file(outer))
			return;
		plan_caller(p, f, outer, frame[i].addr + 1, 1);
		inner = outer;
	}
}

/* ---- once a second ---- */

static void age(struct plan *p)
{
	p->total *= KEEP_RECENT;
	p->replayed *= KEEP_RECENT;
	for (uint32_t i = 0; i < p->funcs; i++) {
		struct plan_func *f = &p->func[i];

		f->recent *= KEEP_RECENT;
		f->replayed *= KEEP_RECENT;
		for (uint32_t n = 0; plan_has_graph(f) && n < f->runs.nodes; n++)
			f->node_recent[n] *= KEEP_RECENT;
	}
}

/* Time that a graph would tell of: of samples; or of bursts, which pass through what samples seldom meet. */
static double time_worth_graph(const struct plan *p, const struct plan_func *f)
{
	double by_bursts = f->bursts >= SAMPLES_MIN && p->replayed > 0 ? f->replayed / p->replayed * p->total : 0;

	return fmax(f->rec.samples >= SAMPLES_MIN ? f->recent : 0, by_bursts);
}

void plan_second(struct plan *p, uint64_t most_ns, uint64_t (*clock)(void))
{
	uint64_t began = clock();

	age(p);
	if (p->second)
		p->timing_ns += (double)(began - p->second) * (p->inner || !p->untimed ? TIMING_PART : 1);
	p->timing_ns = fmin(p->timing_ns, TIMING_MOST);
	p->second = began;
	p->inner = p->untimed = 0;
	while (clock() - began < most_ns) {
		uint32_t best = PLAN_NONE;
		double most = SHARE_MIN * p->total;

		for (uint32_t i = 0; i < p->funcs; i++) {
			const struct plan_func *f = &p->func[i];

			if (!f->tried && time_worth_graph(p, f) > most) {
				most = time_worth_graph(p, f);
				best = i;
			}
		}
		if (best == PLAN_NONE)
			break;
		plan_build(p, best);
		p->func[best].tried = true;
	}
	plan_worth(p);
}

int plan_write(struct plan *p)
{
	plan_replay_flush(p);
	plan_write_drawn(p);
	plan_write_repeats(p);
	for (uint32_t i = 0; i < p->funcs; i++) {
		struct plan_func *f = &p->func[i];

		plan_put(p, FMT_COUNTS_FUNC, f->rec.id, &f->rec, sizeof(f->rec));
		if (!plan_has_graph(f))
			continue;
		for (uint32_t n = 0; n < f->runs.nodes; n++)
			if (f->node_samples[n])
				write_node(p, f, n);
		for (uint32_t k = 0; k < f->callers; k++) {
			struct plan_link *l = &p->link[f->caller[k]];
			double placed = f->entries - f->unplaced;

			l->rec.seen_of = f->entries;
			/* what came from places that nobody knows is spread over those that are known */
			if (l->rec.how == FMT_CL_ONCE && placed > 0)
				l->rec.ratio = fmin(f->entries / placed, 2);
			if (l->parent_func != i)
				plan_write_link(p, f->caller[k]);
		}
	}
	return p->error;
}

const struct plan_stats *plan_stats(const struct plan *p)
{
	return &p->stats;
}
