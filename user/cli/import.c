// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf import: a recording made by perf, here or elsewhere, becomes a profile. */
#include <inttypes.h>

#include "command/command.h"
#include "record/import.h"

struct cmd_opts {
	const char *output;
	struct import_opts import;
	bool quiet;
};

static const struct cmd_opts defaults = { .output = "accperf.data", .import.kernel = true };

#define O(field) offsetof(struct cmd_opts, field)
static const struct opt options[] = {
	{ OPT_STRING, 'o', "output", O(output), "FILE",
	  "profile to write (accperf.data; an older one is kept as FILE.old)", 0 },
	{ OPT_BOOL, 0, "kernel", O(import.kernel), NULL, "keep accesses made by the kernel (on)", 0 },
	{ OPT_BOOL, 0, "cmdline", O(import.cmdline), NULL,
	  "keep perf's command line, arguments of what it ran included", 0 },
	{ OPT_BOOL, 'q', "quiet", O(quiet), NULL, "no closing line", 0 },
	OPT_END,
};

static int say_what_came(const struct cmd_opts *o, const char *path, const struct perfdata *in,
			 const struct import_result *n)
{
	const struct perfdata_stats *st = perfdata_stats(in);

	if (!o->quiet)
		log_info("%" PRIu64 " accesses and %" PRIu64 " samples from %s in %s; %" PRIu64 " lost, %" PRIu64
			 " unreadable",
			 n->accesses, n->ticks, path, o->output, st->lost, st->malformed);
	if (!n->accesses && !n->ticks)
		log_warn("%s holds no samples", path);
	else if (!n->accesses && !o->quiet)
		log_info(
			"%s holds time and no memory accesses: enough for report; for flow and objects record with `perf mem record`, or "
			"`perf record -d` with a memory event",
			path);
	if (st->truncated)
		log_warn("%s is cut off; what could be read was imported", path);
	return (!n->accesses && !n->ticks) || st->truncated || st->malformed ? EXIT_DEGRADED : EXIT_DONE;
}

static int cmd_import(void *opts, int argc, char **argv)
{
	const struct cmd_opts *o = opts;
	struct err e = { 0 };
	struct perfdata *in = perfdata_open(argv[0], &e);
	struct import_result n;
	int status;

	if (in && !import_run(in, argv[0], o->output, &o->import, &n, &e))
		status = say_what_came(o, argv[0], in, &n);
	else
		status = cli_fail(&e, EXIT_FAILED);
	perfdata_free(in);
	return status;
}

CLI_COMMAND(import) = {
	.name = "import",
	.summary = "make a profile of a recording made by perf",
	.order = 18,
	.run = cmd_import,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct cmd_opts),
	.defaults = &defaults,
	.usage = "[options] perf.data",
	.details = "Reads perf.data as `perf mem record`, or `perf record -d` with a memory event, wrote it, on this\n"
		   "machine or another: the way to bring sampled loads and stores from a machine where only perf may\n"
		   "run. Normal, pipe and compressed files are understood; those of the other byte order are not.\n\n"
		   "Functions are named, and operand sizes found, where the same binaries (by build-id) are here.\n"
		   "One of time alone (`perf record`) is enough for report; flow and objects need loads and stores.\n"
		   "Status 3: the recording holds no samples, or is cut off.",
	.examples =
		"accperf import perf.data && accperf report\tWhat perf recorded, of whatever kind\n"
		"accperf import -o other.data /tmp/perf.data && accperf flow -i other.data\tFlows of a recording from elsewhere\n",
	.min_args = 1,
	.max_args = 1,
};
