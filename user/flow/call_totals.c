// SPDX-License-Identifier: GPL-2.0-or-later
/* What system calls of each kind moved, stack and all, by any function's hand. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"
#include "util/normal.h"
#include "util/grow.h"

/* When a sum was asked for is known to about so much, ns: the question goes through all threads, and what asks may lose
 * its CPU between it and the clock. By hand. */
#define ASKED_NS 1e6

/* By how much the pace of a moment may differ from the mean one, over that. Targets that ran for a part of the time
 * either run, at a pace that is as much higher, or do not: at most that, and z times such a choice's deviation. What
 * always runs is believed to keep within twice the mean; by hand. */
static double pace_apart(double busy, double z)
{
	if (!(busy > 0) || busy >= 1)
		return 1;
	return fmax(1, fmin(1 / busy - 1, z * sqrt(1 / busy - 1)));
}

/* Part of the bytes that is not known since they were counted as long as the recording was, or nearly, but not in the
 * same time: it begins bit by bit. */
static double not_covered(const struct flow_input *in, double z)
{
	double until = (double)in->calls.until, late = until - in->calls.span_ns - in->began_ns,
	       after = until - in->began_ns - in->duration_ns,
	       part = (fabs(late) + fabs(after) + 2 * ASKED_NS) / in->duration_ns;

	return isnan(part) || isinf(part) ? 0 : part * pace_apart(in->calls.busy, z);
}

/* `n` calls of one kind; by_stretch: room. */
static int add_kind(const struct flow_input *in, const struct est_opts *o, struct flow *out, const uint32_t *order,
		    size_t n, double *by_stretch)
{
	const struct in_sysio *k = &in->sysio[order[0]];
	bool known = true;
	double half, z = normal_half(o->level);
	struct flow_call c = {
		.func = flow_func(out, in->funcs[k->func].name, in->funcs[k->func].object),
		.reads = k->dir == FMT_IO_KERNEL_READS,
		.low = NAN,
		.high = NAN,
	};

	memset(by_stretch, 0, (in->calls.count + 1) * sizeof(*by_stretch));
	for (size_t i = 0; i < n; i++) {
		const struct in_sysio *s = &in->sysio[order[i]];

		c.bytes += s->weight * (double)s->len;
		known = known && s->stretch;
		if (s->stretch)
			by_stretch[s->stretch - 1] += s->weight * (double)s->len;
	}
	for (size_t i = 0; known && i < in->calls.count; i++)
		by_stretch[i] /= call_scale(&in->calls, k->measure);
	if (in->engine == FLOW_EXACT)
		c.low = c.high = c.bytes;
	if (known && o->level > 0) {
		half = call_half_width(&in->calls, k->measure, by_stretch, z) +
		       c.bytes * (not_covered(in, z) + call_cost_unsure(&in->calls, k->measure));
		if (k->measure == CALLS_TIME)
			half += c.bytes * call_time_apart(&in->calls);
		c.low = c.bytes > half ? c.bytes - half : 0;
		c.high = c.bytes + half;
	}
	if (c.func == FLOW_NONE || !GROW(out->calls, out->call_count, out->call_cap, 16))
		return -ENOMEM;
	if (c.bytes > 0)
		out->calls[out->call_count++] = c;
	return 0;
}

static int by_kind(const void *a, const void *b, void *input)
{
	const struct flow_input *in = input;
	const struct in_sysio *x = &in->sysio[*(const uint32_t *)a], *y = &in->sysio[*(const uint32_t *)b];

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x->dir > y->dir) - (x->dir < y->dir);
}

static int by_bytes_of_calls(const void *a, const void *b)
{
	const struct flow_call *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : (x->func > y->func) - (x->func < y->func);
}

int flow_calls(const struct flow_input *in, const struct est_opts *o, struct flow *out)
{
	uint32_t *order = malloc((in->sysio_count + 1) * sizeof(*order));
	double *by_stretch = malloc((in->calls.count + 1) * sizeof(*by_stretch));
	size_t n = 0;
	int err = order && by_stretch ? 0 : -ENOMEM;

	for (size_t i = 0; i < in->sysio_count && !err; i++)
		if (in->sysio[i].dir != FMT_IO_MAPS)
			order[n++] = (uint32_t)i;
	if (n)
		qsort_r(order, n, sizeof(*order), by_kind, (void *)in);
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i + 1; end < n && !by_kind(&order[i], &order[end], (void *)in); end++)
			;
		err = add_kind(in, o, out, order + i, end - i, by_stretch);
	}
	if (out->call_count)
		qsort(out->calls, out->call_count, sizeof(*out->calls), by_bytes_of_calls);
	free(order);
	free(by_stretch);
	return err;
}
