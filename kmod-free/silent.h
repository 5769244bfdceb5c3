/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libbpf prints to stderr unless told otherwise; what went wrong is said by struct err here. Included by kmod-free's
 * loaders of BPF programs.
 */
#ifndef ACCPERF_SILENT_H
#define ACCPERF_SILENT_H

#include <bpf/libbpf.h>

static inline int libbpf_silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

#endif
