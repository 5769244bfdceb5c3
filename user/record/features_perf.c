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

#include "record/features.h"
#include "kmod-free/kernel_tick.h"
#include "kmod-free/stray_trap.h"
#include "util/clock.h"

#define PMUS "/sys/bus/event_source/devices/"

static int try_event(struct perf_event_attr *attr, int pid, int cpu)
{
	attr->size = sizeof(*attr);
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool read_count(int fd, uint64_t *count)
{
	return read(fd, count, sizeof(*count)) == sizeof(*count);
}

/* Whether a sampling event on this thread puts records into its ring: accepting is not delivering. */
static bool delivers(int fd)
{
	long page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *ring = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bool any = false;
	uint64_t until;

	if (ring == MAP_FAILED)
		return false;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	until = clock_cpu() + 50000000;
	do
		any = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) > 0;
	while (!any && clock_cpu() < until);
	munmap(ring, (size_t)page * 2);
	return any;
}

static void perf_refused(struct feature *f, const char *what, int error)
{
	feature_set(f, FEATURE_NO, "%s: %s", what, strerror(error));
	if (error == ENOSYS)
		feature_enable(
			f,
			"allow perf_event_open() in the seccomp filter: docker run --security-opt seccomp=unconfined ...");
	else if (error == EACCES || error == EPERM)
		feature_enable_rights(f, "cap_perfmon");
	else
		feature_enable(f, "boot a kernel with CONFIG_PERF_EVENTS=y");
}

void probe_kernel_ticks(struct feature *f)
{
	struct kernel_tick_code code;
	const char *why;

	if (kernel_tick_find(&code, &why)) {
		feature_set(f, FEATURE_YES, "%.0f a second, which cost no interrupt", 1e9 / (double)kernel_tick_ns());
		return;
	}
	feature_set(f, FEATURE_NO, "%s", why);
	feature_means(f, "fewer samples for the same cost: those of timers alone");
	feature_enable_rights(f, "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog");
}

void probe_timer(struct feature *f)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.freq = 1,
					.sample_freq = 1000,
					.sample_type = PERF_SAMPLE_IP,
					.disabled = 1 };
	int fd = try_event(&attr, 0, -1), wide;
	bool kernel = fd >= 0;

	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		attr.exclude_kernel = 1;
		fd = try_event(&attr, 0, -1);
	}
	if (fd < 0) {
		perf_refused(f, "cpu-clock events cannot be opened", errno);
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
	wide = try_event(&attr, -1, 0);
	if (wide >= 0)
		close(wide);
	if (kernel && wide >= 0) {
		feature_set(f, FEATURE_YES, "cpu-clock delivers, with kernel time, also for whole CPUs (-a)");
		return;
	}
	feature_set(f, FEATURE_PARTLY, "cpu-clock delivers, %s, %s",
		    kernel ? "with kernel time" : "without kernel time",
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
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT,
					.bp_type = type,
					.bp_addr = (uintptr_t)addr,
					.bp_len = len,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.disabled = 1 };
	int fd = try_event(&attr, 0, -1);
	uint64_t hits = 0;

	if (fd < 0)
		return -errno;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (unsigned i = 0; i < rounds; i++)
		touch();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!read_count(fd, &hits))
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
		struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT,
						.bp_type = HW_BREAKPOINT_W,
						.bp_addr = (uintptr_t)&apart[n],
						.bp_len = 8,
						.exclude_kernel = 1,
						.disabled = 1 };

		fds[n] = try_event(&attr, 0, -1);
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
			feature_set(f, FEATURE_NO,
				    "all slots are taken: a debugger or a CPU-wide breakpoint holds them");
			feature_enable(f, "ps -eo pid,args | grep -E 'gdb|lldb|perf'   (and end what holds them)");
		} else {
			perf_refused(f, "a breakpoint on an own variable is refused", error);
		}
		feature_means(f, "no watchpoints: flows and counts come from bursts alone, with wider intervals");
		return;
	}
	if (w == (int)rounds && rw == (int)rounds && x == (int)rounds) {
		feature_set(f, FEATURE_YES,
			    "self-test: %d of %u stores, %d of %u loads, %d of %u calls were seen; %u slots a thread",
			    w, rounds, rw, rounds, x, rounds, free_slots());
		return;
	}
	/* SEV guests accept breakpoints and never deliver them */
	feature_set(f, w > 0 ? FEATURE_PARTLY : FEATURE_NO,
		    "self-test: %d of %u stores, %d of %u loads, %d of %u calls were seen", w, rounds, rw, rounds, x,
		    rounds);
	feature_means(
		f, "the processor or its hypervisor %s; flows and counts come from bursts alone, with wider intervals",
		w > 0 ? "does not deliver all kinds of breakpoints" : "accepts breakpoints and delivers none");
	feature_enable(f, "virsh edit DOMAIN   (remove <launchSecurity type='sev'/>; or use bare metal)");
}

