// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/suggest.h"

extern const struct cli_command *const __start_cli_table[];
extern const struct cli_command *const __stop_cli_table[];

static int by_order(const void *a, const void *b)
{
	const struct cli_command *x = *(const struct cli_command *const *)a;
	const struct cli_command *y = *(const struct cli_command *const *)b;

	return x->order != y->order ? (x->order > y->order) - (x->order < y->order) : strcmp(x->name, y->name);
}

const struct cli_command *const *cli_commands(void)
{
	static const struct cli_command *sorted[64];
	size_t n = (size_t)(__stop_cli_table - __start_cli_table);

	if (!sorted[0]) {
		if (n >= sizeof(sorted) / sizeof(sorted[0]))
			abort();
		memcpy(sorted, __start_cli_table, n * sizeof(sorted[0]));
		qsort(sorted, n, sizeof(sorted[0]), by_order);
	}
	return sorted;
}

const struct cli_command *cli_find(const char *name)
{
	for (const struct cli_command *const *c = cli_commands(); *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

const char *cli_meant(const char *name, char *out, size_t size)
{
	struct suggestion s = { 0 };

	for (const struct cli_command *const *c = cli_commands(); *c; c++)
		suggest(&s, name, strlen(name), (*c)->name);
	*out = 0;
	if (s.name)
		snprintf(out, size, "did you mean `accperf %s`? ", s.name);
	return out;
}

const char *cli_meant_verb(const char *typed, const char *verbs, char *out, size_t size)
{
	struct suggestion s = { 0 };
	char word[32];
	int n;

	*out = 0;
	for (const char *at = verbs; sscanf(at, "%31s%n", word, &n) == 1; at += n) {
		struct suggestion before = s;

		suggest(&s, typed, strlen(typed), word);
		if (s.name && (!before.name || s.distance < before.distance))
			snprintf(out, size, "; did you mean '%s'?", word);
	}
	return out;
}

int cli_fail(const struct err *e, int status)
{
	log_error("%s", e->text);
	return status;
}

void cli_usage(FILE *out)
{
	fprintf(out, "usage: accperf COMMAND [options]\n\n");
	for (const struct cli_command *const *c = cli_commands(); *c; c++)
		fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
	fprintf(out, "\n`accperf COMMAND --help` explains one; start with: accperf doctor\n");
}
