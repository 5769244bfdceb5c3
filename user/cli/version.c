// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cli/cli.h"

static int cmd_version(void *opts, int argc, char **argv)
{
	printf("accperf %s\n", ACCPERF_VERSION);
	return EXIT_DONE;
}

CLI_COMMAND(version) = {
	.name = "version",
	.summary = "the version and what is built in",
	.order = 90,
	.run = cmd_version,
	.usage = "",
};
