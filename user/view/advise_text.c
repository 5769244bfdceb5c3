// SPDX-License-Identifier: GPL-2.0-or-later
/* Advice (advise.h) as text for a terminal: candidates, what they take, verdicts with their reasons. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/advise.h"

#define CANDIDATES 6 /* of one screen */
#define OPTIONS 2    /* of a candidate: the best ones; --all has the others */
#define REASONS 8    /* functions that are none, with why; --all has the others */
#define BRIEF 2      /* verdicts below the table of report; by hand */
#define SIZES 8      /* with more of them, those under SMALL of the calls stand together */
#define SMALL .03
#define READY_TOLD .1 /* of the time off the CPU; by hand */
#define FAULTS .01    /* of the calls' time: less is not worth a word */

static void advise_add_duration(struct buf *b, double ns)
{
	char text[24];

	advise_time(text, ns);
	buf_addstr(b, text);
}

/* " [2.6..3.5]", in the figure's own way to write; nothing where it is exact, or so nearly that both ends read so. */
static void add_ends(struct buf *b, const struct figure *f, const char *value, void (*write)(char out[24], double v))
{
	char low[24], high[24];

	if (!figure_bounded(f))
		return;
	write(low, f->low);
	write(high, f->high);
	if (isinf(f->high))
		buf_addf(b, " [%s or more]", low);
	else if (strcmp(low, value) || strcmp(high, value))
		buf_addf(b, " [%s..%s]", low, high);
}

static void write_count(char out[24], double v)
{
	AUTO_BUF(b);

	if (v >= 1000 && v < 1e15)
		text_count(&b, (uint64_t)(v / pow(10, floor(log10(v)) - 2)) * (uint64_t)pow(10, floor(log10(v)) - 2));
	else
		buf_addf(&b, isinf(v) ? "?" : "%.3g", v);
	snprintf(out, 24, "%.23s", b.data ? b.data : "?");
}

static void write_exponent(char out[24], double v)
{
	snprintf(out, 24, "%.3g", v);
}

static void write_percent(char out[24], double v)
{
	snprintf(out, 24, "%.3g%%", 100 * v);
}

static void advise_add_bytes(struct buf *b, const char *what, const struct figure *f)
{
	char size[24];

	if (!figure_known(f))
		return;
	advise_size(size, f->value);
	buf_addf(b, ", %s", size);
	add_ends(b, f, size, advise_size);
	buf_addf(b, " %s", what);
}

/* How many different bytes a call touches: all of them may be, or the same again and again. */
static void add_distinct(struct buf *b, const char *what, const struct figure *unique, const struct figure *all)
{
	char low[24], high[24];

	if (isnan(unique->low) || isnan(unique->high) || (unique->low == all->low && unique->high == all->high))
		return;
	advise_size(low, unique->low);
	advise_size(high, unique->high);
	if (strcmp(low, high))
		buf_addf(b, ", %s to %s distinct %s", low, high, what);
	else
		buf_addf(b, ", %s distinct %s", low, what);
}

static void add_calls_per_s(struct buf *b, const struct candidate *c)
{
	const struct figure *f = &c->calls_per_s;
	char text[24];

	if (!figure_known(f))
		return;
	write_count(text, f->value);
	buf_addf(b, ", %s%s", candidate_rate_is_bound(c) ? "at least " : "", text);
	add_ends(b, f, text, write_count);
	buf_addstr(b, " calls/s");
}

/* "64 B 12%, 1 KB 80%": of each octave its typical size; small ones on either side together. */
static void add_sizes(const struct candidate *c, const struct text_style *s, struct buf *out)
{
	const struct predict_work *w = &c->work;
	double calls = 0, left = 0;
	AUTO_BUF(line);
	char size[24];

	for (size_t i = 0; i < w->sizes; i++)
		calls += w->size[i].calls;
	if (!(calls > 0))
		return;
	for (size_t i = 0; i < w->sizes; i++) {
		double share = w->size[i].calls / calls;

		if (w->sizes > SIZES && share < SMALL) {
			left += share;
			continue;
		}
		advise_size(size, w->size[i].bytes);
		buf_addf(&line, "%s%s %.0f%%", line.len ? ", " : "sizes of its calls: ", size, 100 * share);
	}
	if (left >= .005)
		buf_addf(&line, "%s %.0f%%", line.len ? ", others" : "sizes of its calls: many, each few;", 100 * left);
	buf_addstr(out, "    ");
	text_wrap(out, line.data ? line.data : "", 4, 4, s->width);
}

