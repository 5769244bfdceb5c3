// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Firefox Profiler's processed-profile format, version 60: the first whose tables are shared between
 * threads. profiler.firefox.com, and copies of it since then, bring it up to their own version. Written
 * column by column through a small buffer, so that memory follows what in_order.h keeps, not the text.
 *
 * doc: docs-developer/CHANGELOG-formats.md and src/types/profile.ts of firefox-devtools/profiler.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/json.h"
#include "view/export.h"
#include "view/filtered.h"
#include "view/firefox_tables.h"

#define FORMAT_VERSION 60    /* meta.preprocessedProfileVersion */
#define GECKO_VERSION 31     /* meta.version, which every reader wants to see: the newest at FORMAT_VERSION */
#define NS_PER_MS 1e6        /* times are in ms */
#define DRAIN_AT (64u << 10) /* bytes of text before they are handed on */
#define RESOURCE_LIBRARY 1   /* ResourceType.Library */
#define MARKER_INSTANT 0     /* MarkerPhase */
#define MARKER_INTERVAL 1    /* MarkerPhase, too */
/* A sample stands for the CPU time before it. Where a thread had none for longer than this many times that
 * long it was not running, or not sampled; timers of CPUs that are out of step leave up to twice. */
#define IDLE_PERIODS 3

struct firefox_writer {
	const struct profile *p;
	const struct in_order *order;
	const struct export_opts *o;
	struct firefox_tables t;
	struct json j;
	struct err *e;
	uint64_t zero; /* of the time axis */
	int err;
};

static void drain(struct firefox_writer *w)
{
	if (w->j.out->len < DRAIN_AT || w->err || !w->o->drain)
		return;
	w->err = w->o->drain(w->o->drain_ctx, w->j.out, w->e);
	buf_clear(w->j.out);
}

/* One column of a table: `put` writes entry i. */
#define COLUMN(w, key, count, put)                                                                                     \
	do {                                                                                                           \
		json_arr(&(w)->j, key);                                                                                \
		for (size_t i = 0; i < (count) && !(w)->err; i++) {                                                    \
			put;                                                                                           \
			drain(w);                                                                                      \
		}                                                                                                      \
		json_end(&(w)->j);                                                                                     \
	} while (0)

static void put_index_or_null(struct json *j, uint32_t index)
{
	if (index == FIREFOX_NONE)
		json_null(j, NULL);
	else
		json_u64(j, NULL, index);
}

static void put_nothing(struct json *j, const char *key)
{
	json_arr(j, key);
	json_end(j);
}

static void put_string_index(struct firefox_writer *w, const char *text)
{
	int64_t s = firefox_string(&w->t, text);

	if (s < 0)
		w->err = (int)s;
	json_i64(&w->j, NULL, s);
}

static double ms_of(const struct firefox_writer *w, uint64_t time)
{
	return time > w->zero ? (double)(time - w->zero) / NS_PER_MS : 0;
}

/* ---- meta */

