// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is recorded: recorders begin with processes, end with them, and rest where the budget is spent. */
#include "daemon/daemon_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/memory.h"
#include "record/effort.h"
#include "util/labels.h"
#include "util/clock.h"
#include "util/grow.h"

#define MOST_RECORDERS 4u        /* of a service: each costs a few MB and a timer's ticks */
#define MOST_PIDS 256u           /* of a recorder, by number; their children come with them */
#define TOLD_PIDS 8u             /* of them, in a line of the log; by hand */
#define SCAN_TOLD 4.0            /* a look comes so much later than it was told to: worth a sentence */
#define SCAN_PART 0.25           /* of the budget, for looks at /proc: the rest is for recording */
#define YOUNG_TIMES 3.0          /* min_age: no process of a service got so old for so long */
#define YOUNG_LEAST 10.0         /* the same, seconds; both by hand */
#define FIRST_TOLD_S 10.0        /* a first turn that begins later: worth a sentence; by hand */
#define MOST_END_S 20.0          /* of CPU time, for the names of the largest programs; by hand */
#define RETRY_MOST_S 300u        /* between tries of a recorder that fails: five minutes are lost at most when it can */
#define STATUS_NO_SAMPLE 3       /* of `accperf record`: in its man page */
#define ROOM_GUESS (20ull << 20) /* bytes of a recorder, until one was seen: after half a minute */
#define ROOM_WAIT (120 * SECOND) /* for memory, until the turn of another ends for it: four of the shortest; by hand */
#define MEMORY_REST (60 * SECOND) /* after the limit of memory was met: what took it may be gone by then */

size_t turns_running(const struct daemon *d, uint32_t service)
{
	size_t n = 0;

	for (size_t i = 0; i < d->recorder_count; i++)
		n += d->recorders[i].pid > 0 && d->recorders[i].service == service;
	return n;
}

void turns_end_all(struct daemon *d, enum recorder_end why)
{
	for (size_t i = 0; i < d->recorder_count; i++)
		if (!d->recorders[i].ending || why == RECORDER_STOP)
			recorder_end(&d->recorders[i], why);
}

static void end_service(struct daemon *d, uint32_t service, enum recorder_end why)
{
	for (size_t i = 0; i < d->recorder_count; i++)
		if (d->recorders[i].service == service && !d->recorders[i].ending)
			recorder_end(&d->recorders[i], why);
}

/* As say(), but the same sentence of the same service once in SAID_AGAIN at most; what a recorder says is the same
 * whatever process it names. service: index. */
static void say_seldom(struct daemon *d, enum say_level level, const char *event, uint32_t service, const char *text)
{
	if (!said_lately(d->services[service].said, said_hash(text, strcmp(event, "recorder") != 0), clock_now()))
		say(level, event, d->c.services[service].name, "%s", text);
}

/* ---- beginning */

static double own_cpu(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static bool wants_recorder(const struct watched_process *p, uint32_t service)
{
	return p->service == service && p->root && p->old_enough && p->recorder == WATCHED_NONE;
}

unsigned turns_unrecorded(const struct daemon *d, uint32_t service)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->watched.count; i++)
		n += wants_recorder(&d->watched.at[i], service);
	return n;
}

/* Gives it those that are not recorded yet, from behind those that the service's last one got, around: where there are
 * more than all recorders take, turns come to each. Their numbers as a list; how many, and the first. */
static unsigned take_new(struct daemon *d, uint32_t service, uint32_t recorder, struct buf *list, int *first)
{
	size_t count = d->watched.count, from = 0;
	int *last = &d->services[service].last_pid;
	unsigned n = 0;

	while (from < count && d->watched.at[from].pid <= *last)
		from++;
	for (size_t i = 0; i < count && n < MOST_PIDS; i++) {
		struct watched_process *p = &d->watched.at[(from + i) % count];

		if (!wants_recorder(p, service))
			continue;
		if (!n++)
			*first = p->pid;
		buf_addf(list, "%s%d", n > 1 ? "," : "", p->pid);
		p->recorder = recorder;
		*last = p->pid;
	}
	return n;
}

