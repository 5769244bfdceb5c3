/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What earlier recordings told, as the recorder's cache had it when this one began: FMT_EARLIER_* of include/format.h.
 * Included by flow, record and tests. */
#ifndef ACCPERF_STORE_EARLIER_H
#define ACCPERF_STORE_EARLIER_H

#include <stdint.h>

/* What bursts of earlier recordings of the same files saw: sums, each recording's the less the longer it is ago. */
struct fmt_earlier_site {
	uint64_t ip;         /* as fmt_frame.addr */
	uint32_t module, id; /* id: from 1 */
	float bursts;        /* that met it; 0: it is a writer alone */
	uint32_t pad;
};
_Static_assert(sizeof(struct fmt_earlier_site) == 24, "fmt_earlier_site");

struct fmt_earlier_pair {
	uint32_t reader, writer; /* fmt_earlier_site.id; writer 0, and bin: as fmt_burst_pair */
	uint32_t bin;
	float bytes;
};
_Static_assert(sizeof(struct fmt_earlier_pair) == 16, "fmt_earlier_pair");

#endif
