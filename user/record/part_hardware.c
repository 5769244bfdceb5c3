// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_hardware.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "code/decode.h"
#include "record/ledger.h"
#include "counters.h"
#include "record/access_opts.h"
#include "measure/prices.h"
#include "kmod-free/watch.h"

struct hardware_part {
	struct session *s;
	struct located_code *code;
	struct windows *windows; /* that its samples choose; NULL: they choose none */
	struct source as_part;   /* the row, and what it does in a recording */
	const struct source_driver *ops;
	struct sampling *source; /* NULL before the start and once stopped */
	struct source_config cfg;
	double rate;                /* as last written */
	uint64_t last, last_second; /* samples until then */
	uint64_t written, unweighted;
};

/* The record lacks the operand's size: the instruction tells. */
static uint32_t operand_size(struct hardware_part *h, const struct sample *m, const struct located *at)
{
	uint32_t want = (m->flags & SF_LOAD ? DEC_M_LOAD : 0u) | (m->flags & SF_STORE ? DEC_M_STORE : 0u);
	const struct block_code *code = located_code_there(h->code, m, at);
	struct dec_insn d;
	uint8_t bytes[15];

	if (!code || dec_decode(bytes, code->read(code->ctx, at->vaddr, bytes, sizeof(bytes)), &d))
		return 0;
	for (unsigned i = 0; i < d.mem_cnt; i++)
		if ((d.mem[i].flags & want) && !(d.mem[i].flags & DEC_M_REP))
			return d.mem[i].size;
	return 0;
}

static int on_hardware(void *ctx, const struct sample *m)
{
	struct hardware_part *h = ctx;
	struct located at = { 0 };
	struct fmt_access a = { .time = m->time,
				.addr = m->addr,
				.weight = m->period ? (double)m->period : 1,
				.data_src = m->data_src,
				.phys = m->phys,
				.pid = m->pid,
				.tid = m->tid,
				.latency = m->valid & SV_LATENCY ? m->latency : 0,
				.page_size = m->page_size };

	if (m->kind == SAMPLE_INSN) {
		struct fmt_sample r = { .time = m->time,
					.period = m->period,
					.pid = m->pid,
					.tid = m->tid,
					.cpu = (uint16_t)m->cpu,
					.flags = FMT_S_INSTRUCTIONS };

		r.stack = attr_stack(session_attr(h->s), m);
		return store_put(session_store(h->s), FMT_SAMPLE, &r, sizeof(r));
	}
	if (m->kind != SAMPLE_ACCESS)
		return 0;
	a.flags = (m->flags & SF_LOAD ? FMT_A_LOAD : 0u) | (m->flags & SF_STORE ? FMT_A_STORE : 0u) |
		  (m->flags & SF_ATOMIC ? FMT_A_ATOMIC : 0u);
	located_code_find(h->code, m, &at);
	if (!at.module)
		return 0;
	a.module = attr_module(session_attr(h->s), m->pid, at.module);
	a.ip = at.vaddr;
	attr_name(session_attr(h->s), a.module, a.ip);
	a.size = operand_size(h, m, &at);
	h->written++;
	h->unweighted += !m->period;
	if (h->windows)
		windows_from_hardware(h->windows, m, &at, &a);
	return store_put(session_store(h->s), FMT_ACCESS, &a, sizeof(a));
}

static int add_targets(struct hardware_part *h, struct err *e)
{
	struct targets *t = session_targets(h->s);
	int tids[WATCH_THREADS], n, err = 0;

	for (size_t i = 0; i < t->tid_count && !err; i++)
		err = h->ops->add_task(h->source, t->tids[i], e);
	for (size_t i = 0; i < t->count && !err && !t->tid_count; i++) {
		n = watch_threads(t->procs[i].pid, tids, WATCH_THREADS);
		for (int k = 0; k < n && (!err || err == -ESRCH); k++)
			err = h->ops->add_task(h->source, tids[k], e);
		err = err == -ESRCH ? 0 : err;
	}
	return err;
}

static int hardware_start(void *part, struct session *s, struct err *e)
{
	struct hardware_part *h = part;

	if (h->ops->open(&h->source, &h->cfg, e) || add_targets(h, e) || h->ops->start(h->source, e))
		return e->code;
	store_meta(session_store(s), "engine", "pmu");
	store_meta(session_store(s), "bias", h->ops->bias == SOURCE_BY_TIME ? "time" : "count");
	store_meta(session_store(s), "weights",
		   h->ops->bias == SOURCE_BY_RANDOM
			   ? "accesses; loads that the processor picks at random share what a counting event counted"
			   : "accesses");
	return 0;
}

