/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tool as Valgrind's core sees it: options, what the core reports (calls, mappings, threads), start and end. */
#include "x.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_clientstate.h"

Options opt = {
	.out = -1,
	.core_log = -1,
	.class_w = -1,
	.class_r = -1,
	.lists = -1,
	.log = { -1, -1, -1, -1, -1 },
	.quad = True,
	.unique = True,
	.ke = True,
	.chunk = 4,
	.chunk_shift = 2,
	.xfer_shift = 2,
	.start_n = 1,
	.stop_n = 1,
	.writers_n = 1,
	.seed = 1,
	.window_hits = 64,
	.window_free = 32,
	.window_delay = 300000,
	.window_life = 60000000,
	.checkpoint_s = 10,
};

/* Of a power of two. */
static UInt shift_of(Int n)
{
	return 31 - __builtin_clz((UInt)n);
}

static Bool process_option(const HChar *arg)
{
	Int chunk;

	if VG_INT_CLO (arg, "--out-fd", opt.out) {
	} else if VG_INT_CLO (arg, "--core-log-fd", opt.core_log) {
	} else if VG_INT_CLO (arg, "--class-w", opt.class_w) {
	} else if VG_INT_CLO (arg, "--class-r", opt.class_r) {
	} else if VG_BOOL_CLO (arg, "--quad", opt.quad) {
	} else if VG_BOOL_CLO (arg, "--unique", opt.unique) {
	} else if VG_BOOL_CLO (arg, "--ke", opt.ke) {
	} else if VG_BOOL_CLO (arg, "--cycles", opt.cycles) {
	} else if VG_BOOL_CLO (arg, "--objects", opt.objects) {
	} else if VG_BOOL_CLO (arg, "--log-stack", opt.log_stack) {
	} else if VG_BOOL_CLO (arg, "--attr-main", opt.attr_main) {
	} else if VG_BINT_CLO (arg, "--chunk", chunk, 1, 8) {
		opt.chunk = chunk;
		opt.chunk_shift = shift_of(chunk);
	} else if VG_BINT_CLO (arg, "--xfer-chunk", chunk, 1, 4096) {
		opt.xfer_shift = shift_of(chunk);
	} else if VG_BINT_CLO (arg, "--slice", opt.slice, 0, 1ll << 60) {
	} else if VG_INT_CLO (arg, "--lists-fd", opt.lists) {
	} else if VG_BOOL_CLO (arg, "--callees", opt.callees) {
	} else if VG_BINT_CLO (arg, "--start-at", opt.start_n, 1, 0x7fffffff) {
	} else if VG_BINT_CLO (arg, "--stop-at", opt.stop_n, 1, 0x7fffffff) {
	} else if VG_BINT_CLO (arg, "--writers-from", opt.writers_n, 1, 0x7fffffff) {
	} else if VG_BINT_CLO (arg, "--accesses-most", opt.accesses_most, 0, 1ll << 60) {
	} else if VG_BINT_CLO (arg, "--sample-period", opt.sample_period, 0, 1ll << 60) {
	} else if VG_BINT_CLO (arg, "--timer-period", opt.timer_period, 0, 1ll << 60) {
	} else if VG_BINT_CLO (arg, "--seed", opt.seed, 0, 1ll << 60) {
	} else if VG_BINT_CLO (arg, "--census", opt.census, 0, 1 << 20) {
	} else if VG_BINT_CLO (arg, "--windows", opt.windows, 0, 1 << 20) {
	} else if VG_BINT_CLO (arg, "--window-hits", opt.window_hits, 1, 4096) {
	} else if VG_BINT_CLO (arg, "--checkpoint", opt.checkpoint_s, 0, 1 << 20) {
	} else if VG_INT_CLO (arg, "--log-function", opt.log[0]) {
	} else if VG_INT_CLO (arg, "--log-subcalls", opt.log[1]) {
	} else if VG_INT_CLO (arg, "--log-icount", opt.log[2]) {
	} else if VG_INT_CLO (arg, "--log-xfers", opt.log[3]) {
	} else if VG_INT_CLO (arg, "--log-accesses", opt.log[4]) {
	} else
		return False;
	return True;
}

static void print_usage(void)
{
	VG_(printf)("    see accperf help exact\n");
}

static void print_debug_usage(void)
{
}

