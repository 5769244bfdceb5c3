// SPDX-License-Identifier: GPL-2.0-or-later
/* LogCA's equations against every vector of golden.json and every claim of claims.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#include <jansson.h>

#include "model/limits.h"
#include "model/logca.h"
#include "shared_json.h"
#include "unit/unit.h"

static void near_rel(double got, double want, double tolerance, const char *what, size_t i)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("vector %zu: %s is %.17g, wanted %.17g", i, what, got, want);
}

static void same_list(json_t *want, const double *got, int n, const char *what, size_t i)
{
	if ((int)json_array_size(want) != n)
		fail_msg("vector %zu: %d values of %s, wanted %zu", i, n, what, json_array_size(want));
	for (int k = 0; k < n; k++)
		near_rel(got[k], json_number_value(json_array_get(want, (size_t)k)), 1e-6, what, i);
}

static struct logca params(json_t *o, const char *kind_key)
{
	const char *kind = json_string_value(json_object_get(o, kind_key));

	return (struct logca){ .L = num(o, "L"),
			       .o = num(o, "o"),
			       .C = num(o, "C"),
			       .A = num(o, "A"),
			       .beta = num(o, "beta"),
			       .kind = strcmp(kind, "dep") ? LOGCA_INDEP : LOGCA_DEP };
}

TEST(golden)
{
	json_t *all = load("golden.json"), *v;
	size_t i;

	if (!all)
		skip();
	assert_int_equal(json_array_size(all), 120);
	json_array_foreach(all, i, v)
	{
		struct logca p = params(v, "kind");
		struct logca_region r[LOGCA_MAX_REGIONS];
		double g[2], s, n1, n2;
		json_t *list, *at;
		const char *key;
		int n;

		same_list(json_object_get(v, "g1"), g, logca_solve(&p, 1, g), "g1", i);
		same_list(json_object_get(v, "gA2"), g, logca_solve(&p, p.A / 2, g), "gA2", i);
		logca_newton(&p, &n1, &n2);
		if (p.kind == LOGCA_DEP) {
			near_rel(n1, num(v, "g1_newton"), 1e-6, "g1_newton", i);
			near_rel(n2, num(v, "gA2_newton"), 1e-6, "gA2_newton", i);
		} else {
			assert_true(isnan(n1) && isnan(n2));
		}
		assert_string_equal(logca_compute_bound(&p) ? "compute-bound" : "latency-bound",
				    json_string_value(json_object_get(v, "klass")));
		logca_peak(&p, LOGCA_GMIN, LOGCA_GMAX, &g[0], &s);
		list = json_object_get(v, "peak");
		near_rel(g[0], json_number_value(json_array_get(list, 0)), 1e-6, "peak size", i);
		near_rel(s, json_number_value(json_array_get(list, 1)), 1e-6, "peak", i);
		near_rel(logca_half_peak(&p, s), num(v, "g_half_peak"), 1e-6, "g_half_peak", i);
		for (int k = 0; k < LOGCA_LETTERS; k++) {
			char letter[2] = { LOGCA_LETTER_NAMES[k], 0 };
			double iv[2][2];

			list = json_object_get(json_object_get(v, "cut"), letter);
			n = logca_cut(&p, (enum logca_letter)k, LOGCA_GMIN, LOGCA_GMAX, iv);
			if (n != (int)json_array_size(list))
				fail_msg("vector %zu: %d intervals of %s", i, n, letter);
			for (int m = 0; m < n; m++)
				same_list(json_array_get(list, (size_t)m), iv[m], 2, letter, i);
		}
		list = json_object_get(v, "regions");
		n = logca_regions(&p, LOGCA_GMIN, LOGCA_GMAX, r, LOGCA_MAX_REGIONS);
		assert_int_equal(n, json_array_size(list));
		for (int k = 0; k < n; k++) {
			at = json_array_get(list, (size_t)k);
			assert_true(r[k].first == json_number_value(json_array_get(at, 0)));
			assert_true(r[k].last == json_number_value(json_array_get(at, 1)));
			assert_string_equal(r[k].letters, json_string_value(json_array_get(at, 2)));
		}
		json_object_foreach(json_object_get(v, "speedup"), key, at)
			near_rel(logca_speedup(&p, atof(key)), json_number_value(at), 1e-6, "speedup", i);
	}
	json_decref(all);
}

static double claim(const struct logca *p, const char *q)
{
	double g[2], g2[2], iv[2][2], worst = 0;
	struct logca twice = *p;
	int n;

	if (!strncmp(q, "largest |T0/T1", 14)) {
		for (double at = 16; at <= 33554432; at *= 2)
			worst = fmax(worst,
				     fabs(logca_host(p, at) / logca_accel(p, at) -
					  p->C * pow(at, p->beta) / (p->o + p->L + p->C * pow(at, p->beta) / p->A)));
		return worst;
	}
	if (!strncmp(q, "(A-1)^(1/beta)", 14))
		return logca_solve(p, 1, g) ? pow(p->A - 1, 1 / p->beta) * g[0] : NAN;
	if (!strncmp(q, "g1(C) / g1(2C)", 14)) {
		twice.C *= 2;
		return logca_solve(p, 1, g) == 1 && logca_solve(&twice, 1, g2) == 1 ? g[0] / g2[0] : NAN;
	}
	if (!strncmp(q, "g1 ", 3))
		return logca_solve(p, 1, g) ? g[0] : NAN;
	if (!strncmp(q, "gA/2", 4))
		return logca_solve(p, p->A / 2, g) ? g[0] : NAN;
	if (!strncmp(q, "cut-off granularity of C (end)", 30)) {
		n = logca_cut(p, LOGCA_C, LOGCA_GMIN, LOGCA_GMAX, iv);
		return n ? iv[n - 1][1] : NAN;
	}
	if (!strncmp(q, "cut-off granularity of A (start)", 32))
		return logca_cut(p, LOGCA_A, LOGCA_GMIN, LOGCA_GMAX, iv) ? iv[0][0] : NAN;
	if (!strncmp(q, "largest speedup ratio from a 10 times smaller L", 47)) {
		for (double at = 16; at <= 33554432; at *= 2)
			worst = fmax(worst, logca_gain(p, LOGCA_L, 10, at));
		return worst;
	}
	if (!strncmp(q, "speedup at 128 B", 16))
		return logca_speedup(p, 128);
	fail_msg("a quantity this test does not know: %s", q);
	return NAN;
}

TEST(claims)
{
	json_t *all = load("claims.json"), *v;
	size_t i;

	if (!all)
		skip();
	assert_true(json_array_size(all) >= 31);
	json_array_foreach(all, i, v)
	{
		struct logca p = params(json_object_get(v, "params"), "latency");
		const char *tolerance = json_string_value(json_object_get(v, "tolerance"));
		double want = num(v, "value"), got = claim(&p, json_string_value(json_object_get(v, "quantity")));

		if (!strcmp(tolerance, "one power of two")) {
			double down = exp2(floor(log2(got * (1 + 1e-12))));

			assert_true(want == down || want == down * 2 ||
				    (want == LOGCA_GMIN && got <= LOGCA_GMIN * (1 + 1e-9)));
		} else if (!strncmp(tolerance, "relative ", 9)) {
			near_rel(got, want, atof(tolerance + 9), "claim", i);
		} else {
			assert_false(strncmp(tolerance, "absolute ", 9));
			assert_true(fabs(got - want) <= atof(tolerance + 9));
		}
	}
	json_decref(all);
}

/* With t0 every answer comes from the curves: check them on the curves. */
TEST(host_offset)
{
	unsigned seed = 7;

	for (int i = 0; i < 400; i++) {
		double u[7], g[2], iv[2][2], at, s;
		struct logca p;

		for (int k = 0; k < 7; k++)
			u[k] = rand_r(&seed) / (double)RAND_MAX;
		p = (struct logca){ .t0 = pow(10, 4 * u[0]),
				    .o = pow(10, 6 * u[1]),
				    .L = pow(10, 4 * u[2] - 4),
				    .C = pow(10, 3 * u[3] - 1),
				    .A = 1 + 40 * u[4],
				    .beta = .1 + 1.6 * u[5],
				    .kind = u[6] < .5 ? LOGCA_DEP : LOGCA_INDEP };
		for (int k = 0, n = logca_solve(&p, 1, g); k < n; k++)
			near_rel(logca_speedup(&p, g[k]), 1, 1e-9, "S at g1", (size_t)i);
		logca_peak(&p, LOGCA_GMIN, LOGCA_GMAX, &at, &s);
		for (double x = 16; x <= 33554432; x *= 1.1)
			assert_true(logca_speedup(&p, x) <= s * (1 + 1e-12));
		for (int k = 0; k < LOGCA_LETTERS; k++) {
			int n = logca_cut(&p, (enum logca_letter)k, LOGCA_GMIN, LOGCA_GMAX, iv);

			for (double x = 16; x <= 33554432; x *= 1.3) {
				double gain = logca_gain(&p, (enum logca_letter)k, 10, x);
				bool in = false;

				for (int m = 0; m < n; m++)
					in |= x >= iv[m][0] * (1 - 1e-9) && x <= iv[m][1] * (1 + 1e-9);
				if (fabs(gain - 1.2) > 1e-6 && in != (gain >= 1.2))
					fail_msg("draw %d letter %d: gain %g at %g, interval says %d", i, k, gain, x,
						 in);
			}
		}
	}
}

