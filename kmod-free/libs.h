/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which ELF files a process has mapped, or would map if it loaded a library: found through its own
 * mount namespace, whatever its root. Included by offload, record and tests; owns nothing beyond a call.
 */
#ifndef ACCPERF_KMOD_FREE_LIBS_H
#define ACCPERF_KMOD_FREE_LIBS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

struct lib_file {
	const char *path;      /* as the target sees it; borrowed */
	const char *base;      /* its last component */
	uint64_t dev, ino;     /* as stat() of the opened file gives them */
	int fd;                /* opened for reading; closed after the callback unless set to -1 by it */
	bool mapped;           /* executable code of it is mapped now */
	uint64_t start, pgoff; /* of that mapping: where it begins, and where in the file */
	bool waits;            /* the server of its file system did not answer: fd is -1, dev and ino are not known */
};

/* Does the caller want a file of this name? Asked before the file is opened. */
typedef bool (*lib_want_fn)(void *ctx, const char *base, const char *path);
/* Nonzero stops the walk and is returned. */
typedef int (*lib_fn)(void *ctx, struct lib_file *f);

/* Every file mapped executable by pid, once each. -ESRCH when the process is gone. */
int libs_mapped(int pid, lib_want_fn want, lib_fn fn, void *ctx, struct err *e);
/* The same of the files whose code lies at these addresses; others are not opened. */
int libs_holding(int pid, const uint64_t *addr, unsigned cnt, lib_fn fn, void *ctx);
/* Files in the directories where pid's loader looks: the default ones, LD_LIBRARY_PATH of its
 * environment (of ours when env_self is set: a command about to be run), and the runpath of exe. */
int libs_installed(int pid, bool env_self, const char *exe, lib_want_fn want, lib_fn fn, void *ctx);

/* Does the process have an io_uring open? */
bool libs_has_uring(int pid);

#endif
