// SPDX-License-Identifier: GPL-2.0-or-later
#include "attr/attr.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "proc/container.h"
#include "proc/jitmap.h"
#include "attr/naming.h"
#include "counters.h"
#include "util/clock.h"
#include "util/map.h"
#include "util/openfile.h"
#include "util/target_memory.h"

#define MAX_FRAMES 1024            /* of one stack; deeper ones are cut, and marked; by hand */
#define DEFAULT_FRAMES 256         /* of one stack, unless asked otherwise; by hand */
#define DEFAULT_STACKS 1000000     /* distinct ones; by hand */
#define LAST_ANSWERS_MS 2000       /* of file servers, which keep a recording from its end */
#define HEAP_LOOK_NS 1000000000ull /* from the first look at a heap to the second; then twice as long each; by hand */
#define JIT_RETRY_NS 1000000000ull /* before a process is asked again for its map of generated code; by hand */

/* The perf map of one process, kept open from its first frame in unnamed code on. */
struct jit_state {
	uint32_t pid;
	struct jitmap *map;
	uint64_t tried;
};

struct attr {
	struct store_writer *w; /* borrowed */
	struct attr_options o;
	struct modules *modules;
	struct procmaps *maps;
	struct unwinder *unwinder;
	struct naming *naming;
	struct map stacks; /* hash of frames -> id: 64 bits tell a million apart but for 1 in 10^7 */
	uint32_t stack_count;
	struct map jits; /* pid -> struct jit_state * */
	struct pods pods;
	struct place last_leaf; /* of the last sample's user code */
	uint64_t last_end;
	unsigned last_first; /* frames before those of the last walk */
	unsigned last_count; /* with them */
	bool last_walked;
	struct {
		uint64_t no_registers, no_stack_bytes, stacks_full, unmapped, events, store_errors;
		uint64_t jit_refused, nameless_code;
	} n;
	struct fmt_stack head; /* followed by: */
	struct fmt_frame frames[MAX_FRAMES];
};
_Static_assert(offsetof(struct attr, frames) == offsetof(struct attr, head) + sizeof(struct fmt_stack),
	       "a stack record is written from both in one piece");

struct attr *attr_new(struct store_writer *w, const struct attr_options *options, struct err *e)
{
	struct attr *a = calloc(1, sizeof(*a));

	if (!a)
		goto fail;
	a->w = w;
	if (options)
		a->o = *options;
	if (!a->o.max_frames)
		a->o.max_frames = DEFAULT_FRAMES;
	if (a->o.max_frames > MAX_FRAMES - 1)
		a->o.max_frames = MAX_FRAMES - 1; /* and one for the kernel */
	if (!a->o.max_stacks)
		a->o.max_stacks = DEFAULT_STACKS;
	a->modules = modules_new();
	a->maps = a->modules ? procmaps_new(a->modules) : NULL;
	if (a->maps && a->o.offline)
		procmaps_offline(a->maps);
	a->unwinder = a->maps ? unwinder_new(a->maps) : NULL;
	a->naming = a->unwinder ? naming_new(w, !a->o.no_cache, !a->o.no_debug_info) : NULL;
	if (a->naming)
		return a;
fail:
	attr_free(a);
	err_set(e, -ENOMEM, "out of memory");
	return NULL;
}

void attr_free(struct attr *a)
{
	uint64_t key, *value;
	size_t pos = 0;

	if (!a)
		return;
	while (map_next(&a->jits, &pos, &key, &value)) {
		struct jit_state *j = (struct jit_state *)(uintptr_t)*value;

		jitmap_free(j->map);
		free(j);
	}
	map_release(&a->jits);
	pods_release(&a->pods);
	map_release(&a->stacks);
	naming_free(a->naming);
	unwinder_free(a->unwinder);
	procmaps_free(a->maps);
	modules_free(a->modules);
	free(a);
}

struct modules *attr_modules(struct attr *a)
{
	return a->modules;
}

struct procmaps *attr_procmaps(struct attr *a)
{
	return a->maps;
}

/* ---- records ---- */

static void put_record(struct attr *a, enum fmt_section section, const void *rec, uint32_t size)
{
	if (store_put(a->w, section, rec, size))
		a->n.store_errors++;
}

/* Before any record that names it. Modules that none names are not told: they may be of processes that
 * nobody asked about. */
