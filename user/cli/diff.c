// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf diff: what changed between two profiles, and whether it is more than noise. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/filter_opts.h"
#include "command/kept.h"
#include "command/pager.h"
#include "flow/estimator_table.h"
#include "flow/estimators.h"
#include "flow/halves.h"
#include "util/labels.h"
#include "view/flow_diff.h"

struct diff_cmd {
	const char *semantics, *stack, *attribute, *estimator;
	uint64_t rows;
	bool all, json, stdio, fresh;
	struct filter_opts filter;
};

static const struct diff_cmd defaults = { .semantics = "quad", .stack = "exclude", .attribute = "self", .rows = 20 };

#define AT(field) .offset = offsetof(struct diff_cmd, field)
#define AS_LONG 1.1 /* times: recordings told to be as long differ by no more; by hand */

static const struct opt options[] = { SEMANTICS_OPT(struct diff_cmd, semantics),
				      STACK_OPT(struct diff_cmd, stack),
				      ATTRIBUTE_OPT(struct diff_cmd, attribute),
				      { OPT_STRING, 'e', "estimator", AT(estimator), .arg = FLOW_ESTIMATOR_CHOICES,
					.help = "how flows are estimated (the best each allows)" },
				      { OPT_UINT, 'n', "rows", AT(rows), .arg = "N", .help = "changes listed (20)" },
				      { OPT_BOOL, 'a', "all", AT(all), .help = "list changes that may be noise, too" },
				      { OPT_BOOL, 0, "json", AT(json), .help = "accperf.diff/1" },
				      FILTER_PROCESS_OPTS(struct diff_cmd, filter),
				      FILTER_CODE_OPTS(struct diff_cmd, filter),
				      STDIO_OPT(struct diff_cmd, stdio),
				      FRESH_OPT(struct diff_cmd, fresh),
				      OPT_END };

/* In one of the two: what came or went is a change, too. */
static int check_filter(const struct filter *f, const struct flow_input in[2], char **argv, struct err *e)
{
	struct err first = { 0 };

	return filter_check_flow(f, &in[0], argv[0], &first) ? filter_check_flow(f, &in[1], argv[1], e) : 0;
}

/* A profile without accesses still has times to compare. */
static int estimate_or_empty(const struct flow_input *in, const struct diff_cmd *o, const struct est_opts *est,
			     struct flow *f, struct err *e)
{
	const char *estimator = o->estimator;
	bool part = o->filter.by[FILTER_PID].count || o->filter.by[FILTER_COMM].count;
	int err;

	if (!o->estimator && !in->access_count && !in->has_x && !in->cache.count) {
		flow_init(f);
		return 0;
	}
	if (!estimator && part && in->access_count)
		estimator = "fused"; /* as flow_estimate_part() takes it, for the halves, too */
	err = flow_estimate_part(in, part, estimator, est, f, e);
	return err ? err : flow_halves(in, estimator, est, f, e);
}

/*
 * A recording's first seconds know other things of a program than its later ones: more of what is read was written
 * before, few stores were met, little was counted. So of the longer recording as much is compared as the shorter one
 * has: what differs then is the program.
 */
static int even_lengths(struct flow_input in[2], struct flow_input part[2], const struct flow_input *use[2],
			double *seconds, struct err *e)
{
	double seen[2] = { (double)flow_seen_ns(&in[0]), (double)flow_seen_ns(&in[1]) };
	int longer = seen[1] > seen[0], err;

	use[0] = &in[0];
	use[1] = &in[1];
	*seconds = NAN;
	if (!(seen[!longer] > 0) || !(seen[longer] > AS_LONG * seen[!longer]))
		return 0;
	err = flow_first_part(&in[longer], (uint64_t)seen[!longer], &part[longer]);
	if (err)
		return err_set(e, err, "out of memory");
	use[longer] = &part[longer];
	*seconds = seen[!longer] / 1e9;
	return 0;
}

