// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "counts/burst_entries.h"
#include "util/json.h"
#include "view/counts.h"
#include "view/schema.h"

static void amount(struct buf *out, double v)
{
	static const char unit[] = " kMGTP";
	unsigned k = 0;

	if (isnan(v)) {
		buf_addstr(out, "?");
		return;
	}
	while (v >= 999.5 && k < 5) {
		v /= 1000;
		k++;
	}
	if (k)
		buf_addf(out, v < 9.995 ? "%.2f%c" : v < 99.95 ? "%.1f%c" : "%.0f%c", v, unit[k]);
	else
		buf_addf(out, v < 9.995 ? "%.2f" : v < 99.95 ? "%.1f" : "%.0f", v);
}

static void padded(struct buf *out, double v, unsigned columns)
{
	AUTO_BUF(b);

	amount(&b, v);
	text_pad_left(out, b.data ? b.data : "", columns);
}

/* How far off: the wider side of the interval, as a part of the figure or a factor. */
static void error_bar(struct buf *out, const struct counts_figure *f, unsigned columns)
{
	AUTO_BUF(b);
	double up = f->high / f->value, down = f->value / f->low, most = up > down ? up : down;

	if (isnan(f->value) || isnan(most) || most == 1)
		;
	else if (most > 1000)
		buf_addstr(&b, "?");
	else if (most >= 2)
		buf_addf(&b, "x%.*f", most < 10 ? 1 : 0, most);
	else
		buf_addf(&b, "%.*f%%", most < 1.1 ? 1 : 0, 100 * (most - 1));
	text_pad_left(out, b.data ? b.data : "", columns);
}

static void ranged(struct buf *out, const struct counts_figure *f, unsigned columns)
{
	AUTO_BUF(b);

	if (counts_at_most(f)) {
		buf_addch(&b, '<');
		amount(&b, f->high);
		text_pad_left(out, b.data, columns);
		return;
	}
	padded(out, f->value > 0 && !isnan(f->low) && !counts_figure_known(f) ? NAN : f->value, columns);
}

static void add_percent_column(struct buf *out, double v, unsigned columns)
{
	AUTO_BUF(b);

	if (!isnan(v))
		buf_addf(&b, "%.1f%%", 100 * v);
	text_pad_left(out, b.data ? b.data : "", columns);
}

static bool shown(const struct counts_view *v, size_t i)
{
	const struct counts_row *row = &v->r->row[i];

	if (!filter_code(v->filter, row->name, row->object))
		return false;
	return v->function ? !strcmp(row->name, v->function) : filter_any(v->filter) || i < v->rows;
}

static struct filtered filtered(const struct counts_view *v)
{
	struct filtered out = { .by = v->filter, .of = "instructions", .shown = 0 };

	for (size_t i = 0; i < v->r->row_count; i++) {
		const struct counts_row *row = &v->r->row[i];

		if (filter_code(v->filter, row->name, row->object) && row->share.value > 0)
			out.shown += row->share.value;
	}
	return out;
}

static void how_known(struct buf *out, enum counts_how how, double anchor, uint32_t windows, bool broken)
{
	buf_addstr(out, counts_how_str(how));
	if (windows && how != COUNTS_TIME && how != COUNTS_UNKNOWN) {
		buf_addstr(out, " of ");
		text_count(out, whole_number(anchor));
	}
	if (broken)
		buf_addstr(out, ", not believed");
}

static void loop_line(const struct counts_view *v, const struct counts_row *row, const struct counts_row_loop *l,
		      struct buf *out)
{
	AUTO_BUF(b);

	buf_addf(&b, "%*sloop +0x%lx", (int)(l->depth < 8 ? 2 * l->depth : 16), "",
		 (unsigned long)(l->addr - row->addr));
	buf_addf(out, "      ");
	text_name(out, b.data ? b.data : "", 22, 22);
	ranged(out, &l->trips, 8);
	error_bar(out, &l->trips, 7);
	buf_addstr(out, l->how == COUNTS_TRIPS ? " trips " : " times ");
	ranged(out, &l->second, 8);
	buf_addstr(out, "/s  ");
	how_known(out, l->how, l->anchor, l->windows, l->broken);
	if (l->how == COUNTS_TRIPS && l->least < l->most) {
		buf_addstr(out, ", ");
		amount(out, l->least);
		buf_addstr(out, " to ");
		amount(out, l->most);
	}
	buf_addch(out, '\n');
}

