// SPDX-License-Identifier: GPL-2.0-or-later
/* What is read of /proc/kallsyms: the tick's function under either name, the timer interrupt's entry and its end. */
#include <stdio.h>
#include <string.h>

#include "kmod-free/kernel_tick.h"
#include "unit/unit.h"

static bool reads(const char *text, struct kernel_tick_code *code)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	bool ok;

	assert_non_null(f);
	ok = kernel_tick_read(f, code);
	fclose(f);
	return ok;
}

#define ENTRY "ffffffff81000df0 T asm_sysvec_apic_timer_interrupt\n"
#define NEXT "ffffffff81000e10 T asm_sysvec_spurious\n"

TEST(either_name)
{
	struct kernel_tick_code code;

	assert_true(reads(ENTRY NEXT "ffffffff814352e0 t tick_nohz_handler\n", &code));
	assert_true(code.entry == 0xffffffff81000df0 && code.entry_end == 0xffffffff81000e10);
	assert_true(code.handler == 0xffffffff814352e0);
	assert_true(reads("ffffffff80000000 T tick_sched_timer\n" ENTRY NEXT, &code));
	assert_true(code.handler == 0xffffffff80000000);
}

/* The next address is its end, whatever stands at its own a second time. */
TEST(one_place_two_names)
{
	struct kernel_tick_code code;

	assert_true(
		reads(ENTRY "ffffffff81000df0 T another_name\n" NEXT "ffffffff814352e0 t tick_nohz_handler\n", &code));
	assert_true(code.entry_end == 0xffffffff81000e10);
}

TEST(what_is_missing_is_not_made_up)
{
	struct kernel_tick_code code;
	char text[1024];

	assert_false(reads("\n", &code));
	assert_false(reads(ENTRY NEXT, &code));
	assert_false(reads(ENTRY "ffffffff80000000 T tick_nohz_handler_too\n", &code));
	assert_false(reads("ffffffff814352e0 t tick_nohz_handler\n" ENTRY, &code));
	/* as somebody without rights sees them */
	assert_false(reads("0000000000000000 T asm_sysvec_apic_timer_interrupt\n0000000000000000 t next\n"
			   "0000000000000000 t tick_nohz_handler\n",
			   &code));
	/* a name that is longer than any, cut into lines that say nothing */
	memset(text, 'x', sizeof(text));
	memcpy(text, "ffffffff80000000 T ", 19);
	snprintf(text + 600, sizeof(text) - 600, "\n" ENTRY NEXT "ffffffff814352e0 t tick_nohz_handler\n");
	assert_true(reads(text, &code));
	assert_true(code.entry == 0xffffffff81000df0 && code.handler == 0xffffffff814352e0);
}
