// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The second opinion on the exact engine: rebuilds counts, `quad` and `ke` edges from the text that
 *
 *     valgrind --tool=lackey --trace-mem=yes --trace-syscalls=yes --trace-signals=yes \
 *         --basic-counts=no PROGRAM
 *
 * prints, with a shadow memory, a call stack, a symbol reader and an instruction decoder of its own.
 * It shares no code with user/exact. Rules and known differences: README.md beside this file.
 *
 *     valgrind ... 2>&1 >/dev/null | lackey [--stack include|exclude] [--chunk 1|4|8]
 *                                           [--select F,G...] [--attribute self|main] [--fold]
 *                                           [--start-at FN:N] [--maps FILE] MAIN
 *
 * MAIN is the program's file. Output: tab-separated lines `total`, `fn`, `quad`, `ke`.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lackey.h"

static struct {
	bool stack_included, fold, owners; /* owners: accesses belong to a function further up */
	bool main_image;
	unsigned int chunk;
	const char *select, *maps, *main_path, *start_at;
	unsigned int start_n;
} want = { .stack_included = true, .chunk = 4 };

static struct counts total;
static uint64_t stack_low, stack_high;
static long tracer_pid;

/* ---- shadow memory: per byte the last writer; per chunk, for `ke`, writer and last reader ---- */

struct page {
	uint32_t writer[4096];
	uint32_t chunk_writer[4096];
	uint64_t chunk_reader[4096]; /* invocation; 0: nobody since the last write */
};
static struct table pages;

static struct page *page_of(uint64_t addr, bool make)
{
	uint64_t *slot = table_at(&pages, (addr >> 12) + 1, make);

	if (!slot)
		return NULL;
	if (!*slot && make)
		*slot = (uint64_t)(uintptr_t)xcalloc(1, sizeof(struct page));
	return (struct page *)(uintptr_t)*slot;
}

/* ---- the call stack ---- */

struct frame {
	uint64_t slot;       /* where the return address lies */
	uint32_t function;   /* what runs in it now */
	uint32_t owner;      /* whom its accesses belong to: itself, or the selected one around it */
	uint64_t invocation; /* of owner */
	uint32_t outer_owner;
	uint64_t outer_invocation;
};

static struct frame *frames;
static size_t depth, frame_room;
static uint64_t invocations;
static struct insn *now; /* the instruction being executed */
static uint32_t now_function;
static bool call_pending; /* a call has pushed, its callee has not begun */

/* What was counted goes; who wrote stays, as one who did so before. */
static void start_counting(void)
{
	uint32_t before = function_id("(before attach)", "");

	memset(&total, 0, sizeof(total));
	forget_counts();
	for (size_t i = 0; i < pages.cap; i++) {
		struct page *p = pages.key[i] ? (struct page *)(uintptr_t)pages.value[i] : NULL;

		for (size_t k = 0; p && k < 4096; k++) {
			p->writer[k] = p->writer[k] ? before : 0;
			p->chunk_writer[k] = p->chunk_writer[k] ? before : 0;
			p->chunk_reader[k] = 0;
		}
	}
}

static void enter(struct frame *f, uint32_t function)
{
	if (want.start_n && !strcmp(functions[function].name, want.start_at) && !--want.start_n)
		start_counting();
	functions[function].calls++;
	f->function = function;
	if (want.owners && !functions[function].selected) {
		f->owner = f->outer_owner;
		f->invocation = f->outer_invocation;
	} else {
		f->owner = function;
		f->invocation = ++invocations;
	}
}

#define SIGNAL_SLOT (UINT64_MAX - 1) /* above every address: neither calls nor returns end it */

/* Until the callee's first instruction the new frame is still the caller's: so are linkage stubs. */
static void push_frame(uint64_t slot)
{
	struct frame *f;

	if (depth == frame_room)
		frames = xrealloc(frames, (frame_room = frame_room ? 2 * frame_room : 1024) * sizeof(*frames));
	f = &frames[depth++];
	*f = depth > 1 ? f[-1] : (struct frame){ 0 };
	f->slot = slot;
	f->outer_owner = f->owner;
	f->outer_invocation = f->invocation;
}

static bool unwind_to(uint32_t function)
{
	for (size_t d = depth; d-- > 0;)
		if (frames[d].function == function) {
			depth = d + 1;
			return true;
		}
	return false;
}

