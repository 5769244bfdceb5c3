/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a view may be trusted: one line on top of it, `good`, `weak: why; what helps` or `do not use: why; what
 * helps`. Evidence (how many samples, how wide the intervals, how much is unknown) is gathered from what the view is
 * made of; one table of rules in trust.c says which of it is too little. A fact that is not known is NaN, and says
 * nothing: so what the exact engine counted is good unless it lost something. Included by view, cli and tests.
 *
 * To add a rule: a row in rules[]; if it looks at something new, a value of enum trust_fact, set by the trust_of_*()
 * of the views it belongs to; a case in u-trust.c. Marks of `flow` are judged by scripts/accuracy-trust.
 */
#ifndef ACCPERF_VIEW_TRUST_H
#define ACCPERF_VIEW_TRUST_H

#include "counts/counts_report.h"
#include "flow/annotate.h"
#include "flow/input.h"
#include "flow/objects.h"
#include "flow/timeline.h"
#include "offload/summary.h"
#include "profile/time_shares.h"
#include "util/json.h"
#include "view/text.h"

enum trust_mark { TRUST_GOOD, TRUST_WEAK, TRUST_DO_NOT_USE };

/* Views, as bits: a rule is for several. */
enum trust_view {
	TRUST_REPORT = 1,
	TRUST_COUNTS = 2,
	TRUST_FLOW = 4,
	TRUST_OBJECTS = 8,
	TRUST_TIMELINE = 16,
	TRUST_OFFLOAD = 32,
	TRUST_ANNOTATE = 64,
};

enum trust_fact {
	TRUST_SAMPLES,   /* number, of user code */
	TRUST_NOISE,     /* expected half sum of the errors of all shares, by sampling alone */
	TRUST_BY_CHANCE, /* share of the bytes expected in wrong edges, where chance is most of it; so are the next */
	TRUST_BY_GUESS,
	TRUST_BY_UNCHECKED,
	TRUST_BY_FEW,
	TRUST_TRIED,    /* 1: hardware breakpoints were in use; 0: not tried out yet, or switched off */
	TRUST_HARMLESS, /* 1: nothing is known against hardware breakpoints here; 0: their hits end programs */
	TRUST_AMONG,    /* share guessed among several writers, times the chance that it was another; windows checked */
	TRUST_UNSEEN,   /* share read where no store was seen, near or far */
	TRUST_NO_WRITER,    /* share of the bytes read, written before recording began or by nobody known */
	TRUST_INTERPRETED,  /* share of the time inside an interpreter */
	TRUST_LOST,         /* share of the samples */
	TRUST_CUT_STACKS,   /* share that does not reach the thread's start */
	TRUST_ENDED_STACKS, /* the same, where most ended in code without rules, or had no callers recorded */
	TRUST_UNNAMED,      /* share in code without a name */
	TRUST_UNSAMPLED,    /* share of the CPU time: of threads that ended before their first sample */
	TRUST_RATE,         /* 1: some rate was measured; 0: amounts rest on an assumed speed */
	TRUST_MODELLED,     /* 1: how fast the code runs is told by a model of a processor alone */
	TRUST_COUNTED,      /* share of the instructions that counts tell, not time */
	TRUST_PER_SLICE,    /* samples in a slice of a timeline, mean */
	TRUST_RANGES,       /* share of the accesses in ranges of memory that have no name */
	TRUST_PROBED,       /* 1: offload calls were looked for */
	TRUST_CALLS,        /* number of calls that were counted */
	TRUST_TIMED,        /* share of these whose end was seen */
	TRUST_WATCHED,      /* share of the time in which probes were in place */
	TRUST_BOUNDED,      /* share of the calls, of functions whose total has a lower bound alone */
	TRUST_WHOLE,        /* 0: the file is damaged, or ends before its recording did */
	TRUST_FACTS
};

struct trust_evidence {
	double fact[TRUST_FACTS];
	double seconds; /* that were recorded; NaN unknown */
};

struct trust {
	enum trust_mark mark;
	char reason[160], remedy[160]; /* "": none; a good view may have both, as a reservation */
};

struct trust_evidence trust_no_evidence(void);
/* The row of the table that spoke, -1: none. */
int trust_judge(enum trust_view view, const struct trust_evidence *v, struct trust *out);
extern const unsigned trust_rule_count; /* for tests */

struct trust_evidence trust_of_report(const struct profile *p, const struct shares *s);
struct trust_evidence trust_of_counts(const struct profile *p, const struct counts_report *r);
struct trust_evidence trust_of_flow(const struct flow_input *in, const struct flow *f);
struct trust_evidence trust_of_objects(const struct flow_input *in, const struct objects *o);
struct trust_evidence trust_of_timeline(const struct flow_input *in, const struct timeline *t);
struct trust_evidence trust_of_annotation(const struct profile *p, const struct annotation *a);
struct trust_evidence trust_of_offload(const struct profile *p, const struct offload_summary *s);

/* One line, NULL: none. `prefix`: what it begins with, "# " or "". */
void trust_text(const struct trust *t, const char *prefix, const struct text_style *s, struct buf *out);
void trust_json(const struct trust *t, struct json *j);

#define TRUST_SCHEMA                                                                                                   \
	"\"trust\":{\"type\":[\"object\",\"null\"],\"required\":[\"mark\",\"reason\",\"remedy\"],\"properties\":{"     \
	"\"mark\":{\"enum\":[\"good\",\"weak\",\"do not use\"]},\"reason\":{\"type\":[\"string\",\"null\"]},"          \
	"\"remedy\":{\"type\":[\"string\",\"null\"]}}}"

#endif
