// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call shapes that a shadow stack must get right: deep recursion, a tail call from one function into
 * another (a jump, the callee returns to the caller's caller), mutual tail recursion, longjmp over
 * several frames, and a signal handler. SIZE = depth.
 *
 * Planted, 4-byte words, non-stack, per round: write_cells writes SIZE words, tail_head reads each
 * once (SIZE) and jumps to tail_end, which reads each once (SIZE); even_step and odd_step read
 * alternate words (SIZE/2 each); leaf_jump writes one word per jump that main reads (16).
 */
#include <setjmp.h>
#include <signal.h>

#include "work.h"

static uint32_t *cells, jumped;
static volatile sig_atomic_t signals;
static jmp_buf back;

STEP static void write_cells(unsigned long n)
{
	if (!n)
		return;
	write_cells(n - 1);
	cells[n - 1] = (uint32_t)n * 2654435761u;
}

STEP static uint64_t tail_end(unsigned long n, uint64_t sum)
{
	for (unsigned long i = 0; i < n; i++)
		sum = sum * 3 + cells[i];
	return sum;
}

STEP static uint64_t tail_head(unsigned long n, uint64_t sum)
{
	for (unsigned long i = 0; i < n; i++)
		sum += cells[i];
	return tail_end(n, sum);
}

STEP static uint64_t even_step(unsigned long i, unsigned long n, uint64_t sum);

STEP static uint64_t odd_step(unsigned long i, unsigned long n, uint64_t sum)
{
	if (i >= n)
		return sum;
	return even_step(i + 1, n, sum * 5 + cells[i]);
}

STEP static uint64_t even_step(unsigned long i, unsigned long n, uint64_t sum)
{
	if (i >= n)
		return sum;
	return odd_step(i + 1, n, sum * 7 + cells[i]);
}

STEP static void leaf_jump(unsigned int depth)
{
	if (!depth) {
		jumped++;
		longjmp(back, 1);
	}
	leaf_jump(depth - 1);
	jumped = 0; /* never reached; keeps the call from becoming a jump */
}

STEP static void on_signal(int nr)
{
	signals = signals + 1;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 20000);
	uint64_t digest;

	if (w.size < 1 || w.size > 100000)
		work_die(&w, "SIZE must be from 1 to 100000 (the stack's size)");
	cells = malloc(w.size * sizeof(*cells));
	if (!cells || signal(SIGUSR1, on_signal) == SIG_ERR)
		work_die(&w, "set-up failed");
	do {
		write_cells(w.size);
		digest = tail_head(w.size, 1);
		digest = even_step(0, w.size, digest);
		jumped = 0;
		for (volatile int i = 0; i < 16; i++)
			if (!setjmp(back))
				leaf_jump(20);
			else
				digest = work_mix(digest, jumped);
		signals = 0;
		raise(SIGUSR1);
		digest = work_mix(digest, (uint64_t)signals);
	} while (work_more(&w, digest));
	free(cells);
	return work_done(&w);
}
