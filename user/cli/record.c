// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf record: options, the loop, the progress line and the closing line. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/labels.h"
#include "record/breakpoint_gate.h"
#include "cli/cli.h"
#include "record/part_offload.h"
#include "record/part_access.h"
#include "cli/counts_keep.h"
#include "record/part_counts.h"
#include "record/part_segments.h"
#include "record/part_waits.h"
#include "cli/record_asked.h"
#include "cli/record_cost.h"
#include "cli/record_heap.h"
#include "cli/record_tell.h"
#include "record/session.h"
#include "measure/cost.h"
#include "measure/cost_in_turns.h"
#include "symbol/contained_child.h"
#include "record/effort.h"
#include "record/ledger.h"
#include "record/sources.h"
#include "record/rotation.h"
#include "util/clock.h"
#include "util/rights.h"
#include "util/signals.h"

/* of --measure-cost: shorter, and attaching and the first windows, dearer than the rest, are most of it */
#define LEAST_TURN_S 1.0
#define COST_DURATION_S 64.0
#define COST_PAIRS 8
#define TIMER_SLACK_NS 1000ul
#define FIRST_NAMES_NS 10000000000ull /* who is killed sooner has the files that the names are in, most likely */
#define FOREVER_S 1e9                 /* thirty years: the clock in ns could not hold much more */
#define LOOK_NS 20000000              /* whether the target has ended: the loop turns hundreds of times a second */

struct record_opts {
	struct opt_list pids, tids, names;
	const char *cgroup, *effort, *output, *engine;
	const char *rotate;
	struct rotation *rotation; /* NULL: one profile */
	const char *offload, *offload_attach, *counts, *counts_cache, *timers, *breakpoints;
	struct opt_list offload_probes, labels;
	struct record_heap heap;
	bool offload_exact, offload_returns;
	const char *work;
	bool keep_set, ldlat_set, phys, page_size, cmdline, measure_cost, json;
	bool all, inherit, quiet, hz_set, period_set, accesses, windows, windows_set, syscalls, syscalls_set, waits,
		waits_set, call_segments, call_segments_set;
	double hz, duration;
	uint64_t keep, period, stack_bytes, ring_bytes, watch_len, ldlat;
};

static const struct record_opts defaults = {
	.effort = "default",
	.output = "accperf.data",
	.inherit = true,
	.engine = "auto",
	.accesses = true,
	.windows = true,
	.syscalls = true,
	.waits = true,
	.call_segments = true,
	.counts = "auto",
	.timers = "auto",
	.watch_len = 1,
	.stack_bytes = 65536,
	.ring_bytes = 4 << 20,
};

