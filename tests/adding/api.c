// SPDX-License-Identifier: GPL-2.0-or-later
/* Demo: an offload API to begin with (user/offload/api.h). One function; its second argument is its number of bytes. */
#include "offload/api_rows.h"

static const struct offload_row demo_rows[] = {
	CALL("demo_encode", Z, .in = ARG(1)),
};

const struct offload_api offload_demo = {
	.name = "demo",
	.label = "a demonstration of how to add an API",
	.family = "demo",
	.libs = "libdemo.so*",
	ROWS(demo_rows),
};
