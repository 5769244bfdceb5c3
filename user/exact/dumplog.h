/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns a binary Kim & Edwards log (exact/kelog.h) into its text form. The file is untrusted.
 * Included by user/cli and tests. */
#ifndef ACCPERF_EXACT_DUMPLOG_H
#define ACCPERF_EXACT_DUMPLOG_H

#include <stdbool.h>
#include <stdio.h>

#include "util/err.h"

/* One line per record from `in` to `out`, in constant memory; *cut when `in` ends inside a record.
 * 0 or -errno. */
int kelog_text(FILE *in, FILE *out, bool *cut, struct err *e);

#endif
