// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/calls.h"

#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/map.h"

#define OPEN_MAX (1u << 18)       /* calls under way at once; by hand */
#define MARKS_MAX (1u << 18)      /* the same of markers */
#define QUEUES_MAX (2 * OPEN_MAX) /* half of them are empty then, and can go */
/* A wait shorter than this found the work already done: when, nobody saw. */
#define WAIT_FOUND_DONE_NS 2000.0
#define NOWHERE UINT32_MAX

struct open_call {
	struct fmt_call call;
	double inside_ns;
	uint64_t queue_key;
	uint32_t prev, next; /* of the same queue, oldest first */
	uint16_t family;
	bool used;
};

struct calls_queue {
	uint64_t key;
	uint32_t pid;
	uint16_t family;
	uint32_t first, last;
};

struct marked {
	uint64_t key, queue_key, time;
};

struct calls {
	double inside_ns[FMT_PROBE_CLASSES];
	void (*out)(void *ctx, const struct fmt_call *c);
	void *ctx;
	struct open_call *open;
	uint32_t open_cnt, open_cap, free_first;
	struct calls_queue *queues;
	uint32_t queues_cnt, queues_cap;
	struct map queue_of; /* key -> index + 1 */
	struct marked *marks;
	uint32_t marks_cnt, marks_cap;
	struct map mark_of; /* event key -> index + 1 */
	struct calls_count count;
};

struct calls *calls_new(void (*out)(void *ctx, const struct fmt_call *c), void *ctx)
{
	struct calls *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->out = out;
	c->ctx = ctx;
	c->free_first = NOWHERE;
	return c;
}

void calls_price(struct calls *c, const double inside_ns[FMT_PROBE_CLASSES])
{
	for (unsigned i = 0; i < FMT_PROBE_CLASSES; i++)
		c->inside_ns[i] = inside_ns[i] > 0 ? inside_ns[i] : 0;
}

void calls_free(struct calls *c)
{
	if (!c)
		return;
	map_release(&c->queue_of);
	map_release(&c->mark_of);
	free(c->open);
	free(c->queues);
	free(c->marks);
	free(c);
}

const struct calls_count *calls_count(const struct calls *c)
{
	return &c->count;
}

static uint64_t mix_keys(uint64_t a, uint64_t b)
{
	a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
	a ^= a >> 31;
	a *= 0xbf58476d1ce4e5b9ull;
	a ^= a >> 29;
	return a ? a : 1;
}

static uint64_t handle_key(uint32_t pid, uint16_t family, uint64_t handle)
{
	return mix_keys(mix_keys((uint64_t)pid << 16 | family, 0), handle);
}

static uint64_t queue_key(const struct offload_event *ev, const struct calls_probe *p)
{
	/* Queue 0 of a per-thread twin is another queue for each thread. */
	if (p->per_thread && !ev->queue)
		return handle_key(ev->pid, p->family, (uint64_t)ev->tid | 1ull << 63);
	return handle_key(ev->pid, p->family, ev->queue);
}

static void index_queue(struct calls *c, uint32_t i)
{
	uint64_t *at = map_get(&c->queue_of, c->queues[i].key);

	if (at)
		*at = i + 1;
}

/* Of this process; 0: of all. A target that has a new queue for each of its calls leaves as many. */
static void drop_empty(struct calls *c, uint32_t pid)
{
	for (uint32_t i = c->queues_cnt; i-- > 0;) {
		struct calls_queue *q = &c->queues[i];

		if (q->first != NOWHERE || (pid && q->pid != pid))
			continue;
		map_del(&c->queue_of, q->key);
		*q = c->queues[--c->queues_cnt];
		if (i < c->queues_cnt)
			index_queue(c, i);
	}
}

static struct calls_queue *queue_get(struct calls *c, uint64_t key, bool make, uint32_t pid, uint16_t family)
{
	uint64_t *at = map_get(&c->queue_of, key);
	struct calls_queue *q;

	if (at && *at)
		return &c->queues[*at - 1];
	if (!make)
		return NULL;
	if (c->queues_cnt == QUEUES_MAX)
		drop_empty(c, 0);
	if (c->queues_cnt == QUEUES_MAX || !GROW(c->queues, c->queues_cnt, c->queues_cap, 64))
		return NULL;
	at = map_put(&c->queue_of, key, NULL);
	if (!at)
		return NULL;
	q = &c->queues[c->queues_cnt++];
	*q = (struct calls_queue){ .key = key, .pid = pid, .family = family, .first = NOWHERE, .last = NOWHERE };
	*at = c->queues_cnt;
	return q;
}

