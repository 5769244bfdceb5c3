// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/child.h"
#include "daemon/clickhouse.h"
#include "util/grow.h"
#include "util/normal.h"
#include "util/whole.h"

#define MEMORY (256u << 20)   /* bytes, for a child that reads; by hand */
#define JSON_MOST (64u << 20) /* bytes of its answer; by hand */
#define ROWS_MOST 20000       /* of an answer: more functions than anybody reads */
#define HOSTS_FLOOR 0.01      /* of a host's time: a function of less is no reason to look at a host */
#define HOST_ROWS_MOST 500000 /* of 10,000 hosts with fifty such functions each */
#define MOVED 0.8             /* of a change: where others of its object lost so much, it has only moved */
#define REAL_Q 0.025          /* under it, fewer than one of twenty comparisons of equal fleets finds anything */
#define EVENLY 0.25           /* of the error that is allowed: to each function alike, the rest by its time; by hand */

/* ---- a profile's rows */

int fleet_read_by(const char *const argv[], struct buf *out, struct err *e)
{
	int fd = memfd_create("json", MFD_CLOEXEC), status = 0;
	struct child_opts o = { .argv = argv,
				.out = fd,
				.said = -1,
				.end_by = SIGKILL,
				.nice = CHILD_READS_NICE,
				.memory = MEMORY,
				.file_size = JSON_MOST };
	pid_t pid = fd >= 0 ? child_start(&o, e) : -EMFILE;
	char piece[65536];
	ssize_t n;

	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	    (!WEXITSTATUS(status) || WEXITSTATUS(status) == 3) && !lseek(fd, 0, SEEK_SET))
		while ((n = read(fd, piece, sizeof(piece))) > 0)
			buf_add(out, piece, (size_t)n);
	else if (!e->code)
		err_set(e, -EINVAL, "accperf %s cannot read it", argv[1]);
	if (fd >= 0)
		close(fd);
	buf_addch(out, 0);
	return buf_failed(out) ? err_set(e, -ENOMEM, "out of memory") : e->code;
}

static void within_span(const char *column, struct fleet_span t, struct buf *out)
{
	buf_addf(out, "(%s >= toDateTime(%" PRId64 ") AND %s < toDateTime(%" PRId64 "))", column, t.from, column, t.to);
}

static int is_there(const struct clickhouse *c, const struct fleet_segment *s, bool *there, struct err *e)
{
	AUTO_BUF(query);
	AUTO_BUF(answer);

	buf_addf(&query, "SELECT count() FROM %s WHERE service = ", fleet_table_name(FLEET_SEGMENTS));
	clickhouse_quote(s->service, &query);
	buf_addstr(&query, " AND host = ");
	clickhouse_quote(s->host, &query);
	buf_addstr(&query, " AND segment = ");
	clickhouse_quote(s->segment, &query);
	if (buf_failed(&query))
		return err_set(e, -ENOMEM, "out of memory");
	if (clickhouse_ask(c, query.data, NULL, &answer, e))
		return e->code;
	buf_addch(&answer, 0);
	if (buf_failed(&answer))
		return err_set(e, -ENOMEM, "out of memory");
	/* a proxy that answers everything would be taken for one that has it */
	if (!strspn(answer.data, "0123456789") || strcmp(answer.data + strspn(answer.data, "0123456789"), "\n"))
		return err_set(e, -EPROTO,
			       "what answers on %s:%s is no ClickHouse: it counts rows as '%.60s'; correct its address",
			       c->server.host, c->server.port, answer.data);
	*there = *answer.data != '0';
	return 0;
}

/* Tables are not there, or another version's. */
static int hint_schema(struct err *e)
{
	static const char *const signs[] = { "doesn't exist",      "does not exist", "No such column",
					     "Missing columns",    "no such column", "no column",
					     "UNKNOWN_IDENTIFIER", "support FINAL",  "Cannot parse",
					     "Cannot read" };
	char text[sizeof(e->text)];

	for (unsigned i = 0; e->code && i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (!strstr(e->text, signs[i]))
			continue;
		snprintf(text, sizeof(text), "%s", e->text);
		return err_set(
			e, e->code,
			"%.250s; `accperf fleet schema | clickhouse-client -n` makes tables that are missing, and one of "
			"another version, or of somebody else, must be renamed before",
			text);
	}
	return e->code;
}

