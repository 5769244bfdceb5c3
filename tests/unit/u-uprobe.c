// SPDX-License-Identifier: GPL-2.0-or-later
/* Live probes on ourselves, through every way of attaching this kernel has. */
/*
 * harm: no descriptor left when a profile ends | 2 sessions, 20 calls each
 * harm: notes about libraries without end | 64 of 2 KB | those beyond 64 KiB, counted
 * harm: a library that is rewritten while its probes are let go | 1 | its later calls, counted
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "kmod-free/uprobe.h"
#include "offload/session.h"
#include "unit/paused.h"
#include "unit/unit.h"
#include "util/clock.h"
#include "util/map.h"

#define VERIFIED_MOST 100000 /* instructions: four times what the largest takes on Linux 6.18; by hand */
#define MANY 48              /* processes: one after the other they take 48 times as long, and together a few times */

struct got {
	struct intern strings;
	struct fmt_offload_api apis[600];
	struct fmt_offload_total totals[2000];
	unsigned totals_cnt;
	struct fmt_call calls[4000];
	unsigned calls_cnt, windows_cnt, stacks;
	uint64_t hist_count, notes_cut;
};

static uint32_t string(void *ctx, const char *s)
{
	struct got *g = ctx;

	return intern_str(&g->strings, s, NULL);
}

static uint32_t stack(void *ctx, const struct sample *s)
{
	struct got *g = ctx;

	assert_true(s->stack_bytes >= 256);
	assert_int_equal(s->regs[16], s->ip);
	return ++g->stacks;
}

static uint32_t site(void *ctx, uint32_t pid, uint64_t time, uint64_t func, uint64_t caller)
{
	assert_int_equal(pid, getpid());
	return 7;
}

static int put(void *ctx, enum fmt_section section, const void *rec, uint32_t size)
{
	struct got *g = ctx;

	switch (section) {
	case FMT_OFFLOAD_API: memcpy(&g->apis[((const struct fmt_offload_api *)rec)->id], rec, size); break;
	case FMT_OFFLOAD_TOTAL: {
		const struct fmt_offload_total *t = rec;
		unsigned i = 0;

		while (i < g->totals_cnt && (g->totals[i].api != t->api || g->totals[i].site_addr != t->site_addr))
			i++;
		g->totals[i] = *t;
		if (i == g->totals_cnt)
			g->totals_cnt++;
		break;
	}
	case FMT_CALL:
		if (g->calls_cnt < 4000)
			memcpy(&g->calls[g->calls_cnt++], rec, size);
		break;
	case FMT_OFFLOAD_WINDOW: g->windows_cnt++; break;
	case FMT_OFFLOAD_HIST: break;
	default: break;
	}
	return 0;
}

static void count(void *ctx, const char *name, uint64_t value, bool loss)
{
	struct got *g = ctx;

	if (!strncmp(name, "offload: notes about libraries left out", 39)) {
		assert_true(loss);
		g->notes_cut = value;
	}
}

static int (*z_deflate)(z_streamp, int);
static int (*z_init)(z_streamp, int, const char *, int);
static int (*z_end)(z_streamp);

static bool load_zlib(void)
{
	void *z = dlopen("libz.so.1", RTLD_NOW);

	if (!z)
		return false;
	z_deflate = (int (*)(z_streamp, int))dlsym(z, "deflate");
	z_init = (int (*)(z_streamp, int, const char *, int))dlsym(z, "deflateInit_");
	z_end = (int (*)(z_streamp))dlsym(z, "deflateEnd");
	return z_deflate && z_init && z_end;
}

/* n deflates of `each` bytes; what the program itself counts. */
static void deflate_some(unsigned n, unsigned each, uint64_t *in, uint64_t *out)
{
	unsigned char *src = malloc(each), *dst = malloc(each + 1024);

	for (unsigned i = 0; i < each; i++)
		src[i] = (unsigned char)(i * 7 + i / 100);
	for (unsigned i = 0; i < n; i++) {
		z_stream z = { 0 };

		assert_int_equal(z_init(&z, 1, ZLIB_VERSION, sizeof(z)), Z_OK);
		z.next_in = src;
		z.avail_in = each;
		z.next_out = dst;
		z.avail_out = each + 1024;
		assert_int_equal(z_deflate(&z, Z_FINISH), Z_STREAM_END);
		*in += z.total_in;
		*out += z.total_out;
		z_end(&z);
	}
	free(src);
	free(dst);
}

