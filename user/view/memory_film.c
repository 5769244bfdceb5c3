// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample.h"
#include "util/bisect.h"
#include "view/memory_film.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/svg.h"
#include "view/text.h"

#define ROWS 100        /* of addresses: touched pages alone, so that gaps take no room */
#define COLUMNS 120     /* of time */
#define KNOWN 8         /* functions with a colour of their own, the same in both halves */
#define PLACE 122       /* units for an address of 14 digits in letters of 12, and a gap */
#define NAME_COLUMNS 26 /* of a name beside it */
#define LABEL_ROWS 3    /* a line of 12 is higher than two rows */
#define LEFT 330        /* units of the viewBox, for names; by hand */
#define TOP 60          /* such units; by hand */
#define CELL 6          /* such units: a half is 720 wide and 600 high; by hand */
#define HALF (ROWS * CELL)
#define GAP 60 /* between the halves */

/* What one access did to one cell of one half. */
struct memory_film_touch {
	uint32_t cell, func;
	double bytes;
};

struct film {
	const struct flow_input *in;
	bool stack;
	uint64_t *page; /* touched, ascending; the process's number above */
	size_t pages;
	uint64_t first, last; /* times */
	struct memory_film_touch *touch[2];
	size_t touches[2];
	uint32_t known[KNOWN], knowns; /* functions by bytes */
};

static bool shown_in_film(const struct film *f, const struct in_access *a)
{
	return !(a->flags & (FMT_A_CENSUS | IN_A_UNSAMPLED)) && (f->stack || !(a->flags & FMT_A_STACK));
}

static uint64_t film_page(const struct in_access *a)
{
	return (uint64_t)a->pid << 52 ^ a->addr >> SAMPLE_PAGE_SHIFT;
}

static int film_page_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int find_pages(struct film *f)
{
	size_t n = 0, k = 0;

	f->first = UINT64_MAX;
	f->page = malloc((f->in->access_count + 1) * sizeof(*f->page));
	if (!f->page)
		return -ENOMEM;
	for (size_t i = 0; i < f->in->access_count; i++) {
		const struct in_access *a = &f->in->access[i];

		if (!shown_in_film(f, a))
			continue;
		f->page[n++] = film_page(a);
		f->first = a->time < f->first ? a->time : f->first;
		f->last = a->time > f->last ? a->time : f->last;
	}
	qsort(f->page, n, sizeof(*f->page), film_page_order);
	for (size_t i = 0; i < n; i++)
		if (!k || f->page[k - 1] != f->page[i])
			f->page[k++] = f->page[i];
	f->pages = k;
	return k ? 0 : -ENODATA;
}

static uint32_t row_of_page(const struct film *f, uint64_t page)
{
	size_t lo = BISECT(i, f->pages, f->page[i] <= page);

	lo -= lo > 0;
	return (uint32_t)(lo * ROWS / (f->pages > ROWS ? f->pages : ROWS));
}

static int by_cell(const void *a, const void *b)
{
	const struct memory_film_touch *x = a, *y = b;

	if (x->cell != y->cell)
		return x->cell < y->cell ? -1 : 1;
	return (x->func > y->func) - (x->func < y->func);
}

/* Of each cell and function one, in order of cells. */
static int find_touches(struct film *f, int half)
{
	double span = (double)(f->last - f->first) + 1;
	size_t n = 0, k = 0;
	struct memory_film_touch *t = malloc((f->in->access_count + 1) * sizeof(*t));

	f->touch[half] = t;
	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < f->in->access_count; i++) {
		const struct in_access *a = &f->in->access[i];
		uint32_t column = shown_in_film(f, a) ? (uint32_t)((double)(a->time - f->first) / span * COLUMNS) : 0;

		if (!shown_in_film(f, a) || !(a->flags & (half ? FMT_A_LOAD : FMT_A_STORE)))
			continue;
		column = column < COLUMNS ? column : COLUMNS - 1;
		t[n++] = (struct memory_film_touch){ row_of_page(f, film_page(a)) * COLUMNS + column, a->func,
						     a->weight * a->size };
	}
	qsort(t, n, sizeof(*t), by_cell);
	for (size_t i = 0; i < n; i++) {
		if (k && !by_cell(&t[k - 1], &t[i]))
			t[k - 1].bytes += t[i].bytes;
		else
			t[k++] = t[i];
	}
	f->touches[half] = k;
	return 0;
}

static int find_known(struct film *f)
{
	double *bytes = calloc((size_t)f->in->func_count + 1, sizeof(*bytes));

	if (!bytes)
		return -ENOMEM;
	for (int half = 0; half < 2; half++)
		for (size_t i = 0; i < f->touches[half]; i++)
			bytes[f->touch[half][i].func] += f->touch[half][i].bytes;
	while (f->knowns < KNOWN) {
		uint32_t most = 0;

		for (uint32_t k = 1; k < f->in->func_count; k++)
			most = bytes[k] > bytes[most] ? k : most;
		if (!(bytes[most] > 0))
			break;
		f->known[f->knowns++] = most;
		bytes[most] = 0;
	}
	free(bytes);
	return 0;
}

