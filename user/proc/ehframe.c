// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/ehframe.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "util/bisect.h"
#include "util/grow.h"
#include "util/map.h"

#define MAX_STEPS 100000 /* frame instructions for one row: real programs have hundreds */
#define MAX_SAVED 16     /* nested DW_CFA_remember_state */
#define EXPR_DEPTH 64    /* values; by hand */
#define EXPR_STEPS 1000  /* operations: no jump may make it endless; by hand */
#ifndef DW_EH_PE_indirect
#define DW_EH_PE_indirect 0x80
#endif

struct ehframe_function_row {
	uint32_t start, len; /* start counts from ehframe.base */
	uint32_t fde;
};

struct cie {
	uint32_t program, program_end;
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra_reg;
	uint8_t encoding;
	uint8_t address_size;
	bool augmented, signal;
};

struct ehframe {
	struct ehframe_input in;
	struct ehframe_function_row *functions;
	size_t count, cap;
	struct cie *cies;
	uint32_t cie_count, cie_cap;
	struct map cie_at; /* offset -> index + 1 */
	uint64_t base;
};

/* ---- reading: a cursor that fails once and stays failed ---- */

struct cursor {
	const struct ehframe *f;
	size_t pos, end;
	bool bad;
};

static uint64_t get_bytes(struct cursor *c, unsigned n)
{
	uint64_t v = 0;

	if (c->bad || c->end - c->pos < n) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->f->in.data + c->pos, n); /* little endian, as everything here */
	c->pos += n;
	return v;
}

static uint64_t get_uleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t b = get_bytes(c, 1);

		if (shift < 64)
			v |= (b & 0x7f) << shift;
		if (c->bad || !(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static int64_t get_sleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t b = get_bytes(c, 1);

		if (shift < 64)
			v |= (b & 0x7f) << shift;
		if (c->bad)
			return 0;
		if (!(b & 0x80)) {
			if (shift + 7 < 64 && (b & 0x40))
				v |= ~0ull << (shift + 7);
			return (int64_t)v;
		}
	}
	c->bad = true;
	return 0;
}