static void one_mode(int mode)
{
	struct offload_opts o = { .list = "zlib", .exact = true, .mode = mode };
	struct got *g = calloc(1, sizeof(*g));
	struct offload_sink sink = { .ctx = g, .put = put, .string = string, .stack = stack, .site = site };
	uint64_t in = 0, out = 0, calls = 0, got_in = 0, got_out = 0, records = 0;
	struct offload_session *s;
	struct err e = { 0 };

	if (geteuid() || !load_zlib()) {
		free(g);
		skip();
	}
	s = offload_session_new(&o, &sink, &e);
	if (!s) {
		print_message("%s\n", e.text);
		free(g);
		skip();
	}
	assert_int_equal(offload_session_attach_pid(s, getpid(), NULL, &e), 0);
	deflate_some(60, 100000, &in, &out);
	offload_session_poll(s);
	offload_session_tick(s);
	offload_session_end(s);
	for (unsigned i = 0; i < g->totals_cnt; i++) {
		const char *sym = intern_get(&g->strings, g->apis[g->totals[i].api].symbol, NULL);

		if (strcmp(sym, "deflate"))
			continue;
		calls += g->totals[i].calls;
		got_in += g->totals[i].bytes_in;
		got_out += g->totals[i].bytes_out;
		assert_int_equal(g->totals[i].unknown_bytes, 0);
	}
	assert_int_equal(calls, 60);
	assert_int_equal(got_in, in);
	assert_int_equal(got_out, out);
	got_in = 0;
	for (unsigned i = 0; i < g->calls_cnt; i++) {
		if (strcmp(intern_get(&g->strings, g->apis[g->calls[i].api].symbol, NULL), "deflate"))
			continue;
		records++;
		got_in += g->calls[i].bytes_in;
		assert_true(g->calls[i].flags & FMT_CALL_TIMED);
		assert_int_equal(g->calls[i].site, 7);
		assert_true(g->calls[i].cpu_ns <= g->calls[i].busy_ns);
	}
	assert_int_equal(records, 60);
	assert_int_equal(got_in, in);
	/* functions, and checksums apart; a stretch and the closing record of each */
	assert_int_equal(g->windows_cnt, 4);
	assert_true(g->stacks > 0);
	offload_session_free(s);
	intern_release(&g->strings);
	free(g);
}

TEST(session_links)
{
	one_mode(UPROBE_SESSION);
}

TEST(multi_links)
{
	one_mode(UPROBE_MULTI);
}

TEST(perf_events)
{
	one_mode(UPROBE_PERF);
}

/* A file that does nothing, with one function to probe; path becomes its name, *fd it. */
static int library_of_nops(struct uprobe *u, char *path, int *fd)
{
	struct uprobe_point p = { .offset = 4096, .spec.kind = PK_CALL };
	static uint8_t code[8192];
	struct err e = { 0 };
	uint32_t first;
	int lib;

	*fd = mkstemp(path);
	memset(code, 0x90, sizeof(code)); /* nop */
	assert_int_equal(write(*fd, code, sizeof(code)), sizeof(code));
	lib = uprobe_library(u, dup(*fd), &p, 1, &first, &e);
	assert_true(lib >= 0);
	return lib;
}

/* What lies at a probe's place is looked at before each planting: a library may be rewritten in between. */
TEST(a_file_that_was_rewritten_is_not_probed)
{
	const struct uprobe_opts o = { .mode = UPROBE_AUTO };
	char path[] = "/tmp/u-uprobe.XXXXXX";
	struct err e = { 0 };
	struct uprobe *u;
	int lib, fd;

	if (geteuid() || !(u = uprobe_new(&o, &e)))
		skip();
	lib = library_of_nops(u, path, &fd);
	assert_int_equal(uprobe_attach(u, lib, getpid(), false, &e), 0);
	assert_int_equal(uprobe_arm(u, lib, NULL, &e), 0);
	uprobe_disarm(u, &lib, 1);
	assert_int_equal(pwrite(fd, "\x31", 1, 0), 1); /* elsewhere */
	assert_int_equal(uprobe_arm(u, lib, NULL, &e), 0);
	uprobe_disarm(u, &lib, 1);
	assert_int_equal(pwrite(fd, "\x31\xc0", 2, 4096), 2);
	assert_int_equal(uprobe_arm(u, lib, NULL, &e), -ESTALE);
	assert_non_null(strstr(e.text, "rewritten"));
	uprobe_free(u);
	close(fd);
	unlink(path);
}

