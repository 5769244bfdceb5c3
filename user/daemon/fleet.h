/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles of many hosts in ClickHouse: their tables, the rows of one profile, and what is asked of all. A profile's
 * rows replace themselves where they come twice, and its row in accperf_segments comes last, so a profile that is there
 * is there whole. Included by user/daemon and user/cli/fleet.c and tests.
 */
#ifndef ACCPERF_DAEMON_FLEET_H
#define ACCPERF_DAEMON_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/err.h"

struct clickhouse;

enum fleet_table { FLEET_FUNCTIONS, FLEET_EDGES, FLEET_CALLS, FLEET_CANDIDATES, FLEET_STACKS, FLEET_SEGMENTS };
#define FLEET_TABLES (FLEET_SEGMENTS + 1u)

/* Statements that make tables and views, each followed by ";\n\n". cluster: NULL, or shards whose tables are seen as
 * one by names that end in _all. */
void fleet_schema(const char *cluster, struct buf *out);
const char *fleet_table_name(enum fleet_table t);
/* By names of columns: a table of other ones refuses it, whatever their number and types. */
void fleet_insert(enum fleet_table t, struct buf *out);

struct fleet_segment {
	const char *host, *service, *segment; /* segment: the file's name */
	int64_t ended;                        /* seconds of the time of day */
};

/* What of a profile is told: by report, flow, offload and advise with --json, and export --collapsed. All but report
 * may be "". */
enum fleet_text { FLEET_OF_REPORT, FLEET_OF_FLOW, FLEET_OF_OFFLOAD, FLEET_OF_ADVISE, FLEET_OF_STACKS };
#define FLEET_TEXTS (FLEET_OF_STACKS + 1u)
/* Rows as TabSeparated. Of stacks the largest, and all others as one. Pure. */
int fleet_rows(const struct fleet_segment *s, const char *const text[FLEET_TEXTS], struct buf rows[FLEET_TABLES],
	       struct err *e);
/* What a reading command of ours prints, and a NUL; status 3, that not all is there, is as good as 0.
 * -EINVAL: it cannot read it. */
int fleet_read_by(const char *const argv[], struct buf *out, struct err *e);
/* All rows of one profile, unless it is there. *there: it was. */
int fleet_push(const struct clickhouse *c, const struct fleet_segment *s, const char *path, bool *there, struct err *e);

/* ---- what is asked */

struct fleet_span {
	int64_t from, to; /* seconds of the time of day */
};

struct fleet_function {
	char function[256], object[256]; /* object: of advise the accelerator */
	char host[128];                  /* of fleet_hosts() */
	double share, low, high;         /* of the CPU time of all; of advise what would be saved of it */
	double offload;                  /* of advise: part of that time on hosts where the verdict is to offload */
	double before, after;            /* diff; before is the median over hosts of fleet_hosts() */
	double change, error, q;         /* of diff: after less before, its standard error */
	unsigned hosts;
	enum { FLEET_NOISE, FLEET_REAL, FLEET_MOVED } verdict;
};

struct fleet_functions {
	struct fleet_function *at;
	size_t count, cap;
	unsigned hosts;
	double segments;
	double t, tt; /* sums over hosts: of samples, and of their squares */
};

struct fleet_question {
	const char *service;
	struct fleet_span of, before; /* before: of diff */
	bool all;                     /* tables end in _all */
};

/* Shares over all hosts; intervals from how hosts differ: NaN of one host. Largest first. */
int fleet_report(const struct clickhouse *c, const struct fleet_question *q, struct fleet_functions *f, struct err *e);
/* Candidates: what of the CPU time of all hosts would be saved. What is not known of an accelerator or a copy is the
 * same on every host, so lows are added to lows and highs to highs, and how hosts differ comes on top. */
int fleet_advise(const struct clickhouse *c, const struct fleet_question *q, struct fleet_functions *f, struct err *e);
#define FLEET_HOSTS_LEAST 5u /* of so few one that differs is no outlier yet */
/* Which hosts differ: those whose share of a function is far from the median over hosts, the furthest first. Functions
 * of a hundredth of a host's time at least. -EINVAL: of fewer than FLEET_HOSTS_LEAST hosts that is not known. */
int fleet_hosts(const struct clickhouse *c, const struct fleet_question *q, struct fleet_functions *f, struct err *e);
/* What fleet_hosts() makes of `all`: sorted by function and object, of hosts that have the function. Pure. */
int fleet_far_hosts(const struct fleet_functions *all, struct fleet_functions *f);
/* Stacks of all hosts as lines of "frame;frame nanoseconds", the largest first. */
int fleet_flame(const struct clickhouse *c, const struct fleet_question *q, struct buf *out, struct err *e);
/* Pairs each host's shares before and after. */
int fleet_diff(const struct clickhouse *c, const struct fleet_question *q, struct fleet_functions *f, struct err *e);
/* From the sums over hosts: errors, q of all, verdicts. Pure. */
void fleet_judge(struct fleet_functions *f);
void fleet_release(struct fleet_functions *f);

#endif
