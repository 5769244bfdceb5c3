// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cycle: libraries that are found, mapped and carried into the next profile are files of one object, struct
 * offload_session.
 */
#include "offload/session.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/algsock.h"
#include "kmod-free/fault_price.h"
#include "offload/kept_price.h"
#include "offload/session_internal.h"
#include "offload/summary.h"
#include "util/clock.h"

#define RECORDS_PER_SECOND 1000 /* and process; beyond, calls are thinned (OFFLOAD.md); by hand */
#define RESCAN_PIDS 64          /* processes looked at in one step; by hand */
#define RESCAN_PART .001        /* of one CPU, ours, that these steps take; by hand */

/* ---- options ---- */

static int parse_list(const struct offload_opts *o, bool *wanted, bool *markers, bool *automatic, struct err *e)
{
	const char *list = o->list && *o->list ? o->list : "auto";
	const struct offload_api *a;
	AUTO_BUF(names);

	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		bool known = false, all = n == 4 && !strncmp(p, "auto", 4);

		for (unsigned i = 0; (a = offload_api_at(i)); i++)
			if (all || (strlen(a->name) == n && !strncmp(a->name, p, n))) {
				if (wanted)
					wanted[i] = true;
				known = true;
			}
		if (all || (n == 7 && !strncmp(p, "markers", 7))) {
			if (markers)
				*markers = true;
			known = true;
		}
		if (all && automatic)
			*automatic = true;
		if (n == 4 && !strncmp(p, "none", 4))
			known = true;
		if (!known) {
			for (unsigned i = 0; (a = offload_api_at(i)); i++)
				buf_addf(&names, " %s", a->name);
			return err_set(e, -EINVAL, "--offload knows no '%.*s'; there are auto, markers, none,%s",
				       (int)n, p, names.data);
		}
		p += n + (p[n] == ',');
	}
	return 0;
}

int offload_opts_check(const struct offload_opts *o, struct err *e)
{
	struct offload_user_probe p;
	int r = parse_list(o, NULL, NULL, NULL, e);

	if (!r && o->probes_cnt > USER_PROBES_MAX)
		r = err_set(e, -EINVAL, "more than %d --offload-probe", USER_PROBES_MAX);
	for (unsigned i = 0; !r && i < o->probes_cnt; i++)
		r = offload_spec_parse(o->probes[i], &p, e);
	return r;
}

/* ---- events ---- */

static uint64_t mixed(uint64_t a, uint64_t b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15ull;
	return a ^ a >> 29;
}

uint64_t session_site_key(uint32_t pid, uint32_t probe, uint64_t site)
{
	return mixed(mixed((uint64_t)pid << 16 | probe, site), 3);
}

uint32_t session_site(struct offload_session *s, uint32_t pid, uint64_t time, uint64_t func, uint64_t caller)
{
	uint64_t *at;
	bool added;

	if (!s->sink.site || !caller)
		return 0;
	at = map_put(&s->sites, mixed(mixed(mixed(pid, func), caller), 7), &added);
	if (!at)
		return 0;
	if (added)
		*at = s->sink.site(s->sink.ctx, pid, time, func, caller);
	return (uint32_t)*at;
}

static void on_algorithm(void *ctx, uint32_t index, const struct probe_alg *a)
{
	struct offload_session *s = ctx;
	struct fmt_offload_api f = {
		.id = s->alg_first + index + 1, .library = s->alg_path, .kind = FMT_OK_CALL, .probe = FMT_PROBE_TRACED
	};
	char name[96];

	if (s->probes[s->alg_first + index].calls.api)
		return;
	snprintf(name, sizeof(name), "%.14s%s%.63s", a->type, *a->name ? " " : "", a->name);
	f.api = s->sink.string(s->sink.ctx, "af_alg");
	f.name = f.symbol = s->sink.string(s->sink.ctx, name);
	s->probes[s->alg_first + index].calls.api = f.id;
	s->sink.put(s->sink.ctx, FMT_OFFLOAD_API, &f, sizeof(f));
}

