// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trimming, after Sigil: what a function could save at best is its time less the least that any device takes for its
 * calls and bytes. It is a candidate when nothing below it could save more; what lies below a candidate is part of it,
 * unless its name or a probe says that devices take just that.
 */
#include "advise/candidates.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/verdict.h"
#include "util/grow.h"
#include "util/suggest.h"

#define MOSTLY 0.5       /* more than half */
#define ARRAYS 0.5       /* of the distinct addresses: with less in larger objects, data are small objects */
#define BULK 64.         /* bytes: a cache line */
#define SYSTEM 0.01      /* share of the time: less in system calls is errors' and start-up's */
#define LONGEST_CHAIN 16 /* functions; by hand */
#define COUNT_WIDE 100.  /* highest over lowest, ten times each way: nothing of a call is known then; by hand */
#define NARROWEST 1e-6   /* half an interval, in logarithms: of an exact rate */
#define ENDS_AGREE .9    /* the lower over the upper: the value may be taken for known */
#define NOTHING_COUNTED "nothing counted its calls; record for 60 s or longer"

const char *candidate_kind_str(enum candidate_kind k)
{
	static const char *const name[] = { "function", "set", "chain", "offload" };

	return (unsigned)k < sizeof(name) / sizeof(*name) ? name[k] : "unknown";
}

const char *candidate_level_text(const struct candidate *c, char text[64])
{
	if (c->levelled && c->part < 1)
		snprintf(text, 64, ", level %d (%.1f%% of its calls)", c->level, 100 * c->part);
	else if (c->part < 1)
		snprintf(text, 64, ", level not seen (%.1f%% of its calls)", 100 * c->part);
	else
		snprintf(text, 64, c->levelled ? ", level %d" : "", c->level);
	return text;
}

void advise_input_release(struct advise_input *in)
{
	for (size_t i = 0; i < in->functions; i++)
		free(in->function[i].size);
	free(in->function);
	free(in->edge);
	free(in->nesting);
	free(in->text);
	*in = (struct advise_input){ 0 };
}

void candidates_release(struct candidates *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->at[i].name);
		free(c->at[i].function);
	}
	free(c->at);
	*c = (struct candidates){ 0 };
}

/* ---- figures ---- */

static struct figure divided(struct figure a, struct figure b)
{
	if (!figure_known(&a) || !(b.value > 0))
		return FIGURE_UNKNOWN;
	if (!figure_bounded(&a) || !figure_bounded(&b) || !(b.low > 0))
		return (struct figure){ a.value / b.value, NAN, NAN };
	return (struct figure){ a.value / b.value, a.low / b.high, a.high / b.low };
}

static struct figure scaled(struct figure a, double by)
{
	return (struct figure){ a.value * by, a.low * by, a.high * by };
}

static struct figure summed(struct figure a, struct figure b)
{
	return (struct figure){ a.value + b.value, a.low + b.low, a.high + b.high };
}

/* A share of the time that the service takes alone, from one of the time while it was recorded. Whose time the
 * recording took is not known: none of this share's, or all of it. */
static struct figure without_recording(struct figure share, double taken)
{
	double left = taken > 0 ? fmax(1 - taken, 0) : 1;

	if (!figure_known(&share))
		return share;
	share.value = fmin(share.value, 1);
	if (left < 1)
		share.low = left > 0 ? fmax(share.low - taken, 0) / left : 0;
	share.high = left > 0 ? fmin(share.high / left, 1) : 1;
	return share;
}

/* What is inside is no traffic of the whole: the relative interval stays. */
static struct figure without_inside(struct figure a, double inside)
{
	double left = a.value > inside ? a.value - inside : 0;

	return a.value > 0 ? scaled(a, left / a.value) : a;
}

/* ---- what lies below what ---- */

/* A square table of the functions of ADVISE_LARGE and more: share of the time of one below another. */
struct candidates_tree {
	const struct advise_input *in;
	uint32_t *large; /* functions */
	size_t count;
	uint32_t *index; /* by function: into large, + 1 */
	double *below;   /* [above * count + below] */
};

static bool is_large(const struct advise_function *f)
{
	return !f->of_level && (f->self >= ADVISE_LARGE || f->share.value >= ADVISE_LARGE);
}

