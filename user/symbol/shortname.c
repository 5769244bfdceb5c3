// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/shortname.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MOST_PARTS 64 /* of a name, between its ::; the last ones tell most; by hand */
#define HASH_LEN 19   /* ::h and 16 digits, which Rust's compiler ends names with */
#define OBJECT_MIN 10 /* columns of an object that is cut */

/* Brackets of all kinds, but for what is an operator's name. */
static int opens(const char *begin, const char *at)
{
	if (*at == '(' || *at == '{' || *at == '[')
		return 1;
	if (*at == ')' || *at == '}' || *at == ']')
		return -1;
	if (*at != '<' && *at != '>')
		return 0;
	if (at - begin >= 8 && !strncmp(at - 8, "operator", 8))
		return 0;
	if (at - begin >= 9 && !strncmp(at - 9, "operator", 8) && (at[-1] == '<' || at[-1] == '>' || at[-1] == '-'))
		return 0;
	if (at > begin && at[-1] == '-') /* -> of a trailing type */
		return 0;
	return *at == '<' ? 1 : -1;
}

/* Where the bracket that ends at `end` began; NULL: it did not. */
static char *matching(char *begin, char *end)
{
	int depth = 0;

	for (char *at = end; at >= begin; at--) {
		depth -= opens(begin, at);
		if (!depth)
			return at;
	}
	return NULL;
}

static bool is_hash(const char *s)
{
	for (unsigned i = 3; i < HASH_LEN; i++)
		if (!isxdigit((unsigned char)s[i]))
			return false;
	return !strncmp(s, "::h", 3);
}

/* Without what follows the name proper: parameters, qualifiers, a compiler's marks. */
static void drop_behind(char *s)
{
	static const char *const behind[] = { " const", " volatile", " &", " &&", " noexcept" };
	char *clone = strstr(s, " [clone "), *open;
	bool again = true;
	size_t n;

	if (clone)
		*clone = 0;
	n = strlen(s);
	if (n > HASH_LEN && is_hash(s + n - HASH_LEN))
		s[n -= HASH_LEN] = 0;
	while (again) {
		again = false;
		for (unsigned i = 0; i < sizeof(behind) / sizeof(*behind); i++) {
			size_t len = strlen(behind[i]);

			if (n > len && !strcmp(s + n - len, behind[i])) {
				s[n -= len] = 0;
				again = true;
			}
		}
	}
	open = n && s[n - 1] == ')' ? matching(s, s + n - 1) : NULL;
	if (open && open > s && strcmp(open, "()") && open[-1] != '.' && open[-1] != ':')
		*open = 0;
	else if (open && open > s + 8 && strncmp(open - 8, "operator", 8) && open[-1] != '.' && open[-1] != ':')
		*open = 0;
}

/* Without the type that a template returns: what stands before the last blank outside of brackets. */
static char *drop_before(char *s)
{
	char *begin = s;
	int depth = 0;

	for (char *at = s; *at; at++) {
		if (!depth && !strncmp(at, "operator", 8) && (at == s || at[-1] == ':' || at[-1] == ' '))
			break;
		depth += opens(s, at);
		if (!depth && *at == ' ')
			begin = at + 1;
	}
	return *begin ? begin : s;
}

/* What stands deeper than `keep` angle brackets becomes two dots. */
static void fold_brackets(const char *s, int keep, char *out)
{
	int depth = 0;
	size_t n = 0;

	for (const char *at = s; *at && n + 4 < SHORT_NAME_MOST; at++) {
		int by = *at == '<' || *at == '>' ? opens(s, at) : 0;

		if (by < 0)
			depth--;
		if (depth <= keep)
			out[n++] = *at;
		if (by > 0 && ++depth == keep + 1 && at[1] != '>') {
			out[n++] = '.';
			out[n++] = '.';
		}
	}
	out[n] = 0;
}

/* Where the parts between :: begin; at most MOST_PARTS of them, the last ones. */
static size_t split_parts(char *s, char **part)
{
	int depth = 0;
	size_t n = 0;

	part[n++] = s;
	for (char *at = s; *at; at++) {
		depth += opens(s, at);
		if (depth || strncmp(at, "::", 2))
			continue;
		if (n == MOST_PARTS) {
			memmove(part, part + 1, (n - 1) * sizeof(*part));
			n--;
		}
		part[n++] = at + 2;
		at++;
	}
	return n;
}

/* A type that has the function says more than the namespaces before it. */
static bool has_methods(const char *part)
{
	const char *end = strstr(part, "::"), *angle = strchr(part, '<');

	return isupper((unsigned char)*part) || *part == '_' || *part == '<' || (angle && (!end || angle < end));
}

/* The fewest namespaces gone that make it fit. */
static size_t drop_namespaces(char *s, bool type_too, unsigned most, char *out)
{
	char *part[MOST_PARTS];
	size_t n = split_parts(s, part), last = n < 2 ? 0 : !type_too && has_methods(part[n - 2]) ? n - 2 : n - 1;

	for (size_t i = 0; i <= last; i++) {
		size_t len = strlen(part[i]) + (i ? 2 : 0);

		if (len <= most)
			return (size_t)snprintf(out, SHORT_NAME_MOST, "%s%s", i ? ".." : "", part[i]);
	}
	return 0;
}

static size_t cut_object(const char *name, const char *plus, unsigned most, char *out)
{
	size_t object = (size_t)(plus - name), behind = strlen(plus), room = most > behind ? most - behind : 0, head;

	if (room < OBJECT_MIN || room >= object)
		return 0;
	head = (room - 2) / 2;
	return (size_t)snprintf(out, SHORT_NAME_MOST, "%.*s..%.*s%s", (int)head, name, (int)(room - 2 - head),
				plus - (room - 2 - head), plus);
}

static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

size_t short_name(const char *name, unsigned most, char *out)
{
	char whole[SHORT_NAME_MOST], folded[SHORT_NAME_MOST], *s;
	const char *plus = strstr(name, "+0x"), *slash;
	size_t n;

	if (strlen(name) >= sizeof(whole) || !is_plain(name))
		return 0;
	if (plus)
		return cut_object(name, plus, most, out);
	memcpy(whole, name, strlen(name) + 1);
	if (!strstr(whole, "::") && !strchr(whole, '<')) {
		slash = strrchr(whole, '/'); /* a package of Go */
		if (slash && slash[1] && strlen(slash + 1) <= most)
			return (size_t)snprintf(out, SHORT_NAME_MOST, "%s", slash + 1);
		slash = slash ? strchr(slash, '.') : NULL;
		if (slash && slash[1] && strlen(slash + 1) <= most)
			return (size_t)snprintf(out, SHORT_NAME_MOST, "%s", slash + 1);
		if (strchr(whole, '.') && !strchr(whole, ' '))
			return 0;
	}
	drop_behind(whole);
	s = strlen(whole) < strlen(name) || strchr(whole, '<') ? drop_before(whole) : whole;
	for (int keep = 2; keep >= -1; keep--) { /* last without the type, too */
		fold_brackets(s, keep < 0 ? 0 : keep, folded);
		n = drop_namespaces(folded, keep < 0, most, out);
		if (n)
			return n;
	}
	return 0;
}
