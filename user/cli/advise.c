// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf advise: what to offload, what it would gain, from which size on, and why not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advised.h"
#include "advise/sets.h"
#include "command/command.h"
#include "command/filter_opts.h"
#include "command/kept.h"
#include "command/pager.h"
#include "offload/roof.h"
#include "view/advise.h"
#include "view/roofline.h"

struct advise_cmd {
	const char *input, *catalogue, *output;
	struct opt_list sets;
	struct filter_opts filter;
	bool roofline, svg, json, pager, all, stdio, fresh;
};

static const struct advise_cmd defaults = { .input = "accperf.data", .pager = true };

#define AT(field) .offset = offsetof(struct advise_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile to read (accperf.data)" },
	{ OPT_STRING, 0, "catalogue", AT(catalogue), .arg = "FILE",
	  .help = "devices to judge by (what `accperf calibrate` measured, and what comes with the program)" },
	{ OPT_LIST, 0, "set", AT(sets), .arg = "NAME=FN,FN..",
	  .help = "judge these functions, with all they call, as one; may be repeated" },
	FILTER_PROCESS_OPTS(struct advise_cmd, filter),
	FILTER_CODE_OPTS(struct advise_cmd, filter),
	{ OPT_BOOL, 0, "roofline", AT(roofline), .help = "functions under the most that this machine can do, instead" },
	{ OPT_BOOL, 'A', "all", AT(all), .help = "every candidate, device and reason" },
	{ OPT_BOOL, 0, "svg", AT(svg), .help = "a picture: what devices would make of the process" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "write there instead of the terminal" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "print accperf.advise/1" },
	{ OPT_BOOL, 0, "pager", AT(pager), .help = "page long output on a terminal (on)" },
	STDIO_OPT(struct advise_cmd, stdio),
	FRESH_OPT(struct advise_cmd, fresh),
	OPT_END
};

static int show_roofline(const struct advise_cmd *o, const struct advised_profile *a, struct err *e)
{
	struct text_style style = o->stdio || o->output ? (struct text_style){ 0 } : pager_style();
	struct roofline_view v = { .file = o->input, .rows = o->all ? UINT32_MAX : 20 };
	struct roofline roof;
	struct placed *at = NULL;
	AUTO_BUF(out);
	long n = 0;

	if (roof_kept(&roof, &v.why_no_roof))
		v.roof = &roof;
	if (a->g.flow.func_count) /* shares alone tell operations a byte, too */
		n = place_functions(&a->g.flow, v.roof, &at);
	if (n < 0)
		return err_set(e, (int)n, "out of memory");
	v.at = at;
	v.count = (size_t)n;
	if (o->json)
		roofline_json(&v, &out);
	else if (o->svg)
		roofline_svg(&v, &out);
	else
		roofline_text(&v, &style, &out);
	free(at);
	return pager_give(&out, o->output, o->pager && !o->stdio && !o->json && !o->svg, e);
}

static const char *input_name(const void *ctx, size_t i)
{
	return ((const struct advise_input *)ctx)->function[i].name;
}

static const char *input_object(const void *ctx, size_t i)
{
	return ((const struct advise_input *)ctx)->function[i].object;
}

static int show_advice(const struct advise_cmd *o, const struct filter *f, const struct advised_profile *a,
		       struct err *e)
{
	struct text_style style = o->stdio || o->output ? (struct text_style){ 0 } : pager_style();
	struct advise_view v = { .file = o->input,
				 .input = &a->g.input,
				 .candidates = &a->candidates,
				 .advice = &a->advice,
				 .all = o->all,
				 .filter = f,
				 .part = a->g.part };
	AUTO_BUF(out);

	if (filter_check_processes(f, a->g.profile, o->input, e) ||
	    filter_check(f, FILTER_DSO, input_object, &a->g.input, a->g.input.functions, o->input, e) ||
	    filter_check(f, FILTER_SYMBOL, input_name, &a->g.input, a->g.input.functions, o->input, e))
		return e->code;
	if (o->json)
		advise_json(&v, &out);
	else if (o->svg)
		advise_svg(&v, &out);
	else
		advise_text(&v, &style, &out);
	return pager_give(&out, o->output, o->pager && !o->stdio && !o->json && !o->svg, e);
}

static int tell_missing(const struct advise_cmd *o, const struct advised_profile *a)
{
	const struct gathered *g = &a->g;

	if (*g->profile->recovery)
		log_warn("%s: %s", o->input, g->profile->recovery);
	if (*g->missing)
		log_warn("%s: some verdicts cannot be given: %s", o->input, g->missing);
	if (!a->catalogue.count)
		log_warn("%s names no device; `accperf calibrate` measures those of this machine",
			 o->catalogue ? o->catalogue : "the catalogue");
	if (!g->input.has_time)
		log_warn(
			"%s holds no samples: the target used no CPU time while it was observed; record while it works",
			o->input);
	return *g->profile->recovery || *g->missing || !a->catalogue.count || !g->input.has_time ? EXIT_DEGRADED
												 : EXIT_DONE;
}

