// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf logca: what an accelerator is worth at which size, from measurements or parameters. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/filter_opts.h"
#include "command/pager.h"
#include "model/catalogue_files.h"
#include "model/logca_words.h"
#include "offload/calib.h"
#include "view/devices.h"
#include "view/logca_questions.h"
#include "view/logca_segments.h"
#include "view/logca_several.h"
#include "view/logca_source.h"

struct logca_cmd {
	const char *params, *name, *host, *accelerated, *level, *svg, *latency, *change, *unit, *segments;
	struct opt_list sizes, devices;
	struct filter_opts filter;
	uint64_t resamples, seed, block, padding, min_sizes, batch, unique;
	double near_one, share, calls, queue, thread_switch, link;
	bool json, newton, no_offset, extrapolate, stdio;
};

static const struct logca_cmd defaults = {
	.latency = "auto", .resamples = 200, .seed = 1, .near_one = 0.1, .batch = 1
};

#define AT(field) .offset = offsetof(struct logca_cmd, field)
static const struct opt options[] = {
	{ OPT_GROUP,
	  .help = "Where the figures come from (or FILE: a CSV, a catalogue of `accperf calibrate`, a profile)" },
	{ OPT_STRING, 0, "params", AT(params), .arg = "L=..,o=..,C=..,A=..,beta=..,latency=..",
	  .help = "these; latency=indep or dep, also t0=.., A=inf" },
	{ OPT_LIST, 'd', "device", AT(devices), .arg = "NAME",
	  .help = "a device that comes with the program; show: several make one picture; see `accperf logca devices`" },
	{ OPT_STRING, 0, "name", AT(name), .arg = "NAME",
	  .help = "the accelerator in a catalogue (FILE, or what `accperf calibrate` keeps); a title otherwise" },
	{ OPT_STRING, 0, "host", AT(host), .arg = "CALL", .help = "profile: the API call that is the host's variant" },
	{ OPT_STRING, 0, "accelerated", AT(accelerated), .arg = "CALL",
	  .help = "profile: the one that is the accelerated variant" },
	{ OPT_STRING, 0, "level", AT(level), .arg = "N",
	  .help = "profile: compression calls at this level (that of the accelerated calls, or of most)" },
	FILTER_PROCESS_OPTS(struct logca_cmd, filter),
	FILTER_CODE_OPTS(struct logca_cmd, filter),
	{ OPT_STRING, 0, "unit", AT(unit), .arg = "UNIT", .help = "of the times given: ns, cycles (ns for a CSV)" },
	{ OPT_GROUP, .help = "Fitting" },
	{ OPT_STRING, 0, "latency", AT(latency), .arg = "auto|indep|dep",
	  .help = "latency per call or per byte (BIC decides)" },
	{ OPT_BOOL, 0, "no-host-offset", AT(no_offset), .help = "no fixed cost of a host call: the published model" },
	{ OPT_STRING, 0, "segments", AT(segments), .arg = "N",
	  .help = "split at change points, into at most N stretches; auto: where one curve misses" },
	{ OPT_SIZE, 0, "block", AT(block), .arg = "SIZE", .help = "work counts in blocks of this size (SHA: 64)" },
	{ OPT_SIZE, 0, "padding", AT(padding), .arg = "SIZE",
	  .help = "bytes added before blocks are counted (SHA: 9)" },
	{ OPT_DOUBLE, 0, "near-one", AT(near_one), .arg = "X",
	  .help = "|beta-1| below X: L and A count as inseparable (0.1)" },
	{ OPT_UINT, 0, "resamples", AT(resamples), .arg = "N",
	  .help = "of the bootstrap behind the intervals (200; 0: none)" },
	{ OPT_UINT, 0, "seed", AT(seed), .arg = "N", .help = "of the bootstrap (1)" },
	{ OPT_GROUP, .help = "predict and whatif" },
	{ OPT_LIST, 's', "size", AT(sizes), .arg = "SIZE[,SIZE]",
	  .help = "sizes to predict; may be repeated (powers of 16)" },
	{ OPT_UINT, 0, "batch", AT(batch), .arg = "N", .help = "N calls handed over as one (1)" },
	{ OPT_BOOL, 0, "extrapolate", AT(extrapolate), .help = "predict outside the measured sizes, too" },
	{ OPT_STRING, 0, "change", AT(change), .arg = "L/10,A*2,o=0",
	  .help = "whatif: parameters changed, one or more" },
	{ OPT_DOUBLE, 0, "share", AT(share), .arg = "F",
	  .help = "whatif: the kernel's share of the program's time, 0 to 1" },
	{ OPT_DOUBLE, 0, "calls", AT(calls), .arg = "N",
	  .help = "whatif: offloads per 1e9 units of the program's time (a second, if ns)" },
	{ OPT_DOUBLE, 0, "queue", AT(queue), .arg = "TIME",
	  .help = "whatif: waiting in the device's queue, in the parameters' unit" },
	{ OPT_DOUBLE, 0, "thread-switch", AT(thread_switch), .arg = "TIME",
	  .help = "whatif: cost of switching threads, same unit" },
	{ OPT_DOUBLE, 0, "link", AT(link), .arg = "BYTES/S",
	  .help = "whatif: bandwidth to the device, for the transfer bounds" },
	{ OPT_SIZE, 0, "unique", AT(unique), .arg = "SIZE",
	  .help = "whatif: different bytes per second among those the calls hand over" },
	{ OPT_GROUP, .help = "Output" },
	{ OPT_STRING, 0, "svg", AT(svg), .arg = "FILE",
	  .help = "also draw speed-up over size, with the regions, into FILE" },
	{ OPT_BOOL, 0, "newton", AT(newton), .help = "print the published one-step g1 and gA/2, too" },
	{ OPT_BOOL, 0, "json", AT(json),
	  .help = "print accperf.logca/1, -predict/1, -whatif/1, -curves/1; devices: accperf.accelerators/1" },
	STDIO_OPT(struct logca_cmd, stdio),
	OPT_END
};

