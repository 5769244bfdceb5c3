// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/watched.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/grow.h"
#include "util/process_file.h"

#define TURNS 16u         /* a known process is looked at once in so many looks: it may have become another program */
#define YOUNG_S 60.0      /* and each time before that age */
#define KTHREADD 2        /* pid of the parent of kernel threads */
#define PLACES_MOST 8192u /* that processes of services are in at once, 300 bytes each; by hand */
#define PLACES_LEAST 64u  /* fewer are kept when nobody is in them any more: 19 KB; by hand */
#define MOST_ANCESTORS                                                                                                 \
	64 /* a parent's parent's: deeper trees than any, and an end if numbers were reused into a ring */

/* The name stands in parentheses, and may hold some itself. false: it has ended, and may wait for its parent. */
static bool read_stat(int pid, struct watched_process *p)
{
	unsigned long user, sys, waited_user, waited_sys;
	unsigned long long start;
	char text[1024], *name, *end, state;
	int parent;

	if (process_file(pid, "stat", text, sizeof(text)) <= 0 || !(name = strchr(text, '(')) ||
	    !(end = strrchr(text, ')')))
		return false;
	*end = 0;
	if (sscanf(end + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu %*d %*d %*d %*d %llu", &state,
		   &parent, &user, &sys, &waited_user, &waited_sys, &start) != 7 ||
	    state == 'Z' || state == 'X')
		return false;
	p->pid = pid;
	p->parent = parent;
	p->start = start;
	p->cpu = (double)(user + sys + waited_user + waited_sys) / (double)sysconf(_SC_CLK_TCK);
	snprintf(p->comm, sizeof(p->comm), "%s", name + 1);
	return true;
}

static bool any_pattern_takes(const struct config_list *l, const char *text)
{
	for (size_t i = 0; i < l->count; i++)
		if (*text && !fnmatch(l->items[i], text, 0))
			return true;
	return false;
}

static bool any_is(const struct config_list *l, int pid)
{
	for (size_t i = 0; i < l->count; i++)
		if (atoi(l->items[i]) == pid)
			return true;
	return false;
}

uint32_t watched_service_of(const struct daemon_config *c, const struct watched_traits *t)
{
	for (size_t i = 0; i < c->service_count; i++) {
		const struct config_service *s = &c->services[i];

		if ((!s->pids.count || any_is(&s->pids, t->pid)) &&
		    (!s->names.count || any_pattern_takes(&s->names, t->comm) ||
		     any_pattern_takes(&s->names, t->program)) &&
		    (!s->cgroups.count || any_pattern_takes(&s->cgroups, t->cgroup)) &&
		    (!s->units.count || (t->in && any_pattern_takes(&s->units, t->in->unit))) &&
		    (!s->containers.count || (t->in && any_pattern_takes(&s->containers, t->in->id))) &&
		    (!s->pods.count || (t->in && (any_pattern_takes(&s->pods, t->in->pod) ||
						  any_pattern_takes(&s->pods, t->in->pod_uid)))))
			return (uint32_t)i;
	}
	return WATCHED_NONE;
}

static uint32_t take_place(struct watched *w, const struct container *in)
{
	for (size_t i = 0; i < w->place_count; i++)
		if (!memcmp(&w->places[i], in, sizeof(*in)))
			return (uint32_t)i;
	if (w->place_count >= PLACES_MOST || !PUSH(w->places, w->place_count, w->place_cap, 16, *in))
		return WATCHED_NONE;
	return (uint32_t)w->place_count - 1;
}

static void decide_whose(struct watched *w, struct watched_process *p, const struct daemon_config *c)
{
	char link[64], program[4096], cgroup[4096] = "";
	struct container in;
	struct watched_traits t = { .pid = p->pid, .comm = p->comm, .program = "", .cgroup = "", .in = &in };
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", p->pid);
	n = readlink(link, program, sizeof(program) - 1);
	if (n > 0) {
		program[n] = 0;
		t.program = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
	}
	if (process_file(p->pid, "cgroup", cgroup, sizeof(cgroup)) > 0)
		t.cgroup = container_of_groups(cgroup, &in);
	else
		in = (struct container){ 0 };
	snprintf(in.pod, sizeof(in.pod), "%s", pods_find(&w->pods, POD_LOGS, in.pod_uid, clock_now()));
	p->service = watched_service_of(c, &t);
	p->place = p->service == WATCHED_NONE ? WATCHED_NONE : take_place(w, &in);
}

