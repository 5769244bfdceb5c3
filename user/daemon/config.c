// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/config.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "daemon/clickhouse.h"
#include "util/clean.h"
#include "util/grow.h"
#include "util/suggest.h"

#define MOST_ERRORS 20   /* told of one file: a screenful */
#define MOST_SERVICES 64 /* of one server, a process each; by hand */
#define MOST_ITEMS 64    /* of one list; by hand */
#define MOST_TEXT 1000   /* bytes of one text; by hand */
#define MOST_NAME 40     /* of a service: it is a folder's name */
#define MOST_DEPTH 200   /* of brackets: three are enough, and libyaml takes minutes for 200,000; by hand */

enum key_type {
	KEY_TEXT,
	KEY_FOLDER,
	KEY_TIME,
	KEY_SIZE,
	KEY_SHARE,
	KEY_NUMBER,
	KEY_CHOICE,
	KEY_LIST,
	KEY_PIDS,
	KEY_ADDRESS,
	KEY_SERVER,
	KEY_URL
};

struct config_key {
	const char *section; /* of the file; "": of a service */
	const char *name;
	enum key_type type;
	size_t offset;
	const char *standard; /* as it is written; NULL: none */
	double least, most;
	const char *choices, *help;
};

#define C(field) offsetof(struct daemon_config, field)
#define S(field) offsetof(struct config_service, field)
#define YEAR 31622400.0      /* seconds of 366 days */
#define TERA 1099511627776.0 /* bytes: 2^40 */
static const struct config_key keys[] = {
	{ "storage", "folder", KEY_FOLDER, C(folder), "/var/lib/accperf", 0, 0, NULL,
	  "where profiles are kept, a folder for each service; the daemon removes old ones, and nothing else there" },
	{ "storage", "segment_time", KEY_TIME, C(segment_time), "10m", 1, 86400, NULL,
	  "a profile ends after so long, and the next begins" },
	{ "storage", "segment_size", KEY_SIZE, C(segment_size), "16M", 65536, TERA, NULL,
	  "and earlier when it is about so large" },
	{ "storage", "keep_age", KEY_TIME, C(keep_age), "7d", 1, 10 * YEAR, NULL,
	  "profiles older than that are removed" },
	{ "storage", "keep_size", KEY_SIZE, C(keep_size), "1G", 65536, 1024 * TERA, NULL,
	  "the oldest are removed where all together take more" },
	{ "storage", "reserve", KEY_SIZE, C(reserve), "1G", 0, 1024 * TERA, NULL,
	  "free space of the file system that is left alone: the oldest go first, then recording rests" },
	{ "limits", "budget", KEY_SHARE, C(budget), "1%", 0.0001, 1, NULL,
	  "what all of it may take of all CPUs: the daemon, its recorders, and what the watched processes lose" },
	{ "limits", "memory", KEY_SIZE, C(memory), "64M", 33554432, TERA, NULL,
	  "what the daemon, its recorders and what reads profiles for it may hold, rings and maps in the kernel included; above it "
	  "the largest of them ends" },
	{ "limits", "daily", KEY_SIZE, C(daily), "47M", 65536, TERA, NULL,
	  "what profiles of a day may take on disk; a service that has written its part is recorded by turns" },
	{ "limits", "scan", KEY_TIME, C(scan), "2s", 0.1, 60, NULL, "how often to look for new processes" },
	{ "http", "listen", KEY_ADDRESS, C(listen), "127.0.0.1:9417", 0, 0, NULL,
	  "where /healthz, /metrics, /profiles and what is asked of profiles are served: an address and a port, or none" },
	{ "http", "token_file", KEY_FOLDER, C(token_file), NULL, 0, 0, NULL,
	  "a file whose first line, of 16 letters at least, a request must bring (Authorization: Bearer ...); without one only "
	  "/healthz and /metrics are served, and on loopback alone" },
	{ "http", "tls_cert", KEY_FOLDER, C(tls_cert), NULL, 0, 0, NULL,
	  "a certificate, with those that it rests on, as PEM: then all is served by TLS; an address that other machines reach "
	  "wants it, and token_file" },
	{ "http", "tls_key", KEY_FOLDER, C(tls_key), NULL, 0, 0, NULL,
	  "the key of tls_cert, as PEM, for its owner alone" },
	{ "fleet", "clickhouse", KEY_SERVER, C(clickhouse), NULL, 0, 0, NULL,
	  "complete profiles are sent there, the oldest first, for `accperf fleet`: http://HOST:PORT or http://HOST:PORT/DATABASE; "
	  "what cannot be sent waits on disk" },
	{ "fleet", "user_file", KEY_FOLDER, C(clickhouse_user), NULL, 0, 0, NULL,
	  "a file of USER:PASSWORD for it, that only its owner reads" },
	{ "fleet", "otlp", KEY_URL, C(otlp), NULL, 0, 0, NULL,
	  "complete profiles are sent to this collector as OTLP profiles (v1development of opentelemetry-proto 1.11.0), in the "
	  "same way: http://HOST:PORT, or with another path than /v1development/profiles" },
	{ "fleet", "pyroscope", KEY_URL, C(pyroscope), NULL, 0, 0, NULL,
	  "and as pprof to this server, as Pyroscope takes it: http://HOST:PORT, or with another path than /ingest" },
	{ "fleet", "remote_write", KEY_URL, C(remote_write), NULL, 0, 0, NULL,
	  "what /metrics says is sent to this server by Prometheus' remote write: http://HOST:PORT, or with another path than "
	  "/api/v1/write; what cannot be sent waits on disk, a day of it and 32 MB at most" },
	{ "fleet", "remote_write_every", KEY_TIME, C(remote_write_every), "60s", 1, 3600, NULL, "so often" },
	{ "", "pid", KEY_PIDS, S(pids), NULL, 1, 4194304, NULL, "numbers of processes" },
	{ "", "name", KEY_LIST, S(names), NULL, 0, 0, NULL,
	  "names of processes as ps shows them, or of their programs' files; * and ? stand for any text, any letter" },
	{ "", "cgroup", KEY_LIST, S(cgroups), NULL, 0, 0, NULL,
	  "control groups, as /proc/PID/cgroup has them after its last colon; * stands for any text, / included" },
	{ "", "unit", KEY_LIST, S(units), NULL, 0, 0, NULL, "systemd's units that processes are in; patterns" },
	{ "", "container", KEY_LIST, S(containers), NULL, 0, 0, NULL,
	  "ids of containers (docker, containerd, CRI-O, podman; names, of LXC), from their control groups; patterns" },
	{ "", "pod", KEY_LIST, S(pods), NULL, 0, 0, NULL,
	  "pods of Kubernetes, NAMESPACE/NAME by the folders in /var/log/pods, or their uids; patterns" },
	{ "", "min_age", KEY_TIME, S(min_age), "10s", 0, 86400, NULL,
	  "processes that live for less are not recorded, unless their parents are" },
	{ "", "weight", KEY_NUMBER, S(weight), "1", 0.01, 100, NULL,
	  "the budget, and the bytes of a day, are split by that over the services that run" },
	{ "", "samples", KEY_NUMBER, S(samples), "0", 0, 1e9, NULL,
	  "so many samples an hour are aimed at: a service that gives more is recorded by turns; 0: no target" },
	{ "", "effort", KEY_CHOICE, S(effort), "low", 0, 0, "low|default|high",
	  "what its processes may lose while they are recorded: 0.5, 1 or 5 % of their time" },
	{ "", "what", KEY_CHOICE, S(what), "all", 0, 0, "all|time",
	  "time: stacks alone, which costs a third; all: accesses, waits and counts, too" },
	{ "", "offload", KEY_TEXT, S(offload), "auto", 0, 0, NULL,
	  "calls of these libraries are recorded: auto, none, or some of those that `accperf record --offload help` lists" },
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static const char *const sections[][2] = {
	{ "storage", "Profiles on disk" },
	{ "limits", "What it may cost" },
	{ "http", "What is served" },
	{ "fleet", "Where profiles of many hosts come together" },
	{ "services",
	  "What is recorded: a name each, with pid, name, cgroup, unit, container or pod, all of which have to agree" },
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

struct config_reading {
	yaml_document_t doc;
	struct buf *errors;
	unsigned count;
	yaml_mark_t listen_at;
};

static void complain(struct config_reading *r, yaml_mark_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void complain(struct config_reading *r, yaml_mark_t at, const char *fmt, ...)
{
	AUTO_BUF(clean);
	char text[500];
	va_list ap;

	if (++r->count > MOST_ERRORS)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clean_add(&clean, text, CLEAN_TEXT);
	buf_addf(r->errors, "%zu:%zu: %s\n", at.line + 1, at.column + 1, clean.data ? clean.data : "out of memory");
}

/* ---- values */

static const struct {
	const char *text;
	double factor;
} time_units[] = { { "ms", 0.001 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } },
  size_units[] = { { "", 1 }, { "K", 1024 }, { "M", 1048576 }, { "G", 1073741824 }, { "T", TERA } },
  plain_units[] = { { "", 1 } }, share_units[] = { { "%", 0.01 } };

/* NaN: not a number with one of the type's units. */
static double number_with_unit(const char *text, enum key_type type)
{
	size_t n = type == KEY_TIME   ? sizeof(time_units) / sizeof(time_units[0])
		   : type == KEY_SIZE ? sizeof(size_units) / sizeof(size_units[0])
				      : 1;
	char *end;
	double v;

	if (strspn(text, "0123456789.") == 0)
		return NAN;
	v = strtod(text, &end);
	for (size_t i = 0; i < n; i++) {
		const char *unit = type == KEY_TIME    ? time_units[i].text
				   : type == KEY_SIZE  ? size_units[i].text
				   : type == KEY_SHARE ? share_units[i].text
						       : plain_units[i].text;
		double factor = type == KEY_TIME    ? time_units[i].factor
				: type == KEY_SIZE  ? size_units[i].factor
				: type == KEY_SHARE ? share_units[i].factor
						    : 1;

		if (!strcmp(end, unit))
			return v * factor;
	}
	return NAN;
}

static const char *form_of(enum key_type type)
{
	return type == KEY_TIME    ? "a time such as 500ms, 90s, 10m, 1h or 7d"
	       : type == KEY_SIZE  ? "a size such as 64K, 16M or 1G"
	       : type == KEY_SHARE ? "a share such as 0.5% or 1%"
				   : "a number";
}

/* How a limit is written. */
static void spell(double v, enum key_type type, char *out, size_t size)
{
	static const char letters[] = "KMGT";
	int i = -1;

	if (type == KEY_SIZE) {
		for (; i < 3 && v >= 1024; i++)
			v /= 1024;
		snprintf(out, size, i < 0 ? "%.0f" : "%.0f%c", v, i < 0 ? 0 : letters[i]);
	} else if (type == KEY_TIME) {
		snprintf(out, size, v >= 86400 ? "%gd" : "%gs", v >= 86400 ? v / 86400 : v);
	} else {
		snprintf(out, size, type == KEY_SHARE ? "%g%%" : "%g", type == KEY_SHARE ? v * 100 : v);
	}
}

static bool is_choice(const char *choices, const char *text)
{
	size_t n = strlen(text);

	for (const char *at = choices; n && at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
		if (!strncmp(at, text, n) && (at[n] == '|' || !at[n]))
			return true;
	return false;
}

bool config_address(const char *text, struct sockaddr_storage *at, bool *loopback)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)at;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)at;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t n = colon ? (size_t)(colon - text) : sizeof(host);
	unsigned long port;

	if (n >= sizeof(host) || !colon[1] || strlen(colon + 1) > 5 || colon[1 + strspn(colon + 1, "0123456789")])
		return false;
	port = strtoul(colon + 1, NULL, 10);
	if (port > 65535)
		return false;
	memcpy(host, text, n);
	host[n] = 0;
	memset(at, 0, sizeof(*at));
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
		return true;
	}
	if (n < 3 || host[0] != '[' || host[n - 1] != ']')
		return false;
	host[n - 1] = 0;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	*loopback = inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return *loopback || inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1;
}

