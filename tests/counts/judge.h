/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Link by link: what a recording measured of execution counts beside what is true. For finding out
 * which links an estimate owes its error to. Included by tests only.
 */
#ifndef ACCPERF_TESTS_COUNTS_JUDGE_H
#define ACCPERF_TESTS_COUNTS_JUDGE_H

#include <stdbool.h>

#include "counts/truth.h"

/* Prints a line per function and per link of the profile; all: of links to what never ran, too; windows:
 * those of links to nodes whose name holds this, or NULL. 0 or -errno. */
int judge_links(struct truth *truth, const char *profile, bool all, const char *windows);

#endif
