// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf offload: the offload calls of a profile, and whether they pay. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/offload_pays.h"
#include "command/command.h"
#include "command/filter_opts.h"
#include "view/offload_whatif.h"
#include "command/pager.h"
#include "profile/walk.h"
#include "view/offload.h"

struct offload_cmd {
	const char *input, *accelerator, *catalogue;
	struct filter_opts filter;
	bool json, pager, all, stdio;
};

static const struct offload_cmd defaults = { .input = "accperf.data", .pager = true };

#define AT(field) .offset = offsetof(struct offload_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(input), .arg = "FILE", .help = "the profile to read (accperf.data)" },
	{ OPT_BOOL, 'A', "all", AT(all),
	  .help = "every call in full, not only those that fit on a screen of 40 lines" },
	FILTER_PROCESS_OPTS(struct offload_cmd, filter),
	FILTER_CODE_OPTS(struct offload_cmd, filter),
	{ OPT_STRING, 'x', "accelerator", AT(accelerator), .arg = "NAME[=CALL],...",
	  .help = "what if the calls that do the same went to these of the catalogue: break-even, what would be lost and gained; NAME=CALL: this call" },
	{ OPT_STRING, 0, "catalogue", AT(catalogue), .arg = "FILE",
	  .help = "the catalogue (the one `accperf calibrate` keeps)" },
	{ OPT_BOOL, 0, "json", AT(json), .help = "print accperf.offload/1" },
	{ OPT_BOOL, 0, "pager", AT(pager), .help = "page long output on a terminal (on)" },
	STDIO_OPT(struct offload_cmd, stdio),
	OPT_END
};

#define SCREEN 40    /* lines that a summary takes */
#define VERDICTS 256 /* of pairs of calls, each with two fits: libraries have tens of functions */

/* What was read of a file: `part` is of the processes asked for. */
struct calls_read {
	struct profile *p;
	struct offload_summary *all, *part;
};

static int show_calls(const struct offload_cmd *o, const struct filter *f, const struct calls_read *c, bool *degraded,
		      struct err *e)
{
	const struct offload_summary *s = c->part ? c->part : c->all;
	const struct filter processes = filter_of_processes(f);
	const struct profile *p = c->p;
	struct offload_verdict *verdicts = calloc(VERDICTS, sizeof(*verdicts));
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct offload_view v = { .file = o->input,
				  .profile = p,
				  .summary = s,
				  .verdicts = verdicts,
				  .screen = o->all ? 0 : SCREEN,
				  .filter = f,
				  .all_calls = c->part ? (double)c->all->calls_total : 0 };
	struct trust_evidence evidence = trust_of_offload(p, s);
	struct whatif_list what = { 0 };
	struct shares shares = { 0 };
	struct trust trust;
	AUTO_BUF(out);
	int r;

	if (!verdicts)
		return err_set(e, -ENOMEM, "out of memory");
	r = shares_compute(p, &(struct shares_opts){ .thread = SHARES_ALL_THREADS, .filter = &processes }, &shares, e);
	v.shares = r ? NULL : &shares;
	if (!r && o->accelerator)
		r = whatif_all(&what, s, o->catalogue, o->accelerator, e);
	if (r)
		goto out;
	trust_judge(TRUST_OFFLOAD, &evidence, &trust);
	v.trust = &trust;
	v.whatif = what.at;
	v.whatif_cnt = what.count;
	v.verdicts_cnt = offload_verdicts(s, f, verdicts, VERDICTS);
	if (v.verdicts_cnt > VERDICTS) {
		log_warn("%zu further calls that were seen on host and accelerator are not judged",
			 v.verdicts_cnt - VERDICTS);
		v.verdicts_cnt = VERDICTS;
		*degraded = true;
	}
	if (o->json)
		offload_json(&v, &out);
	else
		offload_text(&v, &style, &out);
	r = pager_write(&out, o->pager && !o->stdio && !o->json, e);
out:
	whatif_release(&what);
	shares_release(&shares);
	free(verdicts);
	return r;
}

/* Both on one walk; NULL: e says why. */
static struct profile *read_calls(const char *path, struct offload_summary **s, struct err *e)
{
	struct profile *p = profile_open(path, e);
	struct section_reader reader;
	int err = 0;

	if (!p)
		return NULL;
	*s = offload_summary_begin(profile_reader(p), &reader, e);
	err = *s ? profile_read(p, PROFILE_SAMPLES | PROFILE_MISSING, &reader, 1, e) : e->code;
	err = err ? err : offload_summary_end(*s, e);
	if (!err)
		return p;
	if (!e->code)
		err_set(e, err, "%s: %s", path, err == -ENOMEM ? "out of memory reading the profile" : strerror(-err));
	profile_free(p);
	return NULL;
}

static const char *item_library(const void *ctx, size_t i)
{
	return offload_library(&((const struct offload_summary *)ctx)->items[i]);
}

