// SPDX-License-Identifier: GPL-2.0-or-later
/* The front of attribution: events and samples in, records of a profile out; address spaces over time. */
/*
 * harm: mappings, forks without an end, any order of events | 280,000 mappings, 70,000 forks
 * harm: a list of mappings that is longer than 16 MiB | 1 list | the same, counted
 * harm: weeks: profiles that follow each other
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi.h"
#include "attr/attr.h"
#include "attr/naming.h"
#include "store/read.h"
#include "unit/unit.h"

static char profile[64];

static int setup(void **state)
{
	snprintf(profile, sizeof(profile), "/tmp/accperf-u-attr.%d", getpid());
	return 0;
}

static int teardown(void **state)
{
	unlink(profile);
	return 0;
}

/* ---- address spaces ---- */

static struct sample mmap_event(uint32_t pid, uint64_t start, uint64_t size, const char *path)
{
	return (struct sample){
		.kind = SAMPLE_MMAP, .flags = SF_EXEC, .pid = pid, .tid = pid, .addr = start, .size = size, .text = path
	};
}

/* Who has ended is looked for again where an address is unknown: what events have told of its maps stays. */
TEST(test_gone_once)
{
	struct modules *ms = modules_new();
	struct procmaps *p = procmaps_new(ms);
	struct sample exec = { .kind = SAMPLE_COMM, .flags = SF_EXEC, .pid = 4000000, .tid = 4000000, .text = "other" };
	struct sample s = mmap_event(4000000, 0x10000, 0x8000, "/nowhere/a");
	struct place where;

	assert_int_equal(procmap_event(p, &s), 0);
	assert_int_equal(procmap_counters(p)->gone, 1);
	assert_int_equal(procmap_event(p, &exec), 0);
	assert_int_equal(procmap_event(p, &s), 0);
	assert_false(procmap_lookup(p, 4000000, 0x20000, &where));
	assert_int_equal(procmap_counters(p)->refreshes, 1);
	assert_int_equal(procmap_counters(p)->gone, 1);
	procmaps_free(p);
	modules_free(ms);
}

TEST(test_overlap)
{
	struct modules *ms = modules_new();
	struct procmaps *p = procmaps_new(ms);
	struct sample fork = { .kind = SAMPLE_FORK, .pid = 4000001, .ppid = 4000000, .tid = 4000001, .ptid = 4000000 };
	struct sample exec = { .kind = SAMPLE_COMM, .flags = SF_EXEC, .pid = 4000001, .tid = 4000001, .text = "other" };
	struct sample s;
	struct place where;
	struct process *proc;
	uint64_t code;

	/* pids beyond the largest: /proc has none of them */
	s = mmap_event(4000000, 0x10000, 0x8000, "/nowhere/a");
	assert_int_equal(procmap_event(p, &s), 0);
	s = mmap_event(4000000, 0x12000, 0x2000, "/nowhere/b");
	s.pgoff = 0x5000;
	assert_int_equal(procmap_event(p, &s), 0);
	proc = procmap_process(p, 4000000);
	assert_int_equal(procmap_count(proc), 3);
	assert_true(procmap_lookup(p, 4000000, 0x11fff, &where));
	assert_string_equal(where.module->path, "/nowhere/a");
	assert_int_equal(where.vaddr, 0x1fff); /* a file that cannot be read: its offset */
	assert_true(procmap_lookup(p, 4000000, 0x13000, &where));
	assert_string_equal(where.module->path, "/nowhere/b");
	assert_int_equal(where.vaddr, 0x6000);
	assert_true(procmap_lookup(p, 4000000, 0x14000, &where));
	assert_string_equal(where.module->object, "a");
	assert_int_equal(where.vaddr, 0x4000);
	assert_false(procmap_lookup(p, 4000000, 0x18000, &where));
	assert_int_equal(where.module == NULL, 1);

	/* the child has its parent's code until it changes its own */
	assert_int_equal(procmap_event(p, &fork), 0);
	assert_true(procmap_lookup(p, 4000001, 0x13000, &where));
	assert_string_equal(where.module->path, "/nowhere/b");
	assert_ptr_equal(procmap_process(p, 4000001)->space, proc->space);
	code = procmap_code(proc);
	assert_int_not_equal(code, 0);
	assert_true(procmap_code(procmap_process(p, 4000001)) == code);
	/* data may lie elsewhere: the same code */
	s = mmap_event(4000001, 0x90000, 0x1000, "/nowhere/data");
	s.flags = 0;
	s.prot = PROT_READ;
	assert_int_equal(procmap_event(p, &s), 0);
	assert_true(procmap_code(procmap_process(p, 4000001)) == code);
	s = mmap_event(4000001, 0x13000, 0x1000, "/nowhere/c");
	assert_int_equal(procmap_event(p, &s), 0);
	assert_true(procmap_code(procmap_process(p, 4000001)) != code);
	assert_true(procmap_code(proc) == code);
	/* another file at the same places */
	s = mmap_event(4000002, 0x10000, 0x8000, "/nowhere/a");
	assert_int_equal(procmap_event(p, &s), 0);
	s = mmap_event(4000003, 0x10000, 0x8000, "/nowhere/b");
	assert_int_equal(procmap_event(p, &s), 0);
	assert_int_equal(procmap_at(procmap_process(p, 4000002), 0)->start,
			 procmap_at(procmap_process(p, 4000003), 0)->start);
	assert_true(procmap_code(procmap_process(p, 4000002)) != procmap_code(procmap_process(p, 4000003)));
	assert_ptr_not_equal(procmap_process(p, 4000001)->space, proc->space);
	assert_true(procmap_lookup(p, 4000001, 0x13000, &where));
	assert_string_equal(where.module->object, "c");
	assert_true(procmap_lookup(p, 4000000, 0x13000, &where));
	assert_string_equal(where.module->object, "b");
	assert_int_equal(procmap_event(p, &exec), 0);
	assert_false(procmap_lookup(p, 4000001, 0x13000, &where));
	assert_string_equal(procmap_process(p, 4000001)->comm, "other");
	procmaps_free(p);
	modules_free(ms);
}

