// SPDX-License-Identifier: GPL-2.0-or-later
/* Offload calls (offload.h) as text for a terminal, and the sums that text and JSON share. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/clean.h"
#include "util/normal.h"
#include "view/offload.h"

#define SITES 5 /* call sites of one function; the others are in --json; by hand */
/* of the target's CPU time: what probes may take and samples still say what the program does */
#define PROBES_LITTLE .05
#define SAMPLES_TELL 20 /* with a function on their stacks: its share is known within some 45 % */
#define NOTE_LINES 8
#define BAR 30

struct filtered offload_filtered(const struct offload_view *v)
{
	struct filtered out = { .by = v->filter, .of = "calls", .shown = NAN };
	double all = 0, shown = 0;

	for (size_t i = 0; i < v->summary->items_cnt; i++) {
		const struct offload_item *it = &v->summary->items[i];

		all += (double)it->calls;
		shown += offload_passes(v->filter, it) ? (double)it->calls : 0;
	}
	all = v->all_calls > 0 ? v->all_calls : all;
	if (all > 0)
		out.shown = shown / all;
	return out;
}

/* The target's CPU time, less what the probes added: that is no work of the program's. NaN: unknown. */
static double offload_target_ns(const struct offload_view *v)
{
	double target = v->profile->has_cost ? (double)v->profile->cost.target_cpu_ns : 0;

	for (size_t i = 0; i < v->summary->items_cnt; i++)
		target -= v->summary->items[i].probes_ns;
	return target > 0 ? target : NAN;
}

/*
 * By the samples: they need no probe and no scaling. Not where probes took a good part of the target's time: that
 * stands in the samples as well. The function may stand further up on stacks that could not be followed: where these
 * are more than those that show it, samples do not tell.
 */
static bool share_by_samples(const struct offload_view *v, const struct offload_item *it, struct offload_share *out)
{
	double probes = 0, target = offload_target_ns(v), seen;

	for (size_t i = 0; i < v->summary->items_cnt; i++)
		probes += v->summary->items[i].probes_ns;
	if (!v->shares || v->shares->exact || !(probes < PROBES_LITTLE * target))
		return false;
	for (size_t i = 0; i < v->shares->count; i++) {
		const struct share *r = &v->shares->rows[i];
		const struct profile_function *f = &v->profile->functions[r->function];

		if (strcmp(f->name, offload_symbol(it)) || strcmp(f->object, offload_library(it)))
			continue;
		seen = r->inclusive * v->shares->effective;
		if (seen < SAMPLES_TELL || v->shares->incomplete > r->inclusive)
			return false;
		shares_inclusive(v->shares, r->inclusive, &out->low, &out->high);
		/* a function's samples are of all its levels: by what the probes saw of each */
		out->value = r->inclusive * it->part_of_ns;
		out->low *= it->part_of_ns;
		out->high *= it->part_of_ns;
		return out->sampled = true;
	}
	return false;
}

/* What samples stand for is as sure as there are many of them: factors between which it lies, 95 %, by the score of
 * Poisson's law. */
static void sum_of_samples(const struct offload_view *v, double *least, double *most)
{
	double n = v->shares ? v->shares->effective : 0, half = Z95 * sqrt(n + Z95 * Z95 / 4);

	*least = n > 0 ? (n + Z95 * Z95 / 2 - half) / n : 0;
	*most = n > 0 ? (n + Z95 * Z95 / 2 + half) / n : INFINITY;
}

struct offload_share offload_cpu(const struct offload_view *v, const struct offload_item *it)
{
	struct offload_share s = { NAN, NAN, NAN, false };
	double target = offload_target_ns(v), each, least, most;

	if (share_by_samples(v, it, &s) || !(target > 0) || !it->calls)
		return s;
	/* what a probe takes inside a call is known within late_ns and early_ns */
	each = it->host_cpu_ns / (double)it->calls;
	sum_of_samples(v, &least, &most);
	s.low = fmin(1, fmax(0, each - it->late_ns) * it->low / (target * most));
	s.high = isnan(it->high) ? NAN : fmin(1, (each + it->early_ns) * it->high / (target * least));
	if (each >= it->below_ns)
		s.value = isnan(it->estimate) ? NAN : fmin(1, each * it->estimate / target);
	return s;
}