static void write_module(struct attr *a, uint32_t id)
{
	struct module *m = modules_get(a->modules, id);
	struct fmt_module rec;

	if (!m || m->written)
		return;
	rec = (struct fmt_module){
		.id = id,
		.kind = m->kind,
		.path = store_string(a->w, m->path),
		.pid = m->kind == FMT_MOD_JIT || m->kind == FMT_MOD_ANON ? m->pid : 0,
		.build_id_len = m->build_id_len,
		.content = module_content(m),
	};
	memcpy(rec.build_id, m->build_id, sizeof(rec.build_id));
	put_record(a, FMT_MODULE, &rec, sizeof(rec));
	m->written = true;
}

static void put_mapping(struct attr *a, uint32_t pid, const struct mapping *m, const char *name, uint64_t time)
{
	struct fmt_mapping rec = {
		.time = time,
		.start = m->start,
		.end = m->end,
		.pgoff = m->pgoff,
		.pid = pid,
		.module = m->module,
		.prot = m->prot,
		.name = store_string(a->w, name),
	};

	write_module(a, rec.module);
	put_record(a, FMT_MAPPING, &rec, sizeof(rec));
}

static void write_mapping(struct attr *a, const struct process *p, const struct mapping *m, uint64_t time)
{
	put_mapping(a, p->pid, m, procmaps_name(a->maps, m->name), time);
}

/* Arguments are often secrets (passwords, tokens): without being asked for none is stored. A process may
 * also have written a title of one piece over all of them: what looks like an option ends it. */
static size_t keep_first(char *text, size_t n)
{
	char *option;

	n = strnlen(text, n);
	option = memmem(text, n, " -", 2);
	return option ? (size_t)(option - text) : n;
}

static uint32_t read_cmdline(struct attr *a, uint32_t pid)
{
	char path[48], text[1024];
	ssize_t n;
	int fd;

	/* the kernel reads it from memory that no file is mapped to, so no file server can be asked for it */
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n > 0 && !a->o.cmdline)
		n = (ssize_t)keep_first(text, (size_t)n);
	while (n > 0 && !text[n - 1])
		n--;
	if (n <= 0)
		return 0;
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = ' ';
	text[n] = '\0';
	return store_string(a->w, text);
}

/* Unit, container and pod. */
static void write_place(struct attr *a, uint32_t pid)
{
	struct fmt_place rec = { .pid = pid };
	char path[48], text[4096];
	struct container in;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	container_of_groups(text, &in);
	if (*in.pod_uid)
		snprintf(in.pod, sizeof(in.pod), "%s", pods_find(&a->pods, POD_LOGS, in.pod_uid, clock_now()));
	rec.unit = store_string(a->w, *in.unit ? in.unit : NULL);
	rec.container = store_string(a->w, *in.id ? in.id : NULL);
	rec.pod = store_string(a->w, *in.pod ? in.pod : *in.pod_uid ? in.pod_uid : NULL);
	if (rec.unit || rec.container || rec.pod)
		put_record(a, FMT_PLACE, &rec, sizeof(rec));
}

static void write_process(struct attr *a, const struct process *p)
{
	struct fmt_process rec = {
		.pid = p->pid,
		.ppid = p->ppid,
		.start = p->start,
		.end = p->end,
		.comm = store_string(a->w, p->comm[0] ? p->comm : NULL),
		.cmdline = p->end || a->o.offline ? 0 : read_cmdline(a, p->pid),
	};

	put_record(a, FMT_PROCESS, &rec, sizeof(rec));
	if (!p->end && !a->o.offline)
		write_place(a, p->pid);
}

/* A process costs bytes in the file only once something was seen of it. */
static struct process *process_seen(struct attr *a, uint32_t pid, uint64_t time)
{
	struct process *p = procmap_process_make(a->maps, pid, time);

	if (!p)
		return NULL;
	if (!p->written) {
		p->written = true;
		p->maps_dirty = true;
		write_process(a, p);
	}
	if (p->maps_dirty) {
		p->maps_dirty = false;
		for (unsigned i = 0; i < procmap_count(p); i++)
			write_mapping(a, p, procmap_at(p, i), p->start);
	}
	return p;
}

