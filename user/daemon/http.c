// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/http.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/clients.h"
#include "daemon/daemon_priv.h"
#include "daemon/http_library.h"
#include "daemon/metrics.h"
#include "util/clock.h"

#define CONNECTIONS 200         /* of all clients; each holds CONNECTION_MEMORY, so 3 MB */
#define CONNECTION_MEMORY 16384 /* bytes: a request line and headers, which servers bound at 8 KB */
#define PATIENCE_S 10           /* seconds, with a client that is silent: what scrapes is done in one */
#define PER_CLIENT 50           /* connections of one address, where other machines reach us */
#define SUSPENDED 64u           /* that wait for an answer; the others stay for who scrapes */
#define PEM_MOST 65536          /* bytes of a certificate with its chain */
/* What a client may ask: so many at once, and then so many a second; an answer from profiles costs as many, and so
 * does a wrong token. */
#define ASKED_AT_ONCE 400.0
#define ASKED_A_SECOND 20.0        /* credit that comes back in a second; by hand */
#define DEAR 20.0                  /* credits of an answer that costs work, or of a wrong token; by hand */
#define TOKEN_LEAST 16             /* letters: 64 bits as hex digits, which nobody guesses at 20 a second */
#define TOKEN_MOST 200             /* letters */
#define UNPROCESSABLE 422          /* libmicrohttpd has had two names for it */
#define BODY_REFUSED 413           /* and for this */
#define REFUSED_NS 60000000000ull  /* between two lines of the log on that: a minute */
#define FRESH_NS 1000000000ull     /* an answer is worked out once a second at most, for all that ask */
#define ASKS_FOR_NS 20000000000ull /* 20 s: a request that is sent letter by letter ends then, and is looked for */
#define LOOK_NS 1000000000ull      /* once a second */
#define PART 0.25        /* of the budget, for all who ask, answers from profiles apart: the rest is for recording */
#define SAVED_MOST_S 2.0 /* seconds of CPU time, of what they leave of it: some thousand answers at once; by hand */

enum http_answer { ANSWER_HEALTH, ANSWER_METRICS, ANSWER_OLD_METRICS, ANSWER_PROFILES, ANSWERS };

/* Of a connection, from its first line until it is answered. */
struct request {
	uint32_t asked; /* 0: no answer from profiles */
	bool waits;
	struct MHD_Connection *connection;
};

/* A connection, for as long as it lasts. */
struct peer {
	int fd;         /* -1: none */
	uint64_t since; /* it asks, and has not sent all of it; 0: it is answered */
};

struct http {
	struct daemon *d;
	struct peer peers[CONNECTIONS];
	uint64_t looked, earned; /* at connections that are slow; CPU time for requests: when */
	double credit;           /* CPU seconds; below 0 nobody is served until it is earned */
	struct clients clients;
	struct request *waiting[SUSPENDED];
	unsigned waiting_count;
	char *cert, *key;
	struct MHD_Daemon *mhd;
	bool loopback;
	char token[TOKEN_MOST + 1];     /* "": none */
	uint64_t refused, refused_told; /* for want of it, since that was told; when */
	struct {
		struct MHD_Response *response;
		uint64_t made;
		unsigned status;
	} kept[ANSWERS];
};

static const struct http_library *mhd; /* since http_open() */

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
	const char *given = mhd->lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");

	return *h->token && given && !strncasecmp(given, "Bearer ", 7) && is_token(h, given + 7);
}

