/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What watch windows stand on, made up: the device, the session, the code that samples are in. A test plants what they
 * say and sees what was asked of them. Included by u-windows, once: these stand in for the functions of the library.
 */
#ifndef TESTS_FAKE_WINDOWS_H
#define TESTS_FAKE_WINDOWS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi.h"
#include "counters.h"
#include "fake_machine.h"
#include "code/watch_direction.h"
#include "kmod-free/watch.h"
#include "proc/procmap.h"
#include "record/ledger.h"
#include "record/located_code.h"
#include "record/part_access.h"
#include "record/part_windows.h"
#include "record/session.h"
#include "record/session_breakpoints.h"
#include "record/sources.h"
#include "store/read.h"
#include "unit/unit.h"

#define PID 4000000u /* beyond the largest: /proc has none */
#define DATA 0x7f0000001000ull
#define CONSTANTS 0x7f0000100000ull
#define HOT (CONSTANTS + 0x10) /* instructions */
#define WARM (CONSTANTS + 0x20)
#define COLD (CONSTANTS + 0x30)
#define MISSING (CONSTANTS + 0x40) /* of no sample */
#define PERIOD (2 * MS)
#define MODULE 5
#define MOST 32

/* ---- the device ---- */

struct watch {
	struct watch_opts o;
	watch_decide_fn decide;
	watch_window_fn window;
	void *ctx;
	struct watch_window slot[WATCH_SLOTS];
	uint64_t deadline[WATCH_SLOTS];
	bool open[WATCH_SLOTS];
	struct watch_stats stats;
};

static struct planted {
	struct watch device;
	int check, busy; /* the former `busy` times, then 0 */
	unsigned checks, cpus;
	int arm, threads; /* arm: an error instead of a slot */
	int victim;
	unsigned armed, freed, added;
	struct watch_request last;   /* that was armed */
	uint64_t since[WATCH_SLOTS]; /* as the device was told */
	struct block_result accesses;
} fake;

struct watch *watch_new(const struct watch_opts *o, watch_decide_fn decide, watch_window_fn window, void *ctx,
			struct err *e)
{
	fake.device = (struct watch){ .o = *o, .decide = decide, .window = window, .ctx = ctx };
	return &fake.device;
}

int watch_check(struct watch *w, struct err *e)
{
	fake.checks++;
	return fake.busy-- > 0 ? err_set(e, fake.check, "a debugger has them") : 0;
}

unsigned watch_cpus(const struct watch *w, uint64_t now)
{
	return fake.cpus;
}

int watch_threads(pid_t pid, int *tids, int max)
{
	for (int i = 0; i < fake.threads; i++)
		tids[i] = pid + i;
	return fake.threads;
}

int watch_free_slot(const struct watch *w)
{
	for (int i = 0; i < WATCH_SLOTS; i++)
		if (!w->open[i])
			return i;
	return -1;
}

int watch_arm(struct watch *w, const struct watch_request *req, const int *tids, int n, uint64_t now, struct err *e)
{
	int slot = watch_free_slot(w);

	if (fake.arm)
		return fake.arm;
	assert_true(slot >= 0);
	fake.armed++;
	fake.last = *req;
	w->open[slot] = true;
	w->deadline[slot] = now + req->time_limit_ns;
	w->slot[slot] = (struct watch_window){ .armed = now,
					       .req = *req,
					       .slot = (uint32_t)slot,
					       .write_only_after = ~0u,
					       .threads = (uint32_t)n,
					       .phases = 1 };
	return slot;
}

void watch_add_task(struct watch *w, pid_t pid, pid_t tid)
{
	fake.added++;
}

void watch_end(struct watch *w, int slot, uint32_t reason, uint64_t now)
{
	struct watch_window *win = &w->slot[slot];

	assert_true(w->open[slot]);
	w->open[slot] = false;
	win->ended = now;
	win->end_reason = reason;
	w->stats.armed_ns += now - win->armed;
	w->stats.slot_ns += now - win->armed;
	w->window(w->ctx, win);
}

