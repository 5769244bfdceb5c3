/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles of one program into one: time samples, waits, branches, counters and costs are added, flows are estimated
 * file by file and added, since addresses mean nothing across runs. Included by user/cli.
 *
 * To add a section: a row in rows[] of merge.c, whose function moves the ids behind those of the files before.
 */
#ifndef ACCPERF_FLOW_MERGE_H
#define ACCPERF_FLOW_MERGE_H

#include <stdbool.h>

#include "util/err.h"

struct merge_what {
	char *const *paths;
	const double *weights; /* above 0, one a file */
	unsigned count;
	bool force; /* though programs or builds differ */
};

struct merge_result {
	unsigned kinds; /* of flow that every file has */
	bool degraded;  /* a file lacks something; that has been said */
};

int merge_profiles(const struct merge_what *what, const char *output, struct merge_result *res, struct err *e);

#endif
