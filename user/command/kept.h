/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command; one that has FRESH_OPT in its options, and reads profiles only, keeps what it printed or wrote
 * (util/answers.h) and prints that again when asked the same of unchanged files by the same program, for a
 * terminal of the same width. To let a command do so: FRESH_OPT in its options and `bool fresh` in their struct.
 * Its output must depend on nothing but options, its -i and operands, and files opened by util/openfile.h.
 * Included by main.c and the commands of user/cli (html and top).
 */
#ifndef ACCPERF_COMMAND_KEPT_H
#define ACCPERF_COMMAND_KEPT_H

#include "command/command.h"

#define KEPT_OPTION "fresh"
#define FRESH_OPT(struct_name, field)                                                                                  \
	{                                                                                                              \
		OPT_BOOL, 0, KEPT_OPTION, offsetof(struct_name, field),                                                \
			.help = "work it out anew; what was told before is kept ($XDG_CACHE_HOME/accperf/answers)"     \
	}

/* Parses what follows the command's name, and runs it: its status. */
int cli_run(const struct cli_command *cmd, int argc, char **argv);

#endif
