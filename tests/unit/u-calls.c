// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairing of submissions and waits, and the spellings of --offload-probe. */
#include <string.h>

#include "kmod-free/uprobe_self.h"
#include "offload/api.h"
#include "offload/api_table.h"
#include "offload/calls.h"
#include "offload/session.h"
#include "unit/unit.h"

#define US 1000ull
#define INSIDE 500.0
#define DEAR 9000.0
#define CHEAP 700.0

static struct fmt_call got[64];
static unsigned got_cnt;

static void take(void *ctx, const struct fmt_call *c)
{
	if (got_cnt < 64)
		got[got_cnt++] = *c;
}

static struct calls *fresh(void)
{
	got_cnt = 0;
	memset(got, 0, sizeof(got));
	struct calls *c = calls_new(take, NULL);

	calls_price(c, (double[FMT_PROBE_CLASSES]){ INSIDE, DEAR, CHEAP });
	return c;
}

static const struct calls_probe submit = { .api = 1, .family = 3 };
static const struct calls_probe wait_queue = { .api = 2, .family = 3, .scope = PS_QUEUE };
static const struct calls_probe wait_all = { .api = 3, .family = 3, .scope = PS_ALL };
static const struct calls_probe wait_event = { .api = 4, .family = 3, .scope = PS_EVENT };
static const struct calls_probe copy = { .api = 5, .family = 3, .completes = true };

static struct offload_event ev(unsigned kind, uint64_t from_us, uint64_t to_us, uint64_t queue)
{
	return (struct offload_event){ .kind = kind,
				       .entry = from_us * US,
				       .ret = to_us * US,
				       .queue = queue,
				       .pid = 10,
				       .tid = 11,
				       .weight = 1,
				       .in = 4096,
				       .flags = WO_IN,
				       .cpu = (to_us - from_us) * US };
}

static void add(struct calls *c, struct offload_event e, const struct calls_probe *p)
{
	calls_add(c, &e, p, 0, 0);
}

TEST(queues_do_not_mix)
{
	struct calls *c = fresh();

	add(c, ev(PK_SUBMIT, 10, 12, 1), &submit);
	add(c, ev(PK_SUBMIT, 20, 22, 2), &submit);
	add(c, ev(PK_WAIT, 30, 100, 1), &wait_queue);
	assert_int_equal(got_cnt, 1);
	assert_int_equal(got[0].queue, 1);
	assert_int_equal(got[0].complete, 100 * US);
	assert_int_equal(got[0].busy_ns, 90 * US - 2 * INSIDE);
	assert_int_equal(got[0].submit_ns, 2 * US - INSIDE);
	assert_int_equal(got[0].wait_ns, 70 * US - INSIDE);
	assert_true(got[0].flags & FMT_CALL_TIMED);
	assert_true(got[0].flags & FMT_CALL_ASYNC);
	assert_false(got[0].flags & FMT_CALL_LATE);
	add(c, ev(PK_WAIT, 110, 150, 0), &wait_all);
	assert_int_equal(got_cnt, 2);
	assert_int_equal(got[1].queue, 2);
	calls_end(c);
	assert_int_equal(got_cnt, 2);
	calls_free(c);
}

/* A manager of jobs: a submission hands back an earlier job, and with it all before. */
TEST(a_submission_hands_back)
{
	struct calls *c = fresh();
	struct offload_event e;

	for (uint64_t i = 0; i < 4; i++) {
		e = ev(PK_SUBMIT, 10 + 10 * i, 11 + 10 * i, 1);
		e.events_cnt = 1;
		e.events[0] = 1000 + i;
		if (i == 3) {
			e.events_cnt = 2;
			e.events[1] = 1001;
		}
		add(c, e, &submit);
	}
	assert_int_equal(got_cnt, 2);
	assert_int_equal(got[0].submit, 10 * US);
	assert_int_equal(got[1].submit, 20 * US);
	assert_int_equal(got[1].complete, 41 * US);
	assert_true(got[0].flags & FMT_CALL_LATE);
	assert_false(got[1].flags & FMT_CALL_LATE); /* finished within that call, however short */
	e = ev(PK_WAIT, 50, 55, 0);
	e.events_cnt = 1;
	e.events[0] = 1003;
	add(c, e, &wait_event);
	assert_int_equal(got_cnt, 4);
	calls_end(c);
	assert_int_equal(calls_count(c)->open, 0);
	calls_free(c);
}

