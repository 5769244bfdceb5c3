// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which of the known files a process still maps. Containers bring a copy of each library, so that over weeks the
 * tables of files and probes fill with what nobody maps any more, and what came then would not be seen.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/libs.h"
#include "offload/session_internal.h"
#include "util/openfile.h"

/* What cannot be looked at is not known to be unmapped. */
struct mapped_looking {
	struct offload_session *s;
	char asked[PATH_MAX]; /* a file that is to be opened next; "": the last one was */
};

static void keep_all(struct offload_session *s)
{
	for (unsigned i = 0; i < s->libs_cnt; i++)
		s->libs[i].in_use = true;
}

/* The file that was asked for could not be opened: too many descriptors, no right to a deleted one. */
static void keep_asked(struct mapped_looking *l)
{
	for (unsigned i = 0; *l->asked && i < l->s->libs_cnt; i++)
		l->s->libs[i].in_use |= l->s->libs[i].path && !strcmp(l->s->libs[i].path, l->asked);
	*l->asked = 0;
}

static bool want_observed(void *ctx, const char *base, const char *path)
{
	struct mapped_looking *l = ctx;
	bool pointed = false; /* into it, by a table: its name says nothing */

	keep_asked(l);
	for (unsigned i = 0; i < l->s->libs_cnt && !pointed; i++)
		pointed = l->s->libs[i].path && !strcmp(l->s->libs[i].path, path);
	if (!l->s->markers && !pointed && !session_wants(l->s, path))
		return false;
	snprintf(l->asked, sizeof(l->asked), "%s", path);
	return true;
}

static int on_mapped_file(void *ctx, struct lib_file *f)
{
	struct mapped_looking *l = ctx;
	struct offload_session *s = l->s;

	if (f->waits)
		return 0;
	*l->asked = 0;
	for (unsigned i = 0; i < s->libs_cnt; i++)
		s->libs[i].in_use |= s->libs[i].ino == f->ino && s->libs[i].dev == f->dev;
	return 0;
}

static void look_mapped(struct offload_session *s, int pid)
{
	struct mapped_looking l = { .s = s };
	int r = libs_mapped(pid, want_observed, on_mapped_file, &l, NULL);

	keep_asked(&l);
	if (r < 0 && r != -ESRCH)
		keep_all(s);
}

/* Not mapped, but where pid would find it: its first calls are seen only if it is probed before. */
static void look_installed(struct offload_session *s, int pid)
{
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];
		struct stat st;
		int fd;

		if (l->in_use || l->index < 0 || !l->path)
			continue;
		openfile_itself(true);
		fd = openfile_in_root((uint32_t)pid, l->path, &st);
		openfile_itself(false);
		l->in_use |= fd == -EINPROGRESS || fd == -ETIMEDOUT;
		if (fd < 0)
			continue;
		l->in_use = st.st_ino == l->ino && st.st_dev == l->dev;
		close(fd);
	}
}

static void look_everywhere(struct offload_session *s)
{
	DIR *d = opendir("/proc");
	struct dirent *de;

	if (!d) {
		keep_all(s);
		return;
	}
	while ((de = readdir(d)))
		if (atoi(de->d_name) > 0)
			look_mapped(s, atoi(de->d_name));
	closedir(d);
	look_installed(s, getpid());
}

static void look_at_maps(struct offload_session *s)
{
	uint64_t pid, *value;
	size_t pos = 0;

	for (unsigned i = 0; i < s->libs_cnt; i++)
		s->libs[i].in_use = s->libs[i].traced;
	if (s->opts.system_wide) {
		look_everywhere(s);
		return;
	}
	while (map_next(&s->pids, &pos, &pid, &value)) {
		look_mapped(s, (int)pid);
		look_installed(s, (int)pid);
	}
}

