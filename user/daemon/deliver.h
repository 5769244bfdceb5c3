/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One profile to a collector of OpenTelemetry's, or to a server that takes pprof as Pyroscope does; or a text of
 * /metrics to one that takes remote write. None is asked what it has: who sends remembers what was sent. Included by
 * user/daemon and user/cli/fleet.c and tests.
 */
#ifndef ACCPERF_DAEMON_DELIVER_H
#define ACCPERF_DAEMON_DELIVER_H

#include <stdbool.h>

#include "daemon/post.h"

struct fleet_segment;

enum deliver_to { DELIVER_OTLP, DELIVER_PYROSCOPE, DELIVER_FIGURES };

struct deliver {
	enum deliver_to to;
	struct post_server server;
};

/* "http://HOST:PORT", or with the path that takes profiles. */
int deliver_read(struct deliver *d, enum deliver_to to, const char *url, struct err *e);
/* Of figures: a file of what /metrics said at the milliseconds that are its name, else when it was written.
 * -EAGAIN: later; -EINVAL: this profile is not wanted, or cannot be read: the next. */
int deliver_profile(const struct deliver *d, const struct fleet_segment *s, const char *path, struct err *e);
/* Whether an answer of OTLP says that it left profiles out, and its words. Pure. */
bool deliver_rejected(const char *body, size_t len, char why[200]);

#endif
