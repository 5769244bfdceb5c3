// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/debugfile.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/elffile.h"
#include "symbol/contained_child.h"
#include "util/openfile.h"
#include "util/rights.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define LOOK_SECONDS 10          /* of CPU, for headers and two notes: a millisecond */
#define LOOK_MEMORY (1ull << 30) /* bytes: sections that a hostile file inflates end there; by hand */

struct traits {
	uint8_t build_id[20];
	uint32_t build_id_len;
	uint64_t first_load;
	char link[256]; /* .gnu_debuglink */
	char alt[4096]; /* .gnu_debugaltlink; its build-id follows the name there and is compared by the reader */
	uint8_t dwarf, refused, found;
};

struct look {
	int fd;
	struct traits t;
};

/* ---- in the child ---- */

static void read_notes(Elf_Data *d, struct traits *t)
{
	size_t at = 0, name, desc, next;
	GElf_Nhdr n;

	while (d && (next = gelf_getnote(d, at, &n, &name, &desc)) > 0) {
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz <= sizeof(t->build_id) &&
		    !memcmp((char *)d->d_buf + name, "GNU", 4)) {
			memcpy(t->build_id, (char *)d->d_buf + desc, n.n_descsz);
			t->build_id_len = n.n_descsz;
		}
		at = next;
	}
}

static void read_name(Elf_Data *d, char *out, size_t size)
{
	if (d && d->d_size > 5 && memchr(d->d_buf, 0, d->d_size))
		snprintf(out, size, "%s", (char *)d->d_buf);
}

static void read_section(int fd, Elf_Scn *scn, const GElf_Shdr *sh, const char *name, struct traits *t)
{
	if (sh->sh_type == SHT_NOTE && !strcmp(name, ".note.gnu.build-id")) {
		read_notes(elffile_data(fd, scn, ELFFILE_SMALL), t);
	} else if (sh->sh_type == SHT_PROGBITS && !strcmp(name, ".gnu_debuglink")) {
		read_name(elffile_data(fd, scn, ELFFILE_SMALL), t->link, sizeof(t->link));
		/* a name, not a path: a hostile file must not lead us elsewhere */
		if (strchr(t->link, '/'))
			t->link[0] = '\0';
	} else if (sh->sh_type == SHT_PROGBITS && !strcmp(name, ".gnu_debugaltlink")) {
		read_name(elffile_data(fd, scn, ELFFILE_SMALL), t->alt, sizeof(t->alt));
	} else if (sh->sh_type != SHT_NOBITS && (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))) {
		t->dwarf = true;
	}
}

static void read_traits(int fd, struct traits *t)
{
	Elf *elf = elffile_begin(fd);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t names, segments;

	if (elf && elf_kind(elf) == ELF_K_ELF && !elf_getphdrnum(elf, &segments)) {
		t->found = true;
		for (size_t i = 0; i < segments && gelf_getphdr(elf, (int)i, &ph); i++) {
			if (ph.p_type == PT_LOAD) {
				t->first_load = ph.p_vaddr;
				break;
			}
		}
		while (elffile_names(fd, elf, &names) && (scn = elf_nextscn(elf, scn))) {
			const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

			if (name)
				read_section(fd, scn, &sh, name, t);
		}
		t->refused = t->dwarf && !elffile_unpackable(fd, elf);
	}
	elf_end(elf);
}

static int send_traits(void *ctx, struct contained_out *out)
{
	struct look *l = ctx;

	read_traits(l->fd, &l->t);
	contained_put(out, &l->t, sizeof(l->t));
	return 0;
}

/* ---- here ---- */

static int take_traits(void *ctx, const uint8_t *record, size_t size)
{
	struct traits *t = &((struct look *)ctx)->t;

	if (size != sizeof(*t))
		return -EIO;
	memcpy(t, record, sizeof(*t));
	t->link[sizeof(t->link) - 1] = '\0';
	t->alt[sizeof(t->alt) - 1] = '\0';
	if (t->build_id_len > sizeof(t->build_id) || strchr(t->link, '/'))
		return -EIO;
	return 0;
}

static bool look_contained(int fd, struct traits *t)
{
	struct look l = { .fd = fd };
	struct contained_job job = {
		.produce = send_traits,
		.consume = take_traits,
		.ctx = &l,
		.keep_fd = { fd, -1, -1 },
		.cpu_seconds = LOOK_SECONDS,
		.memory = LOOK_MEMORY,
	};

	if (contained_run(&job) || !l.t.found)
		return false;
	*t = l.t;
	return true;
}

/* What dwz moved elsewhere: a path, or one from the file's own folder. */
static int open_alt(const struct traits *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	char name[8192];

	if (!t->alt[0])
		return -1;
	if (t->alt[0] == '/')
		snprintf(name, sizeof(name), "%s", t->alt);
	else
		snprintf(name, sizeof(name), "%.*s/%s", slash ? (int)(slash - path) : 0, path, t->alt);
	return openfile_regular(name, &st);
}

