// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

const char *const filter_names[FILTER_KINDS] = { "pid", "comm", "dso", "symbol" };

/* Length of the first name of a list. */
static size_t name_length(const char *s, bool blanks_end)
{
	const char *open = "(<[{", *close = ")>]}";
	int depth = 0;
	size_t i;

	for (i = 0; s[i]; i++) {
		if (!depth && (s[i] == ',' || (blanks_end && strchr(" \t\n", s[i]))))
			break;
		depth += strchr(open, s[i]) != NULL;
		depth -= depth > 0 && strchr(close, s[i]);
	}
	/* what is never closed, as in operator<, closes nothing: a comma is a comma */
	return depth ? strcspn(s, ",") : i;
}

int filter_add(struct filter *f, enum filter_by by, const char *text)
{
	struct filter_list *l = &f->by[by];
	size_t before = l->count, n;

	for (const char *s = text; *s; s += n + (s[n] != 0)) {
		n = name_length(s, by == FILTER_PID);
		if (!n)
			continue;
		if (by == FILTER_PID && strspn(s, "0123456789") != n)
			return -EINVAL;
		if (!GROW(l->at, l->count, l->cap, 8))
			return -ENOMEM;
		l->at[l->count] = strndup(s, n);
		if (!l->at[l->count++])
			return -ENOMEM;
	}
	return l->count > before ? 0 : -EINVAL;
}

void filter_release(struct filter *f)
{
	for (unsigned k = 0; k < FILTER_KINDS; k++) {
		for (size_t i = 0; i < f->by[k].count; i++)
			free(f->by[k].at[i]);
		free(f->by[k].at);
	}
	*f = (struct filter){ 0 };
}

bool filter_asks_process(const struct filter *f)
{
	return f && (f->by[FILTER_PID].count || f->by[FILTER_COMM].count);
}

bool filter_asks_code(const struct filter *f)
{
	return f && (f->by[FILTER_DSO].count || f->by[FILTER_SYMBOL].count);
}

bool filter_any(const struct filter *f)
{
	return filter_asks_process(f) || filter_asks_code(f);
}

bool filter_matches(const char *pattern, const char *name)
{
	/* brackets of operator[] are no pattern */
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

static bool list_takes(const struct filter_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (filter_matches(l->at[i], name))
			return true;
	return !l->count;
}

bool filter_process(const struct filter *f, uint32_t pid, const char *comm)
{
	char number[16];

	if (!filter_asks_process(f))
		return true;
	snprintf(number, sizeof(number), "%u", pid);
	return list_takes(&f->by[FILTER_PID], number) && list_takes(&f->by[FILTER_COMM], comm ? comm : "");
}

bool filter_code(const struct filter *f, const char *name, const char *object)
{
	return !filter_asks_code(f) ||
	       (list_takes(&f->by[FILTER_SYMBOL], name) && list_takes(&f->by[FILTER_DSO], object));
}