static void post_clo_init(void)
{
	const HChar *name;

	/* One block never spans two functions, and each iteration of a loop is a block of its own. */
	VG_(clo_vex_control).guest_chase = False;
	VG_(clo_vex_control).iropt_unroll_thresh = 0;
	if (opt.class_w >= 0) {
		opt.class_w = VG_(safe_fd)(opt.class_w);
		opt.class_r = VG_(safe_fd)(opt.class_r);
	}
	if (opt.timer_period)
		opt.cycles = True;
	/* The core has a copy in its own range; the program must find no descriptor that it did not inherit. */
	if (opt.core_log >= 0)
		VG_(close)(opt.core_log);
	select_init();
	path_init();
	out_init();
	log_init();
	shadow_init();
	fn_init();
	sample_init();
	object_init();
	exec_pick(&name);
	X.counting = !opt.start_at;
	X.slice_end = opt.slice ? opt.slice : ~0ull;
	short_init();
	X.top_sp = ~0ull;
	X.eff = FN_OUTSIDE;
	X.known = NOBODY;
	inv_counter = 1;
}

/* ---- what the core reports ---- */

static UInt kernel_fn(CorePart part, ThreadId tid)
{
	static Fn *signal_fn;

	if (part == Vg_CoreSignal) {
		if (!signal_fn)
			signal_fn = fn_pseudo("(kernel:signal)");
		return signal_fn->id;
	}
	if (tid != VG_INVALID_THREADID && thread_get(tid)->syscall_nr >= 0)
		return thread_get(tid)->syscall_fn;
	return FN_KERNEL;
}

static void on_read(CorePart part, ThreadId tid, const HChar *s, Addr a, SizeT size)
{
	if (out_dead || part == Vg_CoreStartup || part == Vg_CoreTranslate || part == Vg_CoreClientReq)
		return;
	kernel_reads(kernel_fn(part, tid), a, size);
}

static void on_read_string(CorePart part, ThreadId tid, const HChar *s, Addr a)
{
	SizeT n = 0;

	if (out_dead)
		return;
	while (VG_(am_is_valid_for_client)(a + n, 1, VKI_PROT_READ)) {
		SizeT page_end = 4096 - ((a + n) & 4095);

		for (; page_end; page_end--, n++)
			if (!*(const UChar *)(a + n)) {
				kernel_reads(kernel_fn(part, tid), a, n + 1);
				return;
			}
	}
}

static void on_write(CorePart part, ThreadId tid, Addr a, SizeT size)
{
	if (out_dead || part == Vg_CoreStartup || part == Vg_CoreClientReq)
		return; /* arguments and environment: nobody under observation wrote them */
	kernel_writes(kernel_fn(part, tid), a, size);
}

static void on_map(Addr a, SizeT len, Bool rr, Bool ww, Bool xx, ULong di)
{
	if (out_dead)
		return;
	shadow_forget(a, len);
	module_forget();
	if (opt.objects)
		object_mmap(a, len, True);
}

static void on_unmap(Addr a, SizeT len)
{
	if (out_dead)
		return;
	shadow_forget(a, len);
	module_forget();
	if (opt.objects)
		object_unmap(a, len);
}

static void on_brk(Addr a, SizeT len, ThreadId tid)
{
	if (out_dead)
		return;
	shadow_forget(a, len);
	shadow_brk(a, len);
}

static void on_remap(Addr from, Addr to, SizeT len)
{
	if (!out_dead)
		shadow_copy(from, to, len);
}

static void pre_syscall(ThreadId tid, UInt nr, UWord *args, UInt n_args)
{
	Thread *t;

	if (out_dead)
		return;
	t = thread_get(tid);
	t->syscall_nr = nr;
	t->syscall_fn = fn_kernel(nr)->id;
	t->syscall_inv = ++inv_counter;
	/* Calls after which there may be no coming back: what was measured is written first. */
	if (nr == __NR_execve || nr == __NR_execveat)
		out_snapshot("the program replaced itself by another one (exec)", False);
	else if ((nr == __NR_kill || nr == __NR_tkill) && args[1] == VKI_SIGKILL)
		out_snapshot("the program sent itself or others SIGKILL", False);
	else if (nr == __NR_tgkill && args[2] == VKI_SIGKILL)
		out_snapshot("the program sent itself or others SIGKILL", False);
}