static void take_number(struct config_reading *r, const struct config_key *k, yaml_mark_t at, const char *text,
			void *into)
{
	double v = number_with_unit(text, k->type);
	char least[40], most[40];

	if (isnan(v)) {
		complain(r, at, "%s wants %s, not '%.60s'", k->name, form_of(k->type), text);
	} else if (v < k->least || v > k->most) {
		spell(k->least, k->type, least, sizeof(least));
		spell(k->most, k->type, most, sizeof(most));
		complain(r, at, "%s must lie between %s and %s, and '%.60s' does not", k->name, least, most, text);
	} else if (k->type == KEY_SIZE) {
		*(uint64_t *)into = (uint64_t)v;
	} else {
		*(double *)into = v;
	}
}

static void take_text(struct config_reading *r, const struct config_key *k, yaml_mark_t at, const char *text,
		      void *into)
{
	struct sockaddr_storage address;
	struct clickhouse server;
	struct post_server url = { .what = k->name };
	struct err e = { 0 };
	char **where = into;
	bool loopback;

	if (k->type == KEY_ADDRESS)
		r->listen_at = at;
	if (!*text || strlen(text) > MOST_TEXT)
		complain(r, at, "%s wants a text of 1 to %d bytes", k->name, MOST_TEXT);
	else if (k->type == KEY_FOLDER && *text != '/')
		complain(r, at, "%s wants a whole path, which begins with /, not '%.60s'", k->name, text);
	else if (k->type == KEY_CHOICE && !is_choice(k->choices, text))
		complain(r, at, "%s must be one of %s, not '%.60s'", k->name, k->choices, text);
	else if (k->type == KEY_ADDRESS && strcmp(text, "none") && !config_address(text, &address, &loopback))
		complain(r, at,
			 "%s wants an address and a port such as 127.0.0.1:9417 or [::1]:9417, or none; not '%.60s'",
			 k->name, text);
	else if (k->type == KEY_SERVER && clickhouse_read(&server, text, NULL, &e))
		complain(r, at, "%s wants http://HOST:PORT or http://HOST:PORT/DATABASE, not '%.60s'", k->name, text);
	else if (k->type == KEY_URL && post_read(&url, text))
		complain(r, at, "%s wants http://HOST:PORT or http://HOST:PORT/PATH, not '%.60s'", k->name, text);
	else if (*where || !(*where = strdup(text)))
		complain(r, at, "out of memory");
}

