// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/burst_entries.h"
#include "counts/counts_repeats.h"
#include "counts/counts_report.h"
#include "counts/segment_shares.h"
#include "util/grow.h"
#include "util/normal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the logarithm of the bytes that a repeated string instruction moves in a cycle, for which the model has
 * EMU_REPEAT_BYTES; of memory that is far it is a quarter, in near caches four times as many; 95 %. */
#define REPEAT_SD 0.7
#define UNSEEN_SAMPLES 3.0 /* that code may have had, 95 %, of which there is none */

#define FIGURE_WIDE 1e5    /* times from the lower end of an interval to the upper one: more says nothing */
#define MOSTLY 0.5         /* more than half */
#define LEAST_COUNTED 0.1  /* of a function, by segments: of less they know next to nothing */
#define RUNS_KNOWN_VAR 0.1 /* of the log: below it (a factor of 1.37) runs are shown as known; by hand */

struct maker {
	const struct counts_record *r;
	const struct profile *p;
	struct counts_built *built;
	struct counts_report *out;
	uint32_t *row_of; /* by function of the record */
	struct counts_repeats *repeats;
	bool *want;
	double *var; /* by node, of the log of its runs */
	size_t detail;
};

static const struct counts_figure unknown = { NAN, NAN, NAN };

struct counts_figure counts_figure_of(double value, double var)
{
	double half = Z95 * sqrt(var);

	return isnan(var) ? (struct counts_figure){ value, NAN, NAN }
			  : (struct counts_figure){ value, value * exp(-half), value * exp(half) };
}

bool counts_figure_known(const struct counts_figure *f)
{
	return f->value > 0 && f->high <= f->low * FIGURE_WIDE;
}

bool counts_at_most(const struct counts_figure *f)
{
	return isnan(f->value) && f->high > 0;
}

/* A link's ratio as it came out, with an interval that holds what was measured and what is shown. A
 * trip count is shown as measured, unless it is not believed. */
static struct counts_figure link_figure(const struct counts_link *l)
{
	bool as_measured = l->ratio.how == COUNTS_TRIPS && !l->broken;
	struct counts_figure f = { l->ratio.ratio * (as_measured ? 1 : l->correction), l->ratio.low, l->ratio.high };

	if (isnan(l->ratio.ratio))
		return unknown;
	f.low = fmin(f.low, f.value);
	f.high = fmax(f.high, f.value);
	return f;
}

/* ---- rows ---- */

static void name_row(const struct maker *m, const struct fmt_counts_func *f, struct counts_row *row)
{
	uint32_t frame = profile_counts_frame(m->p, f->id);
	const struct profile_frame *at = frame ? &m->p->frames[frame] : NULL;
	const struct profile_line *outer = at && at->count ? &m->p->lines[at->first + at->count - 1] : NULL;
	const struct profile_function *fn = &m->p->functions[outer ? outer->function : 0];

	/* all code without bounds of a module is one row, of which a name would be that of its first sample */
	row->name = f->flags & FMT_CF_BARE ? "(code without bounds)" : fn->name;
	row->object = fn->object;
	row->file = fn->file;
	row->line = fn->line;
}

static void add_work(const struct maker *m)
{
	for (size_t n = 1; n < m->r->nodes; n++) {
		const struct fmt_counts_node *k = &m->r->node[n];
		double runs = m->built->tree.runs[n];
		struct counts_row *row;

		if (k->function == UINT32_MAX)
			continue;
		row = &m->out->row[k->function];
		row->instructions += k->instructions * runs;
		row->compute += k->compute * runs;
		row->loads += k->loads * runs;
		row->stores += k->stores * runs;
		row->load_bytes += k->load_bytes * runs;
		row->store_bytes += k->store_bytes * runs;
	}
}

/* The nodes tell the mix of work, the solver how much of it there is. */
static void scale_work(struct counts_row *row, double instructions)
{
	double by = row->instructions > 0 ? instructions / row->instructions : NAN;

	row->instructions = instructions;
	row->compute *= by;
	row->loads *= by;
	row->stores *= by;
	row->load_bytes *= by;
	row->store_bytes *= by;
}

