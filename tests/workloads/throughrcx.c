// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions that have their own address in rcx, as code has right after a system call: called through rcx, and jumped
 * to. Which of two is next is drawn, so processors guess it wrongly, and wait at the first instruction: many samples
 * stand there with rcx == rip. plain: r11 is 0, which flags never are. beside: a system call before each thousand has
 * left flags in r11, from which those at the first instruction differ by the carry.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

#define TURNS 1000 /* some 5 us */

#define FUNCTION(name, body)                                                                                           \
	".p2align 6\n.type " #name ", @function\n" #name ":\n\t.cfi_startproc\n" body "\t.cfi_endproc\n\t.size " #name \
	", .-" #name "\n"
/* rdi: turns left, rsi: state of the generator, rax: the digest */
#define DRAWN(name, one, other, how)                                                                                   \
	FUNCTION(name, "\ttestq %rdx, %rdx\n\tcmoveq %rdx, %r11\n\tmovl $1, %eax\n"                                    \
		       "\tmovabsq $0x5851f42d4c957f2d, %r8\n\tleaq " #one "(%rip), %r9\n"                              \
		       "\tleaq " #other "(%rip), %r10\n"                                                               \
		       "1:\timulq %r8, %rsi\n\taddq %r8, %rsi\n"                                                       \
		       "\tmovq %r9, %rcx\n\tcmovnsq %r10, %rcx\n\tstc\n\t" how "\n"                                    \
		       ".L" #name "_on:\n\tsubq $1, %rdi\n\tjnz 1b\n\tret\n")
__asm__(".text\n" FUNCTION(called_one, "\tleaq 1(%rax,%rax,2), %rax\n\tret\n")
		FUNCTION(called_other, "\tleaq (%rax,%rsi), %rax\n\tret\n")
			FUNCTION(jumped_one, "\tleaq 1(%rax,%rax,4), %rax\n\tjmp .Ljump_to_drawn_on\n")
				FUNCTION(jumped_other, "\tleaq (%rax,%rsi), %rax\n\tjmp .Ljump_to_drawn_on\n")
					DRAWN(call_drawn, called_one, called_other, "call *%rcx")
						DRAWN(jump_to_drawn, jumped_one, jumped_other, "jmp *%rcx"));

/* keep: what is in r11 */
uint64_t call_drawn(uint64_t turns, uint64_t seed, uint64_t keep);
uint64_t jump_to_drawn(uint64_t turns, uint64_t seed, uint64_t keep);

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, "plain|beside", 100);
	bool beside = !strcmp(w.mode, "beside");
	uint64_t digest;

	do {
		digest = 0;
		for (unsigned long i = 1; i <= w.size; i++) {
			if (beside)
				syscall(SYS_getppid);
			digest = work_mix(digest, call_drawn(TURNS, i, beside));
			if (beside)
				syscall(SYS_getppid);
			digest = work_mix(digest, jump_to_drawn(TURNS, i, beside));
		}
	} while (work_more(&w, digest));
	return work_done(&w);
}