/* How many instructions the verifier followed for a program of ours; 0: fd is none, or this kernel does not tell. */
static uint32_t verified(int fd, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return 0;
	memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	return info.verified_insns;
}

/* Our programs, none of which is too much work to verify; *later: those that few recordings need. */
static unsigned programs_followed(unsigned *later)
{
	char link[32], to[64], name[BPF_OBJ_NAME_LEN];
	unsigned seen = 0;
	struct dirent *d;
	DIR *fds = opendir("/proc/self/fd");

	*later = 0;
	while ((d = readdir(fds))) {
		ssize_t n;
		uint32_t insns;

		snprintf(link, sizeof(link), "/proc/self/fd/%.10s", d->d_name);
		n = readlink(link, to, sizeof(to) - 1);
		to[n < 0 ? 0 : n] = 0;
		if (!strstr(to, "bpf-prog") || !(insns = verified(atoi(d->d_name), name)))
			continue;
		print_message("%s: %u instructions followed\n", name, insns);
		assert_true(insns <= VERIFIED_MOST);
		*later += !strncmp(name, "offload_session", 15) || !strncmp(name, "offload_uring", 13);
		seen++;
	}
	closedir(fds);
	return seen;
}

/* Each recording loads them anew, and the kernel follows each of their paths meanwhile: as a loop that is unrolled, the
 * search for a call's outer ones takes 199,868 instructions, a fifth of a second. What few recordings need waits. */
TEST(programs_are_loaded_with_little_work)
{
	const struct uprobe_opts o = { .mode = UPROBE_AUTO };
	const struct uprobe_uring sends = { .opcode = 26, .direction = 0 }; /* IORING_OP_SEND */
	char path[] = "/tmp/u-uprobe.XXXXXX";
	struct err e = { 0 };
	unsigned seen, later, uring;
	struct uprobe *u;
	uint32_t first;
	int lib, fd;

	if (geteuid() || !(u = uprobe_new(&o, &e)))
		skip();
	seen = programs_followed(&later);
	assert_int_equal(later, 0);
	uring = uprobe_uring(u, &sends, 1, &first, &e) ? 0 : 2;
	lib = library_of_nops(u, path, &fd);
	assert_int_equal(uprobe_attach(u, lib, getpid(), true, &e), 0);
	assert_int_equal(uprobe_arm(u, lib, NULL, &e), 0);
	if (seen) {
		programs_followed(&later);
		assert_int_equal(later, uring + (uprobe_mode(u) == UPROBE_SESSION));
	}
	uprobe_free(u);
	close(fd);
	unlink(path);
	if (!seen)
		skip();
}

static double seconds_to_disarm(struct uprobe *u, int lib)
{
	struct err e = { 0 };
	uint64_t began;

	assert_int_equal(uprobe_arm(u, lib, NULL, &e), 0);
	began = clock_now();
	uprobe_disarm(u, &lib, 1);
	return (double)(clock_now() - began) / 1e9;
}

/* Each process has links of its own, and to remove one waits for the kernel: all wait at once, else a server with many
 * workers would make its recorder end in minutes. */
