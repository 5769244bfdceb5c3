// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf calibrate: measures this machine's accelerators against its cores; keeps a catalogue. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command/command.h"
#include "command/pager.h"
#include "model/catalogue_files.h"
#include "offload/calib.h"
#include "offload/roof.h"
#include "view/calibration.h"
#include "view/logca.h"
#include "view/roofline.h"

struct calibrate_cmd {
	bool list, json, compare, roofline, quick, same_input;
	const char *output, *measure;
	uint64_t min, max, calls, seconds;
};

static const struct calibrate_cmd defaults = { .min = 16, .max = 32u << 20, .calls = 7 };

#define AT(field) .offset = offsetof(struct calibrate_cmd, field)
static const struct opt options[] = {
	{ OPT_BOOL, 'l', "list", AT(list), .help = "what there is to measure here, and why the rest is not" },
	{ OPT_STRING, 'o', "output", AT(output), .arg = "FILE",
	  .help = "the catalogue (~/.config/accperf/accelerators.json)" },
	{ OPT_BOOL, 0, "roofline", AT(roofline), .help = "what one core can do at most, for `advise --roofline`" },
	{ OPT_BOOL, 0, "compare", AT(compare), .help = "compare two catalogues: OLD NEW" },
	{ OPT_BOOL, 0, "json", AT(json),
	  .help = "print the catalogue's entries, or --list as accperf.calibrate-list/1" },
	{ OPT_GROUP, .help = "Measuring" },
	{ OPT_SIZE, 0, "min", AT(min), .arg = "SIZE", .help = "smallest size (16)" },
	{ OPT_SIZE, 0, "max", AT(max), .arg = "SIZE", .help = "largest size (32M)" },
	{ OPT_UINT, 0, "calls", AT(calls), .arg = "N",
	  .help = "points a size (7); below 5 there are no good intervals" },
	{ OPT_UINT, 0, "seconds", AT(seconds), .arg = "N",
	  .help = "time for one accelerator; sizes it does not reach are left out (no limit)" },
	{ OPT_BOOL, 0, "quick", AT(quick), .help = "up to 256K, 5 points: seconds instead of minutes" },
	{ OPT_BOOL, 0, "same-input", AT(same_input), .help = "one input again and again, as a naive benchmark does" },
	{ OPT_STRING, 0, "measure", AT(measure), .arg = "NAME,RUN",
	  .help = "one side in this process, as CSV; used by calibrate itself" },
	OPT_END
};

static bool case_wanted(const struct calib_case *c, int argc, char **argv)
{
	size_t head = strcspn(c->name, "/");

	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], c->name) || !strcmp(argv[i], c->family->name) ||
		    (strlen(argv[i]) == head && !strncmp(argv[i], c->name, head)))
			return true;
	return argc == 0;
}

static void progress(void *ctx, const struct calib_case *c, size_t g, enum run_kind k)
{
	AUTO_BUF(size);

	if (g)
		logca_size(&size, (double)g);
	log_progress("%s: %s %s", c->name, run_kind_str(k), size.data ? size.data : "in a process of its own");
}

/* One case: measured, fitted, put into the catalogue. */
static int calibrate_one(const struct calib_case *c, const struct calib_opts *opts, struct catalogue *cat,
			 struct buf *row, struct err *e)
{
	struct catalogue_entry entry = { .preset = true };
	struct calib_session s;
	struct fit fit;
	struct tm tm;
	time_t now = time(NULL);
	char date[64];
	int err = calib_measure(c, opts, &entry.pts, &s, e);

	if (!err)
		err = fit_logca(&entry.pts, &fit_defaults, &fit, e);
	if (err) {
		points_release(&entry.pts);
		return err;
	}
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	entry.name = strdup(c->name);
	entry.family = strdup(c->family->name);
	entry.device = strdup(c->device);
	entry.baseline = strdup(c->baseline);
	entry.driver = *c->driver ? strdup(c->driver) : NULL;
	entry.host = calib_machine();
	entry.date = strdup(date);
	entry.unit = strdup("ns");
	entry.has_params = true;
	entry.p = fit.p;
	for (unsigned i = 0; i < s.notes && entry.notes < CATALOGUE_NOTES; i++)
		entry.note[entry.notes++] = strdup(s.note[i]);
	calibration_row(row, c->name, &entry.pts, &fit);
	if (!entry.name || !entry.family || !entry.unit)
		err = err_set(e, -ENOMEM, "out of memory");
	else
		err = catalogue_put(cat, &entry, e);
	catalogue_entry_release(&entry);
	return err;
}

