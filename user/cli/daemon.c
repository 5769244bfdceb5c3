// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf daemon: reads its configuration, and runs until it is asked to end. */
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "daemon/daemon.h"
#include "daemon/metrics.h"
#include "daemon/say.h"

#define CONFIG "/etc/accperf/daemon.yaml"

struct daemon_opts {
	const char *config, *log;
	bool check, example;
};

static const struct daemon_opts defaults = { .config = CONFIG, .log = "logfmt" };

#define O(field) offsetof(struct daemon_opts, field)
static const struct opt options[] = {
	{ OPT_STRING, 0, "config", O(config), "FILE", "what to record, and what that may cost (" CONFIG ")", 0 },
	{ OPT_BOOL, 0, "check", O(check), NULL,
	  "look the configuration through, and end: 0, or 2 with every error; and tell what it meets here", 0 },
	{ OPT_BOOL, 0, "example", O(example), NULL,
	  "print a configuration with every key, what it means and its default", 0 },
	{ OPT_STRING, 0, "log", O(log), "logfmt|json", "how its log is written (logfmt)", 0 },
	OPT_END,
};

static int read_config(const struct daemon_opts *o, struct daemon_config *c)
{
	struct err e = { 0 };
	AUTO_BUF(errors);
	unsigned count = daemon_read_config(o->config, c, &errors, &e);

	if (e.code)
		return cli_fail(&e, EXIT_USAGE);
	for (char *at = errors.data, *end; count && at && (end = strchr(at, '\n')); at = end + 1)
		log_error("%.*s", (int)(end - at), at);
	return count ? EXIT_USAGE : EXIT_DONE;
}

static int check_here(const struct daemon_opts *o, struct daemon_config *c)
{
	AUTO_BUF(warnings);
	AUTO_BUF(out);

	daemon_check(c, &out, &warnings);
	printf("%s is in order: %zu service%s\n", o->config, c->service_count, c->service_count == 1 ? "" : "s");
	fputs(out.len && !buf_failed(&out) ? out.data : "", stdout);
	for (char *at = warnings.data, *end; at && !buf_failed(&warnings) && (end = strchr(at, '\n')); at = end + 1)
		log_warn("%.*s", (int)(end - at), at);
	config_release(c);
	return EXIT_DONE;
}

/* What --check would have warned of: nobody may have asked. */
static void warn_here(const struct daemon_config *c)
{
	AUTO_BUF(warnings);
	AUTO_BUF(out);

	daemon_check(c, &out, &warnings);
	for (char *at = warnings.data, *end; at && !buf_failed(&warnings) && (end = strchr(at, '\n')); at = end + 1)
		say(SAY_WARN, "check", NULL, "%.*s", (int)(end - at), at);
}

static int cmd_daemon(void *opts, int argc, char **argv)
{
	const struct daemon_opts *o = opts;
	struct daemon_config c;
	struct err e = { 0 };
	AUTO_BUF(out);
	int status;

	if (o->example) {
		config_example(&out);
		fputs(buf_failed(&out) ? "" : out.data, stdout);
		return buf_failed(&out) ? EXIT_FAILED : EXIT_DONE;
	}
	status = read_config(o, &c);
	if (status != EXIT_DONE)
		return status;
	if (o->check)
		return check_here(o, &c);
	if (!strcmp(o->log, "json"))
		say_as_json();
	warn_here(&c);
	return daemon_run(o->config, &c, &e) ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static const struct cli_schema schemas[] = { { "profiles", metrics_profiles_schema }, { 0 } };

CLI_COMMAND(daemon) = {
	.name = "daemon",
	.summary = "record services all day, within a budget, on this machine",
	.order = 15,
	.run = cmd_daemon,
	.options = options,
	.opt_size = sizeof(struct daemon_opts),
	.defaults = &defaults,
	.schemas = schemas,
	.usage = "[--config FILE] [--check | --example]",
	.details =
		"Watches for processes of the services that its configuration names, records them while they run, and\n"
		"keeps what was recorded: profiles of ten minutes each, in a folder for each service, which every reading\n"
		"command takes. The oldest go first, by age and by total, and a reserve of the disk is left alone.\n\n"
		"It stays in the foreground, for systemd: it tells when it is ready, that it is alive, and what it does.\n"
		"SIGTERM ends it within two seconds, with every profile whole; SIGHUP reads the configuration again, and\n"
		"keeps the old one where the new has errors; SIGUSR1 ends the present profiles, and the next begin. Its log\n"
		"is logfmt on stderr, a line a sentence, with journald's priorities; or JSON with the time of day, one object a\n"
		"line: time, level, event, service where it is of one, msg.\n\n"
		"Recorders are processes of their own (`accperf record`). One that fails takes nothing else with it, and\n"
		"is started again after 1, 2, 4 to 300 seconds. Where the daemon is killed they end by themselves, in\n"
		"order; where they are killed as well, a profile lacks its last second at most. Nothing stays attached.\n\n"
		"All of it, what the watched processes lose included, takes no more than limits.budget of the machine's\n"
		"CPUs, over hours: a service that has spent its part rests, and is recorded by turns, as one is that gives\n"
		"more samples than its target. Together the daemon and its recorders hold no more than limits.memory.\n\n"
		"On http.listen, 127.0.0.1:9417 unless the configuration says otherwise, it serves /healthz and /metrics\n"
		"(OpenMetrics: what it costs, what was lost, what each service's last profile tells, bounded), and with a token\n"
		"(Authorization: Bearer ...) /profiles, a list as JSON (accperf.profiles/1), /profile?service=NAME, the last\n"
		"complete profile as a file, and what the reading commands say of stored profiles: /report.html, /pprof, /flow,\n"
		"/advise and /diff, each with ?service=NAME&from=TIME&to=TIME; a TIME is 2026-11-26T05:00:00Z, -90s, now-2h or\n"
		"seconds since 1970. Without times it is the last complete profile. /diff compares with base_from to base_to,\n"
		"or with what came before. An address that other machines reach wants the token and TLS (http.tls_cert,\n"
		"tls_key).\n\n"
		"--check tells each error by line and column. Where there is none it tells how many processes each service has now,\n"
		"and warns of what will not work here: the folder, the token, the keys, the user of ClickHouse; its status is 0\n"
		"then, as recording goes on without them.\n\n"
		"Needs what `accperf record` needs. What is recorded of a target, and what never, its page tells.",
	.examples = "accperf daemon --example >daemon.yaml\tA configuration to begin with\n"
		    "accperf daemon --check --config daemon.yaml\tWhether it is in order\n"
		    "accperf daemon --config daemon.yaml\tIn the foreground; Ctrl-C ends it\n",
};
