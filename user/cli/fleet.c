// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf fleet: profiles of many hosts, in ClickHouse. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "command/command.h"
#include "daemon/clickhouse.h"
#include "daemon/deliver.h"
#include "daemon/fleet.h"
#include "daemon/fleet_view.h"
#include "daemon/query.h"
#include "util/path_name.h"

struct fleet_cmd {
	const char *clickhouse, *otlp, *pyroscope, *remote_write, *user_file, *service, *since, *until, *against,
		*against_until, *host, *cluster;
	uint64_t rows;
	bool json, all;
};

static const struct fleet_cmd defaults = { .since = "-1h", .until = "now", .rows = 20 };

#define O(field) offsetof(struct fleet_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 0, "clickhouse", O(clickhouse), "URL",
	  "the server: http://HOST:PORT, or http://HOST:PORT/DATABASE", 0 },
	{ OPT_STRING, 0, "otlp", O(otlp), "URL",
	  "push: to a collector of OpenTelemetry's instead, http://HOST:PORT[/v1development/profiles]", 0 },
	{ OPT_STRING, 0, "pyroscope", O(pyroscope), "URL",
	  "push: as pprof to a server that takes it as Pyroscope does, http://HOST:PORT[/ingest]", 0 },
	{ OPT_STRING, 0, "remote-write", O(remote_write), "URL",
	  "push: a text of /metrics to a server that takes remote write, http://HOST:PORT[/api/v1/write]", 0 },
	{ OPT_STRING, 0, "user-file", O(user_file), "FILE", "a file of USER:PASSWORD that only its owner reads", 0 },
	{ OPT_STRING, 's', "service", O(service), "NAME", "the service", 0 },
	{ OPT_STRING, 0, "since", O(since), "TIME", "from then on: 2026-11-26T05:00:00Z, -90s, now-2h (-1h)", 0 },
	{ OPT_STRING, 0, "until", O(until), "TIME", "until then (now)", 0 },
	{ OPT_STRING, 0, "against", O(against), "TIME",
	  "diff: what began then and lasted as long (just before --since)", 0 },
	{ OPT_STRING, 0, "against-until", O(against_until), "TIME",
	  "diff: until then instead; longer times tell smaller changes", 0 },
	{ OPT_STRING, 0, "cluster", O(cluster), "NAME",
	  "schema: shards whose tables are seen as one; else: over all of them", 0 },
	{ OPT_STRING, 0, "host", O(host), "NAME", "push: whose profiles these are (this machine)", 0 },
	{ OPT_UINT, 'n', "rows", O(rows), "N", "functions listed (20)", 0 },
	{ OPT_BOOL, 'a', "all", O(all), NULL, "diff: changes that may be noise, too", 0 },
	{ OPT_BOOL, 0, "json", O(json), NULL, "print accperf.fleet/1", 0 },
	OPT_END,
};

static int take_spans(const struct fleet_cmd *o, struct fleet_span *of, struct fleet_span *before, struct err *e)
{
	int64_t now = (int64_t)time(NULL) * 1000000000, since, until, against, ends;

	if (!query_moment(o->since, now, &since) || !query_moment(o->until, now, &until) || since >= until)
		return err_set(e, -EINVAL,
			       "--since and --until want times in order, such as -2h and now, or "
			       "2026-11-26T05:00:00Z");
	against = since - (until - since);
	if (o->against && (!query_moment(o->against, now, &against) || against >= since))
		return err_set(e, -EINVAL, "--against wants a time before --since, such as -1d");
	ends = against + (until - since);
	if (o->against_until && (!o->against || !query_moment(o->against_until, now, &ends) || ends <= against))
		return err_set(e, -EINVAL, "--against-until wants --against, and a time behind it");
	*of = (struct fleet_span){ since / 1000000000, until / 1000000000 };
	*before = (struct fleet_span){ against / 1000000000, ends / 1000000000 };
	if (before->to > of->from)
		before->to = of->from;
	return 0;
}

/* Where profiles go: deliver is NULL for ClickHouse. */
struct destination {
	const struct clickhouse *clickhouse;
	const struct deliver *deliver;
};

static int push_file(const struct destination *to, const struct fleet_segment *s, const char *path, struct err *e)
{
	bool there = false;

	if (to->deliver ? deliver_profile(to->deliver, s, path, e) : fleet_push(to->clickhouse, s, path, &there, e))
		return e->code;
	printf("%s: %s\n", path, there ? "there already" : "sent");
	return 0;
}

