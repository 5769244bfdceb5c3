// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf doctor: what this machine can give, what follows, and how to get the rest. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/built.h"
#include "cli/cli.h"
#include "cli/pager.h"
#include "exact/launch.h"
#include "record/features.h"
#include "record/sources.h"
#include "kmod-free/stray_trap.h"
#include "util/json.h"

#define LOOK_US 100000

struct doctor_cmd {
	bool json, breakpoints;
};

static const struct opt options[] = {
	{ OPT_BOOL, 0, "breakpoints", .offset = offsetof(struct doctor_cmd, breakpoints),
	  .help = "on a virtual machine, first try out whether hits of breakpoints end programs: some 20 to 50 s, once a boot" },
	{ OPT_BOOL, 0, "json", .offset = offsetof(struct doctor_cmd, json), .help = "print accperf.doctor/1" },
	OPT_END
};

struct engine {
	const char *name;
	bool usable;
	const char *accuracy, *cost; /* NULL when not usable */
};

static bool has(const struct features *f, const char *name)
{
	const struct feature *x = features_find(f, name);

	return x && x->state == FEATURE_YES && feature_built(x);
}

static bool works_partly(const struct features *f, const char *name)
{
	const struct feature *x = features_find(f, name);

	return x && (x->state == FEATURE_YES || x->state == FEATURE_PARTLY);
}

static void judge_engines(const struct features *f, struct engine out[3])
{
	bool live = cli_find("record"), bpf = works_partly(f, "bpf") && has(f, "bpf-ring") && has(f, "btf");
	const struct feature *trial = features_find(f, "breakpoint-trial");
	bool soft = bpf && works_partly(f, "timer"),
	     watch = works_partly(f, "hw-breakpoints") && !(trial && trial->state == FEATURE_NO);

	out[0] = (struct engine){
		.name = "pmu",
		.usable = live && has(f, "pmu") && (has(f, "pebs") || has(f, "ibs") || has(f, "spe")),
		.accuracy = "loads and stores drawn by the processor with their addresses: shares of accesses",
		.cost = "at most 1 % slow-down at the default effort"
	};
	out[1] = (struct engine){
		.name = "soft",
		.usable = live && soft,
		.accuracy =
			watch ? "time shares with their intervals; flows and call counts from watchpoints, weighted by time"
			      : "time shares with their intervals; flows and counts from bursts alone, less sure (no breakpoints here)",
		.cost = "0.5, 1 or 5 % slow-down at most (--effort low, default, high); every watchpoint hit costs the target about 10 us"
	};
	out[2] = (struct engine){ .name = "exact",
				  .usable = cli_find("exact") && has(f, "exact"),
				  .accuracy = "every load, store and operation, to the byte; offline",
				  .cost = "the program runs tens to hundreds of times slower" };
}

/* Valgrind alone is not the engine: its tool is a file of ours, which user/record cannot know. */
static void find_exact_tool(struct features *f)
{
	char dir[4096];
	struct err e = { 0 };

	for (size_t i = 0; i < f->count; i++) {
		struct feature *x = &f->f[i];

		if (strcmp(x->name, "exact") || x->state != FEATURE_YES)
			continue;
		if (!exact_find_tool(dir, sizeof(dir), &e))
			return;
		feature_set(x, FEATURE_NO, "%s", e.text);
		feature_means(x, "no exact reference: flows and counts carry their sampling intervals only");
		feature_enable(x, "make && sudo make install   (in accperf's source tree)");
	}
}

/* The page's script is bundled from packages, which user/record cannot know either. */
static void find_page(struct features *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct feature *x = &f->f[i];

		if (strcmp(x->name, "html") || html_bundled())
			continue;
		feature_set(x, FEATURE_NO, "built without the page's script: " HTML_NEEDS " were not there");
		feature_means(x, "no `accperf report --html`; all other views work");
		feature_enable(x, "sudo apt-get install esbuild node-d3 && make   (in accperf's source tree)");
	}
}

