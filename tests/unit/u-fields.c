// SPDX-License-Identifier: GPL-2.0-or-later
/* Who could have written a field, told from the code; windows that began late. */
#include <link.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "flow/estimators.h"
#include "flow/fields.h"
#include "flow/window_delay.h"
#include "store/write.h"

/* Four functions on structures, never called. The stranger stores to one of the reader's fields and to many more. */
__asm__(".text\n"
	"fields_reader: .cfi_startproc\n movl 0x148(%rdi), %eax\n"
	"fields_second: movl 0x14c(%rdi), %ecx\n"
	"fields_third: movq 0x150(%rdi), %rdx\n"
	"fields_fourth: movl (%rdi,%rcx), %edx\n ret\n .cfi_endproc\n"
	"fields_setter: .cfi_startproc\n movq %rsi, 0x148(%rdi)\n movq %rsi, 0x150(%rdi)\n movl %esi, 0x160(%rdi)\n ret\n .cfi_endproc\n"
	"fields_stranger: .cfi_startproc\n movl %esi, 0x148(%rdi)\n movl %esi, 0x10(%rdi)\n movl %esi, 0x20(%rdi)\n"
	" movl %esi, 0x30(%rdi)\n movl %esi, 0x40(%rdi)\n movl %esi, 0x50(%rdi)\n movl %esi, 0x60(%rdi)\n ret\n .cfi_endproc\n"
	"fields_outer: .cfi_startproc\n movl %esi, 0x148(%rdi)\n ret\n .cfi_endproc\n"
	"fields_other: .cfi_startproc\n movl %esi, 0x8(%rdi)\n movw %si, 0x148(%rdi)\n movl %esi, 0x148(%rsp)\n movl %esi, 0x148(%rdi,%rcx)\n"
	" ret\n .cfi_endproc\n");
extern const char fields_reader[], fields_second[], fields_third[], fields_fourth[], fields_setter[], fields_stranger[],
	fields_outer[], fields_other[];

enum { READER = 1, SETTER, STRANGER, OUTER, OTHER, FUNCTIONS = OTHER };

static char path[256];
static uint64_t bias;

static int find_bias(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	(void)ctx;
	bias = info->dlpi_addr;
	return 1; /* the first is the program */
}

static int set_path(void **state)
{
	const char *dir = getenv("TMPDIR");

	(void)state;
	snprintf(path, sizeof(path), "%s/u-fields.%d.data", dir ? dir : "/tmp", getpid());
	dl_iterate_phdr(find_bias, NULL);
	return 0;
}

static int remove_path(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static uint64_t at(const char *code)
{
	return (uint64_t)(uintptr_t)code - bias;
}

static void put_symbol(struct store_writer *w, const char *code, uint32_t function)
{
	struct fmt_symbol s = { .addr = at(code), .module = 1, .count = 1 };
	struct fmt_inline chain = { .function = function };

	store_put_var(w, FMT_SYMBOL, &s, sizeof(s), &chain, sizeof(chain));
}

static void put_names(struct store_writer *w)
{
	static const char *const names[] = { "", "reader", "setter", "stranger", "outer", "other" };
	static const char *const code[] = { NULL,         fields_reader, fields_setter, fields_stranger,
					    fields_outer, fields_other };
	struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE };
	char exe[256];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_true(n > 0);
	exe[n] = 0;
	m.path = store_string(w, exe);
	store_put(w, FMT_MODULE, &m, sizeof(m));
	for (uint32_t i = 1; i <= FUNCTIONS; i++) {
		struct fmt_function f = { .id = i, .name = store_string(w, names[i]), .object = store_string(w, exe) };

		store_put(w, FMT_FUNCTION, &f, sizeof(f));
		put_symbol(w, code[i], i);
	}
	put_symbol(w, fields_second, READER);
	put_symbol(w, fields_third, READER);
	put_symbol(w, fields_fourth, READER);
}

static bool writers_rest; /* setter and stranger: no sample met them; that there is such code execution counts say */

