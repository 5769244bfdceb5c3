// SPDX-License-Identifier: GPL-2.0-or-later
/* A LogCA model, its fit and what follows from it (logca.h) as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/logca.h"

static void fitted(struct json *j, const char *key, const struct fit_value *v)
{
	json_obj(j, key);
	json_f64(j, "value", v->v);
	json_f64(j, "low", v->lo);
	json_f64(j, "high", v->hi);
	json_bool(j, "unbounded", isinf(v->hi));
	json_end(j);
}

static void fit_json(struct json *j, const struct fit *f)
{
	json_obj(j, "fit");
	fitted(j, "t0", &f->t0);
	fitted(j, "C", &f->C);
	fitted(j, "beta", &f->beta);
	fitted(j, "fixed", &f->fixed);
	fitted(j, "o", &f->o);
	fitted(j, "L", &f->L);
	fitted(j, "A", &f->A);
	fitted(j, "A_eff", &f->A_eff);
	json_arr(j, "g1");
	for (int i = 0; i < f->roots; i++)
		fitted(j, NULL, &f->g1[i]);
	json_end(j);
	fitted(j, "half", &f->half);
	json_bool(j, "half_of_attainable_peak", f->half_attainable);
	json_bool(j, "L_and_A_separable", !f->near_one || f->zero_used);
	json_bool(j, "o_and_L_separable", f->submit_used || f->p.kind == LOGCA_DEP);
	json_f64(j, "A_lowest", f->A_lowest);
	json_f64(j, "L_per_byte_highest", f->L_highest);
	json_bool(j, "zero_work_used", f->zero_used);
	json_bool(j, "submit_used", f->submit_used);
	json_bool(j, "offset_used", f->offset_used);
	json_f64(j, "error", f->error);
	json_f64(j, "error_host", f->error_host);
	json_f64(j, "error_accelerated", f->error_accel);
	json_f64(j, "worst_error", f->worst_error);
	json_f64(j, "worst_g", f->worst_g);
	json_f64(j, "noise", f->noise);
	json_u64(j, "host_calls", f->host_calls);
	json_u64(j, "accelerated_calls", f->accel_calls);
	json_u64(j, "sizes", f->sizes);
	json_u64(j, "switched", f->switched);
	json_f64(j, "gmin", f->gmin);
	json_f64(j, "gmax", f->gmax);
	json_f64(j, "bic_indep", f->bic_indep);
	json_f64(j, "bic_dep", f->bic_dep);
	json_f64(j, "bic_plain", f->bic_plain);
	json_f64(j, "bic_offset", f->bic_offset);
	json_arr(j, "notes");
	for (unsigned i = 0; i < f->notes; i++)
		json_str(j, NULL, f->note[i]);
	json_end(j);
	json_end(j);
}

static void roots(struct json *j, const char *key, const struct logca *p, double s)
{
	double g[2];

	json_arr(j, key);
	for (int i = 0, n = isfinite(s) ? logca_solve(p, s, g) : 0; i < n; i++)
		json_f64(j, NULL, g[i]);
	json_end(j);
}

void logca_json(struct json *j, const struct logca_view *v)
{
	static const char *const verdict[] = {
		[LOGCA_ALWAYS] = "always", [LOGCA_NEVER] = "never",     [LOGCA_FROM] = "from",
		[LOGCA_UNTIL] = "until",   [LOGCA_BETWEEN] = "between", [LOGCA_OUTSIDE] = "outside",
	};
	const char *doubt = v->fit ? fit_doubt(v->fit) : NULL;
	const struct logca *p = &v->p;
	struct logca_region r[LOGCA_MAX_REGIONS];
	struct logca_payoff w;
	double pg, ps, n1, n2;

	json_str(j, "name", v->name);
	json_str(j, "unit", v->unit);
	json_f64(j, "L", p->L);
	json_f64(j, "o", p->o);
	json_f64(j, "C", p->C);
	json_f64(j, "A", p->A); /* null: infinite */
	json_f64(j, "beta", p->beta);
	json_f64(j, "t0", p->t0);
	json_str(j, "kind", logca_latency_str(p->kind));
	json_f64(j, "from_bytes", v->lo);
	json_f64(j, "to_bytes", v->hi);
	roots(j, "g1", p, 1);
	roots(j, "gA2", p, p->A / 2);
	logca_newton(p, &n1, &n2);
	json_f64(j, "g1_newton", n1);
	json_f64(j, "gA2_newton", n2);
	json_str(j, "klass", logca_compute_bound(p) ? "compute-bound" : "latency-bound");
	logca_peak(p, v->lo, v->hi, &pg, &ps);
	json_arr(j, "peak");
	json_f64(j, NULL, pg);
	json_f64(j, NULL, ps);
	json_end(j);
	json_f64(j, "g_half_peak", logca_half_peak(p, ps));
	json_f64(j, "limit", logca_limit(p));
	logca_payoff(p, v->lo, v->hi, &w);
	json_str(j, "cannot_tell", doubt);
	json_str(j, "pays", doubt ? NULL : verdict[w.verdict]);
	json_f64(j, "pays_from", doubt ? NAN : w.from);
	json_f64(j, "pays_to", doubt ? NAN : w.to);
	json_obj(j, "cut");
	for (int i = 0; i < LOGCA_LETTERS; i++) {
		char name[2] = { LOGCA_LETTER_NAMES[i], 0 };
		double iv[2][2];

		json_arr(j, name);
		for (int k = 0, n = logca_cut(p, (enum logca_letter)i, v->lo, v->hi, iv); k < n; k++) {
			json_arr(j, NULL);
			json_f64(j, NULL, iv[k][0]);
			json_f64(j, NULL, iv[k][1]);
			json_end(j);
		}
		json_end(j);
	}
	json_end(j);
	json_arr(j, "regions");
	for (int i = 0, n = logca_regions(p, v->lo, v->hi, r, LOGCA_MAX_REGIONS); i < n; i++) {
		json_arr(j, NULL);
		json_f64(j, NULL, r[i].first);
		json_f64(j, NULL, r[i].last);
		json_str(j, NULL, r[i].letters);
		json_end(j);
	}
	json_end(j);
	json_obj(j, "speedup");
	for (double g = 16; g <= LOGCA_GMAX; g *= 2) {
		char size[32];

		snprintf(size, sizeof(size), "%.0f", g);
		json_f64(j, size, logca_speedup(p, g));
	}
	json_end(j);
	if (v->fit)
		fit_json(j, v->fit);
	else
		json_null(j, "fit");
	json_arr(j, "notes");
	for (unsigned i = 0; i < v->notes; i++)
		json_str(j, NULL, v->note[i]);
	json_end(j);
}
