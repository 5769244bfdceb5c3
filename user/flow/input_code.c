// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose code it is: the modules and functions of addresses, of stacks' frames, and of the file's own numbers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proc/module.h"
#include "symbol/plainname.h"
#include "symbol/symbols.h"
#include "flow/input_priv.h"
#include "flow/sysname.h"
#include "util/grow.h"

const struct profile_module *raw_module(const struct raw *r, uint32_t id)
{
	uint32_t at = profile_module_of(r->p, id);

	return at ? &r->p->modules[at] : NULL;
}

struct module *raw_open_module(struct raw *r, uint32_t id)
{
	const struct profile_module *m = raw_module(r, id);
	const char *path = m && m->kind == FMT_MOD_FILE ? m->path : NULL;
	bool added;
	uint64_t *at = path && path[0] == '/' ? map_put(&r->opened, id, &added) : NULL;

	if (at && added)
		*at = (uintptr_t)module_open_path(path, m->build_id, m->build_id_len, NULL);
	return at ? (struct module *)(uintptr_t)*at : NULL;
}

void raw_close_modules(struct raw *r)
{
	size_t pos = 0;
	uint64_t key, *value;

	while (map_next(&r->opened, &pos, &key, &value))
		module_close_path((struct module *)(uintptr_t)*value);
	map_release(&r->opened);
	symbols_free(r->symbols);
	r->symbols = NULL;
}

static bool clears_memory(const char *name)
{
	return strstr(name, "memset") || strstr(name, "bzero") || !strcmp(name, "calloc") ||
	       !strcmp(name, "__libc_calloc");
}

static bool is_stub_name(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && !strcmp(name + n - 4, "@plt");
}

uint32_t in_func_add(struct flow_input *in, const char *name, const char *object)
{
	char key[4096];
	const char *text;
	bool added;
	uint32_t id;
	size_t plain, len;

	if (!name || !*name)
		name = FLOW_UNKNOWN;
	if (name[0] == '(')
		object = "";
	plain = plain_name(&name);
	len = (size_t)snprintf(key, sizeof(key), "%.*s%c%.2000s", plain ? (int)plain : 2000, name, 0,
			       base_name(object));
	id = intern_add(&in->func_names, key, len, &added);
	if (!id)
		return FLOW_NONE;
	if (!added)
		return id - 1;
	if (id - 1 != in->func_count || !GROW(in->funcs, in->func_count, in->func_cap, 256))
		return FLOW_NONE;
	text = intern_get(&in->func_names, id, NULL);
	in->funcs[in->func_count++] = (struct in_func){
		.name = text,
		.object = text + strlen(text) + 1,
		.clears = clears_memory(text),
		.stub = is_stub_name(text),
	};
	return id - 1;
}

/* By the file's id, which the profile knows; functions of one name and object are one here. */
uint32_t func_by_record(struct raw *r, uint32_t function)
{
	uint32_t id = profile_function_id(r->p, function), func;
	const struct profile_function *f = &r->p->functions[id];

	if (!id)
		return in_func_add(r->in, FLOW_UNKNOWN, "");
	if (r->in->func_of[id])
		return r->in->func_of[id] - 1;
	func = in_func_add(r->in, f->name, strcmp(f->object, PROFILE_NO_OBJECT) ? f->object : "");
	if (func != FLOW_NONE)
		r->in->func_of[id] = func + 1;
	return func;
}

struct name_of_code {
	char text[512];
};

/* The function itself, whatever is inlined there. */
static void take_code_name(void *ctx, size_t index, const struct symbol_frame *chain, unsigned count,
			   enum symbol_origin origin)
{
	struct name_of_code *n = ctx;
	(void)index;

	if (count && origin != SYM_OFFSET)
		snprintf(n->text, sizeof(n->text), "%s", chain[count - 1].name);
}

/* A recorder names what it met some seconds later: one that was killed, or still runs, has not, nor has what was put
 * together of its profile. */
static bool name_from_file(struct raw *r, uint64_t ip, uint32_t module, struct name_of_code *n)
{
	const struct profile_module *m = raw_module(r, module);
	struct module *file = m->build_id_len ? raw_open_module(r, module) : NULL;

	n->text[0] = 0;
	if (file && !r->symbols)
		r->symbols = symbols_new(true, true);
	return file && r->symbols && !symbols_resolve(r->symbols, file, &ip, 1, take_code_name, n) && n->text[0];
}

