/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of a program could be handed to an accelerator: functions with all they call, sets that the user names,
 * chains of candidates whose traffic is mostly between them, offloads that are made already. Of every function of
 * ADVISE_LARGE and more that is none: why not. Pure: works on struct advise_input, which gather.c fills from a profile
 * and tests by hand. Included by this room alone. Owns what candidates_release() frees; names stay the input's.
 *
 * To add a reason: a branch in reason_of() of candidates.c, in the order in which one outweighs the next, and a case in
 * u-advise.c. To add a figure: a field of struct candidate, its line in candidates.c, its key in view/advise_json.c.
 */
#ifndef ACCPERF_ADVISE_CANDIDATES_H
#define ACCPERF_ADVISE_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advise/figure.h"
#include "advise/predict.h"
#include "util/err.h"

#define ADVISE_LARGE 0.01  /* share of the time from which on a function is told of */
#define ADVISE_BELONGS 0.9 /* of a function's time: what is under another for so much is that one's */

struct operation;

/* Rates are per second of elapsed time, of all processes and threads. NaN: unknown. */
struct advise_function {
	const char *name, *object;
	double self;         /* shares of the CPU time */
	struct figure share; /* with all it calls */
	struct figure calls_per_s;
	const char *calls_from;     /* exact, probes, counts, segments, time (over that of a call); NULL: nothing did */
	double in, in_low, in_high; /* bytes per second, with all it calls, across the border */
	double out, out_low, out_high;
	double compute;          /* arithmetic and logical instructions per second, with all it calls */
	double array_share;      /* of the distinct addresses: in objects of a kilobyte and more */
	double kernel;           /* of the time, in system calls below it that do input and output; 0: none seen */
	double kernel_most;      /* of it, that of the call that takes most */
	const char *kernel_call; /* that one; NULL: none */
	double memory;           /* of the time, in other system calls below it: memory, locks, time */
	double memory_most;
	const char *memory_call;
	const char *calls_back; /* a function of another object that it calls back into; NULL */
	bool inlined;           /* never seen as a call of its own */
	bool system;            /* the kernel's, or a pseudo-function */
	bool unnamed;
	unsigned kinds;                    /* 1 << enum catalogue_kind that the name tells */
	const struct operation *operation; /* the same, more closely; NULL: it tells nothing */
	bool stream;                       /* an API of pieces: one call is not one buffer */
	/* Of a function whose calls were seen at several levels: they stand as functions of their own, from
	 * `first_level` on, and only they are judged; 0: at one level, or none is known. */
	uint32_t first_level, levels;
	bool of_level; /* is one of those: what lies above and below it, and its edges, are the whole's */
	bool levelled; /* all its calls are at `level` */
	int level;
	double part; /* of the function's calls, at whatever level; NaN: no probe saw them */
	/* probed calls; none: sizes 0 */
	struct predict_size *size;
	size_t sizes;
	struct figure ns_per_call; /* measured call by call; NaN: by share and calls */
	double cold;               /* ns a byte that a call may take less, as the probe left its data cold */
	struct figure timed;       /* the same, were what the probe takes beyond its measured price known */
	struct figure beside;      /* ns that each call takes more, whatever its size: of the probe's price; value 0 */
	double p50, p90, p99, scv, wait_share;
	bool wait_of_all;            /* wait_share: of all calls, and no probe made them much longer */
	double shortest;             /* ns: shorter calls cannot be timed, one by one; NaN: none was timed */
	double failed_share;         /* of an offload's calls: the host does them again; NaN */
	double faults_per_call;      /* of pages; NaN: not counted */
	double fault_share;          /* of its calls' time, some; NaN */
	struct figure wait_ns;       /* off the CPU per second of elapsed time, with all it calls; NaN: not observed */
	double ready_ns;             /* of that, another thread had the CPU */
	struct figure thread_share;  /* of the CPU time of the thread that spends most in it, with all it calls */
	struct figure elapsed_share; /* the same, of that thread's elapsed time */
	struct figure t0, C, beta;
	const char *no_curve;                    /* why these are unknown, of calls that were probed; NULL */
	struct figure argument_in, argument_out; /* bytes a call, as its arguments say */
	bool offload;                            /* its calls are an accelerator's already */
	struct figure counterpart_speedup;       /* an offload made already: host's time over its own, as measured */
	double counterpart_below;                /* share of its calls that the host does faster */
	double counterpart_g1;                   /* bytes; NaN */
	const char *doubt;                       /* why the two cannot be compared; NULL */
};

