// SPDX-License-Identifier: GPL-2.0-or-later
/* Advice (advise.h) as JSON: candidates, options, devices, each figure with its ends or null. */
#include <math.h>

#include "model/catalogue.h"
#include "util/json.h"
#include "view/advise.h"
#include "view/schema.h"

/* Of a candidate, or of an option. */
struct keyed {
	const char *key;
	struct figure f;
};

/* What is told in full, as tools want it: a value between two ends, or null. */
static bool figure_whole(const struct figure *f)
{
	return isfinite(f->value) && isfinite(f->low) && isfinite(f->high);
}

static bool figure_in_part(const struct figure *f)
{
	return !figure_whole(f) && (isfinite(f->value) || isfinite(f->low) || isfinite(f->high));
}

static void figure(struct json *j, const char *key, const struct figure *f)
{
	json_obj(j, key);
	json_f64(j, "value", f->value);
	json_f64(j, "low", f->low);
	json_f64(j, "high", f->high);
	json_end(j);
}

static void whole_or_null(struct json *j, const char *key, const struct figure *f)
{
	if (figure_whole(f))
		figure(j, key, f);
	else
		json_null(j, key);
}

/* What is known of figures that are null: a bound without a value, a value without ends. */
static void figures_in_part(struct json *j, const struct keyed *all, size_t n)
{
	json_obj(j, "partly");
	for (size_t i = 0; i < n; i++)
		if (figure_in_part(&all[i].f))
			figure(j, all[i].key, &all[i].f);
	json_end(j);
}

static void whole_figures(struct json *j, const struct keyed *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		whole_or_null(j, all[i].key, &all[i].f);
	figures_in_part(j, all, n);
}

/* Which sizes pay, of those that [lo, hi] holds: seen, and measured on the device; NULL: not known, or not surely. */
static const char *sizes_that_pay(const struct advise_option *o)
{
	static const char *const name[] = { [LOGCA_ALWAYS] = "always",
					    [LOGCA_NEVER] = "never",
					    [LOGCA_FROM] = "from",
					    [LOGCA_UNTIL] = "until",
					    [LOGCA_BETWEEN] = "between" };
	unsigned v = o->p.payoff.verdict;

	return o->predicted && o->p.payoff_sure && v < sizeof(name) / sizeof(*name) ? name[v] : NULL;
}

static void option_json(struct json *j, const struct candidate *c, const struct advise_option *o)
{
	const struct predict_option *p = &o->p;
	struct figure u = FIGURE_UNKNOWN, g1 = p->payoff_known || !o->predicted ? p->g1 : u;

	if (o->predicted && !p->g1_told)
		g1.value = NAN;
	if (o->predicted && p->payoff_known && p->payoff_sure && !figure_known(&p->g1))
		g1 = u; /* all sizes pay, or none: there is no break-even */
	const struct keyed all[] = {
		{ "speedup", p->speedup },
		{ "process_speedup", p->process_speedup },
		{ "g1", g1 },
		{ "g_half", p->payoff_known || !o->predicted ? p->g_half : u },
		{ "batch", p->batch },
		{ "speedup_resident", o->predicted ? p->speedup_resident : u },
		{ "speedup_faulting", o->predicted ? advise_faulting(c, &p->speedup) : u },
		{ "rest_loses", o->predicted ? p->rest_loses : u },
		{ "process_placed", o->predicted ? p->process_placed : u },
		{ "thread_speedup", o->predicted ? p->thread_speedup : u },
		{ "utilisation", o->predicted ? p->utilisation : u },
		{ "queue_p50_ns", o->predicted ? p->wait_p50 : u },
		{ "queue_p99_ns", o->predicted ? p->wait_p99 : u },
	};

	json_obj(j, NULL);
	json_str(j, "accelerator", o->accelerator ? o->accelerator : "(any)");
	json_str(j, "design", catalogue_design_str(p->design));
	whole_figures(j, all, sizeof(all) / sizeof(*all));
	json_str(j, "pays", sizes_that_pay(o));
	json_f64(j, "threshold", o->threshold > 0 ? o->threshold : NAN);
	json_str(j, "bound", predict_bound_str(o->p.bound));
	json_str(j, "limit_bound", o->in_the_limit);
	json_str(j, "verdict", verdict_str(o->verdict));
	json_f64(j, "gain_chance", advise_gain_chance(&o->p.speedup));
	json_str(j, "text", o->text);
	json_end(j);
}

