// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/devices.h"

#include <math.h>
#include <stdio.h>

#include "util/clean.h"
#include "view/logca.h"

static void device_figure(struct buf *b, const char *name, const struct catalogue_value *v, const char *unit)
{
	if (isnan(v->v) && isnan(v->high)) {
		buf_addf(b, "%s unknown", name);
	} else if (isnan(v->v)) {
		buf_addf(b, "%s up to %.4g%s", name, v->high, unit);
	} else {
		buf_addf(b, "%s %.4g%s", name, v->v, unit);
		if (v->low < v->v || v->high > v->v)
			buf_addf(b, " [%.4g, %.4g]", v->low, v->high);
	}
}

static void device_figures(struct buf *b, const struct catalogue_entry *a)
{
	const struct catalogue_terms *t = &a->terms;
	const char *unit = a->unit ? a->unit : "ns";
	char each[48], time[32];

	snprintf(time, sizeof(time), " %.20s", unit);
	snprintf(each, sizeof(each), " %.20s/B", unit);
	if (a->has_params) {
		buf_addf(b, "L %g, o %g, C %g, A %g, beta %g, %s; in ", a->p.L, a->p.o, a->p.C, a->p.A, a->p.beta,
			 logca_latency_str(a->p.kind));
		clean_add(b, unit, CLEAN_TEXT);
	} else if (a->has_terms) {
		device_figure(b, "o", &t->o, time);
		buf_addstr(b, ", ");
		device_figure(b, "L", &t->L, t->kind == LOGCA_DEP ? each : time);
		buf_addstr(b, ", ");
		if (isnan(t->B.v))
			device_figure(b, "A", &t->A, "");
		else
			device_figure(b, "B", &t->B, t->beta == 1 ? each : time);
	} else {
		buf_addstr(b, "no figures");
	}
	if (a->uncertain > 1)
		buf_addf(b, "; known within a factor of %g", a->uncertain);
	if (!a->preset)
		buf_addstr(b, "  (!)");
}

static void device_words(struct buf *b, const struct catalogue_entry *a)
{
	bool any = false;

	for (int k = 0; k < CATALOGUE_KINDS; k++)
		if (a->kinds & 1u << k) {
			buf_addf(b, "%s%s", any ? ", " : "takes ", catalogue_kind_str((enum catalogue_kind)k));
			any = true;
		}
	for (int d = 0; d < CATALOGUE_DESIGNS; d++)
		if (a->designs & 1u << d)
			buf_addf(b, "%s%s", any ? "; " : "", catalogue_design_str((enum catalogue_design)d)),
				any = true;
	if (a->engines >= 1)
		buf_addf(b, "; %g at once", a->engines);
	if (a->no_streams)
		buf_addstr(b, "; no streams");
}

static void sentence(struct buf *b, const char *before, const char *text)
{
	if (!text)
		return;
	buf_addstr(b, before);
	clean_add(b, text, CLEAN_TEXT);
}

static void one_text(struct buf *b, const struct catalogue_entry *a, const char *here)
{
	size_t start = b->len;

	clean_add(b, a->name, CLEAN_TEXT);
	while (!buf_failed(b) && b->len - start < 34)
		buf_addch(b, ' ');
	buf_addstr(b, catalogue_elsewhere(a, here) ? " elsewhere  " : " here       ");
	device_figures(b, a);
	buf_addstr(b, "\n    ");
	device_words(b, a);
	sentence(b, a->kinds || a->designs ? "; " : "", a->device ? a->device : "device not stated");
	sentence(b, " against ", a->baseline);
	buf_addstr(b, "\n    ");
	sentence(b, "on ", a->host ? a->host : "a machine not stated");
	sentence(b, "; ", a->source ? a->source : a->family);
	sentence(b, "; ", a->date ? a->date : "undated");
	buf_addch(b, '\n');
	for (unsigned i = 0; i < a->thresholds; i++) {
		const struct catalogue_threshold *t = &a->threshold[i];

		buf_addstr(b, "    shipped:");
		if (!isnan(t->from)) {
			buf_addstr(b, " from ");
			logca_size(b, t->from);
		}
		if (!isnan(t->to)) {
			buf_addstr(b, " up to ");
			logca_size(b, t->to);
		}
		sentence(b, ": ", t->call);
		buf_addch(b, '\n');
	}
}

void devices_text(struct buf *out, const struct catalogue *c, const char *here)
{
	for (size_t i = 0; i < c->count; i++)
		one_text(out, &c->entries[i], here);
	buf_addf(
		out,
		"\n%zu accelerators. elsewhere: measured on another machine; `accperf calibrate` measures this one's.\n"
		"(!) published figures that contradict each other or hold for another host: no presets.\n",
		c->count);
}
