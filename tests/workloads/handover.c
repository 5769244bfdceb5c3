// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes handed from and to system calls, and how many by when: read SIZE bytes, add them up, fill as many others,
 * write these. Modes: plain (read, write), vector (pread, writev of two parts), socket (a pair: recvfrom, sendto),
 * file (pread; sendfile, which moves no memory of ours; write), paced (plain, and asleep four fifths of the time, in
 * stretches of some hundred milliseconds). On its end, also by SIGTERM, it prints lines `ns bytes-from bytes-to`: the
 * monotonic clock and what calls had moved by then.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "work.h"

#define LOG_NS 2000000ull
#define MOST_LINES 150000
#define ITEMS 64

static unsigned char *from, *to;
static int in, out, pair[2];
static struct {
	uint64_t ns, from, to;
} lines[MOST_LINES], now;
static unsigned count;
static volatile sig_atomic_t ended;

STEP static uint32_t sum(const unsigned char *p, size_t n)
{
	uint32_t s = 0;

	for (size_t i = 0; i < n; i++)
		s = s * 31 + p[i];
	return s;
}

STEP static void fill(unsigned char *p, size_t n, uint32_t s)
{
	for (size_t i = 0; i < n; i++) {
		s = s * 1103515245 + 12345;
		p[i] = (unsigned char)(s >> 16);
	}
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void moved(ssize_t of, ssize_t into)
{
	now.from += of > 0 ? (uint64_t)of : 0;
	now.to += into > 0 ? (uint64_t)into : 0;
}

static void get(const struct work *w)
{
	if (!strcmp(w->mode, "vector") || !strcmp(w->mode, "file"))
		moved(pread(in, from, w->size, 0), 0);
	else if (!strcmp(w->mode, "socket"))
		moved(recv(pair[1], from, w->size, MSG_WAITALL), 0);
	else
		moved(read(in, from, w->size), 0);
}

static void put(const struct work *w)
{
	struct iovec two[] = { { to, w->size / 4 }, { to + w->size / 4, w->size - w->size / 4 } };
	off_t at = 0;

	if (!strcmp(w->mode, "vector"))
		moved(0, writev(out, two, 2));
	else if (!strcmp(w->mode, "socket"))
		moved(0, send(pair[0], to, w->size, 0));
	else
		moved(0, write(out, to, w->size));
	if (!strcmp(w->mode, "file") && sendfile(out, in, &at, w->size) < 0)
		work_die(w, "sendfile failed");
}

static void on_end(int signal)
{
	(void)signal;
	ended = 1;
}

static void nap(uint64_t round)
{
	static uint64_t began;
	uint64_t t = clock_ns();

	if (!began)
		began = t;
	if (t - began < 20000000 + round * 7919 % 40 * 1000000)
		return;
	usleep((useconds_t)((t - began) / 250));
	began = clock_ns();
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, "plain|vector|socket|file|paced", 8192);
	bool real = !strcmp(w.mode, "vector") || !strcmp(w.mode, "file");
	uint64_t rounds = 0, digest;

	signal(SIGTERM, on_end);
	in = open(real ? "/proc/self/exe" : "/dev/zero", O_RDONLY | O_CLOEXEC);
	out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	from = malloc(w.size);
	to = malloc(w.size);
	if (in < 0 || out < 0 || !from || !to || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		work_die(&w, "cannot open what is read and written");
	if (!strcmp(w.mode, "socket") && send(pair[0], to, w.size, 0) != (ssize_t)w.size)
		work_die(&w, "the pair takes too little at once");
	do {
		uint32_t s = 0;

		for (unsigned i = 0; i < ITEMS; i++) {
			get(&w);
			s = sum(from, w.size);
			fill(to, w.size, s);
			put(&w);
		}
		now.ns = clock_ns();
		if (count < MOST_LINES && (!count || now.ns - lines[count - 1].ns > LOG_NS))
			lines[count++] = now;
		if (!strcmp(w.mode, "paced"))
			nap(++rounds);
		digest = strcmp(w.mode, "socket") ? s : 1;
	} while (work_more(&w, digest) && !ended);
	for (unsigned i = 0; i < count; i++)
		printf("%llu %llu %llu\n", (unsigned long long)lines[i].ns, (unsigned long long)lines[i].from,
		       (unsigned long long)lines[i].to);
	return work_done(&w);
}
