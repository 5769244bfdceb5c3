// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code that the target makes itself, for x86-64: `rewritten` (twelve loads become twelve stores and back, some
 * thousand times a second), `same` (always loads), `unreadable` (loads, in a page that may be executed only). SIZE =
 * turns of it, of 50,000 iterations.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "work.h"

#define TURNS 50000

typedef void code_fn(uint64_t *data, long turns);
static uint64_t data[16];

/* rdi: data, rsi: turns */
static void write_loop(uint8_t *p, uint8_t opcode)
{
	uint8_t *top = p;
	static const uint8_t dec_rsi[] = { 0x48, 0xff, 0xce };

	for (uint8_t i = 0; i < 12; i++) {
		const uint8_t mov[] = { 0x48, opcode, 0x47, (uint8_t)(8 * i) };

		memcpy(p, mov, sizeof(mov));
		p += sizeof(mov);
	}
	memcpy(p, dec_rsi, sizeof(dec_rsi));
	p += sizeof(dec_rsi);
	*p++ = 0x75; /* jnz top */
	*p = (uint8_t)(top - (p + 1));
	*++p = 0xc3;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, "same|rewritten|unreadable", 1000);
	bool rewritten = !strcmp(w.mode, "rewritten");
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		work_die(&w, "no memory that may be written and executed");
	write_loop(page, 0x8b);
	if (!strcmp(w.mode, "unreadable") && mprotect(page, 4096, PROT_EXEC))
		work_die(&w, "the page's protection cannot be changed");
	do {
		for (unsigned long i = 0; i < w.size; i++) {
			if (rewritten)
				write_loop(page, i & 1 ? 0x89 : 0x8b);
			((code_fn *)page)(data, TURNS);
		}
	} while (work_more(&w, w.size));
	return work_done(&w);
}