void watch_poll(struct watch *w, uint64_t now)
{
	for (int i = 0; i < WATCH_SLOTS; i++)
		if (w->open[i] && now >= w->deadline[i])
			watch_end(w, i, FMT_W_TIME, now);
}

void watch_wake_each(struct watch *w, bool each)
{
}

int watch_fd(const struct watch *w)
{
	return 77;
}

uint64_t watch_deadline(const struct watch *w)
{
	uint64_t last = 0;

	for (int i = 0; i < WATCH_SLOTS; i++)
		if (w->open[i] && w->deadline[i] > last)
			last = w->deadline[i];
	return last;
}

const struct watch_request *watch_slot(const struct watch *w, int slot)
{
	return w->open[slot] ? &w->slot[slot].req : NULL;
}

int watch_victim(const uint64_t *since, unsigned slots, uint64_t *random)
{
	memcpy(fake.since, since, slots * sizeof(*since));
	return fake.victim;
}

void watch_stats(struct watch *w, struct watch_stats *out)
{
	*out = w->stats;
}

void watch_free(struct watch *w)
{
	fake.freed += w ? 1 : 0;
}

/* ---- the session ---- */

struct session {
	struct session_totals totals;
	struct store_writer *store;
	struct attr *attr;
	struct ledger ledger;
	struct prices prices;
	bool open, rest, wanted, forbidden; /* what the gate and others say */
	bool wants_sample;
	unsigned free, taken, apart, users;
	double switch_rate, entry;
	void *part;
	struct {
		char name[96];
		uint64_t value;
		bool loss;
	} counter[MOST];
	unsigned counters;
	double rate;
};

struct attr *session_attr(struct session *s)
{
	return s->attr;
}

struct located_code *session_code(struct session *s)
{
	return (struct located_code *)s; /* never looked into: what it does is below */
}

struct prices *session_prices(struct session *s)
{
	return &s->prices;
}

struct store_writer *session_store(struct session *s)
{
	return s->store;
}

struct ledger *session_ledger(struct session *s)
{
	return &s->ledger;
}

int session_add(struct session *s, const struct source *source, void *ctx, struct err *e)
{
	assert_ptr_equal(source, &source_watch);
	s->part = ctx;
	return 0;
}

void session_rate(struct session *s, const char *source, uint64_t now, double per_second, uint64_t period,
		  double *written)
{
	assert_string_equal(source, "watch");
	s->rate = per_second;
}

void session_want_sample(struct session *s, uint64_t not_before)
{
	assert_int_equal(not_before, 0);
	s->wants_sample = true;
}

void session_wake_cost(struct session *s, double ns)
{
	assert_true(ns == WAKE_NS);
}

double session_coupled(const struct session *s, double ns)
{
	return ns;
}

double session_coupled_switch(const struct session *s, double ns)
{
	return ns;
}

unsigned session_breakpoints_free(const struct session *s)
{
	return s->free - s->taken - s->apart;
}

void session_breakpoints_take(struct session *s, unsigned n)
{
	s->taken += n;
}

void session_breakpoints_give(struct session *s, unsigned n)
{
	assert_true(s->taken >= n);
	s->taken -= n;
}

void session_breakpoints_take_apart(struct session *s, unsigned n)
{
	s->apart += n;
}

void session_breakpoints_give_apart(struct session *s, unsigned n)
{
	assert_true(s->apart >= n);
	s->apart -= n;
}

bool session_breakpoints_wanted(const struct session *s)
{
	return s->wanted;
}

void session_breakpoints_user(struct session *s)
{
	s->users++;
}

double session_attached_cost(const struct session *s, const struct sample *tick)
{
	return 123;
}

double session_attached_entry(const struct session *s, double running)
{
	return s->entry;
}

bool session_breakpoints_rest(const struct session *s)
{
	return s->rest;
}

double session_switch_rate(const struct session *s)
{
	return s->switch_rate;
}

double session_switch_cost(struct session *s)
{
	return SWITCH_BREAKPOINT_NS;
}

bool session_breakpoints_open(const struct session *s)
{
	return s->open;
}

bool session_breakpoints_forbidden(struct session *s)
{
	return s->forbidden;
}

