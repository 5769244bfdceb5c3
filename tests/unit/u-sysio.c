// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls of this very process, with known buffers: range, direction and length of each. */
/*
 * harm: more children than there is room for; a reused pid | 8 children, room for 2; 64 pids | counted as not
 *   observed
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "control.h"

#include "kmod-free/sysio.h"
#include "measure/price_table.h"
#include "unit/unit.h"

struct seen {
	unsigned n;
	struct sample s[256];
};

static int keep(void *ctx, const struct sample *s)
{
	struct seen *k = ctx;

	if (k->n < 256)
		k->s[k->n++] = *s;
	return 0;
}

static unsigned find(const struct seen *k, int nr, const void *addr, uint64_t len, uint32_t dir)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k->n; i++)
		n += k->s[i].syscall == nr && k->s[i].addr == (uint64_t)(uintptr_t)addr && k->s[i].size == len &&
		     (k->s[i].flags & (SF_LOAD | SF_STORE)) == dir && k->s[i].pid == (uint32_t)getpid();
	return n;
}

/* About a tenth arrives, each standing for ten; and after removal nothing. */
static void one_in_ten(struct sysio *s, struct seen *k, int exe)
{
	struct sysio_stats st;
	char b[16];

	k->n = 0;
	sysio_set_every(s, 10);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(pread(exe, b, 16, 0), 16);
	sysio_read(s, keep, k);
	assert_in_range(k->n, 50, 160);
	assert_int_equal(k->s[0].period, 10);
	k->n = 0;
	sysio_set_every(s, 1);
	sysio_remove(s, getpid());
	assert_int_equal(pread(exe, b, 16, 0), 16);
	sysio_read(s, keep, k);
	assert_int_equal(k->n, 0);
	sysio_stats(s, &st);
	assert_int_equal(st.lost, 0);
	assert_true(st.calls > 1000);
}

