// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/post.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"

#define PATIENCE_MS 60000       /* a server that merges its parts answers late */
#define ANSWER_MOST (64u << 20) /* bytes: three kilobytes for each of the rows that are asked for at most */
#define MS_NS 1000000ull

bool post_has_only(const char *text, const char *more)
{
	for (; *text; text++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *text) &&
		    !strchr(more, *text))
			return false;
	return true;
}

int post_read(struct post_server *s, const char *url)
{
	const char *at = url + strlen("http://"), *slash, *colon;

	*s = (struct post_server){ .what = s->what };
	if (strncmp(url, "http://", strlen("http://")))
		return -EINVAL;
	slash = strchr(at, '/') ? strchr(at, '/') : at + strlen(at);
	colon = memrchr(at, ':', (size_t)(slash - at));
	if (!colon || colon == at || colon - at >= (ptrdiff_t)sizeof(s->host) ||
	    slash - colon - 1 >= (ptrdiff_t)sizeof(s->port) || slash == colon + 1 || strlen(slash) >= sizeof(s->path))
		return -EINVAL;
	memcpy(s->host, at, (size_t)(colon - at));
	memcpy(s->port, colon + 1, (size_t)(slash - colon - 1));
	snprintf(s->path, sizeof(s->path), "%s", slash[0] && slash[1] ? slash : "");
	return post_has_only(s->host, ".-:[]") && post_has_only(s->port, "") && post_has_only(s->path, ".-/") ? 0
													      : -EINVAL;
}

void post_escape(const char *text, struct buf *out)
{
	for (; *text; text++)
		if (post_has_only((char[]){ *text, 0 }, ".-"))
			buf_addch(out, *text);
		else
			buf_addf(out, "%%%02X", (unsigned char)*text);
}

static int connect_to(const struct post_server *s, struct err *e)
{
	struct addrinfo want = { .ai_socktype = SOCK_STREAM }, *all = NULL;
	struct timeval limit = { .tv_sec = PATIENCE_MS / 1000 };
	int fd = -1, err = getaddrinfo(s->host, s->port, &want, &all);

	for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (connect(fd, a->ai_addr, a->ai_addrlen)) {
			close(fd);
			fd = -1;
		}
	}
	if (all)
		freeaddrinfo(all);
	if (fd < 0)
		err_set(e, -EAGAIN, "%s does not answer on %s:%s: %s", s->what, s->host, s->port,
			err ? gai_strerror(err) : strerror(errno));
	return fd;
}

static bool send_whole(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

/* "size CRLF bytes CRLF", in place. */
static size_t join_chunks(char *text, size_t len)
{
	size_t from = 0, to = 0;

	while (from < len) {
		char *end;
		unsigned long n = strtoul(text + from, &end, 16);
		size_t at = (size_t)(end - text);

		if (at + 2 > len || end == text + from || !n)
			break;
		at += 2;
		if (n > len - at)
			n = len - at;
		memmove(text + to, text + at, n);
		to += n;
		from = at + n + 2;
	}
	return to;
}

unsigned post_status(char *answer, size_t len, size_t *body_at, size_t *body_len)
{
	char *end = memmem(answer, len, "\r\n\r\n", 4), *line;
	unsigned status = 0;

	if (!end || sscanf(answer, "HTTP/1.%*1[01] %3u", &status) != 1)
		return 0;
	*end = 0;
	*body_at = (size_t)(end - answer) + 4;
	*body_len = len - *body_at;
	line = strcasestr(answer, "\r\nTransfer-Encoding: chunked");
	if (line)
		*body_len = join_chunks(answer + *body_at, *body_len);
	return status;
}

static int receive_answer(const struct post_server *s, int fd, struct buf *all, struct err *e)
{
	uint64_t until = clock_now() + PATIENCE_MS * MS_NS;
	char piece[65536];
	ssize_t n = 1;

	while (all->len < ANSWER_MOST && !buf_failed(all) && clock_now() < until &&
	       (n = recv(fd, piece, sizeof(piece), 0)) > 0)
		buf_add(all, piece, (size_t)n);
	if (n)
		return err_set(e, -EAGAIN, "%s took longer than a minute, or said more than 64 MB", s->what);
	buf_addch(all, 0);
	return buf_failed(all) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

int post_ask(const struct post_request *r, struct post_answer *a, struct err *e)
{
	const struct post_server *s = r->server;
	size_t at = 0, all = 0;
	bool sent = true;
	AUTO_BUF(head);
	int fd;

	*a = (struct post_answer){ .body = "" };
	for (size_t i = 0; i < r->pieces; i++)
		all += r->piece[i]->len;
	buf_addf(&head, "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n", r->target,
		 s->host, all, r->headers);
	if (buf_failed(&head))
		return err_set(e, -ENOMEM, "out of memory");
	fd = connect_to(s, e);
	if (fd < 0)
		return e->code;
	sent = send_whole(fd, head.data, head.len);
	for (size_t i = 0; i < r->pieces && sent; i++)
		sent = send_whole(fd, r->piece[i]->data, r->piece[i]->len);
	if (!sent)
		err_set(e, -EAGAIN, "%s on %s:%s stopped listening: %s", s->what, s->host, s->port, strerror(errno));
	else
		receive_answer(s, fd, &a->all, e);
	close(fd);
	if (e->code)
		return e->code;
	a->status = post_status(a->all.data, a->all.len - 1, &at, &a->len);
	if (a->status) {
		a->body = a->all.data + at;
		a->all.data[at + a->len] = 0; /* chunks have made it shorter */
	}
	return 0;
}

void post_release(struct post_answer *a)
{
	buf_release(&a->all);
}

int post_code(unsigned status)
{
	return status == 0 || status == 429 || status == 502 || status == 503 || status == 504 ? -EAGAIN : -EPROTO;
}
