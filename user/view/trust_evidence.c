// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts about each view, from what it is made of. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "kmod-free/stray_trap.h"
#include "store/read.h"
#include "view/trust.h"

/* Expected error of a share that n samples of equal weight tell: that of a normal deviate, sqrt(2 / pi) sigma. */
#define MEAN_DEVIATION 0.798

static double sampling_error(double share, double n)
{
	return n > 0 ? MEAN_DEVIATION * sqrt(fmax(0, share * (1 - share)) / n) : 0;
}

static double part_or_nan(double of, double all)
{
	return all > 0 ? of / all : NAN;
}

/* What a profile tells of every view that is drawn from its samples. */
static struct trust_evidence of_profile(const struct profile *p)
{
	struct trust_evidence v = trust_no_evidence();
	double samples = (double)p->samples[profile_unit(p)];
	double unsampled = (double)profile_counted(p, COUNTER_UNSAMPLED_US) * 1e3; /* ns */

	if (p->duration_ns)
		v.seconds = (double)p->duration_ns * 1e-9;
	v.fact[TRUST_WHOLE] = !*p->recovery;
	if (p->has_exact) {
		v.fact[TRUST_WHOLE] *= !profile_meta(p, "incomplete");
		return v;
	}
	if (p->lost_known)
		v.fact[TRUST_LOST] = part_or_nan((double)p->lost, (double)p->lost + samples);
	v.fact[TRUST_UNSAMPLED] = part_or_nan(unsampled, p->weight[PROFILE_TIME] + unsampled);
	return v;
}

/* A larger copy of the stack helps where it was too small, and nowhere else. */
static enum trust_fact why_cut(const struct profile *p)
{
	uint64_t ended = profile_counted(p, "stacks broken") + profile_counted(p, "samples without registers");

	return ended > profile_counted(p, "stacks cut") ? TRUST_ENDED_STACKS : TRUST_CUT_STACKS;
}

struct trust_evidence trust_of_report(const struct profile *p, const struct shares *s)
{
	struct trust_evidence v = of_profile(p);

	v.fact[TRUST_UNNAMED] = s->unnamed;
	if (s->exact)
		return v;
	v.fact[TRUST_SAMPLES] = (double)s->samples;
	v.fact[why_cut(p)] = s->incomplete;
	v.fact[TRUST_NOISE] = 0;
	for (size_t i = 0; i < s->count; i++)
		v.fact[TRUST_NOISE] += sampling_error(s->rows[i].self, s->effective) / 2;
	return v;
}

struct trust_evidence trust_of_annotation(const struct profile *p, const struct annotation *a)
{
	struct trust_evidence v = of_profile(p);

	if (p->has_exact)
		return v;
	v.fact[TRUST_SAMPLES] = (double)a->samples;
	v.fact[TRUST_NOISE] = 0;
	for (size_t i = 0; i < a->insns && a->time > 0; i++)
		v.fact[TRUST_NOISE] += sampling_error(a->insn[i].time / a->time, (double)a->samples) / 2;
	return v;
}

struct trust_evidence trust_of_counts(const struct profile *p, const struct counts_report *r)
{
	struct trust_evidence v = of_profile(p);

	v.fact[TRUST_SAMPLES] = (double)r->samples;
	v.fact[TRUST_RATE] = r->speed.known;
	v.fact[TRUST_MODELLED] = r->speed.known && r->speed.by == SPEED_BY_MODEL;
	v.fact[TRUST_COUNTED] = r->counted;
	v.fact[TRUST_NOISE] = 0;
	for (size_t i = 0; i < r->row_count; i++)
		v.fact[TRUST_NOISE] += sampling_error(r->row[i].time > 0 ? r->row[i].time : 0, (double)r->samples) / 2;
	return v;
}

/* Is it the code of an interpreter: python3.11, libpython3.11.so.1.0, perl? */
static bool interprets(const char *object)
{
	static const char *const names[] = { "python",  "perl", "ruby", "lua",  "luajit", "php",
					     "php-fpm", "node", "jvm",  "bash", "dash" };
	const char *name = strncmp(object, "lib", 3) ? object : object + 3;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *end = name + strlen(names[i]);

		if (!strncmp(name, names[i], strlen(names[i])) &&
		    (!*end || *end == '.' || isdigit((unsigned char)end[*end == '-'])))
			return true;
	}
	return false;
}