/* Where time tells a function's instructions, and repetitions take that time, how many they are for each instruction
 * moves both alike: not that, but how many bytes they move in a cycle is uncertain then. */
static void find_repeats(struct maker *m)
{
	double usual, *cycles = counts_repeats_cycles(m->r, &usual);

	for (size_t i = 0; i < m->r->funcs; i++)
		m->repeats[i] = counts_repeats_of(NULL);
	for (size_t i = 0; i < m->r->repeated; i++) {
		uint32_t at = m->r->repeats[i].function;
		const struct fmt_counts_func *f = &m->r->func[at];
		double held = cycles && f->cycles > 0 ? fmin(1, cycles[at] * f->timed / f->cycles) : 0;

		m->repeats[at] = counts_repeats_of(&m->r->repeats[i]);
		m->repeats[at].slow = cycles && usual > 0 ? cycles[at] / usual : 0;
		held *= 1 - m->built->tree.group[at].trust;
		m->repeats[at].log_var *= (1 - held) * (1 - held);
		m->repeats[at].log_var += held * held * REPEAT_SD * REPEAT_SD;
	}
	free(cycles);
}

static void add_repeats(struct counts_row *row, const struct counts_repeats *r)
{
	row->once = row->instructions;
	row->loads += row->once * r->loads;
	row->stores += row->once * r->stores;
	row->load_bytes += row->once * r->load_bytes;
	row->store_bytes += row->once * r->store_bytes;
	row->instructions *= r->times;
}

/* NaN stays what it is. */
static double of_whole(double share)
{
	return share > 1 ? 1 : share;
}

/* How many times as large and as small the whole may be, 95 %, as it is not known how often `rep` instructions went
 * on. */
struct whole {
	double all, once, samples; /* once: of all, without repetitions */
	double up2, down2;         /* squares of logarithms, over functions */
};

/* Logarithms of 95 %: how far a function's instructions with repetitions may be above and below what is told. Above by
 * no more than repetitions fit into the time that its samples leave room for. */
static void repeats_reach(const struct whole *w, const struct counts_group *g, const struct counts_repeats *r,
			  double *up, double *down)
{
	double var = Z95 * Z95 * r->log_var, high = log(g->high / g->instructions), low = log(g->instructions / g->low);
	double k = (double)g->samples, time = (k + 2 * sqrt(k) + UNSEEN_SAMPLES) / w->samples, most;

	*up = sqrt(high * high + var);
	*down = sqrt(low * low + var);
	most = log(time * w->once / (r->slow * g->instructions)) + Z95 * REPEAT_SD;
	if (r->slow > 0 && *up > most)
		*up = fmax(0, most);
}

/* What that of one function does to the whole: by its repetitions alone, as the rest is in every share's interval. */
static void add_whole(struct whole *w, const struct counts_group *g, const struct counts_repeats *r, int sign)
{
	double part = g->instructions * (r->times - 1) / w->all, up, down;

	if (!(part > 0))
		return;
	repeats_reach(w, g, r, &up, &down);
	up = log(1 + part * (exp(up) - 1));
	down = -log(1 - part * (1 - exp(-down)));
	w->up2 += isnan(up) ? 0 : sign * up * up;
	w->down2 += isnan(down) ? 0 : sign * down * down;
}

/* others: the whole's reach, but for this function's part of it. */
static struct counts_figure share_of(const struct counts_group *g, const struct counts_repeats *r, struct whole others)
{
	double value = g->instructions * r->times / others.all, up, down;

	add_whole(&others, g, r, -1);
	repeats_reach(&others, g, r, &up, &down);
	return (struct counts_figure){ value, value * exp(-sqrt(down * down + fmax(0, others.up2))),
				       of_whole(value * exp(sqrt(up * up + fmax(0, others.down2)))) };
}

static struct whole whole_of(const struct maker *m)
{
	const struct counts_group *g = m->built->tree.group;
	struct whole w = { 0 };

