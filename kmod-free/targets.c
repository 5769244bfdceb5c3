// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/targets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kmod-free/perfev.h"
#include "util/grow.h"
#include "util/rights.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* its number, the same on all architectures */
#endif

#define TASK_NAME 15                           /* bytes of a name that the kernel keeps: TASK_COMM_LEN less the end */
#define FIRST_PID_NAMESPACE "pid:[4026531836]" /* the number is part of the kernel's interface */

void targets_init(struct targets *t)
{
	*t = (struct targets){ .cgroup_fd = -1, .go_fd = -1, .fail_fd = -1 };
}

/* Reads "Name:\tvalue" of /proc/PID/status; 0 when found. */
static int proc_status(int pid, const char *name, char *value, size_t size)
{
	char path[64], line[256];
	size_t n = strlen(name);
	FILE *f;
	int err = -ENOENT;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, n) && line[n] == ':') {
			char *p = line + n + 1;

			p += strspn(p, " \t");
			p[strcspn(p, "\n")] = '\0';
			snprintf(value, size, "%s", p);
			err = 0;
			break;
		}
	}
	fclose(f);
	return err;
}

#define KTHREADD 2 /* the kernel's first thread of its own, always */

static int check_process(int pid, struct err *e)
{
	char state[64], tgid[32], vm[32], parent[32];

	if (proc_status(pid, "State", state, sizeof(state)))
		return err_set(e, -ESRCH,
			       "there is no process %d; it may have ended (`ps -p %d` shows it, if it lives)", pid,
			       pid);
	if (state[0] == 'Z' || state[0] == 'X')
		return err_set(e, -ESRCH,
			       "process %d is a zombie: it has ended and waits for its parent; nothing runs in it",
			       pid);
	if (!proc_status(pid, "Tgid", tgid, sizeof(tgid)) && atoi(tgid) != pid)
		return err_set(e, -EINVAL,
			       "%d is a thread of process %s; use -t %d for the thread or -p %s for all of them", pid,
			       tgid, pid, tgid);
	if (!proc_status(pid, "VmSize", vm, sizeof(vm)))
		return 0;
	/* the kernel's threads are kthreadd's children; a process that ends lets go of its memory first */
	if (pid != KTHREADD && !proc_status(pid, "PPid", parent, sizeof(parent)) && atoi(parent) != KTHREADD)
		return err_set(e, -ESRCH, "process %d is ending: it has no memory any more", pid);
	return err_set(e, -EINVAL, "process %d is a kernel thread: it has no code of its own to profile", pid);
}

#define BLANKS " \t\n"

/* The number at *p, past which, and what separates it from the next, *p is moved; 0: there is none. */
static int next_id(const char **p)
{
	const char *at = *p + strspn(*p, BLANKS);
	char *end;
	long v = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : 0;

	if (v <= 0 || v > INT32_MAX || !strchr("," BLANKS, *end))
		return 0;
	end += strspn(end, BLANKS);
	if (*end == ',' && !end[1 + strspn(end + 1, BLANKS)])
		return 0;
	*p = *end == ',' ? end + 1 : end;
	return (int)v;
}

int targets_check_list(const char *list, const char *what, struct err *e)
{
	const char *p = list;

	if (!list[strspn(list, BLANKS)])
		return err_set(e, -EINVAL, "the list of %s ids is empty: if it came from pgrep or pidof, none matched",
			       what);
	do {
		if (!next_id(&p))
			return err_set(e, -EINVAL, "'%s' is not a list of %s ids such as 123 or 123,456", list, what);
	} while (*p);
	return 0;
}

static int each(const char *list, const char *what, int (*fn)(struct targets *, int, struct err *), struct targets *t,
		struct err *e)
{
	int err = targets_check_list(list, what, e);

	while (!err && *list)
		err = fn(t, next_id(&list), e);
	return err;
}

static int add_process(struct targets *t, int pid, struct err *e)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->procs[i].pid == pid)
			return 0;
	if (!GROW_ONE(t->procs, t->count))
		return err_set(e, -ENOMEM, "out of memory");
	t->procs[t->count++] = (struct target){ .pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0) };
	return 0;
}

static int add_pid(struct targets *t, int pid, struct err *e)
{
	int err = check_process(pid, e);

	if (!err)
		err = rights_check_process(pid, e);
	return err ? err : add_process(t, pid, e);
}

