// SPDX-License-Identifier: GPL-2.0-or-later
#include "foreground/recording.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreground/asked.h"
#include "foreground/cost_by_turns.h"
#include "foreground/counts_keep.h"
#include "foreground/parts_asked.h"
#include "foreground/told.h"
#include "record/breakpoint_gate.h"
#include "record/effort.h"
#include "record/ledger.h"
#include "symbol/contained_child.h"
#include "util/clock.h"
#include "util/labels.h"
#include "util/rights.h"
#include "util/signals.h"

#define TIMER_SLACK_NS 1000ul         /* 1 us instead of the kernel's 50 us: ticks are over in some 10 us */
#define FIRST_NAMES_NS 10000000000ull /* who is killed sooner has the files that the names are in, most likely */
#define FOREVER_S 1e9                 /* thirty years: the clock in ns could not hold much more */
#define LOOK_NS 20000000              /* whether the target has ended: the loop turns hundreds of times a second */

static int choose_timers(const char *name, enum sampler_timers *out, struct err *e)
{
	static const char *const names[] = {
		[TIMERS_AUTO] = "auto", [TIMERS_OF_CPUS] = "cpus", [TIMERS_OF_THREADS] = "threads"
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*out = (enum sampler_timers)i;
		if (!strcmp(name, names[i]))
			return 0;
	}
	return err_set(e, -EINVAL, "--timers must be auto, cpus or threads");
}

/* The session's share of the budget and of the target's time, by effort; 0 or -EINVAL. */
static int session_opts_of(const struct record_opts *o, struct session_opts *so, struct err *e)
{
	bool counts = strcmp(o->counts, "off");
	const struct effort *effort = effort_named(o->effort);

	if (labels_join(o->labels.items, o->labels.count, so->labels, e))
		return e->code;
	so->budget = effort->budget * effort->planned;
	so->max_hz = effort->max_hz;
	so->own = effort->own;
	/* windows and counts need a share of the budget, and of the samples' time */
	if (o->windows)
		so->max_hz = so->max_hz * (counts ? 2 : 3) / 5;
	so->timer_part = ledger_planned_for_timer(o->windows, counts);
	so->output = o->output;
	so->keep_old = true;
	so->cmdline = o->cmdline;
	so->no_inherit = !o->inherit;
	so->stack_bytes = (uint32_t)o->stack_bytes;
	so->ring_bytes = (uint32_t)o->ring_bytes;
	so->period_ns = o->period_set ? o->period : o->hz_set ? (uint64_t)(1e9 / o->hz) : 0;
	return choose_timers(o->timers, &so->timers, e);
}

/* What needs breakpoints is left out where there will be none. NULL and no error: nothing needs them. */
static struct breakpoint_gate *breakpoints_of(struct record_opts *o, struct err *e)
{
	bool wanted = o->windows || strcmp(o->counts, "off");
	struct breakpoint_gate *g = NULL;
	enum breakpoint_mode mode;

	if (breakpoint_mode_parse(o->breakpoints, &mode, e))
		return NULL;
	if (wanted && !(g = breakpoint_gate_new(mode)))
		err_set(e, -ENOMEM, "out of memory");
	if (g && breakpoint_gate_never(g))
		o->windows = false;
	return g;
}

/* 0, or EXIT_DEGRADED when what was asked for by name needs breakpoints that there were not. */
static int missed_breakpoints(const struct record_opts *asked, const struct breakpoint_gate *g)
{
	bool by_name = (asked->windows_set && asked->windows) || !strcmp(asked->counts, "on");

	return g && by_name && !breakpoint_gate_opened(g) ? EXIT_DEGRADED : EXIT_DONE;
}

static void tell_breakpoints(const struct record_opts *asked, const struct breakpoint_gate *g)
{
	char why[200];

	if (!g || !breakpoint_gate_never(g))
		return;
	breakpoint_gate_why(g, why, sizeof(why));
	if (missed_breakpoints(asked, g) != EXIT_DONE)
		log_warn("no watch windows and no count windows: %s", why);
	else if (!asked->quiet)
		log_info("no hardware breakpoints: %s", why);
}

static int find_children(const struct record_opts *o, struct targets *t, struct err *e)
{
	size_t named = t->count;
	int err = o->inherit ? targets_add_descendants(t, e) : 0;

	if (!err && t->count > named && !o->quiet)
		log_info("%zu child process%s observed, too (--no-inherit leaves them out)", t->count - named,
			 t->count - named == 1 ? " is" : "es are");
	if (!err && t->refused)
		log_warn("%u child process%s not yours to look into, and not observed", t->refused,
			 t->refused == 1 ? " is" : "es are");
	return err;
}

