// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Computation per function, from where samples stand: a sampled instruction computes or does not; a
 * timer sample stands for its whole basic block, of which a part computes. Code is read from the
 * module's file, if it is still the same build.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/block.h"
#include "proc/module.h"
#include "flow/input_priv.h"
#include "util/grow.h"
#include "volume/block_balance.h"

struct leaf {
	uint64_t addr;
	uint32_t module;
	double computes; /* part of the instructions there that compute; below 0 unknown */
	bool asked;
};

struct reader {
	struct raw *r;
	struct block_cache *blocks;
	struct intern keys;
	struct leaf *leaf;
	size_t count, cap;
};

static double one_instruction(struct module *m, uint64_t addr)
{
	uint8_t bytes[15];
	struct dec_insn d;

	if (dec_decode(bytes, module_read(m, addr, bytes, sizeof(bytes)), &d))
		return -1;
	return d.flags & DEC_F_COMPUTE ? 1 : 0;
}

static double whole_block(struct reader *x, struct module *m, uint32_t id, uint64_t addr)
{
	static struct block_result b; /* large */
	const uint64_t regs[64] = { 0 };
	struct block_code code = {
		.id = id & 0xfffff, .read = module_code_read, .bounds = module_code_bounds, .ctx = m
	};
	struct block_state s = { .regs = regs, .code_ip = addr };

	if (block_sample(x->blocks, &code, &s, 0, &b) || !b.work.insns)
		return -1;
	return (double)b.work.compute / b.work.insns;
}

static double part_computing(struct reader *x, const struct fmt_frame *f, bool instructions)
{
	struct site_key k = { .ip = f->addr, .module = f->module, .function = instructions };
	struct module *m;
	struct leaf *l;
	bool added;
	uint32_t id = intern_add(&x->keys, &k, sizeof(k), &added);

	if (!id || !GROW(x->leaf, x->count, x->cap, 256))
		return -1;
	if (added)
		x->leaf[x->count++] = (struct leaf){ .addr = f->addr, .module = f->module };
	l = &x->leaf[id - 1];
	if (!l->asked) {
		l->asked = true;
		m = raw_open_module(x->r, f->module);
		l->computes = !m             ? -1
			      : instructions ? one_instruction(m, f->addr)
					     : whole_block(x, m, f->module, f->addr);
	}
	return l->computes;
}

/* What the recorder took an instruction's time to be; the weights of accesses rest on the same. */
double input_nominal_ns(const struct raw *r)
{
	const char *weights = store_meta_get(r->in->reader, "weights");
	double ns;

	return weights && sscanf(weights, "time, taken as %lf ns", &ns) == 1 && ns > 0.01 && ns < 100 ? ns : 1;
}

static bool kernel_leaf(const struct raw *r, const struct fmt_frame *leaf)
{
	const struct profile_module *m = raw_module(r, leaf->module);

	return m && m->kind == FMT_MOD_KERNEL;
}

static void add_computing(struct reader *x, const struct sampled_stack *c, uint32_t func, bool counted, double ns)
{
	struct flow_input *in = x->r->in;
	const struct fmt_frame leaf = raw_frame(x->r, c->stack, 0);
	const struct in_stack *s = c->stack <= in->stack_count ? &in->stack[c->stack - 1] : NULL;
	double n = counted ? c->instructions : c->ns / ns, part;
	struct in_function_time *t = &in->times[func];

	/* how fast the kernel's code ran nobody knows: a speed is of the program's */
	if (!(n > 0) || kernel_leaf(x->r, &leaf))
		return;
	if (!counted) {
		t->instructions += n;
		for (uint32_t k = 0; s && k < s->count; k++)
			in->times[in->stack_func[s->first + k]].inc_instructions += n;
	}
	part = part_computing(x, &leaf, counted);
	if (part < 0) {
		t->undecoded += n;
		return;
	}
	t->compute += n * part;
	t->compute_samples += part * (double)c->samples;
	for (uint32_t k = 0; s && k < s->count; k++)
		in->times[in->stack_func[s->first + k]].inc_compute += n * part;
}

int input_compute(struct raw *r, const uint32_t *func_of_cell)
{
	struct reader x = { .r = r, .blocks = block_cache_new(0) };
	double ns = input_nominal_ns(r), counted = 0;

	if (!x.blocks)
		return err_set(r->e, -ENOMEM, "out of memory");
	r->in->has_compute = true;
	for (size_t i = 0; i < r->cell_count; i++)
		counted += r->cell[i].instructions;
	for (size_t i = 0; i < r->cell_count; i++)
		if (func_of_cell[i] != FLOW_NONE)
			add_computing(&x, &r->cell[i], func_of_cell[i], counted > 0, ns);
	intern_release(&x.keys);
	free(x.leaf);
	block_cache_free(x.blocks);
	return 0;
}
