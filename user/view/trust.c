// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/trust.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ALL (TRUST_REPORT | TRUST_COUNTS | TRUST_FLOW | TRUST_OBJECTS | TRUST_TIMELINE | TRUST_OFFLOAD | TRUST_ANNOTATE)
#define ACCESSES (TRUST_FLOW | TRUST_OBJECTS | TRUST_TIMELINE)
#define SAMPLED (TRUST_REPORT | TRUST_COUNTS | ACCESSES)

/* counts/model_rate.h; 95 % of programs */
#define MODELLED "amounts are within a factor of 1.8, by a model of a processor: no speed was measured"

#define LONGEST 3600 /* seconds: what would take longer is no advice */

enum trust_side { BELOW, ABOVE };

/* In texts, {n} is the fact as a number, {p} as per cent, {time} how long a recording meets `enough`. */
struct rule {
	unsigned views;
	enum trust_fact fact;
	enum trust_side side;
	double limit;
	enum trust_mark mark;
	double enough; /* of the fact, for {time} */
	const char *reason, *remedy;
};

/*
 * A flow is good within .25 of the truth (half the sum of the differences of all shares). What comes of an expected
 * error lies about it with a deviation of .45 of its logarithm (trust_evidence.c). So of 88 recordings of 20 programs,
 * each expected by what the other programs taught, 26 of 29 of at most the first of these were within .25, and 18 of 19
 * of more than the second were not.
 */
#define ERROR_GOOD 0.15 /* of the bytes: up to that */
#define ERROR_BAD 0.4   /* of the bytes: beyond that; see above */
#define EXPECTED "some {p} of the bytes are expected in wrong edges, "
#define UNCHECKED "mostly as their writer was guessed among several and no watch window checked it"
#define GUESSED "mostly as their writer was guessed among several, which watch windows were too few to tell apart"
#define UNSEEN "as no store was seen where they lie: samples are few"

/*
 * The first row that applies speaks: what forbids stands before what weakens, and that before reservations. Limits of
 * the other views say when the interval of a typical row is as wide as the row.
 */