/* A program with a new stream for each of its requests, of processes that come and go. */
TEST(queues_are_forgotten)
{
	struct calls *c = fresh();

	for (uint32_t i = 0; i < 3000; i++) {
		struct offload_event e = ev(PK_SUBMIT, 10 + 10 * i, 11 + 10 * i, i + 1), w = e;

		e.pid = w.pid = 10 + i % 3;
		w.kind = PK_WAIT;
		w.entry += 2 * US;
		w.ret += 8 * US;
		add(c, e, &submit);
		if (i != 2)
			add(c, w, &wait_queue);
	}
	assert_int_equal(calls_count(c)->calls, 2999);
	calls_process_end(c, 10);
	calls_process_end(c, 11);
	assert_int_equal(calls_queues(c), 1000);
	calls_next_profile(c);
	assert_int_equal(calls_queues(c), 1);
	/* the one that is under way is found again */
	struct offload_event w = ev(PK_WAIT, 100000, 100010, 3);

	w.pid = 12;
	add(c, w, &wait_queue);
	assert_int_equal(calls_count(c)->calls, 3000);
	calls_end(c);
	assert_int_equal(calls_count(c)->open, 0);
	calls_free(c);
}

TEST(submitted_during_a_wait)
{
	struct calls *c = fresh();

	add(c, ev(PK_SUBMIT, 10, 12, 1), &submit);
	add(c, ev(PK_SUBMIT, 40, 42, 1), &submit);
	add(c, ev(PK_WAIT, 30, 100, 1), &wait_queue);
	assert_int_equal(got_cnt, 1);
	calls_end(c);
	assert_int_equal(got_cnt, 2);
	assert_true(got[1].flags & FMT_CALL_OPEN);
	assert_false(got[1].flags & FMT_CALL_TIMED);
	assert_int_equal(got[1].busy_ns, 0);
	assert_int_equal(got[1].complete, 0);
	assert_int_equal(calls_count(c)->open, 1);
	calls_free(c);
}

TEST(batches_are_upper_bounds)
{
	struct calls *c = fresh();

	for (unsigned i = 0; i < 3; i++)
		add(c, ev(PK_SUBMIT, 10 + i, 11 + i, 1), &submit);
	add(c, ev(PK_WAIT, 30, 100, 1), &wait_queue);
	assert_int_equal(got_cnt, 3);
	assert_int_equal(got[0].batch, 3);
	assert_true(got[0].flags & FMT_CALL_LATE);
	assert_true(got[1].flags & FMT_CALL_LATE);
	assert_false(got[2].flags & FMT_CALL_LATE);
	/* A wait that found all done says nothing of when. */
	add(c, ev(PK_SUBMIT, 200, 201, 1), &submit);
	add(c, ev(PK_WAIT, 900, 901, 1), &wait_queue);
	assert_true(got[3].flags & FMT_CALL_LATE);
	calls_free(c);
}

