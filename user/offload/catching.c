// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which processes bear that a return probe replaces a return address: those that hold no code which catches
 * exceptions, or walks stacks in a way of its own. To unwind past the kernel's trampoline ends such a program.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kmod-free/libs.h"
#include "offload/exits.h"
#include "offload/session_internal.h"

enum { CALM = 1, CATCHES = 2 };

/* The C library's own cancellation does not pass our functions; the other libraries of its package are as quiet. */
static bool is_c_library(const char *base)
{
	return !strncmp(base, "libc.so", 7) || !strncmp(base, "libc-", 5) || !strncmp(base, "ld-", 3) ||
	       !strncmp(base, "libpthread", 10) || !strncmp(base, "libm.so", 7) || !strncmp(base, "libresolv", 9);
}

/* Of a library that unwinds. */
static bool unwinds(const char *base)
{
	static const char *const names[] = { "libgcc_s.so", "libstdc++.so", "libc++.so", "libc++abi.so", "libunwind" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

struct catching_looking {
	struct offload_session *s;
	bool catches;
};

static bool any(void *ctx, const char *base, const char *path)
{
	struct catching_looking *l = ctx;

	l->catches |= unwinds(base);
	return !l->catches && !is_c_library(base);
}

static int on_file_to_catch(void *ctx, struct lib_file *f)
{
	struct catching_looking *l = ctx;
	uint64_t key = f->dev * 0x9e3779b97f4a7c15ull + f->ino;
	uint64_t *known = f->waits ? NULL : map_put(&l->s->catching, key, NULL);

	if (!known)
		return l->catches = true; /* no memory, or no answer of its server: nothing is risked */
	if (!*known)
		*known = exits_file_catches(f->fd) ? CATCHES : CALM;
	return l->catches = *known == CATCHES;
}

/* Not mapped yet: what the program itself holds and asks for; what its libraries bring is seen when they are mapped. */
static bool program_catches(const char *exe)
{
	int fd = open(exe, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool catches;

	if (fd < 0)
		return true;
	catches = fstat(fd, &st) || !S_ISREG(st.st_mode) || exits_file_catches(fd);
	close(fd);
	return catches;
}

bool session_bears_returns(struct offload_session *s, int pid, const char *exe)
{
	struct catching_looking l = { .s = s };

	if (s->opts.returns)
		return true;
	if (s->opts.system_wide)
		return false;
	if (exe)
		return !program_catches(exe);
	return libs_mapped(pid, any, on_file_to_catch, &l, NULL) >= 0 && !l.catches;
}
