// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/segment_rate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/grow.h"
#include "util/map.h"
#include "util/normal.h"

#define PART_LEAST 0.2 /* of the time: what is known of less says little of the rest */
#define IN_NONE "too much of the time lies in no segment: no system call came back in it"
#define SPREAD_LEAST 0.3 /* of the log of a segment's rate: what is not verified is so for a reason */
#define FAULT_NS 1000.0  /* that the kernel takes for a page fault, */
#define FAULT_OFF 0.5    /* within that part of it */
#define GAP_OFF 0.3      /* part of the gap by which it may differ from what was measured on ourselves */
#define SD_MOST 0.354    /* of the log of the rate: within a factor of two, 95 times of a hundred */
#define AMOUNT_MOST 1e15 /* of anything in a record: more is damage */
#define WEIGHT_MOST 1e9  /* returns that one segment may stand for: more is damage */

const char *segment_state_str(enum fmt_segment_state state)
{
	static const char *const name[FMT_SEG_STATES] = {
		[FMT_SEG_TIMED] = "timed",       [FMT_SEG_VERIFIED] = "verified", [FMT_SEG_DIVERGED] = "diverged",
		[FMT_SEG_CENSORED] = "censored", [FMT_SEG_LOST] = "lost",
	};

	return (unsigned)state < FMT_SEG_STATES && name[state] ? name[state] : "unknown";
}

const char *segment_cause_str(enum fmt_segment_cause cause)
{
	static const char *const name[FMT_SEGCS] = {
		[FMT_SEGC_NONE] = "none",
		[FMT_SEGC_ENTRY] = "another system call",
		[FMT_SEGC_REGISTERS] = "other registers",
		[FMT_SEGC_BRANCH] = "unknown branch",
		[FMT_SEGC_MEMORY] = "memory not there",
		[FMT_SEGC_CODE] = "code not to be followed",
		[FMT_SEGC_STUCK] = "stuck",
		[FMT_SEGC_CLOCK] = "read the clock",
		[FMT_SEGC_SIGNAL] = "signal",
		[FMT_SEGC_HORIZON] = "too many instructions",
		[FMT_SEGC_LONG] = "too long",
		[FMT_SEGC_UNSEEN] = "entry not seen",
		[FMT_SEGC_PAGES] = "pages lost",
		[FMT_SEGC_DENIED] = "memory may not be read",
		[FMT_SEGC_TIME] = "time unknown",
	};

	return (unsigned)cause < FMT_SEGCS ? name[cause] : "unknown";
}

/* Weighted sums; over all segments, or over one piece of time. */
struct segment_rate_sums {
	double insns, known_ns; /* of verified ones */
	double carried, carried_ns, timed, timed_ns;
	double carried_off, timed_off; /* ns, from the mean of their kinds */
	double alone_ns;               /* of timed ones of whose kind none was carried on */
	double open_ns;                /* of censored ones, at least */
	double lost;                   /* of carried ones */
	double taken, gap, fault_ns;   /* of carried ones */
};

/*
 * Segments from one system call to another. Of what a thread does the kinds differ most: one takes 60 us, the next a
 * third of one. Those that are carried on are few, and drawn the more often the longer what follows such a call is, so
 * by chance nearly all of them may be of one kind. Timed ones are many, each with the same chance: of each kind carried
 * ones stand for as many as were timed, and are held against those.
 */
struct kind_sums {
	double carried, carried_ns, lost, timed, timed_ns;
};

struct by_kind {
	struct kind_sums *of;
	size_t count, cap;
	struct map at;
	double as_often; /* what a carried one stands for, of whose kind none was timed */
};

static bool makes_sense(const struct fmt_segment *s)
{
	return s->state >= FMT_SEG_TIMED && s->state < FMT_SEG_STATES && s->cause < FMT_SEGCS && s->weight > 0 &&
	       s->weight < WEIGHT_MOST && fabs(s->ns) < AMOUNT_MOST && s->instructions < (uint64_t)AMOUNT_MOST &&
	       (s->state != FMT_SEG_VERIFIED || s->instructions);
}

/* In user mode: what faults took is the kernel's. */
static double user_ns(const struct fmt_segment *s)
{
	return s->ns - s->faults * FAULT_NS;
}

double segment_user_ns(const struct fmt_segment *s)
{
	return makes_sense(s) ? user_ns(s) : NAN;
}

static bool was_timed(const struct fmt_segment *s)
{
	return s->state == FMT_SEG_TIMED && s->cause == FMT_SEGC_NONE;
}

