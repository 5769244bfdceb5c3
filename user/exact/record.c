// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact/record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "exact/args.h"
#include "exact/convert.h"
#include "exact/launch.h"
#include "exact/outputs.h"
#include "exact/select.h"
#include "format.h"
#include "proc/started_as.h"
#include "store/write.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/log.h"

struct exact_progress {
	uint64_t start; /* ns */
	const char *command;
	bool quiet;
};

static void show_seconds(void *ctx)
{
	struct exact_progress *p = ctx;

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
	FILE *f = exact_stream_of(fd, "r");
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

static void write_exact_meta(struct store_writer *w, const struct exact_opts *o, char *const *argv)
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
	if (o->writers_from)
		store_meta(w, "writers_from", o->writers_from);
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
static int check_listed(const struct exact_opts *o, struct exact_select *select, const struct exact_result *res,
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

static int write_result(const struct exact_opts *o, const struct ended *run, char *const *argv, struct err *e)
{
	int status = run->status;
	const char *why = run->why;
	char name[2 * PATH_MAX];
	struct store_writer *w = store_create(o->output, STORE_KEEP_OLD | STORE_TIMELESS | STORE_WHEN_DONE, e);
	struct exact_result res;
	struct fmt_end end = { .reason = FMT_END_DONE, .exit_status = (uint32_t)status };
	int err;

	if (!w)
		return e->code;
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
		return err;
	}
	if (!o->quiet && !o->callees)
		show_candidates(&res);
	err = check_listed(o, run->select, &res, e);
	exact_result_release(&res);
	if (!o->quiet)
		log_msg(LOG_INFO, "%.1f million instructions, %llu functions, %llu edges, %llu samples -> %s",
			res.run.counted / 1e6, (unsigned long long)res.functions, (unsigned long long)res.edges,
			(unsigned long long)res.samples, o->output);
	return err;
}

struct where {
	const char *dir;     /* of the tool */
	const char *program; /* its path */
};

/* What fails here is what was asked for. */
static int prepare_tool(const struct exact_opts *o, const char *program, const struct exact_outputs *out,
			struct exact_select *select, struct exact_args *a, struct err *e)
{
	int err = exact_args_make(a, o, out, e);

	if (!err)
		err = exact_args_select(a, o, select, e);
	return err ? err : exact_select_check(select, program, e);
}

static int hand_over_lists(const struct exact_select *select, struct exact_outputs *out, struct exact_args *a,
			   struct err *e)
{
	out->lists = exact_select_file(select);
	if (out->lists < 0)
		return err_set(e, -errno, "cannot hand over the lists of functions: %s", strerror(errno));
	exact_arg(a, "--lists-fd=%d", out->lists);
	return 0;
}

/* The logs are kept, too, where the profile could not be. */
static int keep_results(const struct exact_opts *o, struct exact_outputs *out, struct ended *end, char *const *argv,
			struct err *e)
{
	char why[200] = "";
	struct err second = { 0 };
	int err, logs;

	show_log(out->core_log, why, sizeof(why));
	end->why = why;
	err = write_result(o, end, argv, e);
	logs = exact_outputs_finish(out, o, err ? &second : e);
	if (err && logs)
		log_error("%s", second.text);
	return err ? err : logs;
}

static int run_tool(const struct exact_opts *o, const struct where *at, struct exact_outputs *out, char *const *argv,
		    struct exact_end *end, struct err *e)
{
	struct exact_progress p = { .command = argv[0], .quiet = o->quiet, .start = clock_now() };
	struct exact_args a = { .n = 0 };
	struct exact_select select = { .count = 0 };
	struct ended run = { .stream = out->stream, .program = at->program, .select = &select };
	int err = prepare_tool(o, at->program, out, &select, &a, e), n = 0, pass[3 + EXACT_LOGS + 1];

	end->usage = err;
	if (!err)
		err = hand_over_lists(&select, out, &a, e);
	for (int i = 0; i < 3 + EXACT_LOGS; i++) {
		int fd = i < 3 ? (const int[]){ out->stream, out->core_log, out->lists }[i] : out->log[i - 3];

		if (fd >= 0)
			pass[n++] = fd;
	}
	pass[n] = -1;
	if (!err)
		err = exact_run(at->dir, &(struct exact_launch){ a.v, argv, pass }, &run.status, show_seconds, &p, e);
	exact_args_release(&a);
	if (!err) {
		log_progress_end();
		end->status = run.status;
		err = keep_results(o, out, &run, argv, e);
	}
	exact_select_release(&select);
	return err;
}

int exact_record(const struct exact_opts *o, char *const *argv, struct exact_end *end, struct err *e)
{
	struct exact_outputs out;
	char dir[PATH_MAX], path[PATH_MAX];
	int err = exact_find_tool(dir, sizeof(dir), e);

	*end = (struct exact_end){ 0 };
	if (!err)
		err = exact_check_target(argv[0], path, sizeof(path), e);
	if (err)
		return err;
	err = exact_outputs_open(&out, o, e);
	if (!err)
		err = run_tool(o, &(struct where){ dir, path }, &out, argv, end, e);
	exact_outputs_close(&out);
	return err;
}
