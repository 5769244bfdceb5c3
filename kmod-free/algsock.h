/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AF_ALG sockets: can this kernel have them, does a process hold one. Included by offload and record.
 */
#ifndef ACCPERF_KMOD_FREE_ALGSOCK_H
#define ACCPERF_KMOD_FREE_ALGSOCK_H

#include <stdbool.h>

/* Loaded already, or a module that the first socket() would load. */
bool algsock_possible(void);
/* Does the process hold one? False also where its descriptors may not be looked at. */
bool algsock_any(int pid);

#endif
