/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bursts of a recording saw (who wrote what a load reads, how long before) outlives it, so that the next one of
 * the same files begins with it. Only what was seen is kept, never what an estimate made of it: else it would confirm
 * itself. A file of the cache (util/cachedir.h) for each module of each program, by build-ids and contents: what a
 * library's loads read depends on who calls it. In it loads by address with sums, each recording's the less the longer
 * it is ago. Everything read is untrusted. Included by record, foreground and tests.
 */
#ifndef ACCPERF_FLOW_EARLIER_KEPT_H
#define ACCPERF_FLOW_EARLIER_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/map.h"

struct earlier_load {
	uint64_t ip;
	float bursts; /* that met it */
	uint32_t pad;
};

struct earlier_writer {
	uint64_t module, ip; /* key of the writer's module, 0: nobody in the burst had written there */
	uint32_t load;       /* index into load[] */
	uint32_t bin;        /* fmt_burst_pair.bin */
	float bytes;
	uint32_t pad;
};

struct earlier_kept {
	uint64_t key;     /* earlier_key_in() */
	uint64_t written; /* seconds since 1970 */
	struct earlier_load *load;
	size_t loads, load_cap;
	struct earlier_writer *writer;
	size_t writers, writer_cap;
	struct map load_at;      /* ip -> index */
	struct intern writer_at; /* what tells writers apart -> index + 1 */
};

/* What a module is known by; 0: nobody knows whether it is the same another time. A file that claims another's
 * build-id would speak for it: so what is in it counts, too. */
uint64_t earlier_key(const uint8_t *build_id, uint32_t len, uint64_t content);
/* Of a module's loads in a program; 0: one of both is not known. */
uint64_t earlier_key_in(uint64_t program, uint64_t module);
/* Not a library. Libraries' loads are kept for the one program that bursts met most. */
bool earlier_is_program(const char *path);
/* Keys of all that is kept there: where programs and libraries are many, few of their pairs are. 0 or -errno. */
int earlier_list(int dir, struct map *keys);
/* Zero where nothing is kept, or what is there cannot be used. now: seconds since 1970; what is old counts less. */
void earlier_load(int dir, uint64_t key, uint64_t now, struct earlier_kept *k);
void earlier_release(struct earlier_kept *k);
/* Adds what the profile's own bursts saw, of each file that they met. How many loads were added to; -errno with *e. */
int earlier_keep(int dir, const char *profile, uint64_t now, struct err *e);

#endif
