// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/waits.h"

#include <math.h>
#include <stdlib.h>

#include "counters.h"
#include "profile/filter.h"
#include "profile/profile_priv.h"
#include "profile/time_shares.h"
#include "util/grow.h"
#include "util/normal.h"

struct wait_key {
	uint32_t stack, pid;
};

static uint64_t hash_wait(const void *profile, uint32_t number)
{
	const struct profile_wait *w = &((const struct profile *)profile)->waits[number - 1];

	return index_hash(w->stack, w->pid);
}

static bool same_wait(const void *profile, uint32_t number, const void *key)
{
	const struct profile_wait *w = &((const struct profile *)profile)->waits[number - 1];
	const struct wait_key *k = key;

	return w->stack == k->stack && w->pid == k->pid;
}

int waits_take(struct profile *p, const struct fmt_wait *r)
{
	struct profile_private *k = p->priv;
	struct wait_key key = { r->stack, r->pid };
	double ns = (double)r->ns * r->weight;
	struct profile_wait *w;
	uint32_t *slot;

	if (!(r->weight > 0) || !isfinite(ns))
		return 0;
	slot = index_slot(&k->wait_at, index_hash(key.stack, key.pid), same_wait, hash_wait, p, &key);
	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		if (!PUSH(p->waits, p->wait_count, k->wait_cap, 64,
			  (struct profile_wait){ .stack = r->stack, .pid = r->pid }))
			return -ENOMEM;
		k->wait_at.used++;
		*slot = (uint32_t)p->wait_count;
	}
	w = &p->waits[*slot - 1];
	w->count++;
	w->ns += ns;
	w->ready_ns += r->flags & FMT_WAIT_READY ? ns : 0;
	w->squares += ns * ns;
	return 0;
}

bool waits_observed(const struct profile *p)
{
	for (size_t i = 0; i < p->counter_count; i++)
		if (!strcmp(p->counters[i].name, COUNTER_WAITS_OPEN))
			return true;
	return p->wait_count > 0;
}

struct function_wait *waits_by_function(const struct profile *p, bool inlined, const struct filter *filter)
{
	struct function_wait *out = calloc(p->function_count + 1, sizeof(*out));
	size_t *stamp = calloc(p->function_count + 1, sizeof(*stamp));
	struct share_path path = { 0 };
	int err = out && stamp ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->wait_count && !err; i++) {
		const struct profile_wait *w = &p->waits[i];

		if (!filter_process(filter, w->pid, w->comm))
			continue;
		err = share_path(p, w->stack, inlined, &path);
		for (size_t k = 0; k < path.count && !err; k++) {
			struct function_wait *f = &out[path.ids[k]];

			/* a recursive function counts once a wait */
			if (stamp[path.ids[k]] == i + 1)
				continue;
			stamp[path.ids[k]] = i + 1;
			f->ns += w->ns;
			f->ready_ns += w->ready_ns;
			f->squares += w->squares;
			f->count += w->count;
		}
	}
	free(path.ids);
	free(stamp);
	if (!err)
		return out;
	free(out);
	return NULL;
}

/* Bounds of the mean of a Poisson law of which n were seen; Byar's approximation. */
static void poisson_interval(double n, double *low, double *high)
{
	const double z = Z95;
	double m = n + 1;

	*low = n > 0 ? n * pow(fmax(1 - 1 / (9 * n) - z / (3 * sqrt(n)), 0), 3) : 0;
	*high = m * pow(1 - 1 / (9 * m) + z / (3 * sqrt(m)), 3);
}

void waits_interval(const struct profile *p, const struct function_wait *w, double *low, double *high)
{
	double n, each;

	if (w->ns > 0) {
		n = w->ns * w->ns / w->squares;
		each = w->squares / w->ns;
	} else {
		double ns = 0, squares = 0;

		for (size_t i = 0; i < p->wait_count; i++) {
			ns += p->waits[i].ns;
			squares += p->waits[i].squares;
		}
		n = 0;
		each = ns > 0 ? squares / ns : NAN;
	}
	poisson_interval(n, low, high);
	*low *= w->ns > 0 ? each : 0;
	*high *= each;
}

struct wait_share wait_share(const struct profile *p, const struct function_wait *w, double run, double run_low,
			     double run_high)
{
	struct wait_share s = { NAN, NAN, NAN };
	double low, high;

	if (!(w->ns + run > 0))
		return s;
	waits_interval(p, w, &low, &high);
	s.value = w->ns / (w->ns + run);
	s.low = low > 0 ? low / (low + run_high) : 0;
	s.high = high > 0 ? high / (high + run_low) : NAN;
	return s;
}
