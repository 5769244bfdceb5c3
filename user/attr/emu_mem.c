// SPDX-License-Identifier: GPL-2.0-or-later
/* A private copy of what the emulated code touches, page by page, with a bit per byte that is not known. */
#include <stdlib.h>
#include <string.h>

#include "attr/emu_priv.h"

#define PAGES_MAX 512u
#define SLOTS (2 * PAGES_MAX) /* a power of two */
#define WORDS (EMU_PAGE / 64)

struct page {
	uint64_t addr;
	bool doubtful; /* a byte of it is unknown */
	bool given;    /* with the sample */
	uint64_t unknown[WORDS];
	uint8_t byte[EMU_PAGE];
};

struct emu_memory {
	struct emu_env env;
	struct page *page[PAGES_MAX]; /* kept from one run to the next */
	uint16_t slot[SLOTS];	      /* index + 1 */
	uint32_t pages;
	struct page *last;
	uint64_t sp;
	const uint8_t *stack;
	uint32_t stack_bytes;
	const struct sample_page *given;
	uint32_t givens;
	bool full;
	bool late;
};

struct emu_memory *emu_mem_new(const struct emu_env *env)
{
	struct emu_memory *m = calloc(1, sizeof(*m));

	if (m)
		m->env = *env;
	return m;
}

void emu_mem_free(struct emu_memory *m)
{
	for (uint32_t i = 0; m && i < PAGES_MAX; i++)
		free(m->page[i]);
	free(m);
}

void emu_mem_begin(struct emu_memory *m, const struct emu_start *start)
{
	uint64_t sp = start->regs[WREG_SP];

	memset(m->slot, 0, sizeof(m->slot));
	m->pages = 0;
	m->last = NULL;
	m->full = m->late = false;
	m->sp = sp;
	m->stack = start->stack;
	m->stack_bytes = start->stack && sp <= UINT64_MAX - start->stack_bytes ? start->stack_bytes : 0;
	m->given = start->page;
	m->givens = start->page ? start->pages : 0;
}

uint32_t emu_mem_pages(const struct emu_memory *m)
{
	return m->pages;
}

bool emu_mem_full(const struct emu_memory *m)
{
	return m->full;
}

bool emu_mem_late(const struct emu_memory *m)
{
	return m->late;
}

bool emu_mem_touched(const struct emu_memory *m, uint32_t i, struct emu_touched *out)
{
	if (i >= m->pages)
		return false;
	*out = (struct emu_touched){ m->page[i]->addr, m->page[i]->given };
	return true;
}

/* Few: once a page and run. */
static const uint8_t *given_at(const struct emu_memory *m, uint64_t start)
{
	for (uint32_t i = 0; i < m->givens; i++)
		if (m->given[i].addr == start)
			return m->given[i].byte;
	return NULL;
}

/* The stack as it was: the page that was read just now is younger. */
static void lay_stack(const struct emu_memory *m, struct page *p)
{
	uint64_t from = p->addr > m->sp ? p->addr : m->sp, to = p->addr + EMU_PAGE;

	if (to > m->sp + m->stack_bytes)
		to = m->sp + m->stack_bytes;
	if (from < to && from >= p->addr)
		memcpy(p->byte + (from - p->addr), m->stack + (from - m->sp), to - from);
}

static struct page *page_of(struct emu_memory *m, uint64_t addr)
{
	uint64_t start = addr & ~(uint64_t)(EMU_PAGE - 1);
	uint32_t at = (uint32_t)(start / EMU_PAGE * 0x9e3779b1u >> 7) % SLOTS;
	const uint8_t *given;
	struct page *p;

