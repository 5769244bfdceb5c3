// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/procmap.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/bisect.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/process_file.h"

/* Mappings that are gone are never told of: a list that has grown so long, or to twice of what /proc last said, is read
 * afresh. So a line of /proc is read for each event at most, whatever the target does. No more, as every child begins
 * with a copy. */
#define CROWDED_MAPPINGS 512
/* Of which the latest stay: they may be gone by now, and still have samples under way. */
#define YOUNG_MAPPINGS 64
/* Of a process that cannot be read again: as many as it can have (vm.max_map_count, where nobody changed it). */
#define MOST_MAPPINGS 65536
#define MAX_MAPS_BYTES (16u << 20) /* more than 100,000 mappings */
#define HEAP_TEXT 4096             /* of it, in which the heap is: behind the program, whose files come first */
#define MAPS_PIECE 8192            /* read at a time; the kernel gives a page */
#define REFRESH_NS 1000000000ull   /* between two readings of one process's list of mappings; by hand */
#define REFRESH_PER_SECOND 100     /* readings of /proc/PID/maps; by hand */
/* that an ended process is kept; by hand */
#define LINGER_NS 2000000000ull
#define MAX_PROCESSES 65536
#define MAKE_ROOM_NS 1000000000ull /* between two searches for processes whose end was not told: 65,536 system calls */
#define MAX_NAMES 100000           /* of files: they stay; by hand */

struct space {
	unsigned refs;
	unsigned count, cap;
	unsigned limit;       /* more than these: something is to be done; 0: more than CROWDED_MAPPINGS */
	uint32_t serial;      /* mappings put in so far */
	uint32_t profile;     /* in which its names are from */
	struct mapping *maps; /* sorted, disjoint */
};

struct procmaps {
	struct modules *modules;
	struct map processes; /* pid -> struct process * */
	struct intern names;
	struct procmap_counters counters;
	bool offline;
	uint64_t budget_second;
	unsigned budget_used;
	char *text; /* of /proc/PID/maps, kept between reads */
	size_t text_cap, most_text;
	bool known_only;
	unsigned most_mappings, most_processes;
	uint64_t searched; /* for room among the processes, monotonic ns */
	uint32_t profile;  /* the how manieth: procmap_next_profile() */
};

/* ---- one address space ---- */

static void space_put(struct space *s)
{
	if (!s || --s->refs)
		return;
	free(s->maps);
	free(s);
}

static struct space *space_new(unsigned cap)
{
	struct space *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->refs = 1;
	if (cap) {
		s->maps = malloc(cap * sizeof(*s->maps));
		if (!s->maps) {
			free(s);
			return NULL;
		}
		s->cap = cap;
	}
	return s;
}

/* A list that only this process has. */
static struct space *space_own(struct process *p)
{
	struct space *copy;

	if (p->space && p->space->refs == 1)
		return p->space;
	copy = space_new(p->space ? p->space->count + 8 : 16);
	if (!copy)
		return NULL;
	if (p->space) {
		memcpy(copy->maps, p->space->maps, p->space->count * sizeof(*copy->maps));
		copy->count = p->space->count;
		copy->limit = p->space->limit;
		copy->serial = p->space->serial;
		copy->profile = p->space->profile;
		space_put(p->space);
	}
	p->space = copy;
	return copy;
}

/* First mapping that ends above addr. */
static unsigned space_find(const struct space *s, uint64_t addr)
{
	return (unsigned)BISECT(i, s->count, s->maps[i].end <= addr);
}

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->pgoff == b->pgoff && a->module == b->module &&
	       a->prot == b->prot && a->name == b->name;
}

