// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The measuring loop. A point is the mean of as many back-to-back calls as fill a tenth of a
 * millisecond, each on another input; host and accelerator take turns so that a slow stretch of the
 * machine hits both. A point with a context switch inside is flagged and taken again.
 */
#include "offload/calib.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "util/clock.h"
#include "util/grow.h"
#include "util/random.h"

static const struct calib_family *const families[] = {
	&calib_openssl, &calib_crc, &calib_deflate, &calib_copy, &calib_worker, &calib_opencl, &calib_cuda,
};

const struct calib_opts calib_defaults = { .min = 16, .max = 32u << 20, .calls = 7, .seconds = 1 };

#define POINT_NS 1e5       /* what a point should last: the clock's own cost is then below 1 % */
#define ROTATED (1u << 20) /* inputs lie in this much: beyond what a predictor remembers */
#define RETRIES 3          /* of a size whose runs disagree; by hand */
#define SIZES_LEAST 10     /* whatever the time limit: a fit needs some */
#define PASSES 5           /* behind one point of an elapsed time */

void calib_cases_release(struct calib_cases *l)
{
	free(l->at);
	*l = (struct calib_cases){ 0 };
}

int calib_list(struct calib_cases *out, struct err *e)
{
	*out = (struct calib_cases){ 0 };
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		int err = families[i]->list(out, e);

		if (err) {
			calib_cases_release(out);
			return err;
		}
	}
	return 0;
}

/* The host's side always runs here: CPU time, also where the accelerator's is elapsed time. */
static bool on_this_thread(const struct calib_case *c, enum run_kind k)
{
	return k == RUN_HOST || (c->clock == CALIB_THREAD_CPU && k != RUN_SUBMIT);
}

static long switches(const struct calib_case *c, enum run_kind k)
{
	struct rusage u;

	if (c->switches_inside && k != RUN_HOST)
		return 0;
	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nivcsw + u.ru_nvcsw;
}

/* Text of sorts: words of uneven frequency, so that compressors have something to find. */
static void fill_with_text(uint8_t *p, size_t n)
{
	static const char letters[] = "etaoinshrdlucmfwypvbgkjqxz";
	uint64_t x = 88172645463325252ull;
	size_t at = 0;

	while (at < n) {
		uint64_t word, len;

		random_next(&x);
		/* the square root of a uniform number, turned round, prefers few words */
		word = (x & 1023) * ((x >> 10) & 1023) >> 10;
		len = 2 + word % 9;
		word *= 0x9e3779b97f4a7c15ull;
		for (uint64_t k = 0; k < len && at < n;
		     k++, word = word * 6364136223846793005ull + 1442695040888963407ull)
			p[at++] = (uint8_t)letters[(word >> 33) % 26 * ((word >> 48) % 26) / 26];
		if (at < n)
			p[at++] = (x >> 60) ? ' ' : '\n';
	}
}

#define ALIGNED 16 /* bytes: as malloc() hands out buffers, so that three of four begin within a line of the cache */

/* Another input each time, anywhere in the pool: where one call's data lies tells a prefetcher nothing of the next
 * one's, as in a service. */
static const uint8_t *input(struct calib_session *s, size_t g)
{
	size_t span = g > ROTATED / 2 ? s->pool_size - g : ROTATED;

	if (s->opts->same_input)
		return s->pool;
	return s->pool + ((random_next(&s->random) >> 32) * (span / ALIGNED + 1) >> 32) * ALIGNED; /* no division */
}

/*
 * Sizes that are no multiple of anything, each another: g and an eighth to either side, by pairs that have g as their
 * mean. Calls of one size alone take branches that a predictor has learnt, and none of what the odd rest needs.
 */
static int run_calls(struct calib_session *s, enum run_kind k, size_t g, uint64_t n)
{
	size_t most = s->c->family->any_size && !s->opts->same_input ? g / 8 : 0, off = 0;

	for (uint64_t i = 0; i < n; i++) {
		size_t size = i & 1 ? g - off : g;
		int err;

		if (!(i & 1) && i + 1 < n) {
			off = (random_next(&s->random) >> 32) * (most + 1) >> 32;
			size = g + off;
		}
		err = s->c->family->call(s, k, input(s, size), size);

		if (err)
			return err;
	}
	return 0;
}