#define O(field) offsetof(struct record_opts, field)
static const struct opt options[] = {
	{ OPT_GROUP, 0, NULL, 0, NULL, "What to observe", 0 },
	{ OPT_LIST, 'p', "pid", O(pids), "PID,...",
	  "processes, with their threads and children, those that exist and those to come; may be repeated", 0 },
	{ OPT_LIST, 'n', "name", O(names), "NAME",
	  "all processes of that name, with their threads and children; may be repeated", 0 },
	{ OPT_LIST, 't', "tid", O(tids), "TID,...", "single threads; may be repeated", 0 },
	{ OPT_BOOL, 'a', "all", O(all), NULL, "every process on the machine", 0 },
	{ OPT_STRING, 'G', "cgroup", O(cgroup), "CGROUP", "every process of a control group", 0 },
	{ OPT_BOOL, 0, "inherit", O(inherit), NULL, "follow children, too (on; --no-inherit: only the processes named)",
	  0 },
	{ OPT_GROUP, 0, NULL, 0, NULL, "How closely", 0 },
	{ OPT_STRING, 0, "effort", O(effort), "low|default|high",
	  "what the target may lose: at most 0.5 %, 1 % or 5 % of its time", 0 },
	{ OPT_STRING, 'e', "engine", O(engine), SOURCE_CHOICES,
	  "where memory accesses come from (auto: the best that works here)", 0 },
	{ OPT_UINT, 0, "ldlat", O(ldlat), "CYCLES",
	  "with PEBS: sample only loads that took at least so long (1 to 65535; every load), to find slow ones; totals are of these",
	  O(ldlat_set) },
	{ OPT_BOOL, 0, "phys-data", O(phys), NULL,
	  "with hardware sampling: physical addresses, too (needs the right to see the kernel)", 0 },
	{ OPT_BOOL, 0, "data-page-size", O(page_size), NULL,
	  "with hardware sampling: the size of the page of each address, too (Linux 5.11)", 0 },
	{ OPT_BOOL, 0, "accesses", O(accesses), NULL, "store memory accesses (on)", 0 },
	{ OPT_BOOL, 0, "windows", O(windows), NULL, "watch sampled addresses: who writes, who reads (on)",
	  O(windows_set) },
	{ OPT_UINT, 0, "watch-length", O(watch_len), "1|4",
	  "bytes that a window watches (1; 4 for data that is never read or written by system calls)", 0 },
	{ OPT_BOOL, 0, "syscalls", O(syscalls), NULL, "what the kernel reads and writes in the target's memory (on)",
	  O(syscalls_set) },
	{ OPT_BOOL, 0, "waits", O(waits), NULL, "how long threads are off the CPU, and in which call (on)",
	  O(waits_set) },
	{ OPT_STRING, 0, "counts", O(counts), "auto|on|off",
	  "execution counts by breakpoints on the code that takes time (auto: where the processor counts nothing)", 0 },
	COUNTS_CACHE_OPT(O(counts_cache)),
	{ OPT_BOOL, 0, "segments", O(call_segments), NULL,
	  "with counts: how fast the code runs, by what lies between two system calls (on)", O(call_segments_set) },
	{ OPT_STRING, 0, "breakpoints", O(breakpoints), "auto|on|off",
	  "hardware breakpoints, for windows and counts (auto: on a virtual machine not before they were tried out; see below)",
	  0 },
	{ OPT_DOUBLE, 'F', "freq", O(hz), "HZ", "samples per second of CPU time, instead of the effort's choice",
	  O(hz_set) },
	{ OPT_UINT, 'c', "period", O(period), "NS", "nanoseconds of CPU time between samples, instead of -F",
	  O(period_set) },
	{ OPT_STRING, 0, "timers", O(timers), "auto|cpus|threads",
	  "one timer per CPU, or one per thread (auto: per CPU, where that is permitted)", 0 },
	{ OPT_SIZE, 0, "stack-size", O(stack_bytes), "BYTES",
	  "largest piece of the stack to copy (64K, which is the most)", 0 },
	{ OPT_SIZE, 0, "ring-size", O(ring_bytes), "BYTES",
	  "memory between kernel and recorder (4M; a power of two): more survives longer stalls", 0 },
	{ OPT_GROUP, 0, NULL, 0, NULL, "Offload calls", 0 },
	{ OPT_STRING, 0, "offload", O(offload), "LIST",
	  "record calls of offload APIs: auto, none, or some of cuda, opencl, openssl, zlib, markers... (`--offload help` lists them; "
	  "unasked auto, in libraries that a process has mapped)",
	  0 },
	{ OPT_LIST, 0, "offload-probe", O(offload_probes), "SPEC",
	  "record a function of your own: 'libfoo.so:encode(bytes=arg2,accelerated)'; arguments count from 0: arg0 is the first",
	  0 },
	{ OPT_BOOL, 0, "offload-exact", O(offload_exact), NULL,
	  "every call one by one and all the time, whatever it costs the target", 0 },
	{ OPT_BOOL, 0, "offload-returns", O(offload_returns), NULL,
	  "replace return addresses also where an exception may pass them, which ends a program that throws one", 0 },
	{ OPT_STRING, 0, "offload-attach", O(offload_attach), "auto|session|multi|perf",
	  "how to plant the probes (auto: the best this kernel has)", 0 },
	RECORD_HEAP_OPTS(struct record_opts, heap),
	{ OPT_GROUP, 0, NULL, 0, NULL, "Output", 0 },
	{ OPT_STRING, 'o', "output", O(output), "FILE",
	  "profile to write (accperf.data; an older one is kept as FILE.old)", 0 },
	{ OPT_TIME, 0, "duration", O(duration), "TIME",
	  "stop after this long, e.g. 10s, 5m (until Ctrl-C or the end of the target)", 0 },
	{ OPT_STRING, 0, "rotate", O(rotate), "TIME-OR-SIZE",
	  "for recordings of weeks: a profile ends after so long (90s, 10m, 1h, 1d), or when it is about so large (64K, 10M, 1G), and the next "
	  "begins: FILE.000001, FILE.000002...",
	  0 },
	{ OPT_UINT, 0, "keep", O(keep), "N", "with --rotate: no more than the latest N of these files", O(keep_set) },
	{ OPT_LIST, 0, "label", O(labels), "KEY=VALUE", "kept in the profile, for whoever reads it; may be repeated",
	  0 },
	{ OPT_BOOL, 0, "cmdline", O(cmdline), NULL,
	  "store whole command lines, arguments and the secrets in them included", 0 },
	{ OPT_GROUP, 0, NULL, 0, NULL, "What it costs", 0 },
	{ OPT_BOOL, 0, "measure-cost", O(measure_cost), NULL,
	  "record by turns, on and off, and tell what the target got done with and without (-p or -n; --duration in all: 64s); each turn's "
	  "profile is FILE.000001, FILE.000002...",
	  0 },
	{ OPT_STRING, 0, "work", O(work), "COMMAND",
	  "with --measure-cost: prints how much work the target has done so far, as one number; else its read and write calls or the "
	  "network tell",
	  0 },
	{ OPT_BOOL, 0, "json", O(json), NULL, "with --measure-cost: the result as JSON", 0 },
	{ OPT_BOOL, 'q', "quiet", O(quiet), NULL, "no progress and no closing line; errors and losses only", 0 },
	OPT_END,
};

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