/* What the new mapping covers is gone; what sticks out on either side stays. */
static int space_insert(struct process *p, const struct mapping *m)
{
	struct space *s = p->space;
	struct mapping keep[2];
	unsigned first, last, kept = 0, fresh, i;

	if (m->end <= m->start)
		return -EINVAL;
	if (s) {
		i = space_find(s, m->start);
		if (i < s->count && same_mapping(&s->maps[i], m))
			return 0;
	}
	s = space_own(p);
	if (!s)
		return -ENOMEM;
	first = last = space_find(s, m->start);
	while (last < s->count && s->maps[last].start < m->end)
		last++;
	if (first < last && s->maps[first].start < m->start) {
		keep[kept] = s->maps[first];
		keep[kept++].end = m->start;
	}
	fresh = kept;
	if (first < last && s->maps[last - 1].end > m->end) {
		struct mapping tail = s->maps[last - 1];

		tail.pgoff += m->end - tail.start;
		tail.start = m->end;
		keep[kept++] = tail;
	}
	if (!GROW_TO(s->maps, s->count - (last - first) + kept + 1, s->cap, 16))
		return -ENOMEM;
	memmove(&s->maps[first + kept + 1], &s->maps[last], (s->count - last) * sizeof(*s->maps));
	s->count = s->count - (last - first) + kept + 1;
	i = first;
	if (fresh)
		s->maps[i++] = keep[0];
	s->maps[i] = *m;
	s->maps[i++].born = ++s->serial;
	if (kept > fresh)
		s->maps[i] = keep[fresh];
	p->mutations++;
	return 0;
}

/* Drops what was mapped before the last `young` mappings; of these, without `files`, only what no file backs. */
static void space_drop(struct space *s, uint32_t young, bool files)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < s->count; i++)
		if (s->serial - s->maps[i].born < young || (s->maps[i].module && !files))
			s->maps[kept++] = s->maps[i];
	s->count = kept;
}

/* Nobody can tell which are gone, so the older half goes: first of what no file backs, as libraries are mapped early
 * and stay. */
static int space_age(struct process *p, unsigned most)
{
	struct space *s = space_own(p);

	if (!s)
		return -ENOMEM;
	space_drop(s, most / 2, false);
	if (s->count > most / 4 * 3)
		space_drop(s, most / 2, true);
	s->limit = most;
	p->mutations++;
	return 0;
}

/* ---- processes ---- */

void procmaps_limit(struct procmaps *p, unsigned mappings, unsigned processes)
{
	p->most_mappings = mappings;
	p->most_processes = processes;
}

void procmaps_limit_text(struct procmaps *p, size_t bytes)
{
	p->most_text = bytes;
}

struct procmaps *procmaps_new(struct modules *ms)
{
	struct procmaps *p = calloc(1, sizeof(*p));

	if (p) {
		p->modules = ms;
		procmaps_limit(p, MOST_MAPPINGS, MAX_PROCESSES);
		procmaps_limit_text(p, MAX_MAPS_BYTES);
	}
	return p;
}

static void process_free(struct process *p)
{
	if (!p)
		return;
	space_put(p->space);
	free(p);
}

void procmaps_offline(struct procmaps *p)
{
	p->offline = true;
}

void procmaps_free(struct procmaps *p)
{
	uint64_t key, *value;
	size_t pos = 0;

	if (!p)
		return;
	while (map_next(&p->processes, &pos, &key, &value))
		process_free((struct process *)(uintptr_t)*value);
	map_release(&p->processes);
	intern_release(&p->names);
	free(p->text);
	free(p);
}

void procmap_known_only(struct procmaps *p)
{
	p->known_only = true;
}

struct process *procmap_process(struct procmaps *p, uint32_t pid)
{
	uint64_t *slot = map_get(&p->processes, pid);

	return slot ? (struct process *)(uintptr_t)*slot : NULL;
}

bool procmap_full(const struct procmaps *p)
{
	return p->processes.used >= p->most_processes;
}

