// SPDX-License-Identifier: GPL-2.0-or-later
#include "advise/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/limits.h"
#include "offload/api.h"
#include "offload/operation.h"
#include "util/normal.h"
#include "util/grow.h"

#define MATTERS 1.01      /* on the process: less is nothing that anyone would see */
#define PARTLY 1.1        /* on the function: for less it is not worth sending some sizes one way, some the other */
#define MOST_DOUBT 0.5    /* more than half: of what leaves an interval open, or of the calls that lose */
#define LEANS_LEAST 0.6   /* chance: less tells nothing (tests/results/gain-chance.tsv) */
#define CHANCE_MOST 0.995 /* of 35 recordings one was far outside: more was not seen to hold; by hand */
#define ENDS_SCALE 0.4    /* of Student's t of two degrees of freedom, in standard deviations that 90 % says: below */
#define AS_GOOD_AS_LINEAR 0.05 /* beta nearer to 1: LogCA's own word for it (../model/LOGCA.md) */
#define NO_END 0.05            /* of the value: so low an end stands for none */

const char *verdict_str(enum advise_verdict v)
{
	static const char *const name[] = { "offload", "batch", "keep", "switch", "idle", "unknown" };

	return (unsigned)v < sizeof(name) / sizeof(*name) ? name[v] : "unknown";
}

void advise_size(char out[24], double bytes)
{
	if (!(bytes >= 0))
		snprintf(out, 24, "?");
	else if (bytes < 1024)
		snprintf(out, 24, "%.0f B", bytes);
	else if (bytes < 1048576)
		snprintf(out, 24, "%.3g KB", bytes / 1024);
	else
		snprintf(out, 24, "%.3g MB", bytes / 1048576);
}

void advise_time(char out[24], double ns)
{
	static const char *const unit[] = { "ns", "us", "ms", "s" };
	int k = 0;

	for (; k < 3 && ns >= 999.5; k++)
		ns /= 1e3;
	snprintf(out, 24, ns < 99.95 ? "%.3g %s" : "%.0f %s", ns, unit[k]);
}

double advise_limit(const struct figure *share)
{
	return share->value >= 0 && !figure_may_be_any_share(share) ? amdahl(fmin(share->value, 1), INFINITY) : NAN;
}

static double beside_faults(double speedup, double share)
{
	return 1 / (1 / speedup + share);
}

struct figure advise_faulting(const struct candidate *c, const struct figure *speedup)
{
	double share = c->probed ? c->probed->fault_share : NAN;

	return (struct figure){ beside_faults(speedup->value, share), beside_faults(speedup->low, share),
				beside_faults(speedup->high, share) };
}

/* Part of the candidate's calls at sizes of so many bytes and more; NaN: sizes were not seen. */
static double advise_share_from(const struct candidate *c, double bytes)
{
	double calls = 0, from = 0;

	for (size_t i = 0; i < c->work.sizes; i++) {
		calls += c->work.size[i].calls;
		from += c->work.size[i].bytes >= bytes ? c->work.size[i].calls : 0;
	}
	return calls > 0 ? from / calls : NAN;
}

/* ---- which devices ---- */

/* Another machine's cycles are no times of this one. */
static bool in_ns(const struct catalogue_entry *a)
{
	return a->has_terms || (a->unit && !strcmp(a->unit, "ns"));
}

/* ...but what a device takes beside its own host is a ratio. */
static bool by_ratio(const struct catalogue_entry *a)
{
	return !in_ns(a) && a->has_params && a->p.C > 0;
}

/* A cipher's mode of operation decides how much of it runs at once; NULL: the name tells none. */
static const char *mode_of(const char *name)
{
	static const char *const modes[] = { "cbc", "ctr", "gcm", "xts", "ecb", "ccm", "cfb", "ofb" };

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (strcasestr(name, modes[i]))
			return modes[i];
	return NULL;
}

static bool is_cipher(const struct operation *op)
{
	return op && (advise_kinds(op) & 1u << CATALOGUE_CIPHER);
}

