// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/queries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/child.h"
#include "daemon/daemon_priv.h"
#include "daemon/memory.h"
#include "util/clock.h"

/* Below the keeper's: what one answer is of, by names alone, and what is put together for it. Its children run there,
 * so that no answer, and no error, names a path of this machine. */
#define FOLDER ".answers"
#define LONGEST_NS 120000000000ull /* two minutes for one answer, all its steps; its client waits for it */
#define ANSWER_MOST (64u << 20)    /* bytes: it lies in memory until it is sent */
#define KEPT_MOST (128u << 20)     /* bytes of all answers together: two of the largest */
#define WAITING_MOST 8u            /* questions: each may take two minutes, and no client waits a quarter of an hour */
#define PROFILES_MOST 64u          /* of one answer: ten hours of ten minutes each */
#define OPEN_FRESH_NS 10000000000ull  /* ten seconds: a profile that is being written says more by then */
#define SAVED_MOST_S 60.0             /* of CPU time: what may be asked at once */
#define ARGUMENTS (PROFILES_MOST + 8) /* of a child: its options, and NULL */

enum queries_step { STEP_MERGE, STEP_MERGE_BASE, STEP_VIEW, STEPS };

static const char *const merged_name[] = { "of.data", "base.data" };

/* ---- what is kept */

static void forget_asked(struct asked_query *a)
{
	if (a->out >= 0)
		close(a->out);
	free(a->of);
	free(a->base);
	*a = (struct asked_query){ .out = -1 };
}

static uint64_t bytes_of(const struct asked_query *a)
{
	struct stat st;

	return a->out >= 0 && !fstat(a->out, &st) ? (uint64_t)st.st_size : 0;
}

static bool is_idle(const struct asked_query *a)
{
	return a->id && !a->users && (a->state == ASKED_DONE || a->state == ASKED_FAILED);
}

static struct asked_query *oldest_idle(struct queries *q)
{
	struct asked_query *oldest = NULL;

	for (unsigned i = 0; i < QUERIES_KEPT; i++)
		if (is_idle(&q->at[i]) && (!oldest || q->at[i].last_used < oldest->last_used))
			oldest = &q->at[i];
	return oldest;
}

static struct asked_query *find_room(struct queries *q)
{
	struct asked_query *a;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < QUERIES_KEPT; i++)
		bytes += bytes_of(&q->at[i]);
	while (bytes > KEPT_MOST && (a = oldest_idle(q))) {
		bytes -= bytes_of(a);
		forget_asked(a);
	}
	for (unsigned i = 0; i < QUERIES_KEPT; i++)
		if (!q->at[i].id)
			return &q->at[i];
	a = oldest_idle(q);
	if (a)
		forget_asked(a);
	return a;
}

const struct asked_query *queries_find(const struct daemon *d, uint32_t id)
{
	for (unsigned i = 0; id && i < QUERIES_KEPT; i++)
		if (d->queries.at[i].id == id)
			return &d->queries.at[i];
	return NULL;
}

void queries_leave(struct daemon *d, uint32_t id)
{
	struct asked_query *a = (struct asked_query *)(uintptr_t)queries_find(d, id);

	if (a && a->users)
		a->users--;
}

/* ---- what is asked */

static struct query_profile *list_profiles(const struct daemon *d, uint32_t service, size_t *count)
{
	const struct keeper *k = &d->keeper;
	struct query_profile *all = calloc(k->count + 1, sizeof(*all));
	int64_t now = (int64_t)clock_ns(CLOCK_REALTIME);

	*count = 0;
	for (size_t i = 0; all && i < k->count; i++) {
		const struct kept_file *f = &k->files[i];

		if (!f->goes && !strcmp(k->folders[f->folder], d->c.services[service].name) &&
		    strlen(f->name) < sizeof(((struct asked_profile *)0)->name))
			all[(*count)++] = (struct query_profile){ .name = f->name,
								  .end = f->open ? now : f->time,
								  .is_open = f->open };
	}
	return all;
}