static void failed_once(struct daemon *d, uint32_t service, const char *why)
{
	struct service_state *s = &d->services[service];
	unsigned rest = s->failures < 8 ? 1u << s->failures : RETRY_MOST_S;
	char text[900];

	s->failures++;
	s->failed++;
	s->retry_at = clock_now() + rest * SECOND;
	snprintf(text, sizeof(text), "%s; the next try is in %u s", why, rest);
	say_seldom(d, SAY_WARN, "recorder-failed", service, text);
}

/* What its profile carries: what all these processes have in common, and for how long nobody was recorded. */
static unsigned label_recorder(struct daemon *d, uint32_t service, uint32_t recorder,
			       struct buf labels[RECORDER_LABELS])
{
	const struct service_state *s = &d->services[service];
	const struct container *in = NULL;
	bool same = true;
	char rested[32];
	unsigned n = 0;

	for (size_t i = 0; i < d->watched.count && same; i++) {
		const struct watched_process *p = &d->watched.at[i];

		if (p->recorder != recorder)
			continue;
		same = p->place != WATCHED_NONE && (!in || in == &d->watched.places[p->place]);
		in = same ? &d->watched.places[p->place] : NULL;
	}
	labels_add(&labels[n++], "service", d->c.services[service].name);
	labels_add(&labels[n++], "unit", in ? in->unit : "");
	labels_add(&labels[n++], "container", in ? in->id : "");
	labels_add(&labels[n++], "pod", in ? *in->pod ? in->pod : in->pod_uid : "");
	if (s->rests_since && !turns_running(d, service)) {
		snprintf(rested, sizeof(rested), "%.3f", (double)(clock_now() - s->rests_since) / 1e9);
		labels_add(&labels[n++], LABELS_RESTED, rested);
	}
	return n;
}

static void tell_begun(struct daemon *d, uint32_t service, const char *pids, unsigned n, int first)
{
	struct said *begun = d->services[service].begun;
	int inner = watched_inner_pid(first);
	const char *end = pids;
	AUTO_BUF(text);

	for (unsigned i = 0; i < TOLD_PIDS && *end; i++)
		end += strcspn(end + (i > 0), ",") + (i > 0);
	buf_addf(&text, "recording process%s %.*s", n > 1 ? "es" : "", (int)(end - pids), pids);
	if (*end)
		buf_addf(&text, " and %u more", n - TOLD_PIDS);
	if (inner)
		buf_addf(&text, " (%d is %d in its container)", first, inner);
	/* one that begins each second would have 86,400 lines a day */
	if (said_enough(begun, clock_now()))
		say_seldom(d, SAY_INFO, "recording", service,
			   "its processes begin again and again: for an hour no more of them is said");
	else if (!buf_failed(&text) && !said_lately(begun, said_hash(text.data, true), clock_now()))
		say(SAY_INFO, "recording", d->c.services[service].name, "%s", text.data);
}

static void begin_recorder(struct daemon *d, uint32_t service)
{
	struct buf labels[RECORDER_LABELS] = { { 0 } };
	const char *given[RECORDER_LABELS];
	const struct config_service *s = &d->c.services[service];
	struct service_state *state = &d->services[service];
	struct recorder r = { .number = d->next_number, .service = service, .said = -1 };
	struct recorder_opts o = { .folder = d->keeper.path,
				   .effort = s->effort,
				   .what = s->what,
				   .offload = s->offload,
				   .segment_time = d->c.segment_time,
				   .memory = d->c.memory };
	struct err e = { 0 };
	AUTO_BUF(pids);
	int first = 0;
	unsigned n;

	if (!GROW(d->recorders, d->recorder_count, d->recorder_cap, 16))
		return;
	n = take_new(d, service, r.number, &pids, &first);
	snprintf(r.folder, sizeof(r.folder), "%s", s->name);
	o.pids = pids.data;
	o.labels = given;
	for (unsigned i = 0, all = label_recorder(d, service, r.number, labels); i < all; i++)
		if (labels[i].len && !buf_failed(&labels[i]))
			given[o.label_count++] = labels[i].data;
	if (!n || buf_failed(&pids))
		err_set(&e, -ENOMEM, "out of memory");
	else if (!keeper_begin(&d->keeper, s->name, first, r.name, &e))
		recorder_start(&r, &o, &e);
	for (unsigned i = 0; i < RECORDER_LABELS; i++)
		buf_release(&labels[i]);
	if (e.code) {
		watched_forget_recorder(&d->watched, r.number);
		failed_once(d, service, e.text);
		return;
	}
	d->next_number++;
	if (!turns_running(d, service)) {
		account_begin(&state->account);
		account_begin(&state->disk);
		pace_begin(&state->pace);
	}
	state->rests_since = 0;
	state->turns++;
	d->recorders[d->recorder_count++] = r;
	watched_inherit(&d->watched);
	tell_begun(d, service, pids.data, n, first);
}

