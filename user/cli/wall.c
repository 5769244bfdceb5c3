// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf wall: how much faster a program can get at most, by what is sped up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/filter_opts.h"
#include "command/kept.h"
#include "command/pager.h"
#include "flow/estimators.h"
#include "view/trust.h"
#include "view/wall.h"

struct wall_cmd {
	const char *input, *output, *view, *functions, *semantics, *stack, *attribute;
	double op_cost, byte_cost;
	uint64_t top;
	struct filter_opts filter;
	bool json, svg, stdio, fresh;
};

static const struct wall_cmd defaults = {
	.input = "accperf.data",
	.view = "all",
	.semantics = "quad",
	.stack = "exclude",
	.attribute = "self",
	.op_cost = 1,
	.byte_cost = 0.25,
	.top = 4,
};

#define AT(field) .offset = offsetof(struct wall_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile (accperf.data)" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "write there instead of the terminal" },
	{ OPT_GROUP, .help = "What is shown" },
	{ OPT_STRING, 0, "view", AT(view), .arg = "all|memory|local|functions",
	  .help = "memory: computation is sped up alone; local: own or others' bytes; functions: one or several (all)" },
	{ OPT_STRING, 0, "functions", AT(functions), .arg = "LIST",
	  .help = "functions that are sped up, names or glob patterns with commas between them (those of most cost)" },
	{ OPT_UINT, 'n', "top", AT(top), .arg = "N", .help = "without --functions: how many (4)" },
	FILTER_PROCESS_OPTS(struct wall_cmd, filter),
	FILTER_CODE_OPTS(struct wall_cmd, filter),
	{ OPT_GROUP, .help = "What counts" },
	{ OPT_DOUBLE, 0, "op-cost", AT(op_cost), .arg = "X",
	  .help = "cost of an arithmetic or logical instruction, in any unit (1)" },
	{ OPT_DOUBLE, 0, "byte-cost", AT(byte_cost), .arg = "X",
	  .help = "cost of a byte read, in the same unit (0.25: four bytes cost an instruction)" },
	SEMANTICS_OPT(struct wall_cmd, semantics),
	STACK_OPT(struct wall_cmd, stack),
	ATTRIBUTE_OPT(struct wall_cmd, attribute),
	{ OPT_GROUP, .help = "Form" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "accperf.wall/1" },
	{ OPT_BOOL, 0, "svg", AT(svg), .help = "the curves as a picture" },
	STDIO_OPT(struct wall_cmd, stdio),
	FRESH_OPT(struct wall_cmd, fresh),
	OPT_END
};

/* "a,b" -> names; commas within brackets are a C++ function's arguments. The text is cut up. */
static unsigned split_names(char *text, const char **names, unsigned most)
{
	unsigned n = 0;
	int depth = 0;

	for (char *p = text, *begin = text;; p++) {
		depth += *p == '(' || *p == '<' ? 1 : *p == ')' || *p == '>' ? -1 : 0;
		if (*p && (*p != ',' || depth > 0))
			continue;
		if (p > begin && n < most)
			names[n++] = begin;
		begin = p + 1;
		if (!*p)
			return n;
		*p = 0;
	}
}

static int show_wall(const struct wall_cmd *o, const struct wall_shown *v, struct err *e)
{
	struct text_style style = o->stdio || o->output ? (struct text_style){ 0 } : pager_style();
	AUTO_BUF(out);

	if (o->json)
		wall_json(v, &out);
	else if (o->svg)
		wall_svg(v, &out);
	else
		wall_text(v, &style, &out);
	return pager_give(&out, o->output, !o->stdio && !o->json && !o->svg, e);
}

static unsigned views_of(const char *name)
{
	return !strcmp(name, "memory")      ? WALL_MEMORY
	       : !strcmp(name, "local")     ? WALL_LOCAL
	       : !strcmp(name, "functions") ? WALL_FUNCTIONS
					    : WALL_ALL;
}

static int load_flow(const struct wall_cmd *o, const struct filter *filter, struct flow_input *in, struct flow *f,
		     struct err *e)
{
	const struct flow_input_opts io = { .main_image = !strcmp(o->attribute, "main"),
					    .compute = true,
					    .filter = filter };
	struct est_opts est = EST_OPTS_DEFAULT;
	int err = flow_input_load(in, o->input, &io, e);

