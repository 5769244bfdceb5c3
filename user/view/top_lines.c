// SPDX-License-Identifier: GPL-2.0-or-later
/* What a screen shows, and what keys do to it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "view/text.h"
#include "view/top.h"

#define NAME_LEAST 18u /* columns: columns of figures give way before it; by hand */
#define NAME_MOST 64u  /* figures lie beside their names on the widest terminal, too */
#define HOT 0.05       /* of the CPU time: red from there on; by hand */
#define WARM 0.005     /* of the CPU time: green from there on; by hand */
#define NO_FIGURE TOP_FIGURES

enum top_lines_form { SHARE, INTERVAL, NUMBER, BYTES, RATIO, TEXT, OBJECT };

/* In the order of the screen. `before`: who gets room first; 0: never left out. */
static const struct top_lines_column {
	const char *title;
	enum top_figure figure; /* NO_FIGURE: a text */
	enum top_lines_form form;
	unsigned width, before;
	const char *what;
} columns[] = {
	{ "FUNCTION", NO_FIGURE, TEXT, 0, 0, "name" },
	{ "SELF", TOP_SELF, SHARE, 6, 0, "time of its own" },
	{ "95%", TOP_SELF, INTERVAL, 10, 1, "interval of that" },
	{ "INCL", TOP_INCLUSIVE, SHARE, 6, 6, "time with what it calls" },
	{ "INSTR/s", TOP_INSTRUCTIONS, NUMBER, 8, 7, "instructions" },
	{ "IN/s", TOP_IN, BYTES, 8, 3, "bytes read" },
	{ "OUT/s", TOP_OUT, BYTES, 8, 4, "bytes of its own that anyone reads" },
	{ "OPS/B", TOP_OPS, RATIO, 6, 5, "arithmetic per byte" },
	{ "CALLS/s", TOP_CALLS_PER_S, NUMBER, 8, 2, "calls" },
	{ "OFFL/s", TOP_OFFLOADED, NUMBER, 7, 8, "calls of an offload API" },
	{ "VERDICT", NO_FIGURE, TEXT, 8, 1, "what a device would do" },
	{ "SAMPLES", TOP_SAMPLES, NUMBER, 8, 9, "samples" },
	{ "OBJECT", NO_FIGURE, OBJECT, 16, 10, "program or library" },
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* ---- lines */

static struct buf *add_top_line(struct top_lines *l, enum top_look look)
{
	static struct buf lost; /* stays empty */
	struct top_line fresh = { .look = look };

	if (!PUSH(l->at, l->count, l->cap, 32, fresh)) {
		l->failed = true;
		buf_clear(&lost);
		return &lost;
	}
	return &l->at[l->count - 1].text;
}

void top_lines_release(struct top_lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		buf_release(&l->at[i].text);
	free(l->at);
	*l = (struct top_lines){ 0 };
}

/* No line is wider than the screen. */
static void cut_lines(struct top_lines *l, unsigned width, unsigned height)
{
	while (height && l->count > height)
		buf_release(&l->at[--l->count].text);
	for (size_t i = 0; i < l->count && width; i++) {
		AUTO_BUF(cut);

		if (!l->at[i].text.data || text_columns(l->at[i].text.data) <= width)
			continue;
		text_name(&cut, l->at[i].text.data, width, 0);
		buf_clear(&l->at[i].text);
		buf_addstr(&l->at[i].text, cut.data ? cut.data : "");
	}
	for (size_t i = 0; i < l->count; i++)
		l->failed |= buf_failed(&l->at[i].text);
}

static void short_number(struct buf *out, double v)
{
	static const char units[] = " KMGTP";
	unsigned u = 0;

	for (; v >= 999.5 && u + 2 < sizeof(units); u++)
		v /= 1000;
	if (u)
		buf_addf(out, v < 99.95 ? "%.1f%c" : "%.0f%c", v, units[u]);
	else
		buf_addf(out, v < 9.95 && v != floor(v) ? "%.1f" : "%.0f", v);
}

static void add_share_or_unknown(struct buf *out, double share)
{
	if (isnan(share))
		buf_addch(out, '?');
	else
		buf_addf(out, "%.1f%%", 100 * share);
}

/* Where no speed was measured, of bytes their share is known. */
static double share_instead(const struct top_function *f, enum top_figure figure)
{
	return figure == TOP_IN ? f->figure[TOP_IN_SHARE] : figure == TOP_OUT ? f->figure[TOP_OUT_SHARE] : NAN;
}

static void add_top_cell(const struct top_function *f, const struct top_lines_column *c, unsigned width,
			 struct buf *out)
{
	double v = c->figure == NO_FIGURE ? NAN : f->figure[c->figure];
	AUTO_BUF(b);

	switch (c->form) {
	case TEXT: text_name(out, f->verdict ? f->verdict : f->why ? "no" : "", width, width); return;
	case OBJECT: text_name(out, f->object, width, width); return;
	case SHARE: add_share_or_unknown(&b, v); break;
	case INTERVAL:
		if (!isnan(f->figure[TOP_SELF_LOW]))
			buf_addf(&b, "%.1f-%.1f", 100 * f->figure[TOP_SELF_LOW], 100 * f->figure[TOP_SELF_HIGH]);
		else
			buf_addch(&b, '?');
		break;
	case RATIO:
		if (isnan(v))
			buf_addch(&b, '?');
		else
			buf_addf(&b, v < 99.5 ? "%.2f" : "%.0f", v);
		break;
	case BYTES:
	case NUMBER:
		if (isnan(v))
			add_share_or_unknown(&b, share_instead(f, c->figure));
		else
			short_number(&b, v);
		break;
	}
	text_pad_left(out, b.data ? b.data : "?", width);
}

/* ---- which columns have room, and which rows are meant */

struct layout {
	bool shown[COLUMNS];
	unsigned name;
};

static struct layout lay_out_columns(unsigned width)
{
	struct layout l = { .shown = { true, true } };
	unsigned used = columns[1].width + 1;

	for (unsigned turn = 1; turn <= COLUMNS; turn++)
		for (unsigned c = 0; c < COLUMNS; c++) {
			if (columns[c].before != turn || used + columns[c].width + 1 + NAME_LEAST > width)
				continue;
			l.shown[c] = true;
			used += columns[c].width + 1;
		}
	l.name = width > used + NAME_LEAST ? width - used : NAME_LEAST;
	l.name = l.name < NAME_MOST ? l.name : NAME_MOST;
	return l;
}

struct order_by {
	const struct top_function *functions;
	unsigned column;
	bool reversed;
};

static int by_chosen_column(const void *a, const void *b, void *ctx)
{
	const struct order_by *o = ctx;
	const struct top_function *x = &o->functions[*(const uint32_t *)a], *y = &o->functions[*(const uint32_t *)b];
	const struct top_lines_column *c = &columns[o->column];
	double u, v;
	int d;

	if (c->figure == NO_FIGURE) {
		d = c->form == OBJECT ? strcmp(x->object, y->object)
		    : o->column       ? strcmp(x->verdict ? x->verdict : "~", y->verdict ? y->verdict : "~")
				      : strcmp(x->name, y->name);
		return o->reversed ? -d : d;
	}
	u = x->figure[c->figure];
	v = y->figure[c->figure];
	if (isnan(u) && isnan(v)) {
		u = share_instead(x, c->figure);
		v = share_instead(y, c->figure);
	}
	if (isnan(u) || isnan(v)) /* the unknown is last, either way */
		return isnan(u) - isnan(v);
	d = (u < v) - (u > v);
	return o->reversed ? -d : d;
}

/* Rows that the filter takes, in order. NULL: out of memory. */
static uint32_t *rows_shown(const struct top_moment *m, const struct top_view *v, size_t *count)
{
	uint32_t *rows = malloc((m->function_count + 1) * sizeof(*rows));
	struct order_by o = { m->functions, v->sort < COLUMNS ? v->sort : TOP_DEFAULT_SORT, v->reversed };

	*count = 0;
	for (size_t i = 0; rows && i < m->function_count; i++)
		if (!*v->filter || strcasestr(m->functions[i].name, v->filter) ||
		    strcasestr(m->functions[i].object, v->filter))
			rows[(*count)++] = (uint32_t)i;
	if (rows)
		qsort_r(rows, *count, sizeof(*rows), by_chosen_column, &o);
	return rows;
}

static const struct top_function *function_chosen(const struct top_moment *m, const struct top_view *v)
{
	for (size_t i = 0; i < m->function_count; i++)
		if (!strcmp(m->functions[i].name, v->chosen) && !strcmp(m->functions[i].object, v->chosen_object))
			return &m->functions[i];
	return NULL;
}

static void choose_function(struct top_view *v, const struct top_function *f)
{
	size_t most = sizeof(v->chosen) - 1;

	/* a longer name is not found again by its beginning: the place in the list is kept then */
	memset(v->chosen, 0, sizeof(v->chosen));
	memset(v->chosen_object, 0, sizeof(v->chosen_object));
	if (!f || strlen(f->name) > most || strlen(f->object) > most)
		return;
	memcpy(v->chosen, f->name, strlen(f->name));
	memcpy(v->chosen_object, f->object, strlen(f->object));
}

/* ---- screens */

static void head_lines(const struct top_moment *m, const struct top_view *v, struct top_lines *l)
{
	struct buf *b = add_top_line(l, TOP_BOLD);

	buf_addstr(b, "accperf top  ");
	text_name(b, v->file ? v->file : "", 40, 0);
	buf_addf(b, "  %.0f s", isnan(m->seconds) ? 0 : m->seconds);
	if (!isnan(m->cpus))
		buf_addf(b, "  %.2f CPUs", m->cpus);
	buf_addstr(b, v->ended ? "  ENDED" : v->frozen ? "  FROZEN" : "");
	b = add_top_line(l, TOP_PLAIN);
	buf_addf(b, "%.0f samples", isnan(m->samples) ? 0 : m->samples);
	if (m->lost > 0)
		buf_addf(b, ", %.0f lost", m->lost);
	if (isnan(m->slowdown))
		buf_addstr(b, "; target slowed by ?");
	else
		buf_addf(b, "; target slowed by %.2f %%", 100 * m->slowdown);
	if (isnan(m->full_at))
		buf_addstr(b, "; bytes, calls and verdicts: not read yet");
	else if (m->full_at > m->seconds)
		buf_addstr(b, "; bytes, calls, verdicts of the window before");
	else
		buf_addf(b, "; bytes, calls, verdicts of the first %.0f s", m->full_at);
}

static void foot_lines(const struct top_view *v, unsigned height, struct top_lines *l)
{
	struct buf *b;

	if (!height)
		return;
	while (l->count + 1 < height)
		add_top_line(l, TOP_PLAIN);
	b = add_top_line(l, TOP_DIM);
	if (v->typing)
		buf_addf(b, "filter: %s_   Enter: keep  Esc: all", v->filter);
	else if (*v->status)
		text_name(b, v->status, 0, 0);
	else if (v->screen == TOP_SCREEN_FUNCTIONS)
		buf_addstr(
			b,
			"q quit  s sort  / filter  Enter open  t threads  p processes  space freeze  w save  ? help");
	else
		buf_addstr(b, "Esc back  q quit  ? help");
}

static void title_line(const struct layout *lay, const struct top_view *v, struct top_lines *l)
{
	struct buf *b = add_top_line(l, TOP_BOLD);

	for (unsigned c = 0; c < COLUMNS; c++) {
		char title[24];
		unsigned width = c ? columns[c].width : lay->name;

		if (!lay->shown[c])
			continue;
		snprintf(title, sizeof(title), "%s%s", columns[c].title, c == v->sort ? v->reversed ? "^" : "v" : "");
		if (c)
			buf_addch(b, ' ');
		if (columns[c].figure == NO_FIGURE)
			text_name(b, title, width, width);
		else if (text_columns(title) > width)
			buf_addf(b, "%.*s", (int)width, columns[c].title);
		else
			text_pad_left(b, title, width);
	}
}

static void keep_selected(const struct top_moment *m, struct top_view *v, const uint32_t *rows, size_t count)
{
	for (size_t i = 0; *v->chosen && i < count; i++)
		if (!strcmp(m->functions[rows[i]].name, v->chosen) &&
		    !strcmp(m->functions[rows[i]].object, v->chosen_object))
			v->selected = i;
	if (v->selected >= count)
		v->selected = count ? count - 1 : 0;
}

static void draw_functions(const struct top_moment *m, struct top_view *v, unsigned width, unsigned height,
			   struct top_lines *l)
{
	struct layout lay = lay_out_columns(width);
	size_t count, room = height ? height - 4 : SIZE_MAX, end;
	uint32_t *rows = rows_shown(m, v, &count);

	if (!rows) {
		l->failed = true;
		return;
	}
	title_line(&lay, v, l);
	keep_selected(m, v, rows, count);
	if (v->selected < v->first)
		v->first = v->selected;
	if (v->selected >= v->first + room)
		v->first = v->selected - room + 1;
	if (!height)
		v->first = 0;
	end = room < count - v->first ? v->first + room : count;
	for (size_t i = v->first; i < end; i++) {
		const struct top_function *f = &m->functions[rows[i]];
		double self = f->figure[TOP_SELF];
		struct buf *b = add_top_line(l, self >= HOT ? TOP_HOT : self >= WARM ? TOP_WARM : TOP_PLAIN);

		if (l->failed)
			break;
		l->at[l->count - 1].selected = height && i == v->selected;
		text_name(b, f->name, lay.name, lay.name);
		for (unsigned c = 1; c < COLUMNS; c++) {
			if (!lay.shown[c])
				continue;
			buf_addch(b, ' ');
			add_top_cell(f, &columns[c], columns[c].width, b);
		}
	}
	if (!count) {
		struct buf *b = add_top_line(l, TOP_DIM);

		if (*v->filter)
			buf_addf(b, "no function with '%s' in its name or its object", v->filter);
		else
			buf_addstr(b, "no samples yet: the target has used no CPU time, or less than a period");
	}
	free(rows);
}

static void wrapped(struct top_lines *l, const char *text, unsigned indent, unsigned width)
{
	AUTO_BUF(b);
	char *line, *rest;

	text_wrap(&b, text, 0, indent, width);
	rest = b.data;
	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			buf_addstr(add_top_line(l, TOP_PLAIN), line);
}

static void range_line(struct top_lines *l, const char *title, const struct top_function *f, enum top_figure v,
		       const char *unit)
{
	struct buf *b;

	if (isnan(f->figure[v]))
		return;
	b = add_top_line(l, TOP_PLAIN);
	buf_addf(b, "  %-10s ", title);
	short_number(b, f->figure[v]);
	buf_addstr(b, unit);
	if (!isnan(f->figure[v + 1]) && !isnan(f->figure[v + 2])) {
		buf_addstr(b, "  (");
		short_number(b, f->figure[v + 1]);
		buf_addstr(b, " to ");
		short_number(b, f->figure[v + 2]);
		buf_addch(b, ')');
	}
}

static void draw_calls(const struct top_moment *m, const struct top_function *f, bool callers, size_t most,
		       struct top_lines *l)
{
	size_t self = (size_t)(f - m->functions), shown = 0;

	buf_addstr(add_top_line(l, TOP_BOLD), callers ? "called by" : "calls");
	for (size_t i = 0; i < m->call_count && shown < most; i++) {
		const struct top_call *c = &m->calls[i];
		const struct top_function *other = &m->functions[callers ? c->caller : c->callee];
		struct buf *b;

		if ((callers ? c->callee : c->caller) != self)
			continue;
		b = add_top_line(l, TOP_PLAIN);
		buf_addf(b, "  %5.1f%%  %7.0f samples  ", 100 * c->share, c->samples);
		text_name(b, other->name, 0, 0);
		shown++;
	}
	if (!shown)
		buf_addstr(add_top_line(l, TOP_DIM), callers ? "  nobody was seen to" : "  nothing was seen");
}

static void draw_flows(const struct top_moment *m, const struct top_function *f, bool reads, size_t most,
		       struct top_lines *l)
{
	size_t shown = 0;

	buf_addstr(add_top_line(l, TOP_BOLD), reads ? "reads bytes of" : "its bytes are read by");
	for (size_t i = 0; i < m->flow_count && shown < most; i++) {
		const struct top_flow *e = &m->flows[i];
		struct buf *b;

		if (strcmp(reads ? e->consumer : e->producer, f->name))
			continue;
		b = add_top_line(l, TOP_PLAIN);
		buf_addstr(b, "  ");
		if (!isnan(e->low))
			buf_addf(b, "%5.1f%% (%.1f-%.1f)", 100 * e->share, 100 * e->low, 100 * e->high);
		else
			buf_addf(b, "%5.1f%%", 100 * e->share);
		if (!isnan(e->samples))
			buf_addf(b, "  %.0f samples", e->samples);
		if (!isnan(e->bytes)) {
			buf_addstr(b, "  ");
			short_number(b, e->bytes);
			buf_addstr(b, "B/s");
		}
		buf_addstr(b, "  ");
		text_name(b, reads ? e->producer : e->consumer, 0, 0);
		shown++;
	}
	if (!shown)
		buf_addstr(add_top_line(l, TOP_DIM), isnan(m->full_at) ? "  not read yet" : "  none was seen");
}

static void draw_one(const struct top_moment *m, struct top_view *v, unsigned width, unsigned height,
		     struct top_lines *l)
{
	const struct top_function *f = function_chosen(m, v);
	size_t most = height > 20 ? (height - 12) / 4 : 2;
	struct buf *b;

	if (!f) {
		buf_addstr(add_top_line(l, TOP_DIM), "that function is in no sample at present");
		return;
	}
	b = add_top_line(l, TOP_BOLD);
	text_name(b, f->name, width > 30 ? width - 20 : 20, 0);
	buf_addstr(b, "  [");
	text_name(b, f->object, 0, 0);
	buf_addch(b, ']');
	b = add_top_line(l, TOP_PLAIN);
	buf_addf(b, "  self %.1f%% (%.1f-%.1f), with what it calls %.1f%%, %.0f samples", 100 * f->figure[TOP_SELF],
		 100 * f->figure[TOP_SELF_LOW], 100 * f->figure[TOP_SELF_HIGH], 100 * f->figure[TOP_INCLUSIVE],
		 f->figure[TOP_SAMPLES]);
	range_line(l, "bytes in", f, TOP_IN, "B/s");
	range_line(l, "bytes out", f, TOP_OUT, "B/s");
	range_line(l, "calls", f, TOP_CALLS_PER_S, "/s");
	if (f->verdict || f->why) {
		AUTO_BUF(text);

		buf_addf(&text, "%s: %s", f->verdict ? f->verdict : "no candidate", f->why ? f->why : "");
		wrapped(l, text.data ? text.data : "", 2, width);
	}
	draw_calls(m, f, true, most, l);
	draw_calls(m, f, false, most, l);
	draw_flows(m, f, true, most, l);
	draw_flows(m, f, false, most, l);
}

static void draw_threads(const struct top_moment *m, struct top_lines *l)
{
	buf_addstr(add_top_line(l, TOP_BOLD), "   TIME          95%     SAMPLES      PID      TID  PROCESS");
	for (size_t i = 0; i < m->thread_count; i++) {
		const struct top_thread *t = &m->threads[i];
		struct buf *b = add_top_line(l, TOP_PLAIN);

		buf_addf(b, "%6.1f%% %6.1f-%-5.1f %10.0f %8u %8u  ", 100 * t->share, 100 * t->low, 100 * t->high,
			 t->samples, t->pid, t->tid);
		text_name(b, t->comm, 0, 0);
	}
}

static void draw_processes(const struct top_moment *m, struct top_lines *l)
{
	buf_addstr(add_top_line(l, TOP_BOLD), "   TIME     SAMPLES  THREADS      PID  PROCESS");
	for (size_t i = 0; i < m->thread_count; i++) {
		const struct top_thread *t = &m->threads[i];
		double share = 0, samples = 0;
		unsigned threads = 0;
		bool told = false;
		struct buf *b;

		for (size_t k = 0; k < m->thread_count; k++) {
			if (m->threads[k].pid != t->pid)
				continue;
			told |= k < i;
			share += m->threads[k].share;
			samples += m->threads[k].samples;
			threads++;
		}
		if (told)
			continue;
		b = add_top_line(l, TOP_PLAIN);
		buf_addf(b, "%6.1f%% %11.0f %8u %8u  ", 100 * share, samples, threads, t->pid);
		text_name(b, t->comm, 0, 0);
	}
}

static void draw_help(struct top_lines *l)
{
	static const char *const keys[] = { "up, down, PgUp, PgDn, Home, End   choose a function",
					    "Enter       its callers, what it calls, its flows, its verdict",
					    "s, S        sort by the next, the previous column; r: the other way round",
					    "/           filter by a part of a name; Esc: all again",
					    "t, p, f     threads, processes, functions",
					    "space       freeze what is shown; the recording goes on",
					    "w           save a profile of what was seen (-o FILE)",
					    "q           quit" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		buf_addstr(add_top_line(l, TOP_PLAIN), keys[i]);
	buf_addstr(add_top_line(l, TOP_PLAIN), "");
	buf_addstr(add_top_line(l, TOP_PLAIN), "?: not known. N%: of all bytes, where how many a second is not known.");
	for (unsigned c = 1; c < COLUMNS; c++)
		buf_addf(add_top_line(l, TOP_PLAIN), "%-8s %s", columns[c].title, columns[c].what);
}

void top_draw(const struct top_moment *m, struct top_view *v, unsigned width, unsigned height, struct top_lines *out)
{
	*out = (struct top_lines){ 0 };
	if (height && (width < TOP_LEAST_WIDTH || height < TOP_LEAST_HEIGHT)) {
		buf_addf(add_top_line(out, TOP_PLAIN), "too small: %ux%u (needs %ux%u)", width, height, TOP_LEAST_WIDTH,
			 TOP_LEAST_HEIGHT);
		cut_lines(out, width, height);
		return;
	}
	head_lines(m, v, out);
	switch (v->screen) {
	case TOP_SCREEN_FUNCTIONS: draw_functions(m, v, width, height, out); break;
	case TOP_SCREEN_ONE: draw_one(m, v, width, height, out); break;
	case TOP_SCREEN_PROCESSES: draw_processes(m, out); break;
	case TOP_SCREEN_THREADS: draw_threads(m, out); break;
	case TOP_SCREEN_HELP: draw_help(out); break;
	}
	cut_lines(out, width, height ? height - 1 : 0);
	foot_lines(v, height, out);
	cut_lines(out, width, height);
}

/* ---- keys */

static enum top_wish filter_key(struct top_view *v, int key)
{
	size_t len = strlen(v->filter);

	if (key == '\n' || key == '\r') {
		v->typing = false;
	} else if (key == 27) {
		v->typing = false;
		*v->filter = 0;
	} else if (key == TOP_KEY_BACKSPACE || key == 127 || key == 8) {
		if (len)
			v->filter[len - 1] = 0;
	} else if (key >= 32 && key < 127 && len + 1 < sizeof(v->filter)) {
		v->filter[len] = (char)key;
		v->filter[len + 1] = 0;
	}
	v->first = 0;
	return TOP_REDRAW;
}

static void move_selection(struct top_view *v, const struct top_moment *m, int key, unsigned height)
{
	size_t count, page = height > 6 ? height - 5 : 1;
	uint32_t *rows = rows_shown(m, v, &count);

	if (rows && count) {
		keep_selected(m, v, rows, count);
		switch (key) {
		case TOP_KEY_UP: v->selected -= v->selected > 0; break;
		case TOP_KEY_DOWN: v->selected++; break;
		case TOP_KEY_PAGE_UP: v->selected = v->selected > page ? v->selected - page : 0; break;
		case TOP_KEY_PAGE_DOWN: v->selected += page; break;
		case TOP_KEY_HOME: v->selected = 0; break;
		case TOP_KEY_END: v->selected = count - 1; break;
		default: break;
		}
		if (v->selected >= count)
			v->selected = count - 1;
		choose_function(v, &m->functions[rows[v->selected]]);
	}
	free(rows);
}

static enum top_wish switch_screen(struct top_view *v, enum top_screen to)
{
	v->screen = v->screen == to ? TOP_SCREEN_FUNCTIONS : to;
	return TOP_REDRAW;
}

static enum top_wish sort_by_next(struct top_view *v, unsigned by)
{
	do
		v->sort = (v->sort + by) % (unsigned)COLUMNS;
	while (columns[v->sort].form == INTERVAL);
	v->first = 0;
	return TOP_REDRAW;
}

enum top_wish top_key(struct top_view *v, const struct top_moment *m, int key, unsigned height)
{
	*v->status = 0;
	if (v->typing)
		return filter_key(v, key);
	switch (key) {
	case 'q': return TOP_QUIT;
	case 'w': return TOP_SAVE;
	case 's':
	case '>': return sort_by_next(v, 1);
	case 'S':
	case '<': return sort_by_next(v, COLUMNS - 1);
	case 'r': v->reversed = !v->reversed; return TOP_REDRAW;
	case ' ': v->frozen = !v->frozen; return TOP_REDRAW;
	case '/':
		v->typing = true;
		v->screen = TOP_SCREEN_FUNCTIONS;
		return TOP_REDRAW;
	case 't': return switch_screen(v, TOP_SCREEN_THREADS);
	case 'p': return switch_screen(v, TOP_SCREEN_PROCESSES);
	case '?':
	case 'h': return switch_screen(v, TOP_SCREEN_HELP);
	case 'f':
	case 27:
	case TOP_KEY_BACKSPACE:
		if (v->screen == TOP_SCREEN_FUNCTIONS)
			*v->filter = 0;
		v->screen = TOP_SCREEN_FUNCTIONS;
		return TOP_REDRAW;
	case '\n':
	case '\r':
		if (v->screen != TOP_SCREEN_FUNCTIONS)
			return TOP_NOTHING;
		move_selection(v, m, key, height);
		v->screen = TOP_SCREEN_ONE;
		return TOP_REDRAW;
	case TOP_KEY_UP:
	case TOP_KEY_DOWN:
	case TOP_KEY_PAGE_UP:
	case TOP_KEY_PAGE_DOWN:
	case TOP_KEY_HOME:
	case TOP_KEY_END:
		if (v->screen == TOP_SCREEN_FUNCTIONS)
			move_selection(v, m, key, height);
		return TOP_REDRAW;
	default: return TOP_NOTHING;
	}
}
