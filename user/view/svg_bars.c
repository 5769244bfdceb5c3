// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/svg_bars.h"

#include <math.h>
#include <string.h>

#include "util/clean.h"
#include "view/svg.h"
#include "view/text.h"

/* Units of the viewBox, where no other is named: names, then the axis, then a sentence; by hand. */
#define LEFT 250.
#define WIDE 330.
#define SAYS 12. /* from the axis' end */
#define ROW 38.
#define TOP 44.
#define NAME_MOST 36 /* columns: what fits before LEFT */
#define SAYS_MOST 66 /* bytes of a line: what fits behind the axis */
#define SAYS_LINES 2 /* of the sentence */
#define LINE 14.
#define WIDTH 1040

struct scale {
	double from, to;
	bool log;
};

static double place_of_value(const struct scale *s, double v)
{
	double part = s->log ? log(v / s->from) / log(s->to / s->from) : v / s->to;

	return LEFT + WIDE * fmin(1, fmax(0, part));
}

/* All of the values and their intervals, and 1 where that is what they are held against. */
static struct scale scale_of(const struct svg_bars *of)
{
	struct scale s = { of->times ? .5 : 0, of->times ? 2 : 0, of->times };

	for (unsigned i = 0; i < of->count; i++) {
		const struct svg_bar *b = &of->bar[i];
		double high = fmax(b->value, isfinite(b->high) ? b->high : 0);
		double low = b->low > 0 ? fmin(b->low, b->value) : b->value;

		if (isfinite(high))
			s.to = fmax(s.to, high);
		if (of->times && low > 0)
			s.from = fmax(1e-3, fmin(s.from, low));
	}
	if (!(s.to > 0))
		s.to = 1;
	return s;
}

static void bar_text(struct buf *out, double x, double y, const char *how, const char *text)
{
	buf_addf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, how);
	clean_add(out, text, CLEAN_XML);
	buf_addstr(out, "</text>\n");
}

/* Where a line ends that may have so many bytes: after a word where there is one. */
static size_t bar_line_end(const char *text)
{
	size_t n = strlen(text), cut = SAYS_MOST;

	while (n > SAYS_MOST && cut > SAYS_MOST / 2 && text[cut] != ' ')
		cut--;
	while (n > SAYS_MOST && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	return n > SAYS_MOST ? cut : n;
}

/* Two lines; what is longer is cut at its end: the beginning tells the verdict. */
static void bar_sentence(struct buf *out, double x, double y, const char *text)
{
	for (unsigned i = 0; i < SAYS_LINES && *text; i++) {
		size_t cut = bar_line_end(text);
		AUTO_BUF(line);

		buf_add(&line, text, cut);
		text += cut + (text[cut] == ' ');
		buf_addstr(&line, i + 1 == SAYS_LINES && *text ? " .." : "");
		buf_addch(&line, 0);
		if (!buf_failed(&line))
			bar_text(out, x, y + LINE * i, "", line.data);
	}
}

/* The end of a name tells as much as its beginning. */
static void bar_name(struct buf *out, double y, const char *name)
{
	AUTO_BUF(text);

	text_name(&text, name, NAME_MOST, 0);
	svg_label(out, LEFT - 10, y, "end", text.data ? text.data : "");
}

static void ticks(const struct scale *s, double bottom, struct buf *out)
{
	double step = s->log ? (s->to / s->from > 300 ? 10 : 2) : s->to > .5 ? .2 : s->to > .2 ? .1 : s->to / 4;
	double first = s->log ? pow(step, ceil(log(s->from) / log(step) - 1e-9)) : 0;

	for (double v = first; v <= s->to * 1.0001; v = s->log ? v * step : v + step) {
		double x = place_of_value(s, v);
		AUTO_BUF(text);

		buf_addf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x, x, TOP,
			 bottom, s->log && fabs(v - 1) < 1e-9 ? "#555" : "#ddd");
		if (s->log)
			buf_addf(&text, "%.3gx", v);
		else
			buf_addf(&text, "%.3g %%", 100 * v);
		bar_text(out, x, bottom + 16, " text-anchor=\"middle\" fill=\"#555\" font-size=\"11\"",
			 text.data ? text.data : "");
	}
}

static void draw_interval_bar(const struct svg_bar *b, const struct scale *s, double y, struct buf *out)
{
	double zero = place_of_value(s, s->log ? 1 : 0), x;

	if (isnan(b->value)) {
		bar_text(out, LEFT + 4, y + 14, " fill=\"#6c757d\" font-style=\"italic\"", "unknown");
		return;
	}
	x = place_of_value(s, b->value);
	buf_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" rx=\"2\" fill=\"%s\"/>\n",
		 fmin(x, zero), y + 3, fmax(1, fabs(x - zero)), svg_colour(b->hue));
	if (!isnan(b->low) && !isnan(b->high) && b->low != b->high)
		buf_addf(out,
			 "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv10M%.1f %.1fv10\" fill=\"none\" stroke=\"#222\" "
			 "stroke-width=\"1.3\"/>\n",
			 place_of_value(s, b->low), y + 10, place_of_value(s, b->high), place_of_value(s, b->low),
			 y + 5, place_of_value(s, b->high), y + 5);
}

void svg_bars(const struct svg_bars *of, struct buf *out)
{
	struct scale s = scale_of(of);
	double bottom = TOP + ROW * (of->count ? of->count : 1);

	svg_begin(out, WIDTH, (unsigned)bottom + 46, of->title);
	ticks(&s, bottom, out);
	for (unsigned i = 0; i < of->count; i++) {
		const struct svg_bar *b = &of->bar[i];
		double y = TOP + ROW * i + 4;

		bar_name(out, y + 14, b->name);
		if (b->under) {
			buf_addstr(out, "<g font-size=\"10\" fill=\"#6c757d\">");
			svg_label(out, LEFT - 10, y + 27, "end", b->under);
			buf_addstr(out, "</g>\n");
		}
		draw_interval_bar(b, &s, y, out);
		if (b->says)
			bar_sentence(out, LEFT + WIDE + SAYS, y + 14, b->says);
	}
	if (!of->count && of->none)
		bar_text(out, LEFT, TOP + 20, " fill=\"#6c757d\" font-style=\"italic\"", of->none);
	bar_text(out, LEFT + WIDE / 2, bottom + 34, " text-anchor=\"middle\" fill=\"#555\"", of->axis);
	svg_end(out);
}
