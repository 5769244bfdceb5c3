/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals that are read from a descriptor: those that end a program or a child of it, and others. Included by
 * foreground, cli, top and daemon. */
#ifndef ACCPERF_SIGNALS_H
#define ACCPERF_SIGNALS_H

/* SIGINT, SIGTERM, SIGHUP, SIGCHLD and `also` (0: no other) are blocked, a broken pipe is an error and no end. -1 with
 * errno. */
int signals_open(int also);

#endif
