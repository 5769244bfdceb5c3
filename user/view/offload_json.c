// SPDX-License-Identifier: GPL-2.0-or-later
/* Offload calls (offload.h) as JSON: sites, distributions, parameters and verdicts. */
#include <math.h>
#include <stdio.h>

#include "offload/call_intervals.h"
#include "util/json.h"
#include "view/offload.h"

/* Below `floor` nothing is known but that. */
static void json_from_floor(struct json *j, const char *key, double v, double floor)
{
	json_f64(j, key, v >= floor ? v : NAN);
}

/* late, early: all of them may be too long, too short by so much. */
static void spread_json(struct json *j, const char *key, const struct spread *s, double floor, double late,
			double early)
{
	struct call_interval median = spread_median_interval(s);
	bool known = spread_quantile(s, 0.5) >= floor;

	json_obj(j, key);
	json_f64(j, "calls", s->total);
	json_from_floor(j, "mean", s->total > 0 ? s->sum / s->total : NAN, floor);
	json_from_floor(j, "p10", spread_quantile(s, 0.1), floor);
	json_from_floor(j, "median", spread_quantile(s, 0.5), floor);
	json_f64(j, "median_low", known && !isnan(median.low) ? fmax(median.low - late, 0) : NAN);
	json_f64(j, "median_high", known ? median.high + early : NAN);
	json_from_floor(j, "p90", spread_quantile(s, 0.9), floor);
	json_from_floor(j, "p99", spread_quantile(s, 0.99), floor);
	json_end(j);
}

static const char *probe_class(const struct offload_item *it)
{
	switch (it->classes) {
	case 1u << FMT_PROBE_STEPPED: return "stepped";
	case 1u << FMT_PROBE_EMULATED: return "emulated";
	case 1u << FMT_PROBE_STEPPED | 1u << FMT_PROBE_EMULATED: return "mixed";
	}
	return NULL;
}

/* From the same records as its distributions: those without a context switch inside. */
static double site_bandwidth(const struct offload_site *s)
{
	double bytes = s->bytes_of.total > 0 ? s->bytes_of.sum / s->bytes_of.total : 0;
	double ns = s->time.total > 0 ? s->time.sum / s->time.total : 0;

	return bytes > 0 && ns > 0 ? bytes / ns : NAN;
}

static void histogram(struct json *j, const struct offload_item *it)
{
	json_arr(j, "histogram");
	for (int k = 0; k < OFFLOAD_OCTAVES; k++) {
		const struct offload_octave *o = &it->octave[k];

		if (!(o->calls > 0))
			continue;
		json_obj(j, NULL);
		json_f64(j, "from", k ? exp2(k - 1) : 0);
		json_f64(j, "below", k ? exp2(k) : 1);
		json_f64(j, "calls", o->calls);
		json_f64(j, "bytes", o->bytes);
		json_from_floor(j, "mean_ns", o->timed > 0 ? o->ns / o->timed : NAN, it->below_ns);
		json_end(j);
	}
	json_end(j);
}

static void sites_json(struct json *j, const struct offload_view *v, const struct offload_item *it)
{
	json_arr(j, "sites");
	for (size_t i = 0; i < it->sites_cnt; i++) {
		const struct profile_function *f = offload_caller(v, &it->sites[i]);

		json_obj(j, NULL);
		json_str(j, "function", f ? f->name : NULL);
		json_str(j, "object", f ? f->object : NULL);
		json_f64(j, "calls", it->sites[i].calls);
		json_f64(j, "bytes", it->sites[i].bytes);
		json_f64(j, "ns", it->sites[i].ns);
		json_f64(j, "calls_per_second", offload_calls_per_s(it, it->sites[i].calls * offload_site_scale(it)));
		json_f64(j, "cpu_share",
			 it->host_ns > 0 ? offload_cpu(v, it).value * it->sites[i].ns / it->host_ns : NAN);
		json_f64(j, "bytes_per_ns", it->kind == FMT_OK_CALL ? site_bandwidth(&it->sites[i]) : NAN);
		spread_json(j, "time_ns", &it->sites[i].time, it->below_ns, it->late_ns, it->early_ns);
		spread_json(j, "size", &it->sites[i].bytes_of, 0, 0, 0);
		json_end(j);
	}
	json_end(j);
}

/* Of the whole recording. */
static void whole_bytes_json(struct json *j, const struct offload_item *it, const char *key, double counted)
{
	struct call_interval of = offload_bytes_interval(it, counted);
	char end[40];

	json_f64(j, key, counted * offload_site_scale(it));
	snprintf(end, sizeof(end), "%s_low", key);
	json_f64(j, end, isnan(counted) ? NAN : of.low);
	snprintf(end, sizeof(end), "%s_high", key);
	json_f64(j, end, isnan(counted) ? NAN : of.high);
}

