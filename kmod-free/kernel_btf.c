// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/kernel_btf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control.h"
#include "util/buf.h"

#define WHERE "/sys/kernel/btf/vmlinux"
#define DEPTH 32 /* of types within types; the kernel's reach 12 */

/* By number (control.h). The last one is no function that is called: it stands for what an iterator of tasks is. */
static const char *const functions[KERNEL_FUNCTIONS + 1] = {
	[KERNEL_PREEMPT_DISABLE] = "bpf_preempt_disable",
	[KERNEL_PREEMPT_ENABLE] = "bpf_preempt_enable",
	[KERNEL_SESSION_IS_RETURN] = "bpf_session_is_return",
	[KERNEL_FUNCTIONS] = "bpf_iter_task",
};

/* BTF as it lies in memory, checked to hold together; types are numbered from 1. */
struct view {
	const char *types, *strings;
	uint32_t types_size, strings_size, count;
	uint32_t *at; /* of each type */
};

static struct {
	void *data; /* all of the kernel's types; NULL: not read, or cannot be */
	size_t size;
	bool mapped;
	struct view all;
	int memfd; /* what an object is handed */
	char path[32];
	uint32_t function[KERNEL_FUNCTIONS + 1]; /* type's number; 0: this kernel has none */
} kernel = { .memfd = -1 };

/* Bytes that follow a type's head; -1: unknown kind. */
static int tail_of(const struct btf_type *t)
{
	int n = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG: return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG: return 4;
	case BTF_KIND_ARRAY: return (int)sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION: return n * (int)sizeof(struct btf_member);
	case BTF_KIND_ENUM: return n * (int)sizeof(struct btf_enum);
	case BTF_KIND_ENUM64: return n * (int)sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO: return n * (int)sizeof(struct btf_param);
	case BTF_KIND_DATASEC: return n * (int)sizeof(struct btf_var_secinfo);
	default: return -1;
	}
}

static const struct btf_type *type_of(const struct view *v, uint32_t id)
{
	return id && id <= v->count ? (const void *)(v->types + v->at[id]) : NULL;
}

static const char *kernel_btf_name_at(const struct view *v, uint32_t off)
{
	return off < v->strings_size ? v->strings + off : "";
}

static int kernel_btf_look(struct view *v, const void *data, size_t size)
{
	const struct btf_header *h = data;
	uint32_t at = 0;

	*v = (struct view){ 0 };
	if (size < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len > size ||
	    (uint64_t)h->hdr_len + h->type_off + h->type_len > size ||
	    (uint64_t)h->hdr_len + h->str_off + h->str_len > size || !h->str_len)
		return -EINVAL;
	v->types = (const char *)data + h->hdr_len + h->type_off;
	v->types_size = h->type_len;
	v->strings = (const char *)data + h->hdr_len + h->str_off;
	v->strings_size = h->str_len;
	if (v->strings[v->strings_size - 1])
		return -EINVAL;
	v->at = malloc((v->types_size / sizeof(struct btf_type) + 1) * sizeof(*v->at));
	if (!v->at)
		return -ENOMEM;
	while (v->types_size - at >= sizeof(struct btf_type)) {
		int tail = tail_of((const void *)(v->types + at));

		if (tail < 0 || v->types_size - at - sizeof(struct btf_type) < (uint32_t)tail)
			return -EINVAL;
		v->at[++v->count] = at;
		at += (uint32_t)sizeof(struct btf_type) + (uint32_t)tail;
	}
	return at == v->types_size ? 0 : -EINVAL;
}

/* What is copied, as its own BTF. */
struct kernel_btf_copy {
	const struct view *from;
	uint32_t *to; /* the new number of each type; 0: not copied */
	uint32_t count;
	struct buf types, strings;
};

static uint32_t copy_name(struct kernel_btf_copy *c, uint32_t off)
{
	const char *name = kernel_btf_name_at(c->from, off);
	uint32_t at = (uint32_t)c->strings.len;

	if (!*name)
		return 0;
	buf_add(&c->strings, name, strlen(name) + 1);
	return at;
}

