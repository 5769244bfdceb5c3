// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/metrics.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/daemon_priv.h"
#include "daemon/metrics_profile.h"
#include "daemon/series.h"
#include "util/clock.h"
#include "util/heap_use.h"
#include "store/read.h"
#include "util/json.h"
#include "util/labels.h"
#include "view/schema.h"
#include "view/text.h"

#define SCAN_LATE_S 120  /* a scan is due every minute at most: two were missed */
#define PLACES_SERIES 20 /* of a service: a scraper keeps each for years, and pods have new names every day */

/* A family with a series for each service. */
enum per_service {
	OF_RECORDERS,
	OF_UNRECORDED,
	OF_RESTING,
	OF_BUDGET,
	OF_SLOWDOWN,
	OF_TURNS,
	OF_FAILURES,
	OF_COST,
	OF_SAMPLES,
	OF_LOST,
	OF_UNREAD,
	OF_DUTY,
	OF_TARGET,
	OF_ALL
};

static const struct {
	const char *name;
	enum series_type type;
	const char *help;
} families[OF_ALL] = {
	[OF_RECORDERS] = { "accperf_recorders", SERIES_GAUGE, "Recorders that run." },
	[OF_UNRECORDED] = { "accperf_processes_unrecorded", SERIES_GAUGE,
			    "Processes old enough that no recorder has: it rests, has failed, or they are too many." },
	[OF_RESTING] = { "accperf_resting", SERIES_GAUGE, "1 while its part of the budget is spent." },
	[OF_BUDGET] = { "accperf_budget_cpus", SERIES_GAUGE, "CPUs that its recording may take, over hours." },
	[OF_SLOWDOWN] = { "accperf_target_slowdown_ratio", SERIES_GAUGE,
			  "What its processes lost, in the last complete profile." },
	[OF_DUTY] = { "accperf_duty_ratio", SERIES_GAUGE, "Part of its processes' time that is recorded." },
	[OF_TARGET] = { "accperf_samples_target", SERIES_GAUGE, "Samples an hour that are aimed at; 0: no target." },
	[OF_TURNS] = { "accperf_recorder_starts", SERIES_COUNTER, "Recorders that began." },
	[OF_FAILURES] = { "accperf_recorder_failures", SERIES_COUNTER, "Recorders that failed." },
	[OF_COST] = { "accperf_cost_cpu_seconds", SERIES_COUNTER,
		      "CPU time of its recorders, and what its processes lost at most." },
	[OF_SAMPLES] = { "accperf_samples", SERIES_COUNTER, "Samples in its complete profiles." },
	[OF_LOST] = { "accperf_samples_lost", SERIES_COUNTER, "Records that were lost there." },
	[OF_UNREAD] = { "accperf_profiles_unread", SERIES_COUNTER, "Complete profiles that could not be read." },
};

static double service_figure(const struct daemon *d, uint32_t service, enum per_service which)
{
	const struct service_state *s = &d->services[service];

	switch (which) {
	case OF_RECORDERS: return (double)turns_running(d, service);
	case OF_UNRECORDED: return turns_unrecorded(d, service);
	case OF_RESTING: return s->account.resting;
	case OF_BUDGET: return s->rate;
	case OF_SLOWDOWN: return s->figures.known[FIGURES_REPORT] ? s->figures.slowdown : NAN;
	case OF_TURNS: return (double)s->turns;
	case OF_FAILURES: return (double)s->failed;
	case OF_COST: return s->cost;
	case OF_SAMPLES: return s->samples;
	case OF_LOST: return s->lost;
	case OF_DUTY: return pace_duty(&s->pace);
	case OF_TARGET: return d->c.services[service].samples;
	default: return (double)s->unread;
	}
}

static void add_services(const struct daemon *d, struct series *out)
{
	for (unsigned f = 0; f < OF_ALL; f++) {
		series_family(out, families[f].name, families[f].type, families[f].help);
		for (uint32_t i = 0; i < d->c.service_count; i++) {
			series_begin(out);
			series_label(out, "service", d->c.services[i].name);
			series_end(out, service_figure(d, i, (enum per_service)f));
		}
	}
}

