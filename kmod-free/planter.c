// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/planter.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kmod-free/close_together.h"
#include "util/clock.h"

#define UPROBE_MULTI_RETURN 1u /* newer than the headers of Debian 12 */
#define PLACES_MOST 65536      /* of one link, in memory that both processes see; more are planted directly; by hand */
#define FDS_MOST 253           /* of one message: SCM_MAX_FD */
#define TAKEN_MOST 16384       /* to be closed at once; by hand */

enum planter_op { PLANT_MULTI, PLANT_PERF, PLANT_TAKE, PLANT_CLOSE };

struct planter_request {
	enum planter_op op;
	unsigned attach_type, perf_type, cnt, at;
	bool ret;
	int pid;
};

struct planter_reply {
	int err;
	uint64_t cpu_ns; /* of the planter, since it began */
};

struct places {
	unsigned long offsets[PLACES_MOST];
	uint64_t cookies[PLACES_MOST];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below; held from a request to its reply */
static struct {
	unsigned users;
	pid_t pid; /* 0: none; what is asked for is done here */
	int sock;
	struct places *places;
	uint64_t ended_ns; /* of CPU time, by those before */
} planter = { .sock = -1 };
static _Atomic uint64_t took_ns; /* by all: read without the lock, which is held while the kernel works */

/* ---- what the kernel is asked for ---- */

static int multi_here(const struct planter_places *p)
{
	char path[64];
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t cnt, multi_flags, pid, pad;
	} attr = {
		.prog_fd = (uint32_t)p->prog,
		.attach_type = p->attach_type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)p->offsets,
		.cookies = (uintptr_t)p->cookies,
		.cnt = p->cnt,
		.multi_flags = p->ret ? UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)p->pid,
	};
	long fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->file);
	fd = syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : (int)fd;
}

static int perf_here(const struct planter_places *p, unsigned i, unsigned perf_type, int fds[2])
{
	char path[64];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = perf_type,
		.config = p->ret, /* bit 0: retprobe */
		.config1 = (uintptr_t)path,
		.config2 = p->offsets[i],
	};
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = p->cookies[i]);
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->file);
	fds[0] = (int)syscall(__NR_perf_event_open, &attr, p->pid ? p->pid : -1, p->pid ? -1 : 0, -1,
			      PERF_FLAG_FD_CLOEXEC);
	if (fds[0] < 0)
		return -errno;
	fds[1] = bpf_link_create(p->prog, fds[0], BPF_PERF_EVENT, &opts);
	if (fds[1] < 0) {
		r = fds[1] == -1 ? -errno : fds[1];
		close(fds[0]);
		fds[0] = -1;
		return r;
	}
	return 0;
}

/* ---- messages ---- */

static bool send_with(int sock, const void *data, size_t size, const int *fds, unsigned cnt)
{
	struct iovec v = { (void *)data, size };
	union {
		char buf[CMSG_SPACE(FDS_MOST * sizeof(int))];
		struct cmsghdr align;
	} c;
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *h;

	if (cnt) {
		memset(&c, 0, sizeof(c));
		m.msg_control = c.buf;
		m.msg_controllen = CMSG_SPACE(cnt * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		*h = (struct cmsghdr){ CMSG_LEN(cnt * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(h), fds, cnt * sizeof(int));
	}
	while (sendmsg(sock, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return false;
	return true;
}

/* False: the other side has ended, or says what it cannot have said. */
static bool receive_with(int sock, void *data, size_t size, int *fds, unsigned *cnt)
{
	struct iovec v = { data, size };
	union {
		char buf[CMSG_SPACE(FDS_MOST * sizeof(int))];
		struct cmsghdr align;
	} c;
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.buf, .msg_controllen = sizeof(c.buf) };
	struct cmsghdr *h;
	ssize_t n;

	*cnt = 0;
	do {
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)size)
		return false;
	h = CMSG_FIRSTHDR(&m);
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS) {
		*cnt = (unsigned)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(h), *cnt * sizeof(int));
	}
	return true;
}