static uint32_t copy_type(struct kernel_btf_copy *c, uint32_t id, unsigned depth);

/* The types of members and elements; names of what follows a type's head. All lie in `t`, which is a copy. */
static bool copy_parts(struct kernel_btf_copy *c, struct btf_type *t, unsigned depth)
{
	struct btf_member *m = btf_members(t);
	struct btf_array *a = btf_array(t);
	struct btf_enum *e = btf_enum(t);
	struct btf_enum64 *e64 = btf_enum64(t);
	uint32_t n = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (uint32_t i = 0; i < n; i++) {
			m[i].type = copy_type(c, m[i].type, depth);
			m[i].name_off = copy_name(c, m[i].name_off);
		}
		return true;
	case BTF_KIND_ARRAY:
		a->type = copy_type(c, a->type, depth);
		a->index_type = copy_type(c, a->index_type, depth);
		return true;
	case BTF_KIND_ENUM:
		for (uint32_t i = 0; i < n; i++)
			e[i].name_off = copy_name(c, e[i].name_off);
		return true;
	case BTF_KIND_ENUM64:
		for (uint32_t i = 0; i < n; i++)
			e64[i].name_off = copy_name(c, e64[i].name_off);
		return true;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG: t->type = copy_type(c, t->type, depth); return true;
	case BTF_KIND_PTR: t->type = 0; return true; /* no access reaches beyond a pointer */
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_FWD: return true;
	default: return false;
	}
}

/* Its new number; 0: void, or what no field can be of. */
static uint32_t copy_type(struct kernel_btf_copy *c, uint32_t id, unsigned depth)
{
	const struct btf_type *t = type_of(c->from, id);
	struct btf_type *copy;
	size_t size;

	if (!t || c->to[id] || depth == DEPTH)
		return t ? c->to[id] : 0;
	size = sizeof(*t) + (size_t)tail_of(t);
	copy = malloc(size);
	if (!copy) {
		c->types.failed = true;
		return 0;
	}
	memcpy(copy, t, size);
	copy->name_off = copy_name(c, t->name_off);
	/* what it holds comes first */
	if (copy_parts(c, copy, depth + 1)) {
		buf_add(&c->types, copy, size);
		c->to[id] = ++c->count;
	}
	free(copy);
	return c->to[id];
}

/* Names of a set of types, found fast: most of the kernel's begin with two letters that none of these does. */
struct kernel_btf_names {
	struct name {
		const char *name;
		size_t len;
	} * of;
	uint32_t count;
	uint8_t begins[65536 / 8];
};

static uint16_t beginning(const char *name)
{
	return (uint16_t)((uint8_t)name[0] << 8 | (uint8_t)name[1]);
}

/* Up to "___": what follows only tells one of our views of a type from another. */
static size_t essential(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = len; i-- > 1;)
		if (!strncmp(name + i, "___", 3))
			return i;
	return len;
}

static bool can_be_sought(const struct btf_type *t)
{
	return btf_is_composite(t) || btf_is_typedef(t) || btf_is_any_enum(t);
}

static int names_of(struct kernel_btf_names *n, const struct btf *b)
{
	uint32_t count = b ? btf__type_cnt(b) : 0;

	memset(n, 0, sizeof(*n));
	n->of = calloc(count + 1, sizeof(n->of[0]));
	if (!n->of)
		return -ENOMEM;
	for (uint32_t id = 1; id < count; id++) {
		const struct btf_type *t = btf__type_by_id(b, id);
		const char *name = btf__name_by_offset(b, t->name_off);

		if (!name || !*name || !can_be_sought(t))
			continue;
		n->of[n->count++] = (struct name){ name, essential(name) };
		n->begins[beginning(name) / 8] |= (uint8_t)(1 << beginning(name) % 8);
	}
	return 0;
}

static bool is_named(const struct kernel_btf_names *n, const char *name)
{
	size_t len;

	if (!*name || !(n->begins[beginning(name) / 8] & 1 << beginning(name) % 8))
		return false;
	len = strlen(name);
	for (uint32_t i = 0; i < n->count; i++)
		if (n->of[i].len == len && !memcmp(n->of[i].name, name, len))
			return true;
	return false;
}

