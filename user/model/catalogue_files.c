// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/catalogue_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/newfile.h"
#include "util/openfile.h"

#define MOST_TEXT (256u << 20) /* bytes: ten million rows of measured calls */

int catalogue_text(const char *path, struct buf *out, struct err *e)
{
	FILE *f = fopen(path, "re");
	char block[65536];
	size_t n;
	int err = 0;

	openfile_looks_at(path);
	if (!f)
		return err_set(e, -errno, "cannot read %s: %s", path, strerror(errno));
	while ((n = fread(block, 1, sizeof(block), f)) > 0 && !err) {
		buf_add(out, block, n);
		if (out->len > MOST_TEXT)
			err = err_set(e, -EFBIG, "%s is larger than %u MB; give a sample of it", path, MOST_TEXT >> 20);
	}
	if (!err && ferror(f))
		err = err_set(e, -EIO, "cannot read %s: %s", path, strerror(errno));
	fclose(f);
	if (!err && buf_failed(out))
		err = err_set(e, -ENOMEM, "not enough memory for %s", path);
	return err;
}

const char *catalogue_own_path(char *path, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config && *config)
		snprintf(path, size, "%s/accperf/accelerators.json", config);
	else
		snprintf(path, size, "%s/.config/accperf/accelerators.json", home && *home ? home : ".");
	return path;
}

static int make_parents(const char *path, struct err *e)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *p = dir + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(dir, 0755) && errno != EEXIST)
			return err_set(e, -errno, "cannot make the folder %s: %s", dir, strerror(errno));
		*p = '/';
	}
	return 0;
}

int catalogue_save(const struct catalogue *c, const char *path, struct err *e)
{
	struct newfile n;
	AUTO_BUF(text);
	struct stat st;
	/* prices of a machine are no secret: others may go on reading a catalogue that they could read */
	mode_t mode = !lstat(path, &st) && S_ISREG(st.st_mode) ? st.st_mode & 0777 : 0644;
	int err = catalogue_write(c, &text, e);

	if (!err)
		err = make_parents(path, e);
	if (!err)
		err = newfile_open(&n, AT_FDCWD, path, NEWFILE_SYNC, e);
	if (err)
		return err;
	err = newfile_write(&n, text.data, text.len, e);
	if (!err && fchmod(n.fd, mode))
		err = err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	if (!err)
		return newfile_commit(&n, e);
	newfile_drop(&n);
	return err;
}

int catalogue_read(struct catalogue *c, const char *path, struct err *e)
{
	AUTO_BUF(text);
	int err;

	*c = (struct catalogue){ 0 };
	err = catalogue_text(path, &text, e);
	if (!err && (err = catalogue_parse(c, text.data ? text.data : "", text.len, e)))
		err_prefix(e, "%s", path);
	return err;
}

int catalogue_read_if_any(struct catalogue *c, const char *path, struct err *e)
{
	struct stat st;

	*c = (struct catalogue){ 0 };
	if (stat(path, &st) ? errno == ENOENT : S_ISREG(st.st_mode) && !st.st_size)
		return 0;
	return catalogue_read(c, path, e);
}

static int add_file(struct catalogue *c, const char *path, struct err *e)
{
	struct catalogue more;
	int err = catalogue_read(&more, path, e);

	if (!err && (err = catalogue_merge(c, &more, e)))
		err_prefix(e, "%s", path);
	catalogue_release(&more);
	return err;
}

int catalogue_all(struct catalogue *c, const char *file, struct err *e)
{
	char own[PATH_MAX], real[2][PATH_MAX];
	int err = catalogue_paper(c, e);

	catalogue_own_path(own, sizeof(own));
	openfile_looks_at(own);
	if (!err && access(own, F_OK) == 0 &&
	    !(file && realpath(own, real[0]) && realpath(file, real[1]) && !strcmp(real[0], real[1])))
		err = add_file(c, own, e);
	if (!err && file)
		err = add_file(c, file, e);
	if (err)
		catalogue_release(c);
	return err;
}
