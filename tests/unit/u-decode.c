// SPDX-License-Identifier: GPL-2.0-or-later
/* The decoder and the evaluator, form by form, against addresses worked out by hand: string
 * instructions, gather and scatter, the stack, segments; and that what does not follow from the
 * sampled registers is unknown, never guessed. Also code that changes under the reader. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "code/block.h"
#include "format.h"
#include "unit/unit.h"

/* Never run: only read. */
#define CODE(name, text)                                                                                               \
	__asm__(".pushsection .text\n.globl " #name "\n" #name ":\n" text "\n.globl " #name "_end\n" #name             \
		"_end:\nnop\n.popsection");                                                                            \
	extern const uint8_t name[], name##_end[]

struct bytes {
	const uint8_t *start, *end;
	bool hidden; /* cannot be read */
};

static size_t read_bytes(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct bytes *b = ctx;
	uint64_t start = (uint64_t)(uintptr_t)b->start, end = (uint64_t)(uintptr_t)b->end;

	if (b->hidden || addr < start || addr >= end)
		return 0;
	if (len > end - addr)
		len = end - addr;
	memcpy(buf, b->start + (addr - start), len);
	return len;
}

static bool bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct bytes *b = ctx;

	*start = (uint64_t)(uintptr_t)b->start;
	*end = (uint64_t)(uintptr_t)b->end;
	return addr >= *start && addr < *end;
}

static uint64_t regs[WREG_MAX];
static struct block_result res;

static uint64_t nth(const uint8_t *start, const uint8_t *end, unsigned n)
{
	const uint8_t *p = start;
	struct dec_insn d;

	while (n--) {
		assert_int_equal(dec_decode(p, (size_t)(end - p), &d), 0);
		p += d.len;
	}
	return (uint64_t)(uintptr_t)p;
}

/* A sample at instruction n, with regs as they stand. */
static int sample_at(const uint8_t *start, const uint8_t *end, unsigned n, const void *stack, unsigned stack_bytes)
{
	struct bytes b = { start, end, false };
	struct block_code code = { .id = 1, .read = read_bytes, .bounds = bounds, .ctx = &b };
	struct block_state s = { .regs = regs, .stack = stack, .stack_bytes = stack_bytes };
	struct block_cache *c = block_cache_new(0);
	int rc;

	assert_non_null(c);
	s.code_ip = regs[WREG_IP] = nth(start, end, n);
	rc = block_sample(c, &code, &s, 0, &res);
	block_cache_free(c);
	return rc;
}

#define SAMPLE(name, n) assert_int_equal(sample_at(name, name##_end, n, NULL, 0), 0)

/* Access k: a known one at addr of size bytes. */
static void is_known(unsigned k, uint32_t flags, uint64_t addr, uint64_t size)
{
	assert_true(k < res.count);
	if (!res.access[k].known || res.access[k].addr != addr || res.access[k].size != size ||
	    res.access[k].flags != flags)
		printf("# access %u: known %d addr %#lx size %lu flags %#x, wanted %#lx %lu %#x\n", k,
		       res.access[k].known, (unsigned long)res.access[k].addr, (unsigned long)res.access[k].size,
		       res.access[k].flags, (unsigned long)addr, (unsigned long)size, flags);
	assert_true(res.access[k].known);
	assert_int_equal(res.access[k].addr, addr);
	assert_int_equal(res.access[k].size, size);
	assert_int_equal(res.access[k].flags, flags);
}

static void is_unknown(unsigned k)
{
	assert_true(k < res.count);
	assert_false(res.access[k].known);
}

static int before(void **state)
{
	for (unsigned i = 0; i < WREG_MAX; i++)
		regs[i] = 0x10000 * (i + 1);
	regs[WREG_SP] = 0x7ffe0000;
	regs[WREG_FLAGS] = 0x202;
	return 0;
}

CODE(rep_movs, "rep movsq\nret");
CODE(rep_stos, "rep stosb\nret");
CODE(rep_scas, "repne scasb\nret");
CODE(rep_cmps, "repe cmpsw\nret");
CODE(rep_later, "mov $3, %ecx\nrep stosl\nmov (%rbx), %eax\nret");
CODE(one_string, "lodsl\nmovsb\nret");

