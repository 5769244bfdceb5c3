// SPDX-License-Identifier: GPL-2.0-or-later
#include "advise/gather_priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts/counts_speed.h"
#include "proc/syscalls.h"
#include "profile/waits.h"
#include "util/grow.h"
#include "util/labels.h"
#include "util/normal.h"

#define COUNTED 256 /* functions whose counts get intervals: those that can have a hundredth of the time, and more */
#define BUSY 0.01   /* of the time: a thread that takes less does not call at once with others */
#define LEAF 0.95   /* of a function's time: what it calls hardly counts; by hand */
/* Of a function's log load bytes for each instruction, as counts have them: volume_error.c measured it on ten real
 * programs. */
#define LOADS_SD 0.28
#define DEEPEST 256 /* functions of a stack that are told apart; by hand */

static void add_missing(struct gathered *g, const char *what)
{
	size_t len = strlen(g->missing);

	snprintf(g->missing + len, sizeof(g->missing) - len, "%s%s", len ? "; " : "", what);
}

/* ---- reading ---- */

static int load_gathered(struct gathered *g, const char *path, const struct filter *f, struct err *e)
{
	struct flow_input_opts io = { .stacks = true, .compute = true, .filter = f };
	struct section_reader readers[FLOW_INPUT_READERS + 2];
	struct err why = { 0 }, counts_why = { 0 }, offload_why = { 0 };
	int offload_failed = 0, counts_failed = 0, err;
	struct profile *p = profile_open(path, e);
	struct raw *raw;
	size_t n = 0;

	if (!p)
		return e->code ? e->code : -EINVAL;
	raw = flow_input_begin(&g->flow_input, p, &io, readers, &why);
	n = raw ? FLOW_INPUT_READERS : 0;
	g->offload = offload_summary_begin(profile_reader(p), &readers[n], &offload_why);
	if (g->offload)
		readers[n++].failed = &offload_failed;
	readers[n] = counts_record_reader(&g->counts_record, &counts_why);
	readers[n++].failed = &counts_failed;
	err = profile_read(p, FLOW_INPUT_GROUPS, readers, n, e);
	g->has_flow = raw && !flow_input_end(raw, err) && !why.code;
	if (err) {
		if (!e->code)
			err_set(e, err, "%s: %s", path, err == -ENOMEM ? "out of memory" : strerror(-err));
		profile_free(p);
		return err;
	}
	g->profile = p;
	if (!g->offload || offload_failed || offload_summary_end(g->offload, &offload_why)) {
		offload_summary_free(g->offload);
		g->offload = NULL;
	}
	if (!counts_failed)
		counts_record_end(&g->counts_record, p);
	g->has_counts = !counts_failed && g->counts_record.funcs && g->counts_record.nodes;
	return 0;
}

/* Time, waits and calls of other processes go, and what is not told by process. */
static int keep_processes(struct gathered *g, const char *path, const struct filter *f, struct err *e)
{
	const struct filter processes = filter_of_processes(f);
	struct err why = { 0 };

	if (!filter_asks_process(f) || profile_takes_all(g->profile, f))
		return 0;
	if (g->profile->has_exact)
		return err_set(e, -ENOTSUP,
			       "the exact engine counted by function, not by process: leave out --pid and --comm");
	g->part = profile_keep_part(g->profile, &processes);
	offload_summary_free(g->offload);
	g->offload = offload_summary_load_part(path, f, g->profile, &why);
	if (g->has_counts)
		add_missing(g, "executions are counted for all processes together, and left out");
	g->has_counts = false;
	return 0;
}

/* Without breakpoints what lies between system calls tells the speed, if enough of it was met: what it lacks helps. */
static void say_speed_missing(struct gathered *g)
{
	uint64_t dropped;
	const char *segments = g->counts_record.segments ? counts_segments(&g->counts_record, &dropped).why : NULL;
	char text[300];

	if (!g->input.uncountable) {
		add_missing(
			g,
			"bytes are known as shares only; record with --counts auto, which measures the speed they rest on");
		return;
	}
	snprintf(
		text, sizeof(text),
		"bytes are known as shares only: the speed they rest on is measured by hardware breakpoints, which it was "
		"recorded without (`accperf doctor`)%s%s",
		segments ? ", or between system calls: " : "", segments ? segments : "");
	add_missing(g, text);
}

