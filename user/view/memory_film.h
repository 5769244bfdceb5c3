/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The film of the memory map: addresses by time, coloured by who wrote there and who read there. Of sampled accesses,
 * live or of the exact engine. Included by cli.
 */
#ifndef ACCPERF_VIEW_MEMORY_FILM_H
#define ACCPERF_VIEW_MEMORY_FILM_H

#include "flow/input.h"
#include "util/buf.h"

/* 0; -ENODATA: no access has an address; -ENOMEM. */
int memory_film_svg(const struct flow_input *in, bool stack, struct buf *out);

#endif
