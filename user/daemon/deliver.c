// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/fleet.h"
#include "daemon/remote_write.h"
#include "profile/profile.h"
#include "util/clean.h"
#include "util/labels.h"
#include "util/openfile.h"

#define FIGURES_MOST (16u << 20)            /* bytes of a text of /metrics: 64 services have a tenth of it */
#define BOUNDARY "accperf-profile-7f3a91c2" /* stands in no JSON of ours; a gzip file has it by no chance */

int deliver_read(struct deliver *d, enum deliver_to to, const char *url, struct err *e)
{
	static const char *const what[] = { "the collector", "the server of profiles", "the server of figures" };
	static const char *const usual[] = { "/v1development/profiles", "/ingest", "/api/v1/write" };
	static const char *const option[] = { "otlp", "pyroscope", "remote-write" };

	*d = (struct deliver){ .to = to, .server.what = what[to] };
	if (post_read(&d->server, url))
		return err_set(e, -EINVAL, "--%s wants http://HOST:PORT or http://HOST:PORT/PATH, not '%.60s'",
			       option[to], url);
	if (!*d->server.path)
		snprintf(d->server.path, sizeof(d->server.path), "%s", usual[to]);
	return 0;
}

/* ---- answers */

static uint64_t next_varint(const unsigned char **at, const unsigned char *end)
{
	uint64_t v = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		unsigned char c = *(*at)++;

		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			break;
	}
	return v;
}

/* ExportProfilesServiceResponse: partial_success = 1 { rejected_profiles = 1, error_message = 2 }. */
bool deliver_rejected(const char *body, size_t len, char why[200])
{
	const unsigned char *at = (const unsigned char *)body, *end = at + len;
	bool rejected = false;

	*why = 0;
	while (at < end) {
		uint64_t tag = next_varint(&at, end), n = next_varint(&at, end);

		if (tag == (1 << 3 | 2)) /* what it holds follows */
			continue;
		if (tag == (1 << 3 | 0))
			rejected = n;
		if ((tag & 7) != 2)
			continue;
		n = n < (uint64_t)(end - at) ? n : (uint64_t)(end - at);
		if (tag == (2 << 3 | 2))
			snprintf(why, 200, "%.*s", (int)(n < 199 ? n : 199), (const char *)at);
		at += n;
	}
	return rejected;
}

static int judge_answer(const struct deliver *d, const struct post_answer *a, struct err *e)
{
	unsigned status = a->status;
	char why[200];
	AUTO_BUF(clean);

	if (status == 200 || status == 202 || status == 204) {
		if (d->to != DELIVER_OTLP || !deliver_rejected(a->body, a->len, why))
			return 0;
		clean_add(&clean, why, CLEAN_TEXT);
		return err_set(e, -EINVAL, "the collector left it out: %s", clean.data ? clean.data : "");
	}
	clean_add(&clean, status ? a->body : "this is no answer of HTTP", CLEAN_TEXT);
	/* 400, 413, 422: what is wrong is the profile, and it will not get better; all else is to be mended */
	return err_set(e, status == 400 || status == 413 || status == 422 ? -EINVAL : post_code(status),
		       "%s on %s:%s answers %u: %.300s", d->server.what, d->server.host, d->server.port, status,
		       clean.data ? clean.data : "");
}

static int ask_and_judge(const struct deliver *d, const struct post_request *r, struct err *e)
{
	struct post_answer a;

	if (!post_ask(r, &a, e))
		judge_answer(d, &a, e);
	post_release(&a);
	return e->code;
}

/* ---- OTLP */

static int send_otlp(const struct deliver *d, const struct fleet_segment *s, const char *path, struct err *e)
{
	const char *const otlp[] = {
		"accperf", "export", "--otlp", "--service", s->service, "-i", path, "-o", "-", NULL
	};
	AUTO_BUF(body);
	const struct buf *piece = &body;
	const struct post_request r = { &d->server, d->server.path, "Content-Type: application/x-protobuf\r\n", &piece,
					1 };

	if (fleet_read_by(otlp, &body, e))
		return e->code;
	body.len--; /* the NUL */
	return ask_and_judge(d, &r, e);
}

/* ---- pprof, as Pyroscope takes it */

static void label_word(const char *text, struct buf *out)
{
	for (; *text; text++)
		buf_addch(out, strchr("{},=\"&", *text) || (unsigned char)*text <= ' ' ? '_' : *text);
}

