// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/decode.h"
#include "symbol/locals.h"
#include "exact/classify.h"

#define MAX_QUESTION 4096

static size_t prefixes(const uint8_t *p, size_t len, bool *wide)
{
	size_t i = 0;

	while (i < len && (p[i] == 0x66 || p[i] == 0xf2 || p[i] == 0xf3 || p[i] == 0xf0 || (p[i] & 0xf0) == 0x40)) {
		*wide |= (p[i] & 0xf8) == 0x48;
		i++;
	}
	return i;
}

/* nop in its forms, endbr, prefetches, fences, flags, cpuid: neither kind. What else is no
 * computation moves data, between vector registers too. */
static bool moves_nothing(const uint8_t *p, size_t len)
{
	bool wide = false;
	size_t i = prefixes(p, len, &wide);

	if (i >= len)
		return true;
	if (p[i] == 0x0f && i + 1 < len)
		switch (p[i + 1]) {
		case 0x1f:
		case 0x1e:
		case 0x18:
		case 0x0d:
		case 0xa2:
		case 0x31:
		case 0x77:
		case 0x01: return true;
		case 0xae: return i + 2 < len && p[i + 2] >= 0xc0;
		default: return false;
		}
	if (p[i] == 0xc5 && i + 2 < len && p[i + 2] == 0x77)
		return true; /* vzeroupper */
	return p[i] == 0x90 || p[i] == 0xf4 || p[i] == 0xf5 || (p[i] >= 0xf8 && p[i] <= 0xfd);
}

/* Division and square root are the instructions whose cost stands out; their opcodes suffice. */
static unsigned slow_cost(const uint8_t *p, size_t len)
{
	bool wide = false;
	size_t i = prefixes(p, len, &wide);

	if (i + 1 >= len)
		return 0;
	if ((p[i] == 0xf7 || p[i] == 0xf6) && (p[i + 1] >> 3 & 7) >= 6)
		return wide ? 72 : 40;
	if (p[i] == 0x0f && (p[i + 1] == 0x5e || p[i + 1] == 0x51))
		return 20;
	/* the same two behind a vector prefix */
	if (p[i] == 0xc5 && i + 2 < len && (p[i + 2] == 0x5e || p[i + 2] == 0x51))
		return 24;
	return 0;
}

struct xs_class exact_classify(const uint8_t *code, size_t len)
{
	struct xs_class c = { XS_OTHER, 0, 0, 1 };
	struct dec_insn in;
	unsigned slow;

	if (dec_decode(code, len, &in))
		return c;
	if (in.flags & DEC_F_COMPUTE) {
		unsigned lanes = in.lanes ? in.lanes : 1;

		c.kind = XS_COMPUTE;
		if (in.flags & DEC_F_FP)
			c.lanes_fp = lanes;
		else
			c.lanes_int = lanes;
		c.cost = in.flags & DEC_F_FP ? 2 : 1;
	} else if (in.flags & (DEC_F_BRANCH | DEC_F_CALL | DEC_F_RET | DEC_F_SYSCALL | DEC_F_TRAP)) {
		c.kind = XS_CONTROL;
		c.cost = 2;
	} else if (!moves_nothing(code, len)) {
		c.kind = XS_TRANSFER;
	}
	c.cost += in.mem_cnt;
	slow = slow_cost(code, len);
	if (slow > c.cost)
		c.cost = slow;
	return c;
}

static int transfer(int fd, void *buf, size_t size, bool out)
{
	uint8_t *p = buf;

	while (size) {
		ssize_t n = out ? write(fd, p, size) : read(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EPIPE;
		p += n;
		size -= n;
	}
	return 0;
}

/* Files stay open: a program has few objects and many functions. */
static struct locals *locals_file(const char *path)
{
	static struct {
		char *path;
		struct locals *l;
	} files[64];
	static size_t count;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(files[i].path, path))
			return files[i].l;
	if (count == sizeof(files) / sizeof(files[0]))
		return NULL;
	files[count].path = strdup(path);
	files[count].l = locals_open(path);
	return files[count].path ? files[count++].l : NULL;
}

static int answer_locals(int in, int out)
{
	static struct frame_local found[XS_MAX_LOCALS];
	static struct xs_local reply[XS_MAX_LOCALS];
	struct xs_locals_ask ask;
	char path[PATH_MAX];
	uint32_t n;
	int err = transfer(in, &ask, sizeof(ask), false);

	if (!err && ask.path_len >= sizeof(path))
		return -EBADMSG;
	if (!err)
		err = transfer(in, path, ask.path_len, false);
	if (err)
		return err;
	path[ask.path_len] = 0;
	n = (uint32_t)locals_of(locals_file(path), ask.vaddr, found, XS_MAX_LOCALS);
	for (uint32_t i = 0; i < n; i++) {
		reply[i].offset = found[i].offset;
		reply[i].size = found[i].size;
		memcpy(reply[i].name, found[i].name, sizeof(reply[i].name));
	}
	err = transfer(out, &n, sizeof(n), true);
	return err ? err : transfer(out, reply, n * sizeof(reply[0]), true);
}

int exact_answer(int in, int out)
{
	static uint8_t code[MAX_QUESTION][XS_CODE_BYTES];
	static struct xs_class answer[MAX_QUESTION];
	uint32_t n;
	int err = transfer(in, &n, sizeof(n), false);

	if (err)
		return err == -EPIPE ? 0 : err;
	if (n == XS_ASK_LOCALS) {
		err = answer_locals(in, out);
		return err == -EPIPE ? 0 : err ? err : 1;
	}
	if (n > MAX_QUESTION)
		return -EBADMSG;
	err = transfer(in, code, (size_t)n * XS_CODE_BYTES, false);
	for (uint32_t i = 0; !err && i < n; i++) {
		size_t len = code[i][0];

		answer[i] = exact_classify(code[i] + 1, len < XS_CODE_BYTES ? len : XS_CODE_BYTES - 1);
	}
	if (!err)
		err = transfer(out, answer, n * sizeof(answer[0]), true);
	return err == -EPIPE ? 0 : err ? err : 1;
}
