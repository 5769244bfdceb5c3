// SPDX-License-Identifier: GPL-2.0-or-later
/* SIZE short-lived children, one after the other, each working in child_work for some 100 us. */
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

STEP static int child_work(unsigned int seed)
{
	uint64_t x = seed;

	for (int i = 0; i < 50000; i++)
		x = work_mix(x, (uint64_t)i);
	return (int)(x & 63);
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 200);
	uint64_t digest;

	do {
		digest = 0;
		for (unsigned int i = 0; i < w.size; i++) {
			int status;
			pid_t pid = fork();

			if (!pid)
				_exit(child_work(i));
			if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
				work_die(&w, "a child was lost");
			digest = work_mix(digest, (uint64_t)WEXITSTATUS(status));
		}
	} while (work_more(&w, digest));
	return work_done(&w);
}
