// SPDX-License-Identifier: GPL-2.0-or-later
/* Demo: an access source to begin with (include/source.h). It says that it works, and samples nothing. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "source.h"

struct sampling {
	unsigned tasks;
};

static int probe(char *text, size_t size, struct err *e)
{
	if (text)
		snprintf(text, size, "there, and silent");
	return 0;
}

static int open_source(struct sampling **out, const struct source_config *cfg, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static int add_task(struct sampling *s, pid_t tid, struct err *e)
{
	s->tasks++;
	return 0;
}

static int start(struct sampling *s, struct err *e)
{
	return 0;
}

static int fds(const struct sampling *s, int *fds, int max)
{
	return 0;
}

static int read_samples(struct sampling *s, sample_fn fn, void *ctx)
{
	return 0;
}

static int set_rate(struct sampling *s, double factor)
{
	return -EOPNOTSUPP;
}

static void stats(const struct sampling *s, struct source_stats *out)
{
	*out = (struct source_stats){ .per_second = NAN, .counted_loads = ~0ull, .counted_stores = ~0ull };
}

static void close_source(struct sampling *s)
{
	free(s);
}

static const struct source_driver driver = {
	.bias = SOURCE_BY_COUNT,
	.gives = SOURCE_LOADS,
	.probe = probe,
	.open = open_source,
	.add_task = add_task,
	.start = start,
	.fds = fds,
	.read = read_samples,
	.set_rate = set_rate,
	.stats = stats,
	.close = close_source,
};

const struct source source_demo = {
	.name = "demo",
	.summary = "a demonstration of how to add a source",
	.driver = &driver,
};
