// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_waits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "counters.h"
#include "measure/price_table.h"
#include "record/ledger.h"
#include "record/located_code.h"
#include "record/wait_pace.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/log.h"
#include "util/map.h"

#define LOOK_NS 50000000ull /* between two looks at what it costs */

struct waits {
	struct session *s;
	struct wait_pace pace;
	struct map away; /* tid -> index into held, + 1 */
	struct fmt_wait *held;
	size_t held_count, held_cap;
	uint64_t looked, told, spent_ns, target_ns; /* when last looked, and sums as of then */
	uint64_t ended;                             /* when switches were last observed, while they are not */
	uint64_t open, unknown;
	bool attached, stopped;
};

static int put_wait(struct waits *w, const struct fmt_wait *r)
{
	return store_put(session_store(w->s), FMT_WAIT, r, sizeof(*r));
}

/* The last one takes the place. */
static void let_go(struct waits *w, size_t at)
{
	uint64_t *last;

	map_del(&w->away, w->held[at].tid);
	if (at == --w->held_count)
		return;
	w->held[at] = w->held[w->held_count];
	last = map_get(&w->away, w->held[at].tid);
	if (last)
		*last = at + 1;
}

/* Who is still away: at least so long. */
static int write_open(struct waits *w, uint64_t until)
{
	int err = 0;

	for (size_t i = 0; i < w->held_count && !err; i++) {
		struct fmt_wait *r = &w->held[i];

		r->flags |= FMT_WAIT_OPEN;
		r->ns = until > r->time ? until - r->time : 0;
		err = put_wait(w, r);
		w->open++;
	}
	w->held_count = 0;
	map_release(&w->away);
	return err;
}

/* An estimate's last digits are noise, which packs to nothing smaller: 1 in 8,192 is kept. */
static double few_digits(double weight)
{
	int exponent;
	double part = frexp(weight, &exponent);

	return ldexp(rint(part * 8192), exponent - 13);
}

static int on_leaving(struct waits *w, const struct sample *m, uint32_t stack)
{
	uint64_t *at = map_put(&w->away, m->tid, NULL);

	if (!at || !GROW(w->held, w->held_count, w->held_cap, 64))
		return -ENOMEM;
	if (*at) { /* its end was lost, or no switch was told of, as of some of the kernel's threads */
		w->unknown++;
		let_go(w, *at - 1);
		at = map_put(&w->away, m->tid, NULL);
		if (!at)
			return -ENOMEM;
	}
	w->held[w->held_count] = (struct fmt_wait){ .time = m->time,
						    .weight = few_digits((double)m->period * w->pace.factor),
						    .pid = m->pid,
						    .tid = m->tid,
						    .stack = stack,
						    .flags = m->flags & SF_READY ? FMT_WAIT_READY : 0 };
	*at = ++w->held_count;
	return 0;
}

static int waits_on_sample(void *part, struct session *s, const struct sample *m, struct located *where)
{
	struct waits *w = part;
	uint64_t *at;
	int err;

	if (m->kind == SAMPLE_OFF)
		return on_leaving(w, m, where->stack);
	if (m->kind != SAMPLE_BACK)
		return 0;
	at = map_get(&w->away, m->tid);
	if (!at || w->held[*at - 1].time != m->addr)
		return 0;
	w->held[*at - 1].ns = m->time - m->addr;
	err = put_wait(w, &w->held[*at - 1]);
	let_go(w, *at - 1);
	return err;
}

static int observe(struct waits *w, struct err *e)
{
	int err = sampler_waits(session_sampler(w->s), w->pace.one_in, e);

	w->attached = !err;
	return err;
}

static void rest(struct waits *w, uint64_t now)
{
	if (!w->attached)
		return;
	sampler_waits_end(session_sampler(w->s));
	w->attached = false;
	w->ended = now;
}

static int waits_start(void *part, struct session *s, struct err *e)
{
	struct waits *w = part;
	struct err why = { 0 };

	w->looked = clock_now();
	if (observe(w, &why)) { /* all else can be recorded */
		log_info("waiting time is not measured: %s", why.text);
		w->stopped = true;
	}
	return 0;
}

static double sum_of(const struct waits *w, enum bpf_counter which, uint64_t *before)
{
	uint64_t now = sampler_counter(session_sampler(w->s), which), more = now - *before;

	*before = now;
	return (double)more;
}

static int waits_on_poll(void *part, struct session *s, uint64_t now)
{
	struct waits *w = part;
	struct ledger *l = session_ledger(s);
	double seconds = (double)(now - w->looked) / 1e9, told, ns, ran, passing, pays;
	int err = 0;

	if (w->stopped || now - w->looked < LOOK_NS)
		return 0;
	w->looked = now;
	told = sum_of(w, CTR_OFF_TOLD, &w->told);
	ns = sum_of(w, CTR_OFF_NS, &w->spent_ns);
	ran = (double)(session_totals(s)->target_ns - w->target_ns);
	w->target_ns = session_totals(s)->target_ns;
	pays = ledger_rate(l, ACCOUNT_WAITS) * ledger_running(l) * 1e9;
	/* of each switch one half is the program that leaves, one that comes */
	passing = 2 * price_assumed(PRICE_SWITCH_SEEN) * session_switch_rate(s);
	ledger_spend(l, ACCOUNT_WAITS,
		     session_coupled_switch(s, ns + (w->attached && passing > 0 ? passing * ran : 0)));
	if (w->attached)
		wait_pace_told(&w->pace, told, ns, seconds, pays);
	if (wait_pace_poll(&w->pace, now, passing > 0 ? passing * ledger_running(l) * 1e9 : 0, pays) && !w->pace.on)
		rest(w, now);
	if (!w->pace.on)
		return 0;
	if (!w->attached) /* threads that came back since the last stretch were not seen to */
		err = write_open(w, w->ended);
	return err ? err : observe(w, NULL);
}

static int waits_on_second(void *part, struct session *s, uint64_t now)
{
	struct waits *w = part;

	if (w->stopped && !w->ended)
		return 0; /* it never began */
	/* all that came before the end was read by then */
	if (w->stopped)
		write_open(w, w->ended);
	session_count(s, COUNTER_WAITS_OPEN, w->open, false);
	session_count(s, "waits whose end was not seen", w->unknown, false);
	return 0;
}

/* Stacks have other numbers in the next profile. */
static int waits_ending(void *part, struct session *s)
{
	return write_open(part, clock_now());
}

static void waits_stop(void *part, struct session *s)
{
	struct waits *w = part;

	rest(w, clock_now());
	w->stopped = true;
}

static void waits_release(void *part)
{
	struct waits *w = part;

	map_release(&w->away);
	free(w->held);
	free(w);
}

const struct source source_waits = {
	.name = "waits",
	.summary = "how long threads are off the CPU, and in which call",
	.needs = "bpf bpf-ring btf",
	.start = waits_start,
	.sample = waits_on_sample,
	.poll = waits_on_poll,
	.second = waits_on_second,
	.ending = waits_ending,
	.stop = waits_stop,
	.release = waits_release,
};

int waits_part_add(struct session *s, struct err *e)
{
	struct waits *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	w->s = s;
	wait_pace_init(&w->pace, 1e9 / (double)session_period(s), price_assumed(PRICE_WAIT), clock_now());
	err = session_add(s, &source_waits, w, e);
	if (!err)
		ledger_use(session_ledger(s), ACCOUNT_WAITS);
	return err;
}
