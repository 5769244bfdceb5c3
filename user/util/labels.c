// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/labels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MOST 200u  /* bytes: a pod of Kubernetes has 253 at most with its namespace, and mostly 60 */
#define LONGEST_REST 1e9 /* seconds: thirty years, so it is no time */

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

void labels_value(const char *all, const char *key, char value[LABELS_MOST])
{
	char name[LABELS_MOST];

	while (all && (all = labels_next(all, name, value)))
		if (!strcmp(name, key))
			return;
	*value = 0;
}

void labels_keep_common(char all[LABELS_MOST], const char *others)
{
	char key[LABELS_MOST], value[LABELS_MOST], other[LABELS_MOST], kept[LABELS_MOST] = "";
	size_t len = 0;

	for (const char *at = all; (at = labels_next(at, key, value));) {
		labels_value(others, key, other);
		if (!strcmp(key, LABELS_RESTED) || strcmp(value, other))
			continue;
		len += (size_t)snprintf(kept + len, sizeof(kept) - len, "%s%s=%s", len ? "," : "", key, value);
	}
	memcpy(all, kept, sizeof(kept));
}

double labels_weight(const char *rested, const char *file, double seconds)
{
	const char *dot = strrchr(file, '.');
	double r = strtod(rested, NULL);

	if (!*rested || !dot || strtoul(dot + 1, NULL, 10) != 1 || !(r > 0) || !(seconds > 0) || r > LONGEST_REST)
		return 1;
	return (r + seconds) / seconds;
}
