// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes of perf events: the timer, hardware breakpoints and the PMUs. Each opens what it claims. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "ingest/features.h"

#define PMUS "/sys/bus/event_source/devices/"

static int open_event(struct perf_event_attr *attr, int pid, int cpu)
{
	attr->size = sizeof(*attr);
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool counted(int fd, uint64_t *count)
{
	return read(fd, count, sizeof(*count)) == sizeof(*count);
}

/* Whether a sampling event on this thread puts records into its ring: accepting is not delivering. */
static bool delivers(int fd)
{
	long page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *ring = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct timespec t;
	bool any = false;
	double until;

	if (ring == MAP_FAILED)
		return false;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	until = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + 0.05;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		any = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) > 0;
	} while (!any && (double)t.tv_sec + (double)t.tv_nsec / 1e9 < until);
	munmap(ring, (size_t)page * 2);
	return any;
}

static void refused(struct feature *f, const char *what, int error)
{
	feature_set(f, FEATURE_NO, "%s: %s", what, strerror(error));
	if (error == ENOSYS)
		feature_enable(f, "allow perf_event_open() in the seccomp filter: docker run --security-opt seccomp=unconfined ...");
	else if (error == EACCES || error == EPERM)
		feature_enable_rights(f, "cap_perfmon");
	else
		feature_enable(f, "boot a kernel with CONFIG_PERF_EVENTS=y");
}

void probe_timer(struct feature *f)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .freq = 1,
					.sample_freq = 1000, .sample_type = PERF_SAMPLE_IP, .disabled = 1 };
	int fd = open_event(&attr, 0, -1), wide;
	bool kernel = fd >= 0;

	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		attr.exclude_kernel = 1;
		fd = open_event(&attr, 0, -1);
	}
	if (fd < 0) {
		refused(f, "cpu-clock events cannot be opened", errno);
		feature_means(f, "no recording: the timer is the base of the soft engine");
		return;
	}
	if (!delivers(fd)) {
		feature_set(f, FEATURE_NO, "cpu-clock opens but delivers no sample");
		feature_means(f, "no recording with the soft engine");
		feature_enable(f, "ulimit -l unlimited   (the ring may not fit the locked-memory limit)");
		close(fd);
		return;
	}
	close(fd);
	wide = open_event(&attr, -1, 0);
	if (wide >= 0)
		close(wide);
	if (kernel && wide >= 0) {
		feature_set(f, FEATURE_YES, "cpu-clock delivers, with kernel time, also for whole CPUs (-a)");
		return;
	}
	feature_set(f, FEATURE_PARTLY, "cpu-clock delivers, %s, %s", kernel ? "with kernel time" : "without kernel time",
		    wide >= 0 ? "also for whole CPUs" : "for own processes only");
	feature_means(f, "time in system calls is missing, and other users' processes and -a are refused");
	feature_enable_rights(f, "cap_bpf,cap_perfmon,cap_sys_ptrace");
}

static volatile int watched;
static volatile int called;

__attribute__((noinline)) static void stepped_on(void)
{
	called++;
}

/* Hits out of `rounds`; -errno when the breakpoint cannot be set. */
static int fire(uint32_t type, void *addr, uint64_t len, unsigned rounds, void (*touch)(void))
{
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT, .bp_type = type, .bp_addr = (uintptr_t)addr,
					.bp_len = len, .exclude_kernel = 1, .exclude_hv = 1, .disabled = 1 };
	int fd = open_event(&attr, 0, -1);
	uint64_t hits = 0;

	if (fd < 0)
		return -errno;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (unsigned i = 0; i < rounds; i++)
		touch();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!counted(fd, &hits))
		hits = 0;
	close(fd);
	return (int)hits;
}

static void store_watched(void)
{
	watched = 1;
}

static void load_watched(void)
{
	(void)watched;
}

