// SPDX-License-Identifier: GPL-2.0-or-later
/* Files on a file system whose server does not answer: nobody waits for good, other files are as ever. */
/*
 * harm: a file server that falls silent: to five kinds of request, with code or data of the target mapped | 5 kinds,
 *   12 servers, 1 recording | names in its files, said
 */
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "kmod-free/libs.h"
#include "proc/module.h"
#include "tests/fixtures/fuse_server.h"
#include "unit/unit.h"
#include "util/mounts.h"
#include "util/openfile.h"
#include "util/target_memory.h"

/* Silent is the server about all but a file's end, for which whoever has it mapped would wait. */
#define NOTHING (~0ull & ~(1ull << FUSE_FLUSH | 1ull << FUSE_RELEASE))

static char folder[64];
static struct fuse_server server;
static char own[4096];     /* this program */
static bool own_is_served; /* as in a guest whose files are its host's */

static int setup(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	struct mounts m;
	uint64_t device;

	own[n > 0 ? n : 0] = '\0';
	if (mounts_read(&m, 0))
		return -1;
	own_is_served = mounts_of_path(&m, own, &device) == MOUNT_SERVED;
	mounts_release(&m);
	strcpy(folder, "/tmp/accperf-u-unanswering.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	/* in a table of mounts of our own */
	if (!unshare(CLONE_NEWNS))
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return 0;
}

static int teardown(void **state)
{
	return rmdir(folder);
}

static const char *there(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void begin(bool forget)
{
	server = (struct fuse_server){ .forget = forget };
	if (geteuid() || !fuse_start(&server, folder, "lib.so", own)) {
		print_message("needs root, /dev/fuse and the right to mount\n");
		skip();
	}
	openfile_patience(100, 400);
}

static int end(void **state)
{
	if (server.pid > 0)
		fuse_end(&server);
	server.pid = 0;
	return 0;
}

/* Until it is no longer on its way. */
static int settled(int (*open_it)(struct stat *st), struct stat *st)
{
	int fd;

	while ((fd = open_it(st)) == -EINPROGRESS)
		poll(NULL, 0, 20);
	return fd;
}

static int open_lib(struct stat *st)
{
	return openfile_in_root((uint32_t)getpid(), there("lib.so"), st);
}

static int open_other(struct stat *st)
{
	return openfile_regular(there("other"), st);
}

static int open_own(struct stat *st)
{
	return openfile_in_root((uint32_t)getpid(), own, st);
}

static int open_program(struct stat *st)
{
	return openfile_program((uint32_t)getpid(), st);
}

static void own_is_opened(void)
{
	struct stat st, same;
	int fd = settled(open_own, &st);

	assert_true(fd >= 0);
	assert_int_equal(openfile_is_copy(fd), own_is_served);
	close(fd);
	fd = settled(open_program, &same);
	assert_true(fd >= 0 && st.st_ino == same.st_ino);
	assert_int_equal(openfile_is_copy(fd), own_is_served);
	close(fd);
}

static const char table[] = "21 26 0:20 / /proc rw,relatime - proc proc rw\n"
			    "26 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n"
			    "27 26 0:50 / /home/me rw - nfs4 server:/home rw,vers=4.2\n"
			    "28 26 0:51 / /data\\040set rw - fuse.sshfs sshfs rw\n"
			    "29 28 0:52 / /data\\040set/mem rw - tmpfs tmpfs rw\n"
			    "30 26 0:53 / /new rw - newfs none rw\n"
			    "31 26 0:54 / /over rw - overlay overlay rw,lowerdir=l/A:l/B\n"
			    "32 26 0:55 / /home/me rw - tmpfs tmpfs rw\n";

TEST(test_table)
{
	struct mounts m;
	uint64_t device;

	assert_int_equal(mounts_parse(&m, table), 0);
	assert_true(m.served && m.rechecks);
	assert_int_equal(mounts_of_device(&m, 254, 0), MOUNT_LOCAL);
	assert_int_equal(mounts_of_device(&m, 0, 50), MOUNT_SERVED);
	assert_int_equal(mounts_of_device(&m, 0, 51), MOUNT_SERVED);
	assert_int_equal(mounts_of_device(&m, 0, 53), MOUNT_SERVED);
	assert_int_equal(mounts_of_device(&m, 0, 54), MOUNT_LOCAL);
	assert_int_equal(mounts_of_device(&m, 0, 99), MOUNT_UNKNOWN);
	assert_int_equal(mounts_of_path(&m, "/usr/lib/libz.so", &device), MOUNT_LOCAL);
	assert_int_equal(device, 254ull << 32);
	assert_int_equal(mounts_of_path(&m, "/data set/x", &device), MOUNT_SERVED);
	assert_int_equal(device, 51);
	assert_int_equal(mounts_of_path(&m, "/data set/mem/x", &device), MOUNT_LOCAL);
	assert_false(mounts_local_way(&m, "/data set/mem/x"));
	assert_int_equal(mounts_of_path(&m, "/data sets/x", &device), MOUNT_LOCAL);
	assert_int_equal(mounts_of_path(&m, "/data", &device), MOUNT_LOCAL);
	/* what was mounted later lies above */
	assert_int_equal(mounts_of_path(&m, "/home/me/x", &device), MOUNT_LOCAL);
	mounts_release(&m);
	/* of a table without them, nothing is asked twice */
	assert_int_equal(mounts_parse(&m, "26 1 254:0 / / rw - ext4 /dev/vda rw\n"
					  "40 21 0:60 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"),
			 0);
	assert_false(m.served);
	mounts_release(&m);
}

/* What an overlay's layers lie on, by our own table; one whose layers are named as their host sees them leads back to
 * itself, as a container's does. */
TEST_WITH(test_overlays, NULL, end)
{
	char dir[] = "/tmp/accperf-u-overlay.XXXXXX", options[256], text[1024], lower[64], upper[64];
	struct mounts m;
	uint64_t device;

	begin(true);
	snprintf(text, sizeof(text),
		 "26 1 254:0 / / rw - ext4 /dev/vda rw\n"
		 "31 26 0:54 / /a rw - overlay overlay rw,lowerdir=%s/x:/usr,upperdir=/var\n"
		 "32 26 0:55 / /b rw - overlay overlay rw,lowerdir=/usr:/var,upperdir=/var\n",
		 folder);
	assert_int_equal(mounts_parse(&m, text), 0);
	assert_int_equal(mounts_of_path(&m, "/a/x", &device), MOUNT_SERVED);
	if (!own_is_served)
		assert_int_equal(mounts_of_path(&m, "/b/x", &device), MOUNT_LOCAL);
	mounts_release(&m);

	assert_non_null(mkdtemp(dir));
	snprintf(lower, sizeof(lower), "%s/l", dir);
	snprintf(upper, sizeof(upper), "%s/u", dir);
	assert_false(mkdir(lower, 0700) || mkdir(upper, 0700));
	snprintf(options, sizeof(options), "lowerdir=%s:%s", lower, upper);
	if (!mount("overlay", dir, "overlay", MS_RDONLY, options)) {
		assert_int_equal(mounts_read(&m, 0), 0);
		assert_true(m.served); /* the FUSE server's is */
		assert_int_equal(mounts_of_path(&m, dir, &device), MOUNT_LOCAL);
		mounts_release(&m);
		umount2(dir, MNT_DETACH);
		/* the kernel says that the table has changed */
		assert_int_equal(mounts_read(&m, (uint32_t)getpid()), 0);
		assert_null(strstr(m.text, dir));
		mounts_release(&m);
	} else {
		print_message("no overlay can be mounted: %s\n", strerror(errno));
	}
	rmdir(lower);
	rmdir(upper);
	rmdir(dir);
}

TEST_WITH(test_copy, NULL, end)
{
	struct stat st, as_seen;
	char mine[512], got[512];
	int fd, self;

	begin(true);
	fd = settled(open_lib, &st);
	assert_true(fd >= 0 && openfile_is_copy(fd));
	assert_int_equal(st.st_ino, 2);
	/* nobody is asked any more */
	*server.silent = NOTHING;
	self = open(own, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &as_seen), 0);
	assert_int_equal(as_seen.st_size, st.st_size);
	for (off_t at = 0; at < st.st_size; at += 65536) {
		ssize_t n = pread(self, mine, sizeof(mine), at);

		assert_int_equal(pread(fd, got, sizeof(got), at), n);
		assert_memory_equal(mine, got, (size_t)n);
	}
	close(self);
	close(fd);
}

/* Of each kind of request that a way to a file's bytes has. */
TEST_WITH(test_silent, NULL, end)
{
	static const unsigned what[] = { FUSE_LOOKUP, FUSE_GETATTR, FUSE_OPEN, FUSE_READ, FUSE_STATFS };

	for (unsigned i = 0; i < sizeof(what) / sizeof(*what); i++) {
		uint64_t before = openfile_refused().unanswered;
		struct stat st;
		int fd;

		/* a busy machine may not have begun to ask when the limit is reached */
		for (unsigned limit = 400;; limit *= 4) {
			begin(true);
			openfile_patience(100, limit);
			*server.silent = 1ull << what[i];
			fd = settled(what[i] == FUSE_LOOKUP ? open_other : open_lib, &st);
			assert_int_equal(fd, -ETIMEDOUT);
			if (*server.unanswered || limit > 5000)
				break;
			end(NULL);
		}
		assert_true(*server.unanswered > 0);
		assert_true(openfile_refused().unanswered > before);
		own_is_opened();
		/* not asked again while that one waits; where the kernel lets it go, in vain */
		assert_int_equal(settled(open_lib, &st), -ETIMEDOUT);
		assert_false(openfile_awaited());
		end(NULL);
	}
}

/* Whoever was left behind ends when the server goes, and there is room for others. */
TEST_WITH(test_many, NULL, end)
{
	struct stat st;
	int fd;

	for (unsigned i = 0; i < 12; i++) {
		begin(true);
		*server.silent = 1ull << FUSE_OPEN;
		openfile_patience(1, 20);
		assert_int_equal(settled(open_lib, &st), -ETIMEDOUT);
		end(NULL);
	}
	begin(true);
	/* the device number may be that of a file system whose opener is about to end */
	for (unsigned i = 0; i < 500 && (fd = settled(open_lib, &st)) == -ETIMEDOUT; i++)
		poll(NULL, 0, 20);
	assert_true(fd >= 0);
	close(fd);
}

static struct modules *mods;
static struct module_ident ident;

/* A child that has it mapped; it never runs any of it. */
static pid_t mapper(void)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		int fd = open(there("lib.so"), O_RDONLY);
		char *p = mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		unsigned long at[2] = { (unsigned long)p, 0 };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		at[1] = p == MAP_FAILED ? 0 : 1;
		if (write(ready[1], at, sizeof(at)) != sizeof(at))
			_exit(1);
		pause();
		_exit(0);
	}
	unsigned long at[2] = { 0 };

	assert_int_equal(read(ready[0], at, sizeof(at)), sizeof(at));
	assert_int_equal(at[1], 1);
	close(ready[0]);
	close(ready[1]);
	ident = (struct module_ident){
		.pid = (uint32_t)pid, .start = at[0], .end = at[0] + 65536, .ino = 2, .path = there("lib.so")
	};
	(void)c;
	return pid;
}

