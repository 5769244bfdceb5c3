// SPDX-License-Identifier: GPL-2.0-or-later
/* What observing system calls costs, measured on calls of our own. */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure/cost.h"
#include "kmod-free/sysio.h"
#include "util/clock.h"

/* Short rounds of which the quickest counts: it was not interrupted. */
#define ROUNDS 40
#define CALLS 25
#define MOST_NS 20000.0 /* nothing on any machine costs more: it was disturbed all the time */

static int drop(void *ctx, const struct sample *s)
{
	return 0;
}

static double one_call(int fd)
{
	uint64_t best = UINT64_MAX;

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t began = clock_now(), took;

		for (int i = 0; i < CALLS; i++) {
			struct stat st;

			if (fd >= 0)
				syscall(SYS_fstat, fd, &st); /* is reported */
			else
				syscall(SYS_getppid); /* goes by */
		}
		took = clock_now() - began;
		best = took < best ? took : best;
	}
	return (double)best / CALLS;
}

static void take(double *to, double with, double without)
{
	if (with > without && with - without < MOST_NS)
		*to = with - without;
}

void sysio_measure(struct sysio *s, struct sysio_costs *c)
{
	int fd = sysio_fd(s);
	double plain = one_call(-1), plain_stat = one_call(fd);

	if (sysio_start(s, 0, NULL))
		return;
	take(&c->other_ns, one_call(-1), plain);
	if (!sysio_add(s, getpid())) {
		take(&c->pass_ns, one_call(-1), plain);
		take(&c->take_ns, one_call(fd), plain_stat);
		sysio_remove(s, getpid());
	}
	sysio_pause(s);
	sysio_read(s, drop, NULL);
	if (c->take_ns < c->pass_ns)
		c->take_ns = c->pass_ns;
}
