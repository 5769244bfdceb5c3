// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/exits.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "code/cfg.h"
#include "code/decode.h"
#include "kmod-free/elffile.h"
#include "proc/module.h"
#include "util/grow.h"

#define MOST_FUNCTIONS 16       /* followed by tail calls from one: more is a dispatcher */
#define MOST_TABLE (16u << 20)  /* bytes of one table of relocations: 700,000 entries */
#define MOST_BYTES (256u << 10) /* of one function: building a graph takes some 100 ns a byte */

struct exits_file {
	struct module *m;
	struct block_code code;
	struct slot {                  /* of the global offset table that a PLT stub jumps through */
		uint64_t at, function; /* of a function of this file */
	} * slots;
	size_t slots_cnt, slots_cap;
};

/* One function's search: those that it hands its call on to, itself first. */
struct exits_search {
	struct exits_file *f;
	struct exits *out;
	bool may_hand; /* its call on to another file */
	uint64_t start[MOST_FUNCTIONS], end[MOST_FUNCTIONS];
	unsigned cnt;
};

static int by_slot(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Of a section's contents only what elffile.h lets through is read: sizes are claims. */
struct exits_section {
	int fd;
	Elf *elf;
	Elf_Scn *scn;
	GElf_Shdr sh;
	const char *name;
};

/* Slots of one table of relocations that are filled with functions of the file itself. */
static void take_relocations(struct exits_file *f, const struct exits_section *s)
{
	Elf_Data *rela, *symbols;
	size_t n;

	if (s->sh.sh_entsize != sizeof(Elf64_Rela))
		return;
	rela = elffile_data(s->fd, s->scn, MOST_TABLE);
	symbols = rela ? elffile_data(s->fd, elf_getscn(s->elf, s->sh.sh_link), ELFFILE_TABLE) : NULL;
	n = rela ? rela->d_size / sizeof(Elf64_Rela) : 0;
	if (!n || !symbols || !GROW_TO(f->slots, f->slots_cnt + n, f->slots_cap, 64))
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Rela r;
		GElf_Sym sym;

		if (!gelf_getrela(rela, (int)i, &r) || !gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &sym))
			continue;
		if (sym.st_shndx != SHN_UNDEF && sym.st_value && GELF_ST_TYPE(sym.st_info) == STT_FUNC)
			f->slots[f->slots_cnt++] = (struct slot){ r.r_offset, sym.st_value };
	}
}

/* False where there are none, or none with a name. */
static bool each_section(int fd, bool (*fn)(void *ctx, const struct exits_section *s), void *ctx)
{
	struct exits_section s = { .fd = fd, .elf = elffile_begin(fd) };
	size_t names;
	bool seen = false;

	if (s.elf && elffile_names(fd, s.elf, &names))
		while ((s.scn = elf_nextscn(s.elf, s.scn))) {
			if (!gelf_getshdr(s.scn, &s.sh))
				continue;
			s.name = elf_strptr(s.elf, names, s.sh.sh_name);
			s.name = s.name ? s.name : "";
			seen = true;
			if (fn(ctx, &s))
				break;
		}
	elf_end(s.elf);
	return seen;
}

static bool on_relocations(void *ctx, const struct exits_section *s)
{
	if (s->sh.sh_type == SHT_RELA)
		take_relocations(ctx, s);
	return false;
}