/* The number of an entry of /proc that is a process; 0: it is something else. */
static int process_of(const struct dirent *d)
{
	return isdigit((unsigned char)d->d_name[0]) ? atoi(d->d_name) : 0;
}

static int parent_of(int pid)
{
	char ppid[32];

	return proc_status(pid, "PPid", ppid, sizeof(ppid)) ? 0 : atoi(ppid);
}

static bool is_target(const struct targets *t, int pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->procs[i].pid == pid)
			return true;
	return false;
}

/* One look at /proc. Parents mostly have the lower number and come first, so that one is enough for most trees. */
static int targets_add_children(struct targets *t, DIR *proc, size_t *added, struct err *e)
{
	struct dirent *d;
	int err = 0;

	*added = 0;
	t->refused = 0;
	while (!err && (d = readdir(proc))) {
		int pid = process_of(d), parent = pid ? parent_of(pid) : 0;

		if (!parent || pid == getpid() || parent == getpid() || is_target(t, pid) || !is_target(t, parent) ||
		    check_process(pid, NULL))
			continue;
		if (rights_check_process(pid, NULL)) {
			t->refused++;
			continue;
		}
		err = add_process(t, pid, e);
		if (!err) {
			t->procs[t->count - 1].found = true;
			++*added;
		}
	}
	return err;
}

int targets_add_descendants(struct targets *t, struct err *e)
{
	size_t added = 0;
	int err;
	DIR *proc;

	if (!t->count || t->tid_count)
		return 0;
	proc = opendir("/proc");
	if (!proc)
		return err_set(e, -errno, "cannot look for child processes in /proc: %s", strerror(errno));
	do {
		rewinddir(proc);
		err = targets_add_children(t, proc, &added, e);
	} while (!err && added);
	closedir(proc);
	return err;
}

int targets_add_name(struct targets *t, const char *name, struct err *e)
{
	bool any = false;
	struct err refused = { 0 };
	struct dirent *d;
	char comm[64];
	int err = 0;
	DIR *proc;

	if (!*name)
		return err_set(e, -EINVAL, "-n wants the name of a program");
	proc = opendir("/proc");
	if (!proc)
		return err_set(e, -errno, "cannot look for processes in /proc: %s", strerror(errno));
	while (!err && (d = readdir(proc))) {
		int pid = process_of(d);

		/* the kernel keeps 15 bytes of a name */
		if (pid && pid != getpid() && !proc_status(pid, "Name", comm, sizeof(comm)) &&
		    !strncmp(comm, name, TASK_NAME) && !check_process(pid, NULL)) {
			bool known = is_target(t, pid);

			if (rights_check_process(pid, &refused))
				continue;
			any = true;
			err = add_process(t, pid, e);
			if (!err && !known)
				t->procs[t->count - 1].found = true;
		}
	}
	closedir(proc);
	if (!err && !any && refused.code)
		return err_set(e, refused.code, "%s", refused.text);
	if (!err && !any)
		return err_set(e, -ESRCH, "there is no process named '%s'; `ps -eo comm` lists the names", name);
	return err;
}

static int add_tid(struct targets *t, int tid, struct err *e)
{
	char tgid[32], vm[32];

	if (proc_status(tid, "Tgid", tgid, sizeof(tgid)))
		return err_set(e, -ESRCH, "there is no thread %d; `ls /proc/PID/task` lists those of a process", tid);
	if (proc_status(tid, "VmSize", vm, sizeof(vm)))
		return err_set(e, -EINVAL,
			       "thread %d has ended or is a kernel thread: there is no code of its own to profile",
			       tid);
	if (rights_check_process(tid, e))
		return e->code;
	if (!GROW_ONE(t->tids, t->tid_count))
		return err_set(e, -ENOMEM, "out of memory");
	t->tids[t->tid_count++] = tid;
	return add_process(t, atoi(tgid), e);
}

/* Of several, those that have ended are passed over: it is how lists of what comes and goes are. */
static int add_some_pid(struct targets *t, int pid, struct err *e)
{
	struct err why = { 0 };
	size_t before = t->count;
	int err = add_pid(t, pid, &why);

	if (t->count > before)
		t->procs[before].found = true;
	t->ended += err == -ESRCH;
	return err && err != -ESRCH ? err_set(e, err, "%s", why.text) : 0;
}