static double interpreted(const struct flow_input *in)
{
	double all = 0, of = 0;

	for (uint32_t i = 0; in->times && i < in->func_count; i++) {
		all += in->times[i].self_ns;
		of += interprets(in->funcs[i].object) ? in->times[i].self_ns : 0;
	}
	return part_or_nan(of, all);
}

/* Those of user code: each is the loads and stores of a block, which are no samples of their own. */
static double user_samples(const struct flow_input *in)
{
	double n = 0;

	for (uint32_t i = 0; i < in->func_count; i++)
		n += in->funcs[i].name[0] == '(' ? 0 : (double)in->times[i].samples;
	return n;
}

/* The same from what the estimators work on, which is another reading of the same file. */
static struct trust_evidence of_input(const struct flow_input *in, bool exact)
{
	struct trust_evidence v = trust_no_evidence();
	double samples = 0;

	if (in->duration_ns > 0)
		v.seconds = in->duration_ns * 1e-9;
	v.fact[TRUST_WHOLE] = !*in->missing && !in->incomplete;
	if (exact)
		return v;
	for (uint32_t i = 0; in->times && i < in->func_count; i++)
		samples += (double)in->times[i].samples;
	v.fact[TRUST_LOST] = part_or_nan(in->lost, in->lost + samples);
	/* what was drawn from a counted run has no times, and a processor's samples are accesses */
	if (samples > 0 && (!in->access_count || (in->access[0].flags & FMT_A_TIME)))
		v.fact[TRUST_SAMPLES] = user_samples(in);
	v.fact[TRUST_INTERPRETED] = interpreted(in);
	return v;
}

/* Weights by time have a scale only where some code was seen to run so often a second. */
static double time_scale_known(const struct flow_input *in, bool time_bias)
{
	return time_bias ? in_has_amounts(in, true) : NAN;
}

static bool modelled(const struct flow_input *in)
{
	return in->speed.known && in->speed.by == SPEED_BY_MODEL;
}

/*
 * What is expected of a flow's half sum of errors: of each thing that goes wrong so much, with nothing to do with each
 * other, so in squares. Fitted to 88 recordings of 20 programs against the exact engine (twelve workloads of 2 to
 * 20 s, with watch windows and without, eight programs of packages of 20 s, without), by the squares of the logarithm's
 * errors, each program as much as another.
 */
#define OF_CHANCE 1.13 /* of what resampling says: edges err in ways that samples do not show */
#define OF_AMONG 1.32  /* of bytes guessed among several writers: guesses err together, not each for itself */
#define OF_UNSEEN 4.1  /* of bytes read where no store was seen: where these are many, writers elsewhere were missed */

/* Nothing was checked without windows: that has another remedy than too few. */
static void expect_error(struct trust_evidence *v, bool windows)
{
	const enum trust_fact by[] = { TRUST_BY_CHANCE, windows ? TRUST_BY_GUESS : TRUST_BY_UNCHECKED, TRUST_BY_FEW };
	const double part[] = { OF_CHANCE * v->fact[TRUST_NOISE], OF_AMONG * v->fact[TRUST_AMONG],
				OF_UNSEEN * v->fact[TRUST_UNSEEN] };
	double squares = 0;
	unsigned most = 0;

	for (unsigned i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		squares += part[i] > 0 ? part[i] * part[i] : 0;
		most = part[i] > part[most] || isnan(part[most]) ? i : most;
	}
	v->fact[by[most]] = fmin(1, sqrt(squares));
}

static void of_edges(const struct flow *f, struct trust_evidence *v)
{
	double total = flow_total(f), noise = 0, nobody = 0;

	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];
		const char *by = f->funcs[e->producer].name;

		noise += isnan(e->sd) ? 0 : MEAN_DEVIATION * e->sd / 2;
		nobody += !strcmp(by, FLOW_UNKNOWN) || !strcmp(by, FLOW_BEFORE) ? e->bytes : 0;
	}
	v->fact[TRUST_NO_WRITER] = part_or_nan(nobody, total);
	v->fact[TRUST_AMONG] = part_or_nan(f->guessed, total);
	v->fact[TRUST_UNSEEN] = part_or_nan(f->unseen, total);
	if (!(f->level > 0))
		return;
	v->fact[TRUST_NOISE] = part_or_nan(noise, total);
	expect_error(v, f->windows > 0);
}

