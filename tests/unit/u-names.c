// SPDX-License-Identifier: GPL-2.0-or-later
/* Where names come from: JIT maps, symbol tables, DWARF, system call numbers, the cache. */
/* harm: a perf map that grows for weeks | one that grows | the older half of what is too much */
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/demangle.h"
#include "symbol/dwfl.h"
#include "proc/jitmap.h"
#include "symbol/symcache.h"
#include "symbol/symtab.h"
#include "proc/syscalls.h"
#include "unit/unit.h"

/* Assembly as it is often written: without sizes, and without call frame information. */
__asm__(".pushsection .text.nosize, \"ax\", @progbits\n"
	".globl planted_nosize\nplanted_nosize: xor %eax, %eax\nje 1f\nret\n1: inc %eax\nret\n"
	".p2align 4, 0xcc\n.Lplanted_unnamed: inc %eax\nret\n"
	".popsection\n");

TEST(jit_text)
{
	static const char text[] = "1000 100 first\n0x1100 0x10 second one\nrubbish\n1000 0 empty\n1080 20 newer\n"
				   "ffffffffffffffff 10 overflow\n2000 10 ctrl\001x\n";
	struct jitmap *j = jitmap_parse(text, sizeof(text) - 1);
	uint64_t start;

	assert_non_null(j);
	assert_string_equal(jitmap_find(j, 0x1000, &start), "first");
	assert_string_equal(jitmap_find(j, 0x110f, &start), "second one");
	assert_int_equal(start, 0x1100);
	assert_null(jitmap_find(j, 0x1110, NULL));
	assert_null(jitmap_find(j, 0xfff, NULL));
	assert_string_equal(jitmap_find(j, 0x1085, NULL), "newer"); /* the later line stands there now */
	assert_string_equal(jitmap_find(j, 0x107f, NULL), "first");
	assert_string_equal(jitmap_find(j, 0x2000, NULL), "ctrl?x");
	assert_int_equal(jitmap_rejected(j), 3);
	jitmap_free(j);
}

TEST(jit_reused_memory)
{
	/* the same place compiled three times, and a big one over two small ones */
	static const char text[] = "1000 40 a\n1040 40 b\n1000 40 c\n1000 80 big\n3000 10 old\n3000 10 new\n";
	struct jitmap *j = jitmap_parse(text, sizeof(text) - 1);

	assert_non_null(j);
	assert_string_equal(jitmap_find(j, 0x1000, NULL), "big");
	assert_string_equal(jitmap_find(j, 0x1050, NULL), "big");
	assert_string_equal(jitmap_find(j, 0x3008, NULL), "new");
	jitmap_free(j);
}

/* A runtime that compiles for weeks into the same memory: what lies there now has its name, however much there was. */
TEST(jit_is_pruned)
{
	static char text[200000];
	struct jitmap *j;
	size_t len = 0;
	char want[32];

	for (unsigned n = 0; n < 5000; n++)
		len += (size_t)sprintf(text + len, "%x 100 name%u\n", 0x1000 + n % 50 * 0x100, n);
	/* one that is seen between two others only, and one that is not */
	len += (size_t)sprintf(text + len,
			       "90000 300 wide\n90000 100 left\n90200 100 right\na0000 10 under\na0000 20 over\n");
	j = jitmap_parse(text, len);
	assert_non_null(j);
	jitmap_prune(j);
	assert_int_equal(jitmap_entries(j), 50 + 4);
	for (unsigned i = 0; i < 50; i++) {
		snprintf(want, sizeof(want), "name%u", 4950 + i);
		assert_string_equal(jitmap_find(j, 0x1000 + i * 0x100 + 0xff, NULL), want);
	}
	assert_string_equal(jitmap_find(j, 0x90150, NULL), "wide");
	assert_string_equal(jitmap_find(j, 0x90050, NULL), "left");
	assert_string_equal(jitmap_find(j, 0xa0008, NULL), "over");
	assert_int_equal(jitmap_rejected(j), 0);
	jitmap_free(j);
}

static int open_own_map(char *path, size_t size)
{
	int fd;

	snprintf(path, size, "/tmp/perf-%d.map", getpid());
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	return fd;
}

