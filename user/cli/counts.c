// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf counts: how often functions, loops and calls ran. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/kept.h"
#include "foreground/counts_keep.h"
#include "command/filter_opts.h"
#include "command/pager.h"
#include "util/openfile.h"
#include "util/suggest.h"
#include "view/counts.h"

struct counts_cmd {
	const char *input, *function, *cache;
	struct filter_opts filter;
	uint64_t rows;
	bool json, stdio, fresh;
};

static const struct counts_cmd defaults = { .input = "accperf.data", .rows = 20 };

#define AT(field) .offset = offsetof(struct counts_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile (accperf.data)" },
	{ OPT_UINT, 'n', "rows", AT(rows), .arg = "N", .help = "functions shown (20)" },
	{ OPT_STRING, 0, "function", AT(function), .arg = "NAME", .help = "only this function, with all its callers" },
	FILTER_PROCESS_OPTS(struct counts_cmd, filter),
	FILTER_CODE_OPTS(struct counts_cmd, filter),
	COUNTS_CACHE_OPT(offsetof(struct counts_cmd, cache)),
	{ OPT_BOOL, 0, "json", AT(json), .help = "accperf.counts/1" },
	STDIO_OPT(struct counts_cmd, stdio),
	FRESH_OPT(struct counts_cmd, fresh),
	OPT_END
};

#define JSON_DETAIL 192 /* functions whose loops and callers are listed */

/* 0, and the whole name in *name; -ENOENT, with the nearest one, where --function names nothing in there. */
static int check_function(const struct counts_cmd *o, const struct counts_report *r, const char **name, struct err *e)
{
	struct meant meant = { .typed = o->function };
	struct suggestion near = { 0 };

	if (!o->function)
		return 0;
	for (size_t i = 0; i < r->row_count; i++) {
		meant_add(&meant, r->row[i].name);
		suggest(&near, o->function, strlen(o->function), r->row[i].name);
	}
	*name = meant_name(&meant);
	if (meant.name && !meant.several)
		return 0;
	return err_set(e, -ENOENT, "%s has no execution counts of a function '%s'%s%s%s", o->input, o->function,
		       near.name ? "; did you mean '" : "; `accperf counts` lists those that it has",
		       near.name ? near.name : "", near.name ? "'?" : "");
}

static int show_counts(const struct counts_cmd *o, const struct filter *f, const struct counts_record *rec,
		       const struct profile *p, struct err *e)
{
	struct counts_view v = {
		.rows = o->rows > 1000000 ? 1000000 : o->rows, .function = o->function, .filter = f, .source = o->input
	};
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct trust_evidence evidence;
	struct counts_report r;
	struct trust trust;
	AUTO_BUF(out);
	int err;

	err = counts_report_make(rec, p, NULL, o->json || o->function || filter_any(f) ? JSON_DETAIL : v.rows, &r, e);
	if (err)
		return err;
	err = check_function(o, &r, &v.function, e);
	if (err) {
		counts_report_release(&r);
		return err;
	}
	evidence = trust_of_counts(p, &r);
	trust_judge(TRUST_COUNTS, &evidence, &trust);
	v.trust = &trust;
	v.r = &r;
	if (o->json)
		counts_json(&v, &out);
	else
		counts_text(&v, &style, &out);
	err = pager_write(&out, !o->stdio && !o->json, e);
	counts_report_release(&r);
	return err;
}

/* 0, or the status with which to end: executions are kept by function, of all processes that run it. */
static int check_processes(const struct counts_cmd *o, const struct filter *f, const struct profile *p, struct err *e)
{
	if (filter_check_profile(f, p, o->input, e))
		return EXIT_FAILED;
	if (profile_takes_all(p, f))
		return 0;
	err_set(e, 0,
		"%s counted executions by function, for all its processes together: leave out --pid and --comm, or record "
		"such processes alone (record -p PID --no-inherit); `accperf report --by pid` tells the time of each",
		o->input);
	return EXIT_DEGRADED;
}

