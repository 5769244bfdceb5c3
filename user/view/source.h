/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of source files, as debug information names them: a target chooses these names, so a file is opened in the one
 * way there is (util/openfile.h), and none whose name is not that of source code. Owns what it read. Included by this
 * room alone.
 *
 * To add a language: its suffix in source.c.
 */
#ifndef ACCPERF_VIEW_SOURCE_H
#define ACCPERF_VIEW_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct source_file {
	const char *path;
	char *text;
	size_t *line, lines; /* offsets of their beginnings */
	size_t line_cap;
	bool younger;  /* than the code that is said to be of it: lines may not be those */
	char why[160]; /* it is not shown; "": it is */
};

struct sources {
	struct source_file *file;
	size_t count, cap;
	time_t built;     /* of the code; 0 unknown */
	const char *root; /* a folder where sources are looked for first, by the ends of their paths; NULL: none */
};

/* Reads it when first asked for; NULL: out of memory. The path is borrowed; the pointer lasts until the next call. */
const struct source_file *source_of(struct sources *s, const char *path);
/* Line n (from 1) with blanks for tabs, cut to the buffer; NULL: there is none. Its bytes are foreign. */
const char *source_line(const struct source_file *f, uint32_t n, char *out, size_t size);
void sources_release(struct sources *s);

#endif
