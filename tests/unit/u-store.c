// SPDX-License-Identifier: GPL-2.0-or-later
/* harm: a squeezed recording of equal samples, imported */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/read.h"
#include "store/write.h"
#include "unit/temp_file.h"
#include "unit/unit.h"
#include "unit/xorshift.h"

static void write_profile(unsigned samples, bool end)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);

	assert_non_null(w);
	assert_int_equal(store_meta(w, "engine", "old"), 0);
	assert_int_equal(store_meta(w, "engine", "soft"), 0);
	assert_int_equal(store_string(w, "alpha"), 1);
	assert_int_equal(store_string(w, "beta"), 2);
	assert_int_equal(store_string(w, "alpha"), 1);
	for (unsigned i = 0; i < samples; i++) {
		struct fmt_sample s = { .time = i, .period = 1000, .tid = i % 7, .stack = 1 };

		assert_int_equal(store_put(w, FMT_SAMPLE, &s, sizeof(s)), 0);
		if (i % 1000 == 999)
			assert_int_equal(store_flush(w, &e), 0);
	}
	if (end) {
		struct fmt_end x = { .samples = samples };

		assert_int_equal(store_put(w, FMT_END, &x, sizeof(x)), 0);
		assert_int_equal(store_close(w, &e), 0);
	} else {
		store_abandon(w);
	}
}

static unsigned count_samples(struct store_reader *r)
{
	struct store_chunk c;
	unsigned n = 0;

	while (store_next(r, &c, NULL) > 0) {
		for (uint32_t i = 0; c.section == FMT_SAMPLE && i < c.count; i++) {
			struct fmt_sample s;

			store_rec(&c, i, &s, sizeof(s));
			assert_int_equal(s.time, n);
			n++;
		}
	}
	return n;
}

TEST_WITH(round_trip, new_path, remove_path)
{
	struct err e;
	struct store_reader *r;
	char text[200];

	write_profile(100000, true);
	r = store_open(path, &e);
	assert_non_null(r);
	assert_int_equal(count_samples(r), 100000);
	assert_string_equal(store_str(r, 1), "alpha");
	assert_string_equal(store_str(r, 2), "beta");
	assert_null(store_str(r, 3));
	assert_string_equal(store_meta_get(r, "engine"), "soft");
	assert_false(store_recovery_text(r, text, sizeof(text)));
	store_rewind(r);
	assert_int_equal(count_samples(r), 100000);
	store_reader_free(r);
}

TEST_WITH(killed_recording, new_path, remove_path)
{
	struct err e;
	struct store_reader *r;
	char text[200];

	write_profile(5500, false);
	r = store_open(path, &e);
	assert_non_null(r);
	assert_int_equal(count_samples(r), 5000);
	assert_true(store_recovery_text(r, text, sizeof(text)));
	store_reader_free(r);
}

/* Cut at every length: never a crash, never more than was written, and monotone. */
TEST_WITH(truncated_anywhere, new_path, remove_path)
{
	FILE *f;
	static char bytes[200000];
	size_t n;
	unsigned last = 0;

	write_profile(3000, true);
	f = fopen(path, "r");
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	for (size_t cut = 0; cut <= n; cut += cut < 400 ? 1 : 97) {
		struct err e;
		struct store_reader *r;
		unsigned got;

		f = fopen(path, "w");
		fwrite(bytes, 1, cut, f);
		fclose(f);
		r = store_open(path, &e);
		if (!r) {
			assert_true(cut < sizeof(struct fmt_file));
			continue;
		}
		got = count_samples(r);
		assert_true(got >= last);
		last = got;
		store_reader_free(r);
	}
	assert_true(last >= 2000);
}

TEST_WITH(flipped_byte_is_noticed, new_path, remove_path)
{
	FILE *f;
	struct err e;
	struct store_reader *r;
	struct store_chunk c;
	char text[200];
	unsigned n = 0;

	write_profile(3000, true);
	f = fopen(path, "r+");
	fseek(f, sizeof(struct fmt_file) + sizeof(struct fmt_chunk) + 2, SEEK_SET);
	fputc(fgetc(f) ^ 0x55, f);
	fclose(f);
	r = store_open(path, &e);
	assert_non_null(r);
	while (store_next(r, &c, NULL) > 0)
		n += c.section == FMT_SAMPLE ? c.count : 0;
	assert_int_equal(n, 3000); /* the damaged chunk held strings */
	assert_int_equal(store_recovery(r)->bad_chunks, 1);
	assert_true(store_recovery_text(r, text, sizeof(text)));
	store_reader_free(r);
}

TEST_WITH(newer_major_is_refused, new_path, remove_path)
{
	struct err e = { 0 };
	FILE *f;
	uint16_t major = FMT_MAJOR + 1;

	write_profile(1, true);
	f = fopen(path, "r+");
	fseek(f, offsetof(struct fmt_file, major), SEEK_SET);
	fwrite(&major, 2, 1, f);
	fclose(f);
	assert_null(store_open(path, &e));
	assert_non_null(strstr(e.text, "newer"));
}

#define BIG 600000u

/* ---- columns ---- */

