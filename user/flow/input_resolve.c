// SPDX-License-Identifier: GPL-2.0-or-later
/* Second half of loading: the file's ids become indices, everything is put in order. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/input_priv.h"
#include "flow/sysname.h"
#include "util/buf.h"
#include "volume/block_balance.h"

static int by_access_time(const void *a, const void *b)
{
	const struct in_access *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static int by_armed(const void *a, const void *b)
{
	const struct in_window *x = a, *y = b;

	return (x->armed > y->armed) - (x->armed < y->armed);
}

static int by_sysio_time(const void *a, const void *b)
{
	const struct in_sysio *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

/* Usually in order already: a stable check is cheaper than sorting a million records. */
#define SORT(array, count, cmp)                                                                                        \
	do {                                                                                                           \
		for (size_t i_ = 1; i_ < (count); i_++) {                                                              \
			if (cmp(&(array)[i_ - 1], &(array)[i_]) > 0) {                                                 \
				qsort(array, count, sizeof(*(array)), cmp);                                            \
				break;                                                                                 \
			}                                                                                              \
		}                                                                                                      \
	} while (0)

static int resolve_accesses(struct raw *r)
{
	struct flow_input *in = r->in;
	int err = 0;

	for (size_t i = 0; !err && i < in->access_count; i++)
		err = resolve_code(r, &in->access[i].site, &in->access[i].func, in->access[i].stack);
	for (size_t i = 0; !err && i < in->blind_count; i++)
		err = resolve_code(r, &in->blind[i].site, &in->blind[i].func, in->blind[i].stack);
	for (size_t i = 0; !err && i < in->window_count; i++)
		err = resolve_code(r, &in->window[i].arm.site, &in->window[i].arm.func, in->window[i].arm.stack);
	for (size_t i = 0; !err && i < in->hit_count; i++) {
		struct in_hit *h = &in->hit[i];
		uint32_t stack = h->func; /* input.c left the stack's id there */
		char name[64];

		err = resolve_code(r, &h->site, &h->func, stack);
		if (!err && (h->flags & FMT_A_KERNEL)) {
			h->func = in_func_add(in, kernel_name(h->syscall, name, sizeof(name)), "");
			if (h->func == FLOW_NONE)
				err = err_set(r->e, -ENOMEM, "out of memory");
		}
	}
	for (size_t i = 0; !err && i < in->sysio_count; i++) {
		char name[64];

		/* input.c left the call's number there */
		in->sysio[i].func = in_func_add(in, kernel_name((int)in->sysio[i].func, name, sizeof(name)), "");
		if (in->sysio[i].func == FLOW_NONE)
			err = err_set(r->e, -ENOMEM, "out of memory");
	}
	if (!err && r->o.locals)
		err = input_locals_ask(r);
	SORT(in->access, in->access_count, by_access_time);
	SORT(in->window, in->window_count, by_armed);
	SORT(in->sysio, in->sysio_count, by_sysio_time);
	return err;
}

static int resolve_exact(struct raw *r)
{
	struct flow_input *in = r->in;

	for (size_t i = 0; i < in->x_func_count; i++)
		in->x_func[i].function = func_by_record(r, in->x_func[i].function);
	for (size_t i = 0; i < in->x_edge_count; i++) {
		in->x_edge[i].producer = func_by_record(r, in->x_edge[i].producer);
		in->x_edge[i].consumer = func_by_record(r, in->x_edge[i].consumer);
	}
	for (size_t i = 0; i < in->x_subtree_count; i++)
		in->x_subtree[i].function = func_by_record(r, in->x_subtree[i].function);
	for (size_t i = 0; i < in->x_subtree_ke_count; i++)
		in->x_subtree_ke[i].function = func_by_record(r, in->x_subtree_ke[i].function);
	for (size_t i = 0; i < in->x_path_count; i++)
		in->x_path[i].function = func_by_record(r, in->x_path[i].function);
	for (size_t i = 0; i < in->x_slice_count; i++)
		in->x_slice[i].function = func_by_record(r, in->x_slice[i].function);
	for (size_t i = 0; i < in->x_use_count; i++)
		in->x_use[i].function = func_by_record(r, in->x_use[i].function);
	for (size_t i = 0; i < in->x_reach_count; i++)
		in->x_reach[i].function = func_by_record(r, in->x_reach[i].function);
	return 0;
}