	est.stack = !strcmp(o->stack, "include");
	est.ke = !strcmp(o->semantics, "ke");
	if (err)
		return err;
	err = filter_check_flow(filter, in, o->input, e);
	if (!err)
		err = flow_estimate_part(in, flow_input_in_part(&io), NULL, &est, f, e);
	if (err)
		flow_input_release(in);
	return err;
}

static int cmd_wall(void *opts, int argc, char **argv)
{
	const struct wall_cmd *o = opts;
	struct wall_opts wo = { .op = o->op_cost,
				.byte = o->byte_cost,
				.largest = (unsigned)(o->top > 64 ? 64 : o->top) };
	const char *names[64];
	char *list = o->functions ? strdup(o->functions) : NULL;
	struct flow_input in;
	struct flow f;
	struct filter filter = { 0 };
	struct wall wall;
	struct trust trust;
	struct err e = { 0 };
	bool degraded = false;
	int err = 0, status = EXIT_FAILED;

	if (o->json && o->svg)
		err = err_set(&e, -EINVAL, "choose one of --json and --svg");
	if (!err && !o->top)
		err = err_set(&e, -EINVAL, "--top wants 1 or more");
	if (!err && list) {
		wo.functions = names;
		wo.function_count = split_names(list, names, sizeof(names) / sizeof(names[0]));
		if (!wo.function_count)
			err = err_set(&e, -EINVAL, "--functions names no function");
	}
	if (!err)
		err = filter_from_opts(&o->filter, &filter, &e);
	wo.filter = &filter;
	if (err)
		status = EXIT_USAGE;
	else
		err = load_flow(o, &filter, &in, &f, &e);
	if (!err) {
		struct trust_evidence evidence = trust_of_flow(&in, &f);

		trust_judge(TRUST_FLOW, &evidence, &trust);
		if (*in.missing || in.incomplete) {
			log_warn("%s: %s", o->input, *in.missing ? in.missing : "the run ended before the program did");
			degraded = true;
		}
		err = wall_build(&f, &wo, &wall, &e);
		if (err)
			err_prefix(&e, "%s", o->input);
		else
			err = show_wall(o,
					&(struct wall_shown){ .wall = &wall,
							      .flow = &f,
							      .opts = &wo,
							      .views = views_of(o->view),
							      .source = o->input,
							      .trust = &trust,
							      .filtered = { .by = &filter,
									    .of = "cost",
									    .shown = wall.chosen * in.kept.loaded,
									    .alone = filter_asks_process(&filter) } },
					&e);
		if (!err)
			wall_release(&wall);
		flow_release(&f);
		flow_input_release(&in);
	}
	filter_release(&filter);
	free(list);
	return err ? cli_fail(&e, status) : degraded ? EXIT_DEGRADED : EXIT_DONE;
}

static const struct cli_schema schemas[] = { { "wall", wall_schema }, { 0 } };

CLI_COMMAND(wall) = {
	.name = "wall",
	.summary = "how much faster at most: the memory wall, local and global bytes, functions",
	.order = 41,
	.run = cmd_wall,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct wall_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"A program's cost is what its functions compute and the bytes they read. If a part of it is sped up k\n"
		"times, how much faster is the whole, and at most? Three questions, as Kim & Edwards (2010) ask them:\n"
		"\n"
		"memory: computation alone is sped up; the memory wall is what is left. local: what functions compute\n"
		"and read of their own bytes (accelerators with stores of their own) against what they read of each other's\n"
		"(the system between them). functions: one function, or several: with private stores, what they read of\n"
		"each other stays as it is; with a shared one it is sped up, too.\n"
		"\n"
		"A function stands by itself. For functions with all they call, record with `accperf exact --functions\n"
		"LIST`, which makes each of them one. --pid and --comm ask the questions of such processes alone; --dso and\n"
		"--symbol choose among which functions the last one is asked. From samples, shares have intervals; those of\n"
		"the speed-up follow. Costs are of any one unit; only their ratio matters.",
	.examples = "accperf wall\tAll three, for accperf.data\n"
		    "accperf wall --functions decode,scale --byte-cost 0.5\tTwo functions where bytes are dearer\n"
		    "accperf wall --view memory --svg -o wall.svg\tThe memory wall as a picture\n",
	.schemas = schemas,
};