static void call_line(const struct counts_row_call *c, struct buf *out)
{
	buf_addstr(out, c->tail ? "      < tail " : "      < ");
	text_name(out, c->name ? c->name : "(unknown)", c->tail ? 14 : 19, c->tail ? 15 : 20);
	ranged(out, &c->ratio, 8);
	error_bar(out, &c->ratio, 7);
	buf_addstr(out, " calls ");
	ranged(out, &c->second, 8);
	buf_addstr(out, "/s  ");
	how_known(out, c->how, c->anchor, c->windows, c->broken);
	if (c->indirect)
		buf_addstr(out, ", indirect");
	buf_addch(out, '\n');
}

static void why(const struct counts_row *row, struct buf *out)
{
	if (row->flags & FMT_CF_VOLATILE)
		buf_addstr(out, "      no counts: its code may change while it runs\n");
	else if (row->flags & FMT_CF_BARE)
		buf_addstr(
			out,
			"      no counts: where these functions begin is not in the file; `accperf report` names them\n");
	else if (row->flags & FMT_CF_TOO_BIG)
		buf_addstr(out, "      no counts: more blocks than the analysis takes on\n");
	else if (row->flags & FMT_CF_UNREADABLE)
		buf_addstr(out, "      no counts: its code could not be read\n");
}

static bool is_narrow(const struct text_style *s)
{
	return s->width && s->width < 98;
}

static int how_columns(const struct text_style *s)
{
	return is_narrow(s) ? 12 : 18;
}

static unsigned name_room(const struct text_style *s)
{
	return !s->width ? 32 : s->width - (is_narrow(s) ? 60 : 66);
}

static void show_rows(const struct counts_view *v, const struct text_style *s, struct buf *out)
{
	const struct counts_report *r = v->r;

	for (size_t i = 0; i < r->row_count; i++) {
		const struct counts_row *row = &r->row[i];
		enum text_hue hue = row->trust > 0.5 ? TEXT_PLAIN : TEXT_DIM;

		if (!shown(v, i))
			continue;
		text_hue_on(out, s, hue);
		add_percent_column(out, row->share.value, 6);
		error_bar(out, &row->share, 6);
		add_percent_column(out, row->time, 7);
		ranged(out, &row->second, 7);
		error_bar(out, &row->second, 6);
		ranged(out, &row->per_call, 8);
		error_bar(out, &row->per_call, 6);
		buf_addf(out, " %-*.*s ", how_columns(s), how_columns(s), counts_how_str(row->how));
		text_name(out, row->name, name_room(s), 0);
		text_hue_off(out, s, hue);
		buf_addch(out, '\n');
		why(row, out);
		for (size_t k = 0; k < row->loops; k++)
			loop_line(v, row, &r->loop[row->first_loop + k], out);
		for (size_t k = 0; k < row->calls_from && k < (v->function ? SIZE_MAX : 6); k++)
			call_line(&r->call[row->first_call + k], out);
		if (!v->function && row->calls_from > 6)
			buf_addf(out, "      < %zu more; --function shows all\n", row->calls_from - 6);
	}
}

/* How fast, by what lies between two system calls; nothing where no recording looked. */
static void say_segments(const struct segment_rate *s, bool used, struct buf *b)
{
	uint64_t carried = s->count[FMT_SEG_VERIFIED] + s->count[FMT_SEG_DIVERGED] + s->count[FMT_SEG_CENSORED] +
			   s->count[FMT_SEG_LOST];
	unsigned most = FMT_SEGC_NONE;

	if (!carried && !s->count[FMT_SEG_TIMED])
		return;
	if (s->known)
		buf_addf(b, "Between system calls code ran %.2f instructions a ns (%.2f to %.2f)", s->per_ns, s->low,
			 s->high);
	else
		buf_addf(b, "Its instructions a ns between system calls are unknown (%s)", s->why);
	buf_addf(b, "%s: %lu of %lu segments verified", used ? ", which amounts rest on" : "",
		 (unsigned long)s->count[FMT_SEG_VERIFIED], (unsigned long)carried);
	for (unsigned i = FMT_SEGC_NONE + 1; i < FMT_SEGCS; i++)
		most = s->cause[i] > (most ? s->cause[most] : 0) ? i : most;
	if (most)
		buf_addf(b, ", others mostly: %s", segment_cause_str((enum fmt_segment_cause)most));
	buf_addstr(b, ". ");
}

