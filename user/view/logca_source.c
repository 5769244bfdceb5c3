// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/logca_source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "model/catalogue_files.h"

static void names_of_entries(const struct catalogue *c, char *text, size_t size)
{
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < c->count; i++) {
		int n = snprintf(text + used, size - used, "%s%s", i ? ", " : "", c->entries[i].name);

		if (n < 0 || (size_t)n >= size - used) {
			snprintf(text + (size > 5 ? size - 5 : 0), 5, "...");
			return;
		}
		used += (size_t)n;
	}
}

static int from_entry(struct logca_source *s, const struct catalogue_entry *entry)
{
	s->view.name = entry->name;
	s->view.unit = entry->unit ? entry->unit : "units";
	s->view.p = entry->p;
	s->view.note = (const char *const *)entry->note;
	s->view.notes = entry->notes;
	return 0;
}

static int from_catalogue(struct logca_source *s, const struct logca_request *r, const char *what, const char *name,
			  bool want_points, struct err *e)
{
	const struct catalogue_entry *entry = name                      ? catalogue_find(&s->catalogue, name)
					      : s->catalogue.count == 1 ? &s->catalogue.entries[0]
									: NULL;
	char names[400];
	int err;

	names_of_entries(&s->catalogue, names, sizeof(names));
	if (!entry && name)
		return err_set(e, -ENOENT, "%s has no '%s'; it has: %s", what, name, names);
	if (!entry)
		return err_set(e, -EINVAL, "%s has %zu accelerators: name one with --name; it has: %s", what,
			       s->catalogue.count, names);
	if (entry->pts.run[RUN_HOST].count && entry->pts.run[RUN_ACCEL].count) {
		from_entry(s, entry);
		err = fit_logca(&entry->pts, &r->fit, &s->fit, e);
		if (err) {
			err_prefix(e, "%s", entry->name);
			return err;
		}
		s->fitted = true;
		s->view.pts = &entry->pts;
		s->view.p = s->fit.p;
		return 0;
	}
	if (!entry->has_params)
		return err_set(e, -EINVAL, "'%s' in %s has neither points nor parameters", entry->name, what);
	if (want_points)
		return err_set(e, -EINVAL, "'%s' in %s has parameters but no measured points: see `accperf logca show`",
			       entry->name, what);
	return from_entry(s, entry);
}

#define MANY_POINTS 4096 /* more of them are thinned out: a fit's time grows with them; by hand */

static int from_points(struct logca_source *s, const struct logca_request *r, int err, struct err *e)
{
	if (!err && s->pts.run[RUN_HOST].count + s->pts.run[RUN_ACCEL].count > MANY_POINTS)
		s->thinned = points_thin(&s->pts);
	if (!err)
		err = fit_logca(&s->pts, &r->fit, &s->fit, e);
	if (err) {
		err_prefix(e, "%s", r->file);
		return err;
	}
	s->fitted = true;
	s->view.pts = &s->pts;
	s->view.p = s->fit.p;
	s->view.name = r->name ? r->name : r->file;
	s->view.unit = "ns";
	s->level_note = s->level;
	s->view.note = &s->level_note;
	s->view.notes = *s->level != 0;
	return 0;
}

static int from_file(struct logca_source *s, const struct logca_request *r, bool want_points, struct err *e)
{
	AUTO_BUF(text);
	size_t i = 0;
	uint64_t magic = 0;
	int err = catalogue_text(r->file, &text, e);

	if (err)
		return err;
	if (text.len >= sizeof(magic))
		memcpy(&magic, text.data, sizeof(magic));
	if (magic == FMT_MAGIC)
		return from_points(s, r, logca_profile_points(r->file, r, &s->pts, s->level, e), e);
	if (r->level || filter_any(r->filter))
		return err_set(e, -EINVAL,
			       "--level, --pid, --comm, --dso and --symbol are of a profile's calls, and %s is none",
			       r->file);
	while (i < text.len && strchr(" \t\r\n", text.data[i]))
		i++;
	if (i == text.len)
		return err_set(
			e, -EINVAL,
			"%s is empty; wanted is a CSV with columns bytes,host,accelerated, a catalogue or a profile",
			r->file);
	if (text.data[i] != '{')
		return from_points(s, r, points_parse_csv(&s->pts, text.data, text.len, e), e);
	err = catalogue_parse(&s->catalogue, text.data, text.len, e);
	if (err) {
		err_prefix(e, "%s", r->file);
		return err;
	}
	return from_catalogue(s, r, r->file, r->name, want_points, e);
}

int logca_source_load(struct logca_source *s, const struct logca_request *r, bool want_points, struct err *e)
{
	int err;

	*s = (struct logca_source){ .view = { .lo = LOGCA_GMIN, .hi = LOGCA_GMAX, .unit = "units" } };
	if (!!r->params + !!r->device + !!r->file != 1)
		return err_set(e, -EINVAL, "give one of --params, --device or a file (CSV or catalogue)");
	if ((r->level || filter_any(r->filter)) && !r->file)
		return err_set(
			e, -EINVAL,
			"--level, --pid, --comm, --dso and --symbol are of a profile's calls; --params and --device have none");
	if (r->params) {
		if (want_points)
			return err_set(e, -EINVAL, "fit wants measured points: a CSV, a catalogue or a profile");
		err = logca_parse(r->params, &s->view.p, e);
	} else if (r->device) {
		err = catalogue_paper(&s->catalogue, e);
		if (!err)
			err = from_catalogue(s, r, "the built-in catalogue", r->device, want_points, e);
	} else {
		err = from_file(s, r, want_points, e);
	}
	if (err)
		return err;
	if (s->fitted) {
		s->view.fit = &s->fit;
		s->view.lo = s->fit.gmin;
		s->view.hi = s->fit.gmax;
	}
	return 0;
}

void logca_source_release(struct logca_source *s)
{
	catalogue_release(&s->catalogue);
	points_release(&s->pts);
}
