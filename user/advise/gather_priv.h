/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between gather.c (time, calls, bytes) and gather_probed.c (calls that probes saw). Included by these. */
#ifndef ACCPERF_ADVISE_GATHER_PRIV_H
#define ACCPERF_ADVISE_GATHER_PRIV_H

#include <string.h>

#include "advise/gather.h"

#define GATHER_UNUSED 16 /* devices that are there and idle */

/* The function of that name that takes most time; object NULL: of any; -1: none. */
static inline int gather_function_named(const struct advise_input *in, const char *name, const char *object)
{
	int found = -1;

	for (size_t i = 0; i < in->functions; i++)
		if (!strcmp(in->function[i].name, name) && (!object || !strcmp(in->function[i].object, object))) {
			if (found < 0 || in->function[i].share.value > in->function[found].share.value)
				found = (int)i;
		}
	return found;
}

/* What offload calls say of the functions that made them, and of those whose device worked. 0, -ENOMEM. */
int gather_probed(struct gathered *g);
/* Calls a second, where time over the time of one call tells more than their number. */
void gather_rates_by_time(struct gathered *g);
/* Devices that were there, and that nothing was handed to. */
void gather_idle(struct gathered *g);

#endif
