// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf doctor: what this machine can give, what follows, and how to get the rest. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/built.h"
#include "command/command.h"
#include "command/pager.h"
#include "exact/launch.h"
#include "record/features.h"
#include "kmod-free/stray_trap.h"
#include "view/doctor.h"

#define LOOK_US 100000 /* us between two looks at a trial: its line changes ten times a second */

struct doctor_cmd {
	bool json, breakpoints, idle;
};

static const struct opt options[] = {
	{ OPT_BOOL, 0, "breakpoints", .offset = offsetof(struct doctor_cmd, breakpoints),
	  .help = "on a virtual machine, first try out whether hits of breakpoints end programs: some 20 to 50 s, once a boot" },
	{ OPT_BOOL, 0, "idle", .offset = offsetof(struct doctor_cmd, idle),
	  .help = "with --breakpoints: only while a CPU is idle and no other program waits, however long that takes" },
	{ OPT_BOOL, 0, "json", .offset = offsetof(struct doctor_cmd, json), .help = "print accperf.doctor/1" },
	OPT_END
};

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

/* In the foreground, and in time that others might want unless idle is true. Ctrl-C loses its last seconds only. */
static int try_breakpoints(bool idle, struct err *e)
{
	struct stray_known known;
	struct stray_trial *t;
	bool goes_on = true;

	stray_read(&known);
	if (stray_verdict(&known) != STRAY_UNTRIED)
		return 0;
	t = stray_trial_new(stray_trial_threads(), idle, e);
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

static bool has_command(const char *name)
{
	return cli_find(name);
}

static int cmd_doctor(void *opts, int argc, char **argv)
{
	const struct doctor_cmd *o = opts;
	struct text_style style = pager_style();
	struct engine engines[ENGINES];
	struct features f;
	struct doctor_view v = { &f, engines, feature_built, has_command };
	struct err e = { 0 };
	AUTO_BUF(out);

	if (o->idle && !o->breakpoints) {
		err_set(&e, -EINVAL, "--idle says when --breakpoints tries, and wants it");
		return cli_fail(&e, EXIT_USAGE);
	}
	stray_guard();
	if (o->breakpoints && try_breakpoints(o->idle, &e))
		return cli_fail(&e, EXIT_FAILED);
	features_probe(&f);
	find_exact_tool(&f);
	find_page(&f);
	find_top(&f);
	engines_judge(&f, cli_find("record"), cli_find("exact"), feature_built, engines);
	if (o->json)
		doctor_json(&v, &out);
	else
		doctor_text(&v, &style, &out);
	if (pager_write(&out, !o->json, &e))
		return cli_fail(&e, EXIT_FAILED);
	if (!engines[0].usable && !engines[1].usable) {
		log_warn("nothing can be recorded live here; the lines `to enable` above say how to change that");
		return EXIT_DEGRADED;
	}
	return EXIT_DONE;
}

static const struct cli_schema schemas[] = { { "doctor", doctor_schema }, { 0 } };

CLI_COMMAND(doctor) = {
	.name = "doctor",
	.summary = "what this machine can measure, and how to get the rest",
	.order = 80,
	.run = cmd_doctor,
	.records = true,
	.options = options,
	.opt_size = sizeof(struct doctor_cmd),
	.usage = "[--breakpoints [--idle]] [--json]",
	.details =
		"Tries each thing that accperf can use (arms a hardware breakpoint and sees it hit, loads a BPF program,\n"
		"probes an own function) and says what was found, what follows for accuracy and cost, and the exact\n"
		"command that would enable what is missing. Leaves nothing behind.\n"
		"\n"
		"On some virtual machines one hit of a hardware breakpoint in a million ends the program, a defect of\n"
		"hypervisors (KVM before Linux 6.14). --breakpoints hits two million of its own, which harms nobody,\n"
		"and keeps what it saw for this boot; without it recordings do that in idle time before they use any.\n"
		"Debian's package does it at each boot, with --idle.\n"
		"\n"
		"Exit status 0 when something can be recorded live, 3 when nothing can.",
	.examples =
		"accperf doctor\tWhat works here\n"
		"accperf doctor --json | jq -r '.features[] | select(.state != \"yes\") | .enable'\tThe commands that would help\n",
	.schemas = schemas,
};
