// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/clean.h"
#include "util/openfile.h"

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
	*c = (struct clickhouse){ .server.what = "ClickHouse", .database = "default" };
	if (post_read(&c->server, url) || strlen(c->server.path) > sizeof(c->database))
		return err_set(e, -EINVAL, "--clickhouse wants http://HOST:PORT or http://HOST:PORT/DATABASE");
	if (*c->server.path)
		snprintf(c->database, sizeof(c->database), "%s", c->server.path + 1);
	if (!post_has_only(c->database, ""))
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

int clickhouse_ask(const struct clickhouse *c, const char *query, const struct buf *body, struct buf *answer,
		   struct err *e)
{
	struct buf statement = { .data = (char *)(uintptr_t)query, .len = strlen(query) };
	const struct buf *sent = body ? body : &statement;
	struct post_request r = { .server = &c->server, .piece = &sent, .pieces = 1 };
	struct post_answer a;
	AUTO_BUF(target);
	AUTO_BUF(headers);

	buf_addf(&target, "/?database=%s", c->database);
	if (body) {
		buf_addstr(&target, "&query=");
		post_escape(query, &target);
	}
	buf_addstr(&headers, "");
	if (*c->user)
		buf_addf(&headers, "X-ClickHouse-User: %s\r\nX-ClickHouse-Key: %s\r\n", c->user, c->password);
	if (buf_failed(&target) || buf_failed(&headers))
		return err_set(e, -ENOMEM, "out of memory");
	r.target = target.data;
	r.headers = headers.data ? headers.data : "";
	if (!post_ask(&r, &a, e) && a.status != 200)
		err_set(e, post_code(a.status), "ClickHouse on %s:%s: %.400s", c->server.host, c->server.port,
			a.status ? a.body : "this is no answer of HTTP");
	if (!e->code && answer)
		buf_add(answer, a.body, a.len);
	post_release(&a);
	return !e->code && answer && buf_failed(answer) ? err_set(e, -ENOMEM, "out of memory") : e->code;
}
