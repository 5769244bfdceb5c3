// SPDX-License-Identifier: GPL-2.0-or-later
/* CRC-32 by ISA-L's carry-less multiplication, against a byte table and against zlib. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>

#include "offload/calib.h"

enum { AGAINST_TABLE, AGAINST_ZLIB };

struct crc {
	void *isal, *z;
	uint32_t (*fast)(uint32_t, const unsigned char *, uint64_t);
	unsigned long (*zlib)(unsigned long, const unsigned char *, unsigned);
	volatile uint32_t sink;
};

static const char *const isal_names[] = { "libisal.so.2", NULL }, *const z_names[] = { "libz.so.1", NULL };

static int crc_list(struct calib_cases *out, struct err *e)
{
	static const char *const name[] = { "crc32-isal/byte-table", "crc32-isal/zlib" };

	for (int v = AGAINST_TABLE; v <= AGAINST_ZLIB; v++) {
		struct calib_case *c = calib_add(out, &calib_crc, name[v]);
		void *lib;

		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		c->variant = v;
		snprintf(c->device, sizeof(c->device), "carry-less multiplication (ISA-L crc32_gzip_refl)");
		snprintf(c->baseline, sizeof(c->baseline),
			 v == AGAINST_TABLE ? "one table look-up a byte" : "zlib crc32()");
		lib = calib_library(isal_names, "libisal2", c->missing, sizeof(c->missing));
		if (lib)
			dlclose(lib);
		if (v == AGAINST_ZLIB && lib) {
			lib = calib_library(z_names, "zlib1g", c->missing, sizeof(c->missing));
			if (lib)
				dlclose(lib);
		}
	}
	return 0;
}

static int crc_open(struct calib_session *s, struct err *e)
{
	struct crc *p = calloc(1, sizeof(*p));
	char why[200] = "";

	s->priv = p;
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->isal = calib_library(isal_names, "libisal2", why, sizeof(why));
	p->z = p->isal ? calib_library(z_names, "zlib1g", why, sizeof(why)) : NULL;
	if (!p->isal || (!p->z && s->c->variant == AGAINST_ZLIB))
		return err_set(e, -ENOTSUP, "%s", why);
	p->fast = (uint32_t(*)(uint32_t, const unsigned char *, uint64_t))dlsym(p->isal, "crc32_gzip_refl");
	p->zlib = p->z ? (unsigned long (*)(unsigned long, const unsigned char *, unsigned))dlsym(p->z, "crc32") : NULL;
	if (!p->fast || (!p->zlib && s->c->variant == AGAINST_ZLIB))
		return err_set(e, -ENOTSUP, "libisal or libz lacks its CRC function");
	return 0;
}

static uint32_t one_checksum(struct crc *p, const struct calib_case *c, enum run_kind k, const uint8_t *in, size_t g)
{
	if (k == RUN_ACCEL)
		return p->fast(0, in, g);
	return c->variant == AGAINST_TABLE ? calib_host_crc_table(in, g) : (uint32_t)p->zlib(0, in, (unsigned)g);
}

static int crc_call(struct calib_session *s, enum run_kind k, const uint8_t *in, size_t g)
{
	struct crc *p = s->priv;

	p->sink = one_checksum(p, s->c, k, in, g);
	return 0;
}

static int crc_check(struct calib_session *s, const uint8_t *in, size_t g, struct err *e)
{
	if (one_checksum(s->priv, s->c, RUN_HOST, in, g) == one_checksum(s->priv, s->c, RUN_ACCEL, in, g))
		return 0;
	return err_set(e, -EIO, "%s: host and accelerator give different checksums", s->c->name);
}

static void crc_close(struct calib_session *s)
{
	struct crc *p = s->priv;

	if (p && p->isal)
		dlclose(p->isal);
	if (p && p->z)
		dlclose(p->z);
	free(p);
}

const struct calib_family calib_crc = {
	.name = "crc32",
	.summary = "CRC-32 by ISA-L against a byte table and zlib",
	.list = crc_list,
	.open = crc_open,
	.any_size = true,
	.call = crc_call,
	.check = crc_check,
	.close = crc_close,
};
