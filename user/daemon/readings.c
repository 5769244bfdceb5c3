// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/readings.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/child.h"
#include "daemon/daemon_priv.h"
#include "util/clock.h"

#define NICE 10
#define LONGEST_NS 60000000000ull
#define JSON_MOST (64u << 20)

static void begin_child_reading(struct daemon *d, uint32_t service)
{
	struct readings *r = &d->readings;
	char path[PATH_MAX + NAME_MAX + 80];
	const char *const json[] = { "accperf", "report", "--json", "-i", path, NULL };
	struct child_opts o = {
		.argv = json, .said = -1, .end_by = SIGKILL, .nice = NICE, .memory = d->c.memory, .file_size = JSON_MOST
	};
	struct err e = { 0 };
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s/%s", d->keeper.path, d->c.services[service].name,
		 d->services[service].last);
	o.out = memfd_create("reading", MFD_CLOEXEC);
	pid = o.out >= 0 ? child_start(&o, &e) : -errno;
	if (pid < 0) {
		if (o.out >= 0)
			close(o.out);
		return;
	}
	r->pid = pid;
	r->out = o.out;
	r->service = service;
	r->began = clock_now();
}

static void take_report(struct daemon *d, uint32_t service, int fd)
{
	struct service_state *s = &d->services[service];
	off_t len = lseek(fd, 0, SEEK_END);
	struct figures f;
	void *text = len > 0 && len <= (off_t)JSON_MOST ? mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, fd, 0)
							: MAP_FAILED;

	if (text == MAP_FAILED || figures_take(text, (size_t)len, &f)) {
		s->unread++;
	} else {
		s->figures = f;
		pace_learn(&s->pace, f.samples, f.seconds);
		s->samples += isnan(f.samples) ? 0 : f.samples;
		s->lost += isnan(f.lost) ? 0 : f.lost;
	}
	if (text != MAP_FAILED)
		munmap(text, (size_t)len);
}

static void end_reading(struct daemon *d)
{
	struct readings *r = &d->readings;
	struct rusage use;
	int status;

	if (clock_now() - r->began > LONGEST_NS)
		kill(-r->pid, SIGKILL); /* its helpers as well */
	if (wait4(r->pid, &status, WNOHANG, &use) != r->pid)
		return;
	r->pid = 0;
	if (r->service < d->c.service_count) {
		struct service_state *s = &d->services[r->service];
		double cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
			     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;

		s->cost += cpu;
		s->account.credit -= cpu;
		/* 3: it is readable, and not all of it is there */
		if (!WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != 3))
			s->unread++;
		else
			take_report(d, r->service, r->out);
	}
	if (r->out >= 0)
		close(r->out);
	r->out = -1;
}

void readings_look(struct daemon *d)
{
	struct readings *r = &d->readings;

	if (r->pid)
		end_reading(d);
	for (uint32_t i = 0; i < d->c.service_count && !r->pid && !d->stopping; i++) {
		struct service_state *s = &d->services[i];

		if (s->last_new) {
			s->last_new = false;
			begin_child_reading(d, i);
		}
	}
}

void readings_forget(struct daemon *d)
{
	struct readings *r = &d->readings;
	int status;

	if (!r->pid)
		return;
	kill(-r->pid, SIGKILL);
	waitpid(r->pid, &status, 0);
	r->pid = 0;
	close(r->out);
	r->out = -1;
}
