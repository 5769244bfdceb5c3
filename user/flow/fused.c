// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fused estimator: bytes per load instruction from the samples; whose bytes they are from rule A
 * (last_writer.h) and from watch windows, pooled by load instruction; intervals from refits on resampled
 * loads and windows, widened by how far the two kinds of evidence disagree.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/unlocated_loads.h"
#include "flow/estimators.h"
#include "flow/fused_priv.h"
#include "flow/inclusive.h"
#include "flow/kim_edwards.h"
#include "flow/window_delay.h"
#include "flow/volume_error.h"
#include "util/grow.h"
#include "util/random.h"

#define NOBODY 0.3 /* how likely it is that nobody wrote what nobody was seen to write since the start */

static void fit_release(struct fused_fit *f)
{
	last_writer_release(&f->c);
	free(f->cell);
	map_release(&f->cell_at);
	free(f->read_cell);
	place_release(&f->place);
	free(f->read_part);
	free(f->read_first);
	free(f->read_valid);
	free(f->read_right);
	free(f->ev);
	free(f->site_func);
	free(f->unknown_edge);
	free(f->site_size);
	rewrite_rate_release(&f->still);
	bursts_release(&f->bursts);
	free(f->burst_cell);
	free(f->late);
	free(f->group);
	free(f->alike_group);
	free(f->alike_edge);
	map_release(&f->alike_at);
	edge_ids_release(&f->edges);
}

static uint32_t alike_of(struct fused_fit *f, uint32_t group, uint32_t producer, uint32_t edge)
{
	bool added;
	uint64_t *at = map_put(&f->alike_at, (uint64_t)group << 32 | producer, &added);

	if (!at)
		return FLOW_NONE;
	if (added) {
		if (!GROW(f->alike_group, f->alike_count, f->alike_cap, 1024) ||
		    !GROW(f->alike_edge, f->alike_count, f->alike_cap2, 1024))
			return FLOW_NONE;
		f->alike_group[f->alike_count] = group;
		f->alike_edge[f->alike_count] = edge;
		*at = f->alike_count++;
	}
	return (uint32_t)*at;
}

static uint32_t cell_of(struct fused_fit *f, uint32_t site, uint32_t producer, enum cell_kind kind)
{
	bool added;
	uint64_t *at = map_put(&f->cell_at, (uint64_t)kind << 62 ^ (uint64_t)site << 32 ^ producer, &added);

	if (!at)
		return FLOW_NONE;
	if (added) {
		uint32_t edge = edge_id(&f->edges, producer, f->site_func[site]);
		uint32_t alike = edge == FLOW_NONE ? FLOW_NONE : alike_of(f, f->group[site], producer, edge);

		if (alike == FLOW_NONE || !GROW(f->cell, f->cell_count, f->cell_cap, 1024))
			return FLOW_NONE;
		f->cell[f->cell_count] = (struct fused_cell){
			.site = site, .producer = producer, .edge = edge, .alike = alike, .kind = kind
		};
		*at = f->cell_count++;
	}
	return (uint32_t)*at;
}

/* What a recording from the start did not see written was not written; one that came later missed much. */
static enum cell_kind cell_kind_of(const struct fused_fit *f, const struct last_written *a)
{
	return a->near == NEAR_NONE && !a->overwritten && !f->in->from_start ? STAYS : KNOWN;
}

static double fresh(const struct fused_fit *f, uint32_t site, const struct last_written *a)
{
	return f->c.time_bias ? rewrite_rate_valid(&f->still, site, a->age) : 1;
}

/* How likely it is that a record's writer writes there, whenever that is. Of stores a few are seen, drawn like the
 * writes of all others there; what a system call fills is seen each time: it is one of all writes since. */
static double writes_there(const struct fused_fit *f, uint32_t site, const struct last_written *a)
{
	double right = a->near < NEAR_NONE;
	bool call = a->site == FLOW_NONE && a->near > NEAR_CONSTANT && !a->overwritten;

	return call && f->c.time_bias ? right / (1 + rewrite_rate_writes(&f->still, site, a->age)) : right;
}

