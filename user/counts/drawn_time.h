/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many CPUs ran a process's own code while segments were drawn. On a busy machine that is fewer than in the mean:
 * the recorder draws while it has a CPU itself, and what it draws from has one less. Ticks within the pieces of time
 * tell it; they are few, and where they may differ from the whole recording by chance alone, that is better known.
 * Included by counts and tests.
 */
#ifndef ACCPERF_COUNTS_DRAWN_TIME_H
#define ACCPERF_COUNTS_DRAWN_TIME_H

struct counts_record;

struct drawn_running {
	double cpus;  /* NaN: unknown */
	double ticks; /* samples that tell it, if all were alike */
};

struct drawn_running drawn_running(const struct counts_record *r);

#endif