/* What else ran on the CPU meanwhile says nothing of the call: calls that were switched away from count
 * only where no others were seen, as where the kernel blocks the caller until a device is done. */
double offload_bandwidth(const struct offload_item *it)
{
	double bytes = 0, ns = 0;

	if (it->async > 0 && it->flight_ns > 0)
		return NAN;
	for (int k = 0; k < OFFLOAD_OCTAVES; k++) {
		const struct offload_octave *o = &it->octave[k];

		if (!(o->timed > 0) || !(o->calls > 0))
			continue;
		bytes += o->bytes * o->timed / o->calls;
		ns += o->ns;
	}
	return bytes > 0 && ns > 0 ? bytes / ns : NAN;
}

const char *offload_variant_str(uint32_t variant)
{
	return variant == FMT_OV_HOST ? "host" : variant == FMT_OV_ACCELERATED ? "accelerated" : NULL;
}

const char *offload_design(const struct offload_item *it)
{
	double all = it->sync + it->blocked + it->async;

	if (!(all > 0))
		return NULL;
	if (it->async > all / 2)
		return "async";
	return it->blocked > all / 2 ? "sync-OS" : "sync";
}

const struct profile_function *offload_caller(const struct offload_view *v, const struct offload_site *site)
{
	const struct profile *p = v->profile;
	uint32_t at = profile_stack_of(p, site->stack);
	const struct profile_stack *s;
	const struct profile_frame *f;

	if (!at)
		return NULL;
	s = &p->stacks[at];
	if (s->count < 2)
		return NULL;
	f = &p->frames[p->stack_frames[s->first + 1]];
	return &p->functions[p->lines[f->first + f->count - 1].function];
}

static void duration(struct buf *b, double ns)
{
	if (!(ns >= 0))
		buf_addstr(b, "-");
	else if (ns < 100)
		buf_addstr(b, "< 0.1 us");
	else if (ns < 10e3)
		buf_addf(b, "%.2f us", ns / 1e3);
	else if (ns < 1e6)
		buf_addf(b, "%.1f us", ns / 1e3);
	else if (ns < 10e9)
		buf_addf(b, "%.2f ms", ns / 1e6);
	else
		buf_addf(b, "%.1f s", ns / 1e9);
}

/* Below what the probe itself takes, only that is known. */
static void timing(struct buf *b, const struct offload_item *it, double ns)
{
	if (ns < it->below_ns)
		buf_addstr(b, "below ");
	duration(b, fmax(ns, it->below_ns));
}

static void timing_right(struct buf *out, unsigned columns, const struct offload_item *it, double ns)
{
	AUTO_BUF(b);

	if (isnan(ns))
		buf_addch(&b, '-');
	else if (ns < it->below_ns)
		buf_addf(&b, "< %.1f us", it->below_ns / 1e3);
	else
		duration(&b, ns);
	text_pad_left(out, b.data, columns);
}

static void size(struct buf *b, double n)
{
	if (!(n >= 0))
		buf_addstr(b, "-");
	else if (n < 1024)
		buf_addf(b, "%.0f B", n);
	else if (n < 1048576)
		buf_addf(b, "%.3g KB", n / 1024);
	else if (n < 1073741824)
		buf_addf(b, "%.3g MB", n / 1048576);
	else
		buf_addf(b, "%.3g GB", n / 1073741824);
}

static void right(struct buf *out, unsigned columns, void (*put)(struct buf *b, double v), double v)
{
	AUTO_BUF(b);

	put(&b, v);
	text_pad_left(out, b.data, columns);
}

static void add_percent_or_dash(struct buf *b, double v)
{
	if (v >= 0)
		buf_addf(b, "%.1f %%", v * 100);
	else
		buf_addstr(b, "-");
}

static void add_count_or_dash(struct buf *b, double v)
{
	if (v >= 0 && v < 9e18)
		text_count(b, (uint64_t)(v + 0.5));
	else
		buf_addstr(b, "-");
}

static void add_rate(struct buf *b, double v)
{
	if (v >= 100)
		add_count_or_dash(b, v);
	else if (v >= 0)
		buf_addf(b, "%.3g", v);
	else
		buf_addstr(b, "-");
}

