// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who could have written what an instruction reads, by the code alone: a field of a structure is read and written
 * at the same distance from a pointer. For each load of [pointer + distance], the functions met anywhere in the
 * recording that store so many bytes there.
 */
#include <errno.h>
#include <stdlib.h>

#include "code/decode.h"
#include "proc/ehframe.h"
#include "proc/module.h"
#include "abi.h"
#include "flow/input_priv.h"
#include "util/grow.h"

#define FUNCTION_MOST (256u << 10) /* bytes of code of one function, */
#define CODE_MOST (16u << 20)      /* and of all */
#define DISTANCE_MOST (1 << 20)
#define WIDEST 64
#define ALWAYS 0.98 /* of all samples: it began before the recording, and may well have written its fields then */

struct seen {                       /* a function met somewhere */
	uint64_t start, end, named; /* named: an address within that the recording has a name for */
	uint32_t module;
	double samples; /* of which it is on the stack */
	uint32_t last;  /* stack + 1 that it was met on last */
};

struct could { /* `func` stores to a field (index of key), and to so many in all */
	uint32_t key, func, fields;
};

struct fields {
	struct raw *r;
	struct map starts; /* module << 48 ^ start -> index of seen + 1 */
	struct seen *seen;
	uint32_t seens, seen_cap;
	struct map keys; /* module << 40 ^ distance << 8 ^ size -> key */
	uint32_t key_count;
	struct could *could;
	uint32_t coulds, could_cap;
	uint64_t bytes;
};

/* A field at a distance from a pointer. The stack is none, and what lies right at a pointer may be anything. */
static bool is_field(const struct dec_mem *m)
{
	return m->base < WREG_IP && m->base != WREG_SP && m->index == DEC_NOREG && m->segment == DEC_NOREG && m->size &&
	       m->size <= WIDEST && !(m->flags & (DEC_M_VECTOR | DEC_M_REP | DEC_M_MASKED)) && m->disp > 0 &&
	       m->disp < DISTANCE_MOST;
}

static uint64_t field_key(uint32_t module, int64_t distance, unsigned size)
{
	return (uint64_t)module << 40 ^ (uint64_t)distance << 8 ^ size;
}

/* What an instruction that was seen at work loads or stores. */
static int look_at_site(struct fields *x, struct in_site *s)
{
	struct module *m = raw_open_module(x->r, s->module);
	struct dec_insn d;
	uint8_t bytes[15];

	if (!m || dec_decode(bytes, module_read(m, s->ip, bytes, sizeof(bytes)), &d))
		return 0;
	for (unsigned i = 0; i < d.mem_cnt; i++) {
		if (!is_field(&d.mem[i]))
			continue;
		if (d.mem[i].flags & DEC_M_STORE)
			s->store_at = (uint32_t)d.mem[i].disp;
		if (d.mem[i].flags & DEC_M_LOAD) {
			bool added;
			uint64_t *k = map_put(&x->keys, field_key(s->module, d.mem[i].disp, d.mem[i].size), &added);

			if (!k)
				return -ENOMEM;
			if (added)
				*k = x->key_count++;
			s->load_at = (uint32_t)d.mem[i].disp;
			s->field = (uint32_t)*k + 1;
		}
	}
	return 0;
}

/* ---- functions that were met ---- */

/* Only one that the recording has a name for. *met: NULL if it is none. */
static int meet_field(struct fields *x, uint64_t addr, uint32_t module, struct seen **met)
{
	struct module *m = profile_symbol_of(x->r->p, module, addr) ? raw_open_module(x->r, module) : NULL;
	const struct ehframe *f = m ? module_ehframe(m) : NULL;
	uint64_t start, end, *at;
	bool added;

	*met = NULL;
	if (!f || !ehframe_function(f, addr, &start, &end) || end - start > FUNCTION_MOST)
		return 0;
	at = map_put(&x->starts, (uint64_t)module << 48 ^ start, &added);
	if (!at || !GROW(x->seen, x->seens, x->seen_cap, 256))
		return -ENOMEM;
	if (added) {
		x->seen[x->seens++] = (struct seen){ .start = start, .end = end, .named = addr, .module = module };
		*at = x->seens;
	}
	*met = &x->seen[*at - 1];
	return 0;
}

static int meet_stacks(struct fields *x)
{
	struct raw *r = x->r;
	double all = 0;
	int err = 0;

	for (size_t i = 0; i < r->cell_count && !err; i++) {
		const struct raw_sample_cell *c = &r->cell[i];
		struct seen *met;

		all += (double)c->samples;
		for (uint32_t k = 0; k < raw_frames(r, c->stack) && !err; k++) {
			const struct fmt_frame f = raw_frame(r, c->stack, k);

			err = meet_field(x, f.addr, f.module, &met);
			if (!err && met && met->last != i + 1) {
				met->last = (uint32_t)i + 1;
				met->samples += (double)c->samples;
			}
		}
	}
	for (uint32_t i = 0; i < x->seens; i++)
		x->seen[i].samples /= all > 0 ? all : 1;
	return err;
}

static int meet_all(struct fields *x)
{
	struct raw *r = x->r;
	int err = meet_stacks(x);
	struct seen *met;

	for (uint32_t i = 0; i < r->in->site_count && !err; i++)
		err = meet_field(x, r->in->sites[i].ip, r->in->sites[i].module, &met);
	for (size_t i = 0; i < r->counts.funcs && !err; i++)
		err = meet_field(x, r->counts.func[i].start, r->counts.func[i].module, &met);
	return err;
}

/* ---- what they store ---- */

