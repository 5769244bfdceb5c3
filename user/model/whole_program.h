/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program as a whole gains by a device: three threading designs, Amdahl, and the transfer alone. Pure functions.
 * Included by view.
 */
#ifndef ACCPERF_WHOLE_PROGRAM_H
#define ACCPERF_WHOLE_PROGRAM_H

#include <stdbool.h>

#include "model/limits.h"
#include "model/logca.h"
#include "util/err.h"

/* How the program uses the kernel that is offloaded. */
struct program_use {
	double share;         /* of the program's time, 0 to 1 */
	double calls;         /* per 1e9 units of time: a second, if the unit is ns */
	double queue;         /* waiting in the device's queue, in the parameters' unit */
	double thread_switch; /* the same unit */
	double link;          /* bytes a second; 0: not asked about */
	double unique;        /* different bytes a second among those that calls hand over; 0: not known */
};

struct whole_program {
	bool known;
	double speedup[ACM_DESIGNS], break_even[ACM_DESIGNS], amdahl, ideal;
	double every, once; /* by the link: each call ships its data, or unique data is shipped once; NaN: not known */
};

/* At calls of g bytes. Not known if neither share nor calls are given; -EINVAL if one is. */
int whole_program(const struct program_use *use, const struct logca *p, double g, struct whole_program *out,
		  struct err *e);

#endif
