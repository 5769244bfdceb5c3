// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf report: the page a person looks at after recording. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advised.h"
#include "command/command.h"
#include "command/kept.h"
#include "command/filter_opts.h"
#include "command/pager.h"
#include "html/parts.h"
#include "flow/estimators.h"
#include "profile/call_tree.h"
#include "view/advise.h"
#include "view/report.h"
#include "view/report_flow.h"

struct report_cmd {
	const char *input, *sort, *by, *callers, *columns, *html, *against;
	struct filter_opts filter;
	bool children, inlined, per_thread, json, pager, stdio, fresh, limit_given;
	double limit;
};

static const struct report_cmd defaults = { .input = "accperf.data",
					    .sort = "self",
					    .by = "function",
					    .columns = "time",
					    .children = true,
					    .pager = true,
					    .limit = 0.5 };

#define AT(field) .offset = offsetof(struct report_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile to read (accperf.data)" },
	{ OPT_STRING, 's', "sort", AT(sort), .arg = "self|inclusive|samples|function|object|in|out|compute",
	  .help = "order of the rows (self)" },
	{ OPT_STRING, 0, "by", AT(by), .arg = "function|dso|comm|pid|unit|container|pod",
	  .help = "a row for each function, object, name of process, process, unit of systemd, container or pod (function)" },
	FILTER_PROCESS_OPTS(struct report_cmd, filter),
	FILTER_CODE_OPTS(struct report_cmd, filter),
	{ OPT_STRING, 0, "columns", AT(columns), .arg = "LIST",
	  .help = "time, flat, flow, callees, wait, all, or names of columns with commas between them (time)" },
	{ OPT_BOOL, 0, "children", AT(children), .help = "show inclusive shares too (on; --no-children: self only)" },
	{ OPT_STRING, 0, "callers", AT(callers), .arg = "FN",
	  .help = "show who called FN, as a tree (text: instead of the table)" },
	{ OPT_DOUBLE, 0, "percent-limit", AT(limit), .arg = "PERCENT",
	  .help = "leave out what is smaller (0.5; 0 with --json)",
	  .set_offset = offsetof(struct report_cmd, limit_given) },
	{ OPT_BOOL, 0, "inline", AT(inlined), .help = "inlined functions get rows of their own" },
	{ OPT_BOOL, 0, "per-thread", AT(per_thread), .help = "one table for each thread, the busiest first" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "print accperf.report/1" },
	{ OPT_STRING, 0, "html", AT(html), .arg = "FILE",
	  .help = "write all that the profile tells as one page for a browser; - is stdout" },
	{ OPT_STRING, 0, "against", AT(against), .arg = "OTHER",
	  .help = "with --html: what changed since this profile, and whether it is more than noise" },
	STDIO_OPT(struct report_cmd, stdio),
	FRESH_OPT(struct report_cmd, fresh),
	{ OPT_BOOL, 0, "pager", AT(pager), .help = "page long output on a terminal (on)" },
	OPT_END
};

static enum report_sort sort_named(const char *name)
{
	static const char *const names[] = {
		[REPORT_SELF] = "self",         [REPORT_INCLUSIVE] = "inclusive", [REPORT_SAMPLES] = "samples",
		[REPORT_FUNCTION] = "function", [REPORT_OBJECT] = "object",       [REPORT_IN] = "in",
		[REPORT_OUT] = "out",           [REPORT_COMPUTE] = "compute"
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return (enum report_sort)i;
	return REPORT_SELF;
}

static bool by_flow(const struct report_cmd *o)
{
	enum report_sort s = sort_named(o->sort);

	return s == REPORT_IN || s == REPORT_OUT || s == REPORT_COMPUTE;
}

/* Bytes and computation, where they are asked for, and the call tree: read on the profile's own walk. */
struct bytes {
	bool asked;
	struct flow_input in;
	struct flow flow;
	uint32_t *flow_of;
	struct err why;
	struct call_tree tree; /* for callers */
	bool counted;          /* it stands for samples */
};

/* JSON without a word about columns has all; with columns of time alone it costs a sixth. */
static bool asks_for_flow(const struct report_cmd *o)
{
	unsigned columns[REPORT_MAX_COLUMNS];
	int n = strcmp(o->columns, defaults.columns) ? report_columns(o->columns, columns, NULL) : 0;

	return (n > 0 && report_columns_flow(columns, (unsigned)n)) || by_flow(o) || (o->json && !n);
}

static struct profile *read_report(const struct report_cmd *o, const struct filter *f, struct bytes *b, struct err *e)
{
	struct flow_input_opts io = { .bytes = true, .stacks = true, .compute = true, .filter = f };