/* ---- the planter ---- */

/* What is to be closed, when the recorder has closed its own: these are the last references. If it ends before it says
 * so, they go with this process, which is not to be killed. */
struct planter_taken {
	int fds[TAKEN_MOST];
	unsigned cnt;
};

static void planter_take(struct planter_taken *t, const int *fds, unsigned cnt)
{
	if (cnt > TAKEN_MOST - t->cnt) {
		close_together(t->fds, t->cnt);
		t->cnt = 0;
	}
	memcpy(t->fds + t->cnt, fds, cnt * sizeof(*fds));
	t->cnt += cnt;
}

/* One request: what it makes is handed over, and none of it stays here. */
static bool planter_serve(int sock, const struct places *places, struct planter_taken *taken)
{
	struct planter_request q;
	struct planter_reply a = { 0 };
	int fds[FDS_MOST], made[2] = { -1, -1 };
	unsigned cnt, made_cnt = 0;
	struct planter_places p;
	bool sent;

	if (!receive_with(sock, &q, sizeof(q), fds, &cnt))
		return false;
	if (q.op == PLANT_TAKE) {
		planter_take(taken, fds, cnt);
		return true;
	}
	p = (struct planter_places){ .prog = cnt > 0 ? fds[0] : -1,
				     .file = cnt > 1 ? fds[1] : -1,
				     .attach_type = q.attach_type,
				     .ret = q.ret,
				     .offsets = places->offsets,
				     .cookies = places->cookies,
				     .cnt = q.cnt,
				     .pid = q.pid };
	switch (q.op) {
	case PLANT_MULTI:
		a.err = made[0] = multi_here(&p);
		made_cnt = a.err >= 0;
		break;
	case PLANT_PERF:
		a.err = perf_here(&p, q.at, q.perf_type, made);
		made_cnt = a.err ? 0 : 2;
		break;
	case PLANT_CLOSE:
		close_together(taken->fds, taken->cnt);
		taken->cnt = 0;
		break;
	case PLANT_TAKE: break;
	}
	while (cnt)
		close(fds[--cnt]);
	a.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	sent = send_with(sock, &a, sizeof(a), made, made_cnt);
	/* the last references, if nobody waits any more: then it is removed here */
	while (made_cnt)
		close(made[--made_cnt]);
	return sent;
}

static void planter_run(int sock, const struct places *places)
{
	static struct planter_taken taken;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sock = fcntl(sock, F_DUPFD, 3); /* it may be one of those that follow */
	setsid();
	prctl(PR_SET_NAME, "accperf-plant");
	for (int fd = 0; fd < 3; fd++)
		if (null >= 0)
			dup2(null, fd);
		else
			close(fd);
	/* Nothing of the recorder's lives on through this process. */
	if (dup2(sock, 3) != 3 || close_range(4, ~0u, 0) || chdir("/"))
		_exit(1);
	while (planter_serve(3, places, &taken))
		;
	_exit(0);
}