static int copy_named(struct kernel_btf_copy *c, const struct kernel_btf_names *n, struct buf *out)
{
	struct btf_header h = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(h) };

	buf_addch(&c->strings, '\0');
	for (uint32_t id = 1; id <= c->from->count; id++) {
		const struct btf_type *t = type_of(c->from, id);

		if (can_be_sought(t) && is_named(n, kernel_btf_name_at(c->from, t->name_off)))
			copy_type(c, id, 0);
	}
	h.type_len = h.str_off = (uint32_t)c->types.len;
	h.str_len = (uint32_t)c->strings.len;
	buf_add(out, &h, sizeof(h));
	if (c->types.len)
		buf_add(out, c->types.data, c->types.len);
	buf_add(out, c->strings.data, c->strings.len);
	return buf_failed(&c->types) || buf_failed(&c->strings) || buf_failed(out) ? -ENOMEM : 0;
}

static int pick(const struct view *v, const struct bpf_object *like, struct buf *out)
{
	struct kernel_btf_names *n = calloc(1, sizeof(*n));
	struct kernel_btf_copy c = { .from = v, .to = calloc(v->count + 1, sizeof(*c.to)) };
	int err = n && c.to ? names_of(n, bpf_object__btf(like)) : -ENOMEM;

	if (!err)
		err = copy_named(&c, n, out);
	if (n)
		free(n->of);
	free(n);
	free(c.to);
	buf_release(&c.types);
	buf_release(&c.strings);
	return err;
}

int kernel_btf_pick(const void *all, size_t size, const struct bpf_object *like, struct buf *out)
{
	struct view v;
	int err = kernel_btf_look(&v, all, size);

	if (!err)
		err = pick(&v, like, out);
	free(v.at);
	return err;
}

