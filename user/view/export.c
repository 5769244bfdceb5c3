// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/export.h"
#include "util/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct export_format export_formats[] = {
	{ "pprof", ".pb.gz", .binary = true, .carries_flow = true, .render = export_pprof },
	{ "otlp", ".otlp", .binary = true, .render = export_otlp },
	{ "collapsed", ".folded", .render = export_collapsed },
	{ "callgrind", ".callgrind", .render = export_callgrind },
	{ "speedscope", ".speedscope.json", .carries_flow = true, .render = export_speedscope },
	{ "firefox", ".firefox.json", .timed = true, .render = export_firefox },
	{ "bolt", ".bolt", .branches = true, .render = export_bolt },
	{ "csv", ".csv", .table = true, .render = export_csv },
	{ 0 },
};

const struct export_format *export_find(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

int export_walk(const struct profile *p, uint32_t stack, bool inlined, struct export_steps *steps)
{
	const struct profile_stack *s = &p->stacks[stack];

	steps->count = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct profile_frame *f = &p->frames[p->stack_frames[s->first + i]];

		for (uint32_t l = inlined ? 0 : f->count - 1; l < f->count; l++) {
			if (!GROW(steps->at, steps->count, steps->cap, 64))
				return -ENOMEM;
			steps->at[steps->count++] = (struct export_step){ .frame = f,
									  .line = &p->lines[f->first + l],
									  .inlined = l + 1 < f->count };
		}
	}
	return 0;
}
