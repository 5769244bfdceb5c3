// SPDX-License-Identifier: GPL-2.0-or-later
/* What a hit of a probe on an allocator costs, on a function of our own. */
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "kmod-free/heap_probes.h"
#include "kmod-free/uprobe_self.h"
#include "measure/price_table.h"
#include "util/clock.h"

/* Short rounds of which the quickest counts: it was not interrupted. */
#define ROUNDS 20
#define CALLS 20
#define MOST_NS 100000.0 /* nothing on any machine costs more: it was disturbed all the time */
#define WAIT_US 200      /* between two looks whether the probes are planted; by hand */
#define WAITS 2500       /* half a second */

static double a_probed_call(uint64_t (*fn)(uint64_t))
{
	uint64_t best = UINT64_MAX;

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t began = clock_now(), took;

		for (int i = 0; i < CALLS; i++)
			fn((uint64_t)i);
		took = clock_now() - began;
		best = took < best ? took : best;
	}
	return (double)best / CALLS;
}

void measure_heap(void *heap_probes, double *ns)
{
	const void *entry = self_function(SELF_STEPPED), *left = self_exit(SELF_STEPPED);
	uint64_t (*fn)(uint64_t) = (uint64_t(*)(uint64_t))(uintptr_t)entry;
	struct heap_place at[] = { { entry ? self_offset(entry) : 0, HEAP_COOKIE(HEAP_ALLOC, 1) },
				   { left ? self_offset(left) : 0, 0 } };
	struct heap_probes *h = heap_probes;
	struct heap_turn_counts counts;
	int fd = at[0].offset && at[1].offset ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
	int file = fd >= 0 ? heap_probes_file(h, fd, at, 2) : -1, there = 0;
	double plain;

	ns[0] = NAN;
	if (fd >= 0)
		close(fd);
	if (file < 0)
		return;
	plain = a_probed_call(fn);
	if (!heap_probes_attach(h, getpid(), &file, 1)) {
		for (int i = 0; i < WAITS && !(there = heap_probes_attached(h)); i++)
			usleep(WAIT_US);
		if (there > 0) {
			heap_probes_open(h, UINT32_MAX, UINT64_MAX, 1e12);
			ns[0] = (a_probed_call(fn) - plain) / 2;
			heap_probes_close(h, &counts);
			/* probes that are not hit cost nothing, and tell nothing */
			if (counts.hits < 2 * ROUNDS * CALLS || !(ns[0] > 0) || ns[0] > MOST_NS)
				ns[0] = NAN;
		}
		heap_probes_detach(h);
		heap_probes_wait(h);
	}
	heap_probes_file_end(h, file);
}
