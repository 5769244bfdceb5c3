// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf export: the profile in the files of other tools. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/pager.h"
#include "flow/estimators.h"
#include "view/export.h"

struct export_cmd {
	const char *input, *output;
	bool pprof, collapsed, callgrind, speedscope, firefox, csv, inlined, flow, flow_asked;
};

static const struct export_cmd defaults = { .input = "accperf.data", .inlined = true, .flow = true };

#define AT(field) .offset = offsetof(struct export_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile to read (accperf.data)" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE",
	  .help = "where to write; - is stdout (accperf.data.SUFFIX)" },
	{ OPT_BOOL, 0, "pprof", AT(pprof), .help = "gzipped profile.proto (go tool pprof, Pyroscope)" },
	{ OPT_BOOL, 0, "collapsed", AT(collapsed), .help = "folded stacks with ns (flame graph scripts)" },
	{ OPT_BOOL, 0, "callgrind", AT(callgrind), .help = "callgrind_annotate, KCachegrind" },
	{ OPT_BOOL, 0, "speedscope", AT(speedscope), .help = "speedscope's JSON" },
	{ OPT_BOOL, 0, "firefox", AT(firefox),
	  .help = "profiler.firefox.com: threads along time, offload calls as markers" },
	{ OPT_BOOL, 0, "csv", AT(csv), .help = "the report's table" },
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
		{ o->pprof, "pprof" },           { o->collapsed, "collapsed" }, { o->callgrind, "callgrind" },
		{ o->speedscope, "speedscope" }, { o->firefox, "firefox" },     { o->csv, "csv" },
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
		err_set(e, -1, "name a format: --pprof, --collapsed, --callgrind, --speedscope, --firefox or --csv");
	return name ? export_find(name) : NULL;
}

/* What is written, all of it from one walk over the profile. */
struct contents {
	struct in_order in_order;
	struct flow_input in;
	struct flow flow;
	bool has_flow;
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

static struct profile *load(const struct export_cmd *o, const struct export_format *f, struct contents *c,
			    struct err *e)
{
	struct flow_input_opts whole = { 0 };
	struct profile *p;

	if (f->timed)
		return in_order_load(o->input, &c->in_order, e);
	if (!f->carries_flow || !o->flow)
		return profile_load(o->input, e);
	p = flow_input_and_profile(&c->in, o->input, &whole, &c->no_flow, e);
	if (p)
		find_flow(o->input, c);
	return p;
}

static void release(struct contents *c)
{
	if (c->has_flow)
		flow_release(&c->flow);
	flow_input_release(&c->in);
	in_order_release(&c->in_order);
}

/* Renders into the file as it goes, so that what is timed needs no room for all of its text. */
static int save(const struct export_format *f, const struct profile *p, struct export_opts *eo, const char *output,
		size_t *written, struct err *e)
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
	if (!p->samples[profile_unit(p)] && !has_flow && strcmp(f->name, "csv")) {
		log_warn("%s holds no samples, so the file is empty%s", o->input,
			 p->has_exact ? ": the exact engine counts by function; --csv has its figures" : "");
		status = EXIT_DEGRADED;
	}
	return status;
}

static int cmd_export(void *opts, int argc, char **argv)
{
	const struct export_cmd *o = opts;
	struct contents c = { 0 };
	struct export_opts eo = { .inlined = o->inlined, .in_order = &c.in_order };
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
	p = load(o, f, &c, &e);
	if (!p) {
		release(&c);
		return cli_fail(&e, EXIT_FAILED);
	}
	if (o->flow_asked && o->flow && !c.has_flow) {
		log_warn("no flow in the export: %s",
			 f->carries_flow ? c.no_flow.text : "this format has no place for it");
		status = EXIT_DEGRADED;
	}
	eo.flow = c.has_flow ? &c.flow : NULL;
	err = save(f, p, &eo, output, &written, &e);
	if (!err) {
		if (warn(o, f, p, c.has_flow) != EXIT_DONE)
			status = EXIT_DEGRADED;
		if (strcmp(output, "-"))
			log_info("wrote %s: %zu bytes, %llu samples", output, written,
				 (unsigned long long)p->samples[profile_unit(p)]);
	}
	release(&c);
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
	.usage = "--pprof|--collapsed|--callgrind|--speedscope|--firefox|--csv [options] [FILE]",
	.details =
		"Values are time in ns (instructions, where the profile has no time), so that rates which changed during\n"
		"the recording do not distort the picture; pprof and callgrind carry the number of samples too.\n"
		"\n"
		"--firefox keeps each sample, with its thread, time and weight (ms of CPU time), and each offload call that\n"
		"was recorded, as a marker; a thread that had no sample for three times what one stands for was not running,\n"
		"or not sampled. Files of the exact engine have instructions executed for time. profiler.firefox.com opens\n"
		"the file (gzip makes it small); it stays in the browser until it is uploaded there.\n"
		"\n"
		"In callgrind files, calls= is the number of samples that had the call on their stack: sampling does\n"
		"not know how often a call was made.\n"
		"\n"
		"A target chooses its names: control codes, broken UTF-8 and characters that turn the direction of\n"
		"writing become '?' (JSON: \\uXXXX), and a CSV name that begins with =, +, - or @ has an apostrophe before\n"
		"it, because spreadsheets would take it for a formula. Files are for their owner's eyes only.",
	.examples = "accperf export --pprof -o app.pb.gz\tFor go tool pprof -http=: app.pb.gz\n"
		    "accperf export --collapsed -o - | flamegraph.pl >app.svg\tA flame graph\n"
		    "accperf export --callgrind && callgrind_annotate accperf.data.callgrind\tAnnotated by line\n"
		    "accperf export --firefox -o app.json\tThreads along time, in profiler.firefox.com\n"
		    "accperf export --csv -o - | sort -t, -k7 -n\tFor a spreadsheet or a script\n",
};
