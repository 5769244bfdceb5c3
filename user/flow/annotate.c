// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/annotate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "code/cfg.h"
#include "code/insn.h"
#include "proc/ehframe.h"
#include "proc/module.h"
#include "profile/time_shares.h"
#include "symbol/symbols.h"
#include "util/bisect.h"
#include "util/grow.h"
#include "util/normal.h"

#define MOST_BYTES (4u << 20) /* of code in one function; what claims more is damage, or a file without functions */
#define SHORT 40              /* instructions: a function that is no longer is shown whole */
#define AROUND 12             /* instructions before and behind the hottest, where no loop is known */
#define IN_LOOP 0.5           /* of a function's time: the innermost loop with so much of it is the hot one */

struct annotate_job {
	const struct profile *p;
	const struct flow_input *in;
	const struct counts_record *counts;
	const struct annotate_opts *o;
	struct annotation *a;
	uint32_t module; /* index in the profile */
	struct module *file;
	/* addresses of the function, ascending: all that the profile knows, callers' too; and where samples stand */
	uint64_t *at, *sampled;
	size_t at_count, at_cap, sampled_count, sampled_cap;
	uint32_t *target; /* instructions, by what they go to */
};

static const char *keep_name(struct annotate_job *j, const char *s)
{
	uint32_t id = s && *s ? intern_str(&j->a->names, s, NULL) : 0;

	return id ? intern_get(&j->a->names, id, NULL) : NULL;
}

/* ---- which function ---- */

/* Of the code itself, whatever is inlined there. */
static const struct profile_function *outer(const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];

	return &p->functions[f->count ? p->lines[f->first + f->count - 1].function : 0];
}

static uint32_t leaf(const struct profile *p, uint32_t stack)
{
	const struct profile_stack *s = &p->stacks[stack];

	return s->count ? p->stack_frames[s->first] : 0;
}

static bool is_asked(const struct annotate_job *j, uint32_t frame)
{
	const struct profile_function *f = outer(j->p, frame);

	return !strcmp(f->name, j->o->function) && filter_code(j->o->filter, f->name, f->object);
}

/* Modules by the time of the function in them; in *best the one with most. 0 or -errno. */
static int choose_module(struct annotate_job *j, struct err *e)
{
	const struct profile *p = j->p;
	double *time = calloc(p->module_count + 1, sizeof(*time)), most = -1;
	enum profile_unit unit = j->a->unit;
	struct buf others = { 0 };

	if (!time)
		return err_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 1; i < p->frame_count; i++)
		if (is_asked(j, i))
			time[p->frames[i].module] += 1e-9;
	for (size_t i = 0; i < p->cell_count; i++) {
		uint32_t f = leaf(p, p->cells[i].stack);

		if (f && is_asked(j, f))
			time[p->frames[f].module] += p->cells[i].weight[unit];
	}
	for (uint32_t m = 0; m < p->module_count; m++) {
		if (time[m] > 0 && time[m] > most) {
			most = time[m];
			j->module = m;
		}
	}
	for (uint32_t m = 0; m < p->module_count; m++)
		if (time[m] > 0 && m != j->module && strcmp(p->modules[m].path, p->modules[j->module].path))
			buf_addf(&others, "%s%s", others.len ? ", " : "", p->modules[m].object);
	if (others.len && !buf_failed(&others))
		snprintf(j->a->others, sizeof(j->a->others), "%s", others.data);
	buf_release(&others);
	free(time);
	return most > 0 ? 0 : -ENOENT;
}

