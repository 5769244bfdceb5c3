/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instruction forms that touch the byte at %rdi, one function each, with what a watchpoint on that byte
 * must report: R read, W write, B both, k before a letter: by the kernel, ? any direction or none.
 * Included by u-watch.c only. To add one: a FORM line and a row in forms[]. */
#ifndef WATCH_FORMS_H
#define WATCH_FORMS_H

#define FORM(name, body)                                                                                               \
	__asm__(".text\n.type form_" #name ",@function\nform_" #name ":\n.cfi_startproc\n" body                        \
		"\nret\n.cfi_endproc\n.size form_" #name ",.-form_" #name "\n");                                       \
	extern void form_##name(void *p)

/* Runs body with the stack pointer eight above the byte's word: push, call and ret touch it. */
#define ON_STACK(body) "push %rbx\nmov %rsp,%rbx\nlea 8(%rdi),%rsp\n" body "\nmov %rbx,%rsp\npop %rbx"

FORM(mov_load, "mov (%rdi),%al");
FORM(mov_store, "mov %al,(%rdi)");
FORM(mov_imm, "movb $5,(%rdi)");
FORM(same_value, "mov (%rdi),%al\nmov %al,(%rdi)");
FORM(inc, "incb (%rdi)");
FORM(lock_add, "lock addb $1,(%rdi)");
FORM(xchg, "xchg %al,(%rdi)");
FORM(cmpxchg, "mov $77,%al\nmov $3,%cl\nlock cmpxchg %cl,(%rdi)");
FORM(xadd, "lock xadd %eax,(%rdi)");
FORM(add_mem, "add (%rdi),%al");
FORM(test, "test %al,(%rdi)");
FORM(cmp, "cmpb $1,(%rdi)");
FORM(bts, "btsl $1,(%rdi)");
FORM(setc, "setc (%rdi)");
FORM(cmov, "cmovc (%rdi),%eax");
FORM(chase, "mov (%rdi),%rdi");
FORM(movzx, "movzbl (%rdi),%edi");
FORM(push, ON_STACK("push %rax"));
FORM(push_pop, ON_STACK("push %rax\npop %rcx"));
FORM(call_ret, ON_STACK("call 1f\njmp 2f\n1: ret\n2:"));
FORM(push_mem, "pushq (%rdi)\npop %rax");
FORM(pop_mem, "push %rax\npopq (%rdi)");
FORM(leave, "push %rbp\nmov %rsp,%rcx\nmov %rdi,%rbp\nleave\nmov %rcx,%rsp\npop %rbp");
FORM(jump_mem, "lea 1f(%rip),%rax\nmov %rax,(%rdi)\njmp *(%rdi)\n1: nop");
FORM(call_mem, "lea 1f(%rip),%rax\nmov %rax,(%rdi)\ncall *(%rdi)\njmp 2f\n1: ret\n2:");
FORM(unaligned, "mov %rax,-3(%rdi)");
FORM(movnti, "movnti %eax,(%rdi)");
FORM(lods, "mov %rdi,%rsi\nlodsb");
FORM(stos, "stosb");
FORM(movs_from, "mov %rdi,%rsi\nlea 64(%rdi),%rdi\nmovsb");
FORM(movs_to, "lea 64(%rdi),%rsi\nmovsb");
FORM(scas, "scasb");
FORM(cmps, "lea 64(%rdi),%rsi\ncmpsb");
FORM(rep_movs_from, "mov %rdi,%rsi\nlea 64(%rdi),%rdi\nmov $9,%ecx\nrep movsb");
FORM(rep_movs_to, "lea 64(%rdi),%rsi\nmov $9,%ecx\nrep movsb");
FORM(rep_movs_into, "lea 64(%rdi),%rsi\nlea -4(%rdi),%rdi\nmov $9,%ecx\nrep movsb");
FORM(rep_movsq, "lea 64(%rdi),%rsi\nlea -16(%rdi),%rdi\nmov $5,%ecx\nrep movsq");
FORM(rep_stosb, "lea -3(%rdi),%rdi\nmov $9,%ecx\nrep stosb");
FORM(rep_stosq, "mov $3,%ecx\nrep stosq");
FORM(rep_last, "lea 64(%rdi),%rsi\nlea -4(%rdi),%rdi\nmov $5,%ecx\nrep movsb");
FORM(repe_cmps, "lea 0(%rdi),%rsi\nlea 64(%rdi),%rdi\nmov $2,%ecx\nrepe cmpsb");
FORM(sse_load, "movdqu (%rdi),%xmm0");
FORM(sse_store, "movdqu %xmm0,-5(%rdi)");
FORM(sse_scalar, "movss (%rdi),%xmm0\nmovss %xmm0,(%rdi)");
FORM(sse_op, "movdqu 64(%rdi),%xmm0\npaddd 0(%rdi),%xmm0");
FORM(x87, "flds (%rdi)\nfstps (%rdi)");
FORM(avx_store, "vmovdqu %ymm0,-9(%rdi)\nvzeroupper");
FORM(gather, "vpxor %xmm1,%xmm1,%xmm1\nmov $-1,%eax\nvmovd %eax,%xmm2\nvpgatherdd %xmm2,(%rdi,%xmm1,4),%xmm0");
FORM(cmpxchg16b, "push %rbx\nxor %eax,%eax\nxor %edx,%edx\nlock cmpxchg16b (%rdi)\npop %rbx");
FORM(base_lost, "mov %rdi,%rcx\nxor %edi,%edi\nmov (%rcx),%rcx");
FORM(after_jump, "jmp 1f\nnop\n1: mov %al,(%rdi)\njmp 2f\nnop\n2:");
FORM(prefetch, "prefetcht0 (%rdi)");
FORM(neighbour, "mov %al,1(%rdi)\nmov %al,-1(%rdi)");
FORM(sys_read, "push %rdi\nmov %rdi,%rsi\nmov zero_fd(%rip),%edi\nmov $1,%edx\nxor %eax,%eax\nsyscall\npop %rdi");
FORM(sys_write, "push %rdi\nmov %rdi,%rsi\nmov null_fd(%rip),%edi\nmov $1,%edx\nmov $1,%eax\nsyscall\npop %rdi");
FORM(sys_pread,
     "push %rdi\nlea -8(%rdi),%rsi\nmov exe_fd(%rip),%edi\nmov $16,%edx\nxor %r10d,%r10d\nmov $17,%eax\nsyscall\npop %rdi");

static const struct form {
	const char *name;
	void (*run)(void *p);
	const char *expect;
	int needs_avx2;
} forms[] = {
#define ROW(n, e)                                                                                                      \
	{                                                                                                              \
#n, form_##n, e, 0                                                                                     \
	}
	ROW(mov_load, "R"),
	ROW(mov_store, "W"),
	ROW(mov_imm, "W"),
	ROW(same_value, "RW"),
	ROW(inc, "B"),
	ROW(lock_add, "B"),
	ROW(xchg, "B"),
	ROW(cmpxchg, "B"),
	ROW(xadd, "B"),
	ROW(add_mem, "R"),
	ROW(test, "R"),
	ROW(cmp, "R"),
	ROW(bts, "B"),
	ROW(setc, "W"),
	ROW(cmov, "R"),
	ROW(chase, "R"),
	ROW(movzx, "R"),
	ROW(push, "W"),
	ROW(push_pop, "WR"),
	ROW(call_ret, "WR"),
	ROW(push_mem, "R"),
	ROW(pop_mem, "W"),
	ROW(leave, "R"),
	ROW(jump_mem, "WR"),
	ROW(call_mem, "WR"),
	ROW(unaligned, "W"),
	ROW(movnti, "W"),
	ROW(lods, "R"),
	ROW(stos, "W"),
	ROW(movs_from, "R"),
	ROW(movs_to, "W"),
	ROW(scas, "R"),
	ROW(cmps, "R"),
	ROW(rep_movs_from, "R"),
	ROW(rep_movs_to, "W"),
	ROW(rep_movs_into, "W"),
	ROW(rep_movsq, "W"),
	ROW(rep_stosb, "W"),
	ROW(rep_stosq, "W"),
	ROW(rep_last, "W"),
	ROW(repe_cmps, "R"),
	ROW(sse_load, "R"),
	ROW(sse_store, "W"),
	ROW(sse_scalar, "RW"),
	ROW(sse_op, "R"),
	ROW(x87, "RW"),
	ROW(cmpxchg16b, "B"),
	ROW(base_lost, "R"),
	ROW(after_jump, "W"),
	ROW(prefetch, ""),
	ROW(neighbour, ""),
	ROW(sys_read, "kW"),
	ROW(sys_write, "kR"),
	ROW(sys_pread, "kW"),
#undef ROW
	{ "avx_store", form_avx_store, "W", 1 },
	{ "gather", form_gather, "R", 1 },
};

#endif