static double chance_valid(const struct fused_fit *f, uint32_t site, const struct last_written *a)
{
	double v = a->near == NEAR_NONE && f->in->from_start ? NOBODY : 1;

	return fmax(v * fresh(f, site, a), LEAST_VALID);
}

/* Who is known to write what a function reads with one width is likely to have written what it reads elsewhere. */
static int group_sites(struct fused_fit *f)
{
	struct map at = { 0 };
	int err = 0;

	f->group = calloc(f->c.site_count + 1, sizeof(*f->group));
	for (uint32_t i = 0; f->group && i < f->c.site_count && !err; i++) {
		bool added;
		uint64_t *g = map_put(&at,
				      (uint64_t)f->site_func[i] << 32 |
					      (f->c.time_bias ? 0 : (uint32_t)fmin(f->site_size[i], UINT32_MAX)),
				      &added);

		if (g && added)
			*g = f->group_count++;
		err = g ? 0 : -ENOMEM;
		f->group[i] = g ? (uint32_t)*g : 0;
	}
	map_release(&at);
	return f->group ? err : -ENOMEM;
}

static int unknown_edges(struct fused_fit *f)
{
	f->unknown_edge = malloc((f->c.site_count + 1) * sizeof(*f->unknown_edge));
	for (uint32_t i = 0; f->unknown_edge && i < f->c.site_count; i++) {
		f->unknown_edge[i] =
			f->site_func[i] == FLOW_NONE ? FLOW_NONE : edge_id(&f->edges, f->in->unknown, f->site_func[i]);
		if (f->unknown_edge[i] == FLOW_NONE && f->site_func[i] != FLOW_NONE)
			return -ENOMEM;
	}
	return f->unknown_edge ? 0 : -ENOMEM;
}