static int stores_there(struct fields *x, struct seen *s, const struct dec_mem *m)
{
	uint32_t func;

	for (unsigned at = 0; at < m->size; at++)
		for (unsigned size = 1; at + size <= m->size; size *= 2) {
			const uint64_t *k = map_get(&x->keys, field_key(s->module, m->disp + at, size));

			if (!k)
				continue;
			func = func_of_code(x->r, s->named, s->module, 0);
			if (func == FLOW_NONE || !GROW(x->could, x->coulds, x->could_cap, 1024))
				return -ENOMEM;
			x->could[x->coulds++] = (struct could){ .key = (uint32_t)*k, .func = func };
		}
	return 0;
}

static int read_function(struct fields *x, struct seen *s)
{
	uint32_t first = x->coulds;
	struct map stored = { 0 };
	size_t size = s->end - s->start, len;
	uint8_t *code = malloc(size);
	int err = code ? 0 : -ENOMEM;

	len = code ? module_read(raw_open_module(x->r, s->module), s->start, code, size) : 0;
	for (size_t at = 0; at < len && !err;) {
		struct dec_insn d;

		if (dec_decode(code + at, len - at, &d)) {
			at++;
			continue;
		}
		for (unsigned i = 0; i < d.mem_cnt && !err; i++)
			if ((d.mem[i].flags & DEC_M_STORE) && is_field(&d.mem[i]))
				err = map_put(&stored, (uint64_t)d.mem[i].disp, NULL) ? stores_there(x, s, &d.mem[i])
										      : -ENOMEM;
		at += d.len;
	}
	for (uint32_t i = first; i < x->coulds; i++)
		x->could[i].fields = (uint32_t)stored.used;
	x->bytes += size;
	map_release(&stored);
	free(code);
	return err;
}

/* ---- who could have written what a site reads ---- */

static int by_key_and_func(const void *a, const void *b)
{
	const struct could *x = a, *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->func > y->func) - (x->func < y->func);
}

static void unique(struct fields *x)
{
	uint32_t n = 0;

	if (x->coulds)
		qsort(x->could, x->coulds, sizeof(*x->could), by_key_and_func);
	for (uint32_t i = 0; i < x->coulds; i++)
		if (!n || by_key_and_func(&x->could[n - 1], &x->could[i]))
			x->could[n++] = x->could[i];
	x->coulds = n;
}

/* first[key] .. first[key + 1): its writers. */
static uint32_t *index_keys(const struct fields *x)
{
	uint32_t *first = calloc(x->key_count + 2, sizeof(*first));

	for (uint32_t i = 0; first && i < x->coulds; i++)
		first[x->could[i].key + 1]++;
	for (uint32_t k = 0; first && k < x->key_count; k++)
		first[k + 1] += first[k];
	return first;
}

static uint64_t pair(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

/* Of the fields that one function reads: how many the other stores. */
static int count_common(const struct fields *x, const uint32_t *first, struct map *common)
{
	const struct flow_input *in = x->r->in;
	struct map met = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < in->site_count && !err; i++) {
		uint32_t key = in->sites[i].field - 1;
		bool added = false;

		if (!in->sites[i].field)
			continue;
		err = map_put(&met, pair(in->sites[i].func, key), &added) ? 0 : -ENOMEM;
		for (uint32_t k = first[key]; added && k < first[key + 1] && !err; k++) {
			uint64_t *n = map_put(common, pair(x->could[k].func, in->sites[i].func), NULL);

			if (n)
				++*n;
			err = n ? 0 : -ENOMEM;
		}
	}
	map_release(&met);
	return err;
}

static int list_writers(struct fields *x)
{
	struct flow_input *in = x->r->in;
	uint32_t *first = index_keys(x);
	struct map common = { 0 }, lists = { 0 };
	int err = first ? count_common(x, first, &common) : -ENOMEM;

	for (uint32_t i = 0; i < in->site_count && !err; i++) {
		struct in_site *s = &in->sites[i];

		uint64_t *list;
		bool added;

		if (!s->field)
			continue;
		/* one list for all that one function reads of one field: code of a compiler has 500 writers to a field,
		 * and fifty thousand instructions that read */
		list = map_put(&lists, pair(s->func, s->field), &added);
		if (!list) {
			err = -ENOMEM;
			break;
		}
		s->first_writer = added ? in->writer_count : (uint32_t)*list;
		s->writers = first[s->field] - first[s->field - 1];
		if (!added)
			continue;
		*list = in->writer_count;
		for (uint32_t k = first[s->field - 1]; k < first[s->field] && !err; k++) {
			const uint64_t *n = map_get(&common, pair(x->could[k].func, s->func));

			if (!GROW(in->writer, in->writer_count, in->writer_cap, 1024))
				err = -ENOMEM;
			else
				in->writer[in->writer_count++] = (struct in_writer){ .func = x->could[k].func,
										     .fields = n ? (uint32_t)*n : 1,
										     .stores = x->could[k].fields };
		}
	}
	map_release(&lists);
	map_release(&common);
	free(first);
	return err;
}

int input_fields(struct raw *r)
{
	struct fields x = { .r = r };
	int err = 0;

	/* attributed to callers, an instruction's function is not the one that holds it */
	for (uint32_t i = 0; i < r->in->site_count && !err && !r->in->main_image; i++)
		err = look_at_site(&x, &r->in->sites[i]);
	if (!err && x.key_count)
		err = meet_all(&x);
	for (uint32_t i = 0; i < x.seens && !err && x.bytes < CODE_MOST; i++)
		err = x.seen[i].samples < ALWAYS ? read_function(&x, &x.seen[i]) : 0;
	unique(&x);
	if (!err)
		err = list_writers(&x);
	map_release(&x.starts);
	map_release(&x.keys);
	free(x.seen);
	free(x.could);
	return err ? err_set(r->e, err, "out of memory") : 0;
}
