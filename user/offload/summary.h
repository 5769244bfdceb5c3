/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile's offload sections folded to one item per API call (its twins together), library, variant and level of
 * compression, with its call sites: counts, bytes, distributions, overlap, and the points for a fit. So nothing that
 * takes an item mixes levels.
 * Memory follows the number of items, not of calls. The file is hostile input. Included by advise, view and tests;
 * owns what it points to.
 */
#ifndef ACCPERF_OFFLOAD_SUMMARY_H
#define ACCPERF_OFFLOAD_SUMMARY_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "util/err.h"

/* A distribution in bins of a sixteenth of an octave: quantiles within 2.2 %. */
#define SPREAD_FINE 16
#define SPREAD_BINS (64 * SPREAD_FINE)
struct spread {
	double *bins;
	double total, sum, zeros;
	double squares; /* of the weights */
};
double spread_quantile(const struct spread *s, double q); /* NaN: empty */

struct offload_site {
	uint64_t addr;  /* caller in the process, 0: those for which there was no room */
	uint32_t pid;   /* one that called from there */
	uint32_t stack; /* id; 0 unknown */
	double calls, bytes, ns;
	struct spread time, bytes_of; /* from records, weighted; of the OFFLOAD_SITES_TIMED with most calls */
};
#define OFFLOAD_SITES_TIMED 16 /* places of call whose times are kept apart; by hand */

struct offload_octave { /* calls of 2^(k-1) <= bytes < 2^k; [0]: 0 bytes */
	double calls, bytes;
	double timed, ns; /* those without a context switch inside, and their time; if none, the others */
	double switched_ns;
	double few, few_ns; /* of the timed ones: too long and too few to stand for others (octaves.h) */
};
#define OFFLOAD_OCTAVES 65 /* 0, and each bit of a size */

struct offload_sample { /* one call for a fit */
	double bytes, ns;
	bool switched;
};
#define OFFLOAD_SAMPLES 4096 /* kept per item, drawn at random */

struct offload_item {
	const char *api, *name, *library; /* of the file's strings; never NULL */
	uint32_t variant, kind, group;
	bool levelled;     /* its calls are those at `level`; else at none that is known */
	int level;         /* operation_level() of what the API was told */
	double part;       /* of the calls of the same name, library and variant, at whatever level */
	double part_of_ns; /* of their CPU time */
	/* counted in the kernel, while probes were in place */
	uint64_t calls, bytes_in, bytes_out, failed, open, unknown_bytes, records, switched, faults;
	double host_ns; /* in these calls, less the probes' share; switched ones included */
	double host_cpu_ns;
	double probes_ns; /* what the probes added to these calls */
	/* times of single calls below this are not told from nothing: what was taken off them for the probe */
	double below_ns;
	double early_ns, late_ns; /* all its times may be too short, too long by so much */
	double excess_low_ns;     /* all are too long by so much, and by no more than late_ns; below 0: too short */
	unsigned classes;         /* bit of each enum fmt_probe_class among its symbols that were called */
	/* scaled to the recording */
	double estimate, low, high; /* calls; NaN: only the lower bound is known */
	bool put_off;               /* paced from outside, and probes put calls off: only the two ends are known */
	double observed;            /* share of the time in which probes were in place */
	uint64_t first, last;       /* of its library's stretches */
	/* from records, weighted */
	struct spread time, bytes, submit;
	double untimed;         /* records of calls of which only the beginning was seen */
	uint64_t untimed_calls; /* counted */
	double sync, blocked, async, inside, late, open_records; /* calls */
	/* of asynchronous calls: own work meanwhile, waiting, submit to completion */
	double overlap_ns, wait_ns, flight_ns;
	struct offload_octave octave[OFFLOAD_OCTAVES];
	double unknown_calls;          /* of unknown size */
	double work_items, work_calls; /* of kernels: items launched, by calls that tell */
	struct offload_site *sites;    /* most calls first */
	size_t sites_cnt;
	struct offload_sample *samples;
	size_t samples_cnt;
	double samples_seen;
};

struct profile;

struct offload_summary {
	struct offload_item *items; /* by host_ns, largest first */
	size_t items_cnt;
	struct fmt_offload_cost cost;
	bool has_cost, two_costs; /* emulated_*, too */
	uint64_t first, last;     /* of all stretches */
	uint64_t calls_total;     /* exact ones */
	/* lost: counted calls and records of calls that name a function which the file does not tell of, or too late */
	uint64_t nameless_calls, nameless_records;
	double hits_ns;             /* what probes took from the target */
	double placeless;           /* recorded calls in no site's distribution: there was no room for one more site */
	struct store_reader *owned; /* by offload_summary_load() */
	struct summary_private *priv;
};

