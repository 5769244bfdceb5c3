/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `accperf offload`: what the offload calls of a profile were, as text and as accperf.offload/1.
 * Rendering only; the figures come from user/offload/summary, the fit from user/model. Included by
 * cli and tests.
 *
 * To add a figure: a field in struct offload_item (or offload_verdict), a line in offload_text.c, a
 * key in offload_json.c and in its schema.
 */
#ifndef ACCPERF_VIEW_OFFLOAD_H
#define ACCPERF_VIEW_OFFLOAD_H

#include "advise/offload_pays.h"
#include "profile/profile.h"
#include "profile/time_shares.h"
#include "model/fit.h"
#include "offload/summary.h"
#include "util/buf.h"
#include "view/filtered.h"
#include "view/text.h"
#include "view/trust.h"

/* A call measured on the host, had it gone to an accelerator of a catalogue. */
struct offload_whatif {
	const struct offload_item *item;
	const char *accelerator, *device, *baseline; /* these may be NULL: what the catalogue's host ran */
	const char *note;                            /* what the comparison leaves open; NULL: nothing */
	/* Shares of the calls: at the accelerator's level, which alone are compared; at others; not seen at any. NaN:
	 * the accelerator has none, or of no call it is known: all are compared. */
	double same_level, other_level, no_level;
	int level;         /* the accelerator's */
	const char *doubt; /* why no break-even is told; NULL: it is */
	bool known;        /* else why_not */
	bool fitted;       /* payoff, gmin, gmax, fit_error: too few sizes otherwise, why_not says */
	char why_not[240];
	struct logca_payoff payoff;
	double gmin, gmax, fit_error;
	double calls;  /* of the whole recording */
	bool at_least; /* they are a lower bound */
	/* shares of the calls: would lose; of a size the accelerator was not measured at; too short */
	double below, outside, unsure;
	double lost_ns, gained_ns; /* per call that would lose, that would gain */
	/* CPU time in all: of the calls; what they would lose and gain of it */
	double spent_ns, all_lost_ns, all_gained_ns;
};

struct offload_view {
	const char *file;
	const struct profile *profile;
	const struct shares *shares; /* of the profile's samples; NULL: none */
	const struct offload_summary *summary;
	const struct offload_verdict *verdicts;
	size_t verdicts_cnt;
	const struct offload_whatif *whatif;
	size_t whatif_cnt;
	unsigned screen;             /* lines that the text should fit in; 0: all of it */
	const struct filter *filter; /* NULL: all calls */
	double all_calls;            /* of all processes, where the summary is of some of them; 0: it has all */
	const struct trust *trust;   /* NULL: not judged */
};

/* Share of that CPU time spent inside an item's calls; NaN: unknown. */
struct offload_share {
	double value, low, high;
	bool sampled; /* read off the timer's samples of the same recording, else off the calls that were timed */
};
struct offload_share offload_cpu(const struct offload_view *v, const struct offload_item *it);
double offload_bandwidth(const struct offload_item *it); /* bytes per ns; NaN */
/* "main (prog)" of a site's caller; NULL: unknown. */
const struct profile_function *offload_caller(const struct offload_view *v, const struct offload_site *site);
double offload_site_scale(const struct offload_item *it); /* a site's calls counted to all; NaN: unknown */
const char *offload_variant_str(uint32_t variant);        /* NULL: not told */
const char *offload_design(const struct offload_item *it);

/* What of the calls passes the filter. */
struct filtered offload_filtered(const struct offload_view *v);
void offload_text(const struct offload_view *v, const struct text_style *style, struct buf *out);
void offload_json(const struct offload_view *v, struct buf *out);
extern const char offload_schema[];

#endif
