/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording takes its samples from, made up: a sampler, a side band and a gate that a test plants things in,
 * parts that note how they are called, and what the profile holds in the end. Included by u-session, once: these stand
 * in for the functions of the library.
 */
#ifndef TESTS_FAKE_SOURCES_H
#define TESTS_FAKE_SOURCES_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fake_machine.h"
#include "kmod-free/sampler.h"
#include "kmod-free/sideband.h"
#include "record/breakpoint_gate.h"
#include "record/ledger.h"
#include "record/located_code.h"
#include "record/session.h"
#include "record/session_breakpoints.h"
#include "store/read.h"
#include "unit/unit.h"

#define PID 4000000u /* beyond the largest: /proc has none */
#define CODE 0x10000ull
#define PERIOD (2 * MS)
#define AT_ONCE 320

/* ---- what the recording is given, in place of the machine's ---- */

static struct planted {
	struct sample ring[AT_ONCE], side[AT_ONCE];
	unsigned ring_count, side_count;
	uint64_t ticks, lost, malformed, side_lost, behind; /* behind: 0: not */
	uint64_t cpu_ns;                                    /* 0: not known */
	bool by_thread, refuses, kernel_ticks;
	uint64_t period, retimed, kernel_tick_ns;
	uint64_t side_returned;
	unsigned seconds, side_seconds, alive; /* alive: samplers and side bands that were not freed */
	bool stopped;
	/* the gate */
	bool open, armed, gate_started, gate_stopped;
	unsigned gate_seconds;
	char log[1024]; /* what was called, in order */
	bool held;      /* nothing is sampled */
} fake;
static bool kernel_may_tick; /* before a recording is opened */

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	size_t len = strlen(fake.log);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fake.log + len, sizeof(fake.log) - len, fmt, ap);
	va_end(ap);
}

struct sampler {
	int none;
};

struct sideband {
	int none;
};

struct sampler *sampler_new(const struct sampler_opts *o, struct err *e)
{
	static struct sampler s;

	if (fake.refuses) {
		err_set(e, -EPERM, "no sampler today");
		return NULL;
	}
	fake.alive++;
	return &s;
}

void sampler_set_period(struct sampler *s, uint64_t period_ns)
{
	fake.period = period_ns;
}

int sampler_retime(struct sampler *s, uint64_t period_ns)
{
	fake.retimed = period_ns;
	return 0;
}

void sampler_hold(struct sampler *s, bool hold)
{
	fake.held = hold;
	if (!hold)
		note("go ");
}

int sampler_attach(struct sampler *s, struct targets *t, struct err *e)
{
	note(fake.held ? "attach " : "attach-unheld ");
	return 0;
}

bool sampler_by_thread(const struct sampler *s, const char **why)
{
	*why = "";
	return fake.by_thread;
}

bool sampler_may_tick(const struct sampler *s)
{
	return kernel_may_tick;
}

bool sampler_kernel_ticks(const struct sampler *s)
{
	return fake.kernel_ticks;
}

void sampler_no_kernel_ticks(struct sampler *s)
{
	fake.kernel_ticks = false;
	note("no-kernel-ticks ");
}

/* As many of the kernel's as of the timer's. */
uint64_t sampler_sample_ns(const struct sampler *s)
{
	uint64_t period = fake.retimed ? fake.retimed : fake.period;

	return fake.kernel_ticks ? period / 2 : period;
}

int sampler_fd(const struct sampler *s)
{
	return -1;
}

static int deliver(struct sample *from, unsigned *count, sample_fn fn, void *ctx)
{
	unsigned n = *count;
	int err = 0;

	*count = 0;
	for (unsigned i = 0; i < n && err >= 0; i++)
		err = fn(ctx, &from[i]);
	return err;
}

int sampler_read(struct sampler *s, sample_fn fn, void *ctx)
{
	return deliver(fake.ring, &fake.ring_count, fn, ctx);
}

bool sampler_behind(const struct sampler *s, uint64_t *last)
{
	bool behind = fake.behind;

	*last = fake.behind;
	fake.behind = 0;
	return behind;
}

void sampler_stack_end(struct sampler *s, uint32_t tid, uint64_t end)
{
}

uint64_t sampler_counter(const struct sampler *s, enum bpf_counter which)
{
	return which == CTR_TICKS            ? fake.ticks
	       : which == CTR_RING_FULL      ? fake.lost
	       : which == CTR_KERNEL_TICK_NS ? fake.kernel_tick_ns
					     : 0;
}

uint64_t sampler_malformed(const struct sampler *s)
{
	return fake.malformed;
}

bool sampler_cpu_ns(const struct sampler *s, uint64_t *ns)
{
	*ns = fake.cpu_ns;
	return fake.cpu_ns;
}

void sampler_second(struct sampler *s)
{
	fake.seconds++;
}

void sampler_stop(struct sampler *s)
{
	if (s)
		note("stop ");
	fake.stopped = true;
}

