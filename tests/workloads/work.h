/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all test programs share: arguments, rounds, a deterministic generator and the digest that
 * makes a wrong answer fail. Included by the programs beside it only.
 *
 * Every program is `NAME [MODE] [SIZE] [--rounds N] [--seconds S] [--loop]`: a round is one whole
 * unit of work, all rounds do the same work (steady state), and the digest of each must be the same.
 * SIZE is the program's own unit (see README.md); --loop runs until killed.
 *
 * To add a program: write NAME.c with named steps marked STEP, call work_parse(), do the set-up,
 * then `do { ... } while (work_more(&w, digest));` and return work_done(&w). Add a row to README.md.
 */
#ifndef WORK_H
#define WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A function that must keep its own symbol and call frame: neither inlined nor cloned. */
#define STEP __attribute__((noipa))

struct work {
	const char *name, *mode;
	unsigned long size, rounds, done;
	double seconds;
	bool forever, timed;
	struct timespec began;
	uint64_t digest;
};

static inline _Noreturn void work_die(const struct work *w, const char *what)
{
	fprintf(stderr, "%s: %s\n", w->name, what);
	exit(1);
}

/* modes: "a|b|c", the first is the default; NULL: the program has none. */
static inline struct work work_parse(int argc, char **argv, const char *modes, unsigned long size)
{
	const char *slash = strrchr(argv[0], '/');
	struct work w = { .name = slash ? slash + 1 : argv[0], .size = size, .rounds = 1 };
	static char first[32];

	if (modes) {
		snprintf(first, sizeof(first), "%.*s", (int)strcspn(modes, "|"), modes);
		w.mode = first;
	}
	for (int i = 1; i < argc; i++) {
		char *end = NULL;

		if (!strcmp(argv[i], "--loop")) {
			w.forever = true;
		} else if (!strcmp(argv[i], "--seconds") && i + 1 < argc) {
			w.timed = true;
			w.seconds = strtod(argv[++i], &end);
		} else if (!strcmp(argv[i], "--rounds") && i + 1 < argc) {
			w.rounds = strtoul(argv[++i], &end, 10);
		} else if (argv[i][0] >= '0' && argv[i][0] <= '9') {
			w.size = strtoul(argv[i], &end, 10);
		} else if (modes && argv[i][0] != '-' && strstr(modes, argv[i])) {
			w.mode = argv[i];
		} else {
			fprintf(stderr, "usage: %s %s%s%s[SIZE] [--rounds N] [--seconds S] [--loop]\n", w.name,
				modes ? "[" : "", modes ? modes : "", modes ? "] " : "");
			exit(2);
		}
		if (end && *end) {
			fprintf(stderr, "%s: '%s' is not a number\n", w.name, argv[i]);
			exit(2);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &w.began);
	return w;
}

static inline double work_elapsed(const struct work *w)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - w->began.tv_sec) + (double)(now.tv_nsec - w->began.tv_nsec) * 1e-9;
}

/* After each round: true if another is due. */
static inline bool work_more(struct work *w, uint64_t digest)
{
	if (w->done++ && digest != w->digest)
		work_die(w, "a round gave another result than the round before it");
	w->digest = digest;
	if (w->forever)
		return true;
	return w->timed ? work_elapsed(w) < w->seconds : w->done < w->rounds;
}

/* Kept free of times, so that two runs print the same. */
static inline int work_done(const struct work *w)
{
	printf("%s size=%lu digest=%016llx\n", w->name, w->size, (unsigned long long)w->digest);
	if (w->timed)
		fprintf(stderr, "%s: %lu rounds in %.3f s\n", w->name, w->done, work_elapsed(w));
	return fflush(stdout) ? 1 : 0;
}

/* xorshift64*: seeded by the caller, so the same everywhere. */
static inline uint64_t work_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline uint64_t work_mix(uint64_t digest, uint64_t value)
{
	digest = (digest ^ value) * 0x9e3779b97f4a7c15ull;
	return digest ^ digest >> 29;
}

#endif
