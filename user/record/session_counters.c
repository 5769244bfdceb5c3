// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording says of itself: counters of what was lost and done, and what it cost, once a second. */
#include <stdio.h>

#include "attr/naming.h"
#include "counters.h"
#include "kmod-free/sideband.h"
#include "measure/cost.h"
#include "record/session_priv.h"
#include "symbol/contained_child.h"
#include "util/heap_use.h"

static void store_counter(struct store_writer *w, const char *name, uint64_t value, uint32_t flags)
{
	struct fmt_counter c = { .name = store_string(w, name), .flags = flags, .value = value };

	store_put_changed(w, FMT_COUNTER, c.name, &c, sizeof(c));
}

/* The sample is there, only part of its stack or a name is not: that is not a lost sample. */
static void write_attribution(void *ctx, const char *name, uint64_t value, bool in_part)
{
	struct session *s = ctx;

	value = counted_since(&s->counted, name, value);
	store_counter(s->store, name, value, in_part ? FMT_C_IN_PART : 0);
}

void session_write_naming(void *store, const char *name, uint64_t value, bool in_part)
{
	store_counter(store, name, value, in_part ? FMT_C_IN_PART : 0);
}

/* What the timers could not see: threads that lived too short. Known at the end only. */
void session_write_unsampled(struct session *s)
{
	uint64_t cpu_ns, seen;

	if (!sampler_cpu_ns(s->sampler, &cpu_ns))
		return;
	seen = sampler_counter(s->sampler, CTR_TICKS) * s->period_ns;
	s->totals.unsampled_ns = cpu_ns > seen ? cpu_ns - seen : 0;
	s->totals.unsampled_threads = s->lives.unsampled;
	session_count(s, COUNTER_UNSAMPLED_US, s->totals.unsampled_ns / 1000, false);
	session_count(s, COUNTER_UNSAMPLED_THREADS, s->lives.unsampled, false);
}

/* As session_count(), of what is no sum, such as a rate. */
static void session_level(struct session *s, const char *name, uint64_t value)
{
	if (!s->quiet)
		store_counter(s->store, name, value, FMT_C_LEVEL);
}

/* Of a recording of weeks: from profile to profile it comes and goes, and does not grow. */
void session_write_heap(struct session *s)
{
	uint64_t bytes = heap_use();

	if (bytes)
		session_level(s, COUNTER_HEAP_USE, bytes);
}

/* Totals of all losses so far; counters are cumulative, so this starts over each time. */
void session_write_counters(struct session *s)
{
	s->totals.lost = s->before.lost;
	for (enum bpf_counter i = CTR_TICKS; i < CTR_END; i++)
		session_count_bpf(s, i, sampler_counter(s->sampler, i));
	if (sampler_malformed(s->sampler))
		session_count(s, "samples lost: record cannot be right", sampler_malformed(s->sampler), true);
	session_count(s, COUNTER_SIDEBAND_LOST, sideband_lost(s->sideband), true);
	if (sideband_returned(s->sideband))
		write_attribution(s,
				  "CPUs that came on meanwhile, on which nothing was heard of processes for a second",
				  sideband_returned(s->sideband), true);
	if (switch_rate_of(&s->switches) >= 0)
		session_level(s, "context switches per second of CPU time",
			      (uint64_t)(switch_rate_of(&s->switches) * 1e9));
	session_level(s, "longest time that records waited to be written, us", s->waited_ns / 1000);
	if (s->by_clock.threads)
		session_count(s, COUNTER_IN_STEP, s->by_clock.threads, false);
	if (s->by_clock.refused)
		session_count(s, COUNTER_TICKS_REFUSED, s->by_clock.refused, false);
	session_count(s, "samples without windows, as hardware breakpoints were not to be used", s->missed, false);
	attr_lasting_counters(s->attr, write_attribution, s);
	attr_name_counters(attr_naming(s->attr), session_write_naming, s->store);
}

/* Where the slow-down comes from. */
static void count_accounts(struct session *s)
{
	struct ledger_line line;
	char name[80];

	for (unsigned i = 0; ledger_report(&s->ledger, i, &line); i++) {
		if (!line.leaf || !(line.spent > 0))
			continue;
		snprintf(name, sizeof(name), "target's time taken, us: %s", line.name);
		session_count(s, name, (uint64_t)(line.spent / 1000), false);
	}
}

void session_write_cost(struct session *s, uint64_t now)
{
	struct fmt_cost c;
	uint64_t ticks = sampler_counter(s->sampler, CTR_TICKS);

	ledger_count(&s->ledger, ACCOUNT_UNSEEN,
		     ((double)ticks + (double)s->kernel_ticks - (double)s->totals.samples) * session_tick_ns(s));
	ledger_count(&s->ledger, ACCOUNT_KERNEL_TICKS, (double)sampler_counter(s->sampler, CTR_KERNEL_TICK_NS));
	s->totals.target_lost_ns = (uint64_t)ledger_spent(&s->ledger, ACCOUNT_ALL);
	s->totals.own_cpu_ns = own_cpu_ns() - s->cpu_at_start + contained_cpu_ns();
	s->totals.peak_rss = own_peak_rss();
	s->totals.switches_per_second = switch_rate_of(&s->switches) * 1e9;
	s->totals.elapsed_ns = now - s->began;
	s->totals.bytes = s->before.bytes + store_bytes(s->store);
	c = (struct fmt_cost){ .time = now,
			       .own_cpu_ns = s->totals.own_cpu_ns - s->before.own_cpu_ns,
			       .target_cpu_ns = s->totals.target_ns - s->before.target_ns,
			       .target_lost_ns = s->totals.target_lost_ns - s->before.target_lost_ns,
			       .peak_rss = s->totals.peak_rss,
			       .bytes_written = store_bytes(s->store) };
	session_count(s, "looks at the rings", s->look_count, false);
	count_accounts(s);
	store_put(s->store, FMT_COST, &c, sizeof(c));
	s->cost_at = now;
}

void session_count(struct session *s, const char *name, uint64_t value, bool is_loss)
{
	session_count_anew(s, name, counted_since(&s->counted, name, value), is_loss);
}

void session_count_anew(struct session *s, const char *name, uint64_t value, bool is_loss)
{
	if (is_loss || !s->quiet)
		store_counter(s->store, name, value, is_loss ? FMT_C_LOSS : 0);
	if (is_loss)
		s->totals.lost += value;
}

void session_count_bpf(struct session *s, enum bpf_counter which, uint64_t value)
{
	const struct counter_words *words = counter_words(which);

	session_count(s, words->text, value, words->loss);
}
