/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `accperf doctor` found, as text and JSON. Rendering only. Included by user/cli/doctor.c. */
#ifndef ACCPERF_VIEW_DOCTOR_H
#define ACCPERF_VIEW_DOCTOR_H

#include "record/engines.h"
#include "util/buf.h"
#include "view/text.h"

struct doctor_view {
	const struct features *features;
	const struct engine *engines; /* ENGINES of them */
	feature_built_fn built;
	bool (*has_command)(const char *name);
};

void doctor_text(const struct doctor_view *v, const struct text_style *style, struct buf *out);
void doctor_json(const struct doctor_view *v, struct buf *out);
extern const char doctor_schema[];

#endif
