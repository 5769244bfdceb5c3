/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several devices in one picture. Included by user/cli. */
#ifndef ACCPERF_VIEW_LOGCA_SEVERAL_H
#define ACCPERF_VIEW_LOGCA_SEVERAL_H

#include "model/catalogue.h"
#include "view/logca_curves.h"

/* Those named, of what comes with the program and what calibrate measured here; names and notes stay those of *from,
 * which is the caller's to release. -EINVAL: one is named twice, or too many are. */
int logca_several(const char *const *devices, unsigned count, struct catalogue *from, struct logca_curves *c,
		  struct err *e);

#endif