/* It comes after the program has begun, and grows. */
static void look_at_heap(struct attr *a, struct process *p, uint64_t now)
{
	struct mapping m = { .prot = MAP_READ | MAP_WRITE };

	if (!p->written || p->end || a->o.offline)
		return;
	p->heap_wait = p->heap_wait ? 2 * p->heap_wait : HEAP_LOOK_NS;
	p->heap_look = now + p->heap_wait;
	if (!procmap_heap(p->pid, &m.start, &m.end) || m.end == p->heap_end)
		return;
	p->heap_end = m.end;
	put_mapping(a, p->pid, &m, "[heap]", now);
}

/* Another program has another heap, another profile lacks the one that was told. */
static void forget_heap(struct process *p)
{
	p->heap_end = p->heap_look = p->heap_wait = 0;
}

int attr_attach(struct attr *a, uint32_t pid, struct err *e)
{
	int err = procmap_load(a->maps, pid, e);

	procmap_known_only(a->maps);
	if (!err)
		process_seen(a, pid, 0);
	return err;
}

/* ---- code that no file holds ---- */

static struct jit_state *jit_of(struct attr *a, uint32_t pid, uint64_t now)
{
	uint64_t *slot = map_put(&a->jits, pid, NULL);
	struct jit_state *j;

	if (!slot)
		return NULL;
	j = (struct jit_state *)(uintptr_t)*slot;
	if (!j) {
		j = calloc(1, sizeof(*j));
		if (!j)
			return NULL;
		j->pid = pid;
		*slot = (uint64_t)(uintptr_t)j;
	} else if (j->map || now - j->tried < JIT_RETRY_NS) {
		return j;
	}
	j->tried = now;
	j->map = a->o.offline ? NULL : jitmap_load(pid, NULL);
	return j;
}

/* ANON becomes JIT where a perf map names it. */
static uint32_t anon_module(struct attr *a, uint32_t pid, uint32_t module, uint64_t now)
{
	const struct module *m = modules_get(a->modules, module);
	struct jit_state *j;

	if (!m || m->kind != FMT_MOD_ANON)
		return module;
	j = jit_of(a, pid, now);
	if (!j || !j->map)
		return module;
	m = modules_anon(a->modules, pid, true);
	return m ? m->id : module;
}

static bool is_nameless(const struct attr *a, uint32_t module)
{
	const struct module *m = modules_get(a->modules, module);

	return m && m->kind == FMT_MOD_ANON;
}

uint64_t attr_nameless_code(const struct attr *a)
{
	return a->n.nameless_code;
}

/* Names what the process's perf map says and lets go of it: pids come back. */
static void jit_finish(struct attr *a, uint32_t pid)
{
	uint64_t *slot = map_get(&a->jits, pid);
	struct jit_state *j;
	struct module *m;

	if (!slot) {
		modules_anon_forget(a->modules, pid);
		return;
	}
	j = (struct jit_state *)(uintptr_t)*slot;
	if (j->map) {
		jitmap_update(j->map, true);
		a->n.jit_refused += jitmap_rejected(j->map);
	}
	for (int jit = 0; jit < 2; jit++) { /* frames seen before the map appeared are in the other */
		m = modules_anon_find(a->modules, pid, jit);
		if (m)
			naming_jit(a->naming, m, j->map);
	}
	modules_anon_forget(a->modules, pid);
	jitmap_free(j->map);
	free(j);
	map_del(&a->jits, pid);
}

static void process_gone(void *ctx, struct process *p)
{
	struct attr *a = ctx;

	jit_finish(a, p->pid);
	if (p->written)
		write_process(a, p);
}

/* ---- events ---- */

int attr_event(struct attr *a, const struct sample *s)
{
	struct process *p;
	int err;

	a->n.events++;
	if (procmap_full(a->maps))
		procmap_make_room(a->maps, process_gone, a);
	if (s->kind == SAMPLE_FORK && s->pid != s->ppid) {
		p = procmap_process(a->maps, s->pid);
		if (p && p->end)
			process_gone(a, p); /* its pid is another's from now on */
	}
	err = procmap_event(a->maps, s);
	p = procmap_process(a->maps, s->pid);
	if (!p || !p->written || err)
		return err;
	if (s->kind == SAMPLE_MMAP) {
		struct place place;

		if (procmap_lookup_quiet(a->maps, s->pid, s->addr, &place))
			write_mapping(a, p, &place.map, s->time);
	} else if (s->kind == SAMPLE_COMM) {
		if (s->flags & SF_EXEC) {
			jit_finish(a, s->pid);
			forget_heap(p);
		}
		if (s->tid == s->pid)
			write_process(a, p);
	} else if (s->kind == SAMPLE_EXIT && s->tid == s->pid) {
		uint64_t *slot = map_get(&a->jits, s->pid);

		if (slot && ((struct jit_state *)(uintptr_t)*slot)->map)
			jitmap_update(((struct jit_state *)(uintptr_t)*slot)->map, false);
	}
	return 0;
}