/* Exactly one way to say what is observed, and well-formed lists. */
static int check_targets(const struct record_opts *o, int argc, char **argv, struct err *e)
{
	bool processes = o->pids.count || o->names.count;
	int ways = processes + !!o->tids.count + !!o->cgroup + o->all + (argc > 0);

	if (!ways)
		return err_set(
			e, -EINVAL,
			"say what to observe: -p PID, -n NAME, -t TID, -a, -G CGROUP or -- CMD; see `accperf record --help`");
	if (ways == 2 && o->pids.count && argc && !argv[0][strspn(argv[0], "0123456789")])
		return err_set(
			e, -EINVAL,
			"several process ids are one argument: -p %s,%s, or -p \"$(pgrep NAME)\" with its quotes, or -n NAME",
			o->pids.items[0], argv[0]);
	if (ways > 1)
		return err_set(e, -EINVAL, "-p or -n, -t, -a, -G and -- CMD exclude each other");
	for (unsigned i = 0; i < o->pids.count; i++)
		if (targets_check_list(o->pids.items[i], "process", e))
			return e->code;
	for (unsigned i = 0; i < o->tids.count; i++)
		if (targets_check_list(o->tids.items[i], "thread", e))
			return e->code;
	return 0;
}

static int check_options(const struct record_opts *o, struct session_opts *so, struct err *e)
{
	bool counts = strcmp(o->counts, "off");
	const struct effort *effort;
	struct heap_opts heap;

	if (record_heap_check(&o->heap, &heap, e))
		return e->code;
	if (o->cgroup && !*o->cgroup)
		return err_set(e, -EINVAL, "-G wants a cgroup; -a observes all of them");
	if (!*o->output)
		return err_set(e, -EINVAL, "-o wants the name of a file");
	if (o->keep_set && (!o->rotate || !o->keep))
		return err_set(e, -EINVAL, "--keep wants 1 or more, and --rotate");
	if ((o->work || o->json) && !o->measure_cost)
		return err_set(e, -EINVAL, "--work and --json want --measure-cost");
	if (labels_join(o->labels.items, o->labels.count, so->labels, e))
		return e->code;
	if (o->measure_cost && (!(o->pids.count || o->names.count) || o->rotate))
		return err_set(e, -EINVAL, "--measure-cost wants processes that run: -p or -n; and no --rotate");
	if (o->measure_cost && o->duration > 0 && o->duration < 2 * TURN_PAIRS_LEAST * LEAST_TURN_S)
		return err_set(e, -EINVAL, "--measure-cost wants a --duration of %.0fs or more",
			       2 * TURN_PAIRS_LEAST * LEAST_TURN_S);
	if (o->hz_set && o->period_set)
		return err_set(e, -EINVAL, "-F and -c exclude each other");
	if (o->hz_set && (o->hz < 1 || o->hz > 50000))
		return err_set(e, -EINVAL, "-F must be between 1 and 50000 samples per second");
	if (o->period_set && (o->period < 20000 || o->period > 10000000000ull))
		return err_set(e, -EINVAL, "-c must be between 20000 and 10000000000 ns");
	if (o->watch_len != 1 && o->watch_len != 4)
		return err_set(e, -EINVAL, "--watch-length must be 1 or 4");
	if (o->ldlat_set && (o->ldlat < 1 || o->ldlat > 65535))
		return err_set(e, -EINVAL, "--ldlat must be between 1 and 65535 cycles");
	if (o->stack_bytes < 512 || o->stack_bytes > 65536)
		return err_set(e, -EINVAL, "--stack-size must be between 512 and 64K bytes");
	if (o->ring_bytes < 65536 || o->ring_bytes > 1 << 30 || o->ring_bytes & (o->ring_bytes - 1))
		return err_set(e, -EINVAL, "--ring-size must be a power of two between 64K and 1G");
	effort = effort_named(o->effort);
	so->budget = effort->budget * effort->planned;
	so->max_hz = effort->max_hz;
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
				    : session_profile_bytes(s) >= g->bytes);
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

	if (session_start(s, &e) || (o->rotation && rotation_made(o->rotation, &e))) {
		session_finish(s, FMT_END_ERROR, NULL);
		return cli_fail(&e, EXIT_FAILED);
	}
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

