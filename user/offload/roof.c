// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/roof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/calib.h"
#include "util/cachedir.h"
#include "util/openfile.h"

#define FOLDER "machine"
#define NAME "peaks"
#define MOST 4096 /* bytes; by hand */

int roof_keep(const struct roofline *r, struct err *e)
{
	int dir = cachedir_open(FOLDER), err;
	AUTO_BUF(text);

	if (dir < 0)
		return err_set(e, -ENOENT, "the roof cannot be kept: there is no folder for it that is ours alone");
	roofline_write(r, &text);
	err = buf_failed(&text) ? -ENOMEM : cachedir_write(dir, NAME, &text, 1 << 20);
	close(dir);
	return err ? err_set(e, err, "the roof cannot be kept: %s", strerror(-err)) : 0;
}

bool roof_kept(struct roofline *out, const char **why)
{
	int dir = cachedir_open(FOLDER);
	char *machine = calib_machine();
	bool there;
	AUTO_BUF(text);

	openfile_looks_in(dir, NAME);
	there = dir >= 0 && !cachedir_read(dir, NAME, MOST, &text);
	buf_addch(&text, 0);
	*why = !there ? "it was not measured on this machine: `accperf calibrate --roofline` does that, in seconds"
	       : buf_failed(&text) || !roofline_read(text.data, out)
		       ? "what was kept of it is damaged: `accperf calibrate --roofline` measures it anew"
	       : !machine || strncmp(machine, out->machine, sizeof(out->machine) - 1)
		       ? "it was measured on another machine or kernel: `accperf calibrate --roofline` measures this one"
		       : NULL;
	free(machine);
	if (dir >= 0)
		close(dir);
	return !*why;
}
