// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/protobuf.h"

#include <endian.h>
#include <string.h>

/* The kind of a field, in the low three bits of what stands before it. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

void protobuf_varint(struct buf *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_addch(out, (char)(v | 0x80));
	buf_addch(out, (char)v);
}

void protobuf_number(struct buf *out, unsigned field, uint64_t v)
{
	if (!v)
		return;
	protobuf_varint(out, (uint64_t)field << 3 | VARINT);
	protobuf_varint(out, v);
}

void protobuf_fixed64(struct buf *out, unsigned field, uint64_t v)
{
	if (!v)
		return;
	v = htole64(v);
	protobuf_varint(out, (uint64_t)field << 3 | FIXED64);
	buf_add(out, &v, sizeof(v));
}

void protobuf_bytes(struct buf *out, unsigned field, const void *data, size_t len)
{
	protobuf_varint(out, (uint64_t)field << 3 | BYTES);
	protobuf_varint(out, len);
	if (len)
		buf_add(out, data, len);
}

void protobuf_text(struct buf *out, unsigned field, const char *text)
{
	if (*text)
		protobuf_bytes(out, field, text, strlen(text));
}

void protobuf_message(struct buf *out, unsigned field, const struct buf *message)
{
	if (buf_failed(message))
		out->failed = true;
	protobuf_bytes(out, field, message->data, message->len);
}
