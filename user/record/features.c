// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/features.h"
#include "kmod-free/algsock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/capability.h>

#include "util/rights.h"

#define CAP(name, number)                                                                                              \
	{                                                                                                              \
		"CAP_" #name, number                                                                                   \
	}
static const struct {
	const char *name;
	unsigned number;
} capabilities[] = {
	/* numbers, not macros: the headers of older systems lack the later ones */
	CAP(SYS_PTRACE, 19), CAP(SYS_ADMIN, 21), CAP(SYS_RESOURCE, 24), CAP(IPC_LOCK, 14),
	CAP(SYSLOG, 34),     CAP(PERFMON, 38),   CAP(BPF, 39),          CAP(CHECKPOINT_RESTORE, 40),
};

static uint64_t effective_capabilities(void)
{
	char line[256];
	uint64_t caps = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %" SCNx64, &caps) == 1)
			break;
	if (f)
		fclose(f);
	return caps;
}

static bool feature_capability(unsigned number)
{
	return effective_capabilities() >> number & 1;
}

static void probe_capabilities(struct feature *f)
{
	uint64_t caps = effective_capabilities();
	char held[200] = "", missing[200] = "";

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
		char *to = caps >> capabilities[i].number & 1 ? held : missing;
		size_t len = strlen(to);

		snprintf(to + len, 200 - len, "%s%s", len ? " " : "", capabilities[i].name);
	}
	if (!*missing) {
		feature_set(f, FEATURE_YES, "all that accperf can use: %s", held);
		return;
	}
	/* SYS_ADMIN covers PERFMON and BPF in the kernel's checks */
	bool enough = (caps >> 21 & 1 || (caps >> 38 & 1 && caps >> 39 & 1)) && caps >> 19 & 1;

	feature_set(f, enough ? FEATURE_PARTLY : FEATURE_NO, "held: %s; missing: %s", *held ? held : "none", missing);
	feature_means(
		f,
		enough ? "enough to record any process; what needs the missing ones says so below"
		       : "foreign processes, kernel time and BPF are out of reach without CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE");
	if (!enough)
		feature_enable_rights(f, "cap_bpf,cap_perfmon,cap_sys_ptrace");
	else if (!geteuid())
		feature_enable(f,
			       "start the container with --cap-add ALL   (only if a line below asks for one of them)");
	else
		feature_enable(f, "run accperf with sudo   (only if a line below asks for one of them)");
}

static void probe_paranoid(struct feature *f)
{
	char line[32];
	int level;

	if (!feature_line("/proc/sys/kernel/perf_event_paranoid", line, sizeof(line))) {
		feature_set(
			f, FEATURE_NO,
			"/proc/sys/kernel/perf_event_paranoid is not there: a kernel without perf events, or no /proc");
		feature_means(f, "nothing can be sampled");
		feature_enable(f, "boot a kernel with CONFIG_PERF_EVENTS=y (all of Debian's have it)");
		return;
	}
	level = atoi(line);
	if (level <= 1 || feature_capability(21) || (feature_capability(38) && level < 3)) {
		feature_set(f, FEATURE_YES, "%d%s", level, level > 1 ? ", and this process is exempt" : "");
		return;
	}
	feature_set(f, level >= 3 ? FEATURE_NO : FEATURE_PARTLY, "%d", level);
	feature_means(f, level >= 3 ? "without CAP_SYS_ADMIN every perf event is refused, and CAP_PERFMON does not help"
				    : "without CAP_PERFMON only own processes, without kernel time");
	feature_enable(f, "sudo sysctl kernel.perf_event_paranoid=1");
}

static void probe_mlock(struct feature *f)
{
	struct rlimit r = { 0 };
	char line[32] = "";

	feature_line("/proc/sys/kernel/perf_event_mlock_kb", line, sizeof(line));
	getrlimit(RLIMIT_MEMLOCK, &r);
	if (feature_capability(14) || r.rlim_cur == RLIM_INFINITY) {
		feature_set(f, FEATURE_YES, "no limit for this process");
		return;
	}
	feature_set(f, r.rlim_cur >= 8u << 20 ? FEATURE_YES : FEATURE_PARTLY,
		    "%llu KiB, and %s KiB a CPU for perf rings", (unsigned long long)r.rlim_cur >> 10,
		    *line ? line : "an unknown number of");
	if (f->state != FEATURE_YES) {
		feature_means(f, "rings are made smaller until they fit, so bursts lose samples sooner");
		feature_enable(f, "ulimit -l unlimited   (as root; or LimitMEMLOCK=infinity in a systemd unit)");
	}
}

