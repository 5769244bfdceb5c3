// SPDX-License-Identifier: GPL-2.0-or-later
/* What earlier recordings saw: what is kept of one, what a later one reads of it, and what it is worth there. */
/* harm: damaged cache files */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "flow/bursts.h"
#include "flow/earlier_kept.h"
#include "flow/earlier_worth.h"
#include "store/earlier.h"
#include "store/write.h"
#include "unit/unit.h"
#include "util/cachedir.h"
#include "unit/temp_folder.h"

#define LOAD_IP 0x1010
#define STORE_IP 0x1110
#define DAY 86400
static uint8_t build = 1;
static uint64_t content = 0x77; /* of the file that says which build it is */

static void put_module(struct store_writer *w)
{
	struct fmt_module m = { .id = 1,
				.kind = FMT_MOD_FILE,
				.path = store_string(w, "/bin/program"),
				.build_id_len = 20,
				.build_id = { build },
				.content = content };

	store_put(w, FMT_MODULE, &m, sizeof(m));
}

/* A load that `bursts` bursts met: of 400 bytes the store wrote 300, 8 instructions before. */
static void put_own(struct store_writer *w, uint32_t bursts)
{
	struct fmt_burst_site site[] = {
		{ .id = 1, .module = 1, .ip = LOAD_IP, .load_bytes = 400, .bursts = bursts },
		{ .id = 2, .module = 1, .ip = STORE_IP, .store_bytes = 300, .bursts = bursts }
	};
	struct fmt_burst_pair pair[] = { { .reader = 1, .writer = 2, .bin = 3, .bytes = 100 }, /* as of then */
					 { .reader = 1, .writer = 2, .bin = 3, .bytes = 300 },
					 { .reader = 1, .writer = 0, .bin = 5, .bytes = 100 } };

	for (int i = 0; i < 2; i++)
		store_put(w, FMT_BURST_SITE, &site[i], sizeof(site[i]));
	for (int i = 0; i < 3; i++)
		store_put(w, FMT_BURST_PAIR, &pair[i], sizeof(pair[i]));
}

static void put_earlier(struct store_writer *w)
{
	struct fmt_earlier_site site[] = { { .id = 1, .module = 1, .ip = LOAD_IP, .bursts = 10 },
					   { .id = 2, .module = 1, .ip = STORE_IP },
					   { .id = 3, .module = 1, .ip = 0x5000, .bursts = 10 } };
	struct fmt_earlier_pair pair[] = { { .reader = 1, .writer = 2, .bin = 3, .bytes = 500 },
					   { .reader = 3, .writer = 2, .bin = 3, .bytes = 500 } };

	for (int i = 0; i < 3; i++)
		store_put(w, FMT_EARLIER_SITE, &site[i], sizeof(site[i]));
	for (int i = 0; i < 2; i++)
		store_put(w, FMT_EARLIER_PAIR, &pair[i], sizeof(pair[i]));
}

static const char *profile_of(uint32_t bursts, bool earlier)
{
	static char path[96];
	struct store_writer *w;
	struct err e = { 0 };

	snprintf(path, sizeof(path), "%s/profile", root);
	w = store_create(path, 0, &e);
	assert_non_null(w);
	put_module(w);
	if (bursts)
		put_own(w, bursts);
	if (earlier)
		put_earlier(w);
	assert_int_equal(store_close(w, &e), 0);
	return path;
}

static uint64_t key_now(void)
{
	uint8_t id[20] = { build };
	uint64_t key = earlier_key(id, 20, content);

	return earlier_key_in(key, key);
}

/* Bursts that are kept of the load, and bytes of its writer. */
static void kept_now(int dir, uint64_t now, double *bursts, double *bytes)
{
	struct earlier_kept k;

	*bursts = *bytes = 0;
	earlier_load(dir, key_now(), now, &k);
	for (size_t i = 0; i < k.loads; i++)
		*bursts += k.load[i].ip == LOAD_IP ? (double)k.load[i].bursts : 0;
	for (size_t i = 0; i < k.writers; i++)
		*bytes += k.writer[i].ip == STORE_IP && k.writer[i].bin == 3 ? (double)k.writer[i].bytes : 0;
	earlier_release(&k);
}

