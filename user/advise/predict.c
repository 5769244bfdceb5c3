// SPDX-License-Identifier: GPL-2.0-or-later
/* A function's calls on a device: the inputs as given, then one set of inputs within their intervals after another. */
#include "advise/predict.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/limits.h"
#include "util/normal.h"

#define GRID 96       /* sizes at which curves are compared: a crossing is found between two, then bisected */
#define BOUNDLESS 1e3 /* an interval without an upper end reaches so far in the draws */
#define EVERY 4       /* waits are computed in one of so many draws: they cost more than all else */
#define LINEAR 0.1    /* beta nearer to 1: the mean size says enough */
#define SHORTEST 1.   /* ns: no call takes less */
#define BATCHED 8     /* speedup_batched is told at so many times the batch that pays */

const char *predict_bound_str(enum predict_bound b)
{
	static const char *const name[PREDICT_BOUNDS] = { "overhead",    "latency", "bandwidth",
							  "computation", "amdahl",  "queue" };

	return (unsigned)b < PREDICT_BOUNDS ? name[b] : "unknown";
}

/* What is drawn: one dimension each. */
enum predict_input {
	I_HOST,
	I_BESIDE,
	I_COLD,
	I_BETA,
	I_O,
	I_L,
	I_X,
	I_DEVICE,
	I_RATE,
	I_SHARE,
	I_THREAD,
	I_RESIDENT,
	I_BYTES,
	INPUTS
};

struct bin {
	double g, share, host, compute;
	double part[3]; /* of T1 */
};

struct predict_job {
	const struct predict_work *w;
	const struct predict_device *d;
	struct bin *bin;
	size_t bins;
	double host, compute; /* per call, mean */
	struct figure host_figure;
	bool by_size;   /* the host's time of each bin is known, not only their mean */
	bool mean_only; /* one bin: of the mean size */
	bool curve;     /* t0 + C g^beta is known */
	double scale;   /* of the curve, to meet the mean */
	double t0, pivot;
	double threads, engines, other;
	double scv; /* of the host's time, for the device's where sizes do not tell */

	double z[PREDICT_DRAWS][INPUTS]; /* standard normal */
	double lo, hi;
	int grid; /* 0: curves cannot be compared */
	double g[GRID], ln_g[GRID], grid_host[GRID], grid_part[GRID][3];
};

/* One set of inputs: 1 is the value given. */
struct predict_draw {
	double host, beside, cold, beta; /* beside: ns, cold: ns a byte less; beta: what is added to it */
	double o, L, X;
	double rate, share, thread, resident;
	double bytes; /* of the mean call, where the sizes of single ones are not known */
};

struct predict_sums {
	double host, o, lat, x, service, square;
};

enum predict_drawn {
	D_NS,
	D_SPEEDUP,
	D_PROCESS,
	D_THREAD,
	D_RESIDENT,
	D_REST,
	D_PLACED,
	D_CHOSEN,
	D_G1,
	D_HALF,
	D_BATCH,
	D_BATCHED,
	D_UTIL,
	D_P50,
	D_P99,
	DRAWN,
};

