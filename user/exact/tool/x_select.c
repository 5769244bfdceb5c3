/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that the user listed. The driver hands over a file of lines: a letter for the list
 * (SELECT_* of stream.h), a blank, and a name as the linker knows it or a pattern with * and ?.
 */
#include "x.h"
#include "pub_tool_seqmatch.h"
#include "../stream.h"

typedef struct {
	const HChar *name;
	UInt flag, hash;
	Bool pattern;
} Listed;

static Listed *listed;
static UInt listed_count;
static HChar *text;

static UInt hash_of(const HChar *s)
{
	UInt h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (UChar)*s) * 16777619u;
	return h;
}

static UInt list_flag(HChar list)
{
	switch (list) {
	case XS_LIST_FUNCTIONS: return FNF_SELECTED;
	case XS_LIST_CANDIDATES: return FNF_CANDIDATE;
	case XS_LIST_START: return FNF_START;
	case XS_LIST_STOP: return FNF_STOP;
	case XS_LIST_WRITERS: return FNF_WRITERS;
	default: return 0;
	}
}

static HChar *whole_file(Int fd)
{
	SizeT cap = 1 << 16, n = 0;
	HChar *s = VG_(malloc)("x.lists", cap + 1);
	Int got;

	while ((got = VG_(read)(fd, s + n, cap - n)) > 0) {
		n += got;
		if (n == cap) {
			cap *= 2;
			s = VG_(realloc)("x.lists", s, cap + 1);
		}
	}
	s[n] = 0;
	return s;
}

void select_init(void)
{
	UInt lines = 0;

	if (opt.lists < 0)
		return;
	text = whole_file(opt.lists);
	VG_(close)(opt.lists);
	for (const HChar *p = text; *p; p++)
		lines += *p == '\n';
	listed = VG_(calloc)("x.lists", lines + 1, sizeof(*listed));
	for (HChar *p = text, *end; (end = VG_(strchr)(p, '\n')); p = end + 1) {
		UInt flag = list_flag(*p);

		*end = 0;
		if (!flag || p[1] != ' ')
			continue;
		if (flag == FNF_SELECTED)
			opt.functions = True;
		if (flag == FNF_CANDIDATE)
			opt.candidates = True;
		if (flag == FNF_START)
			opt.start_at = True;
		if (flag == FNF_STOP)
			opt.stop_at = True;
		listed[listed_count++] =
			(Listed){ p + 2, flag, hash_of(p + 2), VG_(strchr)(p + 2, '*') || VG_(strchr)(p + 2, '?') };
	}
}

UInt select_flags(const HChar *name)
{
	UInt h = hash_of(name), flags = 0;

	for (UInt i = 0; i < listed_count; i++)
		if (listed[i].pattern ? VG_(string_match)(listed[i].name, name)
				      : listed[i].hash == h && VG_STREQ(listed[i].name, name))
			flags |= listed[i].flag;
	return flags;
}
