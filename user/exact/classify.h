/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tool inside Valgrind has no instruction decoder; it asks the driver on a pipe. Included by
 * this room and tests.
 */
#ifndef ACCPERF_EXACT_CLASSIFY_H
#define ACCPERF_EXACT_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

#include "exact/stream.h"

/* Kim & Edwards' rule on the machine instruction: arithmetic and logic compute, the rest moves data
 * or control. Undecodable bytes are XS_OTHER. */
struct xs_class exact_classify(const uint8_t *code, size_t len);
/* Answers one question read from `in`; 0 at the end of the pipe, 1 answered, -errno. */
int exact_answer(int in, int out);

#endif