static unsigned free_slots(void)
{
	static uint64_t apart[16];
	int fds[16];
	unsigned n = 0;

	while (n < 16) {
		struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W,
						.bp_addr = (uintptr_t)&apart[n], .bp_len = 8, .exclude_kernel = 1,
						.disabled = 1 };

		fds[n] = open_event(&attr, 0, -1);
		if (fds[n] < 0)
			break;
		n++;
	}
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
	return n;
}

void probe_breakpoints(struct feature *f)
{
	const unsigned rounds = 10;
	int w = fire(HW_BREAKPOINT_W, (void *)&watched, HW_BREAKPOINT_LEN_4, rounds, store_watched);
	int rw = fire(HW_BREAKPOINT_RW, (void *)&watched, HW_BREAKPOINT_LEN_4, rounds, load_watched);
	int x = fire(HW_BREAKPOINT_X, (void *)(uintptr_t)stepped_on, sizeof(long), rounds, stepped_on);

	if (w < 0) {
		int error = -w;

		if (error == ENOSPC) {
			feature_set(f, FEATURE_NO, "all slots are taken: a debugger or a CPU-wide breakpoint holds them");
			feature_enable(f, "ps -eo pid,args | grep -E 'gdb|lldb|perf'   (and end what holds them)");
		} else {
			refused(f, "a breakpoint on an own variable is refused", error);
		}
		feature_means(f, "no watchpoints: flows between functions and call rates cannot be measured by the soft engine");
		return;
	}
	if (w == (int)rounds && rw == (int)rounds && x == (int)rounds) {
		feature_set(f, FEATURE_YES, "self-test: %d of %u stores, %d of %u loads, %d of %u calls were seen; %u slots a thread", w,
			    rounds, rw, rounds, x, rounds, free_slots());
		return;
	}
	/* SEV guests accept breakpoints and never deliver them */
	feature_set(f, w > 0 ? FEATURE_PARTLY : FEATURE_NO, "self-test: %d of %u stores, %d of %u loads, %d of %u calls were seen", w, rounds,
		    rw, rounds, x, rounds);
	feature_means(f, "the processor or its hypervisor %s; flows and call rates are not measured where they would be wrong",
		      w > 0 ? "does not deliver all kinds of breakpoints" : "accepts breakpoints and delivers none");
	feature_enable(f, "virsh edit DOMAIN   (remove <launchSecurity type='sev'/>; or use bare metal)");
}

static bool pmu_there(const char *name)
{
	char path[120];

	snprintf(path, sizeof(path), PMUS "%s/type", name);
	return !access(path, R_OK);
}

static void no_pmu_enable(struct feature *f)
{
	feature_enable(f, "in a virtual machine, let the host pass the PMU: qemu -cpu host,pmu=on; libvirt <features><pmu state='on'/></features>; in a cloud take a bare-metal instance");
}

void probe_pmu(struct feature *f)
{
	static const char *const names[] = { "cpu", "cpu_core", "cpu_atom", "armv8_pmuv3_0", "armv8_pmuv3", "ibs_op" };
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1,
					.exclude_hv = 1 };
	char found[120] = "", kind[64] = "";
	int fd = open_event(&attr, 0, -1), error = errno;
	uint64_t n = 0;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(found);

		if (pmu_there(names[i]))
			snprintf(found + len, sizeof(found) - len, "%s%s", len ? ", " : "", names[i]);
	}
	feature_line(PMUS "cpu/caps/pmu_name", kind, sizeof(kind));
	if (fd >= 0) {
		for (volatile int i = 0; i < 100000; i++)
			;
		bool counts = counted(fd, &n) && n > 100000;

		close(fd);
		feature_set(f, counts ? FEATURE_YES : FEATURE_NO, "%s%s%s%s", *found ? found : "hardware events",
			    *kind ? ", " : "", kind, counts ? "; instructions are counted" : "; opens, but does not count");
		if (!counts) {
			feature_means(f, "counts would be zeros: the timer is used instead");
			no_pmu_enable(f);
		}
		return;
	}
	feature_set(f, FEATURE_NO, "none: %s", error == ENOENT || error == EOPNOTSUPP || error == ENODEV ?
		    "no hardware counters here (a virtual machine?)" : strerror(error));
	feature_means(f, "the timer is used: shares are weighted by time, not by instructions or accesses; call and byte counts come from breakpoints, with wider intervals");
	if (error == EACCES || error == EPERM)
		feature_enable_rights(f, "cap_perfmon");
	else
		no_pmu_enable(f);
}

