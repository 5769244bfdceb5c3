// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf flow: which function produced the bytes that another reads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/kept.h"
#include "command/filter_opts.h"
#include "view/flow_per_calls.h"
#include "command/pager.h"
#include "flow/estimator_table.h"
#include "flow/by_object.h"
#include "flow/estimators.h"
#include "flow/threads.h"
#include "util/labels.h"
#include "view/flow.h"
#include "view/flow_figures.h"
#include "view/graphviz.h"

/* Edges that are asked for. */
struct monitor {
	struct filter_list producer, consumer;
};

struct flow_cmd {
	const char *input, *semantics, *stack, *attribute, *estimator, *output, *per, *sort, *view, *by;
	double min_share, level;
	struct filter_opts filter;
	struct opt_list producer, consumer;
	uint64_t top, rows, tid;
	bool json, dot, svg, xml, no_census, no_windows, no_earlier, inclusive, threads, stdio, fresh;
};

static const struct flow_cmd defaults = {
	.input = "accperf.data",
	.semantics = "quad",
	.stack = "exclude",
	.attribute = "self",
	.level = 95,
	.sort = "bytes",
	.by = "function",
	.rows = 20,
};

#define AT(field) .offset = offsetof(struct flow_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile (accperf.data)" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "write there instead of the terminal" },
	{ OPT_GROUP, .help = "What counts" },
	SEMANTICS_OPT(struct flow_cmd, semantics),
	STACK_OPT(struct flow_cmd, stack),
	ATTRIBUTE_OPT(struct flow_cmd, attribute),
	{ OPT_UINT, 't', "tid", AT(tid), .arg = "TID", .help = "only what this thread reads" },
	{ OPT_GROUP, .help = "What is shown" },
	FILTER_PROCESS_OPTS(struct flow_cmd, filter),
	FILTER_CODE_OPTS(struct flow_cmd, filter),
	{ OPT_BOOL, 0, "inclusive", AT(inclusive),
	  .help = "functions with all they call, too: what passes between them and the rest" },
	{ OPT_BOOL, 0, "threads", AT(threads),
	  .help = "bytes between threads, and cache lines they share falsely, too" },
	{ OPT_LIST, 0, "producer", AT(producer), .arg = "NAME,...",
	  .help = "only edges from functions of these names or glob patterns, or those in @FILE, one a line" },
	{ OPT_LIST, 0, "consumer", AT(consumer), .arg = "NAME,...",
	  .help = "only edges to functions of these names or glob patterns, or those in @FILE, one a line" },
	{ OPT_STRING, 0, "by", AT(by), .arg = "function|dso",
	  .help = "between functions, or between objects: programs and libraries (function)" },
	{ OPT_STRING, 0, "per", AT(per), .arg = "FUNCTION",
	  .help = "each edge's bytes for one call of this function: what a request moves" },
	{ OPT_STRING, 0, "sort", AT(sort), .arg = "bytes|unique",
	  .help = "edges by bytes, or by distinct bytes, small hot fields folded (bytes)" },
	{ OPT_STRING, 0, "view", AT(view), .arg = "matrix|tree",
	  .help = "matrix: bytes and what each computes, by computation; tree: on the call tree" },
	{ OPT_DOUBLE, 0, "min-share", AT(min_share), .arg = "PERCENT",
	  .help = "leave out edges below this share of all bytes" },
	{ OPT_UINT, 'n', "top", AT(top), .arg = "N",
	  .help = "functions of the map (12), of the matrix (10), paths of the tree (40)" },
	{ OPT_UINT, 0, "rows", AT(rows), .arg = "N", .help = "edges and functions listed (20)" },
	{ OPT_GROUP, .help = "Form" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "accperf.flow/1; with --view accperf.matrix/1, accperf.tree/1" },
	{ OPT_BOOL, 0, "dot", AT(dot), .help = "a graph for graphviz" },
	{ OPT_BOOL, 0, "svg", AT(svg), .help = "the graph as a picture (runs dot)" },
	{ OPT_BOOL, 0, "xml", AT(xml), .help = "XML in the manner of QUAD" },
	{ OPT_GROUP, .help = "How it is estimated" },
	{ OPT_STRING, 0, "estimator", AT(estimator), .arg = FLOW_ESTIMATOR_CHOICES,
	  .help = "the best this profile allows" },
	{ OPT_DOUBLE, 0, "level", AT(level), .arg = "PERCENT", .help = "of the intervals (95)" },
	{ OPT_BOOL, 0, "no-census", AT(no_census), .help = "leave the store census aside" },
	{ OPT_BOOL, 0, "no-windows", AT(no_windows), .help = "leave the watch windows aside" },
	{ OPT_BOOL, 0, "no-earlier", AT(no_earlier), .help = "leave aside what earlier recordings of these files saw" },
	STDIO_OPT(struct flow_cmd, stdio),
	FRESH_OPT(struct flow_cmd, fresh),
	OPT_END
};