/* Each leaf was called by `outer`, which is there all the time. */
static void put_stacks(struct store_writer *w, uint64_t *now)
{
	static const char *const leaf[] = { fields_reader, fields_setter, fields_stranger, fields_other };

	for (uint32_t i = 0; i < 4; i++) {
		struct fmt_stack s = { .id = i + 1, .count = 2, .flags = FMT_STACK_COMPLETE };
		struct fmt_frame f[2] = { { .addr = at(leaf[i]), .module = 1 },
					  { .addr = at(fields_outer), .module = 1 } };

		if (writers_rest && (leaf[i] == fields_setter || leaf[i] == fields_stranger))
			continue;
		store_put_var(w, FMT_STACK, &s, sizeof(s), f, sizeof(f));
		for (int k = 0; k < 20; k++) {
			struct fmt_sample m = { .time = ++*now, .period = 1000, .pid = 1, .tid = 1, .stack = i + 1 };

			store_put(w, FMT_SAMPLE, &m, sizeof(m));
		}
	}
}

static struct fmt_access load_at(const char *code, uint64_t object, uint32_t distance, uint32_t size, uint64_t now)
{
	return (struct fmt_access){ .time = now,
				    .addr = object + distance,
				    .ip = at(code),
				    .weight = 10,
				    .module = 1,
				    .pid = 1,
				    .tid = 1,
				    .size = size,
				    .flags = FMT_A_LOAD | FMT_A_TIME };
}

/* Nobody is seen to write what the reader reads, neither by samples nor by 30 windows of half a millisecond; some other
 * memory is seen written, after so long. */
static void record(struct flow_input *in)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct flow_input_opts o = { 0 };
	uint64_t now = 1000;
	struct fmt_end end = { .reason = FMT_END_DONE };
	struct fmt_counts_func resting[] = {
		{ .id = 1, .module = 1, .start = at(fields_setter), .end = at(fields_setter) + 1 },
		{ .id = 2, .module = 1, .start = at(fields_stranger), .end = at(fields_stranger) + 1 }
	};

	assert_non_null(w);
	store_meta(w, "engine", "soft");
	store_meta(w, "from_start", "0");
	put_names(w);
	put_stacks(w, &now);
	for (int i = 0; i < 2 && writers_rest; i++)
		store_put(w, FMT_COUNTS_FUNC, &resting[i], sizeof(resting[i]));
	for (uint64_t i = 0; i < 30; i++) {
		struct fmt_access a[] = { load_at(fields_reader, 0x70000000, 0x148, 4, now),
					  load_at(fields_second, 0x70000000, 0x14c, 4, now + 1),
					  load_at(fields_third, 0x70000000, 0x150, 8, now + 2),
					  load_at(fields_fourth, 0x90000000 + 64 * i, 0, 4, now + 3) };
		struct fmt_window win = { .armed = now + 10,
					  .ended = now + 500000,
					  .addr = 0x70000148,
					  .len = 1,
					  .end_reason = FMT_W_TIME,
					  .count = 2,
					  .write_only_after = ~0u };
		struct fmt_hit h[3] = { { .time = now + 1000,
					  .ip = at(fields_reader),
					  .module = 1,
					  .syscall = -1,
					  .flags = FMT_A_LOAD },
					{ .time = now + 2000,
					  .ip = at(fields_reader),
					  .module = 1,
					  .syscall = -1,
					  .flags = FMT_A_LOAD },
					{ .time = now + 200000,
					  .ip = at(fields_other),
					  .module = 1,
					  .syscall = -1,
					  .flags = FMT_A_STORE } };

		for (int k = 0; k < 4; k++)
			store_put(w, FMT_ACCESS, &a[k], sizeof(a[k]));
		memcpy(&win.arm, &a[0], sizeof(win.arm));
		store_put_var(w, FMT_WINDOW, &win, sizeof(win), h, 2 * sizeof(h[0]));
		memcpy(&win.arm, &a[3], sizeof(win.arm));
		win.addr = a[3].addr;
		win.count = 3;
		h[0].ip = h[1].ip = at(fields_fourth);
		store_put_var(w, FMT_WINDOW, &win, sizeof(win), h, sizeof(h));
		now += 2000000;
	}
	end.time = now;
	store_put(w, FMT_END, &end, sizeof(end));
	assert_int_equal(store_close(w, &e), 0);
	assert_int_equal(flow_input_load(in, path, &o, &e), 0);
}

