// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "counts/judge.h"
#include "counts/counts_windows.h"

struct judge {
	struct truth *truth;
	struct counts_record r;
	struct profile *p;
	struct counts_built b;
	uint32_t *object;    /* by function of the record: the truth's object id, 0 none */
	const char **name;   /* by function */
	double *runs;        /* by node, true; NaN unknown */
	double *self;        /* by function, true share */
	bool all;            /* links to what never ran, too */
	const char *windows; /* of links to nodes whose name holds this, or NULL */
};

static const char *base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static uint32_t object_named(const struct truth *t, const char *name)
{
	for (uint32_t o = 1; o <= t->objects.count && o < TRUTH_OBJECTS; o++)
		if (!strcmp(base(intern_get(&t->objects, o, NULL)), base(name)))
			return o;
	return 0;
}

static double runs_at(const struct truth *t, uint32_t object, uint64_t addr)
{
	const uint64_t *n = object ? map_get(&t->runs[object], addr) : NULL;

	return n ? (double)*n : 0;
}

static double entries(const struct truth *t, uint32_t object, uint64_t addr, uint32_t from, uint64_t site)
{
	double n = 0;

	for (uint32_t i = 0; i < t->calls; i++) {
		const struct truth_call *c = &t->call[i];

		if (c->to_object == object && c->to == addr &&
		    (!site || (c->from_object == from && c->from < site && c->from + 8 > site)))
			n += (double)c->count;
	}
	return n;
}

static void name_all(struct judge *j)
{
	for (size_t f = 0; f < j->r.funcs; f++) {
		uint32_t frame = profile_counts_frame(j->p, j->r.func[f].id);
		const struct profile_frame *at = frame ? &j->p->frames[frame] : NULL;
		const struct profile_line *outer = at && at->count ? &j->p->lines[at->first + at->count - 1] : NULL;
		const struct profile_function *fn = &j->p->functions[outer ? outer->function : 0];
		uint64_t a, *n;
		size_t pos = 0;

		j->name[f] = fn->name;
		j->object[f] = object_named(j->truth, fn->object);
		while (j->object[f] && map_next(&j->truth->runs[j->object[f]], &pos, &a, &n))
			if (a >= j->r.func[f].start && a < j->r.func[f].end)
				j->self[f] += (double)*n / (double)j->truth->total;
	}
	for (size_t v = 1; v < j->r.nodes; v++) {
		const struct fmt_counts_node *k = &j->r.node[v];
		uint32_t f = k->function;

		if (f == UINT32_MAX)
			continue;
		j->runs[v] = runs_at(j->truth, j->object[f], k->addr);
		/* an entry may be a loop's header as well */
		if (k->kind == FMT_CN_ENTRY && entries(j->truth, j->object[f], k->addr, 0, 0) > 0)
			j->runs[v] = entries(j->truth, j->object[f], k->addr, 0, 0);
	}
}

static void where(const struct judge *j, uint32_t node, char *out, size_t size)
{
	const struct fmt_counts_node *k = &j->r.node[node];
	uint32_t f = k->function;

	if (!node || f == UINT32_MAX)
		snprintf(out, size, "CPU");
	else
		snprintf(out, size, "%s+%lx%s", j->name[f], (unsigned long)(k->addr - j->r.func[f].start),
			 k->kind == FMT_CN_ENTRY  ? "E"
			 : k->kind == FMT_CN_LOOP ? "L"
						  : "");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median_of_rates(struct judge *j)
{
	double *v = malloc((j->b.tree.links + 1) * sizeof(*v)), m;
	size_t n = 0;

	for (size_t i = 0; v && i < j->b.tree.links; i++)
		if (j->b.tree.link[i].ratio.how == COUNTS_RATE && j->runs[j->b.tree.link[i].child] > 0)
			v[n++] = log(j->b.tree.link[i].ratio.ratio / j->runs[j->b.tree.link[i].child]);
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), by_value);
	m = v[n / 2];
	free(v);
	return m;
}

static double share_of_node(const struct judge *j, uint32_t node)
{
	return j->runs[node] * j->r.node[node].instructions / (double)j->truth->total;
}

static void print_windows(const struct judge *j, const struct counts_rec_link *l)
{
	for (size_t k = l->window; k < l->window + l->windows; k++) {
		const struct fmt_counts_window *w = &j->r.window[k];

		printf("   at %.3f ms, %.3f ms long, thread %u: anchor %.6g child %.4g, of one %g to %g\n",
		       (double)w->armed * 1e-6, (double)(w->ended - w->armed) * 1e-6, w->tid, w->anchor, w->child,
		       w->least, w->most);
	}
}