static void estimate_flow(struct gathered *g)
{
	struct est_opts est = EST_OPTS_DEFAULT;
	const char *breakpoints = profile_meta(g->profile, "breakpoints");
	struct err why = { 0 };

	g->input.uncountable = breakpoints && !strncmp(breakpoints, "none", 4);
	est.inclusive = true;
	est.level = 0.9;
	if (g->has_flow && flow_estimate(&g->flow_input, NULL, &est, &g->flow, &why))
		g->has_flow = false;
	else if (g->has_flow && !flow_has_amounts(&g->flow)) {
		g->has_flow = false;
		say_speed_missing(g);
	}
	if (!g->has_flow && !*g->missing)
		add_missing(g, "it holds no bytes between functions, of which `accperf doctor` tells what they need");
	if (g->has_counts &&
	    counts_report_make(&g->counts_record, g->profile, g->flow_input.solved, COUNTED, &g->counts, &why))
		g->has_counts = false;
	if (g->has_counts && !g->counts.speed.known)
		g->input.uncounted =
			"how fast the code runs was not measured; record for 30 s or longer, with hardware breakpoints";
	if (!g->has_counts && !g->profile->has_exact && !(g->part < 1 && g->counts_record.funcs))
		add_missing(
			g,
			g->input.uncountable
				? "it holds no execution counts, as it was recorded without hardware breakpoints (`accperf "
				  "doctor`); --offload-probe counts single functions"
				: "it holds no execution counts; record with --counts auto for 60 s");
	if (!g->offload || !offload_looked_for(g->profile, g->offload))
		add_missing(g, "no offload calls were looked for; record with --offload auto");
}

/* ---- time ---- */

static void set_share(const struct gathered *g, struct advise_function *f, double inclusive)
{
	f->share.value = inclusive;
	shares_inclusive(&g->shares, inclusive, &f->share.low, &f->share.high);
}

/* Functions that take time and are no frame of their own on any stack: their callers' shares hold theirs, too. */
static int inlined_everywhere(struct gathered *g)
{
	struct shares all = { 0 };
	struct err why = { 0 };
	int err = shares_compute(g->profile, &(struct shares_opts){ .thread = SHARES_ALL_THREADS, .inlined = true },
				 &all, &why);

	for (size_t i = 0; i < all.count && !err; i++) {
		struct advise_function *f = &g->input.function[all.rows[i].function];

		if (f->share.value > 0 || f->system || !(all.rows[i].inclusive >= ADVISE_LARGE))
			continue;
		f->inlined = true;
		set_share(g, f, all.rows[i].inclusive);
	}
	shares_release(&all);
	return err;
}

static int functions(struct gathered *g)
{
	const struct profile *p = g->profile;
	struct advise_input *in = &g->input;
	struct figure none = FIGURE_EXACT(0); /* of a function that no sample met */

	if (!g->shares.exact)
		wilson_interval(0, g->shares.effective, &none.low, &none.high);
	in->function = calloc(p->function_count + (g->offload ? g->offload->items_cnt + GATHER_UNUSED : 0) + 1,
			      sizeof(*in->function));
	if (!in->function)
		return -ENOMEM;
	in->functions = p->function_count;
	for (size_t i = 0; i < p->function_count; i++) {
		const struct profile_function *f = &p->functions[i];

		in->function[i] = advise_function_unknown(f->name, f->object);
		in->function[i].system = !strcmp(f->object, "[kernel]") || *f->name == '(';
		in->function[i].unnamed = !f->named && !in->function[i].system;
		in->function[i].share = none;
	}
	for (size_t i = 0; i < g->shares.count; i++) {
		const struct share *s = &g->shares.rows[i];
		struct advise_function *f = &in->function[s->function];

		f->self = s->self;
		set_share(g, f, s->inclusive);
	}
	in->has_time = g->shares.count > 0;
	return inlined_everywhere(g);
}

/* Input and output, which a device cannot do for the program; memory and locks it can do without. */
static bool moves_data(const char *call)
{
	static const char *const own[] = { "mmap",   "munmap",    "brk",          "madvise",      "mprotect",
					   "mremap", "futex",     "getpid",       "sched_yield",  "clock_gettime",
					   "gettid", "getrandom", "rt_sigreturn", "gettimeofday", "restart_syscall" };

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(call, own[i]))
			return false;
	return true;
}

