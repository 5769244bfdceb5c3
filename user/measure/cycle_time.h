/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a cycle of this machine's processor takes, as it runs while it is busy. Included by record. */
#ifndef ACCPERF_MEASURE_CYCLE_TIME_H
#define ACCPERF_MEASURE_CYCLE_TIME_H

/* ns; NaN: could not be measured. Takes a quarter of a millisecond. */
double cycle_time_ns(void);

#endif