/* Bytes of its profiles for whose time an account of the disk saves: a daemon before this one wrote them. */
static double written_lately(const struct daemon *d, uint32_t service)
{
	int64_t since = (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)(ACCOUNT_DISK_SAVED_S * SECOND);
	double bytes = 0;

	for (size_t i = 0; i < d->keeper.count; i++) {
		const struct kept_file *f = &d->keeper.files[i];

		if (!strcmp(d->keeper.folders[f->folder], d->c.services[service].name) && f->time > since)
			bytes += (double)f->bytes;
	}
	return bytes;
}

static void tell_disk_part(struct daemon *d, uint32_t service)
{
	say_seldom(
		d, SAY_NOTICE, "by-turns", service,
		"its part of limits.daily is written, so it is recorded by turns; more of it: a larger limit or weight, or "
		"`what: time`");
}

/* opens: those that begin now, all of which have their parts at once where none ran before. */
static void open_accounts(struct daemon *d, uint32_t service, const bool *opens)
{
	struct turn_account *others[d->c.service_count + 1];
	struct service_state *s = &d->services[service];
	double rates[d->c.service_count + 1];
	unsigned n = 0;

	for (size_t i = 0; i < d->c.service_count; i++)
		if (!opens[i] && (d->services[i].rate > 0 || d->services[i].turns)) {
			others[n] = &d->services[i].disk;
			rates[n++] = d->services[i].disk_rate;
		}
	account_open(&s->account, strcmp(d->c.services[service].what, "time") ? 1 : ACCOUNT_TIME_PART);
	if (n)
		account_join_disk(&s->disk, s->disk_rate, others, rates, n);
	else
		account_open_disk(&s->disk, s->disk_rate, written_lately(d, service));
	if (s->disk.credit < 0)
		tell_disk_part(d, service);
}

/* By weight, of what all may take, over the services that have processes. */
static void split_budget(struct daemon *d)
{
	double weights = 0;
	bool runs[d->c.service_count + 1], opens[d->c.service_count + 1];

	memset(runs, 0, sizeof(runs));
	for (size_t i = 0; i < d->watched.count; i++)
		if (d->watched.at[i].root && d->watched.at[i].old_enough)
			runs[d->watched.at[i].service] = true;
	for (size_t i = 0; i < d->c.service_count; i++)
		weights += runs[i] ? d->c.services[i].weight : 0;
	for (size_t i = 0; i < d->c.service_count; i++) {
		struct service_state *s = &d->services[i];
		double rate = runs[i] ? d->c.budget * d->cpus * d->c.services[i].weight / weights : 0;

		s->disk_rate = rate / (d->c.budget * d->cpus) * account_disk_rate((double)d->c.daily);
		opens[i] = rate > 0 && !s->rate && !s->turns;
		s->rate = rate;
	}
	for (uint32_t i = 0; i < d->c.service_count; i++)
		if (opens[i])
			open_accounts(d, i, opens);
}

