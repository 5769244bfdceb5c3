/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls as exact producers and consumers of memory: SAMPLE_SYSIO with range, direction
 * (SF_STORE: the kernel wrote user memory, SF_LOAD: it read it, neither: a file was mapped there) and
 * `period` = how many calls this one stands for. Transfers through io_uring are counted, not seen.
 * Owns the BPF programs. Included by cli and daemon.
 */
#ifndef ACCPERF_INGEST_SYSIO_H
#define ACCPERF_INGEST_SYSIO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sample.h"
#include "util/err.h"

struct sysio_stats {
	uint64_t calls, lost, cut, uring; /* cut: vectors longer than we tell */
};

struct sysio;

struct sysio *sysio_new(struct err *e);
/* Whom to watch; all = every process but ours is the caller's to sort out. */
int sysio_add(struct sysio *s, pid_t pid);
/* A child of a watched process is watched, too. */
void sysio_follow(struct sysio *s, pid_t parent, pid_t child);
void sysio_remove(struct sysio *s, pid_t pid);
void sysio_all(struct sysio *s);
/* Report one call in so many, drawn at random. */
void sysio_set_every(struct sysio *s, uint32_t every);
uint32_t sysio_every(const struct sysio *s);
/* Attaches; also after a pause. While paused no process pays anything. */
int sysio_start(struct sysio *s, struct err *e);
void sysio_pause(struct sysio *s);
bool sysio_paused(const struct sysio *s);
int sysio_read(struct sysio *s, sample_fn fn, void *ctx);
void sysio_stats(const struct sysio *s, struct sysio_stats *out);
void sysio_free(struct sysio *s);

#endif