static int cmd_advise(void *opts, int argc, char **argv)
{
	const struct advise_cmd *o = opts;
	struct advised_profile a;
	struct err e = { 0 };
	struct advise_sets sets = { 0 };
	struct advised_opts ask;
	struct filter filter;
	int status, r;

	if (o->json && o->svg)
		return err_set(&e, 0, "choose one of --json and --svg"), cli_fail(&e, EXIT_USAGE);
	if (filter_from_opts(&o->filter, &filter, &e))
		return cli_fail(&e, EXIT_USAGE);
	if ((o->roofline || o->svg) && filter_any(&filter))
		err_set(&e, -EINVAL, "--pid, --comm, --dso and --symbol choose candidates: leave them out with --%s",
			o->svg ? "svg" : "roofline");
	if (o->roofline && o->sets.count)
		err_set(&e, -EINVAL, "--set makes a candidate, and --roofline shows functions: leave out one of them");
	if (e.code || advise_sets_parse(o->sets.items, o->sets.count, &sets, &e)) {
		advise_sets_release(&sets);
		filter_release(&filter);
		return cli_fail(&e, EXIT_USAGE);
	}
	ask = (struct advised_opts){ o->catalogue, &filter, sets.at, sets.count };
	r = o->roofline ? advised_flow(&a, o->input, &ask, &e) : advised_make(&a, o->input, &ask, &e);
	r = r ? r : o->roofline ? show_roofline(o, &a, &e) : show_advice(o, &filter, &a, &e);
	status = r ? cli_fail(&e, EXIT_FAILED) : tell_missing(o, &a);
	advised_release(&a);
	advise_sets_release(&sets);
	filter_release(&filter);
	return status;
}

static const struct cli_schema schemas[] = { { "advise", advise_schema }, { "roofline", roofline_schema }, { 0 } };

CLI_COMMAND(advise) = {
	.name = "advise",
	.summary = "what to offload, what it would gain, from which size on, and why not",
	.order = 37,
	.run = cmd_advise,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct advise_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"Puts the functions of a profile through the devices of a catalogue: time, calls, sizes and bytes of each\n"
		"function with all it calls, against the measured or published times of each device.\n"
		"\n"
		"Candidates are functions with their callees, sets that --set names, chains of functions whose bytes mostly\n"
		"pass between them, and offloads that are made already. A function is a candidate when nothing below it could\n"
		"save more. Each function of 1 % and more that is none has its reason.\n"
		"\n"
		"offload: the interval of the speed-up lies above 1. batch: single calls lose, so many at a time gain. keep: it\n"
		"loses, or the process as a whole would not gain. switch: an offload that is made already loses, or does so\n"
		"under a size. idle: a device is configured and no call reached it. cannot tell: a figure is missing or its\n"
		"interval spans 1; the sentence says which and what helps.\n"
		"\n"
		"A set is called as often as the least called of its functions; a chain, too, unless all its stages may be called\n"
		"equally often: then as often as they tell together. Bytes that functions of a set\n"
		"or chain hand to each other are no traffic of the whole. What could stay on a device was written before\n"
		"recording began, or never. Devices that were measured elsewhere are marked. What a device is said to take is\n"
		"told by the words of its name and its entry (`accperf logca devices`); one that says neither may take all.\n"
		"\n"
		"--roofline shows instead how many operations a byte each function has, how many it does a second, and what\n"
		"one core of this machine allows, which `accperf calibrate --roofline` measures. Operations are arithmetic and\n"
		"logical instructions, so a wide one counts once. No sample tells which cache a byte came from: where that\n"
		"decides, it depends.\n"
		"\n"
		"--pid and --comm judge such processes as though they had been recorded alone: shares and gains are of their\n"
		"time. Executions, which are counted for all processes together, are then left out, as is the speed that bytes\n"
		"rest on. --dso and --symbol choose candidates.\n"
		"\n"
		"In JSON a figure is a value between its two ends, or null; what is known of one that is null, a value without\n"
		"ends or one end, stands apart, under partly.\n"
		"\n"
		"The exit status is 3 where the profile lacks time, bytes, counts or offload calls, of which a line tells.",
	.examples =
		"accperf record --counts auto --offload auto -p PID --duration 60s && accperf advise\tWhat to offload\n"
		"accperf advise --set codec=compress_block,write_block\tTwo functions as one\n"
		"accperf calibrate --roofline && accperf advise --roofline\tBound by memory, or by computation?\n"
		"accperf advise --svg -o advise.svg\tA picture for a document\n"
		"accperf advise --json | jq -r '.candidates[].options[] | select(.verdict == \"offload\") | .text'\tFor a script\n",
	.schemas = schemas,
};
