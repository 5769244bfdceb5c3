/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon says of itself and its services: OpenMetrics, and lists for people's tools. Included by user/daemon
 * and user/cli/daemon.c. */
#ifndef ACCPERF_DAEMON_METRICS_H
#define ACCPERF_DAEMON_METRICS_H

#include <stdbool.h>

#include "util/buf.h"

struct daemon;

/* openmetrics: or the older text, for scrapers that do not ask for it. */
void metrics_text(const struct daemon *d, bool openmetrics, struct buf *out);
/* "ok", or why not in a sentence; then false. */
bool metrics_health(const struct daemon *d, struct buf *out);
/* The profiles that are kept, accperf.profiles/1. */
void metrics_profiles(const struct daemon *d, struct buf *out);

extern const char metrics_profiles_schema[];

#endif