	struct section_reader tree = call_tree_reader(&b->tree);

	b->asked = asks_for_flow(o);
	if (b->asked)
		return flow_input_and_profile(&b->in, o->input, &io, &b->why, e);
	if (!o->callers)
		return profile_load(o->input, e);
	return profile_load_with(o->input, PROFILE_SAMPLES | PROFILE_MISSING, &tree, 1, e);
}

/* Which function called which as the exact engine counted it, where there are no samples that tell. */
static int counted_callers(const struct report_cmd *o, struct profile *p, struct bytes *b, struct err *e)
{
	uint64_t *calls = NULL;
	int err = 0;

	if (!o->callers || !p->has_exact || p->samples[profile_unit(p)])
		return 0;
	if (!b->tree.count)
		err = call_tree_load(o->input, &b->tree, e);
	if (!err)
		err = call_tree_as_samples(p, &b->tree, &calls, e);
	free(calls);
	b->counted = !err;
	return err;
}

static int estimate(const struct profile *p, struct bytes *b)
{
	struct est_opts est = EST_OPTS_DEFAULT;
	int err = b->why.code;

	est.inclusive = true;
	err = err ? err : flow_estimate(&b->in, NULL, &est, &b->flow, &b->why);
	if (!err) {
		b->flow_of = flow_input_join(&b->in, &b->flow, p->function_count);
		if (!b->flow_of)
			err = err_set(&b->why, -ENOMEM, "out of memory");
	}
	return err;
}

static void release_bytes(struct bytes *b)
{
	flow_input_release(&b->in);
	flow_release(&b->flow);
	free(b->flow_of);
	call_tree_release(&b->tree);
}

/* The page as it is without options that look at a part of it. */
static bool whole_page(const struct report_cmd *o)
{
	bool part = o->per_thread || o->callers || o->inlined || strcmp(o->by, defaults.by) ||
		    strcmp(o->columns, defaults.columns);

	for (unsigned i = 0; i < FILTER_KINDS; i++)
		part = part || o->filter.by[i].count;
	return !part;
}

/* What to offload, in a few lines: where offload calls were recorded. `advise` has the whole. */
static void add_advice(const struct report_cmd *o, const struct profile *p, const struct text_style *style,
		       struct buf *out)
{
	struct advised_profile a;
	struct err e = { 0 };