/* 0, or the status with which to end. */
static int fill_from_cache(const struct counts_cmd *o, struct counts_record *rec, struct err *e)
{
	int dir;

	if (!rec->funcs || !rec->nodes) {
		if (rec->merged)
			err_set(e, 0,
				"%s was merged, and `accperf merge` keeps no execution counts: ask the profiles it was made of",
				o->input);
		else
			err_set(e, 0,
				"%s holds no execution counts: record with --counts auto, for some seconds at least, a program "
				"that is not JIT-compiled, where hardware breakpoints are free",
				o->input);
		return EXIT_DEGRADED;
	}
	dir = counts_cache_folder(o->cache, e);
	if (dir < 0)
		return e->code ? EXIT_FAILED : 0;
	openfile_looks_in(dir, NULL);
	counts_cache_fill(dir, rec);
	close(dir);
	return 0;
}

static int cmd_counts(void *opts, int argc, char **argv)
{
	const struct counts_cmd *o = opts;
	struct counts_record rec = { 0 };
	struct err e = { 0 };
	struct profile *p;
	struct filter f;
	int status;

	if (!o->rows)
		return err_set(&e, 0, "-n wants 1 or more"), cli_fail(&e, EXIT_USAGE);
	if (filter_from_opts(&o->filter, &f, &e))
		return cli_fail(&e, EXIT_USAGE);
	p = counts_record_and_profile(&rec, o->input, &e);
	status = p ? fill_from_cache(o, &rec, &e) : EXIT_FAILED;
	status = status ? status : check_processes(o, &f, p, &e);
	if (!status && show_counts(o, &f, &rec, p, &e))
		status = EXIT_FAILED;
	filter_release(&f);
	if (status) {
		counts_record_release(&rec);
		profile_free(p);
		return cli_fail(&e, status);
	}
	if (rec.dropped) {
		log_warn("%s: %u records of execution counts refer to nothing and are left out", o->input, rec.dropped);
		status = EXIT_DEGRADED;
	}
	if (*p->recovery) {
		log_warn("%s: %s", o->input, p->recovery);
		status = EXIT_DEGRADED;
	}
	counts_record_release(&rec);
	profile_free(p);
	return status;
}

static const struct cli_schema schemas[] = { { "counts", counts_schema }, { 0 } };

CLI_COMMAND(counts) = {
	.name = "counts",
	.summary = "how often functions, loops and calls ran",
	.order = 43,
	.run = cmd_counts,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct counts_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"Lists functions by the instructions that they executed, with their loops and callers, as measured by\n"
		"`record --counts`: on a live process, without performance counters.\n"
		"\n"
		"how tells where a figure comes from. trip count: an induction register was read before and behind the\n"
		"loop. ratio: breakpoints armed together were hit in this ratio. replay: the recorder carried out the\n"
		"code itself from samples on, on a copy of the target's memory, and counted. rate: hits per second of\n"
		"CPU time.\n"
		"once: follows from the control flow. time inside: by the samples in this part of the function and in\n"
		"what is around it; of a function: its runs are known, what it does in each is not. time share: not\n"
		"measured, or not believed; the figure assumes that the code executes as many instructions per second\n"
		"as the rest of the program does, fewer where samples often met the same instruction (it waits) or the\n"
		"code divides.\n"
		"\n"
		"runs/s are per second of CPU time in user code; <: at most so many, as hardly a burst entered it, which\n"
		"is all that is known without breakpoints. in./run are the function's own instructions for each time that\n"
		"it is entered, as far off as both are. An error is the farther end of the 95 % interval, as a part of the\n"
		"figure, or as a factor (x3). Times of a loop without trip count are runs of its header for each run of\n"
		"what is around it.\n"
		"\n"
		"What this recording has too few hits for is taken from other recordings of the same files, if there\n"
		"are any (other recordings): record keeps the sums of its windows by build-id and address.\n"
		"\n"
		"Executions are counted for all processes together. --pid and --comm that leave out none of them are\n"
		"obeyed; with others it says so and ends with status 3.\n"
		"\n"
		"With a profile without counts, says so and ends with status 3.",
	.examples =
		"accperf record --counts auto -p PID --duration 60s && accperf counts\tCounts of a running process\n"
		"accperf counts --function inflate_fast\tOne function with all its callers\n"
		"accperf counts --json | jq '.functions[] | select(.trust > 0.5) | [.name, .per_second.value]'\tWhat is well known\n",
	.schemas = schemas,
};