/* web{host=h1,pod=shop/cart} */
static void name_application(const struct fleet_segment *s, const char *labels, struct buf *out)
{
	char key[LABELS_MOST], value[LABELS_MOST];

	label_word(s->service, out);
	buf_addstr(out, "{host=");
	label_word(s->host, out);
	while (labels && (labels = labels_next(labels, key, value))) {
		if (!strcmp(key, "service") || !strcmp(key, "host") || !strcmp(key, LABELS_RESTED))
			continue;
		buf_addf(out, ",%s=", key);
		label_word(value, out);
	}
	buf_addch(out, '}');
}

static void begin_part(const char *name, const char *type, struct buf *out)
{
	buf_addf(out,
		 "\r\n--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
		 "Content-Type: %s\r\n\r\n",
		 name, name, type);
}

static int ingest_target(const struct deliver *d, const struct fleet_segment *s, const char *path, struct buf *target,
			 struct err *e)
{
	struct profile *p = profile_load_with(path, 0, NULL, 0, e);
	uint64_t from, seconds;
	AUTO_BUF(name);

	if (!p)
		return e->code == -ENOMEM ? e->code : (e->code = -EINVAL);
	name_application(s, profile_meta(p, META_LABELS), &name);
	seconds = p->duration_ns / 1000000000;
	from = p->start_realtime_ns ? p->start_realtime_ns / 1000000000 : (uint64_t)s->ended - seconds;
	buf_addf(target, "%s?name=", d->server.path);
	if (!buf_failed(&name))
		post_escape(name.data, target);
	buf_addf(target, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName=accperf", from,
		 from + (seconds ? seconds : 1));
	profile_free(p);
	return buf_failed(target) || buf_failed(&name) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int send_pprof(const struct deliver *d, const struct fleet_segment *s, const char *path, struct err *e)
{
	const char *const pprof[] = { "accperf", "export", "--pprof", "-i", path, "-o", "-", NULL };
	AUTO_BUF(target);
	AUTO_BUF(head);
	AUTO_BUF(profile);
	AUTO_BUF(tail);
	const struct buf *pieces[] = { &head, &profile, &tail };
	struct post_request r = { &d->server, NULL, "Content-Type: multipart/form-data; boundary=" BOUNDARY "\r\n",
				  pieces, 3 };

	if (ingest_target(d, s, path, &target, e) || fleet_read_by(pprof, &profile, e))
		return e->code;
	profile.len--; /* the NUL */
	begin_part("profile", "application/octet-stream", &head);
	begin_part("sample_type_config", "application/json", &tail);
	/* sample types that are not Pyroscope's own have to be told; counts of samples are of samples */
	buf_addstr(&tail, "{\"samples\":{\"units\":\"samples\",\"display-name\":\"samples\",\"sampled\":true},"
			  "\"cpu\":{\"units\":\"nanoseconds\",\"display-name\":\"cpu\"},"
			  "\"flow\":{\"units\":\"bytes\",\"display-name\":\"flow\"}}\r\n--" BOUNDARY "--\r\n");
	if (buf_failed(&head) || buf_failed(&tail))
		return err_set(e, -ENOMEM, "out of memory");
	r.target = target.data;
	return ask_and_judge(d, &r, e);
}

/* ---- figures, by remote write */

static int64_t told_at(const struct fleet_segment *s)
{
	return strspn(s->segment, "0123456789") == strlen(s->segment) && strlen(s->segment) < 16
		       ? strtoll(s->segment, NULL, 10)
		       : s->ended * 1000;
}

static int send_figures(const struct deliver *d, const struct fleet_segment *s, const char *path, struct err *e)
{
	struct stat st;
	int fd = openfile_regular(path, &st);
	AUTO_BUF(text);
	AUTO_BUF(body);
	const struct buf *piece = &body;
	const struct post_request r = { &d->server, d->server.path, REMOTE_WRITE_HEADERS, &piece, 1 };
	char part[65536];
	ssize_t n = -1;

	while (fd >= 0 && text.len < FIGURES_MOST && (n = read(fd, part, sizeof(part))) > 0)
		buf_add(&text, part, (size_t)n);
	if (fd >= 0)
		close(fd);
	buf_addch(&text, 0);
	if (n || buf_failed(&text))
		return err_set(e, -EINVAL, "it cannot be read, or is no text of /metrics");
	return remote_write_encode(text.data, s->host, told_at(s), &body, e) ? e->code : ask_and_judge(d, &r, e);
}

int deliver_profile(const struct deliver *d, const struct fleet_segment *s, const char *path, struct err *e)
{
	if (d->to == DELIVER_FIGURES)
		return send_figures(d, s, path, e);
	return d->to == DELIVER_OTLP ? send_otlp(d, s, path, e) : send_pprof(d, s, path, e);
}