static const struct rule rules[] = {
	{ TRUST_OFFLOAD, TRUST_PROBED, BELOW, 1, TRUST_DO_NOT_USE, 1, "offload calls were not looked for",
	  "record with --offload auto" },
	{ TRUST_OFFLOAD, TRUST_CALLS, BELOW, 5, TRUST_DO_NOT_USE, 100, "offload calls that were seen: {n}",
	  "record {time}" },
	{ SAMPLED, TRUST_SAMPLES, BELOW, 30, TRUST_DO_NOT_USE, 300, "samples of user code: {n}",
	  "record {time}, while the program works" },
	{ TRUST_ANNOTATE, TRUST_SAMPLES, BELOW, 30, TRUST_DO_NOT_USE, 300, "samples in this function: {n}",
	  "record {time}" },
	{ SAMPLED | TRUST_ANNOTATE, TRUST_LOST, ABOVE, 0.2, TRUST_DO_NOT_USE, 0.02, "{p} of the samples were lost",
	  "record with a lower -F, or a larger --ring-size" },
	{ TRUST_REPORT, TRUST_UNSAMPLED, ABOVE, 0.5, TRUST_DO_NOT_USE, 0.1,
	  "{p} of the CPU time went to threads that ended before their first sample", "record with --timers cpus" },
	{ TRUST_FLOW, TRUST_BY_UNCHECKED, ABOVE, ERROR_BAD, TRUST_DO_NOT_USE, ERROR_GOOD, EXPECTED UNCHECKED,
	  "run `accperf doctor --breakpoints`, then record for longer" },
	{ TRUST_FLOW, TRUST_BY_GUESS, ABOVE, ERROR_BAD, TRUST_DO_NOT_USE, ERROR_GOOD, EXPECTED GUESSED,
	  "record {time}" },
	{ TRUST_FLOW, TRUST_BY_CHANCE, ABOVE, ERROR_BAD, TRUST_DO_NOT_USE, ERROR_GOOD, EXPECTED "mostly by chance",
	  "record {time}" },
	{ TRUST_FLOW, TRUST_BY_FEW, ABOVE, ERROR_BAD, TRUST_DO_NOT_USE, ERROR_GOOD, EXPECTED UNSEEN, "record {time}" },
	{ SAMPLED & ~TRUST_FLOW, TRUST_NOISE, ABOVE, 0.25, TRUST_DO_NOT_USE, 0.15,
	  "chance alone moves {p} of the whole from one row to another", "record {time}" },

	{ ALL, TRUST_WHOLE, BELOW, 1, TRUST_WEAK, 1, "the profile is damaged, or was not finished",
	  "the figures are those until then" },
	{ SAMPLED, TRUST_SAMPLES, BELOW, 150, TRUST_WEAK, 300, "samples of user code: only {n}",
	  "record {time}, while the program works" },
	{ TRUST_ANNOTATE, TRUST_SAMPLES, BELOW, 150, TRUST_WEAK, 300, "samples in this function: only {n}",
	  "record {time}" },
	{ TRUST_ANNOTATE, TRUST_NOISE, ABOVE, 0.25, TRUST_WEAK, 0.2,
	  "chance alone moves {p} of the function's time from one instruction to another", "record {time}" },
	{ SAMPLED | TRUST_ANNOTATE, TRUST_LOST, ABOVE, 0.02, TRUST_WEAK, 0.02, "{p} of the samples were lost",
	  "record with a lower -F, or a larger --ring-size" },
	{ TRUST_FLOW, TRUST_INTERPRETED, ABOVE, 0.5, TRUST_WEAK, 0.5,
	  "{p} of the time is an interpreter's: bytes pass between its functions, not the program's",
	  "use the time in `accperf report`" },
	{ TRUST_FLOW, TRUST_HARMLESS, BELOW, 1, TRUST_WEAK, 1,
	  "there are no watch windows: hits of hardware breakpoints end programs on this virtual machine",
	  "record on a machine whose breakpoints can be used" },
	{ TRUST_FLOW, TRUST_TRIED, BELOW, 1, TRUST_WEAK, 1,
	  "there are no watch windows: hardware breakpoints are not tried out yet, or off",
	  "run `accperf doctor --breakpoints`, then record again" },
	{ TRUST_FLOW, TRUST_BY_UNCHECKED, ABOVE, ERROR_GOOD, TRUST_WEAK, ERROR_GOOD, EXPECTED UNCHECKED,
	  "run `accperf doctor --breakpoints`, then record for longer" },
	{ TRUST_FLOW, TRUST_BY_GUESS, ABOVE, ERROR_GOOD, TRUST_WEAK, ERROR_GOOD, EXPECTED GUESSED, "record {time}" },
	{ TRUST_FLOW, TRUST_BY_CHANCE, ABOVE, ERROR_GOOD, TRUST_WEAK, ERROR_GOOD, EXPECTED "mostly by chance",
	  "record {time}" },
	{ TRUST_FLOW, TRUST_BY_FEW, ABOVE, ERROR_GOOD, TRUST_WEAK, ERROR_GOOD, EXPECTED UNSEEN, "record {time}" },
	{ SAMPLED & ~TRUST_FLOW, TRUST_NOISE, ABOVE, 0.15, TRUST_WEAK, 0.12,
	  "chance alone moves {p} of the whole from one row to another", "record {time}" },
	{ TRUST_FLOW, TRUST_NO_WRITER, ABOVE, 0.6, TRUST_WEAK, 0.5, "{p} of the bytes have no known writer",
	  "record from the program's start (record -- COMMAND), or {time}" },
	{ TRUST_REPORT, TRUST_UNSAMPLED, ABOVE, 0.1, TRUST_WEAK, 0.1,
	  "{p} of the CPU time went to threads that ended before their first sample", "record with --timers cpus" },
	{ TRUST_REPORT, TRUST_UNNAMED, ABOVE, 0.3, TRUST_WEAK, 0.3, "{p} of the time is in code without a name",
	  "install debug symbols; code made at run time needs a perf map" },
	{ TRUST_REPORT | TRUST_FLOW, TRUST_CUT_STACKS, ABOVE, 0.2, TRUST_WEAK, 0.2,
	  "{p} of the stacks do not reach the thread's start: inclusive figures lack them",
	  "record with a larger --stack-size" },
	{ TRUST_REPORT, TRUST_ENDED_STACKS, ABOVE, 0.2, TRUST_WEAK, 0.2,
	  "{p} of the stacks end in code that does not tell its caller (no unwind rules): inclusive figures lack what is above",
	  "use self times; of a recording of perf: record with --call-graph" },
	{ TRUST_COUNTS, TRUST_COUNTED, BELOW, 0.5, TRUST_WEAK, 0.5,
	  "of {p} of the instructions alone it is known how often they ran, the rest is shares of time",
	  "record {time}, or with --effort high" },
	{ TRUST_OBJECTS, TRUST_RANGES, ABOVE, 0.5, TRUST_WEAK, 0.5,
	  "{p} of the accesses are to memory that has no name here",
	  "`record --heap` from the program's start tells who allocated it; so does `accperf exact --objects`" },
	{ TRUST_TIMELINE, TRUST_PER_SLICE, BELOW, 10, TRUST_WEAK, 10, "samples a slice: {n}",
	  "ask for fewer --slices" },
	{ TRUST_OFFLOAD, TRUST_CALLS, BELOW, 30, TRUST_WEAK, 100, "offload calls that were seen: only {n}",
	  "record {time}" },
	{ TRUST_OFFLOAD, TRUST_TIMED, BELOW, 0.5, TRUST_WEAK, 0.5, "of {p} of the calls alone the end was seen",
	  "how often they come is known, how long they take is not" },
	{ TRUST_OFFLOAD, TRUST_WATCHED, BELOW, 0.05, TRUST_WEAK, 0.1, "probes were in place for {p} of the time only",
	  "record {time}, or with --effort high" },
	{ TRUST_OFFLOAD, TRUST_BOUNDED, ABOVE, 0.5, TRUST_WEAK, 0.3,
	  "of functions with {p} of the calls it is known that they come at least so often, not how often",
	  "record {time}, or with --offload-exact" },

	{ TRUST_COUNTS | ACCESSES, TRUST_RATE, BELOW, 1, TRUST_GOOD, 1,
	  "this goes for shares: amounts are unknown, as how fast the code runs was not measured",
	  "record for longer, with hardware breakpoints" },
	{ TRUST_COUNTS | ACCESSES, TRUST_MODELLED, ABOVE, 0, TRUST_GOOD, 0, "this goes for shares: " MODELLED,
	  "record for longer, with hardware breakpoints" },
};

