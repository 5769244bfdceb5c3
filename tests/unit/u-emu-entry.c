// SPDX-License-Identifier: GPL-2.0-or-later
/* A segment ends where it enters the kernel, with all that it holds there; or it is none. The code is this program's
 * own. */
#include <string.h>

#include "abi.h"
#include "emu/emu.h"
#include "unit/unit.h"

/* Sums ten words up, and writes; or exits, which ends a burst and no segment. The third calls what cannot be known. */
__asm__(".text\n"
	"sum_up:	xor %ebx, %ebx\n"
	"	mov $10, %ecx\n"
	"1:	add -8(%rdi,%rcx,8), %rbx\n"
	"	dec %ecx\n"
	"	jnz 1b\n"
	"	mov $1, %eax\n"
	"	syscall\n"
	"behind:	mov $60, %eax\n"
	"	syscall\n"
	"end_of_it:	nop\n"
	"leave_early:	call unknown_way\n"
	"	mov $1, %eax\n"
	"	syscall\n"
	"	nop\n"
	"unknown_way:	rdtsc\n"
	"	test %eax, %eax\n"
	"	jz 2f\n"
	"	nop\n"
	"2:	ret\n"
	"entry_end:\n");
extern const uint8_t sum_up[], behind[], end_of_it[], leave_early[], unknown_way[], entry_end[];

#define TURNS 10
static uint64_t words[TURNS];
static uint64_t stack[64];

static size_t code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	size_t left = addr >= (uintptr_t)sum_up && addr < (uintptr_t)entry_end ? (uintptr_t)entry_end - addr : 0;

	len = len < left ? len : left;
	memcpy(buf, (const void *)(uintptr_t)addr, len);
	return len;
}

static bool page(void *ctx, uint64_t addr, uint8_t *buf)
{
	static const struct {
		const void *at;
		size_t size;
	} known[] = { { words, sizeof(words) }, { stack, sizeof(stack) } };
	bool any = false;

	memset(buf, 0, EMU_PAGE);
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < known[k].size; i++) {
			uint64_t a = (uintptr_t)known[k].at + i;

			if (a >= addr && a < addr + EMU_PAGE) {
				buf[a - addr] = ((const uint8_t *)known[k].at)[i];
				any = true;
			}
		}
	return any;
}

static struct emu_result run(struct emu *e, const uint8_t *from, uint64_t insns, bool to_entry)
{
	uint64_t regs[WREG_MAX] = {
		[WREG_IP] = (uintptr_t)from, [WREG_DI] = (uintptr_t)words, [WREG_SP] = (uintptr_t)&stack[32]
	};
	struct emu_start start = { .regs = regs, .insns = insns, .to_entry = to_entry };
	struct emu_result out;

	assert_int_equal(emu_run(e, &start, &out), 0);
	return out;
}

static uint64_t held(const struct emu *e, unsigned reg)
{
	uint64_t v = 0;

	assert_true(emu_register(e, reg, &v));
	return v;
}

TEST(all_up_to_the_entry)
{
	struct emu *e = emu_new(&(struct emu_env){ .code = code, .page = page });
	struct emu_result out;
	uint64_t v;

	assert_non_null(e);
	for (unsigned i = 0; i < TURNS; i++)
		words[i] = i + 1;
	out = run(e, sum_up, 1000, true);
	assert_int_equal(out.end, EMU_ENTRY);
	/* two, ten turns of three, two with the system call itself */
	assert_int_equal(out.insns, 2 + 3 * TURNS + 2);
	assert_int_equal(out.syscalls, 1);
	assert_int_equal(held(e, WREG_AX), 1);
	assert_int_equal(held(e, WREG_BX), 55);
	assert_int_equal(held(e, WREG_IP), (uintptr_t)behind);
	assert_int_equal(held(e, WREG_SP), (uintptr_t)&stack[32]);
	assert_false(emu_register(e, WREG_MAX, &v));
	assert_int_equal(emu_runs_of(e, (uintptr_t)behind - 2), 1);
	assert_int_equal(emu_runs_of(e, (uintptr_t)behind), 0);
	/* what ends the process is an entry like any other */
	out = run(e, behind, 1000, true);
	assert_int_equal(out.end, EMU_ENTRY);
	assert_int_equal(out.insns, 2);
	assert_int_equal(held(e, WREG_AX), 60);
	assert_int_equal(held(e, WREG_IP), (uintptr_t)end_of_it);
	emu_free(e);
}