static void give(struct calls *c, struct fmt_call *call)
{
	c->count.calls++;
	if (call->flags & FMT_CALL_OPEN)
		c->count.open++;
	c->out(c->ctx, call);
}

static void unlink_call(struct calls *c, struct calls_queue *q, uint32_t i)
{
	struct open_call *o = &c->open[i];

	if (o->prev == NOWHERE)
		q->first = o->next;
	else
		c->open[o->prev].next = o->next;
	if (o->next == NOWHERE)
		q->last = o->prev;
	else
		c->open[o->next].prev = o->prev;
	o->used = false;
	o->next = c->free_first;
	c->free_first = i;
}

static void give_open(struct calls *c, struct calls_queue *q)
{
	while (q->first != NOWHERE) {
		uint32_t i = q->first;

		c->open[i].call.flags |= FMT_CALL_OPEN;
		give(c, &c->open[i].call);
		unlink_call(c, q, i);
	}
}

/* The stamps are of the monotonic clock, which no setting of the time steps; should they run backward
 * all the same, the difference is no time. */
static double elapsed(uint64_t from, uint64_t to)
{
	return (double)(int64_t)(to - from);
}

/* The time between two stamps without the probes' share; false: it is not above that share. */
static bool clean_ns(double raw, double cost, uint64_t *ns)
{
	if (raw - cost < 1) {
		*ns = 0;
		return false;
	}
	*ns = (uint64_t)(raw - cost + 0.5);
	return true;
}

static double inside_of(const struct calls *c, const struct calls_probe *p)
{
	return c->inside_ns[p->cost < FMT_PROBE_CLASSES ? p->cost : FMT_PROBE_UNKNOWN];
}

static struct fmt_call call_of(const struct calls *c, const struct offload_event *ev, const struct calls_probe *p)
{
	struct fmt_call f = {
		.submit = ev->entry,
		.returned = ev->ret,
		.bytes_in = ev->in,
		.bytes_out = ev->out,
		.items = ev->items,
		.queue = ev->queue,
		.weight = ev->weight ? ev->weight : 1,
		.api = p->api,
		.pid = ev->pid,
		.tid = ev->tid,
		.batch = 1,
		.level = ev->level,
	};

	f.flags |= ev->flags & WO_IN ? FMT_CALL_IN : 0;
	f.flags |= ev->flags & WO_OUT ? FMT_CALL_OUT : 0;
	f.flags |= ev->flags & WO_ITEMS ? FMT_CALL_ITEMS : 0;
	f.flags |= ev->flags & WO_FAILED ? FMT_CALL_FAILED : 0;
	f.flags |= ev->flags & WO_INSIDE ? FMT_CALL_INSIDE : 0;
	f.flags |= ev->flags & WO_EITHER ? FMT_CALL_EITHER : 0;
	f.flags |= ev->flags & WO_LEVEL ? FMT_CALL_LEVEL : 0;
	if (!(ev->flags & WO_IN))
		f.bytes_in = 0;
	if (!(ev->flags & WO_OUT))
		f.bytes_out = 0;
	if (!ev->ret) {
		f.flags |= FMT_CALL_OPEN;
		return f;
	}
	if (ev->voluntary | ev->involuntary)
		f.flags |= FMT_CALL_SWITCHED;
	if (ev->voluntary)
		f.flags |= FMT_CALL_BLOCKED;
	if (ev->flags & WO_UNTIMED) { /* when it ended is not known, only that it began */
		f.flags |= FMT_CALL_ENTERED;
		f.returned = f.submit_ns = 0;
		return f;
	}
	if (ev->flags & WO_KERNEL) {
		f.flags |= FMT_CALL_ASYNC;
		if (clean_ns(elapsed(ev->entry, ev->ret), 0, &f.busy_ns))
			f.flags |= FMT_CALL_TIMED;
		f.complete = ev->ret;
		f.returned = 0;
		return f;
	}
	clean_ns(elapsed(ev->entry, ev->ret), inside_of(c, p), &f.submit_ns);
	if (clean_ns((double)ev->cpu, inside_of(c, p), &f.cpu_ns))
		f.flags |= FMT_CALL_CPU;
	return f;
}