/* Those that its recorders have, and those that they could have. */
static unsigned roots_of(const struct daemon *d, uint32_t service)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->watched.count; i++) {
		const struct watched_process *p = &d->watched.at[i];

		n += p->service == service && p->root && p->old_enough;
	}
	return n;
}

/* All its recorders run, and there are more processes. */
static void begin_together(struct daemon *d, uint32_t service)
{
	unsigned all = roots_of(d, service);
	char text[300];

	if (all > MOST_PIDS) {
		snprintf(
			text, sizeof(text),
			"it has more processes than %u recorders of %u processes take at once, %u by now: those are recorded "
			"that fit, and others at the next turn; give `samples` for turns, or let narrower patterns say what it is",
			MOST_RECORDERS, MOST_PIDS, all);
		if (!d->services[service].crowded)
			say(SAY_WARN, "too-many", d->c.services[service].name, "%s", text);
		d->services[service].crowded = true;
		return;
	}
	d->services[service].crowded = false;
	end_service(d, service, RECORDER_TURN);
	say_seldom(d, SAY_INFO, "together", service,
		   "its recorders end, and one begins for all its processes; a moment between is not recorded");
}

/* The next look is so far off that looks take their part of the budget at most. */
static void space_scans(struct daemon *d, double took)
{
	double before = d->scan_every, least = took / (SCAN_PART * d->c.budget * d->cpus);

	d->scan_every = least > d->c.scan ? least : d->c.scan;
	d->next_scan = clock_now() + (uint64_t)(d->scan_every * 1e9);
	if (d->scan_every >= SCAN_TOLD * d->c.scan && before < SCAN_TOLD * d->c.scan)
		say(SAY_NOTICE, "scan", NULL,
		    "a look at %zu processes takes %.0f ms of a CPU: within limits.budget they are looked at every %.0f s, and new "
		    "ones are seen so much later",
		    d->watched.count, took * 1e3, d->scan_every);
}

static bool wants_start(const struct daemon *d, uint32_t service, uint64_t now)
{
	const struct service_state *s = &d->services[service];

	return !d->full && !d->stopping && now >= s->retry_at && turns_unrecorded(d, service) > 0;
}

/* Says so where its processes never get old enough: one that starts again each second is not recorded at all. */
static void look_for_young(struct daemon *d, uint32_t service, uint64_t now)
{
	const struct config_service *c = &d->c.services[service];
	struct service_state *s = &d->services[service];
	uint64_t long_ns = (uint64_t)(fmax(YOUNG_LEAST, YOUNG_TIMES * c->min_age) * SECOND);
	unsigned young = 0, old = 0;
	char text[300];

	for (size_t i = 0; i < d->watched.count; i++) {
		const struct watched_process *p = &d->watched.at[i];

		if (p->service == service && p->root)
			*(p->old_enough ? &old : &young) += 1;
	}
	if (old || (s->young_since && now - s->young_seen > long_ns / 2))
		s->young_since = 0;
	if (old || !young)
		return;
	s->young_seen = now;
	if (!s->young_since)
		s->young_since = now;
	if (now - s->young_since < long_ns)
		return;
	snprintf(
		text, sizeof(text),
		"its processes end before min_age (%g s), so none is recorded: find out why they do, or give a shorter min_age, or "
		"name what starts them, whose children are recorded with it",
		c->min_age);
	say_seldom(d, SAY_NOTICE, "short-lived", service, text);
}

/* What a service has that is not recorded now. */
static double savings_of(const struct daemon *d, uint32_t service)
{
	const struct service_state *s = &d->services[service];

	return s->rate > 0 && s->account.credit > 0 && !turns_running(d, service) ? s->account.credit : 0;
}

/* Of one that had none yet as much as the largest of those that record the same. */
static uint64_t memory_expected(const struct daemon *d, uint32_t service)
{
	uint64_t most = d->services[service].most_memory;

	for (size_t i = 0; i < d->c.service_count && !d->services[service].most_memory; i++)
		if (!strcmp(d->c.services[i].what, d->c.services[service].what) && d->services[i].most_memory > most)
			most = d->services[i].most_memory;
	return most ? most : ROOM_GUESS;
}