/* Those of that time, from the first to the last; NULL: out of memory. count > PROFILES_MOST: they are too many. */
static struct asked_profile *choose_profiles(const struct daemon *d, uint32_t service, const struct query *q,
					     const struct query_time *t, unsigned *count)
{
	struct asked_profile *chosen = calloc(PROFILES_MOST, sizeof(*chosen));
	int64_t longest = (int64_t)(d->c.segment_time * 1e9);
	struct query_profile *all;
	size_t n;

	*count = 0;
	all = list_profiles(d, service, &n);
	for (size_t i = 0; all && chosen && i < n; i++) {
		bool fits = q->latest ? !strcmp(all[i].name, d->services[service].last)
				      : all[i].end > t->from && query_began(all, n, i, longest) < t->to;

		if (fits && *count < PROFILES_MOST) {
			snprintf(chosen[*count].name, sizeof(chosen->name), "%s", all[i].name);
			chosen[*count].is_open = all[i].is_open;
		}
		*count += fits;
	}
	/* advice rests on calls and counts, which no merging keeps: the last one whole, or what there is */
	if (q->kind == QUERY_ADVISE && chosen && *count > 1 && *count <= PROFILES_MOST) {
		unsigned last = *count - 1;

		while (last && chosen[last].is_open)
			last--;
		chosen[0] = chosen[last];
		*count = 1;
	}
	free(all);
	return chosen;
}

static bool same_profiles(const struct asked_profile *a, unsigned n, const struct asked_profile *b, unsigned m)
{
	bool same = n == m;

	for (unsigned i = 0; same && i < n; i++)
		same = !strcmp(a[i].name, b[i].name) && a[i].is_open == b[i].is_open;
	return same;
}

static bool any_open(const struct asked_query *a)
{
	bool open = false;

	for (unsigned i = 0; i < a->of_count; i++)
		open |= a->of[i].is_open;
	for (unsigned i = 0; i < a->base_count; i++)
		open |= a->base[i].is_open;
	return open;
}

static struct asked_query *find_same(struct queries *q, const struct asked_query *next)
{
	uint64_t now = clock_now();

	for (unsigned i = 0; i < QUERIES_KEPT; i++) {
		struct asked_query *a = &q->at[i];

		if (!a->id || a->state == ASKED_FAILED || a->kind != next->kind || strcmp(a->service, next->service) ||
		    !same_profiles(a->of, a->of_count, next->of, next->of_count) ||
		    !same_profiles(a->base, a->base_count, next->base, next->base_count))
			continue;
		if (a->state != ASKED_DONE || !any_open(a) || now - a->made < OPEN_FRESH_NS)
			return a;
	}
	return NULL;
}

static enum queries_refusal refusal_of(const struct queries *q)
{
	unsigned waiting = 0;

	for (unsigned i = 0; i < QUERIES_KEPT; i++)
		waiting += q->at[i].id && q->at[i].state == ASKED_WAITS;
	return q->credit < 0 ? QUERIES_SPENT : waiting >= WAITING_MOST ? QUERIES_BUSY : QUERIES_OK;
}

uint32_t queries_ask(struct daemon *d, uint32_t service, const struct query *query, enum queries_refusal *why)
{
	struct queries *q = &d->queries;
	struct asked_query next = { .kind = query->kind, .out = -1 }, *a = NULL;

	snprintf(next.service, sizeof(next.service), "%s", d->c.services[service].name);
	next.of = choose_profiles(d, service, query, &query->of, &next.of_count);
	if (query->kind == QUERY_DIFF)
		next.base = choose_profiles(d, service, query, &query->base, &next.base_count);
	*why = !next.of || (query->kind == QUERY_DIFF && !next.base)               ? QUERIES_BUSY
	       : !next.of_count || (query->kind == QUERY_DIFF && !next.base_count) ? QUERIES_NONE
	       : next.of_count > PROFILES_MOST || next.base_count > PROFILES_MOST  ? QUERIES_MANY
										   : QUERIES_OK;
	if (*why == QUERIES_OK && !(a = find_same(q, &next)))
		*why = refusal_of(q);
	if (*why == QUERIES_OK && !a && (a = find_room(q))) {
		*a = next;
		a->id = ++q->next_id ? q->next_id : ++q->next_id;
		next.of = next.base = NULL;
	}
	free(next.of);
	free(next.base);
	if (*why == QUERIES_OK && !a)
		*why = QUERIES_BUSY;
	if (*why != QUERIES_OK)
		return 0;
	a->users++;
	a->last_used = clock_now();
	return a->id;
}

/* ---- the children */

/* In FOLDER: the i-th profile, or with PROFILES_MOST what stands for all. */
static const char *profile_name(const struct asked_query *a, bool base, unsigned i)
{
	unsigned n = base ? a->base_count : a->of_count;

	if (n > 1 && i == PROFILES_MOST)
		return merged_name[base];
	return (base ? a->base : a->of)[i == PROFILES_MOST ? 0 : i].name;
}

