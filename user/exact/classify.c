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

/* Divisions and roots are the instructions whose cost stands out. Quarter cycles, in the range of processors of the
 * last ten years; a unit for floating point works off 16 bytes at a time. */
#define DIV_WIDE 72   /* 18 cycles, operands of 8 bytes */
#define DIV_NARROW 40 /* 10 cycles */
#define DIV_FLOAT 20  /* 5 cycles for 16 bytes */

static unsigned slow_cost(const struct dec_insn *in)
{
	unsigned bits = in->lanes * in->element_bits;

	if (in->flags & DEC_F_FP)
		return DIV_FLOAT * (bits > 128 ? bits / 128 : 1);
	return in->element_bits == 64 ? DIV_WIDE : DIV_NARROW;
}

static unsigned class_cost(const struct dec_insn *in, enum xs_class_kind kind)
{
	unsigned cost = kind == XS_CONTROL || (in->flags & DEC_F_FP) ? 2 : 1;

	cost += in->mem_cnt;
	return in->flags & DEC_F_SLOW && slow_cost(in) > cost ? slow_cost(in) : cost;
}

static enum xs_class_kind kind_of_insn(const struct dec_insn *in)
{
	if (in->flags & DEC_F_COMPUTE)
		return XS_COMPUTE;
	if (in->flags & DEC_F_BRANCH)
		return XS_CONTROL;
	return in->flags & DEC_F_IDLE ? XS_OTHER : XS_TRANSFER;
}

struct xs_class exact_classify(const uint8_t *code, size_t len)
{
	struct xs_class c = { XS_OTHER, 0, 0, 1 };
	struct dec_insn in;

	if (dec_decode(code, len, &in))
		return c;
	c.kind = (uint8_t)kind_of_insn(&in);
	c.cost = (uint8_t)class_cost(&in, c.kind);
	if (c.kind == XS_COMPUTE && (in.flags & DEC_F_FP))
		c.lanes_fp = in.lanes;
	else if (c.kind == XS_COMPUTE)
		c.lanes_int = in.lanes;
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
	static uint8_t code[XS_MAX_INSNS][XS_CODE_BYTES];
	static struct xs_class answer[XS_MAX_INSNS];
	uint32_t n;
	int err = transfer(in, &n, sizeof(n), false);

	if (err)
		return err == -EPIPE ? 0 : err;
	if (n == XS_ASK_LOCALS) {
		err = answer_locals(in, out);
		return err == -EPIPE ? 0 : err ? err : 1;
	}
	if (n > XS_MAX_INSNS)
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
