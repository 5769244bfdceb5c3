// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/demangle.h"
#include "symbol/rust_name.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library's parser recurses; this bounds how deep a made-up name can drive it. */
#define MAX_MANGLED 2048

typedef char *(*cxa_demangle_fn)(const char *, char *, size_t *, int *);

/* Once, before a child that may not open anything is to demangle. */
static cxa_demangle_fn find_demangler(void)
{
	static cxa_demangle_fn fn;
	static bool tried;
	void *lib;

	if (tried)
		return fn;
	tried = true;
	lib = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		lib = dlopen("libc++abi.so.1", RTLD_NOW | RTLD_LOCAL);
	if (lib)
		*(void **)&fn = dlsym(lib, "__cxa_demangle");
	return fn;
}

/* "::h0123456789abcdef" at the end of old Rust names tells a person nothing, and only they have such an end. */
static void plain_old_rust(char *s)
{
	size_t n = strlen(s);

	if (n < 19 || strncmp(s + n - 19, "::h", 3))
		return;
	for (const char *p = s + n - 16; *p; p++)
		if (!isxdigit((unsigned char)*p))
			return;
	s[n - 19] = '\0';
	rust_unescape(s);
}

void demangle_prepare(void)
{
	find_demangler();
}

const char *demangle(const char *name, char *out, size_t size)
{
	cxa_demangle_fn fn;
	char *text;
	int status = 0;

	if (name[0] == '_' && name[1] == 'Z' && strlen(name) <= MAX_MANGLED && (fn = find_demangler()) &&
	    (text = fn(name, NULL, NULL, &status))) {
		snprintf(out, size, "%s", text);
		free(text);
		plain_old_rust(out);
	} else if (strncmp(name, "_R", 2) || strlen(name) > MAX_MANGLED || !rust_name(name, out, size)) {
		snprintf(out, size, "%s", name);
	}
	return out;
}
