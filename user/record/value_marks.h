/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks of what bursts read and wrote (fmt_burst_item.mark): whether two values are alike is told, and what kind they
 * are, never the values. Which one it is becomes a sum with a salt that is drawn here, and written nowhere. Included by
 * emulate.c and tests.
 *
 * To tell another kind apart: a value of enum fmt_mark_kind, and kind_of() here.
 */
#ifndef ACCPERF_RECORD_VALUE_MARKS_H
#define ACCPERF_RECORD_VALUE_MARKS_H

#include <stdint.h>

#include "emu/emu.h"
#include "record/emulate_env.h"

#define VALUE_RANGES 8 /* found last, a few of which most addresses lie in; a power of two */

struct value_marks {
	const struct emulate_env *sees;
	uint64_t salt;
	struct value_range {
		uint64_t start, end;
		unsigned kind;
	} range[VALUE_RANGES];
};

void value_marks_begin(struct value_marks *v, const struct emulate_env *sees);
/* Addresses may mean something else from now on. */
void value_marks_forget(struct value_marks *v);
/* 0: not known. */
uint16_t value_marks_of(struct value_marks *v, const struct emu_access *a);

#endif
