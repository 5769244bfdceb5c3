/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One page on 127.0.0.1, for one visitor: the address holds a secret that serves once and is exchanged for a cookie,
 * so that nobody else on the machine, and no page of another site, gets it. Serves nothing else and never leaves
 * 127.0.0.1. Included by user/cli/open.c.
 */
#ifndef ACCPERF_HTML_LOOPBACK_H
#define ACCPERF_HTML_LOOPBACK_H

#include <stdbool.h>

#include "util/buf.h"
#include "util/err.h"

#define LOOPBACK_SECRET 32 /* hex digits: 128 bits, which nobody guesses in the time that a page is open */

struct loopback {
	struct buf page;                                              /* what is served */
	char token[LOOPBACK_SECRET + 1], cookie[LOOPBACK_SECRET + 1]; /* of the address; what it is exchanged for */
	bool used;                                                    /* the token */
	unsigned port;
	int listening, signals; /* -1: none */
};

/* port 0: any that is free. The page is put there before; to be ended, whatever it returns: 0 or -errno. */
int loopback_begin(struct loopback *s, unsigned port, struct err *e);
/* Until SIGINT, SIGTERM or SIGHUP. */
void loopback_serve(struct loopback *s);
void loopback_end(struct loopback *s);

#endif
