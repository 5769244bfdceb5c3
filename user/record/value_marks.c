// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/value_marks.h"

#include <string.h>
#include <sys/random.h>

#include "format.h"
#include "util/clock.h"

#define SMALL 4096           /* flags, sizes, states */
#define LOWEST (1u << 16)    /* address that a program may map: vm.mmap_min_addr, as kernels come */
#define HIGHEST (1ull << 47) /* and 1 more: of user code in four levels of tables */
#define RANGE_BITS 21        /* addresses this near to one another are looked up in one place: a huge page */

void value_marks_begin(struct value_marks *v, const struct emulate_env *sees)
{
	*v = (struct value_marks){ .sees = sees };
	/* never at fault but in a system that has hardly begun */
	if (getrandom(&v->salt, sizeof(v->salt), GRND_NONBLOCK) != sizeof(v->salt))
		v->salt = clock_now();
}

void value_marks_forget(struct value_marks *v)
{
	memset(v->range, 0, sizeof(v->range));
}

/* What an address points to; FMT_MARK_UNKNOWN: it is none. */
static unsigned kind_of_address(struct value_marks *v, uint64_t addr)
{
	struct value_range *r = &v->range[addr >> RANGE_BITS & (VALUE_RANGES - 1)];
	struct place at;

	if (addr < LOWEST || addr >= HIGHEST)
		return FMT_MARK_UNKNOWN;
	if (addr >= r->start && addr < r->end)
		return r->kind;
	if (!emulate_env_mapped(v->sees, addr, &at))
		return FMT_MARK_UNKNOWN;
	*r = (struct value_range){ at.map.start, at.map.end, FMT_MARK_MEMORY };
	if (at.map.prot & MAP_EXEC)
		r->kind = FMT_MARK_CODE;
	else if (at.module && at.module->kind == FMT_MOD_FILE)
		r->kind = FMT_MARK_FILE;
	return r->kind;
}

uint16_t value_marks_of(struct value_marks *v, const struct emu_access *a)
{
	uint64_t value = a->value;
	unsigned kind = FMT_MARK_UNKNOWN;

	if (!a->valued)
		return 0;
	if (a->valued == sizeof(value) && a->size >= sizeof(value))
		kind = kind_of_address(v, value);
	if (!kind) {
		value = (uint32_t)value;
		kind = !value ? FMT_MARK_ZERO : value < SMALL ? FMT_MARK_SMALL : FMT_MARK_OTHER;
	}
	if (!value)
		return (uint16_t)(kind << FMT_MARK_BITS);
	value = (value ^ v->salt) * 0x9e3779b97f4a7c15;
	value = (value ^ value >> 31) * 0xd6e8feb86659fd93;
	return (uint16_t)(kind << FMT_MARK_BITS | value >> (64 - FMT_MARK_BITS));
}