	if (!p->has_calls)
		return;
	if (!advised_make(&a, o->input, &(struct advised_opts){ 0 }, &e))
		advise_brief(&(struct advise_view){ .file = o->input,
						    .input = &a.g.input,
						    .candidates = &a.candidates,
						    .advice = &a.advice },
			     style, out);
	advised_release(&a);
}

static int show_report(const struct report_cmd *o, const struct filter *f, const struct profile *p, struct bytes *b,
		       bool *degraded, struct err *e)
{
	unsigned columns[REPORT_MAX_COLUMNS];
	int column_count = strcmp(o->columns, "time") ? report_columns(o->columns, columns, e) : 0;
	bool known = p->accesses || p->has_edges;
	struct report_opts ro = {
		.sort = sort_named(o->sort),
		.children = o->children,
		.inlined = o->inlined,
		.per_thread = o->per_thread,
		.callers = o->callers,
		.callers_counted = b->counted,
		.filter = f,
		.grouped = strcmp(o->by, "function") != 0,
		.by = rollup_named(o->by),
		/* who names functions wants to see them */
		.limit = (o->json || o->filter.by[FILTER_SYMBOL].count) && !o->limit_given ? 0 : o->limit / 100,
	};
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct trust_evidence evidence;
	struct trust trust;
	struct report r;
	AUTO_BUF(out);
	int err;

	if (column_count > 0) {
		ro.columns = columns;
		ro.column_count = (unsigned)column_count;
	}
	ro.more = known && !ro.columns && !ro.grouped && !o->json && !o->callers;
	if (!known && ((ro.columns && report_columns_flow(columns, ro.column_count)) || by_flow(o)))
		return err_set(
			e, -ENODATA,
			"%s holds no memory accesses, only time; record with `accperf record` or `accperf exact`",
			o->input);
	if (known && b->asked) {
		err = estimate(p, b);
		if (err && !o->json) {
			*e = b->why;
			return err;
		}
		/* the times are there nonetheless */
		if (err) {
			log_warn("%s: bytes and computation are unknown: %s", o->input, b->why.text);
			*degraded = true;
		} else {
			ro.flow = &b->flow;
			ro.flow_of = b->flow_of;
		}
	}
	err = report_build(p, o->input, &ro, &r, e);
	if (err)
		return err;
	evidence = trust_of_report(p, &r.all);
	trust_judge(TRUST_REPORT, &evidence, &trust);
	r.opts.trust = &trust;
	if (o->json)
		report_json(&r, &out);
	else
		report_text(&r, &style, &out);
	if (!o->json && whole_page(o))
		add_advice(o, p, &style, &out);
	err = pager_write(&out, o->pager && !o->stdio && !o->json, e);
	report_release(&r);
	return err;
}

/* The page is of the whole profile, and sorts and filters itself. */
static bool html_alone(const struct report_cmd *o)
{
	bool part = o->json || o->per_thread || o->callers || o->inlined || o->limit_given ||
		    strcmp(o->by, defaults.by) || strcmp(o->columns, defaults.columns) ||
		    strcmp(o->sort, defaults.sort);

	for (unsigned i = 0; i < FILTER_KINDS; i++)
		part = part || o->filter.by[i].count;
	return !part;
}

static int cmd_report(void *opts, int argc, char **argv)
{
	const struct report_cmd *o = opts;
	unsigned columns[REPORT_MAX_COLUMNS];
	struct err e = { 0 };
	struct profile *p;
	struct bytes b = { 0 };
	struct filter f;
	bool degraded = false;
	int status = EXIT_DONE, failed;

	if (o->html && !html_alone(o)) {
		log_error("--html shows all of the profile, and sorts and searches in the page: give it --input alone");
		return EXIT_USAGE;
	}
	if (o->against && !o->html) {
		log_error("--against is for --html; as text, `accperf diff` compares two profiles");
		return EXIT_USAGE;
	}
	if (o->html)
		return html_write(&(struct html_files){ o->input, o->against }, o->html);
	if (strcmp(o->columns, "time") && report_columns(o->columns, columns, &e) < 0)
		return cli_fail(&e, EXIT_USAGE);
	if (strcmp(o->columns, "time") && (o->per_thread || o->callers || !o->children || o->inlined)) {
		log_error(
			"--columns shows whole functions of all threads: leave out --per-thread, --callers, --inline and --no-children");
		return EXIT_USAGE;
	}
	if (o->sort && !o->children && !strcmp(o->sort, "inclusive")) {
		log_error("--sort inclusive needs the inclusive shares: leave out --no-children");
		return EXIT_USAGE;
	}
	if (strcmp(o->by, "function") && (strcmp(o->columns, "time") || o->per_thread || o->callers)) {
		log_error("--by adds functions up: leave out --columns, --per-thread and --callers");
		return EXIT_USAGE;
	}
	if (filter_from_opts(&o->filter, &f, &e))
		return cli_fail(&e, EXIT_USAGE);
	p = read_report(o, &f, &b, &e);
	failed = p ? filter_check_profile(&f, p, o->input, &e) : -1;
	if (!failed)
		failed = counted_callers(o, p, &b, &e);
	if (!failed)
		failed = show_report(o, &f, p, &b, &degraded, &e);
	release_bytes(&b);
	filter_release(&f);
	if (failed) {
		profile_free(p);
		return cli_fail(&e, EXIT_FAILED);
	}
	if (degraded)
		status = EXIT_DEGRADED;
	if (*p->recovery) {
		log_warn("%s: %s", o->input, p->recovery);
		status = EXIT_DEGRADED;
	}
	if (profile_meta(p, "incomplete")) {
		log_warn("%s: the figures are those of a part: %s", o->input, profile_meta(p, "incomplete"));
		status = EXIT_DEGRADED;
	}
	if (!p->has_exact && !p->samples[profile_unit(p)]) {
		log_warn(
			"%s holds no samples: the target used no CPU time while it was observed, or less than a period; %s",
			o->input,
			p->has_calls ? "`accperf offload` shows the offload calls that it holds"
				     : "record while it works");
		status = EXIT_DEGRADED;
	}
	profile_free(p);
	return status;
}

static const struct cli_schema schemas[] = { { "report", report_schema }, { 0 } };

CLI_COMMAND(report) = {
	.name = "report",
	.summary = "which functions the time went to",
	.order = 20,
	.run = cmd_report,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct report_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"Reads a profile and prints a table: share of the samples that had the function at the leaf (self)\n"
		"with its 95 % interval, share that had it anywhere on the stack (inclusive), number of samples,\n"
		"object and function. Functions without a name stand as object+0xoffset. Of a profile that the exact\n"
		"engine made, shares of the instructions counted.\n"
		"\n"
		"With --columns flow: bytes that each function reads, bytes of its own that anyone reads, arithmetic and\n"
		"logical instructions per byte it loads and stores, and the stack's part of its accesses; callees: what\n"
		"comes in and goes out of a function with all it calls. Columns are unknown (-) where the profile does not\n"
		"tell; --json has all of them, with their intervals, or null where --columns names none of bytes.\n"
		"\n"
		"With --columns flat: seconds of its own, calls and milliseconds a call, as gprof has them, where times are\n"
		"known and calls are counted.\n"
		"\n"
		"With --columns wait: what part of the time between entry and return of a function's calls, with what they\n"
		"call, its thread was off the CPU, with the 95 % interval; ready: the part in which it would have gone on but\n"
		"another thread had the CPU; and how many waits tell it.\n"
		"\n"
		"--callers of an exact profile: by the instructions counted on each path of calls.\n"
		"\n"
		"It ends with what `accperf advise` would offload, where it holds offload calls.\n"
		"\n"
		"--pid, --comm, --dso and --symbol choose a part; all reading commands have those that they can obey. Each\n"
		"takes names with commas between them, and glob patterns; different ones must all fit. One line says how\n"
		"much that is. Shares and intervals stay those of the whole recording, so that they can be added and\n"
		"compared; self is of a function that passes, inclusive of one that passes, whatever it calls.\n"
		"\n"
		"With --html, the page holds what report, flow, objects, timeline and offload print as JSON, with tables that\n"
		"sort and search, a flame graph, the flow as a map, and time; it needs no network and reaches nothing, and is\n"
		"for its owner's eyes only, as the profile is. What the profile does not tell stands there in grey, with why.\n"
		"With --against, it also shows what `accperf diff OTHER FILE` tells, and the stacks of both as one flame graph\n"
		"whose colour is the change; what may be noise is grey.\n"
		"\n"
		"A profile that was cut off or damaged is shown as far as it could be recovered; the exit status\n"
		"is then 3 and stderr says what is missing.",
	.examples = "accperf report\tThe hot functions of accperf.data\n"
		    "accperf report --sort inclusive --percent-limit 5\tWhere the time comes from, coarsely\n"
		    "accperf report --columns flow\tWith bytes in and out and operations per byte\n"
		    "accperf report --columns wait\tWho waits, off the CPU\n"
		    "accperf report --by dso\tProgram and libraries, a row each\n"
		    "accperf report --comm nginx --dso 'libz*'\tOnly zlib, and only in nginx\n"
		    "accperf report --callers memcpy\tWho copies\n"
		    "accperf report --html report.html\tAll of it in one page: flame graph, flow, time, threads\n"
		    "accperf report -i after.data --html what.html --against before.data\tWhat a change did\n"
		    "accperf report --json | jq '.functions[0]'\tThe hottest function, for a script\n",
	.schemas = schemas,
};
