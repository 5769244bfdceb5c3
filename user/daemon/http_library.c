// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/http_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#define LIBRARY "libmicrohttpd.so.12" /* the interface of all versions whose header builds http.c */

const struct http_library *http_library(struct err *e)
{
	static struct http_library calls;
	static bool loaded;
	void *lib;

	if (loaded)
		return &calls;
	lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		err_set(e, -ENOENT, "nothing is served: %s; install libmicrohttpd12, or set http.listen to none",
			dlerror());
		return NULL;
	}
#define CALL(name)                                                                                                     \
	calls.name = (__typeof__(calls.name))dlsym(lib, "MHD_" #name);                                                 \
	if (!calls.name) {                                                                                             \
		err_set(e, -ENOSYS,                                                                                    \
			"nothing is served: " LIBRARY " has no MHD_" #name "; install another version of it");         \
		dlclose(lib);                                                                                          \
		return NULL;                                                                                           \
	}
	HTTP_CALLS(CALL)
#undef CALL
	loaded = true;
	return &calls;
}
