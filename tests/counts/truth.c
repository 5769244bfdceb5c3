// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts/truth.h"

struct reader {
	uint32_t object, to_object, name;
	uint64_t calls, target;
	char path[4096];
	bool nameless; /* procedure linkage tables have no object, and addresses as loaded */
	uint32_t program;
};

#define PROGRAM_BASE 0x108000u /* where Valgrind loads position-independent programs */
#define PROGRAM_MOST 0x1000000u

static uint32_t object_id(struct truth *t, const char *path)
{
	uint32_t id = intern_str(&t->objects, path, NULL);

	return id < TRUTH_OBJECTS ? id : 0;
}

static int add_call(struct truth *t, const struct reader *r, uint64_t from)
{
	if (t->calls == t->cap) {
		struct truth_call *c = realloc(t->call, (t->cap = t->cap ? t->cap * 2 : 1024) * sizeof(*c));

		if (!c)
			return -ENOMEM;
		t->call = c;
	}
	t->call[t->calls++] = (struct truth_call){
		.from_object = r->object, .from = from, .to_object = r->to_object, .to = r->target, .count = r->calls
	};
	return 0;
}

static void add_cost(struct truth *t, const struct reader *r, uint64_t addr, uint64_t runs)
{
	bool table = r->nameless && r->program && addr - PROGRAM_BASE < PROGRAM_MOST;
	uint32_t object = table ? r->program : r->object;
	uint64_t *at = map_put(&t->runs[object], table ? addr - PROGRAM_BASE : addr, NULL),
		 *self = map_put(&t->by_name, r->name, NULL);

	if (at)
		*at += runs;
	if (self)
		*self += runs;
	t->total += runs;
}

static int one_line(struct truth *t, struct reader *r, char *line)
{
	char key[8192], path[PATH_MAX], *end;
	uint64_t addr, runs;

	if (!strncmp(line, "cmd: ", 5)) {
		char *command = line + 5 + strspn(line + 5, " ");

		command[strcspn(command, " ")] = 0;
		if (realpath(command, path))
			r->program = object_id(t, path);
	} else if (!strncmp(line, "ob=", 3)) {
		r->object = object_id(t, line + 3);
		r->nameless = !strcmp(line + 3, "???");
		snprintf(r->path, sizeof(r->path), "%s", line + 3);
	} else if (!strncmp(line, "fn=", 3)) {
		snprintf(key, sizeof(key), "%s\x01%s", r->path, line + 3);
		r->name = intern_str(&t->names, key, NULL);
		r->to_object = r->object;
	} else if (!strncmp(line, "cob=", 4)) {
		r->to_object = object_id(t, line + 4);
	} else if (!strncmp(line, "calls=", 6)) {
		r->calls = strtoull(line + 6, &end, 10);
		r->target = strtoull(end, NULL, 16);
	} else if (!strncmp(line, "0x", 2)) {
		addr = strtoull(line, &end, 16);
		runs = strtoull(end, NULL, 10);
		if (r->calls) {
			/* the line behind calls= is the call's inclusive cost */
			int rc = add_call(t, r, addr);

			r->calls = 0;
			r->to_object = r->object;
			return rc;
		}
		add_cost(t, r, addr, runs);
	}
	return 0;
}

static int read_one(struct truth *t, const char *path)
{
	FILE *f = fopen(path, "re");
	struct reader r = { 0 };
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;

	memset(t, 0, sizeof(*t));
	if (!f)
		return -errno;
	while (!rc && (n = getline(&line, &cap, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		rc = one_line(t, &r, line);
	}
	free(line);
	fclose(f);
	return rc ? rc : t->total ? 0 : -ENODATA;
}

static uint32_t same_object(const struct truth *t, const struct truth *of, uint32_t object)
{
	const char *path = intern_get(&of->objects, object, NULL);

	for (uint32_t o = 1; path && o <= t->objects.count && o < TRUTH_OBJECTS; o++)
		if (!strcmp(intern_get(&t->objects, o, NULL), path))
			return o;
	return 0;
}

static void subtract(struct truth *t, const struct truth *less)
{
	for (uint32_t o = 1; o <= less->objects.count && o < TRUTH_OBJECTS; o++) {
		uint32_t mine = same_object(t, less, o);
		uint64_t addr, *runs;
		size_t pos = 0;

		while (mine && map_next(&less->runs[o], &pos, &addr, &runs)) {
			uint64_t *at = map_get(&t->runs[mine], addr), by = at && *at < *runs ? *at : *runs;

			if (!at)
				continue;
			*at -= by;
			t->total -= by;
		}
	}
	for (uint32_t i = 0; i < less->calls; i++) {
		const struct truth_call *c = &less->call[i];
		uint32_t from = same_object(t, less, c->from_object), to = same_object(t, less, c->to_object);
		uint64_t left = c->count;

		for (uint32_t k = 0; k < t->calls && left; k++) {
			struct truth_call *m = &t->call[k];
			uint64_t by = m->count < left ? m->count : left;

			if (m->from_object != from || m->to_object != to || m->from != c->from || m->to != c->to)
				continue;
			m->count -= by;
			left -= by;
		}
	}
}

int truth_read(struct truth *t, const char *path)
{
	const char *comma = strchr(path, ',');
	struct truth less;
	char first[4096];
	int rc;

	snprintf(first, sizeof(first), "%.*s", comma ? (int)(comma - path) : (int)strlen(path), path);
	rc = read_one(t, first);
	if (rc || !comma)
		return rc;
	rc = read_one(&less, comma + 1);
	if (!rc)
		subtract(t, &less);
	truth_release(&less);
	return rc ? rc : t->total ? 0 : -ENODATA;
}

void truth_release(struct truth *t)
{
	for (uint32_t i = 0; i < TRUTH_OBJECTS; i++)
		map_release(&t->runs[i]);
	map_release(&t->by_name);
	intern_release(&t->objects);
	intern_release(&t->names);
	free(t->call);
}
