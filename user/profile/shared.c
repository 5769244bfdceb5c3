// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/shared.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile_priv.h"

struct shared {
	char *path;
	struct profile *profile; /* NULL: it was opened here */
	struct shared *next;
};

/* Of this process, since commands are told the name of a file only. */
static struct shared *all;

int profile_share_open(const char *path, struct profile *p, struct err *e)
{
	struct shared *s = calloc(1, sizeof(*s));

	if (s)
		s->path = strdup(path);
	if (!s || !s->path) {
		free(s);
		profile_free(p);
		return err_set(e, -ENOMEM, "out of memory");
	}
	/* ends its thread, too, which no child would have */
	store_rewind(p->priv->reader);
	s->profile = p;
	s->next = all;
	all = s;
	return 0;
}

struct profile *profile_take_shared(const char *path)
{
	struct profile *p = NULL;

	for (struct shared *s = all; s && !p; s = s->next) {
		if (!s->profile || strcmp(s->path, path))
			continue;
		p = s->profile;
		s->profile = NULL;
	}
	return p;
}

void profile_share_end(void)
{
	while (all) {
		struct shared *s = all;

		all = s->next;
		profile_free(s->profile);
		free(s->path);
		free(s);
	}
}
