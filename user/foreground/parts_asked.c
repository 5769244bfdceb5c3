// SPDX-License-Identifier: GPL-2.0-or-later
#include "foreground/parts_asked.h"

#include <errno.h>
#include <string.h>

#include "foreground/counts_keep.h"
#include "record/breakpoint_gate.h"
#include "record/effort.h"
#include "record/ledger.h"
#include "record/part_access.h"
#include "record/part_counts.h"
#include "record/part_earlier.h"
#include "record/part_segments.h"
#include "record/part_waits.h"
#include "record/sources.h"

int asked_engine(const struct record_opts *o, const struct source **chosen)
{
	struct err e = { 0 };
	const struct source *hw = NULL;
	bool any = !strcmp(o->engine, "auto") || !strcmp(o->engine, "pmu");

	if (!strcmp(o->engine, "soft"))
		return EXIT_DONE;
	if (any) {
		hw = source_auto(SOURCE_LOADS, &e);
		if (!hw && strcmp(o->engine, "pmu")) /* three processors' reasons help nobody who did not ask */
			err_set(&e, -ENODEV, "no hardware sampling on this machine; `accperf doctor` says why");
	} else {
		hw = source_find(o->engine);
		if (!hw)
			err_set(&e, -ENODEV, "this build has no source of that name");
		else if (hw->driver->probe(NULL, 0, &e))
			hw = NULL;
	}
	if (hw && (o->all || o->cgroup)) {
		/* events of single threads only, so far */
		err_set(&e, -EOPNOTSUPP, "%s samples single processes: use -p, -t or -- CMD", hw->name);
		hw = NULL;
	}
	*chosen = hw;
	if (hw || !strcmp(o->engine, "auto")) {
		if (!o->quiet)
			log_info(hw ? "engine: %s" : "engine: soft (%s)", hw ? hw->name : e.text);
		return EXIT_DONE;
	}
	log_warn("-e %s cannot be had: %s; recording with the timer instead (shares of time, not of accesses)",
		 o->engine, e.text);
	return EXIT_DEGRADED;
}

int asked_hardware_options(const struct record_opts *o, const struct source *hw)
{
	if ((!o->ldlat_set || (hw && !strcmp(hw->name, "pebs"))) && ((!o->phys && !o->page_size) || hw))
		return EXIT_DONE;
	log_warn("%s cannot be had: %s; recording without",
		 o->ldlat_set ? "--ldlat"
		 : o->phys    ? "--phys-data"
			      : "--data-page-size",
		 hw ? "this processor's sampling has no such threshold"
		    : "no hardware sampling on this machine (`accperf doctor` says why)");
	return EXIT_DEGRADED;
}

bool asked_counts(const struct record_opts *o, const struct source *hw)
{
	return strcmp(o->counts, "off") && (!hw || !strcmp(o->counts, "on"));
}

int asked_add_accesses(const struct record_opts *o, struct session *s, const struct source *hw, int *status,
		       struct err *e)
{
	struct access_opts ao = { .hardware = hw,
				  .accesses = o->accesses,
				  .windows = o->windows,
				  .syscalls = o->syscalls,
				  .watch_len = (unsigned)o->watch_len,
				  .ldlat = (unsigned)o->ldlat,
				  .phys = o->phys,
				  .page_size = o->page_size };
	char missing[1024];
	int err;

	if (!o->accesses && !o->windows && !o->syscalls)
		return 0;
	err = access_parts_add(s, &ao, missing, sizeof(missing), e);
	if (err || !missing[0])
		return err;
	log_warn("%s", missing);
	if (o->windows_set || o->syscalls_set)
		*status = EXIT_DEGRADED;
	return 0;
}

/* A folder that cannot be used is told of when the recording is to be kept there. */
int asked_add_earlier(const struct record_opts *o, struct session *s, struct err *e)
{
	struct err why = { 0 };
	int dir = o->accesses ? counts_cache_folder(o->counts_cache, &why) : -1;

	return dir < 0 ? 0 : earlier_part_add(s, dir, e);
}

