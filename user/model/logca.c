// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/logca.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/expsum.h"

/* T1 = fixed + slope g + work g^beta, whatever the kind. */
static double fixed_of(const struct logca *p)
{
	return p->o + (p->kind == LOGCA_INDEP ? p->L : 0);
}

static double slope_of(const struct logca *p)
{
	return p->kind == LOGCA_DEP ? p->L : 0;
}

static double accelerated_work(const struct logca *p)
{
	return isinf(p->A) ? 0 : p->C / p->A;
}

const char *logca_latency_str(enum logca_latency kind)
{
	return kind == LOGCA_DEP ? "dep" : "indep";
}

int logca_check(const struct logca *p, struct err *e)
{
	const struct {
		const char *name;
		double v;
	} num[] = {
		{ "L", p->L }, { "o", p->o }, { "C", p->C }, { "beta", p->beta }, { "t0", p->t0 },
	};

	for (size_t i = 0; i < sizeof(num) / sizeof(num[0]); i++)
		if (!isfinite(num[i].v) || num[i].v < 0)
			return err_set(e, -EINVAL, "%s must be a number of 0 or more, not %g", num[i].name, num[i].v);
	if (isnan(p->A) || p->A <= 0)
		return err_set(e, -EINVAL, "A must be above 0 (inf is allowed), not %g", p->A);
	if (p->C == 0)
		return err_set(e, -EINVAL, "C must be above 0: without work on the host there is nothing to offload");
	if (p->beta > 8)
		return err_set(e, -EINVAL, "beta must be between 0 and 8, not %g", p->beta);
	if (p->o == 0 && p->L == 0 && isinf(p->A))
		return err_set(e, -EINVAL, "o, L and 1/A are all 0: the accelerator would take no time at all");
	return 0;
}

int logca_parse(const char *text, struct logca *p, struct err *e)
{
	struct {
		const char *name;
		double *at;
		bool need, seen;
	} field[] = {
		{ "L", &p->L, true, false }, { "o", &p->o, true, false },       { "C", &p->C, true, false },
		{ "A", &p->A, true, false }, { "beta", &p->beta, true, false }, { "t0", &p->t0, false, false },
	};
	const size_t fields = sizeof(field) / sizeof(field[0]);
	bool latency = false;

	*p = (struct logca){ 0 };
	for (const char *s = text; *s;) {
		size_t len = strcspn(s, ","), name = strcspn(s, "=");
		char value[64], *end;
		size_t i;

		if (name >= len || len - name - 1 >= sizeof(value) || len == name + 1)
			return err_set(
				e, -EINVAL,
				"'%.*s' is no NAME=VALUE; wanted is L=..,o=..,C=..,A=..,beta=..,latency=indep|dep",
				(int)(len < 60 ? len : 60), s);
		memcpy(value, s + name + 1, len - name - 1);
		value[len - name - 1] = 0;
		if (name == 7 && !memcmp(s, "latency", 7)) {
			if (strcmp(value, "indep") && strcmp(value, "dep"))
				return err_set(e, -EINVAL, "latency is indep or dep, not '%s'", value);
			p->kind = value[0] == 'd' ? LOGCA_DEP : LOGCA_INDEP;
			latency = true;
		} else {
			for (i = 0; i < fields; i++)
				if (strlen(field[i].name) == name && !memcmp(field[i].name, s, name))
					break;
			if (i == fields)
				return err_set(
					e, -EINVAL,
					"'%.*s' is no parameter of LogCA; there are L, o, C, A, beta, latency and t0",
					(int)(name < 40 ? name : 40), s);
			*field[i].at = strtod(value, &end);
			if (*end || end == value)
				return err_set(e, -EINVAL, "%s wants a number, not '%s'", field[i].name, value);
			field[i].seen = true;
		}
		s += len;
		if (*s == ',')
			s++;
	}
	for (size_t i = 0; i < fields; i++)
		if (field[i].need && !field[i].seen)
			return err_set(e, -EINVAL,
				       "%s is missing; wanted is L=..,o=..,C=..,A=..,beta=..,latency=indep|dep",
				       field[i].name);
	if (!latency)
		return err_set(e, -EINVAL,
			       "latency is missing: latency=indep (L per call) or latency=dep (L per byte)");
	return logca_check(p, e);
}

double logca_host(const struct logca *p, double g)
{
	return p->t0 + p->C * pow(g, p->beta);
}

double logca_accel(const struct logca *p, double g)
{
	return fixed_of(p) + slope_of(p) * g + accelerated_work(p) * pow(g, p->beta);
}

double logca_speedup(const struct logca *p, double g)
{
	return logca_host(p, g) / logca_accel(p, g);
}

