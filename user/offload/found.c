// SPDX-License-Identifier: GPL-2.0-or-later
/* From files to probes: which of a process's files hold something to probe, and where in them. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kmod-free/elfsym.h"
#include "offload/exits.h"
#include "offload/session_internal.h"
#include "util/clean.h"
#include "util/clock.h"
#include "util/openfile.h"
#include "util/path_name.h"

#define NOTES_MOST (64u << 10) /* bytes: more about files would be read by nobody */

struct found_finding {
	struct offload_session *s;
	int pid;
	bool everything;    /* markers may be in any file */
	bool later;         /* not when recording of this process begins */
	uint64_t mapped_at; /* when the process mapped what is looked for; 0: not told */
	const char *exe;    /* that the process is about to run; NULL: it runs */
	struct pointed pointed;
	struct err *e;
	int failed; /* an error that ends the search: rights */
};

/* Points gathered from one file. */
struct gather {
	struct offload_session *s;
	const struct offload_api *api;
	const char *path, *base;
	int fd;
	struct uprobe_point *points;
	struct fmt_offload_api *apis;
	struct session_probe *probes;
	struct exits *exits;      /* of points[] */
	char *symbols[PROBE_MAX]; /* of points[], for people; NULL: no memory */
	unsigned cnt;
	bool full;
};

static bool user_wants(const struct offload_user_probe *p, const char *base, const char *path)
{
	return !strcmp(p->library, path) || !fnmatch(p->library, base, 0);
}

/* Some of its calls go by a table, and by no name. */
static bool has_table(const char *base)
{
	for (const struct offload_api *a = offload_api_of(base, NULL); a; a = offload_api_of(base, a))
		if (a->table)
			return true;
	return false;
}

static bool api_wants(struct offload_session *s, const char *base)
{
	bool wants = false;

	for (const struct offload_api *a = offload_api_of(base, NULL); a; a = offload_api_of(base, a)) {
		s->api_seen[offload_api_index(a)] = true;
		wants |= s->api_wanted[offload_api_index(a)];
	}
	return wants;
}

static bool want_searched(void *ctx, const char *base, const char *path)
{
	struct found_finding *f = ctx;

	if (f->everything && f->s->markers)
		return true;
	if (api_wants(f->s, base))
		return true;
	for (unsigned i = 0; i < f->s->user_cnt; i++)
		if (user_wants(&f->s->user[i], base, path))
			return true;
	return false;
}

bool session_wants(struct offload_session *s, const char *path)
{
	return want_searched(&(struct found_finding){ .s = s }, path_last(path), path);
}

/* What the probe will replace, and so what a hit costs. */
static enum fmt_probe_class class_at(const struct gather *g, uint64_t offset)
{
	uint8_t bytes[UPROBE_INSN_BYTES];
	ssize_t n = pread(g->fd, bytes, sizeof(bytes), (off_t)offset);

	return n > 0 && !session_engine(g->s, NULL) ? uprobe_class(g->s->u, bytes, (size_t)n) : FMT_PROBE_UNKNOWN;
}

struct titles {
	const char *api, *name, *symbol;
	enum fmt_offload_variant variant;
};

static void add_point(struct gather *g, uint64_t offset, const struct probe_spec *spec, struct titles t)
{
	struct offload_session *s = g->s;
	struct fmt_offload_api *f;

	/* Aliases share an address: probing it twice would count twice. */
	for (unsigned i = 0; i < g->cnt; i++)
		if (g->points[i].offset == offset)
			return;
	if (g->cnt == PROBE_MAX) {
		g->full = true;
		return;
	}
	g->points[g->cnt] = (struct uprobe_point){ .offset = offset, .spec = *spec };
	f = &g->apis[g->cnt];
	*f = (struct fmt_offload_api){
		.api = s->sink.string(s->sink.ctx, t.api),
		.name = s->sink.string(s->sink.ctx, t.name),
		.symbol = s->sink.string(s->sink.ctx, t.symbol),
		.kind = spec->kind == PK_SUBMIT                           ? FMT_OK_SUBMIT
			: spec->kind == PK_CALL || spec->kind == PK_BEGIN ? FMT_OK_CALL
									  : FMT_OK_WAIT,
		.variant = t.variant,
		.probe = class_at(g, offset),
	};
	g->symbols[g->cnt] = strdup(t.symbol);
	g->probes[g->cnt].offset = offset;
	g->probes[g->cnt].calls = (struct calls_probe){
		.family = spec->family,
		.scope = spec->scope,
		.completes = spec->completes,
		.per_thread = spec->per_thread,
		.cost = (uint8_t)f->probe,
	};
	g->cnt++;
}

