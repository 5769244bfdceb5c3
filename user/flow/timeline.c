// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/phases.h"
#include "util/normal.h"

#define DEFAULT_SLICES 60 /* of time: columns of a terminal beside the names */
#define MAX_SLICES 10000  /* of time; by hand */
#define ALIKE 0.7         /* cosine of the mixes of two slices that were counted, from which on they are one phase */

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
	t->block = calloc(3 * cells + 1, sizeof(double));
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
			.seen = t->block + 2 * cells + (size_t)f * t->slices,
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

/* Bytes that one sample saw one function move. */
struct moved {
	uint64_t time;
	uint32_t tid, row;
	double reads, writes;
};

static int by_sample(const void *a, const void *b)
{
	const struct moved *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static bool counts_here(const struct in_access *a, bool stack)
{
	return !(a->flags & FMT_A_CENSUS) && (stack || !(a->flags & FMT_A_STACK));
}

/* Accesses of one sample and function are one. Those without an address count for volume, too. */
static size_t gather_moved(const struct flow_input *in, bool stack, struct moved *m)
{
	size_t n = 0, k = 0;

	for (size_t i = 0; i < in->access_count + in->blind_count; i++) {
		const struct in_access *a = i < in->access_count ? &in->access[i] : &in->blind[i - in->access_count];
		double bytes = a->weight * a->size;

		if (counts_here(a, stack) && !(a->flags & IN_A_UNSAMPLED))
			m[n++] = (struct moved){ .time = a->time,
						 .tid = a->tid,
						 .row = a->func,
						 .reads = a->flags & FMT_A_LOAD ? bytes : 0,
						 .writes = a->flags & FMT_A_STORE ? bytes : 0 };
	}
	qsort(m, n, sizeof(*m), by_sample);
	for (size_t i = 0; i < n; i++) {
		if (k && !by_sample(&m[k - 1], &m[i])) {
			m[k - 1].reads += m[i].reads;
			m[k - 1].writes += m[i].writes;
		} else {
			m[k++] = m[i];
		}
	}
	return k;
}

/* Code that ran although no sample met it ran when its function did. */
static int spread_unsampled(const struct flow_input *in, bool stack, struct timeline *t)
{
	double *more = calloc(2 * (size_t)in->func_count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < in->access_count + in->blind_count; i++) {
		const struct in_access *a = i < in->access_count ? &in->access[i] : &in->blind[i - in->access_count];

		if (!counts_here(a, stack) || !(a->flags & IN_A_UNSAMPLED))
			continue;
		more[2 * a->func] += a->flags & FMT_A_LOAD ? a->weight * a->size : 0;
		more[2 * a->func + 1] += a->flags & FMT_A_STORE ? a->weight * a->size : 0;
	}
	for (uint32_t f = 0; f < in->func_count; f++) {
		struct timeline_row *r = &t->rows[f];
		double all = 0;

		for (uint32_t s = 0; s < t->slices; s++)
			all += r->reads[s] + r->writes[s];
		if (!(all > 0))
			t->undated += more[2 * f] + more[2 * f + 1];
		for (uint32_t s = 0; s < t->slices && all > 0; s++) {
			double part = (r->reads[s] + r->writes[s]) / all;

			r->reads[s] += more[2 * f] * part;
			r->writes[s] += more[2 * f + 1] * part;
		}
	}
	free(more);
	return 0;
}

static int phases_of_samples(const struct moved *m, size_t n, const struct flow_input *in, struct timeline *t)
{
	uint32_t *counts = calloc((size_t)(in->func_count + 1) * PHASES_BINS, sizeof(*counts));
	double width = t->width * t->slices / PHASES_BINS;
	uint8_t phase[PHASES_BINS], letter[PHASES_MOST] = { 0 };
	uint32_t found;
	int err = counts ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < n; i++) {
		double place = (double)(m[i].time - m[0].time) / width;

		counts[(size_t)m[i].row * PHASES_BINS + (place < PHASES_BINS ? (uint32_t)place : PHASES_BINS - 1)]++;
	}
	if (!err)
		err = phases_find(counts, in->func_count, phase, &found);
	t->phases = 0;
	for (uint32_t s = 0; !err && s < t->slices; s++) {
		/* that of the slice's middle; of few slices, some may show none of a phase */
		uint8_t p = phase[((uint64_t)s * 2 + 1) * PHASES_BINS / (2 * (uint64_t)t->slices)];

		if (!letter[p])
			letter[p] = (uint8_t)++t->phases;
		t->phase[s] = (uint8_t)(letter[p] - 1);
	}
	free(counts);
	return err;
}

static int place_moved(const struct moved *m, size_t n, const struct flow_input *in, uint32_t slices,
		       struct timeline *t)
{
	int err;

