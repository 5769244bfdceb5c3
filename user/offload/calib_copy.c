// SPDX-License-Identifier: GPL-2.0-or-later
/* The processor's own copy engine: rep movsb against the C library, and memcpy against a plain loop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/calib.h"

enum { REP_AGAINST_MEMCPY, MEMCPY_AGAINST_LOOP };

static int copy_list(struct calib_cases *out, struct err *e)
{
	static const char *const name[] = { "copy-rep-movsb/memcpy", "copy-memcpy/loop" };

	for (int v = REP_AGAINST_MEMCPY; v <= MEMCPY_AGAINST_LOOP; v++) {
		struct calib_case *c = calib_add(out, &calib_copy, name[v]);

		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		c->variant = v;
		snprintf(c->device, sizeof(c->device), v ? "memcpy of the C library" : "rep movsb");
		snprintf(c->baseline, sizeof(c->baseline), v ? "a loop over 8-byte words" : "memcpy of the C library");
#ifndef __x86_64__
		if (!v)
			snprintf(c->missing, sizeof(c->missing), "rep movsb is an x86 instruction");
#endif
	}
	return 0;
}

static int copy_open(struct calib_session *s, struct err *e)
{
	size_t largest = s->opts->max + 64;

	s->priv = malloc(largest);
	if (!s->priv)
		return err_set(e, -ENOMEM, "not enough memory for a copy of %zu bytes; lower --max", largest);
	memset(s->priv, 1, largest); /* pages present */
	return 0;
}

static void loop(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		__asm__ volatile("" : : : "memory"); /* else compilers see a copy and call memcpy */
	}
}

static int copy_call(struct calib_session *s, enum run_kind k, const uint8_t *in, size_t g)
{
	void *to = s->priv;

	if (s->c->variant == MEMCPY_AGAINST_LOOP && k == RUN_HOST) {
		loop(to, (const uint64_t *)(const void *)in, g / 8);
	} else if (s->c->variant == MEMCPY_AGAINST_LOOP || k == RUN_HOST) {
		memcpy(to, in, g);
	} else {
#ifdef __x86_64__
		__asm__ volatile("rep movsb" : "+D"(to), "+S"(in), "+c"(g) : : "memory");
#endif
	}
	__asm__ volatile("" : : "r"(s->priv) : "memory");
	return 0;
}

static void copy_close(struct calib_session *s)
{
	free(s->priv);
}

const struct calib_family calib_copy = {
	.name = "copy",
	.summary = "rep movsb against memcpy, memcpy against a plain loop",
	.list = copy_list,
	.open = copy_open,
	.call = copy_call,
	.close = copy_close,
};