void session_count(struct session *s, const char *name, uint64_t value, bool is_loss)
{
	unsigned i = 0;

	while (i < s->counters && strcmp(s->counter[i].name, name))
		i++;
	assert_true(i < MOST);
	s->counters += i == s->counters;
	snprintf(s->counter[i].name, sizeof(s->counter[i].name), "%s", name);
	s->counter[i].value = value;
	s->counter[i].loss = is_loss;
}

void session_count_bpf(struct session *s, enum bpf_counter which, uint64_t value)
{
	session_count(s, counter_words(which)->text, value, counter_words(which)->loss);
}

void session_count_anew(struct session *s, const char *name, uint64_t value, bool is_loss)
{
	session_count(s, name, value, is_loss);
}

/* For what prices are measured with; they are known. */
struct sampler *session_sampler(struct session *s)
{
	return NULL;
}

/* ---- the code ---- */

struct block_cache *located_code_blocks(struct located_code *c)
{
	return NULL;
}

size_t located_code_memory(uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	memset(buf, 0, len);
	return len;
}

const struct block_code *located_code_at(struct located_code *c, uint32_t pid, uint64_t ip, uint64_t *code_ip)
{
	*code_ip = ip;
	return NULL;
}

uint64_t located_code_function(struct located_code *c, uint32_t pid, uint64_t ip)
{
	return ip & ~0xfffull;
}

uint64_t located_code_function_at(struct located_code *c, const struct sample *m, struct located *at)
{
	return located_code_function(c, m->pid, m->ip);
}

void located_code_find(struct located_code *c, const struct sample *m, struct located *at)
{
	at->looked = true;
}

const struct block_result *located_code_evaluate(struct located_code *c, const struct sample *s,
						 const struct located *at)
{
	return fake.accesses.count ? &fake.accesses : NULL;
}

double located_code_executions(const struct block_result *r, double period)
{
	return period;
}

bool located_code_record(struct located_code *c, const struct sample *s, struct located *at,
			 const struct block_access *a, double weight, struct fmt_access *out)
{
	*out = (struct fmt_access){ .time = s->time,
				    .addr = a->addr,
				    .ip = a->ip,
				    .weight = weight,
				    .module = MODULE,
				    .pid = s->pid,
				    .tid = s->tid,
				    .size = (uint32_t)a->size,
				    .flags = a->flags };
	attr_place(session_attr((struct session *)c), PID, a->ip, &out->module, &out->ip);
	return true;
}

/* As the sample's registers say: [0] the direction, [1] where the instruction is. */
void watch_direction_of(struct block_cache *c, const struct watch_direction_env *env, struct hit *h)
{
	assert_non_null(env->code_at);
	assert_int_equal(h->len, 1);
	h->flags = (uint32_t)h->regs[0];
	h->ip = h->regs[1];
}

/* ---- a recording of these ---- */

struct bench {
	struct session s;
	struct windows *w;
	struct err e;
	char path[64];
};

/* Code cannot be written, data can. */
static void map_memory(struct bench *b, uint64_t addr, bool code)
{
	struct sample m = { .kind = SAMPLE_MMAP,
			    .flags = code ? SF_EXEC : 0,
			    .time = EPOCH,
			    .pid = PID,
			    .tid = PID,
			    .addr = addr,
			    .size = 0x10000,
			    .text = "/nowhere/a" };

	assert_int_equal(attr_event(b->s.attr, &m), 0);
}

static int join(struct bench *b, const struct access_opts *like)
{
	struct access_opts o = like ? *like : (struct access_opts){ .windows = true };

	return windows_add(&b->s, &o, &b->w, &b->e);
}

/* With nothing planted yet. */
static void prepare(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	memset(&fake, 0, sizeof(fake));
	fake.threads = 3;
	fake.victim = -1;
	the_time = EPOCH;
	slept_us = 0;
	snprintf(b->path, sizeof(b->path), "/tmp/accperf-u-windows.%d", getpid());
	b->s.store = store_create(b->path, 0, &b->e);
	assert_non_null(b->s.store);
	b->s.attr = attr_new(b->s.store, NULL, &b->e);
	assert_non_null(b->s.attr);
	prices_open(&b->s.prices);
	ledger_open(&b->s.ledger, 0.05);
	b->s.open = true;
	b->s.free = 4;
}

