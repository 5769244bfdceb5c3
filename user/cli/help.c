// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf help: everything that can be said from the command tables: text, man pages, completion, schemas. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "view/schema.h"

#include "cli/cli.h"
#include "cli/pager.h"
#include "daemon/config.h"

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

static bool is_end(const struct opt *o)
{
	return o->type == OPT_GROUP && !o->help;
}

/* Text for roff: no line of ours may turn into a request, no hyphen into a dash. */
static void roff(struct buf *b, const char *s)
{
	for (bool start = true; *s; start = *s == '\n', s++) {
		if (start && (*s == '.' || *s == '\''))
			buf_addstr(b, "\\&");
		if (*s == '\\')
			buf_addstr(b, "\\e");
		else if (*s == '-')
			buf_addstr(b, "\\-");
		else
			buf_addch(b, *s);
	}
}

/* "A\n\nB" -> paragraphs; single line ends are blanks. */
static void roff_paragraphs(struct buf *b, const char *s)
{
	AUTO_BUF(part);

	while (*s) {
		const char *end = strstr(s, "\n\n");
		size_t n = end ? (size_t)(end - s) : strlen(s);

		buf_clear(&part);
		buf_add(&part, s, n);
		while (part.len && part.data[part.len - 1] == '\n')
			part.data[--part.len] = 0;
		if (part.len && !buf_failed(&part)) {
			roff(b, part.data);
			buf_addch(b, '\n');
		}
		s += n;
		while (*s == '\n')
			s++;
		if (*s)
			buf_addstr(b, ".PP\n");
	}
}

