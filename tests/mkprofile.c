// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a profile with a known answer, without recording anything: what the reading commands are
 * tested on. mkprofile FILE [samples=N] [threads=N] [stacks=N] [end=0] [loss=N] [cost=0]
 * [level=N]
 *
 * Of every 100 samples (all of 10 ms): 50 deflate_slow < compress_file < main, 20 crc32 < compress_file
 * < main, 10 is_space inlined into parse < main, 5 parse < main, 8 the read system call < load < main,
 * 4 libmystery.so+0x1234 < main, 2 walk < walk < walk < main, 1 deflate_slow alone, stack cut.
 * stacks=N functions=N: N random stacks over so many functions (2,000) instead, for size. accesses=N: besides, N reads
 * of what a store wrote before, each function's by the three that follow it; plant=P: P of 1,000 of them (30) are what
 * the second function reads of the first, seed=N draws them. raw=1: chunks unpacked, for
 * fuzzing seeds. exact=1: figures of the exact engine instead of samples: work 700 of 1000
 * instructions, main 300 and all. counts=1: execution counts, too: a loop in main runs 2,000 times a second
 * (measured), calls compress_file each time, which calls crc32 once (65,536 iterations of 4 instructions)
 * and deflate_slow 64 times (258 iterations of 10); parse has time alone. lie=N: the 64 is measured as N. bursts=N:
 * bursts saw the loop of 258 turn N times, of activations whole=N in each of them (8); and another one, of crc32's,
 * that windows say turns 5 times whenever it is entered, which is every other time. elf=PATH id=BUILDID addr=N: every
 * sample at this address of this file, without a symbol, as a recording leaves it that was killed; content=1: with what
 * tells its contents. helper=1: the
 * samples of parse alone are another process's, 4243 by the name of helper. hostile=1:
 * functions, files, objects and threads with names that harm a terminal or a reader, in an exact run with samples.
 * hostile=2: its first function passes all bytes to itself. hw=pebs|ibs|spe: loads and stores besides, as a processor
 * samples them and a recording stores them: latency, where the data came from, physical address, page; main stores
 * what deflate_slow loads.
 *
 * dump=1 writes nothing, but copies all of FILE's unpacked sections to stdout.
 *
 * pids=1 writes nothing, but lists what FILE says of whom: a line "SECTION PID RECORDS" each.
 *
 * sections=1 writes nothing, but lists how many records FILE has: a line "SECTION RECORDS" each, by number.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/read.h"
#include "store/write.h"
#include "util/openfile.h"

enum { M_APP = 1, M_LIBZ, M_KERNEL, M_MYSTERY };
enum { F_MAIN = 1, F_COMPRESS, F_DEFLATE, F_CRC32, F_PARSE, F_IS_SPACE, F_LOAD, F_READ, F_WALK };
enum { S_DEFLATE = 1, S_CRC32, S_SPACE, S_PARSE, S_READ, S_MYSTERY, S_WALK, S_CUT };

#define HELPER 4243 /* pid */

static struct store_writer *w;

static void module(uint32_t id, uint32_t kind, const char *path)
{
	struct fmt_module m = {
		.id = id, .kind = kind, .path = store_string(w, path), .build_id_len = id == M_KERNEL ? 0 : 20
	};

	memset(m.build_id, (int)(0xa0 + id), sizeof(m.build_id));
	store_put(w, FMT_MODULE, &m, sizeof(m));
}

static void function(uint32_t id, const char *name, const char *object, const char *file, uint32_t line)
{
	struct fmt_function f = { .id = id,
				  .name = store_string(w, name),
				  .object = store_string(w, object),
				  .file = store_string(w, file),
				  .line = line };

	store_put(w, FMT_FUNCTION, &f, sizeof(f));
}

static void symbol(uint32_t mod, uint64_t addr, uint32_t inner, uint32_t outer, const char *file, uint32_t line)
{
	struct fmt_inline chain[2] = { { .function = inner, .file = store_string(w, file), .line = line },
				       { .function = outer, .file = store_string(w, file), .line = line + 100 } };
	struct fmt_symbol s = { .addr = addr, .module = mod, .count = outer ? 2 : 1 };

	store_put_var(w, FMT_SYMBOL, &s, sizeof(s), chain, s.count * (uint32_t)sizeof(chain[0]));
}

static void stack(uint32_t id, uint16_t flags, unsigned n, const struct fmt_frame *frames)
{
	struct fmt_stack s = { .id = id, .count = (uint16_t)n, .flags = flags };

	store_put_var(w, FMT_STACK, &s, sizeof(s), frames, n * (uint32_t)sizeof(*frames));
}