static void take_item(struct config_reading *r, const struct config_key *k, const yaml_node_t *n,
		      struct config_list *list)
{
	const char *text = n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : "";
	double pid = k->type == KEY_PIDS ? number_with_unit(text, KEY_NUMBER) : 1;
	char *copy;

	if (n->type != YAML_SCALAR_NODE || !*text || strlen(text) > MOST_TEXT)
		complain(r, n->start_mark, "%s wants a text of 1 to %d bytes, or a list of such", k->name, MOST_TEXT);
	else if (!(pid >= 1 && pid <= 4194304 && floor(pid) == pid))
		complain(r, n->start_mark, "%s wants the number of a process, not '%.60s'", k->name, text);
	else if (list->count >= MOST_ITEMS)
		complain(r, n->start_mark, "%s takes %d at most; a pattern takes many", k->name, MOST_ITEMS);
	else if (!(copy = strdup(text)) || !GROW_ONE(list->items, list->count))
		complain(r, n->start_mark, "out of memory"), free(copy);
	else
		list->items[list->count++] = copy;
}

static bool is_text(enum key_type t)
{
	return t == KEY_TEXT || t == KEY_FOLDER || t == KEY_CHOICE || t == KEY_ADDRESS || t == KEY_SERVER ||
	       t == KEY_URL;
}

