// SPDX-License-Identifier: GPL-2.0-or-later
/* `accperf daemon --check`: what a configuration that has no errors would meet on this machine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/clickhouse.h"
#include "daemon/daemon.h"
#include "daemon/http.h"
#include "daemon/keeper.h"
#include "daemon/watched.h"

static void add_warning(struct err *e, const char *so, struct buf *warnings)
{
	if (e->code)
		buf_addf(warnings, "%s%s\n", e->text, so);
	*e = (struct err){ 0 };
}

/* The folder, or the one that it will be made in. */
static void check_folder(const struct daemon_config *c, struct buf *warnings)
{
	const char *slash = strrchr(c->folder, '/');
	char above[1024];
	struct stat st;

	snprintf(above, sizeof(above), "%.*s", (int)(slash > c->folder ? slash - c->folder : 1), c->folder);
	if (lstat(c->folder, &st) ? stat(above, &st) || !S_ISDIR(st.st_mode) : !S_ISDIR(st.st_mode))
		buf_addf(warnings, "storage.folder %s is no folder, and cannot be made: the daemon will not start\n",
			 c->folder);
	else if (access(!lstat(c->folder, &st) ? c->folder : above, W_OK))
		buf_addf(warnings, "storage.folder %s: %s%s\n", c->folder, strerror(errno),
			 errno == EROFS ? ": nothing is recorded until it can be written"
					: " as this user: the daemon will not start as it");
	else if (!lstat(c->folder, &st) && !keeper_is_private(&st))
		buf_addf(
			warnings,
			"storage.folder %s belongs to somebody else, or others may write there: the daemon will not start; "
			"chown and chmod 0700 it\n",
			c->folder);
}

/* Kernels of distributions have a 3 of their own, and a 4: then CAP_PERFMON is not enough. */
static void check_paranoid(struct buf *warnings)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	if (f && fscanf(f, "%d", &level) == 1 && level > 2)
		buf_addf(
			warnings,
			"kernel.perf_event_paranoid is %d, at which some kernels let nobody record without CAP_SYS_ADMIN, "
			"which the unit has by Debian's package alone: `sysctl kernel.perf_event_paranoid=2`, or add it in a drop-in\n",
			level);
	if (f)
		fclose(f);
}

static void count_processes(const struct daemon_config *c, const struct watched *w, struct buf *out)
{
	for (uint32_t i = 0; i < c->service_count; i++) {
		const struct config_service *s = &c->services[i];
		unsigned roots = 0, all = 0, young = 0;

		for (size_t k = 0; k < w->count; k++) {
			if (w->at[k].service != i)
				continue;
			all++;
			roots += w->at[k].root;
			young += w->at[k].root && !w->at[k].old_enough;
		}
		buf_addf(out, "  %s: %u process%s now", s->name, all, all == 1 ? "" : "es");
		if (all > roots)
			buf_addf(out, ", %u of them children of others", all - roots);
		if (young)
			buf_addf(out, ", %u younger than min_age", young);
		buf_addch(out, '\n');
	}
}

void daemon_check(const struct daemon_config *c, struct buf *out, struct buf *warnings)
{
	struct watched w = { 0 };
	struct clickhouse server;
	struct err e = { 0 };

	check_folder(c, warnings);
	check_paranoid(warnings);
	http_check(c, &e);
	add_warning(&e, ": nothing will be served", warnings);
	if (c->clickhouse)
		clickhouse_read(&server, c->clickhouse, c->clickhouse_user, &e);
	add_warning(&e, ": nothing will be sent to fleet.clickhouse", warnings);
	if (!watched_look(&w, c, &e))
		count_processes(c, &w, out);
	add_warning(&e, "", warnings);
	watched_release(&w);
}
