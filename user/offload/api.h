/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The offload APIs: which libraries, which functions, where their bytes are, what completes what. The files api_*.c
 * are the only ones that know symbols; cli and the session hand them to kmod-free/uprobe.h.
 * Included by record, advise and tests.
 *
 * To add an API:
 *   1. user/offload/api_NAME.c with `const struct offload_api offload_NAME` and a row for each of its functions
 *      (tests/adding/api.c is one to begin with; api_rows.h has the words for rows);
 *   2. its name in OFFLOAD_APIS of user/offload/api_table.h.
 * Probing, pairing, nesting, reports, `record --offload` and its man page follow. To add a function: a row.
 */
#ifndef ACCPERF_OFFLOAD_API_H
#define ACCPERF_OFFLOAD_API_H

#include <stdbool.h>

#include "format.h"
#include "probe.h"
#include "util/err.h"

#define OFFLOAD_LOOKED "offload.looked" /* of a profile: calls were looked for */
#define OFFLOAD_APIS_MOST 64            /* rows of api_table.h that what is kept by index has room for; by hand */

struct offload_row {
	const char *symbol;     /* without a twin's suffix */
	struct probe_spec spec; /* family and library are filled when attached */
};

/*
 * A library whose calls are inlined into programs, and go by a table of pointers that it exports, filled at run time:
 * `entries` of `stride` bytes, each with OFFLOAD_POINTERS pointers first, to functions that the rows describe.
 */
#define OFFLOAD_POINTERS 2
struct offload_table {
	const char *symbol;
	unsigned entries, stride;
	const char *row[OFFLOAD_POINTERS];
};

struct offload_api {
	const char *name;     /* in --offload and in reports */
	const char *label;    /* for people */
	const char *family;   /* nested calls of one family count once */
	const char *libs;     /* patterns of file names, separated by | */
	const char *suffixes; /* of twins, separated by |; NULL: none */
	bool calls_back;      /* its functions may call the user's (allocators), so that an exception may pass them */
	bool device; /* its calls are handed to an accelerator; else the processor works, or it is input and output */
	const struct offload_table *table; /* NULL: its functions have names */
	const struct offload_row *rows;
	unsigned row_count;
};

/* The i-th; NULL: there are no more. */
const struct offload_api *offload_api_at(unsigned i);
unsigned offload_api_index(const struct offload_api *a);
/* NULL: none has that name. */
const struct offload_api *offload_api_find(const char *name);
/* The API whose library has this file name; NULL: none. Walk with `after` = the last one found. */
const struct offload_api *offload_api_of(const char *base, const struct offload_api *after);
/* The row of a symbol of this API, its twins included; *per_thread: queue 0 is the thread's own. */
const struct offload_row *offload_row_of(const struct offload_api *api, const char *symbol, bool *per_thread);
uint16_t offload_family(const char *family);

/* io_uring has operations instead of functions. */
struct offload_uring_op {
	uint8_t opcode;
	uint32_t direction; /* URING_IN, URING_OUT, 0 */
	const char *name;
};
const struct offload_uring_op *offload_uring_ops(unsigned *count);

/* A function named by the user: "libfoo.so:foo_encode(bytes=arg2,out=ret,accelerated)". */
struct offload_user_probe {
	char library[256]; /* file name or path; may hold * */
	char symbol[256];
	char name[256]; /* api in reports: as given by name=, else library:symbol */
	enum fmt_offload_variant variant;
	struct probe_spec spec;
};
int offload_spec_parse(const char *text, struct offload_user_probe *p, struct err *e);

#endif