/* The C++ runtime is among the libraries that it asks for, or that cannot be told. */
static bool needs_unwinder(const struct exits_section *s)
{
	Elf_Data *d = elffile_strings(s->fd, s->elf, s->sh.sh_link) ? elffile_data(s->fd, s->scn, ELFFILE_SMALL) : NULL;
	GElf_Dyn dyn;

	for (int i = 0; d && gelf_getdyn(d, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		const char *name = dyn.d_tag == DT_NEEDED ? elf_strptr(s->elf, s->sh.sh_link, dyn.d_un.d_val) : NULL;

		if (name &&
		    (!strncmp(name, "libstdc++", 9) || !strncmp(name, "libc++", 6) || !strncmp(name, "libgcc_s", 8)))
			return true;
	}
	return !d;
}

static bool on_catching(void *ctx, const struct exits_section *s)
{
	bool *catches = ctx;

	if (s->sh.sh_type == SHT_DYNAMIC)
		*catches |= needs_unwinder(s);
	*catches |= !strcmp(s->name, ".gcc_except_table") || !strncmp(s->name, ".gcc_except_table.", 18) ||
		    !strcmp(s->name, ".gopclntab") || !strcmp(s->name, ".data.rel.ro.gopclntab");
	return *catches;
}

bool exits_file_catches(int fd)
{
	bool catches = false;

	/* without sections there is no telling */
	return !each_section(fd, on_catching, &catches) || catches;
}

struct exits_file *exits_open(int fd, struct err *e)
{
	struct exits_file *f = calloc(1, sizeof(*f));
	char path[64];

	if (!f) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	f->m = module_open_path(path, NULL, 0, e);
	if (!f->m) {
		free(f);
		return NULL;
	}
	each_section(fd, on_relocations, f);
	if (f->slots_cnt)
		qsort(f->slots, f->slots_cnt, sizeof(*f->slots), by_slot);
	f->code = (struct block_code){ .id = 1, .read = module_code_read, .bounds = module_code_bounds, .ctx = f->m };
	return f;
}

void exits_close(struct exits_file *f)
{
	if (!f)
		return;
	module_close_path(f->m);
	free(f->slots);
	free(f);
}

static bool unknown(struct exits_search *s, const char *why)
{
	s->out->cnt = 0;
	s->out->why_not = why;
	return false;
}

static bool add_exit_point(struct exits_search *s, uint64_t vaddr)
{
	uint64_t offset;

	if (!module_vaddr_to_offset(s->f->m, vaddr, &offset))
		return unknown(s, "its code is not in the file");
	for (unsigned i = 0; i < s->out->cnt; i++)
		if (s->out->at[i] == offset)
			return true;
	if (s->out->cnt == EXITS_MAX)
		return unknown(s, "it ends at too many places");
	s->out->at[s->out->cnt++] = offset;
	return true;
}

/* Where `jmp *slot(%rip)` leads, as in a PLT; 0: out of the file, or unknown. */
static uint64_t through_slot(const struct exits_file *f, const struct dec_insn *d, uint64_t next)
{
	struct slot key = { 0 };
	const struct slot *found;

	if (d->mem_cnt != 1 || d->mem[0].base != WREG_IP || d->mem[0].index != DEC_NOREG)
		return 0;
	key.at = next + (uint64_t)d->mem[0].disp;
	found = f->slots_cnt ? bsearch(&key, f->slots, f->slots_cnt, sizeof(key), by_slot) : NULL;
	return found ? found->function : 0;
}

/* A stub of a PLT only jumps on: where to; 0: it leads out of the file; vaddr: it is no stub. */
static uint64_t behind_stub(struct exits_file *f, uint64_t vaddr)
{
	uint8_t bytes[2 * DEC_MAX_BYTES];
	size_t n = module_read(f->m, vaddr, bytes, sizeof(bytes)), at = 0;
	struct dec_insn d;

	if (n >= 4 && !memcmp(bytes, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
		at = 4;
	if (n <= at || dec_decode(bytes + at, n - at, &d) || !(d.flags & DEC_F_BRANCH) ||
	    (d.flags & (DEC_F_DIRECT | DEC_F_CALL | DEC_F_RET)))
		return vaddr;
	return through_slot(f, &d, vaddr + at + d.len);
}

static bool follow_tail_call(struct exits_search *s, uint64_t vaddr)
{
	vaddr = behind_stub(s->f, vaddr);
	if (!vaddr)
		return unknown(s, "it hands its calls on to another file");
	for (unsigned i = 0; i < s->cnt; i++) /* a .cold half comes back into the middle */
		if (vaddr == s->start[i] || (vaddr > s->start[i] && vaddr < s->end[i]))
			return true;
	if (s->cnt == MOST_FUNCTIONS)
		return unknown(s, "it hands its calls on to too many functions");
	s->start[s->cnt] = vaddr;
	s->end[s->cnt++] = 0;
	return true;
}

/* A jump that leaves the file, whatever flags say. */
static bool hand_on(struct exits_search *s, uint64_t at, const struct dec_insn *d, uint64_t to)
{
	uint64_t offset;

	if (!s->may_hand || behind_stub(s->f, to) || d->flags & DEC_F_COND || s->out->handed_cnt == EXITS_HANDED_MAX ||
	    !module_vaddr_to_offset(s->f->m, at, &offset))
		return follow_tail_call(s, to);
	s->out->handed[s->out->handed_cnt++] = offset;
	return true;
}

/* How block b leaves the function, if it does. */
static bool exits_of_block(struct exits_search *s, const struct cfg *c, const struct cfg_block *b)
{
	uint32_t last = b->insn + b->insns - 1;
	struct dec_insn d;

	if (b->flags & CFG_UNRESOLVED)
		return unknown(s, "an indirect jump may leave it");
	if (b->flags & CFG_RETURNS)
		return add_exit_point(s, cfg_insn_addr(c, last));
	if (!(b->flags & CFG_LEAVES))
		return true;
	if (cfg_decode(c, last, &d))
		return unknown(s, "its code is not understood");
	if (!(d.flags & DEC_F_BRANCH)) /* runs on into what follows */
		return follow_tail_call(s, cfg_insn_addr(c, last) + d.len);
	if (!(d.flags & DEC_F_DIRECT)) {
		uint64_t function = through_slot(s->f, &d, cfg_insn_addr(c, last) + d.len);

		return function ? follow_tail_call(s, function) : unknown(s, "an indirect jump leaves it");
	}
	return hand_on(s, cfg_insn_addr(c, last), &d, cfg_insn_addr(c, last) + d.len + (uint64_t)d.target);
}

/* Code from `start` on, up to the end of the function around it. */
static bool search_function(struct exits_search *s, unsigned n)
{
	uint64_t start = s->start[n], from, end;
	struct cfg c;
	bool ok = true;

	if (!module_code_bounds(s->f->m, start, &from, &end) || start < from || start >= end ||
	    end - start > MOST_BYTES)
		return unknown(s, "its bounds are not known");
	s->end[n] = end;
	if (cfg_build(&s->f->code, start, end, &c))
		return unknown(s, "its code is not understood");
	for (uint32_t i = 0; i < c.blocks && ok; i++)
		ok = exits_of_block(s, &c, &c.block[i]);
	cfg_release(&c);
	return ok;
}

static void find_all(struct exits_file *f, uint64_t offset, bool may_hand, struct exits *out)
{
	struct exits_search s = { .f = f, .out = out, .may_hand = may_hand };
	uint64_t vaddr;

	*out = (struct exits){ 0 };
	if (!module_offset_to_vaddr(f->m, offset, &vaddr)) {
		unknown(&s, "its code is not in the file");
		return;
	}
	follow_tail_call(&s, vaddr);
	for (unsigned i = 0; i < s.cnt; i++)
		if (!search_function(&s, i))
			return;
	if (!out->cnt)
		unknown(&s, "it never returns");
}

bool exits_begins(struct exits_file *f, uint64_t offset)
{
	uint64_t vaddr, from, end;

	return module_offset_to_vaddr(f->m, offset, &vaddr) && module_code_bounds(f->m, vaddr, &from, &end) &&
	       from == vaddr;
}

void exits_find(struct exits_file *f, uint64_t offset, struct exits *out)
{
	find_all(f, offset, false, out);
}

void exits_find_handed(struct exits_file *f, uint64_t offset, struct exits *out)
{
	find_all(f, offset, true, out);
}