static int on_symbol(void *ctx, const struct elfsym *sym)
{
	struct gather *g = ctx;
	struct offload_session *s = g->s;
	bool per_thread;

	for (unsigned i = 0; i < s->user_cnt; i++) {
		struct offload_user_probe *p = &s->user[i];
		struct probe_spec spec = p->spec;

		if (strcmp(p->symbol, sym->name) || !user_wants(p, g->base, g->path))
			continue;
		spec.family = (uint16_t)(FAMILY_USER + i);
		s->user_found[i] = true;
		add_point(g, sym->offset, &spec, (struct titles){ p->name, p->name, sym->name, p->variant });
	}
	for (const struct offload_api *a = offload_api_of(g->base, NULL); a; a = offload_api_of(g->base, a)) {
		const struct offload_row *row;
		struct probe_spec spec;
		unsigned had;

		if (!s->api_wanted[offload_api_index(a)])
			continue;
		row = offload_row_of(a, sym->name, &per_thread);
		if (!row)
			continue;
		spec = row->spec;
		spec.family = offload_family(a->family);
		spec.per_thread = per_thread;
		had = g->cnt;
		add_point(g, sym->offset, &spec, (struct titles){ a->name, row->symbol, sym->name, FMT_OV_UNKNOWN });
		if (g->cnt > had)
			g->probes[had].of = a;
	}
	return g->full;
}

/* accperf_probe.h: NAME__begin, NAME__begin_host, NAME__begin_accelerated, NAME__end; the bytes are
 * in the first argument's register. */
static int on_marker(void *ctx, const struct elfsym_marker *m)
{
	struct probe_spec spec = { .in = { .op = PX_ARG } };
	struct gather *g = ctx;
	enum fmt_offload_variant variant = FMT_OV_UNKNOWN;
	const char *cut = strstr(m->name, "__");
	char name[128];

	if (strcmp(m->provider, "accperf") || !cut || (size_t)(cut - m->name) >= sizeof(name))
		return 0;
#if defined(__x86_64__)
	if (strncmp(m->args, "8@%rdi", 6))
		return 0;
#else
	if (strncmp(m->args, "8@x0", 4))
		return 0;
#endif
	snprintf(name, sizeof(name), "%.*s", (int)(cut - m->name), m->name);
	spec.family = (uint16_t)(FAMILY_MARKER + intern_str(&g->s->marker_families, name, NULL) % 30000);
	if (!strcmp(cut, "__end")) {
		spec.kind = PK_END;
		spec.out = spec.in;
		spec.in = (struct probe_expr){ 0 };
	} else if (!strncmp(cut, "__begin", 7)) {
		spec.kind = PK_BEGIN;
		variant = !strcmp(cut, "__begin_host")          ? FMT_OV_HOST
			  : !strcmp(cut, "__begin_accelerated") ? FMT_OV_ACCELERATED
								: FMT_OV_UNKNOWN;
	} else {
		return 0;
	}
	add_point(g, m->offset, &spec, (struct titles){ name, name, m->name, variant });
	return g->full;
}