static void put_categories(struct json *j)
{
	static const char *const names[FIREFOX_CATEGORIES][2] = {
		[FIREFOX_OTHER] = { "Other", "grey" },      [FIREFOX_USER] = { "User", "yellow" },
		[FIREFOX_KERNEL] = { "Kernel", "orange" },  [FIREFOX_JIT] = { "JIT", "blue" },
		[FIREFOX_IDLE] = { "Idle", "transparent" }, [FIREFOX_OFFLOAD] = { "Offload", "green" },
	};

	json_arr(j, "categories");
	for (unsigned i = 0; i < FIREFOX_CATEGORIES; i++) {
		json_obj(j, NULL);
		json_str(j, "name", names[i][0]);
		json_str(j, "color", names[i][1]);
		json_arr(j, "subcategories");
		json_str(j, NULL, "Other");
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static void put_marker_schema(struct json *j)
{
	static const struct {
		const char *key, *label, *format;
	} fields[] = {
		{ "library", "Library", "file-path" }, { "bytesIn", "Bytes in", "bytes" },
		{ "bytesOut", "Bytes out", "bytes" },  { "calls", "Calls it stands for", "decimal" },
		{ "remark", "Remark", "string" },
	};

	json_arr(j, "markerSchema");
	json_obj(j, NULL);
	json_str(j, "name", "OffloadCall");
	json_str(j, "tableLabel", "{marker.name} {marker.data.bytesIn} in, {marker.data.bytesOut} out");
	json_str(j, "description", "A call of a library that accelerators offer, from its entry to its completion");
	json_arr(j, "display");
	json_str(j, NULL, "marker-chart");
	json_str(j, NULL, "marker-table");
	json_str(j, NULL, "timeline-overview");
	json_end(j);
	json_arr(j, "fields");
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		json_obj(j, NULL);
		json_str(j, "key", fields[i].key);
		json_str(j, "label", fields[i].label);
		json_str(j, "format", fields[i].format);
		json_end(j);
	}
	json_end(j);
	json_end(j);
	json_end(j);
}

static void put_remark(struct json *j, const char *label, const char *format, const char *text, double value)
{
	json_obj(j, NULL);
	json_str(j, "label", label);
	json_str(j, "format", format);
	if (text)
		json_str(j, "value", text);
	else
		json_f64(j, "value", value);
	json_end(j);
}

static bool exact(const struct profile *p)
{
	const char *engine = profile_meta(p, "engine");

	return engine && !strcmp(engine, "exact");
}

/* What the reader of the profile should know, under its "more information". */
static void put_remarks(struct firefox_writer *w)
{
	const struct filtered part = { .by = w->o->filter, .of = "time", .shown = w->o->shown };
	struct json *j = &w->j;
	AUTO_BUF(phrase);

	json_arr(j, "extra");
	json_obj(j, NULL);
	json_str(j, "label", "accperf");
	json_arr(j, "entries");
	if (exact(w->p))
		put_remark(j, "Time axis", "string", "instructions executed: 1 ms stands for a million of them", 0);
	if (profile_unit(w->p) != PROFILE_TIME)
		put_remark(j, "Weights", "string", "instructions, not samples", 0);
	if (filter_any(w->o->filter)) {
		filtered_phrase(&part, &phrase);
		put_remark(j, "Filtered", "string", phrase.data ? phrase.data : "", 0);
	}
	if (w->p->lost_known)
		put_remark(j, "Records lost", "integer", NULL, (double)w->p->lost);
	else
		put_remark(j, "Records lost", "string", "unknown", 0);
	if (*w->p->recovery)
		put_remark(j, "File", "string", w->p->recovery, 0);
	json_end(j);
	json_end(j);
	json_end(j);
}

static void put_meta(struct firefox_writer *w)
{
	const struct profile *p = w->p;
	enum profile_unit unit = profile_unit(p);
	const char *command = profile_meta(p, "command"), *arch = profile_meta(p, "arch");
	double samples = (double)p->samples[unit];
	double period = unit == PROFILE_TIME ? p->weight[unit] / samples : (double)p->duration_ns / samples;
	struct json *j = &w->j;

	json_obj(j, "meta");
	json_u64(j, "version", GECKO_VERSION);
	json_u64(j, "preprocessedProfileVersion", FORMAT_VERSION);
	json_str(j, "product", command ? command : "accperf");
	json_str(j, "importedFrom", "accperf " ACCPERF_VERSION);
	json_f64(j, "interval", samples > 0 && period > 0 ? period / NS_PER_MS : 1);
	json_f64(j, "startTime", (double)p->start_realtime_ns / NS_PER_MS);
	json_u64(j, "processType", 0);
	json_u64(j, "stackwalk", 1);
	json_bool(j, "debug", false);
	json_bool(j, "symbolicated", true);
	json_str(j, "platform", "Linux");
	if (arch)
		json_str(j, "oscpu", arch);
	json_bool(j, "usesOnlyOneStackType", true);
	json_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_obj(j, "sampleUnits");
	json_str(j, "time", "ms");
	json_str(j, "eventDelay", "ms");
	json_str(j, "threadCPUDelta", "ns");
	json_end(j);
	put_categories(j);
	put_marker_schema(j);
	put_remarks(w);
	json_end(j);
}

/* ---- shared tables */

/* As debuggers of another house write a build-id: 16 bytes as a GUID whose first three numbers are little
 * endian, then an age of 0. */
static void breakpad_id(const struct profile_module *m, char out[34])
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

	*out = 0;
	if (!m->build_id_len)
		return;
	for (unsigned i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02X", order[i] < m->build_id_len ? m->build_id[order[i]] : 0);
	strcpy(out + 32, "0");
}

static void put_libs(struct firefox_writer *w)
{
	const char *arch = profile_meta(w->p, "arch");
	struct json *j = &w->j;

	json_arr(j, "libs");
	for (size_t i = 0; i < w->t.lib_count; i++) {
		const struct profile_module *m = &w->p->modules[w->t.libs[i]];
		char breakpad[34], code[2 * sizeof(m->build_id) + 1] = "";

		for (uint32_t k = 0; k < m->build_id_len; k++)
			snprintf(code + 2 * k, 3, "%02x", m->build_id[k]);
		breakpad_id(m, breakpad);
		json_obj(j, NULL);
		json_str(j, "arch", arch ? arch : "");
		json_str(j, "name", m->object);
		json_str(j, "path", m->path);
		json_str(j, "debugName", m->object);
		json_str(j, "debugPath", m->path);
		json_str(j, "breakpadId", breakpad);
		json_str(j, "codeId", *code ? code : NULL);
		json_end(j);
		drain(w);
	}
	json_end(j);
}

static const struct profile_line *profile_line_of(const struct firefox_writer *w, size_t frame)
{
	uint32_t line = w->t.frames[frame].line;

	return line == FIREFOX_NONE ? NULL : &w->p->lines[line];
}

/* -1 where an address says nothing: kernel frames have system call numbers, generated code no library. */
static int64_t address_of(const struct firefox_writer *w, const struct firefox_frame *f)
{
	const struct profile_frame *frame;
	uint32_t kind;

	if (!f->frame)
		return -1;
	frame = &w->p->frames[f->frame];
	kind = w->p->modules[frame->module].kind;
	/* numbers beyond 2^53 are not exact in the reader's arithmetic */
	if ((kind != FMT_MOD_FILE && kind != FMT_MOD_VDSO) || frame->addr >> 53)
		return -1;
	return (int64_t)frame->addr;
}

static void put_frame_table(struct firefox_writer *w)
{
	const struct firefox_frame *f = w->t.frames;
	size_t n = w->t.frame_count;
	struct json *j = &w->j;

	json_obj(j, "frameTable");
	json_u64(j, "length", n);
	COLUMN(w, "address", n, json_i64(j, NULL, address_of(w, &f[i])));
	COLUMN(w, "inlineDepth", n, json_u64(j, NULL, f[i].depth));
	COLUMN(w, "category", n, json_u64(j, NULL, firefox_category_of(&w->t, &f[i])));
	COLUMN(w, "subcategory", n, json_u64(j, NULL, 0));
	COLUMN(w, "func", n, json_u64(j, NULL, f[i].func));
	COLUMN(w, "nativeSymbol", n, json_null(j, NULL));
	COLUMN(w, "innerWindowID", n, json_null(j, NULL));
	COLUMN(w, "line", n,
	       put_index_or_null(j, profile_line_of(w, i) && profile_line_of(w, i)->line ? profile_line_of(w, i)->line
											 : FIREFOX_NONE));
	COLUMN(w, "column", n, json_null(j, NULL));
	json_end(j);
}

static const struct profile_function *profile_function_of(const struct firefox_writer *w, size_t func)
{
	uint32_t f = w->t.funcs[func].function;

	return f == FIREFOX_NONE ? NULL : &w->p->functions[f];
}

static uint32_t source_of(struct firefox_writer *w, size_t func)
{
	const struct profile_function *f = profile_function_of(w, func);
	int64_t string = f && f->file ? firefox_string(&w->t, f->file) : -1;
	const uint64_t *at = string < 0 ? NULL : map_get(&w->t.source_at, (uint64_t)string);

	return at ? (uint32_t)*at : FIREFOX_NONE;
}

static uint32_t line_of_function(const struct firefox_writer *w, size_t func)
{
	const struct profile_function *f = profile_function_of(w, func);

	return f && f->line ? f->line : FIREFOX_NONE;
}

static void put_func_table(struct firefox_writer *w)
{
	const struct firefox_func *f = w->t.funcs;
	size_t n = w->t.func_count;
	struct json *j = &w->j;

	json_obj(j, "funcTable");
	json_u64(j, "length", n);
	COLUMN(w, "name", n, put_string_index(w, firefox_func_name(&w->t, &f[i])));
	COLUMN(w, "isJS", n, json_bool(j, NULL, false));
	COLUMN(w, "relevantForJS", n, json_bool(j, NULL, false));
	COLUMN(w, "resource", n, json_i64(j, NULL, f[i].lib == FIREFOX_NONE ? -1 : (int64_t)f[i].lib));
	COLUMN(w, "source", n, put_index_or_null(j, source_of(w, i)));
	COLUMN(w, "lineNumber", n, put_index_or_null(j, line_of_function(w, i)));
	COLUMN(w, "columnNumber", n, json_null(j, NULL));
	json_end(j);
}

static void put_shared(struct firefox_writer *w)
{
	const struct firefox_tables *t = &w->t;
	struct json *j = &w->j;

	json_obj(j, "shared");
	json_obj(j, "stackTable");
	json_u64(j, "length", t->node_count);
	COLUMN(w, "prefix", t->node_count, put_index_or_null(j, t->nodes[i].prefix));
	COLUMN(w, "frame", t->node_count, json_u64(j, NULL, t->nodes[i].frame));
	json_end(j);
	put_frame_table(w);
	put_func_table(w);
	json_obj(j, "resourceTable");
	json_u64(j, "length", t->lib_count);
	COLUMN(w, "lib", t->lib_count, json_u64(j, NULL, i));
	COLUMN(w, "name", t->lib_count, put_string_index(w, w->p->modules[t->libs[i]].object));
	COLUMN(w, "host", t->lib_count, json_null(j, NULL));
	COLUMN(w, "type", t->lib_count, json_u64(j, NULL, RESOURCE_LIBRARY));
	json_end(j);
	json_obj(j, "nativeSymbols"); /* symbols are in funcTable: none is left to be looked up */
	json_u64(j, "length", 0);
	put_nothing(j, "libIndex");
	put_nothing(j, "address");
	put_nothing(j, "name");
	put_nothing(j, "functionSize");
	json_end(j);
	json_obj(j, "sources");
	json_u64(j, "length", t->source_count);
	COLUMN(w, "uuid", t->source_count, json_null(j, NULL));
	COLUMN(w, "filename", t->source_count, json_u64(j, NULL, t->sources[i]));
	json_end(j);
	COLUMN(w, "stringArray", t->strings.count, json_str(j, NULL, intern_get(&t->strings, (uint32_t)i + 1, NULL)));
	json_end(j);
}

/* ---- threads */

enum sample_column { SAMPLE_COUNT, SAMPLE_STACK, SAMPLE_TIME, SAMPLE_WEIGHT, SAMPLE_CPU };

struct sample_point {
	uint64_t time, weight;
	uint32_t node;
};

static void put_point(struct firefox_writer *w, enum sample_column column, const struct sample_point *s)
{
	bool timed = profile_unit(w->p) == PROFILE_TIME;

	switch (column) {
	case SAMPLE_COUNT: return;
	case SAMPLE_STACK: json_u64(&w->j, NULL, s->node); break;
	case SAMPLE_TIME: json_f64(&w->j, NULL, ms_of(w, s->time)); break;
	case SAMPLE_WEIGHT: json_f64(&w->j, NULL, (double)s->weight / (timed ? NS_PER_MS : 1)); break;
	case SAMPLE_CPU: json_u64(&w->j, NULL, s->weight); break;
	}
	drain(w);
}

/* A column of a thread's samples, with a point of no weight where the thread was not seen to run; returns how
 * many points there are. */
static uint64_t put_points(struct firefox_writer *w, const struct ordered_thread *t, enum sample_column column)
{
	bool timed = profile_unit(w->p) == PROFILE_TIME;
	uint64_t last = 0, count = 0;

	for (size_t i = 0; i < t->sample_count && !w->err; i++) {
		const struct ordered_sample *s = &w->order->samples[t->first_sample + i];
		struct sample_point point = { s->time, s->period, w->t.node_of[s->stack] };

		if (timed && i && s->period && (s->time - last) / IDLE_PERIODS > s->period) {
			struct sample_point idle = { s->time - s->period, 0, w->t.idle_node };

			put_point(w, column, &idle);
			count++;
		}
		put_point(w, column, &point);
		last = s->time;
		count++;
	}
	return count;
}

static void put_samples(struct firefox_writer *w, const struct ordered_thread *t)
{
	static const struct {
		const char *key;
		enum sample_column column;
	} columns[] = { { "stack", SAMPLE_STACK }, { "time", SAMPLE_TIME }, { "weight", SAMPLE_WEIGHT } };
	bool timed = profile_unit(w->p) == PROFILE_TIME;
	struct json *j = &w->j;

	json_obj(j, "samples");
	json_u64(j, "length", put_points(w, t, SAMPLE_COUNT));
	json_str(j, "weightType", timed ? "tracing-ms" : "samples");
	for (unsigned i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		json_arr(j, columns[i].key);
		put_points(w, t, columns[i].column);
		json_end(j);
	}
	if (timed) {
		json_arr(j, "threadCPUDelta");
		put_points(w, t, SAMPLE_CPU);
		json_end(j);
	}
	json_end(j);
}

static void put_call(struct firefox_writer *w, const struct ordered_call *c)
{
	const struct ordered_api *a = &w->order->apis[c->api];
	struct json *j = &w->j;

	json_obj(j, NULL);
	json_str(j, "type", "OffloadCall");
	if (a->library)
		json_str(j, "library", a->library);
	if (c->flags & (FMT_CALL_IN | FMT_CALL_EITHER))
		json_u64(j, "bytesIn", c->bytes_in);
	if (c->flags & FMT_CALL_OUT)
		json_u64(j, "bytesOut", c->bytes_out);
	json_f64(j, "calls", c->weight);
	if (c->flags & FMT_CALL_FAILED)
		json_str(j, "remark", "returned an error");
	else if (!c->end)
		json_str(j, "remark", "its end was not seen");
	else if (c->flags & FMT_CALL_LATE)
		json_str(j, "remark", "it may have ended earlier");
	json_end(j);
}

static void put_markers(struct firefox_writer *w, const struct ordered_thread *t)
{
	const struct ordered_call *c = w->order->calls ? &w->order->calls[t->first_call] : NULL;
	size_t n = t->call_count;
	struct json *j = &w->j;

	json_obj(j, "markers");
	json_u64(j, "length", n);
	COLUMN(w, "data", n, put_call(w, &c[i]));
	COLUMN(w, "name", n, put_string_index(w, w->order->apis[c[i].api].name));
	COLUMN(w, "startTime", n, json_f64(j, NULL, ms_of(w, c[i].begin)));
	COLUMN(w, "endTime", n, json_f64(j, NULL, c[i].end ? ms_of(w, c[i].end) : NAN));
	COLUMN(w, "phase", n, json_u64(j, NULL, c[i].end ? MARKER_INTERVAL : MARKER_INSTANT));
	COLUMN(w, "category", n, json_u64(j, NULL, FIREFOX_OFFLOAD));
	json_end(j);
}

static void put_thread(struct firefox_writer *w, const struct ordered_thread *t)
{
	struct json *j = &w->j;
	char name[40];

	json_obj(j, NULL);
	json_str(j, "processType", "default");
	if (t->comm)
		json_str(j, "processName", t->comm);
	json_u64(j, "processStartupTime", 0);
	json_null(j, "processShutdownTime");
	json_u64(j, "registerTime", 0);
	json_null(j, "unregisterTime");
	put_nothing(j, "pausedRanges");
	snprintf(name, sizeof(name), "thread %u", t->tid);
	json_str(j, "name", t->pid == t->tid && t->comm ? t->comm : name);
	json_bool(j, "isMainThread", t->pid == t->tid);
	json_bool(j, "showMarkersInTimeline", t->call_count > 0);
	snprintf(name, sizeof(name), "%u", t->pid);
	json_str(j, "pid", name);
	json_u64(j, "tid", t->tid);
	put_samples(w, t);
	put_markers(w, t);
	json_end(j);
}

static void put_threads(struct firefox_writer *w)
{
	static const struct ordered_thread nobody = { .comm = "(no samples)" };
	bool any = false;

	json_arr(&w->j, "threads");
	for (size_t i = 0; i < w->order->thread_count && !w->err; i++) {
		const struct ordered_thread *t = &w->order->threads[i];

		if (t->sample_count || t->call_count)
			put_thread(w, t);
		any |= t->sample_count || t->call_count;
	}
	/* the viewer does not open a file without a thread */
	if (!any)
		put_thread(w, &nobody);
	json_end(&w->j);
}

/* The recording's beginning, unless the file has it on another clock than its samples. */
static uint64_t zero_of(const struct profile *p, const struct in_order *o, uint64_t started)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < o->sample_count; i++)
		first = o->samples[i].time < first ? o->samples[i].time : first;
	for (size_t i = 0; i < o->call_count; i++)
		first = o->calls[i].begin < first ? o->calls[i].begin : first;
	return exact(p) ? 0 : started && started <= first ? started : first == UINT64_MAX ? 0 : first;
}

int export_firefox(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e)
{
	struct firefox_writer w = { .p = p, .order = o->in_order, .o = o, .j = { .out = out }, .e = e };

	if (profile_unit(p) == PROFILE_ACCESSES)
		return err_set(e, -ENOTSUP, "it has sampled accesses, not samples of time: use another format");
	w.zero = zero_of(p, o->in_order, p->start_monotonic_ns);
	w.err = firefox_tables_build(&w.t, p, o->inlined);
	for (size_t i = 0; i < w.order->api_count && !w.err; i++)
		if (firefox_string(&w.t, w.order->apis[i].name) < 0)
			w.err = -ENOMEM;
	if (!w.err) {
		json_obj(&w.j, NULL);
		put_meta(&w);
		put_libs(&w);
		put_shared(&w);
		put_threads(&w);
		json_end(&w.j);
		buf_addch(out, '\n');
	}
	firefox_tables_release(&w.t);
	if (w.err == -ENOMEM)
		err_set(e, w.err, "out of memory");
	return w.err;
}