static int ascending_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int take_sampled_addresses(struct annotate_job *j)
{
	const struct profile *p = j->p;

	for (uint32_t i = 1; i < p->frame_count; i++) {
		const struct profile_function *f = outer(p, i);

		if (p->frames[i].module != j->module || !is_asked(j, i))
			continue;
		if (!PUSH(j->at, j->at_count, j->at_cap, 64, p->frames[i].addr))
			return -ENOMEM;
		j->a->name = f->name;
		j->a->object = f->object;
		if (f->file) {
			j->a->file = f->file;
			j->a->line = f->line;
		}
	}
	for (uint32_t i = 1; i < p->stack_count; i++) {
		uint32_t f = leaf(p, i);

		if (f && p->frames[f].module == j->module && is_asked(j, f) &&
		    !PUSH(j->sampled, j->sampled_count, j->sampled_cap, 64, p->frames[f].addr))
			return -ENOMEM;
	}
	if (j->at_count)
		qsort(j->at, j->at_count, sizeof(*j->at), ascending_addresses);
	if (j->sampled_count)
		qsort(j->sampled, j->sampled_count, sizeof(*j->sampled), ascending_addresses);
	return 0;
}

/* ---- its code ---- */

static size_t read_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return module_read(ctx, addr, buf, len);
}

static void open_file(struct annotate_job *j)
{
	const struct profile_module *m = &j->p->modules[j->module];
	struct annotation *a = j->a;
	struct err e = { 0 };
	struct stat st;

	if (m->kind == FMT_MOD_KERNEL)
		snprintf(a->no_code, sizeof(a->no_code), "it is the kernel's, which recordings see as a whole");
	else if (m->kind == FMT_MOD_JIT || m->kind == FMT_MOD_ANON)
		snprintf(a->no_code, sizeof(a->no_code),
			 "it was made at run time, and a profile keeps no code: addresses alone are left");
	else if (m->kind != FMT_MOD_FILE || m->path[0] != '/')
		snprintf(a->no_code, sizeof(a->no_code), "no file holds it");
	else if (!m->build_id_len && !m->content)
		snprintf(a->no_code, sizeof(a->no_code),
			 "%.200s has no build-id, so nothing says that it is still what ran", m->path);
	else if (!(j->file = module_open_path(m->path, m->build_id, m->build_id_len, &e)))
		snprintf(a->no_code, sizeof(a->no_code), "%.280s", e.text);
	else if (!m->build_id_len && module_content(j->file) != m->content) {
		/* Go's programs have none, and are told by what stands in them */
		snprintf(a->no_code, sizeof(a->no_code), "%.200s is not what ran: it has changed since", m->path);
		module_close_path(j->file);
		j->file = NULL;
	}
	if (j->file && module_fd(j->file) >= 0 && !fstat(module_fd(j->file), &st))
		a->built = st.st_mtime;
}

/* Bounds by the file's call frame information, else as the recording knew them, else none: start = end. */
static struct annotate_part bounds_of(const struct annotate_job *j, uint64_t addr)
{
	const struct ehframe *eh = j->file ? module_ehframe(j->file) : NULL;
	struct annotate_part out = { addr, addr };
	uint32_t id = j->p->modules[j->module].id;

	if (eh && ehframe_function(eh, addr, &out.start, &out.end) && out.end - out.start <= MOST_BYTES)
		return out;
	for (size_t i = 0; i < j->counts->funcs; i++) {
		const struct fmt_counts_func *f = &j->counts->func[i];

		if (f->module == id && !(f->flags & FMT_CF_BARE) && f->start <= addr && addr < f->end &&
		    f->end - f->start <= MOST_BYTES)
			return (struct annotate_part){ f->start, f->end };
	}
	return (struct annotate_part){ addr, addr };
}

static int find_parts(struct annotate_job *j)
{
	struct annotation *a = j->a;

	for (size_t i = 0; i < j->at_count; i++) {
		const struct annotate_part *last = a->parts ? &a->part[a->parts - 1] : NULL;
		struct annotate_part new;

		if (last && (j->at[i] < last->end || j->at[i] == last->start))
			continue;
		new = bounds_of(j, j->at[i]);
		if (last && new.start < last->end)
			continue; /* two tables at odds */
		if (!PUSH(a->part, a->parts, a->part_cap, 4, new))
			return -ENOMEM;
	}
	return 0;
}

