// SPDX-License-Identifier: GPL-2.0-or-later
/* What is opened of what a target names: regular files, inside its root; and which of them may be remembered. */
/*
 * harm: a debug link, a profile that names a device
 * harm: a target's root with absolute links to a host's folder | 1 folder, 2 files
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kmod-free/libs.h"
#include "unit/unit.h"
#include "util/openfile.h"
#include "unit/temp_folder.h"

static const char *in(const char *name)
{
	static char path[4][160];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", root, name);
	return p;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

TEST(test_regular)
{
	struct stat st;
	int fd;

	write_file(in("plain"), "text");
	fd = openfile_regular(in("plain"), &st);
	assert_true(fd >= 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(openfile_regular(in("missing"), &st), -ENOENT);
	/* without a writer the open would wait for good */
	assert_int_equal(mkfifo(in("fifo"), 0644), 0);
	assert_int_equal(openfile_regular(in("fifo"), &st), -EINVAL);
	assert_int_equal(symlink("/dev/null", in("device")), 0);
	assert_int_equal(openfile_regular(in("device"), &st), -EINVAL);
	assert_int_equal(openfile_regular(root, &st), -EINVAL);
	/* the kernel calls these regular; to read some of them is to take or to wait */
	assert_int_equal(openfile_regular("/proc/self/status", &st), -EINVAL);
	assert_int_equal(symlink("/proc/self/status", in("kernel")), 0);
	assert_int_equal(openfile_regular(in("kernel"), &st), -EINVAL);
	/* but not what a link of /proc leads to */
	fd = openfile_program((uint32_t)getpid(), &st);
	assert_true(fd >= 0);
	close(fd);
}

TEST(test_remembered)
{
	struct stat st;
	uint64_t one, two;
	int fd;

	write_file(in("mine"), "one");
	fd = openfile_regular(in("mine"), &st);
	assert_true(openfile_is_ours(&st));
	one = openfile_content(fd, &st);
	assert_true(one != 0 && one == openfile_content(fd, &st));
	close(fd);
	write_file(in("mine"), "two");
	fd = openfile_regular(in("mine"), &st);
	two = openfile_content(fd, &st);
	assert_true(two != 0 && two != one);
	close(fd);
	assert_int_equal(chmod(in("mine"), 0664), 0);
	assert_int_equal(stat(in("mine"), &st), 0);
	assert_false(openfile_is_ours(&st));
	if (!geteuid()) {
		assert_int_equal(chmod(in("mine"), 0644), 0);
		assert_int_equal(chown(in("mine"), 65534, 65534), 0);
		assert_int_equal(stat(in("mine"), &st), 0);
		assert_false(openfile_is_ours(&st));
	}
}

static bool want_any(void *ctx, const char *base, const char *path)
{
	return true;
}

static int count_file(void *ctx, struct lib_file *f)
{
	unsigned *seen = ctx;

	seen[!strcmp(f->base, "outside.so")]++;
	return 0;
}

/* A process whose root has an absolute link: there it leads to its own folder, here it would lead to ours. */
TEST(test_other_root)
{
	unsigned seen[2] = { 0 };
	char target[128];
	struct stat st;
	pid_t pid;
	int fd;

	if (geteuid())
		skip();
	assert_int_equal(mkdir(in("root"), 0755), 0);
	assert_int_equal(mkdir(in("root/usr"), 0755), 0);
	assert_int_equal(mkdir(in("root/usr/local"), 0755), 0);
	assert_int_equal(mkdir(in("outside"), 0755), 0);
	write_file(in("outside/outside.so"), "ours");
	snprintf(target, sizeof(target), "%s/outside", root);
	assert_int_equal(symlink(target, in("root/usr/lib")), 0);
	assert_int_equal(mkdir(in("root/usr/local/lib"), 0755), 0);
	write_file(in("root/usr/local/lib/inside.so"), "theirs");
	snprintf(target, sizeof(target), "%s/outside/outside.so", root);
	assert_int_equal(symlink(target, in("root/usr/local/lib/outside.so")), 0);
	assert_int_equal(symlink("/usr/local/lib/inside.so", in("root/linked.so")), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (chroot(in("root")) || chdir("/"))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	assert_int_equal(libs_installed(pid, false, NULL, want_any, count_file, seen), 0);
	fd = openfile_in_root((uint32_t)pid, "/linked.so", &st);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 0);
	assert_true(fd >= 0);
	assert_int_equal(st.st_size, 6);
	close(fd);
}

int main(void)
{
	umask(022);
	return RUN_TESTS(new_root, remove_root);
}