static bool seen_before(const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == ids[n])
			return true;
	return false;
}

/* ---- threads and waits ---- */

/* Of each function the thread that spends most in it: what part of its CPU time, and of its elapsed time. */
static int threads_of(struct gathered *g)
{
	const struct profile *p = g->profile;
	struct advise_input *in = &g->input;
	double *here = calloc(p->function_count + 1, sizeof(*here)),
	       *most = calloc(p->function_count + 1, sizeof(*most));
	size_t *last = calloc(p->function_count + 1, sizeof(*last)); /* cell that it was met in, + 1 */
	struct share_path path = { 0 };
	int err = here && most && last ? 0 : -ENOMEM;

	for (size_t t = 0; t < p->thread_count && !err && profile_unit(p) == PROFILE_TIME; t++) {
		const struct profile_thread *th = &p->threads[t];
		double all = 0, samples = 0;

		memset(here, 0, p->function_count * sizeof(*here));
		for (size_t c = th->first_cell; c < th->first_cell + th->cell_count && !err; c++) {
			const struct profile_cell *cell = &p->cells[c];

			all += cell->weight[PROFILE_TIME];
			samples += (double)cell->samples[PROFILE_TIME];
			err = share_path(p, cell->stack, false, &path);
			for (size_t i = 0; i < path.count && !err; i++) {
				if (last[path.ids[i]] == c + 1)
					continue;
				last[path.ids[i]] = c + 1;
				here[path.ids[i]] += cell->weight[PROFILE_TIME];
			}
		}
		for (size_t f = 0; f < p->function_count && all > 0; f++) {
			struct figure *s = &in->function[f].thread_share, *e = &in->function[f].elapsed_share;
			double of_elapsed = all / (in->seconds * 1e9);

			if (!(here[f] > most[f]))
				continue;
			most[f] = here[f];
			s->value = here[f] / all;
			wilson_interval(s->value, samples, &s->low, &s->high);
			*e = (struct figure){ fmin(s->value * of_elapsed, 1), fmin(s->low * of_elapsed, 1),
					      fmin(s->high * of_elapsed, 1) };
		}
	}
	free(path.ids);
	free(here);
	free(most);
	free(last);
	return err;
}

static int waiting(struct gathered *g, const struct filter *filter)
{
	const struct profile *p = g->profile;
	struct advise_input *in = &g->input;
	struct filter processes = filter_of_processes(filter);
	struct function_wait *w = waits_observed(p) ? waits_by_function(p, false, &processes) : NULL;

	if (!w)
		return waits_observed(p) ? -ENOMEM : 0;
	for (size_t f = 0; f < p->function_count; f++) {
		struct figure *ns = &in->function[f].wait_ns;

		waits_interval(p, &w[f], &ns->low, &ns->high);
		*ns = (struct figure){ w[f].ns / in->seconds, ns->low / in->seconds, ns->high / in->seconds };
		in->function[f].ready_ns = w[f].ready_ns / in->seconds;
	}
	free(w);
	return 0;
}

/* Shares of the time of one large function below another: a square table, as each stack is walked once. */
struct gather_walk {
	struct gathered *g;
	uint32_t *index;  /* by function: the how manieth large one, + 1; 0: it is not large */
	uint32_t *large;  /* functions */
	double *below;    /* [above * count + below] */
	bool *in_program; /* by function: its object is the one that stacks begin in */
	size_t count;
	double total;
	struct intern calls; /* names of system calls */
	struct map kernel;   /* by row and name: share of the time, a double's bits */
	bool failed;
};

static int walk_begin(struct gather_walk *w, const char *program)
{
	const struct advise_input *in = &w->g->input;

	w->index = calloc(in->functions + 1, sizeof(*w->index));
	w->large = calloc(in->functions + 1, sizeof(*w->large));
	w->in_program = calloc(in->functions + 1, sizeof(*w->in_program));
	if (!w->index || !w->large || !w->in_program)
		return -ENOMEM;
	for (size_t f = 0; f < in->functions; f++) {
		w->in_program[f] = program && !strcmp(in->function[f].object, program);
		if (in->function[f].share.value < ADVISE_LARGE)
			continue;
		w->large[w->count] = (uint32_t)f;
		w->index[f] = (uint32_t)++w->count;
	}
	w->below = calloc(w->count * w->count + 1, sizeof(*w->below));
	return w->below ? 0 : -ENOMEM;
}

