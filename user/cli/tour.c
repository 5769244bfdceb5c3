// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * accperf tour: a newcomer sees each command at work on an example service that is built in. To add a station: a row in
 * stations[], with its command and what there is to see in two sentences.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "command/command.h"
#include "command/pager.h"
#include "html/bundle.h"
#include "util/rights.h"
#include "view/text.h"

#define BATCH 65536u  /* bytes of one turn of the service: several milliseconds of work; by hand */
#define RECORD 64u    /* bytes of each record in a batch; by hand */
#define PAUSE_US 2000 /* us between two turns: the service waits at times, as services do; by hand */
#define WORDS_MOST 12 /* of a station's command line, with a NULL behind them; the longest has 11 */

struct tour_cmd {
	const char *output;
	double seconds;
	bool pause;
};

static const struct tour_cmd defaults = { .output = "accperf-tour.html", .seconds = 5, .pause = true };

#define AT(field) .offset = offsetof(struct tour_cmd, field)
static const struct opt options[] = {
	{ OPT_TIME, 0, "duration", AT(seconds), .arg = "TIME", .help = "how long to record (5s)" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "the page that stays (accperf-tour.html)" },
	{ OPT_BOOL, 0, "pause", AT(pause), .help = "wait for Enter between two stations, on a terminal (on)" },
	OPT_END
};

/* ---- the service: batches of records come in, are parsed, summed and compressed */

__attribute__((noinline)) static void receive_batch(unsigned char *batch, unsigned *seed)
{
	for (unsigned i = 0; i < BATCH; i++) {
		*seed = *seed * 1103515245 + 12345;
		batch[i] = (unsigned char)("etaoin shrdlu,.;"[*seed >> 28]);
	}
}

__attribute__((noinline)) static unsigned parse_records(const unsigned char *batch, unsigned *length)
{
	unsigned n = 0;

	for (unsigned at = 0; at < BATCH; at += RECORD) {
		unsigned words = 0;

		for (unsigned i = 0; i < RECORD; i++)
			words += batch[at + i] == ' ';
		length[n++] = words;
	}
	return n;
}