#define STACK(id, flags, ...)                                                                                          \
	stack(id, flags, sizeof((struct fmt_frame[]){ __VA_ARGS__ }) / sizeof(struct fmt_frame),                       \
	      (struct fmt_frame[]){ __VA_ARGS__ })

static void define_known(void)
{
	const struct fmt_frame in_main = { 0x1010, M_APP, 0 }, compress = { 0x1110, M_APP, 0 };

	module(M_APP, FMT_MOD_FILE, "/opt/app/bin/app");
	module(M_LIBZ, FMT_MOD_FILE, "/lib/x86_64-linux-gnu/libz.so.1.2.13");
	module(M_KERNEL, FMT_MOD_KERNEL, "[kernel]");
	module(M_MYSTERY, FMT_MOD_FILE, "/opt/app/lib/libmystery.so");
	function(F_MAIN, "main", "app", "src/main.c", 10);
	function(F_COMPRESS, "compress_file", "app", "src/compress.c", 20);
	function(F_DEFLATE, "deflate_slow", "libz.so.1.2.13", NULL, 0);
	function(F_CRC32, "crc32", "libz.so.1.2.13", NULL, 0);
	function(F_PARSE, "parse", "app", "src/parse.c", 30);
	function(F_IS_SPACE, "is_space", "app", "src/parse.h", 5);
	function(F_LOAD, "load", "app", "src/load.c", 40);
	function(F_READ, "[kernel:read]", "[kernel]", NULL, 0);
	function(F_WALK, "walk<std::map<int, \"a b\">>", "app", "src/walk.cc", 50);
	symbol(M_APP, 0x1010, F_MAIN, 0, "src/main.c", 12);
	symbol(M_APP, 0x1110, F_COMPRESS, 0, "src/compress.c", 25);
	symbol(M_LIBZ, 0x4970, F_DEFLATE, 0, NULL, 0);
	symbol(M_LIBZ, 0x2000, F_CRC32, 0, NULL, 0);
	symbol(M_APP, 0x1210, F_IS_SPACE, F_PARSE, "src/parse.h", 6);
	symbol(M_APP, 0x1220, F_PARSE, 0, "src/parse.c", 33);
	symbol(M_APP, 0x1310, F_LOAD, 0, "src/load.c", 44);
	symbol(M_KERNEL, 0, F_READ, 0, NULL, 0);
	symbol(M_APP, 0x1410, F_WALK, 0, "src/walk.cc", 55);
	STACK(S_DEFLATE, FMT_STACK_COMPLETE, { 0x4970, M_LIBZ, 0 }, compress, in_main);
	STACK(S_CRC32, FMT_STACK_COMPLETE, { 0x2000, M_LIBZ, 0 }, compress, in_main);
	STACK(S_SPACE, FMT_STACK_COMPLETE, { 0x1210, M_APP, 0 }, in_main);
	STACK(S_PARSE, FMT_STACK_COMPLETE, { 0x1220, M_APP, 0 }, in_main);
	STACK(S_READ, FMT_STACK_COMPLETE, { 0, M_KERNEL, 0 }, { 0x1310, M_APP, 0 }, in_main);
	STACK(S_MYSTERY, FMT_STACK_COMPLETE, { 0x1234, M_MYSTERY, 0 }, in_main);
	STACK(S_WALK, FMT_STACK_COMPLETE, { 0x1410, M_APP, 0 }, { 0x1410, M_APP, 0 }, { 0x1410, M_APP, 0 }, in_main);
	STACK(S_CUT, FMT_STACK_CUT, { 0x4970, M_LIBZ, 0 });
}

static uint32_t known_stack(unsigned long i)
{
	static const struct {
		unsigned below;
		uint32_t stack;
	} shares[] = {
		{ 50, S_DEFLATE }, { 70, S_CRC32 },   { 80, S_SPACE }, { 85, S_PARSE },
		{ 93, S_READ },    { 97, S_MYSTERY }, { 99, S_WALK },  { 100, S_CUT },
	};
	/* 37 and 100 share no factor: every hundred holds each residue once, spread out */
	unsigned r = (unsigned)(i * 37 % 100), k = 0;

	while (r >= shares[k].below)
		k++;
	return shares[k].stack;
}

static void define_random(unsigned stacks, unsigned functions)
{
	struct fmt_frame frames[24];
	char name[40];

	module(M_APP, FMT_MOD_FILE, "/opt/app/bin/app");
	for (unsigned f = 1; f <= functions; f++) {
		snprintf(name, sizeof(name), "function_%04u", f);
		function(f, name, "app", "src/many.c", f);
		for (unsigned k = 0; k < 16; k++)
			symbol(M_APP, f * 256 + k, f, 0, "src/many.c", f + k);
	}
	srandom(1);
	for (unsigned s = 1; s <= stacks; s++) {
		for (unsigned d = 0; d < 24; d++) {
			uint64_t addr = (1 + (unsigned)random() % functions) * 256;

			frames[d] = (struct fmt_frame){ .addr = addr + (unsigned)random() % 16, .module = M_APP };
		}
		stack(s, FMT_STACK_COMPLETE, 24, frames);
	}
}

