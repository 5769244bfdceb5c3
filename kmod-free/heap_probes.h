/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes on the allocators of one process at a time, in turns: bpf/heap.bpf.c behind uprobe_multi links (Linux 6.6).
 * Planting and removing them waits for the kernel, so a thread of its own does it. Everything is attached by
 * descriptors: nothing stays behind however the recorder ends. Included by measure, record and tests.
 *
 *     heap_probes_new()
 *     heap_probes_file()                      once for each file that has allocators
 *     heap_probes_attach(), _attached()       until that says so, or fails
 *     heap_probes_open(), _read()...          a turn
 *     heap_probes_close()                     its counts; probes stay, the next turn may follow
 *     heap_probes_detach(), _idle()
 */
#ifndef ACCPERF_KMOD_FREE_HEAP_PROBES_H
#define ACCPERF_KMOD_FREE_HEAP_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "control.h"
#include "counters.h"
#include "sample.h"
#include "util/err.h"

#define HEAP_FILES_MOST 64   /* allocators' files at once; by hand */
#define HEAP_PLACES_MOST 512 /* of one file, entries and exits */

struct heap_place {
	uint64_t offset; /* in the file */
	uint64_t cookie; /* of an entry: HEAP_COOKIE(); of an exit: 0, or HEAP_HANDED */
};

struct heap_block {
	const struct sample *at; /* where it was allocated, with the stack; time: when */
	uint64_t addr, bytes;
	enum heap_role role;
};

struct heap_freed {
	uint64_t time, addr, born;
	uint32_t pid;
	bool again; /* seen by another that got its address, at `time` */
};

/* Borrowed, in the order in which it came on each CPU. Negative: stop reading. */
struct heap_reader {
	int (*block)(void *ctx, const struct heap_block *b);
	int (*freed)(void *ctx, const struct heap_freed *f);
	void *ctx;
};

struct heap_turn_counts {
	uint64_t hits, allocs, bytes, frees, told;
	uint64_t over_at; /* ns: when the limit was reached; 0: it was not */
};

struct heap_probes;

struct heap_probes *heap_probes_new(struct err *e);
void heap_probes_free(struct heap_probes *h); /* detaches; NULL is fine */
/* Takes a duplicate of fd. Its number, or -errno. */
int heap_probes_file(struct heap_probes *h, int fd, const struct heap_place *places, unsigned count);
/* The file is let go; its number is free. Not while attached. */
void heap_probes_file_end(struct heap_probes *h, int file);
/* Begins to plant the probes of these files in process pid. */
int heap_probes_attach(struct heap_probes *h, pid_t pid, const int *files, unsigned count);
/* 1: they are there; 0: not yet; -errno: they cannot be, and none is left. */
int heap_probes_attached(struct heap_probes *h);
void heap_probes_detach(struct heap_probes *h); /* begins to; wait: heap_probes_idle() */
bool heap_probes_idle(struct heap_probes *h);
void heap_probes_wait(struct heap_probes *h); /* until that, after heap_probes_detach() */
/* Probes that are planted. */
unsigned heap_probes_planted(const struct heap_probes *h);

/* period: mean distance in bytes between what is told. */
void heap_probes_open(struct heap_probes *h, uint32_t turn, uint64_t most, double period);
uint64_t heap_probes_over(const struct heap_probes *h);
void heap_probes_close(struct heap_probes *h, struct heap_turn_counts *out);
int heap_probes_read(struct heap_probes *h, const struct heap_reader *to);
/* Readable when a turn's limit was reached. */
int heap_probes_fd(const struct heap_probes *h);
/* Blocks of a process that has ended, or runs another program, are no more. */
void heap_probes_forget(struct heap_probes *h, pid_t pid);

/* One record of the ring: -EBADMSG where it cannot be right, else what the reader said. */
int heap_probes_record(const void *data, size_t size, const struct heap_reader *to);
uint64_t heap_probes_malformed(const struct heap_probes *h);
uint64_t heap_probes_counter(const struct heap_probes *h, enum bpf_counter which);
/* All begin at 0 again, as after trials. */
void heap_probes_forget_counts(struct heap_probes *h);

#endif
