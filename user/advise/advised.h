/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile put through a catalogue of devices: what advise and top show, and what report ends with. Included by
 * these three (cli and top). Owns what advised_release() frees; a view (view/advise.h) points into it.
 */
#ifndef ACCPERF_ADVISE_ADVISED_H
#define ACCPERF_ADVISE_ADVISED_H

#include "advise/gather.h"
#include "advise/verdict.h"
#include "model/catalogue.h"

struct advised_profile {
	struct gathered g;
	struct catalogue catalogue;
	struct candidates candidates;
	struct advice advice;
};

/* What is asked of a profile. */
struct advised_opts {
	const char
		*catalogue; /* a file that stands alone; NULL: what comes with the program and what was measured here */
	const struct filter *filter; /* of processes: gather.h; NULL: all */
	const struct advise_set *set;
	size_t sets;
};

/* 0, or -errno with a sentence; advised_release() in any case. */
int advised_make(struct advised_profile *a, const char *path, const struct advised_opts *o, struct err *e);
/* The same without candidates and advice: for what asks for the flow alone. */
int advised_flow(struct advised_profile *a, const char *path, const struct advised_opts *o, struct err *e);
void advised_release(struct advised_profile *a);

#endif
