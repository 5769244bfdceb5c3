/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accperf logca devices: every catalogue there is, in one list. Included by user/cli. */
#ifndef ACCPERF_CLI_LOGCA_DEVICES_H
#define ACCPERF_CLI_LOGCA_DEVICES_H

#include "model/catalogue.h"

/*
 * What comes with the program, what `accperf calibrate` measured here, and `file` (NULL: none). A name that stands in
 * two of them is -EINVAL: they contradict each other.
 */
int logca_all_devices(struct catalogue *c, const char *file, struct err *e);
int logca_devices(const char *file, bool json);

#endif
