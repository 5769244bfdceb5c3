// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pprof's profile.proto, gzipped. Encoded piece by piece: protobuf readers join repeated fields of
 * concatenated messages, so no second copy of the profile is built in memory.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "pprof.pb-c.h"
#include "util/labels.h"
#include "util/clean.h"
#include "util/map.h"
#include "view/export.h"

struct pprof_writer {
	const struct profile *p;
	const struct export_opts *o;
	struct buf raw;
	struct intern strings; /* id n is string_table[n]; [0] is "" */
	bool failed;
};

/* A profile's figures are foreign input: what does not fit is cut, not undefined. */
static int64_t cut_to_int64(double v)
{
	return v >= 9.2e18 ? INT64_MAX : v > 0 ? (int64_t)(v + 0.5) : 0;
}

static int64_t pprof_string(struct pprof_writer *w, const char *s)
{
	AUTO_BUF(text);
	uint32_t id;

	if (!s || !*s)
		return 0;
	/* protobuf's readers refuse a file with a string that is no UTF-8 */
	clean_add(&text, s, CLEAN_TEXT);
	id = buf_failed(&text) ? 0 : intern_add(&w->strings, text.data, text.len, NULL);
	w->failed |= !id;
	return id;
}

/* Locations: 1 without a stack, then the frames, then the flow's functions. */
static uint64_t flow_location(const struct pprof_writer *w, uint32_t function)
{
	return (w->p->frame_count ? w->p->frame_count : 1) + 1 + function;
}

static void emit_piece(struct pprof_writer *w, const Pprof__Profile *piece)
{
	size_t n = pprof__profile__get_packed_size(piece);

	if (!buf_reserve(&w->raw, n))
		return;
	pprof__profile__pack(piece, (uint8_t *)w->raw.data + w->raw.len);
	w->raw.len += n;
}

static void emit_head(struct pprof_writer *w)
{
	const struct profile *p = w->p;
	enum profile_unit unit = profile_unit(p);
	bool time = unit == PROFILE_TIME;
	Pprof__Profile head = PPROF__PROFILE__INIT;
	Pprof__ValueType count = PPROF__VALUE_TYPE__INIT, cost = PPROF__VALUE_TYPE__INIT,
			 flow = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *types[3] = { &count, &cost, &flow };
	int64_t comments[4];
	const char *engine = profile_meta(p, "engine"), *labels = profile_meta(p, META_LABELS);
	char text[400];

	count.type = pprof_string(w, w->o->calls ? "calls" : "samples");
	count.unit = pprof_string(w, "count");
	cost.type = pprof_string(w, time ? "cpu" : unit == PROFILE_ACCESSES ? "accesses" : "instructions");
	cost.unit = pprof_string(w, time ? "nanoseconds" : "count");
	flow.type = pprof_string(w, "flow");
	/* bytes, or their part of all where these are unknown */
	flow.unit = pprof_string(w, !w->o->flow || flow_has_amounts(w->o->flow) ? "bytes" : "millionths");
	head.n_sample_type = w->o->flow ? 3 : 2;
	head.sample_type = types;
	head.default_sample_type = w->o->flow && !p->samples[unit] ? flow.type : cost.type;
	head.period_type = &cost;
	head.period = w->o->calls ? 1 : p->samples[unit] ? cut_to_int64(p->weight[unit] / (double)p->samples[unit]) : 0;
	head.time_nanos = (int64_t)p->start_realtime_ns;
	head.duration_nanos = (int64_t)p->duration_ns;
	if (p->lost_known)
		snprintf(text, sizeof(text), "accperf, engine %s, %llu samples lost", engine ? engine : "unknown",
			 (unsigned long long)p->lost);
	else
		snprintf(text, sizeof(text), "accperf, engine %s, lost samples unknown", engine ? engine : "unknown");
	comments[0] = pprof_string(w, text);
	head.comment = comments;
	head.n_comment = 1;
	if (labels)
		comments[head.n_comment++] = pprof_string(w, labels);
	if (*p->recovery)
		comments[head.n_comment++] = pprof_string(w, p->recovery);
	if (w->o->flow)
		comments[head.n_comment++] = pprof_string(
			w,
			"flow: one stack [reader, writer] for each edge; nodes merge, so cumulative flow is not conserved");
	emit_piece(w, &head);
}

static void emit_mapping(struct pprof_writer *w, size_t i)
{
	const struct profile_module *m = &w->p->modules[i];
	Pprof__Mapping map = PPROF__MAPPING__INIT, *maps[1] = { &map };
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	char id[41] = "";

	for (uint32_t b = 0; b < m->build_id_len; b++)
		snprintf(id + 2 * b, 3, "%02x", m->build_id[b]);
	map.id = i + 1;
	/* addresses are the ELF file's own, so each mapping spans them all */
	map.memory_limit = INT64_MAX;
	map.filename = pprof_string(w, m->kind == FMT_MOD_FILE ? m->path : m->object);
	map.build_id = pprof_string(w, id);
	/* all that can be named is named: keep pprof from trying again */
	map.has_functions = map.has_filenames = map.has_line_numbers = map.has_inline_frames = true;
	piece.mapping = maps;
	piece.n_mapping = 1;
	emit_piece(w, &piece);
}