double logca_bound(const struct logca *p, double g)
{
	double by_work = p->A, by_transfer = INFINITY;

	if (p->t0 > 0)
		return logca_host(p, g) / (slope_of(p) * g + accelerated_work(p) * pow(g, p->beta));
	if (slope_of(p) > 0)
		by_transfer = p->C / p->L * pow(g, p->beta - 1);
	return fmin(by_work, by_transfer);
}

double logca_limit(const struct logca *p)
{
	double slope = slope_of(p), work = accelerated_work(p);

	if (p->beta == 0)
		return slope > 0 ? 0 : (p->t0 + p->C) / (fixed_of(p) + work);
	if (slope == 0 || p->beta > 1)
		return p->A;
	if (p->beta == 1)
		return 1 / (1 / p->A + p->L / p->C);
	return 0;
}

int logca_solve(const struct logca *p, double s, double g[2])
{
	struct expsum_term t[3] = {
		{ p->t0 - s * fixed_of(p), 0 },
		{ p->C - s * accelerated_work(p), p->beta },
		{ -s * slope_of(p), 1 },
	};
	double x[2];
	int n = 0;

	for (int i = 0, roots = expsum_roots(t, 3, x); i < roots; i++)
		if (isnormal(exp(x[i]))) /* a flat curve may cross beyond what a double holds */
			g[n++] = exp(x[i]);
	return n;
}

void logca_newton(const struct logca *p, double *g1, double *ga2)
{
	*g1 = *ga2 = NAN;
	if (p->kind != LOGCA_DEP)
		return;
	*g1 = (p->C * (p->beta - 1) * (p->A - 1) + p->A * p->o) / (p->C * p->beta * (p->A - 1) - p->A * p->L);
	*ga2 = (p->C * (p->beta - 1) + p->A * p->o) / (p->C * p->beta - p->A * p->L);
}

void logca_peak(const struct logca *p, double lo, double hi, double *g, double *s)
{
	double a = fixed_of(p), L = slope_of(p), B = accelerated_work(p), x[2], at[4] = { lo, hi };
	/* numerator of S' times g */
	struct expsum_term t[3] = {
		{ p->beta * (p->C * a - p->t0 * B), p->beta },
		{ p->C * L * (p->beta - 1), p->beta + 1 },
		{ -p->t0 * L, 1 },
	};
	int n = 2;

	for (int i = 0, roots = expsum_roots(t, 3, x); i < roots; i++)
		if (x[i] > log(lo) && x[i] < log(hi))
			at[n++] = exp(x[i]);
	*g = lo;
	*s = -INFINITY;
	for (int i = 0; i < n; i++) {
		double here = logca_speedup(p, at[i]);

		if (here > *s) {
			*s = here;
			*g = at[i];
		}
	}
}

double logca_half_peak(const struct logca *p, double peak)
{
	double g[2];

	return logca_solve(p, peak / 2, g) ? g[0] : NAN;
}

bool logca_compute_bound(const struct logca *p)
{
	return p->kind == LOGCA_INDEP || p->beta > 1;
}

void logca_improve(struct logca *p, enum logca_letter letter, double k)
{
	switch (letter) {
	case LOGCA_L: p->L /= k; break;
	case LOGCA_O: p->o /= k; break;
	case LOGCA_C: p->C *= k; break;
	case LOGCA_A: p->A *= k; break;
	case LOGCA_LETTERS: break;
	}
}

double logca_gain(const struct logca *p, enum logca_letter letter, double k, double g)
{
	struct logca better = *p;

	logca_improve(&better, letter, k);
	return logca_speedup(&better, g) / logca_speedup(p, g);
}

double logca_share(const struct logca *p, enum logca_letter letter, double g)
{
	double total = logca_accel(p, g);

	switch (letter) {
	case LOGCA_L: return (p->kind == LOGCA_DEP ? p->L * g : p->L) / total;
	case LOGCA_O: return p->o / total;
	case LOGCA_A: return accelerated_work(p) * pow(g, p->beta) / total;
	default: return NAN;
	}
}

/*
 * With t0 the gain from more work per byte is no sum of three powers: T0 counts too. It is smooth and
 * changes its direction at most twice, so eight samples an octave and bisection between them suffice.
 */
static int cut_sampled(const struct logca *p, enum logca_letter letter, double lo, double hi, double iv[2][2])
{
	int steps = (int)(8 * log2(hi / lo)) + 1, count = 0;
	double prev = lo;
	bool on = logca_gain(p, letter, LOGCA_IMPROVE, lo) >= LOGCA_RATIO;

	if (on)
		iv[count][0] = lo;
	for (int i = 1; i <= steps && count < 2; i++) {
		double g = i == steps ? hi : lo * exp(log(hi / lo) * i / steps), a = prev, b = g;
		bool now = logca_gain(p, letter, LOGCA_IMPROVE, g) >= LOGCA_RATIO;

		prev = g;
		if (now == on)
			continue;
		for (int k = 0; k < 100; k++) {
			double mid = sqrt(a * b);

			if ((logca_gain(p, letter, LOGCA_IMPROVE, mid) >= LOGCA_RATIO) == on)
				a = mid;
			else
				b = mid;
		}
		if (on)
			iv[count++][1] = a;
		else
			iv[count][0] = a;
		on = now;
	}
	if (on && count < 2)
		iv[count++][1] = hi;
	return count;
}

