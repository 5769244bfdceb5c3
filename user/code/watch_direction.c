// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "code/eval.h"
#include "code/watch_direction.h"
#include "format.h"

#define RET_IMM_MAX 256 /* bytes of arguments that a callee takes off the stack; by hand */

static bool access_covers(const struct hit *h, uint64_t addr, uint64_t size)
{
	return size && addr < h->addr + h->len && h->addr < addr + size;
}

static uint32_t direction(const struct dec_insn *d, const struct dec_mem *m)
{
	return (m->flags & DEC_M_LOAD ? FMT_A_LOAD : 0u) | (m->flags & DEC_M_STORE ? FMT_A_STORE : 0u) |
	       (d->flags & DEC_F_ATOMIC ? FMT_A_ATOMIC : 0u) | (m->flags & DEC_M_REP ? FMT_A_REP : 0u);
}

/* The element a string instruction has just moved, from its registers afterwards. */
static uint32_t string_direction(const struct hit *h, const struct dec_insn *d)
{
	bool down = h->regs[WREG_FLAGS] & EVAL_FLAG_DF;
	uint32_t flags = 0;

	for (unsigned m = 0; m < d->mem_cnt; m++) {
		const struct dec_mem *mem = &d->mem[m];

		if (mem->base != WREG_SI && mem->base != WREG_DI)
			continue;
		if (access_covers(h, down ? h->regs[mem->base] + mem->size : h->regs[mem->base] - mem->size, mem->size))
			flags |= direction(d, mem);
	}
	return flags;
}

/* Direction of the operands of d that can have touched the address; certain: one is known to. */
static uint32_t operand_direction(const struct hit *h, const struct dec_insn *d, bool *certain)
{
	struct eval_state state[2];
	const uint64_t next_ip = h->regs[WREG_IP];
	const uint64_t ip = next_ip - d->len;
	struct eval_run run = { .insn = d, .ip = &ip, .count = 1, .at = 1, .state = state, .sp = h->regs[WREG_SP] };
	uint32_t known = 0, possible = 0;

	*certain = false;
	if (d->effect.op == DEC_OP_STRING) {
		known = string_direction(h, d);
		*certain = known;
		return known;
	}
	eval_run(&run, h->regs);
	if (!h->regs[WREG_FSBASE]) /* not told */
		state[0].full &= ~(1u << WREG_FSBASE);
	for (unsigned m = 0; m < d->mem_cnt; m++) {
		const struct dec_mem *mem = &d->mem[m];
		uint64_t addr, size = mem->size ? mem->size : 64 /* masked: at most a register */;

		if ((mem->flags & DEC_M_VECTOR) || !eval_address(&state[0], mem, next_ip, &addr))
			possible |= direction(d, mem);
		else if (access_covers(h, addr, size))
			known |= direction(d, mem);
	}
	*certain = known;
	return known ? known : possible;
}

static bool from_string(struct block_cache *c, const struct block_code *code, uint64_t code_ip, struct hit *h)
{
	struct dec_insn d;
	uint8_t bytes[15];
	uint32_t flags;

	if (dec_decode(bytes, code->read(code->ctx, code_ip, bytes, sizeof(bytes)), &d) || !(d.flags & DEC_F_REP))
		return false;
	flags = string_direction(h, &d);
	if (!flags)
		return false;
	h->flags = flags;
	h->ip = h->regs[WREG_IP];
	return true;
}

/* Where no function is known: every length that ends at the address and touches the right place must
 * agree on the direction. */
static bool from_any_length(const struct block_code *code, uint64_t code_ip, struct hit *h)
{
	uint32_t agreed = 0;
	uint8_t bytes[15];

	for (unsigned len = 1; len <= sizeof(bytes); len++) {
		struct dec_insn d;
		uint32_t flags;
		bool certain;

		if (code->read(code->ctx, code_ip - len, bytes, len) != len || dec_decode(bytes, len, &d) ||
		    d.len != len || (d.flags & DEC_F_CALL))
			continue;
		flags = operand_direction(h, &d, &certain);
		if (!certain)
			continue;
		if (agreed && ((agreed ^ flags) & (FMT_A_LOAD | FMT_A_STORE)))
			return false;
		agreed |= flags;
		h->ip = h->regs[WREG_IP] - len;
	}
	h->flags = agreed;
	return agreed;
}

static bool from_call(struct block_cache *c, const struct watch_direction_env *env, struct hit *h)
{
	uint64_t sp = h->regs[WREG_SP], code_ip, at;
	const struct block_code *code;
	struct dec_insn d;

	if (!h->on_stack)
		return false;
	code = env->code_at(env->ctx, h->on_stack, &code_ip);
	if (!code || block_previous(c, code, code_ip, &d, &at) || !(d.flags & DEC_F_CALL))
		return false;
	if ((d.flags & DEC_F_DIRECT) && h->on_stack + (uint64_t)d.target != h->regs[WREG_IP])
		return false;
	if (access_covers(h, sp, 8)) {
		h->flags = FMT_A_STORE;
	} else if (d.mem_cnt == 2) { /* call *memory: the pointer was read */
		struct eval_state s = { .full = (1u << WREG_MAX) - 1, .low = (1u << WREG_MAX) - 1 };
		uint64_t addr;

		memcpy(s.r, h->regs, sizeof(s.r));
		s.r[WREG_SP] += 8;
		if (!eval_address(&s, &d.mem[0], h->on_stack, &addr) || !access_covers(h, addr, 8))
			return false;
		h->flags = FMT_A_LOAD;
	} else {
		return false;
	}
	h->ip = h->on_stack - d.len;
	return true;
}

static bool from_jump(const struct watch_direction_env *env, struct hit *h)
{
	uint64_t value = 0, at = h->addr & ~7ull;

	/* a jump through memory: the target is what was read */
	if (!env->memory || env->memory(env->ctx, at, &value, sizeof(value)) != sizeof(value) ||
	    value != h->regs[WREG_IP])
		return false;
	h->flags = FMT_A_LOAD;
	h->ip = h->regs[WREG_IP];
	return true;
}

void watch_direction_of(struct block_cache *c, const struct watch_direction_env *env, struct hit *h)
{
	uint64_t code_ip = 0, at, sp = h->regs[WREG_SP];
	const struct block_code *code = env->code_at(env->ctx, h->regs[WREG_IP], &code_ip);
	bool certain = false, previous = false;
	uint32_t flags = 0;
	struct dec_insn d;

	h->flags = 0;
	h->ip = h->regs[WREG_IP];
	if (code) {
		if (from_string(c, code, code_ip, h))
			return;
		previous = !block_previous(c, code, code_ip, &d, &at);
		if (previous && (d.flags & DEC_F_CALL)) {
			/* after a call one arrives by returning: the slot below the stack pointer was read */
			if (h->addr < sp && h->addr + RET_IMM_MAX >= sp - 8) {
				h->flags = FMT_A_LOAD;
				return;
			}
		} else if (previous) {
			flags = operand_direction(h, &d, &certain);
		}
		if (certain) {
			h->flags = flags;
			h->ip -= d.len;
			return;
		}
	}
	if (from_call(c, env, h) || from_jump(env, h))
		return;
	if (flags) {
		/* not computable afterwards (its base was overwritten), and nothing else explains the hit */
		h->flags = flags;
		h->ip -= d.len;
		return;
	}
	if (code && !previous)
		from_any_length(code, code_ip, h);
}