static void at_least(struct buf *b, double v)
{
	buf_addch(b, '>');
	add_count_or_dash(b, v);
}

static void at_least_rate(struct buf *b, double v)
{
	buf_addch(b, '>');
	add_rate(b, v);
}

static void gbs(struct buf *b, double v)
{
	if (v >= 0)
		buf_addf(b, "%.3g", v);
	else
		buf_addstr(b, "-");
}

double offload_site_scale(const struct offload_item *it)
{
	return it->calls ? it->estimate / (double)it->calls : NAN;
}

static void title(const struct offload_item *it, bool levels, struct buf *out)
{
	const char *variant = offload_variant_str(it->variant);
	char level[24];

	if (strcmp(it->api, it->name)) {
		text_name(out, it->api, 0, 0);
		buf_addch(out, ' ');
	}
	text_name(out, it->name, 0, 0);
	if (levels)
		buf_addstr(out, offload_level_text(it, level));
	if (variant)
		buf_addf(out, " [%s]", variant);
}

static void show_table(const struct offload_view *v, const struct text_style *style, struct buf *out)
{
	unsigned rows = 0, more = 0;

	text_hue_on(out, style, TEXT_BOLD);
	buf_addstr(out, "  CPU   calls/s        calls  median size  median time    GB/s  design   call\n");
	text_hue_off(out, style, TEXT_BOLD);
	for (size_t i = 0; i < v->summary->items_cnt; i++) {
		const struct offload_item *it = &v->summary->items[i];
		const char *design = offload_design(it);

		if (it->kind == FMT_OK_WAIT || !offload_passes(v->filter, it))
			continue;
		if (v->screen && rows == v->screen * 3 / 10) { /* one call in full fits below */
			more++;
			continue;
		}
		rows++;
		right(out, 6, add_percent_or_dash, offload_cpu(v, it).value);
		right(out, 9, isnan(it->estimate) ? at_least_rate : add_rate,
		      offload_calls_per_s(it, isnan(it->estimate) ? it->low : it->estimate));
		right(out, 13, isnan(it->estimate) ? at_least : add_count_or_dash,
		      isnan(it->estimate) ? it->low : it->estimate);
		right(out, 13, size, spread_quantile(&it->bytes, 0.5));
		timing_right(out, 13, it, spread_quantile(&it->time, 0.5));
		buf_addch(out, ' ');
		right(out, 7, gbs, offload_bandwidth(it));
		buf_addf(out, "  %-7s  ", design ? design : "-");
		title(it, true, out);
		buf_addch(out, '\n');
	}
	if (more)
		buf_addf(out, "%u more that take less time: --all lists them\n", more);
}

static void octaves(const struct offload_item *it, const struct text_style *style, struct buf *out)
{
	double most = it->unknown_calls;
	int first = OFFLOAD_OCTAVES, last = -1;

	for (int k = 0; k < OFFLOAD_OCTAVES; k++) {
		if (!(it->octave[k].calls > 0))
			continue;
		most = fmax(most, it->octave[k].calls);
		first = k < first ? k : first;
		last = k;
	}
	if (last < 0)
		return;
	buf_addstr(out, "    size of a call             calls                                 mean time\n");
	for (int k = first; k <= last; k++) {
		const struct offload_octave *o = &it->octave[k];
		unsigned bar = (unsigned)ceil(o->calls / most * BAR);
		AUTO_BUF(range);

		if (!(o->calls > 0))
			continue;
		if (k) {
			size(&range, exp2(k - 1));
			buf_addstr(&range, " to ");
			size(&range, exp2(k));
		} else {
			buf_addstr(&range, "0 B");
		}
		text_pad_left(out, range.data, 22);
		right(out, 12, add_count_or_dash, o->calls);
		buf_addstr(out, "  ");
		text_hue_on(out, style, TEXT_WARM);
		for (unsigned i = 0; i < BAR; i++)
			buf_addch(out, i < bar ? '#' : ' ');
		text_hue_off(out, style, TEXT_WARM);
		timing_right(out, 11, it, o->timed > 0 ? o->ns / o->timed : NAN);
		buf_addch(out, '\n');
	}
	if (it->unknown_calls > 0)
		buf_addf(out, "    and %.0f calls whose size is not known\n", it->unknown_calls);
}