static void see_instruction(uint64_t addr)
{
	struct insn *i = insn_at(addr);

	if (!depth) {
		push_frame(UINT64_MAX);
		call_pending = true;
	}
	if (!i->stub && (call_pending || frames[depth - 1].function != i->function)) {
		/* neither call nor return: into the middle of a function that waits, it is a longjmp; else a
		 * tail call, or a signal handler */
		if (call_pending || i->entry || !unwind_to(i->function))
			enter(&frames[depth - 1], i->function);
		call_pending = false;
	}
	now = i;
	now_function = i->stub ? frames[depth - 1].function : i->function;
	total.instructions++;
	functions[now_function].self.instructions++;
}

/* ---- accesses ---- */

static struct frame *current(void)
{
	return &frames[depth - 1];
}

static uint32_t account(void)
{
	return want.owners ? current()->owner : now_function;
}

static void quad_read(uint64_t addr, unsigned int size, uint32_t reader)
{
	for (unsigned int b = 0; b < size; b++) {
		uint32_t writer = page_of(addr + b, true)->writer[(addr + b) & 4095];

		edge_add(&quad, writer, reader, 1, addr + b);
		unique_add(&out_set, writer, addr + b, 1, &functions[writer].out_unique);
	}
}

static void ke_read(uint64_t addr, unsigned int size, uint32_t reader, uint64_t invocation)
{
	for (uint64_t c = addr / want.chunk; c <= (addr + size - 1) / want.chunk; c++) {
		struct page *p = page_of(c * want.chunk, true);
		size_t at = (c * want.chunk & 4095) / want.chunk;

		if (p->chunk_reader[at] == invocation)
			continue;
		p->chunk_reader[at] = invocation;
		edge_add(&ke, p->chunk_writer[at], reader, 1, 0);
	}
}

static void mark_written(uint64_t addr, uint64_t size, uint32_t writer)
{
	for (uint64_t a = addr; a < addr + size; a++)
		page_of(a, true)->writer[a & 4095] = writer;
	for (uint64_t c = addr / want.chunk; size && c <= (addr + size - 1) / want.chunk; c++) {
		struct page *p = page_of(c * want.chunk, true);
		size_t at = (c * want.chunk & 4095) / want.chunk;

		p->chunk_writer[at] = writer;
		p->chunk_reader[at] = 0;
	}
}

static void forget(uint64_t addr, uint64_t size)
{
	/* pages only: mappings come and go in whole pages */
	for (uint64_t a = addr & ~4095ull; a < addr + size; a += 4096) {
		struct page *p = page_of(a, false);

		if (p)
			memset(p, 0, sizeof(*p));
	}
}

static bool counts(uint64_t addr)
{
	return want.stack_included || addr < stack_low || addr >= stack_high;
}

static void see_load(uint64_t addr, unsigned int size)
{
	struct counts *f = &functions[now_function].self;
	uint32_t reader;

	total.loads++;
	total.load_bytes += size;
	f->loads++;
	f->load_bytes += size;
	if (now->kind == INSN_RET) {
		while (depth > 1 && current()->slot <= addr)
			depth--;
		/* the load of the return address still belongs to the one that returns: restored below */
	}
	if (!counts(addr))
		return;
	reader = account();
	if (now->kind == INSN_RET && want.owners)
		reader = now->ret_owner;
	unique_add(&read_set, reader, addr, size, &functions[reader].in_unique);
	functions[reader].in += size;
	quad_read(addr, size, reader);
	ke_read(addr, size, reader, now->kind == INSN_RET ? now->ret_invocation : current()->invocation);
}

static void see_store(uint64_t addr, unsigned int size)
{
	struct counts *f = &functions[now_function].self;
	uint32_t writer;

	if (!stack_high)
		find_stack(addr, &stack_low, &stack_high);
	total.stores++;
	total.store_bytes += size;
	f->stores++;
	f->store_bytes += size;
	writer = account();
	mark_written(addr, size, writer);
	if (now->kind == INSN_CALL) {
		/* frames below are dead: left by longjmp, or by a thread of which the text says nothing */
		while (depth > 1 && current()->slot <= addr)
			depth--;
		push_frame(addr);
		call_pending = true;
	}
}

/* ---- system calls ---- */

