// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the command, parses its options, runs it, and makes a full disk on stdout an error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/kept.h"
#include "symbol/confine.h"
#include "util/rights.h"
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

/* Output that did not reach the disk is a failure, whatever the command thought. */
static int close_stdout(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (errno == EPIPE)
			return status;
		log_error("writing the output failed: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return status;
}

int cli_run(const struct cli_command *cmd, int argc, char **argv)
{
	void *opts = calloc(1, cmd->opt_size ? cmd->opt_size : 1);
	struct err e = { 0 };
	int rest = 0, status;

	if (!opts) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	if (cmd->defaults)
		memcpy(opts, cmd->defaults, cmd->opt_size);
	if (opts_parse(cmd, opts, argc, argv, &rest, &e))
		status = cli_fail(&e, EXIT_USAGE);
	else
		status = kept_run(cmd, opts, argc, argv, rest);
	free(opts);
	return status;
}

int main(int argc, char **argv)
{
	const struct cli_command *cmd;
	char near[80];

	if (argc < 2) {
		cli_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		cli_usage(stdout);
		return close_stdout(0);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		argv[1] = (char *)"version";
	cmd = cli_find(argv[1]);
	if (!cmd) {
		log_error("there is no command '%s'; %s`accperf --help` lists them", argv[1],
			  cli_meant(argv[1], near, sizeof(near)));
		return EXIT_USAGE;
	}
	if (cmd->records)
		rights_keep_recording();
	else
		rights_drop();
	for (int i = 2; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			opts_help(cmd);
			return close_stdout(0);
		}
	}
	if (cmd->files_only)
		confine_to_files();
	return close_stdout(cli_run(cmd, argc - 2, argv + 2));
}