static void take_value(struct config_reading *r, const struct config_key *k, const yaml_node_t *n, void *base)
{
	void *into = (char *)base + k->offset;

	if (k->type == KEY_LIST || k->type == KEY_PIDS) {
		if (n->type != YAML_SEQUENCE_NODE) {
			take_item(r, k, n, into);
			return;
		}
		for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++)
			take_item(r, k, yaml_document_get_node(&r->doc, *i), into);
		if (n->data.sequence.items.start == n->data.sequence.items.top)
			complain(r, n->start_mark, "%s wants at least one", k->name);
	} else if (n->type != YAML_SCALAR_NODE) {
		complain(r, n->start_mark, "%s wants one value, no list and no further keys", k->name);
	} else if (is_text(k->type)) {
		take_text(r, k, n->start_mark, (const char *)n->data.scalar.value, into);
	} else {
		take_number(r, k, n->start_mark, (const char *)n->data.scalar.value, into);
	}
}

/* ---- keys */

static const char *key_text(struct config_reading *r, const yaml_node_t *n)
{
	if (n->type == YAML_SCALAR_NODE && n->data.scalar.length == strlen((const char *)n->data.scalar.value))
		return (const char *)n->data.scalar.value;
	complain(r, n->start_mark, "a key is one word");
	return NULL;
}

