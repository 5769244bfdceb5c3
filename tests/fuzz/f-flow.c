// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile profile with accesses, windows, stacks, system calls and objects -> loader -> every
 * estimator -> every view. Input = repeated { section, size, data }; chunks get valid checksums.
 */
/* harm: damaged records of allocations */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/diff.h"
#include "flow/estimator_table.h"
#include "flow/estimators.h"
#include "flow/objects.h"
#include "flow/threads.h"
#include "flow/timeline.h"
#include "store/earlier.h"
#include "store/write.h"
#include "view/flow.h"
#include "view/flow_diff.h"
#include "view/heap_sites.h"
#include "view/object_map.h"
#include "view/objects.h"
#include "view/timeline.h"

static const struct {
	uint16_t section;
	uint16_t size; /* 0: variable */
} kinds[] = {
	{ FMT_ACCESS, sizeof(struct fmt_access) },
	{ FMT_ACCESS, sizeof(struct fmt_access) },
	{ FMT_WINDOW, 0 },
	{ FMT_STACK, 0 },
	{ FMT_SYMBOL, 0 },
	{ FMT_SYSIO, sizeof(struct fmt_sysio) },
	{ FMT_SYSIO_STRETCH, sizeof(struct fmt_sysio_stretch) },
	{ FMT_OBJECT, sizeof(struct fmt_object) },
	{ FMT_FUNCTION, sizeof(struct fmt_function) },
	{ FMT_SAMPLE, sizeof(struct fmt_sample) },
	{ FMT_MAPPING, sizeof(struct fmt_mapping) },
	{ FMT_X_SLICE, sizeof(struct fmt_x_slice) },
	{ FMT_X_USE, sizeof(struct fmt_x_use) },
	{ FMT_X_RUN, sizeof(struct fmt_x_run) },
	{ FMT_X_FUNC, sizeof(struct fmt_x_func) },
	{ FMT_FLOW, sizeof(struct fmt_flow) },
	{ FMT_FLOW_FUNCTION, sizeof(struct fmt_flow_function) },
	{ FMT_FLOW_EDGE, sizeof(struct fmt_flow_edge) },
	{ FMT_WINDOW_CALLS, 0 },
	{ FMT_X_SUBTREE, sizeof(struct fmt_x_subtree) },
	{ FMT_X_SUBTREE_KE, sizeof(struct fmt_x_subtree_ke) },
	{ FMT_X_PATH, sizeof(struct fmt_x_path) },
	{ FMT_X_PATH_EDGE, sizeof(struct fmt_x_path_edge) },
	{ FMT_X_OBJECT, sizeof(struct fmt_x_object) },
	{ FMT_X_REACH, sizeof(struct fmt_x_reach) },
	{ FMT_X_EXTENT, sizeof(struct fmt_x_extent) },
	{ FMT_X_MAP, sizeof(struct fmt_x_map) },
	{ FMT_BURST_SITE, sizeof(struct fmt_burst_site) },
	{ FMT_BURST_PAIR, sizeof(struct fmt_burst_pair) },
	{ FMT_BURST_DATA, 0 },
	{ FMT_BURST_PART, 0 },
	{ FMT_HEAP_TURN, sizeof(struct fmt_heap_turn) },
	{ FMT_HEAP_BLOCK, sizeof(struct fmt_heap_block) },
	{ FMT_HEAP_FREED, sizeof(struct fmt_heap_freed) },
	{ FMT_BURST_REVISIT, sizeof(struct fmt_burst_revisit) },
	{ FMT_EARLIER_SITE, sizeof(struct fmt_earlier_site) },
	{ FMT_EARLIER_PAIR, sizeof(struct fmt_earlier_pair) },
};

