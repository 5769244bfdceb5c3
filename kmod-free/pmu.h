/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How to ask a processor for sampled loads and stores with their addresses: CPU model and sysfs
 * folder in, perf_event_attr out. A pure function of the two, so that encodings of processors that
 * nobody here owns can be compared with golden lists. Order of authority: sysfs event strings, our own
 * table, libpfm4. Included by record and tests.
 *
 * To add a processor: a row in the table of pmu.c, and one in the list of tests/unit/u-pmu.c with the
 * document it was taken from.
 */
#ifndef ACCPERF_KMOD_FREE_PMU_H
#define ACCPERF_KMOD_FREE_PMU_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

enum pmu_arch { PMU_X86_INTEL = 1, PMU_X86_AMD, PMU_ARM64, PMU_POWER };

struct pmu_cpu {
	enum pmu_arch arch;
	unsigned family, model, stepping; /* POWER: family = 9, 10 */
};

enum pmu_what {
	PMU_LOADS = 1, /* sampled, with addresses */
	PMU_STORES,
	PMU_MEMORY,       /* both in one event (IBS, SPE): the caller tells them apart */
	PMU_INSTRUCTIONS, /* sampled, for computation */
	PMU_COUNT_LOADS,  /* counting: LOAD_LATENCY picks loads at random, so totals come from here */
	PMU_COUNT_STORES,
};

enum pmu_source { PMU_FROM_SYSFS = 1, PMU_FROM_TABLE, PMU_FROM_LIBPFM };

struct pmu_event {
	char pmu[32]; /* "cpu", "cpu_core", "ibs_op"... */
	enum pmu_what what;
	enum pmu_source from;
	bool random; /* the hardware picks at random: period x samples is no count */
	bool has_leader;
	struct perf_event_attr attr, leader; /* open the leader first, then attr in its group */
};

struct pmu_opts {
	uint64_t period; /* 0: a prime of the right size */
	unsigned ldlat;  /* 0: 3, every load that the hardware can report */
	bool kernel, phys, page_size;
	bool prompt;   /* one record per interrupt, for arming watchpoints */
	bool batch;    /* many per interrupt: cheaper, but stamped with the kernel's own clock */
	unsigned salt; /* picks among primes, so that runs do not beat with loops in step */
};

#define PMU_MAX_EVENTS 12 /* of loads and stores, on all kinds of core; by hand */

/* From the text of /proc/cpuinfo; -ENODATA if it names nothing we know. */
int pmu_cpu_parse(const char *cpuinfo, struct pmu_cpu *out);
int pmu_cpu_read(struct pmu_cpu *out);

/* Events for `what`, one per PMU of a hybrid; sysfs is /sys/bus/event_source/devices or a snapshot of
 * it. Number of events or -errno with the reason. */
int pmu_encode(const struct pmu_cpu *cpu, const char *sysfs, enum pmu_what what, const struct pmu_opts *o,
	       struct pmu_event *out, int max, struct err *e);

/* "event=0xcd,umask=0x1,ldlat=3" with the PMU's format folder into config words; 0, -EINVAL. */
int pmu_parse_terms(const char *format_dir, const char *terms, struct perf_event_attr *attr);

/* By libpfm4, if it is installed: "skl::MEM_INST_RETIRED:ALL_LOADS"; -ENOSYS: it is not. */
int pmu_libpfm(const char *event, struct perf_event_attr *attr, struct err *e);

/* Text of an event for doctor and for the golden list: pmu type config config1 config2 precise. */
void pmu_event_text(const struct pmu_event *ev, char *text, size_t size);

#endif
