// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf compare: how far an estimated flow is from the true one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/page.h"
#include "flow/cache.h"
#include "flow/truth.h"
#include "view/compare.h"

struct compare_cmd {
	const char *semantics, *stack;
	bool fold, functions_only, json;
	uint64_t top;
};

static const struct compare_cmd defaults = { .semantics = "quad", .stack = "exclude", .top = 10 };

#define AT(field) .offset = offsetof(struct compare_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 0, "semantics", AT(semantics), .arg = "quad|ke", .help = "every byte read, or once per invocation (quad)" },
	{ OPT_STRING, 0, "stack", AT(stack), .arg = "exclude|include", .help = "count accesses to the stack, too (exclude)" },
	{ OPT_BOOL, 0, "fold-outside", AT(fold), .help = "outside, before attach, kernel and unknown are one producer" },
	{ OPT_BOOL, 0, "functions-only", AT(functions_only), .help = "leave out edges from and to what is no function" },
	{ OPT_UINT, 'n', "top", AT(top), .arg = "N", .help = "list the N worst edges (10)" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "print accperf.compare/1" },
	OPT_END
};

/* What a profile holds in the way of finished flows. */
struct source {
	struct flow_truth truth;
	struct flow_cache cache;
	struct store_reader *reader;
};

static int walk(struct source *s, const char *path, struct err *e)
{
	struct store_chunk chunk;
	int n, err;

	s->reader = store_open(path, e);
	if (!s->reader)
		return e->code;
	while ((n = store_next(s->reader, &chunk, e)) > 0) {
		err = flow_truth_chunk(&s->truth, &chunk, e);
		if (!err)
			err = flow_cache_chunk(&s->cache, s->reader, &chunk, e);
		if (err)
			return err_prefix(e, "%s", path);
	}
	flow_cache_end(&s->cache);
	return n;
}

static void release(struct source *s)
{
	flow_truth_release(&s->truth);
	flow_cache_release(&s->cache);
	store_reader_free(s->reader);
}

/* Fills *f; *degraded when the profile is not whole. */
static int load(const char *path, enum flow_semantics sem, enum flow_stack stack, struct flow *f, bool *degraded,
		struct err *e)
{
	struct source s = { 0 };
	const struct flow *cached;
	char text[300];
	int err = walk(&s, path, e);

	if (err)
		goto out;
	if (store_recovery_text(s.reader, text, sizeof(text))) {
		log_warn("%s: %s", path, text);
		*degraded = true;
	}
	cached = flow_cache_get(&s.cache, sem, stack, false);
	if (!cached)
		cached = flow_cache_get(&s.cache, sem, stack, true);
	if (flow_truth_has(&s.truth, sem)) {
		if (s.truth.run.has & FMT_X_INCOMPLETE) {
			log_warn("%s: the run ended before the program did; its figures are those until then", path);
			*degraded = true;
		}
		err = flow_truth_flow(&s.truth, s.reader, sem, stack, f, e);
	} else if (cached) {
		f->engine = cached->engine;
		f->semantics = cached->semantics;
		f->stack = cached->stack;
		f->time_bias = cached->time_bias;
		f->main_image = cached->main_image;
		f->level = cached->level;
		err = flow_add(f, cached, 1);
		if (err)
			err_set(e, err, "out of memory for the edges of %s", path);
	} else {
		err = err_set(e, -ENODATA,
			      "%s holds no %s flow with the stack %sd: make one with `accperf exact`, or with `accperf record` and "
			      "`accperf merge`", path, flow_semantics_str(sem), flow_stack_str(stack));
	}
out:
	release(&s);
	return err;
}

static int compare(const struct compare_cmd *o, char **argv, bool *degraded, struct err *e)
{
	enum flow_semantics sem = strcmp(o->semantics, "ke") ? FLOW_QUAD : FLOW_KE;
	enum flow_stack stack = strcmp(o->stack, "include") ? FLOW_STACK_EXCLUDE : FLOW_STACK_INCLUDE;
	struct compare_opts co = { .fold_outside = o->fold, .functions_only = o->functions_only };
	struct text_style style = page_style();
	struct flow truth, estimate;
	struct flow_compare result = { 0 };
	AUTO_BUF(out);
	int err;

	flow_init(&truth);
	flow_init(&estimate);
	err = load(argv[0], sem, stack, &truth, degraded, e);
	if (!err)
		err = load(argv[1], sem, stack, &estimate, degraded, e);
	if (!err)
		err = flow_compare(&truth, &estimate, &co, &result, e);
	if (!err) {
		struct compare_view v = { &result, &truth, &estimate, argv[0], argv[1], (unsigned)(o->top > 100000 ? 100000 : o->top) };

		if (o->json)
			compare_json(&v, &out);
		else
			compare_text(&v, &style, &out);
		err = page_write(&out, false, e);
	}
	flow_compare_release(&result);
	flow_release(&truth);
	flow_release(&estimate);
	return err;
}

static int cmd_compare(void *opts, int argc, char **argv)
{
	struct err e = { 0 };
	bool degraded = false;

	if (compare(opts, argv, &degraded, &e))
		return cli_fail(&e, EXIT_FAILED);
	return degraded ? EXIT_DEGRADED : EXIT_DONE;
}

static const struct cli_schema schemas[] = { { "compare", compare_schema }, { 0 } };

CLI_COMMAND(compare) = {
	.name = "compare",
	.summary = "how far an estimated flow is from the true one",
	.order = 46,
	.run = cmd_compare,
	.options = options,
	.opt_size = sizeof(struct compare_cmd),
	.defaults = &defaults,
	.usage = "[options] TRUE.data ESTIMATE.data",
	.details = "Compares the bytes between functions in two profiles of the same program and input: usually one of\n"
		   "`accperf exact` with one that was sampled. Either may be either.\n"
		   "\n"
		   "Both are divided by their totals. Total variation is half the sum of all differences of shares: 0\n"
		   "is equal, 1 is disjoint. The edges with 90 % of the bytes are the largest true edges that hold them.\n"
		   "Rank correlation (Spearman) is over functions with more than 0.01 % of the bytes; intervals are\n"
		   "judged on the ten largest true edges. An edge above 0.1 % that only one side has is missed or\n"
		   "invented.\n"
		   "\n"
		   "The exit status is 3 when one of the profiles is not whole.",
	.examples = "accperf compare exact.data accperf.data\tJudge a recording by the exact engine\n"
		    "accperf compare --fold-outside exact.data attached.data\tJudge one that began in mid-run\n"
		    "accperf compare --json exact.data accperf.data | jq .tv\tThe one figure, for a script\n",
	.schemas = schemas,
	.min_args = 2,
	.max_args = 2,
};