static int cmd_diff(void *opts, int argc, char **argv)
{
	const struct diff_cmd *o = opts;
	struct flow_input_opts io = { .main_image = !strcmp(o->attribute, "main"), .no_earlier = true };
	struct est_opts est = EST_OPTS_DEFAULT;
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct flow_input in[2] = { { 0 } }, part[2] = { { 0 } };
	const struct flow_input *use[2];
	double seconds;
	struct flow f[2] = { { 0 } };
	struct flow_diff d = { 0 };
	struct programs programs;
	struct filter filter;
	struct err e = { 0 };
	AUTO_BUF(out);
	bool degraded = false;
	int err = 0;

	if (filter_from_opts(&o->filter, &filter, &e))
		return cli_fail(&e, EXIT_USAGE);
	io.filter = &filter;
	est.stack = !strcmp(o->stack, "include");
	est.ke = !strcmp(o->semantics, "ke");
	est.bootstraps = 0; /* halves of the recordings tell the errors */
	for (int i = 0; !err && i < 2; i++)
		err = flow_input_load(&in[i], argv[i], &io, &e);
	err = err ? err : check_filter(&filter, in, argv, &e);
	err = err ? err : even_lengths(in, part, use, &seconds, &e);
	for (int i = 0; !err && i < 2; i++) {
		err = estimate_or_empty(use[i], o, &est, &f[i], &e);
		if (!err && *in[i].missing) {
			log_warn("%s: %s", argv[i], in[i].missing);
			degraded = true;
		}
	}
	programs = (struct programs){ in[0].program, in[1].program };
	if (!err)
		err = flow_diff(&f[0], &f[1], &in[0], &in[1], &d, &e);
	if (!err && programs_differ(&programs)) {
		log_warn("%s is of another program (%s) than %s (%s): what differs is that", argv[1], programs.second,
			 argv[0], programs.first);
		degraded = true;
	}
	if (!err && f[0].time_bias != f[1].time_bias)
		log_warn("one profile is weighted by time and the other by count: much of the change is that"),
			degraded = true;
	if (!err) {
		struct diff_view v = { &d,
				       argv[0],
				       argv[1],
				       profile_meta(in[0].profile, META_LABELS),
				       profile_meta(in[1].profile, META_LABELS),
				       (unsigned)(o->rows > 1000000 ? 1000000 : o->rows),
				       o->all,
				       f[1].time_bias,
				       programs,
				       &filter,
				       filter_asks_process(&filter) ? in[1].kept.loaded : 1,
				       seconds,
				       use[0] != &in[0] };

		if (o->json)
			flow_diff_json(&v, &out);
		else
			flow_diff_text(&v, &style, &out);
		err = pager_write(&out, !o->stdio && !o->json, &e);
	}
	flow_diff_release(&d);
	filter_release(&filter);
	for (int i = 0; i < 2; i++) {
		flow_release(&f[i]);
		if (part[i].access)
			flow_part_release(&part[i]);
		flow_input_release(&in[i]);
	}
	return err ? cli_fail(&e, EXIT_FAILED) : degraded ? EXIT_DEGRADED : EXIT_DONE;
}

static const struct cli_schema schemas[] = { { "diff", flow_diff_schema }, { 0 } };

CLI_COMMAND(diff) = {
	.name = "diff",
	.summary = "what changed between two profiles, and whether it is real",
	.order = 47,
	.run = cmd_diff,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct diff_cmd),
	.defaults = &defaults,
	.usage = "[options] BASE.data OTHER.data",
	.details =
		"Compares the shares of the bytes between functions, and of the time of functions, in two profiles of\n"
		"one program: before and after a change, or two machines.\n"
		"\n"
		"Each change has a statistic: its size over its standard error. That of an edge comes from halves of each\n"
		"recording, made of blocks of time that are dealt evenly, so that it tells what varies from one recording\n"
		"to the next; that of a function from the numbers of time samples. As many changes are looked at\n"
		"once, the verdict is made on q, the false discovery rate: a change is called real at q <= 0.05. Changes\n"
		"that may be noise are counted, and listed with --all.\n"
		"\n"
		"Of the longer recording flows are those of as much as the shorter one has, from its beginning: what was\n"
		"written before a recording, and how much of the program is known, depends on how long it is.\n"
		"\n"
		"Edges of less than 0.1 % of the bytes are not judged. What can be found depends on the samples: an edge\n"
		"of 3 % that grows by a fifth takes some 40,000 reads on either side, as minutes at --effort high have.\n"
		"\n"
		"With --pid and --comm the two parts are compared: shares are of what these processes read and of their\n"
		"time. --dso and --symbol choose rows.\n"
		"\n"
		"Two profiles of different programs are told apart by a warning, and by exit status 3.\n"
		"\n"
		"Between profiles of the exact engine every difference is real.\n"
		"\n"
		"`accperf report -i OTHER.data --html FILE --against BASE.data` shows the same as a page, with the stacks of both.",
	.examples =
		"accperf diff before.data after.data\tWhat really changed\n"
		"accperf diff --json before.data after.data | jq '.edges[] | select(.verdict==\"real\")'\tFor a script\n",
	.schemas = schemas,
	.min_args = 2,
	.max_args = 2,
};