/* What a file server has given since then. */
static void look_at_answers(struct attr *a)
{
	if (modules_look(a->modules))
		unwind_forget(a->unwinder);
}

void attr_tick(struct attr *a, uint64_t now)
{
	struct process *p;
	uint64_t key, *value;
	size_t pos = 0;

	while (map_next(&a->jits, &pos, &key, &value))
		if (((struct jit_state *)(uintptr_t)*value)->map)
			jitmap_update(((struct jit_state *)(uintptr_t)*value)->map, false);
	procmap_sweep(a->maps, now, process_gone, a);
	pos = 0;
	while (procmap_next(a->maps, &pos, &p))
		if (now >= p->heap_look)
			look_at_heap(a, p, now);
	look_at_answers(a);
}

/* ---- samples ---- */

static unsigned kernel_frame(struct attr *a, const struct sample *s)
{
	const struct module *m;

	if (!(s->flags & SF_KERNEL))
		return 0;
	m = modules_kernel(a->modules);
	if (!m)
		return 0;
	a->frames[0] = (struct fmt_frame){ .addr = FMT_KERNEL_OTHER, .module = m->id };
	if ((s->valid & SV_SYSCALL) && s->syscall >= 0)
		a->frames[0].addr = (uint32_t)s->syscall;
	return 1;
}

static uint32_t stack_intern(struct attr *a, unsigned count, uint32_t flags)
{
	bool added;
	uint64_t *slot;

	a->head = (struct fmt_stack){ .count = (uint16_t)count, .flags = (uint16_t)flags };
	slot = map_put(&a->stacks, XXH3_64bits(&a->head, sizeof(a->head) + count * sizeof(*a->frames)), &added);
	if (!slot)
		return 0;
	if (!added)
		return (uint32_t)*slot;
	*slot = ++a->stack_count;
	a->head.id = a->stack_count;
	for (unsigned i = 0; i < count; i++) {
		write_module(a, a->frames[i].module);
		naming_want(a->naming, a->frames[i].module, a->frames[i].addr);
	}
	if (store_put_var(a->w, FMT_STACK, &a->head, sizeof(a->head), a->frames, count * (uint32_t)sizeof(*a->frames)))
		a->n.store_errors++;
	return a->stack_count;
}

/* The user's part of a call chain that the kernel collected: the leaf, then return addresses. */
static unsigned chain_frames(struct attr *a, const struct sample *s, unsigned n, uint32_t *flags)
{
	unsigned first = n, i = 0;
	bool user = !(s->flags & SF_KERNEL);

	for (; i < s->chain_len && n < a->o.max_frames; i++) {
		struct place place;
		uint64_t ip;

		memcpy(&ip, &s->chain[i], sizeof(ip)); /* in a record: need not be aligned */
		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			user = ip == (uint64_t)PERF_CONTEXT_USER;
			continue;
		}
		if (!user || !ip)
			continue;
		ip -= n > first;
		procmap_lookup(a->maps, s->pid, ip, &place);
		if (n == first)
			a->last_leaf = place;
		a->frames[n] = (struct fmt_frame){ .addr = place.module ? place.vaddr : ip,
						   .module = place.module ? place.module->id : 0,
						   .flags = n > first ? FMT_FRAME_RETURN : 0 };
		n++;
	}
	/* otherwise nothing tells whether the kernel's walk reached the first frame */
	*flags = i < s->chain_len || s->chain_len >= PERF_MAX_STACK_DEPTH ? FMT_STACK_CUT : 0;
	return n - first;
}

static unsigned leaf_frame(struct attr *a, const struct sample *s, unsigned n)
{
	const struct place *p = &a->last_leaf;

	procmap_lookup(a->maps, s->pid, s->ip, &a->last_leaf);
	a->frames[n] = (struct fmt_frame){ .addr = p->vaddr, .module = p->module ? p->module->id : 0 };
	return 1;
}

