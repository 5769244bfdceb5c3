// SPDX-License-Identifier: GPL-2.0-or-later
/* A LogCA model, its fit and what follows from it (logca.h) as text for a terminal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/logca.h"

#define LABEL 25 /* columns before a value: two blanks, a label, a blank; by hand */

static void add_parameter_label(struct buf *b, const char *s)
{
	buf_addf(b, "  %-*s ", LABEL - 3, s);
}

static void add_fit_interval(struct buf *b, const struct fit_value *v, bool size)
{
	if (!v || isnan(v->lo))
		return;
	buf_addstr(b, " [");
	if (size)
		logca_size(b, v->lo);
	else
		buf_addf(b, "%.5g", v->lo);
	buf_addstr(b, ", ");
	if (isinf(v->hi))
		buf_addstr(b, "inf)");
	else if (size)
		logca_size(b, v->hi);
	else
		buf_addf(b, "%.5g", v->hi);
	if (!isinf(v->hi))
		buf_addstr(b, "]");
}

static const struct fit_value *crossing(const struct logca_view *v, double g)
{
	for (int i = 0; v->fit && i < v->fit->roots; i++)
		if (v->fit->g1[i].v == g)
			return &v->fit->g1[i];
	return NULL;
}

/* A labelled line that may be long. */
static void labelled(struct buf *b, const struct text_style *s, const char *name, const struct buf *text)
{
	add_parameter_label(b, name);
	text_wrap(b, text->data ? text->data : "", LABEL, LABEL, s->width ? s->width : 80);
}

static const char *binding_text(enum logca_letter l)
{
	return l == LOGCA_L   ? "the latency L"
	       : l == LOGCA_O ? "the overhead o"
			      : "the accelerator's own computing time (A)";
}

void logca_verdict(struct buf *b, const struct logca_view *v)
{
	struct logca_payoff w;

	if (v->fit && fit_doubt(v->fit)) {
		buf_addf(b, "cannot tell: %s", fit_doubt(v->fit));
		return;
	}
	logca_payoff(&v->p, v->lo, v->hi, &w);
	switch (w.verdict) {
	case LOGCA_ALWAYS:
		buf_addstr(b, "always (<= ");
		logca_size(b, v->lo);
		buf_addstr(b, ")");
		break;
	case LOGCA_NEVER: buf_addf(b, "never: %s is the largest part of an offload", binding_text(w.binding)); break;
	case LOGCA_FROM:
		buf_addstr(b, "from ");
		logca_size(b, w.from);
		add_fit_interval(b, crossing(v, w.from), true);
		break;
	case LOGCA_UNTIL:
		buf_addstr(b, "up to ");
		logca_size(b, w.to);
		add_fit_interval(b, crossing(v, w.to), true);
		break;
	case LOGCA_BETWEEN:
		if (w.from > w.to) {
			buf_addstr(b, "up to ");
			logca_size(b, w.to);
			add_fit_interval(b, crossing(v, w.to), true);
			buf_addstr(b, " and again from ");
			logca_size(b, w.from);
			add_fit_interval(b, crossing(v, w.from), true);
			break;
		}
		buf_addstr(b, "between ");
		logca_size(b, w.from);
		add_fit_interval(b, crossing(v, w.from), true);
		buf_addstr(b, " and ");
		logca_size(b, w.to);
		add_fit_interval(b, crossing(v, w.to), true);
		break;
	case LOGCA_OUTSIDE:
		buf_addf(b, "outside %s range (", v->pts ? "the measured" : "this");
		for (int i = 0; i < w.roots; i++) {
			buf_addf(b, "%s%s ", i ? ", " : "", w.g1[i] > v->hi ? "above it:" : "below it:");
			logca_size(b, w.g1[i]);
		}
		buf_addstr(b, ")");
		break;
	}
}

static void parameter(struct buf *b, const char *name, double v, const struct fit_value *fit, const char *unit)
{
	add_parameter_label(b, name);
	if (fit && isnan(fit->v)) {
		buf_addstr(b, "not identified");
		if (!isnan(fit->lo) && !isnan(fit->hi)) {
			buf_addstr(b, ":");
			add_fit_interval(b, fit, false);
		}
	} else if (isinf(v)) {
		buf_addstr(b, "infinite");
		add_fit_interval(b, fit, false);
	} else {
		buf_addf(b, "%.5g", v);
		add_fit_interval(b, fit, false);
	}
	buf_addf(b, "%s%s\n", *unit ? " " : "", unit);
}

