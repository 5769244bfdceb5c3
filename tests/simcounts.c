// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Execution counts without a recording: takes what callgrind counted, pretends to measure it with
 * breakpoint windows and a timer (over-dispersed windows, instructions per cycle that differ by
 * function, links that lie), solves, and compares. For developing the solver.
 *
 * 	simcounts FILE truth		only says what is true: lines "function OBJECT START SHARE",
 * 					"loop OBJECT HEADER TRIPS", "unmapped SHARE"
 * 	simcounts FILE links PROFILE [all [NODE]]	a recording's links beside the truth, in logs: off as measured,
 * 					corr by the solver, out what remains. With NO_REPLAY=1 in the
 * 					environment as if there were no bursts
 * 	FILE may be "FILE,LESS": without what a shorter run did.
 * 	simcounts FILE [ipc=0.5] [bias=0.1] [lies=0.0] [size=2] [seeds=5] [rate=...]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counts/judge.h"
#include "counts/tree.h"
#include "counts/counts.h"
#include "unit/xorshift.h"

struct plan {
	double ipc, bias, lies, size, samples, seconds, hits, windows, rates, copies;
	unsigned seeds;
	bool verbose;
};

static double gaussian_count(double mean)
{
	return mean <= 0 ? 0 : fmax(0, floor(mean + sqrt(mean) * normal() + 0.5));
}

/* What a recording would have seen of this link; seconds = what the truth's run takes natively. */
static struct counts_ratio measure(const struct tree_link *l, const struct plan *p)
{
	struct counts_window w[256];
	double rate = (double)l->anchors / p->seconds, ratio = l->ratio, in_window;
	struct counts_ratio r;
	size_t n = (size_t)p->windows;

	if (l->how == COUNTS_ONCE)
		return counts_ratio_once();
	if (l->how == COUNTS_RATIO)
		ratio *= exp(p->bias * normal());
	if (uniform() < p->lies)
		ratio *= exp(uniform() < 0.5 ? p->size : -p->size);
	/* 6 ms at most; cut at `hits` of the hottest; each hit costs 9 us */
	in_window = fmin(p->hits, 6e-3 * rate);
	if (l->how == COUNTS_RATIO)
		in_window = fmin(in_window, p->hits / fmax(1, ratio));
	else
		in_window = fmin(in_window, p->hits / 4);
	for (size_t i = 0; i < n; i++) {
		w[i].anchor = gaussian_count(in_window);
		w[i].child = l->how == COUNTS_TRIPS ? w[i].anchor * ratio
						    : gaussian_count(w[i].anchor * ratio * exp(0.3 * normal()));
	}
	counts_ratio_of(w, n, l->how, &r);
	return r;
}

/* Hits per second of entries and loops, where a breakpoint may stay armed for a while. */
static bool rate(const struct tree_node *v, const struct plan *p, struct counts_ratio *r)
{
	double rate = (double)v->runs / p->seconds;
	struct counts_window w[100];

	if (p->rates <= 0 || v->kind == TREE_BLOCK || rate < 60 || rate > 20000)
		return false;
	rate *= exp(p->rates * normal());
	for (size_t i = 0; i < 100; i++)
		w[i] = (struct counts_window){ 5e-3, gaussian_count(5e-3 * rate * exp(0.3 * normal())) };
	counts_ratio_of(w, 100, COUNTS_RATE, r);
	return r->how == COUNTS_RATE;
}

static double variation(const struct tree *t, const struct counts_group *g, int which)
{
	double sum = 0, truth = 0, tv = 0;

	for (uint32_t f = 0; f < t->functions; f++) {
		double v = which == 0 ? g[f].instructions : which == 1 ? g[f].by_ratios : g[f].time;

		sum += isnan(v) ? 0 : v;
		truth += t->function[f].instructions;
	}
	for (uint32_t f = 0; f < t->functions; f++) {
		double v = which == 0 ? g[f].instructions : which == 1 ? g[f].by_ratios : g[f].time;

		tv += fabs((isnan(v) ? 0 : v) / sum - t->function[f].instructions / truth) / 2;
	}
	return tv;
}