uint32_t attr_stack(struct attr *a, const struct sample *s)
{
	/* less of a stack is copied where a thread waits: what that cuts is not the samples' */
	enum unwind_of of = s->kind == SAMPLE_OFF ? UNWIND_OF_WAITS : UNWIND_OF_SAMPLES;
	unsigned n = kernel_frame(a, s), first = n;
	uint32_t flags = FMT_STACK_BROKEN;

	a->last_end = 0;
	a->last_leaf = (struct place){ 0 };
	a->last_walked = false;
	if (!process_seen(a, s->pid, s->time))
		return 0;
	if (s->chain_len && !(s->valid & SV_STACK)) {
		n += chain_frames(a, s, n, &flags);
		if (n == first && !first && (s->valid & SV_IP))
			n += leaf_frame(a, s, n);
	} else if (s->valid & SV_REGS) {
		struct stack_copy stack = { s->stack, s->valid & SV_STACK ? s->stack_bytes : 0, s->stack_absent };

		unwind_count_as(a->unwinder, of);
		if (!stack.len && of == UNWIND_OF_SAMPLES)
			a->n.no_stack_bytes++;
		n += (unsigned)unwind(a->unwinder, s->pid, s->regs, stack, a->frames + n, a->o.max_frames, &flags);
		a->last_leaf = *unwind_leaf(a->unwinder);
		a->last_end = unwind_stack_end(a->unwinder);
		a->last_first = first;
		a->last_walked = true;
	} else if ((s->valid & SV_IP) && !(s->flags & SF_KERNEL)) {
		a->n.no_registers++;
		n += leaf_frame(a, s, n);
	} else if (!n) {
		a->n.no_registers++;
		return 0;
	}
	/* the maps may just have been read again */
	process_seen(a, s->pid, s->time);
	for (unsigned i = first; i < n; i++) {
		a->frames[i].module = anon_module(a, s->pid, a->frames[i].module, s->time);
		a->n.unmapped += !a->frames[i].module;
	}
	if (first < n)
		a->n.nameless_code += is_nameless(a, a->frames[first].module);
	a->last_count = n;
	if (first && n == 2 && !a->frames[1].module) /* execve: the user's code is gone already */
		n = 1;
	if (a->stack_count >= a->o.max_stacks && n > 1) {
		a->n.stacks_full++;
		n = 1;
		flags = FMT_STACK_CUT;
	}
	return stack_intern(a, n, flags);
}

const struct place *attr_leaf(const struct attr *a)
{
	return a->last_leaf.module ? &a->last_leaf : NULL;
}

unsigned attr_walked(const struct attr *a, const struct fmt_frame **frames)
{
	if (!a->last_walked || a->last_count <= a->last_first)
		return 0;
	*frames = a->frames + a->last_first;
	return a->last_count - a->last_first;
}

uint32_t attr_frames(struct attr *a, uint32_t pid, uint64_t time, const uint64_t *ips, unsigned count)
{
	struct place place;
	unsigned n = 0;

	if (!process_seen(a, pid, time))
		return 0;
	for (; n < count && n < a->o.max_frames; n++) {
		procmap_lookup(a->maps, pid, ips[n], &place);
		a->frames[n] = (struct fmt_frame){ .addr = place.module ? place.vaddr : ips[n],
						   .module = place.module ? place.module->id : 0 };
		a->frames[n].module = anon_module(a, pid, a->frames[n].module, time);
	}
	return stack_intern(a, n, FMT_STACK_CUT);
}

uint32_t attr_frame_of(const struct attr *a, uint64_t addr, int32_t *offset)
{
	int64_t at;
	int frame = a->last_walked ? unwind_frame_of(a->unwinder, addr, &at) : -1;

	if (frame < 0 || at < INT32_MIN)
		return 0;
	*offset = (int32_t)at;
	return a->last_first + (unsigned)frame + 1;
}

uint64_t attr_stack_end(const struct attr *a)
{
	return a->last_end;
}

uint32_t attr_module(struct attr *a, uint32_t pid, const struct module *m)
{
	uint32_t id = anon_module(a, pid, m->id, 0);

	process_seen(a, pid, 0);
	write_module(a, id);
	return id;
}

bool attr_place(struct attr *a, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr)
{
	struct place place;

	*module = 0;
	*addr = 0;
	if (!procmap_lookup(a->maps, pid, ip, &place) || !place.module)
		return false;
	*module = attr_module(a, pid, place.module);
	*addr = place.vaddr;
	return true;
}

