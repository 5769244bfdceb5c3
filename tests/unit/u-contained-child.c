// SPDX-License-Identifier: GPL-2.0-or-later
/* Work in a child: what arrives, what a crash, a loop, greed and nonsense cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/contained_child.h"

enum how { WELL, CRASH, LOOP, FAIL, MANY, DESCRIPTORS };

struct test {
	enum how how;
	unsigned got;
	uint64_t bytes;
	int other_fd, keep_fd;
	bool stop;
};

static int produce(void *ctx, struct contained_out *out)
{
	struct test *t = ctx;
	static uint8_t large[APART_MAX];
	char ok = 1;

	if (t->how == MANY) {
		for (int i = 0; i < 100000; i++)
			contained_put(out, &i, sizeof(i));
		memset(large, 7, sizeof(large));
		contained_put(out, large, sizeof(large));
		return 0;
	}
	if (t->how == DESCRIPTORS)
		ok = fcntl(t->other_fd, F_GETFD) < 0 && fcntl(t->keep_fd, F_GETFD) >= 0;
	if (ok)
		contained_put(out, "one", 3);
	contained_put(out, "two", 3);
	if (t->how == CRASH)
		raise(SIGKILL);
	if (t->how == LOOP)
		for (volatile unsigned long i = 0;; i++)
			;
	return t->how == FAIL;
}

static int consume(void *ctx, const uint8_t *record, size_t size)
{
	struct test *t = ctx;

	if (t->how != MANY)
		assert_memory_equal(record, t->got ? "two" : "one", 3);
	else if (size == 4)
		assert_memory_equal(record, &t->got, 4);
	t->got++;
	t->bytes += size;
	return t->stop ? -ECANCELED : 0;
}

static int run(struct test *t)
{
	struct contained_job job = { produce, consume, t, t->keep_fd, 1, 1ull << 32 };

	return contained_run(&job);
}

static void test_well(void **state)
{
	struct test t = { .how = WELL };

	assert_int_equal(run(&t), 0);
	assert_int_equal(t.got, 2);
}

static void test_many(void **state)
{
	struct test t = { .how = MANY };

	assert_int_equal(run(&t), 0);
	assert_int_equal(t.got, 100001);
	assert_int_equal(t.bytes, 400000 + APART_MAX);
}

static void test_failures(void **state)
{
	struct test crash = { .how = CRASH }, loop = { .how = LOOP }, fail = { .how = FAIL }, stop = { .how = MANY, .stop = true };

	assert_int_equal(run(&crash), -EIO);
	assert_int_equal(run(&loop), -EIO); /* after its second of CPU time */
	assert_int_equal(run(&fail), -EIO);
	assert_int_equal(run(&stop), -ECANCELED);
	assert_int_equal(stop.got, 1);
}

static void test_descriptors(void **state)
{
	struct test t = { .how = DESCRIPTORS, .other_fd = open("/dev/null", O_RDONLY), .keep_fd = open("/dev/null", O_RDONLY) };

	assert_int_equal(run(&t), 0);
	assert_int_equal(t.got, 2);
	close(t.other_fd);
	close(t.keep_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_well),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
