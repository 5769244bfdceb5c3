// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/daemon_priv.h"
#include "util/clock.h"
#include "util/json.h"

#define SCAN_LATE_S 120
#define PLACES_SERIES 20 /* of a service */

static void family_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_addf(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

static void one(struct buf *out, const char *name, double v)
{
	buf_addf(out, "%s ", name);
	figures_value(v, out);
	buf_addch(out, '\n');
}

static void one_gauge(struct buf *out, const char *name, const char *help, double v)
{
	family_head(out, name, "gauge", help);
	one(out, name, v);
}

static void one_counter(struct buf *out, const char *name, const char *help, double v)
{
	family_head(out, name, "counter", help);
	buf_addf(out, "%s_total ", name);
	figures_value(v, out);
	buf_addch(out, '\n');
}

/* A family with a series for each service. */
enum per_service {
	OF_RECORDERS,
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
	const char *name, *type, *help;
} families[OF_ALL] = {
	[OF_RECORDERS] = { "accperf_recorders", "gauge", "Recorders that run." },
	[OF_RESTING] = { "accperf_resting", "gauge", "1 while its part of the budget is spent." },
	[OF_BUDGET] = { "accperf_budget_cpus", "gauge", "CPUs that its recording may take, over hours." },
	[OF_SLOWDOWN] = { "accperf_target_slowdown_ratio", "gauge",
			  "What its processes lost, in the last complete profile." },
	[OF_DUTY] = { "accperf_duty_ratio", "gauge", "Part of its processes' time that is recorded." },
	[OF_TARGET] = { "accperf_samples_target", "gauge", "Samples an hour that are aimed at; 0: no target." },
	[OF_TURNS] = { "accperf_recorder_starts", "counter", "Recorders that began." },
	[OF_FAILURES] = { "accperf_recorder_failures", "counter", "Recorders that failed." },
	[OF_COST] = { "accperf_cost_cpu_seconds", "counter",
		      "CPU time of its recorders, and what its processes lost at most." },
	[OF_SAMPLES] = { "accperf_samples", "counter", "Samples in its complete profiles." },
	[OF_LOST] = { "accperf_samples_lost", "counter", "Records that were lost there." },
	[OF_UNREAD] = { "accperf_profiles_unread", "counter", "Complete profiles that could not be read." },
};

static double service_figure(const struct daemon *d, uint32_t service, enum per_service which)
{
	const struct service_state *s = &d->services[service];

	switch (which) {
	case OF_RECORDERS: return (double)turns_running(d, service);
	case OF_RESTING: return s->account.resting;
	case OF_BUDGET: return s->rate;
	case OF_SLOWDOWN: return s->figures.known ? s->figures.slowdown : NAN;
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

static void add_services(const struct daemon *d, struct buf *out)
{
	for (unsigned f = 0; f < OF_ALL; f++) {
		family_head(out, families[f].name, families[f].type, families[f].help);
		for (uint32_t i = 0; i < d->c.service_count; i++) {
			buf_addf(out, "%s%s{service=\"%s\"} ", families[f].name,
				 strcmp(families[f].type, "counter") ? "" : "_total", d->c.services[i].name);
			figures_value(service_figure(d, i, (enum per_service)f), out);
			buf_addch(out, '\n');
		}
	}
}

static void add_function(const struct daemon *d, uint32_t service, const char *function, const char *object,
			 double self, struct buf *out)
{
	buf_addf(out, "accperf_function_self_ratio{service=\"%s\",function=\"", d->c.services[service].name);
	figures_label(function, out);
	buf_addstr(out, "\",object=\"");
	figures_label(object, out);
	buf_addstr(out, "\"} ");
	figures_value(self, out);
	buf_addch(out, '\n');
}

/* Two of one name in one object, static functions of two files, are one series: the sum. */
static void add_top_functions(const struct daemon *d, struct buf *out)
{
	family_head(out, "accperf_function_self_ratio", "gauge",
		    "Share of a service's CPU time in its last complete profile: ten functions, and all others.");
	for (uint32_t i = 0; i < d->c.service_count; i++) {
		const struct figures *f = &d->services[i].figures;

		for (unsigned k = 0; f->known && k < f->top_count; k++) {
			double self = 0;
			bool before = false;

			for (unsigned j = 0; j < f->top_count; j++) {
				bool same = !strcmp(f->top[j].function, f->top[k].function) &&
					    !strcmp(f->top[j].object, f->top[k].object);

				self += same ? f->top[j].self : 0;
				before |= same && j < k;
			}
			if (!before)
				add_function(d, i, f->top[k].function, f->top[k].object, self, out);
		}
		if (f->known)
			add_function(d, i, "other", "", f->other, out);
	}
}

/* Of the places that it is in, so many, and how many processes all others have. */
static void add_places_of(const struct daemon *d, uint32_t service, struct buf *out)
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
		const char *const labels[][2] = { { "unit", c->unit },
						  { "container", c->id },
						  { "pod", *c->pod ? c->pod : c->pod_uid } };

		if (!n || series == PLACES_SERIES) {
			other += n;
			continue;
		}
		series++;
		buf_addf(out, "accperf_processes{service=\"%s\"", d->c.services[service].name);
		for (unsigned k = 0; k < 3; k++) {
			buf_addf(out, ",%s=\"", labels[k][0]);
			figures_label(labels[k][1], out);
			buf_addch(out, '"');
		}
		buf_addf(out, "} %u\n", n);
	}
	if (other)
		buf_addf(out, "accperf_processes{service=\"%s\",unit=\"other\",container=\"\",pod=\"\"} %u\n",
			 d->c.services[service].name, other);
}

void metrics_text(const struct daemon *d, struct buf *out)
{
	family_head(out, "accperf_build", "info", "The program's version.");
	buf_addf(out, "accperf_build_info{version=\"%s\"} 1\n", ACCPERF_VERSION);
	one_counter(out, "accperf_daemon_cpu_seconds", "CPU time of the daemon alone.", d->own_cpu);
	one_counter(out, "accperf_answers_cpu_seconds", "CPU time of answers from stored profiles.", d->queries.cost);
	one_counter(out, "accperf_profiles_sent", "Profiles sent to ClickHouse.", (double)d->pushes.sent);
	one_counter(out, "accperf_profiles_send_failures", "Tries that failed.", (double)d->pushes.failed);
	one_gauge(out, "accperf_profiles_waiting",
		  "Complete profiles that wait to be sent; NaN: none are sent anywhere.",
		  d->c.clickhouse ? (double)pushes_waiting(d) : NAN);
	one_gauge(out, "accperf_memory_bytes", "Memory of the daemon and its recorders.", (double)d->memory);
	one_gauge(out, "accperf_memory_limit_bytes", "The most that they may hold.", (double)d->c.memory);
	one_gauge(out, "accperf_profiles", "Profiles that are kept.", (double)d->keeper.kept.count);
	one_gauge(out, "accperf_profiles_bytes", "What they take on disk.", (double)d->keeper.kept.bytes);
	one_counter(out, "accperf_profiles_removed", "Profiles removed for age, total or the disk's reserve.",
		    (double)d->keeper.removed);
	one_gauge(out, "accperf_disk_free_bytes", "Free space where profiles are kept.",
		  (double)keeper_free(&d->keeper));
	one_gauge(out, "accperf_disk_full", "1 while the reserve is not there and nothing is recorded.", d->full);
	add_services(d, out);
	family_head(out, "accperf_processes", "gauge", "Processes of a service, by unit, container and pod.");
	for (uint32_t i = 0; i < d->c.service_count; i++)
		add_places_of(d, i, out);
	add_top_functions(d, out);
	buf_addstr(out, "# EOF\n");
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
	"\"service\":{\"type\":\"string\"},"
	"\"name\":{\"type\":\"string\",\"description\":\"the file's, in the service's folder\"},"
	"\"written\":{\"type\":\"number\",\"description\":\"when last, seconds of the time of day\"},"
	"\"bytes\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"on disk\"},"
	"\"complete\":{\"type\":\"boolean\",\"description\":\"false: it is being written\"}}}}}}";
