/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cache lines that threads share falsely; the rule stands in threads.h. Included by user/flow only. */
#ifndef ACCPERF_FLOW_SHARING_H
#define ACCPERF_FLOW_SHARING_H

#include "flow/threads.h"

/* Fills out->line and out->truly, with functions as they are in `in`. 0 or -ENOMEM. */
int sharing_find(const struct flow_input *in, struct flow_threads *out);

#endif
