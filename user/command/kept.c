// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "command/pager.h"
#include "util/answers.h"
#include "util/cachedir.h"
#include "util/hashed.h"
#include "util/json.h"
#include "util/openfile.h"
#include "util/rights.h"

#define MAX_INPUTS 2 /* profiles of one command: diff has two */
#define PAGED 1u     /* flags of an answer: through the pager, on a terminal */

struct kept_answer {
	int dir;
	struct answer_key key;
	const char *input[MAX_INPUTS];
	struct stat input_was[MAX_INPUTS];
	unsigned inputs;
	const char *word;   /* NULL: none */
	const char *output; /* the file that it goes to; NULL: stdout, or one that is named after the input */
};

static const void *option(const struct cli_command *cmd, const void *opts, const char *name, enum opt_type type)
{
	for (const struct opt *o = cmd->options; o && !opt_is_end(o); o++)
		if (o->type == type && o->name && !strcmp(o->name, name))
			return (const char *)opts + o->offset;
	return NULL;
}

static void hash_option_text(XXH3_state_t *h, const char *text)
{
	uint64_t len = text ? strlen(text) + 1 : 0;

	XXH3_128bits_update(h, &len, sizeof(len));
	if (text)
		XXH3_128bits_update(h, text, len);
}

/* What options came to, however they were given: parsing has moved operands over them. */
static void hash_option(XXH3_state_t *h, const struct opt *o, const void *opts)
{
	const char *at = (const char *)opts + o->offset;
	const struct opt_list *list = (const void *)at;

	switch (o->type) {
	case OPT_BOOL: XXH3_128bits_update(h, at, sizeof(bool)); break;
	case OPT_UINT:
	case OPT_SIZE: XXH3_128bits_update(h, at, sizeof(uint64_t)); break;
	case OPT_DOUBLE:
	case OPT_TIME: XXH3_128bits_update(h, at, sizeof(double)); break;
	case OPT_STRING: hash_option_text(h, *(const char *const *)(const void *)at); break;
	case OPT_LIST:
		XXH3_128bits_update(h, &list->count, sizeof(list->count));
		for (unsigned i = 0; i < list->count; i++)
			hash_option_text(h, list->items[i]);
		break;
	case OPT_GROUP: break;
	}
	if (o->set_offset)
		XXH3_128bits_update(h, (const char *)opts + o->set_offset, sizeof(bool));
}

/* False: what the answer depends on cannot all be told. */
static bool make_answer_key(struct kept_answer *k, const struct cli_command *cmd, const void *opts)
{
	struct text_style style = pager_style();
	const uint32_t look[] = { style.width, style.colour };
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname machine = { 0 };
	XXH3_state_t *h = XXH3_createState();
	XXH128_hash_t hash;
	bool ok = h && XXH3_128bits_reset(h) == XXH_OK && hashed_program(h);

	if (ok)
		hash_option_text(h, cmd->name);
	for (const struct opt *o = cmd->options; ok && !opt_is_end(o); o++)
		if (!o->name || strcmp(o->name, KEPT_OPTION))
			hash_option(h, o, opts);
	if (ok)
		hash_option_text(h, k->word);
	for (unsigned i = 0; ok && i < k->inputs; i++) {
		hash_option_text(h, k->input[i]);
		ok = hashed_file(h, k->input[i], &k->input_was[i]);
	}
	if (ok) {
		XXH3_128bits_update(h, look, sizeof(look));
		/* where devices were measured */
		uname(&machine);
		XXH3_128bits_update(h, &machine, sizeof(machine));
		XXH3_128bits_update(h, &processors, sizeof(processors));
		hash = XXH3_128bits_digest(h);
		k->key = (struct answer_key){ hash.low64, hash.high64 };
	}
	XXH3_freeState(h);
	return ok;
}

