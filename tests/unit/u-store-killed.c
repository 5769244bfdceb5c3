// SPDX-License-Identifier: GPL-2.0-or-later
/* Killed at each byte that is written: what was written out before is read, once. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/read.h"
#include "store/write.h"
#include "unit/temp_file.h"
#include "unit/unit.h"

static long left = -1; /* bytes that may be written before the kill; a cut costs one. -1: no kill */
static int refuse;     /* errno of writes beyond that instead */
static long cost;      /* of all */
static jmp_buf killed;

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	size_t n = left >= 0 && (size_t)left < len ? (size_t)left : len;
	ssize_t done = n || !len ? syscall(SYS_pwrite64, fd, data, n, at) : 0;

	cost += (long)len;
	if (left >= 0)
		left -= (long)n;
	if (n == len)
		return done;
	if (!refuse)
		longjmp(killed, 1);
	if (n)
		return (ssize_t)n;
	errno = refuse;
	return -1;
}

int ftruncate(int fd, off_t len)
{
	cost++;
	if (left == 0 && !refuse)
		longjmp(killed, 1);
	left -= left > 0;
	return (int)syscall(SYS_ftruncate, fd, len);
}

#define ROUNDS 12u /* of few samples, as a session has in a quarter of a second */
#define EACH 9u    /* samples */
#define KEYS 3u    /* counters, each of which changes in each round */
#define PACK 5u    /* rounds between two times that all is packed */

static volatile unsigned safe; /* samples that a return of the writer vouched for */

/* Its file, until it is done or killed. */
static struct store_writer *write_rounds(bool *whole)
{
	static struct store_writer *w;
	struct err e = { 0 };

	safe = 0;
	*whole = false;
	w = store_create(path, STORE_TIMELESS, &e);
	assert_non_null(w);
	if (setjmp(killed))
		return w;
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned k = 0; k < EACH; k++) {
			struct fmt_sample s = { .time = i * EACH + k, .tid = 7, .stack = store_string(w, "alpha") };

			store_put(w, FMT_SAMPLE, &s, sizeof(s));
		}
		for (unsigned k = 1; k <= KEYS; k++) {
			struct fmt_counter c = { .name = k, .value = i + 1 };

			store_put_changed(w, FMT_COUNTER, k, &c, sizeof(c));
		}
		if (i % PACK == PACK - 1 ? store_flush(w, &e) : store_spill(w, &e))
			return w;
		safe = (i + 1) * EACH;
	}
	*whole = !store_flush(w, &e);
	return w;
}

static unsigned counters; /* records, of those that are read */

static unsigned samples_in_order(struct store_recovery *rec)
{
	struct store_reader *r = store_open(path, NULL);
	uint64_t last[KEYS + 1] = { 0 };
	struct store_chunk c;
	unsigned n = 0;

	counters = 0;
	assert_non_null(r);
	while (store_next(r, &c, NULL) > 0) {
		for (uint32_t i = 0; c.section == FMT_COUNTER && i < c.count; i++, counters++) {
			struct fmt_counter k;

			store_rec(&c, i, &k, sizeof(k));
			assert_in_range(k.name, 1, KEYS);
			assert_true(k.value > last[k.name]);
			last[k.name] = k.value;
		}
		for (uint32_t i = 0; c.section == FMT_SAMPLE && i < c.count; i++) {
			struct fmt_sample s;

			store_rec(&c, i, &s, sizeof(s));
			assert_int_equal(s.time, n);
			n++;
		}
	}
	for (unsigned k = 1; k <= KEYS; k++)
		assert_in_range(last[k], safe / EACH, safe / EACH + 1);
	if (n)
		assert_string_equal(store_str(r, 1), "alpha");
	*rec = *store_recovery(r);
	store_reader_free(r);
	return n;
}

TEST_WITH(at_each_byte, new_path, remove_path)
{
	struct store_recovery rec;
	bool whole;
	long all;

	left = -1;
	refuse = 0;
	cost = 0;
	store_abandon(write_rounds(&whole));
	assert_true(whole);
	all = cost;
	for (long at = sizeof(struct fmt_file); at < all; at++) {
		struct store_writer *w;
		unsigned n;

		left = at;
		w = write_rounds(&whole);
		left = -1;
		store_abandon(w);
		assert_false(whole);
		n = samples_in_order(&rec);
		assert_true(n >= safe && n <= safe + EACH);
		assert_int_equal(rec.bad_chunks, 0);
	}
}

TEST_WITH(disk_full_at_each_byte, new_path, remove_path)
{
	struct store_recovery rec;
	bool whole;
	long all;

	left = -1;
	refuse = 0;
	cost = 0;
	store_abandon(write_rounds(&whole));
	all = cost;
	refuse = ENOSPC;
	for (long at = sizeof(struct fmt_file); at < all - 1; at++) {
		struct store_writer *w;

		left = at;
		w = write_rounds(&whole);
		left = -1;
		store_abandon(w);
		assert_true(samples_in_order(&rec) >= safe);
	}
	refuse = 0;
}

/* In order, it is chunks that were only appended, of as few as there were flushes. */
TEST_WITH(packed_in_the_end, new_path, remove_path)
{
	struct store_recovery rec;
	struct store_reader *r;
	struct store_chunk c;
	unsigned chunks = 0;
	struct stat st;
	bool whole;
	struct store_writer *w;

	left = -1;
	w = write_rounds(&whole);
	assert_true(whole);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, store_bytes(w));
	store_abandon(w);
	assert_int_equal(samples_in_order(&rec), ROUNDS * EACH);
	assert_false(rec.torn || rec.bad_chunks || rec.unknown_sections);
	r = store_open(path, NULL);
	while (store_next(r, &c, NULL) > 0) {
		assert_int_not_equal(c.section, FMT_REPLACED);
		chunks += c.section == FMT_SAMPLE;
	}
	store_reader_free(r);
	assert_int_equal(chunks, (ROUNDS + PACK - 1) / PACK);
	/* and of each counter its last alone */
	assert_int_equal(counters, chunks * KEYS);
}

/* A last chunk that claims what cannot be is passed over, and nothing is read twice or for ever. */
TEST_WITH(false_claims, new_path, remove_path)
{
	static const struct fmt_replaced claims[] = {
		{ 0, 0 }, { 0, UINT64_MAX }, { 100, 50 }, { sizeof(struct fmt_file), UINT64_MAX - 1 }, { 33, 34 },
	};
	struct store_recovery rec;
	bool whole;

	left = -1;
	for (unsigned i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct store_writer *w = write_rounds(&whole);
		struct store_reader *r;
		struct store_chunk c;
		unsigned n = 0;

		assert_int_equal(store_put(w, FMT_REPLACED, &claims[i], sizeof(claims[i])), 0);
		assert_int_equal(store_close(w, NULL), 0);
		r = store_open(path, NULL);
		assert_non_null(r);
		while (store_next(r, &c, NULL) > 0)
			n += c.section == FMT_SAMPLE ? c.count : 0;
		rec = *store_recovery(r);
		store_reader_free(r);
		assert_true(n <= ROUNDS * EACH && rec.bad_chunks <= 1);
	}
}
