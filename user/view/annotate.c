// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/annotate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIGURES 36 /* columns before the address */

const char *annotate_unit(const struct annotation *a)
{
	return a->unit == PROFILE_TIME ? "time" : a->unit == PROFILE_INSTRUCTIONS ? "instructions" : "accesses";
}

/* 12.3% +-0.4; nothing where there is no sample. */
static void percent(struct buf *out, double v, double low, double high, uint64_t samples)
{
	AUTO_BUF(b);

	if (samples)
		buf_addf(&b, "%.1f%%", 100 * v);
	text_pad_left(out, b.data ? b.data : "", 7);
	buf_clear(&b);
	if (samples && !isnan(low))
		buf_addf(&b, "+-%.1f", 50 * (high - low));
	buf_addf(out, " %-6s", b.len ? b.data : "");
}

static void add_share_of_bytes(struct buf *out, const struct annotate_bytes *b)
{
	if (b->samples && !isnan(b->share))
		buf_addf(out, "%6.1f%%", 100 * b->share);
	else
		buf_addf(out, "%7s", "");
}

/* 1.02k; with a ? behind it where it may be twice as much or half of it, and ? alone where it may be anything. */
static void add_times(struct buf *out, const struct counts_figure *f)
{
	static const char unit[] = " kMGTP";
	bool vague = isnan(f->high) || f->high > 2 * f->value || f->value > 2 * f->low;
	double v = f->value;
	unsigned k = 0;
	char text[24];

	if (isnan(v) || !(f->high < f->low * 1e5)) {
		buf_addf(out, "%7s", isnan(v) ? "" : "?");
		return;
	}
	for (; v >= 999.5 && k < 5; k++)
		v /= 1000;
	snprintf(text, sizeof(text), v < 9.995 ? "%.2f%c" : v < 99.95 ? "%.1f%c" : "%.0f%c", v, unit[k]);
	if (!k)
		text[strlen(text) - 1] = 0;
	buf_addf(out, vague ? "%6s?" : "%7s", text);
}

static void bytes_phrase(struct buf *out, const char *verb, const struct annotate_bytes *b)
{
	if (!b->samples || isnan(b->share))
		return;
	buf_addf(out, "%s %.1f%% +-%.1f of the bytes", verb, 100 * b->share, 50 * (b->high - b->low));
	if (!isnan(b->bytes)) {
		buf_addstr(out, " (");
		text_bytes(out, whole_number(b->bytes));
		buf_addch(out, ')');
	}
}

static void show_head(const struct annotate_view *v, const struct text_style *s, struct buf *out)
{
	const struct annotation *a = v->a;
	AUTO_BUF(b);

	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, a->name, s->width ? s->width * 2 / 3 : 0, 0);
	buf_addstr(out, " in ");
	text_name(out, a->object, s->width ? s->width / 3 - 5 : 0, 0);
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	if (isnan(a->time))
		buf_addf(&b, "no samples of %s", annotate_unit(a));
	else
		buf_addf(&b, "%.1f%% +-%.1f of the %s in ", 100 * a->time, 50 * (a->high - a->low), annotate_unit(a));
	if (!isnan(a->time))
		text_count(&b, a->samples);
	buf_addstr(&b, isnan(a->time) ? "" : " samples of its own code");
	bytes_phrase(&b, "; reads", &a->read);
	bytes_phrase(&b, "; writes", &a->written);
	if (counts_figure_known(&a->entries)) {
		buf_addstr(&b, "; entered ");
		text_count(&b, whole_number(a->entries.value));
		buf_addstr(&b, " times a second of CPU time (");
		text_count(&b, whole_number(a->entries.low));
		buf_addstr(&b, " to ");
		text_count(&b, whole_number(a->entries.high));
		buf_addch(&b, ')');
	}
	text_wrap(out, b.data ? b.data : "", 0, 0, s->width);
}

static void notes(const struct annotate_view *v, const struct text_style *s, struct buf *out)
{
	const struct annotation *a = v->a;
	AUTO_BUF(b);

	if (!a->precise && a->samples)
		text_wrap(
			out,
			"time skids: an interrupt comes some instructions behind the one that took the time, so look at what stands before, too",
			0, 0, s->width);
	if (*a->no_code)
		buf_addf(&b, "no instructions: %s. ", a->no_code);
	if (*a->no_counts)
		buf_addf(&b, "no executions: %s. ", a->no_counts);
	if (!a->accesses)
		buf_addstr(&b, "no bytes: the profile has no samples of loads and stores. ");
	if (*a->others)
		buf_addf(&b, "There is a function of this name in %s, too: choose with --dso. ", a->others);
	if (b.len)
		text_wrap(out, b.data, 0, 0, s->width);
}

