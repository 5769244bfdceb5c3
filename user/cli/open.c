// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * accperf open: the page of `accperf report --html` on loopback, for people who work over ssh. One page, one visitor:
 * the address holds a secret that serves once and is exchanged for a cookie, so that nobody else on the machine, and
 * no page of another site, gets it. Serves nothing else and never leaves 127.0.0.1.
 */
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

#include "cli/cli.h"
#include "cli/report_html.h"
#include "util/clock.h"

#define SECRET 32 /* hex digits */
#define REQUEST_MOST 8192
#define PATIENCE_MS 5000 /* with one visitor in all; Ctrl-C waits for that at most */
#define COOKIE "accperf"

struct open_cmd {
	struct html_files files;
	uint64_t port;
};

static const struct open_cmd defaults = { .files.input = "accperf.data" };

#define AT(field) .offset = offsetof(struct open_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(files.input), .arg = "FILE", .help = "the profile to show (accperf.data)" },
	{ OPT_STRING, 0, "against", AT(files.base), .arg = "OTHER",
	  .help = "compare it with this profile, as `report --html --against` does" },
	{ OPT_UINT, 0, "port", AT(port), .arg = "PORT", .help = "of 127.0.0.1 (0: any that is free)" },
	OPT_END
};

struct served {
	struct buf page;
	char token[SECRET + 1], cookie[SECRET + 1];
	bool used; /* the token */
	unsigned port;
};

static int make_secret(char out[SECRET + 1])
{
	unsigned char raw[SECRET / 2];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -EIO;
	for (unsigned i = 0; i < sizeof(raw); i++)
		snprintf(out + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

/* Takes as long whatever differs. */
static bool same_secret(const char *given, size_t len, const char *want)
{
	unsigned char differs = len != SECRET;

	for (size_t i = 0; i < SECRET && i < len; i++)
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

static bool has_cookie(const char *request, const struct served *s)
{
	size_t len = 0, n = strlen(COOKIE);
	const char *list = header_of(request, "Cookie", &len), *at;

	for (at = list; at && at + n + 1 + SECRET <= list + len; at += strcspn(at, ";\r\n") + 1) {
		at += strspn(at, " ");
		if (!strncmp(at, COOKIE, n) && at[n] == '=' &&
		    same_secret(at + n + 1, strcspn(at + n + 1, "; \r\n"), s->cookie))
			return true;
	}
	return false;
}

static void serve_one(int fd, struct served *s)
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

static void serve_page(int listening, int signals, struct served *s)
{
	struct pollfd pf[2] = { { .fd = signals, .events = POLLIN }, { .fd = listening, .events = POLLIN } };

	while (poll(pf, 2, -1) >= 0 || errno == EINTR) {
		int fd;

		if (pf[0].revents)
			return;
		fd = pf[1].revents ? accept4(listening, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		serve_one(fd, s);
		shutdown(fd, SHUT_WR);
		close(fd);
	}
}

static int cmd_open(void *opts, int argc, char **argv)
{
	const struct open_cmd *o = opts;
	struct served s = { 0 };
	struct err e = { 0 };
	char host[256] = "HOST";
	int status = EXIT_DONE, signals, listening;

	if (o->port > 65535) {
		log_error("--port must be 0 to 65535");
		return EXIT_USAGE;
	}
	if (report_html_make(&o->files, &s.page, &status, &e)) {
		buf_release(&s.page);
		return cli_fail(&e, EXIT_FAILED);
	}
	signals = open_end_signals();
	listening = listen_here((unsigned)o->port, &s.port, &e);
	if (listening >= 0 && (signals < 0 || make_secret(s.token) || make_secret(s.cookie)))
		err_set(&e, -EIO, "no signals or no random numbers can be read");
	if (e.code) {
		buf_release(&s.page);
		return cli_fail(&e, EXIT_FAILED);
	}
	gethostname(host, sizeof(host) - 1);
	printf("http://127.0.0.1:%u/%s\n", s.port, s.token);
	fflush(stdout);
	log_info("for one browser; from another machine first: ssh -L %u:127.0.0.1:%u %s   Ctrl-C ends", s.port, s.port,
		 host);
	serve_page(listening, signals, &s);
	close(listening);
	close(signals);
	buf_release(&s.page);
	return status;
}

CLI_COMMAND(open) = {
	.name = "open",
	.summary = "a profile as a page for the browser, over ssh too",
	.order = 22,
	.run = cmd_open,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct open_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"Makes the page of `accperf report --html` and serves it on 127.0.0.1 until Ctrl-C: for machines without a\n"
		"browser, and without a file to copy. Prints the address, and the ssh command that forwards it.\n"
		"\n"
		"The address works once: it gives the browser that asks first a cookie, with which it may ask again. Others\n"
		"get nothing. Nothing but the page is served, and nothing is kept.",
	.examples = "accperf open\tWhat was recorded last, in a browser\n"
		    "accperf open --port 8080 run.data\tOn a port that ssh forwards already\n",
};
