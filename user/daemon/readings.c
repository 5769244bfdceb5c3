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
#include "daemon/memory.h"
#include "util/clock.h"

#define LONGEST_NS                                                                                                     \
	60000000000ull        /* of one command: a full profile of 16 MB takes some seconds, on a busy machine more */
#define READING_WORDS 6u      /* of one command, at most */
#define JSON_MOST (64u << 20) /* bytes: of a profile of a hundred thousand functions */

static void begin_child_reading(struct daemon *d)
{
	/* of a function its own time alone: its bytes, which take the most of reading, are flow's to tell */
	static const char *const commands[FIGURES_SOURCES][READING_WORDS] = { { "report", "--fresh", "--json",
										"--columns", "self", "-i" },
									      { "flow", "--fresh", "--json", "-i" },
									      { "offload", "--json", "-i" },
									      { "advise", "--json", "-i" } };
	struct readings *r = &d->readings;
	char path[PATH_MAX + NAME_MAX + 80];
	const char *argv[READING_WORDS + 3] = { "accperf" };
	struct child_opts o = { .argv = argv,
				.said = -1,
				.end_by = SIGKILL,
				.nice = CHILD_READS_NICE,
				.memory = memory_for_reader(d),
				.file_size = JSON_MOST };
	struct err e = { 0 };
	unsigned n = 1;

	snprintf(path, sizeof(path), "%s/%s/%s", d->keeper.path, d->c.services[r->service].name, r->name);
	for (unsigned i = 0; i < READING_WORDS && commands[r->source][i]; i++)
		argv[n++] = commands[r->source][i];
	argv[n] = path;
	o.out = memfd_create("reading", MFD_CLOEXEC);
	r->pid = o.out >= 0 ? child_start(&o, &e) : -1;
	if (r->pid < 0) {
		if (o.out >= 0)
			close(o.out);
		r->pid = 0;
		r->source = FIGURES_SOURCES;
		return;
	}
	r->out = o.out;
	r->began = clock_now();
}

static int take_output(struct readings *r)
{
	off_t len = lseek(r->out, 0, SEEK_END);
	void *text = len > 0 && len <= (off_t)JSON_MOST ? mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, r->out, 0)
							: MAP_FAILED;
	int err;

	if (text == MAP_FAILED)
		return -EINVAL;
	err = figures_take(&r->next, (enum figures_source)r->source, text, (size_t)len);
	munmap(text, (size_t)len);
	return err;
}

/* All that the profile tells is known: it becomes what is served. */
static void keep_figures(struct service_state *s, const struct figures *f)
{
	s->figures = *f;
	pace_learn(&s->pace, f->samples, f->seconds);
	s->samples += isnan(f->samples) ? 0 : f->samples;
	s->lost += isnan(f->lost) ? 0 : f->lost;
}

/* A profile without accesses has no flow, and says so by status 1; one that ends its reader is not read. */
static void end_step_of_reading(struct service_state *s, struct readings *r, int status)
{
	bool ended = WIFEXITED(status), told = ended && (!WEXITSTATUS(status) || WEXITSTATUS(status) == 3);

	if ((!told || take_output(r)) && (r->source == FIGURES_REPORT || !ended || told)) {
		s->unread++;
		r->source = r->source == FIGURES_REPORT ? FIGURES_SOURCES : r->source;
	}
	if (r->source < FIGURES_SOURCES && ++r->source == FIGURES_SOURCES)
		keep_figures(s, &r->next);
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
		account_spend_late(&s->account, cpu);
		end_step_of_reading(s, r, status);
	}
	close(r->out);
	r->out = -1;
}

void readings_look(struct daemon *d)
{
	struct readings *r = &d->readings;

	if (r->pid)
		end_reading(d);
	if (r->pid || d->stopping)
		return;
	for (uint32_t i = 0; i < d->c.service_count && r->source == FIGURES_SOURCES; i++) {
		struct service_state *s = &d->services[i];

		if (s->last_new) {
			s->last_new = false;
			r->service = i;
			r->source = FIGURES_REPORT;
			snprintf(r->name, sizeof(r->name), "%s", s->last);
		}
	}
	if (r->source < FIGURES_SOURCES)
		begin_child_reading(d);
}

void readings_forget(struct daemon *d)
{
	struct readings *r = &d->readings;

	r->source = FIGURES_SOURCES;
	if (!r->pid)
		return;
	child_kill(&r->pid, !d->stopping);
	close(r->out);
	r->out = -1;
}