#define WINDOWS 200000u

static struct fmt_counts_window window(unsigned i)
{
	return (struct fmt_counts_window){ .armed = 1000000 + i / 5000, .anchor = i % 7, .link = i * 3, .pid = 77 };
}

/* As bursts leave them: rows that differ little in each column. */
TEST_WITH(columns, new_path, remove_path)
{
	struct err e;
	struct store_writer *w = store_create(path, 0, &e);
	struct store_reader *r;
	struct store_chunk c;
	unsigned windows = 0, parts = 0;
	uint32_t part[40];
	uint64_t bytes;

	for (unsigned i = 0; i < WINDOWS; i++) {
		struct fmt_counts_window rec = window(i);

		assert_int_equal(store_put(w, FMT_COUNTS_WINDOW, &rec, sizeof(rec)), 0);
		for (unsigned k = 0; k < 40; k++)
			part[k] = i + k * k;
		/* of many sizes, so that what is turned has a rest */
		assert_int_equal(store_put_var(w, FMT_BURST_PART, &i, sizeof(i), part, i % 40), 0);
		if (i % 9001 == 0)
			assert_int_equal(store_flush(w, NULL), 0);
	}
	assert_int_equal(store_flush(w, NULL), 0);
	bytes = store_bytes(w);
	assert_int_equal(store_close(w, &e), 0);
	r = store_open(path, &e);
	assert_non_null(r);
	while (store_next(r, &c, NULL) > 0) {
		const uint8_t *rec;
		size_t size;

		for (uint32_t i = 0; c.section == FMT_COUNTS_WINDOW && i < c.count; i++, windows++) {
			struct fmt_counts_window was, want = window(windows);

			store_rec(&c, i, &was, sizeof(was));
			assert_memory_equal(&was, &want, sizeof(was));
		}
		for (; c.section == FMT_BURST_PART && (rec = store_next_var(&c, &size)); parts++) {
			for (unsigned k = 0; k < 40; k++)
				part[k] = parts + k * k;
			assert_int_equal(size, sizeof(parts) + parts % 40);
			assert_memory_equal(rec, &parts, sizeof(parts));
			assert_memory_equal(rec + sizeof(parts), part, parts % 40);
		}
	}
	assert_int_equal(windows, WINDOWS);
	assert_int_equal(parts, WINDOWS);
	assert_false(store_recovery(r)->swollen || store_recovery(r)->bad_chunks);
	store_reader_free(r);
	/* as rows they take 15 each */
	assert_true(bytes < WINDOWS * 10ull);
}

/* Times that rise by what nobody can foresee, and ids that come again; what falls is told as it is. */
static struct fmt_sample step(unsigned i, uint64_t *time, bool rising)
{
	uint64_t noise = (i + 1) * 0x9e3779b97f4a7c15ull;

	noise = (noise ^ noise >> 31) * 0xbf58476d1ce4e5b9ull >> 44; /* 20 bits */

	*time += rising ? noise : i % 7 == 3 ? -noise : noise;
	return (struct fmt_sample){ .time = *time, .period = 11363636, .pid = 77, .tid = 78, .stack = i % 5 };
}

static uint64_t steps_take(bool rising)
{
	struct err e;
	struct store_writer *w = store_create(path, 0, &e);
	uint64_t time = 23823312096961ull, bytes;
	struct store_reader *r;
	struct store_chunk c;
	unsigned samples = 0;

	for (unsigned i = 0; i < WINDOWS; i++) {
		struct fmt_sample rec = step(i, &time, rising);

		assert_int_equal(store_put(w, FMT_SAMPLE, &rec, sizeof(rec)), 0);
		if (i % 999 == 0)
			assert_int_equal(store_spill(w, NULL), 0);
		if (i % 9001 == 0)
			assert_int_equal(store_flush(w, NULL), 0);
	}
	assert_int_equal(store_flush(w, NULL), 0);
	bytes = store_bytes(w);
	assert_int_equal(store_close(w, &e), 0);
	r = store_open(path, &e);
	assert_non_null(r);
	time = 23823312096961ull;
	while (store_next(r, &c, NULL) > 0)
		for (uint32_t i = 0; i < c.count; i++, samples++) {
			struct fmt_sample was, want = step(samples, &time, rising);

			store_rec(&c, i, &was, sizeof(was));
			assert_memory_equal(&was, &want, sizeof(was));
		}
	assert_int_equal(samples, WINDOWS);
	assert_false(store_recovery(r)->swollen || store_recovery(r)->bad_chunks);
	store_reader_free(r);
	return bytes;
}

TEST_WITH(steps, new_path, remove_path)
{
	/* 20 bits of each are new and which of five it is; as they are they take 3.07 */
	assert_true(steps_take(true) < WINDOWS * 2.9);
	steps_take(false);
}

