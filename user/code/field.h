/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in a structure an instruction reads or writes, as its operand says: how far behind the register that points to
 * the structure. Who writes a field and who reads it use the same distance. Included by record and tests.
 */
#ifndef ACCPERF_CODE_FIELD_H
#define ACCPERF_CODE_FIELD_H

#include <stdint.h>

#include "code/decode.h"

/* As fmt_burst_site.field; 0: on the stack, at a fixed address, or far behind. */
int32_t field_of(const struct dec_insn *d);

#endif
