// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf merge: profiles of one program into one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "flow/merge.h"

#define MAX_FILES 256
#define MOST_WEIGHT 1e12

struct merge_cmd {
	const char *output;
	struct opt_list weights;
	bool force;
};

static const struct merge_cmd defaults = { .output = "merged.data" };

#define AT(field) .offset = offsetof(struct merge_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "profile to write (merged.data)" },
	{ OPT_LIST, 'w', "weight", AT(weights), .arg = "W",
	  .help = "weight of the next input, in their order; 1 where none is given" },
	{ OPT_BOOL, 'f', "force", AT(force), .help = "merge even if the files' builds differ" },
	OPT_END
};

static int weights_of(const struct merge_cmd *o, unsigned files, double *w, struct err *e)
{
	for (unsigned i = 0; i < files; i++) {
		const char *text = i < o->weights.count ? o->weights.items[i] : "1";
		char *end;

		w[i] = strtod(text, &end);
		if (*end || !(w[i] > 0) || w[i] > MOST_WEIGHT)
			return err_set(e, -EINVAL, "--weight wants a number above 0, not '%s'", text);
	}
	return 0;
}

static int cmd_merge(void *opts, int argc, char **argv)
{
	const struct merge_cmd *o = opts;
	double weights[MAX_FILES];
	struct merge_what what = { argv, weights, (unsigned)argc, o->force };
	struct merge_result res;
	struct err e = { 0 };

	if (o->weights.count > (unsigned)argc)
		return err_set(&e, 0, "there are more weights than files"), cli_fail(&e, EXIT_USAGE);
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], o->output))
			return err_set(&e, 0, "%s cannot be both input and output", argv[i]), cli_fail(&e, EXIT_USAGE);
	if (weights_of(o, (unsigned)argc, weights, &e))
		return cli_fail(&e, EXIT_USAGE);
	if (merge_profiles(&what, o->output, &res, &e))
		return cli_fail(&e, EXIT_FAILED);
	log_info("%d profiles, %u kinds of flow -> %s", argc, res.kinds, o->output);
	return res.degraded ? EXIT_DEGRADED : EXIT_DONE;
}

CLI_COMMAND(merge) = {
	.name = "merge",
	.summary = "several profiles of one program into one",
	.order = 48,
	.run = cmd_merge,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct merge_cmd),
	.defaults = &defaults,
	.usage = "[options] FILE...",
	.details =
		"Adds profiles of the same program: shifts of a day, hosts of a service, repeated runs. Time samples,\n"
		"counters and costs are added; flows are estimated profile by profile, because addresses mean nothing\n"
		"across runs, and the results are added with their intervals; what bursts and execution counts told\n"
		"of each goes into its flow. Single accesses, bursts and execution counts are not kept.\n"
		"\n"
		"A weight multiplies what a profile counts for: 10 for a host that stands for ten. The builds of all\n"
		"files must agree by their build-ids. A kind of flow (ke, or library code attributed to its caller)\n"
		"that not every input has is left out.",
	.examples =
		"accperf merge -o day.data host*.data\tOne profile of a fleet\n"
		"accperf merge -w 9 -w 1 -o all.data small.data large.data\tNine hosts like the first, one like the second\n",
	.min_args = 1,
	.max_args = MAX_FILES,
};
