// SPDX-License-Identifier: GPL-2.0-or-later
/* The report's table as comma-separated values (RFC 4180); unknown is an empty field. */
#include <errno.h>
#include <inttypes.h>

#include "profile/time_shares.h"
#include "view/export.h"

static void field(struct buf *b, const char *s)
{
	buf_addch(b, '"');
	for (; s && *s; s++) {
		if (*s == '"')
			buf_addch(b, '"');
		buf_addch(b, *s);
	}
	buf_addch(b, '"');
}

int export_csv(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e)
{
	struct shares_opts so = { .inlined = o->inlined, .thread = SHARES_ALL_THREADS };
	struct shares s;
	int err = shares_compute(p, &so, &s, e);

	if (err)
		return err;
	buf_addstr(out, "function,object,file,line,self,inclusive,samples,low,high\r\n");
	for (size_t i = 0; i < s.count; i++) {
		const struct profile_function *f = &p->functions[s.rows[i].function];

		field(out, f->name);
		buf_addch(out, ',');
		field(out, f->object);
		buf_addch(out, ',');
		if (f->file)
			field(out, f->file);
		buf_addch(out, ',');
		if (f->line)
			buf_addf(out, "%" PRIu32, f->line);
		buf_addf(out, ",%.9g,%.9g,", s.rows[i].self, s.rows[i].inclusive);
		if (!s.exact)
			buf_addf(out, "%" PRIu64, s.rows[i].samples);
		buf_addf(out, ",%.9g,%.9g\r\n", s.rows[i].low, s.rows[i].high);
	}
	shares_release(&s);
	return 0;
}