static void foot(const struct counts_view *v, const struct text_style *s, struct buf *out)
{
	struct counts_speed_note note;
	const struct counts_report *r = v->r;
	AUTO_BUF(b);

	buf_addch(out, '\n');
	buf_addf(&b, "%.0f%% of the instructions are known by counts, the rest by time; ", 100 * r->counted);
	if (r->in_segments > 0)
		buf_addf(&b, "%.0f%% of them ran between system calls that were drawn, and were counted there; ",
			 100 * r->in_segments);
	buf_addf(&b, "instructions per time differ by %.0f%% between functions. ", 100 * (exp(r->spread) - 1));
	text_count(&b, r->windows);
	buf_addstr(&b, " windows, ");
	text_count(&b, whole_number(r->hits));
	buf_addf(
		&b,
		" hits: %u trip counts, %u ratios, %u replayed, %u rates, %u by control flow, %u by other recordings; %u by time, %u unknown",
		r->by_how[COUNTS_TRIPS], r->by_how[COUNTS_RATIO], r->by_how[COUNTS_REPLAY], r->by_how[COUNTS_RATE],
		r->by_how[COUNTS_ONCE], r->by_how[COUNTS_CACHED], r->by_how[COUNTS_TIME], r->by_how[COUNTS_UNKNOWN]);
	if (r->bursts) {
		buf_addstr(&b, "; ");
		text_count(&b, r->bursts);
		buf_addstr(&b, " bursts of ");
		text_count(&b, r->burst_instructions);
		buf_addstr(&b, " instructions replayed in the recorder");
	}
	if (r->broken)
		buf_addf(&b, "; %u not believed, being at odds with the time of what hangs on them", r->broken);
	if (r->cycles)
		buf_addf(&b, "; %u calls cut out of recursions", r->cycles);
	if (r->stretch > 1)
		buf_addf(&b, "; ratios scatter %.1f times as much as their windows", sqrt(r->stretch));
	buf_addf(&b, ". Runs are per second of CPU time in user code (%.1f s in ", r->cpu_seconds);
	text_count(&b, r->samples);
	buf_addstr(&b, " samples)");
	if (r->at_most)
		buf_addf(&b,
			 "; <: bursts entered it less than %d times, so no more than that is known, 95 times of a "
			 "hundred: --offload-probe counts what is seldom called for next to nothing",
			 BURST_ENTRIES_LEAST);
	if (!r->speed.known)
		buf_addf(&b, "; ?: %s", counts_speed_note(&note, r->speed.seconds));
	buf_addf(&b, "; errors are 95%% intervals, as a part or a factor. ");
	if (r->speed.by == SPEED_BY_MODEL)
		buf_addstr(&b, "No rate of this code was measured: amounts rest on a model of a processor and this "
			       "machine's cycle, and so are within their wide errors only. ");
	say_segments(&r->segments, r->speed.by == SPEED_BY_SEGMENTS, &b);
	buf_addstr(&b, v->source);
	text_wrap(out, b.data ? b.data : "", 0, 0, s->width);
}

/* What stands in the column `how`, of that which this recording has. */
static void tell_how(const struct counts_report *r, struct buf *out)
{
	static const char *const means[] = {
		[COUNTS_UNKNOWN] = "not measured, as if all code ran equally fast",
		[COUNTS_ONCE] = "follows from the code: each time once",
		[COUNTS_TRIPS] = "a loop's counter was read before and behind it",
		[COUNTS_RATIO] = "breakpoints were hit so often against each other",
		[COUNTS_RATE] = "hits of breakpoints a second",
		[COUNTS_CACHED] = "what recordings before this one counted",
		[COUNTS_REPLAY] = "the recorder ran the code itself, on a copy, so many times",
		[COUNTS_TIME] = "by the time in it and in what is around it",
		[COUNTS_SEGMENTS] = "counted between two system calls",
	};
	const char *head = "how  ";

	for (unsigned i = 0; i < sizeof(means) / sizeof(means[0]); i++) {
		if (!r->by_how[i])
			continue;
		buf_addf(out, "%s%s: %s\n", head, counts_how_str((enum counts_how)i), means[i]);
		head = "     ";
	}
}

