// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JSON text is written from records, parsed into a tree of heap nodes, the tree is changed (totals
 * added, a field dropped), written as text again and freed. Parser and writer are recursive.
 * SIZE = records per round.
 */
#include "work.h"

enum kind { NUMBER, STRING, ARRAY, OBJECT };

struct node {
	enum kind kind;
	double number;
	char *text; /* STRING */
	char *key;  /* in an OBJECT */
	struct node *child, *last, *next;
};

static char *source, *result;
static size_t result_size, result_room;

static void die(void)
{
	fprintf(stderr, "json: the text does not parse\n");
	exit(1);
}

STEP static size_t make_source(unsigned long records, size_t room)
{
	uint64_t seed = 31;
	size_t n = 0;

	source[n++] = '[';
	for (unsigned long i = 0; i < records; i++) {
		uint64_t r = work_random(&seed);

		n += (size_t)
			snprintf(source + n, room - n,
				 "%s\n {\"id\": %lu, \"name\": \"user \\\"%llx\\\"\", \"tags\": [\"t%u\", \"t%u\"], "
				 "\"price\": %u.%02u, \"where\": {\"x\": %d, \"y\": %d}}",
				 i ? "," : "", i, (unsigned long long)(r >> 36), (unsigned int)(r & 15),
				 (unsigned int)(r >> 4 & 15), (unsigned int)(r >> 8 & 1023),
				 (unsigned int)((r >> 20) % 100), (int)(r >> 30 & 255) - 128,
				 (int)(r >> 40 & 255) - 128);
	}
	source[n++] = ']';
	source[n] = 0;
	return n;
}

STEP static const char *skip_space(const char *p)
{
	while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
		p++;
	return p;
}

STEP static struct node *new_node(enum kind kind)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		abort();
	n->kind = kind;
	return n;
}

STEP static void add_child(struct node *parent, struct node *child)
{
	if (parent->last)
		parent->last->next = child;
	else
		parent->child = child;
	parent->last = child;
}

STEP static const char *parse_string(const char *p, char **text)
{
	const char *end = ++p;
	char *to;

	while (*end != '"') {
		if (!*end)
			die();
		end += *end == '\\' ? 2 : 1;
	}
	to = *text = malloc((size_t)(end - p) + 1);
	if (!to)
		abort();
	while (p < end) {
		p += *p == '\\';
		*to++ = *p++;
	}
	*to = 0;
	return end + 1;
}

STEP static const char *parse_number(const char *p, double *number)
{
	double v = 0, scale = 1;
	bool minus = *p == '-';

	p += minus;
	while (*p >= '0' && *p <= '9')
		v = v * 10 + (*p++ - '0');
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++)
			v += (*p - '0') * (scale /= 10);
	*number = minus ? -v : v;
	return p;
}

STEP static const char *parse_value(const char *p, struct node **out)
{
	struct node *n;

	p = skip_space(p);
	if (*p == '"') {
		n = *out = new_node(STRING);
		return parse_string(p, &n->text);
	}
	if (*p != '[' && *p != '{') {
		n = *out = new_node(NUMBER);
		return parse_number(p, &n->number);
	}
	n = *out = new_node(*p == '[' ? ARRAY : OBJECT);
	p = skip_space(p + 1);
	while (*p != ']' && *p != '}') {
		struct node *child;
		char *key = NULL;

		if (!*p)
			die();
		if (n->kind == OBJECT) {
			p = skip_space(parse_string(p, &key));
			if (*p++ != ':')
				die();
		}
		p = parse_value(p, &child);
		child->key = key;
		add_child(n, child);
		p = skip_space(p);
		if (*p == ',')
			p = skip_space(p + 1);
	}
	return p + 1;
}

STEP static void put_text(const char *text, size_t size)
{
	if (result_size + size > result_room)
		abort();
	memcpy(result + result_size, text, size);
	result_size += size;
}

STEP static void put_string(const char *s)
{
	put_text("\"", 1);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			put_text("\\", 1);
		put_text(s, 1);
	}
	put_text("\"", 1);
}

STEP static void put_number(double number)
{
	char text[32];
	int n = number == (double)(long)number ? snprintf(text, sizeof(text), "%ld", (long)number)
					       : snprintf(text, sizeof(text), "%.2f", number);

	put_text(text, (size_t)n);
}

STEP static void write_value(const struct node *n)
{
	switch (n->kind) {
	case NUMBER: put_number(n->number); break;
	case STRING: put_string(n->text); break;
	case ARRAY:
	case OBJECT:
		put_text(n->kind == ARRAY ? "[" : "{", 1);
		for (const struct node *c = n->child; c; c = c->next) {
			if (c != n->child)
				put_text(",", 1);
			if (n->kind == OBJECT) {
				put_string(c->key);
				put_text(":", 1);
			}
			write_value(c);
		}
		put_text(n->kind == ARRAY ? "]" : "}", 1);
		break;
	}
}

STEP static double total_prices(struct node *list)
{
	double total = 0;

	for (struct node *record = list->child; record; record = record->next)
		for (struct node *field = record->child; field; field = field->next)
			if (!strcmp(field->key, "price")) {
				total += field->number;
				field->number *= 2;
			}
	return total;
}

STEP static void free_tree(struct node *n)
{
	for (struct node *c = n->child, *next; c; c = next) {
		next = c->next;
		free_tree(c);
	}
	free(n->text);
	free(n->key);
	free(n);
}

STEP static uint64_t sum_result(void)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < result_size; i++)
		h = (h ^ (unsigned char)result[i]) * 1099511628211ull;
	return h;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 1000);
	size_t room = w.size * 200 + 256;
	uint64_t digest;

	result_room = room;
	source = malloc(room);
	result = malloc(room);
	if (!source || !result)
		work_die(&w, "out of memory");
	do {
		struct node *tree;
		double total;

		make_source(w.size, room);
		parse_value(source, &tree);
		total = total_prices(tree);
		result_size = 0;
		write_value(tree);
		free_tree(tree);
		digest = work_mix(sum_result(), (uint64_t)(total * 100));
	} while (work_more(&w, digest));
	free(source);
	free(result);
	return work_done(&w);
}
