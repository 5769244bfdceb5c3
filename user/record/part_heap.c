// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_heap.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attr/attr.h"
#include "kmod-free/heap_probes.h"
#include "record/ledger.h"
#include "store/heap.h"
#include "measure/prices.h"
#include "util/clock.h"
#include "util/random.h"
#include "util/rights.h"

#define FIRST_NS 200000000ull /* after the start: some samples tell where the target runs */
#define TURN_NS 1000000000ull /* that probes stay, if hits do not end it before; by hand */
#define TURN_PAYS_S 3.0       /* of the account's earnings, for the hits of one turn... */
#define TURN_IDLE 2.0         /* ...or so many times what planting and removing probes costs in hits */
#define LEAST_HITS 300.0      /* of a turn: fewer tell little for what planting costs; by hand */
#define MOST_HITS 50000.0     /* of a turn; by hand */
#define IDLE_HITS 400.0       /* expected while probes are planted and removed, until some were counted */
#define PLANT_NS 100000.0     /* that planting and removing one place takes from the target */
#define HITS_SPEED 0.3        /* of the running mean of hits while probes are planted; by hand */
#define LEAST_PAUSE_NS 50e6   /* between turns; by hand */
#define LONGEST_PAUSE_NS 60e9 /* between turns: a minute of allocations goes unseen at most; by hand */
#define NONE_PAUSE_NS 1e9     /* where no allocator was found */
#define LEAST_PERIOD 16.0     /* bytes between blocks that are told; by hand */
#define FIRST_PERIOD 256.0    /* the same, until the mean size of blocks is known; by hand */

enum part_heap_stage { RESTS, PLANTS, TURN, REMOVES };

struct heap_part {
	struct session *s;
	struct ledger *ledger;
	struct heap_probes *probes; /* NULL once stopped */
	struct allocators *allocators;
	struct heap_opts o;
	double period, hit_ns, idle_hits;
	enum part_heap_stage stage;
	uint32_t pid, next_pid; /* of this turn; drawn from samples for the next */
	uint64_t ticks, chance;
	uint64_t next, begun, until;
	uint64_t hits, hits_before; /* booked; when this one's probes began to be planted */
	double planted;             /* ns booked for planting */
	uint32_t turn;
	struct {
		uint64_t turns, none, refused, denied, failed;
	} n;
	struct err why; /* of the last that was refused */
};

/* ---- what is seen ---- */

static int write_block(void *ctx, const struct heap_block *b)
{
	struct heap_part *p = ctx;
	struct fmt_heap_block r = { .born = b->at->time,
				    .addr = b->addr,
				    .bytes = b->bytes,
				    .period = p->period,
				    .turn = p->turn,
				    .pid = b->at->pid,
				    .tid = b->at->tid,
				    .role = b->role };

	r.stack = attr_stack(session_attr(p->s), b->at);
	return store_put(session_store(p->s), FMT_HEAP_BLOCK, &r, sizeof(r));
}

static int write_freed(void *ctx, const struct heap_freed *f)
{
	struct heap_part *p = ctx;
	struct fmt_heap_freed r = {
		.time = f->time, .addr = f->addr, .born = f->born, .pid = f->pid, .flags = f->again ? FMT_HEAP_AGAIN : 0
	};

	return store_put(session_store(p->s), FMT_HEAP_FREED, &r, sizeof(r));
}

static int read_allocations(struct heap_part *p)
{
	const struct heap_reader to = { .block = write_block, .freed = write_freed, .ctx = p };

	return heap_probes_read(p->probes, &to);
}

/* ---- what it costs ---- */

static double earns(const struct heap_part *p)
{
	return ledger_rate(p->ledger, ACCOUNT_HEAP) * ledger_running(p->ledger);
}

static double book_hits(struct heap_part *p)
{
	uint64_t hits = heap_probes_counter(p->probes, HC_HITS), more = hits - p->hits;
	double cost = session_coupled(p->s, (double)more * p->hit_ns);

	p->hits = hits;
	ledger_spend(p->ledger, ACCOUNT_HEAP, cost);
	return cost;
}

static double hits_of_turn(const struct heap_part *p)
{
	double pays = TURN_PAYS_S * 1e9 * earns(p) / p->hit_ns;

	return fmin(MOST_HITS, fmax(LEAST_HITS, fmax(pays, TURN_IDLE * p->idle_hits)));
}

/* ---- a turn ---- */

static void rest_for(struct heap_part *p, uint64_t now, double ns)
{
	p->stage = RESTS;
	p->next = now + (uint64_t)fmin(LONGEST_PAUSE_NS, fmax(LEAST_PAUSE_NS, ns));
}