static unsigned merge_arguments(const struct asked_query *a, bool base, const char **argv)
{
	unsigned n = 0, count = base ? a->base_count : a->of_count;

	argv[n++] = "accperf";
	argv[n++] = "merge";
	argv[n++] = "--force"; /* a service may have been upgraded in that time */
	argv[n++] = "-o";
	argv[n++] = profile_name(a, base, PROFILES_MOST);
	for (unsigned i = 0; i < count; i++)
		argv[n++] = profile_name(a, base, i);
	return n;
}

static unsigned view_arguments(const struct asked_query *a, const char **argv)
{
	static const char *const commands[QUERIES][4] = {
		[QUERY_PAGE] = { "report", "--html", "-", "-i" },
		[QUERY_PPROF] = { "export", "--pprof", "-o", "-" },
		[QUERY_FLOW] = { "flow", "--fresh", "--json", "-i" },
		[QUERY_ADVISE] = { "advise", "--json", "-i", NULL },
		[QUERY_DIFF] = { "diff", "--fresh", "--json", NULL },
	};
	unsigned n = 0;

	argv[n++] = "accperf";
	for (unsigned i = 0; i < 4 && commands[a->kind][i]; i++)
		argv[n++] = commands[a->kind][i];
	if (a->kind == QUERY_DIFF)
		argv[n++] = profile_name(a, true, PROFILES_MOST);
	argv[n++] = profile_name(a, false, PROFILES_MOST);
	return n;
}

/* Of the answer before, and of a daemon that was killed. */
static void empty_folder(const struct daemon *d)
{
	int fd = openat(d->keeper.dir, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (de = readdir(dir)))
		if (*de->d_name != '.' || strlen(de->d_name) > 2)
			unlinkat(dirfd(dir), de->d_name, 0);
	if (dir)
		closedir(dir);
}

/* A profile that is removed meanwhile can be read to the end. Where a file system has no hard links, a symbolic one. */
static bool link_profiles(const struct asked_query *a, int folder)
{
	bool all = true;

	for (unsigned i = 0; i < a->of_count + a->base_count; i++) {
		const char *name = i < a->of_count ? a->of[i].name : a->base[i - a->of_count].name;
		char path[2 * NAME_MAX + 10];

		snprintf(path, sizeof(path), "../%s/%s", a->service, name);
		all &= !linkat(folder, path, folder, name, 0) || errno == EEXIST ||
		       (errno != ENOENT && !symlinkat(path, folder, name));
	}
	return all;
}

static void end_asked(struct daemon *d, const char *why)
{
	struct queries *q = &d->queries;
	struct asked_query *a = q->runs;

	empty_folder(d);
	if (q->folder >= 0)
		close(q->folder);
	q->folder = -1;
	if (q->said >= 0)
		close(q->said);
	q->said = -1;
	a->made = clock_now();
	a->state = why ? ASKED_FAILED : ASKED_DONE;
	if (why) {
		snprintf(a->why, sizeof(a->why), "%s", why);
		if (a->out >= 0)
			close(a->out);
		a->out = -1;
	}
	q->runs = NULL;
}

static bool step_is_needed(const struct asked_query *a, unsigned step)
{
	return step == STEP_VIEW || (step == STEP_MERGE ? a->of_count : a->base_count) > 1;
}

/* What is put together must not take the disk's reserve. */
static bool has_space(const struct daemon *d, const struct asked_query *a)
{
	uint64_t need = (uint64_t)(a->of_count + a->base_count) * d->c.segment_size;

	return (a->of_count < 2 && a->base_count < 2) || keeper_free(&d->keeper) >= d->c.reserve + need;
}

static void begin_step(struct daemon *d)
{
	struct queries *q = &d->queries;
	struct asked_query *a = q->runs;
	const char *argv[ARGUMENTS] = { NULL };
	struct child_opts o = { .argv = argv,
				.out = q->step == STEP_VIEW ? a->out : -1,
				.said = q->said,
				.folder = q->folder,
				.end_by = SIGKILL,
				.nice = CHILD_READS_NICE,
				.memory = memory_for_reader(d),
				.file_size = q->step == STEP_VIEW ? ANSWER_MOST
								  : (uint64_t)PROFILES_MOST * d->c.segment_size };
	struct err e = { 0 };

	if (q->step == STEP_VIEW)
		view_arguments(a, argv);
	else
		merge_arguments(a, q->step == STEP_MERGE_BASE, argv);
	q->pid = child_start(&o, &e);
	if (q->pid < 0) {
		q->pid = 0;
		end_asked(d, e.text);
	}
}

