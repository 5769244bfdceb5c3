// SPDX-License-Identifier: GPL-2.0-or-later
/* What an entry says beside params and points: texts, kinds, designs, terms of T1, thresholds. Nothing is guessed. */
#include "model/catalogue_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 4096 /* bytes of one text; by hand */

/* A string, NULL where there is none or null; anything else is an error. */
static int text_of(char **to, json_t *o, const char *key, const struct catalogue_text *t, const char *path,
		   struct err *e)
{
	json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_string(v) || json_string_length(v) >= MAX_TEXT)
		return catalogue_wrong(t, e, path, "%s wants a text of less than %d bytes", key, MAX_TEXT);
	*to = strdup(json_string_value(v));
	return *to ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* Where something stands, for the sentence about it. */
struct catalogue_place {
	const struct catalogue_text *text;
	const char *path;
};

struct limits {
	double least, most;
};

static int number_of(double *to, json_t *o, const char *key, struct limits in, struct catalogue_place at, struct err *e)
{
	json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_number(v) || !(json_number_value(v) >= in.least && json_number_value(v) <= in.most))
		return catalogue_wrong(at.text, e, at.path, "%s wants a number from %g to %g", key, in.least, in.most);
	*to = json_number_value(v);
	return 0;
}

/* A number, or [value, low, high] of which each may be null. */
static int term_value(struct catalogue_value *to, json_t *o, const char *key, const struct catalogue_text *t,
		      struct err *e)
{
	json_t *v = json_object_get(o, key);
	double *const part[3] = { &to->v, &to->low, &to->high };
	char path[32];

	*to = (struct catalogue_value){ NAN, NAN, NAN };
	snprintf(path, sizeof(path), "offload.%s", key);
	if (!v || json_is_null(v))
		return 0;
	if (json_is_array(v) && json_array_size(v) != 3)
		return catalogue_wrong(t, e, path, "%s wants a number or [value, low, high]", key);
	for (size_t i = 0; i < 3; i++) {
		json_t *n = json_is_array(v) ? json_array_get(v, i) : v;

		if (json_is_null(n))
			continue;
		if (!json_is_number(n) || !(json_number_value(n) >= 0) || !isfinite(json_number_value(n)))
			return catalogue_wrong(t, e, path, "%s wants numbers of 0 or more, or null where unknown", key);
		*part[i] = json_number_value(n);
	}
	if (to->low > to->v || to->high < to->v || to->low > to->high)
		return catalogue_wrong(t, e, path, "%s contradicts itself: %g is not between %g and %g", key, to->v,
				       to->low, to->high);
	return 0;
}

static int only_these(json_t *o, const char *const *known, const char *where, const struct catalogue_text *t,
		      struct err *e)
{
	const char *key;
	json_t *v;

	json_object_foreach(o, key, v)
	{
		char path[96];
		size_t i;

		for (i = 0; known[i] && strcmp(known[i], key); i++)
			;
		if (known[i])
			continue;
		snprintf(path, sizeof(path), "%s.%.40s", where, key);
		return catalogue_wrong(t, e, path, "'%.40s' is no member of %.20s; there are %s, %s, %s, %s and others",
				       key, where, known[0], known[1], known[2], known[3]);
	}
	return 0;
}

static int parse_offload(struct catalogue_entry *a, json_t *o, const struct catalogue_text *t, struct err *e)
{
	static const char *const known[] = { "o", "L", "latency", "B", "A", "beta", NULL };
	struct catalogue_terms *to = &a->terms;
	json_t *latency = json_object_get(o, "latency");
	const char *word = json_string_value(latency);
	int err;

	to->beta = 1;
	err = only_these(o, known, "offload", t, e);
	err = err ? err : term_value(&to->o, o, "o", t, e);
	err = err ? err : term_value(&to->L, o, "L", t, e);
	err = err ? err : term_value(&to->B, o, "B", t, e);
	err = err ? err : term_value(&to->A, o, "A", t, e);
	err = err ? err
		  : number_of(&to->beta, o, "beta", (struct limits){ 0, 8 },
			      (struct catalogue_place){ t, "offload.beta" }, e);
	if (err)
		return err;
	if (!word || (strcmp(word, "dep") && strcmp(word, "indep")))
		return catalogue_wrong(t, e, latency ? "offload.latency" : "offload",
				       "'%s' has no latency of indep (L per call) or dep (L per byte)", a->name);
	if (!isnan(to->B.v) && !isnan(to->A.v))
		return catalogue_wrong(
			t, e, "offload.A",
			"'%s' contradicts itself: B is the computation's time, A compares it with any host's; give one",
			a->name);
	if (to->A.v == 0 || to->A.low == 0)
		return catalogue_wrong(t, e, "offload.A", "A must be above 0");
	to->kind = word[0] == 'd' ? LOGCA_DEP : LOGCA_INDEP;
	a->has_terms = true;
	return 0;
}

static int parse_threshold(struct catalogue_threshold *to, json_t *o, const struct catalogue_text *t, size_t i,
			   struct err *e)
{
	static const char *const known[] = { "from", "to", "call", "source", NULL };
	char path[32];
	int err;

	snprintf(path, sizeof(path), "thresholds.%zu", i);
	*to = (struct catalogue_threshold){ .from = NAN, .to = NAN };
	if (!json_is_object(o))
		return catalogue_wrong(t, e, path, "a threshold is an object with from, to, call and source");
	err = only_these(o, known, path, t, e);
	err = err ? err
		  : number_of(&to->from, o, "from", (struct limits){ 0, 1e18 }, (struct catalogue_place){ t, path }, e);
	err = err ? err
		  : number_of(&to->to, o, "to", (struct limits){ 0, 1e18 }, (struct catalogue_place){ t, path }, e);
	err = err ? err : text_of(&to->call, o, "call", t, path, e);
	err = err ? err : text_of(&to->source, o, "source", t, path, e);
	if (err)
		return err;
	if (isnan(to->from) && isnan(to->to))
		return catalogue_wrong(t, e, path, "a threshold wants from, to or both");
	if (to->from >= to->to)
		return catalogue_wrong(t, e, path, "the threshold contradicts itself: from %g to %g bytes", to->from,
				       to->to);
	return 0;
}