static void put_access(unsigned f, uint64_t time, uint64_t addr, uint32_t direction)
{
	struct fmt_access a = { .time = time,
				.addr = addr,
				.ip = f * 256 + direction,
				.weight = 1000,
				.module = M_APP,
				.pid = 4242,
				.tid = 4242,
				.size = 8,
				.flags = direction };

	store_put(w, FMT_ACCESS, &a, sizeof(a));
}

/* Reads of what was stored just before: of the planted edge with its chance, else of any function by a later one. */
static void define_accesses(unsigned long n, unsigned functions, unsigned long planted, uint64_t duration)
{
	for (unsigned long i = 0; i < n; i++) {
		bool plant = (unsigned long)random() % 1000 < planted;
		unsigned from = 1 + (unsigned)random() % functions, after = 1 + (unsigned)random() % 3, to;
		uint64_t time = 1000000000ull + i * (duration / n), addr = 0x7f0000000000ull + (i % 100000) * 64;

		if (plant || (from == 1 && after == 1))
			from = plant ? 1 : 3, after = 1;
		to = (from + after - 1) % functions + 1;
		put_access(from, time, addr, FMT_A_STORE);
		put_access(to, time + 1, addr, FMT_A_LOAD);
	}
}

static const char *text(int argc, char **argv, const char *key)
{
	size_t n = strlen(key);

	for (int i = 2; i < argc; i++)
		if (!strncmp(argv[i], key, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
	return NULL;
}

/* As a recording does of a file that others cannot write. */
static uint64_t content_of(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t content = fd >= 0 && !fstat(fd, &st) ? openfile_content(fd, &st) : 0;

	if (fd >= 0)
		close(fd);
	return content;
}

static void define_elf(const char *path, const char *id, uint64_t addr, bool content)
{
	struct fmt_module m = { .id = M_APP, .kind = FMT_MOD_FILE, .path = store_string(w, path) };
	struct fmt_frame f = { .addr = addr, .module = M_APP };
	unsigned byte;

	for (; id && m.build_id_len < sizeof(m.build_id) && sscanf(id, "%2x", &byte) == 1; id += 2)
		m.build_id[m.build_id_len++] = (uint8_t)byte;
	m.content = content ? content_of(path) : 0;
	store_put(w, FMT_MODULE, &m, sizeof(m));
	stack(1, FMT_STACK_COMPLETE, 1, &f);
}

static void define_exact(void)
{
	const struct fmt_x_func f[] = {
		{ .function = 1, .scope = FMT_X_SELF, .calls = 1, .instructions = 300 },
		{ .function = 1, .scope = FMT_X_INCLUSIVE, .calls = 1, .instructions = 1000 },
		{ .function = 2, .scope = FMT_X_SELF, .calls = 7, .instructions = 700 },
		{ .function = 2, .scope = FMT_X_INCLUSIVE, .calls = 7, .instructions = 700 },
	};

	function(1, "main", "/opt/app/bin/app", "src/main.c", 10);
	function(2, "work", "/opt/app/bin/app", "src/main.c", 90);
	for (unsigned i = 0; i < 4; i++)
		store_put(w, FMT_X_FUNC, &f[i], sizeof(f[i]));
}

/* What a target may call its functions, files and threads. */
static const char *const hostile_names[] = {
	"<script>alert(1)</script>&amp;",
	"\"double\" 'single' \\back\\",
	"esc\033]0;owned\007\033[2J",
	"c1\xc2\x9b"
	"31m",
	"raw c1 \x9b"
	"31m",
	"broken\xff\xfe\xc3",
	"half\xe2\x80",
	"long form \xc0\xaf",
	"pair \xed\xa0\x80",
	"none \xef\xbf\xbf",
	"bidi\xe2\x80\xae\xe2\x81\xa6txt\xe2\x81\xa9",
	"two\nlines\r\nthree\vfour",
	"=HYPERLINK(\"http://x\")",
	"+1+1",
	"-2+3",
	"@SUM(A1)",
	"semi;colon",
	"tab\there",
	"]]>--><!--<?x?>",
	"del\x7f",
	"(7) a number",
	"{a|b}",
	"",
	"\xc3\xa9t\xc3\xa9",
};

static void define_hostile(bool selfish)
{
	const unsigned n = sizeof(hostile_names) / sizeof(hostile_names[0]);
	struct fmt_x_run run = { .instructions = 1000 * n,
				 .counted = 1000 * n,
				 .slice = 100,
				 .chunk = 4,
				 .has = FMT_X_HAS_QUAD | FMT_X_HAS_SLICES };
	char *huge = calloc(1, 100001);

	memset(huge, 'x', 100000);
	store_put(w, FMT_X_RUN, &run, sizeof(run));
	for (unsigned i = 0; i <= n; i++) {
		const char *name = i < n ? hostile_names[i] : huge;
		const struct fmt_frame f = { 0x1000 * (i + 1), i + 1, 0 };
		struct fmt_x_func self = { .function = i + 1, .scope = FMT_X_SELF, .calls = 1, .instructions = 1000 };
		struct fmt_x_edge edge = { .producer = i + 1,
					   .consumer = selfish ? i + 1 : (i + 1) % n + 1,
					   .bytes = { 1000, 0 } };
		struct fmt_x_slice slice = {
			.slice = i, .function = i + 1, .instructions = 100, .load_bytes = { 1000 - i, 0 }
		};
		struct fmt_counter c = { .name = store_string(w, name), .flags = FMT_C_IN_PART, .value = 1 };

		module(i + 1, FMT_MOD_FILE, name);
		function(i + 1, name, name, name, i + 1);
		symbol(i + 1, f.addr, i + 1, 0, name, 7);
		stack(i + 1, FMT_STACK_COMPLETE, 1, &f);
		store_put(w, FMT_X_FUNC, &self, sizeof(self));
		if (!selfish || !i)
			store_put(w, FMT_X_EDGE, &edge, sizeof(edge));
		store_put(w, FMT_X_SLICE, &slice, sizeof(slice));
		store_put(w, FMT_COUNTER, &c, sizeof(c));
		for (unsigned k = 0; k < 2; k++) {
			struct fmt_sample s = { .time = i * 10,
						.period = 1000,
						.pid = i + 1,
						.tid = i + 1,
						.stack = i + 1,
						.flags = k ? FMT_S_INSTRUCTIONS : 0 };
			struct fmt_process p = { .pid = i + 1, .comm = store_string(w, name) };

			store_put(w, FMT_PROCESS, &p, sizeof(p));
			store_put(w, FMT_SAMPLE, &s, sizeof(s));
		}
	}
	free(huge);
}

/* Exact figures of many functions, each called by the one before its half, ten edges and two paths each. */
static void define_wide(uint32_t n)
{
	struct fmt_x_run run = {
		.instructions = 1000ull * n, .counted = 1000ull * n, .chunk = 4, .has = FMT_X_HAS_QUAD | FMT_X_HAS_KE
	};

	store_put(w, FMT_X_RUN, &run, sizeof(run));
	module(1, FMT_MOD_FILE, "/opt/app");
	for (uint32_t i = 1; i <= n; i++) {
		struct fmt_x_func self = { .function = i, .scope = FMT_X_SELF, .calls = i, .compute = 7 * i };
		struct fmt_x_path path = { .id = i, .parent = i / 2, .function = i, .calls = i, .compute = 7 * i };
		char name[32];

		snprintf(name, sizeof(name), "function_%u", i);
		function(i, name, "app", "app.c", i);
		store_put(w, FMT_X_FUNC, &self, sizeof(self));
		store_put(w, FMT_X_PATH, &path, sizeof(path));
		for (uint32_t k = 0; k < 10; k++) {
			struct fmt_x_edge edge = { .producer = (i * 31 + k * 97) % n + 1,
						   .consumer = i,
						   .bytes = { 100 * k + i, 0 },
						   .ke_chunks = { 10 * k + i, 0 } };
			struct fmt_x_path_edge on_path = { .producer = edge.producer,
							   .consumer = i,
							   .bytes = { 100 * k + i, 0 },
							   .ke_chunks = { 10 * k + i, 0 } };

			store_put(w, FMT_X_EDGE, &edge, sizeof(edge));
			store_put(w, FMT_X_PATH_EDGE, &on_path, sizeof(on_path));
		}
	}
}

struct planned {
	uint32_t how, parent, child;
	double anchor, ratio;
	uint32_t flags, rival;
};

static void counts_link(uint32_t id, const struct planned *p)
{
	struct fmt_counts_link l = { .id = id,
				     .parent = p->parent,
				     .child = p->child,
				     .how = p->how,
				     .flags = p->flags,
				     .rival = p->rival,
				     .ratio = p->how == FMT_CL_ONCE ? p->ratio : 0,
				     .site = p->flags ? 0x1100 + id : 0 };

	store_put(w, FMT_COUNTS_LINK, &l, sizeof(l));
	for (unsigned i = 0; i < 60 && p->how != FMT_CL_ONCE && p->anchor > 0; i++) {
		struct fmt_counts_window win = { .armed = 1000 + 10 * i,
						 .ended = 1009 + 10 * i,
						 .link = id,
						 .pid = 4242,
						 .tid = 4242,
						 .anchor = p->anchor,
						 .child = p->anchor * p->ratio };

		/* windows scatter: by a tenth, and evenly */
		if (p->how != FMT_CL_TRIPS)
			win.child *= i & 1 ? 1.1 : 0.9;
		else
			win.least = win.most = p->ratio;
		store_put(w, FMT_COUNTS_WINDOW, &win, sizeof(win));
	}
}

/* shape: a table. */
static void define_counts(double lie, double bursts, double whole)
{
	const struct fmt_counts_func funcs[] = {
		{ .id = 1,
		  .module = M_APP,
		  .start = 0x1010,
		  .end = 0x1100,
		  .self_ns = 1e7,
		  .samples = 1,
		  .flags = FMT_CF_GRAPH | FMT_CF_COMPLETE },
		{ .id = 2,
		  .module = M_APP,
		  .start = 0x1110,
		  .end = 0x1200,
		  .self_ns = 1e7,
		  .samples = 1,
		  .flags = FMT_CF_GRAPH | FMT_CF_COMPLETE },
		{ .id = 3,
		  .module = M_LIBZ,
		  .start = 0x4970,
		  .end = 0x4a00,
		  .self_ns = 5e9,
		  .samples = 500,
		  .flags = FMT_CF_GRAPH | FMT_CF_COMPLETE },
		{ .id = 4,
		  .module = M_LIBZ,
		  .start = 0x2000,
		  .end = 0x2100,
		  .self_ns = 2e9,
		  .samples = 200,
		  .flags = FMT_CF_GRAPH | FMT_CF_COMPLETE },
		{ .id = 5,
		  .module = M_APP,
		  .start = 0x1220,
		  .end = 0x1300,
		  .self_ns = 1e9,
		  .samples = 100,
		  .flags = FMT_CF_VOLATILE },
	};
	const struct fmt_counts_node nodes[] = {
		{ .id = 1, .function = 1, .kind = FMT_CN_ENTRY, .addr = 0x1010, .instructions = 20 },
		{ .id = 2,
		  .function = 1,
		  .kind = FMT_CN_LOOP,
		  .depth = 1,
		  .addr = 0x1020,
		  .instructions = 30,
		  .loads = 5 },
		{ .id = 3, .function = 2, .kind = FMT_CN_ENTRY, .addr = 0x1110, .instructions = 40, .loads = 4 },
		{ .id = 4,
		  .function = 2,
		  .kind = FMT_CN_LOOP,
		  .depth = 1,
		  .addr = 0x1140,
		  .instructions = 12,
		  .loads = 2 },
		{ .id = 5, .function = 3, .kind = FMT_CN_ENTRY, .addr = 0x4970, .instructions = 20, .stores = 2 },
		{ .id = 6,
		  .function = 3,
		  .kind = FMT_CN_LOOP,
		  .depth = 1,
		  .addr = 0x4990,
		  .instructions = 10,
		  .loads = 3,
		  .load_bytes = 24 },
		{ .id = 7, .function = 4, .kind = FMT_CN_ENTRY, .addr = 0x2000, .instructions = 15 },
		{ .id = 8,
		  .function = 4,
		  .kind = FMT_CN_LOOP,
		  .depth = 1,
		  .addr = 0x2040,
		  .instructions = 4,
		  .loads = 1,
		  .load_bytes = 1,
		  .compute = 2 },
		{ .id = 9, .function = 4, .kind = FMT_CN_BLOCK, .addr = 0x2080, .instructions = 1 },
		{ .id = 10, .function = 4, .kind = FMT_CN_LOOP, .depth = 1, .addr = 0x20a0, .instructions = 1 },
	};
	const struct planned plan[] = {
		{ FMT_CL_RATIO, 1, 2, 0, 1, 0, 0 }, /* main is entered once: nobody can see that */
		{ FMT_CL_RATE, 0, 2, 0.01, 2000, 0, 0 },
		{ FMT_CL_ONCE, 2, 3, 0, 1, FMT_CL_CALL, 0 },
		{ FMT_CL_RATIO, 3, 4, 2, lie > 0 ? lie : 64, 0, 0 },
		{ FMT_CL_ONCE, 4, 5, 0, 1, FMT_CL_CALL, 0 },
		{ FMT_CL_TRIPS, 5, 6, 4, 258, 0, 0 },
		{ FMT_CL_ONCE, 3, 7, 0, 1, FMT_CL_CALL, 0 },
		{ FMT_CL_TRIPS, 7, 8, 4, 65536, 0, 0 },
		/* with bursts */
		{ FMT_CL_RATIO, 5, 6, 0, 0, 0, 0 },
		{ FMT_CL_REPLAY, 5, 6, whole, bursts, 0, 9 },
		{ FMT_CL_RATIO, 7, 9, 0, 0, 0, 0 },
		{ FMT_CL_REPLAY, 7, 9, 2 * whole, 0.5, 0, 11 },
		{ FMT_CL_TRIPS, 9, 10, 4, 5, 0, 0 },
		{ FMT_CL_RATIO, 7, 10, 0, 0, 0, 0 },
		{ FMT_CL_REPLAY, 7, 10, 2 * whole, 0.5 * 5 * bursts / 258, 0, 14 },
	};

	symbol(M_APP, 0x1110, F_COMPRESS, 0, "src/compress.c", 25);
	for (unsigned i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++)
		store_put(w, FMT_COUNTS_FUNC, &funcs[i], sizeof(funcs[i]));
	for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]) - (bursts > 0 ? 0 : 2); i++)
		store_put(w, FMT_COUNTS_NODE, &nodes[i], sizeof(nodes[i]));
	for (unsigned i = 0; i < sizeof(plan) / sizeof(plan[0]) - (bursts > 0 ? 0 : 7); i++)
		counts_link(i + 1, &plan[i]);
}

