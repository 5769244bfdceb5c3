/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A catalogue of accelerators: what `accperf calibrate` measured, and the paper's devices, in one JSON
 * format (accperf.accelerators/1, described in LOGCA.md). No file I/O: text in, text out. Included by
 * user/offload, user/view, user/cli, user/daemon, tests.
 *
 * To add a member: a field in struct catalogue_entry, read and written in catalogue.c; unknown members
 * are ignored, so older readers stay right.
 */
#ifndef ACCPERF_CATALOGUE_H
#define ACCPERF_CATALOGUE_H

#include "model/logca.h"
#include "offload/points.h"
#include "util/buf.h"

#define CATALOGUE_SCHEMA "accperf.accelerators/1"
#define CATALOGUE_NOTES 8

struct catalogue_entry {
	char *name;                          /* unique within a catalogue: aes-cbc/vpaes */
	char *family;                        /* of the calibration that made it, or where it was published */
	char *device, *host, *driver, *date; /* NULL: unknown */
	char *baseline;                      /* what the host ran */
	char *unit;                          /* of time */
	bool has_params;
	bool preset; /* usable as it stands; false: published figures that contradict each other */
	struct logca p;
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
/* The devices of the LogCA paper, as far as their figures could be confirmed. */
int catalogue_paper(struct catalogue *c, struct err *e);

#endif
