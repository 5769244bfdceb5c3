// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf scale: how what functions compute and communicate grows with the size of the problem. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/filter_opts.h"
#include "command/pager.h"
#include "flow/estimators.h"
#include "view/programs.h"
#include "view/wall.h"

#define MOST 64 /* profiles */

struct scale_cmd {
	const char *output, *size, *semantics, *stack, *attribute;
	uint64_t rows;
	bool json, svg, stdio;
	struct filter_opts filter;
};

static const struct scale_cmd defaults = { .semantics = "quad", .stack = "exclude", .attribute = "self", .rows = 20 };

#define AT(field) .offset = offsetof(struct scale_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 0, "size", AT(size), .arg = "N,N,...",
	  .help = "the problem's size in each profile, ascending, in their order (all that was computed)" },
	SEMANTICS_OPT(struct scale_cmd, semantics),
	STACK_OPT(struct scale_cmd, stack),
	ATTRIBUTE_OPT(struct scale_cmd, attribute),
	{ OPT_UINT, 'n', "rows", AT(rows), .arg = "N", .help = "functions and edges listed (20)" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "write there instead of the terminal" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "accperf.scale/1" },
	{ OPT_BOOL, 0, "svg", AT(svg), .help = "parts of computation and communication by size, as a picture" },
	FILTER_PROCESS_OPTS(struct scale_cmd, filter),
	FILTER_CODE_OPTS(struct scale_cmd, filter),
	STDIO_OPT(struct scale_cmd, stdio),
	OPT_END
};

struct loaded {
	struct flow_input in[MOST];
	struct flow flow[MOST];
	const struct flow *flows[MOST];
	double n[MOST];
	unsigned count, unmet; /* unmet: profiles that have not what the filter names */
	struct err why;
	struct filter filter;
	bool estimated, degraded;
};

static void release_all(struct loaded *l)
{
	for (unsigned i = 0; i < l->count; i++) {
		flow_release(&l->flow[i]);
		flow_input_release(&l->in[i]);
	}
	filter_release(&l->filter);
	free(l);
}

static int read_sizes(const char *text, struct loaded *l, unsigned count, struct err *e)
{
	unsigned k = 0;
	char *end;

	for (const char *p = text; *p; p = *end ? end + 1 : end) {
		double n = strtod(p, &end);

		if (end == p || (*end && *end != ',') || !isfinite(n) || k == MOST)
			return err_set(e, -EINVAL, "--size %s: numbers with commas between them, one a profile", text);
		l->n[k++] = n;
	}
	return k == count ? 0 : err_set(e, -EINVAL, "--size %s: %u sizes for %u profiles", text, k, count);
}

static int load_one(const struct scale_cmd *o, const char *path, struct loaded *l, struct err *e)
{
	const struct flow_input_opts io = {
		.main_image = !strcmp(o->attribute, "main"), .no_earlier = true, .compute = true, .filter = &l->filter
	};
	struct est_opts est = EST_OPTS_DEFAULT;
	struct flow_input *in = &l->in[l->count];
	struct flow *f = &l->flow[l->count];
	double compute = 0;
	int err = flow_input_load(in, path, &io, e);

	est.stack = !strcmp(o->stack, "include");
	est.ke = !strcmp(o->semantics, "ke");
	if (err)
		return err;
	if (l->count && programs_differ(&(struct programs){ l->in[0].program, in->program }))
		err = err_set(e, -EINVAL, "%s is of another program (%s) than the first profile (%s)", path,
			      in->program, l->in[0].program);
	l->unmet += filter_check_flow(&l->filter, in, path, &l->why) != 0;
	if (!err)
		err = flow_estimate_part(in, flow_input_in_part(&io), NULL, &est, f, e);
	if (err) {
		flow_input_release(in);
		return err;
	}
	if (*in->missing || in->incomplete) {
		log_warn("%s: %s", path, *in->missing ? in->missing : "the run ended before the program did");
		l->degraded = true;
	}
	for (uint32_t i = 0; i < f->func_count; i++)
		compute += flow_computes(&f->funcs[i]).value > 0 ? flow_computes(&f->funcs[i]).value : 0;
	if (!o->size)
		l->n[l->count] = compute;
	l->estimated |= f->engine != FLOW_EXACT;
	l->flows[l->count++] = f;
	return 0;
}

