/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calibration: host time T0(g) and accelerated time T1(g) of accelerators this machine has. Included
 * by user/offload/calib_*.c, user/cli/calibrate.c, tests (advise and view). Libraries (libcrypto, libz, libisal,
 * libOpenCL, libcuda) come by dlopen: none is needed to build, and one that is missing is a sentence.
 *
 * To add an accelerator: add calib_NAME.c with a struct calib_family (list, open, call, check, close)
 * and its row in the table of calib.c. list() says which cases there are and, for one that cannot run
 * here, why; open() prepares one; call() does one call of one kind of run, nothing else.
 */
#ifndef ACCPERF_OFFLOAD_CALIB_H
#define ACCPERF_OFFLOAD_CALIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/points.h"
#include "util/err.h"

struct calib_family;
struct calib_session;

enum calib_clock {
	CALIB_THREAD_CPU, /* the work runs on this thread: its CPU time, whatever else the machine does */
	CALIB_ELAPSED,    /* it runs elsewhere */
};

struct calib_case {
	const struct calib_family *family;
	char name[96];      /* aes-cbc/vpaes: what, slash, against what */
	char device[128];   /* the accelerator */
	char baseline[128]; /* what the host runs instead */
	char driver[128];   /* library and version */
	char missing[256];  /* why it cannot run here; empty: it can */
	unsigned runs;      /* 1 << enum run_kind */
	enum calib_clock clock;
	size_t max;           /* largest size that makes sense; 0: no limit of its own */
	bool switches_inside; /* the caller sleeps until the device is done: a switch is part of the call */
	int variant;          /* the family's own */
	int index;            /* of a device */
};

struct calib_cases {
	struct calib_case *at;
	size_t count;
};

struct calib_family {
	const char *name;
	const char *summary;
	int (*list)(struct calib_cases *out, struct err *e);
	int (*open)(struct calib_session *s, struct err *e);
	/* Bytes that stand for about g, 0: none (a matrix needs whole rows). NULL: g itself. */
	size_t (*round)(const struct calib_session *s, size_t g);
	/* Calls may be of any size: they then are of g and up to an eighth more or less. Buffers have room for that. */
	bool any_size;
	/* Outside the timing, once before the calls of a size. */
	int (*resize)(struct calib_session *s, size_t g, struct err *e);
	int (*call)(struct calib_session *s, enum run_kind k, const uint8_t *in, size_t g);
	/* Outside the timing, after a submission: waits until it is done. */
	int (*settle)(struct calib_session *s);
	/* Do host and accelerator give the same result? */
	int (*check)(struct calib_session *s, const uint8_t *in, size_t g, struct err *e);
	void (*close)(struct calib_session *s);
	/* Instead of the common loop (a run that needs a process of its own). */
	int (*measure)(struct calib_session *s, struct err *e);
};

struct calib_opts {
	size_t min, max; /* sizes, powers of two between */
	unsigned calls;  /* points a size */
	double seconds;  /* a single call longer than this ends the sizes */
	double limit;    /* seconds for one accelerator, larger sizes are left out then; 0: none */
	bool same_input; /* one input again and again: what a repeated benchmark would show */
	bool path_known; /* an earlier turn has counted the instructions: single-stepping takes seconds */
	void (*progress)(void *ctx, const struct calib_case *c, size_t g, enum run_kind k);
	void *ctx;
};
extern const struct calib_opts calib_defaults;

#define CALIB_NOTES 6 /* sentences to a measurement; by hand */
struct calib_session {
	const struct calib_case *c;
	const struct calib_opts *opts;
	struct points *pts; /* what was measured */
	uint8_t *pool;      /* inputs */
	size_t pool_size;
	uint64_t random;        /* draws their places */
	void *priv;             /* the family's */
	double cpu_ns, wall_ns; /* of everything measured, for the note on load */
	char note[CALIB_NOTES][240];
	unsigned notes;
};

/* All cases of all families; calib_cases_release(). */
int calib_list(struct calib_cases *out, struct err *e);
void calib_cases_release(struct calib_cases *l);
/* For list(): a blank case, or NULL. */
struct calib_case *calib_add(struct calib_cases *l, const struct calib_family *f, const char *name);
/* Measures one case. notes of the session are kept in *s for the caller; pts must be empty. */
int calib_measure(const struct calib_case *c, const struct calib_opts *opts, struct points *pts,
		  struct calib_session *s, struct err *e);
/* Only these runs, in this process: what a child of measure() does. */
int calib_measure_runs(const struct calib_case *c, const struct calib_opts *opts, unsigned runs, struct points *pts,
		       struct calib_session *s, struct err *e);
void calib_note(struct calib_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* dlopen of the first name that is there; NULL with a sentence that names the Debian package. */
void *calib_library(const char *const *names, const char *package, char *why, size_t why_size);

/* This machine in words; freed by the caller, NULL without memory. */
char *calib_machine(void);

/* Instructions of one kind executed by fn(arg), counted by single-stepping a forked copy of it. */
struct calib_opcodes {
	uint64_t total, aesenc, vaesenc, pclmul, vpclmul, sha256, pshufb, vex;
};
int calib_count_opcodes(void (*fn)(void *arg), void *arg, struct calib_opcodes *out, struct err *e);

extern const struct calib_family calib_openssl, calib_crc, calib_deflate, calib_copy, calib_worker, calib_opencl,
	calib_cuda;

/* Work that the host does for the families whose accelerator runs kernels (calib_host.c). */
void calib_host_vector(const uint32_t *in, uint32_t *out, size_t n);
void calib_host_sgemm(const float *a, const float *b, float *c, size_t n);
void calib_host_cipher(const uint32_t *in, uint32_t *out, size_t blocks);
uint32_t calib_host_crc_table(const uint8_t *in, size_t n);
uint32_t calib_host_crc_slices(const uint8_t *in, size_t n);
extern const char calib_kernels_cl[], calib_kernels_ptx[];

#endif