static void where(const struct annotate_insn *i, const struct annotate_insn *last, const struct annotate_view *v,
		  const struct text_style *s, struct buf *out)
{
	const struct source_file *f;
	char line[400];
	const char *text;
	bool file = i->file && (!last || !last->file || strcmp(i->file, last->file) || i->inlined != last->inlined);

	if (!i->file || !i->line || (!file && last->line == i->line))
		return;
	f = source_of(v->sources, i->file);
	text = source_line(f, i->line, line, sizeof(line));
	text_hue_on(out, s, TEXT_DIM);
	if (file) {
		buf_addstr(out, "-- ");
		text_name(out, i->file, s->width ? s->width / 2 : 0, 0);
		if (f && *f->why)
			buf_addf(out, " (not shown: %s)", f->why);
		if (f && f->younger)
			buf_addstr(out, " (younger than the code)");
		if (i->inlined) {
			buf_addstr(out, ", inlined ");
			text_name(out, i->inlined, 30, 0);
		}
		buf_addch(out, '\n');
	}
	text_hue_off(out, s, TEXT_DIM);
	text_hue_on(out, s, TEXT_BOLD);
	buf_addf(out, "%5u:", i->line);
	if (text) {
		buf_addch(out, ' ');
		text_name(out, text, s->width > 8 ? s->width - 8 : 0, 0);
	}
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
}

static const struct annotate_loop *loop_begins(const struct annotation *a, const struct annotate_insn *i)
{
	const struct annotate_loop *l = i->loop == ANNOTATE_NONE ? NULL : &a->loop[i->loop];

	return l && l->addr == i->addr ? l : NULL;
}

static void show_instruction(const struct annotate_view *v, const struct annotate_insn *i, const struct text_style *s,
			     struct buf *out)
{
	const struct annotation *a = v->a;
	uint64_t start = a->part[i->part].start;
	const struct annotate_loop *l = loop_begins(a, i);
	double of = a->time > 0 ? i->time / a->time : 0;
	enum text_hue hue = of >= 0.1 ? TEXT_HOT : of >= 0.02 ? TEXT_WARM : TEXT_PLAIN;
	char at[32];
	AUTO_BUF(b);

	if (l) {
		buf_addf(out, "%*sloop +0x%llx, depth %u: %.1f%% of the %s", FIGURES, "",
			 (unsigned long long)(l->addr - start), l->depth, 100 * l->time, annotate_unit(a));
		buf_addch(out, '\n');
	}
	text_hue_on(out, s, hue);
	percent(out, i->time, i->low, i->high, i->samples);
	add_times(out, &i->per_entry);
	add_share_of_bytes(out, &i->read);
	buf_addch(out, ' ');
	add_share_of_bytes(out, &i->written);
	text_hue_off(out, s, hue);
	snprintf(at, sizeof(at), "+0x%llx", (unsigned long long)(i->addr - start));
	buf_addf(out, "  %-7s ", at);
	buf_addstr(&b, annotation_text(a, i));
	if (i->callee)
		buf_addf(&b, " <%s>", i->callee);
	text_name(out, b.data, s->width > FIGURES + 20 ? s->width - FIGURES - 10 : 0, 0);
	buf_addch(out, '\n');
}

static void rows(const struct annotate_view *v, const struct text_style *s, struct buf *out)
{
	const struct annotation *a = v->a;
	const struct annotate_insn *last = NULL;

	text_hue_on(out, s, TEXT_BOLD);
	buf_addf(out, "%7s %-6s%7s%7s%8s  %s",
		 annotate_unit(a)[0] == 't'   ? "time"
		 : annotate_unit(a)[0] == 'i' ? "instr"
					      : "access",
		 "95%", "runs", "read", "written", "instruction");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t k = 0; k < a->insns; k++) {
		const struct annotate_insn *i = &a->insn[k];

		if (!i->hot)
			continue;
		if (last && (i->part != last->part || last + 1 != i)) {
			buf_addstr(out, "      ...\n");
			last = NULL;
		}
		where(i, last, v, s, out);
		show_instruction(v, i, s, out);
		last = i;
	}
}

static void show_foot(const struct annotate_view *v, const struct text_style *s, struct buf *out)
{
	const struct annotation *a = v->a;
	size_t shown = 0;
	AUTO_BUF(b);

	for (size_t i = 0; i < a->insns; i++)
		shown += a->insn[i].hot;
	buf_addch(out, '\n');
	if (shown < a->insns) {
		text_count(&b, a->insns - shown);
		buf_addf(&b, " more instructions outside of the hottest %s; --all shows them. ",
			 a->loops ? "loop" : "stretch");
	}
	buf_addstr(&b, "Shares are of the whole recording, with their 95% intervals");
	if (a->runs)
		buf_addstr(
			&b,
			"; runs: for each time that the function is entered, by counts (?: it may be twice as much, or half)");
	if (a->accesses)
		buf_addstr(&b, "; read and written: of all bytes, those of the stack, too");
	buf_addf(&b, ". %s", v->source);
	text_wrap(out, b.data ? b.data : "", 0, 0, s->width);
}

void annotate_text(const struct annotate_view *v, const struct text_style *s, struct buf *out)
{
	trust_text(v->trust, "", s, out);
	filtered_text(&v->filtered, "", s, out);
	show_head(v, s, out);
	notes(v, s, out);
	if (!v->a->insns)
		return;
	rows(v, s, out);
	show_foot(v, s, out);
}
