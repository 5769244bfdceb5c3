/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a recording may use hardware breakpoints now. On a virtual machine where they have not been tried out
 * (kmod-free/stray.h) the recording goes on without while threads of its own do that in idle time, and uses them from
 * then on; where a hit was seen to send a stray signal, to us or to anybody, there are none. One for each recording, made
 * before its session, which asks it. Used by record and the daemon.
 */
#ifndef ACCPERF_CLI_BP_GATE_H
#define ACCPERF_CLI_BP_GATE_H

#include <stdbool.h>

#include "store/write.h"
#include "util/err.h"

enum bp_mode {
	BP_AUTO,
	BP_ON,	/* without trial */
	BP_OFF,
};

struct bp_gate;

/* "auto", "on", "off"; NULL: as the environment says (ACCPERF_BREAKPOINTS), or auto. -EINVAL: none of them. */
int bp_mode_parse(const char *name, enum bp_mode *out, struct err *e);
/* NULL: no memory. */
struct bp_gate *bp_gate_new(enum bp_mode mode);
/* There are none in this recording, for certain: what needs them need not be set up. */
bool bp_gate_never(const struct bp_gate *g);
/* Then, why. */
void bp_gate_why(const struct bp_gate *g, char *out, unsigned size);
/* The recording begins, or goes on: tries out, where that is to be done. */
void bp_gate_start(struct bp_gate *g);
bool bp_gate_open(const struct bp_gate *g);
/* It was, at some time. */
bool bp_gate_opened(const struct bp_gate *g);
/* Once a second. armed: breakpoints were, since this was last called. */
void bp_gate_second(struct bp_gate *g, bool armed);
/* The last word for the profile; nothing is tried out any more. */
void bp_gate_stop(struct bp_gate *g, struct store_writer *w, bool armed);
/* What the user is to know at the end; false: something ended badly because of breakpoints. */
bool bp_gate_tell(const struct bp_gate *g, bool quiet);
void bp_gate_free(struct bp_gate *g);

#endif