	if (m->last && m->last->addr == start)
		return m->last;
	for (; m->slot[at]; at = (at + 1) % SLOTS) {
		p = m->page[m->slot[at] - 1];
		if (p->addr == start)
			return m->last = p;
	}
	if (m->pages == PAGES_MAX || start > UINT64_MAX - EMU_PAGE) {
		m->full |= m->pages == PAGES_MAX;
		return NULL;
	}
	p = m->page[m->pages];
	if (!p)
		p = m->page[m->pages] = malloc(sizeof(*p));
	if (!p)
		return NULL;
	given = given_at(m, start);
	if (given)
		memcpy(p->byte, given, EMU_PAGE);
	else if (!m->env.page(m->env.ctx, start, p->byte))
		return NULL;
	p->addr = start;
	p->given = given;
	m->late |= !given && !(m->stack_bytes && start >= (m->sp & ~(uint64_t)(EMU_PAGE - 1)) && start < m->sp + m->stack_bytes);
	p->doubtful = false;
	memset(p->unknown, 0, sizeof(p->unknown));
	lay_stack(m, p);
	m->slot[at] = (uint16_t)++m->pages;
	return m->last = p;
}

static inline uint64_t low_bits(unsigned n)
{
	return n >= 64 ? ~0ull : (1ull << n) - 1;
}

static uint64_t unknown_at(const struct page *p, unsigned off, unsigned len)
{
	uint64_t bits;

	if (!p->doubtful)
		return 0;
	bits = p->unknown[off / 64] >> off % 64;
	if (off % 64 && off / 64 + 1 < WORDS)
		bits |= p->unknown[off / 64 + 1] << (64 - off % 64);
	return bits & low_bits(len);
}

static void set_unknown(struct page *p, unsigned off, unsigned len, uint64_t unknown)
{
	uint64_t mask = low_bits(len);

	if (!p->doubtful && !unknown)
		return;
	p->doubtful = true;
	p->unknown[off / 64] = (p->unknown[off / 64] & ~(mask << off % 64)) | (unknown & mask) << off % 64;
	if (off % 64 && off / 64 + 1 < WORDS) {
		uint64_t over = mask >> (64 - off % 64);

		p->unknown[off / 64 + 1] = (p->unknown[off / 64 + 1] & ~over) | (unknown & mask) >> (64 - off % 64);
	}
}

static unsigned in_page(uint64_t addr, unsigned len)
{
	unsigned room = EMU_PAGE - (unsigned)(addr & (EMU_PAGE - 1));

	return len < room ? len : room;
}

bool emu_mem_read(struct emu_memory *m, uint64_t addr, void *buf, unsigned len, uint64_t *known)
{
	uint64_t unknown = 0;

	if (len > 64)
		return false;
	for (unsigned done = 0; done < len;) {
		unsigned n = in_page(addr + done, len - done), off = (unsigned)((addr + done) & (EMU_PAGE - 1));
		struct page *p = page_of(m, addr + done);

		if (!p)
			return false;
		memcpy((uint8_t *)buf + done, p->byte + off, n);
		unknown |= unknown_at(p, off, n) << done;
		done += n;
	}
	*known = ~unknown & low_bits(len);
	return true;
}

bool emu_mem_write(struct emu_memory *m, uint64_t addr, const void *buf, unsigned len, uint64_t known)
{
	if (len > 64)
		return false;
	for (unsigned done = 0; done < len;) {
		unsigned n = in_page(addr + done, len - done), off = (unsigned)((addr + done) & (EMU_PAGE - 1));
		struct page *p = page_of(m, addr + done);

		if (!p)
			return false;
		memcpy(p->byte + off, (const uint8_t *)buf + done, n);
		set_unknown(p, off, n, ~known >> done);
		done += n;
	}
	return true;
}

bool emu_mem_forget(struct emu_memory *m, uint64_t addr, uint64_t len)
{
	static const uint8_t nothing[64];

	if (len > (uint64_t)PAGES_MAX * EMU_PAGE)
		return false;
	for (uint64_t done = 0; done < len; done += 64)
		if (!emu_mem_write(m, addr + done, nothing, len - done < 64 ? (unsigned)(len - done) : 64, 0))
			return false;
	return true;
}