static uint64_t sign_extend(uint64_t v, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return shift ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

static uint64_t get_encoded(struct cursor *c, uint8_t enc, unsigned address_size)
{
	const struct ehframe_input *in = &c->f->in;
	uint64_t at = in->vaddr + c->pos, v;

	switch (enc & 0x0f) {
	case DW_EH_PE_absptr: v = get_bytes(c, address_size); break;
	case DW_EH_PE_uleb128: v = get_uleb(c); break;
	case DW_EH_PE_udata2: v = get_bytes(c, 2); break;
	case DW_EH_PE_udata4: v = get_bytes(c, 4); break;
	case DW_EH_PE_udata8: v = get_bytes(c, 8); break;
	case DW_EH_PE_sleb128: v = (uint64_t)get_sleb(c); break;
	case DW_EH_PE_sdata2: v = sign_extend(get_bytes(c, 2), 2); break;
	case DW_EH_PE_sdata4: v = sign_extend(get_bytes(c, 4), 4); break;
	case DW_EH_PE_sdata8: v = get_bytes(c, 8); break;
	default: c->bad = true; return 0;
	}
	switch (enc & 0x70) {
	case 0: break;
	case DW_EH_PE_pcrel: v += at; break;
	case DW_EH_PE_textrel: v += in->text_vaddr; break;
	case DW_EH_PE_datarel: v += in->data_vaddr; break;
	default: c->bad = true; return 0;
	}
	if (address_size == 4)
		v = (uint32_t)v;
	if ((enc & DW_EH_PE_indirect) && !c->bad) {
		uint64_t target;

		if (!in->read_pointer || !in->read_pointer(in->ctx, v, &target))
			c->bad = true;
		else
			v = target;
	}
	return v;
}

/* ---- CIE and FDE heads ---- */

struct ehframe_entry {
	size_t id_pos, body, end; /* end of the entry */
	uint64_t id;
	bool is_cie;
};

/* Head of the entry at pos; false at the end or when nothing sensible follows. */
static bool entry_head(const struct ehframe *f, size_t pos, struct ehframe_entry *e)
{
	struct cursor c = { f, pos, f->in.size, false };
	uint64_t len = get_bytes(&c, 4);
	unsigned id_size = 4;

	if (len == 0xffffffff) {
		len = get_bytes(&c, 8);
		id_size = f->in.debug_frame ? 8 : 4;
	}
	if (c.bad || len > c.end - c.pos)
		return false;
	e->end = c.pos + len;
	e->id_pos = c.pos;
	if (!len) { /* a terminator; linkers leave some in the middle */
		e->body = c.pos;
		e->id = 0;
		e->is_cie = false;
		return true;
	}
	c.end = e->end;
	e->id = get_bytes(&c, id_size);
	e->body = c.pos;
	e->is_cie = f->in.debug_frame ? e->id == (id_size == 8 ? ~0ull : 0xffffffff) : e->id == 0;
	return !c.bad;
}

static bool cie_parse(const struct ehframe *f, size_t pos, struct cie *cie)
{
	struct ehframe_entry e;
	struct cursor c;
	char aug[16];
	unsigned n = 0, version;
	uint64_t aug_len = 0;

	if (!entry_head(f, pos, &e) || !e.is_cie || e.body == e.end)
		return false;
	c = (struct cursor){ f, e.body, e.end, false };
	*cie = (struct cie){ .encoding = DW_EH_PE_absptr, .address_size = (uint8_t)f->in.address_size };
	version = (unsigned)get_bytes(&c, 1);
	if (version != 1 && version != 3 && version != 4)
		return false;
	do {
		if (n == sizeof(aug))
			return false;
		aug[n] = (char)get_bytes(&c, 1);
	} while (aug[n++] && !c.bad);
	if (!strcmp(aug, "eh"))
		get_bytes(&c, f->in.address_size);
	if (version == 4) {
		cie->address_size = (uint8_t)get_bytes(&c, 1);
		get_bytes(&c, 1);
	}
	if (cie->address_size != 4 && cie->address_size != 8)
		return false;
	cie->code_align = get_uleb(&c);
	cie->data_align = get_sleb(&c);
	cie->ra_reg = (uint32_t)(version == 1 ? get_bytes(&c, 1) : get_uleb(&c));
	cie->program = (uint32_t)c.pos;
	cie->program_end = (uint32_t)e.end;
	if (aug[0] == 'z') {
		cie->augmented = true;
		aug_len = get_uleb(&c);
		if (c.bad || aug_len > c.end - c.pos)
			return false;
		cie->program = (uint32_t)(c.pos + aug_len);
		c.end = cie->program;
		for (unsigned i = 1; aug[i] && !c.bad; i++) {
			switch (aug[i]) {
			case 'R': cie->encoding = (uint8_t)get_bytes(&c, 1); break;
			case 'L': get_bytes(&c, 1); break;
			case 'P': {
				uint8_t enc = (uint8_t)get_bytes(&c, 1);

				/* its value is of no use here, only its length */
				get_encoded(&c, enc & 0x0f, cie->address_size);
				break;
			}
			case 'S': cie->signal = true; break;
			case 'B': break;
			default: goto done; /* unknown: what follows is skipped by aug_len */
			}
		}
	} else if (aug[0] && strcmp(aug, "eh") != 0) {
		return false;
	}
done:
	return !c.bad && cie->ra_reg < CFI_REGS;
}

static const struct cie *cie_get(struct ehframe *f, uint64_t pos)
{
	bool added;
	uint64_t *slot;

	if (pos >= f->in.size)
		return NULL;
	slot = map_put(&f->cie_at, pos, &added);
	if (!slot)
		return NULL;
	if (added) {
		struct cie cie;

		if (!cie_parse(f, (size_t)pos, &cie))
			return NULL;
		if (!PUSH(f->cies, f->cie_count, f->cie_cap, 8, cie))
			return NULL;
		*slot = f->cie_count;
	}
	return *slot ? &f->cies[*slot - 1] : NULL;
}

static bool cie_offset(const struct ehframe *f, const struct ehframe_entry *e, uint64_t *pos)
{
	if (f->in.debug_frame) {
		*pos = e->id;
		return true;
	}
	if (e->id > e->id_pos)
		return false;
	*pos = e->id_pos - e->id;
	return true;
}

static const struct cie *cie_known(const struct ehframe *f, uint64_t pos)
{
	const uint64_t *slot = map_get(&f->cie_at, pos);

	return slot && *slot ? &f->cies[*slot - 1] : NULL;
}

/* Address range of an FDE; the cursor is left where its augmentation begins. */
static bool fde_range(struct cursor *c, const struct cie *cie, uint64_t *start, uint64_t *len)
{
	*start = get_encoded(c, cie->encoding, cie->address_size);
	*len = get_encoded(c, cie->encoding & 0x0f, cie->address_size);
	return !c->bad && *len;
}

/* ---- the index ---- */

struct ehframe_found {
	uint64_t start;
	uint32_t len, fde;
};

static int found_cmp(const void *pa, const void *pb)
{
	const struct ehframe_found *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->fde < b->fde ? -1 : a->fde > b->fde;
}

static bool index_build(struct ehframe *f, struct ehframe_found *found, size_t n)
{
	bool sorted = true;

	for (size_t i = 1; i < n && sorted; i++)
		sorted = found[i - 1].start <= found[i].start;
	if (!sorted)
		qsort(found, n, sizeof(*found), found_cmp);
	f->functions = malloc(n * sizeof(*f->functions));
	if (!f->functions)
		return false;
	f->base = found[0].start;
	for (size_t i = 0; i < n; i++) {
		uint64_t rel = found[i].start - f->base;

		if (rel > UINT32_MAX)
			break; /* no code is that far from other code of its module */
		if (f->count && f->functions[f->count - 1].start == rel)
			continue;
		f->functions[f->count++] = (struct ehframe_function_row){ (uint32_t)rel, found[i].len, found[i].fde };
	}
	return f->count > 0;
}

struct ehframe *ehframe_parse(struct ehframe_input *in)
{
	struct ehframe *f = calloc(1, sizeof(*f));
	struct ehframe_found *found = NULL;
	size_t n = 0, cap = 0, pos = 0;
	struct ehframe_entry e;
	bool ok = false;

	if (!f) {
		free(in->data);
		in->data = NULL;
		return NULL;
	}
	f->in = *in;
	in->data = NULL;
	if (!f->in.data || f->in.size > INT32_MAX)
		goto out;
	for (; entry_head(f, pos, &e); pos = e.end) {
		const struct cie *cie;
		struct cursor c;
		uint64_t at, start, len;

		if (e.is_cie || e.body == e.end || !cie_offset(f, &e, &at))
			continue;
		cie = cie_get(f, at);
		c = (struct cursor){ f, e.body, e.end, false };
		if (!cie || !fde_range(&c, cie, &start, &len) || !start || len > UINT32_MAX || start > ~len)
			continue; /* start 0: the linker dropped the function */
		if (!PUSH(found, n, cap, 256, (struct ehframe_found){ start, (uint32_t)len, (uint32_t)pos }))
			goto out;
	}
	ok = n && index_build(f, found, n);
out:
	free(found);
	if (!ok) {
		ehframe_free(f);
		return NULL;
	}
	f->in.read_pointer = NULL; /* its context is the caller's */
	return f;
}

void ehframe_free(struct ehframe *f)
{
	if (!f)
		return;
	free(f->in.data);
	free(f->functions);
	free(f->cies);
	map_release(&f->cie_at);
	free(f);
}

size_t ehframe_count(const struct ehframe *f)
{
	return f->count;
}

uint64_t ehframe_start(const struct ehframe *f, size_t i)
{
	return i < f->count ? f->base + f->functions[i].start : 0;
}

static const struct ehframe_function_row *find_function_at(const struct ehframe *f, uint64_t vaddr)
{
	size_t lo;
	uint64_t rel = vaddr - f->base;

	if (vaddr < f->base || rel > UINT32_MAX)
		return NULL;
	lo = BISECT(mid, f->count, f->functions[mid].start <= rel);
	if (!lo || rel - f->functions[lo - 1].start >= f->functions[lo - 1].len)
		return NULL;
	return &f->functions[lo - 1];
}

bool ehframe_function(const struct ehframe *f, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	const struct ehframe_function_row *fn = f ? find_function_at(f, vaddr) : NULL;

	if (!fn)
		return false;
	*start = f->base + fn->start;
	*end = *start + fn->len;
	return true;
}

void ehframe_between(const struct ehframe *f, uint64_t vaddr, uint64_t *end, uint64_t *start)
{
	size_t lo = f ? BISECT(mid, f->count, f->base + f->functions[mid].start <= vaddr) : 0;

	if (lo)
		*end = f->base + f->functions[lo - 1].start + f->functions[lo - 1].len;
	if (f && lo < f->count)
		*start = f->base + f->functions[lo].start;
}

/* ---- frame programs ---- */

struct cfi_state {
	struct cursor c;
	const struct cie *cie;
	struct cfi_row *row;
	const struct cfi_row *initial; /* after the CIE's program; NULL while that runs */
	struct cfi_row saved[MAX_SAVED];
	unsigned saved_count;
	uint64_t loc, target;
	unsigned steps;
};

static void set_rule(struct cfi_state *s, uint64_t reg, enum cfi_how how, int64_t value)
{
	if (value > INT32_MAX || value < INT32_MIN) {
		s->c.bad = true;
		return;
	}
	if (reg < CFI_REGS) /* vector registers matter to nobody's return address */
		s->row->reg[reg] = (struct cfi_rule){ how, (int32_t)value };
}

static void restore_rule(struct cfi_state *s, uint64_t reg)
{
	if (reg >= CFI_REGS)
		return;
	if (s->initial)
		s->row->reg[reg] = s->initial->reg[reg];
	else
		s->row->reg[reg] = (struct cfi_rule){ CFI_SAME, 0 };
}

static void set_cfa(struct cfi_state *s, uint64_t reg, int64_t offset)
{
	if (reg >= CFI_REGS)
		s->c.bad = true;
	s->row->cfa_reg = (uint32_t)reg;
	s->row->cfa_offset = offset;
	s->row->cfa_is_expr = false;
}

/* Position of an expression, which is skipped; set_rule() gets it. */
static int64_t skip_block(struct cfi_state *s)
{
	size_t at = s->c.pos;
	uint64_t len = get_uleb(&s->c);

	if (s->c.bad || len > s->c.end - s->c.pos) {
		s->c.bad = true;
		return 0;
	}
	s->c.pos += len;
	return (int64_t)at;
}

/* Wrapping arithmetic: hostile factors must not overflow a signed type. */
static int64_t factored(const struct cfi_state *s, uint64_t n)
{
	return (int64_t)(n * (uint64_t)s->cie->data_align);
}

/* True once the next location is beyond the wanted one: the row is complete. */
static bool advance(struct cfi_state *s, uint64_t delta)
{
	s->loc += delta * s->cie->code_align;
	return s->loc > s->target;
}

/* One instruction; true when the row is complete.
 * shape: a case for each instruction of the standard. */
static bool cfi_step(struct cfi_state *s)
{
	struct cursor *c = &s->c;
	uint8_t op = (uint8_t)get_bytes(c, 1);
	uint64_t reg;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc: return advance(s, op & 0x3f);
	case DW_CFA_offset: set_rule(s, op & 0x3f, CFI_AT_CFA, factored(s, get_uleb(c))); return false;
	case DW_CFA_restore: restore_rule(s, op & 0x3f); return false;
	default: break;
	}
	switch (op) {
	case DW_CFA_nop: return false;
	case DW_CFA_set_loc: s->loc = get_encoded(c, s->cie->encoding, s->cie->address_size); return s->loc > s->target;
	case DW_CFA_advance_loc1: return advance(s, get_bytes(c, 1));
	case DW_CFA_advance_loc2: return advance(s, get_bytes(c, 2));
	case DW_CFA_advance_loc4: return advance(s, get_bytes(c, 4));
	case DW_CFA_offset_extended:
		reg = get_uleb(c);
		set_rule(s, reg, CFI_AT_CFA, factored(s, get_uleb(c)));
		return false;
	case DW_CFA_restore_extended: restore_rule(s, get_uleb(c)); return false;
	case DW_CFA_undefined: set_rule(s, get_uleb(c), CFI_UNDEFINED, 0); return false;
	case DW_CFA_same_value: set_rule(s, get_uleb(c), CFI_SAME, 0); return false;
	case DW_CFA_register:
		reg = get_uleb(c);
		set_rule(s, reg, CFI_REGISTER, (int64_t)get_uleb(c));
		return false;
	case DW_CFA_remember_state:
		if (s->saved_count == MAX_SAVED)
			c->bad = true;
		else
			s->saved[s->saved_count++] = *s->row;
		return false;
	case DW_CFA_restore_state:
		if (!s->saved_count)
			c->bad = true;
		else
			*s->row = s->saved[--s->saved_count];
		return false;
	case DW_CFA_def_cfa:
		reg = get_uleb(c);
		set_cfa(s, reg, (int64_t)get_uleb(c));
		return false;
	case DW_CFA_def_cfa_register: set_cfa(s, get_uleb(c), s->row->cfa_offset); return false;
	case DW_CFA_def_cfa_offset: s->row->cfa_offset = (int64_t)get_uleb(c); return false;
	case DW_CFA_def_cfa_expression:
		s->row->cfa_offset = skip_block(s);
		s->row->cfa_is_expr = true;
		return false;
	case DW_CFA_expression:
		reg = get_uleb(c);
		set_rule(s, reg, CFI_AT_EXPR, skip_block(s));
		return false;
	case DW_CFA_val_expression:
		reg = get_uleb(c);
		set_rule(s, reg, CFI_EXPR, skip_block(s));
		return false;
	case DW_CFA_offset_extended_sf:
		reg = get_uleb(c);
		set_rule(s, reg, CFI_AT_CFA, factored(s, (uint64_t)get_sleb(c)));
		return false;
	case DW_CFA_def_cfa_sf:
		reg = get_uleb(c);
		set_cfa(s, reg, factored(s, (uint64_t)get_sleb(c)));
		return false;
	case DW_CFA_def_cfa_offset_sf: s->row->cfa_offset = factored(s, (uint64_t)get_sleb(c)); return false;
	case DW_CFA_val_offset:
		reg = get_uleb(c);
		set_rule(s, reg, CFI_CFA_PLUS, factored(s, get_uleb(c)));
		return false;
	case DW_CFA_val_offset_sf:
		reg = get_uleb(c);
		set_rule(s, reg, CFI_CFA_PLUS, factored(s, (uint64_t)get_sleb(c)));
		return false;
	case DW_CFA_GNU_window_save: return false; /* arm64: return address signed from here on */
	case DW_CFA_GNU_args_size: get_uleb(c); return false;
	case DW_CFA_GNU_negative_offset_extended:
		reg = get_uleb(c);
		set_rule(s, reg, CFI_AT_CFA, factored(s, 0 - get_uleb(c)));
		return false;
	default: c->bad = true; return false;
	}
}

