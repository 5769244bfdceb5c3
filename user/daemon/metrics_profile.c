// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/metrics_profile.h"

#include <string.h>

#include "daemon/daemon_priv.h"
#include "daemon/series.h"

/* A family with a series for each row of a service's ten; with_rest: and one for all others together. */
static const struct {
	const char *name;
	enum figures_source source;
	enum figures_kind kind;
	unsigned value;
	bool with_rest;
	const char *labels[FIGURES_NAMES]; /* of a row's names; NULL: that one is none */
	const char *help;
} families[] = {
	{ "accperf_function_self_ratio",
	  FIGURES_REPORT,
	  FIGURES_FUNCTIONS,
	  OF_FUNCTION_SELF,
	  true,
	  { "function", "object" },
	  "Share of a service's CPU time in its last complete profile: ten functions, and all others." },
#define EDGE FIGURES_FLOW, FIGURES_EDGES
#define EDGE_LABELS                                                                                                    \
	{                                                                                                              \
		"producer", "producer_object", "consumer", "consumer_object"                                           \
	}
	{ "accperf_edge_bytes_ratio", EDGE, OF_EDGE_SHARE, true, EDGE_LABELS,
	  "Share of all bytes that functions read from each other: ten edges of 1 % at least, and all others." },
	{ "accperf_edge_bytes_per_second", EDGE, OF_EDGE_RATE, false, EDGE_LABELS,
	  "Bytes that the consumer reads of what the producer wrote; NaN: only shares are known." },
#define CALLS FIGURES_OFFLOAD, FIGURES_CALLS
#define CALLS_LABELS                                                                                                   \
	{                                                                                                              \
		"api", "function", "library", "variant"                                                                \
	}
	{ "accperf_offload_calls_per_second", CALLS, OF_CALLS_RATE, true, CALLS_LABELS,
	  "Calls of accelerator and compression libraries: ten functions, and all others." },
	{ "accperf_offload_in_bytes_per_second", CALLS, OF_CALLS_IN, false, CALLS_LABELS, "What they are given." },
	{ "accperf_offload_out_bytes_per_second", CALLS, OF_CALLS_OUT, false, CALLS_LABELS, "What they give." },
	{ "accperf_offload_call_mean_seconds", CALLS, OF_CALLS_MEAN, false, CALLS_LABELS, "Mean time of a call." },
	{ "accperf_offload_call_p99_seconds", CALLS, OF_CALLS_P99, false, CALLS_LABELS,
	  "One of a hundred calls takes longer." },
	{ "accperf_offload_cpu_ratio", CALLS, OF_CALLS_CPU, false, CALLS_LABELS,
	  "Share of the service's CPU time inside." },
	{ "accperf_offload_failures_per_second", CALLS, OF_CALLS_FAILED, false, CALLS_LABELS, "Calls that failed." },
#define FIT FIGURES_OFFLOAD, FIGURES_FITS
#define FIT_LABELS                                                                                                     \
	{                                                                                                              \
		"api", "function", "kind"                                                                              \
	}
	{ "accperf_logca_calls", FIT, OF_FIT_CALLS, false, FIT_LABELS,
	  "Calls that LogCA was fitted to, in the last complete profile." },
	{ "accperf_logca_overhead_seconds", FIT, OF_FIT_O, false, FIT_LABELS,
	  "LogCA's o: what a call costs the host." },
	{ "accperf_logca_latency_seconds", FIT, OF_FIT_L, false, FIT_LABELS,
	  "LogCA's L: of a call, or of a byte of it where the kind says linear." },
	{ "accperf_logca_acceleration_ratio", FIT, OF_FIT_A, false, FIT_LABELS,
	  "LogCA's A: how much faster the device is; NaN: no limit was seen." },
	{ "accperf_logca_beta_ratio", FIT, OF_FIT_BETA, false, FIT_LABELS,
	  "LogCA's beta: how computation grows with the size." },
	{ "accperf_logca_pays_from_bytes", FIT, OF_FIT_FROM, false, FIT_LABELS,
	  "Size from which on offloading pays; NaN: never, always or not known." },
	{ "accperf_logca_fit_error_ratio", FIT, OF_FIT_ERROR, false, FIT_LABELS, "How far calls lie from the fit." },
	{ "accperf_verdicts",
	  FIGURES_ADVISE,
	  FIGURES_VERDICTS,
	  OF_VERDICT_COUNT,
	  false,
	  { "verdict" },
	  "Candidates for offloading by the verdict of their best option; none: no option, for want of a figure." },
#define GAIN FIGURES_ADVISE, FIGURES_GAINS
#define GAIN_LABELS                                                                                                    \
	{                                                                                                              \
		"function", "accelerator", "verdict"                                                                   \
	}
	{ "accperf_advice_speedup_ratio", GAIN, OF_GAIN_PROCESS, false, GAIN_LABELS,
	  "How much faster the process would be: ten candidates." },
	{ "accperf_advice_speedup_low_ratio", GAIN, OF_GAIN_LOW, false, GAIN_LABELS, "The least of its interval." },
	{ "accperf_advice_speedup_high_ratio", GAIN, OF_GAIN_HIGH, false, GAIN_LABELS, "The most of its interval." },
};