/* Time of one call, as the mean of n; *switched if the thread lost the processor. */
static int one_pass(struct calib_session *s, enum run_kind k, size_t g, uint64_t n, double *ns, bool *switched)
{
	bool cpu = on_this_thread(s->c, k);
	long before = switches(s->c, k);
	uint64_t w0, c0, w1, c1;
	int err;

	/* the clock that counts is read last and first: the CPU clock is a system call */
	if (cpu) {
		w0 = clock_now();
		c0 = clock_cpu();
	} else {
		c0 = clock_cpu();
		w0 = clock_now();
	}
	err = run_calls(s, k, g, n);
	if (cpu) {
		c1 = clock_cpu();
		w1 = clock_now();
	} else {
		w1 = clock_now();
		c1 = clock_cpu();
	}
	*switched = switches(s->c, k) != before;
	s->cpu_ns += (double)(c1 - c0);
	s->wall_ns += (double)(w1 - w0);
	*ns = (double)(cpu ? c1 - c0 : w1 - w0) / (double)n;
	if (!err && k == RUN_SUBMIT && s->c->family->settle)
		err = s->c->family->settle(s);
	return err;
}

/* Off-process times are elapsed ones: of several passes the lower quartile, above 1 ms the least. */
static int one_point(struct calib_session *s, enum run_kind k, size_t g, uint64_t n, double *ns, bool *switched)
{
	double pass[PASSES];
	unsigned good = 0;

	if (on_this_thread(s->c, k))
		return one_pass(s, k, g, n, ns, switched);
	for (unsigned i = 0; i < PASSES; i++) {
		double t;
		bool flag;
		int err = one_pass(s, k, g, n, &t, &flag);

		if (err)
			return err;
		if (!flag)
			pass[good++] = t;
		else if (i + 1 == PASSES && !good)
			*ns = t;
	}
	*switched = good == 0;
	if (!good)
		return 0;
	qsort(pass, good, sizeof(*pass), by_double);
	*ns = pass[pass[0] > 1e6 ? 0 : good / 4];
	return 0;
}

/* How many calls fill a point. */
static int repeats(struct calib_session *s, enum run_kind k, size_t g, uint64_t *n, double *one)
{
	double ns;
	bool flag;
	int err;

	*n = 1;
	err = one_pass(s, k, g, 1, &ns, &flag); /* warms up */
	if (err)
		return err;
	err = one_pass(s, k, g, 1, &ns, &flag);
	if (err)
		return err;
	*one = ns;
	if (k == RUN_SUBMIT && s->c->family->settle)
		return 0; /* each has to be waited for */
	if (ns < POINT_NS) {
		err = one_pass(s, k, g, 16, &ns, &flag);
		*one = ns;
		*n = (uint64_t)fmax(1, ceil(POINT_NS / fmax(ns, 1)));
	}
	return err;
}

static int run_failed(const struct calib_session *s, enum run_kind k, size_t g, int err, struct err *e)
{
	return err_set(e, err, "%s: the %s run at %zu bytes failed: %s", s->c->name, run_kind_str(k), g,
		       strerror(-err));
}

