// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Replaces its process image by itself, SIZE times, working a little before each: the same pid, new
 * mappings. before_exec works in all images but the last, after_exec in the last. With --seconds and
 * --loop the last image goes on working.
 */
#include <unistd.h>

#include "work.h"

STEP static uint64_t before_exec(uint64_t n)
{
	uint64_t x = n;

	for (int i = 0; i < 2000000; i++)
		x = work_mix(x, (uint64_t)i);
	return x;
}

STEP static uint64_t after_exec(uint64_t n)
{
	uint64_t x = n;

	for (int i = 0; i < 2000000; i++)
		x = work_mix(x, (uint64_t)i + 1);
	return x;
}

int main(int argc, char **argv)
{
	const char *left = getenv("EXECS_LEFT");
	struct work w = work_parse(argc, argv, NULL, 3);
	unsigned long n = left ? strtoul(left, NULL, 10) : w.size;
	uint64_t digest;

	if (n) {
		char text[24], self[4096];
		ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);

		if (before_exec(n) == 1)
			return 1;
		snprintf(text, sizeof(text), "%lu", n - 1);
		setenv("EXECS_LEFT", text, 1);
		/* by its path: the link itself means another file where an emulator runs the program */
		if (size > 0) {
			self[size] = 0;
			execv(self, argv);
		}
		work_die(&w, "execv failed");
	}
	do {
		digest = after_exec(1);
	} while (work_more(&w, digest));
	return work_done(&w);
}