TEST(payoff)
{
	struct logca p = { .o = 29000, .L = 1500, .C = 90, .A = 19, .beta = 1.01 };
	struct logca_payoff out;
	double g[2];

	logca_payoff(&p, 16, 33554432, &out);
	assert_int_equal(out.verdict, LOGCA_FROM);
	p.o = p.L = 0.001;
	logca_payoff(&p, 16, 33554432, &out);
	assert_int_equal(out.verdict, LOGCA_ALWAYS);
	p.A = .5;
	logca_payoff(&p, 16, 33554432, &out);
	assert_int_equal(out.verdict, LOGCA_NEVER);
	assert_int_equal(out.binding, LOGCA_A);
	p = (struct logca){ .o = 1e12, .L = 1500, .C = 90, .A = 19, .beta = 1.01 };
	logca_payoff(&p, 16, 33554432, &out);
	assert_int_equal(out.verdict, LOGCA_OUTSIDE);
	p = (struct logca){ .o = 1000, .L = .01, .C = 30, .A = 19, .beta = .5, .kind = LOGCA_DEP };
	logca_payoff(&p, 16, 33554432, &out);
	assert_int_equal(out.verdict, LOGCA_BETWEEN);
	assert_int_equal(logca_solve(&p, 1, g), 2);
	assert_true(out.from == g[0] && out.to == g[1]);
	/* t0 above o: gain at both ends of the range, loss between (memcpy against rep movsb) */
	p = (struct logca){ .t0 = 60, .o = 50, .L = .02, .C = 1e-5, .A = 10, .beta = 1.5, .kind = LOGCA_DEP };
	logca_payoff(&p, 16, 1e9, &out);
	assert_int_equal(out.verdict, LOGCA_BETWEEN);
	assert_true(out.from > out.to && logca_speedup(&p, sqrt(out.from * out.to)) < 1);
}

