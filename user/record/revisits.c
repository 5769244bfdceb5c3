// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/revisits.h"

#include <stdlib.h>
#include <string.h>

#include "format.h"

/* Looks come 4, 17, 67, 268 ms, 1.1, 4.3 and 17.2 s after the first. */
#define LOOKS 7           /* the last comes within a short recording */
#define FIRST_NS 4194304u /* less than a round of most servers; by hand */
#define TIMES_SHIFT 2     /* each look comes four times as late as the one before */
#define WAITING 1024      /* for one look: at 60 a second, what comes within the longest pause */

struct revisits_word {
	uint64_t addr, first, same; /* times of the first look, and of the last that found it unchanged */
	uint32_t pid, site, size;
	uint8_t bytes[REVISIT_BYTES];
};

/* Those that wait for one look: in order of their time. */
struct waiting {
	struct revisits_word word[WAITING];
	uint32_t first, count;
};

struct revisits {
	struct store_writer *w;
	revisit_read *read;
	uint64_t dropped;
	struct waiting look[LOOKS];
};

struct revisits *revisits_new(struct store_writer *w, revisit_read *read)
{
	struct revisits *v = calloc(1, sizeof(*v));

	if (v) {
		v->w = w;
		v->read = read;
	}
	return v;
}

void revisits_free(struct revisits *v)
{
	free(v);
}

uint64_t revisits_dropped(const struct revisits *v)
{
	return v->dropped;
}

static uint64_t time_of_look(const struct revisits_word *x, unsigned look)
{
	return x->first + ((uint64_t)FIRST_NS << TIMES_SHIFT * look);
}

/* changed: when it was found so; 0: it never was. */
static int put_word(struct revisits *v, const struct revisits_word *x, uint64_t changed)
{
	struct fmt_burst_revisit rec = { .time = x->first,
					 .site = x->site,
					 .size = x->size,
					 .same_ns = x->same - x->first,
					 .changed_ns = changed ? changed - x->first : 0 };

	return rec.same_ns || rec.changed_ns ? store_put(v->w, FMT_BURST_REVISIT, &rec, sizeof(rec)) : 0;
}

static int queue_for(struct revisits *v, const struct revisits_word *x, unsigned look)
{
	struct waiting *q = look < LOOKS ? &v->look[look] : NULL;

	if (q && q->count < WAITING) {
		q->word[(q->first + q->count++) % WAITING] = *x;
		return 0;
	}
	v->dropped += look == 0;
	return put_word(v, x, 0);
}

int revisits_add(struct revisits *v, uint32_t pid, uint32_t site, uint64_t addr, uint32_t size, uint64_t now)
{
	struct revisits_word x = { .addr = addr, .first = now, .same = now, .pid = pid, .site = site };

	x.size = size < REVISIT_BYTES ? size : REVISIT_BYTES;
	if (v->read(pid, addr, x.bytes, x.size) != (ssize_t)x.size)
		return 0;
	return queue_for(v, &x, 0);
}

static int look_once_more(struct revisits *v, struct revisits_word *x, unsigned look, uint64_t now)
{
	uint8_t bytes[REVISIT_BYTES];

	if (v->read(x->pid, x->addr, bytes, x->size) != (ssize_t)x->size)
		return put_word(v, x, 0);
	if (memcmp(bytes, x->bytes, x->size))
		return put_word(v, x, now);
	x->same = now;
	return queue_for(v, x, look + 1);
}

int revisits_poll(struct revisits *v, uint64_t now)
{
	int err = 0;

	for (unsigned k = 0; k < LOOKS; k++)
		for (struct waiting *q = &v->look[k]; !err && q->count && time_of_look(&q->word[q->first], k) <= now;) {
			struct revisits_word x = q->word[q->first];

			q->first = (q->first + 1) % WAITING;
			q->count--;
			err = look_once_more(v, &x, k, now);
		}
	return err;
}

static int empty(struct revisits *v, bool all, uint32_t pid)
{
	int err = 0;

	for (unsigned k = 0; k < LOOKS; k++) {
		struct waiting *q = &v->look[k];
		uint32_t kept = 0;

		for (uint32_t i = 0; i < q->count; i++) {
			struct revisits_word *x = &q->word[(q->first + i) % WAITING];

			if (!all && x->pid != pid)
				q->word[(q->first + kept++) % WAITING] = *x;
			else if (!err)
				err = put_word(v, x, 0);
		}
		q->count = kept;
	}
	return err;
}

int revisits_forget(struct revisits *v, uint32_t pid)
{
	return empty(v, false, pid);
}

int revisits_end(struct revisits *v)
{
	return empty(v, true, 0);
}
