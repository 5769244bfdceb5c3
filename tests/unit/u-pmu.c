// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Encodings of memory events, compared with a list.
 *
 * NEVER RUN ON THIS HARDWARE: none of these processors was at hand. The list is written from Linux
 * 6.12, arch/x86/events/intel/core.c and ds.c, arch/x86/events/amd/ibs.c, drivers/perf/arm_spe_pmu.c
 * and arch/powerpc/perf/power{9,10}-events-list.h; rows marked libpfm are encoded a second time by
 * libpfm4 4.13, an independent table.
 */
#include <errno.h>

#include "kmod-free/pmu.h"
#include "unit/temp_folder.h"

enum { PLAIN, HYBRID };

static const struct golden {
	const char *name;
	unsigned model;
	int kind;
	const char *loads[2], *stores[2]; /* of cpu or cpu_core, and of cpu_atom; NULL: none */
} golden[] = {
#define LD(c) "config=" c " config1=0x3 config2=0 precise=2 user random"
#define ST(c) "config=" c " config1=0 config2=0 precise=2 user"
	{ "Nehalem", 0x1a, PLAIN, { LD("0x100b") }, { NULL } },
	{ "Nehalem-EX", 0x2e, PLAIN, { LD("0x100b") }, { NULL } },
	{ "Westmere-EP", 0x2c, PLAIN, { LD("0x100b") }, { NULL } },
	{ "Sandy Bridge", 0x2a, PLAIN, { LD("0x1cd") }, { ST("0x2cd") } },
	{ "Sandy Bridge-EP", 0x2d, PLAIN, { LD("0x1cd") }, { ST("0x2cd") } },
	{ "Ivy Bridge", 0x3a, PLAIN, { LD("0x1cd") }, { ST("0x2cd") } },
	{ "Ivy Bridge-EP", 0x3e, PLAIN, { LD("0x1cd") }, { ST("0x2cd") } },
	{ "Haswell", 0x3c, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Haswell-EP", 0x3f, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Broadwell", 0x3d, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Broadwell-EP", 0x4f, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Skylake", 0x5e, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Skylake-SP, Cascade Lake", 0x55, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Kaby Lake", 0x9e, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Comet Lake", 0xa5, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Ice Lake", 0x7e, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Ice Lake-SP", 0x6a, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Tiger Lake", 0x8c, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Rocket Lake", 0xa7, PLAIN, { LD("0x1cd") }, { ST("0x82d0") } },
	{ "Sapphire Rapids", 0x8f, PLAIN, { LD("0x1cd") " leader=0x8203" }, { ST("0x2cd") } },
	{ "Emerald Rapids", 0xcf, PLAIN, { LD("0x1cd") " leader=0x8203" }, { ST("0x2cd") } },
	{ "Granite Rapids", 0xad, PLAIN, { LD("0x1cd") }, { ST("0x2cd") } },
	{ "Alder Lake", 0x97, HYBRID, { LD("0x1cd") " leader=0x8203", LD("0x5d0") }, { ST("0x2cd"), ST("0x6d0") } },
	{ "Raptor Lake", 0xb7, HYBRID, { LD("0x1cd") " leader=0x8203", LD("0x5d0") }, { ST("0x2cd"), ST("0x6d0") } },
	{ "Meteor Lake", 0xaa, HYBRID, { LD("0x1cd"), LD("0x5d0") }, { ST("0x2cd"), ST("0x6d0") } },
	{ "Lunar Lake", 0xbd, HYBRID, { LD("0x1cd"), LD("0x5d0") }, { ST("0x2cd"), ST("0x6d0") } },
	{ "Sierra Forest", 0xaf, PLAIN, { LD("0x5d0") }, { ST("0x6d0") } },
	{ "Goldmont", 0x5c, PLAIN, { ST("0x81d0") }, { ST("0x82d0") } },
	{ "Tremont", 0x86, PLAIN, { ST("0x81d0") }, { ST("0x82d0") } },
	{ "Knights Landing", 0x57, PLAIN, { ST("0x4004") }, { ST("0x8004") } },
};

static void intel_fresh(int kind)
{
	clear();
	if (kind == HYBRID) {
		put("cpu_core/type", "4");
		put("cpu_atom/type", "10");
	} else {
		put("cpu/type", "4");
	}
}

static void compare(const struct golden *g, enum pmu_what what, const char *const want[2])
{
	struct pmu_cpu cpu = { .arch = PMU_X86_INTEL, .family = 6, .model = g->model };
	struct pmu_event ev[PMU_MAX_EVENTS];
	struct pmu_opts o = { 0 };
	struct err e = { 0 };
	int n = pmu_encode(&cpu, root, what, &o, ev, PMU_MAX_EVENTS, &e), expected = !!want[0] + !!want[1];

	if (!expected) {
		assert_true(n < 0);
		assert_true(strlen(e.text) > 10);
		return;
	}
	assert_int_equal(n, expected);
	for (int i = 0; i < n; i++) {
		char text[256], full[256];

		pmu_event_text(&ev[i], text, sizeof(text));
		snprintf(full, sizeof(full), "%s %s type=%d %s",
			 g->kind == HYBRID ? (i ? "cpu_atom" : "cpu_core") : "cpu",
			 what == PMU_LOADS ? "loads" : "stores", g->kind == HYBRID && i ? 10 : 4, want[i]);
		if (strcmp(text, full))
			printf("# %s: %s\n#   wanted %s\n", g->name, text, full);
		assert_string_equal(text, full);
		assert_int_equal(ev[i].from, PMU_FROM_TABLE);
		assert_true(ev[i].attr.sample_period > 100000 && ev[i].attr.sample_period % 2);
		assert_true(ev[i].attr.sample_type & PERF_SAMPLE_ADDR);
		assert_true(ev[i].attr.sample_type & PERF_SAMPLE_DATA_SRC);
	}
}

TEST(intel_table)
{
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		intel_fresh(golden[i].kind);
		compare(&golden[i], PMU_LOADS, golden[i].loads);
		compare(&golden[i], PMU_STORES, golden[i].stores);
	}
}

