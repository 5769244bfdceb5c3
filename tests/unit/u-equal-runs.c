// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Weights of timed accesses by the control flow, read from this very program's code: a load that got all
 * of its loop's samples weighs no more than the others of the loop, code that no sample met gets its loads,
 * and what is not known to be this code keeps its weights.
 */
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/bursts.h"
#include "flow/input.h"
#include "flow/threads.h"
#include "flow/unlocated_loads.h"
#include "store/write.h"
#include "unit/unit.h"

#define PERIOD 1000000
#define PID 77
#define STALLED 100 /* samples */
#define TAIL 5
#define MODULE 1

extern char runs_head[], runs_body[], runs_field[], runs_tail[], runs_table[], runs_outer_load[], runs_outer_call[],
	runs_inner[], runs_inner_load[], runs_plain[], runs_plain_end[], runs_plain_load[], runs_divide[],
	runs_divide_end[], runs_divide_load[], runs_divide_wait[];

/* clang-format off */
__asm__(
	".text\n"
	".type runs_loop, @function\n"
	"runs_loop: .cfi_startproc\n"
	"	xor %eax, %eax\n"
	"	mov $100, %ecx\n"
	"1:\n"
	"runs_head: mov (%rdi,%rcx,8), %rdx\n"
	"	add %rdx, %rax\n"
	"	test %rdx, %rdx\n"
	"	je runs_tail\n"
	"runs_body: add runs_table(%rip), %rax\n"
	"runs_field: add 8(%rdi), %rax\n"
	"runs_tail: mov 8(%rsi), %rdx\n"
	"	dec %ecx\n"
	"	jne 1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size runs_loop, . - runs_loop\n"
	".type runs_outer, @function\n"
	"runs_outer: .cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov $100, %ebx\n"
	"2:\n"
	"runs_outer_load: mov runs_table(%rip), %rdi\n"
	"runs_outer_call: call runs_inner\n"
	"	dec %ebx\n"
	"	jne 2b\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size runs_outer, . - runs_outer\n"
	".type runs_inner, @function\n"
	"runs_inner: .cfi_startproc\n"
	"runs_inner_load: mov 8(%rdi), %rax\n"
	"	add $3, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size runs_inner, . - runs_inner\n"
	".type runs_plain, @function\n"
	"runs_plain: .cfi_startproc\n"
	"3:\n"
	"runs_plain_load: mov (%rdi,%rcx,8), %rax\n"
	"	add %rax, %rdx\n"
	"	dec %rcx\n"
	"	jne 3b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"runs_plain_end: .size runs_plain, . - runs_plain\n"
	".type runs_divide, @function\n"
	"runs_divide: .cfi_startproc\n"
	"4:\n"
	"runs_divide_load: mov (%rdi,%rcx,8), %rax\n"
	"runs_divide_wait: div %rsi\n"
	"	dec %rcx\n"
	"	jne 4b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"runs_divide_end: .size runs_divide, . - runs_divide\n"
	".bss\n"
	".balign 64\n"
	"runs_table: .zero 64\n"
	".text\n");
/* clang-format on */

static char path[256], self[4096];
static uint64_t bias;
static struct store_writer *w;
static uint32_t stacks;

static int first_object(struct dl_phdr_info *i, size_t size, void *ctx)
{
	*(uint64_t *)ctx = i->dlpi_addr;
	return 1;
}

static int set_up(void **state)
{
	const char *dir = getenv("TMPDIR");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	snprintf(path, sizeof(path), "%s/u-runs.%d.data", dir ? dir : "/tmp", getpid());
	dl_iterate_phdr(first_object, &bias);
	return n > 0 ? 0 : -1;
}

static int clear_up(void **state)
{
	unlink(path);
	return 0;
}

static uint64_t vaddr(const char *label)
{
	return (uint64_t)(uintptr_t)label - bias;
}

/* The mapping that holds this code, as the recorder would tell of it. */
static void put_mapping(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long start, end, offset;
		char prot[8];
		struct fmt_mapping m = { .pid = PID, .module = MODULE, .prot = 5 };

		if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, prot, &offset) != 4)
			continue;
		if ((uintptr_t)runs_head < start || (uintptr_t)runs_head >= end)
			continue;
		m.start = start;
		m.end = end;
		m.pgoff = offset;
		store_put(w, FMT_MAPPING, &m, sizeof(m));
	}
	fclose(f);
}

