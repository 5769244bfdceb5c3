/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report's columns beyond time: computation, bytes in and out, operations per byte, the stack's
 * share, alone and with callees. Figures come from a finished struct flow; here they only find their
 * row. Included by cli.
 *
 * To add a column: a value of enum report_column, its row in columns[] of report_flow.c, a case in
 * cell(), and where it is a figure of its own a key in report_flow_json() and in the schema there.
 */
#ifndef ACCPERF_VIEW_REPORT_FLOW_H
#define ACCPERF_VIEW_REPORT_FLOW_H

#include "flow/flow.h"
#include "util/json.h"
#include "view/report.h"

enum report_column {
	RC_SELF,
	RC_INTERVAL,
	RC_INCLUSIVE,
	RC_SAMPLES,
	RC_OBJECT,
	RC_IN,
	RC_OUT,
	RC_IN_ALL,
	RC_OUT_ALL,
	RC_COMPUTE,
	RC_INSTRUCTIONS,
	RC_OPS,
	RC_OPS_ALL,
	RC_STACK,
	RC_CALLS,
	RC_SECONDS,
	RC_CALL_MS,
	RC_CALL_MS_ALL,
	RC_BY,
	RC_WAIT,
	RC_WAIT_INTERVAL,
	RC_READY,
	RC_WAITS,
	RC_COLUMNS,
};
#define REPORT_MAX_COLUMNS 32 /* all of RC_COLUMNS, and some that are named twice */

/* Names with commas between them, or a set: time, flat, flow, callees, all. How many; -EINVAL with *e. */
int report_columns(const char *text, unsigned *out, struct err *e);
/* Whether one of them needs a flow. */
bool report_columns_flow(const unsigned *c, unsigned count);

/* Which of a flow's functions stands in the row of each function of the profile: that of flow_of, FLOW_NONE where
 * several functions of one name share it. NULL when out of memory; to be freed. */
uint32_t *report_flow_match(const struct profile *p, const struct shares *s, uint32_t funcs, const uint32_t *flow_of);

void report_flow_table(const struct report *r, const struct shares *s, const struct text_style *style, struct buf *out);
/* The keys of one function; nulls where f is NULL. */
void report_flow_json(struct json *j, const struct flow *flow, const struct flow_func *f);

#define REPORT_N "{\"type\":[\"integer\",\"null\"],\"minimum\":0}"
#define REPORT_F "{\"type\":[\"number\",\"null\"],\"minimum\":0}"
#define REPORT_FLOW_SCHEMA                                                                                             \
	"\"in\":" REPORT_N ",\"in_low\":" REPORT_N ",\"in_high\":" REPORT_N ",\"out\":" REPORT_N                       \
	",\"out_low\":" REPORT_N ",\"out_high\":" REPORT_N ",\"instructions\":" REPORT_N ",\"compute\":" REPORT_N      \
	",\"compute_low\":" REPORT_N ",\"compute_high\":" REPORT_N ",\"load_bytes\":" REPORT_N                         \
	",\"store_bytes\":" REPORT_N ",\"stack_share\":" REPORT_F ",\"ops_per_byte\":" REPORT_F                        \
	",\"ops_per_byte_low\":" REPORT_F ",\"ops_per_byte_high\":" REPORT_F ",\"calls\":" REPORT_N                    \
	",\"access_samples\":" REPORT_N ",\"inclusive_in\":" REPORT_N ",\"inclusive_in_low\":" REPORT_N                \
	",\"inclusive_in_high\":" REPORT_N ",\"inclusive_out\":" REPORT_N ",\"inclusive_out_low\":" REPORT_N           \
	",\"inclusive_out_high\":" REPORT_N ",\"inclusive_compute\":" REPORT_N ",\"inclusive_ops_per_byte\":" REPORT_F \
	",\"inclusive_samples\":" REPORT_N ",\"bias\":{\"enum\":[\"counts\",\"time\",null]}"

#endif