static int print_text(struct buf *b, bool pager)
{
	struct err e = { 0 };

	return pager_write(b, pager, &e) ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static int save_svg(const struct logca_cmd *o, const struct logca_view *v)
{
	AUTO_BUF(svg);
	struct err e = { 0 };

	if (!o->svg)
		return EXIT_DONE;
	logca_svg(&svg, v);
	return pager_save(&svg, o->svg, &e) ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

/* Where one curve misses because the kernel changes at some size, BIC finds where: say so. */
static void suggest_segments(const struct logca_source *s)
{
	struct fit_opts opts = fit_defaults;
	struct fit_segment seg[FIT_STRETCHES];
	struct err e = { 0 };
	AUTO_BUF(at);
	int n;

	opts.resamples = 0;
	n = fit_stretches(s->view.pts, &opts, &s->fit, seg, &e);
	for (int i = 1; i < n; i++) {
		buf_addstr(&at, i == 1 ? "" : i == n - 1 ? " and " : ", ");
		logca_size(&at, seg[i].first);
	}
	if (n > 1 && !buf_failed(&at))
		log_info("from %s on the sizes follow other curves; --segments auto fits each stretch (misfit %.0f %%)",
			 at.data, 100 * fit_segments_error(seg, n));
}

/* A fit that misses by more than 10 % is given, but not as if it were sound. */
static int soundness(const struct logca_source *s)
{
	if (!s->fitted || s->fit.error <= FIT_POOR)
		return EXIT_DONE;
	log_warn("the fit misses the measured medians by %.0f %% on average; its break-even is a guide only",
		 s->fit.error * 100);
	suggest_segments(s);
	return EXIT_DEGRADED;
}

static int show_model(const struct logca_cmd *o, struct logca_source *s)
{
	AUTO_BUF(out);
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	int status;

	s->view.newton = o->newton;
	if (o->json) {
		struct json j = { .out = &out };

		json_obj(&j, NULL);
		json_str(&j, "schema", "accperf.logca/1");
		logca_json(&j, &s->view);
		json_end(&j);
		buf_addch(&out, '\n');
	} else {
		logca_text(&out, &s->view, &style);
	}
	status = save_svg(o, &s->view);
	if (!status)
		status = print_text(&out, !o->json && !o->stdio);
	return status ? status : soundness(s);
}

static int show_curves(const struct logca_cmd *o, const struct logca_curves *c)
{
	AUTO_BUF(out);
	AUTO_BUF(svg);
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct err e = { 0 };

	if (o->json)
		logca_curves_json(&out, c);
	else
		logca_curves_text(&out, c, &style);
	if (o->svg) {
		logca_curves_svg(&svg, c);
		if (pager_save(&svg, o->svg, &e))
			return cli_fail(&e, EXIT_FAILED);
	}
	return print_text(&out, !o->json && !o->stdio);
}

static int show_improvements(const struct logca_cmd *o, struct logca_source *s)
{
	struct logca_curves c;
	int status;

	logca_curves_of_improvements(&c, &s->view);
	c.title = s->view.name ? s->view.name : "ten times better";
	status = show_curves(o, &c);
	return status ? status : soundness(s);
}

static int show_several(const struct logca_cmd *o, const char *verb, bool more)
{
	struct catalogue from = { 0 };
	struct logca_curves c;
	struct err e = { 0 };
	int status, err;

	if (strcmp(verb, "show") != 0 || more) {
		err_set(&e, -EINVAL,
			more ? "several devices are shown by themselves, without a file or --params"
			     : "several devices go with show; %s takes one",
			verb);
		return cli_fail(&e, EXIT_USAGE);
	}
	err = logca_several(o->devices.items, o->devices.count, &from, &c, &e);
	status = !err ? show_curves(o, &c) : cli_fail(&e, err == -EINVAL ? EXIT_USAGE : EXIT_FAILED);
	catalogue_release(&from);
	return status;
}

static int show_regions(const struct logca_cmd *o, struct logca_source *s)
{
	AUTO_BUF(out);
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	int status;

	if (o->json)
		return show_model(o, s);
	logca_text_regions(&out, &s->view, &style);
	status = save_svg(o, &s->view);
	if (!status)
		status = print_text(&out, !o->stdio);
	return status ? status : soundness(s);
}

static int predict(const struct logca_cmd *o, struct logca_source *s)
{
	double g[LOGCA_SIZES_MOST];
	struct err e = { 0 };
	AUTO_BUF(out);
	int n = logca_sizes_parse(o->sizes.items, o->sizes.count, s->view.lo, s->view.hi, g, &e), status;

	if (n < 0)
		return cli_fail(&e, EXIT_USAGE);
	if (o->batch < 1)
		return err_set(&e, -EINVAL, "--batch wants 1 or more"), cli_fail(&e, EXIT_USAGE);
	for (int i = 0; i < n; i++)
		if (s->fitted && !o->extrapolate && (g[i] < s->view.lo || g[i] > s->view.hi)) {
			err_set(&e, -ERANGE,
				"%.6g B lies outside the measured %.6g .. %.6g B; --extrapolate to see what the model would say",
				g[i], s->view.lo, s->view.hi);
			return cli_fail(&e, EXIT_FAILED);
		}
	if (o->json)
		logca_predict_json(&out, &s->view, g, n, (double)o->batch);
	else
		logca_predict_text(&out, &s->view, g, n, (double)o->batch);
	status = print_text(&out, !o->json && !o->stdio);
	return status ? status : soundness(s);
}

static int show_whatif(const struct logca_cmd *o, struct logca_source *s)
{
	struct logca_view v[2] = { s->view, s->view };
	struct whole_program w[2];
	const struct program_use use = { .share = o->share,
					 .calls = o->calls,
					 .queue = o->queue,
					 .thread_switch = o->thread_switch,
					 .link = o->link,
					 .unique = (double)o->unique };
	double g[LOGCA_SIZES_MOST], at = 4096;
	struct err e = { 0 };
	AUTO_BUF(out);
	int status, n = o->sizes.count
				? logca_sizes_parse(o->sizes.items, o->sizes.count, s->view.lo, s->view.hi, g, &e)
				: 0;

	if (n < 0)
		return cli_fail(&e, EXIT_USAGE);
	if (n > 0)
		at = g[0];
	if (!o->change && !o->share)
		return err_set(&e, -EINVAL, "whatif wants --change (L/10,A*2), or --share and --calls of a program"),
		       cli_fail(&e, EXIT_USAGE);
	if (o->change && logca_change(o->change, &v[1].p, &e))
		return cli_fail(&e, EXIT_USAGE);
	v[1].fit = NULL; /* intervals and points belong to the measured parameters */
	v[1].pts = NULL;
	for (int i = 0; i < 2; i++)
		if (whole_program(&use, &v[i].p, at, &w[i], &e))
			return cli_fail(&e, EXIT_USAGE);
	if (o->json)
		logca_whatif_json(&out, v, at, w);
	else
		logca_whatif_text(&out, v, at, w);
	status = save_svg(o, &v[1]);
	if (!status)
		status = print_text(&out, !o->json && !o->stdio);
	return status ? status : soundness(s);
}

#define SEGMENTS_MOST 8 /* stretches of --segments; chosen by hand, not measured */

/* 0: the curves are chosen where one misses; -EINVAL. */
static int segments_of(const char *text, struct err *e)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!strcmp(text, "auto"))
		return 0;
	if (*text < '0' || *text > '9' || *end || n < 1)
		return err_set(e, -EINVAL, "--segments is a number from 1 to %d, or auto; '%s' is neither",
			       SEGMENTS_MOST, text);
	return n > SEGMENTS_MOST ? SEGMENTS_MOST : (int)n;
}

