// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf compare: how far an estimated flow is from the true one. */
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/filter_opts.h"
#include "command/pager.h"
#include "flow/estimator_table.h"
#include "flow/estimators.h"
#include "view/compare.h"

struct compare_cmd {
	const char *semantics, *stack, *attribute, *estimator;
	bool fold, functions_only, census, windows, json, stdio;
	double level;
	uint64_t top;
	struct filter_opts filter;
};

static const struct compare_cmd defaults = { .semantics = "quad",
					     .stack = "exclude",
					     .attribute = "self",
					     .census = true,
					     .windows = true,
					     .level = 95,
					     .top = 10 };

#define AT(field) .offset = offsetof(struct compare_cmd, field)
static const struct opt options[] = {
	SEMANTICS_OPT(struct compare_cmd, semantics),
	STACK_OPT(struct compare_cmd, stack),
	ATTRIBUTE_OPT(struct compare_cmd, attribute),
	{ OPT_STRING, 'e', "estimator", AT(estimator), .arg = FLOW_ESTIMATOR_CHOICES,
	  .help = "how to estimate the second flow (the best it allows)" },
	{ OPT_BOOL, 0, "census", AT(census), .help = "use the store records of a census (on)" },
	{ OPT_BOOL, 0, "windows", AT(windows), .help = "use watch windows (on)" },
	{ OPT_DOUBLE, 0, "level", AT(level), .arg = "PERCENT", .help = "level of the intervals (95)" },
	{ OPT_BOOL, 0, "fold-outside", AT(fold),
	  .help = "outside, before attach, kernel and unknown are one producer" },
	{ OPT_BOOL, 0, "functions-only", AT(functions_only),
	  .help = "leave out edges from and to what is no function" },
	{ OPT_UINT, 'n', "top", AT(top), .arg = "N", .help = "list the N worst edges (10)" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "print accperf.compare/1" },
	FILTER_PROCESS_OPTS(struct compare_cmd, filter),
	FILTER_CODE_OPTS(struct compare_cmd, filter),
	STDIO_OPT(struct compare_cmd, stdio),
	OPT_END
};

/* What is said of a side beside its flow. */
struct side_note {
	const char *path, *estimator; /* estimator: NULL: the best that it allows */
	bool degraded;
	double kept;      /* of the bytes, by the processes that are asked for */
	struct err unmet; /* the filter names what this side has not */
	char program[256];
};

/* Fills *f; degraded when the profile is not whole. */
static int estimate_profile(const struct compare_cmd *o, const struct filter *filter, struct flow *f,
			    struct side_note *note, struct err *e)
{
	const char *path = note->path;
	struct flow_input_opts how = { .main_image = !strcmp(o->attribute, "main"), .filter = filter };
	struct est_opts eo = EST_OPTS_DEFAULT;
	struct flow_input in;
	int err;

	eo.ke = !strcmp(o->semantics, "ke");
	eo.stack = !strcmp(o->stack, "include");
	eo.use_census = o->census;
	eo.use_windows = o->windows;
	eo.level = o->level / 100;
	err = flow_input_load(&in, path, &how, e);
	if (err)
		return err;
	if (*in.missing) {
		log_warn("%s: %s", path, in.missing);
		note->degraded = true;
	}
	if (in.incomplete) {
		log_warn("%s: the run ended before the program did; its figures are those until then", path);
		note->degraded = true;
	}
	filter_check_flow(filter, &in, path, &note->unmet);
	note->kept = in.kept.loaded;
	err = flow_estimate_part(&in, flow_input_in_part(&how), note->estimator, &eo, f, e);
	if (err) {
		flow_init(f);
		err_prefix(e, "%s", path);
	}
	snprintf(note->program, sizeof(note->program), "%s", in.program);
	flow_input_release(&in);
	return err;
}

static int compare_profiles(const struct compare_cmd *o, const struct filter *filter, char **argv, bool *degraded,
			    struct err *e)
{
	struct compare_opts co = { .fold_outside = o->fold, .functions_only = o->functions_only };
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct flow truth, estimate;
	struct flow_compare result = { 0 };
	struct side_note note[2] = { { .path = argv[0] }, { .path = argv[1], .estimator = o->estimator } };
	const struct programs programs = { note[0].program, note[1].program };
	AUTO_BUF(out);
	int err;

