/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rights that the file of the program lends to any user that runs it (setcap, set-user-id), and how they are kept from
 * serving anybody else's ends: what the user could not see alone is refused, unless the administrator has restricted
 * who may run the file; names of files and programs are not taken from the environment; rights that are not needed
 * are given back. Without lent rights, nothing here does anything. Included by all rooms.
 */
#ifndef ACCPERF_UTIL_RIGHTS_H
#define ACCPERF_UTIL_RIGHTS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/types.h>

#include "util/err.h"

/* capability(7): newer than some headers */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* What every message recommends. The order matters: a change of group takes capabilities away. */
#define RIGHTS_HOW                                                                                                     \
	"run as root, or lend the rights to a group: `chgrp GROUP accperf; chmod 0750 accperf; "                       \
	"setcap cap_perfmon,cap_bpf,cap_sys_ptrace+ep accperf` (its members may then look into every process)"

/* The program runs with rights that its user does not have. */
bool rights_lent(void);
/* ... and only a group may run it, to which the user belongs, that the administrator lets see everything. */
bool rights_trusted(void);
/* 0: the user could look into this process without lent rights, or may look into any. -EPERM and a sentence. */
int rights_check_process(pid_t pid, struct err *e);
/* Likewise all of the machine, or of a control group. */
int rights_check_all(const char *what, struct err *e);
/* Gives back what was lent, for good. */
void rights_drop(void);
/* All but what recording needs. */
void rights_keep_recording(void);
/* As getenv(), for what names files to open or load, or programs: NULL while rights are lent. */
const char *rights_getenv(const char *name);

#endif
