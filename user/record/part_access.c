// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_access.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "record/located_code.h"
#include "record/part_hardware.h"
#include "record/part_sysio.h"
#include "record/part_windows.h"
#include "record/ledger.h"
#include "proc/started_as.h"
#include "kmod-free/syscalls.h"

struct access_part {
	struct session *s;
	struct located_code *code;
	struct windows *windows; /* NULL: none */
	bool named;              /* what the program was started as is settled */
	bool write, hardware;    /* computed accesses; not where the processor samples some */
	struct {
		uint64_t kernel, returns, undecoded, known, unknown, written, starts_unknown, kernel_ticks;
	} n;
};

/* ---- accesses from timer samples ---- */

static bool touches_strings(const struct block_result *r)
{
	for (unsigned i = 0; i < r->count; i++)
		if (r->access[i].flags & FMT_A_REP)
			return true;
	return false;
}

/* For how many ticks a sample's accesses stand: of the kernel's, which are many, those of every second one are written.
 * They take more room than all else that a tick leaves. */
static double ticks_told(struct access_part *p, const struct sample *s)
{
	if (!(s->flags & SF_KERNEL_TICK))
		return 1;
	return p->n.kernel_ticks++ % 2 ? 2 : 0;
}

static int write_accesses(struct access_part *p, const struct sample *s, const struct block_result *r,
			  struct located *at)
{
	double weight = located_code_executions(r, (double)s->period) * ticks_told(p, s);
	uint64_t function = p->windows ? located_code_function_at(p->code, s, at) : 0;

	for (unsigned i = 0; i < r->count && weight > 0; i++) {
		struct fmt_access rec;
		int err;

		if (!r->access[i].in_block || (!r->access[i].known && !r->access[i].size))
			continue;
		if (!located_code_record(p->code, s, at, &r->access[i], weight, &rec))
			continue;
		if (at->stack && (rec.flags & FMT_A_STACK))
			rec.frame = attr_frame_of(session_attr(p->s), rec.addr, &rec.frame_offset);
		if (p->windows)
			windows_sampled(p->windows, function, &r->access[i], &rec);
		err = store_put(session_store(p->s), FMT_ACCESS, &rec, sizeof(rec));
		if (err)
			return err;
		p->n.written++;
	}
	return 0;
}

/* In a fault or interrupt, or in a system call that moves data. The others run as fast as ever beside an
 * armed watchpoint. */
static bool may_copy(const struct sample *m)
{
	return !(m->valid & SV_SYSCALL) || sysdir_find(m->syscall);
}

static void tell_windows_of_tick(struct access_part *p, bool string, bool kernel)
{
	if (p->windows)
		windows_tick(p->windows, string, kernel);
}

static int access_on_sample(void *part, struct session *s, const struct sample *m, struct located *at)
{
	struct access_part *p = part;
	const struct block_result *r;

	if (m->kind != SAMPLE_TICK)
		return 0;
	if (m->flags & (SF_KERNEL | SF_RETURNS)) {
		++*(m->flags & SF_KERNEL ? &p->n.kernel : &p->n.returns);
		tell_windows_of_tick(p, false, may_copy(m));
		return 0;
	}
	r = m->valid & SV_REGS ? located_code_evaluate(p->code, m, at) : NULL;
	tell_windows_of_tick(p, r && touches_strings(r), false);
	if (!r) {
		p->n.undecoded++;
		return 0;
	}
	p->n.known += r->block_known;
	p->n.unknown += r->block_unknown;
	p->n.starts_unknown += !r->start_known;
	return p->write ? write_accesses(p, m, r, at) : 0;
}

/* ---- the part ---- */

static void tell_name(struct access_part *p, pid_t pid)
{
	char text[2 * PATH_MAX];

	p->named = true;
	if (started_as_of_pid(pid, text, sizeof(text)))
		store_meta(session_store(p->s), META_STARTED_AS, text);
}