/* The command is left out where ncurses was not there. */
static void find_top(struct features *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct feature *x = &f->f[i];

		if (strcmp(x->name, "top") || cli_find("top"))
			continue;
		feature_set(x, FEATURE_NO, "built without ncurses");
		feature_means(x, "no `accperf top`; all other commands work");
		feature_enable(x, "sudo apt-get install libncurses-dev && make   (in accperf's source tree)");
	}
}

/* What a recording is made of: whether it can be had, and what it costs the target. */
static void show_sources(const struct features *f, const struct text_style *style, unsigned width, struct buf *out)
{
	const struct source_row *row;
	char why[320];

	buf_addch(out, '\n');
	text_hue_on(out, style, TEXT_BOLD);
	buf_addstr(out, "sources of a recording\n");
	text_hue_off(out, style, TEXT_BOLD);
	for (unsigned i = 0; (row = sources_row(i)); i++) {
		bool works = source_works(row->source, f, why, sizeof(why));

		buf_addf(out, "  %-7s%-10s ", works ? "yes" : "no", row->source->name);
		text_wrap(out, row->source->summary, 20, 20, width);
		if (works)
			buf_addf(out, "%20scost: %g %s, where it is not measured; account `%s`\n", "",
				 price_assumed(row->price), price_row(row->price)->unit, ledger_name(row->account));
		if (works)
			continue;
		buf_addf(out, "%20s", "");
		text_wrap(out, why, 20, 20, width);
	}
}

static void json_sources(struct json *j, const struct features *f)
{
	const struct source_row *row;
	char why[320];

	json_arr(j, "sources");
	for (unsigned i = 0; (row = sources_row(i)); i++) {
		bool works = source_works(row->source, f, why, sizeof(why));

		json_obj(j, NULL);
		json_str(j, "name", row->source->name);
		json_str(j, "summary", row->source->summary);
		json_bool(j, "works", works);
		json_str(j, "detail", *why ? why : NULL);
		json_str(j, "account", ledger_name(row->account));
		json_f64(j, "price", price_assumed(row->price));
		json_str(j, "unit", price_row(row->price)->unit);
		json_end(j);
	}
	json_end(j);
}

static void show_text(const struct features *f, const struct engine *engines, const struct text_style *style,
		      struct buf *out)
{
	static const char *const marks[] = {
		[FEATURE_UNKNOWN] = "?", [FEATURE_NO] = "no", [FEATURE_PARTLY] = "partly", [FEATURE_YES] = "yes"
	};
	static const enum text_hue hues[] = { [FEATURE_UNKNOWN] = TEXT_PLAIN,
					      [FEATURE_NO] = TEXT_HOT,
					      [FEATURE_PARTLY] = TEXT_BOLD,
					      [FEATURE_YES] = TEXT_WARM };
	static const char *const heads[] = {
		[FEATURE_RIGHTS] = "rights and limits",
		[FEATURE_SOURCE] = "what can be measured with",
		[FEATURE_VIEW] = "what can be shown",
	};

	unsigned width = style->width ? style->width : 100;

	buf_addf(out, "accperf %s on Linux %s %s, %ld CPU%s, ", ACCPERF_VERSION, f->release, f->machine, f->cpus,
		 f->cpus == 1 ? "" : "s");
	text_name(out, f->cpu, 0, 0);
	buf_addf(out, ", uid %u\n", geteuid());
	for (int group = FEATURE_RIGHTS; group <= FEATURE_VIEW; group++) {
		buf_addch(out, '\n');
		text_hue_on(out, style, TEXT_BOLD);
		buf_addstr(out, heads[group]);
		text_hue_off(out, style, TEXT_BOLD);
		buf_addch(out, '\n');
		for (size_t i = 0; i < f->count; i++) {
			const struct feature *x = &f->f[i];

			if ((int)x->group != group)
				continue;
			buf_addstr(out, "  ");
			text_hue_on(out, style, hues[x->state]);
			buf_addf(out, "%-7s", marks[x->state]);
			text_hue_off(out, style, hues[x->state]);
			buf_addf(out, "%-24s ", x->title);
			text_wrap(out, x->detail, 34, 34, width);
			if (x->command && !cli_find(x->command))
				buf_addf(out, "%11sso:        not built in: this accperf has no command `%s`\n", "",
					 x->command);
			if (*x->means) {
				buf_addf(out, "%11sso:        ", "");
				text_wrap(out, x->means, 22, 22, width);
			}
			if (*x->enable) {
				buf_addf(out, "%11sto enable: ", "");
				text_wrap(out, x->enable, 22, 22, 0);
			}
		}
	}
	show_sources(f, style, width, out);
	buf_addch(out, '\n');
	text_hue_on(out, style, TEXT_BOLD);
	buf_addstr(out, "engines\n");
	text_hue_off(out, style, TEXT_BOLD);
	for (int i = 0; i < 3; i++) {
		buf_addf(out, "  %-7s", engines[i].name);
		text_wrap(out, engines[i].usable ? engines[i].accuracy : "not usable here; see above", 9, 9, width);
		if (engines[i].usable) {
			buf_addstr(out, "         cost: ");
			text_wrap(out, engines[i].cost, 15, 15, width);
		}
	}
}

