// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/http.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/daemon_priv.h"
#include "daemon/metrics.h"
#include "util/clock.h"

#define CONNECTIONS 200
#define CONNECTION_MEMORY 16384
#define PATIENCE_S 10 /* with a client that is silent */
#define TOKEN_LEAST 16
#define TOKEN_MOST 200
#define FRESH_NS 1000000000ull /* an answer is worked out once a second at most, whoever asks */

enum answer { ANSWER_HEALTH, ANSWER_METRICS, ANSWER_PROFILES, ANSWERS };

struct http {
	struct daemon *d;
	struct MHD_Daemon *mhd;
	bool loopback;
	char token[TOKEN_MOST + 1]; /* "": none */
	struct {
		struct MHD_Response *response;
		uint64_t made;
		unsigned status;
	} kept[ANSWERS];
};

/* Takes as long whatever differs. */
static bool is_token(const struct http *h, const char *given)
{
	size_t len = strlen(h->token), n = strlen(given);
	unsigned char differs = len != n;

	for (size_t i = 0; i < len && i < n; i++)
		differs |= (unsigned char)(h->token[i] ^ given[i]);
	return !differs;
}

static bool brings_token(const struct http *h, struct MHD_Connection *c)
{
	const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");

	return *h->token && given && !strncasecmp(given, "Bearer ", 7) && is_token(h, given + 7);
}

/* A page of another site whose name leads to 127.0.0.1 asks by that name. */
static bool asks_for_us(const struct http *h, struct MHD_Connection *c)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");

	for (unsigned i = 0; i < 3 && h->loopback && host; i++) {
		size_t n = strlen(names[i]);

		if (!strncasecmp(host, names[i], n) && (!host[n] || host[n] == ':'))
			return true;
	}
	return !h->loopback || !host;
}

/* ---- answers */

static struct MHD_Response *of_text(const char *text, size_t len, const char *type)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	if (r) {
		MHD_add_response_header(r, "Content-Type", type);
		MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
		MHD_add_response_header(r, "Cache-Control", "no-store");
	}
	return r;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	struct MHD_Response *r = of_text(why, strlen(why), "text/plain; charset=utf-8");
	enum MHD_Result done = MHD_NO;

	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(r, "Retry-After", "2");
	done = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result kept_answer(struct http *h, struct MHD_Connection *c, enum answer which)
{
	static const char *const types[ANSWERS] = { "text/plain; charset=utf-8",
						    "application/openmetrics-text; version=1.0.0; charset=utf-8",
						    "application/json" };
	uint64_t now = clock_now();
	AUTO_BUF(text);

	if (!h->kept[which].response || now - h->kept[which].made > FRESH_NS) {
		h->kept[which].status = MHD_HTTP_OK;
		if (which == ANSWER_METRICS)
			metrics_text(h->d, &text);
		else if (which == ANSWER_PROFILES)
			metrics_profiles(h->d, &text);
		else if (!metrics_health(h->d, &text))
			h->kept[which].status = MHD_HTTP_SERVICE_UNAVAILABLE;
		if (buf_failed(&text) || !text.len)
			return MHD_NO;
		if (h->kept[which].response)
			MHD_destroy_response(h->kept[which].response); /* once it is sent to all who asked */
		h->kept[which].response = of_text(text.data, text.len, types[which]);
		h->kept[which].made = now;
	}
	return h->kept[which].response ? MHD_queue_response(c, h->kept[which].status, h->kept[which].response) : MHD_NO;
}

/* fd is the answer's from here on. */
static enum MHD_Result of_file(struct MHD_Connection *c, int fd, const char *type, const char *name)
{
	struct MHD_Response *r = NULL;
	enum MHD_Result done;
	char as[150];
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st))
		r = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
	if (!r) {
		if (fd >= 0)
			close(fd);
		return refuse(c, MHD_HTTP_NOT_FOUND, "that profile has just been removed; ask again\n");
	}
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	if (name) {
		snprintf(as, sizeof(as), "attachment; filename=\"%s\"", name);
		MHD_add_response_header(r, "Content-Disposition", as);
	}
	done = MHD_queue_response(c, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return done;
}

/* Of the service that a request names, which is compared with those that there are, or of the only one. */
static enum MHD_Result answer_of_service(struct http *h, struct MHD_Connection *c, bool page)
{
	const char *name = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "service");
	const struct daemon_config *config = &h->d->c;
	uint32_t i = 0;
	int fd;

	while (name && i < config->service_count && strcmp(config->services[i].name, name))
		i++;
	if ((!name && config->service_count != 1) || i == config->service_count)
		return refuse(c, MHD_HTTP_NOT_FOUND, "say which, as ?service=NAME; /profiles lists them\n");
	if (!*h->d->services[i].last)
		return refuse(c, MHD_HTTP_NOT_FOUND, "there is no complete profile of that service yet\n");
	if (!page)
		return of_file(c, keeper_fd(&h->d->keeper, config->services[i].name, h->d->services[i].last),
			       "application/octet-stream", h->d->services[i].last);
	fd = readings_page(h->d, i);
	if (fd < 0)
		return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "the page is being made; ask again in a moment\n");
	return of_file(c, dup(fd), "text/html; charset=utf-8", NULL);
}