static void parameters(struct buf *b, const struct logca_view *v)
{
	const struct fit *f = v->fit;
	const struct logca *p = &v->p;
	char unit[80];

	if (p->t0 > 0 || f)
		parameter(b, "t0 host call", p->t0, f ? &f->t0 : NULL, v->unit);
	snprintf(unit, sizeof(unit), "%s at 1 byte", v->unit);
	parameter(b, "C host work", p->C, f ? &f->C : NULL, unit);
	parameter(b, "beta", p->beta, f ? &f->beta : NULL, fabs(p->beta - 1) < .05 ? "(a linear kernel)" : "");
	if (f && !f->submit_used && p->kind == LOGCA_INDEP) {
		snprintf(unit, sizeof(unit), "%s, together", v->unit);
		parameter(b, "o + fixed L", f->fixed.v, &f->fixed, unit);
	} else if (f && f->submit_used && p->kind == LOGCA_DEP) {
		parameter(b, "fixed cost", f->fixed.v, &f->fixed, v->unit);
		snprintf(unit, sizeof(unit), "%s of it, until the call returns", v->unit);
		parameter(b, "o overhead", f->o.v, &f->o, unit);
	} else {
		parameter(b, "o overhead", p->o, f ? &f->o : NULL, v->unit);
	}
	if (p->kind == LOGCA_DEP || (f && f->near_one && !f->zero_used && !f->submit_used)) {
		snprintf(unit, sizeof(unit), "%s/B", v->unit);
		parameter(b, "L latency per byte", p->L, f ? &f->L : NULL, unit);
	} else if (!f || f->submit_used) {
		parameter(b, "L latency", p->L, f ? &f->L : NULL, v->unit);
	}
	parameter(b, "A acceleration", p->A, f ? &f->A : NULL, "");
	if (f && f->near_one)
		parameter(b, "A effective", f->A_eff.v, &f->A_eff, "");
}

/* Computation outgrows a latency per byte if beta is above 1, but not within the sizes asked about. */
static bool latency_rules(const struct logca_view *v)
{
	const struct logca *p = &v->p;

	return p->kind == LOGCA_DEP && p->beta > 1 && p->C * pow(v->hi, p->beta - 1) < p->L * p->A;
}

static void results(struct buf *b, const struct logca_view *v, const struct text_style *s)
{
	const struct logca *p = &v->p;
	double pg, ps, half, g[2], n1, n2;
	AUTO_BUF(text);
	bool reach;

	logca_verdict(&text, v);
	labelled(b, s, "offloading pays", &text);
	buf_clear(&text);
	logca_peak(p, v->lo, v->hi, &pg, &ps);
	add_parameter_label(b, "largest speed-up");
	buf_addf(b, "%.4g at ", ps);
	logca_size(b, pg);
	buf_addf(b, " (of %s)\n", v->pts ? "what was measured" : "16 B to 32 MB");
	reach = isfinite(p->A) && p->A > 1 && logca_solve(p, p->A / 2, g);
	half = reach ? g[0] : logca_half_peak(p, ps);
	buf_addf(&text, "S = %.4g at ", reach ? p->A / 2 : ps / 2);
	logca_size(&text, half);
	if (v->fit && v->fit->half_attainable == !reach)
		add_fit_interval(&text, &v->fit->half, true);
	if (!reach)
		buf_addstr(&text, " (of the attainable peak: A/2 is not reached)");
	labelled(b, s, reach ? "gA/2" : "half that speed-up", &text);
	buf_clear(&text);
	add_parameter_label(b, "large-size limit");
	if (isinf(logca_limit(p)))
		buf_addstr(b, "none\n");
	else
		buf_addf(b, "%.4g%s\n", logca_limit(p),
			 p->kind == LOGCA_DEP && p->beta < 1 ? " (it falls after the peak)" : "");
	if (v->fit && v->fit->near_one && !v->fit->zero_used)
		buf_addstr(&text,
			   "not identified: a latency per byte would make it latency-bound, a smaller A compute-bound");
	else
		buf_addf(&text, "%s-bound%s", logca_compute_bound(p) ? "compute" : "latency",
			 latency_rules(v) ? " by the letter; beta is so near 1 that the latency rules every real size"
					  : "");
	labelled(b, s, "class", &text);
	if (v->newton) {
		logca_newton(p, &n1, &n2);
		add_parameter_label(b, "published one-step");
		if (isnan(n1))
			buf_addstr(b, "defined for latency=dep only\n");
		else
			buf_addf(b, "g1 %.4g B, gA/2 %.4g B (one Newton step from 1 B: not the crossings)\n", n1, n2);
	}
}