/* A page of another site whose name leads to 127.0.0.1 asks by that name. */
static bool asks_for_us(const struct http *h, struct MHD_Connection *c)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	const char *host = mhd->lookup_connection_value(c, MHD_HEADER_KIND, "Host");

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
	struct MHD_Response *r = mhd->create_response_from_buffer(len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	if (r) {
		mhd->add_response_header(r, "Content-Type", type);
		mhd->add_response_header(r, "X-Content-Type-Options", "nosniff");
		mhd->add_response_header(r, "Cache-Control", "no-store");
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
		mhd->add_response_header(r, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd->add_response_header(r, "Allow", "GET, HEAD");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE || status == MHD_HTTP_TOO_MANY_REQUESTS)
		mhd->add_response_header(r, "Retry-After", "2");
	if (status == MHD_HTTP_TOO_MANY_REQUESTS) /* its connection is for others */
		mhd->add_response_header(r, "Connection", "close");
	done = mhd->queue_response(c, status, r);
	mhd->destroy_response(r);
	return done;
}

/* Older scrapers, and promtool, read Prometheus' own text alone; who names no type takes any. */
static bool takes_openmetrics(struct MHD_Connection *c)
{
	const char *types = mhd->lookup_connection_value(c, MHD_HEADER_KIND, "Accept");

	return !types || !strstr(types, "text/plain") || strstr(types, "application/openmetrics-text");
}

static enum MHD_Result kept_answer(struct http *h, struct MHD_Connection *c, enum http_answer which)
{
	static const char *const types[ANSWERS] = { "text/plain; charset=utf-8",
						    "application/openmetrics-text; version=1.0.0; charset=utf-8",
						    "text/plain; version=0.0.4; charset=utf-8", "application/json" };
	uint64_t now = clock_now();
	AUTO_BUF(text);

	if (!h->kept[which].response || now - h->kept[which].made > FRESH_NS) {
		h->kept[which].status = MHD_HTTP_OK;
		if (which == ANSWER_METRICS || which == ANSWER_OLD_METRICS)
			metrics_text(h->d, which == ANSWER_METRICS, &text);
		else if (which == ANSWER_PROFILES)
			metrics_profiles(h->d, &text);
		else if (!metrics_health(h->d, &text))
			h->kept[which].status = MHD_HTTP_SERVICE_UNAVAILABLE;
		if (buf_failed(&text) || !text.len)
			return MHD_NO;
		if (h->kept[which].response)
			mhd->destroy_response(h->kept[which].response); /* once it is sent to all who asked */
		h->kept[which].response = of_text(text.data, text.len, types[which]);
		h->kept[which].made = now;
	}
	return h->kept[which].response ? mhd->queue_response(c, h->kept[which].status, h->kept[which].response)
				       : MHD_NO;
}

/* fd is the answer's from here on. */
static enum MHD_Result of_file(struct MHD_Connection *c, int fd, const char *type, const char *name)
{
	struct MHD_Response *r = NULL;
	enum MHD_Result done;
	char as[150];
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st))
		r = mhd->create_response_from_fd64((uint64_t)st.st_size, fd);
	if (!r) {
		if (fd >= 0)
			close(fd);
		return refuse(c, MHD_HTTP_NOT_FOUND, "that profile has just been removed; ask again\n");
	}
	mhd->add_response_header(r, "Content-Type", type);
	mhd->add_response_header(r, "X-Content-Type-Options", "nosniff");
	mhd->add_response_header(r, "Cache-Control", "no-store");
	if (name) {
		snprintf(as, sizeof(as), "attachment; filename=\"%s\"", name);
		mhd->add_response_header(r, "Content-Disposition", as);
	}
	done = mhd->queue_response(c, MHD_HTTP_OK, r);
	mhd->destroy_response(r);
	return done;
}

static enum MHD_Result refuse_service(struct MHD_Connection *c, const char *name)
{
	return refuse(c, MHD_HTTP_NOT_FOUND,
		      *name ? "there is no service of such a name; /profiles lists them\n"
			    : "say which, as ?service=NAME; /profiles lists them\n");
}

/* Compared with those that there are; "": the only one. */
static bool find_service(const struct http *h, const char *name, uint32_t *service)
{
	const struct daemon_config *config = &h->d->c;
	uint32_t i = 0;

	while (*name && i < config->service_count && strcmp(config->services[i].name, name))
		i++;
	*service = i;
	return (*name || config->service_count == 1) && i < config->service_count;
}

static enum MHD_Result answer_profile(struct http *h, struct MHD_Connection *c)
{
	const char *name = mhd->lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "service");
	uint32_t i;

	if (!find_service(h, name ? name : "", &i))
		return refuse_service(c, name ? name : "");
	if (!*h->d->services[i].last)
		return refuse(c, MHD_HTTP_NOT_FOUND, "there is no complete profile of that service yet\n");
	return of_file(c, keeper_fd(&h->d->keeper, h->d->c.services[i].name, h->d->services[i].last),
		       "application/octet-stream", h->d->services[i].last);
}

/* ---- answers from profiles, for which a connection waits */

