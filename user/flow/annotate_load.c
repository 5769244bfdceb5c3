// SPDX-License-Identifier: GPL-2.0-or-later
/* What one function's annotation is joined from, and where a profile has a function that has no code of its own. */
#include <errno.h>
#include <string.h>

#include "flow/annotate.h"

int annotate_load(struct annotate_loaded *l, const char *path, struct err *e)
{
	const struct flow_input_opts io = { 0 };
	struct section_reader readers[FLOW_INPUT_READERS + 1];
	struct err why = { 0 };
	struct raw *r;
	int err;

	l->p = profile_open(path, e);
	if (!l->p)
		return -EIO;
	r = flow_input_begin(&l->in, l->p, &io, readers, &why);
	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	readers[FLOW_INPUT_READERS] = counts_record_reader(&l->counts, e);
	err = profile_read(l->p, FLOW_INPUT_GROUPS, readers, FLOW_INPUT_READERS + 1, e);
	if (flow_input_end(r, err) && !err)
		err = err_set(e, why.code ? why.code : -ENOMEM, "%s: %s", path, why.code ? why.text : "out of memory");
	else if (err && !e->code)
		err_set(e, err, "%s: %s", path, err == -ENOMEM ? "out of memory" : strerror(-err));
	if (!err)
		counts_record_end(&l->counts, l->p);
	return err;
}

void annotate_unload(struct annotate_loaded *l)
{
	flow_input_release(&l->in);
	counts_record_release(&l->counts);
	profile_free(l->p);
}

const char *annotate_own_code(const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];

	return f->count ? p->functions[p->lines[f->first + f->count - 1].function].name : NULL;
}

const char *annotate_inlined_into(const struct profile *p, const char *name)
{
	for (uint32_t i = 1; i < p->frame_count; i++) {
		const struct profile_frame *f = &p->frames[i];

		for (uint32_t k = 0; k + 1 < f->count; k++)
			if (!strcmp(p->functions[p->lines[f->first + k].function].name, name))
				return annotate_own_code(p, i);
	}
	return NULL;
}
