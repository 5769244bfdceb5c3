// SPDX-License-Identifier: GPL-2.0-or-later
/* Files made to harm their reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "store/read.h"
#include "store/write.h"

static char path[64];

static int setup(void **state)
{
	int fd;

	strcpy(path, "/tmp/accperf-u-hostile-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	return unlink(path);
}

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
static void false_headers_do_not_take_forever(void **state)
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
		struct fmt_chunk c = { .magic = FMT_CHUNK_MAGIC, .section = FMT_SAMPLE, .flags = FMT_RAW, .rec_size = 40,
				       .count = rest / 40, .raw_size = rest, .stored_size = rest };

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
static void many_damaged_places(void **state)
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

static void cut_short_while_reading(void **state)
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

static void a_fifo_is_refused_at_once(void **state)
{
	struct err e = { 0 };

	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(store_open(path, &e));
	assert_non_null(strstr(e.text, "not a regular file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(false_headers_do_not_take_forever, setup, teardown),
		cmocka_unit_test_setup_teardown(many_damaged_places, setup, teardown),
		cmocka_unit_test_setup_teardown(cut_short_while_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(a_fifo_is_refused_at_once, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