/* What would unpack to hundreds of times the file is not turned so far that a reader refuses it. */
TEST_WITH(columns_are_honest, new_path, remove_path)
{
	struct err e;
	struct store_writer *w = store_create(path, 0, &e);
	struct store_reader *r;
	struct store_chunk c;
	unsigned windows = 0;

	for (unsigned i = 0; i < WINDOWS; i++) {
		struct fmt_counts_window rec = window(i);

		assert_int_equal(store_put(w, FMT_COUNTS_WINDOW, &rec, sizeof(rec)), 0);
	}
	assert_int_equal(store_close(w, &e), 0);
	r = store_open(path, &e);
	while (store_next(r, &c, NULL) > 0)
		windows += c.count;
	assert_false(store_recovery(r)->swollen);
	assert_int_equal(windows, WINDOWS);
	store_reader_free(r);
}

#define EQUAL 1500000u

/* They shrink to a hundredth and less, and what is written is read all the same: at the end, and when cut off. */
TEST_WITH(equal_records, new_path, remove_path)
{
	const struct fmt_counts_window rec = window(0);
	const uint32_t small = 7; /* counts for more than it is */
	struct err e;
	struct store_writer *w = store_create(path, 0, &e);
	struct store_reader *r;
	struct store_chunk c;
	unsigned windows = 0, smalls = 0;
	uint64_t bytes;

	for (unsigned i = 0; i < EQUAL; i++) {
		assert_int_equal(store_put(w, FMT_COUNTS_WINDOW, &rec, sizeof(rec)), 0);
		assert_int_equal(store_put(w, FMT_COUNTS_BLOCK, &small, sizeof(small)), 0);
	}
	assert_int_equal(store_flush(w, NULL), 0);
	bytes = store_bytes(w);
	assert_int_equal(store_close(w, &e), 0);
	assert_true(bytes < EQUAL * (sizeof(rec) + sizeof(small)) / 16);
	for (int cut = 0; cut < 2; cut++) {
		r = store_open(path, &e);
		assert_non_null(r);
		windows = smalls = 0;
		while (store_next(r, &c, NULL) > 0) {
			windows += c.section == FMT_COUNTS_WINDOW ? c.count : 0;
			smalls += c.section == FMT_COUNTS_BLOCK ? c.count : 0;
		}
		assert_false(store_recovery(r)->swollen);
		assert_true(cut ? windows > EQUAL / 3 : windows == EQUAL && smalls == EQUAL);
		store_reader_free(r);
		assert_int_equal(truncate(path, (off_t)bytes / 2), 0);
	}
}

/* Of random periods and times, so that compression leaves enough for a thread to be worth it. */
static void write_big(void)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	uint64_t x = 88172645463325252ull;

	assert_non_null(w);
	store_string(w, "alpha");
	for (unsigned i = 0; i < BIG; i++) {
		struct fmt_sample s = { .stack = 1 };

		xorshift(&x);
		s.period = x;
		s.time = x * 0x9e3779b97f4a7c15ull;
		assert_int_equal(store_put(w, FMT_SAMPLE, &s, sizeof(s)), 0);
	}
	assert_int_equal(store_put(w, FMT_END, &(struct fmt_end){ .samples = BIG }, sizeof(struct fmt_end)), 0);
	assert_int_equal(store_close(w, &e), 0);
}

static uint64_t checksum(bool ahead, struct store_recovery *rec)
{
	struct store_reader *r = store_open(path, NULL);
	struct store_chunk c;
	uint64_t sum = 0;
	int n;

	assert_non_null(r);
	if (ahead)
		store_read_ahead(r);
	while ((n = store_next(r, &c, NULL)) > 0)
		for (size_t i = 0; i < c.size; i++)
			sum = sum * 31 + c.data[i];
	assert_int_equal(n, 0);
	assert_int_equal(store_next(r, &c, NULL), 0); /* and stays at the end */
	assert_string_equal(store_str(r, 1), "alpha");
	*rec = *store_recovery(r);
	store_reader_free(r);
	return sum;
}

/* Unpacked in another thread, it is the same file, whole, damaged, and left halfway. */
TEST_WITH(read_ahead, new_path, remove_path)
{
	struct store_recovery here, there;
	struct store_reader *r;
	struct store_chunk c;
	FILE *f;

	write_big();
	f = fopen(path, "r+");
	fseek(f, 0, SEEK_END);
	assert_true(ftell(f) > 5 << 20);
	assert_int_equal(checksum(true, &there), checksum(false, &here));
	assert_memory_equal(&here, &there, sizeof(here));
	assert_true(there.ended && !there.bad_chunks);
	fseek(f, ftell(f) / 2, SEEK_SET);
	fwrite("damaged", 7, 1, f);
	fclose(f);
	assert_int_equal(checksum(true, &there), checksum(false, &here));
	assert_memory_equal(&here, &there, sizeof(here));
	assert_int_equal(there.bad_chunks, 1);

	r = store_open(path, NULL);
	store_read_ahead(r);
	assert_int_equal(store_next(r, &c, NULL), 1);
	assert_int_equal(store_next(r, &c, NULL), 1);
	store_rewind(r);
	while (store_next(r, &c, NULL) > 0)
		;
	assert_true(store_recovery(r)->ended);
	store_reader_free(r);
	r = store_open(path, NULL);
	store_read_ahead(r);
	assert_int_equal(store_next(r, &c, NULL), 1);
	store_reader_free(r);
}