/* What perf calls the levels of memory: PERF_MEM_OP, PERF_MEM_LVL_NUM. */
enum { OP_LOAD = 2, OP_STORE = 4, LVL_SHIFT = 33, LVL_L1 = 1, LVL_L3 = 3, LVL_RAM = 13 };

static void define_hardware(const char *source)
{
	struct fmt_rate rate = {
		.time = 1000000000, .source = store_string(w, source), .per_second = 800, .period = 10007
	};
	bool ibs = !strcmp(source, "ibs");

	store_meta(w, "engine", "pmu");
	store_meta(w, "bias", ibs ? "time" : "count");
	store_put(w, FMT_RATE, &rate, sizeof(rate));
	for (unsigned i = 0; i < 400; i++) {
		bool load = i % 5 > 1;
		uint64_t level = i % 50 ? i % 7 ? LVL_L1 : LVL_L3 : LVL_RAM;
		struct fmt_access a = { .time = 1000000000ull + i * 20000000ull,
					.addr = 0x7f0000100000ull + (i / 5) * 64 + (i % 5) * 8,
					.ip = load ? 0x4970 + (i % 3) * 4 : 0x1010,
					.weight = 10007,
					.data_src = (load ? OP_LOAD : OP_STORE) | level << LVL_SHIFT,
					.module = load ? M_LIBZ : M_APP,
					.pid = 4242,
					.tid = 4242 + i % 2,
					.stack = load ? S_DEFLATE : 0,
					.latency = load ? 4 + (unsigned)level * 20 : 0,
					.size = load ? 8 : 4,
					.flags = (load ? FMT_A_LOAD : FMT_A_STORE) | (ibs ? FMT_A_TIME : 0u) };

		if (i % 9 == 8)
			a.flags |= FMT_A_ATOMIC;
		if (!strcmp(source, "spe")) {
			a.phys = a.addr & 0xffffff;
			a.page_size = 65536;
		}
		store_put(w, FMT_ACCESS, &a, sizeof(a));
	}
	symbol(M_LIBZ, 0x4974, F_DEFLATE, 0, NULL, 0);
	symbol(M_LIBZ, 0x4978, F_DEFLATE, 0, NULL, 0);
}