TEST(events_stand_for_what_came_before)
{
	struct offload_event record = ev(PK_EVENT, 20, 21, 1), wait = ev(PK_WAIT, 40, 90, 0);
	struct calls *c = fresh();

	record.events[0] = wait.events[0] = 0xabc;
	record.events_cnt = wait.events_cnt = 1;
	add(c, ev(PK_SUBMIT, 10, 12, 1), &submit);
	add(c, record, &wait_event);
	add(c, ev(PK_SUBMIT, 30, 32, 1), &submit);
	add(c, wait, &wait_event);
	assert_int_equal(got_cnt, 1);
	assert_int_equal(got[0].submit, 10 * US);
	/* An event nobody recorded completes nothing. */
	wait.events[0] = 0xdef;
	add(c, wait, &wait_event);
	assert_int_equal(got_cnt, 1);
	assert_int_equal(calls_count(c)->empty_waits, 1);
	/* "Not ready" completes nothing, either. */
	wait.events[0] = 0xabc;
	wait.flags |= WO_FAILED;
	add(c, wait, &wait_event);
	assert_int_equal(got_cnt, 1);
	calls_free(c);
}

TEST(copies_complete_their_queue)
{
	struct calls *c = fresh();

	add(c, ev(PK_SUBMIT, 10, 12, 0), &submit);
	add(c, ev(PK_CALL, 20, 80, 0), &copy);
	assert_int_equal(got_cnt, 2);
	assert_int_equal(got[0].api, 5);
	assert_false(got[0].flags & FMT_CALL_ASYNC);
	assert_int_equal(got[0].busy_ns, 60 * US - INSIDE);
	assert_int_equal(got[1].api, 1);
	assert_int_equal(got[1].complete, 80 * US);
	calls_free(c);
}

TEST(per_thread_default_streams)
{
	struct calls_probe s = submit, w = wait_queue;
	struct offload_event a = ev(PK_SUBMIT, 10, 12, 0), b = ev(PK_SUBMIT, 13, 14, 0), wait = ev(PK_WAIT, 20, 60, 0);
	struct calls *c = fresh();

	s.per_thread = w.per_thread = true;
	b.tid = 12;
	add(c, a, &s);
	add(c, b, &s);
	wait.tid = 12;
	add(c, wait, &w);
	assert_int_equal(got_cnt, 1);
	assert_int_equal(got[0].tid, 12);
	calls_free(c);
}

TEST(open_calls_are_never_zero_time)
{
	struct calls *c = fresh();
	struct offload_event dead = ev(PK_CALL, 10, 0, 0), quick = ev(PK_CALL, 10, 10, 0);

	add(c, dead, &submit);
	assert_true(got[0].flags & FMT_CALL_OPEN);
	assert_false(got[0].flags & FMT_CALL_TIMED);
	quick.ret += 300; /* less than the probe itself costs */
	add(c, quick, &submit);
	assert_false(got[1].flags & (FMT_CALL_TIMED | FMT_CALL_OPEN));
	add(c, ev(PK_SUBMIT, 10, 12, 4), &submit);
	calls_process_end(c, 10);
	assert_int_equal(got_cnt, 3);
	assert_true(got[2].flags & FMT_CALL_OPEN);
	calls_free(c);
}

/* Stamps that run backward give no time, least of all 2^64 ns. */
TEST(backward_clocks)
{
	struct calls *c = fresh();

	add(c, ev(PK_CALL, 100, 10, 0), &submit);
	assert_false(got[0].flags & FMT_CALL_TIMED);
	assert_int_equal(got[0].busy_ns, 0);
	add(c, ev(PK_SUBMIT, 100, 102, 1), &submit);
	add(c, ev(PK_WAIT, 101, 50, 1), &wait_queue);
	calls_end(c);
	assert_int_equal(got_cnt, 2);
	assert_false(got[1].flags & FMT_CALL_TIMED);
	assert_true(got[1].submit_ns < 10 * US && got[1].wait_ns == 0 && got[1].busy_ns == 0);
	calls_free(c);
}