static bool vendor_is(const char *vendor)
{
	char line[200];
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool is = false;

	while (f && !is && fgets(line, sizeof(line), f))
		is = !strncmp(line, "vendor_id", 9) && strstr(line, vendor);
	if (f)
		fclose(f);
	return is;
}

/* "cpu/mem-loads,event=0xcd,umask=0x1,ldlat=3/" as sysfs has it, or nothing. */
static void add_encoding(struct feature *f, const char *pmu, const char *event)
{
	char path[160], text[120];
	size_t len = strlen(f->detail);

	snprintf(path, sizeof(path), PMUS "%s/events/%s", pmu, event);
	if (feature_line(path, text, sizeof(text)))
		snprintf(f->detail + len, sizeof(f->detail) - len, "%s%s/%s/ = %s", len ? "; " : "", pmu, event, text);
}

void probe_pebs(struct feature *f)
{
	static const char *const pmus[] = { "cpu", "cpu_core", "cpu_atom" };
	static const char *const events[] = { "mem-loads-aux", "mem-loads", "mem-stores" };

	for (unsigned p = 0; p < 3; p++)
		for (unsigned i = 0; i < 3; i++)
			add_encoding(f, pmus[p], events[i]);
	if (*f->detail) {
		f->state = FEATURE_YES;
		return;
	}
	if (!vendor_is("GenuineIntel")) {
		feature_set(f, FEATURE_NO, "not an Intel processor");
		return;
	}
	feature_set(f, FEATURE_NO, "not offered; would be cpu/event=0xcd,umask=0x1,ldlat=3/pp for loads, cpu/event=0xd0,umask=0x82/pp for stores (Haswell to Ice Lake)");
	feature_means(f, "data addresses come from decoded timer samples and watchpoints instead: fewer, and weighted by time");
	no_pmu_enable(f);
}

void probe_ibs(struct feature *f)
{
	char type[16], format[80] = "unknown";

	if (feature_line(PMUS "ibs_op/type", type, sizeof(type))) {
		feature_line(PMUS "ibs_op/format/cnt_ctl", format, sizeof(format));
		feature_set(f, FEATURE_YES, "ibs_op, type %s, cnt_ctl=1 (%s), period a multiple of 16%s", type, format,
			    access(PMUS "ibs_op/format/swfilt", R_OK) ? "" : ", swfilt");
		return;
	}
	if (!vendor_is("AuthenticAMD") && !vendor_is("HygonGenuine")) {
		feature_set(f, FEATURE_NO, "not an AMD processor");
		return;
	}
	feature_set(f, FEATURE_NO, "not offered; would be ibs_op/cnt_ctl=1/ (config bit 19) with a period that is a multiple of 16");
	feature_means(f, "data addresses come from decoded timer samples and watchpoints instead: fewer, and weighted by time");
	feature_enable(f, "use bare metal (in a cloud, a metal instance): hypervisors do not pass IBS to guests");
}

void probe_spe(struct feature *f)
{
	char type[16];

	if (feature_line(PMUS "arm_spe_0/type", type, sizeof(type))) {
		feature_set(f, FEATURE_YES, "arm_spe_0, type %s: load_filter=1,store_filter=1,jitter=1", type);
		return;
	}
#ifdef __aarch64__
	feature_set(f, FEATURE_NO, "not offered; would be arm_spe_0/load_filter=1,store_filter=1,jitter=1/");
	feature_means(f, "data addresses come from decoded timer samples and watchpoints instead: fewer, and weighted by time");
	feature_enable(f, "sudo modprobe arm_spe_pmu   (and boot with kpti=off where the firmware allows SPE)");
#else
	feature_set(f, FEATURE_NO, "not an ARM processor");
#endif
}
