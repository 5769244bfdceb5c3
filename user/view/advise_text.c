// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/advise.h"

#define CANDIDATES 6 /* of one screen */
#define OPTIONS 2
#define REASONS 8
#define BRIEF 2

static void advise_add_duration(struct buf *b, double ns)
{
	char text[24];

	advise_time(text, ns);
	buf_addstr(b, text);
}

static void advise_add_bytes(struct buf *b, const char *what, const struct figure *f)
{
	char size[24];

	if (!figure_known(f))
		return;
	advise_size(size, f->value);
	buf_addf(b, ", %s %s", size, what);
}

static void heading(const struct advise_view *v, const struct candidate *c, const struct text_style *s, struct buf *out)
{
	const struct advise_function *f = c->functions ? &v->input->function[c->function[0]] : NULL;
	AUTO_BUF(line);

	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, c->name, 60, 0);
	text_hue_off(out, s, TEXT_BOLD);
	if (f && c->functions == 1 && f->object && *f->object) {
		buf_addstr(out, " (");
		text_name(out, f->object, 40, 0);
		buf_addch(out, ')');
	}
	buf_addf(out, ", %s\n    ", candidate_kind_str(c->kind));
	buf_addf(&line, "%.1f%% of the time", 100 * c->share.value);
	if (figure_known(&c->ns_per_call)) {
		buf_addstr(&line, ", ");
		advise_add_duration(&line, c->ns_per_call.value);
		buf_addstr(&line, " a call");
	}
	if (c->p99 > 0) {
		buf_addstr(&line, " (p50 ");
		advise_add_duration(&line, c->p50);
		buf_addstr(&line, ", p90 ");
		advise_add_duration(&line, c->p90);
		buf_addstr(&line, ", p99 ");
		advise_add_duration(&line, c->p99);
		buf_addch(&line, ')');
	}
	if (figure_known(&c->calls_per_s))
		buf_addf(&line, ", %.3g calls/s", c->calls_per_s.value);
	advise_add_bytes(&line, "in", &c->bytes_in);
	advise_add_bytes(&line, "out", &c->bytes_out);
	if (c->resident.value > 0)
		advise_add_bytes(&line, "of it could stay there", &c->resident);
	if (figure_known(&c->ops_per_byte))
		buf_addf(&line, ", %.2g operations a byte", c->ops_per_byte.value);
	if (c->wait_share > 0.01)
		buf_addf(&line, ", %.0f%% of it off the processor", 100 * c->wait_share);
	if (c->within >= 0)
		buf_addf(&line, ", %.0f%% of its stages' bytes stay inside", 100 * fmin(c->within, 1));
	text_wrap(out, line.data ? line.data : "", 4, 4, s->width);
}

static enum text_hue hue_of(enum advise_verdict v)
{
	switch (v) {
	case VERDICT_OFFLOAD:
	case VERDICT_BATCH: return TEXT_HOT;
	case VERDICT_SWITCH:
	case VERDICT_IDLE: return TEXT_WARM;
	case VERDICT_KEEP:
	case VERDICT_UNKNOWN: break;
	}
	return TEXT_DIM;
}

static void show_option(const struct advise_option *o, const struct text_style *s, struct buf *out)
{
	AUTO_BUF(line);

	buf_addstr(out, "  * ");
	if (o->accelerator) {
		buf_addf(&line, "%s", o->accelerator);
		if (o->predicted)
			buf_addf(&line, ", %s", catalogue_design_str(o->p.design));
		buf_addstr(&line, ": ");
	}
	buf_addstr(&line, o->text);
	text_hue_on(out, s, hue_of(o->verdict));
	text_wrap(out, line.data ? line.data : "", 4, 4, s->width);
	text_hue_off(out, s, hue_of(o->verdict));
}

static void reasons(const struct advise_view *v, const struct text_style *s, struct buf *out)
{
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < v->candidates->count; i++)
		all += *v->candidates->at[i].reason != 0;
	if (!all)
		return;
	buf_addstr(out, "\nNo candidates:\n");
	for (size_t i = 0; i < v->candidates->count && (v->all || shown < REASONS); i++) {
		const struct candidate *c = &v->candidates->at[i];
		AUTO_BUF(line);

		if (!*c->reason)
			continue;
		shown++;
		buf_addf(out, " %5.1f%%  ", 100 * c->share.value);
		text_name(&line, c->name, 40, 0);
		buf_addf(&line, ": %s", c->reason);
		text_wrap(out, line.data ? line.data : "", 9, 9, s->width);
	}
	if (all > shown)
		buf_addf(out, "         and %zu more: --all, or --json\n", all - shown);
}

void advise_text(const struct advise_view *v, const struct text_style *s, struct buf *out)
{
	const struct advice *a = v->advice;

	buf_addstr(out, "# ");
	text_name(out, v->file, 0, 0);
	buf_addf(out, ": %s engine, %.1f s, %zu candidate%s, %zu devices known",
		 v->input->engine ? v->input->engine : "?", v->input->seconds, a->count, a->count == 1 ? "" : "s",
		 a->devices);
	if (a->left_out)
		buf_addf(out, ", %zu of them without times in ns", a->left_out);
	buf_addch(out, '\n');
	for (size_t i = 0; i < a->count && (v->all || i < CANDIDATES); i++) {
		const struct advised *d = &a->at[i];

		buf_addch(out, '\n');
		heading(v, d->candidate, s, out);
		for (size_t k = 0; k < d->options && (v->all || k < OPTIONS); k++)
			show_option(&d->option[k], s, out);
		if (!v->all && d->options > OPTIONS)
			buf_addf(out, "    and %zu more: --all\n", d->options - OPTIONS);
	}
	if (!v->all && a->count > CANDIDATES)
		buf_addf(out, "\nand %zu candidates more: --all\n", a->count - CANDIDATES);
	reasons(v, s, out);
}

/* What is sure comes first: verdicts that ask for a change. */
static bool asks(const struct advised *d)
{
	return d->options && d->option->verdict != VERDICT_KEEP && d->option->verdict != VERDICT_UNKNOWN;
}

void advise_brief(const struct advise_view *v, struct buf *out)
{
	const struct advice *a = v->advice;
	size_t said = 0;

	for (int sure = 1; sure >= 0; sure--)
		for (size_t i = 0; i < a->count && said < BRIEF; i++) {
			const struct advised *d = &a->at[i];

			if (!d->options || asks(d) != sure || (!sure && said))
				continue;
			buf_addstr(out, "# ");
			text_name(out, d->candidate->name, 40, 0);
			if (d->option->predicted)
				buf_addf(out, " to %s", d->option->accelerator);
			buf_addf(out, ": %s\n", d->option->text);
			said++;
		}
	if (said)
		buf_addf(out, "# more: accperf advise -i %s\n", v->file);
}