/* t0 + C g^beta, as the calls' sizes and times have it. */
static void add_host_curve(const struct candidate *c, const struct text_style *s, struct buf *out)
{
	const struct predict_work *w = &c->work;
	char beta[24], text[24];
	AUTO_BUF(line);

	if (!figure_known(&w->C) || !figure_known(&w->beta)) {
		if (!c->probed || !c->probed->no_curve)
			return;
		buf_addf(&line, "no curve of its time by size: %s", c->probed->no_curve);
		buf_addstr(out, "    ");
		text_wrap(out, line.data, 4, 4, s->width);
		return;
	}
	buf_addstr(&line, "a call of g bytes takes the host ");
	if (w->t0.value > 0) {
		advise_add_duration(&line, w->t0.value);
		buf_addstr(&line, " + ");
	}
	advise_time(text, w->C.value);
	buf_addstr(&line, text);
	add_ends(&line, &w->C, text, advise_time);
	write_exponent(beta, w->beta.value);
	buf_addf(&line, " x g^%s", beta);
	add_ends(&line, &w->beta, beta, write_exponent);
	buf_addstr(out, "    ");
	text_wrap(out, line.data, 4, 4, s->width);
}

static void add_limit(struct buf *line, const struct figure *share, const char *of)
{
	double limit = advise_limit(share);

	if (isnan(limit))
		return;
	buf_addstr(line, line->len ? ", " : "were it to take no time: ");
	if (limit < 1000)
		buf_addf(line, "%.3gx on %s", limit, of);
	else
		buf_addf(line, "more than 1000x on %s", of);
}

/* What Amdahl leaves to hope for, and what the device did not do. */
static void add_limits(const struct candidate *c, const struct text_style *s, struct buf *out)
{
	AUTO_BUF(line);

	if (c->kind != CANDIDATE_OFFLOAD) {
		add_limit(&line, &c->thread_share, "its thread's CPU time");
		add_limit(&line, &c->share, "the process's");
		add_limit(&line, &c->elapsed_share, "the recorded time");
	} else if (c->probed && c->probed->failed_share > 0) {
		buf_addf(&line, "%.2g%% of its calls failed, and fall back to the host or are lost",
			 100 * c->probed->failed_share);
	}
	if (!line.len)
		return;
	buf_addstr(out, "    ");
	text_wrap(out, line.data, 4, 4, s->width);
}

/* Single calls may be too short to time where the longest of them are not. */
static void add_quantile(struct buf *line, const char *what, const struct candidate *c, double ns)
{
	buf_addstr(line, what);
	buf_addstr(line, isnan(ns) ? "below " : "");
	advise_add_duration(line, isnan(ns) ? c->probed->shortest : ns);
}

