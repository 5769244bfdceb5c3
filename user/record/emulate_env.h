/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the emulator sees of a target: code that nobody can write, pages as they are now, bounds of functions. Of one
 * process at a time. Included by emulate.c (bursts) and segment_run.c.
 */
#ifndef ACCPERF_RECORD_EMULATE_ENV_H
#define ACCPERF_RECORD_EMULATE_ENV_H

#include "emu/emu.h"
#include "proc/procmap.h"
#include "record/code_pieces.h"
#include "record/session.h"

struct emulate_env {
	struct session *s;
	uint32_t pid;  /* whose memory is read */
	bool denied;   /* it may not be */
	bool stale;    /* its mappings may have changed */
	uint64_t code; /* procmap_code() of it */
	struct code_copies pieces;
};

/* This process is seen from now on. False: other code lies there than before, or nobody knows: what was decoded is of
 * no use. Children that forked, as servers have, are all alike. */
bool emulate_env_process(struct emulate_env *sees, uint32_t pid);

/* sees: must live as long. */
struct emu_env emulate_env_of(struct emulate_env *sees);
/* False: no module lies there. */
/* Of anything that is mapped; at->module may be NULL. */
bool emulate_env_mapped(const struct emulate_env *sees, uint64_t addr, struct place *at);
bool emulate_env_find(const struct emulate_env *sees, uint64_t addr, struct place *at);

#endif
