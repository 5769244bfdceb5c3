/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ClickHouse server over HTTP: one statement, one answer, within a time and a size. No TLS: a server on another
 * machine is reached through a proxy on this one, or a network that may see it. Included by user/daemon and
 * user/cli/fleet.c and tests.
 */
#ifndef ACCPERF_DAEMON_CLICKHOUSE_H
#define ACCPERF_DAEMON_CLICKHOUSE_H

#include <stdbool.h>

#include "daemon/post.h"
#include "util/buf.h"
#include "util/err.h"

struct clickhouse {
	struct post_server server;
	char database[65];
	char user[65], password[129]; /* "": none */
};

/* "http://HOST:PORT" or "http://HOST:PORT/DATABASE"; user_file: NULL, or a file of "USER:PASSWORD" that only its owner
 * reads. */
int clickhouse_read(struct clickhouse *c, const char *url, const char *user_file, struct err *e);
/* query: the statement; body: what an INSERT takes, NULL: none. answer: at most 64 MB. -EAGAIN: the server is not
 * there, or busy: later; other codes: it does not want it so, with its own words in *e. */
int clickhouse_ask(const struct clickhouse *c, const char *query, const struct buf *body, struct buf *answer,
		   struct err *e);
/* A text as SQL has it, in its quotes; the same as a field of TabSeparated. */
void clickhouse_quote(const char *text, struct buf *out);
void clickhouse_field(const char *text, struct buf *out);

#endif
