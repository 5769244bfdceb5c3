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

int profile_share(const char *path, struct err *e)
{
	struct shared *s = calloc(1, sizeof(*s));
	int err = 0;

	if (s)
		s->path = strdup(path);
	if (!s || !s->path) {
		free(s);
		return err_set(e, -ENOMEM, "out of memory");
	}
	s->profile = profile_open(path, e);
	if (s->profile)
		err = profile_walk(s->profile, PROFILE_SAMPLES | PROFILE_MISSING | PROFILE_ORDER, NULL, 0, e);
	if (!s->profile || err) {
		if (!e->code)
			err_set(e, err, "%s: %s", path, err == -ENOMEM ? "out of memory" : strerror(-err));
		profile_free(s->profile);
		free(s->path);
		free(s);
		return e->code;
	}
	/* ends its thread, too, which no child would have */
	store_rewind(s->profile->priv->reader);
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