void logca_text_regions(struct buf *b, const struct logca_view *v, const struct text_style *s)
{
	static const char *const what[LOGCA_LETTERS] = { "L / 10", "o / 10", "10 x work per byte (C)", "A x 10" };
	struct logca_region r[LOGCA_MAX_REGIONS];
	int n = logca_regions(&v->p, v->lo, v->hi, r, LOGCA_MAX_REGIONS);

	text_hue_on(b, s, TEXT_BOLD);
	buf_addstr(b, "What to improve (ten times better gives at least 1.2 times the speed-up)\n");
	text_hue_off(b, s, TEXT_BOLD);
	for (int i = 0; i < n; i++) {
		AUTO_BUF(range);

		logca_size(&range, r[i].first);
		buf_addstr(&range, " .. ");
		logca_size(&range, r[i].last);
		buf_addf(b, "  %-22s %s\n", range.data, *r[i].letters ? r[i].letters : "nothing alone");
	}
	for (int i = 0; i < LOGCA_LETTERS; i++) {
		double iv[2][2], most = 1;
		int k = logca_cut(&v->p, (enum logca_letter)i, v->lo, v->hi, iv);

		add_parameter_label(b, what[i]);
		for (int m = 0; m < k; m++) {
			buf_addstr(b, m ? ", " : "counts ");
			logca_size(b, iv[m][0]);
			buf_addstr(b, " .. ");
			logca_size(b, iv[m][1]);
		}
		if (!k) {
			for (double g = v->lo; g <= v->hi; g *= 2)
				most = fmax(most, logca_gain(&v->p, (enum logca_letter)i, LOGCA_IMPROVE, g));
			buf_addf(b, "never counts (gain at most %.3g)", most);
		}
		buf_addch(b, '\n');
	}
}

static void batching(struct buf *b, const struct logca_view *v, const struct text_style *s)
{
	struct logca_payoff w;
	AUTO_BUF(text);
	bool any = false;

	logca_payoff(&v->p, v->lo, v->hi, &w);
	if (w.verdict != LOGCA_FROM && w.verdict != LOGCA_OUTSIDE && w.verdict != LOGCA_NEVER &&
	    w.verdict != LOGCA_BETWEEN)
		return;
	for (double g = exp2(ceil(log2(v->lo))); g <= v->hi; g *= 16) {
		double n = logca_batch(&v->p, g);

		if (!(n > 1))
			continue;
		if (any)
			buf_addstr(&text, "; ");
		buf_addf(&text, "%.6g calls of ", n);
		logca_size(&text, g);
		any = true;
	}
	buf_addstr(&text, any ? " handed over as one pay" : "does not help");
	labelled(b, s, "batching", &text);
}

static void quality(struct buf *b, const struct logca_view *v, const struct text_style *s)
{
	const struct fit *f = v->fit;
	AUTO_BUF(text);

	buf_addf(&text, "%zu host and %zu accelerated calls, %zu sizes, ", f->host_calls, f->accel_calls, f->sizes);
	logca_size(&text, f->gmin);
	buf_addstr(&text, " .. ");
	logca_size(&text, f->gmax);
	if (f->switched)
		buf_addf(&text, "; %zu set aside", f->switched);
	labelled(b, s, "from", &text);
	buf_clear(&text);
	buf_addf(&text, "%.1f %% mean |ln error| (host %.1f, accelerated %.1f), worst %.0f %% at ", f->error * 100,
		 f->error_host * 100, f->error_accel * 100, (exp(f->worst_error) - 1) * 100);
	logca_size(&text, f->worst_g);
	if (!isnan(f->noise))
		buf_addf(&text, "; noise %.1f %%", f->noise * 100);
	labelled(b, s, "misfit", &text);
	for (unsigned i = 0; i < f->notes; i++) {
		text_hue_on(b, s, TEXT_WARM);
		buf_addstr(b, "  ! ");
		text_hue_off(b, s, TEXT_WARM);
		text_wrap(b, f->note[i], 4, 4, s->width ? s->width : 80);
	}
}

void logca_text(struct buf *b, const struct logca_view *v, const struct text_style *s)
{
	text_hue_on(b, s, TEXT_BOLD);
	buf_addstr(b, "LogCA");
	if (v->name) {
		buf_addstr(b, ": ");
		text_name(b, v->name, 0, 0);
	}
	buf_addf(b, "  (latency %s)\n", v->p.kind == LOGCA_DEP ? "per byte" : "per call");
	text_hue_off(b, s, TEXT_BOLD);
	parameters(b, v);
	if (v->fit)
		buf_addstr(b, "  intervals: nominally 90 %\n");
	results(b, v, s);
	batching(b, v, s);
	if (v->fit)
		quality(b, v, s);
	for (unsigned i = 0; i < v->notes; i++) {
		buf_addstr(b, "  ! ");
		text_wrap(b, v->note[i], 4, 4, s->width ? s->width : 80);
	}
	buf_addch(b, '\n');
	logca_plot(b, v, s);
	buf_addch(b, '\n');
	logca_text_regions(b, v, s);
}