static void post_syscall(ThreadId tid, UInt nr, UWord *args, UInt n_args, SysRes res)
{
	if (out_dead)
		return;
	thread_get(tid)->syscall_nr = -1;
	/* Memory is short: the engine itself may be the next to find none, and cannot report then. */
	if ((nr == __NR_mmap || nr == __NR_mremap || nr == __NR_brk) && sr_isError(res) && sr_Err(res) == VKI_ENOMEM) {
		static UInt times;

		if ((times++ & 0xff) == 0)
			out_snapshot("memory ran out", False);
	}
}

static void on_start_code(ThreadId tid, ULong blocks)
{
	static UInt last_ms, calls;

	if (out_dead)
		return;
	stack_switch(tid);
	/* A checkpoint now and then, for programs that are killed from outside. */
	if (opt.checkpoint_s && (++calls & 15) == 0) {
		UInt ms = VG_(read_millisecond_timer)();

		/* the first one soon, then now and then */
		if (ms - last_ms > (last_ms ? opt.checkpoint_s * 1000 : 1500)) {
			out_snapshot("the program was killed; these are the figures of the last checkpoint", False);
			last_ms = VG_(read_millisecond_timer)();
		}
	}
}

static void on_signal(ThreadId tid, Int sig, Bool alt)
{
	if (!out_dead)
		stack_signal(tid, alt);
}

static void on_signal_done(ThreadId tid, Int sig)
{
	if (!out_dead)
		stack_signal_done(tid);
}

enum { AT_NULL_ = 0, AT_RANDOM_ = 25 }; /* of <elf.h>, which is not to be had here */

/*
 * The kernel hands every program 16 random bytes. String routines that read ahead to the end of a word
 * may touch them (ld.so's strcspn over LD_PRELOAD, which lies just below), so two runs would differ.
 */
static void fix_random_bytes(ThreadId tid)
{
	const UWord *p = (const UWord *)VG_(get_SP)(tid);
	UWord argc = *p;

	for (p += argc + 2; *p; p++) /* the environment */
		;
	for (p++; *p != AT_NULL_; p += 2)
		if (*p == AT_RANDOM_)
			for (UInt i = 0; i < 16; i++)
				((UChar *)p[1])[i] = (UChar)(0x5a + 37 * i);
}

static void on_thread_start(ThreadId tid)
{
	static Bool begun;

	if (!begun) {
		begun = True;
		fix_random_bytes(tid);
	}
	if (!out_dead)
		stack_thread_start(tid);
}

static void on_thread_exit(ThreadId tid)
{
	if (!out_dead)
		stack_thread_end(tid);
}

/* A forked child shares the output file and the classifier with its parent: it must touch neither. */
static void in_child(ThreadId tid)
{
	out_dead = True;
}

static void fini(Int code)
{
	if (out_dead)
		return;
	windows_flush(True);
	out_snapshot("", True); /* ends all invocations, which writes their log lines */
	log_flush();
}

static void pre_clo_init(void)
{
	VG_(details_name)("accperf");
	VG_(details_version)(NULL);
	VG_(details_description)("producers and consumers of every byte");
	VG_(details_copyright_author)("GPL-2.0-or-later");
	VG_(details_bug_reports_to)("the accperf project");
	VG_(details_avg_translation_sizeB)(400);
	VG_(basic_tool_funcs)(post_clo_init, x_instrument, fini);
	VG_(needs_command_line_options)(process_option, print_usage, print_debug_usage);
	VG_(needs_syscall_wrapper)(pre_syscall, post_syscall);
	VG_(track_pre_mem_read)(on_read);
	VG_(track_pre_mem_read_asciiz)(on_read_string);
	VG_(track_post_mem_write)(on_write);
	VG_(track_new_mem_mmap)(on_map);
	VG_(track_die_mem_munmap)(on_unmap);
	VG_(track_new_mem_brk)(on_brk);
	VG_(track_die_mem_brk)(on_unmap);
	VG_(track_copy_mem_remap)(on_remap);
	VG_(track_start_client_code)(on_start_code);
	VG_(track_pre_deliver_signal)(on_signal);
	VG_(track_post_deliver_signal)(on_signal_done);
	VG_(track_pre_thread_first_insn)(on_thread_start);
	VG_(track_pre_thread_ll_exit)(on_thread_exit);
	VG_(atfork)(NULL, NULL, in_child);
}

VG_DETERMINE_INTERFACE_VERSION(pre_clo_init)