	flow_init(&truth);
	flow_init(&estimate);
	err = estimate_profile(o, filter, &truth, &note[0], e);
	if (!err)
		err = estimate_profile(o, filter, &estimate, &note[1], e);
	/* what one of them alone has is missed or invented */
	if (!err && note[0].unmet.code && note[1].unmet.code)
		err = err_set(e, note[0].unmet.code, "%s", note[0].unmet.text);
	*degraded = note[0].degraded || note[1].degraded;
	if (!err && programs_differ(&programs)) {
		log_warn("%s is of another program (%s) than %s (%s)", argv[1], programs.second, argv[0],
			 programs.first);
		*degraded = true;
	}
	if (!err)
		err = flow_compare(&truth, &estimate, &co, &result, e);
	if (!err) {
		struct compare_view v = {
			&result,
			&truth,
			&estimate,
			argv[0],
			argv[1],
			(unsigned)(o->top > 100000 ? 100000 : o->top),
			programs,
			{ .by = filter, .of = "true bytes", .shown = note[0].kept, .alone = filter_asks_process(filter) }
		};

		if (flow_compare_one_began_late(&result))
			log_warn(
				"bytes written %s: %.1f %% in %s, %.1f %% in %s: what one profile cannot know counts as error; "
				"--fold-outside takes it out, and `accperf exact --start-at FUNCTION` begins as late",
				FLOW_BEFORE, result.true_before * 100, argv[0], result.estimated_before * 100, argv[1]);
		if (o->json)
			compare_json(&v, &out);
		else
			compare_text(&v, &style, &out);
		err = pager_write(&out, !o->json, e);
	}
	flow_compare_release(&result);
	flow_release(&truth);
	flow_release(&estimate);
	return err;
}

static int cmd_compare(void *opts, int argc, char **argv)
{
	const struct compare_cmd *o = opts;
	struct filter filter;
	struct err e = { 0 };
	bool degraded = false;
	int err;

	if (!(o->level > 0 && o->level < 100)) {
		log_error("--level wants a percentage between 0 and 100");
		return EXIT_USAGE;
	}
	if (filter_from_opts(&o->filter, &filter, &e))
		return cli_fail(&e, EXIT_USAGE);
	err = compare_profiles(o, &filter, argv, &degraded, &e);
	filter_release(&filter);
	return err ? cli_fail(&e, EXIT_FAILED) : degraded ? EXIT_DEGRADED : EXIT_DONE;
}

static const struct cli_schema schemas[] = { { "compare", compare_schema }, { 0 } };

CLI_COMMAND(compare) = {
	.name = "compare",
	.summary = "how far an estimated flow is from the true one",
	.order = 46,
	.run = cmd_compare,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct compare_cmd),
	.defaults = &defaults,
	.usage = "[options] TRUE.data ESTIMATE.data",
	.details =
		"Compares the bytes between functions in two profiles of the same program and input: usually one of\n"
		"`accperf exact` with one that was sampled. Either may be either. A run of `accperf exact\n"
		"--emit-samples` holds both: name it twice and choose the second's estimator.\n"
		"\n"
		"Both are divided by their totals. Total variation is half the sum of all differences of shares: 0\n"
		"is equal, 1 is disjoint. The edges with 90 % of the bytes are the largest true edges that hold them.\n"
		"Rank correlation (Spearman) is over functions with more than 0.01 % of the bytes; intervals are\n"
		"judged on the ten largest true edges. An edge above 0.1 % that only one side has is missed or\n"
		"invented; of the five and ten largest only such are looked for.\n"
		"\n"
		"Where one profile began with the program and the other later, it warns: bytes that only one of them\n"
		"knows the writer of count as errors, unless --fold-outside or --functions-only takes them out.\n"
		"\n"
		"With --pid and --comm both are judged by what such processes read (the exact engine does not tell them\n"
		"apart). --dso and --symbol choose which edges are listed; what stands above the list is of all.\n"
		"\n"
		"The exit status is 3 when one of the profiles is not whole, and when they are of two programs.",
	.examples =
		"accperf compare exact.data accperf.data\tJudge a recording by the exact engine\n"
		"accperf exact --emit-samples 1000 -o both.data -- ./convert in out && accperf compare -e fused both.data "
		"both.data\tThe estimator against the truth of the same run\n"
		"accperf compare --fold-outside exact.data attached.data\tJudge one that began in mid-run\n"
		"accperf compare --json exact.data accperf.data | jq .tv\tThe one figure, for a script\n",
	.schemas = schemas,
	.min_args = 2,
	.max_args = 2,
};