struct taken_args {
	struct query_arg at[QUERY_ARGS];
	size_t count;
};

static enum MHD_Result take_argument(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct taken_args *a = ctx;

	if (a->count < QUERY_ARGS)
		a->at[a->count] = (struct query_arg){ key, value };
	a->count++;
	return MHD_YES;
}

static enum MHD_Result begin_asking(struct http *h, struct MHD_Connection *c, enum query_kind kind, uint32_t *id)
{
	static const char *const refusals[] = {
		[QUERIES_NONE] = "there is no profile of that service in that time; /profiles lists them\n",
		[QUERIES_MANY] = "that are more than 64 profiles: ask for less time\n",
		[QUERIES_BUSY] = "others are asking; ask again in a moment\n",
		[QUERIES_SPENT] =
			"what may be spent on answers is spent, so that the machine's services lose nothing; ask again in a "
			"few minutes, or read the files with accperf\n",
	};
	struct taken_args args = { .count = 0 };
	enum queries_refusal refused;
	char why[300];
	const char *wrong;
	struct query q;
	uint32_t service;

	mhd->get_connection_values(c, MHD_GET_ARGUMENT_KIND, take_argument, &args);
	wrong = args.count > QUERY_ARGS ? "that are too many arguments"
					: query_read(kind, args.at, args.count, (int64_t)clock_ns(CLOCK_REALTIME), &q);
	if (wrong) {
		snprintf(why, sizeof(why), "%s\n", wrong);
		return refuse(c, MHD_HTTP_BAD_REQUEST, why);
	}
	if (!find_service(h, q.service, &service))
		return refuse_service(c, q.service);
	*id = queries_ask(h->d, service, &q, &refused);
	if (*id)
		return MHD_YES;
	return refuse(c,
		      refused == QUERIES_NONE   ? MHD_HTTP_NOT_FOUND
		      : refused == QUERIES_MANY ? MHD_HTTP_BAD_REQUEST
						: MHD_HTTP_SERVICE_UNAVAILABLE,
		      refusals[refused]);
}

static enum MHD_Result send_asked(struct MHD_Connection *c, const struct asked_query *a)
{
	char why[320];

	if (a->state == ASKED_FAILED) {
		snprintf(why, sizeof(why), "%s\n", a->why);
		return refuse(c, UNPROCESSABLE, why);
	}
	return of_file(c, dup(a->out), query_type(a->kind), query_file(a->kind));
}

static enum MHD_Result answer_query(struct http *h, struct MHD_Connection *c, enum query_kind kind, struct request *r)
{
	const struct asked_query *a;

	if (!r->asked) {
		enum MHD_Result done = begin_asking(h, c, kind, &r->asked);

		if (!r->asked)
			return done;
	}
	a = queries_find(h->d, r->asked);
	if (!a)
		return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "the daemon ends; ask again in a moment\n");
	if (a->state == ASKED_DONE || a->state == ASKED_FAILED)
		return send_asked(c, a);
	if (h->waiting_count == SUSPENDED)
		return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "others are waiting; ask again in a moment\n");
	r->waits = true;
	r->connection = c;
	h->waiting[h->waiting_count++] = r;
	mhd->suspend_connection(c);
	return MHD_YES;
}

/* What that takes is paid by who asks; see http_run(). */
static void run_library(struct http *h)
{
	uint64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	mhd->run(h->mhd);
	h->credit -= (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before) / 1e9;
}

void http_wake(struct http *h)
{
	unsigned left = 0, all = h ? h->waiting_count : 0;

	for (unsigned i = 0; i < all; i++) {
		struct request *r = h->waiting[i];
		const struct asked_query *a = queries_find(h->d, r->asked);

		if (a && (a->state == ASKED_WAITS || a->state == ASKED_RUNS)) {
			h->waiting[left++] = r;
			continue;
		}
		r->waits = false;
		mhd->resume_connection(r->connection);
	}
	if (h)
		h->waiting_count = left;
	if (left < all)
		run_library(h);
}

/* 0: all of its request is there. */
static void asks_since(struct MHD_Connection *c, uint64_t since)
{
	const union MHD_ConnectionInfo *i = mhd->get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (i && i->socket_context)
		((struct peer *)i->socket_context)->since = since;
}