static int measure_size(struct calib_session *s, unsigned runs, size_t g, double *longest, struct err *e)
{
	uint64_t n[RUN_KINDS];
	double one;
	int err;

	*longest = 0;
	for (int k = 0; k < RUN_KINDS; k++) {
		if (!(runs & 1u << k))
			continue;
		if (s->opts->progress)
			s->opts->progress(s->opts->ctx, s->c, g, (enum run_kind)k);
		err = repeats(s, (enum run_kind)k, g, &n[k], &one);
		if (err)
			return run_failed(s, (enum run_kind)k, g, err, e);
		*longest = fmax(*longest, one);
	}
	for (unsigned i = 0; i < s->opts->calls; i++)
		for (int k = 0; k < RUN_KINDS; k++) {
			double ns = 0;
			bool flag = true;

			if (!(runs & 1u << k))
				continue;
			for (unsigned try = 0; flag && try <= RETRIES; try++) {
				err = one_point(s, (enum run_kind)k, g, n[k], &ns, &flag);
				if (err)
					return run_failed(s, (enum run_kind)k, g, err, e);
				/* a long call on a busy machine is always preempted: twice is enough to know */
				if (*longest > 5e7 && try)
					break;
			}
			/* CPU time does not run while the thread waits: a long call's few switches are noise */
			if (flag && on_this_thread(s->c, (enum run_kind)k) && ns * (double)n[k] > 1e7)
				flag = false;
			err = points_add(s->pts, (enum run_kind)k, (double)g, fmax(ns, .01), flag, e);
			if (err)
				return err;
		}
	return 0;
}

static int make_pool(struct calib_session *s, struct err *e)
{
	size_t largest = s->opts->max;

	if (s->c->max && largest > s->c->max)
		largest = s->c->max;
	s->pool_size = 2 * ROTATED + 2 * largest;
	s->pool = mmap(NULL, s->pool_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->pool == MAP_FAILED) {
		s->pool = NULL;
		return err_set(e, -ENOMEM, "not enough memory for %zu MB of inputs; lower --max", s->pool_size >> 20);
	}
	fill_with_text(s->pool, s->pool_size);
	return 0;
}

int calib_measure_runs(const struct calib_case *c, const struct calib_opts *opts, unsigned runs, struct points *pts,
		       struct calib_session *s, struct err *e)
{
	const struct calib_family *f = c->family;
	size_t last = 0, checked = opts->max < 4096 ? opts->max : 4096;
	uint64_t began;
	unsigned sizes = 0;
	int err;

	*s = (struct calib_session){ .c = c, .opts = opts, .pts = pts, .random = 88172645463325252ull };
	strcpy(pts->unit, "ns");
	err = make_pool(s, e);
	if (err)
		return err;
	err = f->open(s, e);
	if (!err && f->check && (runs & 1u << RUN_HOST) && (runs & 1u << RUN_ACCEL))
		err = f->check(s, s->pool, f->round ? f->round(s, checked) : checked, e);
	began = clock_now();
	for (size_t at = opts->min; !err && at <= opts->max && (!c->max || at <= c->max); at *= 2) {
		size_t g = f->round ? f->round(s, at) : at;
		double longest = 0;

		if (!g || g == last)
			continue;
		/* the next size takes as long as all before it */
		if (opts->limit > 0 && sizes >= SIZES_LEAST && 2 * (double)(clock_now() - began) > opts->limit * 1e9) {
			calib_note(s, "sizes above %zu bytes were left out for want of time (--seconds %g)", last,
				   opts->limit);
			break;
		}
		last = g;
		sizes++;
		if (f->resize)
			err = f->resize(s, g, e);
		if (!err)
			err = measure_size(s, runs, g, &longest, e);
		if (longest > opts->seconds * 1e9)
			break;
	}
	if (f->close)
		f->close(s);
	munmap(s->pool, s->pool_size);
	s->pool = NULL;
	if (!err && c->clock == CALIB_THREAD_CPU && s->wall_ns > 1.15 * s->cpu_ns)
		calib_note(s, "the machine was busy: elapsed time was %.2f times the CPU time that is given",
			   s->wall_ns / s->cpu_ns);
	return err;
}

int calib_measure(const struct calib_case *c, const struct calib_opts *opts, struct points *pts,
		  struct calib_session *s, struct err *e)
{
	if (c->missing[0])
		return err_set(e, -ENOTSUP, "%s: %s", c->name, c->missing);
	if (!c->family->measure)
		return calib_measure_runs(c, opts, c->runs, pts, s, e);
	*s = (struct calib_session){ .c = c, .opts = opts, .pts = pts };
	strcpy(pts->unit, "ns");
	return c->family->measure(s, e);
}