static int run_all(const struct calibrate_cmd *o, const struct calib_cases *cases, int argc, char **argv)
{
	struct calib_opts opts = calib_defaults;
	struct catalogue cat, done = { 0 };
	char path[PATH_MAX];
	const char *file = o->output ? o->output : catalogue_own_path(path, sizeof(path));
	unsigned measured = 0, skipped = 0, failed = 0;
	struct err e = { 0 };
	AUTO_BUF(out);

	opts.min = o->min;
	opts.max = o->quick && o->max > 256u << 10 ? 256u << 10 : o->max;
	opts.calls = o->quick && o->calls > 5 ? 5 : (unsigned)o->calls;
	opts.same_input = o->same_input;
	opts.limit = (double)o->seconds;
	opts.progress = progress;
	if (catalogue_read_if_any(&cat, file, &e))
		return cli_fail(&e, EXIT_FAILED);
	if (!o->json)
		calibration_title(&out), fwrite(out.data, 1, out.len, stdout);
	for (size_t i = 0; i < cases->count; i++) {
		const struct calib_case *c = &cases->at[i];

		if (!case_wanted(c, argc, argv))
			continue;
		if (c->missing[0]) {
			log_info("%s: not measured: %s", c->name, c->missing);
			skipped++;
			continue;
		}
		buf_clear(&out);
		if (calibrate_one(c, &opts, &cat, &out, &e)) {
			log_progress_end();
			log_error("%s", e.text);
			failed++;
			continue;
		}
		log_progress_end();
		measured++;
		if (!o->json)
			fwrite(out.data, 1, out.len, stdout);
		fflush(stdout);
		/* each result is kept at once: a run of minutes may be interrupted */
		if (catalogue_save(&cat, file, &e)) {
			catalogue_release(&cat);
			return cli_fail(&e, EXIT_FAILED);
		}
	}
	buf_clear(&out);
	if (o->json && !catalogue_write(&cat, &out, &e))
		fwrite(out.data, 1, out.len, stdout);
	catalogue_release(&cat);
	catalogue_release(&done);
	if (!measured && !skipped && !failed) {
		err_set(&e, -ENOENT, "there is no accelerator '%s' to calibrate; `accperf calibrate --list` shows them",
			argc ? argv[0] : "");
		return cli_fail(&e, EXIT_USAGE);
	}
	if (measured)
		log_info("%u in %s; `accperf logca fit %s --name NAME` shows one", measured, file, file);
	if (skipped && argc)
		log_warn("%u asked for cannot be measured here; the sentences above say why", skipped);
	return failed && !measured           ? EXIT_FAILED
	       : failed || (skipped && argc) ? measured || skipped ? EXIT_DEGRADED : EXIT_FAILED
					     : EXIT_DONE;
}

