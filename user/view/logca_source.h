/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where logca's parameters and points come from: given, built in, a CSV, a catalogue. Included by
 * user/cli. To add a kind of input: a branch in logca_source_load() that fills struct logca_source.
 */
#ifndef ACCPERF_VIEW_LOGCA_SOURCE_H
#define ACCPERF_VIEW_LOGCA_SOURCE_H

#include "model/catalogue.h"
#include "model/fit.h"
#include "profile/filter.h"
#include "view/logca.h"

struct logca_request {
	const char *params, *device, *file, *name; /* one of the first three */
	const char *host, *accelerated;            /* profile: names of the calls that are the one and the other */
	const char *level;                         /* profile: of compression; NULL: that of most calls */
	const struct filter *filter;               /* profile: only such calls; NULL: all */
	struct fit_opts fit;
};

struct logca_source {
	struct catalogue catalogue;
	struct points pts; /* empty: only parameters are known */
	struct fit fit;
	bool fitted;
	size_t thinned;  /* points left out before the fit */
	char level[300]; /* of a profile: at which level these calls are, and what part of all; "": none is known */
	const char *level_note;
	struct logca_view view;
};

/* Reads and, where there are points, fits. `want_points`: parameters alone will not do. */
int logca_source_load(struct logca_source *s, const struct logca_request *r, bool want_points, struct err *e);
void logca_source_release(struct logca_source *s);
/* The offload calls of a profile as points, at one level; `level`: which, and what part of the calls that is, or "". */
int logca_profile_points(const char *path, const struct logca_request *r, struct points *pts, char level[300],
			 struct err *e);

#endif