	t->slices = slices ? slices : DEFAULT_SLICES;
	t->start = in->time_unit_instructions ? (double)m[0].time : 0;
	t->width = ((double)(m[n - 1].time - m[0].time) + 1) / t->slices;
	t->instructions = in->time_unit_instructions;
	err = allocate_timeline(t, in);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		double place = (double)(m[i].time - m[0].time) / t->width, bytes = m[i].reads + m[i].writes;
		uint32_t s = place < t->slices ? (uint32_t)place : t->slices - 1;
		struct timeline_row *r = &t->rows[m[i].row];

		r->reads[s] += m[i].reads;
		r->writes[s] += m[i].writes;
		r->seen[s] += bytes * bytes;
		r->samples++;
	}
	t->samples = (double)n;
	for (uint32_t f = 0; f < t->row_count; f++) {
		struct timeline_row *r = &t->rows[f];

		for (uint32_t s = 0; s < t->slices; s++) {
			double bytes = r->reads[s] + r->writes[s];

			r->seen[s] = r->seen[s] > 0 ? bytes * bytes / r->seen[s] : 0;
		}
	}
	return 0;
}

static int timeline_from_samples(const struct flow_input *in, uint32_t slices, bool stack, struct timeline *t)
{
	struct moved *m = malloc((in->access_count + in->blind_count + 1) * sizeof(*m));
	size_t n = m ? gather_moved(in, stack, m) : 0;
	int err = !m ? -ENOMEM : !n ? -ENODATA : place_moved(m, n, in, slices, t);

	if (!err)
		err = spread_unsampled(in, stack, t);
	if (!err)
		err = phases_of_samples(m, n, in, t);
	free(m);
	return err;
}

/* The bounds of the mean of a number that follows Poisson's law, of which n were seen: Wilson and Hilferty's form. */
static void poisson_bounds(double n, double half, double *low, double *high)
{
	double up = n + 1;

	*low = n > 0 ? n * pow(1 - 1 / (9 * n) - half / (3 * sqrt(n)), 3) : 0;
	*low = *low > 0 ? *low : 0;
	*high = up * pow(1 - 1 / (9 * up) + half / (3 * sqrt(up)), 3);
}

void timeline_interval(const struct timeline *t, const struct timeline_row *r, uint32_t slice, double bytes,
		       double *low, double *high)
{
	double n = bytes > 0 ? r->seen[slice] : 0, one;

	*low = *high = bytes;
	if (t->exact)
		return;
	/* where none was seen, as much as that of the function's mean sample may have been missed */
	one = n > 0 ? bytes / n : r->samples > 0 ? r->total / r->samples : 0;
	poisson_bounds(n, normal_half(TIMELINE_LEVEL), low, high);
	*low *= one;
	*high *= one;
}

static double at(const struct timeline *t, uint32_t row, uint32_t s)
{
	return t->rows[row].reads[s] + t->rows[row].writes[s];
}

/* Where all was counted, no difference is chance. A slice joins the phase whose mean mix it is most like; mixes are
 * known by name only, so one that comes back is the same phase again. */
static int phases_of_counts(struct timeline *t)
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

/* What moves most bytes in each phase names it. */
static int name_phases(struct timeline *t)
{
	double *bytes = calloc((size_t)t->row_count + 1, sizeof(*bytes));

	t->phase_of = calloc(t->phases + 1, sizeof(*t->phase_of));
	if (!bytes || !t->phase_of) {
		free(bytes);
		return -ENOMEM;
	}
	for (uint32_t p = 0; p < t->phases; p++) {
		struct timeline_phase *f = &t->phase_of[p];
		double all;

		for (uint32_t r = 0; r < t->row_count; r++)
			bytes[r] = 0;
		for (uint32_t s = 0; s < t->slices; s++) {
			if (t->phase[s] != p)
				continue;
			f->first = f->slices++ ? f->first : s;
			for (uint32_t r = 0; r < t->row_count; r++) {
				bytes[r] += at(t, r, s);
				f->reads += t->rows[r].reads[s];
				f->writes += t->rows[r].writes[s];
			}
		}
		all = f->reads + f->writes;
		for (f->most_count = 0; f->most_count < 3; f->most_count++) {
			uint32_t most = 0;

			for (uint32_t r = 1; r < t->row_count; r++)
				most = bytes[r] > bytes[most] ? r : most;
			if (!t->row_count || !(bytes[most] > 0))
				break;
			f->most[f->most_count] = t->rows[most].name;
			f->part[f->most_count] = bytes[most] / all;
			bytes[most] = 0;
		}
	}
	free(bytes);
	return 0;
}

int timeline_build(const struct flow_input *in, uint32_t slices, bool stack, struct timeline *out, struct err *e)
{
	bool time_bias = in->access_count && (in->access[0].flags & FMT_A_TIME);
	int err;

	*out = (struct timeline){ .amounts = in_has_amounts(in, time_bias), .speed_seconds = in->speed.seconds };
	in_amounts_spread(in, time_bias, &out->speed_low, &out->speed_high);
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
		if (out->exact)
			err = phases_of_counts(out);
	}
	if (!err)
		err = name_phases(out);
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
	free(t->phase_of);
	memset(t, 0, sizeof(*t));
}
