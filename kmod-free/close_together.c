// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/close_together.h"

#include <pthread.h>
#include <unistd.h>

/* Threads that close links: each close waits for grace periods of the kernel, and those that wait at once share them. A
 * stack counts in a recorder's limit of memory, which eight megabytes each would exceed. */
#define CLOSERS 64
#define CLOSER_STACK (256u << 10) /* bytes: what they need and sanitizers add */

struct closer {
	pthread_t thread;
	const int *fds;
	unsigned cnt, stride, at;
};

static void *closer_run(void *arg)
{
	struct closer *c = arg;

	for (unsigned i = c->at; i < c->cnt; i += c->stride)
		close(c->fds[i]);
	return NULL;
}

/* The first is this thread's own, and so is what no other took. */
void close_together(const int *fds, unsigned cnt)
{
	unsigned stride = cnt < CLOSERS ? cnt : CLOSERS, started = 1;
	struct closer c[CLOSERS];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, CLOSER_STACK);
	for (; started < stride; started++) {
		c[started] = (struct closer){ .fds = fds, .cnt = cnt, .stride = stride, .at = started };
		if (pthread_create(&c[started].thread, &small, closer_run, &c[started]))
			break;
	}
	pthread_attr_destroy(&small);
	for (unsigned i = 0; i < cnt; i++)
		if (!(i % stride) || i % stride >= started)
			close(fds[i]);
	for (unsigned i = 1; i < started && i < stride; i++)
		pthread_join(c[i].thread, NULL);
}