static int tree_build(struct candidates_tree *t, const struct advise_input *in)
{
	*t = (struct candidates_tree){ .in = in };
	t->large = calloc(in->functions + 1, sizeof(*t->large));
	t->index = calloc(in->functions + 1, sizeof(*t->index));
	if (!t->large || !t->index)
		return -ENOMEM;
	for (size_t i = 0; i < in->functions; i++)
		if (is_large(&in->function[i])) {
			t->large[t->count] = (uint32_t)i;
			t->index[i] = (uint32_t)++t->count;
		}
	t->below = calloc(t->count * t->count + 1, sizeof(*t->below));
	if (!t->below)
		return -ENOMEM;
	for (size_t i = 0; i < in->nestings; i++) {
		const struct advise_nesting *n = &in->nesting[i];
		uint32_t a = n->above < in->functions ? t->index[n->above] : 0;
		uint32_t b = n->below < in->functions ? t->index[n->below] : 0;

		if (a && b && a != b)
			t->below[(a - 1) * t->count + b - 1] += n->share;
	}
	return 0;
}

static void tree_release(struct candidates_tree *t)
{
	free(t->large);
	free(t->index);
	free(t->below);
}

/* Is most of b's time spent below a? */
static bool lies_below(const struct candidates_tree *t, size_t a, size_t b)
{
	return a != b && t->below[a * t->count + b] >= ADVISE_BELONGS * t->in->function[t->large[b]].share.value;
}

/* ---- why not ---- */

static double time_per_s(const struct advise_input *in, const struct advise_function *f)
{
	return f->share.value * in->cpu_per_s;
}

/* Where probes saw so little that the calls are known from below only, time over calls is no time of a call. */
static bool known_from_below(const struct figure *calls)
{
	return figure_known(calls) && calls->value == calls->low && isnan(calls->high);
}

bool candidate_rate_is_bound(const struct candidate *c)
{
	return known_from_below(&c->calls_per_s);
}

static double ns_per_call(const struct advise_input *in, const struct advise_function *f)
{
	if (figure_known(&f->ns_per_call))
		return f->ns_per_call.value;
	return known_from_below(&f->calls_per_s) ? NAN : time_per_s(in, f) / f->calls_per_s.value;
}

/* What a device takes the name for: no property of the code decides then, the figures do. */
static bool known_work(const struct advise_function *f)
{
	return f->kinds || f->operation || f->sizes;
}

/* The C library's ways into a program and a thread: called once, all the work lies below. */
static bool begins(const char *name)
{
	static const char *const all[] = { "_start",
					   "__libc_start_main",
					   "__libc_start_main_impl",
					   "__libc_start_call_main",
					   "main",
					   "start_thread",
					   "clone",
					   "clone3",
					   "__clone",
					   "__clone3",
					   "__GI___clone3" };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(name, all[i]))
			return true;
	return false;
}