static uint64_t stored_counter(const struct profile *p, const char *counter)
{
	for (size_t i = 0; i < p->counter_count; i++)
		if (!strcmp(p->counters[i].name, counter))
			return p->counters[i].value;
	return 0;
}

/* A library was mapped while it was recorded, and may have been called before its probes were there. */
static void all_counted(const struct profile *p, struct buf *out)
{
	uint64_t late = stored_counter(p, OFFLOAD_PROBED_LATE), late_us = stored_counter(p, OFFLOAD_LATE_BY);

	buf_addstr(out, " calls, all counted");
	if (late)
		buf_addstr(out, " since it was probed");
	if (late_us)
		buf_addf(out, ", within %.1f ms of being loaded", ceil((double)late_us / 100) / 10);
}

static void show_call_counts(const struct offload_view *v, const struct offload_item *it, struct buf *out)
{
	uint64_t gone = stored_counter(v->profile, OFFLOAD_CHILDREN_GONE);
	double scale = offload_site_scale(it);

	buf_addstr(out, "    ");
	if (it->observed < 0.999 && it->put_off && it->high >= 0) {
		add_count_or_dash(out, it->low);
		buf_addstr(out, " to ");
		add_count_or_dash(out, it->high);
		buf_addf(out, " calls: something else sets their pace, and probes put them off by much of a stretch; "
			      "--offload-exact counts all; ");
		add_count_or_dash(out, (double)it->calls);
		buf_addf(out, " seen in %.1f %% of the time", it->observed * 100);
	} else if (it->observed < 0.999 && isnan(it->estimate)) {
		buf_addstr(out, "at least ");
		add_count_or_dash(out, it->low);
		buf_addf(out, " calls: too few stretches of time, or probing them takes longer than they do; ");
		add_count_or_dash(out, (double)it->calls);
		buf_addf(out, " seen in %.1f %% of the time", it->observed * 100);
	} else if (it->observed < 0.999) {
		add_count_or_dash(out, it->estimate);
		buf_addstr(out, " calls (90 %: ");
		add_count_or_dash(out, it->low);
		buf_addstr(out, " to ");
		if (it->high >= 0)
			add_count_or_dash(out, it->high);
		else
			buf_addstr(out, "unknown");
		buf_addf(out, "), estimated from ");
		add_count_or_dash(out, (double)it->calls);
		buf_addf(out, " seen in %.1f %% of the time", it->observed * 100);
	} else {
		add_count_or_dash(out, (double)it->calls);
		all_counted(v->profile, out);
	}
	if (gone)
		buf_addf(out, ", but for those in %lu forked children that ended before they could be probed",
			 (unsigned long)gone);
	if (it->unknown_bytes < it->calls) {
		buf_addstr(out, isnan(scale) ? "; those in " : "; in ");
		size(out, (double)it->bytes_in * (isnan(scale) ? 1 : scale));
		buf_addstr(out, ", out ");
		size(out, (double)it->bytes_out * (isnan(scale) ? 1 : scale));
	}
	buf_addch(out, '\n');
	if (it->work_calls > 0)
		buf_addf(out, "    %.6g work items a launch in the mean\n", it->work_items / it->work_calls);
	if (it->failed)
		buf_addf(out, "    %lu of them failed\n", (unsigned long)it->failed);
	if (offload_faults_per_call(v->summary, it) >= .01)
		buf_addf(out, "    %.2g page faults a call, some %.2g%% of its time\n",
			 offload_faults_per_call(v->summary, it), 100 * offload_fault_share(v->summary, it));
	if (it->open_records > 0 || it->open)
		buf_addf(out, "    %.0f never seen to complete: counted, not timed\n",
			 fmax(it->open_records, (double)it->open));
	if (it->records && it->records < it->calls)
		buf_addf(out, "    %lu recorded one by one (thinned, weighted); counts and sums are of all\n",
			 (unsigned long)it->records);
}

/* Two digits, and no exponent for all of it. */
static void part_of_cpu(struct buf *out, double share)
{
	buf_addf(out, share >= 0.995 ? "%.0f" : "%.2g", share * 100);
}

