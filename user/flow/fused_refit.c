// SPDX-License-Identifier: GPL-2.0-or-later
/* The fused estimator's sums: bytes by cell from reads, windows and bursts, and bytes by edge from these. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/fused_priv.h"

/* of its bytes: what is known at one instruction outweighs what is at others alike if it is more */
#define KNOWN_HERE 0.02
#define FAR_LEAST 0.02 /* of what is older: written that long ago, it tells who wrote before, too, */
#define FAR_WORTH 4.0  /* as so many windows */

/* The part of what this instruction reads of memory that nobody was seen to write. */
static double stays(const struct fused_fit *f, enum fused_use use, uint32_t site)
{
	return use == USE_CASCADE ? 1 : rewrite_rate_site(&f->still, site);
}

/* A writer of what this instruction, or one alike, reads was seen. */
static bool knows_firmly(const struct fused_fit *f, const struct fused_scratch *s, uint32_t site)
{
	return s->known[site] > 0 || s->group[f->group[site]] > 0;
}

/* The part of what moves that goes to writers this very instruction knows; the rest to those the code or those alike
 * know. */
static double known_here(const struct fused_fit *f, enum fused_use use, const struct fused_scratch *s, uint32_t site)
{
	double known = s->known[site], others = KNOWN_HERE * s->volume[site];

	return known > 0 ? known / (known + others) : 0;
}

static double share_here(const struct fused_fit *f, enum fused_use use, const struct fused_scratch *s, uint32_t cell)
{
	uint32_t site = f->cell[cell].site;

	return s->known[site] > 0 ? s->firm[cell] / s->known[site] * known_here(f, use, s, site) : 0;
}

static void move_alike(const struct fused_fit *f, enum fused_use use, struct fused_scratch *s)
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

/* Code that wrote nearly as long ago as bursts see is likely to have written what they no longer see. */
static void look_further(const struct fused_fit *f, struct fused_scratch *s)
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
static void take_recent(const struct fused_fit *f, struct fused_scratch *s)
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

/* Calls of one stretch come and go together: it is stretches that differ. */
static double drawn_bytes(const struct fused_fit *f, const struct fused_drawn *d, size_t read)
{
	const struct read_answer *r = &f->c.reads[read];
	const struct in_sysio *io = r->call ? &f->in->sysio[r->call - 1] : NULL;

	return r->bytes * (!d ? 1 : io && io->stretch ? d->call_factor[io->stretch - 1][io->measure] : d->read[read]);
}

/* What the reads' own records tell: bytes by cell and by site. */
static void add_placed(const struct fused_fit *f, const struct fused_drawn *drawn, const double *volume_times,
		       struct fused_scratch *s)
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

static void add_reads(const struct fused_fit *f, enum fused_use use, const struct fused_drawn *drawn,
		      const double *volume_times, struct fused_scratch *s)
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
		/* what wrote there may have been followed by others, but is one that writes there */
		s->firm[f->read_cell[i]] += bytes * f->read_right[i];
		s->stale[f->c.reads[i].site] += bytes * (1 - sure);
	}
}

/* Windows and records are weighed against each other, at each load: what windows saw counts as it was seen, records as
 * PRIOR windows. */
static void weigh_evidence(const struct fused_fit *f, enum fused_use use, struct fused_scratch *s)
{
	for (uint32_t i = 0; i < f->cell_count; i++) {
		const struct fused_cell *c = &f->cell[i];
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

static void fill_edges(const struct fused_fit *f, enum fused_use use, struct fused_scratch *s)
{
	for (uint32_t i = 0; i < f->cell_count; i++) {
		const struct fused_cell *c = &f->cell[i];
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

void fused_refit(const struct fused_fit *f, enum fused_use use, const struct fused_drawn *drawn,
		 struct fused_scratch *s)
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

bool fused_scratch(struct fused_scratch *s, const struct fused_fit *f)
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
