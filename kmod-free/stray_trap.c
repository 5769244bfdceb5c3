// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/stray_trap.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kmod-free/stray_trap_cache.h"
#include "util/cachedir.h"

#define FILE_MOST 4096 /* bytes; by hand */
#define HEAD "accperf breakpoints 1 "

static uint64_t own; /* stray signals to this process */

uint64_t stray_parse(const char *text, const char *boot)
{
	size_t head = strlen(HEAD), len = strlen(boot);
	uint64_t n = 0;
	char *end;

	if (!len || strncmp(text, HEAD, head) || strncmp(text + head, boot, len) || text[head + len] != '\n')
		return 0;
	text += head + len + 1;
	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	n = strtoull(text, &end, 10);
	return errno || *end != '\n' ? 0 : n;
}

static void boot_id(char *out, size_t size)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(out, (int)size, f))
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
}

static uint64_t cached_in(int dir, const char *name)
{
	uint64_t n = 0;
	char boot[64];
	AUTO_BUF(text);

	boot_id(boot, sizeof(boot));
	if (dir >= 0 && !cachedir_read(dir, name, FILE_MOST, &text) && text.len && !memchr(text.data, 0, text.len))
		n = stray_parse(text.data, boot);
	if (dir >= 0)
		close(dir);
	return n;
}

/* What a service found holds for its owner, too: it is the same machine. */
static uint64_t stray_cache_get(const char *name)
{
	uint64_t own_hits = cached_in(cachedir_open(STRAY_CACHE), name),
		 of_services = cached_in(cachedir_open_of_services(STRAY_CACHE), name);

	return own_hits > of_services ? own_hits : of_services;
}

void stray_cache_put(const char *name, uint64_t n)
{
	int dir = cachedir_open(STRAY_CACHE);
	char boot[64];
	AUTO_BUF(text);

	if (dir < 0)
		return;
	boot_id(boot, sizeof(boot));
	buf_addf(&text, HEAD "%s\n%" PRIu64 "\n", boot, n);
	cachedir_write(dir, name, &text, 16 * FILE_MOST);
	close(dir);
}

static bool is_virtual(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 31);
#else
	return false; /* other processors say in registers of their own, which nobody has to save, why they trapped */
#endif
}

void stray_read(struct stray_known *k)
{
	*k = (struct stray_known){ .virtual_machine = is_virtual() };
	if (k->virtual_machine) {
		k->hits = stray_cache_get(STRAY_HITS);
		k->signals = stray_cache_get(STRAY_SIGNALS);
	}
}

enum stray_verdict stray_verdict(const struct stray_known *k)
{
	if (k->signals)
		return STRAY_SEEN;
	return !k->virtual_machine || k->hits >= STRAY_ENOUGH ? STRAY_NONE : STRAY_UNTRIED;
}

void stray_describe(const struct stray_known *k, char *out, unsigned size)
{
	if (k->signals)
		snprintf(out, size,
			 STRAY_ENDS_PROGRAMS " on this virtual machine: %" PRIu64 " stray SIGTRAP%s since it booted, a "
					     "defect of its hypervisor",
			 k->signals, k->signals == 1 ? "" : "s");
	else if (!k->virtual_machine)
		snprintf(out, size, "not a virtual machine: no hypervisor can lose a hit's reason");
	else
		snprintf(
			out, size,
			"%" PRIu64
			" of %d harmless trial hits of breakpoints made since this virtual machine booted, none sent a wrong signal",
			k->hits, STRAY_ENOUGH);
}

bool stray_kept(char *why, unsigned size)
{
	return cachedir_keeps(STRAY_CACHE, why, size);
}

void stray_found(uint64_t signals)
{
	if (signals)
		stray_cache_put(STRAY_SIGNALS, stray_cache_get(STRAY_SIGNALS) + signals);
}

static void on_trap(int nr, siginfo_t *info, void *context)
{
	if (info->si_code == TRAP_BRKPT) {
		__atomic_add_fetch(&own, 1, __ATOMIC_RELAXED);
		return;
	}
	signal(nr, SIG_DFL);
	raise(nr);
}

void stray_guard(void)
{
	struct sigaction a = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigaction(SIGTRAP, &a, NULL);
}

uint64_t stray_own(void)
{
	return __atomic_load_n(&own, __ATOMIC_RELAXED);
}
