// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the address space is made of: mappings, refined by the sections and variables of the files
 * behind them (an ELF file is hostile input: libelf checks its bounds, the rest is checked here).
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/input_priv.h"
#include "kmod-free/elffile.h"
#include "util/bisect.h"
#include "util/grow.h"
#include "util/openfile.h"

#define MAX_REGIONS 16384  /* mappings of all processes; by hand */
#define MAX_GLOBALS 200000 /* variables with a symbol; by hand */

/* The first of the process, or of those behind it, that ends behind addr. */
static size_t region_ending_after(const struct flow_input *in, uint32_t pid, uint64_t addr)
{
	const struct in_region *r = in->region;

	return BISECT(i, in->region_count, r[i].pid < pid || (r[i].pid == pid && r[i].end <= addr));
}

static int insert_region(struct raw *r, struct in_region n)
{
	struct flow_input *in = r->in;
	size_t lo;

	if (n.start >= n.end || in->region_count + 2 > MAX_REGIONS)
		return 0;
	lo = region_ending_after(in, n.pid, n.start);
	if (!GROW_TO(in->region, in->region_count + 2, in->region_cap, 256))
		return err_set(r->e, -ENOMEM, "out of memory");
	/* what is there gives way: keep what sticks out on both sides */
	while (lo < in->region_count && in->region[lo].pid == n.pid && in->region[lo].start < n.end) {
		struct in_region *m = &in->region[lo];

		if (m->start < n.start && m->end > n.end) {
			struct in_region right = *m;

			right.start = n.end;
			m->end = n.start;
			memmove(m + 2, m + 1, (in->region_count - lo - 1) * sizeof(*m));
			m[1] = right;
			in->region_count++;
			lo++;
			break;
		}
		if (m->start < n.start) {
			m->end = n.start;
			lo++;
		} else if (m->end > n.end) {
			m->start = n.end;
			break;
		} else {
			memmove(m, m + 1, (in->region_count - lo - 1) * sizeof(*m));
			in->region_count--;
		}
	}
	memmove(&in->region[lo + 1], &in->region[lo], (in->region_count - lo) * sizeof(n));
	in->region[lo] = n;
	in->region_count++;
	return 0;
}

static enum in_region_kind region_kind_of(const struct raw *r, const struct fmt_mapping *m, const char *name)
{
	if (m->module)
		return m->prot & 2 ? IN_R_DATA : IN_R_READONLY;
	if (name && !strcmp(name, "[heap]"))
		return IN_R_HEAP;
	if (name && !strncmp(name, "[stack", 6))
		return IN_R_STACK;
	if (name && name[0] == '/')
		return m->prot & 2 ? IN_R_FILE : IN_R_READONLY;
	return IN_R_OTHER;
}

static int add_object(struct raw *r, struct in_object o)
{
	struct flow_input *in = r->in;

	if (o.end <= o.addr)
		return 0;
	return INPUT_PUSH(r, in->object, in->object_count, in->object_cap, o);
}

struct elf_of {
	Elf *elf;
	int fd;
	uint64_t bias;
	uint32_t pid;
	const char *path;
};