void sampler_free(struct sampler *s)
{
	fake.alive -= s ? 1 : 0;
}

/* For measure_tick(), which the table of prices names; its price is known. */
void sampler_forget(struct sampler *s)
{
}

int sampler_attach_self(struct sampler *s, uint64_t period_ns, struct err *e)
{
	return err_set(e, -EPERM, "not here");
}

struct sideband *sideband_new(const struct targets *t, struct err *e)
{
	static struct sideband s;

	fake.alive++;
	return &s;
}

int sideband_follow(struct sideband *s, const struct targets *t)
{
	note("follow ");
	return 0;
}

int sideband_read(struct sideband *s, sample_fn fn, void *ctx)
{
	return deliver(fake.side, &fake.side_count, fn, ctx);
}

void sideband_second(struct sideband *s)
{
	fake.side_seconds++;
}

void sideband_stop(struct sideband *s)
{
	note("deaf ");
}

uint64_t sideband_returned(const struct sideband *s)
{
	return fake.side_returned;
}

uint64_t sideband_lost(const struct sideband *s)
{
	return fake.side_lost;
}

void sideband_free(struct sideband *s)
{
	fake.alive -= s ? 1 : 0;
}

void breakpoint_gate_start(struct breakpoint_gate *g)
{
	fake.gate_started = true;
}

bool breakpoint_gate_open(const struct breakpoint_gate *g)
{
	return fake.open;
}

void breakpoint_gate_second(struct breakpoint_gate *g, bool armed)
{
	fake.gate_seconds++;
	fake.armed = armed;
}

void breakpoint_gate_stop(struct breakpoint_gate *g, struct store_writer *w, bool armed)
{
	fake.gate_stopped = true;
}

/* ---- parts ---- */

enum call { NONE, START, SAMPLE, FRESH, POLL, SECOND_, ENDING, BEGUN };

struct part {
	char name;
	enum call fails; /* with -EXFULL, which nothing else gives */
	uint64_t counted, lost;
	bool located;   /* asks where samples are while they are fresh, notes where they were */
	uint32_t asked; /* who found the fresh one before it */
};

static int called(struct part *p, enum call call)
{
	return p->fails == call ? -EXFULL : 0;
}

static int part_start(void *part, struct session *s, struct err *e)
{
	struct part *p = part;

	note("%c:start ", p->name);
	return called(p, START) ? err_set(e, -EXFULL, "part %c cannot start", p->name) : 0;
}

static int part_sample(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct part *p = part;

	if (p->located)
		note("%c:%s ", p->name, at->module ? "located" : "nowhere");
	else
		note("%c%u ", p->name, (unsigned)(m->time % MS));
	return called(p, SAMPLE);
}

static int part_fresh(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct part *p = part;

	p->asked = at->id++;
	if (p->located)
		located_code_find(session_code(s), m, at);
	else
		note("%c~%u ", p->name, (unsigned)(m->time % MS));
	return called(p, FRESH);
}

static int part_poll(void *part, struct session *s, uint64_t now)
{
	struct part *p = part;

	assert_int_equal(now, the_time);
	return called(p, POLL);
}

static int part_second(void *part, struct session *s, uint64_t now)
{
	struct part *p = part;
	char name[32];

	snprintf(name, sizeof(name), "events of %c", p->name);
	session_count(s, name, p->counted, false);
	snprintf(name, sizeof(name), "losses of %c", p->name);
	session_count(s, name, p->lost, true);
	return called(p, SECOND_);
}

static int part_ending(void *part, struct session *s)
{
	struct part *p = part;

	note("%c:ending ", p->name);
	return called(p, ENDING);
}

static int part_begun(void *part, struct session *s, struct err *e)
{
	struct part *p = part;

	note("%c:begun ", p->name);
	return called(p, BEGUN) ? err_set(e, -EXFULL, "part %c cannot go on", p->name) : 0;
}

static void part_stop(void *part, struct session *s)
{
	note("%c:stop ", ((struct part *)part)->name);
}

static void part_release(void *part)
{
	note("%c:release ", ((struct part *)part)->name);
}

static const struct source part_ops = { .name = "made up",
					.start = part_start,
					.sample = part_sample,
					.fresh = part_fresh,
					.poll = part_poll,
					.second = part_second,
					.ending = part_ending,
					.begun = part_begun,
					.stop = part_stop,
					.release = part_release };

/* ---- a recording of theirs ---- */

struct recording {
	struct session *s;
	struct targets t;
	struct part part[3];
	struct source source[3];
	struct err e;
	char path[3][64];
};

