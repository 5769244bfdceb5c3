// SPDX-License-Identifier: GPL-2.0-or-later
/* IBS op sampling on AMD: one event for all operations; what is neither load nor store is dropped. */
#include <errno.h>
#include <stdio.h>

#include "kmod-free/hw.h"
#include "source.h"

static const struct hw_filter filter = { .need_mem_op = true };

static int ibs_encode_one(const struct source_config *cfg, struct pmu_event *ev, int max, struct err *e)
{
	static const enum pmu_what totals[] = { PMU_COUNT_LOADS, PMU_COUNT_STORES };
	struct pmu_opts o = { .period = cfg->period,
			      .kernel = cfg->kernel,
			      .phys = cfg->phys,
			      .page_size = cfg->page_size,
			      .prompt = cfg->prompt };
	struct pmu_cpu cpu;
	int n;

	if (pmu_cpu_read(&cpu) || cpu.arch != PMU_X86_AMD)
		return err_set(e, -ENODEV, "IBS is AMD's; this is another processor");
	n = pmu_encode(&cpu, HW_SYSFS, PMU_MEMORY, &o, ev, max, e);
	for (unsigned i = 0; n > 0 && i < 2; i++) {
		int got = pmu_encode(&cpu, HW_SYSFS, totals[i], &o, ev + n, max - n, NULL);

		n += got > 0 ? got : 0;
	}
	return n;
}

static int ibs_probe(char *text, size_t size, struct err *e)
{
	return hw_probe(ibs_encode_one, 20000, &filter, text, size, e);
}

static int ibs_open_source(struct sampling **out, const struct source_config *cfg, struct err *e)
{
	return hw_open(ibs_encode_one, &filter, out, cfg, e);
}

static const struct source_driver driver = {
	.bias = SOURCE_BY_COUNT,
	.gives = SOURCE_LOADS | SOURCE_STORES | SOURCE_LATENCY | SOURCE_PROMPT,
	.probe = ibs_probe,
	.open = ibs_open_source,
	HW_OPERATIONS,
};

const struct source source_ibs = {
	.name = "ibs",
	.summary = "loads and stores with addresses, AMD IBS op sampling",
	.needs = "ibs",
	.driver = &driver,
};
