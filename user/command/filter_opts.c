// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/filter_opts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/suggest.h"
#include "flow/input.h"
#include "profile/profile.h"
#include "util/buf.h"
#include "view/text.h"

#define OFFERED 3    /* names; more help nobody */
#define WHOLE_NAME 3 /* letters: what is shorter lies in any name */

int filter_from_opts(const struct filter_opts *o, struct filter *f, struct err *e)
{
	*f = (struct filter){ 0 };
	for (unsigned k = 0; k < FILTER_KINDS; k++) {
		for (unsigned i = 0; i < o->by[k].count; i++) {
			bool file = *o->by[k].items[i] == '@' && (k == FILTER_SYMBOL || k == FILTER_DSO);
			int err = file ? filter_list_add(&f->by[k], "--symbol", o->by[k].items[i], e)
				       : filter_add(f, k, o->by[k].items[i]);

			if (!err)
				continue;
			if (file) {
				filter_release(f);
				return err;
			}
			filter_release(f);
			if (err == -ENOMEM)
				return err_set(e, err, "out of memory");
			return k == FILTER_PID && *o->by[k].items[i]
				       ? err_set(e, err, "--pid wants numbers with commas between them, not '%s'",
						 o->by[k].items[i])
				       : err_set(e, err, "--%s names nothing: nothing of that name ran?",
						 filter_names[k]);
		}
	}
	return 0;
}

void filter_offer(const char *typed, const char *(*nth)(const void *ctx, size_t i), const void *ctx, size_t count,
		  struct buf *out)
{
	const char *offered[OFFERED];
	size_t bare = strspn(typed, "*"), len = strcspn(typed + bare, "*?["), n = 0;
	struct suggestion s = { 0 };
	char core[128];

	snprintf(core, sizeof(core), "%.*s", (int)len, typed + bare);
	for (size_t i = 0; i < count; i++) {
		const char *name = nth(ctx, i);
		bool had = !name;

		for (size_t k = 0; !had && k < n; k++)
			had = !strcmp(offered[k], name);
		if (had)
			continue;
		suggest(&s, typed, strlen(typed), name);
		if (n < OFFERED && strlen(core) >= WHOLE_NAME && strcasestr(name, core))
			offered[n++] = name;
	}
	for (size_t k = 0; s.name && k < n; k++)
		if (!strcmp(offered[k], s.name))
			s.name = NULL;
	if (s.name && n == OFFERED)
		n--;
	if (s.name)
		offered[n++] = s.name;
	for (size_t k = 0; k < n; k++) {
		buf_addstr(out, k ? ", '" : "; did you mean '");
		text_name(out, offered[k], 60, 0);
		buf_addch(out, '\'');
	}
	if (n)
		buf_addch(out, '?');
}

int filter_check(const struct filter *f, enum filter_by by, const char *(*nth)(const void *ctx, size_t i),
		 const void *ctx, size_t count, const char *file, struct err *e)
{
	const struct filter_list *l = &f->by[by];

	for (size_t i = 0; i < l->count; i++) {
		AUTO_BUF(near);
		bool found = false;

		for (size_t k = 0; !found && k < count; k++)
			found = nth(ctx, k) && filter_matches(l->at[i], nth(ctx, k));
		if (found)
			continue;
		buf_addstr(&near, "");
		if (by != FILTER_PID)
			filter_offer(l->at[i], nth, ctx, count, &near);
		return err_set(e, -ENOENT, "%s has nothing that --%s '%s' fits%s", file, filter_names[by], l->at[i],
			       buf_failed(&near) || !near.data ? "" : near.data);
	}
	return 0;
}

static const char *function_name(const void *ctx, size_t i)
{
	return ((const struct profile *)ctx)->functions[i].name;
}

static const char *function_object(const void *ctx, size_t i)
{
	return ((const struct profile *)ctx)->functions[i].object;
}

static const char *thread_comm(const void *ctx, size_t i)
{
	return ((const struct profile *)ctx)->threads[i].comm;
}

static const char *thread_pid(const void *ctx, size_t i)
{
	static char number[16];

	snprintf(number, sizeof(number), "%u", ((const struct profile *)ctx)->threads[i].pid);
	return number;
}

int filter_check_processes(const struct filter *f, const struct profile *p, const char *file, struct err *e)
{
	int err = filter_check(f, FILTER_PID, thread_pid, p, p->thread_count, file, e);

	return err ? err : filter_check(f, FILTER_COMM, thread_comm, p, p->thread_count, file, e);
}

int filter_check_profile(const struct filter *f, const struct profile *p, const char *file, struct err *e)
{
	int err = filter_check_processes(f, p, file, e);

	if (!err)
		err = filter_check(f, FILTER_DSO, function_object, p, p->function_count, file, e);
	return err ? err : filter_check(f, FILTER_SYMBOL, function_name, p, p->function_count, file, e);
}

static const char *flow_function(const void *ctx, size_t i)
{
	return ((const struct flow_input *)ctx)->funcs[i].name;
}

static const char *flow_object(const void *ctx, size_t i)
{
	return ((const struct flow_input *)ctx)->funcs[i].object;
}

int filter_check_flow(const struct filter *f, const struct flow_input *in, const char *file, struct err *e)
{
	const struct profile *p = in->owned;
	int err = 0;

	if (p && p->thread_count)
		err = filter_check_processes(f, p, file, e);
	if (!err)
		err = filter_check(f, FILTER_DSO, flow_object, in, in->func_count, file, e);
	return err ? err : filter_check(f, FILTER_SYMBOL, flow_function, in, in->func_count, file, e);
}