/* v: what the view is made of; how it is shown, the options say. */
static int show_flow(const struct flow_cmd *o, struct flow_view v, struct err *e)
{
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	AUTO_BUF(out);
	AUTO_BUF(svg);

	v.min_share = o->min_share / 100;
	v.top = (unsigned)(o->top > 1000 ? 1000 : o->top);
	v.rows = (unsigned)(o->rows > 1000000 ? 1000000 : o->rows);
	v.source = o->input;
	v.by_unique = !strcmp(o->sort, "unique");
	if (o->output)
		style = (struct text_style){ 0 };
	/* a graph with every crumb is unreadable */
	if ((o->dot || o->svg) && !(o->min_share > 0))
		v.min_share = 0.005;
	if (o->json)
		flow_json(&v, &out);
	else if (o->xml)
		flow_xml(&v, &out);
	else if (o->dot || o->svg)
		flow_dot(&v, &out);
	else
		flow_text(&v, &style, &out);
	if (buf_failed(&out))
		return err_set(e, -ENOMEM, "out of memory");
	if (o->svg)
		return graphviz_draw(&out, &svg, e) ? e->code : pager_save(&svg, o->output, e);
	return pager_give(&out, o->output, !o->stdio && !o->json && !o->xml && !o->dot, e);
}

/* The matrix with the row of computation, or the call tree. */
static int show_figure(const struct flow_cmd *o, struct flow_view v, const struct flow_input *in,
		       const struct est_opts *est, struct err *e)
{
	struct text_style style = o->stdio || o->output ? (struct text_style){ 0 } : pager_style();
	struct flow_tree_view t = { .flow = v.flow, .source = o->input, .trust = v.trust, .rows = (unsigned)o->rows };
	struct flow_paths paths = { 0 };
	bool tree = !strcmp(o->view, "tree");
	AUTO_BUF(out);
	int err = 0;

	v.source = o->input;
	v.top = (unsigned)(o->top > 1000 ? 1000 : o->top);
	if (tree) {
		t.paths = &paths;
		err = in->x_path_count || v.flow->engine == FLOW_EXACT || !in->access_count
			      ? flow_paths_build(in, est, v.top ? v.top : 40, &paths, e)
			      : flow_paths_sampled(in, v.flow, est, v.top ? v.top : 40, &paths, e);
		if (!err)
			(o->json  ? flow_tree_json(&t, &out)
			 : o->svg ? flow_tree_svg(&t, &out)
				  : flow_tree_text(&t, &style, &out));
	} else if (o->json  ? flow_matrix_json(&v, &out)
		   : o->svg ? flow_matrix_svg(&v, &out)
			    : flow_matrix_text(&v, &style, &out)) {
		err = err_set(e, -ENOMEM, "out of memory");
	}
	flow_paths_release(&paths);
	if (!err && buf_failed(&out))
		err = err_set(e, -ENOMEM, "out of memory");
	if (err)
		return err;
	return pager_give(&out, o->output, !o->stdio && !o->json && !o->svg, e);
}

static const char *nth_name(const void *ctx, size_t i)
{
	return ((const struct flow *)ctx)->funcs[i].name;
}

