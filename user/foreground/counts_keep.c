// SPDX-License-Identifier: GPL-2.0-or-later
#include "foreground/counts_keep.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "flow/earlier_kept.h"
#include "util/cachedir.h"
#include "util/log.h"

int counts_cache_folder(const char *option, struct err *e)
{
	int dir;

	if (option && !strcmp(option, "off"))
		return -1;
	if (!option)
		return cachedir_open("counts");
	dir = cachedir_open_path(option);
	if (dir == -EPERM)
		return err_set(
			e, -EACCES,
			"%s is not a folder that belongs to you alone: others could write there; name another with --counts-cache, or off",
			option);
	if (dir < 0)
		return err_set(e, dir, "%s cannot be used: %s; name another folder with --counts-cache, or off", option,
			       strerror(-dir));
	return dir;
}

void counts_cache_keep(const char *option, const char *profile, bool counts)
{
	struct counts_record rec;
	struct err e = { 0 };
	int dir = counts_cache_folder(option, &e);

	if (dir < 0) {
		if (e.code)
			log_warn("nothing is kept for other recordings: %s", e.text);
		return;
	}
	if (counts && !counts_record_load(&rec, profile, &e)) {
		counts_cache_add(dir, &rec);
		counts_record_release(&rec);
	}
	earlier_keep(dir, profile, (uint64_t)time(NULL), &e);
	close(dir);
}