static int by_pid(const void *a, const void *b)
{
	const struct watched_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct watched_process *watched_find(const struct watched *w, int pid)
{
	struct watched_process key = { .pid = pid };

	return w->count ? bsearch(&key, w->at, w->count, sizeof(*w->at), by_pid) : NULL;
}

static double age_of(const struct watched_process *p)
{
	return (double)clock_ns(CLOCK_BOOTTIME) / 1e9 - (double)p->start / (double)sysconf(_SC_CLK_TCK);
}

/* Nothing is read of one that was seen often enough; false: it has ended. */
static bool look_at_process(struct watched *w, const struct daemon_config *c, int pid, struct watched_process *p)
{
	const struct watched_process *known = watched_find(w, pid);
	struct watched_process now = { .recorder = WATCHED_NONE, .service = WATCHED_NONE, .place = WATCHED_NONE };

	if (known && known->decided && age_of(known) > YOUNG_S && (unsigned)pid % TURNS != w->looks % TURNS) {
		*p = *known;
	} else {
		if (!read_stat(pid, &now))
			return false;
		if (known && known->start == now.start) {
			now.recorder = known->recorder;
			now.cpu = known->cpu;
		}
		if (now.parent != KTHREADD && pid != KTHREADD)
			decide_whose(w, &now, c);
		now.decided = true;
		*p = now;
	}
	p->old_enough = p->service != WATCHED_NONE && age_of(p) >= c->services[p->service].min_age;
	return true;
}

/* Ourselves and our recorders are nobody's service. */
static bool watched_is_ours(const struct watched *w, int pid)
{
	int self = getpid();
	const struct watched_process *p;

	for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++) {
		if (pid == self)
			return true;
		p = watched_find(w, pid);
		if (!p)
			return false;
		pid = p->parent;
	}
	return false;
}

static void find_roots(struct watched *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct watched_process *p = &w->at[i], *a;
		int pid = p->parent;

		p->root = p->service != WATCHED_NONE && !watched_is_ours(w, p->pid);
		for (int k = 0; k < MOST_ANCESTORS && p->root && pid > 1; k++) {
			a = watched_find(w, pid);
			if (!a)
				break;
			p->root = a->service == WATCHED_NONE;
			pid = a->parent;
		}
	}
}

/* Containers come and go: where nobody is in most of those that are remembered, they are forgotten. */
static void forget_places(struct watched *w)
{
	/* their numbers from now on, and 1; 0: nobody is there */
	uint32_t *now = calloc(w->place_count + 1, sizeof(*now));
	size_t kept = 0;

	for (size_t i = 0; now && i < w->count; i++)
		if (w->at[i].place != WATCHED_NONE)
			kept += !now[w->at[i].place]++;
	if (!now || (w->place_count < PLACES_MOST && (w->place_count < PLACES_LEAST || w->place_count < 2 * kept))) {
		free(now);
		return;
	}
	kept = 0;
	for (size_t i = 0; i < w->place_count; i++)
		if (now[i]) {
			w->places[kept] = w->places[i];
			now[i] = (uint32_t)++kept;
		}
	for (size_t i = 0; i < w->count; i++)
		if (w->at[i].place != WATCHED_NONE)
			w->at[i].place = now[w->at[i].place] - 1;
	w->place_count = kept;
	free(now);
}

int watched_inner_pid(int pid)
{
	char text[4096], *at;
	int outer = 0, inner = 0, n = 0;

	if (process_file(pid, "status", text, sizeof(text)) <= 0 || !(at = strstr(text, "\nNSpid:")))
		return 0;
	at += strlen("\nNSpid:");
	for (int got = 0; sscanf(at, "%*[ \t]%d%n", &outer, &got) == 1; at += got, n++)
		inner = outer;
	return n > 1 ? inner : 0;
}

int watched_look(struct watched *w, const struct daemon_config *c, struct err *e)
{
	struct watched next = { .looks = w->looks + 1 };
	struct dirent *d;
	DIR *proc = opendir("/proc");

	if (!proc)
		return err_set(e, -errno, "/proc cannot be listed: %s", strerror(errno));
	while ((d = readdir(proc))) {
		if (!isdigit((unsigned char)*d->d_name))
			continue;
		if (!GROW(next.at, next.count, next.cap, 256)) {
			closedir(proc);
			free(next.at);
			return err_set(e, -ENOMEM, "out of memory");
		}
		next.count += look_at_process(w, c, atoi(d->d_name), &next.at[next.count]);
	}
	closedir(proc);
	if (next.count)
		qsort(next.at, next.count, sizeof(*next.at), by_pid);
	free(w->at);
	w->at = next.at;
	w->count = next.count;
	w->cap = next.cap;
	w->looks = next.looks;
	forget_places(w);
	find_roots(w);
	watched_inherit(w);
	return 0;
}

void watched_inherit(struct watched *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct watched_process *p = &w->at[i], *a;
		int pid = p->parent;

		for (int k = 0; k < MOST_ANCESTORS && p->recorder == WATCHED_NONE && pid > 1; k++) {
			a = watched_find(w, pid);
			if (!a)
				break;
			p->recorder = a->recorder;
			pid = a->parent;
		}
	}
}

double watched_cpu_since(struct watched *w, uint32_t recorder)
{
	double sum = 0;

	for (size_t i = 0; i < w->count; i++) {
		struct watched_process *p = &w->at[i], now;

		if (p->recorder != recorder || !read_stat(p->pid, &now) || now.start != p->start)
			continue;
		if (now.cpu > p->cpu)
			sum += now.cpu - p->cpu;
		p->cpu = now.cpu;
	}
	return sum;
}

void watched_forget_recorder(struct watched *w, uint32_t recorder)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->at[i].recorder == recorder)
			w->at[i].recorder = WATCHED_NONE;
}

void watched_forget_services(struct watched *w)
{
	for (size_t i = 0; i < w->count; i++) {
		w->at[i].service = WATCHED_NONE;
		w->at[i].root = w->at[i].decided = false;
	}
}

void watched_release(struct watched *w)
{
	free(w->at);
	free(w->places);
	pods_release(&w->pods);
	*w = (struct watched){ 0 };
}
