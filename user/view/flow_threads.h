/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads in `accperf flow --threads`: text, and the keys it adds to the JSON. Included by view/flow_*.c. */
#ifndef ACCPERF_VIEW_FLOW_THREADS_H
#define ACCPERF_VIEW_FLOW_THREADS_H

#include "flow/threads.h"
#include "util/json.h"
#include "view/flow.h"

/* Lines of the cache that threads share. */
void flow_threads_lines(const struct flow_view *v, const struct text_style *s, struct buf *out);
/* threads, thread_edges, shared_lines, lines_truly_shared; nulls where v->threads is NULL. */
void flow_threads_json(const struct flow_view *v, struct json *j);
#define FLOW_THREADS_SCHEMA                                                                                                                          \
	"\"threads\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\",\"required\":[\"pid\",\"tid\",\"in\",\"out\"],"                   \
	"\"properties\":{\"pid\":{\"type\":\"integer\"},\"tid\":{\"type\":\"integer\"},\"comm\":{\"type\":[\"string\",\"null\"]},"                   \
	"\"in\":{\"type\":[\"number\",\"null\"]},\"in_low\":{\"type\":[\"number\",\"null\"]},"                                                       \
	"\"in_high\":{\"type\":[\"number\",\"null\"]},\"out\":{\"type\":[\"number\",\"null\"]},"                                                     \
	"\"out_low\":{\"type\":[\"number\",\"null\"]},\"out_high\":{\"type\":[\"number\",\"null\"]},"                                                \
	"\"in_uma\":{\"type\":[\"number\",\"null\"]},\"loads\":{\"type\":[\"number\",\"null\"]},"                                                    \
	"\"stores\":{\"type\":[\"number\",\"null\"]},\"load_bytes\":{\"type\":[\"number\",\"null\"]},"                                               \
	"\"store_bytes\":{\"type\":[\"number\",\"null\"]}}}},"                                                                                       \
	"\"thread_edges\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\",\"required\":[\"producer\",\"consumer\","                    \
	"\"bytes\",\"low\",\"high\",\"resolved\"],\"texts\":[\"producer\",\"consumer\"],\"flags\":[\"resolved\"],"                                   \
	"\"numbers\":[\"producer_tid\",\"consumer_tid\",\"bytes\",\"unique_bytes\",\"low\",\"high\",\"share\",\"share_low\",\"share_high\"]}},"      \
	"\"shared_lines\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\",\"required\":[\"address\",\"object\",\"threads\"],"          \
	"\"numbers\":[\"address\",\"offset\",\"pairs\"],\"texts\":[\"object\"],\"properties\":{\"threads\":{\"type\":\"array\","                     \
	"\"items\":{\"type\":\"object\",\"texts\":[\"function\",\"bytes\",\"written\"],\"numbers\":[\"pid\",\"tid\",\"accesses\",\"samples\"]}}}}}," \
	"\"lines_truly_shared\":{\"type\":[\"integer\",\"null\"]}"

#endif
