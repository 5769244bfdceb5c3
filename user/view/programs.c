// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/programs.h"

#include <string.h>

static bool is_told(const char *name)
{
	return name && *name;
}

bool programs_differ(const struct programs *p)
{
	return is_told(p->first) && is_told(p->second) && strcmp(p->first, p->second);
}

void programs_text(const struct programs *p, struct buf *out)
{
	if (!programs_differ(p))
		return;
	buf_addstr(out, "Two programs, ");
	text_name(out, p->first, 0, 0);
	buf_addstr(out, " and ");
	text_name(out, p->second, 0, 0);
	buf_addstr(out, ": what differs is that.\n\n");
}

void programs_json(const struct programs *p, struct json *j)
{
	json_arr(j, "programs");
	json_str(j, NULL, is_told(p->first) ? p->first : NULL);
	json_str(j, NULL, is_told(p->second) ? p->second : NULL);
	json_end(j);
	if (is_told(p->first) && is_told(p->second))
		json_bool(j, "same_program", !programs_differ(p));
	else
		json_null(j, "same_program");
}
