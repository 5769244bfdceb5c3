// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers that are kept: given again while the files they rest on are what they were, and never when damaged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "unit/unit.h"
#include "util/answers.h"
#include "util/cachedir.h"
#include "util/hashed.h"
#include "util/openfile.h"

static char folder[64], beside[96];
static const struct answer_key key = { 7, 9 };
static int dir;

static int setup(void **state)
{
	strcpy(folder, "/tmp/accperf-u-answers.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(beside, sizeof(beside), "%s.so", folder);
	dir = cachedir_open_path(folder);
	return dir < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	char command[192];

	close(dir);
	snprintf(command, sizeof(command), "rm -rf %s %s", folder, beside);
	return system(command) ? -1 : 0;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void told(void *files, const char *path, const struct stat *found)
{
	answer_files_add(files, path, found);
}

/* As a command looks at a file: through util/openfile.h. */
static void look_at(struct answer_files *files, const char *path)
{
	struct stat st;
	int fd;

	openfile_tell(told, files);
	fd = openfile_regular(path, &st);
	openfile_tell(NULL, NULL);
	if (fd >= 0)
		close(fd);
}

static int keep(const struct answer_files *files, const char *text)
{
	struct answer a = { .status = 3,
			    .flags = 1,
			    .log = "accperf: warning: x\n",
			    .log_len = 20,
			    .text = text,
			    .text_len = strlen(text) };

	return answer_put(dir, &key, files, &a);
}

static bool given(const struct answer_key *k, const char *text)
{
	struct answer a;
	bool yes = !answer_get(dir, k, &a);

	if (yes) {
		assert_int_equal(a.status, 3);
		assert_int_equal(a.flags, 1);
		assert_int_equal(a.log_len, 20);
		assert_memory_equal(a.log, "accperf: warning: x\n", 20);
		assert_int_equal(a.text_len, strlen(text));
		assert_memory_equal(a.text, text, a.text_len);
	}
	answer_release(&a);
	return yes;
}

TEST_WITH(test_same_question, setup, teardown)
{
	const char *text = "\033[1mfunction\033[0m\t1\n\xc3\xa9\n";
	struct answer_files files = { 0 };
	struct stat st;

	assert_false(given(&key, text));
	assert_int_equal(keep(&files, text), 0);
	assert_true(given(&key, text));
	assert_false(given(&(struct answer_key){ 7, 10 }, text));
	assert_int_equal(fstatat(dir, "00000000000000090000000000000007", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* the file of one answer under the name of another */
	assert_int_equal(linkat(dir, "00000000000000090000000000000007", dir, "000000000000000a0000000000000007", 0),
			 0);
	assert_false(given(&(struct answer_key){ 7, 10 }, text));
}

/* A folder changes with its entries; one that cannot be told keeps nothing. */
TEST_WITH(test_folder_it_rests_on, setup, teardown)
{
	struct answer_files files = { 0 };
	char other[96], entry[128];
	int of;

	snprintf(other, sizeof(other), "%s/other", folder);
	snprintf(entry, sizeof(entry), "%s/entry", other);
	assert_int_equal(mkdir(other, 0700), 0);
	of = open(other, O_RDONLY | O_DIRECTORY);
	openfile_tell(told, &files);
	openfile_looks_in(of, NULL);
	openfile_looks_at(entry);
	openfile_tell(NULL, NULL);
	close(of);
	assert_int_equal(files.count, 2);
	assert_int_equal(keep(&files, "empty\n"), 0);
	assert_true(given(&key, "empty\n"));
	write_file(entry, "one");
	unlink(entry); /* as it was, but for the folder's time */
	assert_false(given(&key, "empty\n"));
	openfile_tell(told, &files);
	openfile_looks_in(-1, NULL);
	openfile_tell(NULL, NULL);
	assert_true(files.unusable);
	answer_files_release(&files);
}

TEST_WITH(test_files_it_rests_on, setup, teardown)
{
	struct answer_files files = { 0 };
	struct timespec later[2] = { { 1000, 5 }, { 1000, 5 } };

	unlink(beside);
	look_at(&files, beside);
	look_at(&files, "/etc/passwd");
	assert_int_equal(files.count, 2);
	assert_int_equal(keep(&files, "absent\n"), 0);
	assert_true(given(&key, "absent\n"));
	write_file(beside, "one");
	assert_false(given(&key, "absent\n"));
	answer_files_release(&files);

	look_at(&files, beside);
	look_at(&files, beside);
	assert_int_equal(files.count, 1);
	assert_int_equal(keep(&files, "one\n"), 0);
	assert_true(given(&key, "one\n"));
	utimensat(AT_FDCWD, beside, later, 0);
	assert_false(given(&key, "one\n"));
	/* it changed while the answer was worked out */
	look_at(&files, beside);
	assert_true(keep(&files, "one\n") < 0);
	answer_files_release(&files);

	look_at(&files, beside);
	assert_int_equal(keep(&files, "two\n"), 0);
	assert_true(given(&key, "two\n"));
	unlink(beside);
	assert_false(given(&key, "two\n"));
	answer_files_release(&files);

	/* a path that depends on where we are */
	look_at(&files, "beside.so");
	assert_true(keep(&files, "three\n") < 0);
	answer_files_release(&files);
}

/* Whatever a file holds, nothing of it is printed that would act on a terminal. */
static uint64_t hash_of(const char *file)
{
	XXH3_state_t *h = XXH3_createState();
	XXH128_hash_t hash;
	struct stat st;

	XXH3_128bits_reset(h);
	assert_true(hashed_file(h, file, &st));
	hash = XXH3_128bits_digest(h);
	XXH3_freeState(h);
	return hash.low64;
}

/* A new file is summed up by its contents, an older one is not read; whoever sets its time back is found out. */
TEST(test_changed_file)
{
	const struct timespec before[2] = { { .tv_sec = 1700000000, .tv_nsec = 5 },
					    { .tv_sec = 1700000000, .tv_nsec = 5 } };
	char name[2][64];
	uint64_t settled;

	for (unsigned i = 0; i < 2; i++) {
		snprintf(name[i], sizeof(name[i]), "/tmp/accperf-hashed-%d-%u", getpid(), i);
		write_file(name[i], "as new");
	}
	assert_int_equal(hash_of(name[0]), hash_of(name[1]));
	assert_int_equal(utimensat(AT_FDCWD, name[0], before, 0), 0);
	usleep(200000);
	settled = hash_of(name[0]);
	assert_int_equal(hash_of(name[0]), settled);
	assert_int_not_equal(hash_of(name[1]), settled);
	write_file(name[0], "anew..");
	assert_int_equal(utimensat(AT_FDCWD, name[0], before, 0), 0);
	assert_int_not_equal(hash_of(name[0]), settled);
	usleep(200000);
	assert_int_not_equal(hash_of(name[0]), settled);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(unlink(name[i]), 0);
}

TEST_WITH(test_harmless, setup, teardown)
{
	static const char *const bad[] = { "\033]0;title\007",
					   "\033[2J",
					   "\033[3",
					   "\033",
					   "a\rb",
					   "\x7f",
					   "\xc2\x9b"
					   "2J",
					   "\b" };
	struct answer_files files = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(keep(&files, bad[i]), 0);
		assert_false(given(&key, bad[i]));
	}
}

/* What goes into a file may hold any bytes; what is said beside it may not. */
TEST_WITH(test_a_file, setup, teardown)
{
	static const char bytes[] = "\0\037\213\033[2J";
	static const char *const logs[] = { "wrote it\n", "\033[2J" };
	struct answer_files files = { 0 };

	for (int i = 0; i < 2; i++) {
		struct answer a = { .flags = ANSWER_FILE,
				    .log = logs[i],
				    .log_len = strlen(logs[i]),
				    .text = bytes,
				    .text_len = sizeof(bytes) },
			      got;

		assert_int_equal(answer_put(dir, &key, &files, &a), 0);
		assert_int_equal(answer_get(dir, &key, &got), i ? -ENOENT : 0);
		if (!i)
			assert_memory_equal(got.text, bytes, sizeof(bytes));
		answer_release(&got);
	}
}

static void plant(const char *data, size_t len)
{
	struct buf b = { 0 };

	buf_add(&b, data, len);
	assert_int_equal(cachedir_write(dir, "00000000000000090000000000000007", &b, 1 << 20), 0);
	buf_release(&b);
}

/* Each byte changed, each end cut off, and lengths that lie under a right sum: no answer, no crash. */
TEST_WITH(test_damaged, setup, teardown)
{
	struct answer_files files = { 0 };
	struct buf file = { 0 };

	look_at(&files, "/etc/passwd");
	assert_int_equal(keep(&files, "text\n"), 0);
	assert_int_equal(cachedir_read(dir, "00000000000000090000000000000007", 1 << 20, &file), 0);
	for (size_t i = 0; i < file.len; i++) {
		file.data[i] ^= 0x41;
		plant(file.data, file.len);
		assert_false(given(&key, "text\n"));
		file.data[i] ^= 0x41;
		plant(file.data, i);
		assert_false(given(&key, "text\n"));
	}
	plant(file.data, file.len);
	assert_true(given(&key, "text\n"));
	/* counts and lengths of the head, and the seen file's path_len */
	for (size_t at = 32; at + 4 <= 64 + 40; at += 4) {
		for (uint32_t v = 0; v < 8; v++) {
			uint32_t lie = v < 4 ? v : UINT32_MAX - (v - 4) * 0x7fffffff, was;
			uint64_t sum;

			memcpy(&was, file.data + at, 4);
			memcpy(file.data + at, &lie, 4);
			sum = XXH64(file.data + 16, file.len - 16, 0);
			memcpy(file.data + 8, &sum, 8);
			plant(file.data, file.len);
			if (at >= 40 && lie != was)
				assert_false(given(&key, "text\n"));
			memcpy(file.data + at, &was, 4);
		}
	}
	buf_release(&file);
	answer_files_release(&files);
}