static void item(struct json *j, const struct offload_view *v, const struct offload_item *it)
{
	bool bytes_known = it->unknown_bytes < it->calls;
	struct offload_share share;

	json_obj(j, NULL);
	json_str(j, "api", it->api);
	json_str(j, "name", it->name);
	json_str(j, "library", it->library);
	json_str(j, "kind",
		 it->kind == FMT_OK_CALL     ? "call"
		 : it->kind == FMT_OK_SUBMIT ? "submit"
		 : it->kind == FMT_OK_KERNEL ? "kernel"
					     : "wait");
	json_str(j, "variant", offload_variant_str(it->variant));
	json_f64(j, "level", it->levelled ? it->level : NAN);
	json_u64(j, "counted_calls", it->calls);
	json_f64(j, "calls", it->estimate);
	json_f64(j, "low", it->low);
	json_f64(j, "high", it->high);
	json_f64(j, "observed", it->observed);
	json_f64(j, "calls_per_second", offload_calls_per_s(it, it->estimate));
	if (it->kind != FMT_OK_WAIT && bytes_known) {
		json_u64(j, "bytes_in", it->bytes_in);
		json_u64(j, "bytes_out", it->bytes_out);
	} else {
		json_null(j, "bytes_in");
		json_null(j, "bytes_out");
	}
	whole_bytes_json(j, it, "bytes_in_estimate", bytes_known ? (double)it->bytes_in : NAN);
	whole_bytes_json(j, it, "bytes_out_estimate", bytes_known ? (double)it->bytes_out : NAN);
	json_u64(j, "unknown_bytes_calls", it->unknown_bytes);
	json_f64(j, "work_items", it->work_calls > 0 ? it->work_items : NAN);
	json_u64(j, "failed", it->failed);
	json_f64(j, "page_faults_per_call", offload_faults_per_call(v->summary, it));
	json_f64(j, "page_fault_share", offload_fault_share(v->summary, it));
	json_f64(j, "open", fmax((double)it->open, it->open_records));
	json_u64(j, "records", it->records);
	json_u64(j, "untimed", it->untimed_calls);
	json_u64(j, "switched", it->switched);
	json_f64(j, "host_ns", it->host_ns);
	json_f64(j, "host_cpu_ns", it->host_cpu_ns);
	json_str(j, "probe_class", probe_class(it));
	json_bool(j, "time_upper_bound", offload_upper_bound(v->summary, it));
	share = offload_cpu(v, it);
	json_f64(j, "cpu_share", share.value);
	json_f64(j, "cpu_share_low", share.low);
	json_f64(j, "cpu_share_high", share.high);
	json_str(j, "cpu_share_from", isnan(share.value) ? NULL : share.sampled ? "samples" : "calls");
	json_f64(j, "bytes_per_ns", offload_bandwidth(it));
	json_str(j, "design", offload_design(it));
	json_f64(j, "sync", it->sync);
	json_f64(j, "blocked", it->blocked);
	json_f64(j, "async", it->async);
	json_f64(j, "late", it->late);
	json_f64(j, "inside", it->inside);
	json_f64(j, "overlap", it->async > 0 && it->flight_ns > 0 ? fmin(1, it->overlap_ns / it->flight_ns) : NAN);
	json_f64(j, "wait_ns_per_call", it->async > 0 ? it->wait_ns / it->async : NAN);
	json_f64(j, "below_ns", it->below_ns);
	spread_json(j, "time_ns", &it->time, it->below_ns, it->late_ns, it->early_ns);
	spread_json(j, "submit_ns", &it->submit, it->below_ns, it->late_ns, it->early_ns);
	spread_json(j, "bytes", &it->bytes, 0, 0, 0);
	histogram(j, it);
	sites_json(j, v, it);
	json_end(j);
}

static const char *verdict_str(enum logca_verdict v)
{
	switch (v) {
	case LOGCA_ALWAYS: return "always";
	case LOGCA_NEVER: return "never";
	case LOGCA_FROM: return "from";
	case LOGCA_UNTIL: return "until";
	case LOGCA_BETWEEN: return "between";
	case LOGCA_OUTSIDE: return "outside";
	}
	return NULL;
}