static void unknown_key(struct config_reading *r, yaml_mark_t at, const char *name, const char *where,
			struct suggestion *s)
{
	if (s->name)
		complain(r, at, "there is no key '%.60s' in %s; did you mean '%s'?", name, where, s->name);
	else
		complain(r, at, "there is no key '%.60s' in %s; `accperf daemon --example` prints all that there are",
			 name, where);
}

/* Those of one section, or of one service; what is not given has its default. */
static void take_section_keys(struct config_reading *r, const yaml_node_t *map, const char *section, const char *where,
			      void *base)
{
	bool given[KEYS] = { false };

	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *kn = yaml_document_get_node(&r->doc, p->key);
		const char *name = key_text(r, kn);
		struct suggestion s = { 0 };
		size_t i;

		for (i = 0; name && i < KEYS; i++) {
			if (strcmp(keys[i].section, section))
				continue;
			if (!strcmp(keys[i].name, name))
				break;
			suggest(&s, name, strlen(name), keys[i].name);
		}
		if (!name)
			continue;
		if (i == KEYS) {
			unknown_key(r, kn->start_mark, name, where, &s);
		} else if (given[i]) {
			complain(r, kn->start_mark, "%s is there twice in %s", name, where);
		} else {
			given[i] = true;
			take_value(r, &keys[i], yaml_document_get_node(&r->doc, p->value), base);
		}
	}
	for (size_t i = 0; i < KEYS; i++) {
		yaml_mark_t none = { 0 };

		if (given[i] || strcmp(keys[i].section, section) || !keys[i].standard)
			continue;
		if (is_text(keys[i].type))
			take_text(r, &keys[i], none, keys[i].standard, (char *)base + keys[i].offset);
		else
			take_number(r, &keys[i], none, keys[i].standard, (char *)base + keys[i].offset);
	}
}

static bool good_name(const char *s)
{
	return strlen(s) <= MOST_NAME && *s && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == 0 && *s != '-';
}

