// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf annotate: one function's source and instructions, with time, executions and bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/filter_opts.h"
#include "command/kept.h"
#include "command/pager.h"
#include "util/suggest.h"
#include "view/annotate.h"

struct annotate_cmd {
	const char *input, *syntax, *source;
	struct filter_opts filter;
	bool all, json, stdio, fresh;
};

static const struct annotate_cmd defaults = { .input = "accperf.data", .syntax = "att" };

#define AT(field) .offset = offsetof(struct annotate_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile (accperf.data)" },
	{ OPT_BOOL, 0, "all", AT(all), .help = "the whole function, not its hottest loop alone" },
	{ OPT_STRING, 0, "syntax", AT(syntax), .arg = "att|intel", .help = "how instructions are written (att)" },
	{ OPT_STRING, 0, "source", AT(source), .arg = "DIR",
	  .help = "where the source lies now, if not where it was compiled" },
	FILTER_PROCESS_OPTS(struct annotate_cmd, filter),
	FILTER_OPT(struct annotate_cmd, filter, FILTER_DSO, 0, "dso", "NAME,...",
		   "the function of these objects (libz.so*)"),
	FILTER_OPT(struct annotate_cmd, filter, FILTER_SYMBOL, 0, "symbol", "FUNCTION",
		   "the same as FUNCTION without an option"),
	{ OPT_BOOL, 0, "json", AT(json), .help = "accperf.annotate/1, the whole function" },
	STDIO_OPT(struct annotate_cmd, stdio),
	FRESH_OPT(struct annotate_cmd, fresh),
	OPT_END
};

static const char *nth_own(const void *ctx, size_t i)
{
	return annotate_own_code(ctx, (uint32_t)i + 1);
}

static void not_there(const struct annotate_cmd *o, const char *name, const struct profile *p, struct err *e)
{
	const char *into = annotate_inlined_into(p, name);
	bool elsewhere = false;
	AUTO_BUF(near);

	for (uint32_t i = 1; i < p->frame_count; i++)
		elsewhere |= annotate_own_code(p, i) && !strcmp(annotate_own_code(p, i), name);
	if (elsewhere) {
		err_set(e, -ENOENT, "%s has '%s' in other objects than --dso names", o->input, name);
	} else if (into) {
		err_set(e, -ENOENT,
			"%s has no code of '%s' itself: it was inlined, into '%.80s' for one; annotate that", o->input,
			name, into);
	} else {
		buf_addstr(&near, "");
		filter_offer(name, nth_own, p, p->frame_count ? p->frame_count - 1 : 0, &near);
		err_set(e, -ENOENT, "%s has no function '%s'%s", o->input, name,
			buf_failed(&near) || !near.len ? "; `accperf report` lists those that it has" : near.data);
	}
}

/* The whole name of a function that has code of its own. */
static const char *whole_name(const struct profile *p, const char *typed)
{
	struct meant meant = { .typed = typed };

	for (uint32_t i = 1; i < p->frame_count; i++)
		if (annotate_own_code(p, i))
			meant_add(&meant, annotate_own_code(p, i));
	return meant_name(&meant);
}

static int show_annotation(const struct annotate_cmd *o, const struct filter *f, const char *typed,
			   struct annotate_loaded *l, int *status, struct err *e)
{
	const char *name = whole_name(l->p, typed);
	const struct annotate_opts ao = {
		.function = name, .filter = f, .intel = !strcmp(o->syntax, "intel"), .all = o->all
	};
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct sources sources = { 0 };
	struct trust_evidence evidence;
	struct annotation a;
	struct trust trust;
	AUTO_BUF(out);
	int err = annotate(l->p, &l->in, &l->counts, &ao, &a, e);

	if (err == -ENOENT)
		not_there(o, name, l->p, e);
	if (err)
		return err;
	evidence = trust_of_annotation(l->p, &a);
	trust_judge(TRUST_ANNOTATE, &evidence, &trust);
	sources.built = a.built;
	sources.root = o->source;
	const struct annotate_view v = { .a = &a,
					 .sources = &sources,
					 .filtered = { .by = f, .of = annotate_unit(&a), .shown = a.shown },
					 .trust = &trust,
					 .source = o->input };

