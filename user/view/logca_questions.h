/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of a model to single questions: what at these sizes, what if parameters were others. Rendering only.
 * Included by user/cli.
 */
#ifndef ACCPERF_VIEW_LOGCA_QUESTIONS_H
#define ACCPERF_VIEW_LOGCA_QUESTIONS_H

#include "model/whole_program.h"
#include "view/logca.h"

extern const char logca_schema[], logca_predict_schema[], logca_whatif_schema[], logca_segments_schema[],
	logca_curves_schema[];

/* At n sizes, `batch` calls handed over as one. */
void logca_predict_text(struct buf *out, const struct logca_view *v, const double *g, int n, double batch);
void logca_predict_json(struct buf *out, const struct logca_view *v, const double *g, int n, double batch);

/* As it is, and changed; of calls of g bytes. */
void logca_whatif_text(struct buf *b, const struct logca_view v[2], double g, const struct whole_program w[2]);
void logca_whatif_json(struct buf *out, const struct logca_view v[2], double g, const struct whole_program w[2]);

#endif
