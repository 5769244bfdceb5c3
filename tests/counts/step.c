// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/step.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 64
#define WAITS_MS 3000 /* a thread that waits for so long is left alone */

static void nothing(int signal)
{
	(void)signal;
}

int step_start(struct step *s, char **argv)
{
	struct sigaction a = { .sa_handler = nothing }; /* no SA_RESTART: it ends waits */

	*s = (struct step){ .random = 88172645463325252ull };
	sigaction(SIGALRM, &a, NULL);
	s->pid = fork();
	if (!s->pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	return s->pid < 0 ? -1 : 0;
}

bool step_run(struct step *s, unsigned ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000l }, NULL);
	return waitpid(s->pid, NULL, WNOHANG) == 0;
}

static bool at_work(const struct step *s, pid_t tid)
{
	char path[64], line[512], *state;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", s->pid, tid);
	f = fopen(path, "re");
	if (f) {
		n = fread(line, 1, sizeof(line) - 1, f);
		fclose(f);
	}
	line[n] = 0;
	state = strrchr(line, ')');
	return state && state[1] && state[2] == 'R';
}

static pid_t choose(struct step *s)
{
	pid_t found[THREADS];
	struct dirent *d;
	char path[64];
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", s->pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir)) && n < THREADS)
		if (atoi(d->d_name) > 0 && at_work(s, atoi(d->d_name)))
			found[n++] = atoi(d->d_name);
	if (dir)
		closedir(dir);
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return n ? found[(s->random >> 33) % n] : 0;
}

/* again and again, until it is put off */
static void alarm_in(unsigned ms)
{
	struct itimerval v = { .it_interval = { ms / 1000, ms % 1000 * 1000 },
			       .it_value = { ms / 1000, ms % 1000 * 1000 } };

	setitimer(ITIMER_REAL, &v, NULL);
}

/* 1: stopped; 0: gone; -1: time is up. */
static int wait_for(struct step *s, int *status)
{
	pid_t got = waitpid(s->tid, status, __WALL);

	if (got == s->tid && WIFSTOPPED(*status))
		return 1;
	if (got < 0 && errno == EINTR)
		return -1;
	s->tid = 0;
	return 0;
}

static bool interrupt(struct step *s)
{
	int status, got;

	ptrace(PTRACE_INTERRUPT, s->tid, 0, 0);
	do
		got = wait_for(s, &status);
	while (got < 0);
	return got > 0;
}

bool step_stop(struct step *s)
{
	cpu_set_t one;
	int cpu;

	for (int i = 0; i < 200; i++) {
		pid_t tid = choose(s);

		if (!tid || ptrace(PTRACE_SEIZE, tid, 0, 0)) {
			if (!step_run(s, 1))
				return false;
			continue;
		}
		s->tid = tid;
		/* beside each other they would wake each other up each time */
		cpu = sched_getcpu();
		CPU_ZERO(&one);
		CPU_SET((unsigned)cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		sched_setaffinity(tid, sizeof(one), &one);
		if (!interrupt(s))
			continue;
		alarm_in(WAITS_MS);
		return true;
	}
	return false;
}

bool step_regs(struct step *s, struct user_regs_struct *regs)
{
	return s->tid && !ptrace(PTRACE_GETREGS, s->tid, 0, regs);
}

static bool resume(struct step *s, int how, int *status)
{
	int deliver = 0, got;

	for (;;) {
		if (ptrace(how, s->tid, 0, deliver))
			return false;
		got = wait_for(s, status);
		/* the alarm of a stretch may ring within any step */
		if (got < 0 && how == PTRACE_SINGLESTEP)
			got = wait_for(s, status);
		if (got <= 0)
			return false;
		if (WSTOPSIG(*status) == SIGTRAP && !(*status >> 16))
			return true;
		/* a signal of its own is passed on */
		deliver = *status >> 16 ? 0 : WSTOPSIG(*status);
	}
}

bool step_one(struct step *s, struct user_regs_struct *regs)
{
	int status;

	if (s->tid && resume(s, PTRACE_SINGLESTEP, &status))
		return step_regs(s, regs);
	if (s->tid)
		interrupt(s);
	return false;
}

static bool poke(struct step *s, unsigned reg, unsigned long value)
{
	return !ptrace(PTRACE_POKEUSER, s->tid, offsetof(struct user, u_debugreg) + reg * sizeof(long), value);
}

bool step_to(struct step *s, const uint64_t *addr, unsigned addrs, unsigned ms, struct user_regs_struct *regs)
{
	unsigned long enable = 0;
	bool ok = s->tid;
	int status;

	for (unsigned i = 0; ok && i < addrs; i++) {
		ok = poke(s, i, addr[i]);
		enable |= 1ul << (2 * i);
	}
	ok = ok && poke(s, 7, enable);
	alarm_in(ms);
	ok = ok && resume(s, PTRACE_CONT, &status);
	alarm_in(WAITS_MS);
	if (s->tid && !ok)
		interrupt(s);
	return ok && step_regs(s, regs);
}

void step_go(struct step *s)
{
	cpu_set_t all;

	alarm_in(0);
	memset(&all, 0xff, sizeof(all));
	if (s->tid) {
		poke(s, 7, 0);
		sched_setaffinity(s->tid, sizeof(all), &all);
		ptrace(PTRACE_DETACH, s->tid, 0, 0);
	}
	sched_setaffinity(0, sizeof(all), &all);
	s->tid = 0;
}

void step_end(struct step *s)
{
	step_go(s);
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	s->pid = 0;
}

bool step_read(struct step *s, uint64_t addr, void *out, size_t size)
{
	struct iovec here = { out, size }, there = { (void *)(uintptr_t)addr, size };

	return process_vm_readv(s->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}
