// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_sysio.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "record/ledger.h"
#include "record/syscall_stretch.h"
#include "measure/prices.h"
#include "kmod-free/sampler.h"
#include "kmod-free/syscalls.h"
#include "kmod-free/sysio.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/random.h"

#define SECOND_NS 1000000000ull
#define RETRY_NS 20000000ull /* when the account does not afford a stretch yet */
#define EMPTY 16             /* records of stretches: a minute, at the rate at which an idle target is looked at */
#define ALIKE 4 /* stretches in one such record: more would make intervals wider than what was seen allows */

/* What the kernel has counted since the targets began, and when it was asked. */
struct part_sysio_sums {
	uint64_t of[SYSIO_SUMS], at;
};

struct sysio_part {
	struct session *s;
	struct ledger *ledger;
	struct sysio *sysio; /* NULL once stopped */
	struct sysio_costs costs;
	struct sysio_stats before, at_begin, stats; /* before: of the self-test */
	struct syscall_stretch plan;
	bool told;                             /* the kernel says what moved in all, */
	bool enclosed;                         /* and was asked at both ends of the last stretch */
	struct part_sysio_sums latest, opened; /* when last asked, and when the stretch began */
	struct part_sysio_sums written;        /* as of the last record that tells them */
	uint64_t described;                    /* up to here stretches are written */
	/* What a stretch saw, until it is over and known for how much time it stands. */
	struct fmt_sysio *held;
	size_t held_count, held_cap;
	/* Stretches that saw nothing, while nothing moved: an idle target's file grows by some at a time. */
	struct fmt_sysio_stretch empty[EMPTY];
	unsigned empty_count, alike; /* alike: stretches in the last of them */
	uint64_t stretches;
	uint64_t rate_at, rate_stretches, rate_calls; /* when last looked at, and how many there were */
	double rate;                                  /* as last written */
	uint64_t random;
	int epoll, timer;
	uint64_t wakes; /* when the timer expires */
};

static int hold_call(void *ctx, const struct sample *m)
{
	const struct sysdir *d = sysdir_find(m->syscall);
	struct sysio_part *c = ctx;

	if (!GROW(c->held, c->held_count, c->held_cap, 1024))
		return -ENOMEM;
	c->held[c->held_count++] = (struct fmt_sysio){
		.time = m->time,
		.addr = m->addr,
		.len = m->size,
		.weight = (double)m->period,
		.pid = m->pid,
		.tid = m->tid,
		.nr = m->syscall,
		.dir = m->flags & SF_STORE  ? FMT_IO_KERNEL_WRITES
		       : m->flags & SF_LOAD ? FMT_IO_KERNEL_READS
					    : FMT_IO_MAPS,
		.flags = (d && d->counts & SYSDIR_READ ? FMT_IO_READ : 0u) |
			 (d && d->counts & SYSDIR_WRITTEN ? FMT_IO_WRITTEN : 0u),
	};
	return 0;
}

/* A thread that is just ending may be in neither sum for a moment: what was counted stays counted. */
static bool read_sums(struct sysio_part *c)
{
	uint64_t of[SYSIO_SUMS], before = clock_now(), cpu = clock_cpu();

	if (!sysio_sums(c->sysio, of))
		return false;
	stretch_asked(&c->plan, (double)(clock_cpu() - cpu));
	for (int i = 0; i < SYSIO_SUMS; i++)
		c->latest.of[i] = of[i] > c->latest.of[i] ? of[i] : c->latest.of[i];
	c->latest.at = before + (clock_now() - before) / 2;
	return true;
}

/* What moved in all, and how long the targets ran, since this was written last. */
static void tell_sums(struct sysio_part *c, struct fmt_sysio_stretch *r)
{
	uint64_t all[SYSIO_SUMS];

	for (int i = 0; i < SYSIO_SUMS; i++)
		all[i] = c->latest.of[i] - c->written.of[i];
	r->moved[0] = all[SUM_READ];
	r->moved[1] = all[SUM_WRITTEN];
	r->ran_all_ns = all[SUM_RAN];
	c->written = c->latest;
}

/* Of the targets' CPU time between two questions what belongs to the stretch, which both enclose closely. */
static uint64_t ran_in(const struct sysio_part *c, const struct fmt_sysio_stretch *r)
{
	uint64_t ran = c->latest.of[SUM_RAN] - c->opened.of[SUM_RAN];
	double enclosed = (double)(c->latest.at - c->opened.at);

	return enclosed > 0 ? (uint64_t)((double)ran * (double)(r->end - r->begin) / enclosed) : 0;
}

