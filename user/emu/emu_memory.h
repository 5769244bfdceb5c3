/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What emu_mem.c keeps, and the common case of its reads and writes, for code that carries out millions of them: a page
 * that was touched before, within one page, nothing of it unknown. What gets false has changed nothing, and asks
 * emu_mem_read() or emu_mem_write(). Included by emu_mem.c, emu_quick.c and emu.c only.
 */
#ifndef ACCPERF_EMU_EMU_MEMORY_H
#define ACCPERF_EMU_EMU_MEMORY_H

#include <string.h>

#include "emu/emu_priv.h"

#define EMU_PAGES_MAX 512u            /* that one run may touch: 2 MiB of them, and their marks; by hand */
#define EMU_SLOTS (2 * EMU_PAGES_MAX) /* a power of two */
#define EMU_QUICK 64                  /* pages found by their number alone: more than a loop touches; a power of two */
#define EMU_WORDS (EMU_PAGE / 64)
#define EMU_LOADED_WORD 8 /* bytes: what was read is compared in such words */

struct emu_written_by {
	uint64_t ip;
	uint32_t after; /* instructions, and 1 more */
	uint32_t run;   /* emu_memory.run; another one: nobody of this run */
};

struct emu_page {
	uint64_t addr;
	struct emu_written_by *by; /* a granule each, of `written`; NULL: nothing was written */
	bool late;                 /* its bytes are younger than the sample */
	bool doubtful;             /* a byte of it is unknown */
	bool given;                /* with the sample */
	bool unread;               /* it did not come with the sample, and is not looked at now */
	bool spared;               /* see emu_touched */
	uint16_t from, to;         /* granules in `by` that were written lie in between; `to`: and 1 more */
	uint32_t first, last;      /* in `loaded`, of this page; first: and 1 more, 0: none */
	uint64_t used[EMU_PAGE / EMU_LOADED_WORD / 64]; /* words that were looked at here or written, of a late page */
	uint64_t unknown[EMU_WORDS];
	uint8_t byte[EMU_PAGE];
};

struct emu_memory {
	struct emu_env env;
	struct emu_page *page[EMU_PAGES_MAX]; /* kept from one run to the next */
	uint16_t slot[EMU_SLOTS];             /* index + 1 */
	uint32_t pages;
	struct emu_page *quick[EMU_QUICK]; /* by number; none: one of no address */
	uint64_t sp;
	const uint8_t *stack;
	uint32_t stack_bytes;
	const struct sample_page *given;
	uint32_t givens;
	bool aged;      /* see emu_start */
	uint64_t fresh; /* around it memory may just have been mapped; 0: not that one knows */
	bool full;
	/* What was read from late pages, as it was: first come first. */
	struct loaded {
		uint64_t addr, was;
		uint32_t next; /* of the same page, in this order; 0: none */
	} * loaded;
	uint32_t loads, unlisted;           /* loads: as many */
	struct emu_place place[EMU_PLACES]; /* of the instruction that runs now */
	unsigned places;
	emu_access_fn *tell;
	void *tell_ctx;
	/* One for each page that a run writes to, kept from one run to the next: to clear them took longer than the
	 * run. */
	struct emu_written_by *written[EMU_PAGES_MAX];
	uint32_t writtens, run;
	struct emu_access now; /* who reads or writes */
};

/* The page, and where in it; NULL: not at hand. */
static inline struct emu_page *emu_mem_at(const struct emu_memory *m, uint64_t addr, unsigned len, unsigned *off)
{
	struct emu_page *p = m->quick[addr / EMU_PAGE % EMU_QUICK];
	uint64_t apart = addr ^ p->addr;

	*off = (unsigned)apart;
	return apart <= EMU_PAGE - len ? p : NULL;
}

static inline void emu_mem_note_place(struct emu_memory *m, uint64_t addr, bool store)
{
	if (m->places < EMU_PLACES)
		m->place[m->places++] = (struct emu_place){ addr, store };
}

/* The rest of a read or write, once it is certain. */
void emu_mem_use(struct emu_memory *m, struct emu_page *p, unsigned off, unsigned len, bool store);
void emu_mem_tell_read(struct emu_memory *m, uint64_t addr, unsigned len, const struct emu_page *p);
void emu_mem_tell_write(struct emu_memory *m, uint64_t addr, unsigned len, struct emu_page *p);
uint64_t emu_mem_unknown_at(const struct emu_page *p, unsigned off, unsigned len);
void emu_mem_set_known(struct emu_page *p, unsigned off, unsigned len);

/* Of up to 8 bytes, all of which are known. */
static inline bool emu_mem_get(struct emu_memory *m, uint64_t addr, unsigned len, uint64_t *v)
{
	unsigned off;
	struct emu_page *p = emu_mem_at(m, addr, len, &off);

	if (!p || (p->doubtful && emu_mem_unknown_at(p, off, len)))
		return false;
	*v = 0;
	memcpy(v, p->byte + off, len);
	if (p->late)
		emu_mem_use(m, p, off, len, false);
	emu_mem_note_place(m, addr, false);
	if (m->tell)
		emu_mem_tell_read(m, addr, len, p);
	return true;
}

static inline bool emu_mem_put(struct emu_memory *m, uint64_t addr, unsigned len, uint64_t v)
{
	unsigned off;
	struct emu_page *p = emu_mem_at(m, addr, len, &off);

	if (!p)
		return false;
	if (p->late)
		emu_mem_use(m, p, off, len, true);
	memcpy(p->byte + off, &v, len);
	if (p->doubtful)
		emu_mem_set_known(p, off, len);
	emu_mem_note_place(m, addr, true);
	if (m->tell)
		emu_mem_tell_write(m, addr, len, p);
	return true;
}

#endif