static const struct in_site *site_at(const struct flow_input *in, const char *code)
{
	for (uint32_t i = 0; i < in->site_count; i++)
		if (in->sites[i].ip == at(code))
			return &in->sites[i];
	return NULL;
}

static bool could_write(const struct flow_input *in, const struct in_site *s, const char *name)
{
	for (uint32_t k = s->first_writer; k < s->first_writer + s->writers; k++)
		if (!strcmp(in->funcs[in->writer[k].func].name, name))
			return true;
	return false;
}

static void writers_of_fields_are_found_in_code(void **state)
{
	struct flow_input in;
	const struct in_site *s;

	(void)state;
	record(&in);
	s = site_at(&in, fields_reader);
	assert_non_null(s);
	assert_int_equal(s->load_at, 0x148);
	assert_true(could_write(&in, s, "setter") && could_write(&in, s, "stranger"));
	/* narrower, on the stack, into an array */
	assert_false(could_write(&in, s, "other"));
	/* it began before the recording */
	assert_false(could_write(&in, s, "outer"));
	s = site_at(&in, fields_second);
	assert_true(s && s->writers == 1 && could_write(&in, s, "setter")); /* the upper half of a wider store */
	s = site_at(&in, fields_fourth);
	assert_true(s && !s->field && !s->writers);
	flow_input_release(&in);
}

static void whose_structures_they_are_tells_writers_apart(void **state)
{
	struct est_opts o = EST_OPTS_DEFAULT;
	struct flow_input in;
	struct fields f;
	const struct in_site *s;
	double setter = 0, all = 0;

	(void)state;
	record(&in);
	assert_int_equal(fields_learn(&f, &in, &o), 0);
	s = site_at(&in, fields_reader);
	assert_int_equal(s->writers, 2);
	for (uint32_t k = s->first_writer; k < s->first_writer + s->writers; k++) {
		all += f.weight[k];
		if (!strcmp(in.funcs[in.writer[k].func].name, "setter"))
			setter = f.weight[k];
	}
	/* three fields of three it stores to against one of seven */
	assert_true(fabs(all - 1) < 1e-9 && setter > 0.9);
	assert_true(fields_stays(&f, (uint32_t)(s - in.sites), 0.5) < 0.4);
	assert_true(fields_stays(&f, (uint32_t)(site_at(&in, fields_fourth) - in.sites), 0.5) == 0.5);
	fields_release(&f);
	flow_input_release(&in);
}

static double share(const struct flow *f, const char *producer, const char *consumer)
{
	const struct flow_edge *e = flow_get(f, flow_find(f, producer, NULL), flow_find(f, consumer, NULL));

	return e ? e->bytes / flow_total(f) : 0;
}

static void what_nobody_was_seen_to_write_goes_to_who_could(void **state)
{
	struct est_opts o = EST_OPTS_DEFAULT;
	struct flow_input in;
	struct flow f;
	struct err e = { 0 };

	(void)state;
	record(&in);
	assert_int_equal(flow_estimate(&in, "fused", &o, &f, &e), 0);
	assert_true(share(&f, "setter", "reader") > 4 * share(&f, "stranger", "reader"));
	assert_true(share(&f, "setter", "reader") > 0.1);
	flow_release(&f);
	flow_input_release(&in);
}