/* The format's id of a probe, 0: none. Algorithms get theirs when the first call is seen. */
static uint32_t api_id_of(struct offload_session *s, uint32_t probe)
{
	static const struct probe_alg unknown = { "unknown", "algorithm" };

	if (probe >= PROBE_MAX)
		return 0;
	if (!s->probes[probe].calls.api && s->alg_on && probe >= s->alg_first && probe < s->alg_first + PROBE_ALGS) {
		if (probe == s->alg_first)
			on_algorithm(s, 0, &unknown);
		else
			uprobe_alg_names(s->u, on_algorithm, s);
	}
	return s->probes[probe].calls.api;
}

static void on_call(void *ctx, const struct fmt_call *c)
{
	struct offload_session *s = ctx;

	s->sink.put(s->sink.ctx, FMT_CALL, c, sizeof(*c));
}

static void on_event(void *ctx, const struct offload_event *ev)
{
	struct offload_session *s = ctx;
	uint32_t site, stack = 0;
	uint64_t *at;
	bool added;

	if (!api_id_of(s, ev->probe))
		return;
	/* The caller's address is kept for the totals, which name sites by address. */
	site = session_site(s, ev->pid, ev->entry, ev->func, ev->site);
	at = map_put(&s->totals_sites, session_site_key(ev->pid, ev->probe, ev->site), &added);
	if (at)
		*at = site;
	if (at && added)
		session_keep_site(s, ev);
	if (ev->flags & WO_STACK) {
		at = map_get(&s->stacks, ev->tid);
		if (at) {
			stack = (uint32_t)*at;
			map_del(&s->stacks, ev->tid);
		}
	}
	calls_add(s->calls, ev, &s->probes[ev->probe].calls, site, stack);
}

static void on_stack_of_call(void *ctx, const struct sample *sample)
{
	struct offload_session *s = ctx;
	uint32_t id = s->sink.stack(s->sink.ctx, sample);
	uint64_t *at;

	if (!id)
		return;
	at = map_put(&s->stacks, sample->tid, NULL);
	if (at)
		*at = id;
}

int offload_session_poll(struct offload_session *s)
{
	const struct uprobe_sink sink = { .ctx = s,
					  .event = on_event,
					  .stack = s->sink.stack ? on_stack_of_call : NULL };

	return s->u ? uprobe_poll(s->u, &sink) : 0;
}

int offload_session_threads_map(const struct offload_session *s)
{
	return s->u ? uprobe_threads_map(s->u) : -1;
}

/* ---- what was counted in the kernel ---- */

static uint64_t total_site_key(const struct probe_total_key *k)
{
	return session_site_key(k->pid, k->probe, k->site);
}

/* A site's calls at one level: of a sum. */
static uint64_t open_key(const struct probe_total_key *k)
{
	return session_site_key(k->pid, k->probe, k->site ^ (uint64_t)k->level << 32);
}

static void on_open(void *ctx, const struct probe_total_key *k)
{
	struct offload_session *s = ctx;
	uint64_t *at = map_put(&s->open_sites, open_key(k), NULL);

	if (at)
		++*at;
	s->open_now++;
}

void session_total_sums(const struct probe_total *t, uint64_t *sum)
{
	const uint64_t all[CELL_SUMS] = { t->calls,       t->in,     t->out,  t->ns,      t->cpu,     t->switched,
					  t->switched_ns, t->failed, t->open, t->unknown, t->records, t->faults };

	memcpy(sum, all, sizeof(all));
}