/* A probe finds it by this name. */
static bool is_symbol(const char *name)
{
	return *name && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

/* What helps where a count is unknown and a probe can count; alone: nothing else does. */
static void say_probe(const struct advise_function *f, bool alone, char how[200])
{
	const char *object = f->object && *f->object ? f->object : NULL;

	*how = 0;
	/* of several names of a function, as debug symbols have it: not what its file exports */
	if (!strncmp(f->name, "__", 2))
		snprintf(how, 200, "probe it by the name that `nm -D` has for it in %.60s",
			 object ? object : "its file");
	else if (is_symbol(f->name))
		snprintf(how, 200, "%s--offload-probe '%.40s:%.60s'", alone ? "record with " : "",
			 object ? object : "FILE", f->name);
	else if (strstr(f->name, "+0x"))
		snprintf(how, 200, "install the debug symbols of %.60s, and probe it by its name",
			 object ? object : "its file");
}

static void say_uncounted(const struct advise_input *in, const struct advise_function *f, char *why, size_t size)
{
	const char *generally = in->uncounted ? in->uncounted : NOTHING_COUNTED;
	const struct figure *calls = &f->calls_per_s;
	bool bound = calls->high > 0 && isfinite(calls->high);
	char how[200], each[24];

	say_probe(f, bound || in->uncountable, how);
	if (bound) {
		advise_time(each, time_per_s(in, f) / calls->high);
		snprintf(why, size,
			 "unknown count: a call takes %s or more, too seldom to be counted without breakpoints; %s",
			 each, *how ? how : generally);
	} else if (!*how) {
		snprintf(why, size, "unknown count: %s", generally);
	} else {
		snprintf(why, size, "unknown count: %s%s%s", in->uncountable ? "" : generally,
			 in->uncountable ? "" : "; or ", how);
	}
}

/* A call's time and bytes would be known no better, and what a device would have to reach. */
static bool counted_widely(const struct figure *calls)
{
	return figure_bounded(calls) && !(calls->high < COUNT_WIDE * calls->low);
}

static void say_wide(const struct advise_function *f, char *why, size_t size)
{
	char how[200];

	say_probe(f, false, how);
	snprintf(why, size,
		 "unknown count: between %.0f and %.0f calls a second; record longer, or with --effort high%s%s",
		 f->calls_per_s.low, f->calls_per_s.high, *how ? "; or " : "", how);
}

static void say_unnamed(const struct advise_function *f, char *why, size_t size)
{
	const char *object = f->object && *f->object ? f->object : "its file";

	if (!strcmp(object, "[anon]") || !strcmp(object, "[jit]"))
		snprintf(
			why, size,
			"code made at run time, without a name: its calls cannot be counted; start its runtime with a perf map (node "
			"--perf-basic-prof, python3 -X perf)");
	else if (*object == '[')
		snprintf(why, size, "the kernel's own code: its calls cannot be replaced");
	else
		snprintf(why, size, "code without a name: its calls cannot be counted; install the debug symbols of %s",
			 object);
}

/* Of a function's own time with all it calls: what the kernel does for it that no device can. Input and output hold any
 * function back; memory and locks are a function's own work only where they are most of it. 0: neither. */
static double in_system_calls(const struct advise_function *f)
{
	if (f->kernel > SYSTEM * f->share.value || f->kernel + f->memory > MOSTLY * f->share.value)
		return fmin((f->kernel + f->memory) / f->share.value, 1);
	return 0;
}

static void say_system_call(const struct advise_function *f, double all, char *why, size_t size)
{
	bool moves = f->kernel_call && !(f->memory_most > f->kernel_most);
	const char *call = moves ? f->kernel_call : f->memory_call;
	double most = fmin((moves ? f->kernel_most : f->memory_most) / f->share.value, 1);
	char others[48] = "";

	if (call && all - most >= 0.0005) /* .1 % when rounded */
		snprintf(others, sizeof(others), ", others %.1f%%", 100 * (all - most));
	snprintf(why, size, "system call inside: %s takes %.1f%% of the time in it and below%s",
		 call ? call : "input and output", 100 * (call ? most : all), others);
}

#define SAY(...) (snprintf(why, size, __VA_ARGS__), true)

/* True: it is no candidate, for that reason. */
static bool reason_of(const struct advise_input *in, const struct advise_function *f, char *why, size_t size)
{
	double ns = ns_per_call(in, f), bytes = (f->in + f->out) / f->calls_per_s.value;
	double kernel = in_system_calls(f);

	if (f->system)
		return SAY("the kernel's own work");
	if (f->unnamed)
		return say_unnamed(f, why, size), true;
	if (begins(f->name))
		return SAY("where a program or a thread begins: called once, and what it does lies below");
	if (kernel > 0 && !known_work(f))
		return say_system_call(f, kernel, why, size), true;
	if (f->calls_back && !known_work(f))
		return SAY("callback: it calls back into %s", f->calls_back);
	if (f->inlined)
		return SAY("inlined everywhere: there is no call of it to replace; ask for its caller with --set");
	if (!(in->cpu_per_s > 0))
		return SAY("unknown time: the exact engine counts instructions; record the program as it runs");
	if (!(f->calls_per_s.value > 0))
		return say_uncounted(in, f, why, size), true;
	if (ns < in->least_overhead_ns && !known_work(f))
		return SAY("too short a call: %.0f ns, and the quickest device (%s) takes %.0f ns to begin", ns,
			   in->least_overhead_device ? in->least_overhead_device : "of the catalogue",
			   in->least_overhead_ns);
	if (f->array_share < ARRAYS && bytes > 0 && !known_work(f))
		return SAY(
			"pointer-chasing with no bulk data: %.0f%% of the addresses lie in objects of less than 1 KB",
			100 * (1 - f->array_share));
	if (bytes < BULK && f->array_share < ARRAYS && !known_work(f))
		return SAY("no bulk data: %.0f bytes a call", bytes);
	return false;
}

/* ns per second that a device could save at best; NaN where it is not known. */
static double saving(const struct advise_input *in, const struct advise_function *f)
{
	double calls = in->least_overhead_ns * f->calls_per_s.value, bytes = in->least_ns_per_byte * (f->in + f->out);

	return time_per_s(in, f) - (isnan(calls) ? 0 : calls) - (isnan(bytes) ? 0 : bytes);
}

/* ---- candidates ---- */

static struct candidate *add_candidate(struct candidates *c, enum candidate_kind kind, const char *name, size_t members)
{
	struct candidate *n = GROW(c->at, c->count, c->cap, 16) ? &c->at[c->count] : NULL;
	struct figure u = FIGURE_UNKNOWN;

	if (!n)
		goto failed;
	*n = (struct candidate){ .kind = kind,
				 .name = strdup(name),
				 .function = calloc(members ? members : 1, sizeof(*n->function)),
				 .calls_per_s = u,
				 .ns_per_call = u,
				 .p50 = NAN,
				 .p90 = NAN,
				 .p99 = NAN,
				 .bytes_in = u,
				 .bytes_out = u,
				 .unique_in = u,
				 .unique_out = u,
				 .resident = u,
				 .ops_per_byte = u,
				 .share = u,
				 .wait_share = u,
				 .ready_part = NAN,
				 .thread_share = u,
				 .elapsed_share = u,
				 .part = NAN,
				 .within = NAN };
	c->count++;
	if (n->name && n->function)
		return n;
failed:
	c->failed = true;
	return NULL;
}

/* Whether function f is one of the candidate's members or nearly always below one. */
static bool covers(const struct candidates_tree *t, const struct candidate *c, uint32_t f)
{
	for (size_t i = 0; i < c->functions; i++) {
		if (c->function[i] == f)
			return true;
		if (t->index[f] && t->index[c->function[i]] &&
		    lies_below(t, t->index[c->function[i]] - 1, t->index[f] - 1))
			return true;
	}
	return false;
}

struct traffic {
	double inside;                /* between members, those below them included */
	double unique_in, unique_out; /* NaN unknown */
	double before;                /* read of what was written before recording, or never */
};

/* Bytes per second from one member's calls to another's, and what crosses the border of all. */
static struct traffic traffic_of(const struct candidates_tree *t, const struct candidate *c)
{
	const struct advise_input *in = t->in;
	struct traffic s = { 0 };
	uint8_t *member = calloc(in->functions + 1, 1); /* 1 + which; 0: none */

	if (!member)
		return (struct traffic){ NAN, NAN, NAN, NAN };
	for (size_t f = 0; f < in->functions; f++)
		for (size_t i = 0; i < c->functions && i < 255 && !member[f]; i++) {
			struct candidate one = { .function = &c->function[i], .functions = 1 };

			if (covers(t, &one, (uint32_t)f))
				member[f] = (uint8_t)(i + 1);
		}
	for (size_t i = 0; i < in->edges; i++) {
		const struct advise_edge *e = &in->edge[i];
		int from = e->from < in->functions ? member[e->from] : 0,
		    to = e->to < in->functions ? member[e->to] : 0;

		if (from && to) {
			s.inside += from != to ? e->bytes : 0;
			continue;
		}
		if (to) {
			s.unique_in += e->unique;
			s.before += e->before ? e->bytes : 0;
		}
		if (from)
			s.unique_out += e->unique;
	}
	free(member);
	return s;
}

/* Distinct addresses of `calls` calls together: one of them has no more, nor more than it moves, and on average no less
 * than its part. Where the two ends differ, which is true cannot be told: no value. */
static struct figure unique_per_call(double all, struct figure moved, struct figure calls)
{
	double most = fmin(all, moved.value), least = fmin(all / calls.value, most);
	struct figure out = FIGURE_UNKNOWN;

	if (isnan(all) || !figure_known(&moved) || !(calls.value > 0) || (all == 0 && moved.value > 0))
		return out; /* the last: bytes that moved, and no edge tells of where */
	out.low = fmin(all / fmax(calls.high, calls.value), most);
	out.high = fmin(all, fmax(moved.high, moved.value));
	if (least >= ENDS_AGREE * most)
		out.value = most;
	return out;
}

static void flows(const struct candidates_tree *t, struct candidate *c, struct figure in, struct figure out,
		  double compute)
{
	const struct advise_input *input = t->in;
	struct figure calls = candidate_rate_is_bound(c) ? FIGURE_UNKNOWN : c->calls_per_s;
	struct traffic s;

	if (!input->has_flow)
		return;
	s = traffic_of(t, c);
	c->within = c->functions > 1 && in.value + out.value > 0 ? 2 * s.inside / (in.value + out.value) : NAN;
	in = without_inside(in, s.inside);
	out = without_inside(out, s.inside);
	if (compute >= 0 && in.value + out.value > 0)
		c->ops_per_byte = divided((struct figure){ compute, compute, compute }, summed(in, out));
	c->bytes_in = divided(in, calls);
	c->bytes_out = divided(out, calls);
	c->unique_in = unique_per_call(s.unique_in, c->bytes_in, scaled(calls, input->seconds));
	c->unique_out = unique_per_call(s.unique_out, c->bytes_out, scaled(calls, input->seconds));
	if (figure_known(&c->bytes_in)) {
		double stays = fmin(s.before / calls.value, c->bytes_in.value);

		c->resident = c->bytes_in.value > 0 ? scaled(c->bytes_in, stays / c->bytes_in.value) : c->bytes_in;
	}
}

/* Part of the time of calls that wait so long and run so long per second. */
static struct figure wait_beside(struct figure wait, struct figure run)
{
	if (!figure_known(&wait) || !(wait.value + run.value > 0))
		return FIGURE_UNKNOWN;
	return (struct figure){ wait.value / (wait.value + run.value),
				wait.low > 0 ? wait.low / (wait.low + run.high) : 0,
				wait.high > 0 ? wait.high / (wait.high + run.low) : wait.high };
}

/*
 * How often stages hand on to each other. Where their intervals have a rate in common that is one rate, seen as often
 * as there are stages: its value is the mean of the logarithms, each by how closely it is known, and the least of them
 * would be too low by what they scatter. What is wrong with it is wrong with all, so it is known no more closely than
 * the best of them.
 */
static struct figure rate_in_common(const struct advise_input *in, const struct candidate *c, struct figure least)
{
	double from = 0, to = INFINITY, sum = 0, weight = 0, narrowest = INFINITY, value;

	for (size_t i = 0; i < c->functions; i++) {
		const struct figure *r = &in->function[c->function[i]].calls_per_s;
		double half;

		if (!figure_bounded(r) || !(r->low > 0) || !isfinite(r->high))
			return least;
		from = fmax(from, r->low);
		to = fmin(to, r->high);
		half = fmax(log(r->high / r->low) / 2, NARROWEST);
		narrowest = fmin(narrowest, half);
		sum += log(r->value) / (half * half);
		weight += 1 / (half * half);
	}
	if (!(from <= to))
		return least;
	value = fmin(fmax(exp(sum / weight), from), to);
	return (struct figure){ value, value * exp(-narrowest), value * exp(narrowest) };
}

/* Both times were taken of the same calls; few of them, or such as a probe made far longer, are no measure. */
static void wait_as_probed(struct candidate *c, const struct advise_function *f)
{
	if (c->probed && f->wait_of_all && !isnan(f->wait_share))
		c->wait_share = FIGURE_EXACT(f->wait_share);
	else if (c->probed && !figure_known(&c->wait_share))
		c->wait_share.value = f->wait_share;
}

/* Of so long a wait. */
static double ready_of(const struct advise_input *in, const struct candidate *c, double waits)
{
	double ready = 0;

	for (size_t i = 0; i < c->functions; i++)
		ready += in->function[c->function[i]].ready_ns;
	return waits > 0 ? fmin(ready / waits, 1) : NAN;
}

static void fill_candidate(const struct candidates_tree *t, struct candidate *c)
{
	const struct advise_input *in = t->in;
	struct figure bytes_in = { 0, 0, 0 }, bytes_out = { 0, 0, 0 }, share = { 0, 0, 0 }, calls = FIGURE_UNKNOWN;
	struct figure waits = { 0, 0, 0 };
	bool timed;
	const struct advise_function *f = &in->function[c->function[0]];
	double compute = 0;

	for (size_t i = 0; i < c->functions; i++) {
		const struct advise_function *m = &in->function[c->function[i]];

		bytes_in = summed(bytes_in, (struct figure){ m->in, m->in_low, m->in_high });
		bytes_out = summed(bytes_out, (struct figure){ m->out, m->out_low, m->out_high });
		share = summed(share, m->share);
		waits = summed(waits, m->wait_ns);
		compute += m->compute;
		/* one call of the whole hands on to all members: as often as the least called */
		if (m->calls_per_s.value > 0 && !(m->calls_per_s.value >= calls.value))
			calls = m->calls_per_s;
		c->stream |= m->stream;
	}
	if (c->functions == 1)
		calls = f->calls_per_s;
	else if (c->kind == CANDIDATE_CHAIN)
		calls = rate_in_common(in, c, calls);
	share = without_recording(share, in->taken);
	c->share = share;
	c->calls_per_s = calls;
	c->ns_per_call = known_from_below(&calls) ? FIGURE_UNKNOWN : divided(scaled(share, in->cpu_per_s), calls);
	c->kinds = c->functions == 1 ? f->kinds : 0;
	c->operation = c->functions == 1 ? f->operation : NULL;
	if (c->functions == 1 && f->sizes) {
		c->probed = f;
		c->ns_per_call = figure_closer(f->ns_per_call, c->ns_per_call);
		c->p50 = f->p50;
		c->p90 = f->p90;
		c->p99 = f->p99;
	}
	/* the probe's part, alike for all sizes, is an input of its own */
	timed = c->probed && figure_known(&f->timed) && c->ns_per_call.low == f->ns_per_call.low &&
		c->ns_per_call.high == f->ns_per_call.high;
	if (c->functions == 1) {
		c->thread_share = without_recording(f->thread_share, in->taken);
		c->elapsed_share = figure_may_be_any_share(&c->thread_share)
					   ? FIGURE_UNKNOWN
					   : without_recording(f->elapsed_share, in->taken);
	}
	c->wait_share = wait_beside(waits, scaled(share, in->cpu_per_s));
	c->ready_part = ready_of(in, c, waits.value);
	wait_as_probed(c, f);
	flows(t, c, bytes_in, bytes_out, compute);
	/* what an argument says was counted; of what goes out it may say nothing */
	if (c->probed && f->argument_in.value + f->argument_out.value > 0) {
		c->bytes_in = c->unique_in = f->argument_in;
		if (f->argument_out.value > 0 || !figure_known(&c->bytes_out))
			c->bytes_out = f->argument_out.value > 0 ? f->argument_out : FIGURE_UNKNOWN;
		if (f->argument_out.value > 0)
			c->unique_out = f->argument_out;
		if (c->resident.value > c->bytes_in.value)
			c->resident = FIGURE_UNKNOWN;
	}
	c->work = (struct predict_work){ .size = c->probed ? f->size : NULL,
					 .sizes = c->probed ? f->sizes : 0,
					 .ns_per_call = c->ns_per_call,
					 .timed = timed ? f->timed : FIGURE_UNKNOWN,
					 .beside = c->probed ? f->beside : FIGURE_EXACT(0),
					 .cold = c->probed ? f->cold : 0,
					 .scv = c->probed ? f->scv : NAN,
					 .calls_per_s = known_from_below(&calls) ? FIGURE_UNKNOWN : calls,
					 .bytes_in = c->bytes_in,
					 .bytes_out = c->bytes_out,
					 .resident = c->resident,
					 .t0 = c->probed ? f->t0 : FIGURE_UNKNOWN,
					 .C = c->probed ? f->C : FIGURE_UNKNOWN,
					 .beta = c->probed ? f->beta : FIGURE_UNKNOWN,
					 .share_thread = figure_may_be_any_share(&c->thread_share) ? FIGURE_UNKNOWN
												   : c->thread_share,
					 .share_process = figure_may_be_any_share(&share) ? FIGURE_UNKNOWN : share,
					 .threads = in->threads,
					 .switch_ns = in->switch_ns,
					 .other_load = NAN };
}

static struct candidate *candidates_add_one(const struct candidates_tree *t, struct candidates *out, uint32_t f)
{
	const struct advise_function *fn = &t->in->function[f];
	struct candidate *c = add_candidate(out, fn->offload ? CANDIDATE_OFFLOAD : CANDIDATE_FUNCTION, fn->name, 1);

	if (!c)
		return NULL;
	c->function[c->functions++] = f;
	c->levelled = fn->levelled;
	c->level = fn->level;
	c->part = fn->part;
	fill_candidate(t, c);
	return c;
}

/* ---- functions ---- */

/* The rate of a chain is what its stages' rates have in common: each may be known widely. */
static bool is_none(const struct advise_input *in, const struct advise_function *f, char *why, size_t size)
{
	if (reason_of(in, f, why, size))
		return true;
	if (!counted_widely(&f->calls_per_s) || known_work(f))
		return false;
	say_wide(f, why, size);
	return true;
}

enum candidates_state { OUT, ABLE, TAKEN };

/* Which of the large functions are candidates; reasons of the others. */
static void trim(const struct candidates_tree *t, struct candidates *out, uint8_t *state)
{
	const struct advise_input *in = t->in;
	char why[sizeof(out->at->reason)];

	for (size_t i = 0; i < t->count; i++)
		state[i] = is_none(in, &in->function[t->large[i]], why, sizeof(why)) ? OUT : ABLE;
	for (size_t i = 0; i < t->count; i++) {
		const struct advise_function *f = &in->function[t->large[i]], *better = NULL;
		struct candidate *c;
		bool large = true;

		*why = 0;
		if (state[i] == OUT) {
			is_none(in, f, why, sizeof(why));
			large = f->self >= ADVISE_LARGE || f->share.value >= ADVISE_LARGE;
		}
		for (size_t k = 0; k < t->count && state[i] != OUT && !known_work(f); k++) {
			const struct advise_function *d = &in->function[t->large[k]];

			if (state[k] != OUT && lies_below(t, i, k) && !lies_below(t, k, i) &&
			    saving(in, d) > saving(in, f) && (!better || saving(in, d) > saving(in, better)))
				better = d;
		}
		if (better)
			snprintf(why, sizeof(why), "%.100s, below it, is better: it takes less data for its time",
				 better->name);
		for (size_t k = 0; k < t->count && state[i] != OUT && !better; k++) {
			const struct advise_function *a = &in->function[t->large[k]];
			bool same = f->operation && a->operation == f->operation; /* compress() and its deflate() */

			if (state[k] != OUT && lies_below(t, k, i) && (!lies_below(t, i, k) || k < i) &&
			    (same || (!known_work(f) && saving(in, a) >= saving(in, f)))) {
				snprintf(why, sizeof(why), "part of %.100s, which calls it", a->name);
				break;
			}
		}
		if (!large)
			continue;
		if (!*why)
			state[i] = TAKEN;
		for (uint32_t k = 0; k < f->levels && !*why; k++)
			candidates_add_one(t, out, f->first_level + k);
		if (f->levels && !*why)
			continue;
		c = candidates_add_one(t, out, t->large[i]);
		if (!c)
			return;
		memcpy(c->reason, why, sizeof(why));
	}
}

/* ---- chains ---- */

/* Large functions as stages: all that are able, or only too short. */
struct stages {
	const struct candidates_tree *t;
	uint32_t *owner; /* by function: stage + 1 */
	double *flow;    /* [from * count + to] bytes per second */
};

static bool can_be_stage(const struct candidates_tree *t, size_t i)
{
	const struct advise_input *in = t->in;
	const struct advise_function *f = &in->function[t->large[i]];
	struct advise_input endless = *in;
	char why[sizeof(((struct candidate *)0)->reason)];

	endless.least_overhead_ns = NAN; /* too short alone is just what a chain is for */
	return !reason_of(&endless, f, why, sizeof(why)) && !f->offload;
}

static bool linked(const struct stages *s, size_t a, size_t b)
{
	const struct advise_function *fa = &s->t->in->function[s->t->large[a]];
	const struct advise_function *fb = &s->t->in->function[s->t->large[b]];
	double bytes = s->flow[a * s->t->count + b];

	return bytes > MOSTLY * fa->out && bytes > MOSTLY * fb->in && !lies_below(s->t, a, b) &&
	       !lies_below(s->t, b, a);
}

static void add_candidate_chain(const struct candidates_tree *t, struct candidates *out, const size_t *stage, size_t n)
{
	char name[400] = "";
	struct candidate *c;

	for (size_t i = 0; i < n; i++)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), "%s%.60s", i ? " > " : "",
			 t->in->function[t->large[stage[i]]].name);
	c = add_candidate(out, CANDIDATE_CHAIN, name, n);
	if (!c)
		return;
	for (size_t i = 0; i < n; i++)
		c->function[c->functions++] = t->large[stage[i]];
	fill_candidate(t, c);
}