/* Advice needs calls of what could be offloaded. Unasked, a recording looks for them where a process that it attaches
 * to has a library of such an API, and in a command, which will map what it maps. */
static int add_unasked_offload(const struct record_opts *o, const struct targets *t, const char *exe,
			       struct offload_part **out, struct err *e)
{
	bool any = false;

	if (*out || o->offload || o->tids.count)
		return 0;
	any = t->child > 0;
	for (size_t i = 0; i < t->count && !any; i++)
		any = offload_maps_any(t->procs[i].pid);
	if (any)
		*out = offload_part_new(&(struct offload_opts){ .list = "auto", .unasked = true }, exe, e);
	return any && !*out ? e->code : 0;
}

/* Probes for offload calls; NULL without an error: none were asked for. */
static struct offload_part *offload_of(const struct record_opts *o, int argc, char **argv, struct err *e)
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
	for (int i = 0; o->offload_attach && i < 4; i++)
		if (!strcmp(o->offload_attach, ways[i]))
			oo.mode = i;
	return offload_part_new(&oo, argc > 0 ? argv[0] : NULL, e);
}

/* What the probes have to say; 3 when something asked for was not there. */
static int offload_notes(const struct offload_part *p, bool quiet, int status)
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

/* 0, or EXIT_DEGRADED when something that was asked for by name cannot be had. */
static int choose_engine(const struct record_opts *o, const struct source **chosen)
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

/* What only a processor that samples accesses can tell was asked for. */
static int check_hardware_options(const struct record_opts *o, const struct source *hw)
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

