// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/reading.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advise/advised.h"
#include "command/command.h"
#include "command/kept.h"
#include "command/pager.h"
#include "profile/follow.h"
#include "profile/names_kept.h"
#include "profile/shared.h"
#include "record/effort.h"
#include "symbol/confine.h"
#include "util/clock.h"
#include "util/rights.h"
#include "view/top.h"

#define PART "part"
#define NICE 5         /* readers give way to what is observed */
#define SAVE_TRIES 600 /* of a tenth of a second */
#define HURRY_TRIES 40 /* of a quarter of a second: it may be in the midst of a large file's names */
#define SAID_MOST 4000 /* bytes of what the recorder said; by hand */
#define NAMES_PART 60  /* looking for names takes one such part of the time at most */

/* ---- the recorder */

/* It is private: whatever lies there is the recorder's, also a part that it was about to begin. */
static void remove_folder(struct top_recording *r)
{
	DIR *d = *r->folder ? opendir(r->folder) : NULL;
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (strcmp(de->d_name, ".") && strcmp(de->d_name, ".."))
			unlinkat(dirfd(d), de->d_name, 0);
	if (d)
		closedir(d);
	if (*r->folder)
		rmdir(r->folder);
	*r->folder = 0;
}

/* A child has no part in the terminal, and does not outlive us. False: it has done so already, and must end. */
static bool begin_child(pid_t parent, int end_by)
{
	sigset_t unread;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* what ends a recorder waits until it reads its signals: sent before, it would leave the folder behind. One
	 * that is stopped when we end is sent SIGHUP besides, as nobody is left to wake it. */
	sigemptyset(&unread);
	if (end_by == SIGTERM) {
		sigaddset(&unread, SIGTERM);
		sigaddset(&unread, SIGHUP);
	}
	sigprocmask(SIG_SETMASK, &unread, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGWINCH, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, end_by);
	if (getppid() != parent)
		return false;
	setpgid(0, 0);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	return true;
}

int top_record(struct top_recording *r, int argc, char **argv, struct err *e)
{
	const char *base = rights_getenv("TMPDIR");
	char output[sizeof(r->folder) + sizeof(PART) + 1];
	pid_t parent = getpid();
	int n;

	*r = (struct top_recording){ .said = -1 };
	n = snprintf(r->folder, sizeof(r->folder), "%s/accperf-top.XXXXXX", base && *base ? base : "/tmp");
	if (n < 0 || (size_t)n >= sizeof(r->folder) || !mkdtemp(r->folder)) {
		n = errno;
		err_set(e, -n, "no private folder can be made at %s: %s", r->folder, strerror(n));
		*r->folder = 0;
		return e->code;
	}
	snprintf(output, sizeof(output), "%s/" PART, r->folder);
	argv[argc++] = (char *)(uintptr_t) "-o";
	argv[argc++] = output;
	argv[argc] = NULL;
	r->said = memfd_create("said", MFD_CLOEXEC);
	fflush(NULL);
	r->recorder = r->said >= 0 ? fork() : -1;
	if (r->recorder < 0)
		return err_set(e, -errno, "the recorder cannot be started: %s", strerror(errno));
	if (r->recorder)
		return 0;
	if (!begin_child(parent, SIGTERM)) {
		remove_folder(r);
		_exit(EXIT_FAILED);
	}
	effort_read_along();
	dup2(r->said, STDOUT_FILENO);
	dup2(r->said, STDERR_FILENO);
	n = cli_run(cli_find("record"), argc, argv);
	fflush(NULL);
	if (getppid() != parent) /* nobody else will */
		remove_folder(r);
	_exit(n);
}

const char *top_recording_path(const struct top_recording *r, unsigned part)
{
	static char path[sizeof(r->folder) + sizeof(PART) + 16];

	if (!part)
		return NULL;
	snprintf(path, sizeof(path), "%s/" PART ".%06u", r->folder, part);
	return path;
}

static void recorder_ended(struct top_recording *r, int how)
{
	r->ended = true;
	r->status = WIFEXITED(how) ? WEXITSTATUS(how) : EXIT_FAILED;
}

void top_recording_look(struct top_recording *r)
{
	int how;

	while (!access(top_recording_path(r, r->part + 1), F_OK))
		r->part++;
	if (!r->ended && waitpid(r->recorder, &how, WNOHANG) == r->recorder)
		recorder_ended(r, how);
}