/* The kernel's own strings win over the table, whatever they say. */
TEST(sysfs_strings)
{
	struct pmu_cpu cpu = { .arch = PMU_X86_INTEL, .family = 6, .model = 0x8f };
	struct pmu_event ev[2];
	struct pmu_opts o = { .ldlat = 30, .prompt = true, .phys = true };
	struct perf_event_attr a = { 0 };
	char text[256], dir[128];

	intel_fresh(PLAIN);
	put("cpu/format/event", "config:0-7");
	put("cpu/format/umask", "config:8-15");
	put("cpu/format/ldlat", "config1:0-15");
	put("cpu/format/wide", "config:32-35,40-43");
	put("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
	put("cpu/events/mem-loads-aux", "event=0x03,umask=0x82");
	put("cpu/events/mem-stores", "event=0xcd,umask=0x2");
	assert_int_equal(pmu_encode(&cpu, root, PMU_LOADS, &o, ev, 2, NULL), 1);
	pmu_event_text(&ev[0], text, sizeof(text));
	assert_string_equal(text,
			    "cpu loads type=4 config=0x1cd config1=0x1e config2=0 precise=2 user random leader=0x8203");
	assert_int_equal(ev[0].from, PMU_FROM_SYSFS);
	assert_int_equal(ev[0].attr.wakeup_events, 1);
	assert_true(ev[0].attr.sample_type & PERF_SAMPLE_PHYS_ADDR);
	assert_int_equal(pmu_encode(&cpu, root, PMU_STORES, &o, ev, 2, NULL), 1);
	assert_int_equal(ev[0].attr.config, 0x2cd);
	/* an unknown model lives from sysfs alone, and without it says so */
	cpu.model = 0xfe;
	assert_int_equal(pmu_encode(&cpu, root, PMU_LOADS, &o, ev, 2, NULL), 1);
	snprintf(dir, sizeof(dir), "%s/cpu/format", root);
	assert_int_equal(pmu_parse_terms(dir, "event=0xcd,wide=0xab", &a), 0);
	assert_int_equal(a.config, 0xa0b000000cdull);
	assert_int_equal(pmu_parse_terms(dir, "wide=0x1ab", &a), -ERANGE);
	assert_int_equal(pmu_parse_terms(dir, "event=", &a), -EINVAL);
	assert_int_equal(pmu_parse_terms(dir, "nonsense=1", &a), -ENOENT);
	assert_int_equal(pmu_parse_terms(dir, "../type=1", &a), -EINVAL);
	intel_fresh(PLAIN);
	assert_true(pmu_encode(&cpu, root, PMU_LOADS, &o, ev, 2, NULL) < 0);
}

TEST(amd_ibs)
{
	struct pmu_cpu cpu = { .arch = PMU_X86_AMD, .family = 0x19, .model = 0x11 };
	struct pmu_event ev[2];
	struct pmu_opts o = { 0 };
	struct err e = { 0 };
	char text[256];

	clear();
	assert_true(pmu_encode(&cpu, root, PMU_MEMORY, &o, ev, 2, &e) < 0);
	assert_non_null(strstr(e.text, "ibs_op"));
	put("ibs_op/type", "11");
	put("ibs_op/format/cnt_ctl", "config:19");
	assert_int_equal(pmu_encode(&cpu, root, PMU_MEMORY, &o, ev, 2, &e), 1);
	pmu_event_text(&ev[0], text, sizeof(text));
	assert_string_equal(text, "ibs_op memory type=11 config=0x80000 config1=0 config2=0 precise=0");
	assert_int_equal(ev[0].attr.sample_period % 16, 0);
	/* before 6.14 every exclude bit is refused */
	assert_int_equal(ev[0].attr.exclude_kernel | ev[0].attr.exclude_hv, 0);
	put("ibs_op/format/swfilt", "config2:0");
	assert_int_equal(pmu_encode(&cpu, root, PMU_MEMORY, &o, ev, 2, &e), 1);
	pmu_event_text(&ev[0], text, sizeof(text));
	assert_string_equal(text, "ibs_op memory type=11 config=0x80000 config1=0 config2=0x1 precise=0 user");
	assert_int_equal(pmu_encode(&cpu, root, PMU_COUNT_LOADS, &o, ev, 2, &e), 1);
	assert_int_equal(ev[0].attr.config, 0x129);
}

TEST(arm_and_power)
{
	struct pmu_cpu cpu = { .arch = PMU_ARM64 };
	struct pmu_event ev[2];
	struct pmu_opts o = { .ldlat = 50 };
	struct err e = { 0 };
	char text[256];

	clear();
	assert_true(pmu_encode(&cpu, root, PMU_MEMORY, &o, ev, 2, &e) < 0);
	put("arm_spe_0/type", "9");
	put("arm_spe_0/format/ts_enable", "config:0");
	put("arm_spe_0/format/pa_enable", "config:1");
	put("arm_spe_0/format/pct_enable", "config:2");
	put("arm_spe_0/format/jitter", "config:16");
	put("arm_spe_0/format/branch_filter", "config:32");
	put("arm_spe_0/format/load_filter", "config:33");
	put("arm_spe_0/format/store_filter", "config:34");
	put("arm_spe_0/format/min_latency", "config2:0-11");
	assert_int_equal(pmu_encode(&cpu, root, PMU_MEMORY, &o, ev, 2, &e), 1);
	pmu_event_text(&ev[0], text, sizeof(text));
	assert_string_equal(text, "arm_spe_0 memory type=9 config=0x600010001 config1=0 config2=0x32 precise=0 user");
	cpu = (struct pmu_cpu){ .arch = PMU_POWER, .family = 9 };
	assert_int_equal(pmu_encode(&cpu, root, PMU_LOADS, &o, ev, 2, &e), 1);
	assert_int_equal(ev[0].attr.config, 0x34340401e0);
	assert_int_equal(pmu_encode(&cpu, root, PMU_STORES, &o, ev, 2, &e), 1);
	assert_int_equal(ev[0].attr.config, 0x343c0401e0);
	cpu.family = 10;
	assert_int_equal(pmu_encode(&cpu, root, PMU_LOADS, &o, ev, 2, &e), 1);
	assert_int_equal(ev[0].attr.config, 0x35340401e0);
	assert_int_equal(pmu_encode(&cpu, root, PMU_STORES, &o, ev, 2, &e), 1);
	assert_int_equal(ev[0].attr.config, 0x353c0401e0);
}

TEST(cpuinfo)
{
	struct pmu_cpu c;

	assert_int_equal(pmu_cpu_parse("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
				       "model name\t: Intel(R) Xeon(R) Platinum 8173M CPU @ 2.00GHz\nstepping\t: 4\n\n",
				       &c),
			 0);
	assert_int_equal(c.arch, PMU_X86_INTEL);
	assert_int_equal(c.model, 85);
	assert_int_equal(c.stepping, 4);
	assert_int_equal(
		pmu_cpu_parse("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n", &c),
		0);
	assert_int_equal(c.arch, PMU_ARM64);
	assert_int_equal(pmu_cpu_parse("processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n", &c), 0);
	assert_int_equal(c.arch, PMU_POWER);
	assert_int_equal(c.family, 9);
	assert_int_equal(pmu_cpu_parse("", &c), -ENODATA);
	assert_int_equal(pmu_cpu_parse("nothing of the kind", &c), -ENODATA);
}

/* The second opinion. */
TEST(against_libpfm)
{
	static const struct {
		const char *event;
		unsigned model;
		enum pmu_what what;
	} rows[] = {
		{ "nhm::MEM_INST_RETIRED:LATENCY_ABOVE_THRESHOLD:ldlat=3", 0x1a, PMU_LOADS },
		{ "snb::MEM_TRANS_RETIRED:LATENCY_ABOVE_THRESHOLD:ldlat=3", 0x2a, PMU_LOADS },
		{ "snb::MEM_TRANS_RETIRED:PRECISE_STORE", 0x2a, PMU_STORES },
		{ "ivb_ep::MEM_TRANS_RETIRED:PRECISE_STORE", 0x3e, PMU_STORES },
		{ "hsw::MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=3", 0x3c, PMU_LOADS },
		{ "hsw::MEM_UOPS_RETIRED:ALL_STORES", 0x3c, PMU_STORES },
		{ "bdw::MEM_UOPS_RETIRED:ALL_LOADS", 0x3d, PMU_COUNT_LOADS },
		{ "skl::MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=3", 0x5e, PMU_LOADS },
		{ "skx::MEM_INST_RETIRED:ALL_STORES", 0x55, PMU_STORES },
		{ "icx::MEM_INST_RETIRED:ALL_LOADS", 0x6a, PMU_COUNT_LOADS },
		{ "spr::MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=3", 0x8f, PMU_LOADS },
		{ "glm::MEM_UOPS_RETIRED:ALL_LOADS", 0x5c, PMU_LOADS },
		{ "tmt::MEM_UOPS_RETIRED:ALL_STORES", 0x86, PMU_STORES },
		{ "knl::MEM_UOPS_RETIRED:ALL_LOADS", 0x57, PMU_LOADS },
	};
	struct perf_event_attr a;
	struct err e = { 0 };

	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	if (pmu_libpfm("skl::MEM_INST_RETIRED:ALL_LOADS", &a, &e)) {
		printf("# %s\n", e.text);
		skip();
	}
	intel_fresh(PLAIN);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pmu_cpu cpu = { .arch = PMU_X86_INTEL, .family = 6, .model = rows[i].model };
		struct pmu_event ev[2];
		struct pmu_opts o = { 0 };

		assert_int_equal(pmu_libpfm(rows[i].event, &a, &e), 0);
		assert_int_equal(pmu_encode(&cpu, root, rows[i].what, &o, ev, 2, &e), 1);
		if (a.config != ev[0].attr.config || a.config1 != ev[0].attr.config1)
			printf("# %s: libpfm %#llx (%#llx), table %#llx (%#llx)\n", rows[i].event, a.config, a.config1,
			       ev[0].attr.config, ev[0].attr.config1);
		assert_int_equal(a.config, ev[0].attr.config);
		assert_int_equal(a.config1, ev[0].attr.config1);
	}
}

int main(void)
{
	return RUN_TESTS(new_root, remove_root);
}
