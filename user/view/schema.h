/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON schemas closed: an object that lists its properties has no others. Included by cli. */
#ifndef ACCPERF_VIEW_SCHEMA_H
#define ACCPERF_VIEW_SCHEMA_H

#include "util/buf.h"

/* Appends `schema` with additionalProperties false wherever it is not told; false: it is no JSON. */
bool schema_closed(const char *schema, struct buf *out);

#endif
