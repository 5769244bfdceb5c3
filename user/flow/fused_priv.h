/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fused estimator from within. Included by its files: fused.c gathers the evidence and says in which order all is
 * done, fused_refit.c adds it up, once or for one resampling, fused_result.c makes edges with intervals of the sums.
 */
#ifndef ACCPERF_FLOW_FUSED_PRIV_H
#define ACCPERF_FLOW_FUSED_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/bursts.h"
#include "flow/edge_ids.h"
#include "flow/last_writer.h"
#include "flow/place.h"
#include "flow/resample.h"
#include "flow/rewrite_rate.h"
#include "flow/writer_error.h"

#define LEAST_VALID 1e-6 /* a poor record still tells where nothing else does */
#define PRIOR 2.0        /* rule A counts as much as this many windows at one load instruction */

/* What a cell stands for. Nobody was seen to write there: either nobody did (STAYS, before the recording), or
 * it was missed (MOVES, to the others known to write what this instruction reads). */
enum cell_kind { KNOWN, STAYS, MOVES };

/* (load instruction, producer, kind): what all evidence is added up by. */
struct fused_cell {
	uint32_t site, producer, edge;
	uint32_t alike; /* index into fit.alike_group: this producer at all instructions alike */
	enum cell_kind kind;
};

struct read_part {
	uint32_t cell;
	float part;
};

struct evidence {
	uint32_t cell, window;
	double weight;
};

struct fused_fit {
	const struct flow_input *in;
	const struct est_opts *o;
	struct last_writer c;
	struct fused_cell *cell;
	uint32_t cell_count;
	size_t cell_cap;
	struct map cell_at;  /* kind << 62 ^ site << 32 ^ producer */
	uint32_t *read_cell; /* by read */
	struct store_places place;
	struct read_part *read_part; /* who may have written what a read took; by read, from read_first[] on */
	size_t read_parts, read_part_cap, *read_first;
	double *read_right; /* by read: probability that its record tells who writes there, if not recently */
	double *read_valid; /* by read: probability that nobody else has written since its record */
	struct evidence *ev;
	size_t ev_count, ev_cap;
	uint32_t *site_func;       /* by site; FLOW_NONE: no read there */
	uint32_t *unknown_edge;    /* by site, from nobody known; FLOW_NONE: no read there */
	double *site_size;         /* mean bytes of a read at this site */
	bool *late;                /* by window */
	struct bursts bursts;      /* what was written shortly before it was read */
	uint32_t *burst_cell;      /* by bursts.writer */
	struct rewrite_rate still; /* whether memory that nobody was seen to write ever changes */
	uint32_t *group;           /* by site: instructions of one function that read as many bytes */
	uint32_t group_count;
	uint32_t *alike_group, *alike_edge;
	uint32_t alike_count;
	size_t alike_cap, alike_cap2;
	struct map alike_at; /* group << 32 | producer */
	struct edge_ids edges;
};

/* Which of the two sources a refit uses. */
enum fused_use { USE_CASCADE = 1, USE_WINDOWS = 2, USE_BOTH = 3 };

struct fused_scratch {
	double *a, *e;                      /* by cell */
	double *firm;                       /* of a: told by the very place */
	double *any;                        /* by site: bytes with a writer by any evidence, neighbourhoods, too */
	double *volume, *seen;              /* by site: bytes, window evidence */
	double *alike, *group;              /* bytes of known producers at instructions alike: of one, of all */
	double *known, *moves;              /* by site: bytes of known producers, and those that go there, too */
	double *stale;                      /* by site: bytes whose record is too old */
	double *recent;                     /* by cell: bytes that bursts saw written */
	double *before;                     /* by cell: evidence of what had been written before the burst */
	double *before_site, *before_stale; /* by site: all of that, and whose record is too old */
	double *left;                       /* by site: bytes of the volume that are not recent */
	double *damped, *kept;              /* by site: evidence that is left when what bursts saw is taken off */
	double *edge;                       /* result */
	double *block;                      /* that all of them lie in */
	size_t numbers;
};

/* How often everything counts in a refit, by read, window and part of the bursts; the third is in f->bursts then. */
struct fused_drawn {
	uint8_t *read, *window, *part, *call;
	double (*call_factor)[CALL_MEASURES]; /* by stretch in which system calls were observed */
};

/* Of figures by refits: as one recording may differ from the next, and as both may be wrong. */
enum scatter { BY_CHANCE, IN_ALL, SCATTERS };

struct parts {
	double *fused, *cascade, *windows, *n, *near;
	struct writer_error we;
};

/* fused_refit.c. drawn NULL: everything once. */
void fused_refit(const struct fused_fit *f, enum fused_use use, const struct fused_drawn *drawn,
		 struct fused_scratch *s);
/* false: no memory. */
bool fused_scratch(struct fused_scratch *s, const struct fused_fit *f);

/* fused_result.c */
void fused_support(const struct fused_fit *f, double *n, double *near);
int fused_writer_errors(const struct fused_fit *f, const double *edge, struct writer_error *we);
/* What earlier recordings told, from the same refit. */
void fused_earlier(const struct fused_fit *f, const struct fused_scratch *s, struct flow *out);
/* `guessed` and `unseen` of a flow whose stores were drawn by time, from a refit of everything once. 0 or -ENOMEM. */
int fused_guesses(const struct fused_fit *f, const struct fused_scratch *s, struct flow *out);
int fused_result(const struct fused_fit *f, enum fused_use use, const struct parts *p, const struct resample_spread *sp,
		 struct edge_sums *t, struct flow *out);
int fused_unique(const struct fused_fit *f, struct flow *out);

#endif
