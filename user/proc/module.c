// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/module.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kmod-free/elffile.h"
#include "proc/ehframe.h"
#include "proc/module_priv.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/openfile.h"
#include "util/target_memory.h"

#define MAX_SEGMENTS 256         /* that are loaded; by hand */
#define MAX_IMAGE (1ull << 20)   /* images copied out of memory: the vdso */
#define RECHECK_NS 1000000000ull /* between two looks whether a file changed; by hand */

struct modules *modules_new(void)
{
	struct modules *ms = calloc(1, sizeof(*ms));
	struct rlimit rl;

	if (!ms)
		return NULL;
	elf_version(EV_CURRENT);
	ms->max_open = 256;
	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur != RLIM_INFINITY && rl.rlim_cur / 4 < 256)
		ms->max_open = rl.rlim_cur / 4 < 8 ? 8 : (unsigned)(rl.rlim_cur / 4);
	return ms;
}

static void private_free(struct module_private *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	ehframe_free(p->frame);
	file_pieces_release(&p->pieces);
	free(p->segments);
	free((char *)p->m.path);
	free(p);
}

void modules_free(struct modules *ms)
{
	if (!ms)
		return;
	for (unsigned i = 0; i < ms->count; i++)
		private_free(ms->list[i]);
	free(ms->list);
	free(ms->key_module);
	intern_release(&ms->keys);
	map_release(&ms->anon);
	free(ms);
}

uint64_t modules_frames_refused(const struct modules *ms)
{
	return ms->frames_refused;
}

unsigned modules_count(const struct modules *ms)
{
	return ms->count;
}

struct module *modules_get(const struct modules *ms, uint32_t id)
{
	return id && id <= ms->count && ms->list[id - 1] ? &ms->list[id - 1]->m : NULL;
}

static struct module_private *private_new(const char *path, uint32_t kind, uint32_t pid)
{
	struct module_private *p = calloc(1, sizeof(*p));
	char *copy = strdup(path), *cut;
	const char *slash;

	if (!p || !copy) {
		free(p);
		free(copy);
		return NULL;
	}
	p->fd = -1;
	p->m.kind = kind;
	p->m.pid = pid;
	p->m.state = MODULE_GONE;
	p->m.priv = p;
	cut = strstr(copy, " (deleted)");
	if (cut && !cut[10]) {
		*cut = '\0';
		p->m.deleted = true;
	}
	slash = strrchr(copy, '/');
	p->m.path = copy;
	p->m.object = slash && slash[1] ? slash + 1 : copy;
	return p;
}

static struct module_private *module_add(struct modules *ms, const char *path, uint32_t kind, uint32_t pid)
{
	struct module_private *p;

	while (ms->hole < ms->count && ms->list[ms->hole])
		ms->hole++;
	if (ms->hole == ms->count && !GROW(ms->list, ms->count, ms->cap, 64))
		return NULL;
	p = private_new(path, kind, pid);
	if (!p)
		return NULL;
	p->ms = ms;
	ms->count += ms->hole == ms->count;
	ms->list[ms->hole++] = p;
	p->m.id = ms->hole;
	return p;
}

/* Its id is another's from now on. */
static void module_remove(struct modules *ms, struct module_private *p)
{
	unsigned at = p->m.id - 1;

	ms->open_files -= p->fd >= 0 && p->m.kind == FMT_MOD_FILE;
	ms->frame_bytes -= p->frame_bytes;
	private_free(p);
	ms->list[at] = NULL;
	ms->hole = at < ms->hole ? at : ms->hole;
	while (ms->count && !ms->list[ms->count - 1])
		ms->count--;
}

/* ---- opening: never a FIFO or device, never another file than the one that is mapped ---- */

static int open_map_file(const struct module_ident *id, struct stat *st)
{
	struct openfile_mapping m = { id->pid, id->start, id->end, id->dev_major, id->dev_minor };

	if (!id->pid || id->end <= id->start)
		return -ENOENT;
	return openfile_mapped(&m, st);
}

