// SPDX-License-Identifier: GPL-2.0-or-later
/* Whoever is killed while uprobes are planted or removed, none stays in the target. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kmod-free/planter.h"
#include "kmod-free/uprobe_self.h"
#include "unit/paused.h"
#include "unit/unit.h"
#include "util/clock.h"

#define PLACES 48            /* of one link */
#define ROUNDS 24            /* with a planting process that was killed: without the planter every third left some */
#define UPROBE_MULTI_TYPE 48 /* BPF_TRACE_UPROBE_MULTI, newer than the headers of Debian 12 */
#define EVENTS 4             /* perf uprobes, each of one place */
#define GONE_NS 20000000000ull

#if defined(__x86_64__)
extern const char planter_sled[];
__attribute__((used, noinline)) static void sled(void)
{
	__asm__ volatile(".globl planter_sled\n.hidden planter_sled\nplanter_sled: .rept 256\nnop\n.endr\n");
}
#endif

static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static void ended(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int prog_new(unsigned attach_type)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = attach_type);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "GPL", nothing, 2, &o);
}

/* Places that are changed in the target. */
static unsigned changed(int mem)
{
	uint8_t code[PLACES];
	unsigned n = 0;

#if defined(__x86_64__)
	assert_int_equal(pread(mem, code, PLACES, (off_t)(uintptr_t)planter_sled), PLACES);
#else
	memset(code, 0x90, PLACES);
#endif
	for (unsigned i = 0; i < PLACES; i++)
		n += code[i] != 0x90;
	return n;
}

static unsigned changed_at_last(int mem)
{
	uint64_t end = clock_now() + GONE_NS;

	while (changed(mem) && clock_now() < end)
		usleep(1000);
	return changed(mem);
}

static struct planter_places places(int prog, int file, pid_t pid, unsigned long *offsets, uint64_t *cookies)
{
#if defined(__x86_64__)
	for (unsigned i = 0; i < PLACES; i++)
		offsets[i] = self_offset(planter_sled) + i;
#endif
	memset(cookies, 0, PLACES * sizeof(*cookies));
	return (struct planter_places){ .prog = prog,
					.file = file,
					.attach_type = UPROBE_MULTI_TYPE,
					.offsets = offsets,
					.cookies = cookies,
					.cnt = PLACES,
					.pid = pid };
}

struct plan {
	unsigned long offsets[PLACES];
	uint64_t cookies[PLACES];
	struct planter_places p;
	pid_t target;
	int mem;
};

static void end(struct plan *t)
{
	ended(t->target);
	close(t->mem);
	close(t->p.prog);
	close(t->p.file);
}

static void begin(struct plan *t, unsigned attach_type)
{
	char path[64];
	int prog = prog_new(attach_type), file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;

	if (prog < 0 || !self_marker())
		skip(); /* no rights, or an architecture of which nothing is planted here */
	t->target = paused_child();
	t->p = places(prog, file, t->target, t->offsets, t->cookies);
	snprintf(path, sizeof(path), "/proc/%d/mem", t->target);
	t->mem = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(t->mem >= 0);
	if (!attach_type)
		return;
	fd = planter_multi(&t->p);
	if (fd < 0) { /* before Linux 6.6 */
		end(t);
		skip();
	}
	planter_close(&fd, 1);
}

TEST(what_is_planted_is_removed)
{
	struct plan t;
	int fd;

	begin(&t, UPROBE_MULTI_TYPE);
	planter_begin();
	fd = planter_multi(&t.p);
	assert_true(fd >= 0);
	assert_int_equal(changed(t.mem), PLACES);
	planter_close(&fd, 1);
	assert_int_equal(changed(t.mem), 0);
	assert_true(planter_cpu_ns() > 0);
	/* what the kernel refuses is said */
	t.p.prog = t.p.file;
	assert_true(planter_multi(&t.p) < 0);
	planter_end();
	t.p.prog = prog_new(UPROBE_MULTI_TYPE);
	/* without a process of its own it works, too */
	fd = planter_multi(&t.p);
	assert_true(fd >= 0);
	planter_close(&fd, 1);
	assert_int_equal(changed(t.mem), 0);
	end(&t);
}

/* Links to all places, or events of some, one after the other. */
static void plant_and_remove(const struct plan *t, unsigned perf_type)
{
	int fds[2 * EVENTS], cnt = 0;

	if (!perf_type)
		fds[cnt++] = planter_multi(&t->p);
	for (unsigned i = 0; perf_type && i < EVENTS; i++, cnt += 2)
		if (planter_perf(&t->p, i, perf_type, fds + cnt))
			_exit(1);
	if (fds[0] < 0)
		_exit(1);
	planter_close(fds, (unsigned)cnt);
}

static unsigned left_by_killed(struct plan *t, unsigned perf_type)
{
	unsigned left = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		if (!pid) {
			planter_begin();
			for (;;)
				plant_and_remove(t, perf_type);
		}
		while (!changed(t->mem))
			assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		/* in the midst of planting, or some time later */
		usleep(i % 2 ? (unsigned)rand() % 20000 : 0);
		ended(pid);
		left += changed_at_last(t->mem) > 0;
	}
	return left;
}

TEST(no_link_stays_of_who_is_killed_at_it)
{
	struct plan t;

	begin(&t, UPROBE_MULTI_TYPE);
	assert_int_equal(left_by_killed(&t, 0), 0);
	end(&t);
}

TEST(no_event_stays_of_who_is_killed_at_it)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	unsigned perf_type = 0;
	struct plan t;

	if (f && fscanf(f, "%u", &perf_type) != 1)
		perf_type = 0;
	if (f)
		fclose(f);
	if (!perf_type)
		skip();
	begin(&t, 0);
	assert_int_equal(left_by_killed(&t, perf_type), 0);
	end(&t);
}