/* In the place of another of that number. -ENOSPC: of too many processes this one is not known, which is counted. */
static int process_add(struct procmaps *p, uint32_t pid, struct process **out)
{
	struct process *proc;
	uint64_t *slot;

	*out = NULL;
	if (procmap_full(p) && !map_get(&p->processes, pid)) {
		p->counters.evicted++;
		return -ENOSPC;
	}
	proc = calloc(1, sizeof(*proc));
	slot = proc ? map_put(&p->processes, pid, NULL) : NULL;
	if (!slot) {
		free(proc);
		return -ENOMEM;
	}
	process_free((struct process *)(uintptr_t)*slot);
	proc->pid = pid;
	*slot = (uint64_t)(uintptr_t)proc;
	*out = proc;
	return 0;
}

bool procmap_next(struct procmaps *p, size_t *pos, struct process **proc)
{
	uint64_t key, *value;

	if (!map_next(&p->processes, pos, &key, &value))
		return false;
	*proc = (struct process *)(uintptr_t)*value;
	return true;
}

const char *procmaps_name(const struct procmaps *p, uint32_t name)
{
	return name ? intern_get(&p->names, name, NULL) : NULL;
}

unsigned procmap_count(const struct process *proc)
{
	return proc->space ? proc->space->count : 0;
}

const struct mapping *procmap_at(const struct process *proc, unsigned i)
{
	return &proc->space->maps[i];
}

uint64_t procmap_code(const struct process *proc)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < procmap_count(proc); i++) {
		const struct mapping *m = procmap_at(proc, i);
		const uint64_t part[] = { m->start, m->end, m->pgoff, (uint64_t)m->module << 32 | m->prot };

		for (unsigned k = 0; (m->prot & MAP_EXEC) && k < sizeof(part) / sizeof(part[0]); k++) {
			h = (h ^ part[k]) * 0x9e3779b97f4a7c15ull;
			h ^= h >> 29;
		}
	}
	return h;
}

const struct procmap_counters *procmap_counters(const struct procmaps *p)
{
	return &p->counters;
}

/* ---- /proc/PID/maps ---- */

static bool is_file_path(const char *path)
{
	return path[0] == '/' && strncmp(path, "//", 2) != 0;
}

static uint32_t name_id(struct procmaps *p, const char *path)
{
	if (!*path || p->names.count >= MAX_NAMES)
		return 0;
	return intern_str(&p->names, path, NULL);
}

/* Fills m->module and m->name from the path of a mapping. */
static void mapping_attribute(struct procmaps *p, struct mapping *m, struct module_ident *id)
{
	struct module *module = NULL;

	id->start = m->start;
	id->end = m->end;
	id->pgoff = m->pgoff;
	if (p->offline)
		id->pid = 0; /* that process is another's, or nobody's, here and now */
	if (p->offline && !strcmp(id->path, "[vdso]")) {
		;
	} else if (!strcmp(id->path, "[vdso]")) {
		module = modules_vdso(p->modules, id->pid, m->start, m->end);
	} else if (is_file_path(id->path)) {
		module = m->prot & MAP_EXEC ? modules_file(p->modules, id) : modules_find(p->modules, id);
		if (module && module->state == MODULE_NOT_ELF)
			module = NULL; /* code in a memfd or device: named as a JIT's */
	}
	m->module = module ? module->id : 0;
	m->name = module ? 0 : name_id(p, id->path);
}

/* One line of maps; the text is the kernel's, but the path in it is anybody's. */
static bool maps_line(char *line, struct mapping *m, struct module_ident *id)
{
	unsigned long long start, end, pgoff, ino;
	unsigned maj, min;
	char perm[5];
	int pos = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perm, &pgoff, &maj, &min, &ino, &pos) < 7 ||
	    !pos)
		return false;
	*m = (struct mapping){ .start = start, .end = end, .pgoff = pgoff };
	m->prot = (perm[0] == 'r' ? MAP_READ : 0) | (perm[1] == 'w' ? MAP_WRITE : 0) | (perm[2] == 'x' ? MAP_EXEC : 0);
	id->dev_major = maj;
	id->dev_minor = min;
	id->ino = ino;
	id->path = line + pos;
	return end > start;
}

