// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/allocators.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kmod-free/elfsym.h"
#include "kmod-free/libs.h"
#include "offload/exits.h"
#include "util/grow.h"

#define FUNCTIONS_MOST 96     /* of one file */
#define FILES_KNOWN_MOST 4096 /* files that were looked at; by hand */

static const struct allocators_row {
	const char *name;
	enum heap_role role;
	unsigned arg;
} rows[] = {
	{ "malloc", HEAP_ALLOC, 0 },
	{ "valloc", HEAP_ALLOC, 0 },
	{ "pvalloc", HEAP_ALLOC, 0 },
	{ "calloc", HEAP_CALLOC, 0 },
	{ "realloc", HEAP_REALLOC, 1 },
	{ "memalign", HEAP_ALLOC, 1 },
	{ "aligned_alloc", HEAP_ALLOC, 1 },
	{ "posix_memalign", HEAP_POSIX, 2 },
	{ "free", HEAP_FREE, 0 },
	{ "cfree", HEAP_FREE, 0 },
	{ "free_sized", HEAP_FREE, 0 },
	/* jemalloc */
	{ "mallocx", HEAP_ALLOC, 0 },
	{ "rallocx", HEAP_REALLOC, 1 },
	{ "dallocx", HEAP_FREE, 0 },
	{ "sdallocx", HEAP_FREE, 0 },
	/* mimalloc */
	{ "malloc_aligned", HEAP_ALLOC, 0 },
	{ "zalloc", HEAP_ALLOC, 0 },
	{ "free_size", HEAP_FREE, 0 },
};

/* C++, in the file of an allocator only. */
static const struct allocators_row operators[] = {
	{ "_Znwm", HEAP_ALLOC, 0 },
	{ "_Znam", HEAP_ALLOC, 0 },
	{ "_ZnwmRKSt9nothrow_t", HEAP_ALLOC, 0 },
	{ "_ZnamRKSt9nothrow_t", HEAP_ALLOC, 0 },
	{ "_ZnwmSt11align_val_t", HEAP_ALLOC, 0 },
	{ "_ZnamSt11align_val_t", HEAP_ALLOC, 0 },
	{ "_ZdlPv", HEAP_FREE, 0 },
	{ "_ZdaPv", HEAP_FREE, 0 },
	{ "_ZdlPvm", HEAP_FREE, 0 },
	{ "_ZdaPvm", HEAP_FREE, 0 },
	{ "_ZdlPvSt11align_val_t", HEAP_FREE, 0 },
	{ "_ZdlPvmSt11align_val_t", HEAP_FREE, 0 },
};

static const char *const prefixes[] = { "", "je_", "tc_", "mi_", "rp", "snmalloc_", "__libc_" };

#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define OPERATORS (sizeof(operators) / sizeof(operators[0]))
#define PREFIXES (sizeof(prefixes) / sizeof(prefixes[0]))

int allocator_own_parse(const char *text, struct allocator_own *out, struct err *e)
{
	size_t n = strcspn(text, "(");
	unsigned arg = 0;
	char end = 0;

	*out = (struct allocator_own){ 0 };
	if (!n || n >= sizeof(out->name) ||
	    (text[n] && (sscanf(text + n, "(arg%1u%c", &arg, &end) != 2 || end != ')' || strlen(text + n) != 6)) ||
	    arg > 5)
		return err_set(e, -EINVAL,
			       "--heap-probe wants a function, and where its bytes are unless in the first argument: "
			       "pool_get or 'pool_get(arg1)', with arg0 to arg5");
	memcpy(out->name, text, n);
	out->arg = arg;
	return 0;
}

/* ---- one file ---- */

struct found_function {
	uint64_t offset, cookie;
	bool is_operator, is_own;
	unsigned prefix; /* bits: of those that it was met with */
};

struct allocators_found {
	struct allocator_own *own;
	unsigned own_cnt;
	struct found_function of[FUNCTIONS_MOST];
	unsigned cnt;
	unsigned allocates, frees; /* by prefix, bits */
};

static void add_allocator(struct allocators_found *f, const struct found_function *one)
{
	for (unsigned i = 0; i < f->cnt; i++)
		if (f->of[i].offset == one->offset) { /* aliases */
			f->of[i].prefix |= one->prefix;
			return;
		}
	if (f->cnt < FUNCTIONS_MOST)
		f->of[f->cnt++] = *one;
}

static void add_prefixed(struct allocators_found *f, const struct elfsym *s, unsigned prefix)
{
	size_t n = strlen(prefixes[prefix]);
	unsigned bit = 1u << prefix;

	for (size_t i = 0; i < ROWS && !strncmp(s->name, prefixes[prefix], n); i++) {
		if (strcmp(s->name + n, rows[i].name) != 0)
			continue;
		add_allocator(f, &(struct found_function){ .offset = s->offset,
							   .cookie = HEAP_COOKIE(rows[i].role, rows[i].arg),
							   .prefix = bit });
		f->allocates |= i == 0 ? bit : 0;
		f->frees |= rows[i].role == HEAP_FREE ? bit : 0;
	}
}

static int on_function(void *ctx, const struct elfsym *s)
{
	struct allocators_found *f = ctx;

	for (unsigned i = 0; i < f->own_cnt; i++)
		if (!strcmp(s->name, f->own[i].name)) {
			f->own[i].found = true;
			add_allocator(f, &(struct found_function){ .offset = s->offset,
								   .cookie = HEAP_COOKIE(HEAP_ALLOC, f->own[i].arg),
								   .is_own = true });
			return 0;
		}
	for (size_t i = 0; s->name[0] == '_' && i < OPERATORS; i++)
		if (!strcmp(s->name, operators[i].name))
			add_allocator(f, &(struct found_function){
						 .offset = s->offset,
						 .cookie = HEAP_COOKIE(operators[i].role, operators[i].arg),
						 .is_operator = true });
	for (unsigned k = 0; k < PREFIXES; k++)
		add_prefixed(f, s, k);
	return 0;
}