static int add_insn(struct annotate_job *j, uint32_t part, uint64_t addr, uint32_t len, const char *text,
		    uint64_t calls)
{
	struct annotation *a = j->a;
	struct annotate_insn i = { .addr = addr,
				   .len = len,
				   .text = (uint32_t)a->text.len,
				   .part = part,
				   .calls = calls,
				   .loop = ANNOTATE_NONE,
				   .runs = { NAN, NAN, NAN },
				   .per_entry = { NAN, NAN, NAN } };

	buf_add(&a->text, text, strlen(text) + 1);
	return !buf_failed(&a->text) && PUSH(a->insn, a->insns, a->insn_cap, 256, i) ? 0 : -ENOMEM;
}

/* In words, and the address outside of its part that it goes to; 0: none. Targets inside are told as offsets, as rows
 * are. */
static uint64_t say_insn(const struct annotate_job *j, const struct annotate_part *t, const struct insn *i, uint64_t at,
			 char *out, size_t size)
{
	char *target;
	int64_t by;
	uint64_t to;

	insn_text(i, at, j->o->intel, out, size);
	if (!(insn_flow(&i->z) & DEC_F_BRANCH) || !insn_target(&i->z, &by))
		return 0;
	to = at + i->z.length + (uint64_t)by;
	target = strstr(out, "0x");
	if (to < t->start || to >= t->end || !target)
		return to;
	snprintf(target, size - (size_t)(target - out), "+0x%llx", (unsigned long long)(to - t->start));
	return 0;
}

/* Where no instruction can begin goes on at the next address that is known to hold one. */
static uint64_t next_known(const struct annotate_job *j, uint64_t addr, uint64_t end)
{
	for (size_t i = 0; i < j->sampled_count; i++)
		if (j->sampled[i] > addr && j->sampled[i] < end)
			return j->sampled[i];
	return end;
}

/* A sample stands within it, so that it is none: data were taken for code. */
static bool cuts_a_sample(const struct annotate_job *j, uint64_t addr, uint32_t len)
{
	return next_known(j, addr, addr + len) < addr + len;
}

static int decode_part(struct annotate_job *j, uint32_t part)
{
	uint64_t start = j->a->part[part].start, end = j->a->part[part].end;
	uint8_t *code = malloc(end - start + 1);
	size_t size = code && j->file ? module_read(j->file, start, code, end - start) : 0;
	int err = code ? 0 : -ENOMEM;

	for (uint64_t at = start; !err && at < start + size;) {
		char text[160] = "(data)";
		uint64_t calls = 0;
		struct insn i;
		bool good = !insn_decode(code + (at - start), start + size - at, &i);
		uint32_t len = good ? i.z.length : 1;

		good = good && !cuts_a_sample(j, at, len);
		if (good)
			calls = say_insn(j, &j->a->part[part], &i, at, text, sizeof(text));
		else
			len = (uint32_t)(next_known(j, at, start + size) - at);
		err = add_insn(j, part, at, len, text, calls);
		at += len;
	}
	free(code);
	return err;
}

/* Without code: what the profile knows of. */
static int only_sampled(struct annotate_job *j, uint32_t part)
{
	const struct annotate_part *t = &j->a->part[part];
	int err = 0;

	for (size_t i = 0; i < j->sampled_count && !err; i++) {
		uint64_t at = j->sampled[i];
		uint8_t bytes[15];
		char text[160] = "";
		uint64_t calls = 0;
		struct insn d;
		size_t n;

		if (!(at >= t->start && (at < t->end || at == t->start)) || (i && at == j->sampled[i - 1]))
			continue;
		n = j->file ? module_read(j->file, at, bytes, sizeof(bytes)) : 0;
		if (!n || insn_decode(bytes, n, &d))
			n = 0;
		else
			calls = say_insn(j, t, &d, at, text, sizeof(text));
		err = add_insn(j, part, at, n ? d.z.length : 0, text, calls);
	}
	return err;
}

static int decode(struct annotate_job *j)
{
	struct annotation *a = j->a;
	int err = 0;

	for (uint32_t k = 0; k < a->parts && !err; k++) {
		size_t before = a->insns;

		if (j->file && a->part[k].end > a->part[k].start)
			err = decode_part(j, k);
		if (!err && a->insns == before)
			err = only_sampled(j, k);
	}
	return err;
}