/* The child of a family that measures each side in a process of its own. */
static int measure_own_side(const struct calibrate_cmd *o, const struct calib_cases *cases)
{
	struct calib_opts opts = { .min = o->min,
				   .max = o->max,
				   .calls = (unsigned)o->calls,
				   .seconds = 1,
				   .same_input = o->same_input,
				   .limit = (double)o->seconds };
	const char *comma = strchr(o->measure, ',');
	size_t run = comma ? strcspn(comma + 1, ",") : 0, i;
	struct points pts = { 0 };
	struct calib_session s;
	struct err e = { 0 };
	int k, err = 0;

	for (k = 0; comma && k < RUN_KINDS; k++)
		if (strlen(run_kind_str((enum run_kind)k)) == run &&
		    !strncmp(comma + 1, run_kind_str((enum run_kind)k), run))
			break;
	opts.path_known = comma && !strcmp(comma + 1 + run, ",again");
	if (comma && comma[1 + run] && !opts.path_known)
		comma = NULL;
	for (i = 0; comma && i < cases->count; i++)
		if (strlen(cases->at[i].name) == (size_t)(comma - o->measure) &&
		    !strncmp(cases->at[i].name, o->measure, (size_t)(comma - o->measure)))
			break;
	if (!comma || k == RUN_KINDS || i == cases->count) {
		err_set(&e, -EINVAL, "--measure wants NAME,RUN of `accperf calibrate --list` and host or accelerated");
		return cli_fail(&e, EXIT_USAGE);
	}
	if (cases->at[i].missing[0])
		err = err_set(&e, -ENOTSUP, "%s: %s", cases->at[i].name, cases->at[i].missing);
	if (!err)
		err = calib_measure_runs(&cases->at[i], &opts, 1u << k, &pts, &s, &e);
	if (!err) {
		for (unsigned n = 0; n < s.notes; n++)
			printf("# %s\n", s.note[n]);
		printf("bytes,run,time,switched\n");
		for (size_t n = 0; n < pts.run[k].count; n++)
			printf("%.0f,%s,%.9g,%d\n", pts.run[k].at[n].g, run_kind_str((enum run_kind)k),
			       pts.run[k].at[n].t, pts.run[k].at[n].switched);
	}
	points_release(&pts);
	return err ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static int list_cases(const struct calibrate_cmd *o, const struct calib_cases *cases)
{
	AUTO_BUF(out);
	struct err e = { 0 };

	calibration_list(cases, o->json, &out);
	return pager_write(&out, !o->json, &e) ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static int compare_catalogues(const struct calibrate_cmd *o, char **argv)
{
	struct catalogue c[2] = { { 0 }, { 0 } };
	struct err e = { 0 };
	AUTO_BUF(out);
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		if (access(argv[i], R_OK))
			err = err_set(&e, -errno, "cannot read %s: %s", argv[i], strerror(errno));
		if (!err)
			err = catalogue_read_if_any(&c[i], argv[i], &e);
	}
	if (!err) {
		calibration_compare(&c[0], &c[1], (const char *const[2]){ argv[0], argv[1] }, o->json, &out);
		err = pager_write(&out, !o->json, &e);
	}
	catalogue_release(&c[0]);
	catalogue_release(&c[1]);
	return err ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static int measure_roof(const struct calibrate_cmd *o)
{
	struct text_style style = { 0 };
	char *machine = calib_machine();
	struct err e = { 0 };
	struct roofline roof;
	AUTO_BUF(out);
	struct roofline_view v = { .roof = &roof };
	int err = 0;

	if (!machine || !roofline_measure(machine, &roof))
		err = err_set(&e, -ENOMEM, "out of memory");
	free(machine);
	if (!err) {
		(o->json ? roofline_json(&v, &out) : roofline_text(&v, &style, &out));
		err = pager_write(&out, false, &e);
	}
	if (!err)
		err = roof_keep(&roof, &e);
	return err ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static int run_calibrate(void *opts, int argc, char **argv)
{
	struct calibrate_cmd *o = opts;
	struct calib_cases cases;
	struct err e = { 0 };
	int status;

	if (o->roofline)
		return argc || o->compare || o->list || o->output
			       ? (err_set(&e, -EINVAL, "--roofline goes by itself, or with --json"),
				  cli_fail(&e, EXIT_USAGE))
			       : measure_roof(o);
	if (o->compare) {
		if (argc != 2)
			return err_set(&e, -EINVAL, "--compare wants two catalogues: OLD NEW"),
			       cli_fail(&e, EXIT_USAGE);
		return compare_catalogues(o, argv);
	}
	if (o->min < 1 || o->max < o->min || o->max > 1u << 30)
		return err_set(&e, -EINVAL, "sizes go from 1 byte to 1G, --min below --max"), cli_fail(&e, EXIT_USAGE);
	if (o->calls < 1 || o->calls > 1000)
		return err_set(&e, -EINVAL, "--calls wants 1 to 1000"), cli_fail(&e, EXIT_USAGE);
	if (calib_list(&cases, &e))
		return cli_fail(&e, EXIT_FAILED);
	status = o->list      ? list_cases(o, &cases)
		 : o->measure ? measure_own_side(o, &cases)
			      : run_all(o, &cases, argc, argv);
	calib_cases_release(&cases);
	return status;
}

#define TERM "{\"type\":[\"number\",\"array\",\"null\"],\"items\":{\"type\":[\"number\",\"null\"]}}"
static const struct cli_schema schemas[] = {
	{ "roofline", roofline_schema },
	{ "accelerators",
	  "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.accelerators/1\",\"type\":\"object\",\"required\":[\"schema\",\"accelerators\"],\"properties\":{"
	  "\"schema\":{\"const\":\"accperf.accelerators/1\"},\"accelerators\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"
	  "\"name\":{\"type\":\"string\"},\"family\":{\"type\":[\"string\",\"null\"]},\"device\":{\"type\":[\"string\",\"null\"]},\"baseline\":{\"type\":[\"string\",\"null\"]},\"host\":{\"type\":[\"string\",\"null\"]},"
	  "\"driver\":{\"type\":[\"string\",\"null\"]},\"date\":{\"type\":[\"string\",\"null\"]},\"unit\":{\"type\":[\"string\",\"null\"]},\"preset\":{\"type\":\"boolean\"},"
	  "\"elsewhere\":{\"type\":\"boolean\",\"description\":\"logca devices: of another machine\"},\"source\":{\"type\":\"string\"},"
	  "\"kinds\":{\"type\":\"array\",\"items\":{\"enum\":[\"copy\",\"checksum\",\"hash\",\"cipher\",\"compress\",\"decompress\",\"matrix\",\"vector\"]}},"
	  "\"designs\":{\"type\":\"array\",\"items\":{\"enum\":[\"sync\",\"sync-os\",\"async\"]}},\"engines\":{\"type\":\"number\"},\"uncertain\":{\"type\":\"number\"},"
	  "\"no_streams\":{\"type\":\"boolean\"},\"offload\":{\"type\":\"object\",\"description\":\"o L B A: a number, [value, low, high] or null\",\"texts\":[\"latency\"],\"numbers\":[\"beta\"],"
	  "\"properties\":{\"o\":" TERM ",\"L\":" TERM ",\"B\":" TERM ",\"A\":" TERM "}},"
	  "\"thresholds\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"description\":\"from, to: bytes or null; call, source\",\"numbers\":[\"from\",\"to\"],\"texts\":[\"call\",\"source\"]}},"
	  "\"params\":{\"type\":[\"object\",\"null\"],\"description\":\"A null: infinite\",\"numbers\":[\"L\",\"o\",\"C\",\"A\",\"beta\",\"t0\"],\"texts\":[\"latency\"]},\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	  "\"points\":{\"type\":\"object\",\"description\":\"host, accelerated, zero, submit: lists of [bytes, time] or [bytes, time, true] with a context switch inside\",\"propertyNames\":{\"enum\":[\"host\",\"accelerated\",\"zero\",\"submit\"]},\"additionalProperties\":{\"type\":\"array\",\"items\":{\"type\":\"array\"}}}}}}}}" },
	{ "calibrate-list",
	  "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.calibrate-list/1\",\"type\":\"object\",\"required\":[\"schema\",\"accelerators\"],"
	  "\"properties\":{\"schema\":{\"const\":\"accperf.calibrate-list/1\"},\"accelerators\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	  "\"texts\":[\"name\",\"family\",\"device\",\"baseline\",\"driver\",\"missing\"],\"flags\":[\"available\"]}}}}" },
	{ "calibrate-compare",
	  "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.calibrate-compare/1\",\"type\":\"object\",\"required\":[\"schema\",\"accelerators\"],"
	  "\"numbers\":[\"only_old\",\"only_new\"],\"properties\":{\"schema\":{\"const\":\"accperf.calibrate-compare/1\"},"
	  "\"accelerators\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"texts\":[\"name\",\"pays_old\",\"pays_new\"],\"flags\":[\"speedup_1M_extrapolated\"],"
	  "\"numbers\":[\"fixed_old\",\"fixed_new\",\"C_old\",\"C_new\",\"A_eff_old\",\"A_eff_new\",\"speedup_1M_old\",\"speedup_1M_new\",\"g1_old\",\"g1_new\"]}}}}" },
	{ 0 }
};

CLI_COMMAND(calibrate) = {
	.name = "calibrate",
	.summary = "measure this machine's accelerators against its cores",
	.order = 46,
	.run = run_calibrate,
	.options = options,
	.opt_size = sizeof(struct calibrate_cmd),
	.defaults = &defaults,
	.usage = "[options] [NAME...]",
	.details =
		"Times the same work on the host and on the accelerator at every power of two from 16 B to 32 MB, on another\n"
		"input each time, and fits LogCA. Where the interface allows it, offloads that compute nothing and the time until\n"
		"the submitting call returns are measured, too: they tell latency, overhead and acceleration apart.\n\n"
		"NAME is one of --list, what stands before its slash, or a family (openssl, crc32, deflate, copy, worker, opencl,\n"
		"cuda); without one all are measured, which takes minutes. Work on this thread is timed by its CPU time, work\n"
		"elsewhere by elapsed time; points with a context switch inside are set aside. Libraries are opened at run time:\n"
		"one that is missing is named and passed over (exit status 3 if it was asked for).\n\n"
		"OpenSSL's slower code is chosen by OPENSSL_ia32cap in a process of its own; that it really ran is verified by\n"
		"single-stepping one call and counting its AES, SHA and carry-less multiplication instructions.",
	.examples =
		"accperf calibrate --roofline\tThe most that a core can do, in seconds\n"
		"accperf calibrate --list\tWhat there is here\n"
		"accperf calibrate aes-cbc sha256\tAES-CBC and SHA-256 instructions against code without them\n"
		"accperf calibrate -o before.json && accperf calibrate -o after.json && accperf calibrate --compare before.json after.json\tDid the new driver change anything?\n",
	.schemas = schemas,
	.min_args = 0,
	.max_args = -1,
};