static int push_files(const struct fleet_cmd *o, const struct destination *to, int argc, char **argv)
{
	struct utsname u;
	struct stat st;
	int status = EXIT_DONE;

	uname(&u);
	for (int i = 0; i < argc; i++) {
		struct fleet_segment s = { o->host ? o->host : u.nodename, o->service, path_last(argv[i]), 0 };
		struct err e = { 0 };

		if (stat(argv[i], &st)) {
			err_set(&e, -EINVAL, "%s: %s", argv[i], strerror(errno));
		} else {
			s.ended = (int64_t)st.st_mtim.tv_sec;
			if (!push_file(to, &s, argv[i], &e))
				continue;
		}
		err_prefix(&e, "%s", argv[i]);
		if (e.code != -EINVAL)
			return cli_fail(&e, EXIT_FAILED);
		status = cli_fail(&e, EXIT_DEGRADED); /* the others may be readable */
	}
	return status;
}

static int show_flame(const struct clickhouse *c, const struct fleet_question *q)
{
	struct err e = { 0 };
	AUTO_BUF(out);

	if (!fleet_flame(c, q, &out, &e) && !out.len)
		err_set(&e, -ENOENT, "no host has stacks of service %s in that time", q->service);
	if (e.code)
		return cli_fail(&e, EXIT_FAILED);
	fputs(out.data, stdout);
	return EXIT_DONE;
}

static int show_fleet(const struct fleet_cmd *o, const struct clickhouse *c, const char *verb)
{
	bool diff = !strcmp(verb, "diff");
	struct fleet_view v = { .asked = { .service = o->service, .all = o->cluster },
				.diff = diff,
				.advise = !strcmp(verb, "advise"),
				.differ = !strcmp(verb, "hosts"),
				.all = o->all,
				.rows = (size_t)o->rows };
	struct fleet_functions f = { 0 };
	struct err e = { 0 };
	AUTO_BUF(out);

	if (take_spans(o, &v.asked.of, &v.asked.before, &e))
		return cli_fail(&e, EXIT_USAGE);
	if (!strcmp(verb, "flame"))
		return show_flame(c, &v.asked);
	if (diff)
		fleet_diff(c, &v.asked, &f, &e);
	else if (v.differ)
		fleet_hosts(c, &v.asked, &f, &e);
	else if (v.advise)
		fleet_advise(c, &v.asked, &f, &e);
	else
		fleet_report(c, &v.asked, &f, &e);
	if (!e.code && !f.hosts)
		err_set(&e, -ENOENT, "no host has profiles of service %s %s", o->service,
			diff ? "in both times" : "in that time");
	if (!e.code)
		(o->json ? fleet_json : fleet_text)(&v, &f, &out);
	fleet_release(&f);
	if (e.code)
		return cli_fail(&e, EXIT_FAILED);
	fputs(buf_failed(&out) ? "" : out.data, stdout);
	return buf_failed(&out) ? EXIT_FAILED : EXIT_DONE;
}

static bool is_question(const char *verb)
{
	return !strcmp(verb, "report") || !strcmp(verb, "diff") || !strcmp(verb, "advise") || !strcmp(verb, "flame") ||
	       !strcmp(verb, "hosts");
}

static int cmd_fleet(void *opts, int argc, char **argv)
{
	const struct fleet_cmd *o = opts;
	const char *verb = argv[0];
	bool push = !strcmp(verb, "push");
	const char *const others[] = { o->otlp, o->pyroscope, o->remote_write }; /* as enum deliver_to */
	unsigned urls =
		(o->clickhouse != NULL) + (o->otlp != NULL) + (o->pyroscope != NULL) + (o->remote_write != NULL);
	unsigned other = o->otlp ? DELIVER_OTLP : o->pyroscope ? DELIVER_PYROSCOPE : DELIVER_FIGURES;
	struct clickhouse c;
	struct deliver d;
	struct destination to = { &c, o->clickhouse ? NULL : &d };
	char meant[64];
	struct err e = { 0 };
	AUTO_BUF(out);

	if (!strcmp(verb, "schema") && argc == 1) {
		fleet_schema(o->cluster, &out);
		fputs(buf_failed(&out) ? "" : out.data, stdout);
		return buf_failed(&out) ? EXIT_FAILED : EXIT_DONE;
	}
	if (!is_question(verb) && !push)
		err_set(&e, -EINVAL, "'%s' is none of schema, push, report, hosts, diff, advise and flame%s", verb,
			cli_meant_verb(verb, "schema push report hosts diff advise flame", meant, sizeof(meant)));
	else if ((!o->service && !(push && o->remote_write)) || (push ? urls != 1 : !o->clickhouse))
		err_set(&e, -EINVAL, "%s wants --clickhouse URL%s and --service NAME", verb,
			push ? ", --otlp URL, --pyroscope URL or --remote-write URL" : "");
	else if ((argc > 1) != push)
		err_set(&e, -EINVAL, argc > 1 ? "%s takes no files" : "%s wants profiles", verb);
	else if (o->clickhouse)
		clickhouse_read(&c, o->clickhouse, o->user_file, &e);
	else
		deliver_read(&d, (enum deliver_to)other, others[other], &e);
	if (e.code)
		return cli_fail(&e, EXIT_USAGE);
	return push ? push_files(o, &to, argc - 1, argv + 1) : show_fleet(o, &c, verb);
}

