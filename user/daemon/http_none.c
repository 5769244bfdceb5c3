// SPDX-License-Identifier: GPL-2.0-or-later
/* Of a build without libmicrohttpd. */
#include "daemon/http.h"

#include <errno.h>
#include <string.h>

#include "daemon/daemon_priv.h"

struct http *http_open(struct daemon *d, struct err *e)
{
	if (strcmp(d->c.listen, "none"))
		err_set(e, -ENOSYS,
			"this build serves nothing: install libmicrohttpd-dev and build again, or set http.listen to none");
	return NULL;
}

int http_renew(struct daemon *d, struct err *e)
{
	return 0;
}

int http_check(const struct daemon_config *c, struct err *e)
{
	struct daemon d = { .c = *c };

	http_open(&d, e);
	return e->code;
}

int http_fd(const struct http *h)
{
	return -1;
}

void http_run(struct http *h)
{
}

void http_wake(struct http *h)
{
}

uint64_t http_wait_ns(const struct http *h)
{
	return UINT64_MAX;
}

void http_close(struct http *h)
{
}
