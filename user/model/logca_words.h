/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What users ask of LogCA in words: sizes, and changes of parameters. Pure. Included by user/cli. */
#ifndef ACCPERF_MODEL_LOGCA_WORDS_H
#define ACCPERF_MODEL_LOGCA_WORDS_H

#include "model/logca.h"

#define LOGCA_SIZES_MOST 256 /* sizes asked about at once; chosen by hand, not measured */

/* "4096,64K" and the like, in bytes; none given: powers of 8 from lo to hi, the paper's ticks. Their number or -EINVAL. */
int logca_sizes_parse(const char *const *given, unsigned count, double lo, double hi, double g[LOGCA_SIZES_MOST],
		      struct err *e);
/* "L/10,A*2,o=0" on the parameters: 0 or -EINVAL. */
int logca_change(const char *text, struct logca *p, struct err *e);

#endif
