// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/breakpoint_gate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kmod-free/stray_trap.h"
#include "util/clock.h"
#include "util/log.h"

#define LATE_NS 500000000 /* after the start: a later opening is told; by hand */

struct breakpoint_gate {
	enum breakpoint_mode mode;
	struct stray_known known, at_start;
	struct stray_trial *trial;    /* NULL: none is running, or another process has it */
	struct stray_watch *watch;    /* NULL: not virtual, or it cannot be loaded */
	struct stray_victim victim;   /* as last looked at */
	struct err failed, unwatched; /* the trial; others' signals */
	uint64_t own;                 /* stray signals to this process that are accounted for */
	bool open, ends_programs;     /* the latter: seen by this recording, in another program */
	bool tried;                   /* by this recording */
	uint64_t began, opened;       /* 0: not yet */
};

int breakpoint_mode_parse(const char *name, enum breakpoint_mode *out, struct err *e)
{
	static const char *const names[] = { [BP_AUTO] = "auto", [BP_ON] = "on", [BP_OFF] = "off" };
	const char *asked = name ? name : getenv("ACCPERF_BREAKPOINTS");

	if (!asked || !*asked)
		asked = names[BP_AUTO];
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(asked, names[i])) {
			*out = (enum breakpoint_mode)i;
			return 0;
		}
	return err_set(e, -EINVAL, "%s must be auto, on or off", name ? "--breakpoints" : "ACCPERF_BREAKPOINTS");
}

struct breakpoint_gate *breakpoint_gate_new(enum breakpoint_mode mode)
{
	struct breakpoint_gate *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->mode = mode;
	if (mode != BP_OFF)
		stray_guard();
	stray_read(&g->known);
	g->at_start = g->known;
	return g;
}

static bool may(const struct breakpoint_gate *g)
{
	return g->mode == BP_ON || (g->mode == BP_AUTO && stray_verdict(&g->known) == STRAY_NONE);
}

bool breakpoint_gate_never(const struct breakpoint_gate *g)
{
	return g->mode == BP_OFF || (g->mode == BP_AUTO && stray_verdict(&g->known) == STRAY_SEEN);
}

void breakpoint_gate_why(const struct breakpoint_gate *g, char *out, unsigned size)
{
	if (g->mode == BP_OFF)
		snprintf(out, size, "off, as asked for");
	else
		stray_describe(&g->known, out, size);
}

static void set_open(struct breakpoint_gate *g)
{
	if (may(g) && !g->opened)
		g->opened = clock_now();
	g->open = may(g);
}

static void learn_signals(struct breakpoint_gate *g, uint64_t signals)
{
	stray_found(signals);
	g->known.signals += signals;
}

/* We hit some ourselves, to see what they cost. */
static void look_at_own(struct breakpoint_gate *g)
{
	uint64_t own = stray_own();

	learn_signals(g, own - g->own);
	g->own = own;
}

static void begin_trial(struct breakpoint_gate *g)
{
	struct err failed = { 0 };

	g->trial = stray_trial_new(stray_trial_threads(), true, &failed);
	g->tried |= g->trial != NULL;
	if (!g->trial && failed.code != -EBUSY)
		g->failed = failed;
}

static void end_trial(struct breakpoint_gate *g)
{
	stray_trial_free(g->trial);
	g->trial = NULL;
	g->own = stray_own();
}

void breakpoint_gate_start(struct breakpoint_gate *g)
{
	g->began = clock_now();
	if (g->mode == BP_OFF)
		return;
	look_at_own(g);
	set_open(g);
	if (breakpoint_gate_never(g))
		return;
	if (g->known.virtual_machine)
		g->watch = stray_watch_new(&g->unwatched);
	if (!g->open)
		begin_trial(g);
}

bool breakpoint_gate_open(const struct breakpoint_gate *g)
{
	return g->open;
}

bool breakpoint_gate_opened(const struct breakpoint_gate *g)
{
	return g->opened;
}