/* Of all that is too much the newer half is kept, with what came after. */
TEST(jit_is_full)
{
	char path[64], line[64];
	int fd = open_own_map(path, sizeof(path));
	struct jitmap *j = jitmap_load((uint32_t)getpid(), NULL);
	size_t len;

	assert_non_null(j);
	jitmap_limit(j, 100, 1000000);
	for (unsigned n = 0; n < 1000; n++) {
		len = (size_t)snprintf(line, sizeof(line), "%x 10 name%u\n", 0x1000 + n * 0x10, n);
		assert_int_equal(write(fd, line, len), len);
	}
	assert_int_equal(jitmap_update(j, false), 0);
	assert_true(jitmap_entries(j) > 25 && jitmap_entries(j) <= 100);
	assert_int_equal(jitmap_entries(j) + jitmap_rejected(j), 1000);
	assert_string_equal(jitmap_find(j, 0x1000 + 999 * 0x10, NULL), "name999");
	assert_string_equal(jitmap_find(j, 0x1000 + 980 * 0x10, NULL), "name980");
	assert_null(jitmap_find(j, 0x1000, NULL));
	jitmap_free(j);
	close(fd);
	unlink(path);
}

/* It has grown to more than could ever be kept: what is added still counts. */
TEST(jit_is_not_deaf)
{
	char path[64];
	int fd = open_own_map(path, sizeof(path));
	struct jitmap *j;

	assert_int_equal(write(fd, "1000 10 first\n", 14), 14);
	assert_int_equal(pwrite(fd, "\n2000 10 late\n", 15, 140 << 20), 15);
	j = jitmap_load((uint32_t)getpid(), NULL);
	assert_non_null(j);
	for (unsigned i = 0; i < 10 && !jitmap_find(j, 0x2008, NULL); i++)
		assert_int_equal(jitmap_update(j, false), 0);
	assert_string_equal(jitmap_find(j, 0x2008, NULL), "late");
	assert_string_equal(jitmap_find(j, 0x1008, NULL), "first");
	jitmap_free(j);
	close(fd);
	unlink(path);
}

TEST(jit_foreign_owner_is_refused)
{
	char path[64];
	struct err e = { 0 };
	struct jitmap *j;
	int fd;

	if (geteuid())
		skip();
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1000 10 mine\n", 13), 13);
	close(fd);
	j = jitmap_load((uint32_t)getpid(), &e);
	assert_non_null(j);
	assert_string_equal(jitmap_find(j, 0x1001, NULL), "mine");
	jitmap_free(j);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_null(jitmap_load((uint32_t)getpid(), &e));
	assert_non_null(strstr(e.text, "belongs to user"));
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_null(jitmap_load((uint32_t)getpid(), &e));
	unlink(path);
}

TEST(syscalls)
{
	assert_string_equal(syscall_name("x86_64", 0), "read");
	assert_string_equal(syscall_name("aarch64", 63), "read");
	assert_string_equal(syscall_name("x86_64", 451), "cachestat");
	assert_null(syscall_name("x86_64", 100000));
	assert_null(syscall_name("x86_64", -1));
}

TEST(demangled)
{
	char out[200], *longname = malloc(100001);

	assert_string_equal(demangle("main", out, sizeof(out)), "main");
	demangle("_ZN3foo3barEi", out, sizeof(out));
	assert_true(!strcmp(out, "foo::bar(int)") || !strcmp(out, "_ZN3foo3barEi")); /* without the C++ runtime */
	demangle("_ZN4core3fmt5write17h0123456789abcdefE", out, sizeof(out));
	assert_null(strstr(out, "::h0123"));
	demangle("_ZN52_$LT$w..Counter$u20$as$u20$w..Sink$GT$4take17h0123456789abcdefE", out, sizeof(out));
	assert_true(!strcmp(out, "<w::Counter as w::Sink>::take") || out[0] == '_');
	memset(longname, 'P', 100000);
	memcpy(longname, "_Z1f", 4);
	longname[100000] = '\0';
	demangle(longname, out, sizeof(out)); /* no crash */
	free(longname);
}

