// SPDX-License-Identifier: GPL-2.0-or-later
/* Solutions that are kept: the same again without solving, of the very problem alone, and never a damaged one. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/unit.h"
#include "volume/balance_kept.h"

#define NODES 3000
#define EDGES 6000 /* more than what is not worth keeping */

static char cache[] = "/tmp/accperf-u-balance.XXXXXX";
static struct flow_balance_node node[NODES];
static struct flow_balance_edge edge[EDGES];
static struct flow_balance_group group[NODES + 1];
static struct flow_balance s = { node, NODES, edge, EDGES, group, NODES + 1, 1e6 };

static void set_problem(void)
{
	uint32_t x = 1;

	for (uint32_t n = 0; n < NODES; n++) {
		x = x * 1103515245 + 12345;
		node[n] = (struct flow_balance_node){ x >> 16 & 3 ? 0 : (x >> 20 & 31) * 1e6, 6, 0 };
		group[n + 1].from = n;
		edge[2 * n] = (struct flow_balance_edge){ (n + 1) % NODES, n + 1, 0 };
		edge[2 * n + 1] = (struct flow_balance_edge){ (x >> 8) % NODES, n + 1, 0 };
	}
	group[0].from = SMOOTH_NONE;
	edge[EDGES - 1].group = 0;
}

/* The only file of the cache; false: none. */
static bool kept_file(char *path, size_t size)
{
	char dir[200];
	struct dirent *e;
	unsigned found = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/accperf/balances", cache);
	d = opendir(dir);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			snprintf(path, size, "%s/%s", dir, e->d_name);
			found++;
		}
	if (d)
		closedir(d);
	return found == 1;
}

static void solved_now(double *runs)
{
	set_problem();
	assert_int_equal(balance_solve_kept(&s), 0);
	for (uint32_t n = 0; n < NODES; n++)
		runs[n] = node[n].runs;
}

static void write_at(const char *path, long at, double value)
{
	FILE *f = fopen(path, "r+");

	assert_non_null(f);
	fseek(f, at * (long)sizeof(value), SEEK_SET);
	fwrite(&value, sizeof(value), 1, f);
	fclose(f);
}

TEST(the_same_is_found_again)
{
	static double first[NODES], again[NODES];
	char path[600];

	solved_now(first);
	set_problem();
	assert_int_equal(flow_balance_solve(&s), 0);
	for (uint32_t n = 0; n < NODES; n++)
		assert_true(node[n].runs == first[n]);
	assert_true(kept_file(path, sizeof(path)));
	/* what is there is taken: a solution that could not have been computed */
	write_at(path, 7, 12345);
	solved_now(again);
	assert_true(again[7] == 12345 && again[8] == first[8]);
	/* what is damaged is not */
	write_at(path, 7, -1);
	solved_now(again);
	assert_true(again[7] == first[7]);
	assert_true(kept_file(path, sizeof(path)) && !truncate(path, 100));
	solved_now(again);
	assert_memory_equal(first, again, sizeof(first));
	/* another problem is another one */
	set_problem();
	node[3].time += 1;
	assert_int_equal(balance_solve_kept(&s), 0);
	assert_false(kept_file(path, sizeof(path)));
}

int main(void)
{
	char command[300];
	int failed;

	if (!mkdtemp(cache) || setenv("XDG_CACHE_HOME", cache, 1))
		return 1;
	failed = RUN_TESTS(NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", cache);
	return system(command) || failed;
}
