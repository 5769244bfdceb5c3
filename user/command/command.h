/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands and their options: what all of them are made of. Included by foreground, cli, top and tests.
 *
 * To add a command:
 *   1. user/cli/NAME.c (tests/adding/command.c is one to begin with) with an option struct, its table and, at the end,
 *
 *     CLI_COMMAND(name) = { .name = "name", .summary = "...", .order = 50, .run = cmd_name,
 *                           .options = options, .opt_size = sizeof(struct name_opts), ... };
 *
 * There is no row: the linker collects the commands. Help, `--help`, the man page, bash completion, JSON schemas and
 * the tests that compare them are made from these tables. Parsing only fills the option struct; what needs checking or
 * work happens in run().
 */
#ifndef ACCPERF_COMMAND_H
#define ACCPERF_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/err.h"
#include "util/log.h"

enum cli_exit { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_DEGRADED = 3 };

enum opt_type {
	OPT_BOOL,   /* bool; --name and --no-name */
	OPT_UINT,   /* uint64_t */
	OPT_DOUBLE, /* double */
	OPT_STRING, /* const char * */
	OPT_LIST,   /* struct opt_list: may be repeated */
	OPT_TIME,   /* double, seconds; accepts 250ms, 10s, 5m, 1h */
	OPT_SIZE,   /* uint64_t, bytes; accepts K M G */
	OPT_GROUP,  /* a heading in help; help = its text */
};

struct opt_list {
	const char *items[64];
	unsigned count;
};

struct opt {
	enum opt_type type;
	char letter;      /* 0: none */
	const char *name; /* long name without --; NULL: letter only */
	size_t offset;    /* into the command's option struct */
	const char *arg;  /* name of the value in help; "A|B|C" limits an OPT_STRING to these */
	const char *help;
	size_t set_offset; /* offset of a bool that becomes true when given; 0: none */
};
#define OPT_END                                                                                                        \
	{                                                                                                              \
		.type = OPT_GROUP                                                                                      \
	}

/* Of every command that prints a table: as perf has it, for scripts and for names in full. */
#define STDIO_OPT(struct_name, field)                                                                                  \
	{                                                                                                              \
		OPT_BOOL, 0, "stdio", offsetof(struct_name, field), .help = "no pager, no colours, no cut names"       \
	}

/* Of every command whose figures are bytes: which of them count, and for which function. */
#define CHOICE_OPT(struct_name, field, text, takes, does)                                                              \
	{                                                                                                              \
		OPT_STRING, 0, text, offsetof(struct_name, field), .arg = takes, .help = does                          \
	}
#define SEMANTICS_OPT(struct_name, field)                                                                              \
	CHOICE_OPT(struct_name, field, "semantics", "quad|ke", "every byte read, or once per invocation (quad)")
#define STACK_OPT(struct_name, field)                                                                                  \
	CHOICE_OPT(struct_name, field, "stack", "exclude|include", "count accesses to the stack, too (exclude)")
#define ATTRIBUTE_OPT(struct_name, field)                                                                              \
	CHOICE_OPT(struct_name, field, "attribute", "self|main",                                                       \
		   "library code to itself, or to its caller in the main image (self)")

struct cli_schema {
	const char *name; /* accperf help --json-schema NAME */
	const char *text; /* JSON schema */
};

struct cli_command {
	const char *name;
	const char *summary; /* one line, no full stop */
	int order;           /* position in help */
	/* opts: the filled option struct; argv: what follows the options. Returns enum cli_exit, or
	 * for record the command's own status. */
	int (*run)(void *opts, int argc, char **argv);
	bool runs_command; /* the first operand is a program: what follows it is no option of ours */
	bool files_only;   /* reads and writes files and nothing else: all other capabilities are given up first */
	const struct opt *options; /* ends with OPT_END; NULL: none */
	size_t opt_size;
	const void *defaults;             /* option struct to start from; NULL: zeros */
	const char *usage;                /* what follows "accperf NAME", e.g. "[options] [-- CMD ARGS]" */
	const char *details;              /* paragraphs for --help and the man page */
	const char *examples;             /* lines "command\tWhat it does\n" */
	const struct cli_schema *schemas; /* ends with {0} */
	bool records;           /* needs rights that the file of the program may lend; all others give them back */
	int min_args, max_args; /* operands; max < 0: any */
};

#define CLI_COMMAND(ident)                                                                                             \
	static const struct cli_command cli_command_##ident;                                                           \
	static const struct cli_command *const cli_ptr_##ident __attribute__((used, section("cli_table"))) =           \
		&cli_command_##ident;                                                                                  \
	static const struct cli_command cli_command_##ident

/* All commands in help order; NULL-terminated, static storage. */
const struct cli_command *const *cli_commands(void);
const struct cli_command *cli_find(const char *name);
/* "did you mean `accperf X`? ", or "": into out, which is returned. */
const char *cli_meant(const char *name, char *out, size_t size);
/* The same of words with blanks between them: "; did you mean 'x'?" */
const char *cli_meant_verb(const char *typed, const char *verbs, char *out, size_t size);
/* Parses argv (after the command's name) into opts; *rest = index of the first operand. Options may stand anywhere
 * before "--": operands are moved behind them. A command without operands that has -i, --input takes one for it. */
int opts_parse(const struct cli_command *cmd, void *opts, int argc, char **argv, int *rest, struct err *e);
/* The last row of a table of options. */
bool opt_is_end(const struct opt *o);
void opts_help(const struct cli_command *cmd);
/* The list of commands. */
void cli_usage(FILE *out);
/* Prints the error to stderr and returns `status`. */
int cli_fail(const struct err *e, int status);

#endif