/* What the candidate's calls may be, where the device does one of several; NULL: no doubt. */
static const char *may_be_other_work(const struct candidate *c, const struct catalogue_entry *a)
{
	const struct operation *does = operation_of(NULL, a->name);

	if (!does || !c->operation)
		return NULL;
	if (c->operation->open && !does->open)
		return is_cipher(does) ? "which cipher" : "which digest";
	return is_cipher(does) && mode_of(a->name) && !mode_of(c->name) ? "which mode of the cipher" : NULL;
}

/* Does the device take such work, or is that not known? */
static bool advise_fits(const struct candidate *c, const struct catalogue_entry *a)
{
	const struct operation *does = operation_of(NULL, a->name);

	if (does && c->operation == does)
		return !is_cipher(does) || !mode_of(a->name) || !mode_of(c->name) ||
		       !strcmp(mode_of(a->name), mode_of(c->name));
	if (a->kinds) /* which of a class of operations a call ran may not be recorded */
		return (a->kinds & c->kinds) && (!does || !c->operation || c->operation->open);
	return !does && !by_ratio(a); /* that it may take all is said of no device of other times */
}

/* Why what the device takes and what these calls take are not to be compared: they are at other levels. */
static bool levels_apart(const struct candidate *c, const struct catalogue_entry *a, char *why, size_t size)
{
	int level;

	if (!operation_level_said(c->operation, a->device, &level) &&
	    !operation_level_said(c->operation, a->baseline, &level))
		return false;
	if (c->levelled && c->level == level)
		return false;
	if (c->levelled)
		snprintf(
			why, size,
			"cannot tell: %.60s was measured at level %d, and these calls compress at level %d; measure it there, "
			"and describe it with --catalogue",
			a->name, level, c->level);
	else
		snprintf(
			why, size,
			"cannot tell: %.60s was measured at level %d, and at which level these calls compress was not seen; "
			"record with --offload auto from when their streams are made",
			a->name, level);
	return true;
}

void advise_least(struct advise_input *in, const struct catalogue *catalogue)
{
	in->least_overhead_ns = in->least_ns_per_byte = NAN;
	in->least_overhead_device = NULL;
	for (size_t i = 0; i < catalogue->count; i++) {
		const struct catalogue_entry *a = &catalogue->entries[i];
		double o = a->has_terms ? a->terms.o.v : a->has_params ? a->p.o : NAN;
		enum logca_latency kind = a->has_terms ? a->terms.kind : a->p.kind;
		double L = a->has_terms ? a->terms.L.v : a->has_params ? a->p.L : NAN;

		if (!in_ns(a) || isnan(o))
			continue;
		o += kind == LOGCA_INDEP && L > 0 ? L : 0;
		if (!(o >= in->least_overhead_ns)) {
			in->least_overhead_ns = o;
			in->least_overhead_device = a->name;
		}
		L = kind == LOGCA_DEP && L > 0 ? L : 0;
		if (!(L >= in->least_ns_per_byte))
			in->least_ns_per_byte = L;
	}
}

/* Of ever larger calls, as LogCA has it: work that grows faster than the bytes, or whose bytes come while it is done,
 * is all that counts in the end; of linear work it is what a byte takes longer for, to come or to be computed. */
static const char *in_the_limit(const struct candidate *c, const struct predict_device *d)
{
	const struct figure *b = &c->work.beta;
	double work = figure_known(&d->B) ? d->B.value : c->work.C.value / d->A.value;
	double beta = figure_known(b) ? b->value : d->by_ratio ? d->own.beta : figure_known(&d->B) ? d->beta : NAN;
	double L = d->by_ratio ? d->own.L : d->L_alone ? d->L.value : NAN;

	if ((d->by_ratio ? d->own.kind : d->kind) == LOGCA_INDEP)
		return "computation";
	if (d->by_ratio)
		work = d->own.C / d->own.A;
	if (isnan(beta) || (figure_bounded(b) && b->low < 1 - AS_GOOD_AS_LINEAR && b->high > 1 + AS_GOOD_AS_LINEAR))
		return NULL;
	if (fabs(beta - 1) >= AS_GOOD_AS_LINEAR)
		return beta > 1 ? "computation" : "communication";
	return isnan(work) || isnan(L) ? NULL : work > L ? "computation" : "communication";
}

