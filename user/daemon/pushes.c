// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pushes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/child.h"
#include "daemon/daemon_priv.h"
#include "daemon/memory.h"
#include "util/clock.h"

#define LONGEST_NS 180000000000ull /* of one profile: three answers of a minute each, as the slowest server may take */
#define RETRY_MOST_S 300u          /* between tries: what waits is late by five minutes at most when a server is back */
#define FIGURES ".figures"         /* folder of the spool; no service's, as it begins with a dot */
#define FIGURES_TOLD 60u           /* sets that were removed unsent: an hour's, where one a minute is taken */
#define ROWS_MOST (64u << 20)      /* bytes of what a child makes of a profile */

static const struct {
	const char *name, *option;
	size_t url, user_file; /* in the configuration; 0: it takes none */
	const char *file;      /* of what was sent last; NULL: the server knows */
} servers[PUSH_SERVERS] = {
	[PUSH_CLICKHOUSE] = { "clickhouse", "--clickhouse", offsetof(struct daemon_config, clickhouse),
			      offsetof(struct daemon_config, clickhouse_user), NULL },
	[PUSH_OTLP] = { "otlp", "--otlp", offsetof(struct daemon_config, otlp), 0, ".sent.otlp" },
	[PUSH_PYROSCOPE] = { "pyroscope", "--pyroscope", offsetof(struct daemon_config, pyroscope), 0,
			     ".sent.pyroscope" },
	[PUSH_FIGURES] = { "remote_write", "--remote-write", offsetof(struct daemon_config, remote_write), 0, NULL },
};

static const char *configured(const struct daemon *d, size_t offset)
{
	return offset ? *(char *const *)(const void *)((const char *)&d->c + offset) : NULL;
}

const char *pushes_name(const struct daemon *d, unsigned to)
{
	return configured(d, servers[to].url) ? servers[to].name : NULL;
}

/* ---- what was sent */

