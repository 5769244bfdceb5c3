// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OTLP profiles, as opentelemetry-proto 1.11.0 has them: package v1development, whose fields have moved from release
 * to release, so the release is pinned here and in the test. One message that is both ProfilesData and
 * ExportProfilesServiceRequest, which have the same fields.
 *
 * Each table of the dictionary is a set of encoded messages: what is met again has its index already, and what no
 * sample reaches never comes in. Element 0 is the empty message that "unset" points to.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/clean.h"
#include "util/grow.h"
#include "util/labels.h"
#include "util/map.h"
#include "util/protobuf.h"
#include "view/export.h"

/* Fields of ProfilesDictionary. */
enum otlp_table { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS, TABLES };

struct otlp {
	const struct profile *p;
	const struct export_opts *o;
	struct intern table[TABLES]; /* id n is element n */
	uint32_t *frames;            /* by frame of the profile: its location, 0: not met yet */
	uint32_t *stacks;            /* by stack of the profile */
	uint32_t place;              /* whose processes are put */
	bool told;                   /* what is of the whole recording, once */
	bool failed;
};

static uint32_t message_index(struct otlp *w, enum otlp_table t, const struct buf *message)
{
	uint32_t id = buf_failed(message) ? 0 : intern_add(&w->table[t], message->data, message->len, NULL);

	w->failed |= !id;
	return id;
}

static uint32_t text_index(struct otlp *w, const char *s)
{
	AUTO_BUF(text);

	if (!s || !*s)
		return 0;
	clean_add(&text, s, CLEAN_TEXT); /* readers refuse what is no UTF-8 */
	return message_index(w, STRINGS, &text);
}

/* ---- attributes */

enum { ANY_TEXT = 1, ANY_NUMBER = 3 }; /* fields of AnyValue */

static uint32_t attribute_index(struct otlp *w, const char *key, const char *text, uint64_t number)
{
	AUTO_BUF(value);
	AUTO_BUF(message);
	AUTO_BUF(clean);

	if (text) {
		clean_add(&clean, text, CLEAN_TEXT);
		protobuf_message(&value, ANY_TEXT, &clean);
	} else {
		protobuf_varint(&value, ANY_NUMBER << 3);
		protobuf_varint(&value, number); /* 0, too: the value is told by its being there */
	}
	protobuf_number(&message, 1, text_index(w, key));
	protobuf_message(&message, 2, &value);
	return message_index(w, ATTRIBUTES, &message);
}

static void put_indices(struct buf *out, unsigned field, const uint32_t *at, size_t count)
{
	AUTO_BUF(packed);

	for (size_t i = 0; i < count; i++)
		protobuf_varint(&packed, at[i]);
	if (count)
		protobuf_message(out, field, &packed);
}

static void resource_attribute(struct buf *out, const char *key, const char *text)
{
	AUTO_BUF(clean);
	AUTO_BUF(value);
	AUTO_BUF(pair);

	if (!text || !*text)
		return;
	clean_add(&clean, text, CLEAN_TEXT);
	protobuf_message(&value, ANY_TEXT, &clean);
	protobuf_text(&pair, 1, key);
	protobuf_message(&pair, 2, &value);
	protobuf_message(out, 1, &pair);
}

/* ---- the dictionary */

static uint32_t mapping_index(struct otlp *w, const struct profile_module *m)
{
	uint32_t id = 0;
	char hex[41] = "";
	AUTO_BUF(message);

	for (uint32_t b = 0; b < m->build_id_len; b++)
		snprintf(hex + 2 * b, 3, "%02x", m->build_id[b]);
	if (*hex)
		id = attribute_index(w, "process.executable.build_id.gnu", hex, 0);
	/* addresses are the ELF file's own, so each mapping spans them all */
	protobuf_number(&message, 2, INT64_MAX);
	protobuf_number(&message, 4, text_index(w, m->kind == FMT_MOD_FILE ? m->path : m->object));
	put_indices(&message, 5, &id, id != 0);
	return message_index(w, MAPPINGS, &message);
}

