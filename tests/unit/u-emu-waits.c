// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that waits for another one is not carried on: nobody writes what it waits for. The code is this program's
 * own. */
#include <linux/futex.h>
#include <string.h>

#include "abi.h"
#include "emu/emu.h"
#include "unit/unit.h"

/* As a lock does: wait while the word is 2, look again; then turn for long. */
__asm__(".text\n"
	"wait_for_it:\n"
	"1:	mov $202, %eax\n"
	"	syscall\n"
	"	cmpl $2, (%rdi)\n"
	"	je 1b\n"
	"turn:	dec %rbx\n"
	"	jmp turn\n"
	"wait_end:\n");
extern const uint8_t wait_for_it[], turn[], wait_end[];

static uint32_t word;

static size_t code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	size_t left = addr >= (uintptr_t)wait_for_it && addr < (uintptr_t)wait_end ? (uintptr_t)wait_end - addr : 0;

	len = len < left ? len : left;
	memcpy(buf, (const void *)(uintptr_t)addr, len);
	return len;
}

static bool page(void *ctx, uint64_t addr, uint8_t *buf)
{
	memset(buf, 0, EMU_PAGE);
	if (addr == ((uintptr_t)&word & ~(uintptr_t)(EMU_PAGE - 1)))
		memcpy(buf + ((uintptr_t)&word - addr), &word, sizeof(word));
	return true;
}

static struct emu_result run(uint64_t op, uint64_t expected, uint64_t *turns)
{
	struct emu *e = emu_new(&(struct emu_env){ .code = code, .page = page });
	uint64_t regs[WREG_MAX] = { [WREG_IP] = (uintptr_t)wait_for_it,
				    [WREG_DI] = (uintptr_t)&word,
				    [WREG_SI] = op,
				    [WREG_DX] = expected,
				    [WREG_SP] = 4096 };
	struct emu_start start = { .regs = regs, .insns = 10000 };
	struct emu_result out;

	assert_non_null(e);
	assert_int_equal(emu_run(e, &start, &out), 0);
	*turns = emu_runs_of(e, (uintptr_t)turn);
	emu_free(e);
	return out;
}

TEST(who_waits_stays)
{
	struct emu_result out;
	uint64_t turns;

	word = 2;
	out = run(FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, &turns);
	assert_int_equal(out.end, EMU_WAITS);
	assert_int_equal(out.insns, 1);
	assert_int_equal(run(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 2, &turns).end, EMU_WAITS);
	/* somebody was faster */
	word = 3;
	out = run(FUTEX_WAIT, 2, &turns);
	assert_int_equal(out.end, EMU_DONE);
	assert_in_range(turns, 4900, 5000);
	/* waking somebody is no wait */
	out = run(FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, &turns);
	assert_int_equal(out.end, EMU_DONE);
	assert_in_range(turns, 4900, 5000);
}
