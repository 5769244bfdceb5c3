// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_offload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attr/attr.h"
#include "kmod-free/targets.h"
#include "offload/api.h"
#include "record/ledger.h"
#include "store/write.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/rights.h"

#define CGROUP_DEPTH 32 /* of groups below the one that is observed: no real tree is half as deep */

/* A probed function, to be told again in the next profile. */
struct told_api {
	struct fmt_offload_api rec;
	char *text[4]; /* api, name, symbol, library */
};

#define STORED_NOTES 4000 /* bytes of them, in the profile */

struct offload_part {
	struct offload_opts opts;
	struct offload_session *session;
	struct session *recording;
	char exe[PATH_MAX];
	struct map members; /* of the control group: pid -> the look that found it there last */
	uint64_t look;
	struct told_api *told;
	size_t told_count, told_cap;
	bool degraded, ended, returns_told;
	struct buf notes;
};

static void free_told(struct told_api *t)
{
	for (int k = 0; k < 4; k++)
		free(t->text[k]);
}

static int keep_api(struct offload_part *p, const struct fmt_offload_api *f)
{
	const uint32_t id[4] = { f->api, f->name, f->symbol, f->library };
	struct told_api *t;

	for (size_t i = 0; !f->name && i < p->told_count; i++)
		if (p->told[i].rec.id == f->id) { /* told before: its library is mapped by now */
			p->told[i].rec.mapped = f->mapped;
			return 0;
		}
	if (!GROW(p->told, p->told_count, p->told_cap, 64))
		return -ENOMEM;
	t = &p->told[p->told_count++];
	*t = (struct told_api){ .rec = *f };
	for (int i = 0; i < 4; i++) {
		const char *text = store_text(session_store(p->recording), id[i]);

		if (text && !(t->text[i] = strdup(text)))
			return -ENOMEM;
	}
	return 0;
}

/* Of those that are probed still: the numbers of the others are free for other functions. */
static void tell_apis(struct offload_part *p, struct store_writer *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->told_count; i++) {
		struct told_api *t = &p->told[i];

		if (!offload_session_probes(p->session, t->rec.id)) {
			free_told(t);
			continue;
		}
		t->rec.api = store_string(w, t->text[0]);
		t->rec.name = store_string(w, t->text[1]);
		t->rec.symbol = store_string(w, t->text[2]);
		t->rec.library = store_string(w, t->text[3]);
		store_put(w, FMT_OFFLOAD_API, &t->rec, sizeof(t->rec));
		p->told[kept++] = *t;
	}
	p->told_count = kept;
}

static int store_record(void *ctx, enum fmt_section section, const void *rec, uint32_t size)
{
	struct offload_part *p = ctx;

	if (section == FMT_OFFLOAD_API && keep_api(p, rec))
		return -ENOMEM;

	return store_put(session_store(p->recording), section, rec, size);
}

static uint32_t string(void *ctx, const char *s)
{
	struct offload_part *p = ctx;

	return store_string(session_store(p->recording), s);
}

static void count_for_session(void *ctx, const char *name, uint64_t value, bool loss)
{
	struct offload_part *p = ctx;

	session_count(p->recording, name, value, loss);
}

/* What a probe costs is tried out on calls of our own, which are nobody's. */
static bool ours(uint32_t pid)
{
	return pid == (uint32_t)getpid();
}

static uint32_t stack_id_of(void *ctx, const struct sample *s)
{
	struct offload_part *p = ctx;

	return ours(s->pid) ? 0 : attr_stack(session_attr(p->recording), s);
}

static uint32_t site(void *ctx, uint32_t pid, uint64_t time, uint64_t func, uint64_t caller)
{
	struct offload_part *p = ctx;

	return ours(pid)
		       ? 0
		       : attr_frames(session_attr(p->recording), pid, time, (const uint64_t[]){ func, caller - 1 }, 2);
}

/* The file a command's name stands for, as execvp() finds it. */
static void find_exe(const char *name, char *out, size_t size)
{
	const char *path = getenv("PATH");
	char one[PATH_MAX], *real;

	out[0] = 0;
	if (strchr(name, '/')) {
		real = realpath(name, NULL);
		if (real && strlen(real) < size)
			strcpy(out, real);
		free(real);
		return;
	}
	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");

		snprintf(one, sizeof(one), "%.*s/%s", (int)n, p, name);
		if (!access(one, X_OK)) {
			find_exe(one, out, size);
			return;
		}
		p += n + (p[n] == ':');
	}
}