static const struct cli_schema schemas[] = { { "fleet", fleet_view_schema }, { 0 } };

CLI_COMMAND(fleet) = {
	.name = "fleet",
	.summary = "profiles of many hosts, in ClickHouse: shares over all, what changed, what pays",
	.order = 16,
	.run = cmd_fleet,
	.options = options,
	.opt_size = sizeof(struct fleet_cmd),
	.defaults = &defaults,
	.schemas = schemas,
	.min_args = 1,
	.max_args = -1,
	.usage = "schema|push|report|hosts|diff|advise|flame [options] [FILE...]",
	.details =
		"schema prints the statements that make the tables: of functions, edges, offload calls, candidates, stacks\n"
		"and profiles, and a view by function and time. push sends profiles, whole: one that is there is not sent again, and one that was\n"
		"cut off replaces itself. `accperf daemon` does so by itself where its configuration has fleet.clickhouse.\n\n"
		"push --otlp sends what `accperf export --otlp` writes, and --pyroscope what --pprof writes. Neither server is\n"
		"asked whether it has a profile; the daemon remembers what it sent. What a server refuses for good (400, 413, 422,\n"
		"OTLP's rejected profiles) is told and left out, and all else is tried again.\n\n"
		"push --remote-write sends what /metrics said (a file of it) as samples of its time, with this host as instance; the\n"
		"daemon does so by itself where its configuration has fleet.remote_write.\n\n"
		"report shows functions by their share of a service's CPU time over all hosts. Its interval is from how hosts\n"
		"differ; of one host it is unknown. A host counts by the samples that it gave, times the weight of each\n"
		"profile: one that was recorded by turns stands for the time between as well.\n\n"
		"diff compares the shares of each host before and after, host by host, so that what differs between hosts is\n"
		"no change. q is the false discovery rate over all functions, of which a quarter is given to each alike and the\n"
		"rest by its time; real: q <= 0.025; moved: real, but another function of its object lost what it gained, so the object as a\n"
		"whole did not change. A share may also change because all others did.\n\n"
		"hosts shows which hosts differ: those whose share of a function is far from the median over hosts, by two hundredths\n"
		"of their time and by five times what hosts differ by as a rule. Of five hosts and more.\n\n"
		"advise shows candidates by what they would save of the CPU time of all hosts. What is not known of an accelerator\n"
		"is the same on every host, so lows are added to lows and highs to highs, and what hosts differ by comes on top:\n"
		"more hosts do not make it narrower than that. offload: the part of the time on hosts whose verdict is so.\n\n"
		"flame prints the stacks of all hosts, a line each with its nanoseconds, as flame graph programs take them: of each\n"
		"profile its 300 largest, and the rest as [other].\n\n"
		"It speaks HTTP without TLS; to a server elsewhere go through a proxy or a network that may see it. Works with\n"
		"ClickHouse from 18.16 on. The exit status of push is 3 where a file is no profile.",
	.examples =
		"accperf fleet schema | clickhouse-client -n\tThe tables\n"
		"accperf fleet report --clickhouse http://127.0.0.1:8123 --service web --since -1d\tOver all hosts\n"
		"accperf fleet advise --clickhouse http://127.0.0.1:8123 --service web --since -7d\tWhat pays on all hosts\n"
		"accperf fleet flame --clickhouse http://127.0.0.1:8123 --service web | flamegraph.pl >web.svg\tTheir stacks\n"
		"accperf fleet diff --clickhouse http://127.0.0.1:8123 --service web --since -1h --against -1d\tSince yesterday\n",
};