/* Code that the file's symbols do not tell of. */
static uint32_t func_by_place(struct raw *r, uint64_t ip, uint32_t module)
{
	const struct profile_module *m = raw_module(r, module);
	struct name_of_code known;
	char name[256];

	if (!m)
		return in_func_add(r->in, FLOW_UNKNOWN, "");
	if (name_from_file(r, ip, module, &known))
		return in_func_add(r->in, known.text, m->object);
	if (m->kind == FMT_MOD_KERNEL)
		return in_func_add(r->in, kernel_name(ip == FMT_KERNEL_OTHER ? -1 : (int)ip, name, sizeof(name)), "");
	snprintf(name, sizeof(name), "%s+0x%llx", m->object, (unsigned long long)(ip & ~0xffull));
	return in_func_add(r->in, name, m->object);
}

uint32_t func_of_code(struct raw *r, uint64_t ip, uint32_t module, uint32_t function)
{
	if (!function)
		function = profile_symbol_of(r->p, module, ip);
	return function ? func_by_record(r, function) : func_by_place(r, ip, module);
}

static bool is_library(const char *path)
{
	const char *so = strstr(base_name(path), ".so");

	return so && (!so[3] || so[3] == '.');
}

void find_main_module(struct raw *r)
{
	const char *exe = store_meta_get(r->in->reader, "exe");
	char first[256];

	snprintf(first, sizeof(first), "%s", r->in->command);
	first[strcspn(first, " ")] = 0;
	for (size_t i = 1; i < r->p->module_count; i++) {
		const struct profile_module *m = &r->p->modules[i];
		const char *path = m->path;

		if (m->kind != FMT_MOD_FILE || !*path)
			continue;
		if ((exe && !strcmp(path, exe)) || (*first && !strcmp(base_name(path), base_name(first)))) {
			r->main_module = m->id;
			return;
		}
		if (!r->main_module && !is_library(path))
			r->main_module = m->id;
	}
}

uint32_t func_of_frame(struct raw *r, uint32_t stack, uint32_t i)
{
	uint32_t frame = r->p->stack_frames[r->p->stacks[stack].first + i], *known = &r->frame_func[frame], function;

	if (!*known) {
		const struct fmt_frame f = raw_frame(r, stack, i);

		function = profile_symbol_of_frame(r->p, frame);
		*known = (function ? func_by_record(r, function) : func_by_place(r, f.addr, f.module)) + 1;
	}
	return *known - 1;
}

uint32_t main_caller(struct raw *r, uint32_t stack)
{
	for (uint32_t i = 0; i < raw_frames(r, stack) && !r->main_func[stack]; i++) {
		const struct fmt_frame f = raw_frame(r, stack, i);

		if (f.module == r->main_module && f.module)
			r->main_func[stack] = func_of_frame(r, stack, i) + 1;
	}
	return r->main_func[stack] - 1;
}

/* On whose behalf a function's own code runs in this stack: a linkage stub is a part of its caller, as in the exact
 * engine, and library code of the main image where that is asked for. */
static uint32_t on_behalf_of(struct raw *r, uint32_t own, bool of_library, uint32_t stack_id)
{
	uint32_t stack = profile_stack_of(r->p, stack_id);
	uint32_t f = of_library ? main_caller(r, stack) : FLOW_NONE;

	if (f != FLOW_NONE)
		return f;
	return r->in->funcs[own].stub && raw_frames(r, stack) >= 2 ? func_of_frame(r, stack, 1) : own;
}

int resolve_code(struct raw *r, uint32_t *site, uint32_t *func, uint32_t stack_id)
{
	struct raw_resolved *known;
	const struct site_key *k;
	struct site_key final;
	bool added, of_library;
	uint32_t id, own, f;

	if (!GROW_ZEROED(r->resolved, (size_t)*site + 1, r->resolved_cap, 256))
		return err_set(r->e, -ENOMEM, "out of memory");
	known = &r->resolved[*site];
	if (known->id) {
		*site = known->id - 1;
		*func = known->func;
		return 0;
	}
	k = intern_get(&r->site_keys, *site + 1, NULL);
	of_library = r->o.main_image && k->module != r->main_module && r->main_module;
	own = func_of_code(r, k->ip, k->module, k->function);
	f = own == FLOW_NONE ? FLOW_NONE : on_behalf_of(r, own, of_library, stack_id);
	if (f == FLOW_NONE)
		return err_set(r->e, -ENOMEM, "out of memory");
	final = (struct site_key){ .ip = k->ip, .module = k->module, .function = f };
	id = intern_add(&r->in->site_keys, &final, sizeof(final), &added);
	if (!id || !GROW(r->in->sites, r->in->site_count, r->in->site_cap, 256))
		return err_set(r->e, -ENOMEM, "out of memory");
	if (added)
		r->in->sites[r->in->site_count++] = (struct in_site){
			.ip = k->ip, .module = k->module, .func = f, .clears = r->in->funcs[own].clears
		};
	if (!of_library && !r->in->funcs[own].stub)
		*known = (struct raw_resolved){ .id = id, .func = f };
	*site = id - 1;
	*func = f;
	return 0;
}
