// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/remote_write.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/protobuf.h"

#define LABELS 16u      /* of a series: ours have nine at most */
#define LITERAL 65536u  /* bytes of one literal of snappy, whose length has two bytes */
#define TWO_BYTES 0xf4u /* tag of such a literal: 61 << 2 */

struct label {
	const char *name, *value;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

/* A value within its quotes, in place; what follows them, NULL: they never end. */
static char *unescape(char *at)
{
	char *to = at;

	for (; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			*to++ = *++at == 'n' ? '\n' : *at;
		else
			*to++ = *at;
	}
	if (!*at)
		return NULL;
	*to = 0;
	return at + 1;
}

/* Behind the name: what follows "}" or the name itself; NULL: it is no series. */
static char *take_labels(char *at, struct label *all, unsigned *count)
{
	while (*at == '{' || *at == ',') {
		char *name = at + 1, *equals = strchr(name, '=');

		if (!equals || equals[1] != '"' || *count == LABELS)
			return NULL;
		*at = *equals = 0;
		all[(*count)++] = (struct label){ name, equals + 2 };
		at = unescape(equals + 2);
		if (!at)
			return NULL;
	}
	return *at == '}' ? at + 1 : *at == ' ' ? at : NULL;
}

static bool add_series(char *line, const char *instance, int64_t ms, struct buf *out)
{
	struct label all[LABELS + 3] = { { "__name__", line }, { "instance", instance }, { "job", "accperf" } };
	unsigned count = 3;
	uint64_t bits;
	double value;
	char *at = take_labels(line + strcspn(line, "{ "), all, &count), *end;
	AUTO_BUF(series);
	AUTO_BUF(sample);

	if (!at || *at != ' ')
		return false;
	*at++ = 0; /* of a name alone */
	value = strtod(at, &end);
	if (end == at || *end)
		return false;
	qsort(all, count, sizeof(*all), by_name);
	for (unsigned i = 0; i < count; i++) {
		AUTO_BUF(label);

		protobuf_text(&label, 1, all[i].name);
		protobuf_text(&label, 2, all[i].value);
		if (*all[i].value) /* an empty label is none */
			protobuf_message(&series, 1, &label);
	}
	memcpy(&bits, &value, sizeof(bits));
	protobuf_varint(&sample, 1 << 3 | 1); /* 0, too */
	buf_add(&sample, &bits, sizeof(bits));
	protobuf_number(&sample, 2, (uint64_t)ms);
	protobuf_message(&series, 2, &sample);
	protobuf_message(out, 1, &series);
	return true;
}

/* Literals alone: valid, and no longer than what it holds but for three bytes of 64 KB. */
static void snappy_block(const struct buf *in, struct buf *out)
{
	protobuf_varint(out, in->len);
	for (size_t at = 0; at < in->len;) {
		size_t n = in->len - at < LITERAL ? in->len - at : LITERAL;

		buf_add(out, (const uint8_t[]){ TWO_BYTES, (uint8_t)(n - 1), (uint8_t)((n - 1) >> 8) }, 3);
		buf_add(out, in->data + at, n);
		at += n;
	}
}

int remote_write_encode(char *text, const char *instance, int64_t ms, struct buf *out, struct err *e)
{
	AUTO_BUF(request);
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (!*line || *line == '#')
			continue;
		if (!add_series(line, instance, ms, &request))
			return err_set(e, -EINVAL, "this is no text of /metrics: '%.60s'", line);
	}
	if (!request.len)
		return err_set(e, -EINVAL, "it has no series");
	snappy_block(&request, out);
	return buf_failed(&request) || buf_failed(out) ? err_set(e, -ENOMEM, "out of memory") : 0;
}
