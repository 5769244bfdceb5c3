// SPDX-License-Identifier: GPL-2.0-or-later
/* A private copy of what the emulated code touches, page by page, with a bit per byte that is not known. */
#include <stdlib.h>
#include <string.h>

#include "emu/emu_memory.h"

#define GRANULES (EMU_PAGE / EMU_GRANULE)
#define FRESH_AROUND (4ull << 20) /* bytes: allocators grow by less, but for large blocks */
#define LOADED_MOST 4096          /* of one run; later ones are believed unseen */

/* In place of a page that is not there: one whose number leads elsewhere, so that nobody finds it. */
static struct emu_page no_page[2] = { { .addr = EMU_PAGE }, { .addr = 0 } };

struct emu_memory *emu_mem_new(const struct emu_env *env)
{
	struct emu_memory *m = calloc(1, sizeof(*m));

	if (m)
		m->env = *env;
	return m;
}

void emu_mem_free(struct emu_memory *m)
{
	for (uint32_t i = 0; m && i < EMU_PAGES_MAX; i++) {
		free(m->written[i]);
		free(m->page[i]);
	}
	if (m)
		free(m->loaded);
	free(m);
}

void emu_mem_begin(struct emu_memory *m, const struct emu_start *start)
{
	uint64_t sp = start->regs[WREG_SP];

	memset(m->slot, 0, sizeof(m->slot));
	m->pages = m->writtens = 0;
	m->run++;
	for (unsigned i = 0; i < EMU_QUICK; i++)
		m->quick[i] = &no_page[i != 0];
	m->full = false;
	m->loads = m->unlisted = 0;
	m->sp = sp;
	m->stack = start->stack;
	m->stack_bytes = start->stack && sp <= UINT64_MAX - start->stack_bytes ? start->stack_bytes : 0;
	m->given = start->page;
	m->givens = start->page ? start->pages : 0;
	m->aged = start->aged;
	m->fresh = start->to_entry ? start->regs[WREG_AX] : 0;
	m->tell = NULL;
	m->now = (struct emu_access){ 0 };
}

void emu_mem_tell(struct emu_memory *m, emu_access_fn *tell, void *ctx)
{
	m->tell = tell;
	m->tell_ctx = ctx;
}

void emu_mem_by(struct emu_memory *m, uint64_t ip, uint32_t at, uint64_t sp)
{
	m->now.ip = ip;
	m->now.at = at;
	m->now.sp = sp;
}

uint32_t emu_mem_pages(const struct emu_memory *m)
{
	return m->pages;
}

bool emu_mem_full(const struct emu_memory *m)
{
	return m->full;
}

uint32_t emu_mem_unlisted(const struct emu_memory *m)
{
	return m->unlisted;
}

uint32_t emu_mem_changed(const struct emu_memory *m)
{
	uint8_t now[EMU_PAGE];
	uint32_t first = UINT32_MAX;

	for (uint32_t i = 0; i < m->pages; i++) {
		const struct emu_page *p = m->page[i];
		bool read = false, there = false;

		for (uint32_t next = p->first; next && next - 1 < first; next = m->loaded[next - 1].next) {
			const struct loaded *l = &m->loaded[next - 1];

			there = read ? there : m->env.page(m->env.ctx, p->addr, now);
			read = true;
			if (!there || memcmp(now + (l->addr - p->addr), &l->was, EMU_LOADED_WORD))
				first = next - 1;
		}
	}
	return first;
}