const unsigned trust_rule_count = sizeof(rules) / sizeof(rules[0]);

struct trust_evidence trust_no_evidence(void)
{
	struct trust_evidence v = { .seconds = NAN };

	for (unsigned i = 0; i < TRUST_FACTS; i++)
		v.fact[i] = NAN;
	return v;
}

/* Numbers of samples grow with time, errors fall with its square root; rounded up to what a person would type. */
static double seconds_for(const struct rule *r, const struct trust_evidence *v)
{
	static const double typed[] = { 5, 10, 20, 30, 60, 120, 300, 600, 1200, LONGEST };
	double x = v->fact[r->fact], times = r->side == BELOW ? r->enough / x : x * x / (r->enough * r->enough);

	for (unsigned i = 0; i < sizeof(typed) / sizeof(typed[0]); i++)
		if (typed[i] > v->seconds && typed[i] >= v->seconds * times)
			return typed[i];
	return NAN;
}

static void fill_in(const struct rule *r, const struct trust_evidence *v, const char *text, char *out, size_t size)
{
	double x = v->fact[r->fact], s = seconds_for(r, v);
	size_t n = 0;

	for (const char *at = text; *at && n + 1 < size;) {
		size_t plain = strcspn(at, "{");

		n += (size_t)snprintf(out + n, size - n, "%.*s", (int)plain, at);
		at += plain;
		if (!*at || n >= size)
			break;
		if (at[1] == 'n')
			n += (size_t)snprintf(out + n, size - n, x < 10 && x != floor(x) ? "%.1f" : "%.0f", x);
		else if (at[1] == 'p')
			/* a sum of expected errors may be more than all that there is */
			n += (size_t)snprintf(out + n, size - n, x < 0.01 ? "%.1f %%" : "%.0f %%", 100 * fmin(x, 1));
		else if (isnan(s))
			n += (size_t)snprintf(out + n, size - n, "for longer");
		else
			n += (size_t)snprintf(out + n, size - n, "%.0f s", s);
		at = strchr(at, '}') + 1;
	}
}