static unsigned put(struct heap_place *places, unsigned cnt, unsigned most, uint64_t offset, uint64_t cookie)
{
	if (cnt < most)
		places[cnt] = (struct heap_place){ offset, cookie };
	return cnt < most ? cnt + 1 : cnt;
}

/* Functions that hand calls on to the same one share its exits. */
static bool has_exit(const struct heap_place *places, unsigned cnt, uint64_t offset)
{
	for (unsigned i = 0; i < cnt; i++)
		if (!places[i].cookie && places[i].offset == offset)
			return true;
	return false;
}

/* Places to be probed; their number. */
static unsigned allocators_in_file(int fd, struct allocator_own *own, unsigned own_cnt, struct heap_place *places,
				   unsigned most, unsigned *without_exits)
{
	struct allocators_found f = { .own = own, .own_cnt = own_cnt };
	struct exits_file *file = NULL;
	unsigned cnt = 0, both;

	elfsym_walk(fd, on_function, &f, NULL, NULL);
	/* what has a malloc() and no free() is no allocator, but something of that name */
	both = f.allocates & f.frees;
	for (unsigned i = 0; i < f.cnt; i++) {
		struct exits exits;

		if (!f.of[i].is_own && !(f.of[i].is_operator ? both : f.of[i].prefix & both))
			continue;
		if (HEAP_COOKIE_ROLE(f.of[i].cookie) == HEAP_FREE) {
			cnt = put(places, cnt, most, f.of[i].offset, f.of[i].cookie);
			continue;
		}
		if (!file && !(file = exits_open(fd, NULL)))
			break;
		/* calloc() ends by clearing what it got, in glibc by a jump to another file */
		if (HEAP_COOKIE_ROLE(f.of[i].cookie) == HEAP_CALLOC)
			exits_find_handed(file, f.of[i].offset, &exits);
		else
			exits_find(file, f.of[i].offset, &exits);
		*without_exits += !exits.cnt;
		/* one whose end is not seen tells nothing */
		if (!exits.cnt || cnt + 1 + exits.cnt + exits.handed_cnt > most)
			continue;
		cnt = put(places, cnt, most, f.of[i].offset, f.of[i].cookie);
		for (unsigned k = 0; k < exits.cnt; k++)
			if (!has_exit(places, cnt, exits.at[k]))
				cnt = put(places, cnt, most, exits.at[k], 0);
		for (unsigned k = 0; k < exits.handed_cnt; k++)
			cnt = put(places, cnt, most, exits.handed[k], HEAP_COOKIE(HEAP_HANDED, 0));
	}
	exits_close(file);
	return cnt;
}

/* ---- the files of processes ---- */

struct known_file {
	uint64_t dev, ino;
	int number; /* -1: it has none */
};

struct allocators {
	struct heap_probes *h;
	struct allocator_own *own;
	unsigned own_cnt;
	struct known_file *file;
	size_t count, cap;
	unsigned without_exits, without_room;
	int *out; /* of this look */
	unsigned out_cnt, out_most;
};

struct allocators *allocators_new(struct heap_probes *h, struct allocator_own *own, unsigned own_cnt)
{
	struct allocators *a = calloc(1, sizeof(*a));

	if (a)
		*a = (struct allocators){ .h = h, .own = own, .own_cnt = own_cnt };
	return a;
}

void allocators_free(struct allocators *a)
{
	if (a)
		free(a->file);
	free(a);
}

static bool want_any(void *ctx, const char *base, const char *path)
{
	return true;
}

static struct known_file *new_file(struct allocators *a, const struct lib_file *f)
{
	struct heap_place places[HEAP_PLACES_MOST];
	struct known_file *k;
	unsigned n;

	/* containers bring files without end: what is known begins anew */
	if (a->count >= FILES_KNOWN_MOST) {
		for (size_t i = 0; i < a->count; i++)
			if (a->file[i].number >= 0)
				heap_probes_file_end(a->h, a->file[i].number);
		a->count = 0;
	}
	if (!GROW(a->file, a->count, a->cap, 64))
		return NULL;
	k = &a->file[a->count++];
	*k = (struct known_file){ .dev = f->dev, .ino = f->ino, .number = -1 };
	n = allocators_in_file(f->fd, a->own, a->own_cnt, places, HEAP_PLACES_MOST, &a->without_exits);
	if (n)
		k->number = heap_probes_file(a->h, f->fd, places, n);
	a->without_room += n && k->number < 0;
	return k;
}

static int on_file(void *ctx, struct lib_file *f)
{
	struct allocators *a = ctx;
	struct known_file *k = NULL;

	if (f->waits)
		return 0;
	for (size_t i = 0; i < a->count && !k; i++)
		if (a->file[i].ino == f->ino && a->file[i].dev == f->dev)
			k = &a->file[i];
	k = k ? k : new_file(a, f);
	if (k && k->number >= 0 && a->out_cnt < a->out_most)
		a->out[a->out_cnt++] = k->number;
	return 0;
}

int allocators_of(struct allocators *a, pid_t pid, int *files, unsigned most)
{
	struct err e = { 0 };
	int err;

	a->out = files;
	a->out_most = most;
	a->out_cnt = 0;
	err = libs_mapped(pid, want_any, on_file, a, &e);
	return err < 0 ? err : (int)a->out_cnt;
}

unsigned allocators_without_exits(const struct allocators *a)
{
	return a->without_exits;
}

unsigned allocators_without_room(const struct allocators *a)
{
	return a->without_room;
}