/* It came to its end, and its time is known. */
static bool is_carried(const struct fmt_segment *s)
{
	return s->state == FMT_SEG_VERIFIED || s->state == FMT_SEG_DIVERGED ||
	       (s->state == FMT_SEG_CENSORED && s->cause != FMT_SEGC_LONG);
}

static uint64_t kind_key(const struct fmt_segment *s)
{
	return (uint64_t)(uint32_t)s->nr << 32 | (uint32_t)s->entry_nr;
}

static int add_to_kind(struct by_kind *k, const struct fmt_segment *s)
{
	bool added;
	uint64_t *at = map_put(&k->at, kind_key(s), &added);
	struct kind_sums *of;

	if (!at || (added && !GROW(k->of, k->count, k->cap, 16)))
		return -ENOMEM;
	if (added) {
		*at = k->count;
		k->of[k->count++] = (struct kind_sums){ 0 };
	}
	of = &k->of[*at];
	if (was_timed(s)) {
		of->timed += s->weight;
		of->timed_ns += s->weight * user_ns(s);
	} else if (is_carried(s)) {
		of->carried += s->weight;
		of->carried_ns += s->weight * user_ns(s);
	} else if (s->state == FMT_SEG_LOST) {
		of->lost += s->weight;
	}
	return 0;
}

static int sort_kinds(struct by_kind *k, const struct fmt_segment *s, size_t n)
{
	double carried = 0, timed = 0;

	for (size_t i = 0; i < n; i++)
		if (makes_sense(&s[i]) && add_to_kind(k, &s[i]))
			return -ENOMEM;
	for (size_t i = 0; i < k->count; i++) {
		carried += k->of[i].carried + k->of[i].lost;
		timed += k->of[i].timed;
	}
	k->as_often = carried > 0 && timed > 0 ? timed / carried : 1;
	return 0;
}

static void release_kinds(struct by_kind *k)
{
	free(k->of);
	map_release(&k->at);
}

/* How many segments of its kind one stands for that was carried on, as timed ones have it. */
static double stands_for(const struct by_kind *k, const struct kind_sums *of, const struct fmt_segment *s)
{
	return s->weight * (of->timed > 0 && of->carried > 0 ? of->timed / (of->carried + of->lost) : k->as_often);
}

/* One that is longer than any is followed for is so whether it was carried on or only timed. */
static void add_segment(struct segment_rate_sums *to, const struct by_kind *k, const struct fmt_segment *s)
{
	const struct kind_sums *of = &k->of[*map_get(&k->at, kind_key(s))];
	double w = s->weight, ns = user_ns(s);

	if (s->state == FMT_SEG_TIMED) {
		if (!was_timed(s))
			return;
		if (!(of->carried > 0)) {
			to->alone_ns += w * ns;
			return;
		}
		to->timed += w;
		to->timed_ns += w * ns;
		to->timed_off += w * (ns - of->timed_ns / of->timed);
		return;
	}
	w = stands_for(k, of, s);
	if (s->state == FMT_SEG_LOST)
		to->lost += w;
	else if (!is_carried(s))
		to->open_ns += w * ns;
	if (!is_carried(s))
		return;
	if (s->state == FMT_SEG_VERIFIED) {
		to->insns += w * (double)s->instructions;
		to->known_ns += w * ns;
	}
	to->carried += w;
	to->carried_ns += w * ns;
	to->carried_off += w * (ns - of->carried_ns / of->carried);
	to->taken += w * s->taken_ns;
	to->gap += w * s->gap_ns;
	to->fault_ns += w * s->faults * FAULT_NS;
}

/* How much one verified segment's rate differs from another's, by the time that they take. */
static double spread_of_rates(const struct fmt_segment *s, size_t n)
{
	double weight = 0, mean = 0, square = 0;

	for (size_t i = 0; i < n; i++) {
		double ns = user_ns(&s[i]), w = s[i].weight * ns, rate;

		if (!makes_sense(&s[i]) || s[i].state != FMT_SEG_VERIFIED || !(ns > 0))
			continue;
		rate = log((double)s[i].instructions / ns);
		weight += w;
		mean += w * rate;
		square += w * rate * rate;
	}
	mean /= weight;
	return weight > 0 ? fmax(SPREAD_LEAST, sqrt(fmax(0, square / weight - mean * mean))) : INFINITY;
}

/* What taking pages added to each carried segment's time, ns: between nothing and what the taking itself took, which
 * is as many lines of the caches; and as measured, by how much longer than the timed ones they are. */