	for (size_t i = 0; i < m->r->funcs; i++) {
		w.all += isnan(g[i].instructions) ? 0 : m->repeats[i].times * g[i].instructions;
		w.once += isnan(g[i].instructions) ? 0 : g[i].instructions;
		w.samples += (double)g[i].samples;
	}
	for (size_t i = 0; i < m->r->funcs && w.all > 0; i++)
		add_whole(&w, &g[i], &m->repeats[i], 1);
	return w;
}

static void fill_rows(struct maker *m)
{
	struct counts_report *out = m->out;
	const struct counts_tree *t = &m->built->tree;
	double all, time = 0, counted = 0, in_segments = 0;
	struct whole whole;

	find_repeats(m);
	whole = whole_of(m);
	all = whole.all;
	for (size_t i = 0; i < m->r->funcs; i++) {
		time += m->r->func[i].self_ns;
		out->samples += t->group[i].samples;
	}
	out->cpu_seconds = time / 1e9;
	add_work(m);
	for (size_t i = 0; i < m->r->funcs; i++) {
		const struct fmt_counts_func *f = &m->r->func[i];
		const struct counts_group *g = &t->group[i];
		struct counts_row *row = &out->row[i];

		name_row(m, f, row);
		row->addr = f->start;
		row->flags = f->flags;
		row->blocks = f->blocks;
		row->samples = g->samples;
		row->trust = g->trust;
		row->by_segments = g->by_segments;
		row->time = g->samples && time > 0 ? f->self_ns / time : NAN;
		row->share = all > 0 ? share_of(g, &m->repeats[i], whole) : unknown;
		scale_work(row, g->instructions);
		add_repeats(row, &m->repeats[i]);
		row->second = unknown;
		row->calls = NAN;
		row->per_call = unknown;
		row->how = COUNTS_UNKNOWN;
		counted += g->trust > 0.5 && !isnan(row->instructions) ? row->instructions / all : 0;
		in_segments += isnan(row->instructions) ? 0 : g->by_segments * row->instructions;
	}
	out->counted = all > 0 ? counted : 0;
	out->in_segments = all > 0 ? in_segments / all : 0;
}

static int by_instructions(const void *a, const void *b, void *rows)
{
	const struct counts_row *row = rows, *x = &row[*(const uint32_t *)a], *y = &row[*(const uint32_t *)b];
	double p = isnan(x->share.value) ? -1 : x->share.value, q = isnan(y->share.value) ? -1 : y->share.value;

	return p < q ? 1 : p > q ? -1 : x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int sort_functions(struct maker *m)
{
	size_t n = m->r->funcs;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	struct counts_row *rows = calloc(n + 1, sizeof(*rows));

	if (!order || !rows) {
		free(order);
		free(rows);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), by_instructions, m->out->row);
	for (uint32_t i = 0; i < n; i++) {
		rows[i] = m->out->row[order[i]];
		m->row_of[order[i]] = i;
	}
	free(m->out->row);
	m->out->row = rows;
	free(order);
	return 0;
}

/* ---- loops and callers ---- */

static uint32_t row_of_node(const struct maker *m, uint32_t node)
{
	uint32_t f = m->r->node[node].function;

	return node && f != UINT32_MAX ? m->row_of[f] : UINT32_MAX;
}

static void range_of_trips(const struct maker *m, size_t link, struct counts_row_loop *l)
{
	const struct counts_rec_link *k = &m->r->link[link];

	l->least = l->most = NAN;
	for (size_t i = k->window; k->l.how == FMT_CL_TRIPS && i < k->window + k->windows; i++) {
		const struct fmt_counts_window *w = &m->r->window[i];

		if (!(w->anchor > 0) || !(w->least <= w->most))
			continue;
		l->least = fmin(w->least, isnan(l->least) ? INFINITY : l->least);
		l->most = fmax(w->most, isnan(l->most) ? 0 : l->most);
	}
}

