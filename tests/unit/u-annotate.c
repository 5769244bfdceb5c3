// SPDX-License-Identifier: GPL-2.0-or-later
/* Annotation of a function of this very program: samples, counts and accesses are planted on its instructions. */
/* harm: a name of source code that is a link to what root alone reads | 2 links */
#include <errno.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flow/annotate.h"
#include "proc/module.h"
#include "store/write.h"
#include "unit/unit.h"
#include "view/annotate.h"

#define TRIPS 100.0

static char profile[] = "/tmp/u-annotate-XXXXXX";
static char self[4096];
static uint8_t build_id[20];
static unsigned build_id_len;
static uint64_t vaddr; /* of planted() in its file */

/* The loop that is looked for. */
static __attribute__((noinline, noclone, optimize("O2", "no-tree-vectorize", "no-unroll-loops"))) unsigned planted(
	const unsigned *p, unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 31 + p[i]; /* LINE OF THE LOOP */
	return sum;
}

static int base_of(struct dl_phdr_info *info, size_t size, void *out)
{
	*(uint64_t *)out = info->dlpi_addr;
	return 1; /* the program is the first */
}

static int find_self(void **state)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	unsigned numbers[2] = { 1, 2 };
	struct module *m;
	uint64_t base = 0;
	int fd = mkstemp(profile);

	assert_true(n > 0 && fd >= 0);
	close(fd);
	self[n] = 0;
	assert_int_equal(planted(numbers, 2), 33);
	dl_iterate_phdr(base_of, &base);
	vaddr = (uint64_t)(uintptr_t)planted - base;
	m = module_open_path(self, NULL, 0, NULL);
	assert_non_null(m);
	build_id_len = m->build_id_len;
	memcpy(build_id, m->build_id, build_id_len);
	module_close_path(m);
	return build_id_len ? 0 : -1;
}

static int tidy(void **state)
{
	unlink(profile);
	return 0;
}

/* What to plant where; end 0: no counts. */
struct plan {
	uint64_t hot, load, loop, end;
	unsigned samples;
	bool other_build, jit;
};

static void put_counts(struct store_writer *w, const struct plan *p)
{
	const struct fmt_counts_func f = { .id = 1,
					   .module = 1,
					   .start = vaddr,
					   .end = p->end + 64,
					   .self_ns = 1e9,
					   .samples = p->samples,
					   .flags = FMT_CF_GRAPH | FMT_CF_COMPLETE };
	const struct fmt_counts_node nodes[] = {
		{ .id = 1, .function = 1, .kind = FMT_CN_ENTRY, .addr = vaddr, .instructions = 4 },
		{ .id = 2, .function = 1, .kind = FMT_CN_LOOP, .depth = 1, .addr = p->loop, .instructions = 6 },
	};
	const struct fmt_counts_block blocks[] = {
		{ .addr = vaddr, .bytes = (uint32_t)(p->loop - vaddr), .node = 1 },
		{ .addr = p->loop, .bytes = (uint32_t)(p->end - p->loop), .node = 2 },
	};
	const struct fmt_counts_link links[] = {
		{ .id = 1, .parent = 0, .child = 1, .how = FMT_CL_RATE },
		{ .id = 2, .parent = 1, .child = 2, .how = FMT_CL_TRIPS },
	};

	store_put(w, FMT_COUNTS_FUNC, &f, sizeof(f));
	for (unsigned i = 0; i < 2; i++) {
		store_put(w, FMT_COUNTS_NODE, &nodes[i], sizeof(nodes[i]));
		store_put(w, FMT_COUNTS_BLOCK, &blocks[i], sizeof(blocks[i]));
		store_put(w, FMT_COUNTS_LINK, &links[i], sizeof(links[i]));
	}
	for (unsigned i = 0; i < 80; i++) {
		struct fmt_counts_window win = { .armed = 1000 + 10 * i, .ended = 1009 + 10 * i, .link = 1 + i % 2 };

		win.anchor = i % 2 ? 4 : 0.01;
		win.child = i % 2 ? 4 * TRIPS : 10;
		win.least = win.most = TRIPS;
		store_put(w, FMT_COUNTS_WINDOW, &win, sizeof(win));
	}
}

