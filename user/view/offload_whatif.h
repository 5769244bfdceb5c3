/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What if a profile's calls went to an accelerator of a catalogue: measured times of the calls against
 * the catalogue's T1 at their sizes. Included by cli/offload.c.
 */
#ifndef ACCPERF_VIEW_OFFLOAD_WHATIF_H
#define ACCPERF_VIEW_OFFLOAD_WHATIF_H

#include "model/catalogue.h"
#include "view/offload.h"

struct whatif_list {
	struct catalogue catalogue;
	struct offload_whatif *at;
	size_t count;
};

/* names: accelerators, separated by commas; path NULL: the user's own catalogue. */
int whatif_all(struct whatif_list *l, const struct offload_summary *s, const char *path, const char *names,
	       struct err *e);
void whatif_release(struct whatif_list *l);

#endif
