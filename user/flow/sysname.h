/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the system calls that move data, for "(kernel:read)". Included by user/flow.
 * To add one: a row in sysname.c.
 */
#ifndef ACCPERF_FLOW_SYSNAME_H
#define ACCPERF_FLOW_SYSNAME_H

#include <stddef.h>

/* "(kernel:NAME)", "(kernel:NR)" for a call without a row, "(kernel)" for nr < 0. Returns buf. */
const char *kernel_name(int nr, char *buf, size_t size);

#endif