/* A list of words as bits. */
static int words_of(unsigned *to, json_t *o, const char *key, int count, const char *(*name)(int),
		    const struct catalogue_text *t, struct err *e)
{
	json_t *list = json_object_get(o, key), *v;
	size_t i;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return catalogue_wrong(t, e, key, "%s wants a list of words", key);
	json_array_foreach(list, i, v)
	{
		const char *word = json_string_value(v);
		char path[48], all[160] = "";
		int k;

		for (k = 0; k < count && (!word || strcmp(word, name(k))); k++)
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", k ? ", " : "", name(k));
		snprintf(path, sizeof(path), "%s.%zu", key, i);
		if (k == count)
			return catalogue_wrong(t, e, path, "'%.40s' is none of the %s: %s", word ? word : "?", key,
					       all);
		*to |= 1u << k;
	}
	return 0;
}

static const char *device_kind_name(int k)
{
	return catalogue_kind_str((enum catalogue_kind)k);
}

static const char *design_name(int d)
{
	return catalogue_design_str((enum catalogue_design)d);
}

static int parse_texts(struct catalogue_entry *a, json_t *o, const struct catalogue_text *t, struct err *e)
{
	const struct {
		const char *key;
		char **to;
	} text[] = {
		{ "family", &a->family }, { "device", &a->device },     { "host", &a->host }, { "driver", &a->driver },
		{ "date", &a->date },     { "baseline", &a->baseline }, { "unit", &a->unit }, { "source", &a->source },
	};
	json_t *notes = json_object_get(o, "notes"), *note;
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(text) / sizeof(text[0]) && !err; i++)
		err = text_of(text[i].to, o, text[i].key, t, text[i].key, e);
	if (!err && notes && !json_is_null(notes) && !json_is_array(notes))
		err = catalogue_wrong(t, e, "notes", "notes wants a list of texts");
	json_array_foreach(notes, i, note) if (!err && json_is_string(note) && a->notes < CATALOGUE_NOTES)
	{
		a->note[a->notes] = strdup(json_string_value(note));
		a->notes += a->note[a->notes] != NULL;
	}
	return err;
}

static int flag_of(bool *to, json_t *o, const char *key, const struct catalogue_text *t, struct err *e)
{
	json_t *v = json_object_get(o, key);

	if (v && !json_is_null(v) && !json_is_boolean(v))
		return catalogue_wrong(t, e, key, "%s wants true or false", key);
	if (json_is_boolean(v))
		*to = json_is_true(v);
	return 0;
}

int catalogue_terms_parse(struct catalogue_entry *a, json_t *o, const struct catalogue_text *t, struct err *e)
{
	json_t *offload = json_object_get(o, "offload"), *list = json_object_get(o, "thresholds"), *one;
	size_t i;
	int err = parse_texts(a, o, t, e);

	a->engines = NAN;
	a->preset = true;
	err = err ? err : flag_of(&a->preset, o, "preset", t, e);
	err = err ? err : flag_of(&a->no_streams, o, "no_streams", t, e);
	err = err ? err : words_of(&a->kinds, o, "kinds", CATALOGUE_KINDS, device_kind_name, t, e);
	err = err ? err : words_of(&a->designs, o, "designs", CATALOGUE_DESIGNS, design_name, t, e);
	err = err ? err
		  : number_of(&a->engines, o, "engines", (struct limits){ 1, 1e6 },
			      (struct catalogue_place){ t, "engines" }, e);
	err = err ? err
		  : number_of(&a->uncertain, o, "uncertain", (struct limits){ 1, 1e3 },
			      (struct catalogue_place){ t, "uncertain" }, e);
	if (err)
		return err;
	if (offload && !json_is_null(offload)) {
		if (!json_is_object(offload))
			return catalogue_wrong(t, e, "offload",
					       "offload wants an object with o, L, latency and B or A");
		if (json_is_object(json_object_get(o, "params")))
			return catalogue_wrong(t, e, "offload",
					       "'%s' contradicts itself: params has o and L already; give one of both",
					       a->name);
		err = parse_offload(a, offload, t, e);
	}
	if (!err && list && !json_is_null(list) && !json_is_array(list))
		err = catalogue_wrong(t, e, "thresholds", "thresholds wants a list");
	json_array_foreach(list, i, one)
	{
		if (!err && a->thresholds == CATALOGUE_THRESHOLDS)
			err = catalogue_wrong(t, e, "thresholds", "more than %d thresholds", CATALOGUE_THRESHOLDS);
		if (!err)
			err = parse_threshold(&a->threshold[a->thresholds++], one, t, i, e);
	}
	return err;
}

const char *catalogue_kind_str(enum catalogue_kind k)
{
	static const char *const name[CATALOGUE_KINDS] = { "copy",     "checksum",   "hash",   "cipher",
							   "compress", "decompress", "matrix", "vector" };

	return (unsigned)k < CATALOGUE_KINDS ? name[k] : "unknown";
}

const char *catalogue_design_str(enum catalogue_design d)
{
	static const char *const name[CATALOGUE_DESIGNS] = { "sync", "sync-os", "async" };

	return (unsigned)d < CATALOGUE_DESIGNS ? name[d] : "unknown";
}
