// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf top: a recording as it goes, in the terminal. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/command.h"
#include "command/pager.h"
#include "record/effort.h"
#include "top/reading.h"
#include "top/screen.h"
#include "util/clock.h"
#include "util/rights.h"
#include "util/signals.h"
#include "view/text.h"
#include "view/top.h"

#define LOOK_MS 1000     /* for a next part, at least so often */
#define LOOK_SOON_MS 100 /* while one is waited for */
/* CPU time that readings may take before their share has come: looking for names is dear at first. */
#define AHEAD_NS 600000000
#define AHEAD_THOROUGH_NS 60000000 /* ns: bytes and verdicts may come later than the first rows; by hand */
#define THOROUGH_PART 0.2          /* of what readings take: time is refreshed each second before all */
#define NEW_PART_WANTS 0.1 /* of a part's length, until its bytes and verdicts replace those of the part before */
#define LEAST_DELAY_S 0.2
#define LEAST_WINDOW_S 2.0 /* s: a profile of less has too few samples for a table; by hand */
#define ARGUMENTS 300
#define PATIENCE_NS 5000000000ull /* until a table without a row is worth printing */

struct top_opts {
	struct opt_list pids, names;
	const char *cgroup, *effort, *offload, *output, *sort, *filter;
	bool all, batch, json, inherit;
	double delay, window, duration;
	uint64_t iterations, rows;
};

static const struct top_opts defaults = { .effort = "default",
					  .output = "accperf-top.data",
					  .sort = "self",
					  .inherit = true,
					  .delay = 1,
					  .window = 600,
					  .rows = 30 };

#define AT(field) .offset = offsetof(struct top_opts, field)
#define SORTS "function|self|inclusive|instructions|in|out|ops|calls|offload|verdict|samples|object"
static const struct opt options[] = {
	{ OPT_GROUP, .help = "What to observe" },
	{ OPT_LIST, 'p', "pid", AT(pids), .arg = "PID,...", .help = "processes, with their threads and children" },
	{ OPT_LIST, 'n', "name", AT(names), .arg = "NAME", .help = "all processes of that name" },
	{ OPT_BOOL, 'a', "all", AT(all), .help = "every process on the machine" },
	{ OPT_STRING, 'G', "cgroup", AT(cgroup), .arg = "CGROUP", .help = "every process of a control group" },
	{ OPT_BOOL, 0, "inherit", AT(inherit), .help = "follow children, too (on)" },
	{ OPT_STRING, 0, "effort", AT(effort), .arg = "low|default|high",
	  .help = "what the target may lose: at most 0.5 %, 1 % or 5 % of its time" },
	{ OPT_STRING, 0, "offload", AT(offload), .arg = "LIST",
	  .help = "offload APIs whose calls are counted (as record does unasked; auto; none)" },
	{ OPT_GROUP, .help = "What is shown" },
	{ OPT_TIME, 'd', "delay", AT(delay), .arg = "TIME", .help = "between two refreshes (1s)" },
	{ OPT_TIME, 0, "window", AT(window), .arg = "TIME",
	  .help = "figures are of so long at most, then they begin anew (10m)" },
	{ OPT_STRING, 's', "sort", AT(sort), .arg = SORTS, .help = "order of the rows (self)" },
	{ OPT_STRING, 0, "filter", AT(filter), .arg = "TEXT", .help = "functions with this in their name or object" },
	{ OPT_TIME, 0, "duration", AT(duration), .arg = "TIME",
	  .help = "stop after this long (until q, or the target's end)" },
	{ OPT_GROUP, .help = "Output" },
	{ OPT_BOOL, 'b', "batch", AT(batch), .help = "print tables instead of drawing, for pipes and logs" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "with --batch: a line of accperf.top/1 each time" },
	{ OPT_UINT, 0, "iterations", AT(iterations), .arg = "N", .help = "with --batch: so many tables, then stop" },
	{ OPT_UINT, 0, "rows", AT(rows), .arg = "N", .help = "with --batch: functions in each table (30)" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE",
	  .help = "what key w saves: the present part of the recording (accperf-top.data)" },
	OPT_END
};