static void take_service(struct config_reading *r, const yaml_node_t *kn, const yaml_node_t *n, struct daemon_config *c)
{
	const char *name = key_text(r, kn);
	struct config_service *s;
	char where[MOST_NAME + 20];

	if (!name)
		return;
	if (!good_name(name)) {
		complain(r, kn->start_mark,
			 "a service's name is a folder's: 1 to %d of a-z, 0-9, _ and -, which '%.60s' is not",
			 MOST_NAME, name);
		return;
	}
	for (size_t i = 0; i < c->service_count; i++)
		if (!strcmp(c->services[i].name, name)) {
			complain(r, kn->start_mark, "service '%s' is there twice", name);
			return;
		}
	if (n->type != YAML_MAPPING_NODE) {
		complain(r, n->start_mark,
			 "service '%s' wants keys: pid, name, cgroup, unit, container or pod at least", name);
		return;
	}
	if (c->service_count >= MOST_SERVICES || !GROW_ONE(c->services, c->service_count)) {
		complain(r, kn->start_mark, "%d services at most; patterns take many processes into one",
			 MOST_SERVICES);
		return;
	}
	s = &c->services[c->service_count++];
	*s = (struct config_service){ .name = strdup(name) };
	snprintf(where, sizeof(where), "service '%s'", name);
	take_section_keys(r, n, "", where, s);
	if (!s->pids.count && !s->names.count && !s->cgroups.count && !s->units.count && !s->containers.count &&
	    !s->pods.count)
		complain(
			r, kn->start_mark,
			"service '%s' says of no process that it is its: pid, name, cgroup, unit, container or pod does",
			name);
}

static void take_section(struct config_reading *r, const yaml_node_t *n, size_t which, struct daemon_config *c)
{
	const char *name = sections[which][0];

	static const yaml_node_t empty = { .type = YAML_MAPPING_NODE };

	/* all its keys are comments, as in the example */
	if (strcmp(name, "services") && n->type == YAML_SCALAR_NODE && !n->data.scalar.length)
		n = &empty;
	if (n->type != YAML_MAPPING_NODE) {
		complain(r, n->start_mark, "%s wants keys, one a line and further to the right", name);
		return;
	}
	if (strcmp(name, "services")) {
		take_section_keys(r, n, name, name, c);
		return;
	}
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++)
		take_service(r, yaml_document_get_node(&r->doc, p->key), yaml_document_get_node(&r->doc, p->value), c);
}

static void take_sections(struct config_reading *r, const yaml_node_t *root, struct daemon_config *c)
{
	static const yaml_node_t empty = { .type = YAML_MAPPING_NODE };
	bool given[SECTIONS] = { false }, loopback;
	struct sockaddr_storage address;

	if (root->type != YAML_MAPPING_NODE) {
		complain(r, root->start_mark, "this is no list of keys: it wants sections such as 'services:'");
		return;
	}
	for (yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++) {
		const yaml_node_t *kn = yaml_document_get_node(&r->doc, p->key);
		const char *name = key_text(r, kn);
		struct suggestion s = { 0 };
		size_t i = 0;

		for (; name && i < SECTIONS && strcmp(sections[i][0], name); i++)
			suggest(&s, name, strlen(name), sections[i][0]);
		if (!name)
			continue;
		if (i == SECTIONS) {
			unknown_key(r, kn->start_mark, name, "the file", &s);
		} else if (given[i]) {
			complain(r, kn->start_mark, "%s is there twice", name);
		} else {
			given[i] = true;
			take_section(r, yaml_document_get_node(&r->doc, p->value), i, c);
		}
	}
	for (size_t i = 0; i < SECTIONS; i++)
		if (!given[i] && strcmp(sections[i][0], "services"))
			take_section_keys(r, &empty, sections[i][0], sections[i][0], c);
	if (!r->count && !c->service_count)
		complain(r, root->start_mark, "no service: say what is recorded, in 'services:'");
	if (!r->count && !c->tls_cert != !c->tls_key)
		complain(r, root->start_mark, "http.tls_cert and http.tls_key go together, and one of them is missing");
	if (!r->count && strcmp(c->listen, "none") && config_address(c->listen, &address, &loopback) && !loopback &&
	    !(c->token_file && c->tls_cert))
		complain(
			r, r->listen_at,
			"other machines reach %s: that wants http.token_file, tls_cert and tls_key, or listen on 127.0.0.1 and put a "
			"proxy before it",
			c->listen);
	if (!r->count && c->clickhouse_user && !c->clickhouse)
		complain(r, root->start_mark, "fleet.user_file is for fleet.clickhouse, which is missing");
	if (!r->count && c->segment_size > c->keep_size)
		complain(r, root->start_mark, "segment_size must not exceed keep_size: nothing would be kept");
}