static struct known_lib *lib_of(struct offload_session *s, uint32_t probe)
{
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];

		if (l->index >= 0 && probe >= l->first && probe < l->first + l->count)
			return l;
	}
	return NULL;
}

/* What was counted and is not written yet keeps the library until the next profile. */
static void news_of_total(void *ctx, const struct probe_total_key *k, const struct probe_total *t)
{
	struct offload_session *s = ctx;
	struct known_lib *l = lib_of(s, k->probe);
	uint64_t sum[CELL_SUMS];

	session_total_sums(t, sum);
	if (l && !cells_known(&s->totals, k, sizeof(*k), sum, CELL_SUMS))
		l->in_use = true;
}

static void news_of_hist(void *ctx, const struct probe_hist_key *k, const struct probe_hist *h)
{
	const uint64_t sum[] = { h->count, h->bytes, h->ns };
	struct offload_session *s = ctx;
	struct known_lib *l = lib_of(s, k->probe);

	if (l && !cells_known(&s->hists, k, sizeof(*k), sum, 3))
		l->in_use = true;
}

static bool drop_unused_total(void *ctx, const struct probe_total_key *k, const struct probe_total *t)
{
	struct offload_session *s = ctx;
	const struct known_lib *l = lib_of(s, k->probe);

	if (l && !l->in_use)
		cells_gone(&s->totals, k, sizeof(*k));
	return l && !l->in_use;
}

static bool drop_unused_hist(void *ctx, const struct probe_hist_key *k, const struct probe_hist *h)
{
	struct offload_session *s = ctx;
	const struct known_lib *l = lib_of(s, k->probe);

	if (l && !l->in_use)
		cells_gone(&s->hists, k, sizeof(*k));
	return l && !l->in_use;
}

/* Its probes' numbers are free for other functions. */
static void forget_library(struct offload_session *s, struct known_lib *l)
{
	if (l->index >= 0) {
		budget_book(s, l);
		s->gone.functions += l->count;
		s->gone.libs += !l->group;
		for (uint32_t p = l->first; p < l->first + l->count; p++) {
			struct probe_activity a = uprobe_activity(s->u, p);

			s->gone.called += a.calls > 0;
			s->gone.calls += a.calls;
			s->probes[p] = (struct session_probe){ 0 };
		}
		uprobe_library_end(s->u, l->index);
	}
	free(l->path);
}

static void forget_sites(struct offload_session *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->known_count; i++) {
		const struct known_lib *l = lib_of(s, s->known_sites[i].probe);

		if (!l || l->in_use)
			s->known_sites[kept++] = s->known_sites[i];
	}
	s->known_count = kept;
}

/* What there was no room for. */
static void find_again(struct offload_session *s)
{
	uint64_t pid, *value;
	size_t pos = 0;

	if (s->opts.system_wide)
		offload_session_attach_all(s, NULL);
	while (map_next(&s->pids, &pos, &pid, &value))
		session_find(s, (int)pid, false, NULL, 0, NULL);
}

void session_forget_unmapped(struct offload_session *s)
{
	unsigned kept = 0;
	bool again = s->libs_full;

	map_release(&s->catching); /* another file may have got a number by now */
	if (s->libs_cnt == s->libs_kept)
		return;
	look_at_maps(s);
	if (s->u) {
		uprobe_totals(s->u, news_of_total, s);
		uprobe_hists(s->u, news_of_hist, s);
		uprobe_totals_drop(s->u, drop_unused_total, s);
		uprobe_hists_drop(s->u, drop_unused_hist, s);
	}
	forget_sites(s);
	pthread_mutex_lock(&s->lock); /* the budget's thread walks the table */
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];

		again |= l->refused;
		if (l->in_use && !l->refused)
			s->libs[kept++] = *l;
		else
			forget_library(s, l);
	}
	s->libs_cnt = s->libs_kept = kept;
	s->libs_full = false;
	pthread_mutex_unlock(&s->lock);
	if (again)
		find_again(s);
}
