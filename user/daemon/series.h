/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series as scrapers read them: OpenMetrics, or Prometheus' older text, which has no info and no ends. Included by
 * user/daemon. */
#ifndef ACCPERF_DAEMON_SERIES_H
#define ACCPERF_DAEMON_SERIES_H

#include <stdbool.h>

#include "util/buf.h"

enum series_type { SERIES_GAUGE, SERIES_COUNTER, SERIES_INFO };

struct series {
	struct buf *out;
	bool openmetrics;
	const char *name; /* of the present family */
	enum series_type type;
	unsigned labels; /* of the present series, so far */
};

/* All series that follow are of that family. name: without _total and _info. */
void series_family(struct series *s, const char *name, enum series_type type, const char *help);
/* A series: its beginning, its labels, its value. */
void series_begin(struct series *s);
void series_label(struct series *s, const char *name, const char *value);
void series_end(struct series *s, double value);
/* A family of one series without labels. */
void series_gauge(struct series *s, const char *name, const char *help, double value);
void series_counter(struct series *s, const char *name, const char *help, double value);
/* Behind the last family. */
void series_close(struct series *s);

#endif
