// SPDX-License-Identifier: GPL-2.0-or-later
/* The option parser: fills an option struct from a table, and does nothing else. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "util/suggest.h"

bool opt_is_end(const struct opt *o)
{
	return o->type == OPT_GROUP && !o->help;
}

static int parse_uint(const char *s, uint64_t *out)
{
	char *end;

	/* strtoull would take "-1" for a huge number */
	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	*out = strtoull(s, &end, 0);
	return errno || *end ? -EINVAL : 0;
}

static int parse_scaled(const char *s, const char *units, const double *factors, double *out)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(s, &end);
	if (errno || end == s || !(v >= 0) || v > 1e18)
		return -EINVAL;
	for (const char *u = units; *end && *u; u += strlen(u) + 1, factors++) {
		if (!strcmp(end, u)) {
			*out = v * *factors;
			return 0;
		}
	}
	*out = v;
	return *end ? -EINVAL : 0;
}

static bool one_of(const char *list, const char *value)
{
	size_t n = strlen(value);

	for (const char *p = list; p; p = strchr(p, '|')) {
		p += *p == '|';
		if (!strncmp(p, value, n) && (p[n] == '|' || !p[n]))
			return true;
	}
	return false;
}

static int store_value(const struct opt *o, void *opts, const char *shown, const char *value, bool negated,
		       struct err *e)
{
	char *at = (char *)opts + o->offset;
	double d;

	if (o->set_offset)
		*(bool *)((char *)opts + o->set_offset) = true;
	switch (o->type) {
	case OPT_BOOL: *(bool *)at = !negated; return 0;
	case OPT_UINT:
		if (parse_uint(value, (uint64_t *)at))
			return err_set(e, -EINVAL, "%s wants a whole number, not '%s'", shown, value);
		return 0;
	case OPT_DOUBLE:
		if (parse_scaled(value, "", NULL, (double *)at))
			return err_set(e, -EINVAL, "%s wants a number of 0 or more, not '%s'", shown, value);
		return 0;
	case OPT_TIME:
		if (parse_scaled(value, "us\0ms\0s\0m\0h\0d\0", (const double[]){ 1e-6, 1e-3, 1, 60, 3600, 86400 }, &d))
			return err_set(e, -EINVAL, "%s wants a time such as 10, 250ms, 5m or 1h, not '%s'", shown,
				       value);
		*(double *)at = d;
		return 0;
	case OPT_SIZE:
		if (parse_scaled(value, "K\0M\0G\0", (const double[]){ 1024, 1048576, 1073741824 }, &d) || d > 1e18)
			return err_set(e, -EINVAL, "%s wants a size such as 4096, 64K or 2M, not '%s'", shown, value);
		*(uint64_t *)at = (uint64_t)d;
		return 0;
	case OPT_STRING:
		if (o->arg && strchr(o->arg, '|') && !one_of(o->arg, value))
			return err_set(e, -EINVAL, "%s wants one of %s, not '%s'", shown, o->arg, value);
		*(const char **)at = value;
		return 0;
	case OPT_LIST: {
		struct opt_list *l = (struct opt_list *)at;

		if (l->count == sizeof(l->items) / sizeof(l->items[0]))
			return err_set(e, -EINVAL, "%s was given more than %u times", shown, l->count);
		l->items[l->count++] = value;
		return 0;
	}
	case OPT_GROUP: break;
	}
	return err_set(e, -EINVAL, "%s cannot be set", shown);
}

static const struct opt *find_long(const struct opt *table, const char *name, size_t len, bool *negated)
{
	for (const struct opt *o = table; o && !opt_is_end(o); o++) {
		if (o->type == OPT_GROUP || !o->name)
			continue;
		*negated = false;
		if (strlen(o->name) == len && !memcmp(o->name, name, len))
			return o;
		*negated = true;
		if (o->type == OPT_BOOL && len == strlen(o->name) + 3 && !memcmp(name, "no-", 3) &&
		    !memcmp(name + 3, o->name, len - 3))
			return o;
		/* an option named no-x may be taken back as --x */
		if (o->type == OPT_BOOL && !strncmp(o->name, "no-", 3) && strlen(o->name) == len + 3 &&
		    !memcmp(name, o->name + 3, len))
			return o;
	}
	return NULL;
}

static const struct opt *find_letter(const struct opt *table, char c)
{
	for (const struct opt *o = table; o && !opt_is_end(o); o++)
		if (o->type != OPT_GROUP && o->letter == c)
			return o;
	return NULL;
}