static void show_json(const struct features *f, const struct engine *engines, struct buf *out)
{
	static const char *const groups[] = {
		[FEATURE_RIGHTS] = "rights", [FEATURE_SOURCE] = "source", [FEATURE_VIEW] = "view"
	};
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.doctor/1");
	json_str(&j, "version", ACCPERF_VERSION);
	json_str(&j, "kernel", f->release);
	json_str(&j, "machine", f->machine);
	json_str(&j, "cpu", f->cpu);
	json_i64(&j, "cpus", f->cpus);
	json_u64(&j, "uid", geteuid());
	json_arr(&j, "engines");
	for (int i = 0; i < 3; i++) {
		json_obj(&j, NULL);
		json_str(&j, "name", engines[i].name);
		json_bool(&j, "usable", engines[i].usable);
		json_str(&j, "accuracy", engines[i].usable ? engines[i].accuracy : NULL);
		json_str(&j, "cost", engines[i].usable ? engines[i].cost : NULL);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "features");
	for (size_t i = 0; i < f->count; i++) {
		const struct feature *x = &f->f[i];

		json_obj(&j, NULL);
		json_str(&j, "name", x->name);
		json_str(&j, "title", x->title);
		json_str(&j, "group", groups[x->group]);
		json_bool(&j, "built", feature_built(x));
		json_str(&j, "state", feature_state_str(x->state));
		json_str(&j, "detail", x->detail);
		json_str(&j, "means", *x->means ? x->means : NULL);
		json_str(&j, "enable", *x->enable ? x->enable : NULL);
		json_end(&j);
	}
	json_end(&j);
	json_sources(&j, f);
	json_end(&j);
	buf_addch(out, '\n');
}

/* In the foreground, and in time that others might want. Ctrl-C loses its last seconds only. */
static int try_breakpoints(struct err *e)
{
	struct stray_known known;
	struct stray_trial *t;
	bool goes_on = true;

	stray_read(&known);
	if (stray_verdict(&known) != STRAY_UNTRIED)
		return 0;
	t = stray_trial_new(stray_trial_threads(), false, e);
	if (!t)
		return err_prefix(e, "--breakpoints");
	while (goes_on) {
		usleep(LOOK_US);
		goes_on = stray_trial_look(t, &known, e);
		log_progress("trying out hardware breakpoints: %.1f of %.1f million hits, %llu stray signals",
			     (double)known.hits / 1e6, STRAY_ENOUGH / 1e6, (unsigned long long)known.signals);
	}
	log_progress_end();
	stray_trial_free(t);
	return e->code ? err_prefix(e, "hardware breakpoints cannot be tried out") : 0;
}