void counts_text(const struct counts_view *v, const struct text_style *s, struct buf *out)
{
	struct filtered of = filtered(v);

	trust_text(v->trust, "", s, out);
	filtered_text(&of, "", s, out);
	text_hue_on(out, s, TEXT_BOLD);
	buf_addf(out, "%6s%6s%7s%7s%6s%8s%6s %-*s %s", "instr", "error", "time", "runs/s", "error", "in./run", "error",
		 how_columns(s), "how", "function");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	show_rows(v, s, out);
	if (!v->function && !filter_any(v->filter) && v->r->row_count > v->rows)
		buf_addf(out, "%zu more functions; -n N lists more\n", v->r->row_count - v->rows);
	foot(v, s, out);
	tell_how(v->r, out);
}

/* ---- JSON ---- */

static void json_figure(struct json *j, const char *key, const struct counts_figure *f)
{
	json_obj(j, key);
	json_f64(j, "value", f->value);
	json_f64(j, "low", f->low);
	json_f64(j, "high", f->high);
	json_end(j);
}

static void json_address(struct json *j, const char *key, uint64_t addr)
{
	AUTO_BUF(b);

	buf_addf(&b, "0x%lx", (unsigned long)addr);
	json_str(j, key, b.data);
}

static void json_loops(struct json *j, const struct counts_report *r, const struct counts_row *row)
{
	json_arr(j, "loops");
	for (size_t k = 0; k < row->loops; k++) {
		const struct counts_row_loop *l = &r->loop[row->first_loop + k];

		json_obj(j, NULL);
		json_address(j, "address", l->addr);
		json_u64(j, "depth", l->depth);
		json_figure(j, "per_second", &l->second);
		json_figure(j, "trips", &l->trips);
		json_str(j, "how", counts_how_str(l->how));
		json_f64(j, "seen", l->anchor);
		json_f64(j, "least", l->least);
		json_f64(j, "most", l->most);
		json_u64(j, "windows", l->windows);
		json_bool(j, "believed", !l->broken);
		json_end(j);
	}
	json_end(j);
}

static void json_calls(struct json *j, const struct counts_report *r, const struct counts_row *row)
{
	json_arr(j, "callers");
	for (size_t k = 0; k < row->calls_from; k++) {
		const struct counts_row_call *c = &r->call[row->first_call + k];

		json_obj(j, NULL);
		json_str(j, "name", c->name);
		json_str(j, "object", c->object);
		json_address(j, "site", c->site);
		json_figure(j, "per_second", &c->second);
		json_figure(j, "calls_per_run", &c->ratio);
		json_str(j, "how", counts_how_str(c->how));
		json_f64(j, "seen", c->anchor);
		json_u64(j, "windows", c->windows);
		json_bool(j, "indirect", c->indirect);
		json_bool(j, "tail", c->tail);
		json_bool(j, "believed", !c->broken);
		json_end(j);
	}
	json_end(j);
}

static void json_row(struct json *j, const struct counts_report *r, const struct counts_row *row)
{
	json_obj(j, NULL);
	json_str(j, "name", row->name);
	json_str(j, "object", row->object);
	json_address(j, "address", row->addr);
	json_str(j, "file", row->file);
	if (row->line)
		json_u64(j, "line", row->line);
	else
		json_null(j, "line");
	json_figure(j, "share", &row->share);
	json_f64(j, "time", row->time);
	json_u64(j, "samples", row->samples);
	json_f64(j, "trust", row->trust);
	json_str(j, "how", counts_how_str(row->how));
	json_figure(j, "per_second", &row->second);
	json_f64(j, "calls", row->calls);
	json_f64(j, "instructions_per_call", row->per_call.value);
	json_f64(j, "instructions_per_call_low", row->per_call.low);
	json_f64(j, "instructions_per_call_high", row->per_call.high);
	json_f64(j, "instructions", row->instructions);
	json_f64(j, "compute", row->compute);
	json_f64(j, "loads", row->loads);
	json_f64(j, "stores", row->stores);
	json_f64(j, "load_bytes", row->load_bytes);
	json_f64(j, "store_bytes", row->store_bytes);
	json_bool(j, "complete", row->flags & FMT_CF_COMPLETE);
	json_bool(j, "recursive", row->flags & FMT_CF_RECURSIVE);
	json_loops(j, r, row);
	json_calls(j, r, row);
	json_end(j);
}