struct disturbance {
	double ns, var;  /* var: of what is assumed alone */
	double measured; /* the part of `ns` that rests on what was measured */
};

static struct disturbance disturbance_of(const struct segment_rate_sums *all, double measured_var)
{
	double most = all->taken / all->carried, assumed = most / 2, assumed_var = most * most / 12;
	double measured = all->timed > 0 ? all->carried_ns / all->carried - all->timed_ns / all->timed : NAN;
	double part = measured_var > 0 && !isnan(measured) ? assumed_var / (assumed_var + measured_var) : 0;
	struct disturbance d = { .measured = part, .var = (1 - part) * (1 - part) * assumed_var };

	d.ns = part > 0 ? fmax(0, fmin(part * measured + (1 - part) * assumed, most)) : assumed;
	return d;
}

/* What one piece of time adds to the mean time of carried ones, and to that of timed ones. */
static double carried_apart(const struct segment_rate_sums *all, const struct segment_rate_sums *h)
{
	return h->carried_off / all->carried;
}

static double timed_apart(const struct segment_rate_sums *all, const struct segment_rate_sums *h)
{
	return all->timed > 0 ? h->timed_off / all->timed : 0;
}

struct segment_rate_walk {
	const struct fmt_segment *s;
	const struct by_kind *kinds;
	size_t n, at;
};

/* The sums of the next piece of time; false: there are no more. */
static bool next_stretch(struct segment_rate_walk *w, struct segment_rate_sums *out)
{
	uint32_t stretch;

	*out = (struct segment_rate_sums){ 0 };
	if (w->at == w->n)
		return false;
	for (stretch = w->s[w->at].stretch; w->at < w->n && w->s[w->at].stretch == stretch; w->at++)
		if (makes_sense(&w->s[w->at]))
			add_segment(out, w->kinds, &w->s[w->at]);
	return true;
}

static double variance_of_disturbance(const struct segment_rate_sums *all, struct segment_rate_walk w, double stretches)
{
	struct segment_rate_sums h;
	double sum = 0;

	while (next_stretch(&w, &h)) {
		double apart = carried_apart(all, &h) - timed_apart(all, &h);

		sum += apart * apart;
	}
	return sum * stretches / (stretches - 1);
}

/* Of the log of the rate, by how the pieces of time differ: linearised. */
static double variance_by_chance(const struct segment_rate_sums *all, const struct disturbance *d,
				 struct segment_rate_walk w, double stretches)
{
	double rate = all->insns / all->known_ns, mean = all->carried_ns / all->carried, clean = mean - d->ns, sum = 0;
	struct segment_rate_sums h;

	while (next_stretch(&w, &h)) {
		double c = carried_apart(all, &h), t = timed_apart(all, &h);
		double off =
			(h.insns - rate * h.known_ns) / all->insns + c / mean - (c - d->measured * (c - t)) / clean;

		sum += off * off;
	}
	return sum * stretches / (stretches - 1);
}

static double square(double x)
{
	return x * x;
}

static void estimate_rate(struct segment_rate *r, const struct segment_rate_sums *all, struct segment_rate_walk w)
{
	double m = (double)r->stretches, mean = all->carried_ns / all->carried, clean, rate, half;
	double open = 1 - r->verified * (isnan(r->met) ? 1 : r->met);
	struct disturbance d = disturbance_of(all, variance_of_disturbance(all, w, m));

	clean = mean - d.ns;
	if (!(clean > 0)) {
		r->why = "segments are too short for their time to be measured";
		return;
	}
	rate = all->insns / all->known_ns * mean / clean;
	r->var_chance = variance_by_chance(all, &d, w, m);
	r->var_unverified = square(open * spread_of_rates(w.s, w.n));
	r->var_prices = d.var / square(clean) + square(GAP_OFF * all->gap / all->carried / clean) +
			square(FAULT_OFF * all->fault_ns / all->carried / clean);
	half = student_half(m - 1) / Z95 * sqrt(r->var_chance + r->var_unverified + r->var_prices);
	if (!(half <= SD_MOST)) {
		r->why = r->var_unverified > r->var_chance + r->var_prices && r->met < r->verified ? IN_NONE
			 : r->var_unverified > r->var_chance + r->var_prices
				 ? "too much of the time is in segments that were not verified"
			 : r->var_prices > r->var_chance ? "segments are too short for their time to be measured"
							 : "segments differ too much: record for longer";
		return;
	}
	r->known = true;
	r->per_ns = rate;
	r->low = rate * exp(-Z95 * half);
	r->high = rate * exp(Z95 * half);
}

