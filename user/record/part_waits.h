/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures how long the target's threads are off the CPU, and in which call: a part of a recording that draws some of
 * the times that they leave it (bpf/waits.bpf.h), within the ledger's account, and writes FMT_WAIT. Included by
 * foreground.
 */
#ifndef ACCPERF_RECORD_PART_WAITS_H
#define ACCPERF_RECORD_PART_WAITS_H

#include "record/session.h"

int waits_part_add(struct session *s, struct err *e);

#endif
