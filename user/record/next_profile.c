// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording of weeks is many profiles: each ends, and the next begins, while everything stays attached. What was
 * written by then is told anew where the next one refers to it, and tables begin anew, so neither a file nor memory
 * grows for ever.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "symbol/contained_child.h"
#include "kmod-free/queue.h"
#include "attr/naming.h"
#include "record/session_priv.h"
#include "util/clock.h"

#define APART_NS 500000000ull /* from what is done once a second: rates of a moment would say nothing */
#define MEANWHILE_MS 20       /* while names are sought: a ring holds a second at least */

static bool thread_has_ended(uint64_t tid)
{
	return kill((pid_t)tid, 0) && errno == ESRCH;
}

struct fmt_end session_end_of(const struct session *s, uint64_t now, enum fmt_end_reason why)
{
	return (struct fmt_end){ .time = now,
				 .duration_ns = now - s->profile_began,
				 .reason = why,
				 .exit_status = ~0u,
				 .samples = s->totals.samples - s->before.samples,
				 .lost = s->totals.lost - s->before.lost };
}

int session_end_file(struct store_writer *w, const struct fmt_end *end, int err, struct err *e, uint64_t *bytes)
{
	store_flush(w, NULL);
	store_put(w, FMT_END, end, sizeof(*end));
	if (store_flush(w, err ? NULL : e) && !err)
		err = e->code;
	*bytes = store_bytes(w);
	if (store_close(w, err ? NULL : e) && !err)
		err = e->code;
	return err;
}

/* All that counts for the profile which ends here is in it, but names. */
static int write_last(struct session *s, uint64_t now)
{
	int err = 0;

	for (unsigned i = 0; i < s->part_count && err >= 0; i++)
		if (s->parts[i].ops->ending)
			err = session_part_gave(s, i, s->parts[i].ops->ending(s->parts[i].ctx, s));
	session_write_counters(s);
	session_write_unsampled(s);
	session_write_heap(s);
	session_write_pace(s);
	for (unsigned i = 0; i < s->part_count && err >= 0; i++)
		if (s->parts[i].ops->second)
			err = session_part_gave(s, i, s->parts[i].ops->second(s->parts[i].ctx, s, now));
	session_write_cost(s, now);
	return err < 0 ? err : 0;
}

/* What was told once, at the start or when it changed, is told again. */
static int write_first(struct session *s, const struct store_writer *former, uint64_t began, struct err *e)
{
	int err = store_copy_meta(s->store, former);

	store_meta(s->store, "from_start", "0");
	store_metaf(s->store, "segment", "%u", s->profiles + 1);
	for (unsigned i = 0; i < RATES && s->rates[i].source[0]; i++) {
		struct fmt_rate rate = s->rates[i].latest;

		rate.time = began;
		session_put_rate(s, s->rates[i].source, &rate);
	}
	for (unsigned i = 0; i < s->part_count && !err; i++)
		if (s->parts[i].ops->begun)
			err = session_part_gave(s, i, s->parts[i].ops->begun(s->parts[i].ctx, s, e));
	session_blame(s, e);
	return err;
}

/* Rings are emptied and windows end while names are sought, which takes seconds for large files. */
static unsigned go_on_meanwhile(void *ctx)
{
	struct session *s = ctx;
	uint64_t ms;

	if (!s->meanwhile)
		s->meanwhile = session_poll(s, &s->meanwhile_why);
	ms = session_wait_ns(s) / 1000000;
	return ms < 1 ? 1 : ms > MEANWHILE_MS ? MEANWHILE_MS : (unsigned)ms;
}

static int name_former(struct session *s, struct store_writer *former, struct naming *names, const struct fmt_end *end,
		       struct err *e)
{
	uint64_t bytes;
	int err;

	contained_meanwhile(go_on_meanwhile, s);
	err = attr_name_all(s->attr, names, e);
	contained_meanwhile(NULL, NULL);
	attr_name_counters(names, session_write_naming, former);
	naming_free(names);
	err = session_end_file(former, end, err, e, &bytes);
	/* what the former profile's tables took lies between what goes on, and would be the system's no more */
	malloc_trim(0);
	s->before.bytes = s->earlier_bytes += bytes;
	if (!err && s->meanwhile) {
		*e = s->meanwhile_why;
		err = s->meanwhile;
	}
	return err;
}

/* Tables by thread, and those by process of threads that were born, are freed by records of their ends, of which some
 * may be lost. */
static void forget_ended(struct session *s)
{
	uint64_t tid, *value;
	size_t pos = 0;
	struct sample ended = { .kind = SAMPLE_EXIT };

	while (map_next(&s->hinted, &pos, &tid, &value))
		if (thread_has_ended(tid)) {
			map_del(&s->hinted, tid);
			sampler_stack_end(s->sampler, (uint32_t)tid, 0);
		}
	for (pos = 0; map_next(&s->switches.last, &pos, &tid, &value);)
		if (thread_has_ended(tid))
			switch_rate_exit(&s->switches, (uint32_t)tid);
	for (pos = 0; map_next(&s->lives.tids, &pos, &tid, &value);)
		if (thread_has_ended(tid)) {
			ended.tid = (uint32_t)tid;
			unsampled_threads_event(&s->lives, &ended);
		}
	for (pos = 0; map_next(&s->lives.pids, &pos, &tid, &value);)
		if (thread_has_ended(tid))
			map_del(&s->lives.pids, tid);
}

int session_next(struct session *s, const char *output, struct err *e)
{
	struct store_writer *former = s->store, *next = store_create(output, s->o.keep_old ? STORE_KEEP_OLD : 0, e);
	uint64_t began = clock_now();
	struct naming *names;
	struct fmt_end end;
	int err;

	if (!next)
		return e->code;
	/* what is older goes into the former */
	usleep(SETTLE_NS / 1000);
	err = session_drain(s, began);
	if (err >= 0)
		err = write_last(s, began);
	names = err < 0 ? NULL : attr_next(s->attr, next);
	if (!names) {
		store_abandon(next);
		err = err_set(e, err < 0 ? err : -ENOMEM, "the next profile cannot begin: %s",
			      strerror(err < 0 ? -err : ENOMEM));
		session_blame(s, e);
		return err;
	}
	end = session_end_of(s, began, FMT_END_NEXT);
	s->store = next;
	s->profiles++;
	s->profile_began = began;
	s->next_second = began + 1000000000;
	s->before = s->totals;
	s->before.bytes = s->earlier_bytes;
	counted_next(&s->counted);
	forget_ended(s);
	queue_fit(s->queue);
	err = write_first(s, former, began, e);
	if (err) {
		naming_free(names);
		store_close(former, NULL);
		return err;
	}
	return name_former(s, former, names, &end, e);
}

int session_name(struct session *s, bool (*enough)(void *ctx), void *ctx, struct err *e)
{
	int err;

	contained_meanwhile(go_on_meanwhile, s);
	err = attr_name_more(s->attr, enough, ctx);
	contained_meanwhile(NULL, NULL);
	if (s->meanwhile)
		*e = s->meanwhile_why;
	else if (err)
		err_set(e, err, "names cannot be looked up: %s", strerror(-err));
	return s->meanwhile ? s->meanwhile : err;
}

bool session_may_next(const struct session *s)
{
	return clock_now() + APART_NS > s->next_second;
}

bool session_profile_reached(struct session *s, uint64_t bytes)
{
	if (store_bytes(s->store) < bytes)
		return false;
	/* what is loose takes less in the end; an error stays until the next look */
	store_flush(s->store, NULL);
	return store_bytes(s->store) >= bytes;
}
