// SPDX-License-Identifier: GPL-2.0-or-later
/* What is concluded of hits that sent signals or did not, and that the guard holds back those signals only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kmod-free/stray_trap.h"

static enum stray_verdict of(bool virtual_machine, uint64_t hits, uint64_t signals)
{
	struct stray_known k = { virtual_machine, hits, signals };

	return stray_verdict(&k);
}

static void test_verdicts(void **state)
{
	assert_int_equal(of(false, 0, 0), STRAY_NONE);
	assert_int_equal(of(true, 0, 0), STRAY_UNTRIED);
	assert_int_equal(of(true, STRAY_ENOUGH - 1, 0), STRAY_UNTRIED);
	assert_int_equal(of(true, STRAY_ENOUGH, 0), STRAY_NONE);
	/* one is enough, however many hits sent none, and wherever */
	assert_int_equal(of(true, 100 * (uint64_t)STRAY_ENOUGH, 1), STRAY_SEEN);
	assert_int_equal(of(false, 0, 1), STRAY_SEEN);
}

static void test_words(void **state)
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

static void test_cache(void **state)
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

static void test_guard(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_guard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
