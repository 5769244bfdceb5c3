// SPDX-License-Identifier: GPL-2.0-or-later
/* A part of a recording: what other processes and threads do is left out before anything is estimated. */
#include <errno.h>
#include <math.h>

#include "flow/input_priv.h"

bool flow_input_in_part(const struct flow_input_opts *o)
{
	return o->tid || filter_asks_process(o->filter);
}

bool input_wants(const struct raw *r, uint32_t pid, uint32_t tid)
{
	return (!r->o.tid || tid == r->o.tid) && filter_process(r->o.filter, pid, in_comm(r->in, pid));
}

static void add_access(struct in_part *sum, const struct in_access *a)
{
	bool load = a->flags & FMT_A_LOAD, store = a->flags & FMT_A_STORE;

	if (a->flags & FMT_A_CENSUS)
		return;
	sum->loaded += load ? a->weight * a->size : 0;
	/* what has no address lies in no object, and has no row along time */
	if (a->flags & (FMT_A_STACK | FMT_A_NO_ADDR))
		return;
	sum->moved += (load + store) * a->weight * a->size;
	sum->accesses += (load + store) * a->weight;
}

static double part(double left, double all)
{
	return all > 0 ? left / all : NAN;
}

static void keep_parts(struct flow_input *in, const struct in_part *left, const struct in_part *all)
{
	in->kept.loaded *= part(left->loaded, all->loaded);
	in->kept.moved *= part(left->moved, all->moved);
	in->kept.accesses *= part(left->accesses, all->accesses);
}

/* Accesses move, and local variables tell by number of which they are. */
static void leave_out_accesses(struct raw *r, struct in_part *all, struct in_part *left)
{
	struct flow_input *in = r->in;
	size_t n = 0, local = 0, locals = 0;

	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];
		bool stores = (a->flags & FMT_A_STORE) != 0 && !r->o.stores_too;
		/* stores outside the wanted part still say who produced what is read inside it */
		bool keep = stores || input_wants(r, a->pid, a->tid);

		add_access(all, a);
		if (keep)
			add_access(left, a);
		for (; local < r->local_count && r->local[local].access == i; local++) {
			if (!keep)
				continue;
			r->local[locals] = r->local[local];
			r->local[locals++].access = (uint32_t)n;
		}
		if (keep)
			in->access[n++] = *a;
	}
	in->access_count = n;
	r->local_count = locals;
}

/* Is anything of another process or thread than is asked for? */
static bool leaves_some_out(const struct raw *r)
{
	const struct flow_input *in = r->in;

	for (size_t i = 0; i < r->p->cell_count; i++) {
		const struct profile_thread *t = &r->p->threads[r->p->cells[i].thread];

		if (!input_wants(r, t->pid, t->tid))
			return true;
	}
	for (size_t i = 0; i < in->access_count; i++)
		if (!input_wants(r, in->access[i].pid, in->access[i].tid))
			return true;
	for (size_t i = 0; i < in->blind_count; i++)
		if (!input_wants(r, in->blind[i].pid, in->blind[i].tid))
			return true;
	for (size_t i = 0; i < in->sysio_count; i++)
		if (!input_wants(r, in->sysio[i].pid, in->sysio[i].tid))
			return true;
	return false;
}

void input_leave_out(struct raw *r)
{
	struct flow_input *in = r->in;
	struct in_part all = { 0 }, left = { 0 };
	size_t n = 0;

	if (!flow_input_in_part(&r->o))
		return;
	if (!leaves_some_out(r)) { /* what is known of the whole alone is known of this part, too */
		r->o.filter = NULL;
		r->o.tid = 0;
		return;
	}
	leave_out_accesses(r, &all, &left);
	for (size_t i = 0; i < in->blind_count; i++) {
		const struct in_access *a = &in->blind[i];
		bool keep = input_wants(r, a->pid, a->tid);

		add_access(&all, a);
		if (!keep)
			continue;
		add_access(&left, a);
		in->blind[n++] = *a;
	}
	in->blind_count = n;
	n = 0;
	for (size_t i = 0; i < in->sysio_count; i++) {
		const struct in_sysio *s = &in->sysio[i];

		/* what was read outside the wanted part is not asked for; who wrote is */
		if ((s->dir != FMT_IO_KERNEL_READS && !r->o.stores_too) || input_wants(r, s->pid, s->tid))
			in->sysio[n++] = *s;
	}
	in->sysio_count = n;
	keep_parts(in, &left, &all);
}

static size_t keep_code(const struct flow_input *in, const struct filter *f, struct in_access *a, size_t count,
			struct in_part *all, struct in_part *left)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct in_func *fn = &in->funcs[a[i].func];
		bool keep = filter_code(f, fn->name, fn->object);

		add_access(all, &a[i]);
		if (!keep)
			continue;
		add_access(left, &a[i]);
		a[n++] = a[i];
	}
	return n;
}

static void add_exact_use(const struct flow_input *in, struct in_part *sum, const struct fmt_x_use *u)
{
	sum->loaded += (double)u->read_bytes;
	if (u->object < in->object_site_count && in->object_site[u->object].kind == FMT_OBJ_STACK)
		return;
	sum->moved += (double)u->read_bytes + (double)u->write_bytes;
	sum->accesses += (double)u->reads + (double)u->writes;
}

static void keep_uses(struct flow_input *in, const struct filter *f, struct in_part *all, struct in_part *left)
{
	size_t n = 0;

	for (size_t i = 0; i < in->x_use_count; i++) {
		const struct fmt_x_use *u = &in->x_use[i];
		const struct in_func *fn = u->function < in->func_count ? &in->funcs[u->function] : NULL;

		add_exact_use(in, all, u);
		if (!fn || !filter_code(f, fn->name, fn->object))
			continue;
		add_exact_use(in, left, u);
		in->x_use[n++] = *u;
	}
	in->x_use_count = n;
}

void flow_input_keep_code(struct flow_input *in, const struct filter *f)
{
	struct in_part all = { 0 }, left = { 0 };
	bool counted = in->x_use_count;

	if (!filter_asks_code(f))
		return;
	in->access_count = keep_code(in, f, in->access, in->access_count, &all, &left);
	in->blind_count = keep_code(in, f, in->blind, in->blind_count, &all, &left);
	/* what was counted is what is shown */
	if (counted) {
		all = left = (struct in_part){ 0 };
		keep_uses(in, f, &all, &left);
	}
	keep_parts(in, &left, &all);
}

int input_full(const struct raw *r, size_t count)
{
	if (count < INPUT_MOST)
		return err_set(r->e, -ENOMEM, "out of memory");
	return err_set(r->e, -E2BIG,
		       "the profile holds more than %u records of one kind; record a shorter time or at a lower rate",
		       INPUT_MOST);
}

const char *in_comm(const struct flow_input *in, uint32_t pid)
{
	return in->profile ? profile_comm(in->profile, pid) : NULL;
}
