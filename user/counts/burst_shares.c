// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/burst_shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 30.0 /* bursts: a share of fewer is known to a fifth, 1 / sqrt(30) */
#define PRIOR 2.0  /* bursts: before there are some, a function is taken to be left as soon as others */

struct rows {                   /* by function */
	double *begun, *stayed; /* bursts that began in it, and their parts in it */
	double *left;           /* their parts of which the file does not say where they ran */
	double *come;           /* what came from other functions */
	double bursts, all_stayed;
};

static bool begin_rows(struct rows *w, size_t funcs)
{
	w->begun = calloc(funcs + 1, sizeof(*w->begun));
	w->stayed = calloc(funcs + 1, sizeof(*w->stayed));
	w->left = calloc(funcs + 1, sizeof(*w->left));
	w->come = calloc(funcs + 1, sizeof(*w->come));
	return w->begun && w->stayed && w->left && w->come;
}

static void release_rows(struct rows *w)
{
	free(w->begun);
	free(w->stayed);
	free(w->left);
	free(w->come);
}

/* A file of before FMT_COUNTS_WENT says what stayed, and what came from all others together. */
static void rows_of_sums(const struct counts_record *r, struct rows *w)
{
	for (size_t g = 0; g < r->funcs; g++) {
		const struct fmt_counts_func *f = &r->func[g];

		w->begun[g] = f->begun;
		w->stayed[g] = f->stayed;
		w->left[g] = fmax(0, f->begun - f->stayed);
		w->come[g] = fmax(0, f->replayed - f->stayed);
	}
}

static void rows_of_bursts(const struct counts_record *r, struct rows *w)
{
	for (size_t i = 0; i < r->wents; i++) {
		const struct counts_went *e = &r->went[i];

		w->begun[e->from] += e->part;
		if (e->from == e->function)
			w->stayed[e->from] += e->part;
		else if (e->function != UINT32_MAX)
			w->come[e->function] += e->part;
	}
}

/* What leaves one function goes to the others as often as bursts come there from elsewhere. */
static void go_anywhere(const struct rows *w, size_t funcs, const double *leaves, double *out)
{
	double all = 0, each = 0;

	for (size_t g = 0; g < funcs; g++)
		all += w->come[g];
	for (size_t g = 0; g < funcs; g++) {
		if (all > w->come[g])
			each += leaves[g] / (all - w->come[g]);
		else
			out[g] += leaves[g];
	}
	for (size_t g = 0; g < funcs; g++)
		if (all > w->come[g])
			out[g] += w->come[g] * fmax(0, each - leaves[g] / (all - w->come[g]));
		else
			out[g] += w->come[g] * each;
}

/* `time` of each function, as far as bursts from there tell, and as if those of the prior had been there. */
static void lead(const struct counts_record *r, struct rows *w, const double *time, double *leaves, double *out)
{
	for (size_t g = 0; g < r->funcs; g++) {
		double each = time[g] / (w->begun[g] + PRIOR);

		out[g] += each * (w->stayed[g] + PRIOR * w->all_stayed / w->bursts);
		leaves[g] = each * (w->left[g] + PRIOR * (1 - w->all_stayed / w->bursts));
		w->come[g] /= fmax(w->bursts - w->begun[g], 1);
	}
	for (size_t i = 0; i < r->wents; i++) {
		const struct counts_went *e = &r->went[i];

		if (e->from != e->function && e->function != UINT32_MAX)
			out[e->function] += time[e->from] / (w->begun[e->from] + PRIOR) * e->part;
	}
	go_anywhere(w, r->funcs, leaves, out);
}

int burst_shares(const struct counts_record *r, double *time)
{
	struct rows w = { 0 };
	double *out = calloc(r->funcs + 1, sizeof(*out)), *leaves = calloc(r->funcs + 1, sizeof(*leaves));
	int err = begin_rows(&w, r->funcs) && out && leaves ? 0 : -ENOMEM;

	if (!err && r->wents)
		rows_of_bursts(r, &w);
	else if (!err)
		rows_of_sums(r, &w);
	for (size_t g = 0; g < r->funcs && !err; g++) {
		w.bursts += w.begun[g];
		w.all_stayed += w.stayed[g];
	}
	/* nothing stays: an older file that does not say what does */
	if (!err && w.bursts >= LEAST && w.all_stayed > 0) {
		lead(r, &w, time, leaves, out);
		memcpy(time, out, r->funcs * sizeof(*time));
	}
	release_rows(&w);
	free(leaves);
	free(out);
	return err;
}
