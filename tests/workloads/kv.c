// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A key-value store as a server would run it, without the network: text requests are made, parsed,
 * looked up in a chained hash table whose entries and values come and go with malloc and free, and
 * answered into a buffer that is checksummed. SIZE = requests per round.
 */
#include <ctype.h>

#include "work.h"

#define BUCKETS 4096
#define KEYS 6000

struct entry {
	struct entry *next;
	uint32_t hash, value_size;
	char *value;
	char key[];
};

struct request {
	char verb;
	const char *key, *value;
	size_t key_size, value_size;
};

static struct entry *bucket[BUCKETS];
static char line[2048], answer[1 << 16];
static size_t answer_size;

STEP static size_t make_request(uint64_t *seed)
{
	uint64_t r = work_random(seed);
	unsigned int key = (unsigned int)((r >> 8) % KEYS * ((r >> 40) % KEYS) / KEYS); /* skewed */
	unsigned int what = r & 15;
	int n = snprintf(line, sizeof(line), "%s user:%06u:%x",
			 what < 5   ? "SET"
			 : what < 6 ? "DEL"
				    : "GET",
			 key, key * 2654435761u);

	if (what < 5) {
		size_t value = 20 + (r >> 20) % 400;

		line[n++] = ' ';
		for (size_t i = 0; i < value; i++)
			line[n++] = (char)('a' + (r >> (i & 31)) % 26);
	}
	line[n] = 0;
	return (size_t)n;
}

STEP static void parse_request(size_t size, struct request *q)
{
	char *p = line, *end = line + size;

	q->verb = *p;
	while (p < end && !isspace((unsigned char)*p))
		p++;
	q->key = ++p;
	while (p < end && !isspace((unsigned char)*p))
		p++;
	q->key_size = (size_t)(p - q->key);
	q->value = p < end ? p + 1 : p;
	q->value_size = (size_t)(end - q->value);
}

STEP static uint32_t hash_key(const char *key, size_t size)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)key[i]) * 16777619u;
	return h ^ h >> 15;
}

STEP static struct entry **find_entry(uint32_t hash, const char *key, size_t size)
{
	struct entry **at = &bucket[hash % BUCKETS];

	while (*at && ((*at)->hash != hash || strncmp((*at)->key, key, size) || (*at)->key[size]))
		at = &(*at)->next;
	return at;
}

STEP static void store_entry(struct entry **at, uint32_t hash, const struct request *q)
{
	struct entry *e = *at;

	if (!e) {
		e = malloc(sizeof(*e) + q->key_size + 1);
		if (!e)
			abort();
		e->next = NULL;
		e->hash = hash;
		e->value = NULL;
		memcpy(e->key, q->key, q->key_size);
		e->key[q->key_size] = 0;
		*at = e;
	}
	free(e->value);
	e->value = malloc(q->value_size);
	if (!e->value)
		abort();
	memcpy(e->value, q->value, q->value_size);
	e->value_size = (uint32_t)q->value_size;
}

STEP static void drop_entry(struct entry **at)
{
	struct entry *e = *at;

	*at = e->next;
	free(e->value);
	free(e);
}

STEP static void add_answer(const char *text, size_t size)
{
	if (answer_size + size > sizeof(answer))
		answer_size = 0;
	memcpy(answer + answer_size, text, size);
	answer_size += size;
}

STEP static uint64_t sum_answer(void)
{
	uint64_t a = 1, b = 0;

	for (size_t i = 0; i < answer_size; i++) {
		a += (unsigned char)answer[i];
		b += a;
	}
	answer_size = 0;
	return b << 24 ^ a;
}

STEP static uint64_t serve(unsigned long requests)
{
	uint64_t seed = 123456789, digest = 0;

	for (unsigned long i = 0; i < requests; i++) {
		struct request q;
		struct entry **at;
		uint32_t hash;

		parse_request(make_request(&seed), &q);
		hash = hash_key(q.key, q.key_size);
		at = find_entry(hash, q.key, q.key_size);
		if (q.verb == 'S') {
			store_entry(at, hash, &q);
			add_answer("STORED\n", 7);
		} else if (!*at) {
			add_answer("NONE\n", 5);
		} else if (q.verb == 'D') {
			drop_entry(at);
			add_answer("GONE\n", 5);
		} else {
			add_answer((*at)->value, (*at)->value_size);
		}
		if (i % 64 == 63)
			digest = work_mix(digest, sum_answer());
	}
	return work_mix(digest, sum_answer());
}

STEP static void drop_all(void)
{
	for (unsigned int i = 0; i < BUCKETS; i++)
		while (bucket[i])
			drop_entry(&bucket[i]);
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 40000);
	uint64_t digest;

	do {
		digest = serve(w.size);
		drop_all();
	} while (work_more(&w, digest));
	return work_done(&w);
}