static int add_loop(struct maker *m, size_t i)
{
	const struct counts_link *l = &m->built->tree.link[i];
	const struct fmt_counts_node *n = &m->r->node[l->child];
	struct counts_row_loop *row;

	if (!GROW(m->out->loop, m->out->loop_count, m->out->loop_cap, 64))
		return -ENOMEM;
	row = &m->out->loop[m->out->loop_count++];
	*row = (struct counts_row_loop){
		.addr = n->addr,
		.depth = n->depth,
		.second = counts_figure_of(m->built->tree.runs[l->child], m->var[l->child]),
		.trips = link_figure(l),
		.how = counts_ratio_shown(&l->ratio),
		.anchor = l->ratio.anchor,
		.windows = l->ratio.windows,
		.broken = l->broken,
	};
	range_of_trips(m, m->built->link_of[i], row);
	return 0;
}

static int add_counted_call(struct maker *m, size_t i)
{
	const struct counts_link *l = &m->built->tree.link[i];
	const struct fmt_counts_link *rec = &m->r->link[m->built->link_of[i]].l;
	struct counts_row_call *row;
	uint32_t from = row_of_node(m, l->parent);
	double ratio = isnan(l->ratio.ratio) ? 1 : l->ratio.ratio;

	if (!GROW(m->out->call, m->out->call_count, m->out->call_cap, 64))
		return -ENOMEM;
	row = &m->out->call[m->out->call_count++];
	*row = (struct counts_row_call){
		.from = from,
		.site = rec->site,
		.ratio = link_figure(l),
		.how = counts_ratio_shown(&l->ratio),
		.anchor = l->ratio.anchor,
		.windows = l->ratio.windows,
		.broken = l->broken,
		.indirect = rec->flags & FMT_CL_INDIRECT,
		.tail = rec->flags & FMT_CL_TAIL,
		.second = counts_figure_of(m->built->tree.runs[l->parent] * ratio * l->correction,
					   m->var[l->parent] + (isnan(l->ratio.ratio) ? NAN : l->ratio.log_var)),
	};
	if (from != UINT32_MAX) {
		row->name = m->out->row[from].name;
		row->object = m->out->row[from].object;
	}
	return 0;
}

static int better_how(enum counts_how how)
{
	static const int rank[] = { [COUNTS_UNKNOWN] = 0, [COUNTS_TIME] = 1,  [COUNTS_CACHED] = 2,
				    [COUNTS_ONCE] = 3,    [COUNTS_TRIPS] = 4, [COUNTS_RATIO] = 5,
				    [COUNTS_REPLAY] = 6,  [COUNTS_RATE] = 7,  [COUNTS_SEGMENTS] = 8 };

	return rank[how];
}

struct counts_report_item {
	uint32_t row;
	size_t link;
	double key;
};

static int by_row(const void *a, const void *b)
{
	const struct counts_report_item *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key ? 1 : x->link < y->link ? -1 : x->link > y->link;
}

/* Loops in the order of addresses, callers by how often they call. */
static int list_callers_and_loops(struct maker *m, bool loops)
{
	const struct counts_tree *t = &m->built->tree;
	struct counts_report_item *item = malloc((t->links + 1) * sizeof(*item));
	size_t n = 0;
	int rc = item ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->links && !rc; i++) {
		const struct counts_link *l = &t->link[i];
		uint32_t row = row_of_node(m, l->child), kind = m->r->node[l->child].kind;
		bool call = m->r->link[m->built->link_of[i]].l.flags & FMT_CL_CALL;
		double per = t->runs[l->parent] * (isnan(l->ratio.ratio) ? 1 : l->ratio.ratio) * l->correction;

		if (row >= m->detail || l->ratio.how == COUNTS_RATE || (loops ? kind != FMT_CN_LOOP || call : !call))
			continue;
		item[n++] = (struct counts_report_item){ row, i, loops ? (double)m->r->node[l->child].addr : -per };
	}
	if (n)
		qsort(item, n, sizeof(*item), by_row);
	for (size_t i = 0; i < n && !rc; i++) {
		struct counts_row *row = &m->out->row[item[i].row];

		if (loops) {
			row->first_loop = row->loops++ ? row->first_loop : m->out->loop_count;
			rc = add_loop(m, item[i].link);
		} else {
			row->first_call = row->calls_from++ ? row->first_call : m->out->call_count;
			rc = add_counted_call(m, item[i].link);
		}
	}
	free(item);
	return rc;
}

