// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/clickhouse.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/clean.h"
#include "util/clock.h"
#include "util/openfile.h"

#define PATIENCE_MS 60000       /* a server that merges its parts answers late */
#define ANSWER_MOST (64u << 20) /* bytes: three kilobytes for each of the rows that are asked for at most */
#define MS_NS 1000000ull

static bool good_word(const char *text, const char *more)
{
	for (; *text; text++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *text) &&
		    !strchr(more, *text))
			return false;
	return true;
}

static int read_user(struct clickhouse *c, const char *path, struct err *e)
{
	char text[256], *colon;
	struct stat st;
	int fd = openfile_regular(path, &st);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return err_set(e, -EINVAL, "%s cannot be read", path);
	if (st.st_mode & 077)
		return err_set(e, -EPERM, "%s must be for its owner alone: chmod 0600", path);
	text[n] = 0;
	text[strcspn(text, "\r\n")] = 0;
	colon = strchr(text, ':');
	if (!colon || colon - text >= (ptrdiff_t)sizeof(c->user) || strlen(colon + 1) >= sizeof(c->password))
		return err_set(e, -EINVAL, "%s wants one line, USER:PASSWORD", path);
	snprintf(c->user, sizeof(c->user), "%.*s", (int)(colon - text), text);
	snprintf(c->password, sizeof(c->password), "%s", colon + 1);
	return 0;
}

int clickhouse_read(struct clickhouse *c, const char *url, const char *user_file, struct err *e)
{
	const char *at = url + strlen("http://"), *slash, *colon;

	*c = (struct clickhouse){ .database = "default" };
	if (strncmp(url, "http://", strlen("http://")))
		return err_set(e, -EINVAL, "--clickhouse wants http://HOST:PORT or http://HOST:PORT/DATABASE");
	slash = strchr(at, '/') ? strchr(at, '/') : at + strlen(at);
	colon = memrchr(at, ':', (size_t)(slash - at));
	if (!colon || colon == at || colon - at >= (ptrdiff_t)sizeof(c->host) ||
	    slash - colon - 1 >= (ptrdiff_t)sizeof(c->port) || slash == colon + 1)
		return err_set(e, -EINVAL, "--clickhouse wants http://HOST:PORT or http://HOST:PORT/DATABASE");
	memcpy(c->host, at, (size_t)(colon - at));
	memcpy(c->port, colon + 1, (size_t)(slash - colon - 1));
	if (*slash && slash[1])
		snprintf(c->database, sizeof(c->database), "%s", slash + 1);
	if (!good_word(c->host, ".-:[]") || !good_word(c->port, "") || !good_word(c->database, ""))
		return err_set(e, -EINVAL, "--clickhouse wants http://HOST:PORT or http://HOST:PORT/DATABASE");
	return user_file ? read_user(c, user_file, e) : 0;
}

/* ---- texts */

void clickhouse_field(const char *text, struct buf *out)
{
	AUTO_BUF(clean);

	clean_add(&clean, text, CLEAN_TEXT);
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.data[i] == '\\')
			buf_addch(out, '\\');
		buf_addch(out, clean.data[i] == '\t' || clean.data[i] == '\n' ? ' ' : clean.data[i]);
	}
}

void clickhouse_quote(const char *text, struct buf *out)
{
	buf_addch(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_addch(out, '\\');
		buf_addch(out, *text);
	}
	buf_addch(out, '\'');
}

static void add_escaped(const char *text, struct buf *out)
{
	for (; *text; text++)
		if (good_word((char[]){ *text, 0 }, ".-"))
			buf_addch(out, *text);
		else
			buf_addf(out, "%%%02X", (unsigned char)*text);
}

/* ---- HTTP */

static int connect_to(const struct clickhouse *c, struct err *e)
{
	struct addrinfo want = { .ai_socktype = SOCK_STREAM }, *all = NULL;
	struct timeval limit = { .tv_sec = PATIENCE_MS / 1000 };
	int fd = -1, err = getaddrinfo(c->host, c->port, &want, &all);

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
		err_set(e, -EAGAIN, "ClickHouse does not answer on %s:%s: %s", c->host, c->port,
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

unsigned clickhouse_status(char *answer, size_t len, size_t *body_at, size_t *body_len)
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

static void begin_request(const struct clickhouse *c, const char *query, const struct buf *body, struct buf *out)
{
	buf_addf(out, "POST /?database=%s", c->database);
	if (body) {
		buf_addstr(out, "&query=");
		add_escaped(query, out);
	}
	buf_addf(out, " HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %zu\r\n", c->host,
		 body ? body->len : strlen(query));
	if (*c->user)
		buf_addf(out, "X-ClickHouse-User: %s\r\nX-ClickHouse-Key: %s\r\n", c->user, c->password);
	buf_addstr(out, "\r\n");
	if (!body)
		buf_addstr(out, query);
}

static int receive_answer(int fd, struct buf *all, struct err *e)
{
	uint64_t until = clock_now() + PATIENCE_MS * MS_NS;
	char piece[65536];
	ssize_t n = 1;

	while (all->len < ANSWER_MOST && !buf_failed(all) && clock_now() < until &&
	       (n = recv(fd, piece, sizeof(piece), 0)) > 0)
		buf_add(all, piece, (size_t)n);
	if (n)
		return err_set(e, -EAGAIN, "ClickHouse took longer than a minute, or said more than 64 MB");
	buf_addch(all, 0);
	return buf_failed(all) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

int clickhouse_ask(const struct clickhouse *c, const char *query, const struct buf *body, struct buf *answer,
		   struct err *e)
{
	size_t at = 0, len = 0;
	AUTO_BUF(head);
	AUTO_BUF(all);
	unsigned status;
	int fd;

	begin_request(c, query, body, &head);
	if (buf_failed(&head))
		return err_set(e, -ENOMEM, "out of memory");
	fd = connect_to(c, e);
	if (fd < 0)
		return e->code;
	if (!send_whole(fd, head.data, head.len) || (body && !send_whole(fd, body->data, body->len)))
		err_set(e, -EAGAIN, "ClickHouse on %s:%s stopped listening: %s", c->host, c->port, strerror(errno));
	else
		receive_answer(fd, &all, e);
	close(fd);
	if (e->code)
		return e->code;
	status = clickhouse_status(all.data, all.len - 1, &at, &len);
	if (status != 200)
		return err_set(e, status == 0 || status == 429 || status == 502 || status == 503 ? -EAGAIN : -EPROTO,
			       "ClickHouse on %s:%s: %.400s", c->host, c->port,
			       status ? all.data + at : "this is no answer of HTTP");
	if (answer)
		buf_add(answer, all.data + at, len);
	return answer && buf_failed(answer) ? err_set(e, -ENOMEM, "out of memory") : 0;
}
