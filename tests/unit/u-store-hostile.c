// SPDX-License-Identifier: GPL-2.0-or-later
/* Files made to harm their reader. */
/* harm: a profile of 200 KB at most that unpacks to a gigabyte | 6 kinds of record | refused as damaged */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "profile/profile.h"
#include "store/read.h"
#include "store/write.h"
#include "unit/temp_file.h"
#include "unit/unit.h"

static void write_samples(unsigned count, unsigned flush_every)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct fmt_end end = { .samples = count };

	assert_non_null(w);
	for (unsigned i = 0; i < count; i++) {
		struct fmt_sample s = { .time = i * 2654435761u, .period = i * 40503u };

		assert_int_equal(store_put(w, FMT_SAMPLE, &s, sizeof(s)), 0);
		if (i % flush_every == flush_every - 1)
			assert_int_equal(store_flush(w, &e), 0);
	}
	store_put(w, FMT_END, &end, sizeof(end));
	assert_int_equal(store_close(w, &e), 0);
}

static unsigned samples_in(struct store_reader *r)
{
	struct store_chunk c;
	unsigned n = 0;

	while (store_next(r, &c, NULL) > 0)
		n += c.section == FMT_SAMPLE ? c.count : 0;
	return n;
}

/* Each header claims all that follows: trying each in full would take hours. */
TEST_WITH(false_headers_do_not_take_forever, new_path, remove_path)
{
	const size_t headers = 200000;
	struct fmt_file head = { .magic = FMT_MAGIC, .major = FMT_MAJOR, .header_size = sizeof(head) };
	FILE *f = fopen(path, "w");
	struct err e;
	struct store_reader *r;

	assert_non_null(f);
	fwrite(&head, sizeof(head), 1, f);
	for (size_t i = 0; i < headers; i++) {
		uint32_t rest = (uint32_t)((headers - i - 1) * sizeof(struct fmt_chunk));
		struct fmt_chunk c = { .magic = FMT_CHUNK_MAGIC,
				       .section = FMT_SAMPLE,
				       .flags = FMT_RAW,
				       .rec_size = 40,
				       .count = rest / 40,
				       .raw_size = rest,
				       .stored_size = rest };

		fwrite(&c, sizeof(c), 1, f);
	}
	fclose(f);
	r = store_open(path, &e);
	assert_non_null(r);
	assert_int_equal(samples_in(r), 0);
	assert_true(store_recovery(r)->torn);
	store_reader_free(r);
}

/* The search's budget must not get in the way of honest damage: every fifth chunk is broken. */
TEST_WITH(many_damaged_places, new_path, remove_path)
{
	struct err e;
	struct store_reader *r;
	FILE *f;
	unsigned char *bytes;
	struct stat st;
	unsigned broken = 0, chunks = 0;

	write_samples(20000, 50);
	assert_int_equal(stat(path, &st), 0);
	bytes = malloc((size_t)st.st_size);
	f = fopen(path, "r+");
	assert_int_equal(fread(bytes, 1, (size_t)st.st_size, f), st.st_size);
	for (size_t p = sizeof(struct fmt_file); p + sizeof(struct fmt_chunk) < (size_t)st.st_size;) {
		struct fmt_chunk c;

		memcpy(&c, bytes + p, sizeof(c));
		if (chunks++ % 5 == 2) {
			fseek(f, (long)(p + sizeof(c) + c.stored_size / 2), SEEK_SET);
			fputc(bytes[p + sizeof(c) + c.stored_size / 2] ^ 0x10, f);
			broken++;
		}
		p += sizeof(c) + c.stored_size;
	}
	fclose(f);
	free(bytes);
	r = store_open(path, &e);
	assert_non_null(r);
	assert_int_equal(samples_in(r), 20000 - broken * 50);
	assert_int_equal(store_recovery(r)->bad_chunks, broken);
	store_reader_free(r);
}

/* A chunk that says of records what cannot be: steps of what has no room for one, or changes of what is as it is. */
TEST_WITH(changes_that_cannot_be, new_path, remove_path)
{
	static const uint16_t flags[] = { FMT_RAW | FMT_STEPS, FMT_RAW | FMT_STEPS_TURNED, FMT_STEPS,
					  FMT_RAW | FMT_CHANGED };

	for (unsigned i = 0; i < 2 * sizeof(flags) / sizeof(flags[0]); i++) {
		struct fmt_file head = { .magic = FMT_MAGIC, .major = FMT_MAJOR, .header_size = sizeof(head) };
		uint32_t rec_size = i % 2 ? 4 : 0, raw[64] = { 0 };
		char packed[512];
		struct fmt_chunk c = { .magic = FMT_CHUNK_MAGIC,
				       .section = FMT_SAMPLE,
				       .flags = flags[i / 2],
				       .rec_size = rec_size,
				       .count = 64,
				       .raw_size = sizeof(raw) };
		FILE *f = fopen(path, "w");
		struct err e;
		struct store_reader *r;

		assert_non_null(f);
		c.stored_size = (uint32_t)ZSTD_compress(packed, sizeof(packed), raw, sizeof(raw), 1);
		c.xxh64 = XXH64(packed, c.stored_size, XXH64(&c, offsetof(struct fmt_chunk, xxh64), 0));
		fwrite(&head, sizeof(head), 1, f);
		fwrite(&c, sizeof(c), 1, f);
		fwrite(packed, c.stored_size, 1, f);
		fclose(f);
		r = store_open(path, &e);
		assert_non_null(r);
		assert_int_equal(samples_in(r), 0);
		assert_int_equal(store_recovery(r)->bad_chunks, 1);
		store_reader_free(r);
	}
}