/* With targets, other processes cost nothing. */
TEST(test_known_only)
{
	struct modules *ms = modules_new();
	struct procmaps *p = procmaps_new(ms);
	struct sample map = mmap_event(4000000, 0x10000, 0x8000, "/bin/true");
	struct sample fork = { .kind = SAMPLE_FORK, .time = 2, .pid = 4000001, .ppid = 4000000, .tid = 4000001 };
	struct sample ours = {
		.kind = SAMPLE_FORK, .time = 2, .pid = 4000002, .ppid = (uint32_t)getpid(), .tid = 4000002
	};

	assert_int_equal(procmap_load(p, (uint32_t)getpid(), NULL), 0);
	procmap_known_only(p);
	assert_int_equal(procmap_event(p, &map), 0);
	assert_int_equal(procmap_event(p, &fork), 0);
	assert_int_equal(procmap_event(p, &ours), 0);
	assert_null(procmap_process(p, 4000000));
	assert_null(procmap_process(p, 4000001));
	assert_non_null(procmap_process(p, 4000002));
	procmaps_free(p);
	modules_free(ms);
}

#define CHURN 140000u

/* Code that comes and goes for hours, in a process whose maps cannot be read again: nothing ends, what is young and
 * what files hold stays. */
TEST(test_mappings_aged)
{
	struct modules *ms = modules_new();
	struct procmaps *p = procmaps_new(ms);
	struct sample s = mmap_event(4000000, 0x10000, 0x8000, "/nowhere/lib");
	struct place where;

	assert_int_equal(procmap_event(p, &s), 0);
	for (uint64_t i = 0; i < CHURN; i++) {
		s = mmap_event(4000000, 0x100000000 + i * 0x2000, 0x1000, "//anon");
		assert_int_equal(procmap_event(p, &s), 0);
	}
	assert_in_range(procmap_count(procmap_process(p, 4000000)), 30000, 65536);
	for (uint64_t i = CHURN - 30000; i < CHURN; i++)
		assert_true(procmap_lookup_quiet(p, 4000000, 0x100000000 + i * 0x2000, &where));
	assert_true(procmap_lookup_quiet(p, 4000000, 0x10000, &where));
	assert_string_equal(where.module->object, "lib");
	assert_in_range(procmap_counters(p)->aged, 1, 10);
	procmaps_free(p);
	modules_free(ms);
}

/* The same in one that can: what is gone goes, for every child has a copy; what it has stays, and so do the latest,
 * which may have samples under way. */