static void cpu(const struct offload_view *v, const struct offload_item *it, struct buf *out)
{
	struct offload_share s = offload_cpu(v, it);

	if (isnan(s.low) || it->kind == FMT_OK_KERNEL)
		return;
	buf_addstr(out, "    ");
	if (isnan(s.value))
		buf_addstr(out, "between ");
	else
		buf_addf(out, "%.1f %% [", s.value * 100);
	part_of_cpu(out, s.low);
	buf_addstr(out, isnan(s.value) ? " and " : " to ");
	if (isnan(s.high))
		buf_addstr(out, "unknown");
	else
		part_of_cpu(out, s.high);
	buf_addf(out, "%s of the CPU time, by %s\n", isnan(s.value) ? " %" : " %]",
		 s.sampled ? "the timer's samples" : "the calls that were timed");
}

static void times(const struct offload_view *v, const struct offload_item *it, struct buf *out)
{
	double all = it->sync + it->blocked + it->async;

	if (it->time.total > 0) {
		buf_addstr(out, "    time of a call: median ");
		timing(out, it, spread_quantile(&it->time, 0.5));
		buf_addstr(out, ", 90 % below ");
		duration(out, fmax(it->below_ns, spread_quantile(&it->time, 0.9)));
		buf_addstr(out, ", 99 % below ");
		duration(out, fmax(it->below_ns, spread_quantile(&it->time, 0.99)));
		buf_addch(out, '\n');
		if (offload_upper_bound(v->summary, it))
			buf_addstr(
				out,
				"    upper bounds: what probing its first instruction costs is not known, the smaller\n    cost was taken off\n");
	}
	if (strstr(it->name, "GraphLaunch"))
		buf_addstr(
			out,
			"    each is a graph of kernels and copies, counted as one: what it holds is not resolved\n");
	if (all > 0)
		buf_addf(
			out,
			"    design: the caller works or spins %.0f %%, is blocked by the kernel %.0f %%, goes on meanwhile %.0f %%\n",
			it->sync / all * 100, it->blocked / all * 100, it->async / all * 100);
	if (it->async > 0 && it->overlap_ns + it->wait_ns > 0) {
		buf_addstr(out, "    submitting takes ");
		duration(out, spread_quantile(&it->submit, 0.5));
		buf_addf(out, "; %.0f %% of the time in flight is overlapped with own work, ",
			 fmin(100, it->overlap_ns / fmax(it->flight_ns, 1) * 100));
		duration(out, it->wait_ns / it->async);
		buf_addstr(out, " a call is waited\n");
	}
	if (it->untimed_calls)
		buf_addf(out, "    %lu were seen to begin only: counted, not timed (where they end is not known)\n",
			 (unsigned long)it->untimed_calls);
	if (it->switched)
		buf_addf(out, "    %.1f %% had a context switch inside: %s\n",
			 (double)it->switched / (double)it->calls * 100,
			 offload_waits(it) ? "they wait for the device" : "not used for fits");
	if (it->late > 0)
		buf_addf(out, "    %.0f completed unseen before the wait that ended them: no time of theirs is used\n",
			 it->late);
	if (it->inside > 0)
		buf_addf(out, "    %.0f inside a call of another API, whose time holds theirs\n", it->inside);
}

static void site_figures(const struct offload_view *v, const struct offload_item *it, const struct offload_site *s,
			 struct buf *out)
{
	double rate = offload_calls_per_s(it, s->calls * offload_site_scale(it)),
	       share = offload_cpu(v, it).value * s->ns / it->host_ns;

	buf_addstr(out, "                  ");
	if (rate >= 0) {
		add_count_or_dash(out, rate);
		buf_addstr(out, " a second, ");
	}
	if (s->bytes_of.total > 0) {
		buf_addstr(out, "median ");
		size(out, spread_quantile(&s->bytes_of, 0.5));
		buf_addstr(out, ", ");
	}
	if (s->time.total > 0) {
		timing(out, it, spread_quantile(&s->time, 0.5));
		buf_addstr(out, " (90 % below ");
		duration(out, fmax(it->below_ns, spread_quantile(&s->time, 0.9)));
		buf_addstr(out, "), ");
	} else if (s->calls > 0 && it->kind != FMT_OK_KERNEL) {
		buf_addstr(out, "mean ");
		timing(out, it, s->ns / s->calls);
		buf_addstr(out, ", ");
	}
	if (share >= 0)
		buf_addf(out, "%.1f %% CPU", share * 100);
	else
		buf_addstr(out, "CPU unknown");
	buf_addch(out, '\n');
}