static void probe_lockdown(struct feature *f)
{
	char line[80], *mode;

	if (!feature_line("/sys/kernel/security/lockdown", line, sizeof(line)) || !(mode = strchr(line, '['))) {
		feature_set(f, FEATURE_YES, "off (no lockdown module active)");
		return;
	}
	mode[strcspn(mode, "]")] = 0;
	mode++;
	if (!strcmp(mode, "none")) {
		feature_set(f, FEATURE_YES, "off");
	} else if (!strcmp(mode, "integrity")) {
		feature_set(f, FEATURE_YES, "integrity: does not touch sampling");
	} else {
		feature_set(f, FEATURE_NO, "%s", mode);
		feature_means(f,
			      "BPF may not read kernel memory and registers are not delivered: no recording with BPF");
		feature_enable(
			f,
			"boot with lockdown=integrity on the kernel command line (or Secure Boot off: mokutil --disable-validation)");
	}
}

/* Inode numbers of the initial namespaces, fixed by the kernel. */
static bool initial_namespace(const char *path, ino_t initial)
{
	struct stat st;

	return stat(path, &st) || st.st_ino == initial;
}

static uint64_t memory_limit(void)
{
	char line[400], path[480];
	uint64_t limit;
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "0::", 3);
	if (f)
		fclose(f);
	if (!found)
		return 0;
	line[strcspn(line, "\n")] = 0;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", line + 3);
	return feature_line(path, line, sizeof(line)) && sscanf(line, "%" SCNu64, &limit) == 1 ? limit : 0;
}

static const char *marker(void)
{
	static const char *const files[] = { "/.dockerenv", "/run/.containerenv", "/run/systemd/container" };

	for (unsigned i = 0; i < 3; i++)
		if (!access(files[i], F_OK))
			return files[i];
	return NULL;
}

static void probe_container(struct feature *f)
{
	bool pid_ns = !initial_namespace("/proc/self/ns/pid", 0xEFFFFFFCu);
	bool user_ns = !initial_namespace("/proc/self/ns/user", 0xEFFFFFFDu);
	const char *mark = marker();
	uint64_t limit = memory_limit();
	char seccomp[16] = "0", line[128];
	FILE *status = fopen("/proc/self/status", "re");

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Seccomp: %15s", seccomp) == 1)
			break;
	if (status)
		fclose(status);
	bool inside = pid_ns || user_ns, filtered = strcmp(seccomp, "0");
	char memory[64] = "";

	if (limit)
		snprintf(memory, sizeof(memory), "; memory limit %" PRIu64 " MiB", limit >> 20);
	feature_set(f, inside || filtered || limit ? FEATURE_PARTLY : FEATURE_YES, "%s%s%s%s",
		    user_ns  ? "a user namespace of its own"
		    : pid_ns ? "a pid namespace of its own"
		    : mark   ? "nothing is limited, though this is one: "
			     : "none",
		    mark && !inside ? mark : "", filtered ? "; system calls are filtered (seccomp)" : "", memory);
	if (user_ns)
		feature_means(
			f, "capabilities held here do not count outside: BPF and foreign processes are out of reach");
	else if (pid_ns)
		feature_means(
			f,
			"only processes of this container are seen; BPF sees the host's pids, which accperf translates");
	else if (filtered)
		feature_means(f, "a filter may refuse bpf() or perf_event_open(): see below whether it does");
	else if (limit)
		feature_means(f, "buffers and symbol tables count towards this limit");
	if (inside || filtered)
		feature_enable(
			f,
			"docker run --pid=host --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --security-opt seccomp=unconfined ...");
	else if (limit)
		feature_enable(f, "systemd-run --scope -p MemoryMax=infinity accperf record ...");
}

