// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "exact/dumplog.h"

void exact_outputs_close(struct exact_outputs *out)
{
	int fds[] = { out->stream, out->core_log, out->lists };

	for (unsigned i = 0; i < EXACT_LOGS; i++) {
		if (out->log[i] >= 0 && out->log[i] != out->binary[i].fd)
			close(out->log[i]);
		newfile_drop(&out->binary[i]);
	}
	for (unsigned i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* A long run must not fail at its end for what could be known before. */
static int try_output(const char *path, unsigned flags, struct err *e)
{
	struct newfile n;
	int err = newfile_open(&n, AT_FDCWD, path, flags, e);

	if (!err)
		newfile_drop(&n);
	return err;
}

int exact_outputs_open(struct exact_outputs *out, const struct exact_opts *o, struct err *e)
{
	*out = (struct exact_outputs){ .stream = -1, .core_log = -1, .lists = -1 };
	for (unsigned i = 0; i < EXACT_LOGS; i++)
		out->log[i] = out->binary[i].fd = -1;
	if (try_output(o->output, 0, e))
		return e->code;
	out->stream = newfile_nameless(o->output, e);
	out->core_log = out->stream < 0 ? -1 : newfile_nameless(o->output, e);
	if (out->core_log < 0)
		return e->code;
	for (unsigned i = 0; i < EXACT_LOGS; i++) {
		const char *text = o->log[2 * i], *binary = o->log[2 * i + 1];

		if (binary && newfile_open(&out->binary[i], AT_FDCWD, binary, NEWFILE_THROUGH, e))
			return e->code;
		if (text && try_output(text, NEWFILE_THROUGH, e))
			return e->code;
		out->log[i] = binary ? out->binary[i].fd : text ? newfile_nameless(text, e) : -1;
		if (out->log[i] < 0 && text)
			return e->code;
	}
	return 0;
}

FILE *exact_stream_of(int fd, const char *mode)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *f = copy >= 0 ? fdopen(copy, mode) : NULL;

	if (!f && copy >= 0)
		close(copy);
	if (f && *mode == 'r')
		rewind(f);
	return f;
}

static int log_as_text(FILE *in, const char *path, struct err *e)
{
	struct newfile n;
	bool cut;
	FILE *out;
	int err = newfile_open(&n, AT_FDCWD, path, NEWFILE_THROUGH, e);

	if (err)
		return err;
	out = exact_stream_of(n.fd, "w");
	if (!out || !in)
		err = err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	else if ((err = kelog_text(in, out, &cut, e)))
		err_prefix(e, "%s", path);
	if (out && fclose(out) && !err)
		err = err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	if (!err)
		return newfile_commit(&n, e);
	newfile_drop(&n);
	return err;
}

int exact_outputs_finish(struct exact_outputs *out, const struct exact_opts *o, struct err *e)
{
	int err = 0;

	for (unsigned i = 0; i < EXACT_LOGS && !err; i++) {
		if (o->log[2 * i]) {
			FILE *in = exact_stream_of(out->log[i], "r");

			err = log_as_text(in, o->log[2 * i], e);
			if (in)
				fclose(in);
		}
		if (!err && o->log[2 * i + 1]) {
			out->log[i] = -1;
			err = newfile_commit(&out->binary[i], e);
		}
	}
	return err;
}