/* The thread that submitted is gone: its queue is waited for by another, or by nobody. */
TEST(threads_die_in_between)
{
	struct calls *c = fresh();
	struct offload_event wait = ev(PK_WAIT, 30, 100, 7);

	add(c, ev(PK_SUBMIT, 10, 12, 7), &submit);
	add(c, ev(PK_SUBMIT, 14, 16, 8), &submit);
	wait.tid = 99;
	add(c, wait, &wait_queue);
	assert_int_equal(got_cnt, 1);
	assert_true(got[0].flags & FMT_CALL_TIMED);
	assert_int_equal(got[0].tid, 11);
	calls_end(c);
	assert_int_equal(got_cnt, 2);
	assert_true(got[1].flags & FMT_CALL_OPEN);
	assert_false(got[1].flags & FMT_CALL_TIMED);
	assert_int_equal(calls_count(c)->open, 1);
	calls_free(c);
}

TEST(each_probe_at_its_own_cost)
{
	struct calls_probe cheap = submit, dear = wait_queue, call = copy;
	struct calls *c = fresh();

	cheap.cost = FMT_PROBE_EMULATED;
	dear.cost = FMT_PROBE_STEPPED;
	add(c, ev(PK_SUBMIT, 10, 20, 1), &cheap);
	add(c, ev(PK_WAIT, 30, 100, 1), &dear);
	assert_int_equal(got[0].submit_ns, 10 * US - CHEAP);
	assert_int_equal(got[0].wait_ns, 70 * US - DEAR);
	assert_int_equal(got[0].busy_ns, 90 * US - CHEAP - DEAR);
	call.cost = FMT_PROBE_STEPPED;
	add(c, ev(PK_CALL, 200, 220, 7), &call);
	assert_int_equal(got[1].busy_ns, 20 * US - DEAR);
	assert_int_equal(got[1].cpu_ns, 20 * US - DEAR);
	call.cost = FMT_PROBE_EMULATED;
	add(c, ev(PK_CALL, 300, 320, 7), &call);
	assert_int_equal(got[2].busy_ns, 20 * US - CHEAP);
	calls_free(c);
}

#if defined(__x86_64__)
TEST(first_instructions)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum self_kind kind;
	} all[] = {
		{ "\x55\x48", 2, SELF_PUSH },
		{ "\x41\x57", 2, SELF_PUSH },
		{ "\x48\x55", 2, SELF_KINDS },
		{ "\xe9\x01", 2, SELF_PUSH },
		{ "\xeb\x01", 2, SELF_PUSH },
		{ "\x74\x01", 2, SELF_PUSH },
		{ "\x0f\x84", 2, SELF_PUSH },
		{ "\xf2\xe9\x01", 3, SELF_PUSH },
		{ "\x90\xc3", 2, SELF_PUSH },
		{ "\x66\x90\xc3", 3, SELF_LONG_NOP },
		{ "\x0f\x1f\x44", 3, SELF_LONG_NOP },
		{ "\xf3\x0f\x1e\xfa", 4, SELF_ENDBR },
		{ "\xf3\x0f\x1e", 3, SELF_KINDS },
		{ "\x48\x89\xf8", 3, SELF_STEPPED },
		{ "\x31\xc0", 2, SELF_STEPPED },
		{ "\xff\x25", 2, SELF_STEPPED },
		{ "\x41\x54", 1, SELF_KINDS },
		{ "\x66\x66\x66", 3, SELF_KINDS },
		{ "", 0, SELF_KINDS },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_int_equal(self_kind_of((const uint8_t *)all[i].bytes, all[i].n), all[i].kind);
}
#endif