static int add_data_symbols(struct raw *r, const struct elf_of *f, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elffile_strings(f->fd, f->elf, sh->sh_link) ? elffile_data(f->fd, scn, ELFFILE_TABLE) : NULL;
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;
	int err = 0;

	for (size_t i = 0; !err && data && i < n && r->in->object_count < MAX_GLOBALS; i++) {
		GElf_Sym sym;
		const char *name;
		uint32_t site;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		if (GELF_ST_TYPE(sym.st_info) != STT_OBJECT || !sym.st_size || sym.st_shndx == SHN_UNDEF ||
		    sym.st_size > 1ull << 40)
			continue;
		name = elf_strptr(f->elf, sh->sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		/* the file is closed again: keep the text with the profile's function names */
		name = intern_get(&r->in->texts, intern_str(&r->in->texts, name, NULL), NULL);
		err = add_object_site(r, 0, FMT_OBJ_GLOBAL, name, NULL, sym.st_size, &site);
		if (!err) {
			r->in->object_site[site].file = f->path;
			r->in->object_site[site].place = sym.st_value;
		}
		if (!err)
			err = add_object(r, (struct in_object){ .addr = f->bias + sym.st_value,
								.end = f->bias + sym.st_value + sym.st_size,
								.died = UINT64_MAX,
								.pid = f->pid,
								.kind = FMT_OBJ_GLOBAL,
								.site = site });
	}
	return err;
}

/* The part that becomes read-only once the dynamic linker is done. */
static void relro_of(Elf *elf, uint64_t *start, uint64_t *end)
{
	size_t n;

	*start = *end = 0;
	if (elf_getphdrnum(elf, &n) || n > 1000)
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_GNU_RELRO) {
			*start = ph.p_vaddr;
			*end = ph.p_vaddr + ph.p_memsz;
		}
	}
}

/* Difference between addresses in memory and in the file, from one mapping of it. */
static bool bias_of_mapping(Elf *elf, const struct fmt_mapping *m, uint64_t *bias)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) || n > 1000)
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		/* mappings begin at the page of the segment's offset */
		if (m->pgoff >= (ph.p_offset & ~0xfffull) && m->pgoff < ph.p_offset + ph.p_filesz) {
			*bias = m->start - (m->pgoff + ph.p_vaddr - ph.p_offset);
			return true;
		}
	}
	return false;
}

static int take_elf(struct raw *r, Elf *elf, int fd, const struct fmt_mapping *m, bool globals, const char *path)
{
	size_t names;
	uint64_t bias, relro_start, relro_end;
	Elf_Scn *scn = NULL, *symtab = NULL, *dynsym = NULL;
	GElf_Shdr sh, sym_sh = { 0 }, dyn_sh = { 0 };
	int err = 0;

	if (elf_kind(elf) != ELF_K_ELF || !elffile_names(fd, elf, &names) || !bias_of_mapping(elf, m, &bias))
		return 0;
	relro_of(elf, &relro_start, &relro_end);
	while (!err && (scn = elf_nextscn(elf, scn))) {
		const char *name;
		struct in_region n = { .pid = m->pid, .name = path };

		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_SYMTAB) {
			symtab = scn;
			sym_sh = sh;
		} else if (sh.sh_type == SHT_DYNSYM) {
			dynsym = scn;
			dyn_sh = sh;
		}
		name = elf_strptr(elf, names, sh.sh_name);
		if (!(sh.sh_flags & SHF_ALLOC) || (sh.sh_flags & SHF_TLS) || !name)
			continue;
		n.start = bias + sh.sh_addr;
		n.end = n.start + sh.sh_size;
		if (n.end < n.start || sh.sh_size > 1ull << 40)
			continue;
		if (!(sh.sh_flags & SHF_WRITE))
			n.kind = IN_R_READONLY;
		else if ((sh.sh_addr >= relro_start && sh.sh_addr < relro_end) || !strncmp(name, ".got", 4))
			n.kind = IN_R_RELRO, n.lazy = !strcmp(name, ".got.plt");
		else if (sh.sh_type == SHT_NOBITS)
			n.kind = IN_R_BSS;
		else
			n.kind = IN_R_DATA;
		err = insert_region(r, n);
	}
	if (!err && globals && (symtab || dynsym))
		err = add_data_symbols(r, &(struct elf_of){ elf, fd, bias, m->pid, path }, symtab ? symtab : dynsym,
				       symtab ? &sym_sh : &dyn_sh);
	return err;
}