int fleet_push(const struct clickhouse *c, const struct fleet_segment *s, const char *path, bool *there, struct err *e)
{
	const char *const read[FLEET_TEXTS][9] = {
		[FLEET_OF_REPORT] = { "accperf", "report", "--fresh", "--json", "--columns", "self", "-i", path },
		[FLEET_OF_FLOW] = { "accperf", "flow", "--fresh", "--json", "-i", path },
		[FLEET_OF_OFFLOAD] = { "accperf", "offload", "--json", "-i", path },
		[FLEET_OF_ADVISE] = { "accperf", "advise", "--json", "-i", path },
		[FLEET_OF_STACKS] = { "accperf", "export", "--collapsed", "-o", "-", "-i", path },
	};
	struct buf rows[FLEET_TABLES] = { { 0 } }, told[FLEET_TEXTS] = { { 0 } };
	const char *text[FLEET_TEXTS];
	struct err none = { 0 };
	if (is_there(c, s, there, e) || *there)
		return hint_schema(e);
	for (unsigned i = 0; i < FLEET_TEXTS && !e->code; i++) {
		/* a profile without accesses has no flow */
		fleet_read_by(read[i], &told[i], i ? &none : e);
		text[i] = none.code || !told[i].data ? "" : told[i].data;
		none.code = 0;
	}
	if (!e->code)
		fleet_rows(s, text, rows, e);
	for (unsigned t = 0; t < FLEET_TABLES && !e->code; t++) {
		AUTO_BUF(insert);

		fleet_insert(t, &insert);
		buf_addch(&insert, 0);
		if (buf_failed(&insert))
			err_set(e, -ENOMEM, "out of memory");
		else if (rows[t].len)
			clickhouse_ask(c, insert.data, &rows[t], NULL, e);
	}
	for (unsigned t = 0; t < FLEET_TABLES; t++)
		buf_release(&rows[t]);
	for (unsigned i = 0; i < FLEET_TEXTS; i++)
		buf_release(&told[i]);
	return hint_schema(e);
}

/* ---- what is asked */

/* The next field of a line of TabSeparated, in place; *at moves on, NULL behind the last. */
static char *next_tsv_field(char **at)
{
	char *field = *at, *to = field, *from = field;

	if (!field)
		return NULL;
	for (; *from && *from != '\t'; from++) {
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from;
	}
	*at = *from ? from + 1 : NULL;
	*to = 0;
	return field;
}

static unsigned take_numbers(char **at, double *out, unsigned most)
{
	unsigned n = 0;
	char *field;

	while (n < most && (field = next_tsv_field(at)))
		out[n++] = strtod(field, NULL);
	return n;
}

struct asking {
	const struct clickhouse *c;
	const char *service;
	bool all;
	struct err *e;
};

static void from_table(const struct asking *a, enum fleet_table t, struct buf *out)
{
	buf_addf(out, "%s%s FINAL WHERE service = ", fleet_table_name(t), a->all ? "_all" : "");
	clickhouse_quote(a->service, out);
}

static int ask_server(const struct asking *a, struct buf *query, struct buf *answer)
{
	if (buf_failed(query))
		return err_set(a->e, -ENOMEM, "out of memory");
	clickhouse_ask(a->c, query->data, NULL, answer, a->e);
	buf_addch(answer, 0);
	return hint_schema(a->e);
}

static int ask_row(const struct asking *a, struct buf *query, double *out, unsigned count)
{
	AUTO_BUF(answer);
	char *at;

	if (ask_server(a, query, &answer))
		return a->e->code;
	answer.data[strcspn(answer.data, "\n")] = 0;
	at = answer.data;
	return take_numbers(&at, out, count) == count
		       ? 0
		       : err_set(a->e, -EPROTO,
				 "ClickHouse answered with %u columns at most, not %u: `accperf fleet schema` "
				 "prints the tables that this version wants",
				 count - 1, count);
}

static int take_rows_of(struct buf *answer, struct fleet_functions *f, unsigned count,
			void (*take)(struct fleet_functions *f, struct fleet_function *to, const double *v),
			struct err *e)
{
	char *line = answer->data, *next;
	double v[8] = { 0 };

