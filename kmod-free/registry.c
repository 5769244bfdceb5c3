// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kmod-free/registry.h"

static const struct source_ops *const table[] = {
	&source_pebs,
	&source_ibs,
	&source_spe,
	NULL,
};

const struct source_ops *const *sources_all(void)
{
	return table;
}

const struct source_ops *source_find(const char *name)
{
	for (const struct source_ops *const *s = table; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}

const struct source_ops *source_auto(unsigned gives, struct err *e)
{
	struct err why = { 0 };
	char text[sizeof(why.text)] = "";
	size_t len = 0;

	for (const struct source_ops *const *s = table; *s; s++) {
		if (((*s)->gives & gives) != gives)
			continue;
		if (!(*s)->probe(NULL, 0, &why))
			return *s;
		if (len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s: %.200s", len ? "; " : "",
						(*s)->name, why.text);
	}
	err_set(e, -ENODEV, "%s", len ? text : "no source of this kind is built in");
	return NULL;
}