/* Lock held, as of those below. */
static void planter_make(void)
{
	int pair[2];
	pid_t pid;

	planter.places = mmap(NULL, sizeof(*planter.places), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (planter.places == MAP_FAILED)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		goto unmap;
	pid = fork();
	if (!pid)
		planter_run(pair[1], planter.places);
	close(pair[1]);
	if (pid > 0) {
		planter.pid = pid;
		planter.sock = pair[0];
		return;
	}
	close(pair[0]);
unmap:
	munmap(planter.places, sizeof(*planter.places));
}

static void planter_gone(void)
{
	if (!planter.pid)
		return;
	shutdown(planter.sock, SHUT_RDWR); /* a forked child of the recorder's may have it, too */
	close(planter.sock);
	while (waitpid(planter.pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(planter.places, sizeof(*planter.places));
	planter.ended_ns = took_ns;
	planter.pid = 0;
	planter.sock = -1;
}

/* False: there is no planter, or none any more. */
static bool planter_ask(const struct planter_request *q, const int *fds, unsigned cnt, struct planter_reply *a,
			int *made)
{
	int got[FDS_MOST];
	unsigned n = 0;

	if (!planter.pid)
		return false;
	if (!send_with(planter.sock, q, sizeof(*q), fds, cnt) || !receive_with(planter.sock, a, sizeof(*a), got, &n)) {
		planter_gone();
		return false;
	}
	took_ns = planter.ended_ns + a->cpu_ns;
	memcpy(made, got, (n < 2 ? n : 2) * sizeof(*made));
	if (a->err >= 0 && n < (q->op == PLANT_PERF ? 2u : 1u)) {
		a->err = -EMFILE; /* no room for them here */
		while (n)
			close(got[--n]);
	}
	return true;
}

static bool planter_plant(const struct planter_places *p, struct planter_request q, int *err, int *made)
{
	struct planter_reply a;
	int fds[2] = { p->prog, p->file };
	bool done;

	q.attach_type = p->attach_type;
	q.cnt = p->cnt;
	q.ret = p->ret;
	q.pid = p->pid;
	pthread_mutex_lock(&lock);
	done = planter.pid && p->cnt <= PLACES_MOST;
	if (done) {
		memcpy(planter.places->offsets, p->offsets, p->cnt * sizeof(*p->offsets));
		memcpy(planter.places->cookies, p->cookies, p->cnt * sizeof(*p->cookies));
		done = planter_ask(&q, fds, 2, &a, made);
	}
	pthread_mutex_unlock(&lock);
	*err = done ? a.err : 0;
	return done;
}

/* ---- what others call ---- */

void planter_begin(void)
{
	pthread_mutex_lock(&lock);
	if (!planter.users++)
		planter_make();
	pthread_mutex_unlock(&lock);
}

void planter_end(void)
{
	pthread_mutex_lock(&lock);
	if (!--planter.users)
		planter_gone();
	pthread_mutex_unlock(&lock);
}

int planter_multi(const struct planter_places *p)
{
	int made[2] = { -1, -1 }, err;

	if (!planter_plant(p, (struct planter_request){ .op = PLANT_MULTI }, &err, made))
		return multi_here(p);
	return err < 0 ? err : made[0];
}

int planter_perf(const struct planter_places *p, unsigned i, unsigned perf_type, int fds[2])
{
	int err;

	fds[0] = fds[1] = -1;
	if (!planter_plant(p, (struct planter_request){ .op = PLANT_PERF, .at = i, .perf_type = perf_type }, &err, fds))
		return perf_here(p, i, perf_type, fds);
	return err;
}

void planter_close(const int *fds, unsigned cnt)
{
	struct planter_request q = { .op = PLANT_TAKE };
	struct planter_reply a;
	int none[FDS_MOST];
	unsigned handed = 0, n;

	if (!cnt)
		return;
	pthread_mutex_lock(&lock);
	while (planter.pid && handed < cnt) {
		n = cnt - handed < FDS_MOST ? cnt - handed : FDS_MOST;
		if (!send_with(planter.sock, &q, sizeof(q), fds + handed, n))
			break;
		handed += n;
	}
	for (unsigned i = 0; i < handed; i++)
		close(fds[i]);
	q.op = PLANT_CLOSE;
	if (handed) {
		if (send_with(planter.sock, &q, sizeof(q), NULL, 0) &&
		    receive_with(planter.sock, &a, sizeof(a), none, &n))
			took_ns = planter.ended_ns + a.cpu_ns;
		else
			planter_gone();
	}
	pthread_mutex_unlock(&lock);
	if (handed < cnt)
		close_together(fds + handed, cnt - handed);
}

uint64_t planter_cpu_ns(void)
{
	return took_ns;
}