/* The instruction around an address; NULL: none is. */
static struct annotate_insn *insn_at(const struct annotation *a, uint64_t addr)
{
	size_t lo = BISECT(mid, a->insns, a->insn[mid].addr <= addr);

	if (!lo)
		return NULL;
	return addr < a->insn[lo - 1].addr + (a->insn[lo - 1].len ? a->insn[lo - 1].len : 1) ? &a->insn[lo - 1] : NULL;
}

/* ---- loops ---- */

static int add_loops(struct annotation *a, const struct cfg *c)
{
	uint32_t base = (uint32_t)a->loops;

	for (uint32_t l = 0; l < c->loops; l++) {
		const struct cfg_loop *k = &c->loop[l];
		struct annotate_loop new = { .addr = cfg_block_addr(c, k->header),
					     .parent = k->parent == CFG_NONE ? ANNOTATE_NONE : base + k->parent,
					     .depth = k->depth };

		if (!PUSH(a->loop, a->loops, a->loop_cap, 8, new))
			return -ENOMEM;
	}
	for (uint32_t b = 0; b < c->blocks; b++) {
		for (uint32_t k = 0; k < c->block[b].insns && c->block[b].loop != CFG_NONE; k++) {
			struct annotate_insn *i = insn_at(a, cfg_insn_addr(c, c->block[b].insn + k));

			if (i)
				i->loop = base + c->block[b].loop;
		}
	}
	return 0;
}

static int find_loops(struct annotate_job *j)
{
	struct annotation *a = j->a;
	int err = 0;

	for (uint32_t k = 0; k < a->parts && !err && j->file; k++) {
		struct block_code code = { .id = 1, .read = read_code, .ctx = j->file };
		struct cfg c;

		if (a->part[k].end <= a->part[k].start || cfg_build(&code, a->part[k].start, a->part[k].end, &c))
			continue;
		err = add_loops(a, &c);
		cfg_release(&c);
	}
	return err;
}

/* ---- figures ---- */

static void take_time(struct annotate_job *j)
{
	const struct profile *p = j->p;
	struct annotation *a = j->a;
	double all = p->weight[a->unit], squares = p->weight_squares[a->unit],
	       effective = squares > 0 ? all * all / squares : 0, kept = 0, own = 0;

	for (size_t i = 0; i < p->cell_count; i++) {
		const struct profile_cell *c = &p->cells[i];
		uint32_t f = leaf(p, c->stack);
		const struct profile_thread *t = &p->threads[c->thread];
		struct annotate_insn *n;

		if (!profile_takes(p, j->o->filter, t->pid, t->comm, c->stack))
			continue;
		kept += c->weight[a->unit];
		if (!f || p->frames[f].module != j->module || !is_asked(j, f))
			continue;
		a->samples += c->samples[a->unit];
		own += c->weight[a->unit];
		n = insn_at(a, p->frames[f].addr);
		if (!n)
			continue;
		n->samples += c->samples[a->unit];
		n->weight += c->weight[a->unit];
	}
	a->shown = all > 0 ? kept / all : NAN;
	a->time = all > 0 ? own / all : NAN;
	wilson_interval(a->time, effective, &a->low, &a->high);
	for (size_t i = 0; i < a->insns; i++) {
		struct annotate_insn *n = &a->insn[i];

		n->time = all > 0 ? n->weight / all : NAN;
		wilson_interval(n->time, effective, &n->low, &n->high);
		for (uint32_t l = n->loop; l != ANNOTATE_NONE; l = a->loop[l].parent) {
			a->loop[l].insns++;
			a->loop[l].samples += n->samples;
			a->loop[l].time += n->time;
		}
	}
}

struct annotate_sums {
	double read, written, read_squares, written_squares;
};