TEST(test_mappings_replaced)
{
	struct modules *ms = modules_new();
	struct procmaps *p = procmaps_new(ms);
	uint32_t self = (uint32_t)getpid();
	struct sample s;
	struct place where;
	unsigned real;

	assert_int_equal(procmap_load(p, self, NULL), 0);
	real = procmap_count(procmap_process(p, self));
	for (uint64_t i = 0; i < CHURN; i++) { /* below what the kernel gives to programs: none of them is there */
		s = mmap_event(self, 0x100000 + i * 0x2000, 0x1000, "//anon");
		assert_int_equal(procmap_event(p, &s), 0);
		assert_true(procmap_lookup_quiet(p, self, 0x100000 + (i - (i < 50 ? i : 50)) * 0x2000, &where));
	}
	assert_in_range(procmap_count(procmap_process(p, self)), real, 2 * real + 512);
	assert_true(procmap_lookup_quiet(p, self, (uint64_t)(uintptr_t)test_mappings_replaced, &where));
	assert_non_null(where.module);
	assert_in_range(procmap_counters(p)->replaced, 1, CHURN / 128);
	assert_int_equal(procmap_counters(p)->aged, 0);
	procmaps_free(p);
	modules_free(ms);
}

/* What is not read of a list is counted, and what was read of it is known. */
TEST(test_mappings_cut)
{
	const struct {
		size_t bytes;
		bool cut;
	} tries[] = { { 1, true }, { 16u << 20, false } };

	for (unsigned i = 0; i < 2; i++) {
		struct modules *ms = modules_new();
		struct procmaps *p = procmaps_new(ms);
		uint32_t self = (uint32_t)getpid();
		struct place where;

		procmaps_limit_text(p, tries[i].bytes);
		assert_int_equal(procmap_load(p, self, NULL), 0);
		assert_int_equal(procmap_counters(p)->maps_cut, tries[i].cut);
		assert_in_range(procmap_count(procmap_process(p, self)), 1, 8192);
		assert_int_equal(procmap_lookup_quiet(p, self, (uint64_t)(uintptr_t)&where, &where), !tries[i].cut);
		procmaps_free(p);
		modules_free(ms);
	}
}

static unsigned told_gone;

static void count_gone(void *ctx, struct process *proc)
{
	told_gone++;
}

/* A storm of forks whose ends are never told: counted, and those that /proc does not have make room. */
TEST(test_processes_full)
{
	struct modules *ms = modules_new();
	struct procmaps *p = procmaps_new(ms);
	uint32_t self = (uint32_t)getpid();

	assert_int_equal(procmap_load(p, self, NULL), 0);
	procmap_known_only(p);
	for (uint32_t i = 0; i < 70000; i++) {
		struct sample fork = {
			.kind = SAMPLE_FORK, .time = 2, .pid = 5000000 + i, .ppid = self, .tid = 5000000 + i
		};

		assert_int_equal(procmap_event(p, &fork), 0);
	}
	assert_true(procmap_full(p));
	assert_in_range(procmap_counters(p)->evicted, 4000, 5000);
	procmap_make_room(p, count_gone, NULL);
	assert_false(procmap_full(p));
	assert_int_equal(told_gone, 65535);
	assert_non_null(procmap_process(p, self));
	procmaps_free(p);
	modules_free(ms);
}

/* 200 processes a second for ten seconds: what ended is dropped. */
TEST(test_churn)
{
	struct modules *ms = modules_new();
	struct procmaps *p = procmaps_new(ms);
	struct process *proc;
	size_t pos = 0, left = 0;

	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t pid = 4000001 + i;
		uint64_t now = 1000000000ull + i * 5000000ull;
		struct sample fork = { .kind = SAMPLE_FORK, .time = now, .pid = pid, .ppid = 4000000, .tid = pid };
		struct sample exec = {
			.kind = SAMPLE_COMM, .flags = SF_EXEC, .time = now, .pid = pid, .tid = pid, .text = "x"
		};
		struct sample map = mmap_event(pid, 0x10000, 0x8000, "/bin/true");
		struct sample gone = { .kind = SAMPLE_EXIT, .time = now + 1000000, .pid = pid, .tid = pid };

		map.time = now;
		procmap_event(p, &fork);
		procmap_event(p, &exec);
		procmap_event(p, &map);
		procmap_event(p, &gone);
		if (i % 200 == 0)
			procmap_sweep(p, now, NULL, NULL);
	}
	procmap_sweep(p, 1000000000ull + 2000 * 5000000ull, NULL, NULL);
	while (procmap_next(p, &pos, &proc))
		left++;
	assert_true(left > 0 && left <= 420); /* two seconds' worth linger for late samples */
	assert_int_equal(modules_count(ms), 1);
	procmaps_free(p);
	modules_free(ms);
}

