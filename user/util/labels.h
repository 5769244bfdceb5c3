/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that a recording carries for its readers: META_LABELS of the profile, "key=value,key=value". Pure. Included
 * by the recorder and by views (flow, record, advise, view, foreground, cli, daemon and tests). */
#ifndef ACCPERF_LABELS_H
#define ACCPERF_LABELS_H

#include "util/buf.h"
#include "util/err.h"

#define META_LABELS "labels"
#define LABELS_MOST 512 /* bytes of all, the last NUL included */

/* Of "key=value" each: keys of a-z, 0-9 and _, each once; values without commas, at most 200 bytes. */
int labels_join(const char *const *items, size_t count, char out[LABELS_MOST], struct err *e);
/* One of "key=value,key=value", into key and value, of LABELS_MOST each; what stands behind it, NULL: none is left. */
const char *labels_next(const char *all, char *key, char *value);
/* What cannot stand in a value becomes '_'. */
void labels_add(struct buf *out, const char *key, const char *value);
/* The value of a key, "" where it is not there. */
void labels_value(const char *all, const char *key, char value[LABELS_MOST]);
/* Leaves those of `all` that `others` has with the same value, and none of LABELS_RESTED. */
void labels_keep_common(char all[LABELS_MOST], const char *others);

/* Seconds for which a service was not recorded before a turn: the turn's first profile stands for them as well. */
#define LABELS_RESTED "rested"
/* What a profile counts for: 1, or more of the first of a turn. file: its name, which ends in its number in the turn;
 * seconds: how long it lasted. */
double labels_weight(const char *rested, const char *file, double seconds);

#endif