/* Instructions of a run: as far off as both may be, what is run and how often. The farther end of a share's interval
 * tells its error, as it cannot be more than all. */
static struct counts_figure per_call_of(const struct counts_row *row, double runs, double runs_var)
{
	double of_share = log(fmax(row->share.high / row->share.value, row->share.value / row->share.low)) / Z95;

	return runs > 0 ? counts_figure_of(row->instructions / runs, runs_var + of_share * of_share) : unknown;
}

static void fill_entries(struct maker *m)
{
	const struct counts_tree *t = &m->built->tree;

	for (uint32_t n = 1; n < m->r->nodes; n++) {
		uint32_t at = m->r->node[n].kind == FMT_CN_ENTRY ? row_of_node(m, n) : UINT32_MAX;
		struct counts_row *row;

		if (at == UINT32_MAX)
			continue;
		row = &m->out->row[at];
		row->second = counts_figure_of(t->runs[n], m->var[n]);
		row->calls = t->runs[n] * m->out->cpu_seconds;
		row->per_call = per_call_of(row, t->runs[n], m->var[n]);
		/* how often is known, how much each time is not */
		if (!(row->trust > 0.5) && m->var[n] < RUNS_KNOWN_VAR)
			row->how = COUNTS_TIME;
	}
	for (size_t i = 0; i < t->links; i++) {
		const struct counts_link *l = &t->link[i];
		uint32_t at = row_of_node(m, l->child);
		struct counts_row *row = at == UINT32_MAX ? NULL : &m->out->row[at];

		if (row && row->trust > 0.5 && better_how(l->ratio.how) > better_how(row->how))
			row->how = l->ratio.how;
	}
	for (size_t i = 0; i < m->out->row_count; i++)
		if (m->out->row[i].by_segments > MOSTLY)
			m->out->row[i].how = COUNTS_SEGMENTS;
}

/* What is so many a second, or in all. Ratios, shares and instructions a call do not depend on the speed. */
static void forget_rates(struct counts_report *out)
{
	for (size_t i = 0; i < out->row_count; i++) {
		struct counts_row *row = &out->row[i];

		row->second = unknown;
		row->calls = row->instructions = row->once = row->compute = row->loads = row->stores = NAN;
		row->load_bytes = row->store_bytes = NAN;
	}
	for (size_t i = 0; i < out->loop_count; i++)
		out->loop[i].second = unknown;
	for (size_t i = 0; i < out->call_count; i++)
		out->call[i].second = unknown;
}

/* What is off by the ratios and what is off by the speed are apart from each other. */
static void scale_figure(struct counts_figure *f, double by, double low, double high)
{
	double below = hypot(log(f->value / f->low), log(low)), above = hypot(log(f->high / f->value), log(high));

	f->value *= by;
	if (!(f->value > 0))
		return;
	f->low = f->value * exp(-below);
	f->high = f->value * exp(above);
}

/* What the tree tells is brought to how fast the code ran. */
static void take_speed(struct counts_report *out)
{
	double by = out->speed.times, high = exp(Z95 * sqrt(out->speed.added_var)), low = 1 / high;

	for (size_t i = 0; i < out->row_count; i++) {
		struct counts_row *row = &out->row[i];

		scale_figure(&row->second, by, low, high);
		row->calls *= by;
		row->instructions *= by;
		row->once *= by;
		row->compute *= by;
		row->loads *= by;
		row->stores *= by;
		row->load_bytes *= by;
		row->store_bytes *= by;
	}
	for (size_t i = 0; i < out->loop_count; i++)
		scale_figure(&out->loop[i].second, by, low, high);
	for (size_t i = 0; i < out->call_count; i++)
		scale_figure(&out->call[i].second, by, low, high);
}

