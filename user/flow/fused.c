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
#include "flow/bursts.h"
#include "flow/edge_ids.h"
#include "flow/edge_unique.h"
#include "flow/last_writer.h"
#include "flow/estimators.h"
#include "flow/inclusive.h"
#include "flow/kim_edwards.h"
#include "flow/place.h"
#include "flow/window_delay.h"
#include "flow/resample.h"
#include "flow/rewrite_rate.h"
#include "flow/volume_error.h"
#include "flow/writer_error.h"
#include "util/grow.h"
#include "util/normal.h"
#include "util/random.h"

#define LEAST_VALID 1e-6 /* a poor record still tells where nothing else does */
#define NOBODY 0.3       /* how likely it is that nobody wrote what nobody was seen to write since the start */
/* of its bytes: what is known at one instruction outweighs what is at others alike if it is more */
#define KNOWN_HERE 0.02
#define FAR_LEAST 0.02 /* of what is older: written that long ago, it tells who wrote before, too, */
#define FAR_WORTH 4.0  /* as so many windows */
#define PRIOR 2.0      /* rule A counts as much as this many windows at one load instruction */

/* What a cell stands for. Nobody was seen to write there: either nobody did (STAYS, before the recording), or
 * it was missed (MOVES, to whoever else is known to write what this instruction reads). */
enum cell_kind { KNOWN, STAYS, MOVES };

/* (load instruction, producer, kind): what all evidence is added up by. */
struct cell {
	uint32_t site, producer, edge;
	uint32_t alike; /* index into fit.alike_group: this producer at all instructions alike */
	enum cell_kind kind;
};

struct read_part {
	uint32_t cell;
	float part;
};

struct evidence {
	uint32_t cell, window;
	double weight;
};

struct fit {
	const struct flow_input *in;
	const struct est_opts *o;
	struct last_writer c;
	struct cell *cell;
	uint32_t cell_count;
	size_t cell_cap;
	struct map cell_at;  /* kind << 62 ^ site << 32 ^ producer */
	uint32_t *read_cell; /* by read */
	struct place place;
	struct read_part *read_part; /* who may have written what a read took; by read, from read_first[] on */
	size_t read_parts, read_part_cap, *read_first;
	double *read_right; /* by read: probability that its record tells who writes there, if not of late */
	double *read_valid; /* by read: probability that nobody else has written since its record */
	struct evidence *ev;
	size_t ev_count, ev_cap;
	uint32_t *site_func;       /* by site; FLOW_NONE: no read there */
	uint32_t *unknown_edge;    /* by site, from nobody known; FLOW_NONE: no read there */
	double *site_size;         /* mean bytes of a read at this site */
	bool *late;                /* by window */
	struct bursts bursts;      /* what was written shortly before it was read */
	uint32_t *burst_cell;      /* by bursts.writer */
	struct rewrite_rate still; /* whether memory that nobody was seen to write ever changes */
	uint32_t *group;           /* by site: instructions of one function that read as many bytes */
	uint32_t group_count;
	uint32_t *alike_group, *alike_edge;
	uint32_t alike_count;
	size_t alike_cap, alike_cap2;
	struct map alike_at; /* group << 32 | producer */
	struct edge_ids edges;
};

/* Which of the two sources a refit uses. */
enum use { USE_CASCADE = 1, USE_WINDOWS = 2, USE_BOTH = 3 };

struct scratch {
	double *a, *e;                      /* by cell */
	double *firm;                       /* of a: told by the very place */
	double *any;                        /* by site: bytes of whom anything tells, neighbourhoods, too */
	double *volume, *seen;              /* by site: bytes, window evidence */
	double *alike, *group;              /* bytes of whom is known at instructions alike: of one producer, of all */
	double *known, *moves;              /* by site: bytes of whom is known, and that go there, too */
	double *stale;                      /* by site: bytes whose record is too old */
	double *recent;                     /* by cell: bytes that bursts saw written */
	double *before;                     /* by cell: evidence of what had been written before the burst */
	double *before_site, *before_stale; /* by site: all of that, and whose record is too old */
	double *left;                       /* by site: bytes of the volume that are not recent */
	double *damped, *kept;              /* by site: evidence that is left when what bursts saw is taken off */
	double *edge;                       /* result */
	double *block;                      /* that all of them lie in */
	size_t numbers;
};

static void fit_release(struct fit *f)
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

