// SPDX-License-Identifier: GPL-2.0-or-later
#include "foreground/told.h"

#include <inttypes.h>
#include <math.h>

#include "attr/attr.h"
#include "command/command.h"
#include "symbol/contained_child.h"
#include "util/buf.h"
#include "util/openfile.h"
#include "view/run_time_code.h"

#define UNSAMPLED_NOTED 0.05 /* of the CPU time; by hand */
/* of CPU time, in which one sample at least is to be expected: none by chance in e^-5, 0.7 % */
#define ENOUGH_PERIODS 5
#define UNREAD_NOTED 0.02 /* of the samples, and at least UNREAD_SAMPLES; by hand */
#define UNREAD_SAMPLES 10 /* fewer may be chance; by hand */

/* What is written says that much itself: the addresses that follow are named by object and offset. */
void record_tell_unnamed(void)
{
	if (contained_stopped())
		log_warn(
			"names were not looked up to the end, as a signal asked: what was left is shown as object+0xoffset");
}

void record_tell_progress(const struct session_totals *t)
{
	log_progress("%5.1f s  %" PRIu64 " samples  %" PRIu64 " lost  own CPU %.1f %%  %.1f MiB",
		     (double)t->elapsed_ns / 1e9, t->samples, t->lost,
		     100.0 * (double)t->own_cpu_ns / (double)(t->elapsed_ns ? t->elapsed_ns : 1),
		     (double)t->bytes / 1048576);
}

void record_tell_closing(const struct session_totals *t, const char *output, bool rotated)
{
	double size = (double)t->bytes;
	AUTO_BUF(line);

	buf_addf(&line, "%" PRIu64 " samples, %" PRIu64 " lost, %.*f %s in %s%s", t->samples, t->lost,
		 size < 10240 ? 1 : 0, size < 1048576 ? size / 1024 : size / 1048576, size < 1048576 ? "KiB" : "MiB",
		 output, rotated ? ".*" : "");
	if (t->target_ns && (double)t->target_lost_ns >= 0.95 * (double)t->target_ns)
		buf_addstr(&line, "; target slowed 20-fold or more");
	else if (t->target_ns)
		buf_addf(&line, "; estimated slow-down %.2f %% (%s)",
			 100.0 * (double)t->target_lost_ns / (double)t->target_ns,
			 t->tick_ns > 0 ? "from the measured cost of a sample"
					: "assuming 30 us a sample: too busy to measure it");
	/* no share: what start and end take is many times a short recording's length */
	if (t->target_ns)
		buf_addf(&line, "; accperf itself took %.2f s of CPU time in %.2f s", (double)t->own_cpu_ns / 1e9,
			 (double)t->elapsed_ns / 1e9);
	if (!buf_failed(&line))
		log_info("%s", line.data);
}

/* Not a loss of ours, but the figures are silent about it. */
static void tell_unsampled(const struct session_totals *t)
{
	double all = (double)t->target_ns + (double)t->unsampled_ns,
	       share = all > 0 ? (double)t->unsampled_ns / all : 0;

	if (t->unsampled_threads && share > UNSAMPLED_NOTED)
		log_info("%.0f %% of the CPU time has no sample: %" PRIu64
			 " threads ended before their first one; a higher -F sees more "
			 "of them, --timers cpus sees them in proportion",
			 100 * share, t->unsampled_threads);
}

/* Each of the two parts asks once a sample. */
static void tell_put_off(const struct session_totals *t)
{
	if (t->put_off > t->samples / 2 && t->switches_per_second > 0)
		log_info(
			"watch windows and execution counts were put off: the target switches threads %.0f times per second of CPU "
			"time, which timers of threads would make too dear; --timers cpus has no such limit",
			t->switches_per_second);
}