/* Each of a list must be there. */
static int check_list(const struct flow_cmd *o, const struct flow *f, const struct filter_list *l, struct err *e)
{
	for (size_t k = 0; k < l->count; k++) {
		AUTO_BUF(near);
		bool found = false;

		for (uint32_t i = 0; i < f->func_count && !found; i++)
			found = filter_matches(l->at[k], f->funcs[i].name);
		if (found)
			continue;
		filter_offer(l->at[k], nth_name, f, f->func_count, &near);
		return err_set(e, -ENOENT, "%s has no function '%s'%s", o->input, l->at[k],
			       buf_failed(&near) || !near.data
				       ? "; names in parentheses count, too, and * stands for anything"
				       : near.data);
	}
	return 0;
}

/* What was asked for and is not there. */
static int check_names_exist(const struct flow_cmd *o, const struct flow *f, const struct monitor *m, bool part,
			     struct err *e)
{
	if (check_list(o, f, &m->producer, e) || check_list(o, f, &m->consumer, e))
		return e->code;
	if (part && !(flow_total(f) > 0))
		return err_set(e, -ENOENT, "%s holds no read by such a process and thread", o->input);
	return 0;
}

static void monitor_release(struct monitor *m)
{
	filter_list_release(&m->producer);
	filter_list_release(&m->consumer);
}

static int monitor_from(const struct flow_cmd *o, struct monitor *m, struct err *e)
{
	int err = 0;

	for (unsigned i = 0; i < o->producer.count && !err; i++)
		err = filter_list_add(&m->producer, "--producer", o->producer.items[i], e);
	for (unsigned i = 0; i < o->consumer.count && !err; i++)
		err = filter_list_add(&m->consumer, "--consumer", o->consumer.items[i], e);
	return err;
}

static int usage(const struct flow_cmd *o, struct err *e)
{
	if (o->json + o->dot + o->svg + o->xml > 1)
		return err_set(e, -EINVAL, "choose one of --json, --dot, --svg and --xml");
	if (o->view && (o->dot + o->xml || o->per || o->inclusive || o->threads))
		return err_set(e, -EINVAL, "--view goes with text, --json and --svg, and by itself");
	if (!strcmp(o->by, "dso") && (o->view || o->inclusive || o->threads || o->per || o->producer.count ||
				      o->consumer.count || o->filter.by[FILTER_SYMBOL].count))
		return err_set(
			e, -EINVAL,
			"--by dso is between objects: --view, --inclusive, --threads, --per, --producer, --consumer and "
			"--symbol are of functions");
	if (o->per && o->dot + o->svg + o->xml)
		return err_set(e, -EINVAL, "--per goes with text and --json");
	if (o->level < 50 || o->level > 99.9 || o->min_share > 100)
		return err_set(e, -EINVAL, "--level wants 50 to 99.9, --min-share 0 to 100");
	return 0;
}

/* What the user did not ask for, or will not get: true if so. */
static bool warn_of(const struct flow_cmd *o, const struct flow_input *in, const struct flow *f)
{
	bool degraded = false, main_image = !strcmp(o->attribute, "main"), ke = !strcmp(o->semantics, "ke");

	if (f->cut_ranges > 0) {
		log_warn(
			"%s: %.3g MB that system calls filled lie beyond what is kept of such ranges (8 GB): whoever reads them has no producer there; "
			"record for less long",
			o->input, f->cut_ranges / 1e6);
		degraded = true;
	}
	if (in->incomplete) {
		log_warn("%s: the run ended before the program did; its figures are those until then", o->input);
		degraded = true;
	}
	if (main_image != f->main_image) {
		log_warn("%s attributes library code to %s; for the other, record with `accperf exact --attribute %s`",
			 o->input, in->recorded_main ? "its caller" : "itself", o->attribute);
		degraded = true;
	}
	if (o->inclusive && !f->inclusive) {
		log_warn("%s: no inclusive figures: %s", o->input,
			 ke ? "they are made for the quad semantics"
			    : "a stored flow keeps none, and says nothing of who calls whom");
		degraded = true;
	}
	return degraded;
}

static bool warn_of_missing(const struct flow_cmd *o, const struct flow_input *in)
{
	if (*in->missing)
		log_warn("%s: %s", o->input, in->missing);
	return *in->missing;
}

