// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/sources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_MOST 32 /* of a feature */

static const struct source_row rows[] = {
#define X(name, account, price) { &source_##name, account, price },
	RECORDER_SOURCES(X)
#undef X
#define X(name) { &source_##name, ACCOUNT_HARDWARE, PRICE_RECORD },
		PROCESSOR_SOURCES(X)
#undef X
};

const struct source_row *sources_row(unsigned i)
{
	return i < sizeof(rows) / sizeof(rows[0]) ? &rows[i] : NULL;
}

const struct source *source_find(const char *name)
{
	const struct source_row *row;

	for (unsigned i = 0; (row = sources_row(i)); i++)
		if (row->source->driver && !strcmp(row->source->name, name))
			return row->source;
	return NULL;
}

const struct source *source_auto(unsigned gives, struct err *e)
{
	const struct source_row *row;
	struct err why = { 0 };
	char text[sizeof(why.text)] = "";
	size_t len = 0;

	for (unsigned i = 0; (row = sources_row(i)); i++) {
		const struct source *s = row->source;

		if (!s->driver || (s->driver->gives & gives) != gives)
			continue;
		if (!s->driver->probe(NULL, 0, &why))
			return s;
		if (len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s: %.200s", len ? "; " : "",
						s->name, why.text);
	}
	err_set(e, -ENODEV, "%s", len ? text : "no source of this kind is built in");
	return NULL;
}

static bool works_by_features(const struct source *s, const struct features *f, char *text, size_t size)
{
	size_t len = 0;

	*text = '\0';
	for (const char *p = s->needs; *p;) {
		size_t n = strcspn(p, " ");
		const struct feature *x;
		char name[NAME_MOST];

		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		x = features_find(f, name);
		if ((!x || x->state == FEATURE_NO) && len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%s",
						len ? ", " : "missing: ", x ? x->title : name);
		p += n + (p[n] == ' ');
	}
	return !len;
}

bool source_works(const struct source *s, const struct features *f, char *text, size_t size)
{
	struct err e = { 0 };

	if (s->needs)
		return works_by_features(s, f, text, size);
	*text = '\0';
	if (!s->driver->probe(text, size, &e))
		return true;
	snprintf(text, size, "%s", e.text);
	return false;
}