static void begin(const char *file, unsigned id_len)
{
	struct err e = { 0 };
	struct fmt_module m = { .id = MODULE, .kind = FMT_MOD_FILE, .build_id_len = id_len };

	w = store_create(path, 0, &e);
	assert_non_null(w);
	store_meta(w, "engine", "soft");
	m.path = store_string(w, file);
	memset(m.build_id, 0x5a, sizeof(m.build_id));
	store_put(w, FMT_MODULE, &m, sizeof(m));
	put_mapping();
	stacks = 0;
}

static void samples(unsigned n, const char *at, const char *caller)
{
	struct fmt_frame frame[2] = { { .addr = vaddr(at), .module = MODULE } };
	struct fmt_stack s = { .id = ++stacks, .count = caller ? 2 : 1 };

	if (caller)
		frame[1] = (struct fmt_frame){ .addr = vaddr(caller), .module = MODULE, .flags = FMT_FRAME_RETURN };
	store_put_var(w, FMT_STACK, &s, sizeof(s), frame, s.count * (uint32_t)sizeof(frame[0]));
	for (unsigned i = 0; i < n; i++) {
		struct fmt_sample k = { .time = 1000 + i, .period = PERIOD, .pid = PID, .tid = PID, .stack = stacks };

		store_put(w, FMT_SAMPLE, &k, sizeof(k));
	}
}

static void loads(unsigned n, const char *at, uint32_t flags)
{
	for (unsigned i = 0; i < n; i++) {
		struct fmt_access a = { .time = 1000 + i,
					.addr = 0x10000 + 8 * i,
					.weight = 1,
					.ip = vaddr(at),
					.pid = PID,
					.tid = PID,
					.module = MODULE,
					.size = 8,
					.flags = FMT_A_LOAD | flags };

		store_put(w, FMT_ACCESS, &a, sizeof(a));
	}
}

#define TIMED (FMT_A_TIME | FMT_A_DERIVED)

static void finish(struct flow_input *in)
{
	struct flow_input_opts o = { 0 };
	struct err e = { 0 };

	assert_int_equal(store_close(w, &e), 0);
	if (flow_input_load(in, path, &o, &e))
		fail_msg("%s", e.text);
}

static double sum(const struct flow_input *in, const struct in_access *a, size_t n, const char *at, uint64_t *addr)
{
	double all = 0;

	for (size_t i = 0; i < n; i++) {
		if (in->sites[a[i].site].ip != vaddr(at))
			continue;
		all += a[i].weight;
		if (addr)
			*addr = a[i].addr;
	}
	return all;
}

static double weight(const struct flow_input *in, const char *at)
{
	return sum(in, in->access, in->access_count, at, NULL);
}

static void stalled_loop(void)
{
	samples(STALLED, runs_head, NULL);
	samples(TAIL, runs_tail, NULL);
	loads(STALLED, runs_head, TIMED);
	loads(TAIL, runs_tail, TIMED);
}

TEST(a_stall_does_not_make_a_load_more_frequent)
{
	struct flow_input in;
	double head, tail;

	begin(self, 0);
	stalled_loop();
	finish(&in);
	head = weight(&in, runs_head);
	tail = weight(&in, runs_tail);
	assert_true(head > 0.9 * tail && head < 1.1 * tail);
	/* seven instructions of a round, or nine: together they take what was sampled, a nanosecond each */
	assert_true(7 * head < 1.02 * (STALLED + TAIL) * PERIOD && 9 * head > 0.95 * (STALLED + TAIL) * PERIOD);
	flow_input_release(&in);
}

TEST(loads_that_no_sample_met_are_there)
{
	struct flow_input in;
	uint64_t addr = 0;
	double head, body, field, took;

	begin(self, 0);
	stalled_loop();
	samples(30, runs_body, NULL);
	finish(&in);
	head = weight(&in, runs_head);
	body = sum(&in, in.access, in.access_count, runs_body, &addr);
	field = sum(&in, in.blind, in.blind_count, runs_field, NULL);
	assert_true(body > 0.2 * head && body <= 1.05 * head);
	assert_true(addr == (uint64_t)(uintptr_t)runs_table);
	/* and what is there besides does not come on top of the time */
	took = 4 * head + 2 * body + 3 * weight(&in, runs_tail);
	assert_true(fabs(took / ((STALLED + TAIL + 30.0) * PERIOD) - 1) < 0.05);
	/* both are in one block; where the second reads depends on a register */
	assert_true(fabs(field - body) < 1e-6 * body);
	assert_true(sum(&in, in.access, in.access_count, runs_field, NULL) == 0);
	flow_input_release(&in);
}

