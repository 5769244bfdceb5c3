// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf export: the profile in the files of other tools. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/filter_opts.h"
#include "command/kept.h"
#include "command/pager.h"
#include "flow/export_load.h"
#include "view/export.h"

struct export_cmd {
	const char *input, *output, *service;
	struct filter_opts filter;
	bool pprof, otlp, collapsed, callgrind, speedscope, firefox, bolt, csv, inlined, flow, flow_asked;
	bool stdio, fresh;
};

static const struct export_cmd defaults = { .input = "accperf.data", .inlined = true, .flow = true };

#define AT(field) .offset = offsetof(struct export_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile to read (accperf.data)" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE",
	  .help = "where to write; - is stdout (accperf.data.SUFFIX)" },
	{ OPT_BOOL, 0, "pprof", AT(pprof), .help = "gzipped profile.proto (go tool pprof, Pyroscope)" },
	{ OPT_BOOL, 0, "otlp", AT(otlp),
	  .help = "OpenTelemetry profiles, v1development of opentelemetry-proto 1.11.0" },
	{ OPT_BOOL, 0, "collapsed", AT(collapsed), .help = "folded stacks with ns (flame graph scripts)" },
	{ OPT_BOOL, 0, "callgrind", AT(callgrind), .help = "callgrind_annotate, KCachegrind" },
	{ OPT_BOOL, 0, "speedscope", AT(speedscope), .help = "speedscope's JSON" },
	{ OPT_BOOL, 0, "firefox", AT(firefox),
	  .help = "profiler.firefox.com: threads along time, offload calls as markers" },
	{ OPT_BOOL, 0, "bolt", AT(bolt),
	  .help = "branches of one object, as perf2bolt -pa reads them (--dso says which; else where most are)" },
	{ OPT_BOOL, 0, "csv", AT(csv), .help = "the report's table" },
	{ OPT_STRING, 0, "service", AT(service), .arg = "NAME",
	  .help = "otlp: whose profile it is, where it has no label that says so" },
	FILTER_PROCESS_OPTS(struct export_cmd, filter),
	FILTER_CODE_OPTS(struct export_cmd, filter),
	{ OPT_BOOL, 0, "inline", AT(inlined), .help = "inlined functions as frames of their own (on; --no-inline)" },
	{ OPT_BOOL, 0, "flow", AT(flow), .set_offset = offsetof(struct export_cmd, flow_asked),
	  .help = "bytes between functions, in pprof and speedscope files (on where the profile has any)" },
	{ OPT_BOOL, 0, "stdio", AT(stdio), .help = "the same as -o -" },
	FRESH_OPT(struct export_cmd, fresh),
	OPT_END
};

static const struct export_format *chosen(const struct export_cmd *o, struct err *e)
{
	const struct {
		bool wanted;
		const char *name;
	} wishes[] = {
		{ o->pprof, "pprof" },
		{ o->otlp, "otlp" },
		{ o->collapsed, "collapsed" },
		{ o->callgrind, "callgrind" },
		{ o->speedscope, "speedscope" },
		{ o->firefox, "firefox" },
		{ o->csv, "csv" },
		{ o->bolt, "bolt" },
	};
	const char *name = NULL;

	for (unsigned i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (!wishes[i].wanted)
			continue;
		if (name) {
			err_set(e, -1, "--%s and --%s at once: export one format at a time", name, wishes[i].name);
			return NULL;
		}
		name = wishes[i].name;
	}
	if (!name)
		err_set(e, -1,
			"name a format: --pprof, --otlp, --collapsed, --callgrind, --speedscope, --firefox, --bolt or --csv");
	return name ? export_find(name) : NULL;
}

/* What is written: the profile, or the part of it that is asked for. */
static int read_contents(const struct export_cmd *o, const struct export_format *f, const struct filter *filter,
			 struct export_loaded *l, double *shown, struct err *e)
{
	const struct export_wish wish = { .branches = f->branches,
					  .timed = f->timed,
					  .flow = f->carries_flow && o->flow && !filter_asks_code(filter),
					  .tree = !f->table };
	int err = export_load(l, o->input, &wish, filter, e);