/* Once each, though every container has a file of that name. */
static void note_once(struct offload_session *s, const char *path, const char *text)
{
	AUTO_BUF(line);

	/* the target names its files: a newline in a path would begin a note of its own */
	clean_add(&line, path, CLEAN_TEXT);
	buf_addf(&line, ": %s\n", text);
	if (!buf_failed(&line) && s->notes.len && strstr(s->notes.data, line.data))
		return;
	if (buf_failed(&line) || s->notes.len > NOTES_MOST)
		s->notes_cut++;
	else
		buf_addstr(&s->notes, line.data);
}

static void missing_symbols(struct offload_session *s, const struct lib_file *f)
{
	AUTO_BUF(text);

	for (unsigned i = 0; i < s->user_cnt; i++) {
		if (!user_wants(&s->user[i], f->base, f->path))
			continue;
		s->user_lib_seen[i] = true;
		if (s->user_found[i])
			continue;
		buf_clear(&text);
		buf_addf(
			&text,
			"has no function '%s': see `nm -D`; a function that was inlined or is hidden and stripped cannot be probed",
			s->user[i].symbol);
		note_once(s, f->path, text.data);
	}
}

static struct known_lib *new_lib(struct offload_session *s, const struct lib_file *f, uint32_t group)
{
	struct known_lib *l;

	if (s->libs_cnt == sizeof(s->libs) / sizeof(*s->libs)) {
		s->libs_full = true;
		return NULL;
	}
	l = &s->libs[s->libs_cnt];
	*l = (struct known_lib){ .dev = f->dev, .ino = f->ino, .index = -1, .group = group, .path = strdup(f->path) };
	return l;
}

/* The budget's thread walks the table. */
static void lib_ready(struct offload_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->libs_cnt++;
	pthread_mutex_unlock(&s->lock);
	budget_first_look(s);
}

struct known_lib *session_new_lib(struct offload_session *s, const char *path)
{
	return new_lib(s, &(struct lib_file){ .path = path }, 0);
}

void session_lib_ready(struct offload_session *s)
{
	lib_ready(s);
}

/* Where each function ends; what has a return to probe instead, or nothing. */
static void find_exits(struct gather *g)
{
	struct exits_file *f = exits_open(g->fd, NULL);

	for (unsigned i = 0; f && i < g->cnt; i++) {
		struct uprobe_point *p = &g->points[i];

		if (probe_entry_only(p->spec.kind))
			continue;
		exits_find(f, p->offset, &g->exits[i]);
		p->exits = g->exits[i].at;
		p->exits_cnt = g->exits[i].cnt;
	}
	exits_close(f);
}

static bool may_pass(const struct session_probe *p)
{
	return !p->of || p->of->calls_back;
}

/* What a group holds that only a return probe would see the end of. */
static void count_without(const struct gather *g, uint32_t group, struct known_lib *l)
{
	for (unsigned i = 0; i < g->cnt; i++) {
		const struct uprobe_point *p = &g->points[i];

		if (p->spec.apart != group || p->exits_cnt || probe_entry_only(p->spec.kind))
			continue;
		l->without++;
		l->calls_back |= may_pass(&g->probes[i]);
	}
}

static void note_alone(struct gather *g, uint32_t group)
{
	AUTO_BUF(names);
	AUTO_BUF(text);
	unsigned n = 0;

	for (unsigned i = 0; i < g->cnt; i++)
		if (g->points[i].spec.apart == group && !g->points[i].exits_cnt && g->exits[i].why_not && n++ < 3) {
			buf_addstr(&names, n > 1 ? ", " : "");
			clean_add(&names, g->symbols[i] ? g->symbols[i] : "a function", CLEAN_TEXT);
			buf_addf(&names, " (%s)", g->exits[i].why_not);
		}
	if (!n || buf_failed(&names))
		return;
	buf_addf(
		&text,
		"of calls of %s%s only the beginning is seen, so they are counted and not timed: where such a function ends is not known, "
		"and a probe on its return would end a program that throws an exception through it; --offload-returns risks that",
		names.data, n > 3 ? " and others" : "");
	if (!buf_failed(&text))
		note_once(g->s, g->path, text.data);
}

