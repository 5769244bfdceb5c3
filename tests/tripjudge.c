// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trip counts by induction registers, activation by activation, against what the processor did: a
 * program runs, one of its threads is single-stepped for a stretch now and then, and of every loop met
 * that the recorder would claim a trip count of, each claim is compared with how often the header ran.
 *
 * 	tripjudge [stretches=8] [steps=100000] [apart=200]
 * 		[start=500] [rounds=4] [each=300] [enough=50] PROGRAM [ARGS...]
 *
 * apart, start: ms between stretches, and before the first. Loops with fewer than `enough` judged activations then
 * are followed by breakpoints alone, each for so many ms in the first round and twice as long in the next. Prints a
 * line for each loop, and wrong claims below it:
 * 	loop OBJECT HEADER IN-FUNCTION register|list entered N claimed N right N exact N odd N
 * 		within N held N header N most N
 * entered: hits of the way in. right, exact: of `claimed`, within one, and the same. odd: pairs of hits that claimed
 * nothing. within: at how many instructions a window could begin and claim something of an activation that had begun
 * before, and at how many of these what it claims is right.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counts/loops.h"
#include "counts/step.h"

#define SEEN 400       /* samples of where the program is */
#define ROUND_MS 30000 /* of all loops together */

struct opts {
	unsigned stretches, steps, apart, start, rounds, each, enough;
};

static bool option(struct opts *o, const char *arg)
{
	static const struct {
		const char *name;
		size_t at;
	} names[] = {
		{ "stretches=", offsetof(struct opts, stretches) }, { "steps=", offsetof(struct opts, steps) },
		{ "apart=", offsetof(struct opts, apart) },         { "start=", offsetof(struct opts, start) },
		{ "rounds=", offsetof(struct opts, rounds) },       { "each=", offsetof(struct opts, each) },
		{ "enough=", offsetof(struct opts, enough) },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(arg, names[i].name, strlen(names[i].name)))
			continue;
		*(unsigned *)((char *)o + names[i].at) = (unsigned)atoi(arg + strlen(names[i].name));
		return true;
	}
	return false;
}

static bool peek(void *ctx, uint64_t addr, uint64_t *value)
{
	return step_read(ctx, addr, value, sizeof(*value));
}

static uint64_t stretch(struct step *s, struct loops *l, unsigned steps)
{
	struct user_regs_struct regs;
	uint64_t n = 0;
	bool there;

	if (!step_stop(s))
		return 0;
	loops_code(l, s->pid);
	loops_begin(l);
	for (there = step_regs(s, &regs); there && n < steps; there = step_one(s, &regs)) {
		loops_at(l, &regs);
		n++;
	}
	step_go(s);
	return n;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void follow(struct step *s, struct loops *l, uint32_t one, unsigned ms)
{
	struct user_regs_struct regs;
	uint64_t addr[4], until;
	unsigned n = loops_watch(l, one, addr);

	if (!n || !step_stop(s))
		return;
	for (until = now_ms() + ms; now_ms() < until && step_to(s, addr, n, ms, &regs);)
		loops_met(l, one, &regs);
	step_go(s);
}

/* Short ones are met in the first rounds, where all have a turn; what is still under way after that has more time. */
static void rounds(struct step *s, struct loops *l, const struct opts *o)
{
	for (unsigned r = 0; r < o->rounds; r++) {
		uint32_t wanted = 0;
		unsigned ms;

		for (uint32_t i = 0; i < l->count; i++)
			wanted += l->one[i].claimed < (r < 2 ? o->enough : 1);
		ms = (o->each << r) < ROUND_MS / (wanted + 1) ? o->each << r : ROUND_MS / (wanted + 1);
		for (uint32_t i = 0; i < l->count; i++)
			if (l->one[i].claimed < (r < 2 ? o->enough : 1))
				follow(s, l, i, ms);
	}
}

static void look_around(struct step *s, struct loops *l)
{
	struct user_regs_struct regs;

	loops_code(l, s->pid);
	loops_begin(l);
	for (int i = 0; i < SEEN && step_run(s, 2) && step_stop(s); i++) {
		if (step_regs(s, &regs))
			loops_see(l, regs.rip);
		step_go(s);
	}
}

int main(int argc, char **argv)
{
	struct opts o = {
		.stretches = 8, .steps = 100000, .apart = 200, .start = 500, .rounds = 4, .each = 300, .enough = 50
	};
	struct loops l = { .peek = peek };
	struct step s;
	uint64_t steps = 0;
	int at = 1;

	while (at < argc && option(&o, argv[at]))
		at++;
	if (at == argc || step_start(&s, argv + at)) {
		fprintf(stderr, "usage: tripjudge [name=value]... PROGRAM [ARGS...]\n");
		return 2;
	}
	l.ctx = &s;
	/* a thread may end, and does where they are many */
	for (uint64_t most = (uint64_t)o.stretches * o.steps, tries = 0; steps < most && tries < 50ull * o.stretches;
	     tries++) {
		if (!step_run(&s, tries ? o.apart : o.start))
			break;
		steps += stretch(&s, &l, o.steps);
	}
	look_around(&s, &l);
	rounds(&s, &l, &o);
	step_end(&s);
	loops_print(&l, stdout);
	printf("steps %lu\n", (unsigned long)steps);
	loops_release(&l);
	if (!steps)
		fprintf(stderr, "no thread of it could be stepped\n");
	return !steps;
}
