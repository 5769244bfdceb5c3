// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/daemon_priv.h"
#include "daemon/http.h"
#include "daemon/metrics.h"
#include "daemon/notify.h"
#include "util/clock.h"
#include "util/signals.h"

#define CONFIG_MOST (1u << 20)             /* bytes; by hand */
#define MEASURE_EVERY (2 * SECOND)         /* ns; by hand */
#define SWEEP_EVERY (60 * SECOND)          /* ns: what others filled or removed is seen within it; by hand */
#define STOPPING_STEP (20 * SECOND / 1000) /* 20 ms; by hand */
/* 1.8 s: within the two seconds that are promised; recorders are killed before, and what the kernel still does for
 * them it does without us. */
#define STOPPING_MOST (9 * SECOND / 5)
#define MOST_POLLED 130 /* descriptors: one a recorder, and the daemon's own; by hand */

/* ---- configuration */

unsigned daemon_read_config(const char *path, struct daemon_config *c, struct buf *errors, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char piece[4096], *line, *rest;
	AUTO_BUF(text);
	AUTO_BUF(found);
	struct stat st;
	ssize_t n = 0;
	unsigned count;

	*c = (struct daemon_config){ 0 };
	if (fd < 0 || fstat(fd, &st)) {
		err_set(e, -errno, "%s cannot be read: %s; %s", path, strerror(errno),
			errno == EACCES ? "start the daemon as a user who may read it (the unit's is root)"
					: "`accperf daemon --example` prints one to begin with");
	} else if (!S_ISREG(st.st_mode) || st.st_size > CONFIG_MOST) {
		err_set(e, -EINVAL, "%s is no configuration: it is no file of 1 MB at most", path);
	} else {
		while (text.len <= CONFIG_MOST && (n = read(fd, piece, sizeof(piece))) > 0)
			buf_add(&text, piece, (size_t)n);
		if (n < 0 || buf_failed(&text))
			err_set(e, n < 0 ? -errno : -ENOMEM, "%s cannot be read", path);
	}
	if (fd >= 0)
		close(fd);
	if (e->code)
		return 0;
	count = config_parse(text.data ? text.data : "", text.len, c, &found);
	buf_addch(&found, 0);
	rest = found.data;
	while (count && rest && (line = strsep(&rest, "\n")))
		if (*line)
			buf_addf(errors, "%s:%s\n", path, line);
	return count;
}

/* A service that is as it was keeps its account and its recorders. */
static int take_services(struct daemon *d, struct daemon_config *next)
{
	struct service_state *states = calloc(next->service_count + 1, sizeof(*states));
	bool all = next->segment_time != d->c.segment_time || next->memory != d->c.memory;

	if (!states)
		return -ENOMEM;
	for (size_t i = 0; i < d->recorder_count; i++) {
		struct recorder *r = &d->recorders[i];
		uint32_t was = r->service;

		r->service = WATCHED_NONE;
		for (uint32_t k = 0; k < next->service_count && was != WATCHED_NONE; k++)
			if (config_same_service(&next->services[k], &d->c.services[was]))
				r->service = k;
		if (all || r->service == WATCHED_NONE)
			recorder_end(r, RECORDER_STOP);
	}
	for (size_t i = 0; i < d->c.service_count; i++)
		for (size_t k = 0; k < next->service_count; k++)
			if (config_same_service(&next->services[k], &d->c.services[i]))
				states[k] = d->services[i];
	readings_forget(d);
	free(d->services);
	d->services = states;
	return 0;
}

/* To record is the more important: what hinders it is told, and each reload tries again. */
static void begin_serving(struct daemon *d)
{
	struct err e = { 0 };

	d->http = http_open(d, &e);
	if (e.code)
		say(SAY_ERROR, "http", NULL, "%s; with that mended, reload", e.text);
	else if (d->http)
		say(SAY_NOTICE, "http", NULL, "serving on %s", d->c.listen);
}

/* Where nothing is served a reload tries again; else what it is served with may have been renewed. */
static void serve_anew(struct daemon *d)
{
	struct err e = { 0 };

	if (!d->http)
		begin_serving(d);
	else if (http_renew(d, &e))
		say(SAY_ERROR, "http", NULL, "%s%s", e.text,
		    d->http ? ": token and certificate stay as they were; with that mended, reload"
			    : "; with that mended, reload");
}

