/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A module and the set of them, from within. Included by module.c (files, addresses) and module_frame.c (unwinding). */
#ifndef ACCPERF_PROC_MODULE_PRIV_H
#define ACCPERF_PROC_MODULE_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "proc/file_pieces.h"
#include "proc/module.h"
#include "util/map.h"

struct module_private {
	struct module m;
	struct modules *ms;
	struct module_segment *segments; /* few files have more than a handful; anonymous code has none */
	unsigned segment_cap;
	int fd;
	struct stat st;
	uint64_t checked; /* when the file was last compared with itself */
	uint64_t used;
	struct ehframe *frame;
	uint64_t frame_bytes; /* of the total */
	bool frame_tried;
	bool retired;
	bool waits;                /* for the server of its file system */
	struct module_ident ident; /* then; but for the path, which is the module's */
	struct file_pieces pieces; /* of a file that no process is observed to map: a recorder sees files rewritten */
};

struct modules {
	struct module_private **list; /* [id - 1]; NULL: that id is free */
	unsigned count, cap;
	unsigned hole;        /* none is free before it */
	struct intern keys;   /* what a mapping says of its file */
	uint32_t *key_module; /* [intern id] -> module id */
	uint32_t key_cap;
	struct map anon; /* pid -> module id, JIT in the high half */
	uint32_t kernel, vdso;
	uint64_t vdso_size;
	uint64_t frame_bytes, frames_refused;
	unsigned open_files, max_open;
	uint64_t clock;
};

#endif