void top_recording_said(const struct top_recording *r, struct buf *out)
{
	static const char *const before[] = { "accperf: error: ", "accperf: warning: ", "accperf: " };
	char text[SAID_MOST + 1];
	ssize_t n = r->said >= 0 ? pread(r->said, text, SAID_MOST, 0) : 0;
	char *line, *rest = text;

	text[n > 0 ? n : 0] = 0;
	while (rest && (line = strsep(&rest, "\n"))) {
		for (unsigned i = 0; i < 3; i++)
			if (!strncmp(line, before[i], strlen(before[i]))) {
				line += strlen(before[i]);
				break;
			}
		if (*line)
			buf_addf(out, "%s\n", line);
	}
}

int top_recording_next(struct top_recording *r)
{
	return r->ended || kill(r->recorder, SIGUSR1) ? -ESRCH : 0;
}

void top_recording_end(struct top_recording *r, bool names)
{
	int how = 0;

	if (r->recorder <= 0 || r->ended)
		return;
	kill(r->recorder, SIGINT);
	for (unsigned i = 0; !names && i < HURRY_TRIES; i++) {
		for (unsigned k = 0; k < 25; k++) {
			if (waitpid(r->recorder, &how, WNOHANG) == r->recorder) {
				recorder_ended(r, how);
				return;
			}
			usleep(10000);
		}
		kill(r->recorder, SIGINT);
	}
	if (!names)
		kill(r->recorder, SIGKILL);
	while (waitpid(r->recorder, &how, 0) < 0 && errno == EINTR)
		;
	recorder_ended(r, how);
}

void top_recording_remove(struct top_recording *r)
{
	remove_folder(r);
	if (r->said >= 0)
		close(r->said);
	r->said = -1;
}

/* ---- a reader */

/* What a reader knows. */
struct reading {
	const char *path;
	struct profile *p; /* read on; NULL: not yet */
	int answers[TOP_KINDS];
	uint64_t names_due; /* clock: from when on names are looked for */
	pid_t thorough;     /* the child that makes a thorough reading; 0: none */
	uint64_t others_ns; /* CPU time of such children */
};

static int thorough_moment(const char *path, struct top_moment *m, struct err *e)
{
	struct advised_profile a;
	int err = advised_make(&a, path, &(struct advised_opts){ 0 }, e);

	if (!err)
		err = top_build(&(struct top_source){ a.g.profile, &a.g.shares, &a.g, &a.candidates, &a.advice }, m);
	advised_release(&a);
	return err;
}

static int quick_moment(const struct profile *p, struct top_moment *m, struct err *e)
{
	struct shares s = { 0 };
	int err = shares_compute(p, &(struct shares_opts){ .thread = SHARES_ALL_THREADS }, &s, e);

	if (!err)
		err = top_build(&(struct top_source){ .profile = p, .shares = &s }, m);
	shares_release(&s);
	return err;
}