static void put_samples(struct store_writer *w, const struct plan *p)
{
	for (unsigned i = 0; i < p->samples; i++) {
		/* 3 of 4 in the loop, the rest in other code */
		struct fmt_sample s = {
			.time = 1000 + i, .period = 1000000, .pid = 7, .tid = 7, .stack = 1 + (i % 4 == 3)
		};
		struct fmt_access a = { .time = 1000 + i,
					.addr = 0x10000 + 4 * i,
					.ip = i % 2 ? p->load : 0x10,
					.module = 1 + !(i % 2),
					.weight = 1,
					.size = 4,
					.pid = 7,
					.tid = 7,
					.flags = i % 2 ? FMT_A_LOAD : FMT_A_LOAD | FMT_A_STORE };

		store_put(w, FMT_SAMPLE, &s, sizeof(s));
		store_put(w, FMT_ACCESS, &a, sizeof(a));
	}
}

static void write_profile(const struct plan *p)
{
	struct store_writer *w = store_create(profile, 0, NULL);
	struct fmt_module m = {
		.id = 1, .kind = p->jit ? FMT_MOD_JIT : FMT_MOD_FILE, .path = store_string(w, self), .pid = 7
	};
	struct fmt_module other = { .id = 2, .kind = FMT_MOD_FILE, .path = store_string(w, "/nowhere/lib.so") };
	struct fmt_function f = { .id = 1,
				  .name = store_string(w, "planted"),
				  .object = store_string(w, "u-annotate") };
	struct fmt_function g = { .id = 2, .name = store_string(w, "elsewhere"), .object = store_string(w, "lib.so") };
	const uint64_t named[] = { p->hot, p->load, vaddr, 0x10 };
	struct fmt_process who = { .pid = 7, .comm = store_string(w, "app") };

	assert_non_null(w);
	m.build_id_len = build_id_len;
	memcpy(m.build_id, build_id, sizeof(build_id));
	m.build_id[0] ^= p->other_build;
	store_meta(w, "engine", "soft");
	store_put(w, FMT_PROCESS, &who, sizeof(who));
	store_put(w, FMT_MODULE, &m, sizeof(m));
	store_put(w, FMT_MODULE, &other, sizeof(other));
	store_put(w, FMT_FUNCTION, &f, sizeof(f));
	store_put(w, FMT_FUNCTION, &g, sizeof(g));
	for (unsigned i = 0; i < 4; i++) {
		struct fmt_symbol s = { .addr = named[i], .module = 1 + (i == 3), .count = 1 };
		struct fmt_inline in = { .function = 1 + (i == 3) };

		store_put_var(w, FMT_SYMBOL, &s, sizeof(s), &in, sizeof(in));
	}
	for (unsigned i = 0; i < 2; i++) {
		struct fmt_stack s = { .id = i + 1, .count = 1, .flags = FMT_STACK_COMPLETE };
		struct fmt_frame at = { .addr = i ? 0x10 : p->hot, .module = i + 1 };

		store_put_var(w, FMT_STACK, &s, sizeof(s), &at, sizeof(at));
	}
	if (p->end)
		put_counts(w, p);
	put_samples(w, p);
	assert_int_equal(store_close(w, NULL), 0);
}

struct told {
	struct profile *p;
	struct flow_input in;
	struct counts_record counts;
	struct annotation a;
};

static int ask(struct told *t, const struct annotate_opts *o)
{
	const struct flow_input_opts io = { 0 };
	struct err why = { 0 }, e = { 0 };

	memset(t, 0, sizeof(*t));
	t->p = flow_input_and_profile(&t->in, profile, &io, &why, &e);
	assert_non_null(t->p);
	assert_int_equal(why.code, 0);
	assert_int_equal(counts_record_load(&t->counts, profile, &e), 0);
	return annotate(t->p, &t->in, &t->counts, o, &t->a, &e);
}

static void done(struct told *t)
{
	annotation_release(&t->a);
	counts_record_release(&t->counts);
	flow_input_release(&t->in);
	profile_free(t->p);
}

static const struct annotate_opts plain = { .function = "planted" };

