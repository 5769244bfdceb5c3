/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kill -9 loses is what waits for the recorder, and on a machine that is short of CPU time the recorder waits for
 * a CPU longer than it works. So where it was late, it asks for CPUs before others do, until it was in time for a
 * minute; and at its beginning, when nobody knows. It takes no more time so, only sooner. Who may not ask, waits as
 * before.
 * Included by the recorder and tests.
 */
#ifndef ACCPERF_RECORD_ON_TIME_H
#define ACCPERF_RECORD_ON_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct on_time {
	uint64_t until; /* when it stops asking */
	int usual;      /* nice value to go back to */
	bool asks, may_not;
};

/* At the beginning, and where what was written had waited for so long. */
void on_time_waited(struct on_time *o, uint64_t now, uint64_t waited_ns);
void on_time_begin(struct on_time *o, uint64_t now);

#endif
