// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/calibration.h"

#include <math.h>

#include "util/json.h"
#include "view/logca.h"

static void list_json(const struct calib_cases *cases, struct buf *out)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.calibrate-list/1");
	json_arr(&j, "accelerators");
	for (size_t i = 0; i < cases->count; i++) {
		const struct calib_case *c = &cases->at[i];

		json_obj(&j, NULL);
		json_str(&j, "name", c->name);
		json_str(&j, "family", c->family->name);
		json_str(&j, "device", c->device);
		json_str(&j, "baseline", c->baseline);
		json_str(&j, "driver", *c->driver ? c->driver : NULL);
		json_bool(&j, "available", !c->missing[0]);
		json_str(&j, "missing", c->missing[0] ? c->missing : NULL);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

static void list_text(const struct calib_cases *cases, struct buf *out)
{
	for (size_t i = 0; i < cases->count; i++) {
		const struct calib_case *c = &cases->at[i];

		buf_addf(out, "%-26s ", c->name);
		if (c->missing[0])
			buf_addf(out, "- %s\n", c->missing);
		else
			buf_addf(out, "%s, against %s\n", c->device, c->baseline);
	}
}

void calibration_list(const struct calib_cases *cases, bool json, struct buf *out)
{
	(json ? list_json : list_text)(cases, out);
}

void calibration_title(struct buf *out)
{
	buf_addf(out, "%-24s %8s %8s %9s %6s %7s %7s  %7s  %s\n", "accelerator (ns)", "t0", "o+L", "C", "beta", "A_eff",
		 "peak", "misfit", "pays");
}

/* Where one curve misses: what each stretch of sizes says for itself. */
static void stretches(struct buf *row, const struct points *pts, const struct fit *one)
{
	struct fit_segment seg[FIT_STRETCHES];
	struct fit_opts opts = fit_defaults;
	struct err e = { 0 };
	int n;

	opts.resamples = 0;
	n = fit_stretches(pts, &opts, one, seg, &e);
	for (int i = 0; i < n && n > 1; i++) {
		buf_addf(row, "%-24s   ", "");
		logca_size(row, seg[i].first);
		buf_addstr(row, " to ");
		logca_size(row, seg[i].last);
		buf_addf(row, " by itself: A_eff %.3g, misfit %.1f %%\n", seg[i].fit.A_eff.v, seg[i].fit.error * 100);
	}
}

void calibration_row(struct buf *row, const char *name, const struct points *pts, const struct fit *fit)
{
	struct logca_view v = { .p = fit->p, .fit = fit, .pts = pts, .lo = fit->gmin, .hi = fit->gmax };

	buf_addf(row, "%-24s %8.4g %8.4g %9.4g %6.3f %7.3g %7.3g  %5.1f %%  ", name, fit->p.t0, fit->fixed.v, fit->p.C,
		 fit->p.beta, fit->A_eff.v, fit->peak_s, fit->error * 100);
	logca_verdict(row, &v);
	buf_addch(row, '\n');
	if (fit->zero_used && fit->p.kind == LOGCA_DEP)
		buf_addf(row, "%-24s   with the zero-work run: L %.4g ns/B [%.4g, %.4g], A %.4g [%.4g, %.4g]\n", "",
			 fit->L.v, fit->L.lo, fit->L.hi, fit->A.v, fit->A.lo, fit->A.hi);
	if (fit->submit_used)
		buf_addf(row, "%-24s   the submitting call returns after %.4g ns\n", "", fit->o.v);
	stretches(row, pts, fit);
}

#define COMPARED 1048576.0 /* bytes: speed-ups are compared at this size */
#define LEAST 16.0
#define MOST 33554432.0 /* bytes: what is asked about where nothing was measured, as `logca show` does */

/* From which size on it pays; NaN: it never does, does from the first size on, or only below one. */
static double pays_from(const struct catalogue_entry *a)
{
	struct logca_payoff w;

	logca_payoff(&a->p, LEAST, MOST, &w);
	return w.verdict == LOGCA_FROM || w.verdict == LOGCA_BETWEEN ? w.from : NAN;
}

static const char *pays(const struct catalogue_entry *a)
{
	static const char *const word[] = {
		[LOGCA_ALWAYS] = "always", [LOGCA_NEVER] = "never",     [LOGCA_FROM] = "from",
		[LOGCA_UNTIL] = "up to",   [LOGCA_BETWEEN] = "between", [LOGCA_OUTSIDE] = "outside"
	};
	struct logca_payoff w;

	logca_payoff(&a->p, LEAST, MOST, &w);
	return word[w.verdict];
}

static void pays_text(struct buf *b, const struct catalogue_entry *a)
{
	struct logca_payoff w;

	logca_payoff(&a->p, LEAST, MOST, &w);
	if (w.verdict == LOGCA_ALWAYS || w.verdict == LOGCA_NEVER) {
		buf_addstr(b, pays(a));
		return;
	}
	if (w.verdict == LOGCA_UNTIL)
		buf_addstr(b, "< ");
	logca_size(b, w.verdict == LOGCA_UNTIL ? w.to : w.from);
	if (w.verdict == LOGCA_BETWEEN || w.verdict == LOGCA_OUTSIDE)
		buf_addstr(b, w.verdict == LOGCA_BETWEEN ? " (not for all above)" : " (and below another)");
}

/* The largest size that was measured on both sides; NaN: nothing was. */
static double largest_measured(const struct catalogue_entry *a)
{
	double most[2] = { NAN, NAN };

	for (int k = 0; k < 2; k++)
		for (size_t n = 0; n < a->pts.run[k ? RUN_ACCEL : RUN_HOST].count; n++)
			most[k] = fmax(most[k], a->pts.run[k ? RUN_ACCEL : RUN_HOST].at[n].g);
	return fmin(most[0], most[1]);
}

static double large(const struct logca *p)
{
	return 1 / (1 / p->A + (p->kind == LOGCA_DEP ? p->L : 0) / p->C * pow(COMPARED, 1 - p->beta));
}

/* j NULL: as text. True: a figure lies beyond what was measured. */
static bool compare_one(const struct catalogue_entry *a, const struct catalogue_entry *b, struct json *j,
			struct buf *out)
{
	double fa, fb, sa, sb;
	bool beyond;

	fa = a->p.o + (a->p.kind == LOGCA_INDEP ? a->p.L : 0);
	fb = b->p.o + (b->p.kind == LOGCA_INDEP ? b->p.L : 0);
	sa = logca_speedup(&a->p, COMPARED);
	sb = logca_speedup(&b->p, COMPARED);
	beyond = !(largest_measured(a) >= COMPARED && largest_measured(b) >= COMPARED);
	if (j) {
		json_obj(j, NULL);
		json_str(j, "name", a->name);
		json_f64(j, "fixed_old", fa);
		json_f64(j, "fixed_new", fb);
		json_f64(j, "C_old", a->p.C);
		json_f64(j, "C_new", b->p.C);
		json_f64(j, "A_eff_old", large(&a->p));
		json_f64(j, "A_eff_new", large(&b->p));
		json_f64(j, "speedup_1M_old", sa);
		json_f64(j, "speedup_1M_new", sb);
		json_f64(j, "g1_old", pays_from(a));
		json_f64(j, "g1_new", pays_from(b));
		json_str(j, "pays_old", pays(a));
		json_str(j, "pays_new", pays(b));
		json_bool(j, "speedup_1M_extrapolated", beyond);
		json_end(j);
	} else {
		AUTO_BUF(ga);
		AUTO_BUF(gb);

		pays_text(&ga, a);
		pays_text(&gb, b);
		buf_addf(out, "%-24s %10.4g %10.4g %6.2f   %9.4g%c %9.4g%c %6.2f   %10s %10s\n", a->name, fa, fb,
			 fb / fa, sa, beyond ? '*' : ' ', sb, beyond ? '*' : ' ', sb / sa, ga.data, gb.data);
	}
	return beyond;
}

void calibration_compare(const struct catalogue *was, const struct catalogue *now, const char *const names[2],
			 bool json, struct buf *out)
{
	struct json j = { .out = out };
	unsigned only[2] = { 0, 0 };
	bool any_beyond = false;

	if (json) {
		json_obj(&j, NULL);
		json_str(&j, "schema", "accperf.calibrate-compare/1");
		json_arr(&j, "accelerators");
	} else {
		buf_addf(out, "%-24s %10s %10s %6s   %10s %10s %6s   %10s %10s\n", "", "fixed old", "new", "ratio",
			 "S(1M) old", "new", "ratio", "pays old", "new");
	}
	for (size_t i = 0; i < was->count; i++) {
		const struct catalogue_entry *a = &was->entries[i], *b = catalogue_find(now, a->name);

		if (!b || !a->has_params || !b->has_params) {
			only[0] += !b;
			continue;
		}
		any_beyond |= compare_one(a, b, json ? &j : NULL, out);
	}
	for (size_t i = 0; i < now->count; i++)
		only[1] += !catalogue_find(was, now->entries[i].name);
	if (json) {
		json_end(&j);
		json_u64(&j, "only_old", only[0]);
		json_u64(&j, "only_new", only[1]);
		json_end(&j);
		buf_addch(out, '\n');
	} else {
		if (any_beyond)
			buf_addstr(out, "* beyond the sizes that were measured: by the model\n");
		buf_addf(out, "%u only in %s, %u only in %s\n", only[0], names[0], only[1], names[1]);
	}
}