/* pprof takes the first mapping for the main program's. */
static size_t main_module(const struct profile *p)
{
	for (size_t i = 1; i < p->module_count; i++)
		if (p->modules[i].kind == FMT_MOD_FILE && !strstr(p->modules[i].object, ".so"))
			return i;
	return p->module_count > 1 ? 1 : 0;
}

static void emit_mappings(struct pprof_writer *w)
{
	size_t first = main_module(w->p);

	emit_mapping(w, first);
	for (size_t i = 0; i < w->p->module_count; i++)
		if (i != first)
			emit_mapping(w, i);
}

static void emit_functions(struct pprof_writer *w)
{
	for (size_t i = 0; i < w->p->function_count; i++) {
		const struct profile_function *f = &w->p->functions[i];
		Pprof__Function fn = PPROF__FUNCTION__INIT, *fns[1] = { &fn };
		Pprof__Profile piece = PPROF__PROFILE__INIT;

		fn.id = i + 1;
		fn.name = fn.system_name = pprof_string(w, f->name);
		fn.filename = pprof_string(w, f->file);
		fn.start_line = f->line;
		piece.function = fns;
		piece.n_function = 1;
		emit_piece(w, &piece);
	}
}

static void emit_location(struct pprof_writer *w, uint64_t id, const struct profile_frame *f)
{
	uint32_t first = w->o->inlined || !f ? 0 : f->count - 1, n = f ? f->count - first : 1;
	Pprof__Location loc = PPROF__LOCATION__INIT, *locs[1] = { &loc };
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Line *lines = calloc(n, sizeof(*lines)), **at = calloc(n, sizeof(*at));

	w->failed |= !lines || !at;
	for (uint32_t i = 0; lines && at && i < n; i++) {
		const struct profile_line *l = f ? &w->p->lines[f->first + first + i] : NULL;

		pprof__line__init(&lines[i]);
		lines[i].function_id = l ? l->function + 1 : 1;
		lines[i].line = l ? l->line : 0;
		at[i] = &lines[i];
	}
	loc.id = id;
	loc.mapping_id = f ? f->module + 1 : 1;
	loc.address = f ? f->addr : 0;
	loc.line = at;
	loc.n_line = lines && at ? n : 0;
	piece.location = locs;
	piece.n_location = 1;
	emit_piece(w, &piece);
	free(lines);
	free(at);
}

/* Returns how many there are, of six at most. */
static size_t label_sample(struct pprof_writer *w, const struct profile_thread *t, Pprof__Label *labels)
{
	const struct profile_place *in = &w->p->places[t->place];
	const char *const texts[][2] = {
		{ "command", t->comm }, { "unit", in->unit }, { "container", in->container }, { "pod", in->pod }
	};
	size_t n = 2;

	pprof__label__init(&labels[0]);
	pprof__label__init(&labels[1]);
	labels[0].key = pprof_string(w, "thread");
	labels[0].num = t->tid;
	labels[1].key = pprof_string(w, "process");
	labels[1].num = t->pid;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!texts[i][1])
			continue;
		pprof__label__init(&labels[n]);
		labels[n].key = pprof_string(w, texts[i][0]);
		labels[n++].str = pprof_string(w, texts[i][1]);
	}
	return n;
}

static void emit_sample(struct pprof_writer *w, const struct profile_cell *c, uint64_t *ids)
{
	const struct profile *p = w->p;
	enum profile_unit unit = profile_unit(p);
	const struct profile_stack *s = &p->stacks[c->stack];
	const struct profile_thread *t = &p->threads[c->thread];
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples[1] = { &sample };
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Label labels[6], *label_at[6];
	int64_t values[3] = { (int64_t)(w->o->calls ? w->o->calls[c->stack] : c->samples[unit]),
			      cut_to_int64(c->weight[unit]), 0 };

	/* location 1 stands for samples without a stack */
	ids[0] = 1;
	for (uint32_t i = 0; i < s->count; i++)
		ids[i] = p->stack_frames[s->first + i] + 1;
	sample.location_id = ids;
	sample.n_location_id = s->count ? s->count : 1;
	sample.value = values;
	sample.n_value = w->o->flow ? 3 : 2;
	sample.label = label_at;
	sample.n_label = label_sample(w, t, labels);
	for (size_t i = 0; i < sample.n_label; i++)
		label_at[i] = &labels[i];
	piece.sample = samples;
	piece.n_sample = 1;
	emit_piece(w, &piece);
}

/* Functions and locations of the flow's own: a location with inlined lines would hand a consumer's bytes
 * to what is inlined into it. Their ids follow those of the profile. */
