// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the command, parses its options, runs it, and makes a full disk on stdout an error. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/kept.h"
#include "symbol/confine.h"
#include "util/rights.h"

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

/* Options may stand before the command, which becomes the first word. What follows an option may be its value: only a
 * command's name is taken for one. */
static void command_first(int argc, char **argv)
{
	for (int i = 2; argv[1][0] == '-' && i < argc && strcmp(argv[i], "--"); i++) {
		char *name = argv[i];

		if (!cli_find(name))
			continue;
		memmove(argv + 2, argv + 1, (size_t)(i - 1) * sizeof(*argv));
		argv[1] = name;
	}
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
	command_first(argc, argv);
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