static ssize_t read_maps(struct procmaps *p, uint32_t pid)
{
	char name[48];
	size_t len = 0;
	ssize_t n = 0;
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		if (len >= p->most_text || !GROW_TO(p->text, len + MAPS_PIECE, p->text_cap, 65536)) {
			char more;

			p->counters.maps_cut += read(fd, &more, 1) == 1;
			break;
		}
		n = read(fd, p->text + len, MAPS_PIECE - 1);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	n = n < 0 && !len ? -errno : (ssize_t)len;
	close(fd);
	if (len)
		p->text[len] = '\0';
	return n;
}

bool procmap_heap(uint32_t pid, uint64_t *start, uint64_t *end)
{
	char text[HEAP_TEXT];
	ssize_t n = process_file((pid_t)pid, "maps", text, sizeof(text));

	for (char *line = text, *nl; n > 0 && (nl = memchr(line, '\n', (size_t)(text + n - line))); line = nl + 1) {
		struct module_ident id = { .pid = pid };
		struct mapping m;

		*nl = '\0';
		if (!maps_line(line, &m, &id) || strcmp(id.path, "[heap]"))
			continue;
		*start = m.start;
		*end = m.end;
		return true;
	}
	return false;
}

static void each_line(struct procmaps *p, struct process *proc, size_t len, bool exec)
{
	char *line = p->text, *end = p->text + len;

	while (line < end) {
		char *nl = memchr(line, '\n', (size_t)(end - line));
		struct module_ident id = { .pid = proc->pid };
		struct mapping m;

		if (!nl)
			break; /* an unfinished line */
		*nl = '\0';
		if (maps_line(line, &m, &id) && !!(m.prot & MAP_EXEC) == exec) {
			mapping_attribute(p, &m, &id);
			space_insert(proc, &m);
		}
		*nl = '\n';
		line = nl + 1;
	}
}

/* Of a text as /proc/PID/maps has it. Code first: data mappings of the same files follow it. */
static void take_lines(struct procmaps *p, struct process *proc, size_t len)
{
	each_line(p, proc, len, true);
	each_line(p, proc, len, false);
}

/* In the place of a list that has grown too long. */
static int maps_replace(struct procmaps *p, struct process *proc)
{
	ssize_t n = p->offline || proc->end ? -ESRCH : read_maps(p, proc->pid);
	struct space *s;

	if (n <= 0) {
		proc->space->limit = p->most_mappings;
		if (proc->space->count <= p->most_mappings)
			return 0;
		p->counters.aged++;
		return space_age(proc, p->most_mappings);
	}
	s = space_own(proc);
	if (!s)
		return -ENOMEM;
	space_drop(s, YOUNG_MAPPINGS, true);
	p->counters.replaced++;
	proc->mutations++;
	proc->refreshed = clock_now();
	proc->maps_dirty = true;
	take_lines(p, proc, (size_t)n);
	proc->space->limit = 2 * proc->space->count;
	return 0;
}

static int check_crowd(struct procmaps *p, struct process *proc)
{
	const struct space *s = proc->space;
	unsigned crowded = CROWDED_MAPPINGS < p->most_mappings ? CROWDED_MAPPINGS : p->most_mappings;

	return s && s->count > (s->limit > crowded ? s->limit : crowded) ? maps_replace(p, proc) : 0;
}

/* Laid over what is known: mappings that are gone by now may still have samples under way. */
static int maps_merge(struct procmaps *p, struct process *proc)
{
	ssize_t n = read_maps(p, proc->pid);

	proc->refreshed = clock_now();
	if (n == 0)
		n = -ESRCH; /* a zombie or a kernel thread */
	if (n < 0) {
		p->counters.gone += !proc->space || !proc->space->count; /* else events have told of its maps */
		return (int)n;
	}
	take_lines(p, proc, (size_t)n);
	proc->loaded = true;
	proc->maps_dirty = true;
	return check_crowd(p, proc);
}

