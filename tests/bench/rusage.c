// SPDX-License-Identifier: GPL-2.0-or-later
/* rusage FILE CMD ARGS: runs CMD, writes "cpu_ns wall_ns maxrss_kb" of it to FILE, exits as it did.
 * The benchmarks put it between a profiler and its target, so that every variant is measured alike. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long ns(struct timeval t)
{
	return t.tv_sec * 1000000000ll + t.tv_usec * 1000ll;
}

int main(int argc, char **argv)
{
	struct timespec a, b;
	struct rusage u;
	int status;
	pid_t pid;
	FILE *f;

	if (argc < 3)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &a);
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &b);
	f = fopen(argv[1], "w");
	if (!f)
		return 1;
	fprintf(f, "%lld %lld %ld\n", ns(u.ru_utime) + ns(u.ru_stime),
		(b.tv_sec - a.tv_sec) * 1000000000ll + b.tv_nsec - a.tv_nsec, u.ru_maxrss);
	fclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