/* ---- files that go away or change ---- */

static void copy_file(const char *from, const char *to)
{
	char buf[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		assert_int_equal(write(out, buf, (size_t)n), n);
	close(in);
	close(out);
}

static void *map_code(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *at;

	assert_true(fd >= 0);
	fstat(fd, &st);
	*size = ((size_t)st.st_size + 4095) & ~4095ul;
	at = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	return at;
}

TEST(test_replaced)
{
	char path[80];
	struct modules *ms = modules_new();
	struct procmaps *p = procmaps_new(ms);
	struct place where;
	size_t size, size2;
	void *at, *at2;
	uint32_t first;

	snprintf(path, sizeof(path), "/tmp/accperf-u-attr.%d.so", getpid());
	copy_file("/lib/x86_64-linux-gnu/libz.so.1", path);
	at = map_code(path, &size);
	/* another file takes its place before anybody looked */
	unlink(path);
	copy_file("/lib/x86_64-linux-gnu/libm.so.6", path);
	assert_int_equal(procmap_load(p, (uint32_t)getpid(), NULL), 0);
	assert_true(procmap_lookup(p, (uint32_t)getpid(), (uint64_t)(uintptr_t)at + 0x4000, &where));
	assert_string_equal(where.module->path, path);
	assert_true(where.module->deleted);
	first = where.module->id;
	if (!geteuid()) { /* map_files shows the mapped file itself: the unwind table is libz's */
		struct module *libz = module_open_path("/lib/x86_64-linux-gnu/libz.so.1", NULL, 0, NULL);

		assert_int_equal(where.module->state, MODULE_OPEN);
		assert_memory_equal(where.module->build_id, libz->build_id, 20);
		module_close_path(libz);
	} else {
		assert_int_not_equal(where.module->state, MODULE_OPEN);
	}
	/* the new file under the old name is another module */
	at2 = map_code(path, &size2);
	assert_int_equal(procmap_load(p, (uint32_t)getpid(), NULL), 0);
	assert_true(procmap_lookup(p, (uint32_t)getpid(), (uint64_t)(uintptr_t)at2 + 0x4000, &where));
	assert_int_not_equal(where.module->id, first);
	assert_int_equal(where.module->state, MODULE_OPEN);
	assert_false(where.module->deleted);
	/* what was opened stays readable when its file goes */
	unlink(path);
	assert_non_null(module_ehframe(where.module));
	munmap(at, size);
	munmap(at2, size2);
	procmaps_free(p);
	modules_free(ms);
}

TEST(test_not_a_file)
{
	char path[80];
	struct modules *ms = modules_new();
	struct module_ident id = { .pid = (uint32_t)getpid(), .path = path };

	snprintf(path, sizeof(path), "/tmp/accperf-u-attr.%d.fifo", getpid());
	assert_int_equal(mkfifo(path, 0600), 0);
	/* would hang here, for want of a writer, if it were opened */
	assert_int_equal(modules_file(ms, &id)->state, MODULE_NOT_ELF);
	unlink(path);
	snprintf(path, sizeof(path), "/dev/tty");
	assert_int_equal(modules_file(ms, &id)->state, MODULE_NOT_ELF);
	snprintf(path, sizeof(path), "/etc/passwd");
	assert_int_not_equal(modules_file(ms, &id)->state, MODULE_OPEN);
	/* a file by the right name, but not the inode that is mapped, nor its bytes: not used */
	snprintf(path, sizeof(path), "/lib/x86_64-linux-gnu/libz.so.1");
	id.dev_major = id.dev_minor = id.ino = 1;
	assert_int_equal(modules_file(ms, &id)->state, MODULE_CHANGED);
	/* ... nor one of another build */
	id.ino = 0;
	id.build_id_len = 20;
	assert_int_equal(modules_file(ms, &id)->state, MODULE_CHANGED);
	modules_free(ms);
}

/* ---- samples to records ---- */

__attribute__((noinline)) static void *here(void)
{
	return __builtin_return_address(0);
}

static void put_counter(void *ctx, const char *name, uint64_t value, bool loss)
{
	if (!strcmp(name, "stacks unwound"))
		*(uint64_t *)ctx = value;
}

struct walks {
	uint64_t samples, cut, ended, waits, waits_ended, bare;
};

static void put_walks(void *ctx, const char *name, uint64_t value, bool loss)
{
	struct walks *w = ctx;

	w->samples += strcmp(name, "stacks unwound") ? 0 : value;
	w->cut += strcmp(name, "stacks cut") ? 0 : value;
	w->ended += strncmp(name, "stacks ended: ", 14) ? 0 : value;
	w->waits += strcmp(name, "stacks of waits unwound") ? 0 : value;
	w->waits_ended += strncmp(name, "stacks of waits ended: ", 23) ? 0 : value;
	w->bare += strcmp(name, "samples without stack bytes") ? 0 : value;
}

/* Less of a stack is copied where a thread waits; memcached's header said of 163 such stacks, with none of 512 samples'
 * cut, that 163 stacks had ended. */
TEST(waits_are_counted_apart)
{
	struct store_writer *w = store_create(profile, 0, NULL);
	struct attr_options o = { .no_cache = true };
	struct attr *a = attr_new(w, &o, NULL);
	struct sample s = { .kind = SAMPLE_OFF,
			    .valid = SV_TIME | SV_IP | SV_REGS,
			    .pid = (uint32_t)getpid(),
			    .tid = (uint32_t)getpid(),
			    .time = 1 };
	struct walks n = { 0 };

	assert_non_null(a);
	assert_int_equal(attr_attach(a, s.pid, NULL), 0);
	s.ip = s.regs[WREG_IP] = (uint64_t)(uintptr_t)here();
	s.regs[WREG_SP] = (uint64_t)(uintptr_t)__builtin_frame_address(0) - 256;
	assert_int_not_equal(attr_stack(a, &s), 0);
	attr_lasting_counters(a, put_walks, &n);
	assert_true(!n.samples && !n.cut && !n.ended && !n.bare && n.waits == 1 && n.waits_ended == 1);
	s.kind = SAMPLE_TICK;
	assert_int_not_equal(attr_stack(a, &s), 0);
	n = (struct walks){ 0 };
	attr_lasting_counters(a, put_walks, &n);
	assert_true(n.samples == 1 && n.ended == 1 && n.bare == 1 && n.waits == 1 && n.waits_ended == 1);
	attr_free(a);
	assert_int_equal(store_close(w, NULL), 0);
}

struct seen {
	uint32_t processes, mappings, modules, stacks, symbols, functions;
	bool read_frame, self_frame;
};

static void read_back(struct seen *n)
{
	struct store_reader *r = store_open(profile, NULL);
	struct store_chunk c;
	uint32_t self = 0, kernel = 0, fn_self = 0, fn_read = 0;

	assert_non_null(r);
	while (store_next(r, &c, NULL) > 0) {
		const uint8_t *rec;
		size_t size;

		for (uint32_t i = 0; c.rec_size && i < c.count; i++) {
			struct fmt_function f;
			struct fmt_module m;

			if (c.section == FMT_FUNCTION) {
				store_rec(&c, i, &f, sizeof(f));
				n->functions++;
				if (!strcmp(store_str(r, f.name), "test_records"))
					fn_self = f.id;
				if (!strcmp(store_str(r, f.name), "[kernel:read]"))
					fn_read = f.id;
			} else if (c.section == FMT_MODULE) {
				store_rec(&c, i, &m, sizeof(m));
				n->modules++;
				if (m.kind == FMT_MOD_KERNEL)
					kernel = m.id;
				if (strstr(store_str(r, m.path), "/u-attr"))
					self = m.id;
			}
			n->processes += c.section == FMT_PROCESS;
			n->mappings += c.section == FMT_MAPPING;
		}
		while (!c.rec_size && (rec = store_next_var(&c, &size))) {
			struct fmt_symbol sym;
			struct fmt_inline inl;

			n->stacks += c.section == FMT_STACK;
			if (c.section != FMT_SYMBOL)
				continue;
			n->symbols++;
			memcpy(&sym, rec, sizeof(sym));
			assert_true(sym.count >= 1 && size >= sizeof(sym) + sym.count * sizeof(inl));
			memcpy(&inl, rec + sizeof(sym) + (sym.count - 1) * sizeof(inl), sizeof(inl));
			n->self_frame |= sym.module == self && inl.function == fn_self && fn_self;
			n->read_frame |= sym.module == kernel && inl.function == fn_read && fn_read && sym.addr == 0;
		}
	}
	store_reader_free(r);
}

TEST(test_records)
{
	struct store_writer *w = store_create(profile, 0, NULL);
	struct attr_options o = { .no_cache = true };
	struct attr *a = attr_new(w, &o, NULL);
	struct sample s = { .kind = SAMPLE_TICK,
			    .valid = SV_TIME | SV_IP,
			    .pid = (uint32_t)getpid(),
			    .tid = (uint32_t)getpid(),
			    .time = 1 };
	uint32_t one, module;
	struct seen n = { 0 };
	struct place where;
	uint64_t addr, unwound = 9;

	assert_non_null(a);
	assert_int_equal(attr_attach(a, s.pid, NULL), 0);
	s.ip = (uint64_t)(uintptr_t)here();
	one = attr_stack(a, &s);
	assert_int_not_equal(one, 0);
	assert_int_equal(attr_stack(a, &s), one);
	/* looked up once: who wants the place gets what the stack began with */
	assert_true(procmap_lookup_quiet(attr_procmaps(a), s.pid, s.ip, &where));
	assert_non_null(attr_leaf(a));
	assert_ptr_equal(attr_leaf(a)->module, where.module);
	assert_int_equal(attr_leaf(a)->vaddr, where.vaddr);
	/* what was found while the sample was fresh is not searched again, as long as the mappings are the same */
	procmap_keep(attr_procmaps(a), s.pid, s.ip, &where);
	assert_int_equal(attr_stack(a, &s), one);
	assert_int_equal(procmap_counters(attr_procmaps(a))->kept, 1);
	assert_int_equal(attr_leaf(a)->vaddr, where.vaddr);
	procmap_process(attr_procmaps(a), s.pid)->mutations++;
	assert_int_equal(attr_stack(a, &s), one);
	assert_int_equal(procmap_counters(attr_procmaps(a))->kept, 1);
	s.flags = SF_KERNEL;
	s.valid = SV_TIME | SV_SYSCALL;
	s.syscall = 0;
	assert_int_not_equal(attr_stack(a, &s), one);
	assert_null(attr_leaf(a));
	assert_true(attr_code(a, s.pid, (uint64_t)(uintptr_t)strtoul, &module, &addr));
	assert_false(attr_code(a, s.pid, 8, &module, &addr));
	assert_int_equal(module, 0);
	assert_int_equal(attr_finish(a, NULL), 0);
	attr_counters(a, put_counter, &unwound);
	assert_int_equal(unwound, 0);
	attr_free(a);
	assert_int_equal(store_close(w, NULL), 0);
	read_back(&n);
	assert_int_equal(n.processes, 1);
	assert_true(n.mappings > 5);
	assert_int_equal(n.stacks, 2);
	assert_int_equal(n.symbols, 3);
	assert_true(n.self_frame);
	assert_true(n.read_frame);
}

/* Ends before anything could be read: said, not invented. */
/* ---- profiles that follow each other ---- */

static void one_process(struct attr *a, uint32_t pid, uint64_t now, uint32_t file)
{
	char path[48];
	struct sample s = { .kind = SAMPLE_FORK, .time = now, .pid = pid, .ppid = 4000000, .tid = pid };

	snprintf(path, sizeof(path), "/nowhere/%u", file);
	assert_int_equal(attr_event(a, &s), 0);
	s = (struct sample){ .kind = SAMPLE_COMM, .flags = SF_EXEC, .time = now, .pid = pid, .tid = pid, .text = path };
	assert_int_equal(attr_event(a, &s), 0);
	s = mmap_event(pid, 0x10000, 0x8000, path);
	s.time = now;
	assert_int_equal(attr_event(a, &s), 0);
	s = mmap_event(pid, 0x20000, 0x8000, "//anon");
	s.time = now;
	assert_int_equal(attr_event(a, &s), 0);
	for (uint64_t ip = 0x10010; ip < 0x30000; ip += 0x10000) {
		s = (struct sample){
			.kind = SAMPLE_TICK, .valid = SV_TIME | SV_IP, .pid = pid, .tid = pid, .time = now, .ip = ip
		};
		assert_int_not_equal(attr_stack(a, &s), 0);
	}
}

static void next_profile(struct attr *a, struct store_writer **w)
{
	struct store_writer *next = store_create(profile, 0, NULL);
	struct naming *old = attr_next(a, next);

	assert_non_null(old);
	assert_int_equal(attr_name_all(a, old, NULL), 0);
	naming_free(old);
	assert_int_equal(store_close(*w, NULL), 0);
	*w = next;
}

/* 2000 processes, each of a file of its own and with generated code, as containers come and go beside one that stays:
 * a profile has the modules of its own time. */
TEST(test_rotations)
{
	struct store_writer *w = store_create(profile, 0, NULL);
	struct attr_options o = { .no_cache = true, .offline = true };
	struct attr *a = attr_new(w, &o, NULL);
	uint64_t now = 1000000000, addr;
	uint32_t stays, module;
	struct seen n = { 0 };

	one_process(a, 4000000, now, 0);
	assert_true(attr_place(a, 4000000, 0x10010, &stays, &addr));
	for (uint32_t i = 1; i <= 2000; i++, now += 5000000) {
		struct sample exit = {
			.kind = SAMPLE_EXIT, .time = now + 1000000, .pid = 4000000 + i, .tid = 4000000 + i
		};

		one_process(a, exit.pid, now, i);
		assert_int_equal(attr_event(a, &exit), 0);
		if (i % 200 == 0)
			attr_tick(a, now);
		if (i % 500 == 0)
			next_profile(a, &w);
	}
	/* with those of the last two seconds, as samples may come late */
	assert_true(modules_count(attr_modules(a)) < 2500);
	attr_tick(a, now + 5000000000);
	next_profile(a, &w);
	assert_int_equal(modules_count(attr_modules(a)), 2);
	/* what stays keeps its id, and is told again */
	assert_true(attr_place(a, 4000000, 0x10010, &module, &addr));
	assert_int_equal(module, stays);
	assert_int_equal(addr, 0x10);
	one_process(a, 4000001, now + 5000000000, 7);
	assert_int_equal(modules_count(attr_modules(a)), 4);
	assert_int_equal(attr_finish(a, NULL), 0);
	attr_free(a);
	assert_int_equal(store_close(w, NULL), 0);
	read_back(&n);
	assert_int_equal(n.modules, 3); /* nothing names the generated code of the one that stays */
	assert_int_equal(n.stacks, 2);
	assert_int_equal(n.symbols, 2);
}

static uint64_t end_of_heap(void)
{
	struct store_reader *r = store_open(profile, NULL);
	struct store_chunk c;
	uint64_t end = 0;

	assert_non_null(r);
	while (store_next(r, &c, NULL) > 0)
		for (uint32_t i = 0; c.section == FMT_MAPPING && i < c.count; i++) {
			struct fmt_mapping m;

			store_rec(&c, i, &m, sizeof(m));
			if (m.name && !strcmp(store_str(r, m.name), "[heap]") && m.end > end)
				end = m.end;
		}
	store_reader_free(r);
	return end;
}

/* No event tells of brk(): each profile has the heap as long as it is, also one that begins later. */
TEST(test_heap_that_grows)
{
	struct store_writer *w = store_create(profile, 0, NULL);
	struct attr_options o = { .no_cache = true };
	struct attr *a = attr_new(w, &o, NULL);
	struct sample s = { .kind = SAMPLE_TICK,
			    .valid = SV_TIME | SV_IP,
			    .pid = (uint32_t)getpid(),
			    .tid = (uint32_t)getpid(),
			    .ip = (uintptr_t)here(),
			    .time = 1 };

	assert_int_equal(attr_attach(a, s.pid, NULL), 0);
	assert_true(sbrk(1 << 20) != (void *)-1);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_not_equal(attr_stack(a, &s), 0);
		attr_tick(a, i * 1000000000);
		next_profile(a, &w);
	}
	/* an empty one is there now */
	assert_int_equal(end_of_heap(), 0);
	assert_int_not_equal(attr_stack(a, &s), 0);
	attr_tick(a, 3000000000);
	assert_int_equal(attr_finish(a, NULL), 0);
	attr_free(a);
	assert_int_equal(store_close(w, NULL), 0);
	assert_true(end_of_heap() >= (uintptr_t)sbrk(0));
}

