// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pushes.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/child.h"
#include "daemon/daemon_priv.h"
#include "util/clock.h"

#define LONGEST_NS 180000000000ull
#define SECOND 1000000000ull
#define RETRY_MOST_S 300u
#define ROWS_MOST (64u << 20)

/* In order of their end, which is that of the keeper's list. */
static bool comes_after(const struct kept_file *f, const struct pushed *p)
{
	return f->time > p->time || (f->time == p->time && strcmp(f->name, p->name) > 0);
}

static bool is_waiting(const struct daemon *d, const struct kept_file *f)
{
	return !f->open && !f->goes && strlen(f->name) < sizeof(d->pushes.last.name) && comes_after(f, &d->pushes.last);
}

size_t pushes_waiting(const struct daemon *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->keeper.count; i++)
		n += is_waiting(d, &d->keeper.files[i]);
	return n;
}

static void begin_push(struct daemon *d, const struct kept_file *f)
{
	struct pushes *p = &d->pushes;
	const char *folder = d->keeper.folders[f->folder], *argv[12] = { "accperf", "fleet", "push" };
	char path[PATH_MAX + 2 * NAME_MAX];
	unsigned n = 3;
	struct child_opts o = { .argv = argv,
				.out = -1,
				.end_by = SIGKILL,
				.nice = CHILD_READS_NICE,
				.memory = d->c.memory,
				.file_size = ROWS_MOST };
	struct err e = { 0 };

	snprintf(path, sizeof(path), "%s/%s/%s", d->keeper.path, folder, f->name);
	argv[n++] = "--clickhouse";
	argv[n++] = d->c.clickhouse;
	argv[n++] = "--service";
	argv[n++] = folder;
	if (d->c.clickhouse_user) {
		argv[n++] = "--user-file";
		argv[n++] = d->c.clickhouse_user;
	}
	argv[n++] = path;
	p->said = memfd_create("said", MFD_CLOEXEC);
	o.said = p->said;
	p->pid = p->said >= 0 ? child_start(&o, &e) : -1;
	if (p->pid < 0) {
		if (p->said >= 0)
			close(p->said);
		p->pid = 0;
		p->retry_at = clock_now() + RETRY_MOST_S * SECOND;
		return;
	}
	p->began = clock_now();
	p->now.time = f->time;
	snprintf(p->now.name, sizeof(p->now.name), "%s", f->name);
}

static void tell_failure(struct pushes *p, const char *why)
{
	unsigned rest = p->failures < 8 ? 1u << p->failures : RETRY_MOST_S;

	p->failed++;
	p->retry_at = clock_now() + rest * SECOND;
	/* an outage is told when it begins, and each time that the wait has doubled */
	if (p->failures < 8)
		say(SAY_WARN, "push", NULL, "%s; profiles wait on disk, and the next try is in %u s", why, rest);
	p->failures++;
}

static void end_push(struct daemon *d)
{
	struct pushes *p = &d->pushes;
	struct rusage use;
	char why[300];
	int status;

	if (clock_now() - p->began > LONGEST_NS)
		kill(-p->pid, SIGKILL); /* its helpers as well */
	if (wait4(p->pid, &status, WNOHANG, &use) != p->pid)
		return;
	p->pid = 0;
	d->queries.unbooked += (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
			       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
	child_last_line(p->said, why, sizeof(why));
	close(p->said);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		if (p->failures)
			say(SAY_NOTICE, "push", NULL, "ClickHouse takes profiles again; %zu wait", pushes_waiting(d));
		p->failures = 0;
		p->sent++;
		p->last = p->now;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
		say(SAY_WARN, "push", NULL, "%s; it is not sent", why);
		p->unreadable++;
		p->last = p->now;
	} else {
		tell_failure(p, WIFEXITED(status) ? why : "the child that sends profiles was ended");
	}
}

void pushes_look(struct daemon *d)
{
	struct pushes *p = &d->pushes;

	if (p->pid)
		end_push(d);
	if (p->pid || !d->c.clickhouse || d->stopping || clock_now() < p->retry_at)
		return;
	for (size_t i = 0; i < d->keeper.count; i++)
		if (is_waiting(d, &d->keeper.files[i])) {
			begin_push(d, &d->keeper.files[i]);
			return;
		}
}

void pushes_close(struct daemon *d)
{
	struct pushes *p = &d->pushes;
	int status;

	if (!p->pid)
		return;
	kill(-p->pid, SIGKILL);
	waitpid(p->pid, &status, 0);
	close(p->said);
	p->pid = 0;
}
