/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two trees of stacks (accperf.stacks/1, stacks.h) laid over each other: for each place in the stacks what share of
 * the samples it has in either profile, and whether the change is more than noise, by the judgement of `accperf diff`
 * (flow/diff.h). Shares are those of a place with all it calls. What one tree has among its "(small)" is unknown there.
 * Pure; owns nothing. Included by user/html and tests.
 */
#ifndef ACCPERF_HTML_STACK_DIFF_H
#define ACCPERF_HTML_STACK_DIFF_H

#include <jansson.h>

#include "util/err.h"

/*
 * {"schema":"accperf.stack-diff/1","base_samples":N,"samples":N,"functions":{"name":[..],"object":[..]},
 *  "nodes":{"parent","function","base","share","self","base_count","count","q","verdict"}}, a list each, parents
 * before their children. NULL: e tells; -EDOM: the two cannot be compared.
 */
json_t *html_stack_diff(const json_t *base, const json_t *other, struct err *e);

#endif