static void sum_links(struct maker *m)
{
	struct counts_report *out = m->out;
	const struct counts_tree *t = &m->built->tree;
	uint64_t dropped = 0;

	for (size_t i = 0; i < t->links; i++) {
		out->by_how[counts_ratio_shown(&t->link[i].ratio)]++;
		out->links++;
	}
	for (size_t i = 0; i < m->r->windows; i++) {
		const struct fmt_counts_window *w = &m->r->window[i];
		uint32_t how = m->r->link[w->link].l.how;

		if (how == FMT_CL_REPLAY)
			continue;
		out->windows++;
		out->hits += how == FMT_CL_TRIPS ? 2 * w->anchor : w->child + (how == FMT_CL_RATE ? 0 : w->anchor);
	}
	out->speed = counts_speed(m->r, m->built);
	out->bursts = m->r->bursts;
	out->burst_instructions = m->r->burst_instructions;
	out->broken = t->broken;
	out->cycles = t->cycles;
	out->spread = t->ipc_spread;
	out->stretch = t->stretch;
	out->dropped = m->r->dropped;
	out->segments = counts_segments(m->r, &dropped);
	out->dropped += (uint32_t)dropped;
}

/* Without a value, or another one, nothing that was made of the tree's stays. */
static void set_entries(struct counts_report *out, struct counts_row *row, struct counts_figure f)
{
	row->second = f;
	row->calls = f.value * out->cpu_seconds;
	row->per_call = per_call_of(row, f.value, pow(log(f.high / f.low) / (2 * Z95), 2));
	if (isnan(f.value) && row->how == COUNTS_TIME)
		row->how = COUNTS_UNKNOWN;
	out->at_most += counts_at_most(&f);
	for (size_t i = row->first_call; i < row->first_call + row->calls_from; i++) {
		struct counts_figure *c = &out->call[i].second;

		/* what calls it cannot be known to call it more often than it is entered */
		if (isnan(f.value))
			*c = (struct counts_figure){ NAN, 0, f.high };
	}
}

static double relative_width(const struct counts_figure *f)
{
	return counts_figure_known(f) && f->low > 0 ? f->high / f->low : INFINITY;
}

/* Two ways to the same: the one that knows it more closely; both, where they contradict each other. */
static struct counts_figure closer_figure(struct counts_figure a, struct counts_figure b)
{
	struct counts_figure out = relative_width(&a) <= relative_width(&b) ? a : b;

	if (a.high < b.low || b.high < a.low) {
		out.low = fmin(a.low, b.low);
		out.high = fmax(a.high, b.high);
	}
	return out;
}

/* Of all functions, a second, as a burst and a segment count them: what a `rep` repeats is one. */
static double once_per_s(const struct counts_report *r)
{
	double all = 0;

	for (size_t i = 0; i < r->row_count; i++)
		all += fmax(r->row[i].once, 0); /* NaN is none */
	return all;
}

/*
 * Without breakpoints bursts alone tell entries: by the tree, and by how often they entered. Where they hardly did,
 * there are few: how few is not known, and what the tree says is a guess (burst_entries.h).
 */
static void by_entries(const struct maker *m)
{
	struct counts_report *out = m->out;
	double *entries = burst_entries(m->r), per_s = once_per_s(out);

	for (size_t i = 0; i < m->r->funcs && entries; i++) {
		struct burst_entries_rate e = burst_entries_rate(m->r, entries[i]);
		struct counts_row *row = &out->row[m->row_of[i]];
		double low = out->speed.low, high = out->speed.high;
		struct counts_figure f = { e.value * per_s, 0, e.high * per_s * high };

		if (row->calls_counted || !(per_s > 0))
			continue;
		if (!isnan(e.value)) {
			f.low = f.value * exp(-hypot(log(e.value / e.low), log(low)));
			f.high = f.value * exp(hypot(log(e.high / e.value), log(high)));
			f = counts_figure_known(&row->second) ? closer_figure(row->second, f) : f;
		}
		set_entries(out, row, f);
	}
	free(entries);
}

/* Verified instructions a second of CPU time: as many segments as are counted tell it, and so does the speed. */
static double verified_per_s(const struct counts_report *out, const struct segment_shares *s, double *var)
{
	double speed = out->speed.known ? pow(log(out->speed.high / out->speed.low) / (2 * Z95), 2) : INFINITY;

	speed += s->part_var / (s->part * s->part);
	*var = fmin(speed, s->told_var);
	return speed < s->told_var ? s->part * once_per_s(out) : s->told;
}

