/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between catalogue.c, catalogue_terms.c and catalogue_where.c: what is read of one entry, and where in the text it
 * stands. Included by nobody else (jansson.h is kept out of the other headers).
 */
#ifndef ACCPERF_CATALOGUE_INTERNAL_H
#define ACCPERF_CATALOGUE_INTERNAL_H

#include <jansson.h>

#include "model/catalogue.h"

struct catalogue_text {
	const char *text;
	size_t len;
	size_t entry; /* which of the accelerators */
};

/* -EINVAL: "line 3, column 7: ..." */
int catalogue_wrong(const struct catalogue_text *t, struct err *e, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Everything but params and points. */
int catalogue_terms_parse(struct catalogue_entry *entry, json_t *o, const struct catalogue_text *t, struct err *e);

#endif
