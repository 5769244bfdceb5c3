// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile profile -> edge table -> comparison with itself -> views. The writer gives the chunks valid
 * checksums, which would otherwise stop a fuzzer at the door: input = repeated { section, rec_size,
 * count, data }.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/compare.h"
#include "flow/estimators.h"
#include "store/write.h"
#include "view/compare.h"

static void judge(const struct flow *f, const struct flow *g)
{
	static const struct compare_opts opts = { .fold_outside = true };
	struct text_style style = { .width = 80 };
	struct flow_compare c;
	struct err e = { 0 };
	AUTO_BUF(out);

	if (flow_compare(f, g, &opts, &c, &e) == 0) {
		struct compare_view v = { &c, f, g, "a", "b", 10, { "a", "b" } };

		if (c.top10.found > c.top10.top || c.covered > c.coverable || !(c.tv >= 0) || c.tv > 1 + 1e-9)
			abort();
		compare_text(&v, &style, &out);
		compare_json(&v, &out);
		flow_compare_release(&c);
	}
}

static void write_profile(const char *path, const uint8_t *data, size_t size)
{
	static const char *const names[] = { "f", "(kernel:read)", "app", "(kernel)" }; /* strings 1 to 4 */
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);

	if (!w)
		abort();
	for (int i = 0; i < 4; i++)
		store_string(w, names[i]);
	while (size >= 4) {
		unsigned int section = data[0] % 96, rec_size = data[1], count = data[2];

		data += 4;
		size -= 4;
		/* texts would be paths, which the loader opens */
		if (section <= FMT_STRING || section == FMT_MODULE || section == FMT_MAPPING)
			section = FMT_X_EDGE;
		for (; count && rec_size && rec_size <= size; count--, data += rec_size, size -= rec_size)
			store_put(w, (enum fmt_section)section, data, rec_size);
	}
	store_close(w, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[] = "/dev/shm/accperf-f-edges-XXXXXX";
	static int fd;
	struct est_opts o = EST_OPTS_DEFAULT;
	struct flow_input in;
	struct flow quad, ke;
	struct err e = { 0 };

	if (!fd && (fd = mkstemp(path)) < 0)
		abort();
	write_profile(path, data, size);
	if (flow_input_load(&in, path, NULL, &e))
		return 0;
	o.stack = true;
	o.bootstraps = 2;
	if (!flow_estimate(&in, NULL, &o, &quad, &e)) {
		judge(&quad, &quad);
		o.ke = true;
		if (!flow_estimate(&in, NULL, &o, &ke, &e)) {
			ke.semantics = FLOW_QUAD; /* as an estimate of the other: names match, figures do not */
			judge(&quad, &ke);
			flow_release(&ke);
		}
		flow_release(&quad);
	}
	flow_input_release(&in);
	return 0;
}