static int chains(const struct candidates_tree *t, struct candidates *out, const uint8_t *state)
{
	const struct advise_input *in = t->in;
	struct stages s = { t, calloc(in->functions + 1, sizeof(*s.owner)),
			    calloc(t->count * t->count + 1, sizeof(*s.flow)) };
	bool *stage = calloc(t->count + 1, sizeof(*stage));
	size_t *next = calloc(t->count + 1, sizeof(*next)), *before = calloc(t->count + 1, sizeof(*before));
	size_t chain[LONGEST_CHAIN];
	int err = s.owner && s.flow && stage && next && before ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->count && !err; i++)
		stage[i] = (state[i] == TAKEN || state[i] == OUT) && can_be_stage(t, i);
	for (size_t i = 0; i < t->count && !err; i++)
		for (size_t f = 0; stage[i] && f < in->functions; f++)
			if (f == t->large[i] || (!s.owner[f] && t->index[f] && lies_below(t, i, t->index[f] - 1)))
				s.owner[f] = (uint32_t)i + 1;
	for (size_t i = 0; i < in->edges && !err; i++) {
		const struct advise_edge *e = &in->edge[i];
		uint32_t a = e->from < in->functions ? s.owner[e->from] : 0;
		uint32_t b = e->to < in->functions ? s.owner[e->to] : 0;

		if (a && b && a != b)
			s.flow[(a - 1) * t->count + b - 1] += e->bytes;
	}
	/* more than half of what one writes and of what the other reads: each has one partner at most on either side */
	for (size_t a = 0; a < t->count && !err; a++)
		for (size_t b = 0; b < t->count && stage[a]; b++)
			if (stage[b] && a != b && linked(&s, a, b)) {
				next[a] = b + 1;
				before[b] = a + 1;
			}
	for (size_t a = 0; a < t->count && !err && !out->failed; a++) {
		size_t n = 0;

		if (before[a] || !next[a])
			continue;
		for (size_t at = a + 1; at && n < LONGEST_CHAIN; at = next[at - 1])
			chain[n++] = at - 1;
		add_candidate_chain(t, out, chain, n);
	}
	free(s.owner);
	free(s.flow);
	free(stage);
	free(next);
	free(before);
	return err;
}

