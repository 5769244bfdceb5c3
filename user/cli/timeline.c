// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf timeline: bytes per function over time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/kept.h"
#include "command/filter_opts.h"
#include "command/pager.h"
#include "view/timeline.h"

struct timeline_cmd {
	const char *input, *output, *metric, *stack, *attribute;
	struct filter_opts filter;
	uint64_t slices, rows;
	bool csv, svg, json, stdio, fresh;
};

static const struct timeline_cmd defaults = {
	.input = "accperf.data", .metric = "both", .stack = "exclude", .attribute = "self", .rows = 20
};

#define AT(field) .offset = offsetof(struct timeline_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile (accperf.data)" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "write there instead of the terminal" },
	{ OPT_STRING, 0, "metric", AT(metric), .arg = "both|reads|writes", .help = "which bytes are drawn (both)" },
	STACK_OPT(struct timeline_cmd, stack),
	ATTRIBUTE_OPT(struct timeline_cmd, attribute),
	FILTER_PROCESS_OPTS(struct timeline_cmd, filter),
	FILTER_CODE_OPTS(struct timeline_cmd, filter),
	{ OPT_UINT, 'n', "slices", AT(slices), .arg = "N",
	  .help = "slices of time (60, or as recorded by exact --slice)" },
	{ OPT_UINT, 0, "rows", AT(rows), .arg = "N", .help = "functions shown (20)" },
	{ OPT_BOOL, 0, "csv", AT(csv), .help = "a line per slice and function" },
	{ OPT_BOOL, 0, "svg", AT(svg), .help = "a picture" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "accperf.timeline/1" },
	STDIO_OPT(struct timeline_cmd, stdio),
	FRESH_OPT(struct timeline_cmd, fresh),
	OPT_END
};

static int cmd_timeline(void *opts, int argc, char **argv)
{
	const struct timeline_cmd *o = opts;
	struct flow_input_opts io = { .bytes = true,
				      .main_image = !strcmp(o->attribute, "main"),
				      .compute = true, /* without it no scale is known, and no amounts */
				      .stores_too = true };
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct filter filter;
	struct flow_input in;
	struct timeline t;
	struct err e = { 0 };
	AUTO_BUF(out);
	bool degraded = false;
	int err;

	if (o->csv + o->svg + o->json > 1)
		return err_set(&e, 0, "choose one of --csv, --svg and --json"), cli_fail(&e, EXIT_USAGE);
	if (o->slices > 10000 || !o->rows)
		return err_set(&e, 0, "--slices wants 1 to 10000, --rows 1 or more"), cli_fail(&e, EXIT_USAGE);
	if (filter_from_opts(&o->filter, &filter, &e))
		return cli_fail(&e, EXIT_USAGE);
	io.filter = &filter;
	if (flow_input_load(&in, o->input, &io, &e)) {
		filter_release(&filter);
		return cli_fail(&e, EXIT_FAILED);
	}
	err = filter_check_flow(&filter, &in, o->input, &e);
	if (!err && filter_asks_process(&filter) && in.x_slice_count)
		err = err_set(&e, -ENOTSUP, "%s was counted by function, not by process: leave out --pid and --comm",
			      o->input);
	if (!err)
		err = timeline_build(&in, (uint32_t)o->slices, !strcmp(o->stack, "include"), &t, &e);
	if (!err) {
		struct trust_evidence evidence = trust_of_timeline(&in, &t);
		double shown = in.kept.moved * timeline_keep(&t, &filter);
		struct trust trust;
		struct timeline_view v = {
			.trust = &trust,
			.t = &t,
			.rows = o->rows > 100000 ? 100000 : (unsigned)o->rows,
			.filtered = { .by = &filter, .of = "bytes", .shown = shown },
			.source = o->input,
			.metric = !strcmp(o->metric, "reads")    ? TIMELINE_READS
				  : !strcmp(o->metric, "writes") ? TIMELINE_WRITES
								 : TIMELINE_BOTH,
			.time_bias = in.access_count && (in.access[0].flags & FMT_A_TIME) && !t.exact,
		};

		trust_judge(TRUST_TIMELINE, &evidence, &trust);
		if (o->output)
			style = (struct text_style){ 0 };
		if (o->csv)
			timeline_csv(&v, &out);
		else if (o->svg)
			timeline_svg(&v, &out);
		else if (o->json)
			timeline_json(&v, &out);
		else
			timeline_text(&v, &style, &out);
		err = pager_give(&out, o->output, !o->stdio && !o->csv && !o->svg && !o->json, &e);
		timeline_release(&t);
		if (*in.missing) {
			log_warn("%s: %s", o->input, in.missing);
			degraded = true;
		}
	}
	flow_input_release(&in);
	filter_release(&filter);
	return err ? cli_fail(&e, EXIT_FAILED) : degraded ? EXIT_DEGRADED : EXIT_DONE;
}

static const struct cli_schema schemas[] = { { "timeline", timeline_schema }, { 0 } };

CLI_COMMAND(timeline) = {
	.name = "timeline",
	.summary = "bytes read and written per function over time",
	.order = 42,
	.run = cmd_timeline,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct timeline_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"Draws a line per function with the bytes it read and wrote in each slice of the recording, and names\n"
		"the phases: stretches in which the functions have like shares carry the same letter. Of samples, a phase\n"
		"is one that differs by more than chance: by more than the same stretches, shuffled, show. So a steady\n"
		"program has one; a phase of less than some 10 % of the recording is not found. Each phase is listed with\n"
		"the functions that move most bytes in it.\n"
		"\n"
		"Of samples, the last column says what chance leaves open of the peak, in percent of it; JSON and CSV have\n"
		"an interval of 90 % for each slice, the picture draws them pale. Code that ran although no sample met it\n"
		"is spread over time as its function was; what had no sample in its function is left out, and said.\n"
		"\n"
		"Time is instructions in profiles of the exact engine, else the clock.",
	.examples = "accperf timeline\tLines in the terminal\n"
		    "accperf timeline --metric reads --slices 200 --csv -o reads.csv\tFor a spreadsheet\n"
		    "accperf timeline --svg -o timeline.svg\tA picture\n",
	.schemas = schemas,
};
