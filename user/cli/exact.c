// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf exact: runs a program under the exact engine and writes a profile. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "exact/convert.h"
#include "exact/dumplog.h"
#include "exact/launch.h"
#include "exact/select.h"
#include "proc/started_as.h"
#include "exact/stream.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/newfile.h"

struct exact_cmd {
	const char *output;
	const char *semantics, *stack, *attribute;
	bool lib, lib_set, unique, cycles, objects, callees;
	const char *functions, *candidate, *start_at, *stop_at;
	uint64_t chunk, slice;
	const char *emit_samples, *emit_timer;
	uint64_t emit_census, emit_windows, window_hits;
	const char *log[10]; /* t and b of function, subcalls, icount, xfers, accesses */
	uint64_t xfer_chunk;
	const char *dump_log;
	bool cmdline, quiet;
};

static const struct exact_cmd defaults = {
	.output = "accperf.data",
	.semantics = "both",
	.stack = "exclude",
	.attribute = "self",
	.lib = true,
	.unique = true,
	.chunk = 4,
	.window_hits = 64,
	.xfer_chunk = 4,
};

#define AT(field) .offset = offsetof(struct exact_cmd, field)
static const struct opt options[] = {
	{ OPT_GROUP, .help = "What is counted" },
	{ OPT_STRING, 0, "attribute", AT(attribute), .arg = "self|main",
	  .help = "an access belongs to the function that makes it, or to the latest function of the main program on the call stack (self)" },
	{ OPT_BOOL, 0, "lib", AT(lib), .set_offset = offsetof(struct exact_cmd, lib_set),
	  .help = "library functions stand by themselves, as --attribute self; --no-lib: as --attribute main" },
	{ OPT_STRING, 0, "functions", AT(functions), .arg = "LIST",
	  .help = "only these, each with all it calls; the rest is (outside). Names or glob patterns with commas between them; @FILE: one a line" },
	{ OPT_STRING, 0, "start-at", AT(start_at), .arg = "FN[:N]",
	  .help = "count from the N-th call of FN on; what was written before belongs to (before attach)" },
	{ OPT_STRING, 0, "stop-at", AT(stop_at), .arg = "FN[:N]", .help = "stop counting at the N-th call of FN" },
	{ OPT_UINT, 0, "chunk", AT(chunk), .arg = "1|4|8", .help = "bytes per chunk of the ke semantics (4)" },
	{ OPT_STRING, 0, "semantics", AT(semantics), .arg = "both|quad|ke",
	  .help = "quad: every byte read counts; ke: once per invocation and write (both)" },
	{ OPT_STRING, 0, "stack", AT(stack), .arg = "exclude|include",
	  .help = "what readers show unless told otherwise, and the xfers log; both are measured (exclude)" },
	{ OPT_GROUP, .help = "Cost" },
	{ OPT_BOOL, 0, "unique", AT(unique),
	  .help = "sets of unique addresses: UMA figures (on); --no-unique is faster and smaller" },
	{ OPT_BOOL, 0, "cycles", AT(cycles), .help = "a static cost model with simulated caches: time-like figures" },
	{ OPT_GROUP, .help = "More results" },
	{ OPT_BOOL, 0, "objects", AT(objects),
	  .help = "data objects: globals, heap blocks by allocation site, stack frames, and who uses them" },
	{ OPT_STRING, 0, "candidate", AT(candidate), .arg = "LIST",
	  .help = "communication in, out and local of these, each with all it calls; names as of --functions" },
	{ OPT_BOOL, 0, "callees", AT(callees),
	  .help = "the same of every function, and the call tree with the bytes between its paths" },
	{ OPT_UINT, 0, "slice", AT(slice), .arg = "N", .help = "bytes per function per N instructions, for timeline" },
	{ OPT_GROUP, .help = "Synthetic samples of the same run" },
	{ OPT_STRING, 0, "emit-samples", AT(emit_samples), .arg = "PERIOD[:SEED]",
	  .help = "one in PERIOD loads, stores and instructions, at random distances" },
	{ OPT_STRING, 0, "emit-timer", AT(emit_timer), .arg = "PERIOD",
	  .help = "samples by the cost model's time, one in PERIOD cycles, and the accesses of the block found" },
	{ OPT_UINT, 0, "emit-census", AT(emit_census), .arg = "N",
	  .help = "the first N executions of every store instruction" },
	{ OPT_UINT, 0, "emit-windows", AT(emit_windows), .arg = "COUNT",
	  .help = "COUNT to 2 COUNT watch windows on sampled accesses (needs --emit-samples)" },
	{ OPT_UINT, 0, "window-hits", AT(window_hits), .arg = "N", .help = "most hits of a window (64)" },
	{ OPT_GROUP, .help = "Logs by invocation, as Kim & Edwards' tool: text and binary" },
	{ OPT_STRING, 0, "tfunction", AT(log[0]), .arg = "FILE", .help = "number, name, object of every function" },
	{ OPT_STRING, 0, "bfunction", AT(log[1]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_STRING, 0, "tsubcalls", AT(log[2]), .arg = "FILE",
	  .help = "invocation, the one that called it, function" },
	{ OPT_STRING, 0, "bsubcalls", AT(log[3]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_STRING, 0, "ticount", AT(log[4]), .arg = "FILE",
	  .help = "invocation, its instructions, those that compute" },
	{ OPT_STRING, 0, "bicount", AT(log[5]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_STRING, 0, "txfers", AT(log[6]), .arg = "FILE",
	  .help = "reading invocation, writing one (0: nobody's), chunks" },
	{ OPT_STRING, 0, "bxfers", AT(log[7]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_STRING, 0, "accesses", AT(log[8]), .arg = "FILE",
	  .help = "every load and store as CSV: time, function, its call, address, size, object (with --objects)" },
	{ OPT_STRING, 0, "baccesses", AT(log[9]), .arg = "FILE", .help = "the same, binary" },
	{ OPT_UINT, 0, "xfer-chunk", AT(xfer_chunk), .arg = "N",
	  .help = "bytes per chunk of the xfers log: a power of two up to 4096, as of a cache line or a page (4)" },
	{ OPT_STRING, 0, "dump-log", AT(dump_log), .arg = "FILE", .help = "print a binary log as text; runs nothing" },
	{ OPT_GROUP, .help = "Output" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE", .help = "profile to write (accperf.data)" },
	{ OPT_BOOL, 0, "cmdline", AT(cmdline),
	  .help = "store the whole command line, arguments and the secrets in them included" },
	{ OPT_BOOL, 'q', "quiet", AT(quiet), .help = "no progress and no closing line" },
	OPT_END
};

static const char *const log_kinds[] = { "function", "subcalls", "icount", "xfers", "accesses" };
#define LOGS 5

/* What the engine writes to. It gets descriptors and no names: a name that it opened could be a link that
 * somebody planted, and would stay when all is killed. */
struct outputs {
	int stream, core_log, lists, log[LOGS]; /* -1: not wanted */
	struct newfile binary[LOGS];            /* whose descriptor log[i] is where the binary form is kept */
};

static void outputs_close(struct outputs *out)
{
	int fds[] = { out->stream, out->core_log, out->lists };

	for (unsigned i = 0; i < LOGS; i++) {
		if (out->log[i] >= 0 && out->log[i] != out->binary[i].fd)
			close(out->log[i]);
		newfile_drop(&out->binary[i]);
	}
	for (unsigned i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* A long run must not fail at its end for what could be known before. */
static int try_output(const char *path, unsigned flags, struct err *e)
{
	struct newfile n;
	int err = newfile_open(&n, AT_FDCWD, path, flags, e);

	if (!err)
		newfile_drop(&n);
	return err;
}

static int outputs_open(struct outputs *out, const struct exact_cmd *o, struct err *e)
{
	*out = (struct outputs){ .stream = -1, .core_log = -1, .lists = -1 };
	for (unsigned i = 0; i < LOGS; i++)
		out->log[i] = out->binary[i].fd = -1;
	if (try_output(o->output, 0, e))
		return e->code;
	out->stream = newfile_nameless(o->output, e);
	out->core_log = out->stream < 0 ? -1 : newfile_nameless(o->output, e);
	if (out->core_log < 0)
		return e->code;
	for (unsigned i = 0; i < LOGS; i++) {
		const char *text = o->log[2 * i], *binary = o->log[2 * i + 1];

		if (binary && newfile_open(&out->binary[i], AT_FDCWD, binary, NEWFILE_THROUGH, e))
			return e->code;
		if (text && try_output(text, NEWFILE_THROUGH, e))
			return e->code;
		out->log[i] = binary ? out->binary[i].fd : text ? newfile_nameless(text, e) : -1;
		if (out->log[i] < 0 && text)
			return e->code;
	}
	return 0;
}

/* The stream of a copy of fd, from the file's beginning. */
static FILE *stream_of(int fd, const char *mode)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *f = copy >= 0 ? fdopen(copy, mode) : NULL;

	if (!f && copy >= 0)
		close(copy);
	if (f && *mode == 'r')
		rewind(f);
	return f;
}

static int log_as_text(FILE *in, const char *path, struct err *e)
{
	struct newfile n;
	bool cut;
	FILE *out;
	int err = newfile_open(&n, AT_FDCWD, path, NEWFILE_THROUGH, e);

	if (err)
		return err;
	out = stream_of(n.fd, "w");
	if (!out || !in)
		err = err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	else if ((err = kelog_text(in, out, &cut, e)))
		err_prefix(e, "%s", path);
	if (out && fclose(out) && !err)
		err = err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	if (!err)
		return newfile_commit(&n, e);
	newfile_drop(&n);
	return err;
}

/* The tool writes binary only; text is made of it. */
static int finish_logs(const struct exact_cmd *o, struct outputs *out, struct err *e)
{
	int err = 0;

	for (unsigned i = 0; i < LOGS && !err; i++) {
		if (o->log[2 * i]) {
			FILE *in = stream_of(out->log[i], "r");

			err = log_as_text(in, o->log[2 * i], e);
			if (in)
				fclose(in);
		}
		if (!err && o->log[2 * i + 1]) {
			out->log[i] = -1;
			err = newfile_commit(&out->binary[i], e);
		}
	}
	return err;
}

struct args {
	char *v[64];
	unsigned n;
};

static void __attribute__((format(printf, 2, 3))) arg(struct args *a, const char *fmt, ...)
{
	va_list ap;

	if (a->n + 1 >= sizeof(a->v) / sizeof(a->v[0]))
		return;
	va_start(ap, fmt);
	if (vasprintf(&a->v[a->n], fmt, ap) >= 0)
		a->v[++a->n] = NULL;
	va_end(ap);
}

static void args_release(struct args *a)
{
	while (a->n)
		free(a->v[--a->n]);
}

/* "FN", "FN:3" -> name and count. */
static int split_count(const char *what, const char *text, char *name, size_t size, uint64_t *n, struct err *e)
{
	const char *colon = strrchr(text, ':');
	char *end;

	*n = 1;
	/* C++ names hold colons; only a number after the last one is a count */
	if (colon && colon[1] >= '0' && colon[1] <= '9') {
		*n = strtoull(colon + 1, &end, 10);
		if (*end || !*n || *n > INT32_MAX)
			return err_set(e, -EINVAL, "%s %s: the count after the colon must be 1 or more", what, text);
	} else {
		colon = NULL;
	}
	snprintf(name, size, "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
	return *name ? 0 : err_set(e, -EINVAL, "%s needs a function's name", what);
}

/* All lists of functions: where counting begins and ends is the N-th call of one. */
static int range_args(const struct exact_cmd *o, struct args *a, struct exact_select *s, struct err *e)
{
	char name[1024];
	uint64_t n;
	int err;

	if (o->start_at) {
		err = split_count("--start-at", o->start_at, name, sizeof(name), &n, e);
		if (err)
			return err;
		err = exact_select_add(s, XS_LIST_START, "--start-at", name, e);
		if (err)
			return err;
		arg(a, "--start-n=%llu", (unsigned long long)n);
	}
	if (o->stop_at) {
		err = split_count("--stop-at", o->stop_at, name, sizeof(name), &n, e);
		if (err)
			return err;
		err = exact_select_add(s, XS_LIST_STOP, "--stop-at", name, e);
		if (err)
			return err;
		arg(a, "--stop-n=%llu", (unsigned long long)n);
	}
	return 0;
}

/* What is drawn from all that happens, as a recorder would. */
static int emit_args(const struct exact_cmd *o, struct args *a, struct err *e)
{
	if (o->emit_samples) {
		char *end;
		unsigned long long period = strtoull(o->emit_samples, &end, 10), seed = 1;

		if (*end == ':')
			seed = strtoull(end + 1, &end, 10);
		if (!period || *end)
			return err_set(e, -EINVAL, "--emit-samples %s: give a period of 1 or more, and perhaps :SEED",
				       o->emit_samples);
		arg(a, "--sample-period=%llu", period);
		arg(a, "--seed=%llu", seed);
	}
	if (o->emit_timer) {
		char *end;
		unsigned long long period = strtoull(o->emit_timer, &end, 10);

		if (period < 100 || *end)
			return err_set(e, -EINVAL, "--emit-timer %s: give a period of 100 cycles or more",
				       o->emit_timer);
		arg(a, "--timer-period=%llu", period);
	}
	if (o->emit_census)
		arg(a, "--census=%llu", (unsigned long long)o->emit_census);
	if (o->emit_windows) {
		arg(a, "--windows=%llu", (unsigned long long)o->emit_windows);
		arg(a, "--window-hits=%llu", (unsigned long long)o->window_hits);
	}
	return 0;
}

/* A power of two from 1 to `most`. */
static bool is_chunk(uint64_t n, uint64_t most)
{
	return n && n <= most && !(n & (n - 1));
}

static int select_functions(const struct exact_cmd *o, struct args *a, struct exact_select *s, struct err *e)
{
	int err = 0;

	if (o->functions)
		err = exact_select_add(s, XS_LIST_FUNCTIONS, "--functions", o->functions, e);
	if (!err && o->candidate)
		err = exact_select_add(s, XS_LIST_CANDIDATES, "--candidate", o->candidate, e);
	return err ? err : range_args(o, a, s, e);
}

static int tool_args(const struct exact_cmd *o, const struct outputs *out, struct args *a, struct err *e)
{
	bool attr_main = !strcmp(o->attribute, "main") || (o->lib_set && !o->lib);

	if (o->chunk != 1 && o->chunk != 4 && o->chunk != 8)
		return err_set(e, -EINVAL, "--chunk %llu: a chunk has 1, 4 or 8 bytes", (unsigned long long)o->chunk);
	if (o->emit_windows && !o->emit_samples)
		return err_set(e, -EINVAL, "--emit-windows draws from the samples: it needs --emit-samples PERIOD");
	/* the engine's own messages must not mix with the program's */
	arg(a, "--log-fd=%d", out->core_log);
	arg(a, "--core-log-fd=%d", out->core_log);
	arg(a, "-q");
	arg(a, "--vgdb=no");
	arg(a, "--demangle=no");
	arg(a, "--show-below-main=yes");
	arg(a, "--sigill-diagnostics=yes");
	arg(a, "--fair-sched=try");
	arg(a, "--max-stackframe=4000000");
	arg(a, "--out-fd=%d", out->stream);
	arg(a, "--chunk=%llu", (unsigned long long)o->chunk);
	arg(a, "--quad=%s", strcmp(o->semantics, "ke") ? "yes" : "no");
	arg(a, "--ke=%s", strcmp(o->semantics, "quad") ? "yes" : "no");
	arg(a, "--unique=%s", o->unique ? "yes" : "no");
	arg(a, "--objects=%s", o->objects ? "yes" : "no");
	arg(a, "--cycles=%s", o->cycles ? "yes" : "no");
	arg(a, "--attr-main=%s", attr_main ? "yes" : "no");
	if (o->callees)
		arg(a, "--callees=yes");
	if (o->slice)
		arg(a, "--slice=%llu", (unsigned long long)o->slice);
	for (unsigned i = 0; i < LOGS; i++)
		if (out->log[i] >= 0)
			arg(a, "--log-%s=%d", log_kinds[i], out->log[i]);
	if (!is_chunk(o->xfer_chunk, 4096))
		return err_set(e, -EINVAL, "--xfer-chunk %llu: the bytes of a chunk are a power of two from 1 to 4096",
			       (unsigned long long)o->xfer_chunk);
	arg(a, "--log-stack=%s", strcmp(o->stack, "include") ? "no" : "yes");
	arg(a, "--xfer-chunk=%llu", (unsigned long long)o->xfer_chunk);
	return emit_args(o, a, e);
}

struct progress {
	uint64_t start; /* ns */
	const char *command;
	bool quiet;
};

static void show_seconds(void *ctx)
{
	struct progress *p = ctx;

	if (p->quiet)
		return;
	log_progress("%s under the exact engine: %llu s", p->command,
		     (unsigned long long)((clock_now() - p->start) / 1000000000u));
}

/* What Valgrind's core had to say that helps: not its stack traces and statistics. `why` receives a
 * reason for an early end, if one is there. */
static void show_log(int fd, char *why, size_t size)
{
	static const char *const useful[] = {
		"Process terminating",           "Access not within", "Bad permissions", "Unrecognised instruction",
		"unhandled instruction bytes",   "valgrind:",         "accperf:",        "cannot",
		"unhandled amd64-linux syscall", "not implemented"
	};
	FILE *f = stream_of(fd, "r");
	char line[400];
	unsigned shown = 0;

	while (f && fgets(line, sizeof(line), f)) {
		char *s = line;

		line[strcspn(line, "\n")] = 0;
		s += strspn(s, "=-0123456789: ");
		if (strstr(s, "out of memory"))
			snprintf(why, size, "memory ran out: the engine needs several times what the program uses");
		for (size_t i = 0; i < sizeof(useful) / sizeof(useful[0]) && shown < 5; i++)
			if (strstr(s, useful[i])) {
				log_warn("engine: %s", s);
				shown++;
				break;
			}
	}
	if (f)
		fclose(f);
}

static void write_exact_meta(struct store_writer *w, const struct exact_cmd *o, char **argv)
{
	AUTO_BUF(cmd);
	struct fmt_process p = { .pid = 1 };
	const char *slash = strrchr(argv[0], '/');

	for (int i = 0; argv[i] && (!i || o->cmdline); i++)
		buf_addf(&cmd, "%s%s", i ? " " : "", argv[i]);
	store_meta(w, "engine", "exact");
	store_meta(w, "version", ACCPERF_VERSION);
	store_meta(w, "semantics", strcmp(o->semantics, "ke") ? "quad" : "ke");
	store_meta(w, "stack", o->stack);
	store_meta(w, "attribute", o->lib_set && !o->lib ? "main" : o->attribute);
	store_metaf(w, "chunk", "%llu", (unsigned long long)o->chunk);
	store_meta(w, "command", cmd.data);
	if (o->functions)
		store_meta(w, "functions", o->functions);
	if (o->start_at)
		store_meta(w, "start_at", o->start_at);
	if (o->stop_at)
		store_meta(w, "stop_at", o->stop_at);
	if (o->emit_samples)
		store_meta(w, "exact.samples", o->emit_samples);
	if (o->emit_timer)
		store_meta(w, "exact.timer", o->emit_timer);
	if (o->emit_census) {
		store_metaf(w, "exact.census", "%llu", (unsigned long long)o->emit_census);
		/* older profiles do not say which instructions stored to the stack, too */
		store_metaf(w, "census_limit", "%llu", (unsigned long long)o->emit_census);
	}
	if (o->emit_windows)
		store_metaf(w, "exact.windows", "%llu", (unsigned long long)o->emit_windows);
	p.comm = store_string(w, slash ? slash + 1 : argv[0]);
	p.cmdline = store_string(w, cmd.data);
	store_put(w, FMT_PROCESS, &p, sizeof(p));
}

static void format_bytes(char *text, size_t size, uint64_t bytes, uint64_t unique)
{
	if (unique == FMT_X_UNKNOWN)
		snprintf(text, size, "%llu B", (unsigned long long)bytes);
	else
		snprintf(text, size, "%llu B (%llu UMA)", (unsigned long long)bytes, (unsigned long long)unique);
}

/* What an accelerator for this call tree would have to be sent, to send back, and could keep. */
static void show_candidates(const struct exact_result *res)
{
	for (size_t i = 0; i < res->subtree_count; i++) {
		const struct exact_subtree *s = &res->subtrees[i];
		char in[64], out[64], local[64];

		format_bytes(in, sizeof(in), s->rec.in[0], s->rec.in_unique[0]);
		format_bytes(out, sizeof(out), s->rec.out[0], s->rec.out_unique[0]);
		format_bytes(local, sizeof(local), s->rec.local[0], s->rec.local_unique[0]);
		log_info("%s and all it calls: in %s, out %s, local %s; stack %llu B in, %llu B out", s->name, in, out,
			 local, (unsigned long long)s->rec.in[1], (unsigned long long)s->rec.out[1]);
	}
}

/* What was listed and did not run: an error if nothing of its list did, or if no such function is known at all. */
static int check_listed(const struct exact_cmd *o, struct exact_select *select, const struct exact_result *res,
			struct err *e)
{
	const struct exact_wanted *missing = NULL;

	if (exact_select_verify(select, &missing, e))
		return e->code;
	if (missing)
		log_warn("%s: '%s' did not run", missing->option, missing->text);
	if (o->start_at && !res->run.counted)
		return err_set(e, -ENODATA, "--start-at %s: it was not called that often; nothing was counted",
			       o->start_at);
	return 0;
}

/* What the engine left behind, and how the program ended. */
struct ended {
	int stream, status;
	const char *why, *program;
	struct exact_select *select;
};

static int write_result(const struct exact_cmd *o, const struct ended *run, char **argv, struct err *e)
{
	int status = run->status;
	const char *why = run->why;
	char name[2 * PATH_MAX];
	struct store_writer *w = store_create(o->output, STORE_KEEP_OLD | STORE_TIMELESS | STORE_WHEN_DONE, e);
	struct exact_result res;
	struct fmt_end end = { .reason = FMT_END_DONE, .exit_status = (uint32_t)status };
	int err, rc = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	if (!w)
		return cli_fail(e, EXIT_FAILED);
	write_exact_meta(w, o, argv);
	if (started_as_of_path(run->program, name, sizeof(name)))
		store_meta(w, META_STARTED_AS, name);
	err = exact_convert(run->stream, w, run->select, &res, e);
	if (!err && !res.has_run)
		err = err_set(e, -ENODATA, "%s ended before anything was measured%s%s", argv[0], *why ? ": " : "", why);
	if (!err && *why)
		snprintf(res.why, sizeof(res.why), "%s", why);
	if (!err && WIFSIGNALED(status)) {
		if (!res.why[0])
			snprintf(res.why, sizeof(res.why), "the program was ended by signal %d (%s)", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
	}
	if (!err && res.why[0]) {
		store_meta(w, "incomplete", res.why);
		end.reason = WIFSIGNALED(status) ? FMT_END_SIGNAL : FMT_END_TARGET_GONE;
		log_warn("%s; what was measured until then is in %s, marked incomplete", res.why, o->output);
	}
	end.samples = res.samples;
	if (!err)
		store_put(w, FMT_END, &end, sizeof(end));
	if (err)
		store_abandon(w);
	else
		err = store_close(w, e);
	if (err) {
		exact_result_release(&res);
		return cli_fail(e, EXIT_FAILED);
	}
	if (!o->quiet && !o->callees)
		show_candidates(&res);
	err = check_listed(o, run->select, &res, e);
	exact_result_release(&res);
	if (!o->quiet)
		log_msg(LOG_INFO, "%.1f million instructions, %llu functions, %llu edges, %llu samples -> %s",
			res.run.counted / 1e6, (unsigned long long)res.functions, (unsigned long long)res.edges,
			(unsigned long long)res.samples, o->output);
	return err ? cli_fail(e, EXIT_FAILED) : rc;
}

static int dump_log(const char *path)
{
	struct err e = { 0 };
	bool cut = false;
	FILE *in = fopen(path, "rbe");
	int err;

	if (!in)
		err = err_set(&e, -errno, "cannot read %s: %s", path, strerror(errno));
	else if ((err = kelog_text(in, stdout, &cut, &e)))
		err_prefix(&e, "%s", path);
	if (in)
		fclose(in);
	if (err)
		return cli_fail(&e, EXIT_FAILED);
	if (cut)
		log_warn("%s ends inside a record: the run was cut short", path);
	return cut ? EXIT_DEGRADED : EXIT_DONE;
}

struct where {
	const char *dir;     /* of the tool */
	const char *program; /* its path */
};

/* The tool's command line: EXIT_USAGE, EXIT_FAILED with the reason, or 0. */
static int prepare_tool(const struct exact_cmd *o, const struct where *at, struct outputs *out,
			struct exact_select *select, struct args *a, struct err *e)
{
	if (tool_args(o, out, a, e) || select_functions(o, a, select, e))
		return EXIT_USAGE;
	if (exact_select_check(select, at->program, e))
		return EXIT_USAGE;
	out->lists = exact_select_file(select);
	if (out->lists < 0) {
		err_set(e, -errno, "cannot hand over the lists of functions: %s", strerror(errno));
		return EXIT_FAILED;
	}
	arg(a, "--lists-fd=%d", out->lists);
	return 0;
}

static int run_tool(const struct exact_cmd *o, const struct where *at, struct outputs *out, char **argv, struct err *e)
{
	struct progress p = { .command = argv[0], .quiet = o->quiet };
	struct args a = { .n = 0 };
	struct exact_select select = { .count = 0 };
	struct ended end = { .stream = out->stream, .program = at->program, .select = &select };
	char why[200] = "";
	int rc = prepare_tool(o, at, out, &select, &a, e);
	const int fds[3] = { out->stream, out->core_log, out->lists };
	int pass[3 + LOGS + 1], n = 0;

	for (int i = 0; i < 3 + LOGS; i++) {
		int fd = i < 3 ? fds[i] : out->log[i - 3];

		if (fd >= 0)
			pass[n++] = fd;
	}
	pass[n] = -1;
	p.start = clock_now();
	if (!rc && exact_run(at->dir, &(struct exact_launch){ a.v, argv, pass }, &end.status, show_seconds, &p, e))
		rc = EXIT_FAILED;
	args_release(&a);
	if (rc) {
		exact_select_release(&select);
		return cli_fail(e, rc);
	}
	log_progress_end();
	show_log(out->core_log, why, sizeof(why));
	end.why = why;
	rc = write_result(o, &end, argv, e);
	exact_select_release(&select);
	return finish_logs(o, out, e) ? cli_fail(e, EXIT_FAILED) : rc;
}

static int cmd_exact(void *opts, int argc, char **argv)
{
	struct exact_cmd *o = opts;
	struct err e = { 0 };
	struct outputs out;
	char dir[PATH_MAX], path[PATH_MAX];
	int rc;

	if (o->dump_log)
		return dump_log(o->dump_log);
	if (!argc) {
		err_set(&e, -EINVAL, "which program? accperf exact [options] -- CMD ARGS");
		return cli_fail(&e, EXIT_USAGE);
	}
	if (exact_find_tool(dir, sizeof(dir), &e) || exact_check_target(argv[0], path, sizeof(path), &e))
		return cli_fail(&e, EXIT_FAILED);
	rc = outputs_open(&out, o, &e) ? cli_fail(&e, EXIT_FAILED)
				       : run_tool(o, &(struct where){ dir, path }, &out, argv, &e);
	outputs_close(&out);
	return rc;
}

CLI_COMMAND(exact) = {
	.name = "exact",
	.summary = "Run a program under the exact engine: every load, store and operation",
	.order = 20,
	.run = cmd_exact,
	.runs_command = true,
	.options = options,
	.opt_size = sizeof(struct exact_cmd),
	.defaults = &defaults,
	.usage = "[options] -- CMD ARGS",
	.details =
		"Counts, to the byte, what one function writes and another reads, what each function computes, and "
		"through which calls it was reached. Fifty times slower than the program alone; use it for short "
		"inputs and as the truth that sampled profiles are compared with. The profile is read by report, flow, "
		"objects, timeline and compare.\n\n"
		"Two semantics are measured in one run. quad: every byte read counts, from the function that wrote it "
		"last to the one that reads it. ke: a chunk read again by the same invocation, with no write between, "
		"counts once; a write clears it. Accesses between the stack pointer (less 128 bytes) and the base of "
		"the thread's stack are kept apart.\n\n"
		"Bytes that a system call wrote belong to (kernel:NAME); bytes nobody was seen to write, such as "
		"constants in files, to (outside). Computation is arithmetic and logic on the machine instruction: "
		"neither moves nor jumps.\n\n"
		"The exit status is the program's own, 128 + N after signal N; 1 if nothing could be measured, 2 for "
		"wrong usage.",
	.examples =
		"accperf exact -- ./convert in.ppm out.ppm\tmeasure a short run\n"
		"accperf exact --functions decode,scale,encode -- ./convert in out\tthree stages, each with its callees\n"
		"accperf exact --emit-samples 1000:7 -- ./convert in out\tsamples and truth of the same run\n",
	.max_args = -1,
};
