/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Man pages in roff and bash's completion, made of the table of commands. Rendering only. Included by user/cli/help.c.
 */
#ifndef ACCPERF_COMMAND_MANUAL_H
#define ACCPERF_COMMAND_MANUAL_H

#include "util/buf.h"

struct cli_command;

/* The page of a command, and that of accperf itself. */
void manual_command(struct buf *b, const struct cli_command *cmd);
void manual_main(struct buf *b);
/* For pages of other things: title and name, then text with blank lines between paragraphs. part: 1 commands,
 * 5 files. */
void manual_head(struct buf *b, const char *title, int part, const char *name, const char *summary);
void manual_paragraphs(struct buf *b, const char *text);
void manual_completion(struct buf *b);

#endif