/* shape: libmicrohttpd calls it so */
static enum MHD_Result take_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
				    const char *version, const char *data, size_t *data_len, void **state)
{
	static int begun;
	struct http *h = ctx;

	if (*state != &begun) { /* its headers, before a body that nobody reads */
		*state = &begun;
		return MHD_YES;
	}
	if (*data_len) {
		*data_len = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (!asks_for_us(h, c))
		return refuse(c, MHD_HTTP_FORBIDDEN, "only by the name 127.0.0.1, localhost or [::1]\n");
	if ((*h->token && !h->loopback) && !brings_token(h, c))
		return refuse(c, MHD_HTTP_UNAUTHORIZED, "this wants the token of http.token_file\n");
	if (!strcmp(url, "/healthz"))
		return kept_answer(h, c, ANSWER_HEALTH);
	if (!strcmp(url, "/metrics"))
		return kept_answer(h, c, ANSWER_METRICS);
	if (!brings_token(h, c))
		return refuse(
			c, *h->token ? MHD_HTTP_UNAUTHORIZED : MHD_HTTP_FORBIDDEN,
			*h->token
				? "this wants the token of http.token_file\n"
				: "profiles are served only with a token, as anybody on this machine could ask: set http.token_file\n");
	if (!strcmp(url, "/profiles"))
		return kept_answer(h, c, ANSWER_PROFILES);
	if (!strcmp(url, "/profile") || !strcmp(url, "/report.html"))
		return answer_of_service(h, c, url[1] == 'r');
	return refuse(c, MHD_HTTP_NOT_FOUND,
		      "/healthz, /metrics, /profiles, /profile and /report.html are what there is\n");
}

/* ---- lifetime */

static int read_token(struct http *h, const char *path, struct err *e)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct stat st;
	ssize_t n;

	if (!path)
		return 0;
	if (fd < 0 || fstat(fd, &st)) {
		err_set(e, -errno, "http.token_file %s cannot be read: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_mode & 077) {
		err_set(e, -EPERM, "http.token_file %s must be a file that only its owner reads: chmod 0600", path);
	} else {
		n = read(fd, h->token, TOKEN_MOST);
		h->token[n > 0 ? n : 0] = 0;
		h->token[strcspn(h->token, "\r\n")] = 0;
		if (strlen(h->token) < TOKEN_LEAST)
			err_set(e, -EINVAL,
				"http.token_file %s wants a first line of %d to %d letters, such as `openssl rand -hex 32` prints",
				path, TOKEN_LEAST, TOKEN_MOST - 1);
	}
	if (fd >= 0)
		close(fd);
	return e->code;
}

struct http *http_open(struct daemon *d, struct err *e)
{
	struct sockaddr_storage at;
	struct http *h;
	unsigned flags = MHD_USE_EPOLL;

	if (!strcmp(d->c.listen, "none"))
		return NULL;
	h = calloc(1, sizeof(*h));
	if (!h || !config_address(d->c.listen, &at, &h->loopback)) {
		err_set(e, -ENOMEM, "nothing is served: out of memory");
		free(h);
		return NULL;
	}
	h->d = d;
	if (read_token(h, d->c.token_file, e)) {
		free(h);
		return NULL;
	}
	if (at.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	h->mhd = MHD_start_daemon(flags, 0, NULL, NULL, take_request, h, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at,
				  MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
				  MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)PATIENCE_S, MHD_OPTION_END);
	if (!h->mhd) {
		err_set(e, -EADDRINUSE,
			"nothing is served: %s cannot be listened on%s%s; another program has the port, or the address is not this "
			"machine's: set http.listen, and restart",
			d->c.listen, errno ? ": " : "", errno ? strerror(errno) : "");
		free(h);
		return NULL;
	}
	return h;
}

int http_fd(const struct http *h)
{
	const union MHD_DaemonInfo *i = h ? MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD) : NULL;

	return i ? i->epoll_fd : -1;
}

void http_run(struct http *h)
{
	if (h)
		MHD_run(h->mhd);
}

uint64_t http_wait_ns(const struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	return h && MHD_get_timeout(h->mhd, &ms) == MHD_YES ? (uint64_t)ms * 1000000 : UINT64_MAX;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < ANSWERS; i++)
		if (h->kept[i].response)
			MHD_destroy_response(h->kept[i].response);
	MHD_stop_daemon(h->mhd);
	free(h);
}
