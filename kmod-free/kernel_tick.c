// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/kernel_tick.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SYMBOL_MOST 640 /* bytes of a line: the kernel's names are shorter than 512 */

uint64_t kernel_tick_ns(void)
{
	struct timespec tick;

	/* this clock moves by ticks */
	return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec ? 0 : (uint64_t)tick.tv_nsec;
}

/* "ADDRESS T NAME", perhaps with a module behind. */
static bool kernel_tick_is_symbol(const char *line, const char *name)
{
	const char *at = strchr(line, ' ');
	size_t len = strlen(name);

	return at && at[1] && at[2] == ' ' && !strncmp(at + 3, name, len) && (!at[3 + len] || isspace(at[3 + len]));
}

bool kernel_tick_read(FILE *symbols, struct kernel_tick_code *code)
{
	char line[SYMBOL_MOST];

	*code = (struct kernel_tick_code){ 0 };
	/* in order of address, and all three near the beginning: among some 20,000, so numbers are read of few */
	while ((!code->handler || !code->entry_end) && fgets(line, sizeof(line), symbols)) {
		if (code->entry && !code->entry_end && strtoull(line, NULL, 16) > code->entry)
			code->entry_end = strtoull(line, NULL, 16);
		if (kernel_tick_is_symbol(line, "asm_sysvec_apic_timer_interrupt"))
			code->entry = strtoull(line, NULL, 16);
		/* so from Linux 6.10 on, and before */
		else if (kernel_tick_is_symbol(line, "tick_nohz_handler") ||
			 kernel_tick_is_symbol(line, "tick_sched_timer"))
			code->handler = strtoull(line, NULL, 16);
	}
	return code->handler && code->entry_end;
}

/* A CPU that has one thread to run goes without ticks, if the kernel was told so: what runs there would be missed. */
static bool always(void)
{
	char text[2] = "";
	FILE *f = fopen("/sys/devices/system/cpu/nohz_full", "re");
	bool none = !f || !fgets(text, sizeof(text), f) || text[0] == '\n' || text[0] == '(';

	if (f)
		fclose(f);
	return none;
}

bool kernel_tick_find(struct kernel_tick_code *code, const char **why)
{
	FILE *f = NULL;
	bool found;

	*why = "CPUs may go without ticks here (nohz_full)";
	if (!always() || !kernel_tick_ns())
		return false;
	*why = "addresses of the kernel's functions are not to be had (CAP_SYSLOG, kernel.kptr_restrict)";
	f = fopen("/proc/kallsyms", "re");
	found = f && kernel_tick_read(f, code);
	if (f)
		fclose(f);
	return found;
}