struct counts_figure counts_entries_counted(double calls, double var, double part, double part_of_all)
{
	struct counts_figure f = counts_figure_of(calls / part, var + pow(1 - part, 2)), least, most;

	if (part > MOSTLY || !(part_of_all > MOSTLY) || !(part > LEAST_COUNTED) || !counts_figure_known(&f))
		return part > MOSTLY ? f : (struct counts_figure){ NAN, NAN, NAN };
	least = counts_figure_of(calls, var);
	most = counts_figure_of(calls / part, var);
	return (struct counts_figure){ calls / part_of_all, least.low, most.high };
}

static void by_segments(const struct maker *m)
{
	const struct segment_shares *s = m->built->segments;
	struct counts_report *out = m->out;
	double var = NAN, per_s = s->part > 0 ? verified_per_s(out, s, &var) : NAN;

	for (size_t i = 0; i < m->r->funcs && s->calls; i++) {
		struct counts_row *row = &out->row[m->row_of[i]];
		struct counts_figure f = counts_entries_counted(s->calls[i] * per_s, s->calls_var[i] + var,
								m->built->tree.group[i].by_segments, s->part);

		if (!counts_figure_known(&f) || (out->windows && relative_width(&row->second) <= relative_width(&f)))
			continue;
		row->calls_counted = true;
		set_entries(out, row, f);
	}
}

/* Which nodes' intervals are shown: the order of rows is known only after solving. */
static void solve_detail(struct maker *m)
{
	struct counts_tree *t = &m->built->tree;

	for (size_t i = 0; i < t->links; i++) {
		if (row_of_node(m, t->link[i].child) >= m->detail)
			continue;
		m->want[t->link[i].parent] = true;
		if (m->r->node[t->link[i].child].kind != FMT_CN_BLOCK)
			m->want[t->link[i].child] = true;
	}
	m->want[0] = false;
	t->want = m->want;
	t->runs_var = m->var;
	counts_solve_nodes(t);
	t->want = NULL;
	t->runs_var = NULL;
}

int counts_report_make(const struct counts_record *r, const struct profile *p, struct counts_built *solved,
		       size_t detail, struct counts_report *out, struct err *e)
{
	struct maker m = { .r = r, .p = p, .out = out, .detail = detail < r->funcs ? detail : r->funcs };
	struct counts_built *own = NULL;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	m.built = solved ? solved : (own = counts_built_new(r, &rc));
	out->row = calloc(r->funcs + 1, sizeof(*out->row));
	out->row_count = r->funcs;
	m.row_of = calloc(r->funcs + 1, sizeof(*m.row_of));
	m.want = calloc(r->nodes + 1, sizeof(*m.want));
	m.var = calloc(r->nodes + 1, sizeof(*m.var));
	m.repeats = calloc(r->funcs + 1, sizeof(*m.repeats));
	rc = rc ? rc : out->row && m.row_of && m.want && m.var && m.repeats ? 0 : -ENOMEM;
	if (!rc) {
		fill_rows(&m);
		rc = sort_functions(&m);
	}
	if (!rc) {
		solve_detail(&m);
		fill_entries(&m);
		sum_links(&m);
		rc = list_callers_and_loops(&m, true);
	}
	rc = rc ? rc : list_callers_and_loops(&m, false);
	if (!rc && out->speed.known)
		take_speed(out);
	else if (!rc)
		forget_rates(out);
	if (!rc)
		by_segments(&m);
	if (!rc && !out->windows && out->speed.known)
		by_entries(&m);
	counts_built_free(own);
	free(m.row_of);
	free(m.want);
	free(m.var);
	free(m.repeats);
	if (rc) {
		counts_report_release(out);
		return err_set(e, rc,
			       rc == -ENOMEM ? "out of memory" : "the execution counts in the profile make no sense");
	}
	return 0;
}

void counts_report_release(struct counts_report *r)
{
	free(r->row);
	free(r->loop);
	free(r->call);
	memset(r, 0, sizeof(*r));
}