static int refine(struct raw *r, const struct fmt_mapping *m, bool globals)
{
	const struct profile_module *mod = raw_module(r, m->module);
	const char *path = mod && mod->kind == FMT_MOD_FILE ? mod->path : NULL;
	struct stat st;
	int fd, err;
	Elf *elf;

	if (!path || path[0] != '/')
		return 0;
	fd = openfile_regular(path, &st);
	if (fd < 0)
		return 0;
	elf = elffile_begin(fd);
	err = elf ? take_elf(r, elf, fd, m, globals, path) : 0;
	elf_end(elf);
	close(fd);
	return err;
}

static int by_object(const void *a, const void *b)
{
	const struct in_object *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->born > y->born) - (x->born < y->born);
}

struct regions_block_key {
	uint64_t addr, born;
};

/* The records of one id are one site; those with a place are its blocks, told at birth and at death. */
static int stored_objects(struct raw *r, bool *globals)
{
	struct map sites = { 0 };
	struct intern blocks = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < r->object_count; i++) {
		const struct fmt_object *o = &r->object[i];
		uint32_t fn = profile_function_id(r->p, o->function);
		const char *function = fn ? r->p->functions[fn].name : NULL;
		struct regions_block_key key = { o->addr, o->born };
		bool added, fresh = true;
		uint64_t *site = map_put(&sites, o->id ? o->id : i | 1ull << 32, &added);
		uint32_t s, at;

		if (!site)
			err = err_set(r->e, -ENOMEM, "out of memory");
		if (!err && added) {
			err = add_object_site(r, o->id, o->kind, store_str(r->in->reader, o->name), function, o->size,
					      &s);
			*site = s;
			if (!err && o->kind == FMT_OBJ_HEAP && !o->addr)
				r->in->object_site[s].blocks = 0;
		}
		if (err || !o->size || !o->addr)
			continue;
		/* ids of interned keys follow the objects one by one */
		at = intern_add(&blocks, &key, sizeof(key), &fresh);
		if (!at)
			err = err_set(r->e, -ENOMEM, "out of memory");
		else if (!fresh && at <= r->in->object_count)
			r->in->object[at - 1].died = o->died ? o->died : r->in->object[at - 1].died;
		else if (fresh)
			err = add_object(r, (struct in_object){ .addr = o->addr,
								.end = o->addr + o->size > o->addr ? o->addr + o->size
												   : UINT64_MAX,
								.born = o->born,
								.died = o->died ? o->died : UINT64_MAX,
								.kind = o->kind,
								.site = (uint32_t)*site });
		if (fresh && !added)
			r->in->object_site[*site].blocks += o->kind == FMT_OBJ_HEAP;
		if (o->kind == FMT_OBJ_GLOBAL && o->addr)
			*globals = true;
	}
	map_release(&sites);
	intern_release(&blocks);
	return err;
}

struct change { /* of the bytes alive at one site */
	uint64_t time;
	int64_t bytes;
	uint32_t site;
};

static int changes_by_site_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The size of an allocation site: the most bytes of it that were alive at a time. */
static int peak_sizes(struct raw *r)
{
	struct flow_input *in = r->in;
	struct change *c;
	size_t n = 0;
	int64_t alive = 0;

	for (size_t i = 0; i < in->object_count; i++)
		n += in->object[i].kind == FMT_OBJ_HEAP;
	if (!n)
		return 0;
	c = malloc(2 * n * sizeof(*c));
	if (!c)
		return err_set(r->e, -ENOMEM, "out of memory");
	n = 0;
	for (size_t i = 0; i < in->object_count; i++) {
		const struct in_object *o = &in->object[i];
		int64_t size = (int64_t)((o->end - o->addr) & INT64_MAX >> 20);

		if (o->kind != FMT_OBJ_HEAP || in->object_site[o->site].heap)
			continue;
		c[n++] = (struct change){ o->born, size, o->site };
		c[n++] = (struct change){ o->died, -size, o->site };
	}
	qsort(c, n, sizeof(*c), changes_by_site_time);
	for (size_t i = 0; i < n; i++) {
		alive = i && c[i].site == c[i - 1].site ? alive + c[i].bytes : c[i].bytes;
		if (alive > 0 && (uint64_t)alive > in->object_site[c[i].site].size)
			in->object_site[c[i].site].size = (uint64_t)alive;
	}
	free(c);
	return 0;
}

