// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/suggest.h"

#include <string.h>

#define LONGEST 40          /* bytes; no name of ours is longer */
#define LETTERS_PER_ERROR 3 /* one mistake in so many letters: "recrod" has one, "durration" may have three */

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Letters to insert, leave out, replace or swap with their neighbour to get from a to b (optimal string alignment). */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= m; j++)
		before[j] = last[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *free_row = before;

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			now[j] = least(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = last;
		last = now;
		now = free_row;
	}
	return last[m];
}

void suggest(struct suggestion *s, const char *typed, size_t len, const char *candidate)
{
	size_t m = strlen(candidate);
	unsigned d, allowed = (unsigned)(len < LETTERS_PER_ERROR ? 1 : len / LETTERS_PER_ERROR);
	bool begins = len >= LETTERS_PER_ERROR && len < m && !memcmp(typed, candidate, len);

	if (!len || len > LONGEST || m > LONGEST)
		return;
	d = begins ? 1 : distance(typed, len, candidate, m);
	if (d > allowed || d >= m)
		return;
	/* of those that begin so, the one with least behind it */
	if (s->name && (d > s->distance || (d == s->distance && m >= strlen(s->name))))
		return;
	*s = (struct suggestion){ candidate, d };
}

bool suggest_begins(const char *typed, const char *name)
{
	size_t len = strlen(typed);

	return len && !strncmp(typed, name, len) && name[len] == '(';
}

void meant_add(struct meant *m, const char *candidate)
{
	bool exact = !strcmp(candidate, m->typed);

	if (m->exact || (!exact && !suggest_begins(m->typed, candidate)))
		return;
	m->several = !exact && m->name && (m->several || strcmp(m->name, candidate));
	m->exact = exact;
	m->name = candidate;
}

const char *meant_name(const struct meant *m)
{
	return m->name && !m->several ? m->name : m->typed;
}
