// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "exact/dumplog.h"
#include "exact/kelog.h"
#include "util/buf.h"
#include "util/clean.h"

#define MAX_NAME 65536

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

int kelog_text(FILE *in, FILE *out, bool *cut, struct err *e)
{
	struct ke_head h;
	uint64_t v[3];
	size_t n;

	*cut = false;
	if (fread(&h, 1, sizeof(h), in) != sizeof(h) || h.magic != KE_MAGIC)
		return err_set(e, -EINVAL,
			       "not a binary log of accperf exact (--bfunction, --bsubcalls, --bicount, --bxfers)");
	if (h.version != KE_VERSION)
		return err_set(e, -EINVAL, "log version %u; this accperf reads version %u", h.version, KE_VERSION);
	if (h.kind == KE_FUNCTION) {
		dump_functions(in, out, cut);
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
