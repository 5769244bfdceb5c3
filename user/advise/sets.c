// SPDX-License-Identifier: GPL-2.0-or-later
#include "advise/sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int advise_sets_parse(const char *const *given, unsigned count, struct advise_sets *out, struct err *e)
{
	*out = (struct advise_sets){ 0 };
	for (unsigned i = 0; i < count && i < ADVISE_SETS; i++) {
		char *text = strdup(given[i]), *list = text ? strchr(text, '=') : NULL, *rest = NULL;
		struct advise_set *s = &out->at[out->count];

		if (!text)
			return err_set(e, -ENOMEM, "out of memory");
		out->text[out->count++] = text;
		if (!list || list == text || !list[1])
			return err_set(e, -EINVAL, "--set wants NAME=FUNCTION,FUNCTION.., not '%s'", given[i]);
		*list++ = 0;
		s->name = text;
		s->function = &out->member[out->members];
		for (char *f = strtok_r(list, ",", &rest); f; f = strtok_r(NULL, ",", &rest)) {
			if (out->members == ADVISE_MEMBERS)
				return err_set(e, -E2BIG, "--set: more than %d functions in all", ADVISE_MEMBERS);
			out->member[out->members++] = f;
			s->functions++;
		}
		if (!s->functions)
			return err_set(e, -EINVAL, "--set %s names no function", s->name);
		for (size_t k = 0; k + 1 < out->count; k++)
			if (!strcmp(out->at[k].name, s->name))
				return err_set(e, -EINVAL, "--set %s is given twice", s->name);
	}
	return 0;
}

void advise_sets_release(struct advise_sets *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->text[i]);
}
