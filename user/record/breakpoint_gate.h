/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a recording may use hardware breakpoints now. On a virtual machine where they have not been tried out
 * (kmod-free/stray_trap.h) the recording goes on without while threads of its own do that in idle time, and uses them
 * from then on; where a hit was seen to send a stray signal, to us or to anybody, there are none. One for each
 * recording, made before its session, which asks it. Included by foreground and tests.
 */
#ifndef ACCPERF_RECORD_BREAKPOINT_GATE_H
#define ACCPERF_RECORD_BREAKPOINT_GATE_H

#include <stdbool.h>

#include "store/write.h"
#include "util/err.h"

enum breakpoint_mode {
	BP_AUTO,
	BP_ON, /* without trial */
	BP_OFF,
};

struct breakpoint_gate;

/* "auto", "on", "off"; NULL: as the environment says (ACCPERF_BREAKPOINTS), or auto. -EINVAL: none of them. */
int breakpoint_mode_parse(const char *name, enum breakpoint_mode *out, struct err *e);
/* NULL: no memory. */
struct breakpoint_gate *breakpoint_gate_new(enum breakpoint_mode mode);
/* There are none in this recording, for certain: what needs them need not be set up. */
bool breakpoint_gate_never(const struct breakpoint_gate *g);
/* Then, why. */
void breakpoint_gate_why(const struct breakpoint_gate *g, char *out, unsigned size);
/* The recording begins, or goes on: tries out, where that is to be done. */
void breakpoint_gate_start(struct breakpoint_gate *g);
bool breakpoint_gate_open(const struct breakpoint_gate *g);
/* It was, at some time. */
bool breakpoint_gate_opened(const struct breakpoint_gate *g);
/* Once a second. armed: breakpoints were, since this was last called. */
void breakpoint_gate_second(struct breakpoint_gate *g, bool armed);
/* The last word for the profile; nothing is tried out any more. */
void breakpoint_gate_stop(struct breakpoint_gate *g, struct store_writer *w, bool armed);
/* What the user is to know at the end; false: something ended badly because of breakpoints. */
bool breakpoint_gate_tell(const struct breakpoint_gate *g, bool quiet);
void breakpoint_gate_free(struct breakpoint_gate *g);

#endif