/* shape: libmicrohttpd calls it so */
static void connection_changes(void *ctx, struct MHD_Connection *c, void **peer,
			       enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *i = mhd->get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http *h = ctx;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED && *peer)
		*(struct peer *)*peer = (struct peer){ .fd = -1 };
	for (unsigned k = 0; k < CONNECTIONS && what == MHD_CONNECTION_NOTIFY_STARTED && i && !*peer; k++)
		if (h->peers[k].fd < 0) {
			h->peers[k] = (struct peer){ i->connect_fd, clock_now() };
			*peer = &h->peers[k];
		}
}

/* Who sends a letter now and then is never silent for PATIENCE_S, and would keep its connection for good. */
static void end_slow_peers(struct http *h, uint64_t now)
{
	if (now - h->looked < LOOK_NS)
		return;
	h->looked = now;
	for (unsigned k = 0; k < CONNECTIONS; k++)
		if (h->peers[k].fd >= 0 && h->peers[k].since && now - h->peers[k].since > ASKS_FOR_NS)
			shutdown(h->peers[k].fd, SHUT_RDWR); /* it is closed by whose it is */
}

static void request_done(void *ctx, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	struct http *h = ctx;
	struct request *r = *state;

	if (r && r->asked)
		queries_leave(h->d, r->asked);
	free(r);
	*state = NULL;
	asks_since(c, clock_now());
}

/* ---- requests */

static bool has_turn(struct http *h, struct MHD_Connection *c, double price)
{
	const union MHD_ConnectionInfo *i = mhd->get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return clients_may(&h->clients, i ? i->client_addr : NULL, price, ASKED_AT_ONCE, ASKED_A_SECOND, clock_now());
}

static bool has_body(struct MHD_Connection *c)
{
	const char *length = mhd->lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");

	return mhd->lookup_connection_value(c, MHD_HEADER_KIND, "Transfer-Encoding") || (length && strcmp(length, "0"));
}

/* At once, and then once a minute. */
static void tell_refused(struct http *h, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i = mhd->get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	char host[INET6_ADDRSTRLEN] = "an address that is not known";
	uint64_t now = clock_now();

	h->refused++;
	if (h->refused_told && now - h->refused_told < REFUSED_NS)
		return;
	if (i && i->client_addr)
		getnameinfo(i->client_addr,
			    i->client_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								  : sizeof(struct sockaddr_in),
			    host, sizeof(host), NULL, 0, NI_NUMERICHOST);
	say(SAY_WARN, "http", NULL,
	    "somebody asks without the token, or with a wrong one, %" PRIu64
	    " times by now and the last from %s: who may ask "
	    "sends `Authorization: Bearer` and the first line of http.token_file; if that was changed, reload",
	    h->refused, host);
	h->refused = 0;
	h->refused_told = now;
}

static enum MHD_Result refuse_without_token(struct http *h, struct MHD_Connection *c)
{
	if (!*h->token)
		return refuse(
			c, MHD_HTTP_FORBIDDEN,
			"profiles are served only with a token, as anybody on this machine could ask: set http.token_file\n");
	has_turn(h, c, DEAR); /* who guesses waits soon */
	tell_refused(h, c);
	return refuse(c, MHD_HTTP_UNAUTHORIZED, "this wants the token of http.token_file\n");
}

static enum MHD_Result answer_by_path(struct http *h, struct MHD_Connection *c, const char *url, struct request *r)
{
	enum query_kind kind;

	if (!h->loopback && !brings_token(h, c))
		return refuse_without_token(h, c);
	if (!strcmp(url, "/healthz"))
		return kept_answer(h, c, ANSWER_HEALTH);
	if (!strcmp(url, "/metrics"))
		return kept_answer(h, c, takes_openmetrics(c) ? ANSWER_METRICS : ANSWER_OLD_METRICS);
	if (!brings_token(h, c))
		return refuse_without_token(h, c);
	if (!strcmp(url, "/profiles"))
		return kept_answer(h, c, ANSWER_PROFILES);
	if (!strcmp(url, "/profile"))
		return answer_profile(h, c);
	if (query_is(url, &kind)) {
		if (!r->asked && !has_turn(h, c, DEAR))
			return refuse(c, MHD_HTTP_TOO_MANY_REQUESTS, "you ask too much; ask again in a moment\n");
		return answer_query(h, c, kind, r);
	}
	return refuse(
		c, MHD_HTTP_NOT_FOUND,
		"/healthz, /metrics, /profiles, /profile, /pprof, /flow, /advise, /diff and /report.html are what there is\n");
}

