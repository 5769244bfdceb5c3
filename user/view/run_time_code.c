// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/run_time_code.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/map.h"

/* A process is run by it if its name or one of the files that its samples stand in has the pattern. In advice %u is the
 * process. `own`: its interpreter tells the names of what it runs, too, so its own code is hidden as well. */
static const struct runtime {
	const char *name, *comm, *object, *own, *advice;
} runtimes[] = {
	{ "Java", "java", "libjvm.so", NULL,
	  "`jcmd %u Compiler.perfmap` (JDK 17 and later), then record again while it runs; "
	  "java -XX:+PreserveFramePointer makes its stacks whole" },
	{ "Node.js", "node", "node", NULL, "start it with `node --perf-basic-prof`" },
	{ ".NET", "dotnet", "libcoreclr.so", NULL, "start it with DOTNET_PerfMapEnabled=1 in its environment" },
	{ "Erlang", "beam.smp", "beam.smp", NULL, "start it with `erl +JPperf true`" },
	{ "Python", "python3.1[2-9]", "*python3.1[2-9]*", "*python3.1[2-9]*",
	  "start it with `python3 -X perf` (or PYTHONPERFSUPPORT=1), and its functions have names" },
	{ NULL, "*", "*", NULL, "if its runtime can write /tmp/perf-%u.map, let it, and record again" },
};
#define RUNTIMES (sizeof(runtimes) / sizeof(runtimes[0]))

struct ran {
	uint32_t pid;
	const char *comm;
	double all, nameless, own[RUNTIMES]; /* time: in code that no file holds and nobody named; in the interpreter */
	uint64_t nameless_samples, own_samples[RUNTIMES];
	uint32_t by; /* bits: runtimes whose object it has */
	bool named;  /* some of its run-time code has names */
};

/* What a module says of whose process it is in, asked once: there are millions of frames. */
struct module_says {
	uint32_t by, own; /* bits: runtimes */
	bool named, nameless;
};

struct ran_list {
	struct ran *at;
	size_t count, cap;
	struct map by_pid;
};

static struct ran *ran_of(struct ran_list *l, const struct profile_thread *t)
{
	bool added;
	uint64_t *i = map_put(&l->by_pid, t->pid, &added);

	if (i && added) {
		if (!GROW(l->at, l->count, l->cap, 8))
			return NULL;
		l->at[l->count] = (struct ran){ .pid = t->pid, .comm = t->comm };
		*i = l->count++;
	}
	return i && *i < l->count ? &l->at[*i] : NULL;
}

static bool fits(const char *pattern, const char *name)
{
	return pattern && name && !fnmatch(pattern, name, 0);
}

/* NULL: none says anything, so that no stack need be looked at; or out of memory. */
static struct module_says *ask_modules(const struct profile *p)
{
	struct module_says *says = calloc(p->module_count + 1, sizeof(*says));
	bool any = false;

	for (size_t i = 0; says && i < p->module_count; i++) {
		const struct profile_module *m = &p->modules[i];

		says[i].named = m->kind == FMT_MOD_JIT;
		says[i].nameless = m->kind == FMT_MOD_ANON;
		/* the last is what none of the others is */
		for (size_t k = 0; k + 1 < RUNTIMES && m->kind == FMT_MOD_FILE; k++) {
			says[i].by |= (uint32_t)fits(runtimes[k].object, m->object) << k;
			says[i].own |= (uint32_t)fits(runtimes[k].own, m->object) << k;
		}
		any |= says[i].named || says[i].nameless || says[i].by || says[i].own;
	}
	if (any)
		return says;
	free(says);
	return NULL;
}

static void look_at(struct ran *r, const struct profile *p, const struct module_says *says,
		    const struct profile_cell *c, enum profile_unit unit)
{
	const struct profile_stack *s = &p->stacks[c->stack];
	const struct module_says *leaf = NULL;

	r->all += c->weight[unit];
	for (uint32_t i = 0; i < s->count; i++) {
		const struct module_says *m = &says[p->frames[p->stack_frames[s->first + i]].module];

		r->named |= m->named;
		r->by |= m->by;
		leaf = leaf ? leaf : m;
	}
	if (leaf && leaf->nameless) {
		r->nameless += c->weight[unit];
		r->nameless_samples += c->samples[unit];
	}
	for (size_t k = 0; leaf && k < RUNTIMES; k++) {
		if (leaf->own >> k & 1) {
			r->own[k] += c->weight[unit];
			r->own_samples[k] += c->samples[unit];
		}
	}
}

