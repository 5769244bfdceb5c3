/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series of what the last complete profile of each service tells. Included by user/daemon. */
#ifndef ACCPERF_DAEMON_METRICS_PROFILE_H
#define ACCPERF_DAEMON_METRICS_PROFILE_H

struct daemon;
struct series;

void metrics_profiles_told(const struct daemon *d, struct series *out);

#endif
