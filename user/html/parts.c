// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each command runs in a process of its own, with its output in a file without a name: so the page's figures are the
 * commands', whatever ends one of them leaves the others, and a machine with several CPUs waits for the slowest only.
 * The profile is read once, and its flow estimated, before they begin.
 */
#include "html/parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/kept.h"
#include "command/pager.h"
#include "html/bundle.h"
#include "html/page.h"
#include "html/stacks.h"
#include "flow/shared.h"
#include "util/json.h"
#include "util/openfile.h"

#define MOST_AT_ONCE 4    /* commands, of which each holds a flow in memory; by hand */
#define NOTE_MOST 2000    /* bytes of what a command said; by hand */
#define TIMELINE_ROWS 500 /* each has a figure for every slice: several kilobytes */
#define SHARING_ROWS 1000 /* functions and edges stand in the part `flow` */

/* Of the intervals that report and flow ask for, and advise; 0 ends them. */
static const double levels[] = { 0.95, 0.9, 0 };

/* Which profile a command is asked about. */
enum whose { INPUT, BASE, BOTH };

/* What the page is made of. A command that this build has not is left out; what needs a base, where there is none. */
static const struct part_row {
	const char *name, *command; /* command NULL: the stacks, which no command prints */
	const char *options[3];
	bool must; /* without it there is no page */
	enum whose whose;
	uint64_t rows; /* of each list */
} parts[] = {
	{ "report", "report", { "--json" }, true, INPUT, HTML_ROWS_MOST },
	{ "stacks", NULL, { 0 }, true, INPUT, HTML_ROWS_MOST },
	{ "flow", "flow", { "--json" }, false, INPUT, HTML_ROWS_MOST },
	{ "sharing", "flow", { "--json", "--threads" }, false, INPUT, SHARING_ROWS },
	{ "objects", "objects", { "--json", "--slices", "120" }, false, INPUT, HTML_ROWS_MOST },
	{ "timeline", "timeline", { "--json" }, false, INPUT, TIMELINE_ROWS },
	{ "offload", "offload", { "--json" }, false, INPUT, HTML_ROWS_MOST },
	{ "advise", "advise", { "--json" }, false, INPUT, HTML_ROWS_MOST },
	{ "roofline", "advise", { "--json", "--roofline" }, false, INPUT, HTML_ROWS_MOST },
	{ "diff", "diff", { "--json" }, true, BOTH, HTML_ROWS_MOST },
	{ HTML_BASE_STACKS, NULL, { 0 }, true, BASE, HTML_ROWS_MOST },
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

struct running {
	pid_t pid;
	int out, said, looked; /* files without a name; -1: none */
	int status;
	struct buf json, note, list;
};

static int print_stacks(const char *input)
{
	struct in_order order = { 0 };
	struct err e = { 0 };
	struct profile *p = in_order_load(input, &order, &e);
	AUTO_BUF(out);
	int err = !p || html_stacks(p, &order, &out, &e) || pager_write(&out, false, &e);

	in_order_release(&order);
	profile_free(p);
	return err ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static bool part_wanted(const struct part_row *row, const struct html_files *files)
{
	return (files->base || row->whose == INPUT) && (!row->command || cli_find(row->command));
}

static int run_command(const struct part_row *row, const struct html_files *files)
{
	char *argv[8];
	int argc = 0;

	if (!row->command)
		return print_stacks(row->whose == BASE ? files->base : files->input);
	for (unsigned i = 0; i < 3 && row->options[i]; i++)
		argv[argc++] = (char *)(uintptr_t)row->options[i];
	argv[argc++] = (char *)(uintptr_t)(row->whose == BOTH ? files->base : "-i");
	argv[argc++] = (char *)(uintptr_t)files->input;
	argv[argc] = NULL;
	return cli_run(cli_find(row->command), argc, argv);
}

/* A file that a part looked at: its path follows. */
struct looked {
	struct stat st;
	uint32_t found, len;
};

static void add_looked(void *list, const char *path, const struct stat *found)
{
	struct looked l = { .found = found != NULL, .len = (uint32_t)strlen(path) };

	if (found)
		l.st = *found;
	buf_add(list, &l, sizeof(l));
	buf_add(list, path, l.len);
}

/* Its length first: a part that was ended before has told of nothing. */
static void write_looked(int fd, const struct buf *list)
{
	uint64_t len = list->len;

	if (!buf_failed(list) && write(fd, &len, sizeof(len)) == sizeof(len) && len)
		len -= (uint64_t)write(fd, list->data, list->len);
}

/* To whoever keeps the page. */
static void tell_looked(const struct buf *list)
{
	uint64_t len = 0;
	size_t at = sizeof(len);
	char path[PATH_MAX];

	if (list->len >= sizeof(len))
		memcpy(&len, list->data, sizeof(len));
	if (list->len < sizeof(len) || list->len - sizeof(len) != len) {
		openfile_found("", NULL);
		return;
	}
	while (at + sizeof(struct looked) <= list->len) {
		struct looked l;

		memcpy(&l, list->data + at, sizeof(l));
		at += sizeof(l);
		if (l.len >= sizeof(path) || l.len > list->len - at) {
			openfile_found("", NULL);
			return;
		}
		memcpy(path, list->data + at, l.len);
		path[l.len] = 0;
		at += l.len;
		openfile_found(path, l.found ? &l.st : NULL);
	}
}

static int begin(const struct part_row *row, const struct html_files *files, struct running *r, struct err *e)
{
	r->out = memfd_create("json", MFD_CLOEXEC);
	r->said = memfd_create("said", MFD_CLOEXEC);
	r->looked = memfd_create("looked", MFD_CLOEXEC);
	fflush(stdout);
	fflush(stderr);
	r->pid = r->out >= 0 && r->said >= 0 && r->looked >= 0 ? fork() : -1;
	if (r->pid < 0)
		return err_set(e, -errno, "cannot run `accperf %s`: %s", row->name, strerror(errno));
	if (r->pid)
		return 0;
	dup2(r->out, STDOUT_FILENO);
	dup2(r->said, STDERR_FILENO);
	json_limit_rows(row->rows);
	openfile_tell(add_looked, &r->list);
	r->status = run_command(row, files);
	write_looked(r->looked, &r->list);
	_exit(fflush(stdout) ? EXIT_FAILED : r->status);
}

static void read_pipe(int fd, size_t most, struct buf *out)
{
	char piece[65536];
	ssize_t n;

	while (out->len < most && (n = pread(fd, piece, sizeof(piece), (off_t)out->len)) > 0)
		buf_add(out, piece, (size_t)n);
	buf_addch(out, 0);
	out->len--;
}

/* Its sentences in one line, without the program's name before each. */
static void tidy(struct buf *note)
{
	static const char *const before[] = { "accperf: error: ", "accperf: warning: ", "accperf: " };
	AUTO_BUF(out);
	char *line, *rest = note->data;

	while (rest && (line = strsep(&rest, "\n"))) {
		for (unsigned i = 0; i < 3; i++) {
			if (strncmp(line, before[i], strlen(before[i])))
				continue;
			line += strlen(before[i]);
			break;
		}
		if (*line && out.len)
			buf_addstr(&out, "; ");
		buf_addstr(&out, line);
	}
	buf_clear(note);
	buf_addstr(note, out.data ? out.data : "");
}

static void finish_part(const struct part_row *row, struct running *r)
{
	int how = 0;

	if (r->pid > 0 && waitpid(r->pid, &how, 0) == r->pid) {
		read_pipe(r->out, SIZE_MAX, &r->json);
		read_pipe(r->said, NOTE_MOST, &r->note);
		read_pipe(r->looked, SIZE_MAX, &r->list);
		tell_looked(&r->list);
		tidy(&r->note);
		r->status = WIFEXITED(how) ? WEXITSTATUS(how) : EXIT_FAILED;
		if (WIFSIGNALED(how))
			buf_addf(&r->note, "`accperf %s` was ended by signal %d", row->name, WTERMSIG(how));
	}
	r->pid = 0;
	/* half an answer is none */
	if (r->status != EXIT_DONE && r->status != EXIT_DEGRADED)
		buf_clear(&r->json);
}

static void release(struct running *r)
{
	for (size_t i = 0; i < PARTS; i++) {
		if (r[i].pid > 0)
			waitpid(r[i].pid, NULL, 0);
		if (r[i].out > 0)
			close(r[i].out);
		if (r[i].said > 0)
			close(r[i].said);
		if (r[i].looked > 0)
			close(r[i].looked);
		buf_release(&r[i].json);
		buf_release(&r[i].note);
		buf_release(&r[i].list);
	}
}

/* All of them, some at a time, in the order of the table. */
static int run_parts(const struct html_files *files, struct running *r, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t at_once = cpus < 1 ? 1 : cpus > MOST_AT_ONCE ? MOST_AT_ONCE : (size_t)cpus;
	size_t begun = 0;
	int err = flow_share_estimate(files->input, levels, e);

	if (!err && files->base && strcmp(files->base, files->input))
		err = flow_share_estimate(files->base, NULL, e);
	if (err)
		return err;
	for (size_t done = 0; done < PARTS; done++) {
		for (; begun < PARTS && begun < done + at_once && !err; begun++)
			if (part_wanted(&parts[begun], files))
				err = begin(&parts[begun], files, &r[begun], e);
		if (err)
			return err;
		finish_part(&parts[done], &r[done]);
		if (parts[done].must && part_wanted(&parts[done], files) && !r[done].json.len)
			return err_set(e, -EINVAL, "%s", r[done].note.len ? r[done].note.data : "out of memory");
	}
	return 0;
}

static int put_together(const struct html_files *files, const struct running *r, struct buf *out, struct err *e)
{
	struct html_part page[PARTS];
	const char *name = strrchr(files->input, '/');
	size_t n = 0;

	for (size_t i = 0; i < PARTS; i++)
		if (part_wanted(&parts[i], files))
			page[n++] = (struct html_part){ .name = parts[i].name,
							.json = r[i].json.data,
							.len = r[i].json.len,
							.status = r[i].status,
							.note = r[i].note.data ? r[i].note.data : "" };
	return html_page(name ? name + 1 : files->input, page, n, out, e);
}

int html_make(const struct html_files *files, struct buf *out, int *status, struct err *e)
{
	struct running r[PARTS] = { 0 };
	int err = html_bundled() ? run_parts(files, r, e) : 0;

	*status = EXIT_DONE;
	if (!err)
		err = put_together(files, r, out, e);
	for (size_t i = 0; i < PARTS && !err; i++) {
		if (!parts[i].must || r[i].status != EXIT_DEGRADED)
			continue;
		if (r[i].note.len)
			log_warn("%s", r[i].note.data);
		*status = EXIT_DEGRADED;
	}
	release(r);
	flow_share_end();
	return err;
}

int html_write(const struct html_files *files, const char *output)
{
	struct err e = { 0 };
	AUTO_BUF(out);
	int status, err = html_make(files, &out, &status, &e);

	if (!err)
		err = pager_save(&out, output, &e);
	if (err)
		return cli_fail(&e, EXIT_FAILED);
	if (strcmp(output, "-"))
		log_info("wrote %s: %zu bytes; open it in a browser", output, out.len);
	return status;
}