TEST(rust_names)
{
	static const struct {
		const char *mangled, *name;
	} of[] = {
		{ "_RINvCsbsFkZsjFIc5_1w4feedNtB2_7CounterEB2_", "w::feed<w::Counter>" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		{ "_RNCNvCsbsFkZsjFIc5_1w4mains_0B3_", "w::main::{closure#1}" },
		{ "_RNvXCs1_1wNtB2_7CounterNtB2_4Sink4take", "<w::Counter as w::Sink>::take" },
		{ "_RNvMs_NtCs1_5alloc3vecINtB4_3VechE4push", "<alloc::vec::Vec<u8>>::push" },
		{ "_RINvCs1_1w1fKj1f_RSlTxEFUKCbEuE", "w::f<31, &[i32], (i64,), unsafe fn(bool)>" },
		{ "_RINvCs1_1w1fAm4_DNtB2_1TEL_QeE", NULL }, /* a length without its type */
		{ "_RINvCs1_1w1fAmj4_DNtB2_1TEL_QeE", "w::f<[u32; 4], dyn w::T, &mut str>" },
		{ "_RNvCs1_1w4name.llvm.1234", "w::name" },
		{ "_RNCNCNvNtCsjrHSEGnQ3l9_3std2rt5start00B7_", "std::rt::start::{closure#0}::{closure#0}" },
		{ "_RB_", NULL },
		{ "_RNvB_1f", NULL },
		{ "_RNvCs1_1w9short", NULL },
		{ "_RIIIIII", NULL },
		{ "_R", NULL },
	};
	char out[200], deep[2100] = "_R";

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		demangle(of[i].mangled, out, sizeof(out));
		assert_string_equal(out, of[i].name ? of[i].name : of[i].mangled);
		/* cut anywhere, it is a name or none */
		for (size_t n = 0; n < strlen(of[i].mangled); n++) {
			snprintf(deep, n + 1, "%s", of[i].mangled);
			demangle(deep, out, sizeof(out));
			demangle(of[i].mangled, out, n + 1);
		}
	}
	/* deeper than any, and one that back references make endless */
	for (size_t i = 2; i < 2000; i++)
		deep[i] = "INv"[i % 3];
	demangle(deep, out, sizeof(out));
	assert_true(!strncmp(out, deep, 100));
	snprintf(deep, sizeof(deep), "_RINvC1a1b");
	for (char c = 'a'; c < 'z'; c++)
		strcat(deep, "TB8_B8_E");
	demangle(deep, out, sizeof(out));
}

/* Ourselves: a function of this file with an inlined callee. */
static volatile unsigned sink;

static inline __attribute__((always_inline)) void planted_inner(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}

__attribute__((noipa)) static void planted_outer(unsigned n)
{
	planted_inner(n);
	planted_inner(n / 2 + 1);
}

struct seen {
	unsigned calls, inlined, right, lines;
};

static void on_chain(void *ctx, size_t i, const struct dwfl_frame *f, unsigned n)
{
	struct seen *s = ctx;

	s->calls++;
	if (!strcmp(f[n - 1].name, "planted_outer"))
		s->right++;
	if (n == 2 && !strcmp(f[0].name, "planted_inner"))
		s->inlined++;
	for (unsigned k = 0; k < n; k++)
		s->lines += f[k].file && strstr(f[k].file, "u-names.c") && f[k].line > 0;
}

static const struct symtab_entry *planted_function(struct symtab *t, int fd)
{
	const struct symtab_entry *e = NULL;

	assert_int_equal(symtab_add_file(t, fd, 0), 0);
	symtab_sort(t);
	for (size_t i = 0; i < t->count; i++)
		if (!strcmp(symtab_name(t, &t->entries[i]), "planted_outer"))
			e = &t->entries[i];
	assert_non_null(e);
	return e;
}

TEST(own_dwarf)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct symtab t = { 0 };
	const struct symtab_entry *e;
	struct dwfl_file *f;
	struct seen s = { 0 };
	uint64_t addrs[4096];
	size_t n = 0;

	planted_outer(3);
	e = planted_function(&t, fd);
	assert_ptr_equal(symtab_find(&t, e->start), e);
	assert_ptr_equal(symtab_find(&t, e->end - 1), e);
	f = dwfl_file_open(fd, -1, 0);
	assert_non_null(f);
	for (uint64_t a = e->start; a < e->end && n < 4096; a++)
		addrs[n++] = a;
	assert_int_equal(dwfl_file_chains(f, addrs, n, on_chain, &s, NULL), 0);
	assert_int_equal(s.calls, n);
	assert_int_equal(s.right, n);
	assert_true(s.inlined * 3 > n);
	assert_true(s.lines >= n);
	dwfl_file_close(f);
	symtab_release(&t);
	close(fd);
}