static void a_record_by_another_pointer_is_of_another_object(void **state)
{
	struct in_site site[] = { { .func = 0, .load_at = 0x148, .field = 1, .writers = 1 },
				  { .func = 1, .store_at = 0x148 },
				  { .func = 1, .store_at = 0x20 },
				  { .func = 2, .store_at = 0x148 } };
	struct in_func func[] = { { .name = "reader", .object = "app" },
				  { .name = "writer", .object = "app" },
				  { .name = "nobody", .object = "app" } };
	struct in_writer writer = { .func = 1, .fields = 1, .stores = 2 };
	struct flow_input in = {
		.sites = site, .site_count = 4, .funcs = func, .func_count = 3, .writer = &writer, .writer_count = 1
	};
	struct est_opts o = EST_OPTS_DEFAULT;
	struct answer same = { .producer = 1, .site = 1, .addr = 0x5148, .near = NEAR_GRANULE };
	struct answer other = { .producer = 1, .site = 2, .addr = 0x5148, .near = NEAR_GRANULE };
	struct answer beside = { .producer = 2, .site = 3, .addr = 0x5150, .near = NEAR_LINE };
	struct fields f;

	(void)state;
	assert_int_equal(fields_learn(&f, &in, &o), 0);
	assert_true(fields_judge(&f, 0, 0x5148, &same, 1) > 0.95);
	assert_true(fields_judge(&f, 0, 0x5148, &other, 1) < 0.7);
	assert_true(fields_judge(&f, 0, 0x5148, &beside, 0.5) < 0.25); /* it stores to no such field */
	beside.producer = 1;
	assert_true(fields_judge(&f, 0, 0x5148, &beside, 0.5) == 0.5);
	fields_release(&f);
}

/* Two could write the field, as far as their code tells. */
static void who_works_on_the_same_structures_is_likelier(void **state)
{
	struct in_site site[] = { { .func = 0, .load_at = 0x148, .field = 1, .writers = 2 },
				  { .func = 1, .store_at = 0x148 },
				  { .func = 2, .store_at = 0x148 },
				  { .func = 3, .load_at = 0x148 } };
	struct in_func func[] = { { .name = "reader", .object = "app" },
				  { .name = "same", .object = "app" },
				  { .name = "apart", .object = "app" },
				  { .name = "else", .object = "app" } };
	struct in_writer writer[] = { { .func = 1, .fields = 1, .stores = 2 },
				      { .func = 2, .fields = 1, .stores = 2 } };
	struct in_access access[12];
	struct in_hit hit[] = { { .func = 1, .site = 1, .flags = FMT_A_STORE },
				{ .func = 0, .site = 0, .flags = FMT_A_LOAD },
				{ .func = 2, .site = 2, .flags = FMT_A_STORE },
				{ .func = 3, .site = 3, .flags = FMT_A_LOAD } };
	struct in_window window[4];
	struct flow_input in = {
		.sites = site, .site_count = 4, .funcs = func, .func_count = 4, .writer = writer, .writer_count = 2
	};
	struct est_opts o = EST_OPTS_DEFAULT;
	struct fields f;

	(void)state;
	assert_int_equal(fields_learn(&f, &in, &o), 0);
	assert_true(fabs(f.weight[0] - 0.5) < 1e-9 && fabs(f.weight[1] - 0.5) < 1e-9);
	fields_release(&f);
	/* one structure is read; one of the two stores to it, the other to one of its own */
	for (uint64_t i = 0; i < 12; i++)
		access[i] = (struct in_access){ .site = (uint32_t)(i / 4),
						.addr = 0x10000 + (i / 4 == 2 ? 0x100000 : 0) + 0x148,
						.flags = i < 4 ? FMT_A_LOAD : FMT_A_STORE };
	in.access = access;
	in.access_count = 12;
	assert_int_equal(fields_learn(&f, &in, &o), 0);
	assert_true(f.weight[0] > 0.8);
	fields_release(&f);
	/* in windows, the reader comes right after the one, and somebody else after the other */
	in.access_count = 0;
	for (int i = 0; i < 4; i++)
		window[i] = (struct in_window){ .count = 4 };
	in.hit = hit;
	in.hit_count = 4;
	in.window = window;
	in.window_count = 4;
	assert_int_equal(fields_learn(&f, &in, &o), 0);
	assert_true(f.weight[0] > 0.8);
	fields_release(&f);
}

/* First hit, then 20 us from one to the next. */
static void late_window(struct flow_input *in, uint64_t first)
{
	struct in_window *w = &in->window[in->window_count++];

	*w = (struct in_window){
		.armed = 1000000, .ended = 9000000, .arm.flags = FMT_A_LOAD, .first = in->hit_count, .count = 5
	};
	for (uint64_t k = 0; k < 5; k++)
		in->hit[in->hit_count++] = (struct in_hit){ .time = w->armed + first + 20000 * k, .flags = FMT_A_LOAD };
}