/* The recorder that runs longest ends its turn; what ends already gives its memory back in a moment. */
static void end_longest(struct daemon *d)
{
	const struct recorder *longest = NULL;

	for (size_t i = 0; i < d->recorder_count; i++) {
		const struct recorder *r = &d->recorders[i];

		if (r->pid > 0 && r->ending)
			return;
		if (r->pid > 0 && r->service != WATCHED_NONE && (!longest || r->looks > longest->looks))
			longest = r;
	}
	if (longest)
		end_service(d, longest->service, RECORDER_TURN);
}

/* Whether a turn of it has room beside those that run, and nobody waits for longer: else the limit would be met when it
 * has grown, and what its beginning took be lost. */
static bool turn_has_room(struct daemon *d, uint32_t service, uint64_t now)
{
	struct service_state *s = &d->services[service];
	uint64_t all = memory_of(getpid()) + memory_expected(d, service);
	unsigned running = 0;
	bool first = true;
	char text[300];

	for (size_t i = 0; i < d->recorder_count; i++) {
		const struct recorder *r = &d->recorders[i];
		uint64_t grown = r->service != WATCHED_NONE ? memory_expected(d, r->service) : 0;

		running += r->pid > 0;
		all += r->pid <= 0 ? 0 : r->memory > grown ? r->memory : grown;
	}
	for (size_t i = 0; i < d->c.service_count; i++)
		first = first && (i == service || !d->services[i].room_since ||
				  (s->room_since && s->room_since <= d->services[i].room_since));
	if (!running || turns_running(d, service) || (first && all <= d->c.memory))
		return true;
	if (!s->room_since)
		s->room_since = now;
	snprintf(
		text, sizeof(text),
		"limits.memory (%.0f MB) has no room for its recorder beside the others, so they take turns; for more at once "
		"raise it, or set `what: time`",
		(double)d->c.memory / 1048576);
	say_seldom(d, SAY_NOTICE, "memory", service, text);
	if (first && now - s->room_since >= ROOM_WAIT)
		end_longest(d);
	return false;
}

/* What those were seen to take that had a turn. */
static void learn_prices(struct daemon *d, uint32_t service)
{
	const struct turn_account *others[d->c.service_count];

	for (size_t i = 0; i < d->c.service_count; i++)
		others[i] = &d->services[i].account;
	account_learn(&d->services[service].account, others, (unsigned)d->c.service_count);
}

/* One that was never recorded takes what the others have saved, each its part: else where services are many and CPUs
 * are few all would wait for their own, and nothing at all be recorded meanwhile. */
static void begin_on_credit(struct daemon *d, uint32_t service)
{
	struct turn_account *a = &d->services[service].account;
	double lacks = account_lacks(a), others = 0, earned = 0, first = 0;
	char text[300];

	for (uint32_t i = 0; i < d->c.service_count; i++) {
		earned += d->services[i].rate;
		if (i <= service && d->services[i].rate > 0 && !d->services[i].turns)
			first += account_lacks(a) + a->credit;
		others += i != service ? savings_of(d, i) : 0;
	}
	if (lacks > others && earned > 0) {
		double left = (first - others - a->credit) / earned;

		snprintf(
			text, sizeof(text),
			"nothing is spent before limits.budget has room for it, so its first turn begins in about %.0f s; "
			"sooner: a larger budget",
			left);
		if (left > FIRST_TOLD_S && !d->services[service].waits_told)
			say(SAY_NOTICE, "by-turns", d->c.services[service].name, "%s", text);
		d->services[service].waits_told = true;
	}
	if (!(lacks > 0) || lacks > others)
		return;
	for (uint32_t i = 0; i < d->c.service_count; i++)
		d->services[i].account.credit -= i != service ? lacks * savings_of(d, i) / others : 0;
	a->credit += lacks;
}

