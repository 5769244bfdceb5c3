// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact/args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact/stream.h"

static const char *const log_kinds[EXACT_LOGS] = { "function", "subcalls", "icount", "xfers", "accesses" };

void exact_arg(struct exact_args *a, const char *fmt, ...)
{
	va_list ap;

	if (a->n + 1 >= sizeof(a->v) / sizeof(a->v[0]))
		return;
	va_start(ap, fmt);
	if (vasprintf(&a->v[a->n], fmt, ap) >= 0)
		a->v[++a->n] = NULL;
	va_end(ap);
}

void exact_args_release(struct exact_args *a)
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
static int range_arg(const char *option, const char *text, char list, struct exact_args *a, struct exact_select *s,
		     struct err *e)
{
	char name[1024];
	uint64_t n;
	int err;

	if (!text)
		return 0;
	err = split_count(option, text, name, sizeof(name), &n, e);
	err = err ? err : exact_select_add(s, list, option, name, e);
	if (!err)
		exact_arg(a, "%s=%llu", option, (unsigned long long)n);
	return err;
}

static int range_args(const struct exact_opts *o, struct exact_args *a, struct exact_select *s, struct err *e)
{
	int err = range_arg("--start-at", o->start_at, XS_LIST_START, a, s, e);

	if (o->writers_from && !o->start_at)
		return err_set(e, -EINVAL,
			       "--writers-from wants --start-at: without it all is counted from the beginning");
	err = err ? err : range_arg("--writers-from", o->writers_from, XS_LIST_WRITERS, a, s, e);
	return err ? err : range_arg("--stop-at", o->stop_at, XS_LIST_STOP, a, s, e);
}

/* What is drawn from all that happens, as a recorder would. */
static int emit_args(const struct exact_opts *o, struct exact_args *a, struct err *e)
{
	if (o->emit_samples) {
		char *end;
		unsigned long long period = strtoull(o->emit_samples, &end, 10), seed = 1;

		if (*end == ':')
			seed = strtoull(end + 1, &end, 10);
		if (!period || *end)
			return err_set(e, -EINVAL, "--emit-samples %s: give a period of 1 or more, and perhaps :SEED",
				       o->emit_samples);
		exact_arg(a, "--sample-period=%llu", period);
		exact_arg(a, "--seed=%llu", seed);
	}
	if (o->emit_timer) {
		char *end;
		unsigned long long period = strtoull(o->emit_timer, &end, 10);

		if (period < 100 || *end)
			return err_set(e, -EINVAL, "--emit-timer %s: give a period of 100 cycles or more",
				       o->emit_timer);
		exact_arg(a, "--timer-period=%llu", period);
	}
	if (o->emit_census)
		exact_arg(a, "--census=%llu", (unsigned long long)o->emit_census);
	if (o->emit_windows) {
		exact_arg(a, "--windows=%llu", (unsigned long long)o->emit_windows);
		exact_arg(a, "--window-hits=%llu", (unsigned long long)o->window_hits);
	}
	return 0;
}

/* A power of two from 1 to `most`. */
static bool is_chunk(uint64_t n, uint64_t most)
{
	return n && n <= most && !(n & (n - 1));
}

int exact_args_select(struct exact_args *a, const struct exact_opts *o, struct exact_select *s, struct err *e)
{
	int err = 0;

	if (o->functions)
		err = exact_select_add(s, XS_LIST_FUNCTIONS, "--functions", o->functions, e);
	if (!err && o->candidate)
		err = exact_select_add(s, XS_LIST_CANDIDATES, "--candidate", o->candidate, e);
	return err ? err : range_args(o, a, s, e);
}

int exact_args_make(struct exact_args *a, const struct exact_opts *o, const struct exact_outputs *out, struct err *e)
{
	bool attr_main = !strcmp(o->attribute, "main") || (o->lib_set && !o->lib);

	if (o->chunk != 1 && o->chunk != 4 && o->chunk != 8)
		return err_set(e, -EINVAL, "--chunk %llu: a chunk has 1, 4 or 8 bytes", (unsigned long long)o->chunk);
	if (o->emit_windows && !o->emit_samples)
		return err_set(e, -EINVAL, "--emit-windows draws from the samples: it needs --emit-samples PERIOD");
	/* the engine's own messages must not mix with the program's */
	exact_arg(a, "--log-fd=%d", out->core_log);
	exact_arg(a, "--core-log-fd=%d", out->core_log);
	exact_arg(a, "-q");
	exact_arg(a, "--vgdb=no");
	exact_arg(a, "--demangle=no");
	exact_arg(a, "--show-below-main=yes");
	exact_arg(a, "--sigill-diagnostics=yes");
	exact_arg(a, "--fair-sched=try");
	exact_arg(a, "--max-stackframe=4000000");
	exact_arg(a, "--out-fd=%d", out->stream);
	exact_arg(a, "--chunk=%llu", (unsigned long long)o->chunk);
	exact_arg(a, "--quad=%s", strcmp(o->semantics, "ke") ? "yes" : "no");
	exact_arg(a, "--ke=%s", strcmp(o->semantics, "quad") ? "yes" : "no");
	exact_arg(a, "--unique=%s", o->unique ? "yes" : "no");
	exact_arg(a, "--objects=%s", o->objects ? "yes" : "no");
	exact_arg(a, "--cycles=%s", o->cycles ? "yes" : "no");
	exact_arg(a, "--attr-main=%s", attr_main ? "yes" : "no");
	if (o->callees)
		exact_arg(a, "--callees=yes");
	if (o->slice)
		exact_arg(a, "--slice=%llu", (unsigned long long)o->slice);
	for (unsigned i = 0; i < EXACT_LOGS; i++)
		if (out->log[i] >= 0)
			exact_arg(a, "--log-%s=%d", log_kinds[i], out->log[i]);
	if (!is_chunk(o->xfer_chunk, 4096))
		return err_set(e, -EINVAL, "--xfer-chunk %llu: the bytes of a chunk are a power of two from 1 to 4096",
			       (unsigned long long)o->xfer_chunk);
	exact_arg(a, "--log-stack=%s", strcmp(o->stack, "include") ? "no" : "yes");
	exact_arg(a, "--xfer-chunk=%llu", (unsigned long long)o->xfer_chunk);
	exact_arg(a, "--accesses-most=%llu", (unsigned long long)o->accesses_most);
	return emit_args(o, a, e);
}