static void judge_trust(const struct flow_input *in, const struct flow *f, struct trust *out)
{
	struct trust_evidence evidence = trust_of_flow(in, f);

	trust_judge(TRUST_FLOW, &evidence, out);
}

static int find_per(const struct flow_cmd *o, const struct flow_input *in, const struct flow *f, struct flow_per *out,
		    struct err *e)
{
	const struct flow_per_of of = { .input = o->input,
					.in = in,
					.flow = f,
					.part = o->tid || o->filter.by[FILTER_PID].count ||
						o->filter.by[FILTER_COMM].count };

	return o->per ? flow_per_find(o->per, &of, out, e) : 0;
}

static int cmd_flow(void *opts, int argc, char **argv)
{
	const struct flow_cmd *o = opts;
	struct est_opts est = EST_OPTS_DEFAULT;
	struct flow_input_opts in_opts = { .bytes = true, .tid = (uint32_t)o->tid, .compute = true };
	struct flow_input in;
	struct flow_threads threads = { 0 };
	struct flow_per per;
	struct flow f;
	struct err e = { 0 };
	struct trust trust;
	struct filter filter = { 0 };
	struct monitor monitor = { 0 };
	bool degraded = false, part, tree = o->view && !strcmp(o->view, "tree");
	int err;

	if (usage(o, &e) || monitor_from(o, &monitor, &e) || filter_from_opts(&o->filter, &filter, &e)) {
		monitor_release(&monitor);
		return cli_fail(&e, e.code == -ENOENT || e.code == -EACCES ? EXIT_FAILED : EXIT_USAGE);
	}
	in_opts.main_image = !strcmp(o->attribute, "main");
	in_opts.no_earlier = o->no_earlier;
	in_opts.stacks = o->inclusive || tree;
	in_opts.filter = &filter;
	part = flow_input_in_part(&in_opts);
	est.stack = !strcmp(o->stack, "include");
	est.ke = !strcmp(o->semantics, "ke");
	est.inclusive = o->inclusive;
	est.use_census = !o->no_census;
	est.use_windows = !o->no_windows;
	est.level = o->level / 100;
	if (flow_input_load(&in, o->input, &in_opts, &e)) {
		filter_release(&filter);
		monitor_release(&monitor);
		return cli_fail(&e, EXIT_FAILED);
	}
	degraded = warn_of_missing(o, &in);
	err = filter_check_flow(&filter, &in, o->input, &e);
	if (!err)
		err = flow_estimate_part(&in, part, o->estimator, &est, &f, &e);
	if (!err && (check_names_exist(o, &f, &monitor, part, &e) || find_per(o, &in, &f, &per, &e))) {
		flow_release(&f);
		err = e.code;
	}
	if (!err) {
		degraded |= warn_of(o, &in, &f);
		judge_trust(&in, &f, &trust);
		if (!strcmp(o->by, "dso"))
			err = flow_fold_by_object(&f) ? err_set(&e, -ENOMEM, "out of memory") : 0;
		if (!strcmp(o->sort, "unique"))
			flow_sort_unique(&f);
		if (o->per && !per.source)
			degraded = true;
		/* the last use of the input: its functions become threads */
		if (!err && o->threads)
			err = flow_threads_build(&in, &est, &threads, &e);
		if (!err) {
			struct flow_view v = { .flow = &f,
					       .labels = profile_meta(in.profile, META_LABELS),
					       .filter = &filter,
					       .producer = &monitor.producer,
					       .consumer = &monitor.consumer,
					       .threads = o->threads ? &threads : NULL,
					       .per = o->per ? &per : NULL,
					       .trust = &trust };

			err = o->view ? show_figure(o, v, &in, &est, &e) : show_flow(o, v, &e);
		}
		flow_threads_release(&threads);
		flow_release(&f);
	}
	flow_input_release(&in);
	filter_release(&filter);
	monitor_release(&monitor);
	return err ? cli_fail(&e, EXIT_FAILED) : degraded ? EXIT_DEGRADED : EXIT_DONE;
}

static const struct cli_schema schemas[] = {
	{ "flow", flow_schema }, { "matrix", flow_matrix_schema }, { "tree", flow_tree_schema }, { 0 }
};

