// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/catalogue_internal.h"
#include "util/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES 4096 /* of all files; by hand */
#define MAX_NAME 255     /* bytes: as of a file's name */

/* Both files are part of the program: `logca show --device` needs none beside it. */
__asm__(".section .rodata\n"
	"accperf_paper_devices:\n"
	".incbin \"user/model/devices.json\"\n"
	"accperf_paper_devices_end:\n"
	"accperf_makers_devices:\n"
	".incbin \"user/model/accelerators.json\"\n"
	"accperf_makers_devices_end:\n"
	".previous\n");
extern const char accperf_paper_devices[], accperf_paper_devices_end[];
extern const char accperf_makers_devices[], accperf_makers_devices_end[];

/* calibrate's text of a machine ends with its kernel and clock, which may change; the processor is what counts. */
bool catalogue_elsewhere(const struct catalogue_entry *a, const char *host)
{
	size_t len = a->host ? strcspn(a->host, ",") : 0;

	return !a->host || !host || strcspn(host, ",") != len || strncmp(a->host, host, len) != 0;
}

void catalogue_entry_release(struct catalogue_entry *e)
{
	char **owned[] = { &e->name, &e->family,   &e->device, &e->host,  &e->driver,
			   &e->date, &e->baseline, &e->unit,   &e->source };

	for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
		free(*owned[i]);
	for (unsigned i = 0; i < e->notes; i++)
		free(e->note[i]);
	for (unsigned i = 0; i < e->thresholds; i++) {
		free(e->threshold[i].call);
		free(e->threshold[i].source);
	}
	points_release(&e->pts);
	*e = (struct catalogue_entry){ 0 };
}

void catalogue_release(struct catalogue *c)
{
	for (size_t i = 0; i < c->count; i++)
		catalogue_entry_release(&c->entries[i]);
	free(c->entries);
	*c = (struct catalogue){ 0 };
}

static int parse_params(struct catalogue_entry *entry, json_t *o, const struct catalogue_text *t, struct err *e)
{
	const struct {
		const char *key;
		double *at;
	} field[] = {
		{ "L", &entry->p.L },
		{ "o", &entry->p.o },
		{ "C", &entry->p.C },
		{ "beta", &entry->p.beta },
	};
	json_t *a = json_object_get(o, "A"), *t0 = json_object_get(o, "t0");
	const char *latency = json_string_value(json_object_get(o, "latency"));
	struct err why = { 0 };

	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
		json_t *v = json_object_get(o, field[i].key);
		char path[16];

		snprintf(path, sizeof(path), "params.%s", field[i].key);
		if (!json_is_number(v))
			return catalogue_wrong(t, e, path, "'%s' has no number for %s", entry->name, field[i].key);
		*field[i].at = json_number_value(v);
	}
	if (!latency || (strcmp(latency, "dep") && strcmp(latency, "indep")))
		return catalogue_wrong(t, e, "params.latency", "'%s' has no latency of indep or dep", entry->name);
	if (a && !json_is_null(a) && !json_is_number(a))
		return catalogue_wrong(t, e, "params.A", "'%s': A wants a number, or null where it is infinite",
				       entry->name);
	if (t0 && !json_is_null(t0) && !json_is_number(t0))
		return catalogue_wrong(t, e, "params.t0", "'%s': t0 wants a number", entry->name);
	entry->p.kind = latency[0] == 'd' ? LOGCA_DEP : LOGCA_INDEP;
	entry->p.A = json_is_number(a) ? json_number_value(a) : INFINITY; /* null: infinite */
	entry->p.t0 = json_is_number(t0) ? json_number_value(t0) : 0;
	entry->has_params = true;
	if (logca_check(&entry->p, &why))
		return catalogue_wrong(t, e, "params", "'%s': %s", entry->name, why.text);
	return 0;
}

static int parse_points(struct catalogue_entry *entry, json_t *o, const struct catalogue_text *t, struct err *e)
{
	if (o && !json_is_null(o) && !json_is_object(o))
		return catalogue_wrong(t, e, "points", "points wants an object of lists");
	for (int k = 0; k < RUN_KINDS; k++) {
		const char *kind = run_kind_str((enum run_kind)k);
		json_t *list = json_object_get(o, kind), *p;
		size_t i;

		json_array_foreach(list, i, p)
		{
			json_t *g = json_array_get(p, 0), *time = json_array_get(p, 1), *flag = json_array_get(p, 2);
			struct err why = { 0 };
			char path[64];

			snprintf(path, sizeof(path), "points.%s.%zu", kind, i);
			if (!json_is_number(g) || !json_is_number(time))
				return catalogue_wrong(t, e, path, "'%s': point %zu of %s is not [bytes, time]",
						       entry->name, i, kind);
			if (points_add(&entry->pts, (enum run_kind)k, json_number_value(g), json_number_value(time),
				       json_is_true(flag), &why))
				return catalogue_wrong(t, e, path, "'%s': %s", entry->name, why.text);
		}
	}
	return 0;
}