static void man_head(struct buf *b, const char *title, int part, const char *name, const char *summary)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	time_t t = epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
	struct tm tm;
	char date[32] = "";

	if (gmtime_r(&t, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	buf_addstr(b, ".\\\" made by accperf help --man; do not edit\n.TH ");
	for (const char *c = title; *c; c++)
		buf_addch(b, (char)toupper((unsigned char)*c));
	buf_addf(b, " %d %s \"accperf %s\" \"accperf manual\"\n.SH NAME\n", part, date, ACCPERF_VERSION);
	roff(b, name);
	buf_addstr(b, " \\- ");
	roff(b, summary);
	buf_addch(b, '\n');
}

static void man_options(struct buf *b, const struct cli_command *cmd)
{
	buf_addstr(b, ".SH OPTIONS\n");
	for (const struct opt *o = cmd->options; o && !is_end(o); o++) {
		if (o->type == OPT_GROUP) {
			buf_addstr(b, ".SS ");
			roff(b, o->help);
			buf_addch(b, '\n');
			continue;
		}
		buf_addstr(b, ".TP\n");
		if (o->letter)
			buf_addf(b, "\\fB\\-%c\\fR%s", o->letter, o->name ? ", " : "");
		if (o->name) {
			buf_addstr(b, "\\fB\\-\\-");
			roff(b, o->name);
			buf_addstr(b, "\\fR");
		}
		if (o->type != OPT_BOOL) {
			buf_addstr(b, " \\fI");
			roff(b, o->arg ? o->arg : "VALUE");
			buf_addstr(b, "\\fR");
		}
		buf_addch(b, '\n');
		roff(b, o->help);
		buf_addch(b, '\n');
	}
	buf_addstr(b, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint usage, options and examples.\n");
}

static void man_examples(struct buf *b, const char *examples)
{
	buf_addstr(b, ".SH EXAMPLES\n");
	for (const char *p = examples; *p;) {
		const char *tab = strchr(p, '\t'), *nl = strchr(p, '\n');
		AUTO_BUF(command);
		AUTO_BUF(what);

		if (!tab || !nl || tab > nl)
			break;
		buf_add(&command, p, (size_t)(tab - p));
		buf_add(&what, tab + 1, (size_t)(nl - tab - 1));
		if (buf_failed(&command) || buf_failed(&what))
			break;
		buf_addstr(b, ".TP\n\\fB");
		roff(b, command.data ? command.data : "");
		buf_addstr(b, "\\fR\n");
		roff(b, what.data ? what.data : "");
		buf_addch(b, '\n');
		p = nl + 1;
	}
}

static void man_tail(struct buf *b, const char *self)
{
	buf_addstr(
		b,
		".SH EXIT STATUS\n"
		".TP\n0\nDone.\n"
		".TP\n1\nFailed; standard error says why and what to do.\n"
		".TP\n2\nWrong usage.\n"
		".TP\n3\nDone but degraded: something asked for could not be had; standard error says what, and how to get it.\n"
		".SH SEE ALSO\n");
	if (strcmp(self, "accperf"))
		buf_addstr(b, "\\fBaccperf\\fR(1)");
	for (const struct cli_command *const *c = cli_commands(); *c; c++) {
		if (!strcmp((*c)->name, self))
			continue;
		buf_addf(b, "%s\\fBaccperf\\-%s\\fR(1)", c == cli_commands() && !strcmp(self, "accperf") ? "" : ",\n",
			 (*c)->name);
	}
	buf_addch(b, '\n');
}

static void man_command(struct buf *b, const struct cli_command *cmd)
{
	char name[64];

	snprintf(name, sizeof(name), "accperf-%s", cmd->name);
	man_head(b, name, 1, name, cmd->summary);
	buf_addf(b, ".SH SYNOPSIS\n\\fBaccperf %s\\fR ", cmd->name);
	roff(b, cmd->usage ? cmd->usage : "");
	buf_addstr(b, "\n.SH DESCRIPTION\n");
	roff_paragraphs(b, cmd->details ? cmd->details : cmd->summary);
	man_options(b, cmd);
	if (cmd->examples)
		man_examples(b, cmd->examples);
	if (cmd->schemas) {
		buf_addstr(b, ".SH JSON\nSchemas, printed by \\fBaccperf help \\-\\-json\\-schema\\fR:");
		for (const struct cli_schema *s = cmd->schemas; s->name; s++) {
			buf_addch(b, ' ');
			roff(b, s->name);
		}
		buf_addstr(b, ".\n");
	}
	man_tail(b, cmd->name);
}

static void man_main(struct buf *b)
{
	man_head(b, "accperf", 1, "accperf", "find which functions are worth an accelerator, and what it would take");
	buf_addstr(b, ".SH SYNOPSIS\n\\fBaccperf\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n");
	roff_paragraphs(
		b, "accperf observes a live process at about one per cent of its speed and tells which functions the "
		   "time goes to, which data travel between them, from which size on moving one to an accelerator "
		   "would pay, and whether the accelerators in use pay off. Every figure carries where it came from, "
		   "its interval and what was lost.\n\n"
		   "Start with accperf doctor, then accperf record -p PID and accperf report.");
	buf_addstr(b, ".SH COMMANDS\n");
	for (const struct cli_command *const *c = cli_commands(); *c; c++) {
		buf_addf(b, ".TP\n\\fB%s\\fR\n", (*c)->name);
		roff(b, (*c)->summary);
		buf_addch(b, '\n');
	}
	buf_addstr(
		b,
		".SH ENVIRONMENT\n"
		".TP\nNO_COLOR\nIf set and not empty, no colours.\n"
		".TP\nACCPERF_PAGER, PAGER\nThe pager for long output on a terminal (less \\-FRX).\n"
		".TP\nDEBUGINFOD_URLS\nWhere to fetch debug information; nothing is fetched without it.\n"
		".TP\nACCPERF_DEBUGINFOD\nRoot fetches only where this is 1: the names of programs of all users would be told.\n"
		".SH FILES\n.TP\naccperf.data\nThe profile that record writes and the other commands read.\n");
	man_tail(b, "accperf");
}

static void words(struct buf *b, const struct cli_command *cmd)
{
	for (const struct opt *o = cmd->options; o && !is_end(o); o++) {
		if (o->type == OPT_GROUP)
			continue;
		if (o->letter)
			buf_addf(b, " -%c", o->letter);
		if (o->name)
			buf_addf(b, " --%s", o->name);
		if (o->name && o->type == OPT_BOOL && strncmp(o->name, "no-", 3))
			buf_addf(b, " --no-%s", o->name);
	}
	buf_addstr(b, " --help");
}

/* "report:--sort|report:-s) words" lines for options whose values are known. */
static void value_cases(struct buf *b, const struct cli_command *cmd)
{
	for (const struct opt *o = cmd->options; o && !is_end(o); o++) {
		const char *values = o->arg ? o->arg : "";

		if (o->type == OPT_GROUP || o->type == OPT_BOOL)
			continue;
		buf_addstr(b, "\t");
		if (o->letter)
			buf_addf(b, "%s:-%c%s", cmd->name, o->letter, o->name ? "|" : "");
		if (o->name)
			buf_addf(b, "%s:--%s", cmd->name, o->name);
		if (!strncmp(values, "PID", 3)) {
			buf_addstr(
				b,
				") COMPREPLY=($(compgen -W \"$(ps -eo pid= 2>/dev/null)\" -- \"$cur\")); return ;;\n");
		} else if (strchr(values, '|') || !strcmp(values, "bash")) {
			buf_addstr(b, ") COMPREPLY=($(compgen -W \"");
			for (const char *v = values; *v; v++)
				buf_addch(b, *v == '|' ? ' ' : *v);
			buf_addstr(b, "\" -- \"$cur\")); return ;;\n");
		} else if (!strcmp(values, "COMMAND")) {
			buf_addstr(b, ") COMPREPLY=($(compgen -W \"$commands accperf\" -- \"$cur\")); return ;;\n");
		} else {
			buf_addstr(b, ") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
		}
	}
}

static void completion(struct buf *b)
{
	buf_addstr(
		b,
		"# bash completion for accperf; made by accperf help --completion bash\n"
		"_accperf() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]}\n"
		"\tlocal commands=\"");
	for (const struct cli_command *const *c = cli_commands(); *c; c++)
		buf_addf(b, "%s%s", c == cli_commands() ? "" : " ", (*c)->name);
	buf_addstr(
		b,
		"\"\n\tCOMPREPLY=()\n"
		"\tif [ \"$COMP_CWORD\" -le 1 ]; then COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$cur\")); return; fi\n"
		"\tcase \"$cmd:$prev\" in\n");
	for (const struct cli_command *const *c = cli_commands(); *c; c++)
		value_cases(b, *c);
	buf_addstr(b, "\tesac\n\tcase \"$cmd\" in\n");
	for (const struct cli_command *const *c = cli_commands(); *c; c++) {
		buf_addf(b, "\t%s) COMPREPLY=($(compgen -W \"", (*c)->name);
		words(b, *c);
		if (!strcmp((*c)->name, "help"))
			buf_addstr(b, " $commands");
		buf_addstr(b, "\" -- \"$cur\")) ;;\n");
	}
	/* operands are files or commands: what bash completes by itself */
	buf_addstr(b, "\tesac\n}\ncomplete -o default -F _accperf accperf\n");
}

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
	man_head(b, "accperf-daemon.yaml", 5, "accperf-daemon.yaml", "what accperf daemon records, keeps and serves");
	buf_addstr(b, ".SH DESCRIPTION\n");
	roff_paragraphs(
		b,
		"YAML: sections, in them a key and a value a line. What is not given has its default; a key that there is not, and "
		"a value that cannot be, is an error with its line and column. `accperf daemon --check` looks a file "
		"through, `accperf daemon --example` prints one with all keys. A daemon that runs takes a changed file at "
		"SIGHUP, but for storage.folder, http.listen and http.token_file.");
	config_manual(b);
	buf_addstr(b, ".SH FILES\n");
	roff_paragraphs(b, "/etc/accperf/daemon.yaml");
	buf_addstr(b, ".SH SEE ALSO\n");
	roff_paragraphs(b, "accperf-daemon(1)");
}

static int man(struct buf *b, const char *name, struct err *e)
{
	const struct cli_command *cmd;

	if (!strcmp(name, "accperf")) {
		man_main(b);
		return 0;
	}
	if (!strcmp(name, "daemon.yaml")) {
		man_configuration(b);
		return 0;
	}
	cmd = cli_find(name);
	if (!cmd)
		return err_set(e, -1, "there is no command '%s'; `accperf help` lists them", name);
	man_command(b, cmd);
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
		completion(&b);
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