static int segments(const struct logca_cmd *o, struct logca_source *s, int most)
{
	struct fit_segment seg[SEGMENTS_MOST];
	struct fit_opts opts = { .resamples = (unsigned)o->resamples,
				 .seed = o->seed,
				 .near_one = o->near_one,
				 .pad_block = (double)o->block,
				 .pad_bytes = (double)o->padding,
				 .no_offset = o->no_offset,
				 .min_sizes = 5 };
	struct text_style style = o->stdio ? (struct text_style){ 0 } : pager_style();
	struct err e = { 0 };
	AUTO_BUF(out);
	int n = most ? fit_segments(s->view.pts, &opts, seg, most, &e)
		     : fit_stretches(s->view.pts, &opts, &s->fit, seg, &e),
	    status;
	double error;

	if (n < 0)
		return cli_fail(&e, EXIT_FAILED);
	error = fit_segments_error(seg, n);
	s->view.seg = n > 1 ? seg : NULL;
	s->view.segs = n;
	if (n == 1) {
		s->view.fit = &seg[0].fit;
		s->view.p = seg[0].fit.p;
	}
	if (o->json)
		logca_segments_json(&out, &s->view, seg, n);
	else
		logca_segments_text(&out, &s->view, seg, n, &style);
	status = save_svg(o, &s->view);
	if (!status)
		status = print_text(&out, !o->json && !o->stdio);
	if (status || !(error > FIT_POOR))
		return status;
	log_warn("%s the measured medians by %.0f %% on average; the break-even is a guide only",
		 n == 1 ? "the fit misses" : "the stretches miss", error * 100);
	return EXIT_DEGRADED;
}

