/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of system calls by number. Included by symbol, flow, advise and tests:NAME)`. The table is checked in, not
 * taken from the build host, because profiles travel. New numbers: append to syscall_names in syscalls.c; from 424 on
 * all architectures share them.
 */
#ifndef ACCPERF_PROC_SYSCALLS_H
#define ACCPERF_PROC_SYSCALLS_H

/* arch as uname -m says it (NULL: this machine's); NULL for numbers it does not know. */
const char *syscall_name(const char *arch, long nr);

#endif