struct chains_text {
	char (*text)[400];
	size_t count;
};

static void chain_as_text(void *ctx, size_t i, const struct dwfl_frame *f, unsigned n)
{
	struct chains_text *t = ctx;
	size_t len = 0;

	assert_true(i < t->count);
	for (unsigned k = 0; k < n && len < sizeof(t->text[i]); k++)
		len += (size_t)snprintf(t->text[i] + len, sizeof(t->text[i]) - len, "%s %u;", f[k].name, f[k].line);
}

/* Of a function that one address asked for: all of it, and each piece has the chain of each of its addresses. */
TEST(pieces_have_one_chain)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct symtab t = { 0 };
	const struct symtab_entry *e;
	struct dwfl_file *f = dwfl_file_open(fd, -1, 0);
	struct dwfl_pieces pieces = { .most = 1000 };
	static char by_address[4096][400], by_piece[1000][400], one[1][400];
	uint64_t addr[4096], from;
	size_t n = 0;

	e = planted_function(&t, fd);
	for (uint64_t a = e->start; a < e->end && n < 4096; a++)
		addr[n++] = a;
	assert_int_equal(dwfl_file_chains(f, addr, n, chain_as_text,
					  &(struct chains_text){ .text = by_address, .count = n }, NULL),
			 0);
	assert_int_equal(dwfl_file_chains(f, addr + n / 2, 1, chain_as_text,
					  &(struct chains_text){ .text = one, .count = 1 }, &pieces),
			 0);
	assert_true(pieces.count > 3);
	from = e->start;
	for (size_t i = 0; i < pieces.count; i++) {
		assert_int_equal(pieces.piece[i].addr, from);
		addr[i] = from;
		from += pieces.piece[i].bytes;
	}
	assert_int_equal(from, e->end);
	assert_int_equal(dwfl_file_chains(f, addr, pieces.count, chain_as_text,
					  &(struct chains_text){ .text = by_piece, .count = pieces.count }, NULL),
			 0);
	for (size_t i = 0, k = 0; i < n; i++) {
		k += e->start + i == pieces.piece[k].addr + pieces.piece[k].bytes;
		assert_string_equal(by_address[i], by_piece[k]);
	}
	free(pieces.piece);
	/* no more than are wanted */
	pieces = (struct dwfl_pieces){ .most = 2 };
	assert_int_equal(dwfl_file_chains(f, &e->start, 1, chain_as_text,
					  &(struct chains_text){ .text = one, .count = 1 }, &pieces),
			 0);
	assert_int_equal(pieces.count, 2);
	free(pieces.piece);
	dwfl_file_close(f);
	symtab_release(&t);
	close(fd);
}

/* What lies around main in a stripped file belongs to no function of .eh_frame, and has a name all the same. */
TEST(stripped_ends)
{
	char dir[] = "/tmp/accperf-u-names-XXXXXX", command[200], path[100];
	struct symtab t = { 0 };
	unsigned found = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;
	Elf *elf;
	int fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/stripped", dir);
	snprintf(command, sizeof(command), "objcopy --strip-all /proc/%d/exe %s", getpid(), path);
	assert_int_equal(system(command), 0);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(symtab_add_file(&t, fd, 0x1000), 0);
	symtab_sort(&t);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, &sh)) {
		const char *section = elf_strptr(elf, names, sh.sh_name);
		const struct symtab_entry *e;

		if (strcmp(section, ".init") && strcmp(section, ".fini"))
			continue;
		e = symtab_find(&t, sh.sh_addr + sh.sh_size - 1 + 0x1000);
		assert_non_null(e);
		assert_int_equal(e->start, sh.sh_addr + 0x1000);
		assert_string_equal(symtab_name(&t, e), section[1] == 'i' ? "_init" : "_fini");
		found++;
	}
	assert_int_equal(found, 2);
	elf_end(elf);
	symtab_release(&t);
	close(fd);
	unlink(path);
	rmdir(dir);
}