static uint32_t alike_of(struct fit *f, uint32_t group, uint32_t producer, uint32_t edge)
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

static uint32_t cell_of(struct fit *f, uint32_t site, uint32_t producer, enum cell_kind kind)
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
		f->cell[f->cell_count] =
			(struct cell){ .site = site, .producer = producer, .edge = edge, .alike = alike, .kind = kind };
		*at = f->cell_count++;
	}
	return (uint32_t)*at;
}

/* What a recording from the start did not see written was not written; one that came later missed much. */
static enum cell_kind cell_kind_of(const struct fit *f, const struct answer *a)
{
	return a->near == NEAR_NONE && !a->overwritten && !f->in->from_start ? STAYS : KNOWN;
}

static double fresh(const struct fit *f, uint32_t site, const struct answer *a)
{
	return f->c.time_bias ? rewrite_rate_valid(&f->still, site, a->age) : 1;
}

/* How likely it is that whom a record names writes there, whenever that is. Of stores a few are seen, drawn like the
 * writes of all others there; what a system call fills is seen each time: it is one of all writes since. */
static double writes_there(const struct fit *f, uint32_t site, const struct answer *a)
{
	double right = a->near < NEAR_NONE;
	bool call = a->site == FLOW_NONE && a->near > NEAR_CONSTANT && !a->overwritten;

	return call && f->c.time_bias ? right / (1 + rewrite_rate_writes(&f->still, site, a->age)) : right;
}

static double chance_valid(const struct fit *f, uint32_t site, const struct answer *a)
{
	double v = a->near == NEAR_NONE && f->in->from_start ? NOBODY : 1;

	return fmax(v * fresh(f, site, a), LEAST_VALID);
}

/* Who is known to write what a function reads with one width is likely to have written what it reads elsewhere. */
static int group_sites(struct fit *f)
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

static int unknown_edges(struct fit *f)
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