void turns_scan(struct daemon *d)
{
	struct err e = { 0 };
	uint64_t now = clock_now();
	double began = own_cpu();

	if (watched_look(&d->watched, &d->c, &e)) {
		say(SAY_ERROR, "proc-unreadable", NULL, "%s; the next try is at the next scan", e.text);
		return;
	}
	space_scans(d, own_cpu() - began);
	split_budget(d);
	for (uint32_t i = 0; i < d->c.service_count; i++) {
		struct service_state *s = &d->services[i];
		bool may_start;

		look_for_young(d, i, now);
		may_start = wants_start(d, i, now);
		if (may_start && !s->turns) {
			learn_prices(d, i);
			begin_on_credit(d, i);
		}
		may_start = may_start && account_may(&s->account) && account_may(&s->disk) &&
			    pace_may(&s->pace, d->c.services[i].samples);
		if (!may_start)
			s->room_since = 0;
		if (!may_start || !turn_has_room(d, i, now))
			continue;
		s->room_since = 0;
		if (turns_running(d, i) < MOST_RECORDERS)
			begin_recorder(d, i);
		else
			begin_together(d, i);
	}
}

/* ---- while it runs */

/* It would write on until the next profile is due, and nobody could ever read that. */
static void end_removed(struct daemon *d, struct recorder *r)
{
	if (r->service != WATCHED_NONE)
		say_seldom(
			d, SAY_WARN, "disk-gone", r->service,
			"somebody removed the profile that is being written: its recorder ends, and another begins; leave profiles to "
			"storage.keep_age and keep_size");
	recorder_end(r, RECORDER_DISK);
}

void turns_rotate(struct daemon *d)
{
	for (size_t i = 0; i < d->recorder_count; i++) {
		struct recorder *r = &d->recorders[i];

		if (r->pid <= 0)
			continue;
		while (keeper_size(&d->keeper, r->folder, r->name, r->segment + 1) >= 0)
			r->segment++, d->next_sweep = 0;
		if (r->segment)
			recorder_has_file(r);
		if (r->segment && !r->ending && keeper_size(&d->keeper, r->folder, r->name, r->segment) < 0) {
			end_removed(d, r);
			continue;
		}
		if (r->segment && r->cut != r->segment &&
		    keeper_size(&d->keeper, r->folder, r->name, r->segment) >= (int64_t)d->c.segment_size) {
			r->cut = r->segment;
			recorder_next(r);
		}
	}
}

static void end_largest(struct daemon *d)
{
	struct recorder *largest = NULL;
	char text[400];

	for (size_t i = 0; i < d->recorder_count; i++) {
		struct recorder *r = &d->recorders[i];

		if (r->pid > 0 && r->ending && r->why == RECORDER_MEMORY)
			return; /* it gives its memory back in a moment */
		if (r->pid > 0 && !r->ending && (!largest || r->memory > largest->memory))
			largest = r;
	}
	if (!largest || largest->service == WATCHED_NONE)
		return;
	snprintf(
		text, sizeof(text),
		"all together hold more than limits.memory (%.0f MB), and its recorder is the largest: it ends, and begins anew in a "
		"minute; raise the limit, or watch less",
		(double)d->c.memory / 1048576);
	say_seldom(d, SAY_WARN, "memory", largest->service, text);
	d->services[largest->service].retry_at = clock_now() + MEMORY_REST;
	recorder_end(largest, RECORDER_MEMORY);
}

/* What reads profiles gives way to what records. */
static void end_reader(const struct daemon *d, pid_t pid)
{
	say(SAY_NOTICE, "memory", NULL,
	    "all together hold more than limits.memory (%.0f MB): process %d, which reads a profile for an answer or to send it, "
	    "ends; raise the limit, or watch less",
	    (double)d->c.memory / 1048576, pid);
	kill(-pid, SIGKILL);
}

