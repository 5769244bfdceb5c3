/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `accperf calibrate` shows: which accelerators there are, what was measured, two catalogues beside each other.
 * Included by user/cli. */
#ifndef ACCPERF_VIEW_CALIBRATION_H
#define ACCPERF_VIEW_CALIBRATION_H

#include <stdbool.h>

#include "model/catalogue.h"
#include "model/fit.h"
#include "offload/calib.h"
#include "util/buf.h"

/* Those that cannot be measured here say why. */
void calibration_list(const struct calib_cases *cases, bool json, struct buf *out);
void calibration_title(struct buf *out);
/* One that was measured; where one curve misses, its stretches of sizes, too. */
void calibration_row(struct buf *row, const char *name, const struct points *pts, const struct fit *fit);
/* names: of the two files. */
void calibration_compare(const struct catalogue *was, const struct catalogue *now, const char *const names[2],
			 bool json, struct buf *out);

#endif