static int write_empty(struct sysio_part *c)
{
	int err = 0;

	for (unsigned i = 0; i < c->empty_count && !err; i++)
		err = store_put(session_store(c->s), FMT_SYSIO_STRETCH, &c->empty[i], sizeof(c->empty[i]));
	c->empty_count = c->alike = 0;
	return err;
}

/* As one stretch, as long as all of them: what it stands for is the same. */
static bool joins_empty(struct sysio_part *c, const struct fmt_sysio_stretch *r)
{
	struct fmt_sysio_stretch *last = c->empty_count ? &c->empty[c->empty_count - 1] : NULL;
	double mine = (double)(r->end - r->begin), all;

	if (!last || c->alike == ALIKE || last->flags != r->flags)
		return false;
	all = (double)(last->end - last->begin) + mine;
	if (all > 0)
		last->weight += (r->weight - last->weight) * mine / all;
	last->end += r->end - r->begin;
	last->span_ns += r->span_ns;
	last->ran_ns += r->ran_ns;
	last->ran_all_ns += r->ran_all_ns;
	last->spent_ns += r->spent_ns;
	c->alike++;
	return true;
}

static int keep_empty(struct sysio_part *c, const struct fmt_sysio_stretch *r)
{
	int err;

	if (joins_empty(c, r))
		return 0;
	err = c->empty_count == EMPTY ? write_empty(c) : 0;
	c->empty[c->empty_count++] = *r;
	c->alike = 1;
	return err;
}

/* The stretch itself, which stands for `weight` times its length; 0: none, but the end. */
static int write_stretch(struct sysio_part *c, double weight)
{
	uint64_t now = clock_now();
	bool nothing = weight > 0 && !c->held_count;
	int err;
	struct fmt_sysio_stretch r = {
		.begin = weight > 0 ? c->plan.began : now,
		.end = weight > 0 ? c->plan.ended : now,
		.span_ns = now - c->described,
		.weight = weight,
		.flags = (c->told ? FMT_IOB_MOVED : 0u) | (c->enclosed ? FMT_IOB_RAN : 0u),
	};

	for (int i = 0; i < 2 && weight > 0; i++)
		r.seen[i] = c->stats.moved[i] - c->at_begin.moved[i];
	c->described = now;
	if (weight > 0)
		r.spent_ns = c->stats.spent_ns - c->at_begin.spent_ns;
	if (c->enclosed && weight > 0)
		r.ran_ns = ran_in(c, &r);
	else if (c->told && (!(weight > 0) || (double)(now - c->latest.at) >= stretch_rest(&c->plan)))
		read_sums(c);
	if (!(weight > 0) && c->latest.at > now) { /* the sums are as of then */
		r.begin = r.end = c->latest.at;
		r.span_ns += c->latest.at - now;
		c->described = c->latest.at;
	}
	if (c->latest.at != c->written.at)
		tell_sums(c, &r);
	for (int i = 0; i < 2; i++)
		nothing = nothing && !r.seen[i] && !r.moved[i];
	if (nothing)
		return keep_empty(c, &r);
	err = write_empty(c);
	return err ? err : store_put(session_store(c->s), FMT_SYSIO_STRETCH, &r, sizeof(r));
}

/* Writes what the last stretch saw. */
static int write_held_calls(struct sysio_part *c)
{
	int err = write_stretch(c, c->plan.factor);

	for (size_t i = 0; i < c->held_count && !err; i++) {
		c->held[i].weight *= c->plan.factor;
		err = store_put(session_store(c->s), FMT_SYSIO, &c->held[i], sizeof(c->held[i]));
	}
	c->held_count = 0;
	return err;
}