TEST(strings)
{
	before(NULL);
	regs[WREG_CX] = 5;
	regs[WREG_SI] = 0x1000;
	regs[WREG_DI] = 0x2000;
	SAMPLE(rep_movs, 0);
	is_known(0, FMT_A_STORE | FMT_A_REP, 0x2000, 40);
	is_known(1, FMT_A_LOAD | FMT_A_REP, 0x1000, 40);
	SAMPLE(rep_stos, 0);
	is_known(0, FMT_A_STORE | FMT_A_REP, 0x2000, 5);
	/* downwards: the first element is the highest */
	regs[WREG_FLAGS] |= 1u << 10;
	SAMPLE(rep_movs, 0);
	is_known(0, FMT_A_STORE | FMT_A_REP, 0x2000 - 32, 40);
	is_known(1, FMT_A_LOAD | FMT_A_REP, 0x1000 - 32, 40);
	/* how far a search gets depends on the data: where it begins is known upwards only */
	SAMPLE(rep_scas, 0);
	is_unknown(0);
	regs[WREG_FLAGS] &= ~(1ull << 10);
	SAMPLE(rep_scas, 0);
	is_known(0, FMT_A_LOAD | FMT_A_REP, 0x2000, 0);
	SAMPLE(rep_cmps, 0);
	assert_int_equal(res.count, 3); /* and the return */
	assert_int_equal(res.access[0].size, 0);
	assert_int_equal(res.access[1].size, 0);
	/* nothing to do, nothing touched */
	regs[WREG_CX] = 0;
	SAMPLE(rep_movs, 0);
	assert_int_equal(res.known, 1); /* the return address */
	/* from before: the count is the constant */
	SAMPLE(rep_later, 0);
	is_known(0, FMT_A_STORE | FMT_A_REP, 0x2000, 12);
	/* from behind: rdi has moved on and nobody knows how far */
	SAMPLE(rep_later, 2);
	for (unsigned i = 0; i < res.count; i++)
		if (res.access[i].flags & FMT_A_REP)
			assert_false(res.access[i].known && res.access[i].addr != 0x2000 - 12);
	SAMPLE(one_string, 0);
	is_known(0, FMT_A_LOAD, 0x1000, 4);
	/* lodsl has moved rsi by four */
	assert_true(res.access[1].known && res.access[2].known);
	assert_true(res.access[1].addr == 0x1004 || res.access[2].addr == 0x1004);
}

CODE(gather, "vpgatherdd %ymm2, (%rax,%ymm1,4), %ymm0\nmov (%rbx), %ecx\nret");
CODE(gather_q, "vgatherqpd %xmm2, 8(%rax,%xmm1,8), %xmm0\nvpgatherqd %xmm2, (%rax,%ymm1,4), %xmm0\n"
	       "vpgatherdq %ymm2, (%rax,%xmm1,4), %ymm0\nvgatherdps (%rax,%zmm1,4), %zmm0{%k1}\nret");
CODE(scatter, "vpscatterdd %zmm0, (%rax,%zmm1,4){%k1}\nret");
CODE(masked, "vmaskmovps %ymm0, %ymm1, (%rax)\nvmovdqu32 %zmm0, (%rbx){%k1}\nret");

TEST(vectors)
{
	before(NULL);
	SAMPLE(gather, 0);
	assert_int_equal(res.access[0].lanes, 8);
	assert_int_equal(res.access[0].size, 4);
	is_unknown(0);
	assert_int_equal(res.block_unknown, 8);
	is_known(1, FMT_A_LOAD, regs[WREG_BX], 4);
	SAMPLE(gather_q, 0);
	assert_int_equal(res.access[0].lanes, 2);
	assert_int_equal(res.access[0].size, 8);
	is_unknown(0);
	assert_int_equal(res.access[1].lanes, 4); /* four quadword indexes, four of the data's doublewords */
	assert_int_equal(res.access[2].lanes, 4);
	assert_int_equal(res.access[3].lanes, 16);
	SAMPLE(scatter, 0);
	assert_int_equal(res.access[0].lanes, 16);
	assert_true(res.access[0].flags & FMT_A_STORE);
	is_unknown(0);
	/* which bytes a masked store touches depends on the mask: the size is unknown */
	SAMPLE(masked, 0);
	assert_int_equal(res.access[0].size, 0);
	assert_int_equal(res.access[1].size, 0);
}

CODE(prologue, "push %rbp\npush %rbx\nsub $24, %rsp\nmov %rax, 8(%rsp)\nadd $24, %rsp\npop %rbx\npop %rbp\nret");
CODE(calls, "call *8(%rbx)");
CODE(direct, "call 1f\n1:");
CODE(push_mem, "push 16(%rbx)\npop (%rcx)\nret");
CODE(leave_it, "leave\nret");
CODE(aligned, "and $-32, %rsp\nmov %rax, (%rsp)\npush %rax\nret");