static void heading(const struct advise_view *v, const struct candidate *c, const struct text_style *s, struct buf *out)
{
	const struct advise_function *f = c->functions ? &v->input->function[c->function[0]] : NULL;
	char text[24], level[64];
	AUTO_BUF(line);

	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, c->name, 60, 0);
	text_hue_off(out, s, TEXT_BOLD);
	if (f && c->functions == 1 && f->object && *f->object) {
		buf_addstr(out, " (");
		text_name(out, f->object, 40, 0);
		buf_addch(out, ')');
	}
	buf_addf(out, ", %s%s\n    ", candidate_kind_str(c->kind), candidate_level_text(c, level));
	write_percent(text, c->share.value);
	buf_addstr(&line, figure_known(&c->share) ? text : "?%");
	add_ends(&line, &c->share, text, write_percent);
	buf_addstr(&line, " of the time");
	if (figure_known(&c->ns_per_call)) {
		advise_time(text, c->ns_per_call.value);
		buf_addf(&line, ", %s", text);
		add_ends(&line, &c->ns_per_call, text, advise_time);
		buf_addstr(&line, " a call");
	}
	if (c->p99 > 0 || (c->probed && c->probed->shortest > 0)) {
		add_quantile(&line, " (elapsed p50 ", c, c->p50);
		add_quantile(&line, ", p90 ", c, c->p90);
		add_quantile(&line, ", p99 ", c, c->p99);
		buf_addch(&line, ')');
	}
	add_calls_per_s(&line, c);
	advise_add_bytes(&line, "in", &c->bytes_in);
	advise_add_bytes(&line, "out", &c->bytes_out);
	if (v->all) {
		add_distinct(&line, "in", &c->unique_in, &c->bytes_in);
		add_distinct(&line, "out", &c->unique_out, &c->bytes_out);
	}
	if (c->resident.value > 0)
		advise_add_bytes(&line, "of it could stay there", &c->resident);
	if (figure_known(&c->ops_per_byte)) {
		write_count(text, c->ops_per_byte.value);
		buf_addf(&line, ", %s", text);
		add_ends(&line, &c->ops_per_byte, text, write_count);
		buf_addstr(&line, " operations a byte");
	}
	if (c->wait_share.value > 0.01) {
		buf_addf(&line, ", off the CPU for %.0f%% of the calls' time", 100 * c->wait_share.value);
		if (c->wait_share.low < c->wait_share.high)
			buf_addf(&line, " [%.0f..%.0f]", 100 * c->wait_share.low, 100 * c->wait_share.high);
		if (c->ready_part > READY_TOLD)
			buf_addf(&line, ", %.0f%% of it ready to run while others had the CPU", 100 * c->ready_part);
	}
	if (c->probed && c->probed->faults_per_call >= .01)
		buf_addf(&line, ", %.2g page faults a call, some %.2g%% of its time", c->probed->faults_per_call,
			 100 * c->probed->fault_share);
	if (c->within >= 0)
		buf_addf(&line, ", %.0f%% of its stages' bytes stay inside", 100 * fmin(c->within, 1));
	text_wrap(out, line.data ? line.data : "", 4, 4, s->width);
	add_sizes(c, s, out);
	add_host_curve(c, s, out);
	add_limits(c, s, out);
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

static void add_gain(struct buf *line, const struct figure *f)
{
	char x[64];

	buf_addstr(line, advise_times(x, f));
}

/* Of the best option: a call's time there, what copies cost, the wait in its queue. */
static void show_terms(const struct candidate *c, const struct advise_option *o, const struct text_style *s,
		       struct buf *out)
{
	const struct predict_option *p = &o->p;
	struct figure faulting = advise_faulting(c, &p->speedup);
	AUTO_BUF(line);

	if (!o->predicted || !figure_known(&p->speedup) || p->outside > ADVISE_OUTSIDE_MOST)
		return;
	if (figure_known(&p->ns_per_call) && !o->ratio) {
		advise_add_duration(&line, p->ns_per_call.value);
		buf_addstr(&line, " a call there");
	}
	if (o->in_the_limit)
		buf_addf(&line, "%sever larger calls bound by %s", line.len ? ", " : "", o->in_the_limit);
	if (figure_known(&p->thread_speedup)) {
		buf_addf(&line, "%s", line.len ? ", " : "");
		add_gain(&line, &p->thread_speedup);
		buf_addstr(&line, " on its thread");
	}
	if (figure_known(&p->speedup_resident) && c->resident.value > 0) {
		buf_addf(&line, "%scopied each call ", line.len ? "; " : "");
		add_gain(&line, &p->speedup);
		buf_addstr(&line, ", with what can stay kept there ");
		add_gain(&line, &p->speedup_resident);
	}
	if (figure_known(&faulting) && c->probed->fault_share >= FAULTS) {
		buf_addf(&line, "%sshould its page faults stay, as those of buffers do, ", line.len ? "; " : "");
		add_gain(&line, &faulting);
	}
	if (figure_known(&p->process_placed)) {
		buf_addf(&line, "%sall its data placed there at most ", line.len ? "; " : "");
		add_gain(&line, &p->process_placed);
		buf_addf(&line, " on the process, the rest of which takes at least %.2g%% of the time longer for them",
			 100 * p->rest_loses.value);
	}
	if (figure_known(&p->utilisation)) {
		buf_addf(&line, "%sthese calls use %.2g%% of the device", line.len ? "; " : "",
			 100 * p->utilisation.value);
		if (isfinite(p->wait_p50.value) && isfinite(p->wait_p99.value)) {
			buf_addstr(&line, ", wait in its queue p50 ");
			advise_add_duration(&line, p->wait_p50.value);
			buf_addstr(&line, ", p99 ");
			advise_add_duration(&line, p->wait_p99.value);
		}
	}
	if (!line.len)
		return;
	buf_addstr(out, "    ");
	text_wrap(out, line.data, 4, 4, s->width);
}

