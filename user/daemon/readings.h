/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of complete profiles for /metrics, by children that are `accperf report`: one at a time, behind all others
 * in priority, with a limit of time and memory; what they took is the service's to pay. Included by user/daemon.
 */
#ifndef ACCPERF_DAEMON_READINGS_H
#define ACCPERF_DAEMON_READINGS_H

#include <stdint.h>
#include <sys/types.h>

struct daemon;

struct readings {
	pid_t pid; /* 0: none runs */
	int out;
	uint32_t service;
	uint64_t began;
};

/* Ends a reading, begins one. */
void readings_look(struct daemon *d);
/* Other services: what runs is given up. */
void readings_forget(struct daemon *d);

#endif
