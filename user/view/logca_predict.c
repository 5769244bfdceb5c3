// SPDX-License-Identifier: GPL-2.0-or-later
/* What a model says of single sizes. */
#include <math.h>

#include "model/logca.h"
#include "view/logca_questions.h"

void logca_predict_json(struct buf *out, const struct logca_view *v, const double *g, int n, double batch)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.logca-predict/1");
	json_str(&j, "name", v->name);
	json_str(&j, "unit", v->unit);
	json_f64(&j, "batch", batch);
	json_arr(&j, "sizes");
	for (int i = 0; i < n; i++) {
		double s = logca_batch_speedup(&v->p, g[i], batch), host = batch * logca_host(&v->p, g[i]);
		char letters[LOGCA_LETTERS + 1];

		logca_letters(&v->p, g[i], letters);
		json_obj(&j, NULL);
		json_f64(&j, "g", g[i]);
		json_f64(&j, "host", host);
		json_f64(&j, "accelerated", host / s);
		json_f64(&j, "speedup", s);
		json_f64(&j, "bound", logca_bound(&v->p, g[i]));
		json_str(&j, "improve", letters);
		json_f64(&j, "batch_to_pay", logca_batch(&v->p, g[i]));
		json_bool(&j, "extrapolated", v->fit && (g[i] < v->lo || g[i] > v->hi));
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

void logca_predict_text(struct buf *out, const struct logca_view *v, const double *g, int n, double batch)
{
	buf_addf(out, "%12s %14s %14s %10s %10s  %-6s %s\n", "size", "host", "accelerated", "speed-up", "bound",
		 "better", "batch that pays");
	for (int i = 0; i < n; i++) {
		double s = logca_batch_speedup(&v->p, g[i], batch), host = batch * logca_host(&v->p, g[i]),
		       pays = logca_batch(&v->p, g[i]);
		char letters[LOGCA_LETTERS + 1];
		AUTO_BUF(size);

		logca_letters(&v->p, g[i], letters);
		logca_size(&size, g[i]);
		buf_addf(out, "%12s %14.6g %14.6g %10.4g %10.4g  %-6s ", size.data, host, host / s, s,
			 logca_bound(&v->p, g[i]), letters);
		if (isnan(pays))
			buf_addstr(out, "none");
		else
			buf_addf(out, "%.6g", pays);
		if (v->fit && (g[i] < v->lo || g[i] > v->hi))
			buf_addstr(out, "  (outside what was measured)");
		buf_addch(out, '\n');
	}
	buf_addf(out, "times in %s%s\n", v->unit, batch > 1 ? "; of the whole batch" : "");
}
