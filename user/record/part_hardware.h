/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses that the processor samples itself: any source of kmod-free/ that does, kept within the ledger's account
 * for it. Included by part_access.c.
 */
#ifndef ACCPERF_RECORD_PART_HARDWARE_H
#define ACCPERF_RECORD_PART_HARDWARE_H

#include <stdint.h>

#include "record/located_code.h"
#include "record/part_windows.h"
#include "record/session.h"

struct access_opts;
/* Joins the session with o->hardware. w: windows, which its samples choose if they come in time; NULL: there are none.
 * What is handed in outlives it. */
int hardware_part_add(struct session *s, const struct access_opts *o, struct windows *w, struct err *e);

#endif