static unsigned long number(int argc, char **argv, const char *key, unsigned long otherwise)
{
	size_t n = strlen(key);

	for (int i = 2; i < argc; i++)
		if (!strncmp(argv[i], key, n) && argv[i][n] == '=')
			return strtoul(argv[i] + n + 1, NULL, 0);
	return otherwise;
}

/* The same profile with nothing compressed. */
/* All sections as they are unpacked, to stdout: what is searched for what must not be there. */
static int dump(const char *path)
{
	struct err e = { 0 };
	struct store_reader *r = store_open(path, &e);
	struct store_chunk c;

	if (!r) {
		fprintf(stderr, "mkprofile: %s\n", e.text);
		return 1;
	}
	while (store_next(r, &c, &e) > 0)
		fwrite(c.data, 1, c.size, stdout);
	store_reader_free(r);
	return fflush(stdout) != 0;
}

static int unpack(const char *path)
{
	struct err e = { 0 };
	struct store_reader *r = store_open(path, &e);
	struct store_chunk c;
	struct fmt_file head;
	FILE *f;
	uint64_t seq = 0;

	if (!r)
		return 1;
	head = *store_header(r);
	unlink(path);
	f = fopen(path, "w");
	if (!f)
		return 1;
	fwrite(&head, sizeof(head), 1, f);
	while (store_next(r, &c, &e) > 0) {
		struct fmt_chunk h = { .magic = FMT_CHUNK_MAGIC,
				       .section = c.section,
				       .flags = FMT_RAW,
				       .rec_size = c.rec_size,
				       .count = c.count,
				       .raw_size = (uint32_t)c.size,
				       .stored_size = (uint32_t)c.size,
				       .seq = seq++ };

		h.xxh64 = XXH64(c.data, c.size, XXH64(&h, offsetof(struct fmt_chunk, xxh64), 0));
		fwrite(&h, sizeof(h), 1, f);
		fwrite(c.data, 1, c.size, f);
	}
	store_reader_free(r);
	return fclose(f) != 0;
}

