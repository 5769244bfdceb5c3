/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads recordings that perf made, on this machine or another: normal and pipe files, compressed or
 * not, and delivers struct sample in order of time. The file is untrusted. Included by record and tests.
 *
 * To read another feature section or record type: a case in take_feature() or take_record().
 */
#ifndef ACCPERF_STORE_PERFDATA_H
#define ACCPERF_STORE_PERFDATA_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample.h"
#include "util/err.h"

struct perfdata_event {
	struct perf_event_attr attr;
	char name[128]; /* "" if the file does not tell */
	uint64_t samples;
};

struct perfdata_stats {
	uint64_t records, samples, lost, malformed, unknown_event;
	bool truncated; /* the file ends early, or a record could not be walked past */
};

struct perfdata;

struct perfdata *perfdata_open(const char *path, struct err *e);
/* From memory (borrowed): tests and fuzzing. */
struct perfdata *perfdata_from(const void *data, size_t size, struct err *e);
/* All records, side band included; sample->source is the index of the event. 0 or the callback's
 * negative result. */
int perfdata_read(struct perfdata *p, sample_fn fn, void *ctx, struct err *e);
unsigned perfdata_event_count(const struct perfdata *p);
const struct perfdata_event *perfdata_event(const struct perfdata *p, unsigned i);
const struct perfdata_stats *perfdata_stats(const struct perfdata *p);
/* Feature texts: "hostname", "osrelease", "arch", "cpudesc", "cmdline"; NULL if absent. */
const char *perfdata_text(const struct perfdata *p, const char *what);
void perfdata_free(struct perfdata *p);

#endif