/* ---- sets ---- */

static int find(const struct advise_input *in, const char *name, struct err *e)
{
	struct meant meant = { .typed = name };
	struct suggestion near = { 0 };

	for (size_t i = 0; i < in->functions; i++)
		meant_add(&meant, in->function[i].name);
	for (size_t i = 0; i < in->functions; i++)
		if (!strcmp(in->function[i].name, meant_name(&meant)))
			return (int)i;
	for (size_t i = 0; i < in->functions; i++)
		suggest(&near, name, strlen(name), in->function[i].name);
	if (near.name)
		return err_set(e, -ENOENT, "the profile has no function '%s'; did you mean '%s'?", name, near.name);
	return err_set(e, -ENOENT, "the profile has no function '%s'; `accperf report` lists them", name);
}

static int add_set(const struct candidates_tree *t, struct candidates *out, const struct advise_set *set, struct err *e)
{
	const struct advise_input *in = t->in;
	struct candidate *c = add_candidate(out, CANDIDATE_SET, set->name, set->functions);
	struct figure uncounted;

	if (!c)
		return -ENOMEM;
	for (size_t i = 0; i < set->functions; i++) {
		int f = find(in, set->function[i], e);

		if (f < 0)
			return f;
		if (!covers(t, c, (uint32_t)f))
			c->function[c->functions++] = (uint32_t)f;
	}
	if (!c->functions)
		return err_set(e, -EINVAL, "--set %s names no function", set->name);
	/* those below another of the set are that one's */
	for (size_t i = 0; i < c->functions;) {
		struct candidate others = { .function = c->function, .functions = 0 };
		bool below = false;

		for (size_t k = 0; k < c->functions && !below; k++) {
			others.function = &c->function[k];
			others.functions = 1;
			below = k != i && covers(t, &others, c->function[i]);
		}
		if (below)
			memmove(&c->function[i], &c->function[i + 1], (--c->functions - i) * sizeof(*c->function));
		else
			i++;
	}
	fill_candidate(t, c);
	uncounted = c->calls_per_s;
	if (!figure_known(&uncounted))
		snprintf(c->reason, sizeof(c->reason), "unknown count: %s",
			 in->uncounted ? in->uncounted : NOTHING_COUNTED);
	return 0;
}

