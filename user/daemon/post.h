/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server of another program over HTTP: one request, one answer, within a time and a size. No TLS: a server on another
 * machine is reached through a proxy on this one, or a network that may see it. Included by this room alone.
 */
#ifndef ACCPERF_DAEMON_POST_H
#define ACCPERF_DAEMON_POST_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"
#include "util/err.h"

struct post_server {
	const char *what; /* the server's name in messages */
	char host[256], port[6];
	char path[257]; /* begins with /; "": the URL has none */
};

/* "http://HOST:PORT" or "http://HOST:PORT/PATH". -EINVAL: it is none. Pure. */
int post_read(struct post_server *s, const char *url);
struct post_request {
	const struct post_server *server;
	const char *target, *headers;   /* path and query; lines that each end in CRLF */
	const struct buf *const *piece; /* of the body, one behind the other */
	size_t pieces;
};

struct post_answer {
	struct buf all;
	unsigned status;  /* 0: it is no answer of HTTP */
	const char *body; /* NUL behind it */
	size_t len;
};

/* -EAGAIN: the server is not there, or busy: later. */
int post_ask(const struct post_request *r, struct post_answer *a, struct err *e);
void post_release(struct post_answer *a);
/* Splits an answer of HTTP: its status, and where its body is; 0: it is none. Pure. */
unsigned post_status(char *answer, size_t len, size_t *body_at, size_t *body_len);
/* Whether a later try may succeed where a server answers so. Pure. */
int post_code(unsigned status);
/* Letters of ASCII, digits, _ and what is in `more` alone. */
bool post_has_only(const char *text, const char *more);
/* As part of a query. */
void post_escape(const char *text, struct buf *out);

#endif
