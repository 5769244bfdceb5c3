/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoder library's names of general registers, as WREG_* (abi.h). Included by the files that decode
 * instructions. */
#ifndef ACCPERF_CODE_GPR_H
#define ACCPERF_CODE_GPR_H

#include <Zydis/Zydis.h>

#include "abi.h"

#define GPR_NONE 0xff

/* WREG of the 64-bit register around r, GPR_NONE if it is no general register. */
static inline uint8_t gpr_of(ZydisRegister r)
{
	/* Zydis: rax rcx rdx rbx rsp rbp rsi rdi r8... */
	static const uint8_t order[16] = {
		WREG_AX, WREG_CX, WREG_DX,  WREG_BX,  WREG_SP,  WREG_BP,  WREG_SI,  WREG_DI,
		WREG_R8, WREG_R9, WREG_R10, WREG_R11, WREG_R12, WREG_R13, WREG_R14, WREG_R15
	};

	if (r == ZYDIS_REGISTER_RIP || r == ZYDIS_REGISTER_EIP)
		return WREG_IP;
	if (r == ZYDIS_REGISTER_NONE)
		return GPR_NONE;
	r = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	return r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15 ? order[r - ZYDIS_REGISTER_RAX] : GPR_NONE;
}

#endif