TEST(what_bursts_saw_is_kept_and_fades)
{
	int dir = cachedir_open_path(root);
	double bursts, bytes;
	struct err e = { 0 };

	assert_int_equal(earlier_keep(dir, profile_of(20, false), 1000 * DAY, &e), 1);
	kept_now(dir, 1000 * DAY, &bursts, &bytes);
	assert_true(fabs(bursts - 20) < 1e-3 && fabs(bytes - 300) < 1e-3);
	/* a month later, and by a clock that went back */
	kept_now(dir, 1030 * DAY, &bursts, &bytes);
	assert_true(fabs(bursts - 10) < 1e-3 && fabs(bytes - 150) < 1e-3);
	kept_now(dir, 900 * DAY, &bursts, &bytes);
	assert_true(fabs(bursts - 20) < 1e-3);
	/* another recording: the first counts less */
	assert_int_equal(earlier_keep(dir, profile_of(5, false), 1000 * DAY, &e), 1);
	kept_now(dir, 1000 * DAY, &bursts, &bytes);
	assert_true(fabs(bursts - (.8 * 20 + 5)) < 1e-3 && fabs(bytes - 1.8 * 300) < 1e-3);
	close(dir);
	clear();
}

TEST(what_was_told_from_the_cache_is_not_kept_again)
{
	int dir = cachedir_open_path(root);
	double bursts, bytes;
	struct err e = { 0 };

	assert_int_equal(earlier_keep(dir, profile_of(0, true), 1000 * DAY, &e), 0);
	assert_int_equal(earlier_keep(dir, profile_of(20, true), 1000 * DAY, &e), 1);
	kept_now(dir, 1000 * DAY, &bursts, &bytes);
	assert_true(fabs(bursts - 20) < 1e-3 && fabs(bytes - 300) < 1e-3);
	close(dir);
	clear();
}

TEST(another_file_or_a_damaged_one_tells_nothing)
{
	int dir = cachedir_open_path(root), file;
	double bursts, bytes;
	struct err e = { 0 };
	char name[32];

	assert_int_equal(earlier_keep(dir, profile_of(20, false), 1000 * DAY, &e), 1);
	build = 2; /* another build */
	kept_now(dir, 1000 * DAY, &bursts, &bytes);
	assert_true(bursts == 0 && bytes == 0);
	build = 1;
	content = 0x78; /* another file that claims to be this build */
	kept_now(dir, 1000 * DAY, &bursts, &bytes);
	assert_true(bursts == 0 && bytes == 0);
	content = 0; /* nobody knows which file it is */
	assert_int_equal(earlier_keep(dir, profile_of(20, false), 1000 * DAY, &e), 0);
	content = 0x77;
	snprintf(name, sizeof(name), "w%016lx", (unsigned long)key_now());
	file = openat(dir, name, O_RDWR);
	assert_true(file >= 0);
	assert_int_equal(pwrite(file, "\xff", 1, 60), 1);
	close(file);
	kept_now(dir, 1000 * DAY, &bursts, &bytes);
	assert_true(bursts == 0 && bytes == 0);
	close(dir);
	clear();
}

TEST(only_loads_that_the_recording_met_are_told_of)
{
	struct flow_input in;
	struct err e = { 0 };

	assert_int_equal(flow_input_load(&in, profile_of(20, true), &(struct flow_input_opts){ 0 }, &e), 0);
	assert_int_equal(in.earlier_site_count, 1);
	assert_int_equal(in.earlier_pair_count, 1);
	assert_int_equal(in.sites[in.earlier_pair[0].reader].ip, LOAD_IP);
	assert_true(in.earlier_pair[0].writer != FLOW_NONE && in.earlier_pair[0].bytes == 500);
	flow_input_release(&in);
	assert_int_equal(flow_input_load(&in, profile_of(20, true), &(struct flow_input_opts){ .no_earlier = true },
					 &e),
			 0);
	assert_int_equal(in.earlier_site_count + in.earlier_pair_count, 0);
	flow_input_release(&in);
	clear();
}

