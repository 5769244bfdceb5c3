/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FMT_DEMO (95): one number, to be added up. A section to begin with (include/format.h); included by the command that
 * writes and reads it.
 */
#ifndef ACCPERF_STORE_DEMO_H
#define ACCPERF_STORE_DEMO_H

#include <stdint.h>

struct fmt_demo {
	uint64_t number;
};
_Static_assert(sizeof(struct fmt_demo) == 8, "fmt_demo");

#endif