/* A process takes part in a library: its return addresses are replaced only where nothing that passes could be
 * harmed. */
static int attach_to(struct found_finding *find, struct known_lib *l, bool *alone, struct err *e)
{
	struct offload_session *s = find->s;
	bool returns = !l->without || !l->calls_back || session_bears_returns(s, find->pid, find->exe);

	*alone = !returns;
	s->returns_at_risk |= returns && l->without && l->calls_back && !s->opts.returns;
	return uprobe_attach(s->u, l->index, find->pid, returns, e);
}

/* The points of one group become a library of the engine; armed apart, they have a stretch of time
 * of their own. */
static int add_library_of_group(struct found_finding *find, struct gather *g, struct lib_file *f, uint32_t group,
				struct err *e)
{
	struct offload_session *s = g->s;
	struct uprobe_point *points = calloc(g->cnt + 1, sizeof(*points));
	struct known_lib *l;
	unsigned n = 0;
	bool alone;
	int fd, r;

	for (unsigned i = 0; points && i < g->cnt; i++)
		if (g->points[i].spec.apart == group)
			points[n++] = g->points[i];
	l = points && n ? new_lib(s, f, group) : NULL;
	if (!l) {
		free(points);
		return 0;
	}
	fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);
	r = fd < 0 ? err_set(e, -errno, "out of file descriptors") : session_engine(s, e);
	r = r ? r : uprobe_library(s->u, fd, points, n, &l->first, e);
	free(points);
	if (r < 0) {
		if (fd >= 0)
			close(fd);
		l->refused = true;
		lib_ready(s);
		return r;
	}
	l->index = r;
	l->count = n;
	l->mapped = f->mapped;
	l->path_id = s->sink.string(s->sink.ctx, f->path);
	n = 0;
	for (unsigned i = 0; i < g->cnt; i++) {
		if (g->points[i].spec.apart != group)
			continue;
		g->apis[i].id = l->first + n + 1;
		g->apis[i].library = l->path_id;
		g->apis[i].group = group;
		g->apis[i].mapped = f->mapped ? FMT_OM_MAPPED : FMT_OM_INSTALLED;
		g->probes[i].calls.api = g->apis[i].id;
		s->probes[l->first + n++] = g->probes[i];
		s->sink.put(s->sink.ctx, FMT_OFFLOAD_API, &g->apis[i], sizeof(g->apis[i]));
	}
	count_without(g, group, l);
	r = attach_to(find, l, &alone, e);
	if (r >= 0 && alone)
		note_alone(g, group);
	if (r >= 0)
		r = budget_arm(s, l, e);
	lib_ready(s);
	return r;
}

