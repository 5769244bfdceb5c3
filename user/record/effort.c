// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/effort.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* planned: what windows and hits are seen to cost at start is less than they cost in a program, 1.1 to 1.3 times, and
 * at high, where they are most of it, the account falls short by more. */
static const struct effort efforts[] = {
	{ "low", 0.005, 0.88, 199, 0.005, 0.003, 0.015 },
	{ "default", 0.01, 0.88, 499, 0.02, 0.01, 0.03 },
	{ "high", 0.05, 0.75, 2499, 0.06, 0.04, 0.15 },
};

#define READERS 0.25 /* of what bursts and segments take; by hand: a look each second takes a fifth of that or less */

static bool read_along;

const struct effort *effort_named(const char *name)
{
	for (size_t i = 0; i < sizeof(efforts) / sizeof(efforts[0]); i++)
		if (!strcmp(efforts[i].name, name))
			return &efforts[i];
	return NULL;
}

double effort_readers(const char *name)
{
	return READERS * (effort_named(name)->bursts + effort_named(name)->segments);
}

void effort_read_along(void)
{
	read_along = true;
}

bool effort_is_read_along(void)
{
	return read_along;
}

double effort_bursts(const char *name)
{
	return (read_along ? 1 - READERS : 1) * effort_named(name)->bursts;
}

double effort_segments(const char *name)
{
	return (read_along ? 1 - READERS : 1) * effort_named(name)->segments;
}
