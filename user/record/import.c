// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/import.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "attr/attr.h"
#include "code/decode.h"
#include "proc/module.h"
#include "store/write.h"

struct import {
	const struct import_opts *o;
	struct perfdata *in;
	struct store_writer *out;
	struct attr *attr;
	uint64_t first, last;
	struct import_result n;
	uint64_t kernel, no_address, unplaced, sized, bad_maps;
};

/* What kind of sample an event's records are: perf says it nowhere in one word. */
static enum sample_kind sample_kind_of(const struct perfdata_event *ev, const struct sample *s)
{
	if (s->kind == SAMPLE_ACCESS && s->addr && (s->flags & (SF_LOAD | SF_STORE)))
		return SAMPLE_ACCESS;
	if (s->kind == SAMPLE_TICK)
		return SAMPLE_TICK;
	if (ev->attr.type == PERF_TYPE_HARDWARE && (ev->attr.config & 0xff) == PERF_COUNT_HW_INSTRUCTIONS)
		return SAMPLE_INSN;
	if (ev->attr.type == PERF_TYPE_HARDWARE && (ev->attr.config & 0xff) == PERF_COUNT_HW_CPU_CYCLES)
		return SAMPLE_TICK;
	return s->kind;
}

/* The operand's size is not in the record: the instruction tells. */
static void add_size(struct import *im, uint32_t module, struct fmt_access *a)
{
	struct module *m = modules_get(attr_modules(im->attr), module);
	struct dec_insn d;
	uint8_t bytes[15];
	uint32_t want = a->flags & (FMT_A_LOAD | FMT_A_STORE);

	if (!m || m->machine != 62 /* x86-64 */ || dec_decode(bytes, module_read(m, a->ip, bytes, sizeof(bytes)), &d))
		return;
	for (unsigned i = 0; i < d.mem_cnt; i++) {
		uint32_t dir = (d.mem[i].flags & DEC_M_LOAD ? FMT_A_LOAD : 0u) |
			       (d.mem[i].flags & DEC_M_STORE ? FMT_A_STORE : 0u);

		if (!(dir & want) || (d.mem[i].flags & DEC_M_REP))
			continue;
		a->size = d.mem[i].size;
		im->sized++;
		return;
	}
}

static int write_access(struct import *im, const struct sample *s)
{
	struct fmt_access a = { .time = s->time,
				.addr = s->addr,
				.ip = s->ip,
				.weight = s->period ? (double)s->period : 1,
				.data_src = s->data_src,
				.phys = s->phys,
				.pid = s->pid,
				.tid = s->tid,
				.latency = s->valid & SV_LATENCY ? s->latency : 0,
				.page_size = s->page_size };

	if (!(s->valid & SV_ADDR) || !s->addr) {
		im->no_address++;
		return 0;
	}
	a.flags = (s->flags & SF_LOAD ? FMT_A_LOAD : 0u) | (s->flags & SF_STORE ? FMT_A_STORE : 0u) |
		  (s->flags & SF_ATOMIC ? FMT_A_ATOMIC : 0u) | (s->flags & SF_KERNEL ? FMT_A_KERNEL : 0u);
	if (s->flags & SF_KERNEL) {
		im->kernel++;
		if (!im->o->kernel)
			return 0;
	} else if (!attr_code(im->attr, s->pid, s->ip, &a.module, &a.ip)) {
		im->unplaced++;
		a.ip = s->ip;
	} else {
		add_size(im, a.module, &a);
	}
	a.stack = attr_stack(im->attr, s);
	im->n.accesses++;
	return store_put(im->out, FMT_ACCESS, &a, sizeof(a));
}

static int take_tick(struct import *im, const struct sample *s, enum sample_kind kind)
{
	struct fmt_sample r = { .time = s->time,
				.period = s->period,
				.pid = s->pid,
				.tid = s->tid,
				.cpu = (uint16_t)s->cpu,
				.flags = (uint16_t)((s->flags & SF_KERNEL ? FMT_S_KERNEL : 0) |
						    (kind == SAMPLE_INSN ? FMT_S_INSTRUCTIONS : 0)) };

	r.stack = attr_stack(im->attr, s);
	im->n.ticks++;
	return store_put(im->out, FMT_SAMPLE, &r, sizeof(r));
}

static int import_sample(void *ctx, const struct sample *in)
{
	struct import *im = ctx;
	struct sample s = *in;
	enum sample_kind kind;
	int err;

	if (s.time && s.kind < SAMPLE_MMAP) {
		im->first = s.time < im->first ? s.time : im->first;
		im->last = s.time > im->last ? s.time : im->last;
	}
	switch (s.kind) {
	case SAMPLE_MMAP:
		if ((s.flags & SF_KERNEL) || (int32_t)s.pid < 0)
			return 0;
		/* fall through */
	case SAMPLE_COMM:
	case SAMPLE_FORK:
	case SAMPLE_EXIT:
		err = attr_event(im->attr, &s);
		if (err == -EINVAL) {
			im->bad_maps++;
			err = 0;
		}
		return err;
	case SAMPLE_LOST:
	case SAMPLE_THROTTLE:
	case SAMPLE_AUX: return 0;
	default: break;
	}
	kind = sample_kind_of(perfdata_event(im->in, s.source), &s);
	return kind == SAMPLE_ACCESS ? write_access(im, &s) : take_tick(im, &s, kind);
}