static void on_total(void *ctx, const struct probe_total_key *k, const struct probe_total *t)
{
	struct offload_session *s = ctx;
	uint64_t sum[CELL_TOLD] = { 0 }, *at;
	struct fmt_offload_total f;
	struct cell *cell;

	session_total_sums(t, sum);
	cell = cells_since(&s->totals, k, sizeof(*k), sum, CELL_SUMS);
	f = (struct fmt_offload_total){
		.calls = sum[0],
		.bytes_in = sum[1],
		.bytes_out = sum[2],
		.ns = sum[3],
		.cpu_ns = sum[4],
		.switched = sum[5],
		.switched_ns = sum[6],
		.failed = sum[7],
		.open = sum[8],
		.unknown_bytes = sum[9],
		.records = sum[10],
		.faults = sum[11],
		.pid = k->pid,
		.api = api_id_of(s, k->probe),
	};
	if (!f.api)
		return;
	if (s->probes[k->probe].of)
		s->api_called[offload_api_index(s->probes[k->probe].of)] = true;
	at = map_get(&s->open_sites, open_key(k));
	f.open += at ? *at : 0;
	at = map_get(&s->totals_sites, total_site_key(k));
	/* Two sites may resolve to one stack: then the reader adds them up by this. */
	f.site = at ? (uint32_t)*at : 0;
	f.site_addr = k->site;
	f.level = k->level;
	sum[CELL_SUMS] = f.open;
	/* a place that is known now is no news of calls that are not of this profile */
	sum[CELL_SUMS + 1] = f.calls ? f.site : 0;
	if (cell_news(cell, sum, CELL_TOLD))
		s->sink.put(s->sink.ctx, FMT_OFFLOAD_TOTAL, &f, sizeof(f));
}

static void on_hist(void *ctx, const struct probe_hist_key *k, const struct probe_hist *h)
{
	struct offload_session *s = ctx;
	uint64_t sum[] = { h->count, h->bytes, h->ns };
	struct cell *cell = cells_since(&s->hists, k, sizeof(*k), sum, 3);
	struct fmt_offload_hist f = {
		.count = sum[0],
		.bytes = sum[1],
		.ns = sum[2],
		.pid = k->pid,
		.bytes_bin = k->bytes_bin,
		.time_bin = k->time_bin,
		.level = k->level,
	};

	f.api = api_id_of(s, k->probe);
	if (!f.api)
		return;
	if (cell_news(cell, sum, 3))
		s->sink.put(s->sink.ctx, FMT_OFFLOAD_HIST, &f, sizeof(f));
}

static void tell_counter(struct offload_session *s, const char *name, bool loss, uint64_t value)
{
	if (s->sink.count)
		s->sink.count(s->sink.ctx, name, value, loss);
}

static void session_put_counts(struct offload_session *s)
{
	const struct calls_count *n = calls_count(s->calls);

	map_release(&s->open_sites);
	s->open_now = 0;
	if (!s->u)
		return;
	uprobe_open_calls(s->u, on_open, s);
	uprobe_totals(s->u, on_total, s);
	uprobe_hists(s->u, on_hist, s);
	for (enum bpf_counter i = PC_NESTED; i < PC_END; i++)
		tell_counter(s, counter_words(i)->text, counter_words(i)->loss, uprobe_counter(s->u, i));
	if (uprobe_malformed(s->u))
		tell_counter(s, "offload: records that cannot be right", true, uprobe_malformed(s->u));
	tell_counter(s, "offload: calls whose completion was never seen", false, n->open + s->open_now);
	if (s->children) {
		tell_counter(s, "offload: forked children followed", false, s->children - s->children_gone);
		tell_counter(s, OFFLOAD_CHILDREN_GONE, false, s->children_gone);
		tell_counter(s, "offload: CPU microseconds of forked children before they were probed", false,
			     s->children_cpu / 1000);
	}
	tell_counter(s, OFFLOAD_PROBED_LATE, false, s->late);
	if (s->late && !s->late_untold)
		tell_counter(s, OFFLOAD_LATE_BY, false, (s->late_ns + 999) / 1000);
	if (s->rewritten)
		tell_counter(s, "offload: libraries that were rewritten, and are probed no more", true, s->rewritten);
	if (s->libs_full)
		tell_counter(s, "offload: libraries were not looked at, as 512 others are known", true, 1);
	if (s->notes_cut)
		tell_counter(s, "offload: notes about libraries left out, as there were 64 KiB of them", true,
			     s->notes_cut);
	if (n->dropped)
		tell_counter(s, "offload: calls given up, too many open at once", true, n->dropped);
}

