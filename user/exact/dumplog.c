// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exact/dumplog.h"
#include "exact/kelog.h"
#include "util/buf.h"
#include "util/clean.h"
#include "util/grow.h"

#define MAX_NAME 65536 /* bytes: a longer one is a damaged log; by hand */

static void dump_functions(FILE *in, FILE *out, bool *cut)
{
	static char text[MAX_NAME + 1];
	AUTO_BUF(line);
	struct ke_function f;
	size_t n;

	while ((n = fread(&f, 1, sizeof(f), in)) == sizeof(f)) {
		if (f.len >= sizeof(text) || fread(text, 1, f.len, in) != f.len) {
			*cut = true;
			return;
		}
		/* name, tab, object: the tab stays */
		text[f.len] = 0;
		buf_clear(&line);
		for (char *p = text, *tab; p; p = tab) {
			tab = strchr(p, '\t');
			if (tab)
				*tab++ = 0;
			clean_add(&line, p, CLEAN_TEXT);
			buf_addstr(&line, tab ? "\t" : "\n");
		}
		fprintf(out, "%u\t%s", f.function, buf_failed(&line) ? "\n" : line.data);
	}
	*cut = n != 0;
}

/* Names by the number of their bearer. */
struct dumplog_names {
	char **name;
	size_t cap;
};

#define MOST_NAMES (1u << 22) /* a higher number is a damaged log: the table takes 32 MiB at most; by hand */

static bool name_put(struct dumplog_names *n, uint32_t id, const char *text)
{
	if (id >= MOST_NAMES)
		return false;
	if (!GROW_ZEROED(n->name, (size_t)id + 1, n->cap, 64))
		return false;
	free(n->name[id]);
	n->name[id] = strdup(text);
	return n->name[id];
}

static void name_add(const struct dumplog_names *n, uint32_t id, struct buf *out)
{
	if (id < n->cap && n->name[id])
		clean_add(out, n->name[id], CLEAN_CSV);
}

static void names_free(struct dumplog_names *n)
{
	for (size_t i = 0; i < n->cap; i++)
		free(n->name[i]);
	free(n->name);
}

/* Accesses as CSV, one at a time: a list of any length takes the memory of its names. */
static void dump_accesses(FILE *in, FILE *out, bool *cut)
{
	struct dumplog_names functions = { 0 }, objects = { 0 };
	AUTO_BUF(line);
	struct ke_access a;
	size_t n;

	fputs("time,function,call,access,address,size,stack,object\n", out);
	while ((n = fread(&a, 1, sizeof(a), in)) == sizeof(a)) {
		if (a.flags & (KE_A_FUNCTION | KE_A_OBJECT)) {
			char text[KE_NAME_MAX + 1];

			if (a.size > KE_NAME_MAX || fread(text, 1, a.size, in) != a.size) {
				n = 1;
				break;
			}
			text[a.size] = 0;
			if (!name_put(a.flags & KE_A_FUNCTION ? &functions : &objects, a.function, text)) {
				n = 1;
				break;
			}
			continue;
		}
		buf_clear(&line);
		buf_addf(&line, "%" PRIu64 ",", a.time);
		name_add(&functions, a.function, &line);
		buf_addf(&line, ",%" PRIu64 ",%s,0x%" PRIx64 ",%u,%d,", a.call, a.flags & KE_A_STORE ? "write" : "read",
			 a.addr, a.size, !!(a.flags & KE_A_STACK));
		name_add(&objects, a.object, &line);
		fprintf(out, "%s\n", buf_failed(&line) ? "" : line.data);
	}
	*cut = n != 0;
	names_free(&functions);
	names_free(&objects);
}

int kelog_text(FILE *in, FILE *out, bool *cut, struct err *e)
{
	struct ke_head h;
	uint64_t v[3];
	size_t n;

	*cut = false;
	if (fread(&h, 1, sizeof(h), in) != sizeof(h) || h.magic != KE_MAGIC)
		return err_set(
			e, -EINVAL,
			"not a binary log of accperf exact (--bfunction, --bsubcalls, --bicount, --bxfers, --baccesses)");
	if (h.version != KE_VERSION)
		return err_set(e, -EINVAL, "log version %u; this accperf reads version %u", h.version, KE_VERSION);
	if (h.kind == KE_FUNCTION) {
		dump_functions(in, out, cut);
	} else if (h.kind == KE_ACCESSES) {
		dump_accesses(in, out, cut);
	} else if (h.kind < KE_FUNCTION || h.kind > KE_XFERS || h.rec_size != sizeof(v)) {
		return err_set(e, -EINVAL, "the log is damaged: kind %u, records of %u bytes", h.kind, h.rec_size);
	} else {
		while ((n = fread(v, 1, sizeof(v), in)) == sizeof(v)) {
			if (h.kind == KE_SUBCALLS)
				v[2] &= 0xffffffffu; /* a function's number and four bytes of padding */
			fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", v[0], v[1], v[2]);
		}
		*cut = n != 0;
	}
	if (fflush(out) || ferror(out))
		return err_set(e, -EIO, "cannot write the text: %s", strerror(errno));
	return 0;
}