TEST(every_shape)
{
	static char a[4096], b[4096];
	struct iovec iov[3] = { { a, 100 }, { b, 0 }, { b, 200 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };
	static struct seen k;
	struct err e = { 0 };
	struct sysio_stats st;
	struct sysio *s = sysio_new(NULL, &e);
	uint64_t moved[SYSIO_SUMS], before[SYSIO_SUMS];
	struct stat sb;
	int fd[2], exe, sp[2];
	void *map, *anon;

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	assert_int_equal(sysio_add(s, getpid()), 0);
	assert_true(sysio_sums(s, before));
	assert_int_equal(sysio_start(s, 0, &e), 0);
	exe = open("/proc/self/exe", O_RDONLY);
	assert_int_equal(pipe(fd) | socketpair(AF_UNIX, SOCK_STREAM, 0, sp), 0);
	assert_int_equal(read(exe, a, 1000), 1000);
	assert_int_equal(pread(exe, b, 77, 3), 77);
	assert_int_equal(write(fd[1], a, 50), 50);
	assert_int_equal(read(fd[0], b, 4000), 50); /* shorter than asked */
	assert_int_equal(writev(fd[1], iov, 3), 300);
	assert_int_equal(readv(fd[0], iov, 3), 300);
	assert_int_equal(send(sp[0], a, 60, 0), 60);
	assert_int_equal(recv(sp[1], b, 4096, 0), 60);
	assert_int_equal(sendmsg(sp[0], &msg, 0), 300);
	assert_int_equal(recvmsg(sp[1], &msg, 0), 300);
	assert_int_equal(syscall(SYS_fstat, exe, &sb), 0);
	assert_int_equal(read(-1, a, 10), -1);
	assert_true(sysio_sums(s, moved));
	sysio_stats(s, &st);
	/* what the kernel counts, seen or not; what asking reads and writes is in both */
	assert_in_range(moved[0] - before[0], 1000 + 77 + 50 + 300, 1000 + 77 + 50 + 300 + 4096);
	assert_in_range(moved[1] - before[1], 50 + 300, 50 + 300 + 4096);
	assert_int_equal(st.moved[0], 1000 + 77 + 50 + 300);
	assert_int_equal(st.moved[1], 50 + 300);
	map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, exe, 0);
	anon = mmap(NULL, 12288, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sysio_read(s, keep, &k);
	assert_int_equal(find(&k, SYS_read, a, 1000, SF_STORE), 1);
	assert_int_equal(find(&k, SYS_pread64, b, 77, SF_STORE), 1);
	assert_int_equal(find(&k, SYS_write, a, 50, SF_LOAD), 1);
	assert_int_equal(find(&k, SYS_read, b, 50, SF_STORE), 1);
	assert_int_equal(find(&k, SYS_writev, a, 100, SF_LOAD), 1);
	assert_int_equal(find(&k, SYS_writev, b, 200, SF_LOAD), 1);
	assert_int_equal(find(&k, SYS_readv, a, 100, SF_STORE), 1);
	assert_int_equal(find(&k, SYS_readv, b, 200, SF_STORE), 1);
	assert_int_equal(find(&k, SYS_sendto, a, 60, SF_LOAD), 1);
	assert_int_equal(find(&k, SYS_recvfrom, b, 60, SF_STORE), 1);
	assert_int_equal(find(&k, SYS_sendmsg, b, 200, SF_LOAD), 1);
	assert_int_equal(find(&k, SYS_recvmsg, a, 100, SF_STORE), 1);
	assert_int_equal(find(&k, SYS_fstat, &sb, sizeof(sb), SF_STORE), 1);
	assert_int_equal(find(&k, SYS_mmap, map, 8192, 0), 1);
	assert_int_equal(find(&k, SYS_mmap, anon, 12288, 0), 0);
	for (unsigned i = 0; i < k.n; i++) {
		assert_int_equal(k.s[i].pid, getpid()); /* nobody else's */
		assert_int_equal(k.s[i].period, 1);
		assert_true(k.s[i].ip != 0);
	}

	one_in_ten(s, &k, exe);
	sysio_free(s);
	munmap(map, 8192);
	munmap(anon, 12288);
}

/* A stretch that has cost enough falls silent by itself, and says so. */
TEST(stretches_end)
{
	static struct seen k;
	struct err e = { 0 };
	struct sysio_stats before, st;
	struct sysio_costs costs = { .pass_ns = 100, .take_ns = 1000 };
	struct sysio *s = sysio_new(NULL, &e);
	uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
	struct pollfd pf;
	struct stat sb;

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	pf = (struct pollfd){ .fd = sysio_fd(s), .events = POLLIN };
	sysio_set_costs(s, &costs);
	assert_int_equal(sysio_add(s, getpid()), 0);
	for (int stretch = 0; stretch < 2; stretch++) {
		k.n = 0;
		sysio_stats(s, &before);
		assert_int_equal(sysio_start(s, 50000, &e), 0);
		assert_true(!sysio_over(s));
		/* the limit is for each CPU; 8 are more than we can be moved to meanwhile, or nearly */
		for (int i = 0; i < 8 * 50; i++)
			assert_int_equal(syscall(SYS_fstat, pf.fd, &sb), 0);
		assert_true(sysio_over(s) != 0);
		assert_int_equal(poll(&pf, 1, 10000), 1);
		sysio_read(s, keep, &k);
		sysio_stats(s, &st);
		/* a call is charged what it took, on a slow machine up to eight times its price */
		assert_in_range(st.taken - before.taken, 50000 / (100 + 8 * 1000), 8 * 50 - 1);
		assert_int_equal(k.n, st.taken - before.taken > 256 ? 256 : st.taken - before.taken);
		assert_true(st.passed - before.passed >= 400);
		assert_in_range(st.spent_ns - before.spent_ns, 50000,
				cpus * (50000 + 8100) + 100 * (st.passed - before.passed));
		sysio_pause(s);
		assert_true(sysio_paused(s));
		sysio_stats(s, &before);
		assert_int_equal(syscall(SYS_fstat, pf.fd, &sb), 0);
		sysio_stats(s, &st);
		assert_int_equal(st.passed, before.passed);
	}
	sysio_free(s);
}

/* Whatever the machine is doing: figures that can be worked with, and nothing left in the ring. */
TEST(costs_are_measured)
{
	static struct seen k;
	struct err e = { 0 };
	double ns[3];
	struct sysio *s = sysio_new(NULL, &e);

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	measure_calls(s, ns);
	printf("# a call that passes %.0f ns, one reported %.0f ns, one of others %.0f ns\n", ns[0], ns[1], ns[2]);
	for (unsigned i = 0; i < 3; i++)
		assert_true(isnan(ns[i]) || (ns[i] > 0 && ns[i] <= 20000));
	assert_true(sysio_paused(s));
	sysio_read(s, keep, &k);
	assert_int_equal(k.n, 0);
	sysio_free(s);
}

/* Runs fn in a child; its pid once it has ended. */
static pid_t in_child(void (*fn)(void))
{
	pid_t pid = fork();

	if (!pid) {
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static char mark[64];

static void one_read(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	if (read(fd, mark, sizeof(mark)) != sizeof(mark))
		_exit(1);
}

static void nothing(void)
{
}

static void child_of_child(void)
{
	in_child(one_read);
}

static unsigned reads_of(const struct seen *k, pid_t pid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k->n; i++)
		n += k->s[i].syscall == SYS_read && k->s[i].addr == (uint64_t)(uintptr_t)mark &&
		     k->s[i].pid == (uint32_t)pid;
	return n;
}

static void *read_and_end(void *arg)
{
	one_read();
	return NULL;
}

/* What ended is not forgotten, threads or children; strangers are not counted. */
TEST(what_ended_is_counted)
{
	struct err e = { 0 };
	struct sysio *s = sysio_new(NULL, &e);
	uint64_t before[SYSIO_SUMS], moved[SYSIO_SUMS];
	pthread_t t;

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	in_child(one_read);
	assert_int_equal(sysio_add(s, getpid()), 0);
	assert_int_equal(sysio_follow(s, true, &e), 0);
	assert_true(sysio_sums(s, before));
	assert_int_equal(pthread_create(&t, NULL, read_and_end, NULL) | pthread_join(t, NULL), 0);
	in_child(child_of_child);
	assert_true(sysio_sums(s, moved));
	assert_in_range(moved[0] - before[0], 2 * sizeof(mark), 2 * sizeof(mark) + 4096);
	sysio_free(s);
}

static int64_t clock_of(clockid_t c)
{
	struct timespec t;

	clock_gettime(c, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* On the n-th of these CPUs, from 0; where there are fewer it stays where it is. */
static void stay_on(pid_t tid, const cpu_set_t *of, int n)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, of) && n-- == 0)
			CPU_SET(cpu, &one);
	if (CPU_COUNT(&one))
		sched_setaffinity(tid, sizeof(one), &one);
}

/* Asleep or not: the clock of our CPU's run queue is as of our waking up, or of the last tick. */
static void let_pass(int64_t ns, bool awake)
{
	int64_t until = clock_of(CLOCK_MONOTONIC) + ns;

	if (!awake)
		usleep((useconds_t)(ns / 1000));
	while (clock_of(CLOCK_MONOTONIC) < until)
		;
}

static _Atomic pid_t busy_tid;
static _Atomic bool busy_ends;

static void *be_busy(void *arg)
{
	busy_tid = (pid_t)syscall(SYS_gettid);
	while (!busy_ends)
		;
	return NULL;
}

/* The turn under way is in it, too: the kernel's own sum is as of the last tick, up to 4 ms ago, unless something else
 * runs on that CPU, as we might. A question that was interrupted before the clock was read tells nothing. */
TEST(cpu_time_is_added_up)
{
	struct err e = { 0 };
	struct sysio *s = sysio_new(NULL, &e);
	uint64_t sums[SYSIO_SUMS];
	int64_t began, took, more;
	unsigned right = 0, asked = 0;
	clockid_t clock;
	pthread_t busy;
	cpu_set_t all;

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	sysio_threads(s);
	assert_int_equal(pthread_create(&busy, NULL, be_busy, NULL) | pthread_getcpuclockid(busy, &clock), 0);
	while (!busy_tid)
		usleep(1000);
	sched_getaffinity(0, sizeof(all), &all);
	stay_on(0, &all, 0);
	stay_on(busy_tid, &all, 1);
	setpriority(PRIO_PROCESS, (id_t)busy_tid, -20); /* however busy the machine is */
	assert_int_equal(sysio_add(s, busy_tid), 0);
	for (int i = 0; i < 100; i++) {
		let_pass(3000000 + 17000 * i, i % 2);
		began = clock_of(CLOCK_MONOTONIC);
		assert_true(sysio_sums(s, sums));
		more = clock_of(clock) - (int64_t)sums[SUM_RAN];
		took = clock_of(CLOCK_MONOTONIC) - began;
		asked += took < 500000;
		right += took < 500000 && more > -200000 && more < took + 200000;
	}
	busy_ends = true;
	pthread_join(busy, NULL);
	sched_setaffinity(0, sizeof(all), &all);
	printf("# %u of %u questions are right\n", right, asked);
	assert_true(asked < 30 || 10 * right > 8 * asked);
	sysio_free(s);
}

/* Children are watched from their first call on, and no longer than they live: their numbers are free again. */
TEST(children_come_and_go)
{
	static struct seen k;
	struct err e = { 0 };
	struct sysio_stats st;
	struct sysio *s = sysio_new(&(struct sysio_opts){ .most = 2 }, &e);
	uint64_t before;
	pid_t last;

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	assert_int_equal(sysio_add(s, getpid()), 0);
	assert_int_equal(sysio_follow(s, true, &e), 0);
	assert_int_equal(sysio_start(s, 0, &e), 0);
	for (int i = 0; i < 8; i++) {
		unsigned seen = 0, missed = 0;

		/* the kernel takes away what has ended in a moment of its own; who finds no room, which is said, makes
		 * some for the next */
		for (; !seen && missed < 50; missed += !seen) {
			k.n = 0;
			sysio_stats(s, &st);
			before = st.not_observed;
			last = in_child(one_read);
			sysio_read(s, keep, &k);
			sysio_stats(s, &st);
			seen = reads_of(&k, last);
			assert_int_equal(seen + (unsigned)(st.not_observed - before), 1);
			usleep(seen ? 0 : 20000);
		}
		assert_int_equal(seen, 1);
	}
	/* no room for a third; nor for the second, until the one before has been taken away */
	for (int i = 0; i < 50; i++) {
		sysio_stats(s, &st);
		before = st.not_observed;
		in_child(child_of_child);
		sysio_read(s, keep, &k);
		sysio_stats(s, &st);
		if (st.not_observed == before + 1)
			break;
		assert_int_equal(st.not_observed, before + 2);
		usleep(20000);
	}
	assert_int_equal(st.not_observed, before + 1);
	sysio_free(s);
}

/* As if the kernel had not freed what ended, or had not got the lock of the set: who is refused a place makes room. */
TEST(room_is_made)
{
	static struct seen k;
	uint32_t self = (uint32_t)getpid(), first = 1, ended = (uint32_t)in_child(nothing), other = (uint32_t)getppid();
	uint64_t began = 6, now = FOLLOW_NOW, gone = FOLLOW_GONE, found;
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(self), sizeof(began), 4, NULL);
	struct err e = { 0 };
	struct sysio *s = sysio_new(&(struct sysio_opts){ .targets_fd = fd }, &e);
	pid_t child;

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	assert_int_equal(sysio_follow(s, true, &e), 0);
	assert_int_equal(sysio_start(s, 0, &e), 0);
	bpf_map_update_elem(fd, &self, &gone, BPF_ANY);
	one_read();
	sysio_read(s, keep, &k);
	assert_int_equal(reads_of(&k, getpid()), 0);

	bpf_map_update_elem(fd, &self, &now, BPF_ANY);
	bpf_map_update_elem(fd, &first, &now, BPF_ANY);
	bpf_map_update_elem(fd, &ended, &began, BPF_ANY);
	assert_int_equal(bpf_map_update_elem(fd, &other, &gone, BPF_ANY), 0);
	child = in_child(one_read);
	sysio_read(s, keep, &k);
	assert_int_equal(reads_of(&k, child), 0);
	assert_true(bpf_map_lookup_elem(fd, &ended, &found) && bpf_map_lookup_elem(fd, &other, &found));
	assert_int_equal(bpf_map_lookup_elem(fd, &self, &found) | bpf_map_lookup_elem(fd, &first, &found), 0);
	child = in_child(one_read);
	sysio_read(s, keep, &k);
	assert_int_equal(reads_of(&k, child), 1);
	sysio_free(s);
	close(fd);
}