/* Its accounts are full, and string instructions are not among what the target runs. */
static void begin(struct bench *b, const struct access_opts *like)
{
	prepare(b);
	map_memory(b, DATA, false);
	map_memory(b, CONSTANTS, true);
	assert_int_equal(join(b, like), 0);
	for (unsigned i = 0; i < 1000; i++)
		windows_tick(b->w, false, false);
	for (unsigned i = 0; i < 100; i++)
		ledger_earn(&b->s.ledger, (double)SECOND / 10);
}

static void end(struct bench *b)
{
	source_watch.stop(b->w, &b->s);
	source_watch.release(b->w);
	attr_free(b->s.attr);
	if (b->s.store)
		store_abandon(b->s.store);
	unlink(b->path);
}

static struct block_access *access_at(uint64_t ip, uint64_t addr, uint64_t size, uint16_t flags)
{
	struct block_access *a = &fake.accesses.access[fake.accesses.count++];

	*a = (struct block_access){
		.ip = ip, .addr = addr, .size = size, .flags = flags, .known = true, .in_block = true
	};
	return a;
}

static struct block_access *load(uint64_t ip, uint64_t addr)
{
	return access_at(ip, addr, 8, FMT_A_LOAD);
}

/* What is known of an instruction: it was sampled with so many bytes. */
static void sampled(struct bench *b, const struct block_access *a, double bytes)
{
	struct fmt_access rec = {
		.module = MODULE, .ip = a->ip, .pid = PID, .size = (uint32_t)a->size, .flags = a->flags
	};

	attr_place(b->s.attr, PID, a->ip, &rec.module, &rec.ip);
	rec.weight = bytes / (double)a->size;
	windows_sampled(b->w, 0x1000, a, &rec);
}

/* A tick that has just come; true: it opened a window. */
static bool tick_of(struct bench *b, struct sample m)
{
	unsigned before = fake.armed;
	struct located at = { 0 };

	assert_int_equal(source_watch.fresh(b->w, &b->s, &m, &at), 0);
	return fake.armed > before;
}

static struct sample fresh(void)
{
	return (struct sample){
		.kind = SAMPLE_TICK, .valid = SV_REGS, .time = the_time, .period = PERIOD, .pid = PID, .tid = PID
	};
}

static bool tick(struct bench *b)
{
	the_time += MS;
	return tick_of(b, fresh());
}

static uint64_t counter(struct bench *b, const char *name, bool *loss)
{
	source_watch.second(b->w, &b->s, the_time);
	for (unsigned i = 0; i < b->s.counters; i++)
		if (!strcmp(b->s.counter[i].name, name)) {
			if (loss)
				*loss = b->s.counter[i].loss;
			return b->s.counter[i].value;
		}
	return ~0ull;
}

struct seen {
	unsigned windows;
	struct fmt_window window[MOST];
	struct fmt_hit hit[MOST];
};

static void read_windows(struct bench *b, struct seen *p)
{
	struct store_reader *in;
	struct store_chunk c;
	const uint8_t *rec;
	size_t size;

	memset(p, 0, sizeof(*p));
	assert_int_equal(store_close(b->s.store, &b->e), 0);
	b->s.store = NULL;
	in = store_open(b->path, &b->e);
	assert_non_null(in);
	while (store_next(in, &c, &b->e) > 0)
		while (c.section == FMT_WINDOW && (rec = store_next_var(&c, &size))) {
			struct fmt_window *w = &p->window[p->windows++];

			assert_true(p->windows <= MOST);
			memcpy(w, rec, sizeof(*w));
			assert_int_equal(size, sizeof(*w) + w->count * sizeof(struct fmt_hit));
			assert_true(w->count <= MOST);
			if (w->count)
				memcpy(p->hit, rec + sizeof(*w), w->count * sizeof(struct fmt_hit));
		}
	store_reader_free(in);
}

#endif
