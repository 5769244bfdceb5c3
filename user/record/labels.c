// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/labels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define VALUE_MOST 200u

static bool good_label(const char *item, size_t key)
{
	const char *value = item + key + 1;

	if (!key || item[key] != '=' || !*value || strlen(value) > VALUE_MOST)
		return false;
	for (; *value; value++)
		if (*value == ',' || (unsigned char)*value < 0x20 || *value == 0x7f)
			return false;
	return true;
}

int labels_join(const char *const *items, size_t count, char out[LABELS_MOST], struct err *e)
{
	size_t len = 0;

	*out = 0;
	for (size_t i = 0; i < count; i++) {
		size_t key = strspn(items[i], "abcdefghijklmnopqrstuvwxyz0123456789_"), n = strlen(items[i]);

		if (!good_label(items[i], key))
			return err_set(
				e, -EINVAL,
				"--label wants KEY=VALUE: a key of a-z, 0-9 and _, a value of 1 to %u bytes without commas",
				VALUE_MOST);
		for (size_t k = 0; k < i; k++)
			if (!strncmp(items[k], items[i], key + 1))
				return err_set(e, -EINVAL, "--label gives %.*s twice", (int)key, items[i]);
		if (len + n + 2 > LABELS_MOST)
			return err_set(e, -E2BIG, "labels of %d bytes in all at most", LABELS_MOST - 1);
		len += (size_t)snprintf(out + len, LABELS_MOST - len, "%s%s", i ? "," : "", items[i]);
	}
	return 0;
}

const char *labels_next(const char *all, char *key, char *value)
{
	size_t n = strcspn(all, ","), k = strcspn(all, "=,");

	if (!n || k >= n || n >= LABELS_MOST)
		return NULL;
	memcpy(key, all, k);
	key[k] = 0;
	memcpy(value, all + k + 1, n - k - 1);
	value[n - k - 1] = 0;
	return all + n + (all[n] == ',');
}

void labels_add(struct buf *out, const char *key, const char *value)
{
	if (!*value)
		return;
	buf_addf(out, "%s=", key);
	for (unsigned i = 0; value[i] && i < VALUE_MOST; i++)
		buf_addch(out, value[i] == ',' || (unsigned char)value[i] < 0x20 || value[i] == 0x7f ? '_' : value[i]);
}
