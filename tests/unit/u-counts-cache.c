// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of windows over recordings: what is kept, what is not, and files that are damaged or not ours. */
/* harm: a faked build-id; a file of another user */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counts/counts_cache.h"
#include "store/write.h"
#include "unit/unit.h"
#include "util/cachedir.h"
#include "unit/temp_folder.h"

/* One loop in one function: `windows` windows of 10 hits of the entry and 10 * ratio of the header. */
static uint64_t content = 0x77; /* of the file that says which build it is */

static void record_of(struct counts_record *r, unsigned windows, double ratio, uint64_t recording, uint8_t build)
{
	struct fmt_module m = {
		.id = 1, .kind = FMT_MOD_FILE, .build_id_len = 20, .build_id = { build }, .content = content
	};
	struct fmt_counts_func f = { .id = 1,
				     .module = 1,
				     .start = 0x1000,
				     .end = 0x1100,
				     .self_ns = 1e9,
				     .samples = 100,
				     .flags = FMT_CF_GRAPH | FMT_CF_COMPLETE };
	struct fmt_counts_node n[] = {
		{ .id = 1, .function = 1, .kind = FMT_CN_ENTRY, .addr = 0x1000, .instructions = 5 },
		{ .id = 2, .function = 1, .kind = FMT_CN_LOOP, .addr = 0x1010, .instructions = 5, .depth = 1 }
	};
	struct fmt_counts_link l[] = { { .id = 1, .parent = 1, .child = 2, .how = FMT_CL_RATIO },
				       { .id = 2, .parent = 0, .child = 1, .how = FMT_CL_RATE } };
	char path[96];
	struct store_writer *w;
	struct err e = { 0 };

	snprintf(path, sizeof(path), "%s/profile", root);
	w = store_create(path, 0, &e);
	assert_non_null(w);
	store_put(w, FMT_MODULE, &m, sizeof(m));
	store_put(w, FMT_COUNTS_FUNC, &f, sizeof(f));
	for (int i = 0; i < 2; i++) {
		store_put(w, FMT_COUNTS_NODE, &n[i], sizeof(n[i]));
		store_put(w, FMT_COUNTS_LINK, &l[i], sizeof(l[i]));
	}
	for (unsigned i = 0; i < windows; i++) {
		struct fmt_counts_window win = {
			.armed = i, .ended = i + 1, .link = 1, .anchor = 10, .child = 10 * ratio
		};

		store_put(w, FMT_COUNTS_WINDOW, &win, sizeof(win));
		win.link = 2;
		store_put(w, FMT_COUNTS_WINDOW, &win, sizeof(win));
	}
	assert_int_equal(store_close(w, &e), 0);
	assert_int_equal(counts_record_load(r, path, &e), 0);
	assert_int_equal(r->links, 2);
	assert_true(r->recording != 0);
	r->recording = recording;
}

static int add(int dir, unsigned windows, double ratio, uint64_t recording, uint8_t build)
{
	struct counts_record r;
	int n;

	record_of(&r, windows, ratio, recording, build);
	n = counts_cache_add(dir, &r);
	counts_record_release(&r);
	return n;
}

/* What a recording with few hits then makes of the link. */
static struct counts_ratio ratio_of(int dir, unsigned windows, double own, uint64_t recording, uint8_t build)
{
	struct counts_ratio ratio = { 0 };
	struct counts_record r;
	struct counts_built b;
	struct err e;

	record_of(&r, windows, own, recording, build);
	assert_true(counts_cache_fill(dir, &r) >= 0);
	assert_int_equal(counts_record_tree(&r, &b, &e), 0);
	for (size_t i = 0; i < b.tree.links; i++)
		if (b.tree.link[i].child == 2)
			ratio = b.tree.link[i].ratio;
	counts_built_release(&b);
	counts_record_release(&r);
	return ratio;
}

TEST(test_over_recordings)
{
	int dir = cachedir_open_path(root);
	struct counts_ratio r;

	assert_true(dir >= 0);
	assert_int_equal(ratio_of(dir, 1, 7, 9, 1).how, COUNTS_TIME);
	assert_int_equal(add(dir, 20, 7, 1, 1), 1); /* the ratio; no rate */
	assert_int_equal(add(dir, 20, 7, 1, 1), 0); /* the same recording again */
	r = ratio_of(dir, 1, 7, 9, 1);
	assert_int_equal(r.how, COUNTS_CACHED);
	assert_true(fabs(r.ratio - 7) < 0.01 && r.low < 5 && r.high > 9); /* one recording is no proof */
	assert_int_equal(ratio_of(dir, 1, 7, 1, 1).how, COUNTS_TIME);     /* its own sums are no second opinion */
	assert_int_equal(ratio_of(dir, 1, 7, 9, 2).how, COUNTS_TIME);     /* another build */
	content = 0x78;                                                   /* another file that claims the same build */
	assert_int_equal(ratio_of(dir, 1, 7, 9, 1).how, COUNTS_TIME);
	content = 0; /* one that others can write: nothing is kept, nothing believed */
	assert_int_equal(add(dir, 20, 9, 3, 1), 0);
	assert_int_equal(ratio_of(dir, 1, 7, 9, 1).how, COUNTS_TIME);
	content = 0x77;
	assert_int_equal(ratio_of(dir, 20, 3, 9, 1).how, COUNTS_RATIO); /* its own, if there is enough */
	/* recordings that disagree: the interval says so */
	assert_int_equal(add(dir, 20, 70, 2, 1), 1);
	r = ratio_of(dir, 1, 7, 9, 1);
	assert_true(r.low < 7 && r.high > 70);
	/* only the last few are kept */
	for (uint64_t k = 10; k < 40; k++)
		assert_int_equal(add(dir, 20, 5, k, 1), 1);
	r = ratio_of(dir, 1, 7, 9, 1);
	assert_true(fabs(r.ratio - 5) < 0.01 && r.windows == COUNTS_CACHE_RECORDINGS);
	close(dir);
}

TEST(test_not_ours)
{
	char path[128], command[256];
	int dir = cachedir_open_path(root);

	/* damage: not used, and replaced by what is good */
	snprintf(
		command, sizeof(command),
		"for f in %s/0* %s/[1-9a-f]*; do [ -f $f ] && printf x | dd of=$f bs=1 seek=70 conv=notrunc 2>/dev/null; done; true",
		root, root);
	assert_int_equal(system(command), 0);
	assert_int_equal(ratio_of(dir, 1, 7, 9, 1).how, COUNTS_TIME);
	assert_int_equal(add(dir, 20, 7, 1, 1), 1);
	assert_int_equal(ratio_of(dir, 1, 7, 9, 1).how, COUNTS_CACHED);
	close(dir);
	/* a folder that others may write to; a link */
	snprintf(path, sizeof(path), "%s/open", root);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_true(cachedir_open_path(path) < 0);
	snprintf(command, sizeof(command), "%s/link", root);
	assert_int_equal(symlink(root, command), 0);
	assert_true(cachedir_open_path(command) < 0);
}

int main(void)
{
	return RUN_TESTS(new_root, remove_root);
}