static void sizes_json(struct json *j, const struct candidate *c)
{
	double calls = 0;

	for (size_t i = 0; i < c->work.sizes; i++)
		calls += c->work.size[i].calls;
	json_arr(j, "sizes");
	for (size_t i = 0; i < c->work.sizes; i++) {
		json_obj(j, NULL);
		json_f64(j, "bytes", c->work.size[i].bytes);
		json_f64(j, "share", c->work.size[i].calls / calls);
		json_f64(j, "host_ns", c->work.size[i].host_ns);
		json_end(j);
	}
	json_end(j);
}

static const struct advised *advised_of(const struct advice *a, const struct candidate *c)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->at[i].candidate == c)
			return &a->at[i];
	return NULL;
}

static void candidate_json(struct json *j, const struct advise_view *v, const struct candidate *c)
{
	const struct advised *d = advised_of(v->advice, c);
	struct figure rate = c->calls_per_s;

	if (candidate_rate_is_bound(c)) /* known from below only */
		rate.value = rate.high = NAN;
	const struct keyed all[] = {
		{ "calls_per_s", rate },         { "ns_per_call", c->ns_per_call },   { "bytes_in", c->bytes_in },
		{ "bytes_out", c->bytes_out },   { "unique_in", c->unique_in },       { "unique_out", c->unique_out },
		{ "resident", c->resident },     { "ops_per_byte", c->ops_per_byte }, { "share_of_time", c->share },
		{ "wait_share", c->wait_share },
	};

	json_obj(j, NULL);
	json_str(j, "name", c->name);
	json_arr(j, "functions");
	for (size_t i = 0; i < c->functions; i++)
		json_str(j, NULL, v->input->function[c->function[i]].name);
	json_end(j);
	json_str(j, "kind", candidate_kind_str(c->kind));
	json_f64(j, "level", c->levelled ? c->level : NAN);
	json_f64(j, "part_of_calls", c->part);
	whole_figures(j, all, sizeof(all) / sizeof(*all));
	sizes_json(j, c);
	json_obj(j, "host");
	whole_or_null(j, "t0", &c->work.t0);
	whole_or_null(j, "C", &c->work.C);
	whole_or_null(j, "beta", &c->work.beta);
	json_str(j, "reason", c->probed ? c->probed->no_curve : NULL);
	json_end(j);
	json_f64(j, "ready_part", c->ready_part);
	json_f64(j, "p50_ns", c->p50);
	json_f64(j, "p90_ns", c->p90);
	json_f64(j, "p99_ns", c->p99);
	json_f64(j, "limit_thread", advise_limit(&c->thread_share));
	json_f64(j, "limit_process", advise_limit(&c->share));
	json_f64(j, "limit_recorded", advise_limit(&c->elapsed_share));
	json_f64(j, "failed_share", c->probed ? c->probed->failed_share : NAN);
	json_f64(j, "page_faults_per_call", c->probed ? c->probed->faults_per_call : NAN);
	json_f64(j, "page_fault_share", c->probed ? c->probed->fault_share : NAN);
	json_str(j, "reason", *c->reason ? c->reason : NULL);
	json_arr(j, "options");
	for (size_t i = 0; d && i < d->options; i++)
		option_json(j, c, &d->option[i]);
	json_end(j);
	json_end(j);
}

/* As the catalogue has it: many a maker's figure has no ends. */
static void term(struct json *j, const char *key, const struct figure *f)
{
	if (isfinite(f->value))
		figure(j, key, f);
	else
		json_null(j, key);
}