/* Whatever stands behind the first document would not be looked at. */
static void refuse_more(struct config_reading *r, yaml_parser_t *p)
{
	const yaml_node_t *root;

	if (!yaml_parser_load(p, &r->doc)) {
		complain(r, p->problem_mark, "this is not YAML: %s", p->problem ? p->problem : "unreadable");
		return;
	}
	root = yaml_document_get_root_node(&r->doc);
	if (root)
		complain(r, root->start_mark, "a second document (after `---`): all belongs into one");
	yaml_document_delete(&r->doc);
}

/* All brackets count, those of texts and comments as well: those close again. */
static bool nests_deep(const char *text, size_t len, yaml_mark_t *at)
{
	unsigned depth = 0;

	*at = (yaml_mark_t){ 0 };
	for (; at->index < len; at->index++) {
		char c = text[at->index];

		if ((c == '[' || c == '{') && ++depth > MOST_DEPTH)
			return true;
		if ((c == ']' || c == '}') && depth)
			depth--;
		at->column = c == '\n' ? 0 : at->column + 1;
		at->line += c == '\n';
	}
	return false;
}

unsigned config_parse(const char *text, size_t len, struct daemon_config *c, struct buf *errors)
{
	struct config_reading r = { .errors = errors };
	yaml_parser_t p;
	yaml_node_t *root;
	yaml_mark_t at;

	*c = (struct daemon_config){ 0 };
	if (nests_deep(text, len, &at)) {
		complain(&r, at, "brackets are %d deep here, and none closes: keys and lists are three deep at most",
			 MOST_DEPTH);
		return r.count;
	}
	if (!yaml_parser_initialize(&p)) {
		complain(&r, (yaml_mark_t){ 0 }, "out of memory");
		return r.count;
	}
	yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
	if (!yaml_parser_load(&p, &r.doc)) {
		if (p.problem_mark.index < len && text[p.problem_mark.index] == '\t')
			complain(&r, p.problem_mark, "this is not YAML: a tab, where it wants spaces");
		else
			complain(&r, p.problem_mark, "this is not YAML: %s%s%s", p.problem ? p.problem : "unreadable",
				 p.context ? ", " : "", p.context ? p.context : "");
		yaml_parser_delete(&p);
		return r.count;
	}
	root = yaml_document_get_root_node(&r.doc);
	if (root)
		take_sections(&r, root, c);
	else
		complain(&r, (yaml_mark_t){ 0 }, "the file is empty: say what is recorded, in 'services:'");
	yaml_document_delete(&r.doc);
	if (!r.count)
		refuse_more(&r, &p);
	yaml_parser_delete(&p);
	if (r.count > MOST_ERRORS)
		buf_addf(errors, "and %u more\n", r.count - MOST_ERRORS);
	if (r.count)
		config_release(c);
	return r.count;
}

/* ---- lifetime, comparison */

static void release_list(struct config_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i]);
	free(l->items);
}

void config_release(struct daemon_config *c)
{
	for (size_t i = 0; i < c->service_count; i++) {
		struct config_service *s = &c->services[i];

		release_list(&s->pids);
		release_list(&s->names);
		release_list(&s->cgroups);
		release_list(&s->units);
		release_list(&s->containers);
		release_list(&s->pods);
		free(s->name);
		free(s->effort);
		free(s->what);
		free(s->offload);
	}
	free(c->services);
	free(c->folder);
	free(c->listen);
	free(c->token_file);
	free(c->tls_cert);
	free(c->tls_key);
	free(c->clickhouse);
	free(c->clickhouse_user);
	free(c->otlp);
	free(c->pyroscope);
	free(c->remote_write);
	*c = (struct daemon_config){ 0 };
}

