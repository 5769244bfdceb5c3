// SPDX-License-Identifier: GPL-2.0-or-later
/* Hosts whose share of a function is far from that of the others. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fleet.h"
#include "util/grow.h"

#define FAR 5.0        /* robust standard deviations: one of two million, were hosts normal */
#define FAR_LEAST 0.02 /* of a host's time: hosts that are all alike differ by less without a reason */
#define OF_MAD 1.4826  /* a normal distribution's standard deviation in medians of distances */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_over_hosts(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static bool same_function(const struct fleet_function *a, const struct fleet_function *b)
{
	return !strcmp(a->function, b->function) && !strcmp(a->object, b->object);
}

static int by_distance(const void *a, const void *b)
{
	const struct fleet_function *x = a, *y = b;

	return (x->error < y->error) - (x->error > y->error);
}

/* Of one function on `count` hosts; on the others it has none. v: room for all hosts. */
static int far_of_function(const struct fleet_function *at, size_t count, double *v, struct fleet_functions *f)
{
	double median, deviation;

	for (size_t i = 0; i < f->hosts; i++)
		v[i] = i < count ? at[i].share : 0;
	median = median_over_hosts(v, f->hosts);
	for (size_t i = 0; i < f->hosts; i++)
		v[i] = fabs((i < count ? at[i].share : 0) - median);
	deviation = OF_MAD * median_over_hosts(v, f->hosts);
	for (size_t i = 0; i < count; i++) {
		struct fleet_function one = at[i];
		double distance = fabs(one.share - median);

		if (distance < FAR_LEAST || distance < FAR * deviation)
			continue;
		one.before = median;
		one.error = distance;
		one.hosts = 1;
		if (!PUSH(f->at, f->count, f->cap, 64, one))
			return -ENOMEM;
	}
	return 0;
}

int fleet_far_hosts(const struct fleet_functions *all, struct fleet_functions *f)
{
	double *v = calloc(f->hosts + 1, sizeof(*v));
	int err = v ? 0 : -ENOMEM;

	for (size_t i = 0, n; i < all->count && !err; i += n) {
		for (n = 1; i + n < all->count && same_function(&all->at[i], &all->at[i + n]);)
			n++;
		if (n <= f->hosts)
			err = far_of_function(&all->at[i], n, v, f);
	}
	free(v);
	if (f->count)
		qsort(f->at, f->count, sizeof(*f->at), by_distance);
	return err;
}
