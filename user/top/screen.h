/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal of `accperf top`, by ncurses. It is left as it was found, whatever ends the program but SIGKILL.
 * Included by top/top.c.
 */
#ifndef ACCPERF_TOP_SCREEN_H
#define ACCPERF_TOP_SCREEN_H

#include "util/err.h"
#include "view/top.h"

/* -ENOTTY: standard input and output are no terminal, or one that cannot be drawn on. */
int top_screen_open(struct err *e);
void top_screen_close(void);
void top_screen_size(unsigned *width, unsigned *height);
void top_screen_show(const struct top_lines *l);
/* A character, or enum top_key; -1: none waits. */
int top_screen_key(void);

#endif
