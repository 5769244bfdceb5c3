// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/stretch_ticks.h"

#include <string.h>

static void forget_piece(struct stretch_ticks *t, size_t i)
{
	memmove(&t->open[i], &t->open[i + 1], (--t->count - i) * sizeof(t->open[0]));
}

static int write_oldest_piece(struct stretch_ticks *t, struct store_writer *to)
{
	struct fmt_segment_stretch first = t->open[0];

	forget_piece(t, 0);
	return store_put(to, FMT_SEGMENT_STRETCH, &first, sizeof(first));
}

void stretch_ticks_begin(struct stretch_ticks *t, uint32_t stretch, uint64_t from, uint64_t until)
{
	/* what samples of it are still to come will not be known: it tells nothing */
	if (t->count == STRETCH_TICKS_OPEN)
		forget_piece(t, 0);
	t->open[t->count++] = (struct fmt_segment_stretch){ .from = from, .until = until, .stretch = stretch };
}

void stretch_ticks_drop(struct stretch_ticks *t, uint32_t stretch)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->open[i].stretch == stretch)
			forget_piece(t, i--);
}

int stretch_ticks_sample(struct stretch_ticks *t, struct store_writer *to, const struct sample *m)
{
	int err = 0;

	if (m->kind != SAMPLE_TICK)
		return 0;
	while (!err && t->count && m->time > t->open[0].until)
		err = write_oldest_piece(t, to);
	if (t->count && m->time >= t->open[0].from && !(m->flags & (SF_KERNEL | SF_RETURNS))) {
		t->open[0].user_ns += (double)m->period;
		t->open[0].ticks++;
	}
	return err;
}

int stretch_ticks_flush(struct stretch_ticks *t, struct store_writer *to)
{
	int err = 0;

	while (!err && t->count)
		err = write_oldest_piece(t, to);
	return err;
}
