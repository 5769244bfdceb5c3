// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/log.h"
#include "util/rights.h"

static bool terminal_size(unsigned *columns, unsigned *rows)
{
	struct winsize w = { 0 };
	const char *c = getenv("COLUMNS");

	if (!isatty(STDOUT_FILENO))
		return false;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w))
		w = (struct winsize){ 0 };
	*columns = w.ws_col ? w.ws_col : c && atoi(c) > 0 ? (unsigned)atoi(c) : 80;
	*rows = w.ws_row ? w.ws_row : 24;
	return true;
}

struct text_style pager_style(void)
{
	struct text_style s = { 0 };
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
	unsigned rows;

	if (!terminal_size(&s.width, &rows))
		return s;
	if (s.width < 80)
		s.width = 80;
	s.colour = (!no || !*no) && term && strcmp(term, "dumb");
	return s;
}

static int write_text(FILE *f, const struct buf *text, const char *what, struct err *e)
{
	if (text->len && fwrite(text->data, 1, text->len, f) != text->len)
		return err_set(e, -errno, "writing %s failed: %s", what, strerror(errno));
	if (fflush(f))
		return err_set(e, -errno, "writing %s failed: %s", what, strerror(errno));
	return 0;
}

#define COPIED_MOST (8u << 20) /* bytes of a file that is kept as an answer; by hand */

static struct pager_copy *copied;

void pager_copy_to(struct pager_copy *copy)
{
	copied = copy;
}

static int page_text(const struct buf *text, unsigned rows, struct err *e)
{
	const char *command = rights_getenv("ACCPERF_PAGER");
	unsigned lines = 0;
	struct err ignored;
	FILE *f;

	for (size_t i = 0; i < text->len; i++)
		lines += text->data[i] == '\n';
	if (!command || !*command)
		command = rights_getenv("PAGER");
	if (!command || !*command)
		command = "less -FRX";
	if (lines < rows || !strcmp(command, "cat"))
		return write_text(stdout, text, "the output", e);
	setenv("LESS", "FRX", 0);
	/* who may run only us by sudo gets no shell of root's from the pager */
	if (getenv("SUDO_UID") && geteuid() == 0)
		setenv("LESSSECURE", "1", 1);
	/* a pager that is left early must not end the command */
	signal(SIGPIPE, SIG_IGN);
	f = popen(command, "w");
	if (!f)
		return write_text(stdout, text, "the output", e);
	write_text(f, text, "to the pager", &ignored);
	if (pclose(f) == 127 << 8)
		return write_text(stdout, text, "the output", e);
	return 0;
}

static int show_text(const struct buf *text, bool pager, struct err *e)
{
	unsigned columns, rows;
	AUTO_BUF(fit);

	if (buf_failed(text))
		return err_set(e, -ENOMEM, "out of memory");
	if (!pager || !terminal_size(&columns, &rows))
		return write_text(stdout, text, "the output", e);
	/* a terminal breaks a line within a word */
	text_fit(&fit, text->data ? text->data : "", columns < 80 ? 80 : columns);
	return buf_failed(&fit) ? err_set(e, -ENOMEM, "out of memory") : page_text(&fit, rows, e);
}

int pager_write(struct buf *text, bool pager, struct err *e)
{
	int err;

	log_progress_end();
	text_names_forget();
	err = show_text(text, pager, e);
	if (copied && !copied->times++) {
		copied->pager = pager;
		copied->text = *text;
		*text = (struct buf){ 0 };
	}
	buf_release(text);
	return err;
}

int pager_begin(struct pager_file *f, const char *path, struct err *e)
{
	*f = (struct pager_file){ .to_stdout = !path || !strcmp(path, "-") };
	fflush(stdout); /* path may be /dev/stdout */
	return f->to_stdout ? 0 : newfile_open(&f->file, AT_FDCWD, path, NEWFILE_THROUGH, e);
}

int pager_part(void *pager_file, const struct buf *data, struct err *e)
{
	struct pager_file *f = pager_file;

	if (buf_failed(data))
		return err_set(e, -ENOMEM, "out of memory");
	f->written += data->len;
	if (f->to_stdout)
		return write_text(stdout, data, "the output", e);
	return newfile_write(&f->file, data->data, data->len, e);
}

int pager_end(struct pager_file *f, int err, struct err *e)
{
	if (f->to_stdout)
		return err;
	if (!err)
		return newfile_commit(&f->file, e);
	newfile_drop(&f->file);
	return err;
}

static void copy_saved(const struct buf *data, const char *path)
{
	if (!copied || copied->times++)
		return;
	if (!path || strlen(path) >= sizeof(copied->path) || data->len > COPIED_MOST) {
		copied->times++;
		return;
	}
	strcpy(copied->path, path);
	if (data->len)
		buf_add(&copied->text, data->data, data->len);
}

int pager_save(const struct buf *data, const char *path, struct err *e)
{
	struct pager_file f;
	int err = buf_failed(data) ? err_set(e, -ENOMEM, "out of memory") : pager_begin(&f, path, e);

	err = err ? err : pager_end(&f, pager_part(&f, data, e), e);
	if (!err)
		copy_saved(data, path);
	return err;
}

int pager_give(struct buf *text, const char *path, bool pager, struct err *e)
{
	return path ? pager_save(text, path, e) : pager_write(text, pager, e);
}