	if (!err && f->branches)
		log_info("branches of %s: %.1f%% of the %" PRIu64 " taken ones", l->p->modules[l->module].path,
			 100 * (double)l->taken / (double)l->taken_of_all, l->taken_of_all);
	err = err ? err : filter_check_profile(filter, l->p, o->input, e);
	if (err || !filter_any(filter) || f->table || f->branches)
		return err;
	if (f->timed)
		in_order_keep_part(&l->in_order, l->p, filter);
	*shown = profile_keep_part(l->p, filter);
	if (!isnan(*shown))
		log_info("filtered: %.1f%% of the time exported", 100 * *shown);
	return 0;
}

/* Renders into the file as it goes, so that what is timed needs no room for all of its text. */
static int write_export(const struct export_format *f, const struct profile *p, struct export_opts *eo,
			const char *output, size_t *written, struct err *e)
{
	struct pager_file file;
	AUTO_BUF(out);
	int err;

	if (!f->timed) {
		err = f->render(p, eo, &out, e);
		*written = out.len;
		return err ? err : pager_save(&out, output, e);
	}
	err = pager_begin(&file, output, e);
	if (err)
		return err;
	eo->drain = pager_part;
	eo->drain_ctx = &file;
	err = f->render(p, eo, &out, e);
	if (!err)
		err = pager_part(&file, &out, e);
	*written = file.written;
	return pager_end(&file, err, e);
}

/* What is amiss with a file that was written. */
static int warn(const struct export_cmd *o, const struct export_format *f, const struct profile *p, bool has_flow)
{
	int status = EXIT_DONE;

	if (*p->recovery) {
		log_warn("%s: %s", o->input, p->recovery);
		status = EXIT_DEGRADED;
	}
	if (!p->samples[profile_unit(p)] && !has_flow && !f->table && !f->branches) {
		log_warn("%s holds no samples, so the file is empty%s", o->input,
			 p->has_exact ? ": the exact engine counts by function; --csv has its figures" : "");
		status = EXIT_DEGRADED;
	}
	return status;
}

static int cmd_export(void *opts, int argc, char **argv)
{
	const struct export_cmd *o = opts;
	struct filter filter = { 0 };
	struct export_loaded l = { 0 };
	struct export_opts eo = {
		.inlined = o->inlined, .filter = &filter, .in_order = &l.in_order, .service = o->service
	};
	struct err e = { 0 };
	const struct export_format *f = chosen(o, &e);
	char made_up[4096];
	const char *output = o->output;
	int status = EXIT_DONE, err;
	size_t written;

	if (!f)
		return cli_fail(&e, EXIT_USAGE);
	if (o->stdio && output && strcmp(output, "-")) {
		log_error("--stdio writes to stdout and -o into a file: leave out one of them");
		return EXIT_USAGE;
	}
	if (o->stdio)
		output = "-";
	if (!output) {
		snprintf(made_up, sizeof(made_up), "%s%s", o->input, f->suffix);
		output = made_up;
	}
	if (f->binary && !strcmp(output, "-") && isatty(STDOUT_FILENO)) {
		log_error("--%s is binary and stdout is a terminal: name a file with -o", f->name);
		return EXIT_USAGE;
	}
	if (filter_from_opts(&o->filter, &filter, &e))
		return cli_fail(&e, EXIT_USAGE);
	if (read_contents(o, f, &filter, &l, &eo.shown, &e)) {
		export_unload(&l);
		filter_release(&filter);
		return cli_fail(&e, EXIT_FAILED);
	}
	if (o->flow_asked && o->flow && !l.has_flow) {
		log_warn("no flow in the export: %s",
			 !f->carries_flow            ? "this format has no place for it"
			 : filter_asks_code(&filter) ? "bytes go between functions: leave out --dso and --symbol"
						     : l.no_flow.text);
		status = EXIT_DEGRADED;
	}
	eo.flow = l.has_flow ? &l.flow : NULL;
	eo.calls = l.calls;
	eo.branches = &l.branches;
	eo.module = l.module;
	err = write_export(f, l.p, &eo, output, &written, &e);
	filter_release(&filter);
	if (!err) {
		if (warn(o, f, l.p, l.has_flow) != EXIT_DONE)
			status = EXIT_DEGRADED;
		if (strcmp(output, "-") && f->branches)
			log_info("wrote %s: %zu bytes", output, written);
		else if (strcmp(output, "-"))
			log_info("wrote %s: %zu bytes, %llu %s", output, written,
				 (unsigned long long)l.p->samples[profile_unit(l.p)],
				 l.calls ? "call paths" : "samples");
	}
	export_unload(&l);
	return err ? cli_fail(&e, EXIT_FAILED) : status;
}