void probe_stray(struct feature *f)
{
	struct stray_known k;
	char found[300], why[300] = "";

	stray_read(&k);
	stray_describe(&k, found, sizeof(found));
	switch (stray_verdict(&k)) {
	case STRAY_NONE: feature_set(f, FEATURE_YES, "%s", found); return;
	case STRAY_UNTRIED:
		feature_set(f, FEATURE_UNKNOWN, "%s", found);
		feature_means(
			f,
			"on some virtual machines a hit in a million ends the program; recordings try that out in idle time, and have no "
			"windows until it is done%s%s",
			stray_kept(why, sizeof(why)) ? "" : "; nobody keeps what was tried, for ", why);
		feature_enable(f, "%saccperf doctor --breakpoints",
			       *why ? "export XDG_CACHE_HOME=FOLDER   (one that can be written); " : "");
		return;
	case STRAY_SEEN:
		feature_set(f, FEATURE_NO, "%s", found);
		feature_means(
			f,
			"recordings do without: no watch windows, counts from bursts alone; other tools' breakpoints end programs here, too");
		feature_enable(f, "update the host: KVM of Linux 6.14 or newer; or use bare metal");
		return;
	}
}

static bool pmu_there(const char *name)
{
	char path[120];

	snprintf(path, sizeof(path), PMUS "%s/type", name);
	return !access(path, R_OK);
}

static void no_pmu_enable(struct feature *f)
{
	feature_enable(
		f,
		"in a virtual machine, let the host pass the PMU: qemu -cpu host,pmu=on; libvirt <features><pmu state='on'/></features>; in a cloud take a bare-metal instance");
}

void probe_pmu(struct feature *f)
{
	static const char *const names[] = { "cpu", "cpu_core", "cpu_atom", "armv8_pmuv3_0", "armv8_pmuv3", "ibs_op" };
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1, .exclude_hv = 1
	};
	char found[120] = "", kind[64] = "";
	int fd = try_event(&attr, 0, -1), error = errno;
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
		bool counts = read_count(fd, &n) && n > 100000;

		close(fd);
		feature_set(f, counts ? FEATURE_YES : FEATURE_NO, "%s%s%s%s", *found ? found : "hardware events",
			    *kind ? ", " : "", kind,
			    counts ? "; instructions are counted" : "; opens, but does not count");
		if (!counts) {
			feature_means(f, "counts would be zeros: the timer is used instead");
			no_pmu_enable(f);
		}
		return;
	}
	feature_set(f, FEATURE_NO, "none: %s",
		    error == ENOENT || error == EOPNOTSUPP || error == ENODEV
			    ? "no hardware counters here (a virtual machine?)"
			    : strerror(error));
	feature_means(
		f,
		"the timer is used: shares are weighted by time, not by instructions or accesses; call and byte counts come from breakpoints, with wider intervals");
	if (error == EACCES || error == EPERM)
		feature_enable_rights(f, "cap_perfmon");
	else
		no_pmu_enable(f);
}