struct advise_edge {
	uint32_t from, to;    /* functions; ADVISE_ELSEWHERE: constants, what was written before, the kernel */
	double bytes, unique; /* per second; unique: distinct addresses in all, NaN unknown */
	bool before;          /* from: written before recording began, or never */
};
#define ADVISE_ELSEWHERE UINT32_MAX

/* Time of `below` while `above` is on the stack, as share of all. */
struct advise_nesting {
	uint32_t above, below;
	double share;
};

struct advise_input {
	struct advise_function *function;
	size_t functions;
	struct advise_edge *edge;
	size_t edges;
	struct advise_nesting
		*nesting; /* of functions of ADVISE_LARGE and more; from ADVISE_BELONGS on, all if probed */
	size_t nestings;
	bool has_time, has_flow, has_counts;
	double seconds;   /* recorded; NaN */
	double cpu_per_s; /* ns of CPU time per second of elapsed time */
	double taken;     /* of that, the recording's own: ticks, hits, probes; part of it, 0 to 1; NaN taken as 0 */
	double threads;   /* that took a hundredth of the time and more */
	double switch_ns; /* of a thread; NaN */
	/* of the catalogue's devices: what any of them takes at least for a call and for a byte; NaN: no catalogue */
	double least_overhead_ns, least_ns_per_byte;
	const char *least_overhead_device;
	const char *uncounted; /* why calls are unknown, and what helps; NULL: nothing counted them */
	bool uncountable;      /* the machine measures no counts of functions: only a probe counts */
	/* labels: META_LABELS, NULL: none */
	const char *engine, *machine, *labels;
	char *text; /* names kept for it; gather.c */
};

enum candidate_kind { CANDIDATE_FUNCTION, CANDIDATE_SET, CANDIDATE_CHAIN, CANDIDATE_OFFLOAD };

struct candidate {
	enum candidate_kind kind;
	char *name;
	uint32_t *function; /* of the input: members, a chain's in the order of the data */
	size_t functions;
	struct figure calls_per_s, ns_per_call;
	double p50, p90, p99;              /* ns; NaN */
	struct figure bytes_in, bytes_out; /* per call, across the border */
	struct figure unique_in, unique_out, resident;
	struct figure ops_per_byte;
	struct figure share;
	struct figure wait_share;                  /* of the time between entry and return of its calls: off the CPU */
	double ready_part;                         /* of that: another thread had the CPU; NaN */
	struct figure thread_share, elapsed_share; /* of one function: see there */
	double within;                             /* chain: share of the stages' traffic that stays inside */
	unsigned kinds;
	const struct operation *operation;
	bool levelled; /* of one function: as there */
	int level;
	double part;
	bool stream;
	struct predict_work work;             /* for predict(); points into the input */
	const struct advise_function *probed; /* where sizes and curve are from; NULL */
	char reason[360];                     /* "": judged */
};

struct candidates {
	struct candidate *at; /* judged ones first, by share */
	size_t count, cap;
	double seconds; /* recorded; NaN */
	bool failed;
};

/* A set as the user names it: functions by name. */
struct advise_set {
	const char *name;
	const char *const *function;
	size_t functions;
};

/* 0, -ENOMEM, -ENOENT with a sentence that offers the nearest names. */
int candidates_find(const struct advise_input *in, const struct advise_set *set, size_t sets, struct candidates *out,
		    struct err *e);
void candidates_release(struct candidates *c);
/* With no figure known; what the name tells is. */
struct advise_function advise_function_unknown(const char *name, const char *object);
unsigned advise_kinds(const struct operation *operation); /* 1 << enum catalogue_kind; NULL: 0 */
void advise_input_release(struct advise_input *in);
/* Its calls are known from below only: the value is the least. */
bool candidate_rate_is_bound(const struct candidate *c);
/* ", level 6 (30.0% of its calls)"; "": none is known. */
const char *candidate_level_text(const struct candidate *c, char text[64]);
const char *candidate_kind_str(enum candidate_kind k);

#endif