/* The fitted curves, as model/logca.h has them, and the sizes they were fitted at. */
static void params(struct json *j, const struct fit *f)
{
	json_obj(j, "params");
	json_f64(j, "t0", f->p.t0);
	json_f64(j, "o", f->p.o);
	json_f64(j, "L", f->p.L);
	json_f64(j, "C", f->p.C);
	json_f64(j, "A", f->p.A); /* null: infinite */
	json_f64(j, "beta", f->p.beta);
	json_str(j, "kind", logca_latency_str(f->p.kind));
	json_f64(j, "from_bytes", f->gmin);
	json_f64(j, "to_bytes", f->gmax);
	json_end(j);
}

static void verdict_json(struct json *j, const struct offload_verdict *d)
{
	json_obj(j, NULL);
	json_str(j, "api", d->api);
	json_str(j, "name", d->name);
	json_str(j, "why_not", d->fitted ? NULL : d->why_not);
	json_str(j, "cannot_tell", d->fitted ? d->doubt : NULL);
	json_str(j, "pays", d->fitted && !d->doubt ? verdict_str(d->payoff.verdict) : NULL);
	json_f64(j, "from", d->fitted && !d->doubt ? d->payoff.from : NAN);
	json_f64(j, "to", d->fitted && !d->doubt ? d->payoff.to : NAN);
	json_f64(j, "from_low", d->fitted ? d->fit.g1[0].lo : NAN);
	json_f64(j, "from_high", d->fitted ? d->fit.g1[0].hi : NAN);
	json_f64(j, "wrong_side", d->fitted ? d->below : NAN);
	json_f64(j, "wasted_ns_per_call", d->fitted ? d->wasted_ns : NAN);
	json_f64(j, "accelerated_calls", d->accelerated_calls);
	json_f64(j, "fit_error", d->fitted ? d->fit.error : NAN);
	if (d->fitted)
		params(j, &d->fit);
	else
		json_null(j, "params");
	json_end(j);
}

static void whatif_json(struct json *j, const struct offload_whatif *w)
{
	json_obj(j, NULL);
	json_str(j, "api", w->item->api);
	json_str(j, "name", w->item->name);
	json_str(j, "library", w->item->library);
	json_str(j, "accelerator", w->accelerator);
	json_str(j, "device", w->device);
	json_str(j, "why_not", *w->why_not ? w->why_not : NULL);
	json_str(j, "baseline", w->baseline);
	json_str(j, "note", w->note);
	json_f64(j, "level", isnan(w->same_level) ? NAN : w->level);
	json_f64(j, "same_level", w->same_level);
	json_f64(j, "other_level", w->other_level);
	json_f64(j, "no_level", w->no_level);
	json_str(j, "cannot_tell", w->fitted ? w->doubt : NULL);
	json_str(j, "pays", w->fitted && !w->doubt ? verdict_str(w->payoff.verdict) : NULL);
	json_f64(j, "from", w->fitted && !w->doubt ? w->payoff.from : NAN);
	json_f64(j, "to", w->fitted && !w->doubt ? w->payoff.to : NAN);
	json_f64(j, "fit_error", w->fit_error);
	json_f64(j, "calls", w->calls);
	json_bool(j, "calls_at_least", w->at_least);
	json_f64(j, "wrong_side", w->known ? w->below : NAN);
	json_f64(j, "outside", w->outside);
	json_f64(j, "unsure", w->unsure);
	json_f64(j, "spent_ns", w->known ? w->spent_ns : NAN);
	json_f64(j, "lost_ns_per_call", w->known ? w->lost_ns : NAN);
	json_f64(j, "lost_ns", w->all_lost_ns);
	json_f64(j, "gained_ns_per_call", w->known ? w->gained_ns : NAN);
	json_f64(j, "gained_ns", w->all_gained_ns);
	json_end(j);
}

static void counter(struct json *j, const char *name, uint64_t value, bool loss)
{
	json_obj(j, NULL);
	json_str(j, "name", name);
	json_u64(j, "value", value);
	json_bool(j, "loss", loss);
	json_end(j);
}

/* While the file was read, beside what the recorder counted. */
static void lost(struct json *j, const char *name, uint64_t value)
{
	if (value)
		counter(j, name, value, true);
}

