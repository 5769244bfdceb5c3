// SPDX-License-Identifier: GPL-2.0-or-later
#include "foreground/cost_by_turns.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/command.h"
#include "measure/cost_in_turns.h"
#include "proc/progress.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/log.h"

#define SETTLE_S .2  /* after detaching: the target's caches are its own again */
#define ATTACH_S 60  /* who has not attached by then does not at all */
#define COMMAND_S 10 /* that of --work: a question of a server's counters */
#define FEW 100      /* events of a turn: their number alone scatters by a tenth */

static int moment_fd = -1;

void record_cost_moment(void)
{
	if (moment_fd >= 0 && write(moment_fd, "m", 1) != 1)
		moment_fd = -1;
}

/* What a turn's work is counted by. */
enum { BY_CALLS, BY_NET, BY_COMMAND, COUNTERS };
static const struct {
	const char *name, *unit;
} counters[COUNTERS] = {
	[BY_CALLS] = { "calls", "read and write calls" },
	[BY_NET] = { "net", "bytes received in its network namespace" },
	[BY_COMMAND] = { "command", "units of the command given" },
};

struct moment {
	uint64_t at_ns;
	double counted[COUNTERS], cpu_s;
};

struct turn_stretch {
	struct moment from, to;
};

static struct turn turn_of(const struct turn_stretch *s, int counter)
{
	return (struct turn){ .seconds = (double)(s->to.at_ns - s->from.at_ns) / 1e9,
			      .work = s->to.counted[counter] - s->from.counted[counter],
			      .cpu_s = s->to.cpu_s - s->from.cpu_s };
}

struct measured {
	struct turn_stretch without[TURN_PAIRS_MOST], with[TURN_PAIRS_MOST];
	double own_s, on_s; /* the recorder's CPU time, and that of the clock, with */
	struct buf said;    /* by the recordings */
	bool stopped;
};

static void measured_free(struct measured *m)
{
	if (m)
		buf_release(&m->said);
	free(m);
}

/* False: a signal asks us to stop. */
static bool wait_or_signal(int fd, int sigfd, double seconds, bool *readable)
{
	uint64_t until = clock_now() + (uint64_t)(seconds * 1e9);
	struct pollfd pf[2] = { { .fd = sigfd, .events = POLLIN }, { .fd = fd, .events = POLLIN } };
	struct signalfd_siginfo si;

	*readable = false;
	for (;;) {
		uint64_t now = clock_now();

		if (now >= until)
			return true;
		if (poll(pf, fd >= 0 ? 2 : 1, (int)((until - now) / 1000000) + 1) < 0 && errno != EINTR)
			return true;
		while (pf[0].revents && read(sigfd, &si, sizeof(si)) == sizeof(si))
			if (si.ssi_signo != SIGCHLD)
				return false;
		if (fd >= 0 && pf[1].revents) {
			*readable = true;
			return true;
		}
	}
}

