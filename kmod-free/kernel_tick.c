// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/kernel_tick.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define SYMBOL_MOST 128 /* bytes of a name; the kernel's are shorter than 512, ours than 40 */

uint64_t kernel_tick_ns(void)
{
	struct timespec tick;

	/* this clock moves by ticks */
	return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec ? 0 : (uint64_t)tick.tv_nsec;
}

bool kernel_tick_read(FILE *symbols, struct kernel_tick_code *code)
{
	char line[256], name[SYMBOL_MOST];
	uint64_t at;

	*code = (struct kernel_tick_code){ 0 };
	/* in order of address, and all three near the beginning */
	while ((!code->handler || !code->entry_end) && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%" SCNx64 " %*c %127s", &at, name) != 2 || !at)
			continue;
		if (code->entry && !code->entry_end && at > code->entry)
			code->entry_end = at;
		if (!strcmp(name, "asm_sysvec_apic_timer_interrupt"))
			code->entry = at;
		/* so from Linux 6.10 on, and before */
		else if (!strcmp(name, "tick_nohz_handler") || !strcmp(name, "tick_sched_timer"))
			code->handler = at;
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
