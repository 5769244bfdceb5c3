// SPDX-License-Identifier: GPL-2.0-or-later
/* Ends in the way its argument names, after fill() has written 400 bytes that sum() reads. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;
static int cells[100];

static __attribute__((noinline)) void fill(void)
{
	for (int i = 0; i < 100; i++)
		cells[i] = i;
}

static __attribute__((noinline)) int sum(void)
{
	int t = 0;

	for (int i = 0; i < 100; i++)
		t += cells[i];
	return t;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	fill();
	sink = sum();
	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "ud2"))
		__asm__ volatile("ud2");
	if (!strcmp(how, "avx512"))
		__asm__ volatile("vpaddd %%zmm0, %%zmm1, %%zmm2" ::: "memory");
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "exec"))
		execl("/bin/echo", "echo", "hello", (char *)NULL);
	if (!strcmp(how, "exit7"))
		_exit(7);
	if (!strcmp(how, "spin")) {
		puts("spinning");
		fflush(stdout);
		for (;;)
			sink += sum();
	}
	if (!strcmp(how, "fork")) {
		int status;

		if (!fork()) {
			fill();
			_exit(3);
		}
		wait(&status);
		return WEXITSTATUS(status);
	}
	if (!strcmp(how, "closeall")) {
		for (int i = 3; i < 1024; i++)
			close(i);
		return sum() == 4950 ? 0 : 1;
	}
	if (!strcmp(how, "oom")) {
		/* the program has its memory before the limit is set: what runs out is the engine's */
		size_t bytes = 256 << 20, pages = 0;
		char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		FILE *f = fopen("/proc/self/statm", "r");
		struct rlimit r;

		if (p == MAP_FAILED || !f || fscanf(f, "%zu", &pages) != 1)
			return 5;
		r.rlim_cur = r.rlim_max = pages * 4096 + (100 << 20);
		setrlimit(RLIMIT_AS, &r);
		for (size_t i = 0; i < bytes; i += 1 << 20)
			memset(p + i, 1, 1 << 20);
		return 5;
	}
	return 0;
}
