// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf help: everything that can be said from the command tables: text, man pages, completion, schemas. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/manual.h"
#include "command/pager.h"
#include "daemon/config.h"
#include "view/schema.h"

struct help_cmd {
	const char *man, *completion, *schema;
	bool list;
};

#define AT(field) .offset = offsetof(struct help_cmd, field)
static const struct opt options[] = {
	{ OPT_STRING, 0, "man", AT(man), .arg = "COMMAND",
	  .help = "print its man page (accperf: the one of accperf itself; daemon.yaml: of the configuration)" },
	{ OPT_STRING, 0, "completion", AT(completion), .arg = "bash", .help = "print the shell's completion script" },
	{ OPT_STRING, 0, "json-schema", AT(schema), .arg = "NAME",
	  .help = "print the JSON schema of accperf.NAME/1 (list: their names)" },
	{ OPT_BOOL, 0, "list", AT(list), .help = "print the names of the commands" },
	OPT_END
};

static int schema(struct buf *b, const char *wanted, struct err *e)
{
	AUTO_BUF(names);

	for (const struct cli_command *const *c = cli_commands(); *c; c++) {
		for (const struct cli_schema *s = (*c)->schemas; s && s->name; s++) {
			if (!strcmp(s->name, wanted)) {
				if (!schema_closed(s->text, b))
					return err_set(e, -EINVAL, "the schema of %s is no JSON", wanted);
				buf_addch(b, '\n');
				return 0;
			}
			buf_addf(&names, "%s\n", s->name);
		}
	}
	if (!strcmp(wanted, "list")) {
		buf_add(b, names.data, names.len);
		return 0;
	}
	for (size_t i = 0; i < names.len; i++)
		if (names.data[i] == '\n')
			names.data[i] = i + 1 < names.len ? ' ' : 0;
	return err_set(e, -1, "there is no JSON schema '%s'; there are: %s", wanted, names.len ? names.data : "none");
}

static void man_configuration(struct buf *b)
{
	manual_head(b, "accperf-daemon.yaml", 5, "accperf-daemon.yaml",
		    "what accperf daemon records, keeps and serves");
	buf_addstr(b, ".SH DESCRIPTION\n");
	manual_paragraphs(
		b,
		"YAML: sections, in them a key and a value a line. What is not given has its default; a key that there is not, and "
		"a value that cannot be, is an error with its line and column. `accperf daemon --check` looks a file "
		"through, `accperf daemon --example` prints one with all keys. A daemon that runs takes a changed file at "
		"SIGHUP, but for storage.folder, http.listen and http.token_file.");
	config_manual(b);
	buf_addstr(b, ".SH FILES\n");
	manual_paragraphs(b, "/etc/accperf/daemon.yaml");
	buf_addstr(b, ".SH SEE ALSO\n");
	manual_paragraphs(b, "accperf-daemon(1)");
}

static int man(struct buf *b, const char *name, struct err *e)
{
	const struct cli_command *cmd;

	if (!strcmp(name, "accperf")) {
		manual_main(b);
		return 0;
	}
	if (!strcmp(name, "daemon.yaml")) {
		man_configuration(b);
		return 0;
	}
	cmd = cli_find(name);
	if (!cmd)
		return err_set(e, -1, "there is no command '%s'; `accperf help` lists them", name);
	manual_command(b, cmd);
	return 0;
}

static int cmd_help(void *opts, int argc, char **argv)
{
	const struct help_cmd *o = opts;
	const struct cli_command *cmd;
	struct err e = { 0 };
	AUTO_BUF(b);
	int err = 0;

	if (o->completion && strcmp(o->completion, "bash")) {
		log_error("there is completion for bash, not for '%s'", o->completion);
		return EXIT_USAGE;
	}
	if (argc && (o->man || o->completion || o->schema || o->list)) {
		log_error("'%s' is one argument too many", argv[0]);
		return EXIT_USAGE;
	}
	if (o->man) {
		err = man(&b, o->man, &e);
	} else if (o->completion) {
		manual_completion(&b);
	} else if (o->schema) {
		err = schema(&b, o->schema, &e);
	} else if (o->list) {
		for (const struct cli_command *const *c = cli_commands(); *c; c++)
			buf_addf(&b, "%s\n", (*c)->name);
	} else if (argc) {
		cmd = cli_find(argv[0]);
		if (!cmd) {
			char near[80];

			log_error("there is no command '%s'; %s`accperf help` lists them", argv[0],
				  cli_meant(argv[0], near, sizeof(near)));
			return EXIT_USAGE;
		}
		opts_help(cmd);
		return EXIT_DONE;
	} else {
		cli_usage(stdout);
		return EXIT_DONE;
	}
	if (err)
		return cli_fail(&e, EXIT_USAGE);
	return pager_write(&b, false, &e) ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

CLI_COMMAND(help) = {
	.name = "help",
	.summary = "explain a command; print man pages, completion, JSON schemas",
	.order = 95,
	.run = cmd_help,
	.options = options,
	.opt_size = sizeof(struct help_cmd),
	.usage = "[COMMAND] [--man COMMAND | --completion bash | --json-schema NAME | --list]",
	.details =
		"Without anything: lists the commands. With a command: its options and examples. Man pages, completion\n"
		"and help are made from the same tables that parse the options, so they cannot disagree.",
	.examples = "accperf help record\tWhat record can do\n"
		    "accperf help --json-schema report\tWhat `accperf report --json` prints\n"
		    "accperf help --man report | man -l -\tThe man page, without installing\n"
		    "accperf help --completion bash >/etc/bash_completion.d/accperf\tCompletion for everybody\n",
	.max_args = 1,
};