/* A structure of the caller, by a register that does not say so: bursts saw where it lay. */
TEST(what_bursts_saw_on_the_stack_is_there)
{
	const struct fmt_burst_site seen = { .id = 1,
					     .module = MODULE,
					     .ip = vaddr(runs_field),
					     .runs = 4,
					     .load_bytes = 32,
					     .load_stack = 24,
					     .bursts = 2 };
	struct est_opts o = EST_OPTS_DEFAULT;
	double stack = 0, rest = 0, read = 0;
	struct last_writer c = { 0 };
	struct flow_input in;

	begin(self, 0);
	stalled_loop();
	samples(30, runs_body, NULL);
	store_put(w, FMT_BURST_SITE, &seen, sizeof(seen));
	finish(&in);
	for (size_t i = 0; i < in.blind_count; i++)
		if (in.sites[in.blind[i].site].ip == vaddr(runs_field))
			*(in.blind[i].flags & FMT_A_STACK ? &stack : &rest) += in.blind[i].weight;
	assert_true(rest > 0 && fabs(stack / rest - 3) < 1e-6);
	/* and is no data that others wrote */
	assert_int_equal(unlocated_loads_add(&in, &o, &c), 0);
	for (size_t i = 0; i < c.read_count; i++)
		read += in.sites[c.reads[i].site].ip == vaddr(runs_field) ? c.reads[i].bytes : 0;
	assert_true(fabs(read - 8 * rest) < 1e-6 * read);
	free(c.reads);
	flow_input_release(&in);
}

TEST(a_caller_runs_as_often_as_what_it_calls)
{
	struct flow_input in;
	double inner, outer;

	begin(self, 0);
	samples(200, runs_inner, runs_outer_call + 4);
	loads(200, runs_inner_load, TIMED);
	finish(&in);
	inner = weight(&in, runs_inner_load);
	outer = weight(&in, runs_outer_load);
	assert_true(outer > 0.6 * inner && outer < 1.4 * inner);
	flow_input_release(&in);
}

TEST(what_was_counted_or_copied_keeps_its_weight)
{
	struct flow_input in;
	double head = 0, other = 0;

	begin(self, 0);
	stalled_loop();
	loads(7, runs_head, 0);
	loads(9, runs_head, TIMED | FMT_A_REP);
	finish(&in);
	for (size_t i = 0; i < in.access_count; i++) {
		const struct in_access *a = &in.access[i];
		bool timed = (a->flags & FMT_A_TIME) && !(a->flags & FMT_A_REP);

		if (in.sites[a->site].ip == vaddr(runs_head))
			*(timed ? &head : &other) += a->weight;
	}
	assert_true(other == 16);
	assert_true(head < 1.1 * weight(&in, runs_tail));
	flow_input_release(&in);
}

/* A function that is one loop, whose header runs 5,000 times a second. */
static void counted_loop(uint32_t id, const char *from, const char *to, unsigned sampled)
{
	struct fmt_counts_func f = { .id = id,
				     .module = MODULE,
				     .start = vaddr(from),
				     .end = vaddr(to),
				     .self_ns = sampled * (double)PERIOD,
				     .samples = sampled,
				     .flags = FMT_CF_GRAPH | FMT_CF_COMPLETE,
				     .blocks = 2,
				     .loops = 1 };
	struct fmt_counts_node loop = { .id = id,
					.function = id,
					.kind = FMT_CN_LOOP,
					.depth = 1,
					.addr = vaddr(from),
					.instructions = 4,
					.loads = 1,
					.load_bytes = 8,
					.self_ns = f.self_ns,
					.samples = sampled };
	struct fmt_counts_link l = { .id = id, .child = id, .how = FMT_CL_RATE };

	store_put(w, FMT_COUNTS_FUNC, &f, sizeof(f));
	store_put(w, FMT_COUNTS_NODE, &loop, sizeof(loop));
	store_put(w, FMT_COUNTS_LINK, &l, sizeof(l));
	for (unsigned i = 0; i < 40; i++) {
		struct fmt_counts_window win = { .armed = 1000000 * (i + 1),
						 .ended = 1000000 * (i + 2),
						 .anchor = 0.01,
						 .child = 50,
						 .link = id,
						 .pid = PID,
						 .tid = PID };

		store_put(w, FMT_COUNTS_WINDOW, &win, sizeof(win));
	}
}

/* Two loops that turn as often: one waits for its divisions and has more of the samples, but not more of the loads. */
TEST(what_was_counted_decides_for_code_that_divides)
{
	struct flow_input in;
	double plain, divide;

	begin(self, 0);
	samples(100, runs_plain, NULL);
	samples(300, runs_divide_wait, NULL);
	loads(100, runs_plain_load, TIMED);
	loads(300, runs_divide_load, TIMED);
	counted_loop(1, runs_plain, runs_plain_end, 100);
	counted_loop(2, runs_divide, runs_divide_end, 300);
	finish(&in);
	plain = weight(&in, runs_plain_load);
	divide = weight(&in, runs_divide_load);
	assert_true(divide > 0.7 * plain && divide < 1.4 * plain);
	flow_input_release(&in);
}