static int count_site_reads(struct fit *f)
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
static int place_reads(struct fit *f)
{
	int err = place_learn(&f->place, f->in, &f->c, &f->still, f->o->stack);

	f->read_first = malloc((f->c.read_count + 1) * sizeof(*f->read_first));
	if (!f->read_first)
		return -ENOMEM;
	for (size_t i = 0; i < f->c.read_count && !err; i++) {
		struct place_part w[PLACE_PARTS + 2];
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

static int add_evidence(struct fit *f, uint32_t site, uint32_t producer, enum cell_kind kind, uint32_t window,
			double weight)
{
	uint32_t cell = cell_of(f, site, producer, kind);

	if (cell == FLOW_NONE || !GROW(f->ev, f->ev_count, f->ev_cap, 1024))
		return -ENOMEM;
	f->ev[f->ev_count++] = (struct evidence){ .cell = cell, .window = window, .weight = weight };
	return 0;
}

static int take_bursts(struct fit *f)
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

static int use_window(struct fit *f, uint32_t index)
{
	const struct in_window *w = &f->in->window[index];
	const struct answer *start = &f->c.window_start[index];
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

/* The part of what this instruction reads of memory that nobody was seen to write. */
static double stays(const struct fit *f, enum use use, uint32_t site)
{
	return use == USE_CASCADE ? 1 : rewrite_rate_site(&f->still, site);
}

/* Somebody who writes what this instruction or one alike reads was seen to do so. */
static bool knows_firmly(const struct fit *f, const struct scratch *s, uint32_t site)
{
	return s->known[site] > 0 || s->group[f->group[site]] > 0;
}

/* The part of what moves that goes to whom this very instruction knows; the rest to whom the code or those alike
 * know. */
static double known_here(const struct fit *f, enum use use, const struct scratch *s, uint32_t site)
{
	double known = s->known[site], others = KNOWN_HERE * s->volume[site];

	return known > 0 ? known / (known + others) : 0;
}

static double share_here(const struct fit *f, enum use use, const struct scratch *s, uint32_t cell)
{
	uint32_t site = f->cell[cell].site;

	return s->known[site] > 0 ? s->firm[cell] / s->known[site] * known_here(f, use, s, site) : 0;
}

static void move_alike(const struct fit *f, enum use use, struct scratch *s)
{
	for (uint32_t i = 0; i < f->c.site_count; i++)
		s->moves[i] *= knows_firmly(f, s, i) ? 1 - known_here(f, use, s, i) : 0;
	memset(s->any, 0, (f->c.site_count + 1) * sizeof(double)); /* by group, from here on */
	for (uint32_t i = 0; i < f->c.site_count; i++)
		if (s->volume[i] > 0 && s->seen[i] + (use & USE_CASCADE ? PRIOR : 0) > 0)
			s->any[f->group[i]] += s->moves[i];
	for (uint32_t i = 0; i < f->alike_count; i++)
		if (s->group[f->alike_group[i]] > 0)
			s->edge[f->alike_edge[i]] +=
				s->alike[i] / s->group[f->alike_group[i]] * s->any[f->alike_group[i]];
}

/* Whoever wrote nearly as long ago as bursts see is likely to have written what they no longer see. */
static void look_further(const struct fit *f, struct scratch *s)
{
	const struct bursts *b = &f->bursts;

	for (size_t i = 0, end; i < b->count; i = end) {
		uint32_t site = b->writer[i].site;
		double far = 0;

		for (end = i; end < b->count && b->writer[end].site == site; end++)
			far += b->writer[end].far;
		if (!(far > FAR_LEAST * b->older[site]))
			continue;
		for (size_t k = i; k < end; k++)
			s->e[f->burst_cell[k]] += FAR_WORTH * b->writer[k].far / far;
		s->kept[site] += FAR_WORTH;
	}
}

/* Bursts know who wrote last within them. What is left was written before: whose that is their own reads of it tell,
 * which records were asked about; other evidence is of all reads, so what bursts saw is taken off it first. */
static void take_recent(const struct fit *f, struct scratch *s)
{
	const struct bursts *b = &f->bursts;

	for (size_t i = 0; i < b->count; i++)
		s->recent[f->burst_cell[i]] = b->writer[i].part;
	for (uint32_t i = 0; i < f->c.site_count; i++)
		s->left[i] = s->volume[i] * (i < b->sites ? b->older[i] : 1);
	for (uint32_t i = 0; i < f->cell_count; i++) {
		uint32_t site = f->cell[i].site;
		double all = s->volume[site], seen = s->seen[site], part = s->recent[i];

		if (site >= b->sites || !(b->older[site] < 1))
			continue;
		s->e[i] = fmax(0, s->e[i] - part * seen);
		s->kept[site] += s->e[i];
		if (s->before_site[site] > 0)
			s->a[i] = s->before[i];
		else
			s->a[i] = fmax(0, s->a[i] - part * all);
		s->firm[i] = fmin(s->firm[i], s->a[i]);
		s->damped[site] += s->a[i];
		s->recent[i] *= all;
	}
	look_further(f, s);
	for (uint32_t i = 0; i < b->sites && i < f->c.site_count; i++) {
		if (!(b->older[i] < 1))
			continue;
		if (s->before_site[i] > 0)
			s->stale[i] = s->before_stale[i];
		s->damped[i] += s->stale[i];
		s->seen[i] = s->kept[i];
		s->stale[i] = s->damped[i] > 0 ? s->stale[i] / s->damped[i] * s->left[i] : s->left[i];
	}
	for (uint32_t i = 0; i < f->cell_count; i++) {
		uint32_t site = f->cell[i].site;

		if (site >= b->sites || !(b->older[site] < 1))
			continue;
		s->a[i] = s->damped[site] > 0 ? s->a[i] / s->damped[site] * s->left[site] : 0;
		s->firm[i] = s->damped[site] > 0 ? s->firm[i] / s->damped[site] * s->left[site] : 0;
	}
}

/* How often everything counts in a refit, by read, window and part of the bursts; the third is in f->bursts then. */
struct drawn {
	uint8_t *read, *window, *part, *call;
	double (*call_factor)[CALL_MEASURES]; /* by burst in which system calls were observed */
};

/* Calls of one burst come and go together: it is bursts that differ. */
static double drawn_bytes(const struct fit *f, const struct drawn *d, size_t read)
{
	const struct read_answer *r = &f->c.reads[read];
	const struct in_sysio *io = r->call ? &f->in->sysio[r->call - 1] : NULL;

	return r->bytes * (!d ? 1 : io && io->burst ? d->call_factor[io->burst - 1][io->measure] : d->read[read]);
}

/* What the reads' own records tell: bytes by cell and by site. */
static void add_placed(const struct fit *f, const struct drawn *drawn, const double *volume_times, struct scratch *s)
{
	for (size_t i = 0; i < f->c.read_count; i++) {
		const struct read_answer *r = &f->c.reads[i];
		double bytes = r->burst ? (drawn ? drawn->read[i] : 1) * (double)r->size : drawn_bytes(f, drawn, i);
		double *to = r->burst ? s->before : s->a, *nobodys = r->burst ? s->before_stale : s->stale;

		if (r->burst)
			s->before_site[r->site] += bytes;
		else if (volume_times && r->site < f->bursts.sites)
			bytes *= volume_times[r->site];
		for (size_t k = f->read_first[i]; k < f->read_first[i + 1]; k++) {
			to[f->read_part[k].cell] += bytes * f->read_part[k].part;
			if (!r->burst)
				s->firm[f->read_part[k].cell] += bytes * f->read_part[k].part;
		}
		if (f->read_first[i] < f->read_first[i + 1])
			continue;
		to[f->read_cell[i]] += bytes * LEAST_VALID;
		nobodys[r->site] += bytes * (1 - LEAST_VALID);
	}
}

static void add_reads(const struct fit *f, enum use use, const struct drawn *drawn, const double *volume_times,
		      struct scratch *s)
{
	for (size_t i = 0; i < f->c.read_count; i++) {
		double bytes = drawn_bytes(f, drawn, i);
		double sure = use == USE_CASCADE ? 1 : f->read_valid[i]; /* records alone: as they are */

		if (f->c.reads[i].burst) {
			double size = (drawn ? drawn->read[i] : 1) * (double)f->c.reads[i].size;

			s->before[f->read_cell[i]] += size * sure;
			s->before_stale[f->c.reads[i].site] += size * (1 - sure);
			s->before_site[f->c.reads[i].site] += size;
			continue;
		}
		if (volume_times && f->c.reads[i].site < f->bursts.sites)
			bytes *= volume_times[f->c.reads[i].site];
		s->a[f->read_cell[i]] += bytes * sure;
		/* whoever wrote there may have been followed by others, but is one who writes there */
		s->firm[f->read_cell[i]] += bytes * f->read_right[i];
		s->stale[f->c.reads[i].site] += bytes * (1 - sure);
	}
}

/* Windows and records are weighed against each other, at each load: what windows saw counts as it was seen, records as
 * PRIOR windows. */
static void weigh_evidence(const struct fit *f, enum use use, struct scratch *s)
{
	for (uint32_t i = 0; i < f->cell_count; i++) {
		const struct cell *c = &f->cell[i];
		double volume = s->volume[c->site], seen = s->seen[c->site], prior = use & USE_CASCADE ? PRIOR : 0;

		if (!(volume > 0) || !(seen + prior > 0))
			continue; /* windows alone may know nothing about this load */
		s->e[i] *= s->left[c->site] / (seen + prior);
		s->a[i] *= prior / (seen + prior);
		s->firm[i] = (f->read_first ? 0 : s->recent[i] + s->e[i]) + s->firm[i] * prior / (seen + prior);
		if (c->kind == KNOWN) {
			s->any[c->site] += s->recent[i] + s->e[i] + s->a[i];
			s->known[c->site] += s->firm[i];
			s->alike[c->alike] += s->firm[i];
			s->group[f->group[c->site]] += s->firm[i];
		} else {
			s->moves[c->site] += c->kind == MOVES ? s->e[i] : s->a[i] * (1 - stays(f, use, c->site));
		}
	}
}

static void fill_edges(const struct fit *f, enum use use, struct scratch *s)
{
	for (uint32_t i = 0; i < f->cell_count; i++) {
		const struct cell *c = &f->cell[i];
		double bytes = s->recent[i] + s->e[i] + s->a[i], any = s->any[c->site];

		if (!(s->volume[c->site] > 0) || !(s->seen[c->site] + (use & USE_CASCADE ? PRIOR : 0) > 0))
			continue;
		if (c->kind == KNOWN && knows_firmly(f, s, c->site))
			s->edge[c->edge] += bytes + share_here(f, use, s, i) * s->moves[c->site];
		else if (c->kind == KNOWN)
			s->edge[c->edge] += bytes + (any > 0 ? bytes / any * s->moves[c->site] : 0);
		/* and nobody else is known, but perhaps by the code: before attach is what stays, and no more */
		else if (!knows_firmly(f, s, c->site) && !(any > 0)) {
			double moves = c->kind == MOVES ? s->e[i] : s->a[i] * (1 - stays(f, use, c->site));

			s->edge[c->edge] += bytes - moves;
			s->edge[f->unknown_edge[c->site]] += moves;
		} else if (c->kind == STAYS)
			s->edge[c->edge] += s->e[i] + s->a[i] * stays(f, use, c->site);
	}
}

/* drawn NULL: everything once. */
static void refit(const struct fit *f, enum use use, const struct drawn *drawn, struct scratch *s)
{
	const uint8_t *window_times = drawn ? drawn->window : NULL;
	const double *volume_times = drawn && f->in->parts.count && f->bursts.volume ? f->bursts.volume : NULL;

	memset(s->block, 0, s->numbers * sizeof(double));
	if (f->read_first)
		add_placed(f, drawn, volume_times, s);
	else
		add_reads(f, use, drawn, volume_times, s);
	for (size_t i = 0; use & USE_WINDOWS && i < f->ev_count; i++)
		s->e[f->ev[i].cell] += window_times ? f->ev[i].weight * window_times[f->ev[i].window] : f->ev[i].weight;
	for (uint32_t i = 0; i < f->cell_count; i++) {
		s->volume[f->cell[i].site] += s->a[i];
		s->seen[f->cell[i].site] += s->e[i];
	}
	for (uint32_t i = 0; i < f->c.site_count; i++) {
		s->volume[i] += s->stale[i];
		s->left[i] = s->volume[i];
	}
	if (use & USE_CASCADE && f->bursts.count)
		take_recent(f, s);
	for (uint32_t i = 0; i < f->c.site_count; i++) {
		double prior = use & USE_CASCADE ? PRIOR : 0;

		s->moves[i] = s->seen[i] + prior > 0 ? s->stale[i] * prior / (s->seen[i] + prior) : 0;
	}
	weigh_evidence(f, use, s);
	fill_edges(f, use, s);
	move_alike(f, use, s);
}

static bool scratch_new(struct scratch *s, const struct fit *f)
{
	size_t cells = f->cell_count + 1, sites = f->c.site_count + 1;
	struct {
		double **array;
		size_t n;
	} of[] = {
		{ &s->a, cells },
		{ &s->e, cells },
		{ &s->firm, cells },
		{ &s->recent, cells },
		{ &s->before, cells },
		{ &s->any, sites },
		{ &s->volume, sites },
		{ &s->seen, sites },
		{ &s->known, sites },
		{ &s->moves, sites },
		{ &s->stale, sites },
		{ &s->before_site, sites },
		{ &s->before_stale, sites },
		{ &s->left, sites },
		{ &s->damped, sites },
		{ &s->kept, sites },
		{ &s->alike, f->alike_count + 1 },
		{ &s->group, f->group_count + 1 },
		{ &s->edge, f->edges.count + 1 },
	};
	double *at;

	s->numbers = 0;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		s->numbers += of[i].n;
	s->block = at = malloc(s->numbers * sizeof(*at));
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]) && at; at += of[i++].n)
		*of[i].array = at;
	return s->block;
}

