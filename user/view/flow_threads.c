// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/flow_threads.h"

#include <math.h>
#include <string.h>

/* "0-3,8": the bytes of a line. */
static void byte_list(struct buf *out, uint64_t mask)
{
	bool first = true;

	for (unsigned i = 0; i < 64; i++) {
		unsigned from = i;

		if (!(mask >> i & 1))
			continue;
		while (i + 1 < 64 && (mask >> (i + 1) & 1))
			i++;
		buf_addf(out, "%s%u", first ? "" : ",", from);
		if (i > from)
			buf_addf(out, "-%u", i);
		first = false;
	}
}

/* To two digits: a handful of samples says no more. */
static uint64_t rounded(double v)
{
	double unit = 1;

	while (v / unit >= 100)
		unit *= 10;
	return whole_number(whole_number(v / unit) * unit);
}

void flow_threads_lines(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow_threads *t = v->threads;
	unsigned rows = v->rows ? v->rows : 20;

	if (!t->line_count) {
		buf_addf(out,
			 "No cache line was seen to be shared falsely; %zu share%s bytes that are really exchanged\n\n",
			 t->truly, t->truly == 1 ? "s" : "");
		return;
	}
	text_hue_on(out, s, TEXT_BOLD);
	buf_addstr(out, "Falsely shared lines: these threads use different bytes of the same line");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < t->line_count && i < rows; i++) {
		const struct shared_line *l = &t->line[i];

		buf_addf(out, "0x%llx", (unsigned long long)l->addr);
		if (l->object) {
			buf_addstr(out, "  ");
			text_name(out, l->object, 40, 0);
			if (l->offset)
				buf_addf(out, "+%llu", (unsigned long long)l->offset);
		}
		if (l->pairs > 1)
			buf_addf(out, "  (the busiest of %u pairs of threads)", l->pairs);
		buf_addch(out, '\n');
		for (int k = 0; k < 2; k++) {
			const struct line_user *u = &l->user[k];

			buf_addf(out, "    thread %-8u ", u->tid);
			text_name(out, u->function, 27, 28);
			buf_addstr(out, u->written ? "writes " : "reads ");
			byte_list(out, u->written ? u->written : u->bytes);
			buf_addstr(out, ", about ");
			text_count(out, rounded(u->accesses));
			buf_addf(out, " accesses, %u samples\n", u->samples);
		}
	}
	if (t->line_count > rows)
		buf_addf(out, "%zu more lines; --rows N lists more\n", t->line_count - rows);
	buf_addf(out, "%zu line%s shared truly: the same bytes, one thread writing\n\n", t->truly,
		 t->truly == 1 ? " is" : "s are");
}

/* "thread 12" has its number beside it; pseudo-functions have none. */
static void json_end_of(struct json *j, const char *key, const char *tid_key, const struct flow_threads *t,
			uint32_t func)
{
	json_str(j, key, t->flow.funcs[func].name);
	for (size_t i = 0; i < t->thread_count; i++)
		if (t->thread[i].func == func) {
			json_u64(j, tid_key, t->thread[i].tid);
			return;
		}
	json_null(j, tid_key);
}

static void json_user(struct json *j, const struct line_user *u)
{
	AUTO_BUF(used);
	AUTO_BUF(written);

	byte_list(&used, u->bytes);
	byte_list(&written, u->written);
	json_obj(j, NULL);
	json_u64(j, "pid", u->pid);
	json_u64(j, "tid", u->tid);
	json_str(j, "function", u->function);
	json_str(j, "bytes", used.data ? used.data : "");
	json_str(j, "written", written.data ? written.data : "");
	text_json_whole(j, "accesses", u->accesses);
	json_u64(j, "samples", u->samples);
	json_end(j);
}

void flow_threads_json(const struct flow_view *v, struct json *j)
{
	static const struct flow_range unknown = { NAN, NAN, NAN };
	const struct flow_threads *t = v->threads;

	if (!t) {
		json_null(j, "threads");
		json_null(j, "thread_edges");
		json_null(j, "shared_lines");
		json_null(j, "lines_truly_shared");
		return;
	}
	json_arr(j, "threads");
	for (size_t i = 0; i < t->thread_count; i++) {
		const struct flow_func *f = t->thread[i].func == FLOW_NONE ? NULL : &t->flow.funcs[t->thread[i].func];

		json_obj(j, NULL);
		json_u64(j, "pid", t->thread[i].pid);
		json_u64(j, "tid", t->thread[i].tid);
		json_str(j, "comm", t->thread[i].comm);
		flow_range_json(j, "in", f ? flow_amounts(&t->flow, f->in, f->in_low, f->in_high) : unknown);
		flow_range_json(j, "out", f ? flow_amounts(&t->flow, f->out, f->out_low, f->out_high) : unknown);
		text_json_whole(j, "in_uma", f ? f->in_uma : NAN);
		text_json_whole(j, "loads", f ? flow_amount(&t->flow, f->loads) : NAN);
		text_json_whole(j, "stores", f ? flow_amount(&t->flow, f->stores) : NAN);
		text_json_whole(j, "load_bytes", f ? flow_amount(&t->flow, f->load_bytes) : NAN);
		text_json_whole(j, "store_bytes", f ? flow_amount(&t->flow, f->store_bytes) : NAN);
		json_end(j);
	}
	json_end(j);
	json_arr(j, "thread_edges");
	for (size_t i = 0; i < t->flow.edge_count; i++) {
		const struct flow_edge *e = &t->flow.edges[i];
		struct flow_range bytes = flow_edge_bytes(&t->flow, e), share = flow_edge_share(&t->flow, e);

		json_obj(j, NULL);
		json_end_of(j, "producer", "producer_tid", t, e->producer);
		json_end_of(j, "consumer", "consumer_tid", t, e->consumer);
		text_json_whole(j, "bytes", bytes.value);
		text_json_whole(j, "unique_bytes", e->unique);
		text_json_whole(j, "low", bytes.low);
		text_json_whole(j, "high", bytes.high);
		json_f64(j, "share", share.value);
		json_f64(j, "share_low", share.low);
		json_f64(j, "share_high", share.high);
		json_bool(j, "resolved", !e->unresolved);
		json_end(j);
	}
	json_end(j);
	json_arr(j, "shared_lines");
	for (size_t i = 0; i < t->line_count; i++) {
		const struct shared_line *l = &t->line[i];

		json_obj(j, NULL);
		json_u64(j, "address", l->addr);
		json_str(j, "object", l->object);
		if (l->object)
			json_u64(j, "offset", l->offset);
		else
			json_null(j, "offset");
		json_u64(j, "pairs", l->pairs);
		json_arr(j, "threads");
		json_user(j, &l->user[0]);
		json_user(j, &l->user[1]);
		json_end(j);
		json_end(j);
	}
	json_end(j);
	json_u64(j, "lines_truly_shared", t->truly);
}
