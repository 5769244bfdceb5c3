// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/fields.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/map.h"

/* What is expected before any window, and how many checks that counts as. */
/* Writers of one field that edges are made of; of more, the likeliest. gcc has 500 to a field that each of 4,000
 * functions may read: a million edges, which all together say that it was nobody in particular. */
#define WRITERS_MOST 64
#define OTHERS 0.2      /* prior: windows whose bytes another function wrote; by hand */
#define APART 0.2       /* prior: pairs of windows that disagree about the writer; by hand */
#define CHECKS 4.0      /* windows that the two priors count as; by hand */
#define REUSED 0.1      /* records of the very granule are of another object that lay there, before anything is known */
#define AT_WORK 0.5     /* functions that could write a field are met as often where nobody does so any more */
#define CHANCE 0.1      /* records of another object fit as often */
#define WIDEST 64       /* bytes of one load: a 512-bit register's */
#define READERS_MOST 64 /* functions in one window */

struct tally {
	double n, others, pairs, apart;
};

static bool same_object(const struct flow_input *in, uint32_t a, uint32_t b)
{
	return in->funcs[a].object && in->funcs[b].object && !strcmp(in->funcs[a].object, in->funcs[b].object);
}

/* Index into in->writer, or FLOW_NONE. */
static uint32_t writer_of(const struct in_site *s, const struct flow_input *in, uint32_t func)
{
	for (uint32_t k = s->first_writer; k < s->first_writer + s->writers; k++)
		if (in->writer[k].func == func)
			return k;
	return FLOW_NONE;
}

/* ---- whose structures ---- */

static bool name_fits(const struct in_site *load, uint64_t read, const struct in_site *store, uint64_t written)
{
	uint64_t off = (read - load->load_at) - (written - store->store_at);

	return off + WIDEST < 2 * WIDEST;
}

struct use { /* of a pointer to a structure, by a function */
	uint64_t pointer;
	uint32_t func;
	double n;
};

struct uses {
	struct use *use;
	size_t count, cap;
};

struct fit {
	/* writing function << 32 | reading function -> stores by pointers that the other reads by, too */
	struct map same;
	double *stores; /* by function: by any pointer */
	double *alone;  /* by function: that two of its reads are by the same pointer */
	/* writing << 32 | reading, in windows in which both were met: writes that it reads next; that it does not */
	struct map next, past;
};

static int add_field_use(struct uses *u, uint64_t pointer, uint32_t func)
{
	if (!GROW(u->use, u->count, u->cap, 1024))
		return -ENOMEM;
	u->use[u->count++] = (struct use){ .pointer = pointer, .func = func, .n = 1 };
	return 0;
}

static int by_pointer(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return x->pointer != y->pointer ? (x->pointer < y->pointer ? -1 : 1)
					: (x->func > y->func) - (x->func < y->func);
}

static void merge_uses(struct uses *u)
{
	size_t n = 0;

	if (u->count)
		qsort(u->use, u->count, sizeof(*u->use), by_pointer);
	for (size_t i = 0; i < u->count; i++) {
		if (n && !by_pointer(&u->use[n - 1], &u->use[i]))
			u->use[n - 1].n++;
		else
			u->use[n++] = u->use[i];
	}
	u->count = n;
}

static int list_uses(const struct flow_input *in, struct uses *loads, struct uses *stores)
{
	int err = 0;

	for (size_t i = 0; i < in->access_count && !err; i++) {
		const struct in_access *a = &in->access[i];
		const struct in_site *s = &in->sites[a->site];

		if ((a->flags & FMT_A_LOAD) && s->field)
			err = add_field_use(loads, a->addr - s->load_at, s->func);
		if ((a->flags & FMT_A_STORE) && s->store_at && !err)
			err = add_field_use(stores, a->addr - s->store_at, s->func);
	}
	merge_uses(loads);
	merge_uses(stores);
	return err;
}

static int count_meetings(const struct flow_input *in, const struct uses *loads, const struct uses *stores,
			  struct fit *f)
{
	double *all = calloc(in->func_count + 1, sizeof(*all));
	int err = all ? 0 : -ENOMEM;

	for (size_t i = 0; i < loads->count && !err; i++) {
		all[loads->use[i].func] += loads->use[i].n;
		f->alone[loads->use[i].func] += loads->use[i].n * (loads->use[i].n - 1);
	}
	for (uint32_t g = 0; g < in->func_count && !err; g++)
		f->alone[g] = all[g] > 1 ? f->alone[g] / (all[g] * (all[g] - 1)) : 0;
	free(all);
	for (size_t i = 0, j = 0; i < stores->count && !err; i++) {
		const struct use *w = &stores->use[i];

		f->stores[w->func] += w->n;
		while (j < loads->count && loads->use[j].pointer < w->pointer)
			j++;
		for (size_t k = j; k < loads->count && loads->use[k].pointer == w->pointer && !err; k++) {
			uint64_t *n = map_put(&f->same, (uint64_t)w->func << 32 | loads->use[k].func, NULL);

			if (n)
				*n += (uint64_t)w->n;
			err = n ? 0 : -ENOMEM;
		}
	}
	return err;
}

