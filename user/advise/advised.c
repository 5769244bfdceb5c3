// SPDX-License-Identifier: GPL-2.0-or-later
#include "advise/advised.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "model/catalogue_files.h"
#include "offload/calib.h"

/* Devices measured here are those of the profile's machine. */
static bool is_here(const struct gathered *g)
{
	struct utsname u;

	return g->input.machine && !uname(&u) && !strcmp(u.nodename, g->input.machine);
}

static int begin_advised(struct advised_profile *a, const char *catalogue, struct err *e)
{
	*a = (struct advised_profile){ 0 };
	return catalogue ? catalogue_read(&a->catalogue, catalogue, e) : catalogue_all(&a->catalogue, NULL, e);
}

int advised_flow(struct advised_profile *a, const char *path, const struct advised_opts *o, struct err *e)
{
	int r = begin_advised(a, o->catalogue, e);

	return r ? r : gather_flow(&a->g, path, o->filter, e);
}

int advised_make(struct advised_profile *a, const char *path, const struct advised_opts *o, struct err *e)
{
	char *host = NULL;
	int r = begin_advised(a, o->catalogue, e);

	r = r ? r : gather(&a->g, path, o->filter, e);
	if (!r && is_here(&a->g))
		host = calib_machine();
	if (!r) {
		advise_least(&a->g.input, &a->catalogue);
		r = candidates_find(&a->g.input, o->set, o->sets, &a->candidates, e);
	}
	r = r ? r : advise_judge(&a->candidates, &a->catalogue, host, &a->advice, e);
	free(host);
	return r;
}

void advised_release(struct advised_profile *a)
{
	advice_release(&a->advice);
	candidates_release(&a->candidates);
	catalogue_release(&a->catalogue);
	gathered_release(&a->g);
}
