/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON as the page carries it: the same values in less room, and without the one character that could end the
 * element that it stands in. Lists of like objects become columns, page/unpack.js makes objects of them again:
 *
 *     {"$keys":[...],"$rows":N,"$columns":[column,...]}     column: [values] or
 *     {"$same":value}                                        the same in all rows, or
 *     {"$texts":[...],"$at":[index,...]}                     texts that repeat
 *
 * Included by user/html and tests. Owns nothing.
 */
#ifndef ACCPERF_HTML_PACK_H
#define ACCPERF_HTML_PACK_H

#include <jansson.h>

#include "util/buf.h"

/* Appends `value` to out; numbers as the JSON writer has them. False: out of memory. */
bool html_pack(const json_t *value, struct buf *out);

#endif