/* Of the sections whose records belong to a process: where its number stands in them. */
static const struct {
	uint16_t section;
	const char *name;
	size_t pid, size;
} owned[] = {
	{ FMT_PROCESS, "process", offsetof(struct fmt_process, pid), sizeof(struct fmt_process) },
	{ FMT_PLACE, "place", offsetof(struct fmt_place, pid), sizeof(struct fmt_place) },
	{ FMT_MAPPING, "mapping", offsetof(struct fmt_mapping, pid), sizeof(struct fmt_mapping) },
	{ FMT_SAMPLE, "sample", offsetof(struct fmt_sample, pid), sizeof(struct fmt_sample) },
	{ FMT_ACCESS, "access", offsetof(struct fmt_access, pid), sizeof(struct fmt_access) },
	{ FMT_SYSIO, "sysio", offsetof(struct fmt_sysio, pid), sizeof(struct fmt_sysio) },
	{ FMT_CALL, "call", offsetof(struct fmt_call, pid), sizeof(struct fmt_call) },
};
#define PIDS 4194304u /* the most that there can be */

static void list_chunk(const struct store_chunk *c, size_t kind, unsigned *of)
{
	uint8_t rec[512];
	uint32_t pid;

	for (uint32_t i = 0; i < c->count; i++) {
		store_rec(c, i, rec, owned[kind].size);
		memcpy(&pid, rec + owned[kind].pid, sizeof(pid));
		if (pid < PIDS)
			of[pid]++;
	}
}

