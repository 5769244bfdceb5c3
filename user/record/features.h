/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this machine, this kernel and these rights allow: each row is tried, not guessed from version
 * numbers, and says what was found, what follows from it, and the command that would enable what is
 * missing. Leaves nothing behind. Included by cli and tests.
 *
 * To add a feature: a row in the table of features.c and its probe, which sets state and detail and,
 * unless the state is FEATURE_YES, means and enable. `accperf doctor` and `accperf version` list it
 * without a further line; a test compares the two.
 */
#ifndef ACCPERF_RECORD_FEATURES_H
#define ACCPERF_RECORD_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kmod-free/pmu.h"

enum feature_state { FEATURE_UNKNOWN, FEATURE_NO, FEATURE_PARTLY, FEATURE_YES };
enum feature_group {
	FEATURE_RIGHTS, /* what the kernel's settings and this process's rights allow */
	FEATURE_SOURCE, /* what accperf can measure with */
	FEATURE_VIEW,   /* what it can show with */
};

struct feature {
	const char *name; /* stable, for scripts */
	const char *title;
	const char *command; /* the accperf command that uses it; NULL: all */
	enum feature_group group;
	enum feature_state state;
	char detail[320];  /* what was found */
	char means[320];   /* what follows for accuracy or cost */
	char enable[1200]; /* the command that would enable it */
};

#define FEATURES_MAX 32 /* rows of `accperf doctor`; asserted */

struct features {
	struct feature f[FEATURES_MAX];
	size_t count;
	char release[65], machine[65], cpu[80];
	long cpus;
};

/* Names, titles and groups only: touches nothing. */
void features_list(struct features *out);
/* The same, probed. Takes up to a second (uprobes are slow to detach). */
void features_probe(struct features *out);
const struct feature *features_find(const struct features *f, const char *name);
const char *feature_state_str(enum feature_state s);

/* For the probes' files only. */
void feature_set(struct feature *f, enum feature_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void feature_means(struct feature *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void feature_enable(struct feature *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* First line of a file, without its newline; false when it cannot be read. */
bool feature_line(const char *path, char *out, size_t size);
/* "chgrp, chmod, setcap ... /path/to/accperf", or "run it with sudo" where that would not do. */
void feature_enable_rights(struct feature *f, const char *capabilities);

void probe_timer(struct feature *f);
void probe_kernel_ticks(struct feature *f);
void probe_breakpoints(struct feature *f);
void probe_stray(struct feature *f);
void probe_pmu(struct feature *f);
void probe_pebs(struct feature *f);
void probe_ibs(struct feature *f);
void probe_spe(struct feature *f);
/* The row of one vendor's memory events, on this processor with this sysfs folder. */
void probe_memory_events(struct feature *f, const struct pmu_cpu *cpu, const char *sysfs, enum pmu_arch arch);
void probe_bpf(struct feature *f);
void probe_bpf_ring(struct feature *f);
void probe_uprobe_multi(struct feature *f);
void probe_uprobe_session(struct feature *f);
void probe_uprobe_pmu(struct feature *f);

#endif