/* Before those that are on stacks alone: a function's number does not depend on whether these are asked for. */
static void name_cells(struct raw *r)
{
	for (size_t i = 0; i < r->cell_count; i++) {
		if (raw_frames(r, r->cell[i].stack))
			func_of_frame(r, r->cell[i].stack, 0);
		if (r->o.main_image)
			main_caller(r, r->cell[i].stack);
	}
}

/* Once all functions have a number, which times are by. */
static int resolve_cells(struct raw *r)
{
	struct flow_input *in = r->in;
	uint32_t *func_of_cell;
	int err = 0;

	in->times = calloc(in->func_count + 1, sizeof(*in->times));
	func_of_cell = malloc((r->cell_count + 1) * sizeof(*func_of_cell));
	if (!in->times || !func_of_cell) {
		free(func_of_cell);
		return err_set(r->e, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < r->cell_count; i++) {
		const struct sampled_stack *c = &r->cell[i];
		uint32_t f, m;

		func_of_cell[i] = FLOW_NONE;
		if (!raw_frames(r, c->stack))
			continue;
		for (uint32_t k = 0; c->stack <= in->stack_count && k < in->stack[c->stack - 1].count; k++) {
			struct in_function_time *t = &in->times[in->stack_func[in->stack[c->stack - 1].first + k]];

			t->inc_ns += c->ns;
			t->inc_instructions += c->instructions;
		}
		f = func_of_frame(r, c->stack, 0);
		if (r->o.main_image && raw_frame(r, c->stack, 0).module != r->main_module &&
		    (m = main_caller(r, c->stack)) != FLOW_NONE)
			f = m;
		if (f >= in->func_count)
			continue;
		func_of_cell[i] = f;
		in->times[f].self_ns += r->cell[i].ns;
		in->times[f].instructions += r->cell[i].instructions;
		in->times[f].samples += r->cell[i].samples;
	}
	if (r->o.compute)
		err = input_compute(r, func_of_cell);
	free(func_of_cell);
	return err;
}

static int list_build_ids(struct raw *r)
{
	AUTO_BUF(b);

	for (size_t i = 1; i < r->p->module_count; i++) {
		const struct profile_module *m = &r->p->modules[i];

		if (m->kind != FMT_MOD_FILE || !m->build_id_len)
			continue;
		buf_addf(&b, "%s=", base_name(m->path));
		for (uint32_t j = 0; j < m->build_id_len; j++)
			buf_addf(&b, "%02x", m->build_id[j]);
		buf_addch(&b, '\n');
	}
	if (!b.data)
		buf_addstr(&b, "");
	if (buf_failed(&b))
		return err_set(r->e, -ENOMEM, "out of memory");
	r->in->build_ids = b.data;
	b.data = NULL;
	return 0;
}

int input_resolve(struct raw *r)
{
	struct flow_input *in = r->in;
	const struct profile_module *main;
	int err;

	find_main_module(r);
	in->outside = in_func_add(in, FLOW_OUTSIDE, "");
	in->before = in_func_add(in, FLOW_BEFORE, "");
	in->unknown = in_func_add(in, FLOW_UNKNOWN, "");
	if (in->outside == FLOW_NONE || in->before == FLOW_NONE || in->unknown == FLOW_NONE)
		return err_set(r->e, -ENOMEM, "out of memory");
	err = resolve_exact(r);
	if (!err)
		err = resolve_accesses(r);
	if (!err)
		err = input_burst_resolve(r);
	if (!err)
		err = input_earlier_resolve(r);
	if (err)
		return err;
	name_cells(r);
	err = input_stacks(r);
	/* last, as what is on stacks: numbers do not depend on whether locals are asked for */
	if (!err && r->o.locals)
		err = input_locals_name(r);
	if (!err)
		err = resolve_cells(r);
	if (err)
		return err;
	main = raw_module(r, r->main_module);
	if (main && *main->path) {
		snprintf(in->program, sizeof(in->program), "%s", base_name(main->path));
		for (uint32_t f = 0; f < in->func_count; f++)
			in->funcs[f].main_image = !strcmp(in->funcs[f].object, main->object);
	}
	return list_build_ids(r);
}
