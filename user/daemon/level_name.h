/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a series of numbers is called that is of one function's calls at one level of compression: the others are series
 * of their own. Included by figures.c and fleet_rows.c.
 */
#ifndef ACCPERF_DAEMON_LEVEL_NAME_H
#define ACCPERF_DAEMON_LEVEL_NAME_H

#include <stdio.h>

#include "util/member.h"

#define LEVEL_NAME 512 /* bytes, as long names of functions are cut everywhere */

/* "deflate, level 6", or the name alone; of a row that has "name" and "level". */
static inline const char *level_name(const json_t *o, char text[LEVEL_NAME])
{
	const json_t *level = json_object_get(o, "level");

	if (json_is_number(level))
		snprintf(text, LEVEL_NAME, "%.480s, level %.0f", member_text(o, "name"), json_number_value(level));
	else
		snprintf(text, LEVEL_NAME, "%.511s", member_text(o, "name"));
	return text;
}

#endif