static int same_use(struct raw *r)
{
	struct map at = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < r->in->object_site_count; i++) {
		uint64_t *v = map_put(&at, r->in->object_site[i].id, NULL);

		if (!v)
			err = err_set(r->e, -ENOMEM, "out of memory");
		else
			*v = i;
	}
	for (size_t i = 0; !err && i < r->in->x_use_count; i++) {
		const uint64_t *v = map_get(&at, r->in->x_use[i].object);

		r->in->x_use[i].object = v ? (uint32_t)*v : UINT32_MAX;
	}
	for (size_t i = 0; !err && i < r->in->x_object_count; i++) {
		const uint64_t *v = map_get(&at, r->in->x_object[i].object);

		r->in->x_object[i].object = v ? (uint32_t)*v : UINT32_MAX;
		if (v)
			r->in->object_site[*v].blocks = r->in->x_object[i].blocks;
	}
	for (size_t i = 0; !err && i < r->in->x_extent_count; i++) {
		const uint64_t *v = map_get(&at, r->in->x_extent[i].object);

		r->in->x_extent[i].object = v ? (uint32_t)*v : UINT32_MAX;
	}
	map_release(&at);
	return err;
}

int input_regions(struct raw *r)
{
	struct flow_input *in = r->in;
	struct map done = { 0 };
	bool stored_globals = false;
	int err = stored_objects(r, &stored_globals);

	err = err ? err : input_heap(r);
	for (size_t i = 0; !err && i < r->mapping_count; i++) {
		const struct fmt_mapping *m = &r->mapping[i];
		const char *name = store_str(in->reader, m->name);

		err = insert_region(r, (struct in_region){ .start = m->start,
							   .end = m->end,
							   .pid = m->pid,
							   .kind = region_kind_of(r, m, name),
							   .name = name });
	}
	for (size_t i = 0; !err && i < r->mapping_count; i++) {
		const struct fmt_mapping *m = &r->mapping[i];
		bool added;

		if (!m->module)
			continue;
		if (!map_put(&done, (uint64_t)m->pid << 32 | m->module, &added))
			err = err_set(r->e, -ENOMEM, "out of memory");
		else if (added)
			err = refine(r, m, !stored_globals);
	}
	map_release(&done);
	if (in->object_count)
		qsort(in->object, in->object_count, sizeof(*in->object), by_object);
	for (size_t i = 0; i < in->object_count; i++)
		if (in->object[i].end - in->object[i].addr > in->object_longest)
			in->object_longest = in->object[i].end - in->object[i].addr;
	if (!err)
		err = peak_sizes(r);
	return err ? err : same_use(r);
}

const struct in_region *in_region_at(const struct flow_input *in, uint32_t pid, uint64_t addr)
{
	size_t lo = region_ending_after(in, pid, addr);

	return lo < in->region_count && in->region[lo].pid == pid && in->region[lo].start <= addr ? &in->region[lo]
												  : NULL;
}

const struct in_object *in_object_at(const struct flow_input *in, uint32_t pid, uint64_t addr, uint64_t time)
{
	size_t lo = BISECT(mid, in->object_count,
			   in->object[mid].addr <= addr); /* the first object that begins after addr */

	/* blocks of one address follow each other in time, so the step bound is generous */
	for (size_t i = lo, steps = 0; i-- > 0 && steps < 4096; steps++) {
		const struct in_object *o = &in->object[i];

		if (addr - o->addr >= in->object_longest)
			break;
		if (addr < o->end && o->born <= time && time < o->died && (!o->pid || o->pid == pid))
			return o;
	}
	return NULL;
}