/* Of their time it is known where it went, and not what was read and written there: status 3 where it is much. */
static int tell_unread(const struct session_totals *t, int status)
{
	double least = fmax(UNREAD_SAMPLES, UNREAD_NOTED * (double)t->samples);

	if ((double)t->rewritten >= least)
		log_warn("%" PRIu64 " of %" PRIu64
			 " samples were in code that the target rewrote before it was read: their accesses are "
			 "unknown, the flow lacks them",
			 t->rewritten, t->samples);
	if ((double)t->unreadable >= least)
		log_warn("%" PRIu64 " of %" PRIu64
			 " samples were in code that cannot be read or decoded: their accesses are unknown, the "
			 "flow lacks them",
			 t->unreadable, t->samples);
	return (double)t->rewritten >= least || (double)t->unreadable >= least ? EXIT_DEGRADED : status;
}

/* What lies in those files has no names, and stacks may end there. */
static int tell_unanswered(int status)
{
	struct openfile_refusals files = openfile_refused();

	if (files.unanswered)
		log_warn(
			"%" PRIu64
			" times a file was not read, as the server of its file system (FUSE, NFS or the like) did not answer: "
			"what ran there has no names; record again when it does, or with a copy on a local disk",
			files.unanswered);
	if (files.too_large)
		log_warn(
			"%" PRIu64
			" times a file was not read, as it is too large to be copied from the server of its file system: "
			"what ran there has no names; record with a copy on a local disk",
			files.too_large);
	return files.unanswered || files.too_large ? EXIT_DEGRADED : status;
}

/* It runs in the hope of being observed, and its user has to know that it is not. */
void record_tell_command(struct targets *t)
{
	if (t->child && t->go_fd < 0 && targets_child_status(t, false) < 0)
		log_warn("the command goes on as process %d and is no longer observed; `kill %d` ends it", t->child,
			 t->child);
}

/* Reading the profile costs time, so not without a reason. */
void record_tell_run_time_code(struct session *s, const char *output)
{
	uint64_t nameless = attr_nameless_code(session_attr(s));
	struct run_time_hint hint[RUN_TIME_HINTS];
	struct profile *p;
	struct err e = { 0 };
	unsigned n;

	if (nameless < RUN_TIME_SAMPLES || (double)nameless < RUN_TIME_SHARE * (double)session_totals(s)->samples)
		return;
	p = profile_load_as_stored(output, &e);
	n = p ? run_time_hints(p, hint) : 0;
	for (unsigned i = 0; i < n; i++)
		log_info("%s", hint[i].text);
	profile_free(p);
}

/* A profile without samples can be read, and says nothing: status 3, and why. */
int record_tell_no_samples(struct session *s, struct targets *t)
{
	const struct session_totals *n = session_totals(s);
	double period_ms = (double)session_period(s) / 1e6, used_ms = (double)n->unsampled_ns / 1e6;

	if (n->samples)
		return EXIT_DONE;
	if (t->child && targets_child_status(t, false) >= 0 && 1e3 * t->child_cpu_s >= ENOUGH_PERIODS * period_ms)
		log_warn(
			"no samples, though the command used %.4g ms of CPU time: in processes that are not observed (--no-inherit, or programs that "
			"gain rights), or in threads that each ran for less than the %.4g ms between two samples",
			1e3 * t->child_cpu_s, period_ms);
	else if (t->child && targets_child_status(t, false) >= 0)
		log_warn(
			"no samples: the command ran for %.4g ms of CPU time, and one sample is taken in %.4g ms; let it work for longer, or sample "
			"more often with -F",
			1e3 * t->child_cpu_s, period_ms);
	else if (n->unsampled_threads)
		log_warn("no samples: the target ran for %.4g ms of CPU time, in %" PRIu64
			 " threads, and one sample is taken in %.4g ms of each; "
			 "record for longer, or sample more often with -F",
			 used_ms, n->unsampled_threads, period_ms);
	else
		log_warn(
			"no samples: the target used no CPU time while it was observed, or less than the %.4g ms between two samples; record while "
			"it works",
			period_ms);
	return EXIT_DEGRADED;
}

int record_tell_rest(const struct session_totals *t, bool quiet, int status)
{
	tell_unsampled(t);
	if (!quiet)
		tell_put_off(t);
	if (t->lost)
		log_warn("%" PRIu64 " records were lost; `accperf report --json` names the counters", t->lost);
	return tell_unanswered(tell_unread(t, status));
}