static int cmd_doctor(void *opts, int argc, char **argv)
{
	const struct doctor_cmd *o = opts;
	struct text_style style = pager_style();
	struct engine engines[3];
	struct features f;
	struct err e = { 0 };
	AUTO_BUF(out);

	stray_guard();
	if (o->breakpoints && try_breakpoints(&e))
		return cli_fail(&e, EXIT_FAILED);
	features_probe(&f);
	find_exact_tool(&f);
	find_page(&f);
	find_top(&f);
	judge_engines(&f, engines);
	if (o->json)
		show_json(&f, engines, &out);
	else
		show_text(&f, engines, &style, &out);
	if (pager_write(&out, !o->json, &e))
		return cli_fail(&e, EXIT_FAILED);
	if (!engines[0].usable && !engines[1].usable) {
		log_warn("nothing can be recorded live here; the lines `to enable` above say how to change that");
		return EXIT_DEGRADED;
	}
	return EXIT_DONE;
}

static const struct cli_schema schemas[] = {
	{ "doctor",
	  "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.doctor/1\",\"type\":\"object\","
	  "\"required\":[\"schema\",\"version\",\"kernel\",\"machine\",\"uid\",\"engines\",\"features\",\"sources\"],\"properties\":{"
	  "\"schema\":{\"const\":\"accperf.doctor/1\"},\"version\":{\"type\":\"string\"},\"kernel\":{\"type\":\"string\"},"
	  "\"machine\":{\"type\":\"string\"},\"cpu\":{\"type\":\"string\"},\"cpus\":{\"type\":\"integer\"},\"uid\":{\"type\":\"integer\"},"
	  "\"engines\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"usable\"],\"properties\":{"
	  "\"name\":{\"enum\":[\"pmu\",\"soft\",\"exact\"]},\"usable\":{\"type\":\"boolean\"},"
	  "\"accuracy\":{\"type\":[\"string\",\"null\"]},\"cost\":{\"type\":[\"string\",\"null\"]}}}},"
	  "\"features\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	  "\"required\":[\"name\",\"title\",\"group\",\"built\",\"state\",\"detail\",\"means\",\"enable\"],\"properties\":{"
	  "\"name\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"group\":{\"enum\":[\"rights\",\"source\",\"view\"]},"
	  "\"built\":{\"type\":\"boolean\"},\"state\":{\"enum\":[\"yes\",\"partly\",\"no\",\"unknown\"]},\"detail\":{\"type\":\"string\"},"
	  "\"means\":{\"type\":[\"string\",\"null\"]},\"enable\":{\"type\":[\"string\",\"null\"]}}}},"
	  "\"sources\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	  "\"required\":[\"name\",\"summary\",\"works\",\"detail\",\"account\",\"price\",\"unit\"],\"properties\":{"
	  "\"name\":{\"type\":\"string\"},\"summary\":{\"type\":\"string\"},\"works\":{\"type\":\"boolean\"},"
	  "\"detail\":{\"type\":[\"string\",\"null\"]},\"account\":{\"type\":\"string\"},"
	  "\"price\":{\"type\":\"number\"},\"unit\":{\"type\":\"string\"}}}}}}" },
	{ 0 }
};

CLI_COMMAND(doctor) = {
	.name = "doctor",
	.summary = "what this machine can measure, and how to get the rest",
	.order = 80,
	.run = cmd_doctor,
	.records = true,
	.options = options,
	.opt_size = sizeof(struct doctor_cmd),
	.usage = "[--breakpoints] [--json]",
	.details =
		"Tries each thing that accperf can use (arms a hardware breakpoint and sees it hit, loads a BPF program,\n"
		"probes an own function) and says what was found, what follows for accuracy and cost, and the exact\n"
		"command that would enable what is missing. Leaves nothing behind.\n"
		"\n"
		"On some virtual machines one hit of a hardware breakpoint in a million ends the program, a defect of\n"
		"hypervisors (KVM before Linux 6.14). --breakpoints hits two million of its own, which harms nobody,\n"
		"and keeps what it saw for this boot; without it recordings do that in idle time before they use any.\n"
		"\n"
		"Exit status 0 when something can be recorded live, 3 when nothing can.",
	.examples =
		"accperf doctor\tWhat works here\n"
		"accperf doctor --json | jq -r '.features[] | select(.state != \"yes\") | .enable'\tThe commands that would help\n",
	.schemas = schemas,
};
