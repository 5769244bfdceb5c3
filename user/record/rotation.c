// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/rotation.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/grow.h"

#define DIGITS 6u          /* a year of a file each minute has half a million */
#define LEAST_SECONDS 1.0  /* records are written once a second */
#define LEAST_BYTES 4096.0 /* names and first records alone take that much */

static const struct {
	const char *text;
	double seconds, bytes;
} units[] = {
	{ "s", 1, 0 },    { "m", 60, 0 },      { "h", 3600, 0 },       { "d", 86400, 0 },
	{ "K", 0, 1024 }, { "M", 0, 1048576 }, { "G", 0, 1073741824 },
};

int rotation_parse(struct rotation *g, const char *text, struct err *e)
{
	char *end;
	double v = strtod(text, &end);

	for (size_t i = 0; end > text && v > 0 && v < 1e9 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].text))
			continue;
		if (units[i].seconds > 0 && v * units[i].seconds < LEAST_SECONDS)
			return err_set(e, -EINVAL, "--rotate wants a second at least");
		if (units[i].bytes > 0 && v * units[i].bytes < LEAST_BYTES)
			return err_set(e, -EINVAL, "--rotate wants 4K at least");
		g->seconds = v * units[i].seconds;
		g->bytes = (uint64_t)(v * units[i].bytes);
		return 0;
	}
	return err_set(e, -EINVAL,
		       "--rotate wants a time such as 90s, 10m, 1h or 1d, or a size such as 64K, 10M or 1G, not '%s'",
		       text);
}

static void make_path(struct rotation *g)
{
	snprintf(g->path, sizeof(g->path), "%s.%0*u", g->name, (int)DIGITS, g->number);
}

/* Of a file's name, its number; 0: it has none. */
static unsigned segment_number(const char *file, const char *base)
{
	size_t n = strlen(base);

	if (strncmp(file, base, n) || file[n] != '.' || strlen(file + n + 1) < DIGITS ||
	    strspn(file + n + 1, "0123456789") < DIGITS)
		return 0;
	return (unsigned)strtoul(file + n + 1, NULL, 10);
}

int rotation_begin(struct rotation *g, const char *name, struct err *e)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	char folder[4096];
	struct dirent *de;
	DIR *d;

	if (strlen(name) + DIGITS + 8 > sizeof(g->path))
		return err_set(e, -ENAMETOOLONG, "the name given with -o is too long");
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - name) + 1 : 1, slash ? name : ".");
	d = opendir(folder);
	if (!d)
		return err_set(e, -errno, "%s: %s", folder, strerror(errno));
	g->name = name;
	g->number = 1;
	while ((de = readdir(d))) {
		unsigned n = segment_number(de->d_name, base);

		if (n >= g->number)
			g->number = n + 1;
	}
	closedir(d);
	make_path(g);
	return 0;
}

const char *rotation_next(struct rotation *g)
{
	g->number++;
	make_path(g);
	return g->path;
}

static void remove_oldest(struct rotation *g)
{
	char path[sizeof(g->path)];
	struct stat st;

	snprintf(path, sizeof(path), "%s.%0*u", g->name, (int)DIGITS, g->made[0].number);
	if (!lstat(path, &st) && S_ISREG(st.st_mode) && st.st_dev == g->made[0].dev && st.st_ino == g->made[0].ino)
		unlink(path);
	memmove(g->made, g->made + 1, --g->count * sizeof(*g->made));
}

int rotation_made(struct rotation *g, struct err *e)
{
	struct stat st;

	if (!g->keep)
		return 0;
	if (!GROW(g->made, g->count, g->cap, 16))
		return err_set(e, -ENOMEM, "out of memory");
	if (!lstat(g->path, &st))
		g->made[g->count++] = (struct rotated_file){ .number = g->number, .dev = st.st_dev, .ino = st.st_ino };
	while (g->count > g->keep)
		remove_oldest(g);
	return 0;
}

void rotation_release(struct rotation *g)
{
	free(g->made);
}