TEST(probes_of_many_processes_go_together)
{
	const struct uprobe_opts o = { .mode = UPROBE_AUTO };
	char path[] = "/tmp/u-uprobe.XXXXXX";
	double one = 1e9, many = 1e9;
	pid_t child[MANY];
	struct err e = { 0 };
	struct uprobe *u;
	int lib, fd;

	if (geteuid() || !(u = uprobe_new(&o, &e)))
		skip();
	lib = library_of_nops(u, path, &fd);
	for (unsigned i = 0; i < MANY; i++) {
		child[i] = paused_child();
		assert_int_equal(uprobe_attach(u, lib, child[i], false, &e), 0);
		for (unsigned k = 0; k < 3 && !i; k++)
			one = fmin(one, seconds_to_disarm(u, lib));
	}
	/* the quickest of some, as others work beside */
	for (unsigned k = 0; k < 5 && many > one * MANY / 2; k++)
		many = fmin(many, seconds_to_disarm(u, lib));
	print_message("one %.1f ms, %d processes %.1f ms\n", one * 1e3, MANY, many * 1e3);
	assert_true(many < one * MANY / 2);
	for (int pid = 100000; pid < 200000; pid++) /* of nobody: nothing is armed */
		if (uprobe_attach(u, lib, pid, false, &e)) {
			assert_int_equal(pid - 100000 + MANY, UPROBE_GROUPS_MOST);
			break;
		}
	assert_int_equal(e.code, -E2BIG);
	assert_non_null(strstr(e.text, "512 pairs"));
	for (unsigned i = 0; i < MANY; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	uprobe_free(u);
	close(fd);
	unlink(path);
}

/* A profile ends while files cannot be opened: at all, or all but the list of mappings. */
TEST(a_library_that_cannot_be_looked_at_is_kept)
{
	struct offload_opts o = { .list = "zlib", .exact = true };

	for (unsigned spare = 0; spare < 2; spare++) {
		struct got *g = calloc(1, sizeof(*g));
		struct offload_sink sink = { .ctx = g, .put = put, .string = string, .stack = stack, .site = site };
		uint64_t in = 0, out = 0, calls = 0;
		struct offload_session *s = NULL;
		struct rlimit was, few;
		struct err e = { 0 };

		if (geteuid() || !load_zlib() || !(s = offload_session_new(&o, &sink, &e))) {
			free(g);
			skip();
		}
		assert_int_equal(offload_session_attach_pid(s, getpid(), NULL, &e), 0);
		getrlimit(RLIMIT_NOFILE, &was);
		few = was;
		few.rlim_cur = (rlim_t)dup(0);
		close((int)few.rlim_cur);
		few.rlim_cur += spare;
		setrlimit(RLIMIT_NOFILE, &few);
		offload_session_ending(s);
		offload_session_begun(s);
		setrlimit(RLIMIT_NOFILE, &was);
		deflate_some(20, 1000, &in, &out);
		offload_session_end(s);
		for (unsigned i = 0; i < g->totals_cnt; i++)
			if (!strcmp(intern_get(&g->strings, g->apis[g->totals[i].api].symbol, NULL), "deflate"))
				calls += g->totals[i].calls;
		assert_int_equal(calls, 20);
		offload_session_free(s);
		intern_release(&g->strings);
		free(g);
	}
}

/* 64 sentences of 2 KB each about one file, of which 64 KiB are kept. */
TEST(notes_that_find_no_room_are_counted)
{
	char path[4096] = "/tmp/u-uprobe.XXXXXX", component[200], names[64][64];
	const char *probes[64];
	struct offload_opts o = { .list = "zlib", .probes = probes, .probes_cnt = 64 };
	struct got *g = calloc(1, sizeof(*g));
	struct offload_sink sink = { .ctx = g, .put = put, .string = string, .count = count };
	struct offload_session *s;
	unsigned told = 0, depth = 0;
	struct err e = { 0 };
	struct buf text = { 0 };
	void *code;
	int fd;

	for (unsigned i = 0; i < 64; i++) {
		snprintf(names[i], sizeof(names[i]), "u-uprobe.so:none_%u(bytes=arg0)", i);
		probes[i] = names[i];
	}
	if (geteuid() || !(s = offload_session_new(&o, &sink, &e))) {
		free(g);
		skip();
	}
	assert_non_null(mkdtemp(path));
	memset(component, 'd', sizeof(component));
	component[0] = '/';
	component[sizeof(component) - 1] = 0;
	for (; depth < 10; depth++) {
		strcat(path, component);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	strcat(path, "/u-uprobe.so");
	fd = open(path, O_RDWR | O_CREAT, 0700);
	assert_int_equal(write(fd,
			       "\x7f"
			       "ELF",
			       4),
			 4);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(code != MAP_FAILED);
	assert_int_equal(offload_session_attach_pid(s, getpid(), NULL, &e), 0);
	offload_session_end(s);
	offload_session_notes(s, &text);
	for (const char *at = text.data; (at = strstr(at, "has no function 'none_")); at++)
		told++;
	assert_in_range(told, 20, 40);
	assert_int_equal(g->notes_cut, 64 - told);
	assert_non_null(strstr(text.data, " more notes about libraries, left out\n"));
	munmap(code, 4096);
	close(fd);
	unlink(path);
	for (; depth + 1; depth--) {
		*strrchr(path, '/') = 0;
		rmdir(path);
	}
	offload_session_free(s);
	buf_release(&text);
	intern_release(&g->strings);
	free(g);
}

#ifdef __x86_64__
/* Waits for *flag; its one exit is the ret. */
void u_uprobe_held(volatile uint32_t *flag);
extern const char u_uprobe_held_exit[];
__asm__(".pushsection .text\n.p2align 4\n.globl u_uprobe_held, u_uprobe_held_exit\n.type u_uprobe_held, @function\n"
	"u_uprobe_held: lea (%rdi), %rax\n1: pause\ncmpl $0, (%rax)\nje 1b\n"
	"u_uprobe_held_exit: ret\n.size u_uprobe_held, . - u_uprobe_held\n.popsection\n");

/* Where an address of ours lies in our file. */
static uint64_t in_file(const void *addr)
{
	uint64_t start, end, offset, found = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) == 3 &&
		    (uintptr_t)addr >= start && (uintptr_t)addr < end)
			found = (uintptr_t)addr - start + offset;
	fclose(f);
	assert_true(found);
	return found;
}