/* shape: libmicrohttpd calls it so */
static enum MHD_Result take_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
				    const char *version, const char *data, size_t *data_len, void **state)
{
	struct http *h = ctx;

	if (!*state) { /* its headers */
		*state = calloc(1, sizeof(struct request));
		asks_since(c, 0);
		if (!*state)
			return MHD_NO;
		/* before a body, which nobody reads: with an answer now its connection ends */
		if (!has_turn(h, c, 1))
			return refuse(c, MHD_HTTP_TOO_MANY_REQUESTS, "you ask too much; ask again in a moment\n");
		if (strcmp(method, "GET") && strcmp(method, "HEAD"))
			return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
		return has_body(c) ? refuse(c, BODY_REFUSED, "a question has no body\n") : MHD_YES;
	}
	*data_len = 0;
	if (!asks_for_us(h, c))
		return refuse(c, MHD_HTTP_FORBIDDEN, "only by the name 127.0.0.1, localhost or [::1]\n");
	return answer_by_path(h, c, url, *state);
}

/* ---- lifetime */

/* A file that the configuration names; secret: for its owner alone. */
static ssize_t read_named(const char *key, const char *path, bool secret, char *out, size_t size, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0 || fstat(fd, &st))
		err_set(e, -errno, "%s %s cannot be read: %s", key, path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || (secret && st.st_mode & 077))
		err_set(e, -EPERM, "%s %s must be a file%s", key, path,
			secret ? " that only its owner reads: chmod 0600" : "");
	else if ((n = read(fd, out, size - 1)) < 0)
		err_set(e, -errno, "%s %s cannot be read: %s", key, path, strerror(errno));
	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = 0;
	return e->code ? e->code : n;
}

static int read_token(struct http *h, const char *path, struct err *e)
{
	if (!path || read_named("http.token_file", path, true, h->token, sizeof(h->token), e) < 0)
		return e->code;
	h->token[strcspn(h->token, "\r\n")] = 0;
	if (strlen(h->token) < TOKEN_LEAST)
		return err_set(
			e, -EINVAL,
			"http.token_file %s wants a first line of %d to %d letters, such as `openssl rand -hex 32` prints",
			path, TOKEN_LEAST, TOKEN_MOST - 1);
	return 0;
}

