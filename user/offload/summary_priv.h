/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A summary of offload calls while it is made: the records of a profile by row, and the items that they are folded
 * into. Included by summary.c, which reads and folds, and summary_scale.c, which tells the whole from what was probed.
 */
#ifndef ACCPERF_OFFLOAD_SUMMARY_PRIV_H
#define ACCPERF_OFFLOAD_SUMMARY_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "offload/summary.h"
#include "store/read.h"
#include "util/map.h"

/*
 * A probe's cost was measured on ourselves, and is another in the target: functions that do nothing read up to a
 * third of it. So what was taken off a call may be wrong by half, or by what the measurement itself ranged and
 * drifted over.
 */
#define COST_DOUBT .5

struct total_row {
	struct fmt_offload_total t;
};

struct hist_row {
	struct fmt_offload_hist h;
};

struct window_row {
	struct fmt_offload_window w;
};

/* Of the calls from one site; which sites are shown is known at the end. */
struct site_row {
	struct spread time, bytes_of;
};

struct api_row {
	struct fmt_offload_api f;
	uint32_t item, level; /* that of the call met last, and its level, fmt_level() */
};

#define TABLE(type, name)                                                                                              \
	type *name;                                                                                                    \
	size_t name##_cnt, name##_cap

struct summary_private {
	const struct store_reader *reader;
	TABLE(struct api_row, apis);
	TABLE(struct total_row, totals);
	TABLE(struct hist_row, hists);
	TABLE(struct window_row, windows);
	TABLE(struct offload_item, items);
	TABLE(struct fmt_call, held);
	TABLE(struct site_row, met);
	struct map api_at;                        /* id -> index into apis */
	struct map met_at;                        /* item << 32 | stack -> index into met */
	struct intern total_of, hist_of, item_of; /* key bytes -> index + 1 */
	uint64_t random;
	struct intern texts;
	double inside_ns[FMT_PROBE_CLASSES], call_ns[FMT_PROBE_CLASSES];
	uint64_t end; /* of the recording */
	uint64_t nameless_calls, nameless_records;
	double placeless;
	int failed;
};

/* What the hits of a stretch cost the target. */
static inline double hits_ns(const struct summary_private *k, const struct fmt_offload_window *w)
{
	return w->hits_ns ? (double)w->hits_ns : (double)w->hits * k->call_ns[FMT_PROBE_UNKNOWN];
}

/* Of the profile's strings. */
static inline const char *summary_string(const struct summary_private *k, uint32_t id)
{
	const char *s = store_str(k->reader, id);

	return s && *s ? s : "(unknown)";
}

/* Calls of the whole recording from those of the stretches in which the item was probed, if a hit cost from part_low to
 * part_high of what was measured. */
void summary_scale_item(struct summary_private *k, struct offload_item *it, double part_low, double part_high);

#endif