static void show_sites(const struct offload_view *v, const struct offload_item *it, struct buf *out)
{
	double scale = offload_site_scale(it);
	size_t all = 0, n;

	while (all < it->sites_cnt && it->sites[all].calls > 0) /* the others are of open calls */
		all++;
	if (!all)
		return;
	n = all < SITES ? all : SITES;
	buf_addstr(out, "    called from\n");
	for (size_t i = 0; i < n; i++) {
		const struct profile_function *f = offload_caller(v, &it->sites[i]);

		right(out, 16, add_count_or_dash, it->sites[i].calls * (isnan(scale) ? 1 : scale));
		buf_addstr(out, "  ");
		if (f) {
			text_name(out, f->name, 48, 0);
			buf_addf(out, " (");
			text_name(out, f->object, 32, 0);
			buf_addstr(out, ")\n");
		} else if (it->sites[i].addr) {
			buf_addf(out, "0x%lx\n", (unsigned long)it->sites[i].addr);
		} else {
			buf_addstr(out, "(others)\n");
		}
		site_figures(v, it, &it->sites[i], out);
	}
	if (all > n)
		buf_addf(out, "                  and %zu more places\n", all - n);
}

static void payoff(const struct logca_payoff *p, double gmin, double gmax, double error, struct buf *out)
{
	buf_addstr(out, "    ");
	switch (p->verdict) {
	case LOGCA_ALWAYS: buf_addstr(out, "the accelerator is faster at every size seen"); break;
	case LOGCA_NEVER: buf_addstr(out, "the accelerator is slower at every size seen"); break;
	case LOGCA_FROM:
		buf_addstr(out, "the accelerator is faster from ");
		size(out, p->from);
		break;
	case LOGCA_UNTIL:
		buf_addstr(out, "the accelerator is faster up to ");
		size(out, p->to);
		break;
	case LOGCA_BETWEEN:
		buf_addstr(out, "the accelerator is faster between ");
		size(out, p->from);
		buf_addstr(out, " and ");
		size(out, p->to);
		break;
	case LOGCA_OUTSIDE: buf_addstr(out, "the two sides were not seen at common sizes"); break;
	}
	buf_addf(out, ";\n    sizes seen ");
	size(out, gmin);
	buf_addstr(out, " to ");
	size(out, gmax);
	buf_addf(out, ", mean error of the fit %.1f %%\n", error * 100);
}

static void doubtful(const char *doubt, const struct text_style *style, struct buf *out)
{
	buf_addstr(out, "    cannot tell from which size on: ");
	text_wrap(out, doubt, 36, 4, style->width);
}

static void fates(const struct offload_view *v, const struct offload_whatif *w, struct buf *out)
{
	double win = 1 - w->below - w->outside - w->unsure, target = offload_target_ns(v);

	if (w->below > 0) {
		buf_addf(out, "    %.1f %% of the calls are on the wrong side: each would lose ", w->below * 100);
		duration(out, w->lost_ns);
		buf_addf(out, ",\n    %s", w->at_least ? "at least " : "");
		duration(out, w->all_lost_ns);
		buf_addstr(out, " in all\n");
	}
	if (win > 1e-9) {
		buf_addf(out, "    %.1f %% would gain ", win * 100);
		duration(out, w->gained_ns);
		buf_addf(out, " each, %s", w->at_least ? "at least " : "");
		duration(out, w->all_gained_ns);
		buf_addstr(out, " of ");
		duration(out, w->spent_ns);
		buf_addstr(out, " CPU time in all");
		if (target > w->all_gained_ns && w->all_gained_ns > 0)
			buf_addf(out, ":\n    the process would be %.3gx as fast if only these went there",
				 target / (target - w->all_gained_ns));
		buf_addch(out, '\n');
	}
	if (w->unsure > 0)
		buf_addf(out, "    %.1f %% are too short to be timed, there and here: nothing is said of them\n",
			 w->unsure * 100);
	if (w->outside > 0)
		buf_addf(out, "    %.1f %% are of sizes the accelerator was not measured at: nothing is said of them\n",
			 w->outside * 100);
}