/* What bursts tell is drawn by their parts, and what a burst read, with it. */
static void draw_all(struct fit *f, struct drawn *d, uint64_t *state)
{
	resample_draw(d->read, f->c.read_count, state);
	resample_draw(d->window, f->in->window_count, state);
	resample_draw(d->part, f->in->parts.count, state);
	resample_draw(d->call, f->in->calls.count, state);
	call_draw(&f->in->calls, d->call, d->call_factor);
	if (!f->in->parts.count || !f->bursts.sites)
		return;
	for (size_t i = 0; i < f->c.read_count; i++)
		if (f->c.reads[i].burst)
			d->read[i] = d->part[f->in->burst[f->c.reads[i].burst - 1].part];
	bursts_again(&f->bursts, f->in, d->part);
}

/* Of figures by refits: as one recording may differ from the next, and as both may be wrong. */
enum scatter { BY_CHANCE, IN_ALL, SCATTERS };

static void add_refit(const struct fit *f, const double *edge, struct edge_sums *t, struct spread *sp)
{
	uint32_t m = f->edges.count, g = f->in->func_count;

	edge_ids_sum(&f->edges, g, edge, t);
	for (size_t i = 0; i < sp->n; i++)
		spread_add(sp, i, i < m ? edge[i] : i < (size_t)m + g ? t->in[i - m] : t->out[i - m - g]);
}