struct trust_evidence trust_of_flow(const struct flow_input *in, const struct flow *f)
{
	bool exact = f->engine == FLOW_EXACT && isnan(f->loads);
	struct trust_evidence v = of_input(in, exact);
	const char *breakpoints = in->reader ? store_meta_get(in->reader, "breakpoints") : NULL;

	if (exact)
		return v;
	v.fact[TRUST_SAMPLES] = fmin(v.fact[TRUST_SAMPLES], f->loads);
	of_edges(f, &v);
	v.fact[TRUST_RATE] = time_scale_known(in, f->time_bias);
	v.fact[TRUST_MODELLED] = modelled(in);
	if (f->inclusive)
		v.fact[TRUST_CUT_STACKS] = f->cut_stacks;
	if (!f->time_bias)
		return v; /* who samples every so many stores needs no windows */
	/* as kmod-free/stray_trap.c puts it */
	if (breakpoints) {
		v.fact[TRUST_TRIED] = strncmp(breakpoints, "none", 4) != 0;
		v.fact[TRUST_HARMLESS] = v.fact[TRUST_TRIED] > 0 || !strstr(breakpoints, STRAY_ENDS_PROGRAMS);
	}
	return v;
}

struct trust_evidence trust_of_objects(const struct flow_input *in, const struct objects *o)
{
	struct trust_evidence v = of_input(in, o->exact);
	double ranges = 0, noise = 0;

	if (o->exact)
		return v;
	for (size_t i = 0; i < o->row_count; i++) {
		ranges += !strcmp(o->rows[i].kind, "inferred") ? o->rows[i].share : 0;
		noise += sampling_error(o->rows[i].share, fmin(v.fact[TRUST_SAMPLES], o->samples)) / 2;
	}
	v.fact[TRUST_SAMPLES] = fmin(v.fact[TRUST_SAMPLES], o->samples);
	v.fact[TRUST_RATE] = time_scale_known(in, o->time_bias);
	v.fact[TRUST_MODELLED] = modelled(in);
	v.fact[TRUST_RANGES] = ranges;
	v.fact[TRUST_NOISE] = noise;
	return v;
}

struct trust_evidence trust_of_timeline(const struct flow_input *in, const struct timeline *t)
{
	struct trust_evidence v = of_input(in, t->exact);
	double all = 0, noise = 0;

	if (t->exact)
		return v;
	for (uint32_t i = 0; i < t->row_count; i++)
		all += t->rows[i].total;
	for (uint32_t i = 0; i < t->row_count && all > 0; i++)
		noise += sampling_error(t->rows[i].total / all, fmin(v.fact[TRUST_SAMPLES], t->samples)) / 2;
	v.fact[TRUST_SAMPLES] = fmin(v.fact[TRUST_SAMPLES], t->samples);
	v.fact[TRUST_RATE] = time_scale_known(in, in->access_count && (in->access[0].flags & FMT_A_TIME));
	v.fact[TRUST_MODELLED] = modelled(in);
	v.fact[TRUST_PER_SLICE] = part_or_nan(t->samples, t->slices);
	v.fact[TRUST_NOISE] = noise;
	return v;
}

struct trust_evidence trust_of_offload(const struct profile *p, const struct offload_summary *s)
{
	struct trust_evidence v = of_profile(p);
	double calls = 0, untimed = 0, watched = 0, bounded = 0;

	v.fact[TRUST_PROBED] = offload_looked_for(p, s);
	for (size_t i = 0; i < s->items_cnt; i++) {
		const struct offload_item *it = &s->items[i];

		calls += (double)it->calls;
		untimed += (double)it->untimed_calls;
		watched += (double)it->calls * it->observed;
		bounded += isnan(it->estimate) ? (double)it->calls : 0;
	}
	if (!(v.fact[TRUST_PROBED] > 0))
		return v;
	v.fact[TRUST_CALLS] = calls;
	v.fact[TRUST_TIMED] = part_or_nan(calls - untimed, calls);
	v.fact[TRUST_WATCHED] = part_or_nan(watched, calls);
	v.fact[TRUST_BOUNDED] = part_or_nan(bounded, calls);
	return v;
}
