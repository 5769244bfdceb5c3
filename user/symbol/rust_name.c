// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/rust_name.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 100  /* paths and types within each other; by hand */
#define STEPS 100000 /* back references can make a short name endless; by hand */

struct rust {
	const char *begin, *at;
	char *out;
	size_t len, size;
	unsigned depth, steps;
	bool failed, silent; /* silent: parsed, not shown */
};

static void rust_path(struct rust *r);
static void rust_type(struct rust *r);

static void rust_put(struct rust *r, const char *s, size_t n)
{
	if (r->silent || r->failed)
		return;
	/* a name that is too long ends where the room does */
	if (n >= r->size - r->len)
		n = r->size - r->len - 1;
	memcpy(r->out + r->len, s, n);
	r->len += n;
	r->out[r->len] = 0;
}

static void puts_to(struct rust *r, const char *s)
{
	rust_put(r, s, strlen(s));
}

static bool rust_take(struct rust *r, char c)
{
	if (r->failed || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* Of a list: until its end, or until nothing is left. */
static bool rust_more(struct rust *r)
{
	if (rust_take(r, 'E'))
		return false;
	r->failed |= !*r->at;
	return !r->failed;
}

static bool rust_enter(struct rust *r)
{
	r->failed |= ++r->depth > DEEPEST || ++r->steps > STEPS;
	return !r->failed;
}

/* "_" is 0, "0_" is 1; hashes of crates are of 64 bits. */
static uint64_t rust_base62(struct rust *r)
{
	uint64_t v = 0;
	bool any = false;

	for (; !r->failed && *r->at && *r->at != '_'; r->at++, any = true) {
		unsigned char c = (unsigned char)*r->at;
		int d = isdigit(c) ? c - '0' : islower(c) ? c - 'a' + 10 : isupper(c) ? c - 'A' + 36 : 62;

		r->failed |= d == 62;
		v = v * 62 + (unsigned)d;
	}
	r->failed |= !rust_take(r, '_');
	return any ? v + 1 : 0;
}

struct rust_name_word {
	const char *s;
	size_t n;
	uint64_t which; /* of those that are called the same */
};

static struct rust_name_word rust_identifier(struct rust *r)
{
	struct rust_name_word w = { .s = "" };
	char *end;
	size_t left;

	if (rust_take(r, 's'))
		w.which = rust_base62(r) + 1;
	rust_take(r, 'u'); /* what is beyond ASCII stays as it is written */
	if (r->failed || !isdigit((unsigned char)*r->at)) {
		r->failed = true;
		return w;
	}
	/* no number has zeros before it */
	end = (char *)r->at + 1;
	w.n = *r->at == '0' ? 0 : strtoul(r->at, &end, 10);
	left = strlen(end);
	if (*end == '_' && w.n) {
		end++;
		left--;
	}
	if (w.n > left) {
		r->failed = true;
		return w;
	}
	w.s = end;
	r->at = end + w.n;
	return w;
}

/* What was written before, at that place. */
static void rust_back(struct rust *r, void (*what)(struct rust *))
{
	const char *here = r->at - 1;
	uint64_t to = rust_base62(r);
	const char *after = r->at;

	if (r->failed || to >= (uint64_t)(here - r->begin)) {
		r->failed = true;
		return;
	}
	/* of what is not shown nothing hangs on what it is */
	if (r->silent)
		return;
	r->at = r->begin + to;
	what(r);
	r->at = after;
}

static void rust_binder(struct rust *r)
{
	if (rust_take(r, 'G'))
		rust_base62(r);
}

static void rust_unseen(struct rust *r, void (*what)(struct rust *))
{
	bool was = r->silent;

	r->silent = true;
	what(r);
	r->silent = was;
}

/* ---- constants ---- */

static void rust_constant(struct rust *r)
{
	char kind = *r->at, text[24];
	const char *digits;
	bool minus;
	uint64_t v;

	if (!rust_enter(r))
		return;
	if (rust_take(r, 'B')) {
		rust_back(r, rust_constant);
		r->depth--;
		return;
	}
	if (rust_take(r, 'p')) {
		puts_to(r, "_");
		r->depth--;
		return;
	}
	if (!kind || !strchr("abchijlmnostxyz", kind)) {
		r->failed = true;
		return;
	}
	r->at++;
	minus = rust_take(r, 'n');
	digits = r->at;
	while (isxdigit((unsigned char)*r->at) && !isupper((unsigned char)*r->at))
		r->at++;
	v = r->at - digits <= 16 ? strtoull(digits, NULL, 16) : 0;
	if (r->at - digits > 16)
		puts_to(r, "_");
	else if (kind == 'b')
		puts_to(r, v ? "true" : "false");
	else if (kind == 'c' && v > ' ' && v < 127)
		rust_put(r, text, (size_t)snprintf(text, sizeof(text), "'%c'", (char)v));
	else
		rust_put(r, text,
			 (size_t)snprintf(text, sizeof(text), "%s%llu", minus ? "-" : "", (unsigned long long)v));
	r->failed |= !rust_take(r, '_');
	r->depth--;
}

/* ---- types ---- */

static const char *rust_basic(char c)
{
	static const char letters[] = "abcdefhijlmnopstuvxyz";
	static const char *const name[] = { "i8",    "bool",  "char", "f64", "str",  "f32",  "u8",
					    "isize", "usize", "i32",  "u32", "i128", "u128", "_",
					    "i16",   "u16",   "()",   "...", "i64",  "u64",  "!" };
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? name[at - letters] : NULL;
}

static void listed_types(struct rust *r)
{
	for (bool first = true; rust_more(r); first = false) {
		puts_to(r, first ? "" : ", ");
		rust_type(r);
	}
}

static void function_type(struct rust *r)
{
	rust_binder(r);
	puts_to(r, rust_take(r, 'U') ? "unsafe fn(" : "fn(");
	if (rust_take(r, 'K') && !rust_take(r, 'C'))
		rust_identifier(r);
	listed_types(r);
	puts_to(r, ")");
	if (rust_take(r, 'u'))
		return;
	puts_to(r, " -> ");
	rust_type(r);
}

static void dynamic_type(struct rust *r)
{
	puts_to(r, "dyn ");
	rust_binder(r);
	for (bool first = true; rust_more(r); first = false) {
		puts_to(r, first ? "" : " + ");
		rust_path(r);
		while (rust_take(r, 'p')) {
			rust_identifier(r);
			rust_unseen(r, rust_type);
		}
	}
	r->failed |= !rust_take(r, 'L');
	rust_base62(r);
}

static void pointer_type(struct rust *r, char c)
{
	if (c != 'P' && c != 'O' && rust_take(r, 'L'))
		rust_base62(r);
	puts_to(r, c == 'R' ? "&" : c == 'Q' ? "&mut " : c == 'P' ? "*const " : "*mut ");
	rust_type(r);
}

static void tuple_type(struct rust *r)
{
	unsigned n = 0;

	puts_to(r, "(");
	for (; rust_more(r); n++) {
		puts_to(r, n ? ", " : "");
		rust_type(r);
	}
	puts_to(r, n == 1 ? ",)" : ")");
}

static void array_type(struct rust *r, char c)
{
	puts_to(r, "[");
	rust_type(r);
	if (c == 'A') {
		puts_to(r, "; ");
		rust_constant(r);
	}
	puts_to(r, "]");
}

static void rust_type(struct rust *r)
{
	char c = *r->at;

	if (!rust_enter(r))
		return;
	if (rust_basic(c)) {
		r->at++;
		puts_to(r, rust_basic(c));
	} else if (c && strchr("CMXYNI", c)) {
		rust_path(r);
	} else {
		r->at += c != 0;
		switch (c) {
		case 'A':
		case 'S': array_type(r, c); break;
		case 'T': tuple_type(r); break;
		case 'R':
		case 'Q':
		case 'P':
		case 'O': pointer_type(r, c); break;
		case 'F': function_type(r); break;
		case 'D': dynamic_type(r); break;
		case 'B': rust_back(r, rust_type); break;
		default: r->failed = true;
		}
	}
	r->depth--;
}

/* ---- paths ---- */

static void rust_named(struct rust *r, char space, struct rust_name_word w)
{
	char text[32];

	if (islower((unsigned char)space)) {
		puts_to(r, w.n ? "::" : "");
		rust_put(r, w.s, w.n);
		return;
	}
	puts_to(r, space == 'C' ? "::{closure" : space == 'S' ? "::{shim" : "::{other");
	if (w.n) {
		puts_to(r, ":");
		rust_put(r, w.s, w.n);
	}
	rust_put(r, text, (size_t)snprintf(text, sizeof(text), "#%llu}", (unsigned long long)w.which));
}

static void rust_arguments(struct rust *r)
{
	bool first = true;

	puts_to(r, "<");
	while (rust_more(r)) {
		if (rust_take(r, 'L')) {
			rust_base62(r);
			continue;
		}
		puts_to(r, first ? "" : ", ");
		first = false;
		if (rust_take(r, 'K'))
			rust_constant(r);
		else
			rust_type(r);
	}
	puts_to(r, ">");
}

static void of_impl(struct rust *r, char c)
{
	if (c != 'Y') {
		if (rust_take(r, 's'))
			rust_base62(r);
		rust_unseen(r, rust_path);
	}
	puts_to(r, "<");
	rust_type(r);
	if (c != 'M') {
		puts_to(r, " as ");
		rust_path(r);
	}
	puts_to(r, ">");
}

static void rust_path(struct rust *r)
{
	char c = *r->at, space;
	struct rust_name_word w;

	if (!rust_enter(r))
		return;
	r->at += c != 0;
	switch (c) {
	case 'C':
		w = rust_identifier(r);
		rust_put(r, w.s, w.n);
		break;
	case 'N':
		space = *r->at;
		r->at += space != 0;
		r->failed |= !isalpha((unsigned char)space);
		rust_path(r);
		rust_named(r, space, rust_identifier(r));
		break;
	case 'M':
	case 'X':
	case 'Y': of_impl(r, c); break;
	case 'I':
		rust_path(r);
		rust_arguments(r);
		break;
	case 'B': rust_back(r, rust_path); break;
	default: r->failed = true;
	}
	r->depth--;
}

bool rust_name(const char *mangled, char *out, size_t size)
{
	struct rust r = { .begin = mangled + 2, .at = mangled + 2, .out = out, .size = size };

	if (strncmp(mangled, "_R", 2) || !size)
		return false;
	*out = 0;
	/* a version of the scheme would stand here as a number */
	rust_path(&r);
	if (!r.failed && *r.at && *r.at != '.' && *r.at != '$')
		rust_unseen(&r, rust_path);
	return !r.failed && r.len && (!*r.at || *r.at == '.' || *r.at == '$');
}

/* ---- older names ---- */

struct escape {
	const char *from, *to;
};

/* Bytes taken of `at`; what they stand for in *c. */
static size_t escaped(const char *at, char *c)
{
	static const struct escape escapes[] = { { "$SP$", "@" }, { "$BP$", "*" }, { "$RF$", "&" }, { "$LT$", "<" },
						 { "$GT$", ">" }, { "$LP$", "(" }, { "$RP$", ")" }, { "$C$", "," } };
	char *end;
	unsigned long v;

	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
		if (strncmp(at, escapes[i].from, strlen(escapes[i].from)))
			continue;
		*c = *escapes[i].to;
		return strlen(escapes[i].from);
	}
	if (strncmp(at, "$u", 2) || !isxdigit((unsigned char)at[2]))
		return 0;
	v = strtoul(at + 2, &end, 16);
	*c = (char)v;
	return *end == '$' && v >= ' ' && v < 127 ? (size_t)(end + 1 - at) : 0;
}

void rust_unescape(char *name)
{
	char *to = name, c;
	size_t n;

	for (char *at = name; *at;) {
		/* a part may not begin with a dollar sign */
		if (*at == '_' && at[1] == '$' && (at == name || at[-1] == ':') && escaped(at + 1, &c)) {
			at++;
		} else if ((n = escaped(at, &c))) {
			*to++ = c;
			at += n;
		} else if (!strncmp(at, "..", 2)) {
			*to++ = ':';
			*to++ = ':';
			at += 2;
		} else {
			*to++ = *at++;
		}
	}
	*to = 0;
}
