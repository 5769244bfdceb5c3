// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chunks of a hostile profile -> edge table -> comparison with itself -> views. The chunks skip the
 * file's checksums, which would stop a fuzzer at the door: input = repeated { section, rec_size, count,
 * data }.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/compare.h"
#include "flow/truth.h"
#include "store/write.h"
#include "view/compare.h"

/* A profile that defines strings 1 to 4, for names. */
static struct store_reader *names(void)
{
	static char path[] = "/tmp/accperf-f-edges-XXXXXX";
	struct err e = { 0 };
	struct store_writer *w;
	struct store_reader *r;
	struct store_chunk c;
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	close(fd);
	w = store_create(path, 0, &e);
	store_string(w, "f");
	store_string(w, "(kernel:read)");
	store_string(w, "app");
	store_string(w, "(kernel)");
	if (!w || store_close(w, &e))
		abort();
	r = store_open(path, &e);
	unlink(path);
	while (r && store_next(r, &c, &e) > 0)
		;
	return r;
}

static void judge(const struct flow *f, const struct flow *g)
{
	static const struct compare_opts opts = { .fold_outside = true };
	struct text_style style = { .width = 80 };
	struct flow_compare c;
	struct err e = { 0 };
	AUTO_BUF(out);

	if (flow_compare(f, g, &opts, &c, &e) == 0) {
		struct compare_view v = { &c, f, g, "a", "b", 10 };

		if (c.top10.found > c.top10.top || c.covered > c.coverable || !(c.tv >= 0) || c.tv > 1 + 1e-9)
			abort();
		compare_text(&v, &style, &out);
		compare_json(&v, &out);
		flow_compare_release(&c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct store_reader *r;
	struct flow_truth t = { 0 };
	struct flow quad, ke;
	struct err e = { 0 };

	if (!r)
		r = names();
	while (size >= 4) {
		struct store_chunk c = { .section = (uint16_t)(data[0] % 48), .rec_size = data[1] };
		size_t n = data[2] * (size_t)c.rec_size;

		data += 4;
		size -= 4;
		if (n > size)
			n = c.rec_size ? size / c.rec_size * c.rec_size : 0;
		c.count = c.rec_size ? (uint32_t)(n / c.rec_size) : ~0u;
		c.data = data;
		c.size = n;
		data += n;
		size -= n;
		if (flow_truth_chunk(&t, &c, &e))
			break;
	}
	flow_init(&quad);
	flow_init(&ke);
	if (!flow_truth_flow(&t, r, FLOW_QUAD, FLOW_STACK_INCLUDE, &quad, &e)) {
		judge(&quad, &quad);
		if (!flow_truth_flow(&t, r, FLOW_KE, FLOW_STACK_INCLUDE, &ke, &e)) {
			ke.semantics = FLOW_QUAD; /* as an estimate of the other: all names match, no figure does */
			judge(&quad, &ke);
		}
	}
	flow_release(&quad);
	flow_release(&ke);
	flow_truth_release(&t);
	return 0;
}
