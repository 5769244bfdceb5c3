/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which watch windows began late: the access that chose the address was over, the thread elsewhere, and the first
 * hits are those of the next time it comes by. What such a window sees first is how a phase begins, which may be
 * rare (a buffer is set up once and flushed often), and long phases are met no more often than short ones. Told by
 * the first hit, which comes as soon as reads follow each other where a window begins in time. Included by user/flow
 * only.
 */
#ifndef ACCPERF_FLOW_WINDOW_DELAY_H
#define ACCPERF_FLOW_WINDOW_DELAY_H

#include "flow/input.h"

#define LATE_WORTH 0.1 /* of a window's evidence on the function that chose its address */

/* By window, to be freed; NULL without memory. */
bool *window_delay_apply(const struct flow_input *in);

/* A window opens a while after the access that chose it. If this memory is written as often then as it was while
 * the window was open: the probability that nobody did before it opened. */
double window_delay_undisturbed(const struct flow_input *in, const struct in_window *w);
/* Who is the first that it sees write; FLOW_NONE: nobody. */
uint32_t window_delay_writer(const struct flow_input *in, const struct in_window *w);

#endif