static const char *film_hue(const struct film *f, uint32_t func)
{
	for (uint32_t k = 0; k < f->knowns; k++)
		if (f->known[k] == func)
			return svg_colour(k);
	return "#b4b7be";
}

static void draw_half(const struct film *f, int half, unsigned top, struct buf *out)
{
	const struct memory_film_touch *t = f->touch[half];

	svg_label(out, LEFT, top - 8, "start", half ? "who reads" : "who writes");
	buf_addf(out, "<rect x=\"%d\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n", LEFT, top,
		 COLUMNS * CELL, HALF);
	for (size_t i = 0; i < f->touches[half];) {
		size_t most = i, next = i;

		for (; next < f->touches[half] && t[next].cell == t[i].cell; next++)
			most = t[next].bytes > t[most].bytes ? next : most;
		buf_addf(out, "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n",
			 LEFT + t[i].cell % COLUMNS * CELL, top + t[i].cell / COLUMNS * CELL, CELL, CELL,
			 film_hue(f, t[most].func));
		i = next;
	}
}

static void film_legend(const struct film *f, struct buf *out)
{
	for (uint32_t k = 0; k < f->knowns; k++) {
		unsigned y = TOP + 14 + 18 * k;

		buf_addf(out, "<rect x=\"%d\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
			 LEFT + COLUMNS * CELL + 12, y - 10, svg_colour(k));
		svg_label(out, LEFT + COLUMNS * CELL + 30, y, "start", f->in->funcs[f->known[k]].name);
	}
}

/* At the left, where a row begins with another mapping than the row above. */
static void label_rows(const struct film *f, unsigned top, struct buf *out)
{
	const struct in_region *last = NULL;
	uint32_t labelled = 0, row_before = UINT32_MAX;
	bool any = false;

	for (size_t i = 0; i < f->pages; i++) {
		uint32_t row = row_of_page(f, f->page[i]), pid = (uint32_t)(f->page[i] >> 52);
		uint64_t addr = (f->page[i] & ((1ull << 52) - 1)) << SAMPLE_PAGE_SHIFT;
		const struct in_region *r = in_region_at(f->in, pid, addr);
		const char *name = r && r->name && *r->name ? r->name : "memory";
		const char *slash = strrchr(name, '/');
		AUTO_BUF(cut);
		char place[40];

		if (row == row_before || (any && (r == last || row < labelled + LABEL_ROWS)))
			continue;
		row_before = row;
		last = r;
		labelled = row;
		any = true;
		snprintf(place, sizeof(place), "%#llx", (unsigned long long)addr);
		text_name(&cut, slash ? slash + 1 : name, NAME_COLUMNS, 0);
		svg_label(out, LEFT - PLACE, top + row * CELL + 6, "end", cut.data ? cut.data : "");
		svg_label(out, LEFT - 6, top + row * CELL + 6, "end", place);
	}
}

static void draw_film(const struct film *f, struct buf *out)
{
	AUTO_BUF(note);

	svg_begin(out, LEFT + COLUMNS * CELL + 300, TOP + 2 * HALF + GAP + 60, "Memory over time");
	for (int half = 0; half < 2; half++) {
		draw_half(f, half, TOP + (unsigned)half * (HALF + GAP), out);
		label_rows(f, TOP + (unsigned)half * (HALF + GAP), out);
	}
	film_legend(f, out);
	buf_addstr(&note, "time, ");
	if (f->in->time_unit_instructions) {
		text_count(&note, f->last - f->first);
		buf_addstr(&note, " instructions");
	} else {
		text_seconds(&note, f->last - f->first);
	}
	buf_addf(&note,
		 "; %zu pages of 4 KB that were seen touched, gaps left out; a cell has the colour of whom most of its "
		 "bytes were",
		 f->pages);
	buf_addf(out, "<text x=\"%d\" y=\"%d\" fill=\"#555\">%s</text>\n", LEFT, TOP + 2 * HALF + GAP + 24,
		 buf_failed(&note) ? "" : note.data);
	svg_end(out);
}

int memory_film_svg(const struct flow_input *in, bool stack, struct buf *out)
{
	struct film f = { .in = in, .stack = stack };
	int err = find_pages(&f);

	for (int half = 0; half < 2 && !err; half++)
		err = find_touches(&f, half);
	err = err ? err : find_known(&f);
	if (!err)
		draw_film(&f, out);
	free(f.page);
	free(f.touch[0]);
	free(f.touch[1]);
	return err;
}