static void exec_work(const char *command, int out)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); /* ours are read from a descriptor */
	setpgid(0, 0);
	dup2(out, STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* The number that the user's command prints; NaN: none, or none within COMMAND_S, or a signal asks us to stop. */
static double ask_command(const struct cost_turns *c)
{
	char text[64], *end;
	int fds[2], status = -1, pid;
	bool readable;
	ssize_t n = -1;
	size_t len = 0;
	double v;

	if (pipe2(fds, O_CLOEXEC))
		return NAN;
	fflush(NULL);
	pid = fork();
	if (!pid)
		exec_work(c->work, fds[1]);
	close(fds[1]);
	while (pid > 0 && len + 1 < sizeof(text) && wait_or_signal(fds[0], c->sigfd, COMMAND_S, &readable) &&
	       readable && (n = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	close(fds[0]);
	if (pid > 0 && n) { /* before it said that this is all */
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	text[len] = 0;
	v = strtod(text, &end);
	return n || status || end == text ? NAN : v;
}

static struct moment look(const struct cost_turns *c)
{
	struct progress p;
	struct moment m;

	progress_read(c->pids, c->pid_count, &p);
	m = (struct moment){ .at_ns = p.at_ns, .cpu_s = p.cpu_s, .counted = { p.calls, p.net, NAN } };
	if (c->work) {
		m.counted[BY_COMMAND] = ask_command(c);
		m.at_ns = m.at_ns / 2 + clock_now() / 2;
	}
	return m;
}

static bool turn_without(const struct cost_turns *c, struct measured *m, struct turn_stretch *s)
{
	bool unused;

	if (!wait_or_signal(-1, c->sigfd, SETTLE_S, &unused))
		return false;
	s->from = look(c);
	m->stopped = !wait_or_signal(-1, c->sigfd, c->turn_s, &unused);
	s->to = look(c);
	return !m->stopped;
}

static int child_records(const struct cost_turns *c, const char *output, int fd, int said)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (said >= 0)
		dup2(said, STDERR_FILENO);
	moment_fd = fd;
	return c->record(c->ctx, output, c->turn_s);
}

/* Each turn has the same to say of the machine: what an earlier one said is not repeated. */
static void pass_on_new(int said, struct buf *before)
{
	char line[1024];
	FILE *f;

	if (said < 0 || lseek(said, 0, SEEK_SET) < 0 || !(f = fdopen(dup(said), "r")))
		return;
	while (fgets(line, sizeof(line), f)) {
		if (before->len && strstr(before->data, line))
			continue;
		buf_addstr(before, line);
		fputs(line, stderr);
	}
	fclose(f);
}

/* The child says when it is attached and when it is about to detach. */
static bool await_moment(const struct cost_turns *c, int fd, double seconds)
{
	bool readable;
	char byte;

	return wait_or_signal(fd, c->sigfd, seconds, &readable) && readable && read(fd, &byte, 1) == 1;
}

static bool all_ended(const struct cost_turns *c)
{
	for (size_t i = 0; i < c->pid_count; i++)
		if (!kill(c->pids[i], 0) || errno == EPERM)
			return false;
	return true;
}

/* EXIT_DONE; or why there is no such turn. */
static int measure_turn_with(const struct cost_turns *c, struct measured *m, struct turn_stretch *s, const char *output)
{
	struct rusage used;
	int fds[2], status, pid, said;
	bool whole;

	if (pipe2(fds, O_CLOEXEC)) {
		log_error("no pipe to the recording: %s", strerror(errno));
		return EXIT_FAILED;
	}
	said = memfd_create("said", MFD_CLOEXEC);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		_exit(child_records(c, output, fds[1], said));
	}
	close(fds[1]);
	if (pid < 0) {
		log_error("no process for the recording: %s", strerror(errno));
		close(fds[0]);
		close(said);
		return EXIT_FAILED;
	}
	whole = await_moment(c, fds[0], ATTACH_S);
	if (whole) {
		s->from = look(c);
		whole = await_moment(c, fds[0], c->turn_s + ATTACH_S);
		s->to = look(c);
	}
	if (!whole)
		kill(pid, SIGTERM); /* or it has ended */
	close(fds[0]);
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	log_progress_end();
	pass_on_new(said, &m->said);
	close(said);
	if (!whole) {
		m->stopped = true;
		return WIFEXITED(status) && WEXITSTATUS(status) != EXIT_DONE ? WEXITSTATUS(status) : EXIT_DEGRADED;
	}
	m->own_s += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		    1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	m->on_s += (double)(s->to.at_ns - s->from.at_ns) / 1e9;
	return EXIT_DONE;
}

/* Of the counters that moved enough in every turn, the first: what the user named, calls, the network. -1: none. */
static int choose_counter(const struct cost_turns *c, const struct measured *m, unsigned pairs)
{
	static const int order[] = { BY_COMMAND, BY_CALLS, BY_NET };

	for (unsigned k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
		unsigned i = 0;

		while (i < pairs && turn_of(&m->without[i], order[k]).work >= FEW &&
		       turn_of(&m->with[i], order[k]).work >= FEW)
			i++;
		if (i == pairs)
			return order[k];
		if (c->work) /* asked for by name: nothing else stands in */
			break;
	}
	return -1;
}

#define CHANGE                                                                                                              \
	"{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"value\",\"low\",\"high\",\"least\",\"most\"]," \
	"\"properties\":{\"value\":{\"type\":[\"number\",\"null\"]},\"low\":{\"type\":[\"number\",\"null\"]},"              \
	"\"high\":{\"type\":[\"number\",\"null\"]},\"least\":{\"type\":[\"number\",\"null\"]},"                             \
	"\"most\":{\"type\":[\"number\",\"null\"]}}}"

const char record_cost_schema[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"accperf.measured-cost/1\","
	"\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"schema\",\"pairs\",\"turn_seconds\",\"work\","
	"\"work_per_second\",\"work_change\",\"cpu_per_work_change\",\"own_cpu\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.measured-cost/1\"},\"pairs\":{\"type\":\"integer\",\"minimum\":1},"
	"\"turn_seconds\":{\"type\":\"number\"},\"work\":{\"enum\":[\"calls\",\"net\",\"command\"]},"
	"\"work_per_second\":{\"type\":\"number\"},\"work_change\":" CHANGE ",\"cpu_per_work_change\":" CHANGE
	",\"own_cpu\":{\"type\":\"number\"}}}";

static void json_change(struct json *j, const char *key, const struct turn_change *c)
{
	json_obj(j, key);
	json_f64(j, "value", c->median);
	json_f64(j, "low", c->low);
	json_f64(j, "high", c->high);
	json_f64(j, "least", c->least);
	json_f64(j, "most", c->most);
	json_end(j);
}

static void text_change(struct buf *b, const char *what, const struct turn_change *c)
{
	buf_addf(b, "  %-22s %+.2f %%", what, 100 * c->median);
	if (isfinite(c->low))
		buf_addf(b, "  [%+.2f .. %+.2f]", 100 * c->low, 100 * c->high);
	buf_addf(b, "  (pairs from %+.2f to %+.2f)%s\n", 100 * c->least, 100 * c->most,
		 isfinite(c->low) && c->low < 0 && c->high > 0 ? "  within the scatter" : "");
}

static int tell_cost(const struct cost_turns *c, const struct measured *m, unsigned pairs, int counter)
{
	struct in_turns t = { 0 };
	struct turn_change work, cpu;
	double rate[TURN_PAIRS_MOST];
	AUTO_BUF(out);

	for (unsigned i = 0; i < pairs; i++) {
		struct turn without = turn_of(&m->without[i], counter), with = turn_of(&m->with[i], counter);

		in_turns_add(&t, &without, &with);
		rate[i] = without.work / without.seconds;
	}
	qsort(rate, pairs, sizeof(*rate), by_double);
	work = in_turns_work(&t);
	cpu = in_turns_cpu(&t);
	if (c->json) {
		struct json j = { .out = &out };

		json_obj(&j, NULL);
		json_str(&j, "schema", "accperf.measured-cost/1");
		json_u64(&j, "pairs", pairs);
		json_f64(&j, "turn_seconds", c->turn_s);
		json_str(&j, "work", counters[counter].name);
		json_f64(&j, "work_per_second", rate[pairs / 2]);
		json_change(&j, "work_change", &work);
		json_change(&j, "cpu_per_work_change", &cpu);
		json_f64(&j, "own_cpu", m->own_s / m->on_s);
		json_end(&j);
		buf_addch(&out, '\n');
	} else {
		buf_addf(&out, "measured cost: %u pairs of turns of %.3g s, without and with; median%s\n", pairs,
			 c->turn_s, isfinite(work.low) ? ", its 90 % interval" : "");
		buf_addf(&out, "  work                   %s, %.4g a second without\n", counters[counter].unit,
			 rate[pairs / 2]);
		text_change(&out, "work done per second", &work);
		text_change(&out, "CPU time per work", &cpu);
		buf_addf(&out, "  recorder's own CPU     %.2f %% of one, attaching and naming included\n",
			 100 * m->own_s / m->on_s);
		if (counter == BY_NET)
			buf_addstr(&out,
				   "  The network's bytes are those of all in its namespace, others' among them.\n");
	}
	if (buf_failed(&out))
		return EXIT_FAILED;
	fwrite(out.data, 1, out.len, stdout);
	return fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
}

int record_cost(const struct cost_turns *c)
{
	struct measured *m = calloc(1, sizeof(*m));
	struct err e = { 0 };
	unsigned turn = 0, pairs;
	int status = m ? EXIT_DONE : EXIT_FAILED, counter;
	bool ended = false;

	if (m && c->work && isnan(ask_command(c))) {
		log_error("--work prints no number within %d s, or fails: %s", COMMAND_S, c->work);
		status = EXIT_FAILED;
	}
	for (; status == EXIT_DONE && !m->stopped && turn < 2 * c->pairs; turn++) {
		bool with = in_turns_with(turn);

		ended = all_ended(c);
		if (ended)
			break;
		if (!c->quiet)
			log_progress("turn %u of %u: %s recording", turn + 1, 2 * c->pairs, with ? "with" : "without");
		if (!with && !turn_without(c, m, &m->without[turn / 2])) {
			m->stopped = true;
			break;
		}
		if (!with)
			continue;
		status = measure_turn_with(c, m, &m->with[turn / 2], c->files->path);
		if (status != EXIT_DONE)
			break;
		if (rotation_made(c->files, &e))
			status = cli_fail(&e, EXIT_FAILED);
		rotation_next(c->files);
	}
	log_progress_end();
	ended = ended || all_ended(c);
	/* the turn in which it ended is none */
	pairs = ended && turn ? (turn - 1) / 2 : turn / 2;
	if (ended)
		log_warn("the target ended in turn %u of %u", turn, 2 * c->pairs);
	if (status == EXIT_FAILED || status == EXIT_USAGE || !pairs) {
		if (status == EXIT_DONE)
			log_warn("stopped before the first pair of turns was over: nothing was measured");
		measured_free(m);
		return status == EXIT_DONE ? EXIT_DEGRADED : status;
	}
	counter = choose_counter(c, m, pairs);
	if (counter < 0 && c->work)
		log_warn(
			"cost not measured: the number that --work prints did not come in some turn, or rose by less than %d; --duration "
			"lengthens the turns",
			FEW);
	else if (counter < 0)
		log_warn(
			"cost not measured: in some turn the target made fewer than %d calls that read or write, and nothing came in over its "
			"network; --work COMMAND names a command that prints how much it has done so far, and --duration lengthens the turns",
			FEW);
	else
		status = tell_cost(c, m, pairs, counter);
	if (counter >= 0 && pairs < c->pairs)
		log_warn("stopped after %u of %u pairs", pairs, c->pairs);
	if (status == EXIT_DONE && (counter < 0 || pairs < c->pairs))
		status = EXIT_DEGRADED;
	measured_free(m);
	return status;
}