struct offload_part *offload_part_new(const struct offload_opts *o, const char *exe, struct err *e)
{
	struct offload_part *p;

	if (offload_opts_check(o, e))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	p->opts = *o;
	if (exe)
		find_exe(exe, p->exe, sizeof(p->exe));
	return p;
}

/* Found in the group again, or now: what was not there before is attached. */
static int cgroup_process(struct offload_part *p, int pid, struct err *e)
{
	bool added;
	uint64_t *seen = map_put(&p->members, (uint64_t)pid, &added);
	int r;

	if (!seen)
		return err_set(e, -ENOMEM, "out of memory");
	*seen = p->look;
	r = added ? offload_session_attach_pid(p->session, pid, NULL, e) : 0;
	return r == -ESRCH ? 0 : r;
}

static int cgroup_one(struct offload_part *p, int cgroup_fd, struct err *e)
{
	int fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid, r = 0;
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return err_set(e, -errno, "cannot list the processes of the control group: %s", strerror(errno));
	}
	while (!r && fscanf(f, "%d", &pid) == 1)
		r = cgroup_process(p, pid, e);
	fclose(f);
	return r;
}

/* The group and those below it, as the timers have it. One that goes away meanwhile has no processes. */
static int cgroup_tree(struct offload_part *p, int cgroup_fd, unsigned depth, struct err *e)
{
	int r = cgroup_one(p, cgroup_fd, e), list = r ? -1 : openat(cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = list >= 0 ? fdopendir(list) : NULL;
	struct dirent *de;

	if (!d && list >= 0)
		close(list);
	while (d && !r && (de = readdir(d))) {
		int below;

		if (de->d_type != DT_DIR || de->d_name[0] == '.' || depth >= CGROUP_DEPTH)
			continue;
		below = openat(cgroup_fd, de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			continue;
		r = cgroup_tree(p, below, depth + 1, e);
		close(below);
		if (r == -ENOENT || r == -ENODEV || r == -EOPNOTSUPP) /* the last: a group of threads */
			r = 0;
	}
	if (d)
		closedir(d);
	return r;
}

/* Who has left the group since the last look is a stranger. */
static void cgroup_left(struct offload_part *p)
{
	uint64_t key, *seen;
	size_t pos = 0;

	while (map_next(&p->members, &pos, &key, &seen)) {
		if (*seen == p->look)
			continue;
		offload_session_on_exit(p->session, (int)key);
		map_del(&p->members, key);
		pos = 0;
	}
}

static int attach_cgroup(struct offload_part *p, int cgroup_fd, struct err *e)
{
	int r;

	p->look++;
	r = cgroup_tree(p, cgroup_fd, 0, e);
	if (!r)
		cgroup_left(p);
	return r;
}

/* Once there is a table of the calls under way, samples within them are unwound by it. */
static void tell_returns(struct offload_part *p)
{
	int map = p->returns_told ? -1 : offload_session_threads_map(p->session);

	if (map < 0)
		return;
	p->returns_told = true;
	if (sampler_returns(session_sampler(p->recording), map))
		buf_addstr(
			&p->notes,
			"stacks of samples inside probed calls end there: the kernel refused the table of return addresses\n");
}

static int offload_start(void *part, struct session *s, struct err *e)
{
	struct offload_part *p = part;
	const struct offload_sink sink = { .ctx = p,
					   .put = store_record,
					   .string = string,
					   .count = count_for_session,
					   .stack = stack_id_of,
					   .site = site };
	struct targets *t = session_targets(s);
	int r = 0;

	p->recording = s;
	p->opts.budget = ledger_rate(session_ledger(s), ACCOUNT_OFFLOAD);
	p->opts.prices = session_prices(s);
	p->session = offload_session_new(&p->opts, &sink, e);
	if (!p->session && p->opts.unasked) {
		e->code = 0;
		return 0;
	}
	if (!p->session)
		return e->code ? e->code : -EINVAL;
	store_meta(session_store(s), OFFLOAD_LOOKED, "1");
	for (size_t i = 0; i < t->count && !r; i++) {
		r = offload_session_attach_pid(p->session, t->procs[i].pid, t->child ? p->exe : NULL, e);
		if (r == -ESRCH) /* ended meanwhile: the others go on */
			r = 0;
	}
	if (!r && t->cgroup_fd >= 0)
		r = attach_cgroup(p, t->cgroup_fd, e);
	if (!r && t->all)
		r = offload_session_attach_all(p->session, e);
	if (r && p->opts.unasked)
		e->code = r = 0;
	tell_returns(p);
	return r;
}

static int offload_on_sample(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct offload_part *p = part;

	uint64_t *seen;

	if (!p->session) /* offload_start() failed; what was queued until then is drained all the same */
		return 0;
	switch (m->kind) {
	case SAMPLE_MMAP:
		offload_session_on_mmap(p->session, (int)m->pid, m->text, m->time);
		tell_returns(p);
		break;
	case SAMPLE_COMM: /* what it runs now may have rights that our user has not */
		if (m->flags & SF_EXEC && rights_check_process((pid_t)m->pid, NULL))
			offload_session_on_exit(p->session, (int)m->pid);
		break;
	case SAMPLE_FORK:
		if (m->pid != m->ppid && !session_options(s)->no_inherit)
			offload_session_on_fork(p->session, (int)m->ppid, (int)m->pid);
		tell_returns(p);
		/* wherever it goes: the next look tells */
		if (m->pid != m->ppid && map_get(&p->members, m->ppid) && (seen = map_put(&p->members, m->pid, NULL)))
			*seen = p->look;
		break;
	case SAMPLE_EXIT:
		if (m->pid == m->tid)
			offload_session_on_exit(p->session, (int)m->pid);
		if (m->pid == m->tid)
			map_del(&p->members, m->pid);
		break;
	default: break;
	}
	return 0;
}

static int poll_once(void *part, struct session *s, uint64_t now)
{
	struct offload_part *p = part;

	if (!p->session)
		return 0;
	ledger_count(session_ledger(s), ACCOUNT_OFFLOAD, (double)offload_session_cost_ns(p->session));
	offload_session_poll(p->session);
	return 0;
}

static int second(void *part, struct session *s, uint64_t now)
{
	struct offload_part *p = part;

	if (p->session && !p->ended && session_targets(s)->cgroup_fd >= 0)
		attach_cgroup(p, session_targets(s)->cgroup_fd, NULL);
	if (p->session) {
		offload_session_tick(p->session);
		tell_returns(p);
	}
	return 0;
}

static int offload_ending(void *part, struct session *s)
{
	struct offload_part *p = part;

	if (p->session && !p->ended)
		offload_session_ending(p->session);
	return 0;
}

static int offload_begun(void *part, struct session *s, struct err *e)
{
	struct offload_part *p = part;

	if (!p->session)
		return 0;
	offload_session_begun(p->session);
	tell_apis(p, session_store(s));
	return 0;
}

static void offload_stop(void *part, struct session *s)
{
	struct offload_part *p = part;

	if (!p->session)
		return;
	p->ended = true;
	offload_session_end(p->session);
	poll_once(p, s, 0);
	offload_session_notes(p->session, &p->notes);
	p->degraded = offload_session_degraded(p->session);
	/* Who did not ask for probes is told nothing while recording, but may wonder later why a call is not there. */
	if (p->notes.len)
		store_metaf(session_store(s), "offload.notes", "%.*s", STORED_NOTES, p->notes.data);
}

void offload_part_list(void)
{
	const struct offload_api *a;

	printf("%-12s %-28s %s\n", "auto", "all of these", "whichever the target maps, now or later");
	printf("%-12s %-28s %s\n", "markers", "include/accperf_probe.h", "in the program and its libraries");
	for (unsigned i = 0; (a = offload_api_at(i)); i++)
		printf("%-12s %-28s %s\n", a->name, a->label, *a->libs ? a->libs : "system calls and tracepoints");
	puts("none");
}

void offload_part_free(struct offload_part *p)
{
	if (!p)
		return;
	offload_session_free(p->session);
	map_release(&p->members);
	buf_release(&p->notes);
	for (size_t i = 0; i < p->told_count; i++)
		free_told(&p->told[i]);
	free(p->told);
	free(p);
}

const struct source source_offload = {
	.name = "offload",
	.summary = "calls of compression, encryption and accelerator libraries: sizes and times",
	.needs = "bpf bpf-ring btf uprobe-pmu",
	.start = offload_start,
	.sample = offload_on_sample,
	.poll = poll_once,
	.second = second,
	.ending = offload_ending,
	.begun = offload_begun,
	.stop = offload_stop,
};

bool offload_part_notes(const struct offload_part *p, struct buf *out)
{
	if (p->opts.unasked)
		return false;
	if (p->notes.len)
		buf_addstr(out, p->notes.data);
	return p->degraded;
}

int offload_part_add(struct session *s, struct offload_part *p, struct err *e)
{
	ledger_use(session_ledger(s), ACCOUNT_OFFLOAD);
	return session_add(s, &source_offload, p, e);
}
