/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flow between objects (programs and libraries) in place of functions: sums of what was estimated function by
 * function, so that both views agree. Pure. Included by cli.
 */
#ifndef ACCPERF_FLOW_BY_OBJECT_H
#define ACCPERF_FLOW_BY_OBJECT_H

#include "flow/flow.h"

/*
 * *f becomes that. How the errors of a sum's parts go together is not known: the ends of an interval are added, which
 * is wide. Distinct addresses of a sum are unknown, as parts may share them, and there are no inclusive figures.
 * Pseudo-functions, "(before attach)", stay what they are. 0 or -ENOMEM, and f is as it was.
 */
int flow_fold_by_object(struct flow *f);

#endif
