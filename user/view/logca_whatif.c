// SPDX-License-Identifier: GPL-2.0-or-later
/* Parameters as they are beside changed ones. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "view/logca_questions.h"

static void whatif_column(struct json *j, const char *key, const struct logca_view *v, double g,
			  const struct whole_program *w)
{
	json_obj(j, key);
	logca_json(j, v);
	json_f64(j, "at", g);
	json_f64(j, "speedup_at", logca_speedup(&v->p, g));
	if (w->known) {
		json_obj(j, "program");
		for (int d = 0; d < ACM_DESIGNS; d++)
			json_f64(j, acm_design_str((enum acm_design)d), w->speedup[d]);
		json_obj(j, "break_even");
		for (int d = 0; d < ACM_DESIGNS; d++)
			json_f64(j, acm_design_str((enum acm_design)d), w->break_even[d]);
		json_end(j);
		json_f64(j, "amdahl", w->amdahl);
		json_f64(j, "amdahl_limit", w->ideal);
		json_f64(j, "transfer_every_call", w->every);
		json_f64(j, "transfer_once", w->once);
		json_end(j);
	} else {
		json_null(j, "program");
	}
	json_end(j);
}

static void row_start(struct buf *b, const char *name)
{
	buf_addf(b, "  %-30s", name);
}

static void row_value(struct buf *b, double v, const char *fmt_none)
{
	if (isnan(v))
		buf_addf(b, " %16s", fmt_none);
	else if (isinf(v))
		buf_addf(b, " %16s", "infinite");
	else
		buf_addf(b, " %16.5g", v);
}

static void row_size(struct buf *b, double g)
{
	AUTO_BUF(text);

	if (isnan(g))
		buf_addstr(&text, "none");
	else
		logca_size(&text, g);
	buf_addf(b, " %16s", text.data);
}

static void row_pair(struct buf *b, const char *title, double now, double changed)
{
	row_start(b, title);
	row_value(b, now, "");
	row_value(b, changed, "");
	buf_addch(b, '\n');
}

static void whatif_program(struct buf *b, const struct whole_program w[2])
{
	buf_addstr(b, "Whole program (1 = as it is without the accelerator)\n");
	for (int d = 0; d < ACM_DESIGNS; d++) {
		static const char *const what[] = { "sync: the caller waits", "sync-os: another thread runs",
						    "async: the caller goes on" };

		row_start(b, what[d]);
		row_value(b, w[0].speedup[d], "");
		row_value(b, w[1].speedup[d], "");
		buf_addstr(b, "   from ");
		logca_size(b, w[1].break_even[d]);
		buf_addch(b, '\n');
	}
	row_pair(b, "Amdahl, at the speed-up above", w[0].amdahl, w[1].amdahl);
	row_pair(b, "Amdahl, infinitely fast", w[0].ideal, w[1].ideal);
	if (!isnan(w[0].every))
		row_pair(b, "link, every call ships its data", w[0].every, w[1].every);
	if (!isnan(w[0].once))
		row_pair(b, "link, unique data shipped once", w[0].once, w[1].once);
}

void logca_whatif_text(struct buf *b, const struct logca_view v[2], double g, const struct whole_program w[2])
{
	static const struct {
		const char *name;
		size_t at;
	} field[] = {
		{ "t0", offsetof(struct logca, t0) }, { "o", offsetof(struct logca, o) },
		{ "L", offsetof(struct logca, L) },   { "C", offsetof(struct logca, C) },
		{ "A", offsetof(struct logca, A) },   { "beta", offsetof(struct logca, beta) },
	};
	double ps[2], pg[2], root[2];
	char title[64];
	AUTO_BUF(size);

	row_start(b, "");
	buf_addf(b, " %16s %16s\n", "now", "changed");
	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
		double a = *(const double *)((const char *)&v[0].p + field[i].at),
		       c = *(const double *)((const char *)&v[1].p + field[i].at);

		if (a == c && a == 0)
			continue;
		row_start(b, field[i].name);
		row_value(b, a, "");
		row_value(b, c, "");
		buf_addstr(b, a != c ? "  <\n" : "\n");
	}
	logca_size(&size, g);
	snprintf(title, sizeof(title), "speed-up at %s", size.data);
	row_start(b, title);
	for (int i = 0; i < 2; i++)
		row_value(b, logca_speedup(&v[i].p, g), "");
	buf_addch(b, '\n');
	row_start(b, "largest speed-up");
	for (int i = 0; i < 2; i++) {
		logca_peak(&v[i].p, v[i].lo, v[i].hi, &pg[i], &ps[i]);
		row_value(b, ps[i], "");
	}
	buf_addch(b, '\n');
	row_start(b, "g1 (first size that pays)");
	for (int i = 0; i < 2; i++)
		row_size(b, logca_solve(&v[i].p, 1, root) ? root[0] : NAN);
	buf_addch(b, '\n');
	row_start(b, "half of the largest at");
	for (int i = 0; i < 2; i++)
		row_size(b, logca_half_peak(&v[i].p, ps[i]));
	buf_addch(b, '\n');
	for (int i = 0; i < 2; i++) {
		buf_addf(b, "  offloading pays %-14s ", i ? "changed:" : "now:");
		logca_verdict(b, &v[i]);
		buf_addch(b, '\n');
	}
	if (w[0].known)
		whatif_program(b, w);
}

void logca_whatif_json(struct buf *out, const struct logca_view v[2], double g, const struct whole_program w[2])
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.logca-whatif/1");
	whatif_column(&j, "now", &v[0], g, &w[0]);
	whatif_column(&j, "changed", &v[1], g, &w[1]);
	json_end(&j);
	buf_addch(out, '\n');
}