struct ended_calls {
	unsigned count;
	uint64_t longest;
};

static void on_event(void *ctx, const struct offload_event *ev)
{
	struct ended_calls *c = ctx;

	c->count++;
	if (ev->ret > ev->entry && ev->ret - ev->entry > c->longest)
		c->longest = ev->ret - ev->entry;
}

/* It was on the way in, and had time to arrive. */
static void has_begun(const volatile uint32_t *begins)
{
	for (unsigned i = 0; i < 1000 && !*begins; i++)
		usleep(10000);
	assert_int_equal(*begins, 1);
	usleep(50000);
}

/* A call that begins before probes are taken away and one that ends after they are back, on the same piece of the
 * stack, are not one call that lasted from then till now. */
TEST(calls_are_not_joined_across_a_gap)
{
	const uint64_t exits[] = { in_file(u_uprobe_held_exit) };
	struct uprobe_point point = { .offset = in_file((const void *)(uintptr_t)u_uprobe_held),
				      .spec = { .kind = PK_CALL },
				      .exits = exits,
				      .exits_cnt = 1 };
	struct uprobe_opts o = { .mode = UPROBE_AUTO };
	struct ended_calls calls = { 0 };
	struct uprobe_sink sink = { .ctx = &calls, .event = on_event };
	struct err e = { 0 };
	struct uprobe *u = uprobe_new(&o, &e);
	volatile uint32_t *flag;
	uint64_t when;
	uint32_t first;
	int lib, pid;

	if (!u) {
		print_message("# %s\n", e.text);
		skip();
	}
	flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(flag != MAP_FAILED);
	lib = uprobe_library(u, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &point, 1, &first, &e);
	assert_true(lib >= 0);
	pid = fork();
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; pid == 0 && i < 4; i++) {
		flag[8 + i] = 1; /* on the way in */
		u_uprobe_held(&flag[i]);
		if (i == 3)
			_exit(0);
	}
	assert_true(pid > 0);
	assert_true(uprobe_target(u, pid, true) >= 0 && uprobe_attach(u, lib, pid, false, &e) >= 0);
	has_begun(&flag[8]);
	assert_int_equal(uprobe_arm(u, lib, &when, &e), 0);
	flag[0] = 1;         /* begun without a probe: not seen */
	has_begun(&flag[9]); /* the second, begun with one */
	uprobe_pause(u, lib, &when);
	uprobe_disarm(u, &lib, 1);
	flag[1] = 1; /* ends, and the third begins, without */
	has_begun(&flag[10]);
	assert_int_equal(uprobe_arm(u, lib, &when, &e), 0);
	flag[2] = 1;
	has_begun(&flag[11]);
	flag[3] = 1; /* the fourth, seen whole, of 50 ms and what it takes to arrive less */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(uprobe_poll(u, &sink) >= 0);
	assert_int_equal(calls.count, 1);
	assert_true(calls.longest > 10000000);
	uprobe_free(u);
	munmap((void *)(uintptr_t)flag, 4096);
}
#endif
