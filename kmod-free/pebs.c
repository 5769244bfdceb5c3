// SPDX-License-Identifier: GPL-2.0-or-later
/* PEBS: loads and stores with addresses on Intel processors, and retired instructions. */
#include <errno.h>
#include <stdio.h>

#include "kmod-free/hw.h"
#include "source.h"

static const struct hw_filter filter = { .exact_ip = true };

static int pebs_encode(const struct source_config *cfg, struct pmu_event *ev, int max, struct err *e)
{
	static const enum pmu_what wanted[] = { PMU_LOADS, PMU_STORES, PMU_INSTRUCTIONS, PMU_COUNT_LOADS,
						PMU_COUNT_STORES };
	struct pmu_opts o = { .period = cfg->period,
			      .ldlat = cfg->ldlat,
			      .kernel = cfg->kernel,
			      .phys = cfg->phys,
			      .page_size = cfg->page_size,
			      .prompt = cfg->prompt,
			      .batch = !cfg->prompt };
	struct pmu_cpu cpu;
	int n = 0;

	if (pmu_cpu_read(&cpu) || cpu.arch != PMU_X86_INTEL)
		return err_set(e, -ENODEV, "PEBS is Intel's; this is another processor");
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		int got = pmu_encode(&cpu, HW_SYSFS, wanted[i], &o, ev + n, max - n, i ? NULL : e);

		/* stores and totals are missing on some; loads are what it is about */
		if (got < 0 && !i)
			return got;
		n += got > 0 ? got : 0;
		o.salt++;
	}
	return n;
}

static int pebs_probe(char *text, size_t size, struct err *e)
{
	return hw_probe(pebs_encode, 10007, &filter, text, size, e);
}

static int pebs_open_source(struct sampling **out, const struct source_config *cfg, struct err *e)
{
	return hw_open(pebs_encode, &filter, out, cfg, e);
}

static const struct source_driver driver = {
	.bias = SOURCE_BY_RANDOM,
	.gives = SOURCE_LOADS | SOURCE_STORES | SOURCE_INSNS | SOURCE_LATENCY | SOURCE_PROMPT,
	.probe = pebs_probe,
	.open = pebs_open_source,
	HW_OPERATIONS,
};

const struct source source_pebs = {
	.name = "pebs",
	.summary = "loads and stores with addresses, Intel PEBS",
	.needs = "pebs",
	.driver = &driver,
};