static bool cfi_run(struct cfi_state *s, size_t begin, size_t end)
{
	s->c.pos = begin;
	s->c.end = end;
	s->saved_count = 0;
	while (s->c.pos < s->c.end && !s->c.bad) {
		if (++s->steps > MAX_STEPS)
			return false;
		if (cfi_step(s))
			return !s->c.bad;
	}
	return !s->c.bad;
}

bool ehframe_row(const struct ehframe *f, uint64_t vaddr, struct cfi_row *row)
{
	const struct ehframe_function_row *fn = f ? find_function_at(f, vaddr) : NULL;
	struct cfi_state s;
	struct cfi_row initial;
	struct ehframe_entry e;
	uint64_t at, start, len;

	if (!fn || !entry_head(f, fn->fde, &e) || !cie_offset(f, &e, &at))
		return false;
	memset(row, 0, sizeof(*row));
	s.c = (struct cursor){ f, e.body, e.end, false };
	s.cie = cie_known(f, at);
	s.row = row;
	s.initial = NULL;
	s.steps = 0;
	if (!s.cie)
		return false;
	/* the bounds come from the index: an indirect start could not be read again here */
	fde_range(&s.c, &(struct cie){ .encoding = s.cie->encoding & 0x7f, .address_size = s.cie->address_size },
		  &start, &len);
	if (s.c.bad)
		return false;
	if (s.cie->augmented) {
		uint64_t aug = get_uleb(&s.c);

		if (s.c.bad || aug > s.c.end - s.c.pos)
			return false;
		s.c.pos += aug;
	}
	at = s.c.pos;
	row->start = f->base + fn->start;
	row->end = row->start + fn->len;
	row->ra_reg = s.cie->ra_reg;
	row->signal = s.cie->signal;
	s.loc = 0;
	s.target = ~0ull;
	if (!cfi_run(&s, s.cie->program, s.cie->program_end))
		return false;
	initial = *row;
	s.initial = &initial;
	s.loc = row->start;
	s.target = vaddr;
	return cfi_run(&s, (size_t)at, e.end);
}