static int show_growth(const struct scale_cmd *o, const struct growth_shown *v, struct err *e)
{
	struct text_style style = o->stdio || o->output ? (struct text_style){ 0 } : pager_style();
	AUTO_BUF(out);

	if (o->json)
		growth_json(v, &out);
	else if (o->svg)
		growth_svg(v, &out);
	else
		growth_text(v, &style, &out);
	return pager_give(&out, o->output, !o->stdio && !o->json && !o->svg, e);
}

static int cmd_scale(void *opts, int argc, char **argv)
{
	const struct scale_cmd *o = opts;
	struct loaded *l = calloc(1, sizeof(*l));
	struct growth g;
	struct err e = { 0 };
	bool degraded;
	int err = l ? 0 : err_set(&e, -ENOMEM, "out of memory"), status = EXIT_USAGE;

	if (!err && o->json && o->svg)
		err = err_set(&e, -EINVAL, "choose one of --json and --svg");
	if (!err && o->svg && (o->filter.by[FILTER_DSO].count || o->filter.by[FILTER_SYMBOL].count))
		err = err_set(&e, -EINVAL, "--dso and --symbol choose rows: leave them out with --svg");
	if (!err && argc > MOST)
		err = err_set(&e, -EINVAL, "at most %d profiles", MOST);
	if (!err && o->size)
		err = read_sizes(o->size, l, (unsigned)argc, &e);
	if (!err)
		err = filter_from_opts(&o->filter, &l->filter, &e);
	if (!err)
		status = EXIT_FAILED;
	for (int i = 0; i < argc && !err; i++)
		err = load_one(o, argv[i], l, &e);
	/* at some sizes there may be none of it */
	if (!err && l->unmet == l->count)
		err = err_set(&e, l->why.code, "%s", l->why.text);
	if (!err)
		err = growth_build(l->flows, l->n, l->count, &g, &e);
	if (!err) {
		const struct growth_shown v = { .growth = &g,
						.sources = (const char *const *)argv,
						.by_work = !o->size,
						.estimated = l->estimated,
						.filtered = { .by = &l->filter,
							      .shown = l->in[l->count - 1].kept.loaded,
							      .alone = filter_asks_process(&l->filter) },
						.rows = (unsigned)(o->rows > 1000000 ? 1000000 : o->rows) };

		err = show_growth(o, &v, &e);
		growth_release(&g);
	}
	degraded = l && l->degraded;
	if (l)
		release_all(l);
	return err ? cli_fail(&e, status) : degraded ? EXIT_DEGRADED : EXIT_DONE;
}

static const struct cli_schema schemas[] = { { "scale", growth_schema }, { 0 } };

CLI_COMMAND(scale) = {
	.name = "scale",
	.summary = "how computation and bytes of functions grow with the size of the problem",
	.order = 42,
	.run = cmd_scale,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct scale_cmd),
	.defaults = &defaults,
	.usage = "[options] SMALL.data ... LARGE.data",
	.details =
		"Takes profiles of one program at several sizes of its problem, the smallest first. Prints each function's\n"
		"part of all computation and of all communication at each size, and how its computation, IN, OUT and\n"
		"each edge grow: the power b of a n^b, by least squares on logarithms. Three sizes or more give an interval\n"
		"(95 %, Student's t), two only the power.\n"
		"\n"
		"If the parts do not change, one size stands for all; what grows faster than the rest decides at large sizes.\n"
		"The exact engine counts, so its profiles need no repetition; samples add their own error.\n"
		"\n"
		"With --pid and --comm, of such processes alone (the exact engine does not tell them apart); --dso and\n"
		"--symbol choose which functions, and edges of them, are listed: their parts stay those of all.",

	.examples = "accperf scale --size 1024,4096,16384 32.data 64.data 128.data\tPowers of the number of pixels\n"
		    "accperf scale --json a.data b.data c.data | jq '.powers[0]'\tFor a script\n",
	.schemas = schemas,
	.min_args = 2,
	.max_args = -1,
};
