/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives up every right of the calling process, for good. Included by contained_child.c and tests (cli and top). */
#ifndef ACCPERF_SYMBOL_CONFINE_H
#define ACCPERF_SYMBOL_CONFINE_H

/* A sanitizer's run time reads /proc, reserves terabytes and writes to stderr: it is left to. */
#if defined(__SANITIZE_ADDRESS__)
#define CONFINE_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONFINE_SANITIZED
#endif
#endif

/* No capabilities, no new ones, and another user if we are root. 0 or -errno: then nothing hostile may
 * be read. */
int confine_rights(void);
/* No new descriptors, and only system calls that read, seek and write those that are open, manage
 * memory, and end. After confine_rights(). 0 or -errno. */
int confine_calls(void);
/* For commands that only read what files hold: all capabilities, but root's rights on files. */
void confine_to_files(void);

#endif