static bool same_list(const struct config_list *a, const struct config_list *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = !strcmp(a->items[i], b->items[i]);
	return same;
}

bool config_same_service(const struct config_service *a, const struct config_service *b)
{
	return !strcmp(a->name, b->name) && same_list(&a->pids, &b->pids) && same_list(&a->names, &b->names) &&
	       same_list(&a->cgroups, &b->cgroups) && same_list(&a->units, &b->units) &&
	       same_list(&a->containers, &b->containers) && same_list(&a->pods, &b->pods) && a->samples == b->samples &&
	       a->min_age == b->min_age && a->weight == b->weight && !strcmp(a->effort, b->effort) &&
	       !strcmp(a->what, b->what) && !strcmp(a->offload, b->offload);
}

/* ---- documentation */

static const char *example_of(const struct config_key *k)
{
	static const struct {
		const char *section, *name, *text;
	} rows[] = {
		{ "http", "token_file", "/etc/accperf/token" },
		{ "http", "tls_cert", "/etc/accperf/tls.crt" },
		{ "http", "tls_key", "/etc/accperf/tls.key" },
		{ "fleet", "clickhouse", "http://127.0.0.1:8123/accperf" },
		{ "fleet", "user_file", "/etc/accperf/clickhouse" },
		{ "fleet", "otlp", "http://127.0.0.1:4318" },
		{ "fleet", "pyroscope", "http://127.0.0.1:4040" },
		{ "fleet", "remote_write", "http://127.0.0.1:9090" },
		{ "", "pid", "[1234, 5678]" },
		{ "", "cgroup", "\"/system.slice/nginx.service\"" },
		{ "", "unit", "nginx.service" },
		{ "", "container", "\"3f2a*\"" },
		{ "", "pod", "\"shop/cart-*\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].section, k->section) && !strcmp(rows[i].name, k->name))
			return rows[i].text;
	return "nginx";
}

static void example_key(const struct config_key *k, const char *indent, struct buf *out)
{
	bool needed = k->offset == S(names) && !*k->section; /* of those without a default */

	buf_addf(out, "%s# %s%s%s%s\n", indent, k->help, k->choices ? " (" : "", k->choices ? k->choices : "",
		 k->choices ? ")" : "");
	buf_addf(out, "%s%s%s: %s\n", indent, k->standard || needed ? "" : "# ", k->name,
		 k->standard ? k->standard : example_of(k));
}

void config_example(struct buf *out)
{
	buf_addstr(out,
		   "# Configuration of `accperf daemon`; `accperf daemon --check --config FILE` looks it through.\n");
	for (size_t s = 0; s < SECTIONS; s++) {
		bool services = !strcmp(sections[s][0], "services");

		buf_addf(out, "\n# %s\n%s:\n%s", sections[s][1], sections[s][0], services ? "  web:\n" : "");
		for (size_t i = 0; i < KEYS; i++)
			if (!strcmp(keys[i].section, services ? "" : sections[s][0]))
				example_key(&keys[i], services ? "    " : "  ", out);
	}
}

static void manual_text(const char *s, struct buf *out)
{
	for (; *s; s++) {
		if (*s == '-' || *s == '\\')
			buf_addch(out, '\\');
		buf_addch(out, *s == '\\' ? 'e' : *s);
	}
}

void config_manual(struct buf *out)
{
	for (size_t s = 0; s < SECTIONS; s++) {
		bool services = !strcmp(sections[s][0], "services");

		buf_addf(out, ".SH %s\n%s.\n", sections[s][0], sections[s][1]);
		for (size_t i = 0; i < KEYS; i++) {
			const struct config_key *k = &keys[i];

			if (strcmp(k->section, services ? "" : sections[s][0]))
				continue;
			buf_addf(out, ".TP\n.B %s\n", k->name);
			manual_text(k->help, out);
			if (k->choices)
				buf_addf(out, ". One of %s", k->choices);
			if (k->standard)
				buf_addf(out, ". Default: %s", k->standard);
			buf_addstr(out, ".\n");
		}
	}
}