TEST(batching)
{
	struct logca p = { .o = 29000, .L = 1500, .C = 90, .A = 19, .beta = 1.01 };
	double n = logca_batch(&p, 64);

	assert_true(n > 1 && logca_batch_speedup(&p, 64, n) >= 1 && logca_batch_speedup(&p, 64, n - 1) < 1);
	assert_true(logca_batch(&p, 1 << 20) == 1);
	p.A = 1;
	assert_true(isnan(logca_batch(&p, 64)));
}

TEST(parsing)
{
	struct logca p;
	struct err e;

	assert_int_equal(logca_parse("L=1,o=2,C=3,A=inf,beta=1,latency=dep", &p, &e), 0);
	assert_true(isinf(p.A) && p.kind == LOGCA_DEP && p.o == 2);
	const char *bad[] = { "",
			      "L=1",
			      "L=1,o=2,C=3,A=4,beta=1",
			      "L=x,o=2,C=3,A=4,beta=1,latency=dep",
			      "Q=1",
			      "L=1,o=-2,C=3,A=4,beta=1,latency=dep",
			      "L=1,o=2,C=0,A=4,beta=1,latency=dep",
			      "L=1,o=2,C=3,A=nan,beta=1,latency=dep",
			      "L=1,o=2,C=3,A=4,beta=1,latency=maybe",
			      "=",
			      "L=,o=2",
			      "L=inf,o=2,C=3,A=4,beta=1,latency=dep" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e.text[0] = 0;
		assert_true(logca_parse(bad[i], &p, &e) < 0);
		assert_true(strlen(e.text) > 10);
	}
}

TEST(accelerometer)
{
	struct acm a = { .C = 1e9, .alpha = .2, .n = 1e5, .o0 = 100, .Q = 50, .L = 200, .o1 = 300, .A = 10 };
	static const double want[] = { 16.9591, 15.6069, 19.7605 };

	for (int d = 0; d < ACM_DESIGNS; d++)
		assert_true(fabs((acm_speedup(&a, (enum acm_design)d) - 1) * 100 - want[d]) < 5e-5);
	/* at its own break-even size an offload saves nothing */
	for (int d = 0; d < ACM_DESIGNS; d++) {
		double g = acm_break_even(&a, (enum acm_design)d, 3, 1.1), cost = 3 * pow(g, 1.1);
		struct acm at = a;

		at.C = 1e9;
		at.n = 1000;
		at.alpha = at.n * cost / at.C;
		assert_true(fabs(acm_speedup(&at, (enum acm_design)d) - 1) < 1e-9);
	}
	assert_true(fabs(amdahl(.5, INFINITY) - 2) < 1e-12 && fabs(amdahl(.5, 2) - 4. / 3) < 1e-12);
}
