/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON schemas closed: an object that lists its properties has no others. "numbers":["a","b"] beside "type" lists
 * properties that are numbers or null; "texts" and "flags" do so for strings and booleans. Included by cli and
 * daemon.
 */
#ifndef ACCPERF_VIEW_SCHEMA_H
#define ACCPERF_VIEW_SCHEMA_H

#include "util/buf.h"

/* Of a value. COUNT: unknown is null. */
#define NUM "{\"type\":[\"number\",\"null\"]}"
#define NUMS "{\"type\":\"array\",\"items\":" NUM "}"
#define INT "{\"type\":\"integer\"}"
#define UINT "{\"type\":\"integer\",\"minimum\":0}"
#define COUNT "{\"type\":[\"integer\",\"null\"],\"minimum\":0}"
#define TEXT "{\"type\":\"string\"}"
#define STR "{\"type\":[\"string\",\"null\"]}"
#define BOOL "{\"type\":\"boolean\"}"
/* Labels of a recording; not there where it has none. */
#define LABELS_SCHEMA "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}"

/* Appends `schema` with such lists written out, and additionalProperties false wherever it is not told. False: it is no
 * JSON. */
bool schema_closed(const char *schema, struct buf *out);

#endif
