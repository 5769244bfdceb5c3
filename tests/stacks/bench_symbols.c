// SPDX-License-Identifier: GPL-2.0-or-later
/* For scripts/bench-symbols: names COUNT addresses spread over the code of FILE and says how long
 * that took and how they were named.   bench_symbols FILE COUNT [cache] */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "proc/ehframe.h"
#include "symbol/symbols.h"

static size_t names, frames, with_line;

static void count(void *ctx, size_t i, const struct symbol_frame *chain, unsigned n, enum symbol_origin origin)
{
	names++;
	frames += n;
	with_line += chain[0].line > 0;
}

static double seconds(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	struct module *m = argc > 2 ? module_open_path(argv[1], NULL, 0, &e) : NULL;
	size_t want = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, n = 0;
	uint64_t *addrs = calloc(want + 1, sizeof(*addrs)), seed = 1, start, end;
	const struct ehframe *f = m ? module_ehframe(m) : NULL;
	struct symbols *s = symbols_new(argc > 3, true);
	struct rusage ru;
	double wall, cpu;
	long child_mb;

	if (!f || !ehframe_count(f) || !addrs || !s) {
		fprintf(stderr, "bench_symbols FILE COUNT [cache]: %s\n", e.text);
		return 1;
	}
	while (n < want) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		if (ehframe_function(f, ehframe_start(f, (seed >> 33) % ehframe_count(f)), &start, &end))
			addrs[n++] = start + (seed >> 20) % (end - start);
	}
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (symbols_resolve(s, m, addrs, n, count, NULL))
		return 1;
	wall = seconds(CLOCK_MONOTONIC) - wall;
	getrusage(RUSAGE_CHILDREN, &ru); /* DWARF is read in one */
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu + (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	      (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
	child_mb = ru.ru_maxrss / 1024;
	getrusage(RUSAGE_SELF, &ru);
	printf("%zu addresses: %.2f s, CPU %.2f s, peak memory %ld MB and %ld MB in the child; %llu by DWARF, %llu cached, %.2f frames each, %.1f %% with a line\n",
	       names, wall, cpu, ru.ru_maxrss / 1024, child_mb, (unsigned long long)symbols_counters(s)->dwarf,
	       (unsigned long long)symbols_counters(s)->from_cache, (double)frames / (double)n,
	       100.0 * (double)with_line / (double)n);
	symbols_free(s);
	module_close_path(m);
	free(addrs);
	return names == n ? 0 : 1;
}
