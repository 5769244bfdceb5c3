// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An interpreter: a stack machine over counted objects (whole numbers, texts, lists, tables) whose
 * types hold pointers to their operations, and whose loop jumps from each instruction's code straight
 * to the next one's. Its programs: a recursion, a sieve, counting words, mixing lists. SIZE = turns of
 * each program's loop.
 */
#include "work.h"

#define STACK 4096
#define SMALL 256 /* numbers that exist once */
#define CODE 64

struct object;

struct type {
	struct object *(*add)(struct object *a, struct object *b);
	struct object *(*multiply)(struct object *a, struct object *b);
	struct object *(*remainder)(struct object *a, struct object *b);
	bool (*less)(struct object *a, struct object *b);
	bool (*same)(struct object *a, struct object *b);
	uint64_t (*hash)(struct object *a);
	struct object *(*item)(struct object *of, struct object *key);
	void (*put)(struct object *in, struct object *key, struct object *value);
	void (*destroy)(struct object *a);
};

struct slot {
	struct object *key, *value;
	uint64_t hash;
};

struct object {
	unsigned long refs;
	const struct type *type;
	union {
		long number;
		struct {
			uint64_t hash;
			unsigned int size;
			char text[40];
		};
		struct {
			struct object **item;
			unsigned long len, room;
		};
		struct {
			struct slot *slot;
			unsigned long used, mask;
		};
		struct object *next;
	};
};

enum op {
	NUMBER,
	LOAD,
	STORE,
	ADD,
	MULTIPLY,
	REMAINDER,
	LESS,
	SAME,
	JUMP,
	UNLESS,
	ITEM,
	PUT,
	APPEND,
	CALL,
	RETURN,
	LIST,
	TABLE,
	TEXT,
	OPS
};

struct code {
	uint8_t op[CODE];
	int arg[CODE];
	unsigned int len, args, locals;
};

static struct object *spare, small[SMALL], *stack[STACK];
static struct code fib, sieve, words, mixing;

STEP static struct object *new_object(const struct type *type)
{
	struct object *o = spare;

	if (o)
		spare = o->next;
	else if (!(o = malloc(sizeof(*o))))
		abort();
	o->refs = 1;
	o->type = type;
	return o;
}

STEP static void free_object(struct object *o)
{
	o->next = spare;
	spare = o;
}

static inline struct object *keep(struct object *o)
{
	o->refs++;
	return o;
}

static inline void drop(struct object *o)
{
	if (!--o->refs)
		o->type->destroy(o);
}

/* ---- numbers ---- */

static const struct type number_type;

STEP static struct object *new_number(long n)
{
	struct object *o;

	if (n >= 0 && n < SMALL)
		return keep(&small[n]);
	o = new_object(&number_type);
	o->number = n;
	return o;
}

STEP static struct object *number_add(struct object *a, struct object *b)
{
	return new_number(a->number + b->number);
}

STEP static struct object *number_multiply(struct object *a, struct object *b)
{
	return new_number((long)((unsigned long)a->number * (unsigned long)b->number & 0x7fffffff));
}

STEP static struct object *number_remainder(struct object *a, struct object *b)
{
	return new_number(b->number ? a->number % b->number : 0);
}

STEP static bool number_less(struct object *a, struct object *b)
{
	return a->number < b->number;
}

STEP static bool number_same(struct object *a, struct object *b)
{
	return a->type == b->type && a->number == b->number;
}

STEP static uint64_t number_hash(struct object *a)
{
	return (uint64_t)a->number * 0x9e3779b97f4a7c15u >> 20;
}

static const struct type number_type = {
	.add = number_add,
	.multiply = number_multiply,
	.remainder = number_remainder,
	.less = number_less,
	.same = number_same,
	.hash = number_hash,
	.destroy = free_object,
};

/* ---- texts ---- */

static const struct type text_type;

STEP static struct object *new_text(long n)
{
	struct object *o = new_object(&text_type);
	char digits[24];
	int len = 0;

	do {
		digits[len++] = (char)('0' + n % 10);
	} while ((n /= 10) > 0);
	o->hash = 0;
	o->size = (unsigned int)len + 1;
	o->text[0] = 'w';
	for (int i = 0; i < len; i++)
		o->text[1 + i] = digits[len - 1 - i];
	return o;
}