static void one(const struct tree *tree, const struct plan *p, unsigned seed, double *out)
{
	struct counts_link *link = calloc(tree->links + tree->nodes + 1, sizeof(*link));
	struct counts_piece *part = calloc(tree->parts + 1, sizeof(*part));
	struct counts_group *group = calloc(tree->functions + 1, sizeof(*group));
	struct counts_tree t = { .nodes = tree->nodes + 1,
				 .link = link,
				 .links = tree->links,
				 .part = part,
				 .absolute = p->rates > 0,
				 .parts = tree->parts,
				 .group = group,
				 .groups = tree->functions,
				 .sample = 1 };
	double total = 0;
	struct timespec a, b;
	int rc;

	rng = 0x9e3779b97f4a7c15ull * (seed + 1);
	for (int i = 0; i < 10; i++)
		uniform();
	for (uint32_t f = 0; f < tree->functions; f++)
		total += group[f].time = tree->function[f].instructions * exp(-p->ipc * normal());
	for (uint32_t f = 0; f < tree->functions; f++) {
		group[f].samples = (uint64_t)gaussian_count(group[f].time / total * p->samples);
		group[f].time = (double)group[f].samples;
	}
	for (uint32_t l = 0; l < tree->links; l++) {
		link[l].parent = tree->link[l].parent + 1;
		link[l].child = tree->link[l].child + 1;
		link[l].ratio = measure(&tree->link[l], p);
	}
	for (uint32_t v = 0; v < tree->nodes; v++)
		if (rate(&tree->node[v], p, &link[t.links].ratio)) {
			link[t.links].child = v + 1;
			t.links++;
		}
	for (uint32_t i = 0; i < tree->parts; i++) {
		part[i] = tree->part[i];
		part[i].node++;
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	rc = counts_solve(&t);
	clock_gettime(CLOCK_MONOTONIC, &b);
	for (int i = 0; i < 3; i++)
		out[i] = variation(tree, group, i);
	out[3] = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
	out[4] = t.broken;
	out[5] = t.cycles;
	if (rc)
		fprintf(stderr, "counts_solve: %s\n", strerror(-rc));
	if (p->verbose)
		printf("   spread %.2f stretch %.0f\n", t.ipc_spread, t.stretch);
	if (p->verbose)
		for (uint32_t f = 0; f < tree->functions; f++)
			if (tree->function[f].instructions > 0.01 * tree->total ||
			    group[f].instructions > 0.01 * tree->total)
				printf("   %6lx-%6lx true %.4f time %.4f ratios %.4g combined %.4g [%.3g %.3g] trust %.2f\n",
				       (unsigned long)tree->function[f].start, (unsigned long)tree->function[f].end,
				       tree->function[f].instructions / tree->total, group[f].time / p->samples,
				       group[f].by_ratios, group[f].instructions, group[f].low, group[f].high,
				       group[f].trust);
	free(link);
	free(part);
	free(group);
}

static const char *object_of(const struct truth *truth, uint32_t object)
{
	const char *path = intern_get(&truth->objects, object, NULL), *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static void tell_truth(const struct truth *truth, const struct tree *t)
{
	for (uint32_t f = 0; f < t->functions; f++)
		printf("function %s 0x%lx %.9f\n", object_of(truth, t->function[f].object),
		       (unsigned long)t->function[f].start, t->function[f].instructions / t->total);
	for (uint32_t i = 0; i < t->links; i++)
		if (t->link[i].how == COUNTS_TRIPS)
			printf("loop %s 0x%lx %.6f\n", object_of(truth, t->node[t->link[i].child].object),
			       (unsigned long)t->node[t->link[i].child].addr, t->link[i].ratio);
	printf("unmapped %.9f\n", t->unmapped / t->total);
}

static void set(struct plan *p, const char *arg)
{
	static const struct {
		const char *name;
		size_t at;
	} names[] = {
		{ "ipc=", offsetof(struct plan, ipc) },         { "bias=", offsetof(struct plan, bias) },
		{ "lies=", offsetof(struct plan, lies) },       { "size=", offsetof(struct plan, size) },
		{ "samples=", offsetof(struct plan, samples) }, { "hits=", offsetof(struct plan, hits) },
		{ "copies=", offsetof(struct plan, copies) },   { "windows=", offsetof(struct plan, windows) },
		{ "rates=", offsetof(struct plan, rates) },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(arg, names[i].name, strlen(names[i].name)))
			*(double *)((char *)p + names[i].at) = atof(arg + strlen(names[i].name));
	if (!strncmp(arg, "seeds=", 6))
		p->seeds = (unsigned)atoi(arg + 6);
	if (!strcmp(arg, "verbose"))
		p->verbose = true;
}

/* As many programs side by side: for size. */
static int copy(struct tree *t, unsigned copies)
{
	uint32_t nodes = t->nodes, links = t->links, parts = t->parts, functions = t->functions;

	t->node = realloc(t->node, (size_t)nodes * copies * sizeof(*t->node));
	t->link = realloc(t->link, (size_t)links * copies * sizeof(*t->link));
	t->part = realloc(t->part, (size_t)parts * copies * sizeof(*t->part));
	t->function = realloc(t->function, (size_t)functions * copies * sizeof(*t->function));
	if (!t->node || !t->link || !t->part || !t->function)
		return -1;
	for (unsigned k = 1; k < copies; k++) {
		memcpy(t->node + t->nodes, t->node, nodes * sizeof(*t->node));
		memcpy(t->function + t->functions, t->function, functions * sizeof(*t->function));
		for (uint32_t i = 0; i < links; i++) {
			t->link[t->links] = t->link[i];
			t->link[t->links].parent += k * nodes;
			t->link[t->links++].child += k * nodes;
		}
		for (uint32_t i = 0; i < parts; i++) {
			t->part[t->parts] = t->part[i];
			t->part[t->parts].node += k * nodes;
			t->part[t->parts++].group += k * functions;
		}
		t->nodes += nodes;
		t->functions += functions;
	}
	t->total *= copies;
	return 0;
}

int main(int argc, char **argv)
{
	struct plan p = { .ipc = 0.5, .bias = 0.1, .size = 2, .seeds = 5, .samples = 5000, .hits = 48, .windows = 70 };
	double sum[6] = { 0 }, out[6], worst = -1;
	struct truth truth;
	struct tree tree;
	int how[4] = { 0 };

	if (argc < 2 || truth_read(&truth, argv[1]) || tree_build(&truth, &tree)) {
		fprintf(stderr, "usage: simcounts CALLGRIND.OUT [name=value]...\n");
		return 2;
	}
	if (argc > 2 && !strcmp(argv[2], "truth")) {
		tell_truth(&truth, &tree);
		tree_release(&tree);
		truth_release(&truth);
		return 0;
	}
	if (argc > 3 && !strcmp(argv[2], "links"))
		return judge_links(&truth, argv[3], argc > 4, argc > 5 ? argv[5] : NULL) != 0;
	for (int i = 2; i < argc; i++)
		set(&p, argv[i]);
	p.seconds = tree.total / 4e9;
	if (p.copies > 1 && copy(&tree, (unsigned)p.copies))
		return 1;
	for (uint32_t i = 0; i < tree.links; i++)
		how[tree.link[i].how]++;
	for (unsigned s = 0; s < p.seeds; s++) {
		one(&tree, &p, s, out);
		for (int i = 0; i < 6; i++)
			sum[i] += out[i] / p.seeds;
		worst = fmax(worst, out[0] - out[2]);
	}
	printf("%-28s %5u nodes %5u links (%d once %d trips %d ratio) %4u functions, unmapped %.4f: TV combined %.3f ratios "
	       "%.3f constant %.3f worst %+.3f; %.3f s, %.1f broken, %.0f cycles\n",
	       strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1], tree.nodes, tree.links, how[COUNTS_ONCE],
	       how[COUNTS_TRIPS], how[COUNTS_RATIO], tree.functions, tree.unmapped / tree.total, sum[0], sum[1], sum[2],
	       worst, sum[3], sum[4], sum[5]);
	tree_release(&tree);
	truth_release(&truth);
	return 0;
}
