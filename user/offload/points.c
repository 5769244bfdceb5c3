// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/points.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/clock.h"
#include "util/grow.h"

static const struct {
	const char *name;
	const char *also[5]; /* other spellings of a CSV column */
} runs[RUN_KINDS] = {
	[RUN_HOST] = { "host", { "t0", "host_ns", "unaccelerated" } },
	[RUN_ACCEL] = { "accelerated", { "accel", "t1", "accel_ns", "accelerator" } },
	[RUN_ZERO] = { "zero", { "zero-work", "zero_ns", "tz" } },
	[RUN_SUBMIT] = { "submit", { "submit_ns", "submit-return" } },
};

#define MAX_COLUMNS 16        /* of a table of measured points; by hand */
#define MAX_POINTS (4u << 20) /* of one file; by hand */

const char *run_kind_str(enum run_kind k)
{
	return (unsigned)k < RUN_KINDS ? runs[k].name : "unknown";
}

void points_release(struct points *p)
{
	if (!p)
		return;
	for (int k = 0; k < RUN_KINDS; k++) {
		free(p->run[k].at);
		p->run[k] = (struct point_list){ 0 };
	}
}

int points_add(struct points *p, enum run_kind k, double g, double t, bool switched, struct err *e)
{
	struct point_list *l = &p->run[k];

	if (!(g > 0) || !isfinite(g))
		return err_set(e, -EINVAL, "a size must be above 0 bytes, not %g", g);
	if (!(t > 0) || !isfinite(t))
		return err_set(e, -EINVAL, "a time must be above 0, not %g: a call that takes no time was not measured",
			       t);
	if (l->count >= MAX_POINTS ||
	    !PUSH(l->at, l->count, l->cap, 64, (struct point){ .g = g, .t = t, .switched = switched }))
		return err_set(e, -ENOMEM, "more than %zu calls do not fit; give a sample of them", l->count);
	return 0;
}

size_t points_sizes(const struct point_list *l)
{
	double *g = malloc((l->count + 1) * sizeof(*g));
	size_t n = 0, distinct = 0;

	if (!g)
		return 0;
	for (size_t i = 0; i < l->count; i++)
		if (!l->at[i].switched)
			g[n++] = l->at[i].g;
	qsort(g, n, sizeof(*g), by_double);
	for (size_t i = 0; i < n; i++)
		distinct += i == 0 || g[i] != g[i - 1];
	free(g);
	return distinct;
}

#define BINS 4096   /* quarter octaves from 2^-512 to 2^511 */
#define PER_BIN 12u /* points that stay of one: a fit takes no more from it; by hand */

static size_t size_bin(double g)
{
	double b = floor(4 * log2(g)) + BINS / 2;

	return b < 0 ? 0 : b >= BINS ? BINS - 1 : (size_t)b;
}

size_t points_thin(struct points *p)
{
	size_t *seen = calloc(2 * BINS, sizeof(*seen)), *have = seen + BINS, dropped = 0;

	if (!seen)
		return 0;
	for (int k = 0; k < RUN_KINDS; k++) {
		struct point_list *l = &p->run[k];
		size_t kept = 0;

		memset(seen, 0, 2 * BINS * sizeof(*seen));
		for (size_t i = 0; i < l->count; i++)
			have[size_bin(l->at[i].g)]++;
		for (size_t i = 0; i < l->count; i++) {
			size_t b = size_bin(l->at[i].g), n = seen[b]++;

			/* the n-th of `have` is kept when it begins a new step of have / PER_BIN */
			if (have[b] <= PER_BIN || n * PER_BIN / have[b] != (n + 1) * PER_BIN / have[b])
				l->at[kept++] = l->at[i];
		}
		dropped += l->count - kept;
		l->count = kept;
	}
	free(seen);
	return dropped;
}

void points_censor(struct points *p, enum run_kind k, double floor)
{
	struct point_list *l = &p->run[k];
	size_t *all = calloc(2 * BINS, sizeof(*all)), *below = all + BINS, kept = 0;

	if (!all)
		return;
	for (size_t i = 0; i < l->count; i++) {
		all[size_bin(l->at[i].g)]++;
		below[size_bin(l->at[i].g)] += l->at[i].t < floor;
	}
	for (size_t i = 0; i < l->count; i++) {
		size_t b = size_bin(l->at[i].g);

		if (2 * below[b] < all[b]) {
			l->at[kept++] = l->at[i];
			continue;
		}
		l->censored++;
		l->censored_to = fmax(l->censored_to, l->at[i].g);
	}
	l->count = kept;
	free(all);
}

enum points_column { COL_BYTES = RUN_KINDS, COL_RUN, COL_TIME, COL_SWITCHED, COL_IGNORED };

struct csv_cell {
	const char *s;
	size_t len;
};

/* Cells of one line, blanks and one pair of quotes stripped; -1 when there are too many. */
static int split(const char *line, size_t len, struct csv_cell *cell)
{
	int n = 0;

	for (size_t i = 0;; i++) {
		size_t from = i;

		while (i < len && line[i] != ',' && line[i] != ';' && line[i] != '\t')
			i++;
		if (n == MAX_COLUMNS)
			return -1;
		cell[n] = (struct csv_cell){ line + from, i - from };
		while (cell[n].len && isspace((unsigned char)cell[n].s[cell[n].len - 1]))
			cell[n].len--;
		while (cell[n].len && isspace((unsigned char)*cell[n].s))
			cell[n].s++, cell[n].len--;
		if (cell[n].len >= 2 && *cell[n].s == '"' && cell[n].s[cell[n].len - 1] == '"')
			cell[n].s++, cell[n].len -= 2;
		n++;
		if (i >= len)
			return n;
	}
}