/* A rate that was asked for is kept, whatever it costs; the others then have what it leaves. */
static double left_by_timer(const struct record_opts *o, const struct session_opts *so, const struct session *s)
{
	double took = session_timer_share(s) / so->budget; /* part of the budget */

	if (!(o->hz_set || o->period_set) || !(took > so->timer_part))
		return 1;
	if (took > 1 && !o->quiet)
		log_info(
			"the timer alone takes %.2g %% of the target's time at this rate, and --effort %s allows %.2g %%: hardly any windows and "
			"execution counts; leave the rate to accperf, or --effort high",
			took * so->budget * 100, o->effort, effort_named(o->effort)->budget * 100);
	return ledger_left_by_timer(took, so->timer_part);
}

/* Beside counts, which tell shares where no rate was measured. */
static int add_segments(const struct record_opts *o, struct session *s, struct counts_part *counts, int *status)
{
	struct err e = { 0 };
	int err = o->call_segments ? segments_part_add(s, effort_segments(o->effort), counts, &e) : 0;

	if (!err)
		return 0;
	log_warn("no segments: %s", e.text);
	if (o->call_segments_set)
		*status = EXIT_DEGRADED;
	return err == -ENOMEM ? err : 0;
}

int asked_add_counts(const struct record_opts *o, const struct session_opts *so, struct session *s, int *status)
{
	struct counts_opts co = { .windows = !so->breakpoints || !breakpoint_gate_never(so->breakpoints),
				  .bursts = effort_bursts(o->effort) };
	struct counts_part *part;
	struct err e = { 0 };
	int err = counts_part_add(s, &co, &part, &e);

	ledger_cut(session_ledger(s), ACCOUNT_COUNTS, left_by_timer(o, so, s));
	if (err || e.code) {
		log_warn(err ? "no execution counts: %s" : "execution counts from bursts alone: %s", e.text);
		if (!strcmp(o->counts, "on"))
			*status = EXIT_DEGRADED;
	}
	return err == -ENOMEM ? err : add_segments(o, s, part, status);
}

int asked_add_waits(const struct record_opts *o, struct session *s, int *status)
{
	struct err e = { 0 };
	int err = o->waits ? waits_part_add(s, &e) : 0;

	if (!err || err == -ENOMEM)
		return err;
	log_warn("waiting time is not measured: %s", e.text);
	if (o->waits_set)
		*status = EXIT_DEGRADED;
	return 0;
}

struct offload_part *asked_offload(const struct record_opts *o, int argc, char **argv, struct err *e)
{
	static const char *const ways[] = { "auto", "session", "multi", "perf" };
	struct offload_opts oo = {
		.list = o->offload ? o->offload : "none",
		.probes = o->offload_probes.items,
		.probes_cnt = o->offload_probes.count,
		.exact = o->offload_exact,
		.returns = o->offload_returns,
		.system_wide = o->all,
	};

	if (!o->offload_probes.count && (!o->offload || !strcmp(o->offload, "none")))
		return NULL;
	for (int i = 0; o->offload_attach && i < (int)(sizeof(ways) / sizeof(*ways)); i++)
		if (!strcmp(o->offload_attach, ways[i]))
			oo.mode = i;
	return offload_part_new(&oo, argc > 0 ? argv[0] : NULL, e);
}

int asked_add_offload(const struct record_opts *o, const struct targets *t, const char *exe, struct offload_part **out,
		      struct err *e)
{
	if (*out || o->offload || o->tids.count || !(t->child > 0 || t->count))
		return 0;
	*out = offload_part_new(&(struct offload_opts){ .list = "auto", .unasked = true }, exe, e);
	return *out ? 0 : e->code;
}

int asked_offload_notes(const struct offload_part *p, bool quiet, int status)
{
	bool missing = false;
	AUTO_BUF(notes);

	if (!p)
		return status;
	missing = offload_part_notes(p, &notes);
	for (char *save = NULL, *line = notes.len ? strtok_r(notes.data, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (missing)
			log_warn("%s", line);
		else if (!quiet)
			log_info("%s", line);
	}
	return status == EXIT_DONE && missing ? EXIT_DEGRADED : status;
}