static int show_devices(const char *file, bool json, bool stdio)
{
	struct catalogue c = { 0 };
	struct err e = { 0 };
	AUTO_BUF(out);
	char *here = calib_machine();
	int err = catalogue_all(&c, file, &e);

	if (!err && json) {
		err = catalogue_write_marked(&c, here, &out, &e);
		buf_addch(&out, '\n');
	} else if (!err) {
		devices_text(&out, &c, here);
	}
	if (!err)
		err = pager_write(&out, !json && !stdio, &e);
	catalogue_release(&c);
	free(here);
	return err ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static const struct cli_command cli_command_logca; /* defined below by CLI_COMMAND */

static const struct {
	const char *name;
	int (*run)(const struct logca_cmd *o, struct logca_source *s);
	bool want_points;
} verbs[] = {
	{ "fit", show_model, true },      { "show", show_model, false },      { "predict", predict, false },
	{ "whatif", show_whatif, false }, { "regions", show_regions, false }, { "improve", show_improvements, false },
};

/* A name alone is an entry of the catalogue that `accperf calibrate` keeps. */
static const char *file_meant(const struct logca_cmd *o, const char *given, char *own, size_t size)
{
	return given || !o->name || o->params || o->devices.count ? given : catalogue_own_path(own, size);
}

static int run_logca(void *opts, int argc, char **argv)
{
	struct logca_cmd *o = opts;
	const char *verb = argv[0], *file = NULL;
	struct logca_request r;
	struct logca_source s;
	struct filter filter;
	struct err e = { 0 };
	char own[PATH_MAX], meant[64];
	int status = EXIT_USAGE, most = 1;
	size_t v;

	argc--;
	argv++;
	if (argc > 1)
		return err_set(&e, -EINVAL, "'%s' is one file too many", argv[1]), cli_fail(&e, EXIT_USAGE);
	if (argc)
		file = argv[0];
	if (!strcmp(verb, "devices"))
		return show_devices(file, o->json, o->stdio);
	file = file_meant(o, file, own, sizeof(own));
	for (v = 0; v < sizeof(verbs) / sizeof(verbs[0]); v++)
		if (!strcmp(verb, verbs[v].name))
			break;
	if (v == sizeof(verbs) / sizeof(verbs[0])) {
		err_set(&e, -EINVAL,
			"logca has no '%s'; it has fit, show, predict, whatif, regions, improve and devices%s", verb,
			cli_meant_verb(verb, "fit show predict whatif regions improve devices", meant, sizeof(meant)));
		return cli_fail(&e, EXIT_USAGE);
	}
	if (o->resamples > 100000)
		return err_set(&e, -EINVAL, "--resamples of more than 100000 would take hours"),
		       cli_fail(&e, EXIT_USAGE);
	if (o->segments && v > 1)
		return err_set(&e, -EINVAL, "--segments is an option of fit and show; %s takes one curve", verb),
		       cli_fail(&e, EXIT_USAGE);
	if (o->segments && (most = segments_of(o->segments, &e)) < 0)
		return cli_fail(&e, EXIT_USAGE);
	if (o->level && (!*o->level || o->level[strspn(o->level, "-0123456789")]))
		return err_set(&e, -EINVAL, "--level is a number, as zlib and zstd have it; '%s' is none", o->level),
		       cli_fail(&e, EXIT_USAGE);
	if (o->devices.count > 1)
		return show_several(o, verb, file || o->params);
	r = (struct logca_request){ .params = o->params,
				    .device = o->devices.count ? o->devices.items[0] : NULL,
				    .file = file,
				    .name = o->name,
				    .host = o->host,
				    .accelerated = o->accelerated,
				    .level = o->level,
				    .fit = { .resamples = (unsigned)o->resamples,
					     .seed = o->seed,
					     .near_one = o->near_one,
					     .pad_block = (double)o->block,
					     .pad_bytes = (double)o->padding,
					     .no_offset = o->no_offset,
					     .min_sizes = 5,
					     .latency = !strcmp(o->latency, "dep")     ? FIT_DEP
							: !strcmp(o->latency, "indep") ? FIT_INDEP
										       : FIT_BY_BIC } };
	if (filter_from_opts(&o->filter, &filter, &e))
		return cli_fail(&e, EXIT_USAGE);
	r.filter = &filter;
	if (logca_source_load(&s, &r, verbs[v].want_points || o->segments, &e)) {
		status = cli_fail(&e,
				  !o->params + !r.device + !file == 2 && (file || r.device) ? EXIT_FAILED : EXIT_USAGE);
	} else {
		if (o->unit)
			s.view.unit = o->unit;
		if (s.thinned)
			log_info(
				"%zu points were left out: the fit takes at most a dozen calls per quarter octave of size",
				s.thinned);
		status = most == 1 ? verbs[v].run(o, &s) : segments(o, &s, most);
	}
	logca_source_release(&s);
	filter_release(&filter);
	return status;
}

static const struct cli_schema schemas[] = { { "logca", logca_schema },
					     { "logca-predict", logca_predict_schema },
					     { "logca-whatif", logca_whatif_schema },
					     { "logca-segments", logca_segments_schema },
					     { "logca-curves", logca_curves_schema },
					     { 0 } };

CLI_COMMAND(logca) = {
	.name = "logca",
	.summary = "what an accelerator is worth at which size: fit, show, predict, whatif",
	.order = 45,
	.run = run_logca,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct logca_cmd),
	.defaults = &defaults,
	.usage = "fit|show|predict|whatif|regions|improve|devices [options] [FILE]",
	.details =
		"LogCA describes an offload by five parameters: L, the latency of the interface (per call or per byte); o, the\n"
		"host's overhead; g, the bytes handed over; C g^beta, the host's time for them; A, the peak acceleration. From\n"
		"them follow the speed-up at every size, the size from which offloading pays (g1) and which parameter is\n"
		"worth improving where.\n\n"
		"fit estimates them from measured calls: a CSV with the columns bytes,host,accelerated (and, if measured,\n"
		"zero: an offload that computes nothing; submit: until the submitting call returns), or bytes,run,time; or an\n"
		"entry of a catalogue by `accperf calibrate`. What the data cannot tell apart is said, not guessed. Where a kernel\n"
		"changes at some size (another algorithm, out of a cache) --segments auto fits each stretch by itself.\n"
		"show, regions, predict, whatif and improve take the same, or parameters, or a device that comes with the program.\n"
		"improve puts L, o, C and A, each ten times better, beside what is; show -d A -d B puts devices beside each other;\n"
		"both in one picture with --svg. (!) marks published figures that contradict their curves; show says how. devices\n"
		"lists those, what calibrate measured here, and FILE's: with machine, source, date and the sizes that makers ship.\n\n"
		"Sizes are bytes, K, M, G powers of 1024. Times are in one unit throughout, ns for measured ones.\n"
		"Exit status 3: the fit misses the measured medians by more than 10 %.",
	.examples =
		"accperf logca fit calls.csv --svg calls.svg\tFit the calls measured in calls.csv and draw them\n"
		"accperf logca fit ~/.config/accperf/accelerators.json --name sha256/avx2\tFit what calibrate measured\n"
		"accperf logca fit ~/.config/accperf/accelerators.json --name crc32-isal/zlib --segments auto\tOne that changes with the size\n"
		"accperf logca show --device ultrasparc-t2/aes\tA device of the paper\n"
		"accperf logca show -d ultrasparc-t2/aes -d sparc-t4/aes-instruction --svg two.svg\tDevices in one picture\n"
		"accperf logca improve -d ultrasparc-t2/aes\tWhat ten times better parameters would bring\n"
		"accperf logca show --params L=1500,o=29000,C=90,A=19,beta=1.01,latency=indep --json\tParameters of your own\n"
		"accperf logca whatif -d ultrasparc-t2/aes --change o/10 --size 1K\tIs a cheaper interface worth it?\n"
		"accperf logca whatif -d sparc-t4/aes-instruction --share 0.2 --calls 1e5 --thread-switch 300\tThreading designs in a program\n",
	.schemas = schemas,
	.min_args = 1,
	.max_args = -1,
};
