// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact/select.h"

#include <errno.h>
#include <fnmatch.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exact/stream.h"
#include "kmod-free/elffile.h"
#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "profile/filter.h"
#include "util/buf.h"
#include "util/grow.h"
#include "util/openfile.h"
#include "util/path_name.h"
#include "util/suggest.h"

#define OFFERED 3      /* names like one that no function has; more help nobody */
#define FILES_MOST 256 /* program and libraries */

void exact_select_release(struct exact_select *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->wanted[i].text);
	for (size_t i = 0; i < s->found_count; i++)
		free(s->found[i]);
	free(s->wanted);
	free(s->found);
	free(s->names);
	intern_release(&s->seen);
	memset(s, 0, sizeof(*s));
}

/* ---- what the user wrote ---- */

struct select_list {
	struct exact_select *s;
	const char *option;
	char which;
};

static int add_item(const struct select_list *l, const char *text, size_t len, struct err *e)
{
	char *copy;

	while (len && (*text == ' ' || *text == '\t'))
		text++, len--;
	while (len && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
		len--;
	if (!len)
		return 0;
	if (memchr(text, '\n', len))
		return err_set(e, -EINVAL, "%s: a name holds no line break", l->option);
	copy = strndup(text, len);
	if (!copy || !PUSH(l->s->wanted, l->s->count, l->s->cap, 16,
			   (struct exact_wanted){ .text = copy, .option = l->option, .list = l->which })) {
		free(copy);
		return err_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

static int add_listed_lines(const struct select_list *l, const char *text, size_t len, struct err *e)
{
	int err = 0;

	for (size_t at = 0, end; at < len && !err; at = end + 1) {
		const char *newline = memchr(text + at, '\n', len - at);

		end = newline ? (size_t)(newline - text) : len;
		if (end > at && text[at] != '#') {
			size_t n = end - at;
			const char *name = filter_line(text + at, &n, l->option);

			err = n ? add_item(l, name, n, e) : 0;
		}
	}
	return err;
}

static int add_listed_file(const struct select_list *l, const char *path, struct err *e)
{
	struct stat st;
	int fd = openfile_regular(path, &st), err = 0;
	AUTO_BUF(all);
	char piece[16384];
	ssize_t n = 0;

	if (fd < 0)
		return err_set(e, -errno, "%s @%s: cannot read the list: %s", l->option, path, strerror(errno));
	while (!err && (n = read(fd, piece, sizeof(piece))) > 0) {
		buf_add(&all, piece, (size_t)n);
		if (all.len > FILTER_FILE_MOST)
			err = err_set(e, -EFBIG, "%s @%s: a list of more than 16 MiB", l->option, path);
	}
	if (!err && n < 0)
		err = err_set(e, -errno, "%s @%s: cannot read the list: %s", l->option, path, strerror(errno));
	if (!err && buf_failed(&all))
		err = err_set(e, -ENOMEM, "out of memory");
	if (!err && all.len && memchr(all.data, 0, all.len))
		err = err_set(e, -EINVAL, "%s @%s: this is no text", l->option, path);
	close(fd);
	return err ? err : add_listed_lines(l, all.data, all.len, e);
}

int exact_select_add(struct exact_select *s, char list, const char *option, const char *text, struct err *e)
{
	const struct select_list l = { s, option, list };
	size_t before = s->count;
	int err = 0;

	/* commas inside brackets are a C++ function's arguments */
	for (const char *p = text, *end; *p && !err; p = *end ? end + 1 : end) {
		int depth = 0;

		for (end = p; *end && (depth > 0 || *end != ','); end++)
			depth += *end == '(' || *end == '<' ? 1 : *end == ')' || *end == '>' ? -1 : 0;
		if (*p == '@' && end - p > 1) {
			char path[PATH_MAX];

			snprintf(path, sizeof(path), "%.*s", (int)(end - p - 1), p + 1);
			err = add_listed_file(&l, path, e);
		} else {
			err = add_item(&l, p, (size_t)(end - p), e);
		}
	}
	if (!err && s->count == before)
		err = err_set(e, -EINVAL, "%s names no function", option);
	return err;
}

/* ---- names ---- */

static bool pattern_fits(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

/* As the linker, and as people write it: with and without arguments; what the compiler made of a function
 * (f.constprop.0) bears its name, too. */
static bool bears(const char *pattern, const char *linkage, const char *shown)
{
	static const char *const copies[] = { ".constprop.", ".isra.", ".part.", ".lto_priv." };
	char plain[1024];

	if (pattern_fits(pattern, linkage) || pattern_fits(pattern, shown))
		return true;
	snprintf(plain, sizeof(plain), "%s", shown);
	plain[strcspn(plain, "(")] = 0;
	if (*plain && pattern_fits(pattern, plain))
		return true;
	snprintf(plain, sizeof(plain), "%s", linkage);
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		char *at = strstr(plain, copies[i]);

		if (at) {
			*at = 0;
			return pattern_fits(pattern, plain);
		}
	}
	return false;
}

static bool new_name(struct exact_select *s, const char *name)
{
	bool added = false;
	uint32_t id = intern_str(&s->seen, name, &added);

	if (!id || !added)
		return false;
	return PUSH(s->names, s->name_count, s->name_cap, 1024, (char *)(uintptr_t)intern_get(&s->seen, id, NULL));
}

static int tell_tool(struct exact_select *s, char list, const char *linkage)
{
	char *line;

	if (asprintf(&line, "%c %s", list, linkage) < 0)
		return -ENOMEM;
	if (!PUSH(s->found, s->found_count, s->found_cap, 64, line)) {
		free(line);
		return -ENOMEM;
	}
	return 0;
}

static int take_name(struct exact_select *s, const char *name)
{
	char shown[2048];
	char linkage[1024];
	char *at;
	int err = 0;

	snprintf(linkage, sizeof(linkage), "%s", name);
	at = strchr(linkage, '@'); /* the symbol's version */
	if (at && at != linkage)
		*at = 0;
	if (!*linkage || strchr(linkage, '\n'))
		return 0;
	demangle(linkage, shown, sizeof(shown));
	if (!new_name(s, linkage))
		return 0;
	if (strcmp(linkage, shown))
		new_name(s, shown);
	for (size_t i = 0; i < s->count && !err; i++)
		if (bears(s->wanted[i].text, linkage, shown)) {
			s->wanted[i].known = true;
			err = tell_tool(s, s->wanted[i].list, linkage);
		}
	return err;
}

/* ---- symbols of files ---- */

struct files {
	char *path[FILES_MOST];
	unsigned count;
	bool unsure; /* there may be functions that these files do not tell of */
};

static void need(struct files *f, const char *path)
{
	for (unsigned i = 0; i < f->count; i++)
		if (!strcmp(f->path[i], path))
			return;
	if (f->count == FILES_MOST || !(f->path[f->count] = strdup(path)))
		f->unsure = true;
	else
		f->count++;
}

static bool libc_itself(const char *path)
{
	const char *name = path_last(path);

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5) || !strncmp(name, "ld-", 3) ||
	       !strncmp(name, "ld.so", 5);
}

static int take_table(struct exact_select *s, struct files *f, const char *path, int fd, Elf *elf)
{
	Elf_Scn *scn = NULL;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM) ||
		    !sh.sh_entsize || !elffile_strings(fd, elf, sh.sh_link) ||
		    !(data = elffile_data(fd, scn, ELFFILE_TABLE)))
			continue;
		for (size_t i = 0; !err && i < data->d_size / sh.sh_entsize; i++) {
			GElf_Sym sym;
			const char *name;
			unsigned type;

			if (!gelf_getsym(data, (int)i, &sym) || !(name = elf_strptr(elf, sh.sh_link, sym.st_name)))
				continue;
			type = GELF_ST_TYPE(sym.st_info);
			if (sym.st_shndx == SHN_UNDEF) {
				/* what is loaded later has names of its own */
				if (!strncmp(name, "dlopen", 6) || !strncmp(name, "dlmopen", 7))
					f->unsure |= !libc_itself(path);
				continue;
			}
			if (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE)
				err = take_name(s, name);
		}
	}
	return err;
}

