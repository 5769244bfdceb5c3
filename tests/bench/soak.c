// SPDX-License-Identifier: GPL-2.0-or-later
/* What a machine does to a recorder over weeks, in minutes: some processes a second that each live for a few
 * milliseconds; code that is generated, named in a perf map, run and unmapped; programs that are new files in a mount
 * namespace of their own, as containers are.
 * usage: soak SECONDS JIT_MAPPINGS     the whole, in processes it waits for
 *        soak work                     what a container runs */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURNS_A_SECOND 5   /* short-lived processes; every fifth is a container */
#define WORK_TURNS 4000000 /* some 10 ms */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noipa)) static uint64_t short_work(uint64_t x)
{
	for (int i = 0; i < WORK_TURNS; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

/* A loop of its own, somewhere else each time, with a name. */
static void run_generated(FILE *map, unsigned long n)
{
	static const uint8_t code[] = { 0xb9, 0x00, 0x00, 0x02, 0x00, /* mov ecx, 131072 */
					0xff, 0xc9,                   /* dec ecx */
					0x75, 0xfc,                   /* jnz -4 */
					0xc3 };
	uint8_t *at = mmap((void *)(0x100000000000u + n % 4096 * 0x10000), 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void);

	if (at == MAP_FAILED)
		return;
	memcpy(at, code, sizeof(code));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	if (map)
		fprintf(map, "%lx %zx generated_%lu\n", (unsigned long)at, sizeof(code), n), fflush(map);
	memcpy(&run, &at, sizeof(run));
#ifdef __x86_64__
	run();
#endif
	munmap(at, 4096);
}

static FILE *own_map(char *path, size_t size)
{
	snprintf(path, size, "/tmp/perf-%d.map", getpid());
	return fopen(path, "w");
}

/* A child's own few, with a map that goes with it. */
static void short_lived(unsigned long n)
{
	char path[48];
	FILE *map = own_map(path, sizeof(path));

	for (int i = 0; i < 4; i++)
		run_generated(map, n + (unsigned)i);
	short_work(n);
	unlink(path);
	_exit(0);
}

/* As a container's image is: another file, in a mount that nobody else sees. */
static void container(void)
{
	struct stat st;
	int from = open("/proc/self/exe", O_RDONLY), to;
	off_t at = 0;

	if (unshare(CLONE_NEWNS | CLONE_NEWUTS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("soak", "/mnt", "tmpfs", 0, NULL))
		_exit(3);
	to = open("/mnt/work", O_WRONLY | O_CREAT | O_EXCL, 0755);
	if (from < 0 || to < 0 || fstat(from, &st))
		_exit(4);
	while (at < st.st_size && sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0)
		;
	close(to);
	execl("/mnt/work", "work", "work", NULL);
	_exit(5);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10, began = now();
	unsigned long mappings = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000, mapped = 0, turns = 0, failed = 0;
	char path[48];
	FILE *map;

	if (argc > 1 && !strcmp(argv[1], "work"))
		return short_work(1) == 0;
	map = own_map(path, sizeof(path));
	for (double t; (t = now() - began) < seconds;) {
		int status;

		if (turns < t * TURNS_A_SECOND) {
			pid_t pid = fork();

			if (!pid && turns % TURNS_A_SECOND == 0)
				container();
			if (!pid)
				short_lived(turns * 4);
			failed += pid < 0;
			turns++;
		}
		for (; mapped < t / seconds * (double)mappings; mapped++)
			run_generated(map, 1000000 + mapped);
		while (waitpid(-1, &status, WNOHANG) > 0)
			failed += status != 0;
		usleep(10000);
	}
	for (int status; wait(&status) > 0;)
		failed += status != 0;
	unlink(path);
	printf("%lu processes, %lu mappings of generated code, %lu failed\n", turns, mapped + turns * 4, failed);
	return failed > 0;
}
