/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program made by hand, as advise sees one: functions, the bytes between them, devices. Included by u-advise*.c. */
#ifndef ACCPERF_TESTS_MADE_PROGRAM_H
#define ACCPERF_TESTS_MADE_PROGRAM_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/verdict.h"
#include "model/catalogue.h"
#include "unit/unit.h"

#define KB 1024.

/* ---- a program ---- */

struct made {
	struct advise_input in;
	struct catalogue devices;
	struct candidates candidates;
	struct advice advice;
};

__attribute__((unused)) static void begin(struct made *m)
{
	*m = (struct made){ .in = { .seconds = 10,
				    .cpu_per_s = 1e9,
				    .threads = 1,
				    .switch_ns = NAN,
				    .has_time = true,
				    .has_flow = true,
				    .engine = "soft",
				    .machine = "here" } };
	m->in.function = calloc(2100, sizeof(*m->in.function));
	m->in.edge = calloc(2100, sizeof(*m->in.edge));
	m->in.nesting = calloc(100, sizeof(*m->in.nesting));
	assert_non_null(m->in.nesting);
}

__attribute__((unused)) static struct figure about(double v, double part)
{
	return (struct figure){ v, v * (1 - part), v * (1 + part) };
}

/* A function with `ns` a call, so often called; bytes a call. */
__attribute__((unused)) static struct advise_function *function(struct made *m, const char *name, double ns,
								double per_s, double in, double out)
{
	struct advise_function *f = &m->in.function[m->in.functions++];

	*f = advise_function_unknown(name, "app");
	f->operation = NULL; /* whatever the name tells: the figures are to tell it */
	f->kinds = 0;
	f->stream = false;
	f->share = about(ns * per_s / m->in.cpu_per_s, .02);
	f->calls_per_s = about(per_s, .02);
	f->calls_from = "counts";
	f->in = in * per_s;
	f->in_low = in * per_s * .95;
	f->in_high = in * per_s * 1.05;
	f->out = out * per_s;
	f->out_low = out * per_s * .95;
	f->out_high = out * per_s * 1.05;
	f->compute = in * per_s;
	f->array_share = 1;
	f->scv = 0;
	f->self = f->share.value;
	return f;
}

__attribute__((unused)) static void edge(struct made *m, uint32_t from, uint32_t to, double bytes_per_s)
{
	m->in.edge[m->in.edges++] = (struct advise_edge){ from, to, bytes_per_s, bytes_per_s, false };
}

__attribute__((unused)) static void below(struct made *m, uint32_t above, uint32_t what)
{
	m->in.nesting[m->in.nestings++] = (struct advise_nesting){ above, what, m->in.function[what].share.value };
}

/* Probed: calls of two sizes, with the host's time of each. */
__attribute__((unused)) static void sizes(struct advise_function *f, double small, double small_ns, double share,
					  double large, double large_ns)
{
	f->size = calloc(2, sizeof(*f->size));
	assert_non_null(f->size);
	f->size[0] = (struct predict_size){ small, share, small_ns };
	f->size[1] = (struct predict_size){ large, 1 - share, large_ns };
	f->sizes = 2;
	f->ns_per_call = about(share * small_ns + (1 - share) * large_ns, .02);
	f->argument_in = about(share * small + (1 - share) * large, .01);
	f->argument_out = FIGURE_EXACT(0);
}

__attribute__((unused)) static struct catalogue_value value(double v)
{
	return (struct catalogue_value){ v, v, v };
}

__attribute__((unused)) static void device(struct made *m, const char *name, double o, double L, double A)
{
	struct catalogue_entry d = {
		.name = strdup(name),
		.unit = strdup("ns"),
		.engines = NAN,
		.has_terms = true,
		.terms = { .o = value(o), .L = value(L), .A = value(A), .B = value(NAN), .beta = 1, .kind = LOGCA_DEP }
	};
	struct err e = { 0 };

	assert_int_equal(catalogue_put(&m->devices, &d, &e), 0);
}

__attribute__((unused)) static void judge_with(struct made *m, const struct advise_set *set, size_t sets)
{
	struct err e = { 0 };

	advise_least(&m->in, &m->devices);
	assert_int_equal(candidates_find(&m->in, set, sets, &m->candidates, &e), 0);
	assert_int_equal(advise_judge(&m->candidates, &m->devices, NULL, &m->advice, &e), 0);
}

__attribute__((unused)) static void judge(struct made *m)
{
	judge_with(m, NULL, 0);
}

__attribute__((unused)) static void end(struct made *m)
{
	advice_release(&m->advice);
	candidates_release(&m->candidates);
	catalogue_release(&m->devices);
	advise_input_release(&m->in);
}

__attribute__((unused)) static const struct candidate *named(const struct made *m, const char *name)
{
	for (size_t i = 0; i < m->candidates.count; i++)
		if (!strcmp(m->candidates.at[i].name, name))
			return &m->candidates.at[i];
	fail_msg("no candidate %s", name);
	return NULL;
}

__attribute__((unused)) static const struct advise_option *first(const struct made *m, const char *name)
{
	for (size_t i = 0; i < m->advice.count; i++)
		if (!strcmp(m->advice.at[i].candidate->name, name))
			return m->advice.at[i].option;
	fail_msg("%s is not judged: %s", name, named(m, name)->reason);
	return NULL;
}

#endif