/* Where the loader looks without its cache. */
static const char *const folders[] = {
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
	"/usr/local/lib"
};

static bool need_in(struct files *f, const char *folder, size_t len, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s/%s", (int)len, folder, name) >= (int)sizeof(path) || access(path, R_OK))
		return false;
	need(f, path);
	return true;
}

static bool need_along(struct files *f, const char *list, const char *origin, const char *name)
{
	for (const char *p = list; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		size_t len = strcspn(p, ":");
		char folder[PATH_MAX];
		const char *slash = strrchr(origin, '/');

		if (!strncmp(p, "$ORIGIN", 7) && len >= 7)
			snprintf(folder, sizeof(folder), "%.*s%.*s", slash ? (int)(slash - origin) : 1,
				 slash ? origin : ".", (int)(len - 7), p + 7);
		else
			snprintf(folder, sizeof(folder), "%.*s", (int)len, p);
		if (need_in(f, folder, strlen(folder), name))
			return true;
	}
	return false;
}

static void need_library(struct files *f, const char *of, const char *run_path, const char *name)
{
	if (strchr(name, '/')) {
		need(f, name);
		return;
	}
	if (need_along(f, run_path, of, name) || need_along(f, getenv("LD_LIBRARY_PATH"), of, name))
		return;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (need_in(f, folders[i], strlen(folders[i]), name))
			return;
	f->unsure = true;
}

