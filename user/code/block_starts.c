// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "code/block_starts.h"
#include "util/bisect.h"
#include "util/grow.h"

#define TABLE_ENTRIES_MAX (1u << 20) /* of one function: hostile code names the same table everywhere */

struct body {
	uint8_t *bytes;
	size_t len;
	uint64_t start;
};

static int read_body(const struct block_code *code, uint64_t start, uint64_t end, struct body *b)
{
	if (end <= start || end - start > STARTS_MAX_FUNCTION)
		return -ENODATA;
	b->start = start;
	b->len = (size_t)(end - start);
	b->bytes = malloc(b->len);
	if (!b->bytes)
		return -ENOMEM;
	if (code->read(code->ctx, start, b->bytes, b->len) != b->len) {
		free(b->bytes);
		b->bytes = NULL;
		return -ENODATA;
	}
	return 0;
}

int block_starts_index(const struct block_starts *l, uint64_t addr)
{
	uint32_t want = (uint32_t)(addr - l->start);
	size_t at;

	if (addr < l->start || addr >= l->end)
		return -1;
	at = BISECT(i, l->count, (l->insn[i] & STARTS_OFFSET) < want);
	return at < l->count && (l->insn[at] & STARTS_OFFSET) == want ? (int)at : -1;
}

/* false: the target is inside but no instruction begins there: overlapping code */
static bool mark_start(struct block_starts *l, uint64_t addr)
{
	int i;

	if (addr < l->start || addr >= l->end)
		return true;
	i = block_starts_index(l, addr);
	if (i < 0)
		return false;
	l->insn[i] |= STARTS_MARK;
	return true;
}

/* Tables of 32-bit distances from their own start, and of absolute addresses. */
static unsigned mark_table(const struct block_code *code, struct block_starts *l, uint64_t table, bool absolute)
{
	unsigned n = 0;

	for (; n < CODE_TABLE_MAX; n++) {
		uint64_t target = 0;
		int32_t rel;

		if (absolute) {
			if (code->read(code->ctx, table + 8 * n, &target, 8) != 8)
				break;
		} else {
			if (code->read(code->ctx, table + 4 * n, &rel, 4) != 4)
				break;
			target = table + (uint64_t)(int64_t)rel;
		}
		if (target < l->start || target >= l->end || block_starts_index(l, target) < 0)
			break;
		mark_start(l, target);
	}
	return n;
}

/* Jumps that another part of the function (its .cold half) makes back into this one. */
static void mark_from_outside(const struct block_code *code, struct block_starts *l, uint64_t into)
{
	uint64_t start, end;
	struct body b = { 0 };
	size_t off = 0;

	if (!code->bounds || !code->bounds(code->ctx, into, &start, &end))
		return;
	if (start <= l->start && end >= l->end)
		return;
	if (read_body(code, start, end, &b))
		return;
	while (off < b.len) {
		struct dec_insn d;

		if (dec_decode_flow(b.bytes + off, b.len - off, &d))
			break;
		off += d.len;
		if ((d.flags & DEC_F_DIRECT) && !(d.flags & DEC_F_CALL))
			mark_start(l, start + off + (uint64_t)d.target);
	}
	free(b.bytes);
}

static int collect_insns(struct block_starts *l, const struct body *b, bool *indirect)
{
	bool next_leads = true;
	uint32_t cap = 0;
	size_t off = 0;

	while (off < b->len) {
		struct dec_insn d;

		if (dec_decode_flow(b->bytes + off, b->len - off, &d))
			return 0;
		if (!GROW(l->insn, l->count, cap, 64))
			return -ENOMEM;
		l->insn[l->count++] =
			(uint32_t)off | (next_leads ? STARTS_MARK : 0) | (d.flags & DEC_F_BRANCH ? STARTS_BRANCH : 0);
		next_leads = d.flags & DEC_F_BRANCH;
		if ((d.flags & DEC_F_BRANCH) &&
		    !(d.flags & (DEC_F_DIRECT | DEC_F_CALL | DEC_F_RET | DEC_F_SYSCALL | DEC_F_TRAP)))
			*indirect = true;
		off += d.len;
	}
	l->decoded = true;
	return 0;
}

