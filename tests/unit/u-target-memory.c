// SPDX-License-Identifier: GPL-2.0-or-later
/* A program with lent rights reads the memory of its user's processes alone: this one runs a copy of itself as nobody,
 * whose file has the right to read any process. */
/* harm: memory that is read when a program with rights runs in the target's place | 2 processes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "unit/unit.h"
#include "util/rights.h"
#include "util/target_memory.h"

#define NOBODY 65534
enum { READ_IT = 10, REFUSED, UNCLEAR };

static volatile uint64_t secret = 0x5345435245543432;

/* The copy: reads of a process that has the same program at the same address, or one of its own. */
static int as_lent(const char *pid_text, const char *addr_text)
{
	uint64_t got = 0;
	ssize_t n;

	if (!rights_lent())
		return UNCLEAR;
	n = target_memory_read((uint32_t)atoi(pid_text), strtoull(addr_text, NULL, 16), &got, sizeof(got));
	if (n == sizeof(got) && got == secret)
		return READ_IT;
	return n < 0 && errno == EPERM && !got ? REFUSED : UNCLEAR;
}

/* Once it is that user's. */
static pid_t start_waiting(uid_t uid)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	close(ready[pid ? 1 : 0]);
	if (pid) {
		assert_int_equal(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		return pid;
	}
	if (uid &&
	    (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid) || prctl(PR_SET_DUMPABLE, 1)))
		_exit(UNCLEAR);
	if (write(ready[1], "", 1) != 1)
		_exit(UNCLEAR);
	for (;;)
		pause();
}

static int run_lent(const char *path, pid_t of)
{
	char pid_text[16], addr_text[24];
	int how = 0;
	pid_t pid;

	snprintf(pid_text, sizeof(pid_text), "%d", of);
	snprintf(addr_text, sizeof(addr_text), "%llx", (unsigned long long)(uintptr_t)&secret);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(UNCLEAR);
		execl(path, path, "--lent", pid_text, addr_text, (char *)NULL);
		_exit(UNCLEAR);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	return WIFEXITED(how) ? WEXITSTATUS(how) : UNCLEAR;
}

/* False: files can have no rights here. */
static bool copy_with_rights(const char *path)
{
	struct vfs_cap_data caps = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
				     .data = { { .permitted = 1u << CAP_SYS_PTRACE } } };
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
	struct stat st;
	bool done = from >= 0 && to >= 0 && !fstat(from, &st) &&
		    sendfile(to, from, NULL, (size_t)st.st_size) == st.st_size &&
		    !fsetxattr(to, "security.capability", &caps, XATTR_CAPS_SZ_2, 0) && !fchmod(to, 0755);

	close(from);
	close(to);
	return done;
}

TEST(lent_rights_read_ones_own)
{
	char folder[] = "/tmp/accperf-u-lent-XXXXXX", path[sizeof(folder) + 8];
	pid_t roots, nobodys;
	int of_root, of_nobody;

	if (geteuid() || !mkdtemp(folder))
		skip();
	chmod(folder, 0755);
	snprintf(path, sizeof(path), "%s/copy", folder);
	if (!copy_with_rights(path)) {
		unlink(path);
		rmdir(folder);
		skip();
	}
	roots = start_waiting(0);
	nobodys = start_waiting(NOBODY);
	of_root = run_lent(path, roots);
	of_nobody = run_lent(path, nobodys);
	kill(roots, SIGKILL);
	kill(nobodys, SIGKILL);
	waitpid(roots, NULL, 0);
	waitpid(nobodys, NULL, 0);
	unlink(path);
	rmdir(folder);
	if (of_root == UNCLEAR)
		skip(); /* a file system whose files lend no rights */
	assert_int_equal(of_root, REFUSED);
	assert_int_equal(of_nobody, READ_IT);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--lent"))
		return as_lent(argv[2], argv[3]);
	return RUN_TESTS(NULL, NULL);
}