void session_put_cost(struct offload_session *s)
{
	const struct uprobe_cost *c = uprobe_cost(s->u);
	const struct uprobe_class_cost *step = &c->of[FMT_PROBE_STEPPED], *emu = &c->of[FMT_PROBE_EMULATED];
	struct fmt_offload_cost f = {
		.time = clock_now(),
		.call_ns = step->call_ns,
		.call_low = step->call_low,
		.call_high = step->call_high,
		.inside_ns = step->inside_ns,
		.nop_ns = c->nop_ns,
		.attach = uprobe_mode(s->u),
		.samples = c->rounds,
		.emulated_call_ns = emu->call_ns,
		.emulated_low = emu->call_low,
		.emulated_high = emu->call_high,
		.emulated_inside_ns = emu->inside_ns,
		.hot_ns = c->hot_ns,
		.hot_end_ns = s->hot_end_ns,
		.fault_ns = s->fault_ns,
		.line_ns = s->cold.line_ns,
		.byte_ns = s->cold.byte_ns,
		.far_byte_ns = s->cold.far_byte_ns,
	};

	s->sink.put(s->sink.ctx, FMT_OFFLOAD_COST, &f, sizeof(f));
}

/* ---- processes ---- */

/* Watched once a process uses it, or from the start when asked for by name. */
static void watch_uring(struct offload_session *s, int pid)
{
	unsigned cnt;
	const struct offload_uring_op *ops = offload_uring_ops(&cnt);
	struct uprobe_uring all[URING_OPS];
	struct err e = { 0 };
	uint32_t first;

	if (!s->uring_wanted || s->uring_on || (!s->uring_named && !libs_has_uring(pid)))
		return;
	s->uring_on = true;
	for (unsigned i = 0; i < cnt; i++)
		all[i] = (struct uprobe_uring){ .opcode = ops[i].opcode, .direction = ops[i].direction };
	if (session_engine(s, &e) || uprobe_uring(s->u, all, cnt, &first, &e)) {
		buf_addf(&s->notes, "%s\n", e.text);
		s->degraded |= s->uring_named;
		return;
	}
	for (unsigned i = 0; i < cnt; i++) {
		struct fmt_offload_api f = {
			.id = first + i + 1,
			.api = s->sink.string(s->sink.ctx, "io_uring"),
			.name = s->sink.string(s->sink.ctx, ops[i].name),
			.symbol = s->sink.string(s->sink.ctx, ops[i].name),
			.library = s->sink.string(s->sink.ctx, "[kernel]"),
			.kind = FMT_OK_KERNEL,
		};

		s->probes[first + i].calls.api = f.id;
		s->sink.put(s->sink.ctx, FMT_OFFLOAD_API, &f, sizeof(f));
	}
}

/* Likewise; pid 0: any process. Its system calls pay for it, so it is armed and disarmed like a library. */
static void watch_alg(struct offload_session *s, int pid)
{
	struct err e = { 0 };
	struct known_lib *l;
	int index;

	if (!s->alg_wanted || s->alg_on || (!s->alg_named && !algsock_any(pid)))
		return;
	s->alg_on = true;
	l = session_new_lib(s, "[kernel] AF_ALG");
	index = l ? session_engine(s, &e) : err_set(&e, -ENOMEM, "out of memory");
	if (!index)
		index = uprobe_alg(s->u, offload_family("af_alg"), &s->alg_first, &s->alg_call_ns, &e);
	if (index >= 0) {
		l->index = index;
		l->first = s->alg_first;
		l->count = PROBE_ALGS;
		l->traced = true;
		l->path_id = s->alg_path = s->sink.string(s->sink.ctx, l->path);
		for (unsigned i = 0; i < PROBE_ALGS; i++)
			s->probes[s->alg_first + i].calls =
				(struct calls_probe){ .family = offload_family("af_alg"), .cost = FMT_PROBE_TRACED };
		index = budget_arm(s, l, &e);
	}
	if (l)
		session_lib_ready(s);
	if (index >= 0)
		return;
	s->alg_on = l && l->index >= 0;
	s->alg_wanted = false;
	buf_addf(&s->notes, "%s\n", e.text);
	s->degraded |= s->alg_named;
}

