// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf exact: runs a program under the exact engine and writes a profile. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "command/command.h"
#include "exact/dumplog.h"
#include "exact/record.h"

struct exact_cmd {
	struct exact_opts run;
	const char *dump_log;
};

#define ACCESSES_MOST 10000000 /* rows of some 65 bytes: a disk is not filled by a run of a minute */

static const struct exact_cmd defaults = { .run = { .output = "accperf.data",
						    .semantics = "both",
						    .stack = "exclude",
						    .attribute = "self",
						    .lib = true,
						    .unique = true,
						    .chunk = 4,
						    .window_hits = 64,
						    .xfer_chunk = 4,
						    .accesses_most = ACCESSES_MOST } };

#define AT(field) .offset = offsetof(struct exact_cmd, run.field)
static const struct opt options[] = {
	{ OPT_GROUP, .help = "What is counted" },
	{ OPT_STRING, 0, "attribute", AT(attribute), .arg = "self|main",
	  .help = "an access belongs to the function that makes it, or to the latest function of the main program on the call stack (self)" },
	{ OPT_BOOL, 0, "lib", AT(lib), .set_offset = offsetof(struct exact_cmd, run.lib_set),
	  .help = "library functions stand by themselves, as --attribute self; --no-lib: as --attribute main" },
	{ OPT_STRING, 0, "functions", AT(functions), .arg = "LIST",
	  .help = "only these, each with all it calls; the rest is (outside). Names or glob patterns with commas between them; @FILE: one a line" },
	{ OPT_STRING, 0, "start-at", AT(start_at), .arg = "FN[:N]",
	  .help = "count from the N-th call of FN on; what was written before belongs to (before attach)" },
	{ OPT_STRING, 0, "writers-from", AT(writers_from), .arg = "FN[:N]",
	  .help = "with --start-at: who wrote what was written from the N-th call of FN on is known, though it is not counted yet" },
	{ OPT_STRING, 0, "stop-at", AT(stop_at), .arg = "FN[:N]", .help = "stop counting at the N-th call of FN" },
	{ OPT_UINT, 0, "chunk", AT(chunk), .arg = "1|4|8", .help = "bytes per chunk of the ke semantics (4)" },
	{ OPT_STRING, 0, "semantics", AT(semantics), .arg = "both|quad|ke",
	  .help = "quad: every byte read counts; ke: once per invocation and write (both)" },
	{ OPT_STRING, 0, "stack", AT(stack), .arg = "exclude|include",
	  .help = "what readers show unless told otherwise, and the xfers log; both are measured (exclude)" },
	{ OPT_GROUP, .help = "Cost" },
	{ OPT_BOOL, 0, "unique", AT(unique),
	  .help = "sets of unique addresses: UMA figures (on); --no-unique is faster and smaller" },
	{ OPT_BOOL, 0, "cycles", AT(cycles), .help = "a static cost model with simulated caches: time-like figures" },
	{ OPT_GROUP, .help = "More results" },
	{ OPT_BOOL, 0, "objects", AT(objects),
	  .help = "data objects: globals, heap blocks by allocation site, stack frames, and who uses them" },
	{ OPT_STRING, 0, "candidate", AT(candidate), .arg = "LIST",
	  .help = "communication in, out and local of these, each with all it calls; names as of --functions" },
	{ OPT_BOOL, 0, "callees", AT(callees),
	  .help = "the same of every function, and the call tree with the bytes between its paths" },
	{ OPT_UINT, 0, "slice", AT(slice), .arg = "N", .help = "bytes per function per N instructions, for timeline" },
	{ OPT_GROUP, .help = "Synthetic samples of the same run" },
	{ OPT_STRING, 0, "emit-samples", AT(emit_samples), .arg = "PERIOD[:SEED]",
	  .help = "one in PERIOD loads, stores and instructions, at random distances" },
	{ OPT_STRING, 0, "emit-timer", AT(emit_timer), .arg = "PERIOD",
	  .help = "samples by the cost model's time, one in PERIOD cycles, and the accesses of the block found" },
	{ OPT_UINT, 0, "emit-census", AT(emit_census), .arg = "N",
	  .help = "the first N executions of every store instruction" },
	{ OPT_UINT, 0, "emit-windows", AT(emit_windows), .arg = "COUNT",
	  .help = "COUNT to 2 COUNT watch windows on sampled accesses (needs --emit-samples)" },
	{ OPT_UINT, 0, "window-hits", AT(window_hits), .arg = "N", .help = "most hits of a window (64)" },
	{ OPT_GROUP, .help = "Logs by invocation, as Kim & Edwards' tool: text and binary" },
	{ OPT_STRING, 0, "tfunction", AT(log[0]), .arg = "FILE", .help = "number, name, object of every function" },
	{ OPT_STRING, 0, "bfunction", AT(log[1]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_STRING, 0, "tsubcalls", AT(log[2]), .arg = "FILE",
	  .help = "invocation, the one that called it, function" },
	{ OPT_STRING, 0, "bsubcalls", AT(log[3]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_STRING, 0, "ticount", AT(log[4]), .arg = "FILE",
	  .help = "invocation, its instructions, those that compute" },
	{ OPT_STRING, 0, "bicount", AT(log[5]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_STRING, 0, "txfers", AT(log[6]), .arg = "FILE",
	  .help = "reading invocation, writing one (0: nobody's), chunks" },
	{ OPT_STRING, 0, "bxfers", AT(log[7]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_STRING, 0, "accesses", AT(log[8]), .arg = "FILE",
	  .help = "every load and store as CSV: time, function, its call, address, size, object (with --objects)" },
	{ OPT_STRING, 0, "baccesses", AT(log[9]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_UINT, 0, "accesses-most", AT(accesses_most), .arg = "N",
	  .help = "so many in the list at most, what more there were is said; 0: all (10000000, some 650 MB of CSV)" },
	{ OPT_UINT, 0, "xfer-chunk", AT(xfer_chunk), .arg = "N",
	  .help = "bytes per chunk of the xfers log: a power of two up to 4096, as of a cache line or a page (4)" },
	{ OPT_STRING, 0, "dump-log", .offset = offsetof(struct exact_cmd, dump_log), .arg = "FILE",
	  .help = "print a binary log as text; runs nothing" },
	{ OPT_GROUP, .help = "Output" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "profile to write (accperf.data)" },
	{ OPT_BOOL, 0, "cmdline", AT(cmdline),
	  .help = "store the whole command line, arguments and the secrets in them included" },
	{ OPT_BOOL, 'q', "quiet", AT(quiet), .help = "no progress and no closing line" },
	OPT_END
};

static int dump_log(const char *path)
{
	struct err e = { 0 };
	bool cut = false;
	FILE *in = fopen(path, "rbe");
	int err;

	if (!in)
		err = err_set(&e, -errno, "cannot read %s: %s", path, strerror(errno));
	else if ((err = kelog_text(in, stdout, &cut, &e)))
		err_prefix(&e, "%s", path);
	if (in)
		fclose(in);
	if (err)
		return cli_fail(&e, EXIT_FAILED);
	if (cut)
		log_warn("%s ends inside a record: the run was cut short", path);
	return cut ? EXIT_DEGRADED : EXIT_DONE;
}

static int cmd_exact(void *opts, int argc, char **argv)
{
	struct exact_cmd *o = opts;
	struct exact_end end;
	struct err e = { 0 };

	if (o->dump_log)
		return dump_log(o->dump_log);
	if (!argc) {
		err_set(&e, -EINVAL, "which program? accperf exact [options] -- CMD ARGS");
		return cli_fail(&e, EXIT_USAGE);
	}
	if (exact_record(&o->run, argv, &end, &e))
		return cli_fail(&e, end.usage ? EXIT_USAGE : EXIT_FAILED);
	return WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status);
}

CLI_COMMAND(exact) = {
	.name = "exact",
	.summary = "run a program under the exact engine: every load, store and operation",
	.order = 20,
	.run = cmd_exact,
	.runs_command = true,
	.options = options,
	.opt_size = sizeof(struct exact_cmd),
	.defaults = &defaults,
	.usage = "[options] -- CMD ARGS",
	.details =
		"Counts, to the byte, what one function writes and another reads, what each function computes, and "
		"through which calls it was reached. Fifty times slower than the program alone; use it for short "
		"inputs and as the truth that sampled profiles are compared with. The profile is read by report, flow, "
		"objects, timeline and compare.\n\n"
		"Two semantics are measured in one run. quad: every byte read counts, from the function that wrote it "
		"last to the one that reads it. ke: a chunk read again by the same invocation, with no write between, "
		"counts once; a write clears it. Accesses between the stack pointer (less 128 bytes) and the base of "
		"the thread's stack are kept apart.\n\n"
		"Bytes that a system call wrote belong to (kernel:NAME); bytes nobody was seen to write, such as "
		"constants in files, to (outside). Computation is arithmetic and logic on the machine instruction: "
		"neither moves nor jumps.\n\n"
		"The exit status is the program's own, 128 + N after signal N; 1 if nothing could be measured, 2 for "
		"wrong usage.",
	.examples =
		"accperf exact -- ./convert in.ppm out.ppm\tmeasure a short run\n"
		"accperf exact --functions decode,scale,encode -- ./convert in out\tthree stages, each with its callees\n"
		"accperf exact --emit-samples 1000:7 -- ./convert in out\tsamples and truth of the same run\n",
	.max_args = -1,
};
