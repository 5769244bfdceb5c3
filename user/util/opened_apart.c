// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/opened_apart.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"

#define OPENERS 8 /* processes, those left behind included */
#define WISHES 64 /* under way, and answered but not fetched */
#define LIMIT_MS 30000u
#define GRACE_MS 5000u           /* waited for, of each file system in all: commands have nothing else to do */
#define KEEP_MS 60000u           /* an answer that nobody fetches */
#define MOST_COPIES (1ull << 30) /* bytes of all, or an eighth of the memory */
#define COPY_NAME "accperf-copy"
#define PIECE (256u << 10) /* bytes of one read; by hand */

struct apart_answer {
	uint32_t number;
	int32_t err;
	struct stat st;
};

struct opener {
	uint64_t device;
	pid_t pid;      /* 0: none */
	int sock;       /* -1: left behind */
	uint64_t since; /* when it last had nothing to do, or answered */
	unsigned asked; /* of it, and not answered */
	unsigned grace_ms;
};

struct apart_asked {
	struct apart_wish *w; /* NULL: none */
	struct opener *by;
	bool answered;
	int fd; /* or -errno */
	uint64_t at;
	struct stat st;
};

static struct opener openers[OPENERS];
static struct apart_asked wishes[WISHES];
static uint32_t last_number;
static unsigned grace_ms = GRACE_MS, limit_ms = LIMIT_MS;
static struct openfile_refusals refused;

static uint64_t ms_now(void)
{
	return clock_now() / 1000000;
}

/* ---- there ---- */

