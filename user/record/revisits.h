/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words that bursts read are looked at again, later and later: whether anything writes there at all, and how soon. It
 * takes nothing of the target's time. What was written with the same value is not noticed. Included by emulate.c and
 * tests.
 */
#ifndef ACCPERF_RECORD_REVISITS_H
#define ACCPERF_RECORD_REVISITS_H

#include <sys/types.h>

#include "store/write.h"

#define REVISIT_BYTES 16 /* of a read, at most: its first ones */

/* As target_memory_read(). */
typedef ssize_t revisit_read(uint32_t pid, uint64_t addr, void *buf, size_t len);

struct revisits *revisits_new(struct store_writer *w, revisit_read *read);
void revisits_free(struct revisits *v);
/* The site (fmt_burst_site.id) read it just now. */
int revisits_add(struct revisits *v, uint32_t pid, uint32_t site, uint64_t addr, uint32_t size, uint64_t now);
/* Looks at what is due. */
int revisits_poll(struct revisits *v, uint64_t now);
/* Addresses of this process mean something else from now on: what is known of them is told. */
int revisits_forget(struct revisits *v, uint32_t pid);
/* The recording or its profile ends. */
int revisits_end(struct revisits *v);
/* Reads that were not taken, as too many wait for their next look. */
uint64_t revisits_dropped(const struct revisits *v);

#endif