static void done(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void known_device(pid_t pid, struct module_ident *id)
{
	char name[64], *line = NULL;
	size_t cap = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	f = fopen(name, "r");
	assert_non_null(f);
	while (getline(&line, &cap, f) > 0)
		if (strtoul(line, NULL, 16) == id->start)
			assert_int_equal(sscanf(line, "%*s %*s %*s %x:%x", &id->dev_major, &id->dev_minor), 2);
	free(line);
	fclose(f);
}

/* As code of a target: with the device that maps tell, and without, as records with a build-id are. */
TEST_WITH(test_module, NULL, end)
{
	for (int known = 0; known < 2; known++) {
		const struct module *m, *other;
		struct stat st;
		pid_t pid;

		begin(true);
		mods = modules_new();
		pid = mapper();
		if (known)
			known_device(pid, &ident);
		*server.silent = 1ull << FUSE_READ;
		m = modules_file(mods, &ident);
		assert_int_equal(m->state, MODULE_GONE);
		assert_int_equal(stat(own, &st), 0);
		other = modules_file(mods, &(struct module_ident){ .path = own,
								   .ino = st.st_ino,
								   .dev_major = major(st.st_dev),
								   .dev_minor = minor(st.st_dev) });
		assert_int_equal(other->state, MODULE_OPEN);
		openfile_await(1000);
		assert_false(modules_look(mods));
		assert_int_equal(m->state, MODULE_GONE);
		done(pid);
		modules_free(mods);
		end(NULL);
	}
}

static bool want_lib(void *ctx, const char *base, const char *path)
{
	return !strcmp(base, "lib.so");
}

static int take_lib(void *ctx, struct lib_file *f)
{
	struct lib_file *took = ctx;

	*took = *f;
	if (f->fd >= 0)
		took->fd = openfile_is_copy(f->fd) ? -2 : 0;
	return 1;
}

/* A probe goes into the file, not into a copy; where the server is silent, whoever wants it is told. */
TEST_WITH(test_probed, NULL, end)
{
	for (int silent = 0; silent < 2; silent++) {
		struct lib_file took = { .fd = -3 };
		pid_t pid;

		begin(true);
		pid = mapper();
		*server.silent = silent ? 1ull << FUSE_READ : 0;
		if (!silent)
			openfile_patience(5000, 0);
		assert_int_equal(libs_mapped(pid, want_lib, take_lib, &took, NULL), 1);
		assert_int_equal(took.fd, silent ? -1 : 0);
		assert_int_equal(took.waits, silent);
		assert_true(silent || took.ino == 2);
		openfile_await(1);
		done(pid);
		end(NULL);
	}
}

/* A slow server is none that is dead: what it gives later is taken then. */
TEST_WITH(test_slow, NULL, end)
{
	const struct module *m;
	uint8_t bytes[4];
	pid_t pid;

	begin(false);
	openfile_patience(1, 0);
	mods = modules_new();
	pid = mapper();
	*server.delay_ms = 20;
	m = modules_file(mods, &ident);
	assert_int_equal(m->state, MODULE_GONE);
	assert_true(openfile_awaited());
	while (!modules_look(mods))
		poll(NULL, 0, 20);
	assert_int_equal(m->state, MODULE_OPEN);
	assert_true(m->segment_count > 0);
	*server.silent = NOTHING;
	assert_int_equal(module_read((struct module *)(uintptr_t)m, m->segments[0].vaddr, bytes, 4), 4);
	assert_memory_equal(bytes, "\177ELF", 4);
	assert_ptr_equal(modules_file(mods, &ident), m);
	done(pid);
	modules_free(mods);
}

/* A page of the mapping that nobody has touched would be asked for. */
TEST_WITH(test_memory, NULL, end)
{
	char got[8];
	pid_t pid;
	char *fresh = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before = target_memory_refused();

	begin(true);
	pid = mapper();
	*server.silent = 1ull << FUSE_READ;
	errno = 0;
	assert_int_equal(target_memory_read((uint32_t)pid, ident.start + 8192, got, sizeof(got)), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(target_memory_refused(), before + 1);
	/* what it has, and memory that it has not touched yet */
	assert_int_equal(target_memory_read((uint32_t)pid, (uint64_t)(uintptr_t)&server, got, sizeof(got)),
			 sizeof(got));
	assert_int_equal(target_memory_read((uint32_t)pid, (uint64_t)(uintptr_t)fresh + 4096, got, sizeof(got)),
			 sizeof(got));
	assert_int_equal(target_memory_read((uint32_t)pid, 4096, got, sizeof(got)), -1);
	done(pid);
	munmap(fresh, 65536);
}

/* Field 48 of a process's stat. */
static unsigned long arguments_at(void)
{
	char text[2048];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	char *p;

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')');
	for (int field = 2; p && field < 48; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoul(p, NULL, 10) : 0;
}

/* Its arguments lie in such a page, and the kernel does not ask for it: otherwise this would not come to its end. */
TEST_WITH(test_arguments, NULL, end)
{
	int ready[2], fd;
	pid_t pid;
	char c = 0, name[64];

	begin(true);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		int file = open(there("lib.so"), O_RDONLY);
		void *page = (void *)(arguments_at() & ~4095ul);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = page && mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == page;
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(c, 1);
	*server.silent = 1ull << FUSE_READ;
	snprintf(name, sizeof(name), "/proc/%d/cmdline", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, name, sizeof(name)) <= 0);
	assert_int_equal(*server.unanswered, 0);
	close(fd);
	done(pid);
}

int main(void)
{
	return RUN_TESTS(setup, teardown);
}