TEST_WITH(cut_short_while_reading, new_path, remove_path)
{
	struct err e;
	struct store_reader *r;
	struct store_chunk c;
	struct stat st;

	write_samples(20000, 50);
	assert_int_equal(stat(path, &st), 0);
	r = store_open(path, &e);
	assert_non_null(r);
	assert_int_equal(store_next(r, &c, NULL), 1);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
	assert_true(samples_in(r) < 20000);
	assert_true(store_recovery(r)->torn);
	store_reader_free(r);
}

TEST_WITH(a_fifo_is_refused_at_once, new_path, remove_path)
{
	struct err e = { 0 };

	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(store_open(path, &e));
	assert_non_null(strstr(e.text, "not a regular file"));
}

#define PIECE (1u << 20)

/* `chunks` chunks of PIECE bytes that pack to next to nothing: one record again and again. */
static void write_inflating(unsigned section, uint32_t rec_size, const void *record, size_t len, unsigned chunks)
{
	struct fmt_file head = { .magic = FMT_MAGIC, .major = FMT_MAJOR, .header_size = sizeof(head) };
	char *raw = malloc(PIECE), *packed = malloc(ZSTD_compressBound(PIECE));
	FILE *f = fopen(path, "w");
	size_t n, used = PIECE / len * len;

	assert_true(raw && packed && f);
	for (size_t i = 0; i < used; i += len)
		memcpy(raw + i, record, len);
	n = ZSTD_compress(packed, ZSTD_compressBound(PIECE), raw, used, 19);
	fwrite(&head, sizeof(head), 1, f);
	for (unsigned i = 0; i < chunks; i++) {
		struct fmt_chunk c = { .magic = FMT_CHUNK_MAGIC,
				       .section = (uint16_t)section,
				       .rec_size = rec_size,
				       .count = (uint32_t)(used / len),
				       .raw_size = (uint32_t)used,
				       .stored_size = (uint32_t)n,
				       .seq = i };

		c.xxh64 = XXH64(packed, n, XXH64(&c, offsetof(struct fmt_chunk, xxh64), 0));
		fwrite(&c, sizeof(c), 1, f);
		fwrite(packed, n, 1, f);
	}
	fclose(f);
	free(raw);
	free(packed);
}

/* Peak memory, in KiB, of a process that loads it; *told: it says what is wrong with the file. */
static long memory_to_load(bool *told)
{
	struct rusage before, ru;
	int status;
	pid_t child = fork();

	if (!child) {
		struct err e = { 0 };
		struct profile *p = profile_load_as_stored(path, &e);

		_exit(p && !strstr(p->recovery, "times its size"));
	}
	assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
	assert_int_equal(wait4(child, &status, 0, &ru), child);
	assert_true(WIFEXITED(status));
	*told = !WEXITSTATUS(status);
	return ru.ru_maxrss - before.ru_maxrss;
}

/* Records of one byte become structs of a hundred; empty stacks of 12 bytes and empty symbols are kept, too. */
TEST_WITH(a_small_file_takes_little_memory, new_path, remove_path)
{
	static const struct {
		unsigned section;
		uint32_t rec_size;
		const char *record;
		size_t len;
	} bombs[] = {
		{ FMT_STACK, 0, "\x08\0\0\0\1\0\0\0\0\0\0\0", 12 },
		{ FMT_STACK, 0, "\x18\0\0\0\2\0\0\0\1\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 28 },
		{ FMT_FUNCTION, 1, "\3", 1 },
		{ FMT_MODULE, 1, "\3", 1 },
		{ FMT_X_FUNC, 1, "\3", 1 },
	};
	struct stat st;
	bool told;
	long kib;

	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
		write_inflating(bombs[i].section, bombs[i].rec_size, bombs[i].record, bombs[i].len,
				bombs[i].rec_size ? 20 : 400);
		assert_int_equal(stat(path, &st), 0);
		assert_true(st.st_size < 200 << 10);
		kib = memory_to_load(&told);
		/* 256 MiB: the audit's file of this size took 1.6 GB */
		if (kib > 256 << 10)
			fail_msg("bomb %zu of %lld bytes takes %ld KiB", i, (long long)st.st_size, kib);
		assert_true(told);
	}
}

/* As regular as a recording can be, and still told to be sound. */
TEST_WITH(an_honest_file_is_read_whole, new_path, remove_path)
{
	struct err e;
	struct store_reader *r;

	write_samples(300000, 50000);
	r = store_open(path, &e);
	assert_non_null(r);
	assert_int_equal(samples_in(r), 300000);
	assert_false(store_recovery(r)->swollen);
	store_rewind(r);
	assert_int_equal(samples_in(r), 300000);
	store_reader_free(r);
}
