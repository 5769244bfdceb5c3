// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

static double curve_pad(double g, double block, double bytes)
{
	return block > 0 ? block * ceil((g + bytes) / block) : g + bytes;
}

double curve_at(const struct curve_fit *f, double g)
{
	return f->c[0] + f->c[1] * g + (f->columns & CURVE_POWER ? f->c[2] * pow(g, f->beta) : 0);
}

void curve_release(struct curve *c)
{
	free(c->g); /* one block, see curve_init() */
	free(c->index);
	*c = (struct curve){ 0 };
}

int curve_init(struct curve *c, const struct point_list *l, double pad_block, double pad_bytes, struct err *e)
{
	size_t n = 0;
	double *block;

	*c = (struct curve){ 0 };
	for (size_t i = 0; i < l->count; i++)
		n += !l->at[i].switched;
	block = calloc(10 * (n + 1), sizeof(*block));
	c->index = calloc(n + 1, sizeof(*c->index));
	if (!block || !c->index) {
		free(block);
		free(c->index);
		c->index = NULL;
		return err_set(e, -ENOMEM, "not enough memory for %zu points", n);
	}
	double **part[] = { &c->g, &c->t, &c->ln_t, &c->pow_g, &c->offset, &c->w, &c->y, &c->f, &c->r, &c->size };
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		*part[i] = block + i * (n + 1);
	c->scratch = c->y; /* the median's work space: y is rebuilt after every use */
	c->n = n;
	c->reach = CURVE_HUBER;
	c->early = l->early;
	c->late = l->late;
	n = 0;
	for (size_t i = 0; i < l->count; i++) {
		if (l->at[i].switched)
			continue;
		c->g[n] = c->size[n] = curve_pad(l->at[i].g, pad_block, pad_bytes);
		c->t[n] = l->at[i].t;
		c->ln_t[n] = log(l->at[i].t);
		n++;
	}
	qsort(c->size, n, sizeof(*c->size), by_double);
	for (size_t i = 0; i < n; i++)
		if (c->sizes == 0 || c->size[i] != c->size[c->sizes - 1])
			c->size[c->sizes++] = c->size[i];
	for (size_t i = 0; i < n; i++) {
		double *at = bsearch(&c->g[i], c->size, c->sizes, sizeof(*c->size), by_double);

		c->index[i] = (size_t)(at - c->size);
	}
	return 0;
}

/* Quickselect: this is called some thousand times a fit. */
double curve_median(double *v, size_t n)
{
	size_t lo = 0, hi = n, k = n / 2;
	double upper, lower;

	if (n == 0)
		return NAN;
	while (hi - lo > 1) { /* Hoare's partition of [lo, hi) */
		double pivot = v[lo + (hi - lo - 1) / 2], swap;
		size_t i = lo, j = hi - 1;

		for (;; i++, j--) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap = v[i];
			v[i] = v[j];
			v[j] = swap;
		}
		if (k <= j)
			hi = j + 1;
		else
			lo = j + 1;
	}
	upper = v[k];
	if (n % 2)
		return upper;
	lower = v[0];
	for (size_t i = 1; i < k; i++)
		lower = v[i] > lower ? v[i] : lower;
	return (lower + upper) / 2;
}

double curve_scale(struct curve *c, double floor)
{
	double middle;

	memcpy(c->scratch, c->r, c->n * sizeof(*c->r));
	middle = curve_median(c->scratch, c->n);
	for (size_t i = 0; i < c->n; i++)
		c->scratch[i] = fabs(c->r[i] - middle);
	return fmax(1.4826 * curve_median(c->scratch, c->n), floor);
}

double curve_rho(const struct curve *c, double k)
{
	double sum = 0;

	for (size_t i = 0; i < c->n; i++) {
		double r = fabs(c->r[i]);

		sum += r <= k ? r * r : 2 * k * r - k * k;
	}
	return sum;
}

/* Solves the m x m normal equations; false when singular or a coefficient is negative. */
static bool solve_positive(double a[3][3], double b[3], int m, double x[3])
{
	for (int i = 0; i < m; i++) {
		for (int k = 0; k < i; k++) {
			double f = a[i][k] / a[k][k];

			for (int j = k; j < m; j++)
				a[i][j] -= f * a[k][j];
			b[i] -= f * b[k];
		}
		if (!(a[i][i] > 1e-13)) /* columns are scaled to unit norm */
			return false;
	}
	for (int i = m - 1; i >= 0; i--) {
		x[i] = b[i];
		for (int j = i + 1; j < m; j++)
			x[i] -= a[i][j] * x[j];
		x[i] /= a[i][i];
		if (!(x[i] >= 0))
			return false;
	}
	return true;
}

/* min sum w (y - X c)^2, c >= 0: all columns where none is below 0, as then no fewer do better; else all sets of them,
 * at most seven, are tried. */