static void show_whatif_of_call(const struct offload_view *v, const struct offload_whatif *w,
				const struct text_style *style, struct buf *out)
{
	text_hue_on(out, style, TEXT_BOLD);
	buf_addstr(out, "\nWhat if ");
	title(w->item, !(w->same_level == 0), out);
	buf_addstr(out, " went to ");
	text_name(out, w->accelerator, 0, 0);
	text_hue_off(out, style, TEXT_BOLD);
	buf_addch(out, '\n');
	if (w->device) {
		buf_addstr(out, "    ");
		text_name(out, w->device, 76, 0);
		buf_addch(out, '\n');
	}
	if (w->baseline) {
		buf_addstr(out, "    measured beside ");
		text_name(out, w->baseline, 60, 0);
		buf_addch(out, '\n');
	}
	if (w->note) {
		buf_addstr(out, "    ");
		text_wrap(out, w->note, 4, 4, style->width);
	}
	if (!isnan(w->same_level))
		buf_addf(out,
			 "    level %d: %.1f %% of its calls, compared; other levels %.1f %%, level not seen %.1f %%\n",
			 w->level, w->same_level * 100, w->other_level * 100, w->no_level * 100);
	if (w->fitted && w->doubt)
		doubtful(w->doubt, style, out);
	else if (w->fitted)
		payoff(&w->payoff, w->gmin, w->gmax, w->fit_error, out);
	else if (w->known)
		buf_addstr(out, "    no break-even, the sizes are too few for a curve: compared at these\n");
	if (w->known) {
		fates(v, w, out);
		return;
	}
	buf_addstr(out, "    not known: ");
	text_wrap(out, w->why_not, 15, 4, style->width);
}

static void show_verdict(const struct offload_verdict *d, const struct text_style *style, struct buf *out)
{
	text_hue_on(out, style, TEXT_BOLD);
	buf_addstr(out, "\nDoes it pay: ");
	text_name(out, d->name, 0, 0);
	text_hue_off(out, style, TEXT_BOLD);
	buf_addch(out, '\n');
	if (!d->fitted) {
		buf_addstr(out, "    not fitted: ");
		text_wrap(out, d->why_not, 16, 4, style->width);
		return;
	}
	if (d->doubt)
		doubtful(d->doubt, style, out);
	else
		payoff(&d->payoff, d->fit.gmin, d->fit.gmax, d->fit.error, out);
	if (!d->doubt && d->fit.roots == 1 && d->fit.g1[0].lo >= 0) {
		buf_addstr(out, "    break-even between ");
		size(out, d->fit.g1[0].lo);
		buf_addstr(out, " and ");
		if (isfinite(d->fit.g1[0].hi))
			size(out, d->fit.g1[0].hi);
		else
			buf_addstr(out, "any size");
		buf_addstr(out, " (90 %)\n");
	}
	if (d->below > 0) {
		buf_addf(out, "    %.1f %% of its accelerated calls are on the wrong side and lose ", d->below * 100);
		duration(out, d->wasted_ns);
		buf_addstr(out, " each, ");
		if (d->accelerated_calls >= 0)
			duration(out, d->wasted_ns * d->below * d->accelerated_calls);
		else
			buf_addstr(out, "an unknown time");
		buf_addstr(out, " in all\n");
	}
	for (unsigned i = 0; i < d->fit.notes && i < 3; i++) {
		buf_addstr(out, "    ");
		text_wrap(out, d->fit.note[i], 4, 4, style->width);
	}
}

static void losses(const struct offload_summary *s, const struct text_style *style, struct buf *out)
{
	AUTO_BUF(b);

	if (s->nameless_calls || s->nameless_records) {
		text_count(&b, s->nameless_calls);
		buf_addstr(&b, " counted calls and ");
		text_count(&b, s->nameless_records);
		buf_addstr(
			&b,
			" records of calls are of functions that the file does not name in time: no figure has them. ");
	}
	if (s->placeless > 0) {
		text_count(&b, whole_number(s->placeless));
		buf_addstr(&b, " calls came from more places than are told apart: no place has their times.");
	}
	if (!b.len)
		return;
	buf_addch(out, '\n');
	text_wrap(out, b.data, 0, 0, style->width);
}