/*
 * Of thousands of functions nearly every pair is nested somewhere, for next to no time. Kept is what a caller asks for:
 * what belongs to what and, where calls were probed, all of it, for the rates of the probed.
 */
static int walk_end(struct gather_walk *w)
{
	struct advise_input *in = &w->g->input;
	double belongs = w->g->offload && w->g->offload->items_cnt ? 0 : ADVISE_BELONGS;
	size_t cap = 0;

	for (size_t above = 0; above < w->count; above++)
		for (size_t below = 0; below < w->count; below++) {
			double share = w->below[above * w->count + below];
			struct advise_nesting n = { w->large[above], w->large[below], share };

			if (share > 0 && share >= belongs * in->function[n.below].share.value &&
			    !PUSH(in->nesting, in->nestings, cap, 64, n))
				return -ENOMEM;
		}
	return 0;
}

static void walk_release(struct gather_walk *w)
{
	free(w->index);
	free(w->large);
	free(w->below);
	free(w->in_program);
	intern_release(&w->calls);
	map_release(&w->kernel);
}

static void kernel_part(struct gather_walk *w, struct advise_function *above, size_t row, const char *call,
			double share)
{
	bool moves = moves_data(call);
	double *all = moves ? &above->kernel : &above->memory;
	double *most = moves ? &above->kernel_most : &above->memory_most;
	uint32_t id = intern_str(&w->calls, call, NULL);
	uint64_t *at = id ? map_put(&w->kernel, (uint64_t)row << 32 | id, NULL) : NULL;
	double sum;

	if (!at) {
		w->failed = true;
		return;
	}
	memcpy(&sum, at, sizeof(sum)); /* all bits zero are 0.0 */
	sum += share;
	memcpy(at, &sum, sizeof(sum));
	*all += share;
	if (sum > *most) {
		*most = sum;
		*(moves ? &above->kernel_call : &above->memory_call) = call;
	}
}

/* One stack, leaf first, each function once. */
static void walk_stack(struct gather_walk *w, const uint32_t *ids, size_t n, const char *call, double share)
{
	struct advise_function *f = w->g->input.function;
	uint32_t once[DEEPEST];
	size_t count = 0, program = 0;

	for (size_t i = 0; i < n && count < DEEPEST; i++) {
		once[count] = ids[i];
		if (!seen_before(once, count))
			count++;
	}
	/* the outermost of the program: where the stack begins, the C library calls it, which is no callback */
	for (size_t i = 0; i + 1 < count; i++)
		program = w->in_program[once[i]] ? i : program;
	for (size_t i = 0; i < count; i++) {
		struct advise_function *above = &f[once[i]];
		size_t row = w->index[once[i]];

		if (!row)
			continue;
		if (call)
			kernel_part(w, above, row, call, share);
		for (size_t k = 0; k < i; k++)
			if (w->index[once[k]])
				w->below[(row - 1) * w->count + w->index[once[k]] - 1] += share;
		/* a library's function that the program called, and that calls the program's code */
		if (i && program > i && w->in_program[once[i - 1]] && !w->in_program[once[i]] && !above->system)
			above->calls_back = f[once[i - 1]].name;
	}
}

/* The object that stacks begin in is the program; libc starts it, and is no library that is called back from. */
static const char *program_object(const struct gathered *g)
{
	return *g->flow_input.program ? g->flow_input.program : NULL;
}

