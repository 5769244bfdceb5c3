// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collapsed stacks: "command;main;f;leaf VALUE", as flame graph tools read them. The value is time in
 * ns (or instructions), not the number of samples: rates may change during a recording. Kernel frames
 * end in _[k], inlined ones in _[i], as those tools colour them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "util/clean.h"
#include "util/map.h"
#include "view/export.h"

/* ';' separates frames. */
static void add_name(struct buf *b, const char *s)
{
	size_t at = b->len;

	clean_add(b, s, CLEAN_TEXT);
	for (; at < b->len; at++)
		if (b->data[at] == ';')
			b->data[at] = ':';
}

static void add_stack_line(const struct profile *p, const struct profile_cell *c, const struct export_steps *steps,
			   struct buf *line)
{
	const char *comm = p->threads[c->thread].comm;

	buf_clear(line);
	add_name(line, comm ? comm : "(unknown)");
	if (!steps->count)
		buf_addstr(line, ";(unknown)");
	for (size_t i = steps->count; i-- > 0;) {
		const struct export_step *s = &steps->at[i];

		buf_addch(line, ';');
		add_name(line, p->functions[s->line->function].name);
		if (p->modules[s->frame->module].kind == FMT_MOD_KERNEL)
			buf_addstr(line, "_[k]");
		else if (s->inlined)
			buf_addstr(line, "_[i]");
	}
}

int export_collapsed(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e)
{
	enum profile_unit unit = profile_unit(p);
	struct export_steps steps = { 0 };
	struct intern lines = { 0 };
	double *weights = calloc(p->cell_count + 1, sizeof(*weights));
	AUTO_BUF(line);
	int err = weights ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->cell_count && !err; i++) {
		const struct profile_cell *c = &p->cells[i];
		uint32_t id;

		if (!c->samples[unit])
			continue;
		err = export_walk(p, c->stack, o->inlined, &steps);
		if (err)
			break;
		add_stack_line(p, c, &steps, &line);
		id = buf_failed(&line) ? 0 : intern_add(&lines, line.data, line.len, NULL);
		if (id)
			weights[id] += c->weight[unit];
		else
			err = -ENOMEM;
	}
	for (uint32_t id = 1; id <= lines.count && !err; id++) {
		size_t len;
		const char *text = intern_get(&lines, id, &len);

		buf_add(out, text, len);
		buf_addf(out, " %.0f\n", weights[id]);
	}
	free(weights);
	free(steps.at);
	intern_release(&lines);
	return err ? err_set(e, err, "out of memory") : 0;
}