static int list_pids(const char *path)
{
	struct err e = { 0 };
	struct store_reader *r = store_open(path, &e);
	unsigned *of = calloc(PIDS, sizeof(*of));
	struct store_chunk c;

	if (!r || !of) {
		fprintf(stderr, "mkprofile: %s\n", e.text);
		return 1;
	}
	for (size_t k = 0; k < sizeof(owned) / sizeof(owned[0]); k++) {
		memset(of, 0, PIDS * sizeof(*of));
		store_rewind(r);
		while (store_next(r, &c, &e) > 0)
			if (c.section == owned[k].section)
				list_chunk(&c, k, of);
		for (unsigned pid = 0; pid < PIDS; pid++)
			if (of[pid])
				printf("%s %u %u\n", owned[k].name, pid, of[pid]);
	}
	store_reader_free(r);
	free(of);
	return 0;
}

static int list_sections(const char *path)
{
	struct err e = { 0 };
	struct store_reader *r = store_open(path, &e);
	static unsigned long of[UINT16_MAX + 1];
	struct store_chunk c;

	if (!r) {
		fprintf(stderr, "mkprofile: %s\n", e.text);
		return 1;
	}
	while (store_next(r, &c, &e) > 0)
		of[c.section] += c.count;
	for (unsigned s = 0; s <= UINT16_MAX; s++)
		if (of[s])
			printf("%u %lu\n", s, of[s]);
	store_reader_free(r);
	return 0;
}

/* The helper in a pod, the other in a unit; a third without samples. */
static void define_places(void)
{
	static const struct {
		uint32_t pid;
		const char *unit, *container, *pod;
	} places[] = { { 4242, "cron.service", NULL, NULL },
		       { HELPER, NULL, "3f2a", "shop/cart-7d" },
		       { 7, NULL, "77", NULL } };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct fmt_place p = { .pid = places[i].pid,
				       .unit = store_string(w, places[i].unit),
				       .container = store_string(w, places[i].container),
				       .pod = store_string(w, places[i].pod) };

		store_put(w, FMT_PLACE, &p, sizeof(p));
	}
}