static void device_json(struct json *j, const struct advised_device *d)
{
	const struct figure *L = &d->L;

	json_obj(j, NULL);
	json_str(j, "name", d->name);
	json_str(j, "device", d->device);
	json_bool(j, "elsewhere", d->elsewhere);
	json_arr(j, "kinds");
	for (unsigned i = 0; i < CATALOGUE_KINDS; i++)
		if (d->kinds & 1u << i)
			json_str(j, NULL, catalogue_kind_str(i));
	json_end(j);
	term(j, "o", &d->o);
	term(j, "L", L);
	json_str(j, "L_per", !isfinite(L->value) ? NULL : d->kind == LOGCA_DEP ? "byte" : "call");
	term(j, "A", &d->A);
	term(j, "B", &d->B);
	json_f64(j, "beta", isfinite(d->B.value) ? d->beta : NAN);
	json_str(j, "lacks", *d->lacks ? d->lacks : NULL);
	json_end(j);
}

void advise_json(const struct advise_view *v, struct buf *out)
{
	struct filtered of = advise_filtered(v);
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.advise/1");
	json_str(&j, "engine", v->input->engine ? v->input->engine : "unknown");
	json_str(&j, "machine", v->input->machine ? v->input->machine : "unknown");
	text_json_labels(&j, "labels", v->input->labels);
	filtered_json(&of, &j);
	json_arr(&j, "candidates");
	for (size_t i = 0; i < v->candidates->count; i++)
		if (advise_takes(v, &v->candidates->at[i]))
			candidate_json(&j, v, &v->candidates->at[i]);
	json_end(&j);
	json_arr(&j, "devices");
	for (size_t i = 0; i < v->advice->devices; i++)
		device_json(&j, &v->advice->device[i]);
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define V                                                                                                              \
	"{\"type\":[\"object\",\"null\"],\"additionalProperties\":false,\"required\":[\"value\",\"low\",\"high\"],"    \
	"\"properties\":{\"value\":{\"type\":\"number\"},\"low\":{\"type\":\"number\"},"                               \
	"\"high\":{\"type\":\"number\"}}}"

#define TERM                                                                                                           \
	"{\"type\":[\"object\",\"null\"],\"additionalProperties\":false,\"required\":[\"value\",\"low\",\"high\"],"    \
	"\"properties\":{\"value\":{\"type\":\"number\"},\"low\":" NUM ",\"high\":" NUM "}}"

#define CANDIDATE_FIGURES                                                                                              \
	"\"calls_per_s\",\"ns_per_call\",\"bytes_in\",\"bytes_out\",\"unique_in\",\"unique_out\",\"resident\","        \
	"\"ops_per_byte\",\"share_of_time\",\"wait_share\""
#define OPTION_FIGURES                                                                                                 \
	"\"speedup\",\"process_speedup\",\"g1\",\"g_half\",\"batch\",\"speedup_resident\",\"speedup_faulting\","       \
	"\"rest_loses\",\"process_placed\",\"thread_speedup\",\"utilisation\",\"queue_p50_ns\",\"queue_p99_ns\""

#define PARTLY(names)                                                                                                  \
	"{\"type\":\"object\",\"propertyNames\":{\"enum\":[" names                                                     \
	"]},\"additionalProperties\":{\"type\":\"object\",\"additionalProperties\":false,"                             \
	"\"required\":[\"value\",\"low\",\"high\"],\"properties\":{\"value\":" NUM ",\"low\":" NUM ",\"high\":" NUM    \
	"}}}"

const char advise_schema[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"accperf.advise/1\",\"type\":\"object\","
	"\"additionalProperties\":false,\"required\":[\"schema\",\"engine\",\"machine\",\"candidates\",\"devices\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.advise/1\"},\"engine\":{\"type\":\"string\"}," FILTERED_SCHEMA
	",\"machine\":{\"type\":\"string\"},\"labels\":" LABELS_SCHEMA ","
	"\"candidates\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"name\",\"functions\",\"kind\",\"level\",\"part_of_calls\",\"calls_per_s\",\"ns_per_call\",\"bytes_in\",\"bytes_out\",\"unique_in\","
	"\"unique_out\",\"resident\",\"ops_per_byte\",\"share_of_time\",\"wait_share\",\"reason\",\"options\"],\"properties\":{"
	"\"name\":{\"type\":\"string\"},\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	"\"kind\":{\"enum\":[\"function\",\"set\",\"chain\",\"offload\"]},"
	"\"level\":{\"type\":[\"integer\",\"null\"],\"description\":\"of compression: these are its calls at this level; null: it has none, or none was seen\"},"
	"\"part_of_calls\":{\"type\":[\"number\",\"null\"],\"description\":\"of the function's probed calls, at whatever level; null: none was probed\"},"
	"\"calls_per_s\":" V ",\"ns_per_call\":" V ",\"bytes_in\":" V ",\"bytes_out\":" V ",\"unique_in\":" V
	",\"unique_out\":" V ",\"resident\":" V ",\"ops_per_byte\":" V ",\"share_of_time\":" V ",\"wait_share\":" V
	",\"partly\":" PARTLY(
		CANDIDATE_FIGURES) ",\"sizes\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
				   "\"required\":[\"bytes\",\"share\",\"host_ns\"],\"properties\":{\"bytes\":" NUM
				   ",\"share\":" NUM ",\"host_ns\":" NUM "}}},"
				   "\"host\":{\"type\":\"object\",\"additionalProperties\":false,"
				   "\"required\":[\"t0\",\"C\",\"beta\",\"reason\"],\"properties\":{\"t0\":" V
				   ",\"C\":" V ",\"beta\":" V ",\"reason\":{\"type\":[\"string\",\"null\"]}}},"
				   "\"ready_part\":{\"type\":[\"number\",\"null\"],\"description\":\"of wait_share: other "
				   "threads had the CPU\"},"
				   "\"p50_ns\":" NUM ",\"p90_ns\":" NUM ",\"p99_ns\":" NUM ",\"limit_thread\":" NUM
				   ",\"limit_process\":" NUM ",\"limit_recorded\":" NUM ",\"failed_share\":" NUM
				   ",\"page_faults_per_call\":" NUM ",\"page_fault_share\":" NUM
				   ",\"reason\":{\"type\":[\"string\",\"null\"]},"
				   "\"options\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
				   "\"required\":[\"accelerator\",\"design\",\"speedup\",\"process_speedup\",\"g1\",\"g_half\",\"batch\",\"bound\",\"verdict\","
				   "\"text\"],\"properties\":{\"accelerator\":{\"type\":\"string\"},\"design\":{\"enum\":[\"sync\",\"sync-os\",\"async\"]},"
				   "\"speedup\":" V ",\"process_speedup\":" V
				   ",\"pays\":{\"enum\":[\"always\",\"never\",\"from\",\"until\",\"between\",null]},\"g1\":" V
				   ",\"g_half\":" V ",\"batch\":" V ",\"speedup_resident\":" V
				   ",\"speedup_faulting\":" V ",\"rest_loses\":" V ",\"process_placed\":" V
				   ",\"thread_speedup\":" V ",\"utilisation\":" V ",\"queue_p50_ns\":" V
				   ",\"queue_p99_ns\":" V ",\"partly\":" PARTLY(
					   OPTION_FIGURES) ",\"threshold\":" NUM
							   ",\"bound\":{\"enum\":[\"overhead\",\"latency\",\"bandwidth\",\"computation\",\"amdahl\",\"queue\"]},"
							   "\"limit_bound\":{\"enum\":[\"computation\",\"communication\",null]},"
							   "\"verdict\":{\"enum\":[\"offload\",\"batch\",\"keep\",\"switch\",\"idle\",\"unknown\"]},"
							   "\"gain_chance\":" NUM
							   ",\"text\":{\"type\":\"string\"}}}}}}},"
							   "\"devices\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
							   "\"required\":[\"name\",\"device\",\"elsewhere\",\"kinds\",\"o\",\"L\",\"L_per\",\"A\",\"B\",\"beta\",\"lacks\"],"
							   "\"properties\":{\"name\":{\"type\":\"string\"},\"device\":{\"type\":[\"string\",\"null\"]},"
							   "\"elsewhere\":{\"type\":\"boolean\"},\"kinds\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
							   "\"o\":" TERM ",\"L\":" TERM
							   ",\"L_per\":{\"enum\":[\"byte\",\"call\",null]},\"A\":" TERM
							   ",\"B\":" TERM ",\"beta\":" NUM
							   ",\"lacks\":{\"type\":[\"string\",\"null\"]}}}}}}";
