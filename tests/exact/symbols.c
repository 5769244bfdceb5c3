// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The second opinion's tables: addresses to functions by ELF symbols (.symtab, else .dynsym),
 * instructions by Zydis, hash tables, and printing. The input is the test's own, so files are trusted.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "lackey.h"

struct function *functions;
struct edges quad, ke;
struct table read_set, out_set;
static uint32_t function_count, function_room;
static const char *select_list;
static bool fold_libraries, select_main;
static const char *main_base(void);

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

void *xrealloc(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		abort();
	return p;
}

/* ---- tables ---- */

static uint64_t spread(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15ull;
	return key ^ key >> 32;
}

uint64_t *table_at(struct table *t, uint64_t key, bool make)
{
	size_t at;

	if (make && 10 * (t->used + 1) > 7 * t->cap) {
		struct table bigger = { .cap = t->cap ? 2 * t->cap : 1024 };

		bigger.key = xcalloc(bigger.cap, sizeof(uint64_t));
		bigger.value = xcalloc(bigger.cap, sizeof(uint64_t));
		for (size_t i = 0; i < t->cap; i++)
			if (t->key[i])
				*table_at(&bigger, t->key[i], true) = t->value[i];
		free(t->key);
		free(t->value);
		*t = bigger;
	}
	if (!t->cap)
		return NULL;
	for (at = spread(key) & (t->cap - 1); t->key[at]; at = (at + 1) & (t->cap - 1))
		if (t->key[at] == key)
			return &t->value[at];
	if (!make)
		return NULL;
	t->key[at] = key;
	t->used++;
	return &t->value[at];
}

void edge_add(struct edges *e, uint32_t producer, uint32_t consumer, uint64_t n, uint64_t byte)
{
	uint64_t key = ((uint64_t)producer << 32 | consumer) + 1, *index, *seen;

	*table_at(&e->count, key, true) += n;
	if (!byte)
		return;
	index = table_at(&e->index, key, true);
	if (!*index)
		*index = e->index.used;
	/* Valgrind places the program's memory below 2^40 */
	seen = table_at(&e->seen, *index << 40 | byte, true);
	if (!*seen) {
		*seen = 1;
		++*table_at(&e->unique, key, true);
	}
}

void unique_add(struct table *set, uint32_t function, uint64_t addr, unsigned int size, uint64_t *count)
{
	for (unsigned int b = 0; b < size; b++) {
		uint64_t *seen = table_at(set, (uint64_t)(function + 1) << 47 | (addr + b), true);

		*count += !*seen;
		*seen = 1;
	}
}

static void table_empty(struct table *t)
{
	free(t->key);
	free(t->value);
	*t = (struct table){ 0 };
}

void forget_counts(void)
{
	struct edges *const both[] = { &quad, &ke };

	for (int i = 0; i < 2; i++) {
		table_empty(&both[i]->count);
		table_empty(&both[i]->unique);
		table_empty(&both[i]->index);
		table_empty(&both[i]->seen);
	}
	table_empty(&read_set);
	table_empty(&out_set);
	for (uint32_t i = 0; i < function_count; i++) {
		functions[i].self = (struct counts){ 0 };
		functions[i].in = functions[i].in_unique = functions[i].out_unique = functions[i].calls = 0;
	}
}

/* ---- functions ---- */

static bool in_list(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, name, n) && (p[n] == ',' || !p[n]))
			return true;
	}
	return false;
}

uint32_t function_id(const char *name, const char *object)
{
	for (uint32_t i = 0; i < function_count; i++)
		if (!strcmp(functions[i].name, name) && !strcmp(functions[i].object, object))
			return i;
	if (function_count == function_room) {
		function_room = function_room ? 2 * function_room : 256;
		functions = xrealloc(functions, function_room * sizeof(*functions));
	}
	functions[function_count] = (struct function){
		.name = strdup(name),
		.object = strdup(object),
		.selected = select_main ? !strcmp(object, main_base()) : in_list(select_list, name),
	};
	return function_count++;
}

void functions_init(const char *select, bool main_image, bool fold)
{
	select_main = main_image;
	select_list = select;
	fold_libraries = fold;
	function_id("(outside)", "");
}

/* ---- objects ---- */

struct symbol {
	uint64_t addr, size;
	const char *name;
	uint32_t id; /* function + 1 */
};

struct object {
	char path[PATH_MAX];
	const uint8_t *file;
	size_t size;
	struct symbol *symbol;
	size_t symbols;
	struct {
		uint64_t addr, size;
	} plt[4];
	unsigned int plts;
};

struct mapping {
	uint64_t start, end, offset;
	struct object *object; /* NULL: no file */
};

static struct object *objects[64];
static unsigned int object_count;
static struct mapping mapping[512];
static unsigned int mappings;
static const char *maps_path, *main_path;
static long traced;

