// SPDX-License-Identifier: GPL-2.0-or-later
/* How much of memory xsave and xsavec write: the dynamic linker has them put what they save right below what it
 * needs. */
#include <pthread.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "emu/emu_ops.h"

#define LEGACY 576    /* what every processor saves, with the header */
#define COMPONENTS 63 /* of the state, by their bits in XCR0; bit 63 is none */

struct component {
	uint32_t size, offset;
	bool aligned; /* in the compacted form: to 64 bytes */
};

static struct component component[COMPONENTS];
static uint64_t enabled;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Of this machine, on which the thread runs, too. */
static void ask_processor(void)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	enabled = (uint64_t)d << 32 | a;
	for (unsigned n = 2; n < COMPONENTS; n++) {
		if (!(enabled >> n & 1))
			continue;
		if (__get_cpuid_count(0xd, n, &a, &b, &c, &d))
			component[n] = (struct component){ a, b, c & 2 };
	}
#endif
}

static uint32_t extent(uint64_t wanted, bool compacted)
{
	uint32_t end = LEGACY;

	for (unsigned n = 2; n < COMPONENTS; n++) {
		const struct component *p = &component[n];

		if (!((wanted & enabled) >> n & 1))
			continue;
		if (!compacted) {
			end = p->offset + p->size > end ? p->offset + p->size : end;
			continue;
		}
		if (p->aligned)
			end = (end + 63) & ~63u;
		end += p->size;
	}
	return end;
}

enum emu_outcome emu_xsave(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	uint64_t addr;

	pthread_once(&once, ask_processor);
	/* its mask: edx:eax */
	if (!enabled || !(s->known >> WREG_AX & 1) || !(s->known >> WREG_DX & 1))
		return EMU_O_NO_RULE;
	if (!emu_address(s, &i->o[0], s->r[WREG_IP] + i->len, &addr))
		return EMU_OK;
	return emu_mem_forget(m, addr, extent(s->r[WREG_DX] << 32 | (uint32_t)s->r[WREG_AX], i->op == EMU_OP_XSAVEC))
		       ? EMU_OK
		       : EMU_O_FAULT;
}