void offload_json(const struct offload_view *v, struct buf *out)
{
	const struct offload_summary *s = v->summary;
	struct filtered of = offload_filtered(v);
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.offload/1");
	trust_json(v->trust, &j);
	filtered_json(&of, &j);
	json_u64(&j, "duration_ns", v->profile->duration_ns);
	if (profile_meta(v->profile, "offload.notes"))
		json_str(&j, "notes", profile_meta(v->profile, "offload.notes"));
	json_str(&j, "attach",
		 !s->has_cost                       ? NULL
		 : s->cost.attach == FMT_OA_SESSION ? "uprobe_session"
		 : s->cost.attach == FMT_OA_MULTI   ? "uprobe_multi"
						    : "perf");
	json_obj(&j, "probe_cost");
	json_f64(&j, "call_ns", s->has_cost ? s->cost.call_ns : NAN);
	json_f64(&j, "low", s->has_cost ? s->cost.call_low : NAN);
	json_f64(&j, "high", s->has_cost ? s->cost.call_high : NAN);
	json_f64(&j, "inside_ns", s->has_cost ? s->cost.inside_ns : NAN);
	json_f64(&j, "marker_ns", s->has_cost ? s->cost.nop_ns : NAN);
	json_f64(&j, "hot_ns", s->has_cost && s->cost.hot_ns > 0 ? s->cost.hot_ns : NAN);
	json_f64(&j, "hot_end_ns", s->has_cost && s->cost.hot_end_ns > 0 ? s->cost.hot_end_ns : NAN);
	json_f64(&j, "emulated_call_ns", s->two_costs ? s->cost.emulated_call_ns : NAN);
	json_f64(&j, "emulated_low", s->two_costs ? s->cost.emulated_low : NAN);
	json_f64(&j, "emulated_high", s->two_costs ? s->cost.emulated_high : NAN);
	json_f64(&j, "emulated_inside_ns", s->two_costs ? s->cost.emulated_inside_ns : NAN);
	json_end(&j);
	json_arr(&j, "calls");
	for (size_t i = 0; i < s->items_cnt; i++)
		if (offload_passes(v->filter, &s->items[i]))
			item(&j, v, &s->items[i]);
	json_end(&j);
	json_arr(&j, "verdicts");
	for (size_t i = 0; i < v->verdicts_cnt; i++)
		verdict_json(&j, &v->verdicts[i]);
	json_end(&j);
	json_arr(&j, "what_if");
	for (size_t i = 0; i < v->whatif_cnt; i++)
		if (offload_passes(v->filter, v->whatif[i].item))
			whatif_json(&j, &v->whatif[i]);
	json_end(&j);
	json_arr(&j, "counters");
	for (size_t i = 0; i < v->profile->counter_count; i++) {
		const struct profile_counter *c = &v->profile->counters[i];

		counter(&j, c->name, c->value, c->loss);
	}
	lost(&j, "nameless_calls", s->nameless_calls);
	lost(&j, "nameless_records", s->nameless_records);
	lost(&j, "placeless_calls", whole_number(s->placeless));
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define PAYS "{\"enum\":[\"always\",\"never\",\"from\",\"until\",\"between\",\"outside\",null]}"
#define SPREAD                                                                                                         \
	"{\"type\":[\"object\",\"null\"],\"numbers\":[\"calls\",\"mean\",\"p10\",\"median\",\"median_low\",\"median_high\",\"p90\",\"p99\"]}"
const char offload_schema[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"accperf.offload/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"duration_ns\",\"attach\",\"probe_cost\",\"calls\",\"verdicts\",\"counters\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.offload/1\"}," TRUST_SCHEMA "," FILTERED_SCHEMA
	",\"duration_ns\":{\"type\":\"integer\"},"
	"\"notes\":{\"type\":\"string\",\"description\":\"what the recorder said of libraries and their probes, by line\"},"
	"\"attach\":{\"enum\":[\"uprobe_session\",\"uprobe_multi\",\"perf\",null]},"
	"\"probe_cost\":{\"type\":\"object\",\"description\":\"nanoseconds; inside_ns was taken off the times, emulated_inside_ns where the kernel emulates the first instruction (probe_class); hot_ns, hot_end_ns: with hot caches, at start and when recording ended; null: not measured\","
	"\"numbers\":[\"call_ns\",\"low\",\"high\",\"inside_ns\",\"marker_ns\",\"hot_ns\",\"hot_end_ns\",\"emulated_call_ns\",\"emulated_low\",\"emulated_high\",\"emulated_inside_ns\"],\"properties\":{}},"
	"\"calls\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"api\",\"name\",\"library\",\"kind\",\"variant\",\"level\",\"counted_calls\",\"calls\",\"low\",\"high\",\"observed\","
	"\"bytes_in\",\"bytes_out\",\"failed\",\"open\",\"time_ns\",\"bytes\",\"histogram\",\"sites\"],\"properties\":{"
	"\"api\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"},\"library\":{\"type\":\"string\"},"
	"\"kind\":{\"enum\":[\"call\",\"submit\",\"wait\",\"kernel\"]},\"variant\":{\"enum\":[\"host\",\"accelerated\",null]},\"level\":{\"type\":[\"integer\",\"null\"],\"description\":\"of compression: these are its calls at this level; null: it has none, or none was seen\"},"
	"\"counted_calls\":{\"type\":\"integer\",\"description\":\"exact, while probes were in place\"},"
	"\"calls\":{\"type\":[\"number\",\"null\"],\"description\":\"of the whole recording; null: low is all that is known\"},"
	"\"low\":{\"type\":\"number\"},\"high\":{\"type\":[\"number\",\"null\"]},"
	"\"observed\":{\"type\":\"number\",\"description\":\"share of the time in which probes were in place\"},"
	"\"bytes_in\":{\"type\":[\"integer\",\"null\"],\"description\":\"of the counted calls\"},"
	"\"bytes_out\":{\"type\":[\"integer\",\"null\"]},"
	"\"bytes_in_estimate\":{\"type\":[\"number\",\"null\"],\"description\":\"of the whole recording\"},\"bytes_out_estimate\":{\"type\":[\"number\",\"null\"]},"
	"\"work_items\":{\"type\":[\"number\",\"null\"],\"description\":\"of kernels launched; null: the call does not tell\"},"
	"\"open\":{\"type\":\"number\",\"description\":\"never seen to complete\"},"
	"\"probe_class\":{\"enum\":[\"stepped\",\"emulated\",\"mixed\",null]},"
	"\"time_upper_bound\":{\"type\":\"boolean\",\"description\":\"the probe's class is unknown: the smaller cost was taken off\"},"
	"\"below_ns\":{\"type\":[\"number\",\"null\"],\"description\":\"times below this are not told from what the probe takes, and null\"},"
	"\"time_ns\":" SPREAD ",\"submit_ns\":" SPREAD ",\"bytes\":" SPREAD ","
	"\"histogram\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"numbers\":[\"from\",\"below\",\"calls\",\"bytes\",\"mean_ns\"]}},"
	"\"sites\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"texts\":[\"function\",\"object\"],"
	"\"numbers\":[\"calls\",\"bytes\",\"ns\",\"calls_per_second\",\"cpu_share\",\"bytes_per_ns\"],"
	"\"properties\":{\"time_ns\":" SPREAD ",\"size\":" SPREAD "}}}},"
	"\"texts\":[\"cpu_share_from\",\"design\"],\"numbers\":[\"calls_per_second\",\"unknown_bytes_calls\",\"failed\",\"page_faults_per_call\",\"page_fault_share\",\"records\","
	"\"untimed\",\"switched\",\"host_ns\",\"host_cpu_ns\",\"cpu_share\",\"cpu_share_low\",\"cpu_share_high\",\"bytes_per_ns\",\"sync\","
	"\"bytes_in_estimate_low\",\"bytes_in_estimate_high\",\"bytes_out_estimate_low\",\"bytes_out_estimate_high\","
	"\"blocked\",\"async\",\"late\",\"inside\",\"overlap\",\"wait_ns_per_call\"]}},"
	"\"what_if\":{\"type\":\"array\",\"description\":\"--accelerator: each host call against each; wrong_side, outside: shares of its "
	"calls that would lose, that are of a size the accelerator was not measured at; times per call and in all; same_level: share of all that are at its level, of which alone all this is; null: of none the level is known, all are compared\","
	"\"items\":{\"type\":\"object\",\"texts\":[\"api\",\"name\",\"library\",\"accelerator\",\"device\",\"why_not\",\"baseline\",\"note\","
	"\"cannot_tell\"],\"properties\":{\"pays\":" PAYS "},\"flags\":[\"calls_at_least\"],"
	"\"numbers\":[\"from\",\"to\",\"fit_error\",\"calls\",\"wrong_side\",\"outside\",\"unsure\",\"spent_ns\",\"lost_ns_per_call\","
	"\"lost_ns\",\"gained_ns_per_call\",\"gained_ns\",\"level\",\"same_level\",\"other_level\",\"no_level\"]}},"
	"\"verdicts\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"texts\":[\"api\",\"name\",\"why_not\",\"cannot_tell\"],"
	"\"numbers\":[\"from\",\"to\",\"from_low\",\"from_high\",\"wrong_side\",\"wasted_ns_per_call\",\"accelerated_calls\",\"fit_error\"],"
	"\"properties\":{\"pays\":" PAYS ",\"params\":{\"type\":[\"object\",\"null\"],"
	"\"numbers\":[\"t0\",\"o\",\"L\",\"C\",\"A\",\"beta\",\"from_bytes\",\"to_bytes\"],\"texts\":[\"kind\"]}}}},"
	"\"counters\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
	"\"value\":{\"type\":\"integer\"},\"loss\":{\"type\":\"boolean\"}}}}}}";