static bool add_observed_pid(struct offload_session *s, int pid)
{
	bool ok;

	pthread_mutex_lock(&s->lock);
	ok = map_put(&s->pids, (uint64_t)pid, NULL) != NULL;
	pthread_mutex_unlock(&s->lock);
	if (s->u)
		uprobe_target(s->u, pid, true);
	watch_uring(s, pid);
	watch_alg(s, pid);
	return ok;
}

int offload_session_attach_pid(struct offload_session *s, int pid, const char *exe, struct err *e)
{
	if (!add_observed_pid(s, pid))
		return err_set(e, -ENOMEM, "out of memory");
	return session_find(s, pid, true, exe, 0, e);
}

/* Probes are per file: it is enough to find the files somewhere. */
int offload_session_attach_all(struct offload_session *s, struct err *e)
{
	DIR *d = opendir("/proc");
	struct dirent *de;
	int r = 0;

	if (!d)
		return err_set(e, -errno, "cannot list processes: /proc is not readable");
	if (s->alg_named)
		watch_alg(s, 0);
	while (r != -EPERM && (de = readdir(d))) {
		int pid = atoi(de->d_name);

		if (pid > 0 && pid != getpid())
			r = session_find(s, pid, false, NULL, 0, e);
	}
	closedir(d);
	if (r == -EPERM)
		return r;
	return session_find(s, getpid(), true, NULL, 0, e);
}

void offload_session_on_fork(struct offload_session *s, int parent, int child)
{
	char path[64], to[8];

	if (s->opts.system_wide || !map_get(&s->pids, (uint64_t)parent) || !add_observed_pid(s, child))
		return;
	s->children++;
	session_find(s, child, false, NULL, 0, NULL);
	/* A process that has ended has no program any more, even before it is reaped. */
	snprintf(path, sizeof(path), "/proc/%d/exe", child);
	if (readlink(path, to, sizeof(to)) < 0)
		s->children_gone++;
	else
		s->children_cpu += session_process_cpu(child);
}

void offload_session_on_mmap(struct offload_session *s, int pid, const char *path, uint64_t mapped_at)
{
	if (!s->opts.system_wide && !map_get(&s->pids, (uint64_t)pid))
		return;
	/* Most mappings are of no interest; markers in odd files can wait for the tick. */
	if (path && !session_wants(s, path) && !s->returns_at_risk)
		return;
	session_find(s, pid, false, NULL, mapped_at, NULL);
}

void offload_session_on_exit(struct offload_session *s, int pid)
{
	if (!map_get(&s->pids, (uint64_t)pid))
		return;
	offload_session_poll(s);
	calls_process_end(s->calls, (uint32_t)pid);
	if (s->u)
		uprobe_forget(s->u, pid);
	pthread_mutex_lock(&s->lock);
	session_cpu(s); /* a last time: it can be asked until it is reaped */
	s->cpu_gone += *map_get(&s->pids, (uint64_t)pid);
	map_del(&s->pids, (uint64_t)pid);
	pthread_mutex_unlock(&s->lock);
}