static int gather_begin(struct gather *g, struct err *e)
{
	g->points = calloc(PROBE_MAX, sizeof(*g->points));
	g->apis = calloc(PROBE_MAX, sizeof(*g->apis));
	g->probes = calloc(PROBE_MAX, sizeof(*g->probes));
	g->exits = calloc(PROBE_MAX, sizeof(*g->exits));
	return g->points && g->apis && g->probes && g->exits ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static void gather_end(struct gather *g)
{
	free(g->points);
	free(g->apis);
	free(g->probes);
	free(g->exits);
	for (unsigned i = 0; i < g->cnt; i++)
		free(g->symbols[i]);
}

/* Looks for points in a file seen for the first time; it is remembered even if there are none. */
static int find_points(struct found_finding *find, struct lib_file *f, struct err *e)
{
	struct offload_session *s = find->s;
	struct gather g = { .s = s, .path = f->path, .base = f->base, .fd = f->fd };
	struct err why = { 0 };
	int r = gather_begin(&g, e);

	if (r)
		goto out;
	if (want_searched(&(struct found_finding){ .s = s }, f->base, f->path)) {
		if (elfsym_walk(f->fd, on_symbol, &g, NULL, &why) < 0)
			note_once(s, f->path, why.text);
		else if (!g.cnt && api_wants(s, f->base) && !has_table(f->base))
			note_once(s, f->path, "none of the known functions is in it: nothing to probe");
		missing_symbols(s, f);
	}
	if (s->markers)
		elfsym_markers(f->fd, on_marker, &g, NULL);
	if (!g.cnt) {
		if (new_lib(s, f, 0))
			lib_ready(s);
		goto out;
	}
	find_exits(&g);
	for (uint32_t group = 0; group < PA_KINDS && !r; group++)
		r = add_library_of_group(find, &g, f, group, e);
out:
	gather_end(&g);
	return r;
}

/* A library was loaded before we knew, and may have been called. */
static void count_late(const struct found_finding *find)
{
	struct offload_session *s = find->s;
	uint64_t now = clock_now();

	s->late++;
	if (!find->mapped_at || find->mapped_at > now)
		s->late_untold = true;
	else if (now - find->mapped_at > s->late_ns)
		s->late_ns = now - find->mapped_at;
}

/* A library that was planted where it lies is in a process now: one of its functions says so for all. */
static void note_mapped(struct offload_session *s, struct known_lib *l)
{
	struct fmt_offload_api f = { .id = l->first + 1, .mapped = FMT_OM_MAPPED };

	if (l->mapped || !l->count)
		return;
	l->mapped = true;
	s->sink.put(s->sink.ctx, FMT_OFFLOAD_API, &f, sizeof(f));
}

/* Rights end the search, all else is noted. */
static int found_or_noted(struct found_finding *find, const struct lib_file *f, int r, const struct err *why)
{
	struct offload_session *s = find->s;

	if (r >= 0 || r == -ESRCH)
		return 0;
	note_once(s, r == -E2BIG ? "offload" : f->path, why->text);
	s->degraded = true;
	if (r == -EPERM || r == -EACCES)
		find->failed = err_set(find->e, r, "%s: %s", f->path, why->text);
	return find->failed;
}

/* Which of the file's libraries has this place; NULL: none yet. */
static struct known_lib *lib_with(struct offload_session *s, const struct lib_file *f, uint64_t offset)
{
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		struct known_lib *l = &s->libs[i];

		for (uint32_t p = l->first; l->index >= 0 && p < l->first + l->count; p++)
			if (l->ino == f->ino && l->dev == f->dev && s->probes[p].offset == offset)
				return l;
	}
	return NULL;
}

/* A file that a table points into. The library with the table has functions of its own there, for what is not ready. */
static int on_pointed_file(void *ctx, struct lib_file *f)
{
	struct found_finding *find = ctx;
	struct offload_session *s = find->s;
	struct gather g = { .s = s, .path = f->path, .base = f->base, .fd = f->fd };
	const struct pointed *at = &find->pointed;
	struct exits_file *code;
	struct err why = { 0 };
	struct stat st;
	int r;

	if (f->waits || api_wants(s, f->base) || fstat(f->fd, &st))
		return 0;
	r = gather_begin(&g, &why);
	code = exits_open(f->fd, NULL);
	for (unsigned i = 0; i < at->cnt && !r; i++) {
		uint64_t offset = at->addr[i] - f->start + f->pgoff;
		struct probe_spec spec = at->row[i]->spec;
		struct known_lib *l;
		unsigned had = g.cnt;
		bool alone;

		if (at->addr[i] < f->start || offset >= (uint64_t)st.st_size)
			continue;
		l = lib_with(s, f, offset);
		if (l) {
			r = attach_to(find, l, &alone, &why);
			r = r > 0 ? 0 : r;
			continue;
		}
		/* the table is the target's, and of another release it may be laid out otherwise */
		if (!code || !exits_begins(code, offset)) {
			note_once(s, f->path, "a table of functions points to what is none: it is not probed");
			continue;
		}
		spec.family = offload_family(at->of[i]->family);
		add_point(&g, offset, &spec,
			  (struct titles){ at->of[i]->name, at->row[i]->symbol, at->row[i]->symbol, FMT_OV_UNKNOWN });
		if (g.cnt > had)
			g.probes[had].of = at->of[i];
	}
	if (!r && g.cnt) {
		find_exits(&g);
		r = add_library_of_group(find, &g, f, 0, &why);
		if (find->later)
			count_late(find);
	}
	exits_close(code);
	gather_end(&g);
	return found_or_noted(find, f, r, &why);
}