/* ---- expressions ---- */

struct expr {
	struct cursor c;
	size_t begin;
	const struct cfi_machine *m;
	uint64_t stack[EXPR_DEPTH];
	unsigned depth;
	bool bad;
};

static void push_value(struct expr *x, uint64_t v)
{
	if (x->depth == EXPR_DEPTH)
		x->bad = true;
	else
		x->stack[x->depth++] = v;
}

static uint64_t pop_value(struct expr *x)
{
	if (!x->depth) {
		x->bad = true;
		return 0;
	}
	return x->stack[--x->depth];
}

static uint64_t reg_value(struct expr *x, uint64_t reg)
{
	if (reg >= x->m->reg_count || reg > 63 || !(x->m->known >> reg & 1)) {
		x->bad = true;
		return 0;
	}
	return x->m->regs[reg];
}

static void deref(struct expr *x, uint64_t size)
{
	uint64_t v = 0, addr = pop_value(x);

	if (x->bad || !size || size > 8 || !x->m->memory(x->m->ctx, addr, &v)) {
		x->bad = true;
		return;
	}
	push_value(x, size == 8 ? v : v & ((1ull << (8 * size)) - 1));
}

static void jump_by(struct expr *x, int64_t by)
{
	int64_t to = (int64_t)x->c.pos + by;

	if (to < (int64_t)x->begin || to > (int64_t)x->c.end)
		x->bad = true;
	else
		x->c.pos = (size_t)to;
}