static void finish_sync(struct calls *c, struct fmt_call *f)
{
	if (!(f->flags & (FMT_CALL_OPEN | FMT_CALL_ASYNC | FMT_CALL_ENTERED))) {
		f->complete = f->returned;
		f->busy_ns = f->submit_ns;
		if (f->busy_ns)
			f->flags |= FMT_CALL_TIMED;
	}
	give(c, f);
}

static void keep_open(struct calls *c, const struct fmt_call *f, uint64_t key, const struct calls_probe *p)
{
	struct calls_queue *q = queue_get(c, key, true, f->pid, p->family);
	struct open_call *o;
	uint32_t i;

	if (!q ||
	    (c->free_first == NOWHERE && (c->open_cnt >= OPEN_MAX || !GROW(c->open, c->open_cnt, c->open_cap, 256)))) {
		struct fmt_call left = *f;

		left.flags |= FMT_CALL_OPEN;
		c->count.dropped++;
		give(c, &left);
		return;
	}
	if (c->free_first != NOWHERE) {
		i = c->free_first;
		c->free_first = c->open[i].next;
	} else {
		i = c->open_cnt++;
	}
	o = &c->open[i];
	*o = (struct open_call){ .call = *f,
				 .inside_ns = inside_of(c, p),
				 .queue_key = key,
				 .family = p->family,
				 .prev = q->last,
				 .next = NOWHERE,
				 .used = true };
	if (q->last == NOWHERE)
		q->first = i;
	else
		c->open[q->last].next = i;
	q->last = i;
}

static void remember_event(struct calls *c, uint64_t event, uint64_t qkey, uint64_t time)
{
	uint64_t *at;

	/* A program that never reuses handles must not cost memory for ever; the oldest are
	 * forgotten together, and their waits complete nothing. */
	if (c->marks_cnt == MARKS_MAX) {
		map_release(&c->mark_of);
		c->mark_of = (struct map){ 0 };
		c->marks_cnt = 0;
	}
	at = map_put(&c->mark_of, event, NULL);
	if (!at)
		return;
	if (!*at) {
		if (!GROW(c->marks, c->marks_cnt, c->marks_cap, 64)) {
			map_del(&c->mark_of, event);
			return;
		}
		*at = ++c->marks_cnt;
	}
	c->marks[*at - 1] = (struct marked){ .key = event, .queue_key = qkey, .time = time };
}

/* What was submitted to q before `until` is done when the wait returns; inside_ns: of the wait's probe. */
static unsigned complete_queue(struct calls *c, struct calls_queue *q, uint64_t until, const struct offload_event *wait,
			       double inside_ns)
{
	struct fmt_call w_part = { 0 };
	unsigned batch = 0, at = 0;
	bool known;

	for (uint32_t i = q->first; i != NOWHERE && c->open[i].call.submit < until; i = c->open[i].next)
		batch++;
	if (!batch)
		return 0;
	known = clean_ns(elapsed(wait->entry, wait->ret), inside_ns, &w_part.wait_ns);
	clean_ns((double)wait->cpu, inside_ns, &w_part.cpu_ns);
	while (at++ < batch) {
		uint32_t i = q->first;
		struct fmt_call f = c->open[i].call;
		double cost = c->open[i].inside_ns;

		f.wait = wait->entry;
		f.complete = wait->ret;
		f.wait_ns = w_part.wait_ns;
		f.batch = batch;
		/* The probe's share: of the submission, and of the wait where it is in between. */
		cost += wait->entry > f.returned ? inside_ns : 0;
		if (clean_ns(elapsed(f.submit, f.complete), cost, &f.busy_ns))
			f.flags |= FMT_CALL_TIMED;
		/* Those before the last of a batch may have been done earlier, and so may all when
		 * the wait did not wait. What a submission hands back it has finished itself. */
		if (at < batch || !known || (wait->kind != PK_SUBMIT && (double)w_part.wait_ns < WAIT_FOUND_DONE_NS))
			f.flags |= FMT_CALL_LATE;
		if (wait->voluntary)
			f.flags |= FMT_CALL_BLOCKED;
		/* A switch that is the waiting itself is no disturbance; an involuntary one is. */
		if (wait->involuntary)
			f.flags |= FMT_CALL_SWITCHED;
		if (f.flags & FMT_CALL_CPU)
			f.cpu_ns += w_part.cpu_ns / batch;
		give(c, &f);
		unlink_call(c, q, i);
	}
	return batch;
}

