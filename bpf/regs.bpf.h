/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers in the order of abi.h, from any of the kernel's structures that name them as struct pt_regs does. Included
 * by the programs in bpf/. Macros, as the verifier wants each register of a program's context named by a constant.
 */
#ifndef ACCPERF_REGS_BPF_H
#define ACCPERF_REGS_BPF_H

#include "abi.h"

#define TAKE_GENERAL(to, r)                                                                                            \
	do {                                                                                                           \
		(to)[WREG_AX] = (r)->rax;                                                                              \
		(to)[WREG_DX] = (r)->rdx;                                                                              \
		(to)[WREG_CX] = (r)->rcx;                                                                              \
		(to)[WREG_BX] = (r)->rbx;                                                                              \
		(to)[WREG_SI] = (r)->rsi;                                                                              \
		(to)[WREG_DI] = (r)->rdi;                                                                              \
		(to)[WREG_BP] = (r)->rbp;                                                                              \
		(to)[WREG_SP] = (r)->rsp;                                                                              \
		(to)[WREG_R8] = (r)->r8;                                                                               \
		(to)[WREG_R9] = (r)->r9;                                                                               \
		(to)[WREG_R10] = (r)->r10;                                                                             \
		(to)[WREG_R11] = (r)->r11;                                                                             \
		(to)[WREG_R12] = (r)->r12;                                                                             \
		(to)[WREG_R13] = (r)->r13;                                                                             \
		(to)[WREG_R14] = (r)->r14;                                                                             \
		(to)[WREG_R15] = (r)->r15;                                                                             \
	} while (0)

#define TAKE_REGS(to, r)                                                                                               \
	do {                                                                                                           \
		TAKE_GENERAL(to, r);                                                                                   \
		(to)[WREG_IP] = (r)->rip;                                                                              \
		(to)[WREG_FLAGS] = (r)->eflags;                                                                        \
	} while (0)

#endif