static int count_site_reads(struct fused_fit *f)
{
	const struct last_writer *c = &f->c;
	double *n = calloc(c->site_count + 1, sizeof(*n));

	f->site_func = malloc((c->site_count + 1) * sizeof(*f->site_func));
	f->site_size = calloc(c->site_count + 1, sizeof(*f->site_size));
	f->read_cell = malloc((c->read_count + 1) * sizeof(*f->read_cell));
	f->read_valid = malloc((c->read_count + 1) * sizeof(*f->read_valid));
	f->read_right = malloc((c->read_count + 1) * sizeof(*f->read_right));
	if (!n || !f->site_func || !f->site_size || !f->read_cell || !f->read_valid || !f->read_right) {
		free(n);
		return -ENOMEM;
	}
	memset(f->site_func, 0xff, (c->site_count + 1) * sizeof(*f->site_func));
	for (uint32_t i = 0; i < f->in->site_count; i++)
		f->site_func[i] = f->in->sites[i].func;
	for (size_t i = 0; i < f->in->access_count; i++) {
		const struct in_access *a = &f->in->access[i];

		if ((a->flags & FMT_A_LOAD) && !(a->flags & FMT_A_CENSUS)) {
			n[a->site]++;
			f->site_size[a->site] += (a->size - f->site_size[a->site]) / n[a->site];
		}
	}
	free(n);
	for (size_t i = 0; i < c->read_count; i++)
		f->site_func[c->reads[i].site] = c->reads[i].func;
	if (group_sites(f) || unknown_edges(f))
		return -ENOMEM;
	for (size_t i = 0; i < c->read_count; i++) {
		f->read_cell[i] = cell_of(f, c->reads[i].site, c->reads[i].a.producer, cell_kind_of(f, &c->reads[i].a));
		f->read_valid[i] = chance_valid(f, c->reads[i].site, &c->reads[i].a);
		f->read_right[i] = writes_there(f, c->reads[i].site, &c->reads[i].a);
		if (f->read_cell[i] == FLOW_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Where stores were drawn by time: their places tell who wrote. */
static int place_reads(struct fused_fit *f)
{
	int err = place_learn(&f->place, f->in, &f->c, &f->still, f->o->stack);

	f->read_first = malloc((f->c.read_count + 1) * sizeof(*f->read_first));
	if (!f->read_first)
		return -ENOMEM;
	for (size_t i = 0; i < f->c.read_count && !err; i++) {
		struct place_part w[PLACE_ROOM];
		unsigned n = place_writers(&f->place, &f->c.reads[i], w);

		f->read_first[i] = f->read_parts;
		for (unsigned k = 0; k < n; k++) {
			struct read_part part = { cell_of(f, f->c.reads[i].site, w[k].producer, KNOWN), w[k].part };

			if (part.cell == FLOW_NONE || !PUSH(f->read_part, f->read_parts, f->read_part_cap, 4096, part))
				return -ENOMEM;
		}
		f->read_first[i + 1] = f->read_parts;
	}
	return err || f->place.no_memory ? -ENOMEM : 0;
}

static int add_evidence(struct fused_fit *f, uint32_t site, uint32_t producer, enum cell_kind kind, uint32_t window,
			double weight)
{
	uint32_t cell = cell_of(f, site, producer, kind);

	if (cell == FLOW_NONE || !GROW(f->ev, f->ev_count, f->ev_cap, 1024))
		return -ENOMEM;
	f->ev[f->ev_count++] = (struct evidence){ .cell = cell, .window = window, .weight = weight };
	return 0;
}

static int take_bursts(struct fused_fit *f)
{
	int err = bursts_learn(&f->bursts, f->in, !f->o->stack);

	f->burst_cell = err ? NULL : malloc((f->bursts.count + 1) * sizeof(*f->burst_cell));
	for (size_t i = 0; f->burst_cell && i < f->bursts.count; i++) {
		f->burst_cell[i] = cell_of(f, f->bursts.writer[i].site, f->bursts.writer[i].func, KNOWN);
		if (f->burst_cell[i] == FLOW_NONE)
			return -ENOMEM;
	}
	return f->burst_cell ? err : -ENOMEM;
}

static int use_window(struct fused_fit *f, uint32_t index)
{
	const struct in_window *w = &f->in->window[index];
	const struct last_written *start = &f->c.window_start[index];
	bool stores = w->arm.flags & FMT_A_STORE;
	enum cell_kind kind = stores ? KNOWN : cell_kind_of(f, start);
	uint32_t cur = stores ? w->arm.func : start->producer, next = window_delay_writer(f->in, w),
		 other = kind == KNOWN || next == FLOW_NONE ? cur : next;
	double len = w->len ? w->len : 1, arm = w->arm.size ? w->arm.size : len, n = w->count;
	double sure = kind == STAYS ? rewrite_rate_window(&f->still, index)
		      : stores      ? window_delay_undisturbed(f->in, w)
				    : chance_valid(f, w->arm.site, start);
	int err = 0;

	if (!f->o->stack && (w->arm.flags & FMT_A_STACK))
		return 0;
	/* where no record knows anything: the next to write there is likely to be who did so before, too */
	if (start->near == NEAR_NONE && !stores && kind == KNOWN && next != FLOW_NONE)
		cur = next;
	for (uint32_t i = 0; !err && i < w->count; i++) {
		const struct in_hit *h = &f->in->hit[w->first + i];
		double size = f->site_size[h->site] > 0 ? f->site_size[h->site] : len;
		double weight = arm / fmin(len, arm) * fmin(len, size) / n;

		if (f->late[index] && !stores && h->func == w->arm.func)
			weight *= LATE_WORTH;

		/* a read-modify-write reads what was there first */
		if (h->flags & FMT_A_LOAD)
			err = add_evidence(f, h->site, cur, kind, index, weight * sure);
		if (h->flags & FMT_A_LOAD && sure < 1 && !err)
			err = add_evidence(f, h->site, other, MOVES, index, weight * (1 - sure));
		if (h->flags & FMT_A_STORE)
			cur = h->func, kind = KNOWN, sure = 1;
	}
	return err;
}

/* What bursts tell is drawn by their parts, and what a burst read, with it. */
static void draw_all(struct fused_fit *f, struct fused_drawn *d, uint64_t *state)
{
	uint64_t own; /* so that without earlier recordings all is drawn as ever */

	resample_draw(d->read, f->c.read_count, state);
	resample_draw(d->window, f->in->window_count, state);
	resample_draw(d->part, f->in->parts.count, state);
	resample_draw(d->call, f->in->calls.count, state);
	call_draw(&f->in->calls, d->call, d->call_factor);
	if (!f->in->parts.count || !f->bursts.sites)
		return;
	own = *state ^ 0x9e3779b97f4a7c15ull;
	for (size_t i = 0; i < f->c.read_count; i++)
		if (f->c.reads[i].burst)
			d->read[i] = d->part[f->in->burst[f->c.reads[i].burst - 1].part];
	bursts_draw_earlier(&f->bursts, f->in, &own);
	bursts_again(&f->bursts, f->in, d->part);
}

static void add_refit(const struct fused_fit *f, const double *edge, struct edge_sums *t, struct resample_spread *sp)
{
	uint32_t m = f->edges.count, g = f->in->func_count;

	edge_ids_sum(&f->edges, g, edge, t);
	for (size_t i = 0; i < sp->n; i++)
		spread_add(sp, i, i < m ? edge[i] : i < (size_t)m + g ? t->in[i - m] : t->out[i - m - g]);
}

static int begin_volume(const struct fused_fit *f, struct volume_error *v)
{
	int err = volume_error_new(v, f->in);

	for (size_t i = 0; i < f->c.read_count && !err && f->c.time_bias; i++)
		if (!f->c.reads[i].call && !f->c.reads[i].burst && f->c.reads[i].site < v->sites)
			volume_error_add(v, f->c.reads[i].site, f->c.reads[i].bytes);
	return err;
}

static int bootstrap(struct fused_fit *f, struct fused_scratch *s, struct edge_sums *t, struct resample_spread *sp)
{
	struct fused_drawn d = { malloc(f->c.read_count + 1), malloc(f->in->window_count + 1),
				 malloc(f->in->parts.count + 1), malloc(f->in->calls.count + 1),
				 malloc((f->in->calls.count + 1) * sizeof(*d.call_factor)) };
	struct volume_error volume = { 0 };
	uint64_t state = f->o->seed * 0x9e3779b97f4a7c15ull | 1, other = state;
	int err = d.read && d.window && d.part && d.call && d.call_factor ? begin_volume(f, &volume) : -ENOMEM;

	for (unsigned b = 0; b < f->o->bootstraps && !err; b++) {
		draw_all(f, &d, &state);
		fused_refit(f, USE_BOTH, &d, s);
		add_refit(f, s->edge, t, &sp[BY_CHANCE]);
		volume_error_draw(&volume, f->in, &other);
		for (uint32_t i = 0; i < f->edges.count; i++)
			s->edge[i] *= volume.reader[f->edges.consumer[i]];
		add_refit(f, s->edge, t, &sp[IN_ALL]);
	}
	free(d.read);
	free(d.window);
	free(d.part);
	free(d.call);
	free(d.call_factor);
	volume_error_release(&volume);
	return err;
}

static int solve(struct fused_fit *f, enum fused_use use, struct flow *out)
{
	uint32_t m = f->edges.count, g = f->in->func_count;
	bool intervals = use == USE_BOTH && f->o->bootstraps > 1;
	size_t figures = intervals ? (size_t)m + 2 * (size_t)g : 0;
	struct resample_spread sp[SCATTERS] = { { .n = figures }, { .n = figures } };
	struct fused_scratch s = { 0 };
	struct parts p = { 0 };
	struct edge_sums t[3] = { { 0 } };
	double *block = calloc((size_t)5 * (m + 1) + 2 * SCATTERS * figures + (size_t)6 * (g + 1), sizeof(double)),
	       *b = block;
	int err = -ENOMEM;

	if (!block || !fused_scratch(&s, f))
		goto out;
	p.fused = b, b += m + 1;
	p.cascade = b, b += m + 1;
	p.windows = b, b += m + 1;
	p.n = b, b += m + 1;
	p.near = b, b += m + 1;
	for (int k = 0; k < SCATTERS; k++) {
		sp[k].sum = b, b += figures;
		sp[k].squares = b, b += figures;
	}
	for (int k = 0; k < 3; k++) {
		t[k].in = b, b += g + 1;
		t[k].out = b, b += g + 1;
	}
	fused_refit(f, USE_BOTH, NULL, &s);
	memcpy(p.fused, s.edge, m * sizeof(double));
	fused_earlier(f, &s, out);
	if (f->read_first && fused_guesses(f, &s, out))
		goto out;
	fused_refit(f, USE_CASCADE, NULL, &s);
	memcpy(p.cascade, s.edge, m * sizeof(double));
	fused_refit(f, USE_WINDOWS, NULL, &s);
	memcpy(p.windows, s.edge, m * sizeof(double));
	if (use != USE_WINDOWS)
		edge_ids_scale(&f->edges, f->in->func_count, p.windows, p.fused);
	fused_support(f, p.n, p.near);
	err = intervals ? bootstrap(f, &s, &t[0], sp) : 0;
	if (!err)
		err = fused_writer_errors(f, p.fused, &p.we);
	if (!err)
		err = fused_result(f, use, &p, sp, t, out);
	writer_error_release(&p.we);
	if (intervals)
		out->level = f->o->level;
out:
	free(block);
	free(s.block);
	return err;
}

static int estimate_with(const struct flow_input *in, const struct est_opts *o, struct flow *out, struct err *e,
			 enum fused_use use)
{
	struct fused_fit f = { .in = in, .o = o };
	int err;

	if (o->ke && (use != USE_BOTH || !in->has_invocations))
		return err_set(
			e, -ENODATA,
			"these samples do not say which invocation they came from, which the ke semantics is about; "
			"record with `accperf exact --semantics ke -- COMMAND`");
	if (!in->access_count)
		return err_set(
			e, -ENODATA,
			in->has_x
				? "the profile holds exact figures and no samples; `accperf exact --emit-samples 1000 -- COMMAND` adds some"
				: "the profile holds no memory accesses; record with `accperf record` or `accperf exact`");
	err = last_writer_run(in, o, &f.c, e);
	if (err)
		return err;
	err = unlocated_loads_add(in, o, &f.c);
	if (!err)
		err = (f.late = window_delay_apply(in)) ? rewrite_rate_learn(&f.still, in, o) : -ENOMEM;
	if (!err)
		err = count_site_reads(&f);
	if (!err && f.c.time_bias)
		err = place_reads(&f);
	for (uint32_t i = 0; !err && o->use_windows && i < in->window_count; i++)
		err = use_window(&f, i);
	if (!err)
		err = take_bursts(&f);
	if (!err)
		err = solve(&f, use, out);
	out->time_bias = f.c.time_bias;
	out->cut_ranges = f.c.cut_bytes;
	/* samples that the exact engine drew are judged as what they stand for */
	if (in->engine == FLOW_EXACT)
		out->engine = out->time_bias ? FLOW_SOFT : FLOW_PMU;
	out->loads = f.c.loads;
	out->stores = f.c.stores;
	out->windows = o->use_windows ? (double)in->window_count : 0;
	if (!err && !o->edges_alone)
		err = fused_unique(&f, out);
	/* the figures are of the input alone, and reads are most of the memory: only these two ask for them later */
	if (!o->inclusive && !o->ke) {
		fit_release(&f);
		f = (struct fused_fit){ .in = in, .o = o };
	}
	if (!err && !o->edges_alone)
		err = flow_figures(in, o, out);
	if (!err && !o->edges_alone)
		err = flow_calls(in, o, out);
	if (!err && o->inclusive && !o->ke)
		err = flow_inclusive(in, o, &f.c, out);
	if (!err && o->ke)
		err = flow_kim_edwards(in, o, &f.c, out);
	fit_release(&f);
	return err == -ENOMEM ? err_set(e, err, "out of memory") : err;
}

static int run_fused(const struct flow_input *in, const struct est_opts *o, struct flow *out, struct err *e)
{
	return estimate_with(in, o, out, e, USE_BOTH);
}

static int run_cascade(const struct flow_input *in, const struct est_opts *o, struct flow *out, struct err *e)
{
	return estimate_with(in, o, out, e, USE_CASCADE);
}

static int run_windows(const struct flow_input *in, const struct est_opts *o, struct flow *out, struct err *e)
{
	return estimate_with(in, o, out, e, USE_WINDOWS);
}

const struct est_ops flow_fused = { "fused", run_fused };
const struct est_ops flow_cascade = { "cascade", run_cascade };
const struct est_ops flow_windows = { "windows", run_windows };
