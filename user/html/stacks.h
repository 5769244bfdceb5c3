/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a profile as the page draws them, as JSON (accperf.stacks/1): all stacks merged into one tree of
 * functions, which part of it each slice of time has, threads, and what the recording says of itself. Functions are
 * the physical ones, as in `report`: the weight of a function's nodes adds up to its self share there. Columns, not
 * objects, because there are many rows. Nodes below the largest NODES_MOST are one child "(small)" of where they hung.
 * Included by this room alone. To add a column: a json_arr() in stacks.c, its use in page/.
 */
#ifndef ACCPERF_HTML_STACKS_H
#define ACCPERF_HTML_STACKS_H

#include "profile/in_order.h"
#include "util/buf.h"

/* Both bound what the part takes of the page: some hundred kilobytes; by hand. */
#define NODES_MOST 12000
#define CELLS_MOST 40000

int html_stacks(const struct profile *p, const struct in_order *o, struct buf *out, struct err *e);

#endif
