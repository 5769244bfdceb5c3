/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of system calls as functions, "(kernel:read)", from proc/syscalls.h: new ones are added there.
 * Included by user/flow.
 */
#ifndef ACCPERF_FLOW_SYSNAME_H
#define ACCPERF_FLOW_SYSNAME_H

#include <stddef.h>

/* "(kernel:NAME)", "(kernel:NR)" for a call without a name, "(kernel)" for nr < 0. Returns buf. */
const char *kernel_name(int nr, char *buf, size_t size);

#endif