TEST(cache_round_trip)
{
	char dir[] = "/tmp/accperf-u-cache-XXXXXX", file[200];
	uint8_t id[20] = { 0xab, 0xcd, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct symbol_frame in[2] = { { "inner", NULL, 0, "a.c", 7 }, { "outer", "b.h", 3, "a.c", 9 } }, out[4];
	enum symbol_origin origin;
	struct symcache *c;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	setenv("XDG_CACHE_HOME", dir, 1);
	c = symcache_open(id, 20, 0x77);
	assert_non_null(c);
	assert_int_equal(symcache_get(c, 0x1234, out, 4, &origin), 0);
	assert_int_equal(origin, 0);
	symcache_put(c, (struct dwfl_piece){ 0x1234, 1 }, in, 2, SYM_DWARF);
	symcache_put(c, (struct dwfl_piece){ 0x1240, 1 }, in + 1, 1, SYM_TABLE);
	symcache_put(c, (struct dwfl_piece){ 0x1250, 1 }, NULL, 0, SYM_OFFSET);
	symcache_put(c, (struct dwfl_piece){ 0x1260, 1 }, NULL, 0,
		     SYM_DWARF); /* no name is no name of debug information */
	symcache_close(c);
	c = symcache_open(id, 20, 0x77);
	assert_int_equal(symcache_get(c, 0x1240, out, 4, &origin), 1);
	assert_int_equal(origin, SYM_TABLE);
	assert_int_equal(symcache_get(c, 0x1250, out, 4, &origin), 0);
	assert_int_equal(origin, SYM_OFFSET);
	assert_int_equal(symcache_get(c, 0x1260, out, 4, &origin), 0);
	assert_int_equal(origin, 0);
	assert_int_equal(symcache_get(c, 0x1234, out, 4, &origin), 2);
	assert_int_equal(origin, SYM_DWARF);
	assert_string_equal(out[0].name, "inner");
	assert_null(out[0].decl_file);
	assert_string_equal(out[1].decl_file, "b.h");
	assert_int_equal(out[1].line, 9);
	/* a piece of code stands for what was kept of it before; of two that overlap the later one goes */
	symcache_put(c, (struct dwfl_piece){ 0x1230, 16 }, in + 1, 1, SYM_DWARF);
	symcache_put(c, (struct dwfl_piece){ 0x123c, 16 }, in, 2, SYM_DWARF);
	symcache_put(c, (struct dwfl_piece){ 0x1300, 0 }, in, 2, SYM_DWARF);
	symcache_close(c);
	c = symcache_open(id, 20, 0x77);
	for (uint64_t a = 0x1230; a < 0x1240; a++) {
		assert_int_equal(symcache_get(c, a, out, 4, &origin), 1);
		assert_int_equal(origin, SYM_DWARF);
		assert_string_equal(out[0].name, "outer");
	}
	assert_int_equal(symcache_get(c, 0x122f, out, 4, &origin), 0);
	assert_int_equal(symcache_get(c, 0x1240, out, 4, &origin), 1);
	assert_int_equal(origin, SYM_TABLE);
	assert_int_equal(symcache_get(c, 0x1241, out, 4, &origin), 0);
	assert_int_equal(symcache_get(c, 0x1300, out, 4, &origin), 0);
	symcache_close(c);
	/* damage is noticed and the entry is simply not there */
	snprintf(file, sizeof(file), "%s/accperf/symbols/abcd01020304050607080900000000000000000%d-0000000000000077",
		 dir, 0);
	file[strlen(file)] = '\0';
	f = fopen(file, "r+");
	assert_non_null(f);
	fseek(f, 60, SEEK_SET);
	fputc(0x7e, f);
	fclose(f);
	c = symcache_open(id, 20, 0x77);
	assert_non_null(c);
	assert_int_equal(symcache_get(c, 0x1234, out, 4, &origin), 0);
	symcache_close(c);
	/* a folder that others may write to is not used */
	snprintf(file, sizeof(file), "%s/accperf/symbols", dir);
	assert_int_equal(chmod(file, 0777), 0);
	assert_null(symcache_open(id, 20, 0x77));
	snprintf(file, sizeof(file), "rm -rf %s", dir);
	assert_int_equal(system(file), 0);
}

/* Two functions of assembler, of which debug information knows nothing: one with a symbol, one without any. */
__asm__(".pushsection .text.planted, \"ax\", @progbits\n"
	"	.type planted_bare, @function\n"
	"planted_bare:\n"
	"	nop\n"
	"	ret\n"
	"	.size planted_bare, . - planted_bare\n"
	"	.popsection\n");

struct names {
	unsigned seen, origin[4];
	char name[4][64];
};

static void on_name(void *ctx, size_t i, const struct symbol_frame *chain, unsigned n, enum symbol_origin origin)
{
	struct names *s = ctx;

	s->seen++;
	s->origin[i] = origin;
	snprintf(s->name[i], sizeof(s->name[i]), "%s", chain[n - 1].name);
}

static uint64_t own_symbol(const char *name, uint64_t *text_end)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct symtab t = { 0 };
	uint64_t at = 0;

	assert_int_equal(symtab_add_file(&t, fd, 0), 0);
	symtab_sort(&t);
	for (size_t i = 0; i < t.count; i++) {
		at = strcmp(symtab_name(&t, &t.entries[i]), name) ? at : t.entries[i].start;
		*text_end = t.entries[i].end > *text_end ? t.entries[i].end : *text_end;
	}
	symtab_release(&t);
	close(fd);
	return at;
}

