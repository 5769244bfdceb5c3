// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Deflate, level 1: ISA-L against zlib, each call a stream of its own. Both libraries' stream structs
 * are declared here as far as their public, frozen part goes, so that neither header is needed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/calib.h"

struct z {
	const uint8_t *next_in;
	unsigned avail_in;
	unsigned long total_in;
	uint8_t *next_out;
	unsigned avail_out;
	unsigned long total_out;
	const char *msg;
	void *state, *zalloc, *zfree, *opaque;
	int data_type;
	unsigned long adler, reserved;
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct z) == 112, "z_stream of zlib 1.x");

/* struct isal_zstream of libisal.so.2; what follows is the library's own. */
struct isal {
	uint8_t *next_in;
	uint32_t avail_in, total_in;
	uint8_t *next_out;
	uint32_t avail_out, total_out;
	void *hufftables;
	uint32_t level, level_buf_size;
	uint8_t *level_buf;
	uint16_t end_of_stream, flush, gzip_flag, hist_bits;
	uint8_t own[1 << 20];
};
_Static_assert(sizeof(void *) != 8 || offsetof(struct isal, own) == 64, "isal_zstream");

#define LEVEL_BUFFER (512u << 10) /* bytes: igzip's largest level wants less; by hand */

struct deflate {
	void *isal, *z;
	void (*isal_init)(struct isal *);
	int (*isal_deflate)(struct isal *);
	int (*init)(struct z *, int level, int method, int bits, int memory, int strategy, const char *version,
		    int size);
	int (*run)(struct z *, int flush);
	int (*reset)(struct z *);
	int (*end)(struct z *);
	int (*inflate_init)(struct z *, int bits, const char *version, int size);
	int (*inflate)(struct z *, int flush);
	int (*inflate_end)(struct z *);
	struct z stream;
	bool ready;
	struct isal *is;
	uint8_t *level, *out;
	size_t out_size;
};

#define Z_FINISH 4     /* zlib.h */
#define Z_STREAM_END 1 /* zlib.h */

static const char *const isal_names[] = { "libisal.so.2", NULL }, *const z_names[] = { "libz.so.1", NULL };

static int deflate_list(struct calib_cases *out, struct err *e)
{
	struct calib_case *c = calib_add(out, &calib_deflate, "deflate-isal/zlib");
	void *lib;

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(c->device, sizeof(c->device), "ISA-L isal_deflate_stateless(), level 1");
	snprintf(c->baseline, sizeof(c->baseline), "zlib deflate(), level 1");
	lib = calib_library(isal_names, "libisal2", c->missing, sizeof(c->missing));
	if (lib)
		dlclose(lib);
	lib = lib ? calib_library(z_names, "zlib1g", c->missing, sizeof(c->missing)) : NULL;
	if (lib)
		dlclose(lib);
	return 0;
}

static int deflate_open(struct calib_session *s, struct err *e)
{
	struct deflate *p = calloc(1, sizeof(*p));
	char why[200] = "";

	s->priv = p;
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->isal = calib_library(isal_names, "libisal2", why, sizeof(why));
	p->z = p->isal ? calib_library(z_names, "zlib1g", why, sizeof(why)) : NULL;
	if (!p->z)
		return err_set(e, -ENOTSUP, "%s", why);
	*(void **)&p->isal_init = dlsym(p->isal, "isal_deflate_stateless_init");
	*(void **)&p->isal_deflate = dlsym(p->isal, "isal_deflate_stateless");
	*(void **)&p->init = dlsym(p->z, "deflateInit2_");
	*(void **)&p->run = dlsym(p->z, "deflate");
	*(void **)&p->reset = dlsym(p->z, "deflateReset");
	*(void **)&p->end = dlsym(p->z, "deflateEnd");
	*(void **)&p->inflate_init = dlsym(p->z, "inflateInit2_");
	*(void **)&p->inflate = dlsym(p->z, "inflate");
	*(void **)&p->inflate_end = dlsym(p->z, "inflateEnd");
	if (!p->isal_init || !p->isal_deflate || !p->init || !p->run || !p->reset || !p->end || !p->inflate_init ||
	    !p->inflate || !p->inflate_end)
		return err_set(e, -ENOTSUP, "libisal or libz lacks one of its deflate functions");
	p->out_size = s->opts->max + s->opts->max / 4 + 4096;
	p->out = malloc(p->out_size);
	p->level = calloc(1, LEVEL_BUFFER);
	p->is = calloc(1, sizeof(*p->is));
	if (!p->out || !p->level || !p->is)
		return err_set(e, -ENOMEM, "not enough memory for the output; lower --max");
	memset(p->out, 1, p->out_size);
	if (p->init(&p->stream, 1, 8, -15, 8, 0, "1.2.11", (int)sizeof(p->stream)))
		return err_set(e, -EIO, "zlib's deflateInit2() refuses");
	p->ready = true;
	return 0;
}

