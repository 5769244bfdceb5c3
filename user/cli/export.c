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
#include "command/pager.h"
#include "flow/estimators.h"
#include "profile/call_tree.h"
#include "view/export.h"

struct export_cmd {
	const char *input, *output, *service;
	struct filter_opts filter;
	bool pprof, otlp, collapsed, callgrind, speedscope, firefox, bolt, csv, inlined, flow, flow_asked;
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

/* What is written, all of it from one walk over the profile. */
struct contents {
	struct in_order in_order;
	struct call_tree tree;
	struct branches branches;
	uint32_t module; /* that they are of */
	uint64_t *calls; /* where there are no samples, but a call tree that was counted */
	struct flow_input in;
	struct flow flow;
	bool has_flow;
	double shown;
	struct err no_flow; /* why there is none */
};

/* The flow, by the best method that the profile allows. */
static void find_flow(const char *input, struct contents *c)
{
	struct est_opts how = EST_OPTS_DEFAULT;

	if (c->no_flow.code || flow_estimate(&c->in, NULL, &how, &c->flow, &c->no_flow))
		return;
	c->has_flow = c->flow.edge_count;
	if (c->has_flow)
		return;
	err_set(&c->no_flow, -1, "%s shows no bytes between functions", input);
	flow_release(&c->flow);
}

static void release_contents(struct contents *c)
{
	if (c->has_flow)
		flow_release(&c->flow);
	flow_input_release(&c->in);
	in_order_release(&c->in_order);
	call_tree_release(&c->tree);
	branches_release(&c->branches);
	free(c->calls);
}

/* The object that was asked for, or that most taken branches are of. Processes that were followed may have several. */
static int choose_object(const struct export_cmd *o, const struct profile *p, const struct filter *filter,
			 struct contents *c, struct err *e)
{
	const struct filter_list *names = &filter->by[FILTER_DSO];
	uint64_t most = 0, all = 0;

	for (size_t i = 1; i < p->module_count; i++) {
		uint64_t n = branches_taken(&c->branches, (uint32_t)i);

		all += n;
		if (n <= most || (names->count && !filter_list_takes(names, p->modules[i].object)))
			continue;
		most = n;
		c->module = (uint32_t)i;
	}
	if (!all)
		return err_set(
			e, -1,
			"%s holds no branches: they come with bursts; record with a higher --effort, or longer, a "
			"program that works",
			o->input);
	if (!most)
		return err_set(e, -1,
			       "%s holds no branches of such an object; without --dso the one with most is taken",
			       o->input);
	log_info("branches of %s: %.1f%% of the %" PRIu64 " taken ones", p->modules[c->module].path,
		 100 * (double)most / (double)all, all);
	return 0;
}

static struct profile *read_branches(const struct export_cmd *o, const struct filter *filter, struct contents *c,
				     struct err *e)
{
	struct section_reader ways = branches_reader(&c->branches);
	struct profile *p;

	if (filter_asks_process(filter) || filter->by[FILTER_SYMBOL].count) {
		err_set(e, -1,
			"branches are kept by object alone: --dso chooses one; leave out --pid, --comm and --symbol");
		return NULL;
	}
	p = profile_load_with(o->input, 0, &ways, 1, e);
	if (!p)
		return NULL;
	branches_sum(&c->branches, p);
	if (!choose_object(o, p, filter, c, e))
		return p;
	profile_free(p);
	return NULL;
}

static struct profile *read_all(const struct export_cmd *o, const struct export_format *f, const struct filter *filter,
				struct contents *c, struct err *e)
{
	struct flow_input_opts part = { .filter = filter };
	struct section_reader tree = call_tree_reader(&c->tree);
	struct profile *p;

	if (f->branches)
		return read_branches(o, filter, c, e);
	if (f->timed)
		return in_order_load(o->input, &c->in_order, e);
	if (!f->carries_flow || !o->flow || filter_asks_code(filter))
		return profile_load_with(o->input, PROFILE_SAMPLES | PROFILE_MISSING, &tree, 1, e);
	p = flow_input_and_profile(&c->in, o->input, &part, &c->no_flow, e);
	if (p)
		find_flow(o->input, c);
	return p;
}

/* What was counted by call path stands for samples, where there are none. */
static int take_call_tree(const struct export_cmd *o, const struct export_format *f, struct profile *p,
			  struct contents *c, struct err *e)
{
	int err = 0;

	if (f->branches || !p->has_exact || p->samples[profile_unit(p)] || f->timed || f->table)
		return 0;
	if (!c->tree.count)
		err = call_tree_load(o->input, &c->tree, e);
	return err || !c->tree.count ? err : call_tree_as_samples(p, &c->tree, &c->calls, e);
}

/* The profile, or the part of it that is asked for. */
static struct profile *read_contents(const struct export_cmd *o, const struct export_format *f,
				     const struct filter *filter, struct contents *c, struct err *e)
{
	struct profile *p = read_all(o, f, filter, c, e);

	if (p && (take_call_tree(o, f, p, c, e) || filter_check_profile(filter, p, o->input, e))) {
		release_contents(c);
		*c = (struct contents){ 0 };
		profile_free(p);
		return NULL;
	}
	if (!p || !filter_any(filter) || f->table || f->branches)
		return p;
	if (f->timed)
		in_order_keep_part(&c->in_order, p, filter);
	c->shown = profile_keep_part(p, filter);
	if (!isnan(c->shown))
		log_info("filtered: %.1f%% of the time exported", 100 * c->shown);
	return p;
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
	struct contents c = { 0 };
	struct export_opts eo = {
		.inlined = o->inlined, .filter = &filter, .in_order = &c.in_order, .service = o->service
	};
	struct err e = { 0 };
	const struct export_format *f = chosen(o, &e);
	char made_up[4096];
	const char *output = o->output;
	struct profile *p;
	int status = EXIT_DONE, err;
	size_t written;

	if (!f)
		return cli_fail(&e, EXIT_USAGE);
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
	p = read_contents(o, f, &filter, &c, &e);
	if (!p) {
		release_contents(&c);
		filter_release(&filter);
		return cli_fail(&e, EXIT_FAILED);
	}
	if (o->flow_asked && o->flow && !c.has_flow) {
		log_warn("no flow in the export: %s",
			 !f->carries_flow            ? "this format has no place for it"
			 : filter_asks_code(&filter) ? "bytes go between functions: leave out --dso and --symbol"
						     : c.no_flow.text);
		status = EXIT_DEGRADED;
	}
	eo.shown = c.shown;
	eo.flow = c.has_flow ? &c.flow : NULL;
	eo.calls = c.calls;
	eo.branches = &c.branches;
	eo.module = c.module;
	err = write_export(f, p, &eo, output, &written, &e);
	filter_release(&filter);
	if (!err) {
		if (warn(o, f, p, c.has_flow) != EXIT_DONE)
			status = EXIT_DEGRADED;
		if (strcmp(output, "-") && f->branches)
			log_info("wrote %s: %zu bytes", output, written);
		else if (strcmp(output, "-"))
			log_info("wrote %s: %zu bytes, %llu %s", output, written,
				 (unsigned long long)p->samples[profile_unit(p)], c.calls ? "call paths" : "samples");
	}
	release_contents(&c);
	profile_free(p);
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
		"a record of its last branches would: from bursts (`record` without --no-bursts), which followed each step.\n"
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