static const struct syscall_effect {
	const char *printed, *name; /* as Valgrind prints it, as it is called */
	int buffer;                 /* argument that points to what the kernel writes or reads */
	int length;                 /* bytes; LEN_RESULT; LEN_ARG + number of the argument */
	bool reads;                 /* the kernel reads it */
} effects[] = {
	{ "sys_read", "read", 1, LEN_RESULT, false },
	{ "sys_pread64", "pread64", 1, LEN_RESULT, false },
	{ "sys_getrandom", "getrandom", 0, LEN_RESULT, false },
	{ "sys_readlink", "readlink", 1, LEN_RESULT, false },
	{ "sys_readlinkat", "readlinkat", 2, LEN_RESULT, false },
	{ "sys_getcwd", "getcwd", 0, LEN_RESULT, false },
	{ "sys_newfstatat", "newfstatat", 2, 144, false },
	{ "sys_newfstat", "fstat", 1, 144, false },
	{ "sys_newstat", "stat", 1, 144, false },
	{ "sys_clock_gettime", "clock_gettime", 1, 16, false },
	{ "sys_gettimeofday", "gettimeofday", 0, 16, false },
	{ "sys_newuname", "uname", 0, 390, false },
	{ "sys_prlimit64", "prlimit64", 3, 16, false },
	{ "sys_rt_sigaction", "rt_sigaction", 2, 32, false },
	{ "sys_rt_sigprocmask", "rt_sigprocmask", 2, LEN_ARG + 3, false },
	{ "sys_wait4", "wait4", 1, 4, false },
	{ "sys_write", "write", 1, LEN_RESULT, true },
	{ "sys_pwrite64", "pwrite64", 1, LEN_RESULT, true },
};

struct pending {
	char name[32];
	uint64_t arg[6];
};
static struct pending pending[64], *last_syscall;

static uint32_t kernel_function(const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), "(kernel:%s)", name);
	return function_id(text, "");
}

/* The interrupted function's frame waits below the handler's. */
static void begin_signal(void)
{
	if (!depth)
		return;
	push_frame(SIGNAL_SLOT);
	call_pending = true;
}

static void end_signal(void)
{
	for (size_t d = depth; d-- > 1;)
		if (frames[d].slot == SIGNAL_SLOT) {
			depth = d;
			return;
		}
}

static void finish_syscall(const struct pending *s, uint64_t result)
{
	if (!strcmp(s->name, "sys_mmap")) {
		forget(result, s->arg[1]);
		return;
	}
	if (!strcmp(s->name, "sys_munmap")) {
		forget(s->arg[0], s->arg[1]);
		return;
	}
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
		const struct syscall_effect *e = &effects[i];
		uint64_t addr, size;

		if (strcmp(e->printed, s->name))
			continue;
		addr = s->arg[e->buffer];
		size = e->length == LEN_RESULT ? result
		       : e->length >= LEN_ARG  ? s->arg[e->length - LEN_ARG]
					       : (uint64_t)e->length;
		if (!addr || size > 1u << 30)
			return;
		if (!e->reads) {
			mark_written(addr, size, kernel_function(e->name));
			return;
		}
		invocations++;
		for (uint64_t b = 0; b < size; b++)
			if (counts(addr + b)) {
				quad_read(addr + b, 1, kernel_function(e->name));
				ke_read(addr + b, 1, kernel_function(e->name), invocations);
			}
		return;
	}
}

/* "SYSCALL[pid,tid](nr) sys_read ( 3, 0x10, 8 ) --> [async] ... " and "SYSCALL[pid,tid](nr) ... [async] -->
 * Success(0x8)" */
static void see_syscall(const char *line)
{
	const char *p = strchr(line, ','), *success;
	unsigned long tid = p ? strtoul(p + 1, NULL, 10) % 64 : 0;
	struct pending *s = &pending[tid];

	p = strchr(line, ')');
	if (!p)
		return;
	p += 1 + (p[1] == ' ');
	if (strncmp(p, "... ", 4)) {
		size_t n = strcspn(p, " (");

		memset(s, 0, sizeof(*s));
		snprintf(s->name, sizeof(s->name), "%.*s", (int)n, p);
		p = strchr(p, '(');
		for (int i = 0; p && i < 6; i++) {
			s->arg[i] = strtoull(p + 1, NULL, 0);
			p = strchr(p + 1, ',');
		}
	}
	if (!strcmp(s->name, "sys_rt_sigreturn"))
		end_signal();
	last_syscall = s;
	success = strstr(line, "Success(");
	if (success)
		finish_syscall(s, strtoull(success + 8, NULL, 16));
}