static void add_place(const struct daemon *d, uint32_t service, const char *const values[3], unsigned processes,
		      struct series *out)
{
	static const char *const names[] = { "unit", "container", "pod" };

	series_begin(out);
	series_label(out, "service", d->c.services[service].name);
	for (unsigned i = 0; i < 3; i++)
		series_label(out, names[i], values[i]);
	series_end(out, processes);
}

/* Of the places that it is in, so many, and how many processes all others have. */
static void add_places_of(const struct daemon *d, uint32_t service, struct series *out)
{
	const struct watched *w = &d->watched;
	unsigned series = 0, other = 0;
	AUTO_BUF(counts);

	for (size_t i = 0; i < w->place_count; i++)
		buf_add(&counts, &(unsigned){ 0 }, sizeof(unsigned));
	if (buf_failed(&counts))
		return;
	for (size_t i = 0; i < w->count; i++)
		if (w->at[i].service == service && w->at[i].place < w->place_count)
			((unsigned *)(void *)counts.data)[w->at[i].place]++;
		else
			other += w->at[i].service == service;
	for (size_t i = 0; i < w->place_count; i++) {
		const struct container *c = &w->places[i];
		unsigned n = ((const unsigned *)(const void *)counts.data)[i];

		if (!n || series == PLACES_SERIES) {
			other += n;
			continue;
		}
		series++;
		add_place(d, service, (const char *const[]){ c->unit, c->id, *c->pod ? c->pod : c->pod_uid }, n, out);
	}
	if (other)
		add_place(d, service, (const char *const[]){ "other", "", "" }, other, out);
}

static void add_pushes(const struct daemon *d, struct series *out)
{
	static const struct {
		const char *name;
		enum series_type type;
		const char *help;
	} of[] = {
		{ "accperf_profiles_sent", SERIES_COUNTER,
		  "Profiles sent to a server of the section fleet; to remote_write sets of figures." },
		{ "accperf_profiles_send_failures", SERIES_COUNTER, "Tries that failed." },
		{ "accperf_profiles_not_wanted", SERIES_COUNTER,
		  "Profiles that could not be read, or that a server refused for good." },
		{ "accperf_profiles_waiting", SERIES_GAUGE, "Complete profiles that wait to be sent." },
	};

	for (unsigned f = 0; f < sizeof(of) / sizeof(of[0]); f++) {
		series_family(out, of[f].name, of[f].type, of[f].help);
		for (unsigned to = 0; to < PUSH_SERVERS; to++) {
			const struct push *p = &d->pushes.to[to];
			double v[] = { (double)p->sent, (double)p->failed, (double)p->unreadable,
				       (double)pushes_waiting(d, to) };

			if (!pushes_name(d, to))
				continue;
			series_begin(out);
			series_label(out, "to", pushes_name(d, to));
			series_end(out, v[f]);
		}
	}
}

