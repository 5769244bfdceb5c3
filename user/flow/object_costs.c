// SPDX-License-Identifier: GPL-2.0-or-later
/* What a load costs by the kind of memory that it reads, from how much of that the program touches (objects.h). */
#include <errno.h>
#include <math.h>

#include "flow/objects.h"
#include "measure/memory_cost.h"

/* As large as what the program touched of a region; over one that hits the nearest cache. */
int object_costs_measured(const struct flow_input *in, struct object_costs *out, struct err *e)
{
	static const enum object_region of[] = { [FMT_X_R_STACK] = REGION_STACK,
						 [FMT_X_R_HEAP] = REGION_HEAP,
						 [FMT_X_R_GLOBAL] = REGION_DATA,
						 [FMT_X_R_OTHER] = REGION_OTHER };
	double touched[OBJECT_REGIONS] = { 0 }, least = memory_cost(0);

	if (!in->x_map_count)
		return err_set(e, -ENODATA,
			       "--cost measured wants to know how much memory is used: `accperf exact --objects`");
	for (size_t i = 0; i < in->x_map_count; i++)
		if (in->x_map[i].region < 4)
			touched[of[in->x_map[i].region]] += (double)in->x_map[i].read + (double)in->x_map[i].unread;
	for (int k = 0; k < OBJECT_REGIONS; k++)
		out->factor[k] = fmax(1, memory_cost(touched[k] < 1e12 ? (size_t)touched[k] : 0) / least);
	out->measured = true;
	return isnan(least) ? err_set(e, -ENOMEM, "out of memory") : 0;
}
