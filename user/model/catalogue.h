/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A catalogue of accelerators: what `accperf calibrate` measured, and the paper's devices, in one JSON
 * format (accperf.accelerators/1, described in LOGCA.md). No file I/O: text in, text out. Included by
 * advise, view and tests.
 *
 * To add a member: a field in struct catalogue_entry, read in catalogue_terms.c, written in catalogue_write.c, a row in
 * CATALOGUE.md. Unknown members of an entry are ignored, so older readers stay right; those within it are errors.
 */
#ifndef ACCPERF_CATALOGUE_H
#define ACCPERF_CATALOGUE_H

#include "model/logca.h"
#include "offload/points.h"
#include "util/buf.h"

#define CATALOGUE_SCHEMA "accperf.accelerators/1"
#define CATALOGUE_NOTES 8      /* sentences to an entry; by hand */
#define CATALOGUE_THRESHOLDS 8 /* of one entry; by hand */

enum catalogue_design {
	CATALOGUE_SYNC,    /* the caller waits */
	CATALOGUE_SYNC_OS, /* it sleeps, another thread runs */
	CATALOGUE_ASYNC,   /* it goes on */
	CATALOGUE_DESIGNS,
};

/* What kinds of work a device takes; a candidate has one or none. Append-only, names in catalogue.c. */
enum catalogue_kind {
	CATALOGUE_COPY,
	CATALOGUE_CHECKSUM,
	CATALOGUE_HASH,
	CATALOGUE_CIPHER,
	CATALOGUE_COMPRESS,
	CATALOGUE_DECOMPRESS,
	CATALOGUE_MATRIX,
	CATALOGUE_VECTOR,
	CATALOGUE_KINDS,
};

/* NaN: unknown; low and high equal to the value where no uncertainty is stated. */
struct catalogue_value {
	double v, low, high;
};

/* What is known of T1 alone, without a host to compare with. */
struct catalogue_terms {
	struct catalogue_value o, L; /* L per call (indep) or per byte (dep) */
	struct catalogue_value B;    /* computation: B g^beta */
	struct catalogue_value A;    /* instead of B: so many times faster than the host's own code */
	double beta;
	enum logca_latency kind;
};

/* A size from which (up to which) a maker's software offloads by itself: what the maker believes. */
struct catalogue_threshold {
	double from, to; /* bytes; NaN: no such end */
	char *call, *source;
};

struct catalogue_entry {
	char *name;                          /* unique within a catalogue: aes-cbc/vpaes */
	char *family;                        /* of the calibration that made it, or where it was published */
	char *device, *host, *driver, *date; /* NULL: unknown */
	char *baseline;                      /* what the host ran */
	char *unit;                          /* of time */
	bool has_params;
	bool preset; /* usable as it stands; false: published figures that contradict each other */
	struct logca p;
	bool has_terms;
	struct catalogue_terms terms;
	char *source;     /* where the figures stand: document, date; NULL: measured by calibrate */
	unsigned kinds;   /* 1 << enum catalogue_kind; 0: any, or unknown */
	unsigned designs; /* 1 << enum catalogue_design; 0: not said */
	double engines;   /* calls that it serves at once; NaN: not shared, or unknown */
	double uncertain; /* all its figures may be off by this factor either way; 0: not said */
	bool no_streams;  /* takes one-shot calls only */
	struct catalogue_threshold threshold[CATALOGUE_THRESHOLDS];
	unsigned thresholds;
	struct points pts;
	char *note[CATALOGUE_NOTES];
	unsigned notes;
};

struct catalogue {
	struct catalogue_entry *entries;
	size_t count;
};

void catalogue_entry_release(struct catalogue_entry *e);
void catalogue_release(struct catalogue *c);
int catalogue_parse(struct catalogue *c, const char *text, size_t len, struct err *e);
/* Takes the entry over; one of the same name is replaced. */
int catalogue_put(struct catalogue *c, struct catalogue_entry *entry, struct err *e);
const struct catalogue_entry *catalogue_find(const struct catalogue *c, const char *name);
int catalogue_write(const struct catalogue *c, struct buf *out, struct err *e);
/* The same, each entry marked "elsewhere": true or false for a machine whose text is `host`. */
int catalogue_write_marked(const struct catalogue *c, const char *host, struct buf *out, struct err *e);
/* Takes the entries of `more` over; -EINVAL when a name stands in both: they contradict each other. */
int catalogue_merge(struct catalogue *c, struct catalogue *more, struct err *e);
/* The devices that come with the program: of the LogCA paper, as far as their figures could be confirmed
 * (devices.json), and of makers' documents and published measurements (accelerators.json). */
int catalogue_paper(struct catalogue *c, struct err *e);
const char *catalogue_kind_str(enum catalogue_kind k);
const char *catalogue_design_str(enum catalogue_design d);
/* Are these figures of a machine other than `host` (calibrate's text of this one)? */
bool catalogue_elsewhere(const struct catalogue_entry *a, const char *host);

#endif