static int read_tls(struct http *h, const struct daemon_config *c, struct err *e)
{
	if (!c->tls_cert)
		return 0;
	if (mhd->is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return err_set(e, -ENOSYS,
			       "this libmicrohttpd has no TLS: take http.tls_cert and tls_key away, listen on "
			       "127.0.0.1 and put a proxy before it");
	h->cert = malloc(PEM_MOST);
	h->key = malloc(PEM_MOST);
	if (!h->cert || !h->key)
		return err_set(e, -ENOMEM, "nothing is served: out of memory");
	if (read_named("http.tls_cert", c->tls_cert, false, h->cert, PEM_MOST, e) < 0 ||
	    read_named("http.tls_key", c->tls_key, true, h->key, PEM_MOST, e) < 0)
		return e->code;
	return 0;
}

static void http_free(struct http *h)
{
	if (h->key)
		explicit_bzero(h->key, PEM_MOST);
	explicit_bzero(h->token, sizeof(h->token));
	free(h->cert);
	free(h->key);
	free(h);
}

static const char *what_to_mend(int why)
{
	switch (why) {
	case EADDRINUSE:
		return "`ss -ltnp` tells which program has the port: end it, or give another http.listen and restart";
	case EADDRNOTAVAIL: return "that address is none of this machine's: give another http.listen and restart";
	case EACCES: return "ports below 1024 want CAP_NET_BIND_SERVICE: give another http.listen and restart";
	case 0: return "http.tls_cert and tls_key are none, or do not belong together: both as PEM";
	default: return "mend that, or give another http.listen and restart";
	}
}

static int start_serving(struct http *h, const struct sockaddr_storage *at, struct err *e)
{
	struct MHD_OptionItem more[4] = { { MHD_OPTION_END, 0, NULL } };
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, n = 0;

	if (at->ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	if (h->cert) {
		flags |= MHD_USE_TLS;
		more[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0, h->cert };
		more[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, h->key };
	}
	if (!h->loopback)
		more[n++] = (struct MHD_OptionItem){ MHD_OPTION_PER_IP_CONNECTION_LIMIT, PER_CLIENT, NULL };
	more[n] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
	errno = 0;
	h->mhd = mhd->start_daemon(flags, 0, NULL, NULL, take_request, h, MHD_OPTION_SOCK_ADDR,
				   (const struct sockaddr *)at, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
				   MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
				   MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)PATIENCE_S, MHD_OPTION_NOTIFY_COMPLETED,
				   request_done, h, MHD_OPTION_NOTIFY_CONNECTION, connection_changes, h,
				   MHD_OPTION_ARRAY, more, MHD_OPTION_END);
	if (!h->mhd)
		return err_set(e, -EADDRINUSE, "nothing is served: %s cannot be listened on: %s%s%s", h->d->c.listen,
			       errno ? strerror(errno) : "", errno ? "; " : "", what_to_mend(errno));
	return 0;
}

struct http *http_open(struct daemon *d, struct err *e)
{
	struct sockaddr_storage at;
	struct http *h;

	if (!strcmp(d->c.listen, "none") || !(mhd = http_library(e)))
		return NULL;
	h = calloc(1, sizeof(*h));
	if (!h || !config_address(d->c.listen, &at, &h->loopback)) {
		err_set(e, -ENOMEM, "nothing is served: out of memory");
		free(h);
		return NULL;
	}
	h->d = d;
	h->credit = SAVED_MOST_S;
	h->earned = clock_now();
	for (unsigned k = 0; k < CONNECTIONS; k++)
		h->peers[k].fd = -1;
	if (read_token(h, d->c.token_file, e) || read_tls(h, &d->c, e) || start_serving(h, &at, e)) {
		http_free(h);
		return NULL;
	}
	return h;
}

static bool same_pem(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

int http_renew(struct daemon *d, struct err *e)
{
	struct http *next = calloc(1, sizeof(*next)), *h = d->http;
	bool same;

	if (!next)
		return err_set(e, -ENOMEM, "out of memory");
	if (!read_token(next, d->c.token_file, e))
		read_tls(next, &d->c, e);
	same = same_pem(next->cert, h->cert) && same_pem(next->key, h->key);
	if (!e->code && same)
		memcpy(h->token, next->token, sizeof(h->token));
	http_free(next);
	if (e->code || same)
		return e->code;
	http_close(h); /* the library takes a certificate at its start alone */
	d->http = http_open(d, e);
	return e->code;
}

int http_check(const struct daemon_config *c, struct err *e)
{
	struct http *h;

	if (!strcmp(c->listen, "none") || !(mhd = http_library(e)))
		return e->code;
	h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	if (!read_token(h, c->token_file, e))
		read_tls(h, c, e);
	http_free(h);
	return e->code;
}

int http_fd(const struct http *h)
{
	const union MHD_DaemonInfo *i =
		h && h->credit >= 0 ? mhd->get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD) : NULL;

	return i ? i->epoll_fd : -1;
}

static double http_earns(const struct http *h)
{
	return PART * h->d->c.budget * h->d->cpus;
}

void http_run(struct http *h)
{
	uint64_t now = clock_now();

	if (!h)
		return;
	h->credit += http_earns(h) * (double)(now - h->earned) / 1e9;
	h->earned = now;
	if (h->credit > SAVED_MOST_S)
		h->credit = SAVED_MOST_S;
	if (h->credit < 0)
		return;
	end_slow_peers(h, now);
	run_library(h);
}

uint64_t http_wait_ns(const struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (h && h->credit < 0)
		return (uint64_t)(-h->credit / http_earns(h) * 1e9) + 1;
	return h && mhd->get_timeout(h->mhd, &ms) == MHD_YES ? (uint64_t)ms * 1000000 : UINT64_MAX;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < ANSWERS; i++)
		if (h->kept[i].response)
			mhd->destroy_response(h->kept[i].response);
	for (unsigned i = 0; i < h->waiting_count; i++)
		mhd->resume_connection(h->waiting[i]->connection);
	h->waiting_count = 0;
	mhd->stop_daemon(h->mhd);
	http_free(h);
}
