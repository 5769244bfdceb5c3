/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading of complete profiles, by children that are this program's reading commands: one at a time, behind all others
 * in priority, with a limit of time and memory; what they took is the service's to pay. Included by user/daemon.
 */
#ifndef ACCPERF_DAEMON_READINGS_H
#define ACCPERF_DAEMON_READINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon;

struct reading_page {
	char service[64];
	char profile[64]; /* that it shows; "": none is there */
	int fd;           /* -1 */
};

struct readings {
	pid_t pid; /* 0: none runs */
	int out;
	bool page;
	uint32_t service;
	char profile[64];
	uint64_t began;
	struct reading_page last[4];
	unsigned next_page;
};

/* Ends a reading, begins one. */
void readings_look(struct daemon *d);
/* The page of its latest complete profile, or of the one before while that is being made: its descriptor, to be
 * duplicated; -1: there is none, ask again. */
int readings_page(struct daemon *d, uint32_t service);
/* Other services: what runs is given up. */
void readings_forget(struct daemon *d);

#endif
