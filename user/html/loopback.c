// SPDX-License-Identifier: GPL-2.0-or-later
#include "html/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"

#define REQUEST_MOST 8192 /* bytes: a browser's request with its headers has about one thousand; by hand */
#define PATIENCE_MS 5000  /* with one visitor in all; Ctrl-C waits for that at most */
#define COOKIE "accperf"

static int make_secret(char out[LOOPBACK_SECRET + 1])
{
	unsigned char raw[LOOPBACK_SECRET / 2];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -EIO;
	for (unsigned i = 0; i < sizeof(raw); i++)
		snprintf(out + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

/* Takes as long whatever differs. */
static bool same_secret(const char *given, size_t len, const char *want)
{
	unsigned char differs = len != LOOPBACK_SECRET;

	for (size_t i = 0; i < LOOPBACK_SECRET && i < len; i++)
		differs |= (unsigned char)(given[i] ^ want[i]);
	return !differs;
}

static int listen_here(unsigned port, unsigned *got, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8) ||
	    getsockname(fd, (struct sockaddr *)&at, &len)) {
		err_set(e, -errno, "127.0.0.1:%u cannot be listened on: %s", port, strerror(errno));
		if (fd >= 0)
			close(fd);
		return e->code;
	}
	*got = ntohs(at.sin_port);
	return fd;
}

struct visitor {
	int fd;
	uint64_t until_ms;
};

/* Something can be read or written before the visitor's time is over. */
static bool in_time(const struct visitor *v, short what)
{
	struct pollfd pf = { .fd = v->fd, .events = what };
	uint64_t now = clock_now() / 1000000;

	return now < v->until_ms && poll(&pf, 1, (int)(v->until_ms - now)) > 0;
}

static void send_bytes(const struct visitor *v, const char *data, size_t len)
{
	ssize_t n;

	for (; len && in_time(v, POLLOUT); len -= (size_t)n, data += n) {
		n = send(v->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		n = n < 0 ? 0 : n;
	}
}

static void answer(const struct visitor *v, const char *status, const char *header, const struct buf *body)
{
	AUTO_BUF(head);

	buf_addf(
		&head,
		"HTTP/1.1 %s\r\n%sContent-Type: text/html; charset=utf-8\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
		"X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
		status, header, body ? body->len : 0);
	if (buf_failed(&head))
		return;
	send_bytes(v, head.data, head.len);
	if (body)
		send_bytes(v, body->data, body->len);
}

/* The value of a header, up to its line's end; NULL: it is not there. */
static const char *header_of(const char *request, const char *name, size_t *len)
{
	size_t n = strlen(name);

	for (const char *at = strstr(request, "\r\n"); at; at = strstr(at + 2, "\r\n")) {
		if (strncasecmp(at + 2, name, n) || at[2 + n] != ':')
			continue;
		at += 3 + n;
		at += strspn(at, " ");
		*len = strcspn(at, "\r\n");
		return at;
	}
	return NULL;
}

/* A page of another site that has its name lead to 127.0.0.1 asks by that name. */
static bool asked_by_our_name(const char *request)
{
	size_t len = 0;
	const char *host = header_of(request, "Host", &len);

	return host && ((len >= 9 && !strncmp(host, "127.0.0.1", 9) && (len == 9 || host[9] == ':')) ||
			(len >= 9 && !strncmp(host, "localhost", 9) && (len == 9 || host[9] == ':')));
}

static bool has_cookie(const char *request, const struct loopback *s)
{
	size_t len = 0, n = strlen(COOKIE);
	const char *list = header_of(request, "Cookie", &len), *at;

	for (at = list; at && at + n + 1 + LOOPBACK_SECRET <= list + len; at += strcspn(at, ";\r\n") + 1) {
		at += strspn(at, " ");
		if (!strncmp(at, COOKIE, n) && at[n] == '=' &&
		    same_secret(at + n + 1, strcspn(at + n + 1, "; \r\n"), s->cookie))
			return true;
	}
	return false;
}

static void serve_one(int fd, struct loopback *s)
{
	struct visitor v = { fd, clock_now() / 1000000 + PATIENCE_MS };
	char request[REQUEST_MOST + 1], header[200];
	size_t got = 0, len;
	ssize_t n;

	request[0] = 0;
	while (got < REQUEST_MOST && !strstr(request, "\r\n\r\n") && in_time(&v, POLLIN) &&
	       (n = recv(fd, request + got, REQUEST_MOST - got, 0)) > 0) {
		got += (size_t)n;
		request[got] = 0;
	}
	if (strncmp(request, "GET /", 5) || !strstr(request, "\r\n\r\n") || !asked_by_our_name(request)) {
		answer(&v, "400 Bad Request", "", NULL);
		return;
	}
	len = strcspn(request + 5, " ?\r\n");
	if (!len && has_cookie(request, s)) {
		answer(&v, "200 OK", "", &s->page);
	} else if (!s->used && same_secret(request + 5, len, s->token)) {
		s->used = true;
		snprintf(header, sizeof(header),
			 "Location: /\r\nSet-Cookie: " COOKIE "=%s; HttpOnly; SameSite=Strict; Path=/\r\n", s->cookie);
		answer(&v, "303 See Other", header, NULL);
	} else {
		answer(&v, "403 Forbidden", "", NULL);
	}
}

static int open_end_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

void loopback_serve(struct loopback *s)
{
	struct pollfd pf[2] = { { .fd = s->signals, .events = POLLIN }, { .fd = s->listening, .events = POLLIN } };

	while (poll(pf, 2, -1) >= 0 || errno == EINTR) {
		int fd;

		if (pf[0].revents)
			return;
		fd = pf[1].revents ? accept4(s->listening, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		serve_one(fd, s);
		shutdown(fd, SHUT_WR);
		close(fd);
	}
}

int loopback_begin(struct loopback *s, unsigned port, struct err *e)
{
	s->signals = open_end_signals();
	s->listening = listen_here(port, &s->port, e);
	if (s->listening >= 0 && (s->signals < 0 || make_secret(s->token) || make_secret(s->cookie)))
		err_set(e, -EIO, "no signals or no random numbers can be read");
	return e->code;
}

void loopback_end(struct loopback *s)
{
	if (s->listening >= 0)
		close(s->listening);
	if (s->signals >= 0)
		close(s->signals);
	buf_release(&s->page);
}