static void take_file(struct debugfile *d, int fd, const char *path, const struct traits *t)
{
	struct stat st;

	*d = (struct debugfile){ .fd = fd,
				 .dwarf = t->dwarf && !t->refused,
				 .refused = t->refused,
				 .first_load = t->first_load,
				 .ours = !fstat(fd, &st) && openfile_is_ours(&st) };
	memcpy(d->link, t->link, sizeof(d->link));
	d->alt = t->dwarf ? open_alt(t, path) : -1;
	if (d->alt >= 0 && (fstat(d->alt, &st) || !openfile_is_ours(&st)))
		d->ours = false;
}

bool debugfile_own(struct debugfile *out, int fd, const char *path)
{
	struct traits t = { 0 };

	*out = (struct debugfile){ .fd = -1, .alt = -1 };
	if (fd < 0 || !look_contained(fd, &t))
		return false;
	take_file(out, fd, path, &t);
	out->own = true;
	return true;
}

/* Accepts a candidate only if its build-id is the module's; closes it otherwise. */
static bool accept_fd(struct debugfile *out, int fd, const char *path, const struct debugfile *own, const uint8_t *id,
		      unsigned len)
{
	struct traits t = { 0 };

	if (fd < 0)
		return false;
	if (!look_contained(fd, &t) || t.build_id_len != len || memcmp(t.build_id, id, len)) {
		close(fd);
		return false;
	}
	take_file(out, fd, path, &t);
	out->bias = (int64_t)(own->first_load - t.first_load);
	return true;
}

static bool accept_path(struct debugfile *out, const char *path, const struct debugfile *own, const uint8_t *id,
			unsigned len)
{
	struct stat st;

	return accept_fd(out, openfile_regular(path, &st), path, own, id, len);
}

static int on_progress(void *client, long a, long b)
{
	return contained_stopped();
}

/* Root's environment is often set for all users at once, and what it asks for names everybody's programs. */
static bool may_ask(void)
{
	const char *urls = rights_getenv("DEBUGINFOD_URLS"), *root = getenv("ACCPERF_DEBUGINFOD");

	return urls && *urls && (geteuid() || (root && !strcmp(root, "1"))) && !contained_stopped();
}

static int ask_debuginfod(const uint8_t *id, unsigned len)
{
	static void *lib;
	void *(*begin)(void);
	int (*find)(void *, const unsigned char *, int, char **);
	void (*progress)(void *, int (*)(void *, long, long));
	void (*end)(void *);
	char *path = NULL;
	void *client;
	int fd = -1;

	if (!may_ask())
		return -1;
	if (!lib)
		lib = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return -1;
	*(void **)&begin = dlsym(lib, "debuginfod_begin");
	*(void **)&find = dlsym(lib, "debuginfod_find_debuginfo");
	*(void **)&progress = dlsym(lib, "debuginfod_set_progressfn");
	*(void **)&end = dlsym(lib, "debuginfod_end");
	if (!begin || !find || !end || !(client = begin()))
		return -1;
	if (progress)
		progress(client, on_progress);
	fd = find(client, id, (int)len, &path);
	free(path);
	end(client);
	return fd >= 0 ? fd : -1;
}

bool debugfile_separate(struct debugfile *out, const struct debugfile *own, const char *path, const uint8_t *id,
			unsigned len)
{
	char name[4096];
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) : 0, n;
	bool found;

	*out = (struct debugfile){ .fd = -1, .alt = -1 };
	if (!len || own->fd < 0 || dir > 3072)
		return false;
	n = snprintf(name, sizeof(name), DEBUG_ROOT "/.build-id/%02x/", id[0]);
	for (unsigned i = 1; i < len; i++)
		n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", id[i]);
	snprintf(name + n, sizeof(name) - (size_t)n, ".debug");
	found = accept_path(out, name, own, id, len);
	for (int i = 0; i < 3 && !found && own->link[0]; i++) {
		snprintf(name, sizeof(name),
			 i == 0   ? "%.*s/%s"
			 : i == 1 ? "%.*s/.debug/%s"
				  : DEBUG_ROOT "%.*s/%s",
			 dir, path, own->link);
		found = accept_path(out, name, own, id, len);
	}
	/* what a server sends is checked like what lies about */
	return found || accept_fd(out, ask_debuginfod(id, len), "", own, id, len);
}

void debugfile_close(struct debugfile *d)
{
	if (d->fd >= 0 && !d->own)
		close(d->fd);
	if (d->alt >= 0)
		close(d->alt);
	d->fd = d->alt = -1;
}