static int begin_planting(struct heap_part *p, uint64_t now)
{
	int files[HEAP_FILES_MOST], n;
	struct err e = { 0 };

	p->pid = p->next_pid;
	p->next_pid = 0;
	p->ticks = 0;
	if (rights_check_process((pid_t)p->pid, &e)) {
		p->n.denied++;
		rest_for(p, now, NONE_PAUSE_NS);
		return 0;
	}
	n = allocators_of(p->allocators, (pid_t)p->pid, files, HEAP_FILES_MOST);
	if (n <= 0) {
		p->n.none += n == 0;
		rest_for(p, now, NONE_PAUSE_NS);
		return 0;
	}
	p->hits_before = p->hits = heap_probes_counter(p->probes, HC_HITS);
	if (heap_probes_attach(p->probes, (pid_t)p->pid, files, (unsigned)n)) {
		p->n.failed++;
		rest_for(p, now, NONE_PAUSE_NS);
		return 0;
	}
	p->stage = PLANTS;
	return 0;
}

static void open_turn(struct heap_part *p, uint64_t now)
{
	p->turn++;
	p->n.turns++;
	p->begun = now;
	p->until = now + TURN_NS;
	heap_probes_open(p->probes, p->turn, (uint64_t)hits_of_turn(p), p->period);
	p->stage = TURN;
}

static void planted(struct heap_part *p, uint64_t now, int there)
{
	if (there == 0)
		return;
	if (there < 0) {
		p->n.refused += there != -ESRCH;
		err_set(&p->why, there, "%s", strerror(-there));
		book_hits(p);
		rest_for(p, now, there == -ESRCH ? 0 : LONGEST_PAUSE_NS);
		return;
	}
	p->planted = session_coupled(p->s, 2 * PLANT_NS * heap_probes_planted(p->probes));
	ledger_spend(p->ledger, ACCOUNT_HEAP, p->planted);
	open_turn(p, now);
}

/* So that three of four are told: a hit is dearer than a stack. */
static void adapt_period(struct heap_part *p, const struct heap_turn_counts *c)
{
	if (!p->o.period && c->allocs)
		p->period = fmin(HEAP_PERIOD_MOST, fmax(LEAST_PERIOD, 0.7 * (double)c->bytes / (double)c->allocs));
}

static int end_turn(struct heap_part *p, uint64_t now, bool *over)
{
	struct heap_turn_counts c;
	struct fmt_heap_turn r;
	int err;

	heap_probes_close(p->probes, &c);
	err = read_allocations(p);
	*over = c.over_at != 0;
	r = (struct fmt_heap_turn){ .begin = p->begun,
				    .end = c.over_at > p->begun ? c.over_at : now,
				    .allocs = c.allocs,
				    .bytes = c.bytes,
				    .frees = c.frees,
				    .told = c.told,
				    .hits = c.hits,
				    .period = p->period,
				    .turn = p->turn,
				    .pid = p->pid,
				    .flags = c.over_at ? FMT_HEAP_OVER : 0 };
	adapt_period(p, &c);
	return err < 0 ? err : store_put(session_store(p->s), FMT_HEAP_TURN, &r, sizeof(r));
}

/* The next follows at once where hits are so few that they are paid for as they come. */
static int turn_ends(struct heap_part *p, uint64_t now)
{
	double cost = book_hits(p), length = (double)(now - p->begun);
	bool over;
	int err = end_turn(p, now, &over);

	if (err < 0)
		return err;
	if (!over && cost <= earns(p) * length && (!p->next_pid || p->next_pid == p->pid)) {
		open_turn(p, now);
		return 0;
	}
	heap_probes_detach(p->probes);
	p->stage = REMOVES;
	return 0;
}

static void removed(struct heap_part *p, uint64_t now)
{
	double all, idle;

	if (!heap_probes_idle(p->probes))
		return;
	book_hits(p);
	all = (double)(p->hits - p->hits_before);
	idle = fmax(0, all - fmin(all, hits_of_turn(p)));
	p->idle_hits += HITS_SPEED * (idle - p->idle_hits);
	rest_for(p, now,
		 (session_coupled(p->s, all * p->hit_ns) + p->planted) / earns(p) * (0.5 + random_unit(&p->chance)));
}

static int heap_poll(void *part, struct session *s, uint64_t now)
{
	struct heap_part *p = part;
	int err = 0;

	if (!p->probes)
		return 0;
	if (p->stage == RESTS) {
		/* the first is a debt, which delays the second */
		if (now < p->next || !p->next_pid ||
		    (p->n.turns &&
		     !ledger_allows(p->ledger, ACCOUNT_HEAP, (hits_of_turn(p) + p->idle_hits) * p->hit_ns)))
			return 0;
		err = begin_planting(p, now);
	} else {
		err = read_allocations(p);
	}
	now = clock_now();
	if (p->stage == PLANTS)
		planted(p, now, heap_probes_attached(p->probes));
	else if (p->stage == REMOVES)
		removed(p, now);
	else if (p->stage == TURN && err >= 0 && (now >= p->until || heap_probes_over(p->probes)))
		err = turn_ends(p, now);
	if (p->stage != RESTS)
		session_soon(s, 1);
	return err < 0 ? err : 0;
}

static int heap_fd(void *part)
{
	return heap_probes_fd(((struct heap_part *)part)->probes);
}

/* ---- the part ---- */

