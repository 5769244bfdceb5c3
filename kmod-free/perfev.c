// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/perfev.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/rights.h"

/* kernel.perf_event_paranoid, or -1000 when unreadable. */
static int perfev_paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int v = -1000;

	if (!f)
		return v;
	if (fscanf(f, "%d", &v) != 1)
		v = -1000;
	fclose(f);
	return v;
}

int have_capability(int cap)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	if (syscall(SYS_capget, &h, d))
		return 0;
	return !!(d[cap >> 5].effective & (1u << (cap & 31)));
}

void raise_file_limit(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

int online_cpus(int *cpus, int max)
{
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	int n = 0, a, b;

	if (!f)
		return -errno;
	while (fscanf(f, "%d", &a) == 1) {
		b = a;
		if (fscanf(f, "-%d", &b) != 1)
			b = a;
		for (int i = a; i <= b && n < max; i++)
			cpus[n++] = i;
		if (fgetc(f) != ',')
			break;
	}
	fclose(f);
	return n;
}

static int explain(int code, int pid, const char *what, struct err *e)
{
	int paranoid = perfev_paranoid();
	char whom[64];

	if (pid > 0)
		snprintf(whom, sizeof(whom), "thread %d", pid);
	else
		snprintf(whom, sizeof(whom), "%s", pid ? "all processes" : "this process");
	switch (code) {
	case EACCES:
	case EPERM:
		if (paranoid > 2)
			return err_set(
				e, -code,
				"may not observe %s: kernel.perf_event_paranoid is %d, which this kernel reserves for root; "
				"run as root, or `sysctl kernel.perf_event_paranoid=2` and grant CAP_PERFMON",
				whom, paranoid);
		return err_set(e, -code, "may not observe %s (perf_event_paranoid is %d): %s; " RIGHTS_HOW, whom,
			       paranoid,
			       have_capability(CAP_PERFMON)
				       ? "the kernel or a container's seccomp filter refuses perf_event_open"
				       : "CAP_PERFMON is missing");
	case ESRCH: return err_set(e, -code, "thread %d has ended", pid);
	case EMFILE:
	case ENFILE: return err_set(e, -code, "too many open files for one event per thread; raise `ulimit -n`");
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV: return err_set(e, -code, "%s is not available on this machine", what);
	case ENOSYS: return err_set(e, -code, "this kernel has no perf events, or a container's filter hides them");
	default: return err_set(e, -code, "%s cannot be opened for %s: %s", what, whom, strerror(code));
	}
}

/* shape: perf_event_open()'s own five, and what an error says. */
int perfev_open(struct perf_event_attr *attr, int pid, int cpu, int group, unsigned long flags, const char *what,
		struct err *e)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		return fd;
	return explain(errno, (flags & PERF_FLAG_PID_CGROUP) ? -1 : pid, what, e);
}
