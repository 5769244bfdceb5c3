// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf open: the page of `accperf report --html` on loopback, for people who work over ssh. */
#include <stdio.h>
#include <unistd.h>

#include "command/command.h"
#include "html/loopback.h"
#include "html/parts.h"

struct open_cmd {
	struct html_files files;
	uint64_t port;
};

static const struct open_cmd defaults = { .files.input = "accperf.data" };

#define AT(field) .offset = offsetof(struct open_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 'i', "input", AT(files.input), .arg = "FILE", .help = "the profile to show (accperf.data)" },
	{ OPT_STRING, 0, "against", AT(files.base), .arg = "OTHER",
	  .help = "compare it with this profile, as `report --html --against` does" },
	{ OPT_UINT, 0, "port", AT(port), .arg = "PORT", .help = "of 127.0.0.1 (0: any that is free)" },
	OPT_END
};

static int cmd_open(void *opts, int argc, char **argv)
{
	const struct open_cmd *o = opts;
	struct loopback s = { .listening = -1, .signals = -1 };
	struct err e = { 0 };
	char host[256] = "HOST";
	int status = EXIT_DONE;

	if (o->port > 65535) {
		log_error("--port must be 0 to 65535");
		return EXIT_USAGE;
	}
	if (html_make(&o->files, &s.page, &status, &e) || loopback_begin(&s, (unsigned)o->port, &e)) {
		loopback_end(&s);
		return cli_fail(&e, EXIT_FAILED);
	}
	gethostname(host, sizeof(host) - 1);
	printf("http://127.0.0.1:%u/%s\n", s.port, s.token);
	fflush(stdout);
	log_info("for one browser; from another machine first: ssh -L %u:127.0.0.1:%u %s   Ctrl-C ends", s.port, s.port,
		 host);
	loopback_serve(&s);
	loopback_end(&s);
	return status;
}

CLI_COMMAND(open) = {
	.name = "open",
	.summary = "a profile as a page for the browser, over ssh too",
	.order = 22,
	.run = cmd_open,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct open_cmd),
	.defaults = &defaults,
	.usage = "[options] [FILE]",
	.details =
		"Makes the page of `accperf report --html` and serves it on 127.0.0.1 until Ctrl-C: for machines without a\n"
		"browser, and without a file to copy. Prints the address, and the ssh command that forwards it.\n"
		"\n"
		"The address works once: it gives the browser that asks first a cookie, with which it may ask again. Others\n"
		"get nothing. Nothing but the page is served, and nothing is kept.",
	.examples = "accperf open\tWhat was recorded last, in a browser\n"
		    "accperf open --port 8080 run.data\tOn a port that ssh forwards already\n",
};