TEST(stack)
{
	uint64_t sp = 0x7ffe0000;

	before(NULL);
	/* sampled in the middle: backwards over sub and pushes, forwards over add and pops */
	SAMPLE(prologue, 3);
	assert_int_equal(res.count, 6);
	is_known(0, FMT_A_STORE, sp + 32, 8);
	is_known(1, FMT_A_STORE, sp + 24, 8);
	is_known(2, FMT_A_STORE, sp + 8, 8);
	is_known(3, FMT_A_LOAD, sp + 24, 8);
	is_known(4, FMT_A_LOAD, sp + 32, 8);
	is_known(5, FMT_A_LOAD, sp + 40, 8);
	SAMPLE(calls, 0);
	assert_int_equal(res.count, 2);
	for (unsigned i = 0; i < 2; i++) {
		if (res.access[i].flags & FMT_A_LOAD)
			is_known(i, FMT_A_LOAD, regs[WREG_BX] + 8, 8);
		else
			is_known(i, FMT_A_STORE, sp - 8, 8);
	}
	SAMPLE(direct, 0);
	assert_int_equal(res.count, 1);
	is_known(0, FMT_A_STORE, sp - 8, 8);
	SAMPLE(push_mem, 0);
	assert_int_equal(res.count, 5);
	for (unsigned i = 0; i < 2; i++)
		is_known(i, res.access[i].flags & FMT_A_LOAD ? FMT_A_LOAD : FMT_A_STORE,
			 res.access[i].flags & FMT_A_LOAD ? regs[WREG_BX] + 16 : sp - 8, 8);
	for (unsigned i = 2; i < 4; i++)
		is_known(i, res.access[i].flags & FMT_A_LOAD ? FMT_A_LOAD : FMT_A_STORE,
			 res.access[i].flags & FMT_A_LOAD ? sp - 8 : regs[WREG_CX], 8);
	/* the frame pointer says where the frame was */
	SAMPLE(leave_it, 0);
	is_known(0, FMT_A_LOAD, regs[WREG_BP], 8);
	is_known(1, FMT_A_LOAD, regs[WREG_BP] + 8, 8);
	/* the stack pointer before it was aligned is lost, after it is not */
	SAMPLE(aligned, 1);
	is_known(0, FMT_A_STORE, sp, 8);
	is_known(1, FMT_A_STORE, sp - 8, 8);
}

CODE(segments, "mov %fs:0x28, %rax\nmov %fs:(%rbx), %ecx\nmov %gs:0x30, %rdx\nmov 0x40(%rip), %esi\nret");
CODE(narrow, "mov (%eax,%ebx,2), %ecx\nret");

TEST(segments_and_widths)
{
	before(NULL);
	regs[WREG_FSBASE] = 0x7f0000001000;
	regs[WREG_BX] = (uint64_t)-64;
	SAMPLE(segments, 0);
	is_known(0, FMT_A_LOAD, 0x7f0000001028, 8);
	is_known(1, FMT_A_LOAD, 0x7f0000001000 - 64, 4);
	is_unknown(2); /* nobody sampled the base of gs */
	is_known(3, FMT_A_LOAD, nth(segments, segments_end, 4) + 0x40, 4);
	regs[WREG_AX] = 0x1234567800000010;
	regs[WREG_BX] = 0xffffffff00000008;
	SAMPLE(narrow, 0);
	is_known(0, FMT_A_LOAD, 0x20, 4);
}

CODE(chase, "mov (%rax), %rax\nmov 8(%rax), %rcx\nmov (%rcx), %edx\nret");
CODE(lost_load, "mov (%rbx), %rbx\nmov (%rcx), %eax\nret");
CODE(one_way, "shl $4, %rax\nmov (%rax), %ecx\nimul %rax, %rdx\nmov (%rdx), %esi\nret");
CODE(condition, "cmovne %rax, %rbx\nmov (%rbx), %ecx\nret");
CODE(identify, "cpuid\nmov (%rax), %r8d\nmov (%r9), %r10d\nret");
CODE(kernel, "syscall\nmov (%rax), %edx\nmov (%rcx), %edx\nmov (%rbx), %edx\nret");
CODE(partial, "mov $1, %al\nmov (%rax), %ecx\nmov $7, %ebx\nmov (%rbx), %edx\nret");
CODE(spill, "mov %rbx, 16(%rsp)\nmov (%rcx), %ebx\nmov 16(%rsp), %rdx\nmov (%rdx), %eax\nret");
CODE(clobber, "mov %rbx, 16(%rsp)\nmov %al, (%rcx)\nmov 16(%rsp), %rdx\nmov (%rdx), %eax\nret");