static int parse_entry(struct catalogue_entry *entry, json_t *o, const struct catalogue_text *t, struct err *e)
{
	json_t *params = json_object_get(o, "params"), *name = json_object_get(o, "name");
	int err;

	if (!json_is_object(o))
		return catalogue_wrong(t, e, "", "an accelerator is an object with a name");
	if (!json_is_string(name) || !json_string_length(name) || json_string_length(name) > MAX_NAME)
		return catalogue_wrong(t, e, "name", "an entry has no name of 1 to %d bytes", MAX_NAME);
	entry->name = strdup(json_string_value(name));
	if (!entry->name)
		return err_set(e, -ENOMEM, "out of memory");
	err = catalogue_terms_parse(entry, o, t, e);
	if (err)
		return err;
	if (entry->unit)
		strncpy(entry->pts.unit, entry->unit, sizeof(entry->pts.unit) - 1);
	if (params && !json_is_null(params) && !json_is_object(params))
		return catalogue_wrong(t, e, "params", "params wants an object with L, o, C, A, beta and latency");
	if (json_is_object(params))
		err = parse_params(entry, params, t, e);
	return err ? err : parse_points(entry, json_object_get(o, "points"), t, e);
}

int catalogue_put(struct catalogue *c, struct catalogue_entry *entry, struct err *e)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->entries[i].name, entry->name)) {
			catalogue_entry_release(&c->entries[i]);
			c->entries[i] = *entry;
			*entry = (struct catalogue_entry){ 0 };
			return 0;
		}
	if (c->count >= MAX_ENTRIES || !GROW_ONE(c->entries, c->count))
		return err_set(e, -ENOMEM, "the catalogue holds %zu entries already; remove some", c->count);
	c->entries[c->count++] = *entry;
	*entry = (struct catalogue_entry){ 0 };
	return 0;
}

int catalogue_parse(struct catalogue *c, const char *text, size_t len, struct err *e)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why), *list, *o;
	const char *schema = json_string_value(json_object_get(root, "schema"));
	size_t i;
	int err = 0;

	*c = (struct catalogue){ 0 };
	if (!root)
		return err_set(e, -EINVAL, "line %d, column %d: %s", why.line, why.column, why.text);
	list = json_object_get(root, "accelerators");
	if (!schema || strcmp(schema, CATALOGUE_SCHEMA) || !json_is_array(list))
		err = err_set(e, -EINVAL,
			      "this JSON is no catalogue: it lacks \"schema\":\"%s\" and a list \"accelerators\"",
			      CATALOGUE_SCHEMA);
	json_array_foreach(list, i, o)
	{
		struct catalogue_text t = { text, len, i };
		struct catalogue_entry entry = { 0 };

		if (err)
			break;
		err = parse_entry(&entry, o, &t, e);
		if (!err && catalogue_find(c, entry.name))
			err = catalogue_wrong(&t, e, "name", "'%s' stands here a second time", entry.name);
		if (!err)
			err = catalogue_put(c, &entry, e);
		catalogue_entry_release(&entry);
	}
	json_decref(root);
	if (err)
		catalogue_release(c);
	return err;
}

const struct catalogue_entry *catalogue_find(const struct catalogue *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->entries[i].name, name))
			return &c->entries[i];
	return NULL;
}

int catalogue_merge(struct catalogue *c, struct catalogue *more, struct err *e)
{
	for (size_t i = 0; i < more->count; i++)
		if (catalogue_find(c, more->entries[i].name))
			return err_set(e, -EINVAL, "'%s' contradicts an accelerator of the same name; rename one",
				       more->entries[i].name);
	for (size_t i = 0; i < more->count; i++) {
		int err = catalogue_put(c, &more->entries[i], e);

		if (err)
			return err;
	}
	return 0;
}

int catalogue_paper(struct catalogue *c, struct err *e)
{
	struct catalogue makers = { 0 };
	size_t paper = (size_t)(accperf_paper_devices_end - accperf_paper_devices),
	       others = (size_t)(accperf_makers_devices_end - accperf_makers_devices);
	int err = catalogue_parse(c, accperf_paper_devices, paper, e);

	if (!err)
		err = catalogue_parse(&makers, accperf_makers_devices, others, e);
	if (!err)
		err = catalogue_merge(c, &makers, e);
	if (err)
		err_prefix(e, "the built-in catalogue");
	catalogue_release(&makers);
	return err;
}