static void hardware_release(void *part)
{
	struct hardware_part *h = part;

	if (h->source)
		h->ops->close(h->source);
	free(h);
}

/* A new task is watched, too. */
static int hardware_on_sample(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct hardware_part *h = part;

	if (m->kind == SAMPLE_FORK && h->source && (m->pid == m->ppid || !session_options(s)->no_inherit))
		h->ops->add_task(h->source, (pid_t)m->tid, NULL);
	return 0;
}

static int hardware_on_poll(void *part, struct session *s, uint64_t now)
{
	struct hardware_part *h = part;
	int n = h->source ? h->ops->read(h->source, on_hardware, h) : 0;

	return n < 0 ? n : 0;
}

static void hardware_report_losses(struct hardware_part *h)
{
	struct source_stats st;

	if (!h->source)
		return;
	h->ops->stats(h->source, &st);
	session_count(h->s, COUNTER_ACCESSES, h->written, false);
	session_count(h->s, "hardware samples", st.samples, false);
	session_count(h->s, "hardware samples of no use: kernel, or no address", st.filtered, false);
	session_count(h->s, "hardware samples lost", st.lost, true);
	session_count(h->s, "hardware records that could not be read", st.malformed, true);
	session_count(h->s, "hardware sampling throttled", st.throttled, false);
	session_count(h->s, "accesses of unknown weight: nothing counts the loads they were picked from", h->unweighted,
		      false);
	if (st.counted_loads != ~0ull)
		session_count(h->s, "loads counted", st.counted_loads, false);
	if (st.counted_stores != ~0ull)
		session_count(h->s, "stores counted", st.counted_stores, false);
}

static void hardware_stop(void *part, struct session *s)
{
	struct hardware_part *h = part;

	if (!h->source)
		return;
	h->ops->read(h->source, on_hardware, h);
	hardware_report_losses(h);
	h->ops->close(h->source);
	h->source = NULL;
}

/* Keeps the processor's samples within their part of the budget: how many a period gives depends on
 * what the target does, so it is corrected by what came. */
static void govern(struct hardware_part *h, uint64_t now)
{
	bool interrupts = h->windows || h->ops->bias == SOURCE_BY_COUNT;
	double each = price_of(session_prices(h->s), interrupts ? PRICE_RECORD : PRICE_RECORD_BATCHED);
	struct ledger *l = session_ledger(h->s);
	double seconds = (double)(now - h->last_second) / 1e9, running = ledger_running(l);
	double want = ledger_rate(l, ACCOUNT_HARDWARE) * 1e9 * running / each, got;
	struct source_stats st;

	h->ops->stats(h->source, &st);
	got = (double)(st.samples + st.filtered - h->last) / seconds;
	h->last = st.samples + st.filtered;
	ledger_spend(l, ACCOUNT_HARDWARE, got * seconds * each);
	if (got > 1.2 * want || (got > 0 && got < 0.5 * want))
		h->ops->set_rate(h->source, fmax(0.1, fmin(4, want / got)));
	session_rate(h->s, h->as_part.name, now, got, 0, &h->rate);
}

static int hardware_on_second(void *part, struct session *s, uint64_t now)
{
	struct hardware_part *h = part;

	if (h->last_second && h->source)
		govern(h, now);
	h->last_second = now;
	hardware_report_losses(h);
	return 0;
}

int hardware_part_add(struct session *s, const struct access_opts *o, struct windows *w, struct err *e)
{
	/* an interrupt for each record only where windows wait for it */
	bool prompt = w && (o->hardware->driver->gives & SOURCE_PROMPT);
	struct hardware_part *h = calloc(1, sizeof(*h));

	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	*h = (struct hardware_part){
		.s = s,
		.code = session_code(s),
		.windows = prompt ? w : NULL,
		.as_part = *o->hardware,
		.ops = o->hardware->driver,
		.cfg = { .prompt = prompt, .ldlat = o->ldlat, .phys = o->phys, .page_size = o->page_size },
	};
	h->as_part.start = hardware_start;
	h->as_part.sample = hardware_on_sample;
	h->as_part.poll = hardware_on_poll;
	h->as_part.second = hardware_on_second;
	h->as_part.stop = hardware_stop;
	h->as_part.release = hardware_release;
	ledger_use(session_ledger(s), ACCOUNT_HARDWARE);
	return session_add(s, &h->as_part, h, e);
}
