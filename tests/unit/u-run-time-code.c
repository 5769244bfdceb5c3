// SPDX-License-Identifier: GPL-2.0-or-later
/* What to do about code that a runtime made or interprets: planted processes. */
#include <string.h>

#include "unit/unit.h"
#include "view/run_time_code.h"

enum { NOWHERE, ANON, JIT, FILE_, MODULES };

/* One process with so many samples in code without a file, in such with names, and in an object; 1,000 in all. */
struct planted {
	const char *comm, *object;
	uint64_t nameless, named, own;
};

static unsigned hints_of(const struct planted *of, struct run_time_hint *out)
{
	struct profile_module modules[MODULES] = {
		[NOWHERE] = { .path = "", .object = "" },
		[ANON] = { .kind = FMT_MOD_ANON, .path = "", .object = "[anon]" },
		[JIT] = { .kind = FMT_MOD_JIT, .path = "", .object = "[jit]" },
		[FILE_] = { .kind = FMT_MOD_FILE, .path = of->object, .object = of->object },
	};
	struct profile_frame frames[MODULES] = {
		[ANON] = { .module = ANON }, [JIT] = { .module = JIT }, [FILE_] = { .module = FILE_ }
	};
	uint32_t stack_frames[] = { ANON, JIT, FILE_ };
	struct profile_stack stacks[MODULES] = { [ANON] = { 0, 1, 0 }, [JIT] = { 1, 1, 0 }, [FILE_] = { 2, 1, 0 } };
	struct profile_thread threads[] = { { .pid = 42, .tid = 42, .comm = of->comm },
					    { .pid = 7, .tid = 7, .comm = "other" } };
	uint64_t n[MODULES] = { [ANON] = of->nameless, [JIT] = of->named, [FILE_] = of->own }, rest = 1000;
	struct profile_cell cells[MODULES] = { 0 };
	struct profile p = { .modules = modules,
			     .module_count = MODULES,
			     .frames = frames,
			     .stacks = stacks,
			     .stack_frames = stack_frames,
			     .threads = threads,
			     .cells = cells,
			     .cell_count = MODULES };

	for (unsigned i = ANON; i < MODULES; i++) {
		cells[i].stack = i;
		cells[i].samples[PROFILE_TIME] = n[i];
		cells[i].weight[PROFILE_TIME] = (double)n[i];
		rest -= n[i];
	}
	cells[0] = (struct profile_cell){ .thread = 1, .samples = { rest }, .weight = { (double)rest } };
	p.samples[PROFILE_TIME] = 1000;
	p.weight[PROFILE_TIME] = 1000;
	return run_time_hints(&p, out);
}

TEST(runtimes_are_known)
{
	static const struct {
		struct planted of;
		const char *runtime, *words;
	} cases[] = {
		{ { "java", "libc.so.6", 610, 0, 0 },
		  "Java",
		  "61% of the time is in code without names that was made at run time by process 42 (Java): `jcmd 42 Compiler.perfmap`" },
		{ { "tomcat", "libjvm.so", 610, 0, 10 }, "Java", "jcmd 42" },
		{ { "node", "node", 300, 0, 10 }, "Node.js", "--perf-basic-prof" },
		{ { "dotnet", "libcoreclr.so", 300, 0, 10 }, ".NET", "DOTNET_PerfMapEnabled=1" },
		{ { "beam.smp", "beam.smp", 300, 0, 10 }, "Erlang", "+JPperf" },
		{ { "app.py", "python3.12", 0, 0, 700 },
		  "Python",
		  "70% of the time is in the interpreter of process 42 (Python): start it with `python3 -X perf`" },
		{ { "gunicorn", "libpython3.13.so.1.0", 0, 0, 700 }, "Python", "-X perf" },
		{ { "game", "game", 300, 0, 10 }, NULL, "/tmp/perf-42.map" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_time_hint hint[RUN_TIME_HINTS];

		assert_int_equal(hints_of(&cases[i].of, hint), 1);
		assert_int_equal(hint[0].pid, 42);
		if (cases[i].runtime)
			assert_string_equal(hint[0].runtime, cases[i].runtime);
		else
			assert_null(hint[0].runtime);
		if (!strstr(hint[0].text, cases[i].words))
			fail_msg("'%s' lacks '%s'", hint[0].text, cases[i].words);
	}
}

TEST(silence_where_nothing_helps)
{
	static const struct planted cases[] = {
		{ "java", "libjvm.so", 40, 0, 500 },      /* little of it */
		{ "java", "libjvm.so", 0, 600, 100 },     /* named */
		{ "python3", "python3.11", 0, 0, 900 },   /* cannot tell */
		{ "python3", "python3.12", 0, 300, 600 }, /* does tell */
		{ "app", "app", 0, 0, 1000 },
	};
	struct run_time_hint hint[RUN_TIME_HINTS];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(hints_of(&cases[i], hint), 0);
}
