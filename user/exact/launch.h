/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starting a program under the tool: finding the tool, refusing what it cannot run, answering its
 * questions until the program ends. Included by cli.
 */
#ifndef ACCPERF_EXACT_LAUNCH_H
#define ACCPERF_EXACT_LAUNCH_H

#include <stddef.h>
#include <sys/types.h>

#include "util/err.h"

/* Directory with the tool and what it needs from Valgrind; -ENOENT with what to install. */
int exact_find_tool(char *dir, size_t size, struct err *e);
/* A sentence if this cannot be run under the tool: not there, 32-bit, another machine. */
int exact_check_target(const char *command, char *path, size_t size, struct err *e);
struct exact_launch {
	char *const *tool_args; /* beside what every run has; NULL ends them */
	char *const *argv;
	const int *inherited; /* descriptors that the tool is told of; -1 ends them */
};
/* Runs argv under the tool in dir and waits for its end. *status as from waitpid(). tick() is called about once a
 * second. The tool ends with its caller. */
int exact_run(const char *dir, const struct exact_launch *l, int *status, void (*tick)(void *), void *ctx,
	      struct err *e);

#endif