bool attr_code(struct attr *a, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr)
{
	if (!attr_place(a, pid, ip, module, addr))
		return false;
	naming_want(a->naming, *module, *addr);
	return true;
}

void attr_name(struct attr *a, uint32_t module, uint64_t addr)
{
	write_module(a, module);
	naming_want(a->naming, module, addr);
}

/* ---- the end ---- */

/* What was seen of code that its process still runs. last: of this profile; the same process may name more of it in
 * the next, by when what was written over is forgotten. */
static void name_jits(struct attr *a, bool last)
{
	uint64_t key, *value;
	size_t pos = 0;

	while (map_next(&a->jits, &pos, &key, &value)) {
		struct jit_state *j = (struct jit_state *)(uintptr_t)*value;

		if (j->map)
			jitmap_update(j->map, false);
		for (int jit = 0; jit < 2; jit++) {
			struct module *m = modules_anon_find(a->modules, (uint32_t)key, jit);

			if (m && last)
				naming_jit(a->naming, m, j->map);
			else if (m && j->map)
				naming_jit_known(a->naming, m, j->map);
		}
		if (last && j->map)
			jitmap_prune(j->map);
	}
}

/* ---- from one profile to the next ----
 *
 * What begins anew: stacks, strings, names, functions. What goes on is what lives: processes (at most 65,536, and those
 * whose end was not told are looked for), their mappings (bounded by procmap.c), modules that a process maps, and what
 * perf maps say of code that is still there. Caches by module (the unwinder's rows) are emptied, as ids of modules
 * come back. */

static bool id_is_mapped(void *mapped, uint32_t id)
{
	return map_get(mapped, id);
}

static bool list_mapped(struct attr *a, struct map *mapped)
{
	struct process *p;
	size_t pos = 0;
	uint32_t last = 0;

	while (procmap_next(a->maps, &pos, &p))
		for (unsigned i = 0; i < procmap_count(p); i++) {
			uint32_t id = procmap_at(p, i)->module;

			if (id && id != last && !map_put(mapped, id, NULL))
				return false;
			last = id;
		}
	return true;
}

static void retire_modules(struct attr *a)
{
	struct map mapped = { 0 };

	if (list_mapped(a, &mapped))
		modules_retire(a->modules, id_is_mapped, &mapped);
	map_release(&mapped);
	for (uint32_t id = 1; id <= modules_count(a->modules); id++) {
		struct module *m = modules_get(a->modules, id);

		if (m)
			m->written = false;
	}
	unwind_forget(a->unwinder);
}

struct naming *attr_next(struct attr *a, struct store_writer *next)
{
	struct naming *fresh = naming_new(next, !a->o.no_cache, !a->o.no_debug_info), *old = a->naming;
	struct process *p;
	size_t pos = 0;

	if (!fresh)
		return NULL;
	name_jits(a, true);
	while (procmap_next(a->maps, &pos, &p)) {
		if (p->written && p->end)
			write_process(a, p);
		p->written = false; /* told anew where it is seen again, with its mappings */
		forget_heap(p);
	}
	a->w = next;
	a->naming = fresh;
	map_release(&a->stacks);
	a->stack_count = 0;
	procmap_next_profile(a->maps);
	retire_modules(a);
	return old;
}

int attr_name_more(struct attr *a, bool (*enough)(void *ctx), void *ctx)
{
	name_jits(a, false);
	return naming_files(a->naming, a->modules, enough, ctx);
}

int attr_name_all(struct attr *a, struct naming *old, struct err *e)
{
	int err = naming_all(old, a->modules, e);

	modules_drop_retired(a->modules);
	return err;
}

bool attr_module_lives(const struct attr *a, uint32_t module)
{
	const struct module *m = modules_get(a->modules, module);

	return m && !module_retired(m);
}

int attr_finish(struct attr *a, struct err *e)
{
	struct process *p;
	uint64_t key, *value;
	size_t pos = 0;
	int err;

	for (;;) { /* jit_finish() deletes from the map that is walked */
		pos = 0;
		if (!map_next(&a->jits, &pos, &key, &value))
			break;
		jit_finish(a, (uint32_t)key);
	}
	openfile_await(LAST_ANSWERS_MS);
	look_at_answers(a);
	err = naming_all(a->naming, a->modules, e);
	pos = 0;
	while (procmap_next(a->maps, &pos, &p)) {
		look_at_heap(a, p, clock_now());
		if (p->written && p->end)
			write_process(a, p);
	}
	if (!err && a->n.store_errors)
		err = err_set(e, -EIO, "the profile lacks records that could not be written");
	return err;
}