/* Libraries and rings that came later, should nobody tell us: of many files, not each second. */
static void look_for_later(struct offload_session *s, uint64_t now)
{
	uint64_t pid, *v, began = clock_cpu();
	unsigned cnt = 0, libs = s->libs_cnt;
	int pids[RESCAN_PIDS];
	size_t pos = 0;

	if (now < s->rescan_at)
		return;
	while (cnt < RESCAN_PIDS && map_next(&s->pids, &pos, &pid, &v))
		pids[cnt++] = (int)pid;
	for (unsigned i = 0; i < cnt; i++)
		session_find(s, pids[i], false, NULL, 0, NULL);
	for (unsigned i = 0; i < cnt; i++) {
		watch_uring(s, pids[i]);
		watch_alg(s, pids[i]);
	}
	/* where it found one, it was not the looking that took long */
	s->rescan_at = s->libs_cnt == libs ? now + (uint64_t)((double)(clock_cpu() - began) / RESCAN_PART) : now;
}

void offload_session_tick(struct offload_session *s)
{
	uint64_t now = clock_now(), cpu;

	if (s->ended) {
		session_put_counts(s);
		return;
	}
	offload_session_poll(s);
	look_for_later(s, now);
	pthread_mutex_lock(&s->lock);
	cpu = session_cpu(s);
	if (s->cpu_at && now > s->cpu_at && cpu >= s->cpu_ns)
		s->cpu_share = fmax((double)(cpu - s->cpu_ns) / (double)(now - s->cpu_at), SHARE_LEAST);
	pthread_mutex_unlock(&s->lock);
	s->cpu_at = now;
	s->cpu_ns = cpu;
	s->ticks++;
	budget_write(s);
	session_put_counts(s);
	if (s->ticks == 1 && s->u)
		session_put_cost(s);
}

/* ---- life ---- */

/* Loading and pricing it takes half a second of a CPU: where nobody asked, there is none until there is something to
 * probe. */
int session_engine(struct offload_session *s, struct err *e)
{
	const struct offload_opts *o = &s->opts;
	struct uprobe_cost known;
	struct uprobe_opts uo = { .mode = (enum uprobe_mode)o->mode, .system_wide = o->system_wide };
	double inside_ns[FMT_PROBE_CLASSES];
	uint64_t pid, *v;
	size_t pos = 0;

	if (s->u)
		return 0;
	if (s->engine_refused.code)
		return err_set(e, s->engine_refused.code, "%s", s->engine_refused.text);
	uo.alg = s->alg_wanted && algsock_possible();
	uo.records_per_second = o->exact ? 0 : o->records_per_second ? o->records_per_second : RECORDS_PER_SECOND;
	uo.ring_bytes = o->exact ? 16u << 20 : 0;
	if (o->unasked && o->prices && kept_price_known(o->prices, &known))
		uo.known = &known;
	s->u = uprobe_new(&uo, &s->engine_refused);
	if (!s->u)
		return err_set(e, s->engine_refused.code, "%s", s->engine_refused.text);
	if (o->prices && !uo.known)
		kept_price_add(o->prices, uprobe_cost(s->u));
	for (unsigned i = 0; i < FMT_PROBE_CLASSES; i++)
		inside_ns[i] = uprobe_cost(s->u)->of[i].inside_ns;
	calls_price(s->calls, inside_ns);
	while (map_next(&s->pids, &pos, &pid, &v))
		uprobe_target(s->u, (int)pid, true);
	s->fault_ns = fault_price();
	s->cold = cold_price();
	session_put_cost(s);
	return 0;
}

struct offload_session *offload_session_new(const struct offload_opts *o, const struct offload_sink *sink,
					    struct err *e)
{
	struct offload_session *s;

	if (offload_opts_check(o, e))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	s->opts = *o;
	s->sink = *sink;
	s->cpu_share = 1;
	if (!(s->opts.budget > 0))
		s->opts.budget = 0.01;
	parse_list(o, s->api_wanted, &s->markers, &s->automatic, e);
	s->uring_wanted = s->api_wanted[offload_api_index(offload_api_find("io_uring"))];
	s->uring_named = s->uring_wanted && !s->automatic;
	for (; s->user_cnt < o->probes_cnt; s->user_cnt++)
		offload_spec_parse(o->probes[s->user_cnt], &s->user[s->user_cnt], e);
	s->alg_wanted = s->api_wanted[offload_api_index(offload_api_find("af_alg"))];
	s->alg_named = s->alg_wanted && !s->automatic;
	s->calls = calls_new(on_call, s);
	if (!s->calls || budget_start(s)) {
		err_set(e, -ENOMEM, "out of memory");
		offload_session_free(s);
		return NULL;
	}
	if (!o->unasked && session_engine(s, e)) {
		offload_session_free(s);
		return NULL;
	}
	return s;
}