static int on_file_to_search(void *ctx, struct lib_file *f)
{
	struct found_finding *find = ctx;
	struct offload_session *s = find->s;
	struct err why = { 0 };
	bool known = false, alone;
	int r = 0;

	if (f->waits) {
		note_once(s, f->path, "not probed: the server of its file system does not answer");
		s->degraded = true;
		return 0;
	}
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		if (s->libs[i].ino != f->ino || s->libs[i].dev != f->dev)
			continue;
		known = true;
		if (s->libs[i].index < 0 || r < 0)
			continue;
		if (f->mapped)
			note_mapped(s, &s->libs[i]);
		r = attach_to(find, &s->libs[i], &alone, &why);
		if (!r && f->mapped && find->later)
			count_late(find);
	}
	if (!known) {
		unsigned before = s->libs_cnt;

		r = find_points(find, f, &why);
		for (unsigned i = before; i < s->libs_cnt && f->mapped && find->later; i++)
			if (s->libs[i].index >= 0)
				count_late(find);
	}
	for (const struct offload_api *a = offload_api_of(f->base, NULL); a; a = offload_api_of(f->base, a))
		if (s->api_wanted[offload_api_index(a)])
			pointed_read(&find->pointed, find->pid, f, a);
	return found_or_noted(find, f, r, &why);
}

/* The program itself before its exec: it is not mapped yet. */
static void own_file(struct found_finding *f, const char *exe)
{
	struct lib_file file = { .path = exe, .base = path_last(exe) };
	struct stat st;

	if (!want_searched(f, file.base, exe))
		return;
	openfile_itself(true);
	file.fd = openfile_regular(exe, &st);
	openfile_itself(false);
	if (file.fd < 0)
		return;
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	on_file_to_search(f, &file);
	if (file.fd >= 0)
		close(file.fd);
}

int session_find(struct offload_session *s, int pid, bool installed, const char *exe, uint64_t mapped_at, struct err *e)
{
	struct found_finding f = { .s = s,
				   .pid = pid,
				   .everything = true,
				   .later = !installed && !s->opts.system_wide,
				   .mapped_at = mapped_at,
				   .exe = exe,
				   .e = e };
	char link[64], path[4096];
	ssize_t n;
	int r = 0;

	if (exe)
		own_file(&f, exe);
	else
		r = libs_mapped(pid, want_searched, on_file_to_search, &f, e);
	if (r >= 0 && !f.failed && f.pointed.cnt)
		libs_holding(pid, f.pointed.addr, f.pointed.cnt, on_pointed_file, &f);
	if (r < 0 || f.failed)
		return f.failed ? f.failed : r;
	/* A library that catches may have been loaded since. */
	if (!exe && s->returns_at_risk && !session_bears_returns(s, pid, NULL))
		uprobe_no_returns(s->u, pid);
	/* Perf uprobes take ten milliseconds each: only what is in use. */
	/* Unasked, a library is probed once it is mapped. */
	if (!installed || s->opts.unasked || (uprobe_mode(s->u) == UPROBE_PERF && !exe))
		return 0;
	f.everything = false;
	if (!exe) {
		snprintf(link, sizeof(link), "/proc/%d/exe", pid);
		n = readlink(link, path, sizeof(path) - 1);
		path[n > 0 ? n : 0] = 0;
	}
	libs_installed(pid, exe != NULL, exe ? exe : path, want_searched, on_file_to_search, &f);
	return f.failed;
}
