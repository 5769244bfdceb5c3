// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/logca_several.h"

#include <errno.h>
#include <string.h>

#include "model/catalogue_files.h"
#include "util/suggest.h"

static int add_device(const struct catalogue *from, const char *name, struct logca_curves *c, struct err *e)
{
	const struct catalogue_entry *a = catalogue_find(from, name);
	struct suggestion near = { 0 };

	for (unsigned i = 0; i < c->count; i++)
		if (!strcmp(c->at[i].name, name))
			return err_set(e, -EINVAL, "'%s' is named twice: one picture has each device once", name);
	if (c->count == LOGCA_MOST_CURVES)
		return err_set(e, -EINVAL, "more than %d devices make no picture", LOGCA_MOST_CURVES);
	for (size_t i = 0; !a && i < from->count; i++)
		suggest(&near, name, strlen(name), from->entries[i].name);
	if (!a)
		return err_set(e, -ENOENT, "there is no device '%s'%s%s%s; `accperf logca devices` lists them", name,
			       near.name ? "; did you mean '" : "", near.name ? near.name : "", near.name ? "'?" : "");
	if (!a->has_params)
		return err_set(
			e, -ENODATA,
			"'%s' has no host to compare with: of it nothing but the accelerator's own time is known",
			name);
	c->at[c->count] = (struct logca_view){ .name = a->name,
					       .unit = a->unit ? a->unit : "units",
					       .p = a->p,
					       .lo = LOGCA_GMIN,
					       .hi = LOGCA_GMAX,
					       .note = (const char *const *)a->note,
					       .notes = a->notes };
	c->doubtful[c->count++] = !a->preset;
	return 0;
}

int logca_several(const char *const *devices, unsigned count, struct catalogue *from, struct logca_curves *c,
		  struct err *e)
{
	int err = catalogue_all(from, NULL, e);

	*c = (struct logca_curves){ .title = "accelerators compared" };
	for (unsigned i = 0; !err && i < count; i++)
		err = add_device(from, devices[i], c, e);
	return err;
}
