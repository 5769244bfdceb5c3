// SPDX-License-Identifier: GPL-2.0-or-later
/* What servers answer, and what reading commands print of a profile: each becomes a body, or rows. Rows
 * are lines of as many fields as their table has columns, whatever names hold. */
#include <stdlib.h>
#include <string.h>

#include "daemon/clickhouse.h"
#include "daemon/deliver.h"
#include "daemon/fleet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct buf *rows, unsigned columns)
{
	unsigned tabs = 0;

	for (size_t i = 0; i < rows->len; i++) {
		tabs += rows->data[i] == '\t';
		if (rows->data[i] != '\n')
			continue;
		if (tabs != columns - 1)
			abort();
		tabs = 0;
	}
	if (tabs)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned columns[FLEET_TABLES] = { 9, 11, 14, 12, 7, 11 };
	struct fleet_segment s = { "h", "s", "20260101T000000Z-1.000001", 1000 };
	struct buf rows[FLEET_TABLES] = { { 0 } };
	char *text = malloc(size + 1);
	size_t at = 0, len = 0;
	struct err e = { 0 };
	char why[200];

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (!fleet_rows(&s, (const char *const[]){ text, text, text, text, text }, rows, &e))
		for (unsigned t = 0; t < FLEET_TABLES; t++)
			check_rows(&rows[t], columns[t]);
	for (unsigned t = 0; t < FLEET_TABLES; t++)
		buf_release(&rows[t]);
	deliver_rejected(text, size, why);
	if (post_status(text, size, &at, &len) && (at > size || len > size - at))
		abort();
	free(text);
	return 0;
}
