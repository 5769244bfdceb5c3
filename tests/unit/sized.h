/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sizes of what is drawn, fitted or stepped. The plain build judges figures, of many; the sanitizers look at each
 * access, take three to ten times as long for it, and see the same code at a part of the size.
 */
#ifndef TESTS_SIZED_H
#define TESTS_SIZED_H

#ifdef __SANITIZE_ADDRESS__
#define SIZED(plain, sanitized) (sanitized)
#else
#define SIZED(plain, sanitized) (plain)
#endif

#endif
