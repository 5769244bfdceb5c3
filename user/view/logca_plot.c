// SPDX-License-Identifier: GPL-2.0-or-later
/* Speed-up over size on a terminal, both logarithmic: # curve, o observed, . bound, = speed-up 1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/logca.h"

/* Characters: the plot's lines, the columns of its axis, the longest line; by hand. */
#define ROWS 15
#define LEFT 9
#define MAX_COLUMNS 200

struct canvas {
	char cell[ROWS][MAX_COLUMNS];
	int columns;
	double x0, x1, y0, y1; /* ln */
};

static int column_of_size(const struct canvas *c, double g)
{
	return (int)lround((log(g) - c->x0) / (c->x1 - c->x0) * (c->columns - 1));
}

static int plot_row_of(const struct canvas *c, double s)
{
	return (int)lround((c->y1 - log(s)) / (c->y1 - c->y0) * (ROWS - 1));
}

static void put_char(struct canvas *c, int x, int y, char what)
{
	if (x >= 0 && x < c->columns && y >= 0 && y < ROWS)
		c->cell[y][x] = what;
}

static double size_at(const struct canvas *c, int x)
{
	return exp(c->x0 + (c->x1 - c->x0) * x / (c->columns - 1));
}

static int by_size_and_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->g != y->g ? (x->g > y->g) - (x->g < y->g) : (x->t > y->t) - (x->t < y->t);
}

/* Median time of each size, ascending. */
static size_t medians(const struct point_list *l, double *g, double *t, size_t max)
{
	struct point *p = malloc((l->count + 1) * sizeof(*p));
	size_t n = 0, out = 0;

	if (!p)
		return 0;
	for (size_t i = 0; i < l->count; i++)
		if (!l->at[i].switched)
			p[n++] = l->at[i];
	qsort(p, n, sizeof(*p), by_size_and_time);
	for (size_t i = 0; i < n && out < max;) {
		size_t j = i;

		while (j < n && p[j].g == p[i].g)
			j++;
		g[out] = p[i].g;
		t[out++] = (p[i + (j - i - 1) / 2].t + p[i + (j - i) / 2].t) / 2;
		i = j;
	}
	free(p);
	return out;
}

size_t logca_observed(const struct points *pts, double *g, double *s, size_t max)
{
	double *work = malloc(4 * max * sizeof(*work));
	size_t n = 0, hosts, accels;

	if (!work)
		return 0;
	hosts = medians(&pts->run[RUN_HOST], work, work + max, max);
	accels = medians(&pts->run[RUN_ACCEL], work + 2 * max, work + 3 * max, max);
	for (size_t i = 0, k = 0; i < hosts; i++) {
		while (k < accels && work[2 * max + k] < work[i])
			k++;
		if (k == accels || work[2 * max + k] != work[i])
			continue;
		g[n] = work[i];
		s[n++] = work[max + i] / work[3 * max + k];
	}
	free(work);
	return n;
}

static double change_point(const struct logca_view *v, int i)
{
	return sqrt(v->seg[i].last * v->seg[i + 1].first);
}

struct logca_view logca_part(const struct logca_view *v, int i)
{
	struct logca_view part = *v;

	if (!v->seg)
		return part;
	part.seg = NULL;
	part.fit = &v->seg[i].fit;
	part.p = v->seg[i].fit.p;
	part.lo = i ? change_point(v, i - 1) : v->lo;
	part.hi = i + 1 < v->segs ? change_point(v, i) : v->hi;
	return part;
}

int logca_part_of(const struct logca_view *v, double g)
{
	int i = 0;

	while (v->seg && i + 1 < v->segs && g >= change_point(v, i))
		i++;
	return i;
}

static const struct logca *drawn_at(const struct logca_view *v, double g)
{
	return v->seg ? &v->seg[logca_part_of(v, g)].fit.p : &v->p;
}

static void axis(struct buf *b, const struct canvas *c)
{
	char line[MAX_COLUMNS + 16];
	int next = 0, step = c->columns > 70 ? 2 : 3;

	memset(line, ' ', sizeof(line));
	for (int e = (int)ceil(c->x0 / M_LN2 - 1e-9), end = (int)floor(c->x1 / M_LN2 + 1e-9), first = e; e <= end;
	     e++) {
		int x = column_of_size(c, exp2(e));
		AUTO_BUF(text);

		if ((e - first) % step || x < next)
			continue;
		logca_size(&text, exp2(e));
		for (size_t i = 0, at = (size_t)x; i < text.len && at < sizeof(line) - 1; i++)
			if (text.data[i] != ' ')
				line[at++] = text.data[i];
		next = x + (int)text.len + 1;
	}
	line[c->columns + 6] = 0;
	for (int i = c->columns + 5; i > 0 && line[i] == ' '; i--)
		line[i] = 0;
	buf_addf(b, "%*s%s\n", LEFT, "", line);
}

