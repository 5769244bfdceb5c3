// SPDX-License-Identifier: GPL-2.0-or-later
/* speedscope's file format: the whole run first, since that is what the viewer opens, then each thread. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"
#include "util/map.h"
#include "view/export.h"

struct speedscope_writer {
	const struct profile *p;
	const struct export_opts *o;
	struct json j;
	struct export_steps steps;
	struct map frame_at; /* function << 32 | line -> index */
	struct buf frames;
};

static int64_t frame_index(struct speedscope_writer *w, const struct profile_line *l)
{
	const struct profile_function *f = &w->p->functions[l->function];
	bool added;
	uint64_t *at = map_put(&w->frame_at, (uint64_t)l->function << 32 | l->line, &added);
	struct json frame = { .out = &w->frames };

	if (!at)
		return -ENOMEM;
	if (added) {
		*at = w->frame_at.used - 1;
		if (*at)
			buf_addch(&w->frames, ',');
		json_obj(&frame, NULL);
		json_str(&frame, "name", f->name);
		json_str(&frame, "file", l->file ? l->file : f->file ? f->file : f->object);
		if (l->line)
			json_u64(&frame, "line", l->line);
		json_end(&frame);
	}
	return (int64_t)*at;
}

static int add_samples(struct speedscope_writer *w, size_t first, size_t end)
{
	static const struct profile_line unknown = { 0 };
	enum profile_unit unit = profile_unit(w->p);

	json_arr(&w->j, "samples");
	for (size_t i = first; i < end; i++) {
		const struct profile_cell *c = &w->p->cells[i];
		int err;

		if (!c->samples[unit])
			continue;
		err = export_walk(w->p, c->stack, w->o->inlined, &w->steps);
		if (err)
			return err;
		json_arr(&w->j, NULL);
		for (size_t k = w->steps.count; k-- > 0;) {
			int64_t f = frame_index(w, w->steps.at[k].line);

			if (f < 0)
				return (int)f;
			json_i64(&w->j, NULL, f);
		}
		if (!w->steps.count)
			json_i64(&w->j, NULL, frame_index(w, &unknown));
		json_end(&w->j);
	}
	json_end(&w->j);
	return 0;
}

static int add_profile(struct speedscope_writer *w, const char *name, size_t first, size_t end)
{
	enum profile_unit unit = profile_unit(w->p);
	double total = 0;
	int err;

	for (size_t i = first; i < end; i++)
		total += w->p->cells[i].weight[unit];
	json_obj(&w->j, NULL);
	json_str(&w->j, "type", "sampled");
	json_str(&w->j, "name", name);
	json_str(&w->j, "unit", unit == PROFILE_TIME ? "nanoseconds" : "none");
	json_u64(&w->j, "startValue", 0);
	json_f64(&w->j, "endValue", total);
	err = add_samples(w, first, end);
	if (err)
		return err;
	json_arr(&w->j, "weights");
	for (size_t i = first; i < end; i++)
		if (w->p->cells[i].samples[unit])
			json_f64(&w->j, NULL, w->p->cells[i].weight[unit]);
	json_end(&w->j);
	json_end(&w->j);
	return 0;
}

/* Writers above the readers of their bytes, in a profile of its own; frames follow those of the stacks. */
static int add_flow_profile(struct speedscope_writer *w)
{
	const struct flow *f = w->o->flow;
	uint64_t first = w->frame_at.used;
	bool amounts = flow_has_amounts(f);
	/* parts of all, in per cent, where bytes are unknown */
	double total = 0, unit = amounts ? 1 : 100 / fmax(flow_whole(f), 1);

	for (uint32_t i = 0; i < f->func_count; i++) {
		struct json frame = { .out = &w->frames };

		if (first + i)
			buf_addch(&w->frames, ',');
		json_obj(&frame, NULL);
		json_str(&frame, "name", f->funcs[i].name);
		if (*f->funcs[i].object)
			json_str(&frame, "file", f->funcs[i].object);
		json_end(&frame);
	}
	json_obj(&w->j, NULL);
	json_str(&w->j, "type", "sampled");
	json_str(&w->j, "name",
		 amounts ? "flow: writer, then reader of its bytes"
			 : "flow: writer, then reader, per cent of all bytes");
	json_str(&w->j, "unit", amounts ? "bytes" : "none");
	json_u64(&w->j, "startValue", 0);
	json_arr(&w->j, "samples");
	for (size_t i = 0; i < f->edge_count; i++) {
		if (!(f->edges[i].bytes > 0))
			continue;
		total += f->edges[i].bytes * unit;
		json_arr(&w->j, NULL);
		json_u64(&w->j, NULL, first + f->edges[i].producer);
		json_u64(&w->j, NULL, first + f->edges[i].consumer);
		json_end(&w->j);
	}
	json_end(&w->j);
	json_arr(&w->j, "weights");
	for (size_t i = 0; i < f->edge_count; i++)
		if (f->edges[i].bytes > 0)
			json_f64(&w->j, NULL, f->edges[i].bytes * unit);
	json_end(&w->j);
	json_f64(&w->j, "endValue", total);
	json_end(&w->j);
	return 0;
}

int export_speedscope(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e)
{
	struct speedscope_writer w = { .p = p, .o = o, .j = { .out = out } };
	const char *command = profile_meta(p, "command");
	int err = 0;

	json_obj(&w.j, NULL);
	json_str(&w.j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_str(&w.j, "name", command ? command : "accperf");
	json_str(&w.j, "exporter", "accperf " ACCPERF_VERSION);
	json_u64(&w.j, "activeProfileIndex", 0);
	json_arr(&w.j, "profiles");
	/* the viewer opens the first: not one that is empty */
	if (p->samples[profile_unit(p)] || !o->flow)
		err = add_profile(&w, "all threads", 0, p->cell_count);
	for (size_t t = 0; t < p->thread_count && p->thread_count > 1 && !err; t++) {
		const struct profile_thread *th = &p->threads[t];
		char name[100];

		snprintf(name, sizeof(name), "thread %u%s%.60s", th->tid, th->comm ? " of " : "",
			 th->comm ? th->comm : "");
		err = add_profile(&w, name, th->first_cell, th->first_cell + th->cell_count);
	}
	if (!err && o->flow)
		err = add_flow_profile(&w);
	json_end(&w.j);
	json_obj(&w.j, "shared");
	json_arr(&w.j, "frames");
	if (w.frames.len)
		buf_add(out, w.frames.data, w.frames.len);
	json_end(&w.j);
	json_end(&w.j);
	json_end(&w.j);
	buf_addch(out, '\n');
	if (buf_failed(&w.frames))
		err = -ENOMEM;
	buf_release(&w.frames);
	map_release(&w.frame_at);
	free(w.steps.at);
	return err ? err_set(e, err, "out of memory") : 0;
}