/* Device numbers of overlay and btrfs files differ between maps and stat: compare the bytes. */
static bool same_bytes(const struct module_ident *id, int fd)
{
	uint8_t mine[512], theirs[512];

	if (!id->pid || id->end - id->start < sizeof(theirs))
		return false;
	if (target_memory_read(id->pid, id->start, theirs, sizeof(theirs)) != (ssize_t)sizeof(theirs))
		return false;
	return pread(fd, mine, sizeof(mine), (off_t)id->pgoff) == (ssize_t)sizeof(mine) &&
	       !memcmp(mine, theirs, sizeof(mine));
}

/* Below a folder that we may not enter the program itself can still be had: the link follows the right to
 * trace (map_files wants CAP_CHECKPOINT_RESTORE as well). */
static int open_program(uint32_t pid, struct stat *st)
{
	return pid ? openfile_program(pid, st) : -ENOENT;
}

/* ---- ELF ---- */

static void note_scan(struct module_private *p, Elf *elf, uint64_t off, uint64_t size, Elf_Type type)
{
	Elf_Data *d;
	size_t pos = 0, name_off, desc_off;
	GElf_Nhdr nh;

	if (!size || !elffile_plausible(p->fd, off, size, ELFFILE_SMALL))
		return;
	d = elf_getdata_rawchunk(elf, (int64_t)off, size, type);
	while (d && (pos = gelf_getnote(d, pos, &nh, &name_off, &desc_off)) > 0) {
		if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != 4 || !nh.n_descsz)
			continue;
		if (memcmp((char *)d->d_buf + name_off, "GNU", 4))
			continue;
		p->m.build_id_len = nh.n_descsz > 20 ? 20 : (uint8_t)nh.n_descsz;
		memcpy(p->m.build_id, (char *)d->d_buf + desc_off, p->m.build_id_len);
		return;
	}
}

static bool elf_load(struct module_private *p)
{
	Elf *elf = elffile_begin(p->fd);
	GElf_Ehdr eh;
	size_t n = 0;
	bool ok = false;

	p->m.segment_count = 0;
	p->m.build_id_len = 0;
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh))
		goto out;
	p->m.machine = eh.e_machine;
	p->m.entry = eh.e_entry;
	if (elf_getphdrnum(elf, &n))
		goto out;
	for (size_t i = 0; i < n && i < 4096; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph))
			break;
		if (ph.p_type == PT_LOAD && p->m.segment_count < MAX_SEGMENTS &&
		    GROW(p->segments, p->m.segment_count, p->segment_cap, 8))
			p->segments[p->m.segment_count++] =
				(struct module_segment){ ph.p_offset, ph.p_vaddr, ph.p_filesz, ph.p_flags };
		else if (ph.p_type == PT_NOTE && !p->m.build_id_len)
			note_scan(p, elf, ph.p_offset, ph.p_filesz, ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	}
	p->m.segments = p->segments;
	ok = p->m.segment_count > 0;
out:
	elf_end(elf);
	return ok;
}

/* ---- open files are few ---- */

static void close_oldest(struct modules *ms, const struct module_private *keep)
{
	struct module_private *oldest = NULL;

	/* first those that nothing was ever asked of; what was unwound through has its table already */
	for (unsigned i = 0; i < ms->count; i++) {
		struct module_private *p = ms->list[i];

		if (!p || p == keep || p->fd < 0 || p->m.kind != FMT_MOD_FILE)
			continue;
		if (!oldest || (p->frame_tried != oldest->frame_tried ? !p->frame_tried : p->used < oldest->used))
			oldest = p;
	}
	if (!oldest)
		return;
	if (oldest->fd >= 0) {
		close(oldest->fd);
		oldest->fd = -1;
		ms->open_files--;
	}
}