STEP static struct object *text_add(struct object *a, struct object *b)
{
	struct object *o = new_object(&text_type);
	unsigned int room = (unsigned int)sizeof(o->text) - a->size, size = b->size < room ? b->size : room;

	memcpy(o->text, a->text, a->size);
	memcpy(o->text + a->size, b->text, size);
	o->size = a->size + size;
	o->hash = 0;
	return o;
}

STEP static uint64_t text_hash(struct object *a)
{
	if (!a->hash) {
		uint64_t h = 14695981039346656037u;

		for (unsigned int i = 0; i < a->size; i++)
			h = (h ^ (unsigned char)a->text[i]) * 1099511628211u;
		a->hash = h | 1;
	}
	return a->hash;
}

STEP static bool text_same(struct object *a, struct object *b)
{
	return a->type == b->type && a->size == b->size && !memcmp(a->text, b->text, a->size);
}

STEP static bool text_less(struct object *a, struct object *b)
{
	unsigned int n = a->size < b->size ? a->size : b->size;
	int order = memcmp(a->text, b->text, n);

	return order ? order < 0 : a->size < b->size;
}

static const struct type text_type = {
	.add = text_add,
	.hash = text_hash,
	.same = text_same,
	.less = text_less,
	.destroy = free_object,
};

/* ---- lists ---- */

STEP static void list_destroy(struct object *l)
{
	for (unsigned long i = 0; i < l->len; i++)
		drop(l->item[i]);
	free(l->item);
	free_object(l);
}

STEP static struct object *list_item(struct object *l, struct object *key)
{
	unsigned long i = (unsigned long)key->number;

	return keep(i < l->len ? l->item[i] : &small[0]);
}

STEP static void list_put(struct object *l, struct object *key, struct object *value)
{
	unsigned long i = (unsigned long)key->number;

	if (i >= l->len) {
		drop(value);
		return;
	}
	drop(l->item[i]);
	l->item[i] = value;
}

STEP static void list_append(struct object *l, struct object *value)
{
	if (l->len == l->room) {
		l->room = 2 * l->room + 4;
		l->item = realloc(l->item, l->room * sizeof(*l->item));
		if (!l->item)
			abort();
	}
	l->item[l->len++] = value;
}

static const struct type list_type = { .item = list_item, .put = list_put, .destroy = list_destroy };

/* ---- tables ---- */

STEP static void table_destroy(struct object *t)
{
	for (unsigned long i = 0; i <= t->mask; i++) {
		if (!t->slot[i].key)
			continue;
		drop(t->slot[i].key);
		drop(t->slot[i].value);
	}
	free(t->slot);
	free_object(t);
}

STEP static struct slot *table_find(struct object *t, struct object *key, uint64_t hash)
{
	unsigned long i = hash & t->mask;

	for (;; i = (5 * i + 1) & t->mask) {
		struct slot *s = &t->slot[i];

		if (!s->key || s->key == key || (s->hash == hash && s->key->type->same(s->key, key)))
			return s;
	}
}

STEP static void table_grow(struct object *t)
{
	struct slot *old = t->slot;
	unsigned long mask = t->mask;

	t->mask = 4 * mask + 3;
	t->slot = calloc(t->mask + 1, sizeof(*t->slot));
	if (!t->slot)
		abort();
	for (unsigned long i = 0; i <= mask; i++)
		if (old[i].key)
			*table_find(t, old[i].key, old[i].hash) = old[i];
	free(old);
}

STEP static struct object *table_item(struct object *t, struct object *key)
{
	struct slot *s = table_find(t, key, key->type->hash(key));

	return keep(s->key ? s->value : &small[0]);
}

STEP static void table_put(struct object *t, struct object *key, struct object *value)
{
	uint64_t hash = key->type->hash(key);
	struct slot *s = table_find(t, key, hash);

	if (s->key) {
		drop(s->value);
		s->value = value;
		return;
	}
	*s = (struct slot){ keep(key), value, hash };
	if (3 * ++t->used > 2 * t->mask)
		table_grow(t);
}

static const struct type table_type = { .item = table_item, .put = table_put, .destroy = table_destroy };

STEP static struct object *new_table(void)
{
	struct object *t = new_object(&table_type);

	t->used = 0;
	t->mask = 7;
	t->slot = calloc(8, sizeof(*t->slot));
	if (!t->slot)
		abort();
	return t;
}