__attribute__((noinline)) static unsigned checksum_batch(const unsigned char *batch)
{
	unsigned a = 1, b = 0;

	for (unsigned i = 0; i < BATCH; i++) {
		a = (a + batch[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

__attribute__((noinline)) static unsigned long compress_batch(const unsigned char *batch, unsigned char *out,
							      unsigned long room)
{
	unsigned long size = room;

	return compress2(out, &size, batch, BATCH, 6) == Z_OK ? size : 0;
}

/* Until it is killed. */
static void serve_batches(pid_t parent)
{
	unsigned char *batch = malloc(BATCH), *out = malloc(compressBound(BATCH));
	unsigned *length = malloc(BATCH / RECORD * sizeof(*length)), seed = 1;
	volatile unsigned long result = 0;

	signal(SIGINT, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "tour-service");
	while (batch && out && length && getppid() == parent) {
		receive_batch(batch, &seed);
		result += parse_records(batch, length) + length[0];
		result += checksum_batch(batch);
		result += compress_batch(batch, out, compressBound(BATCH));
		usleep(PAUSE_US);
	}
	_exit(1);
}

/* ---- the stations */

struct route {
	char pid[24], duration[40], data[PATH_MAX], page[PATH_MAX];
};

static const struct station {
	const char *title, *before, *after;
	const char *word[WORDS_MOST]; /* "@pid", "@duration", "@data", "@page": of the route */
	bool must;                    /* without it, the rest has nothing to show */
	bool degraded;                /* 3 is an answer as well: of a machine that lacks something */
} stations[] = {
	{ "What can this machine measure?",
	  "doctor tries what accperf measures with, and changes nothing.",
	  "What is missing is named with the command that enables it; without it, figures are shown as unknown.",
	  { "doctor" },
	  .degraded = true },
	{ "Record a live service",
	  "The service runs already; record attaches to it, and it is never stopped.",
	  "The line that counts the samples tells their cost, too: how much slower the service was, and the recorder's own "
	  "CPU time. On a machine that has some time left, recordings keep to about 1 %.",
	  { "record", "-p", "@pid", "--breakpoints", "on", "--offload", "zlib", "--duration", "@duration", "-o",
	    "@data" },
	  .must = true,
	  .degraded = true },
	{ "Where did the time go?",
	  "report shows functions by their share of the CPU time, each with the interval that its samples allow.",
	  "deflate's own parts have no symbols in Debian's zlib; they are named by where they begin.",
	  { "report", "-i", "@data" },
	  .degraded = true },
	{ "Whose bytes are read by whom?",
	  "flow tells what an accelerator would have to be sent: which function's bytes another one reads.",
	  "(before attach) was written before the recording began. Shares carry their interval; what cannot be told, such as "
	  "amounts where the speed is not known, stands as ?, with the reason below.",
	  { "flow", "-i", "@data" },
	  .degraded = true },
	{ "What would an accelerator be worth?",
	  "advise puts functions with their calls, sizes and times through a catalogue of devices.",
	  "No verdict rests on a guess: where a figure is missing, the sentence says which, and how to get it.",
	  { "advise", "-i", "@data" },
	  .degraded = true },
	{ "All of it as a page",
	  "One file for any browser, without a server and without the network.",
	  "Open it: sort, search, brush over time, follow flows, and move the what-if sliders. "
	  "Over ssh, `accperf open` shows such a page of any profile.",
	  { "report", "-i", "@data", "--html", "@page" },
	  .degraded = true },
};
#define STATIONS (sizeof(stations) / sizeof(stations[0]))

static const char *word_of(const struct route *r, const char *word)
{
	return !strcmp(word, "@pid")        ? r->pid
	       : !strcmp(word, "@duration") ? r->duration
	       : !strcmp(word, "@data")     ? r->data
	       : !strcmp(word, "@page")     ? r->page
					    : word;
}

static void say_fitted(const char *text)
{
	AUTO_BUF(lines);

	text_wrap(&lines, text, 0, 0, pager_style().width);
	fwrite(lines.data, 1, lines.len, stdout);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = sig;
}

/* The command's status, in a process of its own, with the rights of the file anew. */
static int run_station(const struct station *s, const struct route *r)
{
	char *argv[WORDS_MOST + 3];
	int n = 0, how = 0;
	pid_t pid;

	argv[n++] = (char *)(uintptr_t) "accperf";
	for (unsigned i = 0; i < WORDS_MOST && s->word[i]; i++)
		argv[n++] = (char *)(uintptr_t)word_of(r, s->word[i]);
	argv[n] = NULL;
	printf("\n$");
	for (int i = 0; i < n; i++)
		printf(" %s", argv[i]);
	printf("\n\n");
	fflush(NULL);
	pid = fork();
	if (!pid) {
		signal(SIGINT, SIG_DFL);
		setenv("ACCPERF_PAGER", "cat", 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(how) ? WEXITSTATUS(how) : EXIT_FAILED;
}

static void wait_for_enter(void)
{
	int c;

	printf("\n[Enter] goes on ");
	fflush(stdout);
	while ((c = getchar()) != '\n' && c != EOF)
		;
}

static int walk(const struct tour_cmd *o, const struct route *r)
{
	bool waits = o->pause && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	int status = EXIT_DONE;

	for (unsigned i = 0; i < STATIONS; i++) {
		const struct station *s = &stations[i];
		int got;

		if (!html_bundled() && !strcmp(s->word[3] ? s->word[3] : "", "--html"))
			continue;
		printf("%s==> %u of %zu: %s\n", i ? "\n" : "", i + 1, STATIONS, s->title);
		say_fitted(s->before);
		got = run_station(s, r);
		if (interrupted)
			return EXIT_FAILED;
		if (got != EXIT_DONE && !(s->degraded && got == EXIT_DEGRADED)) {
			status = EXIT_FAILED;
			log_error("`accperf %s` ended with %d%s", s->word[0], got,
				  s->must ? "; the tour ends here: `accperf doctor` tells what is missing" : "");
			if (s->must)
				return status;
		}
		printf("\n");
		say_fitted(s->after);
		if (waits && i + 1 < STATIONS)
			wait_for_enter();
		if (interrupted)
			return EXIT_FAILED;
	}
	if (status == EXIT_DONE) {
		printf("\n");
		say_fitted(
			"That was the tour. Next, a process of yours: accperf top -p PID, or accperf record -p PID.");
	}
	return status;
}

static int cmd_tour(void *opts, int argc, char **argv)
{
	const struct tour_cmd *o = opts;
	const char *base = rights_getenv("TMPDIR");
	char folder[PATH_MAX - 16];
	pid_t parent = getpid(), service;
	struct sigaction on = { .sa_handler = on_interrupt }; /* no restart: waiting for Enter ends, too */
	struct route r;
	int status;

	if (!(o->seconds >= 1) || !*o->output || strlen(o->output) >= sizeof(r.page)) {
		log_error("--duration wants a second or more, and -o the name of a file");
		return EXIT_USAGE;
	}
	snprintf(folder, sizeof(folder), "%s/accperf-tour.XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(folder)) {
		log_error("no private folder can be made below %s: %s", base && *base ? base : "/tmp", strerror(errno));
		return EXIT_FAILED;
	}
	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	fflush(NULL);
	service = fork();
	if (!service)
		serve_batches(parent);
	snprintf(r.pid, sizeof(r.pid), "%d", service);
	snprintf(r.duration, sizeof(r.duration), "%gs", o->seconds);
	snprintf(r.data, sizeof(r.data), "%s/tour.data", folder);
	snprintf(r.page, sizeof(r.page), "%s", o->output);
	if (service > 0)
		status = walk(o, &r);
	else
		status = EXIT_FAILED;
	if (service > 0) {
		kill(service, SIGKILL);
		waitpid(service, NULL, 0);
	} else {
		log_error("the example service cannot be started: %s", strerror(errno));
	}
	unlink(r.data);
	rmdir(folder);
	return status;
}

CLI_COMMAND(tour) = {
	.name = "tour",
	.summary = "a first look at everything, on an example service",
	.order = 5,
	.run = cmd_tour,
	.options = options,
	.opt_size = sizeof(struct tour_cmd),
	.defaults = &defaults,
	.records = true,
	.usage = "[options]",
	.details =
		"Starts an example service that compresses batches of records, and walks through doctor, record, report,\n"
		"flow, advise and the page for a browser, each with two sentences. What is run is shown, so that it can be\n"
		"run again with a process of your own. The page stays; all else is removed.\n"
		"\n"
		"Where recording is not possible the tour says why and ends with 1.",
	.examples = "sudo accperf tour\tThe tour, with a pause after each station\n"
		    "sudo accperf tour --no-pause --duration 2s\tAll at once\n",
};