static bool inputs_unchanged(const struct kept_answer *k)
{
	for (unsigned i = 0; i < k->inputs; i++) {
		const struct stat *was = &k->input_was[i];
		struct stat is;

		if (stat(k->input[i], &is) || is.st_dev != was->st_dev || is.st_ino != was->st_ino ||
		    is.st_size != was->st_size || is.st_mtim.tv_sec != was->st_mtim.tv_sec ||
		    is.st_mtim.tv_nsec != was->st_mtim.tv_nsec || is.st_ctim.tv_sec != was->st_ctim.tv_sec ||
		    is.st_ctim.tv_nsec != was->st_ctim.tv_nsec)
			return false;
	}
	return true;
}

/* True: answers of such a call are kept. What servers of debug information say is not known beforehand, nor, for a
 * page's part (json_rows_most()), what files its parent has read. */
static bool prepare(struct kept_answer *k, const struct cli_command *cmd, const void *opts, int argc, char **argv,
		    int rest)
{
	const char *const *input = option(cmd, opts, "input", OPT_STRING);
	const char *const *output = option(cmd, opts, "output", OPT_STRING);
	const char *const *page = option(cmd, opts, "html", OPT_STRING);
	const char *const *before = option(cmd, opts, "against", OPT_STRING);
	const char *servers = rights_getenv("DEBUGINFOD_URLS");

	*k = (struct kept_answer){ .dir = -1, .output = output ? *output : page ? *page : NULL };
	if (!option(cmd, opts, KEPT_OPTION, OPT_BOOL) || (k->output && !strcmp(k->output, "-")) ||
	    (servers && *servers) || json_rows_most())
		return false;
	if (input)
		k->input[k->inputs++] = *input;
	if (input && before && *before)
		k->input[k->inputs++] = *before;
	for (int i = rest; i < argc; i++) {
		if (input) { /* what it is asked about in that file */
			k->word = argv[i];
			if (i > rest)
				return false;
			continue;
		}
		if (k->inputs == MAX_INPUTS)
			return false;
		k->input[k->inputs++] = argv[i];
	}
	if (!k->inputs || !make_answer_key(k, cmd, opts))
		return false;
	k->dir = cachedir_open("answers");
	return k->dir >= 0;
}

/* What a file is called beyond its input: ".pb.gz". */
static bool is_suffix(const char *s)
{
	return s[strspn(s, ".abcdefghijklmnopqrstuvwxyz0123456789")] == 0;
}

/* An answer that is a file: what its name adds to the input's, a NUL, what it holds. A name that was kept is trusted no
 * further than that. */
static bool keep_written(const struct kept_answer *k, struct pager_copy *copy, struct buf *out)
{
	size_t len = strlen(k->input[0]);
	const char *added = k->output ? "" : copy->path + len;

	if (k->output ? strcmp(copy->path, k->output) != 0
		      : strncmp(copy->path, k->input[0], len) != 0 || !*added || !is_suffix(added))
		return false;
	buf_add(out, added, strlen(added) + 1);
	if (copy->text.len)
		buf_add(out, copy->text.data, copy->text.len);
	return !buf_failed(out);
}

static bool give_file(const struct kept_answer *k, const struct answer *a, int *err, struct err *e)
{
	const char *end = memchr(a->text, 0, a->text_len);
	AUTO_BUF(path);
	AUTO_BUF(data);

	if (!end || !is_suffix(a->text) || !*a->text != !!k->output)
		return false;
	buf_addf(&path, "%s%s", k->output ? k->output : k->input[0], a->text);
	buf_add(&data, end + 1, (size_t)(a->text + a->text_len - end - 1));
	if (buf_failed(&path) || buf_failed(&data))
		return false;
	*err = pager_save(&data, path.data, e);
	return true;
}