static void take_needed(struct files *f, const char *path, int fd, Elf *elf)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;
		const char *run_path = NULL;
		size_t n;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNAMIC || !sh.sh_entsize ||
		    !elffile_strings(fd, elf, sh.sh_link) || !(data = elffile_data(fd, scn, ELFFILE_SMALL)))
			continue;
		n = data->d_size / sh.sh_entsize;
		for (int pass = 0; pass < 2; pass++)
			for (size_t i = 0; i < n; i++) {
				GElf_Dyn dyn;

				if (!gelf_getdyn(data, (int)i, &dyn))
					continue;
				if (!pass && (dyn.d_tag == DT_RUNPATH || dyn.d_tag == DT_RPATH))
					run_path = elf_strptr(elf, sh.sh_link, dyn.d_un.d_val);
				if (pass && dyn.d_tag == DT_NEEDED) {
					const char *name = elf_strptr(elf, sh.sh_link, dyn.d_un.d_val);

					if (name)
						need_library(f, path, run_path, name);
				}
			}
	}
}

static void take_loader(struct files *f, int fd, Elf *elf)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && i < 64; i++) {
		GElf_Phdr ph;
		char path[256] = "";

		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_INTERP && ph.p_filesz < sizeof(path) &&
		    pread(fd, path, ph.p_filesz, (off_t)ph.p_offset) > 0)
			need(f, path);
	}
}

static int take_separate(struct exact_select *s, struct files *f, const char *path, int fd, Elf *elf)
{
	struct debugfile own, apart;
	const void *id = NULL;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &id);
	int err = 0;

	if (len <= 0 || !debugfile_own(&own, fd, path))
		return 0;
	if (debugfile_separate(&apart, &own, path, id, (unsigned)len)) {
		Elf *debug = elffile_begin(apart.fd);

		if (debug) {
			err = take_table(s, f, path, apart.fd, debug);
			elf_end(debug);
		}
		debugfile_close(&apart);
	}
	debugfile_close(&own);
	return err;
}