static int access_start(void *part, struct session *s, struct err *e)
{
	struct targets *t = session_targets(s);
	struct store_writer *w = session_store(s);
	char exe[PATH_MAX], link[64];
	ssize_t n;

	store_meta(w, "from_start", t->child ? "1" : "0");
	store_metaf(w, "weights", "time, taken as %g ns an instruction", NOMINAL_NS_PER_INSN);
	if (!t->count || t->child)
		return 0;
	tell_name(part, t->procs[0].pid);
	snprintf(link, sizeof(link), "/proc/%d/exe", t->procs[0].pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	if (n > 0) {
		exe[n] = 0;
		store_meta(w, "exe", exe);
	}
	return 0;
}

static int access_on_second(void *part, struct session *s, uint64_t now)
{
	struct access_part *p = part;
	const struct block_stats *b = block_cache_stats(located_code_blocks(p->code));
	uint64_t rewritten;

	/* a command has begun by now */
	if (!p->named && session_targets(s)->count)
		tell_name(p, session_targets(s)->procs[0].pid);
	session_count(s, "block operands with an address", p->n.known, false);
	session_count(s, "block operands without an address", p->n.unknown, false);
	if (!p->hardware)
		session_count(s, COUNTER_ACCESSES, p->n.written, false);
	session_count(s, "samples in the kernel: no accesses", p->n.kernel, false);
	session_count(s, "samples at the end of a system call: the kernel's time, no accesses", p->n.returns, false);
	session_count(s, "samples whose code could not be decoded", p->n.undecoded, false);
	session_count(s, "samples whose block start is unknown", p->n.starts_unknown, false);
	session_count(s, "samples whose code changed meanwhile", b->rewritten, false);
	/* the cache is asked for other things, too */
	rewritten = b->rewritten < p->n.undecoded ? b->rewritten : p->n.undecoded;
	session_unread(s, rewritten,
		       b->undecodable < p->n.undecoded - rewritten ? b->undecodable : p->n.undecoded - rewritten);
	return 0;
}

static int access_begun(void *part, struct session *s, struct err *e)
{
	struct access_part *p = part;

	block_cache_forget(located_code_blocks(p->code));
	return 0;
}

const struct source source_timer = {
	.name = "timer",
	.summary = "where time goes, with call stacks; operands computed from registers",
	.needs = "bpf bpf-ring btf timer",
	.start = access_start,
	.sample = access_on_sample,
	.second = access_on_second,
	.begun = access_begun,
	.release = free,
};

static void add_reason(char *text, size_t size, const char *what, const struct err *e)
{
	size_t len = strlen(text);

	if (len < size)
		snprintf(text + len, size - len, "%s%s: %s", len ? "\n" : "", what, e->text);
}

/* -ENOMEM, or 0 and a note of what cannot be had. */
static int left_out(int err, char *degraded, size_t size, const char *what, const struct err *why)
{
	if (err)
		add_reason(degraded, size, what, why);
	return err == -ENOMEM ? err : 0;
}

int access_parts_add(struct session *s, const struct access_opts *o, char *degraded, size_t size, struct err *e)
{
	struct access_part *p = calloc(1, sizeof(*p));
	struct err why = { 0 };
	int err;

	degraded[0] = 0;
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	ledger_use(session_ledger(s), ACCOUNT_TIMER);
	*p = (struct access_part){
		.s = s, .code = session_code(s), .write = o->accesses && !o->hardware, .hardware = o->hardware
	};
	err = session_add(s, &source_timer, p, e);
	if (err)
		return err;
	if (o->windows)
		err = left_out(windows_add(s, o, &p->windows, &why), degraded, size, "no watchpoints", &why);
	if (!err && o->hardware)
		err = hardware_part_add(s, o, p->windows, e);
	if (!err && o->syscalls)
		err = left_out(sysio_part_add(s, &why), degraded, size, "system calls are not observed", &why);
	return err && !e->code ? err_set(e, err, "%s", why.text) : err;
}
