/* SPDX-License-Identifier: GPL-2.0-or-later OR 0BSD
 *
 * Under 0BSD this header may be copied into any program.
 *
 * Markers for `accperf record --offload markers` (or auto): around work that is, or could be, handed
 * to an accelerator. Each is a 5-byte NOP and a note in the file, in SystemTap's format (perf and
 * bpftrace read it too), so a marker costs about nothing unless a recorder is there, and then some
 * thirty times less than a probe on a function, where the kernel replaces the NOP by a call (x86,
 * Linux 6.18).
 *
 *	#include "accperf_probe.h"
 *
 *	ACCPERF_BEGIN(encode, n_bytes);                or ACCPERF_BEGIN_HOST, ACCPERF_BEGIN_ACCELERATED
 *	encode(buf, n_bytes);
 *	ACCPERF_END(encode, n_bytes_out);
 *
 * The name is a plain identifier. Begin and end belong to one thread; the end of a name closes its
 * last begin. Calls of one name within another count once, the outermost.
 */
#ifndef ACCPERF_PROBE_MARKERS_H
#define ACCPERF_PROBE_MARKERS_H

#if defined(__x86_64__)
#define ACCPERF_NOP_ ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#define ACCPERF_ARG_ "8@%%rdi"
#define ACCPERF_MARK_(note, value) ACCPERF_ASM_(note, "D"((unsigned long)(value)))
#elif defined(__aarch64__)
#define ACCPERF_NOP_ "nop"
#define ACCPERF_ARG_ "8@x0"
#define ACCPERF_MARK_(note, value)                                                                                     \
	do {                                                                                                           \
		register unsigned long accperf_arg_ __asm__("x0") = (unsigned long)(value);                            \
		ACCPERF_ASM_(note, "r"(accperf_arg_));                                                                 \
	} while (0)
#endif

#define ACCPERF_ASM_(note, arg)                                                                                        \
	__asm__ volatile("990: " ACCPERF_NOP_ "\n"                                                                     \
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"                                                 \
			 ".balign 4\n"                                                                                 \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                                            \
			 "991: .asciz \"stapsdt\"\n"                                                                   \
			 "992: .balign 4\n"                                                                            \
			 "993: .8byte 990b\n"                                                                          \
			 ".8byte _.stapsdt.base\n"                                                                     \
			 ".8byte 0\n"                                                                                  \
			 ".asciz \"accperf\"\n"                                                                        \
			 ".asciz \"" note "\"\n"                                                                       \
			 ".asciz \"" ACCPERF_ARG_ "\"\n"                                                               \
			 "994: .balign 4\n"                                                                            \
			 ".popsection\n"                                                                               \
			 ".ifndef _.stapsdt.base\n"                                                                    \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                       \
			 ".weak _.stapsdt.base\n"                                                                      \
			 ".hidden _.stapsdt.base\n"                                                                    \
			 "_.stapsdt.base: .space 1\n"                                                                  \
			 ".size _.stapsdt.base, 1\n"                                                                   \
			 ".popsection\n"                                                                               \
			 ".endif\n" ::arg                                                                              \
			 : "memory")

#ifdef ACCPERF_MARK_
#define ACCPERF_BEGIN(name, bytes) ACCPERF_MARK_(#name "__begin", bytes)
#define ACCPERF_BEGIN_HOST(name, bytes) ACCPERF_MARK_(#name "__begin_host", bytes)
#define ACCPERF_BEGIN_ACCELERATED(name, bytes) ACCPERF_MARK_(#name "__begin_accelerated", bytes)
#define ACCPERF_END(name, bytes_out) ACCPERF_MARK_(#name "__end", bytes_out)
#else /* other architectures: nothing to see */
#define ACCPERF_BEGIN(name, bytes) ((void)(bytes))
#define ACCPERF_BEGIN_HOST(name, bytes) ((void)(bytes))
#define ACCPERF_BEGIN_ACCELERATED(name, bytes) ((void)(bytes))
#define ACCPERF_END(name, bytes_out) ((void)(bytes_out))
#endif

#endif