TEST(user_probes)
{
	static const char *const bad[] = {
		"foo",
		"libfoo.so:",
		":f",
		"libfoo.so:f(bytes=arg2",
		"libfoo.so:f(bytes=arg99)",
		"libfoo.so:f(bytes=)",
		"libfoo.so:f(size=arg1)",
		"libfoo.so:f(fast)",
		"libfoo.so:f(bytes=arg1+2)",
		"libfoo.so:f(queue=3)",
		"libfoo.so:f(bytes=u16@arg1)",
		"",
		"libfoo.so:f(bytes=99999999999999999999999)",
	};
	struct offload_user_probe p;
	struct err e;

	assert_int_equal(offload_spec_parse("libfoo.so:foo_encode(bytes=arg2)", &p, &e), 0);
	assert_string_equal(p.library, "libfoo.so");
	assert_string_equal(p.symbol, "foo_encode");
	assert_int_equal(p.spec.in.op, PX_ARG);
	assert_int_equal(p.spec.in.a, 2);
	assert_int_equal(offload_spec_parse("/opt/x:y.so:run(in=arg1*arg0, out=used:u32@arg3+32,accelerated,name=mine)",
					    &p, &e),
			 0);
	assert_string_equal(p.library, "/opt/x:y.so");
	assert_int_equal(p.spec.in.op, PX_MUL);
	assert_int_equal(p.spec.out.op, PX_USED);
	assert_int_equal(p.spec.out.off, 32);
	assert_int_equal(p.spec.out.width, 4);
	assert_int_equal(p.variant, FMT_OV_ACCELERATED);
	assert_string_equal(p.name, "mine");
	assert_int_equal(offload_spec_parse("a.so:f", &p, &e), 0);
	assert_int_equal(p.spec.in.op, PX_NONE);
	assert_int_equal(offload_spec_parse("a.so:f(submit,queue=arg0,bytes=ret)", &p, &e), 0);
	assert_int_equal(p.spec.kind, PK_SUBMIT);
	assert_int_equal(p.spec.queue_arg, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		e.text[0] = 0;
		assert_true(offload_spec_parse(bad[i], &p, &e) < 0);
		assert_true(strlen(e.text) > 20);
	}
}

TEST(the_table)
{
	const struct offload_api *cuda = offload_api_find("cuda"), *a;
#define NAME(id, name) name,
	static const char *const names[] = { OFFLOAD_APIS(NAME) };
	const struct offload_row *r;
	unsigned rows = 0;
	bool pt;

	assert_non_null(cuda);
	assert_ptr_equal(offload_api_of("libcuda.so.535.54", NULL), cuda);
	assert_null(offload_api_of("libcudart.so.12", offload_api_find("cudart")));
	assert_null(offload_api_of("libc.so.6", NULL));
	r = offload_row_of(cuda, "cuMemcpyHtoDAsync_v2_ptsz", &pt);
	assert_non_null(r);
	assert_true(pt);
	assert_string_equal(r->symbol, "cuMemcpyHtoDAsync");
	assert_null(offload_row_of(cuda, "cuMemcpyHtoDAsyncX", &pt));
	assert_int_equal(offload_row_of(cuda, "cuMemcpyBatchAsync_v2", &pt)->spec.queue_arg, 8);
	for (unsigned i = 0; (a = offload_api_at(i)); i++) {
		assert_int_equal(offload_api_index(a), i);
		assert_string_equal(a->name, names[i]); /* what help says is what it takes */
		assert_ptr_equal(offload_api_find(a->name), a);
		assert_int_not_equal(offload_family(a->family), 0);
		for (r = a->rows; r < a->rows + a->row_count; r++) {
			assert_ptr_equal(offload_row_of(a, r->symbol, &pt), r);
			assert_true(r->spec.kind != PK_WAIT || r->spec.scope == PS_ALL || r->spec.queue_arg ||
				    r->spec.event_arg || r->spec.list_p || r->spec.job_event);
			rows++;
		}
	}
	assert_true(rows > 0);
}

TEST(lists)
{
	struct offload_opts o = { .list = "auto" };
	struct err e = { 0 };

	assert_int_equal(offload_opts_check(&o, &e), 0);
	o.list = "openssl,zlib,markers";
	assert_int_equal(offload_opts_check(&o, &e), 0);
	o.list = "openssl,ziplib";
	assert_true(offload_opts_check(&o, &e) < 0);
	assert_non_null(strstr(e.text, "zlib"));
}
