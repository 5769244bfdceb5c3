// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf objects: data objects, who reads and writes them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/kept.h"
#include "cli/filter_opts.h"
#include "cli/pager.h"
#include "view/objects.h"

struct objects_cmd {
	const char *input, *stack, *attribute, *from;
	struct filter_opts filter;
	uint64_t rows;
	bool json, stdio, fresh;
};

static const struct objects_cmd defaults = {
	.input = "accperf.data", .stack = "exclude", .attribute = "self", .from = "best", .rows = 20
};

#define AT(field) .offset = offsetof(struct objects_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile (accperf.data)" },
	{ OPT_STRING, 0, "stack", AT(stack), .arg = "exclude|include",
	  .help = "show the stack as an object, too (exclude)" },
	{ OPT_STRING, 0, "attribute", AT(attribute), .arg = "self|main",
	  .help = "library code to itself, or to its caller in the main image (self)" },
	{ OPT_STRING, 0, "from", AT(from), .arg = "best|samples",
	  .help = "exact counts where there are some, or samples always (best)" },
	FILTER_PROCESS_OPTS(struct objects_cmd, filter),
	FILTER_CODE_OPTS(struct objects_cmd, filter),
	{ OPT_UINT, 'n', "rows", AT(rows), .arg = "N", .help = "objects and functions shown (20)" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "accperf.objects/1" },
	STDIO_OPT(struct objects_cmd, stdio),
	FRESH_OPT(struct objects_cmd, fresh),
	OPT_END
};

static int cmd_objects(void *opts, int argc, char **argv)
{
	const struct objects_cmd *o = opts;
	struct flow_input_opts io = {
		.main_image = !strcmp(o->attribute, "main"), .locals = true, .compute = true, .stores_too = true
	};
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct filter filter;
	struct flow_input in;
	struct objects obj;
	struct err e = { 0 };
	AUTO_BUF(out);
	bool degraded = false;
	int err;

	if (filter_from_opts(&o->filter, &filter, &e))
		return cli_fail(&e, EXIT_USAGE);
	io.filter = &filter;
	if (flow_input_load(&in, o->input, &io, &e)) {
		filter_release(&filter);
		return cli_fail(&e, EXIT_FAILED);
	}
	if (!strcmp(o->from, "samples"))
		in.x_use_count = in.x_func_count = 0;
	err = filter_check_flow(&filter, &in, o->input, &e);
	if (!err && filter_asks_process(&filter) && in.x_use_count)
		err = err_set(
			&e, -ENOTSUP,
			"%s was counted by function, not by process: leave out --pid and --comm, or add --from samples",
			o->input);
	flow_input_keep_code(&in, &filter);
	if (!err)
		err = objects_build(&in, !strcmp(o->stack, "include"), &obj, &e);
	if (!err) {
		struct trust_evidence evidence = trust_of_objects(&in, &obj);
		struct trust trust;
		struct objects_view v = { .o = &obj,
					  .trust = &trust,
					  .rows = o->rows > 1000000 ? 1000000 : (unsigned)o->rows,
					  .filtered = { &filter, "accesses", in.kept.accesses },
					  .source = o->input };

		/* shares stay those of the whole recording */
		for (size_t i = 0; i < obj.row_count; i++)
			obj.rows[i].share *= in.kept.accesses;
		trust_judge(TRUST_OBJECTS, &evidence, &trust);
		if (o->json)
			objects_json(&v, &out);
		else
			objects_text(&v, &style, &out);
		err = pager_write(&out, !o->stdio && !o->json, &e);
		objects_release(&obj);
		if (*in.missing) {
			log_warn("%s: %s", o->input, in.missing);
			degraded = true;
		}
	}
	flow_input_release(&in);
	filter_release(&filter);
	return err ? cli_fail(&e, EXIT_FAILED) : degraded ? EXIT_DEGRADED : EXIT_DONE;
}

static const struct cli_schema schemas[] = { { "objects", objects_schema }, { 0 } };

CLI_COMMAND(objects) = {
	.name = "objects",
	.summary = "variables and allocation sites: who reads and writes them",
	.order = 41,
	.run = cmd_objects,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct objects_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"Lists data objects by their share of the accesses, with their largest readers and writers: variables\n"
		"by name, heap blocks by allocation site where the profile holds them. Accesses to anything else are\n"
		"put together into ranges of memory, which is cheaper than following malloc and free, and misses where\n"
		"one block ends and the next begins. Ranges of one mapping that have the same main users are one object;\n"
		"what has too few samples to show its users is put with the nearest that it may belong to, or else stands\n"
		"as the mapping's other places. What several processes of one program share, as variables and inherited\n"
		"memory, stands once.\n"
		"\n"
		"Then functions by how hard they use memory. MAR is memory accesses per instruction, with and without\n"
		"those of the stack; MAI is the function's part of the program's accesses off the stack over its part\n"
		"of the instructions. Without instruction samples these are unknown.",
	.examples = "accperf objects\tThe objects of accperf.data\n"
		    "accperf objects --json | jq '.objects[] | select(.writer_count==0) | .name'\tConstants\n",
	.schemas = schemas,
};
