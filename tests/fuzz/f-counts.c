// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile sections of execution counts -> record -> tree -> solver -> rows -> views. Input = repeated
 * { section, size, data }; chunks get valid checksums. Ids are folded into a few, so that records find
 * each other.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/write.h"
#include "view/counts.h"

static const struct {
	uint16_t section, size;
} kinds[] = {
	{ FMT_COUNTS_FUNC, sizeof(struct fmt_counts_func) }, { FMT_COUNTS_NODE, sizeof(struct fmt_counts_node) },
	{ FMT_COUNTS_BLOCK, sizeof(struct fmt_counts_block) }, { FMT_COUNTS_LINK, sizeof(struct fmt_counts_link) },
	{ FMT_COUNTS_LINK, sizeof(struct fmt_counts_link) }, { FMT_COUNTS_WINDOW, sizeof(struct fmt_counts_window) },
	{ FMT_SYMBOL, 0 }, { FMT_FUNCTION, sizeof(struct fmt_function) },
};

static void fold(uint8_t *at, uint32_t below)
{
	uint32_t id;

	memcpy(&id, at, sizeof(id));
	id %= below;
	memcpy(at, &id, sizeof(id));
}

static void put(struct store_writer *w, unsigned kind, uint8_t *rec, unsigned n)
{
	switch (kinds[kind].section) {
	case FMT_COUNTS_FUNC:
		fold(rec, 8);
		break;
	case FMT_COUNTS_NODE:
		fold(rec, 24);
		fold(rec + offsetof(struct fmt_counts_node, function), 8);
		break;
	case FMT_COUNTS_LINK:
		fold(rec, 40);
		fold(rec + offsetof(struct fmt_counts_link, parent), 24);
		fold(rec + offsetof(struct fmt_counts_link, child), 24);
		fold(rec + offsetof(struct fmt_counts_link, how), 6);
		break;
	case FMT_COUNTS_WINDOW:
		fold(rec + offsetof(struct fmt_counts_window, link), 40);
		/* a window that says nothing is no test: three of them make a ratio */
		for (int i = 0; i < 3; i++)
			store_put(w, FMT_COUNTS_WINDOW, rec, kinds[kind].size);
		return;
	}
	if (kinds[kind].size)
		store_put(w, (enum fmt_section)kinds[kind].section, rec, kinds[kind].size);
	else
		store_put_var(w, (enum fmt_section)kinds[kind].section, rec, n, NULL, 0);
}

static void write_profile(const char *path, const uint8_t *data, size_t size)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);

	if (!w)
		abort();
	store_string(w, "f\033[31m");
	while (size >= 2) {
		unsigned kind = data[0] % (sizeof(kinds) / sizeof(kinds[0])), n = data[1];
		uint8_t rec[256] = { 0 };

		data += 2;
		size -= 2;
		n = n > size ? (unsigned)size : n;
		if (kinds[kind].size && n > kinds[kind].size)
			n = kinds[kind].size;
		memcpy(rec, data, n);
		put(w, kind, rec, n);
		data += n;
		size -= n;
	}
	if (store_close(w, &e))
		abort();
}

static void show(const struct counts_record *rec, const struct profile *p)
{
	struct text_style style = { .width = 80, .colour = true };
	struct counts_report r;
	struct err e = { 0 };

	if (counts_report_make(rec, p, 100, &r, &e))
		return;
	for (size_t i = 0; i < r.row_count; i++)
		if (r.row[i].trust < 0 || r.row[i].trust > 1)
			abort();
	for (int i = 0; i < 2; i++) {
		struct counts_view v = { .r = &r, .rows = 20, .source = "fuzz" };
		AUTO_BUF(out);

		if (i)
			counts_json(&v, &out);
		else
			counts_text(&v, &style, &out);
	}
	counts_report_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct counts_record rec;
	struct err e = { 0 };
	struct profile *p;

	snprintf(path, sizeof(path), "/tmp/accperf-f-counts.%d", (int)getpid());
	write_profile(path, data, size);
	if (!counts_record_load(&rec, path, &e)) {
		p = profile_load_as_stored(path, &e);
		if (p)
			show(&rec, p);
		profile_free(p);
		counts_record_release(&rec);
	}
	unlink(path);
	return 0;
}