static int take_names_of(struct exact_select *s, struct files *f, const char *path)
{
	struct stat st;
	int fd = openfile_regular(path, &st), err = 0;
	Elf *elf = fd < 0 ? NULL : elffile_begin(fd);

	if (elf && gelf_getclass(elf) == ELFCLASS64) {
		err = take_table(s, f, path, fd, elf);
		take_needed(f, path, fd, elf);
		take_loader(f, fd, elf);
		if (!err)
			err = take_separate(s, f, path, fd, elf);
	} else {
		f->unsure = true; /* a script: who knows what runs it */
	}
	if (elf)
		elf_end(elf);
	if (fd >= 0)
		close(fd);
	return err;
}

/* ---- judging ---- */

/* The nearest names first, then those that hold what was typed. */
static void offer(const struct exact_select *s, const char *typed, struct buf *out)
{
	struct suggestion near = { 0 };
	unsigned n = 0;

	for (size_t i = 0; i < s->name_count; i++)
		suggest(&near, typed, strlen(typed), s->names[i]);
	if (near.name) {
		buf_addf(out, "; did you mean '%s'", near.name);
		n++;
	}
	for (size_t i = 0; i < s->name_count && n < OFFERED && strlen(typed) > 2; i++)
		if (s->names[i] != near.name && strstr(s->names[i], typed))
			buf_addf(out, "%s'%.80s'", n++ ? ", " : "; did you mean ", s->names[i]);
	if (n)
		buf_addch(out, '?');
}

/* By offsets in stripped files, and what is no function of a file. */
static bool cannot_be_foretold(const char *name)
{
	return strstr(name, "+0x") || *name == '[' || *name == '(';
}

int exact_select_check(struct exact_select *s, const char *program, struct err *e)
{
	struct files f = { .count = 0 };
	int err = 0;

	if (!s->count)
		return 0;
	demangle_prepare();
	elf_version(EV_CURRENT);
	need(&f, program);
	for (unsigned i = 0; i < f.count && !err; i++)
		err = take_names_of(s, &f, f.path[i]);
	for (unsigned i = 0; i < f.count; i++)
		free(f.path[i]);
	if (err)
		return err_set(e, err, "out of memory");
	for (size_t i = 0; i < s->count; i++) {
		const struct exact_wanted *w = &s->wanted[i];
		AUTO_BUF(near);

		/* the tool looks for it among what is loaded later */
		if (!w->known && (f.unsure || cannot_be_foretold(w->text))) {
			if (tell_tool(s, w->list, w->text))
				return err_set(e, -ENOMEM, "out of memory");
			continue;
		}
		if (w->known)
			continue;
		offer(s, w->text, &near);
		return err_set(e, -ENOENT, "%s: neither %s nor a library it needs has a function '%s'%s", w->option,
			       program, w->text, near.len ? near.data : "");
	}
	return 0;
}

int exact_select_file(const struct exact_select *s)
{
	int fd = memfd_create("lists", MFD_CLOEXEC);
	AUTO_BUF(all);

	for (size_t i = 0; i < s->found_count; i++)
		buf_addf(&all, "%s\n", s->found[i]);
	if (fd >= 0 &&
	    (buf_failed(&all) || write(fd, all.data, all.len) != (ssize_t)all.len || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	return fd;
}

void exact_select_met(struct exact_select *s, const char *linkage, const char *shown)
{
	new_name(s, shown);
	for (size_t i = 0; i < s->count; i++)
		s->wanted[i].met |= bears(s->wanted[i].text, linkage, shown);
}

int exact_select_verify(struct exact_select *s, const struct exact_wanted **missing, struct err *e)
{
	*missing = NULL;
	for (size_t i = 0; i < s->count; i++) {
		const struct exact_wanted *w = &s->wanted[i];
		bool others = false;
		AUTO_BUF(near);

		if (w->met)
			continue;
		if (!*missing)
			*missing = w;
		for (size_t k = 0; k < s->count; k++)
			others |= s->wanted[k].list == w->list && s->wanted[k].met;
		if (w->known && others)
			continue;
		offer(s, w->text, &near);
		return err_set(e, -ENOENT, "%s: %s%s'%s' ran%s", w->option, w->known ? "in this run, " : "",
			       "no function ", w->text, w->known || !near.len ? "" : near.data);
	}
	return 0;
}