#define DRIFT 1.3 /* worth a sentence */

static uint64_t offload_session_calls(const struct offload_session *s)
{
	uint64_t calls = s->gone.calls;

	for (unsigned i = 0; i < s->libs_cnt; i++)
		for (uint32_t p = s->libs[i].first; s->libs[i].index >= 0 && p < s->libs[i].first + s->libs[i].count;
		     p++)
			calls += uprobe_activity(s->u, p).calls;
	return calls;
}

/* The cost that was taken off was measured at start; on a busy or throttled machine it drifts. */
static void compare_cost(struct offload_session *s)
{
	double before = uprobe_cost(s->u)->hot_ns, after, ratio;

	if (!offload_session_calls(s) || !(before > 0))
		return;
	after = uprobe_cost_now(s->u);
	if (!(after > 0))
		return;
	s->hot_end_ns = after;
	ratio = after / before;
	if (ratio > DRIFT || ratio < 1 / DRIFT)
		buf_addf(
			&s->notes,
			"offload: with hot caches a probed call cost %.1f us at start and %.1f us at the end: what was taken off the times of short calls may be as much too %s\n",
			before / 1e3, after / 1e3, ratio > 1 ? "small" : "large");
}

void offload_session_end(struct offload_session *s)
{
	const struct offload_api *a;

	if (s->ended)
		return;
	s->ended = true;
	budget_stop(s);
	while (offload_session_poll(s) > 0)
		;
	calls_end(s->calls);
	if (s->u)
		compare_cost(s);
	for (unsigned i = 0; i < s->user_cnt; i++) {
		if (s->user_found[i])
			continue;
		s->degraded = true;
		if (!s->user_lib_seen[i])
			buf_addf(&s->notes, "no target had a file '%s' mapped: --offload-probe '%s:%s' saw nothing\n",
				 s->user[i].library, s->user[i].library, s->user[i].symbol);
	}
	budget_write(s);
	session_put_counts(s);
	if (s->u)
		session_put_cost(s);
	for (unsigned i = 0; !s->automatic && (a = offload_api_at(i)); i++) {
		if (!s->api_wanted[i] || s->api_called[i] || !*a->libs)
			continue;
		s->degraded |= !s->api_seen[i];
		buf_addf(&s->notes, "no target %s %s (%s): --offload %s saw nothing",
			 s->api_seen[i] ? "was seen to call a function of" : "had a library of", a->label, a->libs,
			 a->name);
		buf_addf(&s->notes, "; a copy linked into the program hides its names%s\n",
			 strcmp(a->family, "cuda") ? " (--offload-probe 'PROGRAM:FUNCTION(...)', where it has symbols)"
						   : ", the driver's calls are seen all the same: --offload cuda");
	}
}

void offload_session_free(struct offload_session *s)
{
	if (!s)
		return;
	if (s->calls)
		budget_stop(s);
	uprobe_free(s->u);
	calls_free(s->calls);
	for (unsigned i = 0; i < s->libs_cnt; i++)
		free(s->libs[i].path);
	map_release(&s->pids);
	map_release(&s->sites);
	map_release(&s->totals_sites);
	map_release(&s->open_sites);
	map_release(&s->stacks);
	map_release(&s->catching);
	cells_release(&s->totals);
	cells_release(&s->hists);
	free(s->known_sites);
	intern_release(&s->marker_families);
	buf_release(&s->notes);
	free(s->windows);
	free(s);
}

