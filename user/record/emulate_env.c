// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/emulate_env.h"

#include <errno.h>
#include <string.h>

#include "attr/attr.h"
#include "proc/ehframe.h"
#include "util/target_memory.h"

#define CLOCK_PAGES 8 /* looked for before the vdso; by hand */

bool emulate_env_mapped(const struct emulate_env *r, uint64_t addr, struct place *at)
{
	return procmap_lookup_quiet(attr_procmaps(session_attr(r->s)), r->pid, addr, at);
}

bool emulate_env_find(const struct emulate_env *r, uint64_t addr, struct place *at)
{
	return emulate_env_mapped(r, addr, at) && at->module;
}

bool emulate_env_process(struct emulate_env *r, uint32_t pid)
{
	const struct process *proc;
	uint64_t before = r->code;

	if (r->pid == pid && !r->stale)
		return true;
	r->pid = pid;
	r->stale = false;
	code_pieces_forget(&r->pieces);
	proc = procmap_process(attr_procmaps(session_attr(r->s)), pid);
	r->code = proc ? procmap_code(proc) : 0;
	return r->code && r->code == before;
}

static size_t code_of_file(const void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct emulate_env *r = ctx;
	struct place at;

	if (!emulate_env_find(r, addr, &at) || !(at.map.prot & MAP_EXEC) || (at.map.prot & MAP_WRITE) ||
	    (at.module->kind != FMT_MOD_FILE && at.module->kind != FMT_MOD_VDSO))
		return 0;
	return module_read(at.module, at.vaddr, buf, len < at.map.end - addr ? len : at.map.end - addr);
}

/* Only what nobody can write: anything else may be rewritten while it runs. */
static size_t file_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct emulate_env *r = ctx;

	return code_pieces_read(&r->pieces, code_of_file, r, addr, buf, len);
}

/* The kernel's clock lies before the vDSO, which reads it, and nobody else may. */
static bool clock_page(const struct emulate_env *r, uint64_t addr)
{
	struct place at;

	for (uint64_t k = 1; k <= CLOCK_PAGES; k++)
		if (addr < UINT64_MAX - k * EMU_PAGE && emulate_env_find(r, addr + k * EMU_PAGE, &at))
			return at.module->kind == FMT_MOD_VDSO;
	return false;
}

static bool page(void *ctx, uint64_t addr, uint8_t *buf)
{
	struct emulate_env *r = ctx;

	if (target_memory_read(r->pid, addr & ~(uint64_t)(EMU_PAGE - 1), buf, EMU_PAGE) == (ssize_t)EMU_PAGE)
		return true;
	r->denied |= errno == EPERM || errno == ENOSYS;
	if (!clock_page(r, addr))
		return false;
	/* as where there is no such clock: the kernel is asked for the time then, in vain */
	memset(buf, 0, EMU_PAGE);
	return true;
}

static bool function_bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct ehframe *f;
	struct place at;

	if (!emulate_env_find(ctx, addr, &at))
		return false;
	f = module_ehframe(at.module);
	if (!f || !ehframe_function(f, at.vaddr, start, end))
		return false;
	*start += addr - at.vaddr;
	*end += addr - at.vaddr;
	return true;
}

static bool fixed(void *ctx, uint64_t addr, size_t len)
{
	struct place at;

	return emulate_env_find(ctx, addr, &at) && !(at.map.prot & MAP_WRITE) && at.module->kind == FMT_MOD_FILE &&
	       len <= at.map.end - addr;
}

static bool reads_clock(void *ctx, uint64_t addr)
{
	struct place at;

	return emulate_env_find(ctx, addr, &at) && at.module->kind == FMT_MOD_VDSO;
}

struct emu_env emulate_env_of(struct emulate_env *sees)
{
	return (struct emu_env){ .code = file_code,
				 .page = page,
				 .function = function_bounds,
				 .fixed = fixed,
				 .clock = reads_clock,
				 .ctx = sees };
}