/* Whether windows of execute breakpoints are to turn time into counts. */
static bool wants_counts(const struct record_opts *o, const struct source *hw)
{
	return strcmp(o->counts, "off") && (!hw || !strcmp(o->counts, "on"));
}

static int add_accesses(const struct record_opts *o, struct session *s, const struct source *hw, int *status,
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
	int err = o->call_segments ? segments_part_add(s, effort_named(o->effort)->bursts, counts, &e) : 0;

	if (!err)
		return 0;
	log_warn("no segments: %s", e.text);
	if (o->call_segments_set)
		*status = EXIT_DEGRADED;
	return err == -ENOMEM ? err : 0;
}

static int add_counts(const struct record_opts *o, const struct session_opts *so, struct session *s, int *status)
{
	struct counts_opts co = { .windows = !so->breakpoints || !breakpoint_gate_never(so->breakpoints),
				  .bursts = effort_named(o->effort)->bursts };
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

static int add_waits(const struct record_opts *o, struct session *s, int *status)
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

static int record_once(const struct record_opts *asked, int argc, char **argv)
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

	if (o->offload && !strcmp(o->offload, "help")) {
		offload_part_list();
		return EXIT_DONE;
	}
	so.breakpoints = breakpoints_of(o, &e);
	if (e.code || check_targets(o, argc, argv, &e) || check_options(o, &so, &e) ||
	    rotation_of(o, &so, &rotation, &e)) {
		breakpoint_gate_free(so.breakpoints);
		return cli_fail(&e, EXIT_USAGE);
	}
	offload = offload_of(o, argc, argv, &e);
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
	degraded = choose_engine(o, &hw);
	if (check_hardware_options(o, hw) != EXIT_DONE)
		degraded = EXIT_DEGRADED;
	if (!(s = begin_session(o, &so, argc, argv, &t, &e)) || add_accesses(o, s, hw, &degraded, &e) ||
	    (wants_counts(o, hw) && add_counts(o, &so, s, &degraded)) || add_waits(o, s, &degraded) ||
	    record_heap_add(&o->heap, s, &degraded) ||
	    add_unasked_offload(o, &t, argc > 0 ? argv[0] : NULL, &offload, &e))
		status = cli_fail(&e, EXIT_FAILED);
	else
		status = !offload || !offload_part_add(s, offload, &e) ? record_until_end(o, s, &t, sigfd)
								       : cli_fail(&e, EXIT_FAILED);
	status = offload_notes(offload, o->quiet, status);
	if (status != EXIT_FAILED && so.breakpoints && !breakpoint_gate_tell(so.breakpoints, o->quiet))
		degraded = EXIT_DEGRADED;
	if (status == EXIT_DONE)
		status = degraded != EXIT_DONE ? degraded : missed_breakpoints(asked, so.breakpoints);
	record_heap_tell(&o->heap, &status);
	session_free(s);
	breakpoint_gate_free(so.breakpoints);
	if (status != EXIT_FAILED && wants_counts(o, hw))
		counts_cache_keep(o->counts_cache, so.output);
	rotation_release(&rotation);
	offload_part_free(offload);
	targets_release(&t);
	contained_stop_when(-1, NULL);
	close(sigfd);
	return status;
}

static int turn_with(void *opts, const char *output, double seconds)
{
	struct record_opts o = *(const struct record_opts *)opts;

	o.measure_cost = o.json = false;
	o.work = NULL;
	o.quiet = true;
	o.output = output;
	o.duration = seconds;
	return record_once(&o, 0, NULL);
}

static int find_pids(const struct record_opts *o, int **pids, size_t *count, struct err *e)
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

/* Turns shorten from eight pairs to five before they get shorter than a second. */
static unsigned pairs_in(double seconds)
{
	double fit = seconds / (2 * LEAST_TURN_S);

	return fit < COST_PAIRS ? (unsigned)fit : COST_PAIRS;
}