/* Bytes that came into its files since the last time; they also shrink. */
static double written_since(const struct daemon *d, struct recorder *r)
{
	uint64_t now, before = r->written;

	/* names come into a file for some seconds after the next has begun */
	while (r->counted + 2 < r->segment) {
		int64_t size = keeper_size(&d->keeper, r->folder, r->name, ++r->counted);

		r->whole += size > 0 ? (uint64_t)size : 0;
	}
	now = r->whole;
	for (unsigned i = r->counted + 1; i <= r->segment; i++) {
		int64_t size = keeper_size(&d->keeper, r->folder, r->name, i);

		now += size > 0 ? (uint64_t)size : 0;
	}
	r->written = now;
	return (double)now - (double)before;
}

/* used: CPU seconds of its processes. */
static void book(struct daemon *d, uint32_t service, double cpu, double used, double bytes, double seconds)
{
	struct service_state *s = &d->services[service];
	const struct config_service *c = &d->c.services[service];

	s->cost += cpu;
	pace_record(&s->pace, seconds, effort_named(c->effort)->max_hz * used / seconds);
	if (!pace_may(&s->pace, c->samples) && turns_running(d, service)) {
		end_service(d, service, RECORDER_TURN);
		say_seldom(d, SAY_INFO, "by-samples", service,
			   "it gives more samples than its target, so it is recorded by turns");
	}
	account_spend(&s->disk, bytes, seconds);
	if (turns_running(d, service) && !account_may(&s->disk)) {
		end_service(d, service, RECORDER_TURN);
		tell_disk_part(d, service);
	}
	account_spend(&s->account, cpu, seconds);
	if (!turns_running(d, service) || account_young(&s->account) || account_may(&s->account))
		return;
	end_service(d, service, RECORDER_TURN);
	say_seldom(
		d, SAY_NOTICE, "by-turns", service,
		"its part of limits.budget is spent, so it is recorded by turns; more of it: a larger budget or weight, or "
		"`what: time`");
}

void turns_measure(struct daemon *d)
{
	uint64_t now = clock_now();
	double seconds = (double)(now - d->measured_at) / 1e9, own = own_cpu() - d->own_cpu, weights = 0;
	double spent[d->c.service_count + 1], used[d->c.service_count + 1], bytes[d->c.service_count + 1];
	pid_t reader;

	memset(spent, 0, sizeof(spent));
	memset(used, 0, sizeof(used));
	memset(bytes, 0, sizeof(bytes));
	d->measured_at = now;
	d->own_cpu += own;
	queries_earn(d, d->c.budget * d->cpus, seconds);
	own += d->queries.unbooked; /* what is asked of profiles is paid by all */
	d->queries.unbooked = 0;
	d->memory = memory_of(getpid()) + memory_of_readers(d, &reader);
	for (size_t i = 0; i < d->recorder_count; i++) {
		struct recorder *r = &d->recorders[i];
		double cpu = r->pid > 0 ? recorder_measure(r) : 0, target;

		d->memory += r->pid > 0 ? r->memory : 0;
		if (r->pid <= 0 || r->service == WATCHED_NONE)
			continue;
		if (r->memory > d->services[r->service].most_memory)
			d->services[r->service].most_memory = r->memory;
		target = watched_cpu_since(&d->watched, r->number);
		used[r->service] += target;
		bytes[r->service] += written_since(d, r);
		spent[r->service] += cpu + effort_named(d->c.services[r->service].effort)->budget * target;
	}
	for (size_t i = 0; i < d->c.service_count; i++)
		weights += d->services[i].rate;
	for (uint32_t i = 0; i < d->c.service_count; i++) {
		struct service_state *s = &d->services[i];

		/* what we take ourselves is not there to be spent */
		if (s->rate > 0)
			account_earn(&s->account, s->rate - own / seconds * s->rate / weights, seconds);
		if (s->rate > 0)
			account_earn(&s->disk, s->disk_rate, seconds);
		if (s->rate > 0)
			pace_pass(&s->pace, d->c.services[i].samples, seconds);
		if (turns_running(d, i))
			book(d, i, spent[i], used[i], bytes[i], seconds);
	}
	for (size_t i = 0; i < d->recorder_count; i++)
		if (d->recorders[i].service != WATCHED_NONE)
			recorder_limit(&d->recorders[i],
				       fmax(0, d->services[d->recorders[i].service].account.credit) + MOST_END_S);
	if (d->memory > d->c.memory && reader)
		end_reader(d, reader);
	else if (d->memory > d->c.memory)
		end_largest(d);
}

