// SPDX-License-Identifier: GPL-2.0-or-later
/* A hostile file of kept answers, under a right sum and of the key that is asked for. What is given to be printed holds
 * no control character but ends of lines, tabulators and those of colours; what goes to a file may hold any byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/answers.h"
#include "util/cachedir.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAGIC 0x313052574e414341ull

static const struct answer_key key = { 7, 9 };
static const char name[] = "00000000000000090000000000000007";
static char folder[64];
static int dir = -1;

static void remove_folder(void)
{
	unlinkat(dir, name, 0);
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	snprintf(folder, sizeof(folder), "/dev/shm/accperf-f-answers.%d", (int)getpid());
	dir = cachedir_open_path(folder);
	if (dir < 0)
		abort();
	atexit(remove_folder);
	return 0;
}

/* data: what follows magic, sum and key. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t head[4] = { MAGIC, 0, key.low, key.high };
	struct answer a;
	AUTO_BUF(b);

	buf_add(&b, head, sizeof(head));
	if (size)
		buf_add(&b, data, size);
	if (buf_failed(&b))
		abort();
	head[1] = XXH64(b.data + 16, b.len - 16, 0);
	memcpy(b.data, head, sizeof(head));
	if (cachedir_write(dir, name, &b, 1 << 28))
		abort();
	if (!answer_get(dir, &key, &a)) {
		size_t printed = a.log_len + (a.flags & ANSWER_FILE ? 0 : a.text_len);

		for (size_t i = 0; i < printed; i++)
			if ((unsigned char)a.log[i] < 0x20 && !strchr("\n\t\033", a.log[i]))
				abort();
	}
	answer_release(&a);
	return 0;
}
