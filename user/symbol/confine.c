// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534 /* the user that owns nothing, on every distribution */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* The ids are one thing, capabilities another: a file's may be set, and a namespace may know no nobody. */
int confine_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (!geteuid()) {
		syscall(SYS_setgroups, 0, NULL);
		syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY);
		syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return 0;
}

/* Root reads profiles of others and writes beside them, as with any tool; a blessed binary's user does not. */
void confine_to_files(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint32_t files = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_CHOWN | 1u << CAP_FOWNER;

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, caps))
		return;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t kept = !geteuid() && !i ? caps[i].permitted & files : 0;

		caps[i] = (struct __user_cap_data_struct){ kept, kept, 0 };
	}
	syscall(SYS_capset, &head, caps);
}

#if !defined(CONFINE_SANITIZED)
#define NR offsetof(struct seccomp_data, nr)
#define LOW(arg) (offsetof(struct seccomp_data, args) + 8 * (arg))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define PERMIT(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), ALLOW
/* Memory, but no code. */
#define PERMIT_DATA(name)                                                                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 4), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(2)),            \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), REFUSE, ALLOW

/* What is not in the list fails as if it were forbidden: libraries then do without. */
static int filter_calls(void)
{
	struct sock_filter list[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NR),
		PERMIT(read),
		PERMIT(pread64),
		PERMIT(write),
		PERMIT(lseek),
		PERMIT(fstat),
		PERMIT(brk),
		PERMIT(munmap),
		PERMIT(mremap),
		PERMIT(madvise),
		PERMIT(futex),
		PERMIT(exit),
		PERMIT(exit_group),
		PERMIT(rt_sigreturn),
		PERMIT(rt_sigprocmask),
		PERMIT(clock_gettime),
		PERMIT(getrandom),
		PERMIT(sysinfo),
		PERMIT(restart_syscall),
		PERMIT_DATA(mmap),
		PERMIT_DATA(mprotect),
		/* fstat() of newer C libraries */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_newfstatat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(3)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AT_EMPTY_PATH, 0, 1),
		ALLOW,
		REFUSE,
	};
	struct sock_fprog program = { sizeof(list) / sizeof(list[0]), list };

	/* a kernel built without filters: no rights and no new descriptors must do */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) && errno != EINVAL ? -errno : 0;
}
#else
static int filter_calls(void)
{
	return 0;
}
#endif

int confine_calls(void)
{
#if !defined(CONFINE_SANITIZED)
	/* a second lock on the same door: open() wants a number before it looks at the path */
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, 0 });
#endif
	return filter_calls();
}
