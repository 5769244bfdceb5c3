// SPDX-License-Identifier: GPL-2.0-or-later
/* What observing system calls costs, measured on calls of our own. */
#include <math.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmod-free/sysio.h"
#include "measure/price_table.h"
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

static double more(double with, double without)
{
	return with > without && with - without < MOST_NS ? with - without : NAN;
}

void measure_calls(void *sysio, double *ns)
{
	struct sysio *s = sysio;
	int fd = sysio_fd(s);
	double plain = one_call(-1), plain_stat = one_call(fd);

	ns[0] = ns[1] = ns[2] = NAN;
	if (sysio_start(s, 0, NULL))
		return;
	ns[2] = more(one_call(-1), plain);
	if (!sysio_add(s, getpid())) {
		ns[0] = more(one_call(-1), plain);
		ns[1] = more(one_call(fd), plain_stat);
		sysio_remove(s, getpid());
	}
	sysio_pause(s);
	sysio_read(s, drop, NULL);
}
