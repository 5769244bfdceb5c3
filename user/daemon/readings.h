/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of complete profiles for /metrics, by children that are `accperf report`, `flow`, `offload` and `advise`: one
 * at a time, behind all others in priority, with a limit of time and memory; what they took is the service's to pay.
 * Included by user/daemon.
 */
#ifndef ACCPERF_DAEMON_READINGS_H
#define ACCPERF_DAEMON_READINGS_H

#include <stdint.h>
#include <sys/types.h>

#include "daemon/figures.h"

struct daemon;

struct readings {
	pid_t pid; /* 0: none runs */
	int out;
	uint32_t service;
	unsigned source; /* who prints what is read now; FIGURES_SOURCES: nothing is read */
	char name[64];   /* of the profile */
	struct figures next;
	uint64_t began;
};

/* Ends a reading, begins one. */
void readings_look(struct daemon *d);
/* Other services: what runs is given up. */
void readings_forget(struct daemon *d);

#endif