static bool is(const struct csv_cell *c, const char *word)
{
	return strlen(word) == c->len && !strncasecmp(c->s, word, c->len);
}

static int run_named(const struct csv_cell *c)
{
	for (int k = 0; k < RUN_KINDS; k++) {
		if (is(c, runs[k].name))
			return k;
		for (size_t i = 0; i < sizeof(runs[k].also) / sizeof(runs[k].also[0]) && runs[k].also[i]; i++)
			if (is(c, runs[k].also[i]))
				return k;
	}
	return -1;
}

static enum points_column column_named(const struct csv_cell *c)
{
	int k = run_named(c);

	if (k >= 0)
		return (enum points_column)k;
	if (is(c, "bytes") || is(c, "g") || is(c, "size"))
		return COL_BYTES;
	if (is(c, "run") || is(c, "kind") || is(c, "variant"))
		return COL_RUN;
	if (is(c, "time") || is(c, "ns") || is(c, "time_ns"))
		return COL_TIME;
	return is(c, "switched") ? COL_SWITCHED : COL_IGNORED;
}

static int read_number(const struct csv_cell *c, double *v)
{
	char text[64], *end;

	if (c->len == 0 || c->len >= sizeof(text))
		return -1;
	memcpy(text, c->s, c->len);
	text[c->len] = 0;
	*v = strtod(text, &end);
	return *end || !isfinite(*v) ? -1 : 0;
}

#define SHOWN(c) (int)((c)->len < 40 ? (c)->len : 40), (c)->s

static int parse_row(struct points *p, const enum points_column *col, int columns, const struct csv_cell *cell,
		     int cells, struct err *e)
{
	double g = NAN, value[RUN_KINDS] = { NAN, NAN, NAN, NAN }, time = NAN, flag = 0, v;
	int run = -1, err;

	if (cells > columns)
		return err_set(e, -EINVAL, "%d cells where the header has %d", cells, columns);
	for (int i = 0; i < cells; i++) {
		if (col[i] == COL_IGNORED || cell[i].len == 0)
			continue;
		if (col[i] == COL_RUN) {
			run = run_named(&cell[i]);
			if (run < 0)
				return err_set(e, -EINVAL,
					       "'%.*s' is no run; there are host, accelerated, zero and submit",
					       SHOWN(&cell[i]));
			continue;
		}
		if (read_number(&cell[i], &v))
			return err_set(e, -EINVAL, "'%.*s' is no number", SHOWN(&cell[i]));
		if (col[i] == COL_BYTES)
			g = v;
		else if (col[i] == COL_TIME)
			time = v;
		else if (col[i] == COL_SWITCHED)
			flag = v;
		else
			value[col[i]] = v;
	}
	if (isnan(g))
		return err_set(e, -EINVAL, "the size is missing");
	if (run >= 0) {
		if (isnan(time))
			return err_set(e, -EINVAL, "the time is missing");
		return points_add(p, (enum run_kind)run, g, time, flag != 0, e);
	}
	for (int k = 0; k < RUN_KINDS; k++) {
		err = isnan(value[k]) ? 0 : points_add(p, (enum run_kind)k, g, value[k], flag != 0, e);
		if (err)
			return err;
	}
	return 0;
}

static int parse_header(const struct csv_cell *cell, int cells, enum points_column *col, struct err *e)
{
	unsigned seen = 0;
	bool wide, tall;

	for (int i = 0; i < cells; i++) {
		col[i] = column_named(&cell[i]);
		if (col[i] != COL_IGNORED && seen & (1u << col[i]))
			return err_set(e, -EINVAL, "the column '%.*s' is there twice", SHOWN(&cell[i]));
		seen |= 1u << col[i];
	}
	wide = seen & (1u << RUN_HOST | 1u << RUN_ACCEL);
	tall = (seen & (1u << COL_RUN)) && (seen & (1u << COL_TIME));
	if (!(seen & (1u << COL_BYTES)) || wide == tall)
		return err_set(e, -EINVAL,
			       "the first line must name the columns: bytes,host,accelerated or bytes,run,time");
	for (int k = RUN_HOST; wide && k <= RUN_ACCEL; k++)
		if (!(seen & (1u << k)))
			return err_set(e, -EINVAL,
				       "no column is called '%s': both host and accelerated times are needed",
				       runs[k].name);
	return 0;
}

int points_parse_csv(struct points *p, const char *text, size_t len, struct err *e)
{
	enum points_column col[MAX_COLUMNS];
	struct csv_cell cell[MAX_COLUMNS];
	int columns = 0, cells, err;
	unsigned line = 0;

	if (!p->unit[0])
		strcpy(p->unit, "ns");
	/* spreadsheets write a mark first */
	for (size_t at = len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0; at < len;) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - text) - at : len - at;
		const char *s = text + at;
		bool blank = true;

		line++;
		at += n + 1;
		for (size_t i = 0; i < n; i++)
			blank &= isspace((unsigned char)s[i]) != 0;
		if (blank || *s == '#')
			continue;
		if (memchr(s, 0, n))
			return err_set(e, -EINVAL, "line %u holds a NUL byte: this is no CSV file", line);
		cells = split(s, n, cell);
		if (cells < 0)
			return err_set(e, -EINVAL, "line %u has more than %d cells", line, MAX_COLUMNS);
		if (!columns) {
			err = parse_header(cell, cells, col, e);
			columns = cells;
		} else {
			err = parse_row(p, col, columns, cell, cells, e);
		}
		if (err) {
			err_prefix(e, "line %u", line);
			return err;
		}
	}
	if (!columns)
		return err_set(e, -EINVAL,
			       "the file is empty; wanted are columns bytes,host,accelerated or bytes,run,time");
	return 0;
}
