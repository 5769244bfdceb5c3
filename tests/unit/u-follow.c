// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording that is read on, piece by piece, is the one that is read at once: each live golden profile, cut at many
 * places, also within a chunk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <glob.h>

#include "profile/follow.h"
#include "profile/shared.h"
#include "profile/time_shares.h"
#include "store/write.h"
#include "unit/temp_file.h"
#include "unit/unit.h"
#include "view/top.h"

#define GROUPS (PROFILE_SAMPLES | PROFILE_ORDER)
#define PIECES 9

static void moment_of(const struct profile *p, struct buf *out)
{
	struct shares s = { 0 };
	struct top_moment m = { 0 };
	struct err e = { 0 };

	assert_int_equal(shares_compute(p, &(struct shares_opts){ .thread = SHARES_ALL_THREADS }, &s, &e), 0);
	assert_int_equal(top_build(&(struct top_source){ .profile = p, .shares = &s }, &m), 0);
	top_json(&m, out);
	shares_release(&s);
	top_release(&m);
}

static void same_waits(const struct profile *a, const struct profile *b)
{
	assert_int_equal(a->wait_count, b->wait_count);
	for (size_t i = 0; i < a->wait_count; i++) {
		assert_int_equal(a->waits[i].stack, b->waits[i].stack);
		assert_int_equal(a->waits[i].count, b->waits[i].count);
		assert_float_equal(a->waits[i].ns, b->waits[i].ns, 0);
	}
}

static void same(const struct profile *a, const struct profile *b)
{
	AUTO_BUF(one);
	AUTO_BUF(other);

	moment_of(a, &one);
	moment_of(b, &other);
	assert_string_equal(one.data, other.data);
	assert_int_equal(a->function_count, b->function_count);
	assert_int_equal(a->line_count, b->line_count);
	assert_int_equal(a->frame_count, b->frame_count);
	assert_int_equal(a->stack_count, b->stack_count);
	assert_int_equal(a->module_count, b->module_count);
	assert_int_equal(a->counter_count, b->counter_count);
	assert_int_equal(a->cell_count, b->cell_count);
	for (size_t i = 0; i < a->counter_count; i++)
		assert_int_equal(a->counters[i].value, b->counters[i].value);
	for (size_t i = 0; i < a->stack_count && a->stack_seen; i++)
		assert_int_equal(a->stack_seen[i], b->stack_seen[i]);
	for (size_t i = 1; i < a->frame_count; i++)
		assert_string_equal(a->functions[a->lines[a->frames[i].first].function].name,
				    b->functions[b->lines[b->frames[i].first].function].name);
	same_waits(a, b);
	assert_int_equal(a->has_end, b->has_end);
	assert_int_equal(a->duration_ns, b->duration_ns);
	assert_int_equal(a->lost, b->lost);
	assert_string_equal(a->recovery, b->recovery);
}

static struct profile *at_once(struct err *e)
{
	return profile_load_with(path, GROUPS, NULL, 0, e);
}

static void in_pieces(const char *file)
{
	char bytes[200000];
	FILE *from = fopen(file, "r"), *to = fopen(path, "w");
	struct profile *p = NULL;
	struct err e = { 0 };
	size_t size, at = 0;

	assert_non_null(from);
	assert_non_null(to);
	size = fread(bytes, 1, sizeof(bytes), from);
	assert_true(size > 512 && size < sizeof(bytes));
	for (unsigned i = 1; i <= PIECES; i++) {
		size_t upto = i == PIECES ? size : 512 + (size - 512) * i * i / (PIECES * PIECES);
		struct profile *whole;

		assert_int_equal(fwrite(bytes + at, 1, upto - at, to), upto - at);
		assert_int_equal(fflush(to), 0);
		at = upto;
		p = p ? p : profile_open(path, &e);
		assert_non_null(p);
		assert_int_equal(profile_read_on(p, GROUPS, &e), 0);
		whole = at_once(&e);
		assert_non_null(whole);
		same(p, whole);
		profile_free(whole);
		assert_int_equal(profile_read_on(p, GROUPS, &e), 0); /* nothing came */
	}
	/* others' rows are read from it as from any other */
	assert_int_equal(profile_share_open(path, p, &e), 0);
	assert_ptr_equal(profile_open(path, &e), p);
	assert_int_equal(profile_read(p, GROUPS, NULL, 0, &e), 0);
	profile_free(p);
	profile_share_end();
	fclose(from);
	fclose(to);
}

TEST_WITH(every_live_profile, new_path, remove_path)
{
	glob_t found;

	assert_int_equal(glob("tests/golden/live-*.prof", 0, NULL, &found), 0);
	assert_int_equal(glob("tests/golden/[hkl]*.prof", GLOB_APPEND, NULL, &found), 0);
	assert_true(found.gl_pathc > 20);
	for (size_t i = 0; i < found.gl_pathc; i++)
		in_pieces(found.gl_pathv[i]);
	globfree(&found);
}

/* What is there already is not unpacked again: it may even be gone. */
TEST_WITH(only_what_is_new, new_path, remove_path)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct fmt_sample s = { .time = 5, .period = 10, .pid = 1, .tid = 1 };
	struct profile *p;
	long old;
	FILE *f;

	store_put(w, FMT_SAMPLE, &s, sizeof(s));
	assert_int_equal(store_flush(w, &e), 0);
	p = profile_open(path, &e);
	assert_int_equal(profile_read_on(p, GROUPS, &e), 0);
	assert_int_equal(p->samples[PROFILE_TIME], 1);
	f = fopen(path, "r+");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	old = ftell(f);
	fseek(f, old - 8, SEEK_SET);
	assert_int_equal(fwrite("damaged!", 1, 8, f), 8);
	fclose(f);
	store_put(w, FMT_SAMPLE, &s, sizeof(s));
	assert_int_equal(store_close(w, &e), 0);
	assert_int_equal(profile_read_on(p, GROUPS, &e), 0);
	assert_int_equal(p->samples[PROFILE_TIME], 2);
	profile_free(p);
}
