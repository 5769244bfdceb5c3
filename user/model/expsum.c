// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/expsum.h"

#include <math.h>

/* f(x) scaled by its largest term, so that nothing overflows; only the sign is meant. */
static double expsum_sign(const struct expsum_term *t, int n, double x)
{
	double top = -INFINITY, sum = 0;

	for (int i = 0; i < n; i++)
		if (t[i].c != 0 && log(fabs(t[i].c)) + t[i].k * x > top)
			top = log(fabs(t[i].c)) + t[i].k * x;
	if (top == -INFINITY)
		return 0;
	for (int i = 0; i < n; i++)
		if (t[i].c != 0)
			sum += copysign(exp(log(fabs(t[i].c)) + t[i].k * x - top), t[i].c);
	return sum;
}

/* Sorted by exponent, equal exponents merged, zeros dropped. */
static int normalise(const struct expsum_term *t, int n, struct expsum_term *out)
{
	int m = 0;

	for (int i = 0; i < n; i++) {
		int at = 0;

		while (at < m && out[at].k < t[i].k)
			at++;
		if (at < m && out[at].k == t[i].k) {
			out[at].c += t[i].c;
			continue;
		}
		for (int j = m; j > at; j--)
			out[j] = out[j - 1];
		out[at] = t[i];
		m++;
	}
	for (int i = 0; i < m;) {
		if (out[i].c != 0) {
			i++;
			continue;
		}
		for (int j = i; j + 1 < m; j++)
			out[j] = out[j + 1];
		m--;
	}
	return m;
}

/* One zero between lo and hi, if the signs there differ. */
static int bisect(const struct expsum_term *t, int n, double lo, double hi, double *x)
{
	double a = expsum_sign(t, n, lo), b = expsum_sign(t, n, hi);

	if (!(a * b < 0))
		return 0;
	for (int i = 0; i < 200; i++) {
		double mid = lo + (hi - lo) / 2, s = expsum_sign(t, n, mid);

		if ((s < 0) == (a < 0))
			lo = mid;
		else
			hi = mid;
	}
	*x = lo + (hi - lo) / 2;
	return 1;
}

int expsum_roots(const struct expsum_term *terms, int n, double x[2])
{
	struct expsum_term t[3];
	int m, found = 0;
	double d2, d3, turn;

	if (n > 3)
		return 0;
	m = normalise(terms, n, t);
	if (m < 2)
		return 0;
	if (m == 2) {
		if (t[0].c * t[1].c > 0)
			return 0;
		x[0] = log(-t[0].c / t[1].c) / (t[1].k - t[0].k);
		return isfinite(x[0]); /* closed form: no bracket needed */
	}
	/* Divided by its first term f has one turning point at most: two terms remain in f'. */
	d2 = t[1].c * (t[1].k - t[0].k);
	d3 = t[2].c * (t[2].k - t[0].k);
	if (d2 * d3 >= 0)
		return bisect(t, m, -EXPSUM_SPAN, EXPSUM_SPAN, &x[0]);
	turn = log(-d2 / d3) / (t[2].k - t[1].k);
	if (!(turn > -EXPSUM_SPAN && turn < EXPSUM_SPAN))
		return bisect(t, m, -EXPSUM_SPAN, EXPSUM_SPAN, &x[0]);
	found += bisect(t, m, -EXPSUM_SPAN, turn, &x[found]);
	found += bisect(t, m, turn, EXPSUM_SPAN, &x[found]);
	return found;
}

int expsum_positive(const struct expsum_term *t, int n, double lo, double hi, double iv[2][2])
{
	double edge[4], root[2];
	int edges = 0, count = 0, roots = expsum_roots(t, n, root);

	edge[edges++] = lo;
	for (int i = 0; i < roots; i++)
		if (root[i] > lo && root[i] < hi)
			edge[edges++] = root[i];
	edge[edges++] = hi;
	for (int i = 0; i + 1 < edges; i++) {
		if (expsum_sign(t, n, edge[i] + (edge[i + 1] - edge[i]) / 2) < 0)
			continue;
		if (count && iv[count - 1][1] == edge[i]) {
			iv[count - 1][1] = edge[i + 1];
			continue;
		}
		iv[count][0] = edge[i];
		iv[count++][1] = edge[i + 1];
	}
	return count;
}