static const char *too_few(const struct segment_rate *r, const struct segment_rate_sums *all)
{
	uint64_t carried = r->count[FMT_SEG_VERIFIED] + r->count[FMT_SEG_DIVERGED] + r->count[FMT_SEG_CENSORED] +
			   r->count[FMT_SEG_LOST];

	if (!carried && !r->count[FMT_SEG_TIMED])
		return "no segment was drawn: none was looked for, or no system call came back";
	if (all->open_ns > all->known_ns && all->open_ns > 0)
		return "most of the time lies in segments that are longer than any is followed for";
	if (carried >= VERIFIED_LEAST && r->met < PART_LEAST)
		return IN_NONE;
	if (carried >= VERIFIED_LEAST && r->verified < PART_LEAST)
		return "too much of the time is in segments that were not verified";
	if (r->count[FMT_SEG_VERIFIED] < VERIFIED_LEAST || r->stretches < STRETCHES_LEAST)
		return "too few segments were verified: record for longer";
	return all->known_ns > 0 ? NULL : "segments are too short for their time to be measured";
}

/* Segments that came to their end, each for as many as it stands for, against all user time of as many stretches: what
 * is missing began before them, or goes on behind them, for longer than any was waited for. One stretch of many
 * with the beginning of a phase of a second shows nothing of the phase. */
static double part_met(const struct segment_rate_sums *all, const struct fmt_segment *s, size_t n, double running)
{
	double stretches;

	if (!n || !(running > 0) || !(all->timed_ns + all->alone_ns > 0) || s[n - 1].stretch < s[0].stretch)
		return NAN;
	stretches = (double)(s[n - 1].stretch - s[0].stretch) + 1;
	return fmax(0, fmin(1, (all->timed_ns + all->alone_ns) / (stretches * FMT_SEGMENT_STRETCH_NS * running)));
}

/* Carried ones are disturbed, so they take longer than timed ones of their kind. Where they are shorter, long ones are
 * missing among them: where a thread calls often between long pauses, a recorder that has just become ready meets short
 * ones. And of some kinds none was carried on. */
static double part_alike(const struct segment_rate_sums *all)
{
	double carried = all->carried_ns / all->carried, timed = all->timed_ns / all->timed, met = 1;

	if (all->timed_ns + all->alone_ns > 0)
		met = fmax(0, fmin(1, all->timed_ns / (all->timed_ns + all->alone_ns)));
	return all->carried > 0 && all->timed > 0 && timed > 0 ? met * fmax(0, fmin(1, carried / timed)) : met;
}

static void rate_by_kind(struct segment_rate *r, struct segment_rate_walk w, double running)
{
	struct segment_rate_walk again = w;
	struct segment_rate_sums all = { 0 }, h;
	double time;

	for (size_t i = 0; i < w.n; i++)
		if (makes_sense(&w.s[i]))
			add_segment(&all, w.kinds, &w.s[i]);
	r->met = part_met(&all, w.s, w.n, running);
	while (next_stretch(&again, &h))
		r->stretches += h.carried > 0;
	/* a lost one took as long as any, for all that is known */
	time = all.carried_ns + all.open_ns + (all.carried > 0 ? all.lost * all.carried_ns / all.carried : 0);
	if (time > 0)
		r->verified = fmax(0, fmin(1, all.known_ns / time)) * part_alike(&all);
	r->why = too_few(r, &all);
	if (!r->why)
		estimate_rate(r, &all, w);
}

struct segment_rate segment_rate(const struct fmt_segment *s, size_t n, double running, uint64_t *dropped)
{
	struct segment_rate r = { .per_ns = NAN,
				  .low = NAN,
				  .high = NAN,
				  .verified = NAN,
				  .met = NAN,
				  .var_chance = NAN,
				  .var_unverified = NAN,
				  .var_prices = NAN };
	struct by_kind kinds = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (!makes_sense(&s[i])) {
			++*dropped;
			continue;
		}
		r.count[s[i].state]++;
		r.cause[s[i].cause]++;
		r.instructions += s[i].state == FMT_SEG_VERIFIED ? s[i].instructions : 0;
	}
	if (sort_kinds(&kinds, s, n))
		r.why = "no memory was left to sort segments";
	else
		rate_by_kind(&r, (struct segment_rate_walk){ .s = s, .kinds = &kinds, .n = n }, running);
	release_kinds(&kinds);
	return r;
}