static double times_seen(const struct map *m, uint32_t writer, uint32_t reader)
{
	const uint64_t *n = map_get(m, (uint64_t)writer << 32 | reader);

	return n ? (double)*n : 0;
}

/* The functions that read in a window, each once. */
static uint32_t readers_in(const struct in_hit *hit, uint32_t count, uint32_t *reader)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < count && n < READERS_MOST; k++) {
		bool again = !(hit[k].flags & FMT_A_LOAD);

		for (uint32_t j = 0; j < n && !again; j++)
			again = reader[j] == hit[k].func;
		if (!again)
			reader[n++] = hit[k].func;
	}
	return n;
}

/* Who reads a place after a write there reads that write; the others who read there read somebody else's. */
static int follow_window(const struct flow_input *in, const struct in_window *w, struct fit *f)
{
	const struct in_hit *hit = w->count ? &in->hit[w->first] : NULL;
	uint32_t reader[READERS_MOST], readers = readers_in(hit, w->count, reader);

	for (uint32_t i = 0; i + 1 < w->count; i++) {
		if (!(hit[i].flags & FMT_A_STORE))
			continue;
		for (uint32_t k = 0; k < readers; k++) {
			bool reads = (hit[i + 1].flags & FMT_A_LOAD) && hit[i + 1].func == reader[k];
			uint64_t *n =
				map_put(reads ? &f->next : &f->past, (uint64_t)hit[i].func << 32 | reader[k], NULL);

			if (!n)
				return -ENOMEM;
			++*n;
		}
	}
	return 0;
}

/* Of a function that reads few structures, and one that was seen to write others: they have nothing in common. */
static double affinity(const struct fit *f, uint32_t writer, uint32_t reader)
{
	double same = times_seen(&f->same, writer, reader), next = times_seen(&f->next, writer, reader);

	return (same + 0.5) / (same + f->alone[reader] * (f->stores[writer] - same) + 1) * (next + 0.5) /
	       (next + times_seen(&f->past, writer, reader) + 1);
}

/* The n-th largest of `count`, whose order is lost. */
static double nth_largest(double *v, size_t count, size_t n)
{
	size_t lo = 0, hi = count;

	for (;;) {
		double middle = v[lo + (hi - lo) / 2];
		size_t more = lo, at = lo, less = hi;

		while (at < less) {
			double x = v[at];

			if (x > middle) {
				v[at++] = v[more];
				v[more++] = x;
			} else if (x < middle) {
				v[at] = v[--less];
				v[less] = x;
			} else {
				at++;
			}
		}
		if (n < more)
			hi = more;
		else if (n >= less)
			lo = less;
		else
			return middle;
	}
}

/* The writers of a list that are likely enough to be told apart. *room: as long as the list. */
static int choose_writers(struct fields *x, const struct in_site *s, double *room)
{
	double *weight = x->weight + s->first_writer, least = 0, sum = 0;
	uint32_t above = 0, equal = s->writers;

	if (s->writers > WRITERS_MOST) {
		memcpy(room, weight, s->writers * sizeof(*room));
		least = nth_largest(room, s->writers, WRITERS_MOST - 1);
		for (uint32_t k = 0; k < s->writers; k++)
			above += weight[k] > least;
		equal = WRITERS_MOST - above;
	}
	for (uint32_t k = 0; k < s->writers; k++) {
		if (weight[k] < least || (s->writers > WRITERS_MOST && weight[k] <= least && !equal)) {
			weight[k] = 0;
			continue;
		}
		equal -= s->writers > WRITERS_MOST && weight[k] <= least;
		sum += weight[k];
		if (!GROW(x->likely, x->likelies, x->likely_cap, 1024))
			return -ENOMEM;
		x->likely[x->likelies++] = s->first_writer + k;
	}
	for (uint32_t k = 0; k < s->writers; k++)
		weight[k] /= sum;
	return 0;
}

/* Who stores to many of the fields that a function reads, and works on the same structures. */
static void weigh_site(struct fields *x, const struct fit *f, const struct in_site *s)
{
	for (uint32_t k = s->first_writer; k < s->first_writer + s->writers; k++) {
		x->weight[k] = pow(x->in->writer[k].fields, 2) / fmax(x->in->writer[k].stores, 1) *
			       affinity(f, x->in->writer[k].func, s->func);
	}
}

