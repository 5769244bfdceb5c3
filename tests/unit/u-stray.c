// SPDX-License-Identifier: GPL-2.0-or-later
/* What is concluded of hits that sent signals or did not, and that the guard holds back those signals only. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kmod-free/stray_trap.h"
#include "unit/unit.h"
#include "util/clock.h"

static enum stray_verdict of(bool virtual_machine, uint64_t hits, uint64_t signals)
{
	struct stray_known k = { virtual_machine, hits, signals };

	return stray_verdict(&k);
}

TEST(test_verdicts)
{
	assert_int_equal(of(false, 0, 0), STRAY_NONE);
	assert_int_equal(of(true, 0, 0), STRAY_UNTRIED);
	assert_int_equal(of(true, STRAY_ENOUGH - 1, 0), STRAY_UNTRIED);
	assert_int_equal(of(true, STRAY_ENOUGH, 0), STRAY_NONE);
	/* one is enough, however many hits sent none, and wherever */
	assert_int_equal(of(true, 100 * (uint64_t)STRAY_ENOUGH, 1), STRAY_SEEN);
	assert_int_equal(of(false, 0, 1), STRAY_SEEN);
}

TEST(test_words)
{
	struct stray_known k = { true, 1500, 0 };
	char text[200];

	stray_describe(&k, text, sizeof(text));
	assert_non_null(strstr(text, "1500 of 2000000 harmless trial hits"));
	k.signals = 1;
	stray_describe(&k, text, sizeof(text));
	assert_non_null(strstr(text, "1 stray SIGTRAP since"));
	k.signals = 2;
	stray_describe(&k, text, sizeof(text));
	assert_non_null(strstr(text, "2 stray SIGTRAPs since"));
	k = (struct stray_known){ 0 };
	stray_describe(&k, text, sizeof(text));
	assert_non_null(strstr(text, "not a virtual machine"));
	stray_describe(&k, text, 5);
	assert_int_equal(strlen(text), 4);
}

TEST(test_cache)
{
	static const struct {
		const char *text, *boot;
		uint64_t n;
	} cases[] = {
		{ "accperf breakpoints 1 b-1\n42\n", "b-1", 42 },
		{ "accperf breakpoints 1 b-1\n42\n", "b-2", 0 },
		{ "accperf breakpoints 1 b-1\n42\n", "b-", 0 },
		{ "accperf breakpoints 1 b-1\n42\n", "", 0 }, /* no boot can be told from another */
		{ "accperf breakpoints 1 \n42\n", "", 0 },
		{ "accperf breakpoints 2 b-1\n42\n", "b-1", 0 },
		{ "accperf breakpoints 1 b-1\n42", "b-1", 0 },
		{ "accperf breakpoints 1 b-1\n-42\n", "b-1", 0 },
		{ "accperf breakpoints 1 b-1\n 42\n", "b-1", 0 },
		{ "accperf breakpoints 1 b-1\n42x\n", "b-1", 0 },
		{ "accperf breakpoints 1 b-1\n99999999999999999999\n", "b-1", 0 },
		{ "accperf breakpoints 1 b-1\n", "b-1", 0 },
		{ "accperf breakpoints 1 b-1", "b-1", 0 },
		{ "", "b-1", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (stray_parse(cases[i].text, cases[i].boot) != cases[i].n)
			fail_msg("case %zu", i);
}

static void stray(void)
{
	siginfo_t lost = { .si_signo = SIGTRAP, .si_code = TRAP_BRKPT };

	syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGTRAP, &lost);
}

TEST(test_guard)
{
	uint64_t before = stray_own();
	int status;
	pid_t pid;

	stray_guard();
	stray();
	stray();
	assert_int_equal(stray_own(), before + 2);
	pid = fork();
	if (!pid) {
		kill(getpid(), SIGTRAP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
}

#define SPINNERS_EACH 2 /* of a CPU */
#define MOST_SPINNERS 256
#define GATHER_NS 60000000000ull /* until all spin, on a machine that is slow to begin them */
#define SATURATED_US                                                                                                   \
	1500000 /* one that takes what the weight of its session gives it has tens of thousands of hits by then */

/* Each in a session of its own, as services are: then the scheduler weighs sessions, not threads. */
static pid_t spinner(void)
{
	pid_t pid = fork();

	if (!pid) {
		setsid();
		for (;;)
			__asm__ volatile("" ::: "memory");
	}
	return pid;
}

static unsigned runnable(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	unsigned n = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*f %*f %*f %u/", &n), 1);
	fclose(f);
	return n;
}

/* A full server loses nothing to the trial: it does not take a CPU that somebody waits for. */
TEST(test_full_machine)
{
	unsigned n = SPINNERS_EACH * (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t until = clock_now() + GATHER_NS;
	pid_t pids[MOST_SPINNERS];
	struct stray_known known;
	struct stray_trial *t;
	struct err e = { 0 };
	uint64_t before;
	char cache[] = "/tmp/u-stray.XXXXXX", made[64];

	if (n > MOST_SPINNERS)
		n = MOST_SPINNERS;
	assert_non_null(mkdtemp(cache));
	setenv("XDG_CACHE_HOME", cache, 1);
	for (unsigned i = 0; i < n; i++)
		pids[i] = spinner();
	while (runnable() < n && clock_now() < until)
		usleep(1000);
	stray_read(&known);
	before = known.hits;
	t = stray_trial_new(1, true, &e);
	assert_non_null(t);
	usleep(SATURATED_US);
	stray_trial_look(t, &known, &e);
	stray_trial_free(t);
	for (unsigned i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	assert_int_equal(known.hits, before);
	unsetenv("XDG_CACHE_HOME");
	snprintf(made, sizeof(made), "rm -rf '%s'", cache);
	assert_int_equal(system(made), 0);
}