/* "did you mean --x? See", or "see" */
static const char *meant(const struct cli_command *cmd, const char *name, size_t len, char *out, size_t size)
{
	bool negative = len > 3 && !memcmp(name, "no-", 3);
	struct suggestion s = { 0 };

	for (const struct opt *o = cmd->options; o && !opt_is_end(o); o++)
		if (o->type != OPT_GROUP && o->name)
			suggest(&s, name, len, o->name);
	for (const struct opt *o = cmd->options; negative && !s.name && o && !opt_is_end(o); o++)
		if (o->type == OPT_BOOL && o->name)
			suggest(&s, name + 3, len - 3, o->name);
	snprintf(out, size, "see");
	if (s.name)
		snprintf(out, size, "did you mean --%s%s? See", negative && strncmp(s.name, "no-", 3) ? "no-" : "",
			 s.name);
	return out;
}

#define NAMED 6 /* commands, at most */

/* ": report, flow have it", of commands that read a profile as this one does, if any has the option. */
static const char *had_by(const struct cli_command *cmd, const char *name, size_t len, char *out, size_t size)
{
	unsigned found = 0;
	size_t n = 0;
	bool negated;

	*out = 0;
	for (const struct cli_command *const *c = cli_commands(); cmd->files_only && *c; c++) {
		if (!(*c)->files_only || !find_long((*c)->options, name, len, &negated) || found == NAMED)
			continue;
		n += (size_t)snprintf(out + n, size - n, "%s%s", found++ ? ", " : ": ", (*c)->name);
	}
	if (found)
		snprintf(out + n, size - n, found > 1 ? " have it" : " has it");
	return out;
}

/* As others take it: `--windows off`, which would be a command of that name. */
static bool is_switch_word(const char *s)
{
	return s && (!strcmp(s, "on") || !strcmp(s, "off"));
}

static int parse_long(const struct cli_command *cmd, void *opts, int argc, char **argv, int *i, struct err *e)
{
	const char *name = argv[*i] + 2, *eq = strchr(name, '='), *value = eq ? eq + 1 : NULL;
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	bool negated;
	const struct opt *o = find_long(cmd->options, name, len, &negated);
	char shown[80], near[80], had[200];

	snprintf(shown, sizeof(shown), "--%.*s", (int)(len > 70 ? 70 : len), name);
	if (!o)
		return err_set(e, -EINVAL, "unknown option %s%s; %s `accperf %s --help`", shown,
			       had_by(cmd, name, len, had, sizeof(had)), meant(cmd, name, len, near, sizeof(near)),
			       cmd->name);
	if (o->type == OPT_BOOL && (value || (*i + 1 < argc && is_switch_word(argv[*i + 1])))) {
		const char *base = strncmp(o->name, "no-", 3) ? o->name : o->name + 3;

		return err_set(e, -EINVAL, "%s takes no value: it is --%s or --no-%s", shown, base, base);
	}
	if (o->type != OPT_BOOL && !value) {
		if (*i + 1 >= argc)
			return err_set(e, -EINVAL, "%s wants a value (%s)", shown, o->arg ? o->arg : "VALUE");
		value = argv[++*i];
	}
	return store_value(o, opts, shown, value, negated, e);
}

#define BEGIN_SO 3 /* long options that are offered for an unknown letter, at most: more are a list of help's */

static int unknown_letter(const struct cli_command *cmd, char letter, struct err *e)
{
	char names[128] = "";
	unsigned begin_so = 0;
	size_t n = 0;

	for (const struct opt *o = cmd->options; o && !opt_is_end(o); o++)
		if (o->type != OPT_GROUP && o->name && *o->name == letter) {
			begin_so++;
			n += n < sizeof(names) ? (size_t)snprintf(names + n, sizeof(names) - n, "%s--%s",
								  n ? " or " : "", o->name)
					       : 0;
		}
	if (begin_so && begin_so <= BEGIN_SO && n < sizeof(names))
		return err_set(e, -EINVAL, "unknown option -%c; did you mean %s? See `accperf %s --help`", letter,
			       names, cmd->name);
	return err_set(e, -EINVAL, "unknown option -%c; see `accperf %s --help`",
		       isprint((unsigned char)letter) ? letter : '?', cmd->name);
}

static int parse_short(const struct cli_command *cmd, void *opts, int argc, char **argv, int *i, struct err *e)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct opt *o = find_letter(cmd->options, *p);
		const char *value = NULL;
		char shown[3] = { '-', *p, 0 };
		int err;

		if (!o)
			return unknown_letter(cmd, *p, e);
		if (o->type != OPT_BOOL) {
			value = p[1] ? p + 1 : *i + 1 < argc ? argv[++*i] : NULL;
			if (!value)
				return err_set(e, -EINVAL, "%s wants a value (%s)", shown, o->arg ? o->arg : "VALUE");
		}
		err = store_value(o, opts, shown, value, false, e);
		if (err || value)
			return err;
	}
	return 0;
}

/* The option that names the profile to read: its FILE may be given as an operand. */
static const struct opt *input_option(const struct cli_command *cmd)
{
	const struct opt *o = cmd->max_args ? NULL : find_letter(cmd->options, 'i');

	return o && o->type == OPT_STRING && o->name && !strcmp(o->name, "input") ? o : NULL;
}

