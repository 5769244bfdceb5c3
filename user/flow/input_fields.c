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
#define DISTANCE_MOST (1 << 20)    /* bytes from a pointer to a field; by hand */
#define WIDEST 64                  /* bytes of one load: a 512-bit register's */
#define SIEVE (1u << 16)           /* distances, by their lowest bits */
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
	struct map keys;     /* module << 40 ^ distance << 8 ^ size -> key */
	uint32_t *stored_by; /* by distance: index + 1 of the function that was last met to store there */
	uint8_t *sieve; /* by distance % SIEVE: sizes, as bits, of keys there; most stores are to none that is read */
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

/* A power of two has a bit of its own. */
static uint8_t size_bit(unsigned size)
{
	return (uint8_t)(1u << __builtin_ctz(size));
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
			x->sieve[(uint64_t)d.mem[i].disp % SIEVE] |= size_bit(d.mem[i].size);
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
			if (!(x->sieve[((uint64_t)m->disp + at) % SIEVE] & size_bit(size)))
				continue;
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
	uint32_t first = x->coulds, me = (uint32_t)(s - x->seen) + 1, stored = 0;
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
			if ((d.mem[i].flags & DEC_M_STORE) && is_field(&d.mem[i])) {
				stored += x->stored_by[d.mem[i].disp] != me;
				x->stored_by[d.mem[i].disp] = me;
				err = stores_there(x, s, &d.mem[i]);
			}
		at += d.len;
	}
	for (uint32_t i = first; i < x->coulds; i++)
		x->could[i].fields = stored;
	x->bytes += size;
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

struct load { /* an instruction that reads a field */
	uint32_t func, key, site;
};

static int by_func_and_key(const void *a, const void *b)
{
	const struct load *x = a, *y = b;

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->site > y->site) - (x->site < y->site);
}

static struct load *loads_in_order(const struct flow_input *in, size_t *count)
{
	struct load *l = malloc((in->site_count + 1) * sizeof(*l));

	*count = 0;
	for (uint32_t i = 0; l && i < in->site_count; i++)
		if (in->sites[i].field)
			l[(*count)++] = (struct load){ in->sites[i].func, in->sites[i].field - 1, i };
	if (l)
		qsort(l, *count, sizeof(*l), by_func_and_key);
	return l;
}

static bool same_field_of(const struct load *a, const struct load *b)
{
	return a->func == b->func && a->key == b->key;
}

/* Of the fields that these loads, of one function, read: how many each function stores; by: -n takes them back. */
static void count_common(const struct fields *x, const uint32_t *first, const struct load *l, size_t n,
			 uint32_t *common, uint32_t by)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = first[l[i].key]; (!i || !same_field_of(&l[i - 1], &l[i])) && k < first[l[i].key + 1];
		     k++)
			common[x->could[k].func] += by;
}

/* One list for all that one function reads of one field: code of a compiler has 500 writers to a field, and fifty
 * thousand instructions that read. */
static int list_for(struct fields *x, const uint32_t *first, const struct load *l, size_t n, const uint32_t *common)
{
	struct flow_input *in = x->r->in;
	uint32_t begin = in->writer_count;

	for (size_t i = 0; i < n; i++) {
		bool again = i && same_field_of(&l[i - 1], &l[i]);
		struct in_site *s = &in->sites[l[i].site];

		begin = again ? begin : in->writer_count;
		s->first_writer = begin;
		s->writers = first[l[i].key + 1] - first[l[i].key];
		for (uint32_t k = first[l[i].key]; !again && k < first[l[i].key + 1]; k++) {
			const struct could *c = &x->could[k];

			if (!GROW(in->writer, in->writer_count, in->writer_cap, 1024))
				return -ENOMEM;
			in->writer[in->writer_count++] =
				(struct in_writer){ .func = c->func, .fields = common[c->func], .stores = c->fields };
		}
	}
	return 0;
}

static int list_writers(struct fields *x)
{
	const struct flow_input *in = x->r->in;
	uint32_t *first = index_keys(x), *common = calloc(in->func_count + 1, sizeof(*common));
	size_t count, n;
	struct load *l = loads_in_order(in, &count);
	int err = first && common && l ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i += n) {
		for (n = 1; i + n < count && l[i + n].func == l[i].func;)
			n++;
		count_common(x, first, l + i, n, common, 1);
		err = list_for(x, first, l + i, n, common);
		count_common(x, first, l + i, n, common, UINT32_MAX);
	}
	free(l);
	free(common);
	free(first);
	return err;
}

int input_fields(struct raw *r)
{
	struct fields x = { .r = r,
			    .sieve = calloc(SIEVE, 1),
			    .stored_by = calloc(DISTANCE_MOST, sizeof(*x.stored_by)) };
	int err = x.sieve && x.stored_by ? 0 : -ENOMEM;

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
	free(x.sieve);
	free(x.stored_by);
	free(x.seen);
	free(x.could);
	return err ? err_set(r->e, err, "out of memory") : 0;
}