static void windows_that_begin_elsewhere_are_told(void **state)
{
	struct in_window window[8];
	struct in_hit hit[64];
	struct flow_input in = { .window = window, .hit = hit };
	bool *late;

	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		late_window(&in, 200000 + 20000 * i);
	late_window(&in, 900000);
	window[7] = (struct in_window){ .armed = 1000000, .ended = 2000000, .arm.flags = FMT_A_LOAD };
	in.window_count = 8;
	late = window_delay_apply(&in);
	assert_non_null(late);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(late[i], i == 6);
	free(late);
}

/* Who was not met at work has no time. */
static void who_could_write_need_not_have_run(void **state)
{
	struct flow_input in;
	uint32_t last = 0;

	(void)state;
	writers_rest = true;
	record(&in);
	writers_rest = false;
	for (uint32_t f = 0; f < in.func_count; f++)
		if (!strcmp(in.funcs[f].name, "setter") || !strcmp(in.funcs[f].name, "stranger")) {
			last = f;
			assert_int_equal(in.times[f].samples, 0);
			assert_true(in.times[f].self_ns == 0);
		}
	assert_int_equal(last + 1, in.func_count);
	flow_input_release(&in);
}

/* Of many writers of a field the likeliest make edges, whatever order they stand in; sites share what was chosen. */
static void many_writers_are_the_likeliest(void **state)
{
	enum { N = 500, MOST = 64 };
	struct in_func func[N + 1] = { 0 };
	struct in_writer writer[N];
	struct in_site site[3] = { { .func = N, .field = 1, .writers = N },
				   { .func = N },
				   { .func = N, .field = 1, .writers = N } };
	struct flow_input in = {
		.funcs = func, .func_count = N + 1, .writer = writer, .writer_count = N, .sites = site, .site_count = 3
	};
	struct est_opts o = EST_OPTS_DEFAULT;
	struct fields f;
	double sum = 0, least = 1;

	(void)state;
	for (int ties = 0; ties < 2; ties++) {
		for (uint32_t i = 0; i < N; i++) {
			func[i] = (struct in_func){ .name = "w", .object = "x" };
			writer[i] = (struct in_writer){ .func = i, .fields = ties ? 3 : 1 + i * 37 % N, .stores = 1 };
		}
		func[N] = (struct in_func){ .name = "r", .object = "x" };
		assert_int_equal(fields_learn(&f, &in, &o), 0);
		assert_int_equal(f.likelies, MOST);
		assert_int_equal(f.likely_count[0], MOST);
		assert_int_equal(f.likely_count[1], 0);
		assert_int_equal(f.likely_count[2], MOST);
		assert_int_equal(f.likely_first[0], f.likely_first[2]);
		sum = 0;
		for (uint32_t i = 0; i < MOST; i++) {
			sum += f.weight[f.likely[i]];
			least = fmin(least, f.weight[f.likely[i]]);
			assert_true(ties || writer[f.likely[i]].fields > N - MOST);
		}
		assert_true(fabs(sum - 1) < 1e-9 && least > 0);
		for (uint32_t i = 0; i < N; i++)
			sum -= f.weight[i];
		assert_true(fabs(sum) < 1e-9);
		fields_release(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writers_of_fields_are_found_in_code),
		cmocka_unit_test(whose_structures_they_are_tells_writers_apart),
		cmocka_unit_test(what_nobody_was_seen_to_write_goes_to_who_could),
		cmocka_unit_test(a_record_by_another_pointer_is_of_another_object),
		cmocka_unit_test(who_works_on_the_same_structures_is_likelier),
		cmocka_unit_test(windows_that_begin_elsewhere_are_told),
		cmocka_unit_test(who_could_write_need_not_have_run),
		cmocka_unit_test(many_writers_are_the_likeliest),
	};

	return cmocka_run_group_tests(tests, set_path, remove_path);
}