static bool two_operands(struct expr *x, uint8_t op)
{
	uint64_t b, a;

	switch (op) {
	case DW_OP_and:
	case DW_OP_div:
	case DW_OP_minus:
	case DW_OP_mod:
	case DW_OP_mul:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_xor:
	case DW_OP_eq:
	case DW_OP_ge:
	case DW_OP_gt:
	case DW_OP_le:
	case DW_OP_lt:
	case DW_OP_ne: break;
	default: return false;
	}
	b = pop_value(x);
	a = pop_value(x);
	switch (op) {
	case DW_OP_and: a &= b; break;
	case DW_OP_div:
		if (!b)
			x->bad = true;
		else if (b == ~0ull) /* the one quotient that overflows */
			a = 0 - a;
		else
			a = (uint64_t)((int64_t)a / (int64_t)b);
		break;
	case DW_OP_minus: a -= b; break;
	case DW_OP_mod:
		if (!b)
			x->bad = true;
		else
			a %= b;
		break;
	case DW_OP_mul: a *= b; break;
	case DW_OP_or: a |= b; break;
	case DW_OP_plus: a += b; break;
	case DW_OP_shl: a = b > 63 ? 0 : a << b; break;
	case DW_OP_shr: a = b > 63 ? 0 : a >> b; break;
	case DW_OP_shra: a = (uint64_t)((int64_t)a >> (b > 63 ? 63 : b)); break;
	case DW_OP_xor: a ^= b; break;
	case DW_OP_eq: a = a == b; break;
	case DW_OP_ge: a = (int64_t)a >= (int64_t)b; break;
	case DW_OP_gt: a = (int64_t)a > (int64_t)b; break;
	case DW_OP_le: a = (int64_t)a <= (int64_t)b; break;
	case DW_OP_lt: a = (int64_t)a < (int64_t)b; break;
	default: a = a != b; break;
	}
	push_value(x, a);
	return true;
}