/* Inverse of the normal distribution; Acklam's rational approximation, 1e-9. */
static double normal(double p)
{
	static const double a[] = { -3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
				    1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00 };
	static const double b[] = { -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
				    6.680131188771972e+01, -1.328068155288572e+01 };
	static const double c[] = { -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
				    -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00 };
	static const double d[] = { 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
				    3.754408661907416e+00 };
	double q, r;

	if (p > 1 - 0.02425)
		return -normal(1 - p);
	if (p < 0.02425) {
		q = sqrt(-2 * log(p));
		return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
		       ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
	}
	q = p - 0.5;
	r = q * q;
	return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
	       (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

/* Points spread evenly over the cube (Kronecker's sequence of powers of the root of x^(n+1) = x + 1). */
static void evenly(double z[PREDICT_DRAWS][INPUTS])
{
	double root = 1.5, step = 1;

	for (int k = 0; k < 60; k++)
		root = pow(1 + root, 1. / (INPUTS + 1));
	for (int k = 0; k < INPUTS; k++) {
		step /= root;
		for (int i = 0; i < PREDICT_DRAWS; i++) {
			double at = 0.5 + step * (i + 1);

			z[i][k] = normal(fmin(fmax(at - floor(at), 1e-6), 1 - 1e-6));
		}
	}
}

/* Factor on a figure, z standard deviations away from its value. */
static double factor_at(const struct figure *f, double z)
{
	if (!figure_bounded(f) || !(f->value > 0))
		return 1;
	z /= Z90;
	if (z > 0)
		return isinf(f->high) ? pow(BOUNDLESS, z) : pow(fmax(f->high / f->value, 1), z);
	if (f->low > 0)
		return pow(fmax(f->value / f->low, 1), z);
	return fmax(1 + z * (1 - f->low / f->value), 0);
}

/* ns, z standard deviations away; never beyond the ends, which are bounds. */
static double shift_at(const struct figure *f, double z)
{
	z = fmin(fmax(z / Z90, -1), 1);
	return figure_bounded(f) ? z * (z > 0 ? f->high : -f->low) : 0;
}

static struct predict_draw draw_of(const struct predict_job *j, unsigned i)
{
	const struct predict_work *w = j->w;
	const double *z = j->z[i];
	double both;
	struct predict_draw r;

	both = exp(j->d->spread * z[I_DEVICE]);
	r = (struct predict_draw){ .host = factor_at(&j->host_figure, z[I_HOST]),
				   .o = both * factor_at(&j->d->o, z[I_O]),
				   .L = both * factor_at(&j->d->L, z[I_L]),
				   .X = both * factor_at(&j->d->B, z[I_X]) / factor_at(&j->d->A, z[I_X]),
				   .rate = factor_at(&w->calls_per_s, z[I_RATE]),
				   .share = factor_at(&w->share_process, z[I_SHARE]),
				   .thread = factor_at(&w->share_thread, z[I_THREAD]),
				   .resident = factor_at(&w->resident, z[I_RESIDENT]) /
					       factor_at(&w->bytes_in, z[I_BYTES]) };
	r.beside = j->by_size ? shift_at(&w->beside, z[I_BESIDE]) : 0;
	r.cold = j->by_size ? w->cold * fmin(fmax(.5 + z[I_COLD] / Z90 / 2, 0), 1) : 0;
	r.bytes = j->mean_only ? factor_at(&w->bytes_in, z[I_BYTES]) : 1;
	if (figure_bounded(&w->beta))
		r.beta = w->beta.value * (factor_at(&w->beta, z[I_BETA]) - 1);
	if (j->d->by_ratio) {
		r.o *= r.host;
		r.L *= r.host;
		r.X *= r.host;
	} else if (figure_known(&j->d->A)) {
		r.X *= r.host;
	}
	return r;
}

static const struct predict_draw as_given = { 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };

static bool probe_drawn(const struct predict_draw *r)
{
	return r->beside != 0 || r->cold > 0;
}

static double host_drawn(double ns, double g, const struct predict_draw *r)
{
	return (probe_drawn(r) ? fmax(ns + r->beside - r->cold * g, SHORTEST) : ns) * r->host;
}

/* ---- the host */

static double curve_at(const struct predict_job *j, double g)
{
	return j->t0 + j->w->C.value * pow(g, j->w->beta.value);
}

/* Host's time at a size, NaN where nothing tells it: between the sizes seen as they took, beyond them as the curve goes
 * on from there. */
static double host_at(const struct predict_job *j, double g)
{
	const struct bin *first = &j->bin[0], *last = &j->bin[j->bins - 1];

	if (!j->by_size || j->bins < 2)
		return j->curve ? j->scale * curve_at(j, g) : NAN;
	if (g < first->g || g > last->g) {
		const struct bin *end = g < first->g ? first : last;

		return j->curve ? end->host * curve_at(j, g) / curve_at(j, end->g) : NAN;
	}
	for (size_t i = 1; i < j->bins; i++)
		if (g <= j->bin[i].g) {
			const struct bin *a = &j->bin[i - 1], *b = &j->bin[i];
			double to = b->g > a->g ? (g - a->g) / (b->g - a->g) : 0;

			if (!j->curve)
				return a->host + to * (b->host - a->host);
			return curve_at(j, g) *
			       (a->host / curve_at(j, a->g) * (1 - to) + b->host / curve_at(j, b->g) * to);
		}
	return j->bin[j->bins - 1].host;
}

static int no(char why[200], const char *what)
{
	snprintf(why, 200, "%s", what);
	return 0;
}

/* Does the size of a call matter to the device's time? */
static bool by_bytes(const struct predict_device *d)
{
	return d->by_ratio || d->sizes || (d->kind == LOGCA_DEP && d->L.value > 0) ||
	       (figure_known(&d->B) && d->B.value > 0 && d->beta > 0);
}

/* The bins with their shares and host times; false: *why. */
static bool prepare_bins(struct predict_job *j, char why[200])
{
	const struct predict_work *w = j->w;
	double calls = 0, mean = 0;

	for (size_t i = 0; i < w->sizes; i++)
		if (w->size[i].calls > 0 && w->size[i].bytes > 0) {
			struct bin *b = &j->bin[j->bins++];

			*b = (struct bin){ .g = w->size[i].bytes,
					   .share = w->size[i].calls,
					   .host = w->size[i].host_ns };
			if (isnan(b->host) && j->curve)
				b->host = j->t0 + w->C.value * pow(b->g, w->beta.value);
			j->by_size &= b->host > 0;
			calls += b->share;
		}
	if (!j->bins) {
		j->mean_only = true;
		j->by_size = false;
		j->bins = 1;
		j->bin[0] = (struct bin){ .g = w->bytes_in.value, .share = 1, .host = NAN };
		calls = 1;
	}
	for (size_t i = 0; i < j->bins; i++) {
		j->bin[i].share /= calls;
		mean += j->bin[i].share * j->bin[i].host;
	}
	j->host_figure = j->by_size && figure_known(&w->timed) ? w->timed : w->ns_per_call;
	if (!figure_known(&j->host_figure) && j->by_size)
		j->host_figure = (struct figure){ mean, NAN, NAN };
	j->host = j->host_figure.value;
	if (!(j->host > 0))
		return no(why, "the time of its calls"), false;
	if (by_bytes(j->d) && isnan(j->bin[0].g))
		return no(why, "the sizes of its calls"), false;
	if (j->mean_only && figure_known(&j->d->B) && j->d->B.value > 0 && j->d->beta > 0 &&
	    fabs(j->d->beta - 1) > LINEAR)
		return no(why, "the sizes of its calls: only their mean is known, and the device's time is not linear"),
		       false;
	j->scale = j->by_size ? j->host / mean : 1;
	return true;
}

static void prepare_times(struct predict_job *j)
{
	double own = 0, sum = 0;

	if (!j->by_size) /* the shape that the device's own host had, or none */
		for (size_t i = 0; i < j->bins; i++)
			own += j->bin[i].share * (j->d->by_ratio ? logca_host(&j->d->own, j->bin[i].g) : 1);
	for (size_t i = 0; i < j->bins; i++) {
		struct bin *b = &j->bin[i];

		if (j->by_size)
			b->host *= j->scale;
		else
			b->host = j->host * (j->d->by_ratio ? logca_host(&j->d->own, b->g) : 1) / own;
		b->compute = fmax(b->host - j->t0, 0);
		sum += b->share * b->compute;
		predict_device_at(j->d, b->g, b->host, b->compute, b->part);
		if (isnan(b->g))
			b->part[1] = j->d->kind == LOGCA_DEP && !(j->d->L.value > 0) ? 0 : b->part[1];
	}
	j->compute = sum;
}

static double median_size_of_calls(const struct predict_job *j)
{
	double seen = 0;

	if (j->mean_only)
		return NAN;
	for (size_t i = 0; i < j->bins; i++)
		if ((seen += j->bin[i].share) >= 0.5)
			return j->bin[i].g;
	return j->bin[j->bins - 1].g;
}

static void prepare_grid(struct predict_job *j)
{
	const struct predict_device *d = j->d;
	bool any = !j->mean_only;

	j->lo = isnan(d->gmin) ? LOGCA_GMIN : d->gmin;
	j->hi = isnan(d->gmax) ? LOGCA_GMAX : d->gmax;
	if (any) {
		j->lo = fmin(j->lo, j->bin[0].g);
		j->hi = fmax(j->hi, j->bin[j->bins - 1].g);
	}
	if (!j->curve) { /* what the calls seen tell, and no more */
		if (!j->by_size || j->bins < 2)
			return;
		j->lo = j->bin[0].g;
		j->hi = j->bin[j->bins - 1].g;
	}
	if (!(j->hi > j->lo))
		return;
	j->pivot = any ? median_size_of_calls(j) : sqrt(j->lo * j->hi);
	j->grid = GRID;
	for (int k = 0; k < GRID; k++) {
		double g = k == GRID - 1 ? j->hi : j->lo * pow(j->hi / j->lo, (double)k / (GRID - 1));

		j->g[k] = g;
		j->ln_g[k] = log(g / j->pivot);
		j->grid_host[k] = host_at(j, g);
		predict_device_at(d, g, j->grid_host[k], fmax(j->grid_host[k] - j->t0, 0), j->grid_part[k]);
	}
}

/* ---- one set of inputs */

static struct predict_sums sums_of(const struct predict_job *j, const struct predict_draw *r)
{
	struct predict_sums s = { .host = probe_drawn(r) ? 0 : j->host * r->host };

	for (size_t i = 0; i < j->bins; i++) {
		const struct bin *b = &j->bin[i];
		double part[3] = { b->part[0], b->part[1], b->part[2] }, o, lat, x, service;

		if (r->bytes != 1)
			predict_device_at(j->d, b->g * r->bytes, b->host, b->compute, part);
		o = part[0] * r->o;
		lat = part[1] * r->L;
		x = part[2] * r->X;
		service = j->d->o_alone ? lat + x : o + lat + x;

		s.host += probe_drawn(r) ? b->share * host_drawn(b->host, b->g, r) : 0;
		s.o += b->share * o;
		s.lat += b->share * lat;
		s.x += b->share * x;
		s.service += b->share * service;
		s.square += b->share * service * service;
	}
	return s;
}

/* The device's queue as these calls find it. */
struct predict_queue {
	double per_s, service, scv; /* of one engine */
	double utilisation, mean;   /* mean: NaN unknown */
};

static struct predict_queue queue_of(const struct predict_job *j, const struct predict_sums *s,
				     const struct predict_draw *r, enum catalogue_design design)
{
	struct predict_queue q = { NAN, s->service, NAN, NAN, 0 };
	double per_s = j->w->calls_per_s.value * r->rate, n = j->threads;

	if (isnan(j->engines))
		return q;
	q.scv = j->mean_only ? j->scv : fmax(s->square / (s->service * s->service) - 1, 0);
	q.utilisation = per_s * s->service * 1e-9 / j->engines + j->other;
	if (design == CATALOGUE_SYNC) /* a caller that waits does not queue behind itself */
		per_s = n > 1 ? per_s * (n - 1) / n : 0;
	q.per_s = per_s / j->engines + (s->service > 0 ? j->other / (s->service * 1e-9) : 0);
	q.mean = isnan(q.scv) && q.per_s == 0 ? 0 : predict_wait_mean(q.per_s, q.service, q.scv);
	if (design == CATALOGUE_SYNC && j->other == 0 && q.mean > (n - 1) * q.service)
		q.mean = (n - 1) * q.service; /* all the others stand before it */
	return q;
}

static double wait_of(const struct predict_job *j, const struct predict_queue *q, enum catalogue_design design,
		      double quantile)
{
	double t;

	if (isnan(j->engines) || isnan(q->utilisation))
		return NAN;
	t = q->per_s == 0 ? 0 : predict_wait(q->per_s, q->service, q->scv, quantile);
	if (design == CATALOGUE_SYNC && j->other == 0 && t > (j->threads - 1) * q->service)
		t = (j->threads - 1) * q->service;
	return t;
}

/*
 * Time of the calling thread. A device cannot be handed calls faster than it serves them. The wait in its queue costs
 * a caller that waits; elsewhere the processor does something else meanwhile (Accelerometer counts it there, too: as
 * its authors' queue is filled by the processor).
 */
static double caller_time(const struct predict_job *j, enum catalogue_design design, double o, double lat, double x,
			  double wait)
{
	double turn = j->d->o_alone ? x : o + lat + x; /* latency is the caller's here, as Accelerometer has it */
	double own = o + lat + (design == CATALOGUE_SYNC_OS ? j->w->switch_ns : 0);

	if (!isnan(j->engines))
		turn *= j->threads / j->engines;
	switch (design) {
	case CATALOGUE_SYNC: return o + lat + x + wait;
	case CATALOGUE_SYNC_OS:
	case CATALOGUE_ASYNC: return isnan(turn) ? NAN : fmax(own, turn); /* it may not keep up */
	case CATALOGUE_DESIGNS: break;
	}
	return NAN;
}

static double grid_ratio(const struct predict_job *j, const struct predict_draw *r, enum catalogue_design design,
			 double wait, int k)
{
	const double *p = j->grid_part[k];
	double host = host_drawn(j->grid_host[k], j->g[k], r) * (r->beta != 0 ? exp(r->beta * j->ln_g[k]) : 1);

	return host / caller_time(j, design, p[0] * r->o, p[1] * r->L, p[2] * r->X, wait);
}

/* Exact, of the inputs as given. */
static double ratio_at(const struct predict_job *j, enum catalogue_design design, double wait, double g)
{
	double part[3], host = host_at(j, g);

	predict_device_at(j->d, g, host, fmax(host - j->t0, 0), part);
	return host / caller_time(j, design, part[0], part[1], part[2], wait);
}

static double bisect_size(const struct predict_job *j, enum catalogue_design design, double wait, double target,
			  double a, double b)
{
	bool up = ratio_at(j, design, wait, b) >= target;

	for (int i = 0; i < 60; i++) {
		double mid = sqrt(a * b);

		if ((ratio_at(j, design, wait, mid) >= target) == up)
			b = mid;
		else
			a = mid;
	}
	return sqrt(a * b);
}

/* First size at which the ratio has risen to `target`, between two sizes of the grid; NaN: nowhere. */
static double rises(const struct predict_job *j, const double ratio[GRID], double target)
{
	if (ratio[0] >= target)
		return j->lo;
	for (int k = 1; k < j->grid; k++)
		if (ratio[k - 1] < target && ratio[k] >= target)
			return j->g[k - 1] *
			       pow(j->g[k] / j->g[k - 1], log(target / ratio[k - 1]) / log(ratio[k] / ratio[k - 1]));
	return NAN;
}

static double peak_of(const struct predict_job *j, const double ratio[GRID], int *at)
{
	double most = 0;

	*at = 0;
	for (int k = 0; k < j->grid; k++)
		if (ratio[k] > most) {
			most = ratio[k];
			*at = k;
		}
	return most;
}

/* Half of A where that can be told and is reached, else half of the most there is. */
static double half_target(const struct predict_job *j, enum catalogue_design design, double peak)
{
	const struct predict_device *d = j->d;
	double A = d->by_ratio ? d->own.A : d->A.value;

	if (isnan(A) && j->curve && d->B.value > 0 && fabs(j->w->beta.value - d->beta) < 0.02)
		A = j->scale * j->w->C.value / d->B.value;
	return design == CATALOGUE_SYNC && A > 1 && isfinite(A) && A / 2 <= peak ? A / 2 : peak / 2;
}

static void payoff_of(const struct predict_job *j, enum catalogue_design design, double wait, const double ratio[GRID],
		      struct predict_option *out)
{
	struct logca_payoff *p = &out->payoff;
	double half;
	int peak, best = 0;

	*p = (struct logca_payoff){ .from = NAN, .to = NAN, .binding = LOGCA_O };
	for (int k = 1; k < j->grid && p->roots < 2; k++)
		if ((ratio[k - 1] >= 1) != (ratio[k] >= 1))
			p->g1[p->roots++] = bisect_size(j, design, wait, 1, j->g[k - 1], j->g[k]);
	half = half_target(j, design, peak_of(j, ratio, &peak));
	for (int i = 1; i < 3; i++)
		if (j->grid_part[peak][i] > j->grid_part[peak][best])
			best = i;
	p->binding = best == 0 ? LOGCA_O : best == 1 ? LOGCA_L : LOGCA_A;
	if (p->roots == 0) {
		p->verdict = ratio[0] >= 1 ? LOGCA_ALWAYS : LOGCA_NEVER;
	} else if (p->roots == 1) {
		p->verdict = ratio[0] < 1 ? LOGCA_FROM : LOGCA_UNTIL;
		*(ratio[0] < 1 ? &p->from : &p->to) = p->g1[0];
	} else {
		p->verdict = LOGCA_BETWEEN;
		p->from = p->g1[ratio[0] >= 1];
		p->to = p->g1[ratio[0] < 1];
	}
	out->payoff_known = true;
	out->g1.value = p->from;
	for (int k = 1; k < j->grid; k++)
		if (ratio[k - 1] < half && ratio[k] >= half) {
			out->g_half.value = bisect_size(j, design, wait, half, j->g[k - 1], j->g[k]);
			break;
		}
}

static double batch_of(const struct predict_sums *s, bool latency_per_call, double fixed)
{
	double each = s->x + (latency_per_call ? 0 : s->lat), saved = s->host - each, n;

	if (!(saved > 0))
		return NAN;
	n = ceil(fixed / saved * (1 - 1e-12));
	return fmax(n, 1);
}

/* fmin() would make a 1 of what is unknown. */
static double at_most_one(double v)
{
	return v > 1 ? 1 : v;
}

/* The share of transfers that is not needed when `resident` stays there; NaN: unknown. */
static double share_kept(const struct predict_job *j, const struct predict_draw *r)
{
	const struct predict_work *w = j->w;
	double all = w->bytes_in.value + (isnan(w->bytes_out.value) ? 0 : w->bytes_out.value);

	return at_most_one(w->resident.value / all * r->resident);
}

/* Where all data of these calls lie on the device, what the rest of the process moves to and from there, as share of
 * its time; NaN: unknown. */
static double rest_of_process(const struct predict_job *j, const struct predict_draw *r, double host)
{
	const struct predict_work *w = j->w;
	double common = fmax(w->bytes_in.value + w->bytes_out.value - w->resident.value * r->resident, 0);

	if (j->d->kind != LOGCA_DEP || !j->d->L_alone || j->d->by_ratio || isnan(w->resident.value))
		return NAN;
	return at_most_one(w->share_process.value * r->share) * j->d->L.value * r->L * common * r->bytes / host;
}

/* What is asked of each set of inputs. */
struct ask {
	const struct predict_job *job;
	enum catalogue_design design;
	const bool *pays; /* of each bin, with the inputs as given */
	bool waits;
};

static void one_draw(const struct ask *ask, const struct predict_draw *r, double at[DRAWN], double ratio[GRID])
{
	const struct predict_job *j = ask->job;
	enum catalogue_design design = ask->design;
	struct predict_sums s = sums_of(j, r);
	struct predict_queue q = queue_of(j, &s, r, design);
	bool per_call = j->d->kind != LOGCA_DEP;
	double wait = design == CATALOGUE_SYNC ? q.mean : 0, fixed, n;
	int peak;

	at[D_NS] = caller_time(j, design, s.o, s.lat, s.x, wait);
	at[D_SPEEDUP] = s.host / at[D_NS];
	at[D_PROCESS] = amdahl(at_most_one(j->w->share_process.value * r->share), at[D_SPEEDUP]);
	at[D_THREAD] = amdahl(at_most_one(j->w->share_thread.value * r->thread), at[D_SPEEDUP]);
	at[D_RESIDENT] = per_call ? at[D_SPEEDUP]
			 : j->d->L_alone
				 ? s.host / caller_time(j, design, s.o, s.lat * (1 - share_kept(j, r)), s.x, wait)
				 : NAN;
	at[D_REST] = rest_of_process(j, r, s.host);
	at[D_PLACED] = 1 / (1 / amdahl(at_most_one(j->w->share_process.value * r->share),
				       s.host / caller_time(j, design, s.o, 0, s.x, wait)) +
			    at[D_REST]);
	at[D_CHOSEN] = NAN;
	if (j->by_size) {
		double sum = 0;

		for (size_t i = 0; i < j->bins; i++) {
			const struct bin *b = &j->bin[i];

			sum += b->share * (ask->pays[i] ? caller_time(j, design, b->part[0] * r->o, b->part[1] * r->L,
								      b->part[2] * r->X, wait)
							: host_drawn(b->host, b->g, r));
		}
		at[D_CHOSEN] = s.host / sum;
	}
	fixed = s.o + wait + (per_call ? s.lat : 0) + (design == CATALOGUE_SYNC_OS ? j->w->switch_ns : 0);
	if (design != CATALOGUE_SYNC)
		s.x = 0; /* the caller does not wait for it */
	at[D_BATCH] = batch_of(&s, per_call, fixed);
	n = BATCHED * at[D_BATCH];
	at[D_BATCHED] = n * s.host / (fixed + n * (s.x + (per_call ? 0 : s.lat)));
	at[D_UTIL] = q.utilisation;
	at[D_P50] = ask->waits ? wait_of(j, &q, design, 0.50) : NAN;
	at[D_P99] = ask->waits ? wait_of(j, &q, design, 0.99) : NAN;
	at[D_G1] = at[D_HALF] = NAN;
	if (!j->grid)
		return;
	for (int k = 0; k < j->grid; k++)
		ratio[k] = grid_ratio(j, r, design, wait, k);
	at[D_G1] = rises(j, ratio, 1);
	at[D_HALF] = rises(j, ratio, half_target(j, design, peak_of(j, ratio, &peak)));
}

/* ---- all sets */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The interval of one figure; where a draw has none (a crossing, a batch), it counts as beyond every size. */
static void interval_of_draws(double draws[PREDICT_DRAWS], unsigned n, bool none_is_beyond, struct figure *f)
{
	unsigned kept_draws = 0, cut;

	f->low = f->high = NAN;
	if (isnan(f->value) && !none_is_beyond)
		return;
	for (unsigned i = 0; i < n; i++)
		if (!isnan(draws[i]) || none_is_beyond)
			draws[kept_draws++] = isnan(draws[i]) ? INFINITY : draws[i];
	if (!kept_draws)
		return;
	qsort(draws, kept_draws, sizeof(*draws), ascending);
	cut = (kept_draws + 1) / 20;
	cut -= cut > 0;
	f->low = fmin(draws[cut], f->value); /* of fmin() and fmax(), NaN is none */
	f->high = fmax(draws[kept_draws - 1 - cut], f->value);
}

static enum predict_bound bound_of(const struct predict_job *j, enum catalogue_design design,
				   const struct predict_sums *s, const struct predict_queue *q,
				   const struct predict_option *o)
{
	double f = j->w->share_process.value, o1 = design == CATALOGUE_SYNC_OS ? j->w->switch_ns : 0;
	double wait = design == CATALOGUE_SYNC && !isnan(q->mean) ? q->mean : 0, most = s->o + o1;
	enum predict_bound b = PREDICT_OVERHEAD;

	if (amdahl(f, 10 * o->speedup.value) / amdahl(f, o->speedup.value) < LOGCA_RATIO)
		return PREDICT_AMDAHL;
	if (q->utilisation >= 1)
		return PREDICT_QUEUE;
	if (s->lat > most) {
		most = s->lat;
		b = j->d->kind == LOGCA_DEP ? PREDICT_BANDWIDTH : PREDICT_LATENCY;
	}
	if ((design == CATALOGUE_SYNC || o->ns_per_call.value > s->o + s->lat + o1) && s->x > most) {
		most = s->x;
		b = PREDICT_COMPUTATION;
	}
	return wait > most ? PREDICT_QUEUE : b;
}

static void by_sizes(const struct predict_job *j, enum catalogue_design design, double wait, bool *pays,
		     struct predict_option *o)
{
	double below = 0, outside = 0;

	for (size_t i = 0; i < j->bins; i++) {
		const struct bin *b = &j->bin[i];

		pays[i] = caller_time(j, design, b->part[0], b->part[1], b->part[2], wait) < b->host;
		below += pays[i] ? 0 : b->share;
		outside += b->g < j->d->gmin * (1 - 1e-9) || b->g > j->d->gmax * (1 + 1e-9) ? b->share : 0;
	}
	o->below = j->by_size ? below : NAN;
	o->outside = j->mean_only || isnan(j->d->gmin) ? NAN : outside;
}

static const char *lacking(const struct predict_job *j, const struct predict_option *o)
{
	if (isnan(o->speedup.value))
		return isnan(j->d->A.value) && isnan(j->d->B.value) ? "how much faster the device computes this (A)"
		       : isnan(j->w->calls_per_s.value)             ? "the rate of its calls"
								    : "how the time of its calls is spread";
	if (j->mean_only)
		return "the sizes of its calls";
	if (!o->payoff_known)
		return "the host's time at each size";
	if (!figure_bounded(&j->host_figure))
		return "how well the time of its calls is known";
	if (isnan(j->w->share_process.value))
		return "its share of the process's time";
	return "";
}

/* How long the device may compute for a call to cost its caller no more than `most`: caller_time() the other way. */
static double room_for_work(const struct predict_job *j, enum catalogue_design design, const struct predict_sums *s,
			    double most)
{
	double own = s->o + s->lat, turn = isnan(j->engines) ? most : most * j->engines / j->threads;

	if (design == CATALOGUE_SYNC)
		return most - own;
	if (own + (design == CATALOGUE_SYNC_OS ? j->w->switch_ns : 0) > most)
		return 0;
	return j->d->o_alone ? turn : turn - own;
}

static void option_of(const struct predict_job *j, enum catalogue_design design, bool *pays, struct predict_option *o)
{
	struct predict_sums s = sums_of(j, &as_given);
	struct predict_queue q = queue_of(j, &s, &as_given, design);
	double draws[DRAWN][PREDICT_DRAWS], at[DRAWN], ratio[GRID] = { 0 }, scratch[GRID];
	double wait = design == CATALOGUE_SYNC ? q.mean : 0, o1 = design == CATALOGUE_SYNC_OS ? j->w->switch_ns : 0;
	bool host_bounded = figure_bounded(&j->host_figure);
	bool known = !isnan(s.x);
	unsigned otherwise = 0;
	struct ask ask = { j, design, pays, true };
	struct figure *const to[DRAWN] = {
		[D_NS] = &o->ns_per_call,
		[D_SPEEDUP] = &o->speedup,
		[D_PROCESS] = &o->process_speedup,
		[D_THREAD] = &o->thread_speedup,
		[D_RESIDENT] = &o->speedup_resident,
		[D_REST] = &o->rest_loses,
		[D_PLACED] = &o->process_placed,
		[D_CHOSEN] = &o->speedup_chosen,
		[D_G1] = &o->g1,
		[D_HALF] = &o->g_half,
		[D_BATCH] = &o->batch,
		[D_BATCHED] = &o->speedup_batched,
		[D_UTIL] = &o->utilisation,
		[D_P50] = &o->wait_p50,
		[D_P99] = &o->wait_p99,
	};

	*o = (struct predict_option){ .design = design,
				      .lo = j->grid ? j->lo : NAN,
				      .hi = j->grid ? j->hi : NAN,
				      .needed_acceleration = NAN,
				      .limit = s.host / (s.o + s.lat + o1 + (isnan(q.mean) ? 0 : wait)) };
	if (!known) {
		double room = room_for_work(j, design, &s, s.host / PREDICT_TARGET);

		o->needed_acceleration = room > 0 ? j->compute / room : INFINITY;
	}
	by_sizes(j, design, wait, pays, o);
	one_draw(&ask, &as_given, at, ratio);
	for (int i = 0; i < DRAWN; i++)
		*to[i] = (struct figure){ i == D_G1 || i == D_HALF ? NAN : at[i], NAN, NAN };
	if (j->grid && known)
		payoff_of(j, design, wait, ratio, o);
	if (!known)
		o->below = NAN;
	for (unsigned i = 0; i < PREDICT_DRAWS; i++) {
		struct predict_draw r = draw_of(j, i);

		ask.waits = !isnan(j->engines) && i % EVERY == 0;
		one_draw(&ask, &r, at, scratch);
		for (int k = 0; k < DRAWN; k++)
			draws[k][i] = at[k];
		otherwise += o->payoff.verdict == LOGCA_ALWAYS  ? !(at[D_G1] <= j->lo)
			     : o->payoff.verdict == LOGCA_NEVER ? !isnan(at[D_G1])
								: 0;
	}
	o->payoff_sure = o->payoff_known && otherwise <= PREDICT_DRAWS / 20;
	for (int k = 0; k < DRAWN; k++) {
		bool bounded = k == D_UTIL || k == D_P50 || k == D_P99 ? figure_bounded(&j->w->calls_per_s)
			       : k == D_NS                             ? true
								       : host_bounded;

		if (k == D_PROCESS || k == D_REST || k == D_PLACED)
			bounded &= figure_bounded(&j->w->share_process);
		if (k == D_THREAD)
			bounded &= figure_bounded(&j->w->share_thread);
		if (bounded)
			interval_of_draws(draws[k], PREDICT_DRAWS, k == D_G1 || k == D_HALF || k == D_BATCH, to[k]);
	}
	o->g1_told = figure_bounded(&o->g1) && o->g1.value <= o->g1.low * PREDICT_CLOSE &&
		     o->g1.high <= o->g1.value * PREDICT_CLOSE;
	o->bound = bound_of(j, design, &s, &q, o);
	snprintf(o->lacks, sizeof(o->lacks), "%s", lacking(j, o));
}

int predict(const struct predict_work *w, const struct predict_device *d, struct predict_option out[CATALOGUE_DESIGNS],
	    char why[200])
{
	struct predict_job j = { .w = w,
				 .d = d,
				 .by_size = true,
				 .curve = figure_known(&w->C) && figure_known(&w->beta),
				 .scale = 1,
				 .t0 = figure_known(&w->t0) ? w->t0.value : 0,
				 .threads = w->threads >= 1 ? w->threads : 1,
				 .engines = d->engines,
				 .other = w->other_load > 0 ? w->other_load : 0,
				 .scv = w->scv };
	bool *pays;
	int n = 0;

	why[0] = 0;
	if (d->lacks[0])
		return no(why, d->lacks);
	j.bin = calloc(w->sizes + 1, sizeof(*j.bin));
	pays = calloc(w->sizes + 1, sizeof(*pays));
	if (!j.bin || !pays) {
		no(why, "memory");
	} else if (prepare_bins(&j, why)) {
		evenly(j.z);
		prepare_times(&j);
		prepare_grid(&j);
		for (int k = 0; k < CATALOGUE_DESIGNS; k++)
			if (d->designs & 1u << k && (k != CATALOGUE_SYNC_OS || w->switch_ns >= 0))
				option_of(&j, (enum catalogue_design)k, pays, &out[n++]);
		if (!n)
			no(why, "what a thread switch costs here");
	}
	free(j.bin);
	free(pays);
	return n;
}
