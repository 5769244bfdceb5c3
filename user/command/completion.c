// SPDX-License-Identifier: GPL-2.0-or-later
/* The script that completes commands, options and their values in bash and zsh, from the table of commands. */
#include <string.h>

#include "command/command.h"
#include "command/manual.h"

static void words(struct buf *b, const struct cli_command *cmd)
{
	for (const struct opt *o = cmd->options; o && !opt_is_end(o); o++) {
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
	for (const struct opt *o = cmd->options; o && !opt_is_end(o); o++) {
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

void manual_completion(struct buf *b)
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