static void open_recording(struct recording *r, const struct session_opts *like, unsigned parts)
{
	struct session_opts o = like ? *like : (struct session_opts){ .budget = 0.01, .period_ns = PERIOD };

	memset(&fake, 0, sizeof(fake));
	memset(r, 0, sizeof(*r));
	the_time = EPOCH;
	slept_us = 0;
	targets_init(&r->t);
	r->t.all = true;
	for (int i = 0; i < 3; i++)
		snprintf(r->path[i], sizeof(r->path[i]), "/tmp/accperf-u-session.%d.%d", getpid(), i);
	o.output = r->path[0];
	r->s = session_new(&o, &r->t, &r->e);
	if (!r->s)
		return;
	for (unsigned i = 0; i < parts; i++) {
		r->part[i].name = (char)('a' + i);
		r->source[i] = part_ops;
		r->source[i].name = (const char *[]){ "first", "second", "third" }[i];
		assert_int_equal(session_add(r->s, &r->source[i], &r->part[i], &r->e), 0);
	}
}

static void start(struct recording *r)
{
	assert_int_equal(session_start(r->s, &r->e), 0);
	fake.log[0] = 0;
}

static void close_recording(struct recording *r)
{
	session_free(r->s);
	targets_release(&r->t);
	assert_int_equal(fake.alive, 0);
	for (int i = 0; i < 3; i++)
		unlink(r->path[i]);
}

static void finish(struct recording *r)
{
	assert_int_equal(session_finish(r->s, FMT_END_DONE, &r->e), 0);
}

static struct sample *plant(uint64_t time, uint32_t tid)
{
	struct sample *m = &fake.ring[fake.ring_count++];

	assert_true(fake.ring_count <= AT_ONCE);
	*m = (struct sample){
		.kind = SAMPLE_TICK, .valid = SV_TIME | SV_CPU, .time = time, .period = PERIOD, .pid = PID, .tid = tid
	};
	fake.ticks++;
	return m;
}

static void poll_at(struct recording *r, uint64_t time)
{
	the_time = time;
	assert_int_equal(session_poll(r->s, &r->e), 0);
}

/* What a profile holds. */
struct seen {
	uint64_t times[AT_ONCE];
	uint32_t flags[AT_ONCE];
	unsigned samples, rates;
	struct {
		char name[96];
		uint64_t value;
		uint32_t flags;
	} counter[AT_ONCE];
	unsigned counters;
	struct fmt_cost cost;
	struct fmt_end end;
	struct fmt_rate rate;
	char segment[8], from_start[8], kernel[128];
	bool ended;
};

static void keep_meta(struct seen *p, const struct store_reader *in)
{
	const char *segment = store_meta_get(in, "segment"), *kernel = store_meta_get(in, "kernel");
	const char *from_start = store_meta_get(in, "from_start");

	snprintf(p->from_start, sizeof(p->from_start), "%s", from_start ? from_start : "");
	snprintf(p->segment, sizeof(p->segment), "%s", segment ? segment : "");
	snprintf(p->kernel, sizeof(p->kernel), "%s", kernel ? kernel : "");
}

static void keep(struct seen *p, const struct store_reader *in, const struct store_chunk *c, uint32_t i)
{
	struct fmt_sample sample;
	struct fmt_counter n;
	unsigned k = 0;

	switch (c->section) {
	case FMT_SAMPLE:
		store_rec(c, i, &sample, sizeof(sample));
		assert_true(p->samples < AT_ONCE);
		p->flags[p->samples] = sample.flags;
		p->times[p->samples++] = sample.time;
		break;
	case FMT_COUNTER:
		store_rec(c, i, &n, sizeof(n));
		while (k < p->counters && strcmp(p->counter[k].name, store_str(in, n.name)))
			k++;
		assert_true(k < AT_ONCE);
		p->counters += k == p->counters;
		snprintf(p->counter[k].name, sizeof(p->counter[k].name), "%s", store_str(in, n.name));
		p->counter[k].value = n.value;
		p->counter[k].flags = n.flags;
		break;
	case FMT_RATE:
		store_rec(c, i, &p->rate, sizeof(p->rate));
		p->rates++;
		break;
	case FMT_COST: store_rec(c, i, &p->cost, sizeof(p->cost)); break;
	case FMT_END:
		store_rec(c, i, &p->end, sizeof(p->end));
		p->ended = true;
		break;
	default: break;
	}
}

static void read_profile(struct seen *p, const char *path)
{
	struct store_chunk c;
	struct err e = { 0 };
	struct store_reader *in = store_open(path, &e);
	int n;

	memset(p, 0, sizeof(*p));
	assert_non_null(in);
	/* twice: strings may come after what names them */
	while (store_next(in, &c, &e) > 0)
		;
	keep_meta(p, in);
	store_rewind(in);
	while ((n = store_next(in, &c, &e)) > 0)
		for (uint32_t i = 0; i < c.count; i++)
			keep(p, in, &c, i);
	assert_int_equal(n, 0);
	store_reader_free(in);
}

static uint64_t counter(const struct seen *p, const char *name, uint32_t *flags)
{
	for (unsigned i = 0; i < p->counters; i++)
		if (!strcmp(p->counter[i].name, name)) {
			if (flags)
				*flags = p->counter[i].flags;
			return p->counter[i].value;
		}
	return ~0ull;
}

#endif
