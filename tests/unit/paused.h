/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that does nothing, to be looked into and probed, and ends with the test. Included by tests/unit. */
#ifndef ACCPERF_TESTS_PAUSED_H
#define ACCPERF_TESTS_PAUSED_H

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "unit/unit.h"

static inline pid_t paused_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

#endif