static void next_step(struct daemon *d)
{
	struct queries *q = &d->queries;

	while (q->step < STEPS && !step_is_needed(q->runs, q->step))
		q->step++;
	if (q->step < STEPS)
		begin_step(d);
	else
		end_asked(d, NULL);
}

static void begin_asked(struct daemon *d, struct asked_query *a)
{
	struct queries *q = &d->queries;

	q->runs = a;
	q->step = 0;
	q->began = clock_now();
	a->state = ASKED_RUNS;
	a->out = memfd_create("answer", MFD_CLOEXEC);
	q->said = memfd_create("said", MFD_CLOEXEC);
	q->folder = openat(d->keeper.dir, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (a->out < 0 || q->said < 0)
		end_asked(d, "no more files can be opened");
	else if (!has_space(d, a))
		end_asked(
			d,
			"profiles of that time cannot be put together: that would take the disk's reserve; ask for one "
			"segment's time");
	else if (q->folder < 0 || !link_profiles(a, q->folder))
		end_asked(d, "a profile has just been removed, or the disk takes no files; ask again");
	else
		next_step(d);
}

static void end_step(struct daemon *d)
{
	struct queries *q = &d->queries;
	char said[250], why[300];
	struct rusage use;
	double cpu;
	int status;

	if (clock_now() - q->began > LONGEST_NS)
		kill(-q->pid, SIGKILL); /* its helpers as well */
	if (wait4(q->pid, &status, WNOHANG, &use) != q->pid)
		return;
	q->pid = 0;
	cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	      (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
	q->credit -= cpu;
	q->cost += cpu;
	q->unbooked += cpu;
	if (WIFSIGNALED(status)) {
		end_asked(d, WTERMSIG(status) == SIGXFSZ ? "the answer is larger than 64 MB: ask for less time"
			     : clock_now() - q->began > LONGEST_NS
				     ? "it took longer than two minutes: ask for less time"
			     : WTERMSIG(status) == SIGKILL
				     ? "limits.memory leaves no room for it now: ask for less time, or later"
				     : "its command did not survive what it read");
		return;
	}
	/* 3: it is readable, and not all of it is there */
	if (WEXITSTATUS(status) && WEXITSTATUS(status) != 3) {
		child_last_line(q->said, said, sizeof(said));
		snprintf(why, sizeof(why), "%s", said);
		end_asked(d, why);
		return;
	}
	q->runs->partly |= WEXITSTATUS(status) == 3;
	q->step++;
	next_step(d);
}

void queries_look(struct daemon *d)
{
	struct queries *q = &d->queries;
	struct asked_query *first = NULL;

	if (q->pid)
		end_step(d);
	if (q->runs || d->stopping)
		return;
	for (unsigned i = 0; i < QUERIES_KEPT; i++)
		if (q->at[i].id && q->at[i].state == ASKED_WAITS && (!first || q->at[i].id < first->id))
			first = &q->at[i];
	if (first)
		begin_asked(d, first);
}

void queries_earn(struct daemon *d, double rate, double seconds)
{
	struct queries *q = &d->queries;

	q->credit += rate * seconds;
	if (q->credit > SAVED_MOST_S)
		q->credit = SAVED_MOST_S;
}

/* ---- lifetime */

void queries_folder(struct daemon *d)
{
	mkdirat(d->keeper.dir, FOLDER, 0700);
}

void queries_open(struct daemon *d)
{
	struct queries *q = &d->queries;

	*q = (struct queries){ .said = -1, .folder = -1, .credit = SAVED_MOST_S };
	for (unsigned i = 0; i < QUERIES_KEPT; i++)
		q->at[i].out = -1;
	queries_folder(d);
	empty_folder(d);
}

void queries_close(struct daemon *d)
{
	struct queries *q = &d->queries;

	child_kill(&q->pid, !d->stopping);
	if (q->runs)
		end_asked(d, "the daemon ends");
	for (unsigned i = 0; i < QUERIES_KEPT; i++)
		forget_asked(&q->at[i]);
}
