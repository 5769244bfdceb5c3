// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf record: its options, and what they must be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "foreground/cost_by_turns.h"
#include "foreground/counts_keep.h"
#include "foreground/recording.h"
#include "kmod-free/targets.h"
#include "measure/cost_in_turns.h"
#include "offload/api_table.h"
#include "record/effort.h"
#include "record/part_offload.h"
#include "record/rotation.h"
#include "record/sources.h"
#include "util/signals.h"

/* of --measure-cost: shorter, and attaching and the first windows, dearer than the rest, are most of it */
#define LEAST_TURN_S 1.0
#define COST_DURATION_S 64.0 /* s: COST_PAIRS pairs of turns of 4 s each; by hand */
#define COST_PAIRS 8

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
	  "record calls of offload APIs: auto, none, or some of " OFFLOAD_API_NAMES
	  "markers (`--offload help` says what they are; unasked auto, in libraries that a process has mapped)",
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

static int check_options(const struct record_opts *o, struct err *e)
{
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
	return 0;
}

static int turn_with(void *opts, const char *output, double seconds)
{
	struct record_opts o = *(const struct record_opts *)opts;

	o.measure_cost = o.json = false;
	o.work = NULL;
	o.quiet = true;
	o.output = output;
	o.duration = seconds;
	return recording_once(&o, 0, NULL);
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
	struct err e = { 0 };
	int *pids = NULL, status;

	c.turn_s = seconds / (2 * c.pairs);
	if (rotation_begin(&files, o->output, &e))
		return cli_fail(&e, EXIT_USAGE);
	if (recording_pids(o, &pids, &c.pid_count, &e)) {
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
	struct err e = { 0 };

	if (o->offload && !strcmp(o->offload, "help")) {
		offload_part_list();
		return EXIT_DONE;
	}
	if (!o->measure_cost && (check_targets(o, argc, argv, &e) || check_options(o, &e)))
		return cli_fail(&e, EXIT_USAGE);
	if (!o->measure_cost)
		return recording_once(o, argc, argv);
	if (argc) {
		log_error("--measure-cost wants processes that run: -p or -n, and no command");
		return EXIT_USAGE;
	}
	if (check_targets(o, 0, NULL, &e) || check_options(o, &e))
		return cli_fail(&e, EXIT_USAGE);
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
		"of some dozen pages, and the recorder .5, 2 or 6 % of a CPU by effort. Code generated at run time\n"
		"keeps its time share, and so do programs that end within seconds. Segments tell how fast it runs where\n"
		"no breakpoint does: some returns of system calls are drawn, the recorder carries the code on to the\n"
		"next system call, and the entry that came must have the same registers. They, too, lie within the effort's\n"
		"budget, and the recorder gives them .3, 1 or 4 % of a CPU.\n\n"
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
		"Each CPU, idle ones too, is interrupted once a period. The kernel interrupts a CPU that works anyway, some\n"
		"100 to 1000 times a second: these ticks bring samples, too, for a tenth of the cost, unless -F or -c\n"
		"was given. They are given up where the target wakes in step with them, as the timers' samples tell,\n"
		"and for a thread that has had more or fewer of them than its CPU time has room for.\n"
		"--timers threads gives every thread a timer\n"
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