/* NULL with a sentence: no file, damaged; no offload sections give a summary without items. */
struct offload_summary *offload_summary_load(const char *path, struct err *e);
/* The same of the processes that the filter takes; p has been read from the same file, and names them. */
struct filter;
struct offload_summary *offload_summary_load_part(const char *path, const struct filter *f, const struct profile *p,
						  struct err *e);
/* The same on a walk that is made anyway over r, which must outlive it. end(): 0 or -errno; free() in any case. */
struct section_reader;
struct store_reader;
struct offload_summary *offload_summary_begin(const struct store_reader *r, struct section_reader *reader,
					      struct err *e);
int offload_summary_end(struct offload_summary *s, struct err *e);
/* Calls were looked for, whether or not there was anything to probe. */
bool offload_looked_for(const struct profile *p, const struct offload_summary *s);
void offload_summary_free(struct offload_summary *s);

/* The same function's calls, at whatever level. */
bool offload_same_call(const struct offload_item *a, const struct offload_item *b);
/* The same, and at the same level, or none is known of either: one may be a measure for the other. */
bool offload_same_level(const struct offload_item *a, const struct offload_item *b);
/* Part of its calls, of all that the summary has, at levels other than its own, and at none that was seen. */
double offload_part_elsewhere(const struct offload_summary *s, const struct offload_item *it, double *unseen);
/* ", level 6"; "" where none is known, or the call has none. Of 24 bytes. */
const char *offload_level_text(const struct offload_item *it, char text[24]);
/* The name of the function behind an item: users' probes have names of their own, after a colon the symbol's. */
const char *offload_symbol(const struct offload_item *it);
/* So many of its calls as a rate: of the time from when its library could be probed to the recording's end, which is
 * what `estimate` is of. NaN: unknown. */
double offload_calls_per_s(const struct offload_item *it, double calls);
/* An API whose functions were probed in a library that a process has mapped, and none was called in any library. */
struct offload_unused {
	const char *api, *library; /* the first of its libraries */
};
/* Into out[0..max); how many of them. */
size_t offload_unused(const struct offload_summary *s, struct offload_unused *out, size_t max);

/* Most calls of an accelerator have a context switch inside, as they wait: it is theirs, and nobody's interference. */
bool offload_waits(const struct offload_item *it);
struct points;
/* The item's timed calls as points of a fit, less the sizes whose times are too short to be measured. `run`: enum
 * run_kind. */
int offload_points(const struct offload_item *it, unsigned run, struct points *pts, struct err *e);

/* Page faults in a call, mean; NaN: not counted, as in older files, or of a kind whose calls are not the thread's. */
static inline double offload_faults_per_call(const struct offload_summary *s, const struct offload_item *it)
{
	return s->has_cost && s->cost.fault_ns > 0 && it->calls && it->classes ? (double)it->faults / (double)it->calls
									       : NAN;
}

/* Their part of the time of its calls, 0 to 1, at the price of a first touch; NaN. */
static inline double offload_fault_share(const struct offload_summary *s, const struct offload_item *it)
{
	double each = offload_faults_per_call(s, it), ns = it->calls ? it->host_cpu_ns / (double)it->calls : NAN;

	return each > 0 && ns > 0 ? fmin(each * s->cost.fault_ns / ns, 1) : each == 0 ? 0 : NAN;
}

/* Its times had at most the smaller cost taken off: they are upper bounds. */
static inline bool offload_upper_bound(const struct offload_summary *s, const struct offload_item *it)
{
	return s->two_costs && (it->classes & 1u << FMT_PROBE_UNKNOWN);
}

/* The counter of libraries that were mapped before their probes were there: calls until then are not counted. */
#define OFFLOAD_PROBED_LATE "offload: libraries found already loaded, their first calls unseen"
/* Not there where the loading of one of them was not told. */
#define OFFLOAD_LATE_BY "offload: microseconds at most from the loading of such a library to its probes"
/* Whatever these called is not counted. */
#define OFFLOAD_CHILDREN_GONE "offload: forked children that ended before they could be probed"

#endif
