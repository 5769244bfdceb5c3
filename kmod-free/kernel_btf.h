/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the running kernel tells of its types, read once for all BPF programs. libbpf reads and parses all of it, five
 * megabytes, for each object that it loads, which was half of a short recording's own CPU time: it needs it to fit
 * accesses to fields (CO-RE), to call kernel functions, and to attach an iterator. Here each object is handed only the
 * types that it names, with all that they hold by value, and the numbers of functions are put in place. Where the
 * kernel's types cannot be read libbpf looks for them as it always does.
 *
 * To load another object: open it with kernel_btf_options(), kernel_btf_load() it. To call another kernel
 * function: an entry in control.h and its name in functions[]. Included by what loads programs, and by tests
 * (record).
 */
#ifndef ACCPERF_KERNEL_BTF_H
#define ACCPERF_KERNEL_BTF_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct bpf_object_open_opts;
struct bpf_object_skeleton;
struct buf;

#define ATTACH_UPROBE_MULTI 48 /* newer than the headers of Debian 12 */

/* For opening an object; good until the next call. libbpf prints nothing from then on. */
const struct bpf_object_open_opts *kernel_btf_options(void);
/* Loads what was opened: 0 or -errno. */
int kernel_btf_load(struct bpf_object_skeleton *s);
/* The memory that the kernel's types take, if any, where nothing more will be loaded soon. */
void kernel_btf_release(void);

/* For tests: of the types in `all`, those named as a type in `like` and what they hold, as BTF. -EINVAL: not BTF. */
int kernel_btf_pick(const void *all, size_t size, const struct bpf_object *like, struct buf *out);

#endif
