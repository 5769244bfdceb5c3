/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of sources, in the order in which `record -e auto` tries them. Included by cli, daemon
 * and ingest. To add one, see include/source.h.
 */
#ifndef ACCPERF_KMOD_FREE_REGISTRY_H
#define ACCPERF_KMOD_FREE_REGISTRY_H

#include "source.h"

extern const struct source_ops source_pebs, source_ibs, source_spe;

/* NULL-terminated, static storage. Best first. */
const struct source_ops *const *sources_all(void);
/* By name; NULL if there is none of that name. */
const struct source_ops *source_find(const char *name);
/* First source that gives all of `gives` and whose probe succeeds; NULL with the reasons of all that
 * were tried in e. Probes open and close events, nothing else. */
const struct source_ops *source_auto(unsigned gives, struct err *e);

#endif