static void begin_service_series(const struct daemon *d, uint32_t service, struct series *out)
{
	series_begin(out);
	series_label(out, "service", d->c.services[service].name);
}

static void add_rows(const struct daemon *d, uint32_t service, unsigned which, struct series *out)
{
	const struct figures *f = &d->services[service].figures;
	const struct figures_top *t = &f->top[families[which].kind];
	const char *const *labels = families[which].labels;

	if (!f->known[families[which].source])
		return;
	for (unsigned i = 0; i < t->count; i++) {
		begin_service_series(d, service, out);
		for (unsigned k = 0; k < FIGURES_NAMES && labels[k]; k++)
			series_label(out, labels[k], t->at[i].name[k]);
		series_end(out, t->at[i].v[families[which].value]);
	}
	if (!families[which].with_rest)
		return;
	begin_service_series(d, service, out);
	for (unsigned k = 0; k < FIGURES_NAMES && labels[k]; k++)
		series_label(out, labels[k], k ? "" : "other");
	series_end(out, t->other);
}

/* Rates in force, and what they are good for. */
static void add_rates(const struct daemon *d, struct series *out)
{
	static const struct {
		const char *name, *help;
	} rates[] = {
		{ "accperf_samples_per_second", "Samples of time that were taken, in the last complete profile." },
		{ "accperf_loads_per_second", "Samples of loads that were taken there; NaN: none were looked for." },
		{ "accperf_watch_windows_per_second", "Windows in which memory was watched there." },
		{ "accperf_profile_seconds", "How long that profile lasted." },
	};

	for (unsigned r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		series_family(out, rates[r].name, SERIES_GAUGE, rates[r].help);
		for (uint32_t i = 0; i < d->c.service_count; i++) {
			const struct figures *f = &d->services[i].figures;
			double n[] = { f->samples, f->loads, f->windows, f->seconds * f->seconds };

			if (!f->known[FIGURES_REPORT])
				continue;
			begin_service_series(d, i, out);
			series_end(out, n[r] / f->seconds);
		}
	}
}

static void add_trust(const struct daemon *d, struct series *out)
{
	static const char *const marks[] = { "good", "weak", "do not use" };
	static const char *const of[FIGURES_SOURCES] = { "time", "flow", "offload", "" };

	series_family(out, "accperf_trust", SERIES_GAUGE,
		      "1 at what the figures of a service's last complete profile are good for.");
	for (uint32_t i = 0; i < d->c.service_count; i++)
		for (unsigned s = 0; s < FIGURES_SOURCES; s++)
			for (unsigned m = 0; m < 3 && *d->services[i].figures.trust[s]; m++) {
				begin_service_series(d, i, out);
				series_label(out, "of", of[s]);
				series_label(out, "mark", marks[m]);
				series_end(out, !strcmp(d->services[i].figures.trust[s], marks[m]));
			}
}

void metrics_profiles_told(const struct daemon *d, struct series *out)
{
	add_rates(d, out);
	add_trust(d, out);
	for (unsigned f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		series_family(out, families[f].name, SERIES_GAUGE, families[f].help);
		for (uint32_t i = 0; i < d->c.service_count; i++)
			add_rows(d, i, f, out);
	}
}
