/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a request asks of stored profiles: which answer, of which service, of which time. Nothing of it becomes a path:
 * the service is compared with those that there are, times with those of files. Pure. Included by cli and tests.
 *
 * To add an answer: a row in query.c, and its commands in queries.c.
 */
#ifndef ACCPERF_DAEMON_QUERY_H
#define ACCPERF_DAEMON_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUERY_NAME 40u /* of a service, at most */
#define QUERY_ARGS 8u  /* parameters of one request; by hand */

enum query_kind { QUERY_PAGE, QUERY_PPROF, QUERY_FLOW, QUERY_ADVISE, QUERY_DIFF, QUERIES };

struct query_arg {
	const char *key, *value; /* value NULL: "?key" */
};

/* ns of the time of day */
struct query_time {
	int64_t from, to;
};

struct query {
	enum query_kind kind;
	char service[QUERY_NAME + 1]; /* "": the only one */
	bool latest;                  /* no time was given: the last complete profile */
	struct query_time of, base;   /* base: of diff, what came before */
};

/* Whether this path is answered from stored profiles. */
bool query_is(const char *path, enum query_kind *kind);
/* NULL, or what is wrong in a sentence. now: of the time of day, ns. */
const char *query_read(enum query_kind kind, const struct query_arg *args, size_t count, int64_t now, struct query *q);
/* "now", "-90s", "now-2h", "1764133200", "2026-11-26T05:00:00Z", "20261126T050000Z". */
bool query_moment(const char *text, int64_t now, int64_t *ns);
/* What its answer is sent as. */
const char *query_type(enum query_kind kind);
/* A file's name that a browser keeps it by; NULL: it is shown. */
const char *query_file(enum query_kind kind);

/* A stored profile as it is chosen by time. */
struct query_profile {
	const char *name;
	int64_t end;  /* ns of the time of day: last written, or now */
	bool is_open; /* it is being written */
};
/* When it began: when the one before of its recorder ended, or as its name says; longest: how long one lasts, ns. */
int64_t query_began(const struct query_profile *all, size_t count, size_t i, int64_t longest);

#endif
