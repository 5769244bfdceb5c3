/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of the heap is in use. Resident memory also has what was freed and lies between what is in use, and comes and
 * goes in steps, so only this tells whether tables grow. No domain knowledge. Included by daemon and record.
 */
#ifndef ACCPERF_HEAP_USE_H
#define ACCPERF_HEAP_USE_H

#include <malloc.h>
#include <stdint.h>

/* Bytes; 0: the C library does not tell (before glibc 2.33 it tells 31 bits). Takes some 10 us. */
static inline uint64_t heap_use(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	struct mallinfo2 m = mallinfo2();

	return (uint64_t)m.uordblks + m.hblkhd;
#else
	return 0;
#endif
}

#endif