CLI_COMMAND(flow) = {
	.name = "flow",
	.summary = "bytes between functions: who wrote what whom reads",
	.order = 40,
	.run = cmd_flow,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct flow_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"Shows how many bytes each function read that each other function had written last: a map of the\n"
		"largest functions, the edges by size, and IN and OUT of each function.\n"
		"\n"
		"The first line says how far that may be trusted: good, weak or do not use, why, and what helps; so do\n"
		"report, counts, objects, timeline and offload. It is drawn from evidence in the profile alone: samples,\n"
		"watch windows, intervals, what is unknown or lost.\n"
		"\n"
		"IN is what a function reads, OUT what anyone reads of what it wrote; UMA is the number of distinct\n"
		"addresses among it. Names in parentheses are no functions: (outside) was never written under\n"
		"observation, (before attach) was written before recording began: a writer is not known, and words that were\n"
		"read there did not change when they were looked at again; (unknown) has a writer that was not seen.\n"
		"(kernel:read) was written by that system call.\n"
		"\n"
		"Exact profiles are shown as counted. From samples the flow is estimated: how much each load\n"
		"instruction reads comes from its samples, whose bytes they are from sampled stores, system calls and\n"
		"watch windows. Every figure then has an interval; a question mark stands where the kinds of evidence\n"
		"disagree. Figures that cannot be had are unknown, never 0.\n"
		"\n"
		"With --inclusive, a function's IN is what it and all it calls read of what was written elsewhere, its\n"
		"OUT the reverse, and within what stays inside; edges inside the call tree below it are no traffic. Where\n"
		"amounts are unknown these are parts of all bytes.\n"
		"\n"
		"--dot, --svg and --xml show functions with what they compute; with --inclusive their figures with all they\n"
		"call, too; with --threads the threads instead, and in XML the lines shared falsely.\n"
		"\n"
		"With --threads, the same between threads, from samples, and the cache lines that two threads use at the\n"
		"same time without sharing a byte, one of them writing: each write then costs the other a miss.\n"
		"\n"
		"With --view matrix, the busiest functions by what they compute, with a row that tells how much; with\n"
		"--view tree, the call tree and what its paths read of each other: counted by `accperf exact --callees`, else\n"
		"estimated, reads by the stacks of their samples, and the writer's paths by those of its sampled stores.\n"
		"\n"
		"With --per FUNCTION, each edge is divided by the calls of that function: counted by the exact engine, by\n"
		"offload probes or by execution counts, in that order, or its time over that of the calls that probes saw;\n"
		"the interval is that of both. Where nothing tells them the figures are unknown, a line says what helps, and\n"
		"the exit status is 3.\n"
		"\n"
		"With --by dso rows are objects, sums of what functions have; intervals are the sums of theirs, which is wide.\n"
		"\n"
		"With --sort unique, edges stand by the distinct bytes they are over, which is what has to travel once; those\n"
		"over at most 256 bytes that are read again and again are one line.\n"
		"\n"
		"Bursts (record --counts) tell how often the blocks of a function ran against each other, which weighs its\n"
		"loads, and who wrote what a load reads. With --threads, --attribute main, --stack include, --pid, --comm\n"
		"or --tid only the weights are theirs: who wrote was added up for none of these.\n"
		"\n"
		"--pid and --comm choose who reads, whoever wrote; --dso and --symbol the edges from or to such code. Shares\n"
		"stay those of the whole recording's bytes; which part is shown, one line says.\n"
		"\n"
		"The exit status is 3 when the profile is not whole.",
	.examples =
		"accperf flow\tThe map, edges and functions of accperf.data\n"
		"accperf flow --consumer deflate --rows 5\tWhere the bytes come from that deflate reads\n"
		"accperf flow --consumer 'sad_*,satd_*' --xml\tA monitor list, for QUAD's readers\n"
		"accperf flow --per deflate --sort unique\tWhat one call of deflate moves, the largest buffers first\n"
		"accperf flow --svg -o flow.svg --min-share 1\tA picture of the edges from 1 % on\n"
		"accperf flow --json | jq '.edges[0]'\tThe largest edge, for a script\n",
	.schemas = schemas,
};