static void add_daemon(const struct daemon *d, struct series *out)
{
	uint64_t heap = heap_use();

	series_family(out, "accperf_build", SERIES_INFO, "The program's version.");
	series_begin(out);
	series_label(out, "version", ACCPERF_VERSION);
	series_end(out, 1);
	series_counter(out, "accperf_daemon_cpu_seconds", "CPU time of the daemon alone.", d->own_cpu);
	series_counter(out, "accperf_answers_cpu_seconds", "CPU time of answers from stored profiles.",
		       d->queries.cost);
	series_gauge(out, "accperf_memory_bytes", "Memory of the daemon and its recorders.", (double)d->memory);
	series_gauge(out, "accperf_daemon_heap_bytes", "Of the daemon's own memory, what its tables take.",
		     heap ? (double)heap : NAN);
	series_gauge(out, "accperf_memory_limit_bytes", "The most that they may hold.", (double)d->c.memory);
	series_gauge(out, "accperf_budget_ratio", "What all of it may take of all CPUs.", d->c.budget);
	series_gauge(out, "accperf_cpus", "CPUs of this machine.", d->cpus);
	series_gauge(out, "accperf_scan_seconds", "Time from one look for processes to the next.", d->scan_every);
	series_gauge(out, "accperf_profiles", "Profiles that are kept.", (double)d->keeper.kept.count);
	series_gauge(out, "accperf_profiles_bytes", "What they take on disk.", (double)d->keeper.kept.bytes);
	series_counter(out, "accperf_profiles_removed", "Profiles removed for age, total or the disk's reserve.",
		       (double)d->keeper.removed);
	series_gauge(out, "accperf_disk_free_bytes", "Free space where profiles are kept.",
		     (double)keeper_free(&d->keeper));
	series_gauge(out, "accperf_disk_full", "1 while the reserve is not there and nothing is recorded.", d->full);
}

void metrics_text(const struct daemon *d, bool openmetrics, struct buf *out)
{
	struct series s = { .out = out, .openmetrics = openmetrics };

	add_daemon(d, &s);
	add_pushes(d, &s);
	add_services(d, &s);
	series_family(&s, "accperf_processes", SERIES_GAUGE, "Processes of a service, by unit, container and pod.");
	for (uint32_t i = 0; i < d->c.service_count; i++)
		add_places_of(d, i, &s);
	metrics_profiles_told(d, &s);
	series_close(&s);
}

bool metrics_health(const struct daemon *d, struct buf *out)
{
	if (d->full)
		buf_addstr(out, "the disk's reserve is not there: nothing is recorded\n");
	else if (clock_now() > d->next_scan + SCAN_LATE_S * 1000000000ull)
		buf_addstr(out, "no look for processes for two minutes\n");
	else
		buf_addstr(out, "ok\n");
	return out->len == 3;
}

/* What its recorder was told of its service's place, which it wrote first. */
static void put_labels(struct json *j, const struct keeper *k, const struct kept_file *f)
{
	int fd = keeper_fd(k, k->folders[f->folder], f->name);
	struct store_reader *r = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		r = store_open(path, NULL);
	text_json_labels(j, "labels", r ? store_meta_early(r, META_LABELS) : NULL);
	store_reader_free(r);
	if (fd >= 0)
		close(fd);
}

void metrics_profiles(const struct daemon *d, struct buf *out)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.profiles/1");
	json_arr(&j, "profiles");
	for (size_t i = 0; i < d->keeper.count; i++) {
		const struct kept_file *f = &d->keeper.files[i];

		if (f->goes)
			continue;
		json_obj(&j, NULL);
		json_str(&j, "service", d->keeper.folders[f->folder]);
		json_str(&j, "name", f->name);
		json_f64(&j, "written", (double)f->time / 1e9);
		json_u64(&j, "bytes", f->bytes);
		json_bool(&j, "complete", !f->open);
		put_labels(&j, &d->keeper, f);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

const char metrics_profiles_schema[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"accperf.profiles/1\",\"type\":\"object\","
	"\"description\":\"the profiles that a daemon keeps\",\"additionalProperties\":false,"
	"\"required\":[\"schema\",\"profiles\"],\"properties\":{\"schema\":{\"const\":\"accperf.profiles/1\"},"
	"\"profiles\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"service\",\"name\",\"written\",\"bytes\",\"complete\"],\"properties\":{"
	"\"labels\":" LABELS_SCHEMA ",\"service\":{\"type\":\"string\"},"
	"\"name\":{\"type\":\"string\",\"description\":\"the file's, in the service's folder\"},"
	"\"written\":{\"type\":\"number\",\"description\":\"when last, seconds of the time of day\"},"
	"\"bytes\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"on disk\"},"
	"\"complete\":{\"type\":\"boolean\",\"description\":\"false: it is being written\"}}}}}}";