static unsigned complete_event(struct calls *c, uint64_t event, const struct offload_event *wait, double inside_ns)
{
	uint64_t *at = map_get(&c->mark_of, event);
	struct calls_queue *q;

	if (!at || !*at)
		return 0;
	q = queue_get(c, c->marks[*at - 1].queue_key, false, 0, 0);
	return q ? complete_queue(c, q, c->marks[*at - 1].time + 1, wait, inside_ns) : 0;
}

static void on_wait(struct calls *c, const struct offload_event *ev, const struct calls_probe *p, unsigned scope)
{
	unsigned done = 0;

	if (!ev->ret || (ev->flags & (WO_FAILED | WO_UNTIMED)))
		return;
	c->count.waits++;
	if (scope == PS_ALL) {
		for (uint32_t i = 0; i < c->queues_cnt; i++)
			if (c->queues[i].pid == ev->pid && c->queues[i].family == p->family)
				done += complete_queue(c, &c->queues[i], ev->entry, ev, inside_of(c, p));
	} else if (scope == PS_EVENT) {
		for (uint32_t i = 0; i < ev->events_cnt && i < PROBE_EVENTS; i++)
			done += complete_event(c, handle_key(ev->pid, p->family, ev->events[i]), ev, inside_of(c, p));
	} else {
		struct calls_queue *q = queue_get(c, queue_key(ev, p), false, 0, 0);

		if (q)
			done = complete_queue(c, q, ev->entry, ev, inside_of(c, p));
	}
	if (!done)
		c->count.empty_waits++;
}

void calls_add(struct calls *c, const struct offload_event *ev, const struct calls_probe *p, uint32_t site,
	       uint32_t stack)
{
	uint64_t qkey = queue_key(ev, p);
	struct fmt_call f;

	switch (ev->kind) {
	case PK_WAIT: on_wait(c, ev, p, p->scope); return;
	case PK_EVENT:
		if (ev->ret && ev->events_cnt)
			remember_event(c, handle_key(ev->pid, p->family, ev->events[0]), qkey, ev->entry);
		return;
	case PK_SUBMIT:
		f = call_of(c, ev, p);
		f.site = site;
		f.stack = stack;
		f.flags |= FMT_CALL_ASYNC;
		if (!ev->ret || (f.flags & FMT_CALL_FAILED)) {
			f.flags |= FMT_CALL_OPEN;
			give(c, &f);
			return;
		}
		if (ev->events_cnt)
			remember_event(c, handle_key(ev->pid, p->family, ev->events[0]), qkey, ev->entry);
		keep_open(c, &f, qkey, p);
		if (ev->events_cnt > 1) /* of a manager that hands back an earlier job */
			complete_event(c, handle_key(ev->pid, p->family, ev->events[1]), ev, inside_of(c, p));
		return;
	default:
		f = call_of(c, ev, p);
		f.site = site;
		f.stack = stack;
		finish_sync(c, &f);
		if (p->completes && ev->ret && !(f.flags & FMT_CALL_FAILED)) {
			struct calls_queue *q = queue_get(c, qkey, false, 0, 0);

			if (q)
				complete_queue(c, q, ev->entry, ev, inside_of(c, p));
		}
	}
}

void calls_process_end(struct calls *c, uint32_t pid)
{
	for (uint32_t i = 0; i < c->queues_cnt; i++)
		if (c->queues[i].pid == pid)
			give_open(c, &c->queues[i]);
	drop_empty(c, pid);
}

uint32_t calls_queues(const struct calls *c)
{
	return c->queues_cnt;
}

/* Marks of events stay: they are bounded, and their calls may be under way. */
void calls_next_profile(struct calls *c)
{
	drop_empty(c, 0);
	for (uint32_t i = 0; i < c->open_cnt; i++)
		c->open[i].call.site = c->open[i].call.stack = 0;
}

void calls_end(struct calls *c)
{
	for (uint32_t i = 0; i < c->queues_cnt; i++)
		give_open(c, &c->queues[i]);
}
