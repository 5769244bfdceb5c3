/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What systemd wants to know of a service (sd_notify(3)): a datagram to the socket that it names in the environment.
 * Included by user/daemon.
 */
#ifndef ACCPERF_DAEMON_NOTIFY_H
#define ACCPERF_DAEMON_NOTIFY_H

#include <stdint.h>

/* "READY=1" and such; without systemd nothing happens. */
void notify_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* How often it wants to hear "WATCHDOG=1", half of its patience; ns. 0: never. */
uint64_t notify_watchdog(void);

#endif
