// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_access.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "record/located_code.h"
#include "record/part_hardware.h"
#include "record/part_sysio.h"
#include "record/part_windows.h"
#include "record/ledger.h"
#include "kmod-free/syscalls.h"

struct access_part {
	struct access_opts o;
	struct session *s;
	struct located_code *code;
	struct windows *windows; /* each of these three NULL: none */
	struct sysio_part *sysio;
	struct hardware_part *hw; /* of o.hardware, from the start on */
	bool from_hw;             /* windows are drawn from its samples, not the timer's */
	int epoll;
	struct {
		uint64_t kernel, returns, undecoded, known, unknown, written, leaders_unknown;
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

static int write_accesses(struct access_part *p, const struct sample *s, const struct block_result *r, uint32_t stack)
{
	double weight = located_code_executions(r, (double)s->period);
	uint64_t function = p->windows ? located_code_function(p->code, s->pid, s->ip) : 0;

	for (unsigned i = 0; i < r->count; i++) {
		struct fmt_access rec;
		int err;

		if (!r->access[i].in_block || (!r->access[i].known && !r->access[i].size))
			continue;
		if (!located_code_record(p->code, s, &r->access[i], stack, weight, &rec))
			continue;
		if (stack && (rec.flags & FMT_A_STACK))
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

static void follow(struct access_part *p, const struct sample *fork)
{
	bool thread = fork->pid == fork->ppid, inherit = !session_options(p->s)->no_inherit;

	if (p->hw && (thread || inherit))
		hardware_part_follow(p->hw, fork->tid);
}

static void tick(struct access_part *p, bool string, bool kernel)
{
	if (p->windows)
		windows_tick(p->windows, string, kernel);
}

static int on_sample(void *part, struct session *s, const struct sample *m, uint32_t stack)
{
	struct access_part *p = part;
	const struct block_result *r;

	if (p->windows)
		windows_sample(p->windows, m);
	if (m->kind == SAMPLE_FORK)
		follow(p, m);
	if (m->kind != SAMPLE_TICK)
		return 0;
	if (m->flags & (SF_KERNEL | SF_RETURNS)) {
		++*(m->flags & SF_KERNEL ? &p->n.kernel : &p->n.returns);
		tick(p, false, may_copy(m));
		return 0;
	}
	r = m->valid & SV_REGS ? located_code_evaluate(p->code, m) : NULL;
	tick(p, r && touches_strings(r), false);
	if (!r) {
		p->n.undecoded++;
		return 0;
	}
	p->n.known += r->block_known;
	p->n.unknown += r->block_unknown;
	p->n.leaders_unknown += !r->leader_known;
	return p->o.accesses && !p->hw ? write_accesses(p, m, r, stack) : 0;
}

static int on_fresh(void *part, struct session *s, const struct sample *m)
{
	struct access_part *p = part;

	if (p->windows && !p->from_hw)
		windows_fresh(p->windows, m);
	return 0;
}

/* ---- the part ---- */

static int start(void *part, struct session *s, struct err *e)
{
	struct access_part *p = part;
	struct targets *t = session_targets(s);
	struct store_writer *w = session_store(s);
	char exe[PATH_MAX], link[64];
	ssize_t n;

	store_meta(w, "from_start", t->child ? "1" : "0");
	if (p->windows)
		windows_start(p->windows);
	store_metaf(w, "weights", "time, taken as %g ns an instruction", NOMINAL_NS_PER_INSN);
	if (t->count && !t->child) {
		snprintf(link, sizeof(link), "/proc/%d/exe", t->procs[0].pid);
		n = readlink(link, exe, sizeof(exe) - 1);
		if (n > 0) {
			exe[n] = 0;
			store_meta(w, "exe", exe);
		}
	}
	if (p->o.hardware && !(p->hw = hardware_part_start(p->s, p->code, p->from_hw ? p->windows : NULL, &p->o, e)))
		return e->code;
	return p->sysio ? sysio_part_start(p->sysio, t, e) : 0;
}

static int on_poll(void *part, struct session *s, uint64_t now)
{
	struct access_part *p = part;
	int err = 0;

	if (p->windows)
		windows_poll(p->windows, now);
	if (p->sysio)
		err = sysio_part_poll(p->sysio, now);
	if (p->hw && err >= 0)
		err = hardware_part_poll(p->hw);
	return err < 0 ? err : 0;
}

static int on_second(void *part, struct session *s, uint64_t now)
{
	struct access_part *p = part;
	const struct block_stats *b = block_cache_stats(located_code_blocks(p->code));
	uint64_t rewritten;

	if (p->hw)
		hardware_part_second(p->hw, now);
	if (p->windows)
		windows_second(p->windows, now);
	session_count(s, "block operands with an address", p->n.known, false);
	session_count(s, "block operands without an address", p->n.unknown, false);
	session_count(s, "accesses written", p->n.written + (p->hw ? hardware_part_written(p->hw) : 0), false);
	session_count(s, "samples in the kernel: no accesses", p->n.kernel, false);
	session_count(s, "samples at the end of a system call: the kernel's time, no accesses", p->n.returns, false);
	session_count(s, "samples whose code could not be decoded", p->n.undecoded, false);
	session_count(s, "samples whose block start is unknown", p->n.leaders_unknown, false);
	session_count(s, "samples whose code changed meanwhile", b->rewritten, false);
	/* the cache is asked for other things, too */
	rewritten = b->rewritten < p->n.undecoded ? b->rewritten : p->n.undecoded;
	session_unread(s, rewritten,
		       b->undecodable < p->n.undecoded - rewritten ? b->undecodable : p->n.undecoded - rewritten);
	if (p->hw)
		hardware_part_count(p->hw);
	if (p->windows)
		windows_count(p->windows);
	if (p->sysio)
		sysio_part_count(p->sysio);
	return 0;
}

static int begun(void *part, struct session *s, struct err *e)
{
	struct access_part *p = part;

	block_cache_forget(located_code_blocks(p->code));
	if (p->windows)
		windows_begun(p->windows);
	return 0;
}

static void stop(void *part, struct session *s)
{
	struct access_part *p = part;

	if (p->windows)
		windows_stop(p->windows);
	if (p->hw)
		hardware_part_stop(p->hw);
	if (p->sysio)
		sysio_part_stop(p->sysio);
}

static void release(void *part)
{
	struct access_part *p = part;

	hardware_part_free(p->hw);
	sysio_part_free(p->sysio);
	windows_free(p->windows);
	located_code_free(p->code);
	if (p->epoll >= 0)
		close(p->epoll);
	free(p);
}

static int part_fd(void *part)
{
	struct access_part *p = part;

	return p->epoll;
}

static const struct session_part ops = {
	.name = "access",
	.start = start,
	.sample = on_sample,
	.fresh = on_fresh,
	.poll = on_poll,
	.second = on_second,
	.begun = begun,
	.stop = stop,
	.release = release,
	.fd = part_fd,
};

static void note(char *text, size_t size, const char *what, const struct err *e)
{
	size_t len = strlen(text);

	if (len < size)
		snprintf(text + len, size - len, "%s%s: %s", len ? "\n" : "", what, e->text);
}

static void use_accounts(struct access_part *p)
{
	struct ledger *l = session_ledger(p->s);

	ledger_use(l, ACCOUNT_TIMER);
	if (p->windows) {
		ledger_use(l, ACCOUNT_WATCH);
		ledger_use(l, ACCOUNT_ARMED);
	}
	if (p->o.hardware)
		ledger_use(l, ACCOUNT_HARDWARE);
	if (p->sysio)
		ledger_use(l, ACCOUNT_SYSCALLS);
}

int access_parts_add(struct session *s, const struct access_opts *o, char *degraded, size_t size, struct err *e)
{
	struct access_part *p = calloc(1, sizeof(*p));
	struct err why = { 0 };
	struct epoll_event ev = { .events = EPOLLIN };

	degraded[0] = 0;
	if (!p || !(p->code = located_code_new(s))) {
		free(p);
		return err_set(e, -ENOMEM, "out of memory");
	}
	p->o = *o;
	p->s = s;
	if (o->windows && !(p->windows = windows_new(s, p->code, o, &why)))
		note(degraded, size, "no watchpoints", &why);
	if (o->syscalls && !(p->sysio = sysio_part_new(s, &why)))
		note(degraded, size, "system calls are not observed", &why);
	p->from_hw = p->windows && o->hardware && (o->hardware->gives & SOURCE_PROMPT);
	use_accounts(p);
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll < 0 || (p->sysio && epoll_ctl(p->epoll, EPOLL_CTL_ADD, sysio_part_fd(p->sysio), &ev)) ||
	    (p->windows && epoll_ctl(p->epoll, EPOLL_CTL_ADD, windows_fd(p->windows), &ev))) {
		err_set(e, -errno, "cannot wait for watchpoints and system calls: %s", strerror(errno));
		release(p);
		return e->code;
	}
	return session_add(s, &ops, p, e);
}