int targets_add_pids(struct targets *t, const char *list, struct err *e)
{
	const char *rest = list;
	bool several = next_id(&rest) && *rest;
	unsigned ended = t->ended;
	size_t before = t->count;
	int err = each(list, "process", several ? add_some_pid : add_pid, t, e);

	if (!err && t->ended > ended && t->count == before)
		err = err_set(e, -ESRCH, "all %u processes of that list have ended", t->ended - ended);
	return err;
}

int targets_add_tids(struct targets *t, const char *list, struct err *e)
{
	return each(list, "thread", add_tid, t, e);
}

/* Whether events can be had of this group: of version 2, or of the hierarchy of version 1 that has perf_event. What
 * else stands in the way is told better where the events are opened. */
static int check_cgroup(int fd, const char *path, struct err *e)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY };
	struct statfs fs;
	int cpu, err;

	if (online_cpus(&cpu, 1) < 1)
		return 0;
	err = perfev_open(&attr, fd, cpu, -1, PERF_FLAG_PID_CGROUP, "the event", NULL);
	if (err >= 0)
		close(err);
	if (err != -ENOENT && err != -EBADF && err != -EINVAL && err != -EOPNOTSUPP)
		return 0;
	if (!fstatfs(fd, &fs) && fs.f_type != CGROUP2_SUPER_MAGIC)
		return err_set(
			e, err,
			"%s is a control group of version 1, of a hierarchy without perf_event: nothing tells when its "
			"processes run; give the group's path in version 2 (/sys/fs/cgroup/unified/..., where both are mounted) or "
			"below /sys/fs/cgroup/perf_event",
			path);
	return err_set(
		e, err,
		"of control group %s nothing tells when its processes run: the kernel lacks CONFIG_CGROUP_PERF, perf_event is "
		"mounted as version 1 (give the group's path below /sys/fs/cgroup/perf_event), or no controller was ever "
		"turned on (echo +cpu >/sys/fs/cgroup/cgroup.subtree_control)",
		path);
}

int targets_set_cgroup(struct targets *t, const char *name, struct err *e)
{
	/* a hierarchy with the perf_event controller: v2 has it always, unless v1 took it */
	static const char *const roots[] = { "", "/sys/fs/cgroup/perf_event/", "/sys/fs/cgroup/unified/",
					     "/sys/fs/cgroup/" };
	char path[4096];

	for (size_t i = name[0] == '/' ? 0 : 1; i < sizeof(roots) / sizeof(roots[0]); i++) {
		char probe[4200];

		snprintf(path, sizeof(path), "%s%s", roots[i], name);
		snprintf(probe, sizeof(probe), "%s/cgroup.procs", path);
		if (access(probe, F_OK))
			continue;
		t->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (t->cgroup_fd >= 0)
			return check_cgroup(t->cgroup_fd, path, e);
		return err_set(e, -errno, "cannot open cgroup %s: %s", path, strerror(errno));
	}
	return err_set(e, -ENOENT, "there is no cgroup '%s'; give its path below /sys/fs/cgroup", name);
}

/* What execvp() would find wrong, before anything is started or written. */
static int check_command(const char *name, struct err *e)
{
	const char *path = getenv("PATH");
	char full[4096];

	if (strchr(name, '/')) {
		if (!access(name, X_OK))
			return 0;
		return err_set(e, -errno, "the command %s cannot be run: %s", name, strerror(errno));
	}
	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");

		if ((size_t)snprintf(full, sizeof(full), "%.*s/%s", (int)n, p, name) < sizeof(full) &&
		    !access(full, X_OK))
			return 0;
		p += n + (p[n] == ':');
	}
	return err_set(e, -ENOENT, "there is no command '%s' in PATH", name);
}

