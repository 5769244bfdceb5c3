/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kmod-free/uprobe.c probes in ourselves to see whether probing works and what it costs, and
 * which of these a foreign instruction is like. Included by uprobe*.c and tests only (measure and offload).
 *
 * To add a kind of first instruction: append to enum self_kind, write a function that begins with it
 * in uprobe_self.c, recognize it in self_kind_of(); measure() finds out what it costs here.
 */
#ifndef ACCPERF_KMOD_FREE_UPROBE_SELF_H
#define ACCPERF_KMOD_FREE_UPROBE_SELF_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of first instructions that kernels may treat differently. */
enum self_kind {
	SELF_STEPPED, /* no kernel emulates it */
	SELF_PUSH,    /* emulated, as are relative jumps and calls, wherever there is such a thing */
	SELF_ENDBR,   /* depends on the kernel's version, as do: */
	SELF_LONG_NOP,
	SELF_KINDS,
};

/* Of the instruction that begins there; SELF_KINDS: unknown, or cut off. */
enum self_kind self_kind_of(const uint8_t *bytes, size_t n);

/* File offset within /proc/self/exe of an address of ours; 0 when it lies elsewhere. */
uint64_t self_offset(const void *addr);
const void *self_function(enum self_kind kind); /* an empty function; NULL: not on this architecture */
const void *self_exit(enum self_kind kind);     /* its only exit; NULL: not known on this architecture */
const void *self_marker(void);                  /* a 5-byte NOP; NULL where this architecture has none */
/* CPU nanoseconds per call of either, over n calls. */
double self_time_function(enum self_kind kind, unsigned n);
/* The same with other work before each call, so that the probe's code and data are not in the first
 * caches when it is hit; the work's own time is in the result. */
double self_time_function_cold(enum self_kind kind, unsigned n);
double self_time_marker(unsigned n);
/* Calls the function n times from a second thread. */
int self_call_in_thread(unsigned n);

#endif
