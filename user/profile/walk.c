// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/walk.h"

#include <errno.h>

#define LARGEST 512 /* bytes of a record of fixed size; all are far smaller */

struct taker {
	const struct section_row *row;
	void *ctx;
	int *failed;
};

static bool has_failed(const int *failed)
{
	return failed && *failed;
}

static size_t takers_of(const struct store_chunk *c, const struct section_reader *readers, size_t count,
			struct taker *out)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < readers[i].count && !has_failed(readers[i].failed); k++) {
			const struct section_row *row = &readers[i].rows[k];

			if (row->section != c->section || (row->want && !row->want(readers[i].ctx, c->count)))
				continue;
			out[n++] = (struct taker){ .row = row, .ctx = readers[i].ctx, .failed = readers[i].failed };
			break;
		}
	}
	return n;
}

static inline int take_one(const struct taker *t, const void *rec, size_t size)
{
	int err = has_failed(t->failed) ? 0 : t->row->take(t->ctx, rec, size);

	if (!err || !t->failed)
		return err;
	*t->failed = err;
	return 0;
}

static inline int take_all(const struct taker *t, size_t n, const void *rec, size_t size)
{
	int err = take_one(t, rec, size);

	for (size_t i = 1; i < n && !err; i++)
		err = take_one(&t[i], rec, size);
	return err;
}

static int take_chunk(struct store_chunk *c, const struct taker *t, size_t n)
{
	uint64_t rec[LARGEST / sizeof(uint64_t)];
	size_t size = t[0].row->size;
	const uint8_t *bytes;
	int err = 0;

	if (!size) {
		while (!err && (bytes = store_next_var(c, &size)))
			err = take_all(t, n, bytes, size);
		return err;
	}
	if (size > sizeof(rec))
		return -EINVAL;
	/* most often records lie as structures do, and need no copy */
	if (c->rec_size >= size && !(c->rec_size % sizeof(*rec)) && !((uintptr_t)c->data % sizeof(*rec))) {
		for (uint32_t i = 0; !err && i < c->count; i++)
			err = take_all(t, n, c->data + (size_t)i * c->rec_size, size);
		return err;
	}
	for (uint32_t i = 0; !err && c->rec_size && i < c->count; i++) {
		store_rec(c, i, rec, size);
		err = take_all(t, n, rec, size);
	}
	return err;
}

int sections_walk(struct store_reader *r, const struct section_reader *readers, size_t count, struct err *e)
{
	struct taker takers[SECTION_READERS];
	struct store_chunk c;
	int n;

	if (count > SECTION_READERS)
		return err_set(e, -EINVAL, "more than %d readers on one walk", SECTION_READERS);
	while ((n = store_next_packed(r, &c, e)) > 0) {
		size_t wanted = takers_of(&c, readers, count, takers);

		n = wanted ? store_unpack(r, &c, e) : 0;
		if (n > 0)
			n = take_chunk(&c, takers, wanted);
		if (n)
			break;
	}
	return n;
}