TEST(never_guessed)
{
	uint64_t stack_now[8] = { 0 };

	before(NULL);
	/* forwards through memory nobody saw */
	SAMPLE(chase, 0);
	is_known(0, FMT_A_LOAD, regs[WREG_AX], 8);
	is_unknown(1);
	is_unknown(2);
	/* backwards: what the load destroyed is gone, but what it left helps its reader */
	SAMPLE(chase, 1);
	is_unknown(0);
	is_known(1, FMT_A_LOAD, regs[WREG_AX] + 8, 8);
	is_unknown(2);
	SAMPLE(lost_load, 1);
	is_unknown(0);
	is_known(1, FMT_A_LOAD, regs[WREG_CX], 4);
	/* a shift can be followed, not taken back; a product likewise */
	SAMPLE(one_way, 0);
	is_known(0, FMT_A_LOAD, regs[WREG_AX] << 4, 4);
	is_known(1, FMT_A_LOAD, regs[WREG_DX] * (regs[WREG_AX] << 4), 4);
	SAMPLE(one_way, 3);
	is_known(0, FMT_A_LOAD, regs[WREG_AX], 4);
	is_known(1, FMT_A_LOAD, regs[WREG_DX], 4);
	SAMPLE(condition, 0);
	is_unknown(0);
	SAMPLE(identify, 0);
	is_unknown(0);
	is_known(1, FMT_A_LOAD, regs[WREG_R9], 4);
	/* a system call returns what it likes, and keeps its return address in rcx; it ends the block, so
	 * that its neighbours are never taken for one straight run */
	SAMPLE(kernel, 0);
	for (unsigned i = 0; i < res.count; i++)
		assert_false(res.access[i].known && res.access[i].addr != regs[WREG_BX]);
	/* one byte of a register makes the rest of it no address; a constant is one */
	SAMPLE(partial, 0);
	is_unknown(0);
	is_known(1, FMT_A_LOAD, 7, 4);
	/* through the stack: a register that was spilled comes back as it went, unless somebody may have
	 * written there in between */
	SAMPLE(spill, 0);
	is_known(3, FMT_A_LOAD, regs[WREG_BX], 4);
	regs[WREG_CX] = regs[WREG_SP] + 17;
	SAMPLE(clobber, 0);
	is_unknown(3);
	regs[WREG_CX] = regs[WREG_SP] + 64;
	SAMPLE(clobber, 0);
	is_known(3, FMT_A_LOAD, regs[WREG_BX], 4);
	/* and the piece of stack that was copied is as good */
	stack_now[2] = 0x5550000;
	assert_int_equal(sample_at(spill, spill_end, 2, stack_now, sizeof(stack_now)), 0);
	is_known(3, FMT_A_LOAD, 0x5550000, 4);
	assert_int_equal(sample_at(spill, spill_end, 2, stack_now, 16), 0); /* cut off before it */
	is_unknown(3);
}

CODE(atomic, "lock xadd %rax, (%rbx)\nxchg %rcx, (%rdx)\nlock cmpxchg %rsi, 8(%rbx)\nincl (%rdi)\nret");
CODE(quiet, "lea 8(%rax,%rbx,4), %rcx\nnopl 8(%rax)\nprefetcht0 (%rax)\nret");