static uint32_t function_index(struct otlp *w, const struct profile_function *f)
{
	uint32_t name = text_index(w, f->name);
	AUTO_BUF(message);

	protobuf_number(&message, 1, name);
	protobuf_number(&message, 2, name);
	protobuf_number(&message, 3, text_index(w, f->file));
	protobuf_number(&message, 4, f->line);
	return message.len ? message_index(w, FUNCTIONS, &message) : 0;
}

static uint32_t location_index(struct otlp *w, uint32_t frame)
{
	const struct profile_frame *f = &w->p->frames[frame];
	const struct profile_module *m = &w->p->modules[f->module];
	uint32_t type = 0;
	AUTO_BUF(message);

	if (w->frames[frame])
		return w->frames[frame];
	protobuf_number(&message, 1, f->module ? mapping_index(w, m) : 0);
	protobuf_number(&message, 2, f->addr);
	for (uint32_t i = w->o->inlined ? 0 : f->count - 1; i < f->count; i++) {
		const struct profile_line *l = &w->p->lines[f->first + i];
		AUTO_BUF(line);

		protobuf_number(&line, 1, function_index(w, &w->p->functions[l->function]));
		protobuf_number(&line, 2, l->line);
		protobuf_message(&message, 3, &line);
	}
	/* whose code generated code is, nobody tells */
	if (m->kind == FMT_MOD_FILE || m->kind == FMT_MOD_KERNEL || m->kind == FMT_MOD_VDSO)
		type = attribute_index(w, "profile.frame.type", m->kind == FMT_MOD_KERNEL ? "kernel" : "native", 0);
	put_indices(&message, 4, &type, type != 0);
	return w->frames[frame] = message_index(w, LOCATIONS, &message);
}

static uint32_t stack_index(struct otlp *w, uint32_t stack)
{
	const struct profile_stack *s = &w->p->stacks[stack];
	AUTO_BUF(packed);
	AUTO_BUF(message);

	if (!s->count || w->stacks[stack])
		return w->stacks[stack];
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t location = location_index(w, w->p->stack_frames[s->first + i]);

		protobuf_varint(&packed, location);
	}
	protobuf_message(&message, 1, &packed);
	return w->stacks[stack] = message_index(w, STACKS, &message);
}

/* ---- samples: what has a stack and attributes in common is one */

struct otlp_samples {
	struct intern keys; /* id n is values[n - 1] */
	double *values;
	size_t count, cap;
};

static void add_sample(struct otlp *w, struct otlp_samples *s, uint32_t stack, const uint32_t attributes[3], double v)
{
	uint32_t key[4] = { stack_index(w, stack), attributes[0], attributes[1], attributes[2] };
	bool is_new = false;
	uint32_t id = intern_add(&s->keys, key, sizeof(key), &is_new);

	if (!id || (is_new && !GROW(s->values, s->count, s->cap, 256))) {
		w->failed = true;
		return;
	}
	if (is_new)
		s->values[s->count++] = 0;
	s->values[id - 1] += v;
}

/* A profile's figures are foreign input: what does not fit is cut, not undefined. */
static uint64_t cut_to_positive(double v)
{
	return v >= 9.2e18 ? INT64_MAX : v > 0 ? (uint64_t)(v + 0.5) : 0;
}

static void put_otlp_samples(struct otlp_samples *s, struct buf *profile)
{
	for (size_t i = 0; i < s->count; i++) {
		const uint32_t *key = (const void *)intern_get(&s->keys, (uint32_t)i + 1, NULL);
		uint32_t copy[4], attributes[3];
		unsigned n = 0;
		AUTO_BUF(value);
		AUTO_BUF(sample);

		memcpy(copy, key, sizeof(copy));
		for (unsigned k = 1; k < 4; k++)
			if (copy[k])
				attributes[n++] = copy[k];
		protobuf_number(&sample, 1, copy[0]);
		put_indices(&sample, 2, attributes, n);
		protobuf_varint(&value, cut_to_positive(s->values[i]));
		protobuf_message(&sample, 4, &value);
		protobuf_message(profile, 2, &sample);
	}
}

