/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of protocol buffers, written field by field: for formats of which we need to write a few messages alone.
 * proto3: a field of its zero value is left out. Included by view and daemon. */
#ifndef ACCPERF_PROTOBUF_H
#define ACCPERF_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

void protobuf_varint(struct buf *out, uint64_t v);
void protobuf_number(struct buf *out, unsigned field, uint64_t v); /* int32, int64, uint64, bool */
void protobuf_fixed64(struct buf *out, unsigned field, uint64_t v);
/* A string, bytes or a message, written even if it is empty. */
void protobuf_bytes(struct buf *out, unsigned field, const void *data, size_t len);
void protobuf_text(struct buf *out, unsigned field, const char *text);
void protobuf_message(struct buf *out, unsigned field, const struct buf *message);

#endif