/* Where the loop is, and which instruction of it loads. */
static struct plan learn(void)
{
	struct plan p = { .hot = vaddr, .load = vaddr, .samples = 400 };
	struct told t;

	write_profile(&p);
	assert_int_equal(ask(&t, &plain), 0);
	assert_true(t.a.insns > 5 && t.a.loops == 1);
	assert_int_equal(t.a.insn[0].addr, vaddr);
	p.loop = t.a.loop[0].addr;
	for (size_t i = 0; i < t.a.insns; i++) {
		const struct annotate_insn *n = &t.a.insn[i];

		if (n->loop == ANNOTATE_NONE)
			continue;
		if (strchr(annotation_text(&t.a, n), '('))
			p.load = n->addr;
		p.hot = n->addr; /* the last */
		p.end = n->addr + n->len;
	}
	done(&t);
	assert_true(p.load >= p.loop && p.hot > p.loop);
	return p;
}

static const struct annotate_insn *at(const struct annotation *a, uint64_t addr)
{
	for (size_t i = 0; i < a->insns; i++)
		if (a->insn[i].addr == addr)
			return &a->insn[i];
	fail_msg("no instruction at %lx", (unsigned long)addr);
	return NULL;
}

TEST(figures_stand_at_their_instructions)
{
	struct plan p = learn();
	const struct annotate_insn *hot, *load;
	struct told t;

	write_profile(&p);
	assert_int_equal(ask(&t, &plain), 0);
	hot = at(&t.a, p.hot);
	load = at(&t.a, p.load);
	assert_int_equal(hot->samples, 300);
	assert_true(fabs(hot->time - 0.75) < 1e-9 && hot->low > 0.69 && hot->high < 0.8);
	assert_int_equal(at(&t.a, vaddr)->samples, 0);
	assert_true(fabs(t.a.loop[0].time - 0.75) < 1e-9);
	assert_true(fabs(load->per_entry.value / TRIPS - 1) < 0.02);
	assert_true(load->per_entry.low < TRIPS && load->per_entry.high > TRIPS);
	assert_true(at(&t.a, vaddr)->per_entry.value == 1);
	assert_true(fabs(load->read.share - 0.5) < 1e-9 && load->read.samples == 200);
	assert_int_equal(load->written.samples, 0);
	assert_true(!t.a.precise);
	done(&t);
}

TEST(lines_and_source)
{
	struct plan p = learn();
	struct sources sources = { 0 };
	bool found = false;
	struct told t;
	char line[200];

	write_profile(&p);
	assert_int_equal(ask(&t, &plain), 0);
	for (size_t i = 0; i < t.a.insns && !found; i++) {
		const struct source_file *f = t.a.insn[i].file ? source_of(&sources, t.a.insn[i].file) : NULL;
		const char *text = source_line(f, t.a.insn[i].line, line, sizeof(line));

		assert_true(!f || f->path[0] == '/');
		found = text && strstr(text, "LINE OF THE LOOP");
	}
	assert_true(found);
	sources_release(&sources);
	done(&t);
}

