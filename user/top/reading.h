/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `accperf top`: its two helpers, each a process of its own. The recorder is `accperf record` with --rotate into a
 * private folder, so that it costs what that costs and neither a file nor memory grows for days. A reader is asked
 * again and again what the present part of the recording holds, and prints that as accperf.top/1; so the screen never
 * waits. It reads on from question to question, and a thorough reading is made by a child of it, which has what is
 * read and the names that were found. It ends with its part: what it knows, and what it takes, is of one part at most.
 * Included by top/top.c.
 */
#ifndef ACCPERF_TOP_READING_H
#define ACCPERF_TOP_READING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/buf.h"
#include "util/err.h"

struct top_recording {
	char folder[512];
	pid_t recorder;
	int said;      /* what it says, a file without a name */
	unsigned part; /* the present one; 0: none yet */
	bool ended;
	int status; /* once it has ended */
};

/* argv: of `accperf record`, without -o, for which there is room at its end. */
int top_record(struct top_recording *r, int argc, char **argv, struct err *e);
/* Looks for a next part, and whether the recorder still runs. */
void top_recording_look(struct top_recording *r);
/* NULL: no part yet. In static storage. */
const char *top_recording_path(const struct top_recording *r, unsigned part);
/* What the recorder said, without the program's name before each line. */
void top_recording_said(const struct top_recording *r, struct buf *out);
/* It ends its part in order, and begins the next. */
int top_recording_next(struct top_recording *r);
/* Ends the recorder; names: with time to find them. Then its folder is removed by top_recording_remove(). */
void top_recording_end(struct top_recording *r, bool names);
void top_recording_remove(struct top_recording *r);

enum top_kind {
	TOP_QUICK,
	TOP_THOROUGH,
	TOP_KINDS
}; /* time alone; bytes, calls and verdicts, too: that takes longer */

struct top_reader {
	pid_t pid;     /* 0: none; else it waits for a question, or answers */
	int questions; /* a byte each: enum top_kind */
	unsigned part;
	struct top_reading {
		int out; /* the answer: becomes readable */
		bool busy;
		size_t got;
		struct top_answer {
			uint64_t size, cpu_ns; /* of the text that follows; CPU time that it took */
			int64_t err;
		} head;
		struct buf text;
		uint64_t began;  /* the caller's */
		uint64_t cpu_ns; /* of its last answer */
	} of[TOP_KINDS];
};

#define TOP_READER_NONE                                                                                                \
	{                                                                                                              \
		.questions = -1, .of = { [TOP_QUICK] = { .out = -1 }, [TOP_THOROUGH] = { .out = -1 } }                 \
	}

/* Asks it; begins one if there is none for that part. -EAGAIN: one of another part still answers. */
int top_read(struct top_reader *r, const char *path, unsigned part, enum top_kind kind, struct err *e);
/* Takes what is there: 1 when it is complete, 0: more comes. -EIO: it failed. */
int top_reader_take(struct top_reader *r, enum top_kind kind);
void top_reader_end(struct top_reader *r);

/* Copies a part that has ended in order, waiting for that, to `output`, in a process of its own: its pid, or -errno. */
pid_t top_save(const char *path, const char *output);
/* The same at once: 0 or -errno with a sentence. */
int top_save_now(const char *path, const char *output, struct err *e);

#endif
