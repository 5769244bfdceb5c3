// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/located_code.h"

#include <stdlib.h>

#include "abi.h"
#include "proc/ehframe.h"
#include "proc/module.h"
#include "proc/procmap.h"
#include "record/go_stacks.h"
#include "util/target_memory.h"

#define NOMINAL_BYTES_PER_NS 32.0 /* of string instructions */
#define STACK_MOST (64ull << 20)  /* bytes: of more, the pointer is on another one; by hand */

struct code_ref {
	struct module *module;
	uint32_t pid;
};

struct located_code {
	struct session *s;
	struct block_cache *blocks;
	struct block_result result; /* of the last sample */
	struct code_ref ref;        /* behind `code` */
	struct block_code code;
	struct go_stacks go;
};

struct located_code *located_code_new(struct session *s)
{
	struct located_code *c = calloc(1, sizeof(*c));

	if (!c || !(c->blocks = block_cache_new(0))) {
		free(c);
		return NULL;
	}
	c->s = s;
	return c;
}

void located_code_free(struct located_code *c)
{
	if (!c)
		return;
	block_cache_free(c->blocks);
	free(c);
}

struct block_cache *located_code_blocks(struct located_code *c)
{
	return c->blocks;
}

size_t located_code_memory(uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	ssize_t n = target_memory_read(pid, addr, buf, len);

	return n < 0 ? 0 : (size_t)n;
}

static size_t read_located_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct code_ref *r = ctx;

	if (r->module->kind == FMT_MOD_FILE || r->module->kind == FMT_MOD_VDSO)
		return module_read(r->module, addr, buf, len);
	return located_code_memory(r->pid, addr, buf, len);
}

static bool located_code_bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	struct code_ref *r = ctx;
	const struct ehframe *f = module_ehframe(r->module);

	return f && ehframe_function(f, addr, start, end);
}

static const struct block_code *code_of(struct located_code *c, uint32_t pid, struct module *m)
{
	bool fixed = m->kind == FMT_MOD_FILE || m->kind == FMT_MOD_VDSO;

	c->ref = (struct code_ref){ .module = m, .pid = pid };
	c->code = (struct block_code){ .id = m->id,
				       .read = read_located_code,
				       .bounds = fixed ? located_code_bounds : NULL,
				       .volatile_bytes = !fixed,
				       .ctx = &c->ref };
	return &c->code;
}

const struct block_code *located_code_at(struct located_code *c, uint32_t pid, uint64_t ip, uint64_t *code_ip)
{
	struct place place;

	if (!procmap_lookup(attr_procmaps(session_attr(c->s)), pid, ip, &place) || !place.module)
		return NULL;
	*code_ip = place.vaddr;
	return code_of(c, pid, place.module);
}

static uint64_t function_start(const struct block_code *code, uint64_t code_ip, uint64_t ip)
{
	uint64_t start, end;

	return code && code->bounds && code->bounds(code->ctx, code_ip, &start, &end) ? ip - code_ip + start : ip;
}

uint64_t located_code_function(struct located_code *c, uint32_t pid, uint64_t ip)
{
	uint64_t code_ip = 0;
	const struct block_code *code = located_code_at(c, pid, ip, &code_ip);

	return function_start(code, code_ip, ip);
}

void located_code_of_stack(struct located_code *c, uint32_t stack, struct located *at)
{
	const struct place *leaf = attr_leaf(session_attr(c->s));

	*at = (struct located){ .stack = stack, .looked = true };
	if (!leaf)
		return;
	at->module = leaf->module;
	at->vaddr = leaf->vaddr;
}

void located_code_find(struct located_code *c, const struct sample *m, struct located *at)
{
	struct place place;

	if (at->looked)
		return;
	at->looked = true;
	if (!procmap_lookup(attr_procmaps(session_attr(c->s)), m->pid, m->ip, &place))
		return;
	procmap_keep(attr_procmaps(session_attr(c->s)), m->pid, m->ip, &place);
	at->module = place.module;
	at->vaddr = place.vaddr;
}

const struct block_code *located_code_there(struct located_code *c, const struct sample *m, const struct located *at)
{
	return at->module ? code_of(c, m->pid, at->module) : NULL;
}

uint64_t located_code_function_at(struct located_code *c, const struct sample *m, struct located *at)
{
	if (!at->function)
		at->function = function_start(located_code_there(c, m, at), at->vaddr, m->ip);
	return at->function;
}

uint64_t located_code_stack_end(struct located_code *c, const struct sample *s)
{
	uint64_t sp = s->regs[WREG_SP], end = go_stacks_end(&c->go, s->pid, s->regs[WREG_R14], sp, located_code_memory);
	struct place place;

	if (end)
		return end;
	/* above the thread's first frame lies its own data. A stack grows below the mapping that was read */
	end = session_stack_end(c->s, s->tid);
	if (end > sp && end - sp < STACK_MOST)
		return end;
	if (procmap_lookup_quiet(attr_procmaps(session_attr(c->s)), s->pid, sp, &place) && place.map.end > sp)
		return place.map.end;
	return 0;
}

const struct block_result *located_code_evaluate(struct located_code *c, const struct sample *s,
						 const struct located *at)
{
	struct block_state st = { .regs = s->regs,
				  .stack = s->stack,
				  .stack_bytes = sample_stack_known(s, s->regs[WREG_SP]),
				  .code_hash = s->code_hash,
				  .code_ip = at->vaddr };

	if (!at->module)
		return NULL;
	st.stack_end = located_code_stack_end(c, s);
	return block_sample(c->blocks, code_of(c, s->pid, at->module), &st, 0, &c->result) ? NULL : &c->result;
}

double located_code_executions(const struct block_result *r, double period)
{
	double ns = NOMINAL_NS_PER_INSN * (r->work.insns ? r->work.insns : 1);

	for (unsigned i = 0; i < r->count; i++)
		if ((r->access[i].flags & FMT_A_REP) && r->access[i].in_block)
			ns += (double)r->access[i].size / NOMINAL_BYTES_PER_NS;
	return period / ns;
}

bool located_code_record(struct located_code *c, const struct sample *s, struct located *at,
			 const struct block_access *a, double weight, struct fmt_access *out)
{
	struct attr *attr = session_attr(c->s);

	if (!at->module)
		return false;
	if (!at->id)
		at->id = attr_module(attr, s->pid, at->module);
	*out = (struct fmt_access){ .time = s->time,
				    .addr = a->addr,
				    .weight = weight,
				    .pid = s->pid,
				    .tid = s->tid,
				    .stack = at->stack,
				    .module = at->id,
				    .ip = a->ip,
				    .size = a->size > UINT32_MAX ? UINT32_MAX : (uint32_t)a->size,
				    .flags = a->flags | FMT_A_TIME | FMT_A_DERIVED };
	if (!a->known) {
		/* as many as a gather has lanes; none of them can be placed */
		out->flags |= FMT_A_NO_ADDR;
		out->addr = 0;
		out->weight *= a->lanes;
	}
	attr_name(attr, out->module, out->ip);
	return true;
}