/* The widest name of an address wins in no defined way elsewhere; here: the one that is global, shortest, first. */
static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (strlen(x->name) != strlen(y->name))
		return strlen(x->name) < strlen(y->name) ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void read_symbols(struct object *o)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)o->file;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(o->file + eh->e_shoff), *table = NULL;
	const char *names = (const char *)o->file + sh[eh->e_shstrndx].sh_offset;

	for (int i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type == SHT_SYMTAB || (sh[i].sh_type == SHT_DYNSYM && !table))
			table = &sh[i];
		if (!strncmp(names + sh[i].sh_name, ".plt", 4) && o->plts < 4) {
			o->plt[o->plts].addr = sh[i].sh_addr;
			o->plt[o->plts++].size = sh[i].sh_size;
		}
	}
	if (!table)
		return;
	free(o->symbol);
	o->symbols = 0;
	o->symbol = xcalloc(table->sh_size / sizeof(Elf64_Sym) + 1, sizeof(*o->symbol));
	for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *s = (const Elf64_Sym *)(o->file + table->sh_offset) + i;
		int type = ELF64_ST_TYPE(s->st_info);

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !s->st_shndx || !s->st_size)
			continue;
		o->symbol[o->symbols].addr = s->st_value;
		o->symbol[o->symbols].size = s->st_size;
		o->symbol[o->symbols++].name = (const char *)o->file + sh[table->sh_link].sh_offset + s->st_name;
	}
	qsort(o->symbol, o->symbols, sizeof(*o->symbol), by_address);
}

static const uint8_t *map_file(const char *path, size_t *size)
{
	struct stat st;
	const uint8_t *file = NULL;
	int fd = open(path, O_RDONLY);

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > (off_t)sizeof(Elf64_Ehdr)) {
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		*size = (size_t)st.st_size;
		if (file == MAP_FAILED || memcmp(file, ELFMAG, SELFMAG))
			file = NULL;
	}
	if (fd >= 0)
		close(fd);
	return file;
}

/* The symbols of a stripped library, where its debug package is installed: Valgrind needs libc's anyway. */
static void read_debug_file(struct object *o)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)o->file;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(o->file + eh->e_phoff);

	for (int i = 0; i < eh->e_phnum; i++) {
		const Elf64_Nhdr *n = (const Elf64_Nhdr *)(o->file + ph[i].p_offset);
		const uint8_t *id = (const uint8_t *)n + sizeof(*n) + 4;
		struct object debug = { 0 };
		char path[128] = "/usr/lib/debug/.build-id/";
		size_t at = strlen(path);

		if (ph[i].p_type != PT_NOTE || n->n_type != NT_GNU_BUILD_ID || n->n_descsz > 32)
			continue;
		for (uint32_t k = 0; k < n->n_descsz; k++)
			at += (size_t)sprintf(path + at, k == 1 ? "/%02x" : "%02x", id[k]);
		strcpy(path + at, ".debug");
		debug.file = map_file(path, &debug.size);
		if (!debug.file)
			continue;
		read_symbols(&debug);
		if (debug.symbols > o->symbols) {
			o->symbol = debug.symbol;
			o->symbols = debug.symbols;
		}
		return;
	}
}

static struct object *object_of(const char *path)
{
	struct object *o;

	for (unsigned int i = 0; i < object_count; i++)
		if (!strcmp(objects[i]->path, path))
			return objects[i];
	if (object_count == 64)
		return NULL;
	o = objects[object_count++] = xcalloc(1, sizeof(*o));
	snprintf(o->path, sizeof(o->path), "%s", path);
	o->file = map_file(path, &o->size);
	if (o->file) {
		read_symbols(o);
		read_debug_file(o);
	}
	return o;
}

static void read_maps(void)
{
	char path[64], line[PATH_MAX + 128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/maps", traced);
	f = fopen(maps_path ? maps_path : path, "r");
	if (!f)
		return;
	mappings = 0;
	while (mappings < 512 && fgets(line, sizeof(line), f)) {
		struct mapping *m = &mapping[mappings];
		int at = 0;

		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &m->start, &m->end, &m->offset, &at) < 3)
			continue;
		line[strcspn(line, "\n")] = 0;
		m->object = at && line[at] == '/' ? object_of(line + at) : NULL;
		mappings++;
	}
	fclose(f);
}

void objects_from(const char *maps_file, long pid, const char *main_file)
{
	static char real[PATH_MAX];

	maps_path = maps_file;
	traced = pid;
	main_path = realpath(main_file, real) ? real : main_file;
}

static const char *main_base(void)
{
	const char *slash = main_path ? strrchr(main_path, '/') : NULL;

	return slash ? slash + 1 : main_path ? main_path : "";
}

static struct mapping *mapping_of(uint64_t addr)
{
	for (int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < mappings; i++)
			if (addr >= mapping[i].start && addr < mapping[i].end)
				return &mapping[i];
		read_maps();
	}
	return NULL;
}

void find_stack(uint64_t addr, uint64_t *low, uint64_t *high)
{
	struct mapping *m = mapping_of(addr);
	struct rlimit limit;
	uint64_t size = 8 << 20;

	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur != RLIM_INFINITY)
		size = limit.rlim_cur;
	*high = m ? m->end : (addr | 0xfff) + 1;
	*low = *high - size;
}

