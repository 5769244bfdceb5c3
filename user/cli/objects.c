// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf objects: data objects, who reads and writes them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/kept.h"
#include "command/filter_opts.h"
#include "command/pager.h"
#include "view/heap_sites.h"
#include "view/memory_film.h"
#include "view/object_map.h"
#include "view/objects.h"

struct objects_cmd {
	const char *input, *stack, *attribute, *from, *cost, *output;
	struct filter_opts filter;
	struct opt_list variables;
	uint64_t rows, slices;
	bool json, stdio, fresh, regions, map, film, svg, heap;
};

static int costs_of(const struct objects_cmd *o, const struct flow_input *in, struct object_costs *out, struct err *e)
{
	*out = object_costs_default;
	return !o->cost                       ? 0
	       : !strcmp(o->cost, "measured") ? object_costs_measured(in, out, e)
					      : object_costs_parse(o->cost, out, e);
}

static int show_map(const struct objects_cmd *o, const struct flow_input *in, const struct text_style *style,
		    struct err *e)
{
	AUTO_BUF(out);

	if (!in->x_map_count)
		return err_set(e, -ENODATA,
			       "%s has no map of addresses: `accperf exact --objects -- COMMAND` makes one", o->input);
	if (o->json)
		object_map_json(in, &out);
	else if (o->svg)
		object_map_svg(in, &out);
	else
		object_map_text(in, style, &out);
	return pager_give(&out, o->output, !o->stdio && !o->json && !o->svg, e);
}

static int show_film(const struct objects_cmd *o, const struct flow_input *in, struct err *e)
{
	AUTO_BUF(out);
	int err = memory_film_svg(in, !strcmp(o->stack, "include"), &out);

	if (err == -ENODATA)
		return err_set(
			e, err,
			"%s holds no sampled access with an address: `accperf record`, or `accperf exact --emit-samples PERIOD`",
			o->input);
	if (err)
		return err_set(e, err, "out of memory");
	return pager_give(&out, o->output, false, e);
}

static int show_heap(const struct objects_cmd *o, const struct flow_input *in, const struct text_style *style,
		     struct err *e)
{
	const struct heap_sites_view v = { in, o->rows > 1000000 ? 1000000 : (unsigned)o->rows, o->input };
	AUTO_BUF(out);

	if (!in->heap.turns)
		return err_set(e, -ENODATA, "%s has no allocations: `accperf record --heap` sees them", o->input);
	if (o->json)
		heap_sites_json(&v, &out);
	else
		heap_sites_text(&v, style, &out);
	return pager_give(&out, o->output, !o->stdio && !o->json, e);
}

static const struct objects_cmd defaults = {
	.input = "accperf.data", .stack = "exclude", .attribute = "self", .from = "best", .rows = 20
};

#define AT(field) .offset = offsetof(struct objects_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile (accperf.data)" },
	{ OPT_STRING, 0, "stack", AT(stack), .arg = "exclude|include",
	  .help = "show the stack as an object, too (exclude)" },
	ATTRIBUTE_OPT(struct objects_cmd, attribute),
	{ OPT_STRING, 0, "from", AT(from), .arg = "best|samples",
	  .help = "exact counts where there are some, or samples always (best)" },
	FILTER_PROCESS_OPTS(struct objects_cmd, filter),
	FILTER_CODE_OPTS(struct objects_cmd, filter),
	{ OPT_LIST, 0, "variable", AT(variables), .arg = "NAME,...",
	  .help = "only objects of these names or glob patterns, or those in @FILE, one a line" },
	{ OPT_BOOL, 0, "regions", AT(regions),
	  .help = "by function: objects, addresses and accesses of stack, heap and data" },
	{ OPT_BOOL, 0, "map", AT(map), .help = "the address space: what is allocated, written, read, never read" },
	{ OPT_BOOL, 0, "film", AT(film),
	  .help = "a picture (SVG) of addresses over time, coloured by who writes and who reads; of sampled accesses" },
	{ OPT_BOOL, 0, "heap", AT(heap),
	  .help = "allocation sites with their stacks, by bytes allocated (`accperf record --heap`)" },
	{ OPT_STRING, 0, "cost", AT(cost), .arg = "REGION=FACTOR,..",
	  .help = "stack=0,heap=1,data=1,other=1: of an access, in average instructions; or `measured` here" },
	{ OPT_BOOL, 0, "svg", AT(svg), .help = "a picture: the objects' shares, or the map" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "write there instead of the terminal" },
	{ OPT_UINT, 'n', "rows", AT(rows), .arg = "N", .help = "objects and functions shown (20)" },
	{ OPT_UINT, 0, "slices", AT(slices), .arg = "N",
	  .help = "with --json: when objects were used, in so many parts of the recording (0)" },
	{ OPT_BOOL, 0, "json", AT(json),
	  .help = "accperf.objects/1, of the map accperf.object-map/1, of --heap accperf.heap/1" },
	STDIO_OPT(struct objects_cmd, stdio),
	FRESH_OPT(struct objects_cmd, fresh),
	OPT_END
};