static bool give_again(const struct kept_answer *k, int *status)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	struct answer a;
	bool found = !answer_get(k->dir, &k->key, &a) && (a.status == EXIT_DONE || a.status == EXIT_DEGRADED);
	int err = 0;

	if (found && a.flags & ANSWER_FILE) {
		found = give_file(k, &a, &err, &e);
	} else if (found) {
		if (a.text_len)
			buf_add(&text, a.text, a.text_len);
		err = pager_write(&text, a.flags & PAGED, &e);
	}
	if (found) {
		*status = err ? cli_fail(&e, EXIT_FAILED) : (int)a.status;
		fwrite(a.log, 1, err ? 0 : a.log_len, stderr);
	}
	buf_release(&text);
	answer_release(&a);
	return found;
}

/* With a line on the terminal that it goes on, where it reads a profile for long. */
static int run_told(const struct cli_command *cmd, void *opts, int argc, char **argv)
{
	const char *const *input = option(cmd, opts, "input", OPT_STRING);
	AUTO_BUF(what);
	int status;

	if (input && *input)
		buf_addf(&what, "reading %s", *input);
	/* what reads several has them for operands */
	for (int i = 0; !input && cmd->files_only && i < argc; i++)
		buf_addf(&what, "%s %s", i ? "," : "reading", argv[i]);
	if (what.len)
		log_progress_waiting(what.data ? what.data : "reading");
	status = cmd->run(opts, argc, argv);
	log_progress_end();
	return status;
}

static void tell_file(void *files, const char *path, const struct stat *found)
{
	answer_files_add(files, path, found);
}

static int run_and_keep(const struct kept_answer *k, const struct cli_command *cmd, void *opts, int argc, char **argv,
			int rest)
{
	struct answer_files files = { 0 };
	struct pager_copy copy = { 0 };
	struct answer a;
	AUTO_BUF(log);
	AUTO_BUF(file);
	bool whole = true;
	int status;

	openfile_tell(tell_file, &files);
	pager_copy_to(&copy);
	log_copy_to(&log);
	status = run_told(cmd, opts, argc - rest, argv + rest);
	openfile_tell(NULL, NULL);
	pager_copy_to(NULL);
	log_copy_to(NULL);
	if (*copy.path)
		whole = keep_written(k, &copy, &file);
	a = (struct answer){ .status = (uint32_t)status,
			     .flags = (copy.pager ? PAGED : 0) | (*copy.path ? ANSWER_FILE : 0),
			     .log = log.data,
			     .log_len = log.len,
			     .text = *copy.path ? file.data : copy.text.data,
			     .text_len = *copy.path ? file.len : copy.text.len };
	if (whole && (status == EXIT_DONE || status == EXIT_DEGRADED) && copy.times == 1 && !buf_failed(&copy.text) &&
	    !buf_failed(&log) && inputs_unchanged(k))
		answer_put(k->dir, &k->key, &files, &a);
	buf_release(&copy.text);
	answer_files_release(&files);
	return status;
}

/* argv from the command's name on, after opts_parse(); rest as it set it. */
static int run_kept(const struct cli_command *cmd, void *opts, int argc, char **argv, int rest)
{
	const bool *fresh = option(cmd, opts, KEPT_OPTION, OPT_BOOL);
	struct kept_answer k;
	int status;

	if (!prepare(&k, cmd, opts, argc, argv, rest))
		return run_told(cmd, opts, argc - rest, argv + rest);
	if (*fresh || !give_again(&k, &status))
		status = run_and_keep(&k, cmd, opts, argc, argv, rest);
	close(k.dir);
	return status;
}

int cli_run(const struct cli_command *cmd, int argc, char **argv)
{
	void *opts = calloc(1, cmd->opt_size ? cmd->opt_size : 1);
	struct err e = { 0 };
	int rest = 0, status;

	if (!opts) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	if (cmd->defaults)
		memcpy(opts, cmd->defaults, cmd->opt_size);
	if (opts_parse(cmd, opts, argc, argv, &rest, &e))
		status = cli_fail(&e, EXIT_USAGE);
	else
		status = run_kept(cmd, opts, argc, argv, rest);
	free(opts);
	return status;
}