static void probe_btf(struct feature *f)
{
	struct stat st;

	if (!stat("/sys/kernel/btf/vmlinux", &st) && !access("/sys/kernel/btf/vmlinux", R_OK)) {
		feature_set(f, FEATURE_YES, "/sys/kernel/btf/vmlinux, %lld KiB", (long long)st.st_size >> 10);
		return;
	}
	feature_set(f, FEATURE_NO, "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	feature_means(f, "accperf's BPF programs cannot be fitted to this kernel: no recording with BPF");
	feature_enable(
		f, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, such as Debian's: apt-get install linux-image-%s",
#ifdef __aarch64__
		"arm64"
#else
		"amd64"
#endif
	);
}

static void probe_tracefs(struct feature *f)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	bool denied = false;
	char path[80];

	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/events", places[i]);
		if (!access(path, R_OK | X_OK)) {
			feature_set(f, FEATURE_YES, "%s", places[i]);
			return;
		}
		denied = denied || errno == EACCES;
	}
	feature_set(f, FEATURE_NO,
		    denied ? "/sys/kernel/tracing is for root only" : "not mounted at /sys/kernel/tracing");
	feature_means(
		f,
		"calls through io_uring and the kernel's cryptography cannot be followed; system calls are, without it");
	feature_enable(f, denied ? "sudo mount -o remount,mode=755 /sys/kernel/tracing   (or run accperf with sudo)"
				 : "sudo mount -t tracefs tracefs /sys/kernel/tracing");
}

static void probe_alg(struct feature *f)
{
	if (algsock_possible()) {
		feature_set(f, FEATURE_YES,
			    "there, as sockets of family AF_ALG; its calls are seen by tracepoints of system calls");
		return;
	}
	feature_set(f, FEATURE_NO, "this kernel has no AF_ALG sockets, neither built in nor as a module");
	feature_means(f, "no program here can use it, so there is nothing to record with --offload af_alg");
	feature_enable(
		f,
		"a kernel with CONFIG_CRYPTO_USER_API_SKCIPHER and _HASH, as Debian's are; then: sudo modprobe af_alg");
}