/* Sites that share a list share what is chosen of it. */
static int weigh_sites(struct fields *x, const struct fit *f)
{
	const struct flow_input *in = x->in;
	double *room = malloc((in->writer_count + 1) * sizeof(*room));
	struct map lists = { 0 };
	int err = room ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < in->site_count && !err; i++) {
		const struct in_site *s = &in->sites[i];
		uint64_t *at = NULL;
		bool added;

		if (!s->writers)
			continue;
		at = map_put(&lists, s->first_writer, &added);
		if (!at) {
			err = -ENOMEM;
			break;
		}
		if (added) {
			*at = x->likelies;
			weigh_site(x, f, s);
			err = choose_writers(x, s, room);
		}
		x->likely_first[i] = (uint32_t)*at;
		x->likely_count[i] = s->writers < WRITERS_MOST ? s->writers : WRITERS_MOST;
	}
	map_release(&lists);
	free(room);
	return err;
}

static int weigh_fields(struct fields *x, const struct est_opts *o)
{
	const struct flow_input *in = x->in;
	struct uses loads = { 0 }, stores = { 0 };
	struct fit f = { .stores = calloc(in->func_count + 1, sizeof(double)),
			 .alone = calloc(in->func_count + 1, sizeof(double)) };
	int err = f.stores && f.alone ? list_uses(in, &loads, &stores) : -ENOMEM;

	if (!err)
		err = count_meetings(in, &loads, &stores, &f);
	for (uint32_t i = 0; i < in->window_count && !err && o->use_windows; i++)
		err = follow_window(in, &in->window[i], &f);
	if (!err)
		err = weigh_sites(x, &f);
	map_release(&f.same);
	map_release(&f.next);
	map_release(&f.past);
	free(f.stores);
	free(f.alone);
	free(loads.use);
	free(stores.use);
	return err;
}

/* ---- how far it holds ---- */

static void check_window(const struct fields *x, const struct in_window *w, struct tally *t)
{
	const struct flow_input *in = x->in;
	const struct in_hit *store = NULL;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct in_hit *h = &in->hit[w->first + i];
		const struct in_site *s = h->site < in->site_count ? &in->sites[h->site] : NULL,
				     *by = store ? &in->sites[store->site] : NULL;
		uint32_t k;

		/* read often after one write it still is one case */
		if (s && by && (h->flags & FMT_A_LOAD) && s->field && same_object(in, store->func, h->func)) {
			k = writer_of(s, in, store->func);
			t->n++;
			t->others += k == FLOW_NONE;
			t->pairs += by->store_at != 0;
			t->apart += by->store_at && by->store_at != s->load_at;
			store = NULL;
		}
		if (h->flags & FMT_A_STORE)
			store = h->flags & FMT_A_KERNEL || h->site >= in->site_count ? NULL : h;
	}
}

int fields_learn(struct fields *x, const struct flow_input *in, const struct est_opts *o)
{
	struct tally t = { 0 };

	*x = (struct fields){ .in = in,
			      .weight = calloc(in->writer_count + 1, sizeof(double)),
			      .likely_first = calloc(in->site_count + 1, sizeof(uint32_t)),
			      .likely_count = calloc(in->site_count + 1, sizeof(uint32_t)) };
	if (!x->weight || !x->likely_first || !x->likely_count || weigh_fields(x, o))
		return -ENOMEM;
	for (uint32_t i = 0; i < in->window_count && o->use_windows; i++)
		check_window(x, &in->window[i], &t);
	x->others = (t.others + CHECKS * OTHERS) / (t.n + CHECKS);
	x->apart = (t.apart + CHECKS * APART) / (t.pairs + CHECKS);
	return 0;
}

void fields_release(struct fields *x)
{
	free(x->weight);
	free(x->likely);
	free(x->likely_first);
	free(x->likely_count);
	*x = (struct fields){ 0 };
}

double fields_could(const struct fields *x, uint32_t site)
{
	return site < x->in->site_count && x->in->sites[site].writers ? 1 - x->others : 0;
}

/* Bayes: seen so often where the record is right, so often where it is not. */
static double update(double p, double if_right, double if_wrong)
{
	double a = p * if_right, b = (1 - p) * if_wrong;

	return a + b > 0 ? a / (a + b) : p;
}

double fields_stays(const struct fields *x, uint32_t site, double stays)
{
	return site < x->in->site_count && x->in->sites[site].writers ? update(stays, AT_WORK, 1) : stays;
}

double fields_judge(const struct fields *x, uint32_t site, uint64_t addr, const struct answer *a, double right)
{
	const struct in_site *s = site < x->in->site_count ? &x->in->sites[site] : NULL,
			     *by = a->site < x->in->site_count ? &x->in->sites[a->site] : NULL;

	if (!s || !s->field || !by || a->overwritten)
		return right;
	if (a->near == NEAR_GRANULE && by->store_at) {
		right = fmin(right, 1 - REUSED);
		return name_fits(s, addr, by, a->addr) ? update(right, 1 - x->apart, CHANCE)
						       : update(right, x->apart, 1 - CHANCE);
	}
	if (a->near > NEAR_GRANULE && a->near <= NEAR_PAGE && same_object(x->in, a->producer, s->func)) {
		bool could = writer_of(s, x->in, a->producer) != FLOW_NONE;

		return could ? right : update(right, x->others, 1);
	}
	return right;
}