static bool write_answer(int to, const void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = write(to, (const char *)data + at, size - at);

		if (n < 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static uint64_t cpu_ns(const struct rusage *use)
{
	return (uint64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(use->ru_utime.tv_usec + use->ru_stime.tv_usec) * 1000u;
}

static uint64_t cpu_ns_of(int who)
{
	struct rusage use;

	return getrusage(who, &use) ? 0 : cpu_ns(&use);
}

/* Names are looked for in children, which are its own; a thorough reading is not. */
static uint64_t own_cpu_ns(const struct reading *r)
{
	return cpu_ns_of(RUSAGE_SELF) + cpu_ns_of(RUSAGE_CHILDREN) - r->others_ns;
}

/* To look for one name is to open files for it, so names are looked for together, and seldom enough. */
static int read_what_came(struct reading *r, struct err *e)
{
	uint64_t began = own_cpu_ns(r), now = clock_now();
	bool names = now >= r->names_due;
	int err;

	if (!r->p)
		r->p = profile_open(r->path, e);
	err = r->p ? profile_read_on(r->p, PROFILE_SAMPLES | PROFILE_ORDER | (names ? PROFILE_MISSING : PROFILE_KEPT),
				     e)
		   : -EINVAL;
	if (names)
		r->names_due = now + (own_cpu_ns(r) - began) * NAMES_PART;
	if (err) {
		profile_free(r->p);
		r->p = NULL;
	}
	return err;
}

static bool give_moment(const struct reading *r, enum top_kind kind, uint64_t began)
{
	AUTO_BUF(text);
	struct top_moment m = { 0 };
	struct err e = { 0 };
	struct top_answer head = { .err = kind == TOP_QUICK ? quick_moment(r->p, &m, &e)
							    : thorough_moment(r->path, &m, &e) };

	if (!head.err)
		top_json(&m, &text);
	top_release(&m);
	if (!head.err && buf_failed(&text))
		head.err = -ENOMEM;
	head.size = head.err ? 0 : text.len;
	head.cpu_ns = own_cpu_ns(r) - began;
	return write_answer(r->answers[kind], &head, sizeof(head)) &&
	       write_answer(r->answers[kind], text.data, head.size);
}

/* By a child, which has the profile that its parent has read. */
static bool begin_thorough(struct reading *r)
{
	pid_t parent = getpid();
	struct err e = { 0 };

	r->thorough = fork();
	if (r->thorough)
		return r->thorough > 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	r->others_ns = 0; /* it has no children yet, and begins at 0 */
	if (profile_share_open(r->path, r->p, &e) || !give_moment(r, TOP_THOROUGH, 0))
		_exit(EXIT_FAILED);
	_exit(EXIT_DONE);
}

/* False: it came to no answer. */
static bool end_thorough(struct reading *r, int how_long)
{
	struct rusage use;
	int how;

	if (r->thorough <= 0 || wait4(r->thorough, &how, how_long, &use) != r->thorough)
		return true;
	r->thorough = 0;
	r->others_ns += cpu_ns(&use);
	return WIFEXITED(how) && !WEXITSTATUS(how);
}

static bool say_nothing_was_read(const struct reading *r, enum top_kind kind, int err)
{
	return write_answer(r->answers[kind], &(struct top_answer){ .err = err }, sizeof(struct top_answer));
}

/* Until nobody asks any more. A failed child ends it: who asked sees that, and begins another one. */
static void answer_questions(struct reading *r, int from)
{
	uint64_t began = 0; /* what the fork took is the first answer's */
	struct err e = { 0 };
	char kind;
	int err;

	for (bool going = true; going && read(from, &kind, 1) == 1;) {
		if (!end_thorough(r, kind == TOP_THOROUGH ? 0 : WNOHANG))
			return;
		err = read_what_came(r, &e);
		if (err)
			going = say_nothing_was_read(r, (enum top_kind)kind, err);
		else if (kind == TOP_THOROUGH)
			going = begin_thorough(r);
		else
			going = give_moment(r, TOP_QUICK, began);
		if (kind == TOP_QUICK)
			began = own_cpu_ns(r);
	}
}

static void close_pair(int pair[2])
{
	for (unsigned i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
}

static void be_reader(const char *path, int questions, int quick, int thorough)
{
	struct reading reading = { .path = path, .answers = { [TOP_QUICK] = quick, [TOP_THOROUGH] = thorough } };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	setpriority(PRIO_PROCESS, 0, NICE);
	confine_to_files();
	profile_keep_names(true); /* time is shown by function, whatever is inlined */
	answer_questions(&reading, questions);
	_exit(EXIT_DONE);
}

static int begin_reader(struct top_reader *r, const char *path, struct err *e)
{
	pid_t parent = getpid();
	int ask[2] = { -1, -1 }, tell[TOP_KINDS][2] = { { -1, -1 }, { -1, -1 } };

	fflush(NULL);
	if (pipe2(ask, O_CLOEXEC) || pipe2(tell[TOP_QUICK], O_CLOEXEC) || pipe2(tell[TOP_THOROUGH], O_CLOEXEC) ||
	    (r->pid = fork()) < 0) {
		err_set(e, -errno, "the recording cannot be read: %s", strerror(errno));
		close_pair(ask);
		for (unsigned i = 0; i < TOP_KINDS; i++)
			close_pair(tell[i]);
		r->pid = 0;
		return e ? e->code : -EIO;
	}
	if (!r->pid) {
		if (!begin_child(parent, SIGKILL))
			_exit(EXIT_FAILED);
		close(ask[1]);
		be_reader(path, ask[0], tell[TOP_QUICK][1], tell[TOP_THOROUGH][1]);
	}
	close(ask[0]);
	r->questions = ask[1];
	for (unsigned i = 0; i < TOP_KINDS; i++) {
		close(tell[i][1]);
		fcntl(tell[i][0], F_SETFL, O_NONBLOCK);
		r->of[i].out = tell[i][0];
	}
	return 0;
}

int top_read(struct top_reader *r, const char *path, unsigned part, enum top_kind kind, struct err *e)
{
	struct top_reading *one = &r->of[kind];
	char question = (char)kind;
	int err = 0;

	if (r->pid > 0 && r->part != part && (r->of[TOP_QUICK].busy || r->of[TOP_THOROUGH].busy))
		return -EAGAIN;
	if (r->pid <= 0 || r->part != part) {
		top_reader_end(r);
		r->part = part;
		err = begin_reader(r, path, e);
	}
	if (!err && write(r->questions, &question, 1) != 1)
		err = err_set(e, -errno, "the recording cannot be read: %s", strerror(errno));
	one->busy = !err;
	one->got = 0;
	if (err)
		top_reader_end(r);
	return err;
}

void top_reader_end(struct top_reader *r)
{
	if (r->pid > 0) {
		kill(r->pid, SIGKILL);
		waitpid(r->pid, NULL, 0);
	}
	if (r->questions >= 0)
		close(r->questions);
	for (unsigned i = 0; i < TOP_KINDS; i++) {
		if (r->of[i].out >= 0)
			close(r->of[i].out);
		buf_release(&r->of[i].text);
	}
	*r = (struct top_reader)TOP_READER_NONE;
}

/* 0: it is complete. -EAGAIN: more comes. -EIO: it has ended. */
static int take_moment_text(struct top_reading *r)
{
	char piece[65536];
	ssize_t n = 0;

	while (r->got < sizeof(r->head) && (n = read(r->out, (char *)&r->head + r->got, sizeof(r->head) - r->got)) > 0)
		r->got += (size_t)n;
	while (r->got == sizeof(r->head) && r->text.len < r->head.size) {
		size_t left = r->head.size - r->text.len;

		n = read(r->out, piece, left < sizeof(piece) ? left : sizeof(piece));
		if (n <= 0)
			break;
		buf_add(&r->text, piece, (size_t)n);
		if (buf_failed(&r->text))
			return -EIO;
	}
	if (r->got == sizeof(r->head) && r->text.len == r->head.size)
		return 0;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? -EAGAIN : -EIO;
}

int top_reader_take(struct top_reader *r, enum top_kind kind)
{
	struct top_reading *one = &r->of[kind];
	int err = take_moment_text(one);

	if (err == -EAGAIN)
		return 0;
	one->busy = false;
	one->cpu_ns = err ? 0 : one->head.cpu_ns;
	if (!err)
		return one->head.err ? -EIO : 1;
	top_reader_end(r);
	return -EIO;
}

/* ---- saving */

int top_save_now(const char *path, const char *output, struct err *e)
{
	AUTO_BUF(all);
	char piece[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return err_set(e, -errno, "the recording cannot be read: %s", strerror(errno));
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		buf_add(&all, piece, (size_t)n);
	if (n < 0)
		err_set(e, -errno, "the recording cannot be read: %s", strerror(errno));
	close(fd);
	return n < 0 ? e->code : pager_save(&all, output, e);
}

static bool has_ended_in_order(const char *path)
{
	struct err e = { 0 };
	struct profile *p = profile_load_as_stored(path, &e);
	bool ended = p && p->has_end;

	profile_free(p);
	return ended;
}

pid_t top_save(const char *path, const char *output)
{
	struct err e = { 0 };
	pid_t pid, parent = getpid();

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid < 0 ? -errno : pid;
	if (!begin_child(parent, SIGKILL))
		_exit(EXIT_FAILED);
	for (unsigned i = 0; i < SAVE_TRIES && !has_ended_in_order(path); i++)
		usleep(100000);
	_exit(top_save_now(path, output, &e) ? EXIT_FAILED : EXIT_DONE);
}
