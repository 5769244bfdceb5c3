// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the offload code takes from others, told apart by the first byte: an ELF file's symbols and
 * markers ('E'), an --offload-probe ('P'), a function's first bytes ('I'), the offload sections of a profile ('S':
 * section, then its records, in chunks of the fuzzer's making).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/profile.h"
#include "kmod-free/elfsym.h"
#include "kmod-free/uprobe_self.h"
#include "offload/api.h"
#include "offload/summary.h"
#include "store/write.h"
#include "view/offload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int symbol(void *ctx, const struct elfsym *s)
{
	return !strlen(s->name);
}

static int marker(void *ctx, const struct elfsym_marker *m)
{
	return strlen(m->provider) + strlen(m->name) + strlen(m->args) > 100000;
}

static void elf(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1); /* libelf may write to what it is given */
	struct elfsym_info info;
	struct err e;

	if (!copy)
		return;
	memcpy(copy, data, size);
	elfsym_walk_memory(copy, size, symbol, NULL, &info, &e);
	elfsym_markers_memory(copy, size, marker, NULL, &e);
	free(copy);
}

static void probe(const uint8_t *data, size_t size)
{
	struct offload_user_probe p;
	char *text = malloc(size + 1);
	struct err e;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = 0;
	if (!offload_spec_parse(text, &p, &e) && (!p.symbol[0] || !p.library[0] || !p.name[0]))
		abort();
	free(text);
}

static const struct {
	enum fmt_section section;
	uint32_t size;
} sections[] = {
	{ FMT_OFFLOAD_API, sizeof(struct fmt_offload_api) },
	{ FMT_CALL, sizeof(struct fmt_call) },
	{ FMT_OFFLOAD_HIST, sizeof(struct fmt_offload_hist) },
	{ FMT_OFFLOAD_TOTAL, sizeof(struct fmt_offload_total) },
	{ FMT_OFFLOAD_WINDOW, sizeof(struct fmt_offload_window) },
	{ FMT_OFFLOAD_COST, sizeof(struct fmt_offload_cost) },
	{ FMT_END, sizeof(struct fmt_end) },
	{ FMT_COST, sizeof(struct fmt_cost) },
};

static void profile(const uint8_t *data, size_t size)
{
	char path[64];
	struct offload_summary *s;
	struct store_writer *w;
	struct profile *p;
	struct err e;

	snprintf(path, sizeof(path), "/tmp/f-offload.%d", (int)getpid());
	w = store_create(path, 0, &e);
	if (!w)
		return;
	store_string(w, "zlib");
	store_string(w, "deflate");
	store_string(w, "/lib/libz.so.1");
	while (size > 1) {
		unsigned which = *data % (sizeof(sections) / sizeof(*sections));
		uint8_t rec[256] = { 0 };
		uint32_t n = sections[which].size;

		memcpy(rec, data + 1, n < size - 1 ? n : size - 1);
		store_put(w, sections[which].section, rec, n);
		data += 1 + (n < size - 1 ? n : size - 1);
		size -= 1 + (n < size - 1 ? n : size - 1);
	}
	store_close(w, NULL);
	s = offload_summary_load(path, &e);
	p = profile_load(path, &e);
	if (s && p) {
		struct offload_view v = { .file = "fuzz", .profile = p, .summary = s };
		struct text_style style = { .width = 80 };
		AUTO_BUF(text);
		AUTO_BUF(json);

		offload_text(&v, &style, &text);
		offload_json(&v, &json);
	}
	offload_summary_free(s);
	profile_free(p);
	unlink(path);
}

/* In a block of its own size, so that a byte too many is seen; more bytes never unsettle a verdict. */
static void first_bytes(const uint8_t *data, size_t size)
{
	enum self_kind before = SELF_KINDS;

	for (size_t n = 0; n <= size && n <= 16; n++) {
		uint8_t *copy = malloc(n ? n : 1);
		enum self_kind kind;

		if (!copy)
			return;
		memcpy(copy, data, n);
		kind = self_kind_of(copy, n);
		free(copy);
		if (kind > SELF_KINDS || (before != SELF_KINDS && kind != before))
			abort();
		before = kind;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (*data) {
	case 'E': elf(data + 1, size - 1); break;
	case 'P': probe(data + 1, size - 1); break;
	case 'I': first_bytes(data + 1, size - 1); break;
	case 'S': profile(data + 1, size - 1); break;
	}
	return 0;
}
