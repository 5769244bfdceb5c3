// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/api.h"
#include "offload/octaves.h"
#include "offload/operation.h"
#include "offload/points.h"
#include "offload/summary_priv.h"
#include "profile/profile.h"
#include "profile/walk.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/random.h"

#define NONE UINT32_MAX
#define LIMIT 4000000u /* of any table: more is a damaged file */
#define HELD 4096      /* calls that wait for the record which names their function; it is soon there */
#define SITES_MET 4096 /* call sites with a distribution of their own while calls are read, 16 KiB each */
#define SITES 4096     /* of one item, looked through for each total; the last stands for all further ones */

/* A new zeroed row; NULL: no memory, or a table that no honest file has. */
#define ADD_ROW(k, name)                                                                                               \
	({                                                                                                             \
		bool more_ = (k)->name##_cnt < LIMIT && GROW((k)->name, (k)->name##_cnt, (k)->name##_cap, 32);         \
		if (more_) {                                                                                           \
			memset(&(k)->name[(k)->name##_cnt], 0, sizeof(*(k)->name));                                    \
			(k)->name##_cnt++;                                                                             \
		} else {                                                                                               \
			(k)->failed = -ENOMEM;                                                                         \
		}                                                                                                      \
		more_ ? &(k)->name[(k)->name##_cnt - 1] : NULL;                                                        \
	})

/* ---- distributions ---- */

static void spread_add(struct summary_private *k, struct spread *s, double v, double weight)
{
	int bin;

	if (!(weight > 0) || !(v >= 0) || !isfinite(v))
		return;
	if (!s->bins)
		s->bins = calloc(SPREAD_BINS, sizeof(double));
	if (!s->bins) {
		k->failed = -ENOMEM;
		return;
	}
	s->total += weight;
	s->squares += weight * weight;
	s->sum += v * weight;
	if (v < 1) {
		s->zeros += weight;
		return;
	}
	bin = (int)(log2(v) * SPREAD_FINE);
	s->bins[bin < SPREAD_BINS ? bin : SPREAD_BINS - 1] += weight;
}

double spread_quantile(const struct spread *s, double q)
{
	double want = q * s->total, seen = s->zeros;

	if (!(s->total > 0))
		return NAN;
	if (want <= seen && s->zeros > 0)
		return 0;
	for (int i = 0; i < SPREAD_BINS; i++) {
		seen += s->bins[i];
		if (seen >= want && s->bins[i] > 0)
			return exp2((i + 0.5) / SPREAD_FINE);
	}
	return NAN;
}

/* ---- sections ---- */

static void add_api(struct summary_private *k, const struct fmt_offload_api *f)
{
	struct api_row *row;
	bool added;
	uint64_t *at = map_put(&k->api_at, f->id, &added);

	if (at && !added && *at < k->apis_cnt && f->mapped)
		k->apis[*at].f.mapped = f->mapped;
	if (!at || !added)
		return;
	*at = k->apis_cnt;
	row = ADD_ROW(k, apis);
	if (row) {
		row->f = *f;
		row->item = NONE;
	}
}

static void take_total(struct summary_private *k, const struct fmt_offload_total *t)
{
	struct {
		uint64_t addr;
		uint32_t pid, api, level, pad;
	} key = { t->site_addr, t->pid, t->api, t->level, 0 };
	struct total_row *row;
	bool added;
	uint32_t at = intern_add(&k->total_of, &key, sizeof(key), &added);

	if (!at)
		return;
	row = added ? ADD_ROW(k, totals) : &k->totals[at - 1];
	if (row)
		row->t = *t;
}

static void take_hist(struct summary_private *k, const struct fmt_offload_hist *h)
{
	struct {
		uint32_t pid, api, bins, level;
	} key = { h->pid, h->api, (uint32_t)h->bytes_bin << 8 | h->time_bin, h->level };
	struct hist_row *row;
	bool added;
	uint32_t at = intern_add(&k->hist_of, &key, sizeof(key), &added);

	if (!at)
		return;
	row = added ? ADD_ROW(k, hists) : &k->hists[at - 1];
	if (row)
		row->h = *h;
}

static struct api_row *api_row_of(const struct summary_private *k, uint32_t id)
{
	const uint64_t *at = map_get(&k->api_at, id);

	return at && *at < k->apis_cnt ? &k->apis[*at] : NULL;
}

/* The item that an API id belongs to, of calls at that level (fmt_level()): twins and versions share one, and so do all
 * ways to tell a level. */
static struct offload_item *item_of(struct summary_private *k, uint32_t id, uint32_t level)
{
	struct {
		const char *api, *name, *library;
		uint32_t variant, kind, group, levelled;
		int64_t level;
	} key;
	struct api_row *row = api_row_of(k, id);
	const struct operation *op;
	bool added;
	uint32_t at;

	if (!row || !row->f.id)
		return NULL;
	if (row->item != NONE && row->level == level)
		return &k->items[row->item];
	memset(&key, 0, sizeof(key));
	/* Interned, so that equal texts are equal pointers. */
	key.api = intern_get(&k->texts, intern_str(&k->texts, summary_string(k, row->f.api), NULL), NULL);
	key.name = intern_get(&k->texts, intern_str(&k->texts, summary_string(k, row->f.name), NULL), NULL);
	key.library = intern_get(&k->texts, intern_str(&k->texts, summary_string(k, row->f.library), NULL), NULL);
	if (!key.api || !key.name || !key.library)
		return NULL;
	key.variant = row->f.variant;
	key.kind = row->f.kind;
	key.group = row->f.group;
	op = level ? operation_of(key.api, key.name) : NULL;
	key.levelled = op && op->levelled;
	key.level = key.levelled ? operation_level(op, fmt_level_told(level)) : 0;
	at = intern_add(&k->item_of, &key, sizeof(key), &added);
	if (!at)
		return NULL;
	if (added) {
		struct offload_item *it = ADD_ROW(k, items);

		if (!it)
			return NULL;
		*it = (struct offload_item){ .api = key.api,
					     .name = key.name,
					     .library = key.library,
					     .variant = key.variant,
					     .kind = key.kind,
					     .group = key.group,
					     .levelled = key.levelled,
					     .level = (int)key.level };
	}
	row->item = at - 1;
	row->level = level;
	return &k->items[at - 1];
}

/* What item_of() found for this id. */
static enum fmt_probe_class class_of(struct summary_private *k, uint32_t id)
{
	const struct api_row *row = api_row_of(k, id);

	return row && row->f.probe < FMT_PROBE_CLASSES ? (enum fmt_probe_class)row->f.probe : FMT_PROBE_UNKNOWN;
}

/* Reservoir: every call of the recording has the same chance to be kept. */
static void keep_call_sample(struct summary_private *k, struct offload_item *it, const struct offload_sample *s)
{
	size_t at = it->samples_cnt;

	if (!it->samples)
		it->samples = calloc(OFFLOAD_SAMPLES, sizeof(*it->samples));
	if (!it->samples) {
		k->failed = -ENOMEM;
		return;
	}
	it->samples_seen++;
	if (at == OFFLOAD_SAMPLES) {
		at = (size_t)(random_next(&k->random) % (uint64_t)it->samples_seen);
		if (at >= OFFLOAD_SAMPLES)
			return;
	} else {
		it->samples_cnt++;
	}
	it->samples[at] = *s;
}

/* NULL: its site is not known, or there is no room for one more. */
static struct site_row *site_met(struct summary_private *k, const struct offload_item *it, uint32_t stack, double w)
{
	uint64_t key = (uint64_t)(it - k->items) << 32 | stack;
	uint64_t *at = stack ? map_get(&k->met_at, key) : NULL;

	if (at)
		return &k->met[*at];
	if (!stack)
		return NULL;
	if (k->met_cnt == SITES_MET) {
		k->placeless += w;
		return NULL;
	}
	at = map_put(&k->met_at, key, NULL);
	if (!at)
		return NULL;
	*at = k->met_cnt;
	return ADD_ROW(k, met);
}

static void add_single_call(struct summary_private *k, const struct fmt_call *c)
{
	struct offload_item *it = item_of(k, c->api, c->flags & FMT_CALL_LEVEL ? fmt_level(c->level) : 0);
	double w = c->weight > 0 && c->weight < 1e9 ? c->weight : 1, bytes = NAN, ns = 0;
	struct site_row *site;

	if (!it) {
		k->nameless_records++;
		return;
	}
	site = site_met(k, it, c->site, w);
	if (c->flags & FMT_CALL_IN && c->bytes_in)
		bytes = (double)c->bytes_in;
	else if (c->flags & FMT_CALL_OUT)
		bytes = (double)c->bytes_out;
	else if (c->flags & FMT_CALL_IN)
		bytes = 0;
	if (c->flags & FMT_CALL_ENTERED) {
		it->untimed += w;
	} else if (c->flags & FMT_CALL_OPEN) {
		it->open_records += w;
	} else if (c->flags & FMT_CALL_ASYNC) {
		it->async += w;
		if (c->wait > c->returned && c->complete >= c->wait) {
			it->overlap_ns += w * (double)(c->wait - c->returned);
			it->wait_ns += w * (double)c->wait_ns / (c->batch ? c->batch : 1);
			it->flight_ns += w * (double)c->busy_ns;
		}
	} else if (c->flags & FMT_CALL_BLOCKED) {
		it->blocked += w;
	} else {
		it->sync += w;
	}
	if (c->flags & FMT_CALL_ITEMS) {
		it->work_items += w * (double)c->items;
		it->work_calls += w;
	}
	it->inside += c->flags & FMT_CALL_INSIDE ? w : 0;
	it->late += c->flags & FMT_CALL_LATE ? w : 0;
	if (bytes >= 0)
		spread_add(k, &it->bytes, bytes, w);
	if (bytes >= 0 && site)
		spread_add(k, &site->bytes_of, bytes, w);
	spread_add(k, &it->submit, (double)c->submit_ns, c->submit_ns ? w : 0);
	/* A call that returned complete and has no time took less than its probe: that is known of it. */
	if (c->flags & FMT_CALL_TIMED)
		ns = (double)c->busy_ns;
	else if (c->flags & (FMT_CALL_OPEN | FMT_CALL_ASYNC | FMT_CALL_ENTERED) || it->kind != FMT_OK_CALL)
		return;
	if (!(c->flags & FMT_CALL_LATE)) {
		spread_add(k, &it->time, ns, w);
		if (site)
			spread_add(k, &site->time, ns, w);
	}
	if (bytes > 0 && !(c->flags & (FMT_CALL_FAILED | FMT_CALL_LATE)))
		keep_call_sample(k, it,
				 &(struct offload_sample){
					 .bytes = bytes, .ns = ns, .switched = c->flags & FMT_CALL_SWITCHED });
}

#define TAKE(name, call)                                                                                               \
	static int name(void *ctx, const void *rec, size_t size)                                                       \
	{                                                                                                              \
		struct offload_summary *s = ctx;                                                                       \
                                                                                                                       \
		call(s->priv, rec);                                                                                    \
		return s->priv->failed;                                                                                \
	}

/* In their order, as far as what they called is known. All: those that nothing has named yet are lost. */
static void take_held(struct summary_private *k, bool all)
{
	size_t n = 0;

	while (n < k->held_cnt && (all || api_row_of(k, k->held[n].api)))
		add_single_call(k, &k->held[n++]);
	if (n)
		memmove(k->held, k->held + n, (k->held_cnt - n) * sizeof(*k->held));
	k->held_cnt -= n;
}

/* A call may precede the record that names it. */
static void take_or_hold(struct summary_private *k, const struct fmt_call *c)
{
	struct fmt_call *held;

	if (k->held_cnt == HELD)
		take_held(k, true);
	if (!k->held_cnt && api_row_of(k, c->api)) {
		add_single_call(k, c);
		return;
	}
	held = ADD_ROW(k, held);
	if (held)
		*held = *c;
}

static void add_api_and_held(struct summary_private *k, const struct fmt_offload_api *f)
{
	add_api(k, f);
	take_held(k, false);
}

TAKE(api_record, add_api_and_held)
TAKE(total_record, take_total)
TAKE(hist_record, take_hist)
TAKE(call_record, take_or_hold)

static int window_record(void *ctx, const void *rec, size_t size)
{
	struct summary_private *k = ((struct offload_summary *)ctx)->priv;
	struct window_row *w = ADD_ROW(k, windows);

	if (w)
		memcpy(&w->w, rec, sizeof(w->w));
	return k->failed;
}

static int cost_record(void *ctx, const void *rec, size_t size)
{
	struct offload_summary *s = ctx;

	memcpy(&s->cost, rec, sizeof(s->cost));
	s->has_cost = true;
	return 0;
}

static int end_record(void *ctx, const void *rec, size_t size)
{
	struct offload_summary *s = ctx;

	s->priv->end = ((const struct fmt_end *)rec)->time;
	return 0;
}

/* Once a second: as far as a file without an end reaches. */
static int spent_record(void *ctx, const void *rec, size_t size)
{
	struct offload_summary *s = ctx;
	const struct fmt_cost *c = rec;

	if (c->time > s->priv->end)
		s->priv->end = c->time;
	return 0;
}

static const struct section_row rows[] = {
	{ FMT_OFFLOAD_API, sizeof(struct fmt_offload_api), api_record, NULL },
	{ FMT_OFFLOAD_TOTAL, sizeof(struct fmt_offload_total), total_record, NULL },
	{ FMT_OFFLOAD_HIST, sizeof(struct fmt_offload_hist), hist_record, NULL },
	{ FMT_OFFLOAD_WINDOW, sizeof(struct fmt_offload_window), window_record, NULL },
	{ FMT_OFFLOAD_COST, sizeof(struct fmt_offload_cost), cost_record, NULL },
	{ FMT_END, sizeof(struct fmt_end), end_record, NULL },
	{ FMT_COST, sizeof(struct fmt_cost), spent_record, NULL },
	{ FMT_CALL, sizeof(struct fmt_call), call_record, NULL },
};

/* ---- after the walk ---- */

static struct offload_site *known_site(struct offload_item *it, const struct fmt_offload_total *t)
{
	for (size_t i = 0; i < it->sites_cnt; i++)
		if (t->site ? it->sites[i].stack == t->site
			    : it->sites[i].addr == t->site_addr && it->sites[i].pid == t->pid)
			return &it->sites[i];
	return NULL;
}

static struct offload_site *call_site_of(struct offload_item *it, const struct fmt_offload_total *t)
{
	static const struct fmt_offload_total others = { 0 };
	struct offload_site *more = known_site(it, t);

	if (!more && it->sites_cnt >= SITES - 1) {
		t = &others;
		more = known_site(it, t);
	}
	if (more)
		return more;
	if (!GROW_ONE(it->sites, it->sites_cnt))
		return NULL;
	more = &it->sites[it->sites_cnt++];
	*more = (struct offload_site){ .addr = t->site_addr, .pid = t->pid, .stack = t->site };
	return more;
}

static void fold_totals(struct summary_private *k)
{
	for (size_t i = 0; i < k->totals_cnt; i++) {
		const struct fmt_offload_total *t = &k->totals[i].t;
		struct offload_item *it = item_of(k, t->api, t->level);
		struct offload_site *site;
		enum fmt_probe_class cls;
		double ns, inside_ns;

		if (!it) {
			k->nameless_calls += t->calls;
			continue;
		}
		cls = class_of(k, t->api);
		inside_ns = (double)t->calls * k->inside_ns[cls];
		/* What the kernel does meanwhile is no time of the caller's. */
		ns = it->kind == FMT_OK_KERNEL ? 0 : fmax(0, (double)t->ns - inside_ns);
		if (t->calls && it->kind != FMT_OK_KERNEL)
			it->classes |= 1u << cls;
		it->probes_ns += (double)t->calls * k->call_ns[cls];
		it->calls += t->calls;
		it->bytes_in += t->bytes_in;
		it->bytes_out += t->bytes_out;
		it->failed += t->failed;
		it->faults += t->faults;
		it->open += t->open;
		it->unknown_bytes += t->unknown_bytes;
		it->records += t->records;
		it->switched += t->switched;
		it->host_ns += ns;
		it->host_cpu_ns += fmax(0, (double)t->cpu_ns - inside_ns);
		site = call_site_of(it, t);
		if (!site) {
			k->failed = -ENOMEM;
			return;
		}
		site->calls += (double)t->calls;
		site->bytes += (double)t->bytes_in + (double)t->bytes_out;
		site->ns += ns;
	}
}

static int by_calls_of_site(const void *a, const void *b)
{
	const struct offload_site *x = a, *y = b;

	return x->calls < y->calls ? 1 : x->calls > y->calls ? -1 : 0;
}

static void give_distributions(struct summary_private *k, size_t item)
{
	struct offload_item *it = &k->items[item];

	for (size_t i = 0; i < it->sites_cnt && i < OFFLOAD_SITES_TIMED; i++) {
		struct offload_site *s = &it->sites[i];
		const uint64_t *at = s->stack ? map_get(&k->met_at, (uint64_t)item << 32 | s->stack) : NULL;

		if (!at)
			continue;
		s->time = k->met[*at].time;
		s->bytes_of = k->met[*at].bytes_of;
		k->met[*at] = (struct site_row){ 0 };
	}
}

/* After the walk: which sites are worth a distribution. */
static void fold_sites(struct summary_private *k)
{
	fold_totals(k);
	for (size_t i = 0; i < k->items_cnt; i++) {
		if (k->items[i].sites_cnt)
			qsort(k->items[i].sites, k->items[i].sites_cnt, sizeof(struct offload_site), by_calls_of_site);
		give_distributions(k, i);
	}
}

static void free_item(struct offload_item *it)
{
	for (size_t i = 0; i < it->sites_cnt; i++) {
		free(it->sites[i].time.bins);
		free(it->sites[i].bytes_of.bins);
	}
	free(it->time.bins);
	free(it->bytes.bins);
	free(it->submit.bins);
	free(it->samples);
	free(it->sites);
}

static void fold_hists(struct summary_private *k)
{
	struct octave_cell *cell = calloc(k->hists_cnt + 1, sizeof(*cell));
	size_t cells = 0;

	if (!cell) {
		k->failed = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < k->hists_cnt; i++) {
		const struct fmt_offload_hist *h = &k->hists[i].h;
		struct offload_item *it = item_of(k, h->api, h->level);
		struct offload_octave *o;
		double ns;

		if (!it)
			continue;
		ns = fmax(0, (double)h->ns - (double)h->count * k->inside_ns[class_of(k, h->api)]);
		if (h->bytes_bin >= OFFLOAD_OCTAVES) {
			it->unknown_calls += (double)h->count;
			continue;
		}
		o = &it->octave[h->bytes_bin];
		o->calls += (double)h->count;
		o->bytes += (double)h->bytes;
		if (h->time_bin == FMT_BIN_UNKNOWN) {
			it->untimed_calls += h->count;
		} else if (it->kind == FMT_OK_KERNEL) {
			o->ns += (double)h->ns;
			o->timed += (double)h->count;
		} else if (h->time_bin == FMT_BIN_SWITCHED) {
			o->switched_ns += ns;
		} else {
			o->ns += ns;
			o->timed += (double)h->count;
			cell[cells++] = (struct octave_cell){ (uint32_t)(it - k->items), h->bytes_bin, h->time_bin,
							      (double)h->count, ns };
		}
	}
	octaves_set_few_apart(cell, cells, k->items);
	free(cell);
	for (size_t i = 0; i < k->items_cnt; i++)
		for (int b = 0; b < OFFLOAD_OCTAVES; b++) {
			struct offload_octave *o = &k->items[i].octave[b];

			if (o->calls > 0 && !(o->timed > 0)) {
				o->timed = o->calls;
				o->ns = o->switched_ns;
			}
		}
}

/*
 * Behind a hit code goes on with caches and branch predictors as the kernel left them: no loop without data feels it.
 * How many lines code waits for is its own. So many at most is by hand, from scripts/bench-break-even on one machine
 * with 140 ns a line: a table CRC took 190 to 260 ns longer, 2 lines; AES by tables 420 to 480, 3; a digest of OpenSSL
 * 1,080 to 1,580, 8 to 11. On a second machine with 150 to 200 ns a line (AMD EPYC, busy) all 19 recordings of calls
 * shorter than a hit held the truth. Code that waits for more is told too slow, and no interval says so.
 */
#define COLD_LINES 12

/* What the calls of the quickest size took in the mean: as much, at most, has been added to all alike. */
static double quickest(const struct offload_item *it)
{
	double least = INFINITY;

	for (int i = 0; i < OFFLOAD_OCTAVES; i++)
		if (it->octave[i].timed > 0)
			least = fmin(least, it->octave[i].ns / it->octave[i].timed);
	return fmax(least, 0);
}

static void uncertain(const struct summary_private *k, const struct offload_summary *s, struct offload_item *it)
{
	const struct fmt_offload_cost *c = &s->cost;
	double inside = 0, hit = 0, drift = 0, doubt;

	for (int i = 0; i < FMT_PROBE_CLASSES; i++)
		if (it->classes & 1u << i) {
			inside = fmax(inside, k->inside_ns[i]);
			hit = fmax(hit, k->call_ns[i]);
		}
	if (c->call_ns > 0)
		drift = fmax(drift, c->call_high / c->call_ns - 1);
	if (c->hot_ns > 0 && c->hot_end_ns > 0)
		drift = fmax(drift, c->hot_end_ns / c->hot_ns - 1);
	doubt = fmax(COST_DOUBT, drift);
	it->below_ns = it->early_ns = inside * doubt;
	/* not measured: no longer than the hit itself, in which it all was displaced */
	it->late_ns = fmax(inside * doubt, fmin(c->line_ns > 0 ? COLD_LINES * c->line_ns : hit, quickest(it)));
	/* inside was measured of a loop that does nothing else: in no program is it less, but by drift */
	it->excess_low_ns = -inside * drift;
}

double offload_calls_per_s(const struct offload_item *it, double calls)
{
	return it->last > it->first ? calls / ((double)(it->last - it->first) / 1e9) : NAN;
}

const char *offload_symbol(const struct offload_item *it)
{
	const char *own = strrchr(it->name, ':');

	return own ? own + 1 : it->name;
}

/* Texts are interned: of one summary equal ones are one. */
bool offload_same_call(const struct offload_item *a, const struct offload_item *b)
{
	return a->api == b->api && a->name == b->name && a->library == b->library && a->variant == b->variant &&
	       a->kind == b->kind && a->group == b->group;
}

bool offload_same_level(const struct offload_item *a, const struct offload_item *b)
{
	return a->levelled == b->levelled && (!a->levelled || a->level == b->level);
}

double offload_part_elsewhere(const struct offload_summary *s, const struct offload_item *it, double *unseen)
{
	double other = 0;

	*unseen = 0;
	for (size_t i = 0; i < s->items_cnt; i++) {
		const struct offload_item *of = &s->items[i];

		if (!offload_same_call(of, it))
			continue;
		*unseen += of->levelled ? 0 : of->part;
		other += of->levelled && !offload_same_level(of, it) ? of->part : 0;
	}
	return other;
}

const char *offload_level_text(const struct offload_item *it, char text[24])
{
	snprintf(text, 24, it->levelled ? ", level %d" : "", it->level);
	return text;
}

/* Some function of the library was seen in a process, or the file does not tell. */
static bool in_process(const struct summary_private *k, const struct fmt_offload_api *f)
{
	for (size_t i = 0; i < k->apis_cnt; i++)
		if (k->apis[i].f.library == f->library && k->apis[i].f.mapped != FMT_OM_INSTALLED)
			return true;
	return false;
}

size_t offload_unused(const struct offload_summary *s, struct offload_unused *out, size_t max)
{
	struct summary_private *k = s->priv;
	size_t n = 0;

	for (size_t i = 0; i < k->apis_cnt && n < max; i++) {
		struct offload_unused u = { summary_string(k, k->apis[i].f.api),
					    summary_string(k, k->apis[i].f.library) };
		bool known = !in_process(k, &k->apis[i].f);

		for (size_t a = 0; a < s->items_cnt && !known; a++)
			known = !strcmp(s->items[a].api, u.api) && (s->items[a].calls || s->items[a].records);
		for (size_t a = 0; a < n && !known; a++)
			known = !strcmp(out[a].api, u.api);
		if (!known)
			out[n++] = u;
	}
	return n;
}

bool offload_waits(const struct offload_item *it)
{
	return it->variant == FMT_OV_ACCELERATED && 2 * it->switched > it->calls;
}

int offload_points(const struct offload_item *it, unsigned run, struct points *pts, struct err *e)
{
	struct point_list *l = &pts->run[run];
	int r = 0;

	for (size_t i = 0; i < it->samples_cnt && !r; i++) {
		const struct offload_sample *one = &it->samples[i];

		/* a time of 0 was within the probe's own cost: any value below the floor says so */
		if (one->bytes > 0)
			r = points_add(pts, (enum run_kind)run, one->bytes,
				       one->ns > 0 ? one->ns : fmax(it->below_ns, 1) / 2,
				       one->switched && !offload_waits(it), e);
	}
	l->early = fmax(l->early, it->early_ns);
	l->late = fmax(l->late, it->late_ns);
	points_censor(pts, (enum run_kind)run, 2 * it->below_ns);
	return r;
}

static int by_time_on_host(const void *a, const void *b)
{
	const struct offload_item *x = a, *y = b;
	double i = x->host_ns / x->observed, j = y->host_ns / y->observed;

	return i < j ? 1 : i > j ? -1 : strcmp(x->name, y->name) ? strcmp(x->name, y->name) : x->level - y->level;
}

/* Each item among those of the same function. */
static void set_parts(struct offload_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double calls = 0, ns = 0;

		for (size_t k = 0; k < n; k++)
			if (offload_same_call(&items[i], &items[k])) {
				calls += (double)items[k].calls;
				ns += items[k].host_cpu_ns;
			}
		items[i].part = calls > 0 ? (double)items[i].calls / calls : 1;
		items[i].part_of_ns = ns > 0 ? items[i].host_cpu_ns / ns : items[i].part;
	}
}

static void scale_and_sort(struct summary_private *k, struct offload_summary *s)
{
	size_t kept = 0;

	double hot = s->cost.call_ns > 0 ? s->cost.call_low / s->cost.call_ns : 1;

	if (s->two_costs)
		hot = fmin(hot, s->cost.emulated_low / s->cost.emulated_call_ns);
	fold_hists(k);
	for (size_t i = 0; i < k->items_cnt; i++) {
		/* Measured on ourselves; an inner call costs less than an outer one, and in a program that
		 * keeps the caches busy (deflate of small blocks) a hit was seen to cost twice as much. */
		uncertain(k, s, &k->items[i]);
		summary_scale_item(k, &k->items[i], 0.9 * fmax(0, fmin(hot, 1)), 2);
		s->calls_total += k->items[i].calls;
	}
	for (size_t i = 0; i < k->windows_cnt; i++) {
		const struct fmt_offload_window *w = &k->windows[i].w;

		s->hits_ns += hits_ns(k, w);
		if (!s->first || w->armed < s->first)
			s->first = w->armed;
		if (w->disarmed > s->last)
			s->last = w->disarmed;
	}
	/* Functions that were probed and never called are no items. */
	for (size_t i = 0; i < k->items_cnt; i++) {
		struct offload_item *it = &k->items[i];

		if (it->calls || it->open || it->open_records > 0 || it->sites_cnt) {
			k->items[kept++] = *it;
			continue;
		}
		free_item(it);
	}
	k->items_cnt = kept;
	set_parts(k->items, kept);
	if (kept)
		qsort(k->items, kept, sizeof(*k->items), by_time_on_host);
	s->items = k->items;
	s->items_cnt = kept;
}

/* Unknown: the larger cost of a hit, the smaller part of it to take off; the only one of old files. */
static void choose_cost(struct summary_private *k, struct offload_summary *s)
{
	const struct fmt_offload_cost *c = &s->cost;
	double *call = k->call_ns, *inside = k->inside_ns;

	s->two_costs = c->emulated_call_ns > 0 && c->emulated_inside_ns > 0;
	call[FMT_PROBE_STEPPED] = call[FMT_PROBE_EMULATED] = c->call_ns > 0 ? c->call_ns : 0;
	inside[FMT_PROBE_STEPPED] = inside[FMT_PROBE_EMULATED] = c->inside_ns > 0 ? c->inside_ns : 0;
	if (s->two_costs) {
		call[FMT_PROBE_EMULATED] = c->emulated_call_ns;
		inside[FMT_PROBE_EMULATED] = c->emulated_inside_ns;
	}
	call[FMT_PROBE_UNKNOWN] = fmax(call[FMT_PROBE_STEPPED], call[FMT_PROBE_EMULATED]);
	inside[FMT_PROBE_UNKNOWN] = fmin(inside[FMT_PROBE_STEPPED], inside[FMT_PROBE_EMULATED]);
}

struct offload_summary *offload_summary_begin(const struct store_reader *r, struct section_reader *reader,
					      struct err *e)
{
	struct offload_summary *s = calloc(1, sizeof(*s));
	struct summary_private *k = s ? calloc(1, sizeof(*k)) : NULL;

	if (!k) {
		free(s);
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	s->priv = k;
	k->random = 88172645463325252ull;
	k->reader = r;
	*reader = SECTION_READER(rows, s);
	return s;
}

bool offload_looked_for(const struct profile *p, const struct offload_summary *s)
{
	return s->has_cost || profile_meta(p, OFFLOAD_LOOKED);
}

int offload_summary_end(struct offload_summary *s, struct err *e)
{
	struct summary_private *k = s->priv;

	take_held(k, true);
	if (s->has_cost)
		choose_cost(k, s);
	fold_sites(k);
	scale_and_sort(k, s);
	s->nameless_calls = k->nameless_calls;
	s->nameless_records = k->nameless_records;
	s->placeless = k->placeless;
	return k->failed ? err_set(e, k->failed, "out of memory reading the offload calls") : 0;
}

void offload_summary_free(struct offload_summary *s)
{
	struct summary_private *k;

	if (!s)
		return;
	k = s->priv;
	for (size_t i = 0; i < k->items_cnt; i++)
		free_item(&k->items[i]);
	free(k->items);
	free(k->apis);
	free(k->totals);
	free(k->hists);
	free(k->windows);
	free(k->held);
	for (size_t i = 0; i < k->met_cnt; i++) {
		free(k->met[i].time.bins);
		free(k->met[i].bytes_of.bins);
	}
	free(k->met);
	map_release(&k->api_at);
	map_release(&k->met_at);
	intern_release(&k->total_of);
	intern_release(&k->hist_of);
	intern_release(&k->item_of);
	intern_release(&k->texts);
	store_reader_free(s->owned);
	free(k);
	free(s);
}