static bool is_many(double time, uint64_t samples, double all)
{
	return samples >= RUN_TIME_SAMPLES && time >= RUN_TIME_SHARE * all;
}

/* False: nothing is to be said of it. */
static bool judge(const struct ran *r, double all, struct run_time_hint *out)
{
	size_t k = 0;
	bool nameless = is_many(r->nameless, r->nameless_samples, all), own;
	char advice[300];

	while (!(r->by >> k & 1) && !fits(runtimes[k].comm, r->comm) && k + 1 < RUNTIMES)
		k++;
	own = !nameless && !r->named && is_many(r->own[k], r->own_samples[k], all);
	if (!nameless && !own)
		return false;
	*out = (struct run_time_hint){ .pid = r->pid,
				       .comm = r->comm,
				       .runtime = runtimes[k].name,
				       .share = (nameless ? r->nameless : r->own[k]) / all };
	/* the only one that may stand in it */
	snprintf(advice, sizeof(advice), "%.*s", (int)strcspn(runtimes[k].advice, "%"), runtimes[k].advice);
	if (strchr(runtimes[k].advice, '%'))
		snprintf(advice + strlen(advice), sizeof(advice) - strlen(advice), "%u%s", r->pid,
			 strchr(runtimes[k].advice, '%') + 2);
	snprintf(out->text, sizeof(out->text), "%.0f%% of the time is %s process %u%s%s%s: %s", 100 * out->share,
		 nameless ? "in code without names that was made at run time by" : "in the interpreter of", r->pid,
		 out->runtime ? " (" : "", out->runtime ? out->runtime : "", out->runtime ? ")" : "", advice);
	return true;
}

static int by_share(const void *a, const void *b)
{
	const struct run_time_hint *x = a, *y = b;

	return x->share > y->share ? -1 : x->share < y->share ? 1 : x->pid < y->pid ? -1 : x->pid > y->pid;
}

unsigned run_time_hints(const struct profile *p, struct run_time_hint out[RUN_TIME_HINTS])
{
	enum profile_unit unit = profile_unit(p);
	struct ran_list l = { 0 };
	struct module_says *says = ask_modules(p);
	unsigned n = 0;

	for (size_t i = 0; says && i < p->cell_count; i++) {
		struct ran *r = ran_of(&l, &p->threads[p->cells[i].thread]);

		if (r && p->cells[i].samples[unit])
			look_at(r, p, says, &p->cells[i], unit);
	}
	free(says);
	for (size_t i = 0; i < l.count; i++) {
		struct run_time_hint hint;

		if (!judge(&l.at[i], p->weight[unit], &hint))
			continue;
		if (n < RUN_TIME_HINTS)
			out[n++] = hint;
		else if (hint.share > out[n - 1].share)
			out[n - 1] = hint;
		qsort(out, n, sizeof(*out), by_share);
	}
	free(l.at);
	map_release(&l.by_pid);
	return n;
}

void run_time_hints_text(const struct profile *p, const struct text_style *s, struct buf *out)
{
	struct run_time_hint hint[RUN_TIME_HINTS];
	unsigned n = run_time_hints(p, hint);

	for (unsigned i = 0; i < n; i++) {
		buf_addstr(out, "# hint: ");
		text_wrap(out, hint[i].text, 8, 0, 0);
	}
}

void run_time_hints_json(const struct profile *p, struct json *j)
{
	struct run_time_hint hint[RUN_TIME_HINTS];
	unsigned n = run_time_hints(p, hint);

	if (!n)
		return;
	json_arr(j, "hints");
	for (unsigned i = 0; i < n; i++) {
		json_obj(j, NULL);
		json_u64(j, "pid", hint[i].pid);
		json_str(j, "comm", hint[i].comm);
		json_str(j, "runtime", hint[i].runtime);
		json_f64(j, "share", hint[i].share);
		json_str(j, "text", hint[i].text);
		json_end(j);
	}
	json_end(j);
}
