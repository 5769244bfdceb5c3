/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether this build has what a row of user/record/features.h stands for. Included by the commands that list features.
 */
#ifndef ACCPERF_CLI_BUILT_H
#define ACCPERF_CLI_BUILT_H

#include <string.h>

#include "command/command.h"
#include "html/bundle.h"
#include "record/features.h"

static inline bool feature_built(const struct feature *f)
{
	if (!strcmp(f->name, "html") && !html_bundled())
		return false;
	return !f->command || cli_find(f->command);
}

#endif