static void put_type(struct otlp *w, unsigned field, const char *type, const char *unit, struct buf *profile)
{
	AUTO_BUF(message);

	protobuf_number(&message, 1, text_index(w, type));
	protobuf_number(&message, 2, text_index(w, unit));
	protobuf_message(profile, field, &message);
}

/* The same profile sent twice has the same id, and no other has it. */
static void put_id(const struct buf *profile, const char *type, struct buf *out)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(profile->data, profile->len, XXH3_64bits(type, strlen(type)));

	h.low64 |= !h.low64; /* all zeroes are none */
	protobuf_bytes(out, 7, &h, sizeof(h));
}

static void put_profile(struct otlp *w, struct otlp_samples *s, const char *type, const char *unit, double period,
			struct buf *scope)
{
	const struct profile *p = w->p;
	uint32_t attributes[2];
	unsigned n = 0;
	AUTO_BUF(profile);

	put_type(w, 1, type, unit, &profile);
	put_otlp_samples(s, &profile);
	protobuf_fixed64(&profile, 3, p->start_realtime_ns);
	protobuf_number(&profile, 4, p->duration_ns);
	if (period > 0) {
		put_type(w, 5, type, unit, &profile);
		protobuf_number(&profile, 6, cut_to_positive(period));
	}
	if (!buf_failed(&profile))
		put_id(&profile, type, &profile);
	if (p->lost_known && !w->told)
		attributes[n++] = attribute_index(w, "accperf.samples.lost", NULL, p->lost);
	w->told = true;
	if (*p->recovery)
		attributes[n++] = attribute_index(w, "accperf.incomplete", p->recovery, 0);
	put_indices(&profile, 11, attributes, n);
	protobuf_message(scope, 2, &profile);
}

static void release_samples(struct otlp_samples *s)
{
	intern_release(&s->keys);
	free(s->values);
}

static void add_cells_of(struct otlp *w, const struct profile_thread *t, struct otlp_samples *cost,
			 struct otlp_samples *count)
{
	enum profile_unit unit = profile_unit(w->p);

	for (size_t i = t->first_cell; i < t->first_cell + t->cell_count; i++) {
		const struct profile_cell *c = &w->p->cells[i];
		uint32_t attributes[3] = { 0 };

		if (!c->samples[unit])
			continue;
		attributes[0] = attribute_index(w, "process.pid", NULL, t->pid);
		attributes[1] = attribute_index(w, "thread.id", NULL, t->tid);
		attributes[2] = t->comm ? attribute_index(w, "process.executable.name", t->comm, 0) : 0;
		add_sample(w, cost, c->stack, attributes, c->weight[unit]);
		add_sample(w, count, c->stack, attributes, (double)c->samples[unit]);
	}
}

static void put_cells(struct otlp *w, struct buf *scope)
{
	const struct profile *p = w->p;
	enum profile_unit unit = profile_unit(p);
	struct otlp_samples cost = { 0 }, count = { 0 };
	double samples = (double)p->samples[unit];

	for (size_t i = 0; i < p->thread_count; i++)
		if (p->threads[i].place == w->place)
			add_cells_of(w, &p->threads[i], &cost, &count);
	put_profile(w, &cost,
		    unit == PROFILE_TIME       ? "cpu"
		    : unit == PROFILE_ACCESSES ? "accesses"
					       : "instructions",
		    unit == PROFILE_TIME ? "nanoseconds" : "count", p->weight[unit] / samples, scope);
	if (count.count)
		put_profile(w, &count, "samples", "count", 0, scope);
	release_samples(&cost);
	release_samples(&count);
}

static void put_waits(struct otlp *w, struct buf *scope)
{
	struct otlp_samples waits = { 0 };

	for (size_t i = 0; i < w->p->wait_count; i++) {
		const struct profile_wait *of = &w->p->waits[i];
		uint32_t attributes[3] = { 0 };

		if (of->place != w->place)
			continue;
		attributes[0] = attribute_index(w, "process.pid", NULL, of->pid);
		attributes[2] = of->comm ? attribute_index(w, "process.executable.name", of->comm, 0) : 0;
		add_sample(w, &waits, of->stack, attributes, of->ns);
	}
	if (waits.count)
		put_profile(w, &waits, "off_cpu", "nanoseconds", 0, scope);
	release_samples(&waits);
}

