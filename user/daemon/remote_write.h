/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /metrics says as remote write 0.1 of Prometheus wants it: a WriteRequest in a snappy block. Pure. Included by
 * this room alone.
 */
#ifndef ACCPERF_DAEMON_REMOTE_WRITE_H
#define ACCPERF_DAEMON_REMOTE_WRITE_H

#include <stdint.h>

#include "util/buf.h"
#include "util/err.h"

#define REMOTE_WRITE_HEADERS                                                                                           \
	"Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\nX-Prometheus-Remote-Write-Version: 0.1.0\r\n"

/* text: of series.h, changed in place; a NUL behind it. Each series gets the labels job="accperf" and instance, which a
 * scraper would have added. -EINVAL: it is no such text. */
int remote_write_encode(char *text, const char *instance, int64_t ms, struct buf *out, struct err *e);

#endif