static void write_profile(const char *path, const uint8_t *data, size_t size)
{
	static const char *const names[] = { "f", "(kernel:read)", "app", "memset" };
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);

	if (!w)
		abort();
	for (int i = 0; i < 4; i++)
		store_string(w, names[i]);
	while (size >= 2) {
		unsigned kind = data[0] % (sizeof(kinds) / sizeof(kinds[0])), n = data[1];
		uint8_t rec[1024] = { 0 };

		data += 2;
		size -= 2;
		if (n > size)
			n = (unsigned)size;
		if (kinds[kind].size && n > kinds[kind].size)
			n = kinds[kind].size;
		memcpy(rec, data, n);
		if (kinds[kind].section == FMT_MAPPING)
			memset(rec + offsetof(struct fmt_mapping, module), 0, 4); /* no file is opened */
		if (kinds[kind].size)
			store_put(w, (enum fmt_section)kinds[kind].section, rec, kinds[kind].size);
		else
			store_put_var(w, (enum fmt_section)kinds[kind].section, rec, n, NULL, 0);
		data += n;
		size -= n;
	}
	store_close(w, &e);
}

static void show(const struct flow_input *in, const struct flow *f)
{
	struct flow_view v = { .flow = f, .source = "f", .rows = 5 };
	struct text_style style = { .width = 80, .colour = true };
	struct flow_diff d;
	struct err e = { 0 };
	AUTO_BUF(out);
	double sum = 0;

	for (uint32_t i = 0; i < f->func_count; i++)
		sum += f->funcs[i].in;
	if (!(fabs(sum - flow_total(f)) <= 1e-6 * (sum + 1)))
		abort();
	flow_text(&v, &style, &out);
	flow_json(&v, &out);
	flow_dot(&v, &out);
	flow_xml(&v, &out);
	if (!flow_diff(f, f, in, in, &d, &e)) {
		struct diff_view dv = { .diff = &d, .base = "a", .other = "b", .rows = 5, .all = true };

		flow_diff_text(&dv, &style, &out);
		flow_diff_json(&dv, &out);
		flow_diff_release(&d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[] = "/dev/shm/accperf-f-flow-XXXXXX";
	static int fd;
	struct est_opts o = EST_OPTS_DEFAULT;
	struct flow_input_opts io = { .main_image = size & 1, .stacks = true, .locals = true };
	struct text_style style = { .width = 80 };
	struct flow_input in;
#define X(name) #name,
	static const char *const estimators[] = { FLOW_ESTIMATORS(X) NULL };
#undef X
	struct flow_threads threads;
	struct flow f;
	struct timeline t;
	struct objects obj;
	struct err e = { 0 };

	if (!fd && (fd = mkstemp(path)) < 0)
		abort();
	write_profile(path, data, size);
	if (flow_input_load(&in, path, &io, &e))
		return 0;
	o.stack = size & 2;
	o.bootstraps = 2;
	o.inclusive = true;
	for (const char *const *est = estimators; *est; est++) {
		if (flow_estimate(&in, *est, &o, &f, &e))
			continue;
		show(&in, &f);
		flow_release(&f);
	}
	o.ke = true;
	if (!flow_estimate(&in, "fused", &o, &f, &e)) {
		show(&in, &f);
		flow_release(&f);
	}
	o.ke = false;
	if (!timeline_build(&in, 7, true, &t, &e)) {
		struct timeline_view v = { .t = &t, .rows = 5, .source = "f" };
		AUTO_BUF(out);

		timeline_text(&v, &style, &out);
		timeline_csv(&v, &out);
		timeline_svg(&v, &out);
		timeline_json(&v, &out);
		timeline_release(&t);
	}
	if (!objects_build(&in, true, &object_costs_default, 7, &obj, &e)) {
		struct objects_view v = { .o = &obj, .rows = 5, .source = "f" };
		AUTO_BUF(out);

		objects_text(&v, &style, &out);
		v.regions = true;
		objects_text(&v, &style, &out);
		objects_json(&v, &out);
		object_map_text(&in, &style, &out);
		object_map_json(&in, &out);
		object_map_svg(&in, &out);
		heap_sites_text(&(struct heap_sites_view){ &in, 5, "f" }, &style, &out);
		heap_sites_json(&(struct heap_sites_view){ &in, 5, "f" }, &out);
		objects_release(&obj);
	}
	if (!flow_threads_build(&in, &o, &threads, &e)) {
		struct flow_view v = { .flow = &threads.flow, .threads = &threads, .source = "f", .rows = 5 };
		AUTO_BUF(out);

		flow_text(&v, &style, &out);
		flow_json(&v, &out);
		flow_threads_release(&threads);
	}
	flow_input_release(&in);
	return 0;
}