static bool constant(struct expr *x, uint8_t op)
{
	struct cursor *c = &x->c;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push_value(x, op - DW_OP_lit0);
		return true;
	}
	switch (op) {
	case DW_OP_addr: push_value(x, get_bytes(c, x->c.f->in.address_size == 4 ? 4 : 8)); return true;
	case DW_OP_const1u: push_value(x, get_bytes(c, 1)); return true;
	case DW_OP_const1s: push_value(x, sign_extend(get_bytes(c, 1), 1)); return true;
	case DW_OP_const2u: push_value(x, get_bytes(c, 2)); return true;
	case DW_OP_const2s: push_value(x, sign_extend(get_bytes(c, 2), 2)); return true;
	case DW_OP_const4u: push_value(x, get_bytes(c, 4)); return true;
	case DW_OP_const4s: push_value(x, sign_extend(get_bytes(c, 4), 4)); return true;
	case DW_OP_const8u:
	case DW_OP_const8s: push_value(x, get_bytes(c, 8)); return true;
	case DW_OP_constu: push_value(x, get_uleb(c)); return true;
	case DW_OP_consts: push_value(x, (uint64_t)get_sleb(c)); return true;
	default: return false;
	}
}

static void expr_step(struct expr *x)
{
	struct cursor *c = &x->c;
	uint8_t op = (uint8_t)get_bytes(c, 1);
	uint64_t a, b, d;

	if (constant(x, op) || two_operands(x, op))
		return;
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		a = reg_value(x, op - DW_OP_breg0);
		push_value(x, a + (uint64_t)get_sleb(c));
		return;
	}
	switch (op) {
	case DW_OP_nop: break;
	case DW_OP_bregx:
		a = reg_value(x, get_uleb(c));
		push_value(x, a + (uint64_t)get_sleb(c));
		break;
	case DW_OP_deref: deref(x, 8); break;
	case DW_OP_deref_size: deref(x, get_bytes(c, 1)); break;
	case DW_OP_dup:
		a = pop_value(x);
		push_value(x, a);
		push_value(x, a);
		break;
	case DW_OP_drop: pop_value(x); break;
	case DW_OP_over:
	case DW_OP_pick:
		a = op == DW_OP_over ? 1 : get_bytes(c, 1);
		if (a >= x->depth)
			x->bad = true;
		else
			push_value(x, x->stack[x->depth - 1 - a]);
		break;
	case DW_OP_swap:
		a = pop_value(x);
		b = pop_value(x);
		push_value(x, a);
		push_value(x, b);
		break;
	case DW_OP_rot:
		a = pop_value(x);
		b = pop_value(x);
		d = pop_value(x);
		push_value(x, a);
		push_value(x, d);
		push_value(x, b);
		break;
	case DW_OP_abs:
		a = pop_value(x);
		push_value(x, (int64_t)a < 0 ? 0 - a : a);
		break;
	case DW_OP_neg: push_value(x, 0 - pop_value(x)); break;
	case DW_OP_not: push_value(x, ~pop_value(x)); break;
	case DW_OP_plus_uconst:
		a = pop_value(x);
		push_value(x, a + get_uleb(c));
		break;
	case DW_OP_skip: jump_by(x, (int64_t)sign_extend(get_bytes(c, 2), 2)); break;
	case DW_OP_bra:
		a = sign_extend(get_bytes(c, 2), 2);
		if (pop_value(x))
			jump_by(x, (int64_t)a);
		break;
	default: x->bad = true;
	}
}

bool ehframe_expr(const struct ehframe *f, int64_t offset, const struct cfi_machine *m, bool push_cfa, uint64_t cfa,
		  uint64_t *value)
{
	struct expr x = { .m = m };
	uint64_t len;

	if (offset < 0 || (uint64_t)offset >= f->in.size)
		return false;
	x.c = (struct cursor){ f, (size_t)offset, f->in.size, false };
	len = get_uleb(&x.c);
	if (x.c.bad || len > x.c.end - x.c.pos)
		return false;
	x.begin = x.c.pos;
	x.c.end = x.c.pos + len;
	if (push_cfa)
		push_value(&x, cfa);
	for (unsigned steps = 0; x.c.pos < x.c.end && !x.bad && !x.c.bad; steps++) {
		if (steps == EXPR_STEPS)
			return false;
		expr_step(&x);
	}
	if (x.bad || x.c.bad || !x.depth)
		return false;
	*value = pop_value(&x);
	return true;
}