static void emit_flow_functions(struct pprof_writer *w)
{
	const struct flow *f = w->o->flow;

	for (uint32_t i = 0; i < f->func_count; i++) {
		Pprof__Function fn = PPROF__FUNCTION__INIT, *fns[1] = { &fn };
		Pprof__Location loc = PPROF__LOCATION__INIT, *locs[1] = { &loc };
		Pprof__Line line = PPROF__LINE__INIT, *lines[1] = { &line };
		Pprof__Profile piece = PPROF__PROFILE__INIT;

		fn.id = line.function_id = w->p->function_count + 1 + i;
		fn.name = fn.system_name = pprof_string(w, f->funcs[i].name);
		loc.id = flow_location(w, i);
		loc.mapping_id = 1;
		loc.line = lines;
		loc.n_line = 1;
		piece.function = fns;
		piece.location = locs;
		piece.n_function = piece.n_location = 1;
		emit_piece(w, &piece);
	}
}

static void add_bytes(struct pprof_writer *w, Pprof__Sample *s, Pprof__Label *labels, const char *key, double bytes)
{
	Pprof__Label *l = &labels[s->n_label];

	if (!isfinite(bytes))
		return;
	l->key = pprof_string(w, key);
	l->num = cut_to_int64(bytes);
	l->num_unit = pprof_string(w, "bytes");
	s->n_label++;
}

static void emit_edge(struct pprof_writer *w, const struct flow_edge *edge)
{
	const struct flow *f = w->o->flow;
	uint64_t ids[2] = { flow_location(w, edge->consumer), flow_location(w, edge->producer) };
	struct flow_range bytes = flow_edge_bytes(f, edge), share = flow_edge_share(f, edge);
	int64_t values[3] = { 0, 0, cut_to_int64(flow_has_amounts(f) ? edge->bytes : share.value * 1e6) };
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples[1] = { &sample };
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Label labels[5], *label_at[5];

	for (int i = 0; i < 5; i++) {
		pprof__label__init(&labels[i]);
		label_at[i] = &labels[i];
	}
	labels[0].key = pprof_string(w, "src");
	labels[0].str = pprof_string(w, f->funcs[edge->producer].name);
	labels[1].key = pprof_string(w, "dst");
	labels[1].str = pprof_string(w, f->funcs[edge->consumer].name);
	sample.n_label = 2;
	add_bytes(w, &sample, labels, "unique_bytes", edge->unique);
	add_bytes(w, &sample, labels, "low_bytes", bytes.low);
	add_bytes(w, &sample, labels, "high_bytes", bytes.high);
	sample.label = label_at;
	sample.location_id = ids;
	sample.n_location_id = 2;
	sample.value = values;
	sample.n_value = 3;
	piece.sample = samples;
	piece.n_sample = 1;
	emit_piece(w, &piece);
}

static void emit_strings(struct pprof_writer *w)
{
	for (uint32_t i = 0; i <= w->strings.count; i++) {
		const char *s = i ? intern_get(&w->strings, i, NULL) : "";
		char *one[1] = { (char *)(s ? s : "") };
		Pprof__Profile piece = PPROF__PROFILE__INIT;

		piece.string_table = one;
		piece.n_string_table = 1;
		emit_piece(w, &piece);
	}
}

static int gzip(const struct buf *in, struct buf *out)
{
	z_stream z = { .next_in = (Bytef *)in->data, .avail_in = 0 };
	size_t left = in->len;
	int err;

	/* 16 + 15: a gzip wrapper */
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		uInt take = left > 1u << 30 ? 1u << 30 : (uInt)left;

		z.avail_in = take;
		left -= take;
		do {
			if (!buf_reserve(out, 1u << 16)) {
				deflateEnd(&z);
				return -ENOMEM;
			}
			z.next_out = (Bytef *)out->data + out->len;
			z.avail_out = 1u << 16;
			err = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
			out->len += (1u << 16) - z.avail_out;
		} while (!z.avail_out);
	} while (left);
	deflateEnd(&z);
	return err == Z_STREAM_END ? 0 : -EIO;
}

int export_pprof(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e)
{
	struct pprof_writer w = { .p = p, .o = o };
	enum profile_unit unit = profile_unit(p);
	uint32_t deepest = 1;
	uint64_t *ids;
	int err = -ENOMEM;

	for (size_t i = 0; i < p->stack_count; i++)
		deepest = p->stacks[i].count > deepest ? p->stacks[i].count : deepest;
	ids = calloc(deepest, sizeof(*ids));

	if (ids) {
		emit_head(&w);
		emit_mappings(&w);
		emit_functions(&w);
		emit_location(&w, 1, NULL);
		for (size_t i = 1; i < p->frame_count; i++)
			emit_location(&w, i + 1, &p->frames[i]);
		for (size_t i = 0; i < p->cell_count; i++)
			if (p->cells[i].samples[unit])
				emit_sample(&w, &p->cells[i], ids);
		if (o->flow) {
			emit_flow_functions(&w);
			for (size_t i = 0; i < o->flow->edge_count; i++)
				if (o->flow->edges[i].bytes > 0)
					emit_edge(&w, &o->flow->edges[i]);
		}
		emit_strings(&w);
		err = w.failed || buf_failed(&w.raw) ? -ENOMEM : gzip(&w.raw, out);
	}
	free(ids);
	buf_release(&w.raw);
	intern_release(&w.strings);
	return err ? err_set(e, err, err == -ENOMEM ? "out of memory" : "compressing failed") : 0;
}