TEST(directions)
{
	before(NULL);
	SAMPLE(atomic, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(res.access[i].flags & (FMT_A_LOAD | FMT_A_STORE), FMT_A_LOAD | FMT_A_STORE);
	assert_true(res.access[0].flags & FMT_A_ATOMIC);
	assert_true(res.access[1].flags & FMT_A_ATOMIC); /* xchg locks by itself */
	assert_true(res.access[2].flags & FMT_A_ATOMIC);
	assert_false(res.access[3].flags & FMT_A_ATOMIC);
	/* addresses that are computed, hinted or padded are no accesses: only the return is */
	SAMPLE(quiet, 0);
	assert_int_equal(res.count, 1);
	assert_int_equal(res.access[0].addr, regs[WREG_SP]);
}

TEST(bad_bytes)
{
	static const uint8_t cut[] = { 0x48, 0x8b }, wrong[] = { 0x06, 0x06 };
	struct bytes b = { prologue, prologue_end, true };
	struct block_code code = { .id = 1, .read = read_bytes, .bounds = bounds, .ctx = &b };
	struct block_state s = { .regs = regs, .code_ip = (uint64_t)(uintptr_t)prologue };
	struct block_cache *c = block_cache_new(0);
	struct dec_insn d;

	before(NULL);
	assert_int_equal(dec_decode(cut, sizeof(cut), &d), -EINVAL);
	assert_int_equal(dec_decode(cut, 0, &d), -EINVAL);
	assert_int_equal(dec_decode(wrong, sizeof(wrong), &d), -EINVAL); /* push es: not in 64-bit mode */
	assert_int_equal(block_sample(c, &code, &s, 0, &res), -ENODATA);
	assert_int_equal(block_cache_stats(c)->undecodable, 1);
	assert_int_equal(res.count, 0);
	block_cache_free(c);
}

CODE(jit_old, "mov (%rax), %ecx\nadd $8, %rax\nret");
CODE(jit_new, "mov %ecx, (%rbx)\nadd $8, %rbx\nret");

/* The first look at it is too late already: what stood there is known by its hash only. */
TEST(code_that_was_other_code)
{
	uint64_t memory[8];
	struct bytes b = { (uint8_t *)memory, (uint8_t *)memory + sizeof(memory), false };
	struct block_code code = { .id = 9, .read = read_bytes, .ctx = &b, .volatile_bytes = true };
	struct block_state s = { .regs = regs, .code_ip = (uint64_t)(uintptr_t)memory };
	struct block_cache *c = block_cache_new(0);

	before(NULL);
	memset(memory, 0x90, sizeof(memory));
	memcpy(memory, jit_old, (size_t)(jit_old_end - jit_old));
	regs[WREG_IP] = s.code_ip;
	s.code_hash = wire_code_hash((const void *)memory);
	assert_int_not_equal(s.code_hash, 0);
	memcpy(memory, jit_new, (size_t)(jit_new_end - jit_new));
	assert_int_equal(block_sample(c, &code, &s, 0, &res), -ESTALE);
	assert_int_equal(block_cache_stats(c)->rewritten, 1);
	assert_int_equal(res.count, 0);
	/* files are not rewritten: what is cached of them holds */
	code.volatile_bytes = false;
	assert_int_equal(block_sample(c, &code, &s, 0, &res), 0);
	code.volatile_bytes = true;
	s.code_hash = wire_code_hash((const void *)memory);
	code.id = 10;
	assert_int_equal(block_sample(c, &code, &s, 0, &res), 0);
	is_known(0, FMT_A_STORE, regs[WREG_BX], 4);
	/* unknown is not another */
	s.code_hash = 0;
	assert_int_equal(block_sample(c, &code, &s, 0, &res), 0);
	block_cache_free(c);
}

/* A compiler that puts other code in the same place: a sample of the old code is not evaluated with the
 * new bytes, nor the other way round. */
TEST(code_that_changes)
{
	uint8_t memory[64];
	struct bytes b = { memory, memory + sizeof(memory), false };
	struct block_code code = { .id = 9, .read = read_bytes, .ctx = &b, .volatile_bytes = true };
	struct block_state s = { .regs = regs, .code_ip = (uint64_t)(uintptr_t)memory };
	struct block_cache *c = block_cache_new(0);

	before(NULL);
	memset(memory, 0x90, sizeof(memory));
	memcpy(memory, jit_old, (size_t)(jit_old_end - jit_old));
	regs[WREG_IP] = s.code_ip;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(block_sample(c, &code, &s, 0, &res), 0);
		is_known(0, FMT_A_LOAD, regs[WREG_AX], 4);
	}
	assert_int_equal(block_cache_stats(c)->rewritten, 0);
	memcpy(memory, jit_new, (size_t)(jit_new_end - jit_new));
	/* the block that is known is not what is there now */
	assert_int_equal(block_sample(c, &code, &s, 0, &res), -ESTALE);
	assert_int_equal(block_cache_stats(c)->rewritten, 1);
	assert_int_equal(res.count, 0);
	/* from then on the new code is what counts */
	assert_int_equal(block_sample(c, &code, &s, 0, &res), 0);
	is_known(0, FMT_A_STORE, regs[WREG_BX], 4);
	/* and when it is gone there is nothing, not the last that was seen */
	b.hidden = true;
	assert_true(block_sample(c, &code, &s, 0, &res) < 0);
	assert_int_equal(res.count, 0);
	block_cache_free(c);
}