/* shape: options in the order in which a profile is written. */
int main(int argc, char **argv)
{
	unsigned long samples = number(argc, argv, "samples", 1000), threads = number(argc, argv, "threads", 2);
	unsigned long stacks = number(argc, argv, "stacks", 0), loss = number(argc, argv, "loss", 0),
		      level = number(argc, argv, "level", 0);
	uint32_t wide = (uint32_t)number(argc, argv, "wide", 0);
	unsigned functions = (unsigned)number(argc, argv, "functions", 2000);
	bool exact = wide || number(argc, argv, "exact", 0), helper = number(argc, argv, "helper", 0);
	const char *elf = text(argc, argv, "elf");
	unsigned long hostile;
	struct err e = { 0 };
	struct fmt_process process = { .pid = 4242, .ppid = 1 };

	if (argc < 2) {
		fprintf(stderr, "usage: mkprofile FILE [key=number...]\n");
		return 2;
	}
	if (number(argc, argv, "dump", 0))
		return dump(argv[1]);
	if (number(argc, argv, "pids", 0))
		return list_pids(argv[1]);
	if (number(argc, argv, "sections", 0))
		return list_sections(argv[1]);
	w = store_create(argv[1], 0, &e);
	if (!w) {
		fprintf(stderr, "mkprofile: %s\n", e.text);
		return 1;
	}
	hostile = number(argc, argv, "hostile", 0);
	store_meta(w, "engine", exact || hostile ? "exact" : "soft");
	store_meta(w, "command", hostile ? "app \033]0;owned\007\n\xff \"<&" : "app --input big.txt");
	process.comm = store_string(w, "app");
	store_put(w, FMT_PROCESS, &process, sizeof(process));
	if (helper) {
		process = (struct fmt_process){ .pid = HELPER, .ppid = 4242, .comm = store_string(w, "helper") };
		store_put(w, FMT_PROCESS, &process, sizeof(process));
	}
	if (number(argc, argv, "places", 0))
		define_places();
	if (hostile)
		define_hostile(hostile > 1);
	else if (wide)
		define_wide(wide);
	else if (exact)
		define_exact();
	else if (elf)
		define_elf(elf, text(argc, argv, "id"), number(argc, argv, "addr", 0),
			   number(argc, argv, "content", 0));
	else if (stacks)
		define_random((unsigned)stacks, functions);
	else
		define_known();
	srandom((unsigned)number(argc, argv, "seed", 1));
	if (number(argc, argv, "accesses", 0))
		define_accesses(number(argc, argv, "accesses", 0), functions, number(argc, argv, "plant", 30),
				samples * 10000000ull);
	if (number(argc, argv, "counts", 0))
		define_counts((double)number(argc, argv, "lie", 0), (double)number(argc, argv, "bursts", 0),
			      (double)number(argc, argv, "whole", 8));
	if (text(argc, argv, "hw"))
		define_hardware(text(argc, argv, "hw"));
	for (unsigned long i = 0; i < samples && !exact && !hostile; i++) {
		struct fmt_sample s = { .time = 1000000000ull + i * 10000000ull,
					.period = 10000000,
					.pid = 4242,
					.tid = 4242 + (uint32_t)(i % threads),
					.stack = elf      ? 1
						 : stacks ? 1 + (uint32_t)((unsigned long)random() % stacks)
							  : known_stack(i) };

		if (helper && s.stack == S_PARSE)
			s.pid = s.tid = HELPER;
		store_put(w, FMT_SAMPLE, &s, sizeof(s));
		if (i % 500 == 499 && samples < 100000)
			store_flush(w, &e);
	}
	if (loss) {
		struct fmt_counter c = { .name = store_string(w, "ring full"), .flags = FMT_C_LOSS, .value = loss };

		store_put(w, FMT_COUNTER, &c, sizeof(c));
		c = (struct fmt_counter){ .name = store_string(w, "stacks cut"),
					  .flags = FMT_C_IN_PART,
					  .value = samples / 100 };
		store_put(w, FMT_COUNTER, &c, sizeof(c));
	}
	/* as a recording writes it: again and again, and only the last is of all of it */
	for (unsigned i = 2; level && i--;) {
		struct fmt_counter c = { .name = store_string(w, "a level"), .flags = FMT_C_LEVEL, .value = level + i };

		store_put(w, FMT_COUNTER, &c, sizeof(c));
	}
	if (number(argc, argv, "cost", 1)) {
		struct fmt_cost c = { .own_cpu_ns = 50000000,
				      .target_cpu_ns = samples * 10000000,
				      .peak_rss = 22100000,
				      .target_lost_ns = samples * 40000 };

		store_put(w, FMT_COST, &c, sizeof(c));
	}
	if (number(argc, argv, "end", 1)) {
		struct fmt_end end = { .duration_ns = samples * 10000000,
				       .samples = samples,
				       .lost = loss,
				       .reason = FMT_END_DONE,
				       .exit_status = ~0u };

		store_put(w, FMT_END, &end, sizeof(end));
	}
	if (store_close(w, &e)) {
		fprintf(stderr, "mkprofile: %s\n", e.text);
		return 1;
	}
	return number(argc, argv, "raw", 0) ? unpack(argv[1]) : 0;
}