/* Where breakpoints end programs nobody is sent for them. */
static const char *remedy_of(const struct rule *r, const struct trust_evidence *v)
{
	return v->fact[TRUST_HARMLESS] < 1 && strstr(r->remedy, "breakpoints")
		       ? "record on bare metal, or update the host (KVM of Linux 6.14 or newer)"
		       : r->remedy;
}

/* That there are no windows is why nothing was checked, and no fault where little was to be checked. */
static bool beside_the_point(const struct rule *r, const struct trust_evidence *v)
{
	return (r->fact == TRUST_TRIED || r->fact == TRUST_HARMLESS) && !(v->fact[TRUST_BY_UNCHECKED] > ERROR_GOOD);
}

int trust_judge(enum trust_view view, const struct trust_evidence *v, struct trust *out)
{
	*out = (struct trust){ .mark = TRUST_GOOD };
	for (unsigned i = 0; i < trust_rule_count; i++) {
		const struct rule *r = &rules[i];
		double x = v->fact[r->fact];

		/* what is not known is on neither side */
		if (!(r->views & view) || beside_the_point(r, v) || !(r->side == BELOW ? x < r->limit : x > r->limit))
			continue;
		out->mark = r->mark;
		fill_in(r, v, r->reason, out->reason, sizeof(out->reason));
		fill_in(r, v, remedy_of(r, v), out->remedy, sizeof(out->remedy));
		return (int)i;
	}
	return -1;
}

static const char *trust_mark_str(enum trust_mark m)
{
	static const char *const names[] = { "good", "weak", "do not use" };

	return m < sizeof(names) / sizeof(names[0]) ? names[m] : "do not use";
}

void trust_text(const struct trust *t, const char *prefix, const struct text_style *s, struct buf *out)
{
	AUTO_BUF(line);

	if (!t)
		return;
	buf_addf(&line, "trust: %s", trust_mark_str(t->mark));
	if (*t->reason)
		buf_addf(&line, ": %s; %s", t->reason, t->remedy);
	text_hue_on(out, s, t->mark == TRUST_GOOD ? TEXT_WARM : TEXT_HOT);
	buf_addstr(out, prefix);
	text_wrap(out, buf_failed(&line) ? "" : line.data, (unsigned)strlen(prefix), 7, s->width);
	text_hue_off(out, s, TEXT_HOT);
}

void trust_json(const struct trust *t, struct json *j)
{
	if (!t) {
		json_null(j, "trust");
		return;
	}
	json_obj(j, "trust");
	json_str(j, "mark", trust_mark_str(t->mark));
	json_str(j, "reason", *t->reason ? t->reason : NULL);
	json_str(j, "remedy", *t->remedy ? t->remedy : NULL);
	json_end(j);
}
