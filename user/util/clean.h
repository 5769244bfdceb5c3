/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text from elsewhere, made safe for where it goes. Names of functions, files, threads and objects are
 * whatever a target chose: control codes, broken UTF-8, characters that turn the direction of writing or
 * cannot be seen. No byte of them reaches a terminal or another program but through here.
 * Included by anyone; no domain knowledge.
 */
#ifndef ACCPERF_CLEAN_H
#define ACCPERF_CLEAN_H

#include <stdbool.h>

#include "util/buf.h"

enum clean_form {
	CLEAN_TEXT, /* terminals, lists by line: '?' for what is not shown */
	CLEAN_CSV,  /* a whole field with its quotes; no spreadsheet takes it for a formula */
	CLEAN_XML,  /* text or a quoted attribute */
	CLEAN_DOT,  /* within the quotes of a label */
	CLEAN_JSON, /* within the quotes of a string: \uXXXX for what is not shown, U+FFFD for broken UTF-8 */
};

/* Bytes of the character at s (1 if there is none), and whether it may be shown. Not at a NUL. */
unsigned clean_char(const char *s, bool *shown);
/* In place and as CLEAN_TEXT: one line. */
void clean_line(char *text);
void clean_add(struct buf *b, const char *s, enum clean_form form);

#endif