static const char *nth_object(const void *ctx, size_t i)
{
	return ((const struct objects *)ctx)->rows[i].name;
}

/* Puts the rows of the variables asked for first; how many they are. */
static int choose_variables(const struct objects_cmd *o, struct objects *obj, size_t *chosen, struct err *e)
{
	struct filter_list l = { 0 };
	struct object_row *left = malloc((obj->row_count + 1) * sizeof(*left));
	size_t n = 0, others = 0;
	int err = left ? 0 : err_set(e, -ENOMEM, "out of memory");

	for (unsigned i = 0; !err && i < o->variables.count; i++)
		err = filter_list_add(&l, "--variable", o->variables.items[i], e);
	for (size_t k = 0; !err && k < l.count; k++) {
		AUTO_BUF(near);
		bool found = false;

		for (size_t i = 0; i < obj->row_count && !found; i++)
			found = filter_matches(l.at[k], obj->rows[i].name);
		if (found)
			continue;
		filter_offer(l.at[k], nth_object, obj, obj->row_count, &near);
		err = err_set(e, -ENOENT, "%s has no object '%s'%s", o->input, l.at[k],
			      buf_failed(&near) || !near.data ? "; * stands for anything" : near.data);
	}
	for (size_t i = 0; !err && i < obj->row_count; i++) {
		if (filter_list_takes(&l, obj->rows[i].name))
			obj->rows[n++] = obj->rows[i];
		else
			left[others++] = obj->rows[i];
	}
	if (!err && others)
		memcpy(obj->rows + n, left, others * sizeof(*left));
	*chosen = n;
	filter_list_release(&l);
	free(left);
	return err;
}

static int show_objects(const struct objects_cmd *o, struct objects_view *v, struct objects *obj,
			const struct text_style *style, struct err *e)
{
	size_t all = obj->row_count, chosen = all;
	AUTO_BUF(out);
	int err = o->variables.count ? choose_variables(o, obj, &chosen, e) : 0;

	if (err)
		return err;
	obj->row_count = chosen; /* shares stay those of all */
	if (o->json)
		objects_json(v, &out);
	else if (o->svg)
		objects_svg(v, &out);
	else
		objects_text(v, style, &out);
	obj->row_count = all;
	return pager_give(&out, o->output, !o->stdio && !o->json && !o->svg, e);
}

/* Each of these is a list or a picture of its own. */
static void check_choice(const struct objects_cmd *o, struct err *e)
{
	if (o->film && (o->map || o->json || o->regions || o->heap))
		err_set(e, -EINVAL, "--film is a picture of its own: leave out --heap, --map, --regions and --json");
	else if (o->heap && (o->map || o->regions || o->svg))
		err_set(e, -EINVAL, "--heap is a list of its own: leave out --map, --regions and --svg");
	else if (o->svg && o->json)
		err_set(e, -EINVAL, "choose one of --json and --svg");
	else if (o->slices > OBJECT_SLICES_MOST || (o->slices && !o->json))
		err_set(e, -EINVAL, o->json ? "at most %d slices" : "--slices is for --json: add it",
			OBJECT_SLICES_MOST);
}