/* What Valgrind says of signals can come between a call and its result: "[sync] --> Success(0x0)" */
static void see_rest(const char *line)
{
	const char *success = strstr(line, " Success(");

	if (success && last_syscall)
		finish_syscall(last_syscall, strtoull(success + 9, NULL, 16));
}

/* ---- the text ---- */

static void see_line(char *line)
{
	char *comma;
	uint64_t addr;
	unsigned int size;

	if (line[0] == 'S' && !strncmp(line, "SYSCALL[", 8)) {
		see_syscall(line);
		return;
	}
	if (line[0] == '=' || line[0] == '-') {
		if (!tracer_pid) {
			tracer_pid = strtol(line + 2, NULL, 10);
			objects_from(want.maps, tracer_pid, want.main_path);
		}
		if (strstr(line, " push_signal_frame "))
			begin_signal();
		return;
	}
	if (line[0] == '[' || !strncmp(line, " --> ", 5)) {
		see_rest(line);
		return;
	}
	if ((line[0] != 'I' || line[1] != ' ') && (line[0] != ' ' || !strchr("LSM", line[1]) || line[2] != ' '))
		return;
	addr = strtoull(line + 3, &comma, 16);
	if (*comma != ',')
		return;
	size = (unsigned int)strtoul(comma + 1, NULL, 10);
	if (line[0] == 'I') {
		see_instruction(addr);
		return;
	}
	if (!now || !size)
		return;
	if (now->kind == INSN_RET) {
		now->ret_owner = want.owners ? current()->owner : now_function;
		now->ret_invocation = current()->invocation;
	}
	if (line[1] != 'S')
		see_load(addr, size);
	if (line[1] != 'L')
		see_store(addr, size);
}

static void read_text(void)
{
	static char buf[1 << 16];
	size_t held = 0;
	ssize_t n;

	while ((n = read(STDIN_FILENO, buf + held, sizeof(buf) - 1 - held)) > 0) {
		char *p = buf, *nl;

		held += (size_t)n;
		buf[held] = 0;
		while ((nl = memchr(p, '\n', held - (size_t)(p - buf)))) {
			*nl = 0;
			see_line(p);
			p = nl + 1;
		}
		held -= (size_t)(p - buf);
		memmove(buf, p, held);
		if (held == sizeof(buf) - 1)
			held = 0; /* a line of 64 KB is none of ours */
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--stack") && i + 1 < argc)
			want.stack_included = strcmp(argv[++i], "exclude");
		else if (!strcmp(argv[i], "--chunk") && i + 1 < argc)
			want.chunk = (unsigned int)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--select") && i + 1 < argc)
			want.select = argv[++i];
		else if (!strcmp(argv[i], "--maps") && i + 1 < argc)
			want.maps = argv[++i];
		else if (!strcmp(argv[i], "--attribute") && i + 1 < argc)
			want.main_image = !strcmp(argv[++i], "main");
		else if (!strcmp(argv[i], "--start-at") && i + 1 < argc && strchr(argv[i + 1], ':')) {
			char *colon = strchr(argv[++i], ':');

			*colon = 0;
			want.start_at = argv[i];
			want.start_n = (unsigned int)atoi(colon + 1);
		} else if (!strcmp(argv[i], "--fold"))
			want.fold = true;
		else
			want.main_path = argv[i];
	}
	if (!want.main_path || (want.chunk != 1 && want.chunk != 4 && want.chunk != 8)) {
		fprintf(stderr,
			"usage: lackey [--stack include|exclude] [--chunk 1|4|8] [--select F,G] [--attribute self|main] [--fold] [--start-at FN:N] [--maps FILE] MAIN < TRACE\n");
		return 2;
	}
	want.owners = want.select || want.main_image;
	functions_init(want.select, want.main_image, want.fold);
	read_text();
	if (!total.instructions) {
		fprintf(stderr, "lackey: the input holds no trace\n");
		return 1;
	}
	print_all(&total, want.chunk);
	return 0;
}
