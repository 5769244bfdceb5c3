/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far processes have come, by what the kernel counts of them anyhow: calls that read or write, bytes that came in
 * over their network, CPU time. Nothing is switched on, so nothing is slowed. Included by foreground and tests.
 */
#ifndef ACCPERF_PROC_PROGRESS_H
#define ACCPERF_PROC_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* Each NaN where it cannot be read of any of the processes. */
struct progress {
	double calls; /* read(), write() and their like, of files, pipes and sockets; not recv() and send() */
	double net;   /* bytes, of the whole network namespace of the first one */
	double cpu_s;
	uint64_t at_ns; /* clock_now() */
};

void progress_read(const int *pids, size_t count, struct progress *out);
/* The sum of a text's lines "NAME: VALUE"; 0 or -ENOENT. */
int progress_io(const char *text, double *calls);
/* Of /proc/PID/net/dev. */
int progress_net(const char *text, double *bytes);

#endif
