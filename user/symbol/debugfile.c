// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/debugfile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug"

struct traits {
	uint8_t build_id[20];
	unsigned build_id_len;
	uint64_t first_load;
	char link[256]; /* .gnu_debuglink */
};

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

static bool read_traits(int fd, struct traits *t)
{
	Elf *elf;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t names, segments;

	memset(t, 0, sizeof(*t));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) || elf_getphdrnum(elf, &segments)) {
		elf_end(elf);
		return false;
	}
	for (size_t i = 0; i < segments && gelf_getphdr(elf, (int)i, &ph); i++) {
		if (ph.p_type == PT_LOAD) {
			t->first_load = ph.p_vaddr;
			break;
		}
	}
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(elf, names, sh.sh_name)))
			continue;
		if (sh.sh_type == SHT_NOTE && !strcmp(name, ".note.gnu.build-id")) {
			read_notes(elf_getdata(scn, NULL), t);
		} else if (sh.sh_type == SHT_PROGBITS && !strcmp(name, ".gnu_debuglink") && (d = elf_getdata(scn, NULL)) &&
			   d->d_size > 5 && memchr(d->d_buf, 0, d->d_size)) {
			/* a name, not a path: a hostile file must not lead us elsewhere */
			snprintf(t->link, sizeof(t->link), "%s", (char *)d->d_buf);
			if (strchr(t->link, '/'))
				t->link[0] = '\0';
		}
	}
	elf_end(elf);
	return true;
}

/* Opens a candidate and accepts it only if its build-id is the module's. */
static int try_file(const char *path, const struct traits *module, const uint8_t *id, unsigned len, int64_t *bias)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct traits t;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !read_traits(fd, &t) || t.build_id_len != len ||
	    memcmp(t.build_id, id, len)) {
		close(fd);
		return -1;
	}
	*bias = (int64_t)(module->first_load - t.first_load);
	return fd;
}

static int ask_debuginfod(const uint8_t *id, unsigned len)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	static void *lib;
	void *(*begin)(void);
	int (*find)(void *, const unsigned char *, int, char **);
	void (*end)(void *);
	char *path = NULL;
	void *client;
	int fd = -1;

	if (!urls || !*urls)
		return -1;
	if (!lib)
		lib = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return -1;
	*(void **)&begin = dlsym(lib, "debuginfod_begin");
	*(void **)&find = dlsym(lib, "debuginfod_find_debuginfo");
	*(void **)&end = dlsym(lib, "debuginfod_end");
	if (!begin || !find || !end || !(client = begin()))
		return -1;
	fd = find(client, id, (int)len, &path);
	free(path);
	end(client);
	return fd >= 0 ? fd : -1;
}

int debugfile_open(int fd, const char *path, const uint8_t *id, unsigned len, int64_t *bias)
{
	struct traits module;
	char dir[3072] = "", name[4096];
	const char *slash = strrchr(path, '/');
	int out = -1, n = 0;

	*bias = 0;
	if (!len || !read_traits(fd, &module))
		return -1;
	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	n = snprintf(name, sizeof(name), DEBUG_ROOT "/.build-id/%02x/", id[0]);
	for (unsigned i = 1; i < len; i++)
		n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", id[i]);
	snprintf(name + n, sizeof(name) - (size_t)n, ".debug");
	out = try_file(name, &module, id, len, bias);
	if (out < 0 && module.link[0]) {

		for (size_t i = 0; i < 3 && out < 0; i++) {
			snprintf(name, sizeof(name), i == 0 ? "%s/%s" : i == 1 ? "%s/.debug/%s" : DEBUG_ROOT "%s/%s", dir, module.link);
			out = try_file(name, &module, id, len, bias);
		}
	}
	return out >= 0 ? out : ask_debuginfod(id, len);
}