static bool is_zero(const uint8_t *p, size_t n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

int apart_copy(int fd, const struct stat *st, uint64_t room)
{
	int copy = memfd_create(COPY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING), err = 0;
	uint8_t *piece = malloc(PIECE);
	uint64_t at = 0, size = st->st_size > 0 ? (uint64_t)st->st_size : 0;
	ssize_t n = 0;

	if (copy < 0 || !piece)
		err = copy < 0 ? -errno : -ENOMEM;
	else if (size > room)
		err = -EFBIG;
	else if (ftruncate(copy, st->st_size))
		err = -errno;
	while (!err && at < size && (n = pread(fd, piece, PIECE, (off_t)at)) > 0) {
		if (!is_zero(piece, (size_t)n) && pwrite(copy, piece, (size_t)n, (off_t)at) != n)
			err = -ENOSPC;
		at += (uint64_t)n;
	}
	if (!err && n < 0)
		err = -errno;
	if (!err && fcntl(copy, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		err = -errno;
	free(piece);
	if (err && copy >= 0)
		close(copy);
	return err ? err : copy;
}

static int send_answer(int sock, struct apart_answer *a, int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec part = { a, sizeof(*a) };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Nothing of ours is held by a process that may be left behind: no probe, no ring, no terminal. */
static void inherit_nothing(int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		if (fd != sock)
			dup2(null, fd);
	if (sock > 3)
		close_range(3, (unsigned)sock - 1, 0);
	close_range(sock < 3 ? 3 : (unsigned)sock + 1, ~0u, 0);
}

static _Noreturn void serve_wishes(int sock, pid_t parent, int (*open_it)(const struct apart_wish *w, struct stat *st))
{
	struct apart_wish w;
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "accperf-opener");
	if (getppid() != parent)
		_exit(4);
	inherit_nothing(sock);
	while ((n = recv(sock, &w, sizeof(w), 0)) > 0 || (n < 0 && errno == EINTR)) {
		struct apart_answer a = { 0 };
		int fd;

		if (n < (ssize_t)offsetof(struct apart_wish, path) + 1)
			continue;
		w.path[sizeof(w.path) - 1] = '\0';
		fd = open_it(&w, &a.st);
		a.number = w.number;
		a.err = fd < 0 ? fd : 0;
		if (send_answer(sock, &a, fd))
			_exit(3);
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}

/* ---- here ---- */

static void forget_wish(struct apart_asked *a)
{
	if (a->answered && a->fd >= 0)
		close(a->fd);
	free(a->w);
	*a = (struct apart_asked){ 0 };
}

static void answer_wish(struct apart_asked *a, int fd)
{
	a->answered = true;
	a->fd = fd;
	a->at = ms_now();
	a->by->asked--;
	a->by->since = a->at;
	a->by = NULL;
	refused.too_large += fd == -EFBIG;
	refused.unanswered += fd == -ETIMEDOUT;
}

static void answer_all(struct opener *o, int err)
{
	for (unsigned i = 0; i < WISHES; i++)
		if (wishes[i].by == o)
			answer_wish(&wishes[i], err);
}

/* It may wait for good, whatever is sent to it. Its file system is asked again when it has ended. */
static void leave_behind(struct opener *o)
{
	answer_all(o, -ETIMEDOUT);
	kill(o->pid, SIGKILL);
	close(o->sock);
	o->sock = -1;
}

static bool take_answer(struct opener *o)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct apart_answer got;
	struct iovec part = { &got, sizeof(got) };
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(o->sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	int fd = -EIO;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) { /* it has ended */
		answer_all(o, -EIO);
		close(o->sock);
		o->sock = -1;
	}
	if (n != (ssize_t)sizeof(got)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (unsigned i = 0; i < WISHES; i++) {
		struct apart_asked *a = &wishes[i];

		if (a->by != o || a->w->number != got.number)
			continue;
		a->st = got.st;
		answer_wish(a, got.err ? got.err : fd);
		return true;
	}
	if (fd >= 0)
		close(fd);
	return true;
}

static void look_at_opener(struct opener *o)
{
	while (o->sock >= 0 && take_answer(o))
		;
	if (o->sock >= 0 && o->asked && ms_now() - o->since > limit_ms)
		leave_behind(o);
	if (o->pid && o->sock < 0 && waitpid(o->pid, NULL, WNOHANG) != 0)
		*o = (struct opener){ .sock = -1 };
}

static void look_at_all(void)
{
	uint64_t now = ms_now();

	for (unsigned i = 0; i < OPENERS; i++)
		if (openers[i].pid)
			look_at_opener(&openers[i]);
	for (unsigned i = 0; i < WISHES; i++)
		if (wishes[i].answered && now - wishes[i].at > KEEP_MS)
			forget_wish(&wishes[i]);
}

static struct opener *opener_of(uint64_t device, int (*open_it)(const struct apart_wish *w, struct stat *st))
{
	struct opener *o = NULL;
	pid_t parent = getpid();
	int pair[2];

	for (unsigned i = 0; i < OPENERS; i++) {
		if (openers[i].pid && openers[i].device == device)
			return &openers[i];
		if (!openers[i].pid && !o)
			o = &openers[i];
	}
	if (!o || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return NULL;
	*o = (struct opener){ .device = device, .sock = pair[0], .grace_ms = grace_ms };
	o->pid = fork();
	if (!o->pid)
		serve_wishes(pair[1], parent, open_it);
	close(pair[1]);
	if (o->pid > 0)
		return o;
	close(pair[0]);
	*o = (struct opener){ .sock = -1 };
	return NULL;
}

static struct apart_asked *find_wish(const struct apart_wish *w)
{
	for (unsigned i = 0; i < WISHES; i++) {
		const struct apart_wish *has = wishes[i].w;

		if (has && has->what == w->what && has->pid == w->pid && has->use == w->use &&
		    !strcmp(has->path, w->path))
			return &wishes[i];
	}
	return NULL;
}

/* What all copies that are held may still have: they are memory. */
static uint64_t room_for_copies(void)
{
	struct sysinfo info;
	uint64_t room = MOST_COPIES, held = 0;
	DIR *d = opendir("/proc/self/fd");
	struct dirent *de;

	if (!sysinfo(&info) && (uint64_t)info.totalram * info.mem_unit / 8 < room)
		room = (uint64_t)info.totalram * info.mem_unit / 8;
	while (d && (de = readdir(d))) {
		char link[64];
		struct stat st;
		ssize_t n = readlinkat(dirfd(d), de->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		if (!strncmp(link, "/memfd:" COPY_NAME, sizeof("/memfd:" COPY_NAME) - 1) &&
		    !fstat(atoi(de->d_name), &st))
			held += (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	return held < room ? room - held : 0;
}

static int ask(struct apart_wish *w, uint64_t device, int (*open_it)(const struct apart_wish *w, struct stat *st),
	       struct apart_asked **out)
{
	struct opener *o = opener_of(device, open_it);
	struct apart_asked *a = NULL;

	for (unsigned i = 0; i < WISHES && !a; i++)
		a = wishes[i].w ? NULL : &wishes[i];
	if (!o || o->sock < 0) {
		refused.unanswered++;
		return -ETIMEDOUT;
	}
	if (!a)
		return -EINPROGRESS;
	w->number = ++last_number;
	w->room = room_for_copies();
	a->w = malloc(sizeof(*w));
	if (!a->w)
		return -ENOMEM;
	*a->w = *w;
	if (send(o->sock, w, offsetof(struct apart_wish, path) + strlen(w->path) + 1, MSG_NOSIGNAL | MSG_DONTWAIT) <
	    0) {
		free(a->w);
		a->w = NULL;
		return errno == EAGAIN ? -EINPROGRESS : -EIO;
	}
	if (!o->asked++)
		o->since = ms_now();
	a->by = o;
	*out = a;
	return 0;
}

static void wait_for(struct apart_asked *a)
{
	while (!a->answered && a->by->grace_ms) {
		struct opener *o = a->by;
		struct pollfd p = { .fd = o->sock, .events = POLLIN };
		uint64_t from = ms_now(), took;

		poll(&p, 1, (int)o->grace_ms);
		took = ms_now() - from;
		o->grace_ms = took < o->grace_ms ? o->grace_ms - (unsigned)took : 0;
		look_at_opener(o);
	}
}

int apart_open(struct apart_wish *w, uint64_t device, int (*open_it)(const struct apart_wish *w, struct stat *st),
	       struct stat *st)
{
	struct apart_asked *a;
	int fd, err;

	look_at_all();
	a = find_wish(w);
	if (!a) {
		err = ask(w, device, open_it, &a);
		if (err)
			return err;
		wait_for(a);
	}
	if (!a->answered)
		return -EINPROGRESS;
	fd = a->fd;
	*st = a->st;
	a->fd = -1;
	forget_wish(a);
	return fd;
}

/* ---- for callers that open files ---- */

void openfile_patience(unsigned grace, unsigned limit)
{
	grace_ms = grace;
	limit_ms = limit ? limit : LIMIT_MS;
	for (unsigned i = 0; i < OPENERS; i++)
		openers[i].grace_ms = grace;
}

static bool any_asked(struct pollfd *p, unsigned *n)
{
	*n = 0;
	for (unsigned i = 0; i < OPENERS; i++)
		if (openers[i].pid && openers[i].sock >= 0 && openers[i].asked)
			p[(*n)++] = (struct pollfd){ .fd = openers[i].sock, .events = POLLIN };
	return *n > 0;
}

bool openfile_awaited(void)
{
	struct pollfd p[OPENERS];
	unsigned n;

	return any_asked(p, &n);
}

void openfile_await(unsigned most_ms)
{
	uint64_t end = ms_now() + most_ms, now;
	struct pollfd p[OPENERS];
	unsigned n;

	while (any_asked(p, &n) && (now = ms_now()) < end) {
		poll(p, n, (int)(end - now));
		look_at_all();
	}
	for (unsigned i = 0; i < OPENERS; i++)
		if (openers[i].pid && openers[i].sock >= 0 && openers[i].asked)
			leave_behind(&openers[i]);
}

struct openfile_refusals openfile_refused(void)
{
	return refused;
}