struct live {
	const struct top_opts *o;
	struct top_recording recording;
	struct top_reader reader;
	struct top_moment now, full; /* shown; the latest with bytes, calls and verdicts */
	unsigned full_part;
	struct top_view view;
	uint64_t began, next[TOP_KINDS];
	double share[TOP_KINDS];   /* of a CPU, for readings of a kind: see effort_readers() */
	uint64_t spent[TOP_KINDS]; /* ns of CPU time */
	uint64_t shown;            /* tables, of --batch */
	pid_t saver;
	unsigned save_part; /* that will be saved when the next one has begun; 0: none */
	bool quit;
	char target[60];
};

/* ---- options */

/* The columns of view/top_lines.c, in their order; the interval has no order of its own. */
static unsigned column_to_sort(const char *name)
{
	static const char *const names[] = { "function", "self",    "",      "inclusive", "instructions",
					     "in",       "out",     "ops",   "calls",     "offload",
					     "verdict",  "samples", "object" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return i;
	return TOP_DEFAULT_SORT;
}

static int check_top(const struct top_opts *o, struct err *e)
{
	int ways = (o->pids.count || o->names.count) + o->all + !!o->cgroup;

	if (ways != 1)
		return err_set(e, -EINVAL,
			       ways ? "-p or -n, -a and -G exclude each other"
				    : "say what to observe: -p PID, -n NAME, -a or -G CGROUP");
	if (o->delay < LEAST_DELAY_S)
		return err_set(e, -EINVAL, "--delay wants %g s or more", LEAST_DELAY_S);
	if (o->window < LEAST_WINDOW_S)
		return err_set(e, -EINVAL, "--window wants %g s or more", LEAST_WINDOW_S);
	if ((o->json || o->iterations) && !o->batch)
		return err_set(e, -EINVAL, "--json and --iterations want --batch");
	if (!*o->output)
		return err_set(e, -EINVAL, "-o wants the name of a file");
	return 0;
}

static void say_target(const struct top_opts *o, char *out, size_t size)
{
	if (o->all)
		snprintf(out, size, "the machine");
	else if (o->cgroup)
		snprintf(out, size, "group %s", o->cgroup);
	else if (o->pids.count)
		snprintf(out, size, "process %s%s", o->pids.items[0], o->pids.count > 1 ? ",..." : "");
	else
		snprintf(out, size, "%s%s", o->names.items[0], o->names.count > 1 ? ",..." : "");
}

static int start_recorder(const struct top_opts *o, struct top_recording *r, struct err *e)
{
	char *argv[ARGUMENTS], window[40];
	int n = 0;

	snprintf(window, sizeof(window), "%.0fs", o->window);
	for (unsigned i = 0; i < o->pids.count; i++) {
		argv[n++] = (char *)(uintptr_t) "-p";
		argv[n++] = (char *)(uintptr_t)o->pids.items[i];
	}
	for (unsigned i = 0; i < o->names.count; i++) {
		argv[n++] = (char *)(uintptr_t) "-n";
		argv[n++] = (char *)(uintptr_t)o->names.items[i];
	}
	if (o->all)
		argv[n++] = (char *)(uintptr_t) "-a";
	if (o->cgroup) {
		argv[n++] = (char *)(uintptr_t) "-G";
		argv[n++] = (char *)(uintptr_t)o->cgroup;
	}
	if (!o->inherit)
		argv[n++] = (char *)(uintptr_t) "--no-inherit";
	if (o->offload) {
		argv[n++] = (char *)(uintptr_t) "--offload";
		argv[n++] = (char *)(uintptr_t)o->offload;
	}
	argv[n++] = (char *)(uintptr_t) "--effort";
	argv[n++] = (char *)(uintptr_t)o->effort;
	argv[n++] = (char *)(uintptr_t) "--rotate";
	argv[n++] = window;
	argv[n++] = (char *)(uintptr_t) "--keep";
	argv[n++] = (char *)(uintptr_t) "2";
	argv[n++] = (char *)(uintptr_t) "-q";
	return top_record(r, n, argv, e);
}

/* ---- what is shown */

static void draw(struct live *l)
{
	struct top_lines lines;
	unsigned width, height;

	top_screen_size(&width, &height);
	top_draw(&l->now, &l->view, width, height, &lines);
	if (!lines.failed)
		top_screen_show(&lines);
	top_lines_release(&lines);
}

/* False: nobody reads any more, or the disk is full. */
static bool print_table(struct live *l)
{
	struct text_style style = pager_style();
	struct top_lines lines;
	bool ok;
	AUTO_BUF(json);

	l->shown++;
	if (l->o->json) {
		top_json(&l->now, &json);
		if (!buf_failed(&json))
			fwrite(json.data, 1, json.len, stdout);
		return !fflush(stdout) && !ferror(stdout);
	}
	top_draw(&l->now, &l->view, style.width ? style.width : 120, 0, &lines);
	for (size_t i = 0; i < lines.count && i < l->o->rows + 3; i++)
		puts(lines.at[i].text.len ? lines.at[i].text.data : "");
	puts("");
	ok = !lines.failed && !fflush(stdout) && !ferror(stdout);
	top_lines_release(&lines);
	return ok;
}

static void show(struct live *l)
{
	bool nothing = !l->now.function_count && clock_now() - l->began < PATIENCE_NS;

	if (!l->o->batch) {
		draw(l);
		return;
	}
	if (nothing && !l->recording.ended)
		return;
	if (!print_table(l) || (l->o->iterations && l->shown >= l->o->iterations))
		l->quit = true;
}

/* ---- readings */

/* A part that has only begun has less to tell of bytes and verdicts than the one before. */
static bool replaces(const struct live *l, const struct top_moment *m)
{
	return !l->full.complete || l->reader.part == l->full_part || m->full_at >= NEW_PART_WANTS * l->o->window;
}

static void take_thorough(struct live *l, struct top_moment *m)
{
	if (!replaces(l, m)) {
		top_release(m);
		return;
	}
	top_release(&l->full);
	l->full = *m;
	l->full_part = l->reader.part;
}

/* One that is thorough shows with the next of time, but for the first and the last. */
static void take_moment(struct live *l, const struct buf *text, struct top_moment *m)
{
	if (m->complete) {
		take_thorough(l, m);
		if ((l->now.function_count && !l->recording.ended) || top_parse(m, text->data, text->len, NULL))
			return;
	}
	if (top_complete(m, &l->full) || l->view.frozen) {
		top_release(m);
		return;
	}
	top_release(&l->now);
	l->now = *m;
	show(l);
}

/* Readings of a kind take their share of a CPU, however long one of them is. */
static void reading_ended(struct live *l, enum top_kind kind)
{
	struct top_reading *r = &l->reader.of[kind];
	uint64_t began = r->began;
	int got = r->busy ? top_reader_take(&l->reader, kind) : 0;
	struct top_moment m;
	uint64_t due, earned, *spent = &l->spent[kind], ahead = kind == TOP_THOROUGH ? AHEAD_THOROUGH_NS : AHEAD_NS;

	if (!got)
		return;
	*spent += r->cpu_ns;
	due = began + (uint64_t)(l->o->delay * 1e9);
	earned = l->began + (*spent > ahead ? (uint64_t)((double)(*spent - ahead) / l->share[kind]) : 0);
	l->next[kind] = due > earned ? due : earned;
	if (got > 0 && !top_parse(&m, r->text.data, r->text.len, NULL))
		take_moment(l, &r->text, &m);
	buf_release(&r->text);
	r->text = (struct buf){ 0 };
}

static void begin_reading(struct live *l, enum top_kind kind, uint64_t now)
{
	if (l->reader.of[kind].busy || !l->recording.part || now < l->next[kind])
		return;
	if (!top_read(&l->reader, top_recording_path(&l->recording, l->recording.part), l->recording.part, kind, NULL))
		l->reader.of[kind].began = now;
}

/* ---- keys, saving */

static void start_saving(struct live *l)
{
	if (l->save_part || l->saver > 0 || !l->recording.part) {
		snprintf(l->view.status, sizeof(l->view.status), "it is being saved already");
		return;
	}
	l->save_part = l->recording.part;
	snprintf(l->view.status, sizeof(l->view.status), "saving to %.100s...", l->o->output);
	top_recording_next(&l->recording);
}

static void go_on_saving(struct live *l)
{
	int how;

	if (l->save_part && (l->recording.part > l->save_part || l->recording.ended)) {
		l->saver = top_save(top_recording_path(&l->recording, l->save_part), l->o->output);
		l->save_part = 0;
	}
	if (l->saver <= 0 || waitpid(l->saver, &how, WNOHANG) != l->saver)
		return;
	l->saver = 0;
	if (WIFEXITED(how) && !WEXITSTATUS(how))
		snprintf(l->view.status, sizeof(l->view.status),
			 "saved: accperf report %.100s; what is shown begins anew", l->o->output);
	else
		snprintf(l->view.status, sizeof(l->view.status), "%.100s could not be written", l->o->output);
	draw(l);
}

static void take_keys(struct live *l)
{
	unsigned width, height;
	int key;

	bool any = false;

	while ((key = top_screen_key()) >= 0) {
		any = true;
		top_screen_size(&width, &height);
		switch (top_key(&l->view, &l->now, key, height)) {
		case TOP_QUIT: l->quit = true; break;
		case TOP_SAVE: start_saving(l); break;
		case TOP_NOTHING:
		case TOP_REDRAW: break;
		}
	}
	if (any)
		draw(l);
}

/* ---- the loop */

static bool ended_by_signal(int fd)
{
	struct signalfd_siginfo si;
	bool stop = false;

	while (read(fd, &si, sizeof(si)) == sizeof(si))
		stop |= si.ssi_signo != SIGCHLD;
	return stop;
}

/* What the recorder had to say becomes the last line, once; what ended it is told at the end. */
static void look_at_recorder(struct live *l)
{
	bool ended = l->recording.ended;

	top_recording_look(&l->recording);
	if (ended || !l->recording.ended)
		return;
	l->view.ended = true;
	l->next[TOP_QUICK] = UINT64_MAX;
	l->next[TOP_THOROUGH] = 0;
	if (!l->recording.part || l->recording.status == EXIT_FAILED || l->recording.status == EXIT_USAGE)
		l->quit = true;
	else if (!l->o->batch)
		draw(l);
}

/* All of an ended recording has been read. */
static bool has_all(const struct live *l)
{
	return l->recording.ended && !l->reader.of[TOP_THOROUGH].busy && l->next[TOP_THOROUGH];
}

/* Until a reading is due; keys, answers and the recorder's end come by themselves. */
static int look_again_ms(const struct live *l)
{
	uint64_t now = clock_now(), most = LOOK_MS;

	if (!l->recording.part || l->save_part || l->saver > 0)
		most = LOOK_SOON_MS;
	for (unsigned i = 0; i < TOP_KINDS; i++) {
		uint64_t in = l->next[i] > now ? (l->next[i] - now) / 1000000 + 1 : 1;

		if (!l->reader.of[i].busy && in < most && !has_all(l))
			most = in;
	}
	if (l->o->duration > 0) {
		double left = (l->o->duration * 1e9 - (double)(now - l->began)) / 1e6 + 1;

		most = left < 1 ? 1 : left < (double)most ? (uint64_t)left : most;
	}
	return (int)most;
}

static void watch(struct live *l, int sigfd)
{
	struct pollfd pf[4] = { { .fd = sigfd, .events = POLLIN },
				{ .fd = l->o->batch ? -1 : STDIN_FILENO, .events = POLLIN },
				{ .events = POLLIN },
				{ .events = POLLIN } };
	uint64_t now;

	l->began = clock_now();
	while (!l->quit) {
		for (unsigned i = 0; i < TOP_KINDS; i++)
			pf[2 + i].fd = l->reader.of[i].busy ? l->reader.of[i].out : -1;
		if (poll(pf, 4, look_again_ms(l)) < 0 && errno != EINTR)
			break;
		now = clock_now();
		if (ended_by_signal(sigfd) || (pf[1].revents & (POLLHUP | POLLERR)) ||
		    (l->o->duration > 0 && (double)(now - l->began) >= l->o->duration * 1e9))
			break;
		look_at_recorder(l);
		if (l->quit)
			break;
		if (!l->o->batch)
			go_on_saving(l);
		reading_ended(l, TOP_QUICK);
		reading_ended(l, TOP_THOROUGH);
		if (l->o->batch && has_all(l))
			break;
		if (!has_all(l)) {
			begin_reading(l, TOP_QUICK, now);
			begin_reading(l, TOP_THOROUGH, now);
		}
		/* a changed size of the terminal comes as a key, too, and interrupts poll() */
		if (!l->o->batch)
			take_keys(l);
	}
}

static int tell_end(struct live *l)
{
	AUTO_BUF(said);
	int status = l->recording.status;
	char *line, *rest_of;

	top_recording_said(&l->recording, &said);
	rest_of = said.data;
	while (rest_of && (line = strsep(&rest_of, "\n")))
		if (*line && (status == EXIT_FAILED || status == EXIT_USAGE))
			log_error("%s", line);
		else if (*line)
			log_warn("%s", line);
	if (l->o->batch && !l->shown && status != EXIT_FAILED && status != EXIT_USAGE) {
		log_error("it ended before there was anything to show");
		return EXIT_FAILED;
	}
	return status;
}

static int cmd_top(void *opts, int argc, char **argv)
{
	const struct top_opts *o = opts;
	struct live l = { .o = o,
			  .reader = TOP_READER_NONE,
			  .view = { .sort = column_to_sort(o->sort), .file = l.target } };
	struct err e = { 0 };
	int sigfd, status;

	if (check_top(o, &e))
		return cli_fail(&e, EXIT_USAGE);
	l.share[TOP_QUICK] = effort_readers(o->effort) * (1 - THOROUGH_PART);
	l.share[TOP_THOROUGH] = effort_readers(o->effort) * THOROUGH_PART;
	if (o->filter)
		snprintf(l.view.filter, sizeof(l.view.filter), "%s", o->filter);
	say_target(o, l.target, sizeof(l.target));
	sigfd = signals_open(SIGQUIT);
	if (sigfd < 0) {
		err_set(&e, -errno, "signals cannot be read: %s", strerror(errno));
		return cli_fail(&e, EXIT_FAILED);
	}
	if (!o->batch && top_screen_open(&e))
		return cli_fail(&e, EXIT_USAGE);
	if (start_recorder(o, &l.recording, &e)) {
		top_screen_close();
		top_recording_remove(&l.recording);
		return cli_fail(&e, EXIT_FAILED);
	}
	rights_drop();
	if (!o->batch)
		draw(&l);
	watch(&l, sigfd);
	if (!o->batch)
		top_screen_close();
	top_reader_end(&l.reader);
	top_recording_end(&l.recording, l.save_part);
	if (l.save_part && top_save_now(top_recording_path(&l.recording, l.save_part), o->output, &e))
		cli_fail(&e, EXIT_FAILED);
	if (l.saver > 0)
		waitpid(l.saver, NULL, 0);
	status = e.code ? EXIT_FAILED : tell_end(&l);
	top_recording_remove(&l.recording);
	top_release(&l.now);
	top_release(&l.full);
	close(sigfd);
	return status;
}

static const struct cli_schema schemas[] = { { "top", top_schema }, { 0 } };

CLI_COMMAND(top) = {
	.name = "top",
	.summary = "functions of a running program as it runs: time, bytes, calls, verdicts",
	.order = 15,
	.run = cmd_top,
	.options = options,
	.opt_size = sizeof(struct top_opts),
	.defaults = &defaults,
	.schemas = schemas,
	.records = true,
	.usage = "[options] (-p PID | -n NAME | -a | -G CGROUP)",
	.details =
		"Records as `accperf record` does, at the same cost to the target, and shows what is known by now: functions\n"
		"with their time and its interval, instructions, bytes in and out, operations per byte, calls, offload calls\n"
		"and verdicts. Time is refreshed each second, by reading what came since; the rest more seldom. What reading\n"
		"takes of a CPU the recorder does without, in bursts and segments. Intervals narrow as samples come. What is\n"
		"not known is a question mark; where bytes a second are not known, their share of all bytes stands there.\n"
		"\n"
		"Keys: up and down choose a function, Enter opens its callers, flows and verdict; s and S sort, r turns the\n"
		"order round; / filters; t and p show threads and processes; space freezes; w saves; ? tells all of them; q\n"
		"ends.\n"
		"\n"
		"Nothing grows for days: figures are of --window at most, then they begin anew; until a tenth of it has\n"
		"passed, bytes, calls and verdicts are those of the window before. The recording lies in a private folder\n"
		"below $TMPDIR or /tmp, no more than two windows of it, and is removed at the end. Key w makes the present\n"
		"window a profile for the other commands (-o), and begins the next.\n"
		"\n"
		"NO_COLOR is heeded. A terminal wants 60 columns and 10 lines at least. With --batch tables are printed, for\n"
		"pipes. The exit status is that of the recording.",
	.examples = "accperf top -p 1234\tA process, live\n"
		    "accperf top -n nginx --sort in\tBy the bytes that functions read\n"
		    "accperf top -a --batch --iterations 3 --delay 5s\tThe machine, three tables\n"
		    "accperf top -p 1234 --batch --json | jq -r '.functions[0].name'\tFor a script\n",
};
