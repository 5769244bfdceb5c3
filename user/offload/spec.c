// SPDX-License-Identifier: GPL-2.0-or-later
/* A user's own probe: LIBRARY:FUNCTION(key=value,...). */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/api.h"

#define HOW "write it as 'libfoo.so:foo_encode(bytes=arg2)'; see `accperf record --help`"

static bool read_up_to(const char **p, unsigned long max, unsigned long *v)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*v = strtoul(*p, &end, 0);
	if (errno || *v > max)
		return false;
	*p = end;
	return true;
}

static bool word(const char **p, const char *w)
{
	size_t n = strlen(w);

	if (strncmp(*p, w, n))
		return false;
	*p += n;
	return true;
}

static bool argument(const char **p, uint8_t *n)
{
	unsigned long v;

	if (!word(p, "arg") || !read_up_to(p, 15, &v))
		return false;
	*n = (uint8_t)v;
	return true;
}

/* arg2 | arg0*arg1 | 4096 | ret | [used:|grew:|after:](u32|u64)@arg2[+8] */
static bool expression(const char *p, struct probe_expr *x)
{
	unsigned long v;

	*x = (struct probe_expr){ .op = PX_FIELD };
	if (!strcmp(p, "ret")) {
		x->op = PX_RETURN;
		return true;
	}
	if (isdigit((unsigned char)*p)) {
		x->op = PX_CONST;
		if (!read_up_to(&p, ~0ul, &v))
			return false;
		x->value = v;
		return !*p;
	}
	if (!strncmp(p, "arg", 3)) {
		x->op = PX_ARG;
		if (!argument(&p, &x->a))
			return false;
		if (*p == '*') {
			p++;
			x->op = PX_MUL;
			if (!argument(&p, &x->b))
				return false;
		}
		if (word(&p, ":u32"))
			x->width = 4;
		return !*p;
	}
	if (word(&p, "used:"))
		x->op = PX_USED;
	else if (word(&p, "grew:"))
		x->op = PX_GREW;
	else if (word(&p, "after:"))
		x->op = PX_FIELD_AFTER;
	if (word(&p, "u32@"))
		x->width = 4;
	else if (!word(&p, "u64@"))
		return false;
	if (!argument(&p, &x->a))
		return false;
	if (*p == '+') {
		p++;
		if (!read_up_to(&p, 65535, &v))
			return false;
		x->off = (uint16_t)v;
	}
	return !*p;
}

static bool returned_ok(const char *v, uint8_t *ok)
{
	static const struct {
		const char *name;
		uint8_t ok;
	} all[] = {
		{ "any", PR_ANY },   { "zero", PR_ZERO },       { "positive", PR_POSITIVE },
		{ "size", PR_SIZE }, { "nonzero", PR_NONZERO }, { "not-negative", PR_NOT_NEGATIVE },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(v, all[i].name)) {
			*ok = all[i].ok;
			return true;
		}
	return false;
}

static int setting(struct offload_user_probe *p, char *key, const char *text, struct err *e)
{
	char *value = strchr(key, '=');
	const char *v;
	uint8_t n;

	if (!value) {
		if (!strcmp(key, "host"))
			p->variant = FMT_OV_HOST;
		else if (!strcmp(key, "accelerated"))
			p->variant = FMT_OV_ACCELERATED;
		else if (!strcmp(key, "submit"))
			p->spec.kind = PK_SUBMIT;
		else if (!strcmp(key, "wait"))
			p->spec.kind = PK_WAIT;
		else
			return err_set(
				e, -EINVAL,
				"--offload-probe '%s': '%s' is neither host, accelerated, submit, wait nor KEY=VALUE",
				text, key);
		return 0;
	}
	*value++ = 0;
	v = value;
	if (!strcmp(key, "bytes") || !strcmp(key, "in")) {
		if (expression(value, &p->spec.in))
			return 0;
	} else if (!strcmp(key, "out")) {
		if (expression(value, &p->spec.out))
			return 0;
	} else if (!strcmp(key, "items")) {
		if (expression(value, &p->spec.items))
			return 0;
	} else if (!strcmp(key, "ok")) {
		if (returned_ok(value, &p->spec.ok))
			return 0;
	} else if (!strcmp(key, "queue")) {
		if (argument(&v, &n) && !*v) {
			p->spec.queue_arg = (uint8_t)(n + 1);
			return 0;
		}
	} else if (!strcmp(key, "name")) {
		if (*value && strlen(value) < sizeof(p->name)) {
			strcpy(p->name, value);
			return 0;
		}
	} else {
		return err_set(e, -EINVAL,
			       "--offload-probe '%s': no key '%s'; there are bytes, in, out, items, ok, queue, name",
			       text, key);
	}
	return err_set(
		e, -EINVAL,
		"--offload-probe '%s': cannot read '%s' of %s; sizes are arg2, arg0*arg1, ret, a number, or u32@arg2+8 with used:, grew: or after: before it",
		text, value, key);
}

int offload_spec_parse(const char *text, struct offload_user_probe *p, struct err *e)
{
	const char *colon, *open = strchr(text, '('), *end = text + strlen(text);
	char inside[1024], *key, *save = NULL;
	size_t n;
	int r;

	memset(p, 0, sizeof(*p));
	p->spec.kind = PK_CALL;
	for (colon = NULL, key = (char *)text; *key && key != open; key++)
		if (*key == ':')
			colon = key;
	if (!colon || colon == text)
		return err_set(e, -EINVAL, "--offload-probe '%s' names no library: " HOW, text);
	n = (size_t)((open ? open : end) - colon - 1);
	if (!n || n >= sizeof(p->symbol) || (size_t)(colon - text) >= sizeof(p->library))
		return err_set(e, -EINVAL, "--offload-probe '%s' names no function: " HOW, text);
	memcpy(p->library, text, (size_t)(colon - text));
	memcpy(p->symbol, colon + 1, n);
	if (open) {
		if (end[-1] != ')' || (size_t)(end - open) - 2 >= sizeof(inside))
			return err_set(e, -EINVAL, "--offload-probe '%s': no closing parenthesis: " HOW, text);
		memcpy(inside, open + 1, (size_t)(end - open) - 2);
		inside[end - open - 2] = 0;
		for (key = strtok_r(inside, ",", &save); key; key = strtok_r(NULL, ",", &save)) {
			while (*key == ' ')
				key++;
			r = setting(p, key, text, e);
			if (r)
				return r;
		}
	}
	if (!p->name[0])
		snprintf(p->name, sizeof(p->name), "%.120s:%.120s", p->library, p->symbol);
	if (p->spec.kind == PK_WAIT && !p->spec.queue_arg)
		p->spec.scope = PS_ALL;
	return 0;
}
