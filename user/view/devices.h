/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `accperf logca devices`: figures, machine, source and date of each accelerator known, and sizes that makers ship.
 * Included by user/cli. */
#ifndef ACCPERF_VIEW_DEVICES_H
#define ACCPERF_VIEW_DEVICES_H

#include "model/catalogue.h"
#include "util/buf.h"

/* here: this machine, as its calibrations name it. */
void devices_text(struct buf *out, const struct catalogue *c, const char *here);

#endif