static void write_flagged(struct import *im, const char *name, uint64_t value, uint32_t flags)
{
	struct fmt_counter c = { .name = store_string(im->out, name), .flags = flags, .value = value };

	store_put(im->out, FMT_COUNTER, &c, sizeof(c));
}

static void write_counter(struct import *im, const char *name, uint64_t value, bool loss)
{
	write_flagged(im, name, value, loss ? FMT_C_LOSS : 0);
}

static void write_attr_counter(void *ctx, const char *name, uint64_t value, bool in_part)
{
	write_flagged(ctx, name, value, in_part ? FMT_C_IN_PART : 0);
}

static void copy_perf_meta(struct import *im, const char *path)
{
	static const char *const pass_on[][2] = { { "hostname", "host" },
						  { "osrelease", "kernel" },
						  { "arch", "arch" },
						  { "cpudesc", "cpu" },
						  { "cmdline", "perf_command" } };
	store_meta(im->out, "imported", path);
	store_meta(im->out, "version", ACCPERF_VERSION);
	store_meta(im->out, "from_start", "0");
	for (size_t i = 0; i < sizeof(pass_on) / sizeof(pass_on[0]); i++)
		if (perfdata_text(im->in, pass_on[i][0]) && (im->o->cmdline || strcmp(pass_on[i][0], "cmdline")))
			store_meta(im->out, pass_on[i][1], perfdata_text(im->in, pass_on[i][0]));
}

static void write_end(struct import *im)
{
	const struct perfdata_stats *st = perfdata_stats(im->in);
	struct fmt_end end = { .time = im->last,
			       .duration_ns = im->last > im->first ? im->last - im->first : 0,
			       .samples = im->n.ticks + im->n.accesses,
			       .lost = st->lost + st->malformed,
			       .reason = st->truncated ? FMT_END_ERROR : FMT_END_DONE,
			       .exit_status = ~0u };

	/* what an event could have brought is in its attributes, what it brought only here */
	store_meta(im->out, "engine", im->n.accesses ? "pmu" : "soft");
	store_meta(im->out, "bias", im->n.accesses ? "count" : "time");
	write_counter(im, "records lost while perf recorded", st->lost, true);
	write_counter(im, "records that could not be read", st->malformed, true);
	write_counter(im, "records of events the file does not declare", st->unknown_event, true);
	if (im->bad_maps)
		write_counter(im, "mappings that overlap the end of the address space or are empty", im->bad_maps,
			      true);
	write_counter(im, "accesses imported", im->n.accesses, false);
	write_counter(im, "accesses by the kernel", im->kernel, false);
	write_counter(im, "accesses without an address", im->no_address, true);
	write_counter(im, "accesses from code in no known mapping", im->unplaced, false);
	write_counter(im, "accesses of unknown size", im->n.accesses - im->sized, false);
	attr_counters(im->attr, write_attr_counter, im);
	for (unsigned i = 0; i < perfdata_event_count(im->in); i++) {
		const struct perfdata_event *ev = perfdata_event(im->in, i);
		struct fmt_rate r = { .time = im->first,
				      .source = store_string(im->out, ev->name[0] ? ev->name : "event"),
				      .per_second = ev->attr.freq ? (double)ev->attr.sample_freq : NAN,
				      .period = ev->attr.freq ? 0 : ev->attr.sample_period };

		if (ev->samples)
			store_put(im->out, FMT_RATE, &r, sizeof(r));
	}
	store_put(im->out, FMT_END, &end, sizeof(end));
}

int import_run(struct perfdata *in, const char *path, const char *out, const struct import_opts *o,
	       struct import_result *result, struct err *e)
{
	const struct attr_options ao = { .offline = true, .no_cache = o->no_cache };
	struct import im = { .o = o, .in = in, .first = UINT64_MAX };
	int err;

	im.out = store_create(out, STORE_KEEP_OLD | STORE_WHEN_DONE, e);
	if (!im.out)
		return -EIO;
	im.attr = attr_new(im.out, &ao, e);
	err = im.attr ? 0 : -ENOMEM;
	if (!err) {
		copy_perf_meta(&im, path);
		err = perfdata_read(in, import_sample, &im, e);
	}
	if (!err)
		err = attr_finish(im.attr, e);
	if (!err)
		write_end(&im);
	attr_free(im.attr);
	if (err)
		store_abandon(im.out);
	else
		err = store_close(im.out, e);
	*result = im.n;
	return err;
}
