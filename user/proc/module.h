/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: what code addresses belong to. One module = one ELF file (known by device, inode, path
 * and, where the kernel told it, build-id), the vdso, the kernel, or one process's anonymous code.
 * A file is opened once, at first sight, while the process that mapped it still lives, and stays
 * readable after it is deleted or its container is gone. Everything read from it is untrusted. Owns files, ELF
 * segments and unwind tables. Included by many rooms.
 *
 * To add a kind: append to enum fmt_module_kind (include/format.h), write a modules_KIND() getter
 * here, and say in procmap.c which mappings it stands for.
 */
#ifndef ACCPERF_PROC_MODULE_H
#define ACCPERF_PROC_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "util/err.h"

struct modules;
struct ehframe;

struct module_segment {
	uint64_t offset, vaddr, filesz;
	uint32_t flags; /* PF_X... */
};

enum module_state {
	MODULE_OPEN = 1,    /* the file (or image) that is mapped can be read */
	MODULE_GONE = 2,    /* it could not be opened: ended first, no permission, or no answer of a file server */
	MODULE_CHANGED = 3, /* the path holds another file by now: not used */
	MODULE_NOT_ELF = 4,
};

struct module {
	uint32_t id;   /* from 1: fmt_module.id */
	uint32_t kind; /* enum fmt_module_kind */
	uint32_t pid;  /* JIT, ANON: whose; FILE: the process it was first seen in */
	enum module_state state;
	const char *path;   /* as the target sees it, without " (deleted)" */
	const char *object; /* the last component: what names are prefixed with */
	bool deleted;
	uint8_t build_id[20];
	uint8_t build_id_len;
	uint16_t machine; /* ELF e_machine */
	uint64_t entry;
	const struct module_segment *segments;
	unsigned segment_count;
	bool written; /* for attr.c: its record is in the profile */
	/* what follows is module_priv.h's */
	struct module_private *priv;
};

/* What is known of a mapped file. build_id_len 0 and dev/ino 0 mean unknown. */
struct module_ident {
	uint32_t pid;
	uint64_t start, end, pgoff; /* of the mapping; 0 0 unknown */
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	uint8_t build_id[20];
	uint8_t build_id_len;
	const char *path;
};

struct modules *modules_new(void);
void modules_free(struct modules *ms);
/* Opens those that a file system's server kept waiting and has given by now; any: tells. Between samples. */
bool modules_look(struct modules *ms);
/* The highest id there is. */
unsigned modules_count(const struct modules *ms);
/* Unwind tables that were not read because they, or all together, are too large. */
uint64_t modules_frames_refused(const struct modules *ms);
/* By id, 1..modules_count(); NULL for others, and for those that were dropped. Pointers stay valid until then. */
struct module *modules_get(const struct modules *ms, uint32_t id);

/* Finds or opens; NULL only when memory ran out. */
struct module *modules_file(struct modules *ms, const struct module_ident *ident);
/* Only finds: NULL if no mapping of this file was seen. */
struct module *modules_find(struct modules *ms, const struct module_ident *ident);
struct module *modules_kernel(struct modules *ms);
struct module *modules_vdso(struct modules *ms, uint32_t pid, uint64_t start, uint64_t end);
/* Code of one process that no file holds; jit: a perf map names it. */
struct module *modules_anon(struct modules *ms, uint32_t pid, bool jit);
/* NULL if there is none yet. */
struct module *modules_anon_find(const struct modules *ms, uint32_t pid, bool jit);
/* The process is gone, or runs another program: its pid's next anonymous code is a new module. */
void modules_anon_forget(struct modules *ms, uint32_t pid);

/* Those that nobody maps any more are not found from now on: a file that is mapped again is another module. They can
 * still be asked for what they hold, until all are dropped; then their ids are free for others. The kernel, the vdso
 * and what modules_anon_find() finds go on. */
void modules_retire(struct modules *ms, bool (*mapped)(void *ctx, uint32_t id), void *ctx);
bool module_retired(const struct module *m);
void modules_drop_retired(struct modules *ms);

/* A file not mapped anywhere, for reading commands: path + expected build-id (len 0: any).
 * NULL and a sentence if it is not there or is another build. Not added to the ids. */
struct module *module_open_path(const char *path, const uint8_t *build_id, unsigned build_id_len, struct err *e);
void module_close_path(struct module *m);

bool module_offset_to_vaddr(const struct module *m, uint64_t file_offset, uint64_t *vaddr);
bool module_vaddr_to_offset(const struct module *m, uint64_t vaddr, uint64_t *file_offset);
/* Bytes of the image at an ELF address; returns how many (0: none). */
size_t module_read(struct module *m, uint64_t vaddr, void *out, size_t size);
/* Unwind table, built at first use; NULL if the module has none. */
const struct ehframe *module_ehframe(struct module *m);
/* Both for readers of code, whose context is the module: bytes there, and the function around an address. */
size_t module_code_read(void *module, uint64_t vaddr, void *out, size_t size);
bool module_code_bounds(void *module, uint64_t vaddr, uint64_t *start, uint64_t *end);
/* What tells its file from another with the same build-id; 0 where others than root and we can have
 * written it, or nothing is known: what is learnt of it may not be remembered. */
uint64_t module_content(struct module *m);
/* Borrowed descriptor of the ELF file for symbolising, or -1 (vdso: a memfd). */
int module_fd(struct module *m);

#endif
