// SPDX-License-Identifier: GPL-2.0-or-later
/* What a family of calibrations needs to list its cases and to note what it met. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

#include "offload/calib.h"
#include "util/grow.h"

void calib_note(struct calib_session *s, const char *fmt, ...)
{
	va_list ap;

	if (s->notes == CALIB_NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(s->note[s->notes++], sizeof(s->note[0]), fmt, ap);
	va_end(ap);
}

struct calib_case *calib_add(struct calib_cases *l, const struct calib_family *f, const char *name)
{
	struct calib_case *c;

	if (!GROW_ONE(l->at, l->count))
		return NULL;
	c = &l->at[l->count++];
	*c = (struct calib_case){ .family = f, .runs = 1u << RUN_HOST | 1u << RUN_ACCEL };
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

void *calib_library(const char *const *names, const char *package, char *why, size_t size)
{
	for (size_t i = 0; names[i]; i++) {
		void *lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

		if (lib)
			return lib;
	}
	snprintf(why, size, "%s is not installed (Debian package %s)", names[0], package);
	return NULL;
}