/* Whether bytes can hold what find_tables() looks for: a register's `lea` relative to the instruction, or an address
 * that is eight times a register, and a distance. Where they cannot, decoding them tells nothing. */
static bool may_name_table(const uint8_t *b, size_t len)
{
	for (size_t i = 0; i + 5 < len; i++)
		if ((b[i] == 0x8d && (b[i + 1] & 0xc7) == 0x05) || ((b[i] & 0xc7) == 0x04 && (b[i + 1] & 0xc7) == 0xc5))
			return true;
	return false;
}

/* The tables an indirect jump may use: whatever the function takes the address of, outside itself. */
static unsigned find_tables(const struct block_code *code, struct block_starts *l, const struct body *b)
{
	unsigned tables = 0, entries = 0, n;

	for (uint32_t i = 0; i < l->count && entries < TABLE_ENTRIES_MAX; i++) {
		uint32_t off = l->insn[i] & STARTS_OFFSET;
		size_t next = i + 1 < l->count ? l->insn[i + 1] & STARTS_OFFSET : b->len;
		struct dec_insn d;
		const struct dec_mem *m;

		if (!may_name_table(b->bytes + off, next - off) || dec_decode(b->bytes + off, b->len - off, &d))
			continue;
		if (d.effect.op == DEC_OP_LEA) {
			m = &d.mem[DEC_MAX_MEM - 1];
			n = 0;
			if (m->base == WREG_IP)
				n = mark_table(code, l, l->start + off + d.len + (uint64_t)m->disp, false);
			entries += n;
			tables += n > 1;
			continue;
		}
		m = &d.mem[0];
		if (d.mem_cnt && m->base == DEC_NOREG && m->index < WREG_IP && m->scale == 8 && m->disp > 0) {
			n = mark_table(code, l, (uint64_t)m->disp, true);
			entries += n;
			tables += n > 1;
		}
	}
	return entries < TABLE_ENTRIES_MAX ? tables : 0;
}

int block_starts_find(const struct block_code *code, uint64_t start, uint64_t end, struct block_starts *out)
{
	uint64_t seen[8];
	unsigned seen_cnt = 0;
	struct body b = { 0 };
	bool indirect = false;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = read_body(code, start, end, &b);
	if (rc)
		return rc;
	out->start = start;
	out->end = end;
	rc = collect_insns(out, &b, &indirect);
	if (rc || !out->decoded)
		goto out;
	out->complete = true;
	for (uint32_t i = 0; i < out->count; i++) {
		uint32_t off = out->insn[i] & STARTS_OFFSET;
		struct dec_insn d;
		uint64_t target;

		if (!(out->insn[i] & STARTS_BRANCH) || dec_decode_flow(b.bytes + off, b.len - off, &d) ||
		    !(d.flags & DEC_F_DIRECT))
			continue;
		target = start + off + d.len + (uint64_t)d.target;
		if (!mark_start(out, target))
			out->complete = false;
		if ((target < start || target >= end) && !(d.flags & DEC_F_CALL)) {
			bool known = false;

			for (unsigned k = 0; k < seen_cnt; k++)
				known |= seen[k] == target;
			if (!known && seen_cnt < sizeof(seen) / sizeof(seen[0])) {
				seen[seen_cnt++] = target;
				mark_from_outside(code, out, target);
			}
		}
	}
	if (indirect && !find_tables(code, out, &b))
		out->complete = false;
out:
	free(b.bytes);
	if (rc)
		block_starts_release(out);
	return rc;
}

void block_starts_release(struct block_starts *l)
{
	free(l->insn);
	memset(l, 0, sizeof(*l));
}