static void reasons(const struct advise_view *v, const struct text_style *s, struct buf *out)
{
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < v->candidates->count; i++)
		all += *v->candidates->at[i].reason && advise_takes(v, &v->candidates->at[i]);
	if (!all)
		return;
	buf_addstr(out, "\nNo candidates:\n");
	for (size_t i = 0; i < v->candidates->count && (v->all || shown < REASONS); i++) {
		const struct candidate *c = &v->candidates->at[i];
		AUTO_BUF(line);

		if (!*c->reason || !advise_takes(v, c))
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

bool advise_takes(const struct advise_view *v, const struct candidate *c)
{
	for (size_t i = 0; i < c->functions; i++) {
		const struct advise_function *f = &v->input->function[c->function[i]];

		if (filter_code(v->filter, f->name, f->object))
			return true;
	}
	return !filter_asks_code(v->filter);
}

struct filtered advise_filtered(const struct advise_view *v)
{
	struct filtered out = { .by = v->filter, .of = "time", .alone = filter_asks_process(v->filter) };

	for (size_t i = 0; i < v->input->functions; i++) {
		const struct advise_function *f = &v->input->function[i];

		if (filter_code(v->filter, f->name, f->object))
			out.shown += f->self * v->part;
	}
	return out;
}

static void show_candidate(const struct advise_view *v, const struct advised *d, const struct text_style *s,
			   struct buf *out)
{
	buf_addch(out, '\n');
	heading(v, d->candidate, s, out);
	for (size_t k = 0; k < d->options && (v->all || k < OPTIONS); k++) {
		show_option(&d->option[k], s, out);
		if (!k || v->all)
			show_terms(d->candidate, &d->option[k], s, out);
	}
	if (!v->all && d->options > OPTIONS)
		buf_addf(out, "    and %zu more: --all\n", d->options - OPTIONS);
}

void advise_text(const struct advise_view *v, const struct text_style *s, struct buf *out)
{
	const struct advice *a = v->advice;
	struct filtered of = advise_filtered(v);
	size_t taken = 0;

	buf_addstr(out, "# ");
	text_name(out, v->file, 0, 0);
	buf_addf(out, ": %s engine, ", v->input->engine ? v->input->engine : "?");
	if (isfinite(v->input->seconds))
		buf_addf(out, "%.1f s, ", v->input->seconds);
	buf_addf(out, "%zu candidate%s, %zu devices known", a->count, a->count == 1 ? "" : "s", a->devices);
	if (a->left_out)
		buf_addf(out, ", %zu of them without all figures that a verdict needs", a->left_out);
	buf_addch(out, '\n');
	filtered_text(&of, "# ", s, out);
	for (size_t i = 0; i < a->count; i++)
		if (advise_takes(v, a->at[i].candidate) && (taken++ < CANDIDATES || v->all))
			show_candidate(v, &a->at[i], s, out);
	if (!v->all && taken > CANDIDATES)
		buf_addf(out, "\nand %zu candidates more: --all\n", taken - CANDIDATES);
	reasons(v, s, out);
}

/* What is sure comes first: verdicts that ask for a change. */
static bool asks(const struct advised *d)
{
	return d->options && d->option->verdict != VERDICT_KEEP && d->option->verdict != VERDICT_UNKNOWN;
}

void advise_brief(const struct advise_view *v, const struct text_style *style, struct buf *out)
{
	const struct advice *a = v->advice;
	size_t said = 0;
	char level[64];

	for (int sure = 1; sure >= 0; sure--)
		for (size_t i = 0; i < a->count && said < BRIEF; i++) {
			const struct advised *d = &a->at[i];
			AUTO_BUF(line);

			if (!d->options || asks(d) != sure || (!sure && said))
				continue;
			text_name(&line, d->candidate->name, 40, 0);
			if (d->candidate->part < 1)
				buf_addstr(&line, candidate_level_text(d->candidate, level));
			if (d->option->predicted)
				buf_addf(&line, " to %s", d->option->accelerator);
			buf_addf(&line, ": %s", d->option->text);
			buf_addstr(out, said ? "# " : "\n# ");
			text_wrap(out, line.data ? line.data : "", 2, 2, style->width);
			said++;
		}
	if (said) {
		buf_addstr(out, "# more: accperf advise -i ");
		text_name(out, v->file, 0, 0);
		buf_addch(out, '\n');
	}
}