static void part(uint64_t time, double head, double body)
{
	struct {
		struct fmt_burst_part h;
		struct fmt_burst_part_site s[3];
	} p = { { .time = time, .bursts = 2, .sites = 3 }, { { 1, 2, head }, { 2, 2, body }, { 3, 2, head } } };

	store_put_var(w, FMT_BURST_PART, &p, sizeof(p), NULL, 0);
}

static uint32_t site(const struct flow_input *in, const char *at)
{
	uint32_t i = 0;

	while (i < in->site_count && in->sites[i].ip != vaddr(at))
		i++;
	assert_true(i < in->site_count);
	return i;
}

/* Every fourth turn of the loop has a body, which no sample met: in half of the parts every other has, in half none. */
TEST(bursts_tell_what_blocks_ran)
{
	static const char *const at[] = { runs_head, runs_body, runs_tail };
	static const double runs[] = { 1000, 250, 1000 };
	struct est_opts o = EST_OPTS_DEFAULT;
	struct flow_threads threads;
	struct err e = { 0 };
	uint8_t times[10];
	struct flow_input in;
	struct bursts b;

	begin(self, 0);
	stalled_loop();
	loads(9, runs_plain_load, TIMED);
	for (uint32_t i = 0; i < 3; i++) {
		struct fmt_burst_site s = {
			.id = i + 1, .module = MODULE, .ip = vaddr(at[i]), .runs = runs[i], .bursts = 20
		};

		store_put(w, FMT_BURST_SITE, &s, sizeof(s));
	}
	for (unsigned i = 0; i < 10; i++)
		part(1000 + i, 100, i < 5 ? 50 : 0);
	finish(&in);
	assert_true(fabs(weight(&in, runs_body) / weight(&in, runs_head) - 0.25) < 1e-6);
	assert_true(fabs(weight(&in, runs_head) / weight(&in, runs_tail) - 1) < 1e-6);
	assert_int_equal(in.parts.count, 10);
	assert_int_equal(bursts_learn(&b, &in, true), 0);
	for (unsigned i = 0; i < 10; i++)
		times[i] = i < 5 ? 2 : 0;
	bursts_again(&b, &in, times);
	assert_true(fabs(b.volume[site(&in, runs_body)] / b.volume[site(&in, runs_head)] - 2) < 1e-6);
	assert_true(b.volume[site(&in, runs_tail)] == b.volume[site(&in, runs_head)] &&
		    b.volume[site(&in, runs_head)] < 1);
	for (unsigned i = 0; i < 10; i++)
		times[i] = i < 5 ? 0 : 3;
	bursts_again(&b, &in, times);
	assert_true(b.volume[site(&in, runs_body)] == 0 && b.volume[site(&in, runs_head)] > 1);
	/* weighed by something else */
	assert_true(b.volume[site(&in, runs_plain_load)] == 1);
	bursts_release(&b);
	/* threads' loads are weighed the same way */
	assert_int_equal(flow_threads_build(&in, &o, &threads, &e), 0);
	assert_true(in.sites[site(&in, runs_body)].block &&
		    in.sites[site(&in, runs_body)].block != in.sites[site(&in, runs_head)].block);
	flow_threads_release(&threads);
	flow_input_release(&in);
}

TEST(without_the_code_weights_stay)
{
	static const struct {
		const char *file;
		unsigned id_len;
	} wrong[] = { { "/nowhere/at/all", 0 }, { self, 20 }, { "/dev/null", 0 } };

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct flow_input in;

		begin(wrong[i].file, wrong[i].id_len);
		stalled_loop();
		samples(30, runs_body, NULL);
		finish(&in);
		assert_true(weight(&in, runs_head) == STALLED && weight(&in, runs_tail) == TAIL);
		assert_true(in.access_count == STALLED + TAIL && !in.blind_count);
		flow_input_release(&in);
	}
}

TEST(without_time_samples_weights_stay)
{
	struct flow_input in;

	begin(self, 0);
	loads(STALLED, runs_head, TIMED);
	loads(TAIL, runs_tail, TIMED);
	finish(&in);
	assert_true(weight(&in, runs_head) == STALLED && weight(&in, runs_tail) == TAIL);
	flow_input_release(&in);
}

int main(void)
{
	return RUN_TESTS(set_up, clear_up);
}