int targets_start_command(struct targets *t, char **argv, struct err *e)
{
	int go[2], fail[2], pid = check_command(argv[0], e);

	if (pid)
		return pid;
	if (pipe2(go, O_CLOEXEC) || pipe2(fail, O_CLOEXEC))
		return err_set(e, -errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		return err_set(e, -errno, "cannot start a process: %s", strerror(errno));
	if (!pid) {
		char c;
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		close(go[1]);
		close(fail[0]);
		rights_drop();
		/* a byte means go; the end of the pipe means that the recorder died */
		if (read(go[0], &c, 1) != 1)
			_exit(127);
		execvp(argv[0], argv);
		c = (char)errno;
		if (write(fail[1], &c, 1) != 1)
			_exit(126);
		_exit(127);
	}
	close(go[0]);
	close(fail[1]);
	t->child = pid;
	t->go_fd = go[1];
	t->fail_fd = fail[0];
	return add_process(t, pid, e);
}

int targets_go(struct targets *t, struct err *e)
{
	char c = 0;
	ssize_t n;

	if (t->go_fd < 0)
		return 0;
	if (write(t->go_fd, "g", 1) != 1)
		return err_set(e, -errno, "the command could not be started: %s", strerror(errno));
	close(t->go_fd);
	t->go_fd = -1;
	do
		n = read(t->fail_fd, &c, 1);
	while (n < 0 && errno == EINTR);
	close(t->fail_fd);
	t->fail_fd = -1;
	if (n == 1)
		return err_set(e, -(int)c, "the command cannot be run: %s", strerror(c));
	return 0;
}

int targets_recheck(struct targets *t, struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		struct target *p = &t->procs[i];
		struct pollfd pf = { .fd = p->pidfd, .events = POLLIN };
		struct err why;

		if (p->pid == t->child || !rights_check_process(p->pid, &why))
			continue;
		if (p->pidfd >= 0 && poll(&pf, 1, 0) == 1 && p->found)
			continue;
		if (p->pidfd >= 0 && poll(&pf, 1, 0) == 1)
			return err_set(e, -ESRCH, "process %d ended before it could be observed", p->pid);
		return err_set(e, why.code, "%s", why.text);
	}
	return 0;
}

struct lent_rights targets_lent(void)
{
	return (struct lent_rights){ .strict = rights_lent() && !rights_trusted(),
				     .uid = getuid(),
				     .gid = getgid(),
				     .self = (uint32_t)getpid() };
}

int targets_threads(int pid, int **tids)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int n = 0, *list = NULL;
	unsigned cap = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((d = readdir(dir))) {
		int tid = atoi(d->d_name);

		if (tid <= 0)
			continue;
		if (!PUSH(list, n, cap, 64, tid)) {
			free(list);
			closedir(dir);
			return -ENOMEM;
		}
	}
	closedir(dir);
	*tids = list;
	return n;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

int targets_child_status(struct targets *t, bool wait)
{
	struct rusage used;
	int status;

	if (!t->child)
		return -1;
	if (!t->child_reaped && wait4(t->child, &status, wait ? 0 : WNOHANG, &used) == t->child) {
		t->child_reaped = true;
		t->child_cpu_s = seconds(&used.ru_utime) + seconds(&used.ru_stime);
		t->child_status = status;
	}
	return t->child_reaped ? t->child_status : -1;
}

bool targets_ended(struct targets *t)
{
	if (t->child)
		return targets_child_status(t, false) >= 0;
	if (t->all || t->cgroup_fd >= 0 || !t->count)
		return false;
	for (size_t i = 0; i < t->count; i++) {
		struct target *p = &t->procs[i];
		struct pollfd pf = { .fd = p->pidfd, .events = POLLIN };

		if (p->gone)
			continue;
		if (p->pidfd >= 0 ? poll(&pf, 1, 0) == 1 : kill(p->pid, 0) && errno == ESRCH)
			p->gone = true;
		else
			return false;
	}
	return true;
}

bool targets_first_pid_namespace(void)
{
	char name[64];
	ssize_t n = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

	name[n > 0 ? n : 0] = 0;
	return !strcmp(name, FIRST_PID_NAMESPACE);
}

struct pid_namespace targets_pid_namespace(void)
{
	struct stat ns;

	if (targets_first_pid_namespace() || stat("/proc/self/ns/pid", &ns))
		return (struct pid_namespace){ 0 };
	return (struct pid_namespace){ ns.st_dev, ns.st_ino };
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void targets_release(struct targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		close_fd(&t->procs[i].pidfd);
	close_fd(&t->cgroup_fd);
	close_fd(&t->go_fd);
	close_fd(&t->fail_fd);
	free(t->procs);
	free(t->tids);
	targets_init(t);
}