static void one_access(struct annotate_job *j, const struct in_access *x, struct annotate_sums *all)
{
	const struct in_site *s = &j->in->sites[x->site];
	double bytes = x->weight * x->size;
	struct annotate_insn *n;

	/* the first writer of a piece of memory has no weight: it was seen by the exact engine's census */
	if (!(bytes > 0))
		return;
	if (x->flags & FMT_A_LOAD) {
		all->read += bytes;
		all->read_squares += bytes * bytes;
	}
	if (x->flags & FMT_A_STORE) {
		all->written += bytes;
		all->written_squares += bytes * bytes;
	}
	if (s->module != j->p->modules[j->module].id || !filter_process(j->o->filter, x->pid, in_comm(j->in, x->pid)))
		return;
	n = insn_at(j->a, s->ip);
	if (n && x->flags & FMT_A_LOAD) {
		n->read.bytes += bytes;
		n->read.samples++;
	}
	if (n && x->flags & FMT_A_STORE) {
		n->written.bytes += bytes;
		n->written.samples++;
	}
}

static void finish_bytes(struct annotate_bytes *b, double all, double squares, bool amounts)
{
	b->share = all > 0 ? b->bytes / all : NAN;
	wilson_interval(b->share, squares > 0 ? all * all / squares : 0, &b->low, &b->high);
	if (!amounts || !(all > 0))
		b->bytes = NAN;
}

static void sum_bytes(struct annotate_bytes *to, const struct annotate_bytes *b)
{
	to->bytes += b->bytes;
	to->samples += b->samples;
}

static void take_bytes(struct annotate_job *j)
{
	struct annotation *a = j->a;
	const struct flow_input *in = j->in;
	bool by_time = false, amounts;
	struct annotate_sums all = { 0 };

	for (size_t i = 0; i < in->access_count; i++) {
		one_access(j, &in->access[i], &all);
		by_time |= in->access[i].flags & FMT_A_TIME;
	}
	for (size_t i = 0; i < in->blind_count; i++) {
		one_access(j, &in->blind[i], &all);
		by_time |= in->blind[i].flags & FMT_A_TIME;
	}
	amounts = in_has_amounts(in, by_time);
	a->accesses = in->access_count || in->blind_count;
	for (size_t i = 0; i < a->insns; i++) {
		sum_bytes(&a->read, &a->insn[i].read);
		sum_bytes(&a->written, &a->insn[i].written);
		finish_bytes(&a->insn[i].read, all.read, all.read_squares, amounts);
		finish_bytes(&a->insn[i].written, all.written, all.written_squares, amounts);
	}
	finish_bytes(&a->read, all.read, all.read_squares, amounts);
	finish_bytes(&a->written, all.written, all.written_squares, amounts);
}

/* For each run of the entry: the errors of both as if they always went apart, for how far they do is not known. The
 * entry is itself once. */
static struct counts_figure for_each(const struct counts_tree *t, uint32_t node, uint32_t entry)
{
	double sd = sqrt(t->runs_var[node]) + sqrt(t->runs_var[entry]);

	if (!entry || !(t->runs[entry] > 0))
		return (struct counts_figure){ NAN, NAN, NAN };
	return counts_figure_of(t->runs[node] / t->runs[entry], node == entry ? 0 : sd * sd);
}

static bool is_part(const struct annotation *a, uint64_t start)
{
	for (size_t k = 0; k < a->parts; k++)
		if (a->part[k].start == start && a->part[k].end > start)
			return true;
	return false;
}

