// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's types, picked for an object: the same fields at the same places; and nothing reads them all again. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/bpf_counters.h"
#include "kmod-free/kernel_btf.h"
#include "kmod-free/sysio.h"
#include "sysio.skel.h"
#include "unit/unit.h"
#include "util/buf.h"

static const struct btf_type *plain_type(const struct btf *b, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(b, id);

	while (btf_is_mod(t) || btf_is_typedef(t))
		t = btf__type_by_id(b, t->type);
	return t;
}

/* All of one struct's members, and of what they hold, by name, place and size. */
static bool same_struct(const struct btf *a, const struct btf_type *x, const struct btf *b, const struct btf_type *y)
{
	const struct btf_member *m = btf_members(x), *n = btf_members(y);

	if (x->info != y->info || x->size != y->size)
		return false;
	for (unsigned i = 0; i < btf_vlen(x); i++) {
		const struct btf_type *of_x = plain_type(a, m[i].type), *of_y = plain_type(b, n[i].type);

		if (strcmp(btf__name_by_offset(a, m[i].name_off), btf__name_by_offset(b, n[i].name_off)) ||
		    m[i].offset != n[i].offset || btf__resolve_size(a, m[i].type) != btf__resolve_size(b, n[i].type) ||
		    (btf_is_composite(of_x) && !same_struct(a, of_x, b, of_y)))
			return false;
	}
	return true;
}

TEST(test_picked_is_the_same)
{
	struct btf *all = btf__load_vmlinux_btf(), *picked;
	struct sysio_bpf *o = sysio_bpf__open();
	unsigned found = 0;
	uint32_t size;
	const void *raw;
	AUTO_BUF(out);

	if (!all || !o) {
		sysio_bpf__destroy(o);
		skip();
	}
	raw = btf__raw_data(all, &size);
	assert_int_equal(kernel_btf_pick(raw, size, o->obj, &out), 0);
	assert_true(out.len < size / 10);
	picked = btf__new(out.data, (uint32_t)out.len);
	assert_non_null(picked);
	for (uint32_t id = 1; id < btf__type_cnt(bpf_object__btf(o->obj)); id++) {
		const struct btf_type *t = btf__type_by_id(bpf_object__btf(o->obj), id);
		const char *name = btf__name_by_offset(bpf_object__btf(o->obj), t->name_off);
		int a = btf_is_struct(t) && *name ? btf__find_by_name_kind(all, name, BTF_KIND_STRUCT) : 0;
		int b = a > 0 ? btf__find_by_name_kind(picked, name, BTF_KIND_STRUCT) : 0;

		if (a <= 0)
			continue;
		assert_true(b > 0);
		assert_true(same_struct(all, btf__type_by_id(all, (uint32_t)a), picked,
					btf__type_by_id(picked, (uint32_t)b)));
		found++;
	}
	assert_true(found >= 5); /* task_struct, what it holds, and what it points to */
	btf__free(picked);
	btf__free(all);
	sysio_bpf__destroy(o);
}

static struct btf *small(const void **raw, uint32_t *size)
{
	struct btf *b = btf__new_empty();

	assert_non_null(b);
	btf__add_int(b, "int", 4, BTF_INT_SIGNED);
	btf__add_struct(b, "task_struct", 4);
	btf__add_field(b, "pid", 1, 0, 0);
	*raw = btf__raw_data(b, size);
	return b;
}

static int pick_of(const void *all, uint32_t size)
{
	struct sysio_bpf *o = sysio_bpf__open();
	char *own = malloc(size + 1); /* a look beyond is seen */
	AUTO_BUF(out);
	int err;

	assert_non_null(o);
	memcpy(own, all, size);
	err = kernel_btf_pick(own, size, o->obj, &out);
	free(own);
	sysio_bpf__destroy(o);
	return err;
}

TEST(test_what_is_cut_short_is_refused)
{
	uint32_t size;
	const void *raw;
	struct btf *b = small(&raw, &size);

	for (uint32_t len = 0; len <= size; len++)
		assert_int_equal(pick_of(raw, len), len == size ? 0 : -EINVAL);
	btf__free(b);
}

/* The types end within one; they have all the rest of the file, and no strings. */
TEST(test_a_type_that_is_cut_is_refused)
{
	const uint32_t whole[] = { 0, sizeof(struct btf_type) + 4, 2 * sizeof(struct btf_type) + 4 + 12 };
	char text[256] = { 0 };
	struct btf_header *h = (void *)text;
	uint32_t size;
	const void *raw;
	struct btf *b = small(&raw, &size);

	assert_true(size < sizeof(text));
	memcpy(text, raw, size);
	assert_int_equal(h->type_len, whole[2]);
	for (uint32_t len = 0; len <= whole[2]; len++) {
		bool ends = len == whole[0] || len == whole[1] || len == whole[2];

		memcpy(text, raw, size);
		h->type_len = len;
		h->str_off = len;
		h->str_len = 1;
		text[h->hdr_len + len] = 0;
		assert_int_equal(pick_of(text, h->hdr_len + len + 1), ends ? 0 : -EINVAL);
	}
	btf__free(b);
}

static uint64_t bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	uint64_t n = 0;

	if (f && fscanf(f, "rchar: %" SCNu64, &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* It calls kernel functions, reads fields, and iterates: all for which libbpf reads the kernel's types. */
TEST(test_nothing_reads_them_again)
{
	struct err e = { 0 };
	struct sysio *first = sysio_new(NULL, &e), *second;
	uint64_t before = bytes_read(), read_by;

	if (geteuid() || e.code == -EPERM || access("/sys/kernel/btf/vmlinux", R_OK) || !before) {
		sysio_free(first);
		skip();
	}
	print_message("# %s\n", first ? "loaded" : e.text);
	assert_non_null(first);
	second = sysio_new(NULL, NULL);
	read_by = bytes_read() - before;
	assert_non_null(second);
	assert_true(read_by < 1 << 20); /* of the kernel's types there are some 5 MB */
	sysio_free(second);
	sysio_free(first);
	kernel_btf_release();
	first = sysio_new(NULL, NULL); /* are read anew */
	assert_non_null(first);
	sysio_free(first);
	kernel_btf_release();
}
