// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which code path a library really took: the call is made once in a forked copy of this process that
 * is single-stepped, and every instruction about to be executed is looked at. Exact, and independent of
 * what the library says about itself.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/calib.h"

#define MAX_STEPS 4000000u /* instructions of a call that is stepped; by hand */

#ifdef __x86_64__
/* Opcode map and opcode of the instruction at p, as far as they matter here. */
static void classify_opcode(const uint8_t *p, struct calib_opcodes *out)
{
	bool vex = false;
	unsigned map = 0, op;

	out->total++;
	for (int i = 0;
	     i < 4 && (*p == 0x66 || *p == 0xf2 || *p == 0xf3 || (*p & 0xf0) == 0x40 || *p == 0x2e || *p == 0x3e); i++)
		p++;
	if (p[0] == 0xc4) { /* VEX, three bytes */
		vex = true;
		map = p[1] & 0x1f;
		op = p[3];
	} else if (p[0] == 0x62) { /* EVEX */
		vex = true;
		map = p[1] & 7;
		op = p[4];
	} else if (p[0] == 0xc5) {
		vex = true;
		map = 1;
		op = p[2];
	} else if (p[0] == 0x0f && (p[1] == 0x38 || p[1] == 0x3a)) {
		map = p[1] == 0x38 ? 2 : 3;
		op = p[2];
	} else {
		return;
	}
	out->vex += vex;
	if (map == 2 && (op == 0xdc || op == 0xdd))
		++*(vex ? &out->vaesenc : &out->aesenc);
	else if (map == 3 && op == 0x44)
		++*(vex ? &out->vpclmul : &out->pclmul);
	else if (map == 2 && op == 0xcb && !vex)
		out->sha256++;
	else if (map == 2 && op == 0x00)
		out->pshufb++;
}

static int step_through(pid_t pid, struct calib_opcodes *out, struct err *e)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return err_set(e, -EPERM, "this process may not trace its own child (seccomp or a container's rules)");
	for (unsigned i = 0; i < MAX_STEPS; i++) {
		struct user_regs_struct r;

		if (ptrace(PTRACE_GETREGS, pid, NULL, &r))
			return err_set(e, -errno, "reading the child's registers failed: %s", strerror(errno));
		/* code is the same in both copies of the process */
		classify_opcode((const uint8_t *)(uintptr_t)r.rip, out);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, 0) || waitpid(pid, &status, 0) != pid)
			return err_set(e, -errno, "single-stepping failed: %s", strerror(errno));
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return err_set(e, -EIO, "the child ended before its call returned");
		if (WSTOPSIG(status) == SIGUSR1)
			return 0; /* the call is over */
	}
	return err_set(e, -E2BIG, "the call takes more than %u instructions", MAX_STEPS);
}

int calib_count_opcodes(void (*fn)(void *arg), void *arg, struct calib_opcodes *out, struct err *e)
{
	pid_t pid;
	int err, status;

	*out = (struct calib_opcodes){ 0 };
	fn(arg); /* symbols resolved, tables built: the copy takes the path of every later call */
	pid = fork();
	if (pid < 0)
		return err_set(e, -errno, "cannot fork: %s", strerror(errno));
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		fn(arg);
		raise(SIGUSR1);
		_exit(0);
	}
	err = step_through(pid, out, e);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return err;
}
#else
int calib_count_opcodes(void (*fn)(void *arg), void *arg, struct calib_opcodes *out, struct err *e)
{
	return err_set(e, -ENOTSUP, "opcodes are counted on x86-64 only");
}
#endif