static void spread_runs(struct annotate_job *j, const struct counts_tree *t, bool absolute)
{
	const struct counts_record *r = j->counts;
	struct annotation *a = j->a;
	const struct counts_figure unknown = { NAN, NAN, NAN };
	uint32_t id = j->p->modules[j->module].id;
	uint32_t entry = 0;

	for (uint32_t n = 1; n < r->nodes; n++) {
		uint32_t f = r->node[n].function;

		if (f == UINT32_MAX || r->func[f].module != id || !is_part(a, r->func[f].start) ||
		    r->node[n].kind != FMT_CN_ENTRY || !(t->runs[n] > 0))
			continue;
		if (entry && t->runs[entry] > t->runs[n])
			continue; /* of its other part, which is jumped to */
		entry = n;
		a->entries = absolute ? counts_figure_of(t->runs[n], t->runs_var[n]) : unknown;
	}
	for (size_t k = 0; k < r->blocks; k++) {
		const struct fmt_counts_block *b = &r->block[k];
		uint32_t f = b->node < r->nodes ? r->node[b->node].function : UINT32_MAX;
		struct annotate_insn *i;

		if (!b->node || f == UINT32_MAX || r->func[f].module != id || !is_part(a, r->func[f].start))
			continue;
		for (i = insn_at(a, b->addr); i && i < a->insn + a->insns && i->addr < b->addr + b->bytes; i++) {
			i->runs = absolute ? counts_figure_of(t->runs[b->node], t->runs_var[b->node]) : unknown;
			i->per_entry = for_each(t, b->node, entry);
			a->runs += !isnan(t->runs[b->node]);
		}
	}
}

static int take_runs(struct annotate_job *j)
{
	const struct counts_record *r = j->counts;
	struct annotation *a = j->a;
	struct counts_built *own = NULL, *b = j->in->solved;
	bool *want;
	double *var, *runs;
	int err = 0;

	a->entries = (struct counts_figure){ NAN, NAN, NAN };
	if (!r->funcs || !r->nodes) {
		snprintf(a->no_counts, sizeof(a->no_counts), "the profile holds none; record with --counts auto");
		return 0;
	}
	if (filter_asks_process(j->o->filter)) {
		snprintf(a->no_counts, sizeof(a->no_counts), "they are known for all processes together only");
		return 0;
	}
	if (!b)
		b = own = counts_built_new(r, &err);
	want = calloc(r->nodes + 1, sizeof(*want));
	var = calloc(r->nodes + 1, sizeof(*var));
	runs = calloc(r->nodes + 1, sizeof(*runs));
	err = err != -ENOMEM && want && var && runs ? 0 : -ENOMEM;
	for (size_t n = 1; n < r->nodes && !err; n++) {
		uint32_t f = r->node[n].function;

		var[n] = NAN;
		want[n] = f != UINT32_MAX && is_part(a, r->func[f].start);
	}
	if (!err && b) {
		struct counts_speed speed = counts_speed(r, b);
		struct counts_tree told;

		b->tree.want = want;
		b->tree.runs_var = var;
		counts_solve_nodes(&b->tree);
		told = b->tree;
		told.runs = runs;
		b->tree.want = NULL;
		b->tree.runs_var = NULL;
		for (size_t n = 1; n < r->nodes; n++) {
			var[n] += speed.added_var;
			runs[n] = b->tree.runs[n] * speed.times;
		}
		spread_runs(j, &told, speed.known);
	}
	if (!err && !a->runs)
		snprintf(a->no_counts, sizeof(a->no_counts), "none were taken of this function");
	counts_built_free(own);
	free(want);
	free(var);
	free(runs);
	return err;
}

/* ---- names and lines ---- */

/* Instructions by number, then what those go to that leave the function. */
static void name_instruction(void *ctx, size_t index, const struct symbol_frame *chain, unsigned count,
			     enum symbol_origin origin)
{
	struct annotate_job *j = ctx;
	bool target = index >= j->a->insns;
	struct annotate_insn *i = &j->a->insn[target ? j->target[index - j->a->insns] : index];

	if (!count || (origin != SYM_DWARF && (origin != SYM_TABLE || !target)))
		return;
	if (target) {
		i->callee = keep_name(j, chain[count - 1].name);
		return;
	}
	i->file = keep_name(j, chain[0].file);
	i->line = chain[0].line;
	i->inlined = count > 1 ? keep_name(j, chain[0].name) : NULL;
}

