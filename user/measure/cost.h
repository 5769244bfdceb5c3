/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What we take ourselves. What we take from the target is in price_table.h. Included by record.
 */
#ifndef ACCPERF_MEASURE_COST_H
#define ACCPERF_MEASURE_COST_H

#include <stdint.h>

uint64_t own_cpu_ns(void);   /* all our threads, user and system */
uint64_t own_peak_rss(void); /* bytes */

#endif