static int by_zlib(struct deflate *p, const uint8_t *in, size_t g)
{
	p->reset(&p->stream);
	p->stream.next_in = in;
	p->stream.avail_in = (unsigned)g;
	p->stream.next_out = p->out;
	p->stream.avail_out = (unsigned)p->out_size;
	return p->run(&p->stream, Z_FINISH) == Z_STREAM_END ? 0 : -EIO;
}

static int by_isal(struct deflate *p, const uint8_t *in, size_t g)
{
	p->isal_init(p->is);
	p->is->level = 1;
	p->is->level_buf = p->level;
	p->is->level_buf_size = LEVEL_BUFFER;
	p->is->end_of_stream = 1;
	p->is->next_in = (uint8_t *)(uintptr_t)in;
	p->is->avail_in = (uint32_t)g;
	p->is->next_out = p->out;
	p->is->avail_out = (uint32_t)p->out_size;
	return p->isal_deflate(p->is) ? -EIO : 0;
}

static int deflate_call(struct calib_session *s, enum run_kind k, const uint8_t *in, size_t g)
{
	return k == RUN_ACCEL ? by_isal(s->priv, in, g) : by_zlib(s->priv, in, g);
}

/* Both streams must unpack to the input. */
static int deflate_check(struct calib_session *s, const uint8_t *in, size_t g, struct err *e)
{
	struct deflate *p = s->priv;
	uint8_t *back = malloc(g);
	int err = back ? 0 : err_set(e, -ENOMEM, "out of memory");

	for (int k = RUN_HOST; !err && k <= RUN_ACCEL; k++) {
		struct z z = { 0 };

		err = deflate_call(s, (enum run_kind)k, in, g);
		if (err || p->inflate_init(&z, -15, "1.2.11", (int)sizeof(z))) {
			err = err_set(e, -EIO, "%s: the %s run does not compress", s->c->name,
				      run_kind_str((enum run_kind)k));
			break;
		}
		z.next_in = p->out;
		z.avail_in = (unsigned)(k == RUN_ACCEL ? p->is->total_out : p->stream.total_out);
		z.next_out = back;
		z.avail_out = (unsigned)g;
		if (p->inflate(&z, Z_FINISH) != Z_STREAM_END || z.total_out != g || memcmp(back, in, g))
			err = err_set(e, -EIO, "%s: what the %s run wrote does not unpack to its input", s->c->name,
				      run_kind_str((enum run_kind)k));
		p->inflate_end(&z);
	}
	free(back);
	return err;
}

static void deflate_close(struct calib_session *s)
{
	struct deflate *p = s->priv;

	if (!p)
		return;
	if (p->ready)
		p->end(&p->stream);
	if (p->isal)
		dlclose(p->isal);
	if (p->z)
		dlclose(p->z);
	free(p->out);
	free(p->level);
	free(p->is);
	free(p);
}

const struct calib_family calib_deflate = {
	.name = "deflate",
	.summary = "deflate level 1 by ISA-L against zlib",
	.list = deflate_list,
	.open = deflate_open,
	.any_size = true,
	.call = deflate_call,
	.check = deflate_check,
	.close = deflate_close,
};
