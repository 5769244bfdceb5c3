/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A member of a JSON object that may not be there. Included by user/view and user/daemon, where they read
 * what commands and servers answer. */
#ifndef ACCPERF_UTIL_MEMBER_H
#define ACCPERF_UTIL_MEMBER_H

#include <jansson.h>
#include <math.h>

/* NaN: it is not there, or no number. */
static inline double member_number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* "": it is not there, or no text. */
static inline const char *member_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

#endif