static void look_at_trial(struct breakpoint_gate *g)
{
	if (g->trial) {
		if (!stray_trial_look(g->trial, &g->known, &g->failed))
			end_trial(g);
	} else if (!g->failed.code) {
		/* another process has it, or had */
		stray_read(&g->known);
		if (stray_verdict(&g->known) == STRAY_UNTRIED)
			begin_trial(g);
	}
}

/* Other programs' signals speak against breakpoints only while there were some. */
static void look_at_victims(struct breakpoint_gate *g, bool armed)
{
	struct stray_victim v;

	if (!g->watch)
		return;
	stray_watch_read(g->watch, &v);
	if (v.signals > g->victim.signals && armed) {
		learn_signals(g, v.signals - g->victim.signals);
		g->ends_programs = true;
	}
	g->victim = v;
}

void breakpoint_gate_second(struct breakpoint_gate *g, bool armed)
{
	if (g->mode == BP_OFF)
		return;
	if (!g->open && g->mode == BP_AUTO && stray_verdict(&g->known) == STRAY_UNTRIED)
		look_at_trial(g);
	else
		look_at_own(g);
	look_at_victims(g, armed);
	set_open(g);
}

void breakpoint_gate_stop(struct breakpoint_gate *g, struct store_writer *w, bool armed)
{
	char why[200];

	if (g->trial) {
		stray_trial_look(g->trial, &g->known, &g->failed);
		end_trial(g);
	}
	look_at_victims(g, armed);
	set_open(g);
	breakpoint_gate_why(g, why, sizeof(why));
	if (!g->opened)
		store_metaf(w, "breakpoints", "none: %s", why);
	else if (g->opened - g->began > LATE_NS)
		store_metaf(w, "breakpoints", "after %.1f s, when they had been tried out",
			    (double)(g->opened - g->began) / 1e9);
	else
		store_meta(w, "breakpoints", "yes");
}

static void tell_untried(const struct breakpoint_gate *g)
{
	bool busy = g->tried && g->known.hits == g->at_start.hits;
	char why[200];

	stray_describe(&g->known, why, sizeof(why));
	if (g->failed.code)
		log_info(
			"no watch windows and no count windows: hardware breakpoints could not be tried out on this virtual machine: %s",
			g->failed.text);
	else
		log_info(
			"no watch windows and no count windows yet: recordings on a virtual machine try hardware breakpoints out first, in idle time "
			"(%s%s). `accperf doctor --breakpoints` does that at once; --breakpoints on does not wait",
			why, busy ? "; no CPU was idle while it recorded" : "");
	if (g->tried && !stray_kept(why, sizeof(why)))
		log_warn(
			"the next recording begins that anew, for %s: set XDG_CACHE_HOME to a folder that can be, or use "
			"breakpoints without trial with --breakpoints on",
			why);
}

bool breakpoint_gate_tell(const struct breakpoint_gate *g, bool quiet)
{
	char why[200];

	if (!g->began)
		return true;
	stray_describe(&g->known, why, sizeof(why));
	if (g->ends_programs) {
		log_warn(
			"process %" PRIu32
			" (%s) was sent a SIGTRAP that nobody asked for while hardware breakpoints were armed: %s. Recordings do "
			"without them until the next boot",
			g->victim.pid, g->victim.comm, why);
		return false;
	}
	if (g->known.signals > g->at_start.signals && g->mode != BP_OFF) {
		log_warn("%s; found by hits of our own. Recordings do without hardware breakpoints until the next boot",
			 why);
		return true;
	}
	if (!quiet && g->unwatched.code)
		log_info("if a hit of a hardware breakpoint had ended a program, it would not be known: %s",
			 g->unwatched.text);
	if (!quiet && !g->opened && !breakpoint_gate_never(g))
		tell_untried(g);
	else if (!quiet && g->opened && g->opened - g->began > LATE_NS)
		log_info(
			"watch windows and count windows began after %.1f s, when hardware breakpoints had been tried out (once a boot on a virtual "
			"machine)",
			(double)(g->opened - g->began) / 1e9);
	return true;
}

void breakpoint_gate_free(struct breakpoint_gate *g)
{
	if (!g)
		return;
	stray_trial_free(g->trial);
	stray_watch_free(g->watch);
	free(g);
}