TEST(a_source_is_source)
{
	char dir[] = "/tmp/u-annotate-d-XXXXXX", fifo[64], real[64], out[64], in[64], line[16];
	struct sources s = { 0 };
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/x.c", dir);
	snprintf(real, sizeof(real), "%s/y.c", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	f = fopen(real, "w");
	fputs("\tone\r\ntwo", f);
	fclose(f);
	snprintf(out, sizeof(out), "%s/z.c", dir);
	snprintf(in, sizeof(in), "%s/w.c", dir);
	assert_int_equal(symlink("/etc/passwd", out), 0);
	assert_int_equal(symlink("y.c", in), 0);
	assert_string_not_equal(source_of(&s, out)->why, "");
	assert_null(source_line(source_of(&s, out), 1, line, sizeof(line)));
	assert_string_equal(source_line(source_of(&s, in), 2, line, sizeof(line)), "two");
	unlink(out);
	unlink(in);
	/* none of these is opened */
	assert_string_not_equal(source_of(&s, fifo)->why, "");
	assert_string_not_equal(source_of(&s, "/etc/passwd")->why, "");
	assert_string_not_equal(source_of(&s, "/proc/self/mem.c")->why, "");
	assert_string_not_equal(source_of(&s, "rel/y.c")->why, "");
	assert_null(source_line(source_of(&s, "/etc/passwd"), 1, line, sizeof(line)));
	assert_string_equal(source_line(source_of(&s, real), 1, line, sizeof(line)), "    one");
	assert_string_equal(source_line(source_of(&s, real), 2, line, sizeof(line)), "two");
	assert_null(source_line(source_of(&s, real), 3, line, sizeof(line)));
	assert_null(source_line(source_of(&s, real), 0, line, sizeof(line)));
	sources_release(&s);
	/* by the ends of paths, and never out of the folder */
	s.root = dir;
	assert_string_equal(source_line(source_of(&s, "/gone/src/y.c"), 2, line, sizeof(line)), "two");
	assert_string_equal(source_line(source_of(&s, "y.c"), 2, line, sizeof(line)), "two");
	assert_string_not_equal(source_of(&s, "../../etc/x.c")->why, "");
	sources_release(&s);
	unlink(fifo);
	unlink(real);
	rmdir(dir);
}

TEST(without_the_code)
{
	struct plan p = learn();
	struct told t;

	p.other_build = true;
	write_profile(&p);
	assert_int_equal(ask(&t, &plain), 0);
	assert_non_null(strstr(t.a.no_code, "another build-id"));
	assert_int_equal(t.a.insns, 1); /* an address, and its time */
	assert_int_equal(t.a.insn[0].samples, 300);
	assert_string_equal(annotation_text(&t.a, &t.a.insn[0]), "");
	done(&t);
	p.other_build = false;
	p.jit = true;
	write_profile(&p);
	assert_int_equal(ask(&t, &plain), 0);
	assert_non_null(strstr(t.a.no_code, "at run time"));
	done(&t);
}

TEST(a_process_is_asked_for)
{
	struct plan p = learn();
	struct filter f = { 0 };
	struct annotate_opts o = { .function = "planted", .filter = &f };
	struct told t;

	write_profile(&p);
	assert_int_equal(filter_add(&f, FILTER_PID, "8"), 0);
	assert_int_equal(ask(&t, &o), 0);
	assert_int_equal(t.a.samples, 0);
	assert_int_equal(at(&t.a, p.load)->read.samples, 0);
	/* counts are nobody's alone */
	assert_true(isnan(at(&t.a, p.load)->per_entry.value));
	assert_non_null(strstr(t.a.no_counts, "all processes"));
	done(&t);
	filter_release(&f);
	assert_int_equal(filter_add(&f, FILTER_DSO, "lib*"), 0);
	assert_int_equal(ask(&t, &o), -ENOENT);
	done(&t);
	filter_release(&f);
}

/* What bytes are is decided by whoever wrote the file: data among code must not move the instructions behind them. */
TEST(samples_are_in_step)
{
	struct plan p = learn();
	struct told t;

	p.hot += 1; /* within an instruction */
	write_profile(&p);
	assert_int_equal(ask(&t, &plain), 0);
	assert_int_equal(at(&t.a, p.hot)->samples, 300);
	assert_string_equal(annotation_text(&t.a, at(&t.a, p.hot - 1)), "(data)");
	done(&t);
}

/* How often it was entered is told with its interval, or not at all. */
TEST(entries_have_an_interval)
{
	struct annotation a = { .name = "f", .object = "o", .file = "", .path = "", .time = NAN };
	const struct annotate_view v = { .a = &a, .source = "p" };
	const struct text_style style = { 0 };
	struct buf out = { 0 };

	a.entries = (struct counts_figure){ 143255, 137, 149358983 };
	annotate_text(&v, &style, &out);
	assert_null(strstr(out.data, "entered"));
	out.len = 0;
	a.entries = (struct counts_figure){ 143255, 14325, 1493589 };
	annotate_text(&v, &style, &out);
	assert_non_null(strstr(out.data, "entered 143,255 times a second of CPU time (14,325 to 1,493,589)"));
	buf_release(&out);
}

int main(void)
{
	return RUN_TESTS(find_self, tidy);
}
