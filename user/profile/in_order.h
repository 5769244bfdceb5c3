/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile with each sample and each offload call kept, by thread and in order of time: what a view along
 * time needs, and struct profile has folded away. 24 bytes a sample, 56 a call that was recorded.
 * Owns its arrays; the profile must live on. Included by flow, view and html.
 */
#ifndef ACCPERF_PROFILE_IN_ORDER_H
#define ACCPERF_PROFILE_IN_ORDER_H

#include "profile/profile.h"

struct ordered_sample {
	uint64_t time;   /* as the file has it */
	uint64_t period; /* ns or instructions it stands for */
	uint32_t thread; /* index into threads */
	uint32_t stack;  /* index into profile.stacks */
};

struct ordered_call {
	uint64_t begin, end; /* end 0: never seen */
	uint64_t bytes_in, bytes_out;
	double weight;   /* calls it stands for */
	uint32_t thread; /* index into threads */
	uint32_t api;    /* index into apis */
	uint32_t flags;  /* enum fmt_call_flags: which figures are known */
};

struct ordered_thread {
	uint32_t pid, tid;
	const char *comm; /* NULL: unknown */
	size_t first_sample, sample_count, first_call, call_count;
};

struct ordered_api {                  /* [0] is "(unknown)" */
	uint32_t name_id, library_id; /* strings of the file */
	const char *name, *library;   /* library NULL: unknown */
};

struct in_order {
	struct ordered_thread *threads; /* in the order in which the file tells of them */
	struct ordered_sample *samples; /* of profile_unit(), by thread, then by time */
	struct ordered_call *calls;     /* by thread, then by beginning */
	struct ordered_api *apis;
	size_t thread_count, sample_count, call_count, api_count;
};

/* Reads the profile, too: they ride on one walk. NULL on failure; in_order_release() in any case. */
struct profile *in_order_load(const char *path, struct in_order *o, struct err *e);
/* For tests: the same without a look at the files of this machine. */
struct profile *in_order_load_as_stored(const char *path, struct in_order *o, struct err *e);
/* Leaves the samples of processes and functions that the filter takes, and the calls of such processes. */
void in_order_keep_part(struct in_order *o, const struct profile *p, const struct filter *f);
void in_order_release(struct in_order *o);

#endif
