// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/query.h"
#include "util/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_S 9000000000ll      /* beyond any year that has four digits, and far below what ns hold */
#define LONGEST_S (31 * 86400ll) /* a month: what one answer may span; by hand */
#define USUAL_S 3600ll           /* the last hour, where no time is asked for; by hand */

static const struct {
	const char *path, *type, *file;
} rows[QUERIES] = {
	[QUERY_PAGE] = { "/report.html", "text/html; charset=utf-8", NULL },
	[QUERY_PPROF] = { "/pprof", "application/octet-stream", "profile.pb.gz" },
	[QUERY_FLOW] = { "/flow", "application/json", NULL },
	[QUERY_ADVISE] = { "/advise", "application/json", NULL },
	[QUERY_DIFF] = { "/diff", "application/json", NULL },
};

bool query_is(const char *path, enum query_kind *kind)
{
	for (unsigned i = 0; i < QUERIES; i++)
		if (!strcmp(path, rows[i].path)) {
			*kind = (enum query_kind)i;
			return true;
		}
	return false;
}

const char *query_type(enum query_kind kind)
{
	return rows[kind].type;
}

const char *query_file(enum query_kind kind)
{
	return rows[kind].file;
}

/* ---- times */

/* 90s, 10m, 2h, 7d */
static bool take_span(const char *text, int64_t *seconds)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t n = strspn(text, "0123456789");

	if (!n || n > 9 || !text[n] || text[n + 1])
		return false;
	for (unsigned i = 0; i < 4; i++)
		if (text[n] == units[i].unit) {
			*seconds = strtoll(text, NULL, 10) * units[i].seconds;
			return true;
		}
	return false;
}

/* form: 'd' a digit, all else itself; digits are put together. */
static bool take_form(const char *text, const char *form, char digits[15])
{
	size_t n = 0;

	for (; *form; form++, text++)
		if (*form != 'd') {
			if (*text != *form)
				return false;
		} else if (!isdigit((unsigned char)*text) || n == 14) {
			return false;
		} else {
			digits[n++] = *text;
		}
	digits[n] = 0;
	return !*text && n == 14;
}

static bool take_date(const char *text, int64_t *seconds)
{
	struct tm tm = { 0 }, back;
	char d[15];
	time_t t;

	if (!take_form(text, "dddd-dd-ddTdd:dd:ddZ", d) && !take_form(text, "ddddddddTddddddZ", d))
		return false;
	if (sscanf(d, "%4d%2d%2d%2d%2d%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		   &tm.tm_sec) != 6)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	back = tm;
	t = timegm(&back);
	*seconds = (int64_t)t;
	/* the 31st of February is none */
	return back.tm_mon == tm.tm_mon && back.tm_mday == tm.tm_mday && back.tm_hour == tm.tm_hour &&
	       back.tm_min == tm.tm_min && back.tm_sec == tm.tm_sec;
}

bool query_moment(const char *text, int64_t now, int64_t *ns)
{
	const char *rest = !strncmp(text, "now", 3) ? text + 3 : text;
	size_t digits = strspn(text, "0123456789");
	int64_t s;

	if (rest != text && !*rest) {
		*ns = now;
		return true;
	}
	if (*rest == '-' && take_span(rest + 1, &s)) {
		if (s > MOST_S)
			return false;
		*ns = now - s * SECOND;
		return true;
	}
	if (digits && digits <= 10 && !text[digits])
		s = strtoll(text, NULL, 10);
	else if (!take_date(text, &s))
		return false;
	if (s < 0 || s > MOST_S)
		return false;
	*ns = s * SECOND;
	return true;
}

int64_t query_began(const struct query_profile *all, size_t count, size_t i, int64_t longest)
{
	const char *name = all[i].name, *dot = strrchr(name, '.'), *dash = strchr(name, '-');
	unsigned long number = dot ? strtoul(dot + 1, NULL, 10) : 0;
	int64_t began;
	char form[20];

	for (size_t k = 0; k < count && number > 1; k++) {
		const char *d = strrchr(all[k].name, '.');

		if (d && d - all[k].name == dot - name && !strncmp(all[k].name, name, (size_t)(dot - name)) &&
		    strtoul(d + 1, NULL, 10) == number - 1)
			return all[k].end;
	}
	if (number == 1 && dash && (size_t)(dash - name) < sizeof(form)) {
		memcpy(form, name, (size_t)(dash - name));
		form[dash - name] = 0;
		if (query_moment(form, 0, &began))
			return began;
	}
	return all[i].end - longest;
}

/* ---- arguments */

/* "": it is not there. */
static const char *value_given(const struct query_arg *args, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(args[i].key, key))
			return args[i].value ? args[i].value : "";
	return "";
}

/* `to` where only `from` is given is now; `from` where only `to` is, an hour before. */
static const char *take_span_of(const char *from, const char *to, int64_t now, struct query_time *t)
{
	t->to = now;
	if (*to && !query_moment(to, now, &t->to))
		return "an end of time is written 2026-11-26T05:00:00Z, -90s, now-2h, or as seconds since 1970";
	t->from = t->to - USUAL_S * SECOND;
	if (*from && !query_moment(from, now, &t->from))
		return "a beginning of time is written 2026-11-26T05:00:00Z, -90s, now-2h, or as seconds since 1970";
	if (t->from >= t->to)
		return "that time ends before it begins: from must lie before to";
	if (t->to - t->from > LONGEST_S * SECOND)
		return "31 days at once at most: ask for less";
	return NULL;
}

static const char *check_names(enum query_kind kind, const struct query_arg *args, size_t count)
{
	static const char *const known[] = { "service", "from", "to", "base_from", "base_to" };

	for (size_t i = 0; i < count; i++) {
		unsigned k = 0, names = kind == QUERY_DIFF ? 5 : 3;

		while (k < names && strcmp(args[i].key, known[k]))
			k++;
		if (k == names)
			return kind == QUERY_DIFF ? "only service, from, to, base_from and base_to can be given"
						  : "only service, from and to can be given";
		for (size_t j = 0; j < i; j++)
			if (!strcmp(args[i].key, args[j].key))
				return "each can be given once";
	}
	return NULL;
}

const char *query_read(enum query_kind kind, const struct query_arg *args, size_t count, int64_t now, struct query *q)
{
	const char *service = value_given(args, count, "service"), *from = value_given(args, count, "from"),
		   *to = value_given(args, count, "to"), *base_from = value_given(args, count, "base_from"),
		   *base_to = value_given(args, count, "base_to"), *why;

	*q = (struct query){ .kind = kind };
	why = check_names(kind, args, count);
	if (why)
		return why;
	if (strlen(service) > QUERY_NAME)
		return "there is no service of such a name; /profiles lists them";
	memcpy(q->service, service, strlen(service));
	q->latest = !*from && !*to && kind != QUERY_DIFF;
	why = take_span_of(from, to, now, &q->of);
	if (why || kind != QUERY_DIFF)
		return why;
	/* as long as that, and before it */
	q->base = (struct query_time){ .from = q->of.from - (q->of.to - q->of.from), .to = q->of.from };
	if (!*base_from && !*base_to)
		return NULL;
	return take_span_of(base_from, base_to, now, &q->base);
}