bool emu_mem_touched(const struct emu_memory *m, uint32_t i, struct emu_touched *out)
{
	if (i >= m->pages)
		return false;
	*out = (struct emu_touched){ m->page[i]->addr, m->page[i]->given, m->page[i]->spared };
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
static void lay_stack(const struct emu_memory *m, struct emu_page *p)
{
	uint64_t from = p->addr > m->sp ? p->addr : m->sp, to = p->addr + EMU_PAGE;

	if (to > m->sp + m->stack_bytes)
		to = m->sp + m->stack_bytes;
	if (from < to && from >= p->addr)
		memcpy(p->byte + (from - p->addr), m->stack + (from - m->sp), to - from);
}

static bool cannot_change(const struct emu_memory *m, uint64_t page)
{
	/* below the stack pointer leaf functions keep what is theirs, too */
	return (m->stack_bytes >= EMU_PAGE && page >= m->sp && page - m->sp <= m->stack_bytes - EMU_PAGE) ||
	       (m->env.fixed && m->env.fixed(m->env.ctx, page, EMU_PAGE));
}

/* Nothing of it is known but its piece of the stack. */
static void leave_unread(const struct emu_memory *m, struct emu_page *p)
{
	memset(p->byte, 0, EMU_PAGE);
	memset(p->unknown, 0xff, sizeof(p->unknown));
	p->doubtful = true;
	for (unsigned i = 0; i < EMU_PAGE; i++)
		if (p->addr + i >= m->sp && p->addr + i - m->sp < m->stack_bytes)
			p->unknown[i / 64] &= ~(1ull << i % 64);
}

/* brk() returns where memory ends, mmap() where it begins, and new memory is 0. It may be gone already when it is
 * looked at. What did not come to the entry that was observed is not believed anyway. */
static bool just_mapped(const struct emu_memory *m, uint64_t addr, uint8_t *byte)
{
	uint64_t apart = addr < m->fresh ? m->fresh - addr : addr - m->fresh;

	if (!m->fresh || apart > FRESH_AROUND)
		return false;
	memset(byte, 0, EMU_PAGE);
	return true;
}

static struct emu_page *page_of(struct emu_memory *m, uint64_t addr)
{
	uint64_t start = addr & ~(uint64_t)(EMU_PAGE - 1);
	uint32_t at = (uint32_t)(start / EMU_PAGE * 0x9e3779b1u >> 7) % EMU_SLOTS;
	struct emu_page **quick = &m->quick[start / EMU_PAGE % EMU_QUICK], *p;
	const uint8_t *given;

	if ((*quick)->addr == start)
		return *quick;
	for (; m->slot[at]; at = (at + 1) % EMU_SLOTS) {
		p = m->page[m->slot[at] - 1];
		if (p->addr == start)
			return *quick = p;
	}
	if (m->pages == EMU_PAGES_MAX || start > UINT64_MAX - EMU_PAGE) {
		m->full |= m->pages == EMU_PAGES_MAX;
		return NULL;
	}
	p = m->page[m->pages];
	if (!p)
		p = m->page[m->pages] = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->by = NULL;
	p->first = 0;
	given = given_at(m, start);
	p->addr = start;
	p->given = given;
	p->spared = cannot_change(m, start);
	p->unread = m->aged && !given && !p->spared;
	p->late = !given && !p->spared && !p->unread;
	p->doubtful = false;
	memset(p->used, 0, sizeof(p->used));
	memset(p->unknown, 0, sizeof(p->unknown));
	if (given)
		memcpy(p->byte, given, EMU_PAGE);
	else if (p->unread)
		leave_unread(m, p);
	else if (!m->env.page(m->env.ctx, start, p->byte) && !just_mapped(m, start, p->byte))
		return NULL;
	lay_stack(m, p);
	m->slot[at] = (uint16_t)++m->pages;
	return *quick = p;
}

static inline uint64_t low_bits(unsigned n)
{
	return n >= 64 ? ~0ull : (1ull << n) - 1;
}

uint64_t emu_mem_unknown_at(const struct emu_page *p, unsigned off, unsigned len)
{
	uint64_t bits;

	if (!p->doubtful)
		return 0;
	bits = p->unknown[off / 64] >> off % 64;
	if (off % 64 && off / 64 + 1 < EMU_WORDS)
		bits |= p->unknown[off / 64 + 1] << (64 - off % 64);
	return bits & low_bits(len);
}

static void set_unknown(struct emu_page *p, unsigned off, unsigned len, uint64_t unknown)
{
	uint64_t mask = low_bits(len);

	if (!p->doubtful && !unknown)
		return;
	p->doubtful = true;
	p->unknown[off / 64] = (p->unknown[off / 64] & ~(mask << off % 64)) | (unknown & mask) << off % 64;
	if (off % 64 && off / 64 + 1 < EMU_WORDS) {
		uint64_t over = mask >> (64 - off % 64);

		p->unknown[off / 64 + 1] = (p->unknown[off / 64 + 1] & ~over) | (unknown & mask) >> (64 - off % 64);
	}
}

void emu_mem_set_known(struct emu_page *p, unsigned off, unsigned len)
{
	set_unknown(p, off, len, 0);
}

static unsigned in_page(uint64_t addr, unsigned len)
{
	unsigned room = EMU_PAGE - (unsigned)(addr & (EMU_PAGE - 1));

	return len < room ? len : room;
}

/* ---- who wrote what is read ---- */

static uint8_t value_at(const struct emu_page *p, uint64_t addr, uint64_t *value)
{
	unsigned off = (unsigned)(addr & (EMU_PAGE - 1)) / EMU_GRANULE * EMU_GRANULE, len = 2 * EMU_GRANULE;

	if (off + len > EMU_PAGE || (p->doubtful && emu_mem_unknown_at(p, off, len)))
		len = p->doubtful && emu_mem_unknown_at(p, off, EMU_GRANULE) ? 0 : EMU_GRANULE;
	*value = 0;
	memcpy(value, p->byte + off, len);
	return (uint8_t)len;
}

/* read: the page; NULL: it is a store, or what is read is not known. */
static void tell(struct emu_memory *m, uint64_t addr, unsigned size, bool store, const struct emu_written_by *by,
		 const struct emu_page *read)
{
	m->now.addr = addr;
	m->now.size = size;
	m->now.store = store;
	m->now.writer = by && by->run == m->run ? by->ip : 0;
	m->now.age = by && by->run == m->run ? m->now.at + 1 - by->after : 0;
	m->now.valued = read ? value_at(read, addr, &m->now.value) : 0;
	m->tell(m->tell_ctx, &m->now);
}

static bool same(const struct emu_memory *m, const struct emu_written_by *a, const struct emu_written_by *b)
{
	bool written = a->run == m->run;

	return written == (b->run == m->run) && (!written || (a->after == b->after && a->ip == b->ip));
}

/* In one page. */
void emu_mem_tell_read(struct emu_memory *m, uint64_t addr, unsigned len, const struct emu_page *p)
{
	unsigned from = 0;

	if (!p || !p->by) {
		tell(m, addr, len, false, NULL, p);
		return;
	}
	while (from < len) {
		const struct emu_written_by *by = &p->by[((addr + from) & (EMU_PAGE - 1)) / EMU_GRANULE],
					    *next = by + 1;
		unsigned to = from + EMU_GRANULE - (unsigned)((addr + from) % EMU_GRANULE);

		for (; to < len && same(m, by, next); to += EMU_GRANULE)
			next++;
		to = to < len ? to : len;
		tell(m, addr + from, to - from, false, by, p);
		from = to;
	}
}

static struct emu_written_by *next_written(struct emu_memory *m)
{
	struct emu_written_by **of = &m->written[m->writtens];

	if (!*of)
		*of = calloc(GRANULES, sizeof(**of));
	m->writtens += *of != NULL;
	return *of;
}

void emu_mem_tell_write(struct emu_memory *m, uint64_t addr, unsigned len, struct emu_page *p)
{
	unsigned off = (unsigned)(addr & (EMU_PAGE - 1));

	/* without memory nobody is known: as if it had been written before the run */
	if (p && !p->by) {
		p->by = next_written(m);
		p->from = GRANULES;
		p->to = 0;
	}
	if (p && p->by) {
		unsigned from = off / EMU_GRANULE, to = (off + len - 1) / EMU_GRANULE + 1;

		for (unsigned g = from; g < to; g++)
			p->by[g] = (struct emu_written_by){ m->now.ip, m->now.at + 1, m->run };
		p->from = (uint16_t)(from < p->from ? from : p->from);
		p->to = (uint16_t)(to > p->to ? to : p->to);
	}
	tell(m, addr, len, true, NULL, NULL);
}

static void tell_all(struct emu_memory *m, uint64_t addr, unsigned len, bool store)
{
	for (unsigned done = 0; done < len;) {
		unsigned n = in_page(addr + done, len - done);

		if (store)
			emu_mem_tell_write(m, addr + done, n, page_of(m, addr + done));
		else
			emu_mem_tell_read(m, addr + done, n, page_of(m, addr + done));
		done += n;
	}
}

void emu_mem_written(const struct emu_memory *m, emu_access_fn *to, void *ctx)
{
	for (uint32_t i = 0; i < m->pages; i++) {
		const struct emu_page *p = m->page[i];

		for (unsigned g = p->by ? p->from : 0, end; p->by && g < p->to; g = end) {
			const struct emu_written_by *by = &p->by[g];
			struct emu_access a = {
				.ip = by->ip, .addr = p->addr + g * EMU_GRANULE, .at = by->after - 1, .store = true
			};

			for (end = g + 1;
			     end < p->to && p->by[end].run == by->run && (by->run != m->run || p->by[end].ip == by->ip);
			     end++)
				;
			a.size = (end - g) * EMU_GRANULE;
			if (by->run != m->run)
				continue;
			a.valued = value_at(p, a.addr, &a.value);
			to(ctx, &a);
		}
	}
}

/* ---- what was read from late pages ---- */

/* Of a word: all of it came with the sample. */
static bool on_given_stack(const struct emu_memory *m, uint64_t addr)
{
	return m->stack_bytes >= EMU_LOADED_WORD && addr >= m->sp && addr - m->sp <= m->stack_bytes - EMU_LOADED_WORD;
}

void emu_mem_use(struct emu_memory *m, struct emu_page *p, unsigned off, unsigned len, bool store)
{
	for (unsigned w = off / EMU_LOADED_WORD; w <= (off + len - 1) / EMU_LOADED_WORD; w++) {
		struct loaded *l;

		if (p->used[w / 64] >> w % 64 & 1)
			continue;
		p->used[w / 64] |= 1ull << w % 64;
		if (store || on_given_stack(m, p->addr + w * EMU_LOADED_WORD))
			continue;
		if (m->loads == LOADED_MOST ||
		    (!m->loaded && !(m->loaded = malloc(LOADED_MOST * sizeof(*m->loaded))))) {
			m->unlisted++;
			continue;
		}
		if (p->first)
			m->loaded[p->last].next = m->loads + 1;
		else
			p->first = m->loads + 1;
		p->last = m->loads;
		l = &m->loaded[m->loads++];
		l->next = 0;
		l->addr = p->addr + w * EMU_LOADED_WORD;
		memcpy(&l->was, p->byte + w * EMU_LOADED_WORD, EMU_LOADED_WORD);
	}
}

/* ---- reads and writes ---- */

bool emu_mem_read(struct emu_memory *m, uint64_t addr, void *buf, unsigned len, uint64_t *known)
{
	uint64_t unknown = 0;

	if (len > 64)
		return false;
	for (unsigned done = 0; done < len;) {
		unsigned n = in_page(addr + done, len - done), off = (unsigned)((addr + done) & (EMU_PAGE - 1));
		struct emu_page *p = page_of(m, addr + done);

		if (!p)
			return false;
		memcpy((uint8_t *)buf + done, p->byte + off, n);
		if (p->late)
			emu_mem_use(m, p, off, n, false);
		unknown |= emu_mem_unknown_at(p, off, n) << done;
		done += n;
	}
	*known = ~unknown & low_bits(len);
	emu_mem_note_place(m, addr, false);
	if (m->tell)
		tell_all(m, addr, len, false);
	return true;
}

bool emu_mem_write(struct emu_memory *m, uint64_t addr, const void *buf, unsigned len, uint64_t known)
{
	if (len > 64)
		return false;
	for (unsigned done = 0; done < len;) {
		unsigned n = in_page(addr + done, len - done), off = (unsigned)((addr + done) & (EMU_PAGE - 1));
		struct emu_page *p = page_of(m, addr + done);

		if (!p)
			return false;
		if (p->late)
			emu_mem_use(m, p, off, n, true);
		memcpy(p->byte + off, (const uint8_t *)buf + done, n);
		set_unknown(p, off, n, ~known >> done);
		done += n;
	}
	emu_mem_note_place(m, addr, true);
	if (m->tell)
		tell_all(m, addr, len, true);
	return true;
}

bool emu_mem_forget(struct emu_memory *m, uint64_t addr, uint64_t len)
{
	static const uint8_t nothing[64];

	if (len > (uint64_t)EMU_PAGES_MAX * EMU_PAGE)
		return false;
	for (uint64_t done = 0; done < len; done += 64)
		if (!emu_mem_write(m, addr + done, nothing, len - done < 64 ? (unsigned)(len - done) : 64, 0))
			return false;
	return true;
}
