// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/graphviz.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "view/svg.h"

/* What was written to fd, from its beginning. */
static int read_back(int fd, struct buf *out)
{
	char piece[16384];
	ssize_t n;

	while ((n = pread(fd, piece, sizeof(piece), (off_t)out->len)) > 0)
		buf_add(out, piece, (size_t)n);
	return n < 0 ? -errno : buf_failed(out) ? -ENOMEM : 0;
}

int graphviz_draw(const struct buf *dot, struct buf *svg, struct err *e)
{
	const char *args[] = { "dot", "-Tsvg", NULL };
	int in = memfd_create("graph", MFD_CLOEXEC), out = memfd_create("picture", MFD_CLOEXEC), status = 0, err = 0;
	pid_t child = -1;

	if (in < 0 || out < 0 || write(in, dot->data, dot->len) != (ssize_t)dot->len || lseek(in, 0, SEEK_SET))
		err = err_set(e, -EIO, "cannot write a temporary file: %s", strerror(errno));
	if (!err)
		child = fork();
	if (child == 0) {
		dup2(in, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		execvp(args[0], (char *const *)(uintptr_t)args);
		_exit(127);
	}
	if (!err && (child < 0 || waitpid(child, &status, 0) < 0))
		err = err_set(e, -errno, "cannot run dot: %s", strerror(errno));
	if (!err && WIFEXITED(status) && WEXITSTATUS(status) == 127)
		err = err_set(e, -ENOENT, "--svg needs `dot`: install graphviz, or use --dot and draw it elsewhere");
	if (!err && status)
		err = err_set(e, -EIO, "dot failed with status %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	if (!err && (err = read_back(out, svg)))
		err_set(e, err, "cannot read dot's picture: %s", strerror(-err));
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	if (!err)
		svg_adopt(svg);
	return err;
}