static void limit_own_memory(const struct daemon *d)
{
	setrlimit(RLIMIT_DATA, &(struct rlimit){ d->c.memory, d->c.memory });
}

static void reload_config(struct daemon *d)
{
	struct daemon_config next;
	struct err e = { 0 };
	AUTO_BUF(errors);
	char *line, *rest;
	unsigned count;

	d->reload = false;
	notify_say("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_now() / 1000);
	count = daemon_read_config(d->config_path, &next, &errors, &e);
	buf_addch(&errors, 0);
	rest = errors.data;
	while (count && rest && (line = strsep(&rest, "\n")))
		if (*line)
			say(SAY_ERROR, "config", NULL, "%s", line);
	if (e.code)
		say(SAY_ERROR, "config", NULL, "%s", e.text);
	if (!count && !e.code && (strcmp(next.folder, d->c.folder) || strcmp(next.listen, d->c.listen))) {
		say(SAY_ERROR, "config", NULL, "storage.folder and http.listen can be changed by a restart only");
		config_release(&next);
		count = 1;
	}
	if (!count && !e.code && take_services(d, &next)) {
		say(SAY_ERROR, "config", NULL, "out of memory");
		config_release(&next);
		count = 1;
	}
	if (count || e.code) {
		say(SAY_WARN, "config-kept", NULL, "the configuration stays as it was; correct it, and reload again");
	} else {
		config_release(&d->c);
		d->c = next;
		watched_forget_services(&d->watched);
		d->next_scan = d->next_sweep = 0;
		say(SAY_NOTICE, "config-loaded", NULL, "%s is in force: %zu service%s", d->config_path,
		    d->c.service_count, d->c.service_count == 1 ? "" : "s");
		limit_own_memory(d);
		serve_anew(d);
	}
	notify_say("READY=1");
}

/* ---- the loop */

static void take_signals(struct daemon *d, int fd)
{
	struct signalfd_siginfo si;

	while (read(fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
			d->stopping = true;
		d->reload |= si.ssi_signo == SIGHUP;
		for (size_t i = 0; si.ssi_signo == SIGUSR1 && i < d->recorder_count; i++)
			recorder_next(&d->recorders[i]);
	}
}

static void wait_for_something(struct daemon *d, int signals, uint64_t until)
{
	struct pollfd pf[MOST_POLLED] = { { .fd = signals, .events = POLLIN } };
	uint64_t now = clock_now(), most = http_wait_ns(d->http), ns = until > now ? until - now : 0;
	struct timespec t;
	nfds_t n = 1;

	if (most < ns)
		ns = most;
	t = (struct timespec){ .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };
	if (http_fd(d->http) >= 0)
		pf[n++] = (struct pollfd){ .fd = http_fd(d->http), .events = POLLIN };
	for (size_t i = 0; i < d->recorder_count && n < MOST_POLLED; i++)
		if (d->recorders[i].said >= 0)
			pf[n++] = (struct pollfd){ .fd = d->recorders[i].said, .events = POLLIN };
	ppoll(pf, n, &t, NULL);
	take_signals(d, signals);
	http_run(d->http);
}

static bool is_due(uint64_t *when, uint64_t now, uint64_t every)
{
	if (now < *when)
		return false;
	*when = now + every;
	return true;
}

/* A budget is of the CPUs that there are. */
static void count_cpus(struct daemon *d)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	d->cpus = cpus > 0 ? (unsigned)cpus : 1;
}

static void tell_status(const struct daemon *d)
{
	unsigned recorded = 0;

	for (uint32_t i = 0; i < d->c.service_count; i++)
		recorded += turns_running(d, i) > 0;
	notify_say("STATUS=%srecording %u of %zu services; %zu profiles, %.1f MB", d->full ? "disk full; " : "",
		   recorded, d->c.service_count, d->keeper.kept.count, (double)d->keeper.kept.bytes / 1e6);
}

static void one_round(struct daemon *d, uint64_t watchdog)
{
	uint64_t now = clock_now();

	if (watchdog && is_due(&d->next_watchdog, now, watchdog))
		notify_say("WATCHDOG=1");
	if (is_due(&d->next_second, now, SECOND)) {
		disk_look_at_clock(d);
		turns_rotate(d);
		disk_look(d, is_due(&d->next_sweep, now, SWEEP_EVERY));
		tell_status(d);
	}
	if (is_due(&d->next_measure, now, MEASURE_EVERY) && now > d->measured_at) {
		count_cpus(d);
		turns_measure(d);
	}
	if (is_due(&d->next_scan, now, (uint64_t)(d->c.scan * 1e9)))
		turns_scan(d);
}

static uint64_t next_moment(const struct daemon *d, uint64_t watchdog)
{
	uint64_t next = d->next_second < d->next_scan ? d->next_second : d->next_scan;

	return watchdog && d->next_watchdog < next ? d->next_watchdog : next;
}

/* Recorders end in order, or are killed; only to take away what one had attached may take the kernel longer. */
static void stop_recorders(struct daemon *d, int signals, uint64_t until)
{
	while (d->recorder_count && clock_now() < until) {
		wait_for_something(d, signals, clock_now() + STOPPING_STEP);
		turns_reap(d);
	}
	if (d->recorder_count)
		say(SAY_NOTICE, "recorder-slow", NULL,
		    "%zu of its recorders %s killed, and the kernel takes away what was attached; profiles are whole up to their "
		    "last second",
		    d->recorder_count, d->recorder_count == 1 ? "was" : "were");
	else
		say(SAY_NOTICE, "stopped", NULL, "asked to; no recorder is left");
}

static void send_figures_on(struct daemon *d)
{
	AUTO_BUF(text);

	if (!pushes_want_figures(d))
		return;
	metrics_text(d, true, &text);
	if (!buf_failed(&text))
		pushes_take_figures(d, &text);
}

static void loop_until_stopped(struct daemon *d, int signals)
{
	uint64_t watchdog = notify_watchdog(), stopped_at;

	notify_say("READY=1");
	while (!d->stopping) {
		if (d->reload)
			reload_config(d);
		one_round(d, watchdog);
		wait_for_something(d, signals, next_moment(d, watchdog));
		if (d->stopping)
			break;
		turns_reap(d);
		readings_look(d);
		queries_look(d);
		send_figures_on(d);
		pushes_look(d);
		http_wake(d->http);
	}
	stopped_at = clock_now();
	turns_end_all(d, RECORDER_STOP); /* first of all: they have most to do */
	notify_say("STOPPING=1");
	readings_forget(d);
	queries_close(d);
	pushes_close(d);
	http_wake(d->http);
	stop_recorders(d, signals, stopped_at + STOPPING_MOST);
}

int daemon_run(const char *path, struct daemon_config *c, struct err *e)
{
	struct daemon d = { .config_path = path,
			    .c = *c,
			    .next_number = 1,
			    .keeper.dir = -1,
			    .readings = { .out = -1, .source = FIGURES_SOURCES } };
	int signals = signals_open(SIGUSR1);

	*c = (struct daemon_config){ 0 };
	count_cpus(&d);
	d.measured_at = clock_now();
	d.services = calloc(d.c.service_count + 1, sizeof(*d.services));
	limit_own_memory(&d);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	if (signals < 0 || !d.services) {
		err_set(e, signals < 0 ? -errno : -ENOMEM, "the daemon cannot begin: %s",
			signals < 0 ? strerror(errno) : "out of memory");
	} else if (!keeper_open(&d.keeper, d.c.folder, e)) {
		say(SAY_NOTICE, "started", NULL, "%zu service%s, profiles in %s", d.c.service_count,
		    d.c.service_count == 1 ? "" : "s", d.c.folder);
		queries_open(&d);
		pushes_open(&d);
		begin_serving(&d);
		loop_until_stopped(&d, signals);
		http_close(d.http);
	}
	keeper_close(&d.keeper);
	watched_release(&d.watched);
	free(d.recorders);
	free(d.services);
	config_release(&d.c);
	if (signals >= 0)
		close(signals);
	return e->code;
}