static const char *item_name(const void *ctx, size_t i)
{
	return ((const struct offload_summary *)ctx)->items[i].name;
}

/* Of some processes: a walk more, now that they have names. */
static int read_part(const struct offload_cmd *o, const struct filter *f, struct calls_read *c, struct err *e)
{
	int err = filter_check_processes(f, c->p, o->input, e);

	if (err || !filter_asks_process(f))
		return err;
	c->part = offload_summary_load_part(o->input, f, c->p, e);
	return c->part ? 0 : e->code ? e->code : -EINVAL;
}

static int status_of_calls(const struct offload_cmd *o, const struct calls_read *c, bool degraded)
{
	if (*c->p->recovery) {
		log_warn("%s: %s", o->input, c->p->recovery);
		return EXIT_DEGRADED;
	}
	if (!offload_looked_for(c->p, c->all)) {
		log_warn("%s was recorded without offload probes: `accperf record --offload auto`", o->input);
		return EXIT_DEGRADED;
	}
	if (!c->all->items_cnt) {
		log_warn(
			"%s holds no offload call: the target made none while it was recorded, or uses none of the known libraries",
			o->input);
		return EXIT_DEGRADED;
	}
	if (c->part && !c->part->items_cnt)
		log_warn("%s holds offload calls, and none of these processes", o->input);
	return degraded || (c->part && !c->part->items_cnt) ? EXIT_DEGRADED : EXIT_DONE;
}

static int cmd_offload(void *opts, int argc, char **argv)
{
	const struct offload_cmd *o = opts;
	struct calls_read c = { 0 };
	struct filter f;
	struct err e = { 0 };
	bool degraded = false;
	int status;

	if (filter_from_opts(&o->filter, &f, &e))
		return cli_fail(&e, EXIT_USAGE);
	c.p = read_calls(o->input, &c.all, &e);
	if (!c.p || filter_check(&f, FILTER_DSO, item_library, c.all, c.all->items_cnt, o->input, &e) ||
	    filter_check(&f, FILTER_SYMBOL, item_name, c.all, c.all->items_cnt, o->input, &e) ||
	    read_part(o, &f, &c, &e) || show_calls(o, &f, &c, &degraded, &e))
		status = cli_fail(&e, EXIT_FAILED);
	else
		status = status_of_calls(o, &c, degraded);
	filter_release(&f);
	offload_summary_free(c.part);
	offload_summary_free(c.all);
	profile_free(c.p);
	return status;
}

static const struct cli_schema schemas[] = { { "offload", offload_schema }, { 0 } };

CLI_COMMAND(offload) = {
	.name = "offload",
	.summary = "calls to accelerators and to what could be one: sizes, times, overlap, does it pay",
	.order = 35,
	.run = cmd_offload,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct offload_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"Shows what `accperf record --offload` saw: for each API call its rate, sizes, times and call sites.\n"
		"Counts and bytes are exact for the time in which probes were in place. A function that is called\n"
		"too often for the budget is probed in short stretches; its calls are then an estimate, shown\n"
		"with its interval. Times have the probes' own cost taken off; where what is left is less than is known\n"
		"of that cost, only a bound is given (below, < N us). CPU is the share of the target's CPU time spent\n"
		"inside the calls, by the timer's samples where these tell, else by the calls, with its interval.\n"
		"\n"
		"--pid and --comm choose processes, --dso and --symbol libraries and calls. Probes are in place in all\n"
		"processes at once, so that calls of one that starts late or ends early are scaled less well.\n"
		"\n"
		"design: sync, the caller works or spins until the call is done; sync-OS, the kernel blocks it and\n"
		"may run another thread; async, the call returns early and the caller goes on.\n"
		"\n"
		"Where a name was recorded in both variants, host and accelerated (--offload-probe, or the markers\n"
		"of accperf_probe.h), LogCA is fitted to them, and the break-even and what the calls on the wrong\n"
		"side of it lose are printed. What calls that run on the host would be worth on an accelerator that\n"
		"`accperf calibrate` has measured, here or elsewhere, --accelerator says: the measured times of the\n"
		"calls against the catalogue's o + Lat(g) + X(g) at their sizes. Only calls that do the same are\n"
		"compared (compression with compression, and so on); -x NAME=CALL compares CALL whatever its name\n"
		"tells. A compressor's calls are compared at the accelerator's level alone (its description says \"level N\");\n"
		"where no call's level was seen, all are, and that is said. What would be gained is CPU time, never more than the calls took. Where times are too short or\n"
		"too few, the answer is 'cannot tell', with the reason.",
	.examples = "accperf record --offload auto -p 1234 --duration 30s\tRecord the calls of a running process\n"
		    "accperf offload\tWhat they were\n"
		    "accperf offload -x deflate-isal/zlib\tWould ISA-L pay for these calls?\n"
		    "accperf offload --json | jq '.calls[] | [.name, .calls]'\tFor a script\n",
	.schemas = schemas,
};