static int find_names(struct annotate_job *j)
{
	struct annotation *a = j->a;
	struct symbols *s = j->file && a->insns ? symbols_new(false, true) : NULL;
	uint64_t *addrs = s ? malloc(2 * a->insns * sizeof(*addrs)) : NULL;
	size_t n = 0;
	int err;

	j->target = addrs ? malloc(a->insns * sizeof(*j->target)) : NULL;
	err = s && !j->target ? -ENOMEM : 0;
	for (; j->target && n < a->insns; n++)
		addrs[n] = a->insn[n].addr;
	for (uint32_t i = 0; j->target && i < a->insns; i++) {
		if (!a->insn[i].calls)
			continue;
		j->target[n - a->insns] = i;
		addrs[n++] = a->insn[i].calls;
	}
	if (j->target) {
		symbols_absolute(s);
		err = symbols_resolve(s, j->file, addrs, n, name_instruction, j);
	}
	symbols_free(s);
	free(addrs);
	free(j->target);
	j->target = NULL;
	return err;
}

/* ---- what is shown first ---- */

static bool lies_in(const struct annotation *a, uint32_t loop, uint32_t in)
{
	for (; loop != ANNOTATE_NONE; loop = a->loop[loop].parent)
		if (loop == in)
			return true;
	return false;
}

/* The innermost loop with most of the function's time; else the one with most; ANNOTATE_NONE: no loop has any. */
static uint32_t hot_loop(const struct annotation *a)
{
	uint32_t best = ANNOTATE_NONE;

	for (uint32_t l = 0; l < a->loops; l++) {
		const struct annotate_loop *k = &a->loop[l], *b = best == ANNOTATE_NONE ? NULL : &a->loop[best];
		bool most = k->time >= IN_LOOP * a->time, best_most = b && b->time >= IN_LOOP * a->time;

		if (!(k->time > 0))
			continue;
		if (!b || (most && !best_most) || (most && best_most && k->insns < b->insns) ||
		    (!most && !best_most && k->time > b->time))
			best = l;
	}
	return best;
}

static void choose_hot(struct annotation *a, bool all)
{
	uint32_t loop = a->insns <= SHORT || all ? ANNOTATE_NONE : hot_loop(a);
	size_t hottest = 0;

	a->all_is_hot = all || a->insns <= SHORT;
	for (size_t i = 0; i < a->insns; i++)
		hottest = a->insn[i].weight > a->insn[hottest].weight ? i : hottest;
	for (size_t i = 0; i < a->insns; i++)
		a->insn[i].hot =
			a->all_is_hot || (loop != ANNOTATE_NONE ? lies_in(a, a->insn[i].loop, loop)
								: i + AROUND >= hottest && i <= hottest + AROUND);
	if (loop == ANNOTATE_NONE)
		loop = hot_loop(a);
	if (loop != ANNOTATE_NONE)
		a->loop[loop].hot = true;
}

static int fill_instructions(struct annotate_job *j, struct err *e)
{
	int err = take_sampled_addresses(j);

	open_file(j);
	j->a->path = j->p->modules[j->module].path;
	err = err ? err : find_parts(j);
	err = err ? err : decode(j);
	err = err ? err : find_loops(j);
	if (!err) {
		take_time(j);
		take_bytes(j);
		err = take_runs(j);
	}
	err = err ? err : find_names(j);
	if (!err)
		choose_hot(j->a, j->o->all);
	module_close_path(j->file);
	return err ? err_set(e, err, err == -ENOMEM ? "out of memory" : "the profile's figures make no sense") : 0;
}

int annotate(const struct profile *p, const struct flow_input *in, const struct counts_record *counts,
	     const struct annotate_opts *o, struct annotation *out, struct err *e)
{
	struct annotate_job j = { .p = p, .in = in, .counts = counts, .o = o, .a = out };
	int err;

	*out = (struct annotation){ .unit = profile_unit(p) };
	out->precise = in->engine == FLOW_EXACT || (in->engine == FLOW_PMU && out->unit == PROFILE_ACCESSES);
	err = choose_module(&j, e);
	if (!err)
		err = fill_instructions(&j, e);
	free(j.at);
	free(j.sampled);
	if (err)
		annotation_release(out);
	return err;
}

void annotation_release(struct annotation *a)
{
	free(a->part);
	free(a->insn);
	free(a->loop);
	buf_release(&a->text);
	intern_release(&a->names);
	*a = (struct annotation){ 0 };
}