/* The kernel's own file: mapped, which costs nothing, or read in pages, as kernels before 6.16 want it. */
static bool map_or_read(void)
{
	int fd = open(WHERE, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t have = 0;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	kernel.size = !fstat(fd, &st) && st.st_size > 0 ? (size_t)st.st_size : 0;
	kernel.data = kernel.size ? mmap(NULL, kernel.size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	kernel.mapped = kernel.data != MAP_FAILED;
	if (!kernel.mapped)
		kernel.data = kernel.size ? malloc(kernel.size) : NULL;
	while (kernel.data && !kernel.mapped && have < kernel.size &&
	       (n = read(fd, (char *)kernel.data + have, kernel.size - have)) > 0)
		have += (size_t)n;
	close(fd);
	return kernel.data && (kernel.mapped || have == kernel.size);
}

/* From an image of the kernel, where libbpf finds one. It may know kinds of types that kernel_btf_look() does not:
 * then it fits accesses by itself, and functions are known all the same. */
static bool ask_libbpf(void)
{
	struct btf *b = btf__load_vmlinux_btf();
	uint32_t size = 0;
	const void *raw = b ? btf__raw_data(b, &size) : NULL;

	for (unsigned i = 0; b && i <= KERNEL_FUNCTIONS; i++) {
		int id = btf__find_by_name_kind(b, functions[i], BTF_KIND_FUNC);

		kernel.function[i] = id > 0 ? (uint32_t)id : 0;
	}
	kernel.data = raw ? malloc(size) : NULL;
	kernel.size = size;
	if (kernel.data)
		memcpy(kernel.data, raw, size);
	btf__free(b);
	return kernel.data;
}

void kernel_btf_release(void)
{
	if (kernel.mapped)
		munmap(kernel.data, kernel.size);
	else
		free(kernel.data);
	free(kernel.all.at);
	kernel.data = NULL;
	kernel.mapped = false;
	kernel.all = (struct view){ 0 };
}

static void kernel_btf_find_functions(void)
{
	const struct view *v = &kernel.all;

	memset(kernel.function, 0, sizeof(kernel.function));
	for (uint32_t id = 1; id <= v->count; id++) {
		const struct btf_type *t = type_of(v, id);
		const char *name = btf_is_func(t) ? kernel_btf_name_at(v, t->name_off) : "";

		if (strncmp(name, "bpf_", 4))
			continue;
		for (unsigned i = 0; i <= KERNEL_FUNCTIONS; i++)
			if (!kernel.function[i] && !strcmp(name, functions[i]))
				kernel.function[i] = id;
	}
}

static bool have_types(void)
{
	if (kernel.data)
		return true;
	if (map_or_read() && !kernel_btf_look(&kernel.all, kernel.data, kernel.size)) {
		kernel_btf_find_functions();
		return true;
	}
	kernel_btf_release();
	if (ask_libbpf() && !kernel_btf_look(&kernel.all, kernel.data, kernel.size))
		return true;
	kernel_btf_release();
	return false;
}

/* An iterator names what it goes over by number. Until here libbpf must take it for another kind of program, or it
 * would read all of the kernel's types for the number. */
static int prepare_iterator(struct bpf_program *prog, struct bpf_prog_load_opts *o, long cookie)
{
	o->attach_btf_id = kernel.function[KERNEL_FUNCTIONS];
	o->expected_attach_type = BPF_TRACE_ITER;
	return o->attach_btf_id ? bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING) : -ESRCH;
}

/* libbpf prints to stderr unless told otherwise; what went wrong is said by struct err here. */
static int print_nothing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

const struct bpf_object_open_opts *kernel_btf_options(void)
{
	static struct bpf_object_open_opts o = { .sz = sizeof(o) };
	static struct libbpf_prog_handler_opts iterator = { .sz = sizeof(iterator),
							    .prog_prepare_load_fn = prepare_iterator };
	static int registered;

	libbpf_set_print(print_nothing);
	if (!registered)
		registered = libbpf_register_prog_handler(SEC_ITERATES_TASKS, BPF_PROG_TYPE_RAW_TRACEPOINT,
							  BPF_TRACE_ITER, &iterator);
	if (kernel.memfd < 0) {
		kernel.memfd = memfd_create("accperf-btf", MFD_CLOEXEC);
		snprintf(kernel.path, sizeof(kernel.path), "/proc/self/fd/%d", kernel.memfd);
	}
	o.btf_custom_path = kernel.memfd >= 0 && have_types() ? kernel.path : NULL;
	return &o;
}

/* A number that stands for a kernel function becomes a call of it; where there is none, of nothing, which answers 0. */
static int place_functions(struct bpf_program *prog)
{
	size_t n = bpf_program__insn_cnt(prog);
	struct bpf_insn *code = n ? malloc(n * sizeof(*code)) : NULL;
	bool any = false;
	int err = 0;

	if (!code)
		return n ? -ENOMEM : 0;
	memcpy(code, bpf_program__insns(prog), n * sizeof(*code));
	for (size_t i = 0; i < n; i++) {
		uint32_t which = (uint32_t)code[i].imm - KERNEL_FUNCTION(0);

		if (code[i].code != (BPF_JMP | BPF_CALL) || code[i].src_reg || which >= KERNEL_FUNCTIONS)
			continue;
		any = true;
		if (kernel.function[which])
			code[i] = (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
						     .src_reg = BPF_PSEUDO_KFUNC_CALL,
						     .imm = (int32_t)kernel.function[which] };
		else
			code[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K };
	}
	if (any)
		err = bpf_program__set_insns(prog, code, n);
	free(code);
	return err;
}

static int kernel_btf_fit(struct bpf_object *obj)
{
	struct bpf_program *prog;
	AUTO_BUF(types);
	int err = 0;

	if (kernel.memfd >= 0 && kernel.data) {
		err = pick(&kernel.all, obj, &types);
		if (!err && (ftruncate(kernel.memfd, 0) ||
			     pwrite(kernel.memfd, types.data, types.len, 0) != (ssize_t)types.len))
			err = -errno;
	}
	bpf_object__for_each_program(prog, obj) if (!err) err = place_functions(prog);
	return err;
}

int kernel_btf_load(struct bpf_object_skeleton *s)
{
	int err = kernel_btf_fit(*s->obj);

	return err ? err : bpf_object__load_skeleton(s);
}