/* ---- the machine ---- */

#define NEXT                                                                                                           \
	do {                                                                                                           \
		at++;                                                                                                  \
		goto *label[code->op[at]];                                                                             \
	} while (0)
#define BINARY(what)                                                                                                   \
	do {                                                                                                           \
		struct object *b = *--top, *a = top[-1];                                                               \
		top[-1] = (what);                                                                                      \
		drop(a);                                                                                               \
		drop(b);                                                                                               \
		NEXT;                                                                                                  \
	} while (0)

static struct object *call_code(const struct code *code, struct object **base);

STEP static struct object *run(const struct code *code, struct object **base)
{
	static const void *const label[OPS] = {
		&&number, &&load, &&store, &&add,    &&multiply, &&remainder, &&less, &&same,  &&jump,
		&&unless, &&item, &&put,   &&append, &&call,     &&give_back, &&list, &&table, &&text,
	};
	struct object **top = base + code->locals, *o, *result;
	unsigned int at = 0;

	for (unsigned int i = code->args; i < code->locals; i++)
		base[i] = keep(&small[0]);
	goto *label[code->op[0]];
number:
	*top++ = new_number(code->arg[at]);
	NEXT;
load:
	*top++ = keep(base[code->arg[at]]);
	NEXT;
store:
	o = base[code->arg[at]];
	base[code->arg[at]] = *--top;
	drop(o);
	NEXT;
add:
	BINARY(a->type->add(a, b));
multiply:
	BINARY(a->type->multiply(a, b));
remainder:
	BINARY(a->type->remainder(a, b));
less:
	BINARY(keep(&small[a->type->less(a, b)]));
same:
	BINARY(keep(&small[a->type->same(a, b)]));
item:
	BINARY(a->type->item(a, b));
jump:
	at = (unsigned int)code->arg[at] - 1;
	NEXT;
unless:
	o = *--top;
	if (o == &small[0])
		at = (unsigned int)code->arg[at] - 1;
	drop(o);
	NEXT;
put:
	o = top[-3];
	o->type->put(o, top[-2], top[-1]);
	drop(top[-2]);
	drop(o);
	top -= 3;
	NEXT;
append:
	o = top[-2];
	list_append(o, top[-1]);
	drop(o);
	top -= 2;
	NEXT;
call:
	top -= 1;
	*top = call_code(&fib, top);
	top++;
	NEXT;
list:
	o = new_object(&list_type);
	o->item = NULL;
	o->len = o->room = 0;
	*top++ = o;
	NEXT;
table:
	*top++ = new_table();
	NEXT;
text:
	o = top[-1];
	top[-1] = new_text(o->number);
	drop(o);
	NEXT;
give_back:
	result = *--top;
	while (top > base)
		drop(*--top);
	return result;
}

/* Calls come back to the loop by another function, as in larger interpreters. */
STEP static struct object *call_code(const struct code *code, struct object **base)
{
	return base < stack + STACK - 64 ? run(code, base) : keep(&small[0]);
}

/* ---- its programs ---- */

static void emit(struct code *c, enum op op, int arg)
{
	c->op[c->len] = (uint8_t)op;
	c->arg[c->len++] = arg;
}

/* local 0 (the argument) times: the body, with local 1 as the counter; returns local 2 */
static unsigned int begin(struct code *c, unsigned int locals)
{
	*c = (struct code){ .args = 1, .locals = locals };
	emit(c, LOAD, 1);
	emit(c, LOAD, 0);
	emit(c, LESS, 0);
	emit(c, UNLESS, 0); /* to the end */
	return 3;
}

static void end(struct code *c, unsigned int out)
{
	emit(c, LOAD, 1);
	emit(c, NUMBER, 1);
	emit(c, ADD, 0);
	emit(c, STORE, 1);
	emit(c, JUMP, 0);
	c->arg[out] = (int)c->len;
	emit(c, LOAD, 2);
	emit(c, RETURN, 0);
}

static void write_all(const uint8_t (*op)[2], size_t n, struct code *c)
{
	for (size_t i = 0; i < n; i++)
		emit(c, (enum op)op[i][0], op[i][1]);
}