	if (o->json)
		annotate_json(&v, &out);
	else
		annotate_text(&v, &style, &out);
	err = pager_write(&out, !o->stdio && !o->json, e);
	if (*a.no_code) {
		log_warn("%s: no instructions of %s: %s", o->input, name, a.no_code);
		*status = EXIT_DEGRADED;
	}
	sources_release(&sources);
	annotation_release(&a);
	return err;
}

static int cmd_annotate(void *opts, int argc, char **argv)
{
	struct annotate_cmd *o = opts;
	struct annotate_loaded l = { 0 };
	struct err e = { 0 };
	struct filter f;
	int status = EXIT_DONE, err;

	if (argc > 1 && !access(argv[0], F_OK) && access(argv[1], F_OK)) { /* FILE FUNCTION */
		char *file = argv[0];

		argv[0] = argv[1];
		argv[1] = file;
	}
	if (argc > 1) {
		if (strcmp(o->input, defaults.input)) {
			err_set(&e, 0, "%s and -i %s are two files to read; give one", argv[1], o->input);
			return cli_fail(&e, EXIT_USAGE);
		}
		o->input = argv[1];
	}
	if (access(o->input, F_OK) && !access(argv[0], F_OK)) {
		err_set(&e, 0, "%s is a file where a function is asked for: accperf annotate FUNCTION %s", argv[0],
			argv[0]);
		return cli_fail(&e, EXIT_USAGE);
	}
	o->filter.by[FILTER_SYMBOL].count = 0; /* it has become FUNCTION */
	if (filter_from_opts(&o->filter, &f, &e))
		return cli_fail(&e, EXIT_USAGE);
	err = annotate_load(&l, o->input, &e);
	err = err ? err : filter_check_profile(&f, l.p, o->input, &e);
	err = err ? err : show_annotation(o, &f, argv[0], &l, &status, &e);
	if (!err && *l.p->recovery) {
		log_warn("%s: %s", o->input, l.p->recovery);
		status = EXIT_DEGRADED;
	}
	annotate_unload(&l);
	filter_release(&f);
	return err ? cli_fail(&e, EXIT_FAILED) : status;
}

static const struct cli_schema schemas[] = { { "annotate", annotate_schema }, { 0 } };

CLI_COMMAND(annotate) = {
	.name = "annotate",
	.summary = "one function's source and instructions, with time, executions and bytes",
	.order = 22,
	.run = cmd_annotate,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct annotate_cmd),
	.defaults = &defaults,
	.min_args = 1,
	.max_args = 2,
	.usage = "[options] FUNCTION [FILE]",
	.details =
		"Shows the code of one function, as the file that it lies in has it now, if that is still the same build:\n"
		"beside each instruction its share of the time, how often it runs for each time that the function is\n"
		"entered (by execution counts), and its shares of all bytes read and written (by samples of loads and\n"
		"stores). Source lines stand above their instructions where debug information names them and the file is\n"
		"there (--source: elsewhere, by the ends of their paths); only regular files whose names are those of source code are opened.\n"
		"Of a C++ function the parameters may be left out, where it is the only one of its name.\n"
		"\n"
		"A long function is shown by its hottest loop: the innermost with half of the function's time. --all shows\n"
		"everything.\n"
		"\n"
		"Time skids: a timer's interrupt comes some instructions behind the one that took the time. Counts and\n"
		"sampled accesses do not. What the exact engine drew names its instruction.\n"
		"\n"
		"Code that was made at run time, or whose file is gone or another build, has addresses alone; the exit\n"
		"status is then 3.",
	.examples =
		"accperf annotate longest_match\tThe hottest loop of a function\n"
		"accperf annotate deflate --dso 'libz*' --all --syntax intel\tAll of it\n"
		"accperf annotate main --json | jq '.instructions | max_by(.share.value)'\tThe hottest instruction\n",
	.schemas = schemas,
};