/* ---- sentences ---- */

static void set_verdict(struct advise_option *o, enum advise_verdict v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void set_verdict(struct advise_option *o, enum advise_verdict v, const char *fmt, ...)
{
	va_list ap;

	o->verdict = v;
	va_start(ap, fmt);
	vsnprintf(o->text, sizeof(o->text), fmt, ap);
	va_end(ap);
}

static void add_text(struct advise_option *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add_text(struct advise_option *o, const char *fmt, ...)
{
	size_t len = strlen(o->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o->text + len, sizeof(o->text) - len, fmt, ap);
	va_end(ap);
}

const char *advise_times(char out[64], const struct figure *f)
{
	const double v[3] = { f->value, f->low, f->high };
	char part[3][16];

	for (int i = 0; i < 3; i++)
		snprintf(part[i], sizeof(part[i]),
			 v[i] > .5 && v[i] < 2 ? "%.3g" /* what is gained is what it differs from 1 by */
			 : v[i] < 99.5         ? "%.2g"
			 : v[i] < 1e6          ? "%.0f"
					       : "more than 1e6",
			 v[i]);
	if (figure_bounded(f))
		snprintf(out, 64, "%sx [%s..%s]", part[0], part[1], part[2]);
	else
		snprintf(out, 64, "%sx", part[0]);
	return out;
}

/* What helps against a figure that is missing. */
static const char *remedy(const char *lacks)
{
	static const struct {
		const char *word, *helps;
	} all[] = {
		{ "size", "record with --offload auto, or probe it with --offload-probe" },
		{ "time of its calls", "record for 60 s or longer, with --counts auto (the default)" },
		{ "rate", "record for 60 s or longer, with --counts auto (the default)" },
		{ "share", "record longer" },
		{ "overhead o", "measure the device with `accperf calibrate`, or give o in the catalogue" },
		{ "latency L", "measure the device with `accperf calibrate`, or give L in the catalogue" },
		{ "(A)", "measure the device with `accperf calibrate`, or give A in the catalogue" },
		{ "thread switch", "record on this machine, not from an imported profile" },
		{ "how well", "record 60 s more or use --effort high" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strstr(lacks, all[i].word))
			return all[i].helps;
	return "record 60 s more or use --effort high";
}

static void cannot_tell(struct advise_option *o, const char *lacks)
{
	set_verdict(o, VERDICT_UNKNOWN, "cannot tell: %s %s not known; %s", lacks,
		    strncmp(lacks, "the sizes", 9) ? "is" : "are", remedy(lacks));
}

/* Where acceleration is unknown: what it would have to be. */
static void needed(struct advise_option *o, const struct predict_option *p)
{
	if (p->needed_acceleration > 0 && isfinite(p->needed_acceleration))
		set_verdict(
			o, VERDICT_UNKNOWN,
			"cannot tell: how much faster it computes (A) is not known; %.3gx would make the function %.1fx faster, and "
			"no A more than %.2gx",
			p->needed_acceleration, PREDICT_TARGET, p->limit);
	else if (p->limit > 0 && p->limit < 1)
		set_verdict(
			o, VERDICT_KEEP,
			"keep: however fast it computes, its overhead and transfers leave at most %.2gx on the function",
			p->limit);
	else if (p->limit > 0)
		set_verdict(
			o, VERDICT_UNKNOWN,
			"cannot tell: how much faster it computes (A) is not known; no A makes the function %.1fx faster, at most "
			"%.2gx",
			PREDICT_TARGET, p->limit);
	else
		cannot_tell(o, "how much faster the device computes this (A)");
}

/* The shipped threshold decides what is handed over at all. */
static void of_threshold(const struct candidate *c, struct advise_option *o)
{
	double from = advise_share_from(c, o->threshold);
	char at[24];

	if (!(o->threshold > 0))
		return;
	advise_size(at, o->threshold);
	add_text(o, "; its maker's software offloads from %s on", at);
	if (!isnan(from))
		add_text(o, ", %.0f%% of the calls", 100 * from);
}

/* "11% of calls are under break-even, 2.1 KB"; where that is not known closely, its ends, and no point between. */
static const char *under_break_even(char out[160], const struct candidate *c, const struct predict_option *p)
{
	double most = 1 - advise_share_from(c, p->g1.high), least = 1 - advise_share_from(c, p->g1.low);
	char g1[24], low[24], high[24];

	advise_size(g1, p->g1.value);
	advise_size(low, p->g1.low);
	advise_size(high, p->g1.high);
	if (p->g1_told || !(p->g1.high > p->g1.low))
		snprintf(out, 160, "%.0f%% of calls are under break-even, %s", 100 * p->below, g1);
	else if (!isfinite(p->g1.high))
		snprintf(out, 160, "%.0f%% of calls or more are under break-even, %s or above", 100 * least, low);
	else if (!(p->g1.low > p->lo)) /* of the sizes seen and measured the smallest */
		snprintf(out, 160, "up to %.0f%% of calls are under break-even, %s or below", 100 * most, high);
	else
		snprintf(out, 160, "%.0f to %.0f%% of calls are under break-even, between %s and %s", 100 * least,
			 100 * most, low, high);
	return out;
}

static void of_sizes(const struct candidate *c, struct advise_option *o, const struct predict_option *p)
{
	char under[160];

	if (p->payoff_known && (figure_known(&p->g1) ? p->below > 0.005 : !p->payoff_sure && isfinite(p->g1.high)))
		add_text(o, "; %s", under_break_even(under, c, p));
}

static void keep_prediction(const struct candidate *c, struct advise_option *o, const struct predict_option *p)
{
	char under[160], x[64];

	if (p->payoff_known && figure_known(&p->g1) && p->below > 0)
		set_verdict(o, VERDICT_KEEP, "keep: %s; %s on the function", under_break_even(under, c, p),
			    advise_times(x, &p->speedup));
	else
		set_verdict(o, VERDICT_KEEP, "keep: %s on the function, bound by %s", advise_times(x, &p->speedup),
			    predict_bound_str(p->bound));
}

static void batched(const struct candidate *c, struct advise_option *o, const struct predict_option *p)
{
	char x[64];

	set_verdict(o, VERDICT_BATCH, "offload if batched by %.0f; %.0f at a time make it %s", ceil(p->batch.high),
		    8 * p->batch.value, advise_times(x, &p->speedup_batched));
	of_sizes(c, o, p);
}

/* A speed-up below 1 for certain: some sizes, or many calls at a time, may pay all the same; pieces of a stream wait
 * for each other, and are no batch. */
static void losing(const struct candidate *c, struct advise_option *o, const struct predict_option *p)
{
	char x[64], g1[24], under[160];

	/* where the break-even is known between two ends only, what lies above both surely pays */
	advise_size(g1, p->g1_told || !isfinite(p->g1.high) ? p->g1.value : p->g1.high);
	if (p->speedup_chosen.low > PARTLY && figure_known(&p->g1))
		set_verdict(o, VERDICT_OFFLOAD, "offload from %s on only: %s on the function; %s", g1,
			    advise_times(x, &p->speedup_chosen), under_break_even(under, c, p));
	else if (!c->stream && p->batch.value > 1 && isfinite(p->batch.high) && p->speedup_batched.low > PARTLY)
		batched(c, o, p);
	else
		keep_prediction(c, o, p);
}

static void gaining(const struct candidate *c, struct advise_option *o, const struct predict_option *p)
{
	char x[64], y[64];

	if (figure_known(&p->process_speedup))
		set_verdict(o, VERDICT_OFFLOAD, "offload: %s on the function, %s on the process",
			    advise_times(x, &p->speedup), advise_times(y, &p->process_speedup));
	else
		set_verdict(o, VERDICT_OFFLOAD,
			    "offload: %s on the function; on the process not known, as the recording took most of its "
			    "time: record without --offload-exact",
			    advise_times(x, &p->speedup));
	of_sizes(c, o, p);
}

/* The calls' time is what leaves most of the interval open, and a probe knows it no better however long it records, as
 * what it leaves in them is most of that; else they were too few. */
static bool too_short_to_time(const struct candidate *c, const struct figure *s)
{
	const struct figure *t = &c->ns_per_call;
	const struct advise_function *f = c->probed;
	double of_probe =
		f ? f->beside.high - f->beside.low + f->cold * (f->argument_in.value + f->argument_out.value) : 0;

	return f && t->value > 0 && t->high - t->low > t->value && of_probe > MOST_DOUBT * (t->high - t->low) &&
	       (!(t->low > 0) || log(t->high / t->low) > MOST_DOUBT * log(s->high / s->low));
}

/*
 * Of 35 recordings whose truth was measured most were nearer to it than their ends say, and one was far outside: by
 * Student's t, whose scale and degrees of freedom are likeliest at .37 and 1.7, and have a closed form at two. So a
 * chance grows quickly at first and is never as good as sure. Where the lower end is as good as none, the calls' time
 * is a probe's price, of which nobody knows the order, and between the ends nothing is likelier
 * (tests/results/gain-chance.tsv: of other recordings than these).
 */
double advise_gain_chance(const struct figure *s)
{
	bool up = s->value > 1;
	double end = up ? s->low : s->high, sd = fabs(log(s->value / end)) / normal_half(0.9) * ENDS_SCALE, t, chance;

	/* an end without a number leaves all open on that side */
	if (!figure_bounded(s) || !(s->value > 0))
		return NAN;
	if (!(end > 0) || isinf(end) || (s->low <= NO_END * s->value && s->low < 1 && s->high > 1))
		return 0.5;
	t = log(s->value) / sd;
	chance = sd == 0 ? (s->value > 1) - (s->value < 1) : t / sqrt(2 + t * t);
	return fmin(CHANCE_MOST, fmax(1 - CHANCE_MOST, (1 + chance) / 2));
}

/* Which of both is likelier, where neither is sure. */
static void lean(struct advise_option *o, const struct figure *s)
{
	double gains = advise_gain_chance(s), of = fmax(gains, 1 - gains);

	if (of >= LEANS_LEAST)
		add_text(o, "; likelier it %s (%.0f%%)", gains > .5 ? "gains" : "loses", 100 * of);
}

static void spans_one(const struct candidate *c, struct advise_option *o, const struct figure *s)
{
	char x[64], t[24];

	advise_time(t, c->work.ns_per_call.value);
	if (too_short_to_time(c, s))
		set_verdict(
			o, VERDICT_UNKNOWN,
			"cannot tell: the interval spans 1 (%s); a probe costs more than such a call takes (%s), so "
			"longer recordings know it no better, but --counts auto may, where breakpoints work",
			advise_times(x, s), t);
	else
		set_verdict(o, VERDICT_UNKNOWN,
			    "cannot tell: the interval spans 1 (%s); record 60 s more or use --effort high",
			    advise_times(x, s));
	lean(o, s);
}

/* The argument that says how many bytes a function of a known API takes; 0, or -ENOENT: no single one does. */
static int bytes_argument(const char *symbol, unsigned *argument)
{
	const struct offload_api *a;

	for (unsigned i = 0; (a = offload_api_at(i)); i++)
		for (const struct offload_row *row = a->rows; row < a->rows + a->row_count; row++)
			if (!strcmp(row->symbol, symbol) && row->spec.in.op == PX_ARG) {
				*argument = row->spec.in.a;
				return 0;
			}
	return -ENOENT;
}

/* No verdict on what the calls may be. */
static void other_work(const struct candidate *c, const struct catalogue_entry *a, const char *which,
		       struct advise_option *o)
{
	const struct figure *s = &o->p.speedup;
	const char *slash = strchr(a->name, '/');
	char x[64], bytes[16] = "bytes=..";
	unsigned argument;

	if (!bytes_argument(c->name, &argument))
		snprintf(bytes, sizeof(bytes), "bytes=arg%u", argument);
	set_verdict(o, VERDICT_UNKNOWN, "cannot tell: %s its calls ran is not recorded, and the device does one; ",
		    which);
	if (figure_known(s))
		add_text(o, "were it that one, %s on the function; ", advise_times(x, s));
	/* what stands behind the colon of a name is the function that samples are of */
	add_text(o, "if it is, record with --offload-probe '%.40s:%.40s(%s,name=%s:%.40s)'",
		 c->probed && c->probed->object ? c->probed->object : "FILE", c->name, bytes,
		 slash ? slash + 1 : a->name, c->name);
}

/* apart: why its prediction is of other work than these calls', a sentence; "": it is not. */
static void judge_candidate(const struct candidate *c, const struct catalogue_entry *a, const char *apart,
			    struct advise_option *o)
{
	const struct predict_option *p = &o->p;
	const struct figure *s = &p->speedup;
	const char *which = may_be_other_work(c, a);
	char x[64];

	if (*apart)
		set_verdict(o, VERDICT_UNKNOWN, "%s", apart);
	else if (c->stream && a->no_streams)
		set_verdict(
			o, VERDICT_KEEP,
			"keep, unless each call ends a stream of its own (as with Z_FINISH), which is not recorded: the device "
			"takes whole buffers only, and no pieces");
	else if (which)
		other_work(c, a, which, o);
	else if (!figure_known(s) && (p->needed_acceleration > 0 || p->limit > 0))
		needed(o, p);
	else if (!figure_known(s))
		cannot_tell(o, p->lacks);
	else if (p->outside > ADVISE_OUTSIDE_MOST)
		set_verdict(
			o, VERDICT_UNKNOWN,
			"cannot tell: %.0f%% of the calls are of sizes at which the device was not measured; `accperf calibrate` "
			"measures all",
			100 * p->outside);
	else if (p->utilisation.value >= 1)
		set_verdict(o, VERDICT_KEEP,
			    "keep: the calls come faster than the device serves them (%.0f%% of its time)",
			    100 * p->utilisation.value);
	else if (!figure_bounded(s))
		set_verdict(o, VERDICT_UNKNOWN, "cannot tell: %s, and the interval is not known; %s",
			    advise_times(x, s), *p->lacks ? remedy(p->lacks) : "record 60 s more");
	else if (s->low <= 1 && s->high >= 1)
		spans_one(c, o, s);
	else if (s->high < 1)
		losing(c, o, p);
	else if (p->process_speedup.high < MATTERS)
		set_verdict(o, VERDICT_KEEP, "keep: %s on the function is no more than %.2fx on the process",
			    advise_times(x, s), fmax(p->process_speedup.high, 1));
	else
		gaining(c, o, p);
	of_threshold(c, o);
	if (o->ratio && o->verdict != VERDICT_UNKNOWN)
		add_text(o, " (by its ratio to its own host%s%s)", a->date ? ", " : "", a->date ? a->date : "");
	else if (o->elsewhere && o->verdict != VERDICT_UNKNOWN)
		add_text(o, " (figures of another machine%s%s)", a->date ? ", " : "", a->date ? a->date : "");
}

/* ---- offloads made already ---- */

static void made_already(const struct candidate *c, double seconds, struct advise_option *o)
{
	const struct advise_function *f = c->probed;
	const struct figure *s = f ? &f->counterpart_speedup : NULL;
	char x[64], g1[24];

	*o = (struct advise_option){ .predicted = false, .accelerator = c->name };
	o->p.speedup = s ? *s : FIGURE_UNKNOWN;
	o->p.process_speedup = o->p.g_half = o->p.batch = FIGURE_UNKNOWN;
	o->p.g1 = f ? (struct figure){ f->counterpart_g1, NAN, NAN } : FIGURE_UNKNOWN;
	if (c->calls_per_s.value == 0)
		set_verdict(o, VERDICT_IDLE, "configured, but not happening: no call reached the device in %.3g s",
			    seconds);
	else if (!s || !figure_known(s))
		set_verdict(
			o, VERDICT_UNKNOWN,
			"cannot tell: what the host would take for these calls is not known%s%s; record a run of the host's variant, "
			"or name it with --offload-probe",
			f && f->doubt ? ": " : "", f && f->doubt ? f->doubt : "");
	else if (!figure_bounded(s) || (s->low <= 1 && s->high >= 1))
		set_verdict(o, VERDICT_UNKNOWN,
			    "cannot tell: it gains %s, and the interval spans 1; record 60 s more or use --effort high",
			    advise_times(x, s));
	else if (s->high < 1 || (f->counterpart_below > MOST_DOUBT && !isnan(f->counterpart_g1))) {
		advise_size(g1, f->counterpart_g1);
		if (isnan(f->counterpart_g1))
			set_verdict(o, VERDICT_SWITCH, "switch to the host: the device makes these calls %s as fast",
				    advise_times(x, s));
		else
			set_verdict(o, VERDICT_SWITCH,
				    "switch to the host under %s: %.0f%% of the calls lose there; %s in all", g1,
				    100 * f->counterpart_below, advise_times(x, s));
	} else
		set_verdict(o, VERDICT_OFFLOAD, "offload, as it does: %s against the host's own calls",
			    advise_times(x, s));
}

/* No device of the catalogue: what any would have to do, by Amdahl and by the time of a call. */
static void any_device(const struct candidate *c, struct advise_option *o)
{
	double limit = amdahl(fmin(c->share.value, 1), INFINITY);
	char most[24];

	*o = (struct advise_option){ .predicted = false, .p = { .bound = PREDICT_AMDAHL } };
	o->p.speedup = o->p.g1 = o->p.g_half = o->p.batch = FIGURE_UNKNOWN;
	o->p.process_speedup = FIGURE_UNKNOWN;
	advise_time(most, c->ns_per_call.value / PREDICT_TARGET);
	if (c->ns_per_call.value > 0 && isfinite(limit))
		set_verdict(
			o, VERDICT_UNKNOWN,
			"cannot tell: no device of the catalogue does this; one would have to take less than %s a call, copies "
			"included, for %.1fx, and no device makes the process more than %.2fx faster; describe one with --catalogue",
			most, PREDICT_TARGET, limit);
	else
		set_verdict(o, VERDICT_UNKNOWN,
			    "cannot tell: no device of the catalogue does this; describe one with --catalogue");
}

/* ---- all of them ---- */

/* Measured here before measured elsewhere, then by what the process gains, certain ones first. */
static int better(const void *a, const void *b)
{
	static const int rank[] = { [VERDICT_OFFLOAD] = 0, [VERDICT_SWITCH] = 0,  [VERDICT_IDLE] = 0,
				    [VERDICT_BATCH] = 1,   [VERDICT_UNKNOWN] = 2, [VERDICT_KEEP] = 3 };
	const struct advise_option *x = a, *y = b;
	double sx = x->p.speedup.value, sy = y->p.speedup.value;

	if (x->elsewhere != y->elsewhere)
		return x->elsewhere ? 1 : -1;
	if (x->ratio != y->ratio)
		return x->ratio ? 1 : -1;
	if (rank[x->verdict] != rank[y->verdict])
		return rank[x->verdict] < rank[y->verdict] ? -1 : 1;
	if (isnan(sx) != isnan(sy))
		return isnan(sx) ? 1 : -1;
	if (sx != sy)
		return sx > sy ? -1 : 1;
	if (!x->accelerator || !y->accelerator)
		return (x->accelerator == NULL) - (y->accelerator == NULL);
	return strcmp(x->accelerator, y->accelerator);
}

static int on_device(struct advised *d, const struct catalogue_entry *a, const struct predict_device *device)
{
	struct predict_option p[CATALOGUE_DESIGNS];
	char why[200], apart[300] = "";
	int n = predict(&d->candidate->work, device, p, why);

	if (n && levels_apart(d->candidate, a, apart, sizeof(apart)))
		n = 0;
	for (int i = 0; i < (n ? n : 1); i++) {
		struct advise_option *o =
			GROW(d->option, d->options, d->cap, CATALOGUE_DESIGNS) ? &d->option[d->options++] : NULL;

		if (!o)
			return -ENOMEM;
		*o = (struct advise_option){ .accelerator = a->name,
					     .device = a->device,
					     .elsewhere = device->elsewhere,
					     .ratio = device->by_ratio,
					     .threshold = device->threshold,
					     .in_the_limit = in_the_limit(d->candidate, device),
					     .predicted = n > 0 };
		if (n) {
			o->p = p[i];
		} else {
			o->p.speedup = o->p.process_speedup = o->p.g1 = o->p.g_half = o->p.batch = FIGURE_UNKNOWN;
			o->p.needed_acceleration = o->p.limit = o->p.outside = NAN;
			o->p.utilisation = FIGURE_UNKNOWN;
			snprintf(o->p.lacks, sizeof(o->p.lacks), "%s", *apart ? "the level" : why);
		}
		judge_candidate(d->candidate, a, apart, o);
	}
	return 0;
}

static int judge_one(struct advised *d, double seconds, const struct catalogue *catalogue,
		     const struct predict_device *device)
{
	int err = 0;

	if (d->candidate->kind == CANDIDATE_OFFLOAD) {
		d->option = calloc(1, sizeof(*d->option));
		if (!d->option)
			return -ENOMEM;
		made_already(d->candidate, seconds, &d->option[d->options++]);
		return 0;
	}
	for (size_t i = 0; i < catalogue->count && !err; i++)
		if ((!*device[i].lacks || device[i].threshold > 0) && advise_fits(d->candidate, &catalogue->entries[i]))
			err = on_device(d, &catalogue->entries[i], &device[i]);
	if (!err && !d->options) {
		d->option = calloc(1, sizeof(*d->option));
		if (!d->option)
			return -ENOMEM;
		any_device(d->candidate, &d->option[d->options++]);
	}
	if (!err)
		qsort(d->option, d->options, sizeof(*d->option), better);
	return err;
}

static struct advised_device told_of(const struct catalogue_entry *a, const struct predict_device *d)
{
	const struct figure u = FIGURE_UNKNOWN;
	struct advised_device out = { .name = a->name,
				      .device = a->device,
				      .elsewhere = d->elsewhere,
				      .o = u,
				      .L = u,
				      .A = u,
				      .B = u,
				      .beta = d->beta,
				      .kind = d->kind,
				      .kinds = a->kinds };

	snprintf(out.lacks, sizeof(out.lacks), "%s", d->lacks);
	if (d->by_ratio) {
		out.A = isinf(d->own.A) ? u : FIGURE_EXACT(d->own.A);
		snprintf(out.lacks, sizeof(out.lacks), "its times in nanoseconds (they are in %.40s)", a->unit);
		return out;
	}
	out.o = d->o;
	out.L = d->L;
	out.B = d->B;
	out.A = figure_known(&d->B) ? u : d->A;
	if (!*out.lacks && !figure_known(&out.A) && !figure_known(&out.B))
		snprintf(out.lacks, sizeof(out.lacks), "how fast it computes");
	return out;
}

int advise_judge(const struct candidates *c, const struct catalogue *catalogue, const char *host, struct advice *out,
		 struct err *e)
{
	struct predict_device *device = calloc(catalogue->count + 1, sizeof(*device));
	int err = 0;

	*out = (struct advice){ .at = calloc(c->count + 1, sizeof(*out->at)),
				.device = calloc(catalogue->count + 1, sizeof(*out->device)),
				.devices = catalogue->count };
	if (!device || !out->at || !out->device)
		err = -ENOMEM;
	for (size_t i = 0; i < catalogue->count && !err; i++) {
		const struct catalogue_entry *a = &catalogue->entries[i];
		struct err why = { 0 };

		device[i].threshold = NAN;
		if ((!in_ns(a) && !by_ratio(a)) ||
		    predict_device_init(&device[i], a, catalogue_elsewhere(a, host), &why) == -EINVAL)
			snprintf(device[i].lacks, sizeof(device[i].lacks), "%.150s",
				 why.code ? why.text : "times in nanoseconds");
		out->left_out += *device[i].lacks != 0;
		out->device[i] = told_of(a, &device[i]);
	}
	for (size_t i = 0; i < c->count && !err; i++)
		if (!*c->at[i].reason) {
			struct advised *d = &out->at[out->count++];

			d->candidate = &c->at[i];
			err = judge_one(d, c->seconds, catalogue, device);
		}
	for (size_t i = 0; device && i < catalogue->count; i++)
		predict_device_release(&device[i]);
	free(device);
	if (err) {
		advice_release(out);
		err_set(e, err, "out of memory");
	}
	return err;
}

void advice_release(struct advice *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->at[i].option);
	free(a->at);
	free(a->device);
	*a = (struct advice){ 0 };
}