static int find_targets(const struct record_opts *o, int argc, char **argv, struct targets *t, struct err *e)
{
	int err = 0;

	for (unsigned i = 0; i < o->pids.count && !err; i++)
		err = targets_add_pids(t, o->pids.items[i], e);
	if (!err && t->ended && !o->quiet)
		log_info("%u of the processes %s ended already", t->ended, t->ended == 1 ? "has" : "have");
	for (unsigned i = 0; i < o->names.count && !err; i++)
		err = targets_add_name(t, o->names.items[i], e);
	for (unsigned i = 0; i < o->tids.count && !err; i++)
		err = targets_add_tids(t, o->tids.items[i], e);
	if (err || o->tids.count)
		return err;
	if (t->count)
		return find_children(o, t, e);
	if ((o->cgroup && rights_check_all("a control group", e)) || (o->all && rights_check_all("the machine", e)))
		return e->code;
	if (o->cgroup)
		return targets_set_cgroup(t, o->cgroup, e);
	if (argc > 0)
		return targets_start_command(t, argv, e);
	t->all = true;
	return 0;
}

/* Stacks and pages of the target pass through our memory: nobody else may look into it, and it goes into no core file.
 * After the command was forked, whose own core files are its own. */
static void keep_to_ourselves(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

static bool time_for_next(const struct record_opts *o, struct session *s, uint64_t began, uint64_t now)
{
	const struct rotation *g = o->rotation;

	return g && session_may_next(s) &&
	       (record_asked_next() ? true
		: g->seconds > 0    ? (double)(now - began) >= g->seconds * 1e9
				    : session_profile_reached(s, g->bytes));
}

static int pass_on(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The command is not ours to end, but its status is ours to pass on. After Ctrl-C, which it received
 * as well, it gets a moment to end. */
static int command_status(struct targets *t)
{
	for (int i = 0; i < 20; i++) {
		int status = targets_child_status(t, false);

		if (status >= 0)
			return pass_on(status);
		usleep(50000);
	}
	log_info("the command goes on as process %d", t->child);
	return EXIT_DONE;
}

static void wait_for_more(struct pollfd *pf, nfds_t n, uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };

	ppoll(pf, n, &t, NULL);
}

static int record_until_end(const struct record_opts *o, struct session *s, struct targets *t, int sigfd)
{
	struct err e = { 0 };
	struct pollfd pf[2] = { { .fd = sigfd, .events = POLLIN }, { .fd = session_fd(s), .events = POLLIN } };
	enum fmt_end_reason why = FMT_END_DONE;
	uint64_t start, until, began, next_line, next_names, next_look = 0, now;
	const char *fallback;
	int status = EXIT_DONE, err = 0;

	/* of a session that has not begun nothing is left: session_free() */
	if (session_start(s, &e) || (o->rotation && rotation_made(o->rotation, &e)))
		return cli_fail(&e, EXIT_FAILED);
	if (sampler_by_thread(session_sampler(s), &fallback) && *fallback)
		log_info(
			"timers of single threads instead of CPUs: %s; threads that live for less than a period go unseen, and "
			"switching between threads is slower",
			fallback);
	record_cost_moment();
	/* it wakes for ticks, each of which is over in some 10 us; the command was started before */
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	/* names are sought when all is recorded, and a second Ctrl-C ends that */
	record_hurry_when_asked(sigfd);
	start = began = clock_now();
	until = o->duration > 0 && o->duration < FOREVER_S ? start + (uint64_t)(o->duration * 1e9) : UINT64_MAX;
	next_line = start + 1000000000;
	next_names = start + FIRST_NAMES_NS;
	for (;;) {
		wait_for_more(pf, 2, session_wait_ns(s));
		now = clock_now();
		if (pf[0].revents)
			next_look = 0; /* a child's end, perhaps */
		if (record_asked_between() || (pf[0].revents && record_asked_to_stop(sigfd))) {
			why = FMT_END_SIGNAL;
			break;
		}
		if (now >= until)
			break;
		if (time_for_next(o, s, began, now)) {
			err = record_next(s, o->rotation, &e);
			began = now;
		}
		if (!err && now >= next_names)
			err = record_name_now(s, until, &next_names, &e);
		if (err || session_poll(s, &e)) {
			why = FMT_END_ERROR;
			status = cli_fail(&e, EXIT_FAILED);
			break;
		}
		if (now >= next_look && targets_ended(t)) {
			why = FMT_END_TARGET_GONE;
			break;
		}
		if (now >= next_look)
			next_look = now + LOOK_NS;
		if (!o->quiet && now >= next_line) {
			next_line += 1000000000;
			record_tell_progress(session_totals(s));
		}
	}
	record_cost_moment();
	if (!o->quiet)
		log_progress("naming functions...");
	if (session_finish(s, why, &e) && status == EXIT_DONE)
		status = cli_fail(&e, EXIT_FAILED);
	rights_drop();
	record_tell_unnamed();
	if (status == EXIT_DONE && !o->quiet)
		record_tell_closing(session_totals(s), o->output, o->rotation);
	if (status == EXIT_DONE && !o->quiet && !o->rotation)
		record_tell_run_time_code(s, o->output);
	if (status == EXIT_DONE)
		status = record_tell_no_samples(s, t);
	if (status != EXIT_FAILED)
		status = record_tell_rest(session_totals(s), o->quiet, status);
	if (t->child && status != EXIT_FAILED) {
		int its = command_status(t);

		return its == EXIT_DONE ? status : its;
	}
	record_tell_command(t);
	return status;
}

static struct session *begin_session(const struct record_opts *o, const struct session_opts *so, int argc, char **argv,
				     struct targets *t, struct err *e)
{
	if (find_targets(o, argc, argv, t, e))
		return NULL;
	keep_to_ourselves();
	return session_new(so, t, e);
}

/* Where the first profile goes, if there are to be several. */
static int rotation_of(struct record_opts *o, struct session_opts *so, struct rotation *g, struct err *e)
{
	if (!o->rotate)
		return 0;
	g->keep = o->keep;
	if (rotation_parse(g, o->rotate, e) || rotation_begin(g, o->output, e))
		return e->code;
	o->rotation = g;
	so->output = g->path;
	return 0;
}

int recording_once(const struct record_opts *asked, int argc, char **argv)
{
	struct record_opts some = *asked, *o = &some;
	struct session_opts so = { 0 };
	struct offload_part *offload;
	struct session *s = NULL;
	struct rotation rotation = { 0 };
	struct targets t;
	struct err e = { 0 };
	const struct source *hw = NULL;
	int sigfd, status, degraded;
	/* What the environment names is not for who was lent rights: nothing was read from there, either. */
	bool keeps = !rights_lent();

	so.breakpoints = breakpoints_of(o, &e);
	if (e.code || session_opts_of(o, &so, &e) || rotation_of(o, &so, &rotation, &e)) {
		breakpoint_gate_free(so.breakpoints);
		return cli_fail(&e, EXIT_USAGE);
	}
	offload = asked_offload(o, argc, argv, &e);
	if (e.code) {
		breakpoint_gate_free(so.breakpoints);
		return cli_fail(&e, EXIT_USAGE);
	}
	tell_breakpoints(asked, so.breakpoints);
	targets_init(&t);
	sigfd = signals_open(o->rotate ? SIGUSR1 : 0);
	if (sigfd < 0) {
		err_set(&e, -errno, "signals cannot be read, so Ctrl-C would not end the recording: %s",
			strerror(errno));
		breakpoint_gate_free(so.breakpoints);
		offload_part_free(offload);
		return cli_fail(&e, EXIT_FAILED);
	}
	degraded = asked_engine(o, &hw);
	if (asked_hardware_options(o, hw) != EXIT_DONE)
		degraded = EXIT_DEGRADED;
	if (!(s = begin_session(o, &so, argc, argv, &t, &e)) || asked_add_accesses(o, s, hw, &degraded, &e) ||
	    (asked_counts(o, hw) && asked_add_counts(o, &so, s, &degraded)) || asked_add_waits(o, s, &degraded) ||
	    record_heap_add(&o->heap, s, &degraded) || asked_add_earlier(o, s, &e) ||
	    asked_add_offload(o, &t, argc > 0 ? argv[0] : NULL, &offload, &e))
		status = cli_fail(&e, EXIT_FAILED);
	else
		status = !offload || !offload_part_add(s, offload, &e) ? record_until_end(o, s, &t, sigfd)
								       : cli_fail(&e, EXIT_FAILED);
	status = asked_offload_notes(offload, o->quiet, status);
	if (status != EXIT_FAILED && so.breakpoints && !breakpoint_gate_tell(so.breakpoints, o->quiet))
		degraded = EXIT_DEGRADED;
	if (status == EXIT_DONE)
		status = degraded != EXIT_DONE ? degraded : missed_breakpoints(asked, so.breakpoints);
	record_heap_tell(&o->heap, &status);
	session_free(s);
	breakpoint_gate_free(so.breakpoints);
	if (keeps && status != EXIT_FAILED && (o->accesses || asked_counts(o, hw)))
		counts_cache_keep(o->counts_cache, so.output, asked_counts(o, hw));
	rotation_release(&rotation);
	offload_part_free(offload);
	targets_release(&t);
	contained_stop_when(-1, NULL);
	close(sigfd);
	return status;
}

int recording_pids(const struct record_opts *o, int **pids, size_t *count, struct err *e)
{
	struct record_opts quiet = *o;
	struct targets t;

	quiet.quiet = true;
	targets_init(&t);
	if (!find_targets(&quiet, 0, NULL, &t, e)) {
		*pids = calloc(t.count + 1, sizeof(**pids));
		for (size_t i = 0; *pids && i < t.count; i++)
			(*pids)[(*count)++] = t.procs[i].pid;
		if (!*pids)
			err_set(e, -ENOMEM, "out of memory");
	}
	targets_release(&t);
	return e->code;
}
