/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The balance of executions is most of what a first read of a large recording takes, and every view of bytes asks
 * for the same one. So its solution is kept in the user's cache, by the problem itself and by the program that
 * solved it.
 * Included by user/flow and tests.
 */
#ifndef ACCPERF_VOLUME_BALANCE_KEPT_H
#define ACCPERF_VOLUME_BALANCE_KEPT_H

#include "volume/flow_balance.h"

/* As flow_balance_solve(). The nodes' runs must be 0 before. */
int balance_solve_kept(struct flow_balance *s);

#endif
