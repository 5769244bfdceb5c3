// SPDX-License-Identifier: GPL-2.0-or-later
/* A recorder that is late asks for CPUs before others, and no longer than it has to; who may not ask stays as it is. */

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/on_time.h"
#include "unit/unit.h"

#define MS 1000000ull
#define MINUTE (60000 * MS)

static int nice_now(void)
{
	return getpriority(PRIO_PROCESS, 0);
}

/* In a process of its own: its priority is what is looked at. 0: all was as it should be. */
static int in_child(int (*what)(void))
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(what());
	assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int asks_while_late(void)
{
	struct on_time o = { 0 };
	uint64_t t = 5 * MINUTE;
	int usual;

	if (setpriority(PRIO_PROCESS, 0, 5))
		return 1;
	usual = nice_now();
	on_time_begin(&o, t);
	if (nice_now() >= usual)
		return 2;
	on_time_waited(&o, t + MINUTE / 2, 300 * MS);
	if (nice_now() >= usual)
		return 3;
	on_time_waited(&o, t + MINUTE, 300 * MS);
	if (nice_now() != usual)
		return 4;
	on_time_waited(&o, t + 2 * MINUTE, 700 * MS);
	if (nice_now() >= usual)
		return 5;
	/* late once more: another minute from then */
	on_time_waited(&o, t + 5 * MINUTE / 2, 700 * MS);
	on_time_waited(&o, t + 3 * MINUTE + MS, 300 * MS);
	if (nice_now() >= usual)
		return 6;
	on_time_waited(&o, t + 7 * MINUTE / 2, 300 * MS);
	return nice_now() == usual ? 0 : 7;
}

static int may_not(void)
{
	const struct rlimit none = { 0 };
	struct on_time o = { 0 };
	int usual = nice_now();

	if (setrlimit(RLIMIT_NICE, &none) || (!geteuid() && setuid(65534)))
		return 1;
	on_time_begin(&o, MINUTE);
	on_time_waited(&o, 2 * MINUTE, 900 * MS);
	on_time_waited(&o, 9 * MINUTE, 0);
	return nice_now() == usual ? 0 : 2;
}

TEST(late_ones_ask)
{
	if (geteuid())
		skip();
	assert_int_equal(in_child(asks_while_late), 0);
}

TEST(others_stay)
{
	assert_int_equal(in_child(may_not), 0);
}