void logca_plot(struct buf *b, const struct logca_view *v, const struct text_style *s)
{
	static struct canvas c; /* large; the program draws one plot at a time */
	double g[512], seen[512], lo = INFINITY, hi = 0;
	size_t points = v->pts ? logca_observed(v->pts, g, seen, 512) : 0;
	int width = s->width ? (int)s->width : 80, one;

	c = (struct canvas){ .columns = width - LEFT - 6, .x0 = log(v->lo), .x1 = log(v->hi) };
	c.columns = c.columns < 40 ? 40 : c.columns > 120 ? 120 : c.columns;
	if (!(c.x1 > c.x0))
		return;
	for (int x = 0; x < c.columns; x++) {
		double at = size_at(&c, x);

		at = logca_speedup(drawn_at(v, at), at);

		lo = fmin(lo, at);
		hi = fmax(hi, at);
	}
	for (size_t i = 0; i < points; i++) {
		lo = fmin(lo, seen[i]);
		hi = fmax(hi, seen[i]);
	}
	if (!v->seg && isfinite(v->p.A) && v->p.A < hi * 4)
		hi = fmax(hi, v->p.A);
	/* no more than six decades: what lies below is no offload to consider */
	hi = fmin(fmax(hi, 1.1), LOGCA_MOST_SHOWN);
	lo = fmax(fmin(lo, .9), hi * 1e-6);
	c.y0 = log(lo * .9);
	c.y1 = log(hi * 1.1);
	memset(c.cell, ' ', sizeof(c.cell));
	one = plot_row_of(&c, 1);
	for (int x = 0; x < c.columns; x++) {
		double at = size_at(&c, x), bound = logca_bound(drawn_at(v, at), at);

		put_char(&c, x, one, '-');
		if (isfinite(bound))
			put_char(&c, x, plot_row_of(&c, bound), '.');
		put_char(&c, x, plot_row_of(&c, logca_speedup(drawn_at(v, at), at)), '#');
	}
	for (size_t i = 0; i < points; i++)
		put_char(&c, column_of_size(&c, g[i]), plot_row_of(&c, seen[i]), 'o');
	for (int y = 0; y < ROWS; y++) {
		double at = exp(c.y1 - (c.y1 - c.y0) * y / (ROWS - 1));
		int end = c.columns;

		while (end > 0 && c.cell[y][end - 1] == ' ')
			end--;
		if (y == one)
			buf_addf(b, "%*s ", LEFT - 2, "1");
		else if (y % 3 == 0)
			buf_addf(b, "%*.3g ", LEFT - 2, at);
		else
			buf_addf(b, "%*s ", LEFT - 2, "");
		buf_addf(b, "|%.*s\n", end, c.cell[y]);
	}
	axis(b, &c);
	buf_addf(b, "%*s", LEFT, "");
	for (int x = 0; x < c.columns; x++) {
		char now[LOGCA_LETTERS + 1], next[LOGCA_LETTERS + 1];
		double at;
		int to = x;

		logca_letters(drawn_at(v, size_at(&c, x)), size_at(&c, x), now);
		do {
			to++;
			at = size_at(&c, to < c.columns ? to : x);
			logca_letters(drawn_at(v, at), at, next);
		} while (to < c.columns && !strcmp(now, next));
		for (int i = x, middle = (x + to - (int)strlen(now)) / 2; i < to; i++) {
			int k = i - middle;

			buf_addch(b, i == x                                                            ? '<'
				     : i == to - 1                                                     ? '>'
				     : k >= 0 && k < (int)strlen(now) && to - x > (int)strlen(now) + 1 ? now[k]
												       : '.');
		}
		x = to - 1;
	}
	buf_addf(b, "\n%*s# %s%s   . bound   - speed-up 1   below: what to improve\n", LEFT, "",
		 v->fit ? "fitted" : "model", points ? "   o observed" : "");
}