static int measure_cost(struct record_opts *o)
{
	double seconds = o->duration > 0 ? o->duration : COST_DURATION_S;
	struct rotation files = { 0 };
	struct cost_turns c = { .work = o->work,
				.pairs = pairs_in(seconds),
				.quiet = o->quiet,
				.json = o->json,
				.files = &files,
				.record = turn_with,
				.ctx = o };
	struct session_opts unused = { 0 };
	struct err e = { 0 };
	int *pids = NULL, status;

	c.turn_s = seconds / (2 * c.pairs);
	if (check_targets(o, 0, NULL, &e) || check_options(o, &unused, &e))
		return cli_fail(&e, EXIT_USAGE);
	if (rotation_begin(&files, o->output, &e))
		return cli_fail(&e, EXIT_USAGE);
	if (find_pids(o, &pids, &c.pid_count, &e)) {
		rotation_release(&files);
		return cli_fail(&e, EXIT_FAILED);
	}
	c.pids = pids;
	c.sigfd = signals_open(0);
	status = c.sigfd < 0 ? EXIT_FAILED : record_cost(&c);
	if (c.sigfd >= 0)
		close(c.sigfd);
	free(pids);
	rotation_release(&files);
	return status;
}

static int cmd_record(void *opts, int argc, char **argv)
{
	struct record_opts *o = opts;

	if (!o->measure_cost)
		return record_once(o, argc, argv);
	if (argc) {
		log_error("--measure-cost wants processes that run: -p or -n, and no command");
		return EXIT_USAGE;
	}
	return measure_cost(o);
}

static const struct cli_schema schemas[] = { { "measured-cost", record_cost_schema }, { 0 } };