enum { READER, WRITER, OTHER, FUNCS };

/* One load that 4 bursts met now, and `then` before: now all was WRITER's, then `who`'s. */
static void learn(struct bursts *b, float then, uint32_t who)
{
	static struct in_site sites[] = { { .func = READER }, { .func = WRITER } };
	static struct in_burst_site met = { 0, 4 };
	static struct in_burst_pair pair = { .reader = 0, .writer = 1, .bin = 2, .bytes = 100 };
	struct in_earlier_site earlier = { 0, (double)then };
	struct in_earlier_pair past = { .reader = 0, .writer = who, .bin = 2, .bytes = 900 };
	const struct flow_input in = { .sites = sites,
				       .site_count = 2,
				       .func_count = FUNCS,
				       .burst_site = &met,
				       .burst_site_count = 1,
				       .burst_pair = &pair,
				       .burst_pair_count = 1,
				       .earlier_site = &earlier,
				       .earlier_site_count = then > 0,
				       .earlier_pair = &past,
				       .earlier_pair_count = then > 0 };

	assert_int_equal(bursts_learn(b, &in, true), 0);
}

TEST(what_agrees_makes_surer_and_is_told_apart)
{
	struct bursts without, with;

	learn(&without, 0, WRITER);
	learn(&with, 36, WRITER);
	assert_true(fabs(without.writer[0].part - 4. / 5) < 1e-9);
	assert_true(with.writer[0].part > .9 && with.older[0] < without.older[0]);
	assert_true(without.writer[0].then == 0);
	assert_true(with.writer[0].then > .3 && with.writer[0].then < with.writer[0].part);
	assert_int_equal(with.compared, 1);
	assert_int_equal(with.dropped, 0);
	bursts_release(&without);
	bursts_release(&with);
}

TEST(refits_draw_it_anew)
{
	struct flow_input in = { .earlier_pair = &(struct in_earlier_pair){ .reader = 0, .bytes = 1 },
				 .earlier_pair_count = 1,
				 .earlier_site = &(struct in_earlier_site){ 0, 4 },
				 .earlier_site_count = 1,
				 .sites = &(struct in_site){ .func = 0 },
				 .site_count = 1 };
	double worth = 1, drawn = 0, sum = 0, squares = 0;
	struct bursts b = { .sites = 1, .worth = &worth, .drawn = &drawn };
	uint64_t seed = 7;
	const int n = 20000;

	for (int i = 0; i < n; i++) {
		bursts_draw_earlier(&b, &in, &seed);
		sum += drawn;
		squares += drawn * drawn;
	}
	/* four bursts: a mean of 1, and a variance of a quarter */
	assert_true(fabs(sum / n - 1) < .02);
	assert_true(fabs(squares / n - 1 - .25) < .05);
}

/* Two writers and nobody, of ten functions with one load each. */
static double worth_where(double now_first, double then_first, double bursts)
{
	struct earlier_compared load[10];
	struct earlier_part_of part[30];
	double worth[11];

	for (uint32_t i = 0; i < 10; i++) {
		load[i] =
			(struct earlier_compared){ .func = i, .now = bursts, .then = 40, .first = 3 * i, .writers = 3 };
		part[3 * i] = (struct earlier_part_of){ now_first, then_first };
		part[3 * i + 1] = (struct earlier_part_of){ 1 - now_first, 1 - then_first };
		part[3 * i + 2] = (struct earlier_part_of){ 0, 0 };
	}
	assert_int_equal(earlier_worth(load, 10, part, worth, 11), 0);
	/* one that this recording did not meet: as those that it met */
	assert_true(fabs(worth[10] - worth[0]) < .2);
	return worth[0];
}

TEST(it_is_worth_what_it_foretells)
{
	assert_true(worth_where(.7, .7, 20) > .8);
	/* the other one writes now */
	assert_true(worth_where(0, 1, 20) < EARLIER_DROPPED);
	/* nothing tells either way */
	assert_true(worth_where(.7, .7, 0) > .2 && worth_where(.7, .7, 0) < .5);
}

int main(void)
{
	return RUN_TESTS(new_root, remove_root);
}