/* Where children are not asked for, they are strangers, and so is whoever gets the number of one that has ended. */
TEST(strangers)
{
	static struct seen k;
	struct err e = { 0 };
	struct sysio *s = sysio_new(NULL, &e);
	pid_t pid;

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	assert_int_equal(sysio_follow(s, true, &e), 0);
	assert_int_equal(sysio_start(s, 0, &e), 0);
	/* as if the next process's number had been that of a target whose end is still on its way */
	pid = in_child(one_read);
	for (int i = 1; i <= 64; i++)
		sysio_add(s, pid + i);
	pid = in_child(one_read);
	sysio_read(s, keep, &k);
	assert_int_equal(reads_of(&k, pid), 0);
	sysio_free(s);
}

static void *read_too(void *arg)
{
	one_read();
	return NULL;
}

/* Of single threads the others of the process are strangers. */
TEST(one_thread)
{
	static struct seen k;
	struct err e = { 0 };
	struct sysio *s = sysio_new(NULL, &e);
	pthread_t t;

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	sysio_threads(s);
	assert_int_equal(sysio_add(s, (pid_t)syscall(SYS_gettid)), 0);
	assert_int_equal(sysio_follow(s, true, &e), 0);
	assert_int_equal(sysio_start(s, 0, &e), 0);
	assert_int_equal(pthread_create(&t, NULL, read_too, NULL) | pthread_join(t, NULL), 0);
	sysio_read(s, keep, &k);
	assert_int_equal(reads_of(&k, getpid()), 0);
	one_read();
	sysio_read(s, keep, &k);
	assert_int_equal(reads_of(&k, getpid()), 1);
	sysio_free(s);
}
