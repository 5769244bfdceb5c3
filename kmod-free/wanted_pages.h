/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What user space asks a program for that takes pages (bpf/pages.bpf.h). Included by those that load one.
 */
#ifndef ACCPERF_KMOD_FREE_WANTED_PAGES_H
#define ACCPERF_KMOD_FREE_WANTED_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "abi.h"

/* False: what was asked for last has not come yet. */
static inline bool want_pages(struct wire_wanted *w, uint32_t pid, const uint64_t *addr, uint32_t count,
			      const uint64_t *slot, uint32_t slots)
{
	if (!pid || __atomic_load_n(&w->pid, __ATOMIC_ACQUIRE))
		return false;
	w->count = count < WIRE_PAGES ? count : WIRE_PAGES;
	memcpy(w->addr, addr, w->count * sizeof(*addr));
	w->slots = slots < WIRE_SLOTS ? slots : WIRE_SLOTS;
	memcpy(w->slot, slot, w->slots * sizeof(*slot));
	memset(w->seen, 0, sizeof(w->seen));
	for (uint32_t i = 0; i < w->count; i++)
		w->seen[wire_seen_bit(addr[i]) / 64] |= 1ull << wire_seen_bit(addr[i]) % 64;
	__atomic_store_n(&w->pid, pid, __ATOMIC_RELEASE);
	return true;
}

#endif