/* The events that this processor would be asked for, as text; false if there are none. */
static bool encodings(const struct pmu_cpu *cpu, const char *sysfs, char *text, size_t size, unsigned *opened,
		      unsigned *all, int *error)
{
	static const enum pmu_what wanted[] = { PMU_LOADS, PMU_STORES, PMU_MEMORY };
	struct pmu_event events[PMU_MAX_EVENTS];
	struct pmu_opts o = { 0 };
	bool any = false, both = cpu->arch == PMU_X86_AMD || cpu->arch == PMU_ARM64;

	*text = 0;
	for (unsigned w = 0; w < 3; w++) {
		int n;

		/* one event that holds both, or one of each */
		if ((wanted[w] == PMU_MEMORY) != both)
			continue;
		n = pmu_encode(cpu, sysfs, wanted[w], &o, events, PMU_MAX_EVENTS, NULL);
		for (int i = 0; i < n; i++) {
			char one[160];
			size_t len = strlen(text);
			int fd = events[i].has_leader ? try_event(&events[i].leader, 0, -1) : -1;
			int member;

			pmu_event_text(&events[i], one, sizeof(one));
			snprintf(text + len, size - len, "%s%s", len ? "; " : "", one);
			member = events[i].has_leader && fd < 0 ? -1
								: (int)syscall(SYS_perf_event_open, &events[i].attr, 0,
									       -1, fd, PERF_FLAG_FD_CLOEXEC);
			if (member < 0)
				*error = errno;
			++*all;
			*opened += member >= 0;
			if (member >= 0)
				close(member);
			if (fd >= 0)
				close(fd);
			any = true;
		}
	}
	return any;
}

void probe_memory_events(struct feature *f, const struct pmu_cpu *cpu, const char *sysfs, enum pmu_arch arch)
{
	static const char *const vendors[] = {
		[PMU_X86_INTEL] = "an Intel", [PMU_X86_AMD] = "an AMD", [PMU_ARM64] = "an ARM", [PMU_POWER] = "a POWER"
	};
	char text[260];
	unsigned opened = 0, all = 0;
	int error = 0;

	if (cpu->arch != arch) {
		feature_set(f, FEATURE_NO, "not %s processor", vendors[arch]);
		return;
	}
	if (!encodings(cpu, sysfs, text, sizeof(text), &opened, &all, &error))
		feature_set(f, FEATURE_NO, "not offered by this machine%s",
			    arch == PMU_X86_AMD ? "; would be ibs_op/cnt_ctl=1/ with a period that is a multiple of 16"
			    : arch == PMU_ARM64 ? "; would be arm_spe_0/load_filter=1,store_filter=1,jitter=1/"
						: "");
	else
		feature_set(f,
			    opened == all ? FEATURE_YES
			    : opened      ? FEATURE_PARTLY
					  : FEATURE_NO,
			    "%s%s", opened ? "" : "does not open; would be ", text);
	if (f->state == FEATURE_YES)
		return;
	feature_means(
		f,
		"data addresses come from decoded timer samples and watchpoints instead: fewer, and weighted by time");
	if (error == EACCES || error == EPERM)
		feature_enable_rights(f, "cap_perfmon");
	else if (arch == PMU_X86_AMD)
		feature_enable(f,
			       "use bare metal (in a cloud, a metal instance): hypervisors do not pass IBS to guests");
	else if (arch == PMU_ARM64)
		feature_enable(f, "sudo modprobe arm_spe_pmu   (and boot with kpti=off where the firmware allows SPE)");
	else
		no_pmu_enable(f);
}

static void probe_own(struct feature *f, enum pmu_arch arch)
{
	struct pmu_cpu cpu = { 0 };

	/* an unknown processor is no one's: the row says so */
	pmu_cpu_read(&cpu);
	probe_memory_events(f, &cpu, "/sys/bus/event_source/devices", arch);
}

void probe_pebs(struct feature *f)
{
	probe_own(f, PMU_X86_INTEL);
}

void probe_ibs(struct feature *f)
{
	probe_own(f, PMU_X86_AMD);
}

void probe_spe(struct feature *f)
{
	probe_own(f, PMU_ARM64);
}