static int cmd_objects(void *opts, int argc, char **argv)
{
	const struct objects_cmd *o = opts;
	struct flow_input_opts io = { .bytes = true,
				      .main_image = !strcmp(o->attribute, "main"),
				      .locals = true,
				      .compute = true,
				      .stores_too = true };
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct filter filter;
	struct object_costs costs;
	struct flow_input in;
	struct objects obj;
	struct err e = { 0 };
	bool degraded = false;
	int err;

	check_choice(o, &e);
	if (!e.code && o->cost && strcmp(o->cost, "measured") != 0)
		object_costs_parse(o->cost, &costs, &e);
	if (e.code || filter_from_opts(&o->filter, &filter, &e))
		return cli_fail(&e, EXIT_USAGE);
	io.filter = &filter;
	if (flow_input_load(&in, o->input, &io, &e)) {
		filter_release(&filter);
		return cli_fail(&e, EXIT_FAILED);
	}
	if (!strcmp(o->from, "samples"))
		in.x_use_count = in.x_func_count = in.x_extent_count = 0;
	err = filter_check_flow(&filter, &in, o->input, &e);
	if (!err && filter_asks_process(&filter) && in.x_use_count)
		err = err_set(
			&e, -ENOTSUP,
			"%s was counted by function, not by process: leave out --pid and --comm, or add --from samples",
			o->input);
	flow_input_keep_code(&in, &filter);
	if (!err)
		err = costs_of(o, &in, &costs, &e);
	if (!err && o->heap) {
		err = show_heap(o, &in, &style, &e);
	} else if (!err && o->map) {
		err = show_map(o, &in, &style, &e);
	} else if (!err && o->film) {
		err = show_film(o, &in, &e);
	} else if (!err &&
		   !(err = objects_build(&in, !strcmp(o->stack, "include"), &costs, (uint32_t)o->slices, &obj, &e))) {
		struct trust_evidence evidence = trust_of_objects(&in, &obj);
		struct trust trust;
		struct objects_view v = { .o = &obj,
					  .trust = &trust,
					  .regions = o->regions,
					  .rows = o->rows > 1000000 ? 1000000 : (unsigned)o->rows,
					  .filtered = { .by = &filter, .of = "accesses", .shown = in.kept.accesses },
					  .source = o->input };

		/* shares stay those of the whole recording */
		for (size_t i = 0; i < obj.row_count; i++)
			obj.rows[i].share *= in.kept.accesses;
		trust_judge(TRUST_OBJECTS, &evidence, &trust);
		err = show_objects(o, &v, &obj, &style, &e);
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

static const struct cli_schema schemas[] = {
	{ "objects", objects_schema }, { "object-map", object_map_schema }, { "heap", heap_sites_schema }, { 0 }
};

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
		"One file may hold both lists, for --symbol @FILE and --variable @FILE here and elsewhere: lines that begin with\n"
		"the word function or variable are for lists of these alone.\n"
		"\n"
		"Then functions by how they suit hardware, after xQUAD. MAR is memory accesses per instruction, with and\n"
		"without those of the stack; relative is the latter over the program's. MAI, the memory access intensity, is\n"
		"the time for an access: the function's time by the sum of cost factor and MAR of each region, over the\n"
		"accesses of the regions that cost anything. The lowest ranks first. Factors are in the time of an average\n"
		"instruction: the paper's simple case (the stack costs nothing, all else 1), or --cost; with `measured`, the\n"
		"time of a load from as much memory as the program used of a region, over one from the nearest cache.\n"
		"Without instructions and times these are unknown.\n"
		"\n"
		"--heap lists allocation sites, as `accperf record --heap` saw them in turns: what each allocates in a second,\n"
		"how long its blocks live, and from where it is called. A site is the first caller of an allocator that is none\n"
		"itself, nor one of the usual wrappers. Among the objects an access to a block that was told is its site's as\n"
		"long as the block is likely to live: what was freed between turns was not seen. To memory that such blocks had\n"
		"at another time, or lie in one page with, the site is inferred, in parts where several speak for it; how\n"
		"much is known, inferred and of no site that was seen is said. What was allocated before the recording, and\n"
		"never again, is of none. The interval of a share is of sampling and of choosing among the sites that were\n"
		"seen; it holds nothing of those that were not.\n"
		"\n"
		"--regions shows, by function, how many objects, distinct addresses and accesses it has on the stack, the\n"
		"heap and in data, and from where to where; --map the address space as the exact engine saw it used, cell by\n"
		"cell: what is allocated, written, read, and written but never read. Both want `accperf exact --objects`.\n"
		"\n"
		"--film draws the addresses that sampled accesses touched over time: above coloured by who wrote there, below\n"
		"by who read. `accperf exact --accesses FILE` lists every access instead, as CSV.",
	.examples =
		"accperf objects\tThe objects of accperf.data\n"
		"accperf objects --svg -o objects.svg\tTheir shares as a picture\n"
		"accperf record --heap -p 1234 --duration 30s && accperf objects --heap\tWhere memory is allocated\n"
		"accperf objects --json | jq '.objects[] | select(.writer_count==0) | .name'\tConstants\n",
	.schemas = schemas,
};