static void print_link(const struct judge *j, size_t i, double rates, double all)
{
	const struct counts_link *l = &j->b.tree.link[i];
	const struct fmt_counts_link *rec = &j->r.link[j->b.link_of[i]].l;
	uint32_t pf = j->r.node[l->parent].function;
	double up = l->parent ? j->runs[l->parent] : 1, down = j->runs[l->child], truth;
	char a[80], b[80];

	if (l->ratio.how == COUNTS_RATE) {
		truth = down * exp(rates);
	} else if (rec->flags & FMT_CL_CALL) {
		double via = pf == UINT32_MAX ? 0
					      : entries(j->truth, j->object[j->r.node[l->child].function],
							j->r.node[l->child].addr, j->object[pf], rec->site);

		truth = (via > 0 ? via : l->ratio.how == COUNTS_ONCE ? up : NAN) / up;
	} else {
		truth = down / up;
	}
	where(j, l->parent, a, sizeof(a));
	where(j, l->child, b, sizeof(b));
	if (j->windows && strstr(b, j->windows))
		print_windows(j, &j->r.link[j->b.link_of[i]]);
	printf("link %-11s%s %-30.30s -> %-30.30s true %-10.4g is %-10.4g off %+6.2f sd %5.2f corr %+6.2f out %+6.2f%s%s win %u anchor %.5g child %.5g share %.4f is %.4f\n",
	       counts_how_str(l->ratio.how), rec->flags & FMT_CL_CALL ? "C" : " ", a, b, truth, l->ratio.ratio,
	       log(l->ratio.ratio / truth), sqrt(l->ratio.log_var), log(l->correction),
	       log(l->ratio.ratio / truth) + log(l->correction), l->broken ? " BROKEN" : "", l->cycle ? " CYCLE" : "",
	       l->ratio.windows, l->ratio.anchor, l->ratio.child, share_of_node(j, l->child),
	       j->b.tree.runs[l->child] * j->r.node[l->child].instructions / all);
}

/* Windows that were opened in vain: too few for their link to be used. */
static void print_short(const struct judge *j)
{
	bool *used = calloc(j->r.links + 1, sizeof(*used));

	for (size_t i = 0; used && i < j->b.tree.links; i++)
		used[j->b.link_of[i]] =
			j->b.tree.link[i].ratio.how != COUNTS_TIME && j->b.tree.link[i].ratio.how != COUNTS_UNKNOWN;
	for (size_t i = 0; used && i < j->r.links; i++) {
		const struct counts_rec_link *l = &j->r.link[i];
		double anchor = 0, child = 0;
		char a[80], b[80];

		if (used[i] || !l->windows || !l->l.how || (l->l.how == FMT_CL_REPLAY && used[l->l.rival]))
			continue;
		for (size_t k = l->window; k < l->window + l->windows; k++) {
			anchor += j->r.window[k].anchor;
			child += j->r.window[k].child;
		}
		where(j, l->l.parent, a, sizeof(a));
		where(j, l->l.child, b, sizeof(b));
		printf("short how %u flags %x %-30.30s -> %-30.30s windows %zu anchor %.5g child %.5g\n", l->l.how,
		       l->l.flags, a, b, l->windows, anchor, child);
	}
	free(used);
}

static void print_all(struct judge *j)
{
	const struct counts_tree *t = &j->b.tree;
	double all = 0, time = 0, rates, tv = 0, tv_time = 0;

	for (size_t g = 0; g < t->groups; g++) {
		all += isnan(t->group[g].instructions) ? 0 : t->group[g].instructions;
		time += t->group[g].time;
	}
	for (size_t g = 0; g < t->groups; g++) {
		double is = isnan(t->group[g].instructions) ? 0 : t->group[g].instructions / all;

		tv += fabs(is - j->self[g]) / 2;
		tv_time += fabs(t->group[g].time / time - j->self[g]) / 2;
		if (is < 0.002 && j->self[g] < 0.002)
			continue;
		printf("function %-32.32s true %.4f time %.4f counts %.4f [%.4f %.4f] ratios %.4f trust %.2f flags %x samples %lu\n",
		       j->name[g], j->self[g], t->group[g].time / time, is, t->group[g].low / all,
		       t->group[g].high / all, t->group[g].by_ratios, t->group[g].trust, j->r.func[g].flags,
		       (unsigned long)t->group[g].samples);
	}
	rates = median_of_rates(j);
	for (size_t i = 0; i < t->links; i++)
		if ((j->runs[t->link[i].child] > 0 || j->all) &&
		    (t->link[i].ratio.how != COUNTS_ONCE || (j->r.link[j->b.link_of[i]].l.flags & FMT_CL_CALL)))
			print_link(j, i, rates, all);
	print_short(j);
	printf("total: TV %.4f by time %.4f spread %.2f stretch %.0f broken %u cycles %u; instructions a second %.3g, of what rests on time %.3g\n",
	       tv, tv_time, t->ipc_spread, t->stretch, t->broken, t->cycles, all, t->level * time);
}

int judge_links(struct truth *truth, const char *profile, bool all, const char *windows)
{
	struct judge j = { .truth = truth, .all = all, .windows = windows };
	struct err e = { 0 };
	int rc = counts_record_load(&j.r, profile, &e);

	if (rc) {
		fprintf(stderr, "%s\n", e.text);
		return rc;
	}
	for (size_t i = 0; getenv("NO_REPLAY") && i < j.r.links; i++)
		j.r.link[i].l.how = j.r.link[i].l.how == FMT_CL_REPLAY ? 0 : j.r.link[i].l.how;
	j.p = profile_load(profile, &e);
	j.object = calloc(j.r.funcs + 1, sizeof(*j.object));
	j.name = calloc(j.r.funcs + 1, sizeof(*j.name));
	j.self = calloc(j.r.funcs + 1, sizeof(*j.self));
	j.runs = calloc(j.r.nodes + 1, sizeof(*j.runs));
	rc = j.p && j.object && j.name && j.self && j.runs ? counts_record_tree(&j.r, &j.b, &e) : -ENOMEM;
	rc = rc ? rc : counts_record_solve(&j.r, &j.b);
	if (!rc) {
		name_all(&j);
		print_all(&j);
	}
	counts_built_release(&j.b);
	profile_free(j.p);
	counts_record_release(&j.r);
	free(j.object);
	free(j.name);
	free(j.self);
	free(j.runs);
	return rc;
}