/* ---- the whole */

/* Of its processes' place, else of the labels, which are what all processes have in common. */
static void place_attribute(struct buf *resource, const char *key, const char *of_place, const char *labels,
			    const char *label)
{
	char value[LABELS_MOST];

	labels_value(labels, label, value);
	resource_attribute(resource, key, of_place ? of_place : value);
}

/* A container is a resource, and so is a unit of systemd: processes of each have one of their own. */
static void put_resource(const struct otlp *w, struct buf *out)
{
	const struct profile *p = w->p;
	const char *labels = profile_meta(p, META_LABELS), *service = w->o->service;
	const struct profile_place *in = &p->places[w->place];
	char value[LABELS_MOST], *slash;
	AUTO_BUF(resource);

	labels_value(labels, "service", value);
	/* what the convention has for those whose name nobody told */
	resource_attribute(&resource, "service.name", *value ? value : service ? service : "unknown_service");
	resource_attribute(&resource, "host.name", profile_meta(p, "host"));
	resource_attribute(&resource, "process.command", profile_meta(p, "command"));
	place_attribute(&resource, "container.id", in->container, labels, "container");
	place_attribute(&resource, "accperf.systemd.unit", in->unit, labels, "unit");
	if (in->pod)
		snprintf(value, sizeof(value), "%s", in->pod);
	else
		labels_value(labels, "pod", value);
	slash = strchr(value, '/');
	resource_attribute(&resource, slash ? "k8s.pod.name" : "k8s.pod.uid", slash ? slash + 1 : value);
	if (slash) {
		*slash = 0;
		resource_attribute(&resource, "k8s.namespace.name", value);
	}
	protobuf_message(out, 1, &resource);
}

static void put_dictionary(struct otlp *w, struct buf *out)
{
	AUTO_BUF(dictionary);

	for (unsigned t = 1; t < TABLES; t++)
		for (uint32_t i = 0; i <= w->table[t].count; i++) {
			size_t len = 0;
			const char *element = i ? intern_get(&w->table[t], i, &len) : NULL;

			protobuf_bytes(&dictionary, t, element, len);
		}
	protobuf_message(out, 2, &dictionary);
}

static void put_resource_profiles(struct otlp *w, struct buf *out)
{
	AUTO_BUF(about);
	AUTO_BUF(scope);
	AUTO_BUF(of_resource);

	protobuf_text(&about, 1, "accperf");
	protobuf_text(&about, 2, ACCPERF_VERSION);
	protobuf_message(&scope, 1, &about);
	put_cells(w, &scope);
	put_waits(w, &scope);
	put_resource(w, &of_resource);
	protobuf_message(&of_resource, 2, &scope);
	protobuf_message(out, 1, &of_resource);
}

/* Where nothing was seen there is one all the same. */
static int put_all(struct otlp *w, struct buf *out)
{
	const struct profile *p = w->p;
	bool *seen = calloc(p->place_count, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < p->thread_count; i++)
		seen[p->threads[i].place] = true;
	for (size_t i = 0; i < p->wait_count; i++)
		seen[p->waits[i].place] = true;
	seen[0] |= !p->thread_count && !p->wait_count;
	for (w->place = 0; w->place < p->place_count; w->place++)
		if (seen[w->place])
			put_resource_profiles(w, out);
	free(seen);
	put_dictionary(w, out);
	return 0;
}

int export_otlp(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e)
{
	struct otlp w = { .p = p, .o = o };

	w.frames = calloc(p->frame_count + 1, sizeof(*w.frames));
	w.stacks = calloc(p->stack_count + 1, sizeof(*w.stacks));
	w.failed = !w.frames || !w.stacks;
	w.failed = w.failed || put_all(&w, out);
	free(w.frames);
	free(w.stacks);
	for (unsigned t = 1; t < TABLES; t++)
		intern_release(&w.table[t]);
	return w.failed || buf_failed(out) ? err_set(e, -ENOMEM, "out of memory") : 0;
}
