// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf merge: profiles of one program into one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "flow/merge.h"
#include "profile/profile.h"
#include "util/labels.h"

#define MAX_FILES 256    /* profiles at once; by hand */
#define MOST_WEIGHT 1e12 /* times that a profile counts: sums stay below where doubles lose whole numbers */

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
	  .help = "weight of the next input, in their order (1, or what a profile of a daemon's turn stands for)" },
	{ OPT_BOOL, 'f', "force", AT(force), .help = "merge even if the files' builds differ" },
	OPT_END
};

/* A daemon records a service by turns where it must: the first profile of a turn stands for the rest before it. */
static double weight_by_labels(const char *path)
{
	const char *dot = strrchr(path, '.'), *labels;
	char rested[LABELS_MOST] = "";
	struct err e = { 0 };
	struct profile *p = NULL;
	double w = 1;

	if (dot && strtoul(dot + 1, NULL, 10) == 1)
		p = profile_load_with(path, 0, NULL, 0, &e); /* what is wrong with it, merging says */
	labels = p ? profile_meta(p, META_LABELS) : NULL;
	if (labels) {
		labels_value(labels, LABELS_RESTED, rested);
		w = labels_weight(rested, path, (double)p->duration_ns / 1e9);
	}
	profile_free(p);
	return w;
}

static int weights_of(const struct merge_cmd *o, char *const *paths, unsigned files, double *w, struct err *e)
{
	for (unsigned i = 0; i < files; i++) {
		const char *text = i < o->weights.count ? o->weights.items[i] : NULL;
		char *end = NULL;

		w[i] = text ? strtod(text, &end) : weight_by_labels(paths[i]);
		if ((text && *end) || !(w[i] > 0) || w[i] > MOST_WEIGHT)
			return err_set(e, -EINVAL, "--weight wants a number above 0, not '%s'", text ? text : "");
		if (!text && w[i] > 1)
			log_info("%s counts %.4g times, for the time before its turn as well", paths[i], w[i]);
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
	if (weights_of(o, argv, (unsigned)argc, weights, &e))
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
		"A weight multiplies what a profile counts for: 10 for a host that stands for ten. Profiles that `accperf\n"
		"daemon` recorded by turns count for the time between as well. Labels that all have are kept. The builds of all\n"
		"files must agree by their build-ids. A kind of flow (ke, or library code attributed to its caller)\n"
		"that not every input has is left out.",
	.examples =
		"accperf merge -o day.data host*.data\tOne profile of a fleet\n"
		"accperf merge -w 9 -w 1 -o all.data small.data large.data\tNine hosts like the first, one like the second\n",
	.min_args = 1,
	.max_args = MAX_FILES,
};