int logca_cut(const struct logca *p, enum logca_letter letter, double lo, double hi, double iv[2][2])
{
	/* A k times better P raises S by r where P >= share * T1. */
	const double k = LOGCA_IMPROVE, r = LOGCA_RATIO, share = (1 - 1 / r) / (1 - 1 / k);
	double a = p->o, fixed_L = fixed_of(p) - p->o, L = slope_of(p), B = accelerated_work(p);
	struct expsum_term t[3] = { { -share * (a + fixed_L), 0 }, { -share * L, 1 }, { -share * B, p->beta } };
	double x[2][2];
	int n;

	switch (letter) {
	case LOGCA_O: t[0].c += a; break;
	case LOGCA_L:
		t[0].c += fixed_L;
		t[1].c += L;
		break;
	case LOGCA_A: t[2].c += B; break;
	case LOGCA_C:
		if (p->t0 > 0)
			return cut_sampled(p, letter, lo, hi, iv);
		/* k T1 / (T1 + (k - 1) X) >= r */
		t[0].c = (k - r) * (a + fixed_L);
		t[1].c = (k - r) * L;
		t[2].c = (k - r) * B - r * (k - 1) * B;
		break;
	case LOGCA_LETTERS: return 0;
	}
	n = expsum_positive(t, 3, log(lo), log(hi), x);
	for (int i = 0; i < n; i++) {
		iv[i][0] = exp(x[i][0]);
		iv[i][1] = exp(x[i][1]);
	}
	return n;
}

int logca_regions(const struct logca *p, double lo, double hi, struct logca_region *r, int max)
{
	int n = 0;

	for (double g = exp2(ceil(log2(lo) - 1e-9)); g <= hi * (1 + 1e-9); g *= 2) {
		char letters[LOGCA_LETTERS + 1];
		int len = 0;

		for (int i = 0; i < LOGCA_LETTERS; i++)
			if (logca_gain(p, (enum logca_letter)i, LOGCA_IMPROVE, g) >= LOGCA_RATIO)
				letters[len++] = LOGCA_LETTER_NAMES[i];
		letters[len] = 0;
		if (n && !strcmp(r[n - 1].letters, letters)) {
			r[n - 1].last = g;
			continue;
		}
		if (n == max)
			break;
		r[n] = (struct logca_region){ .first = g, .last = g };
		memcpy(r[n++].letters, letters, sizeof(letters));
	}
	return n;
}

void logca_payoff(const struct logca *p, double lo, double hi, struct logca_payoff *out)
{
	double peak_g, peak_s, inside[2];
	int n = 0;
	bool at_lo = logca_speedup(p, lo) >= 1, at_hi = logca_speedup(p, hi) >= 1;

	*out = (struct logca_payoff){ .from = NAN, .to = NAN, .binding = LOGCA_O };
	out->roots = logca_solve(p, 1, out->g1);
	for (int i = 0; i < out->roots; i++)
		if (out->g1[i] > lo && out->g1[i] < hi)
			inside[n++] = out->g1[i];
	logca_peak(p, lo, hi, &peak_g, &peak_s);
	for (int i = 0; i < LOGCA_LETTERS; i++)
		if (logca_share(p, (enum logca_letter)i, peak_g) > logca_share(p, out->binding, peak_g))
			out->binding = (enum logca_letter)i;
	if (n == 0) {
		out->verdict = at_lo ? LOGCA_ALWAYS : out->roots ? LOGCA_OUTSIDE : LOGCA_NEVER;
	} else if (n == 1) {
		out->verdict = at_hi ? LOGCA_FROM : LOGCA_UNTIL;
		*(at_hi ? &out->from : &out->to) = inside[0];
	} else {
		/* Two crossings bracket gain with the published model; with t0 they may bracket loss. */
		out->verdict = LOGCA_BETWEEN;
		out->from = inside[at_lo];
		out->to = inside[!at_lo];
	}
}

double logca_batch_speedup(const struct logca *p, double g, double n)
{
	return n * logca_host(p, g) / (fixed_of(p) + n * (slope_of(p) * g + accelerated_work(p) * pow(g, p->beta)));
}

double logca_batch(const struct logca *p, double g)
{
	double saved = logca_host(p, g) - slope_of(p) * g - accelerated_work(p) * pow(g, p->beta), n;

	if (!(saved > 0))
		return NAN;
	n = ceil(fixed_of(p) / saved * (1 - 1e-12));
	return n < 1 ? 1 : n;
}
