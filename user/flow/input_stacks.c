// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of call stacks, for whatever is inclusive of callees. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/input_priv.h"

static int take_stack_functions(struct raw *r, uint32_t stack)
{
	struct flow_input *in = r->in;
	struct in_stack out = { .first = in->stack_func_count,
				.complete = r->p->stacks[stack].flags & FMT_STACK_COMPLETE };

	for (uint32_t i = 0; i < raw_frames(r, stack); i++) {
		uint32_t func;

		if (r->o.main_image && r->main_module && raw_frame(r, stack, i).module != r->main_module)
			continue;
		func = func_of_frame(r, stack, i);
		if (func == FLOW_NONE)
			return err_set(r->e, -ENOMEM, "out of memory");
		if (in->funcs[func].stub)
			continue;
		/* recursion: a function is on the stack once */
		for (uint32_t k = 0; k < out.count && func != FLOW_NONE; k++)
			if (in->stack_func[out.first + k] == func)
				func = FLOW_NONE;
		if (func == FLOW_NONE)
			continue;
		if (INPUT_PUSH(r, in->stack_func, in->stack_func_count, in->stack_func_cap, func))
			return r->e->code;
		out.count++;
	}
	return INPUT_PUSH(r, in->stack, in->stack_count, in->stack_cap, out);
}

int input_stacks(struct raw *r)
{
	struct flow_input *in = r->in;
	int err = 0;

	for (uint32_t i = 1; r->o.stacks && !err && i < r->p->stack_count; i++)
		err = take_stack_functions(r, i);
	/* without the functions an index would lead nowhere */
	for (size_t i = 0; !err && i < in->access_count; i++)
		in->access[i].stack = r->o.stacks ? profile_stack_of(r->p, in->access[i].stack) : 0;
	for (size_t i = 0; !err && i < in->blind_count; i++)
		in->blind[i].stack = r->o.stacks ? profile_stack_of(r->p, in->blind[i].stack) : 0;
	for (size_t i = 0; !err && i < in->window_count; i++)
		in->window[i].arm.stack = 0;
	return err;
}