TEST(beyond_the_horizon_is_none)
{
	struct emu *e = emu_new(&(struct emu_env){ .code = code, .page = page });
	struct emu_result out;

	assert_non_null(e);
	out = run(e, sum_up, 20, true);
	assert_int_equal(out.end, EMU_DONE);
	assert_int_equal(out.insns, 20);
	emu_free(e);
}

TEST(nothing_is_left_early)
{
	struct emu *e = emu_new(&(struct emu_env){ .code = code, .page = page });
	struct emu_result out;

	assert_non_null(e);
	out = run(e, leave_early, 1000, true);
	assert_int_equal(out.end, EMU_BRANCH);
	assert_int_equal(out.skipped, 0);
	assert_int_equal(out.insns, 3);
	assert_int_equal(out.end_ip, (uintptr_t)unknown_way + 4);
	/* a burst goes on behind the call, and past the system call */
	out = run(e, leave_early, 5, false);
	assert_int_equal(out.end, EMU_DONE);
	assert_int_equal(out.skipped, 1);
	assert_int_equal(out.syscalls, 1);
	emu_free(e);
}

/* Memory that was mapped just now and is gone again was 0; any other that is not there ends the run. */
TEST(new_memory_is_zero)
{
	struct emu *e = emu_new(&(struct emu_env){ .code = code, .page = page });
	uint64_t regs[WREG_MAX] = { [WREG_IP] = (uintptr_t)sum_up,
				    [WREG_DI] = 0x50000000,
				    [WREG_SP] = (uintptr_t)&stack[32],
				    [WREG_AX] = 0x50001000 };
	struct emu_start start = { .regs = regs, .insns = 1000, .to_entry = true };
	struct emu_result out;

	assert_non_null(e);
	assert_int_equal(emu_run(e, &start, &out), 0);
	assert_int_equal(out.end, EMU_ENTRY);
	assert_int_equal(held(e, WREG_BX), 0);
	regs[WREG_AX] = 0;
	assert_int_equal(emu_run(e, &start, &out), 0);
	assert_int_equal(out.end, EMU_FAULT);
	regs[WREG_AX] = 0x60000000;
	assert_int_equal(emu_run(e, &start, &out), 0);
	assert_int_equal(out.end, EMU_FAULT);
	emu_free(e);
}

static bool is_clock(void *ctx, uint64_t addr)
{
	return addr >= (uintptr_t)unknown_way && addr < (uintptr_t)entry_end;
}

/* What reads the clock is left early, and the segment goes on; nothing else is. */
TEST(the_clock_is_left)
{
	struct emu *e = emu_new(&(struct emu_env){ .code = code, .page = page, .clock = is_clock });
	struct emu_result out;
	uint64_t v;

	assert_non_null(e);
	out = run(e, leave_early, 1000, true);
	assert_int_equal(out.end, EMU_ENTRY);
	assert_int_equal(out.skipped, 1);
	/* the call and two instructions of what it calls; then the system call */
	assert_int_equal(out.insns, 3 + 2);
	assert_int_equal(held(e, WREG_AX), 1);
	assert_int_equal(held(e, WREG_SP), (uintptr_t)&stack[32]);
	assert_false(emu_register(e, WREG_DX, &v)); /* it may have changed what it likes */
	/* where no call led there it cannot be left */
	out = run(e, unknown_way, 1000, true);
	assert_int_equal(out.end, EMU_BRANCH);
	emu_free(e);
}