static void read_status(struct process *proc)
{
	char name[48], text[1024], *close_paren, *open_paren;
	unsigned long long start = 0;
	unsigned ppid = 0;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/stat", proc->pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	open_paren = strchr(text, '(');
	close_paren = strrchr(text, ')');
	if (!open_paren || !close_paren || close_paren < open_paren)
		return;
	snprintf(proc->comm, sizeof(proc->comm), "%.*s", (int)(close_paren - open_paren - 1), open_paren + 1);
	if (sscanf(close_paren + 1, " %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &ppid, &start) >= 1)
		proc->ppid = ppid;
	/* start is in ticks since boot, suspended time included: good to a tick where none was */
	proc->start = start * (1000000000ull / (unsigned long)sysconf(_SC_CLK_TCK));
}

int procmap_load(struct procmaps *p, uint32_t pid, struct err *e)
{
	struct process *proc = procmap_process(p, pid);
	int err;

	if (!proc) {
		err = process_add(p, pid, &proc);
		if (err)
			return err_set(e, err, err == -ENOMEM ? "out of memory" : "more than %u processes",
				       p->most_processes);
	}
	err = maps_merge(p, proc);
	if (err == -ENOENT || err == -ESRCH) {
		if (!proc->comm[0])
			read_status(proc);
		return err_set(e, -ESRCH,
			       "process %u has no memory map: it has ended, or is a zombie or a kernel thread", pid);
	}
	if (err == -EACCES || err == -EPERM)
		return err_set(
			e, err,
			"the memory map of process %u may not be read: run as root, or as its user, or with CAP_SYS_PTRACE",
			pid);
	if (err)
		return err_set(e, err, "/proc/%u/maps cannot be read: %s", pid, strerror(-err));
	read_status(proc);
	return 0;
}

struct process *procmap_process_make(struct procmaps *p, uint32_t pid, uint64_t now)
{
	struct process *proc = procmap_process(p, pid);

	if (!proc) {
		if (process_add(p, pid, &proc))
			return NULL;
		if (!p->offline) {
			maps_merge(p, proc);
			read_status(proc);
		}
	}
	if (now > proc->used)
		proc->used = now;
	return proc;
}

static bool may_refresh(struct procmaps *p, struct process *proc)
{
	uint64_t now = clock_now();

	if (p->offline || proc->end || (proc->refreshed && now - proc->refreshed < REFRESH_NS))
		return false;
	if (now / REFRESH_NS != p->budget_second) {
		p->budget_second = now / REFRESH_NS;
		p->budget_used = 0;
	}
	if (p->budget_used >= REFRESH_PER_SECOND)
		return false;
	p->budget_used++;
	p->counters.refreshes++;
	return true;
}

/* ---- look-up ---- */

static bool place_fill(struct procmaps *p, const struct process *proc, uint64_t addr, struct place *out)
{
	const struct mapping *m;
	uint64_t off;
	unsigned i;

	*out = (struct place){ .vaddr = addr };
	if (!proc->space)
		return false;
	if (addr == proc->kept_addr && proc->kept_at == proc->mutations && addr) {
		*out = proc->kept;
		p->counters.kept++;
		return true;
	}
	i = space_find(proc->space, addr);
	if (i == proc->space->count || proc->space->maps[i].start > addr)
		return false;
	m = &proc->space->maps[i];
	out->map = *m;
	if (m->module) {
		out->module = modules_get(p->modules, m->module);
		off = addr - m->start + m->pgoff;
		if (out->module->kind == FMT_MOD_VDSO) {
			/* pgoff counts from the address in some kernels' events; the image is whole */
			off = addr - m->start;
		}
		if (!module_offset_to_vaddr(out->module, off, &out->vaddr))
			out->vaddr = off;
	} else if (m->prot & MAP_EXEC) {
		out->module = modules_anon(p->modules, proc->pid, false);
	}
	return true;
}

bool procmap_lookup_quiet(struct procmaps *p, uint32_t pid, uint64_t addr, struct place *out)
{
	const struct process *proc = procmap_process(p, pid);

	*out = (struct place){ .vaddr = addr };
	return proc && place_fill(p, proc, addr, out);
}

bool procmap_lookup(struct procmaps *p, uint32_t pid, uint64_t addr, struct place *out)
{
	struct process *proc = procmap_process_make(p, pid, 0);

	*out = (struct place){ .vaddr = addr };
	if (!proc)
		return false;
	if (place_fill(p, proc, addr, out))
		return true;
	if (!addr || addr >= 1ull << 47 || !may_refresh(p, proc) || maps_merge(p, proc))
		return false;
	return place_fill(p, proc, addr, out);
}

void procmap_keep(struct procmaps *p, uint32_t pid, uint64_t addr, const struct place *found)
{
	struct process *proc = procmap_process(p, pid);

	if (!proc)
		return;
	proc->kept_addr = addr;
	proc->kept_at = proc->mutations;
	proc->kept = *found;
}

/* ---- events ---- */

static int event_mmap(struct procmaps *p, struct process *proc, const struct sample *s)
{
	struct mapping m = { .start = s->addr, .end = s->addr + s->size, .pgoff = s->pgoff };
	struct module_ident id = {
		.pid = s->pid,
		.dev_major = s->dev_major,
		.dev_minor = s->dev_minor,
		.ino = s->ino,
		.build_id_len = s->build_id.len > 20 ? 20 : s->build_id.len,
		.path = s->text ? s->text : "",
	};
	int err;

	if (m.end <= m.start) {
		p->counters.malformed++;
		return 0;
	}
	memcpy(id.build_id, s->build_id.id, sizeof(id.build_id));
	m.prot = s->flags & SF_EXEC ? MAP_READ | MAP_EXEC : MAP_READ | MAP_WRITE;
	mapping_attribute(p, &m, &id);
	err = space_insert(proc, &m);
	return err ? err : check_crowd(p, proc);
}

static int event_fork(struct procmaps *p, const struct sample *s)
{
	struct process *parent, *child;
	int err;

	if (s->pid == s->ppid)
		return 0; /* a thread */
	/* the child may not live long enough to be asked; its parent is asked once */
	parent = p->known_only ? procmap_process(p, s->ppid) : procmap_process_make(p, s->ppid, s->time);
	if (!parent && p->known_only) {
		parent = procmap_process(p, s->pid);
		if (parent && !parent->end)
			parent->end = s->time ? s->time : 1; /* its pid is another's now */
		return 0;
	}
	child = procmap_process(p, s->pid);
	if (child && !child->end && child->start && s->time && child->start > s->time)
		return 0; /* it was read from /proc already, later than this */
	err = process_add(p, s->pid, &child);
	if (err)
		return err == -ENOSPC ? 0 : err;
	child->ppid = s->ppid;
	child->start = child->used = s->time;
	if (!parent)
		return 0;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
	child->space = parent->space;
	child->loaded = parent->loaded;
	if (child->space)
		child->space->refs++;
	return 0;
}

int procmap_event(struct procmaps *p, const struct sample *s)
{
	struct process *proc;
	int err = 0;

	if (s->kind == SAMPLE_FORK)
		return event_fork(p, s);
	if (s->kind != SAMPLE_MMAP && s->kind != SAMPLE_COMM && s->kind != SAMPLE_EXIT)
		return 0;
	proc = procmap_process(p, s->pid);
	if (!proc) {
		if (s->kind == SAMPLE_EXIT || p->known_only)
			return 0;
		if (s->kind == SAMPLE_MMAP)
			proc = procmap_process_make(p, s->pid, s->time);
		else
			err = process_add(p, s->pid, &proc);
		if (!proc)
			return err == -ENOSPC || procmap_full(p) ? 0 : -ENOMEM;
	}
	if (s->time > proc->used)
		proc->used = s->time;
	switch (s->kind) {
	case SAMPLE_MMAP: proc->end = 0; return event_mmap(p, proc, s);
	case SAMPLE_COMM:
		if (s->text && (s->tid == s->pid || s->flags & SF_EXEC))
			snprintf(proc->comm, sizeof(proc->comm), "%s", s->text);
		if (s->flags & SF_EXEC) {
			space_put(proc->space);
			proc->space = NULL;
			proc->mutations++;
			proc->refreshed = 0;
		}
		return 0;
	default: /* its other threads may go on: kept until none of them was seen for a while */
		if (s->tid == s->pid)
			proc->end = s->time ? s->time : 1;
		return 0;
	}
}

/* Those that ended, and were neither seen nor ended in the last `linger` ns. */
static void drop_ended(struct procmaps *p, uint64_t now, uint64_t linger, void (*gone)(void *ctx, struct process *),
		       void *ctx)
{
	uint64_t key, *value, dead[256];
	size_t pos = 0;
	unsigned n = 0;

	do {
		n = 0;
		pos = 0;
		while (n < 256 && map_next(&p->processes, &pos, &key, &value)) {
			const struct process *proc = (struct process *)(uintptr_t)*value;
			uint64_t last = proc->used > proc->end ? proc->used : proc->end;

			if (proc->end && (!linger || (now > last && now - last > linger)))
				dead[n++] = key;
		}
		for (unsigned i = 0; i < n; i++) {
			struct process *proc = procmap_process(p, (uint32_t)dead[i]);

			if (gone)
				gone(ctx, proc);
			map_del(&p->processes, dead[i]);
			process_free(proc);
		}
	} while (n == 256);
}

void procmap_sweep(struct procmaps *p, uint64_t now, void (*gone)(void *ctx, struct process *), void *ctx)
{
	drop_ended(p, now, LINGER_NS, gone, ctx);
}

/* An end that was lost leaves a process that lives for ever. */
static void find_ended(struct procmaps *p)
{
	uint64_t key, *value;
	size_t pos = 0;

	while (!p->offline && map_next(&p->processes, &pos, &key, &value)) {
		struct process *proc = (struct process *)(uintptr_t)*value;

		if (proc->end || !kill((pid_t)proc->pid, 0) || errno != ESRCH)
			continue;
		proc->end = proc->used ? proc->used : 1;
		p->counters.ends_lost++;
	}
}

void procmap_make_room(struct procmaps *p, void (*gone)(void *ctx, struct process *), void *ctx)
{
	uint64_t now = clock_now();

	if (!procmap_full(p) || (p->searched && now - p->searched < MAKE_ROOM_NS))
		return;
	p->searched = now;
	find_ended(p);
	drop_ended(p, now, 0, gone, ctx);
}

/* Spaces may be shared, so each tells whether its names are of this profile. */
static void rename_space(struct procmaps *p, const struct intern *former, struct space *s)
{
	s->profile = p->profile;
	for (unsigned i = 0; i < s->count; i++) {
		const char *name = intern_get(former, s->maps[i].name, NULL);

		s->maps[i].name = name ? name_id(p, name) : 0;
	}
}

void procmap_next_profile(struct procmaps *p)
{
	struct intern former = p->names;
	struct process *proc;
	size_t pos = 0;

	find_ended(p);
	p->names = (struct intern){ 0 };
	p->profile++;
	while (procmap_next(p, &pos, &proc)) {
		proc->kept_addr = 0;
		if (proc->space && proc->space->profile != p->profile)
			rename_space(p, &former, proc->space);
	}
	intern_release(&former);
}