static void nonnegative(const struct curve *c, const double *const col[3], unsigned columns, double out[3])
{
	double norm[3] = { 0 }, gram[3][3] = { { 0 } }, right[3] = { 0 }, best = INFINITY;

	for (size_t i = 0; i < c->n; i++)
		for (int a = 0; a < 3; a++) {
			double wa = c->w[i] * col[a][i];

			right[a] += wa * c->y[i];
			for (int b = 0; b <= a; b++)
				gram[a][b] += wa * col[b][i];
		}
	for (int a = 0; a < 3; a++)
		norm[a] = gram[a][a] > 0 ? sqrt(gram[a][a]) : 1;
	out[0] = out[1] = out[2] = 0;
	for (unsigned nth = 0; nth < 8; nth++) {
		unsigned set = nth ? nth : columns;
		double m[3][3], b[3], x[3], sse = 0;
		int id[3], n = 0;

		if ((set & ~columns) || (nth && set == columns))
			continue;
		for (int a = 0; a < 3; a++)
			if (set & (1u << a))
				id[n++] = a;
		for (int i = 0; i < n; i++) {
			b[i] = right[id[i]] / norm[id[i]];
			for (int j = 0; j < n; j++)
				m[i][j] = gram[id[i] > id[j] ? id[i] : id[j]][id[i] > id[j] ? id[j] : id[i]] /
					  norm[id[i]] / norm[id[j]];
		}
		if (!solve_positive(m, b, n, x))
			continue;
		for (size_t k = 0; k < c->n && nth; k++) {
			double d = c->y[k];

			for (int i = 0; i < n; i++)
				d -= x[i] / norm[id[i]] * col[id[i]][k];
			sse += c->w[k] * d * d;
		}
		if (sse >= best)
			continue;
		best = sse;
		out[0] = out[1] = out[2] = 0;
		for (int i = 0; i < n; i++)
			out[id[i]] = x[i] / norm[id[i]];
		if (!nth)
			return;
	}
}

void curve_fit_at(struct curve *c, unsigned columns, double beta, int rounds, struct curve_fit *out)
{
	const double *col[3];
	double *ones = c->f; /* reused as the column of ones inside a round: f is rewritten after it */

	*out = (struct curve_fit){ .columns = columns, .beta = beta };
	if (columns & CURVE_POWER) {
		double power = NAN;
		size_t last = (size_t)-1;

		/* points come size by size: one pow() each */
		for (size_t i = 0; i < c->n; i++) {
			if (c->index[i] != last) {
				last = c->index[i];
				power = pow(c->g[i], beta);
			}
			c->pow_g[i] = power;
		}
	}
	for (size_t i = 0; i < c->n; i++) {
		c->w[i] = 1 / (c->t[i] * c->t[i]);
		c->y[i] = c->t[i] - c->offset[i];
	}
	for (int round = 0; round <= rounds; round++) {
		double s;

		for (size_t i = 0; i < c->n; i++)
			ones[i] = 1;
		col[0] = ones;
		col[1] = c->g;
		col[2] = columns & CURVE_POWER ? c->pow_g : ones;
		nonnegative(c, col, columns, out->c);
		for (size_t i = 0; i < c->n; i++) {
			double f = c->offset[i] + out->c[0] + out->c[1] * c->g[i] +
				   (columns & CURVE_POWER ? out->c[2] * c->pow_g[i] : 0);

			c->f[i] = f > 1e-300 ? f : 1e-300;
			c->r[i] = c->ln_t[i] - log(c->f[i]);
		}
		if (round == rounds)
			break;
		s = curve_scale(c, 1e-4);
		for (size_t i = 0; i < c->n; i++) {
			double r = c->r[i], clipped = r > 1.5 ? 1.5 : r < -1.5 ? -1.5 : r;
			double weight = fabs(r) > c->reach * s ? c->reach * s / fabs(r) : 1;

			c->w[i] = weight / (c->f[i] * c->f[i]);
			c->y[i] = c->f[i] * (1 + clipped) - c->offset[i];
		}
	}
}

double curve_search(struct curve *c, unsigned columns, struct curve_range in, double k, struct curve_fit *out)
{
	double step = (in.hi - in.lo) / (in.steps - 1), best = INFINITY, at = in.lo;

	for (int i = 0; i < in.steps; i++) {
		double rho;

		curve_fit_at(c, columns, in.lo + i * step, CURVE_ROUNDS, out);
		rho = curve_rho(c, k);
		if (rho < best) {
			best = rho;
			at = in.lo + i * step;
		}
	}
	for (int round = 0; round < in.refinements; round++) {
		double centre = at;

		for (int i = -6; i <= 6; i++) {
			double beta = centre + i * step / 6, rho;

			if (i == 0 || beta < 0)
				continue;
			curve_fit_at(c, columns, beta, CURVE_ROUNDS, out);
			rho = curve_rho(c, k);
			if (rho < best) {
				best = rho;
				at = beta;
			}
		}
		step /= 6;
	}
	curve_fit_at(c, columns, at, CURVE_ROUNDS, out);
	return best;
}
