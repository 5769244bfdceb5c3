// SPDX-License-Identifier: GPL-2.0-or-later
/* Words that are looked at again: when, what is told of them, and what the estimator makes of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/rewrite_rate.h"
#include "format.h"
#include "record/revisits.h"
#include "store/read.h"
#include "unit/unit.h"

#define MS 1000000ull

static char path[] = "/tmp/u-revisits.XXXXXX";
static uint8_t memory[64];
static bool unmapped;
static unsigned reads;

static ssize_t look(uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	reads++;
	if (unmapped || addr + len > sizeof(memory))
		return -1;
	memcpy(buf, memory + addr, len);
	return (ssize_t)len;
}

struct told {
	struct fmt_burst_revisit rec[16];
	unsigned n;
};

static struct store_writer *begin(void)
{
	struct err e = { 0 };
	struct store_writer *w;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	w = store_create(path, 0, &e);
	assert_non_null(w);
	memset(memory, 0, sizeof(memory));
	unmapped = false;
	reads = 0;
	return w;
}

static void end(struct store_writer *w, struct told *t)
{
	struct err e = { 0 };
	struct store_reader *r;
	struct store_chunk c;

	memset(t, 0, sizeof(*t));
	assert_int_equal(store_close(w, &e), 0);
	r = store_open(path, &e);
	assert_non_null(r);
	while (store_next(r, &c, &e) > 0)
		for (uint32_t i = 0; c.section == FMT_BURST_REVISIT && i < c.count && t->n < 16; i++)
			store_rec(&c, i, &t->rec[t->n++], sizeof(t->rec[0]));
	store_reader_free(r);
	unlink(path);
	strcpy(path, "/tmp/u-revisits.XXXXXX");
}

static void polled(struct revisits *v, uint64_t from, uint64_t to)
{
	for (uint64_t now = from; now <= to; now += MS)
		assert_int_equal(revisits_poll(v, now), 0);
}

/* One changes between the second look and the third, one never does, one cannot be read at all. */
TEST(a_change_lies_between_two_looks)
{
	struct store_writer *w = begin();
	struct revisits *v = revisits_new(w, look);
	struct told t;

	assert_int_equal(revisits_add(v, 1, 7, 0, 8, MS), 0);
	assert_int_equal(revisits_add(v, 1, 8, 32, 64, MS), 0);
	assert_int_equal(revisits_add(v, 1, 9, 4096, 8, MS), 0);
	polled(v, MS, 40 * MS);
	memory[32 + REVISIT_BYTES] = 1; /* beyond what is looked at */
	memory[3] = 1;
	polled(v, 41 * MS, 2000 * MS);
	assert_true(reads < 20);
	assert_int_equal(revisits_end(v), 0);
	end(w, &t);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.rec[0].site, 7);
	assert_true(t.rec[0].same_ns >= 16 * MS && t.rec[0].same_ns < 20 * MS);
	assert_true(t.rec[0].changed_ns >= 67 * MS && t.rec[0].changed_ns < 70 * MS);
	assert_int_equal(t.rec[1].site, 8);
	assert_int_equal(t.rec[1].size, REVISIT_BYTES);
	assert_true(t.rec[1].same_ns > 1000 * MS && !t.rec[1].changed_ns);
	revisits_free(v);
}

/* What is known when a process goes, or its memory, is told; nothing that was never seen a second time. */
TEST(what_goes_away_is_told_as_far_as_it_is_known)
{
	struct store_writer *w = begin();
	struct revisits *v = revisits_new(w, look);
	struct told t;

	revisits_add(v, 1, 1, 0, 4, MS);
	revisits_add(v, 2, 2, 8, 4, MS);
	polled(v, MS, 10 * MS);
	revisits_add(v, 1, 3, 16, 4, 10 * MS);
	assert_int_equal(revisits_forget(v, 1), 0);
	unmapped = true;
	polled(v, 10 * MS, 100 * MS);
	assert_int_equal(revisits_end(v), 0);
	end(w, &t);
	assert_int_equal(t.n, 2);
	assert_true(t.rec[0].site == 1 && t.rec[0].same_ns >= 4 * MS && !t.rec[0].changed_ns);
	assert_true(t.rec[1].site == 2 && t.rec[1].same_ns >= 4 * MS && !t.rec[1].changed_ns);
	revisits_free(v);
}

TEST(too_many_are_counted)
{
	struct store_writer *w = begin();
	struct revisits *v = revisits_new(w, look);
	struct told t;

	for (unsigned i = 0; i < 1100; i++)
		assert_int_equal(revisits_add(v, 1, 1, 0, 4, MS), 0);
	assert_int_equal(revisits_dropped(v), 1100 - 1024);
	revisits_free(v);
	end(w, &t);
	assert_int_equal(t.n, 0);
}

/* Two instructions: what one reads changes within 50 ms, what the other reads never does. */
TEST(words_tell_what_is_never_written)
{
	struct in_site sites[2] = { { .func = 0 }, { .func = 0 } };
	struct in_revisit word[40];
	struct in_access ends[2] = { { .time = 0 }, { .time = 20000 * MS } };
	struct flow_input in = {
		.sites = sites, .site_count = 2, .revisit = word, .revisit_count = 40, .access = ends, .access_count = 2
	};
	struct est_opts o = { 0 };
	struct rewrite_rate s;

	for (unsigned i = 0; i < 40; i++)
		word[i] = i % 2 ? (struct in_revisit){ .site = 0, .same = 17e6, .changed = 67e6 }
				: (struct in_revisit){ .site = 1, .same = 4.3e9 };
	assert_int_equal(rewrite_rate_learn(&s, &in, &o), 0);
	assert_true(rewrite_rate_site(&s, 0) < 0.1);
	assert_true(rewrite_rate_site(&s, 1) > 0.9);
	assert_true(1 / s.rate[0] > 25e6 && 1 / s.rate[0] < 75e6);
	rewrite_rate_release(&s);
	/* without any word nothing is known: as likely as not */
	in.revisit_count = 0;
	assert_int_equal(rewrite_rate_learn(&s, &in, &o), 0);
	assert_true(fabs(rewrite_rate_site(&s, 0) - 0.5) < 0.01);
	rewrite_rate_release(&s);
}