static int nestings(struct gathered *g)
{
	const struct profile *p = g->profile;
	enum profile_unit unit = profile_unit(p);
	struct gather_walk w = { .g = g, .total = p->weight[unit] };
	struct share_path path = { 0 };
	const char *arch = profile_meta(p, "arch");
	double *weight = calloc(p->stack_count + 1, sizeof(*weight)); /* of each stack, in all threads */
	int err = weight ? walk_begin(&w, program_object(g)) : -ENOMEM;

	for (size_t i = 0; i < p->cell_count && !err; i++)
		weight[p->cells[i].stack] += fmax(p->cells[i].weight[unit], 0);
	for (size_t i = 0; i < p->cell_count && !err && w.total > 0; i++) {
		const struct profile_cell *c = &p->cells[i];
		const struct profile_stack *s = &p->stacks[c->stack];
		const char *call = NULL;

		if (!(weight[c->stack] > 0) || !s->count)
			continue;
		for (uint32_t k = 0; k < s->count && k < 2; k++) {
			const struct profile_frame *f = &p->frames[p->stack_frames[s->first + k]];

			if (p->modules[f->module].kind != FMT_MOD_KERNEL || f->addr == FMT_KERNEL_OTHER)
				continue;
			call = syscall_name(arch, (long)f->addr);
			call = call ? call : "a system call";
		}
		err = share_path(p, c->stack, false, &path);
		if (!err)
			walk_stack(&w, path.ids, path.count, call, weight[c->stack] / w.total);
		weight[c->stack] = 0;
	}
	err = err ? err : w.failed ? -ENOMEM : walk_end(&w);
	free(weight);
	free(path.ids);
	walk_release(&w);
	return err;
}

/* ---- calls ---- */

static void counted(struct gathered *g)
{
	struct advise_input *in = &g->input;
	const struct profile *p = g->profile;

	for (size_t i = 0; p->has_exact && i < p->function_count; i++)
		if (p->exact[i].calls) {
			double calls = (double)p->exact[i].calls / in->seconds;

			in->function[i].calls_per_s = FIGURE_EXACT(calls);
			in->function[i].calls_from = "exact";
		}
	for (size_t i = 0; g->has_counts && i < g->counts.row_count; i++) {
		const struct counts_row *r = &g->counts.row[i];
		const struct counts_figure *s = &r->second;
		double per_s = g->counts.cpu_seconds / in->seconds; /* of CPU time, to elapsed */
		bool known = counts_figure_known(s), most = counts_at_most(s);
		int at = known || most ? gather_function_named(in, r->name, r->object) : -1;
		struct advise_function *f = at < 0 ? NULL : &in->function[at];

		/* of several parts of a function the largest comes first */
		if (!f || f->calls_from || !isnan(f->calls_per_s.high))
			continue;
		f->calls_per_s = (struct figure){ s->value * per_s, s->low * per_s, s->high * per_s };
		f->calls_from = !known ? NULL : r->calls_counted ? "segments" : "counts";
	}
}

/* ---- bytes ---- */

/* What a function reads of others is no more than its loads move, however little is known of who wrote it. */
static void keep_to_loads(struct gathered *g)
{
	struct advise_input *in = &g->input;
	double per_s = g->counts.cpu_seconds / in->seconds; /* of CPU time, to elapsed */

	for (size_t i = 0; g->has_counts && g->counts.speed.known && i < g->counts.row_count; i++) {
		const struct counts_row *r = &g->counts.row[i];
		int at = r->load_bytes > 0 ? gather_function_named(in, r->name, r->object) : -1;
		struct advise_function *f = at < 0 ? NULL : &in->function[at];
		double sd = log(r->share.high / r->share.value) / Z95, most;

		if (!f || !(f->self >= LEAF * f->share.value) || isnan(sd))
			continue;
		sd = sqrt(sd * sd + LOADS_SD * LOADS_SD + pow(log(g->counts.speed.high) / Z95, 2));
		most = r->load_bytes * per_s * exp(normal_half(0.9) * sd);
		f->in_high = fmin(f->in_high, fmax(f->in, most));
	}
}