static bool in_path(const char *program, char *found, size_t size)
{
	const char *path = getenv("PATH");

	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");

		snprintf(found, size, "%.*s/%s", (int)n, p, program);
		if (!access(found, X_OK))
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

static void probe_exact(struct feature *f)
{
	char path[300];

	if (in_path("valgrind", path, sizeof(path))) {
		feature_set(f, FEATURE_YES, "%s", path);
		return;
	}
	feature_set(f, FEATURE_NO, "valgrind is not installed");
	feature_means(f, "no exact reference: flows and counts carry their sampling intervals only");
	feature_enable(f, "sudo apt-get install valgrind");
}

static void probe_debuginfod(struct feature *f)
{
	const char *urls = rights_getenv("DEBUGINFOD_URLS"), *root = getenv("ACCPERF_DEBUGINFOD");

	if (urls && *urls && !geteuid() && (!root || strcmp(root, "1"))) {
		feature_set(f, FEATURE_NO,
			    "DEBUGINFOD_URLS is set, but root asks only if told to: it observes everybody's programs");
		feature_means(f, "functions of stripped libraries stand as object+0xoffset");
		feature_enable(f, "export ACCPERF_DEBUGINFOD=1");
		return;
	}
	if (urls && *urls) {
		feature_set(f, FEATURE_YES, "%.200s", urls);
		return;
	}
	feature_set(f, FEATURE_NO, "DEBUGINFOD_URLS is not set: nothing is fetched from the network");
	feature_means(f, "functions of stripped libraries stand as object+0xoffset");
	feature_enable(f, "export DEBUGINFOD_URLS=https://debuginfod.debian.net");
}

/* The page is a room to the right of this one: user/cli/built.h asks it. */
static void probe_html(struct feature *f)
{
	feature_set(f, FEATURE_YES, "the page's script is built in");
}

static void probe_top(struct feature *f)
{
	feature_set(f, FEATURE_YES, "ncurses is built in");
}

static const struct {
	const char *name, *title, *command;
	enum feature_group group;
	void (*probe)(struct feature *f);
} table[] = {
	{ "capabilities", "capabilities", NULL, FEATURE_RIGHTS, probe_capabilities },
	{ "perf-paranoid", "perf_event_paranoid", NULL, FEATURE_RIGHTS, probe_paranoid },
	{ "memlock", "locked memory", NULL, FEATURE_RIGHTS, probe_mlock },
	{ "lockdown", "kernel lockdown", NULL, FEATURE_RIGHTS, probe_lockdown },
	{ "container", "container", NULL, FEATURE_RIGHTS, probe_container },
	{ "timer", "timer samples", "record", FEATURE_SOURCE, probe_timer },
	{ "kernel-ticks", "the kernel's own ticks as samples", "record", FEATURE_SOURCE, probe_kernel_ticks },
	{ "hw-breakpoints", "hardware breakpoints", "record", FEATURE_SOURCE, probe_breakpoints },
	{ "breakpoint-trial", "breakpoints do no harm", "record", FEATURE_SOURCE, probe_stray },
	{ "pmu", "hardware counters", "record", FEATURE_SOURCE, probe_pmu },
	{ "pebs", "Intel PEBS accesses", "record", FEATURE_SOURCE, probe_pebs },
	{ "ibs", "AMD IBS accesses", "record", FEATURE_SOURCE, probe_ibs },
	{ "spe", "ARM SPE accesses", "record", FEATURE_SOURCE, probe_spe },
	{ "bpf", "BPF programs", "record", FEATURE_SOURCE, probe_bpf },
	{ "bpf-ring", "BPF ring buffer", "record", FEATURE_SOURCE, probe_bpf_ring },
	{ "btf", "kernel types (BTF)", "record", FEATURE_SOURCE, probe_btf },
	{ "uprobe-multi", "uprobes, many at once", "record", FEATURE_SOURCE, probe_uprobe_multi },
	{ "uprobe-session", "uprobes, paired", "record", FEATURE_SOURCE, probe_uprobe_session },
	{ "uprobe-pmu", "uprobes, one by one", "record", FEATURE_SOURCE, probe_uprobe_pmu },
	{ "tracefs", "tracepoints", "record", FEATURE_SOURCE, probe_tracefs },
	{ "af-alg", "kernel's cryptography", "record", FEATURE_SOURCE, probe_alg },
	{ "exact", "exact engine", "exact", FEATURE_SOURCE, probe_exact },
	{ "debuginfod", "symbols from debuginfod", "record", FEATURE_SOURCE, probe_debuginfod },
	{ "html", "report as a page", "report", FEATURE_VIEW, probe_html },
	{ "top", "live in the terminal", "top", FEATURE_VIEW, probe_top },
};

static void cpu_name(char *out, size_t size)
{
	char line[300];
	FILE *f = fopen("/proc/cpuinfo", "re");

	snprintf(out, size, "unknown processor");
	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !colon)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(out, size, "%.70s", colon + 2);
		break;
	}
	if (f)
		fclose(f);
}

void features_list(struct features *out)
{
	struct utsname u;

	_Static_assert(sizeof(table) / sizeof(table[0]) <= FEATURES_MAX, "raise FEATURES_MAX");
	memset(out, 0, sizeof(*out));
	if (!uname(&u)) {
		snprintf(out->release, sizeof(out->release), "%s", u.release);
		snprintf(out->machine, sizeof(out->machine), "%s", u.machine);
	}
	cpu_name(out->cpu, sizeof(out->cpu));
	out->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	out->count = sizeof(table) / sizeof(table[0]);
	for (size_t i = 0; i < out->count; i++) {
		out->f[i].name = table[i].name;
		out->f[i].title = table[i].title;
		out->f[i].command = table[i].command;
		out->f[i].group = table[i].group;
	}
}

void features_probe(struct features *out)
{
	features_list(out);
	for (size_t i = 0; i < out->count; i++)
		table[i].probe(&out->f[i]);
}

const struct feature *features_find(const struct features *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->f[i].name, name))
			return &f->f[i];
	return NULL;
}

const char *feature_state_str(enum feature_state s)
{
	switch (s) {
	case FEATURE_UNKNOWN: return "unknown";
	case FEATURE_NO: return "no";
	case FEATURE_PARTLY: return "partly";
	case FEATURE_YES: return "yes";
	}
	return "unknown";
}
