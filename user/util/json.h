/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streaming JSON writer into a struct buf: commas, escapes and nesting are its business. Figures
 * that are unknown are written as null: pass NaN, or use json_null. Reading is jansson's job. Included by many rooms.
 *
 *     struct json j = { .out = &b };
 *     json_obj(&j, NULL); json_u64(&j, "samples", n); json_end(&j);
 *
 * The key is NULL inside arrays and for the outermost value.
 */
#ifndef ACCPERF_JSON_H
#define ACCPERF_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"

#define JSON_LISTS_CUT 8 /* of one document; none has more lists of rows; by hand */

struct json {
	struct buf *out;
	unsigned depth;
	uint64_t is_array, has_items; /* a bit per level */
	/* of json_limit_rows(): the list that is written, its items so far, where it was cut; lists that were */
	const char *list;
	uint64_t items;
	size_t cut_at;
	struct {
		const char *list;
		uint64_t left;
	} cut[JSON_LISTS_CUT];
	unsigned cuts;
};

/* For readers in this process that take no more: each list of a document's outermost object ends after its first
 * `most` items, and the object with "left_out", how many more each such list had by its key. 0: all of them. */
void json_limit_rows(uint64_t most);
uint64_t json_rows_most(void);

void json_obj(struct json *j, const char *key);
void json_arr(struct json *j, const char *key);
void json_end(struct json *j);
void json_str(struct json *j, const char *key, const char *value); /* NULL value: null */
void json_u64(struct json *j, const char *key, uint64_t value);
void json_i64(struct json *j, const char *key, int64_t value);
void json_f64(struct json *j, const char *key, double value); /* NaN, infinities: null */
void json_bool(struct json *j, const char *key, bool value);
/* jansson has a json_null() too, and would call ours: keep the linker from mixing them up. */
void json_null(struct json *j, const char *key) __asm__("accperf_json_null");

#endif