static void json_segments(struct json *j, const struct segment_rate *s, double told)
{
	json_obj(j, "segments");
	json_f64(j, "instructions_per_ns", s->per_ns);
	json_f64(j, "low", s->low);
	json_f64(j, "high", s->high);
	json_str(j, "why_unknown", s->why);
	json_u64(j, "stretches", s->stretches);
	json_u64(j, "instructions", s->instructions);
	json_f64(j, "verified_time", s->verified);
	json_f64(j, "met_time", s->met);
	json_f64(j, "told_of_instructions", told);
	json_f64(j, "variance_chance", s->var_chance);
	json_f64(j, "variance_unverified", s->var_unverified);
	json_f64(j, "variance_prices", s->var_prices);
	for (unsigned i = FMT_SEG_TIMED; i < FMT_SEG_STATES; i++)
		json_u64(j, segment_state_str((enum fmt_segment_state)i), s->count[i]);
	json_obj(j, "causes");
	for (unsigned i = FMT_SEGC_NONE + 1; i < FMT_SEGCS; i++)
		json_u64(j, segment_cause_str((enum fmt_segment_cause)i), s->cause[i]);
	json_end(j);
	json_end(j);
}

void counts_json(const struct counts_view *v, struct buf *out)
{
	const struct counts_report *r = v->r;
	struct filtered of = filtered(v);
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.counts/1");
	trust_json(v->trust, &j);
	filtered_json(&of, &j);
	json_f64(&j, "cpu_seconds", r->cpu_seconds);
	json_u64(&j, "samples", r->samples);
	json_bool(&j, "absolute", r->speed.known);
	json_str(&j, "speed_by", counts_speed_by_str(r->speed.by));
	json_f64(&j, "speed_low", r->speed.low);
	json_f64(&j, "speed_high", r->speed.high);
	json_f64(&j, "counted", r->counted);
	json_f64(&j, "spread", r->spread);
	json_f64(&j, "stretch", r->stretch);
	json_u64(&j, "windows", r->windows);
	json_f64(&j, "hits", r->hits);
	json_u64(&j, "bursts", r->bursts);
	json_u64(&j, "burst_instructions", r->burst_instructions);
	json_obj(&j, "links");
	json_u64(&j, "trip_count", r->by_how[COUNTS_TRIPS]);
	json_u64(&j, "ratio", r->by_how[COUNTS_RATIO]);
	json_u64(&j, "replay", r->by_how[COUNTS_REPLAY]);
	json_u64(&j, "rate", r->by_how[COUNTS_RATE]);
	json_u64(&j, "once", r->by_how[COUNTS_ONCE]);
	json_u64(&j, "other_recordings", r->by_how[COUNTS_CACHED]);
	json_u64(&j, "time", r->by_how[COUNTS_TIME]);
	json_u64(&j, "unknown", r->by_how[COUNTS_UNKNOWN]);
	json_u64(&j, "not_believed", r->broken);
	json_u64(&j, "cycles", r->cycles);
	json_end(&j);
	json_segments(&j, &r->segments, r->in_segments);
	json_u64(&j, "dropped", r->dropped);
	json_arr(&j, "functions");
	for (size_t i = 0; i < r->row_count; i++)
		if ((!v->function && !filter_any(v->filter)) || shown(v, i))
			json_row(&j, r, &r->row[i]);
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define FIGURE                                                                                                         \
	"{\"type\":\"object\",\"required\":[\"value\",\"low\",\"high\"],\"properties\":{\"value\":" NUM                \
	",\"low\":" NUM ",\"high\":" NUM "}}"
#define HOW                                                                                                            \
	"{\"enum\":[\"time share\",\"once\",\"trip count\",\"ratio\",\"replay\",\"rate\",\"other recordings\",\"time inside\",\"segments\"]}"
#define SEGMENTS                                                                                                        \
	"{\"type\":\"object\",\"required\":[\"instructions_per_ns\",\"low\",\"high\",\"why_unknown\"],\"properties\":{" \
	"\"instructions_per_ns\":" NUM ",\"low\":" NUM ",\"high\":" NUM ",\"why_unknown\":" STR ",\"stretches\":" INT   \
	",\"instructions\":" INT ",\"verified_time\":" NUM ",\"met_time\":" NUM ",\"told_of_instructions\":" NUM        \
	",\"variance_chance\":" NUM ",\"variance_unverified\":" NUM ",\"variance_prices\":" NUM ",\"timed\":" INT       \
	",\"verified\":" INT ",\"diverged\":" INT ",\"censored\":" INT ",\"lost\":" INT                                 \
	",\"causes\":{\"type\":\"object\",\"propertyNames\":{\"enum\":["                                                \
	"\"another system call\",\"other registers\",\"unknown branch\",\"memory not there\","                          \
	"\"code not to be followed\",\"stuck\",\"read the clock\",\"signal\","                                          \
	"\"too many instructions\",\"too long\",\"entry not seen\",\"pages lost\","                                     \
	"\"memory may not be read\",\"time unknown\""                                                                   \
	"]},\"additionalProperties\":" INT "}}}"
const char counts_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.counts/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"cpu_seconds\",\"samples\",\"absolute\",\"counted\",\"links\",\"functions\"],\"properties\":{" TRUST_SCHEMA
	"," FILTERED_SCHEMA ","
	"\"schema\":{\"const\":\"accperf.counts/1\"},\"cpu_seconds\":" NUM ",\"samples\":" INT ",\"absolute\":" BOOL
	",\"speed_by\":" STR ",\"speed_low\":" NUM ",\"speed_high\":" NUM ",\"counted\":" NUM ",\"spread\":" NUM
	",\"stretch\":" NUM ",\"windows\":" INT ",\"hits\":" NUM ",\"bursts\":" INT ",\"burst_instructions\":" INT
	",\"dropped\":" INT ",\"links\":{\"type\":\"object\",\"properties\":{\"trip_count\":" INT ",\"ratio\":" INT
	",\"replay\":" INT ",\"rate\":" INT ",\"once\":" INT ",\"other_recordings\":" INT ",\"time\":" INT
	",\"unknown\":" INT ",\"not_believed\":" INT ",\"cycles\":" INT "}},\"segments\":" SEGMENTS ","
	"\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"name\",\"object\",\"share\",\"time\",\"trust\",\"how\",\"per_second\",\"loops\",\"callers\"],\"properties\":{"
	"\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"address\":{\"type\":\"string\"},\"file\":" STR
	",\"line\":{\"type\":[\"integer\",\"null\"]},\"share\":" FIGURE ",\"time\":" NUM ",\"samples\":" INT
	",\"trust\":" NUM ",\"how\":" HOW ",\"per_second\":" FIGURE ",\"calls\":" NUM ",\"instructions_per_call\":" NUM
	",\"instructions_per_call_low\":" NUM ",\"instructions_per_call_high\":" NUM ",\"instructions\":" NUM
	",\"compute\":" NUM ",\"loads\":" NUM ",\"stores\":" NUM ",\"load_bytes\":" NUM ",\"store_bytes\":" NUM
	",\"complete\":" BOOL ",\"recursive\":" BOOL
	",\"loops\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"address\",\"depth\",\"per_second\",\"trips\",\"how\"],"
	"\"properties\":{\"address\":{\"type\":\"string\"},\"depth\":" INT ",\"per_second\":" FIGURE
	",\"trips\":" FIGURE ",\"how\":" HOW ",\"seen\":" NUM ",\"least\":" NUM ",\"most\":" NUM ",\"windows\":" INT
	",\"believed\":" BOOL "}}},"
	"\"callers\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"site\",\"per_second\",\"calls_per_run\",\"how\"],"
	"\"properties\":{\"name\":" STR ",\"object\":" STR ",\"site\":{\"type\":\"string\"},\"per_second\":" FIGURE
	",\"calls_per_run\":" FIGURE ",\"how\":" HOW ",\"seen\":" NUM ",\"windows\":" INT ",\"indirect\":" BOOL
	",\"tail\":" BOOL ",\"believed\":" BOOL "}}}}}}}}";
