// SPDX-License-Identifier: GPL-2.0-or-later
/* The report's table as comma-separated values (RFC 4180); unknown is an empty field. A name that begins with =+-@
 * has an apostrophe before it: spreadsheets would take it for a formula. */
#include <errno.h>
#include <inttypes.h>

#include "profile/time_shares.h"
#include "util/clean.h"
#include "view/export.h"

int export_csv(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e)
{
	struct shares_opts so = { .inlined = o->inlined, .thread = SHARES_ALL_THREADS, .filter = o->filter };
	struct shares s;
	int err = shares_compute(p, &so, &s, e);

	if (err)
		return err;
	buf_addstr(out, "function,object,file,line,self,inclusive,samples,low,high\r\n");
	for (size_t i = 0; i < s.count; i++) {
		const struct profile_function *f = &p->functions[s.rows[i].function];

		clean_add(out, f->name, CLEAN_CSV);
		buf_addch(out, ',');
		clean_add(out, f->object, CLEAN_CSV);
		buf_addch(out, ',');
		if (f->file)
			clean_add(out, f->file, CLEAN_CSV);
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
