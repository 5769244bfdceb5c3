/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon serves, by libmicrohttpd and within the daemon's own loop. Read-only: a request chooses among answers
 * that are there or that queries.h makes, and no part of it becomes a path. Bounded: so many connections with so much
 * memory each, so many requests of a client; answers are shared. Included by user/daemon. http_none.c is it where the
 * library was not there at build time.
 */
#ifndef ACCPERF_DAEMON_HTTP_H
#define ACCPERF_DAEMON_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

struct daemon;
struct daemon_config;
struct http;

/* By c.listen; NULL and no error: "none". */
struct http *http_open(struct daemon *d, struct err *e);
/* The configuration, or a file that it names, may be another: the token is read anew, and so are certificate and key,
 * with which serving begins anew. Where one cannot be read all stays as it was. d->http may be NULL after an error. */
int http_renew(struct daemon *d, struct err *e);
/* Whether what it would serve with is there: its library, token and keys. No port is taken. */
int http_check(const struct daemon_config *c, struct err *e);
/* Readable when there is something to do; -1: nothing is, or who asks has spent the part of the budget for that. */
int http_fd(const struct http *h);
void http_run(struct http *h);
/* Answers from profiles have come: who waits for them gets them. */
void http_wake(struct http *h);
/* How long it may rest at most; ns. */
uint64_t http_wait_ns(const struct http *h);
void http_close(struct http *h);

#endif