static bool has_function(const char *name)
{
	struct store_reader *r = store_open(profile, NULL);
	struct store_chunk c;
	bool found = false;

	assert_non_null(r);
	while (store_next(r, &c, NULL) > 0)
		for (uint32_t i = 0; c.section == FMT_FUNCTION && i < c.count; i++) {
			struct fmt_function f;

			store_rec(&c, i, &f, sizeof(f));
			found |= !strcmp(store_str(r, f.name), name);
		}
	store_reader_free(r);
	return found;
}

/* What is killed after this has them. */
TEST(test_jit_names_before_the_end)
{
	struct store_writer *w = store_create(profile, 0, NULL);
	struct attr_options o = { .no_cache = true };
	struct attr *a = attr_new(w, &o, NULL);
	uint32_t pid = (uint32_t)getpid();
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sample s = { .kind = SAMPLE_TICK, .valid = SV_TIME | SV_IP, .pid = pid, .tid = pid, .time = 1 };
	char map[48];
	FILE *f;

	snprintf(map, sizeof(map), "/tmp/perf-%d.map", getpid());
	f = fopen(map, "wx");
	assert_non_null(f);
	fprintf(f, "%lx 100 early_code\n", (unsigned long)code);
	fflush(f);
	assert_int_equal(attr_attach(a, pid, NULL), 0);
	s.ip = (uint64_t)(uintptr_t)code + 0x10;
	assert_int_not_equal(attr_stack(a, &s), 0);
	s.ip += 0x100;
	assert_int_not_equal(attr_stack(a, &s), 0);
	assert_int_equal(attr_name_more(a, NULL, NULL), 0);
	assert_int_equal(store_flush(w, NULL), 0);
	assert_true(has_function("early_code"));
	/* what has no name by then gets it later */
	fprintf(f, "%lx 100 later_code\n", (unsigned long)code + 0x100);
	fclose(f);
	assert_int_equal(attr_name_more(a, NULL, NULL), 0);
	assert_int_equal(store_flush(w, NULL), 0);
	unlink(map);
	assert_true(has_function("later_code"));
	attr_free(a);
	store_close(w, NULL);
	munmap(code, 4096);
}