/* What the recorder had to say of libraries and their probes: why something is not there. */
static void recorder_notes(const struct profile *p, const struct text_style *style, struct buf *out)
{
	const char *line = profile_meta(p, "offload.notes"), *end;
	unsigned shown = 0, more = 0;

	for (; line && *line; line = *end ? end + 1 : end) {
		AUTO_BUF(one);
		AUTO_BUF(clean);

		end = strchrnul(line, '\n');
		buf_add(&one, line, (size_t)(end - line));
		/* what probes cost and how many there were stands above */
		if (end == line || !strncmp(line, "offload: ", 9))
			continue;
		if (shown == NOTE_LINES) {
			more++;
			continue;
		}
		buf_addstr(out, shown++ ? "" : "\n");
		clean_add(&clean, one.data, CLEAN_TEXT);
		text_wrap(out, clean.data, 0, 2, style->width);
	}
	if (more)
		buf_addf(out, "and %u more such lines\n", more);
}

static unsigned screen_lines(const struct buf *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

static void call_in_full(const struct offload_view *v, const struct offload_item *it, const struct text_style *style,
			 struct buf *out)
{
	buf_addch(out, '\n');
	text_hue_on(out, style, TEXT_BOLD);
	title(it, true, out);
	text_hue_off(out, style, TEXT_BOLD);
	buf_addstr(out, " (");
	text_name(out, it->library, 0, 0);
	buf_addstr(out, ")\n");
	cpu(v, it, out);
	show_call_counts(v, it, out);
	octaves(it, style, out);
	times(v, it, out);
	show_sites(v, it, out);
}

/* As many as fit on the screen beside what else is told, at least those of one call; the others on request. */
static void calls_in_full(const struct offload_view *v, unsigned used, const struct text_style *style, struct buf *out)
{
	unsigned more = 0, shown = 0;

	for (size_t i = 0; i < v->summary->items_cnt; i++) {
		const struct offload_item *it = &v->summary->items[i];
		AUTO_BUF(one);

		if (it->kind == FMT_OK_WAIT || !offload_passes(v->filter, it))
			continue;
		if (!more)
			call_in_full(v, it, style, &one);
		used += screen_lines(&one);
		if (v->screen && (more || (shown && used > v->screen))) {
			more++;
			continue;
		}
		shown++;
		buf_add(out, one.data, one.len);
	}
	if (more)
		buf_addf(out, "\nsizes, times and callers of %u more call%s: --all, or --symbol NAME\n", more,
			 more == 1 ? "" : "s");
}

void offload_text(const struct offload_view *v, const struct text_style *style, struct buf *out)
{
	const struct offload_summary *s = v->summary;
	struct filtered of = offload_filtered(v);
	AUTO_BUF(rest);

	trust_text(v->trust, "", style, out);
	filtered_text(&of, "", style, out);
	text_hue_on(out, style, TEXT_BOLD);
	buf_addstr(out, "Offload calls in ");
	text_name(out, v->file, 0, 0);
	text_hue_off(out, style, TEXT_BOLD);
	if (s->has_cost) {
		buf_addstr(out, ": a probed call cost ");
		duration(out, s->cost.call_ns);
		buf_addstr(out, ";\n");
		duration(out, s->cost.inside_ns);
		buf_addstr(out, " of it fell inside the measured times and is taken off them");
	}
	if (s->two_costs) {
		buf_addstr(out, ";\n");
		duration(out, s->cost.emulated_call_ns);
		buf_addstr(out, " and ");
		duration(out, s->cost.emulated_inside_ns);
		buf_addstr(out, " where the kernel emulates a function's first instruction");
	}
	buf_addstr(out, "\n\n");
	show_table(v, style, out);
	losses(s, style, &rest);
	recorder_notes(v->profile, style, &rest);
	for (size_t i = 0; i < v->verdicts_cnt; i++)
		show_verdict(&v->verdicts[i], style, &rest);
	for (size_t i = 0; i < v->whatif_cnt; i++)
		if (offload_passes(v->filter, v->whatif[i].item))
			show_whatif_of_call(v, &v->whatif[i], style, &rest);
	calls_in_full(v, screen_lines(out) + screen_lines(&rest), style, out);
	buf_add(out, rest.data, rest.len);
}