/* Machines without file servers have none of these. */
static void put_refusals(void (*put_counter)(void *ctx, const char *name, uint64_t value, bool in_part), void *ctx)
{
	struct openfile_refusals files = openfile_refused();

	if (files.unanswered)
		put_counter(ctx, COUNTER_UNANSWERED, files.unanswered, true);
	if (files.too_large)
		put_counter(ctx, COUNTER_TOO_LARGE, files.too_large, true);
	if (target_memory_refused())
		put_counter(ctx, "pages of memory not read, as a file server might have had to bring them",
			    target_memory_refused(), true);
}

static void put_causes(const struct unwind_counters *u, const char *of,
		       void (*put_counter)(void *ctx, const char *name, uint64_t value, bool in_part), void *ctx)
{
	char name[128];

	for (int c = 0; c < UNWIND_CAUSES; c++) {
		if (!u->cause[c])
			continue;
		snprintf(name, sizeof(name), "%s ended: %s", of, unwind_cause_str((enum unwind_cause)c));
		put_counter(ctx, name, u->cause[c], true);
	}
}

void attr_lasting_counters(const struct attr *a,
			   void (*put_counter)(void *ctx, const char *name, uint64_t value, bool in_part), void *ctx)
{
	const struct unwind_counters *u = unwind_counters(a->unwinder, UNWIND_OF_SAMPLES);
	const struct procmap_counters *m = procmap_counters(a->maps);

	/* the causes sum up to what is cut and broken: one of the two is enough */
	put_counter(ctx, "stacks unwound", u->stacks, false);
	put_counter(ctx, "stacks complete", u->complete, false);
	put_counter(ctx, "stacks cut", u->cut, false);
	put_counter(ctx, "stacks broken", u->broken, false);
	put_causes(u, "stacks", put_counter, ctx);
	put_counter(ctx, "stacks of waits unwound", unwind_counters(a->unwinder, UNWIND_OF_WAITS)->stacks, false);
	put_causes(unwind_counters(a->unwinder, UNWIND_OF_WAITS), "stacks of waits", put_counter, ctx);
	put_counter(ctx, "frames by frame pointer", u->by_frame_pointer, false);
	put_counter(ctx, "frames by a return address found on the stack", u->found, false);
	put_counter(ctx, "frames outside all mappings", a->n.unmapped, true);
	put_counter(ctx, "samples without registers", a->n.no_registers, true);
	put_counter(ctx, "samples without stack bytes", a->n.no_stack_bytes, true);
	put_counter(ctx, "stacks beyond the limit", a->n.stacks_full, true);
	put_counter(ctx, "maps read again", m->refreshes, false);
	put_counter(ctx, "processes gone before their maps were read", m->gone, true);
	put_counter(ctx, "records of processes beyond the limit", m->evicted, true);
	put_counter(ctx, "processes whose end was not told", m->ends_lost, true);
	put_counter(ctx, "lists of mappings read afresh, as they had grown too long", m->replaced, false);
	put_counter(ctx, "lists of mappings cut, as they had grown too long", m->aged, true);
	put_counter(ctx, "lists of mappings longer than is read of them (16 MiB), the rest unknown", m->maps_cut, true);
	put_counter(ctx, "mapping records without a size", m->malformed, true);
	put_counter(ctx, "unwind tables too large", modules_frames_refused(a->modules), true);
	put_counter(ctx, "perf map lines refused", a->n.jit_refused, true);
	put_refusals(put_counter, ctx);
}

void attr_counters(const struct attr *a, void (*put_counter)(void *ctx, const char *name, uint64_t value, bool in_part),
		   void *ctx)
{
	attr_lasting_counters(a, put_counter, ctx);
	attr_name_counters(a->naming, put_counter, ctx);
}

void attr_name_counters(const struct naming *n,
			void (*put_counter)(void *ctx, const char *name, uint64_t value, bool in_part), void *ctx)
{
	naming_counters(n, put_counter, ctx);
}

const struct naming *attr_naming(const struct attr *a)
{
	return a->naming;
}
