// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/manual.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command/command.h"

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
void manual_paragraphs(struct buf *b, const char *s)
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

void manual_head(struct buf *b, const char *title, int part, const char *name, const char *summary)
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
	for (const struct opt *o = cmd->options; o && !opt_is_end(o); o++) {
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

void manual_command(struct buf *b, const struct cli_command *cmd)
{
	char name[64];

	snprintf(name, sizeof(name), "accperf-%s", cmd->name);
	manual_head(b, name, 1, name, cmd->summary);
	buf_addf(b, ".SH SYNOPSIS\n\\fBaccperf %s\\fR ", cmd->name);
	roff(b, cmd->usage ? cmd->usage : "");
	buf_addstr(b, "\n.SH DESCRIPTION\n");
	manual_paragraphs(b, cmd->details ? cmd->details : cmd->summary);
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

void manual_main(struct buf *b)
{
	manual_head(b, "accperf", 1, "accperf",
		    "find which functions are worth an accelerator, and what it would take");
	buf_addstr(b, ".SH SYNOPSIS\n\\fBaccperf\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n");
	manual_paragraphs(
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