CLI_COMMAND(export) = {
	.name = "export",
	.summary = "write a profile in another tool's format",
	.order = 60,
	.run = cmd_export,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct export_cmd),
	.defaults = &defaults,
	.usage = "--pprof|--collapsed|--callgrind|--speedscope|--firefox|--bolt|--csv [options] [FILE]",
	.details =
		"Values are time in ns (instructions, where the profile has no time), so that rates which changed during\n"
		"the recording do not distort the picture; pprof and callgrind carry the number of samples too.\n"
		"\n"
		"--firefox keeps each sample, with its thread, time and weight (ms of CPU time), and each offload call that\n"
		"was recorded, as a marker; a thread that had no sample for three times what one stands for was not running,\n"
		"or not sampled. Addresses are those in the file of a library, as objdump has them, not in the process.\n"
		"Files of the exact engine have instructions executed for time. profiler.firefox.com opens the file (gzip\n"
		"makes it small); it stays in the browser until it is uploaded there.\n"
		"\n"
		"--bolt tells an object's taken branches and the straight runs between them, as a processor with\n"
		"a record of its last branches would: from bursts (`record` has them with its counts), which followed each step.\n"
		"So a machine without such a record can lay its programs out anew; which branches were foreseen wrongly is not\n"
		"known, and says 0. The program is linked with -Wl,--emit-relocs for BOLT.\n"
		"\n"
		"--otlp is one message: CPU time, samples and waits, each as a profile, by process and thread; build-ids, kinds of\n"
		"frames; service, host, container, unit and pod as the labels of the recording tell them. It is a development\n"
		"version, and collectors refuse others than theirs.\n"
		"\n"
		"With --pid, --comm, --dso or --symbol only samples of such processes and functions (at the leaf) are written;\n"
		"values stay what they were. Shares in --csv are those of the whole recording.\n"
		"\n"
		"In callgrind files, calls= is the number of samples that had the call on their stack: sampling does\n"
		"not know how often a call was made. A profile of the exact engine without samples is written by call path:\n"
		"instructions and calls, as counted (pprof, collapsed, callgrind, speedscope).\n"
		"\n"
		"A target chooses its names: control codes, broken UTF-8 and characters that turn the direction of\n"
		"writing become '?' (JSON: \\uXXXX), and a CSV name that begins with =, +, - or @ has an apostrophe before\n"
		"it, because spreadsheets would take it for a formula. Files are for their owner's eyes only.",
	.examples =
		"accperf export --pprof -o app.pb.gz\tFor go tool pprof -http=: app.pb.gz\n"
		"accperf export --otlp --service web -o web.otlp\tFor OpenTelemetry; accperf fleet push --otlp sends it\n"
		"accperf export --collapsed -o - | flamegraph.pl >app.svg\tA flame graph\n"
		"accperf export --callgrind && callgrind_annotate accperf.data.callgrind\tAnnotated by line\n"
		"accperf export --firefox -o app.json\tThreads along time, in profiler.firefox.com\n"
		"accperf export --bolt -o app.pa && perf2bolt -pa -p app.pa -o app.fdata app\tFor llvm-bolt app -data app.fdata\n"
		"accperf export --csv -o - | sort -t, -k7 -n\tFor a spreadsheet or a script\n",
};
