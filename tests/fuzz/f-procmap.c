// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sequences of fork, exec, exit and mmap events in any order, and texts as /proc/PID/maps has them: whatever is told,
 * each list stays sorted, without overlaps and bounded, no event but for want of memory fails, and two processes never
 * share what one of them changed. An event is an opcode byte and its operands; nothing in /proc is looked at.
 */
/* harm: mappings, forks without an end, any order of events */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/procmap.h"

#define MOST 64  /* mappings of a process, and processes: few, so that a few bytes come to it */
#define TIMES 48 /* an event repeated: likewise */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at, *end;
};

static uint64_t take(struct input *in, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes-- && in->at < in->end)
		v = v << 8 | *in->at++;
	return v;
}

static void check_list(const struct process *p)
{
	if (procmap_count(p) > MOST)
		abort();
	for (unsigned i = 0; i < procmap_count(p); i++) {
		const struct mapping *m = procmap_at(p, i);

		if (m->end <= m->start || (i && procmap_at(p, i - 1)->end > m->start))
			abort();
	}
}

static void check_all(struct procmaps *p)
{
	struct process *proc;
	struct place where;
	size_t pos = 0;

	while (procmap_next(p, &pos, &proc)) {
		check_list(proc);
		for (unsigned i = 0; i < procmap_count(proc); i += 1 + procmap_count(proc) / 16)
			if (!procmap_lookup_quiet(p, proc->pid, procmap_at(proc, i)->start, &where) ||
			    where.map.start != procmap_at(proc, i)->start)
				abort();
	}
}

static void give(struct procmaps *p, const struct sample *s)
{
	int err = procmap_event(p, s);

	if (err && err != -ENOMEM)
		abort();
}

/* One mapping, or thousands in steps of what they are long, and apart or not. */
static void give_maps(struct procmaps *p, struct input *in, struct sample *s, bool many)
{
	static const char *const names[] = { "",       "//anon",  "/nowhere/a",         "/nowhere/b",
					     "[vdso]", "[stack]", "/memfd:x (deleted)", NULL };
	uint64_t step;

	s->kind = SAMPLE_MMAP;
	s->addr = take(in, 4) << 12;
	s->size = take(in, 2) << 8;
	s->pgoff = take(in, 1) << 12;
	s->flags = take(in, 1) & 1 ? SF_EXEC : 0;
	s->text = names[take(in, 1) % 8];
	step = many ? take(in, 2) << 8 : 0;
	for (unsigned i = 0; i < (many ? TIMES : 1u); i++, s->addr += step)
		give(p, s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct modules *ms = modules_new();
	struct procmaps *p = procmaps_new(ms);
	uint64_t time = 1;

	procmaps_offline(p);
	procmaps_limit(p, MOST, MOST);
	while (in.at < in.end) {
		uint8_t op = *in.at++;
		struct sample s = { .time = time += take(&in, 1) << 24 };

		s.pid = s.tid = 1 + (uint32_t)take(&in, 1);
		s.ppid = s.ptid = 1 + (uint32_t)take(&in, 1);
		switch (op % 8) {
		case 0:
		case 1: give_maps(p, &in, &s, false); break;
		case 2: give_maps(p, &in, &s, true); break;
		case 3:
			s.kind = SAMPLE_FORK;
			give(p, &s);
			break;
		case 4:
			s.kind = SAMPLE_COMM;
			s.flags = op & 8 ? SF_EXEC : 0;
			s.text = "name";
			give(p, &s);
			break;
		case 5:
			s.kind = SAMPLE_EXIT;
			s.tid += op >> 7;
			give(p, &s);
			break;
		case 6:
			if (op & 8)
				procmap_known_only(p);
			procmap_sweep(p, time, NULL, NULL);
			break;
		default: /* many children */
			s.kind = SAMPLE_FORK;
			for (unsigned i = 0; i < TIMES; i++, s.pid++)
				give(p, &s);
			procmap_make_room(p, NULL, NULL);
			break;
		}
	}
	check_all(p);
	procmaps_free(p);
	modules_free(ms);
	return 0;
}