static int by_weight(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if ((*x->reason != 0) != (*y->reason != 0))
		return *x->reason ? 1 : -1;
	if (figure_known(&x->share) != figure_known(&y->share))
		return figure_known(&x->share) ? -1 : 1;
	if (figure_known(&x->share) && x->share.value != y->share.value)
		return x->share.value < y->share.value ? 1 : -1;
	return strcmp(x->name, y->name);
}

int candidates_find(const struct advise_input *in, const struct advise_set *set, size_t sets, struct candidates *out,
		    struct err *e)
{
	struct candidates_tree t;
	uint8_t *state = NULL;
	int err = tree_build(&t, in);

	*out = (struct candidates){ .seconds = in->seconds };
	if (!err)
		state = calloc(t.count + 1, 1);
	if (!err && !state)
		err = -ENOMEM;
	for (size_t i = 0; i < sets && !err; i++)
		err = add_set(&t, out, &set[i], e);
	if (!err)
		trim(&t, out, state);
	if (!err)
		err = chains(&t, out, state);
	/* offloads made already are told of whatever time they take: most of it is not the processor's */
	for (size_t i = 0; i < in->functions && !err && !out->failed; i++)
		if (in->function[i].offload && !is_large(&in->function[i]))
			candidates_add_one(&t, out, (uint32_t)i);
	if (out->failed)
		err = -ENOMEM;
	if (!err && out->count)
		qsort(out->at, out->count, sizeof(*out->at), by_weight);
	free(state);
	tree_release(&t);
	if (err) {
		candidates_release(out);
		if (!e->code)
			err_set(e, err, "out of memory");
	}
	return err;
}