/* Takes the one operand for the input; 0 or an error. */
static int take_input(const struct cli_command *cmd, const struct opt *input, void *opts, const char *file,
		      struct err *e)
{
	const char **at = (const char **)((char *)opts + input->offset);
	const char *usual = cmd->defaults ? *(const char *const *)((const char *)cmd->defaults + input->offset) : NULL;

	if (*at != usual)
		return err_set(e, -EINVAL, "%s and -i %s are two files to read; give one", file, *at);
	*at = file;
	return 0;
}

/* Sets what options say; operands are moved to the front of argv. Returns their number or an error. */
static int take_options(const struct cli_command *cmd, void *opts, int argc, char **argv, struct err *e)
{
	int operands = 0, err;
	bool ended = false;

	for (int i = 0; i < argc; i++) {
		if (!ended && !strcmp(argv[i], "--")) {
			ended = true;
			continue;
		}
		if (ended || argv[i][0] != '-' || !argv[i][1]) {
			/* what follows the name of a program is the program's */
			ended |= cmd->runs_command;
			argv[operands++] = argv[i];
			continue;
		}
		err = argv[i][1] == '-' ? parse_long(cmd, opts, argc, argv, &i, e)
					: parse_short(cmd, opts, argc, argv, &i, e);
		if (err)
			return err;
	}
	return operands;
}

/* A command about one function takes it as --symbol, too; its operand is FILE then. Their number or an error. */
static int take_function_named(const struct cli_command *cmd, void *opts, char **argv, int operands, struct err *e)
{
	bool negated;
	const struct opt *input = find_letter(cmd->options, 'i');
	const struct opt *o =
		cmd->min_args == 1 && input ? find_long(cmd->options, "symbol", strlen("symbol"), &negated) : NULL;
	const struct opt_list *named = o && o->type == OPT_LIST ? (const void *)((char *)opts + o->offset) : NULL;
	int err = 0;

	if (!named || !named->count)
		return operands;
	if (named->count > 1 || operands > 1)
		return err_set(e, -EINVAL, "accperf %s is about one function: name it once", cmd->name);
	if (operands)
		err = take_input(cmd, input, opts, argv[0], e);
	if (err)
		return err;
	argv[0] = (char *)(uintptr_t)named->items[0];
	return 1;
}

int opts_parse(const struct cli_command *cmd, void *opts, int argc, char **argv, int *rest, struct err *e)
{
	const struct opt *input = input_option(cmd);
	int operands = take_options(cmd, opts, argc, argv, e);

	if (operands < 0)
		return operands;
	if (operands && input) {
		int err = take_input(cmd, input, opts, argv[0], e);

		if (err)
			return err;
		memmove(argv, argv + 1, (size_t)--operands * sizeof(*argv));
	}
	operands = take_function_named(cmd, opts, argv, operands, e);
	if (operands < 0)
		return operands;
	if (operands < cmd->min_args)
		return err_set(e, -EINVAL, "something is missing: accperf %s %s", cmd->name,
			       cmd->usage ? cmd->usage : "");
	if (cmd->max_args >= 0 && operands > cmd->max_args)
		return err_set(e, -EINVAL, "'%s' is one argument too many; see `accperf %s --help`",
			       argv[cmd->max_args], cmd->name);
	/* argv's end is a NULL, which a command to run needs behind its arguments */
	*rest = argc - operands;
	memmove(argv + *rest, argv, (size_t)operands * sizeof(*argv));
	return 0;
}

void opts_help(const struct cli_command *cmd)
{
	printf("accperf %s: %s\n\nUsage: accperf %s %s\n", cmd->name, cmd->summary, cmd->name,
	       cmd->usage ? cmd->usage : "");
	if (cmd->details)
		printf("\n%s\n", cmd->details);
	if (cmd->options)
		printf("\nOptions:\n");
	for (const struct opt *o = cmd->options; o && !opt_is_end(o); o++) {
		char left[128];
		int n;

		if (o->type == OPT_GROUP) {
			printf("\n  %s\n", o->help);
			continue;
		}
		n = o->letter && o->name ? snprintf(left, sizeof(left), "-%c, --%s", o->letter, o->name)
		    : o->letter          ? snprintf(left, sizeof(left), "-%c", o->letter)
					 : snprintf(left, sizeof(left), "    --%s", o->name);
		if (o->type != OPT_BOOL && n > 0 && (size_t)n < sizeof(left))
			snprintf(left + n, sizeof(left) - (size_t)n, " %s", o->arg ? o->arg : "VALUE");
		printf("  %-30s %s\n", left, o->help);
	}
	if (cmd->examples) {
		printf("\nExamples:\n");
		for (const char *p = cmd->examples; *p;) {
			const char *tab = strchr(p, '\t'), *nl = strchr(p, '\n');

			if (!tab || !nl)
				break;
			printf("  %.*s\n      %.*s\n", (int)(tab - p), p, (int)(nl - tab - 1), tab + 1);
			p = nl + 1;
		}
	}
}
