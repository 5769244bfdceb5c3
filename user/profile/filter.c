// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/grow.h"
#include "util/openfile.h"
#include "util/suggest.h"

const char *const filter_names[FILTER_KINDS] = { "pid", "comm", "dso", "symbol" };

/* Length of the first name of a list. */
static size_t name_length(const char *s, bool blanks_end)
{
	const char *open = "(<[{", *close = ")>]}";
	int depth = 0;
	size_t i;

	for (i = 0; s[i]; i++) {
		if (!depth && (s[i] == ',' || (blanks_end && strchr(" \t\n", s[i]))))
			break;
		depth += strchr(open, s[i]) != NULL;
		depth -= depth > 0 && strchr(close, s[i]);
	}
	/* what is never closed, as in operator<, closes nothing: a comma is a comma */
	return depth ? strcspn(s, ",") : i;
}

static int add_list_name(struct filter_list *l, const char *s, size_t n)
{
	if (!GROW(l->at, l->count, l->cap, 8))
		return -ENOMEM;
	l->at[l->count] = strndup(s, n);
	return l->at[l->count++] ? 0 : -ENOMEM;
}

/* Of a path; objects go by their files' names. */
static size_t folders_length(const char *s, size_t n)
{
	size_t i = *s == '/' ? n : 0;

	while (i > 0 && s[i - 1] != '/')
		i--;
	return i < n ? i : 0;
}

static int add_list_names(struct filter_list *l, enum filter_by by, const char *text)
{
	size_t before = l->count, n, folders;
	int err = 0;

	for (const char *s = text; *s && !err; s += n + (s[n] != 0)) {
		n = name_length(s, by == FILTER_PID);
		if (!n)
			continue;
		if (by == FILTER_PID && strspn(s, "0123456789") != n)
			return -EINVAL;
		folders = by == FILTER_DSO ? folders_length(s, n) : 0;
		err = add_list_name(l, s + folders, n - folders);
	}
	return err ? err : l->count > before ? 0 : -EINVAL;
}

int filter_add(struct filter *f, enum filter_by by, const char *text)
{
	return add_list_names(&f->by[by], by, text);
}

const char *filter_line(const char *line, size_t *len, const char *option)
{
	static const char *const word[] = { "function ", "variable " };
	bool variables = !strcmp(option, "--variable");

	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(word[i]);

		if (*len < n || strncmp(line, word[i], n))
			continue;
		if (variables != (i == 1))
			*len = 0;
		else
			*len -= n;
		return line + n;
	}
	return line;
}

static int add_list_lines(struct filter_list *l, const char *option, const char *text)
{
	int err = 0;

	for (size_t n; *text && !err; text += n + (text[n] != 0)) {
		size_t from = strspn(text, " \t\r"), to;

		n = strcspn(text, "\n");
		for (to = n; to > from && strchr(" \t\r", text[to - 1]);)
			to--;
		if (to > from && text[from] != '#') {
			size_t len = to - from;
			const char *name = filter_line(text + from, &len, option);

			err = len ? add_list_name(l, name, len) : 0;
		}
	}
	return err;
}

static int add_list_file(struct filter_list *l, const char *option, const char *path)
{
	struct stat st;
	int fd = openfile_regular(path, &st), err = 0;
	char *text;
	ssize_t n;

	if (fd < 0)
		return fd;
	text = st.st_size <= FILTER_FILE_MOST ? calloc(1, (size_t)st.st_size + 1) : NULL;
	n = text ? read(fd, text, (size_t)st.st_size) : 0;
	if (n < 0)
		err = -errno;
	else
		err = text ? add_list_lines(l, option, text) : st.st_size > FILTER_FILE_MOST ? -EFBIG : -ENOMEM;
	free(text);
	close(fd);
	return err;
}

int filter_list_add(struct filter_list *l, const char *option, const char *text, struct err *e)
{
	size_t before = l->count;
	int err = *text == '@' ? add_list_file(l, option, text + 1) : add_list_names(l, FILTER_SYMBOL, text);

	if (err && *text == '@')
		return err_set(e, err, "%s: cannot read %s: %s", option, text + 1, strerror(-err));
	if (err == -ENOMEM)
		return err_set(e, err, "out of memory");
	return l->count > before ? 0 : err_set(e, -EINVAL, "%s %s names nothing", option, text);
}

void filter_list_release(struct filter_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->at[i]);
	free(l->at);
	*l = (struct filter_list){ 0 };
}

void filter_release(struct filter *f)
{
	for (unsigned k = 0; k < FILTER_KINDS; k++)
		filter_list_release(&f->by[k]);
}

bool filter_asks_process(const struct filter *f)
{
	return f && (f->by[FILTER_PID].count || f->by[FILTER_COMM].count);
}

bool filter_asks_code(const struct filter *f)
{
	return f && (f->by[FILTER_DSO].count || f->by[FILTER_SYMBOL].count);
}

struct filter filter_of_processes(const struct filter *f)
{
	struct filter out = { 0 };

	if (f) {
		out.by[FILTER_PID] = f->by[FILTER_PID];
		out.by[FILTER_COMM] = f->by[FILTER_COMM];
	}
	return out;
}

bool filter_any(const struct filter *f)
{
	return filter_asks_process(f) || filter_asks_code(f);
}

bool filter_matches(const char *pattern, const char *name)
{
	/* brackets of operator[] are no pattern */
	return !strcmp(pattern, name) || suggest_begins(pattern, name) || !fnmatch(pattern, name, 0);
}

bool filter_list_takes(const struct filter_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (filter_matches(l->at[i], name))
			return true;
	return !l->count;
}

bool filter_process(const struct filter *f, uint32_t pid, const char *comm)
{
	char number[16];

	if (!filter_asks_process(f))
		return true;
	snprintf(number, sizeof(number), "%u", pid);
	return filter_list_takes(&f->by[FILTER_PID], number) &&
	       filter_list_takes(&f->by[FILTER_COMM], comm ? comm : "");
}

bool filter_code(const struct filter *f, const char *name, const char *object)
{
	return !filter_asks_code(f) ||
	       (filter_list_takes(&f->by[FILTER_SYMBOL], name) && filter_list_takes(&f->by[FILTER_DSO], object));
}
