// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/export_load.h"

#include <errno.h>
#include <stdlib.h>

#include "flow/estimators.h"

static int why_not(const struct err *e)
{
	return e->code ? e->code : -EINVAL;
}

/* By the best method that the profile allows. */
static void find_flow(struct export_loaded *l, const char *path)
{
	struct est_opts how = EST_OPTS_DEFAULT;

	if (l->no_flow.code || flow_estimate(&l->in, NULL, &how, &l->flow, &l->no_flow))
		return;
	l->has_flow = l->flow.edge_count;
	if (l->has_flow)
		return;
	err_set(&l->no_flow, -ENODATA, "%s shows no bytes between functions", path);
	flow_release(&l->flow);
}

/* The object that was asked for, or that most taken branches are of. Processes that were followed may have several. */
static int choose_object(struct export_loaded *l, const char *path, const struct filter *filter, struct err *e)
{
	const struct filter_list *names = &filter->by[FILTER_DSO];
	const struct profile *p = l->p;

	for (size_t i = 1; i < p->module_count; i++) {
		uint64_t n = branches_taken(&l->branches, (uint32_t)i);

		l->taken_of_all += n;
		if (n <= l->taken || (names->count && !filter_list_takes(names, p->modules[i].object)))
			continue;
		l->taken = n;
		l->module = (uint32_t)i;
	}
	if (!l->taken_of_all)
		return err_set(
			e, -ENODATA,
			"%s holds no branches: they come with bursts; record with a higher --effort, or longer, a "
			"program that works",
			path);
	if (!l->taken)
		return err_set(e, -ENOENT,
			       "%s holds no branches of such an object; without --dso the one with most is taken",
			       path);
	return 0;
}

static int load_branches(struct export_loaded *l, const char *path, const struct filter *filter, struct err *e)
{
	struct section_reader ways = branches_reader(&l->branches);

	if (filter_asks_process(filter) || filter->by[FILTER_SYMBOL].count)
		return err_set(
			e, -EINVAL,
			"branches are kept by object alone: --dso chooses one; leave out --pid, --comm and --symbol");
	l->p = profile_load_with(path, 0, &ways, 1, e);
	if (!l->p)
		return why_not(e);
	branches_sum(&l->branches, l->p);
	return choose_object(l, path, filter, e);
}

/* What was counted by call path stands for samples, where there are none. */
static int take_call_tree(struct export_loaded *l, const char *path, struct err *e)
{
	int err = 0;

	if (!l->p->has_exact || l->p->samples[profile_unit(l->p)])
		return 0;
	if (!l->tree.count)
		err = call_tree_load(path, &l->tree, e);
	return err || !l->tree.count ? err : call_tree_as_samples(l->p, &l->tree, &l->calls, e);
}

int export_load(struct export_loaded *l, const char *path, const struct export_wish *wish, const struct filter *filter,
		struct err *e)
{
	struct flow_input_opts part = { .filter = filter };
	struct section_reader tree = call_tree_reader(&l->tree);

	if (wish->branches)
		return load_branches(l, path, filter, e);
	if (wish->timed) {
		l->p = in_order_load(path, &l->in_order, e);
		return l->p ? 0 : why_not(e);
	}
	if (wish->flow) {
		l->p = flow_input_and_profile(&l->in, path, &part, &l->no_flow, e);
		if (l->p)
			find_flow(l, path);
	} else {
		l->p = profile_load_with(path, PROFILE_SAMPLES | PROFILE_MISSING, &tree, 1, e);
	}
	if (!l->p)
		return why_not(e);
	return wish->tree ? take_call_tree(l, path, e) : 0;
}

void export_unload(struct export_loaded *l)
{
	if (l->has_flow)
		flow_release(&l->flow);
	flow_input_release(&l->in);
	in_order_release(&l->in_order);
	call_tree_release(&l->tree);
	branches_release(&l->branches);
	free(l->calls);
	profile_free(l->p);
}