static bool count_down(void *left)
{
	return !(*(int *)left)--;
}

/* What a recording that is due to end leaves unnamed is named later, and once. */
TEST(test_enough_names)
{
	struct store_writer *w = store_create(profile, 0, NULL);
	struct attr *a = attr_new(w, NULL, NULL);
	uint32_t pid = (uint32_t)getpid();
	struct sample s = { .kind = SAMPLE_TICK,
			    .valid = SV_TIME | SV_IP,
			    .pid = pid,
			    .tid = pid,
			    .time = 1,
			    .ip = (uint64_t)(uintptr_t)test_enough_names + 4 };
	int left = 0;

	assert_int_equal(attr_attach(a, pid, NULL), 0);
	assert_int_not_equal(attr_stack(a, &s), 0);
	assert_int_equal(attr_name_more(a, count_down, &left), 0);
	assert_int_equal(store_flush(w, NULL), 0);
	assert_false(has_function("test_enough_names"));
	left = 100000;
	assert_int_equal(attr_name_more(a, count_down, &left), 0);
	assert_int_equal(store_flush(w, NULL), 0);
	assert_true(has_function("test_enough_names"));
	assert_in_range(left, 0, 99999);
	attr_free(a);
	store_close(w, NULL);
}

TEST(test_gone)
{
	struct store_writer *w = store_create(profile, 0, NULL);
	struct attr *a = attr_new(w, NULL, NULL);
	struct err e = { 0 };
	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_int_equal(attr_attach(a, 4000000, &e), -ESRCH);
	assert_non_null(strstr(e.text, "4000000"));
	usleep(50000);
	assert_int_equal(attr_attach(a, (uint32_t)child, &e), -ESRCH); /* a zombie */
	waitpid(child, NULL, 0);
	attr_free(a);
	store_close(w, NULL);
}

int main(void)
{
	return RUN_TESTS(setup, teardown);
}
