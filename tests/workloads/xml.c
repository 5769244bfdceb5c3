// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An address book as XML: made as text, parsed into a tree of small heap blocks (nodes, attributes, strings
 * that are copied), looked through by name, changed, written out again and freed. SIZE = entries.
 */
#include <ctype.h>

#include "work.h"

struct attribute {
	struct attribute *next;
	char *name, *value;
};

struct node {
	struct node *parent, *first, *last, *next;
	struct attribute *attributes;
	char *name, *text;
};

struct buffer {
	char *data;
	size_t size, room;
};

static struct buffer source, output;

STEP static void append(struct buffer *b, const char *s, size_t n)
{
	if (b->size + n + 1 > b->room) {
		b->room = 2 * (b->size + n + 64);
		b->data = realloc(b->data, b->room);
		if (!b->data)
			abort();
	}
	memcpy(b->data + b->size, s, n);
	b->size += n;
	b->data[b->size] = 0;
}

static void append_text(struct buffer *b, const char *s)
{
	append(b, s, strlen(s));
}

STEP static void make_book(unsigned long entries)
{
	static const char *const first[] = {
		"Ada", "Grace", "Edsger", "Barbara", "Donald", "Niklaus", "Radia", "Tony"
	};
	static const char *const city[] = { "Delft", "Leiden", "Zürich", "Palo Alto", "Oslo", "Kyoto" };
	uint64_t seed = 2463534242u;
	char line[256];

	source.size = 0;
	append_text(&source, "<?xml version=\"1.0\"?>\n<book>\n");
	for (unsigned long i = 0; i < entries; i++) {
		uint64_t r = work_random(&seed);
		int n = snprintf(line, sizeof(line), "  <person id=\"p%lu\" group=\"%c\"><name>%s %c.</name>", i,
				 (char)('a' + (r >> 8) % 7), first[r >> 16 & 7], (char)('A' + (r >> 24) % 26));

		append(&source, line, (size_t)n);
		if (r & 1) {
			n = snprintf(line, sizeof(line), "<city zip=\"%04u\">%s &amp; more</city>",
				     (unsigned int)(r >> 32) % 10000, city[(r >> 28) % 6]);
			append(&source, line, (size_t)n);
		}
		for (unsigned int k = 0; k < (r >> 4) % 4; k++) {
			n = snprintf(line, sizeof(line), "<phone>+%u-%u</phone>",
				     (unsigned int)(r >> (k * 5)) % 90 + 10, (unsigned int)(r >> (k * 7)) % 1000000);
			append(&source, line, (size_t)n);
		}
		append_text(&source, "</person>\n");
	}
	append_text(&source, "</book>\n");
}

/* The entities are replaced on the way. */
STEP static char *copy_string(const char *from, const char *to)
{
	char *s = malloc((size_t)(to - from) + 1), *out = s;

	if (!s)
		abort();
	while (from < to) {
		if (*from == '&' && to - from >= 5 && !memcmp(from, "&amp;", 5)) {
			*out++ = '&';
			from += 5;
		} else {
			*out++ = *from++;
		}
	}
	*out = 0;
	return s;
}

STEP static struct node *new_node(struct node *parent)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		abort();
	n->parent = parent;
	if (parent && parent->last)
		parent->last->next = n;
	else if (parent)
		parent->first = n;
	if (parent)
		parent->last = n;
	return n;
}

STEP static const char *skip_name(const char *p)
{
	while (isalnum((unsigned char)*p) || *p == '_')
		p++;
	return p;
}

STEP static const char *parse_attributes(struct node *n, const char *p)
{
	struct attribute **at = &n->attributes;

	while (*p == ' ') {
		const char *name = p + 1, *end = skip_name(name), *value = end + 2;
		struct attribute *a = malloc(sizeof(*a));

		if (!a)
			abort();
		a->name = copy_string(name, end);
		p = strchr(value, '"');
		a->value = copy_string(value, p++);
		a->next = NULL;
		*at = a;
		at = &a->next;
	}
	return p;
}

STEP static struct node *parse(const char *p)
{
	struct node *root = NULL, *here = NULL;

	p = strchr(p + 2, '<');
	while (p && *p) {
		if (p[1] == '/') {
			here = here->parent;
			p = strchr(p, '>') + 1;
		} else {
			const char *end = skip_name(p + 1);

			here = new_node(here);
			root = root ? root : here;
			here->name = copy_string(p + 1, end);
			p = parse_attributes(here, end) + 1;
			if (*p != '<' && *p != '\n') {
				end = strchr(p, '<');
				here->text = copy_string(p, end);
				p = end;
			}
		}
		p = strchr(p, '<');
	}
	return root;
}

STEP static const char *attribute(const struct node *n, const char *name)
{
	for (const struct attribute *a = n->attributes; a; a = a->next)
		if (!strcmp(a->name, name))
			return a->value;
	return "";
}

/* How many of a group live in a city. */
STEP static uint64_t query(const struct node *book, char group, const char *city)
{
	uint64_t found = 0;

	for (const struct node *p = book->first; p; p = p->next) {
		if (*attribute(p, "group") != group)
			continue;
		for (const struct node *c = p->first; c; c = c->next)
			found += !strcmp(c->name, "city") && c->text && !strncmp(c->text, city, strlen(city));
	}
	return found;
}

/* Phones to the new numbers. */
STEP static void renumber(struct node *book)
{
	for (struct node *p = book->first; p; p = p->next) {
		for (struct node *c = p->first; c; c = c->next) {
			char number[64];

			if (strcmp(c->name, "phone"))
				continue;
			snprintf(number, sizeof(number), "+%s0", c->text);
			free(c->text);
			c->text = copy_string(number, number + strlen(number));
		}
	}
}

STEP static void write_node(const struct node *n, struct buffer *out)
{
	append(out, "<", 1);
	append_text(out, n->name);
	for (const struct attribute *a = n->attributes; a; a = a->next) {
		append(out, " ", 1);
		append_text(out, a->name);
		append(out, "=\"", 2);
		append_text(out, a->value);
		append(out, "\"", 1);
	}
	append(out, ">", 1);
	if (n->text)
		append_text(out, n->text);
	for (const struct node *c = n->first; c; c = c->next)
		write_node(c, out);
	append(out, "</", 2);
	append_text(out, n->name);
	append(out, ">", 1);
}

STEP static void free_tree(struct node *n)
{
	for (struct node *c = n->first, *next; c; c = next) {
		next = c->next;
		free_tree(c);
	}
	for (struct attribute *a = n->attributes, *next; a; a = next) {
		next = a->next;
		free(a->name);
		free(a->value);
		free(a);
	}
	free(n->name);
	free(n->text);
	free(n);
}

STEP static uint64_t sum_output(void)
{
	uint64_t a = 0;

	for (size_t i = 0; i < output.size; i++)
		a = a * 31 + (unsigned char)output.data[i];
	return a;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 1500);
	uint64_t digest;

	do {
		struct node *book;

		make_book(w.size);
		book = parse(source.data);
		digest = work_mix(0, query(book, 'c', "Delft"));
		for (char g = 'a'; g < 'h'; g++)
			digest = work_mix(digest, query(book, g, "Oslo"));
		renumber(book);
		output.size = 0;
		write_node(book, &output);
		digest = work_mix(digest, sum_output());
		free_tree(book);
	} while (work_more(&w, digest));
	free(source.data);
	free(output.data);
	return work_done(&w);
}