CLI_COMMAND(record) = {
	.name = "record",
	.records = true,
	.summary = "observe a live process, or a command, and write a profile",
	.order = 10,
	.run = cmd_record,
	.runs_command = true,
	.options = options,
	.opt_size = sizeof(struct record_opts),
	.defaults = &defaults,
	.schemas = schemas,
	.usage = "[options] (-p PID | -n NAME | -t TID | -a | -G CGROUP | -- CMD ARGS)",
	.details =
		"Samples where the target's time goes, with its call stacks, and writes a profile that\n"
		"`accperf report` and the other reading commands understand. The target is never stopped, and\n"
		"nothing stays attached when the recording ends, however it ends.\n\n"
		"With --rotate the recording goes on for weeks in files that end one after the other, each a whole profile\n"
		"with everything that reading it needs; no sample is lost between two of them, and what the recorder\n"
		"remembers begins anew with each. SIGUSR1 ends one early. --keep N removes the oldest of those that this\n"
		"recording made.\n\n"
		"The slow-down in the closing line is estimated, from what samples and windows cost here. --measure-cost\n"
		"measures it: recordings on and off by turns, in the order off, on, on, off, and per pair of turns how much\n"
		"more or less the target got done in a second, and what CPU time a piece of work took. What the kernel\n"
		"counts anyhow is the work, or what the command of --work prints (requests served, rows written). A target\n"
		"that is paced from outside gets the same done either way; its CPU time tells.\n\n"
		"Ctrl-C ends the recording; the profile is complete. A recording that is killed, or meets a full\n"
		"disk, loses at most its last second, and names of what came in its last minutes. With -- CMD the\n"
		"exit status is the command's, or 3 where that is 0 and something is missing. A recording without a\n"
		"single sample ends with 3.\n\n"
		"Where no hardware counts instructions, --counts auto measures how often code runs, for `accperf\n"
		"counts`, report and flow: short windows of execute breakpoints on what takes time, within the\n"
		"effort's budget; and bursts: from some samples on, the recorder itself carries out the thread's next\n"
		"10,000 instructions, on a copy of the memory that they touch, which costs the target the copying\n"
		"of some dozen pages, and the recorder .3, 1 or 4 % of a CPU by effort. Code generated at run time\n"
		"keeps its time share, and so do programs that end within seconds. Segments tell how fast it runs where\n"
		"no breakpoint does: some returns of system calls are drawn, the recorder carries the code on to the\n"
		"next system call, and the entry that came must have the same registers. They, too, lie within the effort's\n"
		"budget, and take as much of a CPU of the recorder again at most.\n\n"
		"On some virtual machines a hit of a hardware breakpoint ends the program that it observes, about\n"
		"one in a million, whoever armed it: a defect of hypervisors (KVM before Linux 6.14). So on a virtual\n"
		"machine recordings try breakpoints out first, once a boot: two million hits of their own, in idle\n"
		"time, some 20 to 50 s of a CPU. Until that is done, and where a hit sent a signal, there are no\n"
		"watch windows, and counts come from bursts alone. `accperf doctor --breakpoints` tries at once;\n"
		"--breakpoints on does not wait for it, off does without. $ACCPERF_BREAKPOINTS is the default.\n\n"
		"--heap sees where memory is allocated, for `accperf objects`: in turns it probes the allocators of one\n"
		"process (glibc, jemalloc, tcmalloc, mimalloc and others that have malloc() and free() by symbol, preloaded or\n"
		"linked in; operator new where it is the allocator's own; --heap-probe names more), counts all calls,\n"
		"and tells three blocks of four with their stacks, or by bytes as --heap-bytes has it. A hit of a probe costs\n"
		"some microseconds, so where many blocks are made a turn takes milliseconds and comes back seconds later;\n"
		"what was freed meanwhile is not seen. It lies within the effort's budget; nothing is probed in between.\n\n"
		"The timers belong to the CPUs; what they find running and is not observed is dropped in the\n"
		"kernel. So threads and children are seen from their first instruction, in proportion to their\n"
		"CPU time, however short they live, and switching between threads is no slower than without us.\n"
		"Each CPU, idle ones too, is interrupted once a period. --timers threads gives every thread a timer\n"
		"of its own: for a few busy threads on a machine of very many CPUs; chosen where CPUs may not be\n"
		"observed, which is said. Then a thread that lives for less CPU time than one period may end\n"
		"before its first sample (how much CPU time that was is told at the end and by `accperf report`),\n"
		"and every context switch of the target takes some microseconds longer.\n\n"
		"What of the target is in the profile: names (files, functions, processes, threads, what is run),\n"
		"addresses of code and of data, sizes and times, and counts. Never: contents of memory, of registers,\n"
		"of files or of what is written and read, environment variables, arguments (unless --cmdline). Two\n"
		"things may yet tell something: an address of data tells an index that is secret, and a value that\n"
		"--offload-probe names (bytes=, flops=) is stored. Copies of stacks and pages, from which the above is\n"
		"made, stay in the recorder's memory; it leaves no core file. The profile is for its owner alone\n"
		"(mode 0600). The file format's text has it by section.\n\n"
		"Needs root, or a binary with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE; `accperf doctor` tells. Whoever\n"
		"may run such a binary could look into every process, so let a group have it: chgrp GROUP accperf,\n"
		"chmod 0750 accperf, then setcap cap_perfmon,cap_bpf,cap_sys_ptrace+ep accperf. Where everybody may run\n"
		"it, only processes that its user could trace anyway are observed, and no program that gains rights;\n"
		"it takes no files from the environment (so keeps no caches), and commands other than record and\n"
		"doctor give the rights back before they do anything.\n\n"
		"-G takes a group's path, or its name below /sys/fs/cgroup; with it all groups below. Of version 1 only\n"
		"groups of the perf_event hierarchy can be observed, without their system calls.",
	.examples = "accperf record -p 1234 --duration 10s\tTen seconds of a running process\n"
		    "accperf record -F 999 -o run.data -- gzip -k big.tar\tA command, at a rate of your choice\n"
		    "accperf record -p 1234 --measure-cost\tWhat recording takes from this process, measured\n"
		    "accperf record -a --effort low --duration 1m\tThe whole machine, at most half a percent\n",
	.max_args = -1,
};