#define WRITE(c, ...)                                                                                                  \
	do {                                                                                                           \
		static const uint8_t ops[][2] = { __VA_ARGS__ };                                                       \
		write_all(ops, sizeof(ops) / sizeof(ops[0]), c);                                                       \
	} while (0)

static void write_programs(void)
{
	unsigned int out;

	fib = (struct code){ .args = 1, .locals = 1 };
	WRITE(&fib, { LOAD, 0 }, { NUMBER, 2 }, { LESS, 0 }, { UNLESS, 6 }, { LOAD, 0 }, { RETURN, 0 }, { LOAD, 0 },
	      { NUMBER, 255 }, { ADD, 0 }, { NUMBER, 254 }, { REMAINDER, 0 }, { CALL, 0 }, { LOAD, 0 }, { NUMBER, 252 },
	      { ADD, 0 }, { NUMBER, 254 }, { REMAINDER, 0 }, { CALL, 0 }, { ADD, 0 }, { RETURN, 0 });
	fib.arg[7] = 253;

	/* list 2 of marks; every seventh, then every third is struck out */
	out = begin(&sieve, 4);
	WRITE(&sieve, { LOAD, 1 }, { UNLESS, 7 }, { JUMP, 9 }, { LIST, 0 }, { STORE, 2 }, { LOAD, 2 }, { LOAD, 1 },
	      { NUMBER, 7 }, { REMAINDER, 0 }, { APPEND, 0 }, { LOAD, 2 }, { LOAD, 1 }, { NUMBER, 3 }, { REMAINDER, 0 },
	      { LOAD, 1 }, { PUT, 0 }, { LOAD, 3 }, { LOAD, 2 }, { LOAD, 1 }, { ITEM, 0 }, { ADD, 0 }, { STORE, 3 });
	end(&sieve, out);
	sieve.arg[sieve.len - 2] = 3;

	/* table 2: how often each of 97 words; seed 3 */
	out = begin(&words, 5);
	WRITE(&words, { LOAD, 1 }, { UNLESS, 7 }, { JUMP, 9 }, { TABLE, 0 }, { STORE, 2 }, { LOAD, 3 }, { NUMBER, 251 },
	      { MULTIPLY, 0 }, { NUMBER, 37 }, { ADD, 0 }, { STORE, 3 }, { LOAD, 3 }, { NUMBER, 97 }, { REMAINDER, 0 },
	      { TEXT, 0 }, { STORE, 4 }, { LOAD, 2 }, { LOAD, 4 }, { LOAD, 2 }, { LOAD, 4 }, { ITEM, 0 }, { NUMBER, 1 },
	      { ADD, 0 }, { PUT, 0 });
	end(&words, out);
	/* the answer: one word's count */
	words.len -= 2;
	WRITE(&words, { LOAD, 2 }, { LOAD, 4 }, { ITEM, 0 }, { RETURN, 0 });

	/* texts are joined and compared */
	out = begin(&mixing, 5);
	WRITE(&mixing, { LOAD, 1 }, { TEXT, 0 }, { STORE, 3 }, { LOAD, 3 }, { LOAD, 3 }, { ADD, 0 }, { STORE, 4 },
	      { LOAD, 3 }, { LOAD, 4 }, { LESS, 0 }, { LOAD, 2 }, { ADD, 0 }, { STORE, 2 }, { LOAD, 3 }, { LOAD, 4 },
	      { SAME, 0 }, { LOAD, 2 }, { ADD, 0 }, { STORE, 2 });
	end(&mixing, out);
}

STEP static uint64_t run_program(const struct code *code, long arg)
{
	struct object *result;
	uint64_t digest;

	stack[0] = new_number(arg);
	result = run(code, stack);
	digest = result->type == &number_type ? (uint64_t)result->number : 0;
	drop(result);
	return digest;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 200000);
	uint64_t digest;

	for (int i = 0; i < SMALL; i++)
		small[i] = (struct object){ .refs = 1, .type = &number_type, .number = i };
	write_programs();
	do {
		long n = (long)w.size;

		digest = work_mix(0, run_program(&fib, 22));
		digest = work_mix(digest, run_program(&sieve, n));
		digest = work_mix(digest, run_program(&words, n));
		digest = work_mix(digest, run_program(&mixing, n));
	} while (work_more(&w, digest));
	return work_done(&w);
}
