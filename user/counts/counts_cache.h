/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of the windows of earlier recordings, by build-id, content and address, so that what one recording has
 * too few hits for is known from others of the same files. A file for each module (util/cachedir.h)
 * holds the links that lead to its code; each link the sums of its last few recordings, and a
 * recording counts once however often it is added. Rates are not kept: they belong to one process.
 * Everything read is untrusted. Included by foreground and tests.
 */
#ifndef ACCPERF_COUNTS_COUNTS_CACHE_H
#define ACCPERF_COUNTS_COUNTS_CACHE_H

#include "counts/counts_windows.h"

#define COUNTS_CACHE_RECORDINGS 8 /* recordings remembered of a program; by hand */

/* Adds the record's windows; files that cannot be written are skipped. Returns how many links were
 * added to, or -errno. */
int counts_cache_add(int dir, const struct counts_record *r);
/* Gives links of the record what other recordings know of them (counts_rec_link.others). Returns how
 * many links got something, or -errno. */
int counts_cache_fill(int dir, struct counts_record *r);
/* A ratio of recordings: their sums, and how far they are apart. */
void counts_cache_ratio(const struct counts_others *o, struct counts_ratio *out);

#endif