static void wake_at(struct sysio_part *c, uint64_t when)
{
	struct itimerspec t = { .it_value = { (time_t)(when / SECOND_NS), (long)(when % SECOND_NS) } };

	c->wakes = when;
	timerfd_settime(c->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static int begin_stretch(struct sysio_part *c, struct err *e)
{
	double rate = ledger_rate(c->ledger, ACCOUNT_SYSCALLS);
	uint64_t from;
	int err;

	sysio_stats(c->sysio, &c->at_begin);
	err = sysio_attach(c->sysio, e);
	if (err)
		return err;
	c->stretches++;
	/* where stretches follow each other the end of one is the beginning of the next */
	c->enclosed = c->told && stretch_encloses(&c->plan) &&
		      (clock_now() - c->latest.at <= STRETCH_OPENS_NS || read_sums(c));
	c->opened = c->latest;
	from = clock_now() + STRETCH_OPENS_NS;
	sysio_open(c->sysio, from, (uint64_t)stretch_limit(rate) + 1);
	wake_at(c, stretch_begin(&c->plan, from, rate));
	return 0;
}

static double others_lost(const struct sysio_part *c)
{
	return (double)(c->stats.others - c->at_begin.others) * c->costs.other_ns;
}

/* Ends the stretch under way; true if the next may begin at once. */
static bool end_stretch(struct sysio_part *c, uint64_t over_at)
{
	uint64_t now;
	double cost, earned;
	bool go_on;

	sysio_hush(c->sysio);
	now = clock_now();
	c->enclosed = c->enclosed && read_sums(c);
	sysio_stats(c->sysio, &c->stats);
	cost = (double)(c->stats.spent_ns - c->at_begin.spent_ns);
	earned = ledger_rate(c->ledger, ACCOUNT_SYSCALLS) * ledger_running(c->ledger);
	go_on = stretch_end(&c->plan, now, over_at, cost, earned, others_lost(c), random_unit(&c->random));
	sysio_read(c->sysio, hold_call, c);
	if (!go_on) {
		sysio_pause(c->sysio);
		cost += c->costs.attach_ns * ledger_running(c->ledger);
	}
	ledger_spend(c->ledger, ACCOUNT_SYSCALLS, cost);
	return go_on;
}

static int poll_stretch(struct sysio_part *c, uint64_t now)
{
	uint64_t over_at = sysio_over(c->sysio);
	bool go_on;
	int err;

	if (!stretch_due(&c->plan, now, over_at))
		return 0;
	go_on = end_stretch(c, over_at);
	err = write_held_calls(c);
	if (!go_on)
		wake_at(c, c->plan.next);
	return err || !go_on ? err : begin_stretch(c, NULL);
}

/* What moved while parts began is not the recording's. Of a command that waits to be let go nothing did, and its first
 * calls are. */
static void begin_sums(struct sysio_part *c)
{
	c->told = c->told && read_sums(c);
	c->written = c->latest;
	c->described = c->told ? c->latest.at : clock_now();
}

static int poll_pause(struct sysio_part *c, uint64_t now)
{
	if (!c->stretches && !session_targets(c->s)->child)
		begin_sums(c);
	if (now < c->plan.next)
		return 0;
	if (!stretch_on_credit(&c->plan) &&
	    !ledger_allows(c->ledger, ACCOUNT_SYSCALLS, stretch_needs(ledger_rate(c->ledger, ACCOUNT_SYSCALLS)))) {
		wake_at(c, now + RETRY_NS);
		return 0;
	}
	return begin_stretch(c, NULL);
}

static int sysio_part_on_poll(void *part, struct session *s, uint64_t now)
{
	struct sysio_part *c = part;
	uint64_t expired;
	int err;

	if (!c->sysio)
		return 0;
	err = sysio_read(c->sysio, hold_call, c);
	/* the recorder comes by hundreds of times a second */
	if (err >= 0 && now >= c->wakes && read(c->timer, &expired, sizeof(expired)) < 0 && errno != EAGAIN)
		err = -errno;
	return err < 0 ? err : c->plan.on ? poll_stretch(c, now) : poll_pause(c, now);
}

/* Where the sampler keeps no set of targets. */
static int own_targets(struct sysio_part *c, const struct targets *t, struct err *e)
{
	const char *why;

	if (!sampler_by_thread(session_sampler(c->s), &why))
		return 0;
	for (size_t i = 0; i < t->tid_count; i++)
		sysio_add(c->sysio, t->tids[i]);
	for (size_t i = 0; i < t->count && !t->tid_count; i++)
		sysio_add(c->sysio, t->procs[i].pid);
	return sysio_follow(c->sysio, !session_options(c->s)->no_inherit, e);
}

static int sysio_part_start(void *part, struct session *s, struct err *e)
{
	struct targets *t = session_targets(s);
	struct sysio_part *c = part;
	int err = 0;

	if (t->all)
		sysio_all(c->sysio);
	if (t->tid_count)
		sysio_threads(c->sysio);
	if (!t->all && t->cgroup_fd < 0)
		err = own_targets(c, t, e);
	c->told = !err && read_sums(c) && read_sums(c); /* the first brings the threads' data into the caches */
	c->written = c->latest;
	c->described = c->told ? c->latest.at : clock_now();
	/* the first stretch begins when the session has begun to poll: until then nobody would end it in time */
	wake_at(c, clock_now());
	return err;
}

static int sysio_part_fd(void *part)
{
	const struct sysio_part *c = part;

	return c->epoll;
}

static void write_rate(struct sysio_part *c, uint64_t now)
{
	if (c->rate_at)
		session_rate(c->s, "syscalls", now,
			     (double)(c->stretches - c->rate_stretches) * 1e9 / (double)(now - c->rate_at),
			     c->plan.observed, &c->rate);
	c->rate_at = now;
	c->rate_stretches = c->stretches;
	c->rate_calls = c->stats.calls;
}

static int sysio_part_on_second(void *part, struct session *s, uint64_t now)
{
	struct sysio_part *c = part;

	/* where nothing calls, how often was looked is no news */
	if (now - c->rate_at > SECOND_NS / 2 && (!c->rate_at || c->stats.calls != c->rate_calls))
		write_rate(c, now);
	if (c->sysio)
		sysio_stats(c->sysio, &c->stats);
	session_count_bpf(c->s, SC_SEEN, c->stats.calls - c->before.calls);
	session_count_bpf(c->s, SC_LOST, c->stats.lost - c->before.lost);
	session_count(c->s, "processes whose system calls were not observed", c->stats.not_observed, true);
	session_count_bpf(c->s, SC_CUT, c->stats.cut - c->before.cut);
	if (c->stats.malformed)
		session_count(c->s, "system calls lost: record cannot be right", c->stats.malformed, true);
	session_count_bpf(c->s, SC_URING, c->stats.uring - c->before.uring);
	session_count(c->s, "stretches in which system calls were observed", c->stretches, false);
	return 0;
}

/* What moved until now is this file's. */
static int sysio_part_ending(void *part, struct session *s)
{
	struct sysio_part *c = part;

	return c->sysio ? write_stretch(c, 0) : 0;
}

static void sysio_part_stop(void *part, struct session *s)
{
	struct sysio_part *c = part;

	if (!c->sysio)
		return;
	if (c->plan.on) {
		end_stretch(c, sysio_over(c->sysio));
		write_held_calls(c);
	}
	sysio_pause(c->sysio);
	write_stretch(c, 0);
	sysio_stats(c->sysio, &c->stats);
	sysio_free(c->sysio);
	c->sysio = NULL;
}

static void sysio_part_release(void *part)
{
	struct sysio_part *c = part;

	sysio_free(c->sysio);
	free(c->held);
	if (c->timer >= 0)
		close(c->timer);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c);
}

static bool add_to_epoll(struct sysio_part *c, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return !epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static void price_calls(struct sysio_part *c, struct prices *p)
{
	price_measure(p, PRICE_CALL_PASSED, NULL, c->sysio);
	c->costs = (struct sysio_costs){
		.pass_ns = price_of(p, PRICE_CALL_PASSED),
		.take_ns = fmax(price_of(p, PRICE_CALL_TAKEN), price_of(p, PRICE_CALL_PASSED)),
		.other_ns = price_of(p, PRICE_CALL_OTHER),
		.attach_ns = price_of(p, PRICE_CALL_ATTACH),
	};
}

static struct sysio_part *sysio_part_new(struct session *s, struct err *e)
{
	struct sysio_part *c = calloc(1, sizeof(*c));
	struct sysio_opts o = { .targets_fd = sampler_targets_fd(session_sampler(s)) };
	int cgroup = session_targets(s)->cgroup_fd;

	if (!c) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	*c = (struct sysio_part){ .s = s, .ledger = session_ledger(s), .random = clock_now() | 1 };
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	c->sysio = sysio_new(&o, e);
	if (c->sysio &&
	    (c->epoll < 0 || c->timer < 0 || !add_to_epoll(c, c->timer) || !add_to_epoll(c, sysio_fd(c->sysio)))) {
		err_set(e, -errno, "cannot wait for system calls: %s", strerror(errno));
		sysio_free(c->sysio);
		c->sysio = NULL;
	}
	if (!c->sysio) {
		sysio_part_release(c);
		return NULL;
	}
	price_calls(c, session_prices(s));
	sysio_set_costs(c->sysio, &c->costs);
	if (cgroup >= 0 && sysio_cgroup(c->sysio, cgroup, e)) {
		sysio_part_release(c);
		return NULL;
	}
	sysio_stats(c->sysio, &c->before);
	stretch_init(&c->plan, session_options(s)->budget, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	return c;
}

const struct source source_syscalls = {
	.name = "syscalls",
	.summary = "memory that system calls read and write, in stretches",
	.needs = "bpf bpf-ring btf",
	.start = sysio_part_start,
	.fd = sysio_part_fd,
	.poll = sysio_part_on_poll,
	.second = sysio_part_on_second,
	.ending = sysio_part_ending,
	.stop = sysio_part_stop,
	.counts_all = true,
	.release = sysio_part_release,
};

int sysio_part_add(struct session *s, struct err *e)
{
	struct sysio_part *c = sysio_part_new(s, e);
	int err;

	if (!c)
		return e->code;
	err = session_add(s, &source_syscalls, c, e);
	if (!err)
		ledger_use(session_ledger(s), ACCOUNT_SYSCALLS);
	return err;
}