/* ---- ending */

/* No process of a recorder lives any more; one that waits for its parent has no program. */
static bool outlived_all(const struct daemon *d, uint32_t recorder)
{
	char path[40], program[1];

	for (size_t i = 0; i < d->watched.count; i++) {
		if (d->watched.at[i].recorder != recorder)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/exe", d->watched.at[i].pid);
		if (readlink(path, program, sizeof(program)) >= 0 || errno == EACCES || errno == EPERM)
			return false;
	}
	return true;
}

/* Where what it had to record is gone, what it says of that is no fault. */
static void tell_lines(struct daemon *d, struct recorder *r)
{
	const char *line;
	int level;

	while ((line = recorder_line(r, &level))) {
		if (level < SAY_NOTICE && r->service != WATCHED_NONE && outlived_all(d, r->number))
			level = SAY_NOTICE;
		if (r->service != WATCHED_NONE)
			say_seldom(d, (enum say_level)level, "recorder", r->service, line);
		else
			say((enum say_level)level, "recorder", r->folder, "%s", line);
	}
}

static bool took_no_sample(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == STATUS_NO_SAMPLE;
}

static void tell_recorder_end(struct daemon *d, const struct recorder *r, int status, bool gone)
{
	bool empty = took_no_sample(status);
	bool well = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || (empty && r->why != RECORDER_RUNS));
	char text[300];

	if (r->service == WATCHED_NONE)
		return;
	if (well || r->why != RECORDER_RUNS) { /* as we asked; or its processes have ended */
		if (well)
			d->services[r->service].failures = 0;
		else if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU))
			say_seldom(
				d, SAY_NOTICE, "recorder-slow", r->service,
				"its recorder took too long to end and was killed; the last profile is whole up to its last second, "
				"and names that it lacks are looked for when it is read");
		return;
	}
	if (gone && WIFEXITED(status)) {
		snprintf(
			text, sizeof(text),
			"its processes ended before %s: find out why they do, or give a longer min_age, or name what starts them, "
			"whose children are recorded with it",
			empty ? "a sample of them was taken"
			      : "they could be recorded, which takes a second or two to begin");
		say_seldom(d, SAY_NOTICE, "short-lived", r->service, text);
		return;
	}
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text),
			 "its recorder was ended by signal %d; what it wrote is whole up to the last second",
			 WTERMSIG(status));
	else
		snprintf(text, sizeof(text), "its recorder ended with status %d, and said why before",
			 WEXITSTATUS(status));
	failed_once(d, r->service, text);
}

void turns_reap(struct daemon *d)
{
	size_t left = 0;

	for (size_t i = 0; i < d->recorder_count; i++) {
		struct recorder *r = &d->recorders[i];
		double cpu = 0;
		int status = 0;
		bool ended = recorder_ended(r, &status, &cpu), gone = ended && outlived_all(d, r->number);

		tell_lines(d, r);
		recorder_press(r, d->stopping);
		if (!ended) {
			d->recorders[left++] = *r;
			continue;
		}
		if (r->service != WATCHED_NONE) {
			d->services[r->service].cost += cpu;
			account_spend_late(&d->services[r->service].account, cpu);
			account_spend_late(&d->services[r->service].disk, written_since(d, r));
		}
		watched_forget_recorder(&d->watched, r->number);
		if (r->service != WATCHED_NONE)
			d->services[r->service].rests_since = r->why == RECORDER_RUNS ? 0 : clock_now();
		tell_recorder_end(d, r, status, gone);
		/* of a service that begins each second there would be 86,400 a day, in the place of others' */
		if (gone && took_no_sample(status) && r->segment <= 1)
			keeper_drop(&d->keeper, r->folder, r->name, 1);
		recorder_release(r);
		d->next_sweep = 0;
	}
	d->recorder_count = left;
}