static int gather_bytes(struct gathered *g)
{
	struct advise_input *in = &g->input;
	const struct flow *f = &g->flow;
	size_t count = g->profile->function_count;
	uint32_t *flow_of = g->has_flow ? flow_input_join(&g->flow_input, f, count) : NULL, *of;

	if (!g->has_flow)
		return 0;
	of = malloc((f->func_count + 1) * sizeof(*of));
	in->edge = calloc(f->edge_count + 1, sizeof(*in->edge));
	if (!flow_of || !of || !in->edge) {
		free(flow_of);
		free(of);
		return -ENOMEM;
	}
	for (size_t i = 0; i <= f->func_count; i++)
		of[i] = ADVISE_ELSEWHERE;
	for (size_t i = 0; i < count; i++) {
		const struct flow_func *n = flow_of[i] < f->func_count ? &f->funcs[flow_of[i]] : NULL;
		struct advise_function *a = &in->function[i];

		if (!n)
			continue;
		of[flow_of[i]] = (uint32_t)i;
		if (!f->inclusive || n->inc.samples == 0)
			continue;
		a->in = n->inc.in / in->seconds;
		a->in_low = n->inc.in_low / in->seconds;
		a->in_high = n->inc.in_high / in->seconds;
		a->out = n->inc.out / in->seconds;
		a->out_low = n->inc.out_low / in->seconds;
		a->out_high = n->inc.out_high / in->seconds;
		a->compute = n->inc.compute / in->seconds;
		a->array_share = n->array_share;
	}
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];
		const char *from = f->funcs[e->producer].name;

		in->edge[in->edges++] =
			(struct advise_edge){ .from = of[e->producer],
					      .to = of[e->consumer],
					      .bytes = e->bytes / in->seconds,
					      .unique = e->unique,
					      .before = !strcmp(from, FLOW_OUTSIDE) || !strcmp(from, FLOW_BEFORE) };
	}
	in->has_flow = true;
	keep_to_loads(g);
	free(flow_of);
	free(of);
	return 0;
}

/* ---- all ---- */

static void frame_of(struct gathered *g)
{
	const struct profile *p = g->profile;
	struct advise_input *in = &g->input;
	double ns = p->duration_ns                 ? (double)p->duration_ns
		    : p->last_time > p->first_time ? (double)(p->last_time - p->first_time)
						   : NAN;

	if (p->has_exact && !(ns > 0))
		ns = g->flow_input.duration_ns;
	in->seconds = ns / 1e9;
	in->cpu_per_s = p->weight[PROFILE_TIME] / in->seconds;
	in->taken = p->has_cost && p->cost.target_cpu_ns
			    ? (double)p->cost.target_lost_ns / (double)p->cost.target_cpu_ns
			    : NAN;
	in->engine = profile_meta(p, "engine");
	in->machine = profile_meta(p, "host");
	in->labels = profile_meta(p, META_LABELS);
	in->switch_ns = NAN;
	if (profile_meta(p, "attached_switch_ns"))
		in->switch_ns = strtod(profile_meta(p, "attached_switch_ns"), NULL);
	for (size_t i = 0; i < p->thread_count; i++) {
		const struct profile_thread *t = &p->threads[i];
		double w = 0;

		for (size_t k = 0; k < t->cell_count; k++)
			w += p->cells[t->first_cell + k].weight[PROFILE_TIME];
		in->threads += w >= BUSY * p->weight[PROFILE_TIME] && w > 0;
	}
}

static int failed_at(const char *path, int err, struct err *e)
{
	if (err && !e->code)
		err_set(e, err, "%s: %s", path, err == -ENOMEM ? "out of memory" : strerror(-err));
	return err;
}

int gather_flow(struct gathered *g, const char *path, const struct filter *f, struct err *e)
{
	int err;

	*g = (struct gathered){ .part = 1 };
	flow_init(&g->flow);
	err = load_gathered(g, path, f, e);
	err = err ? err : keep_processes(g, path, f, e);
	if (err)
		return err;
	estimate_flow(g);
	err = shares_compute(g->profile, &(struct shares_opts){ .thread = SHARES_ALL_THREADS }, &g->shares, e);
	if (err)
		return err;
	frame_of(g);
	return failed_at(path, functions(g), e);
}

int gather(struct gathered *g, const char *path, const struct filter *f, struct err *e)
{
	int err = gather_flow(g, path, f, e);

	if (err)
		return err;
	err = nestings(g);
	err = err ? err : threads_of(g);
	err = err ? err : waiting(g, f);
	if (!err)
		counted(g);
	err = err ? err : gather_bytes(g);
	err = err ? err : gather_probed(g);
	if (!err)
		gather_rates_by_time(g);
	if (!err)
		gather_idle(g);
	return failed_at(path, err, e);
}

void gathered_release(struct gathered *g)
{
	advise_input_release(&g->input);
	if (g->profile)
		shares_release(&g->shares);
	flow_release(&g->flow);
	flow_input_release(&g->flow_input);
	counts_report_release(&g->counts);
	counts_record_release(&g->counts_record);
	offload_summary_free(g->offload);
	profile_free(g->profile);
}
