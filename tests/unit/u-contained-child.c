// SPDX-License-Identifier: GPL-2.0-or-later
/* Work in a child: what arrives, what a crash, a loop, greed and nonsense cost. */
/* harm: DWARF that crashes or delays its library | 6 kinds of end | names of that file */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "symbol/confine.h"
#include "symbol/contained_child.h"
#include "unit/unit.h"

enum how { WELL, CRASH, LOOP, FAIL, MANY, DESCRIPTORS, SLEEP, RIGHTS };

/* What is left to the child, as it finds by trying. */
struct rights {
	int opened, socket, killed, code;
};

struct test {
	enum how how;
	unsigned got;
	uint64_t bytes;
	int other_fd, keep_fd;
	bool stop;
	unsigned wall;
	struct rights rights;
};

static void try_all(struct rights *r)
{
	r->opened = open("/dev/null", O_RDONLY) < 0;
	r->socket = socket(AF_UNIX, SOCK_STREAM, 0) < 0;
	r->killed = kill(getppid(), 0) < 0;
	r->code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

/* A line of the only child's status, read while it lives. */
static void child_status(const char *key, char *out, size_t size)
{
	char path[64], line[256];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	out[0] = 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			snprintf(out, size, "%s", line + strlen(key) + 1);
	fclose(f);
}

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
	if (t->how == RIGHTS) {
		try_all((struct rights *)large);
		contained_put(out, large, sizeof(large)); /* larger than the buffer: it leaves at once */
	}
	if (t->how == SLEEP)
		read(t->keep_fd, large, 1); /* a pipe that nobody writes to: no CPU time passes */
	if (t->how == DESCRIPTORS)
		ok = lseek(t->other_fd, 0, SEEK_CUR) < 0 && lseek(t->keep_fd, 0, SEEK_CUR) >= 0;
	if (ok)
		contained_put(out, "one", 3);
	contained_put(out, "two", 3);
	if (t->how == CRASH)
		__builtin_trap();
	if (t->how == LOOP || t->how == RIGHTS)
		for (volatile unsigned long i = 0;; i++)
			;
	return t->how == FAIL;
}

static int look_at_child(struct test *t, const uint8_t *record, size_t size)
{
	struct rights r;
	char text[128];

	memcpy(&r, record, sizeof(r));
#if !defined(CONFINE_SANITIZED)
	assert_true(r.opened && r.socket && r.killed && r.code);
	child_status("Seccomp:", text, sizeof(text));
	assert_int_equal(atoi(text), 2);
#endif
	child_status("CapPrm:", text, sizeof(text));
	assert_int_equal(strtoull(text, NULL, 16), 0);
	child_status("CapEff:", text, sizeof(text));
	assert_int_equal(strtoull(text, NULL, 16), 0);
	child_status("NoNewPrivs:", text, sizeof(text));
	assert_int_equal(atoi(text), 1);
	child_status("Uid:", text, sizeof(text));
	assert_true(strtoul(text, NULL, 10) != 0);
	t->got++;
	return -ECANCELED;
}

static int consume(void *ctx, const uint8_t *record, size_t size)
{
	struct test *t = ctx;

	if (t->how == RIGHTS)
		return look_at_child(t, record, size);
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
	struct contained_job job = { .produce = produce,
				     .consume = consume,
				     .ctx = t,
				     .keep_fd = { t->keep_fd, -1, -1 },
				     .cpu_seconds = 1,
				     .wall_seconds = t->wall ? t->wall : 60,
				     .memory = 1ull << 32 };

	return contained_run(&job);
}

TEST(test_well)
{
	struct test t = { .how = WELL };

	assert_int_equal(run(&t), 0);
	assert_int_equal(t.got, 2);
}

TEST(test_many)
{
	struct test t = { .how = MANY };

	assert_int_equal(run(&t), 0);
	assert_int_equal(t.got, 100001);
	assert_int_equal(t.bytes, 400000 + APART_MAX);
}

TEST(test_failures)
{
	struct test crash = { .how = CRASH }, loop = { .how = LOOP }, fail = { .how = FAIL },
		    stop = { .how = MANY, .stop = true };

	assert_int_equal(run(&crash), -EIO);
	assert_int_equal(run(&loop), -EIO); /* after its second of CPU time */
	assert_int_equal(run(&fail), -EIO);
	assert_int_equal(run(&stop), -ECANCELED);
	assert_int_equal(stop.got, 1);
}

TEST(test_rights)
{
	struct test t = { .how = RIGHTS, .keep_fd = -1 };

	assert_int_equal(run(&t), -ECANCELED);
	assert_int_equal(t.got, 1);
}

static bool asked(int fd)
{
	char c;

	return read(fd, &c, 1) == 1;
}

TEST(test_time)
{
	int quiet[2], stop[2];
	struct test t = { .how = SLEEP, .wall = 1 };

	assert_int_equal(pipe(quiet), 0);
	assert_int_equal(pipe2(stop, O_NONBLOCK), 0);
	t.keep_fd = quiet[0];
	assert_int_equal(run(&t), -ETIMEDOUT);
	/* what only wakes it is no order */
	contained_stop_when(stop[0], asked);
	assert_int_equal(run(&t), -ETIMEDOUT);
	t.wall = 600;
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(run(&t), -ECANCELED);
	assert_true(contained_stopped());
	assert_int_equal(run(&t), -ECANCELED); /* and no other begins */
	contained_stop_when(-1, NULL);
	assert_false(contained_stopped());
}

TEST(test_descriptors)
{
	struct test t = { .how = DESCRIPTORS,
			  .other_fd = open("/dev/null", O_RDONLY),
			  .keep_fd = open("/dev/null", O_RDONLY) };

	assert_int_equal(run(&t), 0);
	assert_int_equal(t.got, 2);
	close(t.other_fd);
	close(t.keep_fd);
}