static uint64_t virtual_address(const struct object *o, uint64_t offset)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)o->file;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(o->file + eh->e_phoff);

	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && offset >= ph[i].p_offset && offset < ph[i].p_offset + ph[i].p_filesz)
			return offset - ph[i].p_offset + ph[i].p_vaddr;
	return UINT64_MAX;
}

static bool is_stub(const struct object *o, uint64_t vaddr)
{
	for (unsigned int i = 0; i < o->plts; i++)
		if (vaddr - o->plt[i].addr < o->plt[i].size)
			return true;
	return false;
}

static uint32_t name_of(struct object *o, uint64_t vaddr, bool *entry)
{
	const char *base = strrchr(o->path, '/') ? strrchr(o->path, '/') + 1 : o->path;
	size_t low = 0, high = o->symbols;
	char text[512];

	if (is_stub(o, vaddr))
		return function_id("(stub)", base); /* never counted: see insn.stub */
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (o->symbol[mid].addr <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low-- > 0 && vaddr - o->symbol[low].addr < 1 << 20;) {
		struct symbol *s = &o->symbol[low];

		while (low && s[-1].addr == s->addr) /* all names of one address: the first in order */
			s = &o->symbol[--low];
		if (vaddr - s->addr >= s->size)
			continue;
		*entry = vaddr == s->addr;
		if (!s->id) {
			char *cold;

			snprintf(text, sizeof(text), "%s", s->name);
			cold = strstr(text, ".cold");
			if (cold)
				*cold = 0;
			s->id = function_id(text, base) + 1;
		}
		return s->id - 1;
	}
	return function_id("(unknown)", base);
}

/* ---- instructions ---- */

static struct table insn_table;

struct insn *insn_at(uint64_t addr)
{
	static ZydisDecoder decoder;
	uint64_t *slot = table_at(&insn_table, addr + 1, true);
	struct mapping *m;
	struct insn *i;
	uint64_t vaddr;

	if (*slot)
		return (struct insn *)(uintptr_t)*slot;
	i = xcalloc(1, sizeof(*i));
	*slot = (uint64_t)(uintptr_t)i;
	i->addr = addr;
	m = mapping_of(addr);
	if (!m || !m->object || !m->object->file) {
		i->function = function_id("(unknown)", "");
		return i;
	}
	vaddr = virtual_address(m->object, addr - m->start + m->offset);
	i->function = name_of(m->object, vaddr, &i->entry);
	i->stub = is_stub(m->object, vaddr);
	if (!decoder.stack_width)
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	{
		uint64_t at = addr - m->start + m->offset;
		ZydisDecodedInstruction d;

		if (at < m->object->size &&
		    ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, m->object->file + at,
							       m->object->size - at, &d)))
			i->kind = d.meta.category == ZYDIS_CATEGORY_CALL  ? INSN_CALL
				  : d.meta.category == ZYDIS_CATEGORY_RET ? INSN_RET
									  : INSN_OTHER;
	}
	return i;
}

/* ---- output ---- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Name and object, as two columns; a library's functions fold into one line each, which awk adds up. */
static void print_name(uint32_t id)
{
	const struct function *f = &functions[id];

	if (fold_libraries && f->object[0] && strcmp(f->object, main_base()))
		printf("\t[%s]\t%s", f->object, f->object);
	else
		printf("\t%s\t%s", f->name, f->object);
}

static void print_edges(const char *kind, struct edges *e)
{
	uint64_t *keys = xcalloc(e->count.used + 1, sizeof(*keys));
	size_t n = 0;

	for (size_t i = 0; i < e->count.cap; i++)
		if (e->count.key[i])
			keys[n++] = e->count.key[i];
	qsort(keys, n, sizeof(*keys), by_number);
	for (size_t i = 0; i < n; i++) {
		uint64_t *unique = table_at(&e->unique, keys[i], false);

		printf("%s", kind);
		print_name((uint32_t)((keys[i] - 1) >> 32));
		print_name((uint32_t)(keys[i] - 1));
		printf("\t%lu\t%lu\n", *table_at(&e->count, keys[i], false), unique ? *unique : 0);
	}
	free(keys);
}

void print_all(const struct counts *total, unsigned int chunk)
{
	printf("total\t%lu\t%lu\t%lu\t%lu\t%lu\n", total->instructions, total->loads, total->stores, total->load_bytes,
	       total->store_bytes);
	for (uint32_t i = 0; i < function_count; i++) {
		const struct function *f = &functions[i];

		printf("fn");
		print_name(i);
		printf("\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", f->self.instructions, f->self.loads,
		       f->self.stores, f->self.load_bytes, f->self.store_bytes, f->in, f->in_unique, f->out_unique,
		       f->calls);
	}
	print_edges("quad", &quad);
	printf("chunk\t%u\n", chunk);
	print_edges("ke", &ke);
}