static void module_opened(struct module_private *p, int fd, const struct stat *st)
{
	struct modules *ms = p->ms;

	p->fd = fd;
	p->st = *st;
	p->checked = clock_now();
	if (!ms)
		return;
	p->used = ++ms->clock;
	if (++ms->open_files > ms->max_open)
		close_oldest(ms, p);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int module_fd(struct module *m)
{
	struct module_private *p = m->priv;
	struct stat st;
	int fd;

	if (p->ms)
		p->used = ++p->ms->clock;
	if (p->fd >= 0 || m->state != MODULE_OPEN)
		return p->fd;
	fd = openfile_in_root(m->pid, m->path, &st);
	if (fd < 0 || !same_file(&st, &p->st)) {
		if (fd >= 0)
			close(fd);
		fd = openfile_in_root(0, m->path, &st);
	}
	if (fd == -EACCES)
		fd = open_program(m->pid, &st);
	if (fd >= 0 && !same_file(&st, &p->st)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		return -1;
	module_opened(p, fd, &st);
	return fd;
}

uint64_t module_content(struct module *m)
{
	struct stat st;
	int fd = m->kind == FMT_MOD_FILE && m->state == MODULE_OPEN ? module_fd(m) : -1;

	return fd >= 0 && !fstat(fd, &st) && openfile_is_ours(&st) ? openfile_content(fd, &st) : 0;
}

static bool build_id_matches(const struct module *m, const uint8_t *id, unsigned len)
{
	return !len || (len == m->build_id_len && !memcmp(id, m->build_id, len));
}

/* By its server, or in vain: another way to the same file leads there, too. */
static bool is_waited_for(int err)
{
	return err == -EINPROGRESS || err == -ETIMEDOUT;
}

static void module_open(struct module_private *p, const struct module_ident *id)
{
	struct stat st;
	bool exact = true;
	int fd = open_map_file(id, &st);

	if (fd < 0 && fd != -EINVAL && !is_waited_for(fd)) {
		fd = openfile_in_root(id->pid, p->m.path, &st);
		if (fd < 0 && !is_waited_for(fd)) /* it has ended: ours may be the same root, which the inode tells */
			fd = openfile_in_root(0, p->m.path, &st);
		if (fd == -EACCES) {
			fd = open_program(id->pid, &st);
			if (fd >= 0 && st.st_ino != id->ino && !same_bytes(id, fd)) { /* it is a library we want */
				close(fd);
				fd = -EACCES;
			}
		}
		exact = fd >= 0 && id->ino && st.st_ino == id->ino && major(st.st_dev) == id->dev_major &&
			minor(st.st_dev) == id->dev_minor;
	}
	p->waits = fd == -EINPROGRESS;
	if (fd < 0) {
		p->m.state = fd == -EINVAL ? MODULE_NOT_ELF : MODULE_GONE;
		p->ident = *id;
		return;
	}
	module_opened(p, fd, &st);
	if (!elf_load(p))
		p->m.state = MODULE_NOT_ELF;
	else if (id->build_id_len ? !build_id_matches(&p->m, id->build_id, id->build_id_len)
				  : !exact && !same_bytes(id, fd))
		p->m.state = MODULE_CHANGED;
	else
		p->m.state = MODULE_OPEN;
	if (p->m.state != MODULE_OPEN) {
		p->m.segment_count = 0;
		p->m.build_id_len = id->build_id_len;
		memcpy(p->m.build_id, id->build_id, sizeof(id->build_id));
		close(fd);
		p->fd = -1;
		if (p->ms)
			p->ms->open_files--;
	}
}

/* ---- finding ---- */

/* Id of it, which has a place in key_module[]; 0: out of memory. */
static uint32_t key_add(struct modules *ms, const void *key, size_t size)
{
	uint32_t id = intern_add(&ms->keys, key, size, NULL);

	return GROW_ZEROED(ms->key_module, id + 1, ms->key_cap, 256) ? id : 0;
}

static uint32_t file_key(struct modules *ms, uint64_t dev, uint64_t ino, const uint8_t *build_id, unsigned build_id_len,
			 const char *path)
{
	struct {
		uint64_t dev, ino;
		uint8_t build_id[20], len[4];
	} head = { dev, ino, { 0 }, { (uint8_t)build_id_len } };
	uint8_t key[sizeof(head) + 512];
	size_t n = strlen(path);

	if (n > sizeof(key) - sizeof(head)) { /* the tail tells more apart */
		path += n - (sizeof(key) - sizeof(head));
		n = sizeof(key) - sizeof(head);
	}
	memcpy(head.build_id, build_id, build_id_len > 20 ? 20 : build_id_len);
	memcpy(key, &head, sizeof(head));
	memcpy(key + sizeof(head), path, n);
	return key_add(ms, key, sizeof(head) + n);
}

static uint32_t ident_key(struct modules *ms, const struct module_ident *id)
{
	return file_key(ms, (uint64_t)id->dev_major << 32 | id->dev_minor, id->ino, id->build_id, id->build_id_len,
			id->path);
}

struct module *modules_find(struct modules *ms, const struct module_ident *id)
{
	uint32_t key = ident_key(ms, id);

	return key ? modules_get(ms, ms->key_module[key]) : NULL;
}

/* Written over in place since it was opened? What runs from now on is another module. */
static bool rewritten(struct module_private *p)
{
	struct stat st;
	uint64_t now;

	if (p->fd < 0 || p->m.state != MODULE_OPEN)
		return false;
	now = clock_now();
	if (now - p->checked < RECHECK_NS)
		return false;
	p->checked = now;
	return !openfile_is_copy(p->fd) && !fstat(p->fd, &st) && !same_file(&st, &p->st);
}

bool modules_look(struct modules *ms)
{
	bool any = false;

	for (unsigned i = 0; i < ms->count; i++) {
		struct module_private *p = ms->list[i];

		if (!p || !p->waits)
			continue;
		p->ident.path = p->m.path;
		module_open(p, &p->ident);
		any |= p->m.state == MODULE_OPEN;
	}
	return any;
}

struct module *modules_file(struct modules *ms, const struct module_ident *id)
{
	static const uint8_t none[20];
	uint32_t key = ident_key(ms, id), canonical;
	struct module_private *p, *same;
	struct module *m;

	if (!key)
		return NULL;
	m = modules_get(ms, ms->key_module[key]);
	/* one that could not be opened may be readable through the next process that maps it */
	if (m && m->state == MODULE_OPEN && !rewritten(m->priv))
		return m;
	if (m && m->state == MODULE_NOT_ELF)
		return m;
	if (m && m->state == MODULE_GONE) {
		if (m->pid != id->pid || clock_now() - m->priv->checked > RECHECK_NS) {
			m->priv->checked = clock_now();
			m->pid = id->pid;
			module_open(m->priv, id);
		}
		return m;
	}
	if (m && m->state == MODULE_CHANGED && clock_now() - m->priv->checked < RECHECK_NS)
		return m;
	p = module_add(ms, id->path, FMT_MOD_FILE, id->pid);
	if (!p)
		return NULL;
	p->checked = clock_now();
	module_open(p, id);
	if (p->m.state == MODULE_OPEN) { /* the same file may be known by less or more of its identity */
		canonical = file_key(ms, ~p->st.st_dev, p->st.st_ino, none, 0, p->m.path);
		if (!canonical)
			return NULL;
		m = modules_get(ms, ms->key_module[canonical]);
		same = m ? m->priv : NULL;
		if (same && same_file(&same->st, &p->st)) {
			module_remove(ms, p);
			p = same;
		}
		ms->key_module[canonical] = p->m.id;
	}
	ms->key_module[key] = p->m.id;
	return &p->m;
}

struct module *modules_kernel(struct modules *ms)
{
	if (!ms->kernel) {
		struct module_private *p = module_add(ms, "[kernel]", FMT_MOD_KERNEL, 0);

		if (!p)
			return NULL;
		ms->kernel = p->m.id;
	}
	return modules_get(ms, ms->kernel);
}

struct module *modules_anon(struct modules *ms, uint32_t pid, bool jit)
{
	uint64_t *slot = map_put(&ms->anon, pid, NULL);
	unsigned shift = jit ? 32 : 0;
	struct module_private *p;

	if (!slot)
		return NULL;
	if (!(uint32_t)(*slot >> shift)) {
		p = module_add(ms, jit ? "[jit]" : "[anon]", jit ? FMT_MOD_JIT : FMT_MOD_ANON, pid);
		if (!p)
			return NULL;
		*slot |= (uint64_t)p->m.id << shift;
	}
	return modules_get(ms, (uint32_t)(*slot >> shift));
}

struct module *modules_anon_find(const struct modules *ms, uint32_t pid, bool jit)
{
	const uint64_t *slot = map_get(&ms->anon, pid);

	return slot ? modules_get(ms, (uint32_t)(*slot >> (jit ? 32 : 0))) : NULL;
}

void modules_anon_forget(struct modules *ms, uint32_t pid)
{
	map_del(&ms->anon, pid);
}

/* ---- those that nobody maps any more ---- */

static bool is_anon(const struct modules *ms, const struct module *m)
{
	return m == modules_anon_find(ms, m->pid, false) || m == modules_anon_find(ms, m->pid, true);
}

static bool goes_on(const struct modules *ms, const struct module *m, bool (*mapped)(void *ctx, uint32_t id), void *ctx)
{
	return m->id == ms->kernel || m->id == ms->vdso || is_anon(ms, m) || mapped(ctx, m->id);
}

/* What leads to them, from nothing: of files that came and went most of it leads nowhere. */
static bool keep_keys(struct modules *ms)
{
	struct modules fresh = { 0 };

	for (uint32_t id = 1; id <= ms->keys.count; id++) {
		struct module *m = modules_get(ms, ms->key_module[id]);
		const void *key;
		uint32_t at;
		size_t len;

		if (!m || m->priv->retired)
			continue;
		key = intern_get(&ms->keys, id, &len);
		at = key_add(&fresh, key, len);
		if (!at) {
			intern_release(&fresh.keys);
			free(fresh.key_module);
			return false;
		}
		fresh.key_module[at] = m->id;
	}
	intern_release(&ms->keys);
	free(ms->key_module);
	ms->keys = fresh.keys;
	ms->key_module = fresh.key_module;
	ms->key_cap = fresh.key_cap;
	return true;
}

void modules_retire(struct modules *ms, bool (*mapped)(void *ctx, uint32_t id), void *ctx)
{
	for (uint32_t id = 1; id <= ms->count; id++) {
		struct module *m = modules_get(ms, id);

		if (m)
			m->priv->retired = !goes_on(ms, m, mapped, ctx);
	}
	if (keep_keys(ms))
		return;
	/* no memory: they are still found, so they stay */
	for (uint32_t id = 1; id <= ms->count; id++)
		if (ms->list[id - 1])
			ms->list[id - 1]->retired = false;
}

bool module_retired(const struct module *m)
{
	return m->priv->retired;
}

void modules_drop_retired(struct modules *ms)
{
	for (uint32_t id = ms->count; id > 0; id--)
		if (id <= ms->count && ms->list[id - 1] && ms->list[id - 1]->retired)
			module_remove(ms, ms->list[id - 1]);
}

/* ---- the vdso: one image for all processes of a kind; a memfd makes it a file like others ---- */

static bool image_load(struct module_private *p, const void *image, size_t size)
{
	struct stat st;
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	if (fd < 0)
		return false;
	if (write(fd, image, size) != (ssize_t)size || fstat(fd, &st)) {
		close(fd);
		return false;
	}
	p->fd = fd;
	p->st = st;
	if (!elf_load(p)) {
		close(fd);
		p->fd = -1;
		return false;
	}
	p->m.state = MODULE_OPEN;
	return true;
}

static uint64_t own_vdso_size(const char *base)
{
	const Elf64_Ehdr *eh = (const void *)base;
	uint64_t end = eh->e_shoff + (uint64_t)eh->e_shnum * eh->e_shentsize;

	return (end + 4095) & ~4095ull;
}

struct module *modules_vdso(struct modules *ms, uint32_t pid, uint64_t start, uint64_t end)
{
	const char *own = (const char *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	struct module_private *p;

	if (ms->vdso && (ms->vdso_size == end - start || !own))
		return modules_get(ms, ms->vdso);
	if (own && own_vdso_size(own) == end - start) {
		p = module_add(ms, "[vdso]", FMT_MOD_VDSO, 0);
		if (!p)
			return NULL;
		image_load(p, own, end - start);
		ms->vdso_size = end - start;
		ms->vdso = p->m.id;
		return &p->m;
	}
	/* another kind of process (32 bits): its own, read from its memory */
	p = module_add(ms, "[vdso]", FMT_MOD_VDSO, pid);
	if (!p)
		return NULL;
	if (end > start && end - start <= MAX_IMAGE) {
		char *copy = malloc(end - start);

		if (copy && target_memory_read(pid, start, copy, end - start) == (ssize_t)(end - start))
			image_load(p, copy, end - start);
		free(copy);
	}
	if (!ms->vdso) {
		ms->vdso = p->m.id;
		ms->vdso_size = end - start;
	}
	return &p->m;
}

struct module *module_open_path(const char *path, const uint8_t *build_id, unsigned build_id_len, struct err *e)
{
	struct module_private *p = private_new(path, FMT_MOD_FILE, 0);
	struct stat st;
	int fd;

	elf_version(EV_CURRENT);
	if (!p) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	fd = openfile_in_root(0, path, &st);
	if (fd < 0) {
		err_set(e, fd, "%s cannot be opened: %s", path, strerror(-fd));
		goto fail;
	}
	module_opened(p, fd, &st);
	if (!elf_load(p)) {
		err_set(e, -ENOEXEC, "%s is not an ELF file", path);
		goto fail;
	}
	if (!build_id_matches(&p->m, build_id, build_id_len)) {
		err_set(e, -ESTALE, "%s has another build-id than the recorded one: it was replaced since", path);
		goto fail;
	}
	p->m.state = MODULE_OPEN;
	return &p->m;
fail:
	private_free(p);
	return NULL;
}

void module_close_path(struct module *m)
{
	if (m && !m->priv->ms)
		private_free(m->priv);
}

/* ---- addresses ---- */

bool module_offset_to_vaddr(const struct module *m, uint64_t off, uint64_t *vaddr)
{
	const struct module_segment *near = NULL;

	for (unsigned i = 0; i < m->segment_count; i++) {
		const struct module_segment *s = &m->segments[i];

		if (off >= s->offset && off - s->offset < s->filesz) {
			*vaddr = s->vaddr + (off - s->offset);
			/* two segments may share a page of the file: code is what is asked for */
			if (s->flags & PF_X)
				return true;
			near = s;
		}
	}
	if (near)
		return true;
	for (unsigned i = 0; i < m->segment_count; i++) { /* padding up to the page's end */
		const struct module_segment *s = &m->segments[i];
		uint64_t first = s->offset & ~4095ull, last = (s->offset + s->filesz + 4095) & ~4095ull;

		if (off >= first && off < last && (s->flags & PF_X)) {
			*vaddr = s->vaddr + (off - s->offset);
			return true;
		}
	}
	return false;
}

bool module_vaddr_to_offset(const struct module *m, uint64_t vaddr, uint64_t *off)
{
	for (unsigned i = 0; i < m->segment_count; i++) {
		const struct module_segment *s = &m->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
			*off = s->offset + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}

size_t module_read(struct module *m, uint64_t vaddr, void *out, size_t size)
{
	uint64_t off;
	ssize_t n;
	int fd;

	if (m->state != MODULE_OPEN || !module_vaddr_to_offset(m, vaddr, &off) || off > INT64_MAX)
		return 0;
	fd = module_fd(m);
	if (fd < 0)
		return 0;
	if (!m->priv->ms && size < FILE_PIECE)
		return file_pieces_read(&m->priv->pieces, fd, off, out, size);
	n = pread(fd, out, size, (off_t)off);
	return n > 0 ? (size_t)n : 0;
}

size_t module_code_read(void *module, uint64_t vaddr, void *out, size_t size)
{
	return module_read(module, vaddr, out, size);
}