/* Its name reaches as far as what it leads to; what lies behind has a name of its own, one for all of it. */
TEST(a_symbol_without_size_ends)
{
	struct symbols *s = symbols_new(false, true);
	struct module *m = module_open_path("/proc/self/exe", NULL, 0, NULL);
	struct names got = { 0 };
	uint64_t end = 0, at = own_symbol("planted_nosize", &end), addrs[] = { at, at + 5, at + 16, at + 18 };

	assert_true(m && at);
	assert_int_equal(symbols_resolve(s, m, addrs, 4, on_name, &got), 0);
	assert_int_equal(got.seen, 4);
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(got.name[i], "planted_nosize");
		assert_int_equal(got.origin[i], SYM_TABLE);
	}
	assert_int_equal(got.origin[2], SYM_FLOW);
	assert_string_equal(got.name[2], got.name[3]);
	assert_string_not_equal(got.name[2], got.name[0]);
	module_close_path(m);
	symbols_free(s);
}

/* What debug information does not name it need not be read for again. */
TEST(nameless_is_remembered)
{
	char dir[] = "/tmp/accperf-u-nameless-XXXXXX", rm[64];
	struct symbols *s[2] = { symbols_new(true, true), symbols_new(true, true) };
	struct module *m = module_open_path("/proc/self/exe", NULL, 0, NULL);
	struct names got[2] = { 0 };
	uint64_t end = 0, addrs[2] = { own_symbol("planted_bare", &end), 0 };

	assert_non_null(mkdtemp(dir));
	setenv("XDG_CACHE_HOME", dir, 1);
	assert_non_null(m);
	assert_true(addrs[0] && end);
	addrs[1] = end + (1 << 20); /* behind all code */
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(symbols_resolve(s[i], m, addrs, 2, on_name, &got[i]), 0);
		assert_int_equal(got[i].seen, 2);
		assert_int_equal(got[i].origin[0], SYM_TABLE);
		assert_string_equal(got[i].name[0], "planted_bare");
		assert_int_equal(got[i].origin[1], SYM_OFFSET);
	}
	assert_string_equal(got[0].name[1], got[1].name[1]);
	assert_int_equal(symbols_counters(s[0])->table, 1);
	/* neither the table nor debug information was read the second time */
	assert_int_equal(symbols_counters(s[1])->from_cache, 1);
	assert_int_equal(symbols_counters(s[1])->table, 0);
	module_close_path(m);
	symbols_free(s[0]);
	symbols_free(s[1]);
	snprintf(rm, sizeof(rm), "rm -rf %s", dir);
	assert_int_equal(system(rm), 0);
}