/* ---- telling ---- */

static void note_price(const struct offload_session *s, struct buf *out)
{
	const struct uprobe_class_cost *step = &uprobe_cost(s->u)->of[FMT_PROBE_STEPPED],
				       *emu = &uprobe_cost(s->u)->of[FMT_PROBE_EMULATED];

	buf_addf(
		out,
		"offload: %s; a probed call costs %.1f us (%.1f to %.1f, as caches are hot or cold), of which %.1f us lie inside the measured time and are taken off",
		uprobe_mode_name(uprobe_mode(s->u)), step->call_ns / 1e3, step->call_low / 1e3, step->call_high / 1e3,
		step->inside_ns / 1e3);
	if (emu->call_ns > 0)
		buf_addf(
			out,
			"; where the kernel emulates the function's first instruction (push, nop, jump) %.1f us (%.1f to %.1f), of which %.1f us",
			emu->call_ns / 1e3, emu->call_low / 1e3, emu->call_high / 1e3, emu->inside_ns / 1e3);
	buf_addch(out, '\n');
}

void offload_session_notes(const struct offload_session *s, struct buf *out)
{
	const bool two_prices = s->u && uprobe_cost(s->u)->of[FMT_PROBE_EMULATED].call_ns > 0;
	static const char *const often_called[PA_KINDS] = { "its functions are", "checksums are",
							    "signatures and keys are" };
	unsigned functions = s->gone.functions, libs = s->gone.libs, called = s->gone.called, unknown = 0;

	if (s->u)
		note_price(s, out);
	for (unsigned i = 0; i < s->libs_cnt; i++) {
		const struct known_lib *l = &s->libs[i];

		if (l->index < 0)
			continue;
		if (l->traced)
			buf_addf(
				out,
				"offload: AF_ALG is watched by tracepoints: %.0f ns for each system call of the target, whatever it does%s\n",
				s->alg_call_ns,
				l->let_go
					? "; it made so many that they were watched in stretches of time only, to keep the budget; the numbers are estimates (--offload-exact: all)"
					: "");
		if (l->traced)
			continue;
		functions += l->count;
		libs += !l->group;
		for (uint32_t p = l->first; p < l->first + l->count; p++) {
			bool was = uprobe_activity(s->u, p).calls > 0;

			called += was;
			unknown += was && two_prices && s->probes[p].calls.cost == FMT_PROBE_UNKNOWN;
		}
		if (l->let_go)
			buf_addf(
				out,
				"%s: %s called so often that they were probed in stretches of time (%u) only, to keep the budget; their numbers are estimates (--offload-exact: all)\n",
				l->path, often_called[l->group], l->stretches);
	}
	buf_addf(out, "offload: %u functions in %u libraries probed, %u of them called\n", functions, libs, called);
	if (unknown)
		buf_addf(
			out,
			"offload: %u of them begin with an instruction of unknown cost: the smaller one is taken off, their times are upper bounds\n",
			unknown);
	if (s->notes.len)
		buf_addstr(out, s->notes.data);
	if (s->notes_cut)
		buf_addf(out, "offload: %llu more notes about libraries, left out\n", (unsigned long long)s->notes_cut);
}

bool offload_session_probes(const struct offload_session *s, uint32_t api)
{
	return api && api <= PROBE_MAX && s->probes[api - 1].calls.api == api;
}

bool offload_session_degraded(const struct offload_session *s)
{
	return s->degraded;
}

uint64_t offload_session_cost_ns(struct offload_session *s)
{
	double ns;

	pthread_mutex_lock(&s->lock);
	/* the budget's thread books at each of its looks, and judges by what came since */
	for (unsigned i = 0; i < s->libs_cnt && !s->thread_runs; i++)
		if (s->libs[i].index >= 0)
			budget_book(s, &s->libs[i]);
	ns = s->spent_ns;
	pthread_mutex_unlock(&s->lock);
	return (uint64_t)ns;
}
