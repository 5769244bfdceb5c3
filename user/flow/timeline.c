// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SLICES 60
#define MAX_SLICES 10000
#define ALIKE 0.7 /* cosine of two slices' mixes from which on they are one phase */

static int by_total(const void *a, const void *b)
{
	const struct timeline_row *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int allocate_timeline(struct timeline *t, const struct flow_input *in)
{
	size_t cells = (size_t)in->func_count * t->slices;

	if (cells > 1u << 26)
		return -E2BIG;
	t->rows = calloc(in->func_count + 1, sizeof(*t->rows));
	t->block = calloc(2 * cells + 1, sizeof(double));
	t->phase = calloc(t->slices + 1, 1);
	if (!t->rows || !t->block || !t->phase)
		return -ENOMEM;
	t->row_count = in->func_count;
	for (uint32_t f = 0; f < in->func_count; f++)
		t->rows[f] = (struct timeline_row){
			.name = in->funcs[f].name,
			.object = in->funcs[f].object,
			.reads = t->block + (size_t)f * t->slices,
			.writes = t->block + cells + (size_t)f * t->slices,
		};
	return 0;
}

static int timeline_from_exact(const struct flow_input *in, uint32_t slices, bool stack, struct timeline *t)
{
	uint64_t last = 0, merge;
	int err;

	for (size_t i = 0; i < in->x_slice_count; i++)
		last = in->x_slice[i].slice > last ? in->x_slice[i].slice : last;
	/* a file may name any slice, also the last that 64 bits can name; past 2^26 nothing is shown anyway */
	if (last == UINT64_MAX)
		return -E2BIG;
	merge = last / (slices ? slices : 400) + 1;
	if (last / merge >= 1u << 26)
		return -E2BIG;
	t->slices = (uint32_t)(last / merge + 1);
	t->width = (double)in->x_run.slice * (double)merge;
	t->instructions = t->exact = true;
	t->samples = NAN;
	err = allocate_timeline(t, in);
	if (err)
		return err;
	for (size_t i = 0; i < in->x_slice_count; i++) {
		const struct fmt_x_slice *x = &in->x_slice[i];
		struct timeline_row *r = x->function < in->func_count ? &t->rows[x->function] : NULL;

		if (!r)
			continue;
		r->reads[x->slice / merge] += (double)(x->load_bytes[0] + (stack ? x->load_bytes[1] : 0));
		r->writes[x->slice / merge] += (double)(x->store_bytes[0] + (stack ? x->store_bytes[1] : 0));
	}
	return 0;
}

static int timeline_from_samples(const struct flow_input *in, uint32_t slices, bool stack, struct timeline *t)
{
	uint64_t first = UINT64_MAX, last = 0;
	int err;

	for (size_t i = 0; i < in->access_count; i++) {
		if (in->access[i].flags & FMT_A_CENSUS)
			continue;
		first = in->access[i].time < first ? in->access[i].time : first;
		last = in->access[i].time > last ? in->access[i].time : last;
	}
	if (first > last)
		return -ENODATA;
	t->slices = slices ? slices : DEFAULT_SLICES;
	t->start = in->time_unit_instructions ? (double)first : 0;
	t->width = ((double)(last - first) + 1) / t->slices;
	t->instructions = in->time_unit_instructions;
	err = allocate_timeline(t, in);
	if (err)
		return err;
	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];
		double place = (double)(a->time - first) / t->width;
		uint32_t s = place >= 0 && place < t->slices ? (uint32_t)place : t->slices - 1;
		double bytes = a->weight * a->size;

		if ((a->flags & FMT_A_CENSUS) || (!stack && (a->flags & FMT_A_STACK)))
			continue;
		if (a->time < first)
			continue;
		if (a->flags & FMT_A_LOAD)
			t->rows[a->func].reads[s] += bytes;
		if (a->flags & FMT_A_STORE)
			t->rows[a->func].writes[s] += bytes;
		t->samples++;
	}
	return 0;
}

static double at(const struct timeline *t, uint32_t row, uint32_t s)
{
	return t->rows[row].reads[s] + t->rows[row].writes[s];
}

/* A slice joins the phase whose mean mix it is most like; mixes are known by name only, so one that
 * comes back is the same phase again. */
static int find_phases(struct timeline *t)
{
	double *mean = calloc((size_t)26 * (t->row_count + 1), sizeof(double));

	if (!mean)
		return -ENOMEM;
	for (uint32_t s = 0; s < t->slices; s++) {
		double best = -1, norm = 0;
		uint32_t pick = 0;

		for (uint32_t r = 0; r < t->row_count; r++)
			norm += at(t, r, s) * at(t, r, s);
		for (uint32_t p = 0; p < t->phases && norm > 0; p++) {
			double dot = 0, size = 0;

			for (uint32_t r = 0; r < t->row_count; r++) {
				double m = mean[(size_t)p * t->row_count + r];

				dot += m * at(t, r, s);
				size += m * m;
			}
			if (size > 0 && dot / sqrt(size * norm) > best) {
				best = dot / sqrt(size * norm);
				pick = p;
			}
		}
		if (best < ALIKE && t->phases < 26 && norm > 0)
			pick = t->phases++;
		else if (!(norm > 0))
			pick = s ? t->phase[s - 1] : 0;
		t->phase[s] = (uint8_t)pick;
		for (uint32_t r = 0; r < t->row_count; r++)
			mean[(size_t)pick * t->row_count + r] += at(t, r, s);
	}
	free(mean);
	return 0;
}

int timeline_build(const struct flow_input *in, uint32_t slices, bool stack, struct timeline *out, struct err *e)
{
	int err;

	*out = (struct timeline){ .amounts = in_has_amounts(in, in->access_count && (in->access[0].flags & FMT_A_TIME)),
				  .speed_seconds = in->speed.seconds };
	if (slices > MAX_SLICES)
		return err_set(e, -EINVAL, "at most %d slices", MAX_SLICES);
	if (in->x_slice_count && in->x_run.slice)
		err = timeline_from_exact(in, slices, stack, out);
	else
		err = timeline_from_samples(in, slices, stack, out);
	for (uint32_t r = 0; !err && r < out->row_count; r++)
		for (uint32_t s = 0; s < out->slices; s++)
			out->rows[r].total += at(out, r, s);
	if (!err) {
		qsort(out->rows, out->row_count, sizeof(*out->rows), by_total);
		while (out->row_count && !(out->rows[out->row_count - 1].total > 0))
			out->row_count--;
		err = find_phases(out);
	}
	if (!err)
		return 0;
	timeline_release(out);
	return err_set(
		e, err,
		err == -ENODATA
			? "the profile holds no accesses over time; record with `accperf record`, or `accperf exact --slice N`"
		: err == -E2BIG ? "too many slices for so many functions; ask for fewer with --slices"
				: "out of memory");
}

double timeline_keep(struct timeline *t, const struct filter *f)
{
	double all = 0, left = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->row_count; i++) {
		all += t->rows[i].total;
		if (!filter_code(f, t->rows[i].name, t->rows[i].object))
			continue;
		left += t->rows[i].total;
		t->rows[n++] = t->rows[i];
	}
	t->row_count = n;
	return all > 0 ? left / all : NAN;
}

void timeline_release(struct timeline *t)
{
	free(t->rows);
	free(t->block);
	free(t->phase);
	memset(t, 0, sizeof(*t));
}
