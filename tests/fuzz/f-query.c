// SPDX-License-Identifier: GPL-2.0-or-later
/* What a client of the daemon asks: a path and its arguments, as libmicrohttpd hands them on. A question that is taken
 * has times in order, and no word of it that is longer than a service's name. The first byte also draws names of
 * stored profiles from the rest, whose beginning is asked for. */
#include <stdlib.h>
#include <string.h>

#include "daemon/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1764133200000000000ll
#define DAY 86400000000000ll

static void ask(enum query_kind kind, const struct query_arg *args, size_t count)
{
	struct query q;

	if (query_read(kind, args, count, NOW, &q))
		return;
	if (strlen(q.service) > QUERY_NAME || q.of.from >= q.of.to || q.of.to - q.of.from > 31 * DAY)
		abort();
	if (kind == QUERY_DIFF && q.base.from >= q.base.to)
		abort();
	if (!query_type(q.kind))
		abort();
}

/* data: lines; of each what stands before "=" is the key. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct query_profile profiles[QUERY_ARGS];
	struct query_arg args[QUERY_ARGS];
	char *text = malloc(size + 1), *rest = text, *line;
	enum query_kind kind = QUERY_FLOW;
	size_t n = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	line = strsep(&rest, "\n");
	if (!query_is(line, &kind))
		kind = (enum query_kind)(size % QUERIES);
	while (n < QUERY_ARGS && (line = strsep(&rest, "\n"))) {
		char *value = strchr(line, '=');

		if (value)
			*value++ = 0;
		args[n] = (struct query_arg){ line, value };
		profiles[n] = (struct query_profile){ .name = value ? value : line, .end = NOW };
		n++;
	}
	ask(kind, args, n);
	for (size_t i = 0; i < n; i++)
		query_began(profiles, n, i, DAY);
	free(text);
	return 0;
}