	for (; line && *line; line = next) {
		struct fleet_function one = { .low = NAN, .high = NAN, .error = NAN, .q = NAN };
		char *at = line, *function, *object;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		function = next_tsv_field(&at);
		object = next_tsv_field(&at);
		if (!object || take_numbers(&at, v, count) != count)
			return err_set(e, -EPROTO, "ClickHouse answered with other columns than were asked for");
		snprintf(one.function, sizeof(one.function), "%s", function);
		snprintf(one.object, sizeof(one.object), "%s", object);
		take(f, &one, v);
		if (!PUSH(f->at, f->count, f->cap, 256, one))
			return err_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

/* v: hosts, sum p, sum p*p, sum p*t */
static void take_share(struct fleet_functions *f, struct fleet_function *to, const double *v)
{
	double n = f->hosts, r = f->t > 0 ? v[1] / f->t : NAN;
	double left = v[2] - 2 * r * v[3] + r * r * f->tt;
	double half = n > 1 ? Z95 * sqrt((left > 0 ? left : 0) * n / (n - 1)) / f->t : NAN;

	to->hosts = (unsigned)whole_number(v[0]);
	to->share = r;
	to->low = r - half < 0 ? 0 : r - half;
	to->high = r + half > 1 ? 1 : r + half;
}

static void add_host_times(const struct asking *a, struct fleet_span span, struct buf *out)
{
	buf_addstr(out, "(SELECT host, sum(weight * samples) AS t, count() AS n FROM ");
	from_table(a, FLEET_SEGMENTS, out);
	buf_addstr(out, " AND ");
	within_span("began", span, out);
	buf_addstr(out, " GROUP BY host)");
}

static int ask_totals(const struct asking *a, struct fleet_span of, struct fleet_functions *f)
{
	double v[4];
	AUTO_BUF(totals);

	buf_addstr(&totals, "SELECT count(), sum(t), sum(t * t), sum(n) FROM ");
	add_host_times(a, of, &totals);
	if (ask_row(a, &totals, v, 4))
		return a->e->code;
	f->hosts = (unsigned)whole_number(v[0]);
	f->t = v[1];
	f->tt = v[2];
	f->segments = v[3];
	return 0;
}

/* What each host has of something, named by columns of a table, beside its time. */
struct parts_of_hosts {
	enum fleet_table table;
	const char *key, *sums; /* sums: over hosts, besides those of p */
	const char *parts;      /* of one host; p among them */
};

static void ask_parts(const struct asking *a, struct fleet_span of, const struct parts_of_hosts *p, struct buf *query)
{
	buf_addf(
		query,
		"SELECT %s, count() AS hosts, sum(p) AS parts, sum(p * p), sum(p * t)%s FROM (SELECT host, %s, %s FROM ",
		p->key, p->sums, p->key, p->parts);
	from_table(a, p->table, query);
	buf_addstr(query, " AND ");
	within_span("began", of, query);
	buf_addf(query, " GROUP BY host, %s) AS parts_of_host ALL INNER JOIN ", p->key);
	add_host_times(a, of, query);
	buf_addf(query, " AS times_of_host USING host GROUP BY %s ORDER BY parts DESC LIMIT %d", p->key, ROWS_MOST);
}

int fleet_report(const struct clickhouse *c, const struct fleet_question *q, struct fleet_functions *f, struct err *e)
{
	struct asking a = { c, q->service, q->all, e };
	AUTO_BUF(query);
	AUTO_BUF(answer);

	if (ask_totals(&a, q->of, f))
		return e->code;
	ask_parts(&a, q->of,
		  &(struct parts_of_hosts){ FLEET_FUNCTIONS, "function, object", "", "sum(weight * samples) AS p" },
		  &query);
	return ask_server(&a, &query, &answer) ? e->code : take_rows_of(&answer, f, 4, take_share, e);
}

/* v: hosts, sum p, sum p*p, sum p*t, sum of lows, of highs, of the time where the verdict is to offload */
static void take_saving(struct fleet_functions *f, struct fleet_function *to, const double *v)
{
	double differ;

	take_share(f, to, v);
	differ = f->hosts > 1 ? to->high - to->share : NAN;
	if (to->share - to->low > differ)
		differ = to->share - to->low;
	to->low = fmax(0, v[4] / f->t - differ);
	to->high = fmin(1, v[5] / f->t + differ);
	to->offload = v[6] / f->t;
	if (f->hosts < 2)
		to->low = to->high = NAN; /* of one host that is not known */
}

int fleet_advise(const struct clickhouse *c, const struct fleet_question *q, struct fleet_functions *f, struct err *e)
{
	struct asking a = { c, q->service, q->all, e };
	AUTO_BUF(query);
	AUTO_BUF(answer);

	if (ask_totals(&a, q->of, f))
		return e->code;
	ask_parts(&a, q->of,
		  &(struct parts_of_hosts){ FLEET_CANDIDATES, "function, accelerator", ", sum(l), sum(h), sum(o)",
					    "sum(weight * samples * saved) AS p, sum(weight * samples * low) AS l, "
					    "sum(weight * samples * high) AS h, "
					    "sumIf(weight * samples, verdict = 'offload') AS o" },
		  &query);
	return ask_server(&a, &query, &answer) ? e->code : take_rows_of(&answer, f, 7, take_saving, e);
}

/* v: share. Host and function stand in one field, as rows have two names. */
static void take_host_share(struct fleet_functions *f, struct fleet_function *to, const double *v)
{
	char *tab = strchr(to->object, '|');

	to->share = v[0];
	if (!tab)
		return;
	snprintf(to->host, sizeof(to->host), "%s", tab + 1);
	*tab = 0;
}

int fleet_hosts(const struct clickhouse *c, const struct fleet_question *q, struct fleet_functions *f, struct err *e)
{
	struct asking a = { c, q->service, q->all, e };
	struct fleet_functions all = { 0 };
	AUTO_BUF(query);
	AUTO_BUF(answer);

	if (ask_totals(&a, q->of, &all))
		return e->code;
	f->hosts = all.hosts;
	if (all.hosts && all.hosts < FLEET_HOSTS_LEAST)
		return err_set(e, -EINVAL, "which of %u hosts differs is not known: it wants %u", all.hosts,
			       FLEET_HOSTS_LEAST);
	buf_addstr(&query, "SELECT function, concat(object, '|', host) AS place, p / t AS share FROM "
			   "(SELECT host, function, object, sum(weight * samples) AS p FROM ");
	from_table(&a, FLEET_FUNCTIONS, &query);
	buf_addstr(&query, " AND ");
	within_span("began", q->of, &query);
	buf_addstr(&query, " GROUP BY host, function, object) AS parts_of_host ALL INNER JOIN ");
	add_host_times(&a, q->of, &query);
	buf_addf(&query, " AS times_of_host USING host WHERE p / t >= %g ORDER BY function, object, share LIMIT %d",
		 HOSTS_FLOOR, HOST_ROWS_MOST);
	if (!ask_server(&a, &query, &answer) && !take_rows_of(&answer, &all, 1, take_host_share, e) &&
	    fleet_far_hosts(&all, f))
		err_set(e, -ENOMEM, "out of memory");
	fleet_release(&all);
	return e->code;
}

int fleet_flame(const struct clickhouse *c, const struct fleet_question *q, struct buf *out, struct err *e)
{
	struct asking a = { c, q->service, q->all, e };
	AUTO_BUF(query);
	AUTO_BUF(answer);
	char *line, *rest;

	buf_addstr(&query, "SELECT stack, sum(weight * ns) AS ns FROM ");
	from_table(&a, FLEET_STACKS, &query);
	buf_addstr(&query, " AND ");
	within_span("began", q->of, &query);
	buf_addf(&query, " GROUP BY stack ORDER BY ns DESC LIMIT %d", ROWS_MOST);
	if (ask_server(&a, &query, &answer))
		return e->code;
	rest = answer.data;
	while ((line = strsep(&rest, "\n"))) {
		const char *stack = next_tsv_field(&line);
		double ns = line ? strtod(line, NULL) : NAN;

		if (isfinite(ns) && ns >= 0)
			buf_addf(out, "%s %.0f\n", stack, ns);
	}
	return buf_failed(out) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* v: hosts, sums of before, after, their difference d, d*d; each over hosts */
static void take_change(struct fleet_functions *f, struct fleet_function *to, const double *v)
{
	double n = f->hosts, mean = n > 0 ? v[3] / n : NAN, var = n > 1 ? (v[4] - n * mean * mean) / (n - 1) / n : NAN;

	to->hosts = (unsigned)whole_number(v[0]);
	to->before = n > 0 ? v[1] / n : NAN;
	to->after = n > 0 ? v[2] / n : NAN;
	to->change = mean;
	to->error = isfinite(var) ? sqrt(var > 0 ? var : 0) : NAN;
}

static void add_both(const struct asking *a, enum fleet_table t, struct fleet_span before, struct fleet_span after,
		     struct buf *out)
{
	char one = t == FLEET_SEGMENTS ? 't' : 'p';

	buf_addf(out, "(SELECT host, %ssumIf(weight * samples, ", t == FLEET_FUNCTIONS ? "function, object, " : "");
	within_span("began", before, out);
	buf_addf(out, ") AS %ca, sumIf(weight * samples, ", one);
	within_span("began", after, out);
	buf_addf(out, ") AS %cb FROM ", one);
	from_table(a, t, out);
	buf_addstr(out, " AND (");
	within_span("began", before, out);
	buf_addstr(out, " OR ");
	within_span("began", after, out);
	buf_addstr(out, t == FLEET_SEGMENTS ? ") GROUP BY host HAVING ta > 0 AND tb > 0)"
					    : ") GROUP BY host, function, object)");
}

int fleet_diff(const struct clickhouse *c, const struct fleet_question *q, struct fleet_functions *f, struct err *e)
{
	struct asking a = { c, q->service, q->all, e };
	AUTO_BUF(totals);
	AUTO_BUF(query);
	AUTO_BUF(answer);
	double hosts;

	buf_addstr(&totals, "SELECT count() FROM ");
	add_both(&a, FLEET_SEGMENTS, q->before, q->of, &totals);
	if (ask_row(&a, &totals, &hosts, 1))
		return e->code;
	f->hosts = (unsigned)whole_number(hosts);
	buf_addstr(&query, "SELECT function, object, count(), sum(pa / ta), sum(pb / tb), sum(pb / tb - pa / ta), "
			   "sum((pb / tb - pa / ta) * (pb / tb - pa / ta)) AS squares FROM ");
	add_both(&a, FLEET_FUNCTIONS, q->before, q->of, &query);
	buf_addstr(&query, " AS parts_of_host ALL INNER JOIN ");
	add_both(&a, FLEET_SEGMENTS, q->before, q->of, &query);
	buf_addf(&query, " AS times_of_host USING host GROUP BY function, object ORDER BY squares DESC LIMIT %d",
		 ROWS_MOST);
	if (ask_server(&a, &query, &answer) || take_rows_of(&answer, f, 5, take_change, e))
		return e->code;
	fleet_judge(f);
	return 0;
}

/* ---- the verdict */

/* Of Student's t with so many degrees of freedom, both sides; by a normal quantile, which is near from 5 on. */
static double both_tails(double t, double freedom)
{
	double z = fabs(t) * (1 - 1 / (4 * freedom)) / sqrt(1 + t * t / (2 * freedom));

	return erfc(z / sqrt(2));
}

static int by_q(const void *a, const void *b)
{
	const struct fleet_function *x = a, *y = b;

	return (x->q > y->q) - (x->q < y->q);
}

static int by_size_of_change(const void *a, const void *b)
{
	double x = fabs(((const struct fleet_function *)a)->change),
	       y = fabs(((const struct fleet_function *)b)->change);

	return (x < y) - (x > y);
}

/* Time that only moved: other functions of its object, by changes that are no noise, lost most of what it gained. */
static bool has_moved(const struct fleet_functions *f, const struct fleet_function *one)
{
	double others = 0;

	for (size_t i = 0; i < f->count; i++) {
		const struct fleet_function *o = &f->at[i];

		if (o->verdict != FLEET_NOISE && (o->change > 0) != (one->change > 0) &&
		    !strcmp(o->object, one->object))
			others += fabs(o->change);
	}
	return others >= MOVED * fabs(one->change);
}

/* How much of the error that is allowed a function has, 1 on average (Genovese, Roeder and Wasserman): what takes much
 * time can change by an amount that matters, and most of a list of hundreds cannot. */
static double part_of_error(const struct fleet_function *o, double tests, double time)
{
	double own = o->before + o->after;

	return time > 0 && own > 0 ? EVENLY + (1 - EVENLY) * own / time * tests : EVENLY;
}

void fleet_judge(struct fleet_functions *f)
{
	double least = 1, tests = 0, time = 0;

	for (size_t i = 0; i < f->count; i++)
		if (f->at[i].error > 0) {
			time += f->at[i].before + f->at[i].after;
			tests++;
		}
	for (size_t i = 0; i < f->count; i++) {
		struct fleet_function *o = &f->at[i];
		double p = o->error > 0 ? both_tails(o->change / o->error, f->hosts - 1.0) : 1;

		o->q = fmin(1, o->error > 0 ? p / part_of_error(o, tests, time) : 1);
	}
	if (f->count)
		qsort(f->at, f->count, sizeof(*f->at), by_q);
	for (size_t i = f->count; i-- > 0;) { /* Benjamini and Hochberg */
		double q = f->at[i].q * tests / (double)(i + 1);

		least = q < least ? q : least;
		f->at[i].q = least;
		f->at[i].verdict = f->hosts > 1 && least <= REAL_Q ? FLEET_REAL : FLEET_NOISE;
	}
	for (size_t i = 0; i < f->count; i++)
		if (f->at[i].verdict != FLEET_NOISE && has_moved(f, &f->at[i]))
			f->at[i].verdict = FLEET_MOVED;
	if (f->count)
		qsort(f->at, f->count, sizeof(*f->at), by_size_of_change);
}

void fleet_release(struct fleet_functions *f)
{
	free(f->at);
	*f = (struct fleet_functions){ 0 };
}