static int heap_sample(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct heap_part *p = part;

	if (!p->probes)
		return 0;
	/* each process as often as it runs */
	if (m->kind == SAMPLE_TICK && random_next(&p->chance) % ++p->ticks == 0)
		p->next_pid = m->pid;
	if ((m->kind == SAMPLE_EXIT && m->pid == m->tid) || (m->kind == SAMPLE_COMM && m->flags & SF_EXEC))
		heap_probes_forget(p->probes, (pid_t)m->pid);
	return 0;
}

static int heap_start(void *part, struct session *s, struct err *e)
{
	struct heap_part *p = part;

	p->next = clock_now() + FIRST_NS;
	return 0;
}

static void report_heap(struct heap_part *p)
{
	for (enum bpf_counter i = HC_HITS; i < HC_END; i++)
		if (counter_words(i)->text)
			session_count_bpf(p->s, i, heap_probes_counter(p->probes, i));
	session_count(p->s, "heap: turns", p->n.turns, false);
	session_count(p->s, "heap: turns not taken: no allocator was found", p->n.none, false);
	session_count(p->s, "heap: turns not taken: not yours to look into", p->n.denied, false);
	session_count(p->s, "heap: turns lost: probes were refused", p->n.refused + p->n.failed, true);
	session_count(p->s, "heap: functions not probed: where they end is not known",
		      allocators_without_exits(p->allocators), false);
	session_count(p->s, "heap: files not probed: too many", allocators_without_room(p->allocators), true);
	session_count(p->s, "heap: records lost: cannot be right", heap_probes_malformed(p->probes), true);
}

static int heap_second(void *part, struct session *s, uint64_t now)
{
	struct heap_part *p = part;

	if (p->probes)
		report_heap(p);
	return 0;
}

/* A turn belongs to one profile: stacks have other numbers in the next. */
static int heap_ending(void *part, struct session *s)
{
	struct heap_part *p = part;
	bool over;
	int err = 0;

	if (!p->probes || p->stage != TURN)
		return 0;
	book_hits(p);
	err = end_turn(p, clock_now(), &over);
	heap_probes_detach(p->probes);
	p->stage = REMOVES;
	return err;
}

static void heap_stop(void *part, struct session *s)
{
	struct heap_part *p = part;

	if (!p->probes)
		return;
	heap_ending(p, s);
	heap_probes_detach(p->probes);
	heap_probes_wait(p->probes);
	book_hits(p);
	report_heap(p);
	heap_probes_free(p->probes);
	p->probes = NULL;
}

static void heap_release(void *part)
{
	struct heap_part *p = part;

	heap_probes_free(p->probes);
	allocators_free(p->allocators);
	free(p);
}

const struct source source_heap = {
	.name = "heap",
	.summary = "allocations: where blocks are made, by probes on allocators that are there in turns",
	.needs = "bpf bpf-ring btf uprobe-multi",
	.start = heap_start,
	.sample = heap_sample,
	.fd = heap_fd,
	.poll = heap_poll,
	.second = heap_second,
	.ending = heap_ending,
	.stop = heap_stop,
	.release = heap_release,
};

bool heap_part_tell(const struct heap_part *p, char *why, size_t size)
{
	size_t len = 0;

	*why = 0;
	for (unsigned i = 0; i < p->o.own_cnt && len < size; i++)
		if (!p->o.own[i].found)
			len += (size_t)snprintf(why + len, size - len,
						"%sno function '%s' was met in the files that are mapped",
						len ? "; " : "", p->o.own[i].name);
	if (p->n.turns)
		return !len;
	if (len < size)
		snprintf(
			why + len, size - len, "%sno allocation was seen: %s%s", len ? "; " : "",
			p->n.refused ? "probes were refused: "
			: p->n.none
				? "no file of the target has a malloc() and a free() by symbol; --heap-probe names others"
			: p->n.denied ? "it is not yours to look into"
				      : "the recording was too short, or the target did not run",
			p->n.refused ? p->why.text : "");
	return false;
}

int heap_part_add(struct session *s, const struct heap_opts *o, struct heap_part **out, struct err *e)
{
	struct heap_part *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	*p = (struct heap_part){ .s = s,
				 .ledger = session_ledger(s),
				 .o = *o,
				 .period = o->period ? (double)o->period : FIRST_PERIOD,
				 .idle_hits = IDLE_HITS,
				 .chance = clock_now() | 1 };
	p->probes = heap_probes_new(e);
	p->allocators = p->probes ? allocators_new(p->probes, p->o.own, p->o.own_cnt) : NULL;
	if (!p->allocators) {
		err = e->code ? e->code : err_set(e, -ENOMEM, "out of memory");
		heap_release(p);
		return err;
	}
	price_measure(session_prices(s), PRICE_HEAP_HIT, NULL, p->probes);
	heap_probes_forget_counts(p->probes);
	p->hit_ns = fmax(100, price_of(session_prices(s), PRICE_HEAP_HIT));
	err = session_add(s, &source_heap, p, e);
	if (err)
		return err;
	ledger_use(session_ledger(s), ACCOUNT_HEAP);
	*out = p;
	return 0;
}
