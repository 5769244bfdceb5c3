// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/answers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/cachedir.h"

#define MAGIC 0x313052574e414341ull /* "ACANWR01": changes with the layout */
#define MAX_FILE (16u << 20)        /* bytes of one answer; more is not kept; by hand */
#define MAX_TOTAL (64ull << 20)     /* bytes of all answers, the oldest of which go first; by hand */
#define MAX_PATH 4096u              /* bytes: PATH_MAX, whatever a system calls so */

/* File: head, seen files each followed by its path, log, text. */
struct answers_head {
	uint64_t magic, xxh64; /* of all that follows these two */
	struct answer_key key;
	uint32_t status, flags;
	uint32_t files, log_len;
	uint64_t files_len, text_len;
};

struct answers_seen {
	uint64_t dev, ino, size, mtime_ns;
	uint32_t found, path_len;
};

static struct answers_seen seen_as(const struct stat *st, size_t path_len)
{
	if (!st)
		return (struct answers_seen){ .path_len = (uint32_t)path_len };
	return (struct answers_seen){ .dev = st->st_dev,
				      .ino = st->st_ino,
				      .size = (uint64_t)st->st_size,
				      .mtime_ns =
					      (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec,
				      .found = 1,
				      .path_len = (uint32_t)path_len };
}

/* The next of a list that is `len` bytes long, and its path: false where the list ends or is none. */
static bool next_field(const char *list, size_t len, size_t *at, struct answers_seen *out, const char **path)
{
	if (len - *at < sizeof(*out))
		return false;
	memcpy(out, list + *at, sizeof(*out));
	if (out->path_len > MAX_PATH || len - *at - sizeof(*out) < out->path_len)
		return false;
	*path = list + *at + sizeof(*out);
	*at += sizeof(*out) + out->path_len;
	return true;
}

void answer_files_add(struct answer_files *f, const char *path, const struct stat *found)
{
	struct answers_seen mine = seen_as(found, strlen(path)), other;
	const char *name;
	size_t at = 0;

	if (path[0] != '/' || mine.path_len > MAX_PATH)
		f->unusable = true;
	while (!f->unusable && next_field(f->list.data, f->list.len, &at, &other, &name)) {
		if (other.path_len != mine.path_len || memcmp(name, path, mine.path_len))
			continue;
		/* it changed in between: whatever was worked out is of neither */
		f->unusable |= memcmp(&other, &mine, sizeof(mine)) != 0;
		return;
	}
	if (f->unusable)
		return;
	buf_add(&f->list, &mine, sizeof(mine));
	buf_add(&f->list, path, mine.path_len);
	f->count++;
}

void answer_files_release(struct answer_files *f)
{
	buf_release(&f->list);
	memset(f, 0, sizeof(*f));
}

/* Each file of the list is what it was, or absent as it was. */
static bool answer_unchanged(const char *list, size_t len, uint32_t count)
{
	const char *name;
	struct answers_seen was;
	size_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		char path[MAX_PATH + 1];
		struct answers_seen is;
		struct stat st;
		bool there;

		if (!next_field(list, len, &at, &was, &name))
			return false;
		memcpy(path, name, was.path_len);
		path[was.path_len] = 0;
		there = path[0] == '/' && !stat(path, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
		is = seen_as(there ? &st : NULL, was.path_len);
		if (memcmp(&was, &is, sizeof(is)))
			return false;
	}
	return at == len;
}

/* Printed as it is: letters, ends of lines, and colours. */
static bool text_is_harmless(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == 0x1b) {
			if (++i >= len || text[i] != '[')
				return false;
			while (++i < len && ((text[i] >= '0' && text[i] <= '9') || text[i] == ';'))
				;
			if (i >= len || text[i] != 'm')
				return false;
		} else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
			return false;
		} else if (c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] >= 0x80 &&
			   (unsigned char)text[i + 1] < 0xa0) {
			return false;
		}
	}
	return true;
}

static void answer_name(const struct answer_key *key, char *name, size_t size)
{
	snprintf(name, size, "%016llx%016llx", (unsigned long long)key->high, (unsigned long long)key->low);
}

int answer_get(int dir, const struct answer_key *key, struct answer *out)
{
	const size_t unhashed = offsetof(struct answers_head, key);
	struct buf *b = &out->file;
	const char *body;
	struct answers_head h;
	char name[40];
	size_t left;

	*out = (struct answer){ 0 };
	answer_name(key, name, sizeof(name));
	if (cachedir_read(dir, name, MAX_FILE, b) || b->len < sizeof(h))
		return -ENOENT;
	memcpy(&h, b->data, sizeof(h));
	body = b->data + sizeof(h);
	left = b->len - sizeof(h);
	if (h.magic != MAGIC || memcmp(&h.key, key, sizeof(*key)) ||
	    XXH64(b->data + unhashed, b->len - unhashed, 0) != h.xxh64 || h.files_len > left ||
	    h.log_len > left - h.files_len || h.text_len != left - h.files_len - h.log_len)
		return -ENOENT;
	out->status = h.status;
	out->flags = h.flags;
	out->log = body + h.files_len;
	out->log_len = h.log_len;
	out->text = out->log + h.log_len;
	out->text_len = h.text_len;
	return text_is_harmless(out->log, out->log_len + (out->flags & ANSWER_FILE ? 0 : out->text_len)) &&
			       answer_unchanged(body, h.files_len, h.files)
		       ? 0
		       : -ENOENT;
}

int answer_put(int dir, const struct answer_key *key, const struct answer_files *files, const struct answer *a)
{
	const size_t unhashed = offsetof(struct answers_head, key);
	struct answers_head h = { .magic = MAGIC,
				  .key = *key,
				  .status = a->status,
				  .flags = a->flags,
				  .files = files->count,
				  .files_len = files->list.len,
				  .log_len = (uint32_t)a->log_len,
				  .text_len = a->text_len };
	char name[40];
	AUTO_BUF(b);

	if (files->unusable || buf_failed(&files->list))
		return -EINVAL;
	if (a->log_len > MAX_FILE || a->text_len > MAX_FILE ||
	    sizeof(h) + files->list.len + a->log_len + a->text_len > MAX_FILE)
		return -EFBIG;
	buf_add(&b, &h, sizeof(h));
	if (files->list.len)
		buf_add(&b, files->list.data, files->list.len);
	if (a->log_len)
		buf_add(&b, a->log, a->log_len);
	if (a->text_len)
		buf_add(&b, a->text, a->text_len);
	if (buf_failed(&b))
		return -ENOMEM;
	h.xxh64 = XXH64(b.data + unhashed, b.len - unhashed, 0);
	memcpy(b.data, &h, sizeof(h));
	answer_name(key, name, sizeof(name));
	return cachedir_write(dir, name, &b, MAX_TOTAL);
}

void answer_release(struct answer *a)
{
	buf_release(&a->file);
	*a = (struct answer){ 0 };
}