static int begin_volume(const struct fit *f, struct volume_error *v)
{
	int err = volume_error_new(v, f->in);

	for (size_t i = 0; i < f->c.read_count && !err && f->c.time_bias; i++)
		if (!f->c.reads[i].call && !f->c.reads[i].burst && f->c.reads[i].site < v->sites)
			volume_error_add(v, f->c.reads[i].site, f->c.reads[i].bytes);
	return err;
}

static int bootstrap(struct fit *f, struct scratch *s, struct edge_sums *t, struct spread *sp)
{
	struct drawn d = { malloc(f->c.read_count + 1), malloc(f->in->window_count + 1), malloc(f->in->parts.count + 1),
			   malloc(f->in->calls.count + 1), malloc((f->in->calls.count + 1) * sizeof(*d.call_factor)) };
	struct volume_error volume = { 0 };
	uint64_t state = f->o->seed * 0x9e3779b97f4a7c15ull | 1, other = state;
	int err = d.read && d.window && d.part && d.call && d.call_factor ? begin_volume(f, &volume) : -ENOMEM;

	for (unsigned b = 0; b < f->o->bootstraps && !err; b++) {
		draw_all(f, &d, &state);
		refit(f, USE_BOTH, &d, s);
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

/* Samples and the share of them whose producer was told by the very granule, by edge. */
static void support(const struct fit *f, double *n, double *near)
{
	for (size_t i = 0; i < f->c.read_count; i++) {
		uint32_t e = f->cell[f->read_cell[i]].edge;

		n[e]++;
		near[e] += f->c.reads[i].a.near <= NEAR_LINE || f->c.reads[i].a.near == NEAR_NONE;
	}
}

struct parts {
	double *fused, *cascade, *windows, *n, *near;
	struct writer_error we;
};

/* By function: the windows that looked at what it reads, and what records count as beside them. */
static int writer_errors(const struct fit *f, const double *edge, struct writer_error *we)
{
	double *trials = malloc((f->in->func_count + 1) * sizeof(*trials));
	const struct writer_evidence of = { edge, trials, f->in->func_count, f->in->unknown, normal_half(f->o->level) };
	int err;

	for (uint32_t i = 0; i < f->in->func_count && trials; i++)
		trials[i] = PRIOR;
	for (size_t i = 0; i < f->ev_count && trials; i++)
		trials[f->edges.consumer[f->cell[f->ev[i].cell].edge]] += fmin(f->ev[i].weight, 1);
	err = trials ? writer_error_of(we, &f->edges, &of) : -ENOMEM;
	free(trials);
	return err;
}

/* What scatters and what windows and records disagree by; and what may be wrong although they do not. */
static void edge_range(const struct fit *f, const struct parts *p, const struct spread *sp, uint32_t i,
		       struct flow_edge *e)
{
	double half = spread_half_width(sp, i, f->o) + farther_of(p->cascade[i], p->windows[i], p->fused[i]);

	e->low = fmax(0, e->bytes - hypot(half, p->we.less[i]));
	e->high = e->bytes + hypot(half, p->we.more[i]);
}

static int fill_result(const struct fit *f, enum use use, const struct parts *p, const struct spread *sp,
		       struct edge_sums *t, struct flow *out)
{
	uint32_t *id = malloc((f->in->func_count + 1) * sizeof(*id));
	uint32_t m = f->edges.count, g = f->in->func_count;

	if (!id)
		return -ENOMEM;
	memset(id, 0xff, (g + 1) * sizeof(*id));
	for (uint32_t i = 0; i < m; i++) {
		const double *value = use == USE_BOTH ? p->fused : use == USE_CASCADE ? p->cascade : p->windows;
		uint32_t fn[2] = { f->edges.producer[i], f->edges.consumer[i] };
		struct flow_edge *edge;

		if (!(value[i] > 0))
			continue;
		for (int k = 0; k < 2; k++)
			if (id[fn[k]] == FLOW_NONE)
				id[fn[k]] = flow_func(out, f->in->funcs[fn[k]].name, f->in->funcs[fn[k]].object);
		edge = flow_edge(out, id[fn[0]], id[fn[1]]);
		if (!edge)
			break;
		edge->bytes += value[i];
		edge->samples = p->n[i];
		if (sp->n)
			edge->sd = spread_deviation(&sp[BY_CHANCE], i, f->o);
		if (sp->n)
			edge_range(f, p, &sp[IN_ALL], i, edge);
		/* told by the neighbourhood only, or told differently by the windows */
		edge->unresolved = p->near[i] < p->n[i] / 2;
		if (!isnan(p->windows[i]) &&
		    fabs(p->windows[i] - p->cascade[i]) > 0.5 * fmax(p->windows[i], p->cascade[i]))
			edge->unresolved = true;
	}
	for (int k = 0; sp->n && k < 3; k++)
		edge_ids_sum(&f->edges, g, k == 0 ? p->fused : k == 1 ? p->cascade : p->windows, &t[k]);
	for (uint32_t i = 0; sp->n && i < g; i++) {
		struct flow_func *fn = id[i] == FLOW_NONE ? NULL : &out->funcs[id[i]];
		double half;

		if (!fn)
			continue;
		spread_range(t[0].in[i], spread_half_width(&sp[IN_ALL], m + i, f->o), &fn->in_low, &fn->in_high);
		half = spread_half_width(&sp[IN_ALL], (size_t)m + g + i, f->o) +
		       farther_of(t[1].out[i], t[2].out[i], t[0].out[i]);
		fn->out_low = fmax(0, t[0].out[i] - hypot(half, p->we.out_less[i]));
		fn->out_high = t[0].out[i] + hypot(half, p->we.out_more[i]);
	}
	free(id);
	return 0;
}

/* Of the addresses whose producer the store records tell; edges that only windows know stay unknown. */
static int unique_of_edges(const struct fit *f, struct flow *out)
{
	uint32_t *edge = malloc((f->c.read_count + 1) * sizeof(*edge));
	int err;

	for (size_t i = 0; edge && i < f->c.read_count; i++)
		edge[i] = f->c.reads[i].a.near != NEAR_BLIND && !f->c.reads[i].burst ? f->cell[f->read_cell[i]].edge
										     : FLOW_NONE;
	err = edge ? edge_unique(f->in, &f->c, &f->edges, edge, out) : -ENOMEM;
	free(edge);
	return err;
}

static int solve(struct fit *f, enum use use, struct flow *out)
{
	uint32_t m = f->edges.count, g = f->in->func_count;
	bool intervals = use == USE_BOTH && f->o->bootstraps > 1;
	size_t figures = intervals ? (size_t)m + 2 * (size_t)g : 0;
	struct spread sp[SCATTERS] = { { .n = figures }, { .n = figures } };
	struct scratch s = { 0 };
	struct parts p = { 0 };
	struct edge_sums t[3] = { { 0 } };
	double *block = calloc((size_t)5 * (m + 1) + 2 * SCATTERS * figures + (size_t)6 * (g + 1), sizeof(double)),
	       *b = block;
	int err = -ENOMEM;

	if (!block || !scratch_new(&s, f))
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
	refit(f, USE_BOTH, NULL, &s);
	memcpy(p.fused, s.edge, m * sizeof(double));
	refit(f, USE_CASCADE, NULL, &s);
	memcpy(p.cascade, s.edge, m * sizeof(double));
	refit(f, USE_WINDOWS, NULL, &s);
	memcpy(p.windows, s.edge, m * sizeof(double));
	if (use != USE_WINDOWS)
		edge_ids_scale(&f->edges, f->in->func_count, p.windows, p.fused);
	support(f, p.n, p.near);
	err = intervals ? bootstrap(f, &s, &t[0], sp) : 0;
	if (!err)
		err = writer_errors(f, p.fused, &p.we);
	if (!err)
		err = fill_result(f, use, &p, sp, t, out);
	writer_error_release(&p.we);
	if (intervals)
		out->level = f->o->level;
out:
	free(block);
	free(s.block);
	return err;
}

static int estimate_with(const struct flow_input *in, const struct est_opts *o, struct flow *out, struct err *e,
			 enum use use)
{
	struct fit f = { .in = in, .o = o };
	int err;

	if (o->ke && (use != USE_BOTH || !in->has_invocations))
		return err_set(
			e, -ENODATA,
			"these samples do not say which invocation they came from, which the ke semantics is about; "
			"record with `accperf exact --semantics ke -- COMMAND`");
	if (!in->access_count)
		return err_set(e, -ENODATA,
			       "the profile holds no memory accesses; record with `accperf record` or `accperf exact`");
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
		err = unique_of_edges(&f, out);
	/* the figures are of the input alone, and reads are most of the memory: only these two ask for them later */
	if (!o->inclusive && !o->ke) {
		fit_release(&f);
		f = (struct fit){ .in = in, .o = o };
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