static void read_sent(struct daemon *d, unsigned to)
{
	int fd = openat(d->keeper.dir, servers[to].file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct pushed last = { 0 };
	char text[120];
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%" SCNd64 " %63s", &last.time, last.name) == 2)
		d->pushes.to[to].last = last;
}

/* Anew and then in place of the old one, so that a crash leaves one of both. */
static void write_sent(struct daemon *d, unsigned to)
{
	const struct pushed *last = &d->pushes.to[to].last;
	char text[120];
	int len = snprintf(text, sizeof(text), "%" PRId64 " %s\n", last->time, last->name), fd;
	bool written;

	if (!servers[to].file)
		return;
	unlinkat(d->keeper.dir, ".sent.new", 0);
	fd = openat(d->keeper.dir, ".sent.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	written = fd >= 0 && write(fd, text, (size_t)len) == len;
	if (fd >= 0)
		close(fd);
	if (!written || renameat(d->keeper.dir, ".sent.new", d->keeper.dir, servers[to].file))
		say(SAY_WARN, "push", NULL,
		    "what was sent to %s cannot be written down (%s): after a restart it is sent again",
		    servers[to].name, strerror(errno));
}

void pushes_open(struct daemon *d)
{
	int err = spool_open(&d->pushes.figures, d->keeper.dir, FIGURES);

	if (err)
		say(SAY_ERROR, "push", NULL, "%s/" FIGURES " cannot be used: %s; figures are not sent by remote write",
		    d->keeper.path, strerror(-err));
	for (unsigned to = 0; to < PUSH_SERVERS; to++)
		if (servers[to].file)
			read_sent(d, to);
}

/* In order of their end, which is that of the keeper's list. */
static bool comes_after(const struct kept_file *f, const struct pushed *p)
{
	return f->time > p->time || (f->time == p->time && strcmp(f->name, p->name) > 0);
}

static bool is_waiting(const struct push *p, const struct kept_file *f)
{
	return !f->open && !f->goes && strlen(f->name) < sizeof(p->last.name) && comes_after(f, &p->last);
}

size_t pushes_waiting(const struct daemon *d, unsigned to)
{
	size_t n = 0;

	if (to == PUSH_FIGURES)
		return d->pushes.figures.count;
	for (size_t i = 0; i < d->keeper.count; i++)
		n += is_waiting(&d->pushes.to[to], &d->keeper.files[i]);
	return n;
}

/* A file that was sent before the clock was set back is where the keeper has put it; what it has removed was sent. */
static bool moved_back(const struct daemon *d, struct pushed *p)
{
	const struct keeper *k = &d->keeper;
	const struct pushed was = *p;

	if (was.time <= k->swept_at + KEEPER_FUTURE_NS)
		return false;
	p->time = k->swept_at;
	for (size_t i = 0; i < k->count; i++) {
		struct kept_file before = k->files[i];

		before.time = before.was;
		if (before.was && !comes_after(&before, &was) && k->files[i].time > p->time)
			p->time = k->files[i].time;
	}
	return true;
}

void pushes_swept(struct daemon *d)
{
	for (unsigned to = 0; to < PUSH_FIGURES; to++) {
		struct push *p = &d->pushes.to[to];

		moved_back(d, &p->now);
		if (moved_back(d, &p->last))
			write_sent(d, to);
	}
}

/* f: NULL of figures. */
static void begin_push(struct daemon *d, unsigned to, const struct kept_file *f, const char *name)
{
	struct push *p = &d->pushes.to[to];
	const char *folder = f ? d->keeper.folders[f->folder] : FIGURES, *argv[12] = { "accperf", "fleet", "push" };
	char path[PATH_MAX + 2 * NAME_MAX];
	unsigned n = 3;
	struct child_opts o = { .argv = argv,
				.out = -1,
				.end_by = SIGKILL,
				.nice = CHILD_READS_NICE,
				.memory = memory_for_reader(d),
				.file_size = ROWS_MOST };
	struct err e = { 0 };

	snprintf(path, sizeof(path), "%s/%s/%s", d->keeper.path, folder, name);
	argv[n++] = servers[to].option;
	argv[n++] = configured(d, servers[to].url);
	if (f) {
		argv[n++] = "--service";
		argv[n++] = folder;
	}
	if (configured(d, servers[to].user_file)) {
		argv[n++] = "--user-file";
		argv[n++] = configured(d, servers[to].user_file);
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
	p->now.time = f ? f->time : 0;
	snprintf(p->now.name, sizeof(p->now.name), "%s", name);
}

static void tell_failure(struct push *p, const char *why, const char *what)
{
	unsigned rest = p->failures < 8 ? 1u << p->failures : RETRY_MOST_S;

	p->failed++;
	p->retry_at = clock_now() + rest * SECOND;
	/* an outage is told when it begins, and each time that the wait has doubled */
	if (p->failures < 8)
		say(SAY_WARN, "push", NULL, "%s; %s wait on disk, and the next try is in %u s", why, what, rest);
	p->failures++;
}

/* It is sent, or will never be. */
static void push_done(struct daemon *d, unsigned to)
{
	struct push *p = &d->pushes.to[to];

	p->last = p->now;
	if (to == PUSH_FIGURES)
		spool_remove(&d->pushes.figures, p->now.name);
	else
		write_sent(d, to);
}

static void end_push(struct daemon *d, unsigned to)
{
	struct push *p = &d->pushes.to[to];
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
			say(SAY_NOTICE, "push", NULL, "%s takes %s again; %zu wait", servers[to].name,
			    to == PUSH_FIGURES ? "figures" : "profiles", pushes_waiting(d, to));
		p->failures = 0;
		p->sent++;
		push_done(d, to);
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
		say(SAY_WARN, "push", NULL, "%s; it is not sent", why);
		p->unreadable++;
		push_done(d, to);
	} else {
		tell_failure(p, WIFEXITED(status) ? why : "the child that sends them was ended",
			     to == PUSH_FIGURES ? "figures" : "profiles");
	}
}

bool pushes_want_figures(struct daemon *d)
{
	struct pushes *p = &d->pushes;
	uint64_t now = clock_now();

	if (!pushes_name(d, PUSH_FIGURES) || p->figures.dir < 0 || now < p->next_figures)
		return false;
	p->next_figures = now + (uint64_t)(d->c.remote_write_every * 1e9);
	return true;
}

/* Of a full disk's reserve one file is taken, so that it is heard of. */
void pushes_take_figures(struct daemon *d, const struct buf *text)
{
	struct spool *s = &d->pushes.figures;
	uint64_t dropped = s->dropped;
	int err = spool_put(s, (int64_t)(clock_ns(CLOCK_REALTIME) / 1000000), text->data, text->len, d->full);

	if (err)
		say(SAY_WARN, "push", NULL, "figures for remote write cannot be kept in %s/" FIGURES ": %s",
		    d->keeper.path, strerror(-err));
	if (s->dropped / FIGURES_TOLD > dropped / FIGURES_TOLD || (s->dropped && !dropped))
		say(SAY_WARN, "push", NULL,
		    "%" PRIu64
		    " sets of figures were removed unsent, the oldest: as many wait for remote_write as the spool takes",
		    s->dropped);
}

static void look_at_server(struct daemon *d, unsigned to)
{
	struct push *p = &d->pushes.to[to];
	char name[SPOOL_NAME];

	if (p->pid)
		end_push(d, to);
	if (p->pid || !pushes_name(d, to) || d->stopping || clock_now() < p->retry_at)
		return;
	if (to == PUSH_FIGURES) {
		if (spool_oldest(&d->pushes.figures, name))
			begin_push(d, to, NULL, name);
		return;
	}
	for (size_t i = 0; i < d->keeper.count; i++)
		if (is_waiting(p, &d->keeper.files[i])) {
			begin_push(d, to, &d->keeper.files[i], d->keeper.files[i].name);
			return;
		}
}

void pushes_look(struct daemon *d)
{
	for (unsigned to = 0; to < PUSH_SERVERS; to++)
		look_at_server(d, to);
}

void pushes_close(struct daemon *d)
{
	for (unsigned to = 0; to < PUSH_SERVERS; to++) {
		struct push *p = &d->pushes.to[to];

		if (!p->pid)
			continue;
		child_kill(&p->pid, !d->stopping);
		close(p->said);
	}
	spool_close(&d->pushes.figures);
}
